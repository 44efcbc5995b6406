"""A Parameter of which only a moved copy has its name: no module registers that, and no optimizer
takes it."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, NamedTuple

import torch

from gradviz.graph.findings import Cause
from gradviz.graph.flow import Flow
from gradviz.graph.records import Call, Tensor
from gradviz.names.frames import frames, variables_of
from gradviz.why.question.subjects import held_by, of_kind
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say

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
    copies = _copies(case)
    asked = _objects_asked(case, found)
    one = next((c for c in copies if asked & {c.leaf.object_id, c.result.object_id}), None)
    if one is None:
        return None
    others = [c for c in copies if _is_made_alike(c, one)]
    return case.answer(
        Cause.MADE_NON_LEAF,
        "parameters_moved" if others else "parameter_moved",
        calls=[one.call, *(c.call for c in others)],
        tensor_ids=[one.leaf.id, one.result.id],
        name=one.result.code_name,
        function=one.call.function,
        others=[
            say("path.loss_at", loss=c.result.code_name, line=c.call.source.line)
            for c in others
            if c.call.source
        ],
    )


def _objects_asked(case: Case, found: Explanation) -> set[int]:
    """Return the objects that are asked about, or that the answer so far is of."""
    assert case.recording is not None
    asked = {t.object_id for x in case.targets().values() if (t := case.recording.find(x))}
    told = (i for i in found.finding.tensor_ids if i in case.graph.tensor)
    return asked | {case.graph.tensor[i].object_id for i in told}


class _Copy(NamedTuple):
    """A Parameter, the call that moved it, and the result that has its name."""

    leaf: Tensor
    call: Call
    result: Tensor


def _copies(case: Case) -> list[_Copy]:
    """Return the Parameters that nothing holds, each with what has its name, in the order in which
    they were moved."""
    assert case.recording is not None
    copies = dict[int, _Copy]()
    for parameter in (*case.targets().values(), *case.recording.living()):
        if not issubclass(type(parameter), torch.nn.Parameter):
            continue
        state = case.recording.find(parameter)
        moved = _moved(case, state) if state is not None else None
        if state is not None and moved is not None and not _is_held(parameter):
            copies[state.object_id] = _Copy(state, *moved)
    return sorted(copies.values(), key=lambda copy: copy.call.id)


def _is_made_alike(copy: _Copy, other: _Copy) -> bool:
    """Say whether another Parameter was moved in the same function, under another name."""
    here, there = frames(copy.call)[:1], frames(other.call)[:1]
    is_other = copy.result.code_name != other.result.code_name
    return is_other and bool(here and there) and variables_of(here[0]) == variables_of(there[0])


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
