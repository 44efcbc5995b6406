"""What may be meant is told as what was observed: a program shows what it does, and not whether
that was wanted. It is blamed where the reader asked about the very tensor, or the program read its
gradient and found none, where nothing else trains, or where code is never written so on purpose."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from gradviz.graph.findings import Cause, Level
from gradviz.graph.records import Call
from gradviz.graph.training import Did
from gradviz.names.position import callee_of
from gradviz.watch.identity import parameters
from gradviz.why.question.subjects import held_by
from gradviz.why.rules.many import pattern
from gradviz.why.rules.whole import asked_beside
from gradviz.why.rules.whole.losses import LETTING_GO
from gradviz.why.shown.explanation import BLOCKS, Explanation
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

# what programs do on purpose as often as not; the fix of each says on which condition it is one
_CHOSEN = {
    Cause.FIRST_ORDER,
    Cause.KEPT_OFF,
    Cause.FROZEN,
    Cause.LEFT_OUT,
    Cause.BATCH_NORM_MOVES,
}
_CHOSEN_FORMS = {
    (Cause.CHANGED_BY_HOOK, "on_tensor"),
    (Cause.CHANGED_BY_HOOK, "of_module"),
    (Cause.NO_BACKWARD_YET, "taken_before_step"),
    (Cause.BRANCH_NOT_TAKEN, "in_a_branch"),
    (Cause.BRANCH_NOT_TAKEN, "read_since"),
    (Cause.EVAL_MODE, "stepped"),
    (Cause.EVAL_MODE, "stepped_again"),
    (Cause.LEFTOVER_GRAD_MOVES, "would_move"),
    (Cause.NEVER_TRACKED, "plain_tensor"),
    (Cause.NEVER_TRACKED, "plain_zeros"),
}
# that a call cleared a gradient
_CLEARED = {(Cause.NO_BACKWARD_YET, "cleared"), (Cause.ZERO_GRADIENT, "zeroed")}
# forms that tell of code which says something else: it was to switch the flags on again
_CONTRADICTING = {"only_off"}
# what of torch.func gives gradients back, and fills no .grad
_OF_FUNC = {"grad", "grad_and_value", "vjp", "jacrev", "jacfwd", "hessian", "vmap"}
# why a gradient is missing that maybe nobody wants
MISSING = {
    Cause.CUT,
    Cause.REBUILT_FROM_VALUE,
    Cause.NO_GRAD_WRITE,
    Cause.NOT_IN_LOSS,
    Cause.BRANCH_NOT_TAKEN,
}
# what of a network that trains may be so for a while, or for good: a gate that is closed, a head of
# another loss, a summand that is only shown
_BESIDE_OTHERS = {
    Cause.CUT,
    Cause.NOT_IN_LOSS,
    Cause.BRANCH_NOT_TAKEN,
    Cause.ZERO_GRADIENT,
    Cause.CONSTANT_SUMMAND,
    Cause.EXTRA_GRADIENT,
    Cause.VANISHING,
    Cause.EXPLODING,
}
# of these what nobody writes on purpose: a result that replaces a parameter or that nothing reads,
# a derivative that was to be learned through and has no graph, a gradient that was set by hand
_NEVER_MEANT = {
    *("made_a_leaf", "in_a_leaf", "in_checkpoint", "returned_none", "straight_through", "aliased"),
    *("without_graph", "new_leaf", "only_copied", "dropped_result", "taken_out", "set_and_moved"),
    *("both_zero", "returned_none_at", "returned_none_rounded"),
}
# a .grad that is None in a program that takes its gradients from autograd.grad
_DERIVED = {(Cause.NO_BACKWARD_YET, "given_back"), (Cause.NO_BACKWARD_YET, "not_asked_for")}
# a rate of 0 that the program sets itself
_ZERO_RATES = {"zero_rate", "zero_rate_written", "zero_rate_scheduled"}


def may_be_meant(case: Case, found: Explanation) -> bool:
    """Say whether a recording was looked through, and the answer so far names a cause."""
    return case.recording is not None and not found.is_observed


def as_observed(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer as what was observed, where it may be meant; what it says to write
    instead is for those who did not mean it."""
    siblings = _used_siblings(case, found)
    if siblings:
        line = say("meant.siblings", names=pattern(siblings))
        return _observed(found, asked_beside.only_if(found), line)
    if _is_thrown_away_by_name(found):
        return _observed(found, asked_beside.only_if(found), say("meant.thrown_away"))
    cleared = _as_cleared(case, found)
    if cleared:
        return _observed(found, say("meant.if_stepped"), cleared)
    if _took_gradients_otherwise(case, found):
        return _observed(found, say("bare.if_wanted"), say("meant.not_known"))
    meant = asked_beside.told(case, found)
    if meant is not None:
        return meant.of(found)
    if _is_of_a_reference(case, found):
        return _observed(found, _on_condition(found), say("meant.not_known"))
    if _is_asked_for(case, found):
        return None
    if _is_chosen(found):
        return _observed(found, found.mend, say("meant.not_known"))
    if _only_returned(case, found):
        return _observed(found, say("bare.if_wanted"), say("meant.not_known"))
    is_weighed = asked_beside.is_weighed_with_zero(case, found)
    if is_weighed or _is_wanted_by_nobody(case, found) or _has_no_symptom(case, found):
        line = of_vain_steps(case, found) or say("meant.not_known")
        return _observed(found, _on_condition(found), line)
    return None


def _is_chosen(found: Explanation) -> bool:
    """Say whether an answer is about what programs do on purpose as often as not."""
    is_usual = found.cause in _CHOSEN and found.form not in _CONTRADICTING
    return is_usual or (found.cause, found.form) in _CHOSEN_FORMS


def is_wanted_by_nobody(case: Case, found: Explanation) -> bool:
    """Say whether an answer was observed, is no gradient's that anybody asked for, and may hide
    what is wrong of others: the question named nothing."""
    may_hide = found.cause in MISSING | _BESIDE_OTHERS or is_of_derivatives(found)
    return found.is_observed and may_hide and not case.in_particular


def is_of_derivatives(found: Explanation) -> bool:
    """Say whether an answer is that autograd.grad, which gives gradients back, fills no .grad."""
    return (found.cause, found.form) in _DERIVED


def silent_instead(case: Case, found: Explanation) -> Explanation | None:
    """Tell what goes wrong without an error, in the place of a gradient that is missing and that
    nobody asked for; that is told after it."""
    told = case.silent(found)
    if told is None or told.cause.level < Level.SUSPECT:
        return None
    return told._replace(more=(*told.more, found.verdict), odd=found.odd)


def _is_asked_for(case: Case, found: Explanation) -> bool:
    """Say whether the reader asked about the very tensor. What was trained and frozen after that is
    done with."""
    return bool(case.asks_for_tensors) and found.form != "frozen_since"


def _is_of_a_reference(case: Case, found: Explanation) -> bool:
    """Say whether a bare answer is about a network that runs where gradients are switched off, and
    that no optimizer has, while one has another network of its class: a teacher, or the policy
    before a training. That the program reads its gradients may be to show that there are none."""
    is_switched = found.cause is Cause.CUT and {c.reason for c in found.cuts} <= {*BLOCKS}
    is_by_the_reader = case.in_particular and not case.sure_grads  # not by what the program reads
    return is_switched and not is_by_the_reader and _stands_beside_a_held_one(case, found)


def _stands_beside_a_held_one(case: Case, found: Explanation) -> bool:
    """Say whether an answer is about networks that no optimizer has, and one has another of their
    class."""
    objects = {case.graph.tensor[i].object_id for i in found.tensor_ids}
    own = [m for m in case.known_modules if objects & _met(case, m)]
    kinds = set(map(type, own))
    beside = [m for m in case.known_modules if type(m) in kinds and _is_held(case, m)]
    return bool(beside) and not any(_is_held(case, m) for m in own)


def _is_held(case: Case, module: Any) -> bool:
    """Say whether an optimizer has parameters of a module."""
    return not case.held_anywhere.keys().isdisjoint(map(id, parameters(module)))


def _met(case: Case, module: Any) -> set[int]:
    """Return the parameters of a module that the recording met, by object id."""
    assert case.recording is not None
    states = map(case.recording.find, parameters(module))
    return {state.object_id for state in states if state is not None}


def _on_condition(found: Explanation) -> str:
    """Return what mends an answer, on the condition under which it is a fault."""
    if found.cause in (Cause.VANISHING, Cause.EXPLODING):
        return say("meant.if_hinders", mend=found.mend)
    return asked_beside.only_if(found)


def _is_thrown_away_by_name(found: Explanation) -> bool:
    """Say whether an answer is that a result is in no loss, and each statement that made it calls
    it ``_``, as what is not wanted: where a hook takes an inner layer's, say."""
    codes = [call.source.code or "" for call in found.finding.calls if call.source is not None]
    is_unused = found.cause is Cause.NOT_IN_LOSS
    return is_unused and bool(codes) and all(code.startswith("_ = ") for code in codes)


def _as_cleared(case: Case, found: Explanation) -> str:
    """Say of a gradient that was cleared, in a program that steps nothing, whether anybody used it
    before; "" where it is to be told as a fault."""
    read = _read_before_cleared(case, found)
    if read is not None:
        return say("meant.was_read", code=case.words.at(read))
    is_passed = not _is_asked_for(case, found) and _is_unread_and_cleared(case, found)
    return say("meant.not_known") if is_passed else ""


def _read_before_cleared(case: Case, found: Explanation) -> Call | None:
    """Return a call of the program's own that computed with a gradient before it was cleared, where
    that is the answer, and nothing steps: it was taken for that."""
    if (found.cause, found.form) != (Cause.NO_BACKWARD_YET, "cleared") or _has_steps(case):
        return None
    tensor, training = case.graph.tensor, case.training
    objects = {tensor[i].object_id for i in found.tensor_ids if i in tensor}
    cleared = max((call.id for call in found.finding.calls), default=0)
    for call in case.facts.ordinary_calls:
        of = {training.owners.get(tensor[i].object_id) for i in call.inputs}
        if call.id < cleared and call.outputs and not call.bookkeeping and of & objects:
            return call
    return None


def _is_unread_and_cleared(case: Case, found: Explanation) -> bool:
    """Say whether an answer is that a call cleared gradients which nobody reads, in a program that
    steps nothing and keeps those of something else: a backward sends them to the weights on its way
    to an input, as of a saliency."""
    if (found.cause, found.form) not in _CLEARED or _has_steps(case):
        return False
    is_kept = any(every[-1].did is Did.ADDED for every in case.training.moments.values())
    return is_kept and not asked_beside.was_read(case, found)


def _took_gradients_otherwise(case: Case, found: Explanation) -> bool:
    """Say whether an answer is that no backward ran, in a program that takes its gradients by
    torch.func, reads no ``.grad``, and steps nothing."""
    if found.cause is not Cause.NO_BACKWARD_YET or case.recording is None or _has_steps(case):
        return False
    if case.graph.backwards or case.statements.calls("backward"):
        return False
    if any(look.attribute == "grad" for _, look in case.recording.looked_at()):
        return False
    called = {callee_of(node.func) for _, node in case.statements.nodes(ast.Call)}
    return not called.isdisjoint(_OF_FUNC)


def _has_steps(case: Case) -> bool:
    """Say whether anything steps: an optimizer is known, or a leaf was moved by its gradient."""
    return bool(case.known_optimizers or case.graph.held or case.training.sums_used)


def _observed(found: Explanation, mend: str, line: str) -> Explanation:
    """Return an answer as what was observed, with a line about that."""
    return found._replace(
        mend=mend if found.mend else "", more=(line, *found.more), is_observed=True
    )


def _only_returned(case: Case, found: Explanation) -> bool:
    """Say whether an answer is that autograd.grad returned the gradients, in a program in which no
    backward was called and nothing steps."""
    backwards = [b for b in case.graph.backwards if b.kind == "backward"]
    steps = case.known_optimizers or case.graph.held
    return is_of_derivatives(found) and not backwards and not steps


def _is_wanted_by_nobody(case: Case, found: Explanation) -> bool:
    """Say whether an answer is that a gradient is missing of what no optimizer holds, while others
    have theirs, and optimizers are known."""
    if found.cause not in MISSING:
        return False
    held = {case.ids.get(i) for i in held_by(case.known_optimizers)} - {None}
    missing = {a.tensor_id for a, e in case.told if e.cause is found.cause}
    is_moved = any(case.training.sums_used.values())
    others_train = is_moved or any(e.cause.level is Level.FINE for _, e in case.told)
    return bool(held or is_moved) and bool(missing) and others_train and held.isdisjoint(missing)


def _has_no_symptom(case: Case, found: Explanation) -> bool:
    """Say whether an answer to a question that names no tensor is about weights whose ``.grad`` no
    code of the program read, while steps move others of the same program; or that a rate is 0 as
    the program sets it. To a question about a network it is only that a part is in no loss."""
    if case.in_particular and found.cause is not Cause.NOT_IN_LOSS:
        return False
    if found.cause is Cause.NOT_MOVED and found.form in _ZERO_RATES:
        return True
    if found.cause not in _BESIDE_OTHERS or found.form in _NEVER_MEANT:
        return False
    if found.cause is Cause.CUT and not {cut.reason for cut in found.cuts} <= LETTING_GO:
        return False
    return asked_beside.others_train(case) and not asked_beside.was_read(case, found)


def of_vain_steps(case: Case, found: Explanation) -> str:
    """Say that an optimizer stepped which holds some of what an answer is about, where nothing that
    it holds was sent a gradient; "" where none is known."""
    if case.recording is None:
        return ""
    told = (case.graph.tensor.get(a.tensor_id) for a in asked_beside.about(case, found))
    asked = {tensor.object_id for tensor in told if tensor is not None}
    vain = [
        held
        for held in case.recording.held_at_steps()
        if not asked.isdisjoint(held) and case.facts.leaves_sent_to.isdisjoint(held)
    ]
    for optimizer in case.known_optimizers:
        states = map(case.recording.find, held_by([optimizer]).values())
        if {state.object_id for state in states if state is not None} in vain:
            return say("meant.steps_in_vain", optimizer=case.optimizer_name(optimizer))
    return ""


def _used_siblings(case: Case, found: Explanation) -> list[str]:
    """Return the parameters that have a gradient and stand in the same lists of modules as all that
    no call used, where that is the answer: experts to which samples were sent."""
    if found.form != "never_read":
        return []
    missing = {_in_list(a.name) for a, e in case.told if e.cause is found.cause}
    known = {case.called.get(id(m), ""): m for m in case.known_modules}
    used = {
        name: _in_list(name)
        for title, module in {**known, **case.titled}.items()
        for name, parameter in module.named_parameters(title)
        if parameter.grad is not None and _in_list(name) in missing
    }
    return list(used) if "" not in missing and missing <= set(used.values()) else []


def _in_list(name: str) -> str:
    """Return the name of a parameter without the places in lists of modules; "" of what is in no
    list."""
    place = re.sub(r"\.\d+(?=\.)|\[\d+\]", ".#", name)
    return "" if place == name else place
