"""Scene -> DOT text. The same scene gives the same bytes in every process.

Text of the user's only ever stands in HTML-like labels, through ``escape``; node ids are ``n<int>`` and only
attributes of ``ALLOWED`` are written, so no text can become an attribute, a tag, a link or a file name.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

from . import theme
from .levels import Plan, plan
from .scene import Arrow, Box, Card, Row, Scene
from .theme import RowLook, text_width, visible

ALLOWED = frozenset(
    "arrowhead arrowsize arrowtail bgcolor class color dir fillcolor fontname fontsize fontcolor id key label "
    "labeljust labelloc margin minlen newrank nodesep pad penwidth rank ranksep rankdir shape style weight".split()
)
CHIP_CHARS = 20
ROWS = (600, 520, 450, 380, 310, 240)  # points that the cards of one row may take; the rest is for arrows that pass
MAIN, COLUMN, NEAR = 30, 8, 8  # weights of the longest way, of cards under each other, of a name at its node
NOTE = RowLook(theme.STATE_SIZE, "#333333")
BREAKS = ")]}=·→+("


def escape(text: str) -> str:
    """User text as the content of an HTML-like label. Graphviz replaces ``\\N`` and ``\\G`` even in those."""
    return html.escape(visible(text), quote=True).replace("\\", "\\\\")


def wrap(text: str, chars: int, lines: int) -> list[str]:
    """Break text into at most ``lines`` lines of at most ``chars``; what does not fit ends in an ellipsis.

    >>> wrap("loss = torch.nn.functional.mse_loss(model(x), y)", 30, 2)
    ['loss = torch.nn.functional', '.mse_loss(model(x), y)']
    """
    out: list[str] = []
    text = visible(text)
    while len(text) > chars and len(out) < lines - 1:
        cut = max(range(chars // 3, chars + 1), key=lambda i: _break_here(text, i))
        out.append(text[:cut].rstrip())
        text = text[cut:].lstrip()
    return [*out, text if len(text) <= chars else text[: chars - 1] + "…"]


def _break_here(text: str, i: int) -> int:
    """How good a place ``i`` is for a line break: late in the line, after a space or comma, before a dot."""
    if len(text) - i < 4:
        return -1
    if text[i - 1] in " ," or (text[i] == "." and not text[i + 1 : i + 2].isdigit()):
        return i + 40
    return i + 25 if text[i - 1] in BREAKS else i


def dot(scene: Scene, row: float = ROWS[0]) -> str:
    """The DOT source of a scene.

    Args:
        scene: cards, arrows and frames; folded already if it has to be.
        row: points that the cards of one row may take; a smaller number makes a narrower, longer picture.

    Returns:
        Text for Graphviz, ending in a newline.
    """
    flat = {box for box in scene.boxes if box.flat and _fits_flat(box, scene)}
    lines = [
        "digraph {",
        "  " + _attributes(rankdir="TB", newrank="true", bgcolor="transparent", nodesep=0.25, ranksep=0.34, pad=0.06,
                           labelloc="b", fontname=theme.SANS, fontsize=theme.STATE_SIZE, label=_footer(scene), sep=";"),
        f"  node [{_attributes(shape='plain', fontname=theme.SANS, fontsize=theme.VALUE_SIZE)}];",
        f"  edge [{_attributes(fontname=theme.SANS, fontsize=theme.STATE_SIZE, arrowsize=0.8)}];",
    ]  # fmt: skip
    lines += _boxes(scene, flat)
    framed = {i for box in scene.boxes for i in box.members}
    lines += [_card(c) for c in scene.cards if c.id not in framed]
    beside = [(box.members[0], box.members[1]) for box in flat]
    rows = _plan(scene, beside, row)
    for i, a in enumerate(scene.arrows):
        link = (a.tail, a.head)
        lines.append(_arrow(i, a, link in beside, MAIN if link in rows.main else 1, rows.spans[i]))
    lines += [f"  n{upper} -> n{lower} [{_attributes(style='invis', weight=COLUMN)}];" for upper, lower in rows.columns]
    return "\n".join([*lines, "}"]) + "\n"


def _attributes(*, sep: str = " ", **given: Any) -> str:
    unknown = given.keys() - ALLOWED
    if unknown:
        raise ValueError(f"not on the list of attributes that may be drawn: {sorted(unknown)}")
    return f"{sep} ".join(f"{k}={_value(v)}" for k, v in given.items() if v != "") + (sep if sep != " " else "")


def _value(value: Any) -> str:
    text = str(value)
    if text.startswith("<<"):
        return text
    if isinstance(value, (int, float)):
        return f"{value:g}"
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# --- cards ------------------------------------------------------------------------------------------------------------


def _card(card: Card) -> str:
    look = theme.CARDS[card.kind]
    style = "rounded,dashed" if look.dashed else "rounded"
    body = "".join(_strip(strip) for strip in _strips(card.rows))
    return (
        f'  n{card.id} [id="n{card.id}" label=<<table border="{look.thick:g}" cellborder="0" cellspacing="2" '
        f'cellpadding="2" style="{style}" color="{look.line}" bgcolor="{look.fill}">{body}</table>>];'
    )


def _strips(rows: Iterable[Row]) -> list[list[Row]]:
    """Rows of one kind that follow each other share one coloured strip."""
    strips: list[list[Row]] = []
    for row in rows:
        if strips and strips[-1][0].kind == row.kind:
            strips[-1].append(row)
        else:
            strips.append([row])
    return strips


def _strip(rows: list[Row]) -> str:
    look = theme.ROWS[rows[0].kind]
    lines = [line for row in rows for line in wrap(row.text, look.chars, look.lines)]
    width = max(_width(line, look) for line in lines) + 8
    if not look.fill:
        return "".join(f'<tr><td width="{width:.0f}">{_text(line, look)}</td></tr>' for line in lines)
    fill = f'bgcolor="{look.fill}" style="rounded"'
    return f'<tr><td width="{width:.0f}" {fill}>' + "<br/>".join(_text(line, look) for line in lines) + "</td></tr>"


def _text(line: str, look: RowLook) -> str:
    text = escape(line) or " "
    face = f' face="{theme.MONO}"' if look.mono else ""
    text = f"<b>{text}</b>" if look.bold else text
    return f'<font{face} point-size="{look.size}" color="{look.colour}">{text}</font>'


def _width(line: str, look: RowLook) -> float:
    return text_width(line, size=look.size, bold=look.bold, mono=look.mono)


def card_width(card: Card) -> float:
    """Points that a card takes across the page."""
    widths = [
        _width(line, theme.ROWS[r.kind])
        for r in card.rows
        for line in wrap(r.text, theme.ROWS[r.kind].chars, theme.ROWS[r.kind].lines)
    ]
    return max(widths, default=0) + 18


# --- frames -----------------------------------------------------------------------------------------------------------


def _fits_flat(box: Box, scene: Scene) -> bool:
    cards = {c.id: c for c in scene.cards}
    label = max((chip_width(a, one_line=True) for a in scene.arrows if (a.tail, a.head) == box.members), default=0)
    if not any((a.tail, a.head) == box.members and " " in a.label for a in scene.arrows):
        return False
    return sum(card_width(cards[i]) for i in box.members) + label + 60 <= theme.MAX_WIDTH


def _boxes(scene: Scene, flat: set[Box]) -> list[str]:
    """Frames as nested clusters, the larger ones outside."""
    cards = {c.id: c for c in scene.cards}
    order = sorted(scene.boxes, key=lambda b: (-len(b.members), b.kind))
    inside: dict[int, list[int]] = {}
    for i, box in enumerate(order):
        outer = [j for j in range(i) if set(box.members) <= set(order[j].members)]
        inside.setdefault(outer[-1] if outer else -1, []).append(i)
    drawn: set[int] = set()

    def write(i: int, indent: str) -> list[str]:
        box = order[i]
        inner = [line for j in inside.get(i, ()) for line in write(j, indent + "  ")]
        members = [m for m in box.members if m not in drawn]
        drawn.update(members)
        lines = [f"{indent}subgraph cluster_{i} {{ {_box(box, box in flat)}", *inner]
        lines += ["  " * (len(indent) // 2) + _card(cards[m]) for m in members]
        if box in flat:
            lines.append(f"{indent}  {{ rank=same; {' '.join(f'n{m};' for m in box.members)} }}")
        return [*lines, indent + "}"]

    return [line for i in inside.get(-1, ()) for line in write(i, "  ")]


def _box(box: Box, flat: bool) -> str:
    look = theme.BOXES[box.kind]
    text = box.label if flat else box.label.replace(", ", " · ").replace(": ", " · ")  # two lines, beside an arrow
    return _attributes(
        style=look.style, color=look.line, fillcolor=look.fill if "filled" in look.style else "", penwidth=look.thick,
        labeljust="r", labelloc="t", margin=10, label=_chip(text, look.chip, one_line=flat), sep=";",
    )  # fmt: skip


# --- arrows and chips -------------------------------------------------------------------------------------------------


def _arrow(number: int, arrow: Arrow, flat: bool, weight: int, span: int) -> str:
    """Forward is drawn in rank order; a gradient beside it is the second colour of the same edge.

    One edge for both keeps the two lines parallel and halves the layout's work; ``render`` moves them apart and
    gives each its own width.
    """
    label = _chip(_label(arrow), theme.CHIPS[arrow.kind], one_line=flat) if _label(arrow) else ""
    given = {"key": f"e{number}", "id": f"e{number}", "class": arrow.kind, **_lines(arrow), "label": label}
    given["minlen"] = 2 if flat else span if span > 1 else ""
    given["weight"] = NEAR if arrow.kind == "of" else weight if weight > 1 else ""
    return f"  n{arrow.tail} -> n{arrow.head} [{_attributes(**given)}];"


def _lines(arrow: Arrow) -> dict[str, Any]:
    """Line and heads of one kind of arrow. A bar or an open head stands at the tail, a filled head at the head."""
    forward, back = theme.FORWARD, {"gradient": theme.GRADIENT, "raise": theme.RAISE}.get(arrow.kind)
    if back:
        bar = "tee" if arrow.kind == "raise" else "vee"
        return {"dir": "both", "arrowtail": bar, "arrowhead": "normal", "color": f"{forward.colour}:{back.colour}"}
    if arrow.kind == "cut":
        cut = {"dir": "both", "arrowtail": "tee", "arrowhead": "normal", "style": "dashed"}
        return {**cut, "penwidth": theme.CUT.width, "color": theme.CUT.colour}
    if arrow.kind == "edge":
        return {"dir": "back", "arrowtail": "vee", "color": theme.EDGE.colour, "penwidth": theme.EDGE.width}
    if arrow.kind == "of":
        return {"dir": "none", "style": "dashed", "color": theme.OF.colour}
    return {"color": forward.colour, "penwidth": forward.width}


def _label(arrow: Arrow) -> str:
    return " · ".join(part for part in (arrow.mark, arrow.label) if part)


def _chip_lines(text: str, one_line: bool = False) -> list[str]:
    """A reason and what follows from it stand under each other, unless the chip lies along a level arrow."""
    if one_line:
        return wrap(text, 60, 1)
    return [line for part in text.split(" · ") for line in wrap(part, CHIP_CHARS, 2)]


def _chip(text: str, look: theme.ChipLook, one_line: bool = False) -> str:
    row = RowLook(theme.STATE_SIZE, look.colour, bold=True)
    lines = _chip_lines(text, one_line)
    width = max(_width(line, row) for line in lines)
    text = "<br/>".join(_text(line, row) for line in lines)
    return (
        '<<table border="0" cellborder="0" cellspacing="0" cellpadding="2"><tr><td style="rounded" '
        f'bgcolor="{look.fill}" width="{width + 6:.0f}">{text}</td></tr></table>>'
    )


def chip_width(arrow: Arrow, one_line: bool = False) -> float:
    """Points that an arrow's chip takes across the page."""
    lines = _chip_lines(_label(arrow), one_line) if _label(arrow) else [""]
    return max(text_width(line, size=theme.STATE_SIZE, bold=True) for line in lines) + 10


def _plan(scene: Scene, beside: list[tuple[int, int]], row: float) -> Plan:
    widths = {c.id: card_width(c) for c in scene.cards}
    chips: dict[int, float] = {}
    for a in scene.arrows:
        if (a.tail, a.head) in beside:
            widths[a.head] += chip_width(a, one_line=True)
        elif _label(a):
            chips[a.head] = chips.get(a.head, 0) + chip_width(a) + 8
    widths = {i: max(width, chips.get(i, 0)) for i, width in widths.items()}
    links = [(a.tail, a.head) for a in scene.arrows]
    back = {(a.tail, a.head) for a in scene.arrows if a.kind in ("gradient", "raise", "edge")}
    return plan(widths, links, beside, back or set(links), row)


# --- legend and notes -------------------------------------------------------------------------------------------------


def _footer(scene: Scene) -> str:
    """The legend, on one line where there is room, and the notes under it."""
    lines: list[list[str]] = [[]]
    for sign in scene.legend:
        if sum(map(_sign_width, [*lines[-1], sign])) > theme.MAX_WIDTH - 12:
            lines.append([])
        lines[-1].append(sign)
    rows = ["".join(map(_sign, line)) for line in lines if line]
    notes = [line for note in scene.notes for line in wrap(note, 90, 3)]
    rows += [f"<td>{_text(line, NOTE)}</td>" for line in notes]
    if not rows:
        return ""
    tables = "".join(
        f'<tr><td><table border="0" cellborder="0" cellspacing="0" cellpadding="3" bgcolor="#f6f6f6" style="rounded">'
        f"<tr>{row}</tr></table></td></tr>" for row in rows
    )  # fmt: skip
    return f'<<table border="0" cellborder="0" cellspacing="0" cellpadding="1">{tables}</table>>'


def _sign(sign: str) -> str:
    look = NOTE._replace(colour=theme.LEGEND_STROKES.get(sign, NOTE.colour))
    return f'<td width="{_sign_width(sign):.0f}" bgcolor="#f6f6f6">{_text(theme.LEGEND[sign], look)}</td>'


def _sign_width(sign: str) -> float:
    return _width(theme.LEGEND[sign], NOTE) + 14
