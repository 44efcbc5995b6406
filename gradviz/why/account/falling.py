"""Gradients that shrink from module to module, though not so far that they are called vanishing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradviz.why.account.remark import Remark, Weight

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_FOLD = 1e3  # from the last module to the first, from which on it is told
_MODULES = 6  # of which it is a trend and not the scale of one


def falling(case: Case) -> Iterator[Remark]:
    """Tell that the gradient shrinks steadily on its way to the first modules."""
    sizes = case.sizes
    alive = [block for block in sizes.blocks if block.norm > 0]
    norms = [block.norm for block in alive]
    if len(alive) < _MODULES or not sizes.goes_on(alive, norms, _FOLD):
        return
    makers = (sizes.graph.node[n].call_id for n in sizes.between(alive, norms))
    calls = (sizes.graph.call[i] for i in makers if i is not None)
    trend = sizes.trend(alive, norms, grows=False)
    yield Remark(Weight.WEIGHTY, "falls", trend, tuple(dict.fromkeys(calls)))
