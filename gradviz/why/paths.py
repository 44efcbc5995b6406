"""Which way a gradient takes to one tensor, and which way its values take: what a graph proves.
Knows no torch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from gradviz.graph.facts import Facts, How
from gradviz.graph.findings import Cause, Finding, Sure, Symptom
from gradviz.graph.records import Call, Cut, Graph, NodeKind, Tensor, Wrote
from gradviz.why.explanation import Explanation, lines_of, worded
from gradviz.why.messages import REENTRANT
from gradviz.words.speech import several
from gradviz.words.words import Words

RECORD = (
    "Put %%gradviz above the cell, or run it in `with gv.record()`: that tells the call and the"
    " line"
)
# what makes a tensor of plain numbers
REMADE = {"tensor", "as_tensor", "asarray", "full", "scalar_tensor"}
# their call, of numbers that stand there
LITERAL = re.compile(r"(\w+ = )?[\w.]+\(([-\d.e\s,\[\]()]|\w+=[\w.]+)*\)")


NOT_IN_LOSS: tuple[str, ...] = ("cut", "frozen", "never tracked", "non-leaf")
CHECKED_IN_LOSS = ("cut", "frozen", "never_tracked", "non_leaf")
# what a cause always rules out
CHECKED: dict[Cause, tuple[str, ...]] = dict.fromkeys(
    (Cause.NOT_IN_LOSS, Cause.BRANCH_NOT_TAKEN, Cause.NO_BACKWARD_YET), CHECKED_IN_LOSS
)
CHECKED |= dict.fromkeys((Cause.CUT, Cause.REBUILT_FROM_VALUE), CHECKED_IN_LOSS[1:3])
# what a .grad that was read holds
SYMPTOMS = {
    "none": Symptom.NONE,
    "unknown": Symptom.UNREADABLE,
    "zero": Symptom.ZERO,
    "nan": Symptom.NAN,
    "some": Symptom.SOME,
}
# if not said otherwise
RULED_OUT = dict.fromkeys(
    (Cause.NOT_IN_LOSS, Cause.BRANCH_NOT_TAKEN, Cause.NO_BACKWARD_YET), NOT_IN_LOSS
)
RULED_OUT |= dict.fromkeys((Cause.CUT, Cause.REBUILT_FROM_VALUE), NOT_IN_LOSS[1:3])


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
        self.graph, self.facts, self.words = graph, Facts.of(graph), Words(graph)
        self.zeros, self.still = set(zeros), set(still)
        self.given, self.ways = bool(losses), dict[int, set[tuple[int, int]]]()
        self.lateness, self.found_makers = (
            dict[int, bool](),
            dict[int, dict[int, set[tuple[tuple[int, int], bool]]]](),
        )
        self.losses = list(losses) or list(self.facts.losses)
        self.roots = {
            t.gradient_edge.node_id for i in self.losses if (t := graph.tensor[i]).gradient_edge
        }
        self.loss = (
            several(list(dict.fromkeys(self.words.name(i) for i in self.losses))) or "the loss"
        )
        self.recorded = bool(graph.calls)

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

    def answer(
        self,
        asked: Asked,
        cause: Cause,
        form: str,
        *,
        calls: Sequence[Call] = (),
        checked: tuple[str, ...] | None = None,
        cuts: Sequence[Cut] = (),
        nodes: Sequence[int] = (),
        tensors: Sequence[int] = (),
        sure: Sure = Sure.PROVEN,
        **fields: Any,
    ) -> Explanation:
        """Tell what was found of a tensor; it points at the tensor and at the loss.

        Args:
            asked: the tensor.
            cause: what is wrong, or that nothing is.
            form: which sentences tell it: ``(cause, form)`` is their key in ``words/en.py``.
            calls: where it happened.
            checked: keys of what was ruled out; left out, what the cause always rules out.
            cuts: the cuts that did it.
            nodes: further nodes that it points at.
            tensors: further tensors that it points at.
            sure: how sure it is.
            fields: what the sentences name.
        """
        own = [] if asked.tensor_id is None else [asked.tensor_id]
        finding = Finding(
            cause,
            form,
            self.symptom(asked),
            asked.name,
            self.loss,
            fields,
            tuple(calls),
            tuple(cuts),
            tuple(nodes),
            tuple(dict.fromkeys([*own, *tensors, *self.losses[-1:]])),
            CHECKED.get(cause, ()) if checked is None else checked,
            sure,
        )
        return worded(finding, self.words)

    def symptom(self, asked: Asked) -> Symptom:
        """Say what there is to explain."""
        if asked.grad in ("none", "unknown"):
            return SYMPTOMS[asked.grad]
        return Symptom.ELSEWHERE if self.from_elsewhere(asked) else SYMPTOMS[asked.grad]

    def from_elsewhere(self, asked: Asked) -> bool:
        """Say whether the gradient that is there cannot be from the loss that is asked about."""
        if not self.given or not asked.requires_grad or self.reaches(asked):
            return False
        return not (self.hidden(asked) and self.filled(asked))

    def hidden(self, asked: Asked) -> bool:
        """May it be inside a reentrant checkpoint of the loss?"""
        own = {t.object_id for t in self.states(asked)}
        return asked.is_leaf and any(inside is None or own & inside for inside in self.checkpoints)

    @cached_property
    def checkpoints(self) -> list[set[int] | None]:
        """The objects that went into each reentrant checkpoint of the loss; None: not known."""
        met = [self.graph.node[n] for n in self.facts.reachable(self.roots)]
        calls = [self.graph.call.get(n.call_id) for n in met if n.name.startswith(REENTRANT)]
        return [{self.graph.tensor[i].object_id for i in c.inputs} if c else None for c in calls]

    def filled(self, asked: Asked) -> bool:
        """Did a backward of the loss fill its .grad?"""
        runs = {b.call_id for b in self.graph.backwards if self.roots & {*b.roots}}
        return any(e.call_id in runs for e in self.writes_to(asked))

    @cached_property
    def behind(self) -> set[int]:
        """Every tensor state that the loss was computed from, cut or not."""
        return self.facts.ancestors(self.losses)

    @cached_property
    def whole(self) -> bool:
        """Is everything known that the loss was made from? See NOTE [what is proven]."""
        met = [self.graph.node[n] for n in self.facts.reachable(self.roots) if n in self.graph.node]
        older = any(n.call_id is None and n.kind is not NodeKind.ACCUMULATE_GRAD for n in met)
        return self.recorded and not self.graph.notes and not older

    def states(self, asked: Asked) -> list[Tensor]:
        """Every recorded state of the tensor."""
        own = self.graph.tensor.get(asked.tensor_id)
        return self.facts.states[own.object_id] if own else []

    def writes_to(self, asked: Asked) -> list[Wrote]:
        """Every recorded write to the tensor."""
        own = self.graph.tensor.get(asked.tensor_id)
        return self.facts.writes_by_object.get(own.object_id, []) if own else []

    def node_of(self, asked: Asked) -> tuple[int, int] | None:
        """(node, output) at which a gradient for the tensor arrives."""
        for t in reversed(self.states(asked)):
            if t.gradient_edge:
                return t.gradient_edge
            if t.object_id in self.facts.accumulate_node:
                return self.facts.accumulate_node[t.object_id], 0
        return None

    def above(self, asked: Asked) -> set[int]:
        """Every node from which a gradient reaches the tensor, not the node itself."""
        start = self.node_of(asked)
        into = self.facts.edges_into.get(start[0], ()) if start else ()
        senders = {e.node_id for e in into if start and e.input_nr == start[1]}
        return senders | self.facts.above(senders)

    def reaches(self, asked: Asked) -> bool:
        """Does a gradient path lead from a loss to the tensor?"""
        own = self.node_of(asked)
        return own is not None and (own in self.met or (own[1] == 0 and own[0] in self.roots))

    @cached_property
    def met(self) -> set[tuple[int, int]]:
        """(node, output) at which a gradient of a loss arrives, roots apart."""
        return self.ends_of(self.facts.reachable(self.roots))

    def ends_of(self, nodes: Iterable[int]) -> set[tuple[int, int]]:
        """(node, output) of every edge that leaves these nodes."""
        edges = (e for n in nodes for e in self.graph.edges_from.get(n, ()))
        return {(e.next_node_id, e.input_nr) for e in edges if e.next_node_id is not None}

    def leaves_of(self, asked: Asked) -> list[str]:
        """Names of the leaves that its gradient goes on to."""
        start = self.node_of(asked)
        nodes = self.facts.reachable([start[0]] if start else [])
        ids = [n.leaf_id for n in self.graph.nodes if n.id in nodes and n.leaf_id is not None]
        return list(dict.fromkeys(self.leaf_name(i) for i in ids))

    def leaf_name(self, tensor_id: int) -> str:
        label = self.facts.label(tensor_id)
        if label.how is How.MADE:
            return f"the leaf that {self.words.code(label.maker)} made"
        return self.words.name(tensor_id)

    def maker(self, asked: Asked) -> Call | None:
        return next(
            (c for t in reversed(self.states(asked)) if (c := self.facts.maker.get(t.id))), None
        )

    def behind_node(self, asked: Asked) -> list[Tensor]:
        """The leaves directly behind its node."""
        start = self.node_of(asked)
        nodes = [e.next_node_id for e in self.graph.edges_from.get(start[0], ())] if start else []
        ids = [self.graph.node[i].leaf_id for i in nodes if i is not None]
        return [self.graph.tensor[i] for i in dict.fromkeys(ids) if i is not None]

    def connected(self, asked: Asked) -> set[int]:
        """Tensor states from which a gradient still reaches the tensor, itself included."""
        nodes = (self.facts.states_at.get(n, ()) for n in self.above(asked))
        return {t.id for states in (*nodes, self.states(asked)) for t in states}

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
        for c in self.facts.real_cuts:
            value = self.graph.tensor[c.input_id]
            near = value.object_id in own or (
                value.gradient_edge and end in self.led_to(value.gradient_edge.node_id)
            )
            if near and not self.copies(self.graph.call[c.call_id]):
                found.append(c)
        return found

    def led_to(self, node_id: int) -> set[tuple[int, int]]:
        """(node, output) at which a gradient from this node arrives; asked for each parameter, so
        it is kept."""
        if node_id not in self.ways:
            self.ways[node_id] = self.ends_of(self.facts.reachable([node_id]))
        return self.ways[node_id]

    def cuts_behind(self, tensor_ids: Iterable[int]) -> list[Cut]:
        """The cuts by which the values of these tensors came."""
        behind = self.facts.ancestors(tensor_ids)
        return [c for c in self.facts.real_cuts if c.output_id in behind]

    def cleared(self, asked: Asked) -> tuple[Call, str] | None:
        """The call that took away what the last backward had stored, and what that was."""
        found = None
        for e in self.writes_to(asked):
            before, after = self.graph.tensor[e.before_id].grad, self.graph.tensor[e.after_id].grad
            if e.call_id in self.facts.backward_calls:
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
        blocks = {graph.tensor[c.output_id].storage_id for c in dead if c.output_id is not None} - {
            None
        }
        returned, reading = self.facts.returned_ids, self.facts.calls_reading
        fresh = [
            t
            for t in graph.tensors
            if t.id in self.behind and t.id not in returned and not t.requires_grad
            if any(c.id > first for c in reading.get(t.id, ())[:1])
        ]
        for t in fresh:
            if t.storage_id in blocks:
                return True, f"{self.words.name(t.id)} (the same memory)", (t.id,)
        if anew:
            return False, self.words.code(anew[0]), anew[0].outputs
        if not fresh:
            return None
        return (
            False,
            f"{self.words.name(fresh[0].id)}, of no recorded origin,",
            (fresh[0].id,),
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
