"""The value left torch, or ended in cuts, before the loss. Knows no torch."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gradviz.graph.effects import ELEMENTWISE_LOSSES
from gradviz.graph.facts import code_of
from gradviz.graph.findings import Cause, Sure
from gradviz.graph.records import Call, Cut, CutReason
from gradviz.names.frames import frames, list_filled, names_in, sum_added_to
from gradviz.why.code.number_arguments import NumberArgument, number_argument
from gradviz.why.evidence.fixes import fix_alone, fix_of
from gradviz.why.evidence.messages import usual_repair
from gradviz.why.evidence.paths import Asked
from gradviz.why.evidence.summands import single
from gradviz.why.rules.gradients.gradient import Gradients
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code, say

# calls whose result is no tensor of torch's
OUT = ("item", "numpy", "tolist")
# losses of which no number is a part: all that they are given is tensors
_OF_TENSORS_ALONE = ELEMENTWISE_LOSSES | {
    *("cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits"),
}
# what makes a tensor of a list of numbers
_OF_A_LIST = re.compile(r"\b(torch\.(?:tensor|Tensor|FloatTensor|as_tensor))\(\[")


def left_torch(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that all that was made from it ends in cuts, whose results no recorded call takes to
    the loss."""
    if not (cuts := gradients.flow.cuts_after(asked.tensor_id)):
        return None
    way_back = gradients.came_back(cuts)
    is_proven = way_back is not None and way_back.sure is Sure.PROVEN
    if backward_began_above(gradients, asked):
        return None
    if not is_proven and not (all_of_it_read(gradients, asked) and gradients.readers(asked)):
        return None
    if way_back is not None and way_back.cuts:
        cuts = [*way_back.cuts]
    if way_back is None and _is_read_aside(gradients, asked, cuts):
        return None
    calls = gradients.calls_of_cuts(cuts)
    if way_back is None:
        return gradients.answer(
            asked,
            Cause.CUT,
            "ends",
            calls=calls,
            cuts=cuts,
            cutter=say(f"cut.{cuts[-1].reason.name.lower()}"),
            mend=mend_of_end(gradients, cuts[-1]),
        )
    return gradients.answer(
        asked,
        Cause.REBUILT_FROM_VALUE,
        "left_torch" if way_back.sure is Sure.PROVEN else "left_torch_likely",
        calls=calls,
        cuts=cuts,
        tensors=way_back.tensor_ids,
        sure=way_back.sure,
        what=way_back.what,
        code=gradients.words.code(calls[-1]),
        mend=_mend_of_reader(gradients, cuts[-1], way_back.tensor_ids)
        or mends_on_the_way_out(gradients, cuts),
    )


def read_as_number(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that nothing computed with it, but with a number that was read of it: a setting of a
    layer, taken once."""
    if gradients.readers(asked):
        return None
    cuts = [c for c in gradients.flow.cuts_after(asked.tensor_id) if c.output_id is None]
    gone = [gradients.graph.call[c.call_id] for c in cuts if c.reason is CutReason.COPIED_OUT]
    before = [call for call in gone if call.id < gradients.flow.made_by]
    users = [(call, user) for call in before for user in gradients.users_of_number(call)]
    if not users:
        return None
    call, user = users[-1]
    return gradients.answer(
        asked,
        Cause.REBUILT_FROM_VALUE,
        "read_as_number",
        calls=[call, user],
        code=gradients.words.code(call),
        user=gradients.words.code(user),
    )


def _is_read_aside(gradients: Gradients, asked: Asked, cuts: list[Cut]) -> bool:
    """Say whether these cuts are beside the way to the loss: of what is only printed, or noted
    while something else of it goes on."""
    printed = all(_is_printed_alone(gradients, cut) for cut in cuts)
    return printed or _goes_on_otherwise(gradients, asked, cuts)


def _goes_on_otherwise(gradients: Gradients, asked: Asked, cuts: list[Cut]) -> bool:
    """Say whether a call that cuts nothing made something for the loss of it: the indices of what
    it chose."""
    cutting, in_losses = {cut.call_id for cut in cuts}, gradients.facts.in_losses
    return any(
        call.id not in cutting and not in_losses.isdisjoint(call.outputs)
        for call in gradients.readers(asked)
    )


def _is_printed_alone(gradients: Gradients, cut: Cut) -> bool:
    """Say whether the number of a copied out result is no part of the loss: the name of that
    result was given to a later one, which is in the loss and made of what was there before."""
    facts = gradients.facts
    number = gradients.graph.tensor[cut.input_id]
    if cut.reason is not CutReason.COPIED_OUT or number.former is None or not single(number):
        return False
    name, known = number.former.name, facts.maker.keys()
    named = (t for t in gradients.graph.tensors if t.id in facts.in_losses and t.id in known)
    return any(
        name == (t.former.name if t.former is not None else t.code_name)
        and single(t)
        and _is_made_without(gradients, facts.maker[t.id], cut)
        for t in named
    )


def _is_made_without(gradients: Gradients, maker: Call, cut: Cut) -> bool:
    """Say whether a call that compares tensors alone was given none that could hold the number:
    all of them were there before it was copied out, or have a history."""
    if maker.id < cut.call_id or maker.function not in _OF_TENSORS_ALONE:
        return False
    facts, tensor = gradients.facts, gradients.graph.tensor
    makers = ((tensor[i], facts.maker.get(i)) for i in maker.inputs)
    return all(t.requires_grad or made is None or made.id < cut.call_id for t, made in makers)


def mends_on_the_way_out(gradients: Gradients, cuts: list[Cut]) -> str:
    """Say what to write instead of the cuts before a value left torch, and of the way by which it
    came back."""
    before = [c for c in cuts if c.reason is not CutReason.COPIED_OUT]
    last = _mend_of_copy(gradients, cuts[-1])
    mends = dict.fromkeys(fix_alone(c, gradients.graph) for c in before)
    first = next(iter(mends), last)
    if first == last:
        return last
    return say("gradient.two_mends", first=first.rstrip("."), other=last)


def _mend_of_copy(gradients: Gradients, cut: Cut) -> str:
    """Say how a value stays in torch that was copied out: by where its statement puts it."""
    statements = [frame.code for frame in frames(gradients.graph.call[cut.call_id])[:1]]
    into = next(filter(None, map(list_filled, statements)), "")
    if cut.reason is CutReason.COPIED_OUT and into:
        return say("mend.stack", list=into)
    total = next(filter(None, map(sum_added_to, statements)), "")
    if cut.reason is CutReason.COPIED_OUT and total:
        return say("mend.add_tensors", total=total)
    made = next(filter(None, map(_OF_A_LIST.search, statements)), None)
    if cut.reason is CutReason.COPIED_OUT and made:
        return say("mend.stack_parts", made=made[1])
    return usual_repair(CutReason.COPIED_OUT)


def _mend_of_reader(gradients: Gradients, cut: Cut, tensor_ids: Iterable[int]) -> str:
    """Say what to compute in the place of the call that took a number, where it takes nothing else
    there; "" where it is not such a call."""
    if cut.reason is not CutReason.COPIED_OUT:
        return ""
    gone = gradients.graph.call[cut.call_id]
    readers = (gradients.facts.maker.get(i) for i in tensor_ids)
    kept = next((name for frame in frames(gone)[:1] for name in names_in(frame.code)[0]), "")
    codes = [code_of(reader) for reader in readers if reader]
    codes += [frame.code for frame in frames(gone)[:1]]
    number = next(filter(None, (number_argument(code, kept) for code in codes)), None)
    return _mend_of_number(number) if number else ""


def _mend_of_number(number: NumberArgument) -> str:
    """Say what to compute in the place of a call that takes a plain number only."""
    known = {"function": number.function, "argument": number.argument, "value": Code(number.value)}
    if not number.instead:
        return say("mend.number_argument_unknown", **known)
    if number.first:
        first, instead = Code(number.first), Code(number.instead)
        return say("mend.number_argument_after", first=first, instead=instead, **known)
    return say("mend.number_argument", instead=Code(number.instead), **known)


def mend_of_end(gradients: Gradients, cut: Cut) -> str:
    """Say what to write instead of a cut, and of what takes its result out of torch then."""
    first = fix_of(cut, gradients.graph, gradients.flow.losses)
    call = gradients.graph.call[cut.call_id]
    code, under = code_of(call), frames(call)
    taken = [o for o in OUT if code and under and f"{code}.{o}(" in under[0].code]
    if not taken or cut.reason is CutReason.COPIED_OUT:
        return first
    if number := number_argument(under[0].code):
        return _mend_of_number(number)
    place, mend = gradients.words.where(call), usual_repair(CutReason.COPIED_OUT)
    return say("mend.in_series", first=first, others=[say("mend.at", place=place, mend=mend)])


def backward_began_above(gradients: Gradients, asked: Asked) -> bool:
    """Say whether a recorded backward began at a node that sends a gradient to it."""
    return not gradients.above(asked).isdisjoint(gradients.facts.runs_started_at)


def all_of_it_read(gradients: Gradients, asked: Asked) -> bool:
    """Say whether calls read all that was made from it; of what a call returned together, any
    part."""
    made_of_it = gradients.connected(asked) - {t.id for t in gradients.states(asked)}
    unread = made_of_it - gradients.facts.read_ids
    makers = (gradients.facts.maker.get(i) for i in unread)
    return all(m and not gradients.facts.read_ids.isdisjoint(m.outputs) for m in makers)
