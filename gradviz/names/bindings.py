"""When a scope may have given one of its variables to another object. Knows no torch.

A recorded call proves that a variable holds a tensor: it was read there, or bound there. ``b = a``
is no call. So what counts is whether a statement that binds the name without one may have run since
the last proof.
"""

from __future__ import annotations

import ast
import functools
from typing import Any

from gradviz.names.position import dotted, statement_of

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.Lambda,
    ast.ClassDef,
    ast.Module,
    *COMPREHENSIONS,
)


def scope_of(node: Any) -> Any:
    """Return the function, class, module or comprehension that has the variables of a node."""
    while not isinstance(node, _SCOPES):
        node = node.parent
    return node


@functools.lru_cache(maxsize=64)
def bindings(scope: Any) -> list[tuple[str, Any]]:
    """Return the names that a scope binds or deletes, each with the statement that does it."""
    bound = []
    todo = list(ast.iter_child_nodes(scope))
    for node in todo:  # which grows
        is_target = isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))
        name = (
            dotted(node)
            if is_target
            else getattr(node, "asname", None) or getattr(node, "name", None)
        )
        if isinstance(name, str):
            bound.append((name, statement_of(node)))
        if not isinstance(node, _SCOPES):
            todo += ast.iter_child_nodes(node)
    return bound


@functools.lru_cache(maxsize=1024)
def is_conditional(statement: Any) -> bool:
    """Tell whether a part of the statement may be left out when it runs."""
    return any(isinstance(part, (ast.IfExp, ast.BoolOp)) for part in ast.walk(statement))


def is_bound_since(
    scope: Any, name: str, here: Any, binds: bool, recorded: set[tuple[Any, str]], block: Any
) -> bool:
    """Tell whether a variable may have been given to another object since the last proof of what
    it holds.

    Args:
        scope: whose variable it is.
        name: ``w``, and ``w.grad`` or ``hs[0]``, which go with it.
        here: the statement that proved it.
        binds: did that one bind it? Else it read it.
        recorded: (statement, name) where every binding is a recorded call: it would be a later
            proof.
        block: no statement outside of this one counts; None for all that the scope does.
    """
    binders = [(n, at) for n, at in bindings(scope) if f"{name}.".startswith((f"{n}.", f"{n}["))]
    for bound, other in binders:
        is_out = block is not None and not block.lineno <= other.lineno <= block.end_lineno
        # w -= 1 leaves w.grad what it was
        target = bound if isinstance(other, ast.AugAssign) else name
        once = binders.count((bound, other)) == 1 and not isinstance(other, (ast.For, ast.AsyncFor))
        if is_out or (once and (other, target) in recorded):
            continue
        is_proof = once and binds and other is here
        later = (other.lineno, other.col_offset) >= (here.lineno, here.col_offset) and not is_proof
        if later or not _comes_again(here, other, block):
            return True
    return False


def _comes_again(here: Any, other: Any, block: Any) -> bool:
    """Tell whether another round of a loop that both stand in passes ``here`` after ``other``,
    which stands before it."""
    top = loop = here
    while isinstance(top.parent, (ast.With, ast.AsyncWith)):
        top = top.parent
    while loop is not block and not isinstance(loop, _SCOPES):
        if (
            isinstance(loop, (ast.For, ast.AsyncFor, ast.While))
            and loop.lineno <= other.lineno <= loop.end_lineno
        ):
            leaves = any(
                isinstance(n, (ast.Break, ast.Continue, ast.Return)) for n in ast.walk(loop)
            )
            return top in loop.body and not leaves and not is_conditional(here)
        loop = loop.parent
    return True
