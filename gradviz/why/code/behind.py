"""What a value was made of, read off the code: the statements that bound it, what these read in
turn, and what the functions returned that they call. Runs none of it, knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from executing import Source as File

from gradviz.graph.records import Source
from gradviz.names.bindings import binder_before, binders_of
from gradviz.names.position import callee_of, holds_others
from gradviz.names.statements import Statements, source_of

MOST = 200  # statements that are read

# what takes the numbers out of a tensor, as methods and as functions
COPYING = ("item", "tolist", "numpy", "__float__")
NUMBERS = ("float", "int")
# what only comes before that
_LEAVING = (*COPYING, "detach", "cpu", "data")


class Stands(NamedTuple):
    """A statement, and the file or cell that it stands in."""

    file: File
    node: Any

    @property
    def source(self) -> Source:
        """Its line and text."""
        return source_of(self.file, self.node)


def statements_behind(file: File, value: ast.AST, statements: Statements | None) -> list[Stands]:
    """Return the statements that a value came through, the nearest first.

    Args:
        file: that the value stands in.
        value: an expression.
        statements: the code that ran; functions are looked for there too.
    """
    found: dict[int, Stands] = {}
    todo = [Stands(file, value)]
    for stands in todo:  # which grows
        for following in _one_step(stands, statements):
            if id(following.node) not in found and len(found) < MOST:
                found[id(following.node)] = following
                todo.append(following)
    return [stands for stands in found.values() if not holds_others(stands.node)]


def _one_step(stands: Stands, statements: Statements | None) -> Iterator[Stands]:
    """Yield the statements that bound what a statement reads, and those that return what it
    calls for."""
    file, statement = stands
    value = getattr(statement, "value", None) or getattr(statement, "iter", None)
    if value is None:
        value = ast.Pass() if holds_others(statement) else statement
    for node in ast.walk(value):
        if isinstance(node, (ast.Name, ast.Attribute)):
            yield from (Stands(file, binder) for binder in binders_of(node))
        elif isinstance(node, ast.Call) and statements is not None:
            yield from _returns(_called(node.func), statements)


def _called(function: ast.expr) -> str | None:
    """Return the name of a function; of a variable that was given one, the function's own."""
    for _ in range(MOST):
        binder = binder_before(function)
        value = getattr(binder, "value", None)
        if isinstance(binder, ast.Assign) and isinstance(value, ast.Call):
            return callee_of(value.func) or callee_of(function)
        if not isinstance(binder, ast.Assign) or not isinstance(value, (ast.Name, ast.Attribute)):
            break
        function = value
    return callee_of(function)


def _returns(function: str | None, statements: Statements) -> Iterator[Stands]:
    """Yield what the program's own functions of a name return; of a class what its forward
    does."""
    for file, node in statements.nodes(ast.FunctionDef):
        is_forward = node.name == "forward" and getattr(node.parent, "name", None) == function
        if node.name == function or is_forward:
            inside = (n for n in ast.walk(node) if isinstance(n, ast.Return) and n.value)
            yield from (Stands(file, n) for n in inside)


def copies(statement: ast.AST) -> list[str]:
    """Return the words by which a statement takes numbers out of tensors.

    >>> copies(ast.parse("total += loss.item()")), copies(ast.parse("total += loss"))
    (['.item()'], [])
    """
    words = (_copying(node) for node in ast.walk(statement))
    return list(dict.fromkeys(filter(None, words)))


def given_to_numbers(statement: ast.AST) -> list[ast.expr]:
    """Return what a statement makes Python numbers of, by the names of their classes.

    >>> [ast.unparse(e) for e in given_to_numbers(ast.parse("n = int(text) + loss.item()"))]
    ['text']
    """
    calls = (node for node in ast.walk(statement) if isinstance(node, ast.Call))
    return [call.args[0] for call in calls if _copying(call)[:-2] in NUMBERS and call.args]


def leaves(expression: ast.AST) -> bool:
    """Say whether an expression has what takes a tensor out of its graph.

    >>> leaves(ast.parse("loss.detach().mean()")), leaves(ast.parse("config.weight"))
    (True, False)
    """
    nodes = (node for node in ast.walk(expression) if isinstance(node, ast.Attribute))
    return any(node.attr in _LEAVING for node in nodes)


def _copying(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Attribute):
        return f".{node.func.attr}()" if node.func.attr in COPYING else ""
    if isinstance(node.func, ast.Name) and node.func.id in NUMBERS:
        return f"{node.func.id}()"
    return ""


def in_torch(statement: ast.AST) -> str:
    """Return the code of a statement without what takes its numbers out of torch.

    >>> in_torch(ast.parse("total += float(loss.detach().cpu().item())"))
    'total += loss'
    """
    return ast.unparse(_Staying().visit(ast.parse(ast.unparse(statement))))


class _Staying(ast.NodeTransformer):
    """Leaves out what takes a tensor out of torch, or of its graph."""

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _LEAVING and not node.args:
            return node.func.value
        is_number = isinstance(node.func, ast.Name) and node.func.id in NUMBERS
        return node.args[0] if is_number and len(node.args) == 1 else node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        return node.value if node.attr == "data" and isinstance(node.ctx, ast.Load) else node


def returns_nothing(function: Any) -> bool:
    """Say whether a function's syntax node has no return of a value, and is no generator.

    >>> returns_nothing(ast.parse("def f(x):\\n    x = x + 1").body[0])
    True
    """
    ends = (ast.Return, ast.Yield, ast.YieldFrom)
    own = (node for node in ast.walk(function) if isinstance(node, ends))
    return not any(not isinstance(node, ast.Return) or node.value is not None for node in own)
