"""Graph -> Scene, torch's own nodes one by one: every Node a pill, every GradientEdge an arrow,
leaves beside them."""

from __future__ import annotations

from gradviz.graph.facts import Facts
from gradviz.graph.records import Graph, Node, NodeKind
from gradviz.picture.rows import RowWriter
from gradviz.picture.scene import Arrow, Card, Row, Scene, describe
from gradviz.words.notes import note_text
from gradviz.words.speech import say


def scene(graph: Graph) -> Scene:
    """Make the nodes view: values flow down the page, so a gradient climbs along the arrows.

    Args:
        graph: what was captured or recorded.

    Returns:
        A pill for each node, an arrow for each edge (both edges of ``a * a``), and a card for each
        leaf, root and named result. Slots of ``next_functions`` that hold None are in the text
        only.
    """
    facts = Facts.of(graph)
    ids = facts.all_in_gradient_order[::-1]
    number_of = {node_id: i for i, node_id in enumerate(ids)}
    writer = RowWriter(graph)
    cards = [_pill(graph, graph.node[n], number_of[n], writer) for n in ids]
    sent = writer.words.sent_label
    arrows = [
        Arrow(number_of[next_node], i, "edge", sent((node_id, slot)) or "", _output(output_nr))
        for i, node_id in enumerate(ids)
        for _, slot, next_node, output_nr in graph.edges_from.get(node_id, ())
        if next_node is not None and next_node in number_of
    ]
    _tensors(graph, number_of, writer, cards, arrows)
    return Scene(tuple(cards), tuple(arrows), (), tuple(map(note_text, graph.notes)))


def _pill(graph: Graph, node: Node, number: int, writer: RowWriter) -> Card:
    """Write the card of a node."""
    name, kind = node.name, "node"
    if node.kind is NodeKind.ACCUMULATE_GRAD:
        kind, leaf = "accumulate", graph.tensor.get(node.leaf_id)
        name = say("card.accumulate_of", leaf=leaf.name) if leaf and leaf.name else node.name
    start = writer.start(node.id)
    rows = [
        Row("state", name),
        *([Row("state", start)] if start else []),
        *writer.saved_rows([node.id]),
    ]
    rows += writer.changed_rows([node.id], None)
    return Card(number, kind, tuple(rows), node_ids=(node.id,))


def _tensors(
    graph: Graph,
    number_of: dict[int, int],
    writer: RowWriter,
    cards: list[Card],
    arrows: list[Arrow],
) -> None:
    """Add leaves above their AccumulateGrad, roots and named results below the node that made
    them."""
    leaf_nodes = Facts.of(graph).accumulate_node
    for t in Facts.of(graph).latest_state.values():
        if not (t.name or t.id in graph.roots or t.object_id in leaf_nodes):
            continue
        kind, rows = writer.rows("", [t], [], [])
        number = len(cards)
        cards.append(Card(number, kind, tuple(rows), describe(t), t.name or "", (t.id,)))
        if leaf_nodes.get(t.object_id) in number_of:
            arrows.append(Arrow(number, number_of[leaf_nodes[t.object_id]], "of"))
        elif t.gradient_edge and t.gradient_edge.node_id in number_of:
            arrows.append(
                Arrow(
                    number_of[t.gradient_edge.node_id],
                    number,
                    "of",
                    _output(t.gradient_edge.output_nr),
                )
            )


def _output(number: int) -> str:
    """Return which output of a node an arrow stands for, where it has several."""
    return say("label.output", n=number) if number else ""
