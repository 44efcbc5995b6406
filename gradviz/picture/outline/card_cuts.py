"""Which cuts a card tells of, and how many parameters lose their gradient by them."""

from __future__ import annotations

from functools import cached_property

from gradviz.graph.records import Call, Cut, CutReason
from gradviz.picture.outline.links import Links
from gradviz.picture.outline.no_grad import QUIET
from gradviz.picture.outline.unit import Kind, Unit

# Cuts that somebody wrote; those of a comparison or of indices stand in every program.
WRITTEN = (CutReason.DETACH, CutReason.DETACH_IN_PLACE, CutReason.DATA, CutReason.NO_GRAD_WRITE)


class CardCuts:
    """The cuts of the cards of an outline.

    Args:
        links: between the cards.
    """

    def __init__(self, links: Links) -> None:
        self.links = links
        self.expansion = links.expansion
        self.operations = links.operations

    # --- what they cost ---------------------------------------------------------------------------

    @cached_property
    def loses(self) -> dict[Cut, set[int]]:
        """Which parameters lost their gradient by a cut, of those that should get one, by the ids
        of their objects. Where several cuts stand side by side, each of them costs it."""
        found: dict[Cut, set[int]] = {}
        for object_id, cuts in self.expansion.cuts.first.causes_of.items():
            if self.operations.should_get(self.operations.weight[object_id]):
                for cut in cuts:
                    found.setdefault(cut, set()).add(object_id)
        return found

    def losing(self, *cuts: Cut) -> int:
        """Return how many parameters lost their gradient by cuts."""
        return len(set[int]().union(*(self.loses.get(cut, ()) for cut in cuts)))

    # --- inside of a card -------------------------------------------------------------------------

    def of_operations(self, unit: Unit) -> list[Cut]:
        """List what the operations of a card cut."""
        calls = (self.operations.all[at].call.id for at in unit.ops)
        return [cut for i in calls for cut in self.operations.facts.cuts_of_call.get(i, ())]

    def inside(self, unit: Unit) -> list[Cut]:
        """List the cuts inside of a card, also on arrows that would lead from it to itself."""
        places = sorted({place for at in unit.ops for place in self.expansion.with_arrows(at)})
        cuts = [cut for at in places for cut in self.expansion.cuts.at.get(at, ())]
        if unit.kind is not Kind.CALL:
            return [cut for cut in cuts if self._is_told_in_code(cut, unit)]
        own = [cut for cut in cuts if self._is_between_own(cut, unit)]
        return own + [cut for cut in self._copied_in(unit) if cut not in own]

    def _is_told_in_code(self, cut: Cut, unit: Unit) -> bool:
        """Say whether a cut is told on a card of code as it is written: one that is written there,
        or a no_grad that costs a gradient."""
        if cut.reason in QUIET:
            return bool(self.losing(cut))
        return cut.reason in WRITTEN and self._is_between_own(cut, unit)

    def _is_between_own(self, cut: Cut, unit: Unit) -> bool:
        """Say whether a cut separates what a card made or a parameter from what it makes of it."""
        source = self.operations.made_by.get(cut.input_id)
        value = self.operations.graph.tensor[cut.input_id]
        return source is None or source in unit.ops or value.object_id in self.operations.weight

    def _copied_in(self, unit: Unit) -> list[Cut]:
        """List the cuts inside of module calls that cost a gradient and whose values no loss is
        known to have: they left torch."""
        feeding, of_call = self.operations.feeding, self.operations.of_call
        lost = (cut for cut in self.loses if of_call.get(cut.call_id) not in feeding)
        return [cut for cut in lost if self.is_in_a_call(cut, unit)]

    def is_in_a_call(self, cut: Cut, unit: Unit) -> bool:
        """Say whether a cut stands inside of a module call of a card, not between two."""
        call = self.operations.graph.call[cut.call_id]
        return any(i in unit.calls for i in self.expansion.tree.around(call.module_call))

    # --- between the parts of a card --------------------------------------------------------------

    def between_parts(self, place: int, unit: Unit) -> list[Cut]:
        """List the cuts between the cards that became one."""
        inner = (link for _, link in self.links.inner.get(place, ()))
        cuts = (cut for link in inner for cut in link.cuts)
        return [cut for cut in cuts if not self._is_between_own(cut, unit)]

    def before_part(self, place: int, member: Unit) -> list[Cut]:
        """List the cuts between a part of a card and the parts above it."""
        inner = (link for at, link in self.links.inner.get(place, ()) if at in member.ops)
        cuts = (cut for link in inner for cut in link.cuts)
        return [cut for cut in cuts if not self._is_between_own(cut, member)]

    # --- beside a card ----------------------------------------------------------------------------

    def beside(self, place: int) -> list[Cut]:
        """List the cuts on the way to a card that cost a gradient, or that somebody wrote, where
        other values come to it from the same card uncut, so that the arrow is none of a cut."""
        found: list[Cut] = []
        for link in self.links.into[place]:
            has_arrow = self.links.is_drawn(link) and self.links.is_cut_arrow(link)
            if not link.is_cut and not has_arrow:
                found += [c for c in link.cuts if c.reason in WRITTEN or self.losing(c)]
        inside = {*map(self.expansion.cuts.told, self.inside(self.links.units[place]))}
        return [cut for cut in found if self.expansion.cuts.told(cut) not in inside]

    def out_of_torch(self, place: int) -> list[Cut]:
        """List the cuts by which the values of leaves left torch where a card stands, which cost
        them their gradient."""
        return self._copied_out.get(place, [])

    @cached_property
    def _copied_out(self) -> dict[int, list[Cut]]:
        """These cuts by the card of the statement that did it, or of what ran next."""
        found: dict[int, list[Cut]] = {}
        for cut in self.loses:
            source = self.operations.source_of(cut.input_id)
            if cut.output_id is None and source is None:
                place = self._place_of_call(self.operations.graph.call[cut.call_id])
                if place is not None:
                    found.setdefault(place, []).append(cut)
        return found

    def _place_of_call(self, call: Call) -> int | None:
        """Return the card of the first operation from a call on, of its line if there is one."""
        calls = [(op.call, self.links.owner.get(op.at)) for op in self.operations.all]
        line = call.source[:2] if call.source else None
        later = [(c, place) for c, place in calls if c.id > call.id and place is not None]
        same = (place for c, place in later if c.source and c.source[:2] == line)
        return next(same, later[0][1] if later else None)
