"""The part of a graph that a picture of a few things needs. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from gradviz.graph.facts import Facts
from gradviz.graph.records import (
    Backward,
    Call,
    Cut,
    Edge,
    Graph,
    Hooked,
    Node,
    Raised,
    Tensor,
    Wrote,
)
from gradviz.words.speech import say

CARDS = 14  # tensors that one picture shows around what it points at


class Kept(NamedTuple):
    """Ids of what stays of a graph."""

    tensors: set[int]
    calls: set[int]
    nodes: set[int]


def focus(
    graph: Graph, tensor_ids: Iterable[int], node_ids: Iterable[int], cuts: Iterable[Cut]
) -> Graph:
    """Return the part of a graph that a picture of these things needs.

    Args:
        graph: the whole.
        tensor_ids: tensors that are pointed at.
        node_ids: nodes that are pointed at.
        cuts: cuts that are pointed at.

    Returns:
        A graph of the tensors and nodes pointed at and of what lies nearest to them. It says how
        much it left out.
    """
    cuts = list(cuts)
    ends = [i for c in cuts for i in (c.input_id, c.output_id) if i is not None]
    nodes = {i for i in node_ids if i in graph.node}
    call_ids = {graph.node[i].call_id for i in nodes} | {c.call_id for c in cuts}
    calls = [call for call in graph.calls if call.id in call_ids]
    objects = _objects(graph, [*tensor_ids, *ends, *_ends_of(calls)])
    if not graph.calls:
        return _near_nodes(graph, nodes, objects)
    for near in _neighbours(graph, objects):
        if len(objects) >= CARDS:
            break
        objects.add(near)
    return _of_objects(graph, objects, nodes)


def _objects(graph: Graph, tensor_ids: Iterable[int]) -> set[int]:
    """Return the objects of which these are states, as far as the graph has them."""
    return {graph.tensor[i].object_id for i in tensor_ids if i in graph.tensor}


def _ends_of(calls: Iterable[Call]) -> list[int]:
    """Return what calls read and made."""
    return [i for call in calls for i in (*call.inputs, *call.outputs)]


def _neighbours(graph: Graph, objects: set[int]) -> Iterator[int]:
    """Yield the objects that calls connect with ``objects``, the nearest first."""
    linked: dict[int, list[int]] = {}
    for call in Facts.of(graph).ordinary_calls:
        ends = [graph.tensor[i].object_id for i in _ends_of([call]) if i in graph.tensor]
        for one in ends:
            linked.setdefault(one, []).extend(ends)
    edge, seen = sorted(objects), set(objects)
    while edge:
        near = list(dict.fromkeys(o for one in edge for o in linked.get(one, ()) if o not in seen))
        yield from near
        seen.update(near)
        edge = near


def _of_objects(graph: Graph, objects: set[int], nodes: set[int]) -> Graph:
    """Return the part with these objects, the calls between them, and the nodes of both."""
    tensors = [t for t in graph.tensors if t.object_id in objects]
    tensor_ids = {t.id for t in tensors}
    backwards = Facts.of(graph).backward_calls
    call_ids = {
        c.id
        for c in graph.calls
        if c.id in backwards or tensor_ids.issuperset(c.outputs or c.inputs or [-1])
    }
    of_tensors = {t.gradient_edge.node_id for t in tensors if t.gradient_edge}
    of_calls = {n.id for n in graph.nodes if n.call_id in call_ids - backwards}
    return _only(graph, Kept(tensor_ids, call_ids, nodes | of_tensors | of_calls))


def _near_nodes(graph: Graph, nodes: set[int], objects: set[int]) -> Graph:
    """Return the nodes that are pointed at, and the shortest ways from them: without calls there
    are only nodes."""
    of_objects = {
        t.gradient_edge.node_id for t in graph.tensors if t.object_id in objects and t.gradient_edge
    }
    kept = nodes | (of_objects & graph.node.keys())
    edge = sorted(kept)
    while edge and len(kept) < CARDS:
        near = [n for n in dict.fromkeys(_next_to(graph, edge)) if n not in kept]
        edge = near[: CARDS - len(kept)]
        kept.update(edge)
    leaves = {graph.node[n].leaf_id for n in kept}
    tensor_ids = {
        t.id
        for t in graph.tensors
        if t.object_id in objects
        or t.id in leaves
        or (t.gradient_edge and t.gradient_edge.node_id in kept)
    }
    return _only(graph, Kept(tensor_ids, set(), kept))


def _next_to(graph: Graph, nodes: Iterable[int]) -> list[int]:
    """Return the nodes one edge behind these, then those one edge before them."""
    nodes, into = list(nodes), Facts.of(graph).edges_into
    behind = [e.next_node_id for n in nodes for e in graph.edges_from.get(n, ())]
    before = [e.node_id for n in nodes for e in into.get(n, ())]
    return [n for n in behind if n is not None] + before


# --- leaving out ----------------------------------------------------------------------------------


def _only(graph: Graph, kept: Kept) -> Graph:
    """Return the graph with what is kept, and with what refers to nothing else."""
    tensors = [t for t in graph.tensors if t.id in kept.tensors]
    return _with_flow(graph, kept).replace(
        roots=[r for r in graph.roots if r in kept.tensors],
        tensors=[t if t.base_id in kept.tensors else t._replace(base_id=None) for t in tensors],
        calls=[c for c in graph.calls if c.id in kept.calls],
        cuts=[c for c in graph.cuts if _joins(c, kept)],
        events=[e for e in graph.events if _inside(e, kept)],
        notes=[*graph.notes, *_left_out(graph, tensors)],
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


def _left_out(graph: Graph, tensors: Iterable[Tensor]) -> list[str]:
    """Say how much is left out; nothing where that is nothing."""
    left_out = len(Facts.of(graph).latest_state) - len({t.object_id for t in tensors})
    return [say("explanation.left_out", n=left_out)] if left_out > 0 else []


def _inside(event: Any, kept: Kept) -> bool:
    """Say whether an event speaks only of what is kept."""
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
