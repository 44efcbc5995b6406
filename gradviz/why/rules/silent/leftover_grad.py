"""Frozen weights that an optimizer moves, as their old ``.grad`` is still there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import torch

from gradviz.graph.findings import Cause
from gradviz.graph.records import (
    Call,
)
from gradviz.graph.training import STEPS, Did
from gradviz.watch.identity import read
from gradviz.why.evidence.switches import switches_off
from gradviz.why.rules.silent.silent import Silent
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say

# of plain SGD: what is added may be zero
_ADDS = ("add_", "_foreach_add_", "sub_", "_foreach_sub_")


def leftovers(asked: Silent) -> Iterator[Explanation]:
    """Tell of frozen weights whose old ``.grad`` an optimizer still uses."""
    names, reasons = list[str](), list[str]()
    steps, ids = list[Call](), list[int]()
    for known_name, p in frozen_with_gradient(asked).values():
        steps_seen = stepped(asked, p)
        reason = reason_moved(asked, p, steps_seen)
        if not reason or _is_by_turns(asked, p) or (not steps_seen and _is_left_alone(asked, p)):
            continue
        state = asked.recording.find(p) if asked.recording is not None else None
        reasons.append(reason)
        name = known_name or (state and asked.words.name(state.id))
        names.append(name or say("silent.frozen_weight"))
        steps += steps_seen
        ids += [state.id] if state else []
    if names:
        yield asked.answer(
            Cause.LEFTOVER_GRAD_MOVES,
            "moved" if steps else "would_move",
            calls=[*switches_off(asked.facts, _objects(asked, ids)), *steps[-1:]],
            tensors=ids,
            weights=names,
            reason=reasons[0],
        )


def _objects(asked: Silent, tensor_ids: Iterable[int]) -> set[int]:
    """Return the objects of which these are states."""
    return {asked.graph.tensor[i].object_id for i in tensor_ids}


def reason_moved(asked: Silent, tensor: torch.Tensor, steps: list[Call]) -> str:
    """Say why an optimizer's step moves a frozen weight; "" where it does not.

    Args:
        tensor: the weight.
        steps: the recorded ones that wrote it.
    """
    why = asked.why_moved.get(id(tensor))
    if why is not None:
        return why
    # A step with nothing to add writes too, and moves nothing.
    adds_only = all(c.function in _ADDS for c in steps)
    if not steps or (adds_only and not _is_nonzero(tensor.grad)):
        return ""
    return say("silent.has_gradient")


def frozen_with_gradient(asked: Silent) -> dict[int, tuple[str, Any]]:
    """Return what is asked about and is frozen, and still has a ``.grad``: by identity, each
    under its first name."""
    held = [(n, p) for n, (p, _) in asked.held.items()]
    every = [*held, *asked.parameters.items(), *asked.tensors.items()]
    named = {id(p): n for n, p in reversed(every)}
    return {
        id(p): (named[id(p)], p)
        for _, p in every
        # is_leaf of a view that requires grad can raise
        if not p.requires_grad and p.is_leaf and p.grad is not None
    }


def stepped(asked: Silent, tensor: torch.Tensor) -> list[Call]:
    """Return the optimizer steps that wrote a tensor while it was frozen."""
    object_id = asked.object_of(tensor)
    if object_id is None:
        return []
    steps = list[Call]()
    for event in asked.facts.writes_by_object.get(object_id, ()):
        call = asked.graph.call[event.call_id]
        frozen = asked.graph.tensor[event.after_id].requires_grad is False
        by_step = call.bookkeeping and call.function.startswith(STEPS)
        if frozen and by_step and not event.alias:
            steps.append(call)
    return steps


def _is_by_turns(asked: Silent, tensor: torch.Tensor) -> bool:
    """Say whether the recorded code switches a weight on and off again, each step used what a
    backward had brought since the one before, and nobody asked about it."""
    object_id = asked.object_of(tensor)
    if not asked.bare or object_id is None or not asked.facts.was_switched_on(object_id):
        return False
    row = (m.did for m in asked.training.moments.get(object_id, ()))
    steps = [did for did in row if did in (Did.ADDED, Did.STEPPED)]
    return all(one is Did.ADDED for one, then in pairwise(steps) if then is Did.STEPPED)


def _is_left_alone(asked: Silent, tensor: torch.Tensor) -> bool:
    """Say whether the recorded code did not mean a step of a weight that it froze: it switched it
    on again, or, where nothing is asked in particular, stepped others since and not this one."""
    is_in_turns = asked.facts.was_switched_on(asked.object_of(tensor))
    return is_in_turns or (asked.bare and _stepped_others(asked, tensor))


def _stepped_others(asked: Silent, tensor: torch.Tensor) -> bool:
    """Say whether an optimizer stepped others after a weight was frozen, if that was recorded."""
    object_id, states = asked.object_of(tensor), asked.graph.tensor
    writes = () if object_id is None else asked.facts.writes_by_object.get(object_id, ())
    frozen = max((e.call_id for e in writes if states[e.before_id].requires_grad), default=-1)
    every = (m for row in asked.training.moments.values() for m in row)
    return any(m.did is Did.STEPPED and m.call.id > frozen for m in every)


def _is_nonzero(tensor: torch.Tensor | None) -> bool:
    """Say whether a tensor is there and holds anything but zeros."""
    return tensor is not None and bool(read(lambda: bool(tensor.any())))
