"""The part of a graph that a picture of a few things needs. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradviz.graph.facts import Facts
from gradviz.graph.one_iteration import one_iteration
from gradviz.graph.part import Kept, part
from gradviz.graph.records import Call, Cut, Graph, Note, NoteKind, Tensor

CARDS = 14  # tensors that one picture shows around what it points at


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
        much it left out. Of a loop in which the same happens one iteration is in it.
    """
    cuts, nodes = list(cuts), {i for i in node_ids if i in graph.node}
    call_ids = {graph.node[i].call_id for i in nodes} | {c.call_id for c in cuts}
    graph = one_iteration(graph, {i for i in call_ids if i is not None}) or graph
    nodes &= graph.node.keys()
    calls = [call for call in graph.calls if call.id in call_ids]
    objects = _objects(graph, [*tensor_ids, *_ends_of_cuts(cuts), *_ends_of(calls)])
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


def _ends_of_cuts(cuts: Iterable[Cut]) -> list[int]:
    """Return what cuts stand between."""
    return [i for cut in cuts for i in (cut.input_id, cut.output_id) if i is not None]


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
    """Return the part with what is kept; it says how much is left out."""
    found = part(graph, kept)
    return found.replace(notes=[*graph.notes, *_left_out(graph, found.tensors)])


def _left_out(graph: Graph, tensors: Iterable[Tensor]) -> list[Note]:
    """Note how much is left out; nothing where that is nothing."""
    left_out = len(Facts.of(graph).latest_state) - len({t.object_id for t in tensors})
    return [Note.of(NoteKind.LEFT_OUT, n=left_out)] if left_out > 0 else []
