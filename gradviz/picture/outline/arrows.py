"""The arrows of an outline, and what stands on them."""

from __future__ import annotations

from collections.abc import Iterator, Set

from gradviz.graph.records import Cut
from gradviz.picture.outline.card_cuts import CardCuts
from gradviz.picture.outline.causes import Causes
from gradviz.picture.outline.cut_rows import cut_at
from gradviz.picture.outline.links import Link, Links, Pair
from gradviz.picture.outline.norms import figure
from gradviz.picture.outline.scene import Arrow
from gradviz.words.speech import enumerated, say

LONG = 12  # characters of a place that get a line of their own


class Arrows:
    """The arrows between the cards of an outline.

    Args:
        links: between the cards.
        cuts: of the cards.
        causes: of the same recording.
        pointed_at: the pairs of cards whose arrows an explanation points at.
    """

    def __init__(self, links: Links, cuts: CardCuts, causes: Causes, pointed_at: Set[Pair]) -> None:
        self.links = links
        self.cuts = cuts
        self.causes = causes
        self.pointed_at = pointed_at

    def all(self) -> Iterator[Arrow]:
        """Go through every arrow: link by link, a gradient before the values."""
        for link in self.links.drawn:
            yield from self._arrows_of(link)

    def _arrows_of(self, link: Link) -> list[Arrow]:
        """Return the gradient of a link, where one comes or can come back, and its values, cut or
        not."""
        spine = link.pair in self.links.spine
        found: list[Arrow] = []
        if self.links.carries(link):
            norm = self.links.measured(link)
            label = () if norm is None else (figure(norm),)
            kind = "gradient" if self.links.operations.ran_backward else "can"
            zeros = norm == 0
            found.append(Arrow(link.tail, link.head, kind, label, spine=spine, zeros=zeros))
        if self.links.is_cut_arrow(link):
            lines, loses = self._cut_label(link.cuts)
            here = link.pair in self.pointed_at
            lines = (*lines, say("outline.points_here")) if here else lines
            return [*found, Arrow(link.tail, link.head, "cut", lines, loses, spine, here)]
        found.append(Arrow(link.tail, link.head, "forward", spine=spine))
        return found

    def _cut_label(self, cuts: list[Cut]) -> tuple[tuple[str, ...], bool]:
        """Return the lines that stand on an arrow of cuts, and whether these cost a gradient."""
        first = max(cuts, key=self.cuts.losing)
        told = {self.links.expansion.cuts.told(cut): cut for cut in (first, *cuts)}
        by_place: dict[str, list[str]] = {}
        for cut in told.values():
            by_place.setdefault(self.causes.where(cut), []).append(self.causes.reason(cut))
        lost = self.cuts.losing(*cuts)
        if not lost and len(by_place) == 1:
            ((place, reasons),) = by_place.items()
            if len(place) > LONG:  # narrow, where nothing else makes it wide
                return (say("outline.cut", reason=enumerated(reasons)), place), False
        chips = [cut_at(enumerated(reasons), place) for place, reasons in by_place.items()]
        if lost:
            chips.append(say("outline.params_lost", n=lost))
        return tuple(chips), bool(lost)
