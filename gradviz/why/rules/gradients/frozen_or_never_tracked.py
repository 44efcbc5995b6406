"""It asks for no gradient: frozen, never asked for, asked for too late, or made in inference_mode.
Knows no torch."""

from __future__ import annotations

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Cut, Tensor
from gradviz.why.evidence.paths import Asked
from gradviz.why.rules.gradients.gradient import Gradients
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say

WITH_GRADIENTS = ("float", "bfloat", "complex")  # dtypes, by how their names start


def not_tracked(gradients: Gradients, asked: Asked) -> bool:
    """Say whether it asks for no gradient now."""
    return not asked.requires_grad


def switched_off(gradients: Gradients, asked: Asked) -> list[Cut]:
    """Return where its requires_grad was switched off."""
    states = {t.id for t in gradients.states(asked)}
    return [c for c in gradients.facts.frozen_leaves if c.input_id in states]


def of_not_asking(gradients: Gradients, asked: Asked) -> Cause:
    """Name the cause of a tensor that asks for no gradient: a parameter is frozen."""
    frozen = asked.parameter or switched_off(gradients, asked)
    return Cause.FROZEN if frozen else Cause.NEVER_TRACKED


def made_in_inference(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that it was made in inference_mode."""
    if not asked.inference:
        return None
    return gradients.answer(asked, Cause.INFERENCE_TENSOR, "none")


def not_asking(gradients: Gradients, asked: Asked) -> Explanation:
    """Tell that its requires_grad is False."""
    states = gradients.states(asked)
    last_off = switched_off(gradients, asked)[-1:]
    dtype = (states[-1].dtype if states else None) or asked.dtype
    has_gradients = not dtype or dtype.startswith(WITH_GRADIENTS)
    maker_unseen = not gradients.recorded and not asked.parameter
    cause = of_not_asking(gradients, asked)
    return gradients.answer(
        asked,
        cause,
        "no_float"
        if not has_gradients
        else "not_asking"
        if cause is not Cause.NEVER_TRACKED
        else "in_module"
        if is_in_module(gradients, asked)
        else ("not_held" if is_left_out(gradients, asked) else "not_asking"),
        calls=gradients.calls_of_cuts(last_off) or made_by(gradients, asked),
        cuts=last_off,
        dtype=dtype,
        made=say("gradient.made_unseen") if maker_unseen else "",
    )


def made_by(gradients: Gradients, asked: Asked) -> list[Call]:
    """Return the call that made a tensor of the program's own: there it can ask for a gradient. A
    parameter is made by its layer."""
    states = [] if asked.parameter else gradients.states(asked)
    maker = gradients.facts.first_maker.get(states[0].object_id) if states else None
    return [maker] if maker else []


def is_in_module(gradients: Gradients, asked: Asked) -> bool:
    """Say whether a tensor that is no parameter is an attribute of a module that ran."""
    owner, dot, _ = asked.name.partition(".")
    return not asked.parameter and bool(dot) and owner in {m.name for m in gradients.graph.modules}


def is_left_out(gradients: Gradients, asked: Asked) -> bool:
    """Say whether a tensor that is no parameter is in none of the optimizers that are known."""
    states = gradients.states(asked)
    known = bool(states and gradients.graph.held) and not asked.parameter
    return known and states[-1].object_id not in gradients.graph.held


def asked_too_late(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that its requires_grad was switched on after it had been read on the way to the
    loss."""
    if not asked.is_leaf or not asked.requires_grad or gradients.reaches(asked):
        return None
    readers, states_read = first_reading(gradients, asked)
    if not states_read or any(t.requires_grad for t in states_read):
        return None
    return gradients.answer(
        asked,
        of_not_asking(gradients, asked),
        "too_late",
        calls=readers[:1],
        cuts=switched_off(gradients, asked)[-1:],
    )


def first_reading(gradients: Gradients, asked: Asked) -> tuple[list[Call], list[Tensor]]:
    """Return the calls on the way to the loss that read it, and its states that they read."""
    states = {t.id: t for t in gradients.states(asked)}
    readers = [
        c for c in gradients.readers(asked) if gradients.flow.behind & {*c.outputs} - states.keys()
    ]
    return readers, [states[i] for c in readers for i in c.inputs if i in states]
