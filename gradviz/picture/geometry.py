"""Lines and labels of a finished layout, as numbers: the two lines of a pair, and room for every
chip.

Graphviz routes a pair as one edge and puts its chip against the middle of it. Here the two lines
get their own places, and each chip moves to the nearest spot beside its line where it covers no
card, no chip and no other line. Points are Graphviz' (y grows upwards). Knows no Graphviz.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

GAP = 3.5  # points between a chip and its line
CLEAR = 0.7  # points that a chip keeps from everything but its line
# share of a line's direction that goes down, above which it meets its card from above or below
STEEP = 0.5
TIP = 7.0  # points of an arrow's head
EVENLY, AT_THE_END = 2, 12  # how fast what an end of a way is moved by fades along it
CORNER = 8.0  # points by which the corner of a card is round
STEP = 3.0  # points between the samples of a line
CELL = 24.0  # points; side of the squares by which the samples of lines are looked up
# where on its line a chip stands, best first
ALONG = (0.5, 0.46, 0.54, 0.42, 0.58, 0.38, 0.62, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82, 0.1, 0.9)

Point = tuple[float, float]
STAY: Point = (0.0, 0.0)  # the way to where something is


class Rect(NamedTuple):
    """A box by two of its corners."""

    x0: float
    y0: float
    x1: float
    y1: float

    def meets(self, other: Rect, gap: float = 0) -> bool:
        """Tell whether the boxes overlap, or come closer than ``gap``."""
        return (
            self.x0 < other.x1 + gap
            and other.x0 < self.x1 + gap
            and self.y0 < other.y1 + gap
            and other.y0 < self.y1 + gap
        )

    def contains(self, other: Rect) -> bool:
        """Tell whether the other box lies inside this one."""
        return (
            self.x0 <= other.x0
            and other.x1 <= self.x1
            and self.y0 <= other.y0
            and other.y1 <= self.y1
        )

    def holds(self, point: Point, gap: float = 0) -> bool:
        """Tell whether the point lies in the box, or closer to it than ``gap``."""
        return self.x0 - gap < point[0] < self.x1 + gap and self.y0 - gap < point[1] < self.y1 + gap


class Spline(NamedTuple):
    """A Graphviz edge: the control points of its cubic pieces, and the tips of its arrow heads."""

    points: list[Point]
    start: Point | None = None
    end: Point | None = None

    @classmethod
    def read(cls, pos: str) -> Spline:
        """Read ``s,x,y e,x,y x,y x,y …``."""
        tips: dict[str, Point] = {}
        points: list[Point] = []
        for part in pos.split(";")[0].split():
            *which, x, y = part.split(",")
            if which:
                tips[which[0]] = (float(x), float(y))
            else:
                points.append((float(x), float(y)))
        return cls(points, tips.get("s"), tips.get("e"))

    def write(self) -> str:
        """Write it as Graphviz reads it."""
        tips = [(name, p) for name, p in (("s,", self.start), ("e,", self.end)) if p]
        return " ".join(
            f"{name}{x:.2f},{y:.2f}" for name, (x, y) in [*tips, *(("", p) for p in self.points)]
        )

    def beside(self, by: float, *, back: bool) -> Spline:
        """Return the same way ``by`` points to the left. ``back``: the head is at the start,
        otherwise at the end."""
        whole = [self.start or self.points[0], *self.points, self.end or self.points[-1]]
        normals = _normals(whole)
        moved = [
            (x + by * nx, y + by * ny) for (x, y), (nx, ny) in zip(whole, normals, strict=True)
        ]
        # along the edge of its card: upper or lower where the line is steep, left or right if not
        for end in (0, -1):
            (x, y), (nx, ny) = whole[end], normals[end]
            if nx or ny:
                moved[end] = (x + by / nx, y) if abs(nx) > STEEP else (x, y + by / ny)
        first, *middle, last = moved
        if back:
            return Spline([*middle[:-1], last], start=first)
        return Spline([first, *middle[1:]], end=last)

    def with_tips(self, *, back: bool, ahead: bool) -> Spline:
        """Return the same way with the heads at its ends that are asked for, and no others."""
        points, start, end = list(self.points), self.start, self.end
        if back and start is None:
            start, points[0] = points[0], _towards(points[0], points[1], TIP)
        elif not back and start is not None:
            points[0], start = start, None
        if ahead and end is None:
            end, points[-1] = points[-1], _towards(points[-1], points[-2], TIP)
        elif not ahead and end is not None:
            points[-1], end = end, None
        return Spline(points, start, end)

    @property
    def ends(self) -> tuple[Point, Point]:
        """Where it begins and ends, tips of heads included."""
        return self.start or self.points[0], self.end or self.points[-1]

    def reaching(
        self, tail: Rect, head: Rect | None, ends: tuple[Point, Point] | None = None
    ) -> Spline:
        """Return the way with its ends on the borders of the boxes there, bent evenly so that
        nowhere a corner comes.

        Args:
            tail: the box where it begins.
            head: the one where it ends; None: at something else.
            ends: those of the middle of a pair of lines, which goes to the borders with both of
                them side by side; None: it is alone.
        """
        (start, end), (middle_start, middle_end) = self.ends, ends or self.ends
        first = _ways_onto(tail, start, middle_start, self.points[1])
        last = _ways_onto(head, end, middle_end, self.points[-2]) if head else (STAY, STAY)
        points = _bent(self.points, first[0], last[0], EVENLY)
        points = _bent(points, first[1], last[1], AT_THE_END)
        start, end = _moved(start, _moved(*first)), _moved(end, _moved(*last))
        if self.start:
            points[0] = _towards(start, points[0], TIP)
        if self.end:
            points[-1] = _towards(end, points[-1], TIP)
        return Spline(points, self.start and start, self.end and end)

    def samples(self) -> list[Point]:
        """Return points along it, close together, from tip to tip."""
        along = [self.start] if self.start else []
        for i in range(0, len(self.points) - 1, 3):
            piece = self.points[i : i + 4]
            if len(piece) == 4:
                along += _cubic(piece)
        return [*along, self.end] if self.end else along


def _cubic(piece: list[Point]) -> Iterator[Point]:
    """Sample one cubic piece, from one end to the other."""
    length = sum(math.dist(a, b) for a, b in itertools.pairwise(piece))
    steps = max(2, int(length / STEP))
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = piece
    for k in range(steps + 1):
        t = k / steps
        a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
        yield a * ax + b * bx + c * cx + d * dx, a * ay + b * by + c * cy + d * dy


def _normals(points: list[Point]) -> list[Point]:
    """Return, at each point, one unit to the left of the way from the one before to the one after.

    Points that lie on one another, as where a curve becomes straight, move as one; else the line
    has a step there.
    """
    runs = [list(run) for _, run in itertools.groupby(points)]
    normals = []
    for i, run in enumerate(runs):
        (x0, y0), (x1, y1) = runs[max(i - 1, 0)][0], runs[min(i + 1, len(runs) - 1)][0]
        length = math.hypot(x1 - x0, y1 - y0) or 1
        normals += [((y0 - y1) / length, (x1 - x0) / length)] * len(run)
    return normals


def _towards(point: Point, other: Point, by: float) -> Point:
    """Return the point that lies ``by`` points from one point towards another."""
    length = math.dist(point, other) or 1
    share = min(1, by / length)
    return (point[0] + (other[0] - point[0]) * share, point[1] + (other[1] - point[1]) * share)


def _moved(point: Point, by: Point, share: float = 1) -> Point:
    """Return a point moved by a share of something."""
    return point[0] + share * by[0], point[1] + share * by[1]


def _way_to(box: Rect, point: Point) -> Point:
    """Return the way from a point to the nearest one of a box, off the box's round corners; none
    where the point lies on the box."""
    inset = min(CORNER, (box.x1 - box.x0) / 2, (box.y1 - box.y0) / 2)
    x = min(max(point[0], box.x0), box.x1)
    y = min(max(point[1], box.y0), box.y1)
    if math.dist(point, (x, y)) < 1:
        return STAY
    if box.x0 < x < box.x1:
        x = min(max(x, box.x0 + inset), box.x1 - inset)
    else:
        y = min(max(y, box.y0 + inset), box.y1 - inset)
    return x - point[0], y - point[1]


def _ways_onto(box: Rect, point: Point, middle: Point, before: Point) -> tuple[Point, Point]:
    """Return the way of the end of a line to the border of a box that the middle of its pair goes,
    and the one along this border that brings it to its side of the middle, if it is not there.

    Args:
        box: the card.
        point: the end of the line.
        middle: that of the way between both lines of a pair; the point itself where it is alone.
        before: where the line comes from.
    """
    way = _way_to(box, middle)
    (x, y), beside = _moved(middle, way), (point[0] - middle[0], point[1] - middle[1])
    # the nearest border: what lies on a box, or a rounding beside it, is not moved there
    is_upright = min(abs(x - box.x0), abs(x - box.x1)) < min(abs(y - box.y0), abs(y - box.y1))
    if beside == STAY or abs(beside[is_upright]) >= abs(beside[not is_upright]):
        return way, STAY  # both lines end beside each other along this border
    normal = before[1] - y, x - before[0]
    is_left = beside[0] * normal[0] + beside[1] * normal[1] > 0
    by = math.hypot(*beside) * (1 if is_left == (normal[is_upright] > 0) else -1)
    x, y = (x, y + by) if is_upright else (x + by, y)
    now = _moved(point, way)
    return way, (min(max(x, box.x0), box.x1) - now[0], min(max(y, box.y0), box.y1) - now[1])


def _bent(points: list[Point], first: Point, last: Point, power: int) -> list[Point]:
    """Return a way whose ends are moved, and every other point the less, the farther it is from
    them: with a larger power, only near the ends."""
    steps = [math.dist(a, b) for a, b in itertools.pairwise(points)]
    along = list(itertools.accumulate(steps, initial=0.0))
    whole = along[-1] or 1
    return [
        _moved(_moved(point, first, (1 - passed / whole) ** power), last, (passed / whole) ** power)
        for point, passed in zip(points, along, strict=True)
    ]


class Chip(NamedTuple):
    """A label: where the layout put its middle, its size, and where else it may go.

    That is either beside the line that it speaks of (by number), or on one of ``spots``.
    """

    middle: Point
    width: float
    height: float
    line: int = 0
    spots: tuple[Point, ...] = ()

    def at(self, middle: Point) -> Rect:
        """Return its box, were it there."""
        (x, y), w, h = middle, self.width / 2, self.height / 2
        return Rect(x - w, y - h, x + w, y + h)


def corners(frame: Rect, width: float, height: float) -> tuple[Point, ...]:
    """Return where the words of a frame may stand: at its upper and lower edge, inside first, then
    beside it."""
    w, h = width / 2 + 5, height / 2 + 3
    step = (frame.x1 - frame.x0 - 2 * w) / 8
    xs = [
        frame.x0 + w + step * k for k in (8, 0, 4, 7, 1, 6, 2, 5, 3, 9, -1, 10, -2, 11, -3, 12, -4)
    ]
    edges = [(x, y) for y in (frame.y1 - h, frame.y0 + h, frame.y1 + h, frame.y0 - h) for x in xs]
    return (
        *edges,
        *((x, y) for x in (frame.x1 + w, frame.x0 - w) for y in (frame.y1 - h, frame.y0 + h)),
    )


def place(
    chips: list[Chip],
    lines: list[list[Point]],
    solid: list[Rect],
    frames: Iterable[Rect],
    page: Rect,
) -> tuple[list[Point], int]:
    """Find a middle for each chip, and count how many of them cover something.

    Args:
        chips: in drawing order.
        lines: samples of every drawn line.
        solid: boxes that nothing may cover (cards, words of frames).
        frames: boxes whose border should not be covered.
        page: the picture so far; beyond it there is room, but better not.
    """
    near, borders, taken = _cells(lines), list(frames), list(solid)
    middles = [chip.middle for chip in chips]
    flaws = 0
    # Words of frames first, then those of the shortest lines: long ones have the most places to
    # choose from.
    for i in sorted(
        range(len(chips)), key=lambda i: 0 if chips[i].spots else len(lines[chips[i].line])
    ):
        chip = chips[i]
        best, lowest = chip.middle, math.inf
        spots = (
            ((0.0, spot) for spot in chip.spots)
            if chip.spots
            else _candidates(chip, lines[chip.line])
        )
        for k, (away, middle) in enumerate(spots):
            rect = chip.at(middle)
            # Far from its own line, a chip must not come nearer to another one (6 points: the two
            # lines of a pair).
            cost = 0.02 * k + 5 * (not page.contains(rect)) + _boxes_cost(rect, taken, borders)
            if cost < lowest:  # what is left to add is what takes longest
                cost += _lines_cost(rect, near, max(CLEAR, away - 6))
            if cost < lowest:
                best, lowest = middle, cost
            if cost < 3:
                break
        taken.append(chip.at(best))
        middles[i] = best
        flaws += lowest >= 10
    return middles, flaws


def _candidates(chip: Chip, line: list[Point]) -> Iterator[tuple[float, Point]]:
    """Try places beside the line, on its right first, from its middle outwards: how far away, and
    where."""
    for away in (GAP, 2.5 * GAP, 5 * GAP, 9 * GAP, 14 * GAP):
        for side in (1, -1):
            for where in ALONG:
                i = min(int(where * len(line)), len(line) - 2)
                (x0, y0), (x, y), (x1, y1) = line[max(i - 1, 0)], line[i], line[i + 1]
                length = math.hypot(x1 - x0, y1 - y0) or 1
                # far enough along the line's normal for the whole box to be on one side of it
                reach = (
                    away + (chip.width / 2 * abs(y1 - y0) + chip.height / 2 * abs(x1 - x0)) / length
                )
                nx, ny = (y0 - y1) / length, (x1 - x0) / length
                if nx < -0.2 or (nx < 0.2 and ny < 0):
                    nx, ny = -nx, -ny  # now to the right, or above a level line
                yield away, (x + side * nx * reach, y + side * ny * reach)


Cells = dict[tuple[int, int], list[tuple[int, Point]]]


def _cells(lines: list[list[Point]]) -> Cells:
    """Sort the samples of all lines, each with its line's number, by the square of the page that
    they lie in."""
    cells: Cells = {}
    for i, line in enumerate(lines):
        for x, y in line:
            cells.setdefault((int(x // CELL), int(y // CELL)), []).append((i, (x, y)))
    return cells


def _boxes_cost(rect: Rect, others: list[Rect], borders: list[Rect]) -> float:
    """Rate a place by the boxes that it covers and the borders that it crosses."""
    covered = [other for other in others if rect.meets(other, CLEAR)]
    crossed = [border for border in borders if rect.meets(border) and not border.contains(rect)]
    return 100.0 * len(covered) + 3 * len(crossed)


def _lines_cost(rect: Rect, near: Cells, gap: float) -> float:
    """Rate a place by the lines near it: ten for each that the box covers, four for each that it
    comes closer to than ``gap``."""
    close, covered = set[int](), set[int]()
    for column in range(int((rect.x0 - gap) // CELL), int((rect.x1 + gap) // CELL) + 1):
        for row in range(int((rect.y0 - gap) // CELL), int((rect.y1 + gap) // CELL) + 1):
            for i, point in near.get((column, row), ()):
                if i not in covered and rect.holds(point, gap):
                    (covered if rect.holds(point, CLEAR) else close).add(i)
    return 10.0 * len(covered) + 4 * len(close - covered)
