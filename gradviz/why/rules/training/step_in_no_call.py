"""An optimizer whose step stands in a function that nothing called, beside others that step."""

from __future__ import annotations

import ast
from typing import Any

from gradviz.graph.findings import Cause
from gradviz.graph.records import Source
from gradviz.graph.training import Did
from gradviz.names.bindings import scope_of
from gradviz.names.position import callee_of
from gradviz.why.question.subjects import held_by
from gradviz.why.rules.silent.silent import Silent
from gradviz.why.rules.training.cleared_too_often import sent_in_vain
from gradviz.why.shown.explanation import Explanation


def step_in_no_call(asked: Silent) -> Explanation | None:
    """Tell of an optimizer that holds what backwards sent gradients to, and whose step stands in a
    function that did not run, where other optimizers stepped."""
    every = (m for row in asked.training.moments.values() for m in row)
    if asked.training.has_scaler or all(m.did is not Did.STEPPED for m in every):
        return None
    for name, optimizer in asked.named_optimizers.items():
        step = _step_that_did_not_run(asked, name.rpartition(".")[2])
        held = held_by([optimizer]).values()
        leaves = [i for p in held if (i := asked.object_of(p)) is not None]
        last = sent_in_vain(asked, leaves)
        if step is None or last is None:
            continue
        place, function = step
        return asked.answer(
            Cause.NOT_MOVED,
            "step_in_no_call",
            calls=[last],
            statements=[place],
            tensors=asked.states_of(leaves),
            optimizer=name,
            names=asked.names_of(leaves),
            step=place.code or "",
            place=asked.words.line_of(place),
            function=function,
            backward=asked.words.at(last),
        )
    return None


def _step_that_did_not_run(asked: Silent, own: str) -> tuple[Source, str] | None:
    """Return the one statement that steps what has a name, and the function in which it stands,
    where that did not run; None where it did, or several stand anywhere."""
    every = asked.statements.calls_anywhere("step")
    steps = [(place, call) for place, call in every if _is_of(call, own)]
    scope = scope_of(steps[0][1]) if len(steps) == 1 else None
    if not isinstance(scope, ast.FunctionDef) or asked.statements.functions_called(scope.name):
        return None
    return steps[0][0], scope.name


def _is_of(call: Any, own: str) -> bool:
    """Say whether a call is of a method of what has a name."""
    return isinstance(call.func, ast.Attribute) and callee_of(call.func.value) == own
