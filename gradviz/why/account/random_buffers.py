"""Buffers of random numbers that a loss is computed with: nothing moves them, as is right for a
fixed projection, and not for what was to be learnt."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from gradviz.graph.effects import FILLING
from gradviz.names.position import callee_of
from gradviz.why.account.remark import Remark, Weight

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_DRAWS = {"rand", "randn", "normal", "rand_like", "randn_like"}


def random_buffers(case: Case) -> Iterator[Remark]:
    """Tell of each buffer of floats that a module begins with random numbers, that no recorded call
    wrote since, and that a loss was computed with."""
    for place, node in case.statements.calls("register_buffer"):
        name = _name_drawn(node)
        for title, buffer in _buffers(case, name) if name else ():
            state = case.recording.find(buffer) if case.recording is not None else None
            if state is None or not _is_constant_of_loss(case, state.object_id):
                continue
            fields = {
                "name": f"{title}.{name}",
                "place": case.words.line_of(place),
                "attribute": name,
            }
            objects = frozenset({state.object_id})
            yield Remark(Weight.ORDINARY, "random_buffer", fields, (), objects, (place,))
            break


def _name_drawn(node: ast.Call) -> str:
    """Return the name that a buffer of random numbers is registered by; "" of another one."""
    if len(node.args) < 2 or not isinstance(node.args[0], ast.Constant):
        return ""
    calls = (n for n in ast.walk(node.args[1]) if isinstance(n, ast.Call))
    is_drawn = any(callee_of(call.func) in _DRAWS for call in calls)
    return str(node.args[0].value) if is_drawn else ""


def _buffers(case: Case, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the buffers of floats with a name that known modules and their parts have, each with
    what the module is called."""
    for module in case.known_modules:
        title = case.called.get(id(module)) or type(module).__name__
        for path, part in module.named_modules():
            buffer = part._buffers.get(name)
            if isinstance(buffer, torch.Tensor) and buffer.is_floating_point():
                yield ".".join(filter(None, (title, path))), buffer


def _is_constant_of_loss(case: Case, object_id: int) -> bool:
    """Say whether a loss holds the values of a tensor that nothing but its first filling wrote."""
    facts = case.facts
    states = {state.id for state in facts.states.get(object_id, ())}
    writes = facts.writes_by_object.get(object_id, ())
    functions = {case.graph.call[e.call_id].function for e in writes if facts.writes_memory(e)}
    return functions <= FILLING and not states.isdisjoint(facts.in_losses)
