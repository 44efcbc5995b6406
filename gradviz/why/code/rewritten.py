"""A statement of the program as it is to be written instead. Reads code, runs none of it."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import Any, NamedTuple

import torch

from gradviz.names.position import dotted

# what the packages of torch's functions are called in code
_PACKAGES = {
    "torch": torch,
    **dict.fromkeys(("F", "functional", "nn.functional"), torch.nn.functional),
    "torch.nn.functional": torch.nn.functional,
}

# methods that torch has in place, too, under the same name with an underscore
_IN_PLACE = frozenset(
    "abs add clamp clip div exp lerp mul neg relu renorm round sigmoid sub tanh".split()
)


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
    statement = parsed(code)
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


def item_out_of_place(code: str) -> str:
    """Return a statement that writes in place into an item of a list or a dict, or into an
    attribute, as one that puts a new tensor there; "" of another statement.

    >>> item_out_of_place("outs[i] += f(x)"), item_out_of_place("outs[0].mul_(2)")
    ('outs[i] = outs[i] + f(x)', 'outs[0] = outs[0].mul(2)')
    >>> item_out_of_place("F.relu_(outs[0])"), item_out_of_place("y += 1")
    ('outs[0] = F.relu(outs[0])', '')
    """
    statement = parsed(code)
    if isinstance(statement, ast.AugAssign):
        target = statement.target
        if isinstance(target, ast.Name) or getattr(target, "attr", "") in ("data", "grad"):
            return ""
        value = ast.BinOp(_read(target), statement.op, statement.value)
        return f"{ast.unparse(target)} = {ast.unparse(value)}"
    call = statement.value if isinstance(statement, ast.Expr) else None
    owner = _new_result(call) if isinstance(call, ast.Call) else None
    if owner is None or call is None or not isinstance(parsed(owner).value, ast.Subscript):
        return ""
    return f"{owner} = {ast.unparse(call)}"


def item_written(code: str) -> str:
    """Return the item into which a statement writes in place; "" where it writes into none.

    >>> [item_written(code) for code in ("outs[i + 1] += f(x)", "F.relu_(outs[0])", "y += 1")]
    ['outs[i + 1]', 'outs[0]', '']
    """
    item = item_out_of_place(code).partition(" = ")[0]
    return item if item.endswith("]") else ""


def _read(target: Any) -> Any:
    """Return what an assignment is made to as an expression that reads it."""
    return ast.parse(ast.unparse(target), mode="eval").body


# what makes lists and the like, which have no clone()
_COLLECTING = (
    *(ast.List, ast.Tuple, ast.Dict, ast.Set),
    *(ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp),
)


def copied_where_bound(code: str, name: str) -> str:
    """Return the statement that gives a variable a value as one that gives it a copy of that; ""
    where a statement does not do that alone, or what it gives is no tensor.

    >>> copied_where_bound("t = x[:, 0].view(2, 3)", "t"), copied_where_bound("y = a + b", "y")
    ('t = x[:, 0].view(2, 3).clone()', 'y = (a + b).clone()')
    >>> copied_where_bound("u, v = x", "u"), copied_where_bound("u = [f(x) for x in xs]", "u")
    ('', '')
    """
    statement = parsed(code)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if len(targets) != 1 or ast.unparse(targets[0]) != name:
        return ""
    if isinstance(statement.value, _COLLECTING):
        return ""
    call = ast.Call(ast.Attribute(statement.value, "clone"), [], [])
    return f"{name} = {ast.unparse(call)}"


def switched_on(code: str) -> str:
    """Return a statement that switches requires_grad off as one that switches it on; "" of another
    statement.

    >>> switched_on("p.requires_grad = False"), switched_on("net.requires_grad_(False)")
    ('p.requires_grad = True', 'net.requires_grad_(True)')
    >>> switched_on("p.requires_grad = on"), switched_on("freeze(net)")
    ('', '')
    """
    statement = parsed(code)
    given: list[Any] = []
    if isinstance(statement, ast.Assign):
        flags = [t for t in statement.targets if getattr(t, "attr", "") == "requires_grad"]
        given = [statement.value] if flags else []
    elif isinstance(getattr(statement, "value", None), ast.Call):
        call = statement.value
        is_switch = getattr(call.func, "attr", "") == "requires_grad_"
        given = [*call.args, *(k.value for k in call.keywords)] if is_switch else []
    if len(given) != 1 or not isinstance(given[0], ast.Constant) or given[0].value is not False:
        return ""
    given[0].value = True
    return ast.unparse(statement)


def data_given(code: str) -> tuple[str, str] | None:
    """Return what a statement gives the ``.data`` of, and what it gives; None of other statements.

    >>> data_given("self.mask.data = gate(s)"), data_given("y = x.data"), data_given("x.data += 1")
    (('self.mask', 'gate(s)'), None, None)
    """
    statement = parsed(code)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Attribute) or target.attr != "data":
        return None
    return ast.unparse(target.value), ast.unparse(statement.value)


def parsed(code: str) -> Any:
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


def in_place(code: str) -> str:
    """Return an update that gives a name a new tensor as one that writes into the old one; "" where
    a statement is no such update.

    >>> in_place("w = w - lr * w.grad"), in_place("w = w.data - lr * w.grad.data")
    ('w -= lr * w.grad', 'w -= lr * w.grad.data')
    >>> in_place("w = torch.clamp(w - lr * w.grad, 0)"), in_place("h = f(w)")
    ('w.copy_(torch.clamp(w - lr * w.grad, 0))', '')
    """
    statement = parsed(code)
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
    return written_into(code, target)


def written_into(code: str, name: str) -> str:
    """Return a statement that gives a name a new tensor as one that writes into the old one.

    >>> written_into("x = x.clamp(0, 1)", "x"), written_into("x = torch.clamp(x, 0)", "x")
    ('x.clamp_(0, 1)', 'x.copy_(torch.clamp(x, 0))')
    """
    value = getattr(parsed(code), "value", None)
    if not isinstance(value, ast.expr):
        return ""
    method = value.func if isinstance(value, ast.Call) else None
    is_method = isinstance(method, ast.Attribute) and ast.unparse(method.value) == name
    if isinstance(method, ast.Attribute) and is_method and method.attr in _IN_PLACE:
        arguments = ast.unparse(value).removeprefix(f"{name}.{method.attr}")
        return f"{name}.{method.attr}_{arguments}"
    return f"{name}.copy_({ast.unparse(value)})"


def called_on(code: str, methods: Collection[str]) -> str:
    """Return the variable or attribute on which only some methods are called in an expression; ""
    of another expression.

    >>> called_on("y.float().view(-1)", ("float", "view")), called_on("f(y)", ("f",))
    ('y', '')
    """
    node = getattr(parsed(code), "value", None)
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr not in methods:
            return ""
        node = node.func.value
    return "" if node is None else dotted(node) or ""


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
    statement = parsed(code)
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
