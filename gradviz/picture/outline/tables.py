"""Graphviz's HTML-like labels: tables of rows of cells, and text in a font."""

from __future__ import annotations

from typing import Any

from gradviz.picture import theme
from gradviz.picture.markup import escape
from gradviz.picture.outline.looks import SpanLook

LEFT, RIGHT = "left", "right"


def tag(name: str, content: str, attributes: dict[str, Any]) -> str:
    """Write one element; attributes of None or "" are left out.

    >>> tag("td", "x", {"width": 9, "port": None})
    '<td width="9">x</td>'
    """
    given = (f' {key}="{value}"' for key, value in attributes.items() if value not in (None, ""))
    return f"<{name}{''.join(given)}>{content}</{name}>"


def cell(content: str = "", **attributes: Any) -> str:
    """Write a cell. Its attributes are Graphviz's."""
    return tag("td", content, attributes)


def fixed(width: int, height: int, **attributes: Any) -> str:
    """Write an empty cell of exactly this size, in points."""
    return cell("", fixedsize="true", width=width, height=height, **attributes)


def row(*cells: str) -> str:
    """Write a row."""
    return tag("tr", "".join(cells), {})


def table(*rows: str, **attributes: Any) -> str:
    """Write a table without borders and gaps, where the attributes do not say otherwise."""
    plain = {"border": 0, "cellborder": 0, "cellspacing": 0, "cellpadding": 0}
    return tag("table", "".join(rows), {**plain, **attributes})


def label(content: str) -> str:
    """Return what stands for a label in DOT text."""
    return f"<{content}>"


def font(text: str, look: SpanLook) -> str:
    """Write text in its font."""
    content = escape(text) or " "
    content = tag("b", content, {}) if look.bold else content
    face = theme.MONO if look.mono else theme.SANS
    return tag("font", content, {"face": face, "point-size": look.size, "color": look.colour})


def line(content: str, side: str = LEFT) -> str:
    """End a line of text that stands at one side of its cell."""
    return f'{content}<br align="{side}"/>'


def width_of(text: str, look: SpanLook) -> float:
    """Return the room that text needs, in points."""
    return theme.text_width(text, size=look.size, bold=look.bold, mono=look.mono)


def shortened(text: str, room: float, look: SpanLook) -> str:
    """Return text with an ellipsis where it has no room, or "" where there is room for nothing."""
    if width_of(text, look) <= room:
        return text
    while text and width_of(text + "…", look) > room:
        text = text[:-1]
    return f"{text.rstrip()}…" if len(text) > 1 else ""


def broken(text: str, room: float, look: SpanLook) -> list[str]:
    """Return text in lines, broken between words where it has no room."""
    lines: list[str] = []
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_of(longer, look) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
