"""What a loss reads as a value only: told beside "no fault", where nothing in particular was
asked."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from gradviz.graph.flow import Flow
from gradviz.graph.records import Cut, CutReason
from gradviz.graph.redo import WITHOUT_DERIVATIVE, obstacles_after
from gradviz.graph.training import line_of
from gradviz.names.frames import frames
from gradviz.why.code.rewritten import data_given
from gradviz.why.evidence.messages import in_sample
from gradviz.why.evidence.summands import Summands
from gradviz.why.rules.many import pattern
from gradviz.why.rules.whole.losses import LETTING_GO
from gradviz.why.shown.explanation import Explanation, lines_of
from gradviz.words.speech import Code, say
from gradviz.words.words import reason_of

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

MOST = 3  # that are told


def nothing_named(case: Case, found: Explanation) -> bool:
    """Say whether no fault was found, and nothing in particular was asked about."""
    return case.recorded_and_fine(found) and not case.in_particular


def with_read_as_values(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with the cuts by which a loss reads what is trained as a value."""
    words, cuts = case.words, [*islice(_read_as_numbers(case), MOST)]
    if not cuts:
        return None
    told = [
        say(
            "losses.value",
            name=words.as_written(cut.input_id),
            cutter=_cutter(case, cut),
            place=words.where(case.graph.call[cut.call_id]),
        )
        for cut in cuts
    ]
    parts = _parts_with(case, cuts[0]) if len(cuts) == 1 else []
    line = say(
        "losses.values",
        values=told,
        of=say("losses.values_of", parts=parts) if parts else "",
        leaves=[pattern(_kept_off(case, cuts))],
        mend=_mend(case, cuts),
    )
    if any(_is_to_learn(case, cut) for cut in cuts):
        cutting = lines_of(case.graph.call[cut.call_id] for cut in cuts)
        lines = tuple(dict.fromkeys([*found.lines, *cutting]))
        return case.beside(found._replace(lines=lines), line)
    return found._replace(more=(*found.more, line))


def _cutter(case: Case, cut: Cut) -> str:
    """Return what cut: the no_grad of a distribution's ``sample()`` is none of the user's."""
    return say("losses.sample") if in_sample(cut, case.graph) else reason_of(cut)


def _mend(case: Case, cuts: list[Cut]) -> str:
    """Say what to write instead of some cuts."""
    if all(in_sample(cut, case.graph) for cut in cuts):
        return say("mend.sample")
    given = [_given_to_data(case, cut) for cut in cuts]
    if all(given):
        return say("losses.data_given", mends=list(dict.fromkeys(given)))
    cutters = list(dict.fromkeys(_cutter(case, c) for c in cuts))
    if any(_is_carried(case, cut) for cut in cuts):
        return say("losses.carried", cutters=cutters)
    return say("losses.leave_out", cutters=cutters)


def _is_carried(case: Case, cut: Cut) -> bool:
    """Say whether a backward that ran before a cut went through what its value was made of: then
    that graph is freed."""
    edge = case.graph.tensor[cut.input_id].gradient_edge
    earlier = {b.run for b in case.graph.backwards if b.call_id < cut.call_id}
    if edge is None or not earlier:
        return False
    behind = case.facts.reachable([edge.node_id])
    saving = (n for n in behind if n in case.graph.node and case.graph.node[n].saved)
    runs_of_node = case.facts.runs_of_node
    return any(ran.run in earlier for n in saving for _, ran in runs_of_node.get(n, ()))


def _given_to_data(case: Case, cut: Cut) -> str:
    """Say what to read in the place of a tensor whose ``.data`` was given a result: a registered
    Parameter takes nothing else. "" of another cut."""
    statements = [frame.code for frame in frames(case.graph.call[cut.call_id])[:1]]
    found = next(filter(None, map(data_given, statements)), None)
    if cut.reason is not CutReason.DATA or found is None:
        return ""
    target, value = found
    return say("losses.read_instead", target=Code(target), value=Code(value))


def _kept_off(case: Case, cuts: list[Cut]) -> list[str]:
    """Return the names of the leaves that some cuts keep off: of those that an optimizer has, where
    it has any."""
    held = set[int]().union(*case.held_objects)
    lines = {line_of(case.graph.call[cut.call_id]) for cut in cuts} - {None}
    beside = [c for c in _cutting(case) if line_of(case.graph.call[c.call_id]) in lines]
    leaves = [t for c in (*cuts, *beside) for t in case.facts.leaves_reached(c.input_id)]
    to_learn = [t for t in leaves if t.object_id in held] or leaves
    return list(dict.fromkeys(case.words.name(t.id) for t in to_learn))


def _parts_with(case: Case, cut: Cut) -> list[str]:
    """Return the names of the summands of a loss that are made of what a cut gave, where others
    are not."""
    holding = (i for i in case.started if cut.output_id in case.facts.ancestors([i]))
    losses = [*islice(holding, 1)]  # of a loop there are hundreds
    parts = dict.fromkeys(Summands(Flow(case.graph, losses)).tracked)
    made = [i for i in parts if cut.output_id in case.facts.ancestors([i])]
    if not 0 < len(made) < len(parts):
        return []
    return list(dict.fromkeys(map(case.words.name, made)))  # of a loop all have one


def _read_as_numbers(case: Case) -> Iterator[Cut]:
    """Yield the cuts by which a loss reads numbers that have a derivative: behind what was drawn or
    counted from them none would come through without the cut, either."""
    for cut in _cuts(case):
        further = obstacles_after(cut, case.facts) or ()
        if not any(o.reason in WITHOUT_DERIVATIVE for o in further):
            yield cut


def _cuts(case: Case) -> list[Cut]:
    """Return the cuts on the way to a loss that somebody wrote, and that keep leaves off; of one
    line the first."""
    cuts = _cutting(case)
    by_line = {line_of(call := case.graph.call[c.call_id]) or call.id: c for c in reversed(cuts)}
    return [*reversed([*by_line.values()])]


def _cutting(case: Case) -> list[Cut]:
    """Return all the cuts on the way to a loss that somebody wrote, and that keep leaves off."""
    facts = case.facts
    # what autograd.grad is asked of beside a training, as a normal at the end, is no loss
    behind = facts.in_backwards
    cuts = [c for c in facts.real_cuts if c.output_id in behind and c.reason in LETTING_GO]
    cuts = [c for c in cuts if _is_written(case, c)]
    results = (c for c in cuts if not case.graph.tensor[c.input_id].is_leaf)  # a teacher's weights
    return [c for c in results if facts.leaves_reached(c.input_id)]


def _is_written(case: Case, cut: Cut) -> bool:
    """Say whether a cut stands in the recorded code: gradients that a library switches off for
    itself, as spectral_norm does, nobody can leave on. A sample() has rsample() beside it."""
    source = case.graph.call[cut.call_id].source
    is_own = source is not None and source.off is not None
    return cut.reason is not CutReason.NO_GRAD or is_own or in_sample(cut, case.graph)


def _is_to_learn(case: Case, cut: Cut) -> bool:
    """Say whether an optimizer has what a cut keeps off; also where none is known."""
    held = set[int]().union(*case.held_objects)
    off = {leaf.object_id for leaf in case.facts.leaves_reached(cut.input_id)}
    return not held or not held.isdisjoint(off)
