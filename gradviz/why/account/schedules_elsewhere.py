"""Schedules that do not reach what steps: of another optimizer, or stepped with a loss where they
take the number of the epoch."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from gradviz.graph.preview import number
from gradviz.graph.records import Source
from gradviz.names.position import callee_of
from gradviz.names.statements import source_of
from gradviz.why.account.called_losses import LOSS
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.code.reading import UNREAD, value_of
from gradviz.why.question.subjects import of_kind

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_CALLED = ("LR", "Restarts", "Plateau")
_OF_MEASURES = "ReduceLROnPlateau"


def schedules_elsewhere(case: Case) -> Iterator[Remark]:
    """Tell of schedules of an optimizer that nobody steps, and of those that are given a loss."""
    if not any(_makes_schedule(node) for _, node in case.statements.nodes(ast.Call)):
        return  # to look through all objects takes long
    every = of_kind(gc.get_objects(), torch.optim.lr_scheduler.LRScheduler)
    known = {id(o): o for o in case.known_optimizers}
    scheduled = {id(getattr(schedule, "optimizer", None)) for schedule in every}
    # one with a schedule of its own has it: the other schedule is left over
    stepped = [o for i, o in known.items() if o.state and i not in scheduled]
    for schedule in every if stepped else ():
        other = getattr(schedule, "optimizer", None)
        if id(other) not in known and _is_idle_twin(other, stepped):
            yield _of_another(case, schedule, other, stepped)
    yield from _given_a_loss(case, [s for s in every if id(getattr(s, "optimizer", None)) in known])


def _makes_schedule(node: ast.Call) -> bool:
    """Say whether a call makes what is called as torch's schedules are."""
    return (callee_of(node.func) or "").endswith(_CALLED)


def _is_idle_twin(other: Any, stepped: list[Any]) -> bool:
    """Say whether an optimizer never stepped, and holds what others hold that did."""
    if other is None or other.state:
        return False
    held = {id(p) for group in other.param_groups for p in group["params"]}
    moved = {id(p) for o in stepped for group in o.param_groups for p in group["params"]}
    return bool(held) and held <= moved


def _of_another(case: Case, schedule: Any, other: Any, stepped: list[Any]) -> Remark:
    """Tell of one schedule of another optimizer."""
    held = {id(p) for group in other.param_groups for p in group["params"]}
    own = next(o for o in stepped if held & {id(p) for g in o.param_groups for p in g["params"]})
    kind = type(schedule).__name__
    places = tuple(_calls_of(case, kind))
    rate = own.param_groups[0].get("lr")
    fields = {
        "schedule": kind,
        "places": [case.words.source(place) for place in places],
        "optimizer": case.optimizer_name(own),
        "rate": number(rate) if isinstance(rate, (int, float)) else str(rate),
    }
    return Remark(Weight.IN_VAIN, "schedule_of_another", fields, statements=places)


def _calls_of(case: Case, kind: str) -> Iterator[Source]:
    """Yield where the code makes a schedule of a kind."""
    for file, node in case.statements.nodes(ast.Call):
        if callee_of(node.func) == kind:
            yield source_of(file, node)


def _is_one_of(owner: ast.AST, every: list[Any], case: Case) -> bool:
    """Say whether an expression stands for one of some schedules; where its value cannot be read,
    whether it is called so."""
    found = value_of(owner, case.names)
    if found is UNREAD:
        return "sched" in ast.unparse(owner).lower()
    return any(found is schedule for schedule in every)


def _given_a_loss(case: Case, every: list[Any]) -> Iterator[Remark]:
    """Tell of steps of schedules that are handed a loss, where they take the epoch."""
    kinds = {type(s).__name__ for s in every}
    if len(kinds) != 1 or _OF_MEASURES in kinds:
        return
    (kind,) = kinds
    for place, node in case.statements.calls("step"):
        given = [ast.unparse(a) for a in node.args]
        is_schedule = _is_one_of(getattr(node.func, "value", node.func), every, case)
        if is_schedule and len(given) == 1 and LOSS.search(given[0]) and "closure" not in given[0]:
            fields = {
                "code": ast.unparse(node),
                "place": case.words.line_of(place),
                "schedule": kind,
                "given": given[0],
                "function": f"{ast.unparse(node.func)}()",
            }
            yield Remark(Weight.WEIGHTY, "schedule_given_a_loss", fields, statements=(place,))
