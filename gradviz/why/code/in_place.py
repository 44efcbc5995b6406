"""Statements that write in place into variables: which there are, what may stand in their place,
and who reads the variable afterwards. Reads code, runs none of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from gradviz.names.bindings import bindings, scope_of
from gradviz.names.position import dotted
from gradviz.why.code.rewritten import out_of_place

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
# methods that end like those that write values, and write flags alone
_FLAGS = frozenset({"requires_grad_", "detach_", "retain_grad_"})
_SWITCH = re.compile(r"\b(?:no_grad|inference_mode|set_grad_enabled)\b")


class Write(NamedTuple):
    """A statement that writes in place into a variable.

    Attributes:
        name: the variable.
        statement: its syntax node.
        anew: the statement that gives the variable a new tensor instead; "" of a part of it.
    """

    name: str
    statement: Any
    anew: str


def writes_into(names: Collection[str], around: Any) -> list[Write]:
    """Return the statements that write in place into some variables, within a scope or a loop, from
    top to bottom; none of the functions in it."""
    statements = (node for node in _own_nodes(around) if isinstance(node, ast.stmt))
    found = (_write(statement, names) for statement in statements)
    return sorted((w for w in found if w is not None), key=lambda w: int(w.statement.lineno))


def _own_nodes(around: Any) -> Iterator[Any]:
    """Yield the nodes of a scope, without those of the scopes in it."""
    todo = list(ast.iter_child_nodes(around))
    for node in todo:  # which grows
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            todo += ast.iter_child_nodes(node)


def _write(statement: Any, names: Collection[str]) -> Write | None:
    """Return what a statement writes in place, where that is one of some variables."""
    name = written_in(statement)
    if not name or name not in names:
        return None
    is_whole = dotted(_written_by(statement)) == name
    return Write(name, statement, _anew(statement, name) if is_whole else "")


def written_in(statement: Any) -> str:
    """Return the variable into which a statement writes in place, as it is called there; "" where
    it writes into none.

    >>> codes = "self.x[0] += y", "h.mul_(2)", "y = f(x)"
    >>> [written_in(ast.parse(code).body[0]) for code in codes]
    ['self.x', 'h', '']
    """
    written = _written_by(statement)
    while isinstance(written, ast.Subscript):
        written = written.value
    return "" if written is None else dotted(written) or ""


def _anew(statement: Any, name: str) -> str:
    """Return a statement that writes into a variable as one that gives it a new tensor."""
    if isinstance(statement, ast.AugAssign) and not isinstance(statement.target, ast.Name):
        value = ast.BinOp(statement.target, statement.op, statement.value)
        return f"{name} = {ast.unparse(value)}"
    return out_of_place(ast.unparse(statement))


def _written_by(statement: Any) -> Any:
    """Return the expression into which a statement writes in place; None where it writes none."""
    if isinstance(statement, ast.AugAssign):
        return statement.target
    if isinstance(statement, ast.Assign):
        targets = [target for target in statement.targets if isinstance(target, ast.Subscript)]
        return targets[0] if targets else None
    if isinstance(statement, ast.Expr):
        return _written_by_call(statement.value)
    return None


def _written_by_call(call: Any) -> Any:
    """Return what a method, or the first of a chain of methods, writes in place: ``x.mul_(2)``."""
    written = None
    while isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        method = call.func.attr
        if method.endswith("_") and not method.endswith("__") and method not in _FLAGS:
            written = call.func.value
        call = call.func.value
    return written


def writes_below(statement: Any) -> Iterator[tuple[Any, ast.expr]]:
    """Yield the statements below another one, in its scope, that write in place, each with what it
    writes into; none into what is given another value in between, none that stands in the other
    branch of a condition, and none under a switch of gradients of its own."""
    scope, last = scope_of(statement), statement.end_lineno
    bound = [(name, s.lineno) for name, s in bindings(scope) if not isinstance(s, ast.AugAssign)]
    for other in sorted(_statements_in(scope), key=lambda s: int(s.lineno)):
        written = _written_by(other)
        while isinstance(written, ast.Subscript):
            written = written.value
        name = "" if written is None else dotted(written) or ""
        if not name or other.lineno <= last or not _runs_beside(statement, other):
            continue
        owners = {name[: dot.start()] for dot in re.finditer(r"\.", name)} | {name}
        if not any(n in owners and last < line <= other.lineno for n, line in bound):
            yield other, written


def _statements_in(scope: Any) -> list[Any]:
    """Return the statements of a scope, without those of the functions in it."""
    return [node for node in _own_nodes(scope) if isinstance(node, ast.stmt)]


def _runs_beside(statement: Any, other: Any) -> bool:
    """Say whether a statement runs after another one under the same switches of gradients, as far
    as the blocks tell in which they stand."""
    here, there = _blocks_around(statement), _blocks_around(other)
    apart = [block for block, branch in there.items() if here.get(block, branch) != branch]
    switches = [b for b in there.keys() - here.keys() if isinstance(b, (ast.With, ast.AsyncWith))]
    return not apart and not any(_SWITCH.search(ast.unparse(i)) for b in switches for i in b.items)


def _blocks_around(statement: Any) -> dict[Any, bool]:
    """Return the blocks in which a statement stands, in its scope, each with whether it stands in
    the part that runs where the other does not: of an ``if`` its ``else``."""
    scope, found, node = scope_of(statement), dict[Any, bool](), statement
    while node is not scope:
        block, inner = node.parent, node
        found[block] = any(inner is part for part in getattr(block, "orelse", ()) or ())
        node = block
    return found


def is_read_below(name: str, statement: Any) -> bool:
    """Say whether a variable is read below a statement, see ``reads_below``."""
    return any(True for _ in reads_below(name, statement))


def reads_below(name: str, statement: Any) -> Iterator[Any]:
    """Yield where a variable is read below a statement, in its scope, before anything gives it
    another value."""
    scope, last = scope_of(statement), statement.end_lineno
    below = [s.lineno for s in _binders(name, scope) if s.lineno > last]
    end = min(below, default=float("inf"))
    for node in _own_nodes(scope):
        is_read = isinstance(getattr(node, "ctx", None), ast.Load) and dotted(node) == name
        if is_read and last < node.lineno <= end:
            yield node


def is_called_below(word: str, statement: Any) -> bool:
    """Say whether something in whose name a word stands, as ``step`` in ``opt.step``, is called
    below a statement, in its scope."""
    calls = (n for n in _own_nodes(scope_of(statement)) if isinstance(n, ast.Call))
    below = (call for call in calls if call.lineno > statement.end_lineno)
    return any(word in (dotted(call.func) or "") for call in below)


def targets_of(statement: Any) -> list[str]:
    """Return the variables that a statement unpacks a value into; none of one that binds one.

    >>> targets_of(ast.parse("u, v = flow.chunk(2, dim=1)").body[0])
    ['u', 'v']
    >>> targets_of(ast.parse("parts = flow.chunk(2, dim=1)").body[0])
    []
    """
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if len(targets) != 1 or not isinstance(targets[0], (ast.Tuple, ast.List)):
        return []
    return [dotted(part) or "" for part in targets[0].elts]


def loop_without(name: str, statement: Any) -> Any:
    """Return the outermost loop around a statement in which nothing gives a variable a value: what
    is bound above it is the same in each round. None where there is none."""
    binders = _binders(name, scope_of(statement))
    found, node = None, statement
    while not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module, ast.Lambda)):
        node = node.parent
        inside = {id(part) for part in ast.walk(node)} if isinstance(node, _LOOPS) else set[int]()
        if inside and inside.isdisjoint(map(id, binders)):
            found = node
    return found


def loop_over(line: int, statement: Any) -> Any:
    """Return the outermost loop, in the scope of a statement, in which a line stands and the
    statement does not. None where there is none."""
    loops = (n for n in _own_nodes(scope_of(statement)) if isinstance(n, _LOOPS))
    over = (n for n in loops if _spans(n, line))
    apart = [n for n in over if not _spans(n, int(statement.lineno))]
    return min(apart, key=lambda n: int(n.lineno), default=None)


def _spans(node: Any, line: int) -> bool:
    """Say whether a line stands in a node."""
    return bool(node.lineno <= line <= node.end_lineno)


def free_name(wanted: str, node: Any) -> str:
    """Return a variable that stands for nothing yet where a node stands.

    >>> free_name("i", ast.parse("for i in x: y = i"))
    'i_'
    """
    taken = {n.id for n in ast.walk(_outermost(node)) if isinstance(n, ast.Name)}
    while wanted in taken:
        wanted += "_"
    return wanted


def _outermost(node: Any) -> Any:
    """Return the file or cell in which a node stands."""
    while getattr(node, "parent", None) is not None:
        node = node.parent
    return node


def statement_binding(name: str, statement: Any) -> Any:
    """Return the last statement above another one that gives a variable a value, in its scope; None
    where none does."""
    binders = _binders(name, scope_of(statement))
    above = [s for s in binders if s.lineno < statement.lineno]
    return max(above, key=lambda s: int(s.lineno), default=None)


def _binders(name: str, scope: Any) -> list[Any]:
    """Return the statements that give a variable another value: ``x += 1`` writes into the one that
    it has."""
    found = [statement for bound, statement in bindings(scope) if bound == name]
    return [statement for statement in found if not isinstance(statement, ast.AugAssign)]
