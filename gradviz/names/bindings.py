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
    """The function, class, module or comprehension whose variables a node reads and binds."""
    while not isinstance(node, _SCOPES):
        node = node.parent
    return node


@functools.lru_cache(maxsize=64)
def bindings(scope: Any) -> list[tuple[str, Any]]:
    """The names that the statements of a scope bind or delete."""
    found, todo = [], list(ast.iter_child_nodes(scope))
    for node in todo:  # which grows
        is_target = isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))
        name = (
            dotted(node)
            if is_target
            else getattr(node, "asname", None) or getattr(node, "name", None)
        )
        found += [(name, statement_of(node))] if isinstance(name, str) else []
        todo += [] if isinstance(node, _SCOPES) else ast.iter_child_nodes(node)
    return found


@functools.lru_cache(maxsize=1024)
def is_conditional(statement: Any) -> bool:
    """Whether a part of the statement may be left out when it runs."""
    return any(isinstance(part, (ast.IfExp, ast.BoolOp)) for part in ast.walk(statement))


def is_bound_since(
    scope: Any, name: str, here: Any, binds: bool, recorded: set[tuple[Any, str]], block: Any
) -> bool:
    """Whether a variable may have been given to another object since the last proof of what it
    holds.

    Args:
        scope: whose variable it is.
        name: ``w``, and ``w.grad`` or ``hs[0]``, which go with it.
        here: the statement that proved it.
        binds: did that one bind it? Else it read it.
        recorded: (statement, name) where every binding is a recorded call: it would be a later
            proof.
        block: no statement outside of this one counts; None for all that the scope does.
    """
    own = [(n, at) for n, at in bindings(scope) if f"{name}.".startswith((f"{n}.", f"{n}["))]
    for bound, other in own:
        is_out = block is not None and not block.lineno <= other.lineno <= block.end_lineno
        # w -= 1 leaves w.grad what it was
        target = bound if isinstance(other, ast.AugAssign) else name
        once = own.count((bound, other)) == 1 and not isinstance(other, (ast.For, ast.AsyncFor))
        if is_out or (once and (other, target) in recorded):
            continue
        is_proof = once and binds and other is here
        later = (other.lineno, other.col_offset) >= (here.lineno, here.col_offset) and not is_proof
        if later or not _comes_again(here, other, block):
            return True
    return False


def _comes_again(here: Any, other: Any, block: Any) -> bool:
    """Whether another round of a loop that both stand in passes ``here`` after ``other``, which
    stands before it."""
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
