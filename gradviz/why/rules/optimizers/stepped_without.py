"""Parameters that got gradients, and that no optimizer which stepped held: read off the recording,
where the optimizers and the models are gone, or are known to objects of the program alone."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING

from gradviz.graph.findings import Cause
from gradviz.graph.records import Graph, Module
from gradviz.graph.training import Did
from gradviz.why.rules.many import pattern
from gradviz.why.shown.explanation import Explanation

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def nothing_found(case: Case, found: Explanation) -> bool:
    """Say whether no fault was found; or, where nothing was named, only what no call used: the
    optimizers may hold that in the place of what runs."""
    is_idle = found.cause is Cause.BRANCH_NOT_TAKEN and not case.in_particular
    return found.cause is Cause.HEALTHY or is_idle


def stepped_without(case: Case, found: Explanation) -> Explanation | None:
    """Tell of parameters of a model that no optimizer which stepped held, while others of it were
    held; or while the optimizers held nothing that got a gradient, or twice the same; or while they
    held the module that runs it."""
    held = [] if case.recording is None else case.recording.held_at_steps()
    every = set[int]().union(*held)
    for module in case.graph.modules if held else ():
        mine = {
            p.object_id
            for p in module.parameters
            if p.object_id is not None and (p.object_id in every or not p.held)
        }
        is_fine = found.cause is Cause.HEALTHY
        left = _left(case, mine - every, asked_alone=is_fine)
        if not left:
            continue
        if not is_fine:
            told = _not_moved(case, module, left, held)
            if told is not None:
                return told
            continue
        told = _left_out(case, module, left, mine, every) or _not_moved(case, module, left, held)
        if told is not None:
            return told
    return None


def _left(case: Case, mine: set[int], *, asked_alone: bool) -> set[int]:
    """Return what got gradients and was not moved, of parameters that no optimizer which stepped
    held. Of what is alive only what is asked about, where that alone is wanted, and what no
    optimizer has that did not step."""
    left = {i for i in mine if _gets_gradients(case, i) and not _is_moved(case, i)}
    left = {i for i in left if case.facts.latest_state[i].requires_grad}  # others were frozen since
    if not asked_alone:
        return left
    alive: dict[int, int] = {}  # by object: the identity of the tensor
    for one, p in case.targets().items():
        state = case.recording.find(p) if case.recording else None
        if state is not None:
            alive[state.object_id] = one
    if not alive:
        return left
    return {i for i in left if i in alive and alive[i] not in case.held_anywhere}


def _left_out(
    case: Case, module: Module, left: set[int], mine: set[int], every: set[int]
) -> Explanation | None:
    """Tell of a part of a model, another part of which the optimizers held."""
    outer = _around(case.graph, module)
    is_inside = outer is not None and bool(every & {p.object_id for p in outer.parameters})
    if not mine & every and not is_inside:
        return None
    return case.answer(
        Cause.LEFT_OUT,
        "gone_some" if mine & every else "gone_inside",
        tensor_ids=_states(case, left),
        names=_names(module, left),
        n=len(left),
        model=module.name,
        held=len(mine & every),
        all=len(mine),
        outer=outer.name if outer is not None else "",
    )


def _not_moved(
    case: Case, module: Module, left: set[int], held: list[set[int]]
) -> Explanation | None:
    """Tell of a model, in place of which the optimizers held what is made like it and got no
    gradient, or twice the same."""
    is_twice = any(one == other for one, other in combinations(held, 2))
    every = set[int]().union(*held)
    gets_none = not any(_gets_gradients(case, i) or _has_gradient(case, i) for i in every)
    holds_others = gets_none and _is_made_alike(case, module, every)
    if not is_twice and not holds_others:
        return None
    return case.answer(
        Cause.NOT_MOVED,
        "gone_others" if holds_others else "gone_twice",
        tensor_ids=_states(case, left),
        names=_names(module, left),
        n=len(left),
        model=module.name,
    )


def _is_made_alike(case: Case, module: Module, held: set[int]) -> bool:
    """Say whether some leaves have the shapes that a part of a module has, or all of it and more:
    an image, or a prompt, is no model in the place of another one."""
    latest = case.facts.latest_state
    own = (p.object_id for p in module.parameters)
    shapes = Counter(latest[i].shape for i in own if i in latest)
    others = Counter(latest[i].shape for i in held if i in latest)
    return bool(others) and (others <= shapes or shapes <= others)


def _around(graph: Graph, module: Module) -> Module | None:
    """Return the module inside whose calls one runs that is none of its parts."""
    calls = {call.id: call for call in graph.module_calls}
    mine = (c for c in graph.module_calls if c.module_id == module.id)
    parents = (calls[c.parent_id] for c in mine if c.parent_id in calls)
    others = {call.module_id for call in parents} - {module.id}
    return next((m for m in graph.modules if m.id in others), None)


def _gets_gradients(case: Case, object_id: int) -> bool:
    """Say whether backwards brought a leaf gradients, or a statement set one that a step used."""
    is_sent = any(m.did is Did.ADDED for m in case.training.moments.get(object_id, ()))
    return is_sent or object_id in case.training.given_used


def _has_gradient(case: Case, object_id: int) -> bool:
    """Say whether a leaf had a gradient when it was met last: what brought it may be of the part of
    the recording that was dropped."""
    state = case.facts.latest_state.get(object_id)
    return state is not None and state.grad is not None


def _is_moved(case: Case, object_id: int) -> bool:
    """Say whether a leaf was written with its gradient, or by the program once it had one, as from
    the copies that an optimizer holds."""
    moments = case.training.moments.get(object_id, ())
    if any(m.did is Did.STEPPED for m in moments):
        return True
    begun = min((m.call.id for m in moments if m.did is Did.ADDED), default=math.inf)
    own = case.facts.own_writes(object_id)
    return any(event.call_id > begun for event in own if not event.alias)


def _states(case: Case, left: set[int]) -> list[int]:
    """Return the last states of some leaves."""
    latest = case.facts.latest_state
    return [latest[i].id for i in sorted(left)]


def _names(module: Module, left: set[int]) -> str:
    """Return what some parameters of a module are called."""
    return pattern([f"{module.name}.{p.name}" for p in module.parameters if p.object_id in left])
