"""Weights of an attention that add up to 1 over another dimension than the one they add up over,
masks before a softmax that leave nothing out, and masks after it. Knows no torch."""

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
from gradviz.why.evidence.triangles import triangle
from gradviz.words.words import Words

# what leaves each number at its place
_IN_THEIR_PLACES = frozenset({"dropout", "contiguous", "to", "type_as", "float", "half", "type"})
_SCALES = frozenset({"div", "true_divide", "masked_fill", "add", "sub", "clamp", *PRODUCTS})
# what may stand between the scores and their softmax, where no mask does
_UNMASKED = frozenset({"div", "true_divide", "mul", "contiguous", "to", "float"})
_DRAWN = {
    "rand",
    "rand_like",
    "randn",
    "randn_like",
    "bernoulli",
    "dropout",
    "topk",
    "randint_like",
}
_LEAST = -20.0  # exp() of a score from which on up is no mere rounding


def attention(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of products of a softmax over the scores of a product, in which the weights do not add
    up to 1, of scores that are masked with a number near 0, and of weights that are masked; of each
    line the last.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    behind, told = facts.in_losses, dict[object, Remark]()
    for call in facts.ordinary_calls:
        if not call.inputs or behind.isdisjoint(call.outputs):
            continue
        if call.function in MATRIX_PRODUCTS:
            found = _weighed_across(facts, words, call) or _masked_weights(facts, words, call)
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


def _masked_weights(facts: Facts, words: Words, product: Call) -> Remark | None:
    """Tell of a product whose first factor is a softmax of scores that no mask has met, of which a
    mask has made a part 0, and which nothing divides by its sum."""
    masking = facts.maker.get(computed(facts, product.inputs[0], _IN_THEIR_PLACES))
    mask = None if masking is None else _mask_of(facts, masking)
    if masking is None or mask is None:
        return None
    softmax = facts.maker.get(computed(facts, masking.inputs[0], _IN_THEIR_PLACES))
    if softmax is None or softmax.function != "softmax" or not _is_over_last(facts, softmax):
        return None
    scores = facts.maker.get(computed(facts, softmax.inputs[0], _UNMASKED))
    if scores is None or scores.function not in (*MATRIX_PRODUCTS, "einsum"):
        return None
    if not _is_constant(facts, mask) or not _is_only_multiplied(facts, masking.outputs[0]):
        return None
    weights = facts.graph.tensor[masking.outputs[0]].code_name or "weights"
    fields = {"masking": words.at(masking), "softmax": words.at(softmax), "weights": weights}
    return Remark(Weight.WEIGHTY, "masked_weights", fields, (softmax, masking))


def _mask_of(facts: Facts, masking: Call) -> int | None:
    """Return the mask with which a call makes a part of each row 0; None where it does not, or may
    make whole rows 0."""
    if len(masking.inputs) != 2:
        return None
    mask, name = masking.inputs[1], plain_name(masking.function)
    if name == "masked_fill":
        given = [] if masking.source is None else arguments_written(masking.source, name)
        is_mask = bool(given) and given[-1].value == 0
    else:
        of = facts.graph.tensor[computed(facts, mask, _IN_THEIR_PLACES)]
        is_mask = name in PRODUCTS and (of.dtype == "bool" or triangle(facts, mask) is not None)
    keys = (facts.graph.tensor[mask].shape or (1,))[-1:]
    return mask if is_mask and keys and keys[0] > 1 else None


def _is_over_last(facts: Facts, softmax: Call) -> bool:
    """Say whether a softmax runs over the last of several dimensions."""
    dims = len(facts.graph.tensor[softmax.outputs[0]].shape or ())
    return dims > 1 and dim_of(facts, softmax) in (-1, dims - 1)


def _is_constant(facts: Facts, mask: int) -> bool:
    """Say whether a mask comes from no weights, and from nothing that is drawn."""
    before = facts.ancestors([mask]) | {mask}
    makers = [facts.maker[i] for i in before if i in facts.maker]
    is_drawn = any(plain_name(call.function) in _DRAWN for call in makers)
    return not is_drawn and not any(facts.graph.tensor[i].requires_grad for i in before)


def _is_only_multiplied(facts: Facts, weights: int) -> bool:
    """Say whether weights are read by nothing but products: nothing takes their sum."""
    for call in facts.calls_reading.get(weights, ()):
        if plain_name(call.function) in _IN_THEIR_PLACES:
            if not all(_is_only_multiplied(facts, i) for i in call.outputs):
                return False
        elif call.function not in MATRIX_PRODUCTS:
            return False
    return True
