"""A part of a loss that is added as a number only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.graph.findings import Cause
from gradviz.graph.flow import Flow
from gradviz.graph.records import Cut, Tensor
from gradviz.why.evidence.messages import repair
from gradviz.why.evidence.summands import Constant, Summands
from gradviz.why.rules.silent.silent import lines_once
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say
from gradviz.words.words import reason_of

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

CHOOSING = {"argmax", "max", "topk", "sort", "argsort"}
EQUAL = {"eq", "__eq__"}


def constant_summand(case: Case, found: Explanation) -> Explanation | None:
    """Tell of a part of a loss that was computed from what is trained, and is added as a number
    only."""
    words = case.words
    for loss in case.every_loss:
        parts = Summands(Flow(case.graph, [loss])).constants()
        part = next((p for p in parts if concerns(case, loss, p)), None)
        if part is None:
            continue
        if not case.in_particular and counts_hits(case, part):
            fields = {"part": part.name, "loss": words.name(loss)}
            place = words.where(case.graph.call[part.cuts[0].call_id])
            return case.beside(found, say("account.hits_counted", place=place, **fields))
        if fixed := of_the_fixed(case, loss, part):
            return fixed
        part = part._replace(cuts=_kept_nowhere(case, _of_the_trained(case, part.cuts)))
        first = part.cuts[0]
        trained = {t.id: words.name(t.id) for c in part.cuts for t in lost(case, c)}
        return case.answer(
            Cause.CONSTANT_SUMMAND,
            "summand",
            calls=[part.taken] if part.taken else [case.graph.call[c.call_id] for c in part.cuts],
            cuts=part.cuts,
            also_at=[part.call],
            tensor_ids=[loss],
            loss=words.name(loss),
            part=part.name,
            cutter=reason_of(first),
            codes=_codes_of(case, part),
            trained=list(dict.fromkeys(trained.values())),
            mend=say("mend.number_taken") if part.taken else repair(first, case.graph),
        )
    return None


def _of_the_trained(case: Case, cuts: list[Cut]) -> list[Cut]:
    """Return the cuts that take gradients from what an optimizer holds, where there are some: a
    teacher's or a target's are as they should be."""
    held = {*case.graph.held}
    return [c for c in cuts if held & {t.object_id for t in lost(case, c)}] or cuts


def _kept_nowhere(case: Case, cuts: list[Cut]) -> list[Cut]:
    """Return the cuts of values that are not written into what other calls write, too, where there
    are some: what a memory keeps for later steps is kept without its graph."""
    return [c for c in cuts if not _is_remembered(case, c)] or cuts


def _is_remembered(case: Case, cut: Cut) -> bool:
    """Say whether the result of a cut is written into a tensor that other calls write, too."""
    facts, tensor = case.facts, case.graph.tensor
    reading = () if cut.output_id is None else facts.calls_reading.get(cut.output_id, ())
    writing = {call.id for call in reading}
    into = {tensor[e.after_id].object_id for e in facts.writes if e.call_id in writing}
    return any(e.call_id not in writing for i in into for e in facts.writes_by_object[i])


def _codes_of(case: Case, part: Constant) -> list[str]:
    """Return the code of each call that cuts, where there are several lines with its line."""
    words = case.words
    if part.taken is not None:
        return [words.code(part.taken)]
    calls = lines_once(case.graph.call[c.call_id] for c in part.cuts)
    return [words.code(calls[0])] if len(calls) == 1 else list(map(words.at, calls))


def of_the_fixed(case: Case, loss: int, part: Constant) -> Explanation | None:
    """Tell of a part that was made from what no optimizer has, as a teacher's answers are, and from
    nothing else."""
    facts, words, held = case.facts, case.words, {*case.graph.held}
    cuts = Flow(case.graph, [loss]).cuts_behind(part.call.outputs) or part.cuts
    leaves = {t.object_id: t for c in (*cuts, *part.cuts) for t in lost(case, c)}
    if not held or not held.isdisjoint(leaves) or any(c.output_id is None for c in part.cuts):
        return None
    source = case.graph.tensor[part.cuts[-1].output_id or 0]
    reading = lines_once(facts.readers.get(source.object_id, [part.call]))
    ready = _like(case, source, loss)
    beside = "" if ready is None else words.name(ready.id)
    return case.answer(
        Cause.CONSTANT_SUMMAND,
        "of_the_fixed_beside" if beside else "of_the_fixed",
        calls=reading,
        cuts=part.cuts,
        also_at=[part.call],
        tensor_ids=[loss],
        loss=words.name(loss),
        part=part.name,
        source=words.name(source.id),
        cutter=reason_of(part.cuts[0]),
        trained=list(dict.fromkeys(words.name(t.id) for t in leaves.values())),
        ready=beside,
    )


def _like(case: Case, source: Tensor, loss: int) -> Tensor | None:
    """Return the one named result on the way to a loss that has the shape of another and is made
    from what an optimizer has."""
    facts, held = case.facts, {*case.graph.held}
    behind = facts.ancestors([loss])
    alike = [
        t
        for t in case.graph.tensors
        if t.id in behind and t.shape == source.shape and t.name and t.id in facts.maker
        if t.requires_grad and any(leaf.object_id in held for leaf in facts.leaves_reached(t.id))
    ]
    return alike[0] if len({t.object_id for t in alike}) == 1 else None


def counts_hits(case: Case, part: Constant) -> bool:
    """Say whether a part is the share of predictions that are right: it compares what was chosen
    with the targets by ``==``."""
    behind, facts = case.facts.ancestors(part.call.outputs), case.facts
    chosen = {c.output_id for c in part.cuts if c.output_id is not None}
    of_choice = {case.graph.call[c.call_id].function for c in part.cuts} <= CHOOSING
    readers = (call for i in chosen for call in facts.calls_reading.get(i, ()))
    compared = any(c.function in EQUAL and behind & {*c.outputs} for c in readers)
    return of_choice and compared


def new_leaf(case: Case, found: Explanation) -> Explanation | None:
    """Tell of a part of a loss whose gradient ends in a tensor that was made of numbers, when those
    of what is trained had left torch."""
    words = case.words
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
    return case.facts.leaves_reached(cut.input_id)


def concerns(case: Case, loss: int, part: Constant) -> bool:
    """Say whether a loss or what it lost has to do with what was asked about."""
    tensor = case.graph.tensor
    wanted = {tensor[i].object_id for i in case.target_ids}
    if not wanted:
        return True
    leaves = [t for c in part.cuts for t in lost(case, c)]
    if case.modules or case.optimizers:  # else only what these tensors lost
        leaves += case.facts.leaves_reached(loss)
    return not wanted.isdisjoint(t.object_id for t in leaves)
