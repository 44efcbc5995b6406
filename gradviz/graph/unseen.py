"""Results that no recorded call made, though gradients go back through them: of ``torch.func``, of
code in C++, of what ran before the recording. Knows no torch.

Their nodes are known all the same: a call stands for them, with what their gradient goes on to as
its inputs.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call, Graph, NodeKind

UNSEEN = "unseen"  # the function of such a call


def with_unseen(graph: Graph) -> Graph:
    """Return the graph with a call for each such result, before the first one that reads it.

    Args:
        graph: of a recording.

    Returns:
        The same graph where there is none. The ids of the calls are negative.

    Example:
        >>> with_unseen(Graph()) == Graph()
        True
    """
    if all(node.call_id is not None or _is_leaf(graph, node.id) for node in graph.nodes):
        return graph
    return _Unseen(graph).graph_with_calls()


def _is_leaf(graph: Graph, node_id: int) -> bool:
    return graph.node[node_id].kind is NodeKind.ACCUMULATE_GRAD


class _Unseen:
    """Finds what no call made."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.facts = graph, Facts.of(graph)
        self.call_of: dict[int, int] = {}  # the call that stands for a node, by its place
        self.inputs: list[list[int]] = []
        self.outputs: list[list[int]] = []
        self.readers: list[Call] = []

    def graph_with_calls(self) -> Graph:
        """Return the graph with the calls."""
        for call in self.facts.ordinary_calls:
            for tensor_id in call.inputs:
                self._note(tensor_id, call)
        if not self.readers:
            return self.graph
        nodes = [
            node._replace(call_id=-1 - self.call_of[node.id]) if node.id in self.call_of else node
            for node in self.graph.nodes
        ]
        return self.graph.replace(nodes=nodes, calls=[*self._calls()])

    def _note(self, tensor_id: int, reader: Call) -> None:
        """Note what a call read, where nothing that was recorded made it."""
        state = self.graph.tensor[tensor_id]
        edge = state.gradient_edge
        if edge is None or state.is_leaf is not False or not state.requires_grad:
            return
        node = self.graph.node.get(edge.node_id)
        if node is None or node.call_id is not None or self._is_made(tensor_id):
            return
        place = self.call_of.get(node.id)
        if place is None:
            place = len(self.readers)
            self.readers.append(reader)
            self.outputs.append([])
            self.inputs.append([*dict.fromkeys(self._inputs(node.id, place))])
        if tensor_id not in self.outputs[place]:
            self.outputs[place].append(tensor_id)

    def _is_made(self, tensor_id: int) -> bool:
        """Say whether a recorded call made a state, or an earlier one of its object."""
        state: int | None = tensor_id
        while state is not None and state not in self.facts.maker:
            state = self.facts.state_before.get(state)
        return state is not None

    def _inputs(self, start: int, place: int) -> Iterator[int]:
        """Go through the tensors to which a gradient goes on behind the nodes of one call, and note
        these nodes."""
        todo = [start]
        while todo:
            node_id = todo.pop()
            if node_id in self.call_of:
                continue
            self.call_of[node_id] = place
            for edge in self.graph.edges_from.get(node_id, ()):
                if edge.next_node_id is None or self.call_of.get(edge.next_node_id) == place:
                    continue
                node = self.graph.node[edge.next_node_id]
                if _is_leaf(self.graph, node.id):
                    yield from () if node.leaf_id is None else (node.leaf_id,)
                elif node.call_id is None and node.id not in self.call_of:
                    todo.append(node.id)
                elif (result := self.facts.first_at.get((node.id, edge.input_nr))) is not None:
                    yield result.id

    def _calls(self) -> Iterator[Call]:
        """Go through all calls, each that was not seen before what read its result."""
        before: dict[int, list[Call]] = {}
        for place, reader in enumerate(self.readers):
            first, around = self._stands(reader, place)
            inputs, outputs = tuple(self.inputs[place]), tuple(self.outputs[place])
            call = Call(-1 - place, UNSEEN, inputs, outputs, True, False, None, None, False, around)
            before.setdefault(first, []).append(call)
        for call in self.graph.calls:
            yield from before.get(call.id, ())
            yield call

    def _stands(self, reader: Call, place: int) -> tuple[int, int | None]:
        """Return before which call one stands that was not seen, and in which call of a module: as
        far inside as what it read was made."""
        makers = (self.facts.maker.get(i) for i in self.inputs[place])
        inside = {m for c in makers if c for m in self.facts.module_calls_around(c.module_call)}
        home = None
        for module_call in reversed([*self.facts.module_calls_around(reader.module_call)]):
            if module_call not in inside:
                calls = (c for c in self.graph.calls if self._ran_in(c, module_call))
                return next(calls).id, home
            home = module_call
        return reader.id, home

    def _ran_in(self, call: Call, module_call: int) -> bool:
        return module_call in self.facts.module_calls_around(call.module_call)
