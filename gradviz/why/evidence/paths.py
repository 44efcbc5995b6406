"""Which way a gradient takes to one tensor, and which way its values take: what a graph proves.
Knows no torch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from gradviz.graph.facts import Facts, How, site_of
from gradviz.graph.findings import Cause, Finding, Sure, Symptom
from gradviz.graph.flow import End, Flow
from gradviz.graph.preview import only_zeros
from gradviz.graph.records import Backward, Call, Cut, Graph, Tensor
from gradviz.graph.redo import DISCRETE
from gradviz.names.frames import frames, is_of_literals, names_kept, names_read
from gradviz.why.evidence.numbers_out import NumbersOut
from gradviz.why.shown.explanation import Explanation, worded
from gradviz.words.speech import say, several
from gradviz.words.words import Words

# what makes a tensor of plain numbers
REMADE = {"tensor", "as_tensor", "asarray", "full", "scalar_tensor"}

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
FEW = 3  # passes of one line that are looked at
Slot = tuple[int, int]  # an edge: the node that it leaves, and which of that node's


class WayBack(NamedTuple):
    """How a value that left torch went into the loss: what took it there, in words, the tensors by
    which it came back, and which of the cuts let it out, where the code tells."""

    sure: Sure
    what: str
    tensor_ids: tuple[int, ...]
    cuts: tuple[Cut, ...] = ()


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
    dtype: str = ""
    older: tuple[int, ...] = ()  # what was computed from it before the recording, and cut off in it


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
        self.flow = Flow(graph, losses)
        self.losses = self.flow.losses
        self.roots = self.flow.roots
        # of the losses of all iterations of one line the last one is named
        self._last_of_line = {self.loss_key(i): i for i in self.losses}
        self.loss = self._called(self._last_of_line.values()) or say("path.the_loss")

    def _called(self, losses: Iterable[int]) -> str:
        """Name some losses, each name once; "" for none."""
        return several(list(dict.fromkeys(map(self.words.name, losses))))

    def losses_holding(self, tensor_ids: Iterable[int]) -> str:
        """Name those of the losses that hold the values of some states; all where none of the last
        of each line does."""
        last, held = self._last_of_line.values(), {*tensor_ids}
        if len(last) < 2:
            return self.loss
        found = [i for i in last if not held.isdisjoint(self.facts.ancestors([i]))]
        return self._called(found) or self.loss

    def losses_filling(self, asked: Asked) -> str:
        """Name those of the losses whose backwards filled a tensor's ``.grad``; all where none is
        known."""
        begun = (self.graph.call[b.call_id] for b in self._filling(asked))
        keys = {self.loss_key(i) for call in begun for i in call.inputs[:1]}
        return self._called(i for key, i in self._last_of_line.items() if key in keys) or self.loss

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
        loss: str = "",
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
            loss: what is called the loss; left out, all that are asked about.
            fields: what the sentences name.
        """
        subject = [] if asked.tensor_id is None else [asked.tensor_id]
        finding = Finding(
            cause,
            form,
            self.symptom(asked),
            asked.name,
            loss or self.loss,
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
        return not self.flow.filled(asked.tensor_id)

    def other_runs(self, asked: Asked) -> list[Backward]:
        """Return the recorded backwards of other losses that filled the tensor's ``.grad``, one of
        each loss. What another iteration computed at the same line is no other loss."""
        if not self.given or not self.recorded:
            return []
        filled = [b for b in self._filling(asked) if b.kind == "backward"]
        here = {self.loss_key(i) for i in self.losses}
        runs = {self.loss_key(i): b for b in filled for i in self.graph.call[b.call_id].inputs[:1]}
        return [b for key, b in runs.items() if key not in here and self.roots.isdisjoint(b.roots)]

    def _filling(self, asked: Asked) -> list[Backward]:
        """Return the recorded backwards that wrote the tensor's ``.grad``, or sent it a gradient:
        of large values it is not known that they changed."""
        states = self.states(asked)
        node = self.facts.accumulate_node.get(states[-1].object_id) if states else None
        calls = {e.call_id for e in self.flow.writes_to(asked.tensor_id)}
        return [b for b in self.graph.backwards if b.call_id in calls or node in b.ran]

    def loss_key(self, tensor_id: int) -> Any:
        """Return what the losses of all iterations of one line have in common."""
        maker = self.flow.maker(tensor_id)
        if maker is None or maker.source is None:
            return self.graph.tensor[tensor_id].code_name or tensor_id
        return site_of(maker), maker.source.code

    def run_words(self, runs: Iterable[Backward]) -> list[str]:
        """Name the losses of some backwards, each with the line of its backward."""
        calls = [self.graph.call[b.call_id] for b in runs]
        return [
            say("path.loss_at", loss=self.words.name(c.inputs[0]), line=c.source.line)
            if c.source
            else self.words.name(c.inputs[0])
            for c in calls
        ]

    def hidden(self, asked: Asked) -> bool:
        """Say whether it may be inside a reentrant checkpoint of the loss."""
        return asked.is_leaf and self.flow.is_hidden(asked.tensor_id)

    def states(self, asked: Asked) -> list[Tensor]:
        """Return every recorded state of the tensor."""
        return self.flow.states(asked.tensor_id)

    def node_of(self, asked: Asked) -> End | None:
        """Return the (node, output) at which a gradient for the tensor arrives."""
        return self.flow.end_of(asked.tensor_id)

    def above(self, asked: Asked) -> set[int]:
        """Return every node from which a gradient reaches the tensor, not the node itself."""
        return self.flow.above(asked.tensor_id)

    def reaches(self, asked: Asked) -> bool:
        """Say whether a gradient path leads from a loss to the tensor."""
        return self.flow.reaches(asked.tensor_id)

    def leaves_of(self, asked: Asked) -> list[str]:
        """Return the names of the leaves that its gradient goes on to."""
        leaf_ids = self.flow.leaves_behind(asked.tensor_id)
        return list(dict.fromkeys(self.leaf_name(i) for i in leaf_ids))

    def leaf_name(self, tensor_id: int) -> str:
        """Say which leaf it is."""
        label = self.facts.label(tensor_id)
        if label.how is How.MADE:
            return say("path.leaf_made_by", code=self.words.code(label.maker))
        return self.words.name(tensor_id)

    def maker(self, asked: Asked) -> Call | None:
        """Return the call that made the tensor, where one is known."""
        return self.flow.maker(asked.tensor_id)

    def connected(self, asked: Asked) -> set[int]:
        """Return the tensor states from which a gradient still reaches the tensor, itself
        included."""
        return self.flow.connected(asked.tensor_id)

    def cleared(self, asked: Asked) -> tuple[Call, str] | None:
        """Return the call that took away what the last backward had stored, and what that was."""
        cleared, has_come = None, False
        for write in self.flow.writes_to(asked.tensor_id):
            before = self.graph.tensor[write.before_id].grad
            after = self.graph.tensor[write.after_id].grad
            if write.call_id in self.facts.backward_calls:
                cleared, has_come = None, True
            elif before is not None and taken_away(before, after):
                if has_come or not only_zeros(before):
                    cleared = self.graph.call[write.call_id], before
                has_come = False
        return cleared

    # --- values that left torch -------------------------------------------------------------------

    def came_back(self, cuts: Sequence[Cut]) -> WayBack | None:
        """Return how the values that left torch at these cuts went into the loss; None where
        nothing speaks for it that they did."""
        first = min(cut.call_id for cut in cuts)
        unmade = self.unmade_in_loss(first)
        floats = [t for t in unmade if not (t.dtype or "").startswith(DISCRETE)]
        return (
            self.back_by_code(cuts)
            or self.back_by_memory(cuts, unmade)
            or self.back_by_remaking(cuts)
            or self.back_unseen(floats)
        )

    def back_by_code(self, cuts: Iterable[Cut]) -> WayBack | None:
        """Return the call on the way to the loss whose code uses the number."""
        cuts = [*cuts]
        copying = [self.graph.call[cut.call_id] for cut in cuts if cut.output_id is None]
        readers = ((gone, self.reader_of(gone)) for gone in copying)
        found = next(((gone, reader) for gone, reader in readers if reader), None)
        if found is None:
            return None
        gone, reader = found
        used = {site_of(gone), *self._sites_used(copying)}
        calls = self.graph.call
        let_out = [c for c in cuts if c.output_id is not None or site_of(calls[c.call_id]) in used]
        return WayBack(Sure.PROVEN, self.words.code(reader), reader.outputs, tuple(let_out))

    def _sites_used(self, copying: Iterable[Call]) -> set[object]:
        """Return where calls stand whose number goes into the loss, in one of their first or last
        passes: what is copied out elsewhere is printed or kept."""
        by_site: dict[object, list[Call]] = {}
        for call in copying:
            by_site.setdefault(site_of(call), []).append(call)
        return {
            site
            for site, same in by_site.items()
            if any(map(self.reader_of, [*same[:FEW], *same[-FEW:]]))
        }

    def back_by_memory(self, cuts: Iterable[Cut], unmade: Sequence[Tensor]) -> WayBack | None:
        """Return the tensor that no call returned, in the memory of what was cut off."""
        results = [self.graph.tensor[c.output_id] for c in cuts if c.output_id is not None]
        blocks = {t.storage_id for t in results} - {None}
        # wrapped: Variable(t.data, requires_grad=True)
        leaves = (t for t in self.graph.tensors if t.is_leaf and t.requires_grad)
        first = min((t.id for t in results), default=0)
        wrapped = (t for t in leaves if t.id in self.flow.behind and t.id > first)
        twin = next((t for t in (*unmade, *wrapped) if t.storage_id in blocks), None)
        if twin is None:
            return None
        what = say("path.same_memory", name=self.words.name(twin.id))
        return WayBack(Sure.PROVEN, what, (twin.id,))

    def back_by_remaking(self, cuts: Sequence[Cut]) -> WayBack | None:
        """Return the call after the first cut that made a tensor of plain numbers which its code
        does not show; the first one whose code reads what a cut value was kept as, if there is
        one."""
        first = min(cut.call_id for cut in cuts)
        remade = [
            call
            for call in self.graph.calls
            if call.function in REMADE and not call.inputs and self.flow.behind & {*call.outputs}
            if call.id > first and not self._is_of_literals(call)
        ]
        for call in remade:
            read = names_read(call)
            let_out = [
                c for c in cuts if not read.isdisjoint(names_kept(self.graph.call[c.call_id]))
            ]
            if let_out:
                return WayBack(Sure.LIKELY, self.words.code(call), call.outputs, tuple(let_out))
        if not remade:
            return None
        return WayBack(Sure.LIKELY, self.words.code(remade[0]), remade[0].outputs)

    def _is_of_literals(self, call: Call) -> bool:
        """Say whether a call was given nothing but numbers that stand there, or the statement of
        the program was in which a library made it."""
        codes = [self.words.code(call), *(frame.code for frame in frames(call)[:1])]
        return any(map(is_of_literals, codes))

    def back_unseen(self, unmade: Sequence[Tensor]) -> WayBack | None:
        """Return a tensor that no call returned and that went into the loss; None where the call
        that did may be of the part of the recording that was dropped."""
        if not unmade or not self.words.keeps_all:
            return None
        what = say("path.no_origin", name=self.words.name(unmade[0].id))
        return WayBack(Sure.LIKELY, what, (unmade[0].id,))

    def unmade_in_loss(self, first: int) -> list[Tensor]:
        """Return the untracked states in the loss that no call returned, and that none read before
        this call; without the running statistics that a norm writes itself."""
        readers = self.facts.calls_reading
        untracked = (
            t for t in self.graph.tensors if t.id in self.flow.behind and not t.requires_grad
        )
        unmade = (t for t in untracked if t.id not in self.facts.returned_ids)
        return [
            t
            for t in unmade
            if any(c.id > first for c in readers.get(t.id, ())[:1]) and not self._is_statistic(t)
        ]

    def _is_statistic(self, tensor: Tensor) -> bool:
        """Say whether norms alone read it, beside their input: a running mean or variance."""
        readers = self.facts.calls_reading.get(tensor.id, ())
        return all(c.function.endswith("_norm") and tensor.id in c.inputs[1:] for c in readers)

    def reader_of(self, gone: Call) -> Call | None:
        """Return a call on the way to the loss whose code uses the number that ``gone`` gave: in
        it, or by its name."""
        users = self.users_of_number(gone)
        return next((c for c in users if not self.flow.behind.isdisjoint(c.outputs)), None)

    def users_of_number(self, gone: Call) -> list[Call]:
        """Return the calls whose code uses the number that ``gone`` gave."""
        return NumbersOut.of(self.facts).users(gone)


def taken_away(before: str, after: str | None) -> bool:
    """Say whether a ``.grad`` was set to None or to zeros."""
    return before != after and (after is None or only_zeros(after))
