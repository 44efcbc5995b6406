"""Norms of gradients as a reader sees them: their digits, and their share of the largest."""

from __future__ import annotations

import math

from gradviz.graph.sent import root_of_squares


def figure(norm: float) -> str:
    """Write a norm with three digits, a very small one with two.

    >>> figure(0.81612), figure(1.3e-6), figure(2794.0), figure(0.0)
    ('0.816', '1.3e-06', '2794', '0')
    """
    if 1000 <= norm < 100_000:
        return f"{norm:.0f}"
    return f"{norm:.1e}" if 0 < norm < 0.001 else f"{norm:.3g}"


def shares(norms: list[float]) -> tuple[float, ...]:
    """Return each norm as a share of the largest.

    >>> shares([1.0, 2.0])
    (0.5, 1.0)
    """
    most = max(norms)
    return tuple(norm / most for norm in norms)


def together(norms: list[float]) -> str:
    """Write the norm of several gradients together, of those that were measured: a sparse one is
    not.

    >>> together([3.0, math.nan, 4.0]), together([math.nan])
    ('5', '')
    """
    measured = [norm for norm in norms if not math.isnan(norm)]
    return figure(root_of_squares(measured)) if measured else ""
