"""An outline as DOT text. The same outline gives the same bytes in every process.

NOTE [slots]: gradients of several cards join, and values of one card part, at the card's edge. A
strip along that edge has a slot for each neighbour: first the port of the gradient, then that of
the value, from left to right as the neighbours stand. So no gradient ever crosses a value. The port
of a gradient that comes is a piece of the rail, and a thin line leads from there to the rail.

Text of the user's only ever stands in HTML-like labels, through ``escape``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from gradviz.picture import theme
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
from gradviz.picture.outline.tables import (
    RIGHT,
    broken,
    cell,
    fixed,
    font,
    label,
    line,
    row,
    shortened,
    table,
    width_of,
)
from gradviz.words.speech import say

APART = 18  # points between columns
IN_FRAME = 9  # points between a frame and its cards
LEAST_AROUND = RAIL + GAP + 12  # points by which a card is at least wider than its rows
# Points between cards side by side. Graphviz keeps as much free at the left of a gradient's number,
# which stands over a rail: more than the rail's distance from the card's edge would kink the river.
BESIDE = 9
HEAD_WIDTH = 560
INDENT = 18  # points, of what goes on from the line above
STRIP_WIDTH, SCISSORS = 520, 12
MANY = 40  # parts of the strip that may be narrower
BAR_WIDTH, BARS_HEIGHT = 40, 13
BIN_WIDTH = 4  # points, of a bar in a histogram and the gap behind it
INSET = 5  # points between a card's edge and its rail: the border, and the padding of a cell
FILLER = 4  # points, the least that a cell takes: twice its padding
CHART_HEIGHT = 36
# As much of a text is left, whatever else stands in its row; of a title more, as calls of one
# module differ at their ends.
ENOUGH, ENOUGH_OF_TITLE = "transformer", "transformer.layers.11"
MOST_OF_A_WORD = 0.75
WORD = 5  # letters: what is shorter, and cut short, is no word any more
MIDDLE, NUMBER = 62, 46  # points that the counts and the norms of a table's rows take
SPINE, OTHER, INPUT = 20, 3, 1  # weights of arrows
RIVERS = ("gradient", "can")
Rivers = frozenset[tuple[int, int]]  # pairs of cards between which a gradient goes
ORDER = {"gradient": 0, "can": 0, "cut": 1, "forward": 2}  # of the arrows of one pair of cards


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
        chips_left: members of the frames whose chip stands at their left: arrows come from the
            right.
        head: points that the headline is wide; in a narrow one lines are broken, and there is no
            legend.
    """

    width: int
    around: int = RAIL + GAP + 16
    slots: Mapping[int, Slots] = {}
    columns: Mapping[int, int] = {}
    in_column: bool = False
    levels: tuple[tuple[int, ...], ...] = ()
    chips_left: frozenset[tuple[int, ...]] = frozenset()
    head: int = HEAD_WIDTH

    @property
    def is_narrow(self) -> bool:
        """Whether the picture is half a page wide."""
        return self.head < HEAD_WIDTH

    def width_of(self, card: Card) -> int:
        """Return the width of a card's rows."""
        if card.narrow:
            return int(max(map(_text_width, card.rows))) + 30
        n = self.columns.get(card.id, 1)
        return n * (self.width + self.around) + (n - 1) * APART - self.around


def _text_width(each: Row) -> float:
    left = sum(width_of(span.text, _look(span, each.tone)) for span in each.left)
    return left + width_of(each.right, looks.RIGHT)


def dot(outline: Outline, layout: Layout) -> str:
    """Return the DOT source of an outline.

    Args:
        outline: what is drawn.
        layout: how.

    Returns:
        Text for Graphviz, ending in a newline.
    """
    # Above one column the headline is a node, which stands in its middle; above several a label,
    # which is as wide as they are.
    as_node = not layout.columns and len(_roots(outline)) == 1
    body = [*_nodes(outline, layout), *_edges(outline, layout)]
    body += [_level(cards) for cards in layout.levels if len(cards) > 1]
    body += _column(outline) if layout.in_column else []
    if as_node:
        body = [*_head_node(outline, layout), *body]
    else:
        attributes = {"style": "solid", "color": "transparent", "penwidth": 0, "margin": 2}
        attributes |= {"labelloc": "t", "labeljust": "c", "label": _head(outline, layout)}
        body = _cluster("cluster_head", attributes, body)
    lines = [*_defaults(outline, layout), *body]
    return "\n".join(["digraph {", *(f"  {text}" for text in lines), "}"]) + "\n"


def _defaults(outline: Outline, layout: Layout) -> list[str]:
    page = {
        "rankdir": "TB",
        "newrank": "true",
        "bgcolor": "transparent",
        "nodesep": BESIDE / 72,
        "ranksep": 0.22,
        "pad": 0.06,
        "labelloc": "b",
        "fontname": theme.SANS,
        "fontsize": 10,
        "label": "" if layout.is_narrow else _legend(outline),
        "ordering": "out" if layout.columns else "",
    }
    node = {"shape": "plain", "fontname": theme.SANS, "fontsize": 11}
    edge = {"fontname": theme.SANS, "fontsize": 10, "arrowsize": 0.8}
    return [*_statements(page), f"node {_listed(node)};", f"edge {_listed(edge)};"]


def _head_node(outline: Outline, layout: Layout) -> list[str]:
    attributes = {"id": "headline", "class": "headline", "label": _head(outline, layout)}
    below = [f"head -> n{k} {_listed({'style': 'invis'})};" for k in _roots(outline)]
    return [f"head {_listed(attributes)};", *below]


def _roots(outline: Outline) -> list[int]:
    heads = {arrow.head for arrow in outline.arrows}
    return [card.id for card in outline.cards if card.id not in heads]


def _level(cards: Sequence[int]) -> str:
    """Keep cards side by side, in this order. An edge inside of a frame stands there as well when
    the layout is written: without a key it would be another one, that is seen."""
    flat = " ".join(
        f"n{a} -> n{b} {_listed({'key': f'beside{a}', 'style': 'invis'})};"
        for a, b in pairwise(cards)
    )
    return f"{{ rank=same; {flat} }}"


def _column(outline: Outline) -> list[str]:
    """Keep all cards under each other, also where no arrow joins them."""
    joined = {(arrow.tail, arrow.head) for arrow in outline.arrows}
    hidden = _listed({"style": "invis", "weight": SPINE})
    pairs = pairwise(card.id for card in outline.cards)
    return [f"n{a} -> n{b} {hidden};" for a, b in pairs if (a, b) not in joined]


def _cluster(name: str, attributes: Mapping[str, Any], inside: Iterable[str]) -> list[str]:
    lines = [*_statements(attributes), *inside]
    return [f"subgraph {name} {{", *(f"  {text}" for text in lines), "}"]


def _statements(attributes: Mapping[str, Any]) -> list[str]:
    return [f"{key}={_value(value)};" for key, value in attributes.items() if value != ""]


def _listed(attributes: Mapping[str, Any]) -> str:
    pairs = (f"{key}={_value(value)}" for key, value in attributes.items() if value != "")
    return f"[{' '.join(pairs)}]"


def _value(value: Any) -> str:
    if isinstance(value, (int, float)):
        return f"{value:g}"
    return str(value) if str(value).startswith("<") else f'"{value}"'


# --- cards ----------------------------------------------------------------------------------------


def _nodes(outline: Outline, layout: Layout) -> list[str]:
    """Write the cards, those of a frame inside its cluster."""
    framed: dict[int, int] = {}
    order = sorted(outline.frames, key=lambda frame: -len(frame.members))
    for k, frame in enumerate(order):
        framed.update(dict.fromkeys(frame.members, k))
    rivers = frozenset((a.tail, a.head) for a in outline.arrows if a.kind in RIVERS)
    cards = {card.id: card for card in outline.cards}
    lines = [_node(c, layout, rivers) for c in outline.cards if c.id not in framed]
    for k, frame in enumerate(order):
        own = [cards[i] for i in frame.members if framed[i] == k]
        inside = [_node(card, layout, rivers) for card in own]
        if inside:
            lines += _cluster(f"cluster_{k}", _frame(frame, layout), inside)
            lines += _below(frame, outline)
    return lines


def _below(frame: Frame, outline: Outline) -> list[str]:
    """Write what stands between a frame that no arrow leaves and the cards below it."""
    if frame.kind != "outside":
        return []
    unseen = _listed({"style": "invis"})
    tails = [f"n{i}" for i in frame.members]
    lines = []
    if frame.below:
        chip = {"class": "gap", "label": _chip((frame.below,), looks.CHIP_LOSES)}
        lines = [f"gap {_listed(chip)};", *(f"{tail} -> gap {unseen};" for tail in tails)]
        tails = ["gap"]
    heads = [i for i in _roots(outline) if i not in frame.members]
    lines += [f"{tail} -> n{i} {unseen};" for tail in tails for i in heads]
    level = " ".join(f"n{i};" for i in frame.members)
    return [*lines, f"{{ rank=same; {level} }}"]


def _frame(frame: Frame, layout: Layout) -> dict[str, Any]:
    look = looks.CHIP_OPENED if frame.kind == "opened" else looks.CHIP_CUT
    return {
        "class": f"frame {frame.kind}",
        **looks.FRAMES[frame.kind],
        "labeljust": "l" if tuple(frame.members) in layout.chips_left else "r",
        "labelloc": "t",
        "margin": IN_FRAME,
        "label": _chip(frame.label, look),
    }


def _node(card: Card, layout: Layout, rivers: Rivers) -> str:
    tones = dict.fromkeys(each.tone.value for each in card.rows)
    kinds = " ".join(["card", "tracked" if card.tracked else "untracked", *tones])
    attributes = {"id": f"n{card.id}", "class": kinds, "label": _label(card, layout, rivers)}
    return f"n{card.id} {_listed(attributes)};"


def _label(card: Card, layout: Layout, rivers: Rivers) -> str:
    slots = layout.slots.get(card.id, Slots())
    above = [(other, card.id) in rivers for other in slots.above]
    below = [(card.id, other) in rivers for other in slots.below]
    rows = []
    if card.ends:
        bar = fixed(RAIL, looks.ENDS_HEIGHT, colspan=3, bgcolor=looks.STOP, port="gt")
        rows.append(row(bar, cell()))
    rows += _rows(card.rows, layout.width_of(card), layout.width, has_port=not card.ends)
    # Strips are tables of their own: in one with the rows, Graphviz makes some cards wider.
    parts = [row(cell(table(*rows), align="left"))]
    if above:
        parts.insert(0, _strip_row(above, "t", card, layout))
    if below:
        parts.append(_strip_row(below, "b", card, layout))
    look = looks.TRACKED if card.tracked else looks.UNTRACKED
    look = {"border": 1, **look, **(looks.HERE if card.here else {})}
    return label(table(row(cell(table(*parts))), cellpadding=4, **look))


@lru_cache(maxsize=2_000)
def _need(each: Row) -> float:
    """Return the width in which a row has room for everything."""
    fonts = [_look(span, each.tone) for span in each.left]
    left = _widths([span.text for span in each.left], fonts)
    return left + 14 + sum(width for width, _ in _right_cells(each))


@lru_cache(maxsize=2_000)
def _rows(rows: tuple[Row, ...], width: int, least: int, *, has_port: bool) -> tuple[str, ...]:
    """Write the rows of a card, each run of equal rails as one cell. What stands at their right is
    no farther away than it has to be: ``least`` is the width of one column. ``has_port``: whether
    the first of them has the port of a gradient that goes on."""
    inner = min(width, max(least, *(int(_need(each)) for each in rows)))
    runs = [list(same) for _, same in groupby(rows, key=lambda each: each.rail)]
    found = []
    for k, same in enumerate(runs):
        ports = ["gt"] if has_port and not k else []
        ports += ["gb"] if k == len(runs) - 1 else []
        port = "g" if len(ports) == 2 else "".join(ports)
        for i, each in enumerate(same):
            bed = _rail(same[0].rail, len(same), port) if i == 0 else ""
            line_of = _row(each, width if each.chart else inner, width)
            found.append(row(bed, cell(width=GAP), cell(line_of, align="left")))
    return tuple(found)


def _rail(rail: Rail, span: int, port: str, **size: Any) -> str:
    if rail is Rail.PASSES:
        size = {"width": 3, "rowspan": span, **size}
        return (
            cell(sides="LTB", **looks.BED, **size)
            + cell(bgcolor=looks.RIVER, port=port, **size)
            + cell(sides="RTB", **looks.BED, **size)
        )
    return cell(colspan=3, width=RAIL, rowspan=span, port=port, **looks.RAILS[rail], **size)


def _strip_row(carry: Sequence[bool], edge: str, card: Card, layout: Layout) -> str:
    """Write the strip at one edge of a card: see NOTE [slots]. Where the card is as wide as its
    neighbours together, each slot stands right over its neighbour's rail and middle.

    Args:
        carry: for each neighbour, from the left, whether a gradient goes along its arrow.
        edge: "t" or "b": top or bottom.
        card: whose edge it is.
        layout: of the outline.
    """
    n, whole = len(carry), RAIL + GAP + layout.width_of(card) + FILLER
    pitch, middle = _pitch(n, whole, card, layout)
    rail = card.rows[0 if edge == "t" else -1].rail
    has_river = rail in (Rail.COMES, Rail.CAN) and n > 1
    height = 1 if n == 1 else 2 if rail is Rail.CAN else STRIP
    pieces = [has_river and (k == 0 or comes) for k, comes in enumerate(carry)]  # 0: the rail
    last = max((k for k in range(n) if pieces[k]), default=0)
    line = {"sides": "B" if edge == "t" else "T", "border": 1, "color": looks.RIVER}
    cells = []
    for k, is_piece in enumerate(pieces):
        behind = line if k < last else {}
        at_port = {"bgcolor": looks.RIVER} if is_piece else behind
        own = pitch if k < n - 1 else whole - (n - 1) * pitch
        cells += [
            fixed(RAIL, height, port=f"{edge}{k}o", **at_port),
            fixed(middle, height, **behind),
            fixed(2, height, port=f"{edge}{k}f", **behind),
            fixed(max(own - RAIL - middle - 2, 1), height, **behind),
        ]
    return row(cell(table(row(*cells)), align="left"))


def _pitch(n: int, whole: int, card: Card, layout: Layout) -> tuple[int, int]:
    """Return how far apart the slots of a strip stand, and how far the port of a value stands
    behind that of a gradient, in points."""
    if n == 1 or layout.columns.get(card.id) == n:
        outer = layout.width + layout.around
        return outer + APART, outer // 2 - INSET - RAIL - 1
    pitch = whole // n
    return pitch, max(pitch // 2 - RAIL, 1)


@lru_cache(maxsize=2_000)
def _row(each: Row, width: int, whole: int) -> str:
    """Write a row of this width into one that may be wider."""
    if each.chart:
        words = each._replace(chart=())
        return table(row(cell(_chart(each.chart, width))), row(cell(_row(words, width, whole))))
    right = _right_cells(each)
    room = width - sum(cell_width for cell_width, _ in right)
    for less in _with_less(each):  # a name matters more than a bar, a number more than words
        if room - 6 >= _least(each):
            break
        right = _right_cells(less)
        room = width - sum(cell_width for cell_width, _ in right)
    cells = [cell(line(_spans(each, room - 6)), align="left", width=max(room, 1))]
    cells += [text for _, text in right]
    fill = looks.TONES[each.tone].fill
    inside = row(*cells, cell(width=whole - width + FILLER))
    return table(inside, cellpadding=2, bgcolor=fill, width=whole, style="rounded")


def _with_less(row: Row) -> Iterator[Row]:
    """Go through a row with less and less at its right."""
    row = row._replace(bars=(), bar=None, bins=())
    yield row
    if row.right and not any(c.isdigit() for c in row.right):
        row = row._replace(right="")
        yield row
    yield row._replace(right="")


def _least(row: Row) -> float:
    """Return the room that the beginning of a row takes at least: its shortest wording, or enough
    of it to tell which it is."""
    span = row.left[0]
    font = _look(span, row.tone)
    enough = ENOUGH_OF_TITLE if row.tone is Tone.TITLE else ENOUGH
    return min(_widths([text], [font]) for text in (*span.shorter, span.text, enough))


def _right_cells(each: Row) -> list[tuple[int, str]]:
    """Return the cells at the right of a row, each with its width."""
    is_title = each.tone is Tone.TITLE
    colour = looks.RIGHT_OF_TITLE if is_title else looks.TONES[each.tone].colour
    look = looks.RIGHT._replace(colour=colour)
    found = []
    for text, least in ((each.middle, MIDDLE), (each.right, NUMBER)):
        if text:
            width = max(int(width_of(text, look)) + 8, least if each.bar is not None else 0)
            found.append((width, cell(line(font(text, look), RIGHT), align="right", width=width)))
    if each.bar is not None:
        found.append((BAR_WIDTH + 6, _bar(each.bar)))
    if each.bars:
        found.append((7 * len(each.bars) + 6, _bars(each.bars)))
    if each.bins:
        found.append((BIN_WIDTH * len(each.bins) + 6, _histogram(each.bins)))
    return found


def _bar(share: float) -> str:
    full = max(1, round(share * BAR_WIDTH))
    cells = [fixed(full, 7, bgcolor=looks.BAR)]
    if full < BAR_WIDTH:
        cells.append(fixed(BAR_WIDTH - full, 7, bgcolor=looks.BAR_BED))
    return cell(table(row(*cells)), width=BAR_WIDTH + 6)


def _chart(shares: Sequence[float], width: int) -> str:
    """Write one upright bar beside the other, in all as wide as a row."""
    edges = [round(k * width / len(shares)) for k in range(len(shares) + 1)]
    gap = 1 if width > 3 * len(shares) else 0
    columns = []
    for share, (left, right) in zip(shares, pairwise(edges), strict=True):
        full = round(share * CHART_HEIGHT)
        parts = ((CHART_HEIGHT - full, looks.BAR_BED), (full, looks.BAR))
        wide = max(right - left - gap, 1)
        rows = [row(fixed(wide, high, bgcolor=fill)) for high, fill in parts if high]
        columns.append(cell(table(*rows), width=max(right - left, 1), align="left"))
    return table(row(*columns))


def _histogram(bins: Sequence[int]) -> str:
    """Write a histogram as it stands on a card of one tensor. What is of some has a bar."""
    columns = []
    for n in bins:
        full = math.ceil(n * BARS_HEIGHT / max(bins))
        parts = ((BARS_HEIGHT - full, theme.BAR_BED), (full, theme.BAR))
        rows = [row(fixed(BIN_WIDTH - 1, high, bgcolor=fill)) for high, fill in parts if high]
        columns.append(cell(table(*rows), width=BIN_WIDTH))
    return cell(table(row(*columns)))


def _bars(shares: Iterable[float]) -> str:
    columns = []
    for share in shares:
        full = max(1, round(share * BARS_HEIGHT))
        rest = BARS_HEIGHT - full
        above = [row(fixed(5, rest, bgcolor=looks.BAR_BED))] if rest else []
        columns.append(cell(table(*above, row(fixed(5, full, bgcolor=looks.BAR)))))
    return cell(table(row(*columns), cellspacing=1))


# --- text -----------------------------------------------------------------------------------------


def _spans(each: Row, room: int) -> str:
    """Write the text of a row in the longest wording that has room; what comes last gives way
    first."""
    fonts = [_look(span, each.tone) for span in each.left]
    texts = [span.text for span in each.left]
    for k in reversed(range(len(texts))):
        for wording in (each.left[k].text, *each.left[k].shorter):
            texts[k] = wording
            if _widths(texts, fonts) <= room:
                return _joined(texts, fonts)
        rest = _widths(texts, fonts) - width_of(texts[k], fonts[k])
        texts[k] = shortened(texts[k], room - rest, fonts[k])
        if k and (len(texts[k]) < WORD or _is_scrap(texts[k], each.left[k])):
            texts[k] = ""
        if _widths(texts, fonts) <= room:
            break
    return _joined(texts, fonts)


def _is_scrap(cut: str, span: Span) -> bool:
    """Say whether so little of a class is left that it is hard to know."""
    whole = (span.text, *span.shorter)[-1]
    return whole.isidentifier() and len(cut) <= MOST_OF_A_WORD * len(whole)


def _widths(texts: Sequence[str], fonts: Sequence[SpanLook]) -> float:
    pairs = zip(texts, fonts, strict=True)
    return sum(width_of(text, look) + 6 for text, look in pairs if text)


def _joined(texts: Sequence[str], fonts: Sequence[SpanLook]) -> str:
    pairs = enumerate(zip(texts, fonts, strict=True))
    return "".join(font(("  " if k else "") + text, look) for k, (text, look) in pairs if text)


def _look(span: Span, tone: Tone) -> SpanLook:
    look = looks.SPANS[span.look]
    if tone is Tone.TITLE and span.look == "name":
        return looks.TITLE_NAME
    return look if look.colour else look._replace(colour=looks.TONES[tone].colour)


def _chip(lines: Sequence[str], look: theme.ChipLook, here: str = "") -> str:
    text_look = SpanLook(theme.STATE_SIZE, bold=True, colour=look.colour)
    longest = max(width_of(text, text_look) for text in (*lines, here))
    width = int(longest) + 8
    text = "<br/>".join(font(text, text_look) for text in lines)
    chip = cell(text, style="rounded", bgcolor=look.fill, width=width)
    pointed = _chip_below(here, width) if here else []
    return label(table(row(cell(width=2), chip), *pointed, cellpadding=2))


def _chip_below(text: str, width: int) -> list[str]:
    look = looks.CHIP_HERE
    text_look = SpanLook(theme.STATE_SIZE, bold=True, colour=look.colour)
    chip = cell(font(text, text_look), style="rounded", bgcolor=look.fill, width=width)
    return [row(cell(width=2), chip)]


# --- arrows ---------------------------------------------------------------------------------------


def _edges(outline: Outline, layout: Layout) -> list[str]:
    """Write the arrows: by the card that makes, then as its users stand, gradients first."""

    def order(numbered: tuple[int, Arrow]) -> tuple[int, int, int, int]:
        arrow = numbered[1]
        below = layout.slots.get(arrow.tail, Slots()).below
        at = below.index(arrow.head) if arrow.head in below else len(below)
        return arrow.tail, at, arrow.head, ORDER[arrow.kind]

    cards = {card.id: card for card in outline.cards}
    numbered = sorted(enumerate(outline.arrows), key=order)
    return [_edge(k, arrow, layout, cards) for k, arrow in numbered]


def _edge(k: int, arrow: Arrow, layout: Layout, cards: Mapping[int, Card]) -> str:
    river = arrow.kind in RIVERS
    below = layout.slots.get(arrow.tail, Slots()).below
    above = layout.slots.get(arrow.head, Slots()).above
    tail = _port(cards[arrow.tail], below, arrow.head, "b", river)
    head = _port(cards[arrow.head], above, arrow.tail, "t", river)
    attributes = {
        "key": f"e{k}",
        "id": f"e{k}",
        "class": " ".join([arrow.kind, *["loses"] * arrow.loses, *["zeros"] * arrow.zeros]),
        **looks.ARROWS[arrow.kind],
        **(looks.ZEROS if arrow.zeros else {}),
        "weight": SPINE if arrow.spine else INPUT if cards[arrow.tail].narrow else OTHER,
        "label": _arrow_chip(arrow),
    }
    return f"n{arrow.tail}{tail} -> n{arrow.head}{head} {_listed(attributes)};"


def _port(card: Card, neighbours: tuple[int, ...], other: int, edge: str, river: bool) -> str:
    """Return where an arrow meets a card: in its slot, at its rail, or anywhere."""
    side = "n" if edge == "t" else "s"
    if other in neighbours:
        return f":{edge}{neighbours.index(other)}{'o' if river else 'f'}:{side}"
    if not river:
        return ""
    is_whole = len({each.rail for each in card.rows}) == 1 and not card.ends
    return f":g:{side}" if is_whole else f":g{edge}:{side}"


def _arrow_chip(arrow: Arrow) -> str:
    if not arrow.label:
        return ""
    if arrow.kind == "gradient":
        return _chip(arrow.label, looks.CHIP_LOSES if arrow.zeros else looks.CHIP_GRADIENT)
    look = looks.CHIP_LOSES if arrow.loses else looks.CHIP_CUT
    if arrow.here:
        return _chip(arrow.label[:-1], look, arrow.label[-1])
    return _chip(arrow.label, look)


# --- headline and legend --------------------------------------------------------------------------


def _head(outline: Outline, layout: Layout) -> str:
    headline, width = outline.headline, layout.head
    mark = "✂" if outline.is_recorded else "?"
    lines = broken(headline.title, width - 10.0, looks.HEAD)
    rows = [_head_row((Span(text),), looks.HEAD, width) for text in lines]
    if headline.strip:
        strip = _all_parameters(headline, mark, width - HEAD_WIDTH + STRIP_WIDTH)
        rows.append(row(cell(strip, align="left")))
    for spans in headline.lines:
        first, *others = _broken(spans, looks.HEAD_LINE, width)
        rows.append(_head_row(first, looks.HEAD_LINE, width))
        rows += [_head_row(some, looks.HEAD_LINE, width, INDENT) for some in others]
    inside = table(*rows, cellpadding=2, width=width)
    return label(table(row(cell(inside)), cellpadding=7, bgcolor=looks.PAPER, style="rounded"))


def _broken(spans: Sequence[Span], look: SpanLook, width: int) -> list[list[Span]]:
    """Break a line of the headline between words where it has no room."""
    lines: list[list[Span]] = [[]]
    room = width - 10.0
    for span in spans:
        text_look = look if span.look == "plain" else looks.SPANS[span.look]
        text = ""
        for word in span.text.split(" "):
            longer = f"{text} {word}" if text else word
            if width_of(longer, text_look) + 8 > room and (text or lines[-1]):
                lines[-1] += [span._replace(text=text)] if text else []
                lines.append([])
                room, longer = width - 10.0 - INDENT, word
            text = longer
        lines[-1].append(span._replace(text=text))
        room -= width_of(text, text_look) + 8
    return lines


def _head_row(spans: Sequence[Span], look: SpanLook, head_width: int, indent: int = 0) -> str:
    room = head_width - 10.0 - indent
    cells = [cell(width=indent)] if indent else []
    for span in spans:
        style = looks.SPANS[span.look]
        text_look = look if span.look == "plain" else style
        text = shortened(span.text, room, text_look)
        width = int(width_of(text, text_look)) + 6
        room -= width
        cells.append(cell(line(font(text, text_look)), align="left", width=width))
    filler = cell(width=max(int(room), 1))
    return row(cell(table(row(*cells, filler)), align="left"))


def _all_parameters(headline: Headline, mark: str, strip_width: int) -> str:
    """Write the strip of all parameters, in module order; the mark stands where a cut is."""
    total = sum(part.n for part in headline.strip)
    cuts = sum(part.rail is None for part in headline.strip)
    with_scissors = cuts <= SCISSORS
    room = strip_width - (12 * cuts if with_scissors else 0)
    least = 2 if len(headline.strip) > MANY else 4
    cells = []
    for part in headline.strip:
        if part.rail is not None:
            width = max(least, round(room * part.n / total))
            cells.append(fixed(width, RAIL, **looks.STRIPS[part.rail]))
        elif with_scissors:
            cells.append(cell(font(mark, looks.SCISSORS)))
    return table(row(*cells, cell(width=10)), cellspacing=1)


def _legend(outline: Outline) -> str:
    last = "" if outline.is_recorded else _words(say("outline.not_recorded"))
    rows = [_legend_row(cells) for cells in (_strokes(outline), _signs(outline), last) if cells]
    return label(table(*rows, cellpadding=1)) if rows else ""  # Graphviz takes no empty table


def _strokes(outline: Outline) -> str:
    """Write the first line of the legend: arrows, cards and frames."""
    kinds = {arrow.kind for arrow in outline.arrows}
    there = {
        "forward": "forward" in kinds,
        "gradient": "gradient" in kinds,
        "edge": "can" in kinds,
        "cut": "cut" in kinds,
        "untracked": any(not card.tracked for card in outline.cards),
        "region": any(frame.kind == "no_grad" for frame in outline.frames),
    }
    return "".join(
        _words(say(f"legend.{kind}"), theme.LEGEND_STROKES.get(kind, theme.LEGEND_INK))
        for kind, is_there in there.items()
        if is_there
    )


def _signs(outline: Outline) -> str:
    """Write the second line of the legend: rails and numbers."""
    rails = {each.rail for card in outline.cards for each in card.rows}
    frozen = say("outline.sign_passes" if Rail.PASSES in rails else "outline.sign_frozen")
    if any(part.rail is Rail.PASSES for part in outline.headline.strip):
        rails.add(Rail.PASSES)
    none, end, comes = say("outline.sign_none"), say("outline.sign_ends"), Rail.COMES
    if not outline.is_recorded:
        none, end = say("outline.sign_unreached"), say("outline.sign_can_end")
        comes = Rail.CAN
    signs = {
        Rail.COMES: say("outline.sign_comes"),
        Rail.NONE: none,
        Rail.CAN: say("outline.sign_can"),
        Rail.PASSES: frozen,
    }
    size = {"height": 14, "fixedsize": "true"}
    found = [_sign(_rail(r, 1, "", **size), text) for r, text in signs.items() if r in rails]
    if any(card.ends for card in outline.cards):
        bar = row(cell(width=RAIL, height=looks.ENDS_HEIGHT, bgcolor=looks.STOP))
        bed = row(cell(width=RAIL, height=10, **looks.RAILS[comes]))
        found.append(_sign(cell(table(bar, bed), width=RAIL), end))
    return "".join(found) + _signs_in_words(outline)


def _signs_in_words(outline: Outline) -> str:
    """Write those signs of the legend that have no rail beside them."""
    has_bins = any(each.bins for card in outline.cards for each in card.rows)
    signs = (
        (say("outline.sign_opened"), any(frame.kind == "opened" for frame in outline.frames)),
        (say("outline.sign_number"), outline.measured),
        (say("outline.sign_bins"), has_bins),
    )
    return "".join(_words(words) for words, is_there in signs if is_there)


def _legend_row(cells: str) -> str:
    inside = table(row(cells, cell(width=5)), cellpadding=2, bgcolor=looks.PAPER, style="rounded")
    return row(cell(inside))


def _words(text: str, colour: str = "#333333") -> str:
    return cell(width=5) + cell(font(text, looks.RIGHT._replace(colour=colour)))


def _sign(bed: str, text: str) -> str:
    words = cell(font(text, looks.RIGHT))
    return cell(width=5) + cell(table(row(bed, cell(width=4), words)))
