"""Lines that are led to the borders of cards, on cases made by hand."""

from __future__ import annotations

import math

import pytest

from gradviz.picture.geometry import Point, Rect, Spline

BOX, TAIL = Rect(100, 0, 200, 100), Rect(-40, -200, 140, -100)


def reached(middle: Point, beside: Point, way: Point) -> list[Point]:
    """Return where both lines of a pair end, of which the middle comes a ``way`` to a point."""
    begin = (middle[0] - way[0], middle[1] - way[1])
    found = []
    for side in (1, -1):
        start, end = ((x + side * beside[0], y + side * beside[1]) for x, y in (begin, middle))
        third = ((start[0] + 2 * end[0]) / 3, (start[1] + 2 * end[1]) / 3)
        spline = Spline([start, start, third, end], None, None)
        found.append(spline.reaching(TAIL, BOX, (begin, middle)).points[-1])
    return found


@pytest.mark.parametrize("x", [90, 99.5, 99.99999999999999, 100, 100.4])
def test_lines_beside_each_other_along_a_border_stay_so_however_near_it_is(x: float) -> None:
    one, other = reached((x, 50), (0, 3), (60, 0))
    assert one == pytest.approx((100, 53), abs=1)
    assert other == pytest.approx((100, 47), abs=1)


@pytest.mark.parametrize("x", [90, 99.5, 100])
def test_lines_that_came_to_the_top_are_laid_along_the_border(x: float) -> None:
    one, other = reached((x, 50), (3, 0), (30, 160))
    assert one[0] == pytest.approx(100, abs=1)
    assert other[0] == pytest.approx(100, abs=1)
    assert math.dist(one, other) == pytest.approx(6, abs=0.5)
