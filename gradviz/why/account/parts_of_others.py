"""Parts of a loss that lead to no weight which its steps move, but to those of others alone. Knows
no torch."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.graph.facts import Facts
from gradviz.graph.flow import Flow
from gradviz.graph.records import Backward, Call
from gradviz.graph.training import line_made, line_of
from gradviz.names.frames import frames, names_bound, place_at, variables_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.account.steps import Steps
from gradviz.why.evidence.summands import Summands
from gradviz.words.words import Words


def parts_of_others(facts: Facts, words: Words, steps: Steps) -> Iterator[Remark]:
    """Tell of summands of a loss that lead to weights which other steps move, and to none that a
    step ever moved with the gradient of that loss: of each line that goes backward the last.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        steps: what its steps used.
    """
    graph = facts.graph
    runs = [b for b in graph.backwards if b.kind == "backward" and graph.call[b.call_id].inputs]
    last = {line_of(graph.call[b.call_id]): b for b in runs}
    every = {u.leaf for u in steps.used}
    for line, run in last.items():
        alike = {b.run for b in runs if line_of(graph.call[b.call_id]) == line}
        moved = {u.leaf for u in steps.used if any(m.run in alike for m in u.added)}
        parts = [*_of_others(facts, run, moved, every)] if moved else []
        if parts:
            yield _of(facts, words, steps, run, parts, moved)


def _of_others(facts: Facts, run: Backward, moved: set[int], every: set[int]) -> Iterator[int]:
    """Yield such parts, where no other part of the same loss leads to what they lead to and to what
    is moved: a critic's answer to real images stands beside that to fake ones."""
    flow = Flow(facts.graph, facts.graph.call[run.call_id].inputs[:1])
    parts = [i for i in dict.fromkeys(Summands(flow).tracked) if i in facts.maker]
    reached = {i: {t.object_id for t in facts.leaves_reached(i)} for i in parts}
    felt = set[int]().union(*(leaves for leaves in reached.values() if leaves & moved))
    for part, leaves in reached.items():
        is_of_others = bool(leaves) and leaves <= every and leaves.isdisjoint(felt)
        if felt and is_of_others and not _may_lead(facts, flow, part, moved):
            yield part


def _may_lead(facts: Facts, flow: Flow, part: int, moved: set[int]) -> bool:
    """Say whether a cut keeps a part from what is moved."""
    cuts = flow.cuts_behind([part])
    lost = {t.object_id for c in cuts for t in facts.leaves_reached(c.input_id)}
    return not lost.isdisjoint(moved)


def _of(
    facts: Facts, words: Words, steps: Steps, run: Backward, parts: list[int], moved: set[int]
) -> Remark:
    """Tell of the parts of one loss."""
    graph, calls = facts.graph, [facts.maker[part] for part in parts]
    shown = _where_named(calls[0])
    alike = [call for call in calls if line_of(_where_named(call)) == line_of(shown)]
    around = _lines_around(alike, graph.call[run.call_id])
    others = {t.object_id for part in parts for t in facts.leaves_reached(part)}
    step = steps.training.step_using[run.run]
    fields = {
        "part": words.at(shown),
        "loss": words.name(graph.call[run.call_id].inputs[0]),
        "step": words.code(step),
        "others": steps.names(others),
        "given": _given(facts, words, parts),
        "places": list(map(words.where, around)),
    }
    key = "part_of_others_at" if around else "part_of_others"
    return Remark(Weight.WEIGHTY, key, fields, (shown, *around, step), frozenset(moved))


def _where_named(call: Call) -> Call:
    """Return a call at the innermost statement around it that gives its result a name; itself where
    none does."""
    places = (place_at(call, depth) for depth in range(len(frames(call))))
    return next((place for place in places if names_bound(place)), call)


def _lines_around(calls: list[Call], backward: Call) -> list[Call]:
    """Return the statements under which some calls ran, in the function that goes backward, or as
    far out as is known, other than that which names what they gave: of each line one."""
    scopes = {variables_of(frame) for frame in frames(backward)}
    found = dict[tuple[str, int], Call]()
    for call in filter(frames, calls):
        every = frames(call)
        depths = [d for d, frame in enumerate(every) if variables_of(frame) in scopes]
        around = place_at(call, [*depths, len(every) - 1][0])
        line = line_of(around)
        if line is not None and line != line_of(_where_named(call)):
            found[line] = around
    return [found[line] for line in sorted(found)]


def _given(facts: Facts, words: Words, parts: list[int]) -> list[str]:
    """Return what the values are called that have no history, and that some parts are computed of;
    none that are made in the statement which does that."""
    tensor, behind = facts.graph.tensor, facts.ancestors(parts)
    tracked = [i for i in behind if tensor[i].requires_grad and i in facts.maker]
    found = {i for made in tracked for i in facts.maker[made].inputs if not tensor[i].requires_grad}
    computing = {line_of(facts.maker[i]) for i in tracked}
    known = [i for i in sorted(found) if i in facts.maker or tensor[i].name]
    older = [i for i in known if line_made(facts, i) not in computing]
    return list(dict.fromkeys(words.at(facts.maker.get(i), words.name(i)) for i in older))
