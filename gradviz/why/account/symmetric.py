"""Layers all of whose outputs are one and the same, and stay so: they began with equal weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from gradviz.names.statements import where_made
from gradviz.watch.identity import named_parameters
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.rules.many import pattern
from gradviz.why.survey.trial import grad_of
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_LOOKED_UP = (torch.nn.Embedding, torch.nn.EmbeddingBag)
# layers each row of whose weight makes an output of its own from the same inputs
_LAYERS = (torch.nn.Linear, torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d)


def symmetric(case: Case) -> Iterator[Remark]:
    """Tell of layers whose rows are equal, and get equal gradients."""
    found = dict[str, tuple[Any, int]]()
    owners = dict[str, Any]()
    for name, part in case.live_state.parts():
        for own, weight in named_parameters(part, recurse=False):
            dim = _even_dim(part, weight)
            if dim is not None and _was_stepped(case, weight):
                found[f"{name}.{own}" if name else own] = weight, dim
                owners.setdefault(own, part)
    if not found:
        return
    weights = [weight for weight, _ in found.values()]
    dim = next(iter(found.values()))[1]
    places = [*_fills(case, weights)][-1:] or [*_made_at(owners)][:1]
    fields = {
        "names": pattern([*found]),
        "n": len(found),
        "rows": weights[0].shape[dim],
        "kind": say("label.columns" if dim else "label.rows"),
        "places": [case.words.source(place) for place in places],
    }
    objects = frozenset(i for w in weights if (i := _object(case, w)) is not None)
    yield Remark(Weight.WEIGHTY, "symmetric", fields, (), objects, tuple(places))


def _even_dim(part: Any, weight: Any) -> int | None:
    """Return the dimension along which all of a weight is equal and not zero, and its gradient,
    too: 0 where all rows are, 1 for the columns; None where neither is."""
    grad = grad_of(weight)
    if grad is None or weight.dim() < 2 or isinstance(part, _LOOKED_UP):
        return None
    if not _begins_even(weight.detach()):
        return None  # the most, seen by few of its numbers
    bias = getattr(part, "bias", None)
    even = not isinstance(bias, torch.Tensor) or bool((bias == bias[:1]).all())
    values = weight.detach()
    for dim in (0, 1) if even and bool(values.any()) and bool(grad.any()) else ():
        if dim == 1 and isinstance(part, _LAYERS):
            continue
        if values.shape[dim] > 1 and _near(values, dim) and _near(grad, dim):
            return dim
    return None


def _begins_even(values: torch.Tensor) -> bool:
    """Say whether the first two rows, or the first two columns, are equal but for rounding."""
    return any(
        values.shape[dim] > 1 and _near(values.narrow(dim, 0, 2), dim)
        for dim in (0, 1)
        if values.numel()
    )


def _near(rows: torch.Tensor, dim: int) -> bool:
    """Say whether rows or columns are equal but for rounding."""
    first = rows.narrow(dim, 0, 1)
    return bool((rows - first).abs().max() <= 1e-4 * rows.abs().max())


def _made_at(owners: dict[str, Any]) -> Iterator[Any]:
    """Yield where the classes of some modules make attributes."""
    for name, part in owners.items():
        place = where_made(type(part), name)
        if place is not None:
            yield place


def _object(case: Case, tensor: Any) -> int | None:
    """Return the object id of a living tensor."""
    state = case.recording.find(tensor) if case.recording else None
    return None if state is None else state.object_id


def _was_stepped(case: Case, tensor: Any) -> bool:
    """Say whether a step moved a tensor."""
    found = _object(case, tensor)
    return found is not None and bool(case.training.sums_used.get(found))


def _fills(case: Case, weights: list[Any]) -> Iterator[Any]:
    """Yield where some weights were filled with one number."""
    for weight in weights:
        found = _object(case, weight)
        for event in case.facts.writes_by_object.get(found, ()) if found is not None else ():
            call = case.graph.call[event.call_id]
            if call.function in ("fill_", "constant_", "ones_") and call.source is not None:
                yield call.source
