"""Another loss trains a tensor, and this one is kept off it or does not use it. Knows no torch."""

from __future__ import annotations

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call
from gradviz.graph.training import Did
from gradviz.why.evidence.paths import Asked
from gradviz.why.rules.gradients.cut import cutter, mend_of, to_mend
from gradviz.why.rules.gradients.frozen_or_never_tracked import first_reading, switched_off
from gradviz.why.rules.gradients.gradient import Gradients
from gradviz.why.shown.explanation import Explanation


def trained_by_another(gradients: Gradients, asked: Asked) -> bool:
    """Say whether no path leads to it from this loss, and it has its gradient from another, or
    had it until a step had used it."""
    if not gradients.should_be_filled(asked) or not gradients.other_runs(asked):
        return False
    cleared = gradients.cleared(asked)
    return asked.grad != "none" or (cleared is not None and gradients.stepped(asked, cleared[0]))


def untrained_by_others(gradients: Gradients, asked: Asked) -> bool:
    """Say whether no path leads to it, its .grad would be kept, and no other loss trains it."""
    return gradients.should_be_filled(asked) and not trained_by_another(gradients, asked)


def kept_from_loss(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that cuts stand between this loss and it, and another loss trains it."""
    cuts = to_mend(gradients, gradients.flow.separating(asked.tensor_id))
    runs = gradients.other_runs(asked)
    if not cuts:
        return None
    return gradients.answer(
        asked,
        Cause.KEPT_OFF,
        "kept_from",
        calls=gradients.calls_of_cuts(cuts),
        cuts=cuts,
        cutter=cutter(gradients, cuts[0]),
        others=gradients.run_words(runs),
        mend=mend_of(gradients, cuts),
    )


def kept_and_trained(gradients: Gradients, asked: Asked, kept: Explanation) -> Explanation:
    """Tell that another loss trains it, and that this one is kept off as it should be."""
    fields = kept.finding.fields
    return gradients.answer(
        asked,
        Cause.HEALTHY,
        "kept_and_trained",
        loss=kept.finding.loss,
        calls=kept.finding.calls,
        cuts=kept.cuts,
        others=fields["others"],
        cutter=fields["cutter"],
        checked=("frozen", "never_tracked"),
    )


def frozen_for_loss(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that it was frozen while this loss was computed, and that another loss trains it: of
    two networks that learn in turns one is frozen, for the time of the other's."""
    readers, states_read = first_reading(gradients, asked)
    off = switched_off(gradients, asked)[-1:]
    # what went in by a number earlier, as the norm that spectral_norm keeps, may have been trained
    if not off or not states_read or states_read[-1].requires_grad:
        return None
    return gradients.answer(
        asked,
        Cause.HEALTHY,
        "frozen_for",
        calls=readers[-1:],
        others=gradients.run_words(gradients.other_runs(asked)),
        checked=("cut", "never_tracked"),
    )


def cleared_in_between(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that another loss brought it a gradient, which was cleared before the step that the
    backwards of both stand before: no step ever used one of it."""
    lost = _lost(gradients, asked)
    if lost is None or not _before_one_step(gradients, *lost):
        return None
    other, clear = lost
    return gradients.answer(
        asked,
        Cause.CLEARED_TOO_OFTEN,
        "between_losses",
        calls=[clear, other],
        clear=gradients.words.code(clear),
        other=gradients.words.name(other.inputs[0]),
        backward=gradients.words.code(other),
    )


def _lost(gradients: Gradients, asked: Asked) -> tuple[Call, Call] | None:
    """Return the last backward whose gradients were cleared unused, and the call that cleared them,
    of a tensor that no step has moved."""
    states, training = gradients.states(asked), gradients.training
    moments = training.moments.get(states[-1].object_id, []) if states else []
    lost = [m for m in moments if m.did is Did.ADDED and m.run in training.unused]
    if not lost or any(m.did is Did.STEPPED for m in moments) or not lost[-1].call.inputs:
        return None
    return lost[-1].call, training.unused[lost[-1].run or 0]


def _before_one_step(gradients: Gradients, backward: Call, clear: Call) -> bool:
    """Say whether another backward follows on the call that cleared what one had brought, and the
    next step stands after both."""
    later = (b.call_id for b in gradients.graph.backwards if b.call_id > clear.id)
    following = min(later, default=backward.id)
    steps = (step.id for step in gradients.training.step_using.values())
    next_step = min((i for i in steps if i > backward.id), default=-1)
    return clear.id < following < next_step


def of_another_loss(gradients: Gradients, asked: Asked) -> Explanation:
    """Tell that another loss trains it, and this one does not use it."""
    runs = gradients.other_runs(asked)
    return gradients.answer(
        asked,
        Cause.HEALTHY,
        "of_another",
        calls=[gradients.graph.call[b.call_id] for b in runs],
        others=gradients.run_words(runs),
        checked=("cut", "frozen", "never_tracked"),
    )
