"""What the losses were, loop after loop: grown with each step, or no number in between."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.loss_rows import LossRow, loss_rows, steps_between
from gradviz.why.rules.training.diverging import fields_of

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def loss_values(case: Case) -> Iterator[Remark]:
    """Tell of each line that called backward on losses which grew all the way, or some of which
    were no number, though the last gradients are."""
    for row in loss_rows(case.facts):
        broken = [at for at, value in enumerate(row.values) if not math.isfinite(value)]
        steps = steps_between(row, case.training)
        if broken and math.isfinite(row.values[-1]):
            yield _broken(case, row, broken)
        elif not broken and len(row.grows) == len(row.values) and steps:
            fields = fields_of(case, row, steps)
            key = "grows_at" if fields["rate"] else "grows"
            yield Remark(Weight.WEIGHTY, key, fields, (steps[-1], row.calls[-1]))


def _broken(case: Case, row: LossRow, broken: list[int]) -> Remark:
    """Tell of losses that were no number."""
    call = row.calls[broken[0]]
    maker = case.facts.maker.get(call.inputs[0])
    words = case.words
    fields = {
        "loss": words.name(row.calls[-1].inputs[0]),
        "at": broken[0] + 1,
        "n": len(row.values),
        "broken": len(broken),
        "value": str(row.values[broken[0]]),
        "maker": words.at(maker) if maker else words.at(call),
    }
    return Remark(Weight.WEIGHTY, "loss_broken", fields, (maker,) if maker else (call,))
