"""What stands under a picture: its legend, and its notes."""

from __future__ import annotations

from gradviz.picture import theme
from gradviz.picture.line_breaks import wrap
from gradviz.picture.markup import grid, measured, written
from gradviz.picture.scene import Arrow, Box, Card, Scene
from gradviz.picture.theme import RowLook
from gradviz.words.speech import say

NOTE = RowLook(theme.STATE_SIZE, theme.LEGEND_INK)


def footer(scene: Scene, is_narrow: bool) -> str:
    """Write the legend, on one line where there is room, and the notes under it."""
    if scene.is_bare:
        return ""
    width = theme.NARROW_LEGEND_WIDTH if is_narrow else theme.LEGEND_WIDTH
    rows = ["".join(map(_sign, line)) for line in _legend_lines(signs(scene), width)]
    chars, most = (45, 6) if is_narrow else (90, 3)
    notes = [line for note in scene.notes for line in wrap(note, chars, most)]
    rows += [f"<td{_width_at_least(line)}>{written(line, NOTE)}</td>" for line in notes]
    if not rows:
        return ""
    look = ' bgcolor="#f6f6f6" style="rounded"'
    tables = "".join(f"<tr><td>{grid(f'<tr>{row}</tr>', 3, look)}</td></tr>" for row in rows)
    return f"<{grid(tables, 1)}>"


def _width_at_least(line: str) -> str:
    """Write the room of a note: a browser's letters may be wider than an engine's."""
    return f' width="{round(measured(line, NOTE) + 12)}"'


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
    text = written(say(f"legend.{sign}"), look)
    return f'<td width="{_sign_width(sign):.0f}" bgcolor="#f6f6f6">{text}</td>'


def _sign_width(sign: str) -> float:
    """Measure a sign of the legend, in points."""
    return measured(say(f"legend.{sign}"), NOTE) + 14
