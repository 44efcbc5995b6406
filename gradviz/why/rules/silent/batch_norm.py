"""Layers without a trainable weight whose running statistics move."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from itertools import pairwise

import torch

from gradviz.graph.copies import copied
from gradviz.graph.findings import Cause
from gradviz.graph.records import (
    Call,
)
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


def statistics(asked: Silent) -> Iterator[Explanation]:
    """Tell of BatchNorm layers without a trainable weight, in train mode."""
    names, calls, in_train_mode = list[str](), list[Call](), False
    counted = calls_that_counted(asked)
    for name, layer, is_asked in frozen_norms(asked):
        ran = since_frozen(asked, layer, counted.get(asked.object_of(mean_of(layer)), []))
        will_move = layer.training and not asked.training.moments  # a loop that ran left it alone
        if (is_asked and (ran or will_move)) or feeds_what_trains(asked, ran):
            names.append(name)
            calls += ran
            in_train_mode = in_train_mode or layer.training
    if not names:
        return
    place = asked.statements.switches("train") if in_train_mode else []
    if not calls:
        yield asked.answer(Cause.BATCH_NORM_MOVES, "will_move", statements=place, layers=names)
        return
    yield asked.answer(
        Cause.BATCH_NORM_MOVES,
        "moved_in_train_mode" if in_train_mode else "moved",
        calls=calls[-1:],
        statements=place,
        layers=names,
    )


def since_frozen(asked: Silent, layer: torch.nn.Module, calls: Sequence[Call]) -> list[Call]:
    """Return those of some calls of a layer in which its weights were frozen already: a teacher is
    trained first. Where the layer has no weights, that is not known of any."""
    own = {asked.object_of(p) for p in layer.parameters()}
    given = ((call, [asked.graph.tensor[i] for i in call.inputs]) for call in calls)
    trained = {
        c.id for c, every in given if any(t.requires_grad for t in every if t.object_id in own)
    }
    return [call for call in calls if call.id not in trained]


def frozen_norms(asked: Silent) -> Iterator[tuple[str, torch.nn.Module, bool]]:
    """Yield the layers that keep statistics and train no weight, each under its name, and whether
    they are asked about; those of other models only where nothing is asked in particular, and then
    none into which the code writes the values of others: a moving average does not rest."""
    given = {id(t) for t in asked.tensors.values()}
    written = {c.into for c in copied(asked.facts)} if asked.bare else set[int | None]()
    for title, model in {**asked.named_modules, **asked.models}.items():
        every = list(model.parameters())
        for name, layer in model.named_modules():
            if not isinstance(layer, _NORMS) or layer.running_mean is None:
                continue
            statistics = {id(layer.running_mean), id(layer.running_var)}
            is_asked = title in asked.models or not given.isdisjoint(statistics)
            own = list(layer.parameters()) or every
            if _are_at_rest(asked, own, written) and (is_asked or asked.bare):
                yield ".".join(filter(None, (title, name))), layer, is_asked


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
