"""A part of a graph: some of its tensors, calls and nodes, with all that is known of them alone.
Knows no torch."""

from __future__ import annotations

from typing import Any, NamedTuple

from gradviz.graph.records import Backward, Cut, Edge, Graph, Hooked, Node, Raised, Wrote


class Kept(NamedTuple):
    """Ids of what stays of a graph."""

    tensors: set[int]
    calls: set[int]
    nodes: set[int]


def part(graph: Graph, kept: Kept) -> Graph:
    """Return the graph with what is kept, and with what refers to nothing else.

    Args:
        graph: the whole.
        kept: what stays of it. A backward stays with its call.

    Example:
        >>> part(Graph(), Kept(set(), set(), set())) == Graph()
        True
    """
    tensors = [t for t in graph.tensors if t.id in kept.tensors]
    runs = {b.run for b in graph.backwards if b.call_id in kept.calls}
    return _with_flow(graph, kept).replace(
        roots=[r for r in graph.roots if r in kept.tensors],
        tensors=[t if t.base_id in kept.tensors else t._replace(base_id=None) for t in tensors],
        calls=[c for c in graph.calls if c.id in kept.calls],
        cuts=[c for c in graph.cuts if _joins(c, kept)],
        events=[e for e in graph.events if _inside(e, kept, runs)],
    )


def _with_flow(graph: Graph, kept: Kept) -> Graph:
    """Return the graph with those nodes, edges, gradients and backwards that are kept."""
    return graph.replace(
        nodes=[_without_others(n, kept) for n in graph.nodes if n.id in kept.nodes],
        edges=[e for e in graph.edges if _between(e, kept)],
        gradients=[g for g in graph.gradients if g.node_id in kept.nodes],
        backwards=[_run_of(b, kept) for b in graph.backwards if b.call_id in kept.calls],
    )


def _without_others(node: Node, kept: Kept) -> Node:
    """Return a node that names no leaf and no call that is left out."""
    return node._replace(
        leaf_id=node.leaf_id if node.leaf_id in kept.tensors else None,
        call_id=node.call_id if node.call_id in kept.calls else None,
    )


def _between(edge: Edge, kept: Kept) -> bool:
    """Say whether an edge joins nodes that are kept, or ends nowhere."""
    if edge.node_id not in kept.nodes:
        return False
    return edge.next_node_id is None or edge.next_node_id in kept.nodes


def _joins(cut: Cut, kept: Kept) -> bool:
    """Say whether a cut speaks only of what is kept."""
    if cut.call_id not in kept.calls or cut.input_id not in kept.tensors:
        return False
    return cut.output_id is None or cut.output_id in kept.tensors


def _run_of(run: Backward, kept: Kept) -> Backward:
    """Return a backward that names only what is kept."""
    return run._replace(
        roots=tuple(r for r in run.roots if r in kept.nodes),
        ran=tuple(r for r in run.ran if r in kept.nodes),
        returned=tuple(r for r in run.returned if r[0] in kept.tensors),
        raised_at=run.raised_at if run.raised_at in kept.nodes else None,
    )


def _inside(event: Any, kept: Kept, runs: set[int]) -> bool:
    """Say whether an event speaks only of what is kept, and of backwards that are."""
    if hasattr(event, "run") and event.run not in runs:
        return False
    if isinstance(event, Wrote):
        return event.call_id in kept.calls and {event.before_id, event.after_id} <= kept.tensors
    if isinstance(event, Hooked):
        return event.call_id in kept.calls and event.tensor_id in kept.tensors
    if isinstance(event, Raised):
        at_kept = event.node_id is None or event.node_id in kept.nodes
        return at_kept and event.call_id in kept.calls
    if hasattr(event, "call_id"):
        return event.call_id in kept.calls
    if hasattr(event, "node_id"):
        return event.node_id in kept.nodes
    return set(event.node_ids) <= kept.nodes
