"""Many exact zeros, near the limit of the dtype."""

from __future__ import annotations

from gradviz.graph.findings import Cause, Sure
from gradviz.why.evidence.measured import least_normal
from gradviz.why.rules.sizes.sizes import ZEROS, Sizes, title_of
from gradviz.why.shown.explanation import Explanation


def underflow(sizes: Sizes) -> Explanation | None:
    """Tell of many exact zeros, and a gradient near the limit of its dtype."""
    if sizes.share_of_zeros < ZEROS:
        return None
    for step in sizes.ran:
        if (small := sizes.tiny(step)) is not None:
            arrived, dtype = small
            node = sizes.graph.node[step.event.node_id]
            return sizes.answer(
                Cause.UNDERFLOW,
                "on_the_way",
                nodes=[node.id],
                sure=Sure.LIKELY,
                arrived=arrived,
                node=node.name,
                dtype=dtype,
                least=f"{least_normal(dtype):.1e}",
            )
    if block := next((b for b in sizes.blocks if b.least), None):
        return sizes.answer(
            Cause.UNDERFLOW,
            "in_module",
            sure=Sure.LIKELY,
            module=title_of(block),
            dtype=block.least,
            least=f"{least_normal(block.least):.1e}",
        )
    if sizes.share_of_zeros == 1:
        return sizes.answer(Cause.NOT_KNOWN, "all_zeros")
    return None
