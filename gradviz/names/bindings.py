"""Which statements bind a variable, what they give it, and when it may have been given to another
object. Knows no torch.

A recorded call proves that a variable holds a tensor: it was read there, or bound there. ``b = a``
is no call. So what counts is whether a statement that binds the name without one may have run since
the last proof.
"""

from __future__ import annotations

import ast
import functools
from typing import Any

from gradviz.names.position import dotted, statement_of

READS_ALL = {"locals", "vars", "eval"}  # functions that may read any variable

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


def scope_around(scope: Any) -> Any:
    """Return the scope in which another one is written."""
    return scope_of(scope.parent)


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


def binders_of(name: ast.expr) -> list[Any]:
    """Return the statements that bind a variable or its attribute, in the innermost scope that
    does; none of them for a parameter, nor for what is no name."""
    called, scope = dotted(name), scope_of(name)
    while called is not None:
        binders = [statement for bound, statement in bindings(scope) if bound == called]
        if binders or isinstance(scope, ast.Module) or called in parameters_of(scope):
            return binders
        scope = scope_around(scope)
        while isinstance(scope, ast.ClassDef):  # whose variables its methods do not see
            scope = scope_around(scope)
    return []


def binder_before(name: ast.expr) -> Any:
    """Return the statement above that bound last what an expression names; of a variable of an
    outer scope the only one that ever does. None where that is not known."""
    binders, scope = binders_of(name), scope_of(name)
    while isinstance(scope, COMPREHENSIONS):
        scope = scope_around(scope)
    if binders and scope_of(binders[0].parent) is scope:
        here = statement_of(name).lineno
        above = [binder for binder in binders if binder.lineno < here]
        return max(above, key=lambda binder: int(binder.lineno), default=None)
    return binders[0] if len(binders) == 1 else None


def value_before(name: ast.expr) -> Any:
    """Return the expression that was given to a name last, see ``binder_before``."""
    called, binder = dotted(name), binder_before(name)
    return None if called is None or binder is None else value_given(called, binder)


def value_given(name: str, binder: Any) -> Any:
    """Return the expression that a statement gives a name; None where it is no assignment."""
    if isinstance(binder, ast.AnnAssign):
        return binder.value
    if not isinstance(binder, ast.Assign):
        return None
    for target in binder.targets:
        if dotted(target) == name:
            return binder.value
        if isinstance(target, ast.Tuple) and isinstance(binder.value, ast.Tuple):
            for one, value in zip(target.elts, binder.value.elts, strict=False):
                if dotted(one) == name:
                    return value
    return None


def parameters_of(scope: Any) -> list[str]:
    """Return the names of a function's parameters, in the order in which a call fills them; none
    for a scope that is no function."""
    given = getattr(scope, "args", None)
    if not isinstance(given, ast.arguments):
        return []
    rest = [a for a in (given.vararg, given.kwarg) if a is not None]
    return [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs, *rest)]


def default_of(function: Any, parameter: str) -> Any:
    """Return the expression that a parameter is where no call gives it; None where it has to be
    given."""
    given = function.args
    plain = [a.arg for a in (*given.posonlyargs, *given.args)]
    by_place = dict(zip(plain[::-1], given.defaults[::-1], strict=False))
    by_name = {a.arg: v for a, v in zip(given.kwonlyargs, given.kw_defaults, strict=True)}
    return {**by_place, **by_name}.get(parameter)


def argument_of(call: ast.Call, function: Any, parameter: str, before: int) -> Any:
    """Return the expression that a parameter is in a call, its default where the call gives none;
    the call itself where that cannot be told, None where nothing gives it.

    Args:
        call: of the function.
        function: its syntax node.
        parameter: its name.
        before: how many parameters stand before the call's arguments: ``self``.

    Example:
        >>> tree = ast.parse("def f(x, rate=0.5): f(1), f(1, 0), f(*both)")
        >>> calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        >>> [ast.unparse(argument_of(call, tree.body[0], "rate", 0)) for call in calls]
        ['0.5', '0', 'f(*both)']
    """
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    if None in named or any(isinstance(a, ast.Starred) for a in call.args):
        return call
    plain = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    place = plain.index(parameter) - before if parameter in plain else -1
    if parameter in named or not 0 <= place < len(call.args):
        return named.get(parameter) or default_of(function, parameter)
    return call.args[place]


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
