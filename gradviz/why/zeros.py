"""Why is this gradient exactly zero: which node sent only zeros, and is that as it should be. Knows
no torch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import zip_longest

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Edge, Node, NodeRan, Tensor
from gradviz.why.explanation import Explanation
from gradviz.why.paths import NOT_IN_LOSS, RECORD, Asked, Paths, all_zero
from gradviz.words.speech import several

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
# where a slope can be 0
FLAT = ("Relu", "Threshold", "Hardtanh", "Clamp", "Round", "Floor", "Ceil", "Sign", "Trunc")
HOOK = "BackwardHookFunction"  # the node of a module's full backward hooks
EXACT_ZERO = "exactly 0 everywhere"
# of a gradient that is there
OUT = ("cut", "frozen", "never tracked")
_KEEPING = "T|Transpose|Permute|View|UnsafeView|Reshape|Expand|Unsqueeze|Squeeze|ToCopy|Clone|Mul"
KEEP_ZERO = re.compile(f"({_KEEPING})Backward")


class Zeros(Paths):
    """What is known of gradients that are there, and are all zeros."""

    def is_zero(self, tensor_id: int | None) -> bool:
        """Was it all zeros when it was last read? An optimizer may have moved it since."""
        t = self.graph.tensor.get(tensor_id)
        if t is None:
            return False
        states = self.facts.states[t.object_id]
        read = {i for c in self.facts.readers.get(t.object_id, ()) for i in c.inputs}
        used = next((s for s in reversed(states) if s.id in read), t)
        same = {s.id for s in states if s.version == used.version}
        return not self.zeros.isdisjoint(same) or (
            used.values is not None and all_zero(used.values)
        )

    def zero_leaf(self, node_id: int | None) -> Tensor | None:
        """The all-zero leaf behind an edge, through nodes that keep zeros zero."""
        while node_id is not None and node_id in self.graph.node:
            node = self.graph.node[node_id]
            if node.leaf_id is not None:
                return self.graph.tensor[node.leaf_id] if self.is_zero(node.leaf_id) else None
            behind = [
                e.next_node_id
                for e in self.graph.edges_from.get(node_id, ())
                if e.next_node_id is not None
            ]
            node_id = behind[0] if len(behind) == 1 and KEEP_ZERO.match(node.name) else None
        return None

    @cached_property
    def blocked(self) -> dict[tuple[int, int], tuple[str, Tensor | None]]:
        """Edges along which only zeros go back, each with the reason, and the zero tensor that it
        is multiplied by."""
        found: dict[tuple[int, int], tuple[str, Tensor | None]] = {}
        for _, e in (runs[-1] for runs in self.facts.runs_of_node.values()):
            if any(_some(e.arrived, e.arrived_norms)):
                some = _some(e.sent, e.sent_norms)
                found |= {
                    (e.node_id, i): ("", None)
                    for i, x in enumerate(some)
                    if x is False and e.sent[i]
                }
        for node in self.graph.nodes:
            slots = FACTORS.get(node.name, ())
            edges = {e.next_index: e.next_node_id for e in self.graph.edges_from.get(node.id, ())}
            call = self.graph.call.get(node.call_id)
            for mine, other in zip(slots, slots[::-1], strict=True):
                leaf = self.zero_leaf(edges.get(other))
                if leaf is None and edges.get(other) is None and call and len(call.inputs) == 2:
                    leaf = next(
                        (
                            t
                            for t in map(self.graph.tensor.get, call.inputs)
                            if t and not t.requires_grad and self.is_zero(t.id)
                        ),
                        None,
                    )
                if leaf is not None:
                    found[node.id, mine] = "multiplied by zeros", leaf
        return found

    def zeroed(self, asked: Asked) -> Explanation | None:
        """Zeros were written into its .grad."""
        if (cleared := self.cleared(asked)) is None:
            return None
        call, stored = cleared
        return self.say(
            asked,
            Cause.ZERO_GRADIENT,
            f"{asked.name}.grad is all zeros: they were written after the last backward.",
            calls=[call],
            why=f"backward had stored {stored}; this call wrote zeros over it.",
            mend="step before zero_grad(): the order is zero_grad, backward, step.",
            ruled_out=("cut", "frozen", "a zero slope"),
        )

    def zero_makers(self, asked: Asked) -> set[tuple[tuple[int, int], bool]] | None:
        """Return what made the zeros that arrived in the last run, as ``makers`` tells; None or
        nothing where it was not measured."""
        run = self.last_run(asked)
        return self.makers(run.run).get(run.node_id) if run else None

    def last_run(self, asked: Asked) -> NodeRan | None:
        """Return what its node did in the last backward."""
        own = self.node_of(asked)
        runs = self.facts.runs_of_node.get(own[0], []) if own else []
        return runs[-1][1] if runs else None

    def became_zeros(self, asked: Asked) -> Explanation | None:
        """Between two nodes something else than zeros became zeros."""
        changed = sorted(slot for slot, unlike in self.zero_makers(asked) or () if unlike)
        return self.changed(asked, changed) if changed else None

    def stopping(self, asked: Asked) -> list[tuple[int, int]]:
        """Return the edges from which only zeros come to it."""
        if made := self.zero_makers(asked):
            return sorted(slot for slot, _ in made)
        return self.marked(self.node_of(asked), self.stops, self.stops_above)

    def moved_at(self, asked: Asked) -> list[Tensor]:
        """Return the leaves by which it is multiplied at these edges, and that may have moved since
        they were zeros."""
        if not self.zero_makers(asked):
            return []
        unexplained = [slot for slot in self.stopping(asked) if not self.blocked[slot][1]]
        return [t for slot in unexplained for t in self.moved_factor(*slot) or ()]

    def stopped(self, asked: Asked) -> Explanation | None:
        """All its gradient comes along edges on which only zeros went."""
        stops, made, own = self.stopping(asked), self.zero_makers(asked), self.node_of(asked)
        if not stops or len(self.moved_at(asked)) >= len(stops):
            return None
        if made:
            return self.zero_because(asked, stops)
        if own and own[0] in self.open:
            return None  # something else may come on another way
        return self.zero_because(asked, self.nearest(asked, stops))

    def cancels(self, asked: Asked) -> Explanation | None:
        """Several gradients reach it, and add up to 0."""
        own = self.node_of(asked)
        sent = self.cancelling(own[0]) if own and not asked.hooked else []
        if not sent:
            return None
        n = asked.name
        return self.say(
            asked,
            Cause.ZERO_GRADIENT,
            f"{n}.grad is {EXACT_ZERO}: what reaches it adds up to 0.",
            why=f"{several(sent)} arrive there, and cancel exactly: the loss does not depend on"
            f" {n}.",
            detail="cancels",
            ruled_out=(*NOT_IN_LOSS[:3], "a zero slope"),
        )

    def zero_unproven(self, asked: Asked) -> Explanation:
        """Which node made the zeros is not proven: tell which may have."""
        moved = self.moved_at(asked)
        able = [] if moved else self.able_nodes(self.node_of(asked))
        may = self.suspects(asked, able)
        how = "Likely" if self.recorded else "Possible"
        why = f"{how}, not proven: {'; or '.join(may)}. " if may else ""
        if moved := moved or self.moved_above(asked):
            why += self.like_lora(moved)
        elif self.something_arrived(asked):
            may = []
            why = "What the last backward brought was not zero: something wrote to it, or it"
            why += " cancels. "
        # Without a loss, or a node, it may be as it should be.
        proven = self.roots and may and not moved
        unknown = "Which node made the zeros is not known here. "
        return self.say(
            asked,
            Cause.ZERO_GRADIENT if proven else Cause.NOT_KNOWN,
            f"{asked.name}.grad is there, and it is {EXACT_ZERO}.",
            calls=self.calls_of(able),
            detail="zero",
            nodes=[x.id for x in able],
            why=(why or unknown) + ("" if self.recorded else f"{RECORD}."),
            ruled_out=OUT if self.reaches(asked) else ("frozen",),
        )

    def moved_above(self, asked: Asked) -> list[Tensor]:
        """Return the leaf by which all its gradient is multiplied, where that may have moved."""
        own = self.node_of(asked)
        return self.moved_factors(own[0]) if own and not asked.hooked else []

    def able_nodes(self, own: tuple[int, int] | None) -> list[Node]:
        """Return the nodes on the way to it that can send only zeros, each once."""
        slopes = dict.fromkeys(node for node, _ in self.marked(own, self.flat, self.near_above))
        return [self.graph.node[i] for i in slopes if not self.late(i)]

    def calls_of(self, nodes: Iterable[Node]) -> list[Call]:
        """Return the calls that made these nodes, in their order."""
        ids = {node.call_id for node in nodes if node.call_id is not None}
        return [self.graph.call[i] for i in sorted(ids)]

    def suspects(self, asked: Asked, able: Iterable[Node]) -> list[str]:
        """Say what may have made the zeros, each once."""
        may = ["the hook on it (register_hook)"] if asked.hooked else []
        how = {True: "a hook of a module", False: "whose slope can be 0"}
        may += [f"{x.name}, {how[x.name.startswith(HOOK)]}" for x in able]
        return list(dict.fromkeys(may))

    def like_lora(self, moved: Iterable[Tensor]) -> str:
        """Say that a factor may have been all zeros at that forward: LoRA's B after its first
        step."""
        names = several(list(dict.fromkeys(self.words.name(t.id) for t in moved)))
        return (
            f"It is multiplied by {names}, which gets a gradient itself: if {names} was all"
            " zeros at that forward (LoRA's B is, in the first step), this is as it should"
            " be. "
        )

    def something_arrived(self, asked: Asked) -> bool:
        """Say whether the last backward brought it something else than zeros."""
        run = self.last_run(asked)
        return run is not None and any(_some(run.arrived, run.arrived_norms))

    def makers(self, run: int) -> dict[int, set[tuple[tuple[int, int], bool]]]:
        """What made the zeros that arrived at each node in one run, where all of it was measured:
        edges along which only zeros went although something else arrived (False), or zeros arrived
        although something else went (True).
        """
        if run not in self.found_makers:
            found: dict[int, set[tuple[tuple[int, int], bool]]] = {}  # an empty one: not known
            # output, edge, is it not all zeros
            came: dict[int, list[tuple[int, tuple[int, int], bool | None]]] = {}
            for e in self.facts.nodes_of_run.get(run, ()):
                arrived, sent, got = (
                    _some(e.arrived, e.arrived_norms),
                    _some(e.sent, e.sent_norms),
                    came.get(e.node_id),
                )
                for x in self.graph.edges_from.get(e.node_id, ()):
                    if (
                        x.next_node_id is not None
                        and x.next_index < len(sent)
                        and e.sent[x.next_index] is not None
                    ):
                        came.setdefault(x.next_node_id, []).append(
                            (x.input_nr, x[:2], sent[x.next_index])
                        )
                if any(arrived):
                    continue
                outputs = [output for output, _, some in got or () if some]
                parts = [
                    (
                        {(slot, True)}
                        if some
                        else set()
                        if some is None
                        else found.get(slot[0], {(slot, False)})
                    )
                    for _, slot, some in got or ()
                ]
                # Several that are not zero may cancel; what no node sent was given to backward().
                known = None not in arrived and len(outputs) == len(set(outputs)) and all(parts)
                found[e.node_id] = set().union(*parts) if known else set()
            self.found_makers[run] = found
        return self.found_makers[run]

    def changed(self, asked: Asked, slots: Sequence[tuple[int, int]]) -> Explanation:
        """Between two nodes something else than zeros became zeros."""
        nodes = [self.graph.node[i] for i in dict.fromkeys(i for i, _ in slots)]
        calls = [
            self.graph.call[i] for i in dict.fromkeys(x.call_id for x in nodes) if i is not None
        ]
        hook, n, own = (
            "a hook on the tensor between (register_hook)",
            asked.name,
            self.node_of(asked),
        )
        ends = {
            e.next_node_id
            for slot in slots
            for e in self.graph.edges_from[slot[0]]
            if e[:2] == slot
        }
        mine = asked.hooked and own is not None and ends == {own[0]}
        made = f"the hook on {n}" if mine else f"{hook}, a cast or a sum over what was broadcast"
        who, likely = nodes[0].name, "" if mine else "likely, not proven, "
        return self.say(
            asked,
            Cause.ZERO_GRADIENT,
            f"{n}.grad is {EXACT_ZERO}: only zeros came of what {who} sent.",
            calls=calls,
            nodes=[x.id for x in nodes],
            why=f"What it sent was not zero, and only zeros arrived: {likely}{made} made them.",
            detail="zero",
            ruled_out=("cut", "frozen", "never tracked", "a zero slope"),
        )

    @cached_property
    def open(self) -> set[int]:
        """Nodes to which a gradient comes from a loss along no edge on which only zeros go."""
        seen, todo = set[int](), list(self.roots)
        while todo:
            if (node := todo.pop()) not in seen:
                seen.add(node)
                todo += [
                    e.next_node_id
                    for e in self.graph.edges_from.get(node, ())
                    if e.next_node_id is not None and e[:2] not in self.blocked
                ]
        return seen

    @cached_property
    def stops(self) -> list[tuple[int, int]]:
        """The first edges on the way from a loss along which only zeros go."""
        return [slot for slot in self.blocked if slot[0] in self.open]

    @cached_property
    def flat(self) -> list[tuple[int, int]]:
        """The edges of nodes whose slope can be 0, where something else may have arrived."""
        nodes = [
            n.id for n in self.graph.nodes if n.name.startswith((*FLAT, HOOK)) and n.id in self.open
        ]
        slots = [e[:2] for n in nodes for e in self.graph.edges_from.get(n, ())]
        # others did not make zeros
        return [s for s in slots if s in self.blocked or s[0] not in self.facts.runs_of_node]

    @cached_property
    def stops_above(self) -> dict[tuple[int, int], int]:
        return self.arriving(self.stops)

    @cached_property
    def flat_above(self) -> dict[tuple[int, int], int]:
        return self.arriving(self.flat)

    @cached_property
    def near_above(self) -> dict[tuple[int, int], int]:
        """Without what stands before a node at which something else than zeros arrived."""
        fed = {
            n
            for n, runs in self.facts.runs_of_node.items()
            if any(_some(runs[-1][1].arrived, runs[-1][1].arrived_norms))
        }
        into = self.facts.edges_into.items()
        sole = {n: edges[0].node_id for n, edges in into if len(edges) == 1}
        for node in sole:
            leaf = self.graph.node[node].leaf_id
            while (
                leaf is not None
                and not self.starved(leaf)
                and (node := sole.get(node, -1)) not in {*fed, -1}
            ):
                fed.add(node)
        return self.arriving(self.flat, fed)

    def arriving(
        self, slots: Sequence[tuple[int, int]], ends: Iterable[int] = ()
    ) -> dict[tuple[int, int], int]:
        """Which of these edges stand on a way to each (node, output), as the bits of a whole
        number; ways start anew at ``ends``."""
        bit = {slot: 1 << i for i, slot in enumerate(slots)}
        found, at = dict[tuple[int, int], int](), dict[int, int]()
        for node in self.facts.all_in_gradient_order if slots else ():
            for e in self.graph.edges_from.get(node, ()):
                before = 0 if node in ends else at.get(node, 0)
                if e.next_node_id is not None and (bits := before | bit.get(e[:2], 0)):
                    end = e.next_node_id, e.input_nr
                    found[end] = found.get(end, 0) | bits
                    at[e.next_node_id] = at.get(e.next_node_id, 0) | bits
        return found

    def marked(
        self,
        end: tuple[int, int] | None,
        slots: Sequence[tuple[int, int]],
        above: dict[tuple[int, int], int],
    ) -> list[tuple[int, int]]:
        """Those of the edges that stand on a way to this (node, output)."""
        bits = 0 if end is None else above.get((end[0], end[1]), 0)
        return [slots[i] for i, digit in enumerate(reversed(f"{bits:b}")) if digit == "1"]

    def cancelling(self, node_id: int) -> list[str]:
        """The last gradients that were sent to a leaf and are not zero, where they are several and
        the sum is."""
        sent = dict[tuple[int, int], str | None]()
        senders = {node_id, *self.senders(node_id)}
        runs = self.facts.runs_of_node
        for _, e in sorted(x for node in senders for x in runs.get(node, ())):
            if e.node_id == node_id and any(_some(e.arrived, e.arrived_norms)):
                return []
            ends = {
                x.next_index
                for x in self.graph.edges_from.get(e.node_id, ())
                if x.next_node_id == node_id
            }
            sent |= {(e.node_id, i): e.sent[i] for i in ends if i < len(e.sent)}
        found = [v for v in sent.values() if v and not all_zero(v)]
        return found if len(found) > 1 and not any("value" in v for v in found) else []

    def late(self, node_id: int) -> bool:
        """Did all leaves that get their gradient from before this node get zeros too? Then it made
        none of them."""
        if node_id in self.lateness:
            return self.lateness[node_id]
        alive, found = self.living.get(node_id), False
        own = sum(1 << i for i, slot in enumerate(self.flat) if slot[0] == node_id)
        if alive is not None and not own & self.flat_above.get(alive, 0):  # as nearly always
            self.lateness[node_id] = False
            return False
        before, todo = set[int](), [node_id]
        while todo and not (found and alive is None):
            new = self.senders(todo.pop()) - before
            before |= new
            todo += new
            for e in (
                e
                for n in new
                for e in self.graph.edges_from.get(n, ())
                if e.next_node_id is not None
            ):
                leaf = self.leaf_behind(e.next_node_id or 0)
                if leaf is not None and not own & self.flat_above.get(
                    (e.next_node_id or 0, e.input_nr), 0
                ):
                    found = True
                    if not self.starved(leaf):
                        self.lateness[node_id] = False
                        return False
        self.lateness[node_id] = found
        return found

    @cached_property
    def living(self) -> dict[int, tuple[int, int]]:
        """Of nodes behind one that also sends to a leaf whose ``.grad`` is not all zeros: where
        such a leaf gets it."""
        found = dict[int, tuple[int, int]]()
        for node in self.facts.all_in_gradient_order:
            ends = self.ends_of([node])
            leaves = {end: self.leaf_behind(end[0]) for end in sorted(ends)}
            living = [
                end for end, leaf in leaves.items() if leaf is not None and not self.starved(leaf)
            ]
            if (end := next(iter(living), found.get(node))) is not None:
                for to, _ in ends:
                    found.setdefault(to, end)
        return found

    def senders(self, node_id: int) -> set[int]:
        """The nodes that send to a node."""
        return {e.node_id for e in self.facts.edges_into.get(node_id, ())}

    def leaf_behind(self, node_id: int) -> int | None:
        """The trainable leaf behind a node, through views."""
        node: int | None = node_id
        while node is not None and (own := self.graph.node[node]).leaf_id is None:
            behind = [
                e.next_node_id
                for e in self.graph.edges_from.get(node, ())
                if e.next_node_id is not None
            ]
            node = behind[0] if len(behind) == 1 and KEEP_ZERO.match(own.name) else None
        return None if node is None else self.graph.node[node].leaf_id

    def moved_factors(self, node: int) -> list[Tensor]:
        """The nearest trainable leaf that all its gradient is multiplied by, if that gets one and
        may have moved."""
        while len(senders := self.senders(node)) == 1:
            mine, node = node, senders.pop()
            for e in self.graph.edges_from.get(node, ()):
                if (
                    e.next_node_id == mine
                    and (found := self.moved_factor(node, e.next_index)) is not None
                ):
                    return found
        return []

    def moved_factor(self, node: int, slot: int) -> list[Tensor] | None:
        """The trainable leaf by which what goes along an edge is multiplied, where that gets a
        gradient and may have moved. None: it is not multiplied by a leaf."""
        other = self.factor(node, slot)
        behind = next(
            (e.next_node_id for e in self.graph.edges_from[node] if e.next_index == other), None
        )
        if behind is None or (at := self.leaf_behind(behind)) is None:
            return None
        leaf = self.graph.tensor[at]
        moved = leaf.object_id in self.facts.writes_by_object or not self.recorded
        return [leaf] if not self.starved(at) and moved else []

    def starved(self, leaf_id: int) -> bool:
        """Is the ``.grad`` of this leaf known to be None or all zeros?"""
        return self.graph.tensor[leaf_id].object_id in self.starving

    @cached_property
    def starving(self) -> set[int]:
        return {self.graph.tensor[i].object_id for i in self.still}

    def zero_because(self, asked: Asked, stops: list[tuple[int, int]]) -> Explanation:
        """All its gradient comes through these edges, along which only zeros went."""
        stops = self.nearest(asked, stops)
        nodes = [self.graph.node[node] for node, _ in stops]
        factors = [t for slot in stops if (t := self.blocked[slot][1]) is not None]
        if len(factors) == len(stops) and self.start_later(asked, factors):
            return self.starts_later(asked, nodes, factors)
        what, detail = (
            self.why_zero(nodes, stops)
            if not factors
            else (
                f"its gradient is multiplied by {self.each(factors)}, which is all zeros.",
                "zero",
            )
        )
        who = several(list(dict.fromkeys(x.name for x in nodes)))
        casts = all(x.name.startswith("ToCopy") for x in nodes)
        return self.say(
            asked,
            Cause.UNDERFLOW if casts else Cause.ZERO_GRADIENT,
            f"{asked.name}.grad is {EXACT_ZERO}: {who} sends only zeros back.",
            calls=self.calls_in_order(nodes),
            nodes=[x.id for x in nodes],
            tensors=[t.id for t in factors],
            why=what[0].upper() + what[1:],
            mend="scale the loss up, e.g. with torch.amp.GradScaler." if casts else "",
            ruled_out=OUT,
            detail=detail,
        )

    def each(self, tensors: Iterable[Tensor]) -> str:
        """Name these tensors, each once."""
        return several(list(dict.fromkeys(self.words.name(t.id) for t in tensors)))

    def calls_in_order(self, nodes: Iterable[Node]) -> list[Call]:
        """Return the calls that made these nodes, each once."""
        ids = dict.fromkeys(node.call_id for node in nodes)
        return [self.graph.call[i] for i in ids if i is not None]

    def start_later(self, asked: Asked, factors: Iterable[Tensor]) -> bool:
        """Say whether all these factors get a gradient themselves, so that its own starts after
        the first step."""
        if not all(t.is_leaf and t.requires_grad for t in factors):
            return False
        if self.is_zero(asked.tensor_id):
            return False
        last = self.facts.latest_state
        return not any(self.stuck(last[t.object_id]) for t in factors)

    def starts_later(self, asked: Asked, nodes: list[Node], factors: list[Tensor]) -> Explanation:
        """It is multiplied by zeros that will not stay: LoRA's A in the first step."""
        names = self.each(factors)
        many = len(set(factors)) > 1
        verb, gets = ("are", "get gradients") if many else ("is", "gets a gradient")
        return self.say(
            asked,
            Cause.HEALTHY,
            f"Healthy: {asked.name}'s gradient is exactly 0 because {names} {verb} all zeros "
            "(it is multiplied by it).",
            calls=self.calls_in_order(nodes),
            tensors=[t.id for t in factors],
            nodes=[x.id for x in nodes],
            why=f"{names} {gets} too, so {asked.name}'s starts after the first step.",
            ruled_out=OUT,
            detail="zero_factor",
        )

    def why_zero(self, nodes: Sequence[Node], stops: Sequence[tuple[int, int]]) -> tuple[str, str]:
        """What is known of nodes that sent only zeros although something else arrived; and its
        detail."""
        if all(text and not text.strip("[], ") for text in map(self.last_sent, stops)):
            return "what it sent on is empty: no element of the batch took this way.", "zero"
        if all(n.name.startswith(FLAT) for n in nodes):
            return "there its slope is 0: all that arrived met a flat part.", "zero"
        if any(n.name.startswith(HOOK) for n in nodes):
            return "a backward hook of that module returned zeros in place of what arrived.", "zero"
        if any(n.name.startswith("ToCopy") for n in nodes):
            return "it casts to fewer bits, and numbers too small for these became 0.", "zero"
        if all(n.name in FACTORS for n in nodes):
            if all(self.factor(*slot) is None for slot in stops):
                return "what arrived there was not zero, and its parts cancel exactly.", "cancels"
            if names := self.factors_of(stops):
                return f"what arrived there was not zero; times {several(names)} it is 0.", "zero"
        return "what arrived there was not zero; what it sent on was.", "zero"

    def last_sent(self, slot: tuple[int, int]) -> str:
        """What a node sent along an edge in its last run; "0" where it was not seen to run."""
        node, index = slot
        return (
            (self.facts.runs_of_node[node][-1][1].sent[index] or "")
            if node in self.facts.runs_of_node
            else "0"
        )

    def factors_of(self, stops: Sequence[tuple[int, int]]) -> list[str]:
        """Name what the gradients along these edges are multiplied by, each once; nothing where
        one of them is not known."""
        ends = [
            e for s in stops for e in self.graph.edges_from[s[0]] if e.next_index == self.factor(*s)
        ]
        names = [self.words.name(i) for e in ends if (i := self.tensor_at(e)) is not None]
        known = len(ends) == len(stops) == len(names)
        return list(dict.fromkeys(names)) if known else []

    def factor(self, node: int, slot: int) -> int | None:
        """The slot of what the gradient along this edge is multiplied by."""
        slots = FACTORS.get(self.graph.node[node].name, ())
        return dict(zip(slots, slots[::-1], strict=True)).get(slot)

    def tensor_at(self, edge: Edge) -> int | None:
        """The tensor whose gradient goes along an edge."""
        if edge.next_node_id is None:
            return None
        leaf = self.leaf_behind(edge.next_node_id)
        if leaf is not None:
            return leaf
        tensor = self.facts.first_at.get((edge.next_node_id, edge.input_nr))
        return tensor.id if tensor else None

    def nearest(self, asked: Asked, stops: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The last of these edges on every way to the tensor: what stops farther away is stopped
        here too."""
        end, found, seen = self.node_of(asked), list[tuple[int, int]](), set[int]()
        todo = [end[0]] if end else []
        while todo:
            if (node := todo.pop()) not in seen:
                seen.add(node)
                edges = [e for n in self.senders(node) for e in self.graph.edges_from[n]]
                slots = [e[:2] for e in edges if e.next_node_id == node]
                found += [slot for slot in slots if slot in self.blocked]
                todo += [n for n, i in slots if (n, i) not in self.blocked]
        return found if found and set(found) <= set(stops) else stops

    def stuck(self, leaf: Tensor) -> bool:
        """Is its own gradient missing or all zeros?"""
        return leaf.grad is None or all_zero(leaf.grad) or self.starved(leaf.id)


def _some(texts: Sequence[str | None], norms: Sequence[str | None]) -> list[bool | None]:
    """Of each gradient: is it not all zeros? None: not known. One that is undefined counts as
    zeros.

    >>> _some(["[0, 0]", "1e-09", None, "[]", "9 values"], [None] * 5)
    [False, True, False, False, None]
    >>> _some(["9 values", "9 values"], ["0", "0.5"])
    [False, True]
    """
    found: list[bool | None] = []
    for text, norm in zip_longest(texts, norms):
        shape = text is not None and "value" in text
        found.append(
            (None if norm is None else norm != "0")
            if shape
            else bool(re.search("[1-9ni]", text or ""))
        )
    return found
