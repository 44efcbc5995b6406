"""What in the text of a function is not finite at some numbers: exponentials of large ones, a
division by 0, a root or a logarithm out of its range. Reads code, runs none of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, NamedTuple

from gradviz.names.position import callee_of

_GROWING = {"exp", "exp2", "expm1", "sinh", "cosh"}
_ABOVE_ZERO = {"log", "log2", "log10", "sqrt", "rsqrt", "reciprocal"}
_DIVIDING = {"div", "true_divide"}
_POSITIVE = {"abs", "exp", "square", "norm", "softplus", "sigmoid", "relu"}
_COUNTS = {"size", "numel", "len", "dim", "float", "int", "nelement"}
# an exponential stays finite below this, and its third power, too
_BOUND = 20
_EPS = 1e-8


class Breaking(NamedTuple):
    """A part of a function that is not finite at some numbers.

    Attributes:
        node: the part.
        anew: how it is written so that it stays finite.
        grows: whether it is an exponential, which overflows.
    """

    node: ast.expr
    anew: str
    grows: bool

    @property
    def text(self) -> str:
        """The part as it is written."""
        return ast.unparse(self.node)


def breaking(function: ast.AST) -> list[Breaking]:
    """Return what in a function is not finite at some numbers, in order; nothing that is only
    divided by an exponential that overflows.

    >>> code = "def f(x, k):\\n    e = torch.exp(-k * x)\\n    return k * e / (1 + e) ** 2"
    >>> [part.anew for part in breaking(ast.parse(code))]
    ['torch.exp((-k * x).clamp(max=20))']
    >>> code = "def f(g, x):\\n    return g / x.norm() + g / (1 + x ** 2) + torch.exp(-x ** 2)"
    >>> [part.anew for part in breaking(ast.parse(code))]
    ['g / (x.norm() + 1e-08)']
    """
    growing = [Breaking(n, _bounded(n), grows=True) for n in _exponentials(function)]
    hold = _names_made_of(function, [part.node for part in growing])
    others = [part for n in ast.walk(function) if (part := _kept_off_zero(n, hold)) is not None]
    return sorted([*growing, *others], key=lambda p: (p.node.lineno, p.node.col_offset))


def _exponentials(function: ast.AST) -> Iterator[ast.Call]:
    """Yield the exponentials of what may be large: not those of minus a square."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and callee_of(node.func) in _GROWING:
            argument = _argument(node)
            if argument is not None and not _is_at_most_zero(argument):
                yield node


def _argument(call: ast.Call) -> ast.expr | None:
    """Return what a function of one tensor is given: ``torch.exp(x)``, ``x.exp()``."""
    if call.args:
        return call.args[0]
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def _is_at_most_zero(node: ast.expr) -> bool:
    """Say whether something is minus what is never below 0, or a multiple of it."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _is_never_negative(node.operand)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        return _is_at_most_zero(node.left) and _is_never_negative(node.right)
    return isinstance(node, ast.Call) and _is_clamped(node, "max")


def _is_never_negative(node: ast.expr) -> bool:
    """Say whether something is a square, an absolute value, or made of such alone."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        even = isinstance(node.right, ast.Constant) and node.right.value in (2, 4, 2.0)
        return even or _is_never_negative(node.left)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div, ast.Add)):
        return _is_never_negative(node.left) and _is_never_negative(node.right)
    if isinstance(node, ast.Call):
        return callee_of(node.func) in _POSITIVE or _is_clamped(node, "min")
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))


def _is_clamped(call: ast.Call, bound: str) -> bool:
    """Say whether a call bounds what it is given on one side."""
    is_clamp = callee_of(call.func) in ("clamp", "clip", f"clamp_{bound}")
    return is_clamp and (len(call.args) > 0 or any(k.arg == bound for k in call.keywords))


def _kept_off_zero(node: ast.AST, hold: set[str]) -> Breaking | None:
    """Return a division, a root or a logarithm of what may be 0; None of what is divided by
    exponentials, which are told themselves."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        divisor = node.right
    elif isinstance(node, ast.Call) and callee_of(node.func) in _DIVIDING and node.args:
        divisor = node.args[-1]
    elif isinstance(node, ast.Call) and callee_of(node.func) in _ABOVE_ZERO:
        return _of_positive(node, hold)
    else:
        return None
    if _cannot_be_zero(divisor) or hold & _names_in(divisor):
        return None
    return Breaking(node, ast.unparse(_with(node, divisor, _plus_eps(divisor))), grows=False)


def _of_positive(call: ast.Call, hold: set[str]) -> Breaking | None:
    """Return a root or a logarithm of what may be 0 or below."""
    argument = _argument(call)
    if argument is None or _cannot_be_zero(argument) or hold & _names_in(argument):
        return None
    bounded = _clamped(argument, "min", _EPS)
    return Breaking(call, ast.unparse(_with(call, argument, bounded)), grows=False)


def _cannot_be_zero(node: ast.expr) -> bool:
    """Say whether something is a number other than 0, a count, what a number above 0 was added to
    that is never below 0, or a setting that the context keeps."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _adds_number(node.left, node.right) or _adds_number(node.right, node.left)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return _cannot_be_zero(node.left)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _cannot_be_zero(node.left) and _cannot_be_zero(node.right)
    if isinstance(node, ast.Call):
        return callee_of(node.func) in _COUNTS or _is_clamped(node, "min")
    is_count = isinstance(node, ast.Subscript) and "shape" in ast.unparse(node.value)
    return is_count or isinstance(node, (ast.Constant, ast.Attribute))


def _adds_number(number: ast.expr, other: ast.expr) -> bool:
    """Say whether a number, or a setting, is added to what is never below 0."""
    is_number = isinstance(number, (ast.Constant, ast.Attribute))
    return is_number and _is_never_negative(other)


def _names_made_of(function: ast.AST, parts: list[ast.expr]) -> set[str]:
    """Return the variables that a function computes from some parts of it."""
    held, ids = set[str](), {id(part) for part in parts}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            inside = [*ast.walk(node.value)]
            names = {n.id for n in inside if isinstance(n, ast.Name)}
            if held & names or any(id(n) in ids for n in inside):
                held |= _names_in(node.targets[0])
    return held


def _names_in(node: ast.AST) -> set[str]:
    """Return the variables that stand in some code."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _bounded(call: ast.Call) -> str:
    """Return an exponential of what is bounded."""
    argument: Any = _argument(call)
    return ast.unparse(_with(call, argument, _clamped(argument, "max", _BOUND)))


def _clamped(node: ast.expr, bound: str, value: float) -> ast.expr:
    """Return the code of something that is bounded on one side."""
    keyword = ast.keyword(bound, ast.Constant(value))
    return ast.Call(ast.Attribute(node, "clamp"), [], [keyword])


def _plus_eps(node: ast.expr) -> ast.expr:
    """Return the code of something to which a small number is added."""
    return ast.BinOp(node, ast.Add(), ast.Constant(_EPS))


def _with(node: ast.AST, part: ast.expr, other: ast.expr) -> ast.AST:
    """Return the code of something, with another part in the place of one; nothing is changed."""
    return deepcopy(node, {id(part): other})
