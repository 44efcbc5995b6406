"""A part of a tensor, or another view of it, has no gradient: it was made beside the way to the
loss, which came from the whole. Knows no torch."""

from __future__ import annotations

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call
from gradviz.why.evidence.handed_on import KEEPING, computed
from gradviz.why.evidence.paths import Asked
from gradviz.why.rules.gradients.gradient import Gradients
from gradviz.why.rules.gradients.rebound_or_non_leaf import is_reached
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code, say


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


def part_read(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell of a result whose ``.grad`` is None, as it was only cut out of a leaf that has one:
    ``w[0].grad``."""
    maker, states = gradients.maker(asked), gradients.states(asked)
    if maker is None or not states or is_reached(gradients, asked):
        return None
    whole = gradients.graph.tensor[computed(gradients.facts, states[-1].id)]
    has_one = whole.is_leaf and whole.object_id in gradients.facts.leaves_sent_to
    if not has_one or whole.object_id == states[-1].object_id:
        return None
    name = gradients.words.name(whole.id)
    return gradients.answer(
        asked,
        Cause.NON_LEAF,
        "part_read",
        calls=[maker],
        tensors=[whole.id],
        checked=("cut", "never_tracked"),
        whole=name,
        anew=_read_of_whole(asked.name, name),
    )


def _read_of_whole(part: str, whole: str) -> str:
    """Return how the gradient of a part is read: of ``w[0]`` it is ``w.grad[0]``."""
    if part.startswith(f"{whole}["):
        return Code(f"{whole}.grad{part.removeprefix(whole)}")
    return say("gradient.same_of_its_grad", whole=whole)


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
