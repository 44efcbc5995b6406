"""Gradients that are clipped at the wrong time: after a step, before a backward, while they are
scaled, or once for each of several backwards."""

from __future__ import annotations

import gc
from collections.abc import Collection, Set
from typing import Any

import torch

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call
from gradviz.graph.training import Did, Moment, line_of
from gradviz.watch import torch_private
from gradviz.why.question.subjects import of_kind
from gradviz.why.rules.silent.silent import Silent
from gradviz.why.shown.explanation import Explanation

_CLIPS = ("clamp", "clamp_", "clip", "clip_")


def clipped_too_late(asked: Silent) -> Explanation | None:
    """Tell of gradients that were clipped when a step had used them, or before there were any,
    while those that the steps used are not clipped."""
    training = asked.training
    late = {i: call for i in asked.leaves if (call := training.changed_too_late(i))}
    late = {i: call for i, call in late.items() if _is_clip(asked, call)}
    late = {i: call for i, call in late.items() if not _was_for_others(asked, call, late)}
    if late:
        call = next(iter(late.values()))
        return asked.answer(
            Cause.CLIPPED_WRONG,
            "after_use",
            tensors=asked.states_of(late),
            names=asked.names_of(late),
            **_clip(asked, call),
        )
    return _clipped_nothing(asked)


def _was_for_others(asked: Silent, clip: Call, clipped: Collection[int]) -> bool:
    """Say whether a clip stands between a backward and a step of other leaves, which have their
    gradients from there: it is in time, and clips the wrong ones."""
    for leaf, every in asked.training.moments.items():
        before = [m for m in every if m.call.id < clip.id][-1:]
        after = next((m for m in every if m.call.id > clip.id), None)
        has_come = bool(before) and before[0].did is Did.ADDED
        if leaf not in clipped and has_come and after is not None and after.did is Did.STEPPED:
            return True
    return False


def _clipped_nothing(asked: Silent) -> Explanation | None:
    """Tell of a clip that met no gradient at all before a backward, where no other one followed."""
    calls = asked.facts.ordinary_calls
    made = [call for call in calls if not call.inputs and call.function == "tensor"]
    first_of_line = {line_of(call): call for call in reversed(made)}
    empty = [call for call in first_of_line.values() if _clips_all(asked, call)]
    empty.sort(key=lambda call: call.id)
    later = [leaf for leaf in asked.leaves if empty and _begins_after(asked, leaf, empty[0])]
    moments = asked.training.moments
    if not later or any(m.did is Did.CHANGED for leaf in later for m in moments[leaf]):
        return None
    return asked.answer(
        Cause.CLIPPED_WRONG,
        "nothing_there",
        tensors=asked.states_of(later),
        names=asked.names_of(later),
        **_clip(asked, empty[0]),
    )


def _begins_after(asked: Silent, leaf: int, call: Call) -> bool:
    """Say whether a step used a gradient, of which nothing was there before a call."""
    every = asked.training.moments[leaf]
    return every[0].call.id > call.id and Did.STEPPED in {m.did for m in every}


def _clips_all(asked: Silent, call: Call) -> bool:
    """Say whether a call was made inside of torch's ``clip_grad_norm_``."""
    written = asked.statements.at(call.source)
    return written is not None and written[1] == "clip_grad_norm_"


def clipped_scaled(asked: Silent) -> Explanation | None:
    """Tell of gradients of a loss that a GradScaler had scaled, and that were clipped before they
    were divided by the scale."""
    scales = _scales(asked) if asked.training.has_scaler else frozenset()
    for leaf in asked.leaves if scales else ():
        added: Moment | None = None
        for moment in asked.training.moments[leaf]:
            added = moment if moment.did is Did.ADDED else added
            clips = moment.did is Did.CHANGED and _is_clip(asked, moment.call)
            if clips and added is not None and _is_scaled(asked, scales, added.call, moment.call):
                return asked.answer(
                    Cause.CLIPPED_WRONG,
                    "scaled",
                    tensors=asked.states_of([leaf]),
                    **_clip(asked, moment.call),
                )
    return None


def _scales(asked: Silent) -> Set[int]:
    """Return the numbers of the GradScalers that are there, by object id."""
    scales = map(torch_private.scale_of, of_kind(gc.get_objects(), torch.amp.GradScaler))
    return {found for s in scales if s is not None and (found := asked.object_of(s)) is not None}


def _is_scaled(asked: Silent, scales: Set[int], backward: Call, clip: Call) -> bool:
    """Say whether a backward began at a loss times a GradScaler's number, and nothing has read that
    number since, as unscaling does."""
    maker = asked.facts.maker.get(backward.inputs[0]) if backward.inputs else None
    tensor = asked.graph.tensor
    factors = [tensor[i] for i in maker.inputs] if maker is not None else []
    used = {t.object_id for t in factors if t.values != "1"} & scales
    between = asked.graph.calls[backward.id + 1 : clip.id]
    return bool(used) and not any(tensor[i].object_id in used for c in between for i in c.inputs)


def clipped_in_between(asked: Silent) -> Explanation | None:
    """Tell of a sum of gradients that is clipped after each backward instead of once."""
    training = asked.training
    found = {i: pair for i in asked.leaves if (pair := training.changed_in_between(i))}
    found = {i: pair for i, pair in found.items() if _is_clip(asked, pair[0])}
    if not found:
        return None
    call, backwards = next(iter(found.values()))
    return asked.answer(
        Cause.CLIPPED_WRONG,
        "each_backward",
        tensors=asked.states_of(found),
        names=asked.names_of(found),
        backwards=backwards,
        **_clip(asked, call),
    )


def _clip(asked: Silent, call: Call) -> dict[str, Any]:
    """Return where gradients are clipped, and what does it, as the user wrote it."""
    written = asked.statements.at(call.source)
    if written is None:
        return {"calls": [call], "clip": asked.words.code(call)}
    statement, function = written
    return {"statements": [statement], "clip": f"{function}()" if function else statement.code}


def _is_clip(asked: Silent, call: Call) -> bool:
    """Say whether a call that wrote a gradient clips it: it is called so, or its line takes the
    smaller of two numbers."""
    written = asked.statements.at(call.source)
    text = asked.words.code(call) if written is None else written[0].code or ""
    if call.function in _CLIPS or "clip" in text.lower():
        return True
    line = line_of(call)
    near = asked.graph.calls[max(0, call.id - 16) : call.id]
    return any(c.function in _CLIPS and line_of(c) == line for c in near)
