"""Where the statements that computed something once can stand once more, so that each iteration
computes it anew: above the one that reads it. Reads the text of the code, and runs none of it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from gradviz.graph.records import Call, Frame, Source, Tensor
from gradviz.names.bindings import bindings, parameters_of, scope_of
from gradviz.names.frames import frames, names_in
from gradviz.names.position import callee_of, dotted
from gradviz.names.statements import source_of, stands_in
from gradviz.why.rules.errors.failure import Failure, call_at

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_MOST = 4  # statements that are told


class Anew(NamedTuple):
    """What each iteration can compute anew, and where.

    Attributes:
        statements: in the order in which they are to stand.
        reader: the statement above which they can stand.
    """

    statements: list[Call]
    reader: Call


def computed_anew(
    failure: Failure,
    first: Call,
    places: Sequence[Call],
    shared: Sequence[Tensor],
    binding: Callable[[Call], Call],
) -> Anew | None:
    """Return above which statement those can stand once more that ran once.

    Args:
        failure: the error.
        first: the earlier backward.
        places: the statements.
        shared: their results that this backward goes through, too.
        binding: tells the statement that binds what a call made.

    Returns:
        None where one of them reads what may be something else there, or what has another history
        that was freed, or where another place than that one reads its result.
    """
    every = _with_what_they_read(failure, first, places, binding)
    nodes = [_node(failure, place) for place in every]
    if not nodes or len(nodes) > _MOST or not all(map(_can_run_again, nodes)):
        return None
    reader = _place_for(nodes, [*_readers(failure, first, shared, nodes)])
    reader = reader or _begin_of_forward(failure, first, shared, nodes)
    found = None if failure.statements is None else failure.statements.node_at(every[0].source)
    if reader is None or found is None:
        return None
    ordered = sorted(every, key=lambda call: call.source.line if call.source else 0)
    return Anew(ordered, call_at(source_of(found[0], reader)))  # both stand in one file


def _place_for(nodes: Sequence[Any], readers: Sequence[Any]) -> Any:
    """Return the first of the statements that read what some others compute, where all of these can
    stand above it; None where there is none such."""
    scopes = {id(scope_of(node)) for node in nodes}
    if len(scopes) > 1 or not readers or None in readers:
        return None
    first = min(readers, key=lambda node: int(node.lineno))
    is_before_all = all(node.parent is first.parent for node in readers)
    is_same = all(_reads_the_same(node, first) for node in nodes)
    return first if is_before_all and is_same else None


def _begin_of_forward(
    failure: Failure, first: Call, shared: Sequence[Tensor], nodes: Sequence[Any]
) -> Any:
    """Return the first statement of the ``forward`` of the class in whose methods some statements
    stand, where that ran since an earlier backward, before anything read their results, and they
    can stand above it; None where that is not so."""
    kind = getattr(scope_of(nodes[0]), "parent", None)
    methods = kind.body if isinstance(kind, ast.ClassDef) else []
    forward = [m for m in methods if isinstance(m, ast.FunctionDef) and m.name == "forward"]
    begin = next((one for node in forward for one in node.body if not _is_text(one)), None)
    if begin is None or not _ran_before_readers(failure, first, shared, forward[0]):
        return None
    can = all(_shares_names(node, begin) and _reads_the_same(node, begin) for node in nodes)
    return begin if can else None


def _ran_before_readers(
    failure: Failure, first: Call, shared: Sequence[Tensor], function: Any
) -> bool:
    """Say whether a function ran since an earlier backward, before anything read some results."""
    since = failure.calls_between(first, failure.call) if failure.call is not None else []
    began = (c.id for c in since if any(_stands_in(failure, f, function) for f in frames(c)))
    begin = next(began, None)
    readers = (c for t in shared for c in failure.facts.calls_reading.get(t.id, ()))
    later = [c.id for c in readers if c.id > first.id]
    return begin is not None and bool(later) and begin < min(later)


def _is_text(statement: Any) -> bool:
    """Say whether a statement is a docstring."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _stands_in(failure: Failure, frame: Frame, function: Any) -> bool:
    """Say whether a statement under which a call ran stands in a function."""
    node = _node(failure, call_at(Source(frame.file, frame.line, None)))
    return node is not None and scope_of(node) is function


# --- what is to be computed anew ------------------------------------------------------------------


def _with_what_they_read(
    failure: Failure, first: Call, places: Sequence[Call], binding: Callable[[Call], Call]
) -> list[Call]:
    """Return some statements with those that computed what they read: its graph may be freed, too.
    None at all where one of these is not known."""
    found = {_line(place): place for place in places}
    for place in (todo := [*found.values()]):  # which grows
        for maker in _makers_of_what_is_read(failure, first, place):
            if maker is None or len(found) > _MOST:
                return []
            other = binding(maker)
            if _line(other) not in found:
                found[_line(other)] = other
                todo.append(other)
    return [*found.values()]


def _makers_of_what_is_read(failure: Failure, first: Call, place: Call) -> list[Call | None]:
    """Return the calls that made the results which a statement reads; None for one that is not
    known."""
    node, tensor = _node(failure, place), failure.graph.tensor
    under = [c for c in failure.calls_before(first) if _is_under(c, place, node)]
    made = {i for call in under for i in call.outputs}
    read = [tensor[i] for i in sorted({i for call in under for i in call.inputs} - made)]
    return [failure.facts.maker.get(t.id) for t in read if t.requires_grad and not t.is_leaf]


def _is_under(call: Call, place: Call, node: Any) -> bool:
    """Say whether a call ran under a statement."""
    source = place.source
    return (
        source is not None
        and node is not None
        and any(
            frame.file == source.file and node.lineno <= frame.line <= node.end_lineno
            for frame in frames(call)
        )
    )


def _can_run_again(node: Any) -> bool:
    """Say whether a statement does the same once more: it computes variables or attributes from
    others, in no loop, and makes nothing that learns."""
    if not isinstance(node, ast.Assign):
        return False
    bound = {dotted(part) for target in node.targets for part in getattr(target, "elts", [target])}
    if None in bound or not bound.isdisjoint(_read_in(node)):
        return False
    words = [n for n in ast.walk(node.value) if isinstance(n, (ast.Call, ast.keyword))]
    callees = [callee_of(n.func) or "" if isinstance(n, ast.Call) else n.arg or "" for n in words]
    return not any(name[:1].isupper() or name.startswith("requires_grad") for name in callees)


def _read_in(node: Any) -> set[str]:
    """Return the variables and attributes that a statement reads."""
    loads = (n for n in ast.walk(node) if isinstance(getattr(n, "ctx", None), ast.Load))
    return {name for n in loads if (name := dotted(n)) is not None}


# --- where it can stand ---------------------------------------------------------------------------


def _readers(
    failure: Failure, first: Call, shared: Sequence[Tensor], nodes: Sequence[Any]
) -> Iterator[Any]:
    """Yield, for each call since the earlier backward that takes one of some results into this one,
    the statement of the loop or the method that it runs in; None where that is not known."""
    if failure.call is None:
        return
    again = {call.id for call in failure.calls_between(first, failure.call)}
    behind = failure.facts.ancestors(failure.call.inputs)
    for tensor in shared:
        for call in failure.facts.readers.get(tensor.object_id, ()):
            if call.id in again and not behind.isdisjoint(call.outputs):
                yield _statement_reading(failure, call, nodes)


def _statement_reading(failure: Failure, reader: Call, nodes: Sequence[Any]) -> Any:
    """Return the statement in which the name of a result is read, of a loop that runs this backward
    or of a method the outermost one; None where none stands where the name can be bound."""
    bound = {name for node in nodes for name in names_in(ast.unparse(node))[0]}
    for frame in frames(reader):
        if bound.isdisjoint(names_in(frame.code)[1]):
            continue
        node = _node(failure, call_at(Source(frame.file, frame.line, None)))
        if node is not None and all(_shares_names(one, node) for one in nodes):
            return _outermost(failure, node, nodes[0])
    return None


def _shares_names(node: Any, other: Any) -> bool:
    """Say whether all that a statement reads and binds is the same where another one stands: in its
    own scope, or in another method of its class, as far as it reads and binds of ``self`` alone."""
    here, there = scope_of(node), scope_of(other)
    if here is there:
        return True
    kind = getattr(here, "parent", None)
    if not isinstance(kind, ast.ClassDef) or getattr(there, "parent", None) is not kind:
        return False
    owner = parameters_of(here)[:1]
    if not owner or owner != parameters_of(there)[:1]:
        return False
    own = {name for name, _ in bindings(here) if "." not in name} | {*parameters_of(here)}
    own |= {name for name, _ in bindings(there) if "." not in name} | {*parameters_of(there)}
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return names.isdisjoint(own - {*owner})


def _outermost(failure: Failure, node: Any, moved: Any) -> Any:
    """Return the statement around another one that runs once in each iteration; None where a
    statement that is to run with it would not."""
    scope, running = scope_of(node), _statements_running(failure)
    while node.parent is not scope and not (
        isinstance(node.parent, _LOOPS) and any(stands_in(one, node.parent) for one in running)
    ):
        node = node.parent
    is_beside = scope is scope_of(moved)
    is_in_loop = isinstance(node.parent, _LOOPS) and not stands_in(moved, node.parent)
    return None if is_beside and not is_in_loop else node


def _statements_running(failure: Failure) -> list[Any]:
    """Return the statements under which the call ran that raised."""
    around = frames(failure.call) if failure.call is not None else ()
    return [_node(failure, call_at(Source(f.file, f.line, None))) for f in around]


def _reads_the_same(node: Any, reader: Any) -> bool:
    """Say whether nothing may have given another value to what a statement reads by the time
    another one runs."""
    here, there = scope_of(node), scope_of(reader)
    later = {name for name, at in bindings(here) if at.lineno > node.lineno}
    if there is not here:
        later |= {name for name, _ in bindings(there)}
    others = (name for name in later if name not in {*names_in(ast.unparse(node))[0]})
    return {*others}.isdisjoint(_read_in(node))


def _line(place: Call) -> object:
    """Return in which line a statement stands."""
    return place.source[:2] if place.source else None


def _node(failure: Failure, place: Call) -> Any:
    """Return the syntax node of a statement; None where it cannot be read."""
    found = None if failure.statements is None else failure.statements.node_at(place.source)
    return None if found is None else found[1]
