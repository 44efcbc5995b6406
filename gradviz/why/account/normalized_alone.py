"""Values that are divided by their own sum, maximum or norm over a dimension of size 1: 1, or a
sign, is left, whatever goes in. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.graph.training import line_of
from gradviz.names.written import dim_written, numbers_read
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import computed, plain_name
from gradviz.words.words import Words

_DIVIDING = {"div", "true_divide"}
_OF_SIGN = {"norm", "linalg_norm", "linalg_vector_norm", "vector_norm"}  # which leave a sign
_REDUCING = {"sum", "max", "amax"} | _OF_SIGN
# what keeps a divisor off 0
_KEEPING_OFF = {"add", "__radd__", "clamp", "clamp_min", "clip"}
_TINY = 1e-3  # up to which a number only keeps a divisor off 0


class Alone(NamedTuple):
    """A division of a value by itself.

    Attributes:
        call: that divides.
        own: that reduced the value to what it is divided by; the same call, where one does both.
        dim: of size 1, over which it did.
    """

    call: Call
    own: Call
    dim: int


def normalized_alone(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of each line on the way to a loss that always divides a tracked value by its own sum,
    maximum or norm over a dimension of size 1.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    found, other = dict[object, Alone](), set[object]()
    for call in facts.ordinary_calls:
        if plain_name(call.function) not in _DIVIDING | {"normalize"} or not call.inputs:
            continue
        is_tracked = facts.graph.tensor[call.inputs[0]].requires_grad
        if not is_tracked or facts.in_losses.isdisjoint(call.outputs):
            continue
        alone, key = _alone(facts, call), (line_of(call) or call.id, call.module)
        if alone is None:
            other.add(key)
        else:
            found[key] = alone
    for alone in (alone for key, alone in found.items() if key not in other):
        yield _told(facts, words, alone)


def _told(facts: Facts, words: Words, alone: Alone) -> Remark:
    """Tell of one such division."""
    by, given = plain_name(alone.own.function), alone.call.inputs[0]
    fields = {
        "call": words.at(alone.call),
        "name": words.name(given),
        "by": by,
        "made": words.where(alone.own),
        "dim": str(alone.dim),
        "code": facts.graph.tensor[given].code_name or "x",
    }
    if by == "normalize":
        fields["by"] = "norm"
    key = "sign_of_itself" if by in _OF_SIGN | {"normalize"} else "normalized_alone"
    calls = (alone.call,) if alone.own is alone.call else (alone.own, alone.call)
    return Remark(Weight.WEIGHTY, key, fields, calls)


def _alone(facts: Facts, call: Call) -> Alone | None:
    """Return a division of a value by itself over a dimension of size 1; None of another one."""
    if call.function == "normalize":
        return _normalized(facts, call)
    own = _reduction_behind(facts, call.inputs[1]) if len(call.inputs) == 2 else None
    if own is None or computed(facts, own.inputs[0]) != computed(facts, call.inputs[0]):
        return None
    before, after = (facts.graph.tensor[i].shape or () for i in (own.inputs[0], own.outputs[0]))
    ones = [i for i, size in enumerate(before) if size == 1]
    is_over_one = bool(ones) and [n for n in after if n > 1] == [n for n in before if n > 1]
    return Alone(call, own, ones[-1]) if is_over_one else None


def _normalized(facts: Facts, call: Call) -> Alone | None:
    """Return a call of torch's own normalize as such a division, where it is one."""
    written = None if call.source is None else dim_written(call.source, call.function)
    shape, dim = facts.graph.tensor[call.inputs[0]].shape or (), 1 if written is None else written
    is_one = -len(shape) <= dim < len(shape) and shape[dim] == 1
    return Alone(call, call, dim) if is_one else None


def _reduction_behind(facts: Facts, divisor: int) -> Call | None:
    """Return what reduced a value to a divisor, which at most a tiny number keeps off 0."""
    maker = facts.maker.get(computed(facts, divisor))
    if maker is not None and plain_name(maker.function) in _KEEPING_OFF and len(maker.inputs) == 1:
        if not _is_only_kept_off(maker):
            return None
        maker = facts.maker.get(computed(facts, maker.inputs[0]))
    is_reduction = maker is not None and plain_name(maker.function) in _REDUCING
    return maker if is_reduction else None


def _is_only_kept_off(call: Call) -> bool:
    """Say whether a tiny number stands in a call that keeps a divisor off 0."""
    if call.source is None:
        return False
    return any(0 < abs(n.value) < _TINY for n in numbers_read(call.source))
