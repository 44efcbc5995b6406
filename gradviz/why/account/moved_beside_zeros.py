"""Gradients that the code changes in part, of what an optimizer moves all the same: by its weight
decay, or by what it kept of earlier gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradviz.graph.preview import number
from gradviz.graph.records import Call
from gradviz.graph.training import Did, line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.many import pattern
from gradviz.why.subjects import held_by
from gradviz.why.summands import single

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_PARTLY = {"__setitem__", "masked_fill_", "index_fill_"}
_BY_A_NUMBER = {"mul_", "div_", "add_", "sub_"}
_KEPT = ("momentum_buffer", "exp_avg")


def moved_beside_zeros(case: Case) -> Iterator[Remark]:
    """Tell of gradients that the code changes in part before a step which moves entries of
    gradient 0, too."""
    names = dict[tuple[str, str, str], list[str]]()
    last = dict[tuple[str, str, str], tuple[Call, Call, set[int]]]()
    for optimizer in case.known_optimizers:
        for group in optimizer.param_groups:
            for p in group["params"]:
                own = case.live_state.object_of(p)
                if own is None:
                    continue
                moments = case.training.moments.get(own, ())
                changed = [m.call for m in moments if m.did is Did.CHANGED]
                steps = [m.call for m in moments if m.did is Did.STEPPED]
                parts = [c for c in changed if _is_in_part(case, c)]
                moved_by = _moved_by(optimizer, group, p) if parts else None
                if moved_by is None or not steps:
                    continue
                key = (type(optimizer).__name__, *moved_by)
                name = case.title(p, case.words.name(case.facts.latest_state[own].id))
                names.setdefault(key, []).append(name)
                calls = last.setdefault(key, (parts[-1], steps[-1], set()))
                calls[2].add(own)
    for key, (part, step, objects) in last.items():
        fields = {
            "code": case.words.at(part),
            "names": [pattern(names[key])],
            "optimizer": key[0],
            "setting": key[2],
            "step": case.words.at(step),
        }
        yield Remark(Weight.WEIGHTY, key[1], fields, (part, step), frozenset(objects))


def frozen_scaled(case: Case) -> Iterator[Remark]:
    """Tell of frozen parameters that the code itself multiplies again and again, as a decay by
    hand does: no flag keeps that off. What has other values mixed in is an average, and meant."""
    facts, tensor = case.facts, case.graph.tensor
    frozen = _frozen_held(case)
    found = dict[object, dict[int, str]]()
    calls = dict[object, list[Call]]()
    for event in facts.writes if frozen else ():
        call, after = case.graph.call[event.call_id], tensor[event.after_id]
        if call.bookkeeping or after.storage_id not in frozen:
            continue
        if not all(single(tensor[i]) for i in call.inputs[1:]):
            return
        if call.function in _BY_A_NUMBER:
            own, name = frozen[after.storage_id]
            found.setdefault(line_of(call), {})[own] = name
            calls.setdefault(line_of(call), []).append(call)
    for line, names in found.items():
        call = calls[line][-1]
        if len(calls[line]) > len(names):
            fields = {"code": case.words.at(call), "names": pattern([*names.values()])}
            yield Remark(Weight.WEIGHTY, "frozen_scaled", fields, (call,), frozenset(names))


def _frozen_held(case: Case) -> dict[int | None, tuple[int, str]]:
    """Return the frozen parameters that known optimizers hold, by storage: each one's object id
    and name."""
    frozen = dict[int | None, tuple[int, str]]()
    for p in held_by(case.known_optimizers).values():
        own = None if p.requires_grad else case.live_state.object_of(p)
        if own is not None:
            state = case.facts.latest_state[own]
            frozen[state.storage_id] = own, case.title(p, case.words.name(state.id))
    return frozen


def _moved_by(optimizer: Any, group: Any, p: Any) -> tuple[str, str] | None:
    """Return by what a step moves the entries of a parameter whose gradient is 0, as the key of a
    sentence and what it names; None where they stay."""
    decay = group.get("weight_decay")
    if isinstance(decay, (int, float)) and decay != 0:
        return "decay_beside_zeros", number(decay)
    state = optimizer.state.get(p, {})
    kept = next((name for name in _KEPT if state.get(name) is not None), None)
    if kept is None or p.grad is None or p.grad.is_sparse:
        return None
    if not bool(((p.grad == 0) & (state[kept] != 0)).any()):
        return None
    return "momentum_beside_zeros", kept


def _is_in_part(case: Case, call: Call) -> bool:
    """Say whether a call changes some entries: also by a mask that it multiplies with."""
    masks = [i for i in call.inputs[1:] if not single(case.graph.tensor[i])]
    by_mask = call.function == "mul_" and bool(masks)
    return not call.bookkeeping and (by_mask or call.function in _PARTLY)
