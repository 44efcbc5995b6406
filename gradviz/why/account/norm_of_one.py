"""Normalisations of one number by itself: they give the same whatever goes in. Knows no torch."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.graph.training import line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.words.words import Words


def norm_of_one(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of each layer norm on the way to a loss that normalises over one number.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    behind, last = facts.in_losses, dict[object, Call]()
    for call in facts.ordinary_calls:
        if call.function == "layer_norm" and not behind.isdisjoint(call.outputs):
            last[line_of(call) or call.id, call.module] = call
    for call in last.values():
        given, *weights = (facts.graph.tensor[i] for i in call.inputs)
        over = {math.prod(t.shape) for t in weights if t.shape is not None}
        if over == {1} and given.requires_grad:
            yield Remark(Weight.WEIGHTY, "norm_of_one", {"call": words.at(call)}, (call,))
