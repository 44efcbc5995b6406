"""autograd.grad gave None for a part of a tensor, or another view of it, that was made beside the
way to the output: that came from the whole. Knows no torch."""

from __future__ import annotations

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call
from gradviz.why.evidence.handed_on import KEEPING
from gradviz.why.evidence.paths import Asked
from gradviz.why.rules.gradients.gradient import Gradients
from gradviz.why.shown.explanation import Explanation


def part_asked(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell of a result for which autograd.grad gave None, as it was only cut out of what the output
    was computed from."""
    maker, run = gradients.maker(asked), _none_for(gradients, asked)
    if run is None or maker is None or maker.function not in KEEPING or not run.inputs:
        return None
    whole, root = maker.inputs[0], run.inputs[0]
    behind = gradients.facts.ancestors([root])
    if whole not in behind or not behind.isdisjoint(maker.outputs):
        return None
    words = gradients.words
    return gradients.answer(
        asked,
        Cause.NOT_IN_LOSS,
        "part_asked",
        calls=[maker, run],
        tensors=[whole],
        root=words.name(root),
        whole=words.name(whole),
        code=words.code(maker),
    )


def _none_for(gradients: Gradients, asked: Asked) -> Call | None:
    """Return the last call of autograd.grad that gave None for a tensor, and none of which gave a
    gradient of it."""
    objects = {t.object_id for t in gradients.states(asked)}
    found = None
    for run in (b for b in gradients.graph.backwards if b.kind == "grad"):
        for tensor_id, gradient in run.returned:
            if gradients.graph.tensor[tensor_id].object_id in objects:
                if gradient is not None:
                    return None
                found = gradients.graph.call[run.call_id]
    return found
