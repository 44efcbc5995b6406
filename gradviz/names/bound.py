"""What the result of a call is bound to: it is followed out of its expression, and from every
function that returns it to the caller."""

from __future__ import annotations

import ast
import inspect
from types import CodeType
from typing import Any, NamedTuple

from gradviz.graph.sites import REPLACED
from gradviz.names.direct import is_direct, is_made_by_builtin
from gradviz.names.position import Place, callee_of, dotted, statement_of

_NO_RESULT = {"__bool__", "__contains__", "__hash__", "__index__", "__iter__", "__len__"}
_GENERATOR = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR

# from a literal down to the call: (index, length) or (key, -1), ...
_Path = tuple[tuple[Any, int], ...]


class Binding(NamedTuple):
    """What a call's result is bound to; the fields are those of ``Named``."""

    targets: tuple[str | None, ...] = ()
    unpacked: bool = False
    each: bool = False
    shown: Any = None  # the node whose text is shown, where it is not the call's own
    depth: int = 0


def binding_of(places: list[Place], written: set[Any]) -> Binding:
    """Find what the call's result is bound to: out of the expression, and through ``return`` on to
    the callers."""
    way = _way_to_binder(places)
    value, path, shown, depth = way.value, way.path, way.shown, way.depth
    if value is None:
        return _bind(way.walrus_targets, [], (), written)._replace(shown=shown)
    if way.is_store:
        # y[0] = 5, x.data = y write into y, x
        return Binding((dotted(value.value),), shown=statement_of(value), depth=depth)
    binder = _binder_of(value)
    targets = _targets(binder, value)
    each = isinstance(binder, ast.For) and not path
    if isinstance(binder, ast.For):
        targets, path = _loop_targets(targets, path)
    elif not depth and not path and _is_plain_assignment(binder, targets, written):
        shown = binder
    bound = _bind(way.walrus_targets, targets, path, written)
    return bound._replace(shown=shown, each=each and bool(targets), depth=depth)


class _Way(NamedTuple):
    """How a result gets from its call to the statement that binds it."""

    value: Any  # the expression that the statement binds; None where none does
    path: _Path
    walrus_targets: list[Any]
    shown: Any  # the outermost ``:=`` around the call
    depth: int = 0
    is_store: bool = False  # ``value`` is itself written into


def _way_to_binder(places: list[Place]) -> _Way:
    """Follow a result out of its expression, and from every function that returns it to the
    caller."""
    path: _Path = ()
    walrus_targets: list[Any] = []
    shown: Any = None
    called: CodeType | None = None  # what the place calls, by a hook's way or not
    for depth, place in enumerate(places):
        if place.code is REPLACED:
            continue
        hands_out = _returns_result_of(place, called) if called else is_direct(place)
        if not hands_out:
            break
        called = place.code
        if place.is_store:
            return _Way(place.node, path, walrus_targets, shown, depth, is_store=True)
        value, path, passed = _climb(place.node, path)
        walrus_targets += [walrus.target for walrus in passed]
        if passed and not depth:
            shown = passed[-1]
        if not _is_returned(value):
            return _Way(value, path, walrus_targets, shown, depth)
    return _Way(None, path, walrus_targets, shown)


def _binder_of(value: Any) -> Any:
    """Return what stands around a value; a statement is its own binder (``x += y``)."""
    return value if isinstance(value, ast.stmt) else value.parent


def _is_returned(value: Any) -> bool:
    """Tell whether a value is what its function returns."""
    binder = _binder_of(value)
    if isinstance(binder, ast.Lambda):
        return value is binder.body
    return isinstance(binder, ast.Return)


def _loop_targets(targets: list[Any], path: _Path) -> tuple[list[Any], _Path]:
    """Keep the targets of a ``for`` that name one element of the iterated value, and the path that
    is left inside of that element."""
    if not path:
        return [t for t in targets if not isinstance(t, (ast.Tuple, ast.List))], ()
    # for h in (a * 2, a * 3): h is one whole element after the other
    length = path[0][1]
    return (targets, path[1:]) if length >= 0 else ([], ())


def _is_plain_assignment(binder: Any, targets: list[Any], written: set[Any]) -> bool:
    """Tell whether a statement binds its targets to the value and copies it into none of them."""
    if not targets or written.intersection(targets):
        return False
    return isinstance(binder, (ast.Assign, ast.AnnAssign, ast.AugAssign))


def _bind(walrus: list[Any], targets: list[Any], path: _Path, written: set[Any]) -> Binding:
    """Return what the targets, those of ``:=`` first, bind a result to."""
    named = [_names_of(t, (), written) for t in walrus] + [
        _names_of(t, path, written) for t in targets
    ]
    unpacked = [names for names, is_unpacked in named if is_unpacked]
    if unpacked:
        return Binding(unpacked[0], unpacked=True)
    return Binding(tuple(name for names, _ in named for name in names if name))


def _climb(node: Any, path: _Path) -> tuple[Any, _Path, list[ast.NamedExpr]]:
    """Follow a value out of whatever only hands it on: tuple, list and dict literals, ``if``
    expressions, ``:=``, ``await``."""
    walrus: list[ast.NamedExpr] = []
    while True:
        up = node.parent
        if isinstance(up, (ast.Tuple, ast.List)) and not any(
            isinstance(e, ast.Starred) for e in up.elts
        ):
            path = ((up.elts.index(node), len(up.elts)), *path)
        elif isinstance(up, ast.Dict) and (key := _key_of(up, node)):
            path = ((key.value, -1), *path)
        elif isinstance(up, ast.NamedExpr):
            if not path:
                walrus.append(up)
        elif not (
            (isinstance(up, ast.IfExp) and node is not up.test)
            or (isinstance(up, ast.BoolOp) and node is up.values[-1])
            or isinstance(up, ast.Await)
        ):
            return node, path, walrus
        node = up


def _key_of(literal: ast.Dict, value: Any) -> ast.Constant | None:
    """Return the key of a value in a dict literal, where it is a constant."""
    key = literal.keys[literal.values.index(value)] if value in literal.values else None
    return key if isinstance(key, ast.Constant) else None


def _targets(binder: Any, value: Any) -> list[Any]:
    """Return the targets that ``binder`` assigns ``value`` to; a statement is its own value where
    it calls itself (``x += y``)."""
    if isinstance(getattr(value, "ctx", None), ast.Store):  # q, k = t iterates over t
        return [value]
    if isinstance(binder, (ast.Assign, ast.AnnAssign)) and value is binder.value:
        return binder.targets if isinstance(binder, ast.Assign) else [binder.target]
    if isinstance(binder, ast.AugAssign) and value is binder:
        return [binder.target]
    if isinstance(binder, ast.For) and value in (binder, binder.iter):
        return [binder.target]
    if isinstance(binder, ast.With) and value is binder and len(binder.items) == 1:
        return [t for t in [binder.items[0].optional_vars] if t]
    return []


def _names_of(target: Any, path: _Path, written: set[Any]) -> tuple[tuple[str | None, ...], bool]:
    """Return the names that ``target`` gives to what stands at ``path`` of the assigned value, and
    whether it unpacks it."""
    while path and isinstance(target, (ast.Tuple, ast.List)):
        index, length = path[0]
        elements: list[Any] = target.elts
        star = next((i for i, e in enumerate(elements) if isinstance(e, ast.Starred)), None)
        if length < 0 or (star is None and len(elements) != length):
            return (None,), False
        if star is None or index < star:
            target, path = elements[index], path[1:]
        elif index >= length - (len(elements) - star - 1):
            target, path = elements[index - length], path[1:]
        else:
            target, path = elements[star].value, ((index - star, 0), *path[1:])
    if isinstance(target, (ast.Tuple, ast.List)):
        return tuple(_element(e, written) for e in target.elts), True
    name = _bindable(target, written)
    return (name and name + "".join(f"[{key!r}]" for key, _ in path),), False


def _bindable(target: ast.expr, written: set[Any]) -> str | None:
    """Return the target's name; None where a recorded call shows that the assignment copied the
    value into a tensor."""
    return None if target in written else dotted(target)


def _element(target: ast.expr, written: set[Any]) -> str | None:
    """Return the name of one of the targets of an unpacking: ``"*rest"`` of a starred one."""
    name = _bindable(target.value if isinstance(target, ast.Starred) else target, written)
    return f"*{name}" if name and isinstance(target, ast.Starred) else name


def _returns_result_of(place: Place, code: CodeType) -> bool:
    """Tell whether the value of a caller's node is what ``code`` returns. Called functions are
    known by name only."""
    node, name = place.node, code.co_name
    if isinstance(node, ast.Await):
        return not code.co_flags & _GENERATOR
    if node is None or code.co_flags & (_GENERATOR | inspect.CO_COROUTINE):
        return False
    if isinstance(node, ast.Call):
        return _returns_result_of_function(node, name)
    if isinstance(node, ast.Attribute):
        return name in (node.attr, "__getattr__", "__getattribute__", "__get__")
    if isinstance(node, ast.With):
        return name == "__enter__"
    is_operator = isinstance(
        node, (ast.BinOp, ast.UnaryOp, ast.AugAssign, ast.Compare, ast.Subscript)
    )
    return is_operator and name.startswith("__") and name not in _NO_RESULT and is_direct(place)


def _returns_result_of_function(call: ast.Call, name: str) -> bool:
    """Tell whether a call's value is what the function of that name returns."""
    callee = call.func.value if isinstance(call.func, ast.Subscript) else call.func
    if isinstance(callee, ast.Lambda) or callee_of(callee) == name:
        return True
    # A wrapper, a module or a lambda by another name; but not what only takes the function:
    # vmap(f, x), grad(f)(x)
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    takes_it = any(isinstance(a, ast.Lambda) or callee_of(a) == name for a in arguments)
    return callee_of(callee) is not None and not is_made_by_builtin(call) and not takes_it
