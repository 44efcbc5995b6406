"""Functions that torch.func transforms: what the failing line does that a transform cannot follow,
and what the transform is to be told."""

from __future__ import annotations

import ast
import re
from typing import Any

import torch

from gradviz.graph.findings import Cause
from gradviz.names.position import callee_of
from gradviz.names.statements import source_of
from gradviz.why.question.failed_line import FailedLine
from gradviz.why.rules.errors.failure import Failure, call_at
from gradviz.why.rules.errors.refused_values import Fields
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code

_VMAP = "torch/_functorch/vmap.py"
# how many dimensions the tensor had that was refused
_DIMENSIONS = re.compile(
    r"indices for tensor of dimension (\d+)|input \(got (\d+)D input\)"
    r"|Dimension out of range \(expected to be in range of \[-(\d+),"
)

_BATCH_NORMS = (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d, torch.nn.BatchNorm3d)
# what a checkpoint takes for itself
_OF_CHECKPOINT = ("use_reentrant", "preserve_rng_state", "determinism_check", "context_fn", "debug")
# what goes one way or another by a value
_CHOICES = (ast.If, ast.While, ast.IfExp, ast.Assert)
# what a transform gives beside its gradients, where the function returns more than the loss
_WITH_REST = {"grad": "(gradients, rest)", "grad_and_value": "(gradients, (loss, rest))"}


def differentiated_under_vmap(failure: Failure) -> Explanation | None:
    """Tell of a backward that was asked for in a function that vmap runs."""
    line = failure.failed
    if line is None or line.place is None or not line.ran_under(_VMAP):
        return None
    names = ("grad", "backward")
    calls = [c for c in line.nodes(ast.Call) if callee_of(c.func) in names]
    if not calls:
        return None
    name = "autograd.grad()" if callee_of(calls[0].func) == "grad" else "backward()"
    return failure.answer(
        Cause.IN_TRANSFORM,
        "differentiated",
        calls=[call_at(line.place)],
        also_at=map(call_at, _where_mapped(failure)),
        name=Code(name),
        more=(),
    )


def of_one_sample(line: FailedLine, failure: Failure) -> Fields:
    """Return the tensor that lacks the dimension of the samples, in a function that vmap runs."""
    found = _DIMENSIONS.search(failure.text)
    if found is None or not line.ran_under(_VMAP):
        return None
    count = int(next(filter(None, found.groups())))
    for node in line.nodes((ast.Name, ast.Attribute)):
        value = line.value(node)
        if isinstance(value, torch.Tensor) and value.dim() == count:
            places = _where_mapped(failure)
            told = {"given": Code(ast.unparse(node)), "shape": list(value.shape)}
            return {**told, **({"under": places[0]} if len(places) == 1 else {})}
    return None


def through_checkpoint(line: FailedLine, failure: Failure) -> Fields:
    """Return the checkpoint in a function that torch.func differentiates."""
    for call in line.nodes(ast.Call):
        if callee_of(call.func) == "checkpoint" and call.args:
            words = [*call.args[1:], *(k for k in call.keywords if k.arg not in _OF_CHECKPOINT)]
            given = ", ".join(map(ast.unparse, words))
            anew = f"{ast.unparse(call.args[0])}({given})"
            return {"call": Code(ast.unparse(call)), "anew": Code(anew)}
    return None


def _where_mapped(failure: Failure) -> list[Any]:
    """Return where the program calls vmap."""
    nodes = [] if failure.statements is None else failure.statements.nodes(ast.Call)
    return [source_of(file, node) for file, node in nodes if callee_of(node.func) == "vmap"]


def decided_by_value(line: FailedLine, failure: Failure) -> Fields:
    """Return nothing more, where what raised is a condition; None where it is none."""
    node: Any = next(iter(line.parts), None)
    if isinstance(node, _CHOICES):
        return {}
    while isinstance(node, ast.expr):
        above = getattr(node, "parent", None)
        if getattr(above, "test", None) is node:
            return {}
        node = above
    return None


def of_a_batch_norm(line: FailedLine, failure: Failure) -> Fields:
    """Return nothing more, where a batch norm counts its batches; None where something else
    writes."""
    return {} if any(line.raised_by(norm, "forward") for norm in _BATCH_NORMS) else None


def with_randomness(line: FailedLine, failure: Failure) -> Fields:
    """Return the program's one call of vmap, and the same one with randomness allowed."""
    return _with_word(failure, ("vmap",), "randomness='different'")


def with_rest(line: FailedLine, failure: Failure) -> Fields:
    """Return the program's one transform that differentiates, and the same one that hands on what
    the function returns beside its loss."""
    told = _with_word(failure, tuple(_WITH_REST), "has_aux=True")
    return told and {**told, "result": Code(_WITH_REST[told["name"]])}


def _with_word(failure: Failure, names: tuple[str, ...], word: str) -> dict[str, Any] | None:
    """Return the one call of a function with one of some names, where it stands, and the same call
    with one more argument; None where there are several or none."""
    nodes = [] if failure.statements is None else failure.statements.nodes(ast.Call)
    calls = [(file, node) for file, node in nodes if callee_of(node.func) in names]
    if len(calls) != 1 or any(k.arg == word.split("=")[0] for k in calls[0][1].keywords):
        return None
    file, call = calls[0]
    code = ast.unparse(call)
    return {
        "name": callee_of(call.func),
        "call": Code(code),
        "anew": Code(f"{code[:-1]}, {word})"),
        "at": source_of(file, call),
    }
