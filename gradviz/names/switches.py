"""Where gradients are switched off: by which ``with``, decorator or statement. Knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from gradviz.names.position import Place, last_name

_INFERENCE = "inference_mode"
_OFF = ("no_grad", _INFERENCE)
_ON = "enable_grad"
_SET = "set_grad_enabled"


class Switch(NamedTuple):
    """Where gradients are switched off: its line and, of a decorator, the function below it."""

    line: int
    decorated: str | None = None


def switch_around(places: Iterable[Place], *, in_inference: bool = False) -> Switch | None:
    """Return the ``with`` or the decorator that switches gradients off around the innermost of some
    places, where gradients are off. None: no such one is written there.

    Args:
        places: of the frames of one call, in one file, the outermost first.
        in_inference: inference mode is on there, which ``enable_grad`` does not lift.
    """
    around = [s for place in places for s in reversed(list(_switches_around(place.node)))]
    if in_inference:
        return _inference_among(around)
    switches = [s for s in around if _is_on(s) is not None or last_name(s) == _SET]
    found = None
    for switch in switches:
        is_on = _is_on(switch)
        # gradients are off, so the innermost switches them off, whatever its argument is
        if is_on is None and switch is switches[-1]:
            is_on = False
        if is_on is not None:
            found = None if is_on else found or Switch(switch.lineno, _decorated_by(switch))
    return found


def _inference_among(around: list[Any]) -> Switch | None:
    """Return the innermost of some contexts that switches inference mode on, or may do so."""
    named = [s for s in around if any(last_name(b) == _INFERENCE for b in _branches(s))]
    modes = [s for s in named if _is_on(s) is not True]
    return Switch(modes[-1].lineno, _decorated_by(modes[-1])) if modes else None


def _branches(switch: Any) -> list[Any]:
    """Return what a context may be: of ``inference_mode() if fast else no_grad()`` both."""
    return [switch.body, switch.orelse] if isinstance(switch, ast.IfExp) else [switch]


def _decorated_by(switch: Any) -> str | None:
    """Return the name of the function that a context is the decorator of."""
    below = getattr(switch, "parent", None)
    return below.name if isinstance(below, (ast.FunctionDef, ast.AsyncFunctionDef)) else None


def stated_switch(places: Iterable[Place]) -> Switch | None:
    """Return the innermost place at which ``set_grad_enabled(…)`` is called in a statement of its
    own: nothing takes that back. None: as a context, or nowhere.

    Args:
        places: of the frames of that call, in one file, the outermost first.
    """
    for place in reversed(list(places)):
        if isinstance(place.node, ast.Call) and last_name(place.node) == _SET:
            is_statement = isinstance(getattr(place.node, "parent", None), (ast.Expr, ast.Assign))
            return Switch(int(place.node.lineno)) if is_statement else None
    return None


def _switches_around(node: Any) -> Iterator[Any]:
    """Go through the contexts and decorators around a node in its function, the innermost first."""
    inner, outer = node, getattr(node, "parent", None)
    while outer is not None and not isinstance(outer, (ast.Lambda, ast.ClassDef)):
        if isinstance(outer, (ast.With, ast.AsyncWith)) and inner in outer.body:
            yield from (item.context_expr for item in reversed(outer.items))
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if inner in outer.body:
                yield from outer.decorator_list
            return
        inner, outer = outer, getattr(outer, "parent", None)


def _is_on(switch: Any) -> bool | None:
    """Say whether a context or decorator switches gradients on; None: it switches nothing, or that
    is not known."""
    name = last_name(switch)
    given = (*getattr(switch, "args", ()), *(k.value for k in getattr(switch, "keywords", ())))
    values = [value.value for value in given if isinstance(value, ast.Constant)]
    if name == _ON:
        return True
    if name in _OFF:
        return values[:1] == [False]  # inference_mode(False)
    return bool(values[0]) if name == _SET and values else None
