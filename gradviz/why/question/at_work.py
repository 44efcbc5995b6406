"""Which of a program's modules, and which of its losses, a question that names nothing is about."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch

from gradviz.graph.facts import Facts
from gradviz.watch.identity import parameters
from gradviz.watch.recorded import Recorded
from gradviz.why.code.reading import NOT_COMPUTING
from gradviz.why.evidence.older import cut_off_before, leaves_behind
from gradviz.why.question.subjects import held_by


def models_at_work(
    names: Mapping[str, Any], loss: Any, recording: Recorded | None
) -> dict[str, Any]:
    """Return the modules that the question is about: those at work that the loss reaches or an
    optimizer trains.

    Which ones were at work is known of a recording only; without an optimizer all of them may be
    meant to learn. Where nothing is left of them it may be about any, unless a backward ran that
    saw none of them: they are of earlier cells.
    """
    models = outermost_modules(names)
    optimizers = [o for o in names.values() if isinstance(o, torch.optim.Optimizer)]
    at_work = _modules_at_work(models, optimizers, recording)
    held = held_by(optimizers).keys()
    at_work = _without_bystanders(at_work, held, recording)
    needs_recorded = recording and (loss is not None or recording.graph.backwards)
    models = at_work if needs_recorded else at_work or models
    if at_work and not held:
        return models
    return _modules_with(held | set(map(id, leaves_behind(loss))), models) or models


def without_idle_optimizers(names: Mapping[str, Any], recording: Recorded | None) -> dict[str, Any]:
    """Return what there is by name, without the optimizers of earlier cells: a backward was
    recorded, and nothing of them, neither a step nor one of their parameters."""
    if recording is None or not recording.graph.backwards:
        return dict(names)
    return {
        name: value
        for name, value in names.items()
        if not isinstance(value, torch.optim.Optimizer) or _is_met(value, recording)
    }


def _is_met(optimizer: torch.optim.Optimizer, recording: Recorded) -> bool:
    """Say whether recorded code stepped an optimizer, or met one of its parameters."""
    held = held_by([optimizer]).values()
    return recording.has_stepped(optimizer) or any(recording.find(p) is not None for p in held)


def outermost_modules(names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the modules with parameters that are part of no other; each by the last of its
    names, where the first of them stands."""
    modules = {}
    for name, value in names.items():
        is_module = issubclass(type(value), torch.nn.Module) and not name.startswith("_")
        if is_module and parameters(value):
            modules[name] = value
    part_ids = {id(part) for m in modules.values() for part in m.modules() if part is not m}
    name_of = {id(module): name for name, module in modules.items() if id(module) not in part_ids}
    return {name: modules[name] for name in name_of.values()}


def _modules_at_work(
    models: dict[str, Any], optimizers: Sequence[Any], recording: Recorded | None
) -> dict[str, Any]:
    """Return the modules whose parameters a recording saw, or that an optimizer was to step though
    what they had made before was cut off."""
    if not recording:
        return {}
    stepped = held_by([o for o in optimizers if recording.has_stepped(o)]).keys()
    missed = stepped & cut_off_before(recording).keys()
    return {
        name: model
        for name, model in models.items()
        if any(id(p) in missed or recording.find(p) is not None for p in parameters(model))
    }


def _without_bystanders(
    models: dict[str, Any], held: Collection[int], recording: Recorded | None
) -> dict[str, Any]:
    """Return modules, those left out of which no call computed anything, that no optimizer has, and
    that stand beside one that ran: only their flags were set, or their values copied."""
    if recording is None:
        return models
    facts = Facts.of(recording.graph)
    used = {
        name: model
        for name, model in models.items()
        if any(id(p) in held or _is_computed_with(facts, recording, p) for p in parameters(model))
    }
    return used or models


def _is_computed_with(facts: Facts, recording: Recorded, parameter: Any) -> bool:
    """Say whether a recorded call computed with a parameter."""
    state = recording.find(parameter)
    readers = () if state is None else facts.readers.get(state.object_id, ())
    return any(c.function not in NOT_COMPUTING for c in readers)


def _modules_with(leaf_ids: set[int], models: dict[str, Any]) -> dict[str, Any]:
    """Return the modules that have one of these parameters."""
    return {
        name: model
        for name, model in models.items()
        if not leaf_ids.isdisjoint(map(id, parameters(model)))
    }


def named_loss(recording: Recorded) -> Any:
    """Return the result of one number that the recorded code calls a loss and that it made last;
    none where a backward tells what the loss is."""
    graph = recording.graph
    if graph.backwards:
        return None
    made = Facts.of(graph).made_ids
    found = [
        (state.id, tensor)
        for tensor in recording.living()
        if (state := recording.find(tensor)) is not None
        and state.id in made
        and "loss" in state.code_name.lower()
        and state.shape in ((), (1,))
        and tensor.is_floating_point()
    ]
    return max(found, key=lambda one: one[0])[1] if found else None
