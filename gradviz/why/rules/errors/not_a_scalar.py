"""Backward was to start from more than one number: where they become one. Plain data in and out,
knows no torch."""

from __future__ import annotations

import ast

from gradviz.graph.facts import code_of
from gradviz.graph.findings import Cause
from gradviz.graph.records import Tensor
from gradviz.names.bindings import scope_of
from gradviz.names.frames import names_in
from gradviz.names.position import callee_of, statement_of
from gradviz.why.code.in_place import reads_below
from gradviz.why.code.rewritten import reduced_whole
from gradviz.why.rules.errors.about_an_input import blamed, fields
from gradviz.why.rules.errors.failure import Failure
from gradviz.why.rules.errors.second_backward import objects
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code, say

_AS_NUMBER = frozenset({"item", "backward"})


def reduced_too_early(failure: Failure) -> Explanation | None:
    """Tell of a loss that is a product, of which one factor alone was reduced to a number."""
    tensor = blamed(failure, Cause.NOT_SCALAR)
    maker = failure.facts.maker.get(tensor.id) if tensor else None
    if tensor is None or maker is None or maker.function not in ("mul", "__mul__", "__rmul__"):
        return None
    inputs = [failure.graph.tensor[i] for i in maker.inputs]
    makers = [failure.facts.maker.get(t.id) for t in inputs if t.shape == ()]
    reduced = [c for c in makers if c is not None and c.function in ("mean", "sum") and c.inputs]
    if len(reduced) != 1 or failure.graph.tensor[reduced[0].inputs[0]].shape != tensor.shape:
        return None
    whole = reduced_whole(code_of(maker), reduced[0].function)
    if whole is None:
        return None
    return failure.answer(
        Cause.NOT_SCALAR,
        "reduced_too_early",
        calls=[maker, failure.call],
        tensors=[tensor],
        factor=Code(whole.factor),
        function=Code(reduced[0].function),
        anew=Code(whole.statement),
        **fields(failure, tensor, None),
    )


def of_many_numbers(failure: Failure) -> Explanation | None:
    """Tell of a loss with a name how it becomes one number: under its name, or, where each of its
    numbers is read afterwards, for the backward alone."""
    tensor = blamed(failure, Cause.NOT_SCALAR)
    if tensor is None or failure.run is None or "real scalar" in failure.text:
        return None
    name = failure.in_code(tensor)
    backward = _backward_of(failure, name)
    if not backward:
        return None
    maker = failure.facts.maker.get(tensor.id)
    is_made = maker is not None and maker is not failure.call
    if failure.run.kind != "backward":
        form = "differentiated_made" if is_made else "differentiated"
    elif _is_read_by_number(failure, name):
        form = "read_since_made" if is_made else "read_since"
    else:
        form = "loss_made" if is_made else "loss"
    return failure.answer(
        Cause.NOT_SCALAR,
        form,
        calls=[failure.call],
        also_at=[maker],
        tensors=[tensor],
        maker=failure.written(maker),
        function=Code(_function_for_one(failure, tensor)),
        backward=Code(backward),
        mends=_mends_of_grad(failure, name, backward),
        **fields(failure, tensor, None),
    )


def _function_for_one(failure: Failure, tensor: Tensor) -> str:
    """Return the function that makes one number of many: what is trained takes their mean; for the
    gradient of an input, as for forces, the sum leaves each its own derivative."""
    leaves = objects(failure.facts.leaves_reached(tensor.id))
    is_stepped = any(leaves & held for held in failure.optimizers)
    is_for_inputs = not is_stepped and not leaves <= failure.facts.of_modules
    is_trained = failure.optimizers or failure.graph.modules
    return "mean" if is_trained and not is_for_inputs else "sum"


def _backward_of(failure: Failure, name: str) -> str:
    """Return the statement that calls backward on a variable, or differentiates it; "" where the
    failing line does neither."""
    statement = failure.statement
    if not isinstance(statement, ast.stmt):
        return ""
    words = (n for n in ast.walk(statement) if isinstance(n, (ast.Name, ast.Attribute)))
    return ast.unparse(statement) if name in map(ast.unparse, words) else ""


def _mends_of_grad(failure: Failure, name: str, statement: str) -> list[str]:
    """Say how a call of ``grad`` starts from one number, and those that would raise next."""
    edits = [_summed(name, statement), *_differentiated_below(failure, name)]
    likewise = [say("raised.likewise", others=edits[1:])] if edits[1:] else []
    return [say("raised.start_summed", edit=edits[0]), *likewise]


def _summed(name: str, statement: str) -> str:
    """Say that a statement is to start from a sum."""
    return say("raised.summed", it=Code(name), code=Code(statement))


def _differentiated_below(failure: Failure, name: str) -> list[str]:
    """Return how the calls of ``grad`` below the failing one, in its function, start from one
    number, of those that start from the same, or from what the failing one gives."""
    statement = failure.statement
    if not isinstance(statement, ast.stmt):
        return []
    starts = {name, *names_in(ast.unparse(statement))[0]}
    edits = []
    for node in ast.walk(scope_of(statement)):
        if isinstance(node, ast.Call) and _is_plain_grad(node) and node.lineno > statement.lineno:
            start = ast.unparse(node.args[0])
            edits += [_summed(start, ast.unparse(statement_of(node)))] if start in starts else []
    return list(dict.fromkeys(edits))


def _is_plain_grad(call: ast.Call) -> bool:
    """Say whether a call differentiates, and is given no gradient to start with."""
    is_given = "grad_outputs" in {keyword.arg for keyword in call.keywords}
    return callee_of(call.func) == "grad" and len(call.args) == 2 and not is_given


def _is_read_by_number(failure: Failure, name: str) -> bool:
    """Say whether the numbers of a loss are read below the backward, other than as one number."""
    statement = failure.statement
    return statement is not None and any(
        not _is_as_one(word) for word in reads_below(name, statement)
    )


def _is_as_one(word: ast.expr) -> bool:
    """Say whether a variable is read as one number: ``loss.item()``, ``float(loss)``, or shown."""
    parent = getattr(word, "parent", None)
    if isinstance(parent, ast.Attribute):
        return parent.attr in _AS_NUMBER
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name):
        return parent.func.id in ("float", "int", "print")
    return isinstance(parent, ast.FormattedValue)
