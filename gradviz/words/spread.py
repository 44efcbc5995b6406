"""How the numbers of a large tensor are spread, in short and in words. Knows no torch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import ceil

from gradviz.graph.preview import number
from gradviz.graph.records import Summary
from gradviz.words.speech import enumerated, say

BLOCKS = "▁▂▃▄▅▆▇█"


def short(value: float | bool | None) -> str:
    """Return a number with three significant digits.

    >>> short(0.012345), short(-3.0), short(12), short(True), short(123456.0)
    ('0.0123', '-3', '12', 'True', '1.23e+05')
    """
    if value is None:
        return say("table.unknown")
    return number(float(f"{value:.3g}") if isinstance(value, float) else value)


def blocks(bins: Sequence[int]) -> str:
    """Draw a histogram in letters: the lowest is of none, every other one of some.

    >>> blocks((0, 1, 50, 100)), blocks(())
    ('▁▂▅█', '')
    """
    most = max(bins, default=0)
    return "".join(BLOCKS[ceil(7 * n / most)] for n in bins) if most else ""


def ends(summary: Summary) -> tuple[str, str]:
    """Return the least and the largest number, which stand at the two sides of a histogram."""
    return short(summary.min), short(summary.max)


def middle(summary: Summary) -> str:
    """Tell mean, deviation and zeros, or what all the numbers are; "" where nothing is known.

    >>> middle(Summary(9, 0.5, 1.25, -1.0, 2.0, 3, 0, 0, (4, 5)))
    '0.5 ± 1.25 · 3 zeros'
    >>> middle(Summary(9, 1.0, 0.0, 1.0, 1.0, 0, 0, 0)), middle(Summary(9, *[None] * 4, 0, 9, 0))
    ('all are 1', '')
    """
    return _listed(_numbers(summary))


def told(summary: Summary) -> str:
    """Tell in one line how the numbers are spread; "" where nothing is known.

    >>> told(Summary(9, 0.5, 1.25, -1.0, 2.0, 3, 0, 0, (4, 5)))
    '▇█ 0.5 ± 1.25 · -1 … 2 · 3 zeros'
    """
    return with_blocks(numbers(summary), summary.bins)


def numbers(summary: Summary) -> str:
    """Tell in one line how the numbers are spread, beside a histogram that is drawn.

    >>> numbers(Summary(9, 0.5, 1.25, -1.0, 2.0, 3, 0, 0, (4, 5)))
    '0.5 ± 1.25 · -1 … 2 · 3 zeros'
    """
    return _listed(_numbers(summary, with_range=True))


def with_blocks(line: str, bins: Sequence[int]) -> str:
    """Put a histogram in letters before what is told of it.

    >>> with_blocks("0.5 ± 1.25", (4, 5)), with_blocks("all are 1", ())
    ('▇█ 0.5 ± 1.25', 'all are 1')
    """
    drawn = blocks(bins)
    return say("spread.drawn", line=line, blocks=drawn) if drawn else line


def spoken(summary: Summary) -> str:
    """Tell mean, deviation and zeros as they are read aloud.

    >>> spoken(Summary(9, 0.5, 1.25, -1.0, 2.0, 3, 0, 0, (4, 5)))
    'mean 0.5, standard deviation 1.25, 3 zeros'
    """
    return enumerated(_numbers(summary, aloud=True))


def range_spoken(summary: Summary) -> str:
    """Tell the least and the largest number as they are read aloud; "" where they are not apart."""
    low, high = ends(summary)
    return say("spread.range_spoken", low=low, high=high) if _is_wide(summary) else ""


def alarm(summary: Summary) -> str:
    """Count what is not finite; "" where all is.

    >>> alarm(Summary(9, 1.0, 0.0, 1.0, 1.0, 0, 3, 1)), alarm(Summary(9, *[None] * 4, 0, 9, 0))
    ('3 NaN · 1 inf', 'all are NaN')
    """
    if summary.nan == summary.numel:
        return say("spread.all_are", value="NaN")
    nan = [say("spread.nan", n=f"{summary.nan:,}")] if summary.nan else []
    inf = [say("spread.inf", n=f"{summary.inf:,}")] if summary.inf else []
    return _listed([*nan, *inf])


def whole(summary: Summary) -> str:
    """Tell everything in one line, what is not finite first.

    >>> whole(Summary(9, 1.0, 0.0, 1.0, 1.0, 0, 3, 0))
    '3 NaN · the others are 1'
    """
    return _listed([part for part in (alarm(summary), told(summary)) if part])


def _numbers(summary: Summary, *, with_range: bool = False, aloud: bool = False) -> list[str]:
    """List what is told of the finite numbers."""
    low, high = ends(summary)
    if summary.min is not None and not _is_wide(summary):
        finite = not (summary.nan or summary.inf)
        return [say("spread.all_are" if finite else "spread.others_are", value=low)]
    if isinstance(summary.min, bool):
        true = summary.numel - summary.zeros
        return [say("spread.true", n=f"{true:,}"), say("spread.false", n=f"{summary.zeros:,}")]
    parts = []
    if summary.mean is not None:
        mean, std = short(summary.mean), short(summary.std)
        parts.append(say("spread.mean_spoken" if aloud else "spread.mean", mean=mean, std=std))
    if with_range and summary.min is not None:
        parts.append(say("spread.range", low=low, high=high))
    if summary.zeros:
        parts.append(say("spread.zeros", n=summary.zeros))
    return parts


def _is_wide(summary: Summary) -> bool:
    """Tell whether there are two different numbers."""
    return summary.min is not None and summary.min != summary.max


def _listed(parts: Sequence[str]) -> str:
    """Join what stands in one line."""
    return reduce(lambda a, b: say("spread.and", first=a, second=b), parts) if parts else ""
