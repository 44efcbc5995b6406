"""A book as a page or a widget is given it: deflated JSON in which what states repeat stands once.

One click changes a card or two, so the pictures of a scenario's states are mostly the same text.
Deflating alone looks back 32 kB only, which is about one picture.
"""

from __future__ import annotations

import json
import re
import zlib
from typing import Any

PIECES = "$pieces"  # key of a text that is written as the places of its pieces
SHORTEST = 40  # letters of a text that is cut into pieces
CUT = re.compile(r"(?=<g )|(?<=\n)")  # before a card or an arrow, and behind a line


def packed(book: dict[str, Any], level: int = 9) -> bytes:
    """Return a book for ``frontend/src/packed.js``, which restores it; the same bytes for the same
    book.

    Args:
        book: plain data for JSON.
        level: of zlib; a higher one is smaller and slower.

    Example:
        >>> many = {"states": ["a line of the text that all states have\\n"] * 1000}
        >>> len(packed(many)) < 3000
        True
    """
    pieces: dict[str, int] = {}
    shared = _shared(book, pieces)
    whole = {"pieces": list(pieces), "book": shared}
    return zlib.compress(json.dumps(whole, separators=(",", ":"), sort_keys=True).encode(), level)


def _shared(value: Any, pieces: dict[str, int]) -> Any:
    """Return a value with the places of pieces in the place of long texts; note new pieces."""
    if isinstance(value, str) and len(value) >= SHORTEST:
        return {PIECES: [pieces.setdefault(piece, len(pieces)) for piece in CUT.split(value)]}
    if isinstance(value, dict):
        return {key: _shared(part, pieces) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_shared(part, pieces) for part in value]
    return value
