"""First steps that moved nothing, because a warmup gave the learning rate 0 for them."""

from __future__ import annotations

import ast
import gc
import inspect
from collections.abc import Iterator
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from gradviz.graph.records import Source
from gradviz.names.bindings import binder_before
from gradviz.names.statements import code_of_function, innermost
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.question.subjects import held_by, of_kind
from gradviz.why.rules.optimizers.schedules import factor_at_zero, schedules_of

if TYPE_CHECKING:
    from gradviz.watch.entries import Stepped
    from gradviz.why.rules.whole.case import Case

_FEW = 0.01  # a share of the steps below which they are hardly worth a word


def still_at_first(case: Case) -> Iterator[Remark]:
    """Tell of each known optimizer whose first steps had a learning rate of 0, and that has another
    by now."""
    assert case.recording is not None
    known = {id(one) for one in case.known_optimizers}
    for optimizer, did in case.recording.steps_taken():
        is_past = did.n_still < did.n or any(g.get("lr") for g in optimizer.param_groups)
        if id(optimizer) in known and did.n_still and is_past and _moves_by_rate(optimizer):
            yield _remark(case, optimizer, did)


def _moves_by_rate(optimizer: Any) -> bool:
    """Say whether a step of this optimizer moves nothing at a learning rate of 0, as those of torch
    do; what Rprop moves by is only begun with it."""
    of_torch = type(optimizer).__module__.startswith("torch.optim")
    return of_torch and not isinstance(optimizer, torch.optim.Rprop)


def _remark(case: Case, optimizer: Any, did: Stepped) -> Remark:
    """Tell of one of them."""
    assert case.recording is not None
    places, giver = innermost(did.site), _giver(case, optimizer)
    states = (case.recording.find(p) for p in held_by([optimizer]).values())
    held = frozenset(state.object_id for state in states if state is not None)
    fields = {
        "step": case.words.source(places[0]) if places else case.optimizer_name(optimizer),
        "n": did.n_still,
        "all": did.n,
        "code": case.words.source(giver.place) if giver else "",
        "name": giver.parameter if giver else "",
    }
    key = "still_at_first_by" if giver else "still_at_first"
    given = (giver.place,) if giver else ()
    return Remark(_weight(did), key, fields, objects=held, statements=(*given, *places))


def _weight(did: Stepped) -> Weight:
    """Return how much it says that so many of the steps moved nothing."""
    if did.n_still == did.n:
        return Weight.IN_VAIN
    return Weight.NOTABLE if did.n_still >= _FEW * did.n else Weight.ORDINARY


class _Giver(NamedTuple):
    """The statement that gives a learning rate of 0 for the number 0, and what that is called."""

    place: Source
    parameter: str


def _giver(case: Case, optimizer: Any) -> _Giver | None:
    """Return the statement of a schedule's function, or of one that the program sets the learning
    rate with, that gives 0 for 0 and no longer for 1."""
    lambdas = [f for s in schedules_of(optimizer) for f in getattr(s, "lr_lambdas", ())]
    for function in (*lambdas, *_functions_written(case)):
        factor = factor_at_zero(function, 0)
        if factor is not None and factor_at_zero(function, 1) is None:
            return _Giver(factor.place, next(iter(inspect.signature(function).parameters)))
    return None


def _functions_written(case: Case) -> list[FunctionType]:
    """Return the functions of the program that make what it writes as a learning rate."""
    names = _names_called(case)
    files = {code.co_filename for code in case.statements.codes}
    every = of_kind(gc.get_objects(), FunctionType) if names else []
    named = [(f, code_of_function(f)) for f in every if f.__name__ in names]
    own = [f for f, code in named if code is not None and code.co_filename in files]
    return [function for function in own if inspect.signature(function).parameters]


def _names_called(case: Case) -> set[str]:
    """Return what is called to make what the program writes as a learning rate."""
    found = (case.statements.node_at(place) for place in case.statements.writes_key("lr"))
    values = (value for pair in found if pair is not None for value in _values_behind(pair[1]))
    calls = (n for value in values for n in ast.walk(value) if isinstance(n, ast.Call))
    return {call.func.id for call in calls if isinstance(call.func, ast.Name)}


def _values_behind(statement: Any) -> Iterator[ast.AST]:
    """Yield what a statement assigns; of a name, what that was bound to above, too."""
    value = getattr(statement, "value", None)
    if value is None:
        return
    yield value
    binder = binder_before(value) if isinstance(value, ast.Name) else None
    if isinstance(binder, ast.Assign):
        yield binder.value
