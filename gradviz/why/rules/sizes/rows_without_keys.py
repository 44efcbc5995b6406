"""Attention whose masks together leave a row no key at all: its softmax is NaN."""

from __future__ import annotations

from typing import NamedTuple

import torch

from gradviz.graph.findings import Cause, Sure
from gradviz.graph.records import Call
from gradviz.watch.identity import read
from gradviz.why.rules.sizes.broken_derivative import Point
from gradviz.why.rules.sizes.sizes import Sizes
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say

_ATTENTION = "multi_head_attention_forward"


class Rows(NamedTuple):
    """Rows of an attention in which every key is masked.

    Attributes:
        masks: the states of the masks.
        n, all: how many rows there are so, and how many in all.
        sample, position: the first of them.
    """

    masks: list[int]
    n: int
    all: int
    sample: int
    position: int


def rows_without_keys(sizes: Sizes, cause: Cause, broken: str, point: Point) -> Explanation | None:
    """Tell of the rows of torch's attention in which the masks that are still there leave no key:
    of that whose derivative is blamed, or of one before what is blamed."""
    if cause is not Cause.NAN or point.call is None:
        return None
    found = ((call, _rows(sizes, call)) for call in _attentions(sizes, point.call))
    call, rows = next(((call, rows) for call, rows in found if rows), (None, None))
    if call is None or rows is None:
        return None
    words = sizes.words
    makers = {i: sizes.facts.maker.get(i) for i in rows.masks}
    answer = sizes.answer(
        Cause.NAN,
        "rows_without_keys",
        calls=[call, *(maker for maker in makers.values() if maker is not None)],
        nodes=[point.node.id],
        sure=Sure.LIKELY,
        broken=broken,
        code=words.at(call),
        masks=[words.at(maker, words.as_written(i)) for i, maker in makers.items()],
        n=rows.n,
        all=rows.all,
        sample=rows.sample,
        position=rows.position,
    )
    return answer._replace(mend=say("advice.rows_without_keys"))


def _attentions(sizes: Sizes, blamed: Call) -> list[Call]:
    """Return the calls of torch's attention with a softmax of their own, up to the one that is
    blamed, on the way to it."""
    behind = sizes.facts.ancestors(blamed.inputs)
    softmax = {n.call_id for n in sizes.graph.nodes if n.name.startswith("Softmax")}
    calls = (call for call in sizes.graph.calls if call.function == _ATTENTION)
    return [
        call
        for call in calls
        if call.id in softmax and (call is blamed or not behind.isdisjoint(call.outputs))
    ]


def _rows(sizes: Sizes, attention: Call) -> Rows | None:
    """Return the rows in which the masks that are alive leave no key; None where there are none, or
    where it is not known which mask is which."""
    weights = sizes.graph.tensor[attention.outputs[-1]].shape or ()
    if len(weights) not in (3, 4):
        return None
    shape = (weights[0], weights[-2], weights[-1])
    alive = sizes.living()
    given = [(i, alive[i]) for i in _given(sizes, attention) if i in alive]
    masks = {i: m for i, t in given if (m := _masked(t)) is not None}
    over = [_over_rows(mask, shape) for mask in masks.values()]
    known = [mask for mask in over if mask is not None]
    if not known or len(known) < len(over):
        return None
    empty = read(lambda: _without_keys(known, shape))
    places = [] if empty is None else empty.nonzero().tolist()
    if empty is None or not places:
        return None
    return Rows([*masks], len(places), empty.numel(), *places[0])


def _given(sizes: Sizes, attention: Call) -> list[int]:
    """Return what an attention was given, also where its module wrote it in another form."""
    found = [*attention.inputs]
    for tensor_id in found:  # which grows
        maker = sizes.facts.maker.get(tensor_id)
        if maker is not None and maker.module_call == attention.module_call:
            found += maker.inputs
    return list(dict.fromkeys(found))


def _without_keys(masks: list[torch.Tensor], shape: tuple[int, int, int]) -> torch.Tensor:
    """Return in which rows of which samples the masks together leave nothing."""
    together = torch.zeros(shape, dtype=torch.bool)
    for mask in masks:
        together = together | mask.cpu()
    return together.all(dim=-1)


def _masked(t: torch.Tensor) -> torch.Tensor | None:
    """Return where a mask lets nothing through; None of what is no mask."""
    if t.dtype is torch.bool:
        return t
    if not t.is_floating_point() or t.requires_grad or t.dim() != 2:
        return None
    infinite = read(lambda: t == -torch.inf)
    return infinite if infinite is not None and bool(infinite.any()) else None


def _over_rows(mask: torch.Tensor, shape: tuple[int, int, int]) -> torch.Tensor | None:
    """Return a mask by sample, row and key; None where it may be one or the other: that of the keys
    of each sample, or that of the keys of each row."""
    samples, rows, keys = shape
    of_rows = tuple(mask.shape) == (rows, keys)
    of_samples = tuple(mask.shape) == (samples, keys)
    if of_rows == of_samples:
        return None
    return mask.unsqueeze(0) if of_rows else mask.unsqueeze(1)
