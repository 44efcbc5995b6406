"""Folding neighbours of an outline for lack of room: what is farthest from whatever happened, and
from what the reader opened, goes first. What the reader opened is never folded.

NOTE [across levels]: cards stand in call order, and every arrow goes down in it. So two cards next
to each other in that order, whatever modules they stand in, become one without any circle.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import partial
from itertools import accumulate, pairwise
from typing import NamedTuple

from gradviz.graph.module_tree import ModuleTree
from gradviz.picture.outline.before import keys_of
from gradviz.picture.outline.cards import Cards
from gradviz.picture.outline.unit import Kind, Merged, Unit, listed

FAR = 1000  # links between a card and what happened, where nothing did
MAY_FOLD = (Kind.CALL, Kind.STATEMENT)
MAY_BE_ROW = (Kind.CALL, Kind.STATEMENT, Kind.PIECE)


class Pair(NamedTuple):
    """Two neighbours that may become one card, ordered by what is lost by it."""

    apart: bool  # they were different cards of an earlier picture
    matters: bool  # something ends or begins there
    near: int  # the farther from what happened, the smaller
    crosses: bool  # they stand in different modules, or lists of modules
    size: int  # parameters
    upper: int
    lower: int


def fold_one(
    cards: Cards, at_once: int = 1, *, even_if_it_matters: bool = False
) -> list[Unit] | None:
    """Fold the two neighbours that matter least.

    Args:
        cards: of the outline so far.
        at_once: how many such pairs are folded at most, of different neighbours.
        even_if_it_matters: whether ends of cuts and the like may be folded too.

    Returns:
        The units, one less for each; None where no two may be folded.
    """
    pairs = sorted(pair for pair in _pairs(cards) if even_if_it_matters or not pair.matters)
    return _folded_at(cards, _apart(pairs, at_once)) if pairs else None


def folded_as_before(cards: Cards) -> list[Unit] | None:
    """Fold two neighbours that were one card of an earlier picture.

    Returns:
        The units, one less; None where there are none such.
    """
    if cards.expansion.asked.before is None:
        return None
    was = _cards_before(cards)
    pairs = [p for p in _pairs(cards) if not p.matters and was[p.upper] & was[p.lower]]
    return _folded_at(cards, _apart(sorted(pairs), 1)) if pairs else None


def _folded_at(cards: Cards, pairs: list[tuple[int, int]]) -> list[Unit]:
    """Return the units with the two of each pair as one."""
    units: list[Unit | None] = [*cards.units]
    for upper, lower in pairs:
        one, other = cards.units[upper], cards.units[lower]
        units[upper], units[lower] = folded(one, other, around_both(cards.tree, one, other)), None
    return [unit for unit in units if unit is not None]


def list_one(cards: Cards, at_once: int = 1) -> list[Unit] | None:
    """Make one card of the two neighbours that matter least, whatever became of them: each is a row
    there.

    Args:
        cards: of the outline so far, all under each other.
        at_once: how many such cards are made at most, of different neighbours.

    Returns:
        The units, one less for each; None where no two may become one.
    """
    pairs = sorted(_neighbours(cards)) or sorted(_neighbours(cards, across_modes=True))
    units: list[Unit | None] = [*cards.units]
    for upper, lower in _apart(pairs, at_once):
        one, other = cards.units[upper], cards.units[lower]
        units[upper], units[lower] = listed(one, other, around_both(cards.tree, one, other)), None
    return [unit for unit in units if unit is not None] if pairs else None


def _apart(pairs: Iterable[Pair], most: int) -> list[tuple[int, int]]:
    """Return the places of the first pairs of which no two share a card."""
    taken: set[int] = set()
    chosen: list[tuple[int, int]] = []
    for pair in pairs:
        if len(chosen) < most and not taken & {pair.upper, pair.lower}:
            taken |= {pair.upper, pair.lower}
            chosen.append((pair.upper, pair.lower))
    return chosen


def _neighbours(cards: Cards, *, across_modes: bool = False) -> Iterable[Pair]:
    """Go through the cards that follow each other and may become rows of one: not a loss, nor, at
    first, where only one of them ran under no_grad, which has a frame."""
    distance = _distances(cards)
    matters = [_matters(cards, k) for k in range(len(cards.units))]
    sizes = [len(cards.expansion.weights_in(unit)) for unit in cards.units]
    places = [k for k, unit in enumerate(cards.units) if unit.tensor_id is None]
    for upper, lower in pairwise(places):
        first, second = cards.units[upper], cards.units[lower]
        if first.kind not in MAY_BE_ROW or second.kind not in MAY_BE_ROW:
            continue
        if cards.expansion.is_kept(first) or cards.expansion.is_kept(second):
            continue
        if across_modes or _quiet(cards, first) == _quiet(cards, second):
            near = -min(distance[upper], distance[lower])
            some = matters[upper] or matters[lower]
            crosses = first.parent != second.parent
            yield Pair(False, some, near, crosses, sizes[upper] + sizes[lower], upper, lower)


def _quiet(cards: Cards, unit: Unit) -> bool:
    return cards.expansion.no_grad.are_quiet(unit.ops)


def folded(upper: Unit, lower: Unit, parent: int | None) -> Unit:
    """Return one unit of two, that stands in this module call."""
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
        parent,
        then=[*lower.then],
        after=[*upper.after],
        members=[] if is_statement else members,
        merged=Merged.NOT if is_statement else Merged.FOLD,
        unused=[*upper.unused, *lower.unused],
    )


def _pairs(cards: Cards) -> Iterable[Pair]:
    """Go through the neighbours that may become one card: joined by a link, next to each other in
    call order, of one state."""
    distance = _distances(cards)
    matters = [_matters(cards, k) for k in range(len(cards.units))]
    may_fold = [*map(partial(_may_fold, cards), cards.units)]
    was = _cards_before(cards)
    sizes = [len(cards.expansion.weights_in(unit)) for unit in cards.units]
    turns = _turns(cards)
    for (upper, lower), link in cards.links.all.items():
        first, second = cards.units[upper], cards.units[lower]
        follows = turns[lower] - turns[upper] == 1 and not link.cuts
        if not (follows and may_fold[upper] and may_fold[lower]):
            continue
        if _state(cards, upper) != _state(cards, lower):
            continue
        near = -min(distance[upper], distance[lower])
        crosses = first.parent != second.parent or _list_of(cards, first) != _list_of(cards, second)
        leaves = first.parent != second.parent and _frame(cards, first.parent) != _frame(
            cards, second.parent
        )
        some = matters[upper] or matters[lower] or leaves
        apart = bool(was[upper] and was[lower] and not was[upper] & was[lower])
        yield Pair(apart, some, near, crosses, sizes[upper] + sizes[lower], upper, lower)


def _may_fold(cards: Cards, unit: Unit) -> bool:
    """Say whether a card may become one with another at all."""
    is_list = unit.merged is Merged.ROWS
    return unit.kind in MAY_FOLD and not is_list and not cards.expansion.is_kept(unit)


def _list_of(cards: Cards, unit: Unit) -> Hashable:
    """Return the module, or list of modules, in which those of a card stand."""
    calls = (cards.tree.call[i] for i in unit.calls)
    around = {(call.module_id, call.path.rpartition(".")[0]) for call in calls}
    return around.pop() if len(around) == 1 else None


def _cards_before(cards: Cards) -> list[set[int]]:
    """Return which cards of an earlier picture each card was."""
    before = cards.expansion.asked.before
    if before is None:
        return [set() for _ in cards.units]
    keys = keys_of(cards.units, cards.expansion)
    return [{before.card_of[key] for key in some if key in before.card_of} for some in keys]


def _turns(cards: Cards) -> list[int]:
    """Return the place of each card in call order, inputs and leaves apart: these stand with the
    card before them."""
    does = (unit.kind not in (Kind.INPUT, Kind.LEAF) for unit in cards.units)
    return [*accumulate(does)]


def _frame(cards: Cards, parent: int | None) -> int | None:
    """Return the innermost opened module call with a frame, around the cards of one."""
    around = cards.tree.around(parent)
    return next((i for i in around if i in cards.expansion.frames), None)


def around_both(tree: ModuleTree, upper: Unit, lower: Unit) -> int | None:
    """Return the innermost module call that two cards both stand in."""
    outer = {*tree.around(lower.parent)}
    return next((i for i in tree.around(upper.parent) if i in outer), None)


def _state(cards: Cards, place: int) -> Hashable:
    """Return what two neighbours must have in common."""
    unit = cards.units[place]
    fates = {w.fate for w in cards.expansion.weights_in(unit)}
    quiet = {cards.expansion.no_grad.is_quiet(cards.operations.all[at]) for at in unit.ops}
    kind = unit.kind if unit.kind is Kind.STATEMENT else Kind.CALL
    return kind, frozenset(fates), frozenset(quiet), cards.links.gets(place)


def _matters(cards: Cards, place: int) -> bool:
    """Say whether something ends or begins at a card."""
    unit = cards.units[place]
    cut = any(link.cuts for link in (*cards.links.into[place], *cards.links.out_of[place]))
    state = cards.states.of(unit)
    alarms = bool(state.zero or state.vanished or state.nan or unit.unused)
    return cut or alarms or cards.expansion.is_kept(unit) or bool(unit.steps)


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
