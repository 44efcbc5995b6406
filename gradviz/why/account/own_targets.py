"""Losses whose targets are the very tokens that went in, place by place: to copy them is enough.
Knows no torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from gradviz.graph.effects import CLASS_LOSSES
from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import computed
from gradviz.words.words import Words

Equal = Callable[[int, int], bool]
# the same numbers, all of them and in their order
_AS_THEY_STAND = frozenset({"view", "reshape", "flatten", "contiguous", "long", "to", "clone"})


def own_targets(facts: Facts, words: Words, are_equal: Equal) -> Iterator[Remark]:
    """Tell of the last loss that asks for the tokens which an embedding looked up on the way to it,
    each at its own place: a language model is to tell the next one.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        are_equal: says of two states whether they are known to hold the same numbers.
    """
    behind = facts.in_losses
    for call in reversed(facts.ordinary_calls):
        if call.function not in CLASS_LOSSES or len(call.inputs) < 2:
            continue
        if behind.isdisjoint(call.outputs):
            continue
        looked_up = _looked_up(facts, call, are_equal)
        if looked_up is not None:
            yield _told(facts, words, call, looked_up)
        return


def _told(facts: Facts, words: Words, loss: Call, looked_up: Call) -> Remark:
    """Tell of a loss whose targets are what was looked up, or hold the same numbers."""
    tokens, targets = (
        computed(facts, i, _AS_THEY_STAND) for i in (looked_up.inputs[0], loss.inputs[1])
    )
    fields = {
        "call": words.at(loss),
        "tokens": words.name(looked_up.inputs[0]),
        "place": words.where(looked_up),
    }
    if tokens == targets:
        return Remark(Weight.NOTABLE, "own_targets", fields, (looked_up, loss))
    made, given = facts.maker.get(targets), facts.maker.get(tokens)
    calls = tuple(call for call in (made, given, looked_up, loss) if call is not None)
    fields |= {
        "tokens": words.name(tokens),
        "place": words.where(given or looked_up),
        "targets": words.name(targets),
        "made": words.where(made or loss),
    }
    return Remark(Weight.NOTABLE, "equal_targets", fields, calls)


def _looked_up(facts: Facts, loss: Call, are_equal: Equal) -> Call | None:
    """Return the call that looked up what a loss has as its targets, all of them and in their
    order, where its result leads to the scores of that loss."""
    tensor = facts.graph.tensor
    targets = computed(facts, loss.inputs[1], _AS_THEY_STAND)
    n = math.prod(tensor[loss.inputs[1]].shape or ())
    before = facts.ancestors([loss.inputs[0]])
    for call in facts.ordinary_calls:
        if call.function != "embedding" or before.isdisjoint(call.outputs) or n < 2:
            continue
        tokens = call.inputs[0]
        is_whole = math.prod(tensor[tokens].shape or ()) == n
        given = computed(facts, tokens, _AS_THEY_STAND)
        if is_whole and (given == targets or are_equal(given, targets)):
            return call
    return None
