"""Graphviz's HTML-like labels: a line in its font, how wide it is then, and tables of lines."""

from __future__ import annotations

import html

from gradviz.picture import theme
from gradviz.picture.theme import RowLook, text_width
from gradviz.words.plain import visible


def escape(text: str) -> str:
    """Write user text as the content of an HTML-like label. Graphviz replaces ``\\N`` and ``\\G``
    even in those."""
    return html.escape(visible(text), quote=True).replace("\\", "\\\\")


def written(line: str, look: RowLook) -> str:
    """Write one line in its font."""
    text = escape(line) or " "
    face = f' face="{theme.MONO}"' if look.mono else ""
    text = f"<b>{text}</b>" if look.bold else text
    return f'<font{face} point-size="{look.size}" color="{look.colour}">{text}</font>'


def measured(line: str, look: RowLook) -> float:
    """Measure one line, in points."""
    return text_width(line, size=look.size, bold=look.bold, mono=look.mono)


def grid(rows: str, padding: int, look: str = "") -> str:
    """Write a table without borders."""
    return (
        f'<table border="0" cellborder="0" cellspacing="0" cellpadding="{padding}"{look}>'
        f"{rows}</table>"
    )


def fixed(width: int, height: int) -> str:
    """Write the attributes of a size."""
    return f' fixedsize="true" width="{width}" height="{height}"'
