"""Distances to targets that the function before them cannot give: tanh ends at 1."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import torch

from gradviz.graph.facts import Facts
from gradviz.graph.preview import number
from gradviz.graph.records import Call
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.distances import is_distance
from gradviz.why.evidence.handed_on import computed, plain_name
from gradviz.words.words import Words

# between which numbers the results of a function lie
_BOUNDS = {
    "tanh": (-1.0, 1.0),
    "sigmoid": (0.0, 1.0),
    "softmax": (0.0, 1.0),
    "hardtanh": (-1.0, 1.0),
    "hardsigmoid": (0.0, 1.0),
    "softsign": (-1.0, 1.0),
    "relu": (0.0, math.inf),
    "softplus": (0.0, math.inf),
    "exp": (0.0, math.inf),
}
_MOST = 0.1  # the share of the targets from which on it is no noise at the edges


def out_of_reach(
    facts: Facts, words: Words, values_of: Callable[[int], torch.Tensor | None]
) -> Iterator[Remark]:
    """Tell of the last distance between what such a function gave and fixed targets, where a good
    part of these lie outside of what it can give.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        values_of: gives the living values of a state.
    """
    for call in reversed(facts.ordinary_calls):
        if len(call.inputs) != 2 or not is_distance(facts, call):
            continue
        if facts.in_losses.isdisjoint(call.outputs):
            continue
        for given, target in (call.inputs, call.inputs[::-1]):
            if (remark := _of(facts, words, call, given, values_of(target), target)) is not None:
                yield remark
                return


def _of(
    facts: Facts,
    words: Words,
    distance: Call,
    given: int,
    values: torch.Tensor | None,
    target: int,
) -> Remark | None:
    """Tell of one distance, where what it compares with its targets has bounds and these are known
    to lie outside."""
    tensor, maker = facts.graph.tensor, facts.maker.get(computed(facts, given))
    bounds = None if maker is None else _BOUNDS.get(plain_name(maker.function))
    is_fixed = tensor[given].requires_grad and not tensor[target].requires_grad
    if maker is None or bounds is None or values is None or not is_fixed:
        return None
    if not values.is_floating_point() or tensor[given].shape != tensor[target].shape:
        return None
    low, high = bounds
    outside = (values < low) | (values > high)
    n, every = int(outside.sum()), values.numel()
    if n < _MOST * every:
        return None
    fields = {
        "call": words.at(distance),
        "function": plain_name(maker.function),
        "place": words.where(maker),
        "name": words.name(target),
        "n": n,
        "of": every,
        "least": number(float(values.min())),
        "most": number(float(values.max())),
        "low": number(low),
    }
    key = "out_of_reach" if high < math.inf else "out_of_reach_below"
    return Remark(Weight.WEIGHTY, key, fields | {"high": number(high)}, (maker, distance))
