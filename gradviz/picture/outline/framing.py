"""The frames of an outline: around the cards of an opened module, and around those whose every
operation ran where no gradient is recorded."""

from __future__ import annotations

from collections.abc import Iterator, Set
from itertools import groupby

from gradviz.picture.outline.card_cuts import CardCuts
from gradviz.picture.outline.causes import Causes
from gradviz.picture.outline.links import Links
from gradviz.picture.outline.module_names import ModuleNames
from gradviz.picture.outline.scene import Frame
from gradviz.picture.outline.unit import Unit
from gradviz.words.speech import say

LONG = 12  # characters of a place that get a line of their own


class Frames:
    """The frames around the cards of an outline.

    Args:
        links: between the cards.
        names: of the modules.
        cuts: of the cards.
        causes: of the same recording.
    """

    def __init__(self, links: Links, names: ModuleNames, cuts: CardCuts, causes: Causes) -> None:
        self.links = links
        self.units = links.units
        self.expansion = links.expansion
        self.names = names
        self.cuts = cuts
        self.causes = causes

    def all(self) -> Iterator[Frame]:
        """Go through the frames: those of opened modules first."""
        yield from self._opened()
        yield from self._quiet()

    def _opened(self) -> Iterator[Frame]:
        """Frame the cards of each opened module that has several."""
        tree = self.expansion.tree
        for call_id in self.expansion.frames:
            members = [k for k, unit in enumerate(self.units) if self._stands_in(unit, call_id)]
            if len(members) > 1:
                call = tree.call[call_id]
                label = say("outline.opened", name=self.names.short(call), kind=call.kind)
                yield Frame("opened", (label,), tuple(members))

    def _stands_in(self, unit: Unit, call_id: int) -> bool:
        return unit.parent is not None and call_id in self.expansion.tree.around(unit.parent)

    def _quiet(self) -> Iterator[Frame]:
        """Frame neighbours whose every operation ran where no gradient is recorded."""
        places = [k for k, unit in enumerate(self.units) if unit.tensor_id is None]
        for (is_quiet, _), members in groupby(places, key=self._stretch):
            if is_quiet:
                yield self._quiet_frame([*members])

    def _stretch(self, place: int) -> tuple[bool, int | None]:
        """Say whether all operations of a card ran where no gradient is recorded, and in which
        stretch of such operations."""
        ops = self.units[place].ops
        is_quiet = bool(ops) and self.expansion.no_grad.are_quiet(ops)
        return is_quiet, self.expansion.no_grad.region.get(ops[0]) if is_quiet else None

    def _quiet_frame(self, members: list[int]) -> Frame:
        """Frame these cards, and say where no gradient is recorded, and what that costs."""
        first = self.units[members[0]].ops[0]
        mode, place = self.causes.switched_off_by(first), self.causes.place_of_region(first)
        cuts = (cut for k in members for cut in self.cuts.of_operations(self.units[k]))
        lost = self.cuts.losing(*cuts)
        if place in self._places_on_arrows({*members}):  # and what it costs stands there as well
            return Frame("no_grad", (mode,), tuple(members))
        label = [mode, place] if len(place) > LONG else []  # in the middle an arrow passes
        label = label or [say("outline.region", mode=mode, place=place) if place else mode]
        if lost:
            label.append(say("outline.region_loses", n=lost))
        return Frame("no_grad", tuple(label), tuple(members))

    def _places_on_arrows(self, members: Set[int]) -> set[str]:
        """Return the places that stand on the cut arrows which lead to these cards."""
        links = [link for link in self.links.drawn if link.head in members]
        cuts = (cut for link in links if self.links.is_cut_arrow(link) for cut in link.cuts)
        return set(map(self.causes.where, cuts))
