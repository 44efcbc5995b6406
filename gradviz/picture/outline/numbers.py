"""How the numbers of a card's result are spread, as rows: where a recording read them."""

from __future__ import annotations

from gradviz.graph.records import Summary
from gradviz.picture.outline.scene import Row, Span, Tone
from gradviz.words import spread


def number_rows(summary: Summary | None) -> list[Row]:
    """Tell how the numbers of a large tensor are spread, and in a row of alarm what of them is not
    finite; nothing where they were not read."""
    if summary is None:
        return []
    rows = []
    if line := spread.numbers(summary):
        span = Span(line, shorter=(spread.middle(summary),))
        rows.append(Row(Tone.PLAIN, (span,), bins=summary.bins))
    if alarm := spread.alarm(summary):
        rows.append(Row(Tone.ALARM, (Span(alarm),)))
    return rows
