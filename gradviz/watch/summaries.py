"""How the numbers of a large tensor are spread: its mean, deviation, range, histogram, and what is
zero or not finite.

Everything is worked out piece by piece in float64, whose sums hold float32 exactly enough and tell
at once whether a NaN or an infinity is among the numbers. No node is made, no version moves, and no
code of the user's runs: neither a subclass's nor a mode's.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from gradviz.graph.preview import LIMIT
from gradviz.graph.records import Summary
from gradviz.watch import torch_private

MOST = 10_000_000  # elements of one tensor, and of all that one capture reads
BINS = 12
_PIECE = 1 << 18  # elements: what is computed of them stays in the processor's cache


def summary_of(tensor: torch.Tensor, *, most: int = MOST, anywhere: bool = False) -> Summary | None:
    """Return how the numbers of a tensor are spread.

    Args:
        tensor: of any kind.
        most: elements that are read at most.
        anywhere: whether a tensor of another device is copied to the CPU, which waits for it.

    Returns:
        A Summary. None for a tensor whose elements ``preview`` shows, for one that is larger, on
        another device, or has no plain memory, and where a mode of the user's would see it.

    Example:
        >>> found = summary_of(torch.arange(-2.0, 8.0))
        >>> found.mean, round(found.std, 2), found.min, found.max, found.zeros, sum(found.bins)
        (2.5, 3.03, -2.0, 7.0, 1, 10)
        >>> summary_of(torch.ones(2)), summary_of(torch.ones(9, device="meta"))
        (None, None)
    """
    try:
        with torch_private.unobserved():
            if not _may_be_read(tensor, most, anywhere):
                return None
            with torch.no_grad():
                return _summary(tensor.detach().cpu().reshape(-1))
    except Exception:
        return None  # of a kind that torch has no such functions for


def _may_be_read(tensor: torch.Tensor, most: int, anywhere: bool) -> bool:
    """Tell whether there are that many numbers, in memory that is theirs."""
    if not LIMIT < tensor.numel() <= most or torch_private.dispatch_modes():
        return False
    if not (tensor.is_cpu or (anywhere and not tensor.is_meta)):
        return False
    return torch_private.has_plain_data(tensor) and torch_private.lies_in_memory(tensor)


def _summary(flat: torch.Tensor) -> Summary:
    """Summarise plain numbers on the CPU, in two rounds: what the deviation and the histogram are
    of is known after the first."""
    zeros = flat.numel() - int(torch.count_nonzero(flat))
    if flat.is_complex():
        nan, inf = int(flat.isnan().sum()), int(flat.isinf().sum())
        return Summary(flat.numel(), None, None, None, None, zeros, nan, inf)
    nan = inf = n = 0
    total, low, high = 0.0, math.inf, -math.inf
    for piece in torch.split(flat, _PIECE):
        wide = _finite(piece)
        if wide.numel() < piece.numel():
            nan, inf = nan + int(piece.isnan().sum()), inf + int(piece.isinf().sum())
        if wide.numel():
            least, largest = torch.aminmax(wide)
            low, high = min(low, float(least)), max(high, float(largest))
            total, n = total + float(wide.sum()), n + wide.numel()
    if not n:
        return Summary(flat.numel(), None, None, None, None, zeros, nan, inf)
    mean = total / n
    squares, bins = _second_round(flat, mean, low, high)
    ends: tuple[Any, Any] = (low, high)
    if not flat.is_floating_point():  # in their own kind, and exactly
        ends = (flat.min().item(), flat.max().item())
    return Summary(
        flat.numel(),
        _known(mean),
        _known(math.sqrt(squares / (n - 1))) if n > 1 else None,
        *ends,
        zeros,
        nan,
        inf,
        bins,
    )


def _second_round(
    flat: torch.Tensor, mean: float, low: float, high: float
) -> tuple[float, tuple[int, ...]]:
    """Return the sum of the squares of what lies between the numbers and their mean, and how many
    there are in each step from the lowest to the highest."""
    squares, width = 0.0, high - low
    counts = torch.zeros(BINS, dtype=torch.int64)
    for piece in torch.split(flat, _PIECE):
        wide = _finite(piece)
        if 0 < width < math.inf:
            steps = (wide - low).mul_(BINS).div_(width).clamp_(max=BINS - 1).to(torch.uint8)
            counts += torch.bincount(steps, minlength=BINS)
        squares += float(wide.sub_(mean).square_().sum())
    return squares, tuple(counts.tolist()) if 0 < width < math.inf else ()


def _finite(piece: torch.Tensor) -> torch.Tensor:
    """Return the finite ones of some numbers, in memory of their own."""
    wide = piece.to(torch.float64, copy=True)
    if math.isfinite(float(wide.sum())):
        return wide
    return wide[wide.isfinite()]


def _known(number: float) -> float | None:
    """Return a number, None where float64 did not hold it."""
    return number if math.isfinite(number) else None
