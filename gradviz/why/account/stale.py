"""A forward that was computed once, and that backward after backward goes through while steps move
the weights: its values are those of the weights from before. Knows no torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gradviz.graph.facts import Facts, grouped, site_of
from gradviz.graph.records import Backward, Call
from gradviz.graph.training import Did, Moment, Training, line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import plain_name
from gradviz.words.words import Words

_RUNS = 2  # backwards through the same forward, at least
# what makes another number of each, as of a logarithm that is learnt
_EACH = frozenset("abs add div exp expm1 log mul pow relu sigmoid softmax softplus square".split())


def stale(facts: Facts, words: Words, training: Training) -> Iterator[Remark]:
    """Tell of each line whose backwards go through one forward alone, from before the steps.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        training: what was done with gradients.
    """
    runs = [b for b in facts.graph.backwards if b.kind == "backward"]
    by_line = grouped((line_of(facts.graph.call[b.call_id]), b) for b in runs)
    for every in by_line.values():
        found = _read_once(facts, training, every) if len(every) > _RUNS else {}
        if not found:
            continue
        first = min(found.values(), key=lambda call: call.id)
        last = facts.graph.call[every[-1].call_id]
        fields = {
            "names": [words.name(facts.latest_state[i].id) for i in found],
            "code": words.at(first),
            "n": words.times(len(every)),
            "loss": words.name(last.inputs[0]),
            "place": words.where(last),
        }
        yield Remark(Weight.WEIGHTY, "stale", fields, (first, last), frozenset(found))
    yield from _stale_values(facts, words, training)


def _stale_values(facts: Facts, words: Words, training: Training) -> Iterator[Remark]:
    """Tell of what was computed once of a leaf alone, and goes into losses as a value while steps
    move the leaf."""
    for leaf, moments in training.moments.items():
        steps = [m.call.id for m in moments if m.did is Did.STEPPED]
        made = _made_once(facts, leaf, steps[0]) if len(steps) > _RUNS else None
        if made is None:
            continue
        value = facts.graph.tensor[made.outputs[0]]
        reads = [
            call
            for call in facts.readers.get(value.object_id, ())
            if call.id > steps[1] and not facts.in_losses.isdisjoint(call.outputs)
        ]
        if reads:
            fields = {
                "name": words.name(value.id),
                "made": words.at(made),
                "leaf": words.name(facts.latest_state[leaf].id),
                "read": words.at(reads[-1]),
                "n": words.times(len(steps)),
            }
            calls = (made, reads[-1])
            yield Remark(Weight.WEIGHTY, "stale_value", fields, calls, frozenset({leaf}))


def _made_once(facts: Facts, leaf: int, before: int) -> Call | None:
    """Return the call that made a value of a leaf alone, number by number, before the first step,
    where its line did not run again; None where there is none, or several."""
    readers = [c for c in facts.readers.get(leaf, ()) if _is_of_each(c)]
    sites = Counter(map(site_of, readers))
    found = [c for c in readers if c.id < before and sites[site_of(c)] == 1]
    return found[0] if len(found) == 1 else None


def _is_of_each(call: Call) -> bool:
    """Say whether a call makes other numbers of one tensor alone, each of its own."""
    function = plain_name(call.function)
    return len(call.inputs) == len(call.outputs) == 1 and function in _EACH and call.grad_mode


def _read_once(facts: Facts, training: Training, runs: list[Backward]) -> dict[int, Call]:
    """Return the leaves that some backwards brought a gradient, and that steps moved between them,
    each with the last call that read it on the way to the last loss; none where one of these calls
    came after the first step: that loss has a forward of its own."""
    filled = {b.run for b in runs}
    last = facts.graph.call[runs[-1].call_id]
    behind = facts.ancestors(last.inputs[:1])
    found = dict[int, Call]()
    for leaf, moments in training.moments.items():
        added = [m.call.id for m in moments if m.did is Did.ADDED and m.run in filled]
        if not added or added[-1] != last.id:
            continue
        readers = facts.readers.get(leaf, ())
        reads = [c.id for c in readers if not behind.isdisjoint(c.outputs)]
        if not _is_moved(moments, added) or max(reads, default=last.id) > added[0]:
            return {}
        found[leaf] = facts.graph.call[max(reads)]
    return found


def _is_moved(moments: list[Moment], added: list[int]) -> bool:
    """Say whether a step moved a leaf between the first and the last of some backwards."""
    return any(m.did is Did.STEPPED and added[0] < m.call.id < added[-1] for m in moments)
