"""Which cards move to another row, so that the picture is no wider than a notebook. Knows no Graphviz.

Graphviz puts every card as high, or as close to its reader, as it can; nine leaves of one ``stack`` then stand side
by side. Here rows that are too wide give their loosest cards to the next row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

SPACE = 20  # points between neighbours
TRIES = 400

Link = tuple[int, int]  # (tail, head)


class _Rows(NamedTuple):
    level: dict[int, int]
    before: dict[int, list[int]]
    after: dict[int, list[int]]


class Plan(NamedTuple):
    """``spans``: rows that each link should span at least. ``columns``: cards that stand under each other.

    ``main``: the links of one longest way, which is drawn straight.
    """

    spans: list[int]
    columns: list[Link]
    main: set[Link]


def plan(
    widths: Mapping[int, float], links: Sequence[Link], same: Sequence[Link], strong: set[Link], limit: float
) -> Plan:
    """How to arrange cards in rows that are not too wide.

    Args:
        widths: of every card, in points, chips beside its arrows included.
        links: (tail, head) of every arrow.
        same: links whose two ends stand in one row.
        strong: links that the main way may use.
        limit: of a row, in points.
    """
    free = [link for link in links if link not in same]
    rows = _rows(widths, free, same)
    main = _main_way(rows, strong)
    _lower_sources(rows, same)
    moved: set[int] = set()
    for _ in range(TRIES):
        wide = _too_wide(rows.level, widths, free, limit)
        if not wide:
            break
        card, by = _loosest(wide, rows)
        moved |= _move(card, by, rows)
    spans = [max(rows.level[h] - rows.level[t], 1) if {t, h} & moved else 1 for t, h in links]
    return Plan(spans, _columns(moved, rows), main)


def _main_way(rows: _Rows, strong: set[Link]) -> set[Link]:
    """From the lowest card up to a source, always through the latest of the cards it was made from."""
    way: set[Link] = set()
    card = max((head for _, head in strong), key=lambda c: (rows.level[c], -c), default=None)
    while card is not None:
        above = [t for t in rows.before[card] if (t, card) in strong and rows.level[t] < rows.level[card]]
        higher = max(above, key=lambda t: (rows.level[t], -t), default=None)
        if higher is not None:
            way.add((higher, card))
        card = higher
    return way


def _columns(moved: set[int], rows: _Rows) -> list[Link]:
    """Cards that were moved out of one row stand under each other, or they would only move sideways."""
    columns: list[Link] = []
    taken: set[int] = set()
    for card in sorted(moved):
        loose = not rows.after[card]
        step = -1 if loose else 1
        for mate in sorted(rows.level):
            alike = not rows.after[mate] if loose else not rows.before[mate] and bool(rows.after[mate])
            if alike and mate not in taken and rows.level[mate] == rows.level[card] + step:
                if loose or not rows.before[card]:
                    taken.add(mate)
                    columns.append((mate, card) if loose else (card, mate))
                break
    return columns


def _rows(widths: Mapping[int, float], links: Sequence[Link], same: Sequence[Link]) -> _Rows:
    before: dict[int, list[int]] = {i: [] for i in widths}
    after: dict[int, list[int]] = {i: [] for i in widths}
    for tail, head in links:
        if tail < head or head not in after[tail]:
            before[head].append(tail)
            after[tail].append(head)
    level: dict[int, int] = dict.fromkeys(widths, 0)
    for _ in range(len(widths)):  # as deep as the longest way, circles end by the range
        changed = False
        for tail, head in (*((t, h) for t, h in links), *same):
            least = level[tail] + ((tail, head) not in same)
            if level[head] < least <= len(widths):
                level[head], changed = least, True
        if not changed:
            break
    return _Rows(level, before, after)


def _lower_sources(rows: _Rows, same: Sequence[Link]) -> None:
    """As Graphviz does: what nothing made stands right above its first reader."""
    for card, after in rows.after.items():
        if after and not rows.before[card] and not any(card in link for link in same):
            rows.level[card] = max(min(rows.level[h] for h in after) - 1, 0)


def _too_wide(level: Mapping[int, int], widths: Mapping[int, float], links: Sequence[Link], limit: float) -> list[int]:
    rows: dict[int, list[int]] = {}
    for card, row in level.items():
        rows.setdefault(row, []).append(card)
    for row in sorted(rows):
        passing = sum(level[tail] < row < level[head] for tail, head in links)
        width = sum(widths[c] + SPACE for c in rows[row]) - SPACE + passing * SPACE
        if len(rows[row]) > 1 and width > limit:
            return rows[row]
    return []


def _loosest(row: list[int], rows: _Rows) -> tuple[int, int]:
    """The card that can leave its row with the least harm, and whether it goes up (-1) or down (+1)."""
    ends = [c for c in row if not rows.after[c]]
    if ends:
        return ends[-1], 1
    starts = [c for c in row if not rows.before[c]]
    return (starts[0], -1) if starts else (row[-1], 1)


def _move(card: int, by: int, rows: _Rows) -> set[int]:
    """Move a card, and whatever it pushes in front of it."""
    moved = {card}
    rows.level[card] += by
    todo = [card]
    while todo:
        one = todo.pop()
        for other in rows.after[one] if by > 0 else rows.before[one]:
            if (rows.level[other] - rows.level[one]) * by <= 0 and other not in moved:
                rows.level[other] = rows.level[one] + by
                moved.add(other)
                todo.append(other)
    return moved
