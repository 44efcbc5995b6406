"""Zeros that a checkpoint makes, because the second run of its function lacks the hooks of the
first."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Source
from gradviz.graph.sites import CHECKPOINT
from gradviz.names.bindings import scope_of
from gradviz.names.position import statement_of
from gradviz.names.statements import innermost
from gradviz.watch import torch_private
from gradviz.why.shown.explanation import Explanation, lines_of
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_HOOKS = ("register_forward_pre_hook", "register_forward_hook")


class Removed(NamedTuple):
    """Hooks of modules that are gone when the backward runs: where they are registered, and where
    they are removed."""

    registered: Source
    removed: Source


def zeros_of_a_factor(case: Case, found: Explanation) -> bool:
    """Say whether gradients are all zeros, as a call of the recording sends only zeros back."""
    return case.recording is not None and found.cause is Cause.ZERO_GRADIENT and bool(found.lines)


def with_removed_hooks(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, where what sends zeros lies in a checkpoint and multiplies by what
    was made in there of no history, and hooks of modules are removed before the backward."""
    calls = [c for c in found.finding.calls if _multiplies_by_made(case, c)]
    places = [place for call in calls for place in _checkpoint_around(case, call)]
    removed = _removed_hooks(case) if places else None
    if removed is None:
        return None
    words = case.words
    statements = list(dict.fromkeys([*places, *removed]))
    return found._replace(
        why=say(
            "zero.recomputed_without_hooks",
            checkpoint=words.source(places[0]),
            registered=words.source(removed.registered),
            removed=words.source(removed.removed),
        ),
        mend=say("zero.mend_recomputed", removed=words.source(removed.removed)),
        lines=tuple(dict.fromkeys([*found.lines, *lines_of((), statements)])),
    )


def _multiplies_by_made(case: Case, call: Call) -> bool:
    """Say whether a call computes with a value of no history that a call of the same module call
    made, or one inside of it."""
    tensor, facts = case.graph.tensor, case.facts
    factors = [i for i in call.inputs if not tensor[i].requires_grad]
    makers = [facts.maker.get(i) for i in factors]
    return any(m is not None and m.module_call == call.module_call for m in makers)


def _checkpoint_around(case: Case, call: Call) -> list[Source]:
    """Return the statement that runs a checkpoint around a call, in a list; none where no
    checkpoint is known there."""
    assert case.recording is not None
    facts, sites = case.facts, case.recording.sites()
    around = {*facts.module_calls_around(call.module_call)}
    lines = {source.line for i in around if (source := facts.module_call[i].source) is not None}
    for one in (call, *(c for c in facts.ordinary_calls if c.module_call in around)):
        site = sites.get(one.id, ())
        marks = [at for at, code in enumerate(site) if code is CHECKPOINT]
        for place in innermost(site[marks[0] + 2 :]) if marks else ():
            if "checkpoint" in (place.code or "") and (one is call or place.line in lines):
                return [place]
    return []


def _removed_hooks(case: Case) -> Removed | None:
    """Return the forward hooks that a function registers and removes again without a backward in
    between, where no known module has one any longer."""
    modules = (m for one in (*case.modules, *case.known_modules) for m in one.modules())
    if any(torch_private.module_hooks(m) for m in modules):
        return None
    found = (pair for hook in _HOOKS for pair in case.statements.calls(hook))
    return next((gone for pair in found if (gone := _removed_below(case, *pair))), None)


def _removed_below(case: Case, registered: Source, node: ast.Call) -> Removed | None:
    """Return the first statement below that removes what one registers, where both stand in one
    function and no backward of it comes before."""
    scope = scope_of(statement_of(node))
    backwards = [
        b.lineno for _, b in case.statements.calls("backward") if scope_of(statement_of(b)) is scope
    ]
    for removed, other in case.statements.calls("remove"):
        if scope_of(statement_of(other)) is scope and node.lineno < other.lineno:
            is_over = any(line < other.lineno for line in backwards)
            return None if is_over else Removed(registered, removed)
    return None
