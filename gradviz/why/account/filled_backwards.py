"""Lists that are filled from the last entry to the first, as the returns of an episode are added
up, and read as if they began with the first. Read off the code. Knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from gradviz.names.bindings import scope_of
from gradviz.names.position import callee_of, dotted, statement_or_head
from gradviz.names.statements import Statements, source_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.words.words import Words

# what puts a list, or what was made of it, into the other order; and what fills it from the front
_TURNS = {
    "reversed",
    "reverse",
    "flip",
    "flipud",
    "fliplr",
    "appendleft",
    "insert",
    "sort",
    "sorted",
}
# what makes a tensor of a list, in its order
_MAKES_TENSOR = {"tensor", "as_tensor", "FloatTensor", "Tensor", "stack", "cat", "array", "asarray"}
_ANY_ORDER = {"sum", "mean"}
# what a running sum may be handed to while it is added up; what a model is given is no sum
_CONVERTS = {"append", "float", "int", "tensor", "as_tensor", "max", "min", "clip", "clamp"}


def filled_backwards(words: Words, statements: Statements) -> Iterator[Remark]:
    """Tell of lists to which a loop that goes backwards appends its running sum, and which are read
    in that order; nothing where anything is turned round in that file.

    Args:
        words: what tensors and calls are called.
        statements: the code that ran.
    """
    for file, loop in statements.nodes(ast.For):
        of, appending = _gone_through(loop.iter), _appends_its_sum(loop)
        if of is None or appending is None or _turns_round(statements, file):
            continue
        name = ast.unparse(appending.func.value)
        reader = _reads_in_order(loop, name)
        if reader is None:
            continue
        head, at, there = (source_of(file, node) for node in (loop, appending, reader))
        fields = {
            "name": name,
            "loop": f"for {ast.unparse(loop.target)} in {ast.unparse(loop.iter)}",
            "place": words.line_of(head),
            "append": ast.unparse(appending),
            "at": words.line_of(at),
            "reader": ast.unparse(reader),
            "there": words.line_of(there),
            "mended": f"{name}.insert(0, {ast.unparse(appending.args[0])})",
        }
        yield Remark(Weight.WEIGHTY, "filled_backwards", fields, statements=(head, at, there))


def _gone_through(expression: Any) -> str | None:
    """Return what a loop goes through from its end to its beginning; None of others.

    >>> texts = ("reversed(rewards)", "rewards[::-1]", "range(3, -1, -1)", "rewards", "range(n)")
    >>> [_gone_through(ast.parse(text, mode="eval").body) for text in texts]
    ['rewards', 'rewards', 'range(3, -1, -1)', None, None]
    """
    if isinstance(expression, ast.Subscript) and ast.unparse(expression.slice) == "::-1":
        return ast.unparse(expression.value)
    if not isinstance(expression, ast.Call):
        return None
    if callee_of(expression.func) == "reversed" and len(expression.args) == 1:
        return ast.unparse(expression.args[0])
    is_range = callee_of(expression.func) == "range" and len(expression.args) == 3
    return ast.unparse(expression) if is_range and ast.unparse(expression.args[2]) == "-1" else None


def _appends_its_sum(loop: ast.For) -> Any:
    """Return the one call by which a loop appends the sum that it adds up (``R = r + gamma * R``),
    and nothing that it goes through besides; None where there is none, or several lists grow."""
    inside = [*ast.walk(loop)]
    appends = [n for n in inside if isinstance(n, ast.Call) and _is_append(n)]
    if len(appends) != 1 or _holds_a_loop(loop):
        return None
    appended, targets = _names_in(appends[0].args[0]), _names_in(loop.target)
    sums = {name for node in inside for name in _added_to_itself(node)} - _handed_on(inside)
    return appends[0] if appended & sums and not appended & targets else None


def _handed_on(inside: list[ast.AST]) -> set[str]:
    """Return the variables that calls are given which do more than convert a number."""
    calls = (n for n in inside if isinstance(n, ast.Call) and callee_of(n.func) not in _CONVERTS)
    return {name for call in calls for given in call.args for name in _names_in(given)}


def _holds_a_loop(loop: ast.For) -> bool:
    """Say whether another loop stands in a loop."""
    return any(isinstance(n, (ast.For, ast.While)) for n in ast.walk(loop) if n is not loop)


def _names_in(node: ast.AST) -> set[str]:
    """Return the variables that stand in an expression."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _is_append(call: ast.Call) -> bool:
    """Say whether a call appends to a variable or an attribute."""
    function = call.func
    is_method = isinstance(function, ast.Attribute) and function.attr == "append"
    return is_method and len(call.args) == 1 and bool(dotted(function.value))  # type: ignore[attr-defined]


def _added_to_itself(node: ast.AST) -> Iterator[str]:
    """Yield the variable to which a statement gives a sum with a multiple of itself, as the return
    of a step is its reward and the discounted one after it."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        name, value = node.targets[0].id, node.value
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            products = [n for n in (value.left, value.right) if _is_product(n)]
            if any(name in _names_in(product) for product in products):
                yield name


def _is_product(node: ast.expr) -> bool:
    """Say whether an expression is a product."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


def _turns_round(statements: Statements, file: Any) -> bool:
    """Say whether a file puts anything into the other order, beside the heads of loops."""
    for of, node in statements.nodes((ast.Call, ast.Subscript)):
        is_head = isinstance(node.parent, ast.For) and node.parent.iter is node
        if of is not file or is_head:
            continue
        if isinstance(node, ast.Call) and callee_of(node.func) in _TURNS:
            return True
        if isinstance(node, ast.Subscript) and "::-1" in ast.unparse(node.slice):
            return True
    return False


def _reads_in_order(loop: ast.For, name: str) -> Any:
    """Return the statement behind a loop, in its function, that goes through a list together with
    another, or makes a tensor of it; None where there is none."""
    for node in ast.walk(scope_of(loop)):
        if not isinstance(node, ast.Call) or node.lineno <= (loop.end_lineno or loop.lineno):
            continue
        given = [ast.unparse(a) for a in node.args]
        callee = callee_of(node.func)
        if name not in given or (callee == "zip" and len(given) < 2):
            continue
        if callee == "zip" or (callee in _MAKES_TENSOR and not _is_added_up(node)):
            return statement_or_head(node)
    return None


def _is_added_up(node: Any) -> bool:
    """Say whether only the sum or mean of what a call makes is taken: the order does not count."""
    around = node.parent
    return isinstance(around, ast.Attribute) and around.attr in _ANY_ORDER
