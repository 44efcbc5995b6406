"""Gradients that the code changes in part, of what an optimizer moves all the same: by its weight
decay, or by what it kept of earlier gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from gradviz.graph.facts import grouped
from gradviz.graph.preview import number
from gradviz.graph.records import Call
from gradviz.graph.training import Did, line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.summands import single
from gradviz.why.question.subjects import held_by
from gradviz.why.rules.many import pattern
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_PARTLY = {"__setitem__", "masked_fill_", "index_fill_"}
_BY_A_NUMBER = {"mul_", "div_", "add_", "sub_"}
_KEPT = ("momentum_buffer", "exp_avg")


class Moved(NamedTuple):
    """A parameter whose gradient the code changes in part, and all of which a step moves.

    Attributes:
        optimizer: the one that steps it.
        key: of the sentence that says by what it is moved.
        setting: by what, as the optimizer has it.
        name: of the parameter.
        object_id: the parameter's.
        part: the last call that changed its gradient in part.
        step: the last step.
    """

    optimizer: Any
    key: str
    setting: str
    name: str
    object_id: int
    part: Call
    step: Call


def moved_beside_zeros(case: Case) -> Iterator[Remark]:
    """Tell of gradients that the code changes in part before a step which moves entries of
    gradient 0, too."""
    found = grouped(((m.optimizer, m.key, m.setting), m) for m in _moved(case))
    for every in found.values():
        first = every[0]
        made = case.where_made(first.optimizer)
        made_at = [case.words.source(place) for place in made]
        fields = {
            "code": case.words.at(first.part),
            "names": [pattern([m.name for m in every])],
            "optimizer": type(first.optimizer).__name__,
            "there": say("account.made_there", places=made_at) if made_at else "",
            "setting": first.setting,
            "step": case.words.at(first.step),
        }
        objects, calls = frozenset(m.object_id for m in every), (first.part, first.step)
        yield Remark(Weight.WEIGHTY, first.key, fields, calls, objects, tuple(made))


def _moved(case: Case) -> Iterator[Moved]:
    """Yield such parameters."""
    groups = [(o, group) for o in case.known_optimizers for group in o.param_groups]
    for optimizer, group in groups:
        for p in group["params"]:
            own = case.live_state.object_of(p)
            calls = None if own is None else _last_changed_and_stepped(case, own)
            by = None if calls is None else moved_by(optimizer, group, p)
            if own is not None and calls is not None and by is not None:
                name = case.title(p, case.words.name(case.facts.latest_state[own].id))
                yield Moved(optimizer, *by, name, own, *calls)


def _last_changed_and_stepped(case: Case, leaf: int) -> tuple[Call, Call] | None:
    """Return the last call that changed a leaf's gradient in part, and the last step; None where
    one of them is not there."""
    moments = case.training.moments.get(leaf, ())
    changed = [m.call for m in moments if m.did is Did.CHANGED and _is_in_part(case, m.call)]
    steps = [m.call for m in moments if m.did is Did.STEPPED]
    return (changed[-1], steps[-1]) if changed and steps else None


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


def moved_by(optimizer: Any, group: Any, p: Any) -> tuple[str, str] | None:
    """Return by what a step moves the entries of a parameter whose gradient is 0, as the key of a
    sentence and what it names; None where they stay."""
    decay = group.get("weight_decay")
    if isinstance(decay, (int, float)) and decay != 0 and not _are_zeros_there(p):
        return "decay_beside_zeros", number(decay)
    state = optimizer.state.get(p, {})
    kept = next((name for name in _KEPT if state.get(name) is not None), None)
    if kept is None or p.grad is None or p.grad.is_sparse:
        return None
    if not bool(((p.grad == 0) & (state[kept] != 0)).any()):
        return None
    return "momentum_beside_zeros", kept


def _are_zeros_there(p: Any) -> bool:
    """Say whether a parameter is 0 wherever its gradient is, as what was pruned is: a decay leaves
    that. Of a gradient that was cleared nothing is known."""
    if p.grad is None or p.grad.is_sparse or p.grad.shape != p.shape:
        return False
    nothing = p.grad == 0
    return bool(nothing.any() and not nothing.all() and (p.detach()[nothing] == 0).all())


def _is_in_part(case: Case, call: Call) -> bool:
    """Say whether a call changes some entries: also by a mask that it multiplies with."""
    masks = [i for i in call.inputs[1:] if not single(case.graph.tensor[i])]
    by_mask = call.function == "mul_" and bool(masks)
    return not call.bookkeeping and (by_mask or call.function in _PARTLY)
