"""The links of a card that are no arrows, said in words."""

from __future__ import annotations

from gradviz.picture.outline.cut_rows import CutRows
from gradviz.picture.outline.links import Link, Links
from gradviz.picture.outline.norms import figure
from gradviz.picture.outline.scene import Row, Span, Tone
from gradviz.picture.outline.titles import Titles
from gradviz.words.speech import joined, say


class SaidLinks:
    """Writes a row for each link that is said, in one of its cards or in both.

    Args:
        links: between the cards.
        titles: of the cards.
        cut_rows: of the cards.
        said_above: whether a link is said in its upper card too.
    """

    def __init__(
        self, links: Links, titles: Titles, cut_rows: CutRows, *, said_above: bool
    ) -> None:
        self.links = links
        self.titles = titles
        self.cut_rows = cut_rows
        self.causes = cut_rows.causes
        self.said_above = said_above

    def rows(self, place: int) -> list[Row]:
        """Tell of the links of a card that are not drawn."""
        rows = self.cut_rows.between(self.cut_rows.cuts.beside(place))
        for link in self.links.said_at.get(place, ()):
            if link.head == place:
                rows.append(self._said_below(link))
            elif self.said_above or link.cuts or self._draws_only_zeros(place):
                rows.append(self._said_above(link))
        return rows

    def _draws_only_zeros(self, place: int) -> bool:
        """Say whether each arrow that brings a card a gradient brings zeros: what else it gets is
        said then, or the picture would tell that it gets nothing."""
        out = self.links.out_of[place]
        norms = {self.links.norm(link) for link in out if self.links.is_drawn(link)}
        return 0.0 in norms and norms <= {0.0, None}

    def _said_below(self, link: Link) -> Row:
        """Tell the lower card of a link what it is given, and what it sends back."""
        name = self._name_of_end(link.tail, link.head)
        if link.is_cut:
            cut = link.cuts[0]
            fields = {"name": name, "reason": self.causes.reason(cut)}
            texts = [
                say("outline.skip_cut", place=p, **fields) for p in self.cut_rows.places_of(cut)
            ]
            span = Span(texts[0], shorter=(*texts[1:], *self.cut_rows.shorter(cut)))
            return Row(Tone.CUT, (span,), say("outline.no_gradient_back"))
        if not self.links.carries(link):
            text = say("outline.skip_without", name=name)
            return Row(Tone.NOTHING, (Span(text),), say("outline.no_gradient_back"))
        norm = self.links.measured(link)
        right = "" if norm is None else say("outline.sends", norm=figure(norm))
        return Row(Tone.SAID, (Span(say("outline.skip", name=name)),), right)

    def _said_above(self, link: Link) -> Row:
        """Tell the upper card of a link where its value goes too, and what comes back."""
        name = self._name_of_end(link.head, link.tail)
        if link.is_cut:
            cut = link.cuts[0]
            texts = [
                say("outline.also_cut", name=name, place=p) for p in self.cut_rows.places_of(cut)
            ]
            span = Span(texts[0], shorter=(*texts[1:], *self.cut_rows.shorter(cut)))
            return Row(Tone.CUT, (span,), say("outline.gets_nothing"))
        if not self.links.carries(link):
            text = say("outline.also_goes", name=name)
            return Row(Tone.NOTHING, (Span(text),), say("outline.gets_nothing"))
        norm = self.links.measured(link)
        right = "" if norm is None else say("outline.gets_norm", norm=figure(norm))
        return Row(Tone.SAID, (Span(say("outline.also_goes", name=name)),), right)

    def _name_of_end(self, place: int, other: int) -> str:
        """Name the card at one end of a link, as far as the card at its other end has to do with
        it."""
        ops, there = self.links.operations, self.links.units[other].ops
        near = ops.sources_of(there) if place < other else ops.users_of(there)
        return joined(self.titles.names_in(self.links.units[place], near))
