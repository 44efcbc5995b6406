"""Gradients that autograd.grad gave without create_graph=True, and from which a loss was computed:
constants there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.graph.findings import Cause
from gradviz.graph.flow import Flow
from gradviz.graph.records import Call
from gradviz.why.evidence.handed_on import goes_on_as_it_is, named_before
from gradviz.why.evidence.messages import asks_for_graph
from gradviz.why.evidence.summands import Summands
from gradviz.why.shown.explanation import Explanation

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def first_order(case: Case, found: Explanation) -> Explanation | None:
    """Tell of gradients without a graph in a loss: where all of a summand was made of them it
    trains nothing; else second derivatives are missing."""
    made = _made_without_graph(case) if case.recording is not None else {}
    for loss in case.every_loss if made else ():
        used = _used_in(case, loss, made)
        summand = _summand_of(case, loss, set(used))
        if summand is None:
            used = [i for i in used if _is_of_trained(case, i, made[i], loss)]
        if used:
            return _told(case, loss, summand, {i: made[i] for i in used})
    return None


def whole_summand(case: Case, found: Explanation) -> Explanation | None:
    """Tell of a summand of a loss that was made of such gradients alone, whatever else keeps off it
    what it was made of besides."""
    told = first_order(case, found)
    return told if told is not None and told.cause is Cause.CONSTANT_SUMMAND else None


def explains_more(case: Case, found: Explanation) -> bool:
    """Say whether a recording may show something graver than the answer so far, or that is about
    zeros and nothing was asked in particular: a part of the loss that trains nothing explains more
    than zeros that one input brings."""
    is_zero = case.recording is not None and found.cause is Cause.ZERO_GRADIENT
    return case.training_asked(found) or (is_zero and not case.in_particular)


def _told(case: Case, loss: int, summand: int | None, used: dict[int, Call]) -> Explanation:
    """Tell of such gradients."""
    words = case.words
    calls = list(dict.fromkeys(used.values()))
    return case.answer(
        Cause.FIRST_ORDER if summand is None else Cause.CONSTANT_SUMMAND,
        "in_loss" if summand is None else "without_graph",
        calls=calls,
        tensor_ids=[loss, *used],
        loss=words.name(loss),
        names=list(dict.fromkeys(words.as_written(i) for i in used)),
        part="" if summand is None else words.name(summand),
        code=words.code(calls[-1]),
    )


def _made_without_graph(case: Case) -> dict[int, Call]:
    """Return what calls of autograd.grad gave that was asked for no graph, each with its call."""
    runs = (b for b in case.graph.backwards if b.kind == "grad")
    calls = [c for b in runs if not asks_for_graph(c := case.graph.call[b.call_id])]
    tensor = case.graph.tensor
    return {i: c for c in calls for i in c.outputs if not tensor[i].requires_grad}


def _used_in(case: Case, loss: int, made: dict[int, Call]) -> list[int]:
    """Return those from which a loss was computed, while gradients were recorded, and of which the
    code did not let go on all ways to it."""
    facts = case.facts
    behind = facts.ancestors([loss])

    def is_used(tensor_id: int) -> bool:
        readers = facts.calls_reading.get(tensor_id, ())
        return any(c.grad_mode and not behind.isdisjoint(c.outputs) for c in readers)

    used = (i for i in made if i in behind and is_used(i))
    return [i for i in used if goes_on_as_it_is(facts, i, [loss])]


def _is_of_trained(case: Case, tensor_id: int, call: Call, loss: int) -> bool:
    """Say whether a gradient is that of what the loss trains: that of an input which is changed by
    it, as an attack does, has nothing to be differentiated through."""
    facts = case.facts
    run = facts.run_of_call[call.id]
    pairs = zip(call.outputs, run.returned, strict=False)
    of = next((i for made, (i, _) in pairs if made == tensor_id), None)
    reached = {t.object_id for t in facts.leaves_reached(loss)}
    return not reached.isdisjoint(t.object_id for t in facts.leaves_reached(of))


def _summand_of(case: Case, loss: int, used: set[int]) -> int | None:
    """Return the part of a loss that is a number to autograd, and was made of these."""
    facts = case.facts
    for part, _ in Summands(Flow(case.graph, [loss])).numbers:
        if used & facts.ancestors([part]):
            return named_before(facts, part)
    return None
