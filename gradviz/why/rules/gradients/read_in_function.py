"""A custom Function computes with a tensor that it was not given. Knows no torch."""

from __future__ import annotations

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, NodeKind
from gradviz.graph.training import Did
from gradviz.why.evidence.paths import Asked
from gradviz.why.rules.gradients.gradient import Gradients
from gradviz.why.shown.explanation import Explanation


def read_in_function(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that forward of a custom Function reads it, or what was made of it, from an attribute, a
    closure or a container: only tensors among the arguments of apply() get an edge."""
    if gradients.hidden(asked) or _is_filled(gradients, asked):
        return None
    call = _reading(gradients, asked)
    if call is None:
        return None
    read = [i for i in call.inputs if i in gradients.connected(asked)]
    return gradients.answer(
        asked,
        Cause.CUT,
        "read_in_function",
        calls=[call],
        tensors=read[-1:],
        function=call.function.removesuffix(".apply"),
        value=gradients.words.name(read[-1]),
    )


def _is_filled(gradients: Gradients, asked: Asked) -> bool:
    """Say whether a recorded call added to its .grad: a backward inside of another one may."""
    states = gradients.states(asked)
    moments = gradients.training.moments.get(states[-1].object_id, ()) if states else ()
    return any(m.did is Did.ADDED for m in moments)


def _reading(gradients: Gradients, asked: Asked) -> Call | None:
    """Return the last custom Function of the loss that read what a gradient would take to it, and
    whose backward ran."""
    graph, connected = gradients.graph, gradients.connected(asked)
    ran = {i for b in graph.backwards for i in b.ran}
    nodes = (graph.node[i] for i in gradients.flow.nodes & ran)
    made_by = (n.call_id for n in nodes if n.kind is NodeKind.CUSTOM_FUNCTION)
    calls = (graph.call[i] for i in made_by if i in graph.call)
    reading = (call for call in calls if not connected.isdisjoint(call.inputs))
    return max(reading, key=lambda call: call.id, default=None)
