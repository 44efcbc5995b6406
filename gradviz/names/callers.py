"""Which expression at a call became a helper's parameter. Knows no torch.

A site tells the frames, not what ran between them: a ``functools.partial``, a wrapper or ``map``
have none. So the call's own text has to show that it calls this code, and where it hands the
argument on.
"""

from __future__ import annotations

import ast
import inspect
from types import CodeType
from typing import Any, NamedTuple, TypeGuard

from gradviz.graph.sites import CHECKPOINT
from gradviz.names.bindings import binders_of, bindings, scope_of
from gradviz.names.position import BUILTINS, Place, callee_of, dotted, is_module, statement_of

_THROUGH_TYPE = ("forward", "__call__", "__init__")  # what calling an object or a class runs


class Slot(NamedTuple):
    """One parameter: its position among the positional ones, if it has one, and its name."""

    position: int | None
    keyword: str


def slot_of(code: CodeType, name: str) -> Slot | None:
    """Return the parameter of a function that has this name; None where it has none.

    >>> slot_of((lambda a, *, b: 0).__code__, "b"), slot_of((lambda a: 0).__code__, "c")
    (Slot(position=None, keyword='b'), None)
    """
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if name not in parameters:
        return None
    position = parameters.index(name)
    return Slot(position if position < code.co_argcount else None, name)


def is_method(code: CodeType) -> bool:
    """Tell whether the first parameter of a function is the object or class that it belongs to.

    >>> is_method((lambda self, x: x).__code__), is_method((lambda x: x).__code__)
    (True, False)
    """
    return code.co_varnames[:1] in (("self",), ("cls",))


def is_rebound(name: str, node: Any) -> bool:
    """Tell whether the function around ``node`` may have given its parameter to another object
    before it runs ``node``."""
    here = statement_of(node)
    for bound, other in bindings(scope_of(node)):
        if bound == name and (other.lineno < here.lineno or _in_loop(other)):
            return True
    return False


def _in_loop(statement: Any) -> bool:
    """Tell whether a loop of the same function runs a statement."""
    while not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
        if isinstance(statement, (ast.For, ast.AsyncFor, ast.While)):
            return True
        statement = statement.parent
    return False


def passed(code: CodeType, slot: Slot, caller: Place, outside: CodeType) -> ast.expr | Slot | None:
    """Return what a call gave for a parameter of the code that it runs.

    Args:
        code: of the helper.
        slot: its parameter.
        caller: the place that called it.
        outside: the code that this place is in.

    Returns:
        The expression; the slot of ``outside`` where that only hands on what it got (``f(*args,
        **kwargs)``); None where it is not certain.
    """
    call = caller.node
    if outside is CHECKPOINT or not isinstance(call, ast.Call):
        return None
    shift = _shift(code, call, caller)
    if shift is None:
        return _element_of_map(code, call, slot)
    return _argument(call, slot, shift, outside) or _given_to_partial(code, call.func, slot)


def _element_of_map(code: CodeType, call: ast.Call, slot: Slot) -> ast.expr | None:
    """Return what ``list(map(f, [w]))`` gives ``f``; None where there are several elements, as
    nobody can tell which one it is."""
    inner = call.args[0] if len(call.args) == 1 and isinstance(call.args[0], ast.Call) else call
    if callee_of(inner.func) != "map" or not inner.args or callee_of(inner.args[0]) != code.co_name:
        return None
    if is_method(code) or any(isinstance(argument, ast.Starred) for argument in inner.args):
        return None
    if slot.position is None or not 0 <= slot.position < len(inner.args) - 1:
        return None
    mapped = inner.args[1 + slot.position]
    elements = mapped.elts if isinstance(mapped, (ast.List, ast.Tuple)) else []
    if len(elements) != 1 or isinstance(elements[0], ast.Starred):
        return None
    return elements[0]


def _given_to_partial(code: CodeType, function: ast.expr, slot: Slot) -> ast.expr | None:
    """Return what a ``partial`` in the same scope was made with, while the variables in it are what
    they were then."""
    if not isinstance(function, ast.Name) or is_method(code):
        return None
    scope_bindings = bindings(scope_of(function))
    assignment = _only_assignment(function.id, scope_bindings)
    partial = assignment.value if assignment is not None else None
    if not _is_partial(partial) or not _is_plain_partial_of(code, partial):
        return None
    argument = _stored_argument(partial, slot)
    if argument is None or _is_bound_behind(assignment, dotted(argument), scope_bindings):
        return None
    return argument


def _only_assignment(name: str, scope_bindings: list[tuple[str, Any]]) -> Any:
    """Return the assignment that binds a variable, where nothing else does and it runs once."""
    binders = [statement for bound, statement in scope_bindings if bound == name]
    if len(binders) != 1 or not isinstance(binders[0], ast.Assign):
        return None
    return None if _in_loop(binders[0]) else binders[0]


def _is_partial(value: ast.expr | None) -> TypeGuard[ast.Call]:
    """Tell whether an expression is ``partial(function, …)``."""
    return isinstance(value, ast.Call) and callee_of(value.func) == "partial" and bool(value.args)


def _is_plain_partial_of(code: CodeType, partial: ast.Call) -> bool:
    """Tell whether a ``partial`` is made of this code, and each of its arguments stands there."""
    if any(isinstance(argument, ast.Starred) for argument in partial.args):
        return False
    return callee_of(partial.args[0]) == code.co_name


def _stored_argument(partial: ast.Call, slot: Slot) -> ast.expr | None:
    """Return what a ``partial`` keeps for a parameter of its function."""
    for keyword in partial.keywords:
        if keyword.arg == slot.keyword:
            return keyword.value
    if slot.position is None or slot.position + 1 >= len(partial.args):
        return None
    return partial.args[slot.position + 1]


def _is_bound_behind(
    binder: ast.stmt, name: str | None, scope_bindings: list[tuple[str, Any]]
) -> bool:
    """Tell whether a name, or what it is an attribute or element of, may have been bound below a
    statement; what has no name may always have changed."""
    if name is None:
        return True
    later = [other for other, statement in scope_bindings if statement.lineno > binder.lineno]
    return any(f"{name}.".startswith((f"{other}.", f"{other}[")) for other in later)


def passed_to_checkpoint(
    code: CodeType, slot: Slot, caller: Place, outside: CodeType
) -> ast.expr | Slot | None:
    """Return the same as ``passed`` where ``checkpoint(function, *args)`` called the code."""
    call = caller.node
    if not isinstance(call, ast.Call) or callee_of(call.func) != "checkpoint" or not call.args:
        return None
    function = call.args[0]
    name = code.co_name
    same = isinstance(function, ast.Lambda) if name == "<lambda>" else callee_of(function) == name
    if not same and not (name == "forward" and dotted(function)):
        return None
    return _argument(call, slot, int(is_method(code)) - 1, outside)


def _shift(code: CodeType, call: ast.Call, place: Place) -> int | None:
    """Return how many of the code's parameters stand before the call's arguments; None where it may
    call something else."""
    callee = callee_of(call.func)
    takes_self = is_method(code)
    if _hands_on(call):
        return 0
    if callee == code.co_name and not (takes_self and isinstance(call.func, ast.Name)):
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
        is_object = receiver is not None and not is_module(receiver, place.source)
        if is_object and not takes_self:
            return None  # a static method, or an object whose attribute is a function
        return int(takes_self and (receiver is None or is_object))
    if code.co_name in _THROUGH_TYPE and takes_self:
        return 1
    if not isinstance(call.func, ast.Name) or call.func.id in BUILTINS:
        return None
    return _shift_of_alias(code, call.func)


def _hands_on(call: ast.Call) -> bool:
    """Tell whether a call is ``f(*args, **kwargs)``: a wrapper's, of what it wraps."""
    only = call.args[0] if len(call.args) == 1 else None
    named = all(keyword.arg is None for keyword in call.keywords)
    return isinstance(call.func, ast.Name) and isinstance(only, ast.Starred) and named


def _shift_of_alias(code: CodeType, name: ast.Name) -> int | None:
    """Return the shift for a variable that holds the function, as the one statement says that binds
    it."""
    binders = binders_of(name)
    if len(binders) != 1:
        return None
    binder = binders[0]
    is_wrapper = bool(code.co_flags & inspect.CO_VARARGS)
    if isinstance(binder, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return 0 if binder.decorator_list and is_wrapper else None
    value = binder.value if isinstance(binder, ast.Assign) else None
    return _shift_of_assigned(code, value)


def _shift_of_assigned(code: CodeType, value: ast.expr | None) -> int | None:
    """Return the shift for what was assigned to such a variable."""
    is_wrapper = bool(code.co_flags & inspect.CO_VARARGS)
    if isinstance(value, ast.Lambda):
        return 0 if code.co_name == "<lambda>" else None
    if isinstance(value, (ast.Name, ast.Attribute)):
        return _shift_of_value(code, value)
    if _is_partial(value):
        return len(value.args) - 1 if _is_plain_partial_of(code, value) else None
    return 0 if isinstance(value, ast.Call) and is_wrapper else None


def _shift_of_value(code: CodeType, value: ast.Name | ast.Attribute) -> int | None:
    """Return the shift for an assigned name: ``run = holder.run`` gives ``self``; whether ``run =
    Holder.run`` does, only what ``Holder`` is could tell."""
    if callee_of(value) != code.co_name:
        return None
    if not is_method(code):
        return 0
    receiver = value.value if isinstance(value, ast.Attribute) else None
    return 1 if receiver is not None and _is_made_here(receiver) else None


def _is_made_here(receiver: ast.expr) -> bool:
    """Tell whether it is an object by what the code says: ``self``, ``Holder()``, or a variable
    that a call was assigned to."""
    if isinstance(receiver, ast.Call):
        return True
    if not isinstance(receiver, ast.Name):
        return False
    if receiver.id == "self":
        return True
    binders = binders_of(receiver)
    makers = [b for b in binders if isinstance(b, ast.Assign) and isinstance(b.value, ast.Call)]
    return bool(binders) and len(makers) == len(binders)


def _argument(call: ast.Call, slot: Slot, shift: int, outside: CodeType) -> ast.expr | Slot | None:
    """Return what stands at a slot of the called code; ``shift`` of its parameters stand before the
    call's arguments."""
    for keyword in call.keywords:
        if keyword.arg == slot.keyword:
            return keyword.value
    position = None if slot.position is None else slot.position - shift
    plain = _arguments_before_star(call)
    if position is not None and 0 <= position < len(plain):
        return plain[position]
    return _slot_handed_on(call, slot.keyword, position, outside)


def _arguments_before_star(call: ast.Call) -> list[ast.expr]:
    """Return the positional arguments whose position is known."""
    stars = [i for i, argument in enumerate(call.args) if isinstance(argument, ast.Starred)]
    return call.args[: stars[0]] if stars else call.args


def _slot_handed_on(
    call: ast.Call, keyword: str, position: int | None, outside: CodeType
) -> Slot | None:
    """Return the slot of the calling code whose argument it hands on in ``*args`` or ``**kwargs``;
    None where it is not certain."""
    rest_name, mapping_name = _variadic_parameters(outside)
    mappings = [argument.value for argument in call.keywords if argument.arg is None]
    if not all(_is_untouched(mapping, mapping_name) for mapping in mappings):
        return None  # the argument may be in there
    if not mappings:
        keyword = ""
    star = len(_arguments_before_star(call))
    if position is not None and position >= star and _hands_on_rest(call, rest_name):
        return Slot(outside.co_argcount + position - star, keyword)
    return Slot(None, keyword) if mappings else None


def _variadic_parameters(code: CodeType) -> tuple[str | None, str | None]:
    """Return what a function calls its ``*args`` and its ``**kwargs``, None for what it has not."""
    names = list(code.co_varnames[code.co_argcount + code.co_kwonlyargcount :])
    rest_name = names.pop(0) if code.co_flags & inspect.CO_VARARGS and names else None
    mapping_name = names[0] if code.co_flags & inspect.CO_VARKEYWORDS and names else None
    return rest_name, mapping_name


def _hands_on_rest(call: ast.Call, rest_name: str | None) -> bool:
    """Tell whether the one starred argument is the caller's own ``*args``, as it got them."""
    starred = [argument for argument in call.args if isinstance(argument, ast.Starred)]
    return len(starred) == 1 and _is_untouched(starred[0].value, rest_name)


def _is_untouched(node: ast.expr, name: str | None) -> bool:
    """Tell whether it is the parameter of that name as the function got it: neither rebound, nor
    written by the way."""
    if not isinstance(node, ast.Name) or name is None or node.id != name or is_rebound(name, node):
        return False
    body = ast.walk(scope_of(node))
    uses = [other for other in body if isinstance(other, ast.Name) and other.id == name]
    return not any(_may_change(other) for other in uses)


def _may_change(use: ast.Name) -> bool:
    """Tell whether this use of a dict may change it: ``kw["x"] = b``, ``kw.pop("x")``,
    ``change(kw)``."""
    parent = use.parent  # type: ignore[attr-defined]
    if isinstance(parent, ast.Subscript):
        return not isinstance(parent.ctx, ast.Load)
    is_handed_on = isinstance(parent, ast.keyword) and parent.arg is None
    return not is_handed_on and not isinstance(parent, (ast.Starred, ast.Compare))
