"""Targets that a loss refuses for their shape or dtype: what the failing line gave it, and what to
write there. Reads values that variables hold, runs none of the program's code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import torch

from gradviz.names.position import callee_of
from gradviz.why.question.failed_line import FailedLine
from gradviz.why.rules.errors.failure import Failure
from gradviz.why.rules.errors.refused_values import Fields
from gradviz.words.speech import Code

_TWO_SIZES = re.compile(r"[tT]arget size \(torch\.Size\(\[([\d, ]*)\]\)\).*?\[([\d, ]*)\]")
_ROWS = ("one_hot", "zeros", "zeros_like", "eye", "to_categorical")
_MAKERS = ("tensor", "as_tensor", "FloatTensor")


def one_column_more(line: FailedLine, failure: Failure) -> Fields:
    """Return a target that has all its numbers, in another shape: a dimension of size 1 is there on
    one side only."""
    found = _TWO_SIZES.search(failure.text)
    sizes = found.groups() if found else ("", "")
    target_shape, shape = ([int(n) for n in re.findall(r"\d+", size)] for size in sizes)
    if not shape or [n for n in target_shape if n != 1] != [n for n in shape if n != 1]:
        return None
    for _, target in _scores_and_targets(line):
        word = ast.unparse(target)
        return {
            "target": Code(word),
            "target_shape": target_shape,
            "shape": shape,
            "anew": Code(f"{word}.{_reshaped(target_shape, shape)}"),
        }
    return None


def _reshaped(given: list[int], wanted: list[int]) -> str:
    """Return the call that gives a tensor of one shape another one."""
    if wanted == [*given, 1]:
        return "unsqueeze(-1)"
    if given == [*wanted, 1]:
        return "squeeze(-1)"
    return f"reshape({', '.join(map(str, wanted))})"


def classes_in_a_column(line: FailedLine, failure: Failure) -> Fields:
    """Return the classes that stand in a dimension of size 1; None where each sample has several,
    or that is not known."""
    for _, target in _scores_and_targets(line):
        given = _shape_of(line, failure, target)
        if given is not None and len(given) > 1 and given[1] == 1:
            word = ast.unparse(target)
            return {"target": Code(word), "shape": given, "anew": Code(f"{word}.squeeze(1)")}
    return None


def whole_probabilities(line: FailedLine, failure: Failure) -> Fields:
    """Return a target that has a number for each class and sample, as whole numbers; None where it
    has one dimension, and so may be classes."""
    for _, target in _scores_and_targets(line):
        given = _shape_of(line, failure, target)
        if given is not None and len(given) > 1:
            word = ast.unparse(target)
            return {"target": Code(word), "shape": given, "anew": Code(f"{word}.float()")}
    return None


def one_class_as_a_row(line: FailedLine, failure: Failure) -> Fields:
    """Return a target that is the class of one sample as a row of 0 and one 1; None where its
    numbers may be the classes of several samples."""
    for _, target in _scores_and_targets(line):
        value = line.value(target)
        is_row = isinstance(value, torch.Tensor) and value.dim() == 1 and len(value) > 2
        if not is_row or sorted(value.tolist())[-2:] != [0, 1] or value.min() < 0:
            continue
        behind = line.behind(target)
        if any(_fills_a_row(node) for stands in behind for node in ast.walk(stands.node)):
            return {
                "target": Code(ast.unparse(target)),
                "n": len(value),
                "at": behind[0].source,
            }
    return None


def _fills_a_row(node: ast.AST) -> bool:
    """Say whether a call makes a row for one class, or the zeros of one."""
    return isinstance(node, ast.Call) and callee_of(node.func) in _ROWS


def tensor_of_rows(line: FailedLine, failure: Failure) -> Fields:
    """Return the list of tensors of one shape that was to become a tensor by their numbers."""
    for call in line.nodes(ast.Call):
        given = line.value(call.args[0]) if call.args else None
        if callee_of(call.func) not in _MAKERS or not isinstance(given, (list, tuple)):
            continue
        shapes = {part.shape if isinstance(part, torch.Tensor) else None for part in given}
        if len(shapes) == 1 and None not in shapes:
            word = ast.unparse(call.args[0])
            call_code = Code(ast.unparse(call))
            return {"given": Code(word), "call": call_code, "anew": Code(f"torch.stack({word})")}
    return None


def pixels_for_probabilities(line: FailedLine, failure: Failure) -> Fields:
    """Return the targets of a loss of probabilities that are whole numbers up to 255; None where
    they are other values."""
    told = targets_beyond(line, failure)
    return told if told is not None and told["is_pixels"] else None


def targets_beyond(line: FailedLine, failure: Failure) -> Fields:
    """Return the targets of a loss of probabilities, with the lowest and the highest value."""
    for _, target in _scores_and_targets(line):
        names = [n for n in ast.walk(target) if isinstance(n, (ast.Name, ast.Attribute))]
        values = [v for v in map(line.value, names) if isinstance(v, torch.Tensor) and v.numel()]
        for value in values[:1]:
            low, high = float(value.min()), float(value.max())
            if low >= 0 and high <= 1:
                return None
            word = ast.unparse(target)
            return {
                "target": Code(word),
                "low": f"{low:g}",
                "high": f"{high:g}",
                "anew": Code(f"{word} / 255"),
                "is_pixels": low >= 0 and 15 < high <= 255 and bool((value == value.round()).all()),
            }
    return None


def _scores_and_targets(line: FailedLine) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the first two arguments of each call in the failing line, the one that raised first."""
    for call in line.nodes(ast.Call):
        if len(call.args) >= 2 and not any(isinstance(a, ast.Starred) for a in call.args[:2]):
            yield call.args[0], call.args[1]


def _shape_of(line: FailedLine, failure: Failure, target: ast.expr) -> list[int] | None:
    """Return the shape of the target: of the variable, or of what the index of one gave."""
    value = line.value(target)
    if isinstance(value, torch.Tensor):
        return list(value.shape)
    code = ast.unparse(target)
    tensors = failure.graph.tensor
    made = (c for c in reversed(failure.graph.calls) if c.source and c.source.code == code)
    shapes = (tensors[call.outputs[0]].shape for call in made if call.outputs)
    shape = next(shapes, None)
    return None if shape is None else list(shape)
