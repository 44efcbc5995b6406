"""Zeros that a call of the program wrote into a gradient which the last backward had filled: a mask
that covers all that came. Knows no torch."""

from __future__ import annotations

from itertools import takewhile

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call
from gradviz.graph.training import Did
from gradviz.why.evidence.paths import Asked
from gradviz.why.rules.gradients.gradient import Gradients
from gradviz.why.shown.explanation import Explanation


def masked(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell of the one line on a ``.grad`` that wrote it between the last backward and its step,
    where the backward had brought something else than zeros, and nothing else is left of it."""
    call = _only_change(gradients, asked)
    if call is None or call.bookkeeping or not gradients.something_arrived(asked):
        return None
    if ".grad" not in gradients.words.statement(call):
        return None
    return gradients.answer(
        asked,
        Cause.ZERO_GRADIENT,
        "masked",
        calls=[call],
        checked=("cut", "frozen", "zero_slope"),
        code=gradients.words.statement(call),
    )


def _only_change(gradients: Gradients, asked: Asked) -> Call | None:
    """Return the one call that changed a gradient after the last backward, which had found none
    there, and before its step."""
    states = gradients.states(asked)
    moments = gradients.training.moments.get(states[-1].object_id, ()) if states else ()
    added = [i for i, moment in enumerate(moments) if moment.did is Did.ADDED]
    if not added or moments[added[-1]].onto:
        return None
    later = moments[added[-1] + 1 :]
    changes = [m.call for m in takewhile(lambda m: m.did is not Did.STEPPED, later)]
    return changes[0] if len(changes) == 1 and later[0].did is Did.CHANGED else None
