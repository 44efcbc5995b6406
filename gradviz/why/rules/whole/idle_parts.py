"""A part of a loss that is cut from what the rest of the loss trains, and that trains nothing in
its place."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from gradviz.graph.facts import Facts, grouped
from gradviz.graph.findings import Cause
from gradviz.graph.flow import Flow
from gradviz.graph.records import Backward, Cut, CutReason
from gradviz.graph.training import Did, line_of
from gradviz.why.evidence.fixes import fix_of
from gradviz.why.evidence.summands import Summands
from gradviz.why.rules.many import pattern
from gradviz.why.shown.explanation import Explanation
from gradviz.words.words import reason_of

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

# cuts that somebody wrote in order to cut
_WRITTEN = {CutReason.DETACH, CutReason.DETACH_IN_PLACE, CutReason.DATA, CutReason.NO_GRAD}

_FEW = 3  # backwards of one line


class Idle(NamedTuple):
    """A part of a loss that trains nothing of what is trained.

    Attributes:
        loss: the state of the loss.
        part: the state of the part.
        cuts: what keeps it from what the rest of the loss trains.
        lost: the object ids of the leaves that it is kept from.
        own: those of the leaves that its gradient goes to.
    """

    loss: int
    part: int
    cuts: list[Cut]
    lost: set[int]
    own: set[int]


def trains_nothing(case: Case, found: Explanation) -> Explanation | None:
    """Tell of a part of a loss that reads what the rest of the loss trains as a value only, while
    no step uses the gradients that it sends elsewhere: a generator's loss on detached samples."""
    if case.recording is None:
        return None
    facts = case.facts
    wanted = {case.graph.tensor[i].object_id for i in case.target_ids}
    used = _Used(case, facts)
    for run in _last_of_each_line(case):
        for idle in _idle_parts(case, facts, run):
            mine = not wanted or not wanted.isdisjoint(idle.lost)
            if mine and used.only(run, idle, wanted):
                return _told(case, facts, idle)
    return None


def _last_of_each_line(case: Case) -> list[Backward]:
    """Return the last backwards of each line, the last of all first: each is looked through whole,
    and a loop has thousands."""
    runs = [b for b in case.graph.backwards if b.kind == "backward"]
    lines = grouped((line_of(case.graph.call[b.call_id]), b) for b in runs)
    last = [b for line, every in lines.items() for b in (every[-_FEW:] if line else every)]
    return sorted(last, key=lambda b: b.call_id, reverse=True)


def _idle_parts(case: Case, facts: Facts, run: Backward) -> Iterator[Idle]:
    """Yield the parts of the loss of a backward that a cut keeps from all that the rest of it
    trains behind that cut."""
    for loss in case.graph.call[run.call_id].inputs[:1]:
        summands = Summands(Flow(case.graph, [loss]))
        reached = {i: _leaves(facts, i) for i in dict.fromkeys(summands.tracked)}
        for part, own in reached.items() if len(reached) > 1 else ():
            rest = set[int]().union(*(leaves for i, leaves in reached.items() if i != part))
            cuts = [c for c in Flow(case.graph, [part]).cuts_behind([part]) if c.reason in _WRITTEN]
            cuts = [c for c in cuts if _leaves(facts, c.input_id) & rest]
            lost = set[int]().union(*(_leaves(facts, c.input_id) for c in cuts)) & rest
            if lost and own and own.isdisjoint(rest):
                yield Idle(loss, part, cuts, lost, own)


def _leaves(facts: Facts, tensor_id: int) -> set[int]:
    """Return the leaves that a gradient from a state reaches, by object id."""
    return {leaf.object_id for leaf in facts.leaves_reached(tensor_id)}


class _Used:
    """Which gradients the steps of a recording use, or would."""

    def __init__(self, case: Case, facts: Facts) -> None:
        assert case.recording is not None
        self.case, self.find = case, case.recording.find
        self.moments = case.training.moments

    @cached_property
    def held(self) -> set[int]:
        """The object ids of what any living optimizer holds."""
        states = map(self.find, self.case.held_anywhere.values())
        return {state.object_id for state in states if state is not None}

    def only(self, run: Backward, idle: Idle, wanted: set[int]) -> bool:
        """Say whether steps use what the rest of the loss sends and nothing of what the part sends;
        where no optimizer is known, whether only the one was asked about."""
        stepped = {i for i in self.moments if self.is_stepped(i, run)}
        if stepped:
            return not stepped.isdisjoint(idle.lost) and stepped.isdisjoint(idle.own)
        if self.held.isdisjoint(idle.lost | idle.own):
            return bool(wanted) and wanted.isdisjoint(idle.own)
        return not self.held.isdisjoint(idle.lost) and self.held.isdisjoint(idle.own)

    def is_stepped(self, leaf: int, run: Backward) -> bool:
        """Say whether a step used the gradient of a leaf after a backward, before it was
        cleared."""
        later = (m for m in self.moments[leaf] if m.call.id > run.call_id)
        deeds = (m.did for m in later if m.did in (Did.STEPPED, Did.CLEARED))
        return next(deeds, None) is Did.STEPPED


def _told(case: Case, facts: Facts, idle: Idle) -> Explanation:
    """Tell of one such part."""
    words = case.words
    names = [words.name(facts.latest_state[i].id) for i in sorted(idle.lost)]
    others = [words.name(facts.latest_state[i].id) for i in sorted(idle.own)]
    first = idle.cuts[0]
    return case.answer(
        Cause.KEPT_OFF,
        "part",
        calls=[case.graph.call[c.call_id] for c in idle.cuts],
        cuts=idle.cuts,
        tensor_ids=[idle.loss, idle.part],
        loss=words.name(idle.loss),
        part=words.name(idle.part),
        names=pattern(names),
        others=pattern(others),
        cutter=reason_of(first),
        value=words.name(first.input_id),
        mend=fix_of(first, case.graph, [idle.part]),
    )
