"""What belongs to one loss: which tensors its gradient reaches, and where the way to the others
ends. Knows no torch.

NOTE [what is proven]: a recording knows every call, so it proves where a path was cut, and that a
tensor was not used. A graph that was only read has no calls: it proves that no path leads to a
tensor, never why there is none. Notes and stubs say that something is missing; then "never" is not
claimed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property

from gradviz.graph.facts import Facts, code_of
from gradviz.graph.records import Call, Cut, CutReason, GradientEdge, Graph, NodeKind, Tensor, Wrote

REENTRANT = "CheckpointFunction"  # reentrant checkpoint: torch's, and those made after it
End = tuple[int, int]  # where a gradient arrives: a node, and which of its outputs


class Flow:
    """The way of the gradient of one loss, or of several; what the questions about many tensors
    share is computed once.

    Tensors are asked about by their id in the graph. Of an id of None, a tensor that the graph does
    not have, nothing is known: no state, no end, no path.

    Args:
        graph: of a recording, or of a capture.
        losses: ids of the tensors whose backward is meant; left out, those on which a recorded
            backward was called.

    Example:
        >>> Flow(Graph()).reaches(None)
        False
    """

    def __init__(self, graph: Graph, losses: Sequence[int] = ()) -> None:
        self.graph = graph
        self.facts = Facts.of(graph)
        self.losses = list(losses) or _last_losses(self.facts)
        edges = [graph.tensor[i].gradient_edge for i in self.losses]
        self.roots = {edge.node_id for edge in edges if edge}
        self.ends_below: dict[int, set[End]] = {}  # what ``led_to`` answered

    # --- the loss ---------------------------------------------------------------------------------

    @cached_property
    def behind(self) -> set[int]:
        """Every tensor state that the loss was computed from, cut or not."""
        return self.facts.ancestors(self.losses)

    @cached_property
    def made_by(self) -> float:
        """The last call that the loss was made by: what is called later did not lead to it."""
        makers = [self.maker(i) for i in self.losses]
        return max((m.id if m else math.inf for m in makers), default=math.inf)

    @cached_property
    def nodes(self) -> set[int]:
        """Every node that a backward of the loss would run, those in the recording."""
        return {n for n in self.facts.reachable(self.roots) if n in self.graph.node}

    @cached_property
    def is_whole(self) -> bool:
        """Whether everything is known that the loss was made from: NOTE [what is proven]."""
        met = [self.graph.node[n] for n in self.nodes]
        older = any(n.call_id is None and n.kind is not NodeKind.ACCUMULATE_GRAD for n in met)
        return bool(self.graph.calls) and not self.graph.notes and not older

    @cached_property
    def met(self) -> set[End]:
        """Every end at which a gradient of the loss arrives, the roots apart."""
        return self.ends_of(self.facts.reachable(self.roots))

    @cached_property
    def checkpoints(self) -> list[set[int] | None]:
        """The objects that went into each reentrant checkpoint of the loss; None: not known."""
        met = [self.graph.node[n] for n in self.facts.reachable(self.roots)]
        calls = [self.graph.call.get(n.call_id) for n in met if n.name.startswith(REENTRANT)]
        return [{self.graph.tensor[i].object_id for i in c.inputs} if c else None for c in calls]

    # --- one tensor -------------------------------------------------------------------------------

    def states(self, tensor_id: int | None) -> list[Tensor]:
        """Return every recorded state of the tensor."""
        state = self.graph.tensor.get(tensor_id)
        return self.facts.states[state.object_id] if state else []

    def writes_to(self, tensor_id: int | None) -> list[Wrote]:
        """Return every recorded write to the tensor."""
        state = self.graph.tensor.get(tensor_id)
        return self.facts.writes_by_object.get(state.object_id, []) if state else []

    def maker(self, tensor_id: int | None) -> Call | None:
        """Return the call that made the tensor, where one is known."""
        calls = (self.facts.maker.get(t.id) for t in reversed(self.states(tensor_id)))
        return next((call for call in calls if call), None)

    def end_of(self, tensor_id: int | None) -> End | None:
        """Return where a gradient for the tensor arrives."""
        for t in reversed(self.states(tensor_id)):
            if t.gradient_edge:
                return t.gradient_edge
            if t.object_id in self.facts.accumulate_node:
                return self.facts.accumulate_node[t.object_id], 0
        return None

    def above(self, tensor_id: int | None) -> set[int]:
        """Return every node from which a gradient reaches the tensor, not the node itself."""
        end = self.end_of(tensor_id)
        if end is None:
            return set()
        into = self.facts.edges_into.get(end[0], ())
        senders = {e.node_id for e in into if e.input_nr == end[1]}
        return senders | self.facts.above(senders)

    def reaches(self, tensor_id: int | None) -> bool:
        """Say whether a gradient path leads from the loss to the tensor."""
        end = self.end_of(tensor_id)
        return end is not None and (end in self.met or (end[1] == 0 and end[0] in self.roots))

    def filled(self, tensor_id: int | None) -> bool:
        """Say whether a backward of the loss filled its ``.grad``."""
        runs = {b.call_id for b in self.graph.backwards if self.roots & {*b.roots}}
        return any(e.call_id in runs for e in self.writes_to(tensor_id))

    def is_hidden(self, tensor_id: int | None) -> bool:
        """Say whether it may be inside a reentrant checkpoint of the loss."""
        objects = {t.object_id for t in self.states(tensor_id)}
        return any(given is None or objects & given for given in self.checkpoints)

    def connected(self, tensor_id: int | None) -> set[int]:
        """Return the tensor states from which a gradient still reaches the tensor, itself
        included."""
        nodes = (self.facts.states_at.get(n, ()) for n in self.above(tensor_id))
        return {t.id for states in (*nodes, self.states(tensor_id)) for t in states}

    def leaves_behind(self, tensor_id: int | None) -> list[int]:
        """Return the leaves that its gradient goes on to, by id."""
        end = self.end_of(tensor_id)
        nodes = self.facts.reachable([end[0]] if end else [])
        return [n.leaf_id for n in self.graph.nodes if n.id in nodes and n.leaf_id is not None]

    def leaves_directly_behind(self, tensor_id: int | None) -> list[Tensor]:
        """Return the leaves to which its node itself sends gradients."""
        end = self.end_of(tensor_id)
        edges = self.graph.edges_from.get(end[0], ()) if end else ()
        nodes = [self.graph.node[e.next_node_id] for e in edges if e.next_node_id is not None]
        leaf_ids = dict.fromkeys(node.leaf_id for node in nodes)
        return [self.graph.tensor[i] for i in leaf_ids if i is not None]

    # --- cuts -------------------------------------------------------------------------------------

    def separating(self, tensor_id: int | None) -> list[Cut]:
        """Return the cuts through which its value goes on to the loss, and no gradient comes
        back."""
        return [c for c in self.cuts_after(tensor_id) if c.output_id in self.behind]

    def cuts_after(self, tensor_id: int | None) -> list[Cut]:
        """Return the cuts of values from which a gradient would still reach the tensor, its own
        included."""
        objects = {t.object_id for t in self.states(tensor_id)}
        end = self.end_of(tensor_id)
        cuts = []
        for cut in self.facts.real_cuts:
            if cut.call_id > self.made_by:
                continue
            value = self.graph.tensor[cut.input_id]
            edge = self.edge_of(value)
            near = value.object_id in objects or (edge and end in self.led_to(edge.node_id))
            if near and not is_deepcopy(self.graph.call[cut.call_id]):
                cuts.append(cut)
        return cuts

    def edge_of(self, value: Tensor) -> GradientEdge | None:
        """Return where a gradient for a value arrives; for a view that was written in place, where
        one for its base does: torch makes the view's own node only when somebody asks for it."""
        if value.gradient_edge or value.base_id is None or not value.requires_grad:
            return value.gradient_edge
        bases = self.facts.states[self.graph.tensor[value.base_id].object_id]
        return next((t for t in bases if t.id > value.id), bases[-1]).gradient_edge

    def cuts_behind(self, tensor_ids: Iterable[int]) -> list[Cut]:
        """Return the cuts by which the values of these tensors came."""
        behind = self.facts.ancestors(tensor_ids)
        return [c for c in self.facts.real_cuts if c.output_id in behind]

    # --- edges ------------------------------------------------------------------------------------

    def led_to(self, node_id: int) -> set[End]:
        """Return every end at which a gradient from this node arrives; asked for each parameter,
        so it is kept."""
        if node_id not in self.ends_below:
            self.ends_below[node_id] = self.ends_of(self.facts.reachable([node_id]))
        return self.ends_below[node_id]

    def ends_of(self, nodes: Iterable[int]) -> set[End]:
        """Return the ends of every edge that leaves these nodes."""
        edges = (e for n in nodes for e in self.graph.edges_from.get(n, ()))
        return {(e.next_node_id, e.input_nr) for e in edges if e.next_node_id is not None}


def is_deepcopy(call: Call) -> bool:
    """Say whether a call belongs to a ``copy.deepcopy``. That makes a leaf of its own, and cuts
    nothing off."""
    if call.function == "__deepcopy__":
        return True
    return call.function in ("data", "clone") and "deepcopy" in code_of(call)


def in_reentrant_checkpoint(cut: Cut, graph: Graph) -> bool:
    """Say whether a reentrant checkpoint cut, because none of its inputs asked for gradient."""
    return cut.reason is CutReason.NO_GRAD and cuts_of_checkpoint(cut, graph) == {CutReason.NO_GRAD}


def cuts_of_checkpoint(cut: Cut, graph: Graph) -> set[CutReason]:
    """Return why the reentrant checkpoint of a cut cut; nothing of another call."""
    call = graph.call[cut.call_id]
    if not call.function.startswith(REENTRANT) or not call.grad_mode:
        return set()
    return {c.reason for c in graph.cuts if c.call_id == call.id}


def _last_losses(facts: Facts) -> list[int]:
    """Return the tensors on which a recorded backward was called, without those that autograd.grad
    derived with a graph on the way to another: what drops out of a derivative has no part there."""
    call, tensor = facts.graph.call, facts.graph.tensor
    runs = [(b.kind, call[b.call_id]) for b in facts.graph.backwards]
    ends = {i for kind, made in runs if kind == "backward" for i in made.inputs[:1]}
    behind = facts.ancestors(ends) if len(ends) < len(facts.losses) else set[int]()
    on_the_way = {
        made.inputs[0]
        for kind, made in runs
        if kind == "grad" and made.inputs and made.inputs[0] not in ends
        if any(tensor[i].requires_grad and i in behind for i in made.outputs)
    }
    return [i for i in facts.losses if i not in on_the_way]
