"""A Parameter of which only a moved copy has its name: no module registers that, and no optimizer
takes it."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import torch

from gradviz.graph.findings import Cause
from gradviz.graph.flow import Flow
from gradviz.graph.records import Call, Tensor
from gradviz.why.question.subjects import held_by, of_kind
from gradviz.why.shown.explanation import Explanation

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

# what gives the same numbers in another place or dtype
MOVING = {"to", "cuda", "cpu", "double", "float", "half", "bfloat16", "type"}


def untrained_yet(case: Case, found: Explanation) -> bool:
    """Say whether the answer so far is that no backward has run, that no optimizer holds something,
    or that a result keeps no gradient."""
    of_it = (Cause.NO_BACKWARD_YET, Cause.NOT_MOVED, Cause.NON_LEAF)
    return case.recording is not None and found.cause in of_it


def only_a_copy(case: Case, found: Explanation) -> Explanation | None:
    """Tell of a Parameter that nothing holds, and whose name a moved copy of it has."""
    assert case.recording is not None
    asked = {t.object_id for x in case.targets().values() if (t := case.recording.find(x))}
    told = (i for i in found.finding.tensor_ids if i in case.graph.tensor)
    asked |= {case.graph.tensor[i].object_id for i in told}
    for parameter in (*case.targets().values(), *case.recording.living()):
        state = case.recording.find(parameter)
        is_parameter = issubclass(type(parameter), torch.nn.Parameter)
        moved = _moved(case, state) if is_parameter and state is not None else None
        if state is None or moved is None or _is_held(parameter):
            continue
        call, result = moved
        if asked.isdisjoint((state.object_id, result.object_id)):
            continue
        return case.answer(
            Cause.MADE_NON_LEAF,
            "parameter_moved",
            calls=[call],
            tensor_ids=[state.id, result.id],
            name=result.code_name,
            function=call.function,
        )
    return None


def _moved(case: Case, leaf: Tensor) -> tuple[Call, Tensor] | None:
    """Return the one call that read a leaf, where that moved it and its result has the name that
    the leaf had or was to have."""
    facts = Flow(case.graph).facts
    readers = facts.readers.get(leaf.object_id, [])
    if len(readers) != 1 or readers[0].function not in MOVING or len(readers[0].outputs) != 1:
        return None
    result = case.graph.tensor[readers[0].outputs[0]]
    named = result.code_name and leaf.code_name in ("", result.code_name)
    is_other = result.object_id != leaf.object_id and result.is_leaf is False
    return (readers[0], result) if named and is_other else None


def _is_held(parameter: torch.nn.Parameter) -> bool:
    """Say whether a living module or optimizer has a parameter."""
    living = gc.get_objects()
    modules = of_kind(living, torch.nn.Module)
    own = (p for m in modules for p in vars(m).get("_parameters", {}).values())
    optimizers = of_kind(living, torch.optim.Optimizer)
    return any(p is parameter for p in own) or id(parameter) in held_by(optimizers)
