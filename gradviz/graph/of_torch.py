"""What torch made for itself while it ran the user's code: no reader needs to see it."""

from __future__ import annotations

from functools import cached_property

from gradviz.graph.facts import Facts


class OfTorch:
    """Tensors and nodes of a graph that are torch's own.

    Args:
        facts: of the graph.
    """

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.graph = facts.graph

    @cached_property
    def objects(self) -> set[int]:
        """Tensors without elements that torch made for itself, as a checkpoint does up to torch
        2.11: its own bookkeeping alone made or read them; by object id."""
        empty = {t.object_id for t in self.graph.tensors if 0 in (t.shape or ()) and not t.name}
        return {object_id for object_id in empty if self._is_its_own(object_id)}

    def _is_its_own(self, object_id: int) -> bool:
        """Tell whether torch's own bookkeeping alone made or read a tensor."""
        states = [t.id for t in self.facts.states[object_id]]
        calls = [call for i in states for call in self.facts.calls_reading.get(i, ())]
        calls += [self.facts.maker[i] for i in states if i in self.facts.maker]
        return bool(calls) and all(call.bookkeeping for call in calls)

    @cached_property
    def nodes(self) -> set[int]:
        """The nodes of these tensors, by id."""
        tensors = [t for t in self.graph.tensors if t.object_id in self.objects]
        nodes = {t.gradient_edge.node_id for t in tensors if t.gradient_edge}
        leaves = (self.facts.accumulate_node.get(t.object_id) for t in tensors)
        return nodes | {node for node in leaves if node is not None}
