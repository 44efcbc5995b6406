"""How the rows, rails and frames of an outline look. Colours, lines and sizes in points."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from gradviz.picture import theme
from gradviz.picture.outline.scene import Rail, Tone

RAIL: Final = 9  # width of a rail
GAP: Final = 5  # between a rail and its row
STRIP: Final = 5  # height of the edge of a card that several gradients join at
ENDS_HEIGHT: Final = 4
RIVER: Final = "#d4500c"
LOST_LINE: Final = "#b3261e"
STOP: Final = "#5a0010"
GREY: Final = "#7f7f7f"
PAPER: Final = "#f6f6f6"


class ToneLook(NamedTuple):
    """Text and fill of a row."""

    colour: str
    fill: str | None


TONES: Final[dict[Tone, ToneLook]] = {
    Tone.TITLE: ToneLook("#1f2328", None),
    Tone.GETS: ToneLook("#8a2f00", "#fbe3d6"),
    Tone.CAN: ToneLook("#8a2f00", "#fff4ec"),
    Tone.LOST: ToneLook("#7a0012", "#f6c6c0"),
    Tone.OFF: ToneLook("#333333", "#e4e4e4"),
    Tone.FROZEN: ToneLook("#2f3f5c", "#dde5ef"),
    Tone.GRAD_FN: ToneLook("#5c4a00", "#fdf3c4"),
    Tone.SAID: ToneLook("#8a2f00", "#fff4ec"),
    Tone.CUT: ToneLook("#333333", "#d8d8d8"),
    Tone.PLAIN: ToneLook("#333333", None),
    Tone.NOTHING: ToneLook("#444444", "#e6e6e6"),
    Tone.ALARM: ToneLook("#7a0012", "#f6c6c0"),
    Tone.HERE: ToneLook("#4a1486", "#e6dbf7"),
}


class SpanLook(NamedTuple):
    """Font of a piece of text. ``colour`` None: that of its row."""

    size: int
    bold: bool = False
    mono: bool = False
    colour: str | None = None


SPANS: Final[dict[str, SpanLook]] = {
    "name": SpanLook(11, bold=True, mono=True, colour="#1f2328"),
    "strong": SpanLook(11, bold=True, colour="#7a0012"),
    "cut": SpanLook(11, bold=True, colour="#333333"),
    "plain": SpanLook(theme.STATE_SIZE),
    "grey": SpanLook(theme.STATE_SIZE, colour="#444444"),
}
TITLE_NAME: Final = SpanLook(theme.CODE_SIZE, bold=True, mono=True, colour="#1f2328")
RIGHT: Final = SpanLook(theme.STATE_SIZE, colour="#333333")
RIGHT_OF_TITLE: Final = "#444444"
HEAD: Final = SpanLook(14, bold=True, colour="#1f2328")
HEAD_LINE: Final = SpanLook(11, colour="#1f2328")
SCISSORS: Final = SpanLook(12, bold=True, colour="#7a0012")

_HOLLOW: Final[dict[str, Any]] = {"border": 1, "bgcolor": "#ffffff"}
# The cell of a rail. What passes through is three cells: see ``dot.py``.
RAILS: Final[dict[Rail, dict[str, Any]]] = {
    Rail.NO: {},
    Rail.COMES: {"bgcolor": RIVER},
    Rail.NONE: {**_HOLLOW, "style": "dashed", "color": LOST_LINE},
    Rail.CAN: {**_HOLLOW, "color": RIVER},
    Rail.PASSES: {},
}
BED: Final[dict[str, Any]] = {"border": 1, "style": "dotted", "color": GREY, "bgcolor": "#eef2f7"}
# The part of the strip of all parameters that stands for those of one rail.
STRIPS: Final[dict[Rail, dict[str, Any]]] = {
    Rail.NO: {"border": 1, "style": "dotted", "color": GREY, "bgcolor": "#d8d8d8"},
    Rail.COMES: {"border": 1, "color": RIVER, "bgcolor": RIVER},
    Rail.NONE: {**_HOLLOW, "style": "dashed", "color": LOST_LINE},
    Rail.CAN: {**_HOLLOW, "color": RIVER},
    Rail.PASSES: {"border": 1, "style": "dotted", "color": GREY, "bgcolor": "#c9d3df"},
}

TRACKED: Final[dict[str, Any]] = {"style": "rounded", "color": GREY, "bgcolor": "#ffffff"}
HERE: Final[dict[str, Any]] = {"border": 3, "color": "#7b3fc4"}  # of the card that is pointed at
UNTRACKED: Final[dict[str, Any]] = {"style": "rounded,dashed", "color": GREY, "bgcolor": "#f3f3f3"}
BAR: Final = "#d4500c"
BAR_BED: Final = "#f7ebe4"

# Attributes of Graphviz's edges.
ARROWS: Final[dict[str, dict[str, Any]]] = {
    "forward": {"color": theme.FORWARD.colour, "penwidth": theme.FORWARD.width},
    "gradient": {
        "dir": "back",
        "arrowtail": "vee",
        "arrowsize": 0.9,
        "color": RIVER,
        "penwidth": 2.4,
    },
    "can": {"dir": "back", "arrowtail": "vee", "color": RIVER, "penwidth": 1.3},
    "cut": {
        "dir": "both",
        "arrowtail": "tee",
        "arrowhead": "normal",
        "style": "dashed",
        "penwidth": 1.8,
        "arrowsize": 1.1,
        "color": theme.CUT.colour,
    },
}
# of an arrow along which nothing but zeros goes
ZEROS: Final[dict[str, Any]] = {"penwidth": theme.ZEROS.width}
CHIP_GRADIENT: Final = theme.CHIPS["gradient"]
CHIP_CUT: Final = theme.ChipLook("#333333", "#e4e4e4")
CHIP_LOSES: Final = theme.ALARM_CHIP
CHIP_HERE: Final = theme.ChipLook("#4a1486", "#e6dbf7")
CHIP_OPENED: Final = theme.ChipLook("#333333", "#ececec")
# Attributes of Graphviz's clusters.
FRAMES: Final[dict[str, dict[str, Any]]] = {
    "opened": {
        "style": "rounded",
        "color": "#555555",
        "fillcolor": "transparent",
        "penwidth": 1.6,
    },
    "outside": {
        "style": "rounded",
        "color": "#9a9a9a",
        "fillcolor": "transparent",
        "penwidth": 1.2,
    },
    "no_grad": {
        "style": "rounded,filled",
        "color": GREY,
        "fillcolor": "#7f7f7f30",
        "penwidth": 1,
    },
}
