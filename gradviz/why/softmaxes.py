"""Softmax over one number: exactly 1, whatever goes in. Knows no torch."""

from __future__ import annotations

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.names.written import dim_written
from gradviz.why.handed_on import plain_name
from gradviz.why.measured import numbers

SOFTMAX = ("softmax", "log_softmax")


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


def _dim(call: Call, function: str, dims: int) -> int | None:
    """Return over which of some dimensions a softmax runs, as far as that is known."""
    if function == "cross_entropy":
        return min(1, dims - 1)
    dim = dim_written(call.source, function) if call.source is not None else None
    return dim if dim is not None and -dims <= dim < dims else None
