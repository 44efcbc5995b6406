"""Layers without a trainable weight whose running statistics move."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise
from typing import NamedTuple

import torch

from gradviz.graph.copies import copied
from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Source
from gradviz.names.position import dotted
from gradviz.watch.identity import parameters
from gradviz.why.rules.silent.silent import Silent
from gradviz.why.shown.explanation import Explanation

_NORMS = (
    torch.nn.BatchNorm1d,
    torch.nn.BatchNorm2d,
    torch.nn.BatchNorm3d,
    torch.nn.SyncBatchNorm,
    torch.nn.InstanceNorm1d,
    torch.nn.InstanceNorm2d,
    torch.nn.InstanceNorm3d,
)


class Moved(NamedTuple):
    """A layer without a trainable weight whose running statistics moved, or will.

    Attributes:
        title: what its network is called.
        name: of the layer, from the variable of its network.
        calls: its calls that counted a batch.
        in_train_mode: whether it is in train mode now.
    """

    title: str
    name: str
    calls: list[Call]
    in_train_mode: bool


def statistics(asked: Silent) -> Iterator[Explanation]:
    """Tell of BatchNorm layers without a trainable weight, in train mode."""
    found = [layer for layer, concerns in _moved(asked) if concerns]
    if not found:
        return
    calls = [call for layer in found for call in layer.calls]
    in_train_mode = any(layer.in_train_mode for layer in found)
    by = train_lines(asked, {layer.title for layer in found}) if calls else []
    place = by or (asked.statements.switches("train") if in_train_mode else [])
    form = _form(calls, by, in_train_mode)
    yield asked.answer(
        Cause.BATCH_NORM_MOVES,
        form,
        calls=calls[-1:],
        statements=place,
        layers=[layer.name for layer in found],
        train=[p.code for p in by],
        model=found[0].title,
    )


def _form(calls: Sequence[Call], by: Sequence[Source], in_train_mode: bool) -> str:
    """Return the form in which it is told that statistics moved, or will: by which statements the
    layers were put into train mode, or that they are in it."""
    if not calls:
        return "will_move"
    if by:
        return "moved_by_train"
    return "moved_in_train_mode" if in_train_mode else "moved"


def bystanders(asked: Silent) -> list[Moved]:
    """Return such layers of networks that nothing asked about, that no step moved, and that nothing
    trained computes with: a teacher's, whose weights stand still."""
    every = {**asked.named_modules, **asked.models}
    stepped = asked.training.sums_used.keys()
    moved = {
        title
        for title, module in every.items()
        if any(asked.object_of(p) in stepped for p in parameters(module))
    }
    found = [layer for layer, concerns in _moved(asked) if layer.calls and not concerns]
    return [layer for layer in found if layer.title not in moved]


def _moved(asked: Silent) -> Iterator[tuple[Moved, bool]]:
    """Yield such layers, and whether they concern what is asked about."""
    counted = calls_that_counted(asked)
    for title, name, layer, is_asked in frozen_norms(asked):
        ran = since_frozen(asked, layer, counted.get(asked.object_of(mean_of(layer)), []))
        will_move = layer.training and not asked.training.moments  # a loop that ran left it alone
        concerns = (is_asked and bool(ran or will_move)) or feeds_what_trains(asked, ran)
        yield Moved(title, ".".join(filter(None, (title, name))), ran, layer.training), concerns


def train_lines(asked: Silent, titles: Set[str]) -> list[Source]:
    """Return the statements that put networks of some names into train mode."""
    found = list[Source]()
    for place, node in asked.statements.calls("train"):
        written = dotted(node.func.value) if isinstance(node.func, ast.Attribute) else None
        path = (written or "").removeprefix("self.")
        if path and not node.args and any(f".{t}".endswith(f".{path}") for t in titles):
            found.append(place)
    return found


def since_frozen(asked: Silent, layer: torch.nn.Module, calls: Sequence[Call]) -> list[Call]:
    """Return those of some calls of a layer in which its weights were frozen already: a teacher is
    trained first. Where the layer has no weights, that is not known of any."""
    own = {asked.object_of(p) for p in parameters(layer)}
    given = ((call, [asked.graph.tensor[i] for i in call.inputs]) for call in calls)
    trained = {
        c.id for c, every in given if any(t.requires_grad for t in every if t.object_id in own)
    }
    return [call for call in calls if call.id not in trained]


def frozen_norms(asked: Silent) -> Iterator[tuple[str, str, torch.nn.Module, bool]]:
    """Yield the layers that keep statistics and train no weight, each under the name of its network
    and its own there, and whether they are asked about; those of other models only where nothing is
    asked in particular. None into which the code writes the values of others, unless the statistics
    themselves are asked about: a moving average does not rest."""
    given = {id(t) for t in asked.tensors.values()}
    written = {c.into for c in copied(asked.facts)}
    for title, model in {**asked.named_modules, **asked.models}.items():
        every = parameters(model)
        for name, layer in model.named_modules():
            if not isinstance(layer, _NORMS) or layer.running_mean is None:
                continue
            statistics = {id(layer.running_mean), id(layer.running_var)}
            is_wanted = not given.isdisjoint(statistics)
            is_asked = title in asked.models or is_wanted
            own = parameters(layer) or every
            if _are_at_rest(asked, own, set() if is_wanted else written) and (
                is_asked or asked.bare
            ):
                yield title, name, layer, is_asked


def _are_at_rest(
    asked: Silent, weights: Sequence[torch.nn.Parameter], written: Set[int | None]
) -> bool:
    """Say whether there are weights, none of which is trained or among what is written."""
    moving = (p for p in weights if p.requires_grad or asked.object_of(p) in written)
    return bool(weights) and next(moving, None) is None


def mean_of(layer: torch.nn.Module) -> torch.Tensor:
    """Return the running mean of a layer that keeps one."""
    mean = layer.running_mean
    assert isinstance(mean, torch.Tensor)
    return mean


def feeds_what_trains(asked: Silent, calls: Sequence[Call]) -> bool:
    """Say whether a call with a trained weight computes with what some calls gave: what a teacher
    makes is only compared with what a weight made."""
    facts = asked.facts
    made = {i for call in calls for i in call.outputs}
    trained = facts.leaves_sent_to if made else ()
    readers = (call for i in trained for call in facts.readers.get(i, ()))
    given = {i for call in readers for i in call.inputs}
    return not made.isdisjoint(facts.ancestors(given))


def calls_that_counted(asked: Silent) -> dict[int | None, list[Call]]:
    """Return the calls of layers that counted the batch, by the frozen objects that they read."""
    found: dict[int | None, list[Call]] = {}
    for before, call in pairwise(asked.graph.calls):
        if (
            before.function == "add_"
            and before.module == call.module
            and call.function.endswith("_norm")
        ):
            states = [asked.graph.tensor[i] for i in call.inputs]
            for own in {t.object_id for t in states if t.requires_grad is False}:
                found.setdefault(own, []).append(call)
    return found
