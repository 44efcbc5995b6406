"""The rows in which a card tells of cuts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from gradviz.graph.records import Cut, CutReason
from gradviz.picture.outline.card_cuts import CardCuts
from gradviz.picture.outline.causes import Causes
from gradviz.picture.outline.links import Link
from gradviz.picture.outline.scene import Rail, Row, Span, Tone
from gradviz.picture.outline.states import States
from gradviz.picture.outline.unit import Kind, Merged, Unit
from gradviz.words.speech import say


class CutRows:
    """Writes what the cards of an outline tell of cuts.

    Args:
        cuts: of the cards.
        causes: of the same recording.
        states: of the parameters of the cards.
    """

    def __init__(self, cuts: CardCuts, causes: Causes, states: States) -> None:
        self.cuts = cuts
        self.links = cuts.links
        self.expansion = cuts.expansion
        self.operations = cuts.operations
        self.causes = causes
        self.states = states

    # --- inside of a card -------------------------------------------------------------------------

    def inside(self, place: int, unit: Unit) -> list[Row]:
        """Tell of the cuts inside of a card, and between what became one card. Where each part has
        a row, they stand before that instead."""
        if unit.merged is Merged.ROWS:
            return []
        return [*self.between(self.cuts.between_parts(place, unit)), *self.of_code(unit)]

    def between(self, cuts: Iterable[Cut]) -> list[Row]:
        """Tell of cuts between the parts of a card, or on a way to it, those of one line as one."""
        rows = []
        for same in self._by_line(cuts):
            text = cut_at(**self._fields(same[0]))
            lost = self.cuts.losing(*same)
            right = say("outline.params_lost", n=lost) if lost else ""
            tone, rail = (Tone.LOST, Rail.NONE) if lost else (Tone.CUT, Rail.NO)
            rows.append(Row(tone, (Span(text, shorter=self.shorter(same[0])),), right, rail))
        return rows

    def of_code(self, unit: Unit) -> list[Row]:
        """Tell of the cuts between what a card made and what it made of it, line by line."""
        if not unit.ops or self.expansion.no_grad.are_quiet(unit.ops):
            return []
        rows = []
        for same in self._by_line(self.cuts.inside(unit)):
            lost = self.cuts.losing(*same)
            span = Span(self._inside_of(unit, same[-1]), shorter=self.shorter(same[-1]))
            ends = lost and unit.kind is not Kind.LOSS  # other terms of a loss send theirs
            tone, rail = Tone.LOST if lost else Tone.CUT, Rail.NONE if ends else Rail.NO
            rows.append(Row(tone, (span,), "", rail))
        return rows

    def _by_line(self, cuts: Iterable[Cut]) -> Iterable[list[Cut]]:
        """Group cuts that are told as one."""
        told: dict[Hashable, list[Cut]] = {}
        for cut in cuts:
            told.setdefault(self.expansion.cuts.told(cut), []).append(cut)
        return told.values()

    def _inside_of(self, unit: Unit, cut: Cut) -> str:
        """Tell of a cut inside of a card: of several calls, whether it is in each or between."""
        fields = self._fields(cut)
        if len(unit.calls) <= 1:
            return say("outline.cut_inside", **fields)
        if self.cuts.is_in_a_call(cut, unit):
            return say("outline.cut_in_each", n=len(unit.steps or unit.calls), **fields)
        return say("outline.cut_between", **fields)

    # --- beside a card ----------------------------------------------------------------------------

    def carried(self, unit: Unit) -> list[Row]:
        """Tell of the cuts through which a card takes what the iteration before has made."""
        told = {self.expansion.cuts.told(cut): cut for cut in self.links.carried(unit)}
        rows = []
        for cut in told.values():
            text = say("outline.cut_carried", **self._fields(cut))
            short = say("outline.cut_carried_short", **self._fields(cut))
            rows.append(Row(Tone.CUT, (Span(text, shorter=(short,)),)))
        return rows

    def out_of_torch(self, place: int) -> list[Row]:
        """Name the leaves whose values left torch where a card stands, and that get nothing."""
        rows = []
        for cut in self.cuts.out_of_torch(place):
            name = self.operations.graph.tensor[cut.input_id].code_name or say("label.unnamed")
            text = say("outline.copied_out", name=name, **self._fields(cut))
            short = say("outline.copied_out_short", name=name, **self._fields(cut))
            rows.append(Row(Tone.LOST, (Span(text, shorter=(short,)),), "", Rail.NONE))
        return rows

    def ends(self, place: int) -> Row | None:
        """Tell that the gradient ends at a card: values come in, and all of them are cut."""
        if not self.links.gets(place) or not self.operations.ran_backward:
            return None
        units = self.links.units
        links = [link for link in self.links.into[place] if units[link.tail].tensor_id is None]
        if not links or any(link.tracked for link in links):
            return None
        cut = [link for link in links if link.is_cut]
        if cut:
            loses = any(self.cuts.losing(*link.cuts) for link in cut)
        else:
            loses = any(self.states.of(units[link.tail]).lost for link in links)
        return Row(Tone.LOST if loses else Tone.CUT, (self._why_ended(cut),), "", Rail.COMES)

    def _why_ended(self, cut: list[Link]) -> Span:
        """Tell why the gradient goes no further: what comes in is cut off, or not tracked."""
        reasons = {c.reason for link in cut for c in link.cuts}
        if not cut:
            text, why = say("outline.ends_untracked"), say("outline.why_untracked")
        elif reasons <= {CutReason.DETACH, CutReason.DETACH_IN_PLACE}:
            text, why = say("outline.ends_detached"), say("outline.why_detached")
        else:
            text, why = say("outline.ends_cut"), say("outline.why_cut")
        return Span(text, shorter=(say("outline.ends_short", why=why), why))

    # --- the words of one cut ---------------------------------------------------------------------

    def shorter(self, cut: Cut) -> tuple[str, ...]:
        """Return the words of a cut for where there is less room. What comes first is left."""
        reason, place = self.causes.reason(cut), self.causes.where(cut)
        call = self.operations.graph.call[cut.call_id]
        if not place or call.source is None:
            return (say("outline.cut", reason=reason),)
        source = self.expansion.no_grad.switch_of(cut) or call.source
        line = say("label.line", line=source.line)
        long = say("outline.cut_at", reason=reason, place=place)
        return long, say("outline.cut_in_line", line=line, reason=reason)

    def places_of(self, cut: Cut) -> list[str]:
        """Return where a cut stands, and the line alone, for where there is less room."""
        source = self.operations.graph.call[cut.call_id].source
        line = [say("label.line", line=source.line)] if source else []
        return [self.causes.where(cut), *line]

    def _fields(self, cut: Cut) -> dict[str, str]:
        """Return the reason of a cut and its place, as sentences name them."""
        return {"reason": self.causes.reason(cut), "place": self.causes.where(cut)}


def cut_at(reason: str, place: str) -> str:
    """Tell of a cut, and where it stands, if that is known."""
    return (
        say("outline.cut_at", reason=reason, place=place)
        if place
        else say("outline.cut", reason=reason)
    )
