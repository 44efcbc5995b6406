"""The one table of rules: which of several answers is given.

Read it from top to bottom. Each row says when it is tried (its stage), for which symptoms, what it
proves, and whether it is tried on this subject at all. Of one stage the first row that proves
something is the answer; a second look may displace the answer so far, and what the looks after it
see is the new one. To add a cause, write its rule in ``why/rules/``, its row here, and its
sentences in ``words/en.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from gradviz.graph.findings import OF_A_GRADIENT, Cause, Symptom
from gradviz.why.rules.case import Case
from gradviz.why.rules.gradient import Gradients
from gradviz.why.rules.raised import Failure
from gradviz.why.rules.rule import Rule, Stage
from gradviz.why.rules.silent import Silent
from gradviz.why.rules.small import Sizes

ERROR, GRADIENT, WHOLE, AGAIN = Stage.ERROR, Stage.GRADIENT, Stage.WHOLE, Stage.AGAIN
SILENT, SIZE = Stage.SILENT, Stage.SIZE

ANY = frozenset(Symptom)
RAISED = frozenset({Symptom.RAISED})
MISSING = frozenset({Symptom.NONE, Symptom.ELSEWHERE})
UNREADABLE = frozenset({Symptom.UNREADABLE})
ZERO = frozenset({Symptom.ZERO})
NAN = frozenset({Symptom.NAN})
SOME = frozenset({Symptom.SOME})
HERE = ZERO | NAN | SOME
STAYS = frozenset({Symptom.STAYS})
KEPT = frozenset({Symptom.KEPT})


def of(cause: Cause) -> Callable[[Failure], bool]:
    """Let a rule be tried on the errors of one cause, as torch's text tells it."""
    return lambda failure: failure.cause is cause


TABLE: tuple[Rule[...], ...] = (
    # --- a call raised: of one of autograd's errors from the surest to the last resort ------------
    Rule(ERROR, RAISED, Failure.start_unseen, of(Cause.NO_GRAD_FN)),
    Rule(ERROR, RAISED, Failure.cut_off, of(Cause.NO_GRAD_FN)),
    Rule(ERROR, RAISED, Failure.left_torch, of(Cause.NO_GRAD_FN)),
    Rule(ERROR, RAISED, Failure.from_grad, of(Cause.NO_GRAD_FN)),
    Rule(ERROR, RAISED, Failure.untracked, of(Cause.NO_GRAD_FN)),
    Rule(ERROR, RAISED, Failure.modified_in_place, of(Cause.MODIFIED_IN_PLACE)),
    Rule(ERROR, RAISED, Failure.carried_over, of(Cause.SECOND_BACKWARD)),
    Rule(ERROR, RAISED, Failure.run_twice, of(Cause.SECOND_BACKWARD)),
    Rule(ERROR, RAISED, Failure.freed_unseen, of(Cause.SECOND_BACKWARD)),
    Rule(ERROR, RAISED, Failure.input_unseen, of(Cause.UNUSED_INPUT)),
    Rule(ERROR, RAISED, Failure.input_cut_off, of(Cause.UNUSED_INPUT)),
    Rule(ERROR, RAISED, Failure.input_of_another, of(Cause.UNUSED_INPUT)),
    Rule(ERROR, RAISED, Failure.results_like_parameters, of(Cause.NON_LEAF_IN_OPTIMIZER)),
    Rule(ERROR, RAISED, Failure.about_an_input),
    Rule(ERROR, RAISED, Failure.unknown),
    # --- one tensor has a gradient ----------------------------------------------------------------
    Rule(GRADIENT, UNREADABLE, Gradients.unreadable),
    Rule(GRADIENT, HERE, Gradients.leftover, Gradients.not_tracked),
    Rule(GRADIENT, ZERO, Gradients.used_then_zeroed, Gradients.emptied),
    Rule(GRADIENT, ZERO, Gradients.zeroed, Gradients.emptied),
    Rule(GRADIENT, ZERO, Gradients.became_zeros),
    Rule(GRADIENT, ZERO, Gradients.stopped),
    Rule(GRADIENT, ZERO, Gradients.cancels),
    Rule(GRADIENT, ZERO, Gradients.zero_unproven),
    Rule(GRADIENT, NAN, Gradients.not_finite),
    Rule(GRADIENT, SOME, Gradients.arrived),
    # --- one tensor has none, or none from the loss: from the nearest cause to the farthest -------
    Rule(GRADIENT, MISSING, Gradients.cut_behind, Gradients.not_tracked),
    Rule(GRADIENT, MISSING, Gradients.made_in_inference, Gradients.not_tracked),
    Rule(GRADIENT, MISSING, Gradients.not_asking, Gradients.not_tracked),
    Rule(GRADIENT, MISSING, Gradients.asked_too_late),
    Rule(GRADIENT, MISSING, Gradients.in_checkpoint, Gradients.unreached),
    Rule(GRADIENT, MISSING, Gradients.unread, Gradients.unread_path),
    Rule(GRADIENT, MISSING, Gradients.severed, Gradients.cut_off),
    Rule(GRADIENT, MISSING, Gradients.aliased, Gradients.should_be_filled),
    Rule(GRADIENT, MISSING, Gradients.left_torch, Gradients.should_be_filled),
    Rule(GRADIENT, MISSING, Gradients.only_copied, Gradients.should_be_filled),
    Rule(GRADIENT, MISSING, Gradients.mixed, Gradients.should_be_filled),
    Rule(GRADIENT, MISSING, Gradients.not_whole, Gradients.should_be_filled),
    Rule(GRADIENT, MISSING, Gradients.twin_used, Gradients.should_be_filled),
    Rule(GRADIENT, MISSING, Gradients.never_read, Gradients.should_be_filled),
    Rule(GRADIENT, MISSING, Gradients.made_a_leaf, Gradients.should_be_filled),
    Rule(GRADIENT, MISSING, Gradients.leads_elsewhere, Gradients.should_be_filled),
    Rule(GRADIENT, MISSING, Gradients.rebound, Gradients.not_kept),
    Rule(GRADIENT, MISSING, Gradients.made_non_leaf, Gradients.not_kept),
    Rule(GRADIENT, MISSING, Gradients.is_a_result, Gradients.not_kept),
    Rule(GRADIENT, MISSING, Gradients.used_then_cleared),
    Rule(GRADIENT, MISSING, Gradients.cleared_unused),
    Rule(GRADIENT, MISSING, Gradients.given_back),
    Rule(GRADIENT, MISSING, Gradients.none_returned),
    Rule(GRADIENT, MISSING, Gradients.used_up_graph, Gradients.not_run),
    Rule(GRADIENT, MISSING, Gradients.no_backward_from_loss, Gradients.not_run),
    Rule(GRADIENT, MISSING, Gradients.no_backward_at_all),
    Rule(GRADIENT, MISSING, Gradients.custom_above, Gradients.unseen_path),
    Rule(GRADIENT, MISSING, Gradients.not_run_or_cleared, Gradients.unseen_path),
    Rule(GRADIENT, OF_A_GRADIENT, Gradients.no_cause),
    # --- everything that was asked about: which of those answers is the answer --------------------
    Rule(WHOLE, ANY, Case.past_backward, Case.nothing_is_alive),
    Rule(WHOLE, RAISED, Case.untracked_loss),
    Rule(WHOLE, ANY, Case.loss_alone, Case.only_losses_asked),
    Rule(WHOLE, ANY, Case.only_one),
    Rule(WHOLE, ANY, Case.all_frozen),
    Rule(WHOLE, ANY, Case.all_fine),
    Rule(WHOLE, ANY, Case.gravest),
    # --- a second look: what may displace the answer so far, or adds to it ------------------------
    Rule(AGAIN, ANY, Case.with_reached, Case.tensors_asked),
    Rule(AGAIN, ANY, Case.with_unused_recording, Case.tensors_asked),
    Rule(AGAIN, STAYS, Case.holds_results, Case.steps_asked),
    Rule(AGAIN, STAYS, Case.left_in_place, Case.fine_step_asked),
    Rule(AGAIN, STAYS, Case.holds_another_model, Case.fine_step_asked),
    Rule(AGAIN, ANY, Case.with_moves, Case.step_untold),
    Rule(AGAIN, STAYS, Case.replaced, Case.may_be_meant),
    Rule(AGAIN, HERE, Case.wrong_numbers, Case.numbers_are_bad),
    Rule(AGAIN, SOME | STAYS | KEPT, Case.silent, Case.hides_more),
    Rule(AGAIN, STAYS, Case.left_out, Case.nothing_wrong),
    Rule(AGAIN, STAYS, Case.in_no_module, Case.steps_seen),
    Rule(AGAIN, ANY, Case.with_unheld, Case.steps_seen),
    Rule(AGAIN, HERE, Case.wrong_size, Case.size_matters),
    Rule(AGAIN, ANY, Case.with_constants, Case.is_healthy),
    Rule(AGAIN, ANY, Case.as_far_as_seen, Case.is_healthy),
    # --- what goes wrong although nothing raises, the worst first ---------------------------------
    Rule(SILENT, HERE, Silent.overwritten),
    Rule(SILENT, STAYS, Silent.snapshots),
    Rule(SILENT, STAYS, Silent.shared_with_frozen),
    Rule(SILENT, STAYS, Silent.leftovers),
    Rule(SILENT, STAYS, Silent.statistics),
    Rule(SILENT, KEPT, Silent.sums_kept),
    Rule(SILENT, KEPT, Silent.lists_kept),
    # --- how large gradients are ------------------------------------------------------------------
    Rule(SIZE, SOME, Sizes.nothing),
    Rule(SIZE, NAN | SOME, Sizes.broken),
    Rule(SIZE, NAN | SOME, Sizes.broken_loss),
    Rule(SIZE, ZERO | SOME, Sizes.underflow),
    Rule(SIZE, ZERO | SOME, Sizes.falling),
    Rule(SIZE, NAN | SOME, Sizes.growing),
    Rule(SIZE, ZERO | SOME, Sizes.uses),
    Rule(SIZE, NAN | SOME, Sizes.chain),
    Rule(SIZE, SOME, Sizes.large),
    Rule(SIZE, SOME, Sizes.unreadable),
    Rule(SIZE, SOME, Sizes.healthy),
)


@cache
def rows(stage: Stage, symptom: Symptom | None = None) -> tuple[Rule[...], ...]:
    """Return the rules of a stage that explain a symptom, in the order of the table; without a
    symptom all of them."""
    of_stage = (rule for rule in TABLE if rule.stage is stage)
    return tuple(rule for rule in of_stage if symptom is None or symptom in rule.explains)
