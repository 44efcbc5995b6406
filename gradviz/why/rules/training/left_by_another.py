"""Gradients that one loss left behind where only other parameters were stepped and cleared, and to
which another loss adds its own before a step uses the sum."""

from __future__ import annotations

from typing import NamedTuple

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call
from gradviz.graph.training import Did, Moment
from gradviz.why.explanation import Explanation
from gradviz.why.paths import Paths
from gradviz.why.rules.silent.silent import Silent, lines_once


class Left(NamedTuple):
    """A gradient that was left where it was.

    Attributes:
        first: the backward that left it.
        second: the backward that added to it.
        step: the step between them, of other parameters that the first one had reached.
        used: the step that used the sum.
    """

    first: Moment
    second: Moment
    step: Moment
    used: Moment


def left_by_another(asked: Silent) -> Explanation | None:
    """Tell of gradients in which a step used what the loss of other parameters had left there: of a
    generator's loss in the discriminator."""
    found = {i: left for i in asked.leaves if (left := _left(asked, i))}
    if not found:
        return None
    left = next(iter(found.values()))
    cleared = _cleared_between(asked, left)
    losses = [asked.words.name(m.call.inputs[0]) for m in (left.first, left.second)]
    return asked.answer(
        Cause.GRADIENTS_PILE_UP,
        "left_and_cleared_elsewhere" if cleared else "left_by_another",
        calls=lines_once([left.first.call, *cleared, left.second.call]),
        tensors=asked.states_of(found),
        names=asked.names_of(found),
        loss=losses[0],
        other=losses[1],
        first=asked.words.where(left.first.call),
        step=asked.words.code(left.step.call),
        cleared=asked.words.code(cleared[0]) if cleared else "",
    )


def _left(asked: Silent, leaf: int) -> Left | None:
    """Return the last such gradient of a leaf; None where each is cleared or stepped in time."""
    pile, waiting, found = list[Moment](), None, None
    for moment in asked.training.moments[leaf]:
        if moment.did is Did.ADDED:
            pile = pile if moment.onto else []
            for first in pile:
                step = _step_between(asked, leaf, first, moment)
                waiting = (first, moment, step) if step else waiting
            pile = [*pile, moment]
        elif moment.did is Did.STEPPED:
            found = Left(*waiting, moment) if waiting else found
            pile, waiting = [], None
        elif moment.did is Did.CLEARED:
            pile, waiting = [], None
    return found


def _step_between(asked: Silent, leaf: int, first: Moment, second: Moment) -> Moment | None:
    """Return a step between two backwards of different losses that used what the first one sent to
    other leaves."""
    if not (first.call.inputs and second.call.inputs):
        return None
    key = Paths(asked.graph).loss_key
    if key(first.call.inputs[0]) == key(second.call.inputs[0]):  # micro-batches
        return None
    for other, moments in asked.training.moments.items():
        if other == leaf or first.run not in {m.run for m in moments if m.did is Did.ADDED}:
            continue
        for moment in moments:
            between = first.call.id < moment.call.id < second.call.id
            if between and moment.did is Did.STEPPED:
                return moment
    return None


def _cleared_between(asked: Silent, pair: Left) -> list[Call]:
    """Return the last call between two backwards that cleared gradients, of other leaves."""
    calls = [
        m.call
        for moments in asked.training.moments.values()
        for m in moments
        if m.did is Did.CLEARED and pair.first.call.id < m.call.id < pair.second.call.id
    ]
    return sorted(calls, key=lambda call: call.id)[-1:]
