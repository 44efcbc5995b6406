"""A call of a numpy function on tensors, as one of torch's. Reads code and values, runs none of
it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import torch

from gradviz.why.code.reading import value_of

# what numpy computes of a list of arrays, as a method of the stacked tensors
_REDUCING = {"sum": "sum", "mean": "mean", "prod": "prod", "max": "amax", "min": "amin"}
_REDUCING |= {"amax": "amax", "amin": "amin", "std": "std", "var": "var"}
# numpy divides by n, torch by n - 1 unless it is told otherwise
_SPREADS = {"std", "var"}
# what torch computes of one tensor under the same name, with the same result
_ALIKE = frozenset(
    """sum mean prod amax amin std var argmax argmin exp expm1 log log2 log10 log1p sqrt square abs
    absolute negative sign sin cos tan sinh cosh tanh floor ceil round clip maximum minimum dot
    matmul outer isnan isinf isfinite all any""".split()
)
_JOINING = {"array": "stack", "asarray": "stack", "stack": "stack", "concatenate": "cat"}


class NumpyCall(NamedTuple):
    """A call of a numpy function on tensors.

    Attributes:
        code: the call.
        in_torch: the call of torch's that computes the same.
        detached: the call of numpy's on the numbers alone.
    """

    code: str
    in_torch: str
    detached: str


def numpy_call(node: Any, value: Callable[[ast.AST], Any]) -> NumpyCall | None:
    """Return what a call of numpy's on a tensor, or on a list of them, is in torch; None of any
    other call, and where torch has no function of that name.

    Args:
        node: of the call.
        value: gives what a name stands for.
    """
    function = node.func
    if not isinstance(function, ast.Attribute) or not node.args:
        return None
    owner = value(function.value)
    if type(owner) is not ModuleType or owner.__name__ != "numpy":
        return None
    given, name = node.args[0], function.attr
    if array_taken_of(given):  # that is what raised, and not the function
        return None
    if _holds_tensors(given, value):
        return _of_list(node, name, ast.unparse(given))
    if _may_be_tensor(given, value):
        return _of_tensor(node, name, ast.unparse(given))
    return None


def array_taken_of(node: Any) -> str:
    """Return the code of the tensor of which ``numpy()`` is called in an expression; "" where it is
    called of none.

    >>> array_taken_of(ast.parse("np.argmax((a + b).numpy())").body[0])
    '(a + b)'
    """
    calls = (n for n in ast.walk(node) if isinstance(n, ast.Call) and not n.args)
    methods = (
        c.func for c in calls if isinstance(c.func, ast.Attribute) and c.func.attr == "numpy"
    )
    return next((ast.unparse(method).removesuffix(".numpy") for method in methods), "")


def _holds_tensors(given: Any, value: Callable[[ast.AST], Any]) -> bool:
    """Say whether an expression is a list of nothing but tensors, or of what is computed."""
    if isinstance(given, (ast.List, ast.Tuple)):
        return bool(given.elts) and all(_may_be_tensor(part, value) for part in given.elts)
    if isinstance(given, ast.ListComp):
        return _gives_tensors(given, value)
    held = value(given)
    is_list = type(held) in (list, tuple) and bool(held)
    return is_list and all(issubclass(type(part), torch.Tensor) for part in held)


def _gives_tensors(given: ast.ListComp, value: Callable[[ast.AST], Any]) -> bool:
    """Say whether a comprehension gives nothing but tensors, or what is computed: ``x * y``, or of
    each item of a list the same part."""
    one = given.generators[0]
    if len(given.generators) > 1 or not isinstance(one.target, ast.Name):
        return _may_be_tensor(given.elt, value)
    items, name = value(one.iter), one.target.id
    known = items if type(items) in (list, tuple) else ()
    parts = [value_of(given.elt, {name: item}) for item in known]
    is_read = bool(parts) and all(issubclass(type(part), torch.Tensor) for part in parts)
    return is_read or _may_be_tensor(given.elt, value)


def _may_be_tensor(given: Any, value: Callable[[ast.AST], Any]) -> bool:
    """Say whether an expression is a tensor, or computed: numpy refused one."""
    is_computed = isinstance(given, (ast.Call, ast.BinOp, ast.UnaryOp))
    return issubclass(type(value(given)), torch.Tensor) or is_computed


def _of_tensor(node: Any, name: str, what: str) -> NumpyCall | None:
    """Return a call on one tensor; None unless torch has a function that computes the same."""
    if name not in _ALIKE | _REDUCING.keys():
        return None
    in_torch = f"torch.{_REDUCING.get(name, name)}({', '.join([what, *_others(node, name)])})"
    # of a tensor numpy calls the method of its own name, which takes other arguments
    numbers = f"{ast.unparse(ast.Attribute(node.args[0], 'detach'))}().numpy()"
    return NumpyCall(ast.unparse(node), in_torch, _with_first(node, numbers))


def _of_list(node: Any, name: str, what: str) -> NumpyCall | None:
    """Return a call on a list of tensors: they are stacked or joined first."""
    rest = ", ".join(_others(node, name))
    if name in _REDUCING:
        in_torch = f"torch.stack({what}).{_REDUCING[name]}({rest})"
    elif name in _JOINING:
        in_torch = f"torch.{_JOINING[name]}({', '.join(filter(None, [what, rest]))})"
    else:
        return None
    one = "t" if what != "t" else "s"
    parts = f"[{one}.detach() for {one} in {what}]"
    return NumpyCall(ast.unparse(node), in_torch, _with_first(node, parts))


def _others(node: Any, name: str) -> list[str]:
    """Return the other arguments of a call of some function as torch takes them: ``axis`` is
    ``dim`` there."""
    keywords = [
        f"{'dim' if k.arg == 'axis' else k.arg}={ast.unparse(k.value)}"
        for k in node.keywords
        if k.arg in ("axis", "keepdims")
    ]
    keywords = [word.replace("keepdims=", "keepdim=") for word in keywords]
    spread = ["correction=0"] if name in _SPREADS else []
    return [*map(ast.unparse, node.args[1:]), *keywords, *spread]


def _with_first(node: Any, first: str) -> str:
    """Return the code of a call with another first argument."""
    keywords = [ast.unparse(k) for k in node.keywords]
    arguments = [first, *map(ast.unparse, node.args[1:]), *keywords]
    return f"{ast.unparse(node.func)}({', '.join(arguments)})"
