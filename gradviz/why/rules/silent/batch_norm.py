"""Layers without a trainable weight whose running statistics move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

import torch

from gradviz.graph.findings import Cause
from gradviz.graph.records import (
    Call,
)
from gradviz.why.explanation import Explanation
from gradviz.why.rules.silent.silent import Silent

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
    for name, layer in frozen_norms(asked):
        ran = normalised(asked, layer, counted)
        if ran or layer.training:
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


def frozen_norms(asked: Silent) -> Iterator[tuple[str, torch.nn.Module]]:
    """Yield the layers that keep statistics and train no weight, each under its name."""
    given = {id(t) for t in asked.tensors.values()}
    known = {n: m for n, m in asked.known.items() if isinstance(m, torch.nn.Module)}
    for title, model in {**known, **asked.models}.items():
        every = list(model.parameters())
        for name, layer in model.named_modules():
            if not isinstance(layer, _NORMS) or layer.running_mean is None:
                continue
            # of a model that nobody asks about, those whose statistics are asked about
            mine = given & {id(layer.running_mean), id(layer.running_var)}
            if title not in asked.models and not mine:
                continue
            own = list(layer.parameters()) or every
            if own and not any(p.requires_grad for p in own):
                yield ".".join(filter(None, (title, name))), layer


def normalised(
    asked: Silent, layer: torch.nn.Module, counted: Mapping[int, list[Call]]
) -> list[Call]:
    """Return the recorded calls of a frozen layer that updated its statistics: they count the
    batch first."""
    weight = getattr(layer, "weight", None)
    own = asked.object_of(weight) if isinstance(weight, torch.Tensor) else None
    return [] if own is None else counted.get(own, [])


def calls_that_counted(asked: Silent) -> dict[int, list[Call]]:
    """Return the calls of layers that counted the batch, by the frozen objects that they read."""
    found: dict[int, list[Call]] = {}
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
