"""Parameters that an optimizer does not move because its learning rate is 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.graph.findings import Cause
from gradviz.graph.records import Tensor
from gradviz.graph.training import STEPS
from gradviz.why.rules.many import pattern
from gradviz.why.rules.optimizers.schedules import groups_at_zero, why_zero
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def at_zero_rate(case: Case, optimizer: Any, names: list[str]) -> Explanation:
    """Tell of parameters that an optimizer does not move because its learning rate is 0."""
    zero = why_zero(optimizer, case.called.get(id(optimizer), ""), case.statements)
    return case.answer(
        Cause.NOT_MOVED,
        ("zero_rate_uncalled" if zero.uncalled else "zero_rate_written")
        if zero.written
        else "zero_rate"
        if not zero.scheduler
        else "zero_rate_divided"
        if zero.divides
        else ("zero_rate_scheduled" if zero.fresh else "zero_rate_ended"),
        statements=zero.statements,
        optimizer=case.optimizer_name(optimizer),
        scheduler=zero.scheduler,
        writer=zero.uncalled,
        divides=zero.divides,
        divided=zero.divides.replace(" // ", " / "),
        names=pattern(names),
    )


def stepped_at_zero(case: Case, found: Explanation) -> Explanation | None:
    """Tell of parameters that recorded steps of a known optimizer did not move, as its learning
    rate is 0 and nothing speaks for another one then."""
    for optimizer in case.known_optimizers if case.recording else ():
        stepped = stepped_groups_at_zero(case, optimizer)
        writes = [pair for _, every in stepped for pair in every]
        seen = [before.values != after.values for before, after in writes if before.values]
        if not stepped or any(seen):
            continue
        zero = why_zero(optimizer, case.called.get(id(optimizer), ""), case.statements)
        # a schedule that went on may have ended at 0
        if seen or zero.fresh or not zero.scheduler:
            names = [case.title(p, say("entry.a_parameter")) for p, _ in stepped]
            return at_zero_rate(case, optimizer, names)
    return None


def stepped_groups_at_zero(case: Case, optimizer: Any) -> list[tuple[Any, list[Any]]]:
    """Return what is asked about and in a group whose learning rate is 0, each with the writes
    of recorded steps."""
    live = case.targets()
    held = [p for group in groups_at_zero(optimizer) for p in group["params"]]
    mine = [(p, step_writes(case, p)) for p in held if id(p) in live]
    return [(p, writes) for p, writes in mine if writes]


def step_writes(case: Case, p: Any) -> list[tuple[Tensor, Tensor]]:
    """Return what a parameter was before and after each recorded write of an optimizer."""
    state = case.recording.find(p) if case.recording else None
    if state is None:
        return []
    facts, tensor = case.facts, case.graph.tensor
    writes = facts.writes_by_object.get(state.object_id, ())
    return [
        (tensor[e.before_id], tensor[e.after_id])
        for e in writes
        if (call := case.graph.call[e.call_id]).bookkeeping
        and call.function.startswith(STEPS)
        and tensor[e.before_id].grad is not None
    ]
