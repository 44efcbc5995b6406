"""Inputs so far from 0 that the first layer's sigmoid or tanh is flat there: it gives nearly the
same for all of them, and hardly a gradient comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from gradviz.graph.facts import Facts
from gradviz.graph.preview import number
from gradviz.graph.records import Call
from gradviz.graph.sent import number_of, root_of_squares
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import plain_name
from gradviz.words.words import Words

_FLAT = {"sigmoid", "tanh"}
_FAR = 20.0  # the largest input from which on it is told
_LITTLE = 0.05  # of the gradient; near 0 a sigmoid sends a quarter, tanh all


def flat_at_inputs(
    facts: Facts, words: Words, values_of: Callable[[int], torch.Tensor | None]
) -> Iterator[Remark]:
    """Tell of the last layer that takes data as they are, into a sigmoid or tanh that is flat for
    them.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        values_of: gives the living values of a state.
    """
    for call in reversed(facts.ordinary_calls):
        layer = _layer_before(facts, call)
        data = None if layer is None else values_of(layer.inputs[0])
        if layer is None or data is None or not data.is_floating_point():
            continue
        least, most = float(data.min()), float(data.max())
        share = _share_sent(facts, call)
        if max(-least, most) < _FAR or share is None or not share <= _LITTLE:
            continue
        name = words.name(layer.inputs[0])
        fields = {
            "name": name,
            "least": number(least),
            "most": number(most),
            "call": words.at(call),
            "share": number(share),
            "function": plain_name(call.function),
            "weight": words.name(layer.inputs[1]),
        }
        yield Remark(Weight.WEIGHTY, "flat_at_inputs", fields, (layer, call))
        return


def _layer_before(facts: Facts, call: Call) -> Call | None:
    """Return the linear layer whose result a sigmoid or tanh takes, where it was given data."""
    if plain_name(call.function) not in _FLAT or facts.in_losses.isdisjoint(call.outputs):
        return None
    layer = facts.maker.get(call.inputs[0])
    if layer is None or layer.function != "linear" or len(layer.inputs) < 2:
        return None
    tensor = facts.graph.tensor
    is_data = not tensor[layer.inputs[0]].requires_grad and tensor[layer.inputs[1]].requires_grad
    return layer if is_data else None


def _share_sent(facts: Facts, call: Call) -> float | None:
    """Return how much of the gradient that arrived at a function it sent on, in its last run."""
    edge = facts.graph.tensor[call.outputs[0]].gradient_edge
    runs = [] if edge is None else facts.runs_of_node.get(edge.node_id, [])
    if not runs:
        return None
    _, ran = runs[-1]
    arrived, sent = (
        root_of_squares(
            number_of(norm, text) for text, norm in zip(texts, norms, strict=False) if text
        )
        for texts, norms in ((ran.arrived, ran.arrived_norms), (ran.sent, ran.sent_norms))
    )
    return sent / arrived if arrived > 0 else None
