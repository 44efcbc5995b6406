"""What the source gives to a call: its receiver and its positional arguments, as written."""

from __future__ import annotations

import ast
from typing import Any

from gradviz.names.direct import is_direct, is_made_by_builtin
from gradviz.names.position import Place, callee_of, dotted, is_literal, is_module


def object_called(place: Place) -> str | None:
    """Return the object that a call calls, as written; None where it calls what a module holds."""
    node = place.node
    if (
        not isinstance(node, ast.Call)
        or is_made_by_builtin(node)
        or is_module(node.func, place.source)
    ):
        return None
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
    maker = callee_of(receiver.func) if isinstance(receiver, ast.Call) else None
    if maker:
        return f"{maker}(…).{callee_of(node.func)}"
    return dotted(node.func) or _sliced(node.func)


def _sliced(node: ast.AST) -> str | None:
    """Return a slice of what has a name, as it is written.

    >>> [_sliced(ast.parse(text, mode="eval").body) for text in ("net[:6]", "net[a:]", "net[6]")]
    ['net[:6]', None, None]
    """
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice):
        return None
    ends = (node.slice.lower, node.slice.upper, node.slice.step)
    value = dotted(node.value)
    if value is None or not all(end is None or is_literal(end) for end in ends):
        return None
    return f"{value}[{ast.unparse(node.slice)}]"


def arguments_of(place: Place) -> tuple[list[Any], bool]:
    """Return receiver and positional arguments, and whether torch may get the two the other way
    round (``n * a``)."""
    node = place.node
    if place.is_test:
        return [node.operand if isinstance(node, ast.UnaryOp) else node], False
    if not is_direct(place):
        return [], False
    if isinstance(node, ast.Call):
        return _arguments_of_call(node, place), False
    if isinstance(node, ast.BinOp):
        return _operands(node.left, node.right)
    if isinstance(node, ast.Compare):
        return _operands(node.left, node.comparators[0])
    if isinstance(node, ast.AugAssign):
        return [node.target, node.value], False
    if isinstance(node, ast.UnaryOp):
        return [node.operand], False
    if isinstance(node, ast.For):
        return [node.iter], False
    return _arguments_of_access(node), False


def _arguments_of_call(call: ast.Call, place: Place) -> list[Any]:
    """Return the positional arguments, behind the receiver where it is an object."""
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    if receiver is None or is_module(receiver, place.source):
        return [*call.args]
    return [receiver, *call.args]


def _operands(left: Any, right: Any) -> tuple[list[Any], bool]:
    """Return both sides of an operator, a literal last, and whether torch may swap them."""
    if is_literal(left):
        return [right, left], False
    return [left, right], not is_literal(right)


def _arguments_of_access(node: Any) -> list[Any]:
    """Return what ``t[i]`` or ``t.name`` is read from or, on the left of ``=``, written with."""
    parent: Any = getattr(node, "parent", None)
    is_target = isinstance(parent, ast.Assign) and node in parent.targets
    stored = [parent.value] if is_target else []
    if isinstance(node, ast.Subscript):
        return [node.value, node.slice, *stored]
    if isinstance(node, ast.Attribute):
        return [node.value, *stored]
    return stored
