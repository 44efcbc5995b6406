"""Scene -> DOT text. The same scene gives the same bytes in every process.

Text of the user's only ever stands in HTML-like labels, through ``escape``; node ids are ``n<int>``
and only attributes of ``ALLOWED`` are written, so no text can become an attribute, a tag, a link or
a file name.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from math import ceil
from typing import Any, NamedTuple

from gradviz.picture import theme
from gradviz.picture.arrange import side_by_side
from gradviz.picture.levels import Plan, in_one_column, plan
from gradviz.picture.scene import Arrow, Box, Card, Chart, Row, Scene
from gradviz.picture.theme import RowLook, text_width
from gradviz.words.plain import shorten, visible
from gradviz.words.speech import say

ALLOWED = frozenset(
    "arrowhead arrowsize arrowtail bgcolor class color compound dir fillcolor fontname fontsize"
    " fontcolor id key label labeljust labelloc lhead margin minlen newrank nodesep pad penwidth"
    " rank ranksep rankdir shape style weight xlabel".split()
)
CHIP_CHARS = 20
VALUE_CHARS = 30  # of one list of numbers; the text has it whole
UNSET = 99
PLANNED = 200  # cards; what has more is never laid out
# weights of the longest way, of cards under each other, of a name at its node
MAIN, COLUMN, NEAR = 30, 8, 8
SINGLE = 20  # weight of cards that all stand under each other
NOTE = RowLook(theme.STATE_SIZE, theme.LEGEND_INK)
BREAKS = ")]}=·→+("
WHOLE = "AccumulateGrad"
BACKWARD = "Backward"  # how the names of nodes end
STOPPED = "✕"  # the sign of a backward that stopped, where there is no room for words
# where the words on a chip go on in the next line: beside an arrow, and in the corner of a frame
PAUSES, FRAME_PAUSES = " · ", " · |, |: "
CHIPS = ("state", "grad_fn", "untracked")  # what may stand beside a value
PAIR_WIDTH, PAIR_HEIGHT, PAIR_GAP = 145, 16, 5  # points, of a value with a chip
WIDTH_STEP, HEIGHT_STEP = 15, 24  # points, of boxes that several pictures share
SPARE = 60  # points; a layout with boxes that much wider than they have to be is kept
OF_VALUES = ("spread", "not_finite")
CHART_WIDTH, CHART_HEIGHT, CHART_GAP = 72, 16, 4  # points, of the bars and beside them
STRIP_CHARS = 27  # of a line that may break
LINE = 8  # points; less free room than this in a card is not seen


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


def escape(text: str) -> str:
    """Write user text as the content of an HTML-like label. Graphviz replaces ``\\N`` and ``\\G``
    even in those."""
    return html.escape(visible(text), quote=True).replace("\\", "\\\\")


def wrap(text: str, chars: int, lines: int) -> list[str]:
    """Break text into at most ``lines`` lines of at most ``chars``; what does not fit ends in an
    ellipsis.

    >>> wrap("loss = torch.nn.functional.mse_loss(model(x), y)", 30, 2)
    ['loss = torch.nn.functional', '.mse_loss(model(x), y)']
    >>> wrap("leaf.AccumulateGrad", 18, 2), wrap("CloneBackward0", 12, 2)
    (['leaf', '.AccumulateGrad'], ['Clone', 'Backward0'])
    """
    out: list[str] = []
    text = visible(text)
    while len(text) > chars and len(out) < lines - 1:
        cut = max(range(chars // 3, chars + 1), key=lambda i: _break_here(text, i))
        if _is_inside_a_word(text, cut):
            cut = max(range(1, chars + 1), key=lambda i: _break_here(text, i))
        out.append(text[:cut].rstrip())
        text = text[cut:].lstrip()
    return [*out, text if len(text) <= chars else text[: chars - 1] + "…"]


def _is_inside_a_word(text: str, i: int) -> bool:
    """Say whether ``i`` is a place inside of the one word that a reader has to find whole."""
    begin = text.rfind(WHOLE, 0, i + len(WHOLE) - 1)
    return 0 <= begin < i < begin + len(WHOLE)


def _break_here(text: str, i: int) -> int:
    """Rate ``i`` as a place for a line break: late in the line, after a space or comma, before a
    dot or the end of a node's name."""
    if len(text) - i < 4 or text[i - 2 : i] == "# " or _is_inside_a_word(text, i):
        return -1
    if text[i : i + 2] == "# ":
        return i + 60
    if text.startswith(BACKWARD, i):
        return i + 30
    if text[i - 1] in " ," or (text[i] == "." and not text[i + 1 : i + 2].isdigit()):
        return i + 40
    return i + (25 if text[i - 1] in BREAKS else 10 if text[i - 1] == "_" else 0)


def dot(scene: Scene, how: Arrangement = ARRANGEMENTS[0]) -> str:
    """Write the DOT source of a scene.

    Args:
        scene: cards, arrows and frames; folded already if it has to be.
        how: one of ``ARRANGEMENTS``.

    Returns:
        Text for Graphviz, ending in a newline.
    """
    beside = _beside(scene, how)
    rows = _plan(scene, beside, how)
    framed = {i for box in scene.boxes for i in box.members}
    lines = [
        "digraph {",
        f"  {_picture(scene, how)}",
        f"  node [{_attributes(shape='plain', fontname=theme.SANS, fontsize=theme.VALUE_SIZE)}];",
        f"  edge [{_attributes(fontname=theme.SANS, fontsize=theme.STATE_SIZE, arrowsize=0.8)}];",
        *_boxes(scene, _frames(scene), beside, how.lines),
        *(f"  {_card(c, how.lines)}" for c in scene.cards if c.id not in framed),
        *_arrows(scene, beside, rows, how),
        *_columns(rows, SINGLE if how.single else COLUMN),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _picture(scene: Scene, how: Arrangement) -> str:
    """Write the attributes of the whole picture."""
    return _attributes(
        rankdir="LR" if how.across else "TB",
        newrank="true",
        bgcolor="transparent",
        nodesep=0.3 if how.across else 0.15 if how.tight else 0.25,
        ranksep=0.46 if how.across and not how.tight else 0.34,
        pad=0.06,
        labelloc="b",
        fontname=theme.SANS,
        fontsize=theme.STATE_SIZE,
        label=_footer(scene, how in ONE_COLUMN),
        compound="true" if any(a.to_frame for a in scene.arrows) else "",
        end=";",
    )


def _arrows(
    scene: Scene, beside: list[tuple[int, int]], rows: Plan, how: Arrangement
) -> Iterator[str]:
    """Write every arrow."""
    region = {
        m: f"cluster_{k}"
        for k, box in enumerate(_frames(scene))
        if box.kind == "region"
        for m in box.members
    }
    cards = {c.id: c for c in scene.cards}
    for i, a in enumerate(scene.arrows):
        link = (a.tail, a.head)
        # an xlabel takes no room
        is_beside = how.across or (how.lines.code < UNSET and link in rows.long)
        words_at = "xlabel" if is_beside else "label"
        label = _shown_label(a, cards[a.head], how)
        look = _arrow(a.kind, label, words_at, link in beside, link in rows.main, rows.spans[i])
        look += f' lhead="{region[a.head]}"' if a.to_frame else ""
        yield f'  n{a.tail} -> n{a.head} [key="e{i}" id="e{i}" {look}];'


def _shown_label(arrow: Arrow, head: Card, how: Arrangement) -> str:
    """Return what stands at an arrow: between two cards side by side only the sign of a cut, where
    the second one tells its reason."""
    return "✂" if how.across and _tells(head, arrow.reason) else _label(arrow)


def _tells(card: Card, reason: str) -> bool:
    """Say whether the code of a card, or its badge, tells the reason of a cut."""
    seen = (row.drawn for row in card.rows if row.kind in ("code", "untracked"))
    return bool(reason) and any(reason in text for text in seen)


class OwnLook(NamedTuple):
    """A card or an arrow of one of several pictures that were laid out as one.

    Attributes:
        id: that it has in its own picture.
        kind: of card or arrow.
        label: DOT's label.
        less: points by which a card is narrower and lower than its place.
        to_frame: whether an arrow ends at a frame.
    """

    id: str
    kind: str
    label: str
    less: tuple[float, float] = (0, 0)
    to_frame: bool = False


def own_look(card: Card, place: Card, how: Arrangement) -> OwnLook:
    """Return a card in its own size, for a place with room for its rows in every picture."""
    width, height = _room(place, how.lines)
    less = (
        width - _table_width(card.rows, how.lines),
        height - _table_height(card.rows, how.lines),
    )
    label = _table(card.kind, card.rows, how.lines)
    return OwnLook(f"n{card.id}", card.kind, label, less)


def has_room_for(laid_out: Scene, scene: Scene, how: Arrangement) -> bool:
    """Tell whether the layout of one scene is good for another, too: the same cards, arrows and
    frames, each box and chip as large as it has to be, and no box much larger than that.

    >>> of = lambda text: Scene((Card(0, "leaf", (Row("code", text),)),))
    >>> wide, narrow = of("a = [1, 0.0625]"), of("a = [1, 0.5]")
    >>> has_room_for(wide, narrow, ACROSS[0]), has_room_for(narrow, wide, ACROSS[0])
    (True, False)
    """
    if _bare_of_words(laid_out) != _bare_of_words(scene):
        return False
    boxes = zip(_box_sizes(laid_out, how), _box_sizes(scene, how), strict=True)
    chips = zip(_chip_sizes(laid_out, how), _chip_sizes(scene, how), strict=True)
    return all(
        0 <= width - least_width <= SPARE and height == least_height
        for (width, height), (least_width, least_height) in boxes
    ) and all(
        width >= least_width and height >= least_height
        for (width, height), (least_width, least_height) in chips
    )


def _bare_of_words(scene: Scene) -> tuple[Any, ...]:
    """Return what a layout hangs on besides the sizes of boxes and chips."""
    arrows = [(a.tail, a.head, a.kind, a.to_frame) for a in scene.arrows]
    return [(c.id, c.kind) for c in scene.cards], arrows, scene.boxes, scene.is_bare


def _box_sizes(scene: Scene, how: Arrangement) -> list[tuple[float, float]]:
    """Return the size of the box of each card, in points."""
    return [
        _room(c, how.lines)
        if c.room
        else (_table_width(c.rows, how.lines), _table_height(c.rows, how.lines))
        for c in scene.cards
    ]


def _chip_sizes(scene: Scene, how: Arrangement) -> list[tuple[float, int]]:
    """Return how wide the chip of each arrow is, in points, and how high, in lines."""
    cards = {c.id: c for c in scene.cards}
    texts = [_shown_label(a, cards[a.head], how) for a in scene.arrows]
    return [(_chip_width(text), len(_chip_lines(text))) if text else (0, 0) for text in texts]


def arrow_look(number: int, arrow: Arrow, head: Card, how: Arrangement) -> OwnLook:
    """Return an arrow with its own chip.

    Args:
        number: of the arrow in its picture.
        arrow: itself.
        head: the card that it leads to.
        how: the arrangement of all pictures.
    """
    is_stopped = how.across and arrow.kind == "raise"  # cards of other states may be close by
    text = STOPPED if is_stopped else _shown_label(arrow, head, how)
    label = _chip(text, theme.CHIPS[arrow.kind]) if text else ""
    return OwnLook(f"e{number}", arrow.kind, label, to_frame=arrow.to_frame)


def frame_looks(scene: Scene, how: Arrangement) -> dict[str, str]:
    """Return the labels of those frames that are not absent, by their names in DOT."""
    beside = _beside(scene, how)
    return {
        f"cluster_{k}": _box_chip(box, box.members in beside)
        for k, box in enumerate(_frames(scene))
        if not box.absent
    }


def line_of(kind: str) -> dict[str, str]:
    """Return the attributes of one line of one kind of arrow: every one that differs by kind."""
    plain = {"dir": "forward", "arrowtail": "none", "arrowhead": "normal", "style": "solid"}
    return {**plain, **{name: f"{value}" for name, value in _line(kind).items()}}


def _columns(rows: Plan, weight: int) -> Iterator[str]:
    """Write the links without a line that keep cards under each other."""
    look = _attributes(style="invis", weight=weight)
    for upper, lower in rows.columns:
        yield f"  n{upper} -> n{lower} [{look}];"


class Piece(NamedTuple):
    """What one part of a picture shows at one step. ``of``: "n3", "e4", "cluster_1", or "" for the
    legend."""

    of: str
    kind: str
    label: str
    title: str = ""


def pieces(scene: Scene, how: Arrangement) -> list[Piece]:
    """List everything in the scene that is not absent, for ``render.pieces``.

    Args:
        scene: one of several with the same cards, arrows and frames, of which one was laid out.
        how: the arrangement of that layout.
    """
    beside = _beside(scene, how)
    chips = [
        _chip(_label(a), theme.CHIPS[a.kind], (a.tail, a.head) in beside) if _label(a) else ""
        for a in scene.arrows
    ]
    return [
        Piece("", "legend", _footer(scene, how in ONE_COLUMN)),
        *(
            Piece(f"cluster_{i}", box.kind, _box_chip(box, box.members in beside))
            for i, box in enumerate(_frames(scene))
            if not box.absent
        ),
        *(
            Piece(f"n{c.id}", c.kind, _label_of(c, how.lines), c.detail)
            for c in scene.cards
            if not c.absent
        ),
        *(Piece(f"e{i}", a.kind, chips[i]) for i, a in enumerate(scene.arrows) if not a.absent),
    ]


def _frames(scene: Scene) -> list[Box]:
    """Sort the frames so that the larger ones come first."""
    return sorted(scene.boxes, key=lambda b: (-len(b.members), b.kind))


def _beside(scene: Scene, how: Arrangement) -> list[tuple[int, int]]:
    """List the pairs of cards that share a frame and a row."""
    if how.columns or how.across or how.single:
        return []
    return [(b.members[0], b.members[1]) for b in scene.boxes if side_by_side(b, scene.arrows)]


def _attributes(*, end: str = "", **given: Any) -> str:
    """Write attributes of DOT, those of ``ALLOWED`` only."""
    unknown = given.keys() - ALLOWED
    if unknown:
        raise ValueError(f"not on the list of attributes that may be drawn: {sorted(unknown)}")
    return " ".join(f"{k}={_value(v)}{end}" for k, v in given.items() if v != "")


def _value(value: Any) -> str:
    """Quote the value of an attribute where DOT wants it."""
    text = str(value)
    if text.startswith("<<"):
        return text
    if isinstance(value, (int, float)):
        return f"{value:g}"
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# --- cards ----------------------------------------------------------------------------------------


def _card(card: Card, how: Lines) -> str:
    """Write a card as a node."""
    return f'n{card.id} [id="n{card.id}" label={_label_of(card, how)}];'


def _label_of(card: Card, how: Lines) -> str:
    """Write the table of a card, as large as its rows at any step need."""
    if not card.room:
        return _table(card.kind, card.rows, how)
    width, height = _room(card, how)
    return _table(card.kind, card.rows, how, width - 10, height)


def _room(card: Card, how: Lines) -> tuple[float, int]:
    """Return the size of a box with room for all rows of a card, in points: in steps, so that a
    little more to say moves nothing."""
    width = _card_width(card, how)
    # Graphviz rounds each line up
    height = int(max(_table_height(rows, how) for rows in card.room)) + 4
    if not card.in_steps:
        return width, height
    return ceil(width / WIDTH_STEP) * WIDTH_STEP, ceil(height / HEIGHT_STEP) * HEIGHT_STEP


@lru_cache(maxsize=4096)
def _table(kind: str, rows: tuple[Row, ...], how: Lines, width: float = 0, height: int = 0) -> str:
    """Write rows as a table. Rows of one kind that follow each other share one coloured strip; free
    room stays below them."""
    look = theme.CARDS[kind]
    style = "rounded,dashed" if look.dashed else "rounded"
    size = f' height="{height}"' if height else ""
    below = int(height - _table_height(rows, how) - 5)
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
        widest = max((_width(line, self.look) + 8 for line in self.lines), default=0)
        if self.chart:
            return sum(_chart_widths(self.chart)) + 4
        if not self.value:
            return widest
        return widest + PAIR_GAP + _width(self.value, theme.ROWS["values"]) + 4

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
        lines = [line for row in same for line in _lines(row, how)]
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


def _lines(row: Row, how: Lines) -> list[str]:
    """Wrap one row."""
    look = theme.ROWS[row.kind]
    text = row.drawn if look.mono else shorten(row.drawn, VALUE_CHARS)
    chars = how.code if look.mono else how.words
    width = min(look.chars, chars)
    most = look.lines + (chars < look.chars)
    return [line for part in _joined(text, how.strip) for line in wrap(part, width, most)]


def _joined(text: str, chars: int) -> list[str]:
    """Return lines, those that have room in one line joined.

    >>> _joined("5\\n→ AccumulateGrad\\n→ a.grad: None → 5", 21)
    ['5 → AccumulateGrad', '→ a.grad: None → 5']
    """
    lines: list[str] = []
    for part in text.split("\n"):
        if lines and len(lines[-1]) + len(part) < chars:
            lines[-1] += f" {part}"
        else:
            lines.append(part)
    return lines


def _pair(strip: Strip, fill: str) -> str:
    """Write a value and the chip beside it; each stands in the middle of a coloured cell."""
    chip, value = strip.lines[0], theme.ROWS["values"]
    chip_width = _width(chip, strip.look) + 8
    value_width = _width(strip.value, value) + 4
    colour = strip.look.fill or theme.CHIP
    width = ceil(chip_width) + ceil(value_width) + PAIR_GAP
    size = _fixed(width, PAIR_HEIGHT)
    cells = (
        f'<td width="{ceil(value_width)}" bgcolor="{fill}">{_text(strip.value, value)}</td>'
        f'<td width="{PAIR_GAP}"></td>'
        f'<td width="{ceil(chip_width)}" bgcolor="{colour}" style="rounded">'
        f"{_text(chip, strip.look)}</td>"
    )
    return f"<tr><td>{_grid(f'<tr>{cells}</tr>', 0, size)}</td></tr>"


def _fixed(width: int, height: int) -> str:
    """Write the attributes of a size."""
    return f' fixedsize="true" width="{width}" height="{height}"'


def _chart_widths(chart: Chart) -> tuple[int, int, int]:
    """Return how wide the parts of a histogram are: the least number, the bars, the largest."""
    low, high = (ceil(_width(text, theme.ENDS)) + CHART_GAP for text in (chart.low, chart.high))
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
            f'<tr><td{_fixed(wide, size)} bgcolor="{colour}"></td></tr>'
            for size, colour in parts
            if size
        )
        bars += f'<td width="{wide + 1}">{_grid(cells, 0)}</td>'
    ends = (
        f'<td width="{width}" bgcolor="{fill}">{_text(text, theme.ENDS)}</td>'
        for text, width in ((chart.low, low), (chart.high, high))
    )
    between = f'<td width="{middle}">{_grid(f"<tr>{bars}</tr>", 0)}</td>'
    row = f"<tr>{between.join(ends)}</tr>"
    return f"<tr><td>{_grid(row, 0, _fixed(low + middle + high, CHART_HEIGHT))}</td></tr>"


def _grid(rows: str, padding: int, look: str = "") -> str:
    """Write a table without borders."""
    return (
        f'<table border="0" cellborder="0" cellspacing="0" cellpadding="{padding}"{look}>'
        f"{rows}</table>"
    )


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
            f'<tr><td width="{width:.0f}"{ground}>{_text(line, look)}</td></tr>' for line in lines
        )
    fill = f'bgcolor="{look.fill}" style="rounded"'
    return (
        f'<tr><td width="{width:.0f}" {fill}>'
        + "<br/>".join(_text(line, look) for line in lines)
        + "</td></tr>"
    )


def _text(line: str, look: RowLook) -> str:
    """Write one line in its font."""
    text = escape(line) or " "
    face = f' face="{theme.MONO}"' if look.mono else ""
    text = f"<b>{text}</b>" if look.bold else text
    return f'<font{face} point-size="{look.size}" color="{look.colour}">{text}</font>'


def _width(line: str, look: RowLook) -> float:
    """Measure one line, in points."""
    return text_width(line, size=look.size, bold=look.bold, mono=look.mono)


@lru_cache(maxsize=4096)
def _table_width(rows: tuple[Row, ...], how: Lines) -> float:
    """Measure rows, in points: as wide as the widest line."""
    return max((strip.width for strip in _strips(rows, how)), default=8) + 10


def _card_width(card: Card, how: Lines) -> float:
    """Measure a card, in points, as wide as its rows at any step need."""
    return max(_table_width(rows, how) for rows in card.room or (card.rows,))


@lru_cache(maxsize=4096)
def _table_height(rows: tuple[Row, ...], how: Lines) -> float:
    """Measure rows, in points."""
    return 4 + sum(strip.height for strip in _strips(rows, how))


# --- frames ---------------------------------------------------------------------------------------


def _boxes(scene: Scene, order: list[Box], beside: list[tuple[int, int]], how: Lines) -> list[str]:
    """Write frames as nested clusters, in an order in which the larger ones come first."""
    cards = {c.id: c for c in scene.cards}
    inner: dict[int, list[int]] = {}  # boxes by the box around them
    around: dict[int, int] = {}  # the innermost box of a card
    for i, box in enumerate(order):
        inner.setdefault(around.get(box.members[0], -1), []).append(i)
        around |= dict.fromkeys(box.members, i)

    def write(i: int, indent: str) -> list[str]:
        """Write one frame and those in it."""
        box, flat = order[i], order[i].members in beside
        lines = [f"{indent}subgraph cluster_{i} {{ {_box(box, flat)}"]
        lines += [line for j in inner.get(i, ()) for line in write(j, indent + "  ")]
        lines += [f"{indent}  {_card(cards[m], how)}" for m in box.members if around[m] == i]
        if flat:
            lines.append(f"{indent}  {{ rank=same; {' '.join(f'n{m};' for m in box.members)} }}")
        return [*lines, indent + "}"]

    return [line for i in inner.get(-1, ()) for line in write(i, "  ")]


def _box(box: Box, flat: bool) -> str:
    """Write the attributes of a frame."""
    look = theme.BOXES[box.kind]
    return _attributes(
        style=look.style,
        color=look.line,
        fillcolor=look.fill if "filled" in look.style else "",
        penwidth=look.thick,
        labeljust="r",
        labelloc="t",
        margin=10,
        label=_box_chip(box, flat),
        end=";",
    )


def _box_chip(box: Box, flat: bool) -> str:
    """Write the words of a frame."""
    label = say("card.memory") if box.kind == "memory" else box.label
    return _chip(label, theme.BOXES[box.kind].chip, one_line=flat, pauses=FRAME_PAUSES)


# --- arrows and chips -----------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _arrow(kind: str, label: str, words_at: str, flat: bool, main: bool, span: int) -> str:
    """Write the attributes of an arrow. Forward is drawn in rank order; a gradient beside it is the
    second colour of the same edge.

    One edge for both keeps the two lines parallel and halves the layout's work; ``render`` moves
    them apart and gives each its own width.
    """
    chip = _chip(label, theme.CHIPS[kind], one_line=flat) if label else ""
    minlen = 2 if flat else span if span > 1 else ""
    weight = NEAR if kind == "of" else MAIN if main else ""
    return _attributes(
        **{"class": kind, **_line(kind), words_at: chip}, minlen=minlen, weight=weight
    )


def _line(kind: str) -> dict[str, Any]:
    """Return line and heads of one kind of arrow. A bar or an open head stands at the tail, a
    filled head at the head."""
    forward, back = theme.FORWARD, theme.RETURNED.get(kind)
    if back:
        bar = "tee" if kind == "raise" else "vee"
        return {
            "dir": "both",
            "arrowtail": bar,
            "arrowhead": "normal",
            "color": f"{forward.colour}:{back.colour}",
        }
    if kind == "cut":
        cut = {"dir": "both", "arrowtail": "tee", "arrowhead": "normal", "style": "dashed"}
        return {**cut, "penwidth": theme.CUT.width, "color": theme.CUT.colour}
    if kind == "edge":
        return {
            "dir": "back",
            "arrowtail": "vee",
            "color": theme.EDGE.colour,
            "penwidth": theme.EDGE.width,
        }
    if kind == "of":
        return {"dir": "none", "style": "dashed", "color": theme.OF.colour}
    return {"color": forward.colour, "penwidth": forward.width}


def _label(arrow: Arrow) -> str:
    """Join what stands on the chip of an arrow: of a cut its reason, for the line says the rest."""
    label = arrow.short if arrow.short and arrow.label != "✂" else arrow.label
    return " · ".join(part for part in (arrow.mark, label) if part)


def _chip_lines(text: str, one_line: bool = False, pauses: str = PAUSES) -> list[str]:
    """Put a reason and what follows from it under each other, unless the chip lies along a level
    arrow."""
    if one_line:
        return wrap(text, 60, 1)
    parts = re.split(pauses, shorten(text, VALUE_CHARS))
    return [line for part in parts for line in _steps(part)]


def _steps(text: str) -> list[str]:
    """Break what became of a gradient on its way before its arrows, where it is long.

    >>> _steps("1 → hook → 10"), _steps("[1, 1, 1] → hook → [10, 10, 10]")
    (['1 → hook → 10'], ['[1, 1, 1] → hook', '→ [10, 10, 10]'])
    """
    lines: list[str] = []
    for part in text.replace(" → ", "\n→ ").split("\n"):
        if lines and len(lines[-1]) + len(part) < CHIP_CHARS:
            lines[-1] += f" {part}"
        else:
            lines += wrap(part, CHIP_CHARS, 2)
    return lines


def _chip(text: str, look: theme.ChipLook, one_line: bool = False, pauses: str = PAUSES) -> str:
    """Write a chip."""
    row = RowLook(theme.STATE_SIZE, look.colour, bold=True)
    width = _chip_width(text, one_line, pauses) - 4  # the cell adds 2 points on each side
    text = "<br/>".join(_text(line, row) for line in _chip_lines(text, one_line, pauses))
    cell = f'<td style="rounded" bgcolor="{look.fill}" width="{width:.0f}">{text}</td>'
    return f"<{_grid(f'<tr>{cell}</tr>', 2)}>"


@lru_cache(maxsize=4096)
def _chip_width(text: str, one_line: bool = False, pauses: str = PAUSES) -> float:
    """Measure a chip, in points."""
    lines = _chip_lines(text, one_line, pauses)
    return max(text_width(line, size=theme.STATE_SIZE, bold=True) for line in lines) + 10


def _plan(scene: Scene, beside: list[tuple[int, int]], how: Arrangement) -> Plan:
    """Plan the rows of a scene; one that is too large to be laid out gets none."""
    if len(scene.cards) > PLANNED or how.across:
        return Plan([1] * len(scene.arrows), set(), [], set())
    links = [(a.tail, a.head) for a in scene.arrows]
    if how.single:
        return in_one_column([c.id for c in scene.cards], links, [b.members for b in scene.boxes])
    widths = _row_widths(scene, beside, how)
    back = {(a.tail, a.head) for a in scene.arrows if a.kind in (*theme.RETURNED, "edge")}
    return plan(
        widths,
        links,
        beside,
        back or set(links),
        how.row,
        [b.members for b in scene.boxes if how.columns],
    )


def _row_widths(scene: Scene, beside: list[tuple[int, int]], how: Arrangement) -> dict[int, float]:
    """Return what each card takes of its row, in points, chips beside its arrows included."""
    widths = {c.id: _card_width(c, how.lines) for c in scene.cards}
    chips: dict[int, float] = {}
    for a in scene.arrows:
        if (a.tail, a.head) in beside:
            widths[a.head] += _chip_width(_label(a), one_line=True)
        elif _label(a):
            chips[a.head] = chips.get(a.head, 0) + _chip_width(_label(a)) + 8
    return widths | {i: max(widths[i], width) for i, width in chips.items()}


# --- legend and notes -----------------------------------------------------------------------------


def _footer(scene: Scene, is_narrow: bool) -> str:
    """Write the legend, on one line where there is room, and the notes under it."""
    if scene.is_bare:
        return ""
    width = theme.NARROW_LEGEND_WIDTH if is_narrow else theme.LEGEND_WIDTH
    rows = ["".join(map(_sign, line)) for line in _legend_lines(signs(scene), width)]
    chars, most = (45, 6) if is_narrow else (90, 3)
    notes = [line for note in scene.notes for line in wrap(note, chars, most)]
    rows += [f"<td{_width_at_least(line)}>{_text(line, NOTE)}</td>" for line in notes]
    if not rows:
        return ""
    look = ' bgcolor="#f6f6f6" style="rounded"'
    tables = "".join(f"<tr><td>{_grid(f'<tr>{row}</tr>', 3, look)}</td></tr>" for row in rows)
    return f"<{_grid(tables, 1)}>"


def _width_at_least(line: str) -> str:
    """Write the room of a note: a browser's letters may be wider than an engine's."""
    return f' width="{round(_width(line, NOTE) + 12)}"'


def signs(scene: Scene) -> list[str]:
    """Return what the legend of a scene explains."""
    things: list[Arrow | Card | Box] = [*scene.arrows, *scene.cards, *scene.boxes]
    used = {thing.kind for thing in things if not thing.absent}
    tags = [card for card in scene.cards if card.kind == "tag" and not card.absent]
    if any(len(card.rows) > 1 for card in tags):
        used = used - {"tag"} | {"tags"}
    if used & theme.RETURNED.keys():
        used.add("forward")  # they are drawn beside a forward line
    if "raise" in used:
        used.discard("edge")
    return [sign for sign in theme.LEGEND if sign in used]


def _legend_lines(signs: list[str], width: float) -> list[list[str]]:
    """Return the signs in lines that are no wider than this, in points."""
    lines: list[list[str]] = []
    room = 0.0
    for sign in signs:
        if not lines or _sign_width(sign) > room:
            lines.append([])
            room = width - 12
        lines[-1].append(sign)
        room -= _sign_width(sign)
    return lines


def _sign(sign: str) -> str:
    """Write what one sign of the legend means, in the colour of the sign."""
    look = NOTE._replace(colour=theme.LEGEND_STROKES.get(sign, NOTE.colour))
    text = _text(say(f"legend.{sign}"), look)
    return f'<td width="{_sign_width(sign):.0f}" bgcolor="#f6f6f6">{text}</td>'


def _sign_width(sign: str) -> float:
    """Measure a sign of the legend, in points."""
    return _width(say(f"legend.{sign}"), NOTE) + 14
