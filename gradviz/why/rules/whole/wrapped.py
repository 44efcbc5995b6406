"""Parameters that were made of what is to learn: nn.Parameter takes its values, and no gradient
goes back from there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradviz.graph.findings import Cause
from gradviz.graph.training import line_of
from gradviz.why.evidence.paths import Asked
from gradviz.why.evidence.wrappings import Wrapping, place_of_wrapping, wrappings
from gradviz.why.rules.many import pattern
from gradviz.why.shown.explanation import Explanation

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_WRAPPED = {"in_a_leaf", "made_a_leaf"}  # forms that tell so already
_UNTOLD = {Cause.NOT_IN_LOSS, Cause.BRANCH_NOT_TAKEN, Cause.REBUILT_FROM_VALUE}


def is_missing(case: Case, found: Explanation) -> bool:
    """Say whether gradients are missing in a recording, as values alone go on, or nothing does."""
    is_open = found.form in _WRAPPED or found.form == "ends" or found.cause in _UNTOLD
    return case.recording is not None and is_open


def in_a_parameter(case: Case, found: Explanation) -> Explanation | None:
    """Tell of the statement that makes a parameter of what gets no gradient."""
    if found.form in _WRAPPED:
        return _at_its_line(case, found)
    asked = [a for a, told in case.told if told.cause is found.cause and a.tensor_id is not None]
    wrapping = next(_wrapping_all(case, asked), None) if asked else None
    if wrapping is None:
        return None
    return case.answer(
        Cause.CUT,
        "in_a_parameter",
        calls=[] if line_of(wrapping.call) == wrapping.place[:2] else [wrapping.call],
        statements=[wrapping.place],
        tensor_ids=[a.tensor_id for a in asked if a.tensor_id is not None],
        names=pattern([a.name for a in asked]),
        n=len(asked),
        code=wrapping.place.code,
    )


def _at_its_line(case: Case, found: Explanation) -> Explanation | None:
    """Return an answer that tells so, with the line that wraps in the first place."""
    calls = found.finding.calls
    place = place_of_wrapping(calls[-1], case.statements) if calls else None
    if place is None or place.line in found.lines:
        return None
    return found._replace(where=case.words.places(calls, [place]), lines=(place.line, *found.lines))


def _wrapping_all(case: Case, asked: list[Asked]) -> Iterator[Wrapping]:
    """Yield the statements that wrap what was computed of every one of some leaves."""
    tensor, objects = case.graph.tensor, {a.tensor_id for a in asked}
    leaves = {tensor[i].object_id for i in objects if i is not None}
    for wrapping in wrappings(case.facts, case.statements):
        behind = case.facts.ancestors(wrapping.call.inputs)
        if leaves <= {tensor[i].object_id for i in behind}:
            yield wrapping
