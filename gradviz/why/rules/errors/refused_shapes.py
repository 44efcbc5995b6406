"""Reshapes that torch refuses: how many numbers a sample has, and how many the code says that it
has. Reads values that variables hold, runs none of the program's code."""

from __future__ import annotations

import ast
import math
import re
from typing import Any, NamedTuple

import torch

from gradviz.names.position import part_written
from gradviz.names.statements import where_made
from gradviz.why.question.failed_line import FailedLine
from gradviz.why.rules.errors.failure import Failure
from gradviz.why.rules.errors.refused_values import Fields
from gradviz.words.speech import Code, say

_INVALID = re.compile(r"shape '\[([-\d, ]+)\]' is invalid for input of size (\d+)")


class Reshape(NamedTuple):
    """A reshape that was refused.

    Attributes:
        call: its syntax node.
        word: the code of the tensor.
        shape: of the tensor, the samples first.
        asked: the sizes that it was to have.
    """

    call: ast.Call
    word: str
    shape: tuple[int, ...]
    asked: tuple[int, ...]

    @property
    def own(self) -> int:
        """How many numbers each sample has."""
        return math.prod(self.shape[1:])


def rows_of_other_size(line: FailedLine, failure: Failure) -> Fields:
    """Return a tensor that was to be laid out in rows of another size than its samples have, and
    the linear layer that is made for such rows."""
    told = _reshape(line, failure)
    if told is None or len(told.shape) < 2 or len(told.asked) != 2 or told.asked[1] < 1:
        return None
    if told.asked[0] not in (-1, told.shape[0]) or told.asked[1] == told.own:
        return None
    call, anew = Code(ast.unparse(told.call)), Code(f"{told.word}.flatten(1)")
    layer = _layer_taking(line, told)
    return {
        "given": Code(told.word),
        "shape": list(told.shape),
        "own": told.own,
        "wanted": told.asked[1],
        "mends": [say("raised.in_the_place_of", anew=anew, code=call), *layer[:1]],
        "at": [line.place, *layer[1:]],
    }


def rows_of_other_count(line: FailedLine, failure: Failure) -> Fields:
    """Return a tensor that was to be laid out for a number of samples that is written, where it has
    another one; and the call that takes the tensor's own."""
    told = _reshape(line, failure)
    if told is None or len(told.asked) < 2 or told.asked[0] in (-1, *told.shape[:1]):
        return None
    if -1 not in told.asked[1:] and math.prod(told.asked[1:]) != told.own:
        return None
    sizes = [f"{told.word}.shape[0]", *map(ast.unparse, told.call.args[1:])]
    if len(sizes) != len(told.asked):
        return None
    method = ast.unparse(told.call.func)
    return {
        "given": Code(told.word),
        "samples": told.shape[0],
        "rows": told.asked[0],
        "call": Code(ast.unparse(told.call)),
        "anew": Code(f"{method}({', '.join(sizes)})"),
    }


def _reshape(line: FailedLine, failure: Failure) -> Reshape | None:
    """Return the reshape of the failing line; None where its tensor, or its sizes, are not
    known."""
    found = _INVALID.search(failure.text)
    if found is None:
        return None
    for call in line.nodes(ast.Call):
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("view", "reshape"):
            continue
        value = line.value(call.func.value)
        is_tensor = isinstance(value, torch.Tensor)
        shape = tuple(value.shape) if is_tensor else _recorded_shape(failure)
        if shape is not None and math.prod(shape) == int(found[2]):
            asked = tuple(int(size) for size in found[1].split(","))
            return Reshape(call, ast.unparse(call.func.value), shape, asked)
    return None


def _recorded_shape(failure: Failure) -> tuple[int, ...] | None:
    """Return the shape of what the failing call was given."""
    return failure.inputs[0].shape if failure.inputs else None


def _layer_taking(line: FailedLine, told: Reshape) -> list[Any]:
    """Return how the one linear layer of the module, that takes rows of the size that was asked
    for, is made for those of the tensor, and where it is made; nothing where there are several."""
    owner = line.frames[-1].names.get("self") if line.frames else None
    if not isinstance(owner, torch.nn.Module):
        return []
    parts = dict(torch.nn.Module.named_modules(owner))
    taking = [
        (name, part)
        for name, part in parts.items()
        if type(part) is torch.nn.Linear and part.in_features == told.asked[1]
    ]
    if len(taking) != 1:
        return []
    ((name, layer),) = taking
    place = where_made(type(owner), name.partition(".")[0])
    anew = Code(f"nn.Linear({told.own}, {layer.out_features})")
    mend = say("raised.layer_of_rows", anew=anew, layer=Code(part_written("self", name)))
    return [mend, *([] if place is None else [place])]
