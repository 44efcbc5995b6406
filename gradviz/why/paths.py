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
from gradviz.why.explanation import Explanation, worded
from gradviz.why.messages import REENTRANT
from gradviz.words.speech import say, several
from gradviz.words.words import Words

# what makes a tensor of plain numbers
REMADE = {"tensor", "as_tensor", "asarray", "full", "scalar_tensor"}
# their call, of numbers that stand there
LITERAL = re.compile(r"(\w+ = )?[\w.]+\(([-\d.e\s,\[\]()]|\w+=[\w.]+)*\)")


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
Slot = tuple[int, int]  # an edge: the node that it leaves, and which of that node's


class WayBack(NamedTuple):
    """How a value that left torch went into the loss: what took it there, in words, and the
    tensors by which it came back."""

    sure: Sure
    what: str
    tensor_ids: tuple[int, ...]


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
        self.graph = graph
        self.facts = Facts.of(graph)
        self.words = Words(graph)
        self.zeros = set(zeros)
        self.still = set(still)
        self.given = bool(losses)
        self.recorded = bool(graph.calls)
        self.losses = list(losses) or list(self.facts.losses)
        edges = [graph.tensor[i].gradient_edge for i in self.losses]
        self.roots = {edge.node_id for edge in edges if edge}
        names = list(dict.fromkeys(self.words.name(i) for i in self.losses))
        self.loss = several(names) if names else say("path.the_loss")
        self.ends_below: dict[int, set[tuple[int, int]]] = {}  # what ``led_to`` answered

    @property
    def record(self) -> str:
        """How to learn more, where nothing was recorded."""
        return "" if self.recorded else say("path.record")

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
        """Put what was found of a tensor into words; it points at the tensor and at the loss.

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
        subject = [] if asked.tensor_id is None else [asked.tensor_id]
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
            tuple(dict.fromkeys([*subject, *tensors, *self.losses[-1:]])),
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
        """Say whether it may be inside a reentrant checkpoint of the loss."""
        objects = {t.object_id for t in self.states(asked)}
        return asked.is_leaf and any(given is None or objects & given for given in self.checkpoints)

    @cached_property
    def checkpoints(self) -> list[set[int] | None]:
        """The objects that went into each reentrant checkpoint of the loss; None: not known."""
        met = [self.graph.node[n] for n in self.facts.reachable(self.roots)]
        calls = [self.graph.call.get(n.call_id) for n in met if n.name.startswith(REENTRANT)]
        return [{self.graph.tensor[i].object_id for i in c.inputs} if c else None for c in calls]

    def filled(self, asked: Asked) -> bool:
        """Say whether a backward of the loss filled its .grad."""
        runs = {b.call_id for b in self.graph.backwards if self.roots & {*b.roots}}
        return any(e.call_id in runs for e in self.writes_to(asked))

    @cached_property
    def behind(self) -> set[int]:
        """Every tensor state that the loss was computed from, cut or not."""
        return self.facts.ancestors(self.losses)

    @cached_property
    def whole(self) -> bool:
        """Whether everything is known that the loss was made from: NOTE [what is proven]."""
        met = [self.graph.node[n] for n in self.facts.reachable(self.roots) if n in self.graph.node]
        older = any(n.call_id is None and n.kind is not NodeKind.ACCUMULATE_GRAD for n in met)
        return self.recorded and not self.graph.notes and not older

    def states(self, asked: Asked) -> list[Tensor]:
        """Return every recorded state of the tensor."""
        state = self.graph.tensor.get(asked.tensor_id)
        return self.facts.states[state.object_id] if state else []

    def writes_to(self, asked: Asked) -> list[Wrote]:
        """Return every recorded write to the tensor."""
        state = self.graph.tensor.get(asked.tensor_id)
        return self.facts.writes_by_object.get(state.object_id, []) if state else []

    def node_of(self, asked: Asked) -> tuple[int, int] | None:
        """Return the (node, output) at which a gradient for the tensor arrives."""
        for t in reversed(self.states(asked)):
            if t.gradient_edge:
                return t.gradient_edge
            if t.object_id in self.facts.accumulate_node:
                return self.facts.accumulate_node[t.object_id], 0
        return None

    def above(self, asked: Asked) -> set[int]:
        """Return every node from which a gradient reaches the tensor, not the node itself."""
        end = self.node_of(asked)
        if end is None:
            return set()
        into = self.facts.edges_into.get(end[0], ())
        senders = {e.node_id for e in into if e.input_nr == end[1]}
        return senders | self.facts.above(senders)

    def reaches(self, asked: Asked) -> bool:
        """Say whether a gradient path leads from a loss to the tensor."""
        end = self.node_of(asked)
        return end is not None and (end in self.met or (end[1] == 0 and end[0] in self.roots))

    @cached_property
    def met(self) -> set[tuple[int, int]]:
        """Every (node, output) at which a gradient of a loss arrives, roots apart."""
        return self.ends_of(self.facts.reachable(self.roots))

    def ends_of(self, nodes: Iterable[int]) -> set[tuple[int, int]]:
        """Return the (node, output) of every edge that leaves these nodes."""
        edges = (e for n in nodes for e in self.graph.edges_from.get(n, ()))
        return {(e.next_node_id, e.input_nr) for e in edges if e.next_node_id is not None}

    def leaves_of(self, asked: Asked) -> list[str]:
        """Return the names of the leaves that its gradient goes on to."""
        end = self.node_of(asked)
        nodes = self.facts.reachable([end[0]] if end else [])
        leaf_ids = [n.leaf_id for n in self.graph.nodes if n.id in nodes and n.leaf_id is not None]
        return list(dict.fromkeys(self.leaf_name(i) for i in leaf_ids))

    def leaf_name(self, tensor_id: int) -> str:
        """Say which leaf it is."""
        label = self.facts.label(tensor_id)
        if label.how is How.MADE:
            return say("path.leaf_made_by", code=self.words.code(label.maker))
        return self.words.name(tensor_id)

    def maker(self, asked: Asked) -> Call | None:
        """Return the call that made the tensor, where one is known."""
        calls = (self.facts.maker.get(t.id) for t in reversed(self.states(asked)))
        return next((call for call in calls if call), None)

    def behind_node(self, asked: Asked) -> list[Tensor]:
        """Return the leaves directly behind its node."""
        end = self.node_of(asked)
        edges = self.graph.edges_from.get(end[0], ()) if end else ()
        nodes = [self.graph.node[e.next_node_id] for e in edges if e.next_node_id is not None]
        leaf_ids = dict.fromkeys(node.leaf_id for node in nodes)
        return [self.graph.tensor[i] for i in leaf_ids if i is not None]

    def connected(self, asked: Asked) -> set[int]:
        """Return the tensor states from which a gradient still reaches the tensor, itself
        included."""
        nodes = (self.facts.states_at.get(n, ()) for n in self.above(asked))
        return {t.id for states in (*nodes, self.states(asked)) for t in states}

    def separating(self, asked: Asked) -> list[Cut]:
        """Return the cuts through which its value goes on to the loss, and no gradient comes
        back."""
        return [c for c in self.cuts_after(asked) if c.output_id in self.behind]

    def copies(self, call: Call) -> bool:
        """Say whether a call belongs to a ``copy.deepcopy``. That makes a leaf of its own, and
        cuts nothing off."""
        if call.function == "__deepcopy__":
            return True
        return call.function in ("data", "clone") and "deepcopy" in self.words.code(call)

    def cuts_after(self, asked: Asked) -> list[Cut]:
        """Return the cuts of values from which a gradient would still reach the tensor, its own
        included."""
        objects = {t.object_id for t in self.states(asked)}
        end = self.node_of(asked)
        cuts = []
        for cut in self.facts.real_cuts:
            value = self.graph.tensor[cut.input_id]
            edge = value.gradient_edge
            near = value.object_id in objects or (edge and end in self.led_to(edge.node_id))
            if near and not self.copies(self.graph.call[cut.call_id]):
                cuts.append(cut)
        return cuts

    def led_to(self, node_id: int) -> set[tuple[int, int]]:
        """Return every (node, output) at which a gradient from this node arrives; asked for each
        parameter, so it is kept."""
        if node_id not in self.ends_below:
            self.ends_below[node_id] = self.ends_of(self.facts.reachable([node_id]))
        return self.ends_below[node_id]

    def cuts_behind(self, tensor_ids: Iterable[int]) -> list[Cut]:
        """Return the cuts by which the values of these tensors came."""
        behind = self.facts.ancestors(tensor_ids)
        return [c for c in self.facts.real_cuts if c.output_id in behind]

    def cleared(self, asked: Asked) -> tuple[Call, str] | None:
        """Return the call that took away what the last backward had stored, and what that was."""
        cleared = None
        for write in self.writes_to(asked):
            before = self.graph.tensor[write.before_id].grad
            after = self.graph.tensor[write.after_id].grad
            if write.call_id in self.facts.backward_calls:
                cleared = None
            elif before is not None and not all_zero(before) and _taken_away(before, after):
                cleared = self.graph.call[write.call_id], before
        return cleared

    # --- values that left torch -------------------------------------------------------------------

    def came_back(self, cuts: Sequence[Cut]) -> WayBack | None:
        """Return how the values that left torch at these cuts went into the loss; None where
        nothing speaks for it that they did."""
        first = min(cut.call_id for cut in cuts)
        unmade = self.unmade_in_loss(first)
        return (
            self.back_by_code(cuts)
            or self.back_by_memory(cuts, unmade)
            or self.back_by_remaking(first)
            or self.back_unseen(unmade)
        )

    def back_by_code(self, cuts: Iterable[Cut]) -> WayBack | None:
        """The code of a call on the way to the loss uses the number."""
        calls = (self.graph.call[cut.call_id] for cut in cuts if cut.output_id is None)
        readers = (self.reader_of(call) for call in calls)
        reader = next((call for call in readers if call), None)
        return reader and WayBack(Sure.PROVEN, self.words.code(reader), reader.outputs)

    def back_by_memory(self, cuts: Iterable[Cut], unmade: Sequence[Tensor]) -> WayBack | None:
        """A tensor that no call returned lies in the memory of what was cut off."""
        results = (self.graph.tensor[c.output_id] for c in cuts if c.output_id is not None)
        blocks = {t.storage_id for t in results} - {None}
        twin = next((t for t in unmade if t.storage_id in blocks), None)
        if twin is None:
            return None
        what = say("path.same_memory", name=self.words.name(twin.id))
        return WayBack(Sure.PROVEN, what, (twin.id,))

    def back_by_remaking(self, first: int) -> WayBack | None:
        """A call after the first cut made a tensor of plain numbers that its code does not
        show."""
        for call in self.graph.calls:
            remakes = call.function in REMADE and not call.inputs and self.behind & {*call.outputs}
            if remakes and call.id > first and not LITERAL.fullmatch(self.words.code(call)):
                return WayBack(Sure.LIKELY, self.words.code(call), call.outputs)
        return None

    def back_unseen(self, unmade: Sequence[Tensor]) -> WayBack | None:
        """A tensor that no call returned went into the loss."""
        if not unmade:
            return None
        what = say("path.no_origin", name=self.words.name(unmade[0].id))
        return WayBack(Sure.LIKELY, what, (unmade[0].id,))

    def unmade_in_loss(self, first: int) -> list[Tensor]:
        """Return the untracked states in the loss that no call returned, and that none read before
        this call."""
        readers = self.facts.calls_reading
        untracked = (t for t in self.graph.tensors if t.id in self.behind and not t.requires_grad)
        unmade = (t for t in untracked if t.id not in self.facts.returned_ids)
        return [t for t in unmade if any(c.id > first for c in readers.get(t.id, ())[:1])]

    def reader_of(self, gone: Call) -> Call | None:
        """Return a call on the way to the loss whose code uses the number that ``gone`` gave: in
        it, or by its name."""
        name = _bound(gone)
        for call in self.graph.calls:
            if call.id <= gone.id or not _code(call):
                continue
            if _uses(call, gone, name) and self.behind & {*call.outputs}:
                return call
            if (name and _bound(call) == name) or _code(call) == _code(gone):
                return None  # from here on it means something else
        return None


def _taken_away(before: str, after: str | None) -> bool:
    """Say whether a ``.grad`` was set to None or to zeros."""
    return before != after and (after is None or all_zero(after))


def _code(call: Call) -> str:
    """Return a call's code as it stands in the file, "" where it is not known."""
    return (call.source.code or "") if call.source else ""


def _bound(call: Call) -> str | None:
    """Return the plain name that a call's code gives to its result."""
    binding = re.match(r"\s*(\w+)\s*=(?!=)", _code(call))
    return binding[1] if binding else None


def _uses(call: Call, gone: Call, name: str | None) -> bool:
    """Say whether a call's code uses the result of an earlier one: by its name, or with the
    earlier call's code inside."""
    code = _code(call)
    right = code.partition("=")[2] if _bound(call) else code
    if name is not None and re.search(rf"(?<![\w.]){name}(?!\w)", right):
        return True
    if call.source is None or gone.source is None or call.source[:2] != gone.source[:2]:
        return False
    return gone.source.code is not None and _code(gone) in right and _code(gone) != code


def all_zero(preview: str) -> bool:
    """Say whether a preview shows only zeros.

    >>> all_zero("[0, 0]"), all_zero("[0, 0.1]"), all_zero("32×10 values")
    (True, False, False)
    """
    return re.fullmatch(r"[\[\]0, ]*0[\[\]0, ]*", preview) is not None and not re.search(
        r"\d\d", preview
    )
