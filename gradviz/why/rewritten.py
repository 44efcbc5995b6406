"""A statement of the program as it is to be written instead. Reads code, runs none of it."""

from __future__ import annotations

import ast
from typing import Any


def out_of_place(code: str) -> str:
    """Return a statement that writes in place as one that makes a new tensor of the same name; ""
    where that is not known: an item that is written has no such form.

    >>> out_of_place("y += 1"), out_of_place("h.mul_(2)"), out_of_place("y[0] = 1")
    ('y = y + 1', 'h = h.mul(2)', '')
    >>> out_of_place("h = F.relu(h, inplace=True)"), out_of_place("x = self.bn(x)")
    ('h = F.relu(h)', '')
    """
    try:
        statement: Any = ast.parse(code.strip()).body[0]
    except (SyntaxError, ValueError, IndexError):
        return ""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        name = statement.target.id
        value = ast.BinOp(ast.Name(name), statement.op, statement.value)
        return f"{name} = {ast.unparse(value)}"
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
    changed = [new for call in calls if (new := _new_result(call)) is not None]
    if not changed:
        return ""
    owner = changed[-1]
    if isinstance(statement, ast.Expr):
        return f"{owner} = {ast.unparse(statement)}" if owner.isidentifier() else ""
    return ast.unparse(statement)


def _new_result(call: ast.Call) -> str | None:
    """Let a call that writes in place make a new result; return what it wrote, None where it wrote
    nothing."""
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr.endswith("_"):
        if function.attr.endswith("__") or len(function.attr) < 3:
            return None
        function.attr = function.attr[:-1]
        return ast.unparse(function.value)
    switched = [k for k in call.keywords if k.arg == "inplace"]
    if not switched or not call.args:
        return None
    call.keywords = [k for k in call.keywords if k.arg != "inplace"]
    return ast.unparse(call.args[0])


def in_place(code: str) -> str:
    """Return an update that gives a name a new tensor as one that writes into the old one; "" where
    a statement is no such update.

    >>> in_place("w = w - lr * w.grad"), in_place("w = w.data - lr * w.grad.data")
    ('w -= lr * w.grad', 'w -= lr * w.grad.data')
    >>> in_place("w = torch.clamp(w - lr * w.grad, 0)"), in_place("h = f(w)")
    ('w.copy_(torch.clamp(w - lr * w.grad, 0))', '')
    """
    try:
        statement: Any = ast.parse(code.strip()).body[0]
    except (SyntaxError, ValueError, IndexError):
        return ""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if len(targets) != 1 or not isinstance(targets[0], (ast.Name, ast.Attribute)):
        return ""
    target, value = ast.unparse(targets[0]), statement.value
    read = {ast.unparse(n) for n in ast.walk(value) if isinstance(n, (ast.Name, ast.Attribute))}
    if target not in read or f"{target}.grad" not in read:
        return ""
    is_change = isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub))
    if is_change and ast.unparse(value.left) in (target, f"{target}.data"):
        sign = "-" if isinstance(value.op, ast.Sub) else "+"
        return f"{target} {sign}= {ast.unparse(value.right)}"
    return f"{target}.copy_({ast.unparse(value)})"
