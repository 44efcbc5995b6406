"""Backwards of which no step ever used anything: what they brought was cleared each time, though
steps move the same parameters. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradviz.graph.facts import grouped
from gradviz.graph.records import Backward, Call
from gradviz.graph.training import Did, line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.account.steps import Steps

_TIMES = 2  # of one alone, the program may only show what a backward does


def cleared_before_step(steps: Steps) -> Iterator[Remark]:
    """Tell of each line whose backwards brought gradients to what steps move, and all of which were
    cleared before a step, or anything else, used them.

    Those that a cut keeps from what the next step moves are told of as such.

    Args:
        steps: of the recording.
    """
    # what a hook or a result's .grad keeps of a backward is used as well
    is_watched = steps.facts.hooks or any(t.retains_grad for t in steps.facts.graph.tensors)
    if is_watched or steps.training.has_scaler:
        return
    for every in _by_line(steps).values():
        lost = [b for b in every if b.run in steps.training.unused]
        is_open = every[-1:] if every[-1] not in lost else []  # the last one: nothing came after it
        if len(lost) < _TIMES or len(lost) + len(is_open) < len(every):
            continue
        if not any(_was_used(steps, b) for b in is_open):
            yield from _told(steps, lost)


def _by_line(steps: Steps) -> dict[object, list[Backward]]:
    """Return the backwards by the line that called them, without those of which it is told that a
    cut keeps them from a step."""
    call = steps.facts.graph.call
    runs = [b for b in steps.facts.graph.backwards if b.kind == "backward"]
    told = {line_of(c) for remark in steps.wasted() for c in remark.calls}
    rest = [b for b in runs if line_of(call[b.call_id]) not in told]
    return grouped((line_of(call[b.call_id]), b) for b in rest)


def _was_used(steps: Steps, run: Backward) -> bool:
    """Say whether a step, or another call, used a gradient that a backward brought."""
    training = steps.training
    reads = (c.id for leaf in _filled(steps, run) for c in training.reads.get(leaf, ()))
    return run.run in training.step_using or any(i > run.call_id for i in reads)


def _filled(steps: Steps, run: Backward) -> set[int]:
    """Return the leaves to which a backward brought a gradient, by object id."""
    rows = steps.training.moments.items()
    return {i for i, row in rows if any(m.did is Did.ADDED and m.run == run.run for m in row)}


def _told(steps: Steps, lost: Sequence[Backward]) -> Iterator[Remark]:
    """Tell of some backwards, where steps move all that they brought gradients to: whether the step
    comes too early, or the call that clears, the first of them shows."""
    first, words = lost[0], steps.words
    backward, filled = steps.facts.graph.call[first.call_id], _filled(steps, first)
    clear = steps.training.unused[first.run]
    step = _step_of_all(steps, filled, range(backward.id))
    form = "cleared_before_step"
    if step is None:
        step = _step_of_all(steps, filled, range(clear.id, len(steps.facts.graph.calls)))
        form = "cleared_in_between"
    if step is None or not backward.inputs:
        return
    fields = {
        "loss": steps.loss(backward),
        "n": words.times(len(lost)),
        "names": steps.names(filled),
        "clear": words.at(clear),
        "step": words.at(step),
    }
    yield Remark(Weight.IN_VAIN, form, fields, (backward, clear, step), frozenset(filled))


def _step_of_all(steps: Steps, filled: set[int], calls: range) -> Call | None:
    """Return the last step among some calls, where steps there moved all of some leaves; None where
    they did not."""
    last = {used.leaf: used.step for used in steps.used if used.step.id in calls}
    return max((last[i] for i in filled), key=lambda c: c.id) if filled <= last.keys() else None
