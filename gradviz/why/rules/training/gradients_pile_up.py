"""Gradients that pile up: a step, or whoever reads them, gets the sum of several backwards."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from gradviz.graph.facts import grouped
from gradviz.graph.findings import Cause
from gradviz.graph.records import Call
from gradviz.graph.training import Did, Moment, Pile, Training, line_of
from gradviz.names.frames import frames, stands_above, variables_of
from gradviz.why.rules.silent.silent import Silent, lines_once
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_STEP = re.compile(r"(?P<owner>[\w.]+)\.step\((?P<given>.*)\)")


def piled_up(asked: Silent) -> Explanation | None:
    """Tell of gradients that a step used although an earlier one had used a part of them."""
    piles = {i: pile for i in asked.leaves if (pile := asked.training.piled_up(i))}
    if not piles:
        return None
    most = _longest(piles)
    step = most.step.call
    backward = _first_before(step, [moment.call for moment in most.added])
    if _may_be_cleared_by_hand(asked, step):
        return None
    form = _between(asked.training, most)
    if form == "after_another_step":
        used = most.before.id if most.before is not None else -1
        backward = next(m.call for m in most.added if m.call.id > used)
    stepped_for = _stepped_for_another(asked.training, piles) if form == "between_steps" else None
    if stepped_for is not None:
        return _of_two_losses(asked, piles, most, stepped_for)
    closure, of_each = _closure_of(asked, step, backward), _added_for(asked.training, most)
    if form == "between_steps":
        form = _form_by_backwards(closure, of_each)
    return _of_cleared_values(asked, piles, most) or asked.answer(
        Cause.GRADIENTS_PILE_UP,
        form,
        calls=lines_once([backward, step]),
        tensors=asked.states_of(piles),
        names=asked.names_of(piles),
        backwards=len(most.added),
        clear=clearing(asked, step),
        backward=asked.words.code(backward),
        before=asked.words.at(most.before),
        step=asked.words.code(step),
        closure=Code(closure),
        of_each=of_each,
    )


def _form_by_backwards(closure: str, of_each: int) -> str:
    """Return the form in which backwards are told that nothing cleared after a step: in a closure
    that it is given, of several micro-batches each, or of one."""
    if closure:
        return "in_a_closure"
    return "between_steps_of_several" if of_each > 1 else "between_steps"


def _added_for(training: Training, pile: Pile) -> int:
    """Return how many backwards of one line ran for a step alone, behind the step before it: of
    micro-batches, whose gradients are to be added up."""
    row = next(row for row in training.moments.values() if pile.step in row)
    for_it: list[Call] = []
    for moment in row[: row.index(pile.step)]:
        if moment.did is Did.STEPPED:
            for_it = []
        elif moment.did is Did.ADDED:
            for_it.append(moment.call)
    return sum(line_of(call) == line_of(for_it[-1]) for call in for_it)


def _closure_of(asked: Silent, step: Call, backward: Call) -> str:
    """Return the code of the closure that a step is given, where a backward stands in another
    function than the step; "" where there is none."""
    called, here = _STEP.fullmatch(asked.words.code(step)), frames(step)[:1]
    given = "" if called is None or asked.training.has_scaler else called["given"]
    there = frames(backward)[:1]
    is_apart = bool(here and there) and variables_of(here[0]) != variables_of(there[0])
    return given if is_apart and given.isidentifier() else ""


def _values_cleared(asked: Silent, piles: Mapping[int, Pile]) -> list[Cleared]:
    """Return the calls that gave leaves zeros after a step, and again after a later one: the last
    of each line, in their order."""
    facts, found = asked.facts, list[Cleared]()
    zeros = [e for e in facts.writes if asked.graph.call[e.call_id].function == "zero_"]
    for leaf in piles:
        memory = facts.latest_state[leaf].storage_id
        first = next(m.call.id for m in asked.training.moments[leaf] if m.did is Did.STEPPED)
        into_it = [e for e in zeros if asked.graph.tensor[e.after_id].storage_id == memory]
        later = {e.call_id: asked.graph.call[e.call_id] for e in into_it if e.call_id > first}
        for same in grouped((line_of(call), call) for call in later.values()).values():
            if len(same) > 1:
                found.append(Cleared(same[-1], leaf))
    return sorted(found, key=lambda one: one.call.id)


class Cleared(NamedTuple):
    """A call that gives a leaf zeros, and the leaf, by object id."""

    call: Call
    leaf: int


def _of_cleared_values(asked: Silent, piles: Mapping[int, Pile], most: Pile) -> Explanation | None:
    """Tell of gradients that pile up, beside lines that clear the weights themselves after each
    step."""
    cleared = _values_cleared(asked, piles)
    if {one.leaf for one in cleared} != piles.keys():
        return None
    calls = [one.call for one in cleared]
    return asked.answer(
        Cause.GRADIENTS_PILE_UP,
        "values_cleared",
        calls=[*calls, *lines_once([most.step.call])],
        tensors=asked.states_of(piles),
        names=[asked.names_of(piles)],
        leaves=len(piles),
        codes=[asked.words.at(call) for call in calls],
        grads=[f"{asked.names_of([one.leaf])}.grad.zero_()" for one in cleared],
        backwards=len(most.added),
        step=asked.words.at(most.step.call),
    )


class SteppedFor(NamedTuple):
    """A backward that filled a gradient, and for which another optimizer stepped.

    Attributes:
        backward: the one.
        step: the step of the other optimizer.
    """

    backward: Call
    step: Call


def _stepped_for_another(training: Training, piles: Mapping[int, Pile]) -> SteppedFor | None:
    """Return the last of the backwards in the longest sum after which a step moved other leaves,
    before the one that comes before the sum's own step: as a generator's loss fills its
    discriminator, too."""
    pile = _longest(piles)
    own = pile.added[-1].call
    others = [m.call for m in pile.added if line_of(m.call) != line_of(own)]
    if not others:
        return None
    steps = {
        leaf: [m.call for m in every if m.did is Did.STEPPED]
        for leaf, every in training.moments.items()
    }
    ours = {call.id for leaf in piles for call in steps[leaf]}
    theirs = (call for every in steps.values() for call in every if call.id not in ours)
    step = next((c for c in theirs if others[-1].id < c.id < own.id), None)
    return None if step is None else SteppedFor(others[-1], step)


def _longest(piles: Mapping[int, Pile]) -> Pile:
    """Return the sum of the most backwards."""
    return max(piles.values(), key=lambda pile: len(pile.added))


def _of_two_losses(
    asked: Silent, piles: Mapping[int, Pile], most: Pile, other: SteppedFor
) -> Explanation:
    """Tell of gradients that pile up, a part of them from a loss for which another optimizer
    steps."""
    own, step = most.added[-1].call, most.step.call
    return asked.answer(
        Cause.GRADIENTS_PILE_UP,
        "between_two_losses",
        calls=lines_once([other.backward, own, step]),
        tensors=asked.states_of(piles),
        names=asked.names_of(piles),
        backwards=len(most.added),
        clear=clearing(asked, step),
        backward=asked.words.at(own),
        other=asked.words.at(other.backward),
        other_step=asked.words.code(other.step),
    )


def _between(training: Training, pile: Pile) -> str:
    """Return the form in which it is told what a step used: where another line of the same
    iteration had moved weights by a part of it, as SAM does, and the whole is cleared at times, to
    clear after the step would change nothing."""
    if not pile.step.call.bookkeeping:
        return "between_updates"
    is_same = pile.before is None or line_of(pile.before) == line_of(pile.step.call)
    every = (row for row in training.moments.values() if pile.step in row)
    is_cleared = any(m.did is Did.CLEARED for row in every for m in row)
    return "after_another_step" if is_cleared and not is_same else "between_steps"


def _may_be_cleared_by_hand(asked: Silent, step: Call) -> bool:
    """Say whether a step was written by hand, and so may be what clears its gradients."""
    by_hand = not step.bookkeeping
    return by_hand and any(_may_clear(node) for _, node in asked.statements.sets("grad"))


def _may_clear(node: ast.Assign) -> bool:
    """Say whether a statement gives a ``.grad`` another tensor, as one of zeros: of a large one
    its values are not known."""
    return not isinstance(node.value, ast.Constant)


def _first_before(step: Call, backwards: list[Call]) -> Call:
    """Return the backward that stands first above a step in its function; the last that ran where
    none does."""
    above = [call for call in backwards if stands_above(call, step)]
    last = above[-1] if above else backwards[-1]
    same = [call for call in above if line_of(call) == line_of(last)]
    in_iteration = above[-(len(above) // len(same)) :] if same else []
    return min(in_iteration, key=lambda call: frames(call)[0].line, default=last)


def broken_by_a_step(case: Case, found: Explanation) -> bool:
    """Say whether an answer about NaN blames no call of the forward, but an optimizer's step."""
    calls = found.finding.calls[-1:]
    return found.finding.cause is Cause.NAN and any(call.bookkeeping for call in calls)


def piled_up_to_nan(case: Case, found: Explanation) -> Explanation | None:
    """Tell of gradients that pile up, where steps with them made the weights NaN."""
    piled = piled_up(case.live_state)
    return None if piled is None else piled._replace(more=(found.verdict, *piled.more))


def clearing(asked: Silent, step: Call) -> str:
    """Return the code that clears what a step uses, by the name that the step has for its
    optimizer."""
    code = asked.words.code(step)
    called = _STEP.fullmatch(code)
    if called is None:
        return "optimizer.zero_grad()"
    owner, given = called["owner"], called["given"]
    by_scaler = asked.training.has_scaler and given.isidentifier()
    return f"{given if by_scaler else owner}.zero_grad()"


def read_as_sums(asked: Silent) -> Explanation | None:
    """Tell of gradients that were read after each of several backwards and never cleared: the later
    numbers are sums. Where steps use sums that are cleared at times, these are meant."""
    found = dict[int, list[Moment]]()
    stepped = dict[int, list[Moment]]()
    for leaf in asked.leaves:
        rows = list(_rows_read(asked.training, leaf))
        if rows and not _is_accumulated(asked.training.moments[leaf]):
            is_used = any(_is_sum_of_losses(asked, leaf, row) for row in rows)
            (stepped if is_used else found)[leaf] = max(rows, key=len)
    if not found:
        return _of_losses(asked, stepped)
    most = max(found.values(), key=len)
    return asked.answer(
        Cause.GRADIENTS_PILE_UP,
        "read_between",
        calls=lines_once([moment.call for moment in most]),
        tensors=asked.states_of(found),
        names=asked.names_of(found),
        backwards=len(most),
    )


def _is_accumulated(every: list[Moment]) -> bool:
    """Say whether a gradient was filled by one line alone, cleared, and used by a step."""
    did = {moment.did for moment in every}
    lines = {line_of(moment.call) for moment in every if moment.did is Did.ADDED}
    return {Did.CLEARED, Did.STEPPED} <= did and len(lines) == 1


def _of_losses(asked: Silent, found: dict[int, list[Moment]]) -> Explanation | None:
    """Tell of gradients in which a step used what several losses had brought, the later ones
    added to the first: whether all of them are to train it cannot be known."""
    if not found:
        return None
    row = max(found.values(), key=len)
    losses = list(dict.fromkeys(asked.words.name(m.call.inputs[0]) for m in row))
    if not _reach_apart(asked, row):
        return None
    return asked.answer(
        Cause.EXTRA_GRADIENT,
        "summed",
        calls=lines_once([moment.call for moment in row]),
        tensors=asked.states_of(found),
        names=asked.names_of(found),
        first=losses[0],
        others=losses[1:],
    )


def _reach_apart(asked: Silent, row: list[Moment]) -> bool:
    """Say whether some backwards were not added up everywhere that they brought gradients to: those
    that were, as a discriminator's on real and on false data, are parts of one loss."""
    runs = {moment.run for moment in row}
    sums = [s for every in asked.training.moments.values() for s in _sums(every)]
    return any(s & runs and not runs <= s for s in sums)


def _sums(every: list[Moment]) -> Iterator[set[int | None]]:
    """Yield the backwards that were added up to one gradient, each sum once."""
    runs = set[int | None]()
    for moment in every:
        if moment.did is Did.ADDED and moment.onto:
            runs.add(moment.run)
        elif moment.did is not Did.CHANGED:
            yield runs
            runs = {moment.run} if moment.did is Did.ADDED else set()
    yield runs


def _is_sum_of_losses(asked: Silent, leaf: int, row: list[Moment]) -> bool:
    """Say whether backwards of several lines brought a gradient that one step then used."""
    later = [m for m in asked.training.moments[leaf] if m.call.id > row[-1].call.id]
    is_used = bool(later) and later[0].did is Did.STEPPED
    lines = {line_of(m.call) for m in row}
    return is_used and len(lines) == len(row) and all(m.call.inputs for m in row)


def _rows_read(training: Training, leaf: int) -> Iterator[list[Moment]]:
    """Yield the backwards that added to one gradient, where another call read it between each two
    of them and after the last one."""
    reads = [call.id for call in training.reads.get(leaf, ())]
    every = training.moments[leaf]
    for did, together in groupby(every, lambda moment: moment.did):
        row = list(together)
        if did is not Did.ADDED or len(row) < 2 or not all(m.onto for m in row[1:]):
            continue
        begins = [m.call.id for m in row]
        ends = [*begins[1:], len(training.graph.calls)]
        if all(any(a < i < b for i in reads) for a, b in zip(begins, ends, strict=True)):
            yield row
