"""Gradients of tensors that no optimizer holds (an attacked input, an image, a latent code), which
the program uses after each of several backwards and that nothing clears: they are sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gradviz.graph.facts import How
from gradviz.graph.records import Call
from gradviz.graph.training import Did, Moment
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.question.subjects import held_by

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_RUNS = 2  # backwards whose sum is a sum


class Used(NamedTuple):
    """A call that used the sum of several backwards as a gradient.

    Attributes:
        added: the backwards.
        call: what read the sum, or moved the leaf by it.
    """

    added: tuple[Moment, ...]
    call: Call


def sums_of_inputs(case: Case) -> Iterator[Remark]:
    """Tell of the gradients of leaves outside of modules and optimizers that a call used when they
    were sums, where another call had used a part of such a sum before."""
    facts, words = case.facts, case.words
    held = {case.live_state.object_of(p) for p in held_by(case.known_optimizers).values()}
    held |= {*case.graph.held}
    for leaf in case.training.moments.keys() - held - facts.of_modules:
        used = _last_sum(case, leaf)
        state = facts.latest_state[leaf]
        if used is None or facts.label(state.id).how is not How.NAMED:
            continue
        backward = used.added[-1].call
        fields = {
            "name": state.former.name if state.former is not None else state.code_name,
            "n": len(used.added),
            "backward": words.at(backward),
            "code": words.at(used.call),
        }
        yield Remark(
            Weight.WEIGHTY, "sum_of_input", fields, (backward, used.call), frozenset([leaf])
        )


def _last_sum(case: Case, leaf: int) -> Used | None:
    """Return the last use of a sum of backwards of one leaf of which a call had used a part; None
    where every use was of what had come since the one before."""
    found, parts = None, 0
    added = list[Moment]()
    for moment, uses in _with_uses(case, leaf):
        if moment.did is Did.ADDED:
            added, parts = ([*added, moment], parts) if moment.onto else ([moment], 0)
        elif moment.did is not Did.STEPPED:
            added, parts = [], 0
        if uses and added:
            if 0 < parts < len(added) and len(added) >= _RUNS:
                found = Used(tuple(added), uses[0])
            parts = len(added)
    return found


def _with_uses(case: Case, leaf: int) -> Iterator[tuple[Moment, Sequence[Call]]]:
    """Yield what was done with the gradient of a leaf, each with the calls that used it from then
    on, before anything else was done with it."""
    moments = case.training.moments[leaf]
    reads = case.training.reads.get(leaf, ())
    for moment, after in zip(moments, [*moments[1:], None], strict=True):
        until = after.call.id if after is not None else len(case.graph.calls)
        own = [moment.call] if moment.did is Did.STEPPED else []
        yield moment, own + [c for c in reads if moment.call.id < c.id < until]
