"""Shapes that do not fit, and were made to fit: a column against a row of equally many numbers
gives a square. Knows no torch."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call, Tensor
from gradviz.why.account.remark import Remark, Weight
from gradviz.words.words import Words

_ELEMENTWISE = frozenset(
    """sub rsub add mul div true_divide __sub__ __rsub__ __add__ __radd__ __mul__ __rmul__
    __truediv__ __rtruediv__ mse_loss l1_loss smooth_l1_loss huber_loss""".split()
)
# what gives a tensor a dimension of 1 on purpose, so that each meets each
_SPREADS = frozenset("__getitem__ unsqueeze view reshape t transpose T mT permute".split())


class Shapes:
    """The shapes of a recording's values.

    Args:
        facts: of the recording's graph.
        words: what tensors and calls are called.
    """

    def __init__(self, facts: Facts, words: Words) -> None:
        self.facts, self.words = facts, words

    def remarks(self) -> Iterator[Remark]:
        """Tell of each line on the way to a loss that takes a column and a row of equally many
        numbers, element by element, where nothing shows that each was to meet each."""
        behind = self.facts.ancestors(self.facts.losses)
        lines = set()
        for call in self.facts.ordinary_calls:
            if call.function not in _ELEMENTWISE or behind.isdisjoint(call.outputs):
                continue
            found = self._column_and_row(call)
            line = call.source and call.source[:2]
            if found is not None and line not in lines:
                lines.add(line)
                yield self._squared(call, *found)

    def _column_and_row(self, call: Call) -> tuple[Tensor, Tensor] | None:
        """Return what a call takes as a column, of shape (N, 1), and as (N,)."""
        tensors = [self.facts.graph.tensor[i] for i in call.inputs]
        if len(tensors) != 2:
            return None
        column, row = sorted(tensors, key=lambda t: -len(t.shape or ()))
        n = math.prod(row.shape or ())
        if n < 2 or row.shape != (n,) or column.shape != (n, 1):
            return None
        maker = self.facts.maker.get(column.id)
        on_purpose = maker is not None and maker.function in _SPREADS
        return None if on_purpose else (column, row)

    def _squared(self, call: Call, column: Tensor, row: Tensor) -> Remark:
        """Tell of one such call."""
        fields = {
            "call": self.words.at(call),
            "column": column.code_name or self.words.name(column.id),
            "row": row.code_name or self.words.name(row.id),
            "n": math.prod(row.shape or ()),
        }
        objects = frozenset({column.object_id, row.object_id})
        return Remark(Weight.WEIGHTY, "squared", fields, (call,), objects)
