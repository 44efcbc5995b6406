"""NaN that stood in the values already, before the call whose derivative is blamed for it: it came
with the data, and a mask behind it comes too late. Knows no torch."""

from __future__ import annotations

import math

from gradviz.graph.findings import Cause
from gradviz.graph.records import Backward, Call
from gradviz.why.evidence.measured import numbers
from gradviz.why.rules.sizes.broken_derivative import Point
from gradviz.why.rules.sizes.sizes import Sizes
from gradviz.why.shown.explanation import Explanation

_STEPS = 20  # calls that are gone back through


def nan_before(sizes: Sizes, cause: Cause, broken: str, point: Point) -> Explanation | None:
    """Tell where NaN came in, where the blamed derivative is taken at NaN, and a call before that
    was given it with data: what it was given without a history has NaN, or is too large to have
    been read."""
    if cause is not Cause.NAN or point.call is None or not any(map(math.isnan, point.values)):
        return None
    first = _first_with_nan(sizes, point.call)
    if first is None:
        return None
    data = [i for i in first.inputs if not sizes.graph.tensor[i].requires_grad]
    given = [i for i in data if _has_nan(sizes, i) in (True, None)]
    if not given:
        return None
    words = sizes.words
    is_read = bool(_has_nan(sizes, given[0]))
    return sizes.answer(
        cause,
        "came_as_nan" if is_read else "came_as_nan_unread",
        calls=[first, point.call],
        nodes=[point.node.id],
        broken=broken,
        name=words.name(given[0]),
        code=words.at(first),
        blamed=words.at(point.call),
    )


def had_broken_weights(sizes: Sizes, run: Backward) -> bool:
    """Say whether a backward came to leaves that are known to have held NaN already: an earlier
    step wrote it, and what is to be explained is that one's gradient."""
    start = sizes.graph.call[run.call_id].inputs[:1]
    leaves = (leaf for i in start for leaf in sizes.facts.leaves_reached(i))
    return any(_has_nan(sizes, leaf.id) for leaf in leaves)


def _first_with_nan(sizes: Sizes, blamed: Call) -> Call | None:
    """Return the first call of those that handed NaN on to another one, on the way of tracked
    values; None where a value on that way was not read."""
    call, maker = None, blamed
    for _ in range(_STEPS):
        tracked = [i for i in maker.inputs if sizes.graph.tensor[i].requires_grad]
        before = [i for i in tracked if _has_nan(sizes, i)]
        made = sizes.facts.maker.get(before[0]) if before else None
        if made is None:
            return call
        if made.bookkeeping:
            return None  # weights that a step broke
        call = maker = made
    return None


def _has_nan(sizes: Sizes, tensor_id: int) -> bool | None:
    """Say whether NaN stands in a tensor; None where its values were not read."""
    values = numbers(sizes.graph.tensor[tensor_id].values or "")
    return None if values is None else any(map(math.isnan, values))
