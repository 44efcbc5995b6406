"""Parameters that no optimizer has, while it has others of the same model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gradviz.graph.findings import Cause
from gradviz.graph.records import Source, Tensor
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
            return left_out_of(case, title, trained, left, len(trained.keys() & held.keys()))
    return None


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
    return case.answer(
        Cause.NOT_MOVED if group else Cause.LEFT_OUT,
        "group_unused" if group else "left_out",
        tensor_ids=[state.id for state in left.values() if state],
        statements=[place] if place else makers,
        names=pattern([case.title(trained[i], say("entry.a_parameter")) for i in left]),
        n=len(left),
        all=len(trained),
        model=title,
        held=held,
        group=group.code if group else "",
        variable=group.owner if group else "",
    )


def _made_without(case: Case, trained: Mapping[int, Any]) -> list[Source]:
    """Return where the optimizers are made that hold others of some parameters."""
    holding = [o for o in case.known_optimizers if not trained.keys().isdisjoint(held_by([o]))]
    return [place for optimizer in holding for place in case.where_made(optimizer)]


def states_with_gradient(
    case: Case, parameters: Mapping[int, Any], paths: Paths
) -> dict[int, Tensor | None]:
    """Return the states of those that get a gradient and that no recorded call wrote; None of
    those that the recording did not meet."""
    states: dict[int, Tensor | None] = {}
    for i, p in parameters.items():
        state = case.recording.find(p) if case.recording else None
        if state and state.storage_id in paths.facts.rewritten:
            continue
        is_sent = state is not None and state.object_id in paths.facts.leaves_sent_to
        if p.grad is not None or is_sent:
            states[i] = state
    return states


def _trained(module: Any) -> dict[int, Any]:
    """Return the parameters of a module that are to learn, by identity."""
    return {id(p): p for p in module.parameters() if p.requires_grad and p.is_leaf}
