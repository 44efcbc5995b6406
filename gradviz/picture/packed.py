"""A book as a page or a widget is given it: deflated JSON in which what states repeat stands once.

One click changes a card or two, so the pictures of a scenario's states are mostly the same text.
Deflating alone looks back 32 kB only, which is about one picture.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

LONG = ("svg", "narrow", "text")  # parts of a state that are cut into lines


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
    pieces: dict[str, int] = {}
    states = [state | _cut(state, pieces) for state in book["states"]]
    whole = {**book, "states": states, "pieces": list(pieces)}
    return zlib.compress(json.dumps(whole, separators=(",", ":"), sort_keys=True).encode(), level)


def _cut(state: dict[str, Any], pieces: dict[str, int]) -> dict[str, list[int]]:
    """Return the long texts of a state as places of their pieces; note new pieces."""
    return {
        part: [
            pieces.setdefault(piece, len(pieces)) for piece in state[part].splitlines(keepends=True)
        ]
        for part in LONG
        if part in state
    }
