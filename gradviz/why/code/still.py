"""Whether what was read at the end of a program, or computed twice, is what a statement had: which
statements bind or change it meanwhile, as the text tells. Runs none of it. Knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from gradviz.graph.records import Frame
from gradviz.names.bindings import binders_of, parameters_of, scope_of
from gradviz.names.position import callee_of, display_name
from gradviz.names.statements import Statements
from gradviz.why.code.rewritten import parsed

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_CHANGING = {"pop", "popitem", "update", "clear", "setdefault", "append", "extend", "insert"}
_SWITCHES = {"train", "eval", "setattr", "manual_seed", "load_state_dict"}


def names_the_same(statements: Statements, expression: ast.AST) -> bool:
    """Say whether an expression means at the end of a program what it meant where it stands: its
    name is no variable of a function, and nothing below it binds or changes it.

    Args:
        statements: the code that ran.
        expression: a name, with attributes and keys.
    """
    name = _root_of(expression)
    if not isinstance(name, ast.Name):
        return False
    scope = scope_of(name)
    binders = binders_of(name)
    if isinstance(scope, _FUNCTIONS) and name.id in parameters_of(scope):
        return False
    if any(isinstance(scope_of(b.parent), _FUNCTIONS) for b in binders):
        return False
    later = [node for _, node in statements.mentions(name.id) if node.lineno > name.lineno]
    is_bound_later = any(b.lineno > name.lineno for b in binders)
    return not is_bound_later and not any(_changes(node, name.id) for node in later)


def may_differ_between(statements: Statements, one: Frame, other: Frame) -> bool:
    """Say whether statements between two others of a file may change what both compute: they bind
    one of their names, set an attribute or an item, or switch a mode.

    Args:
        statements: the code that ran.
        one: a statement, with its line.
        other: the other one.
    """
    words = {
        n.id for n in ast.walk(parsed(one.code) or ast.Module([], [])) if isinstance(n, ast.Name)
    }
    first, last = sorted((one.line, other.line))
    return one.file != other.file or any(
        first < node.lineno < last and (_names_set(node) & words or _sets_a_part(node))
        for node in _statements_of(statements, one.file)
    )


def _root_of(expression: Any) -> Any:
    """Return the variable whose attribute or item an expression is."""
    while isinstance(expression, (ast.Attribute, ast.Subscript)):
        expression = expression.value
    return expression


def _changes(statement: ast.AST, name: str) -> bool:
    """Say whether a statement changes what a name stands for: an item, or by a method."""
    for node in ast.walk(statement):
        is_item = isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load)
        is_call = isinstance(node, ast.Call) and callee_of(node.func) in _CHANGING
        changed = node.func if isinstance(node, ast.Call) else node
        if (is_item or is_call) and getattr(_root_of(changed), "id", "") == name:
            return True
    return False


def _statements_of(statements: Statements, file: str) -> Iterator[Any]:
    """Yield the statements of a file that bind, change or call."""
    kinds = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Delete, ast.For)
    for own, node in statements.nodes(kinds):
        if display_name(own.filename) == file:
            yield node


def _names_set(statement: ast.AST) -> set[str]:
    """Return the variables that a statement binds or deletes; of a loop its own."""
    nodes = ast.walk(statement.target if isinstance(statement, ast.For) else statement)
    return {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}


def _sets_a_part(statement: ast.AST) -> bool:
    """Say whether a statement sets an attribute or an item, or calls what switches a mode."""
    for node in () if isinstance(statement, ast.For) else ast.walk(statement):
        is_part = isinstance(node, (ast.Attribute, ast.Subscript))
        if is_part and not isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
            return True
        if isinstance(node, ast.Call) and callee_of(node.func) in _SWITCHES:
            return True
    return False
