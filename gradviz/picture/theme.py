"""All looks live here: what kind of thing has which shape, fill, line and words. Knows no torch and
no layout.

Every meaning is carried by shape, line and words; colour only repeats it (greyscale print, colour
blindness). Lines are mid-grey or saturated and fills are light with dark text, so a picture reads
on white and on black.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final, NamedTuple

SANS: Final = "Helvetica,Arial,DejaVu Sans,sans-serif"
MONO: Final = "Menlo,Consolas,DejaVu Sans Mono,monospace"
CODE_SIZE: Final = 12  # points; 1 point is 4/3 CSS pixels, so 10 points are 13.3 pixels
VALUE_SIZE: Final = 11
STATE_SIZE: Final = 10
NARROW_LEGEND_WIDTH: Final = 265  # points: as wide as a picture on a phone
LEGEND_WIDTH: Final = 425  # points: as wide as a picture is shown beside its code in a small window


class RowLook(NamedTuple):
    """How one line of a card looks. ``fill`` None is the card's own; ``chars`` per line, then it
    wraps."""

    size: int
    colour: str
    fill: str | None = None
    bold: bool = False
    mono: bool = False
    chars: int = 41
    lines: int = 2


ROWS: Final[dict[str, RowLook]] = {
    "code": RowLook(CODE_SIZE, "#1f2328", bold=True, mono=True, chars=30, lines=3),
    "values": RowLook(VALUE_SIZE, "#1f2328", chars=34),
    "spread": RowLook(STATE_SIZE, "#333333"),
    "not_finite": RowLook(STATE_SIZE, "#7a0012", "#f6c6c0", bold=True),
    "state": RowLook(STATE_SIZE, "#1f2328"),
    "grad_fn": RowLook(STATE_SIZE, "#5c4a00", "#fdf3c4", lines=4),
    "start": RowLook(STATE_SIZE, "#a83c00", bold=True),
    "accumulate": RowLook(STATE_SIZE, "#8a2f00", "#fbe3d6", lines=3),
    "stale": RowLook(STATE_SIZE, "#7a0012", "#f6c6c0", bold=True, lines=8),
    "untracked": RowLook(STATE_SIZE, "#444444", "#e6e6e6"),
    "cut": RowLook(STATE_SIZE, "#444444", "#d8d8d8", bold=True, chars=30, lines=3),
}


ENDS: Final = RowLook(STATE_SIZE, "#444444")  # of the numbers at the sides of a histogram
BAR: Final = "#2b7bba"  # of a histogram of values
BAR_BED: Final = "#cfe3f3"
CHIP: Final = "#cfe3f3"  # the ground of a word beside a value that has no colour of its own


class CardLook(NamedTuple):
    """How a card looks: its fill, and a line that is solid or dashed."""

    fill: str
    dashed: bool = False
    line: str = "#7f7f7f"
    thick: float = 1


CARDS: Final[dict[str, CardLook]] = {
    "leaf": CardLook("#e3f1fb"),
    "result": CardLook("#ffffff"),
    "untracked": CardLook("#f3f3f3", dashed=True),
    "node": CardLook("#fdf3c4"),
    "accumulate": CardLook("#fbe3d6"),
    "tag": CardLook("#e3f1fb"),
    "fold": CardLook("#ffffff", thick=2.4),
    "raised": CardLook("#ffffff", dashed=True, line="#b3261e", thick=2),
}


class Stroke(NamedTuple):
    """One drawn line."""

    colour: str
    width: float
    dashed: bool = False


FORWARD: Final = Stroke("#2b7bba", 1.3)
CUT: Final = Stroke("#2b7bba", 1.6, dashed=True)
GRADIENT: Final = Stroke("#d4500c", 2.2)
ZEROS: Final = Stroke("#d4500c", 1)  # a gradient that is all zeros: it came, and moves nothing
RAISE: Final = Stroke("#b3261e", 2.2, dashed=True)
# what is drawn beside the line of a value, and leads back
RETURNED: Final[dict[str, Stroke]] = {"gradient": GRADIENT, "zeros": ZEROS, "raise": RAISE}
EDGE: Final = Stroke("#d4500c", 1.3)  # a gradient edge through which nothing has gone yet
OF: Final = Stroke("#7f7f7f", 1, dashed=True)


class ChipLook(NamedTuple):
    """The light label that stands beside an arrow."""

    colour: str
    fill: str


ALARM_CHIP: Final = ChipLook("#7a0012", "#f6c6c0")
CHIPS: Final[dict[str, ChipLook]] = {
    "gradient": ChipLook("#a83c00", "#fff4ec"),
    "zeros": ALARM_CHIP,
    "raise": ALARM_CHIP,
    "cut": ChipLook("#444444", "#ececec"),
    "forward": ChipLook("#1d5c8f", "#eaf3fa"),
    "edge": ChipLook("#a83c00", "#fff4ec"),
    "of": ChipLook("#444444", "#ececec"),
}


class BoxLook(NamedTuple):
    """A frame around several cards, with its words on a chip."""

    line: str
    style: str
    fill: str
    chip: ChipLook
    thick: float = 1.6


BOXES: Final[dict[str, BoxLook]] = {
    "memory": BoxLook("#8a5fc7", "rounded,dashed", "transparent", ChipLook("#5b3a94", "#f3edfb")),
    "region": BoxLook(
        "#7f7f7f", "rounded,filled", "#7f7f7f30", ChipLook("#333333", "#e4e4e4"), thick=1
    ),
}

# The same picture on a dark page: every colour that a picture has, and its dark twin.
DARK_PAGE: Final = "#111418"
DARK: Final[dict[str, str]] = {
    # words
    "#1f2328": "#e9ecef",
    "#333333": "#d5dae0",
    "#444444": "#c3cad2",
    "#555555": "#b5bdc6",
    "#5c4a00": "#f2dc85",
    "#8a2f00": "#ffb48a",
    "#a83c00": "#ffb48a",
    "#7a0012": "#ff9d94",
    "#5a0010": "#ff9d94",
    "#1d5c8f": "#9fd0f7",
    "#5b3a94": "#c9b0f7",
    "#4a1486": "#d8c2fb",
    "#2f3f5c": "#b9cbe8",
    # lines
    "#2b7bba": "#66b3ee",
    "#d4500c": "#ff8b4a",
    "#b3261e": "#ff7b70",
    "#7f7f7f": "#98a1ab",
    "#9a9a9a": "#7d868f",
    "#8a5fc7": "#b896f2",
    "#7b3fc4": "#b896f3",
    # grounds
    "#ffffff": "#22272e",
    "#e3f1fb": "#142f49",
    "#cfe3f3": "#1f4364",
    "#f3f3f3": "#181c20",
    "#fdf3c4": "#3a3310",
    "#fbe3d6": "#43210d",
    "#fff4ec": "#38200f",
    "#f7ebe4": "#2f2018",
    "#f6c6c0": "#4d1712",
    "#e6e6e6": "#2b3138",
    "#ececec": "#2a3037",
    "#e4e4e4": "#2e343b",
    "#d8d8d8": "#353c44",
    "#f6f6f6": "#1d2126",
    "#eaf3fa": "#16314a",
    "#f3edfb": "#2c2143",
    "#e6dbf7": "#35264f",
    "#dde5ef": "#232f40",
    "#c9d3df": "#2b3a4e",
    "#eef2f7": "#1d252f",
}
_COLOUR = re.compile("|".join(DARK))


def darkened(picture: str) -> str:
    """Return an SVG, or the DOT of one, in the colours of a dark page.

    >>> darkened('fill="#ffffff"')
    'fill="#22272e"'
    """
    return _COLOUR.sub(lambda found: DARK[found[0]], picture)


def dark_rules(picture: str) -> str:
    """Return the CSS by which a picture in a page takes the colours of the page's colour scheme.

    Args:
        picture: the selector of what contains it.
    """
    rules = (
        f'{picture} [{name}="{light}"] {{ {name}: light-dark({light}, {dark}); }}'
        for light, dark in DARK.items()
        for name in ("fill", "stroke")
    )
    return "\n".join(rules)


def dark_picture(picture: str) -> str:
    """Return an SVG that takes the colours of the colour scheme of what shows it: a dark page's
    ``<img>``, or a dark desktop.

    >>> dark_picture('<svg><rect fill="#ffffff"/></svg>').count("#22272e")
    1
    """
    start = picture.index(">", picture.index("<svg")) + 1
    rules = "".join(
        f'[{name}="{light}"]{{{name}:{dark}}}'
        for light, dark in DARK.items()
        for name in ("fill", "stroke")
        if f'{name}="{light}"' in picture
    )
    style = f"<style>@media(prefers-color-scheme:dark){{{rules}}}</style>"
    return picture[:start] + style + picture[start:]


# what the legend explains, in its order, where a picture has it
LEGEND: Final = (
    *("forward", "gradient", "zeros", "edge", "raise", "cut", "untracked", "memory", "region"),
    *("tag", "tags", "fold"),
)
LEGEND_STROKES: Final[dict[str, str]] = {
    "forward": CHIPS["forward"].colour,
    "gradient": CHIPS["gradient"].colour,
    "zeros": CHIPS["zeros"].colour,
    "edge": CHIPS["edge"].colour,
    "raise": CHIPS["raise"].colour,
    "cut": CHIPS["forward"].colour,
    "memory": BOXES["memory"].chip.colour,
}
LEGEND_INK: Final = "#333333"  # of the words for every other sign


def sign_rules(legend: str) -> str:
    """Return the CSS of the words for the signs of a picture that stand beside it.

    Args:
        legend: the selector of what contains them.
    """
    colours = ((sign, LEGEND_STROKES.get(sign, LEGEND_INK)) for sign in LEGEND)
    return "\n".join(
        f"{legend} .gv-sign-{sign} {{ color: light-dark({colour}, {DARK[colour]}); }}"
        for sign, colour in colours
    )


# Widths in hundredths of an em of the printable ASCII characters in DejaVu Sans, the widest of the
# usual sans fonts: what has room for it has room for Helvetica, Arial, Liberation Sans and
# Verdana-like fallbacks, on every machine.
_REGULAR = (
    32,
    40,
    46,
    84,
    64,
    95,
    78,
    28,
    39,
    39,
    50,
    84,
    32,
    36,
    32,
    34,
    64,
    64,
    64,
    64,
    64,
    64,
    64,
    64,
    64,
    64,
    34,
    34,
    84,
    84,
    84,
    53,
    100,
    69,
    69,
    70,
    77,
    64,
    58,
    78,
    75,
    30,
    50,
    66,
    56,
    87,
    75,
    79,
    61,
    79,
    70,
    64,
    61,
    74,
    69,
    99,
    69,
    61,
    69,
    39,
    34,
    39,
    84,
    50,
    50,
    62,
    64,
    55,
    64,
    62,
    36,
    64,
    64,
    28,
    28,
    58,
    28,
    98,
    64,
    62,
    64,
    64,
    42,
    52,
    40,
    64,
    60,
    82,
    60,
    60,
    53,
    64,
    34,
    64,
    84,
)
_BOLD = (
    35,
    46,
    53,
    84,
    70,
    100,
    88,
    31,
    46,
    46,
    53,
    84,
    38,
    42,
    38,
    37,
    70,
    70,
    70,
    70,
    70,
    70,
    70,
    70,
    70,
    70,
    40,
    40,
    84,
    84,
    84,
    58,
    100,
    78,
    77,
    74,
    83,
    69,
    69,
    82,
    84,
    38,
    56,
    78,
    64,
    100,
    84,
    85,
    74,
    85,
    77,
    72,
    69,
    82,
    78,
    110,
    77,
    73,
    73,
    46,
    37,
    46,
    84,
    50,
    50,
    68,
    72,
    60,
    72,
    68,
    44,
    72,
    72,
    35,
    35,
    67,
    35,
    105,
    72,
    69,
    72,
    72,
    50,
    60,
    48,
    72,
    66,
    93,
    65,
    66,
    59,
    72,
    37,
    72,
    84,
)


@lru_cache(maxsize=10_000)
def text_width(text: str, *, size: float, bold: bool = False, mono: bool = False) -> float:
    """Measure the room in points that one line needs in the widest of the usual fonts.

    >>> text_width("abc", size=10, mono=True)
    18.1
    """
    if mono:
        return round(sum(_columns(c) for c in text) * 0.602 * size, 1)
    table = _BOLD if bold else _REGULAR
    ems = sum(table[ord(c) - 32] if " " <= c <= "~" else 84 * _columns(c) for c in text)
    return round(ems * size / 100, 1)


def _columns(char: str) -> int:
    """Count the columns that a character takes in a fixed-width font."""
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
