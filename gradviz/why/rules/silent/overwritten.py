"""What a node had saved was overwritten and no version moved: backward used wrong numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeGuard

from gradviz.graph.facts import grouped
from gradviz.graph.findings import Cause
from gradviz.graph.preview import only_zeros
from gradviz.graph.records import (
    Called,
    Event,
    Node,
    NodeRan,
    SavedState,
    SavedTensor,
    Wrote,
)
from gradviz.why.rules.silent.silent import Silent
from gradviz.why.shown.explanation import Explanation


def overwritten(asked: Silent) -> Iterator[Explanation]:
    """Tell of nodes that ran after what they had saved was written and no version moved. The
    first one of each write."""
    leaves = asked.facts.leaf_at
    told, timeline = set[int](), None
    for node in asked.graph.nodes:
        for saved in (s for s in node.saved if s.state is SavedState.OVERWRITTEN):
            timeline = timeline or Timeline(asked)
            writes = timeline.wrong_writes(node, saved)
            if not writes or writes[-1].call_id in told:
                continue
            behind = asked.facts.reachable([node.id])
            concerns = {leaves[n].object_id for n in behind if n in leaves}
            if not asked.wanted or concerns & asked.wanted:
                told.add(writes[-1].call_id)
                yield wrong(asked, node, saved, writes[-1])


class Timeline:
    """When nodes were made and ran, and what was written into which memory: looked up once for all
    nodes.

    Args:
        asked: the question about it.
    """

    def __init__(self, asked: Silent) -> None:
        self.asked = asked
        events = [*enumerate(asked.graph.events)]
        self.made = {e.call_id: place for place, e in events if isinstance(e, Called)}
        self.ran = {e.node_id: place for place, e in events if _is_run_with_gradient(e)}
        tensor, facts = asked.graph.tensor, asked.facts
        self.writes = grouped(
            (tensor[e.before_id].storage_id, (place, e))
            for place, e in events
            if isinstance(e, Wrote) and facts.writes_memory(e)
        )

    def wrong_writes(self, node: Node, saved: SavedTensor) -> list[Wrote]:
        """Return the writes between the making of a node and its last run to what it saved, where
        that run sent something."""
        made = -1 if node.call_id is None else self.made.get(node.call_id, -1)
        ran = self.ran.get(node.id, -1)
        storages = storages_read(self.asked, node, saved)
        found = sorted(pair for i in storages for pair in self.writes.get(i, ()))
        return [e for place, e in found if made < place < ran and unnoticed(self.asked, e, saved)]


def _is_run_with_gradient(event: Event) -> TypeGuard[NodeRan]:
    """Say whether an event is the run of a node at which something else than zeros arrived."""
    if not isinstance(event, NodeRan):
        return False
    return not all(g is None or only_zeros(g) for g in event.arrived)


def storages_read(asked: Silent, node: Node, saved: SavedTensor) -> set[int | None]:
    """Return the memory in which what a node saved lies: where it is not known, that of its
    inputs."""
    call = asked.graph.call.get(node.call_id)
    ids = list(call.inputs) if call else []
    if saved.tensor_id is not None:
        ids = [saved.tensor_id]
    # then it is no bias
    matrix = saved.tensor_id is None and saved.attribute.startswith(("mat", "weight"))
    read = [asked.graph.tensor[i] for i in ids if i in asked.graph.tensor]
    return {t.storage_id for t in read if not matrix or len(t.shape or ()) > 1} - {None}


def unnoticed(asked: Silent, event: Wrote, saved: SavedTensor) -> bool:
    """Say whether a write into the memory of what was saved changed it, and torch could not see
    that."""
    before, after = asked.graph.tensor[event.before_id], asked.graph.tensor[event.after_id]
    changed = before.values is None or before.values != after.values
    # A write that moved the version of what was saved would have raised.
    silent = before.version == after.version or before.version != saved.saved_version
    return changed and silent


def wrong(asked: Silent, node: Node, saved: SavedTensor, wrote: Wrote) -> Explanation:
    """Tell of one node that used what was written over what it had saved."""
    writer = asked.graph.call[wrote.call_id]
    name = asked.words.name(wrote.before_id if saved.tensor_id is None else saved.tensor_id)
    points: dict[str, Any] = {
        "subject": name,
        "calls": [writer],
        "nodes": [node.id],
        "tensors": [wrote.before_id, wrote.after_id],
        "node": asked.words.node(node),
    }
    if writer.function.startswith("_fused_"):
        return asked.answer(Cause.FUSED_STEP, "saved_before", **points)
    if ".data" in asked.words.code(writer):
        return asked.answer(Cause.OVERWRITTEN, "through_data", **points)
    return asked.answer(Cause.OVERWRITTEN, "through_alias", **points, writer=writer.function)
