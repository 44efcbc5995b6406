"""Sums of several losses each of which is a mean over another number of targets. Read off steps and
the code. Knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from gradviz.graph.effects import CLASS_LOSSES
from gradviz.graph.records import Call, Source
from gradviz.graph.training import line_of
from gradviz.names.position import callee_of
from gradviz.names.statements import Statements, source_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.account.steps import SCALING, Steps
from gradviz.why.evidence.handed_on import plain_name

_MAKES = {"CrossEntropyLoss": "cross_entropy", "NLLLoss": "nll_loss"}
_KEEPS = SCALING | {"squeeze", "view", "reshape", "float", "to"}


def counted_means(steps: Steps, statements: Statements) -> Iterator[Remark]:
    """Tell of steps that used the sum of several backwards, the loss of each a mean over the
    targets that ``ignore_index`` leaves: one with few targets counts as much as one with many.

    Args:
        steps: of the recording.
        statements: the code that ran.
    """
    ignoring = dict(_ignoring(statements))
    for step in steps.steps if ignoring else ():
        several = [u for u in step.used if len({m.run for m in u.added}) > 1]
        every = [_class_loss(steps, m.call) for u in several[:1] for m in u.added]
        losses = [call for call in every if call is not None]
        if not losses or len(losses) < len(every) or len({line_of(c) for c in losses}) != 1:
            continue
        place = ignoring.get(plain_name(losses[-1].function))
        if place is None:
            continue
        fields = {
            "step": steps.step_name(step),
            "n": len(losses),
            "loss": steps.words.at(losses[-1]),
            "ignoring": place.code,
            "place": steps.words.line_of(place),
        }
        calls = (losses[-1], step.call)
        yield Remark(Weight.NOTABLE, "counted_means", fields, calls, statements=(place,))


def _class_loss(steps: Steps, backward: Call) -> Call | None:
    """Return the loss of classes on which, scaled by a number perhaps, backward was called."""
    tensor_id = next(iter(backward.inputs), None)
    while tensor_id is not None and (maker := steps.facts.maker.get(tensor_id)) is not None:
        function = plain_name(maker.function)
        if function in CLASS_LOSSES:
            return maker
        tensor_id = maker.inputs[0] if function in _KEEPS and len(maker.inputs) == 1 else None
    return None


def _ignoring(statements: Statements) -> Iterator[tuple[str, Source]]:
    """Yield the functions of losses that leave targets out and take the mean of the others, each
    with where the code says so."""
    for file, node in statements.nodes(ast.Call):
        name = callee_of(node.func) or ""
        function = _MAKES.get(name, name)
        given: dict[str | None, Any] = {k.arg: k.value for k in node.keywords}
        is_mean = ast.unparse(given.get("reduction", ast.Constant("mean"))) == "'mean'"
        if function in CLASS_LOSSES and "ignore_index" in given and is_mean:
            yield function, source_of(file, node)
