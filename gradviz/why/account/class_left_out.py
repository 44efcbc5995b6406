"""Losses that leave out a class which is one of those to be told apart."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch

from gradviz.graph.effects import CLASS_LOSSES
from gradviz.graph.records import Call, Source
from gradviz.names.position import callee_of
from gradviz.names.statements import source_of
from gradviz.why.account.remark import Remark, Weight

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_LOSSES = {"CrossEntropyLoss": "cross_entropy", "NLLLoss": "nll_loss"}
_MOST = 0.05  # the share of the targets from which on it is no mark at the edges


def class_left_out(case: Case, values_of: Callable[[int], torch.Tensor | None]) -> Iterator[Remark]:
    """Tell of the last loss whose ``ignore_index`` is one of its classes, and the target of a good
    part of the samples; nothing where another loss of classes may count these. Where tokens are
    looked up it is that of the padding.

    Args:
        case: what is asked about.
        values_of: gives the living values of a state.
    """
    if any(call.function == "embedding" for call in case.facts.ordinary_calls):
        return
    every = [*_ignoring(case)]
    if len(every) < len([*_class_losses(case)]):
        return  # another loss may count what this one leaves out
    for place, index, function in every:
        calls = [c for c in case.facts.ordinary_calls if c.function == function and c.inputs]
        counted = None if not calls else _share(case, calls[-1], index, values_of)
        if counted is not None and counted[0] >= _MOST * counted[1] and counted[0] < counted[1]:
            fields = {
                "code": place.code,
                "place": case.words.line_of(place),
                "index": str(index),
                "n": counted[0],
                "of": counted[1],
                "name": case.words.name(calls[-1].inputs[1]),
            }
            yield Remark(
                Weight.NOTABLE, "class_left_out", fields, (calls[-1],), statements=(place,)
            )


def _ignoring(case: Case) -> Iterator[tuple[Source, int, str]]:
    """Yield where the code makes a loss that leaves out an index of 0 or more, with that index, and
    the function that the loss calls."""
    for file, node, function in _class_losses(case):
        for given in (k.value for k in node.keywords if k.arg == "ignore_index"):
            is_index = isinstance(given, ast.Constant) and type(given.value) is int
            if is_index and given.value >= 0:
                yield source_of(file, node), given.value, function


def _class_losses(case: Case) -> Iterator[tuple[Any, Any, str]]:
    """Yield the calls that make, or are, a loss of classes, each with its file and the function
    that the loss calls."""
    for file, node in case.statements.nodes(ast.Call):
        name = callee_of(node.func) or ""
        function = _LOSSES.get(name, name)
        if function in CLASS_LOSSES:
            yield file, node, function


def _share(
    case: Case, call: Call, index: int, values_of: Callable[[int], Any]
) -> tuple[int, int] | None:
    """Return of how many targets a loss leaves one out, and how many there are; None where that is
    not known, or the index is no class."""
    scores = case.graph.tensor[call.inputs[0]].shape or ()
    targets = values_of(call.inputs[1]) if len(call.inputs) > 1 else None
    if targets is None or len(scores) < 2 or index >= scores[1] or targets.is_floating_point():
        return None
    return int((targets == index).sum()), targets.numel()
