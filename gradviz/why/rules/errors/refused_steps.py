"""Steps of optimizers and schedules that lack something, or that go on with the state of another
model: what shows it, and what to write there. Reads values that variables hold, runs none of the
program's code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import torch

from gradviz.names.bindings import scope_of
from gradviz.names.position import callee_of
from gradviz.names.statements import source_of
from gradviz.why.code.behind import returns_nothing
from gradviz.why.code.reading import value_of
from gradviz.why.question.failed_line import FailedLine
from gradviz.why.rules.errors.failure import Failure
from gradviz.why.rules.errors.refused_values import Fields
from gradviz.words.speech import Code


def _owners_stepped(line: FailedLine, kind: type) -> Iterator[tuple[ast.Call, ast.expr, Any]]:
    """Yield the calls of step() in the line, with what is stepped, where that is of a kind."""
    for call in line.nodes(ast.Call):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if owner is not None and call.func.attr == "step":
            value = line.value(owner)
            if isinstance(value, kind):
                yield call, owner, value


def stepped(line: FailedLine, failure: Failure) -> Fields:
    """Return the schedule that the line steps."""
    kind = torch.optim.lr_scheduler.ReduceLROnPlateau
    for _, owner, _ in _owners_stepped(line, kind):
        return {"schedule": Code(ast.unparse(owner))}
    return None


def schedule_that_is_over(line: FailedLine, failure: Failure) -> Fields:
    """Return the schedule that the line steps, and where the program makes the one of its kind."""
    nodes = [] if failure.statements is None else failure.statements.nodes(ast.Call)
    made = [(file, node) for file, node in nodes if callee_of(node.func) == "OneCycleLR"]
    for _, owner, _ in _owners_stepped(line, torch.optim.lr_scheduler.OneCycleLR):
        at = {"at": source_of(*made[0])} if len(made) == 1 else {}
        return {"schedule": Code(ast.unparse(owner)), **at}
    return None


def state_of_other_shapes(line: FailedLine, failure: Failure) -> Fields:
    """Return the one load that gave an optimizer a state of other shapes than its parameters."""
    code = failure.statements
    loads = [] if code is None else code.calls("load_state_dict")
    for _, owner, optimizer in _owners_stepped(line, torch.optim.Optimizer):
        name = ast.unparse(owner)
        of_it = [(at, load) for at, load in loads if _is(line, load.func, optimizer)]
        differing = next(_states_of_other_shape(optimizer), None)
        if differing is None or len(of_it) != 1:
            return None
        at, load = of_it[0]
        shape, kept = differing
        told = {"optimizer": Code(name), "shape": shape, "kept": kept}
        return {**told, "load": Code(ast.unparse(load)), "at": at}
    return None


def state_of_other_groups(line: FailedLine, failure: Failure) -> Fields:
    """Return how many parameters the groups of an optimizer have, and those of the state that it
    was to load; None where that cannot be read."""
    for call in line.nodes(ast.Call):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        optimizer = None if owner is None else line.value(owner)
        state = line.value(call.args[0]) if call.args else None
        if owner is None or not isinstance(optimizer, torch.optim.Optimizer):
            continue
        if not isinstance(state, dict):
            return None
        has, saved = map(_sizes, (optimizer.param_groups, state.get("param_groups", ())))
        if has != saved:
            told = {"optimizer": Code(ast.unparse(owner)), "has": has, "saved": saved}
            return {**told, **_where_bound(line, failure, optimizer)}
    return None


def _sizes(groups: Any) -> list[int]:
    """Return how many parameters each group has."""
    return [len(group["params"]) for group in groups]


def _where_bound(line: FailedLine, failure: Failure, value: object) -> dict[str, Any]:
    """Return the last statement, in a function that still ran, that gave a variable a value."""
    nodes = [] if failure.statements is None else [*failure.statements.nodes(ast.Assign)]
    for frame in line.frames:
        found = [
            (file, node)
            for file, node in nodes
            if isinstance(node.value, ast.Call)
            and node.lineno < frame.line
            and _is_of(node, frame.code.co_name)
            and any(value_of(target, frame.names) is value for target in node.targets)
        ]
        if found:
            return {"at": source_of(*found[-1])}
    return {}


def _is_of(statement: ast.stmt, function: str) -> bool:
    """Say whether a statement stands in the function of a name, or outside of any."""
    name = getattr(scope_of(statement), "name", None)
    return name == function or (name is None and function.startswith("<"))


def _is(line: FailedLine, method: Any, owner: object) -> bool:
    """Say whether a method is asked of an object, by the names of any function that ran."""
    return any(value_of(method.value, frame.names) is owner for frame in line.frames)


def _states_of_other_shape(
    optimizer: torch.optim.Optimizer,
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the shapes of parameters, and of averages that an optimizer keeps for each, where these
    are not the same."""
    for parameter, state in optimizer.state.items():
        for name in ("exp_avg", "momentum_buffer", "square_avg"):
            kept = state.get(name)
            if isinstance(kept, torch.Tensor) and kept.shape != parameter.shape:
                yield list(parameter.shape), list(kept.shape)


def closure_without_loss(line: FailedLine, failure: Failure) -> Fields:
    """Return the function that computes the loss of a step and does not return it."""
    nodes = [] if failure.statements is None else [*failure.statements.nodes(ast.FunctionDef)]
    for call, _, _ in _owners_stepped(line, torch.optim.LBFGS):
        name = ast.unparse(call.args[0]) if call.args else ""
        made = [(file, node) for file, node in nodes if node.name == name]
        if len(made) == 1 and returns_nothing(made[0][1]):
            file, function = made[0]
            head = source_of(file, function)._replace(code=file.lines[function.lineno - 1].strip())
            return {
                "closure": Code(f"{name}()"),
                "loss": Code(_called_backward(function)),
                "at": head,
            }
    return None


def _called_backward(function: ast.AST) -> str:
    """Return the name on which a function calls backward, "the loss" where it is none."""
    calls = (n.func for n in ast.walk(function) if isinstance(n, ast.Call))
    owners = (f.value for f in calls if isinstance(f, ast.Attribute) and f.attr == "backward")
    return next((ast.unparse(owner) for owner in owners if isinstance(owner, ast.Name)), "the loss")
