"""Gradients that are cleared before a step could use them."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Source
from gradviz.graph.training import Did, Moment, Training, line_of
from gradviz.names.frames import stands_above
from gradviz.names.position import callee_of, locate
from gradviz.why.question.subjects import held_by
from gradviz.why.rules.silent.silent import Silent, lines_once
from gradviz.why.shown.explanation import Explanation


def cleared_unused(asked: Silent) -> Explanation | None:
    """Tell of backwards whose gradients were cleared, of which a step used the last one alone: they
    were to be accumulated."""
    training, mine = asked.training, asked.leaves
    if training.has_scaler or any(_is_broken(asked, i) for i in asked.facts.losses):
        return None  # steps were left out for that reason
    every = [wasted for leaf in mine for wasted in _wasted_of(asked, leaf)]
    apart = dict[Any, Wasted]()
    for wasted in sorted(every, key=lambda one: one.clear.id):
        apart.setdefault(line_of(wasted.clear), wasted)
    found = [w for w in apart.values() if not _is_given_closure(asked, w.step)]
    return _cleared(asked, mine, found) if found else None


class Wasted(NamedTuple):
    """Backwards of one line before a step that used the last one of them alone.

    Attributes:
        row: they, in their order.
        clear: the call that cleared what the last but one had brought.
        step: the one that followed.
    """

    row: list[Call]
    clear: Call
    step: Call


def _wasted_of(asked: Silent, leaf: int) -> list[Wasted]:
    """Return the backwards that were of no use before steps of a leaf, where that is so of half of
    its steps: a check before the loop is cleared, too, and is to be."""
    every = asked.training.moments[leaf]
    found = list(_wasted_before_steps(asked, every))
    steps = sum(moment.did is Did.STEPPED for moment in every)
    return found if 2 * len(found) >= steps else []


def _wasted_before_steps(asked: Silent, every: Sequence[Moment]) -> Iterator[Wasted]:
    """Find, step by step of a leaf, the backwards that were of no use before it."""
    since = list[Moment]()
    for moment in every:
        if moment.did is not Did.STEPPED:
            since.append(moment)
            continue
        row = _thrown_away(asked.training, [m for m in since if m.did is Did.ADDED])
        after = [m.call for m in since if m.did is Did.CLEARED and row and m.call.id > row[-2].id]
        if after:
            yield Wasted(row, after[0], moment.call)
        since = []


def _thrown_away(training: Training, added: Sequence[Moment]) -> list[Call]:
    """Return the backwards of the line of the last one before a step, where all but this one were
    of no use."""
    unused = training.unused
    if not added or added[-1].run in unused:
        return []
    *before, last = [m for m in added if line_of(m.call) == line_of(added[-1].call)]
    are_unused = bool(before) and all(m.run in unused for m in before)
    return [m.call for m in (*before, last)] if are_unused else []


def _cleared(asked: Silent, mine: Sequence[int], found: Sequence[Wasted]) -> Explanation:
    """Tell of the calls that cleared what was to be accumulated."""
    return asked.answer(
        Cause.CLEARED_TOO_OFTEN,
        "before_step",
        calls=lines_once([found[0].clear, found[0].row[-1], *(w.clear for w in found[1:])]),
        tensors=asked.states_of(mine),
        backwards=len(found[0].row),
        clears=[asked.words.code(w.clear) for w in found],
        steps=[asked.words.code(w.step) for w in found],
    )


def never_stepped(asked: Silent) -> Explanation | None:
    """Tell of backwards in a loop, whose gradients were each cleared, and that no step used, though
    an optimizer has the parameters."""
    training, found = asked.training, _each_cleared(asked)
    if not found or _steps_with_a_closure(asked):
        return None
    row = next(iter(found.values()))
    clear = training.unused[row[-1].run or 0]
    left = _step_not_run(asked)
    if left is not None:
        return _told_not_run(asked, left, found)
    if (another := _stepped_another(asked, row[-1].call, found)) is not None:
        return another
    if (scheduled := _only_scheduled(asked)) is not None:
        return asked.answer(
            Cause.CLEARED_TOO_OFTEN,
            "only_scheduled",
            statements=[scheduled],
            calls=lines_once([row[-1].call]),
            tensors=asked.states_of(found),
            names=asked.names_of(found),
            backwards=len(row),
            other=scheduled.code,
            optimizers=_holders(asked, found),
        )
    return asked.answer(
        Cause.CLEARED_TOO_OFTEN,
        "never_stepped",
        calls=lines_once([row[-1].call, clear]),
        tensors=asked.states_of(found),
        names=asked.names_of(found),
        backwards=len(row),
        clear=asked.words.code(clear),
    )


def _each_cleared(asked: Silent) -> dict[int, list[Moment]]:
    """Return the backwards of a loop, by leaf, whose gradients were each cleared, and that no step
    used, though an optimizer has the leaf."""
    training = asked.training
    held = {asked.object_of(p) for p in held_by(asked.named_optimizers.values()).values()}
    found = dict[int, list[Moment]]()
    for leaf in asked.leaves:
        every = training.moments[leaf]
        unused = [m for m in every if m.did is Did.ADDED and m.run in training.unused]
        if leaf in held and Did.STEPPED not in {m.did for m in every} and _in_a_loop(unused):
            found[leaf] = unused
    return found


def _stepped_another(
    asked: Silent, backward: Call, found: Mapping[int, Sequence[Moment]]
) -> Explanation | None:
    """Tell of a step below a backward that moved others than what that had sent gradients to: it
    is that of another optimizer."""
    stepped = [
        (m.call, leaf)
        for leaf, every in asked.training.moments.items()
        for m in every
        if m.did is Did.STEPPED and m.call.id > backward.id and stands_above(backward, m.call)
    ]
    step = min((call for call, _ in stepped), key=lambda call: call.id, default=None)
    if step is None:
        return None
    own = _holders(asked, found)
    others = _holders(asked, [leaf for call, leaf in stepped if _alike(call, step)])
    if len(own) != 1 or len(others) != 1 or own == others:
        return None
    if asked.words.code(step).startswith(f"{others[0]}."):
        return None  # it is called what it is: the step of the other one is missing
    return asked.answer(
        Cause.CLEARED_TOO_OFTEN,
        "stepped_another",
        calls=lines_once([step, backward]),
        tensors=asked.states_of(found),
        names=asked.names_of(found),
        step=asked.words.code(step),
        own=own[0],
        other=others[0],
    )


def _holders(asked: Silent, leaves: Iterable[int]) -> list[str]:
    """Return the names of the optimizers that hold all of some leaves."""
    held = {
        name: {asked.object_of(p) for p in held_by([optimizer]).values()}
        for name, optimizer in asked.named_optimizers.items()
    }
    return [name for name, objects in held.items() if objects.issuperset(leaves)]


def step_not_reached(asked: Silent) -> Explanation | None:
    """Tell of backwards in a loop whose gradients were neither cleared nor used: the one step that
    the code has stands under a condition that was never met."""
    training, left = asked.training, _step_not_run(asked)
    held = {asked.object_of(p) for p in held_by(asked.named_optimizers.values()).values()}
    found = dict[int, list[Moment]]()
    for leaf in asked.leaves:
        every = training.moments[leaf]
        added = [m for m in every if m.did is Did.ADDED]
        waits = {m.did for m in every} <= {Did.ADDED, Did.CHANGED}
        if leaf in held and waits and _in_a_loop(added):
            found[leaf] = added
    if left is None or left.other is not None or not found:
        return None
    row = next(iter(found.values()))
    return asked.answer(
        Cause.NOT_MOVED,
        "step_at_no_remainder" if left.is_remainder else "step_not_reached",
        calls=lines_once([row[-1].call]),
        statements=[left.at, left.step],
        tensors=asked.states_of(found),
        names=asked.names_of(found),
        backwards=len(row),
        step=left.step.code,
        condition=left.condition,
    )


def _told_not_run(
    asked: Silent, left: NotRun, found: Mapping[int, Sequence[Moment]]
) -> Explanation:
    """Tell of a step that was not run, and what ran in its place."""
    return asked.answer(
        Cause.CLEARED_TOO_OFTEN,
        "other_stepped" if left.other else "step_not_run",
        statements=[place for place in (left.other, left.step) if place is not None],
        tensors=asked.states_of(found),
        names=asked.names_of(found),
        backwards=len(next(iter(found.values()))),
        step=left.step.code,
        other=left.other.code if left.other else "",
        condition=left.condition,
    )


def _only_scheduled(asked: Silent) -> Source | None:
    """Return the step of a scheduler, where the code steps nothing but schedulers."""
    made = (node for _, node in asked.statements.nodes(ast.Assign) if _makes_scheduler(node))
    names = {callee_of(target) for node in made for target in node.targets}
    steps = [*asked.statements.calls("step")]
    scheduled = [place for place, call in steps if _last(call.func) in names]
    return scheduled[0] if scheduled and len(scheduled) == len(steps) else None


def _makes_scheduler(node: ast.Assign) -> bool:
    """Say whether a statement gives a name to a new scheduler of torch's."""
    made = callee_of(node.value.func) if isinstance(node.value, ast.Call) else None
    kind = vars(torch.optim.lr_scheduler).get(made) if made is not None else None
    # in older versions of torch the second is none of the first
    kinds = torch.optim.lr_scheduler.LRScheduler, torch.optim.lr_scheduler.ReduceLROnPlateau
    return isinstance(kind, type) and issubclass(kind, kinds)


class NotRun(NamedTuple):
    """The one step of an optimizer that the code has, in a branch that was not taken.

    Attributes:
        step: where it stands.
        condition: that of the branch.
        at: where that stands.
        is_remainder: whether it is a mere remainder, and so false where that is 0.
        other: where a scheduler is stepped in the other branch, if it is.
    """

    step: Source
    condition: str
    at: Source
    is_remainder: bool
    other: Source | None


def _step_not_run(asked: Silent) -> NotRun | None:
    """Return the step that was not run, where the code has one that stands in a branch."""
    kinds = torch.optim.Optimizer
    names = {n.rpartition(".")[2] for n, o in asked.known.items() if isinstance(o, kinds)}
    steps = [*asked.statements.calls("step")]
    own = [(place, call) for place, call in steps if _last(call.func) in names]
    branch = _branch_around(own[0][1]) if len(own) == 1 else None
    if branch is None:
        return None
    ((place, call),) = own
    others = [p for p, c in steps if _is_on_the_other_side(branch, call, c)]
    test = branch.test
    condition = f"if {ast.unparse(test)}"
    return NotRun(
        place,
        condition,
        place._replace(line=branch.lineno, code=condition),
        isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod),
        others[0] if len(others) == 1 else None,
    )


def _is_on_the_other_side(branch: ast.If, call: ast.AST, other: ast.AST) -> bool:
    """Say whether a call stands in the other side of a branch than the first one."""
    sides = [{id(n) for p in side for n in ast.walk(p)} for side in (branch.body, branch.orelse)]
    return any(id(other) in side and id(call) not in side for side in sides)


def _branch_around(node: Any) -> ast.If | None:
    """Return the innermost condition of the same function around a node."""
    while node is not None and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        if isinstance(node, ast.If):
            return node
        node = getattr(node, "parent", None)
    return None


def step_left_out(asked: Silent) -> Explanation | None:
    """Tell of an optimizer that the code clears and never steps, while it steps another one, and
    that holds what a backward sent gradients to."""
    optimizers = asked.named_optimizers
    stepped = _stepped_in_code(asked, optimizers)
    clearing = {_last(call.func) for _, call in asked.statements.calls("zero_grad")}
    for name, optimizer in optimizers.items():
        own = name.rpartition(".")[2]
        leaves = [i for p in held_by([optimizer]).values() if (i := asked.object_of(p)) is not None]
        last = sent_in_vain(asked, leaves)
        if not stepped or own in stepped or own not in clearing or last is None:
            continue
        return asked.answer(
            Cause.NOT_MOVED,
            "step_left_out",
            calls=[last],
            tensors=asked.states_of(leaves),
            optimizer=name,
            names=asked.names_of(leaves),
            loss=asked.words.name(last.inputs[0]) if last.inputs else "",
            stepped=[n for n in optimizers if n.rpartition(".")[2] in stepped],
            backward=asked.words.at(last),
        )
    return None


def _stepped_in_code(asked: Silent, optimizers: Mapping[str, Any]) -> set[str]:
    """Return the variables and attributes whose ``step`` the code calls, or that it hands to one,
    where optimizers are among them; none where the variable of a loop is, which may be any."""
    stepping = [call for _, call in asked.statements.calls("step")]
    owners = {_last(call.func) for call in stepping}
    known = {name.rpartition(".")[2] for name in optimizers}
    if asked.training.has_scaler or not owners & known or _of_loops(asked) & owners:
        return set()
    return owners | {callee_of(a) or "" for call in stepping for a in call.args}


def sent_in_vain(asked: Silent, leaves: Sequence[int]) -> Call | None:
    """Return the last of several backwards that sent gradients to some leaves, of which no step
    moved any: of one alone the rest may stand elsewhere."""
    every = [m for i in leaves for m in asked.training.moments.get(i, ())]
    added = {m.run: m.call for m in every if m.did is Did.ADDED}
    in_line = Counter(map(line_of, added.values()))
    again = [call for call in added.values() if in_line[line_of(call)] > 1]
    if any(m.did is Did.STEPPED for m in every):
        return None
    return max(again, key=lambda call: call.id, default=None)


def _alike(one: Call, other: Call) -> bool:
    """Say whether two calls stand in one line."""
    return line_of(one) == line_of(other)


def _last(function: ast.expr) -> str:
    """Return the variable or attribute whose method is called."""
    return callee_of(function.value) or "" if isinstance(function, ast.Attribute) else ""


def _of_loops(asked: Silent) -> set[str]:
    """Return the variables of loops: each may be any optimizer."""
    loops = asked.statements.nodes((ast.For, ast.comprehension))
    return {n.id for _, loop in loops for n in ast.walk(loop.target) if isinstance(n, ast.Name)}


def _in_a_loop(added: Sequence[Moment]) -> bool:
    """Say whether several backwards of one line added to a gradient."""
    return len(added) > 1 and len({line_of(m.call) for m in added}) == 1


def _is_given_closure(asked: Silent, step: Call) -> bool:
    """Say whether something is passed to a step: a closure runs backward as often as it likes."""
    site = asked.recording.sites().get(step.id, ()) if asked.recording is not None else ()
    node = locate(*site[:2]).node if site else None
    return isinstance(node, ast.Call) and bool(node.args or node.keywords)


def _steps_with_a_closure(asked: Silent) -> bool:
    """Say whether a step is given a function of the code, which runs backward: the optimizer may
    find that nothing is left to do."""
    functions = {node.name for _, node in asked.statements.nodes(ast.FunctionDef)}
    given = (call.args[0] for _, call in asked.statements.calls("step") if call.args)
    return any(
        isinstance(one, ast.Lambda) or (isinstance(one, ast.Name) and one.id in functions)
        for one in given
    )


def _is_broken(asked: Silent, tensor_id: int) -> bool:
    """Say whether a loss is seen to be NaN or infinite."""
    values = asked.graph.tensor[tensor_id].values or ""
    return "nan" in values or "inf" in values
