"""The rows of a loss: the numbers that it is the sum of, and where a backward began."""

from __future__ import annotations

import math
from functools import cached_property

from gradviz.picture.outline.links import Links
from gradviz.picture.outline.norms import figure
from gradviz.picture.outline.scene import Row, Span, Tone
from gradviz.picture.outline.titles import Titles
from gradviz.picture.outline.unit import Kind, Merged, Unit
from gradviz.picture.outline.units import function_of
from gradviz.words.speech import say

TERMS = 8  # rows of a loss


class LossRows:
    """Writes what the cards of losses tell.

    Args:
        links: between the cards.
        titles: of the cards.
    """

    def __init__(self, links: Links, titles: Titles) -> None:
        self.links = links
        self.units = links.units
        self.expansion = links.expansion
        self.operations = links.operations
        self.titles = titles
        self.terms = titles.terms

    def term_rows(self, unit: Unit) -> list[Row]:
        """Tell of the numbers that a loss is the sum of."""
        if unit.kind is not Kind.LOSS:
            return []
        tracked = self.operations.tracked
        return [
            self._term_row(unit, at) if tracked[at] else self._constant_row(at)
            for at in self.terms.terms(unit)[:TERMS]
        ]

    def start_rows(self, unit: Unit) -> list[Row]:
        """Tell where a backward began: at a loss, in the call of a criterion, or in that of a model
        that makes its own loss."""
        starts = {*self.operations.starts}.intersection(unit.ops)
        if unit.kind is not Kind.LOSS and (unit.kind is not Kind.CALL or len(starts) != 1):
            return []
        edge = self.operations.graph.tensor[self.terms.start(unit).makes[-1]].gradient_edge
        node = self.operations.graph.node.get(edge.node_id) if edge else None
        if node is None:
            return []
        if node.id in self.operations.facts.ran:
            by_grad = node.id in self._grad_roots
            started = say("outline.grad_starts" if by_grad else "outline.starts", node=node.name)
            span = Span(started, shorter=(node.name, say("outline.starts_short")))
        else:
            span = Span(node.name)
        return [Row(Tone.GRAD_FN, (span,))]

    @cached_property
    def _grad_roots(self) -> set[int]:
        """The nodes at which autograd.grad began, and no backward."""
        roots: dict[bool, set[int]] = {True: set(), False: set()}
        for backward in self.operations.graph.backwards:
            roots[backward.kind == "grad"] |= {*backward.roots}
        return roots[True] - roots[False]

    def _constant_row(self, at: int) -> Row:
        """Tell of one number that a loss is the sum of, and through which no gradient goes back."""
        state = self.operations.graph.tensor[self.operations.all[at].makes[-1]]
        spans = Span(state.code_name, "name"), Span(say("outline.constant"))
        return Row(Tone.CUT, spans, state.values or "")

    def _term_row(self, unit: Unit, at: int) -> Row:
        """Tell of one number that a loss is the sum of: what it is made of, and what it sends."""
        op = self.operations.all[at]
        state = self.operations.graph.tensor[op.makes[-1]]
        names = self._names_behind(at, unit)
        grey = say("outline.of", names=names) if names else function_of(op)
        left: tuple[Span, ...] = (Span(state.code_name, "name"), Span(grey, "grey"))
        if not state.code_name.isidentifier():
            left = (Span(function_of(op)),)
            if names:
                text = say("outline.function_of", function=function_of(op), names=names)
                left = (Span(text, shorter=(grey,)),)
        norm = self._norm_sent(at, unit)
        sends = "" if math.isnan(norm) else say("outline.sends", norm=figure(norm))
        return Row(Tone.GRAD_FN, left, sends, middle=state.values or "")

    def _norm_sent(self, at: int, unit: Unit) -> float:
        """Return the norm of what a term of a loss sent to other cards in its last run; nan where
        that is not known."""
        inside, of_node = self.terms.behind(at, unit), self.operations.of_node
        links = self.links.into[self.units.index(unit)]
        sents = [s for link in links for s in link.sent if of_node.get(s.node_id) in inside]
        if not sents:
            return math.nan
        run = max(sent.run for sent in sents)
        return self.operations.gradients.norm_of([s for s in sents if s.run == run])

    def _names_behind(self, at: int, unit: Unit) -> list[str]:
        """Name the cards whose values went into a term of a loss, cut or not."""
        by_card: dict[int, set[int]] = {}
        for source in self._sources(at, unit):
            by_card.setdefault(self.links.owner[source], set()).add(source)
        names: dict[str, None] = {}
        for place in sorted(by_card):
            card = self.units[place]
            some = [self.titles.variable_of(card)]
            if card.merged is Merged.SIDE:
                some = self.titles.names_in(card, by_card[place])
            names |= dict.fromkeys(some)
        return list(names)

    def _sources(self, at: int, unit: Unit) -> set[int]:
        """Return the operations of other cards whose values went into a term of a loss."""
        found, seen, todo = set[int](), set[int](), [at]
        mine = {*unit.ops} | self.expansion.looked_through
        while todo:
            one = todo.pop()
            seen.add(one)
            for source in self.operations.all[one].sources:
                if source is None or source in seen or source in self.expansion.data:
                    continue
                if source in mine:
                    todo.append(source)
                elif source in self.links.owner:
                    found.add(source)
        return found
