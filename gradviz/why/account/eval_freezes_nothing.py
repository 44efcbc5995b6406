"""Networks that ran in eval mode alone, beside one in train mode, and that steps move all the same:
``eval()`` freezes nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradviz.graph.records import Call, Module, ModuleCall, Source
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.rules.training.eval_mode import ran_in_eval

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def eval_freezes_nothing(case: Case) -> Iterator[Remark]:
    """Tell of each network that a statement puts into eval mode, that ran in no other one while
    another was trained in train mode, and that steps moved."""
    steps = {leaf: used[-1].step.call for leaf, used in case.training.sums_used.items() if used}
    moved = steps.keys()
    calls = [call for call in case.graph.module_calls if not call.path]
    modules = case.graph.modules
    in_train = [m for m in modules if _modes(calls, m) == {True} and _own(m) & moved]
    for module in modules if in_train else ():
        own = _own(module)
        places = _where_set(case, module)
        last = max((steps[i] for i in own & moved), key=lambda call: call.id, default=None)
        if not places or last is None or not _ran_in_eval(case, module, last):
            continue
        fields = {
            "name": module.name,
            "place": case.words.line_of(places[0]),
            "n": len(own & moved),
            "of": len(own),
        }
        yield Remark(
            Weight.WEIGHTY, "eval_freezes_nothing", fields, (), frozenset(own & moved), places
        )


def _ran_in_eval(case: Case, module: Module, step: Call) -> bool:
    """Say whether a network, and all in it, ran in eval mode alone, and did so before a step."""
    ran = [call for call in case.graph.module_calls if call.module_id == module.id]
    return ran_in_eval(case.facts, ran, step)


def _modes(calls: list[ModuleCall], module: Module) -> set[bool]:
    """Return the modes in which a network ran as a whole: True stands for train mode."""
    return {call.training for call in calls if call.module_id == module.id}


def _own(module: Module) -> frozenset[int]:
    """Return the parameters of a network, by object id, as far as they were met."""
    return frozenset(p.object_id for p in module.parameters if p.object_id is not None)


def _where_set(case: Case, module: Module) -> tuple[Source, ...]:
    """Return the statements that put a network into eval mode by its name."""
    return tuple(
        place
        for place, call in case.statements.calls("eval")
        if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == module.name
    )
