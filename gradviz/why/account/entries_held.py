"""Entries of a parameter that are to stay as they are, and that steps move: set to 0 once, before
the training; or of no gradient at all, where the optimizer moves them by itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from gradviz.graph.records import Call, Source
from gradviz.graph.training import Did
from gradviz.names.statements import source_of
from gradviz.why.account.moved_beside_zeros import moved_by
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.code.indexing import index_of
from gradviz.why.code.reading import UNREAD, value_of
from gradviz.why.code.shown import is_shown
from gradviz.why.evidence.summands import single
from gradviz.why.question.subjects import held_by

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_MASKING = {"mul_", "mul"}


def entries_held(case: Case) -> Iterator[Remark]:
    """Tell of entries that were to stay and do not."""
    if case.recording is None:
        return
    products = [call for call in case.facts.ordinary_calls if call.function in _MASKING]
    for p in held_by(case.known_optimizers).values() if products else ():
        own = case.live_state.object_of(p)
        steps = [] if own is None else _steps(case, own)
        if own is not None and steps:
            yield from _masked_once(case, p, own, steps, products)
    yield from _moved_without_gradient(case)


def _steps(case: Case, own: int) -> list[Call]:
    """Return the steps that moved a leaf."""
    return [m.call for m in case.training.moments.get(own, ()) if m.did is Did.STEPPED]


# --- set to 0 once --------------------------------------------------------------------------------


def _masked_once(
    case: Case, p: Any, own: int, steps: list[Call], products: list[Call]
) -> Iterator[Remark]:
    """Tell of a mask that a parameter was multiplied with before the first step, and no more, where
    entries at its zeros are there again."""
    masking = _last_masking(case, own, steps[0], products)
    mask = None if masking is None else _mask_of(case, p, masking)
    if masking is None or mask is None:
        return
    at_zeros = p.detach()[mask.expand_as(p) == 0]
    moved = int((at_zeros != 0).sum())
    if moved:
        fields = {
            "code": case.words.at(masking),
            "name": case.title(p, case.words.name(case.facts.latest_state[own].id)),
            "n": at_zeros.numel(),
            "moved": moved,
            "step": case.words.at(steps[-1]),
        }
        yield Remark(Weight.WEIGHTY, "masked_once", fields, (masking,), frozenset({own}))


def _last_masking(case: Case, own: int, step: Call, products: list[Call]) -> Call | None:
    """Return the one of some products that multiplied the values of a leaf last, where that was
    before a step, and none did it since."""
    tensor, memory = case.graph.tensor, case.facts.latest_state[own].storage_id
    calls = [c for c in products if any(tensor[i].storage_id == memory for i in c.outputs)]
    return calls[-1] if calls and calls[-1].id < step.id else None


def _mask_of(case: Case, p: Any, call: Call) -> Any:
    """Return the zeros and ones that a call multiplied with; None where these are not known."""
    recording, tensor = case.recording, case.graph.tensor
    assert recording is not None
    wanted = {tensor[i].object_id for i in call.inputs[1:] if not single(tensor[i])}
    for living in recording.living():
        state = recording.find(living)
        if state is None or state.object_id not in wanted or living is p:
            continue
        values = living.detach()
        is_mask = bool(((values == 0) | (values == 1)).all()) and bool((values == 0).any())
        if is_mask and _fits(values.shape, p.shape):
            return values
    return None


def _fits(shape: torch.Size, whole: torch.Size) -> bool:
    """Say whether values of one shape are laid over a tensor of another one, from its last
    dimension on."""
    pairs = zip(reversed(shape), reversed(whole), strict=False)
    return len(shape) <= len(whole) and all(one in (1, n) for one, n in pairs)


# --- of no gradient -------------------------------------------------------------------------------


def _moved_without_gradient(case: Case) -> Iterator[Remark]:
    """Tell of entries that the program shows, whose gradient is 0, and that the optimizer moves by
    its weight decay or by what it kept."""
    groups = [(o, group) for o in case.known_optimizers for group in o.param_groups]
    for optimizer, group in groups:
        for p in group["params"]:
            by = moved_by(optimizer, group, p)
            shown = None if by is None else _shown_at_zeros(case, optimizer, p, by)
            if by is not None and shown is not None:
                yield from _of_shown(case, optimizer, p, by, shown)


def _of_shown(
    case: Case, optimizer: Any, p: Any, by: tuple[str, str], shown: Source
) -> Iterator[Remark]:
    """Tell of a parameter of which a place shows entries that steps move without a gradient."""
    own, made = case.live_state.object_of(p), case.where_made(optimizer)
    steps = [] if own is None else _steps(case, own)
    if own is None or not steps:
        return
    fields = {
        "code": case.words.source(shown),
        "name": case.title(p, case.words.name(case.facts.latest_state[own].id)),
        "optimizer": type(optimizer).__name__,
        "setting": by[1],
        "step": case.words.at(steps[-1]),
        "made": [case.words.source(place) for place in made],
    }
    key = "decay_unused" if by[0] == "decay_beside_zeros" else "momentum_unused"
    yield Remark(Weight.WEIGHTY, key, fields, (), frozenset({own}), (*made, shown))


def _shown_at_zeros(case: Case, optimizer: Any, p: Any, by: tuple[str, str]) -> Source | None:
    """Return the last place that shows entries of a parameter whose gradient is 0 throughout, and
    which a step moves; None where there is none."""
    if p.grad is None or p.grad.is_sparse:
        return None
    moving = p.detach() if by[0] == "decay_beside_zeros" else optimizer.state[p][by[1]]
    found = None
    for file, node in case.statements.nodes(ast.Subscript):
        if value_of(node.value, case.names) is not p or not is_shown(node):
            continue
        index = index_of(node.slice, case.names)
        if index is not UNREAD and _are_zeros(p.grad, index) and _has_numbers(moving, index):
            found = source_of(file, node)
    return found


def _are_zeros(values: Any, index: Any) -> bool:
    """Say whether entries are there, and all 0."""
    try:
        chosen = values[index]
    except (IndexError, TypeError):
        return False
    return bool(chosen.numel()) and bool((chosen == 0).all())


def _has_numbers(values: Any, index: Any) -> bool:
    """Say whether one of some entries is not 0."""
    return bool((values[index] != 0).any())
