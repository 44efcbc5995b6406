"""Means of a single number, to which a sum without a dimension has added up the whole batch before.
Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.graph.effects import PRODUCTS
from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.graph.training import line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import plain_name
from gradviz.words.words import Words

_SCALING = PRODUCTS | {"div", "neg", "true_divide"}
_REDUCING = {"sum", "norm", "linalg_norm", "linalg_vector_norm"}


def mean_of_one(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of each mean in a loss that is taken of a single number, which a sum or a norm has made
    of a whole batch: the mean over the samples was meant.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    last = dict[object, Remark]()
    for call in facts.ordinary_calls:
        if call.function != "mean" or facts.in_losses.isdisjoint(call.outputs):
            continue
        made = _reduced_before(facts, call)
        shape = () if made is None else facts.graph.tensor[made.inputs[0]].shape or ()
        if made is None or len(shape) < 2 or shape[0] < 2 or not _has_batch(facts, made, shape[0]):
            continue
        fields = {
            "mean": words.at(call),
            "made": words.at(made),
            "function": plain_name(made.function),
            "n": shape[0],
            "dims": "1" if len(shape) == 2 else f"({', '.join(map(str, range(1, len(shape))))})",
        }
        last[line_of(call) or call.id] = Remark(Weight.WEIGHTY, "mean_of_one", fields, (made, call))
    yield from last.values()


def _reduced_before(facts: Facts, mean: Call) -> Call | None:
    """Return the call that made one number of many before a mean of it, at most scaled."""
    tensor, maker = facts.graph.tensor, facts.maker.get(mean.inputs[0])
    if tensor[mean.inputs[0]].shape != ():
        return None
    while maker is not None and plain_name(maker.function) in _SCALING and len(maker.inputs) == 1:
        maker = facts.maker.get(maker.inputs[0])
    is_reduction = maker is not None and plain_name(maker.function) in _REDUCING
    return maker if maker is not None and is_reduction and len(maker.inputs) == 1 else None


def _has_batch(facts: Facts, made: Call, n: int) -> bool:
    """Say whether what was reduced was computed from data that has as many rows: weights alone have
    no batch."""
    states = (facts.graph.tensor[i] for i in facts.ancestors([made.inputs[0]]))
    shapes = (t.shape or () for t in states if not t.requires_grad)
    return any(len(shape) > 1 and shape[0] == n for shape in shapes)
