"""The chips of a picture: the words at an arrow, and in the corner of a frame."""

from __future__ import annotations

import re
from functools import lru_cache

from gradviz.picture import theme
from gradviz.picture.card_tables import VALUE_CHARS
from gradviz.picture.line_breaks import steps, wrap
from gradviz.picture.markup import grid, written
from gradviz.picture.scene import Arrow, Box
from gradviz.picture.theme import RowLook, text_width
from gradviz.words.plain import shorten
from gradviz.words.speech import say

# where the words on a chip go on in the next line: beside an arrow, and in the corner of a frame
PAUSES, FRAME_PAUSES = " · ", " · |, |: "


def label_of_arrow(arrow: Arrow) -> str:
    """Join what stands on the chip of an arrow: of a cut its reason, for the line says the rest."""
    label = arrow.short if arrow.short and arrow.label != "✂" else arrow.label
    return " · ".join(part for part in (arrow.mark, label) if part)


def chip_lines(text: str, one_line: bool = False, pauses: str = PAUSES) -> list[str]:
    """Put a reason and what follows from it under each other, unless the chip lies along a level
    arrow."""
    if one_line:
        return wrap(text, 60, 1)
    parts = re.split(pauses, shorten(text, VALUE_CHARS))
    return [line for part in parts for line in steps(part)]


def chip(text: str, look: theme.ChipLook, one_line: bool = False, pauses: str = PAUSES) -> str:
    """Write a chip."""
    row = RowLook(theme.STATE_SIZE, look.colour, bold=True)
    width = chip_width(text, one_line, pauses) - 4  # the cell adds 2 points on each side
    text = "<br/>".join(written(line, row) for line in chip_lines(text, one_line, pauses))
    cell = f'<td style="rounded" bgcolor="{look.fill}" width="{width:.0f}">{text}</td>'
    return f"<{grid(f'<tr>{cell}</tr>', 2)}>"


@lru_cache(maxsize=4096)
def chip_width(text: str, one_line: bool = False, pauses: str = PAUSES) -> float:
    """Measure a chip, in points."""
    lines = chip_lines(text, one_line, pauses)
    return max(text_width(line, size=theme.STATE_SIZE, bold=True) for line in lines) + 10


def frame_chip(box: Box, flat: bool) -> str:
    """Write the words of a frame."""
    label = say("card.memory") if box.kind == "memory" else box.label
    return chip(label, theme.BOXES[box.kind].chip, one_line=flat, pauses=FRAME_PAUSES)
