"""Weights of float16 that steps made NaN: the small number by which Adam and its kin keep off a
division by 0 is 0 in that dtype."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call
from gradviz.graph.training import Did
from gradviz.why.evidence.loss_rows import loss_rows
from gradviz.why.shown.explanation import Explanation

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

# of torch's optimizers, what divides by the root of averaged squares and eps
_DIVIDING = ("Adam", "AdamW", "NAdam", "RAdam", "Adamax", "RMSprop")


def lost_eps(case: Case, found: Explanation) -> Explanation | None:
    """Tell that weights of float16 were divided by 0 in a step: the first loss and its gradients
    were finite, and what came behind the step is not."""
    for optimizer in case.known_optimizers:
        halves = _halves_without_eps(optimizer)
        step = _breaking_step(case, halves) if halves else None
        if step is None:
            continue
        made = case.where_made(optimizer)
        told = case.answer(
            Cause.NAN,
            "lost_eps",
            calls=[step],
            statements=made,
            optimizer=case.optimizer_name(optimizer),
            kind=type(optimizer).__name__,
            eps=f"{optimizer.param_groups[0]['eps']:g}",
            step=case.words.at(step),
        )
        return told._replace(more=(found.verdict, *told.more))
    return None


def _halves_without_eps(optimizer: Any) -> list[torch.Tensor]:
    """Return the parameters of float16 that an optimizer divides by what its eps is too small
    for."""
    if type(optimizer).__name__ not in _DIVIDING:
        return []
    return [
        p
        for group in optimizer.param_groups
        for p in group["params"]
        if p.dtype is torch.float16
        and torch.tensor(float(group.get("eps", 1)), dtype=torch.float16).item() == 0
    ]


def _breaking_step(case: Case, halves: list[torch.Tensor]) -> Call | None:
    """Return the first step that moved such weights, where the loss before it and its gradients
    were finite, and the next loss is not; None where it is otherwise."""
    first = _first_step(case, halves)
    if first is None:
        return None
    for row in loss_rows(case.facts):
        pairs = [*zip(row.calls, row.values, strict=True)]
        before = [(c, v) for c, v in pairs if c.id < first.id]
        after = [v for c, v in pairs if c.id > first.id]
        was_sound = all(math.isfinite(v) and _was_sound(case, c) for c, v in before)
        if before and after and was_sound and not math.isfinite(after[0]):
            return first
    return None


def _first_step(case: Case, weights: list[torch.Tensor]) -> Call | None:
    """Return the first step that moved some weights."""
    states = [case.recording.find(p) for p in weights] if case.recording else []
    leaves = {state.object_id for state in states if state is not None}
    moments = (m for leaf in leaves for m in case.training.moments.get(leaf, ()))
    stepped = (moment.call for moment in moments if moment.did is Did.STEPPED)
    return min(stepped, key=lambda call: call.id, default=None)


def _was_sound(case: Case, backward: Call) -> bool:
    """Say whether a backward met no gradient that is not finite."""
    run = case.facts.run_of_call.get(backward.id)
    return run is not None and not any(step.broken for step in case.sizes.steps[run.run])
