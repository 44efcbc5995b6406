"""A cut stands between a tensor and the loss, or between it and what it was made of. Knows no
torch."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

from gradviz.graph.facts import grouped
from gradviz.graph.findings import Cause, Sure
from gradviz.graph.flow import in_reentrant_checkpoint
from gradviz.graph.records import Call, Cut, CutReason, Node, Tensor, Wrote
from gradviz.graph.redo import Obstacle, key_of, obstacles_after
from gradviz.why.code.own_functions import Written, backward_of, rounding_of
from gradviz.why.evidence.fixes import fix_of, is_choice
from gradviz.why.evidence.messages import (
    in_sample,
    is_wrapped_result,
)
from gradviz.why.evidence.paths import CHECKED_IN_LOSS, Asked
from gradviz.why.rules.errors.failure import call_at
from gradviz.why.rules.gradients.frozen_or_never_tracked import switched_off
from gradviz.why.rules.gradients.gradient import Gradients
from gradviz.why.shown.explanation import BLOCKS, Explanation
from gradviz.words.speech import Code, say
from gradviz.words.words import reason_of

OF_CUTS = {
    CutReason.COPIED_OUT: Cause.REBUILT_FROM_VALUE,
    CutReason.NO_GRAD_WRITE: Cause.NO_GRAD_WRITE,
}

_WRITTEN = {CutReason.DETACH, CutReason.DATA}


def cut_behind(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that it was computed from what asks for gradients, through a cut."""
    # a frozen parameter is a leaf, whatever is written to it
    if asked.parameter or switched_off(gradients, asked):
        return None
    if gradients.maker(asked) is None:
        return None
    states = [t.id for t in gradients.states(asked)]
    cuts = to_mend(gradients, gradients.flow.cuts_behind(states), states)
    return cut(gradients, asked, cuts, behind=True) if cuts else None


# cuts of one line that are walked again as if they were mended: a loop makes hundreds, all alike
_TRIED = 3
_WITH_ANOTHER = {"add", "add_", "sub"}  # x + (z - x).detach()


def straight_through(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that only a straight-through output of it goes on: ``x + (z - x).detach()`` has the
    value of z and the gradient of x."""
    cuts = to_mend(gradients, gradients.flow.separating(asked.tensor_id))
    passed = [_handed_past(gradients, cut) for cut in cuts]
    if not passed or any(one is None for one in passed):
        return None
    (source, to, call), words = passed[-1] or (0, 0, None), gradients.words
    assert call is not None
    return gradients.answer(
        asked,
        Cause.CUT,
        "straight_through",
        calls=[call],
        cuts=cuts,
        checked=("frozen", "never_tracked", "not_in_loss"),
        tensors=[source, call.outputs[0]],
        made=words.code(call),
        source=words.name(source),
        to=words.name(to),
        result=words.name(call.outputs[0]),
    )


def _handed_past(gradients: Gradients, cut: Cut) -> tuple[int, int, Call] | None:
    """Return what a straight-through output takes its value from, what it hands its gradient to,
    and the call that made it."""
    facts, tensor = gradients.facts, gradients.graph.tensor
    maker = facts.maker.get(cut.input_id)
    plain = cut.reason in (CutReason.DETACH, CutReason.DATA)
    if not plain or maker is None or maker.function != "sub":
        return None
    if len(maker.inputs) != 2:
        return None
    source, to = maker.inputs
    for call in facts.calls_reading.get(cut.output_id or -1, ()):
        others = [tensor[i].object_id for i in call.inputs if i != cut.output_id]
        if call.function in _WITH_ANOTHER and others == [tensor[to].object_id]:
            return source, to, call
    return None


def severed(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that cuts stand between the loss and it."""
    cuts = to_mend(gradients, gradients.flow.separating(asked.tensor_id))
    cuts = of_constants(gradients, cuts)
    return cut(gradients, asked, cuts, behind=False) if cuts else None


def of_constants(gradients: Gradients, cuts: list[Cut]) -> list[Cut]:
    """Return those of several cuts that make a summand of a loss a mere number, where all are
    written in order to cut: the others leave theirs a gradient to something else, and may be
    meant. All where none does."""
    if len(cuts) < 2 or not {c.reason for c in cuts} <= _WRITTEN:
        return cuts
    facts, losses = gradients.facts, gradients.flow.losses
    useless = [c for c in cuts if c in gradients.cuts_of_constants]
    if any(obstacles_after(c, facts, losses) for c in useless):
        return cuts
    alike = {_mended_with(gradients, c) for c in useless}
    return [c for c in cuts if _mended_with(gradients, c) in alike] or cuts


def severed_before(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that cuts stand between the loss and what was computed from it before the recording."""
    cuts = [cut for tensor_id in asked.older for cut in gradients.flow.separating(tensor_id)]
    return cut(gradients, asked, to_mend(gradients, cuts), behind=False) if cuts else None


def to_mend(gradients: Gradients, cuts: list[Cut], ends: Sequence[int] = ()) -> list[Cut]:
    """Return those of some cuts of which each is enough to mend, those of choices last: whole
    numbers and samples are meant to have no gradient. All where none is enough.

    Args:
        gradients: of the question.
        cuts: the cuts.
        ends: the states on the way to which they stand; left out, the losses.
    """
    if len({_mended_with(gradients, c) for c in cuts}) < 2:
        return cuts
    facts, losses = gradients.facts, ends or gradients.flow.losses
    alike = grouped((_mended_with(gradients, c), c) for c in cuts)
    enough = {
        key
        for key, every in alike.items()
        if any(obstacles_after(one, facts, losses) == [] for one in every[-_TRIED:])
    }
    needed = [c for c in cuts if _mended_with(gradients, c) in enough]
    return sorted(needed or cuts, key=lambda c: is_choice(c, facts))


def _mended_with(gradients: Gradients, cut: Cut) -> object:
    """Return what the cuts have in common that one mend takes away."""
    return key_of(Obstacle(gradients.graph.call[cut.call_id], cut.reason))


def cut(gradients: Gradients, asked: Asked, cuts: list[Cut], *, behind: bool) -> Explanation:
    """Tell of one cut or several, in program order: between the loss and it, or between it
    and what it was made of."""
    first = cuts[0]
    checked = () if behind else ("frozen", "never_tracked", "not_in_loss")
    return gradients.answer(
        asked,
        OF_CUTS.get(first.reason, Cause.CUT),
        "cut_behind" if behind else "severed",
        calls=gradients.calls_of_cuts(cuts),
        checked=checked,
        cuts=cuts,
        loss=gradients.losses_holding(c.output_id for c in cuts if c.output_id is not None),
        cutter=cutter(gradients, first),
        why=why_cut(gradients, first),
        mend=mend_of(gradients, cuts),
    )


def cutter(gradients: Gradients, cut: Cut) -> str:
    """Say what cut."""
    graph = gradients.graph
    if in_reentrant_checkpoint(cut, graph) or is_wrapped_result(cut, graph):
        return say("gradient.reentrant")
    return say(f"cut.{cut.reason.name.lower()}")


def why_cut(gradients: Gradients, cut: Cut) -> str:
    """Say why no gradient comes back through a cut."""
    if in_reentrant_checkpoint(cut, gradients.graph):
        return say("raised.untracked_checkpoint")
    if is_wrapped_result(cut, gradients.graph):
        return say("gradient.checkpoint_result")
    if cut.reason in BLOCKS and not in_sample(cut, gradients.graph):
        call = gradients.graph.call[cut.call_id]
        line = call.source.off if call.source else None
        code, block = gradients.words.code(call), reason_of(cut)
        if line is None:
            return say("gradient.ran_under", code=code, block=block)
        return say("gradient.ran_under_line", code=code, block=block, line=line)
    if cut.output_id is None:
        return say("gradient.left_as_value", source=gradients.words.name(cut.input_id))
    source, result = gradients.words.name(cut.input_id), gradients.words.name(cut.output_id)
    if source == result:
        return say("gradient.cut_itself", name=source)
    return say("gradient.value_only", source=source, result=result)


def mend_of(gradients: Gradients, cuts: list[Cut]) -> str:
    """Say what to write instead of the first two cuts that are mended differently. Those of one
    line and reason are mended as the last of them: a loop has thousands."""
    last = {_mended_with(gradients, c): c for c in cuts}.values()
    mends = list(dict.fromkeys(fix_of(c, gradients.graph, gradients.flow.losses) for c in last))
    # what another one tells as its own next step is told there
    mends = [m for m in mends if not any(m in other for other in mends if m != other)]
    if len(mends) == 1:
        return mends[0]
    return say("gradient.two_mends", first=mends[0].rstrip("."), other=mends[1])


def aliased(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that its value was written into memory that the loss read by another tensor:
    ``buffer.data[:2] = h``."""
    connected = gradients.connected(asked)
    for write in gradients.facts.writes:
        if write.alias or write.after_id not in connected or write.before_id in connected:
            continue
        read = read_in_same_memory(gradients, write, connected)
        if read is not None:
            return gradients.answer(
                asked,
                Cause.CUT,
                "aliased",
                calls=[gradients.graph.call[write.call_id]],
                tensors=[write.after_id, read.id],
                other=gradients.words.name(read.id),
                alias=gradients.words.name(write.before_id),
            )
    return None


def read_in_same_memory(gradients: Gradients, write: Wrote, connected: Set[int]) -> Tensor | None:
    """Return the tensor by which the loss read the memory that was written, unless a gradient
    reaches that tensor."""
    block = gradients.graph.tensor[write.after_id].storage_id
    if block is None:
        return None
    sharing = (t for t in gradients.facts.in_memory.get(block, ()) if t.id not in connected)
    unconnected = (t for t in sharing if t.id in gradients.flow.behind)
    return next((t for t in unconnected if read_after(gradients, t, write.call_id)), None)


def read_after(gradients: Gradients, t: Tensor, call_id: int) -> bool:
    """Say whether a call on the way to the loss read this state after another call."""
    later = (c for c in gradients.facts.readers.get(t.object_id, ()) if c.id > call_id)
    return any(t.id in c.inputs and gradients.flow.behind & {*c.outputs} for c in later)


def mixed(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that of what a call returned only a part without a gradient goes on to the loss: the
    indices of topk or max."""
    if not gradients.flow.is_whole:
        return None
    connected = gradients.connected(asked)
    for call in gradients.facts.ordinary_calls:
        if going_on := untracked_part(gradients, call, connected):
            return gradients.answer(
                asked,
                Cause.CUT,
                "part_goes_on",
                calls=[call],
                tensors=going_on,
                function=call.function,
                parts=[gradients.words.name(i) for i in going_on],
                dtype=gradients.graph.tensor[going_on[0]].dtype,
            )
    return None


def untracked_part(gradients: Gradients, call: Call, connected: Set[int]) -> list[int]:
    """Return the results of a call that went into the loss and that no gradient reaches,
    unless a result that one reaches went there too."""
    tracked = connected & {*call.outputs}
    if not tracked or connected.isdisjoint(call.inputs) or tracked & gradients.flow.behind:
        return []
    return [i for i in call.outputs if i in gradients.flow.behind and i not in connected]


def made_a_leaf(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that a result of it was wrapped into a new leaf, as by nn.Parameter."""
    kept = kept_in_leaf(gradients, asked)
    if (pair := kept or wrapped(gradients, asked)) is None:
        return None
    result, leaf = pair
    name = gradients.words.name(leaf.id)
    return gradients.answer(
        asked,
        Cause.CUT,
        "in_a_leaf" if kept else "made_a_leaf",
        calls=[gradients.facts.maker[result.id]],
        tensors=[result.id, leaf.id],
        checked=CHECKED_IN_LOSS[1:],
        sure=Sure.PROVEN if kept else Sure.LIKELY,
        code=gradients.words.name(result.id),
        new=say("gradient.named_leaf", name=name) if leaf.name else say("gradient.new_leaf"),
    )


def kept_in_leaf(gradients: Gradients, asked: Asked) -> tuple[Tensor, Tensor] | None:
    """Return a result, and the leaf of the loss that lies in its memory and was met after it
    only: ``nn.Parameter(result)``."""
    results = [gradients.graph.tensor[i] for i in sorted(gradients.connected(asked), reverse=True)]
    made = (t for t in results if t.id in gradients.facts.maker and not t.is_leaf)
    pairs = ((t, leaf_in_memory_of(gradients, t)) for t in made)
    return next(((result, leaf) for result, leaf in pairs if leaf), None)


def leaf_in_memory_of(gradients: Gradients, result: Tensor) -> Tensor | None:
    """Return the first leaf of the loss in the memory of a result, first met after that."""
    if result.storage_id is None:
        return None
    sharing = (
        t for t in gradients.facts.in_memory[result.storage_id] if t.id in gradients.flow.behind
    )
    for leaf in (t for t in sharing if t.is_leaf and t.requires_grad):
        alike = (leaf.shape, leaf.dtype) == (result.shape, result.dtype)
        if alike and gradients.facts.states[leaf.object_id][0].id > result.id:
            return leaf
    return None


def wrapped(gradients: Gradients, asked: Asked) -> tuple[Tensor, Tensor] | None:
    """Return a result that no call read, and the trained leaf of its shape that was met first
    after it."""
    unread = sorted(gradients.connected(asked) - gradients.facts.read_ids)
    for result in (gradients.graph.tensor[i] for i in unread if i in gradients.facts.maker):
        alike = (t for t in gradients.fresh if (t.shape, t.dtype) == (result.shape, result.dtype))
        leaf = next((t for t in alike if t.id > result.id), None)
        if leaf is not None:
            return result, leaf
    return None


def none_returned(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that a custom Function returned None towards it."""
    node = withholding(gradients, asked)
    if node is None:
        return None
    maker = gradients.graph.call.get(node.call_id)
    applied = [maker] if maker else []
    written = backward_of(gradients.statements, node.name.removesuffix("Backward"))
    if written is not None and written.nones:
        return _none_written(gradients, asked, node, applied, written)
    return gradients.answer(
        asked,
        Cause.CUT,
        "returned_none",
        calls=applied,
        nodes=[node.id],
        checked=CHECKED_IN_LOSS[1:],
        node=node.name,
    )


def _none_written(
    gradients: Gradients, asked: Asked, node: Node, applied: list[Call], written: Written
) -> Explanation:
    """Tell where a backward is written that returned None towards it; and where its forward rounds,
    how that is written without a Function."""
    rounding = rounding_of(written)
    fields: dict[str, Any] = {"node": node.name, "returned": Code(written.nones[-1].code or "")}
    if rounding is not None:
        given, method, name = rounding
        fields |= {"given": Code(f"v = {given}"), "method": method}
        fields["anew"] = Code(f"{name} = v + (v.{method}() - v).detach()")
    return gradients.answer(
        asked,
        Cause.CUT,
        "returned_none_at" if rounding is None else "returned_none_rounded",
        calls=[*map(call_at, written.nones), *applied],
        nodes=[node.id],
        checked=CHECKED_IN_LOSS[1:],
        **fields,
    )


def withholding(gradients: Gradients, asked: Asked) -> Node | None:
    """Return the node of the custom Function whose backward gave no gradient towards the tensor,
    where there is one such, or one such line; of the iterations of a loop the last node."""
    if not gradients.withheld:
        return None
    end = gradients.node_of(asked)
    towards = gradients.above(asked) | ({end[0]} if end else set())
    met = gradients.facts.reachable(gradients.roots)  # other iterations lead to the same leaf
    nodes = {
        e.node_id
        for node_id in {node_id for node_id, _ in gradients.withheld} & met
        for e in gradients.graph.edges_from.get(node_id, ())
        if e.next_node_id in towards and (e.node_id, e.next_index) in gradients.withheld
    }
    found = [gradients.graph.node[i] for i in sorted(nodes)]
    lines = {(node.name, _line_of(gradients, node)) for node in found}
    return found[-1] if len(lines) == 1 else None


def _line_of(gradients: Gradients, node: Node) -> object:
    """Return where the call stands that made a node; the node itself where that is not known."""
    call = gradients.graph.call.get(node.call_id)
    return call.source[:2] if call is not None and call.source else node.id
