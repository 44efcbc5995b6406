"""A write in place into a leaf that requires grad, or through a view of it: whether numbers are set
there, or what is to be learned through. Plain data in and out; reads the living tensors of the line
that raised."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import torch

from gradviz.graph.facts import code_of
from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Tensor
from gradviz.names.bindings import scope_of
from gradviz.names.frames import whole_code
from gradviz.names.position import dotted
from gradviz.why.code.fast_weights import FastWeights, fast_weights
from gradviz.why.code.in_place import (
    free_name,
    loop_without,
    reads_below,
    statement_binding,
    writes_below,
    written_in,
)
from gradviz.why.code.rewritten import copied_where_bound, out_of_place
from gradviz.why.rules.errors.about_an_input import blamed, fields
from gradviz.why.rules.errors.failure import Failure, call_at, runs_in
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code, say

if TYPE_CHECKING:
    from gradviz.why.question.failed_line import FailedLine


def sum_on_leaf(failure: Failure) -> Explanation | None:
    """Tell of a leaf that is made in order to be filled, or added to, with what is computed: it
    needs no requires_grad of its own."""
    cause = failure.cause
    tensor = blamed(failure, cause) if cause else None
    if cause is None or tensor is None or failure.call is None:
        return None
    base = failure.graph.tensor.get(tensor.base_id) or tensor
    maker = failure.facts.first_maker.get(base.object_id)
    others = [t for t in failure.inputs if t.object_id not in (tensor.object_id, base.object_id)]
    is_filled = any(_leads_elsewhere(failure, t, base) for t in others)
    if not is_filled or maker is None or "requires_grad" not in code_of(maker):
        return None
    return failure.answer(
        failure.cause or cause,
        "filled",
        calls=[maker, failure.call],
        tensors=[tensor, base],
        code=failure.code(failure.call),
        made=failure.code(maker),
        base=failure.name(base),
    )


def _leads_elsewhere(failure: Failure, tensor: Tensor, leaf: Tensor) -> bool:
    """Say whether a result was computed from another leaf than one."""
    leaves = failure.facts.leaves_reached(tensor.id) if tensor.requires_grad else ()
    return not tensor.is_leaf and any(t.object_id != leaf.object_id for t in leaves)


def taken_as_result(failure: Failure) -> Explanation | None:
    """Tell of a module, or of a function whose result is taken, that writes in place into a leaf:
    what it is when it makes a new tensor."""
    call, cause = failure.call, failure.cause
    if call is None or cause is None:
        return None
    written = blamed(failure, cause)
    statement = failure.statement
    is_taken = not isinstance(statement, (ast.Expr, ast.AugAssign)) and call.outputs == ()
    code = out_of_place(whole_code(call)) if is_taken and not call.module else ""
    if written is None or not (call.module or code) or call.function == "__setitem__":
        return None
    return failure.answer(
        failure.cause or cause,
        "by_module" if call.module else "taken",
        calls=[call],
        tensors=[written, _leaf(failure, written)],
        module=call.module or "",
        anew=Code(code),
        **fields(failure, written, failure.graph.tensor.get(written.base_id)),
    )


def numbers_set(failure: Failure) -> Explanation | None:
    """Tell of numbers that are written into a leaf, which nothing is to be learned through, and
    which no backward that is to come needs as they were."""
    written = _written(failure)
    if (
        written is None
        or _is_tracked(failure, written)
        or failure.is_saved(_leaf(failure, written))
    ):
        return None
    told = fields(failure, written, failure.graph.tensor.get(written.base_id))
    besides = _set_besides(failure, written)
    return failure.answer(
        failure.cause or Cause.LEAF_IN_PLACE,
        "numbers",
        calls=[failure.call],
        also_at=besides,
        tensors=[written, _leaf(failure, written)],
        codes=[told["code"], *(failure.written(call) for call in besides)],
        **told,
    )


def _set_besides(failure: Failure, written: Tensor) -> list[Call]:
    """Return the statements below the failing one that set numbers in place in the same tensor, or
    in another leaf that requires grad: they would raise next."""
    statement, line = failure.statement, failure.failed
    if line is None or not isinstance(statement, ast.stmt):
        return []
    same = written_in(statement)
    return [
        call_at(line.source(other))
        for other, target in writes_below(statement)
        if (ast.unparse(target) == same or _is_free_leaf(failure, line.value(target)))
        and (not _reads_tracked(line, other, target) or _sets_the_same(other, same))
    ]


def _sets_the_same(statement: Any, name: str) -> bool:
    """Say whether a statement writes into a variable that nothing of its scope reads then."""
    return written_in(statement) == name and not _is_read_again(statement)


def _is_free_leaf(failure: Failure, value: Any) -> bool:
    """Say whether a value is a leaf that requires grad, and of whose shape no leaf is kept for a
    backward that is still to come."""
    if not issubclass(type(value), torch.Tensor) or not (value.is_leaf and value.requires_grad):
        return False
    shape = tuple(value.shape)
    alike = (t for t in failure.graph.tensors if t.is_leaf and t.shape == shape)
    return not any(failure.is_saved(t) for t in alike)


def _reads_tracked(line: FailedLine, statement: Any, target: Any) -> bool:
    """Say whether a statement reads what requires grad, beside what it writes into."""
    own = {ast.unparse(target), ast.unparse(target).partition(".")[0]}
    words = (n for n in ast.walk(statement) if isinstance(n, (ast.Name, ast.Attribute)))
    values = (line.value(word) for word in words if ast.unparse(word) not in own)
    return any(issubclass(type(v), torch.Tensor) and bool(v.requires_grad) for v in values)


def parameters_learned_through(failure: Failure) -> Explanation | None:
    """Tell of a loop that moves a model's parameters by gradients that are to be learned through:
    the model takes the moved ones in its call."""
    written, line = _written(failure), failure.failed
    if written is None or line is None or not _is_tracked(failure, written):
        return None
    found = fast_weights(failure.statement)
    if found is None or not _is_of_gradients(failure):
        return None
    edits = [say("raised.instead", anew=Code(anew), code=Code(code)) for code, anew in found.calls]
    form = _form_of_fast(found)
    return failure.answer(
        Cause.LEAF_IN_PLACE,
        form,
        calls=[failure.call],
        tensors=[written],
        loop=_loop_at(failure, line, found.loop),
        made=Code(found.made),
        begun=Code(found.begun),
        steps=_loop_at(failure, line, found.steps) if found.steps is not None else "",
        edits=edits,
        functional=Code(found.functional),
        **fields(failure, written, None),
    )


def _form_of_fast(found: FastWeights) -> str:
    """Tell where the model is called with the moved parameters: in each of several steps, below the
    loop, or elsewhere."""
    if not found.calls:
        return "fast_weights_elsewhere"
    return "fast_weights" if found.steps is None else "fast_weights_in_steps"


def _is_of_gradients(failure: Failure) -> bool:
    """Say whether what is written was computed from a gradient of ``autograd.grad``; the average of
    another model's parameters is not."""
    behind = failure.facts.ancestors([t.id for t in failure.inputs])
    return not failure.facts.derived.isdisjoint(behind)


def _loop_at(failure: Failure, line: FailedLine, loop: Any) -> str:
    """Return a loop by its place."""
    return say("raised.loop_at", place=failure.words.line_of(line.source(loop)))


def learned_through(failure: Failure) -> Explanation | None:
    """Tell of a write into a leaf of what is to be learned through, or of what a backward needs as
    it was: a copy can be written, and stays connected."""
    written = _written(failure)
    statement = failure.statement
    if written is None or not isinstance(statement, ast.stmt):
        return None
    is_wanted = failure.is_saved(_leaf(failure, written)) or _is_of_gradients(failure)
    if not is_wanted and not _is_read_again(statement):
        return _values_set(failure, written)
    mend = _copied_where_made(failure, written, statement) or _copied_above(failure, statement)
    if not mend:
        return None
    return failure.answer(
        failure.cause or Cause.LEAF_IN_PLACE,
        "tracked" if _is_tracked(failure, written) else "needed",
        calls=[failure.call],
        also_at=[failure.facts.maker.get(written.id)],
        tensors=[written, _leaf(failure, written)],
        mend=mend,
        **fields(failure, written, failure.graph.tensor.get(written.base_id)),
    )


def _is_read_again(statement: Any) -> bool:
    """Say whether the variable into which a statement writes is read after it by that name, in its
    scope: a copy under another name is of use then. Of a file or cell, functions may read it."""
    name = written_in(statement)
    around = loop_without(name, statement)
    scope = scope_of(statement)
    around = scope if isinstance(scope, ast.Module) else around
    inside = [n for part in getattr(around, "body", ()) for n in ast.walk(part)]
    reads = [n for n in inside if isinstance(getattr(n, "ctx", None), ast.Load)]
    reads = [*reads_below(name, statement), *(n for n in reads if dotted(n) == name)]
    writing = {id(n) for s in _writing(name, scope) for n in ast.walk(s)}
    return any(id(n) not in writing for n in reads)


def _writing(name: str, scope: Any) -> list[Any]:
    """Return the statements of a scope that write in place into a variable."""
    statements = (n for n in ast.walk(scope) if isinstance(n, ast.stmt))
    return [s for s in statements if written_in(s) == name]


def _values_set(failure: Failure, written: Tensor) -> Explanation:
    """Tell of a write into a leaf that nothing of its scope reads then, as the average of another
    model's parameters."""
    told = fields(failure, written, failure.graph.tensor.get(written.base_id))
    besides = _set_besides(failure, written)
    return failure.answer(
        failure.cause or Cause.LEAF_IN_PLACE,
        "values_set",
        calls=[failure.call],
        also_at=besides,
        tensors=[written, _leaf(failure, written)],
        codes=[told["code"], *(failure.written(call) for call in besides)],
        **told,
    )


def _written(failure: Failure) -> Tensor | None:
    """Return what the call that raised was to write; None where that was a module's, or unknown."""
    call, cause = failure.call, failure.cause
    if call is None or cause is None or call.module:
        return None
    return blamed(failure, cause)


def _leaf(failure: Failure, written: Tensor) -> Tensor:
    """Return the leaf that a write would change."""
    return failure.graph.tensor.get(written.base_id) or written


def _is_tracked(failure: Failure, written: Tensor) -> bool:
    """Say whether something that requires grad is written, other than what is written into."""
    own = {written.object_id, _leaf(failure, written).object_id}
    return any(t.requires_grad for t in failure.inputs if t.object_id not in own)


def _copied_where_made(failure: Failure, written: Tensor, statement: Any) -> str:
    """Say how a view of the leaf is made of a copy, where a statement of the function gives it its
    name; "" where it is the leaf itself that is written."""
    name = written_in(statement)
    binder = statement_binding(name, statement) if written.base_id is not None else None
    maker = failure.facts.maker.get(written.id)
    if binder is None or failure.failed is None or not runs_in(maker, binder):
        return ""
    copy = copied_where_bound(ast.unparse(binder), name)
    place = failure.written(call_at(failure.failed.source(binder)))
    return say("raised.anew", anew=Code(copy), code=place) if copy else ""


def _copied_above(failure: Failure, statement: Any) -> str:
    """Say how the leaf is copied under a name of its own above the write, or above the loop in
    which nothing else gives it a value."""
    name = written_in(statement)
    if not name or failure.failed is None:
        return ""
    copy = free_name(f"{name.rpartition('.')[2]}_new", statement)
    loop = loop_without(name, statement)
    place: Call = call_at(failure.failed.source(loop or statement))
    return say(
        "raised.copied_leaf",
        copy=Code(copy),
        name=Code(name),
        code=failure.written(place)
        if loop is None
        else say("raised.loop_at", place=failure.words.where(place)),
    )
