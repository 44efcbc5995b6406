"""Results that a statement throws away, where the program goes on with what went in:
``F.relu(h)`` and then ``loss = h.sum()``. Knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call
from gradviz.graph.training import line_of
from gradviz.names.frames import call_alone, frames
from gradviz.names.statements import source_of
from gradviz.why.evidence.handed_on import KEEPING, plain_name
from gradviz.why.rules.silent.silent import Silent
from gradviz.why.shown.explanation import Explanation


def thrown_away(asked: Silent) -> Iterator[Explanation]:
    """Tell of a result that nothing takes, of a call that changes nothing else, where a loss was
    computed from what it was given."""
    in_loss = asked.facts.in_losses
    seen = set[object]()
    for call in asked.facts.ordinary_calls if in_loss else ():
        where = line_of(call)
        if where in seen or not _is_dropped(asked, call) or not _goes_on(asked, call, in_loss):
            continue
        seen.add(where)
        given = asked.graph.tensor[call.inputs[0]]
        # a bare question asks about the whole program: of a target as of what is trained
        if asked.wanted and not asked.bare and not _concerns(asked, given.id):
            continue
        yield asked.answer(
            Cause.RESULT_UNUSED,
            "thrown_away",
            calls=[call],
            tensors=[given.id, call.outputs[0]],
            code=asked.words.code(call),
            name=asked.words.name(given.id),
        )


def _is_dropped(asked: Silent, call: Call) -> bool:
    """Say whether a call made one new tensor of a tracked one, of its shape or with its numbers,
    wrote nothing, and is a whole statement that keeps nothing."""
    tensor = asked.graph.tensor
    if len(call.outputs) != 1 or not call.inputs or call.id in asked.facts.writes_by_call:
        return False
    given, made = tensor[call.inputs[0]], tensor[call.outputs[0]]
    is_new = all(made.object_id != tensor[i].object_id for i in call.inputs)
    alike = made.shape == given.shape or plain_name(call.function) in KEEPING
    if not (given.requires_grad and is_new and alike) or made.name:
        return False
    if asked.facts.readers.get(made.object_id) or made.object_id in asked.living:
        return False
    return _stands_alone(call) and not (_is_shown(asked, call) or _is_tested(asked, call))


def _stands_alone(call: Call) -> bool:
    """Say whether the user's statement is the call itself, or that of a layer that holds nothing to
    train: a layer with weights may be called for what it keeps."""
    under = frames(call)
    alone = call_alone(under[0].code) if under else None
    if alone is None:
        return False
    function = alone.func
    word = function.attr if isinstance(function, ast.Attribute) else ""
    word = function.id if isinstance(function, ast.Name) else word
    by_layer = call.module_call is not None and call.module is not None
    return word == call.function or (by_layer and len(call.inputs) == 1)


def _is_shown(asked: Silent, call: Call) -> bool:
    """Say whether a notebook shows what the statement gives: it is the last one of its cell."""
    if call.source is None:
        return True
    for file in asked.statements.files:
        body = getattr(file.tree, "body", None)
        last = body[-1] if body else None
        if isinstance(last, ast.Expr) and last.lineno <= call.source.line <= (last.end_lineno or 0):
            return True
    return False


def _is_tested(asked: Silent, call: Call) -> bool:
    """Say whether what a call gives decides which way the program goes: ``if loss.isnan():``."""
    for file, node in asked.statements.nodes((ast.If, ast.While, ast.Assert)):
        place = source_of(file, node.test)
        if call.source and (place.file, place.line, place.code) == call.source[:3]:
            return True
    return False


def _goes_on(asked: Silent, call: Call, in_loss: Set[int]) -> bool:
    """Say whether a later call took what this one was given on the way to a loss."""
    given = asked.graph.tensor[call.inputs[0]].object_id
    later = (c for c in asked.facts.readers.get(given, ()) if c.id > call.id)
    return any(not in_loss.isdisjoint(c.outputs) for c in later)


def _concerns(asked: Silent, tensor_id: int) -> bool:
    """Say whether a tensor has to do with what is asked about."""
    facts, tensor = asked.facts, asked.graph.tensor[tensor_id]
    leaves = {t.object_id for t in facts.leaves_reached(tensor_id)}
    return not asked.wanted.isdisjoint(leaves | {tensor.object_id})
