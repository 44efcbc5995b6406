"""The calls that may have made NaN or inf of finite numbers, where their results were not read.
Knows no torch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from gradviz.graph.broken_at import BrokenAt
from gradviz.graph.records import Backward, Call
from gradviz.why.evidence.handed_on import plain_name
from gradviz.why.evidence.measured import numbers
from gradviz.why.rules.silent.silent import lines_once
from gradviz.why.rules.sizes.advice import (
    ARCS,
    DIVISIONS,
    GROWING,
    LOGS,
    POWERS,
    QUOTIENTS,
    SPREADS,
    SQUARE_ROOTS,
    has_fraction,
)
from gradviz.why.rules.sizes.sizes import Sizes

# what is not finite at some values, though what goes in is: below 0, at 0, or of a large number
_RISKY = LOGS | SQUARE_ROOTS | ARCS | GROWING | {"log1p", "reciprocal", "__rdiv__"}
_NAN_BELOW = LOGS | SQUARE_ROOTS | ARCS  # of a negative number, or one beyond 1
_MOST_SUSPECTS = 4


def values_in_loss(sizes: Sizes, run: Backward) -> set[int]:
    """Return the states whose values went into the loss of a backward."""
    return sizes.facts.ancestors([sizes.graph.call[run.call_id].inputs[0]])


def _is_risky(call: Call) -> bool:
    """Say whether a call is not finite at some values: a division only by a tensor."""
    function = plain_name(call.function)
    if function in POWERS:
        return has_fraction(call)
    return function in _RISKY or (function in QUOTIENTS and len(call.inputs) == 2)


def suspected(sizes: Sizes, run: Backward, seen: Call) -> list[Call]:
    """Return the calls on the way to a loss whose results were not read, and that are not finite at
    some values: of each line the first, and none where there are many lines. Where the nodes were
    read, those alone that may have made it; where these are none, what made their data."""
    behind = values_in_loss(sizes, run)
    read = next((b for b in sizes.broken_at if b.run == run.run and b.suspects), None)
    possible = None if read is None else _calls_of(sizes, read)
    before = [c for c in sizes.facts.ordinary_calls if c.id < seen.id and _is_risky(c)]
    found = [c for c in before if _is_unread(sizes, c, behind) and _may_be(sizes, c, possible)]
    if not found and possible is not None:
        given = [i for call_id in possible for i in sizes.graph.call[call_id].inputs]
        return suspects_of_data(sizes, given)
    return _few(found)


def _is_unread(sizes: Sizes, call: Call, behind: set[int]) -> bool:
    """Say whether a call made a tracked value that went in, and that was not read."""
    made = [sizes.graph.tensor[i] for i in call.outputs if i in behind]
    return any(t.requires_grad and values(sizes, t.id) is None for t in made)


def _may_be(sizes: Sizes, call: Call, possible: set[int] | None) -> bool:
    """Say whether a call is one of those that are possible, or the root that one divides by."""
    if possible is None or call.id in possible:
        return True
    return _is_divided_by(sizes, call, possible)


def _is_divided_by(sizes: Sizes, call: Call, possible: set[int]) -> bool:
    """Say whether a root is what one of some calls divides by: at 0 both are to be mended, as the
    root has no derivative there."""
    if plain_name(call.function) not in SQUARE_ROOTS:
        return False
    users = [sizes.graph.call[i] for i in possible]
    dividing = [c for c in users if plain_name(c.function) in DIVISIONS]
    behind = sizes.facts.ancestors([i for c in dividing for i in c.inputs[-1:]])
    return not behind.isdisjoint(call.outputs)


def suspects_of_data(sizes: Sizes, given: Iterable[int]) -> list[Call]:
    """Return the calls without a gradient that may have made NaN in data, of each line the first:
    a standard deviation of one number; else what has none of a negative number. None where what was
    read first was not finite itself, or where there are many lines."""
    data = [i for i in given if not sizes.graph.tensor[i].requires_grad]
    behind = sizes.facts.ancestors(data)
    if any(i not in sizes.facts.maker and sizes.not_finite(i)[0] for i in behind):
        return []
    calls = [c for c in sizes.facts.ordinary_calls if _is_unread_data(sizes, c, behind)]
    alone = [c for c in calls if _is_of_one(sizes, c)]
    return _few(alone or [c for c in calls if _has_none_below(c)])


def _is_of_one(sizes: Sizes, call: Call) -> bool:
    """Say whether a call takes the standard deviation or the variance of one number: that divides
    by 0, where it is not told otherwise."""
    shape = sizes.graph.tensor[call.inputs[0]].shape if call.inputs else None
    code = call.source.code if call.source is not None else ""
    is_told = any(word in (code or "") for word in ("unbiased", "correction"))
    is_alone = shape is not None and math.prod(shape) == 1
    return plain_name(call.function) in SPREADS and is_alone and not is_told


def _has_none_below(call: Call) -> bool:
    """Say whether a call has no result of some negative numbers."""
    function = plain_name(call.function)
    return function in _NAN_BELOW or (function in POWERS and has_fraction(call))


def _is_unread_data(sizes: Sizes, call: Call, behind: set[int]) -> bool:
    """Say whether a call made data that went in, and are not known to be finite."""
    made = [i for i in call.outputs if i in behind and not sizes.graph.tensor[i].requires_grad]
    return any(not _is_finite(sizes, i) for i in made)


def _is_finite(sizes: Sizes, tensor_id: int) -> bool:
    """Say whether the numbers of a tensor are known to be finite."""
    read = values(sizes, tensor_id)
    if read is not None:
        return all(map(math.isfinite, read))
    n, every = sizes.not_finite(tensor_id)
    return bool(every) and not n


def _calls_of(sizes: Sizes, read: BrokenAt) -> set[int]:
    """Return the calls whose nodes may have made what is not finite."""
    calls = (sizes.graph.node[i].call_id for i in read.suspects)
    return {call for call in calls if call is not None and call in sizes.graph.call}


def _few(calls: Sequence[Call]) -> list[Call]:
    """Return the first call of each line; none of many."""
    first = lines_once(calls)
    return first if len(first) <= _MOST_SUSPECTS else []


def values(sizes: Sizes, tensor_id: int) -> list[float] | None:
    """Return the numbers of a tensor; None where they were not read."""
    return numbers(sizes.graph.tensor[tensor_id].values or "")
