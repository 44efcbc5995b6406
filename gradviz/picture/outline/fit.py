"""Finds the outline that fits a page: lays it out, and makes it smaller, one step at a time.

NOTE [twice]: an outline is laid out twice. The first layout tells in which order neighbours stand;
then every card with several gets its slots (NOTE [slots] in ``dot.py``), and may become as wide as
the columns above or below it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, islice, pairwise
from typing import NamedTuple, Protocol

from gradviz.graph.operations import Operations
from gradviz.graph.records import Graph
from gradviz.picture.outline.asked import AS_IT_IS, Asked, Before
from gradviz.picture.outline.before import ANYHOW, Like, before_of, keys_of, like
from gradviz.picture.outline.cards import Cards
from gradviz.picture.outline.dot import (
    CHART_HEIGHT,
    HEAD_WIDTH,
    IN_FRAME,
    LEAST_AROUND,
    RIVERS,
    Layout,
    Slots,
    dot,
)
from gradviz.picture.outline.fold import fold_one, folded_as_before, list_one
from gradviz.picture.outline.gather import Gathering
from gradviz.picture.outline.headline import Heading
from gradviz.picture.outline.links import Links, Pair
from gradviz.picture.outline.scene import Arrow, Card, Outline
from gradviz.picture.outline.unit import Kind, Unit
from gradviz.picture.outline.units import Expansion

WIDTH, HEIGHT = 639, 894  # points: with the rim 860×1200 CSS pixels
FAR_TOO_HIGH = 2 * HEIGHT  # points: from here on a narrower card does not help
FAR_TOO_WIDE = 4 * WIDTH  # points: from here on folding one card after the other takes minutes
INPUTS = 12  # that have cards: the hundred slices that a loop goes through have none
SEVERAL = 100  # cards that are laid out as they are; more stand under each other
BESIDE = 20  # points by which a card stands beside another one, and not above it
ROOMY = 640  # points: below, closed modules get a row for each of theirs
LITTLE = 40  # points by which the arrows of a layout, all together, may be longer than of another
UNCROSSED = 6  # links that are said rather than drawn, as they would cross others
ROW, TITLE, BETWEEN, HEADING = 15.5, 30, 27, 130  # points, to guess a height before any layout
WIDTHS = (330, 280, 262, 240, 210, 178, 150)  # of the rows of a card, in points
NARROW, HALF_HEAD = 3, 290  # of a picture half a page wide: which of ``WIDTHS``, and points
Draw = Callable[[str], str]  # from DOT to DOT with positions
Box = tuple[float, float]
Box3 = tuple[float, float, float]
Bounds = tuple[float, float, float, float]
NOWHERE: Mapping[int, float] = {}
# in a layout: Graphviz writes what is beyond 99,999 points with an exponent
NUMBER = r"(-?[\d.]+(?:e[+-]\d+)?)"


class Ways(Protocol):
    """What a layout asks of the links between cards."""

    @property
    def rank(self) -> Sequence[int]:
        """For each card, on which level it stands."""

    @property
    def spine(self) -> Sequence[Pair]:
        """The way of the gradient that meets most parameters, from a loss up."""

    def below(self, place: int) -> Iterable[int]:
        """Go through the cards that use what a card makes."""


class Shown(Protocol):
    """What is drawn, as the slots of a layout ask for it."""

    @property
    def cards(self) -> Sequence[Card]:
        """Every card."""

    @property
    def arrows(self) -> Sequence[Arrow]:
        """Every arrow."""


class Fitted(NamedTuple):
    """An outline, the DOT text that draws it, and its size in points.

    ``columns``: how many columns wide its cards are, where it is more than one; ``moved``: by how
    many points they stand beside their places in an earlier picture, all together.
    """

    outline: Outline
    source: str
    width: float
    height: float
    crossed: tuple[Pair, ...] = ()  # the links whose arrows cross others, once for each crossing
    columns: Mapping[int, int] = {}
    moved: float = 0.0
    length: float = 0.0  # of all its arrows, in steps of ``LITTLE``

    @property
    def crossings(self) -> int:
        """How many pairs of arrows cross."""
        return len(self.crossed) // 2

    @property
    def fits(self) -> bool:
        """Whether it fits a page."""
        return self.width <= WIDTH and self.height <= HEIGHT


@dataclass(frozen=True)
class Plan:
    """What is shown, and how wide.

    Attributes:
        units: the cards.
        width: which of ``WIDTHS``.
        children: places of the cards with a row for each module below theirs.
        said_above: whether what is not drawn is said at both ends.
        in_column: whether all cards stand under each other.
        undrawn: links that are said, not drawn.
        brief: whether what the cards say is not told above them, too.
    """

    units: list[Unit]
    width: int = 0
    children: frozenset[int] = frozenset()
    said_above: bool = True
    in_column: bool = False
    undrawn: frozenset[Pair] = field(default=frozenset())
    brief: bool = False


class Fitting:
    """Draws a recording as an outline.

    Args:
        graph: of a recording.
        draw: lays out DOT text.
        asked: what the reader asked for.
    """

    def __init__(self, graph: Graph, draw: Draw, asked: Asked = AS_IT_IS) -> None:
        self.operations = Operations(graph)
        self.expansion = Expansion(self.operations, asked)
        self.gathering = Gathering(self.expansion)
        self.draw = draw
        self.plan = Plan([])  # what ``fitted`` chose
        self.last: Fitted | None = None  # the layout tried last
        self.drawn: tuple[Plan, Cards] | None = None  # the cards of the plan asked for last

    def fitted(self) -> Fitted:
        """Return the first outline that fits a page, or the smallest one."""
        best: tuple[Plan, Fitted] | None = None
        for wanted in self._plans_like_before():
            plan, fitted = self._uncrossed(wanted, self.laid_out(wanted))
            self.last = fitted
            if best is None or _flaws(fitted) < _flaws(best[1]):
                best = plan, fitted
            if fitted.fits and not fitted.crossings:
                break
        if best is None:
            raise ValueError("an outline of nothing")
        self.plan, found = self._with_children(*best)
        return found

    def _uncrossed(self, plan: Plan, fitted: Fitted) -> tuple[Plan, Fitted]:
        """Say, one after the other, links that are drawn across others, where the outline fits: not
        the way of the gradient, nor the last arrow of a card."""
        for _ in range(UNCROSSED):
            if not (fitted.fits and fitted.crossings):
                break
            counts = Counter(fitted.crossed)
            pairs = sorted(counts, key=lambda pair: (-counts[pair], pair))
            free = (replace(plan, undrawn=plan.undrawn | {pair}) for pair in pairs)
            less = next((p for p in free if self._is_undrawn(p)), None)
            if less is None:
                break
            trial = self.laid_out(less)
            if _flaws(trial) >= _flaws(fitted):
                break
            plan, fitted = less, trial
        return plan, fitted

    def _is_undrawn(self, plan: Plan) -> bool:
        drawn = {link.pair for link in self.cards(plan).links.drawn}
        return not drawn & plan.undrawn

    def narrow(self) -> Fitted | None:
        """Return the outline half a page wide; None where its cards do not all stand under each
        other."""
        if self._columns(self.plan) > 1:
            return None
        fitted = self.laid_out(replace(self.plan, width=NARROW), head=HALF_HEAD)
        return fitted if fitted.width <= WIDTH / 2 else None

    def before(self, fitted: Fitted) -> Before:
        """Return what a later picture is to keep of this one."""
        keys = keys_of(self.plan.units, self.expansion)
        boxes = boxes_in(self.draw(fitted.source))
        inputs = any(unit.kind is Kind.INPUT for unit in self.plan.units)
        width = WIDTHS[self.plan.width]
        return before_of(keys, boxes, fitted.columns, width=width, inputs=inputs)

    @cached_property
    def _units(self) -> list[Unit]:
        """The cards, folded as those of an earlier picture were."""
        units = self.gathering.units
        while (fewer := folded_as_before(self.cards(Plan(units)))) is not None:
            units = fewer
        return units

    def _plans_like_before(self) -> Iterator[Plan]:
        """Go through ever smaller plans, those first whose cards are as wide as before."""
        before = self.expansion.asked.before
        if before is not None and before.width in WIDTHS:
            plan = Plan(self._units, WIDTHS.index(before.width))
            if not before.inputs:
                plan = replace(plan, units=without_inputs(plan.units))
            plan = self._low_enough(plan)
            if not self._is_higher(plan, FAR_TOO_HIGH):
                yield plan
        yield from self._plans()

    def _plans(self) -> Iterator[Plan]:
        """Go through ever smaller plans."""
        plan = self._low_enough(Plan(self._units))
        if self.expansion.asked.is_strict and self._is_higher(plan, FAR_TOO_HIGH):
            yield from self._as_asked(plan)
            return
        if len(plan.units) > SEVERAL and self._is_far_too_large(plan):
            yield from self._in_column()  # no layout of so many cards fits, and each takes long
            return
        yield from self.narrower(plan)
        plan = replace(plan, units=without_inputs(plan.units))
        yield from self.narrower(plan)
        plan = replace(plan, said_above=False)
        yield from self.narrower(plan)
        fewer = self._without_averages(plan.units)
        if fewer != plan.units:
            plan = replace(plan, units=fewer)
            yield from self.narrower(plan)
        while (units := fold_one(self.cards(plan))) is not None:
            plan = replace(plan, units=units)
            if self._is_higher(plan, HEIGHT):
                continue
            yield from self.narrower(plan)
        yield from self._in_column()

    def _is_far_too_large(self, plan: Plan) -> bool:
        """Say whether no layout near this one fits: it is far too high, or has far more cards side
        by side than a page."""
        if self._is_higher(plan, FAR_TOO_HIGH):
            return True
        return self._columns(plan) * min(WIDTHS) > FAR_TOO_WIDE

    def _in_column(self) -> Iterator[Plan]:
        """Go through ever smaller plans of one column: at last neighbours become rows, whatever
        became of them."""
        units = self._without_averages(without_inputs(self.gathering.units))
        plan = Plan(units, said_above=False, in_column=True)
        for smaller in (fold_one, list_one):
            while (more := smaller(self.cards(plan), _at_once(plan.units))) is not None:
                if not self._is_higher(plan, HEIGHT):
                    yield plan
                plan = replace(plan, units=more)
        yield plan
        yield replace(plan, brief=True)

    def _without_averages(self, units: list[Unit]) -> list[Unit]:
        """Leave out what no loss uses, as an average of the weights after a step, but where it is
        all that there is."""
        return [u for u in units if not self.gathering.can_be_left_out(u)] or units

    def _as_asked(self, plan: Plan) -> Iterator[Plan]:
        """Go through the plans of what is higher than a page because the reader asked for so
        much."""
        if len(plan.units) <= SEVERAL:
            yield from islice(self.narrower(plan), 1)
        yield replace(plan, in_column=True)

    def _low_enough(self, plan: Plan) -> Plan:
        """Fold until the guessed height fits; before, drop inputs and say less."""
        inputs = sum(unit.kind is Kind.INPUT for unit in plan.units)
        if inputs > INPUTS or self._is_higher(plan, HEIGHT):
            plan = replace(plan, units=without_inputs(plan.units))
        if self._is_higher(plan, HEIGHT):
            plan = replace(plan, said_above=False)
        if self._is_higher(plan, HEIGHT):
            plan = replace(plan, units=self._without_averages(plan.units))
        for matters in (False, True):
            while self._is_higher(plan, HEIGHT):
                at_once = _at_once(plan.units)
                units = fold_one(self.cards(plan), at_once, even_if_it_matters=matters)
                if units is None:
                    break
                plan = replace(plan, units=units)
        return plan

    def narrower(self, plan: Plan) -> Iterator[Plan]:
        """Go through the widths of cards that may be narrow enough."""
        columns = self._columns(plan)
        for k, width in enumerate(WIDTHS):
            if columns * (width + 44) <= WIDTH + 40 or k == len(WIDTHS) - 1:
                yield replace(plan, width=k)
                if self.last is not None and self.last.width <= WIDTH:
                    break  # narrower would be no lower

    def _columns(self, plan: Plan) -> int:
        """Guess how many cards stand side by side at most."""
        if plan.in_column:
            return 1
        rank = self.cards(plan).links.rank
        wide = [rank[k] for k, u in enumerate(plan.units) if u.tensor_id is None]
        return max((wide.count(r) for r in wide), default=1)

    def _is_higher(self, plan: Plan, limit: float) -> bool:
        """Guess, before any layout, whether a plan is higher than so many points: the cards of
        thousands of calls are not written for it, if their titles alone are."""
        cards = self.cards(plan)
        levels = range(len(plan.units)) if plan.in_column else {*cards.links.rank}
        if _height_of([TITLE] * len(levels)) > limit:
            return True
        heights: dict[int, float] = {}
        for card, rank in zip(cards.cards, cards.links.rank, strict=True):
            level = card.id if plan.in_column else rank
            charts = sum(bool(row.chart) for row in card.rows)
            height = TITLE + ROW * (len(card.rows) - 1) + CHART_HEIGHT * charts
            heights[level] = max(heights.get(level, 0.0), height)
        return _height_of([*heights.values()]) > limit

    # --- room that is left ------------------------------------------------------------------------

    def _with_children(self, plan: Plan, fitted: Fitted) -> tuple[Plan, Fitted]:
        """Give the closed modules with most parameters rows for those below, while there is
        room."""
        if not fitted.fits or fitted.height > ROOMY:
            return plan, fitted
        room = (ROOMY - fitted.height) // ROW
        chosen: set[int] = set()
        for _, place, n in sorted(self._closed(plan), reverse=True):
            if 1 < n <= room:
                chosen.add(place)
                room -= n
        if not chosen:
            return plan, fitted
        with_rows = replace(plan, children=frozenset(chosen))
        larger = self.laid_out(with_rows)
        return (with_rows, larger) if _flaws(larger)[:2] <= _flaws(fitted)[:2] else (plan, fitted)

    def _closed(self, plan: Plan) -> Iterator[tuple[int, int, int]]:
        """Go through the closed modules: their parameters, place, and modules below with any."""
        for place, unit in enumerate(plan.units):
            if unit.kind is Kind.CALL and len(unit.calls) == 1 and self._is_called_once(unit):
                children = self.expansion.tree.children.get(unit.calls[0], ())
                with_any = [i for i in children if self._has_weights(i)]
                yield len(self.expansion.weights_in(unit)), place, len(with_any)

    def _is_called_once(self, unit: Unit) -> bool:
        calls = self.expansion.tree.call
        mine = calls[unit.calls[0]]
        same = [c for c in calls.values() if (c.module_id, c.path) == (mine.module_id, mine.path)]
        return len(same) == 1

    def _has_weights(self, call_id: int) -> bool:
        call = self.expansion.tree.call[call_id]
        return bool(self.expansion.tree.weights_below(call.module_id, call.path))

    # --- one plan ---------------------------------------------------------------------------------

    def cards(self, plan: Plan) -> Cards:
        """Return the cards of a plan: the same ones for every width."""
        plan = replace(plan, width=0)
        if self.drawn is None or self.drawn[0] != plan:
            self.drawn = plan, self._cards(plan)
        return self.drawn[1]

    def _cards(self, plan: Plan) -> Cards:
        links = Links(
            self.expansion,
            plan.units,
            in_column=plan.in_column,
            undrawn=plan.undrawn,
            finer=self._finest,
        )
        return Cards(links, plan.children, said_above=plan.said_above, brief=plan.brief)

    @cached_property
    def _finest(self) -> Links:
        """The links between the cards before any is folded: those of all others consist of them."""
        return Links(self.expansion, self.gathering.units)

    def is_wider_than_a_page(self, plan: Plan) -> bool:
        """Say, before any layout, whether a card and the frames around it are wider than a page."""
        cards = self.cards(plan)
        layout = Layout(WIDTHS[plan.width], LEAST_AROUND, in_column=plan.in_column)
        layout = _with_slots(cards, layout, NOWHERE, cards.links)
        earlier = like(keys_of(plan.units, self.expansion), self.expansion.asked.before).columns
        columns = {k: min(n, earlier.get(k, n)) for k, n in layout.columns.items()}
        layout = layout._replace(columns=columns)
        around = Counter(k for frame in cards.frames for k in frame.members)
        return any(
            layout.width_of(card) + LEAST_AROUND + 2 * IN_FRAME * around[card.id] > WIDTH
            for card in cards.cards
            if not card.narrow
        )

    def laid_out(self, plan: Plan, head: int = HEAD_WIDTH) -> Fitted:
        """Lay out a plan: see NOTE [twice]."""
        cards = self.cards(plan)
        outline = Outline(
            Heading(cards).headline(),
            cards.cards,
            cards.arrows,
            cards.frames,
            measured=any(arrow.kind == "gradient" for arrow in cards.arrows),
        )
        layout = Layout(WIDTHS[plan.width], in_column=plan.in_column, head=head)
        keys = keys_of(plan.units, self.expansion)
        before = like(keys, self.expansion.asked.before)
        return laid_out(outline, cards.links, layout, self.draw, before)


def laid_out(
    outline: Outline, links: Ways, first: Layout, draw: Draw, before: Like = ANYHOW
) -> Fitted:
    """Lay out an outline: see NOTE [twice]. Like an earlier one, where that is as good."""
    boxes = boxes_in(draw(dot(outline, first)))
    first = first._replace(
        around=_around(outline, first, boxes), chips_left=_chips_left(outline, boxes)
    )
    tries: list[Fitted] = []
    layouts: list[Layout] = []
    for layout in _layouts(outline, links, first, boxes, before):
        if layout in layouts:
            continue
        layouts.append(layout)
        source = dot(outline, layout)
        if any(source == other.source for other in tries):
            continue
        drawn = draw(source)
        moved = before.moved(boxes_in(drawn)) if before.same else 0.0
        size = size_of(drawn)
        lines = _lines(drawn)
        length = sum(_length(line) for _, line in lines) // LITTLE
        tries.append(Fitted(outline, source, *size, _crossed(lines), layout.columns, moved, length))
    return min(tries, key=_flaws)


def _layouts(
    outline: Outline, links: Ways, first: Layout, boxes: Mapping[int, Box3], before: Like
) -> Iterator[Layout]:
    """Go through the ways to order neighbours: as they stood before, as they stand in the first
    layout, in call order."""
    places = {k: box[0] for k, box in boxes.items()}
    if before.x:
        known = {**places, **before.x}
        as_before = _with_slots(outline, first, known, links)
        wide = {k: n for k, n in {**as_before.columns, **before.columns}.items() if n > 1}
        for columns in (as_before.columns, wide):
            for narrow in (True, False):
                levels = _levels(outline, links, known, with_narrow=narrow)
                yield as_before._replace(columns=columns, levels=levels)
            yield as_before._replace(columns=columns)
    river = {k: -1.0 for pair in links.spine for k in pair}
    for order in (river, {}):
        layout = _with_slots(outline, first, order, links)
        yield layout._replace(levels=_levels(outline, links, order)) if layout.columns else layout
    yield _with_slots(outline, first, places, links)


def _flaws(fitted: Fitted) -> tuple[float, int, float, float, float]:
    """Return what is wrong with an outline: by how much it is too large, its crossings, by how much
    its cards moved, how long its arrows are."""
    too_wide, too_high = fitted.width / WIDTH, fitted.height / HEIGHT
    too_large = max(too_wide, too_high, 1.0)
    return too_large, fitted.crossings, fitted.moved, fitted.length, fitted.height


def _height_of(levels: Sequence[float]) -> float:
    """Return the height of a picture in points whose levels are this high."""
    return sum(levels) + BETWEEN * max(len(levels) - 1, 0) + HEADING


def _at_once(units: list[Unit]) -> int:
    """Return how many neighbours become one before the next look: of the hundreds of a training
    loop many, or it would be looked at hundreds of times."""
    return max(1, len(units) - SEVERAL)


def without_inputs(units: list[Unit]) -> list[Unit]:
    return [unit for unit in units if unit.kind is not Kind.INPUT or unit.ops]


def _chips_left(outline: Outline, boxes: Mapping[int, Box3]) -> frozenset[tuple[int, ...]]:
    """Find the frames into which arrows come from the right, and none from the left: their chips
    would lie under these."""
    found = set[tuple[int, ...]]()
    for frame in outline.frames:
        places = [boxes[i][0] for i in frame.members if i in boxes]
        into = [a for a in outline.arrows if a.head in frame.members]
        tails = [boxes[a.tail][0] for a in into if a.tail not in frame.members and a.tail in boxes]
        if not places or not tails:
            continue
        middle = sum(places) / len(places)
        if max(tails) > middle + BESIDE and min(tails) > middle - BESIDE:
            found.add(tuple(frame.members))
    return frozenset(found)


def _around(outline: Outline, layout: Layout, boxes: dict[int, tuple[float, float, float]]) -> int:
    """Return by how much a card is wider than its rows, as the layout has it."""
    wider = [
        boxes[card.id][2] - layout.width_of(card)
        for card in outline.cards
        if card.id in boxes and not card.narrow
    ]
    return round(min(wider)) if wider else layout.around


def _with_slots(shown: Shown, layout: Layout, places: Mapping[int, float], links: Ways) -> Layout:
    """Give each card with several neighbours a slot for each, in the order in which they stand, and
    the width of its columns."""
    slots: dict[int, Slots] = {}
    columns: dict[int, int] = {}
    carrying = {(a.tail, a.head) for a in shown.arrows if a.kind in RIVERS}
    narrow = {card.id for card in shown.cards if card.narrow}
    pairs_drawn = {(a.tail, a.head) for a in shown.arrows if a.tail not in narrow}
    for card in shown.cards:
        into = {pair for pair in pairs_drawn if pair[1] == card.id}
        out = {pair for pair in pairs_drawn if pair[0] == card.id}
        above, below = _ordered(into, 0, places, links), _ordered(out, 1, places, links)
        rivers = [side for pairs, side in ((into, above), (out, below)) if pairs & carrying]
        wide = _columns(rivers, links)
        if wide > 1:
            columns[card.id] = wide
        slots[card.id] = _slots(above, below, is_wide=wide > 1)
    return layout._replace(slots=slots, columns=columns)


def _columns(sides: list[tuple[int, ...]], links: Ways) -> int:
    """Return how many columns wide a card is that has these neighbours at its edges."""
    return max((len(side) for side in sides if _independent(side, links)), default=1)


def _slots(above: tuple[int, ...], below: tuple[int, ...], *, is_wide: bool) -> Slots:
    """Return slots for several neighbours; the only one of a wide card stands in its first
    column."""
    least = 1 if is_wide else 2
    return Slots(above if len(above) >= least else (), below if len(below) >= least else ())


def _ordered(
    pairs: set[Pair], end: int, places: Mapping[int, float], links: Ways
) -> tuple[int, ...]:
    """Order the neighbours of a card as they stand; at a detour the way of the gradient stands
    first."""
    free = _independent([pair[end] for pair in pairs], links)
    spine = set(links.spine)

    def order(pair: Pair) -> tuple[bool, float, int]:
        return not free and pair not in spine, places.get(pair[end], 0.0), pair[end]

    return tuple(pair[end] for pair in sorted(pairs, key=order))


def _levels(
    outline: Outline,
    links: Ways,
    places: Mapping[int, float] = NOWHERE,
    *,
    with_narrow: bool = False,
) -> tuple[tuple[int, ...], ...]:
    """Return the cards of each rank as they stand, or in call order, inputs apart."""
    narrow = {card.id for card in outline.cards if card.narrow and not with_narrow}
    ranks: dict[int, list[int]] = {}
    for k, rank in enumerate(links.rank):
        if k not in narrow:
            ranks.setdefault(rank, []).append(k)
    levels = (cards for _, cards in sorted(ranks.items()))
    return tuple(tuple(sorted(cards, key=lambda k: places.get(k, 0.0))) for cards in levels)


def _independent(others: Iterable[int], links: Ways) -> bool:
    """Say whether no way leads from one of these cards to another."""
    wanted = {*others}
    lowest = max((links.rank[k] for k in wanted), default=0)  # every link goes down a level
    for start in wanted:
        seen, todo = set[int](), [*links.below(start)]
        while todo:
            k = todo.pop()
            if k in wanted:
                return False
            if k not in seen and links.rank[k] < lowest:
                seen.add(k)
                todo += [*links.below(k)]
    return True


# --- what a layout says ---------------------------------------------------------------------------


def boxes_in(laid_out: str) -> dict[int, tuple[float, float, float]]:
    """Return where cards stand in DOT text with positions: middle and width, in points."""
    place = rf'pos="{NUMBER},{NUMBER}",\s*width={NUMBER}'
    found = re.findall(rf"^\s*n(\d+)\s*\[.*?{place}", laid_out, re.DOTALL | re.MULTILINE)
    return {int(k): (float(x), float(y), float(width) * 72) for k, x, y, width in found}


def size_of(laid_out: str) -> Box:
    """Return width and height of a layout in points; without end where it tells none.

    >>> size_of('graph [bb="0,0,606,1.0046e+05"];')
    (606.0, 100460.0)
    """
    box = re.search(rf'bb="{NUMBER},{NUMBER},{NUMBER},{NUMBER}"', laid_out)
    if not box:
        return math.inf, math.inf
    x0, y0, x1, y1 = map(float, box.groups())
    return x1 - x0, y1 - y0


def _lines(laid_out: str) -> list[tuple[Pair, list[Box]]]:
    """Return the arrows of a layout, each with the cards that it joins."""
    lines: list[tuple[Pair, list[Box]]] = []
    pattern = r"\bn(\d+)(?::\S+)?\s*->\s*n(\d+)(?::\S+)?\s*\[(.*?)\];"
    for tail, head, attributes in re.findall(pattern, laid_out, re.DOTALL):
        place = re.search(r'\bpos="([^"]+)"', attributes)
        if place:
            points = re.findall(f"{NUMBER},{NUMBER}", place[1].replace("\\\n", ""))
            line = _polyline([(float(x), float(y)) for x, y in points], place[1])
            lines.append(((int(tail), int(head)), line))
    return lines


def crossed(laid_out: str) -> tuple[Pair, ...]:
    """List the links of both arrows of every pair that crosses."""
    return _crossed(_lines(laid_out))


def _crossed(lines: list[tuple[Pair, list[Box]]]) -> tuple[Pair, ...]:
    bounded = [(pair, line, _bounds(line)) for pair, line in lines]
    pairs = (
        (first, second)
        for (first, one, box), (second, other, second_box) in combinations(bounded, 2)
        if _meet(box, second_box) and _cross(one, other)
    )
    return tuple(pair for both in pairs for pair in both)


def _length(line: list[Box]) -> float:
    """Return how far a line goes across and down, all together."""
    return sum(abs(b[0] - a[0]) + abs(b[1] - a[1]) for a, b in pairwise(line))


def _bounds(line: list[Box]) -> Bounds:
    """Return the least and the largest x, and the least and the largest y of a line."""
    across, down = zip(*line, strict=True)
    return min(across), max(across), min(down), max(down)


def _meet(one: Bounds, other: Bounds) -> bool:
    """Say whether two lines can cross at all."""
    return one[0] <= other[1] and other[0] <= one[1] and one[2] <= other[3] and other[2] <= one[3]


def _polyline(points: list[Box], written: str) -> list[Box]:
    """Return the corners of a spline; tips of arrow heads, which come first, apart."""
    tips = len(re.findall(r"[se],", written))
    return points[tips:]


def _cross(one: list[Box], other: list[Box]) -> bool:
    return any(_segments_cross(a, b, c, d) for a, b in pairwise(one) for c, d in pairwise(other))


def _segments_cross(a: Box, b: Box, c: Box, d: Box) -> bool:
    def side(p: Box, q: Box, r: Box) -> float:
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0
