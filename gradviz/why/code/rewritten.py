"""A statement of the program as it is to be written instead. Reads code, runs none of it."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

import torch

# what the packages of torch's functions are called in code
_PACKAGES = {
    "torch": torch,
    **dict.fromkeys(("F", "functional", "nn.functional"), torch.nn.functional),
    "torch.nn.functional": torch.nn.functional,
}


def out_of_place(code: str) -> str:
    """Return a statement that writes in place as one that makes a new tensor of the same name; ""
    where that is not known: an item that is written has no such form.

    >>> out_of_place("y += 1"), out_of_place("h.mul_(2)"), out_of_place("y[0] = 1")
    ('y = y + 1', 'h = h.mul(2)', '')
    >>> out_of_place("h = F.relu(h, inplace=True)"), out_of_place("x = self.bn(x)")
    ('h = F.relu(h)', '')
    >>> out_of_place("torch.relu_(h)"), out_of_place("h.zero_()"), out_of_place("init.zeros_(h)")
    ('h = torch.relu(h)', '', '')
    """
    statement = _parsed(code)
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        name = statement.target.id
        value = ast.BinOp(ast.Name(name), statement.op, statement.value)
        return f"{name} = {ast.unparse(value)}"
    nodes = ast.walk(statement) if statement is not None else ()
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    changed = [new for call in calls if (new := _new_result(call)) is not None]
    if not changed:
        return ""
    owner = changed[-1]
    if isinstance(statement, ast.Expr):
        return f"{owner} = {ast.unparse(statement)}" if owner.isidentifier() else ""
    return ast.unparse(statement)


def data_given(code: str) -> tuple[str, str] | None:
    """Return what a statement gives the ``.data`` of, and what it gives; None of other statements.

    >>> data_given("self.mask.data = gate(s)"), data_given("y = x.data"), data_given("x.data += 1")
    (('self.mask', 'gate(s)'), None, None)
    """
    statement = _parsed(code)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Attribute) or target.attr != "data":
        return None
    return ast.unparse(target.value), ast.unparse(statement.value)


def _parsed(code: str) -> Any:
    """Return the syntax node of one statement; None where the code cannot be read: it was cut."""
    try:
        return ast.parse(code.strip()).body[0]
    except (SyntaxError, ValueError, IndexError):
        return None


def _new_result(call: ast.Call) -> str | None:
    """Let a call that writes in place make a new result; return what it wrote, None where it wrote
    nothing."""
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr.endswith("_"):
        package = _PACKAGES.get(ast.unparse(function.value))
        if not callable(getattr(package or torch.Tensor, function.attr[:-1], None)):
            return None
        function.attr = function.attr[:-1]
        written = function.value if package is None else next(iter(call.args), None)
        return None if written is None else ast.unparse(written)
    switched = [k for k in call.keywords if k.arg == "inplace"]
    if not switched or not call.args:
        return None
    call.keywords = [k for k in call.keywords if k.arg != "inplace"]
    return ast.unparse(call.args[0])


class Indexed(NamedTuple):
    """A write into a part of what a loop goes over, by its index.

    Attributes:
        whole: what the loop goes over.
        head: the loop's head, with an index.
        statement: the write.
    """

    whole: str
    head: str
    statement: str


def written_by_index(statement: Any, name: str) -> Indexed | None:
    """Return a write into a loop's variable as one into what the loop goes over; None where no loop
    around the statement gives the variable a part of something.

    Args:
        statement: its syntax node, which knows its parents.
        name: the variable.
    """
    loop: Any = statement
    while not (isinstance(loop, ast.For) and name in _targets(loop)):
        loop = getattr(loop, "parent", None)
        if loop is None:
            return None
    whole = _gone_over(loop.target, loop.iter, name)
    if whole is None:
        return None
    text = ast.unparse(whole)
    head = f"for i, {_targets_code(loop.target)} in enumerate({ast.unparse(loop.iter)}):"
    return Indexed(text, head, ast.unparse(_ByIndex(name, whole).visit(_copied(statement))))


def _targets(loop: ast.For) -> list[str]:
    """Return the variables that a loop gives values."""
    return [node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)]


def _targets_code(target: ast.expr) -> str:
    """Return the code of a loop's variables as one of several."""
    code = ast.unparse(target)
    return f"({code.strip('()')})" if isinstance(target, ast.Tuple) else code


def _gone_over(target: Any, source: Any, name: str) -> Any:
    """Return the expression whose parts a loop's variable is, through ``zip`` and ``enumerate``."""
    if isinstance(target, ast.Name):
        is_named = target.id == name and isinstance(
            source, (ast.Name, ast.Attribute, ast.Subscript)
        )
        return source if is_named else None
    called = source.func.id if _is_plain_call(source) else ""
    given = (
        {"zip": source.args, "enumerate": [None, *source.args[:1]]}.get(called, [])
        if called
        else []
    )
    pairs = zip(getattr(target, "elts", ()), given, strict=False)
    found = (_gone_over(part, value, name) for part, value in pairs if value is not None)
    return next((whole for whole in found if whole is not None), None)


def _is_plain_call(node: Any) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


def _copied(statement: Any) -> Any:
    """Return a statement's syntax tree once more, to be changed."""
    return ast.parse(ast.unparse(statement)).body[0]


class _ByIndex(ast.NodeTransformer):
    """Puts an item in the place of a variable."""

    def __init__(self, name: str, whole: ast.expr) -> None:
        self.name = name
        self.whole = whole

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id != self.name:
            return node
        return ast.Subscript(self.whole, ast.Name("i"), node.ctx)


def in_place(code: str) -> str:
    """Return an update that gives a name a new tensor as one that writes into the old one; "" where
    a statement is no such update.

    >>> in_place("w = w - lr * w.grad"), in_place("w = w.data - lr * w.grad.data")
    ('w -= lr * w.grad', 'w -= lr * w.grad.data')
    >>> in_place("w = torch.clamp(w - lr * w.grad, 0)"), in_place("h = f(w)")
    ('w.copy_(torch.clamp(w - lr * w.grad, 0))', '')
    """
    statement = _parsed(code)
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


class Reduced(NamedTuple):
    """A product that is reduced as a whole.

    Attributes:
        factor: its last factor, which alone was reduced before.
        statement: the statement as it is to be written.
    """

    factor: str
    statement: str


def reduced_whole(code: str, function: str) -> Reduced | None:
    """Return a product that reduces its last factor alone as one that is reduced as a whole; None
    where a statement is no such product.

    >>> reduced_whole("loss = e ** 2 * w.mean()", "mean")
    Reduced(factor='w', statement='loss = (e ** 2 * w).mean()')
    >>> reduced_whole("loss = e * w", "mean")
    """
    statement = _parsed(code)
    value = getattr(statement, "value", None)
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Mult):
        return None
    call: Any = value.right
    is_method = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    if not is_method or call.func.attr != function or call.args or call.keywords:
        return None
    value.right = call.func.value
    call.func.value, statement.value = value, call
    return Reduced(ast.unparse(value.right), ast.unparse(statement))
