"""It would get a gradient, and none has come: no backward ran, or what it brought was cleared.
Knows no torch."""

from __future__ import annotations

from gradviz.graph.findings import Cause
from gradviz.graph.records import NodeKind
from gradviz.why.explanation import Explanation
from gradviz.why.paths import CHECKED_IN_LOSS, Asked
from gradviz.why.rules.gradients.gradient import Gradients


def cleared_unused(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that its .grad was cleared, and no step had used it."""
    if (cleared := gradients.cleared(asked)) is None:
        return None
    call, stored = cleared
    return gradients.answer(asked, Cause.NO_BACKWARD_YET, "cleared", calls=[call], stored=stored)


def given_back(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that autograd.grad returned its gradient and filled no .grad."""
    objects = {t.object_id for t in gradients.states(asked)}
    runs = [b for b in gradients.graph.backwards if b.kind == "grad"]
    giving = [
        b
        for b in runs
        if any(gradients.graph.tensor[i].object_id in objects for i, _ in b.returned)
    ]
    if not giving:
        return None
    calls = [gradients.graph.call[giving[-1].call_id]]
    return gradients.answer(asked, Cause.NO_BACKWARD_YET, "given_back", calls=calls)


def not_run(gradients: Gradients, asked: Asked) -> bool:
    """Say whether a path leads to it from a loss whose backward was not recorded."""
    return gradients.reached(asked) and gradients.roots.isdisjoint(gradients.facts.ran)


def used_up_graph(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that another backward from the loss would raise."""
    if not gradients.spent:
        return None
    return gradients.answer(
        asked,
        Cause.NOT_KNOWN,
        "used_up" if gradients.used_up else "saved_written",
        checked=CHECKED_IN_LOSS[1:],
        spent=gradients.spent,
    )


def no_backward_from_loss(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that no backward has run from the loss."""
    if not gradients.recorded:
        return None
    return gradients.answer(
        asked,
        Cause.NO_BACKWARD_YET,
        "not_from_loss_unsure" if gradients.unspent else "not_from_loss",
        unsure=gradients.unspent,
    )


def untrained(gradients: Gradients, asked: Asked) -> bool:
    """Say whether it asks for a gradient, and no backward and no loss were seen."""
    return gradients.recorded and not gradients.graph.backwards and not gradients.losses


def no_backward_at_all(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that no backward was recorded."""
    if not gradients.recorded or gradients.graph.backwards:
        return None
    checked = ("requires_grad", "non_leaf")
    return gradients.answer(asked, Cause.NO_BACKWARD_YET, "none_recorded", checked=checked)


def unseen_path(gradients: Gradients, asked: Asked) -> bool:
    """Say whether a path leads to it, and nobody recorded what ran."""
    return not gradients.recorded and gradients.reached(asked)


def custom_above(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that a custom Function may have returned None towards it."""
    above = [gradients.graph.node[i] for i in gradients.above(asked) if i in gradients.graph.node]
    custom = [node for node in above if node.kind is NodeKind.CUSTOM_FUNCTION]
    if not custom:
        return None
    return gradients.answer(
        asked,
        Cause.NOT_KNOWN,
        "custom_above",
        checked=("cut", "frozen", "never_tracked"),
        node=custom[0].name,
        record=gradients.record,
    )


def not_run_or_cleared(gradients: Gradients, asked: Asked) -> Explanation:
    """Tell that backward has not run, or its .grad was cleared since."""
    return gradients.answer(
        asked,
        Cause.NO_BACKWARD_YET,
        "not_run_or_cleared_unsure" if gradients.unspent else "not_run_or_cleared",
        unsure=gradients.unspent,
    )
