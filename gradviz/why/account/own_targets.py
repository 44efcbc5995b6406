"""Losses whose targets are the very tokens that went in, place by place: to copy them is enough.
Knows no torch."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import computed
from gradviz.words.words import Words

# the same numbers, all of them and in their order
_AS_THEY_STAND = frozenset({"view", "reshape", "flatten", "contiguous", "long", "to", "clone"})
_OF_CLASSES = {"cross_entropy", "nll_loss"}


def own_targets(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of the last loss that asks for the tokens which an embedding looked up on the way to it,
    each at its own place: a language model is to tell the next one.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    behind = facts.in_losses
    for call in reversed(facts.ordinary_calls):
        if call.function not in _OF_CLASSES or len(call.inputs) < 2:
            continue
        if behind.isdisjoint(call.outputs):
            continue
        looked_up = _looked_up(facts, call)
        if looked_up is not None:
            fields = {
                "call": words.at(call),
                "tokens": words.name(looked_up.inputs[0]),
                "place": words.where(looked_up),
            }
            yield Remark(Weight.NOTABLE, "own_targets", fields, (looked_up, call))
        return


def _looked_up(facts: Facts, loss: Call) -> Call | None:
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
        if is_whole and computed(facts, tokens, _AS_THEY_STAND) == targets:
            return call
    return None
