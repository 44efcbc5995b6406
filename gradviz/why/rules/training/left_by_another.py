"""Gradients that one loss left behind where only other parameters were stepped and cleared, and to
which another loss adds its own before a step uses the sum."""

from __future__ import annotations

from functools import cache, partial
from typing import NamedTuple

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call
from gradviz.graph.training import Did, Pile
from gradviz.why.evidence.paths import Paths
from gradviz.why.rules.silent.silent import Silent, lines_once
from gradviz.why.shown.explanation import Explanation


class Left(NamedTuple):
    """A gradient that was left where it was.

    Attributes:
        first: the call of the backward that left it.
        second: the call of the backward that added to it.
        step: the step between them, which used what the first one had sent to other parameters.
    """

    first: Call
    second: Call
    step: Call


def left_by_another(asked: Silent) -> Explanation | None:
    """Tell of gradients in which a step used what the loss of other parameters had left there: of a
    generator's loss in the discriminator."""
    # the leaves of a module mostly have sums of the same backwards
    left_in = cache(partial(_left_in, asked, Paths(asked.graph)))
    found = dict[int, Left]()
    for leaf in asked.leaves:
        piles = reversed(asked.training.sums_used.get(leaf, ()))
        left = next(filter(None, (left_in(_runs(pile)) for pile in piles)), None)
        if left is not None:
            found[leaf] = left
    if not found:
        return None
    left = next(iter(found.values()))
    cleared = _cleared_between(asked, left)
    loss, other = (asked.words.name(call.inputs[0]) for call in (left.first, left.second))
    return asked.answer(
        Cause.GRADIENTS_PILE_UP,
        "left_and_cleared_elsewhere" if cleared else "left_by_another",
        calls=lines_once([left.first, *cleared, left.second]),
        tensors=asked.states_of(found),
        names=asked.names_of(found),
        loss=loss,
        other=other,
        first=asked.words.where(left.first),
        step=asked.words.code(left.step),
        cleared=asked.words.code(cleared[0]) if cleared else "",
    )


def _runs(pile: Pile) -> tuple[int, ...]:
    """Return the backwards that a sum is of."""
    return tuple(moment.run for moment in pile.added if moment.run is not None)


def _left_in(asked: Silent, paths: Paths, runs: tuple[int, ...]) -> Left | None:
    """Return what was left in a sum of some backwards, of the last of them first; None where no
    step came between two that were called on different losses."""
    for at in reversed(range(len(runs))):
        for first in reversed(runs[:at]):
            left = _left_between(asked, paths, first, runs[at])
            if left is not None:
                return left
    return None


def _left_between(asked: Silent, paths: Paths, first: int, second: int) -> Left | None:
    """Return two backwards of different losses with an optimizer's step between them that used what
    the first one had sent to other leaves. What the program moves by hand in between is mostly an
    input, as in adversarial training, whose other gradients are to add up."""
    one, other = (asked.facts.call_of_run[run] for run in (first, second))
    step = asked.training.step_using.get(first)
    if step is None or not step.bookkeeping or step.id > other.id:
        return None
    if not (one.inputs and other.inputs):
        return None
    is_same = paths.loss_key(one.inputs[0]) == paths.loss_key(other.inputs[0])  # micro-batches
    return None if is_same else Left(one, other, step)


def _cleared_between(asked: Silent, left: Left) -> list[Call]:
    """Return the last call between two backwards that cleared gradients, of other leaves."""
    calls = [
        m.call
        for moments in asked.training.moments.values()
        for m in moments
        if m.did is Did.CLEARED and left.first.id < m.call.id < left.second.id
    ]
    return sorted(calls, key=lambda call: call.id)[-1:]
