"""Steps that ran without any backward: which, and which loss never went back."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gradviz.graph.records import Source
from gradviz.graph.training import line_made, line_of
from gradviz.names.bindings import scope_of
from gradviz.names.statements import innermost
from gradviz.why.evidence.summands import single
from gradviz.why.shown.explanation import Explanation, lines_of
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

# forms of the answer that no backward ran
_NONE_RAN = ("none_recorded", "not_from_loss")
_SUMS = ("add", "add_", "__add__", "__iadd__")


def no_backward_ran(case: Case, found: Explanation) -> bool:
    """Say whether the answer is that no backward ran, and optimizers stepped all the same."""
    if case.recording is None or case.graph.backwards or found.form not in _NONE_RAN:
        return False
    is_moved = case.training.sums_used or case.training.given_used
    return bool(case.recording.held_at_steps()) and not is_moved


def with_steps(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with where the optimizers stepped, and with the losses that were made
    of what these hold and never went back."""
    assert case.recording is not None
    steps = case.recording.steps_taken()
    places = list(dict.fromkeys(place for _, did in steps for place in innermost(did.site)))
    losses = _losses(case)
    if not places or not losses:
        return None
    makers = [call for i in losses if (call := case.facts.maker.get(i)) is not None]
    names = [case.words.at(case.facts.maker.get(i), case.words.as_written(i)) for i in losses]
    times = case.words.times(max(did.n for _, did in steps))
    shown = [*map(case.words.source, places)]
    why = say("gradient.steps_without_backward", steps=shown, n=times, losses=names)
    return found._replace(
        why=why,
        where=case.words.places(makers, places),
        lines=lines_of(makers, places),
        mend=_mend(case, losses, places[0]) or found.mend,
    )


def _losses(case: Case) -> list[int]:
    """Return the single numbers that are made of what the optimizers held, and of which nothing
    else is made: of the lines that made most of them the last of each."""
    assert case.recording is not None
    held = set[int]().union(*case.recording.held_at_steps())
    facts = case.facts
    ends = [i for i in {*case.ends, *_running_sums(case)} if i in facts.maker]
    leads = [i for i in ends if any(t.object_id in held for t in facts.leaves_reached(i))]
    of_lines = {line_made(case.facts, i): i for i in (_without_sum(case, i) for i in sorted(leads))}
    made = Counter((line_of(call), call.function) for call in facts.ordinary_calls)
    times = {i: made[line, facts.maker[i].function] for line, i in of_lines.items()}
    return [i for i, n in times.items() if n == max(times.values())]


def _running_sums(case: Case) -> list[int]:
    """Return the tracked single numbers that one statement adds to, and nothing else reads."""
    facts, tensor = case.facts, case.graph.tensor
    sums = [(i, call) for i, call in facts.maker.items() if call.function in _SUMS]
    tracked = [(tensor[i], call) for i, call in sums if tensor[i].requires_grad]
    return [
        t.id
        for t, call in tracked
        if single(t) and {line_of(c) for c in facts.readers.get(t.object_id, ())} <= {line_of(call)}
    ]


def _without_sum(case: Case, tensor_id: int) -> int:
    """Return what was added to a running sum last; what is no such sum, as it is."""
    maker = case.facts.maker.get(tensor_id)
    if maker is None or maker.function not in _SUMS:
        return tensor_id
    others = [i for i in maker.inputs if line_made(case.facts, i) != line_of(maker)]
    is_running = len(maker.inputs) > len(others) == 1
    return others[0] if is_running and others[0] in case.facts.maker else tensor_id


def _mend(case: Case, losses: list[int], place: Source) -> str:
    """Return where the backward belongs, of the one loss; "" where that is not known."""
    if len(losses) != 1:
        return ""
    loss, step = case.words.as_written(losses[0]), case.words.source(place)
    maker = case.facts.maker.get(losses[0])
    beside = maker is not None and _scope(case, maker.source) is _scope(case, place)
    if beside and all(part.isidentifier() for part in loss.split(".")):
        return say("gradient.backward_before", loss=loss, step=step)
    return say("gradient.backward_of_it_before", loss=loss, step=step)


def _scope(case: Case, place: Source | None) -> object:
    """Return the scope in which a statement stands; None where that is not known."""
    found = case.statements.node_at(place)
    return None if found is None else scope_of(found[1])
