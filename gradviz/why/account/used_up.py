"""Generators that the code reads a second time: that gives nothing, and raises nothing. Read off
the code. Knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from gradviz.graph.sites import is_installed_file
from gradviz.names.bindings import scope_of
from gradviz.names.position import callee_of, statement_or_head
from gradviz.names.statements import Statements, source_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.words.words import Words

# what gives a generator, or an iterator of another kind
_GIVES = {
    "parameters",
    "named_parameters",
    "buffers",
    "modules",
    "children",
    "filter",
    "map",
    "zip",
}
_LOOPS = (ast.For, ast.While)


def used_up(words: Words, statements: Statements) -> Iterator[Remark]:
    """Tell of variables that hold a generator, and that are read again when it is used up."""
    for file, node in statements.nodes(ast.Assign):
        target = node.targets[0]
        if is_installed_file(file.filename) or not isinstance(target, ast.Name):
            continue
        if not _is_generator(node.value) or len(_bound(scope_of(node), target.id)) > 1:
            continue
        again = _read_again(node, target.id)
        if again is None:
            continue
        made, read = source_of(file, node), source_of(file, again)
        fields = {
            "name": target.id,
            "made": words.source(made),
            "statement": _head(again),
            "place": words.line_of(read),
            "value": ast.unparse(node.value),
        }
        yield Remark(Weight.WEIGHTY, "used_up", fields, statements=(made, read))


def _head(statement: Any) -> str:
    """Return a statement as it is written; of a loop its head."""
    if isinstance(statement, ast.For):
        return f"for {ast.unparse(statement.target)} in {ast.unparse(statement.iter)}"
    return ast.unparse(statement)


def _is_generator(value: ast.expr) -> bool:
    """Say whether an expression gives a generator: a call of ``parameters()`` or the like."""
    if isinstance(value, ast.GeneratorExp):
        return True
    return isinstance(value, ast.Call) and callee_of(value.func) in _GIVES


def _bound(scope: Any, name: str) -> list[ast.Name]:
    """Return where a scope gives a variable a value."""
    names = (n for n in ast.walk(scope) if isinstance(n, ast.Name) and n.id == name)
    return [n for n in names if isinstance(n.ctx, ast.Store)]


def _read_again(made: ast.Assign, name: str) -> Any:
    """Return the statement that reads a generator after it was read; None where there is none."""
    scope = scope_of(made)
    called = {name, *_other_names(scope, name)}
    names = [n for n in ast.walk(scope) if isinstance(n, ast.Name) and n.id in called]
    reads = sorted((n for n in names if _uses_up(n)), key=lambda n: (n.lineno, n.col_offset))
    if not reads:
        return None
    around = _loop_around(made)
    in_loop = [n for n in reads if (loop := _loop_around(n)) is not None and loop is not around]
    again = reads[1] if len(reads) > 1 else in_loop[0] if in_loop else None
    if again is None:
        return None
    around = again.parent  # type: ignore[attr-defined]
    return around if isinstance(around, ast.For) else statement_or_head(again)


def _other_names(scope: Any, name: str) -> list[str]:
    """Return the variables to which a scope gives what another one holds, and nothing else."""
    given = (n.targets[0] for n in ast.walk(scope) if isinstance(n, ast.Assign) and _is(n, name))
    names = [target.id for target in given if isinstance(target, ast.Name)]
    return [other for other in names if len(_bound(scope, other)) == 1]


def _is(node: ast.Assign, name: str) -> bool:
    """Say whether a statement gives what a variable holds as it is."""
    return isinstance(node.value, ast.Name) and node.value.id == name


def _uses_up(name: Any) -> bool:
    """Say whether a variable is handed to a call, or gone through, where it stands."""
    if not isinstance(name.ctx, ast.Load):
        return False
    around = name.parent
    if isinstance(around, (ast.For, ast.comprehension)):
        return around.iter is name
    if isinstance(around, ast.keyword):
        return isinstance(around.parent, ast.Call)  # type: ignore[attr-defined]
    is_argument = isinstance(around, ast.Call) and name in around.args
    return is_argument and callee_of(around.func) not in ("next", "print", "type", "iter")


def _loop_around(node: Any) -> Any:
    """Return the innermost loop of its scope in which a node is run again and again: what a loop
    goes through is read once."""
    scope, below = scope_of(node), node
    node = getattr(node, "parent", None)
    while node is not None and node is not scope:
        is_head = isinstance(node, ast.For) and node.iter is below
        if isinstance(node, _LOOPS) and not is_head:
            return node
        node, below = getattr(node, "parent", None), node
    return None
