"""How far a long row of losses came: hardly anywhere, or higher than where it began."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, Any

from gradviz.graph.preview import number
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.loss_rows import LossRow, loss_rows, stepped
from gradviz.why.rules.training.diverging import only_rate
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.graph.records import Call, Source
    from gradviz.why.rules.whole.case import Case

_LONG = 100  # losses from which on a row says how far it came
_PARTS = 8  # of a row, whose means are compared
_HARDLY = 0.01  # of the first part's mean: means that all lie that near are the same
_HIGHER = 1.25  # times the first loss: the mean of the last part, where it is told
_NOTHING = 1e-4  # a loss as small as that has come where it is to come


def pace(case: Case) -> Iterator[Remark]:
    """Tell of the one line that called backward, where many steps hardly changed its losses, or
    left them higher than the first one. With several losses one may rise as another falls."""
    rows = loss_rows(case.facts)
    row = rows[0] if len(rows) == 1 and not _stood_still(case) else None
    if row is None or len(row.values) < _LONG or not all(0 < v < math.inf for v in row.values):
        return
    steps = _steps_within(case, row)
    if len(steps) < _LONG // 2:
        return
    means = means_of_parts(row.values)
    low, high = min(means), max(means)
    if low > _NOTHING and high - low <= _HARDLY * means[0]:
        key = "hardly_changed" if case.words.keeps_all else "hardly_changed_lately"
        yield _told(case, row, (means[0], means[-1]), steps[-1], key)
    elif case.words.keeps_all and low > row.values[0] * _HIGHER:
        yield _told(case, row, (row.values[0], means[-1]), steps[-1], "ended_higher")


def _stood_still(case: Case) -> bool:
    """Say whether an optimizer stepped with a learning rate of 0: that is why, and told of it."""
    steps = case.recording.steps_taken() if case.recording is not None else ()
    return any(2 * did.n_still > did.n for _, did in steps)


def means_of_parts(values: Sequence[float]) -> list[float]:
    """Return the means of eight parts of a row, one after the other.

    >>> means_of_parts([8.0, 8.0, 7.0, 7.0, 6.0, 6.0, 5.0, 5.0, 4.0, 4.0, 3.0, 3.0, 2, 2, 1, 1])
    [8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
    """
    ends = [len(values) * at // _PARTS for at in range(_PARTS + 1)]
    return [fmean(values[begin:end]) for begin, end in pairwise(ends)]


def _steps_within(case: Case, row: LossRow) -> list[Call]:
    """Return the calls that stepped between the first and the last loss of a row."""
    first, last = row.calls[0].id, row.calls[-1].id
    return [call for at, call in sorted(stepped(case.training).items()) if first < at < last]


def _told(case: Case, row: LossRow, ends: tuple[float, float], step: Call, key: str) -> Remark:
    """Tell of a row, with the optimizer whose step it is, where that is the only one known."""
    made = _only_optimizer(case)
    fields: dict[str, Any] = {
        "loss": case.words.name(row.calls[-1].inputs[0]),
        "n": len(row.values),
        "first": number(ends[0]),
        "last": number(ends[1]),
        "step": case.words.at(step),
        "rate": _rate(case, made),
    }
    return Remark(Weight.WEIGHTY, key, fields, (step,), statements=tuple(made))


def _only_optimizer(case: Case) -> list[Source]:
    """Return where the one known optimizer is made."""
    known = case.known_optimizers
    return list(case.where_made(known[0])) if len(known) == 1 else []


def _rate(case: Case, made: Sequence[Source]) -> str:
    """Word the learning rate of the one known optimizer, and where it is made."""
    rate = only_rate(case) if len(case.known_optimizers) == 1 else ""
    if not rate:
        return ""
    places = [case.words.line_of(place) for place in made]
    if not places:
        return say("account.rate_of", rate=rate)
    return say("account.rate_made", rate=rate, places=places)
