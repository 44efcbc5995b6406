"""Networks that a loss is to leave alone: targets and teachers, what another optimizer trains, and
what rests."""

from __future__ import annotations

import ast
import re
from itertools import permutations
from typing import Any

import torch

from gradviz.graph.copies import copied
from gradviz.graph.findings import Cause, Level
from gradviz.graph.records import CutReason
from gradviz.watch.identity import named_parameters, parameters
from gradviz.why.evidence.paths import Asked
from gradviz.why.question.subjects import held_by
from gradviz.why.rules.gradients.gradient import Gradients
from gradviz.why.rules.gradients.kept_off import kept_and_trained
from gradviz.why.rules.many import IN_TURN, Told
from gradviz.why.rules.whole.losses import WRITTEN, Losses
from gradviz.why.shown.explanation import Explanation

# that a loss does not lead to a leaf
_OF_NO_WAY = {Cause.NOT_IN_LOSS, Cause.BRANCH_NOT_TAKEN, Cause.NO_BACKWARD_YET}


def without_targets(case: Losses, told: Told, gradients: Gradients) -> Told:
    """Return answers without those about a target or teacher: a network built like one that is
    trained, all of which the user's own detach() or no_grad keeps off, and that no optimizer
    holds. Where none is known, that is told as what may be meant."""
    held = {case.ids.get(i) for i in held_by(case.known_optimizers)}
    for target, trained in permutations(case.titled, 2):
        ids = ids_of(case, case.titled[target])
        if held.intersection(ids) or not is_target(case, target, trained, told):
            continue
        rest = [(a, e) for a, e in told if a.tensor_id not in ids]
        own = [(a, e) for a, e in told if a.tensor_id in ids and not held]
        told = [*rest, *((a, as_target(a, e, trained, gradients)) for a, e in own)]
    return told


def without_copied(case: Losses, told: Told, gradients: Gradients) -> Told:
    """Return answers without those about parameters that the user's own detach() or no_grad keeps
    off, and into which the code writes the values of others, which steps move: a target network,
    whoever holds it. Of those that were asked about in particular only what was written onto itself
    is told in another way: as what it is, beside what is odd about it."""
    targets = _written_targets(case) if case.recording is not None else set()
    rest, own = list[Any](), list[Any]()
    for a, e in told:
        state = case.graph.tensor.get(a.tensor_id)
        is_target = state is not None and state.object_id in targets and _is_kept_off(e)
        (own if is_target else rest).append((a, e))
    if case.in_particular:
        return [*rest, *((a, as_copied(a, e, gradients)) for a, e in own)]
    return rest if any(e.cause.level is Level.FINE for _, e in rest) else told


def _is_kept_off(found: Explanation) -> bool:
    """Say whether an answer is about cuts that somebody wrote in order to cut, or that the copying
    itself makes: ``w.data = 0.9 * w.data + …``."""
    reasons = {c.reason for c in found.cuts}
    return bool(reasons & WRITTEN) and reasons <= WRITTEN | {CutReason.DATA}


def _written_targets(case: Losses) -> set[int]:
    """Return the parameters into which the code writes the values of what steps move, and that no
    step moves; of those asked about in particular the ones that were written onto themselves."""
    moved = {leaf for leaf, used in case.training.sums_used.items() if used}
    every = copied(case.facts)
    found = {c.into for c in every if c.sources - {c.into} and c.sources - {c.into} <= moved}
    if case.in_particular:
        found &= {c.into for c in every if c.is_whole and c.sources == {c.into}}
    return found - moved


def as_copied(asked: Asked, found: Explanation, gradients: Gradients) -> Explanation:
    """Tell of a parameter that a cut keeps from the loss, and that gets its values by copying."""
    return gradients.answer(
        asked,
        Cause.HEALTHY,
        "copied_into",
        loss=found.finding.loss,
        calls=found.finding.calls,
        cuts=found.cuts,
        cutter=found.finding.fields["cutter"],
        checked=("frozen", "never_tracked"),
    )


def without_results(case: Losses, told: Told, gradients: Gradients) -> Told:
    """Return answers without those that a result keeps no gradient, where leaves were asked about
    besides that have theirs, and the program read no ``.grad`` of a result: nobody misses that.
    Where only results are asked about of a program that trains, each is told as what it is."""
    if case.recording is None:
        return told
    read = {id(t) for t, look in case.recording.looked_at() if look.attribute == "grad"}
    ids = {case.ids.get(i) for i in read | case.sure_grads}
    if any(_is_leaf_with_gradient(a, e) for a, e in told):
        return [(a, e) for a, e in told if e.cause is not Cause.NON_LEAF or a.tensor_id in ids]
    if not any(case.training.sums_used.values()):
        return told
    return [
        (a, _as_passing_on(a, e, gradients))
        if (e.cause, e.form) == (Cause.NON_LEAF, "result") and a.tensor_id not in ids
        else (a, e)
        for a, e in told
    ]


def _as_passing_on(asked: Asked, found: Explanation, gradients: Gradients) -> Explanation:
    """Tell of a result whose .grad nobody read that gradients go on from it."""
    return gradients.answer(
        asked,
        Cause.HEALTHY,
        "passes_on",
        calls=found.finding.calls,
        checked=("cut", "never_tracked"),
        leaves=found.finding.fields["leaves"],
    )


def without_returned(case: Losses, told: Told) -> Told:
    """Return answers without those that a loss does not reach a leaf whose gradient autograd.grad
    gave to the program, where nothing is asked in particular and others have theirs: that is what
    an inner loop adapts, or an attack moves."""
    objects = case.facts.differentiated_by
    if case.in_particular or not any(_is_leaf_with_gradient(a, e) for a, e in told):
        return told
    return [(a, e) for a, e in told if e.cause not in _OF_NO_WAY or not _is_of(case, a, objects)]


def _is_of(case: Losses, asked: Asked, objects: set[int]) -> bool:
    """Say whether a tensor that is asked about is one of some objects."""
    state = case.graph.tensor.get(asked.tensor_id)
    return state is not None and state.object_id in objects


def _is_leaf_with_gradient(asked: Asked, found: Explanation) -> bool:
    """Say whether an answer is that a leaf has its gradient."""
    return asked.is_leaf and asked.grad != "none" and found.cause.level is Level.FINE


def trained_apart(case: Losses, told: Told, gradients: Gradients) -> Told:
    """Return answers, those of parameters as healthy that a cut keeps off this loss, and that
    have an optimizer which holds nothing that this loss trains: a generator's, where the
    discriminator's loss is asked about. Where no tensor is asked about, also those that steps move
    with another loss, while steps use this one too: each has what it is to learn from."""
    reached = {a.tensor_id for a, _ in told if gradients.reaches(a)}
    apart = _held_apart(case, reached) if reached else set()
    if not case.asks_for_tensors and _trains_something(gradients):
        apart |= {a.tensor_id for a, _ in told if gradients.is_moved(a)}
    kept = [
        (a, kept_and_trained(gradients, a, e))
        if e.form == "kept_from" and a.tensor_id in apart
        else (a, e)
        for a, e in told
    ]
    return kept if case.in_particular or not reached else at_rest(case, kept, gradients)


def _held_apart(case: Losses, reached: set[int | None]) -> set[int | None]:
    """Return what optimizers hold of which nothing is reached."""
    optimizers = [{case.ids.get(i) for i in held_by([o])} for o in case.known_optimizers]
    return set[int | None]().union(*(held for held in optimizers if not held & reached))


def _trains_something(gradients: Gradients) -> bool:
    """Say whether a step used what a backward of these losses brought."""
    runs = (b.run for b in gradients.graph.backwards if not gradients.roots.isdisjoint(b.roots))
    return not gradients.training.step_using.keys().isdisjoint(runs)


def in_turn(told: Told, gradients: Gradients) -> Told:
    """Return answers, those of parameters as healthy that no call used, where others in their place
    were used by one iteration and not by the next: of several ways each iteration takes one."""
    changing = {_place_of(a.name) for a, e in told if e.form in IN_TURN}
    return [
        (a, gradients.answer(a, Cause.HEALTHY, "alternative", checked=("frozen",)))
        if e.cause is Cause.BRANCH_NOT_TAKEN and _place_of(a.name) in changing
        else (a, e)
        for a, e in told
    ]


def _place_of(name: str) -> str:
    """Return the name of a parameter without the numbers of the modules that it is in."""
    return re.sub(r"\d+", "#", name)


def at_rest(case: Losses, told: Told, gradients: Gradients) -> Told:
    """Return answers, those of parameters as what may be meant that the user's own detach() or
    no_grad keeps off, where the optimizers that hold them are not stepped by this code: one of
    two networks rests while the other is trained."""
    resting = set[int | None]()
    for optimizer in case.known_optimizers:
        if not is_stepped(case, optimizer):
            resting |= {case.ids.get(i) for i in held_by([optimizer])}
    return [
        (a, as_resting(a, e, gradients))
        if a.tensor_id in resting and e.cause is Cause.CUT and is_meant_cut(e)
        else (a, e)
        for a, e in told
    ]


def is_stepped(case: Losses, optimizer: Any) -> bool:
    """Say whether the code that ran may step an optimizer: its text has such a call of that
    name, or of one that is not known to be another's."""
    name = case.called.get(id(optimizer), "")
    others = {case.called.get(id(o), "") for o in case.known_optimizers if o is not optimizer}
    owners = {
        ast.unparse(call.func.value)
        for _, call in case.statements.calls("step")
        if isinstance(call.func, ast.Attribute)
    }
    return not name or not owners or bool(owners - others)


def is_target(case: Losses, target: str, trained: str, told: Told) -> bool:
    """Say whether all of one module is cut off, and another that is built alike is not."""
    by_id = {a.tensor_id: e for a, e in told}
    off, alike = (
        [by_id[i] for i in ids_of(case, case.titled[name]) if i in by_id]
        for name in (target, trained)
    )
    is_off = bool(off) and all(e.cause is Cause.CUT and is_meant_cut(e) for e in off)
    is_fine = any(e.cause.level is Level.FINE for e in alike)
    return is_off and is_fine and built_alike(case.titled[target], case.titled[trained])


def ids_of(case: Losses, module: torch.nn.Module) -> list[int]:
    """Return the parameters of a module in the graph."""
    found = (case.ids.get(id(p)) for p in parameters(module))
    return [i for i in found if i is not None]


def is_meant_cut(found: Explanation) -> bool:
    """Say whether an answer is about cuts that somebody wrote in order to cut."""
    return bool(found.cuts) and {c.reason for c in found.cuts} <= WRITTEN


def as_target(asked: Asked, found: Explanation, trained: str, gradients: Gradients) -> Explanation:
    """Tell of a parameter that a cut keeps from the loss, as that of a target."""
    return gradients.answer(
        asked,
        Cause.KEPT_OFF,
        "like_target",
        loss=found.finding.loss,
        calls=found.finding.calls,
        cuts=found.cuts,
        cutter=found.finding.fields["cutter"],
        trained=trained,
        mend=found.mend,
    )


def as_resting(asked: Asked, found: Explanation, gradients: Gradients) -> Explanation:
    """Tell of a parameter that a cut keeps from the loss, and whose optimizer is not stepped."""
    return gradients.answer(
        asked,
        Cause.KEPT_OFF,
        "resting",
        loss=found.finding.loss,
        calls=found.finding.calls,
        cuts=found.cuts,
        cutter=found.finding.fields["cutter"],
        mend=found.mend,
    )


def built_alike(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    """Say whether two modules have the same parameters by name and shape, each its own."""
    first, second = ({n: p.shape for n, p in named_parameters(m)} for m in (one, other))
    apart = {id(p) for p in parameters(one)}.isdisjoint(id(p) for p in parameters(other))
    return first == second and apart
