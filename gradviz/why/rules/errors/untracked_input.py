"""An input of autograd.grad that requires no grad, and that the output was computed from: where it
is to be tracked. Plain data in and out, knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Tensor
from gradviz.names.position import callee_of, dotted
from gradviz.why.rules.errors.failure import Failure
from gradviz.why.rules.errors.second_backward import reader_of
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code, say


def untracked_input(failure: Failure) -> Explanation | None:
    """Tell which input of ``autograd.grad`` requires no grad, where the line names it and the
    output was computed from it: above which statement it is to be tracked."""
    words = [word for word in map(dotted, _inputs_asked_for(failure)) if word]
    found = _untracked(failure, words)
    if not found:
        return None
    edits = [
        say(
            "raised.track_above",
            track=Code(f"{one.word}.requires_grad_()"),
            reader=failure.written(one.reader),
        )
        for one in found
    ]
    others = [say("raised.others_alone", n=len(found))] if len(words) > len(found) else []
    tensors = [one.tensor for one in found]
    return failure.answer(
        Cause.NEVER_TRACKED,
        "asked_for",
        calls=[failure.call, *(one.reader for one in found)],
        also_at=[failure.facts.first_maker.get(tensor.object_id) for tensor in tensors],
        tensors=tensors,
        names=[Code(one.word) for one in found],
        root=failure.name(failure.inputs[0]),
        mends=[say("raised.tracked", edits=edits), *others],
    )


class Untracked(NamedTuple):
    """An input that requires no grad: what the line calls it, and the statement that takes it into
    the output first."""

    word: str
    tensor: Tensor
    reader: Call


def _untracked(failure: Failure, words: list[str]) -> list[Untracked]:
    """Return the inputs of these names that require no grad; none where one of them has no part in
    the output."""
    found = []
    for word in words:
        tensors = (t for t in failure.inputs if t.code_name == word and t.requires_grad is False)
        for tensor in tensors:
            reader = _reader(failure, tensor)
            if reader is None:
                return []
            found.append(Untracked(word, tensor, reader))
    return found


def _inputs_asked_for(failure: Failure) -> Iterator[Any]:
    """Yield what the call of ``grad`` in the failing line is asked for."""
    calls = [] if failure.failed is None else [*failure.failed.nodes(ast.Call)]
    grads = [node for node in calls if callee_of(node.func) == "grad"]
    for node in grads[:1]:
        by_name = [word.value for word in node.keywords if word.arg == "inputs"]
        given: Any = next(iter([*by_name, *node.args[1:2]]), None)
        yield from given.elts if isinstance(given, (ast.Tuple, ast.List)) else [given]


def _reader(failure: Failure, tensor: Tensor) -> Call | None:
    """Return the statement that takes a tensor into the output first; None where none does, where
    it is written in place there, or holds no numbers that can be tracked."""
    is_float = (tensor.dtype or "").startswith(("float", "bfloat", "complex"))
    reader = reader_of(failure, [tensor], None, failure.call, into=failure.call)
    if reader is None or not is_float or not tensor.is_leaf:
        return None
    writes = failure.facts.writes_by_object.get(tensor.object_id, ())
    later = [event for event in writes if event.call_id >= reader.id]
    return None if any(map(failure.facts.writes_memory, later)) else reader
