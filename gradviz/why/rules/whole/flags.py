"""What is frozen and what is not, where nothing ran yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gradviz.graph.findings import Cause
from gradviz.graph.flow import Flow
from gradviz.graph.records import Call
from gradviz.graph.training import line_of
from gradviz.watch.identity import parameters
from gradviz.why.question.subjects import held_by
from gradviz.why.rules.many import pattern
from gradviz.why.shown.explanation import Explanation, lines_of
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
    off = {switch: names for switch, names in groups.items() if not switch.is_on}
    if not off:
        return None
    listed = _listed_though_frozen(case)
    if len(off) < len(groups):
        told = case.beside(found, *_lines(groups), *listed, say("losses.flags_meant"))
    else:
        told = case.beside(found, *_lines(off), *listed)
    lines = [line for switch in off for line in lines_of([switch.call])]
    return told._replace(lines=tuple(dict.fromkeys([*told.lines, *lines])))


def _listed_though_frozen(case: Case) -> list[str]:
    """Say of each optimizer that holds frozen parameters beside others, and not all of its model's:
    it was given these by choice, as what is to learn. Of one whose steps were over by then it is
    not told: they passed over nothing."""
    lines = []
    for optimizer in case.known_optimizers:
        held = held_by([optimizer])
        frozen = [p for i, p in case.targets().items() if i in held and not p.requires_grad]
        every = ({id(p) for p in parameters(module)} for module in case.known_modules)
        is_chosen = any(held.keys() < own for own in every)
        if frozen and len(frozen) < len(held) and is_chosen and not _ended(case, held, frozen):
            names = pattern([case.title(p, say("entry.a_parameter")) for p in frozen])
            optimizer_name = case.optimizer_name(optimizer)
            lines.append(say("losses.listed_frozen", optimizer=optimizer_name, names=names))
    return lines


def _ended(case: Case, held: Mapping[int, Any], frozen: Sequence[Any]) -> bool:
    """Say whether an optimizer stepped, and not since something that it holds was frozen. Another
    one may move what is not frozen, at a line of its own."""
    calls, before = _steps_of(case, held.values()), _steps_of(case, frozen)
    lines = {line_of(call) for call in before}
    steps = [call.id for call in calls if not lines or line_of(call) in lines]
    flow = Flow(case.graph)
    off = [switched_by(flow, case.ids.get(id(p))) for p in frozen]
    return bool(steps) and all(call is not None and max(steps) < call.id for call in off)


def _steps_of(case: Case, parameters: Iterable[Any]) -> list[Call]:
    """Return the calls that moved some parameters by their gradients."""
    leaves = {case.live_state.object_of(p) for p in parameters}
    return [u.step.call for i in leaves for u in case.training.sums_used.get(i or 0, ())]


class _Switch(NamedTuple):
    """How a flag was last set: on or off, where, and by a call there."""

    is_on: bool
    place: str
    call: Call


def _by_switch(case: Case) -> dict[_Switch, list[str]]:
    """Return the names of what was asked about, by its flag and where that was last set; nothing
    of what is switched on and off in turns, as its own step comes."""
    switches = dict[tuple[bool, str], _Switch]()
    groups: dict[_Switch, list[str]] = {}
    in_turns = {a.tensor_id for a, told in case.told if told.form == "frozen_in_turns"}
    flow = Flow(case.graph)
    for asked in (a for a in case.targets_asked if a.tensor_id not in in_turns):
        call = switched_by(flow, asked.tensor_id)
        if call is not None:
            here = _Switch(bool(asked.requires_grad), case.words.where(call), call)
            groups.setdefault(switches.setdefault(here[:2], here), []).append(asked.name)
    return groups


def _lines(groups: dict[_Switch, list[str]]) -> list[str]:
    """Say where the flags were set."""
    return [
        say("losses.switched_on", names=pattern(names), place=switch.place)
        if switch.is_on
        else say("losses.switched_off", names=pattern(names), place=switch.place)
        for switch, names in groups.items()
    ]


def switched_by(flow: Flow, tensor_id: int | None) -> Call | None:
    """Return the last call that set the flag of a tensor to what it was not."""
    tensor = flow.graph.tensor
    calls = [
        flow.graph.call[e.call_id]
        for e in flow.writes_to(tensor_id)
        if tensor[e.before_id].requires_grad != tensor[e.after_id].requires_grad
    ]
    return calls[-1] if calls else None
