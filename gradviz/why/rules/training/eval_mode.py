"""A model that is trained in eval mode."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set
from functools import partial
from typing import Any, NamedTuple

import torch

from gradviz.graph.facts import Facts
from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Module, ModuleCall, Source
from gradviz.graph.training import Did, Training
from gradviz.names.position import dotted
from gradviz.watch.identity import parameters, read
from gradviz.why.rules.silent.silent import Silent
from gradviz.why.shown.explanation import Explanation

# layers that work otherwise in eval mode
_MODAL = ("Dropout", "BatchNorm", "AlphaDropout", "FeatureAlphaDropout")


class PartInEval(NamedTuple):
    """A part of a network that a statement puts into evaluation mode.

    Attributes:
        place: the statement.
        name: of the part, from the variable of its network.
        module: the part.
    """

    place: Source
    name: str
    module: Any


def in_eval_mode(asked: Silent) -> Explanation | None:
    """Tell of a model that ran in eval mode only, with layers to which that matters, while a step
    moved its parameters."""
    stepped = {i for i in asked.leaves if _was_stepped(asked.training, i)}
    chosen = tuple(f"{part.name}." for part in parts_in_eval(asked))
    for root in asked.graph.modules:
        layers = [name for name in _in_eval(asked, root) if not f"{name}.".startswith(chosen)]
        if layers and stepped & {p.object_id for p in root.parameters}:
            return _undone_each_time(asked, root, layers) or asked.answer(
                Cause.EVAL_MODE,
                "stepped",
                statements=asked.statements.switches("eval"),
                module=root.name,
                layers=layers,
                n=len(layers),
            )
    return None


def _undone_each_time(asked: Silent, root: Module, layers: list[str]) -> Explanation | None:
    """Tell of a model that the code puts into train mode, too, which no trained forward came to
    see: another ``train()`` before the loop would be undone like that one."""
    evals, trains = asked.statements.switches("eval"), _putting_into_train_mode(asked, root)
    runs = _runs_of_calls(asked)
    calls = [c for c in asked.graph.module_calls if c.module_id == root.id and runs.get(c.id)]
    outer = [c for c in calls if not c.path and c.source is not None]
    if not evals or not trains or not outer or outer[-1].source is None:
        return None
    forward = outer[-1].source
    return asked.answer(
        Cause.EVAL_MODE,
        "stepped_again",
        statements=[*evals, *trains, forward],
        module=root.name,
        layers=layers,
        n=len(layers),
        train=asked.words.source(trains[0]),
        code=asked.words.source(evals[0]),
        forward=asked.words.source(forward),
    )


def _putting_into_train_mode(asked: Silent, root: Module) -> list[Source]:
    """Return the one statement that calls ``train()``, where it calls it of a module by its own
    name, or as ``self``; that of another module tells nothing."""
    own = {"self", root.name.rpartition(".")[2]}
    called = [node for _, node in asked.statements.calls("train")]
    owners = {(dotted(node.func.value) or "").rpartition(".")[2] for node in called}  # type: ignore[attr-defined]
    return asked.statements.switches("train") if owners <= own else []


def left_in_eval(asked: Silent) -> Explanation | None:
    """Tell of a model that was trained in train mode, then ran in eval mode, and stayed there while
    further forwards of the same line were trained; nothing of one that is in train mode by now."""
    runs = _runs_of_calls(asked)
    for root in asked.graph.modules:
        layers = _modal_in_eval(asked, root)
        nth = _left_since(asked, root, runs)
        if layers and nth and not _is_switched_back(asked, root):
            return asked.answer(
                Cause.EVAL_MODE,
                "left",
                statements=asked.statements.switches("eval"),
                module=root.name,
                layers=layers,
                n=len(layers),
                nth=nth if asked.words.keeps_all else 0,
            )
    return None


def _left_since(asked: Silent, root: Module, runs: Mapping[int, Set[int]]) -> int | None:
    """Return which forward of a module is the first trained one in eval mode after the last in
    train mode, counted from 1; None where there is none, no step followed, or a loss is made of
    both modes."""
    calls = [c for c in asked.graph.module_calls if c.module_id == root.id and not c.path]
    in_train = [at for at, c in enumerate(calls) if c.training]
    since = in_train[-1] + 1 if in_train else 0
    in_both = set[int]().union(*(runs.get(calls[at].id, set()) for at in in_train))
    if not in_both:
        return None
    later = ((at, runs.get(c.id, set())) for at, c in enumerate(calls[since:], since + 1))
    used = _used_by_steps(asked, root)
    return next((at for at, of in later if of & used and of.isdisjoint(in_both)), None)


def _used_by_steps(asked: Silent, root: Module) -> set[int]:
    """Return the backwards after which a step moved something of a module."""
    moments, own = asked.training.moments, {p.object_id for p in root.parameters}
    rows = (row for leaf, row in moments.items() if leaf in own)
    steps = [m.call.id for row in rows for m in row if m.did is Did.STEPPED]
    last = max(steps, default=-1)
    return {b.run for b in asked.graph.backwards if b.call_id < last}


def _is_switched_back(asked: Silent, root: Module) -> bool:
    """Say whether a known module with the parameters of one that ran is in train mode."""
    own = {p.object_id for p in root.parameters}
    return any(
        module.training
        for module in asked.modules.values()
        if own and own == {asked.object_of(p) for p in parameters(module)}
    )


def parts_in_eval(asked: Silent) -> Iterator[PartInEval]:
    """Yield the parts of the known networks that a statement puts into evaluation mode, the whole
    networks left out."""
    parts = dict[int, tuple[str, Any]]()
    for title, module in {**asked.models, **asked.named_modules}.items():
        for path, part in read(partial(_parts_of, module)) or ():
            name = f"{title}.{path}"
            if len(name) > len(parts.get(id(part), ("",))[0]):
                parts[id(part)] = name, part
    for place, node in asked.statements.calls("eval"):
        written = dotted(node.func.value) if isinstance(node.func, ast.Attribute) else None
        path = (written or "").removeprefix("self.")
        meant = [(n, p) for n, p in parts.values() if path and f".{n}".endswith(f".{path}")]
        if len(meant) == 1 and not node.args:
            yield PartInEval(place, *meant[0])


def ran_in_eval(facts: Facts, calls: list[ModuleCall], step: Call) -> bool:
    """Say whether some calls of modules were all in evaluation mode, and one came before a step."""
    if any(c.training for c in calls):
        return False
    before = {c.module_call for c in facts.ordinary_calls if c.id < step.id}
    around = {i for inner in before for i in facts.module_calls_around(inner)}
    return any(c.id in around for c in calls)


def _parts_of(module: torch.nn.Module) -> list[tuple[str, torch.nn.Module]]:
    """Return the parts of a module, without itself."""
    return [(path, part) for path, part in module.named_modules() if path]


def _runs_of_calls(asked: Silent) -> dict[int, set[int]]:
    """Return the module calls out of which backwards ran whose gradients a step used, with these
    backwards: an attack's or a saliency's train nothing."""
    tensor, facts = asked.graph.tensor, asked.facts
    ran = dict[int, set[int]]()
    for run in (r for r in asked.training.step_using if r is not None):
        for event in facts.nodes_of_run.get(run, ()):
            ran.setdefault(event.node_id, set()).add(run)
    found = dict[int, set[int]]()
    for call in facts.ordinary_calls:
        ends = (tensor[i].gradient_edge for i in call.outputs)
        runs = set[int]().union(*(ran.get(e.node_id, set()) for e in ends if e))
        for around in facts.module_calls_around(call.module_call) if runs else ():
            found.setdefault(around, set()).update(runs)
    return found


def _in_eval(asked: Silent, root: Module) -> list[str]:
    """Return the names of the layers that work otherwise in eval mode, of a module that never ran
    in another one."""
    calls = [c for c in asked.graph.module_calls if c.module_id == root.id]
    by_parts = any(c.training and c.kind.startswith(_MODAL) for c in calls)
    if by_parts or any(c.training for c in calls if not c.path):
        return []  # a layer that is in train mode there was put into it: the modes are chosen
    return _modal_in_eval(asked, root)


def _modal_in_eval(asked: Silent, root: Module) -> list[str]:
    """Return the names of the layers that work otherwise in eval mode and ran in it."""
    calls = [c for c in asked.graph.module_calls if c.module_id == root.id]
    modal = {c.path: c.kind for c in calls if c.kind.startswith(_MODAL) and not c.training}
    # the model may have another name there: self.net of a trainer
    parts = [place for module in asked.modules.values() for place in module.named_modules()]
    is_gone = _is_gone(asked, root)
    return [
        ".".join(filter(None, (root.name, path)))
        for path, kind in modal.items()
        if is_gone or any(_matters(p) for at, p in parts if at == path and type(p).__name__ == kind)
    ]


def _is_gone(asked: Silent, root: Module) -> bool:
    """Say whether no module that is asked about has the parameters of one that ran."""
    own = {p.object_id for p in root.parameters}
    return own.isdisjoint(asked.object_of(p) for p in asked.parameters.values())


def _matters(layer: torch.nn.Module) -> bool:
    """Say whether eval mode changes what a layer does: a dropout of nothing is the same in both,
    and so is batch norm without running statistics."""
    keeps_statistics = getattr(layer, "running_mean", None) is not None
    return keeps_statistics or bool(getattr(layer, "p", 0))


def _was_stepped(training: Training, leaf: int) -> bool:
    """Say whether a step moved a leaf."""
    return any(m.did is Did.STEPPED for m in training.moments[leaf])
