"""What was computed before a recording began: only the results are known to it."""

from __future__ import annotations

from typing import Any

from gradviz.graph.records import Graph, NodeKind, Tensor
from gradviz.watch import torch_private
from gradviz.watch.identity import read
from gradviz.watch.recorded import Recorded
from gradviz.watch.walk import walk


def leaves_behind(loss: Any) -> list[Any]:
    """Return the leaves that a backward from this loss would reach."""
    root = read(lambda: loss.grad_fn)
    return [] if root is None else [torch_private.leaf_of(node) for node in walk([root]).nodes]


def cut_off_before(recording: Recorded) -> dict[int, tuple[int, ...]]:
    """Return the results that are older than a recording and that a recorded call cut off, by the
    identity of each leaf that they were computed from: their ids in the graph.

    The graph behind such a result was not recorded: it is read now, where the result is alive.
    """
    older, found = _cut_off(recording.graph), dict[int, tuple[int, ...]]()
    for t in recording.living() if older else ():
        state = recording.find(t)
        if state is not None and state.object_id in older:
            for leaf in leaves_behind(t):
                found[id(leaf)] = (*found.get(id(leaf), ()), older[state.object_id])
    return found


def cut_off_and_gone(recording: Recorded) -> list[int]:
    """Return the results that are older than a recording, that a recorded call cut off, and that
    nothing holds any more: their ids in the graph."""
    older = _cut_off(recording.graph)
    states = (recording.find(t) for t in recording.living()) if older else ()
    alive = {state.object_id for state in states if state is not None}
    return [tensor_id for object_id, tensor_id in older.items() if object_id not in alive]


def _cut_off(graph: Graph) -> dict[int, int]:
    """Return the results that no recorded call made and that one cut off, by their object."""
    states = {graph.tensor[cut.input_id] for cut in graph.cuts}
    return {t.object_id: t.id for t in states if _is_older(graph, t)}


def _is_older(graph: Graph, state: Tensor) -> bool:
    """Say whether no recorded call made the node of a result."""
    node = graph.node.get(state.gradient_edge.node_id) if state.gradient_edge else None
    return node is not None and node.call_id is None and node.kind is not NodeKind.ACCUMULATE_GRAD
