"""Values that were kept, share the memory of what trains, and are used as if they had stayed. Knows
no torch."""

from __future__ import annotations

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call, Tensor


def used_as_it_was(facts: Facts, kept: Tensor) -> bool:
    """Say whether a tensor is compared with what it shares its memory with, or copied, after a
    recorded call wrote that: then what it was before is meant.

    What the program itself writes through is no such value.
    """
    made = facts.first_maker.get(kept.object_id)
    into = _writes_into(facts, kept)
    if made is None or any(own == kept.object_id for own, _ in into):
        return False
    first = next((call_id for _, call_id in into if call_id > made.id), 0)
    states = (t.id for t in facts.states[kept.object_id])
    reading = (c for i in states for c in facts.calls_reading.get(i, ()))
    return any(first and c.id > first and _means_before(facts, c, kept) for c in reading)


def _writes_into(facts: Facts, kept: Tensor) -> list[tuple[int, int]]:
    """Return the writes to the memory of a tensor: the object that was written, and by which
    call."""
    direct = ((facts.graph.tensor[e.after_id], e.call_id) for e in facts.writes if not e.alias)
    return [(t.object_id, i) for t, i in direct if t.storage_id == kept.storage_id is not None]


def _means_before(facts: Facts, call: Call, kept: Tensor) -> bool:
    """Say whether a call copies a tensor, or computes with another one that has its memory."""
    inputs = [facts.graph.tensor[i] for i in call.inputs]
    others = (t for t in inputs if t.object_id != kept.object_id)
    return call.function == "copy_" or any(t.storage_id == kept.storage_id for t in others)
