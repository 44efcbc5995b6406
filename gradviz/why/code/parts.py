"""Parts of a tensor by which something is differentiated that was computed from the whole: what to
write instead. Reads code and values, runs none of it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from gradviz.names.bindings import scope_of, value_given
from gradviz.names.position import dotted, statement_of
from gradviz.why.code.in_place import statement_binding

Value = Callable[[ast.AST], Any]


class Joined(NamedTuple):
    """The parts of a whole, taken first, and the statement that computes from them.

    Attributes:
        is_above: whether they are taken above it already.
        parts: the statement that takes them.
        computes: the one that computes from the whole.
        anew: the same from the parts.
    """

    is_above: bool
    parts: str
    computes: str
    anew: str


def joined_parts(name: str, root: str, statement: Any, value: Value) -> Joined | None:
    """Return how something is computed from parts that are the whole together; None where they are
    not, or where the statements are not known.

    Args:
        name: the part by which it is differentiated.
        root: what is differentiated.
        statement: the failing one.
        value: gives what a name stands for.
    """
    binder, computes = statement_binding(name, statement), statement_binding(root, statement)
    taken = None if binder is None else _parts_taken(binder)
    if taken is None or computes is None or not isinstance(computes, ast.Assign):
        return None
    whole, names = taken
    dim = _dimension(value(ast.parse(whole, mode="eval").body), [value(n) for n in names])
    reads = [n for n in ast.walk(computes.value) if dotted(n) == whole]
    if dim is None or len(reads) != 1:
        return None
    join = f"torch.cat([{', '.join(map(ast.unparse, names))}], dim={dim})"
    code = ast.unparse(computes)
    head, _, rest = code.rpartition(whole)
    is_above = binder.lineno < computes.lineno
    return Joined(is_above, ast.unparse(binder), code, f"{head}{join}{rest}")


def _parts_taken(binder: Any) -> tuple[str, list[Any]] | None:
    """Return of what a statement takes several parts, and the names that it gives them."""
    target = binder.targets[0] if isinstance(binder, ast.Assign) else None
    values = getattr(getattr(binder, "value", None), "elts", ())
    if not isinstance(target, ast.Tuple) or len(target.elts) != len(values):
        return None
    wholes = {dotted(v.value) if isinstance(v, ast.Subscript) else None for v in values}
    whole = wholes.pop() if len(wholes) == 1 else None
    return (whole, target.elts) if whole else None


def _dimension(whole: Any, parts: list[Any]) -> int | None:
    """Return the dimension in which parts are a whole together; None where they are not."""
    if not all(issubclass(type(t), torch.Tensor) for t in (whole, *parts)):
        return None
    for dim in range(whole.dim()):
        rest = [(*t.shape[:dim], *t.shape[dim + 1 :]) for t in (whole, *parts) if t.dim() > dim]
        alike = len(rest) == len(parts) + 1 and len(set(rest)) == 1
        if alike and sum(t.shape[dim] for t in parts) == whole.shape[dim]:
            return dim
    return None


def asked_of_whole(name: str, statement: Any) -> list[tuple[str, str]]:
    """Return the calls of ``autograd.grad``, in the scope of a statement, that ask for a part of
    something by its name, each with what asks for the whole and takes that part of it."""
    binder = statement_binding(name, statement)
    value = None if binder is None else value_given(name, binder)
    if not isinstance(value, ast.Subscript):
        return []
    whole, part = ast.unparse(value.value), ast.unparse(value)
    index, found = part.removeprefix(whole), list[tuple[str, str]]()
    for node in ast.walk(scope_of(statement)):
        call: Any = node.value if isinstance(node, ast.Subscript) else None
        is_first = call is not None and ast.unparse(node).endswith("[0]")
        if is_first and _asks_for(call, name) and statement_of(node) is not None:
            found.append((ast.unparse(node), f"{_asking_for(call, whole)}[0]{index}"))
    return found


def _asks_for(call: Any, name: str) -> bool:
    """Say whether a call is one of ``autograd.grad`` that asks for a variable alone."""
    if not isinstance(call, ast.Call) or not (dotted(call.func) or "").endswith("grad"):
        return False
    return any(dotted(asked) == name for asked in _inputs_of(call))


def _inputs_of(call: ast.Call) -> list[ast.expr]:
    """Return what a call of ``autograd.grad`` asks for."""
    return [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "inputs")]


def _asking_for(call: ast.Call, whole: str) -> str:
    """Return the code of a call of ``autograd.grad`` that asks for something else."""
    copy: Any = ast.parse(ast.unparse(call), mode="eval").body
    other = ast.parse(whole, mode="eval").body
    for keyword in copy.keywords:
        if keyword.arg == "inputs":
            keyword.value = other
    if len(copy.args) > 1:
        copy.args[1] = other
    return ast.unparse(copy)
