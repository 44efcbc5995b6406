"""Layers all of whose outputs are one and the same, and stay so: they began with equal weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from gradviz.why.account.remark import Remark, Weight
from gradviz.why.many import pattern
from gradviz.why.rules.optimizers.replaced import where_begun

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

# layers each row of whose weight makes an output of its own from the same inputs
_LAYERS = (torch.nn.Linear, torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d)


def symmetric(case: Case) -> Iterator[Remark]:
    """Tell of layers whose rows are equal, and get equal gradients."""
    found = {name: part for name, part in case.live_state.parts() if _is_symmetric(part)}
    weights: list[Any] = [part.weight for part in found.values()]
    moved = [w for w in weights if _was_stepped(case, w)]
    if not moved:
        return
    filled = [place for place in where_begun(case, moved) if place.code][-1:]
    written = [*_fills(case, moved)][-1:] or filled
    fields = {
        "names": pattern([f"{name}.weight" if name else "weight" for name in found]),
        "n": len(found),
        "rows": len(weights[0]),
        "places": [case.words.source(place) for place in written],
    }
    objects = frozenset(i for w in moved if (i := _object(case, w)) is not None)
    yield Remark(Weight.WEIGHTY, "symmetric", fields, (), objects, tuple(written))


def _is_symmetric(part: Any) -> bool:
    """Say whether all rows of a layer's weight are equal and not zero, and those of its
    gradient, too."""
    if not isinstance(part, _LAYERS) or part.weight.grad is None or len(part.weight) < 2:
        return False
    weight, grad, bias = part.weight.detach(), part.weight.grad, part.bias
    even = bias is None or bool((bias == bias[:1]).all())
    return even and bool(weight.any()) and _all_equal(weight) and bool(grad.any() and _near(grad))


def _all_equal(rows: torch.Tensor) -> bool:
    return bool(torch.allclose(rows, rows[:1].expand_as(rows), rtol=1e-4, atol=0))


def _near(rows: torch.Tensor) -> bool:
    """Say whether rows are equal but for rounding."""
    return bool((rows - rows[:1]).abs().max() <= 1e-4 * rows.abs().max())


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
