"""Reads whether a program shows what an expression is: prints it, lets a cell show it, or tells
that it is None. Who shows it asks why it is so; a guard or an update does not ask."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from gradviz.names.position import callee_of, statement_of

_SHOWING = {"print", "display"}


def is_shown(node: Any) -> bool:
    """Say whether a statement shows what an expression in it is: ``print(h.grad.norm())``,
    ``h.grad`` alone, ``none = h.grad is None``; not ``g = h.grad`` or ``h.grad.zero_()``."""
    statement = statement_of(node)
    calls = [n for n in _around(node) if isinstance(n, ast.Call)]
    if any(callee_of(call.func) in _SHOWING for call in calls):
        return True
    if isinstance(statement, ast.Expr) and not calls:
        return not any(isinstance(n, (ast.IfExp, ast.Yield, ast.Await)) for n in _around(node))
    return _is_told_as_none(node, statement)


def is_asserted_none(node: Any) -> bool:
    """Say whether an ``assert`` says of an expression that it is None."""
    if node is None or not isinstance(statement_of(node), ast.Assert):
        return False
    is_denied = any(isinstance(n, ast.UnaryOp) for n in _around(node))
    return _is_compared_with_none(node) and not is_denied


def is_compared(node: Any) -> bool:
    """Say whether an expression stands in a comparison, or decides what runs: a guard."""
    around = [node, *_around(node)]
    tested = {id(n.test) for n in [*around, statement_of(node)] if hasattr(n, "test")}
    tested |= {id(test) for n in around for test in getattr(n, "ifs", ())}
    return any(isinstance(n, (ast.Compare, ast.BoolOp)) or id(n) in tested for n in around)


def has_to_be_there(node: Any) -> bool:
    """Say whether an expression raises where it is None, as something is asked of it or it is
    reckoned with: ``p.grad.norm()``, ``p - lr * p.grad``; not ``"%s" % p.grad``."""
    around = node.parent
    if isinstance(around, ast.BinOp):
        return not isinstance(around.op, ast.Mod)
    return isinstance(around, ast.Attribute)


def _is_told_as_none(node: Any, statement: ast.stmt) -> bool:
    """Say whether it is compared with None in order to tell so, not in order to pass it by."""
    if not _is_compared_with_none(node) or any(isinstance(n, ast.IfExp) for n in _around(node)):
        return False
    if not isinstance(statement, (ast.If, ast.While)):
        return True
    inside = (n for part in statement.body for n in ast.walk(part))
    return any(isinstance(n, ast.Call) and callee_of(n.func) in _SHOWING for n in inside)


def _is_compared_with_none(node: Any) -> bool:
    comparison = node.parent
    return isinstance(comparison, ast.Compare) and isinstance(comparison.ops[0], ast.Is)


def _around(node: Any) -> Iterator[Any]:
    """Yield the expressions around a node, the innermost first."""
    node = node.parent
    while not isinstance(node, ast.stmt):
        yield node
        node = node.parent
