"""What a record keeps of a tensor's values: a short string, and no word of any language.

"[1, 2]" are the values of a tensor with few elements. Of values that were not read it is the shape,
as Python writes it, "(32, 10)", "(?)" where that is not known; the 2-norm follows where it was
measured: "(32, 10) ‖0.25‖". ``words.speech.values_of`` says the shape in words. Strings and not
records of their own, since a recording has many of them and equal ones are compared: NaN too.
Knows no torch.
"""

from __future__ import annotations

import re
from typing import Any

DIGITS = 4  # significant ones, of a number that is shown
LIMIT = 8  # elements shown of a tensor's values
_UNREAD = re.compile(r"\((\?|(?:\d+,|\d+(?:, \d+)+)?)\)(?: ‖(.+)‖)?")


def number(x: Any) -> str:
    """Return one element: integers without a point, otherwise with four significant digits.

    >>> [number(v) for v in (2.0, 0.25, 1/3, 123456.7, -0.0, float("nan"), float("-inf"), True, 3)]
    ['2', '0.25', '0.3333', '1.235e+05', '0', 'nan', '-inf', 'True', '3']
    """
    if isinstance(x, bool):
        return str(x)
    if isinstance(x, complex):
        sign = "-" if x.imag < 0 else "+"
        return f"{number(x.real)}{sign}{number(abs(x.imag))}j"
    if isinstance(x, int):
        return str(x) if abs(x) < 10**9 else f"{x:.3e}"
    if x == 0:
        return "0"
    return f"{x:.{DIGITS}g}"


def values(nested: Any) -> str:
    """Return what ``tensor.tolist()`` gave, as one line.

    >>> values([1.0, 2.0, 3.0]), values(30.0), values([[1.0, 0.5], [0.0, 2.0]]), values([])
    ('[1, 2, 3]', '30', '[[1, 0.5], [0, 2]]', '[]')
    """
    if isinstance(nested, (list, tuple)):
        return "[" + ", ".join(map(values, nested)) + "]"
    return number(nested)


def of(shape: tuple[int, ...] | None, nested: Any, norm: str | None = None) -> str:
    """Return the values where they were read, otherwise the shape, and the norm where it is known.

    Args:
        shape: elements per dimension; None where torch does not tell.
        nested: what ``tensor.tolist()`` gave; None where the values were not read.
        norm: the 2-norm of values that were not read, "0.25", "nan" or "inf".

    >>> of((2,), [1.0, 2.0]), of((32, 10), None), of((32, 10), None, "0.5"), of(None, None)
    ('[1, 2]', '(32, 10)', '(32, 10) ‖0.5‖', '(?)')
    """
    if nested is not None:
        return values(nested)
    text = "(?)" if shape is None else str(shape)
    return f"{text} ‖{norm}‖" if norm else text


def unread(preview: str) -> bool:
    """Return whether it shows the shape of values that were not read.

    >>> unread("(32, 10)"), unread("()"), unread("[1, 2]"), unread("2"), unread("")
    (True, True, False, False, False)
    """
    return _UNREAD.fullmatch(preview) is not None


def only_zeros(preview: str) -> bool:
    """Return whether it shows values that are all zeros, or a norm of zero.

    >>> only_zeros("[0, 0]"), only_zeros("0"), only_zeros("(32, 10) ‖0‖"), only_zeros("False")
    (True, True, True, True)
    >>> only_zeros("[0, 1e-05]"), only_zeros("(32, 10)"), only_zeros("nan"), only_zeros("[]")
    (False, False, False, False)
    """
    if unread(preview):
        return parts_of(preview)[1] == "0"
    elements = re.findall(r"[^\[\], ]+", preview)
    return bool(elements) and all(element in ("0", "False") for element in elements)


def parts_of(preview: str) -> tuple[tuple[int, ...] | None, str | None]:
    """Return the shape and the norm of values that were not read, each None where it is not known.

    >>> parts_of("(32, 10)"), parts_of("(9,) ‖0.5‖"), parts_of("()"), parts_of("(?)")
    (((32, 10), None), ((9,), '0.5'), ((), None), (None, None))

    Raises:
        ValueError: these values were read.
    """
    found = _UNREAD.fullmatch(preview)
    if found is None:
        raise ValueError(f"{preview!r} shows no shape")
    shape, norm = found.groups()
    return None if shape == "?" else tuple(map(int, re.findall(r"\d+", shape))), norm
