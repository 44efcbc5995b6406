"""Gradients that the code changes in part, of what an optimizer moves by weight decay too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradviz.graph.preview import number
from gradviz.graph.records import Call
from gradviz.graph.training import Did
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.summands import single

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_PARTLY = {"__setitem__", "masked_fill_", "index_fill_"}


def decay_beside_zeros(case: Case) -> Iterator[Remark]:
    """Tell of gradients that the code changes in part before a step, where the optimizer that
    steps has a weight decay: that moves every entry, whatever its gradient is."""
    words = case.words
    for optimizer in case.known_optimizers:
        for group in optimizer.param_groups:
            for p in group["params"] if _is_on(group.get("weight_decay")) else ():
                own = case.live_state.object_of(p)
                moments = case.training.moments.get(own, ()) if own is not None else ()
                changed = [m.call for m in moments if m.did is Did.CHANGED]
                steps = [m.call for m in moments if m.did is Did.STEPPED]
                parts = [c for c in changed if _is_in_part(case, c)]
                if own is None or not parts or not steps:
                    continue
                fields = {
                    "code": words.at(parts[-1]),
                    "name": case.title(p, words.name(case.facts.latest_state[own].id)),
                    "optimizer": type(optimizer).__name__,
                    "decay": number(group["weight_decay"]),
                    "step": words.at(steps[-1]),
                }
                calls = (parts[-1], steps[-1])
                yield Remark(Weight.WEIGHTY, "decay_beside_zeros", fields, calls, frozenset({own}))


def _is_in_part(case: Case, call: Call) -> bool:
    """Say whether a call changes some entries: also by a mask that it multiplies with."""
    masks = [i for i in call.inputs[1:] if not single(case.graph.tensor[i])]
    by_mask = call.function == "mul_" and bool(masks)
    return not call.bookkeeping and (by_mask or call.function in _PARTLY)


def _is_on(decay: Any) -> bool:
    """Say whether a weight decay moves anything."""
    return isinstance(decay, (int, float)) and decay != 0
