"""A flag that was to be switched on a result: only leaves have one of their own. What is to be
written instead. Plain data in and out, knows no torch."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Tensor
from gradviz.names.bindings import binder_before
from gradviz.names.position import dotted, statement_of
from gradviz.why.code.in_place import free_name, reads_below
from gradviz.why.rules.errors.about_an_input import blamed
from gradviz.why.rules.errors.failure import Failure, call_at
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code, say

# what takes some elements of a tensor
_PARTS = frozenset({"__getitem__", "select", "slice", "index", "narrow"})


def part_frozen(failure: Failure) -> Explanation | None:
    """Tell of elements of a parameter that were to be frozen: a parameter is one leaf, and has one
    flag."""
    switch = _switch(failure)
    tensor = blamed(failure, Cause.REQUIRES_GRAD_NON_LEAF)
    if switch is None or switch.is_on or tensor is None:
        return None
    maker = failure.facts.maker.get(tensor.id)
    leaf = _taken_from(failure, maker)
    part = _part_taken(switch.owner)
    if leaf is None or part is None:
        return None
    mask = free_name("mask", switch.owner)
    return failure.answer(
        Cause.REQUIRES_GRAD_NON_LEAF,
        "part_frozen",
        calls=[failure.call, maker],
        tensors=[tensor, leaf],
        part=Code(ast.unparse(part)),
        whole=Code(ast.unparse(part.value)),
        mask=Code(mask),
        masked=Code(ast.unparse(ast.Subscript(ast.Name(mask), part.slice))),
        code=failure.code(failure.call) or say("raised.call"),
    )


class Switch(NamedTuple):
    """A statement that gives the flag of a tensor a value.

    Attributes:
        owner: the expression of the tensor.
        is_on: whether it switches on.
    """

    owner: ast.expr
    is_on: bool


def _switch(failure: Failure) -> Switch | None:
    """Return the switch of a flag in the failing line, where its value is written there."""
    statement = failure.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(target, ast.Attribute) and target.attr == "requires_grad":
        return _with_value(target.value, statement.value)
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.args:
        return _with_value(call.func.value, call.args[0])
    return None


def _with_value(owner: ast.expr, value: Any) -> Switch | None:
    """Return the switch with a value, where that is written out."""
    is_known = isinstance(value, ast.Constant) and isinstance(value.value, bool)
    return Switch(owner, value.value) if is_known else None


def _taken_from(failure: Failure, maker: Call | None) -> Tensor | None:
    """Return the leaf of which a call took some elements."""
    if maker is None or maker.function not in _PARTS or not maker.inputs:
        return None
    leaf = failure.graph.tensor[maker.inputs[0]]
    return leaf if leaf.is_leaf and leaf.requires_grad else None


def _part_taken(owner: ast.expr) -> Any:
    """Return the item that an expression is, or that its variable was given."""
    binder = binder_before(owner) if isinstance(owner, ast.Name) else None
    item = binder.value if isinstance(binder, ast.Assign) else owner
    return item if isinstance(item, ast.Subscript) and dotted(item.value) else None


def switched_again(failure: Failure) -> Explanation | None:
    """Tell of a flag that was to be switched on and is on: what has a history requires grad. Where
    its gradient is wanted, how that is asked for."""
    switch, statement = _switch(failure), failure.statement
    name = "" if switch is None else dotted(switch.owner) or ""
    if switch is None or failure.failed is None or not switch.is_on or not name:
        return None
    tensor = blamed(failure, Cause.REQUIRES_GRAD_NON_LEAF)
    maker = failure.facts.maker.get(tensor.id) if tensor else None
    read = next(reads_below(f"{name}.grad", statement), None)
    asked = None if read is None else _asked_through(name, read, statement)
    statements = [] if asked is None else [asked.backward, asked.reader]
    return failure.answer(
        Cause.REQUIRES_GRAD_NON_LEAF,
        "on_asked" if asked is not None else "on" if read is None else "on_read",
        calls=[failure.call, *(call_at(failure.failed.source(s)) for s in statements), maker],
        tensors=[tensor],
        name=Code(name),
        anew=Code(f"{name}.requires_grad_()"),
        code=Code(ast.unparse(statement)),
        kept=Code(f"{name}.retain_grad()"),
        asked="" if asked is None else asked.anew,
        instead=[Code(ast.unparse(s)) for s in statements],
    )


class Asked(NamedTuple):
    """A backward whose gradient of one tensor is read, to be learned through.

    Attributes:
        backward: its statement.
        reader: the statement that reads the gradient.
        anew: what asks for that gradient alone.
    """

    backward: ast.Expr
    reader: ast.Assign
    anew: str


def _asked_through(name: str, read: ast.expr, statement: Any) -> Asked | None:
    """Return the backward between two statements whose graph is kept to be learned through, where
    the second one gives the gradient of a tensor a name."""
    reader, block = statement_of(read), getattr(statement.parent, "body", [])
    if not isinstance(reader, ast.Assign) or reader.value is not read or reader not in block:
        return None
    between = block[block.index(statement) + 1 : block.index(reader)]
    calls = [(one, one.value) for one in between if isinstance(one, ast.Expr)]
    for one, call in calls:
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        words = [ast.unparse(word) for word in call.keywords]
        if call.func.attr == "backward" and not call.args and words == ["create_graph=True"]:
            root, target = ast.unparse(call.func.value), ast.unparse(reader.targets[0])
            code = f"{target}, = torch.autograd.grad({root}, {name}, create_graph=True)"
            return Asked(one, reader, Code(code))
    return None
