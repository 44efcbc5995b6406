"""A loss that is to train one network and lets in, with its history, what another one made before
it was stepped: where that comes in, for this loss and for those that are to go back after it. Plain
data in and out, knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from gradviz.graph.facts import code_of
from gradviz.graph.records import Call, Node, Tensor
from gradviz.names.frames import frames, place_at, variables_of
from gradviz.names.position import dotted, statement_of
from gradviz.why.code.in_place import is_called_below, reads_below
from gradviz.why.rules.errors.failure import LINE, Failure, call_at
from gradviz.why.rules.errors.second_backward import (
    Door,
    doors_of,
    is_of,
    leaves_from,
    moved_between,
    objects,
)
from gradviz.why.rules.errors.stale import stale_nodes
from gradviz.words.speech import Code, say


class LetIn(NamedTuple):
    """What losses let in that was made before a step.

    Attributes:
        places: the statements in which it comes in.
        tensors: what comes in.
        values: the same, as code.
        edits: what is written there instead.
    """

    places: list[Call]
    tensors: list[Tensor]
    values: list[str]
    edits: list[str]


def let_over_a_step(failure: Failure, step: Call, node: Node | None) -> LetIn | None:
    """Return what comes with its history, over a step, into this loss and those after it, each of
    which is to train what that step did not move.

    Args:
        failure: the error.
        step: the call that moved weights between the forward and this backward.
        node: that had saved one of them.

    Returns:
        None where a loss may be meant for what was moved, where it would still raise without that
        history, or where it is not known how to leave it out.
    """
    maker, statement = failure.maker(node), failure.statement
    if maker is None or failure.call is None or not isinstance(statement, ast.stmt):
        return None
    if is_called_below(code_of(step).partition("(")[0], statement):
        return None
    moved = moved_between(failure, maker)
    below = [root for root in _roots_below(failure, statement) if _is_stale(failure, root)]
    found = [_of_loss(failure, root, moved, maker) for root in (*failure.inputs[:1], *below)]
    known = [one for one in found if one is not None]
    if not known or len(known) < len(found):
        return None
    return _together([*known, *_read_below(failure, statement, moved)])


def _together(every: list[LetIn]) -> LetIn:
    """Return what some losses let in as one, each thing once."""
    return LetIn(
        _each_once([place for one in every for place in one.places]),
        [tensor for one in every for tensor in one.tensors],
        list(dict.fromkeys(value for one in every for value in one.values)),
        list(dict.fromkeys(edit for one in every for edit in one.edits)),
    )


def _each_once(places: Iterable[Call]) -> list[Call]:
    """Return places, one of each line."""
    return [*{place.source[:2]: place for place in places if place.source}.values()]


# --- losses that are computed already -------------------------------------------------------------


def _of_loss(failure: Failure, root: Tensor, moved: set[int], maker: Call) -> LetIn | None:
    """Return what one loss lets in; None where that is not known."""
    edge = root.gradient_edge
    if edge is None:
        return None
    reached = objects(leaves_from(failure, [edge.node_id]))
    apart = [held & reached for held in failure.optimizers if not held & moved]
    trained = set[int]().union(*apart)
    met = failure.facts.reachable([edge.node_id])
    doors = doors_of(failure, met, reached - trained, trained) if trained else []
    if not doors or not _is_enough(failure, edge.node_id, doors):
        return None
    edits = [_edits_of(failure, door, root, maker) for door in doors]
    if not all(edits):
        return None
    return LetIn(
        [door.place for door in doors],
        [door.tensor for door in doors],
        [door.called(failure) for door in doors],
        [edit for some in edits for edit in some],
    )


def _is_enough(failure: Failure, root: int, doors: list[Door]) -> bool:
    """Say whether nothing that was written since is behind a loss once what comes in through some
    doors has no history."""
    edges = (failure.graph.tensor[i].gradient_edge for door in doors for i in door.history)
    closed = {edge.node_id for edge in edges if edge is not None}
    open_still = failure.facts.reachable([root], without=closed)
    return stale_nodes(failure, [root]).isdisjoint(open_still)


def _edits_of(failure: Failure, door: Door, root: Tensor, maker: Call) -> list[str]:
    """Say how a loss is given a value without its history: where that comes in; where an earlier
    backward needs the history there, in a call of its own. Nothing where that is not known."""
    if not door.word:
        return []
    earlier = _behind_earlier(failure, maker)
    made = {i for call in _calls_under(failure, door.place) for i in call.outputs}
    return _own_calls(failure, door, root, earlier) if made & earlier else [door.edit(failure)]


def _behind_earlier(failure: Failure, maker: Call) -> set[int]:
    """Return what earlier backwards since a call began from, and all behind it."""
    runs = [b for b in failure.graph.backwards if b.call_id > maker.id]
    last = failure.call.id if failure.call is not None else 0
    roots = [i for b in runs if b.call_id < last for i in failure.graph.call[b.call_id].inputs[:1]]
    return failure.facts.ancestors(roots)


def _calls_under(failure: Failure, place: Call) -> Iterator[Call]:
    """Yield the calls that ran under a statement, in its last run."""
    source, last = place.source, failure.call
    if source is None or last is None:
        return
    for call in failure.calls_before(last):
        if any(frame[:2] == source[:2] for frame in frames(call)):
            yield call


def _own_calls(failure: Failure, door: Door, root: Tensor, earlier: set[int]) -> list[str]:
    """Say what is written in the place of the name that a shared call gives its result, wherever
    this loss alone reads it: a call of its own, without the history."""
    statement = _node(failure, door.place)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    name = dotted(targets[0]) if len(targets) == 1 else None
    if name is None or not isinstance(statement.value, ast.Call):
        return []
    value = ast.unparse(_Detached(door.word).visit(ast.parse(ast.unparse(statement.value))))
    behind, found = failure.facts.ancestors([root.id]), dict[int, Call]()
    for call in _readers_of(failure, name, door.place):
        if behind.isdisjoint(call.outputs):
            continue
        place = _beside(failure, call, door.place)
        if not earlier.isdisjoint(call.outputs) or place is None or place.source is None:
            return []
        found.setdefault(place.source.line, place)
    return [
        say(
            "raised.own_call",
            value=Code(value),
            name=Code(name),
            code=failure.words.at(place, failure.code(place, LINE)),
        )
        for place in found.values()
    ]


def _readers_of(failure: Failure, name: str, place: Call) -> Iterator[Call]:
    """Yield the calls that read what a statement gives to a name."""
    for maker in _calls_under(failure, place):
        for tensor in (failure.graph.tensor[i] for i in maker.outputs):
            if name in (tensor.name, tensor.code_name):
                yield from failure.facts.calls_reading.get(tensor.id, ())


def _beside(failure: Failure, call: Call, place: Call) -> Call | None:
    """Return the statement under which a call ran in the scope of another one."""
    scopes = {
        variables_of(frame)
        for maker in _calls_under(failure, place)
        for frame in frames(maker)
        if place.source is not None and frame.line == place.source.line
    }
    depths = (d for d, frame in enumerate(frames(call)) if variables_of(frame) in scopes)
    depth = next(depths, None)
    return None if depth is None else place_at(call, depth)


class _Detached(ast.NodeTransformer):
    """Detaches a variable wherever code reads it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def visit(self, node: ast.AST) -> Any:
        """Return the node, or the call of ``detach`` in its place."""
        if isinstance(node, ast.expr) and dotted(node) == self.name:
            return ast.Call(ast.Attribute(node, "detach"), [], [])
        return super().visit(node)


def _node(failure: Failure, place: Call) -> Any:
    """Return the syntax node of a statement; None where it cannot be read."""
    found = None if failure.statements is None else failure.statements.node_at(place.source)
    return None if found is None else found[1]


# --- what the statements below go on with ---------------------------------------------------------


def _is_stale(failure: Failure, tensor: Tensor) -> bool:
    """Say whether a backward from a result would find something changed."""
    edge = tensor.gradient_edge
    return edge is not None and bool(stale_nodes(failure, [edge.node_id]))


def _held_at(failure: Failure) -> dict[str, Tensor]:
    """Return what the variables held when the call raised, of those that the recording knows."""
    found = dict[str, Tensor]()
    last = failure.call.id if failure.call is not None else 0
    for tensor in failure.graph.tensors:
        maker = failure.facts.maker.get(tensor.id)
        if tensor.code_name and maker is not None and maker.id < last:
            found[tensor.code_name] = tensor
    return found


def _roots_below(failure: Failure, statement: Any) -> Iterator[Tensor]:
    """Yield the losses whose backward is called below a statement, in its scope, where they are
    computed already."""
    for name, tensor in _held_at(failure).items():
        for node in reads_below(name, statement):
            above = getattr(node, "parent", None)
            if isinstance(above, ast.Attribute) and above.attr == "backward":
                yield tensor


def _read_below(failure: Failure, statement: Any, moved: set[int]) -> Iterator[LetIn]:
    """Yield what calls below a statement, for a loss that is still to be computed, let in of what
    was made before the step."""
    if failure.failed is None:
        return
    for name, tensor in _held_at(failure).items():
        if not is_of(failure, tensor, moved) or not _is_stale(failure, tensor):
            continue
        for node in reads_below(name, statement):
            reader = statement_of(node)
            is_handed = isinstance(node.parent, ast.Call) and node in node.parent.args
            if is_handed and isinstance(reader, ast.Assign) and is_called_below("backward", reader):
                place = call_at(failure.failed.source(reader))
                edit = Door(place, tensor, name, set()).edit(failure)
                yield LetIn([place], [tensor], [Code(name)], [edit])
