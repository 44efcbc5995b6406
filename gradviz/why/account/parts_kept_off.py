"""Parts of a loss that send nothing to what the step behind it moves. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.graph.facts import Facts
from gradviz.graph.flow import Flow
from gradviz.graph.records import Backward, Call, Cut
from gradviz.graph.training import line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.account.steps import Steps
from gradviz.why.evidence.summands import Summands
from gradviz.words.words import Words, reason_of


def parts_kept_off(facts: Facts, words: Words, steps: Steps) -> Iterator[Remark]:
    """Tell of summands of a loss that lead to leaves, but to none that a step moved with the
    gradient of that loss, because a cut stands between: of each line that goes backward the last.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        steps: what its steps used.
    """
    graph = facts.graph
    runs = {line_of(graph.call[b.call_id]): b for b in graph.backwards if b.kind == "backward"}
    for run in runs.values():
        moved = {u.leaf for u in steps.used if any(m.run == run.run for m in u.added)}
        if not moved or not graph.call[run.call_id].inputs:
            continue
        told = dict[object, Remark]()
        for part, cut in _kept_off(facts, run, moved):
            call = facts.maker[part]
            told.setdefault(line_of(call), _of(facts, words, steps, run, call, cut, moved))
        yield from told.values()


def _kept_off(facts: Facts, run: Backward, moved: set[int]) -> Iterator[tuple[int, Cut]]:
    """Yield such parts, each with the cut that keeps it off, while another part is felt."""
    flow = Flow(facts.graph, facts.graph.call[run.call_id].inputs[:1])
    parts = [i for i in dict.fromkeys(Summands(flow).tracked) if i in facts.maker]
    reached = {i: {t.object_id for t in facts.leaves_reached(i)} for i in parts}
    if all(leaves.isdisjoint(moved) for leaves in reached.values()):
        return
    for part in parts:
        if not reached[part] or not reached[part].isdisjoint(moved):
            continue
        cuts = [c for c in flow.cuts_behind([part]) if not moved.isdisjoint(_lost(facts, c))]
        if cuts:
            yield part, cuts[-1]


def _lost(facts: Facts, cut: Cut) -> set[int]:
    """Return the leaves to which a gradient would have gone without a cut."""
    return {t.object_id for t in facts.leaves_reached(cut.input_id)}


def _of(
    facts: Facts,
    words: Words,
    steps: Steps,
    run: Backward,
    call: Call,
    cut: Cut,
    moved: set[int],
) -> Remark:
    """Tell of one such part."""
    cutting = facts.graph.call[cut.call_id]
    step = steps.training.step_using[run.run]
    fields = {
        "part": words.at(call),
        "loss": words.name(facts.graph.call[run.call_id].inputs[0]),
        "step": words.at(step),
        "moved": steps.names(moved),
        "cutter": reason_of(cut),
        "value": words.name(cut.input_id),
        "at": words.at(cutting),
    }
    return Remark(Weight.WEIGHTY, "part_kept_off", fields, (cutting, call), frozenset(moved))
