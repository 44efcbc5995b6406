"""Loops over parameters that ask something of each ``.grad`` without a look at whether it is None.
Reads code, runs none of it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Any

_LISTING = ("parameters", "named_parameters")
_PASSING = ("zip", "enumerate", "list", "reversed")


def unguarded(tree: ast.AST, guards: Collection[str] = ("grad",)) -> list[Any]:
    """Return the words ``p.grad`` of a program of which an attribute is asked, in a loop over the
    parameters of a module or of an optimizer, under no condition that tells which have one.

    Args:
        tree: the program.
        guards: the attributes of a parameter about which such a condition asks.

    Example:
        >>> code = "for p in net.parameters():\\n    p.grad.clamp_(-1, 1)"
        >>> [ast.unparse(word) for word in unguarded(ast.parse(code))]
        ['p.grad']
        >>> unguarded(ast.parse("[p.grad.norm() for p in net.parameters() if p.grad is not None]"))
        []
    """
    loops = (node for node in ast.walk(tree) if _variables(node))
    found = (word for loop in loops for word in _asked_in(loop, guards))
    return sorted({id(word): word for word in found}.values(), key=lambda word: int(word.lineno))


def _asked_in(loop: Any, guards: Collection[str]) -> Iterator[Any]:
    """Yield what a loop asks of the gradients of its variable; nothing where it has a condition
    about them."""
    names = _variables(loop)
    if any(_is_guarded_by(test, guards) for test in _conditions(loop)):
        return
    for node in ast.walk(loop):
        word = node.value if isinstance(node, ast.Attribute) else None
        if isinstance(word, ast.Attribute) and word.attr == "grad" and _is_in(word.value, names):
            yield word


def _is_in(word: ast.expr, names: Collection[str]) -> bool:
    """Say whether an expression is one of some variables."""
    return isinstance(word, ast.Name) and word.id in names


def _variables(node: Any) -> set[str]:
    """Return the variables of a loop, or of a comprehension, over parameters; none of any other
    node."""
    parts = [node] if isinstance(node, ast.For) else getattr(node, "generators", [])
    return {
        name.id
        for part in parts
        if _lists_parameters(part.iter)
        for name in ast.walk(part.target)
        if isinstance(name, ast.Name)
    }


def _lists_parameters(given: ast.expr) -> bool:
    """Say whether an expression is what ``parameters()`` or ``named_parameters()`` gives, or a
    group of an optimizer."""
    if isinstance(given, ast.Subscript):
        return isinstance(given.slice, ast.Constant) and given.slice.value == "params"
    function = given.func if isinstance(given, ast.Call) else None
    if isinstance(given, ast.Call) and isinstance(function, ast.Name):
        return function.id in _PASSING and any(map(_lists_parameters, given.args))
    return isinstance(function, ast.Attribute) and function.attr in _LISTING


def _conditions(loop: Any) -> Iterator[Any]:
    """Yield the conditions in a loop."""
    for node in ast.walk(loop):
        for part in getattr(node, "generators", []):
            yield from part.ifs
        if isinstance(node, (ast.If, ast.IfExp, ast.While)):
            yield node.test
        if isinstance(node, ast.BoolOp):
            yield node


def _is_guarded_by(test: Any, guards: Collection[str]) -> bool:
    """Say whether a condition asks for one of some attributes itself, and not for what that is
    like: ``p.grad is None``, and not ``p.grad.norm() > 1``."""
    asked = [node for node in ast.walk(test) if isinstance(node, ast.Attribute)]
    inner = {id(node.value) for node in asked}
    return any(node.attr in guards and id(node) not in inner for node in asked)
