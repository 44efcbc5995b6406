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
from gradviz.why.account import account, diverged_by
from gradviz.why.rules.errors import (
    about_an_input,
    carried_over,
    custom_backwards,
    dtypes_shapes_hooks,
    kept_results,
    leaves_in_place,
    misuses,
    modified_in_place,
    no_grad_fn,
    not_a_parameter,
    not_a_scalar,
    not_a_tensor,
    returned_nan,
    second_backward,
    unused_input,
    views_in_place,
)
from gradviz.why.rules.errors.failure import Failure
from gradviz.why.rules.gradients import (
    checkpoint,
    cut,
    frozen_or_never_tracked,
    has_gradient,
    kept_off,
    no_backward_yet,
    not_in_loss,
    part_of_another,
    rebound_or_non_leaf,
    rebuilt_from_value,
)
from gradviz.why.rules.gradients.gradient import Gradients
from gradviz.why.rules.optimizers import (
    holds_results,
    holds_the_other,
    in_no_module,
    left_out,
    made_in_forward,
    not_moved,
    only_frozen,
    only_rebound,
    replaced,
    stepped_without,
    twice_held,
    where_stepped,
    zero_learning_rate,
)
from gradviz.why.rules.rule import Rule, Stage
from gradviz.why.rules.silent import (
    batch_norm,
    buffers,
    changed_before_read,
    flag_lost,
    freeze_without_effect,
    graph_kept,
    leftover_grad,
    not_logits,
    only_off,
    overwritten,
    partly_zero,
    result_unused,
    shared_snapshot,
)
from gradviz.why.rules.sizes import broken_on_the_way, exploding, not_finite, underflow, vanishing
from gradviz.why.rules.sizes.sizes import Sizes
from gradviz.why.rules.training import (
    cleared_too_often,
    clipped_wrong,
    diverging,
    eval_mode,
    gradients_pile_up,
    hooks,
    left_by_another,
)
from gradviz.why.rules.whole import (
    beside_training,
    constant_summand,
    dropped_part,
    extra_gradient,
    first_order,
    flags,
    idle_parts,
    leaf_root,
    meant,
    modes_kept,
    moved_parameter,
    one_network,
    plain_tensors,
    read_as_values,
    second_order,
    target_trained,
    truncation,
    uncalled_modules,
    where_frozen,
)
from gradviz.why.rules.whole.case import Case

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


def of(*causes: Cause) -> Callable[[Failure], bool]:
    """Let a rule be tried on the errors of some causes, as torch's text tells them."""
    return lambda failure: failure.cause in causes


TABLE: tuple[Rule[...], ...] = (
    # --- a call raised: of one of autograd's errors from the surest to the last resort ------------
    Rule(ERROR, RAISED, no_grad_fn.start_unseen, of(Cause.NO_GRAD_FN)),
    Rule(ERROR, RAISED, no_grad_fn.rebound, of(Cause.NO_GRAD_FN)),
    Rule(ERROR, RAISED, no_grad_fn.frozen_beside_new, of(Cause.NO_GRAD_FN)),
    Rule(ERROR, RAISED, no_grad_fn.cut_off, of(Cause.NO_GRAD_FN)),
    Rule(ERROR, RAISED, no_grad_fn.left_torch, of(Cause.NO_GRAD_FN)),
    Rule(ERROR, RAISED, no_grad_fn.from_grad, of(Cause.NO_GRAD_FN)),
    Rule(ERROR, RAISED, no_grad_fn.untracked, of(Cause.NO_GRAD_FN)),
    Rule(ERROR, RAISED, modified_in_place.modified_in_place, of(Cause.MODIFIED_IN_PLACE)),
    Rule(ERROR, RAISED, carried_over.detach_dropped, of(Cause.SECOND_BACKWARD)),
    Rule(ERROR, RAISED, carried_over.wiped_in_place, of(Cause.SECOND_BACKWARD)),
    Rule(ERROR, RAISED, carried_over.kept_in_place, of(Cause.SECOND_BACKWARD)),
    Rule(ERROR, RAISED, carried_over.carried_over, of(Cause.SECOND_BACKWARD)),
    Rule(ERROR, RAISED, second_backward.let_in, of(Cause.SECOND_BACKWARD)),
    Rule(ERROR, RAISED, second_backward.kept_from_before, of(Cause.SECOND_BACKWARD)),
    Rule(ERROR, RAISED, second_backward.made_once, of(Cause.SECOND_BACKWARD)),
    Rule(ERROR, RAISED, second_backward.meant_for_one, of(Cause.SECOND_BACKWARD)),
    Rule(ERROR, RAISED, second_backward.run_twice, of(Cause.SECOND_BACKWARD)),
    Rule(ERROR, RAISED, second_backward.freed_unseen, of(Cause.SECOND_BACKWARD)),
    Rule(ERROR, RAISED, unused_input.input_unseen, of(Cause.UNUSED_INPUT)),
    Rule(ERROR, RAISED, unused_input.input_cut_off, of(Cause.UNUSED_INPUT)),
    Rule(ERROR, RAISED, unused_input.input_beside, of(Cause.UNUSED_INPUT)),
    Rule(ERROR, RAISED, unused_input.input_handed_to_a_loop, of(Cause.UNUSED_INPUT)),
    Rule(ERROR, RAISED, unused_input.input_beside_used_ones, of(Cause.UNUSED_INPUT)),
    Rule(ERROR, RAISED, unused_input.input_part_of_used, of(Cause.UNUSED_INPUT)),
    Rule(ERROR, RAISED, unused_input.input_behind_a_gradient, of(Cause.UNUSED_INPUT)),
    Rule(ERROR, RAISED, unused_input.input_asked_too_late, of(Cause.UNUSED_INPUT)),
    Rule(ERROR, RAISED, unused_input.input_of_another, of(Cause.UNUSED_INPUT)),
    Rule(ERROR, RAISED, not_a_parameter.results_handed, of(Cause.NON_LEAF_IN_OPTIMIZER)),
    Rule(ERROR, RAISED, not_a_parameter.results_in_module, of(Cause.NON_LEAF_IN_OPTIMIZER)),
    Rule(ERROR, RAISED, not_a_parameter.result_of_call, of(Cause.NON_LEAF_IN_OPTIMIZER)),
    Rule(ERROR, RAISED, not_a_parameter.results_like_parameters, of(Cause.NON_LEAF_IN_OPTIMIZER)),
    Rule(ERROR, RAISED, not_a_parameter.not_assigned, of(Cause.NOT_A_PARAMETER)),
    Rule(ERROR, RAISED, not_a_parameter.not_parameters, of(Cause.NOT_A_PARAMETER)),
    Rule(ERROR, RAISED, not_a_parameter.read_to_its_end, of(Cause.NOT_A_PARAMETER)),
    Rule(ERROR, RAISED, not_a_parameter.all_used_or_frozen, of(Cause.NOT_A_PARAMETER)),
    Rule(ERROR, RAISED, not_a_parameter.no_parameters, of(Cause.NOT_A_PARAMETER)),
    Rule(ERROR, RAISED, kept_results.given_to_numpy_in_forward, of(Cause.NUMPY_ON_TRACKED)),
    Rule(ERROR, RAISED, kept_results.kept_by, of(Cause.NUMPY_ON_TRACKED, Cause.DEEPCOPY_NON_LEAF)),
    Rule(ERROR, RAISED, kept_results.given_to_numpy, of(Cause.NUMPY_ON_TRACKED)),
    Rule(ERROR, RAISED, misuses.misused),
    Rule(ERROR, RAISED, dtypes_shapes_hooks.dtypes_differ, of(Cause.DTYPES_DIFFER)),
    Rule(ERROR, RAISED, custom_backwards.custom_backward, of(Cause.CUSTOM_BACKWARD)),
    Rule(ERROR, RAISED, dtypes_shapes_hooks.start_misshapen, of(Cause.GRADIENT_SHAPE)),
    Rule(ERROR, RAISED, returned_nan.returned_nan, of(Cause.NAN)),
    Rule(ERROR, RAISED, returned_nan.not_recorded, of(Cause.NAN)),
    Rule(ERROR, RAISED, not_a_tensor.not_a_tensor, of(Cause.NOT_A_TENSOR)),
    Rule(ERROR, RAISED, not_a_tensor.nothing_returned, not_a_tensor.may_be_nothing),
    Rule(ERROR, RAISED, views_in_place.of_function, of(Cause.VIEW_IN_PLACE)),
    Rule(ERROR, RAISED, views_in_place.iterated, of(Cause.VIEW_IN_PLACE)),
    Rule(ERROR, RAISED, views_in_place.written_beside, of(Cause.VIEW_IN_PLACE)),
    Rule(ERROR, RAISED, views_in_place.one_of_several, of(Cause.VIEW_IN_PLACE)),
    Rule(ERROR, RAISED, views_in_place.made_without_gradients, of(Cause.VIEW_IN_PLACE)),
    Rule(
        ERROR,
        RAISED,
        leaves_in_place.sum_on_leaf,
        of(Cause.LEAF_IN_PLACE, Cause.VIEW_OF_LEAF_IN_PLACE),
    ),
    Rule(
        ERROR,
        RAISED,
        leaves_in_place.taken_as_result,
        of(Cause.LEAF_IN_PLACE, Cause.VIEW_OF_LEAF_IN_PLACE),
    ),
    Rule(
        ERROR,
        RAISED,
        leaves_in_place.numbers_set,
        of(Cause.LEAF_IN_PLACE, Cause.VIEW_OF_LEAF_IN_PLACE),
    ),
    Rule(ERROR, RAISED, leaves_in_place.parameters_learned_through, of(Cause.LEAF_IN_PLACE)),
    Rule(
        ERROR,
        RAISED,
        leaves_in_place.learned_through,
        of(Cause.LEAF_IN_PLACE, Cause.VIEW_OF_LEAF_IN_PLACE),
    ),
    Rule(ERROR, RAISED, not_a_scalar.reduced_too_early, of(Cause.NOT_SCALAR)),
    Rule(ERROR, RAISED, not_a_scalar.of_many_numbers, of(Cause.NOT_SCALAR)),
    Rule(ERROR, RAISED, about_an_input.not_a_float, of(Cause.REQUIRES_GRAD_NON_FLOAT)),
    Rule(ERROR, RAISED, about_an_input.made_without_history, of(Cause.HOOK_REFUSED)),
    Rule(ERROR, RAISED, about_an_input.made_after_a_cut, of(Cause.HOOK_REFUSED)),
    Rule(ERROR, RAISED, about_an_input.about_an_input),
    Rule(ERROR, RAISED, about_an_input.unknown),
    # --- one tensor has a gradient ----------------------------------------------------------------
    Rule(GRADIENT, UNREADABLE, has_gradient.unreadable),
    Rule(GRADIENT, HERE, has_gradient.leftover, frozen_or_never_tracked.not_tracked),
    Rule(GRADIENT, ZERO, has_gradient.used_then_zeroed, has_gradient.emptied),
    Rule(GRADIENT, ZERO, Gradients.zeroed, has_gradient.emptied),
    Rule(GRADIENT, ZERO, Gradients.zeros_from_the_start),
    Rule(GRADIENT, ZERO, Gradients.became_zeros),
    Rule(GRADIENT, ZERO, Gradients.stopped),
    Rule(GRADIENT, ZERO, Gradients.cancels),
    Rule(GRADIENT, ZERO, Gradients.zero_unproven),
    Rule(GRADIENT, NAN, has_gradient.not_finite),
    Rule(GRADIENT, SOME, has_gradient.arrived),
    # --- one tensor has none, or none from the loss: from the nearest cause to the farthest -------
    Rule(
        GRADIENT, MISSING, rebound_or_non_leaf.updated_unseen, frozen_or_never_tracked.not_tracked
    ),
    Rule(GRADIENT, MISSING, not_in_loss.set_by_code, Gradients.unreached),
    Rule(GRADIENT, MISSING, cut.cut_behind, frozen_or_never_tracked.not_tracked),
    Rule(
        GRADIENT,
        MISSING,
        frozen_or_never_tracked.made_in_inference,
        frozen_or_never_tracked.not_tracked,
    ),
    Rule(
        GRADIENT, MISSING, frozen_or_never_tracked.not_asking, frozen_or_never_tracked.not_tracked
    ),
    Rule(GRADIENT, MISSING, kept_off.frozen_for_loss, kept_off.trained_by_another),
    Rule(GRADIENT, MISSING, frozen_or_never_tracked.asked_too_late),
    Rule(GRADIENT, MISSING, checkpoint.in_checkpoint, Gradients.unreached),
    Rule(GRADIENT, MISSING, has_gradient.trained_before, Gradients.should_be_filled),
    Rule(GRADIENT, MISSING, not_in_loss.unread, not_in_loss.unread_path),
    Rule(GRADIENT, MISSING, kept_off.kept_from_loss, kept_off.trained_by_another),
    Rule(GRADIENT, MISSING, kept_off.cleared_in_between, Gradients.should_be_filled),
    Rule(GRADIENT, MISSING, cut.straight_through, Gradients.cut_off),
    Rule(GRADIENT, MISSING, cut.severed, Gradients.cut_off),
    Rule(GRADIENT, MISSING, cut.severed_before, Gradients.cut_off),
    Rule(GRADIENT, MISSING, cut.aliased, Gradients.should_be_filled),
    Rule(GRADIENT, MISSING, not_in_loss.only_looked_at, Gradients.should_be_filled),
    Rule(GRADIENT, MISSING, rebuilt_from_value.left_torch, Gradients.should_be_filled),
    Rule(GRADIENT, MISSING, not_in_loss.only_copied, Gradients.should_be_filled),
    Rule(GRADIENT, MISSING, cut.mixed, Gradients.should_be_filled),
    Rule(GRADIENT, MISSING, not_in_loss.not_whole, Gradients.should_be_filled),
    Rule(GRADIENT, MISSING, not_in_loss.twin_used, Gradients.should_be_filled),
    Rule(GRADIENT, MISSING, not_in_loss.never_read, kept_off.untrained_by_others),
    Rule(GRADIENT, MISSING, cut.made_a_leaf, Gradients.should_be_filled),
    Rule(GRADIENT, MISSING, kept_off.of_another_loss, kept_off.trained_by_another),
    Rule(GRADIENT, MISSING, not_in_loss.dropped_result, Gradients.should_be_filled),
    Rule(GRADIENT, MISSING, not_in_loss.drops_out, Gradients.should_be_filled),
    Rule(GRADIENT, MISSING, not_in_loss.leads_elsewhere, Gradients.should_be_filled),
    Rule(GRADIENT, MISSING, rebound_or_non_leaf.rebound, rebound_or_non_leaf.not_kept),
    Rule(GRADIENT, MISSING, rebound_or_non_leaf.made_non_leaf, rebound_or_non_leaf.not_kept),
    Rule(GRADIENT, MISSING, part_of_another.part_asked, rebound_or_non_leaf.not_kept),
    Rule(GRADIENT, MISSING, rebound_or_non_leaf.in_no_loss, rebound_or_non_leaf.not_kept),
    Rule(GRADIENT, MISSING, rebound_or_non_leaf.is_a_result, rebound_or_non_leaf.not_kept),
    Rule(GRADIENT, MISSING, has_gradient.used_then_cleared),
    Rule(GRADIENT, MISSING, has_gradient.used_earlier),
    Rule(GRADIENT, MISSING, no_backward_yet.cleared_unused),
    Rule(GRADIENT, MISSING, no_backward_yet.given_back),
    Rule(GRADIENT, MISSING, no_backward_yet.not_asked_for),
    Rule(GRADIENT, MISSING, cut.none_returned),
    Rule(GRADIENT, MISSING, no_backward_yet.used_up_graph, no_backward_yet.not_run),
    Rule(GRADIENT, MISSING, no_backward_yet.no_backward_from_loss, no_backward_yet.not_run),
    Rule(GRADIENT, MISSING, checkpoint.in_unrecorded_checkpoint, no_backward_yet.untrained),
    Rule(GRADIENT, MISSING, no_backward_yet.no_backward_at_all),
    Rule(GRADIENT, MISSING, no_backward_yet.custom_above, no_backward_yet.unseen_path),
    Rule(GRADIENT, MISSING, no_backward_yet.not_run_or_cleared, no_backward_yet.unseen_path),
    Rule(GRADIENT, OF_A_GRADIENT, Gradients.no_cause),
    # --- everything that was asked about: which of those answers is the answer --------------------
    Rule(WHOLE, ANY, Case.of_what_is_gone, Case.nothing_is_alive),
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
    Rule(AGAIN, STAYS, holds_results.holds_results, Case.steps_asked),
    Rule(AGAIN, STAYS, only_frozen.only_frozen, only_frozen.steps_nothing),
    Rule(AGAIN, STAYS, not_moved.left_in_place, Case.fine_step_asked),
    Rule(AGAIN, STAYS, not_moved.holds_another_model, Case.fine_step_asked),
    Rule(AGAIN, STAYS, holds_the_other.holds_the_other, holds_the_other.has_steps),
    Rule(AGAIN, ANY, Case.with_moves, Case.step_untold),
    Rule(AGAIN, STAYS, replaced.replaced, Case.may_be_meant),
    Rule(AGAIN, STAYS, replaced.of_a_twin, Case.nothing_wrong),
    Rule(AGAIN, HERE, Case.wrong_numbers, Case.numbers_are_bad),
    Rule(AGAIN, SOME | STAYS | KEPT, Case.silent, Case.hides_more),
    Rule(AGAIN, SOME, first_order.whole_summand, first_order.explains_more),
    Rule(AGAIN, SOME, constant_summand.constant_summand, Case.training_asked),
    Rule(AGAIN, SOME, constant_summand.new_leaf, Case.training_asked),
    Rule(AGAIN, SOME, first_order.first_order, Case.training_asked),
    Rule(AGAIN, ZERO, second_order.straight_again, second_order.may_be_second),
    Rule(AGAIN, MISSING, leaf_root.with_leaf_root, leaf_root.nothing_reached),
    Rule(AGAIN, MISSING, second_order.none_again, second_order.may_be_second),
    Rule(AGAIN, ANY, dropped_part.dropped_part, Case.recorded_and_mild),
    Rule(AGAIN, SOME, extra_gradient.extra_gradient, Case.recorded_and_mild),
    Rule(AGAIN, ANY, idle_parts.trains_nothing, Case.recorded_and_mild),
    Rule(AGAIN, SOME, target_trained.target_held, Case.recorded_and_mild),
    Rule(AGAIN, ANY, made_in_forward.made_in_forward, Case.recorded_and_fine),
    Rule(AGAIN, ANY, extra_gradient.with_added, Case.recorded_and_fine),
    Rule(AGAIN, STAYS, one_network.one_network, Case.may_be_meant),
    Rule(AGAIN, ANY, target_trained.twin_trained, Case.recorded_and_fine),
    Rule(AGAIN, ANY, truncation.with_truncation, Case.recorded_and_fine),
    Rule(AGAIN, ANY, flags.with_flags, flags.flags_matter),
    Rule(AGAIN, STAYS, only_rebound.only_rebound, Case.recorded_and_fine),
    Rule(AGAIN, STAYS, zero_learning_rate.stepped_at_zero, Case.nothing_wrong),
    Rule(AGAIN, STAYS, twice_held.twice_held, Case.nothing_wrong),
    Rule(AGAIN, STAYS, left_out.left_out, Case.nothing_wrong),
    Rule(AGAIN, SOME | STAYS, stepped_without.stepped_without, stepped_without.nothing_found),
    Rule(AGAIN, STAYS, in_no_module.in_no_module, Case.steps_recorded),
    Rule(AGAIN, MISSING | STAYS, moved_parameter.only_a_copy, moved_parameter.untrained_yet),
    Rule(AGAIN, MISSING, uncalled_modules.not_called, uncalled_modules.unread),
    Rule(AGAIN, ANY, plain_tensors.begun_like_weights, Case.recorded_and_fine),
    Rule(AGAIN, ANY, Case.with_chosen, Case.recorded_and_fine),
    Rule(AGAIN, ANY, account.with_account, Case.recorded_and_fine),
    Rule(AGAIN, ZERO, account.with_shapes, account.zeros_found),
    Rule(AGAIN, ZERO, account.with_itself, account.zeros_unexplained),
    Rule(AGAIN, ANY, read_as_values.with_read_as_values, read_as_values.nothing_named),
    Rule(AGAIN, ANY, plain_tensors.with_plain, Case.recorded_and_fine),
    Rule(AGAIN, ANY, beside_training.with_replaced_values, Case.recorded_and_fine),
    Rule(AGAIN, ANY, beside_training.with_step_before, Case.recorded_and_fine),
    Rule(AGAIN, ANY, modes_kept.with_modes_kept, Case.recorded_and_fine),
    Rule(AGAIN, ANY, flags.with_flags_set_back, Case.recorded_and_fine),
    Rule(AGAIN, ANY, where_frozen.with_switch, where_frozen.is_frozen),
    Rule(AGAIN, ANY, Case.with_passed_over),
    Rule(AGAIN, ANY, Case.with_unheld, Case.steps_seen),
    Rule(AGAIN, HERE, Case.wrong_size, Case.size_matters),
    Rule(AGAIN, NAN, gradients_pile_up.piled_up_to_nan, gradients_pile_up.broken_by_a_step),
    Rule(AGAIN, NAN, diverging.diverged, diverging.is_recorded),
    Rule(AGAIN, NAN, diverged_by.with_sums, diverged_by.has_diverged),
    Rule(AGAIN, NAN, diverged_by.with_own_backward, diverged_by.has_diverged),
    Rule(AGAIN, NAN, diverged_by.with_scale, diverged_by.has_diverged),
    Rule(AGAIN, MISSING, account.with_signs, account.is_left_out),
    Rule(AGAIN, MISSING, account.with_layers_again, account.is_never_called),
    Rule(AGAIN, NAN, Case.returned_broken, Case.named_nothing),
    Rule(AGAIN, SOME, Case.with_leaves_told, Case.leaves_are_fine),
    Rule(AGAIN, ANY, Case.with_constants, Case.is_healthy),
    Rule(AGAIN, ANY, Case.as_far_as_seen, Case.is_healthy),
    Rule(AGAIN, ANY, where_stepped.with_line_of_optimizers, where_stepped.has_no_line),
    Rule(AGAIN, ANY, Case.odd_first, Case.odd_beside),
    Rule(AGAIN, ANY, meant.as_observed, meant.may_be_meant),
    Rule(AGAIN, ANY, left_out.left_out_instead, meant.is_wanted_by_nobody),
    Rule(AGAIN, SOME | STAYS, meant.silent_instead, meant.is_wanted_by_nobody),
    # --- what goes wrong although nothing raises, the worst first ---------------------------------
    Rule(SILENT, HERE, overwritten.overwritten),
    Rule(SILENT, STAYS, shared_snapshot.snapshots),
    Rule(SILENT, STAYS, shared_snapshot.shared_with_frozen),
    Rule(SILENT, STAYS, leftover_grad.leftovers),
    Rule(SILENT, SOME | STAYS, only_off.only_off),
    # freezes without effect
    Rule(SILENT, STAYS, freeze_without_effect.without_effect),
    Rule(SILENT, STAYS, freeze_without_effect.on_data),
    Rule(SILENT, STAYS, freeze_without_effect.undone),
    Rule(SILENT, STAYS, freeze_without_effect.on_another),
    Rule(SILENT, STAYS, flag_lost.flag_lost),
    # in a training loop
    Rule(SILENT, SOME, cleared_too_often.never_stepped),
    Rule(SILENT, STAYS, cleared_too_often.step_not_reached),
    Rule(SILENT, STAYS, cleared_too_often.step_left_out),
    Rule(SILENT, SOME, gradients_pile_up.piled_up),
    Rule(SILENT, SOME, left_by_another.left_by_another),
    Rule(SILENT, SOME, gradients_pile_up.read_as_sums),
    Rule(SILENT, SOME, cleared_too_often.cleared_unused),
    Rule(SILENT, SOME, clipped_wrong.clipped_scaled),
    Rule(SILENT, SOME, clipped_wrong.clipped_too_late),
    Rule(SILENT, SOME, clipped_wrong.clipped_in_between),
    Rule(SILENT, SOME, hooks.read_too_early),
    Rule(SILENT, STAYS, buffers.asked_for),
    Rule(SILENT, STAYS, buffers.made_like_weights),
    Rule(SILENT, SOME, eval_mode.in_eval_mode),
    Rule(SILENT, SOME, eval_mode.left_in_eval),
    Rule(SILENT, SOME, hooks.moved_all_the_same),
    Rule(SILENT, SOME, hooks.changed),
    Rule(SILENT, SOME, hooks.changed_in_module),
    Rule(SILENT, KEPT, graph_kept.sums_kept),
    Rule(SILENT, KEPT, graph_kept.lists_kept),
    # what the running statistics do explains no weight that stays, and no gradient
    Rule(SILENT, STAYS, batch_norm.statistics),
    # what is wrong with the numbers
    Rule(SILENT, NAN | SOME, broken_on_the_way.broken_on_the_way),
    Rule(SILENT, SOME, not_logits.not_logits),
    Rule(SILENT, SOME, changed_before_read.second_name_overwritten),
    Rule(SILENT, SOME, changed_before_read.argument_overwritten),
    Rule(SILENT, SOME, changed_before_read.written_past_autograd),
    Rule(SILENT, SOME, result_unused.thrown_away),
    Rule(SILENT, SOME, partly_zero.partly_flat),
    # --- how large gradients are ------------------------------------------------------------------
    Rule(SIZE, SOME, Sizes.nothing),
    Rule(SIZE, NAN | SOME, not_finite.broken),
    Rule(SIZE, NAN | SOME, not_finite.broken_loss),
    Rule(SIZE, ZERO | SOME, underflow.underflow),
    Rule(SIZE, ZERO | SOME, vanishing.falling),
    Rule(SIZE, NAN | SOME, exploding.growing),
    Rule(SIZE, ZERO | SOME, vanishing.uses),
    Rule(SIZE, NAN | SOME, exploding.chain),
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
