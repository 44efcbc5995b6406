"""What is differentiated inside of a custom Function: gradients are off in its forward and in its
backward, so what is computed there has no graph. Knows no torch."""

from __future__ import annotations

import ast
import re
from typing import Any, NamedTuple

from gradviz.graph.findings import Cause
from gradviz.graph.records import Source
from gradviz.names.bindings import binder_before
from gradviz.names.position import callee_of, statement_at, statement_or_head
from gradviz.names.statements import function_node, source_of
from gradviz.why.rules.errors.failure import Failure, call_at
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code, say

_FUNCTION = re.compile(r"(^|\.)(Inplace)?Function$")
_CAUSES = (Cause.NO_GRAD_FN, Cause.NEVER_TRACKED)
_CHAIN = 8  # statements that are gone back through


class Method(NamedTuple):
    """The forward or the backward of a custom Function under which an error was raised.

    Attributes:
        kind: the class.
        name: which of both.
        is_failing: whether it raised itself, and no function that it called.
        node: its syntax node.
        off: the head of a block under which it switches gradients off once more.
    """

    kind: ast.ClassDef
    name: str
    is_failing: bool
    node: Any
    off: tuple[Source, ...]


class Asked(NamedTuple):
    """What a failing line wants to differentiate: ``autograd.grad(output, inputs)``.

    Attributes:
        outputs: the variables in the first argument, as syntax nodes.
        inputs: the variables by which.
    """

    outputs: list[ast.Name]
    inputs: list[str]


def inside_function(failure: Failure) -> Explanation | None:
    """Tell that what was to be differentiated inside of a custom Function was computed there, with
    gradients off: where that is, and how it is computed with them."""
    method, asked = _method_around(failure), _asked(failure)
    if method is None or asked is None or failure.failed is None or failure.cause not in _CAUSES:
        return None
    kept = _kept_by_forward(method, asked)
    if kept is not None:
        return _made_by_forward(failure, failure.cause, method, asked, *kept)
    chain = _computed_from(asked)
    statement = failure.statement
    if any(_under(node, "enable_grad") for node in (*chain, statement)):
        return None
    places = [failure.failed.source(node) for node in (*chain, statement)]
    return failure.answer(
        failure.cause,
        "computed_in_function",
        calls=map(call_at, dict.fromkeys([*places, *method.off])),
        output=Code(asked.outputs[0].id),
        kind=method.kind.name,
        method=method.name,
        off="".join(
            say("raised.off_once_more", code=Code(head.code or ""), line=head.line)
            for head in method.off
        ),
        codes=[Code(place.code or "") for place in places],
        anew=Code(_anew(asked.inputs, "detach" if method.is_failing else "clone")),
    )


def _made_by_forward(
    failure: Failure, cause: Cause, method: Method, asked: Asked, made: Any, inputs: list[str]
) -> Explanation:
    """Tell of what the forward of a Function made and kept for its backward."""
    failed: Any = failure.failed
    place = failed.source(made)
    return failure.answer(
        cause,
        "kept_by_function",
        calls=[call_at(place), call_at(failed.source(failure.statement))],
        output=Code(asked.outputs[0].id),
        kind=method.kind.name,
        made=Code(place.code or ""),
        line=place.line,
        anew=Code(_anew(inputs, "detach")),
    )


def _anew(names: list[str], method: str) -> str:
    """Return the statement by which variables stand for copies that require grad."""
    return f"{', '.join(names)} = " + ", ".join(f"{n}.{method}().requires_grad_()" for n in names)


def _method_around(failure: Failure) -> Method | None:
    """Return the innermost forward or backward of a custom Function that an error went through;
    None where gradients were switched on inside of it."""
    frames = [] if failure.failed is None else failure.failed.frames
    for depth, frame in enumerate(reversed(frames)):
        found = function_node(frame.code)
        if found is None:
            continue
        file, node = found
        here = statement_at(file, frame.line)
        kind = getattr(node, "parent", None)
        if isinstance(kind, ast.ClassDef) and _is_function(kind):
            block = None if here is None else _under(here, "no_grad")
            off = () if block is None else (source_of(file, block),)
            is_known = node.name in ("forward", "backward")
            return Method(kind, node.name, depth == 0, node, off) if is_known else None
        if depth and here is not None and _under(here, "enable_grad"):
            return None
    return None


def _is_function(kind: ast.ClassDef) -> bool:
    """Say whether a class is a custom Function, by what it derives from."""
    return any(_FUNCTION.search(ast.unparse(base)) for base in kind.bases)


def _under(node: Any, switch: str) -> Any:
    """Return the block around a statement that switches gradients by a name; None where none
    does."""
    while node is not None and not isinstance(node, (ast.FunctionDef, ast.Lambda)):
        heads = [i.context_expr for i in node.items] if isinstance(node, ast.With) else []
        if any(isinstance(h, ast.Call) and callee_of(h.func) == switch for h in heads):
            return node
        node = getattr(node, "parent", None)
    return None


def _asked(failure: Failure) -> Asked | None:
    """Return what the failing line wants to differentiate by which variables; None where it is no
    ``autograd.grad`` of variables."""
    nodes = [] if failure.statement is None else ast.walk(failure.statement)
    calls = [n for n in nodes if isinstance(n, ast.Call) and callee_of(n.func) == "grad"]
    if len(calls) != 1 or not calls[0].args:
        return None
    inputs = _inputs_of(calls[0])
    names = [n for n in ast.walk(calls[0].args[0]) if isinstance(n, ast.Name)]
    outputs = [n for n in names if n.id not in inputs and binder_before(n) is not None]
    return Asked(outputs, inputs) if inputs and outputs else None


def _inputs_of(call: ast.Call) -> list[str]:
    """Return the variables by which a call of ``autograd.grad`` differentiates."""
    named = [k.value for k in call.keywords if k.arg == "inputs"]
    given = next(iter([*named, *call.args[1:2]]), None)
    return [node.id for node in _elements(given) if isinstance(node, ast.Name)]


def _elements(node: Any) -> list[Any]:
    """Return the parts of a tuple or a list that is written down; of anything else itself."""
    return list(node.elts) if isinstance(node, (ast.Tuple, ast.List)) else [node]


def _computed_from(asked: Asked) -> list[Any]:
    """Return the statements by which an output was computed from the inputs, in order."""
    found, todo = dict[int, Any](), [*asked.outputs]
    while todo and len(found) < _CHAIN:
        name = todo.pop(0)
        binder = binder_before(name)
        if not isinstance(binder, ast.Assign) or id(binder) in found:
            continue
        read = [n for n in ast.walk(binder.value) if isinstance(n, ast.Name)]
        found[id(binder)] = binder
        todo += [n for n in read if n.id not in asked.inputs and binder_before(n) is not None]
    leading = [node for node in found.values() if _leads(node, asked.inputs, found)]
    return sorted(leading, key=lambda node: int(node.lineno))


def _leads(node: Any, inputs: list[str], found: dict[int, Any]) -> bool:
    """Say whether a statement reads the inputs, or what another one of some made of them."""
    read = {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
    if not read.isdisjoint(inputs):
        return True
    earlier = [n for n in found.values() if n.lineno < node.lineno and _targets(n) & read]
    return any(_leads(one, inputs, found) for one in earlier)


def _targets(node: Any) -> set[str]:
    """Return the variables that an assignment gives a value."""
    return {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}


def _kept_by_forward(method: Method, asked: Asked) -> tuple[Any, list[str]] | None:
    """Return the statement of the forward that made what the backward takes from its context to
    differentiate it, and what the inputs are called there; None where it is not taken so."""
    forwards = [n for n in method.kind.body if getattr(n, "name", "") == "forward"]
    binder = binder_before(asked.outputs[0])
    if method.name != "backward" or not method.is_failing or not forwards:
        return None
    kept = _names_kept(forwards[0], method.node, binder)
    output = kept.get(asked.outputs[0].id)
    inputs = [kept[name] for name in asked.inputs if name in kept]
    assigned = [n for n in ast.walk(forwards[0]) if isinstance(n, ast.Assign)]
    made = [n for n in assigned if output in _targets(n)]
    if not made or len(inputs) < len(asked.inputs) or _under(made[-1], "enable_grad"):
        return None
    return statement_or_head(made[-1]), inputs


def _names_kept(forward: Any, backward: Any, binder: Any) -> dict[str, str]:
    """Return what the variables that a backward unpacks in one statement are called in the forward
    that kept them."""
    value = getattr(binder, "value", None)
    if not isinstance(binder, ast.Assign) or not isinstance(value, ast.Attribute):
        return {}
    if ast.unparse(value.value) != _context_of(backward):
        return {}
    names, kept = _elements(binder.targets[0]), _kept_as(forward, value.attr)
    if len(kept) != len(names):
        return {}
    pairs = zip(names, kept, strict=True)
    return {a.id: b.id for a, b in pairs if isinstance(a, ast.Name) and isinstance(b, ast.Name)}


def _kept_as(forward: Any, attribute: str) -> list[Any]:
    """Return what a forward keeps in its context under an attribute, as it is written; nothing
    where it does so in several statements."""
    nodes = [*ast.walk(forward)]
    if attribute in ("saved_tensors", "saved_variables"):
        calls = (n for n in nodes if isinstance(n, ast.Call))
        kept = [n.args for n in calls if callee_of(n.func) == "save_for_backward"]
    else:
        target = f"{_context_of(forward)}.{attribute}"
        assigned = (n for n in nodes if isinstance(n, ast.Assign))
        kept = [_elements(n.value) for n in assigned if ast.unparse(n.targets[0]) == target]
    return kept[0] if len(kept) == 1 else []


def _context_of(function: Any) -> str:
    """Return what a function calls its first argument; "" where it has none."""
    return function.args.args[0].arg if function.args.args else ""
