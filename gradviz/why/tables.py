"""Small tables of words, as text and as HTML. Knows no torch."""

from __future__ import annotations

import html
from collections.abc import Sequence

from gradviz.picture.scene import LINES
from gradviz.words.plain import visible
from gradviz.words.speech import say

CELL = 200  # characters of one cell


def shown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the cells that fit: the last row says how many more there are."""
    lines = [list(head), *([visible(cell, CELL) for cell in row] for row in rows[:LINES])]
    if len(rows) > LINES:
        more = say("answer_table.more_rows", n=f"{len(rows) - LINES:,}")
        lines.append([more, *[""] * (len(head) - 1)])
    return lines


def heads(keys: Sequence[str]) -> list[str]:
    """Return the titles of columns.

    >>> heads(["parameter", "requires_grad"])
    ['parameter', 'requires_grad']
    """
    return [say(f"answer_column.{key}") for key in keys]


def verdict_word(verdict: str) -> str:
    """Return a verdict of a row as it is shown.

    >>> verdict_word("not known")
    'not known'
    """
    return say(f"verdict.{verdict.replace(' ', '_')}")


def as_text(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as aligned columns.

    Args:
        head: a title a column.
        rows: as many cells each.

    Returns:
        The lines; "" where there is no row.

    Example:
        >>> print(as_text(["name", "verdict"], [["w", "moves"], ["bias", "stays"]]))
        name  verdict
        w     moves
        bias  stays
    """
    if not rows:
        return ""
    lines = shown(head, rows)
    widths = [
        max(map(len, column))
        for column in zip(*(line for line in lines if any(line[1:])), strict=True)
    ]
    return "\n".join(
        "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def as_html(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the same as an HTML table. Every word of it is escaped.

    >>> print(as_html("t", ["name"], [["<b>"]]))
    <p>t</p><table>
    <tr><th style="text-align: left">name</th></tr>
    <tr><td style="text-align: left">&lt;b&gt;</td></tr></table>
    """
    first, *rest = shown(head, rows)
    lines = [_row("th", first), *(_row("td", line) for line in rest)] if rows else []
    table = "\n".join(["<table>", *lines]) + "</table>" if lines else ""
    return f"<p>{html.escape(visible(title, 1000))}</p>{table}"


def _row(tag: str, cells: Sequence[str]) -> str:
    """Return one row, read from the left: JupyterLab sets the cells of tables from the right."""
    opening = f'<{tag} style="text-align: left">'
    return f"<tr>{''.join(f'{opening}{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"
