"""The account of a recording: what its steps and losses did, told beside gradients that are there.

NOTE [why an account]: that gradients are there does not say whether they are the wanted ones, and
no program says what it wants. So what the recording proves is told, in few lines, each with its
line of code, and where it is the usual reason for a question also the condition under which it is a
fault and the change that mends it. Nothing here is an alarm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gradviz.graph.findings import Cause, Symptom
from gradviz.watch.identity import parameters
from gradviz.why.account.arguments import arguments
from gradviz.why.account.attention import attention
from gradviz.why.account.backward_again import backward_again
from gradviz.why.account.batch_for_the_steps import batch_for_the_steps
from gradviz.why.account.beside_the_optimizer import beside_the_optimizer
from gradviz.why.account.bounded_scores import bounded_scores
from gradviz.why.account.class_left_out import class_left_out
from gradviz.why.account.cleared_before_step import cleared_before_step
from gradviz.why.account.climbing import climbing
from gradviz.why.account.code import Code
from gradviz.why.account.compared_alike import compared_alike
from gradviz.why.account.complex_derivatives import complex_derivatives
from gradviz.why.account.copies import Copies
from gradviz.why.account.counted_means import counted_means
from gradviz.why.account.draws import draws
from gradviz.why.account.drifting import drifting
from gradviz.why.account.entries_held import entries_held
from gradviz.why.account.eval_freezes_nothing import eval_freezes_nothing
from gradviz.why.account.eval_of_a_part import eval_of_a_part
from gradviz.why.account.eval_undone import eval_undone
from gradviz.why.account.exchanged_terms import exchanged_terms
from gradviz.why.account.falling import falling
from gradviz.why.account.filled_backwards import filled_backwards
from gradviz.why.account.flags_not_kept import flags_not_kept
from gradviz.why.account.flags_of_copies import flags_of_copies
from gradviz.why.account.flat_at_inputs import flat_at_inputs
from gradviz.why.account.flattened_apart import flattened_apart
from gradviz.why.account.forward import Forward
from gradviz.why.account.found_out import found_out
from gradviz.why.account.free_draws import free_draws
from gradviz.why.account.froze_nothing import froze_nothing
from gradviz.why.account.frozen_beside import frozen_beside
from gradviz.why.account.functions_left_out import functions_left_out
from gradviz.why.account.handed_gradient import derived_at_once, handed_gradient
from gradviz.why.account.hooks_in_vain import hooks_in_vain
from gradviz.why.account.hooks_of_parameters import hooks_of_parameters
from gradviz.why.account.inverted_masks import inverted_masks
from gradviz.why.account.kept_again import kept_again
from gradviz.why.account.last_of_padding import last_of_padding
from gradviz.why.account.layer_settings import layer_settings
from gradviz.why.account.layers_again import layers_again
from gradviz.why.account.learned_weights import learned_weights
from gradviz.why.account.learning_targets import learning_targets
from gradviz.why.account.left_at_once import left_at_once
from gradviz.why.account.linear_in_a_row import linear_in_a_row
from gradviz.why.account.listed_twice import listed_twice
from gradviz.why.account.loss_domains import LossDomains
from gradviz.why.account.loss_values import loss_values
from gradviz.why.account.made_anew import made_anew
from gradviz.why.account.masks import masked_too_late
from gradviz.why.account.mean_of_one import mean_of_one
from gradviz.why.account.mixed_points import mixed_points
from gradviz.why.account.mixed_reductions import mixed_reductions
from gradviz.why.account.module_hooks import hooks_of_another, hooks_of_modules
from gradviz.why.account.module_use import module_use
from gradviz.why.account.moved_beside_zeros import frozen_scaled, moved_beside_zeros
from gradviz.why.account.never_followed import never_followed
from gradviz.why.account.noise_scales import noise_scales
from gradviz.why.account.norm_of_one import norm_of_one
from gradviz.why.account.normalized_alone import normalized_alone
from gradviz.why.account.not_saved import not_saved
from gradviz.why.account.nothing_loaded import nothing_loaded
from gradviz.why.account.one_in_a_list import one_in_a_list
from gradviz.why.account.only_rounding import only_rounding
from gradviz.why.account.out_of_reach import out_of_reach
from gradviz.why.account.overlaps import overlaps
from gradviz.why.account.overwritten import kept_nowhere, overwritten_in_a_loop
from gradviz.why.account.own_backward import own_backwards
from gradviz.why.account.own_targets import own_targets
from gradviz.why.account.pace import pace
from gradviz.why.account.padding import rows_left_out
from gradviz.why.account.parts_kept_off import parts_kept_off
from gradviz.why.account.parts_of_others import parts_of_others
from gradviz.why.account.patterns_in_vain import patterns_in_vain
from gradviz.why.account.predictions import remade_predictions
from gradviz.why.account.random_buffers import random_buffers
from gradviz.why.account.rates import at_rate_zero, once_at_rate_zero, rates, settings
from gradviz.why.account.read_while_cleared import read_while_cleared
from gradviz.why.account.remark import Remark, Weight, in_order
from gradviz.why.account.replaced_arguments import replaced_arguments
from gradviz.why.account.same_memory import same_memory
from gradviz.why.account.scaled_steps import scaled_steps
from gradviz.why.account.schedules_elsewhere import schedules_elsewhere
from gradviz.why.account.shared_groups import shared_groups
from gradviz.why.account.shuffled_apart import shuffled_apart
from gradviz.why.account.similar_to_itself import similar_to_itself
from gradviz.why.account.slopes import slopes
from gradviz.why.account.small_steps import small_steps
from gradviz.why.account.spread import spread_predictions, spread_statistics
from gradviz.why.account.stale import stale
from gradviz.why.account.started import started_with_itself
from gradviz.why.account.states_dropped import cells_without_state, states_dropped
from gradviz.why.account.statistics_of_frozen import statistics_of_frozen
from gradviz.why.account.steps import Steps
from gradviz.why.account.still_at_first import still_at_first
from gradviz.why.account.summed_probabilities import summed_probabilities
from gradviz.why.account.sums_again import sums_again
from gradviz.why.account.sums_of_inputs import sums_of_inputs
from gradviz.why.account.symmetric import symmetric
from gradviz.why.account.turned_masks import turned_masks
from gradviz.why.account.undone import undone
from gradviz.why.account.uneven_steps import uneven_steps
from gradviz.why.account.unregistered import in_no_optimizer, unregistered
from gradviz.why.account.unscored import unscored
from gradviz.why.account.untied import untied, untied_again
from gradviz.why.account.used_up import used_up
from gradviz.why.account.values import Values
from gradviz.why.account.weights_compared import weights_compared
from gradviz.why.account.weights_that_learn import weights_that_learn
from gradviz.why.account.wrapped_values import wrapped_values
from gradviz.why.account.written_otherwise import signs_beside_equals, written_otherwise
from gradviz.why.rules.whole.meant import MISSING, is_of_derivatives, of_vain_steps
from gradviz.why.shown.explanation import Explanation, lines_of

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

MOST = 6  # lines that are told
_FEW = 2  # of them, beside an answer about something else
# remarks on results that go into no loss
_OF_RESULTS = {"in_no_loss", "in_no_loss_at_all"}


def with_account(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with what the recorded steps and losses did."""
    told = in_order(_remarks(case), _wanted(case))[:MOST]
    if not told:
        return None
    in_vain = [r.sentence for r in told if r.weight is Weight.IN_VAIN]
    odd = [r.sentence for r in told if r.weight in (Weight.WEIGHTY, Weight.NOTABLE)]
    rest = [r.sentence for r in told if r.weight is Weight.ORDINARY]
    leads = bool(in_vain) or (bool(odd) and not found.odd)
    odd_calls = told[0].calls if leads else ()
    return found._replace(
        odd=(*in_vain, *found.odd, *odd),
        more=(*found.more, *rest),
        lines=tuple(dict.fromkeys([*found.lines, *_lines_of_weighty(told)])),
        graph=case.graph if odd_calls else found.graph,
        odd_calls=odd_calls,
    )


def _lines_of_weighty(told: Sequence[Remark]) -> tuple[int, ...]:
    """Return the lines of those remarks that are out of the ordinary."""
    weighty = [r for r in told if r.weight is not Weight.ORDINARY]
    calls = [call for remark in weighty for call in remark.calls]
    return lines_of(calls, [source for remark in weighty for source in remark.statements])


def with_oddities(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with what is odd in the recorded steps and losses: what nobody asked
    for leads, and does not hide it."""
    if case.recording is None or not case.graph.backwards:
        return None
    told = [r for r in _remarks(case) if r.weight in (Weight.IN_VAIN, Weight.WEIGHTY)]
    told = in_order(told, _wanted(case))[:_FEW]
    if not told:
        return None
    places = lines_of([c for r in told for c in r.calls], [s for r in told for s in r.statements])
    sentences = [r.sentence for r in told]
    lines = tuple(dict.fromkeys([*found.lines, *places]))
    says_less = found.cause in MISSING or is_of_derivatives(found)
    is_graver = not says_less or bool(of_vain_steps(case, found))
    if is_graver or told[0].key in _OF_RESULTS:  # it tells of the same, and less
        return found._replace(more=(*sentences, *found.more), lines=lines)
    first, *rest = sentences
    more = (*rest, found.verdict, *found.more)
    return found._replace(
        verdict=first, why="", mend="", more=more, lines=lines, odd_calls=told[0].calls
    )


def zeros_found(case: Case, found: Explanation) -> bool:
    """Say whether gradients are all zeros in a recording."""
    return case.recording is not None and found.cause is Cause.ZERO_GRADIENT


def with_shapes(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with shapes that were made to fit, as of a square of differences the
    sum of each row may be 0, and with losses that were given what they are not made for."""
    shapes, domains = [*Forward(case.facts, case.words).spread_out()], [*_domains(case)]
    told = [*shapes, *domains, *linear_in_a_row(case.facts, case.words)]
    if not told:
        return None
    lines = lines_of([call for remark in told for call in remark.calls])
    here = [r for r in (*domains, *shapes) if not {*found.lines}.isdisjoint(lines_of(r.calls))]
    if here:  # the zeros come from there: that is why, and what mends it
        found = found._replace(why=here[0].sentence, mend="")
        told.remove(here[0])
    return found._replace(
        more=(*found.more, *(remark.sentence for remark in told)),
        lines=tuple(dict.fromkeys([*found.lines, *lines])),
    )


def zeros_unexplained(case: Case, found: Explanation) -> bool:
    """Say whether gradients are all zeros in a recording, for a known reason or not."""
    unknown = found.cause is Cause.NOT_KNOWN and found.finding.symptom is Symptom.ZERO
    is_zero = found.cause is Cause.ZERO_GRADIENT or unknown
    return case.recording is not None and is_zero


def with_itself(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, where a value on the way to the loss is compared with itself or
    normalised by itself, is drawn at random, or a cell is given no state, or one step alone is read
    of what a layer kept apart: that is why, and what mends it."""
    told = [
        *_compared_alike(case),
        *norm_of_one(case.facts, case.words),
        *normalized_alone(case.facts, case.words),
        *draws(case.facts, case.words, case.statements),
        *cells_without_state(case),
    ]
    near = _of_these_zeros(found, told) or _rows_apart(case, found)
    if not near:
        return None
    remark = near[0]
    lines = tuple(dict.fromkeys([*found.lines, *lines_of(remark.calls)]))
    return found._replace(why=remark.sentence, mend="", lines=lines)


def _of_these_zeros(found: Explanation, told: Sequence[Remark]) -> list[Remark]:
    """Return those of some remarks that say why gradients are zeros where it is told that they
    are."""
    near = [r for r in told if not {*found.lines}.isdisjoint(lines_of(r.calls))]
    if not near and not found.lines:  # what cancels has no line of its own
        near = [r for r in told if r.key == "taken_from_itself"]
    if found.mend:  # of the zeros that a cell begins with, none can be given others there
        near = [r for r in near if r.key == "cell_without_state"]
    if found.form == "cancels":  # what cancels does so where the gradients meet again
        near = [r for r in told if r.key == "difference_of_alike"] or near
    return near


def _rows_apart(case: Case, found: Explanation) -> list[Remark]:
    """Return what tells of a layer that kept steps apart of which one alone is read."""
    told = [] if found.mend else batch_for_the_steps(case)
    return [r for r in told if r.calls[-1].function == "__getitem__"]


def is_left_out(case: Case, found: Explanation) -> bool:
    """Say whether gradients are missing in a recording, as what was made of it is in no loss."""
    return case.recording is not None and found.cause is Cause.NOT_IN_LOSS


def with_signs(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with a statement that was to add up and keeps the last alone."""
    remark = next(signs_beside_equals(case), None)
    if remark is None:
        return None
    lines = tuple(dict.fromkeys([*found.lines, *lines_of((), remark.statements)]))
    return found._replace(why=remark.sentence, mend="", lines=lines)


def is_never_called(case: Case, found: Explanation) -> bool:
    """Say whether gradients are missing in a recording of a layer that no call used."""
    return case.recording is not None and found.cause is Cause.BRANCH_NOT_TAKEN


def with_layers_again(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with the layers that one forward called several times: one of these
    calls may have been to be of the layer that none used."""
    told = [*layers_again(case.facts, case.words)]
    if not told:
        return None
    places = lines_of((), [place for remark in told for place in remark.statements])
    fixed = case.beside(found, *(remark.sentence for remark in told))
    return fixed._replace(lines=tuple(dict.fromkeys([*found.lines, *places])))


def _remarks(case: Case) -> Iterator[Remark]:
    """Yield all that there is to tell."""
    words = case.words
    stepping = case.statements.methods_beside("step")
    steps = Steps(case.training, words, stepping, at_rate_zero(case), once_at_rate_zero(case))
    trained = {used.leaf for used in steps.used}
    yield from parts_kept_off(case.facts, words, steps)
    yield from parts_of_others(case.facts, words, steps)
    yield from handed_gradient(case.facts, words)
    yield from derived_at_once(case.facts, words)
    yield from mixed_points(case.facts, words)
    yield from complex_derivatives(case.facts, words, case.training)
    yield from only_rounding(case.facts, words)
    yield from climbing(case.facts, words, case.training)
    yield from mixed_reductions(case.facts, words, case.statements)
    yield from mean_of_one(case.facts, words)
    yield from found_out(case.facts, words, steps, _loss_domains(case).values_of)
    yield from slopes(case.facts, words)
    yield from noise_scales(case.facts, words)
    yield from free_draws(case.facts, words)
    yield from exchanged_terms(case.facts, words)
    yield from bounded_scores(case.facts, words)
    yield from summed_probabilities(case.facts, words)
    yield from stale(case.facts, words, case.training)
    yield from undone(case.facts, words, case.training)
    yield from sums_again(case.facts, words)
    yield from weights_compared(case.facts, words, case.training, case.statements)
    yield from sums_of_inputs(case)
    yield from read_while_cleared(case)
    yield from cleared_before_step(steps)
    yield from backward_again(steps)
    yield from uneven_steps(steps)
    yield from counted_means(steps, case.statements, _loss_domains(case).values_of)
    yield from made_anew(case.facts, words, case.training, case.statements)
    yield from steps.remarks()
    yield from Code(case.facts, words, case.statements, _weightless(case)).remarks()
    yield from arguments(case)
    yield from replaced_arguments(case)
    yield from left_at_once(case)
    yield from functions_left_out(case)
    yield from never_followed(case)
    yield from written_otherwise(case)
    yield from scaled_steps(case, steps)
    yield from used_up(words, case.statements)
    yield from beside_the_optimizer(case)
    yield from schedules_elsewhere(case)
    yield from hooks_in_vain(case.facts, words, case.statements)
    yield from hooks_of_parameters(case)
    yield from shared_groups(case)
    yield from overwritten_in_a_loop(case.facts, words)
    yield from kept_nowhere(case.facts, words)
    yield from remade_predictions(case.facts, words)
    yield from _domains(case)
    yield from _learned_weights(case)
    yield from untied(case)
    yield from untied_again(case)
    yield from symmetric(case)
    yield from nothing_loaded(case)
    yield from not_saved(case)
    yield from class_left_out(case, _loss_domains(case).values_of)
    yield from out_of_reach(case.facts, words, _loss_domains(case).values_of)
    yield from layers_again(case.facts, words)
    yield from unscored(case.facts, words)
    yield from flattened_apart(case.facts, words)
    yield from shuffled_apart(case.facts, words, case.statements)
    yield from filled_backwards(words, case.statements)
    yield from attention(case.facts, words)
    yield from turned_masks(case.facts, words)
    yield from overlaps(case.facts, words)
    yield from same_memory(case.facts, words, case.training, case.statements)
    yield from flat_at_inputs(case.facts, words, _loss_domains(case).values_of)
    yield from one_in_a_list(case)
    yield from listed_twice(case)
    yield from unregistered(case)
    yield from in_no_optimizer(case)
    yield from wrapped_values(case)
    yield from module_use(case)
    yield from batch_for_the_steps(case)
    yield from last_of_padding(case, _loss_domains(case).values_of)
    live = case.live_state
    parts = live.parts()
    yield from hooks_of_modules(live.facts, words, parts, live.object_of, case.statements)
    known = list(live.parts_known())
    yield from hooks_of_another(live.facts, words, known, live.object_of, case.statements)
    yield from Forward(case.facts, words).remarks()
    yield from spread_predictions(case.facts, words)
    yield from spread_statistics(case.facts, words)
    yield from learning_targets(case.facts, words, trained)
    yield from weights_that_learn(case.facts, words)
    yield from _compared_alike(case)
    yield from norm_of_one(case.facts, words)
    yield from normalized_alone(case.facts, words)
    yield from masked_too_late(case.facts, words)
    yield from inverted_masks(case)
    yield from similar_to_itself(case.facts, words)
    yield from own_targets(case.facts, words, _loss_domains(case).are_equal)
    yield from drifting(case.facts, words)
    yield from draws(case.facts, words, case.statements)
    yield from layer_settings(case)
    yield from linear_in_a_row(case.facts, words)
    yield from Copies(case.facts, words, trained).remarks()
    yield from started_with_itself(case.facts, words)
    yield from rows_left_out(case)
    yield from random_buffers(case)
    yield from frozen_beside(case)
    yield from froze_nothing(case)
    yield from patterns_in_vain(case)
    yield from flags_of_copies(case)
    yield from flags_not_kept(case)
    yield from kept_again(case)
    yield from states_dropped(case)
    yield from cells_without_state(case)
    yield from eval_undone(case)
    yield from eval_of_a_part(case)
    yield from eval_freezes_nothing(case)
    yield from statistics_of_frozen(case)
    yield from moved_beside_zeros(case)
    yield from entries_held(case)
    yield from frozen_scaled(case)
    yield from rates(case)
    yield from still_at_first(case)
    yield from settings(case)
    yield from small_steps(case)
    yield from loss_values(case)
    yield from pace(case)
    yield from falling(case)
    yield from own_backwards(case.facts, words, case.statements)
    yield from Values(case.graph, words, case.statements, trained).remarks()


def _learned_weights(case: Case) -> Iterator[Remark]:
    """Yield the weights of losses that are learnt; none where an optimizer climbs."""
    groups = [group for one in case.known_optimizers for group in one.param_groups]
    if not any(group.get("maximize") for group in groups):
        yield from learned_weights(case.facts, case.words, case.training)


def _weightless(case: Case) -> set[str]:
    """Return the classes of the layers that hold nothing to train."""
    parts = (part for _, part in case.live_state.parts())
    return {type(part).__name__ for part in parts if not parameters(part)}


def _domains(case: Case) -> Iterator[Remark]:
    """Yield the losses that were given what they are not made for."""
    return _loss_domains(case).remarks()


def _compared_alike(case: Case) -> Iterator[Remark]:
    """Yield the values that are compared with themselves."""
    differ = _loss_domains(case).are_known_to_differ
    return compared_alike(case.facts, case.words, case.statements, differ)


def _loss_domains(case: Case) -> LossDomains:
    """Return the losses of a recording, and what they were given."""
    assert case.recording is not None
    return LossDomains(case.recording, case.facts, case.words)


def _wanted(case: Case) -> frozenset[int]:
    """Return the objects that were asked about in particular."""
    if not case.in_particular:
        return frozenset()
    return frozenset(case.graph.tensor[i].object_id for i in case.target_ids)
