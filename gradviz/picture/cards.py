"""Graph -> Scene: which cards, arrows and frames a reader needs. Plain data, no colours, no layout,
no torch."""

from __future__ import annotations

from collections.abc import Iterable

from gradviz.graph.facts import Facts
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
    """The cards view of a graph: one card a result, in program order.

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
        self.cards_of: dict[int | None, list[_Draft]] = {}  # by object id, oldest first
        self.of_state: dict[int, _Draft] = {}  # tensor id -> its card
        self.of_node: dict[int, _Draft] = {}
        # (node id, output_nr) of a node with several outputs
        self.of_output: dict[tuple[int, int], _Draft] = {}
        self.output_of: dict[_Draft, tuple[int, int]] = {}
        self.drafts: list[_Draft] = []
        self.arrows: list[Arrow] = []
        self.ends: dict[tuple[int, int], _Draft] = {}  # cut -> the card of a value that left torch

    def build(self) -> Scene:
        self.place_states()
        self.drop_hidden()
        self.place_nodes()
        self.place_ends()
        write = RowWriter(self.graph)
        self.drafts.sort(key=lambda d: d.order)
        index = {draft: i for i, draft in enumerate(self.drafts)}
        self.draw_arrows(index)
        cards = [self.card(i, draft, write) for draft, i in index.items()]
        boxes, cards = frames.boxes(self.graph, cards)
        return Scene(
            tuple(cards), tuple(self.arrows), boxes, tuple(map(note_text, self.graph.notes))
        )

    def card(self, i: int, draft: _Draft, write: RowWriter) -> Card:
        last = draft.states[-1] if draft.states else None
        _, output = self.output_of.get(draft, (None, None))
        leaf = not last or self.is_leaf_card(last, draft)
        kind, rows = write.rows(draft.kind, draft.states, draft.calls, draft.nodes, output, leaf)
        detail = [describe(last)] if last else []
        calls = [c.id for c in draft.calls]
        if (
            not calls
            and draft.nodes
            and (made := self.graph.node[draft.nodes[0]].call_id) is not None
        ):
            calls = [made]
        for call in draft.calls[:1]:
            detail += [say("card.module", module=call.module)] if call.module else []
            detail += [say("label.line", line=call.source.line)] if call.source else []
        return Card(
            i,
            kind,
            tuple(rows),
            " · ".join(detail),
            (last.name or "") if last else "",
            tuple(t.id for t in draft.states),
            tuple(draft.nodes),
            tuple(calls),
            grad_fn=self.grad_fn(draft, write),
        )

    def grad_fn(self, draft: _Draft, write: RowWriter) -> str:
        """Return the names of the nodes behind the ``grad_fn`` of a tensor's card."""
        inner = [n for n in draft.nodes if n not in self.facts.leaf_at]
        if not inner or not draft.states:
            return ""
        if len(inner) > 1:
            inner, _ = write.by_age(draft.states[-1], self.facts.gradient_order(inner))
        return names(self.graph, inner)

    def is_leaf_card(self, tensor: Tensor, draft: _Draft) -> bool:
        """Whether the card tells what happened to the gradient of a leaf, if it is one."""
        node_id = self.facts.accumulate_node.get(tensor.object_id, -1)
        return self.of_node.get(node_id, draft) is draft

    # --- which tensors share a card ---------------------------------------------------------------

    def place_states(self) -> None:
        """One card an object. An in-place call adds a line to it, unless that would make the
        picture a circle."""
        for call in self.graph.calls:
            self.place_states_of(call)
        for t in self.graph.tensors:
            if t.object_id not in self.facts.objects_of_torch:
                self.place(t.id, (len(self.graph.calls), t.id))
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
            if self.object(o) in self.cards_of or (o in self.graph.tensor and not call.bookkeeping):
                self.place_result(o, call, inputs)
        for w in writes:
            self.place(w.after_id, (call.id, 1))
        hooked = self.facts.hooked_by_call.get(call.id)
        if hooked is not None:
            self.place(hooked, (call.id, 0))
            self.of_state[hooked].calls.append(call)

    def place_inputs(self, call: Call) -> set[_Draft]:
        """Place what a call read, and return the cards of it."""
        for i in call.inputs:
            if not call.bookkeeping or self.object(i) in self.cards_of:
                self.place(i, (call.id, 0))
        return {self.of_state[i] for i in call.inputs if i in self.of_state}

    def object(self, tensor_id: int) -> int | None:
        tensor = self.graph.tensor.get(tensor_id)
        return tensor.object_id if tensor else None

    def place(self, tensor_id: int, order: tuple[int, int]) -> None:
        """On the newest card of its object that is not newer than itself."""
        tensor = self.graph.tensor.get(tensor_id)
        if tensor is None or tensor_id in self.of_state:
            return
        cards = self.cards_of.setdefault(tensor.object_id, [])
        cards += [] if cards else [self.new(order)]
        draft = next(
            (d for d in reversed(cards) if d.states and d.states[0].id < tensor_id), cards[0]
        )
        draft.states.append(tensor)
        self.of_state[tensor_id] = draft

    def place_result(self, tensor_id: int, call: Call, inputs: set[_Draft]) -> None:
        # returned unchanged, as no-op .to() and requires_grad_() on a leaf do
        if tensor_id in self.of_state:
            draft = self.of_state[tensor_id]
            if draft.calls and call not in draft.calls and tensor_id not in call.inputs:
                draft.calls.append(call)
            return
        tensor = self.graph.tensor[tensor_id]
        cards = self.cards_of.setdefault(tensor.object_id, [])
        cycle = bool(cards) and any(cards[-1] in _ancestors(i) for i in inputs - {cards[-1]})
        inputs = inputs | {cards[-1]} if cycle else inputs
        cards += [self.new((call.id, 1))] if cycle or not cards else []
        draft = cards[-1]
        draft.calls.append(call)
        draft.states.append(tensor)
        draft.before |= inputs - {draft}
        self.of_state[tensor_id] = draft

    def new(self, order: tuple[int, int], kind: str = "") -> _Draft:
        draft = _Draft(kind)
        draft.order = order
        self.drafts.append(draft)
        return draft

    def drop_hidden(self) -> None:
        """Leave out unnamed values that no gradient and no cut touches: constants on their way into
        a call, and a .grad that only backward and the optimizer write."""
        keep = self.roots_and_ends_of_cuts()
        used = self.facts.ordinary_calls
        writes = (self.facts.writes_by_call.get(call.id, ()) for call in used)
        written = {w.after_id for some in writes for w in some}
        read = {i for call in used for i in (*call.inputs, *call.outputs)}
        keep |= {draft for draft in self.drafts if _is_wanted(draft, read, written)}
        keep |= self.between(keep)
        self.drafts = [d for d in self.drafts if d in keep]
        self.of_state = {i: d for i, d in self.of_state.items() if d in keep}

    def roots_and_ends_of_cuts(self) -> set[_Draft]:
        """Return the cards of the roots, and those on both sides of every cut."""
        ends = (i for cut in self.graph.cuts for i in (cut.input_id, cut.output_id))
        ids = (*self.graph.roots, *(i for i in ends if i is not None))
        return {self.of_state[i] for i in ids if i in self.of_state}

    def between(self, keep: set[_Draft]) -> set[_Draft]:
        """Return the cards that were made of kept ones, and that kept ones were made of."""
        derived: dict[_Draft, bool] = {}
        for draft in self.drafts:  # in program order, so what it was made from is known
            derived[draft] = draft in keep or any(derived.get(b) for b in draft.before)
        found: set[_Draft] = set()
        for draft in reversed(self.drafts):
            if draft in keep or draft in found:
                found |= {b for b in draft.before if derived.get(b)}
        return found

    # --- which nodes belong to which card ---------------------------------------------------------

    def place_nodes(self) -> None:
        owners: dict[int, dict[_Draft, int]] = {}
        for draft in self.drafts:
            for t in draft.states:
                if t.gradient_edge and t.gradient_edge.node_id in self.graph.node:
                    owners.setdefault(t.gradient_edge.node_id, {})[draft] = (
                        t.gradient_edge.output_nr
                    )
        for node_id, cards in owners.items():
            if len(set(cards.values())) == 1:
                self.own(self.read_from(node_id, list(cards)), node_id)
            else:
                self.pill(node_id)
                self.of_output |= {(node_id, nr): draft for draft, nr in cards.items()}
                self.output_of |= {draft: (node_id, nr) for draft, nr in cards.items()}
        for object_id, node_id in self.facts.accumulate_node.items():
            last = self.facts.latest_state[object_id].id
            if node_id not in self.of_node and last in self.of_state:
                self.own(self.of_state[last], node_id)
        self.place_inner_nodes()

    def read_from(self, node_id: int, cards: list[_Draft]) -> _Draft:
        """Of several cards of one object, the last one that was read by a call to which its
        gradient belongs."""
        edges = self.facts.edges_into.get(node_id, []) if len(cards) > 1 else []
        return next((card for e in reversed(edges) if (card := self.read_by(e, cards))), cards[-1])

    def read_by(self, edge: Edge, cards: list[_Draft]) -> _Draft | None:
        """The card of the state that the call behind an edge read."""
        made = self.graph.node[edge.node_id].call_id
        inputs = self.graph.call[made].inputs if made is not None else ()
        return next((self.of_state[i] for i in inputs if self.of_state.get(i) in cards), None)

    def place_inner_nodes(self) -> None:
        """A call that made several nodes shows them on its result; what two results share stands
        alone."""
        of_torch = self.facts.nodes_of_torch
        left = [n for n in self.graph.nodes if n.id not in self.of_node and n.id not in of_torch]
        users: dict[int, set[_Draft]] = {}
        for node_id in self.facts.gradient_order(n.id for n in left):
            node = self.graph.node[node_id]
            found: set[_Draft] = set()
            for e in self.facts.edges_into.get(node_id, ()):
                source = self.graph.node.get(e.node_id)
                if source and node.call_id is not None and source.call_id == node.call_id:
                    found |= users.get(e.node_id) or {self.of_node[e.node_id]}
            users[node_id] = found
            if len(found) == 1:
                self.own(next(iter(found)), node_id)
            else:
                users[node_id] = {self.pill(node_id)}

    def own(self, draft: _Draft, node_id: int) -> None:
        self.of_node[node_id] = draft
        draft.nodes.append(node_id)

    def pill(self, node_id: int) -> _Draft:
        node = self.graph.node[node_id]
        into = self.facts.edges_into.get(node_id, ())
        users = [e.node_id for e in into if e.node_id in self.of_node]
        user_order = min((self.of_node[u].order for u in users), default=(len(self.graph.calls), 0))
        order = (node.call_id, 0) if node.call_id is not None else (user_order[0], -1)
        draft = self.new(order, "accumulate" if node.kind is NodeKind.ACCUMULATE_GRAD else "node")
        self.own(draft, node_id)
        return draft

    def place_ends(self) -> None:
        """A value that left torch, and a call that raised, end in a card of their own."""
        made: dict[int, _Draft] = {}
        for cut in self.graph.cuts:
            if (
                cut.output_id not in self.of_state
                and cut.input_id in self.of_state
                and cut.call_id in self.graph.call
            ):
                if cut.call_id not in made:
                    made[cut.call_id] = self.new((cut.call_id, 1), "untracked")
                    made[cut.call_id].calls.append(self.graph.call[cut.call_id])
                self.ends[cut.call_id, cut.input_id] = made[cut.call_id]
        for event in self.facts.errors:
            call = self.graph.call.get(event.call_id)
            if call is None or call.id in self.facts.backward_calls:
                continue
            if not set(call.outputs) & self.of_state.keys():
                draft = self.new((call.id, 1), "raised")
                draft.calls.append(call)
                draft.before = {self.of_state[i] for i in call.inputs if i in self.of_state}

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
        for (node_id, _), draft in self.of_output.items():
            uses.setdefault((self.of_node[node_id], draft), 0)
        return uses, cuts

    def read_call(self, call: Call, uses: dict[Pair, int], cuts: dict[Pair, Cut]) -> None:
        """Add what one call reads, and what it cuts off."""
        heads = self.heads_of(call)
        shared = self.pills_of(call, heads)
        for i in call.inputs:
            tail, cut = self.of_state.get(i), self.facts.cut_of.get((call.id, i))
            if tail is None:
                continue
            if cut and (call.id, i) in self.ends:
                cuts[tail, self.ends[call.id, i]] = cut
            for head in heads if cut else shared or heads:
                if head is tail:
                    continue
                if cut and (cut.output_id is None or self.of_state.get(cut.output_id) is head):
                    cuts[tail, head] = cut
                else:
                    uses[tail, head] = uses.get((tail, head), 0) + 1

    def heads_of(self, call: Call) -> list[_Draft]:
        """Return the cards of what a call made and wrote."""
        wrote = self.facts.writes_by_call.get(call.id, ())
        writes = [w.after_id for w in wrote if not w.alias]
        # the others are handed back unchanged
        made = [o for o in call.outputs if o not in call.inputs]
        cards = (self.of_state[o] for o in (*made, *writes) if o in self.of_state)
        return list(dict.fromkeys(cards))

    def pills_of(self, call: Call, heads: list[_Draft]) -> list[_Draft]:
        """Return the pills through which a call with several results made those of its cards."""
        outputs = [self.output_of[d][0] for d in heads if d in self.output_of]
        made = (n for n in outputs if self.graph.node[n].call_id == call.id)
        return list(dict.fromkeys(self.of_node[n] for n in made))

    def detached(self) -> dict[_Draft, tuple[set[int], Cut | None]]:
        """Return the cards that ``detach_`` cut from what they were made of, and their nodes that
        nothing leads to any more."""
        found: dict[_Draft, tuple[set[int], Cut | None]] = {}
        into = self.facts.edges_into
        for cut in self.graph.cuts:
            draft = (
                self.of_state.get(cut.input_id) if cut.reason is CutReason.DETACH_IN_PLACE else None
            )
            edge = self.graph.tensor[cut.input_id].gradient_edge
            if draft is None or edge is None:
                continue
            dead = {edge.node_id}
            for node_id in self.facts.gradient_order(draft.nodes):
                if any(e.node_id in dead for e in into.get(node_id, ())):
                    dead.add(node_id)
            if not any(e.node_id not in dead for n in dead for e in into.get(n, ())):
                found[draft] = dead, cut
        return found

    def gradient_paths(self) -> dict[Pair, list[Edge]]:
        """Return edges between two cards, by the value's (source, result)."""
        paths: dict[Pair, list[Edge]] = {}
        for e in self.graph.edges:
            if (
                e.next_node_id is None
                or e.next_node_id not in self.of_node
                or e.node_id not in self.of_node
            ):
                continue
            head = self.of_node[e.node_id]
            tail = self.of_output.get((e.next_node_id, e.input_nr), self.of_node[e.next_node_id])
            cards = self.cards_of.get(tail.states[-1].object_id, []) if tail.states else []
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
        drawn = (edge.next_node_id, edge.input_nr) in self.of_output
        mark = say("label.output", n=edge.input_nr) if edge.input_nr and not drawn else ""
        label = self.words.sent_labels.get((edge.node_id, edge.next_index))
        if label is not None:
            return "gradient", label, mark
        if edge.node_id == self.facts.last_raised_at:
            return "raise", say("card.raises_here"), mark
        return "forward", "", mark

    def output_arrow(self, tail: _Draft, head: _Draft) -> Drawn:
        """Return the arrow from the pill of a node with several outputs to one of their cards."""
        output = self.output_of.get(head)
        shown = output and self.of_node[output[0]] is tail
        arrived = self.facts.arrived.get(output) if output and shown else None
        return ("gradient", values_of(arrived), "") if arrived else ("forward", "", "")


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
    return Arrow(tail, head, "cut", label, short=say("card.cut", reason=reason))


def _ancestors(draft: _Draft) -> set[_Draft]:
    seen: set[_Draft] = set()
    todo = [draft]
    while todo:
        one = todo.pop()
        if one not in seen:
            seen.add(one)
            todo += one.before
    return seen
