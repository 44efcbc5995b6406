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
    call = facts.graph.call[cut.call_id]
    found = {cut.output_id: _Step(frozenset([key_of(Obstacle(call, cut.reason))]), ())}
    for later in facts.graph.calls:
        if later.id <= cut.call_id or later.bookkeeping or later.id in facts.backward_calls:
            continue
        _take(later, facts, found)
    ways = [found[goal].obstacles for goal in goals if goal in found]
    ways.sort(key=len)
    return list(ways[0]) if ways else None


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
    """Return why whole numbers or bools that a call makes have no gradient; None where what it was
    given were such numbers already."""
    dtypes = [facts.graph.tensor[i].dtype or "" for i in call.inputs]
    if dtypes and all(dtype.startswith(DISCRETE) for dtype in dtypes):
        return None
    casts = call.function in ("to", "long", "int", "bool", "type", "byte", "short", "char")
    return CutReason.INTEGER_DTYPE if casts else CutReason.NOT_DIFFERENTIABLE


def key_of(obstacle: Obstacle) -> Key:
    """Return what is mended together: a line, or all that runs under one switch."""
    source, reason = obstacle.call.source, obstacle.reason
    if reason in _OFF:
        return ("off", source.file if source else None, source.off if source else None)
    return (source[:2] if source else obstacle.call.id, reason)
