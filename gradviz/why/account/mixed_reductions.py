"""Parts of one loss of which one is a mean of a batch and another one its sum. Knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradviz.graph.effects import ELEMENTWISE_LOSSES, PRODUCTS
from gradviz.graph.facts import Facts
from gradviz.graph.records import Call, Tensor
from gradviz.names.statements import Statements
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import plain_name
from gradviz.why.evidence.measured import factor_of
from gradviz.why.evidence.summands import single
from gradviz.words.words import Words

_MEANS = ELEMENTWISE_LOSSES | {
    "mean",
    "cross_entropy",
    "nll_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
}
# arguments by which a loss is told to be no mean
_REDUCING = {"reduction", "size_average", "reduce"}
_AS_IT_IS = (0.2, 5.0)  # factors with which a part stands in a loss as good as it was computed


class Part(NamedTuple):
    """A single number that a batch was reduced to, and that is added to a loss.

    Attributes:
        call: what reduced it.
        given: what it was computed from.
    """

    call: Call
    given: Tensor


def mixed_reductions(facts: Facts, words: Words, statements: Statements) -> Iterator[Remark]:
    """Tell of the last loss, where one part of it is the mean over the samples of a batch and
    another one their sum, neither scaled.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        statements: of the program: a loss may have been told elsewhere to be a sum.
    """
    taking = {"mean"} if _reduces_otherwise(statements) else _MEANS
    for loss in facts.losses[-1:]:
        parts = [*_parts(facts, loss)]
        means = [p for p in parts if plain_name(p.call.function) in taking]
        for one in parts:
            n = _samples(one)
            if n is None or plain_name(one.call.function) != "sum":
                continue
            other = next(
                (m for m in means if _samples(m) == n and _are_of_one(facts, one, m)), None
            )
            if other is not None:
                fields = {"sum": words.at(one.call), "mean": words.at(other.call), "n": n}
                yield Remark(Weight.WEIGHTY, "mixed_reductions", fields, (one.call, other.call))
                return


def _reduces_otherwise(statements: Statements) -> bool:
    """Say whether the program asks a loss for anything but its mean: which one, a criterion that is
    called elsewhere does not tell."""
    asked = (word for _, word in statements.nodes(ast.keyword) if word.arg in _REDUCING)
    return any(getattr(word.value, "value", None) != "mean" for word in asked)


def _samples(part: Part) -> int | None:
    """Return how many samples a table of numbers has that was reduced to one; None where there is
    no table."""
    shape = part.given.shape or ()
    return shape[0] if len(shape) > 1 and shape[0] > 1 else None


def _are_of_one(facts: Facts, one: Part, other: Part) -> bool:
    """Say whether two parts were computed from the same data: the values of one batch."""
    shared = facts.ancestors([one.given.id]) & facts.ancestors([other.given.id])
    states = (facts.graph.tensor[i] for i in shared)
    n = _samples(one)
    return any(not t.requires_grad and (t.shape or (0,))[0] == n for t in states)


def _parts(facts: Facts, loss: int) -> Iterator[Part]:
    """Yield the single numbers that a loss is the sum of, and which stand in it as they were
    computed, or nearly so."""
    tensor, todo = facts.graph.tensor, [(loss, 1.0, False)]
    while todo:
        tensor_id, factor, is_divided = todo.pop()
        call = facts.maker.get(tensor_id)
        if call is None or not call.inputs:
            continue
        function, given = plain_name(call.function), tensor[call.inputs[0]]
        if not single(given):
            # a sum by a number may be a mean of what counts: of the boxes, or of the samples
            if _AS_IT_IS[0] < factor < _AS_IT_IS[1] and not (is_divided and function == "sum"):
                yield Part(call, given)
        elif function in {"add", "sub", "rsub"}:
            todo += [(i, factor, False) for i in call.inputs]
        elif function in PRODUCTS | {"div", "neg"} and len(call.inputs) == 1:
            times, divided = factor_of(facts, call), is_divided or function == "div"
            todo += [] if times is None else [(call.inputs[0], factor * abs(times), divided)]
