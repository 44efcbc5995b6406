"""The calls that switched requires_grad off. Knows no torch."""

from __future__ import annotations

from collections.abc import Set

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.graph.training import SETS_FLAG, line_of


def switches_off(facts: Facts, objects: Set[int]) -> list[Call]:
    """Return the calls that switched off the flags of some tensors, by object id, one of each
    line."""
    found, tensor = dict[object, Call](), facts.graph.tensor
    for event in facts.writes:
        call = facts.graph.call[event.call_id]
        before, after = tensor[event.before_id], tensor[event.after_id]
        off = call.function in SETS_FLAG and before.requires_grad and not after.requires_grad
        if off and after.object_id in objects:
            found.setdefault(line_of(call), call)
    return [*found.values()]
