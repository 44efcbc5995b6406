"""What several backwards did to the parameters of one card, as a row for each."""

from __future__ import annotations

from functools import reduce
from operator import or_

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
        found = []
        for run in runs:
            norms = self._norms_in(run, unit, state)
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

    def _norms_in(self, run: int, unit: Unit, state: State) -> list[float]:
        """Return the norm of what a card sent into each parameter that got something from it in a
        run."""
        inside, norms = {*unit.ops}, []
        for weight in state.all:
            by_op = self.operations.filled_from.get(weight.key, {})
            mine = [s for at, ss in by_op.items() if at in inside for s in ss if s.run == run]
            if mine:
                norms.append(self.operations.gradients.norm_of(mine))
        return norms

    def _none_rows(self, unit: Unit, total: int, runs: list[int]) -> list[Row]:
        """Tell of the losses that a card's values went into and that gave it nothing."""
        found = []
        fed = self._fed(unit)
        lines = {self._line_of(run) for run in runs} - {None}
        for place, backward in enumerate(self.operations.graph.backwards):
            is_told = backward.run in runs or self._line_of(backward.run) in lines
            if fed >> place & 1 and not is_told and backward.kind != "grad":
                loss = loss_name(self.operations, backward.run)
                shorter = (say("outline.none_from_short", total=total, loss=loss),)
                span = Span(say("outline.none_from", total=total, loss=loss), shorter=shorter)
                found.append(Row(Tone.OFF, (span,), "", Rail.COMES))
        return found

    def _line_of(self, run: int) -> tuple[str, int] | None:
        """Return the file and line of a backward, which all iterations of a loop share."""
        call = self.operations.facts.call_of_run.get(run)
        return call.source[:2] if call and call.source else None

    def _fed(self, unit: Unit) -> int:
        """Return into which losses values of a card went, as the bits of their backwards."""
        goes_into = self.operations.facts.goes_into
        made = (i for at in unit.ops for i in self.operations.all[at].makes)
        return reduce(or_, map(goes_into, made), 0)
