"""Reads which entries an index names: numbers, slices, a mask that a variable holds, what is 0 in
it. Runs no code of the program's."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import torch

from gradviz.why.code.reading import UNREAD, value_of


def index_of(node: ast.AST, names: Mapping[str, Any]) -> Any:
    """Return what can stand in brackets behind a tensor, or ``UNREAD``.

    >>> words = ("w[0, :2]", "w[mask == 0]", "w[~mask]", "w[f(x)]")
    >>> nodes = [ast.parse(text, mode="eval").body.slice for text in words]
    >>> index_of(nodes[0], {})
    (0, slice(None, 2, None))
    >>> mask = torch.tensor([1.0, 0.0])
    >>> index_of(nodes[1], {"mask": mask}), index_of(nodes[2], {"mask": mask == 1})
    (tensor([False,  True]), tensor([False,  True]))
    >>> index_of(nodes[3], {}) is UNREAD
    True
    """
    if isinstance(node, ast.Tuple):
        return _joined([index_of(part, names) for part in node.elts], tuple)
    if isinstance(node, ast.Slice):
        ends = (node.lower, node.upper, node.step)
        parts = [None if end is None else index_of(end, names) for end in ends]
        return _joined(parts, lambda given: slice(*given))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        mask = _mask(node.operand, names)
        return UNREAD if mask is UNREAD or mask.dtype != torch.bool else ~mask
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq):
        mask = _mask(node.left, names)
        is_of_zeros = ast.unparse(node.comparators[0]) in ("0", "0.0")
        return mask == 0 if mask is not UNREAD and is_of_zeros else UNREAD
    return _number(node) if _number(node) is not UNREAD else _mask(node, names)


def _joined(parts: list[Any], made: Any) -> Any:
    """Return what is made of some parts, where all of them are read."""
    return UNREAD if any(part is UNREAD for part in parts) else made(parts)


def _number(node: ast.AST) -> Any:
    """Return a whole number that is written out."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        return UNREAD
    return value if type(value) is int else UNREAD


def _mask(node: ast.AST, names: Mapping[str, Any]) -> Any:
    """Return the mask or the numbers of entries that an expression stands for."""
    value = value_of(node, names)
    return value if type(value) in (torch.Tensor, int) else UNREAD
