"""Numbers as the short strings that cards, tables and arrows show. Knows no torch."""

from __future__ import annotations

from typing import Any

LIMIT = 8  # elements shown of a tensor's values


def number(x: Any) -> str:
    """One element: integers without a point, otherwise four significant digits.

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
    return f"{x:.4g}"


def values(nested: Any) -> str:
    """What ``tensor.tolist()`` gave, as one line.

    >>> values([1.0, 2.0, 3.0]), values(30.0), values([[1.0, 0.5], [0.0, 2.0]]), values([])
    ('[1, 2, 3]', '30', '[[1, 0.5], [0, 2]]', '[]')
    """
    if isinstance(nested, (list, tuple)):
        return "[" + ", ".join(map(values, nested)) + "]"
    return number(nested)


def of(shape: tuple[int, ...] | None, nested: Any) -> str:
    """Values where they were read, otherwise the shape.

    >>> of((2,), [1.0, 2.0]), of((32, 10), None), of(None, None)
    ('[1, 2]', '32×10 values', 'values not known')
    """
    if nested is not None:
        return values(nested)
    if shape is None:
        return "values not known"
    return "×".join(map(str, shape)) + " values" if shape else "1 value"
