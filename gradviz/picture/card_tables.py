"""The rows of a card as the table of its label, and how large that is."""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby
from math import ceil
from typing import NamedTuple

from gradviz.picture import theme
from gradviz.picture.arrangements import Lines
from gradviz.picture.line_breaks import joined, wrap
from gradviz.picture.markup import fixed, grid, measured, written
from gradviz.picture.scene import Card, Chart, Row
from gradviz.picture.theme import RowLook
from gradviz.words.plain import shorten

VALUE_CHARS = 30  # of one list of numbers; the text has it whole
CHIPS = ("state", "grad_fn", "untracked")  # what may stand beside a value
PAIR_HEIGHT, PAIR_GAP = 16, 5  # points, of a value with a chip
WIDTH_STEP, HEIGHT_STEP = 15, 24  # points, of boxes that several pictures share
OF_VALUES = ("spread", "not_finite")
CHART_WIDTH, CHART_HEIGHT, CHART_GAP = 72, 16, 4  # points, of the bars and beside them
LINE = 8  # points; less free room than this in a card is not seen


def label_of(card: Card, how: Lines) -> str:
    """Write the table of a card, as large as its rows at any step need."""
    if not card.room:
        return table(card.kind, card.rows, how)
    width, height = room(card, how)
    return table(card.kind, card.rows, how, width - 10, height)


def room(card: Card, how: Lines) -> tuple[float, int]:
    """Return the size of a box with room for all rows of a card, in points: in steps, so that a
    little more to say moves nothing."""
    width = card_width(card, how)
    # Graphviz rounds each line up
    height = int(max(table_height(rows, how) for rows in card.room)) + 4
    if not card.in_steps:
        return width, height
    return ceil(width / WIDTH_STEP) * WIDTH_STEP, ceil(height / HEIGHT_STEP) * HEIGHT_STEP


@lru_cache(maxsize=4096)
def table(kind: str, rows: tuple[Row, ...], how: Lines, width: float = 0, height: int = 0) -> str:
    """Write rows as a table. Rows of one kind that follow each other share one coloured strip; free
    room stays below them."""
    look = theme.CARDS[kind]
    style = "rounded,dashed" if look.dashed else "rounded"
    size = f' height="{height}"' if height else ""
    below = int(height - table_height(rows, how) - 5)
    body, is_below = "", False
    for strip in _strips(rows, how):
        body += _strip(strip, width, look.fill, is_below)
        is_below = is_below or bool(strip.value or strip.chart or strip.look.fill)
    body += f'<tr><td height="{below}"></td></tr>' if below > LINE else ""
    return (
        f'<<table border="{look.thick:g}" cellborder="0" cellspacing="2" cellpadding="2"{size}'
        f' style="{style}" color="{look.line}" bgcolor="{look.fill}">{body}</table>>'
    )


class Strip(NamedTuple):
    """Lines of one kind, which stand on one colour; before them a value where both have room in
    one line."""

    kind: str
    lines: list[str]
    value: str = ""
    chart: Chart | None = None

    @property
    def look(self) -> RowLook:
        """How its lines look."""
        return theme.ROWS[self.kind]

    @property
    def width(self) -> float:
        """Its width, in points."""
        widest = max((measured(line, self.look) + 8 for line in self.lines), default=0)
        if self.chart:
            return sum(_chart_widths(self.chart)) + 4
        if not self.value:
            return widest
        return widest + PAIR_GAP + measured(self.value, theme.ROWS["values"]) + 4

    @property
    def height(self) -> float:
        """Its height as Graphviz adds it up: 1.2 font sizes a line, 2 points around each cell and
        between cells."""
        if self.value:
            return PAIR_HEIGHT + 6
        if self.chart:
            return CHART_HEIGHT + 6
        n = len(self.lines)
        return n * 1.2 * self.look.size + (6 if self.look.fill else 4 * n + 2)


def _strips(rows: tuple[Row, ...], how: Lines) -> list[Strip]:
    """Divide rows into strips. What follows a value is a chip beside it where there is room."""
    strips: list[Strip] = []
    shown = [row for row in rows if row.drawn]
    for kind, group in groupby(shown, key=lambda row: row.kind):
        same = list(group)
        strips += [Strip(kind, [], chart=row.chart) for row in same if row.chart]
        lines = [line for row in same for line in lines_of_row(row, how)]
        value = _value_above(strips) if kind in CHIPS else None
        if value is not None and len(strips[value].lines) == 1:
            pair = Strip(kind, lines[:1], strips[value].lines[0])
            if pair.width <= how.pair:
                strips[value] = pair
                lines = lines[1:]
        if lines:
            strips.append(Strip(kind, lines))
    return strips


def _value_above(strips: list[Strip]) -> int | None:
    """Return the place of a value below which nothing stands but how its numbers are spread."""
    for place in reversed(range(len(strips))):
        if strips[place].kind == "values":
            return place
        if strips[place].kind not in OF_VALUES:
            break
    return None


def lines_of_row(row: Row, how: Lines) -> list[str]:
    """Wrap one row."""
    look = theme.ROWS[row.kind]
    text = row.drawn if look.mono else shorten(row.drawn, VALUE_CHARS)
    chars = how.code if look.mono else how.words
    width = min(look.chars, chars)
    most = look.lines + (chars < look.chars)
    return [line for part in joined(text, how.strip) for line in wrap(part, width, most)]


def _pair(strip: Strip, fill: str) -> str:
    """Write a value and the chip beside it; each stands in the middle of a coloured cell."""
    chip, value = strip.lines[0], theme.ROWS["values"]
    chip_width = measured(chip, strip.look) + 8
    value_width = measured(strip.value, value) + 4
    colour = strip.look.fill or theme.CHIP
    width = ceil(chip_width) + ceil(value_width) + PAIR_GAP
    size = fixed(width, PAIR_HEIGHT)
    cells = (
        f'<td width="{ceil(value_width)}" bgcolor="{fill}">{written(strip.value, value)}</td>'
        f'<td width="{PAIR_GAP}"></td>'
        f'<td width="{ceil(chip_width)}" bgcolor="{colour}" style="rounded">'
        f"{written(chip, strip.look)}</td>"
    )
    return f"<tr><td>{grid(f'<tr>{cells}</tr>', 0, size)}</td></tr>"


def _chart_widths(chart: Chart) -> tuple[int, int, int]:
    """Return how wide the parts of a histogram are: the least number, the bars, the largest."""
    low, high = (ceil(measured(text, theme.ENDS)) + CHART_GAP for text in (chart.low, chart.high))
    return low, CHART_WIDTH + CHART_GAP, high


def _chart(chart: Chart, fill: str) -> str:
    """Write a histogram between the least and the largest number. What is of some has a bar."""
    most, (low, middle, high) = max(chart.bins), _chart_widths(chart)
    wide = CHART_WIDTH // len(chart.bins) - 1
    bars = ""
    for n in chart.bins:
        full = ceil(n * CHART_HEIGHT / most)
        parts = ((CHART_HEIGHT - full, theme.BAR_BED), (full, theme.BAR))
        cells = "".join(
            f'<tr><td{fixed(wide, size)} bgcolor="{colour}"></td></tr>'
            for size, colour in parts
            if size
        )
        bars += f'<td width="{wide + 1}">{grid(cells, 0)}</td>'
    ends = (
        f'<td width="{width}" bgcolor="{fill}">{written(text, theme.ENDS)}</td>'
        for text, width in ((chart.low, low), (chart.high, high))
    )
    between = f'<td width="{middle}">{grid(f"<tr>{bars}</tr>", 0)}</td>'
    row = f"<tr>{between.join(ends)}</tr>"
    return f"<tr><td>{grid(row, 0, fixed(low + middle + high, CHART_HEIGHT))}</td></tr>"


def _strip(strip: Strip, width: float, fill: str, is_below: bool) -> str:
    """Write lines of one kind, on their colour where they have one.

    Args:
        strip: the lines.
        width: that it has at least, in points.
        fill: the card's own colour.
        is_below: whether a coloured strip stands above; ``render`` centres a text in the last one.
    """
    if strip.value:
        return _pair(strip, fill)
    if strip.chart:
        return _chart(strip.chart, fill)
    look, lines = strip.look, strip.lines
    width = max(width, strip.width)
    if not look.fill:
        ground = f' bgcolor="{fill}"' if is_below else ""
        return "".join(
            f'<tr><td width="{width:.0f}"{ground}>{written(line, look)}</td></tr>' for line in lines
        )
    fill = f'bgcolor="{look.fill}" style="rounded"'
    return (
        f'<tr><td width="{width:.0f}" {fill}>'
        + "<br/>".join(written(line, look) for line in lines)
        + "</td></tr>"
    )


@lru_cache(maxsize=4096)
def table_width(rows: tuple[Row, ...], how: Lines) -> float:
    """Measure rows, in points: as wide as the widest line."""
    return max((strip.width for strip in _strips(rows, how)), default=8) + 10


def card_width(card: Card, how: Lines) -> float:
    """Measure a card, in points, as wide as its rows at any step need."""
    return max(table_width(rows, how) for rows in card.room or (card.rows,))


@lru_cache(maxsize=4096)
def table_height(rows: tuple[Row, ...], how: Lines) -> float:
    """Measure rows, in points."""
    return 4 + sum(strip.height for strip in _strips(rows, how))
