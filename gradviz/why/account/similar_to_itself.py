"""Contrastive losses in which each row is to be most similar to itself: it is already, and nothing
pulls two views together. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.graph.effects import MATRIX_PRODUCTS
from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.graph.training import line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import computed, plain_name
from gradviz.words.words import Words

_PRODUCTS = MATRIX_PRODUCTS | {"linear", "einsum"}
_SCALES = {"div", "mul", "true_divide"}
_TURNS = {"t", "transpose", "mT", "T", "permute"}
_RANGES = {"arange", "range"}


def similar_to_itself(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of each cross entropy over the products of all rows of one matrix with each other whose
    targets number the rows: the right answer is the row itself.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    last = dict[object, Remark]()
    for call in facts.ordinary_calls:
        if call.function != "cross_entropy" or facts.in_losses.isdisjoint(call.outputs):
            continue
        product, made = _product(facts, call.inputs[0]), _numbering(facts, call)
        if product is None or made is None:
            continue
        fields = {
            "call": words.at(call),
            "product": words.at(product),
            "rows": words.name(computed(facts, product.inputs[0], _TURNS)),
            "targets": words.name(call.inputs[1]),
            "place": words.where(made),
        }
        calls = (product, made, call)
        last[line_of(call)] = Remark(Weight.WEIGHTY, "similar_to_itself", fields, calls)
    yield from last.values()


def _product(facts: Facts, scores: int) -> Call | None:
    """Return the product of a matrix and the same one transposed whose result, at most scaled,
    the scores are."""
    maker = facts.maker.get(scores)
    while maker is not None and plain_name(maker.function) in _SCALES and maker.inputs:
        maker = facts.maker.get(maker.inputs[0])
    if maker is None or maker.function not in _PRODUCTS or len(maker.inputs) != 2:
        return None
    one, other = (computed(facts, i, _TURNS) for i in maker.inputs)
    return maker if one == other else None


def _numbering(facts: Facts, loss: Call) -> Call | None:
    """Return the call that made targets which number the rows, none of them moved."""
    maker = facts.maker.get(loss.inputs[1]) if len(loss.inputs) > 1 else None
    return maker if maker is not None and maker.function in _RANGES else None
