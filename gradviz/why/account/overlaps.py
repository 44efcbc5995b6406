"""Losses that are a measure of how far two things agree, with a plus: each step makes them agree
less. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.graph.effects import PRODUCTS
from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.why.account.climbing import signed_parts
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import plain_name
from gradviz.words.words import Words

_DIVIDES = {"div", "true_divide"}
_SUMS_UP = {"sum", "mean"}


def overlaps(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of a coefficient of overlap (Dice, Jaccard) that stands in the loss with a plus.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    for loss in facts.losses[-1:]:
        for call, sign in signed_parts(facts, loss):
            pair = _overlapping(facts, call) if sign > 0 else None
            if pair is not None:
                one, other = pair
                fields = {
                    "loss": words.name(loss),
                    "code": words.at(call),
                    "one": words.name(one),
                    "other": words.name(other),
                }
                yield Remark(Weight.WEIGHTY, "overlap_with_plus", fields, (call,))
                return


def _overlapping(facts: Facts, call: Call) -> tuple[int, int] | None:
    """Return the prediction and the target whose overlap a call measures: it divides the sum of
    their product by a sum of the sums of both; None of other calls."""
    if plain_name(call.function) not in _DIVIDES or len(call.inputs) != 2:
        return None
    product = _summed_product(facts, call.inputs[0])
    if product is None:
        return None
    tensor = facts.graph.tensor
    tracked = [i for i in product.inputs if tensor[i].requires_grad]
    plain = [i for i in product.inputs if not tensor[i].requires_grad]
    below = facts.ancestors(call.inputs[1:])
    if len(tracked) != 1 or len(plain) != 1 or not {*tracked, *plain} <= below:
        return None
    return tracked[0], plain[0]


def _summed_product(facts: Facts, tensor_id: int) -> Call | None:
    """Return the product of two tensors of which a value is the sum, times a number and with one
    added; None where it is another."""
    summed = False
    while (maker := facts.maker.get(tensor_id)) is not None and maker.inputs:
        function = plain_name(maker.function)
        if function in PRODUCTS and len(maker.inputs) == 2:
            return maker if summed else None
        if function not in {*_SUMS_UP, "add", *PRODUCTS} or len(maker.inputs) != 1:
            return None
        summed = summed or function in _SUMS_UP
        tensor_id = maker.inputs[0]
    return None
