"""Softmax over one number: exactly 1, whatever goes in; and over rows that a mask may have made
infinite throughout. Knows no torch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from typing import NamedTuple

from gradviz.graph.facts import Facts, code_of
from gradviz.graph.records import Call
from gradviz.names.frames import names_read
from gradviz.names.written import dim_written
from gradviz.why.evidence.handed_on import computed, plain_name
from gradviz.why.evidence.measured import numbers

SOFTMAX = ("softmax", "log_softmax")
_INF = re.compile(r"\binf(inity)?\b")  # in the code of what fills
_FILLING = ("masked_fill", "where", "__setitem__")


class MaskedRows(NamedTuple):
    """A softmax, and the call that filled what goes in with an infinity."""

    softmax: Call
    mask: Call


def masked_rows(
    facts: Facts, calls: Iterable[Call], infinite: Set[str] = frozenset()
) -> MaskedRows | None:
    """Return the first softmax among some calls whose input was filled with an infinity, as the
    code has it: of a row in which nothing else is left it gives NaN, and where +inf stands.

    Args:
        facts: of the recording.
        calls: in their order.
        infinite: variables that the code gives an infinity.
    """
    tensor, masks = facts.graph.tensor, list[Call]()
    for call in calls:
        names = names_read(call) if plain_name(call.function) in _FILLING else set()
        if names and (_INF.search(code_of(call)) or not infinite.isdisjoint(names)):
            masks.append(call)
        if plain_name(call.function) not in SOFTMAX or not call.inputs:
            continue
        given = computed(facts, call.inputs[0])
        memory = {tensor[given].storage_id, tensor[call.inputs[0]].storage_id} - {None}
        for mask in reversed(masks):
            filled = {tensor[i].storage_id for i in (*mask.inputs[:1], *mask.outputs)}
            if given in mask.outputs or (mask.function.endswith("_") and memory & filled):
                return MaskedRows(call, mask)
    return None


def runs_over_one(facts: Facts, call: Call) -> bool | None:
    """Say whether a softmax, or the one inside cross_entropy, runs over a dimension of size 1; None
    where its ``dim`` is not known, and it may.

    The recorded shape proves most of it. Where it has a dimension of size 1 beside others, the
    ``dim`` that stands written decides, or numbers that are all 1: two of them would add up to 2.
    """
    function = plain_name(call.function)
    if function not in (*SOFTMAX, "cross_entropy"):
        return False
    of = call.inputs if function == "cross_entropy" else call.outputs
    scores = facts.graph.tensor[of[0]]
    shape = scores.shape
    if shape is None:
        return None
    if set(shape) <= {1} or 1 not in shape:
        return set(shape) <= {1}
    dim = _dim(call, function, len(shape))
    if dim is not None:
        return shape[dim] == 1
    values = numbers(scores.values or "")
    only = 1.0 if function == "softmax" else 0.0
    return None if values is None else all(value == only for value in values)


def dim_of(facts: Facts, softmax: Call) -> int | None:
    """Return over which dimension a softmax runs; None where that is not known."""
    shape = facts.graph.tensor[softmax.outputs[0]].shape
    if shape is None:
        return None
    if len(shape) == 1:
        return 0
    return _dim(softmax, plain_name(softmax.function), len(shape))


def _dim(call: Call, function: str, dims: int) -> int | None:
    """Return over which of some dimensions a softmax runs, as far as that is known."""
    if function == "cross_entropy":
        return min(1, dims - 1)
    dim = dim_written(call.source, function) if call.source is not None else None
    return dim if dim is not None and -dims <= dim < dims else None
