"""A loop that writes into the parts of a tensor, as it is to be written by their index. Reads code,
runs none of it."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from gradviz.why.code.in_place import free_name, writes_into


class Indexed(NamedTuple):
    """A write into a part of what a loop goes over, by its index.

    Attributes:
        whole: what the loop goes over.
        above: the statement that gives it a name, "" where it has one.
        head: the loop's head, with an index.
        statements: the writes; where the loop reads its variable, too, the statement that gives it
            the part by its index.
    """

    whole: str
    above: str
    head: str
    statements: list[str]


def written_by_index(statement: Any, name: str) -> Indexed | None:
    """Return a write into a loop's variable, and all others in that loop, as those into what the
    loop goes over; None where no loop around the statement gives the variable a part of something.

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
    text, over, index = ast.unparse(whole), ast.unparse(loop.iter), free_name("i", loop)
    above = ""
    if isinstance(whole, ast.Call):  # it would give other parts each time
        called, text = text, free_name("parts", loop)
        above, over = f"{text} = {called}", over.replace(called, text)
        whole = ast.Name(text)
    head = f"for {index}, {_targets_code(loop.target)} in enumerate({over}):"
    writes = [write.statement for write in writes_into([name], loop)] or [statement]
    if _is_read_beside(name, loop, writes):
        return Indexed(text, above, head, [f"{name} = {text}[{index}]"])
    one = _ByIndex(name, whole, index)
    by_index = [ast.unparse(one.visit(_copied(write))) for write in writes]
    return Indexed(text, above, head, by_index)


def _is_read_beside(name: str, loop: ast.For, writes: list[Any]) -> bool:
    """Say whether a loop reads its variable elsewhere than in some statements: it has to be the
    part that is written, then."""
    inside = {id(node) for write in writes for node in ast.walk(write)}
    nodes = (node for statement in loop.body for node in ast.walk(statement))
    reads = (n for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    return any(n.id == name and id(n) not in inside for n in reads)


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
        is_known = isinstance(source, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
        is_of_parts = is_known and not _is_plain_call(source)
        return source if target.id == name and is_of_parts else None
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

    def __init__(self, name: str, whole: ast.expr, index: str) -> None:
        self.name = name
        self.whole = whole
        self.index = index

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id != self.name:
            return node
        return ast.Subscript(self.whole, ast.Name(self.index), node.ctx)
