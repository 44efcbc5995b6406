"""What was trained and is gone: a function made it and has returned, as ``main()`` does. What the
recording knows of it is asked about in its place."""

from __future__ import annotations

from gradviz.graph import preview
from gradviz.graph.facts import Facts
from gradviz.graph.findings import Level
from gradviz.graph.records import Graph, Tensor
from gradviz.graph.training import Training, line_of
from gradviz.why.evidence.paths import Asked
from gradviz.why.rules.gradients.gradient import Gradients
from gradviz.why.rules.many import Told
from gradviz.why.rules.whole.targets import as_resting, is_meant_cut
from gradviz.words.words import Words


def weights(graph: Graph, training: Training) -> list[Asked]:
    """Return the leaves that the last iteration read and that are to learn: parameters of modules
    that ran, and what a step moved."""
    facts, words = Facts.of(graph), Words(graph)
    stepped = {leaf for leaf, used in training.sums_used.items() if used}
    wanted = (facts.of_modules | stepped) or {*training.moments}
    begin, named = _begin_of_last(facts), names_in_modules(graph)
    return [
        _as_it_was(state, named.get(state.object_id) or words.name(state.id), facts)
        for state in facts.latest_state.values()
        if state.object_id in wanted
        and state.is_leaf
        and state.requires_grad
        and any(call.id >= begin for call in facts.readers.get(state.object_id, ()))
    ]


def all_zeros(graph: Graph, asked: list[Asked]) -> tuple[set[int], set[int]]:
    """Return the ids of those that are all zeros as they were last, and of those whose ``.grad``
    is none or all zeros."""
    zero = {
        a.tensor_id
        for a in asked
        if a.tensor_id is not None and preview.only_zeros(graph.tensor[a.tensor_id].values or "")
    }
    still = {a.tensor_id for a in asked if a.tensor_id is not None and a.grad in ("none", "zero")}
    return zero, still


def without_meant(told: Told, held: list[set[int]], gradients: Gradients) -> Told:
    """Return answers without those about what no optimizer that stepped held, and what the user's
    own detach() or no_grad keeps off, where others have their gradient: a target, a teacher. Where
    none stepped, that is told as what may be meant."""
    if not any(e.cause.level is Level.FINE for _, e in told):
        return told
    every = set[int]().union(*held)
    own = [(a, e) for a, e in told if not is_meant_cut(e) or _object_of(a, gradients) in every]
    if held:
        return own
    return [(a, as_resting(a, e, gradients) if is_meant_cut(e) else e) for a, e in told]


def _object_of(asked: Asked, gradients: Gradients) -> int:
    """Return the object id of a tensor of the graph."""
    states = gradients.states(asked)
    return states[-1].object_id if states else -1


def _begin_of_last(facts: Facts) -> int:
    """Return the id of the call with which the last iteration begins: of the backwards of each line
    the last but one, and of these the first."""
    at_line: dict[object, list[int]] = {}
    for run in facts.graph.backwards:
        call = facts.graph.call[run.call_id]
        at_line.setdefault(line_of(call), []).append(call.id)
    return min((ids[-2] if len(ids) > 1 else 0 for ids in at_line.values()), default=0)


def names_in_modules(graph: Graph) -> dict[int, str]:
    """Return what the parameters of the modules that ran are called, by object id."""
    return {
        p.object_id: f"{module.name}.{p.name}"
        for module in graph.modules
        for p in module.parameters
        if p.object_id is not None
    }


def _as_it_was(state: Tensor, name: str, facts: Facts) -> Asked:
    """Return a leaf as the recording saw it last."""
    grad = facts.grads_now.get(state.object_id)
    return Asked(
        name,
        state.id,
        requires_grad=True,
        is_leaf=True,
        grad=_state_of(grad),
        preview=grad or "",
        parameter=state.object_id in facts.of_modules,
        dtype=state.dtype or "",
    )


def _state_of(grad: str | None) -> str:
    """Say what a gradient held, as its preview shows."""
    if grad is None:
        return "none"
    if "nan" in grad or "inf" in grad:
        return "nan"
    return "zero" if preview.only_zeros(grad) else "some"
