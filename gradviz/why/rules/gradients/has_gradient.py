"""There is a gradient, or was one until it was cleared. Knows no torch."""

from __future__ import annotations

from gradviz.graph.findings import Cause
from gradviz.graph.training import Did
from gradviz.why.evidence.paths import CHECKED_IN_LOSS, Asked
from gradviz.why.evidence.zero_flow import brought_zeros
from gradviz.why.rules.gradients.frozen_or_never_tracked import switched_off
from gradviz.why.rules.gradients.gradient import Gradients
from gradviz.why.shown.explanation import Explanation


def unreadable(gradients: Gradients, asked: Asked) -> Explanation:
    """Tell that its values are not shown."""
    return gradients.answer(
        asked, Cause.NOT_KNOWN, "not_shown", checked=("no_gradient",), record=gradients.record
    )


def leftover(gradients: Gradients, asked: Asked) -> Explanation:
    """Tell that it is frozen, and its gradient is from before."""
    froze_later = bool(gradients.losses) and gradients.flow.filled(asked.tensor_id)
    if not froze_later:
        return gradients.answer(asked, Cause.FROZEN, "leftover")
    filling = gradients.losses_filling(asked)
    form = "frozen_since" if gradients.is_moved(asked) else "frozen_now"
    return gradients.answer(asked, Cause.FROZEN, form, loss=filling)


def frozen_in_turns(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that a step used the gradient, of what is switched on for its own loss and off again, as
    the networks of a GAN are."""
    if not gradients.is_moved(asked):
        return None
    object_id = gradients.states(asked)[-1].object_id
    if not gradients.facts.was_switched_on(object_id):
        return None
    backward = gradients.training.sums_used[object_id][-1].added[-1].call
    return gradients.answer(
        asked,
        Cause.HEALTHY,
        "frozen_in_turns",
        calls=[backward],
        checked=("never_tracked",),
        place=gradients.words.where(backward),
    )


def emptied(gradients: Gradients, asked: Asked) -> bool:
    """Say whether a call cleared its .grad, where there was something else than zeros, and no
    backward filled it since."""
    cleared = gradients.cleared(asked)
    if cleared is None or gradients.filled_since(asked, cleared[0]):
        return False
    end = gradients.node_of(asked)
    runs = gradients.facts.runs_of_node.get(end[0], ()) if end is not None else ()
    return not (runs and all(brought_zeros(run) for _, run in runs))


def used_then_zeroed(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that a step used the gradient before zeros were written over it."""
    return used(gradients, asked, ("cut", "frozen", "zero_slope"))


def used_then_cleared(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that a step used the gradient before it was taken away."""
    return used(gradients, asked, CHECKED_IN_LOSS)


def used_earlier(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that a step used a gradient of it, and a later one was cleared before the next step: a
    loss that is to train others sends it one, too."""
    training = gradients.training
    if gradients.cleared(asked) is None or not gradients.is_moved(asked):
        return None
    object_id = gradients.states(asked)[-1].object_id
    runs = [m.run for m in training.moments[object_id] if m.did is Did.ADDED]
    if runs[-1] not in training.step_using:
        return None
    backward = training.sums_used[object_id][-1].added[-1].call
    return gradients.answer(
        asked,
        Cause.HEALTHY,
        "used_earlier",
        calls=[backward],
        checked=CHECKED_IN_LOSS,
        place=gradients.words.where(backward),
    )


def trained_before(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that an earlier iteration of the same loss trained it: the last one took another way."""
    backward = gradients.used_before(asked)
    if backward is None:
        return None
    call = gradients.set_to_none(asked)
    return gradients.answer(
        asked,
        Cause.HEALTHY,
        "set_aside" if call else "trained_before",
        calls=[call or backward],
        checked=("frozen", "never_tracked"),
        code=gradients.words.code(call),
        place=gradients.words.where(backward),
    )


def trained_in_turn(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that its requires_grad is switched on and off in turn, and that a step used the gradient
    that it got while that was on."""
    states = gradients.states(asked)
    piles = gradients.training.sums_used.get(states[-1].object_id, ()) if states else ()
    trained = [pile.added[-1].call for pile in piles]
    off = [cut.call_id for cut in switched_off(gradients, asked)]
    if not any(trained[0].id < at < trained[-1].id < off[-1] for at in off if trained):
        return None
    backward, switch = trained[-1], gradients.graph.call[off[-1]]
    return gradients.answer(
        asked,
        Cause.HEALTHY,
        "trained_in_turn",
        calls=[backward, switch],
        code=gradients.words.at(switch),
        place=gradients.words.where(backward),
    )


def used(gradients: Gradients, asked: Asked, checked: tuple[str, ...]) -> Explanation | None:
    """Say that all is well where a step came between the last backward and the clearing."""
    cleared = gradients.cleared(asked)
    if cleared is None or not gradients.stepped(asked, cleared[0]):
        return None
    return gradients.answer(asked, Cause.HEALTHY, "done", calls=[cleared[0]], checked=checked)


def not_finite(gradients: Gradients, asked: Asked) -> Explanation:
    """Tell that it holds NaN or inf."""
    return gradients.answer(asked, Cause.NAN, "not_finite")


def arrived(gradients: Gradients, asked: Asked) -> Explanation:
    """Tell that it holds ordinary numbers."""
    return gradients.answer(
        asked,
        Cause.HEALTHY,
        "arrived" if gradients.recorded else "arrived_unseen",
        checked=("no_gradient", "all_zeros", "nan"),
        values=asked.preview,
    )
