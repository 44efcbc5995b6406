"""What is asked about beside a training, and is none of what trains: values that are looked at or
kept, a log, weights of an inner loop, features that are computed once, a schedule that has come to
its end. The answer about it is so, and nobody need have wanted anything else."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from gradviz.graph.effects import PRODUCTS
from gradviz.graph.findings import Cause, Level
from gradviz.graph.records import CutReason
from gradviz.names.position import locate
from gradviz.why.code.shown import is_asserted_none
from gradviz.why.evidence.handed_on import plain_name
from gradviz.why.evidence.paths import Asked
from gradviz.why.evidence.summands import single
from gradviz.why.rules.whole.losses import LETTING_GO, WRITTEN
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say
from gradviz.words.words import reason_of

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

# answers that a value went on without its history
_LET_GO = {Cause.CUT, Cause.NO_GRAD_WRITE, Cause.REBUILT_FROM_VALUE, Cause.INFERENCE_TENSOR}
# cuts that are written in order to cut, or by which whole numbers are chosen
_BY_THE_PROGRAM = LETTING_GO | {CutReason.NO_GRAD_WRITE}
_BY_THE_PROGRAM |= {CutReason.NOT_DIFFERENTIABLE, CutReason.INTEGER_DTYPE}
# cuts whose fix says itself that it is one if something is to learn
SAID_IF_WANTED = {CutReason.NO_GRAD, CutReason.INFERENCE_MODE}


class Beside(NamedTuple):
    """Why an answer may be meant.

    Attributes:
        line: what is so besides.
        mend: what to write instead, and on which condition.
        is_weight: whether the answer is about weights, of which so many get a gradient.
    """

    line: str
    mend: str
    is_weight: bool = True

    def of(self, found: Explanation) -> Explanation:
        """Return the answer as what was observed."""
        more = found.more if self.is_weight else ()
        mend = self.mend if found.mend else ""
        return found._replace(mend=mend, more=(self.line, *more), is_observed=True)


def told(case: Case, found: Explanation) -> Beside | None:
    """Return why an answer may be meant, where steps train and it is about nothing of that."""
    if not moved(case):
        return None
    return next((find(found) for is_so, find in _WAYS if is_so(case, found)), None)


def only_if(found: Explanation) -> str:
    """Return what mends an answer, on the condition that a gradient is wanted: said once."""
    says_itself = found.mend.startswith(say("meant.if"))
    if says_itself or any(cut.reason in SAID_IF_WANTED for cut in found.cuts):
        return found.mend
    return say("meant.only_if", mend=found.mend)


def is_logged(case: Case, found: Explanation) -> bool:
    """Say whether an answer is that no backward can start from what is in no loss, or was let go of
    the losses on which backwards were called, while steps train: an accuracy, a running sum."""
    if found.form != "cannot_start":
        return False
    behind, cuts = case.facts.in_losses, found.cuts
    ids = {case.ids.get(id(t)) for t in case.untracked}
    # a constant of them, on which none was called: a scale, a setting
    if behind.isdisjoint(ids) or (not cuts and ids.isdisjoint(case.facts.losses)):
        return True
    return bool(cuts) and all(c.reason in LETTING_GO and c.input_id in behind for c in cuts)


def is_value(case: Case, found: Explanation) -> bool:
    """Say whether an answer is that a value has no gradient which is no weight, and that is in no
    loss, or keeps it off nothing that optimizers hold and steps do not move: what an evaluation
    computed, a memory, an input that was attacked."""
    if found.cause not in _LET_GO or not {c.reason for c in found.cuts} <= _BY_THE_PROGRAM:
        return False
    asked = about(case, found)
    if not asked or any(a.requires_grad or a.parameter for a in asked):
        return False
    if case.facts.in_losses.isdisjoint(a.tensor_id for a in asked):
        return True
    reached = (t for c in found.cuts for t in case.facts.leaves_reached(c.input_id))
    return {t.object_id for t in reached} & trained(case) <= moved(case)


def is_plain_number(case: Case, found: Explanation) -> bool:
    """Say whether an answer is that a plain tensor never asked for a gradient, that is no parameter
    and in no optimizer, and whose ``.grad`` nobody read: weights of a penalty, a running sum."""
    asked = about(case, found) if found.cause is Cause.NEVER_TRACKED else []
    if not asked or was_read(case, found) or any(a.parameter for a in asked):
        return False
    return trained(case).isdisjoint(
        case.graph.tensor[a.tensor_id].object_id for a in asked if a.tensor_id is not None
    )


def is_beside_training(case: Case, found: Explanation) -> bool:
    """Say whether an answer is that results are in no loss, nobody reads their ``.grad``, and steps
    move all of their leaves that optimizers hold: what is looked at, or handed on."""
    if found.form != "result_in_no_loss" or was_read(case, found):
        return False
    ids = [a.tensor_id for a in about(case, found)]
    states = (leaf for i in ids for leaf in case.gradients.flow.leaves_behind(i))
    leaves = {case.graph.tensor[state].object_id for state in states} & trained(case)
    return bool(leaves) and leaves <= moved(case)


def is_over(case: Case, found: Explanation) -> bool:
    """Say whether an answer is that a schedule has made a learning rate 0, and the last step moved
    what the optimizer holds: the training is over."""
    if found.form != "zero_rate_ended" or case.recording is None:
        return False
    return bool(moved(case)) and not case.recording.stepped_at_zero()


def moved(case: Case) -> set[int]:
    """Return the leaves that steps moved, by object id."""
    return {leaf for leaf, used in case.training.sums_used.items() if used}


def trained(case: Case) -> set[int]:
    """Return the leaves that steps moved or known optimizers hold, by object id."""
    return set[int]().union(moved(case), *case.held_objects)


def is_rebound_unread(case: Case, found: Explanation) -> bool:
    """Say whether an answer is that a result took the name of a leaf, the program reads no
    ``.grad`` by that name, no optimizer holds that leaf, and steps train others: an inner loop,
    whose weights are results."""
    if found.form not in ("named_anew", "made_a_result"):
        return False
    leaves = {case.graph.tensor[i].object_id for i in found.finding.tensor_ids}
    return trained(case).isdisjoint(leaves) and not was_read(case, found)


def was_read(case: Case, found: Explanation) -> bool:
    """Say whether the program read the ``.grad`` of what an answer is about, or the reader asks
    for it; not where an ``assert`` says that it is None: so it is to be."""
    looks = case.recording.looked_at() if case.recording is not None else ()
    grads = ((t, locate(look.code, look.lasti)) for t, look in looks if look.attribute == "grad")
    read = {id(t) for t, place in grads if not is_asserted_none(place.node)}
    asked = {case.ids.get(i) for i in read | case.sure_grads}
    return any(a.tensor_id in asked for a in about(case, found))


def about(case: Case, found: Explanation) -> list[Asked]:
    """Return what was asked about and has the cause of an answer."""
    return [asked for asked, told in case.told if told.cause is found.cause]


def was_made_once(case: Case, found: Explanation) -> bool:
    """Say whether an answer is that something was let go of before the first of several backwards:
    features that are computed once and kept. To leave the cut out would train nothing either, as
    the second backward would raise."""
    if found.cause is not Cause.CUT or not found.cuts:
        return False
    backwards = [b.call_id for b in case.graph.backwards if b.kind == "backward"]
    is_before = len(backwards) > 1 and all(c.call_id < min(backwards) for c in found.cuts)
    return is_before and {c.reason for c in found.cuts} <= WRITTEN


def is_weighed_with_zero(case: Case, found: Explanation) -> bool:
    """Say whether an answer is that a single number, a summand of a loss, is multiplied by 0, while
    others get a gradient that is not 0: a weight that a schedule begins with, or a summand that is
    to keep unused parameters in the graph."""
    if found.cause is not Cause.ZERO_GRADIENT or len(found.finding.calls) != 1:
        return False
    call, tensor = found.finding.calls[0], case.graph.tensor
    is_of_numbers = all(single(tensor[i]) for i in (*call.inputs, *call.outputs))
    is_product = len(call.inputs) == 1 and plain_name(call.function) in PRODUCTS
    return is_of_numbers and is_product and others_train(case) and not was_read(case, found)


def others_train(case: Case) -> bool:
    """Say whether steps moved something that was not asked about, or that has its gradient."""
    asked = {case.graph.tensor[a.tensor_id].object_id for a, _ in case.told if a.tensor_id}
    has_some = any(e.cause.level is Level.FINE and a.grad == "some" for a, e in case.told)
    leaves = moved(case)
    return bool(leaves) and (has_some or not leaves <= asked)


_WAYS: tuple[
    tuple[Callable[[Case, Explanation], bool], Callable[[Explanation], Beside]],
    ...,
] = (
    (is_value, lambda found: Beside(say("meant.value"), only_if(found), is_weight=False)),
    (is_plain_number, lambda found: Beside(say("meant.value"), only_if(found), is_weight=False)),
    (is_beside_training, lambda found: Beside(say("meant.others_moved"), found.mend, False)),
    (is_over, lambda found: Beside(say("meant.over"), found.mend)),
    (
        is_rebound_unread,
        lambda found: Beside(say("meant.unread"), say("meant.if_read", mend=found.mend), False),
    ),
    (
        is_logged,
        lambda found: Beside(say("meant.logged"), say("meant.if_started", mend=found.mend)),
    ),
    (
        was_made_once,
        lambda found: Beside(
            say("meant.made_once"), say("meant.anew", cutter=reason_of(found.cuts[0]))
        ),
    ),
)
