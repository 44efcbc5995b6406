"""Penalties on the slope of a critic: the norm of a derivative, of which each sample has one, taken
over a part of a sample or over the whole batch. Knows no torch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.graph.training import line_of
from gradviz.names.written import numbers_read
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import KEEPING, ONES, computed, plain_name
from gradviz.words.words import Words

_NORMS = {"norm", "linalg_norm", "linalg_vector_norm", "vector_norm"}
_SQUARES = {"pow", "__pow__", "square", "mul"}
# what leaves all of the numbers
_RESHAPES = KEEPING - {"__getitem__", "chunk", "select", "split", "unbind", "expand", "dropout"}


class Slope(NamedTuple):
    """A norm of a derivative.

    Attributes:
        of: the state that ``autograd.grad`` returned.
        norm: the call that gave the norm.
        samples: as many numbers were derived, one of each sample.
        norms: as many norms there are.
    """

    of: int
    norm: Call
    samples: int
    norms: int


def slopes(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of each line of a loss that compares with a number the norms of a derivative, and has
    more or fewer of them than samples whose output was derived.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    last = dict[object, Slope | None]()
    for slope in _slopes(facts):
        if _is_compared(facts, slope.norm):
            is_odd = slope.norms == 1 or slope.norms % slope.samples == 0
            is_odd = is_odd and slope.norms != slope.samples
            last[line_of(slope.norm) or slope.norm.id] = slope if is_odd else None
    for slope in (slope for slope in last.values() if slope is not None):
        fields = {
            "norm": words.at(slope.norm),
            "name": words.name(slope.of),
            "samples": slope.samples,
            "norms": slope.norms,
            "code": facts.graph.tensor[slope.of].code_name or "gradient",
        }
        key = "slope_of_a_batch" if slope.norms == 1 else "slope_of_a_part"
        yield Remark(Weight.WEIGHTY, key, fields, (slope.norm,))


def _slopes(facts: Facts) -> Iterator[Slope]:
    """Yield the norms in losses of what was derived, where one number of each of several samples
    was."""
    for run in (b for b in facts.graph.backwards if b.kind == "grad"):
        call = facts.graph.call[run.call_id]
        samples = _size(facts, _summed_up(facts, call.inputs[0]))
        for state in call.outputs:
            shape = facts.graph.tensor[state].shape or ()
            if samples is None or samples < 2 or len(shape) < 2 or shape[0] != samples:
                continue
            for norm in _norms(facts, state):
                norms = _size(facts, norm.outputs[0])
                if norms is not None and norm.outputs[0] in facts.in_losses:
                    yield Slope(state, norm, samples, norms)


def _summed_up(facts: Facts, root: int) -> int:
    """Return what was added up to what a derivative was taken of."""
    call = facts.maker.get(root)
    is_sum = call is not None and call.function in ("sum", "mean") and call.inputs
    return call.inputs[0] if call is not None and is_sum else root


def _size(facts: Facts, tensor_id: int) -> int | None:
    """Return how many numbers a tensor has."""
    shape = facts.graph.tensor[tensor_id].shape
    return None if shape is None else math.prod(shape)


def _norms(facts: Facts, state: int) -> Iterator[Call]:
    """Yield the calls that give a norm of a state: those of torch, and the root of a sum of
    squares."""
    for call in _reading(facts, state):
        if plain_name(call.function) in _NORMS:
            yield call
        elif plain_name(call.function) in _SQUARES and _is_of(facts, call, state):
            sums = (c for i in call.outputs for c in _reading(facts, i) if c.function == "sum")
            yield from (root for one in sums for root in _roots(facts, one))


def _is_of(facts: Facts, call: Call, state: int) -> bool:
    """Say whether a call computes with a state alone."""
    return {computed(facts, i, _RESHAPES) for i in call.inputs} == {state}


def _roots(facts: Facts, summed: Call) -> Iterator[Call]:
    """Yield the roots of a sum, to which a number may have been added."""
    for call in _reading(facts, summed.outputs[0]):
        if call.function == "add" and len(call.inputs) == 1:
            yield from (c for c in _reading(facts, call.outputs[0]) if c.function == "sqrt")
        elif call.function == "sqrt":
            yield call


def _is_compared(facts: Facts, norm: Call) -> bool:
    """Say whether a number above 0 is taken from a norm, or it is compared with ones."""
    for call in _reading(facts, norm.outputs[0]):
        if plain_name(call.function) == "sub" and len(call.inputs) == 1 and call.source is not None:
            return any(n.value > 0 for n in numbers_read(call.source))
        other = facts.maker.get(call.inputs[-1]) if len(call.inputs) == 2 else None
        if other is not None and other.function in ONES:
            return call.function in ("sub", "mse_loss")
    return False


def _reading(facts: Facts, state: int) -> Iterator[Call]:
    """Yield the calls that read a state, or the same numbers in another shape."""
    for call in facts.calls_reading.get(state, ()):
        if plain_name(call.function) in _RESHAPES:
            for result in call.outputs:
                yield from _reading(facts, result)
        else:
            yield call
