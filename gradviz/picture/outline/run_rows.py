"""What several backwards did to the parameters of one card, as a row for each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import or_

from gradviz.graph.records import Backward
from gradviz.graph.sent import Sent
from gradviz.picture.outline.loss_names import loss_name
from gradviz.picture.outline.norms import together
from gradviz.picture.outline.scene import Rail, Row, Span, Tone
from gradviz.picture.outline.states import State, States
from gradviz.picture.outline.unit import Unit
from gradviz.words.speech import say


class RunRows:
    """Tells each backward apart.

    Args:
        states: of the parameters of the cards.
    """

    def __init__(self, states: States) -> None:
        self.operations = states.operations

    def rows(self, unit: Unit, state: State, total: int, runs: list[int]) -> list[Row]:
        """Tell how many parameters of a card got a gradient in each of these runs, and which other
        losses that its values went into gave them none."""
        found, norms_in = [], self._norms_by_run(unit, state)
        for run in runs:
            norms = norms_in.get(run)
            if norms:  # what only derivatives were taken of fills nothing
                found.append(
                    Row(Tone.GETS, (self._gets(run, norms, total),), together(norms), Rail.COMES)
                )
        return [*found, *self._none_rows(unit, total, runs)]

    def _gets(self, run: int, norms: list[float], total: int) -> Span:
        """Tell how many parameters got a gradient in a run."""
        fields = {"n": len(norms), "total": total, "loss": loss_name(self.operations, run)}
        shorter = (
            say("outline.gets_from_short", **fields),
            say("outline.gets_from_shortest", **fields),
        )
        return Span(say("outline.gets_from", **fields), shorter=shorter)

    def _norms_by_run(self, unit: Unit, state: State) -> dict[int, list[float]]:
        """Return, for each run, the norm of what a card sent into each parameter that got something
        from it."""
        norms: dict[int, list[float]] = {}
        for weight in state.all:
            by_op = self.operations.filled_from.get(weight.key, {})
            mine: dict[int, list[Sent]] = {}
            for at in by_op.keys() & {*unit.ops}:
                for sent in by_op[at]:
                    mine.setdefault(sent.run, []).append(sent)
            for run, sents in mine.items():
                norms.setdefault(run, []).append(self.operations.gradients.norm_of(sents))
        return norms

    def _none_rows(self, unit: Unit, total: int, runs: list[int]) -> list[Row]:
        """Tell of the losses that a card's values went into and that gave it nothing."""
        found = []
        told = {*runs}
        lines = {self._line_of(run) for run in runs} - {None}
        for backward in self._fed(unit):
            is_told = backward.run in told or self._line_of(backward.run) in lines
            if not is_told and backward.kind != "grad":
                loss = loss_name(self.operations, backward.run)
                shorter = (say("outline.none_from_short", total=total, loss=loss),)
                span = Span(say("outline.none_from", total=total, loss=loss), shorter=shorter)
                found.append(Row(Tone.OFF, (span,), "", Rail.COMES))
        return found

    def _line_of(self, run: int) -> tuple[str, int] | None:
        """Return the file and line of a backward, which all iterations of a loop share."""
        call = self.operations.facts.call_of_run.get(run)
        return call.source[:2] if call and call.source else None

    def _fed(self, unit: Unit) -> Iterator[Backward]:
        """Yield the backwards of the losses that values of a card went into, in order."""
        goes_into = self.operations.facts.goes_into
        made = (i for at in unit.ops for i in self.operations.all[at].makes)
        bits = reduce(or_, map(goes_into, made), 0)
        while bits:
            first = bits & -bits
            yield self.operations.graph.backwards[first.bit_length() - 1]
            bits ^= first
