"""How the rows, rails and frames of an outline look. Colours, lines and sizes in points."""

from __future__ import annotations

from typing import Final, NamedTuple

from gradviz.picture import theme
from gradviz.picture.outline.scene import Rail, Tone

RAIL: Final = 9  # width of a rail
GAP: Final = 5  # between a rail and its row
STRIP: Final = 5  # height of the edge of a card that several gradients join at
ENDS_HEIGHT: Final = 4
RIVER: Final = "#d4500c"
LOST_LINE: Final = "#b3261e"
STOP: Final = "#5a0010"


class ToneLook(NamedTuple):
    """Text and fill of a row."""

    colour: str
    fill: str | None


TONES: Final[dict[Tone, ToneLook]] = {
    Tone.TITLE: ToneLook("#1f2328", None),
    Tone.GETS: ToneLook("#8a2f00", "#fbe3d6"),
    Tone.LOST: ToneLook("#7a0012", "#f6c6c0"),
    Tone.OFF: ToneLook("#333333", "#e4e4e4"),
    Tone.FROZEN: ToneLook("#2f3f5c", "#dde5ef"),
    Tone.GRAD_FN: ToneLook("#5c4a00", "#fdf3c4"),
    Tone.SAID: ToneLook("#8a2f00", "#fff4ec"),
    Tone.CUT: ToneLook("#333333", "#d8d8d8"),
    Tone.NOTHING: ToneLook("#444444", "#e6e6e6"),
    Tone.ALARM: ToneLook("#7a0012", "#f6c6c0"),
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
RIGHT: Final = SpanLook(theme.STATE_SIZE)
RIGHT_OF_TITLE: Final = "#444444"
HEAD: Final = SpanLook(14, bold=True, colour="#1f2328")
HEAD_LINE: Final = SpanLook(11, colour="#1f2328")

# Cells of a rail: what stands there, from the left.
RAILS: Final[dict[Rail, str]] = {
    Rail.NO: "",
    Rail.COMES: f'bgcolor="{RIVER}"',
    Rail.NONE: f'border="1" style="dashed" color="{LOST_LINE}" bgcolor="#ffffff"',
    Rail.CAN: f'border="1" color="{RIVER}" bgcolor="#ffffff"',
    Rail.PASSES: "",  # three cells, see ``dot.py``
}
BED: Final = 'border="1" sides="{side}" style="dotted" color="#7f7f7f" bgcolor="#eef2f7"'
STRIPS: Final[dict[Rail, str]] = {
    Rail.NO: 'bgcolor="#d8d8d8" border="1" color="#7f7f7f" style="dotted"',
    Rail.COMES: f'bgcolor="{RIVER}" border="1" color="{RIVER}"',
    Rail.NONE: f'bgcolor="#ffffff" border="1" color="{LOST_LINE}" style="dashed"',
    Rail.CAN: f'bgcolor="#ffffff" border="1" color="{RIVER}"',
    Rail.PASSES: 'bgcolor="#c9d3df" border="1" color="#7f7f7f" style="dotted"',
}

CARD_TRACKED: Final = 'style="rounded" color="#7f7f7f" bgcolor="#ffffff"'
CARD_UNTRACKED: Final = 'style="rounded,dashed" color="#7f7f7f" bgcolor="#f3f3f3"'
BAR: Final = "#d4500c"
BAR_BED: Final = "#f7ebe4"

ARROWS: Final[dict[str, str]] = {
    "forward": f'color="{theme.FORWARD.colour}" penwidth={theme.FORWARD.width:g}',
    "gradient": f'dir=back arrowtail=vee arrowsize=0.9 color="{RIVER}" penwidth=2.4',
    "can": f'dir=back arrowtail=vee color="{RIVER}" penwidth=1.3',
    "cut": (
        "dir=both arrowtail=tee arrowhead=normal style=dashed penwidth=1.8 arrowsize=1.1"
        f' color="{theme.CUT.colour}"'
    ),
}
CHIP_GRADIENT: Final = theme.ChipLook("#a83c00", "#fff4ec")
CHIP_CUT: Final = theme.ChipLook("#333333", "#e4e4e4")
CHIP_LOSES: Final = theme.ChipLook("#7a0012", "#f6c6c0")
FRAMES: Final[dict[str, str]] = {
    "opened": 'style="rounded"; color="#555555"; fillcolor="transparent"; penwidth=1.6',
    "no_grad": 'style="rounded,filled"; color="#7f7f7f"; fillcolor="#7f7f7f30"; penwidth=1',
}
