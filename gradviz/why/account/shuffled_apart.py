"""Predictions and targets that were put into different orders: each got a permutation of its own.
Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.graph.effects import ELEMENTWISE_LOSSES
from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.why.account.remark import Remark, Weight
from gradviz.words.words import Words

_LOSSES = ELEMENTWISE_LOSSES | {
    *("cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits"),
}
_INDEXES = ("__getitem__", "index_select")


def shuffled_apart(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of the last loss whose predictions come from rows in the order of one permutation, and
    whose targets come from rows in the order of another one.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    losses = (c for c in reversed(facts.ordinary_calls) if c.function in _LOSSES)
    loss = next((c for c in losses if not facts.in_losses.isdisjoint(c.outputs)), None)
    if loss is None or len(loss.inputs) < 2:
        return
    of_inputs, of_targets = (_orders(facts, i) for i in loss.inputs[:2])
    if len(of_inputs) != 1 or len(of_targets) != 1 or of_inputs.keys() == of_targets.keys():
        return
    one, other = (*of_inputs.values(), *of_targets.values())
    if _rows(facts, one) != _rows(facts, other):
        return
    fields = {"one": words.at(one), "other": words.at(other), "loss": words.at(loss)}
    yield Remark(Weight.WEIGHTY, "shuffled_apart", fields, (one, other, loss))


def _orders(facts: Facts, tensor_id: int) -> dict[int, Call]:
    """Return the permutations by which what a tensor was computed from was ordered, each with the
    call that ordered it."""
    behind = facts.ancestors([tensor_id])
    found = dict[int, Call]()
    for call in facts.ordinary_calls:
        if call.function not in _INDEXES or behind.isdisjoint(call.outputs):
            continue
        for index in call.inputs[1:]:
            maker = facts.maker.get(index)
            if maker is not None and maker.function == "randperm":
                found[maker.id] = call
    return found


def _rows(facts: Facts, call: Call) -> int | None:
    """Return how many rows a call put into another order."""
    shape = facts.graph.tensor[call.outputs[0]].shape
    return shape[0] if shape else None
