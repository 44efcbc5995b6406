"""Which way a gradient takes to one tensor, and which way its values take: what a graph proves.
Knows no torch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, TypeVar

from gradviz.graph import queries
from gradviz.graph.records import Call, Cut, CutReason, Graph, NodeKind, Tensor, Wrote
from gradviz.why.causes import Cause
from gradviz.why.explanation import Explanation, Words, lines_of, several

RECORD = (
    "Put %%gradviz above the cell, or run it in `with gv.record()`: that tells the call and the"
    " line"
)
# what makes a tensor of plain numbers
REMADE = {"tensor", "as_tensor", "asarray", "full", "scalar_tensor"}
# their call, of numbers that stand there
LITERAL = re.compile(r"(\w+ = )?[\w.]+\(([-\d.e\s,\[\]()]|\w+=[\w.]+)*\)")


NOT_IN_LOSS: tuple[str, ...] = ("cut", "frozen", "never tracked", "non-leaf")
# if not said otherwise
RULED_OUT = dict.fromkeys(
    (Cause.NOT_IN_LOSS, Cause.BRANCH_NOT_TAKEN, Cause.NO_BACKWARD_YET), NOT_IN_LOSS
)
RULED_OUT |= dict.fromkeys((Cause.CUT, Cause.REBUILT_FROM_VALUE), NOT_IN_LOSS[1:3])

Key = TypeVar("Key")
Value = TypeVar("Value")


# In place, and nothing of what was there before is left.
OVERWRITING = frozenset(
    "copy_ zero_ fill_ set_ normal_ uniform_ random_ exponential_ bernoulli_ data".split()
)


class Asked(NamedTuple):
    """The tensor whose ``.grad`` is asked for, as it is now. ``grad``: none, zero, some, nan or
    unknown."""

    name: str
    tensor_id: int | None  # in the graph; None: it is not there
    requires_grad: bool
    is_leaf: bool
    retains_grad: bool = False
    grad: str = "none"
    preview: str = ""
    parameter: bool = False  # an nn.Parameter
    inference: bool = False  # made in inference_mode
    storage_id: int | None = None  # of its memory in the graph, where only that was met
    hooked: bool = False  # register_hook


class Paths:
    """The ways through one graph; what the questions about many tensors share is computed once.

    Args:
        graph: of a recording, or of a capture.
        losses: tensors whose backward is meant; left out, those on which a recorded backward was
            called.
        zeros: ids of tensors that are known to be all zeros.
        still: ids of tensors whose ``.grad`` is known to be None or all zeros.
    """

    def __init__(
        self,
        graph: Graph,
        losses: Sequence[int] = (),
        zeros: Iterable[int] = (),
        still: Iterable[int] = (),
    ) -> None:
        self.graph, self.words, self.zeros, self.still = graph, Words(graph), set(zeros), set(still)
        self.given, self.ways = bool(losses), dict[int, set[tuple[int, int]]]()
        self.lateness, self.found_makers = (
            dict[int, bool](),
            dict[int, dict[int, set[tuple[tuple[int, int], bool]]]](),
        )
        runs = (
            [r for b in graph.backwards for r in graph.call[b.call_id].inputs[:1]]
            if graph.backwards
            else []
        )
        self.losses = list(losses) or list(dict.fromkeys(runs))
        self.roots = {
            t.gradient_edge.node_id for i in self.losses if (t := graph.tensor[i]).gradient_edge
        }
        self.loss = (
            several(list(dict.fromkeys(self.words.name(i) for i in self.losses))) or "the loss"
        )
        self.recorded = bool(graph.calls)
        self.backwards = {b.call_id for b in graph.backwards}

    def say(
        self,
        asked: Asked,
        cause: Cause,
        verdict: str,
        *,
        calls: Sequence[Call] = (),
        why: str = "",
        mend: str = "",
        ruled_out: tuple[str, ...] | None = None,
        cuts: Sequence[Cut] = (),
        nodes: Sequence[int] = (),
        tensors: Sequence[int] = (),
        more: tuple[str, ...] = (),
        detail: str = "",
    ) -> Explanation:
        """An explanation that points at the tensor and at the loss."""
        own = [] if asked.tensor_id is None else [asked.tensor_id]
        ruled_out = RULED_OUT.get(cause, ()) if ruled_out is None else ruled_out
        return Explanation(
            cause,
            verdict,
            self.words.places(calls),
            why,
            mend,
            ruled_out,
            lines_of(calls),
            tuple(cuts),
            tuple(nodes),
            tuple(dict.fromkeys([*own, *tensors, *self.losses[-1:]])),
            self.graph,
            more,
            detail,
        )

    @cached_property
    def into(self) -> dict[int, list[tuple[int, int]]]:
        """(node that sends, output it is sent for) by the node that receives."""
        edges = queries.edges_into(self.graph)
        return {node: [(e.node_id, e.input_nr) for e in found] for node, found in edges.items()}

    @cached_property
    def leaf_nodes(self) -> dict[int, int]:
        return queries.accumulate_nodes(self.graph)

    @cached_property
    def behind(self) -> set[int]:
        """Every tensor state that the loss was computed from, cut or not."""
        return self.ancestors(self.losses)

    @cached_property
    def whole(self) -> bool:
        """Is everything known that the loss was made from? See NOTE [what is proven]."""
        met = [
            self.graph.node[n]
            for n in queries.reachable(self.graph, self.roots)
            if n in self.graph.node
        ]
        older = any(n.call_id is None and n.kind is not NodeKind.ACCUMULATE_GRAD for n in met)
        return self.recorded and not self.graph.notes and not older

    @cached_property
    def calls(self) -> list[Call]:
        """Backwards and torch's own bookkeeping apart."""
        return [c for c in self.graph.calls if c.id not in self.backwards and not c.bookkeeping]

    @cached_property
    def wrote(self) -> dict[int, list[Wrote]]:
        """What each call wrote."""
        return grouped((e.call_id, e) for e in self.graph.events if isinstance(e, Wrote))

    @cached_property
    def made(self) -> set[int]:
        """The states that a recorded call returned or wrote."""
        returned = {i for c in self.graph.calls for i in c.outputs}
        return returned | {e.after_id for wrote in self.wrote.values() for e in wrote}

    def ancestors(self, tensor_ids: Iterable[int], stop: Set[int | None] = frozenset()) -> set[int]:
        """Everything that these tensors were computed from, as far as the states in ``stop``.

        A state that no call made was there before the write.
        """
        found, written = (
            set(tensor_ids),
            {i: [e.after_id for e in wrote] for i, wrote in self.wrote.items()},
        )
        previous = {b.id: a.id for states in self.of_object.values() for a, b in pairwise(states)}
        found |= {
            e.before_id
            for i in self.backwards
            for e in self.wrote.get(i, ())
            if e.after_id in found
        }
        found |= {previous[i] for i in found if i in previous and i not in self.made}
        for call in reversed(self.calls):
            if any(
                i in found and i not in stop for i in (*call.outputs, *written.get(call.id, ()))
            ):
                read = self.read_by(call)
                found.update(read)
                found |= {previous[i] for i in read if i in previous and i not in self.made}
        return found

    def read_by(self, call: Call) -> list[int]:
        """The states whose values the results of a call hold."""
        wrote = self.wrote.get(call.id, ())
        keeps = call.function.endswith("_") and call.function not in OVERWRITING
        # out=, or written from end to end
        gone = set() if keeps else {e.before_id for e in wrote if not e.alias}
        # A base keeps what lies outside of the view that was written.
        return [
            i
            for i in (*queries.read_by(call), *(e.before_id for e in wrote if e.alias))
            if i not in gone
        ]

    def states(self, asked: Asked) -> list[Tensor]:
        """Every recorded state of the tensor."""
        own = self.graph.tensor.get(asked.tensor_id)
        return self.of_object[own.object_id] if own else []

    @cached_property
    def of_object(self) -> dict[int, list[Tensor]]:
        return grouped((t.object_id, t) for t in self.graph.tensors)

    @cached_property
    def writes(self) -> dict[int, list[Wrote]]:
        """What wrote an object."""
        events = (e for e in self.graph.events if isinstance(e, Wrote))
        return grouped((self.graph.tensor[e.after_id].object_id, e) for e in events)

    @cached_property
    def rewritten(self) -> set[int | None]:
        """The memory whose values a recorded call wrote after the first backward, through whatever
        name."""
        first = min(self.backwards, default=0)
        pairs = [
            (self.graph.tensor[e.before_id], self.graph.tensor[e.after_id])
            for i, wrote in self.wrote.items()
            for e in wrote
            if i > first and i not in self.backwards
        ]
        return {
            b.storage_id for a, b in pairs if a.version != b.version or a.values != b.values
        } - {None}

    @cached_property
    def ran(self) -> set[int]:
        """The nodes of every recorded backward."""
        return {n for b in self.graph.backwards for n in (*b.ran, *b.roots)}

    @cached_property
    def reading(self) -> dict[int, list[Call]]:
        """The calls that read an object, torch's own bookkeeping apart."""
        read = (
            (dict.fromkeys(self.graph.tensor[i].object_id for i in c.inputs), c) for c in self.calls
        )
        return grouped((own, c) for objects, c in read for own in objects)

    def node_of(self, asked: Asked) -> tuple[int, int] | None:
        """(node, output) at which a gradient for the tensor arrives."""
        for t in reversed(self.states(asked)):
            if t.gradient_edge:
                return t.gradient_edge
            if t.object_id in self.leaf_nodes:
                return self.leaf_nodes[t.object_id], 0
        return None

    def above(self, asked: Asked) -> set[int]:
        """Every node from which a gradient reaches the tensor, not the node itself."""
        start = self.node_of(asked)
        found: set[int] = set()
        todo = [n for n, nr in self.into.get(start[0], ()) if nr == start[1]] if start else []
        while todo:
            node = todo.pop()
            if node not in found:
                found.add(node)
                todo += [n for n, _ in self.into.get(node, ())]
        return found

    def reaches(self, asked: Asked) -> bool:
        """Does a gradient path lead from a loss to the tensor?"""
        own = self.node_of(asked)
        return own is not None and (own in self.met or (own[1] == 0 and own[0] in self.roots))

    @cached_property
    def met(self) -> set[tuple[int, int]]:
        """(node, output) at which a gradient of a loss arrives, roots apart."""
        return self.ends_of(queries.reachable(self.graph, self.roots))

    def ends_of(self, nodes: Iterable[int]) -> set[tuple[int, int]]:
        """(node, output) of every edge that leaves these nodes."""
        edges = (e for n in nodes for e in self.graph.edges_from.get(n, ()))
        return {(e.next_node_id, e.input_nr) for e in edges if e.next_node_id is not None}

    def leaves_of(self, asked: Asked) -> list[str]:
        """Names of the leaves that its gradient goes on to."""
        start = self.node_of(asked)
        nodes = queries.reachable(self.graph, [start[0]] if start else [])
        ids = [n.leaf_id for n in self.graph.nodes if n.id in nodes and n.leaf_id is not None]
        return list(dict.fromkeys(self.leaf_name(i) for i in ids))

    def leaf_name(self, tensor_id: int) -> str:
        made = self.words.makers.get(tensor_id)
        return (
            self.words.name(tensor_id)
            if self.graph.tensor[tensor_id].name or not made
            else (f"the leaf that {self.words.code(made)} made")
        )

    def maker(self, asked: Asked) -> Call | None:
        return next(
            (c for t in reversed(self.states(asked)) if (c := self.words.makers.get(t.id))), None
        )

    def behind_node(self, asked: Asked) -> list[Tensor]:
        """The leaves directly behind its node."""
        start = self.node_of(asked)
        nodes = [e.next_node_id for e in self.graph.edges_from.get(start[0], ())] if start else []
        ids = [self.graph.node[i].leaf_id for i in nodes if i is not None]
        return [self.graph.tensor[i] for i in dict.fromkeys(ids) if i is not None]

    def connected(self, asked: Asked) -> set[int]:
        """Tensor states from which a gradient still reaches the tensor, itself included."""
        above = self.above(asked)
        found = {
            t.id for t in self.graph.tensors if t.gradient_edge and t.gradient_edge.node_id in above
        }
        return found | {t.id for t in self.states(asked)}

    def separating(self, asked: Asked) -> list[Cut]:
        """The cuts through which its value goes on to the loss, and no gradient comes back."""
        return [c for c in self.cuts_after(asked) if c.output_id in self.behind]

    def copies(self, call: Call) -> bool:
        """Does it belong to a ``copy.deepcopy``? That makes a leaf of its own, and cuts nothing
        off."""
        if call.function == "__deepcopy__":
            return True
        return call.function in ("data", "clone") and "deepcopy" in self.words.code(call)

    def cuts_after(self, asked: Asked) -> list[Cut]:
        """The cuts of values from which a gradient would still reach the tensor, its own
        included."""
        own, end = {t.object_id for t in self.states(asked)}, self.node_of(asked)
        found = []
        for c in self.graph.cuts:
            value = self.graph.tensor[c.input_id]
            near = value.object_id in own or (
                value.gradient_edge and end in self.led_to(value.gradient_edge.node_id)
            )
            if (
                near
                and c.reason is not CutReason.FLAG_OFF
                and not self.copies(self.graph.call[c.call_id])
            ):
                found.append(c)
        return found

    def led_to(self, node_id: int) -> set[tuple[int, int]]:
        """(node, output) at which a gradient from this node arrives; asked for each parameter, so
        it is kept."""
        if node_id not in self.ways:
            self.ways[node_id] = self.ends_of(queries.reachable(self.graph, [node_id]))
        return self.ways[node_id]

    def cuts_behind(self, tensor_ids: Iterable[int]) -> list[Cut]:
        """The cuts by which the values of these tensors came."""
        behind = self.ancestors(tensor_ids)
        return [
            c
            for c in self.graph.cuts
            if c.output_id in behind and c.reason is not CutReason.FLAG_OFF
        ]

    def cleared(self, asked: Asked) -> tuple[Call, str] | None:
        """The call that took away what the last backward had stored, and what that was."""
        own, found = {t.object_id for t in self.states(asked)}, None
        for e in (e for one in own for e in self.writes.get(one, ())):
            before, after = self.graph.tensor[e.before_id].grad, self.graph.tensor[e.after_id].grad
            if e.call_id in self.backwards:
                found = None
            elif (
                before is not None
                and before != after
                and (after is None or all_zero(after))
                and not all_zero(before)
            ):
                found = self.graph.call[e.call_id], before
        return found

    def came_back(self, dead: Sequence[Cut]) -> tuple[bool, str, tuple[int, ...]] | None:
        """(is it proven, in words, tensors): how values that left torch went into the loss."""
        graph, first = self.graph, min(c.call_id for c in dead)
        for call in (graph.call[c.call_id] for c in dead if c.output_id is None):
            if reader := self.reader_of(call):
                return True, self.words.code(reader), reader.outputs
        anew = [
            c
            for c in graph.calls
            if c.id > first
            and c.function in REMADE
            and not c.inputs
            and self.behind & {*c.outputs}
            and not LITERAL.fullmatch(self.words.code(c))
        ]
        made = {i for c in graph.calls for i in c.outputs}
        blocks = {graph.tensor[c.output_id].storage_id for c in dead if c.output_id is not None} - {
            None
        }
        readers = [
            (t, c.id)
            for t in graph.tensors
            if t.id in self.behind and t.id not in made and not t.requires_grad
            for c in graph.calls
            if t.id in c.inputs
        ]
        fresh = [
            (t, at)
            for t, at in readers
            if at > first and min(a for s, a in readers if s == t) == at
        ]
        for t, _ in fresh:
            if t.storage_id in blocks:
                return True, f"{self.words.name(t.id)} (the same memory)", (t.id,)
        if anew:
            return False, self.words.code(anew[0]), anew[0].outputs
        if not fresh:
            return None
        return (
            False,
            f"{self.words.name(fresh[0][0].id)}, of no recorded origin,",
            (fresh[0][0].id,),
        )

    def reader_of(self, gone: Call) -> Call | None:
        """A call on the way to the loss whose code uses the number that ``gone`` gave: in it, or by
        its name."""
        name, code = _bound(gone), gone.source.code if gone.source else None
        for c in self.graph.calls:
            if c.id <= gone.id or not c.source or not c.source.code:
                continue
            right = c.source.code.partition("=")[2] if _bound(c) else c.source.code
            named = name is not None and re.search(rf"(?<![\w.]){name}(?!\w)", right) is not None
            here = gone.source is not None and c.source[:2] == gone.source[:2]
            inside = here and code is not None and code in right and code != c.source.code
            if (named or inside) and self.behind & {*c.outputs}:
                return c
            if (name and _bound(c) == name) or c.source.code == code:
                return None  # from here on it means something else
        return None


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    table: dict[Key, list[Value]] = {}
    for key, value in pairs:
        table.setdefault(key, []).append(value)
    return table


def _bound(call: Call) -> str | None:
    """The plain name that a call's code gives to its result."""
    found = re.match(r"\s*(\w+)\s*=(?!=)", call.source.code or "") if call.source else None
    return found[1] if found else None


def all_zero(preview: str) -> bool:
    """
    >>> all_zero("[0, 0]"), all_zero("[0, 0.1]"), all_zero("32×10 values")
    (True, False, False)
    """
    return re.fullmatch(r"[\[\]0, ]*0[\[\]0, ]*", preview) is not None and not re.search(
        r"\d\d", preview
    )
