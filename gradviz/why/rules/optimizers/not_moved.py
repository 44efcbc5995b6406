"""Parameters that have a gradient, and that the next step of an optimizer does not move."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import torch

from gradviz.graph.findings import Cause
from gradviz.graph.training import Did
from gradviz.watch.identity import read
from gradviz.why.question.subjects import held_by
from gradviz.why.rules.many import pattern
from gradviz.why.rules.optimizers.optimizers import at_the_same
from gradviz.why.rules.optimizers.schedules import groups_at_zero
from gradviz.why.rules.optimizers.zero_learning_rate import at_zero_rate
from gradviz.why.shown.explanation import Explanation, lines_of
from gradviz.why.survey.moving import STAYS, Move

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_NEXT_TO_NOTHING = 1e-4  # of a gradient beside another: what rounding leaves of a sum of 0


def left_in_place(case: Case, found: Explanation) -> Explanation | None:
    """Tell of parameters that have a gradient, and that the next step does not move."""
    stays = [
        row
        for row in case.trained_moves
        if row.verdict == STAYS and row.group is not None and row.has_finite_grad
    ]
    stays = [row for row in stays if not _is_cancelled(case, row, stays)]
    if not stays:
        return None
    for optimizer in case.optimizers:
        still = {id(p) for group in groups_at_zero(optimizer) for p in group["params"]}
        at_zero = [row.name for row in stays if id(case.held[row.name]) in still]
        if at_zero:
            return at_zero_rate(case, optimizer, at_zero)
    told = case.answer(
        Cause.NOT_MOVED,
        "stays",
        optimizers=case.optimizer_names,
        names=pattern([row.name for row in stays]),
        reason=stays[0].why,
    )
    return at_the_same(found, told)._replace(where="", more=())


def _is_cancelled(case: Case, row: Move, stays: list[Move]) -> bool:
    """Say whether a bias stays whose gradient is next to nothing beside that of its weight, which
    moves: a normalisation behind it takes away what a bias adds."""
    name = row.name.removesuffix("bias") + "weight"
    if not row.name.endswith("bias") or name not in case.held or name in {r.name for r in stays}:
        return False
    bias, weight = case.held[row.name], case.held[name]
    own, beside = (read(partial(_norm_of_grad, p)) for p in (bias, weight))
    return own is not None and beside is not None and own < _NEXT_TO_NOTHING * beside


def _norm_of_grad(parameter: torch.Tensor) -> float:
    """Return how large the gradient of a parameter is."""
    assert parameter.grad is not None
    return float(parameter.grad.detach().norm())


def holds_another_model(case: Case, found: Explanation) -> Explanation | None:
    """Tell that the optimizers hold nothing of the one model that was given."""
    outside = case.outside
    if not outside or not of_another_model(case, outside):
        return None
    moved = _moved_by_them(case)
    if moved:
        fixed = case.answer(
            Cause.NOT_MOVED,
            "held_by_none_asked",
            optimizers=case.optimizer_names,
            names=pattern([row.name for row in outside]),
            n=len(outside),
            others=pattern(moved),
        )
        return _with_makers(case, at_the_same(found, fixed))
    told = case.answer(
        Cause.NOT_MOVED,
        "holds_none",
        optimizers=case.optimizer_names,
        names=pattern([row.name for row in outside]),
    )
    return _with_makers(case, at_the_same(found, told))


def _with_makers(case: Case, told: Explanation) -> Explanation:
    """Return an answer with where the optimizers are made, and where the name of the model that is
    asked about is given another one after that."""
    made = [place for optimizer in case.optimizers for place in case.where_made(optimizer)]
    title = case.called.get(id(case.modules[0]), "") if case.modules else ""
    every = [place for place, _ in case.statements.binds(title)]
    is_before = any(p.file == m.file and p.line < m.line for p in every for m in made)
    later = [p for p in every for m in made[-1:] if p.file == m.file and p.line > m.line]
    places = [*made, *(later[:1] if is_before else [])]
    lines = lines_of((), places)
    return told._replace(where=case.words.places([], places), lines=lines, more=())


def _moved_by_them(case: Case) -> list[str]:
    """Return the names of what the optimizers hold and recorded steps of theirs moved: then they
    were made for that."""
    if case.recording is None:
        return []
    facts, words, find = case.facts, case.words, case.recording.find
    states = [t for p in held_by(case.optimizers).values() if (t := find(p)) is not None]
    moments = case.training.moments
    stepped = [
        t
        for t in states
        if any(m.did is Did.STEPPED for m in moments.get(t.object_id, ()))
        and t.object_id in facts.leaves_sent_to
    ]
    return [words.name(t.id) for t in stepped]


def of_another_model(case: Case, outside: list[Move]) -> bool:
    """Say whether the optimizers hold nothing of the one model that was given."""
    if len(case.modules) != 1:
        return False
    trained = sum(bool(p.requires_grad) for p in case.modules[0].parameters())
    return len(outside) == trained
