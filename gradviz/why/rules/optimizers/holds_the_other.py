"""An optimizer that was made from the one network, while the other one gets the gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.graph.findings import Cause
from gradviz.watch.identity import parameters
from gradviz.why.code.reading import NOT_COMPUTING
from gradviz.why.question.subjects import held_by
from gradviz.why.rules.many import pattern
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def has_steps(case: Case, found: Explanation) -> bool:
    """Say whether a recording may tell what the known optimizers got, and nothing is said of a step
    so far."""
    told = found.cause in (Cause.NOT_MOVED, Cause.LEFT_OUT, Cause.NON_LEAF_IN_OPTIMIZER)
    return case.recording is not None and bool(case.known_optimizers) and not told


def holds_the_other(case: Case, found: Explanation) -> Explanation | None:
    """Tell of an optimizer that stepped, and whose parameters get no gradient, as nothing was
    computed from them that has a history, while all that get one are those of one model, which no
    optimizer holds."""
    assert case.recording is not None
    stepped = case.recording.held_at_steps()
    for optimizer in case.known_optimizers:
        held = held_by([optimizer])
        objects = {t.object_id for p in held.values() if (t := case.recording.find(p))}
        gets = any(_gets_gradient(case, p) for p in held.values())
        if not objects or objects not in stepped or gets or not _is_target(case, objects):
            continue
        trained = _trained_by_none(case)
        of_known = {id(p) for module in case.known_modules for p in parameters(module)}
        if trained is not None and not of_known.isdisjoint(held):
            return _told(case, optimizer, held, *trained)
    return None


def _is_target(case: Case, objects: set[int]) -> bool:
    """Say whether recorded calls computed with some parameters, and made nothing with a history:
    else it is not known what they are for, or their way to the loss was cut behind that."""
    readers, tensor = case.facts.readers, case.graph.tensor
    every = (c for one in objects for c in readers.get(one, ()) if not c.bookkeeping)
    calls = [c for c in every if c.function not in NOT_COMPUTING]
    made = [tensor[i] for call in calls for i in call.outputs]
    return bool(made) and not any(t.requires_grad and t.object_id not in objects for t in made)


def _gets_gradient(case: Case, parameter: Any) -> bool:
    """Say whether a gradient came to a parameter in the recording, or stands there."""
    state = case.recording.find(parameter) if case.recording is not None else None
    is_sent = state is not None and state.object_id in case.facts.leaves_sent_to
    return is_sent or parameter.grad is not None


def _trained_by_none(case: Case) -> tuple[str, list[Any]] | None:
    """Return the one known model that gets gradients, with its parameters, where no living
    optimizer holds any of them."""
    found = []
    for module in case.known_modules:
        own = {id(p): p for p in parameters(module)}
        if any(_gets_gradient(case, p) for p in own.values()):
            found.append((module, own))
    if len(found) != 1:
        return None
    module, own = found[0]
    name = case.called.get(id(module))
    return (name, [*own.values()]) if name and own.keys().isdisjoint(case.held_anywhere) else None


def _told(
    case: Case, optimizer: Any, held: dict[int, Any], model: str, trained: list[Any]
) -> Explanation:
    """Tell of one such optimizer."""
    name = case.called.get(id(optimizer), "")
    places = [place for place, _ in case.statements.binds(name)]
    titles = (
        pattern([case.title(p, say("entry.a_parameter")) for p in some])
        for some in (trained, held.values())
    )
    names, others = titles
    owners = (m for m in case.known_modules if held.keys() <= {id(p) for p in parameters(m)})
    other = next((case.called[id(m)] for m in owners if id(m) in case.called), "")
    return case.answer(
        Cause.NOT_MOVED,
        "holds_the_other",
        statements=places if len(places) == 1 else (),
        optimizer=case.optimizer_name(optimizer),
        names=names,
        others=others,
        model=model,
        other=other or others,
    )
