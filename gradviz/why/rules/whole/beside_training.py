"""What stands in a recording of a training beside gradients that are there: told before them, since
nobody can know whether it is meant."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call, ModuleCall, Source
from gradviz.graph.training import Did
from gradviz.why.code.modes import eval_undone_before
from gradviz.why.rules.errors.failure import call_at
from gradviz.why.rules.many import pattern
from gradviz.why.shown.explanation import Explanation, lines_of
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

# functions of layers that drop values in train mode
_DROPS = frozenset(
    "dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout".split()
)

# --- values that were put into a parameter --------------------------------------------------------


def with_replaced_values(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with the parameters whose ``.data`` got other values after a call
    had used them, and that no step moved by a gradient since: then training went on from there."""
    words, tensor = case.words, case.graph.tensor
    wanted = {tensor[i].object_id for i in case.target_ids} & case.facts.leaves_sent_to
    names = dict[Call, list[str]]()
    for event in case.facts.writes:
        call, after = case.graph.call[event.call_id], tensor[event.after_id]
        is_set = call.function == "data" and not call.outputs and not call.bookkeeping
        if event.alias or not is_set or after.object_id not in wanted:
            continue
        if _was_used_at_last(case, after.object_id, call):
            names.setdefault(call, []).append(words.name(after.id))
    last = {tuple(alike): words.where(call) for call, alike in names.items()}
    lines = [
        say("losses.replaced_values", names=pattern(list(alike)), place=place)
        for alike, place in last.items()
    ]
    return case.beside(found, *lines) if lines else None


def _was_used_at_last(case: Case, leaf: int, call: Call) -> bool:
    """Say whether calls used a leaf before another call, and no step moved it by a gradient
    since."""
    piles = case.training.sums_used.get(leaf, ())
    used = any(c.id < call.id for c in case.facts.readers.get(leaf, ()))
    return used and not any(pile.step.call.id > call.id for pile in piles)


# --- a step that comes too early ------------------------------------------------------------------


def with_step_before(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with a step that stands before the only backward, so that none used
    its gradient."""
    step, backward = _only_step(case), _only_backward(case)
    if step is None or backward is None or backward.source is None:
        return None
    source = backward.source
    if step.file != source.file or step.line >= source.line:  # one line may have both in any order
        return None
    where = case.words.where
    return case.beside(
        found,
        say(
            "losses.step_before",
            step=step.code,
            place=where(call_at(step)),
            backward=where(backward),
        ),
    )


def _only_step(case: Case) -> Source | None:
    """Return the one statement that steps a known optimizer."""
    optimizers = case.known_optimizers
    names = {case.called.get(id(o)) for o in optimizers}
    steps = [
        place
        for place, call in case.statements.calls("step")
        if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) in names
    ]
    return steps[0] if len(steps) == 1 and len(optimizers) == 1 else None


def _only_backward(case: Case) -> Call | None:
    """Return the one backward of a recording, where it filled what the optimizer holds and no step
    used any of it."""
    moments = case.training.moments
    held = set().union(*case.held_objects)
    every = [m for leaf in held for m in moments.get(leaf, ())]
    calls = {m.call.id: m.call for m in every if m.did is Did.ADDED}
    is_used = any(m.did is not Did.ADDED for m in every)
    return next(iter(calls.values())) if len(calls) == 1 and not is_used else None


# --- dropout in an evaluation ---------------------------------------------------------------------


class Drop(NamedTuple):
    """A call of a dropout in train mode. ``model`` is what ran, ``layer`` its name with that of the
    model, and ``source`` where the model was called."""

    call: Call
    model: str
    layer: str
    source: Source | None


def with_dropout_kept(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with the forwards of a model that is trained that ran where nothing
    is recorded, whose results go into no loss, and in which dropout dropped values; and the
    ``train()`` that undid an ``eval()`` before it."""
    drops = list(_drops(case))
    last = {drop.model: drop for drop in drops}
    lines, statements = list[str](), list[Source]()
    for model, drop in last.items():
        layers = list(dict.fromkeys(d.layer for d in drops if d.model == model))
        undone = eval_undone_before(case.statements, drop.call.source)
        place = case.words.line_of(drop.source) if drop.source else case.words.where(drop.call)
        fields = {"module": model, "layers": layers, "place": place}
        if undone is None:
            lines.append(say("losses.dropout_kept", **fields))
            continue
        fields |= {
            "train": case.words.source(undone.training),
            "evaluation": case.words.source(undone.evaluation),
            "code": undone.training.code or "",
        }
        lines.append(say("losses.dropout_kept_undone", **fields))
        statements += undone
    if not lines:
        return None
    told = case.beside(found, *lines)
    places = (*told.lines, *lines_of((), statements))
    return told._replace(lines=tuple(dict.fromkeys(places)))


def _drops(case: Case) -> Iterator[Drop]:
    """Yield the dropouts of such forwards; where one was given the same data more than once, how
    far its results differ is what is wanted."""
    facts = case.facts
    unused = _unused_drops(facts)
    given = Counter(_given(facts, call, outer) for call, _, outer in unused)
    modules = case.live_state.modules.values() if unused else ()
    dropping = {
        (path, type(part).__name__)
        for module in modules
        for path, part in module.named_modules()
        if getattr(part, "p", 0)
    }
    root_of = {root.id: root.name for root in case.graph.modules}
    for call, inner, outer in unused:
        model = root_of.get(outer.module_id, outer.kind)
        layer = ".".join(filter(None, (model, inner.path)))
        drops = inner.training and outer.training and (inner.path, inner.kind) in dropping
        if drops and given[_given(facts, call, outer)] == 1:
            yield Drop(call, model, layer, outer.source)


def _unused_drops(facts: Facts) -> list[tuple[Call, ModuleCall, ModuleCall]]:
    """Return the calls of dropouts in models that are trained where nothing is recorded, and whose
    results go into no loss, each with the call of its layer and the outermost one."""
    behind = facts.in_losses
    calls = [
        (call, facts.module_call[call.module_call], outer)
        for call in facts.ordinary_calls
        if call.function in _DROPS and call.module_call is not None
        if (outer := facts.outermost_module_call(call)) is not None
    ]
    trained = {outer.module_id for call, _, outer in calls if not behind.isdisjoint(call.outputs)}
    return [
        (call, inner, outer)
        for call, inner, outer in calls
        if behind.isdisjoint(call.outputs) and not call.grad_mode and outer.module_id in trained
    ]


def _given(facts: Facts, call: Call, outer: ModuleCall) -> tuple[str | None, frozenset[int]]:
    """Return of a call in a module which layer that is, and what the outermost one was given."""
    inside = facts.calls_in_module[outer.id]
    made = {i for c in inside for i in c.outputs}
    given = {i for c in inside for i in c.inputs} - made
    return call.module, frozenset(i for i in given if not facts.graph.tensor[i].requires_grad)
