"""Networks that are built alike, of which one learns: what the loss sends to the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import torch

from gradviz.graph.facts import Facts
from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Tensor
from gradviz.graph.training import Did
from gradviz.why.explanation import Explanation
from gradviz.why.many import pattern
from gradviz.words.words import Words

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


# what a network is called that another one is to be compared with
_TARGET = re.compile(r"(?<![a-z])(target|teacher|ema|momentum)(?![a-z])", re.IGNORECASE)


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
        call: itself.
        value: what only the one network made.
    """

    call: Call
    value: Tensor


def twin_trained(case: Case, found: Explanation) -> Explanation | None:
    """Tell of a network that a loss sends gradients to, that no optimizer has, and that is built
    like one that an optimizer has and that the loss trains beside it: a target would get none."""
    if case.recording is None or not case.graph.backwards:
        return None
    facts = Facts.of(case.graph)
    moments = case.training.moments
    stepped = {i for i, every in moments.items() if any(m.did is Did.STEPPED for m in every)}
    wanted = {case.graph.tensor[i].object_id for i in case.target_ids}
    for target, learner in _twins(case, stepped):
        filled = target.objects & facts.accumulate_node.keys()
        told = [i for i in filled if facts.accumulate_node[i] in facts.ran]
        if not told or (wanted and wanted.isdisjoint(target.objects | learner.objects)):
            continue
        meeting = _meeting(facts, target.objects, learner.objects)
        if meeting is not None:
            return _told(case, target, learner, told, meeting)
    return None


def target_held(case: Case, found: Explanation) -> Explanation | None:
    """Tell of a network that is called a target or teacher, is built like one that the loss trains
    beside it, and is in the same optimizer: it learns as the other does."""
    if case.recording is None or not case.graph.backwards:
        return None
    facts = Facts.of(case.graph)
    for target, learner in _held_twins(case):
        meeting = _meeting(facts, target.objects, learner.objects)
        if meeting is not None:
            return _told(case, target, learner, sorted(target.objects), meeting, is_held=True)
    return None


def _held_twins(case: Case) -> Iterator[tuple[Part, Part]]:
    """Yield modules that are built alike, share nothing and are in one optimizer, where the first
    is called a target, gets gradients, and the second is not called so."""
    modules = {id(m): m for m in (*case.modules, *case.known_modules)}.values()
    parts = [p for module in modules for p in _parts(case, module) if p.objects]
    facts, held = Facts.of(case.graph), case.held_objects
    for target in filter(_is_called_target, parts):
        if any(facts.accumulate_node.get(i) in facts.ran for i in target.objects):
            for learner in parts:
                both = target.objects | learner.objects
                is_twin = target.build == learner.build and len(both) > len(target.objects)
                if is_twin and not _is_called_target(learner) and any(both <= h for h in held):
                    yield target, learner


def _is_called_target(part: Part) -> bool:
    """Say whether a module's name says that another one is compared with it."""
    return bool(_TARGET.search(part.name.rpartition(".")[2]))


def _held(case: Case) -> set[int]:
    """Return the object ids of what any living optimizer holds."""
    find = case.recording.find if case.recording else lambda _: None
    every = case.held_anywhere.values()
    return {state.object_id for p in every if (state := find(p)) is not None}


def _twins(case: Case, stepped: set[int]) -> Iterator[tuple[Part, Part]]:
    """Yield modules that are built alike and share nothing, of which no optimizer has the first and
    one has the second; the outermost first. ``stepped`` has what steps of the recording moved."""
    modules = {id(m): m for m in (*case.modules, *case.known_modules)}.values()
    parts = [p for module in modules for p in _parts(case, module) if p.objects]
    not_moved = [p for p in parts if p.objects.isdisjoint(stepped)]
    held = stepped | _held(case) if not_moved else stepped
    learning = [p for p in parts if p.objects <= held]
    for target in not_moved:
        free = target.objects.isdisjoint(held)
        for learner in learning if free else ():
            if target.build == learner.build:
                yield target, learner


def _parts(case: Case, module: torch.nn.Module) -> Iterator[Part]:
    """Yield a module and those below it."""
    title = case.called.get(id(module)) or type(module).__name__
    find = case.recording.find if case.recording else lambda _: None
    met = {id(p): state for p in module.parameters() if (state := find(p)) is not None}
    for path, part in module.named_modules():
        found = ((name, met.get(id(p))) for name, p in part.named_parameters())
        states = {name: state for name, state in found if state is not None}
        yield Part(
            ".".join(filter(None, (title, path))),
            {state.object_id for state in states.values()},
            {name: state.shape for name, state in states.items()},
        )


def _meeting(facts: Facts, target: set[int], learner: set[int]) -> Meeting | None:
    """Return where what only the one network made meets what the other made, on the way to a
    loss: a layer that is given the result of another is no such place."""
    in_loss = facts.ancestors(facts.losses)
    for call in facts.ordinary_calls:
        results = [] if in_loss.isdisjoint(call.outputs) else _results(facts, call)
        if len(results) < 2:
            continue
        leaves = [{leaf.object_id for leaf in facts.leaves_reached(t.id)} for t in results]
        alone = [t for t, own in zip(results, leaves, strict=True) if own and own <= target]
        if alone and any(target.isdisjoint(own) and own & learner for own in leaves):
            return Meeting(call, alone[0])
    return None


def _results(facts: Facts, call: Call) -> list[Tensor]:
    """Return the tracked results of other calls that one is given."""
    inputs = (facts.graph.tensor[i] for i in dict.fromkeys(call.inputs))
    return [t for t in inputs if t.requires_grad and not t.is_leaf]


def _told(
    case: Case,
    target: Part,
    learner: Part,
    objects: list[int],
    meeting: Meeting,
    *,
    is_held: bool = False,
) -> Explanation:
    """Tell of one such network."""
    facts, words = Facts.of(case.graph), Words(case.graph)
    maker = facts.maker.get(meeting.value.id)
    states = [facts.latest_state[i].id for i in objects]
    named = bool(meeting.value.name)
    return case.answer(
        Cause.EXTRA_GRADIENT,
        "twin_held" if is_held else "twin",
        calls=[c for c in (maker, meeting.call) if c is not None],
        tensor_ids=[meeting.value.id, *states],
        names=pattern([words.name(i) for i in states]),
        loss=words.name(facts.losses[-1]),
        target=target.name,
        other=learner.name,
        value=words.name(meeting.value.id) if named or maker is None else words.code(maker),
    )
