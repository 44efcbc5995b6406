"""Scores of classes that cannot become large: products of normalised vectors, as a contrastive loss
compares them, without a temperature that spreads them. Knows no torch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from gradviz.graph.effects import MATRIX_PRODUCTS, PRODUCTS
from gradviz.graph.facts import Facts
from gradviz.graph.preview import number
from gradviz.graph.records import Call
from gradviz.names.written import factors_written
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import KEEPING, computed, plain_name
from gradviz.words.words import Words

_OF_VECTORS = MATRIX_PRODUCTS | {"linear", "einsum"}
_IN_ANOTHER_SHAPE = KEEPING | {"T", "mT", "detach"}
_CLOSE = 0.5  # share of the loss of a mere guess that is left at best: below it there is room


class Bounded(NamedTuple):
    """Scores that are products of normalised vectors.

    Attributes:
        call: what made them.
        most: what none of them is beyond.
        factor: by what the products were multiplied, as it is written.
    """

    call: Call
    most: float
    factor: str


def bounded_scores(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of the last loss of classes whose scores are so small, whatever is learnt, that it stays
    near to that of a mere guess.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    behind = facts.in_losses
    losses = (c for c in reversed(facts.ordinary_calls) if c.function == "cross_entropy")
    call = next((c for c in losses if not behind.isdisjoint(c.outputs)), None)
    scores = None if call is None else _bounded(facts, call.inputs[0])
    if call is None or scores is None:
        return
    shape = facts.graph.tensor[call.inputs[0]].shape or ()
    n = shape[1] if len(shape) > 1 else 1
    least = math.log1p((n - 1) * math.exp(-2 * scores.most))
    if n < 2 or least < _CLOSE * math.log(n):
        return
    fields = {
        "call": words.at(call),
        "made": words.at(scores.call),
        "factor": scores.factor,
        "most": number(scores.most),
        "n": n,
        "least": number(least),
        "guess": number(math.log(n)),
    }
    yield Remark(Weight.WEIGHTY, "bounded_scores", fields, (scores.call, call))


def _bounded(facts: Facts, tensor_id: int) -> Bounded | None:
    """Return what is known of scores; None where they are anything but such products, times one
    plain number that is written there, or none."""
    made = facts.maker.get(computed(facts, tensor_id, _IN_ANOTHER_SHAPE))
    if made is None:
        return None
    if _is_of_normalised(facts, made):
        return Bounded(made, 1.0, "1")
    if plain_name(made.function) not in PRODUCTS or len(made.inputs) != 1:
        return None
    inner = facts.maker.get(computed(facts, made.inputs[0], _IN_ANOTHER_SHAPE))
    factors = factors_written(made)
    if inner is None or not _is_of_normalised(facts, inner) or len(factors) != 1:
        return None
    return Bounded(made, abs(factors[0].value), factors[0].code)


def _is_of_normalised(facts: Facts, call: Call) -> bool:
    """Say whether a call multiplies vectors all of which were normalised."""
    if plain_name(call.function) not in _OF_VECTORS or len(call.inputs) != 2:
        return False
    made = (facts.maker.get(computed(facts, i, _IN_ANOTHER_SHAPE)) for i in call.inputs)
    return all(m is not None and m.function == "normalize" for m in made)
