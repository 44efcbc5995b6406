"""Why a backward, or another call, raised: plain data in and out, knows no torch.

What torch's message does not say (names, lines, who wrote, who freed) is said only where the
recording proves it.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from gradviz.graph.facts import Facts, Site, site_of
from gradviz.graph.findings import Cause, Finding, Sure, Symptom
from gradviz.graph.records import (
    Backward,
    Call,
    Cut,
    CutReason,
    Graph,
    Node,
    NodeKind,
    Raised,
    SavedState,
    SavedTensor,
    Tensor,
    Wrote,
)
from gradviz.why.explanation import Explanation, at_a_word, worded
from gradviz.why.messages import (
    Versions,
    cause_of,
    in_reentrant_checkpoint,
    number,
    plain,
    repair,
    usual_repair,
    versions,
)
from gradviz.why.paths import Paths
from gradviz.words.plain import visible
from gradviz.words.speech import say, several
from gradviz.words.words import reason_of

NAME = 40  # characters of a tensor's name in a sentence
ERROR = 160  # characters of an error that is not known
UNNAMED = "(…)"  # stands for the code of a tensor that has no name
DETACH_EACH = "tuple(s.detach() for s in {})"  # code, as a mend tells it
_STEP = re.compile(r"\bstep\b")
_FROM_VALUES = ("tensor", "as_tensor", "asarray", "full", "scalar_tensor", "new_tensor", "new_full")
_COPIES = (
    "clone",
    "detach",
    "to",
    "view",
    "contiguous",
    "float",
    "double",
    "reshape",
    "requires_grad_",
)


def recorded_error(graph: Graph, message: str) -> Raised | None:
    """Return the last recorded error whose text stands in this one's."""
    text = plain(message)
    for event in reversed(Facts.of(graph).errors):
        recorded_text = plain(event.message)[:1000]
        if recorded_text and recorded_text in text:
            return event
    return None


class Carried(NamedTuple):
    """A tensor that a loop takes from one iteration into the next."""

    tensor: Tensor
    maker: Call
    reader: Call


class Failure:
    """One error, and the graph in which it happened.

    Args:
        kind: name of the error's class, e.g. "RuntimeError".
        text: its message, on one line.
        graph: what was recorded, or captured from the loss.
        raised: the event of this error in ``graph``; found by its text where it is left out.
        root_id: the tensor in ``graph`` that backward was called on, where the error itself was not
            recorded; of a captured graph the first root, where it is left out.
        flags: of each parameter, whether it requires grad.
    """

    def __init__(
        self,
        kind: str,
        text: str,
        graph: Graph,
        *,
        raised: Raised | None = None,
        root_id: int | None = None,
        flags: Mapping[str, bool] | None = None,
    ) -> None:
        self.kind = kind
        self.text = text
        self.cause = cause_of(text)
        self.graph = graph
        self.flags = flags or {}  # of each parameter: does it require grad?
        self.paths = Paths(graph)
        self.facts = self.paths.facts
        self.words = self.paths.words
        self.event = raised or recorded_error(graph, text)
        self.call = graph.call.get(self.event.call_id) if self.event else None
        self.inputs = [graph.tensor[i] for i in self.call.inputs] if self.call else []
        self.run = self.facts.run_of_call.get(self.call.id) if self.call else None
        self.given_root = None if self.event else self.root_of(root_id)

    def root_of(self, root_id: int | None) -> Tensor | None:
        """Return the tensor that a backward was called on which is not recorded."""
        if root_id is not None:
            return self.graph.tensor[root_id]
        roots = [] if self.graph.calls else self.graph.roots
        return self.graph.tensor[roots[0]] if roots else None

    # --- words ------------------------------------------------------------------------------------

    def answer(
        self,
        cause: Cause,
        form: str,
        *,
        calls: Iterable[Call | None] = (),
        also_at: Iterable[Call | None] = (),
        cuts: Sequence[Cut] = (),
        nodes: Sequence[Node] = (),
        tensors: Iterable[Tensor | None] = (),
        checked: tuple[str, ...] = (),
        sure: Sure = Sure.PROVEN,
        more: tuple[str, ...] | None = None,
        **fields: Any,
    ) -> Explanation:
        """Tell why the call raised.

        Args:
            cause: what is wrong.
            form: which sentences tell it: ``(cause, form)`` is their key in ``words/en.py``.
            calls: where it happened; where none is known, the call that raised.
            also_at: further calls at whose lines it points; the call that raised is always one.
            cuts: the cuts that did it.
            nodes: the nodes that it points at.
            tensors: the tensors that it points at.
            checked: keys of what was ruled out.
            sure: how sure it is.
            more: further lines; left out, that the error was not recorded, where it was not.
            fields: what the sentences name.
        """
        known = tuple(call for call in calls if call)
        finding = Finding(
            cause,
            form,
            Symptom.RAISED,
            fields=fields,
            calls=known or tuple(call for call in (self.call,) if call),
            cuts=tuple(cuts),
            node_ids=tuple(node.id for node in nodes),
            tensor_ids=tuple(tensor.id for tensor in tensors if tensor),
            checked=checked,
            sure=sure,
            also_at=tuple(call for call in (self.call, *also_at) if call),
            more=self.unrecorded(say("unrecorded.line")) if more is None else more,
        )
        return worded(finding, self.words)

    def unrecorded(self, recording_adds: str) -> tuple[str, ...]:
        """Return the line that says that the error was not recorded, and what a recording adds."""
        if self.call is not None:
            return ()
        # with a recording it was a constructor that raised, or another thread
        return (say("unrecorded.call") if self.graph.calls else recording_adds,)

    def name(self, tensor: Tensor | None) -> str:
        """Return what a tensor is called."""
        if tensor is None:
            return say("raised.tensor")
        full = self.words.name(tensor.id)
        return full if len(full) <= NAME else type(full)(visible(full, NAME))

    def names(self, tensors: Iterable[Tensor]) -> list[str]:
        """Return what tensors are called, each name once."""
        return list(dict.fromkeys(map(self.name, tensors)))

    def code(self, call: Call | None) -> str:
        """Return the code of a call, not too long for a sentence."""
        return visible(self.words.code(call), NAME) if call else ""

    def written(self, call: Call | None) -> str:
        """Return the code of a call and its line: ``c = a * 2 (line 3)``."""
        if call is None or call.source is None:
            return self.code(call)
        return say("raised.written", code=self.code(call), line=self.words.where(call))

    def maker(self, node: Node | None) -> Call | None:
        """Return the call that made a node."""
        return self.graph.call.get(node.call_id) if node else None

    def made_by(self, node: Node | None) -> str:
        """Return a node's name and what made it: ``MulBackward0 of c = a * 2 (line 3)``."""
        name = node.name if node else say("raised.node")
        maker = self.maker(node)
        return say("label.node_of", node=name, code=self.written(maker)) if maker else name

    # --- none of autograd's, or one that is about one input of the call ---------------------------

    def unknown(self) -> Explanation:
        """Tell of an error that is not known here; its traceback says where it was raised."""
        return self.answer(
            Cause.NOT_KNOWN,
            "raised",
            checked=("known_error",),
            more=(),
            error=at_a_word(visible(f"{self.kind}: {self.text}", 1000), ERROR),
        )

    def about_an_input(self) -> Explanation | None:
        """Tell what is wrong with an input of the call, where no more is known."""
        if self.cause is None:
            return None
        tensor = self.blamed(self.cause)
        base = self.graph.tensor.get(tensor.base_id if tensor else None)
        maker = self.facts.maker.get(tensor.id) if tensor else None
        made = maker and maker is not self.call and tensor and tensor.name
        typed = self.cause is Cause.REQUIRES_GRAD_NON_FLOAT and tensor
        inference = self.cause is Cause.INFERENCE_TENSOR
        return self.answer(
            self.cause,
            ("dtype_made" if made else "dtype") if typed else ("raised_made" if made else "raised"),
            calls=[maker if inference else None, self.call],
            tensors=[tensor, base],
            maker=self.written(maker),
            **self.fields(tensor, base),
        )

    def fields(self, tensor: Tensor | None, base: Tensor | None) -> dict[str, Any]:
        """Return what the sentences about an input can name."""
        name = self.name(tensor)
        whole = base or (tensor if tensor and tensor.is_leaf else None)
        shape = tensor.shape if tensor else None
        return {
            "name": name,
            "it": name if tensor and tensor.name else UNNAMED,
            "code": self.code(self.call) or say("raised.call"),
            "base": self.name(whole) if whole else say("raised.a_tensor"),
            "view": say("raised.view_of", base=self.name(base)) if base else say("raised.view"),
            "part": say("raised.part_of", name=name, base=self.name(base)) if base else name,
            "numbers": say("raised.shape", shape=list(shape))
            if shape is not None
            else say("raised.many_numbers"),
            "dtype": (tensor.dtype or "") if tensor else "",
        }

    def blamed(self, cause: Cause) -> Tensor | None:
        """Return the input that the error is about, where only one can be."""
        inputs = BLAMED[cause](self) if cause in BLAMED else self.inputs[:1]
        return inputs[0] if len(inputs) == 1 else None

    def inputs_of_switch(self) -> list[Tensor]:
        """Return what was to require grad: a factory's inputs are not what it was to make."""
        switched = self.call is not None and self.call.function.startswith("requires_grad")
        return [t for t in self.inputs[:1] if switched and t.dtype]

    def no_inputs(self) -> list[Tensor]:
        """Return none: no recorded call raises it."""
        return []

    def roots_of_many_numbers(self) -> list[Tensor]:
        """Return the first root that holds more than one number, or none."""
        roots = self.inputs[: len(self.run.roots)] if self.run else []
        return [t for t in roots if t.shape is not None and math.prod(t.shape) != 1][:1]

    def untracked_inputs(self) -> list[Tensor]:
        """Return the inputs that do not require grad."""
        return [t for t in self.inputs if t.requires_grad is False]

    def inference_inputs(self) -> list[Tensor]:
        """Return the inputs without a version counter that were made in inference_mode."""
        made = {o for c in self.graph.calls if c.inference_mode for o in c.outputs}
        alone = len(self.inputs) == 1
        return [t for t in self.inputs if t.version is None and (t.id in made or alone)]

    # --- an optimizer -----------------------------------------------------------------------------

    def results_like_parameters(self) -> Explanation | None:
        """Name the results that look like parameters: no recorded call raises this error."""
        results = [t for t in self.facts.latest_state.values() if self.like_a_parameter(t)]
        if not results:
            return None
        return self.answer(
            Cause.NON_LEAF_IN_OPTIMIZER,
            "likely",
            calls=[self.facts.maker[t.id] for t in results],
            tensors=results,
            sure=Sure.LIKELY,
            more=(),
            names=self.names(results),
        )

    def like_a_parameter(self, tensor: Tensor) -> bool:
        """Say whether a tensor was computed from a leaf of its shape that requires grad."""
        maker = self.facts.maker.get(tensor.id)
        if maker is None or tensor.is_leaf is not False:
            return False
        sources = (self.graph.tensor[i] for i in maker.inputs)
        return any(t.is_leaf and t.requires_grad and t.shape == tensor.shape for t in sources)

    # --- nothing to start from --------------------------------------------------------------------

    @cached_property
    def root(self) -> Tensor | None:
        """The tensor that backward was to start from and that does not require grad."""
        index = number(self.text, "element") or 0
        recorded = self.run is not None and index < len(self.inputs)
        root = self.inputs[index] if recorded else self.given_root
        return root if root and not root.requires_grad else None

    @cached_property
    def start(self) -> str:
        """The sentence that nothing can train."""
        root = self.name(self.root) if self.root else say("raised.root")
        if self.flags and not any(self.flags.values()):
            return say("raised.no_start_frozen", root=root, n=len(self.flags))
        return say("raised.no_start", root=root)

    @cached_property
    def nearest_cuts(self) -> list[Cut]:
        """The cuts behind the root, without those behind another cut."""
        if self.root is None:
            return []
        near = self.facts.ancestors([self.root.id], {c.output_id for c in self.graph.cuts})
        return [c for c in self.graph.cuts if c.output_id in near]

    def start_unseen(self) -> Explanation | None:
        """Tell that what backward was called on was not recorded."""
        if self.root is not None and self.graph.calls:
            return None
        return self.answer(
            Cause.NO_GRAD_FN,
            "unseen",
            more=self.unrecorded(say("unrecorded.cut")),
            start=self.start,
        )

    def cut_off(self) -> Explanation | None:
        """Tell that cuts stand between the root and what requires grad."""
        cuts = self.nearest_cuts
        if self.root is None or not cuts:
            return None
        checkpoints = [c for c in cuts if in_reentrant_checkpoint(c, self.graph)]
        blamed = checkpoints or cuts  # beside a checkpoint, what else is frozen may be meant
        calls = [self.graph.call[i] for i in dict.fromkeys(c.call_id for c in blamed)]
        reasons = [say("raised.untracked_checkpoint")] if checkpoints else self.why_cut(cuts)
        if others := self.cuts_elsewhere(self.root, calls):
            reasons.append(say("raised.cut_before", n=others))
        return self.answer(
            Cause.NO_GRAD_FN,
            "cut",
            calls=calls,
            tensors=[self.root, *(self.graph.tensor[c.input_id] for c in cuts)],
            cuts=cuts,
            start=self.start,
            reasons=reasons,
            mends=list(dict.fromkeys(repair(c, self.graph) for c in blamed)),
        )

    def why_cut(self, cuts: list[Cut]) -> list[str]:
        """Say what was cut off, and what is frozen."""
        frozen = [self.graph.tensor[c.input_id] for c in cuts if c.reason is CutReason.FLAG_OFF]
        severed = [c for c in cuts if c.reason is not CutReason.FLAG_OFF]
        if not severed:
            return [say("raised.frozen_there", names=self.names(frozen))]
        sources = self.names(self.graph.tensor[c.input_id] for c in severed)
        reasons = list(dict.fromkeys(reason_of(c) for c in severed))
        sentences = [say("raised.cut_there", names=sources, reasons=reasons)]
        if frozen:
            sentences.append(say("raised.frozen_besides", names=self.names(frozen)))
        return sentences

    def cuts_elsewhere(self, root: Tensor, calls: list[Call]) -> int:
        """Count the calls behind the root that cut something, at other places than these calls."""
        behind = self.facts.ancestors([root.id])
        sites = {site_of(c) for c in calls}
        others = {c.call_id for c in self.facts.real_cuts if c.output_id in behind}
        return sum(site_of(self.graph.call[i]) not in sites for i in others)

    def left_torch(self) -> Explanation | None:
        """Tell of a cut on no way to the loss, and of a tensor of unknown origin after it, perhaps
        made from that value."""
        entries = self.entries_of_values()
        last_entry = max((call_id for call_id, _ in entries), default=-1)
        cuts = [c for c in self.graph.cuts if c.call_id < last_entry]
        if not cuts:
            return None
        cut = cuts[-1]
        entry_id = next(i for call_id, i in entries if call_id > cut.call_id)
        maker = self.facts.maker.get(entry_id)
        likely = cut.output_id is None and maker is not None
        return self.answer(
            Cause.NO_GRAD_FN,
            "left_likely" if likely else "left_possibly",
            calls=[self.graph.call[cut.call_id], maker],
            tensors=[self.root],
            cuts=(cut,),
            sure=Sure.LIKELY if likely else Sure.POSSIBLE,
            start=self.start,
            source=self.name(self.graph.tensor[cut.input_id]),
            entry=self.name(self.graph.tensor[entry_id]),
            mend=usual_repair(CutReason.COPIED_OUT),
        )

    def entries_of_values(self) -> list[tuple[int, int]]:
        """Return (call that made or first read it, tensor) of what came from plain values or from
        nothing that was recorded, and went into the root."""
        entries: list[tuple[int, int]] = []
        for i in sorted(self.behind_root):
            maker = self.facts.maker.get(i)
            if maker and not maker.inputs and maker.function in _FROM_VALUES:
                entries.append((maker.id, i))
            elif i not in self.facts.made_ids:  # from_numpy is not seen
                entries += [(c.id, i) for c in self.facts.calls_reading.get(i, ())[:1]]
        return entries

    @cached_property
    def behind_root(self) -> set[int]:
        """Every tensor state that the root was computed from."""
        return self.facts.ancestors([self.root.id]) if self.root else set()

    def from_grad(self) -> Explanation | None:
        """Tell that it was computed from what autograd.grad gave back without a graph."""
        calls = [self.graph.call[b.call_id] for b in self.graph.backwards if b.kind == "grad"]
        calls = [c for c in calls if self.behind_root & {*c.outputs}]
        if self.root is None or not calls:
            return None
        last = calls[-1]
        gradients = [self.graph.tensor[i] for i in last.outputs if i in self.behind_root]
        return self.answer(
            Cause.NO_GRAD_FN,
            "from_grad",
            calls=dict.fromkeys([last, self.facts.maker.get(self.root.id)]),
            tensors=[self.root, *self.named_origins()],
            start=self.start,
            names=self.names(gradients),
        )

    def untracked(self) -> Explanation | None:
        """Tell that no cut leads to it: nothing that it was computed from required grad."""
        if self.root is None:
            return None
        maker = self.facts.maker.get(self.root.id)
        reasons = [self.why_untracked(self.root, maker)]
        if self.graph.notes:
            reasons.append(say("raised.incomplete"))
        return self.answer(
            Cause.NO_GRAD_FN,
            "untracked",
            calls=[maker],
            tensors=[self.root, *self.named_origins()],
            checked=("cut_recorded",) if maker and not self.graph.notes else (),
            start=self.start,
            reasons=reasons,
        )

    def why_untracked(self, root: Tensor, maker: Call | None) -> str:
        """Say that nothing was tracked, and name what it was computed from."""
        if maker is None:
            return say("raised.older", root=self.name(root))
        origins = self.names(self.named_origins())
        if not origins or not maker.inputs:
            return say("raised.nothing_tracked", root=self.name(root))
        return say("raised.nothing_tracked_of", root=self.name(root), names=origins)

    def named_origins(self) -> list[Tensor]:
        """Return what the root was computed from that has a name and was not computed itself."""
        makers = self.facts.maker
        first = [
            self.graph.tensor[i]
            for i in sorted(self.behind_root)
            if i not in self.facts.made_ids or (i in makers and not makers[i].inputs)
        ]
        return [t for t in first if t.name]

    # --- modified by an in-place operation --------------------------------------------------------

    def modified_in_place(self) -> Explanation:
        """What a node had saved was written, by a call or by the step of an optimizer."""
        stale = versions(self.text)
        node = self.stopped_at(stale)
        saved = self.saved_objects(node, stale) if node else []
        writers = self.calls_that_wrote(saved, stale)
        first = writers[0] if writers else None
        return self.answer(
            Cause.MODIFIED_IN_PLACE,
            "stepped" if first and self.is_step(first) else "written",
            calls=writers[:1],
            also_at=[*writers, self.maker(node)],
            tensors=saved,
            nodes=[node] if node else [],
            more=self.unrecorded(say("unrecorded.writer")),
            writer=self.writer(first) if first else say("raised.something"),
            name=self.saved_name(saved, stale),
            saver=node.name if node else say("raised.forward"),
            reasons=self.why_stale(node, saved, stale, writers),
            mend=mend_of_write(first),
        )

    def why_stale(
        self, node: Node | None, saved: list[Tensor], stale: Versions | None, writers: list[Call]
    ) -> list[str]:
        """Say what was saved at which version, and where else it was written."""
        saver = self.made_by(node)
        name = self.saved_name(saved, stale) if len(saved) == 1 else say("raised.it")
        if stale is None:
            return [say("raised.saved", node=saver, name=name)]
        at, now = stale.saved, stale.now
        sentences = [say("raised.saved_at", node=saver, name=name, saved=at, now=now)]
        places = {self.words.place(call) for call in writers}
        if len(places) > 1:
            sentences.append(say("raised.written_besides", n=len(places) - 1))
        if self.call and not writers:
            sentences.append(say("raised.write_unrecorded"))
        return sentences

    def saved_name(self, saved: list[Tensor], stale: Versions | None) -> str:
        """Return what was saved: one tensor, or those that cannot be told apart."""
        if len(saved) == 1:
            return self.name(saved[0])
        if saved:
            return say("raised.one_of", names=self.names(saved))
        if stale:
            return say("raised.tensor_of_shape", shape=stale.shape)
        return say("raised.a_tensor")

    def calls_that_wrote(self, saved: list[Tensor], stale: Versions | None) -> list[Call]:
        """Return the calls that wrote what was saved between the two versions that torch names."""
        if stale is None:
            return []
        writes = [e for e in self.facts.writes if self.moved(e, saved, stale)]
        return [self.graph.call[i] for i in dict.fromkeys(e.call_id for e in writes)]

    def is_step(self, call: Call) -> bool:
        """Say whether an optimizer wrote: its step is no in-place write of the user's."""
        return call.bookkeeping and _STEP.search(self.words.code(call)) is not None

    def writer(self, call: Call) -> str:
        """Return what a call that wrote is called: of a module's the module, and its function."""
        if not call.module:
            return self.code(call)
        module = visible(call.module, NAME)
        return say("raised.module_call", module=module, function=call.function)

    def stopped_at(self, stale: Versions | None) -> Node | None:
        """Return the node that found its tensor changed; without its event, the only one behind the
        loss that it can be."""
        if self.event:
            return self.graph.node.get(self.event.node_id)
        nodes = [
            node
            for node in self.nodes_behind_given_root
            if any(is_stale(saved, stale) for saved in node.saved)
        ]
        return nodes[0] if len(nodes) == 1 else None

    @cached_property
    def nodes_behind_given_root(self) -> list[Node]:
        """The nodes that a gradient of the root meets, where the error itself was not recorded."""
        edge = self.given_root.gradient_edge if self.given_root else None
        met = self.facts.reachable([edge.node_id] if edge else [])
        return [node for node in self.graph.nodes if node.id in met]

    def saved_objects(self, node: Node, stale: Versions | None) -> list[Tensor]:
        """Return what the node had saved and finds changed: one tensor, or those that cannot be
        told apart."""
        ids = [saved.tensor_id for saved in node.saved if is_stale(saved, stale)]
        tensors = [self.graph.tensor[i] for i in ids if i is not None]
        if stale:
            tensors = tensors or self.inputs_at(node, stale)
            tensors = of_shape(stale.shape, tensors) or tensors
            tensors = of_shape(stale.shape[::-1], tensors) or tensors
        return list({t.object_id: t for t in tensors}.values())

    def inputs_at(self, node: Node, stale: Versions) -> list[Tensor]:
        """Return the inputs that had the version that was saved: a view of one was saved, as of a
        weight that linear() turns over."""
        call = self.maker(node)
        versions_met = {(t.object_id, t.version) for t in self.graph.tensors}
        inputs = [self.graph.tensor[i] for i in (call.inputs if call else ())]
        return [
            t
            for t in inputs
            if t.version == stale.saved and (t.object_id, stale.now) in versions_met
        ]

    def moved(self, event: Wrote, saved: list[Tensor], stale: Versions) -> bool:
        """Say whether a write moved what was saved on between the two versions that torch names."""
        before = self.graph.tensor[event.before_id]
        after = self.graph.tensor[event.after_id]
        if before.version is None or after.version is None:
            return False
        if all(t.object_id != after.object_id for t in saved):
            return False
        return stale.saved <= before.version < after.version <= stale.now

    # --- second backward --------------------------------------------------------------------------

    @cached_property
    def freed(self) -> tuple[Node, Backward] | None:
        """The node that found its saved tensors gone, and the backward that freed them."""
        node = self.graph.node.get(self.event.node_id if self.event else None)
        if node is None or self.run is None:
            return None
        runs = self.facts.runs_that_freed.get(node.id, [])
        earlier = next((b for b in self.graph.backwards if b.run in runs[-1:]), None)
        return (node, earlier) if earlier else None

    def freed_unseen(self) -> Explanation:
        """An earlier backward was not recorded."""
        nodes = [
            node
            for node in self.nodes_behind_given_root
            if any(saved.state is SavedState.FREED for saved in node.saved)
        ]
        return self.answer(
            Cause.SECOND_BACKWARD,
            "unseen",
            nodes=nodes[:1],
            more=self.unrecorded(say("unrecorded.freed")),
            node=self.made_by(nodes[0]) if nodes else say("raised.some_node"),
        )

    def run_twice(self) -> Explanation | None:
        """Tell that two backwards went through the same graph, or through a part that two losses
        share."""
        if self.freed is None or self.run is None:
            return None
        node, earlier = self.freed
        first = self.graph.call[earlier.call_id]
        shared = self.shared(earlier.ran)
        same = set(self.run.roots) <= set(earlier.ran)
        return self.answer(
            Cause.SECOND_BACKWARD,
            "same_graph" if same else "shared" if shared else "twice",
            calls=[first, self.call],
            tensors=shared,
            nodes=[node],
            name=node.name,
            node=self.made_by(node),
            first=self.written(first),
            second=self.written(self.call),
            shared=several(self.names(shared)),
        )

    def shared(self, ran: Iterable[int]) -> list[Tensor]:
        """Return the tensors at which this backward enters what the earlier one ran through and
        freed."""
        old = {
            n
            for n in ran
            if self.graph.node[n].kind is not NodeKind.ACCUMULATE_GRAD
            and n in self.facts.leading_to_freed
        }
        new = self.facts.reachable(self.run.roots if self.run else ()) - old
        entered = {
            (e.next_node_id, e.input_nr)
            for n in new
            for e in self.graph.edges_from.get(n, ())
            if e.next_node_id in old
        }
        return [t for edge, t in self.facts.last_at.items() if edge in entered]

    def carried_over(self) -> Explanation | None:
        """Tell that a loop takes a tensor from before the earlier backward into this one: an RNN's
        state, a running loss."""
        if self.freed is None:
            return None
        node, earlier = self.freed
        first = self.graph.call[earlier.call_id]
        carried = self.carried(first)
        if not carried:
            return None
        maker = carried[0].maker
        reader = carried[0].reader
        names = list(dict.fromkeys(carried_name(c.tensor, c.maker, reader) for c in carried))
        values = detached(names, carried)
        unnamed = not all(names)
        rebound = self.made_again(maker, first, reader)
        elsewhere = rebound or not names_in_code(reader)[1].issuperset(names)
        by_module = names[0].startswith("self.")
        return self.answer(
            Cause.SECOND_BACKWARD,
            ("carried_unnamed" if unnamed else "carried_elsewhere")
            if unnamed or elsewhere
            else ("carried_by_module" if by_module else "carried"),
            calls=[reader],
            tensors=[c.tensor for c in carried],
            nodes=[node],
            names=names,
            code=self.code(maker),
            node=self.made_by(node),
            first=self.written(first),
            targets=", ".join(names),
            values=", ".join(values),
            kept=several(values),
        )

    def made_again(self, maker: Call, first: Call, reader: Call) -> bool:
        """Say whether the line of the maker ran again before the value was read: the name is
        another iteration's by then."""
        return any(site_of(c) == site_of(maker) for c in self.calls_between(first, reader))

    def calls_before(self, last: Call) -> list[Call]:
        """Return the calls that began before another."""
        return [c for c in self.graph.calls if c.id < last.id]

    def calls_between(self, first: Call, last: Call) -> list[Call]:
        """Return the calls that began after one call and before another."""
        return [c for c in self.graph.calls if first.id < c.id < last.id]

    def carried(self, first: Call) -> list[Carried]:
        """Return what a loop carries over from before the earlier backward, in the order in which
        it is read."""
        if self.call is None or self.run is None or not self.in_a_loop(first, self.call):
            return []
        met = self.facts.reachable(self.run.roots)
        sites_after = {site_of(c) for c in self.calls_between(first, self.call)}
        carried: dict[Any, Carried] = {}  # by gradient edge
        for reader in self.repeated_readers(first, self.call, met):
            for tensor in (self.graph.tensor[i] for i in reader.inputs):
                maker = self.maker_of_freed(tensor, met)
                if maker and maker.id < first.id and site_of(maker) in sites_after:
                    carried.setdefault(tensor.gradient_edge, Carried(tensor, maker, reader))
        return list(carried.values())

    def repeated_readers(self, first: Call, last: Call, met: set[int]) -> list[Call]:
        """Return the calls between two backwards whose nodes the second one meets, and whose line
        ran before the first one too."""
        on_the_way = {self.graph.node[n].call_id for n in met}
        sites_before = {site_of(c) for c in self.calls_before(first)}
        between = self.calls_between(first, last)
        return [c for c in between if c.id in on_the_way and site_of(c) in sites_before]

    def in_a_loop(self, first: Call, last: Call) -> bool:
        """Say whether two backwards are two iterations of one loop."""
        before = self.weights(self.calls_before(first))
        after = self.weights(self.calls_between(first, last))
        for site, read in after.items():
            # other layers at the same lines: a stack of blocks, and no iteration
            if read and before.get(site) and read.isdisjoint(before[site]):
                return False
        earlier = (self.graph.call[b.call_id] for b in self.graph.backwards)
        return any(site_of(c) == site_of(last) for c in earlier if c.id < last.id)

    def weights(self, calls: Iterable[Call]) -> dict[Site | None, set[int]]:
        """Return the leaves that require grad, by the place in the code that read them."""
        leaves: dict[Site | None, set[int]] = {}
        for call in calls:
            read = [self.graph.tensor[i] for i in call.inputs]
            objects = {t.object_id for t in read if t.is_leaf and t.requires_grad}
            leaves.setdefault(site_of(call), set()).update(objects)
        return leaves

    def maker_of_freed(self, tensor: Tensor, met: set[int]) -> Call | None:
        """Return the call that made a tensor, where this backward comes through it to a freed
        node."""
        node = self.graph.node.get(tensor.gradient_edge.node_id) if tensor.gradient_edge else None
        freed = node is not None and node.id in met and node.id in self.facts.leading_to_freed
        return self.maker(node) if freed else None

    # --- unused input -----------------------------------------------------------------------------

    @cached_property
    def wanted(self) -> list[Tensor]:
        """The inputs for which autograd.grad was asked."""
        return self.inputs[len(self.run.roots) :] if self.run else []

    @cached_property
    def unused(self) -> Tensor | None:
        """The input that torch's text names; without a number the only one that no path leads
        to."""
        index = number(self.text, "index")
        if index is not None and index < len(self.wanted):
            return self.wanted[index]
        reached = self.facts.reachable(self.run.roots if self.run else ())
        missed = [
            t
            for t in self.wanted
            if t.requires_grad and not (t.gradient_edge and t.gradient_edge.node_id in reached)
        ]
        return missed[0] if len(missed) == 1 else None

    @cached_property
    def unused_name(self) -> str:
        """What the unused input is called: its place, where it has no name."""
        if self.unused and not self.unused.name:
            return say("raised.input", index=self.wanted.index(self.unused))
        return self.name(self.unused)

    def input_unseen(self) -> Explanation | None:
        """Tell that it was not recorded which input is not used."""
        if self.unused is not None:
            return None
        index = number(self.text, "index")
        return self.answer(
            Cause.UNUSED_INPUT,
            "unseen" if index is None else "unseen_numbered",
            more=self.unrecorded(say("unrecorded.input")),
            index=index,
        )

    def input_cut_off(self) -> Explanation | None:
        """Tell that a cut stands between the output and the input."""
        if self.unused is None:
            return None
        root = self.inputs[0]
        behind = self.facts.ancestors([root.id])
        cuts = [
            c
            for c in self.graph.cuts
            if c.output_id in behind and self.unused.id in self.facts.ancestors([c.input_id])
        ]
        if not cuts:
            return None
        cut = cuts[-1]
        return self.answer(
            Cause.UNUSED_INPUT,
            "cut",
            calls=[self.graph.call[cut.call_id]],
            tensors=[self.unused, root],
            cuts=(cut,),
            name=self.unused_name,
            root=self.name(root),
            reason=reason_of(cut),
            mend=repair(cut, self.graph),
        )

    def input_of_another(self) -> Explanation | None:
        """Tell that the output was not computed from it, but perhaps from a twin of it."""
        if self.unused is None:
            return None
        root = self.inputs[0]
        used = self.facts.ancestors([root.id])
        original = self.original_of(self.unused, used)
        twin = original or self.same_values_as(self.unused, used)
        return self.answer(
            Cause.UNUSED_INPUT,
            "copied" if original else "same_values" if twin else "unused",
            calls=[self.call, self.facts.maker.get(self.unused.id) if twin else None],
            tensors=[self.unused, twin or root],
            checked=() if self.graph.notes else ("cut_recorded",),
            name=self.unused_name,
            root=self.name(root),
            twin=self.name(twin),
            values=self.unused.values,
        )

    def twins(self, tensor: Tensor, used: set[int]) -> list[Tensor]:
        """Return other tensors that were used and have its shape and values."""
        return [
            t
            for t in self.graph.tensors
            if t.id in used
            and t.shape == tensor.shape
            and t.values == tensor.values
            and t.object_id != tensor.object_id
        ]

    def original_of(self, tensor: Tensor, used: set[int]) -> Tensor | None:
        """Return a used tensor that this one is a copy of."""
        behind = self.facts.ancestors([tensor.id])
        makers = self.facts.maker
        for twin in self.twins(tensor, used):
            between = behind - self.facts.ancestors([twin.id])
            copied = all(makers[i].function in _COPIES for i in between if i in makers)
            if twin.id in behind and copied:
                return twin
        return None

    def same_values_as(self, tensor: Tensor, used: set[int]) -> Tensor | None:
        """Return a used tensor that has the values of this one."""
        return next((t for t in self.twins(tensor, used) if t.values is not None), None)


# Which inputs an error can be about, where that is not simply the first.
BLAMED: dict[Cause, Callable[[Failure], list[Tensor]]] = {
    Cause.REQUIRES_GRAD_NON_FLOAT: Failure.inputs_of_switch,
    Cause.NON_LEAF_IN_OPTIMIZER: Failure.no_inputs,
    Cause.NOT_SCALAR: Failure.roots_of_many_numbers,
    Cause.NEVER_TRACKED: Failure.untracked_inputs,
    Cause.INFERENCE_TENSOR: Failure.inference_inputs,
}


def is_stale(saved: SavedTensor, stale: Versions | None) -> bool:
    """Say whether a saved tensor was written since, and has the version that torch names."""
    return saved.state is SavedState.STALE and (stale is None or saved.saved_version == stale.saved)


def of_shape(shape: list[int], tensors: list[Tensor]) -> list[Tensor]:
    """Return the tensors of one shape."""
    return [t for t in tensors if list(t.shape or ()) == shape]


def mend_of_write(call: Call | None) -> str:
    """Return what to write instead of a call that wrote in place."""
    if call is None:
        return say("mend.write_unseen")
    if call.function == "__setitem__":
        return say("mend.write_item")
    return say("mend.write_by_module") if call.module else say("mend.write")


def detached(names: list[str], carried: list[Carried]) -> list[str]:
    """Return the code of each carried name without its graph."""
    makers = {c.maker.id for c in carried}
    # one name for several results of one call
    packed = len(names) == len(makers) == 1 < len(carried)
    return [DETACH_EACH.format(name) if packed else f"{name}.detach()" for name in names]


def carried_name(tensor: Tensor, maker: Call, reader: Call) -> str:
    """Return what the code calls a tensor that one call made and a later one reads; "" where it has
    no name there."""
    name = tensor.code_name
    bound = names_bound(maker, reader)
    read = names_in_code(reader)[1]
    both = [n for n in bound if n in read]
    if name in both:
        return name
    if len(both) == 1:
        return both[0]
    if not name and len(bound) == len(maker.outputs) and tensor.id in maker.outputs:
        return bound[maker.outputs.index(tensor.id)]
    return name


def names_bound(maker: Call, reader: Call) -> list[str]:
    """Return the names that the code of a call binds; of the calls of one line, some have no
    code."""
    bound = names_in_code(maker)[0]
    if bound or not maker.source or not reader.source:
        return bound
    return names_in_code(reader)[0] if maker.source[:2] == reader.source[:2] else []


def names_in_code(call: Call) -> tuple[list[str], set[str]]:
    """Return the names, attributes and items that the code of a call binds, from left to right, and
    those that it reads."""
    try:
        tree = ast.parse((call.source.code or "").strip() if call.source else "")
    except SyntaxError:  # it is cut short
        return [], set()
    named = [n for n in ast.walk(tree) if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript))]
    named.sort(key=lambda n: (n.lineno, n.col_offset))
    bound = [ast.unparse(n) for n in named if isinstance(n.ctx, ast.Store)]
    return bound, {ast.unparse(n) for n in named if not isinstance(n.ctx, ast.Store)}
