"""Weights of an attention that add up to 1 over another dimension than the one they add up over,
and masks before a softmax that leave nothing out. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.graph.effects import MATRIX_PRODUCTS, PRODUCTS
from gradviz.graph.facts import Facts
from gradviz.graph.preview import number
from gradviz.graph.records import Call
from gradviz.graph.training import line_of
from gradviz.names.written import arguments_written
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import computed, plain_name
from gradviz.why.evidence.softmaxes import dim_of
from gradviz.words.words import Words

# what leaves each number at its place
_IN_THEIR_PLACES = frozenset({"dropout", "contiguous", "to", "type_as", "float", "half", "type"})
_SCALES = frozenset({"div", "true_divide", "masked_fill", "add", "sub", "clamp", *PRODUCTS})
_LEAST = -20.0  # exp() of a score from which on up is no mere rounding


def attention(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of products of a softmax over the scores of a product, in which the weights do not add
    up to 1, and of scores that are masked with a number near 0; of each line the last.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    behind, told = facts.in_losses, dict[object, Remark]()
    for call in facts.ordinary_calls:
        if not call.inputs or behind.isdisjoint(call.outputs):
            continue
        if call.function in MATRIX_PRODUCTS:
            found = _weighed_across(facts, words, call)
        else:
            found = _filled_too_high(facts, words, call)
        if found is not None:
            told[line_of(call) or call.id] = found
    yield from told.values()


def _weighed_across(facts: Facts, words: Words, call: Call) -> Remark | None:
    """Tell of a product whose first factor is a softmax over another dimension than its last."""
    softmax = facts.maker.get(computed(facts, call.inputs[0], _IN_THEIR_PLACES))
    if softmax is None or softmax.function != "softmax":
        return None
    shape = facts.graph.tensor[softmax.outputs[0]].shape or ()
    dim, dims = dim_of(facts, softmax), len(shape)
    if dim is None or dims < 3 or shape[-1] < 2 or dim % dims == dims - 1:
        return None
    scores = facts.maker.get(computed(facts, softmax.inputs[0], _IN_THEIR_PLACES | _SCALES))
    if scores is None or scores.function not in (*MATRIX_PRODUCTS, "baddbmm", "einsum"):
        return None
    fields = {
        "softmax": words.at(softmax),
        "dim": str(dim),
        "product": words.at(call),
        "n": shape[dim],
        "of": shape[-1],
    }
    return Remark(Weight.WEIGHTY, "weighed_across", fields, (softmax, call))


def _filled_too_high(facts: Facts, words: Words, call: Call) -> Remark | None:
    """Tell of a softmax whose input was filled by a mask with a number that is near 0, or above."""
    if call.function != "softmax":
        return None
    filling = facts.maker.get(computed(facts, call.inputs[0], _IN_THEIR_PLACES))
    if filling is None or plain_name(filling.function) != "masked_fill" or filling.source is None:
        return None
    given = arguments_written(filling.source, filling.function)[-1:]
    if not given or not given[0].value > _LEAST:
        return None
    value = number(given[0].value)
    fields = {"fill": words.at(filling), "value": value, "softmax": words.at(call)}
    return Remark(Weight.WEIGHTY, "filled_too_high", fields, (filling, call))
