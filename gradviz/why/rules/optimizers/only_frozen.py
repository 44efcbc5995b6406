"""Optimizers that step, and hold nothing but what is frozen: nothing is trained."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradviz.graph.findings import Cause, Level
from gradviz.graph.records import Source
from gradviz.why.explanation import Explanation
from gradviz.why.many import pattern
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def steps_nothing(case: Case, found: Explanation) -> bool:
    """Say whether optimizers stepped, and no step moved anything, where the answer so far is no
    fault that nobody can have meant."""
    if case.recording is None or found.cause.level > Level.SUSPECT:
        return False
    return bool(case.recording.held_at_steps()) and not case.training.sums_used


def only_frozen(case: Case, found: Explanation) -> Explanation | None:
    """Tell that all which the optimizers hold is frozen, while other parameters get gradients."""
    held = case.held_by_any
    if not held or any(p.requires_grad for p in held.values()) or not case.graph.backwards:
        return None
    return case.answer(
        Cause.NOT_MOVED,
        "only_frozen",
        statements=dict.fromkeys(_freezing(case)),
        names=pattern([case.title(p, say("entry.a_parameter")) for p in held.values()]),
        n=len(held),
    )


def _freezing(case: Case) -> Iterator[Source]:
    """Yield the statements that switch ``requires_grad`` off."""
    yield from (s for s, node in case.statements.sets("requires_grad") if _is_false(node.value))
    for source, call in case.statements.calls("requires_grad_"):
        if call.args and _is_false(call.args[0]):
            yield source


def _is_false(node: Any) -> bool:
    """Say whether an expression is ``False``, as it is written."""
    return isinstance(node, ast.Constant) and node.value is False
