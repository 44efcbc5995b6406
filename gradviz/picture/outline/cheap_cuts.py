"""Cuts that are drawn, or said on a card, and leave no parameter without a gradient."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import NamedTuple

from gradviz.graph.records import Cut
from gradviz.picture.outline.backward_lines import got_in
from gradviz.picture.outline.card_cuts import WRITTEN
from gradviz.picture.outline.cards import Cards
from gradviz.picture.outline.links import Link
from gradviz.picture.outline.loss_names import loss_name
from gradviz.picture.outline.scene import Span
from gradviz.picture.outline.skips import Skips
from gradviz.words.speech import say

OTHERS = 2  # skips that send a gradient, before one that does not is told from them
MOST = 2  # lines of cuts that are told


class PartLost(NamedTuple):
    """How many parameters lose a part of what these losses send them."""

    n: int
    losses: list[str]


class CheapCuts:
    """Tells of such cuts, and what they cost.

    Args:
        cards: of the outline.
    """

    def __init__(self, cards: Cards) -> None:
        self.cards = cards
        self.operations = cards.operations
        self.causes = cards.causes

    def partly(self) -> list[tuple[Span, ...]]:
        """Tell of cuts by which parameters lose a part of what a loss sends them, the most
        first."""
        lines: list[tuple[Span, ...]] = []
        for same, lost in self._by_line[:MOST]:
            if lost is not None:
                text = say("outline.partly", n=lost.n, losses=lost.losses)
                lines.append((Span(text), Span(self._harmless_cut(same), "cut")))
                lines += self._others_send(same[0][1])
        return lines

    def harmless(self) -> list[tuple[Span, ...]]:
        """Tell of cuts that are drawn or said though no parameter loses anything by them of a loss
        that trains it."""
        if self.cards.brief:
            n = sum(lost is None and not self._is_of_older(same) for same, lost in self._by_line)
            return [(Span(say("outline.harmless_on_cards", n=n)),)] if n else []
        lines: list[tuple[Span, ...]] = []
        for same in (same for same, lost in self._by_line[:MOST] if lost is None):
            text = say("outline.cut_of_older" if self._is_of_older(same) else "outline.harmless")
            lines.append((Span(text), Span(self._harmless_cut(same), "cut")))
            lines += self._others_send(same[0][1])
        return [*lines, *self._in_loops()]

    def _in_loops(self) -> list[tuple[Span, ...]]:
        """Tell of cuts in the loops inside of modules, line by line."""
        expansion, found = self.cards.expansion, dict[Hashable, list[Cut]]()
        for at in sorted(expansion.cuts.in_loops - expansion.iterations.left_out):
            for cut in expansion.cuts.at[at]:
                found.setdefault(expansion.cuts.told(cut), []).append(cut)
        lines = []
        for cuts in list(found.values())[:MOST]:
            what, *where = self.causes.cut(cuts)
            lines.append((Span(say("outline.harmless")), what._replace(look="cut"), *where))
        return lines

    def _is_of_older(self, same: list[tuple[Link, Cut]]) -> bool:
        """Say whether cuts are of a result that is older than the recording, of which it is not
        known what it was computed from."""
        graph = self.operations.graph
        edges = (graph.tensor[cut.input_id].gradient_edge for _, cut in same)
        return any(edge is not None and graph.node[edge.node_id].stub for edge in edges)

    @cached_property
    def _by_line(self) -> list[tuple[list[tuple[Link, Cut]], PartLost | None]]:
        """The cuts that are drawn or said though no parameter is left without by them, line by
        line, those first by which most parameters lose a part."""
        found: dict[Hashable, list[tuple[Link, Cut]]] = {}
        costly = {self.cards.expansion.cuts.told(cut) for cut in self.cards.cuts.loses}
        for link in self.cards.links.all.values():
            for cut in link.cuts:
                told = self.cards.expansion.cuts.told(cut)
                if told not in costly and (link.is_cut or cut.reason in WRITTEN):
                    found.setdefault(told, []).append((link, cut))
        both = [(same, self._part_lost(same)) for same in found.values()]
        both.sort(key=lambda pair: 0 if pair[1] is None else -pair[1].n)
        return both

    def _part_lost(self, same: list[tuple[Link, Cut]]) -> PartLost | None:
        """Tell how many parameters lose a part of what losses send them by these cuts, and which
        losses; None: none loses any."""
        facts, lost, losses = self.operations.facts, set[int](), dict[str, None]()
        for _, cut in same:
            into = 0 if cut.output_id is None else facts.goes_into(cut.output_id)
            above = {leaf.object_id for leaf in facts.leaves_reached(cut.input_id)}
            weights = [w for w in self.operations.weights if w.object_id in above]
            for place, backward in enumerate(self.operations.graph.backwards):
                if into >> place & 1:
                    got = [w.key for w in weights if got_in(self.operations, w, backward.run)]
                    lost.update(got)
                    losses |= {loss_name(self.operations, backward.run): None} if got else {}
        return PartLost(len(lost), list(losses)) if lost else None

    def _harmless_cut(self, same: list[tuple[Link, Cut]]) -> str:
        """Tell cuts of one line, and the cards between which they stand."""
        cut = same[0][1]
        names = {
            "first": self._names_of([link.tail for link, _ in same], [one for _, one in same]),
            "last": self._names_of([link.head for link, _ in same]),
        }
        return say(
            "outline.harmless_cut",
            reason=self.causes.reason(cut),
            place=self.causes.where(cut),
            **names,
        )

    def _names_of(self, places: list[int], cuts: Sequence[Cut] = ()) -> list[str]:
        """Name cards, each once; of modules side by side those whose results were cut."""
        near = {self.operations.made_by.get(cut.input_id, -1) for cut in cuts}
        units = (self.cards.units[place] for place in places)
        names = (name for unit in units for name in self.cards.titles.names_in(unit, near))
        return list(dict.fromkeys(names))

    def _others_send(self, cut: Cut) -> list[tuple[Span, ...]]:
        """Tell that all other skips of this kind, between modules of the same classes, send a
        gradient."""
        beside = self._skips.beside(cut)
        if beside is None or beside.sending < OTHERS:
            return []
        fields: dict[str, int | str] = {"k": beside.sending, "n": beside.sending + 1}
        if beside.module:
            fields |= {"kind": beside.kind, "name": beside.module}
            return [(Span(say("outline.branches_send", **fields)),)]
        return [(Span(say("outline.others_send", **fields)),)]

    @cached_property
    def _skips(self) -> Skips:
        links = self.cards.links.finer or self.cards.links
        return Skips(self.cards.expansion, links.units)
