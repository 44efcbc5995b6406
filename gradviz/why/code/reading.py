"""Reads what a program's words stand for, without running any of it: names, attributes and
subscripts with constant keys, on plain objects. Everything else is left unread."""

from __future__ import annotations

import ast
import inspect
import types
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from gradviz.watch.identity import read

UNREAD = object()  # what is not read, because that could run code
LOOKS = ("grad", "requires_grad", "grad_fn")  # what autograd says of a tensor
WIDTH = 1_000  # variables of an object, or items of a list, that are looked at
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_HISTORY = ("In", "Out")  # of a notebook
_OWN = (torch.nn.Module, torch.optim.Optimizer)

# what reads a parameter without computing with it
NOT_COMPUTING = {"requires_grad", "requires_grad_", "detach", "data", "clone", "__deepcopy__"}


def value_of(expression: ast.AST, names: Mapping[str, Any]) -> Any:
    """Return what an expression stands for, or ``UNREAD``.

    Args:
        expression: any expression; calls, operators and properties are not run.
        names: the variables that it may name.

    Example:
        >>> word = ast.parse("net['a'].w", mode="eval").body
        >>> value_of(word, {"net": {"a": types.SimpleNamespace(w=3)}})
        3
        >>> value_of(ast.parse("f()", mode="eval").body, {"f": print}) is UNREAD
        True
    """
    if isinstance(expression, ast.Name):
        return names.get(expression.id, UNREAD)
    if isinstance(expression, ast.Attribute):
        return _attribute(value_of(expression.value, names), expression.attr)
    if isinstance(expression, ast.Subscript):
        key = _constant(expression.slice)
        return UNREAD if key is UNREAD else _item(value_of(expression.value, names), key)
    return UNREAD


def _constant(key: ast.AST) -> Any:
    """Return a whole number or a text that is written as a key."""
    if isinstance(key, ast.UnaryOp) and isinstance(key.op, ast.USub):
        number = _constant(key.operand)
        return -number if type(number) is int else UNREAD
    is_constant = isinstance(key, ast.Constant) and type(key.value) in (int, str)
    return key.value if is_constant and isinstance(key, ast.Constant) else UNREAD


def _attribute(owner: Any, name: str) -> Any:
    """Return a variable of an object, or what a module keeps under a name."""
    if owner is UNREAD or issubclass(type(owner), torch.Tensor):
        return UNREAD
    own = own_variables(owner)
    if name in own:
        return own[name]
    if issubclass(type(owner), torch.nn.Module):
        for kept in ("_parameters", "_buffers", "_modules"):
            if type(own.get(kept)) in (dict, types.MappingProxyType) and name in own[kept]:
                return own[kept][name]
    found = inspect.getattr_static(type(owner), name, UNREAD)
    return found if issubclass(type(found), torch.Tensor) else UNREAD


def own_variables(owner: Any) -> dict[str, Any]:
    """Return the variables of an object or of a module of Python's; none where these cannot be
    read without running code."""
    try:
        own = object.__getattribute__(owner, "__dict__")
    except Exception:  # it has none, or a property of that name
        return {}
    return own if type(own) is dict else {}


def _item(owner: Any, key: Any) -> Any:
    """Return an item of a list, a tuple, a mapping, or a container of modules."""
    kind = type(owner)
    if kind is dict:
        return owner.get(key, UNREAD)
    if kind in (list, tuple) and type(key) is int:
        return owner[key] if -len(owner) <= key < len(owner) else UNREAD
    if kind in (torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ModuleDict):
        modules = dict(own_variables(owner)["_modules"])
        if type(key) is str:
            return modules.get(key, UNREAD)
        return _item([*modules.values()], key)
    if kind in (torch.nn.ParameterList, torch.nn.ParameterDict):
        return _attribute(owner, str(key)) if type(key) is not int or key >= 0 else UNREAD
    return UNREAD


# --- what a program looks at ----------------------------------------------------------------------


def looks(tree: ast.AST, attributes: tuple[str, ...] = LOOKS) -> list[tuple[str, ast.expr]]:
    """Return what the words of a program ask of autograd, in their order: (attribute, of which
    expression). What stands in the body of a function is another program.

    Example:
        >>> words = ast.parse("print(w.grad, net.a.requires_grad)")
        >>> [(attribute, ast.unparse(word)) for attribute, word in looks(words)]
        [('grad', 'w'), ('requires_grad', 'net.a')]
        >>> [attribute for attribute, _ in looks(ast.parse("w.grad *= 2; w.grad = None"))]
        ['grad']
    """
    nodes = list(_outside_functions(tree))
    read_and_written = [node.target for node in nodes if isinstance(node, ast.AugAssign)]
    return [
        (node.attr, node.value)
        for node in nodes
        if isinstance(node, ast.Attribute)
        and (isinstance(node.ctx, ast.Load) or node in read_and_written)
        and node.attr in attributes
    ]


def _outside_functions(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree in their order, without the bodies of functions and classes."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        if not isinstance(child, _FUNCTIONS):
            yield from _outside_functions(child)


# --- what objects hold ----------------------------------------------------------------------------


def with_parts(names: Mapping[str, Any]) -> dict[str, Any]:
    """Return variables, and after them what their objects hold of modules, optimizers, trained
    leaves and states that no variable holds itself: of an agent ``agent.encoder``; of a module
    the optimizers alone.

    Example:
        >>> agent = types.SimpleNamespace(net=torch.nn.Linear(2, 1), size=2)
        >>> [*with_parts({"agent": agent})]
        ['agent', 'agent.net']
    """
    found = dict(names)
    known = set(map(id, found.values()))
    for name, owner in list(names.items())[:WIDTH]:
        of_module = issubclass(type(owner), torch.nn.Module) and not is_of_torch(type(owner))
        if name.startswith("_") or name in _HISTORY or not (of_module or _is_plain(owner)):
            continue
        own = set[int]()  # what the owner holds under two names may be meant as two
        for part, value in _parts(owner):
            if of_module and not issubclass(type(value), torch.optim.Optimizer):
                continue  # what else a module holds is told as its part
            again = id(value) in own and issubclass(type(value), torch.nn.Module)
            if (again or id(value) not in known) and _is_asked_about(value):
                known.add(id(value))
                own.add(id(value))
                found.setdefault(f"{name}{part}", value)
    return found


def parts_held(owner: Any) -> list[Any]:
    """Return what an object of the program's own class holds of modules, optimizers, trained leaves
    and states; nothing of any other object.

    Example:
        >>> agent = types.SimpleNamespace(net=torch.nn.Linear(2, 1), size=2)
        >>> parts_held(agent), parts_held(2.0)
        ([Linear(in_features=2, out_features=1, bias=True)], [])
    """
    if not _is_plain(owner):
        return []
    return [value for _, value in _parts(owner) if _is_asked_about(value)]


def is_state(value: Any) -> bool:
    """Say whether it is what ``state_dict()`` gives: plain tensors by name.

    Example:
        >>> is_state(torch.nn.Linear(2, 1).state_dict()), is_state({"lr": 0.1}), is_state({})
        (True, False, False)
    """
    if not issubclass(type(value), dict) or not dict.__len__(value):
        return False
    plain = (
        issubclass(type(t), torch.Tensor) and not issubclass(type(t), torch.nn.Parameter)
        for t in dict.values(value)
    )
    return all(plain) and all(type(name) is str for name in dict.keys(value))


def are_values(value: Any) -> bool:
    """Say whether it is a list of plain tensors, such as the values of parameters.

    >>> are_values([torch.ones(2)]), are_values([]), are_values([torch.nn.Parameter(torch.ones(2))])
    (True, False, False)
    """
    if type(value) not in (list, tuple) or not value:
        return False
    kinds = [type(t) for t in value]
    plain = (issubclass(k, torch.Tensor) and not issubclass(k, torch.nn.Parameter) for k in kinds)
    return all(plain)


def holds_tracked(value: Any) -> bool:
    """Say whether it is a tensor that requires grad, or a list, tuple, set or dict with one.

    Example:
        >>> w = torch.ones(1, requires_grad=True)
        >>> holds_tracked([{"loss": w}]), holds_tracked([w.item()]), holds_tracked([])
        (True, False, False)
    """
    if issubclass(type(value), torch.Tensor):
        return bool(value.requires_grad)
    if type(value) is dict:
        return any(map(holds_tracked, value.values()))
    return type(value) in (list, tuple, set, deque) and any(map(holds_tracked, value))


def _is_asked_about(value: Any) -> bool:
    """Say whether it is a module, an optimizer, a leaf that is trained, or what ``state_dict()``
    gave."""
    return is_trained_leaf(value) or issubclass(type(value), _OWN) or is_state(value)


def is_trained_leaf(value: Any) -> bool:
    """Say whether it is a leaf that asks for gradients; of some views torch does not tell."""
    is_tensor = issubclass(type(value), torch.Tensor)
    return is_tensor and bool(read(lambda: value.is_leaf and value.requires_grad))


def _is_plain(owner: Any) -> bool:
    """Say whether it is an object of the user's, a list or a mapping: no tensor, no module, no
    class, nothing of Python's."""
    kind = type(owner)
    if kind in (dict, list, tuple):
        return True
    foreign = (torch.Tensor, *_OWN, type, types.ModuleType, types.FunctionType)
    is_foreign = issubclass(kind, foreign) or is_of_torch(kind)
    return not is_foreign and kind.__module__ != "builtins"


def is_of_torch(kind: type) -> bool:
    """Say whether torch defines a class."""
    return f"{kind.__module__}.".startswith("torch.")


def _parts(owner: Any) -> Iterator[tuple[str, Any]]:
    """Yield what an object holds, each with what is written behind its name to get it."""
    if type(owner) is dict:
        items = list(owner.items())[:WIDTH]
        yield from ((f"[{key!r}]", value) for key, value in items if type(key) in (int, str))
    elif type(owner) in (list, tuple):
        yield from ((f"[{i}]", value) for i, value in enumerate(owner[:WIDTH]))
    else:
        own = list(own_variables(owner).items())[:WIDTH]
        names = ((key, value) for key, value in own if type(key) is str and not key.startswith("_"))
        yield from ((f".{key}", value) for key, value in names)
