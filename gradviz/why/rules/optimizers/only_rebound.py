"""An update by hand that makes a new tensor, and leaves the parameter as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call
from gradviz.graph.training import Did
from gradviz.names.frames import names_kept
from gradviz.why.rules.many import pattern
from gradviz.why.shown.explanation import Explanation

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_UPDATES = {"sub", "add", "__sub__", "__add__", "__rsub__", "__radd__", "rsub"}


def only_rebound(case: Case, found: Explanation) -> Explanation | None:
    """Tell of parameters that no call moved, while a statement computes from them and their
    gradients what they were to become, and binds it to a name."""
    known = (case.graph.tensor.get(a.tensor_id) for a in case.targets_asked)
    states = {t.object_id: t for t in known if t is not None}
    updates = {i: call for i in states if (call := _update_of(case, i)) is not None}
    if not updates:
        return None
    call = next(reversed(updates.values()))
    name = min(names_kept(call))
    words = case.words
    names = [words.name(states[i].id) for i in updates]
    return case.answer(
        Cause.NOT_MOVED,
        "only_rebound",
        tensor_ids=[states[i].id for i in updates],
        calls=[call],
        names=pattern(names),
        n=len(names),
        code=words.code(call),
        name=name,
    )


def _update_of(case: Case, leaf: int) -> Call | None:
    """Return the last call that computed from a leaf and its gradient what nothing reads, where the
    leaf was never moved."""
    training, facts = case.training, case.facts
    if any(m.did is Did.STEPPED for m in training.moments.get(leaf, ())):
        return None
    found = None
    for read in training.reads.get(leaf, ()):
        for call in _readers(case, read):
            of_leaf = any(case.graph.tensor[i].object_id == leaf for i in call.inputs)
            unread = all(not facts.calls_reading.get(i) for i in call.outputs)
            if call.function in _UPDATES and of_leaf and unread and names_kept(call):
                found = call
    return found


def _readers(case: Case, read: Call) -> list[Call]:
    """Return a call that reads a gradient, and those that read what it made."""
    readers = case.facts.calls_reading
    return [read, *(call for i in read.outputs for call in readers.get(i, ()))]
