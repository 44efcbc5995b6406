"""Folding neighbours of an outline for lack of room: what is farthest from whatever happened goes
first."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import pairwise
from typing import NamedTuple

from gradviz.picture.outline.cards import Cards
from gradviz.picture.outline.units import Kind, Merged, Unit, listed

FAR = 1000  # links between a card and what happened, where nothing did
MAY_FOLD = (Kind.CALL, Kind.STATEMENT)
MAY_BE_ROW = (Kind.CALL, Kind.STATEMENT, Kind.PIECE)


class Pair(NamedTuple):
    """Two neighbours that may become one card, ordered by what is lost by it."""

    matters: bool  # something ends or begins there
    near: int  # the farther from what happened, the smaller
    size: int  # parameters
    upper: int
    lower: int


def fold_one(cards: Cards, *, even_if_it_matters: bool = False) -> list[Unit] | None:
    """Fold the two neighbours that matter least.

    Args:
        cards: of the outline so far.
        even_if_it_matters: whether ends of cuts and the like may be folded too.

    Returns:
        The units, one less; None where no two may be folded.
    """
    pairs = sorted(_pairs(cards))
    pairs = [pair for pair in pairs if even_if_it_matters or not pair.matters]
    if not pairs:
        return None
    upper, lower = pairs[0].upper, pairs[0].lower
    units = cards.units
    return [
        *units[:upper],
        folded(units[upper], units[lower]),
        *units[upper + 1 : lower],
        *units[lower + 1 :],
    ]


def list_one(cards: Cards) -> list[Unit] | None:
    """Make one card of the two neighbours that matter least, whatever became of them: each is a row
    there.

    Args:
        cards: of the outline so far, all under each other.

    Returns:
        The units, one less; None where no two may become one.
    """
    pairs = sorted(_neighbours(cards)) or sorted(_neighbours(cards, across_modes=True))
    if not pairs:
        return None
    upper, lower = pairs[0].upper, pairs[0].lower
    units = cards.units
    whole = listed(units[upper], units[lower], _around_both(cards, upper, lower))
    return [*units[:upper], whole, *units[upper + 1 : lower], *units[lower + 1 :]]


def _neighbours(cards: Cards, *, across_modes: bool = False) -> Iterable[Pair]:
    """Go through the cards that follow each other and may become rows of one: not a loss, nor, at
    first, where only one of them ran under no_grad, which has a frame."""
    distance = _distances(cards)
    matters = [_matters(cards, k) for k in range(len(cards.units))]
    sizes = [len(cards.expansion.weights_in(unit)) for unit in cards.units]
    places = [k for k, unit in enumerate(cards.units) if unit.kind is not Kind.INPUT]
    for upper, lower in pairwise(places):
        first, second = cards.units[upper], cards.units[lower]
        if first.kind not in MAY_BE_ROW or second.kind not in MAY_BE_ROW:
            continue
        if across_modes or _quiet(cards, first) == _quiet(cards, second):
            near = -min(distance[upper], distance[lower])
            some = matters[upper] or matters[lower]
            yield Pair(some, near, sizes[upper] + sizes[lower], upper, lower)


def _quiet(cards: Cards, unit: Unit) -> bool:
    return all(cards.expansion.is_quiet(cards.operations.all[at]) for at in unit.ops)


def _around_both(cards: Cards, upper: int, lower: int) -> int | None:
    """Return the innermost opened module call around two cards."""
    tree = cards.expansion.tree
    around = {*tree.around(cards.units[lower].parent)}
    return next((i for i in tree.around(cards.units[upper].parent) if i in around), None)


def folded(upper: Unit, lower: Unit) -> Unit:
    """Return one unit of two."""
    members = [
        member
        for unit in (upper, lower)
        for member in (unit.members if unit.merged is Merged.FOLD else [unit])
    ]
    is_statement = upper.kind is lower.kind is Kind.STATEMENT
    return Unit(
        Kind.STATEMENT if is_statement else Kind.CALL,
        sorted([*upper.ops, *lower.ops]),
        [*upper.calls, *lower.calls],
        upper.parent,
        members=[] if is_statement else members,
        merged=Merged.NOT if is_statement else Merged.FOLD,
        unused=[*upper.unused, *lower.unused],
    )


def _pairs(cards: Cards) -> Iterable[Pair]:
    """Go through the neighbours that may become one card: joined by a link, next to each other in
    call order, of one level and one state."""
    distance = _distances(cards)
    matters = [_matters(cards, k) for k in range(len(cards.units))]
    sizes = [len(cards.expansion.weights_in(unit)) for unit in cards.units]
    for upper, lower in cards.links.all:
        first, second = cards.units[upper], cards.units[lower]
        if Merged.ROWS in (first.merged, second.merged):
            continue
        between = [u for u in cards.units[upper + 1 : lower] if u.kind is not Kind.INPUT]
        if between or first.kind not in MAY_FOLD or second.kind not in MAY_FOLD:
            continue
        link = cards.links.all[upper, lower]
        if link.cuts or _level(cards, upper) != _level(cards, lower):
            continue
        near = -min(distance[upper], distance[lower])
        some = matters[upper] or matters[lower]
        yield Pair(some, near, sizes[upper] + sizes[lower], upper, lower)


def _level(cards: Cards, place: int) -> Hashable:
    """Return what two neighbours must have in common: where they stand, and their state."""
    unit = cards.units[place]
    fates = {w.fate for w in cards.expansion.weights_in(unit)}
    quiet = {cards.expansion.is_quiet(cards.operations.all[at]) for at in unit.ops}
    kind = unit.kind if unit.kind is Kind.STATEMENT else Kind.CALL
    return unit.parent, kind, frozenset(fates), frozenset(quiet), cards.links.gets(place)


def _matters(cards: Cards, place: int) -> bool:
    """Say whether something ends or begins at a card."""
    unit = cards.units[place]
    cut = any(link.cuts for link in (*cards.links.into[place], *cards.links.out_of[place]))
    state = cards.states.of(unit)
    alarms = bool(state.zero or state.vanished or state.nan or unit.unused)
    asked = unit.parent is not None and cards.expansion.is_asked_for(unit.parent)
    return cut or alarms or asked or bool(unit.steps)


def _distances(cards: Cards) -> list[int]:
    """Return how many links lie between each card and the nearest one where something happens."""
    found = [0 if _matters(cards, k) else FAR for k in range(len(cards.units))]
    for _ in cards.units:
        changed = False
        for upper, lower in cards.links.all:
            least = min(found[upper], found[lower]) + 1
            for k in (upper, lower):
                if found[k] > least:
                    found[k], changed = least, True
        if not changed:
            break
    return found
