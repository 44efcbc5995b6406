"""Factors of a loss that are a difference of what was observed and what is predicted, and send a
gradient to the prediction, which a term of its own trains: an advantage that is not detached.
Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradviz.graph.effects import ELEMENTWISE_LOSSES, PRODUCTS
from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.graph.training import line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.code.comparisons import bracketed
from gradviz.why.evidence.distances import is_distance
from gradviz.why.evidence.handed_on import computed, plain_name
from gradviz.words.speech import Code
from gradviz.words.words import Words


class _Difference(NamedTuple):
    """A difference of a prediction and something without a gradient."""

    call: Call
    value: int
    observed: int


def weights_that_learn(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of each product on the way to a loss one factor of which is the difference of a
    prediction and of what a loss compares that prediction with.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    found = (d for call in facts.ordinary_calls if (d := _difference(facts, call)))
    # of each line the last
    differences = [*{(line_of(d.call), d.call.function): d for d in found}.values()]
    compared = {_key(facts, d): d for d in differences if is_distance(facts, d.call)}
    last = dict[object, Remark]()
    for difference in differences if compared else ():
        distance = compared.get(_key(facts, difference))
        product = _product(facts, difference)
        if distance is None or product is None or distance.call == difference.call:
            continue
        name = words.name(difference.call.outputs[0])
        fields = {
            "call": words.at(product),
            "name": name,
            "alone": Code(bracketed(name)),
            "place": words.where(difference.call),
            "compared": words.at(distance.call),
            "value": words.name(difference.value),
            "observed": words.name(difference.observed),
        }
        calls = (difference.call, product)
        last[line_of(product)] = Remark(Weight.WEIGHTY, "weight_that_learns", fields, calls)
    yield from last.values()


def _key(facts: Facts, difference: _Difference) -> tuple[int, int]:
    """Return what two differences of the same things have in common."""
    return computed(facts, difference.value), computed(facts, difference.observed)


def _difference(facts: Facts, call: Call) -> _Difference | None:
    """Return the difference that a call takes of a result with a gradient and a tensor without."""
    is_loss = call.function in ELEMENTWISE_LOSSES
    if not (is_loss or plain_name(call.function) == "sub") or len(call.inputs) != 2:
        return None
    if facts.in_losses.isdisjoint(call.outputs):
        return None
    tracked = [i for i in call.inputs if facts.graph.tensor[i].requires_grad]
    other = [i for i in call.inputs if i not in tracked]
    return _Difference(call, tracked[0], other[0]) if len(tracked) == len(other) == 1 else None


def _product(facts: Facts, difference: _Difference) -> Call | None:
    """Return the product of a difference, as it is, and a result that is computed with other
    leaves, too; not its square."""
    outputs = difference.call.outputs
    own = {t.object_id for t in facts.leaves_reached(difference.value)}
    for call in (c for i in outputs for c in facts.calls_reading.get(i, ())):
        others = [i for i in call.inputs if i not in outputs]
        leaves = {t.object_id for i in others for t in facts.leaves_reached(i)}
        is_product = plain_name(call.function) in PRODUCTS and not leaves <= own
        if is_product and not facts.in_losses.isdisjoint(call.outputs):
            return call
    return None
