"""What stands in a recording of a training beside gradients that are there: told before them, since
nobody can know whether it is meant."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gradviz.graph.records import Call, Source
from gradviz.graph.training import Did
from gradviz.why.rules.errors.failure import call_at
from gradviz.why.rules.many import pattern
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

# --- values that were put into a parameter --------------------------------------------------------


def with_replaced_values(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with the parameters whose ``.data`` got other values after a call
    had used them, and that no step moved by a gradient since: then training went on from there."""
    words, tensor = case.words, case.graph.tensor
    wanted = {tensor[i].object_id for i in case.target_ids} & case.facts.leaves_sent_to
    names = dict[Call, list[str]]()
    for event in case.facts.writes:
        call, after = case.graph.call[event.call_id], tensor[event.after_id]
        is_set = call.function == "data" and not call.outputs and not call.bookkeeping
        is_same = after.values is not None and after.values == tensor[event.before_id].values
        if event.alias or not is_set or is_same or after.object_id not in wanted:
            continue
        if _was_used_at_last(case, after.object_id, call):
            names.setdefault(call, []).append(words.name(after.id))
    last = {tuple(alike): words.where(call) for call, alike in names.items()}
    lines = [
        say("losses.replaced_values", names=pattern(list(alike)), place=place)
        for alike, place in last.items()
    ]
    return case.beside(found, *lines) if lines else None


def _was_used_at_last(case: Case, leaf: int, call: Call) -> bool:
    """Say whether calls used a leaf before another call, and no step moved it by a gradient
    since."""
    piles = case.training.sums_used.get(leaf, ())
    used = any(c.id < call.id for c in case.facts.readers.get(leaf, ()))
    return used and not any(pile.step.call.id > call.id for pile in piles)


# --- a step that comes too early ------------------------------------------------------------------


def with_step_before(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with a step that stands before the only backward, so that none used
    its gradient."""
    step, backward = _only_step(case), _only_backward(case)
    if step is None or backward is None or backward.source is None:
        return None
    source = backward.source
    if step.file != source.file or step.line >= source.line:  # one line may have both in any order
        return None
    where = case.words.where
    return case.beside(
        found,
        say(
            "losses.step_before",
            step=step.code,
            place=where(call_at(step)),
            backward=where(backward),
        ),
    )


def _only_step(case: Case) -> Source | None:
    """Return the one statement that steps a known optimizer."""
    optimizers = case.known_optimizers
    names = {case.called.get(id(o)) for o in optimizers}
    steps = [
        place
        for place, call in case.statements.calls("step")
        if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) in names
    ]
    return steps[0] if len(steps) == 1 and len(optimizers) == 1 else None


def _only_backward(case: Case) -> Call | None:
    """Return the one backward of a recording, where it filled what the optimizer holds and no step
    used any of it."""
    moments = case.training.moments
    held = set().union(*case.held_objects)
    every = [m for leaf in held for m in moments.get(leaf, ())]
    calls = {m.call.id: m.call for m in every if m.did is Did.ADDED}
    is_used = any(m.did is not Did.ADDED for m in every)
    return next(iter(calls.values())) if len(calls) == 1 and not is_used else None
