"""A recording, done again in thought with one cut mended: would a gradient then come through? Knows
no torch.

NOTE [what stands behind a cut]: a value that was cut off is a plain number for every call after it,
and what would have cut it a second time was recorded as an ordinary call. So the way from the cut
to the loss is walked again, as if the value were tracked: which calls would cut it then?
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call, Cut, CutReason

# what a call does with every value that it is given
_BY_NAME = {
    "detach": CutReason.DETACH,
    "detach_": CutReason.DETACH_IN_PLACE,
    "data": CutReason.DATA,
    "tensor": CutReason.COPIED_OUT,
    "as_tensor": CutReason.COPIED_OUT,
    "new_tensor": CutReason.COPIED_OUT,
}
# they have a derivative, and it is zero everywhere
_FLAT = frozenset("round floor ceil trunc sign sgn floor_divide heaviside fix".split())
DISCRETE = ("int", "uint", "bool")
_CASTS = frozenset("to long int bool type byte short char".split())
# what they give has no derivative, whatever numbers they are given
_COMPARING = frozenset(
    """gt ge lt le eq ne __gt__ __ge__ __lt__ __le__ __eq__ __ne__ greater greater_equal less
    less_equal not_equal isclose isnan isinf isfinite signbit""".split()
)
# they take no floats
OF_BITS = frozenset(
    """bitwise_and bitwise_or bitwise_xor bitwise_not __and__ __or__ __xor__
    __invert__""".split()
)
_LOGICAL = OF_BITS | frozenset("logical_and logical_or logical_xor logical_not all any".split())
_COUNTING = frozenset("argmax argmin argsort nonzero count_nonzero bincount one_hot".split())
_ALWAYS_DISCRETE = _CASTS | _COMPARING | _LOGICAL | _COUNTING
WITHOUT_DERIVATIVE = (CutReason.INTEGER_DTYPE, CutReason.NOT_DIFFERENTIABLE)
_OFF = (CutReason.NO_GRAD, CutReason.NO_GRAD_WRITE, CutReason.INFERENCE_MODE)
Key = tuple[object, ...]


class Obstacle(NamedTuple):
    """A call that would cut a value, if it were tracked."""

    call: Call
    reason: CutReason


class _Step(NamedTuple):
    """How a state of a tensor was come to: the obstacles on the way, in their order."""

    mended: frozenset[Key]
    obstacles: tuple[Obstacle, ...]


def obstacles_after(cut: Cut, facts: Facts, losses: Iterable[int] = ()) -> list[Obstacle] | None:
    """Return what else would cut a value on its way to the losses, once one cut is mended.

    Args:
        cut: what is mended, and with it every cut of the same line, or of the same ``no_grad``.
        facts: of the graph of a recording.
        losses: ids of tensors; left out, those that backwards were called on.

    Returns:
        The obstacles on the way that has the fewest, in the order of the forward; empty where a
        gradient would come through. None where no recorded call takes the value to a loss.
    """
    goals = {*losses} or {*facts.losses}
    if cut.output_id is None or not goals:
        return None
    found = _walked(cut, facts)
    ways = [found[goal].obstacles for goal in goals if goal in found]
    ways.sort(key=len)
    return list(ways[0]) if ways else None


def obstacles_alike(
    cut: Cut, facts: Facts, losses: Iterable[int], told: Iterable[Obstacle]
) -> list[Obstacle]:
    """Return what would cut a value on the other ways to the losses for the reasons of what is told
    of one way: only part of the gradient comes through while these stand.

    Args:
        cut: what is mended.
        facts: of the graph of a recording.
        losses: ids of tensors; empty, those that backwards were called on.
        told: what ``obstacles_after`` gave.
    """
    behind = facts.ancestors({*losses} or {*facts.losses})
    reasons = {obstacle.reason for obstacle in told}
    known = {key_of(obstacle) for obstacle in told} | {_key_of_cut(cut, facts)}
    found, alike = _walked(cut, facts), dict[Key, Obstacle]()
    for call in _later(cut, facts):
        if not any(i in found for i in facts.values_read(call)):
            continue
        for output in behind.intersection(made_by(call, facts)):
            reason = reason_to_cut(call, output, facts)
            if reason in reasons and reason is not None:
                obstacle = Obstacle(call, reason)
                alike.setdefault(key_of(obstacle), obstacle)
    return [obstacle for key, obstacle in alike.items() if key not in known]


def refusing(cut: Cut, facts: Facts, losses: Iterable[int] = ()) -> list[Call]:
    """Return the calls on the ways to the losses that raise when they are given floats in the place
    of the truth values that a cut gave on: ``mask & other``.

    Args:
        cut: what is mended.
        facts: of the graph of a recording.
        losses: ids of tensors; left out, those that backwards were called on.
    """
    made = facts.graph.tensor.get(cut.output_id)
    if made is None or not (made.dtype or "").startswith(DISCRETE):
        return []
    behind, found = facts.ancestors({*losses} or {*facts.losses}), _walked(cut, facts)
    return [
        call
        for call in _later(cut, facts)
        if call.function in OF_BITS
        and any(i in found for i in facts.values_read(call))
        and not behind.isdisjoint(made_by(call, facts))
    ]


def _walked(cut: Cut, facts: Facts) -> dict[int, _Step]:
    """Return how each state is come to that is computed from what a cut gives on."""
    assert cut.output_id is not None
    found = {cut.output_id: _Step(frozenset([_key_of_cut(cut, facts)]), ())}
    for later in _later(cut, facts):
        _take(later, facts, found)
    return found


def _later(cut: Cut, facts: Facts) -> Iterator[Call]:
    """Yield the calls of the forward after a cut."""
    for call in facts.graph.calls:
        if call.id > cut.call_id and not call.bookkeeping and call.id not in facts.backward_calls:
            yield call


def _key_of_cut(cut: Cut, facts: Facts) -> Key:
    """Return what is mended together with a cut."""
    return key_of(Obstacle(facts.graph.call[cut.call_id], cut.reason))


def _take(call: Call, facts: Facts, found: dict[int, _Step]) -> None:
    """Note to which states a call takes the value on."""
    ways = [found[i] for i in facts.values_read(call) if i in found]
    if not ways:
        return
    best = min(ways, key=lambda step: len(step.obstacles))
    for output in made_by(call, facts):
        reason = reason_to_cut(call, output, facts)
        step = best
        if reason is not None and key_of(Obstacle(call, reason)) not in best.mended:
            obstacle = Obstacle(call, reason)
            step = _Step(best.mended | {key_of(obstacle)}, (*best.obstacles, obstacle))
        known = found.get(output)
        if known is None or len(step.obstacles) < len(known.obstacles):
            found[output] = step


def made_by(call: Call, facts: Facts) -> Iterator[int]:
    """Yield the states that a call returned or wrote."""
    yield from call.outputs
    for write in facts.writes_by_call.get(call.id, ()):
        yield write.after_id


def reason_to_cut(call: Call, output_id: int, facts: Facts) -> CutReason | None:
    """Return why a call would give a tracked value on without its gradient; None where it would
    not."""
    if call.function in _BY_NAME:
        return _BY_NAME[call.function]
    dtype = facts.graph.tensor[output_id].dtype or ""
    if dtype.startswith(DISCRETE):
        return _discrete(call, facts)
    if call.function in _FLAT:
        return CutReason.NOT_DIFFERENTIABLE
    if call.inference_mode:
        return CutReason.INFERENCE_MODE
    return None if call.grad_mode else CutReason.NO_GRAD


def _discrete(call: Call, facts: Facts) -> CutReason | None:
    """Return why whole numbers or bools that a call makes have no gradient; None where it only
    computes with such numbers that it was given: of floats it makes floats."""
    dtypes = [facts.graph.tensor[i].dtype or "" for i in call.inputs]
    are_given = bool(dtypes) and all(dtype.startswith(DISCRETE) for dtype in dtypes)
    if are_given and call.function not in _ALWAYS_DISCRETE:
        return None
    is_cast = call.function in _CASTS
    return CutReason.INTEGER_DTYPE if is_cast else CutReason.NOT_DIFFERENTIABLE


def key_of(obstacle: Obstacle) -> Key:
    """Return what is mended together: a line, or all that runs under one switch."""
    source, reason = obstacle.call.source, obstacle.reason
    if reason in _OFF:
        return ("off", source.file if source else None, source.off if source else None)
    return (source[:2] if source else obstacle.call.id, reason)
