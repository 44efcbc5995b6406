"""Values and shapes that a layer, a loss or a distribution refuses: what the failing line gave it,
and what to write there. Reads values that variables hold, runs none of the program's code."""

from __future__ import annotations

import ast
import inspect
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from gradviz.names.position import callee_of
from gradviz.names.statements import where_made
from gradviz.why.question.failed_line import FailedLine
from gradviz.why.rules.errors.failure import Failure
from gradviz.words.speech import Code

Fields = Mapping[str, Any] | None

_SIZES = re.compile(r"\(\d+x(\d+) and (\d+)x\d+\)")
_STATE = re.compile(r"Expected hidden\S* size \((\d+), (\d+), (\d+)\), got \[(\d+), (\d+), (\d+)\]")
_SIZES_OF = re.compile(r"torch\.Size\(\[([\d, ]*)\]\)")
_CLASS = re.compile(r"Target (-?\d+) is out of bounds")
_SHAPING = ("view", "reshape", "flatten", "squeeze", "unsqueeze", "contiguous", "detach", "cpu")
_CASTING = ("long", "to", "type")
_PARAMETER = re.compile(r"Expected parameter (\w+) .*?of distribution (\w+)\(", re.DOTALL)
_BETWEEN = re.compile(r"constraint (?:Interval|Simplex)")
_POSITIVE = re.compile(r"constraint GreaterThan(?:Eq)?\(lower_bound=0")


def _tensor(line: FailedLine, expression: ast.expr) -> torch.Tensor | None:
    """Return the tensor that an expression of the failing line stands for; None where that is not
    known."""
    value = line.value(expression)
    return value.detach() if isinstance(value, torch.Tensor) else None


def layer_of_other_size(line: FailedLine, failure: Failure) -> Fields:
    """Return the linear layer that was made for other inputs than it got, and how it is made for
    these; None where none in the line is."""
    found = _SIZES.search(failure.text)
    got, wanted = map(int, found.groups()) if found else (0, 0)
    for call, layer in _layers_called(line):
        if (layer.in_features, bool(call.args)) != (wanted, True):
            continue
        given = _tensor(line, call.args[0])
        if given is not None and (given.shape[-1] != got or _fits_when_flat(given, wanted)):
            return None
        return {
            "layer": Code(ast.unparse(call.func)),
            "wanted": wanted,
            "got": got,
            "anew": Code(f"nn.Linear({got}, {layer.out_features})"),
            **_where_made(line, call.func),
        }
    return None


def input_not_flat(line: FailedLine, failure: Failure) -> Fields:
    """Return what a linear layer was given that has as many numbers as it takes, in several
    dimensions."""
    found = _SIZES.search(failure.text)
    wanted = int(found[2]) if found else 0
    for call, layer in _layers_called(line):
        given = _tensor(line, call.args[0]) if call.args else None
        if given is not None and layer.in_features == wanted and _fits_when_flat(given, wanted):
            word = ast.unparse(call.args[0])
            return {
                "layer": Code(ast.unparse(call.func)),
                "wanted": wanted,
                "given": Code(word),
                "shape": list(given.shape),
                "anew": Code(f"{word}.flatten(1)"),
            }
    return None


def _fits_when_flat(given: torch.Tensor, wanted: int) -> bool:
    """Say whether what comes after the first dimension has so many numbers, in several."""
    return given.dim() > 2 and math.prod(given.shape[1:]) == wanted


def _layers_called(line: FailedLine) -> Iterator[tuple[ast.Call, torch.nn.Linear]]:
    """Yield the calls of linear layers in the failing line."""
    for call in line.nodes(ast.Call):
        layer = line.value(call.func)
        if type(layer) is torch.nn.Linear:
            yield call, layer


def _where_made(line: FailedLine, word: ast.expr) -> dict[str, Any]:
    """Return the statement of a constructor that makes the attribute that an expression is."""
    owner = line.value(word.value) if isinstance(word, ast.Attribute) else None
    if not isinstance(word, ast.Attribute) or not isinstance(owner, torch.nn.Module):
        return {}
    place = where_made(type(owner), word.attr)
    return {} if place is None else {"at": place}


def batch_not_first(line: FailedLine, failure: Failure) -> Fields:
    """Return the recurrent layer that takes the batch for the second dimension, where what it was
    given has as many samples as its state in the first; None where that does not show."""
    told = _state_handed(line, failure)
    return told if told is not None and told["is_turned"] else None


def state_of_other_batch(line: FailedLine, failure: Failure) -> Fields:
    """Return the state of another batch that a recurrent layer was given; None where it may be the
    input that is turned."""
    told = _state_handed(line, failure)
    return told if told is not None and told["is_known"] and not told["is_turned"] else None


def _state_handed(line: FailedLine, failure: Failure) -> dict[str, Any] | None:
    """Return a recurrent layer and its state, where that has another number of samples only."""
    found = _STATE.search(failure.text)
    sizes = [int(n) for n in found.groups()] if found else []
    if not sizes or (sizes[0], sizes[2]) != (sizes[3], sizes[5]):
        return None
    for call in line.nodes(ast.Call):
        layer = line.value(call.func)
        if not isinstance(layer, torch.nn.RNNBase) or len(call.args) != 2:
            continue
        given = _tensor(line, call.args[0])
        return {
            "layer": Code(ast.unparse(call.func)),
            "given": Code(ast.unparse(call.args[0])),
            "state": Code(ast.unparse(call.args[1])),
            "wanted": sizes[1],
            "got": sizes[4],
            "is_known": given is not None or layer.batch_first,
            "is_turned": given is not None and not layer.batch_first and given.shape[0] == sizes[4],
        }
    return None


def classes_from_one(line: FailedLine, failure: Failure) -> Fields:
    """Return the targets that count the classes from 1; None where that does not show."""
    told = _classes(line, failure)
    return told if told is not None and told["lowest"] == 1 else None


def too_many_classes(line: FailedLine, failure: Failure) -> Fields:
    """Return the targets that name a class for which there are no scores."""
    told = _classes(line, failure)
    return told if told is not None and told["lowest"] == 0 else None


def classes_below_zero(line: FailedLine, failure: Failure) -> Fields:
    """Return the targets that count the classes from a number below 0; None where a class would be
    too high then."""
    told = _classes(line, failure)
    return told if told is not None and told["lowest"] < 0 else None


def _classes(line: FailedLine, failure: Failure) -> dict[str, Any] | None:
    """Return what a loss of classes was given: scores, and targets of which one is no class of
    theirs."""
    calls = line.nodes(ast.Call) if _CLASS.search(failure.text) is not None else ()
    for call in (one for one in calls if len(one.args) >= 2):
        count, bounds = _count_of_classes(line, failure, call), _bounds_of_classes(line, call)
        told = None if count is None or bounds is None else _told(call, count, *bounds)
        if told is not None:
            return told
    return None


def _told(call: ast.Call, count: int, lowest: int, highest: int) -> dict[str, Any] | None:
    """Return what is told of targets by their bounds; None where these are classes, or are more
    than there are scores for and begin below 0, which may be a mark."""
    if 0 <= lowest <= highest < count or (lowest < 0 and highest - lowest >= count):
        return None
    word = ast.unparse(call.args[1])
    return {
        "scores": Code(ast.unparse(call.args[0])),
        "target": Code(word),
        "shifted": Code(f"{word} - 1" if lowest > 0 else f"{word} + {-lowest}"),
        "classes": count,
        "highest": highest,
        "lowest": min(lowest, 1) if highest == count or lowest < 0 else 0,
        "needed": highest + 1,
    }


def _bounds_of_classes(line: FailedLine, call: ast.Call) -> tuple[int, int] | None:
    """Return the lowest and the highest target that a loss was given, those that it leaves out
    apart; None where they are not known, or no whole numbers."""
    target = _as_it_was(line, call.args[1])
    if target is None or (target.is_floating_point() and not _is_cast(call.args[1])):
        return None
    known = target[target != _ignored(line, call)]
    return (int(known.min()), int(known.max())) if known.numel() else None


def _count_of_classes(line: FailedLine, failure: Failure, call: ast.Call) -> int | None:
    """Return how many classes have scores in what a loss was given."""
    scores = _tensor(line, call.args[0])
    given = failure.inputs[0].shape if failure.inputs else None
    shape = given if scores is None else tuple(scores.shape)
    return shape[min(1, len(shape) - 1)] if shape else None


def _as_it_was(line: FailedLine, word: ast.expr) -> torch.Tensor | None:
    """Return the tensor whose numbers an expression has, in another shape or of another kind:
    ``target.long().view(-1)``."""
    while (inner := _inside(word)) is not None:
        word = inner
    return _tensor(line, word)


def _inside(word: ast.expr) -> ast.expr | None:
    """Return what a call only gives another shape or kind; None of another expression."""
    function = word.func if isinstance(word, ast.Call) else None
    is_same = isinstance(function, ast.Attribute) and function.attr in (*_SHAPING, *_CASTING)
    return function.value if is_same and isinstance(function, ast.Attribute) else None


def _is_cast(word: ast.expr) -> bool:
    """Say whether an expression makes a tensor one of whole numbers."""
    nodes = (node for node in ast.walk(word) if isinstance(node, ast.Attribute))
    return any(node.attr in _CASTING for node in nodes)


def _ignored(line: FailedLine, call: ast.Call) -> int:
    """Return the target that a loss leaves out."""
    given = next((k.value for k in call.keywords if k.arg == "ignore_index"), None)
    value = given.value if isinstance(given, ast.Constant) else None
    kept = getattr(line.value(call.func), "ignore_index", None) if value is None else value
    return kept if type(kept) is int else -100


# losses of probabilities, as a class and as a function, and what takes scores in their place
_OF_SCORES = {
    "BCELoss": "BCEWithLogitsLoss",
    "binary_cross_entropy": "binary_cross_entropy_with_logits",
}


def scores_for_probabilities(line: FailedLine, failure: Failure) -> Fields:
    """Return the scores that a loss of probabilities was given, and the loss that takes scores;
    None where these are not finite, which has another cause."""
    for call in line.nodes(ast.Call):
        kind = type(line.value(call.func)).__name__
        name = kind if kind in _OF_SCORES else callee_of(call.func) or ""
        wanted = _OF_SCORES.get(name)
        scores = _tensor(line, call.args[0]) if call.args else None
        if wanted is None or (scores is not None and not bool(scores.isfinite().all())):
            continue
        return {"loss": Code(name), "wanted": Code(wanted), "scores": ast.unparse(call.args[0])}
    return None


def tanh_for_probabilities(line: FailedLine, failure: Failure) -> Fields:
    """Return what a tanh gave, where a loss of probabilities was given it."""
    told = scores_for_probabilities(line, failure)
    given = failure.inputs[0] if failure.inputs else None
    maker = None if given is None else failure.facts.maker.get(given.id)
    if told is None or maker is None or maker.function != "tanh":
        return None
    return {**told, **({} if maker.source is None else {"at": maker.source})}


def scale_not_positive(line: FailedLine, failure: Failure) -> Fields:
    """Return the parameter of a distribution that has to be above 0, as the line writes it, and how
    it is made so."""
    told = _parameter(line, failure) if _POSITIVE.search(failure.text) else None
    if told is None:
        return None
    softplus = f"torch.nn.functional.softplus({told['given']}) + 1e-6"
    return {**told, "anew": Code(softplus)}


def scores_for_a_distribution(line: FailedLine, failure: Failure) -> Fields:
    """Return the scores that a distribution was given as its probabilities."""
    told = _parameter(line, failure) if _BETWEEN.search(failure.text) else None
    if told is None or told["parameter"] != "probs":
        return None
    return {**told, "anew": Code(f"{told['kind']}(logits={told['given']})")}


def not_of_the_distribution(line: FailedLine, failure: Failure) -> Fields:
    """Return the value that does not fit a distribution, with both shapes."""
    sizes = [[int(n) for n in re.findall(r"\d+", size)] for size in _SIZES_OF.findall(failure.text)]
    for call in line.nodes(ast.Call) if len(sizes) == 2 else ():
        given = _tensor(line, call.args[0]) if call.args else None
        name = callee_of(call.func)
        if name in ("log_prob", "cdf") and given is not None and list(given.shape) == sizes[0]:
            value = Code(ast.unparse(call.args[0]))
            return {"given": value, "shape": sizes[0], "other": sizes[1], "name": Code(f"{name}()")}
    return None


def _parameter(line: FailedLine, failure: Failure) -> dict[str, Any] | None:
    """Return the parameter that a distribution refuses, as the failing line writes it; None where
    its values are not finite."""
    found = _PARAMETER.search(failure.text)
    if found is None or re.search(r"\b(?:nan|inf)\b", failure.text):
        return None
    for call in line.nodes(ast.Call):
        kind = line.value(call.func)
        is_kind = isinstance(kind, type) and issubclass(kind, torch.distributions.Distribution)
        if not is_kind or kind.__name__ != found[2]:
            continue
        by_name = {word.arg: word.value for word in call.keywords}
        by_place = dict(zip(inspect.signature(kind).parameters, call.args, strict=False))
        given = {**by_place, **by_name}.get(found[1])
        if given is not None:
            return {
                "parameter": found[1],
                "kind": Code(ast.unparse(call.func)),
                "given": Code(ast.unparse(given)),
            }
    return None
