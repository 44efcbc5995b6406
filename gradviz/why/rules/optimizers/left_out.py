"""Parameters that no optimizer has, while it has others of the same model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gradviz.graph.findings import Cause
from gradviz.graph.records import Source, Tensor, Wrote
from gradviz.graph.training import Did
from gradviz.watch.identity import parameters
from gradviz.why.evidence.paths import Paths
from gradviz.why.question.subjects import held_by
from gradviz.why.rules.many import pattern
from gradviz.why.rules.optimizers.unused_group import last_filled, unused_group
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def left_out(case: Case, found: Explanation) -> Explanation | None:
    """Tell what gets a gradient of a model, another part of which is in an optimizer, while no
    optimizer has this."""
    held = case.held_by_any
    if not held:
        return None
    paths = Paths(case.graph)
    known = {case.called.get(id(m)) or type(m).__name__: m for m in case.known_modules}
    for title, module in {**known, **case.titled}.items():
        trained = _trained(module)
        asked = trained.keys() & case.targets().keys()
        outside = {i: trained[i] for i in trained if i in asked - held.keys()}
        states = states_with_gradient(case, outside, paths)
        if not states or not trained.keys() & held.keys():
            continue
        left = {i: state for i, state in states.items() if i not in case.held_anywhere}
        if left:
            n = len(trained.keys() & held.keys())
            turned = _turned_off(case, module, paths)
            every = {id(p): p for p in parameters(module) if id(p) in {**trained, **turned}}
            return left_out_of(case, title, every, {**left, **turned}, n)
    return None


def _turned_off(case: Case, module: Any, paths: Paths) -> dict[int, Tensor | None]:
    """Return the states of the parameters of a module that are switched off by now, had a gradient
    while they were on, and are in no optimizer, either, by identity."""
    off = {id(p): p for p in parameters(module) if not p.requires_grad and p.is_leaf}
    outside = {i: p for i, p in off.items() if i not in case.held_anywhere}
    states = states_with_gradient(case, outside, paths)
    sent_to = paths.facts.leaves_sent_to
    return {i: state for i, state in states.items() if state and state.object_id in sent_to}


def left_out_instead(case: Case, found: Explanation) -> Explanation | None:
    """Tell so in the place of a parameter that no call used, where others of the same network got
    gradients that no step uses; that is told after it."""
    told = left_out(case, found)
    if told is None:
        return None
    return told._replace(more=(*told.more, found.verdict), odd=found.odd, is_observed=True)


def left_out_of(
    case: Case, title: str, trained: Mapping[int, Any], left: Mapping[int, Tensor | None], held: int
) -> Explanation:
    """Tell of parameters of a model that are in no optimizer, where others of it are.

    Args:
        title: what the model is called.
        trained: its parameters that require grad, by identity.
        left: the states of those that no optimizer holds.
        held: how many others an optimizer holds.
    """
    group = unused_group({i: trained[i] for i in left})
    place = last_filled(case.statements, group.owner) if group else None
    makers = [] if group else _made_without(case, trained)
    clears = _clearing(case, [state.object_id for state in left.values() if state])
    return case.answer(
        Cause.NOT_MOVED if group else Cause.LEFT_OUT,
        "group_unused" if group else ("left_out_cleared" if clears else "left_out"),
        tensor_ids=[state.id for state in left.values() if state],
        statements=[place] if place else makers,
        names=pattern([case.title(trained[i], say("entry.a_parameter")) for i in left]),
        n=len(left),
        all=len(trained),
        model=title,
        held=held,
        group=group.code if group else "",
        variable=group.owner if group else "",
        clears=clears,
    )


def _clearing(case: Case, leaves: Sequence[int]) -> str:
    """Return where the gradients of some leaves were cleared last; "" where those of one were never
    cleared."""
    rows = (case.training.moments.get(leaf, ()) for leaf in leaves)
    calls = [[m.call for m in row if m.did is Did.CLEARED] for row in rows]
    return case.words.where(calls[0][-1]) if calls and all(calls) else ""


def _made_without(case: Case, trained: Mapping[int, Any]) -> list[Source]:
    """Return where the optimizers are made that hold others of some parameters."""
    holding = [o for o in case.known_optimizers if not trained.keys().isdisjoint(held_by([o]))]
    return [place for optimizer in holding for place in case.where_made(optimizer)]


def _is_moved(case: Case, state: Tensor, paths: Paths) -> bool:
    """Say whether a call wrote the memory of a parameter after a backward had brought it a
    gradient: layers that are made in the middle of a training get their first numbers there."""
    if state.storage_id not in paths.facts.rewritten:
        return False
    added = (m.call.id for m in case.training.moments.get(state.object_id, ()) if m.run is not None)
    begun = next(added, None)
    if begun is None:
        return True
    around = (
        (e.call_id, paths.facts.around(e)[1])
        for e in paths.facts.writes
        if _is_of_numbers(e, paths)
    )
    here = (i for i, after in around if after.storage_id == state.storage_id)
    return any(i > begun and i not in paths.facts.backward_calls for i in here)


def _is_of_numbers(event: Wrote, paths: Paths) -> bool:
    """Say whether a call wrote numbers, and not a .grad alone."""
    return not event.alias and paths.facts.writes_memory(event)


def states_with_gradient(
    case: Case, parameters: Mapping[int, Any], paths: Paths
) -> dict[int, Tensor | None]:
    """Return the states of those that get a gradient and that no recorded call wrote; None of
    those that the recording did not meet."""
    states: dict[int, Tensor | None] = {}
    for i, p in parameters.items():
        state = case.recording.find(p) if case.recording else None
        if state and _is_moved(case, state, paths):
            continue
        is_sent = state is not None and state.object_id in paths.facts.leaves_sent_to
        if p.grad is not None or is_sent:
            states[i] = state
    return states


def _trained(module: Any) -> dict[int, Any]:
    """Return the parameters of a module that are to learn, by identity."""
    return {id(p): p for p in parameters(module) if p.requires_grad and p.is_leaf}
