"""Which variables of a notebook its cells speak of: a notebook is full of what earlier cells made,
and a question is about what the newest loss was made with."""

from __future__ import annotations

import ast
import dis
import types
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import torch

from gradviz.names.statements import code_of_function
from gradviz.watch.identity import parameters, read
from gradviz.why.code.reading import is_of_torch, with_parts
from gradviz.why.evidence.older import leaves_behind
from gradviz.why.question.subjects import held_by

_LOADS = ("LOAD_GLOBAL", "LOAD_NAME")
_FUNCTIONS = (types.FunctionType, types.MethodType, partial)


def names_of_code(tree: ast.AST) -> set[str]:
    """Return the variables that code names, in the bodies of its functions too.

    >>> sorted(names_of_code(ast.parse("def f(x): return net(x)\\nloss = f(a).sum()")))
    ['a', 'f', 'loss', 'net', 'x']
    """
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def without_bystanders(
    names: Mapping[str, Any], spoken: Collection[str], loss: Any
) -> dict[str, Any]:
    """Return a notebook's variables without the modules and optimizers that have nothing to do with
    a loss: it reaches none of their parameters, and no code that made it speaks of them.

    Args:
        names: the notebook's variables.
        spoken: the variables that cells name, from the one that made the loss on.
        loss: a tensor; where it reaches no leaf at all nothing is left out, as what cut it off may
            have been anything.
    """
    reached = set(map(id, leaves_behind(loss)))
    if not reached:
        return dict(names)
    values = _used(names, spoken)
    at_work = reached | {id(p) for value in values for p in _parameters(value)}
    return {
        name: value
        for name, value in names.items()
        if not (own := set(map(id, _parameters(value)))) or not own.isdisjoint(at_work)
    }


def _used(names: Mapping[str, Any], spoken: Iterable[str]) -> list[Any]:
    """Return the values of variables and what they hold, and of all that the functions and classes
    among these use."""
    found, waiting = dict[int, Any](), [names[name] for name in spoken if name in names]
    while waiting:
        value = waiting.pop()
        if id(value) in found:
            continue
        found[id(value)] = value
        waiting += with_parts({"held": value}).values()
        waiting += _closed_over(value)
        waiting += (names[n] for code in _codes(value) for n in _names_in(code) if n in names)
    return [*found.values()]


def _closed_over(value: Any) -> Iterator[Any]:
    """Yield what a function was made with: the object of a method, the arguments of a partial, and
    the variables of the function around it."""
    if issubclass(type(value), types.MethodType):
        yield from (value.__self__, value.__func__)
    elif issubclass(type(value), partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif issubclass(type(value), types.FunctionType):
        cells = value.__closure__ or ()
        yield from (read(partial(getattr, cell, "cell_contents", None)) for cell in cells)
        yield from value.__defaults__ or ()


def _codes(value: Any) -> Iterator[types.CodeType]:
    """Yield the code of a function, or of the methods of a class or of an object's class; none of
    torch's."""
    if issubclass(type(value), _FUNCTIONS):
        functions = [value]
    else:
        kind = value if issubclass(type(value), type) else type(value)
        classes = [c for c in kind.__mro__ if not is_of_torch(c) and c.__module__ != "builtins"]
        functions = [function for c in classes for function in vars(c).values()]
    yield from (code for f in functions if (code := code_of_function(f)) is not None)


def _names_in(code: types.CodeType) -> Iterator[str]:
    """Yield the variables around it that code uses, in the functions inside of it too."""
    loads = (one for one in dis.get_instructions(code) if one.opname in _LOADS)
    yield from (one.argval for one in loads)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names_in(constant)


def _parameters(value: Any) -> list[Any]:
    """Return the parameters of a module or an optimizer; none of anything else."""
    if issubclass(type(value), torch.optim.Optimizer):
        return [*held_by([value]).values()]
    return parameters(value) if issubclass(type(value), torch.nn.Module) else []
