"""User text on one line, made visible and kept short. Knows no torch."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

TEXT_LIMIT = 200  # characters of one piece of user text that are ever drawn
# a list as ``preview`` writes it
_NUMBERS = re.compile(r"\[(?:[-\d.,\[\] …j]|e[+-]|nan|inf|True|False)*\]")


def visible(text: object, limit: int = TEXT_LIMIT) -> str:
    """Write out whatever a reader of user text could not see, or a renderer could trip over.

    >>> visible("a\\nb\\x00\\u202e<&"), visible("x" * 300, 10)
    ('a\\\\nb\\\\x00\\\\u202e<&', 'xxxxxxxxx…')
    """
    text = str(text)
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def in_columns(lines: Sequence[Sequence[str]]) -> list[str]:
    """Align the cells of lines, as many in each. A line that has its first cell alone makes no
    column wider.

    >>> in_columns([["a", "1"], ["bcd", "2"], ["and more of them", ""]])
    ['a    1', 'bcd  2', 'and more of them']
    """
    widths = [
        max(map(len, column)) for column in zip(*(c for c in lines if any(c[1:])), strict=True)
    ]
    return [
        "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines
    ]


def as_operand(code: str) -> str:
    """Write an expression so that ``.backward()`` may follow it.

    >>> as_operand("total / 4"), as_operand("losses[-1].mean()")
    ('(total / 4)', 'losses[-1].mean()')
    """
    try:
        node = ast.parse(code, mode="eval").body
    except (SyntaxError, ValueError):
        return code
    whole = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.List, ast.Tuple)
    return code if isinstance(node, whole) else f"({code})"


def shorten(text: str, chars: int) -> str:
    """Leave out the last elements of each list of numbers that is longer than ``chars``.

    >>> shorten(".grad: None → [[0.25, 0.5, 0.75], [1, 2, 3]]", 20)
    '.grad: None → [[0.25, 0.5, 0.75], …]'
    """

    def short(found: re.Match[str]) -> str:
        if len(found[0]) <= chars:
            return found[0]
        head = found[0][:chars].rpartition(", ")[0] or found[0][:chars]
        return f"{head}, …" + "]" * (head.count("[") - head.count("]"))

    return _NUMBERS.sub(short, text) if len(text) > chars else text
