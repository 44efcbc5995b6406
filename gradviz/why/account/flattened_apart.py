"""Predictions and targets that are flattened for a loss while two of their dimensions stand in
exchanged order: each number of one meets another place of the other. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradviz.graph.effects import CLASS_LOSSES, ELEMENTWISE_LOSSES
from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.graph.training import line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.words.words import Words

_LOSSES = CLASS_LOSSES | ELEMENTWISE_LOSSES | {"binary_cross_entropy_with_logits"}
_FLATTENS = {"view", "reshape", "flatten"}
_SAME_SHAPE = {"log_softmax", "softmax", "sigmoid", "float", "long", "to", "contiguous"}


class Flattened(NamedTuple):
    """What a loss was given, before it was flattened.

    Attributes:
        call: what flattened it.
        shape: its shape before that, of scores without their last dimension, the classes.
    """

    call: Call
    shape: tuple[int, ...]


def flattened_apart(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of each loss whose prediction and target are flattened from [A, B] and [B, A].

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    found: dict[object, Call] = {}
    for call in facts.ordinary_calls:
        if call.function in _LOSSES and not facts.in_losses.isdisjoint(call.outputs):
            found[line_of(call) or call.id] = call
    for loss in found.values():
        sides = [_flattened(facts, i) for i in loss.inputs[:2]]
        if len(sides) != 2 or None in sides:
            continue
        scores, target = (side for side in sides if side is not None)
        own = scores.shape[:-1] if loss.function in CLASS_LOSSES else scores.shape
        if len(own) != 2 or own[0] == own[1] or own[::-1] != target.shape:
            continue
        fields = {
            "loss": words.at(loss),
            "scores": words.name(scores.call.inputs[0]),
            "target": words.name(target.call.inputs[0]),
            "code": words.as_written(target.call.inputs[0]),
            "shape": list(map(str, scores.shape)),
            "other": list(map(str, target.shape)),
        }
        yield Remark(Weight.WEIGHTY, "flattened_apart", fields, (loss, scores.call, target.call))


def _flattened(facts: Facts, tensor_id: int) -> Flattened | None:
    """Return what stands before the call that flattened an input of a loss; None where none
    did."""
    call = facts.maker.get(tensor_id)
    while call is not None and call.function in _SAME_SHAPE and call.inputs:
        call = facts.maker.get(call.inputs[0])
    if call is None or call.function not in _FLATTENS or not call.inputs:
        return None
    shape = facts.graph.tensor[call.inputs[0]].shape
    return None if shape is None else Flattened(call, tuple(shape))
