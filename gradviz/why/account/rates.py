"""Settings of optimizers by which hardly anything is learnt: a learning rate near 0, also one that
a schedule made so, and a weight decay that takes the weights away."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch

from gradviz.graph.preview import number
from gradviz.graph.records import Source
from gradviz.graph.training import Did
from gradviz.names.statements import loop_around, names_handed
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.question.subjects import held_by
from gradviz.why.rules.optimizers.schedules import came_to_zero_last, last_rate, schedules_of
from gradviz.why.rules.optimizers.zero_learning_rate import step_writes

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_FALLEN = 1e-3  # a rate below this share of the one that it began with is told
_SMALL = 1e-7  # a rate at or below which hardly anything is seen to move
_DECAY = 0.1  # the share of each weight that a step takes away, from which on it is told


def rates(case: Case) -> Iterator[Remark]:
    """Tell of each known optimizer whose schedule has let a learning rate fall to nearly
    nothing."""
    for optimizer in case.known_optimizers:
        defaults = getattr(optimizer, "defaults", {})  # one written by hand may have none
        # with rates of their own, groups did not begin with that of the others
        are_alike = len({str(group.get("lr")) for group in optimizer.param_groups}) == 1
        for place, group in enumerate(optimizer.param_groups):
            first = group.get("initial_lr", defaults.get("lr") if are_alike else None)
            rate = group.get("lr")
            plain = all(isinstance(x, (int, float)) for x in (rate, first))
            if not plain or not 0 <= rate < first * _FALLEN:
                continue
            schedules = [s for s in schedules_of(optimizer) if last_rate(s, place) == rate]
            came_last = any(map(came_to_zero_last, schedules)) or _is_moved(case, group)
            if schedules and not (_is_zero(rate) and came_last):
                yield _fallen(case, optimizer, schedules[-1], rate, first)
            break


def _is_moved(case: Case, group: Mapping[str, Any]) -> bool:
    """Say whether the last step moved anything of a group whose rate is 0 by now: it came to 0
    after that step, as the training was over."""
    last = (writes[-1] for p in group["params"] if (writes := step_writes(case, p)))
    return any(before.values != after.values for before, after in last if before.values)


def at_rate_zero(case: Case) -> set[int]:
    """Return the leaves that optimizers held at a learning rate of 0 when they stepped last: that
    step did not move them by a gradient. By object id."""
    assert case.recording is not None
    return case.recording.stepped_at_zero()


def once_at_rate_zero(case: Case) -> set[int]:
    """Return the leaves that an optimizer held at a learning rate of 0 when it stepped last, though
    another one may have moved them since. By object id."""
    assert case.recording is not None
    return case.recording.once_stepped_at_zero()


def _is_zero(rate: Any) -> bool:
    return isinstance(rate, (int, float)) and rate == 0


def settings(case: Case) -> Iterator[Remark]:
    """Tell of each known optimizer that stepped whose learning rate is hardly above 0, or whose
    weight decay takes large parts of the weights away."""
    assert case.recording is not None
    for optimizer in case.known_optimizers:
        held = {t.object_id for p in held_by([optimizer]).values() if (t := case.recording.find(p))}
        steps = {
            m.call.id: m.call
            for leaf in held
            for m in case.training.moments.get(leaf, ())
            if m.did is Did.STEPPED
        }
        group = optimizer.param_groups[0]
        rate, decay = group.get("lr"), group.get("weight_decay", 0)
        if not steps or not all(isinstance(x, (int, float)) for x in (rate, decay)):
            continue
        fields = {
            "optimizer": case.optimizer_name(optimizer),
            "rate": number(rate),
            "decay": number(decay),
            "share": f"{rate * decay:.0%}",
        }
        last = steps[max(steps)]
        if 0 < rate <= _SMALL and "initial_lr" not in group:
            yield Remark(Weight.WEIGHTY, "rate_small", fields, (last,), frozenset(held))
        elif _decays_weights(optimizer, group) and rate * decay >= _DECAY:
            yield Remark(Weight.WEIGHTY, "decay_large", fields, (last,), frozenset(held))


def _decays_weights(optimizer: Any, group: Any) -> bool:
    """Say whether a step takes lr · weight_decay of each weight away. Adam and others like it add
    the decay to the gradient, and divide it by its size with that."""
    return isinstance(optimizer, torch.optim.SGD) or bool(group.get("decoupled_weight_decay"))


def _fallen(case: Case, optimizer: Any, schedule: Any, rate: float, first: float) -> Remark:
    """Tell of one such optimizer."""
    steps = _steps_of(case, schedule)
    places = tuple(place for place, _ in steps)
    loops = _with_loops(case, steps)
    fields = {
        "optimizer": case.optimizer_name(optimizer),
        "rate": number(rate),
        "first": number(first),
        "schedule": type(schedule).__name__,
        "n": vars(schedule).get("last_epoch", 0),
        "places": [case.words.line_of(place) for place in places],
        **loops,
    }
    key = "rate_fallen_at" if places else "rate_fallen"
    if loops:
        key = "rate_fallen_in_a_loop"
    if vars(schedule).get("mode") == "max":
        key = "rate_fallen_of_max"
    weight = Weight.ORDINARY if _is_at_its_end(schedule) else Weight.WEIGHTY
    return Remark(weight, key, fields, statements=places)


def _is_at_its_end(schedule: Any) -> bool:
    """Say whether a schedule was stepped as often as it was made for, and not once more."""
    kept = vars(schedule)
    ends = {kept.get(name) for name in ("T_max", "total_iters", "total_steps")} - {None}
    return kept.get("last_epoch") in ends


def _steps_of(case: Case, schedule: Any) -> list[tuple[Source, ast.Call]]:
    """Return where the code steps a schedule, each with the call: by a variable or attribute that
    is given one of its class, or a parameter that is handed such a one."""
    kind = type(schedule).__name__
    given = {
        ast.unparse(target)
        for _, node in case.statements.nodes(ast.Assign)
        if kind in ast.unparse(node.value)
        for target in node.targets
    }
    given |= {name for value in list(given) for name in names_handed(case.statements, value)}
    found = {
        place: node
        for place, node in case.statements.calls("step")
        if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) in given
    }
    return [*found.items()]


def _loops_over(node: Any) -> list[Any]:
    """Return the loops of the same function around a node, the innermost first."""
    loops = list[Any]()
    while (loop := loop_around(node if not loops else loops[-1].parent)) is not None:
        loops.append(loop)
    return loops


def _with_loops(case: Case, steps: list[tuple[Source, ast.Call]]) -> dict[str, Any]:
    """Return the fields that tell of the loops around the one step of a schedule, where it stands
    in a loop that another one goes through; nothing where it does not."""
    loops = _loops_over(steps[0][1]) if len(steps) == 1 else []
    if len(loops) < 2:
        return {}
    place, node = steps[0]
    inner, outer = (
        case.words.line_of(place._replace(line=loop.lineno)) for loop in loops[:: len(loops) - 1]
    )
    return {"call": ast.unparse(node), "inner": inner, "outer": outer}
