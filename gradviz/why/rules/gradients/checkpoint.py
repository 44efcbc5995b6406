"""Reentrant checkpoints: what they hide, and what they run without recording. Knows no torch."""

from __future__ import annotations

from gradviz.graph.findings import Cause
from gradviz.graph.flow import in_reentrant_checkpoint
from gradviz.why.evidence.messages import repair
from gradviz.why.evidence.paths import Asked
from gradviz.why.rules.gradients.gradient import Gradients
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say


def in_checkpoint(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that a path may lead to it inside a reentrant checkpoint."""
    if not gradients.hidden(asked):
        return None
    value = "None" if asked.grad == "none" else asked.preview or say("gradient.there")
    return gradients.answer(asked, Cause.NOT_KNOWN, "in_checkpoint", value=value)


def in_unrecorded_checkpoint(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that a reentrant checkpoint ran it without recording."""
    cuts = gradients.flow.cuts_after(asked.tensor_id)
    inside = [c for c in cuts if in_reentrant_checkpoint(c, gradients.graph)]
    if not inside:
        return None
    calls = gradients.calls_of_cuts(inside)
    return gradients.answer(
        asked,
        Cause.CUT,
        "in_checkpoint",
        calls=calls,
        cuts=inside,
        mend=repair(inside[0], gradients.graph),
    )
