"""Parameters that are float16, whose gradients a scaler refuses: what made them so. Reads values
that variables hold, runs none of the program's code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import torch

from gradviz.graph.records import Source
from gradviz.names.position import callee_of
from gradviz.why.code.reading import value_of
from gradviz.why.question.failed_line import FailedLine
from gradviz.why.rules.errors.failure import Failure
from gradviz.why.rules.errors.refused_values import Fields
from gradviz.words.speech import Code

# methods that make a tensor, or all of a module, float16
_CASTING = ("half", "to", "type", "type_as")


def gradients_of_half(line: FailedLine, failure: Failure) -> Fields:
    """Return what made the parameters of an optimizer float16, and the scaler that met their
    gradients; None where that is not found."""
    scaler, word = _scaled(line)
    half = _half_parameters(line, word)
    recorded = _recorded_casts(failure) if scaler is not None and half else {}
    if recorded:
        made = list(dict.fromkeys(recorded.values()))
        return {**_told(scaler, word), "made": made, "at": [*recorded]}
    for place, owner, call in _halvings(failure) if scaler is not None and half else ():
        targets = getattr(getattr(call, "parent", None), "targets", [])
        words = [owner, *targets]
        if any(_has_one(value_of(w, frame.names), half) for w in words for frame in line.frames):
            return {**_told(scaler, word), "made": [_cast_alone(call)], "at": place}
    return None


def _recorded_casts(failure: Failure) -> dict[Source, Code]:
    """Return the statements under which parameters of an optimizer became float16, each with the
    part of it that is to be left out."""
    tensors, found = failure.graph.tensor, dict[Source, Code]()
    held = set[int]().union(*failure.optimizers)
    for call in failure.graph.calls:
        if call.function != "data" or len(call.inputs) != 2 or call.source is None:
            continue
        before, after = (tensors[i] for i in call.inputs)
        if before.object_id in held and before.dtype != "float16" == after.dtype:
            found.setdefault(call.source, _cast_in(failure, call.source))
    return found


def _cast_in(failure: Failure, place: Source) -> Code:
    """Return the call of a statement that makes float16 of something; the whole of it, where that
    is not seen."""
    found = None if failure.statements is None else failure.statements.node_at(place)
    for call in ast.walk(found[1]) if found is not None else ():
        method = call.func if isinstance(call, ast.Call) else None
        if isinstance(method, ast.Attribute) and method.attr in _CASTING:
            return _cast_alone(call)
    return Code(place.code or "")


def _cast_alone(call: Any) -> Code:
    """Return the code of a cast that is to be left out: without what is cast, where a statement
    goes on with that."""
    code = ast.unparse(call)
    is_statement = isinstance(getattr(call, "parent", None), ast.Expr)
    return Code(code if is_statement else code.removeprefix(ast.unparse(call.func.value)))


def gradients_of_half_unseen(line: FailedLine, failure: Failure) -> Fields:
    """Return an optimizer of float16 parameters, and the scaler that met their gradients."""
    scaler, word = _scaled(line)
    return _told(scaler, word) if _half_parameters(line, word) else None


def _told(scaler: ast.expr | None, optimizer: ast.expr | None) -> dict[str, Any]:
    """Return a scaler and an optimizer as the line writes them."""
    words = {"scaler": scaler, "optimizer": optimizer}
    return {name: Code(ast.unparse(word)) for name, word in words.items() if word is not None}


def _scaled(line: FailedLine) -> tuple[ast.expr | None, ast.expr | None]:
    """Return the scaler of a line, and the optimizer that it was given."""
    for call in line.nodes(ast.Call):
        given = line.value(call.args[0]) if call.args else None
        if isinstance(call.func, ast.Attribute) and isinstance(given, torch.optim.Optimizer):
            return call.func.value, call.args[0]
    return None, None


def _half_parameters(line: FailedLine, word: ast.expr | None) -> list[torch.Tensor]:
    """Return the float16 parameters of the optimizer that an expression is."""
    optimizer = None if word is None else line.value(word)
    groups = optimizer.param_groups if isinstance(optimizer, torch.optim.Optimizer) else ()
    return [p for group in groups for p in group["params"] if p.dtype is torch.float16]


def _halvings(failure: Failure) -> Iterator[tuple[Any, ast.expr, ast.Call]]:
    """Yield the calls that make float16 of what they are called on, with their places."""
    code = failure.statements
    for place, call in () if code is None else (*code.calls("half"), *code.calls("to")):
        if isinstance(call.func, ast.Attribute):
            words = [*call.args, *(keyword.value for keyword in call.keywords)]
            if call.func.attr == "half" or {"float16", "half"} & {callee_of(w) for w in words}:
                yield place, call.func.value, call


def _has_one(model: object, parameters: list[torch.Tensor]) -> bool:
    """Say whether a module has one of some parameters."""
    if not isinstance(model, torch.nn.Module):
        return False
    return any(own is parameter for own in model.parameters() for parameter in parameters)
