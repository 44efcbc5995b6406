"""NaN or inf that the backward of a custom Function made: what in its text overflows or divides by
0. Knows no torch."""

from __future__ import annotations

from gradviz.graph.findings import Cause, Sure
from gradviz.graph.records import NodeKind
from gradviz.names.position import statement_or_head
from gradviz.why.code.breaking import breaking
from gradviz.why.code.own_functions import backward_of
from gradviz.why.rules.errors.failure import call_at
from gradviz.why.rules.sizes.broken_derivative import Point
from gradviz.why.rules.sizes.sizes import Sizes
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code, say

_MOST = 3  # parts that are told


def nan_in_own_backward(
    sizes: Sizes, cause: Cause, broken: str, point: Point
) -> Explanation | None:
    """Tell what in a backward of the program's own is not finite at some numbers, as its text has
    it: what arrived there was finite, and what it sent was not."""
    if point.node.kind is not NodeKind.CUSTOM_FUNCTION:
        return None
    written = backward_of(sizes.statements, point.node.name.removesuffix("Backward"))
    parts = [] if written is None else breaking(written.node)
    if written is None or not parts or len(parts) > _MOST:
        return None
    lines = [written.at(statement_or_head(part.node)) for part in parts]
    applied = [] if point.call is None else [point.call]
    return sizes.answer(
        Cause.NAN if cause is Cause.NAN else Cause.EXPLODING,
        "own_backward",
        calls=[*map(call_at, dict.fromkeys([*lines, *written.ends])), *applied],
        nodes=[point.node.id],
        sure=Sure.LIKELY,
        broken=broken,
        node=point.node.name,
        arrived=point.step.arrived_words,
        sent=point.step.sent_words,
        parts=[Code(part.text) for part in parts],
        grows=say("small.overflows") if any(part.grows for part in parts) else "",
        mends=[say("small.part_anew", part=Code(p.text), anew=Code(p.anew)) for p in parts],
    )
