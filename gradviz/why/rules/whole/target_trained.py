"""Networks that are built alike, of which one learns: what the loss sends to the other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

import torch

from gradviz.graph.facts import Facts
from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Tensor
from gradviz.graph.training import STEPS, Did
from gradviz.watch.identity import named_parameters, parameters
from gradviz.why.rules.many import pattern
from gradviz.why.rules.whole.one_network import is_copy_of
from gradviz.why.shown.explanation import Explanation, lines_of
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


class Part(NamedTuple):
    """A module that has a name, or one below it.

    Attributes:
        name: what it is called.
        objects: the object ids of its parameters, those that were met.
        build: the shape of each by its name in it.
    """

    name: str
    objects: set[int]
    build: dict[str, tuple[int, ...] | None]


class Meeting(NamedTuple):
    """A call that computes with a value of one network and with one of another.

    Attributes:
        target: the one.
        learner: the other.
        call: itself.
        value: what only the one network made.
    """

    target: Part
    learner: Part
    call: Call
    value: Tensor


def twin_trained(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with a network that a loss sends gradients to, that no optimizer has,
    and that is built like one that an optimizer has and that the loss trains beside it: no step
    uses these gradients, and a target would get none."""
    moments = case.training.moments
    stepped = {i for i, every in moments.items() if any(m.did is Did.STEPPED for m in every)}
    met = next(_met(case, _twins(case, stepped)), None)
    if met is None:
        return None
    facts, words = case.facts, case.words
    value, maker = _value_of(case, met)
    line = say(
        "losses.twin",
        names=pattern(_names_of(case, _filled(case, met.target))),
        loss=words.name(facts.losses[-1]),
        target=met.target.name,
        other=met.learner.name,
        value=value,
        place=words.where(maker),
    )
    lines = dict.fromkeys([*found.lines, *lines_of([maker] if maker else [])])
    return case.beside(found, line)._replace(lines=tuple(lines))


def target_held(case: Case, found: Explanation) -> Explanation | None:
    """Tell of a network that the code wrote the values of another into, that is called its target,
    and that is in the same optimizer: it learns as the other does. Where only name and build speak
    for it, that is told beside what was found."""
    for met in _met(case, _held_twins(case)):
        if _is_written_from(case, met.target, met.learner):
            return _told(case, met, met.target.objects)
        if case.recorded_and_fine(found):
            target, other = met.target.name, met.learner.name
            return case.beside(found, say("losses.twin_held", target=target, other=other))
    return None


def _met(case: Case, twins: Iterator[tuple[Part, Part]]) -> Iterator[Meeting]:
    """Yield where a loss compares networks that are asked about, of which the first gets
    gradients."""
    if case.recording is None or not case.graph.backwards:
        return
    wanted = {case.graph.tensor[i].object_id for i in case.target_ids}
    for target, learner in twins:
        is_asked = not wanted or not wanted.isdisjoint(target.objects | learner.objects)
        if is_asked and _filled(case, target):
            meeting = _meeting(case.facts, target, learner)
            if meeting is not None:
                yield meeting


def _filled(case: Case, part: Part) -> set[int]:
    """Return the parameters of a module that a recorded backward sent a gradient to."""
    return case.facts.leaves_sent_to.intersection(part.objects)


def _held_twins(case: Case) -> Iterator[tuple[Part, Part]]:
    """Yield modules that are built alike, share nothing and are in one optimizer, where the first
    is called a target of the second."""
    parts, held = _every_part(case), case.held_objects
    for target, learner in permutations(parts, 2):
        names = (part.name.rpartition(".")[2] for part in (target, learner))
        is_twin = target.build == learner.build and target.objects.isdisjoint(learner.objects)
        if is_twin and is_copy_of(*names):
            both = target.objects | learner.objects
            if any(both <= h for h in held):
                yield target, learner


def _is_written_from(case: Case, target: Part, learner: Part) -> bool:
    """Say whether a recorded call, no step of an optimizer, wrote one network with the values of
    another: load_state_dict(), a moving average."""
    facts, tensor = case.facts, case.graph.tensor
    mine = {t.id for t in case.graph.tensors if t.object_id in learner.objects}
    memory = {tensor[i].storage_id for i in mine} - {None}
    into = (e.call_id for i in target.objects for e in facts.writes_by_object.get(i, ()))
    for call in (case.graph.call[i] for i in dict.fromkeys(into)):
        is_step = call.bookkeeping and call.function.startswith(STEPS)
        if not is_step and call.id not in facts.backward_calls:
            if any(tensor[i].storage_id in memory for i in call.inputs):
                return True
            if not mine.isdisjoint(facts.ancestors(call.inputs)):
                return True
    return False


def _held(case: Case) -> set[int]:
    """Return the object ids of what any living optimizer holds."""
    find = case.recording.find if case.recording else lambda _: None
    every = case.held_anywhere.values()
    return {state.object_id for p in every if (state := find(p)) is not None}


def _twins(case: Case, stepped: set[int]) -> Iterator[tuple[Part, Part]]:
    """Yield modules that are built alike and share nothing, of which no optimizer has the first and
    one has the second; the outermost first. ``stepped`` has what steps of the recording moved."""
    parts = _every_part(case)
    not_moved = [p for p in parts if p.objects.isdisjoint(stepped)]
    held = stepped | _held(case) if not_moved else stepped
    learning = [p for p in parts if p.objects <= held]
    for target in not_moved:
        free = target.objects.isdisjoint(held)
        for learner in learning if free else ():
            if target.build == learner.build:
                yield target, learner


def _every_part(case: Case) -> list[Part]:
    """Return the modules that are known, and those below them, that have parameters."""
    modules = {id(m): m for m in (*case.modules, *case.known_modules)}.values()
    return [p for module in modules for p in _parts(case, module) if p.objects]


def _parts(case: Case, module: torch.nn.Module) -> Iterator[Part]:
    """Yield a module and those below it."""
    title = case.called.get(id(module)) or type(module).__name__
    find = case.recording.find if case.recording else lambda _: None
    met = {id(p): state for p in parameters(module) if (state := find(p)) is not None}
    for path, part in module.named_modules():
        found = ((name, met.get(id(p))) for name, p in named_parameters(part))
        states = {name: state for name, state in found if state is not None}
        yield Part(
            ".".join(filter(None, (title, path))),
            {state.object_id for state in states.values()},
            {name: state.shape for name, state in states.items()},
        )


def _meeting(facts: Facts, target: Part, learner: Part) -> Meeting | None:
    """Return where what only the one network made meets what the other made, on the way to a
    loss: a layer that is given the result of another is no such place."""
    in_loss = facts.in_losses
    for call in facts.ordinary_calls:
        results = [] if in_loss.isdisjoint(call.outputs) else _results(facts, call)
        if len(results) < 2:
            continue
        leaves = [{leaf.object_id for leaf in facts.leaves_reached(t.id)} for t in results]
        alone = [t for t, own in zip(results, leaves, strict=True) if own and own <= target.objects]
        both = (own for own in leaves if target.objects.isdisjoint(own))
        if alone and any(own & learner.objects for own in both):
            return Meeting(target, learner, call, alone[0])
    return None


def _results(facts: Facts, call: Call) -> list[Tensor]:
    """Return the tracked results of other calls that one is given."""
    inputs = (facts.graph.tensor[i] for i in dict.fromkeys(call.inputs))
    return [t for t in inputs if t.requires_grad and not t.is_leaf]


def _told(case: Case, meeting: Meeting, objects: set[int]) -> Explanation:
    """Tell of a target that learns."""
    facts, words = case.facts, case.words
    value, maker = _value_of(case, meeting)
    states = [facts.latest_state[i].id for i in sorted(objects)]
    return case.answer(
        Cause.EXTRA_GRADIENT,
        "twin_held",
        calls=[c for c in (maker, meeting.call) if c is not None],
        tensor_ids=[meeting.value.id, *states],
        names=pattern(_names_of(case, objects)),
        loss=words.name(facts.losses[-1]),
        target=meeting.target.name,
        other=meeting.learner.name,
        value=value,
    )


def _value_of(case: Case, meeting: Meeting) -> tuple[str, Call | None]:
    """Return what only the target made: its name or code, and the call that made it."""
    facts, words = case.facts, case.words
    maker = facts.maker.get(meeting.value.id)
    is_named = bool(meeting.value.name) or maker is None
    return (words.name(meeting.value.id) if is_named else words.code(maker)), maker


def _names_of(case: Case, objects: set[int]) -> list[str]:
    """Return the names of some parameters."""
    latest, words = case.facts.latest_state, case.words
    return [words.name(latest[i].id) for i in sorted(objects)]
