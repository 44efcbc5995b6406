"""Loops over parameters that only give their own variable another object. Read off the code.

NOTE [loop names]: ``for p in model.parameters(): p = new`` leaves every parameter as it was. Knows
no torch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from gradviz.graph.records import Source
from gradviz.graph.sites import is_installed_file
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
        if is_installed_file(file.filename) or not _WALKED.search(walked):
            continue
        targets = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
        inside = (n for part in loop.body for n in ast.walk(part))
        for node in (n for n in inside if isinstance(n, ast.Assign)):
            name = _only_name(node)
            if name in targets and not _is_read_after(scope_of(node), node, name):
                yield LoopName(name, walked, source_of(file, node))


def _only_name(node: ast.Assign) -> str:
    """Return the variable that a statement alone assigns; "" where it assigns something else."""
    target = node.targets[0] if len(node.targets) == 1 else None
    return target.id if isinstance(target, ast.Name) else ""


def _is_read_after(scope: ast.AST, node: ast.Assign, name: str) -> bool:
    """Say whether a variable is read below a statement."""
    end = node.end_lineno or node.lineno
    reads = (n for n in ast.walk(scope) if isinstance(n, ast.Name) and n.id == name)
    return any(isinstance(n.ctx, ast.Load) and n.lineno > end for n in reads)
