"""Optimizers that step, and hold nothing but what is frozen: nothing is trained."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gradviz.graph.findings import Cause, Level
from gradviz.graph.records import Source
from gradviz.names.statements import freezes, source_of
from gradviz.why.rules.many import pattern
from gradviz.why.rules.optimizers.optimizers import learns
from gradviz.why.rules.optimizers.replaced import replaced
from gradviz.why.shown.explanation import Explanation
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
    if (new := replaced(case, found)) is not None:
        return new
    learning = [p for i, p in case.targets().items() if i not in held and learns(p)]
    nodes = case.statements.nodes((ast.Assign, ast.Call))
    freezing = [source_of(file, node) for file, node in nodes if freezes(node)]
    return case.answer(
        Cause.NOT_MOVED,
        "only_frozen_beside" if learning else "only_frozen",
        statements=dict.fromkeys(_lines(case, freezing, bool(learning))),
        names=pattern([case.title(p, say("entry.a_parameter")) for p in held.values()]),
        n=len(held),
        learning=pattern([case.title(p, say("entry.a_parameter")) for p in learning]),
        count=len(learning),
    )


def _lines(case: Case, freezing: list[Source], others_learn: bool) -> list[Source]:
    """Return the lines that tell of it: where something else learns, which an optimizer was to be
    given, the freezing is right, and what the optimizer is given stands first."""
    makers = _makers(case)
    if not others_learn:
        return freezing or makers
    return [*_groups(case, makers), *makers, *freezing]


def _groups(case: Case, makers: list[Source]) -> list[Source]:
    """Return where the groups are listed that optimizers are given by a name."""
    nodes = [found[1] for place in makers if (found := case.statements.node_at(place))]
    calls = [n.value for n in nodes if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)]
    names = [c.args[0].id for c in calls if c.args and isinstance(c.args[0], ast.Name)]
    return [place for name in names for place, _ in case.statements.binds(name)]


def _makers(case: Case) -> list[Source]:
    """Return where the optimizers are made: of what nothing froze, as columns of the data."""
    return [place for one in case.known_optimizers for place in case.where_made(one)]
