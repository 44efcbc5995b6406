"""The numbers that the losses of one line had, backward by backward. Knows no torch."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

from gradviz.graph.facts import Facts, grouped
from gradviz.graph.records import Call
from gradviz.graph.training import Did, Training, line_of
from gradviz.why.evidence.measured import numbers

_ROW = 3  # numbers of a row that grows
_EACH = 2.0  # how many times each is the one before, at least
_IN_ALL = 100.0  # and the last the first


class LossRow(NamedTuple):
    """The losses on which one line called backward.

    Attributes:
        calls: the backwards, in order.
        values: what each loss was, as far as that was read.
    """

    calls: list[Call]
    values: list[float]

    @property
    def grows(self) -> list[float]:
        """The numbers at its end that grow from each to the next, infinity the last; what came of
        that left out. Nothing where they do not grow far."""
        whole = [math.isfinite(value) for value in self.values]
        until = whole.index(False) if False in whole else len(whole)
        until += self.values[until : until + 1] == [math.inf]
        begin = max(until - 1, 0)
        while begin > 0 and 0 < _EACH * self.values[begin - 1] < self.values[begin]:
            begin -= 1
        grown = self.values[begin:until]
        return grown if len(grown) >= _ROW and grown[-1] > _IN_ALL * grown[0] else []


def loss_rows(facts: Facts) -> list[LossRow]:
    """Return a row for each line that called backward on single numbers, all of them read."""
    runs = [b for b in facts.graph.backwards if b.kind == "backward"]
    calls = sorted({b.call_id: facts.graph.call[b.call_id] for b in runs}.items())
    rows = []
    for every in grouped((line_of(call), call) for _, call in calls).values():
        values = [_value(facts, call) for call in every]
        if all(value is not None for value in values):
            rows.append(LossRow(every, [v for v in values if v is not None]))
    return rows


def first_after_each_step(row: LossRow, training: Training) -> LossRow:
    """Return the row with the first loss alone behind each step: between two steps over the sum of
    several backwards the weights stay, and only the data differ."""
    calls = stepped(training)
    kept = [
        at
        for at, call in enumerate(row.calls)
        if at == 0 or any(row.calls[at - 1].id < i < call.id for i in calls)
    ]
    return LossRow([row.calls[at] for at in kept], [row.values[at] for at in kept])


def stepped(training: Training) -> dict[int, Call]:
    """Return the calls that stepped, by id."""
    every = (m for moments in training.moments.values() for m in moments)
    return {m.call.id: m.call for m in every if m.did is Did.STEPPED}


def steps_between(row: LossRow, training: Training) -> list[Call]:
    """Return the last step behind each loss of a row that grows, but for the last loss; nothing
    where none stands behind one of them: then no step made it grow."""
    begin = row.values.index(row.grows[0]) if row.grows else 0
    growing = row.calls[begin : begin + len(row.grows)]
    calls = stepped(training)
    found = []
    for one, other in pairwise(growing):
        between = [i for i in calls if one.id < i < other.id]
        if not between:
            return []
        found.append(calls[max(between)])
    return found


def _value(facts: Facts, call: Call) -> float | None:
    """Return the number that a backward was called on."""
    tensor = facts.graph.tensor[call.inputs[0]] if call.inputs else None
    found = numbers(tensor.values or "") if tensor is not None else None
    return found[0] if found is not None and len(found) == 1 else None
