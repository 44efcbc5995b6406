"""Gradients that the program read when they were cleared: it sees None, though backwards fill
them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradviz.graph.facts import grouped
from gradviz.graph.records import Source
from gradviz.graph.training import Did, Moment
from gradviz.names.position import display_name, locate, statement_or_head
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.rules.many import pattern

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_TIMES = 2  # backwards that filled it: of one alone, the program may only show what clearing does


def read_while_cleared(case: Case) -> Iterator[Remark]:
    """Tell of each line that read gradients when they were None, of leaves that backwards fill and
    a call clears again and again."""
    for place, tensors in grouped(_looks(case)).items():
        objects = {i for t in tensors if (i := case.live_state.object_of(t)) is not None}
        moments = [m for i in objects for m in case.training.moments[i]]
        cleared = max((m for m in moments if m.did is Did.CLEARED), key=_when)
        added = max((m for m in moments if m.did is Did.ADDED), key=_when)
        fields = {
            "names": pattern([case.title(t, "") for t in tensors]),
            "n": len(tensors),
            "code": case.words.source(place),
            "clear": case.words.at(cleared.call),
            "backward": case.words.at(added.call),
        }
        calls = (cleared.call, added.call)
        yield Remark(
            Weight.WEIGHTY, "read_while_cleared", fields, calls, frozenset(objects), (place,)
        )


def _looks(case: Case) -> Iterator[tuple[Source, Any]]:
    """Yield the lines that read such a gradient last, each with its tensor."""
    for tensor, look in [] if case.recording is None else case.recording.looked_at():
        if look.attribute == "grad" and look.missing and _filled_and_cleared(case, tensor):
            place = _place(look)
            if place is not None:
                yield place, tensor


def _when(moment: Moment) -> int:
    return moment.call.id


def _filled_and_cleared(case: Case, tensor: Any) -> bool:
    """Say whether backwards filled a leaf's gradient several times, and calls cleared it."""
    object_id = case.live_state.object_of(tensor)
    moments = [] if object_id is None else case.training.moments.get(object_id, [])
    fresh = [m for m in moments if m.did is Did.ADDED and not m.onto]
    return len(fresh) >= _TIMES and any(m.did is Did.CLEARED for m in moments)


def _place(look: Any) -> Source | None:
    """Return the statement that read a gradient and goes on with it; None where a condition only
    asks whether it is there."""
    place = locate(look.code, look.lasti)
    node: Any = place.node
    while node is not None and not isinstance(node, ast.stmt):
        if isinstance(node, (ast.Compare, ast.IfExp, ast.BoolOp)):
            return None
        node = getattr(node, "parent", None)
    if node is None or isinstance(node, (ast.Assert, ast.If, ast.While)):
        return None
    shown = statement_or_head(place.node)
    return Source(display_name(place.code.co_filename), place.start, place.text(shown or node))
