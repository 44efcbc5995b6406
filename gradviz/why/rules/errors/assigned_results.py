"""A computed tensor that was to take the name of a parameter, as the weights that another network
makes. Reads what names stand for, keeps nothing of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import torch

from gradviz.graph.findings import Cause
from gradviz.names.position import dotted, is_literal
from gradviz.why.question.failed_line import FailedLine
from gradviz.why.rules.errors.failure import LINE, Failure, call_at
from gradviz.why.shown.explanation import Explanation
from gradviz.words.plain import visible
from gradviz.words.speech import Code


def result_of_another(failure: Failure) -> Explanation | None:
    """Tell of a result that something else computes, and that was to take the name of a parameter:
    with the name free it can, and the gradient goes on to what computed it."""
    line, starved = failure.failed, failure.starved
    refused = None if starved is None else starved.assigned
    if line is None or refused is None or not refused.is_result or not refused.was_there:
        return None
    target = _target(line.statement)
    if refused.is_of_itself or target is None:
        return None
    taking = [line.statement, *_taking_below(line, target)]
    if any(_reads_what_it_takes(statement) for statement in taking):
        return None
    places = [line.source(statement) for statement in taking]
    return failure.answer(
        Cause.NOT_A_PARAMETER,
        "result_of_another",
        calls=map(call_at, places),
        more=(),
        name=refused.name,
        deletes=[Code(f"del {ast.unparse(_target(statement))}") for statement in taking],
        lines=[
            failure.words.at(call_at(place), Code(visible(place.code or "", LINE)))
            for place in places
        ],
    )


def _target(statement: Any) -> Any:
    """Return the attribute of a variable that alone a statement gives a value; None of any other
    statement."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    is_attribute = len(targets) == 1 and isinstance(targets[0], ast.Attribute)
    return targets[0] if is_attribute and dotted(targets[0]) is not None else None


def _taking_below(line: FailedLine, first: Any) -> Iterator[Any]:
    """Yield the statements below the failing one, of its own block, that give the name of another
    parameter to what they compute."""
    block = line.statement.parent
    for other in getattr(block, "body", []):
        target = _target(other)
        is_below = other.lineno > line.statement.lineno
        if target is None or not is_below or ast.unparse(target) == ast.unparse(first):
            continue
        if _is_parameter(line, target) and not _is_allowed(other.value):
            yield other


def _is_parameter(line: FailedLine, target: ast.Attribute) -> bool:
    """Say whether a name is that of a parameter of a module."""
    owner: Any = line.value(target.value)
    if not issubclass(type(owner), torch.nn.Module):
        return False
    return issubclass(type(line.value(target)), torch.nn.Parameter)


def _is_allowed(given: ast.expr) -> bool:
    """Say whether a module takes what stands there under the name of a parameter, as it is
    written: ``None``, or a call of ``nn.Parameter``."""
    called = dotted(given.func) if isinstance(given, ast.Call) else None
    return is_literal(given) or (called or "").endswith("Parameter")


def _reads_what_it_takes(statement: Any) -> bool:
    """Say whether a statement computes the value of a name from what stands under that name, or
    from its owner as a whole."""
    target = _target(statement)
    nodes = [node for node in ast.walk(statement.value) if isinstance(node, ast.expr)]
    parts = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    whole = [ast.unparse(node) for node in nodes if id(node) not in parts]
    return ast.unparse(target.value) in whole or ast.unparse(target) in map(ast.unparse, nodes)
