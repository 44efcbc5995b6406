"""Derivatives that are of no point alone: ``autograd.grad`` with ones is the gradient of a sum, and
the network computes each output of several points. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradviz.graph.facts import Facts
from gradviz.graph.records import Backward, Call, Tensor
from gradviz.graph.training import line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import ONES
from gradviz.words.words import Words

_FOURIER = {"fft_rfft", "fft_rfft2", "fft_rfftn"}  # of which the last dimension gets another size
_CONVOLUTIONS = {"conv1d", "conv2d", "conv3d"}


class Mixed(NamedTuple):
    """A derivative of a sum.

    Attributes:
        call: of ``autograd.grad``.
        outputs: the state that was derived.
        by: the state for which it was.
        mixing: the call between them that computes each point of several.
        dim: along which it does, from 0.
    """

    call: Call
    outputs: Tensor
    by: Tensor
    mixing: Call
    dim: int


def mixed_points(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of each derivative that goes on to be trained with, began with ones, and is of outputs
    with the points of its input, each of which was computed of several points.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    seen = set[object]()
    for run in reversed(facts.graph.backwards):
        call = facts.graph.call[run.call_id]
        line = line_of(call) or call.id
        if run.kind != "grad" or line in seen:
            continue
        seen.add(line)
        mixed = _mixed(facts, run, call)
        if mixed is not None:
            yield _told(facts, words, mixed)


def _told(facts: Facts, words: Words, mixed: Mixed) -> Remark:
    """Tell of one of these."""
    fields = {
        "call": words.at(mixed.call),
        "outputs": words.name(mixed.outputs.id),
        "by": words.name(mixed.by.id),
        "n": (mixed.by.shape or ())[mixed.dim],
        "dim": mixed.dim,
        "mixing": words.at(mixed.mixing),
    }
    key = "mixed_by_norm" if mixed.mixing.function == "batch_norm" else "mixed_points"
    return Remark(Weight.WEIGHTY, key, fields, (mixed.call, mixed.mixing))


def _mixed(facts: Facts, run: Backward, call: Call) -> Mixed | None:
    """Return the derivative of a run of ``autograd.grad``, where it is such a sum."""
    tensor, maker = facts.graph.tensor, facts.maker
    given = [maker.get(i) for i in call.inputs[2:]]
    with_ones = any(one is not None and one.function in ONES for one in given)
    is_trained_with = any(tensor[i].requires_grad for i in call.outputs)
    if len(run.returned) != 1 or not with_ones or not is_trained_with:
        return None
    outputs, by = tensor[call.inputs[0]], tensor[run.returned[0][0]]
    for mixing in _between(facts, outputs, by):
        dim = _shared(facts, mixing, outputs.shape or (), by.shape or ())
        if dim is not None:
            return Mixed(call, outputs, by, mixing, dim)
    return None


def _between(facts: Facts, outputs: Tensor, by: Tensor) -> list[Call]:
    """Return the calls through which the gradient of some outputs comes to a state, in order."""
    start, end = outputs.gradient_edge, by.gradient_edge
    if start is None or end is None:
        return []
    nodes = facts.reachable([start.node_id]) & facts.above([end.node_id])
    made_by = {facts.graph.node[i].call_id for i in nodes}
    return [facts.graph.call[i] for i in sorted(i for i in made_by if i is not None)]


def _shared(facts: Facts, call: Call, outputs: tuple[int, ...], by: tuple[int, ...]) -> int | None:
    """Return the dimension along which a call computes each of several points that outputs and
    input have in common; None where there is none."""
    shape = facts.graph.tensor[call.inputs[0]].shape if call.inputs else None
    if shape is None or not len(shape) == len(outputs) == len(by):
        return None
    sizes = zip(shape, outputs, by, strict=True)
    common = {dim for dim, (n, one, other) in enumerate(sizes) if n == one == other and n > 1}
    return min(common & _along(facts, call, len(shape)), default=None)


def _along(facts: Facts, call: Call, dims: int) -> set[int]:
    """Return the dimensions along which a call computes each number of several."""
    tensor = facts.graph.tensor
    if call.function in _FOURIER:
        shapes = (tensor[call.inputs[0]].shape or (), tensor[call.outputs[0]].shape or ())
        sizes = zip(*shapes, strict=True)
        return {dim for dim, (before, after) in enumerate(sizes) if before != after}
    if call.function in _CONVOLUTIONS:
        kernel = (tensor[call.inputs[1]].shape or ())[2:]
        return {dims - len(kernel) + at for at, size in enumerate(kernel) if size > 1}
    around = facts.module_call.get(call.module_call)
    if call.function == "batch_norm" and around is not None and around.training:
        return {*range(dims)} - {1}
    return set()
