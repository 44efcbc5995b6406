"""Graph -> Scene, torch's own nodes one by one: every Node a pill, every GradientEdge an arrow, leaves beside them."""

from __future__ import annotations

from . import frames, queries
from .graph import Edge, Graph, Node, NodeKind, Tensor
from .rows import RowWriter
from .scene import Arrow, Card, Row, Scene, describe

USES = 4  # edges into one AccumulateGrad; beyond, every use gets a small pill of its own


def scene(graph: Graph) -> Scene:
    """The nodes view: values flow down the page, so a gradient climbs along the arrows.

    Args:
        graph: what was captured or recorded.

    Returns:
        A pill for each node, an arrow for each edge (both edges of ``a * a``), and a card for each leaf, root and
        named result. Slots of ``next_functions`` that hold None are in the text only.
    """
    ids = queries.gradient_order(graph, [n.id for n in graph.nodes])[::-1]
    place = {node_id: i for i, node_id in enumerate(ids)}
    write = RowWriter(graph)
    cards = [_pill(graph, graph.node[n], place[n], write) for n in ids]
    arrows: list[Arrow] = []
    sent = queries.sent_gradients(graph)
    into = queries.edges_into(graph)
    for node_id in ids:
        for e in graph.edges_from.get(node_id, ()):
            if e.next_node_id in place:
                tail = place[e.next_node_id]
                if cards[tail].kind == "accumulate" and len(into[e.next_node_id]) > USES:
                    leaf = cards[tail]
                    cards.append(leaf._replace(id=len(cards), kind="tag", rows=leaf.rows[:1]))
                    tail = cards[-1].id
                arrows.append(_edge(e, tail, place[node_id], sent.get((e.node_id, e.next_index), "")))
    _tensors(graph, place, write, cards, arrows)
    return frames.with_legend(Scene(tuple(cards), tuple(arrows), (), (), tuple(graph.notes)))


def _pill(graph: Graph, node: Node, number: int, write: RowWriter) -> Card:
    rows = [Row("state", node.name)]
    leaf = graph.tensor.get(node.leaf_id) if node.leaf_id is not None else None
    if node.kind is NodeKind.ACCUMULATE_GRAD:
        rows = [Row("state", f"AccumulateGrad of {leaf.name}" if leaf and leaf.name else "AccumulateGrad")]
    start = write.start(node.id)
    rows += [Row("state", start)] if start else []
    kind = "accumulate" if node.kind is NodeKind.ACCUMULATE_GRAD else "node"
    return Card(number, kind, (*rows, *write.saved_rows([node.id])), "", "", (), (node.id,))


def _edge(edge: Edge, tail: int, head: int, gradient: str) -> Arrow:
    return Arrow(tail, head, "edge", gradient, f"output {edge.input_nr}" if edge.input_nr else "")


def _tensors(graph: Graph, place: dict[int, int], write: RowWriter, cards: list[Card], arrows: list[Arrow]) -> None:
    """Leaves above their AccumulateGrad, roots and named results below the node that made them."""
    leaf_nodes = queries.accumulate_nodes(graph)
    for t in queries.latest_states(graph).values():
        node_id = leaf_nodes.get(t.object_id, t.gradient_edge.node_id if t.gradient_edge else None)
        if not (t.name or t.id in graph.roots or t.object_id in leaf_nodes):
            continue
        kind, rows = write.rows("", [t], [], [])
        card = Card(len(cards), kind, tuple(rows), describe(t), t.name or "", (t.id,))
        cards.append(card)
        if node_id not in place:
            continue
        if t.object_id in leaf_nodes:
            arrows.append(Arrow(card.id, place[node_id], "of"))
        else:
            arrows.append(Arrow(place[node_id], card.id, "of", _output(graph, t)))


def _output(graph: Graph, tensor: Tensor) -> str:
    edge = tensor.gradient_edge
    return f"output {edge.output_nr}" if edge and edge.output_nr else ""
