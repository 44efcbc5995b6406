"""A part of a loss that is added as a number only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.graph.facts import Facts
from gradviz.graph.findings import Cause
from gradviz.graph.flow import Flow
from gradviz.graph.records import Cut, Tensor
from gradviz.why.explanation import Explanation
from gradviz.why.messages import repair
from gradviz.why.rules.silent.silent import lines_once
from gradviz.why.summands import Constant, Summands
from gradviz.words.words import Words, reason_of

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def constant_summand(case: Case, found: Explanation) -> Explanation | None:
    """Tell of a part of a loss that was computed from what is trained, and is added as a number
    only."""
    words = Words(case.graph)
    for loss in case.every_loss:
        parts = Summands(Flow(case.graph, [loss])).constants()
        part = next((p for p in parts if concerns(case, loss, p)), None)
        if part is None:
            continue
        first = part.cuts[0]
        trained = {t.id: words.name(t.id) for c in part.cuts for t in lost(case, c)}
        return case.answer(
            Cause.CONSTANT_SUMMAND,
            "summand",
            calls=[case.graph.call[c.call_id] for c in part.cuts],
            cuts=part.cuts,
            also_at=[part.call],
            tensor_ids=[loss],
            loss=words.name(loss),
            part=part.name,
            cutter=reason_of(first),
            code=words.code(case.graph.call[first.call_id]),
            trained=list(dict.fromkeys(trained.values())),
            mend=repair(first, case.graph),
        )
    return None


def new_leaf(case: Case, found: Explanation) -> Explanation | None:
    """Tell of a part of a loss whose gradient ends in a tensor that was made of numbers, when those
    of what is trained had left torch."""
    words = Words(case.graph)
    for loss in case.every_loss:
        parts = Summands(Flow(case.graph, [loss])).new_leaves()
        part = next((p for p in parts if concerns(case, loss, p)), None)
        if part is not None:
            trained = {t.id: words.name(t.id) for c in part.cuts for t in lost(case, c)}
            return case.answer(
                Cause.CONSTANT_SUMMAND,
                "new_leaf",
                calls=lines_once([*(case.graph.call[c.call_id] for c in part.cuts), part.call]),
                cuts=part.cuts,
                tensor_ids=[loss],
                loss=words.name(loss),
                part=part.name,
                code=words.code(part.call),
                trained=list(dict.fromkeys(trained.values())),
            )
    return None


def lost(case: Case, cut: Cut) -> list[Tensor]:
    """Return the leaves to which a gradient would have gone without a cut."""
    return Facts.of(case.graph).leaves_reached(cut.input_id)


def concerns(case: Case, loss: int, part: Constant) -> bool:
    """Say whether a loss or what it lost has to do with what was asked about."""
    tensor = case.graph.tensor
    wanted = {tensor[i].object_id for i in case.target_ids}
    if not wanted:
        return True
    leaves = [t for c in part.cuts for t in lost(case, c)]
    if case.modules or case.optimizers:  # else only what these tensors lost
        leaves += Facts.of(case.graph).leaves_reached(loss)
    return not wanted.isdisjoint(t.object_id for t in leaves)
