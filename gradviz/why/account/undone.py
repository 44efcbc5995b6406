"""Steps whose work is undone: what they moved is given other values before the next backward, and
so again and again. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gradviz.graph.effects import FILLING
from gradviz.graph.facts import Facts, grouped
from gradviz.graph.records import Call, Source, Wrote
from gradviz.graph.training import Did, Moment, Training, line_of
from gradviz.names.frames import frames
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.rules.many import pattern
from gradviz.words.words import Words

# what gives a tensor values of which the old ones are no part, from another tensor or from none
_COPIES = {"copy_", "set_", "data"}
_TIMES = 2  # that a step was undone, at least
_SHARE = 0.5  # of the steps, from which on it is a habit: a restart for each fold is meant


def undone(facts: Facts, words: Words, training: Training) -> Iterator[Remark]:
    """Tell of each place that gives what steps move other values after each step, from before it;
    and of what gives it new ones after some of them.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        training: what was done with gradients.
    """
    rows = [(leaf, call) for leaf in training.moments for call in _undoing(facts, training, leaf)]
    sometimes = []
    for every in grouped((line_of(call), (leaf, call)) for leaf, call in rows).values():
        by_leaf = grouped(every)
        leaf, calls = max(by_leaf.items(), key=lambda pair: len(pair[1]))
        times, steps = len(calls), len([*_between(training.moments[leaf])])
        is_fill = calls[-1].function in FILLING
        if times < _TIMES or not (is_fill or times >= _SHARE * steps):
            continue
        if times < _SHARE * steps:
            sometimes += every
            continue
        call, leaves = every[-1][1], frozenset(by_leaf)
        step = _last_step(training.moments[every[-1][0]], call.id)
        fields = {
            "code": words.at(call),
            "names": [words.name(facts.latest_state[i].id) for i in sorted(leaves)],
            "leaves": len(leaves),
            "n": words.times(times),
            "step": words.at(step),
        }
        key = "undone_fill" if is_fill else "undone_copy"
        yield Remark(Weight.IN_VAIN, key, fields, (call,), leaves)
    yield from _begun_anew(facts, words, sometimes)


def _begun_anew(facts: Facts, words: Words, rows: list[tuple[int, Call]]) -> Iterator[Remark]:
    """Tell of calls that gave leaves new values after some steps: those of one caller together, as
    of a function that initialises a whole model."""
    for every in grouped(
        (frames(call)[1:2] or line_of(call), (leaf, call)) for leaf, call in rows
    ).values():
        by_leaf = grouped(every)
        calls = list({line_of(call): call for _, call in every}.values())
        outer = frames(calls[-1])[1:2]
        is_of_several = len(calls) > 1 and bool(outer)
        code = words.at(calls[-1])
        if is_of_several:
            code = words.frame(outer[0])
        leaves = frozenset(by_leaf)
        fields = {
            "code": code,
            "names": pattern([words.name(facts.latest_state[i].id) for i in sorted(leaves)]),
            "leaves": len(leaves),
            "n": words.times(max(map(len, by_leaf.values()))),
        }
        above = tuple(Source(f.file, f.line, f.code) for f in outer if is_of_several)
        yield Remark(Weight.NOTABLE, "begun_anew", fields, tuple(calls), leaves, above)


def _undoing(facts: Facts, training: Training, leaf: int) -> Iterator[Call]:
    """Yield the calls that gave a leaf other values between a step and the next backward, where no
    call gave it those of after the step again: weights are swapped for an evaluation."""
    moments = training.moments[leaf]
    own = facts.latest_state[leaf].storage_id
    into_it = (e for e in facts.writes_by_object.get(leaf, ()) if facts.writes_memory(e))
    writes = {e.call_id: e for e in into_it if _target(facts, e) == own}
    for step, added in _between(moments):
        inside = (i for i in sorted(writes) if step.id < i < added.id)
        calls = [c for i in inside if (c := facts.graph.call[i]).function in _COPIES | FILLING]
        yield from (c for c in calls[-1:] if _is_from_before(facts, c, writes, step))


def _target(facts: Facts, event: Wrote) -> int | None:
    """Return the memory into which the call of an event wrote, by storage id; of a ``grad`` that
    was written the leaf has a new state, too."""
    call = facts.graph.call[event.call_id]
    given = facts.graph.tensor[call.inputs[0]] if call.inputs else None
    return None if given is None else given.storage_id


def _between(moments: list[Moment]) -> Iterator[tuple[Call, Call]]:
    """Yield each step with the backward that comes next."""
    step: Call | None = None
    for moment in moments:
        if moment.did is Did.STEPPED:
            step = moment.call
        elif moment.did is Did.ADDED and step is not None:
            yield step, moment.call
            step = None


def _is_from_before(facts: Facts, call: Call, writes: Mapping[int, Wrote], step: Call) -> bool:
    """Say whether a call gave values that owe nothing to a step: new ones, or those of a tensor
    that was there before it."""
    if call.function in FILLING:
        return True
    if call.function not in _COPIES:
        return False
    given = [i for i in call.inputs if i != writes[call.id].before_id]
    makers = (facts.maker.get(i) for i in given)
    is_older = all(maker is None or maker.id < step.id for maker in makers)
    return bool(given) and is_older and not _was_written(facts, given, step, call)


def _was_written(facts: Facts, given: Iterable[int], step: Call, until: Call) -> bool:
    """Say whether something wrote the memory of what a call was given, since a step: an average,
    which state_dict() hands out, follows what the step learnt."""
    blocks = {facts.graph.tensor[i].storage_id for i in given} - {None}
    return any(
        step.id < e.call_id < until.id and facts.graph.tensor[e.after_id].storage_id in blocks
        for e in facts.writes
    )


def _last_step(moments: list[Moment], before: int) -> Call:
    """Return the last step before a call."""
    steps = [m.call for m in moments if m.did is Did.STEPPED and m.call.id < before]
    return steps[-1]
