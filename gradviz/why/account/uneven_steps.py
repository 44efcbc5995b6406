"""Steps of one line that do not use as many backwards each, although the losses are scaled for a
number of them: what a round leaves over, or a step in the other branch. Knows no torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from gradviz.graph.facts import Facts, grouped
from gradviz.graph.training import line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.account.steps import Step, Steps, Used

_FEW = 4  # steps, from which on a number of backwards is the usual one
_SHARE = 0.5  # of the steps, that use the usual number at least


def uneven_steps(steps: Steps) -> Iterator[Remark]:
    """Tell of each line that steps after different numbers of backwards of one scaled loss.

    Args:
        steps: of a recording.
    """
    by_line = grouped((line_of(used.step), used) for used in steps.used)
    for line, every in by_line.items():
        by_leaf = grouped((used.leaf, used) for used in every)
        row = max(by_leaf.values(), key=len)
        counts = Counter(len(used.added) for used in row)
        usual, times = counts.most_common(1)[0]
        if line is None or len(counts) < 2 or len(row) < _FEW or times < _SHARE * len(row):
            continue
        if (remark := _told(steps, row, counts, usual)) is not None:
            yield remark


def _evaluated(facts: Facts, before: Used, used: Used) -> int:
    """Count the backwards that a step used before which only modules in evaluation mode ran, since
    the one before or the step before. The mode of a criterion, which has no parameters, says
    nothing."""
    learning = {module.id for module in facts.graph.modules if module.parameters}
    count = 0
    for earlier, backward in pairwise([before.step, *(moment.call for moment in used.added)]):
        between = [c for c in facts.ordinary_calls if earlier.id < c.id < backward.id]
        ran = {call for c in between if (call := facts.outermost_module_call(c)) is not None}
        modes = {call.training for call in ran if call.module_id in learning}
        count += modes == {False}
    return count


def _told(steps: Steps, row: list[Used], counts: Counter[int], usual: int) -> Remark | None:
    """Tell of the steps that used one leaf's gradient; None where these are of several lines, or
    of a loss that nothing scales."""
    added = [moment for used in row for moment in used.added]
    if len({line_of(moment.call) for moment in added}) != 1:
        return None
    scale = steps.scaled(row[-1].added, row[-1].changed)
    more = [n for n in counts if n > usual]
    if scale is None or not more:
        return None
    last = row[-1].step
    fields = {
        "step": steps.step_name(Step(last, [row[-1]])),
        "usual": usual,
        "times": steps.words.times(counts[usual]),
        "more": max(more),
        "n": steps.words.times(sum(counts[n] for n in more)),
        "scaled": steps.words.at(scale),
    }
    key, place = "uneven_alone" if usual == 1 else "uneven_rest", scale
    before, most = max(pairwise(row), key=lambda two: len(two[1].added))
    beyond = len(most.added) - usual
    if beyond > 0 and _evaluated(steps.facts, before, most) == beyond:
        key, place = "uneven_evaluated", most.added[0].call
        fields |= {"evaluated": beyond, "backward": steps.words.at(place)}
    return Remark(Weight.WEIGHTY, key, fields, (last, place), frozenset({row[-1].leaf}))
