"""A backward that was called on a leaf: nothing lies behind that, whatever stands above it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradviz.graph.findings import Cause
from gradviz.graph.records import Source, Tensor
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
    place = _switched_at(case, loss) or _made_at(case, loss.code_name)
    name = words.name(loss.id)
    too = say("losses.leaf_root_unknown", loss=name)
    if place is not None:
        in_vain = is_in_vain(place.code or "")
        too = say(
            "losses.leaf_root_out" if in_vain else "losses.leaf_root",
            loss=name,
            place=words.line_of(place),
            code=place.code,
        )
    lines = (*found.lines, *lines_of((), [place] if place else []))
    mend = say("losses.not_alone", first=found.mend, second=too) if found.mend else too
    return found._replace(mend=mend, lines=tuple(dict.fromkeys(lines)))


def is_in_vain(code: str) -> bool:
    """Say whether a statement can go, and its name means the same without it: it switches a flag,
    or gives a name to what it makes of that same name.

    >>> is_in_vain("loss.requires_grad = True"), is_in_vain("loss = Variable(loss, True)")
    (True, True)
    >>> is_in_vain("total = torch.tensor(loss.item(), requires_grad=True)")
    False
    """
    target, assigns, value = code.partition(" = ")
    if not assigns or target.endswith(".requires_grad"):
        return True
    return re.search(rf"(?<![\w.]){re.escape(target)}(?!\w)", value) is not None


def _switched_at(case: Case, loss: Tensor) -> Source | None:
    """Return the recorded statement that switched the flag of a loss on, by whatever name."""
    states = {t.id for t in case.facts.states[loss.object_id]}
    switches = [c for c in case.graph.calls if c.function.startswith("requires_grad")]
    sources = [c.source for c in switches if not states.isdisjoint(c.inputs[:1])]
    return sources[-1] if sources else None


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
