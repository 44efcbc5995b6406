"""Small tables of words, as text and as HTML. Knows no torch."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple

from gradviz.graph.facts import grouped
from gradviz.graph.parameter_groups import Group, grouped_by_name, parts_within
from gradviz.picture.outline.looks import TONES
from gradviz.picture.outline.scene import Tone as RowTone
from gradviz.picture.scene import LINES
from gradviz.words.plain import in_columns, visible
from gradviz.words.speech import say, several

CELL = 200  # characters of one cell
FEW = 12  # parameters that are listed one by one
MOST = 57  # lines of groups, without those that stand around them
OWN = 3  # reasons that one parameter alone has, and that are told one by one


class Tone(Enum):
    """How grave it is what a table says of a parameter, the gravest first."""

    WRONG = "✗"
    ODD = "!"
    UNKNOWN = "?"
    FINE = "✓"
    NEUTRAL = "–"


LOOKS = {  # as rows of a picture
    Tone.WRONG: TONES[RowTone.LOST],
    Tone.ODD: TONES[RowTone.ALARM],
    Tone.FINE: TONES[RowTone.GETS],
}


class Known(NamedTuple):
    """What a table says of one parameter: those of which it says the same are one section."""

    tone: Tone
    of: str  # what the section is part of: a loss
    verdict: str
    why: str
    apart: str = ""  # what its groups do not share: the group of an optimizer


class Line(NamedTuple):
    """One line of a table by groups. ``level``: 0 of a section, then of a group, then within it."""

    level: int
    cells: tuple[str, ...]
    tone: Tone


def by_groups(
    names: Sequence[str], known: Sequence[Known], cells: Callable[[Sequence[int]], Sequence[str]]
) -> list[Line]:
    """Return the lines of a table that lists parameters by what is said of them, then by module.
    The gravest stand first; what is wrong is opened where there is room.

    Args:
        names: of the parameters.
        known: of each.
        cells: what stands beside the name of a group, by the places of its members.
    """
    keys = _pooled(known)
    groups = grouped_by_name(names, keys)
    sections = sorted(
        grouped((keys[group.members[0]]._replace(apart=""), group) for group in groups).items(),
        key=lambda section: list(Tone).index(section[0].tone),
    )
    room = MOST - len(groups) - len(sections)
    lines: list[Line] = []

    def add(level: int, group: Group, tone: Tone) -> None:
        lines.append(Line(level, (group.name, *cells(group.members)), tone))

    for key, inside in sections:
        empty = [""] * len(cells(inside[0].members))
        lines.append(Line(0, (_title(key), *empty), key.tone))
        for group in inside:
            add(1, group, key.tone)
            parts = parts_within(group, names) if key.tone in (Tone.WRONG, Tone.ODD) else []
            if len(parts) <= room:
                room -= len(parts)
                for part in parts:
                    add(2, part, key.tone)
    return lines


def _title(known: Known) -> str:
    """Return the line of a section."""
    fields = {"mark": known.tone.value, "verdict": known.verdict, "why": known.why}
    if known.of:
        fields = {**fields, "of": known.of}
        return say("answer_table.section_of" if known.why else "answer_table.bare_of", **fields)
    return say("answer_table.section" if known.why else "answer_table.bare", **fields)


def _pooled(known: Sequence[Known]) -> list[Known]:
    """Put together what is said for a reason that one parameter alone has, where these are many."""
    alike = grouped((one, i) for i, one in enumerate(known))
    alone = grouped((one._replace(why=""), i[0]) for one, i in alike.items() if len(i) == 1)
    pooled = list(known)
    for one, places in alone.items():
        if len(places) > OWN:
            why = several([known[i].why for i in places])
            for i in places:
                pooled[i] = one._replace(why=why)
    return pooled


def shown(head: Sequence[str], rows: Sequence[Sequence[str]], most: int = LINES) -> list[list[str]]:
    """Return the cells that fit: the last row says how many more there are."""
    lines = [list(head), *([visible(cell, CELL) for cell in row] for row in rows[:most])]
    if len(rows) > most:
        more = say("answer_table.more_rows", n=f"{len(rows) - most:,}")
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


def as_text(head: Sequence[str], rows: Sequence[Sequence[str]], most: int = LINES) -> str:
    """Return a table as aligned columns.

    Args:
        head: a title a column.
        rows: as many cells each.
        most: how many of them are listed.

    Returns:
        The lines; "" where there is no row.

    Example:
        >>> print(as_text(["name", "verdict"], [["w", "moves"], ["bias", "stays"]]))
        name  verdict
        w     moves
        bias  stays
    """
    return "\n".join(in_columns(shown(head, rows, most))) if rows else ""


def groups_as_text(head: Sequence[str], lines: Sequence[Line], last: str) -> str:
    """Return a table by groups as aligned columns, and a last line."""
    rows = [list(head)]
    for line in lines:
        first, *rest = (visible(cell, CELL if line.level else 500) for cell in line.cells)
        rows.append(["    " * line.level + first, *rest])
    return "\n".join([*in_columns(rows), last])


def groups_as_html(title: str, head: Sequence[str], lines: Sequence[Line], last: str) -> str:
    """Return the same as an HTML table. Every word of it is escaped."""
    rows = [_row("th", head)]
    for line in lines:
        shown = [visible(cell, CELL if line.level else 500) for cell in line.cells]
        if line.level:
            rows.append(_row("td", shown, indent=line.level))
        else:
            tone = LOOKS.get(line.tone, TONES[RowTone.OFF])
            look = f"text-align:left;color:{tone.colour};background:{tone.fill}"
            content = html.escape(shown[0])
            rows.append(f'<tr><th colspan="{len(head)}" style="{look}">{content}</th></tr>')
    table = "\n".join(["<table>", *rows]) + "</table>"
    around = (f"<p>{html.escape(visible(text, 1000))}</p>" for text in (title, last))
    return table.join(around)


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


def _row(tag: str, cells: Sequence[str], indent: int = 0) -> str:
    """Return one row, read from the left: JupyterLab sets the cells of tables from the right."""
    opening = f'<{tag} style="text-align: left">'
    first = opening.replace("left", f"left;padding-left:{1.4 * indent:.1f}em")
    return (
        "<tr>"
        + "".join(
            f"{first if indent and not at else opening}{html.escape(cell)}</{tag}>"
            for at, cell in enumerate(cells)
        )
        + "</tr>"
    )
