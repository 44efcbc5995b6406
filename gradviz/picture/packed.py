"""A book as a page or a widget is given it: deflated JSON in which what states repeat stands once.

One click changes a card or two, so the pictures of a scenario's states are mostly the same text.
Deflating alone looks back 32 kB only, which is about one picture. Where cards moved, the lines that
draw them differ in where they begin only, so the points of a path are written as steps from one to
the next, and what is alike stands together. What the ids of a picture begin with, another in each,
stands once, before its lines. A page with many states has half of the size by all of that.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from typing import Any

DRAWN = ("svg", "narrow")  # parts of a state that are pictures
LONG = (*DRAWN, "text")  # parts that are cut into lines

# As Graphviz writes them, in hundredths; any other number is left alone.
_NUMBER = r"(?:0|-?[1-9]\d*(?:\.\d?[1-9])?|-?0\.\d?[1-9])"
_POINT = rf"{_NUMBER},{_NUMBER}"
_ID = re.compile(r'<g id="(g[0-9a-f]{8}-)')
_CURVES = re.compile(rf' d="M({_POINT})C({_POINT}(?: {_POINT})*)"')


def packed(book: dict[str, Any], level: int = 9) -> bytes:
    """Return a book for ``frontend/src/packed.js``, which restores it; the same bytes for the same
    book.

    Args:
        book: plain data for JSON. Of each of its "states" the long texts become lists of places in
            "pieces".
        level: of zlib; a higher one is smaller and slower.

    Example:
        >>> lines = {"svg": "", "text": "a line of the text that all states have\\n"}
        >>> len(packed({"states": [lines] * 1000})) < 200
        True
    """
    cut = [dict(_cut(state)) for state in book["states"]]
    pieces = sorted({piece for parts in cut for part in parts.values() for piece in part})
    places = {piece: place for place, piece in enumerate(pieces)}
    states = [
        state | {name: [places[piece] for piece in part] for name, part in parts.items()}
        for state, parts in zip(book["states"], cut, strict=True)
    ]
    whole = {**book, "states": states, "pieces": pieces}
    return zlib.compress(json.dumps(whole, separators=(",", ":"), sort_keys=True).encode(), level)


def _cut(state: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield the long texts of a state by name, as their pieces."""
    for name in LONG:
        if name in state:
            lines = state[name].splitlines(keepends=True)
            yield name, _drawn(lines) if name in DRAWN else lines


def _drawn(lines: list[str]) -> list[str]:
    """Return what the ids of a picture begin with, and its lines without that.

    Example:
        >>> _drawn(['<g id="g0123abcd-n0" class="node">'])
        ['g0123abcd-', '<g id="~n0" class="node">']
    """
    prefix = next((found[1] for line in lines if (found := _ID.match(line))), "")
    begin = f'<g id="{prefix}'
    without = (
        f'<g id="~{line.removeprefix(begin)}' if prefix and line.startswith(begin) else line
        for line in lines
    )
    return [prefix, *map(_in_steps, without)]


def _in_steps(line: str) -> str:
    """Return a line of a picture with the points of its path as steps, in hundredths.

    Example:
        >>> _in_steps('<path d="M64.86,-1C64.86,-1 82.86,-1 82.9,0"/>')
        '<path d="~6486 -100 0 0 1800 0 4 100"/>'
    """
    return _CURVES.sub(_steps, line, count=1) if line.startswith("<path ") else line


def _steps(curves: re.Match[str]) -> str:
    """Write the points of a path, each as far from the one before it."""
    numbers = [round(100 * float(n)) for n in re.split("[, ]", f"{curves[1]} {curves[2]}")]
    before = [0, 0, *numbers]
    return ' d="~{}"'.format(" ".join(str(n - b) for n, b in zip(numbers, before, strict=False)))
