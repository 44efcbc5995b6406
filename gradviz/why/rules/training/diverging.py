"""Losses that grow from step to step until they are no number. The steps are blamed only where
they took clean gradients: with sums of all backwards so far, any rate is too large."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gradviz.graph.findings import Cause
from gradviz.graph.preview import number
from gradviz.graph.records import Call
from gradviz.why.evidence.loss_rows import (
    LossRow,
    first_after_each_step,
    loss_rows,
    steps_between,
)
from gradviz.why.rules.training.gradients_pile_up import piled_up
from gradviz.why.shown.explanation import Explanation

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

MOST = 4  # losses that are shown


def is_recorded(case: Case, found: Explanation) -> bool:
    """Say whether gradients are NaN or infinite, in a recording."""
    return case.recording is not None and found.cause is Cause.NAN


def diverged(case: Case, found: Explanation) -> Explanation | None:
    """Tell that the loss grew with each step before it became infinite or NaN: the steps took sums
    of old gradients, or else went too far."""
    for whole in loss_rows(case.facts):
        if math.isfinite(whole.values[-1]):
            continue
        rows = (whole, first_after_each_step(whole, case.training))
        row = next((one for one in rows if steps_between(one, case.training)), whole)
        steps = steps_between(row, case.training)
        if steps:
            if (piled := piled_up(case.live_state)) is not None:
                return piled._replace(more=(found.verdict, *piled.more))
            fields = fields_of(case, row, steps)
            told = case.answer(
                Cause.NAN,
                "diverged_at" if fields["rate"] else "diverged",
                calls=[row.calls[-1], steps[-1]],
                **fields,
            )
            return told._replace(more=(found.verdict, *told.more))
    return None


def fields_of(case: Case, row: LossRow, steps: list[Call]) -> dict[str, Any]:
    """Return what the sentences on a row name."""
    words = case.words
    return {
        "loss": words.name(row.calls[-1].inputs[0]),
        "values": [number(v) for v in (*row.grows[:-1][: MOST - 1], row.grows[-1])],
        "step": words.at(steps[-1]),
        "rate": only_rate(case),
    }


def only_rate(case: Case) -> str:
    """Return the learning rate of all known optimizers; "" where they have several, or none."""
    rates = {group.get("lr") for one in case.known_optimizers for group in one.param_groups}
    plain = [rate for rate in rates if isinstance(rate, (int, float))]
    return number(plain[0]) if len(rates) == 1 and plain else ""
