"""Losses that add up all the probabilities of a softmax, each with the same weight: that is 1
whatever the scores are, and nothing is learnt from it. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.graph.training import line_of
from gradviz.names.written import dim_written
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import plain_name
from gradviz.why.evidence.softmaxes import dim_of
from gradviz.words.words import Words

_SUMS = {"sum", "mean"}
_SHIFTS = {"add", "sub", "rsub", "__radd__", "__rsub__", "neg"}
_DIVIDES = {"div", "true_divide"}
_SCALES = {"mul", "__rmul__", *_DIVIDES}


def summed_probabilities(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of each softmax whose probabilities come to the losses in a sum over all of them alone.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    last = dict[object, Remark]()
    for call in facts.ordinary_calls:
        if plain_name(call.function) != "softmax" or facts.in_losses.isdisjoint(call.outputs):
            continue
        total = _sum_of_all(facts, call)
        if total is not None:
            fields = {"total": words.at(total), "place": words.where(call)}
            key = "summed_probabilities"
            last[line_of(total) or total.id] = Remark(Weight.IN_VAIN, key, fields, (total, call))
    yield from last.values()


def _sum_of_all(facts: Facts, softmax: Call) -> Call | None:
    """Return the call that adds up all probabilities of each row, the only way on which they come
    to a loss; None where they do so otherwise, or it is not known over which dimension they are
    probabilities."""
    state, dim = softmax.outputs[0], dim_of(facts, softmax)
    shape = facts.graph.tensor[state].shape
    if dim is None or shape is None or not facts.graph.tensor[state].requires_grad:
        return None
    behind_last = dim - len(shape) if dim >= 0 else dim
    while (reader := _only_reader(facts, state)) is not None:
        if plain_name(reader.function) in _SUMS:
            return reader if _is_over(facts, reader, state, behind_last) else None
        if not _keeps_alike(facts, reader, state, behind_last):
            return None
        state = reader.outputs[0]
    return None


def _only_reader(facts: Facts, state: int) -> Call | None:
    """Return the only call through which a gradient comes back to a state, and that makes one."""
    tensor = facts.graph.tensor
    readers = [
        call
        for call in facts.calls_reading.get(state, ())
        if any(tensor[i].requires_grad and i in facts.in_losses for i in call.outputs)
    ]
    return readers[0] if len(readers) == 1 and len(readers[0].outputs) == 1 else None


def _keeps_alike(facts: Facts, call: Call, state: int, dim: int) -> bool:
    """Say whether a call gives on all numbers along a dimension alike, shifted or times the same.

    Args:
        facts: of the recording.
        call: the call.
        state: what goes in.
        dim: the dimension, counted from the last.
    """
    shape, made = facts.graph.tensor[state].shape, facts.graph.tensor[call.outputs[0]].shape
    if shape is None or made is None or call.inputs.count(state) != 1:
        return False
    if len(made) < -dim or made[dim] != shape[dim]:
        return False
    function = plain_name(call.function)
    return function in _SHIFTS or (function in _SCALES and _scales_alike(facts, call, state, dim))


def _scales_alike(facts: Facts, call: Call, state: int, dim: int) -> bool:
    """Say whether a product, or a quotient, scales all numbers along a dimension by the same, which
    does not learn itself; arguments as above. A plain number stands for no input."""
    is_divisor = call.inputs[0] != state and plain_name(call.function) in _DIVIDES
    others = [facts.graph.tensor[i] for i in call.inputs if i != state]
    return not is_divisor and all(
        not t.requires_grad and t.shape is not None and (len(t.shape) < -dim or t.shape[dim] == 1)
        for t in others
    )


def _is_over(facts: Facts, total: Call, state: int, dim: int) -> bool:
    """Say whether a sum runs over a dimension, counted from the last."""
    shape, made = facts.graph.tensor[state].shape, facts.graph.tensor[total.outputs[0]].shape
    if shape is None or made is None:
        return False
    if not made:  # of all numbers there are
        return True
    written = None if total.source is None else dim_written(total.source, total.function)
    if written is None:
        return False
    return (written - len(shape) if written >= 0 else written) == dim
