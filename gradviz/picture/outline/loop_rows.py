"""How large a gradient is at each step of a loop, as rows: its chart, and where it dies."""

from __future__ import annotations

import math

from gradviz.picture.outline.loops import FLOOR, FLOOR_TEXT, Profile
from gradviz.picture.outline.norms import figure
from gradviz.picture.outline.scene import Rail, Row, Span, Tone
from gradviz.words.speech import say


def chart_rows(profile: Profile | None) -> list[Row]:
    """Draw how large the gradient is at each step of a loop, and say where it dies."""
    if profile is None:
        return []
    last = len(profile.norms)
    caption = Span(say("outline.chart"), shorter=(say("outline.chart_short"),))
    scale = say("outline.chart_scale", low=FLOOR_TEXT, high=figure(profile.top))
    return [
        Row(Tone.PLAIN, (caption,), scale if profile.top > FLOOR else ""),
        Row(
            Tone.PLAIN,
            (Span(say("outline.step", k=1)),),
            say("outline.step", k=last),
            chart=profile.bars,
        ),
        _profile_row(profile),
    ]


def _profile_row(profile: Profile) -> Row:
    """Say how the gradient goes from the last step to the first."""
    last = len(profile.norms)
    numbers = enumerate(profile.norms, 1)
    reached = [(k, norm) for k, norm in numbers if norm is not None and not math.isnan(norm)]
    if not reached:
        return Row(Tone.PLAIN, (Span(say("outline.loop_unknown")),), "", Rail.COMES)
    if profile.broken_from is not None:
        text = say("outline.loop_broken", k=profile.broken_from, last=last)
        return Row(Tone.ALARM, (Span(text),), "", Rail.COMES)
    end, norm = reached[-1]
    if profile.dies_at is not None:
        fields = {"norm": figure(norm), "end": end, "k": profile.dies_at}
        floor = FLOOR_TEXT
        text = say("outline.loop_dies", **fields, floor=floor)
        short = say("outline.loop_dies_short", k=profile.dies_at, floor=floor)
        zero = profile.zero_before
        right = say("outline.loop_zero", k=zero) if zero else ""
        return Row(Tone.ALARM, (Span(text, shorter=(short,)),), right, Rail.COMES)
    start, first = reached[0]
    ends = {"first": figure(first), "start": start, "norm": figure(norm), "end": end}
    text = say("outline.loop_ends", **ends)
    if start > 1:
        text = say("outline.loop_ends_from", **ends)
    return Row(Tone.SAID, (Span(text),), "", Rail.COMES)
