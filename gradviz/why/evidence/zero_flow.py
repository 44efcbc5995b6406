"""Where gradients of zeros come from: the edges along which only zeros went, and what a gradient is
multiplied by there. Knows no torch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import zip_longest

from gradviz.graph.preview import only_zeros, unread
from gradviz.graph.records import Backward, Call, Edge, Node, NodeRan, Tensor
from gradviz.why.evidence.paths import Asked, Paths, Slot

# Which slots of these nodes are factors of one product: the gradient of one is multiplied by the
# others.
FACTORS = {
    "MulBackward0": (0, 1),
    "MmBackward0": (0, 1),
    "BmmBackward0": (0, 1),
    "MvBackward0": (0, 1),
    "DotBackward0": (0, 1),
    "AddmmBackward0": (1, 2),
    "BaddbmmBackward0": (1, 2),
    "LinearBackward0": (0, 1),
    "ConvolutionBackward0": (0, 1),
}
# Which slot of these nodes is the weight by which the gradient of the input, at slot 0, is
# multiplied.
_SCALES = {
    "NativeBatchNormBackward0": 1,
    "CudnnBatchNormBackward0": 1,
    "NativeLayerNormBackward0": 1,
    "NativeGroupNormBackward0": 1,
}
# where a slope can be 0
FLAT = ("Relu", "Threshold", "Hardtanh", "Clamp", "Round", "Floor", "Ceil", "Sign", "Trunc")
HOOK = "BackwardHookFunction"  # the node of a module's full backward hooks
# nodes that keep zeros zero
_KEEPING = "T|Transpose|Permute|View|UnsafeView|Reshape|Expand|Unsqueeze|Squeeze|ToCopy|Clone|Mul"
_KEEP_ZERO = re.compile(f"({_KEEPING})Backward")

# What made zeros: edges along which only zeros went although something else arrived (False), or
# from which zeros arrived although something else went (True).
Makers = set[tuple[Slot, bool]]
# What came to a node: to which output, along which edge, and whether it was not all zeros.
Came = tuple[int, Slot, bool | None]

# what fills a tensor with one number
_FILLING = ("zero_", "zeros_", "constant_", "fill_")


class ZeroFlow(Paths):
    """What is known of gradients that are there, and are all zeros."""

    # --- tensors that are zero --------------------------------------------------------------------

    def is_zero(self, tensor_id: int | None) -> bool:
        """Say whether it was all zeros when it was last read: an optimizer may have moved it
        since."""
        t = self.graph.tensor.get(tensor_id)
        if t is None:
            return False
        states = self.facts.states[t.object_id]
        read = {i for c in self.facts.readers.get(t.object_id, ()) for i in c.inputs}
        last_read = next((s for s in reversed(states) if s.id in read), t)
        same = {s.id for s in states if s.version == last_read.version}
        if not self.zeros.isdisjoint(same):
            return True
        # steps may have written it since; with a gradient of zeros they cannot have made it zero
        if states[-1].id in self.zeros and t.is_leaf and self.stuck(states[-1]):
            return True
        return last_read.values is not None and only_zeros(last_read.values)

    def zero_leaf(self, node_id: int) -> Tensor | None:
        """Return the all-zero leaf behind a node, through nodes that keep zeros zero."""
        leaf_id = self.leaf_behind(node_id)
        if leaf_id is None or not self.is_zero(leaf_id):
            return None
        return self.graph.tensor[leaf_id]

    def leaf_behind(self, node_id: int) -> int | None:
        """Return the leaf behind a node, through nodes that keep zeros zero."""
        node = self.graph.node.get(node_id)
        while node is not None and node.leaf_id is None:
            edges = self.graph.edges_from.get(node.id, ())
            behind = [e.next_node_id for e in edges if e.next_node_id is not None]
            passes = len(behind) == 1 and _KEEP_ZERO.match(node.name)
            node = self.graph.node.get(behind[0]) if passes else None
        return node.leaf_id if node else None

    def starved(self, leaf_id: int) -> bool:
        """Say whether the ``.grad`` of this leaf is known to be None or all zeros."""
        return self.graph.tensor[leaf_id].object_id in self.starving

    @cached_property
    def starving(self) -> set[int]:
        """The objects whose ``.grad`` is known to be None or all zeros."""
        return {self.graph.tensor[i].object_id for i in self.still}

    def stuck(self, leaf: Tensor) -> bool:
        """Say whether its own gradient is missing or all zeros."""
        return leaf.grad is None or only_zeros(leaf.grad) or self.starved(leaf.id)

    def zero_layer(self, call: Call) -> list[Tensor]:
        """Return the trained leaves of the call before another, where all of them are zeros."""
        maker = self.facts.maker.get(call.inputs[0])
        inputs = [self.graph.tensor[i] for i in maker.inputs] if maker else []
        leaves = [t for t in inputs if t.is_leaf and t.requires_grad]
        return leaves if all(self.is_zero(t.id) for t in leaves) else []

    def are_both_zero(self, asked: Asked, factors: Sequence[Tensor]) -> bool:
        """Say whether a leaf and what its gradient is multiplied by are all zeros, and those are
        leaves that get no gradient either."""
        last = self.facts.latest_state
        trained = all(t.is_leaf and t.requires_grad for t in factors)
        return (
            trained
            and self.is_zero(asked.tensor_id)
            and all(self.stuck(last[t.object_id]) for t in factors)
        )

    def start_later(self, asked: Asked, factors: Iterable[Tensor]) -> bool:
        """Say whether all these factors get a gradient themselves, so that its own starts after
        the first step."""
        if not all(t.is_leaf and t.requires_grad for t in factors):
            return False
        last = self.facts.latest_state
        return not any(self.stuck(last[t.object_id]) for t in factors)

    def zeroing(self, object_id: int) -> list[Call]:
        """Return the last call that wrote a leaf, where that filled it with one number."""
        writes = self.facts.writes_by_object.get(object_id, ())
        calls = [self.graph.call[e.call_id] for e in writes]
        own = [c for c in calls if c.function in _FILLING]
        return own[-1:]

    # --- edges along which only zeros go ----------------------------------------------------------

    @cached_property
    def blocked(self) -> Mapping[Slot, Tensor | None]:
        """Edges along which only zeros go back, each with the zero tensor that it is multiplied
        by, where that is why."""
        return {**dict.fromkeys(self.seen_to_send_zeros()), **self.multiplied_by_zeros()}

    def seen_to_send_zeros(self) -> list[Slot]:
        """Return the edges along which the last run of a node sent only zeros, although something
        else arrived."""
        last_runs = [runs[-1][1] for runs in self.facts.runs_of_node.values()]
        return [
            (run.node_id, index)
            for run in last_runs
            if any(_some(run.arrived, run.arrived_norms))
            for index, some in enumerate(_some(run.sent, run.sent_norms))
            if some is False and run.sent[index]
        ]

    def multiplied_by_zeros(self) -> dict[Slot, Tensor]:
        """Return the edges along which a gradient is multiplied by zeros, each with these."""
        blocked = {}
        for node in self.graph.nodes:
            slots = FACTORS.get(node.name, ())
            for mine, other in zip(slots, slots[::-1], strict=True):
                zeros = self.zeros_at(node, other)
                if zeros is not None:
                    blocked[node.id, mine] = zeros
            scale = _SCALES.get(node.name)
            zeros = None if scale is None else self.scale_of_zeros(node, scale)
            if zeros is not None:
                blocked[node.id, 0] = zeros
        return blocked

    def scale_of_zeros(self, node: Node, slot: int) -> Tensor | None:
        """Return the all-zero weight of a norm that stands at a slot of its node."""
        edges = {e.next_index: e.next_node_id for e in self.graph.edges_from.get(node.id, ())}
        behind = edges.get(slot)
        return None if behind is None else self.zero_leaf(behind)

    def zeros_at(self, node: Node, slot: int) -> Tensor | None:
        """Return the all-zero factor of a product that stands at a slot of its node."""
        edges = {e.next_index: e.next_node_id for e in self.graph.edges_from.get(node.id, ())}
        behind = edges.get(slot)
        if behind is not None:
            return self.zero_leaf(behind)
        # A factor that asks for no gradient has no edge.
        call = self.graph.call.get(node.call_id)
        if call is None or len(call.inputs) != 2:
            return None
        untracked = [
            t for i in call.inputs if (t := self.graph.tensor.get(i)) and not t.requires_grad
        ]
        return next((t for t in untracked if self.is_zero(t.id)), None)

    @cached_property
    def open(self) -> set[int]:
        """Nodes to which a gradient comes from a loss along no edge on which only zeros go."""
        seen: set[int] = set()
        todo = list(self.roots)
        while todo:
            node = todo.pop()
            if node in seen:
                continue
            seen.add(node)
            edges = (e for e in self.graph.edges_from.get(node, ()) if e[:2] not in self.blocked)
            todo += [e.next_node_id for e in edges if e.next_node_id is not None]
        return seen

    @cached_property
    def stops(self) -> list[Slot]:
        """The first edges on the way from a loss along which only zeros go."""
        return [slot for slot in self.blocked if slot[0] in self.open]

    @cached_property
    def flat(self) -> list[Slot]:
        """The edges of nodes whose slope can be 0, where something else may have arrived."""
        names = (*FLAT, HOOK)
        nodes = [n.id for n in self.graph.nodes if n.name.startswith(names) and n.id in self.open]
        slots = [e[:2] for n in nodes for e in self.graph.edges_from.get(n, ())]
        # others did not make zeros
        return [s for s in slots if s in self.blocked or s[0] not in self.facts.runs_of_node]

    def last_sent(self, slot: Slot) -> str:
        """Return what a node sent along an edge in its last run; "0" where it was not seen to
        run."""
        node_id, index = slot
        if node_id not in self.facts.runs_of_node:
            return "0"
        return self.facts.runs_of_node[node_id][-1][1].sent[index] or ""

    def sent_nothing(self, stops: Iterable[Slot]) -> bool:
        """Say whether what went along each of these edges has no elements."""
        return all(text and not text.strip("[], ") for text in map(self.last_sent, stops))

    # --- what a gradient is multiplied by along an edge -------------------------------------------

    def factor(self, node_id: int, slot: int) -> int | None:
        """Return the slot of what the gradient along this edge is multiplied by."""
        slots = FACTORS.get(self.graph.node[node_id].name, ())
        return dict(zip(slots, slots[::-1], strict=True)).get(slot)

    def tensor_at(self, edge: Edge) -> int | None:
        """Return the tensor whose gradient goes along an edge."""
        if edge.next_node_id is None:
            return None
        leaf_id = self.leaf_behind(edge.next_node_id)
        if leaf_id is not None:
            return leaf_id
        tensor = self.facts.first_at.get((edge.next_node_id, edge.input_nr))
        return tensor.id if tensor else None

    def moved_factors(self, node_id: int) -> list[Tensor]:
        """Return the nearest trainable leaf that all its gradient is multiplied by, if that gets
        one and may have moved."""
        while len(senders := self.senders(node_id)) == 1:
            receiver, node_id = node_id, senders.pop()
            edges = self.graph.edges_from.get(node_id, ())
            slots = [e.next_index for e in edges if e.next_node_id == receiver]
            factors = (self.moved_factor(node_id, slot) for slot in slots)
            nearest = next((leaves for leaves in factors if leaves is not None), None)
            if nearest is not None:
                return nearest
        return []

    def moved_factor(self, node_id: int, slot: int) -> list[Tensor] | None:
        """Return the trainable leaf by which what goes along an edge is multiplied, where that
        gets a gradient and may have moved; None where it is not multiplied by a leaf."""
        other = self.factor(node_id, slot)
        edges = (e for e in self.graph.edges_from[node_id] if e.next_index == other)
        behind = next((e.next_node_id for e in edges), None)
        leaf_id = None if behind is None else self.leaf_behind(behind)
        if leaf_id is None:
            return None
        leaf = self.graph.tensor[leaf_id]
        moved = leaf.object_id in self.facts.writes_by_object or not self.recorded
        return [leaf] if moved and not self.starved(leaf_id) else []

    def parts_cancel(self, nodes: Iterable[Node], stops: Iterable[Slot]) -> bool:
        """Say whether these are edges of products that are multiplied by nothing, as those to a
        bias: what arrived there is only added up."""
        stops = list(stops)
        products = all(node.name in FACTORS for node in nodes)
        alone = all(self.factor(*slot) is None for slot in stops)
        return products and alone and not self.sent_nothing(stops)

    # --- which of them stand on a way to a tensor -------------------------------------------------

    @cached_property
    def stops_above(self) -> dict[Slot, int]:
        """Which of ``stops`` stand on a way to each (node, output), as bits."""
        return self.arriving(self.stops)

    @cached_property
    def flat_above(self) -> dict[Slot, int]:
        """Which of ``flat`` stand on a way to each (node, output), as bits."""
        return self.arriving(self.flat)

    @cached_property
    def near_above(self) -> dict[Slot, int]:
        """The same, without what stands before a node at which something else than zeros
        arrived."""
        return self.arriving(self.flat, self.fed)

    @cached_property
    def fed(self) -> set[int]:
        """Nodes at which something else than zeros arrived: seen to, or sole ways to a leaf whose
        gradient is not zero."""
        last_runs = {n: runs[-1][1] for n, runs in self.facts.runs_of_node.items()}
        fed = {n for n, run in last_runs.items() if any(_some(run.arrived, run.arrived_norms))}
        into = self.facts.edges_into.items()
        sole_sender = {n: edges[0].node_id for n, edges in into if len(edges) == 1}
        for leaf_node in sole_sender:
            leaf_id = self.graph.node[leaf_node].leaf_id
            if leaf_id is None or self.starved(leaf_id):
                continue
            node = sole_sender.get(leaf_node)
            while node is not None and node not in fed:
                fed.add(node)
                node = sole_sender.get(node)
        return fed

    def arriving(self, slots: Sequence[Slot], ends: Iterable[int] = ()) -> dict[Slot, int]:
        """Return which of these edges stand on a way to each (node, output), as the bits of a
        whole number; ways start anew at ``ends``."""
        bit = {slot: 1 << i for i, slot in enumerate(slots)}
        at_output: dict[Slot, int] = {}
        at_node: dict[int, int] = {}
        for node in self.facts.all_in_gradient_order if slots else ():
            before = 0 if node in ends else at_node.get(node, 0)
            for e in self.graph.edges_from.get(node, ()):
                bits = before | bit.get(e[:2], 0)
                if bits and e.next_node_id is not None:
                    output = e.next_node_id, e.input_nr
                    at_output[output] = at_output.get(output, 0) | bits
                    at_node[e.next_node_id] = at_node.get(e.next_node_id, 0) | bits
        return at_output

    def marked(
        self, end: Slot | None, slots: Sequence[Slot], above: Mapping[Slot, int]
    ) -> list[Slot]:
        """Return those of the edges that stand on a way to this (node, output)."""
        bits = 0 if end is None else above.get((end[0], end[1]), 0)
        return [slots[i] for i, digit in enumerate(reversed(f"{bits:b}")) if digit == "1"]

    def nearest(self, asked: Asked, stops: list[Slot]) -> list[Slot]:
        """Return the last of these edges on every way to the tensor: what stops farther away is
        stopped here too."""
        end = self.node_of(asked)
        last: list[Slot] = []
        seen: set[int] = set()
        todo = [end[0]] if end else []
        while todo:
            node = todo.pop()
            if node in seen:
                continue
            seen.add(node)
            slots = self.slots_into(node)
            last += [slot for slot in slots if slot in self.blocked]
            todo += [n for n, i in slots if (n, i) not in self.blocked]
        return last if last and set(last) <= set(stops) else stops

    def slots_into(self, node_id: int) -> list[Slot]:
        """Return the edges that lead to a node."""
        edges = (e for sender in self.senders(node_id) for e in self.graph.edges_from[sender])
        return [e[:2] for e in edges if e.next_node_id == node_id]

    def senders(self, node_id: int) -> set[int]:
        """Return the nodes that send to a node."""
        return {e.node_id for e in self.facts.edges_into.get(node_id, ())}

    def stopping(self, asked: Asked) -> list[Slot]:
        """Return the edges from which only zeros come to it."""
        if makers := self.zero_makers(asked):
            return sorted(slot for slot, _ in makers)
        return self.marked(self.node_of(asked), self.stops, self.stops_above)

    def moved_at(self, asked: Asked) -> list[Tensor]:
        """Return the leaves by which it is multiplied at these edges, and that may have moved since
        they were zeros."""
        if not self.zero_makers(asked):
            return []
        unexplained = [slot for slot in self.stopping(asked) if self.blocked[slot] is None]
        return [t for slot in unexplained for t in self.moved_factor(*slot) or ()]

    def moved_above(self, asked: Asked) -> list[Tensor]:
        """Return the leaf by which all its gradient is multiplied, where that may have moved."""
        end = self.node_of(asked)
        return self.moved_factors(end[0]) if end and not asked.hooked else []

    # --- what the last run brought ----------------------------------------------------------------

    def last_run(self, asked: Asked) -> NodeRan | None:
        """Return what its node did in the last backward."""
        end = self.node_of(asked)
        runs = self.facts.runs_of_node.get(end[0], []) if end else []
        return runs[-1][1] if runs else None

    def something_arrived(self, asked: Asked) -> bool:
        """Say whether the last backward brought it something else than zeros."""
        run = self.last_run(asked)
        return run is not None and any(_some(run.arrived, run.arrived_norms))

    def zero_makers(self, asked: Asked) -> Makers | None:
        """Return what made the zeros that arrived in the last run, as ``makers`` tells; None or
        nothing where it was not measured."""
        run = self.last_run(asked)
        return self.makers(run.run).get(run.node_id) if run else None

    def makers(self, run: int) -> dict[int, Makers]:
        """Return what made the zeros that arrived at each node in one run; nothing at a node where
        not all of it was measured."""
        if run not in self._makers:
            self._makers[run] = self.find_makers(run)
        return self._makers[run]

    @cached_property
    def _makers(self) -> dict[int, dict[int, Makers]]:
        """What ``makers`` found, by run."""
        return {}

    def find_makers(self, run: int) -> dict[int, Makers]:
        """Follow one run, node by node, and find what made the zeros at each."""
        makers: dict[int, Makers] = {}
        came: dict[int, list[Came]] = {}
        for ran in self.facts.nodes_of_run.get(run, ()):
            arrived = _some(ran.arrived, ran.arrived_norms)
            if not any(arrived):
                makers[ran.node_id] = _made_by(arrived, came.get(ran.node_id, ()), makers)
            for node_id, part in self.sent_on(ran):
                came.setdefault(node_id, []).append(part)
        return makers

    def sent_on(self, ran: NodeRan) -> Iterator[tuple[int, Came]]:
        """Yield what one run of a node sent to which node."""
        sent = _some(ran.sent, ran.sent_norms)
        for e in self.graph.edges_from.get(ran.node_id, ()):
            if e.next_node_id is None or e.next_index >= len(sent):
                continue
            if ran.sent[e.next_index] is not None:
                yield e.next_node_id, (e.input_nr, e[:2], sent[e.next_index])

    # --- several gradients that add up to 0 -------------------------------------------------------

    def cancelling_ways(self, asked: Asked) -> list[Slot]:
        """Return the edges of the last run along which something else than zeros came to the
        nearest place above a tensor where several meet, and where only zeros arrived."""
        run = self.last_run(asked)
        while run is not None and not any(_some_of_run(run)):
            ran = {e.node_id: e for e in self.facts.nodes_of_run[run.run]}
            slots = [slot for slot in self.slots_into(run.node_id) if slot[0] in ran]
            alive = [
                (node, i) for node, i in slots if i < len(ran[node].sent) and _sends(ran[node], i)
            ]
            if len(alive) > 1:
                return alive
            run = ran[slots[0][0]] if len(slots) == 1 else None
        return []

    def cancelling(self, node_id: int) -> list[str]:
        """Return the last gradients that were sent to a leaf and are not zero, where they are
        several and the sum is."""
        own_runs = [ran for _, ran in self.facts.runs_of_node.get(node_id, ())]
        if any(any(_some(ran.arrived, ran.arrived_norms)) for ran in own_runs):
            return []
        sent = self.last_sent_to(node_id)
        measured = not any("value" in text for text in sent)
        return sent if len(sent) > 1 and measured else []

    def last_sent_to(self, node_id: int) -> list[str]:
        """Return what was last sent along each edge to a node and is known not to be all zeros, in
        the order of the first time."""
        runs = self.facts.runs_of_node
        sent = dict[Slot, str]()
        for _, ran in sorted(x for n in self.senders(node_id) for x in runs.get(n, ())):
            edges = self.graph.edges_from.get(ran.node_id, ())
            indices = {e.next_index for e in edges if e.next_node_id == node_id}
            for i in (i for i in indices if i < len(ran.sent)):
                sent.pop((ran.node_id, i), None)
                if _sends(ran, i):
                    sent[ran.node_id, i] = ran.sent[i] or ""
        return list(sent.values())

    # --- backwards that begin with zeros ----------------------------------------------------------

    def begun_with_zeros(self, asked: Asked) -> list[Call]:
        """Return the calls of the backwards that reached a tensor, where each of them began with a
        gradient of zeros."""
        end = self.node_of(asked)
        ran = self.facts.runs_of_node.get(end[0], []) if end else []
        runs = dict.fromkeys(run.run for _, run in ran)
        begun = [b for b in self.graph.backwards if b.run in runs]
        if len(begun) < len(runs) or not all(map(self._brought_zeros_alone, begun)):
            return []
        return [self.graph.call[b.call_id] for b in begun]

    def _brought_zeros_alone(self, backward: Backward) -> bool:
        """Say whether nothing but zeros came to what a backward began at, and these were seen."""
        at_roots = [
            ran
            for ran in self.facts.nodes_of_run.get(backward.run, ())
            if ran.node_id in backward.roots
        ]
        return bool(at_roots) and all(ran.arrived and brought_zeros(ran) for ran in at_roots)

    # --- nodes that can make zeros ----------------------------------------------------------------

    def able_nodes(self, end: Slot | None) -> list[Node]:
        """Return the nodes on the way to it that can send only zeros, each once."""
        slopes = dict.fromkeys(node for node, _ in self.marked(end, self.flat, self.near_above))
        return [self.graph.node[i] for i in slopes if not self.late(i)]

    def late(self, node_id: int) -> bool:
        """Say whether all leaves that get their gradient from before this node got zeros too: then
        it made none of them."""
        if node_id not in self._late:
            self._late[node_id] = self.only_zeros_before(node_id)
        return self._late[node_id]

    @cached_property
    def _late(self) -> dict[int, bool]:
        """What ``late`` answered, by node."""
        return {}

    def only_zeros_before(self, node_id: int) -> bool:
        """Look for a leaf whose gradient comes from before this node and is not zero; say whether
        there are leaves, and no such one."""
        bits = sum(1 << i for i, slot in enumerate(self.flat) if slot[0] == node_id)
        living = self.living.get(node_id)
        if living is not None and not bits & self.flat_above.get(living, 0):  # as nearly always
            return False
        starved = False
        for end in self.ends_before(node_id):
            leaf_id = self.leaf_behind(end[0])
            if leaf_id is None or bits & self.flat_above.get(end, 0):
                continue
            if not self.starved(leaf_id):
                return False
            starved = True
            if living is None:
                break
        return starved

    def ends_before(self, node_id: int) -> Iterator[Slot]:
        """Yield every (node, output) to which the nodes before this one send."""
        before: set[int] = set()
        todo = [node_id]
        while todo:
            new = self.senders(todo.pop()) - before
            before |= new
            todo += new
            yield from self.flow.ends_of(new)

    @cached_property
    def living(self) -> dict[int, Slot]:
        """Of nodes behind one that also sends to a leaf whose ``.grad`` is not all zeros: where
        such a leaf gets it."""
        found: dict[int, Slot] = {}
        for node in self.facts.all_in_gradient_order:
            ends = self.flow.ends_of([node])
            living = next((end for end in sorted(ends) if self.leads_to_living(end[0])), None)
            if (end := living or found.get(node)) is not None:
                for to, _ in ends:
                    found.setdefault(to, end)
        return found

    def leads_to_living(self, node_id: int) -> bool:
        """Say whether the leaf behind a node gets a gradient that is not all zeros."""
        leaf_id = self.leaf_behind(node_id)
        return leaf_id is not None and not self.starved(leaf_id)


def _made_by(
    arrived: Sequence[bool | None], came: Iterable[Came], makers: Mapping[int, Makers]
) -> Makers:
    """Return what made the zeros that arrived at a node; nothing where not all was measured.

    Args:
        arrived: of each output, whether it was not all zeros.
        came: what other nodes sent there.
        makers: what made the zeros that arrived at those.
    """
    came = list(came)
    parts = [_made_by_part(slot, some, makers) for _, slot, some in came]
    # Several that are not zero may cancel; what no node sent was given to backward().
    alive = [output for output, _, some in came if some]
    known = None not in arrived and len(alive) == len(set(alive)) and all(parts)
    return set[tuple[Slot, bool]]().union(*parts) if known else set()


def _made_by_part(slot: Slot, some: bool | None, makers: Mapping[int, Makers]) -> Makers:
    """Return what made zeros of what went along one edge; nothing where it was not measured."""
    if some is None:
        return set()
    return {(slot, True)} if some else makers.get(slot[0], {(slot, False)})


def _some_of_run(run: NodeRan) -> list[bool | None]:
    """Say of each gradient that arrived at a node whether it may be something else than zeros."""
    return [some is not False for some in _some(run.arrived, run.arrived_norms)]


def brought_zeros(run: NodeRan) -> bool:
    """Say whether something arrived at a node, and all of it is known to have been zeros."""
    arrived = _some_of_run(run)
    return bool(arrived) and not any(arrived)


def _sends(run: NodeRan, index: int) -> bool:
    """Say whether a node is known to have sent something else than zeros along an edge."""
    return _some(run.sent, run.sent_norms)[index] is True


def _some(texts: Sequence[str | None], norms: Sequence[str | None]) -> list[bool | None]:
    """Say of each gradient whether it is not all zeros; None where that is not known. One that is
    undefined counts as zeros.

    >>> _some(["[0, 0]", "1e-09", None, "[]", "(9,)"], [None] * 5)
    [False, True, False, False, None]
    >>> _some(["(9,)", "(9,)"], ["0", "0.5"])
    [False, True]
    """
    return [is_some(text or "", norm) for text, norm in zip_longest(texts, norms)]


def is_some(text: str, norm: str | None) -> bool | None:
    """Say whether a gradient is not all zeros, from its preview or else its norm."""
    if not unread(text):
        return bool(re.search("[1-9ni]", text))
    return None if norm is None else norm != "0"
