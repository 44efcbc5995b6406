"""An outline as DOT text. The same outline gives the same bytes in every process.

NOTE [slots]: gradients of several cards join, and values of one card part, at the card's edge. A
strip along that edge has a slot for each neighbour: first the port of the gradient, then that of
the value, from left to right as the neighbours stand. So no gradient ever crosses a value.

Text of the user's only ever stands in HTML-like labels, through ``escape``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from gradviz.picture import theme
from gradviz.picture.dot import escape
from gradviz.picture.outline import looks
from gradviz.picture.outline.looks import GAP, RAIL, STRIP, SpanLook
from gradviz.picture.outline.scene import (
    Arrow,
    Card,
    Frame,
    Headline,
    Outline,
    Rail,
    Row,
    Span,
    Tone,
)
from gradviz.words.speech import say

APART = 18  # points between columns
HEAD_WIDTH = 560
STRIP_WIDTH, SCISSORS = 520, 12
BAR_WIDTH, BARS_HEIGHT = 40, 13
MIDDLE, NUMBER = 62, 46  # points that the counts and the norms of a table's rows take
SPINE, OTHER = 20, 3  # weights of arrows


class Slots(NamedTuple):
    """In which order the neighbours of a card stand at one of its edges; empty: it has no strip."""

    above: tuple[int, ...] = ()
    below: tuple[int, ...] = ()


class Layout(NamedTuple):
    """How an outline is laid out.

    Attributes:
        width: of the rows of a card one column wide, in points.
        around: by how much a card is wider than its rows.
        slots: by card.
        columns: how many columns wide a card is, where it is more than one.
        in_column: whether all cards stand under each other.
        levels: cards that stand side by side, from the left.
    """

    width: int
    around: int = RAIL + GAP + 16
    slots: Mapping[int, Slots] = {}
    columns: Mapping[int, int] = {}
    in_column: bool = False
    levels: tuple[tuple[int, ...], ...] = ()

    def width_of(self, card: Card) -> int:
        """Return the width of a card's rows."""
        if card.narrow:
            spans = sum(_width(s.text, _look(s, card.rows[0].tone)) for s in card.rows[0].left)
            return int(spans + _width(card.rows[0].right, looks.RIGHT)) + 30
        n = self.columns.get(card.id, 1)
        return n * (self.width + self.around) + (n - 1) * APART - self.around


def dot(outline: Outline, layout: Layout) -> str:
    """Return the DOT source of an outline.

    Args:
        outline: what is drawn.
        layout: how.

    Returns:
        Text for Graphviz, ending in a newline.
    """
    has_columns = bool(layout.columns)
    as_node = not has_columns and not _starts_apart(outline)
    lines = [
        "digraph {",
        f'  rankdir="TB"; newrank="true"; bgcolor="transparent"; nodesep={APART / 72:g};'
        f' ranksep=0.22; pad=0.06; labelloc="b"; fontname="{theme.SANS}"; fontsize=10;'
        f" label={_legend(outline)};",
        '  ordering="out";' if has_columns else "",
        f'  node [shape="plain" fontname="{theme.SANS}" fontsize=11];',
        f'  edge [fontname="{theme.SANS}" fontsize=10 arrowsize=0.8];',
    ]
    if as_node:
        lines.append(f'  head [id="headline" class="headline" label={_head(outline.headline)}];')
        lines += [f'  head -> n{k} [style="invis"];' for k in _roots(outline)]
    else:
        lines.append(
            '  subgraph cluster_head { style="solid"; color="transparent"; penwidth=0; margin=2;'
            f' labelloc="t"; labeljust="c"; label={_head(outline.headline)};'
        )
    lines += _nodes(outline, layout)
    lines += _edges(outline, layout)
    lines += [f"  {_level(cards)}" for cards in layout.levels if len(cards) > 1]
    if layout.in_column:
        lines += _column(outline)
    if not as_node:
        lines.append("  }")
    return "\n".join([*(line for line in lines if line), "}"]) + "\n"


def _level(cards: Sequence[int]) -> str:
    """Keep cards side by side, in this order."""
    flat = " ".join(f'n{a} -> n{b} [style="invis"];' for a, b in pairwise(cards))
    return f"{{ rank=same; {flat} }}"


def _column(outline: Outline) -> list[str]:
    """Keep all cards under each other, also where no arrow joins them."""
    joined = {(arrow.tail, arrow.head) for arrow in outline.arrows}
    ids = [card.id for card in outline.cards]
    return [
        f'  n{a} -> n{b} [style="invis" weight={SPINE}];'
        for a, b in pairwise(ids)
        if (a, b) not in joined
    ]


def _roots(outline: Outline) -> list[int]:
    heads = {arrow.head for arrow in outline.arrows}
    return [card.id for card in outline.cards if card.id not in heads]


def _starts_apart(outline: Outline) -> bool:
    """Say whether several cards stand at the top: the headline is then a label above them all."""
    return len(_roots(outline)) > 1


# --- cards ----------------------------------------------------------------------------------------


def _nodes(outline: Outline, layout: Layout) -> list[str]:
    """Write the cards, those of a frame inside its cluster."""
    framed: dict[int, int] = {}
    order = sorted(outline.frames, key=lambda frame: -len(frame.members))
    for k, frame in enumerate(order):
        framed.update(dict.fromkeys(frame.members, k))
    lines = [_node(c, layout) for c in outline.cards if c.id not in framed]
    cards = {card.id: card for card in outline.cards}
    for k, frame in enumerate(order):
        inside = [cards[i] for i in frame.members if framed[i] == k]
        if not inside:
            continue
        look = looks.FRAMES[frame.kind]
        chip = _chip(frame.label, _frame_chip(frame), bold=True)
        lines.append(
            f'  subgraph cluster_{k} {{ class="frame {frame.kind}"; {look}; labeljust="r";'
            f' labelloc="t"; margin=9; label={chip};'
        )
        lines += [f"  {_node(card, layout)}" for card in inside]
        lines.append("  }")
    return lines


def _frame_chip(frame: Frame) -> theme.ChipLook:
    return theme.ChipLook("#333333", "#ececec" if frame.kind == "opened" else "#e4e4e4")


def _node(card: Card, layout: Layout) -> str:
    tones = dict.fromkeys(row.tone.value for row in card.rows)
    kinds = " ".join(["card", "tracked" if card.tracked else "untracked", *tones])
    return f'  n{card.id} [id="n{card.id}" class="{kinds}" label={_label(card, layout)}];'


def _label(card: Card, layout: Layout) -> str:
    look = looks.CARD_TRACKED if card.tracked else looks.CARD_UNTRACKED
    width = layout.width_of(card)
    slots = layout.slots.get(card.id, Slots())
    body = _strip_row(slots.above, "t", card, layout) if slots.above else ""
    if card.ends:
        body += (
            f'<tr><td colspan="3" width="{RAIL}" height="{looks.ENDS_HEIGHT}"'
            f' bgcolor="{looks.STOP}" port="gt"></td><td></td></tr>'
        )
    body += _rows(card, width, has_top=card.ends)
    body += _strip_row(slots.below, "b", card, layout) if slots.below else ""
    return (
        f'<<table border="1" cellborder="0" cellspacing="0" cellpadding="4" {look}><tr><td>'
        f'<table border="0" cellborder="0" cellspacing="0" cellpadding="0">{body}</table>'
        "</td></tr></table>>"
    )


def _rows(card: Card, width: int, *, has_top: bool) -> str:
    """Write the rows of a card, each run of equal rails as one cell."""
    body = ""
    runs = [(rail, list(rows)) for rail, rows in groupby(card.rows, key=lambda row: row.rail)]
    for k, (rail, rows) in enumerate(runs):
        ports = [] if has_top or k else ["gt"]
        ports += ["gb"] if k == len(runs) - 1 else []
        for i, row in enumerate(rows):
            bed = _rail(rail, len(rows), ports) if i == 0 else ""
            body += f'<tr>{bed}<td width="{GAP}"></td><td align="left">{_row(row, width)}</td></tr>'
    return body


def _rail(rail: Rail, span: int, ports: list[str]) -> str:
    port = f' port="{ports[0]}"' if len(ports) == 1 else ' port="g"' if ports else ""
    if rail is Rail.PASSES:
        left, right = (looks.BED.format(side=side) for side in ("LTB", "RTB"))
        return (
            f'<td width="3" rowspan="{span}" {left}></td>'
            f'<td width="3" rowspan="{span}" bgcolor="{looks.RIVER}"{port}></td>'
            f'<td width="3" rowspan="{span}" {right}></td>'
        )
    return f'<td colspan="3" width="{RAIL}" rowspan="{span}" {looks.RAILS[rail]}{port}></td>'


def _strip_row(neighbours: Sequence[int], edge: str, card: Card, layout: Layout) -> str:
    """Write the strip at one edge of a card: see NOTE [slots]. Where the card is as wide as its
    neighbours together, each slot stands right over its neighbour's rail and middle."""
    n, whole = len(neighbours), RAIL + GAP + layout.width_of(card)
    outer = layout.width + layout.around
    inset = (layout.around - RAIL - GAP) // 2
    exact = n == 1 or layout.columns.get(card.id) == n
    pitch = outer + APART if exact else whole // n
    middle = outer // 2 - inset - RAIL - 1 if exact else max(pitch // 2 - RAIL, 1)
    river = card.rows[0 if edge == "t" else -1].rail in (Rail.COMES, Rail.CAN) and n > 1
    height = STRIP if n > 1 else 1
    cells = ""
    for k in range(n):
        rest = (whole - (n - 1) * pitch if k == n - 1 else pitch) - RAIL - middle - 2
        on = f' bgcolor="{looks.RIVER}"' if river and k < n - 1 else ""
        fill = f' bgcolor="{looks.RIVER}"' if river else ""
        cells += "".join(
            f'<td fixedsize="true" width="{width}" height="{height}"{port}{colour}></td>'
            for width, port, colour in (
                (RAIL, f' port="{edge}{k}o"', fill),
                (middle, "", on),
                (2, f' port="{edge}{k}f"', on),
                (max(rest, 1), "", on),
            )
        )
    start = '<table border="0" cellborder="0" cellspacing="0" cellpadding="0">'
    return f'<tr><td colspan="5" align="left">{start}<tr>{cells}</tr></table></td></tr>'


def _row(row: Row, width: int) -> str:
    look = looks.TONES[row.tone]
    fill = f' bgcolor="{look.fill}"' if look.fill else ""
    right = _right_cells(row)
    room = width - sum(cell_width for cell_width, _ in right)
    cells = f'<td align="left" width="{room}">{_spans(row, room - 6)}<br align="left"/></td>'
    cells += "".join(cell for _, cell in right)
    return (
        '<table border="0" cellborder="0" cellspacing="0" cellpadding="2"'
        f'{fill} width="{width}" style="rounded"><tr>{cells}<td width="1"></td></tr></table>'
    )


def _right_cells(row: Row) -> list[tuple[int, str]]:
    """Return the cells at the right of a row, each with its width."""
    colour = looks.RIGHT_OF_TITLE if row.tone is Tone.TITLE else looks.TONES[row.tone].colour
    found = []
    in_table = row.bar is not None
    for text, least in ((row.middle, MIDDLE), (row.right, NUMBER)):
        if text:
            width = max(int(_width(text, looks.RIGHT)) + 8, least if in_table else 0)
            found.append((width, _right(text, width, colour)))
    if row.bar is not None:
        found.append((BAR_WIDTH + 6, _bar(row.bar)))
    if row.bars:
        found.append((7 * len(row.bars) + 6, _bars(row.bars)))
    return found


def _right(text: str, width: int, colour: str) -> str:
    font = _font(text, looks.RIGHT._replace(colour=colour))
    return f'<td align="right" width="{width}">{font}<br align="right"/></td>'


def _bar(share: float) -> str:
    full = max(1, round(share * BAR_WIDTH))
    cell = '<td fixedsize="true" width="{}" height="7" bgcolor="{}"></td>'
    cells = cell.format(full, looks.BAR)
    if full < BAR_WIDTH:
        cells += cell.format(BAR_WIDTH - full, looks.BAR_BED)
    table = (
        f'<table border="0" cellborder="0" cellspacing="0" cellpadding="0"><tr>{cells}</tr></table>'
    )
    return f'<td width="{BAR_WIDTH + 6}">{table}</td>'


def _bars(shares: Iterable[float]) -> str:
    cells = ""
    for share in shares:
        full = max(1, round(share * BARS_HEIGHT))
        rest = BARS_HEIGHT - full
        cell = '<tr><td fixedsize="true" width="5" height="{}" bgcolor="{}"></td></tr>'
        column = (cell.format(rest, looks.BAR_BED) if rest else "") + cell.format(full, looks.BAR)
        cells += (
            '<td><table border="0" cellborder="0" cellspacing="0" cellpadding="0">'
            f"{column}</table></td>"
        )
    return (
        '<td><table border="0" cellborder="0" cellspacing="1" cellpadding="0">'
        f"<tr>{cells}</tr></table></td>"
    )


# --- text -----------------------------------------------------------------------------------------


def _spans(row: Row, room: int) -> str:
    """Write the text of a row in the longest wording that has room; what comes last gives way
    first."""
    fonts = [_look(span, row.tone) for span in row.left]
    texts = [span.text for span in row.left]
    for k in reversed(range(len(texts))):
        for wording in (row.left[k].text, *row.left[k].shorter):
            texts[k] = wording
            if _widths(texts, fonts) <= room:
                return _joined(texts, fonts)
        rest = _widths(texts, fonts) - _width(texts[k], fonts[k])
        texts[k] = _shortened(texts[k], room - rest, fonts[k])
        if _widths(texts, fonts) <= room:
            break
    return _joined(texts, fonts)


def _widths(texts: Sequence[str], fonts: Sequence[SpanLook]) -> float:
    return sum(_width(text, font) + 6 for text, font in zip(texts, fonts, strict=True))


def _joined(texts: Sequence[str], fonts: Sequence[SpanLook]) -> str:
    return "".join(
        _font(("  " if k else "") + text, font)
        for k, (text, font) in enumerate(zip(texts, fonts, strict=True))
        if text
    )


def _look(span: Span, tone: Tone) -> SpanLook:
    look = looks.SPANS[span.look]
    if tone is Tone.TITLE and span.look == "name":
        return looks.TITLE_NAME
    return look if look.colour else look._replace(colour=looks.TONES[tone].colour)


def _shortened(text: str, room: float, look: SpanLook) -> str:
    if _width(text, look) <= room:
        return text
    while text and _width(text + "…", look) > room:
        text = text[:-1]
    return f"{text.rstrip()}…" if len(text) > 1 else ""


def _width(text: str, look: SpanLook) -> float:
    return theme.text_width(text, size=look.size, bold=look.bold, mono=look.mono)


def _font(text: str, look: SpanLook) -> str:
    face = theme.MONO if look.mono else theme.SANS
    content = escape(text) or " "
    content = f"<b>{content}</b>" if look.bold else content
    return f'<font face="{face}" point-size="{look.size}" color="{look.colour}">{content}</font>'


def _chip(lines: Sequence[str], look: theme.ChipLook, *, bold: bool) -> str:
    font = SpanLook(theme.STATE_SIZE, bold=bold, colour=look.colour)
    width = int(max(_width(line, font) for line in lines)) + 8
    text = "<br/>".join(_font(line, font) for line in lines)
    return (
        '<<table border="0" cellborder="0" cellspacing="0" cellpadding="2"><tr><td width="2"></td>'
        f'<td style="rounded" bgcolor="{look.fill}" width="{width}">{text}</td></tr></table>>'
    )


# --- arrows ---------------------------------------------------------------------------------------


def _edges(outline: Outline, layout: Layout) -> list[str]:
    """Write the arrows: by the card that makes, then as its users stand, gradients first."""
    place = {"gradient": 0, "can": 0, "cut": 1, "forward": 2}

    def order(arrow: Arrow) -> tuple[int, int, int, int]:
        below = layout.slots.get(arrow.tail, Slots()).below
        at = below.index(arrow.head) if arrow.head in below else len(below)
        return arrow.tail, at, arrow.head, place[arrow.kind]

    cards = {card.id: card for card in outline.cards}
    numbered = sorted(enumerate(outline.arrows), key=lambda pair: order(pair[1]))
    return [_edge(k, arrow, layout, cards) for k, arrow in numbered]


def _edge(k: int, arrow: Arrow, layout: Layout, cards: Mapping[int, Card]) -> str:
    river = arrow.kind in ("gradient", "can")
    tail = _port(
        arrow.tail, layout.slots.get(arrow.tail, Slots()).below, arrow.head, "b", river, cards
    )
    head = _port(
        arrow.head, layout.slots.get(arrow.head, Slots()).above, arrow.tail, "t", river, cards
    )
    weight = SPINE if arrow.spine else OTHER
    chip = _arrow_chip(arrow)
    label = f" label={chip}" if chip else ""
    kinds = f"{arrow.kind} loses" if arrow.loses else arrow.kind
    return (
        f'  n{arrow.tail}{tail} -> n{arrow.head}{head} [key="e{k}" id="e{k}" class="{kinds}"'
        f" {looks.ARROWS[arrow.kind]} weight={weight}{label}];"
    )


def _port(
    card: int,
    neighbours: tuple[int, ...],
    other: int,
    edge: str,
    river: bool,
    cards: Mapping[int, Card],
) -> str:
    side = "n" if edge == "t" else "s"
    if other in neighbours:
        return f":{edge}{neighbours.index(other)}{'o' if river else 'f'}:{side}"
    if not river:
        return ""
    rails = len(list(groupby(row.rail for row in cards[card].rows)))
    whole = rails == 1 and not cards[card].ends
    if edge == "t" and cards[card].ends:
        return f":gt:{side}"
    return f":{'g' if whole else 'g' + edge}:{side}"


def _arrow_chip(arrow: Arrow) -> str:
    if not arrow.label:
        return ""
    if arrow.kind == "gradient":
        return _chip(arrow.label, looks.CHIP_GRADIENT, bold=True)
    return _chip(arrow.label, looks.CHIP_LOSES if arrow.loses else looks.CHIP_CUT, bold=True)


# --- headline and legend --------------------------------------------------------------------------


def _head(headline: Headline) -> str:
    rows = _head_row((Span(headline.title),), looks.HEAD)
    if headline.strip:
        rows += f'<tr><td align="left">{_all_parameters(headline)}</td></tr>'
    rows += "".join(_head_row(line, looks.HEAD_LINE) for line in headline.lines)
    return (
        '<<table border="0" cellborder="0" cellspacing="0" cellpadding="7" bgcolor="#f6f6f6"'
        ' style="rounded"><tr><td><table border="0" cellborder="0" cellspacing="0" cellpadding="2"'
        f' width="{HEAD_WIDTH}">{rows}</table></td></tr></table>>'
    )


def _head_row(spans: Sequence[Span], look: SpanLook) -> str:
    fonts = []
    for span in spans:
        style = looks.SPANS[span.look]
        own = look if span.look == "plain" else style._replace(colour=style.colour or look.colour)
        fonts.append((span.text, own))
    room = HEAD_WIDTH - 10.0
    cells = ""
    for k, (text, font) in enumerate(fonts):
        text = _shortened(text, room, font)
        width = int(_width(text, font)) + 6
        room -= width
        last = f'<td width="{max(int(room), 1)}"></td>' if k == len(fonts) - 1 else ""
        cells += (
            f'<td align="left" width="{width}">{_font(text, font)}<br align="left"/></td>{last}'
        )
    return (
        '<tr><td align="left"><table border="0" cellborder="0" cellspacing="0" cellpadding="0"><tr>'
        f"{cells}</tr></table></td></tr>"
    )


def _all_parameters(headline: Headline) -> str:
    """Write the strip of all parameters, in module order."""
    total = sum(part.n for part in headline.strip)
    cuts = sum(part.rail is None for part in headline.strip)
    room = STRIP_WIDTH - (12 * cuts if cuts <= SCISSORS else 0)
    cells = ""
    for part in headline.strip:
        if part.rail is None and cuts > SCISSORS:
            continue
        if part.rail is None:
            scissors = _font("✂", SpanLook(12, bold=True, colour="#7a0012"))
            cells += f"<td>{scissors}</td>"
            continue
        width = max(2 if len(headline.strip) > 40 else 4, round(room * part.n / total))
        cells += (
            f'<td fixedsize="true" width="{width}" height="{RAIL}" {looks.STRIPS[part.rail]}></td>'
        )
    return (
        '<table border="0" cellborder="0" cellspacing="1" cellpadding="0"><tr>'
        f'{cells}<td width="10"></td></tr></table>'
    )


def _legend(outline: Outline) -> str:
    kinds = {arrow.kind for arrow in outline.arrows}
    untracked = any(not card.tracked for card in outline.cards)
    words: list[tuple[str, str]] = []
    for kind, there in (
        ("forward", "forward" in kinds),
        ("gradient", "gradient" in kinds),
        ("edge", "can" in kinds),
        ("cut", "cut" in kinds),
        ("untracked", untracked),
        ("region", any(frame.kind == "no_grad" for frame in outline.frames)),
    ):
        if there:
            colour = theme.LEGEND_STROKES.get(kind, "#333333")
            words.append((say(f"legend.{kind}"), colour))
    rails = {row.rail for card in outline.cards for row in card.rows}
    signs = [
        (Rail.COMES, rails, say("outline.sign_comes")),
        (Rail.NONE, rails, say("outline.sign_none")),
        (Rail.CAN, rails, say("outline.sign_can")),
        (Rail.PASSES, rails, say("outline.sign_passes")),
    ]
    second = "".join(_sign(rail, text) for rail, there, text in signs if rail in there)
    if any(card.ends for card in outline.cards):
        second += _ends_sign(say("outline.sign_ends"))
    if any(frame.kind == "opened" for frame in outline.frames):
        second += _plain_sign(say("outline.sign_opened"))
    if outline.measured:
        second += _plain_sign(say("outline.sign_number"))
    first = "".join(
        f'<td width="5"></td><td>{_font(text, looks.RIGHT._replace(colour=colour))}</td>'
        for text, colour in words
    )
    rows = "".join(_legend_row(cells) for cells in (first, second) if cells)
    return f'<<table border="0" cellborder="0" cellspacing="0" cellpadding="1">{rows}</table>>'


def _legend_row(cells: str) -> str:
    return (
        '<tr><td><table border="0" cellborder="0" cellspacing="0" cellpadding="2"'
        f' bgcolor="#f6f6f6" style="rounded"><tr>{cells}<td width="5"></td></tr></table></td></tr>'
    )


def _plain_sign(text: str) -> str:
    return f'<td width="5"></td><td>{_font(text, looks.RIGHT._replace(colour="#333333"))}</td>'


def _sign(rail: Rail, text: str) -> str:
    bed = _rail(rail, 1, []).replace("<td", '<td height="14" fixedsize="true"', 1)
    words = _font(text, looks.RIGHT._replace(colour="#333333"))
    return (
        '<td width="5"></td><td><table border="0" cellborder="0" cellspacing="0" cellpadding="0">'
        f'<tr>{bed}<td width="4"></td><td>{words}</td></tr></table></td>'
    )


def _ends_sign(text: str) -> str:
    cap = f'<tr><td width="{RAIL}" height="{looks.ENDS_HEIGHT}" bgcolor="{looks.STOP}"></td></tr>'
    bed = f'<tr><td width="{RAIL}" height="10" bgcolor="{looks.RIVER}"></td></tr>'
    words = _font(text, looks.RIGHT._replace(colour="#333333"))
    table = f'<table border="0" cellborder="0" cellspacing="0" cellpadding="0">{cap}{bed}</table>'
    return (
        '<td width="5"></td><td><table border="0" cellborder="0" cellspacing="0" cellpadding="0">'
        f'<tr><td width="{RAIL}">{table}</td><td width="4"></td><td>{words}</td></tr></table></td>'
    )
