"""How the cards of a picture may be arranged, from the best-looking way to the narrowest."""

from __future__ import annotations

from typing import NamedTuple

UNSET = 99  # letters: so many no line has
PAIR_WIDTH = 145  # points, of a value with a chip
STRIP_CHARS = 27  # of a line that may break


class Lines(NamedTuple):
    """How the lines of a card break. ``code``: letters of a line of code at most. ``words``: of any
    other line. ``strip``: of a line that is made of several. ``pair``: points in which a value and
    its chip stand beside each other.
    """

    code: int = UNSET
    words: int = UNSET
    strip: int = STRIP_CHARS
    pair: int = PAIR_WIDTH


class Arrangement(NamedTuple):
    """``row``: points that the cards of one row may take (the rest is for arrows that pass).
    ``columns``: what stands in one frame stands in one column. ``lines``: how the lines of a card
    break, and where those of code do, chips of long arrows get no room of their own.
    ``across``: values go from left to right instead of down, and no row is planned. ``single``: all
    cards stand in one column. ``tight``: arrows that pass a card stand close to each other, and
    cards that follow each other from left to right, too.
    """

    row: float
    columns: bool = False
    lines: Lines = Lines()
    across: bool = False
    single: bool = False
    tight: bool = False


def _lines_of(chars: int) -> Lines:
    """Return how lines break that all have so many letters at most."""
    return Lines(chars, chars)


ARRANGEMENTS = (
    Arrangement(600),
    Arrangement(520),
    *(
        Arrangement(row, True, _lines_of(chars))
        for chars in (UNSET, 28, 22)
        for row in (600, 530, 465, 400, 340, 280)
    ),
)  # from the best-looking to the narrowest
ACROSS = (
    Arrangement(0, lines=Lines(code=21, strip=21), across=True),
    Arrangement(0, lines=_lines_of(16), across=True),
    Arrangement(0, lines=Lines(14, 14, pair=0), across=True, tight=True),
)  # from the best-looking to the narrowest
# of a picture for a narrow place, when none of the others is narrow enough
ONE_COLUMN = (
    Arrangement(220, True, _lines_of(20)),
    *(Arrangement(0, lines=_lines_of(chars), single=True) for chars in (22, 20, 18, 16)),
    *(Arrangement(0, lines=_lines_of(chars), single=True, tight=True) for chars in (18, 16)),
)
