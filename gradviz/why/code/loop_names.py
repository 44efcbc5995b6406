"""Loops over parameters that only give their own variable another object. Read off the code.

NOTE [loop names]: ``for p in model.parameters(): p = new`` leaves every parameter as it was. Knows
no torch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from gradviz.graph.records import Source
from gradviz.names.bindings import scope_of
from gradviz.names.statements import Statements, source_of

# what a loop goes through to change it
_WALKED = re.compile(r"param|weights|state_dict|\.modules\(")


class LoopName(NamedTuple):
    """A loop's variable that a statement in the loop gives another object, and nothing reads then.
    ``walked`` is what the loop goes through, as it is written."""

    name: str
    walked: str
    statement: Source


def loop_names_rebound(statements: Statements) -> Iterator[LoopName]:
    """Yield them, in the order of the code.

    Example:
        >>> [*loop_names_rebound(Statements([]))]
        []
    """
    for file, loop in statements.nodes(ast.For):
        walked = ast.unparse(loop.iter)
        if not _WALKED.search(walked):
            continue
        targets = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
        inside = (n for part in loop.body for n in ast.walk(part))
        for node in (n for n in inside if isinstance(n, ast.Assign)):
            name = _only_name(node)
            if name in targets and not _is_read_after(loop, node, name):
                yield LoopName(name, walked, source_of(file, node))


def _only_name(node: ast.Assign) -> str:
    """Return the variable that a statement alone assigns; "" where it assigns something else."""
    target = node.targets[0] if len(node.targets) == 1 else None
    return target.id if isinstance(target, ast.Name) else ""


def _is_read_after(loop: ast.For, node: ast.Assign, name: str) -> bool:
    """Say whether a variable is read behind a statement, or by another round of a loop that stands
    in this one."""
    end = node.end_lineno or node.lineno, node.end_col_offset or 0
    behind = (n for n in _reads(scope_of(node), name) if (n.lineno, n.col_offset) > end)
    return any(behind) or any(any(_reads(inner, name)) for inner in _loops_between(node, loop))


def _reads(tree: ast.AST, name: str) -> Iterator[ast.Name]:
    """Yield where a variable is read."""
    names = (n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name)
    yield from (n for n in names if isinstance(n.ctx, ast.Load))


def _loops_between(node: Any, loop: ast.For) -> Iterator[ast.AST]:
    """Yield the loops around a statement that stand in another loop."""
    while node is not loop:
        if isinstance(node, (ast.For, ast.While)):
            yield node
        node = node.parent
