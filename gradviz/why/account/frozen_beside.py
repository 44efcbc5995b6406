"""Networks that were frozen and not used, beside one of the same class that is trained."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call, Wrote
from gradviz.graph.training import Did
from gradviz.watch.identity import parameters
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.code.reading import NOT_COMPUTING, is_of_torch

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def frozen_beside(case: Case) -> Iterator[Remark]:
    """Tell of a network that the recorded code froze and computed nothing with, where another one
    of its class was trained: perhaps that was to be frozen."""
    frozen = [m for m in case.known_modules if not any(p.requires_grad for p in parameters(m))]
    for module in frozen:
        place = _frozen_at(case, module)
        twins = [m for m in case.known_modules if type(m) is type(module) and _is_trained(case, m)]
        if place is None or len(twins) != 1 or is_of_torch(type(module)):
            continue
        if case.called.get(id(module)) is None or case.called.get(id(twins[0])) is None:
            continue
        yield Remark(
            Weight.WEIGHTY,
            "frozen_beside",
            {
                "frozen": case.called[id(module)],
                "place": case.words.where(place),
                "other": case.called[id(twins[0])],
            },
            (place,),
            frozenset(_objects(case, module) | _objects(case, twins[0])),
        )


def _objects(case: Case, module: Any) -> set[int]:
    """Return the object ids of a network's parameters."""
    found = map(case.live_state.object_of, parameters(module))
    return {i for i in found if i is not None}


def _is_trained(case: Case, module: Any) -> bool:
    """Say whether a step moved a network."""
    moments = case.training.moments
    return any(m.did is Did.STEPPED for i in _objects(case, module) for m in moments.get(i, ()))


def _frozen_at(case: Case, module: Any) -> Call | None:
    """Return the call that froze a network which no other call used; None where there is none."""
    facts, objects = case.facts, _objects(case, module)
    if any(_is_computed_with(facts, i) for i in objects):
        return None
    writes = [e for i in objects for e in facts.writes_by_object.get(i, ())]
    off = [e.call_id for e in writes if _switches_off(case, e)]
    later = [e for e in writes if off and e.call_id > off[-1]]
    return case.graph.call[off[-1]] if off and not any(map(facts.writes_memory, later)) else None


def _is_computed_with(facts: Facts, object_id: int) -> bool:
    """Say whether a call of the program computed with a tensor."""
    readers = (c for c in facts.readers.get(object_id, ()) if not c.bookkeeping)
    return any(c.function not in NOT_COMPUTING for c in readers)


def _switches_off(case: Case, event: Wrote) -> bool:
    """Say whether a write took the flag of a tensor away."""
    tensor = case.graph.tensor
    was_on = bool(tensor[event.before_id].requires_grad)
    return was_on and not tensor[event.after_id].requires_grad
