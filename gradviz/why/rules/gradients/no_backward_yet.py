"""It would get a gradient, and none has come: no backward ran, or what it brought was cleared.
Knows no torch."""

from __future__ import annotations

from gradviz.graph.findings import Cause
from gradviz.graph.records import Backward, Call
from gradviz.graph.training import Did
from gradviz.why.evidence.paths import CHECKED_IN_LOSS, Asked
from gradviz.why.rules.gradients.gradient import Gradients
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import several

_SEVERAL = 3  # backwards, from which on steps pass a tensor over


def cleared_unused(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that its .grad was cleared, and no step had used it."""
    if (cleared := gradients.cleared(asked)) is None:
        return None
    call, stored = cleared
    step = _step_of_others(gradients, call)
    if step is None and (passing := _steps_passing(gradients, asked)):
        return gradients.answer(
            asked,
            Cause.NO_BACKWARD_YET,
            "cleared_beside_steps",
            calls=[passing[-1], call],
            code=gradients.words.at(call),
            step=gradients.words.at(passing[-1]),
        )
    return gradients.answer(
        asked,
        Cause.NO_BACKWARD_YET,
        "cleared" if step is None else "taken_before_step",
        calls=[call],
        stored=stored,
        code=gradients.words.code(call),
        step=gradients.words.code(step),
        place=gradients.words.where(step),
    )


def _steps_passing(gradients: Gradients, asked: Asked) -> list[Call]:
    """Return the steps that moved others, where several backwards had brought this a gradient and
    none of these steps moved it: an optimizer was made without it."""
    moments = gradients.training.moments
    mine = moments.get(gradients.states(asked)[-1].object_id, ())
    added = [m for m in mine if m.did is Did.ADDED]
    if len(added) < _SEVERAL or any(m.did is Did.STEPPED for m in mine):
        return []
    return _steps_after(gradients, added[0].call)


def _step_of_others(gradients: Gradients, cleared: Call) -> Call | None:
    """Return the first step after a line of the program's own that set a gradient to None: it moved
    others."""
    if cleared.function != "grad" or cleared.bookkeeping:
        return None
    return next(iter(_steps_after(gradients, cleared)), None)


def _steps_after(gradients: Gradients, earlier: Call) -> list[Call]:
    """Return the steps that moved anything after a call, in their order."""
    every = (m for row in gradients.training.moments.values() for m in row)
    calls = {m.call.id: m.call for m in every if m.did is Did.STEPPED}
    return [call for i, call in sorted(calls.items()) if i > earlier.id]


def given_back(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that autograd.grad returned its gradient and filled no .grad."""
    objects = {t.object_id for t in gradients.states(asked)}
    runs = [b for b in gradients.graph.backwards if b.kind == "grad"]
    giving = [
        b for b in runs if any(gradients.graph.tensor[i].object_id in objects for i in _returned(b))
    ]
    if not giving:
        return None
    calls = [gradients.graph.call[giving[-1].call_id]]
    return gradients.answer(asked, Cause.NO_BACKWARD_YET, "given_back", calls=calls)


def not_asked_for(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that nothing but autograd.grad ran, and that it was asked for the gradients of
    others."""
    runs = gradients.graph.backwards
    if not runs or any(b.kind != "grad" for b in runs) or not gradients.reached(asked):
        return None
    giving = [run for run in runs if _returned(run)]
    if not giving:
        return None
    return gradients.answer(
        asked,
        Cause.NO_BACKWARD_YET,
        "not_asked_for",
        calls=[gradients.graph.call[giving[-1].call_id]],
        others=several([gradients.words.name(i) for i in _returned(giving[-1])]),
    )


def _returned(run: Backward) -> list[int]:
    """Return the tensors whose gradients autograd.grad returned: of the others it returned None."""
    return [i for i, gradient in run.returned if gradient is not None]


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
    maker = gradients.flow.maker(gradients.losses[-1]) if gradients.losses else None
    return gradients.answer(
        asked,
        Cause.NO_BACKWARD_YET,
        "not_from_loss_unsure" if gradients.unspent else "not_from_loss",
        calls=[] if maker is None else [maker],
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
    custom = gradients.custom_above(asked)
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
