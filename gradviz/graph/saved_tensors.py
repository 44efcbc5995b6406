"""What a backward would find of the tensors that nodes saved: whether their memory was written
since, by what, and whether the node ran before that."""

from __future__ import annotations

from enum import Enum
from functools import cached_property
from typing import NamedTuple

from gradviz.graph.facts import Facts, grouped, has_moved
from gradviz.graph.records import Called, Node, NodeRan, SavedState, SavedTensor, Wrote


class WrongUse(Enum):
    """Whether backward used a saved tensor after it was overwritten, and so wrong numbers."""

    USED = "used"
    MAY_HAVE_USED = "may have used"  # a backward that was not watched came after the write
    WOULD_NOW_USE = "would now use"  # the node ran before the write only
    WOULD_USE = "would use"  # the node has not run yet


class Unsure(NamedTuple):
    """A saved tensor whose state is not known, and whose memory may have been written after it was
    saved.

    ``used``: that write may have come before the node ran, so that what it sent may be wrong.
    """

    node: Node
    saved: SavedTensor
    used: bool


class SavedTensors:
    """The saved tensors of a graph, and the writes into their memory.

    Args:
        facts: of the graph.
    """

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.graph = facts.graph

    @cached_property
    def unsure(self) -> list[Unsure]:
        """The saved tensors of which nothing good may be said. Without a recording, all whose state
        is not known."""
        graph = self.graph
        unknown = [(n, s) for n in graph.nodes for s in n.saved if s.state is SavedState.UNKNOWN]
        if not unknown or not graph.calls:
            return [Unsure(n, s, False) for n, s in unknown]
        last_ran = self._last_ran
        found = []
        for node, saved in unknown:
            later = self._writes_after(node, self._may_hold(node, saved))
            if later:
                used = any(at < last_ran.get(node.id, -1) for at in later)
                found.append(Unsure(node, saved, used))
        return found

    @cached_property
    def _called_at(self) -> dict[int, int]:
        """Where among the events each call returned, by call id."""
        events = enumerate(self.graph.events)
        return {event.call_id: at for at, event in events if isinstance(event, Called)}

    def _made_at(self, node: Node) -> int:
        """Return where among the events a node was made; -1: before the recording."""
        return -1 if node.call_id is None else self._called_at.get(node.call_id, -1)

    @cached_property
    def _last_ran(self) -> dict[int, int]:
        """The place among the events at which a node last ran, or may have run, by node id."""
        ran: dict[int, int] = {}
        for at, event in enumerate(self.graph.events):
            if isinstance(event, Called):
                ran.update(dict.fromkeys(self.facts.maybe_ran.get(event.call_id, ()), at))
            elif isinstance(event, NodeRan):
                ran[event.node_id] = at
        return ran

    @cached_property
    def _memory_writes(self) -> list[tuple[int, Wrote]]:
        """The writes into memory, each with its place among the events."""
        events = enumerate(self.graph.events)
        return [(at, e) for at, e in events if isinstance(e, Wrote) and self._wrote_memory(e)]

    def _writes_after(self, node: Node, storages: set[int | None] | None) -> list[int]:
        """Find when one of these blocks of memory (None: any) was written after a node was made, by
        another call than its own."""
        tensor = self.graph.tensor
        born = self._made_at(node)
        return [
            at
            for at, event in self._memory_writes
            if at > born
            and event.call_id != node.call_id
            and (storages is None or tensor[event.after_id].storage_id in storages)
        ]

    @cached_property
    def unsure_of_node(self) -> dict[int, list[SavedTensor]]:
        """What a node of a recording saved, where that may have been written and its state cannot
        be read, by node id.

        Of a graph that was only read nothing stands here: there it is told where something would
        rest on it.
        """
        unsure = self.unsure if self.graph.calls else []
        return grouped((u.node.id, u.saved) for u in unsure)

    @cached_property
    def _ran_at(self) -> dict[int, list[int]]:
        """Where among the events a node ran, by node id."""
        events = enumerate(self.graph.events)
        return grouped((e.node_id, at) for at, e in events if isinstance(e, NodeRan))

    def wrong_use(self, node: Node, saved: SavedTensor) -> WrongUse:
        """Tell whether a node ran after what it had saved was overwritten."""
        made = self._made_at(node)
        runs = [at for at in self._ran_at.get(node.id, ()) if at > made]
        writes = [at for at in self._written_at(saved) if at > made]
        if runs:
            is_late = any(at < runs[-1] for at in writes)
            return WrongUse.USED if is_late else WrongUse.WOULD_NOW_USE
        start = min(writes, default=made)
        unwatched = [call for call, nodes in self.facts.maybe_ran.items() if node.id in nodes]
        may_be_late = any(self._called_at.get(call, -1) > start for call in unwatched)
        return WrongUse.MAY_HAVE_USED if may_be_late else WrongUse.WOULD_USE

    def _written_at(self, saved: SavedTensor) -> list[int]:
        """List where among the events the memory of a saved tensor was written."""
        tensor = self.graph.tensor.get(saved.tensor_id)
        if tensor is None:
            return []
        places = []
        for at, event in enumerate(self.graph.events):
            if isinstance(event, Wrote):
                after = self.graph.tensor[event.after_id]
                same = tensor.storage_id is not None and after.storage_id == tensor.storage_id
                if same or after.object_id == tensor.object_id:
                    places.append(at)
        return places

    def write_past(self, saved: SavedTensor) -> Wrote | None:
        """Find the write that moved a saved tensor past the version at which it was saved."""
        tensor, version = self.graph.tensor.get(saved.tensor_id), saved.saved_version
        if tensor is None or version is None:
            return None
        for e in self.facts.writes_by_object.get(tensor.object_id, ()):
            before, after = self.facts.around(e)
            if before.version == version != after.version:
                return e
        return None

    def version_now(self, saved: SavedTensor) -> int | None:
        """Return the version at which a saved tensor stands now, where that is known."""
        tensor = self.graph.tensor.get(saved.tensor_id)
        return self.facts.latest_state[tensor.object_id].version if tensor else None

    def _wrote_memory(self, event: Wrote) -> bool:
        """Say whether a write changed memory; where neither version nor values tell, whether its
        call can."""
        before, after = self.facts.around(event)
        if has_moved(before, after):
            return True
        return before.values is None and self.facts.writes_memory(event)

    def _may_hold(self, node: Node, saved: SavedTensor) -> set[int | None] | None:
        """Find the blocks of memory in which a saved tensor of unknown state may lie; None: any."""
        call = self.graph.call.get(node.call_id)
        # a custom Function saves what it likes
        if call is None or saved.attribute.startswith("saved_"):
            return None
        tensors = call.outputs if saved.attribute.startswith("result") else call.inputs
        return {self.graph.tensor[i].storage_id for i in tensors}
