"""What is frozen and what is not, where nothing ran yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.graph.findings import Cause
from gradviz.graph.flow import Flow
from gradviz.graph.records import Call
from gradviz.why.rules.many import pattern
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def flags_matter(case: Case, found: Explanation) -> bool:
    """Say whether no backward was recorded, and some of what was asked about is frozen."""
    frozen = any(not a.requires_grad for a in case.targets_asked)
    none_ran = found.cause is Cause.NO_BACKWARD_YET and not case.graph.backwards
    return case.recording is not None and none_ran and frozen


def with_flags(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with what is frozen and what is not, and the calls that last set
    these flags."""
    groups = _by_switch(case)
    return found._replace(more=(*_lines(groups), *found.more)) if groups else None


def with_flags_set_back(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with what the program froze; where it made a part trainable again,
    with that too: which part was meant cannot be known."""
    groups = _by_switch(case)
    off = {key: names for key, names in groups.items() if not key[0]}
    if len(off) < len(groups) and off:
        return case.beside(found, *_lines(groups), say("losses.flags_meant"))
    return case.beside(found, *_lines(off)) if off else None


def _by_switch(case: Case) -> dict[tuple[bool, str], list[str]]:
    """Return the names of what was asked about, by its flag and where that was last set; nothing
    of what is switched on and off in turns, as its own step comes."""
    groups: dict[tuple[bool, str], list[str]] = {}
    words = case.words
    in_turns = {a.tensor_id for a, told in case.told if told.form == "frozen_in_turns"}
    for asked in (a for a in case.targets_asked if a.tensor_id not in in_turns):
        call = switched_by(case, asked.tensor_id)
        if call is not None:
            key = asked.requires_grad, words.where(call)
            groups.setdefault(key, []).append(asked.name)
    return groups


def _lines(groups: dict[tuple[bool, str], list[str]]) -> list[str]:
    """Say where the flags were set."""
    return [
        say("losses.switched_on", names=pattern(names), place=place)
        if is_on
        else say("losses.switched_off", names=pattern(names), place=place)
        for (is_on, place), names in groups.items()
    ]


def switched_by(case: Case, tensor_id: int | None) -> Call | None:
    """Return the last call that set the flag of a tensor to what it was not."""
    tensor = case.graph.tensor
    calls = [
        case.graph.call[e.call_id]
        for e in Flow(case.graph).writes_to(tensor_id)
        if tensor[e.before_id].requires_grad != tensor[e.after_id].requires_grad
    ]
    return calls[-1] if calls else None
