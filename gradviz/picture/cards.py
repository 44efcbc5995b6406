"""Graph -> Scene: which cards, arrows and frames a reader needs. Plain data, no colours, no layout,
no torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradviz.graph.facts import Facts
from gradviz.graph.of_torch import OfTorch
from gradviz.graph.preview import only_zeros
from gradviz.graph.records import Call, Cut, CutReason, Edge, Graph, NodeKind, Tensor
from gradviz.picture import frames
from gradviz.picture.rows import RowWriter, names
from gradviz.picture.scene import Arrow, Card, Scene, describe
from gradviz.words.notes import note_text
from gradviz.words.speech import say, values_of
from gradviz.words.words import Words

Pair = tuple["_Draft", "_Draft"]  # the card of a value that is read, the card of what is made
Drawn = tuple[str, str, str]  # of an arrow: kind, label, mark


class _Draft:
    """A card in the making: the states of one tensor object that one box stands for, or one
    node."""

    def __init__(self, kind: str = "") -> None:
        self.kind = kind
        self.states: list[Tensor] = []
        self.calls: list[Call] = []
        self.nodes: list[int] = []
        self.order: tuple[int, int] = (0, 0)
        self.before: set[_Draft] = set()  # cards that this one was made from


def scene(graph: Graph) -> Scene:
    """Make the cards view of a graph: one card a result, in program order.

    Args:
        graph: what was recorded or captured.

    Returns:
        All cards, arrows and frames, unfolded.
    """
    return _Builder(graph).build()


class _Builder:
    """Builds one Scene. Each step reads the graph and what earlier steps have put into ``self``."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.facts, self.words = graph, Facts.of(graph), Words(graph)
        self.of_torch = OfTorch(self.facts)
        self.cards_of_object: dict[int | None, list[_Draft]] = {}  # by object id, oldest first
        self.card_of_state: dict[int, _Draft] = {}  # tensor id -> its card
        self.card_of_node: dict[int, _Draft] = {}
        # (node id, output_nr) of a node with several outputs
        self.card_of_output: dict[tuple[int, int], _Draft] = {}
        self.output_of_card: dict[_Draft, tuple[int, int]] = {}
        self.drafts: list[_Draft] = []
        self.arrows: list[Arrow] = []
        # (call id, input id) of a cut -> the card of the value that left torch there
        self.card_of_end: dict[tuple[int, int], _Draft] = {}

    def build(self) -> Scene:
        """Return the scene."""
        self.place_states()
        self.drop_hidden()
        self.place_nodes()
        self.place_ends()
        writer = RowWriter(self.graph)
        self.drafts.sort(key=lambda d: d.order)
        index = {draft: i for i, draft in enumerate(self.drafts)}
        self.draw_arrows(index)
        cards = [self.written_card(i, draft, writer) for draft, i in index.items()]
        boxes, cards = frames.boxes(self.graph, cards)
        return Scene(
            tuple(cards), tuple(self.arrows), boxes, tuple(map(note_text, self.graph.notes))
        )

    def written_card(self, i: int, draft: _Draft, writer: RowWriter) -> Card:
        """Write one card, from what its draft holds."""
        last = draft.states[-1] if draft.states else None
        _, output = self.output_of_card.get(draft, (None, None))
        leaf = not last or self.is_leaf_card(last, draft)
        kind, rows = writer.rows(draft.kind, draft.states, draft.calls, draft.nodes, output, leaf)
        return Card(
            i,
            kind,
            tuple(rows),
            _detail(last, draft.calls),
            (last.name or "") if last else "",
            tuple(t.id for t in draft.states),
            tuple(draft.nodes),
            self.call_ids(draft),
            grad_fn=self.grad_fn_names(draft, writer),
        )

    def call_ids(self, draft: _Draft) -> tuple[int, ...]:
        """Return the calls behind a card; behind a node alone, the one that made it."""
        if draft.calls or not draft.nodes:
            return tuple(call.id for call in draft.calls)
        maker = self.graph.node[draft.nodes[0]].call_id
        return () if maker is None else (maker,)

    def grad_fn_names(self, draft: _Draft, writer: RowWriter) -> str:
        """Return the names of the nodes behind the ``grad_fn`` of a tensor's card."""
        inner = [n for n in draft.nodes if n not in self.facts.leaf_at]
        if not inner or not draft.states:
            return ""
        if len(inner) > 1:
            inner, _ = writer.by_age(draft.states[-1], self.facts.gradient_order(inner))
        return names(self.graph, inner)

    def is_leaf_card(self, tensor: Tensor, draft: _Draft) -> bool:
        """Tell whether the card tells what happened to the gradient of a leaf, if it is one."""
        node_id = self.facts.accumulate_node.get(tensor.object_id, -1)
        return self.card_of_node.get(node_id, draft) is draft

    # --- which tensors share a card ---------------------------------------------------------------

    def place_states(self) -> None:
        """Give every object a card. An in-place call adds a line to it, unless that would make the
        picture a circle."""
        for call in self.graph.calls:
            self.place_states_of(call)
        for t in self.graph.tensors:
            if t.object_id not in self.of_torch.objects:
                self.place_state(t.id, (len(self.graph.calls), t.id))
        for draft in self.drafts:
            draft.states.sort(key=lambda t: t.id)

    def place_states_of(self, call: Call) -> None:
        """Place what one call read, made, wrote and put a hook on."""
        # autograd.grad: its results are cards, its inputs no readers
        backward = call.id in self.facts.backward_calls
        inputs = set() if backward else self.place_inputs(call)
        writes = self.facts.writes_by_call.get(call.id, [])
        written = () if backward else (w.after_id for w in writes if not w.alias)
        for o in dict.fromkeys((*call.outputs, *written)):
            if self.object_of(o) in self.cards_of_object or (
                o in self.graph.tensor and not call.bookkeeping
            ):
                self.place_result(o, call, inputs)
        for w in writes:
            self.place_state(w.after_id, (call.id, 1))
        hooked = self.facts.hooked_by_call.get(call.id)
        if hooked is not None:
            self.place_state(hooked, (call.id, 0))
            self.card_of_state[hooked].calls.append(call)

    def place_inputs(self, call: Call) -> set[_Draft]:
        """Place what a call read, and return the cards of it."""
        for i in call.inputs:
            if not call.bookkeeping or self.object_of(i) in self.cards_of_object:
                self.place_state(i, (call.id, 0))
        return {self.card_of_state[i] for i in call.inputs if i in self.card_of_state}

    def object_of(self, tensor_id: int) -> int | None:
        """Return the object of which a tensor is a state."""
        tensor = self.graph.tensor.get(tensor_id)
        return tensor.object_id if tensor else None

    def place_state(self, tensor_id: int, order: tuple[int, int]) -> None:
        """Put a state on the newest card of its object that is not newer than itself."""
        tensor = self.graph.tensor.get(tensor_id)
        if tensor is None or tensor_id in self.card_of_state:
            return
        cards = self.cards_of_object.setdefault(tensor.object_id, [])
        cards += [] if cards else [self.start_card(order)]
        draft = next(
            (d for d in reversed(cards) if d.states and d.states[0].id < tensor_id), cards[0]
        )
        draft.states.append(tensor)
        self.card_of_state[tensor_id] = draft

    def place_result(self, tensor_id: int, call: Call, inputs: set[_Draft]) -> None:
        # returned unchanged, as no-op .to() and requires_grad_() on a leaf do
        """Put what a call returned on a card, a new one where the old one would close a circle."""
        if tensor_id in self.card_of_state:
            draft = self.card_of_state[tensor_id]
            if draft.calls and call not in draft.calls and tensor_id not in call.inputs:
                draft.calls.append(call)
            return
        tensor = self.graph.tensor[tensor_id]
        cards = self.cards_of_object.setdefault(tensor.object_id, [])
        cycle = bool(cards) and any(cards[-1] in _ancestors(i) for i in inputs - {cards[-1]})
        inputs = inputs | {cards[-1]} if cycle else inputs
        cards += [self.start_card((call.id, 1))] if cycle or not cards else []
        draft = cards[-1]
        draft.calls.append(call)
        draft.states.append(tensor)
        draft.before |= inputs - {draft}
        self.card_of_state[tensor_id] = draft

    def start_card(self, order: tuple[int, int], kind: str = "") -> _Draft:
        """Start a card."""
        draft = _Draft(kind)
        draft.order = order
        self.drafts.append(draft)
        return draft

    def drop_hidden(self) -> None:
        """Leave out unnamed values that no gradient and no cut touches, and no call that raised:
        constants on their way into a call, and a .grad that only backward and the optimizer write.
        """
        keep = self.roots_and_ends_of_cuts() | self.read_by_calls_that_raised()
        used = self.facts.ordinary_calls
        writes = (self.facts.writes_by_call.get(call.id, ()) for call in used)
        written = {w.after_id for some in writes for w in some}
        read = {i for call in used for i in (*call.inputs, *call.outputs)}
        keep |= {draft for draft in self.drafts if _is_wanted(draft, read, written)}
        keep |= self.between(keep)
        self.drafts = [d for d in self.drafts if d in keep]
        self.card_of_state = {i: d for i, d in self.card_of_state.items() if d in keep}

    def roots_and_ends_of_cuts(self) -> set[_Draft]:
        """Return the cards of the roots, and those on both sides of every cut."""
        ends = (i for cut in self.graph.cuts for i in (cut.input_id, cut.output_id))
        ids = (*self.graph.roots, *(i for i in ends if i is not None))
        return {self.card_of_state[i] for i in ids if i in self.card_of_state}

    def read_by_calls_that_raised(self) -> set[_Draft]:
        """Return the cards of what is read by the calls whose error is a card."""
        return {
            self.card_of_state[i]
            for call in self.calls_that_raised()
            for i in call.inputs
            if i in self.card_of_state
        }

    def between(self, keep: set[_Draft]) -> set[_Draft]:
        """Return the cards that were made of kept ones, and that kept ones were made of."""
        derived: dict[_Draft, bool] = {}
        for draft in self.drafts:  # in program order, so what it was made from is known
            derived[draft] = draft in keep or any(derived.get(b) for b in draft.before)
        on_the_way: set[_Draft] = set()
        for draft in reversed(self.drafts):
            if draft in keep or draft in on_the_way:
                on_the_way |= {b for b in draft.before if derived.get(b)}
        return on_the_way

    # --- which nodes belong to which card ---------------------------------------------------------

    def place_nodes(self) -> None:
        """Put every node on the card of the tensor whose ``grad_fn`` it is; one that several share
        gets a card of its own."""
        for node_id, outputs in self.outputs_of_nodes().items():
            if len(set(outputs.values())) == 1:
                self.put_node(self.read_from(node_id, list(outputs)), node_id)
            else:
                self.start_node_card(node_id)
                self.card_of_output |= {(node_id, nr): draft for draft, nr in outputs.items()}
                self.output_of_card |= {draft: (node_id, nr) for draft, nr in outputs.items()}
        for object_id, node_id in self.facts.accumulate_node.items():
            last = self.facts.latest_state[object_id].id
            if node_id not in self.card_of_node and last in self.card_of_state:
                self.put_node(self.card_of_state[last], node_id)
        self.place_inner_nodes()

    def outputs_of_nodes(self) -> dict[int, dict[_Draft, int]]:
        """Return, by node, the cards of its outputs, each with the number of the output."""
        outputs: dict[int, dict[_Draft, int]] = {}
        for draft in self.drafts:
            for t in draft.states:
                edge = t.gradient_edge
                if edge and edge.node_id in self.graph.node:
                    outputs.setdefault(edge.node_id, {})[draft] = edge.output_nr
        return outputs

    def read_from(self, node_id: int, cards: list[_Draft]) -> _Draft:
        """Choose, of several cards of one object, the last one that was read by a call to which its
        gradient belongs."""
        edges = self.facts.edges_into.get(node_id, []) if len(cards) > 1 else []
        return next((card for e in reversed(edges) if (card := self.read_by(e, cards))), cards[-1])

    def read_by(self, edge: Edge, cards: list[_Draft]) -> _Draft | None:
        """Find the card of the state that the call behind an edge read."""
        made = self.graph.node[edge.node_id].call_id
        inputs = self.graph.call[made].inputs if made is not None else ()
        return next(
            (self.card_of_state[i] for i in inputs if self.card_of_state.get(i) in cards), None
        )

    def place_inner_nodes(self) -> None:
        """Put the further nodes of a call on the card of its result; what two results share stands
        alone."""
        of_torch = self.of_torch.nodes
        placed = of_torch | self.card_of_node.keys()
        left = (n.id for n in self.graph.nodes if n.id not in placed)
        users: dict[int, set[_Draft]] = {}
        for node_id in self.facts.gradient_order(left):
            results = self.results_of(node_id, users)
            users[node_id] = results
            if len(results) == 1:
                self.put_node(next(iter(results)), node_id)
            else:
                users[node_id] = {self.start_node_card(node_id)}

    def results_of(self, node_id: int, users: dict[int, set[_Draft]]) -> set[_Draft]:
        """Find the cards to which the other nodes of a node's call belong that send to it."""
        call_id = self.graph.node[node_id].call_id
        results: set[_Draft] = set()
        if call_id is None:
            return results
        for e in self.facts.edges_into.get(node_id, ()):
            sender = self.graph.node.get(e.node_id)
            if sender and sender.call_id == call_id:
                results |= users.get(e.node_id) or {self.card_of_node[e.node_id]}
        return results

    def put_node(self, draft: _Draft, node_id: int) -> None:
        """Put a node on a card."""
        self.card_of_node[node_id] = draft
        draft.nodes.append(node_id)

    def start_node_card(self, node_id: int) -> _Draft:
        """Start a card for a node alone."""
        node = self.graph.node[node_id]
        into = self.facts.edges_into.get(node_id, ())
        users = [e.node_id for e in into if e.node_id in self.card_of_node]
        user_order = min(
            (self.card_of_node[u].order for u in users), default=(len(self.graph.calls), 0)
        )
        order = (node.call_id, 0) if node.call_id is not None else (user_order[0], -1)
        draft = self.start_card(
            order, "accumulate" if node.kind is NodeKind.ACCUMULATE_GRAD else "node"
        )
        self.put_node(draft, node_id)
        return draft

    def place_ends(self) -> None:
        """Give a value that left torch, and a call that raised, a card of its own."""
        outside: dict[int, _Draft] = {}  # the card of a value that left torch, by call
        for cut in self.graph.cuts:
            call = self.graph.call.get(cut.call_id)
            is_inside = cut.output_id in self.card_of_state
            if call and not is_inside and cut.input_id in self.card_of_state:
                draft = outside.get(call.id) or self.start_card((call.id, 1), "untracked")
                outside[call.id] = self.card_of_end[call.id, cut.input_id] = draft
                draft.calls = [call]
        for call in self.calls_that_raised():
            draft = self.start_card((call.id, 1), "raised")
            draft.calls.append(call)
            draft.before = {self.card_of_state[i] for i in call.inputs if i in self.card_of_state}

    def calls_that_raised(self) -> Iterator[Call]:
        """Yield the calls that raised and made nothing all the same, no backward."""
        for event in self.facts.errors:
            call = self.graph.call.get(event.call_id)
            made = call and set(call.outputs) & self.card_of_state.keys()
            if call and not made and call.id not in self.facts.backward_calls:
                yield call

    # --- arrows -----------------------------------------------------------------------------------

    def draw_arrows(self, index: dict[_Draft, int]) -> None:
        """Draw every use, gradient and cut between two cards, in the cards' order."""
        uses, cuts = self.uses_and_cuts(index)
        paths = self.gradient_paths()
        detached = self.detached()
        pairs = sorted({*uses, *paths, *cuts}, key=lambda p: (index[p[1]], index[p[0]]))
        for tail, head in pairs:
            edges = paths.get((tail, head), [])
            dead, cut = detached.get(head, (set(), None))
            alive = [e for e in edges if not self.is_dead(e, dead)]
            cut = cuts.get((tail, head), cut if len(alive) < len(edges) else None)
            drawn = [Arrow(index[tail], index[head], *a) for a in self.gradient_arrows(alive)]
            if cut:
                drawn.append(_cut_arrow(index[tail], index[head], cut))
            if not drawn:
                drawn.append(Arrow(index[tail], index[head], *self.output_arrow(tail, head)))
            self.arrows += drawn
        ran = {node_id for _, node_id in self.facts.arrived}
        for draft, (dead, _) in detached.items():
            draft.nodes = [n for n in draft.nodes if n not in dead or n in ran]

    def is_dead(self, edge: Edge, dead: set[int]) -> bool:
        """Tell whether an edge comes from a node that nothing leads to any more, and brought no
        gradient before."""
        return edge.node_id in dead and (edge.node_id, edge.next_index) not in self.facts.sent

    def uses_and_cuts(self, index: dict[_Draft, int]) -> tuple[dict[Pair, int], dict[Pair, Cut]]:
        """Return which card reads which, and where a cut lies between the two."""
        uses: dict[Pair, int] = {}
        cuts: dict[Pair, Cut] = {}
        for call in self.graph.calls:
            if not call.bookkeeping and call.id not in self.facts.backward_calls:
                self.read_call(call, uses, cuts)
        for draft in self.drafts:
            if draft.kind == "raised":
                uses |= {(source, draft): 1 for source in draft.before if source in index}
        for (node_id, _), draft in self.card_of_output.items():
            uses.setdefault((self.card_of_node[node_id], draft), 0)
        return uses, cuts

    def read_call(self, call: Call, uses: dict[Pair, int], cuts: dict[Pair, Cut]) -> None:
        """Add what one call reads, and what it cuts off."""
        heads = self.heads_of(call)
        shared = self.pills_of(call, heads)
        for i in call.inputs:
            tail, cut = self.card_of_state.get(i), self.facts.cut_of.get((call.id, i))
            if tail is None:
                continue
            if cut and (call.id, i) in self.card_of_end:
                cuts[tail, self.card_of_end[call.id, i]] = cut
            for head in heads if cut else shared or heads:
                if head is tail:
                    continue
                if cut and (cut.output_id is None or self.card_of_state.get(cut.output_id) is head):
                    cuts[tail, head] = cut
                else:
                    uses[tail, head] = uses.get((tail, head), 0) + 1

    def heads_of(self, call: Call) -> list[_Draft]:
        """Return the cards of what a call made and wrote."""
        wrote = self.facts.writes_by_call.get(call.id, ())
        writes = [w.after_id for w in wrote if not w.alias]
        # the others are handed back unchanged
        made = [o for o in call.outputs if o not in call.inputs]
        cards = (self.card_of_state[o] for o in (*made, *writes) if o in self.card_of_state)
        return list(dict.fromkeys(cards))

    def pills_of(self, call: Call, heads: list[_Draft]) -> list[_Draft]:
        """Return the pills through which a call with several results made those of its cards."""
        outputs = [self.output_of_card[d][0] for d in heads if d in self.output_of_card]
        made = (n for n in outputs if self.graph.node[n].call_id == call.id)
        return list(dict.fromkeys(self.card_of_node[n] for n in made))

    def detached(self) -> dict[_Draft, tuple[set[int], Cut | None]]:
        """Return the cards that ``detach_`` cut from what they were made of, and their nodes that
        nothing leads to any more."""
        detached: dict[_Draft, tuple[set[int], Cut | None]] = {}
        into = self.facts.edges_into
        for cut in self.graph.cuts:
            draft = (
                self.card_of_state.get(cut.input_id)
                if cut.reason is CutReason.DETACH_IN_PLACE
                else None
            )
            edge = self.graph.tensor[cut.input_id].gradient_edge
            if draft is None or edge is None:
                continue
            dead = {edge.node_id}
            for node_id in self.facts.gradient_order(draft.nodes):
                if any(e.node_id in dead for e in into.get(node_id, ())):
                    dead.add(node_id)
            if not any(e.node_id not in dead for n in dead for e in into.get(n, ())):
                detached[draft] = dead, cut
        return detached

    def gradient_paths(self) -> dict[Pair, list[Edge]]:
        """Return edges between two cards, by the value's (source, result)."""
        paths: dict[Pair, list[Edge]] = {}
        for e in self.graph.edges:
            if (
                e.next_node_id is None
                or e.next_node_id not in self.card_of_node
                or e.node_id not in self.card_of_node
            ):
                continue
            head = self.card_of_node[e.node_id]
            tail = self.card_of_output.get(
                (e.next_node_id, e.input_nr), self.card_of_node[e.next_node_id]
            )
            cards = self.cards_of_object.get(tail.states[-1].object_id, []) if tail.states else []
            if len(cards) > 1:
                tail = self.read_by(e, cards) or tail
            if tail is not head:
                paths.setdefault((tail, head), []).append(e)
        return paths

    def gradient_arrows(self, edges: Iterable[Edge]) -> list[Drawn]:
        """Return one an edge; but a view that was written has nodes of both its times, which read
        the same value once."""
        arrows, first = [], dict[Drawn, int]()
        for e in edges:
            arrow = self.gradient_arrow(e)
            if arrow[0] != "forward" or first.setdefault(arrow, e.node_id) == e.node_id:
                arrows.append(arrow)
        return arrows

    def gradient_arrow(self, edge: Edge) -> Drawn:
        """Return the arrow of one edge: what went along it, or that backward raised there."""
        drawn = (edge.next_node_id, edge.input_nr) in self.card_of_output
        mark = say("label.output", n=edge.input_nr) if edge.input_nr and not drawn else ""
        at = edge.node_id, edge.next_index
        label = self.words.sent_label(at)
        if label is not None:
            return "zeros" if at in self.facts.zeros_along else "gradient", label, mark
        if edge.node_id == self.facts.last_raised_at:
            return "raise", say("card.raises_here"), mark
        return "forward", "", mark

    def output_arrow(self, tail: _Draft, head: _Draft) -> Drawn:
        """Return the arrow from the pill of a node with several outputs to one of their cards."""
        output = self.output_of_card.get(head)
        shown = output and self.card_of_node[output[0]] is tail
        arrived = self.facts.arrived.get(output) if output and shown else None
        if not arrived:
            return "forward", "", ""
        return "zeros" if only_zeros(arrived) else "gradient", values_of(arrived), ""


def _detail(tensor: Tensor | None, calls: list[Call]) -> str:
    """Return what hovering over a card tells: its tensor, and where it was made."""
    parts = [describe(tensor)] if tensor else []
    for call in calls[:1]:
        parts += [say("card.module", module=call.module)] if call.module else []
        parts += [say("label.line", line=call.source.line)] if call.source else []
    return " · ".join(parts)


def _is_wanted(draft: _Draft, read: set[int], written: set[int]) -> bool:
    """Tell whether a card stands for something that a gradient may touch, or that an ordinary call
    wrote, or that has a name and took part."""
    ids = {t.id for t in draft.states}
    named = any(t.name and not t.name.endswith(".grad") for t in draft.states)
    named = named or not ids.isdisjoint(read)
    return any(
        (t.name and named) or t.gradient_edge or t.requires_grad or t.id in written
        for t in draft.states
    )


def _cut_arrow(tail: int, head: int, cut: Cut) -> Arrow:
    """Return the arrow of a cut: its reason, and what follows from it."""
    reason = say(f"cut.{cut.reason.name.lower()}")
    label = say("card.cut_back", reason=reason)
    short = say("card.cut", reason=reason)
    return Arrow(tail, head, "cut", label, short=short, reason=cut.reason.value)


def _ancestors(draft: _Draft) -> set[_Draft]:
    """Find the cards that a card was made from, itself included."""
    seen: set[_Draft] = set()
    todo = [draft]
    while todo:
        one = todo.pop()
        if one not in seen:
            seen.add(one)
            todo += one.before
    return seen
