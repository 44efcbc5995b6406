"""Comparisons, choices and what is computed of truth values, as they are to be written so that a
gradient goes through. Reads code, runs none of it."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from gradviz.names.position import callee_of
from gradviz.why.code.rewritten import parsed

_AND = ("logical_and", "__and__", "bitwise_and", "and_")
_OR = ("logical_or", "__or__", "bitwise_or", "or_")
_NOT = ("logical_not", "__invert__", "bitwise_not")
LOGICAL = frozenset((*_AND, *_OR, *_NOT))


class Chosen(NamedTuple):
    """A choice between two values: ``torch.where(mask, one, other)``.

    Attributes:
        code: the call.
        one, other: what is chosen where the condition holds, and where not.
    """

    code: str
    one: str
    other: str


class Compared(NamedTuple):
    """A comparison by size.

    Attributes:
        code: the expression.
        larger, smaller: its sides.
    """

    code: str
    larger: str
    smaller: str


class Threshold(NamedTuple):
    """A number that is written wherever something is above a bound, or below it: ``p[p > t] = 1``.

    Attributes:
        name: what is compared, and written.
        bound: the code of the bound.
        number: what is written.
        is_above: whether above the bound.
    """

    name: str
    bound: str
    number: float
    is_above: bool


def threshold_in(code: str) -> Threshold | None:
    """Return the threshold that a statement sets; None where it is another statement.

    >>> threshold_in("p[p >= 0.5] = 1.0"), threshold_in("p[mask] = 1.0")
    (Threshold(name='p', bound='0.5', number=1.0, is_above=True), None)
    """
    statement = parsed(code)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Subscript) or not isinstance(statement.value, ast.Constant):
        return None
    name, compared = ast.unparse(target.value), comparison_in(ast.unparse(target.slice))
    number = statement.value.value
    if compared is None or isinstance(number, bool) or not isinstance(number, (int, float)):
        return None
    if name == compared.larger:
        return Threshold(name, compared.smaller, float(number), is_above=True)
    is_below = name == compared.smaller
    return Threshold(name, compared.larger, float(number), is_above=False) if is_below else None


def comparison_in(code: str) -> Compared | None:
    """Return the comparison that an expression, or what a statement binds, is; None for anything
    else.

    >>> comparison_in("a > b"), comparison_in("f(a)")
    (Compared(code='a > b', larger='a', smaller='b'), None)
    >>> comparison_in("mask = x.abs() <= 0.5")
    Compared(code='x.abs() <= 0.5', larger='0.5', smaller='x.abs()')
    """
    value = getattr(parsed(code), "value", None)
    if not isinstance(value, ast.Compare) or len(value.ops) != 1:
        return None
    sides = ast.unparse(value.left), ast.unparse(value.comparators[0])
    if isinstance(value.ops[0], (ast.Gt, ast.GtE)):
        return Compared(ast.unparse(value), *sides)
    is_less = isinstance(value.ops[0], (ast.Lt, ast.LtE))
    return Compared(ast.unparse(value), *sides[::-1]) if is_less else None


def choice_in(code: str) -> Chosen | None:
    """Return the one choice by a condition that stands in a statement; None where there is none, or
    more than one.

    >>> choice_in("y = torch.where(x < t, 0, 1)")
    Chosen(code='torch.where(x < t, 0, 1)', one='0', other='1')
    >>> choice_in("y = torch.where(mask)")
    """
    calls = [n for n in _nodes(code) if isinstance(n, ast.Call) and callee_of(n.func) == "where"]
    if len(calls) != 1 or len(calls[0].args) != 3:
        return None
    one, other = map(ast.unparse, calls[0].args[1:])
    return Chosen(ast.unparse(calls[0]), one, other)


def of_soft_masks(code: str, function: str) -> tuple[str, str] | None:
    """Return the one call or operator of a logical function in a statement, and what computes the
    same of numbers between 0 and 1, with a derivative; None where that is not known.

    >>> of_soft_masks("both = torch.logical_and(a, b)", "logical_and")
    ('torch.logical_and(a, b)', 'a * b')
    >>> of_soft_masks("either = (a | b[0]).sum()", "__or__")
    ('a | b[0]', 'a + b[0] - a * b[0]')
    >>> of_soft_masks("rest = ~mask", "__invert__")
    ('~mask', '1 - mask')
    """
    found = [(n, sides) for n in _nodes(code) if (sides := _operands(n, function))]
    if len(found) != 1:
        return None
    node, (first, *rest) = found[0]
    if function in _NOT:
        return ast.unparse(node), ast.unparse(ast.BinOp(ast.Constant(1), ast.Sub(), first))
    product = ast.BinOp(first, ast.Mult(), rest[0])
    if function in _AND:
        return ast.unparse(node), ast.unparse(product)
    both = ast.BinOp(first, ast.Add(), rest[0])
    return ast.unparse(node), ast.unparse(ast.BinOp(both, ast.Sub(), product))


def bracketed(code: str) -> str:
    """Return an expression as it can stand beside an operator.

    >>> bracketed("a - b"), bracketed("x[0].abs()"), bracketed("-1.0")
    ('(a - b)', 'x[0].abs()', '(-1.0)')
    """
    alone = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant)
    value = getattr(parsed(code), "value", None)
    return code if isinstance(value, alone) else f"({code})"


def _operands(node: Any, function: str) -> list[Any]:
    """Return what a logical function is given in a node; nothing where the node is none."""
    unary = function in _NOT
    if isinstance(node, ast.BinOp) and not unary:
        sign: type[ast.operator] = ast.BitAnd if function in _AND else ast.BitOr
        return [node.left, node.right] if isinstance(node.op, sign) else []
    if isinstance(node, ast.UnaryOp) and unary:
        return [node.operand] if isinstance(node.op, ast.Invert) else []
    if not isinstance(node, ast.Call) or callee_of(node.func) != function or node.keywords:
        return []
    is_method = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) != "torch"
    given = [node.func.value, *node.args] if is_method else node.args  # type: ignore[attr-defined]
    return given if len(given) == (1 if unary else 2) else []


def _nodes(code: str) -> list[Any]:
    """Return the syntax nodes of one statement; none of code that cannot be read."""
    statement = parsed(code)
    return [] if statement is None else [*ast.walk(statement)]
