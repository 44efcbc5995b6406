"""Generators that the code reads a second time: that gives nothing, and raises nothing. Read off
the code. Knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set
from typing import Any

from gradviz.names.bindings import bindings, parameters_of, scope_around, scope_of
from gradviz.names.position import callee_of, statement_or_head
from gradviz.names.statements import Statements, source_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.words.words import Words

# methods of modules, and functions of Python's, that give a generator or another iterator
_METHODS = {"parameters", "named_parameters", "buffers", "modules", "children"}
_BUILT_IN = {"filter", "map", "zip", "iter"}
# calls that go through nothing of what they are handed, or through a part
_ONLY_LOOK = {"next", "print", "type", "iter", "isinstance", "id", "repr", "hasattr", "islice"}
# what stands in these may not run
_BRANCHES = (ast.If, ast.IfExp, ast.ExceptHandler, ast.match_case)
_LOOPS = (ast.For, ast.While)


def used_up(words: Words, statements: Statements) -> Iterator[Remark]:
    """Tell of variables that hold a generator, and that are read again when it is used up."""
    own = {f.name for _, f in statements.nodes((ast.FunctionDef, ast.ClassDef))}
    for file, node in statements.nodes(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Name) or not _is_generator(node.value, own):
            continue
        scope = scope_of(node)
        names = [n for f, n in statements.nodes(ast.Name) if f is file]
        again = _read_again(node, [n for n in names if _is_of(n, scope)], own)
        if again is not None:
            yield _told(words, file, node, again)
    yield from _used_up_attributes(words, statements, own)


def _used_up_attributes(words: Words, statements: Statements, own: Set[str]) -> Iterator[Remark]:
    """Tell of attributes ``self.name`` that hold a generator, which the method that made it goes
    through, and another method of the class again."""
    attributes = [*statements.nodes(ast.Attribute)]
    for file, node in statements.nodes(ast.Assign):
        if not isinstance(node.targets[0], ast.Attribute) or not _is_generator(node.value, own):
            continue
        here = [n for f, n in attributes if f is file]
        again = _read_by_another(node, here, own)
        if again is not None:
            yield _told(words, file, node, again)
        elif (anew := _read_anew(node, here, own, statements)) is not None:
            yield _told(words, file, node, anew)._replace(key="used_up_again")


def _read_anew(
    made: ast.Assign, attributes: Sequence[ast.Attribute], own: Set[str], statements: Statements
) -> Any:
    """Return the loop of a method that goes through an attribute's iterator to its end, where the
    constructor alone gives the attribute its value, and loops call that method; None where there is
    none.

    Args:
        made: the statement that gives an attribute the iterator.
        attributes: those of its file.
        own: functions and classes of the program: what they do with it is not known.
        statements: the code that ran.
    """
    target: Any = made.targets[0]
    same = [n for n in attributes if n.attr == target.attr]
    if any(isinstance(n.ctx, ast.Store) and n is not target for n in same):
        return None
    reads = [n for n in same if isinstance(n.ctx, ast.Load) and _uses_up(n, own)]
    later = [n for n in reads if _is_in_another_method(n, scope_of(made))]
    if len(later) != 1 or not isinstance(getattr(later[0], "parent", None), ast.For):
        return None
    method, kind = scope_of(later[0]), scope_of(made).parent
    return _statement_of(later[0]) if _runs_again(method.name, kind.name, statements) else None


def _runs_again(method: str, kind: str, statements: Statements) -> bool:
    """Say whether loops call a method of a class of which no loop makes an object: of that each
    round would have another one."""
    calls = [node for _, node in statements.calls(method)]
    is_made_anew = any(map(_loop_around, _calls_of(kind, statements)))
    return any(map(_loop_around, calls)) and not is_made_anew


def _calls_of(name: str, statements: Statements) -> Iterator[ast.Call]:
    """Yield the calls of a class or function of this name."""
    for _, node in statements.nodes(ast.Call):
        if callee_of(node.func) == name:
            yield node


def _read_by_another(made: ast.Assign, attributes: Sequence[ast.Attribute], own: Set[str]) -> Any:
    """Return the statement of another method that goes through an attribute's generator, which the
    method that made it has gone through; None where there is none, or it is given another value.

    Args:
        made: the statement that gives an attribute the generator.
        attributes: those of its file.
        own: functions and classes of the program: what they do with it is not known.
    """
    target: Any = made.targets[0]
    same = [n for n in attributes if n.attr == target.attr]
    if any(isinstance(n.ctx, ast.Store) and n is not target for n in same):
        return None
    written = ast.unparse(target)
    reads = [n for n in same if ast.unparse(n) == written and _uses_up(n, own)]
    later = [n for n in reads if _is_in_another_method(n, scope_of(made))]
    return _statement_of(later[0]) if later and _any_runs_with(reads, made) else None


def _any_runs_with(reads: Sequence[ast.Attribute], made: ast.Assign) -> bool:
    """Say whether one of some reads stands in the function of a statement, and runs with it."""
    return any(scope_of(n) is scope_of(made) and _runs_with(n, made) for n in reads)


def _is_in_another_method(node: ast.AST, method: Any) -> bool:
    """Say whether a node stands in another method of the same class, under no condition."""
    scope: Any = scope_of(node)
    if scope is method or not isinstance(getattr(method, "parent", None), ast.ClassDef):
        return False
    return getattr(scope, "parent", None) is method.parent and _runs_with(node, scope)


def _told(words: Words, file: Any, node: ast.Assign, again: Any) -> Remark:
    """Tell of a statement that makes a generator, and of one that finds nothing in it any more."""
    made, read = source_of(file, node), source_of(file, again)
    fields = {
        "name": ast.unparse(node.targets[0]),
        "made": words.source(made),
        "statement": _head(again),
        "place": words.line_of(read),
        "value": ast.unparse(node.value),
    }
    return Remark(Weight.WEIGHTY, "used_up", fields, statements=(made, read))


def _is_of(name: ast.Name, scope: Any) -> bool:
    """Say whether a name is a variable of a scope, and not one of a function inside of it."""
    inner = scope_of(name)
    while inner is not None and inner is not scope:
        is_bound = any(bound == name.id for bound, _ in bindings(inner))
        if is_bound or name.id in parameters_of(inner) or isinstance(inner, ast.Module):
            return False
        inner = scope_around(inner)
    return inner is scope


def _head(statement: Any) -> str:
    """Return a statement as it is written; of a loop its head."""
    if isinstance(statement, ast.For):
        return f"for {ast.unparse(statement.target)} in {ast.unparse(statement.iter)}"
    return ast.unparse(statement)


def _is_generator(value: ast.expr, own: Set[str]) -> bool:
    """Say whether an expression gives a generator: a call of a module's ``parameters()`` or the
    like, which the program does not define itself."""
    if isinstance(value, ast.GeneratorExp):
        return True
    function = value.func if isinstance(value, ast.Call) else None
    if isinstance(function, ast.Attribute):
        return function.attr in _METHODS - own
    return isinstance(function, ast.Name) and function.id in _BUILT_IN - own


def _read_again(made: ast.Assign, names: Sequence[ast.Name], own: Set[str]) -> Any:
    """Return the statement that reads a generator after it was read; None where there is none, or
    where one of both may not run.

    Args:
        made: the statement that gives a variable the generator.
        names: the variables of its scope.
        own: functions and classes of the program: what they do with it is not known.
    """
    (target,) = made.targets[:1]
    called = {getattr(target, "id", ""), *_other_names(made, names)}
    if any(_times_bound(name, names) > 1 for name in called):
        return None
    found = (n for n in names if n.id in called and _uses_up(n, own) and _runs_with(n, made))
    reads = sorted(found, key=lambda n: (n.lineno, n.col_offset))
    # a single one that is run again and again is the second one, too
    again = reads[1:] or [n for n in reads if _loop_around(n) not in (None, _loop_around(made))]
    return _statement_of(again[0]) if again else None


def _statement_of(name: Any) -> Any:
    """Return the loop that goes through a variable, or the statement in which it stands."""
    return name.parent if isinstance(name.parent, ast.For) else statement_or_head(name)


def _times_bound(name: str, names: Sequence[ast.Name]) -> int:
    """Return how often a variable is given a value."""
    return sum(n.id == name and isinstance(n.ctx, ast.Store) for n in names)


def _other_names(made: ast.Assign, names: Sequence[ast.Name]) -> list[str]:
    """Return the variables that are given what another one holds, and nothing else."""
    name = getattr(made.targets[0], "id", "")
    reads = (n for n in names if n.id == name and isinstance(n.ctx, ast.Load))
    around = (getattr(n, "parent", None) for n in reads)
    others = [node.targets[0] for node in around if isinstance(node, ast.Assign)]
    found = [other.id for other in others if isinstance(other, ast.Name)]
    return [other for other in found if _times_bound(other, names) == 1]


def _runs_with(name: Any, made: ast.AST) -> bool:
    """Say whether no branch stands around a variable that does not stand around a statement."""
    around = set[int]()
    node: Any = made
    while (node := getattr(node, "parent", None)) is not None:
        around.add(id(node))
    below, node = name, name.parent
    while node is not None and id(node) not in around:
        if isinstance(node, _BRANCHES) and getattr(node, "test", None) is not below:
            return False
        below, node = node, getattr(node, "parent", None)
    return True


def _uses_up(name: Any, own: Set[str]) -> bool:
    """Say whether a variable is handed to a call, or gone through, where it stands."""
    if not isinstance(name.ctx, ast.Load):
        return False
    around = name.parent
    if isinstance(around, (ast.For, ast.comprehension)):
        return around.iter is name and not _may_leave_some(around)
    call: Any = getattr(around, "parent", None) if isinstance(around, ast.keyword) else around
    is_argument = isinstance(around, ast.keyword) or name in getattr(call, "args", ())
    if not isinstance(call, ast.Call) or not is_argument or _goes_on_later(call):
        return False
    return callee_of(call.func) not in _ONLY_LOOK | own


def _goes_on_later(call: ast.Call) -> bool:
    """Say whether a loop over ``enumerate(it)`` or ``zip(range(n), it)`` may end before all of it
    is gone through: what gives batches without an end is read so, a number of them at a time."""
    loop: Any = getattr(call, "parent", None)
    is_head = isinstance(loop, ast.For) and loop.iter is call
    others = [a for a in call.args if isinstance(a, ast.Call) and callee_of(a.func) == "range"]
    return (is_head and _may_leave_some(loop)) or (callee_of(call.func) == "zip" and bool(others))


def _may_leave_some(loop: ast.AST) -> bool:
    """Say whether a loop may end before all is gone through: what is left is read later."""
    return any(isinstance(node, (ast.Break, ast.Return)) for node in ast.walk(loop))


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
