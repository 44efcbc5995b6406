"""A backward that was called on a leaf: nothing lies behind that, whatever stands above it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.graph.findings import Cause
from gradviz.graph.records import Source
from gradviz.why.shown.explanation import Explanation, lines_of
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def nothing_reached(case: Case, found: Explanation) -> bool:
    """Say whether gradients are missing in a recording, for a cut or for no known reason."""
    causes = (Cause.CUT, Cause.NOT_IN_LOSS, Cause.REBUILT_FROM_VALUE, Cause.NOT_KNOWN)
    return case.recording is not None and found.cause in causes


def with_leaf_root(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with the line that made a leaf of the loss: it has to go too."""
    tensor, words = case.graph.tensor, case.words
    leaves = [i for i in case.started if tensor[i].is_leaf]
    if not leaves:
        return None
    loss = tensor[leaves[-1]]
    place = _made_at(case, loss.code_name)
    name = words.name(loss.id)
    too = say("losses.leaf_root_unknown", loss=name)
    if place is not None:
        too = say("losses.leaf_root", loss=name, place=words.line_of(place), code=place.code)
    lines = (*found.lines, *lines_of((), [place] if place else []))
    mend = say("losses.not_alone", first=found.mend, second=too) if found.mend else too
    return found._replace(mend=mend, lines=tuple(dict.fromkeys(lines)))


def _made_at(case: Case, name: str) -> Source | None:
    """Return the last statement above the last backward that binds the loss's name, or switches its
    flag."""
    call = case.graph.call[[b for b in case.graph.backwards if b.kind == "backward"][-1].call_id]
    if call.source is None:
        return None
    source = call.source
    places = [place for place, _ in case.statements.mentions(name)]
    flags = [p for p in places if "requires_grad" in (p.code or "") and p.file == source.file]
    above = [p for p in flags if p.line < source.line]
    return above[-1] if above else None
