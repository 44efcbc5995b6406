"""Groups of parameters that were built for an optimizer, and never given to one."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gradviz.graph.records import Source
from gradviz.names.statements import Statements


class Group(NamedTuple):
    """A list of parameters that a variable holds.

    Attributes:
        owner: its name.
        code: the list as it is written: ``groups["params"]``.
    """

    owner: str
    code: str


def unused_group(left: Mapping[int, Any]) -> Group | None:
    """Return a list that a variable holds, in which parameters stand that no optimizer has, and no
    others.

    Args:
        left: those parameters, by identity.
    """
    first = next(iter(left.values()))
    for members in gc.get_referrers(first):
        if type(members) is not list or not all(id(one) in left for one in members):
            continue
        for holder in gc.get_referrers(members):
            if type(holder) is not dict:
                continue
            for variable in _variables(holder, members):
                return Group(variable, variable)
            if holder.get("params") is members:
                spaces = [n for n in gc.get_referrers(holder) if type(n) is dict]
                for variable in (v for space in spaces for v in _variables(space, holder)):
                    return Group(variable, f"{variable}['params']")
    return None


def _variables(namespace: Mapping[Any, Any], value: Any) -> Iterator[str]:
    """Yield the module-level variables that hold a value, where a mapping is a namespace."""
    if "__name__" not in namespace:
        return
    for name, held in list(namespace.items()):
        if held is value and isinstance(name, str) and not name.startswith("_"):
            yield name


def last_filled(statements: Statements, variable: str) -> Source | None:
    """Return the last statement that gave a variable a value, or put something into it."""
    found = [place for place, node in statements.mentions(variable) if _fills(node, variable)]
    return found[-1] if found else None


def _fills(node: ast.stmt, variable: str) -> bool:
    """Say whether a statement assigns a variable or an item of it, or calls a method of it."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        targets: list[Any] = [node.value.func]
    elif isinstance(node, ast.Assign):
        targets = list(node.targets)
    else:
        targets = [node.target] if isinstance(node, ast.AugAssign) else []
    return any(_root(target) == variable for target in targets)


def _root(node: ast.AST) -> str:
    """Return the variable at the begin of ``groups["params"].append``."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
