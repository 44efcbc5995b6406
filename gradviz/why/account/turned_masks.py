"""Masks of attention that hide what is to be seen, and masks of 0 and 1 that are added to the
scores and hide nothing. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradviz.graph.facts import Facts, code_of
from gradviz.graph.records import Call
from gradviz.graph.training import line_of
from gradviz.names.frames import whole_code
from gradviz.names.written import arguments_written
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import computed, plain_name
from gradviz.why.evidence.softmaxes import dim_of
from gradviz.why.evidence.triangles import Triangle, triangle
from gradviz.words.words import Words

_OF_LAYERS = "multi_head_attention_forward"
_SCALED = "scaled_dot_product_attention"
_MASKS_FROM = {_OF_LAYERS: 3, _SCALED: 3}  # query, key and value stand before
_ON = {"add", "div", "dropout", "expand", "float", "masked_fill", "to", "unsqueeze", "view"}
# the same numbers, of another dtype or shape
_SAME = frozenset(
    {"float", "double", "half", "to", "type", "type_as", "unsqueeze", "expand", "view"}
)
_LEAST = -20.0  # exp() of less is no more than rounding
_TURNED = Triangle(is_lower=True, diagonal=0)  # hidden: the position itself and those before it


class Hidden(NamedTuple):
    """A mask that an attention has.

    Attributes:
        attention: the call that computes with it.
        mask: the state of the mask.
        where: the triangle that it hides.
        value: what the mask is there.
    """

    attention: Call
    mask: int
    where: Triangle
    value: bool


def turned_masks(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of attention in which no position sees itself or an earlier one, and the last one none
    at all, and of masks of 0 and 1 that are added; of each line the last.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    told, behind = dict[object, Remark](), facts.in_losses
    for call in facts.ordinary_calls:
        if call.function in _MASKS_FROM and not behind.isdisjoint(call.outputs):
            for mask in call.inputs[_MASKS_FROM[call.function] :]:
                is_seen = _is_one_where_seen(facts, mask)
                if is_seen is not None:
                    told[line_of(call) or call.id] = _added(facts, words, call, mask, is_seen)
        hidden = _hidden(facts, call)
        if hidden is not None and hidden.where == _TURNED:
            told[line_of(call) or call.id] = _turned(facts, words, hidden)
    yield from told.values()


def _turned(facts: Facts, words: Words, hidden: Hidden) -> Remark:
    """Tell of a mask that is turned round."""
    made = facts.maker[hidden.mask]
    fields = {
        "attention": words.at(hidden.attention),
        "hidden": str(hidden.value),
        "mask": words.at(made),
        "turned": f"~{facts.graph.tensor[hidden.mask].code_name or '(…)'}",
    }
    return Remark(Weight.WEIGHTY, "mask_turned", fields, (made, hidden.attention))


def _hidden(facts: Facts, call: Call) -> Hidden | None:
    """Return the mask of a call, where it is a triangle: that of torch's attention, or what fills
    scores with what a softmax makes 0 of."""
    if call.function == _SCALED:
        for mask in call.inputs[_MASKS_FROM[_SCALED] :]:
            seen = triangle(facts, mask)
            if seen is not None and facts.graph.tensor[mask].dtype == "bool":
                return Hidden(call, mask, seen.others(), value=False)
    if plain_name(call.function) != "masked_fill" or len(call.inputs) != 2:
        return None
    hidden, attention = triangle(facts, call.inputs[1]), _attention(facts, call)
    if hidden is None or attention is None:
        return None
    if attention.function == "softmax" and not _fills_with_less(call):
        return None
    return Hidden(attention, call.inputs[1], hidden, value=True)


def _attention(facts: Facts, filled: Call) -> Call | None:
    """Return the call that takes what was filled as the scores of an attention, or as a mask that
    it adds to them."""
    todo, seen = [*filled.outputs], set[int]()
    while todo:
        state = todo.pop()
        for call in facts.calls_reading.get(state, ()):
            is_softmax = call.function == "softmax" and _is_over_keys(facts, call)
            if is_softmax or (state in call.inputs[3:] and call.function in _MASKS_FROM):
                return call
            if plain_name(call.function) in _ON:
                fresh = {*call.outputs} - seen
                seen |= fresh
                todo += fresh
    return None


def _is_over_keys(facts: Facts, softmax: Call) -> bool:
    """Say whether a softmax runs over the last dimension."""
    dims = len(facts.graph.tensor[softmax.outputs[0]].shape or ())
    return dim_of(facts, softmax) in (-1, dims - 1)


def _fills_with_less(call: Call) -> bool:
    """Say whether a call fills with -inf, or with a number that a softmax makes 0 of."""
    given = [] if call.source is None else arguments_written(call.source, call.function)
    return "inf" in whole_code(call) or bool(given and given[-1].value < _LEAST)


def _is_one_where_seen(facts: Facts, mask: int) -> bool | None:
    """Say of a mask of floats that are 0 or 1, a triangle or a comparison in another dtype, whether
    it is 1 where something is to be seen; None of any other mask."""
    tensor = facts.graph.tensor
    if tensor[mask].requires_grad or "float" not in (tensor[mask].dtype or ""):
        return None
    form, compared = triangle(facts, mask), facts.maker.get(computed(facts, mask, _SAME))
    if form is not None:
        return form.is_lower
    name = "" if compared is None else compared.function.strip("_")
    if compared is None or name not in ("eq", "ne") or code_of(compared).rstrip(") ").endswith("1"):
        return None
    return name == "ne"


def _added(facts: Facts, words: Words, attention: Call, mask: int, is_seen: bool) -> Remark:
    """Tell of a mask of 0 and 1 that is added to scores."""
    maker = facts.maker[mask]
    one = is_seen == (attention.function == _SCALED)
    fields = {
        "attention": words.at(attention),
        "mask": words.at(maker),
        "turned": f"{facts.graph.tensor[mask].code_name or '(…)'} == {int(one)}",
    }
    return Remark(Weight.WEIGHTY, "mask_added", fields, (maker, attention))
