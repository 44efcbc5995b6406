"""A small chart of bars for a cell, and its look. Says nothing: labels and numbers are given."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import NamedTuple

from gradviz.picture import theme
from gradviz.words.plain import visible

MOST = 12  # bars of one chart
_LABEL = 40  # characters
_LEAST = 0.02  # of the width: what is not 0 is seen
CHART = (
    '<div role="img" aria-label="{alt}" style="display:grid;grid-template-columns:max-content'
    " minmax(6em,18em) max-content;column-gap:.7em;row-gap:2px;align-items:center;margin:.4em 0;"
    'width:max-content;max-width:100%">{rows}</div>'
)
ROW = (
    '<span>{label}</span><span style="background:{colour};height:.75em;width:{width:.0%};'
    'border-radius:1px"></span><code style="text-align:right">{text}</code>'
)


class Bar(NamedTuple):
    """One bar.

    Attributes:
        label: what it is of.
        text: its number.
        share: how long it is, of 1.
        faint: whether it is beyond what counts.
    """

    label: str
    text: str
    share: float
    faint: bool = False


def shares(sizes: Sequence[float]) -> list[float]:
    """Return how long the bars of some sizes are, of 1: by their logarithm, as norms differ by
    powers of ten. A size of 0 has no bar.

    >>> [round(x, 2) for x in shares([1.0, 1e-3, 0.0])], shares([2.0])
    ([1.0, 0.25, 0.0], [1.0])
    """
    logs = [math.log10(x) for x in sizes if 0 < x < math.inf]
    if not logs:
        return [0.0] * len(sizes)
    low, high = min(logs) - 1, max(logs)
    return [
        max(_LEAST, (math.log10(x) - low) / (high - low)) if 0 < x < math.inf else 0.0
        for x in sizes
    ]


def bars_html(title: str, bars: Sequence[Bar]) -> str:
    """Return a chart of lying bars, one below the other, for light and dark pages; "" for none."""
    if not bars:
        return ""
    alt = ", ".join(f"{bar.label} {bar.text}" for bar in bars)
    return CHART.format(alt=_shown(f"{title} {alt}", 500), rows="".join(map(_row, bars)))


def _row(bar: Bar) -> str:
    """Return one bar with its label and its number."""
    colour = theme.OF.colour if bar.faint else theme.GRADIENT.colour
    label, text = _shown(bar.label, _LABEL), _shown(bar.text, _LABEL)
    return ROW.format(label=label, colour=colour, width=bar.share, text=text)


def _shown(text: str, chars: int) -> str:
    """Return a text as it may stand in HTML."""
    return html.escape(visible(text, chars))
