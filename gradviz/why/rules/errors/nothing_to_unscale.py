"""A step through a scaler whose optimizer has no gradient at all: what kept them off. Reads values
that variables hold, runs none of the program's code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import torch

from gradviz.graph.records import Call
from gradviz.graph.training import Did, Training
from gradviz.why.question.failed_line import FailedLine
from gradviz.why.rules.errors.failure import Failure
from gradviz.why.rules.errors.made_in_inference import head_that_switched
from gradviz.why.rules.errors.refused_values import Fields
from gradviz.words.speech import Code


def frozen(line: FailedLine, failure: Failure) -> Fields:
    """Return an optimizer all of whose parameters are frozen, and its scaler."""
    told, optimizer = _stepped(line)
    parameters = [p for group in optimizer.param_groups for p in group["params"]] if told else []
    return told if parameters and not any(p.requires_grad for p in parameters) else None


def cleared(line: FailedLine, failure: Failure) -> Fields:
    """Return the call that cleared the gradients of an optimizer between its backward and the
    step."""
    told, _ = _stepped(line)
    moments = Training(failure.facts, {}).moments if told else {}
    every = [moments.get(leaf, []) for leaf in _held(failure, moments)]
    clearing = [m[-1].call for m in every if [x.did for x in m[-2:]] == [Did.ADDED, Did.CLEARED]]
    if told is None or not clearing:
        return None
    clear = clearing[0]
    return {**told, "clear": failure.code(clear), "at": clear.source}


def read_without(line: FailedLine, failure: Failure) -> Fields:
    """Return the call that computed last with the parameters of an optimizer, with gradients
    off."""
    told, _ = _stepped(line)
    moments = Training(failure.facts, {}).moments if told else {}
    last = next(_readers(failure, _held(failure, moments)), None)
    if told is None or last is None or last.grad_mode:
        return None
    head = head_that_switched(failure, last)
    places = [] if head is None else [head]
    return {**told, "reader": failure.written(last), "at": [*places, last.source]}


def unreached(line: FailedLine, failure: Failure) -> Fields:
    """Return an optimizer none of whose parameters has a gradient, and its scaler."""
    return _stepped(line)[0]


def _stepped(line: FailedLine) -> tuple[dict[str, Any] | None, Any]:
    """Return the scaler and the optimizer that it steps, as the line writes them, with the
    optimizer; None where the line shows none."""
    for call in line.nodes(ast.Call):
        given = line.value(call.args[0]) if call.args else None
        if isinstance(call.func, ast.Attribute) and isinstance(given, torch.optim.Optimizer):
            words = {"scaler": call.func.value, "optimizer": call.args[0], "step": call}
            return {name: Code(ast.unparse(word)) for name, word in words.items()}, given
    return None, None


def _held(failure: Failure, moments: Any) -> set[int]:
    """Return what the optimizer of the line has: of those known, the only one that has no gradient;
    nothing where several have none."""
    without = [held for held in failure.optimizers if not any(map(_has, map(moments.get, held)))]
    return without[0] if len(without) == 1 else set()


def _has(moments: Any) -> bool:
    """Say whether a gradient is there: a step leaves it where it is."""
    return bool(moments) and moments[-1].did is not Did.CLEARED


def _readers(failure: Failure, held: set[int]) -> Iterator[Call]:
    """Yield the calls that computed with parameters, the last one first."""
    for call in reversed(failure.facts.ordinary_calls):
        if any(failure.graph.tensor[i].object_id in held for i in call.inputs):
            yield call
