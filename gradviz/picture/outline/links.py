"""What goes from card to card: values, cuts, and the gradients that came back; which of them are
drawn as arrows, and which are said in words."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from gradviz.graph.facts import grouped
from gradviz.graph.operations import Operation
from gradviz.graph.records import Cut, CutReason
from gradviz.graph.sent import Sent
from gradviz.picture.outline.unit import Kind, Unit, unit_of
from gradviz.picture.outline.units import Expansion

Pair = tuple[int, int]  # places of two cards: the value's maker, and its user


@dataclass(eq=False)
class Link:
    """What goes from one card to another.

    Attributes:
        tail, head: places of the cards: the maker of the value, and its user.
        tracked: a tracked value goes uncut, so that gradients can come back.
        plain: a value goes that is not tracked.
        cuts: the cuts by which other values went.
        sent: the gradients that came back.
    """

    tail: int
    head: int
    tracked: bool = False
    plain: bool = False
    cuts: list[Cut] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)

    @property
    def pair(self) -> Pair:
        """Both places."""
        return self.tail, self.head

    @property
    def is_data(self) -> bool:
        """Whether nothing went that could bring a gradient back, or could have."""
        return not self.tracked and not self.cuts

    @property
    def is_cut(self) -> bool:
        """Whether values went on and no gradient can come back for any of them."""
        return bool(self.cuts) and not self.tracked


class Links:
    """The links between the cards of an outline.

    Args:
        expansion: of the recording.
        units: the cards, in call order, inputs first.
        in_column: whether all cards stand under each other, so that only neighbours have arrows.
        undrawn: pairs of cards whose link is said though it could be drawn.
        finer: the links between cards of which these consist: then nothing is read again.
    """

    def __init__(
        self,
        expansion: Expansion,
        units: list[Unit],
        *,
        in_column: bool = False,
        undrawn: frozenset[Pair] = frozenset(),
        finer: Links | None = None,
    ) -> None:
        self.finer = finer
        self.expansion = expansion
        self.operations = expansion.operations
        self.units = units
        self.in_column = in_column
        self.undrawn = undrawn

    @cached_property
    def owner(self) -> dict[int, int]:
        """The card of each operation, by its place."""
        return unit_of(self.units)

    @cached_property
    def input_of(self) -> dict[int, int]:
        """The cards of inputs, by the id of the tensor's object."""
        tensor = self.operations.graph.tensor
        return {
            tensor[unit.tensor_id].object_id: k
            for k, unit in enumerate(self.units)
            if unit.tensor_id is not None
        }

    # --- links ------------------------------------------------------------------------------------

    @cached_property
    def all(self) -> dict[Pair, Link]:
        """Every link, by its cards; in order of the card that makes, then of the one that uses."""
        if self.finer is not None:
            return self._merged(self.finer)
        found: dict[Pair, Link] = {}
        for k, unit in enumerate(self.units):
            for at in unit.ops:
                self._add_values(found, k, self.operations.all[at])
        self._add_gradients(found)
        return dict(sorted(found.items()))

    def _merged(self, finer: Links) -> dict[Pair, Link]:
        """Return the links between cards, from those between cards that became one."""
        found: dict[Pair, Link] = {}
        place = self._place_of(finer)
        for link in finer.all.values():
            tail, head = place.get(link.tail), place.get(link.head)
            if tail is None or head is None or tail == head:
                continue
            whole = found.setdefault((tail, head), Link(tail, head))
            whole.tracked |= link.tracked
            whole.plain |= link.plain
            whole.cuts += [cut for cut in link.cuts if cut not in whole.cuts]
            whole.sent += link.sent
        return dict(sorted(found.items()))

    @cached_property
    def inner(self) -> dict[int, list[tuple[int, Link]]]:
        """The links that became part of a card, by its place, each with the operation that begins
        the card which took the value there."""
        found: dict[int, list[tuple[int, Link]]] = {}
        if self.finer is None:
            return found
        place = self._place_of(self.finer)
        for link in self.finer.all.values():
            tail, head = place.get(link.tail), place.get(link.head)
            if tail == head and head is not None:
                first = self.finer.units[link.head].ops[0]
                found.setdefault(head, []).append((first, link))
        return found

    def _place_of(self, finer: Links) -> dict[int, int]:
        """Return where the cards of finer links went to; what was dropped is not among them."""
        found: dict[int, int] = {}
        tensor = self.operations.graph.tensor
        for k, unit in enumerate(finer.units):
            if unit.tensor_id is not None:
                place = self.input_of.get(tensor[unit.tensor_id].object_id)
            else:
                place = self.owner.get(unit.ops[0]) if unit.ops else None
            if place is not None:
                found[k] = place
        return found

    def _add_values(self, found: dict[Pair, Link], head: int, op: Operation) -> None:
        for tensor_id, source in zip(op.reads, op.sources, strict=True):
            for tail, cut in self._origins(op, tensor_id, source):
                if tail == head:
                    continue
                link = found.setdefault((tail, head), Link(tail, head))
                if cut is not None:
                    if cut not in link.cuts:
                        link.cuts.append(cut)
                elif self.operations.is_tracked(tensor_id):
                    link.tracked = True
                else:
                    link.plain = True

    def _origins(
        self, op: Operation, tensor_id: int, source: int | None
    ) -> Iterator[tuple[int, Cut | None]]:
        """Find the cards that a value comes from, through what stands on the arrow, each with the
        cut on the way."""
        cut = self.operations.facts.cut_of.get((op.call.id, tensor_id))
        if cut is not None and cut.reason is CutReason.FLAG_OFF:
            cut = None
        object_id = self.operations.graph.tensor[tensor_id].object_id
        if object_id in self.input_of and (source is None or source not in self.owner):
            yield self.input_of[object_id], cut
        elif source is None:
            return
        elif source in self.owner:  # also what only cuts, where a module is nothing else
            if source not in self.expansion.data:
                cut = cut or self._left_behind(source, tensor_id) or self._leaving(source)
                yield self.owner[source], cut
        elif source in self.expansion.looked_through:
            through = self.operations.all[source]
            for further, before in zip(through.reads, through.sources, strict=True):
                for tail, cut_before in self._origins(through, further, before):
                    yield tail, cut_before or cut

    def carried(self, unit: Unit) -> list[Cut]:
        """Find the cuts by which a card takes what another iteration has made, which is not
        drawn."""
        found: dict[tuple[int, int], Cut] = {}
        todo = [s for at in unit.ops for s in self.operations.all[at].sources if s is not None]
        while todo:
            at = todo.pop()
            if at in self.owner or at not in self.expansion.looked_through:
                continue
            op = self.operations.all[at]
            for tensor_id, source in zip(op.reads, op.sources, strict=True):
                cut = self.operations.facts.cut_of.get((op.call.id, tensor_id))
                if cut is not None and source in self.expansion.iterations.left_out:
                    found[op.call.id, tensor_id] = cut
                elif source is not None:
                    todo.append(source)
        return [found[key] for key in sorted(found)]

    def _leaving(self, source: int) -> Cut | None:
        """Return the cut by which a value left the card that made it, as what a hook keeps of a
        module's output."""
        op = self.operations.all[source]
        if source not in self.expansion.looked_through or op.sources[0] is None:
            return None
        if self.owner.get(op.sources[0]) != self.owner[source]:
            return None
        cut = self.operations.facts.cut_of.get((op.call.id, op.reads[0]))
        return cut or self._leaving(op.sources[0])

    def _left_behind(self, source: int, tensor_id: int) -> Cut | None:
        """Return the cut of a result that carries no gradient, where a loss used no other one of
        its operation."""
        is_tracked = self.operations.is_tracked(tensor_id)
        return None if is_tracked else self.expansion.cuts.first.left_behind.get(source)

    def _add_gradients(self, found: dict[Pair, Link]) -> None:
        leaf = {
            self.operations.facts.accumulate_node.get(object_id): k
            for object_id, k in self.input_of.items()
        }
        for sent in self.operations.gradients.sent:
            head = self._card_of_node(sent.node_id)
            tail = leaf.get(sent.next_node_id, self._card_of_node(sent.next_node_id))
            if head is None or tail is None or head == tail:
                continue
            if tail < head and self._is_derived(sent.node_id):  # of what saved tensors hold
                found.setdefault((tail, head), Link(tail, head, tracked=True))
            if (tail, head) in found:
                found[tail, head].sent.append(sent)

    def _is_derived(self, node_id: int) -> bool:
        """Say whether ``autograd.grad`` made a node."""
        at = self.operations.of_node.get(node_id)
        return at is not None and self.operations.all[at].call.id in self.operations.derived

    def _card_of_node(self, node_id: int) -> int | None:
        at = self.operations.of_node.get(node_id)
        return None if at is None else self.owner.get(at)

    @cached_property
    def into(self) -> list[list[Link]]:
        """For each card, the links by which values come to it."""
        return self._by(1)

    @cached_property
    def out_of(self) -> list[list[Link]]:
        """For each card, the links by which its values go on."""
        return self._by(0)

    def below(self, place: int) -> Iterator[int]:
        """Go through the cards that use what a card makes."""
        return (link.head for link in self.out_of[place])

    def _by(self, end: int) -> list[list[Link]]:
        table: list[list[Link]] = [[] for _ in self.units]
        for link in self.all.values():
            table[link.pair[end]].append(link)
        return table

    # --- gradients --------------------------------------------------------------------------------

    def norm(self, link: Link) -> float | None:
        """Return the norm of the gradient that came back in the last run; None: none came, nan: it
        was not measured."""
        if not link.sent:
            return None
        run = max(sent.run for sent in link.sent)
        return self.operations.gradients.norm_of(s for s in link.sent if s.run == run)

    def measured(self, link: Link) -> float | None:
        """Return the norm of the gradient that came back in the last run; None: none came, or it
        was not measured."""
        norm = self.norm(link)
        return None if norm is None or math.isnan(norm) else norm

    def is_cut_arrow(self, link: Link) -> bool:
        """Say whether a drawn link has an arrow of a cut."""
        return link.is_cut or bool(link.cuts and not self.carries(link))

    def carries(self, link: Link) -> bool:
        """Say whether a gradient came back, or can come back where no backward ran."""
        if self.operations.ran_backward and self.operations.gradients.sent:
            return bool(link.sent)
        return link.tracked and self.gets(link.head)

    def gets(self, place: int) -> bool:
        """Say whether a gradient comes, or can come, to a card."""
        return place in self._getting

    @cached_property
    def _getting(self) -> set[int]:
        if self.finer is not None:
            place = self._place_of(self.finer)
            return {place[k] for k in self.finer._getting if k in place}
        if self.operations.gradients.sent:
            ran = {self._card_of_node(n) for n in self.operations.facts.ran}
            arrived = {link.tail for link in self.all.values() if link.sent}
            return {k for k in {*ran, *arrived} if k is not None}
        reachable = self.operations.facts.reachable(self.operations.flow.roots)
        return {k for n in reachable if (k := self._card_of_node(n)) is not None}

    # --- which are drawn --------------------------------------------------------------------------

    @cached_property
    def rank(self) -> list[int]:
        """How many links lie above each card, on the longest way."""
        ranks = [0] * len(self.units)
        for k in self.order:
            ranks[k] = max((ranks[link.tail] + 1 for link in self.into[k]), default=0)
        for k, unit in enumerate(self.units):  # an input stands right above its first user
            if unit.tensor_id is not None and self.out_of[k]:
                ranks[k] = max(min(ranks[link.head] for link in self.out_of[k]) - 1, 0)
        return ranks

    @cached_property
    def order(self) -> list[int]:
        """The cards, each after those whose values it uses."""
        waiting = [len(links) for links in self.into]
        ready = [k for k, n in enumerate(waiting) if not n]
        found: list[int] = []
        while ready:
            k = ready.pop(0)
            found.append(k)
            for link in self.out_of[k]:
                waiting[link.head] -= 1
                if not waiting[link.head]:
                    ready.append(link.head)
        return found

    @cached_property
    def spine(self) -> list[Pair]:
        """The way of the gradient, from a loss up, that meets most parameters."""
        best: dict[int, tuple[int, int]] = {}  # parameters met from here up, and the next card
        for k in self.order:
            up = [link for link in self.into[k] if self.units[link.tail].kind is not Kind.LEAF]
            above = [(best[link.tail][0], link.tail) for link in up if self.carries(link)]
            most, tail = max(above, default=(0, -1), key=lambda pair: (pair[0], -pair[1]))
            best[k] = most + len(self.expansion.weights_in(self.units[k])), tail
        ends = [k for k in self.order if self.gets(k)]
        if not ends:
            return []
        place = max(ends, key=lambda k: (best[k][0], k))
        found: list[Pair] = []
        while (tail := best[place][1]) >= 0:
            found.append((tail, place))
            place = tail
        return found

    @cached_property
    def drawn(self) -> list[Link]:
        """The links that are arrows; the others are said in both cards."""
        return [link for pair, link in self.all.items() if pair in self._drawn_pairs]

    def is_drawn(self, link: Link) -> bool:
        """Say whether a link is an arrow."""
        return link.pair in self._drawn_pairs

    @cached_property
    def said(self) -> list[Link]:
        """The links that are said in words. A cut of a value that is drawn somewhere is not said
        again; data that was only prepared in a card which gets a gradient is not said."""
        shown = {self._told(cut) for link in self.drawn for cut in link.cuts}
        return [
            link
            for pair, link in self.all.items()
            if pair not in self._drawn_pairs
            and self.units[link.tail].kind is not Kind.INPUT
            and not (link.is_cut and shown.issuperset(map(self._told, link.cuts)))
            and not (link.is_data and self.gets(link.tail))
        ]

    @cached_property
    def said_at(self) -> dict[int, list[Link]]:
        """The links that are said in words, by each of their two cards."""
        return grouped((place, link) for link in self.said for place in (link.head, link.tail))

    def _told(self, cut: Cut) -> Hashable:
        """Return what cuts have in common that are told as one: the value, and where it is cut."""
        return self.operations.source_of(cut.input_id), self.expansion.cuts.told(cut)

    @cached_property
    def _drawn_pairs(self) -> set[Pair]:
        if self.in_column:
            return {pair for pair in self.all if pair[1] - pair[0] == 1}
        rank = self.rank
        pairs = {p for p in self.all if rank[p[1]] - rank[p[0]] == 1} - self.undrawn
        pairs |= set(self.spine)
        for k in range(len(self.units)):
            self._ensure(pairs, self.out_of[k])
            self._ensure(pairs, self.into[k])
            if self.gets(k):
                self._ensure(pairs, [link for link in self.out_of[k] if self.carries(link)])
        return pairs

    def _ensure(self, pairs: set[Pair], links: list[Link]) -> None:
        """Draw the shortest of these links, where none is drawn yet."""
        if links and not any(link.pair in pairs for link in links):
            pairs.add(min(links, key=lambda link: self.rank[link.head] - self.rank[link.tail]).pair)
