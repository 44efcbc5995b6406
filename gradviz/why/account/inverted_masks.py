"""Padding masks of ``nn.Transformer`` and ``nn.MultiheadAttention`` that are True where they have
to be False: there True is what is left out, elsewhere often what is kept."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch

from gradviz.names.bindings import value_before
from gradviz.names.position import callee_of
from gradviz.names.statements import source_of
from gradviz.why.account.remark import Remark, Weight

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_KINDS = (
    torch.nn.MultiheadAttention,
    torch.nn.Transformer,
    torch.nn.TransformerDecoder,
    torch.nn.TransformerDecoderLayer,
    torch.nn.TransformerEncoder,
    torch.nn.TransformerEncoderLayer,
)
_ARGUMENT = "key_padding_mask"  # ends the names of those arguments


def inverted_masks(case: Case) -> Iterator[Remark]:
    """Tell of padding masks of PyTorch's own layers that are written as what is no padding."""
    attributes = _attributes(case)
    calls = case.statements.nodes(ast.Call) if attributes else ()
    for file, call in calls:
        layer = callee_of(call.func)
        for given in call.keywords if layer in attributes else ():
            value = value_before(given.value) if isinstance(given.value, ast.Name) else given.value
            if not (given.arg or "").endswith(_ARGUMENT) or not _is_true_of_tokens(value):
                continue
            place = source_of(file, value)
            fields = {
                "argument": given.arg,
                "layer": layer,
                "mask": ast.unparse(value),
                "place": case.words.line_of(place),
                "turned": ast.unparse(ast.Compare(value.left, [ast.Eq()], value.comparators)),
            }
            statements = tuple(dict.fromkeys((place, source_of(file, call))))
            yield Remark(Weight.WEIGHTY, "padding_kept", fields, statements=statements)


def _attributes(case: Case) -> set[str]:
    """Return the names under which the live models hold layers of PyTorch that take such masks."""
    parts = case.live_state.parts()
    return {path.rpartition(".")[2] for path, part in parts if type(part) in _KINDS}


def _is_true_of_tokens(mask: ast.expr | None) -> bool:
    """Say whether an expression compares tokens with the padding, and is True where they are none;
    ``attention_mask != 1`` is so where they are.

    >>> codes = ("ids != PAD", "ids == PAD", "attention_mask != 0", "attention_mask != 1")
    >>> [_is_true_of_tokens(ast.parse(code, mode="eval").body) for code in codes]
    [True, False, True, False]
    """
    if not isinstance(mask, ast.Compare) or not isinstance(mask.ops[0], ast.NotEq):
        return False
    other = mask.comparators[0]
    return not (isinstance(other, ast.Constant) and other.value == 1)
