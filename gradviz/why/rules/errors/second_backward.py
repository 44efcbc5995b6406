"""Backward a second time through one graph: which line to change. Plain data in and out, knows no
torch.

What a loop carries over is told by ``Failure.carried_over``; here stands what was computed once,
and what one of two backwards was not meant for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gradviz.graph.facts import code_of
from gradviz.graph.findings import Cause
from gradviz.graph.records import (
    Backward,
    Call,
    CutReason,
    Node,
    NodeKind,
    SavedState,
    Tensor,
)
from gradviz.graph.training import line_of
from gradviz.names.frames import frames, names_in, place_at, variables_of
from gradviz.why.explanation import Explanation
from gradviz.why.handed_on import computed
from gradviz.why.rules.errors.failure import Failure
from gradviz.words.speech import say, several


def made_once(failure: Failure) -> Explanation | None:
    """Tell that each iteration's backward goes through what was computed once, before the loop."""
    found = of_an_earlier_iteration(failure)
    if found is None:
        return None
    node, maker, earlier, first = found
    leaves = leaves_behind(failure, node, earlier)
    moved = written_between(failure, first)
    learning = objects(leaves) & moved
    others = other_leaves(failure, node, leaves)
    place = place_of_binding(failure, maker)
    makers = [failure.facts.first_maker.get(t.object_id) for t in leaves]
    if leaves and all(is_without_name(failure, leaf, place) for leaf in leaves):
        form = "once_result"
    elif learning:
        form = "once_learning"
    elif not others:
        form = "once_alone"
    else:
        form = "once" if moved else "once_unmoved"
    return failure.answer(
        Cause.SECOND_BACKWARD,
        form,
        calls=[place, *makers] if others and moved and not learning else [place],
        also_at=[first, failure.call],
        tensors=leaves,
        nodes=[node],
        code=failure.code(place),
        leaves=failure.names(leaves),
        first=failure.written(first),
        name=node.name,
    )


def is_without_name(failure: Failure, leaf: Tensor, place: Call) -> bool:
    """Say whether a leaf was made in the line of a call, and only what was made of it has a name:
    ``W = torch.randn(3, requires_grad=True) * 0.01``."""
    maker = failure.facts.first_maker.get(leaf.object_id)
    names = {t.name or t.code_name for t in failure.facts.states[leaf.object_id]}
    return maker is not None and line_of(maker) == line_of(place) and not any(names)


class Earlier(NamedTuple):
    """A node that a loop's backward freed and the next iteration's needs, though no iteration made
    it."""

    node: Node
    maker: Call
    run: Backward
    backward: Call


def of_an_earlier_iteration(failure: Failure) -> Earlier | None:
    """Return what two iterations of a loop share, where it was computed before the loop."""
    if failure.freed is None or failure.call is None:
        return None
    node, run = failure.freed
    first, maker = failure.graph.call[run.call_id], failure.maker(node)
    if maker is None or maker.id > first.id or not failure.in_a_loop(first, failure.call):
        return None
    if frames(first) != frames(failure.call):  # one helper, called at two places
        return None
    if failure.made_again(maker, first, failure.call):
        return None
    return Earlier(node, maker, run, first)


def place_of_binding(failure: Failure, maker: Call) -> Call:
    """Return the line that binds what a call made: its own, or the one that called the function
    whose result it is."""
    named = {n for t in failure.graph.tensors for n in (t.name, t.code_name) if n}
    scopes = {variables_of(f) for f in frames(failure.call)} if failure.call else set()
    for depth in reversed(range(len(frames(maker)))):
        frame = frames(maker)[depth]
        if variables_of(frame) in scopes and named.intersection(names_in(frame.code)[0]):
            return place_at(maker, depth)
    return place_at(maker, 0) if frames(maker) else maker


def leaves_behind(failure: Failure, node: Node, earlier: Backward) -> list[Tensor]:
    """Return the leaves behind the tensors through which a backward comes to a node that an earlier
    one freed."""
    facts = failure.facts
    entered = [t.gradient_edge for t in failure.shared(earlier.ran)]
    ways = [e.node_id for e in entered if e and node.id in facts.reachable([e.node_id])]
    leaves = [t for n in ways or [node.id] for t in facts.leaves_below(n)]
    return list({t.object_id: t for t in leaves}.values())


def other_leaves(failure: Failure, node: Node, leaves: list[Tensor]) -> list[Tensor]:
    """Return the leaves that this backward would still reach, if what stands at a node were
    detached."""
    inside = failure.facts.reachable(failure.run.roots if failure.run else ())
    behind = failure.facts.reachable([node.id])
    above = failure.facts.above([node.id])
    outer = failure.facts.reachable(failure.run.roots if failure.run else (), inside - behind)
    kept = {leaf.object_id for leaf in leaves}
    found = [failure.facts.leaf_at.get(n) for n in outer - above - behind]
    return [t for t in found if t is not None and t.object_id not in kept]


def written_between(failure: Failure, first: Call) -> set[int]:
    """Return the objects that were written between a call and the one that raised: by a step, or by
    hand."""
    graph, last = failure.graph, failure.call
    if last is None:
        return set()
    return {
        graph.tensor[e.after_id].object_id
        for e in failure.facts.writes
        if first.id < e.call_id < last.id
    }


def moved_between(failure: Failure, first: Call) -> set[int]:
    """Return the objects whose numbers were written between a call and the one that raised: what
    was only cleared is none of these."""
    tensor, last = failure.graph.tensor, failure.call
    between = (e for e in failure.facts.writes if last and first.id < e.call_id < last.id)
    return {tensor[e.after_id].object_id for e in between if failure.facts.writes_memory(e)}


def meant_for_one(failure: Failure) -> Explanation | None:
    """Tell that one of two losses shares a part that it was not meant to train: the steps between
    the two backwards say which."""
    if failure.freed is None or failure.call is None or failure.run is None:
        return None
    node, earlier = failure.freed
    first = failure.graph.call[earlier.call_id]
    shared = failure.shared(earlier.ran)
    if not shared or set(failure.run.roots) <= set(earlier.ran):
        return None
    behind = objects(t for s in shared for t in failure.facts.leaves_reached(s.id))
    moved = written_between(failure, first)
    trained = objects(leaves_of_run(failure, earlier)) & moved
    if not trained:
        return None
    for_both = bool(trained & behind)
    last = failure.call if for_both else first
    reader = reader_of(failure, shared, first if for_both else None, last)
    if reader is None:
        return None
    return failure.answer(
        Cause.SECOND_BACKWARD,
        "once_too_many" if for_both else "not_meant",
        calls=[reader, failure.call],
        also_at=[first],
        tensors=shared,
        nodes=[node],
        name=node.name,
        node=failure.made_by(node),
        first=failure.written(first),
        second=failure.written(failure.call),
        shared=failure.names(shared),
        detached=[f"{name}.detach()" for name in failure.names(shared)],
        code=failure.code(reader),
    )


def let_in(failure: Failure) -> Explanation | None:
    """Tell where a loss lets in, with its history, what another network made: the step after its
    backward moved nothing of that network, which is trained elsewhere or detached elsewhere."""
    if failure.freed is None or failure.call is None or failure.run is None:
        return None
    node, earlier = failure.freed
    first = failure.graph.call[earlier.call_id]
    moved = moved_between(failure, first)
    trained = objects(leaves_of_run(failure, earlier)) & moved
    foreign = set[int]()
    for tensor in failure.shared(earlier.ran) if trained else ():
        behind = objects(failure.facts.leaves_reached(tensor.id))
        foreign |= behind if behind.isdisjoint(moved) else set()
    door = door_of(failure, earlier, foreign, trained) if foreign else None
    if door is None or not is_kept_apart(failure, foreign, door.history, first):
        return None
    return failure.answer(
        Cause.SECOND_BACKWARD,
        "let_in",
        calls=[door.place, failure.call],
        also_at=[first],
        tensors=[door.tensor],
        nodes=[node],
        name=node.name,
        first=failure.written(first),
        second=failure.written(failure.call),
        value=door.word or failure.name(door.tensor),
        code=failure.code(door.place),
        leaves=failure.names(t for t in failure.facts.leaves_reached(door.tensor.id)),
        others=failure.names(t for t in leaves_of_run(failure, earlier) if t.object_id in trained),
    )


class Door(NamedTuple):
    """Where what one network made comes to be computed with another's weights.

    Attributes:
        place: the statement that hands it over.
        tensor: what is handed over.
        word: what the statement calls it, "" where it has no name there.
        history: the states of what it was made from, by that network alone, itself included.
    """

    place: Call
    tensor: Tensor
    word: str
    history: set[int]


def door_of(failure: Failure, run: Backward, foreign: set[int], trained: set[int]) -> Door | None:
    """Return where a backward's graph goes over from the leaves that it was to train to others."""
    tensor, facts = failure.graph.tensor, failure.facts
    made = {failure.graph.node[n].call_id for n in run.ran}
    for call in (c for c in failure.graph.calls if c.id in made):
        inside = [i for i in call.inputs if is_of(failure, tensor[i], foreign)]
        reached = {o for i in call.outputs for o in objects(facts.leaves_reached(i))}
        if inside and not trained.isdisjoint(reached):
            behind = (i for i in facts.ancestors(inside[:1]) if is_of(failure, tensor[i], foreign))
            return opened(failure, call, sorted(behind), made)
    return None


def opened(failure: Failure, call: Call, history: list[int], made: set[int | None]) -> Door:
    """Return the statement that hands over what one network made to a call, and what it says."""
    states = [failure.graph.tensor[i] for i in history]
    chain = [t for t in states if t.name or t.code_name] or states
    place = handed_at(call, chain)
    if place is None:
        readers = failure.facts.readers.get(chain[-1].object_id, ())
        place = next((c for c in readers if c.id in made), call)
    read = names_in(code_of(place))[1]
    named = [(t, n) for t in chain for n in {t.code_name, t.name or ""} & read if n]
    handed, word = named[-1] if named else (chain[-1], "")
    return Door(place, handed, word, {*history})


def handed_at(call: Call, chain: list[Tensor]) -> Call | None:
    """Return the outermost statement above a call in which the name of one of these tensors
    stands."""
    names = {n for t in chain for n in (t.name, t.code_name) if n}
    depths = (d for d, frame in enumerate(frames(call)) if names & names_in(frame.code)[1])
    deepest = max(depths, default=None)
    return None if deepest is None else place_at(call, deepest)


def is_of(failure: Failure, tensor: Tensor, leaves: set[int]) -> bool:
    """Say whether a result leads to some of these leaves, and to no others."""
    behind = objects(failure.facts.leaves_reached(tensor.id)) if tensor.requires_grad else set()
    return bool(behind) and behind <= leaves and not tensor.is_leaf


def is_kept_apart(failure: Failure, leaves: set[int], history: set[int], first: Call) -> bool:
    """Say whether something speaks for it that a loss was not to train these leaves: an optimizer
    of its own has them, their gradients were cleared after its backward, or the same value is
    detached elsewhere."""
    detached = {CutReason.DETACH, CutReason.DETACH_IN_PLACE, CutReason.DATA}
    cuts = (c for c in failure.graph.cuts if c.reason in detached)
    others = {*failure.graph.held} | written_between(failure, first)
    return leaves <= others or any(c.input_id in history for c in cuts)


def objects(tensors: Iterable[Tensor]) -> set[int]:
    """Return the ids of the objects that tensors are states of."""
    return {t.object_id for t in tensors}


def leaves_of_run(failure: Failure, run: Backward) -> list[Tensor]:
    """Return the leaves at which a backward arrived."""
    nodes = (failure.graph.node[n] for n in run.ran)
    leaves = (failure.facts.leaf_at.get(n.id) for n in nodes if n.kind is NodeKind.ACCUMULATE_GRAD)
    return [t for t in leaves if t is not None]


def reader_of(
    failure: Failure, shared: list[Tensor], after: Call | None, before: Call
) -> Call | None:
    """Return the line that takes shared tensors into the loss of one backward: the first call
    between two, told where its arguments are written."""
    ids = objects(shared)
    tensors = failure.graph.tensor
    for call in failure.graph.calls:
        if call.id >= before.id:
            return None
        if after is not None and call.id <= after.id:
            continue
        if ids & {tensors[i].object_id for i in call.inputs}:
            return at_the_argument(failure, call, shared)
    return None


def at_the_argument(failure: Failure, call: Call, shared: list[Tensor]) -> Call:
    """Return the place of a call where the name of a shared tensor is written, as far out as the
    scope of the backward."""
    names = {n for t in shared for n in (t.name, t.code_name) if n}
    for depth, frame in enumerate(frames(call)):
        if names & names_in(frame.code)[1]:
            return place_at(call, depth)
    return call


def freed_unseen(failure: Failure) -> Explanation:
    """Tell that an earlier backward was not recorded."""
    nodes = [
        node
        for node in failure.nodes_behind_given_root
        if any(saved.state is SavedState.FREED for saved in node.saved)
    ]
    return failure.answer(
        Cause.SECOND_BACKWARD,
        "unseen",
        nodes=nodes[:1],
        more=failure.unrecorded(say("unrecorded.freed")),
        node=failure.made_by(nodes[0]) if nodes else say("raised.some_node"),
    )


def _called_twice(failure: Failure, node: Node, first: Call) -> Explanation | None:
    """Tell that two statements go backward from one and the same loss, each by the innermost
    statement that the other does not have in common with it: both may call one helper."""
    assert failure.call is not None
    pairs = zip(frames(first), frames(failure.call), strict=False)
    depth = next((d for d, (one, other) in enumerate(pairs) if one[:2] != other[:2]), None)
    if depth is None or not failure.inputs:
        return None
    places = [place_at(first, depth), place_at(failure.call, depth)]
    return failure.answer(
        Cause.SECOND_BACKWARD,
        "same_loss",
        calls=places,
        also_at=[first],
        tensors=failure.inputs[:1],
        nodes=[node],
        loss=failure.name(failure.inputs[0]),
        first=failure.written(places[0]),
        second=failure.written(places[1]),
    )


# what only takes parts of a value
_PARTS = frozenset({"chunk", "split", "unbind"})


def run_twice(failure: Failure) -> Explanation | None:
    """Tell that two backwards went through the same graph, or through a part that two losses
    share."""
    if failure.freed is None or failure.run is None:
        return None
    node, earlier = failure.freed
    first = failure.graph.call[earlier.call_id]
    shared = failure.shared(earlier.ran)
    same = set(failure.run.roots) <= set(earlier.ran)
    if failure.run.roots == earlier.roots and (twice := _called_twice(failure, node, first)):
        return twice
    behind = objects(t for s in shared for t in failure.facts.leaves_reached(s.id))
    stepped = bool(written_between(failure, first) & behind)
    whole = [computed(failure.facts, t.id, _PARTS) for t in shared[:1]]
    makers = [failure.binding(failure.graph.tensor[i]) for i in whole]
    return failure.answer(
        Cause.SECOND_BACKWARD,
        "same_graph"
        if same
        else ("shared_stepped" if stepped else "shared")
        if shared
        else "twice",
        calls=[*([] if same else makers), first, failure.call],
        tensors=shared,
        nodes=[node],
        name=node.name,
        node=failure.made_by(node),
        first=failure.written(first),
        second=failure.written(failure.call),
        shared=several(failure.names(shared)),
    )
