"""Weights of losses that are learnt with nothing against them: to make the loss small, they fall
without end. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.graph.effects import ELEMENTWISE_LOSSES, PRODUCTS
from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.graph.training import Did, Training
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import plain_name
from gradviz.why.evidence.measured import numbers
from gradviz.words.words import Words

# losses that are never below 0
_LOSSES = ELEMENTWISE_LOSSES | {
    "cross_entropy",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "nll_loss",
}
_JOINING = {"stack", "cat"}
_PICKING = {"__getitem__", "select", "unbind", "squeeze", "view"}


def learned_weights(facts: Facts, words: Words, training: Training) -> Iterator[Remark]:
    """Tell of each leaf that a step moved and that does nothing on the way to a loss but multiply
    losses.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        training: what was done with gradients.
    """
    behind = facts.in_losses
    for leaf, moments in training.moments.items():
        did = {m.did for m in moments}
        if Did.STEPPED not in did or Did.CHANGED in did or not _falls(facts, leaf):
            continue
        readers = [c for c in _readers(facts, leaf) if not behind.isdisjoint(c.outputs)]
        if readers and all(_weighs_losses(facts, leaf, call) for call in readers):
            fields = {
                "name": words.name(facts.latest_state[leaf].id),
                "call": words.at(readers[-1]),
            }
            yield Remark(
                Weight.WEIGHTY, "learned_weight", fields, (readers[-1],), frozenset([leaf])
            )


def _falls(facts: Facts, leaf: int) -> bool:
    """Say whether the numbers of the last gradient of a leaf that was read are above 0."""
    grads = (numbers(t.grad or "") for t in reversed(facts.states[leaf]))
    last = next((found for found in grads if found), None)
    return last is not None and min(last) > 0


def _readers(facts: Facts, leaf: int) -> list[Call]:
    """Return the calls that compute with a leaf, or with a part of it."""
    found = list[Call]()
    for call in facts.readers.get(leaf, ()):
        if call.function in _PICKING:
            found += [c for i in call.outputs for c in facts.calls_reading.get(i, ())]
        elif not call.bookkeeping:
            found.append(call)
    return found


def _weighs_losses(facts: Facts, leaf: int, call: Call) -> bool:
    """Say whether a call multiplies a leaf, or a part of it, by losses alone."""
    others = [i for i in call.inputs if not _is_of(facts, leaf, i)]
    is_product = plain_name(call.function) in PRODUCTS and len(call.inputs) == 2
    return is_product and len(others) == 1 and _is_loss(facts, others[0])


def _is_of(facts: Facts, leaf: int, tensor_id: int) -> bool:
    """Say whether a tensor is a leaf, or a part of it."""
    maker = facts.maker.get(tensor_id)
    given = maker.inputs[:1] if maker is not None and maker.function in _PICKING else ()
    return any(facts.graph.tensor[i].object_id == leaf for i in (tensor_id, *given))


def _is_loss(facts: Facts, tensor_id: int) -> bool:
    """Say whether a tensor is a loss, or several that were joined."""
    maker = facts.maker.get(tensor_id)
    if maker is None:
        return False
    if maker.function in _JOINING:
        return bool(maker.inputs) and all(_is_loss(facts, i) for i in maker.inputs)
    return maker.function in _LOSSES
