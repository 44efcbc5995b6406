"""Which row each card stands in, so that the picture is no wider than a notebook. Knows no
Graphviz.

Graphviz puts every card as high, or as close to its reader, as it can; nine leaves of one ``stack``
then stand side by side. Here a row that is full sends what comes next to the row below it, or above
it where nothing made the card.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gradviz.graph.facts import after_all

SPACE = 20  # points between neighbours

Link = tuple[int, int]  # (tail, head)


class Plan(NamedTuple):
    """``spans``: rows that each link should span at least. ``long``: the links that pass a row.

    ``columns``: cards that stand under each other.

    ``main``: the links of one longest way, which is drawn straight.
    """

    spans: list[int]
    long: set[Link]
    columns: list[Link]
    main: set[Link]


def plan(
    widths: Mapping[int, float],
    links: Sequence[Link],
    same: Sequence[Link],
    strong: set[Link],
    limit: float,
    frames: Iterable[Sequence[int]] = (),
) -> Plan:
    """Arrange cards in rows that are not too wide.

    Args:
        widths: of every card, in points, chips beside its arrows included.
        links: (tail, head) of every arrow.
        same: links whose two ends stand in one row.
        strong: links that the main way may use.
        limit: of a row, in points.
        frames: cards that stand in one column; what is in none shares the rest of the row.
    """
    before: dict[int, list[int]] = {i: [] for i in widths}
    after: dict[int, list[int]] = {i: [] for i in widths}
    for tail, head in dict.fromkeys(links):
        before[head].append(tail)
        after[tail].append(head)
    rows = _Rows(widths, limit)
    for frame in sorted(frames, key=len):
        rows.reserve(frame)
    order = after_all(widths, before)
    rows.fill(order, before, after, same)
    level = rows.level
    # else a card may stand between two rows, and needs its own
    spans = [max(level[h] - level[t], 1) for t, h in links]
    long = {(t, h) for t, h in links if level[h] - level[t] > 1}
    return Plan(spans, long, rows.columns, _main_way(level, before, strong))


def in_one_column(
    cards: Sequence[int], links: Sequence[Link], frames: Iterable[Sequence[int]] = ()
) -> Plan:
    """Arrange cards under each other, one a row: each right below what it was made from, and the
    cards of a frame together where nothing else has to stand between them.

    Args:
        cards: ids of every card.
        links: (tail, head) of every arrow.
        frames: cards that stand in one frame.

    Example:
        >>> in_one_column([0, 1, 2, 3], [(0, 2), (1, 3), (2, 3)], [[0, 2]]).columns
        [(1, 0), (0, 2), (2, 3)]
    """
    unit = {card: card for card in cards}  # what stands together, by one of its cards
    order = _by_units(unit, links)
    for frame in sorted(frames, key=len):
        wider = {c: frame[0] if unit[c] in {unit[m] for m in frame} else unit[c] for c in unit}
        tried = _by_units(wider, links)
        if _is_in_order(tried, links) or not _is_in_order(order, links):
            unit, order = wider, tried
    level = {card: row for row, card in enumerate(order)}
    spans = [max(level[h] - level[t], 1) for t, h in links]
    long = {(t, h) for t, h in links if level[h] - level[t] > 1}
    return Plan(spans, long, list(itertools.pairwise(order)), set())


def _by_units(unit: Mapping[int, int], links: Sequence[Link]) -> list[int]:
    """Order cards so that each stands after what it was made from, as far as units allow."""
    before: dict[int, list[int]] = {card: [] for card in unit}
    units_before: dict[int, list[int]] = {one: [] for one in unit.values()}
    for tail, head in dict.fromkeys(links):
        before[head].append(tail)
        if unit[tail] != unit[head]:
            units_before[unit[head]].append(unit[tail])
    read = {one for those in units_before.values() for one in those}
    ends = [one for one in units_before if one not in read]
    members = {one: [c for c in unit if unit[c] == one] for one in units_before}
    return [
        card
        for one in after_all([*ends, *units_before], units_before)
        for card in after_all(members[one], before)
        if unit[card] == one
    ]


def _is_in_order(order: Sequence[int], links: Sequence[Link]) -> bool:
    """Tell whether each card stands after what it was made from."""
    place = {card: i for i, card in enumerate(order)}
    return all(place[tail] < place[head] for tail, head in links if tail != head)


class _Rows:
    """Rows that fill up."""

    def __init__(self, widths: Mapping[int, float], limit: float) -> None:
        self.widths, self.limit = widths, limit
        self.level: dict[int, int] = {}
        self.used: dict[int, float] = defaultdict(float)
        # cards of a row that another can stand in line with
        self.open: dict[int, list[int]] = defaultdict(list)
        self.columns: list[Link] = []
        self.frame: dict[int, int] = {}  # the frame of a card, by its first card
        self.taken: set[tuple[int, int]] = set()  # rows of a frame

    def fill(
        self,
        order: Sequence[int],
        before: Mapping[int, Sequence[int]],
        after: Mapping[int, Sequence[int]],
        same: Sequence[Link],
    ) -> None:
        """Put every card into a row, in an order in which each stands after what it was made
        from."""
        for card in order:
            if before[card] or not after[card]:  # as high as what it was made from allows
                allowed = (self.level.get(t, -1) + ((t, card) not in same) for t in before[card])
                self.put(card, max(allowed, default=0), 1)
        for card in order:
            if card not in self.level:  # nothing made it: right above its first reader
                row = min(self.level[h] - ((card, h) not in same) for h in after[card])
                self.put(card, row, -1)

    def reserve(self, frame: Sequence[int]) -> None:
        """Reserve one column for a frame, unless it has only one card or lies in another frame."""
        new = [c for c in frame if c not in self.frame]
        if len(new) > 1:
            self.frame |= dict.fromkeys(new, frame[0])
            self.limit -= max(self.widths[c] for c in new) + 2 * SPACE

    def full(self, card: int, row: int) -> bool:
        """Tell whether a row has no room for a card."""
        if card in self.frame:
            return (self.frame[card], row) in self.taken
        return self.used[row] > 0 and self.used[row] + self.widths[card] > self.limit

    def put(self, card: int, row: int, step: int) -> None:
        """Put a card into this row, or into the next one in direction ``step`` that has room."""
        wanted = row
        while self.full(card, row):
            row += step
        self.level[card] = row
        if card in self.frame:
            self.taken.add((self.frame[card], row))
        else:
            self.used[row] += self.widths[card] + SPACE
        # or it would only move sideways
        if row != wanted and card not in self.frame and self.open[row - step]:
            mate = self.open[row - step].pop(0)
            self.columns.append((mate, card) if step > 0 else (card, mate))
        if card not in self.frame:
            self.open[row].append(card)


def _main_way(
    level: Mapping[int, int], before: Mapping[int, Sequence[int]], strong: set[Link]
) -> set[Link]:
    """Go from the lowest card up to a source, always through the latest of the cards it was made
    from."""
    way: set[Link] = set()
    card = max((head for _, head in strong), key=lambda c: (level[c], -c), default=None)
    while card is not None:
        above = [t for t in before[card] if (t, card) in strong and level[t] < level[card]]
        higher = max(above, key=lambda t: (bool(before[t]), level[t], -t), default=None)
        if higher is not None:
            way.add((higher, card))
        card = higher
    return way
