"""Results of modules that nothing reads, where another tensor is used in their place. Plain data in
and out, knows no torch."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Tensor
from gradviz.why.rules.errors.failure import LINE, Failure
from gradviz.why.rules.errors.second_backward import TwoBackwards, reader_of
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code


def unread_like(failure: Failure, like: Tensor, calls: Iterable[Call]) -> Tensor | None:
    """Return the last tracked result that calls made in modules and that nothing reads, of the
    shape and dtype of another tensor; None where no variable has it."""
    tensors, facts = failure.graph.tensor, failure.facts
    inside = (call for call in calls if call.module_call is not None)
    for tensor in (tensors[i] for call in inside for i in call.outputs):
        is_alike = (tensor.shape, tensor.dtype) == (like.shape, like.dtype)
        maker = facts.maker.get(tensor.id)
        is_read = any(c is not maker for c in facts.calls_reading.get(tensor.id, ()))
        if tensor.requires_grad and is_alike and not is_read and is_name(tensor.code_name):
            return tensor
    return None


def is_name(code: str) -> bool:
    """Say whether code is the name of a variable, or of an attribute of one."""
    return bool(code) and all(part.isidentifier() for part in code.split("."))


def made_in_vain(failure: Failure) -> Explanation | None:
    """Tell of a loss that reads again what an earlier one went through, while the same model has
    made another such result since, which nothing reads."""
    two = TwoBackwards.of(failure)
    if two is None or failure.call is None or two.is_same_graph:
        return None
    for shared in two.shared:
        since = [c for c in failure.calls_between(two.first, failure.call) if not c.bookkeeping]
        made = unread_like(failure, shared, reversed(since))
        if made is None or not _are_of_one_module(failure, shared, made):
            continue
        reader = reader_of(failure, [shared], failure.facts.maker[made.id], failure.call)
        if reader is None:
            continue
        written, name = failure.code(reader, LINE), failure.in_code(shared)
        anew = re.sub(rf"(?<![\w.]){re.escape(name)}(?!\w)", made.code_name, written)
        if anew == written:
            continue
        return failure.answer(
            Cause.SECOND_BACKWARD,
            "made_in_vain",
            calls=[reader, failure.binding(made), failure.call],
            also_at=[two.first],
            tensors=[shared, made],
            nodes=[two.node],
            made=Code(made.code_name),
            value=Code(name),
            name=two.node.name,
            first=failure.written(two.first),
            second=failure.written(failure.call),
            code=written,
            anew=Code(anew),
        )
    return None


def _are_of_one_module(failure: Failure, one: Tensor, other: Tensor) -> bool:
    """Say whether calls of one module, at one place in it, made two tensors."""
    makers = [failure.facts.maker.get(tensor.id) for tensor in (one, other)]
    called = {
        None if maker is None else (maker.function, _module_of(failure, maker)) for maker in makers
    }
    return len(called) == 1 and None not in called


def _module_of(failure: Failure, call: Call) -> tuple[int, str] | None:
    """Return the module in which a call ran: its root, and its path below it."""
    found = failure.facts.module_call.get(call.module_call)
    return None if found is None else (found.module_id, found.path)
