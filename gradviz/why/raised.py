"""Why a backward, or another call, raised: plain data in and out, knows no torch.

What torch's message does not say (names, lines, who wrote, who freed) is said only where the
recording proves it.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

from gradviz.graph.facts import Facts
from gradviz.graph.findings import Cause
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
    Tensor,
    Wrote,
)
from gradviz.why.explanation import Explanation, at_a_word, lines_of
from gradviz.why.messages import (
    NON_REENTRANT,
    REPAIRS,
    SAID,
    UNTRACKED,
    Versions,
    cause_of,
    number,
    plain,
    repair,
    versions,
)
from gradviz.why.messages import read_error as read_error  # errors come in through here
from gradviz.why.paths import Paths
from gradviz.words.plain import visible
from gradviz.words.speech import several
from gradviz.words.words import bare

NAME = 40  # characters of a tensor's name in a sentence
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


def explain_error(
    error_type: str,
    message: str,
    graph: Graph | None = None,
    raised: Raised | None = None,
    parameters: Mapping[str, bool] | None = None,
    *,
    root_id: int | None = None,
) -> Explanation:
    """Why a backward, or another call, raised.

    Args:
        error_type: name of the error's class, e.g. "RuntimeError".
        message: its text; torch's own may stand anywhere in it.
        graph: what was recorded, or captured from the loss. Without one only the message speaks.
        raised: the event of this error in ``graph``; found by its text where it is left out.
        parameters: the model's parameters, and whether they require grad.
        root_id: the tensor in ``graph`` that backward was called on, where the error itself was not
            recorded; of a captured graph the first root, where it is left out.

    Returns:
        The explanation. Its cause is "not_known" for a message that is not one of autograd's.

    Example:
        >>> explain_error("RuntimeError", "Can't call numpy() on Tensor that requires grad.").cause
        'numpy_on_tracked'
    """
    text = plain(message)
    case = _Case(text, graph or Graph(), raised, root_id, dict(parameters or {}))
    cause = cause_of(text)
    if cause is None:
        return case.unknown(at_a_word(visible(f"{error_type}: {text}", 1000), 160))
    special = ERRORS.get(cause)
    return special(case) if special is not None else case.told(cause)


def recorded_error(graph: Graph, message: str) -> Raised | None:
    """The last recorded error whose text stands in this one's."""
    text = plain(message)
    for event in reversed(Facts.of(graph).errors):
        if (said := plain(event.message)[:1000]) and said in text:
            return event
    return None


class _Case:
    """One error, and the graph in which it happened."""

    def __init__(
        self,
        text: str,
        graph: Graph,
        raised: Raised | None,
        root_id: int | None,
        flags: dict[str, bool],
    ) -> None:
        self.text, self.graph, self.flags = text, graph, flags
        self.paths, self.facts = Paths(graph), Facts.of(graph)
        self.words = self.paths.words
        self.event = raised or recorded_error(graph, text)
        self.call = graph.call.get(self.event.call_id) if self.event else None
        self.inputs = [graph.tensor[i] for i in self.call.inputs] if self.call else []
        self.run = self.facts.run_of_call.get(self.call.id) if self.call else None
        roots = [root_id] if root_id is not None else [] if graph.calls else graph.roots
        self.root = next((graph.tensor[i] for i in roots if not self.event), None)

    # --- words ------------------------------------------------------------------------------------

    def say(
        self,
        cause: Cause,
        verdict: str,
        why: str,
        mend: str,
        *,
        calls: Iterable[Call | None] = (),
        tensors: Iterable[Tensor | None] = (),
        adds: str = "the line and the variable",
        **rest: Any,
    ) -> Explanation:
        """An explanation that tells of ``calls``, else of the call that raised, and points at
        both."""
        shown = [c for c in calls if c] or [c for c in (self.call,) if c]
        lines = lines_of(c for c in (*shown, self.call) if c)
        more: tuple[str, ...] = ()
        if self.call is None and self.graph.calls:  # a constructor raised, or another thread did
            more = ("No recorded call raised this error.",)
        elif self.call is None:
            more = (f"This error was not recorded: %%gradviz on its cell would add {adds}.",)
        if verdict.split(" ")[0] in (
            "an",
            "the",
            "one",
            "only",
            "something",
            "what",
            "input",
            "backward",
        ):
            verdict = verdict[0].upper() + verdict[1:]
        return Explanation(
            cause,
            verdict,
            self.words.places(shown),
            why,
            mend,
            lines=lines,
            graph=self.graph,
            tensor_ids=tuple(t.id for t in tensors if t),
            more=more,
            **rest,
        )

    def unknown(self, error: str) -> Explanation:
        why = "not known: this is none of the errors of autograd that can be told apart here."
        out = (
            "the known errors of backward, of in-place writes, leaves, views and inference tensors",
        )
        # its traceback says where
        return self.say(Cause.NOT_KNOWN, error, why, "", ruled_out=out)._replace(more=())

    def name(self, tensor: Tensor | None, otherwise: str = "the tensor") -> str:
        return visible(self.words.name(tensor.id), NAME) if tensor else otherwise

    def code(self, call: Call | None) -> str:
        return visible(self.words.code(call), NAME) if call else ""

    def names(self, tensors: Iterable[Tensor]) -> str:
        return several(list(dict.fromkeys(map(self.name, tensors))))

    def written(self, call: Call | None) -> str:
        """``c = a * 2 (line 3)``."""
        place, comma, _ = self.words.place(call).partition(", ")
        return self.code(call) + (f" ({place})" if comma and call and call.source else "")

    def maker(self, node: Node | None) -> Call | None:
        return self.graph.call.get(node.call_id) if node else None

    def made_by(self, node: Node | None) -> str:
        """``MulBackward0 of c = a * 2 (line 3)``."""
        call = self.maker(node)
        return (node.name if node else "a node") + (f" of {self.written(call)}" if call else "")

    def told(self, cause: Cause) -> Explanation:
        """A cause whose tensor is an input of the call that raised."""
        said, tensor = SAID[cause], self.blamed(cause)
        base = self.graph.tensor.get(tensor.base_id if tensor else None)
        maker = self.facts.maker.get(tensor.id) if tensor else None
        words = self.fields(tensor, base)
        why = said.why
        if maker and maker is not self.call and tensor and tensor.name:
            why = f"{self.name(tensor)} was made by {self.written(maker)}; {why}"
        calls = [maker, self.call] if cause is Cause.INFERENCE_TENSOR else [self.call]
        return self.say(
            cause,
            said.verdict.format_map(words),
            why,
            said.mend.format_map(words),
            calls=calls,
            tensors=[tensor, base],
        )

    def fields(self, tensor: Tensor | None, base: Tensor | None) -> dict[str, str]:
        """What stands in the place of each name in braces of ``SAID``."""
        words = {
            "name": self.name(tensor),
            "it": "(…)",
            "code": self.code(self.call) or "the call",
            "base": self.name(base, "a tensor"),
            "of": f" of {self.name(base)}" if base else "",
            "shape": "more than one element",
            "dtype": "",
        }
        if tensor is None:
            return words
        if tensor.name:
            words["it"] = self.name(tensor)
        if base is None and tensor.is_leaf:
            words["base"] = self.name(tensor)
        if tensor.shape is not None:
            words["shape"] = f"shape {list(tensor.shape)}"
        if tensor.dtype:
            words["dtype"] = f", and {self.name(tensor)} is {tensor.dtype}"
        return words

    def blamed(self, cause: Cause) -> Tensor | None:
        """The input that the error is about, where only one can be."""
        inputs = BLAMED[cause](self) if cause in BLAMED else self.inputs[:1]
        return inputs[0] if len(inputs) == 1 else None

    def inputs_of_switch(self) -> list[Tensor]:
        """A factory's inputs are not what it was to make."""
        switched = self.call is not None and self.call.function.startswith("requires_grad")
        return self.inputs[:1] if switched else []

    def no_inputs(self) -> list[Tensor]:
        """No recorded call raises it."""
        return []

    def roots_of_many_numbers(self) -> list[Tensor]:
        """The first root that holds more than one number, or none."""
        roots = self.inputs[: len(self.run.roots)] if self.run else []
        return [t for t in roots if t.shape is not None and math.prod(t.shape) != 1][:1]

    def untracked_inputs(self) -> list[Tensor]:
        """The inputs that do not require grad."""
        return [t for t in self.inputs if t.requires_grad is False]

    def inference_inputs(self) -> list[Tensor]:
        """The inputs without a version counter that were made in inference_mode."""
        made = {o for c in self.graph.calls if c.inference_mode for o in c.outputs}
        alone = len(self.inputs) == 1
        return [t for t in self.inputs if t.version is None and (t.id in made or alone)]

    def non_leaf_in_optimizer(self) -> Explanation:
        """No recorded call raises it: named are the results that look like parameters."""
        told = self.told(Cause.NON_LEAF_IN_OPTIMIZER)
        found = []
        for t in self.facts.latest_state.values():
            maker = self.facts.maker.get(t.id)
            leaves = (
                [self.graph.tensor[i] for i in maker.inputs] if maker and t.is_leaf is False else []
            )
            if maker and any(
                leaf.is_leaf and leaf.requires_grad and leaf.shape == t.shape for leaf in leaves
            ):
                found.append((t, maker))
        if not found:
            return told
        why = f"{told.why} Likely, not proven: {self.names(t for t, _ in found)}."
        calls = [maker for _, maker in found]
        return told._replace(
            why=why,
            where=self.words.places(calls),
            lines=lines_of(calls),
            more=(),
            tensor_ids=tuple(t.id for t, _ in found),
        )

    # --- nothing to start from --------------------------------------------------------------------

    def no_grad_fn(self) -> Explanation:
        index = number(self.text, "element") or 0
        root = self.inputs[index] if self.run and index < len(self.inputs) else self.root
        root = root if root and not root.requires_grad else None
        frozen = self.flags and not any(self.flags.values())
        verdict = (
            f"Nothing can train: {self.name(root, 'what backward was called on')} has no grad_fn"
        )
        verdict += f", and all {len(self.flags)} parameters are frozen." if frozen else "."
        if root is None or not self.graph.calls:
            why = (
                "it was cut off from what requires grad, or nothing that it was computed from does."
            )
            return self.say(
                Cause.NO_GRAD_FN,
                verdict,
                why,
                "",
                adds="where it was cut, or that nothing was tracked",
            )
        near = self.facts.ancestors([root.id], {c.output_id for c in self.graph.cuts})
        cuts = [c for c in self.graph.cuts if c.output_id in near]
        if cuts:
            return self.cut_off(verdict, root, cuts)
        return self.left_torch(verdict, root) or self.untracked(verdict, root)

    def cut_off(self, verdict: str, root: Tensor, cuts: list[Cut]) -> Explanation:
        calls = [self.graph.call[i] for i in dict.fromkeys(c.call_id for c in cuts)]
        tracked = [self.graph.tensor[c.input_id] for c in cuts]
        why = self.why_cut(cuts)
        mends = {c.call_id: repair(c, self.graph) for c in cuts}
        if NON_REENTRANT in mends.values():  # what else is frozen may be meant
            mends = {i: mend for i, mend in mends.items() if mend == NON_REENTRANT}
            calls, why = [self.graph.call[i] for i in mends], UNTRACKED
        others = self.cuts_elsewhere(root, calls)
        why += f" Before that, {others} more calls cut it too." if others else ""
        return self.say(
            Cause.NO_GRAD_FN,
            verdict,
            why,
            " ".join(dict.fromkeys(mends.values())),
            calls=calls,
            tensors=[root, *tracked],
            cuts=tuple(cuts),
        )

    def why_cut(self, cuts: list[Cut]) -> str:
        """Say what was cut off, and what is frozen."""
        frozen = [self.graph.tensor[c.input_id] for c in cuts if c.reason is CutReason.FLAG_OFF]
        severed = [c for c in cuts if c.reason is not CutReason.FLAG_OFF]
        if not severed:
            return f"frozen there: {self.names(frozen)}; nothing else behind it requires grad."
        sources = [self.graph.tensor[c.input_id] for c in severed]
        reasons = several(list(dict.fromkeys(c.reason.value for c in severed)))
        verb = "require" if len({self.name(t) for t in sources}) > 1 else "requires"
        why = f"{self.names(sources)} {verb} grad, and the path was cut there: {reasons}."
        return why + (f" Frozen besides: {self.names(frozen)}." if frozen else "")

    def cuts_elsewhere(self, root: Tensor, calls: list[Call]) -> int:
        """Count the calls behind the root that cut something, at other places than these calls."""
        behind, here = self.facts.ancestors([root.id]), {_site(c) for c in calls}
        others = {c.call_id for c in self.facts.real_cuts if c.output_id in behind}
        return sum(_site(self.graph.call[i]) not in here for i in others)

    def left_torch(self, verdict: str, root: Tensor) -> Explanation | None:
        """A cut on no way to the loss, and a tensor of unknown origin afterwards: perhaps made from
        that value."""
        behind = self.facts.ancestors([root.id])
        entries: list[tuple[int, int]] = []  # (call that made or first read it, tensor)
        for i in sorted(behind):
            maker = self.facts.maker.get(i)
            if maker and not maker.inputs and maker.function in _FROM_VALUES:
                entries.append((maker.id, i))
            elif i not in self.facts.made_ids:  # from_numpy is not seen
                entries += [(c.id, i) for c in self.facts.calls_reading.get(i, ())[:1]]
        cuts = [c for c in self.graph.cuts if c.call_id < max(entries, default=(-1, -1))[0]][-1:]
        for cut in cuts:
            entry = next(i for at, i in entries if at > cut.call_id)
            maker = self.facts.maker.get(entry)
            how = "Likely" if cut.output_id is None and maker else "Possible"
            source, came = self.graph.tensor[cut.input_id], self.graph.tensor[entry]
            why = (
                f"{self.name(source)} was cut off there; {self.name(came)} came in later with no"
                " recorded origin."
            )
            why += f" {how}, not proven: it was made from that value."
            return self.say(
                Cause.NO_GRAD_FN,
                verdict,
                why,
                REPAIRS[CutReason.COPIED_OUT],
                cuts=(cut,),
                calls=[self.graph.call[cut.call_id], maker],
                tensors=[root],
            )
        return None

    def untracked(self, verdict: str, root: Tensor) -> Explanation:
        """No cut leads to it: nothing that it was computed from required grad."""
        behind, maker = self.facts.ancestors([root.id]), self.facts.maker.get(root.id)
        named = self.named_origins(behind)
        runs = [self.graph.call[b.call_id] for b in self.graph.backwards if b.kind == "grad"]
        if runs := [c for c in runs if behind & {*c.outputs}]:
            got = [self.graph.tensor[i] for i in runs[-1].outputs if i in behind]
            return self.say(
                Cause.NO_GRAD_FN,
                verdict,
                f"{self.names(got)} came from autograd.grad without create_graph=True, so it has no"
                " graph.",
                "create_graph=True there.",
                calls=[*{runs[-1]: 0, maker: 0}],
                tensors=[root, *named],
                ruled_out=(),
            )
        why = f"nothing that {self.name(root)} was computed from requires grad"
        why += f": {self.names(named)}." if named and maker and maker.inputs else "."
        if maker is None:
            why = (
                f"{self.name(root)} is like this since before the recording; what made it was not"
                " recorded."
            )
        if self.graph.notes:
            why += " The recording is not complete: a cut before it is possible."
        return self.say(
            Cause.NO_GRAD_FN,
            verdict,
            why,
            "requires_grad_() on what is to learn, before the forward.",
            calls=[maker],
            tensors=[root, *named],
            ruled_out=("a cut in this recording",) if maker and not self.graph.notes else (),
        )

    def named_origins(self, behind: Iterable[int]) -> list[Tensor]:
        """Of some tensors those that have a name and were not computed from others."""
        makers = self.facts.maker
        first = [
            i
            for i in sorted(behind)
            if i not in self.facts.made_ids or (i in makers and not makers[i].inputs)
        ]
        return [t for i in first if (t := self.graph.tensor[i]).name]

    # --- modified by an in-place operation --------------------------------------------------------

    def modified_in_place(self) -> Explanation:
        said = versions(self.text)
        node = self.stopped_at(said)
        saved = self.saved_objects(node, said) if node else []
        calls = self.calls_that_wrote(saved, said)
        name = self.names(saved) or (f"a tensor of shape {said.shape}" if said else "a tensor")
        name = f"one of {name}" if len(saved) > 1 else name
        verdict, mend = self.who_wrote(calls, name, node)
        why = f"{self.made_by(node)} saved {name if len(saved) == 1 else 'it'} for its gradient"
        why += f" at version {said.saved}; it is at version {said.now} now." if said else "."
        places = set(map(self.words.place, calls))
        why += f" It was written at {len(places) - 1} more places." if len(places) > 1 else ""
        why += " The write was not recorded." if self.call and said and not calls else ""
        found = self.say(
            Cause.MODIFIED_IN_PLACE,
            verdict,
            why,
            mend,
            calls=calls[:1],
            tensors=saved,
            adds="the variable, and the line that wrote it",
            node_ids=(node.id,) if node else (),
        )
        seen = lines_of(c for c in (*calls, self.maker(node), self.call) if c)
        return found._replace(lines=tuple(dict.fromkeys((*found.lines, *seen))))

    def calls_that_wrote(self, saved: list[Tensor], said: Versions | None) -> list[Call]:
        """The calls that wrote what was saved between the two versions that torch names."""
        if said is None:
            return []
        writes = [e for e in self.facts.writes if self.moved(e, saved, said)]
        return [self.graph.call[i] for i in dict.fromkeys(e.call_id for e in writes)]

    def who_wrote(self, calls: list[Call], name: str, node: Node | None) -> tuple[str, str]:
        """The verdict and the mend: a step of an optimizer is no in-place write of the user's."""
        first = calls[0] if calls else None
        if first and first.bookkeeping and _STEP.search(self.words.code(first)):
            return (
                f"{self.code(first)} changed {name} between the forward and this backward.",
                "run every backward before the step, or compute the loss anew after it.",
            )
        who = self.writer(first) if first else "something"
        after = node.name if node else "the forward"
        return f"{who} wrote {name} in place after {after} had saved it.", _out_of_place(first)

    def writer(self, call: Call) -> str:
        return f"{visible(call.module, NAME)} ({call.function})" if call.module else self.code(call)

    def stopped_at(self, said: Versions | None) -> Node | None:
        """The node that found its tensor changed; without its event, the only one behind the loss
        that it can be."""
        if self.event:
            return self.graph.node.get(self.event.node_id)
        edge = self.root.gradient_edge if self.root else None
        below = self.facts.reachable([edge.node_id] if edge else [])
        stale = [n for n in self.graph.nodes if n.id in below and _has(n, SavedState.STALE, said)]
        return stale[0] if len(stale) == 1 else None

    def saved_objects(self, node: Node, said: Versions | None) -> list[Tensor]:
        """What the node had saved and finds changed: one tensor, or those that cannot be told
        apart."""
        stale = [s for s in node.saved if s.state is SavedState.STALE]
        if said:
            stale = [s for s in stale if s.saved_version == said.saved]
        found = [self.graph.tensor[s.tensor_id] for s in stale if s.tensor_id is not None]
        if said:
            found = found or self.inputs_at(node, said)
            found = _of_shape(said.shape, found) or found
            found = _of_shape(said.shape[::-1], found) or found
        return list({t.object_id: t for t in found}.values())

    def inputs_at(self, node: Node, said: Versions) -> list[Tensor]:
        """The inputs that had the version that was saved: a view of one was saved, as of a weight
        that linear() turns over."""
        call = self.maker(node)
        there = {(t.object_id, t.version) for t in self.graph.tensors}
        inputs = [self.graph.tensor[i] for i in (call.inputs if call else ())]
        return [t for t in inputs if t.version == said.saved and (t.object_id, said.now) in there]

    def moved(self, event: Wrote, saved: list[Tensor], said: Versions) -> bool:
        before, after = self.graph.tensor[event.before_id], self.graph.tensor[event.after_id]
        if (
            before.version is None
            or after.version is None
            or all(t.object_id != after.object_id for t in saved)
        ):
            return False
        return said.saved <= before.version < after.version <= said.now

    # --- second backward --------------------------------------------------------------------------

    def second_backward(self) -> Explanation:
        node = self.graph.node.get(self.event.node_id if self.event else None)
        earlier = self.freed_by(node) if node else None
        if node is None or earlier is None or self.run is None:
            return self.freed_unseen()
        first = self.graph.call[earlier.call_id]
        return self.carried_over(first, node) or self.run_twice(earlier, first, node, self.run)

    def freed_by(self, node: Node) -> Backward | None:
        """The backward that freed what a node had saved."""
        freed = self.facts.runs_that_freed.get(node.id, [])
        return next((b for b in self.graph.backwards if b.run in freed[-1:]), None)

    def freed_unseen(self) -> Explanation:
        """An earlier backward was not recorded."""
        edge = self.root.gradient_edge if self.root else None
        below = self.facts.reachable([edge.node_id] if edge else [])
        held = [n for n in self.graph.nodes if n.id in below and _has(n, SavedState.FREED)]
        return self.say(
            Cause.SECOND_BACKWARD,
            "An earlier backward has gone through part of this graph already.",
            f"{self.made_by(held[0]) if held else 'at least one node'} has no saved tensors any"
            " more.",
            "add the losses and call backward once; or detach what is carried over from the"
            " last iteration.",
            node_ids=tuple(n.id for n in held[:1]),
            adds="which backward freed it, and the tensor to detach",
        )

    def run_twice(self, earlier: Backward, first: Call, node: Node, run: Backward) -> Explanation:
        """Two backwards went through the same graph, or through a part that two losses share."""
        why = (
            f"{self.made_by(node)} gave up what it had saved in that backward;"
            f" {self.written(self.call)} needs it."
        )
        shared = self.shared(earlier.ran)
        name = self.names(shared)
        mend = "add the losses and call backward once, or retain_graph=True in the first."
        if set(run.roots) <= set(earlier.ran):
            why += " Both go through the same graph."
            mend = "compute the loss anew before each backward, or retain_graph=True in the first."
        elif shared:
            why += f" Both losses go through {name}."
            mend += (
                f" Or compute {name} anew for the second; or detach it, where no second gradient is"
                " meant to pass."
            )
        return self.say(
            Cause.SECOND_BACKWARD,
            f"what {node.name} had saved was freed by an earlier backward: {self.written(first)}.",
            why,
            mend,
            calls=[first, self.call],
            tensors=shared,
            node_ids=(node.id,),
        )

    @cached_property
    def leading(self) -> Mapping[int | None, int]:
        """Not 0 for every node from which a gradient comes to a freed one."""
        return self.facts.met(dict.fromkeys(self.facts.runs_that_freed, 1), {})

    def shared(self, ran: Iterable[int]) -> list[Tensor]:
        """The tensors at which this backward enters what the earlier one ran through and freed."""
        old = {
            n
            for n in ran
            if self.graph.node[n].kind is not NodeKind.ACCUMULATE_GRAD and self.leading.get(n)
        }
        new = self.facts.reachable(self.run.roots if self.run else ()) - old
        entered = {
            (e.next_node_id, e.input_nr)
            for n in new
            for e in self.graph.edges_from.get(n, ())
            if e.next_node_id in old
        }
        return [t for edge, t in self.facts.last_at.items() if edge in entered]

    def carried_over(self, first: Call, node: Node) -> Explanation | None:
        """A loop takes a tensor from before the earlier backward into this one: an RNN's state, a
        running loss."""
        carried = self.carried(first)
        if not carried:
            return None
        reader, parts = carried[0][2], {made.id for _, made, _ in carried}
        again = any(
            _site(c) == _site(carried[0][1])
            for c in self.graph.calls
            if first.id < c.id < reader.id
        )
        names = list(dict.fromkeys(carried_name(t, made, reader) for t, made, _ in carried))
        # one name for several results of one call
        packed = len(names) == len(parts) == 1 < len(carried)
        anew = [f"tuple(s.detach() for s in {n})" if packed else f"{n}.detach()" for n in names]
        when = (
            "before that line reads it" if names[0].startswith("self.") else "after each backward"
        )
        mend = (
            f"{', '.join(names)} = {', '.join(anew)} {when}: the next iteration starts from the"
            " value only."
        )
        if not all(names):
            names, mend = (
                [self.code(carried[0][1])],
                "detach() what is kept of it, once backward has run.",
            )
        # Where it went through a list, or the name is another iteration's by then, to assign to it
        # may be too late.
        elif again or not _code_names(reader)[1].issuperset(names):
            mend = f"keep {several(anew)} for the next iteration, once backward has run."
        verb = "carry" if len(names) > 1 else "carries"
        verdict = (
            f"{several(names)} {verb} an earlier iteration's graph into this backward, and it was"
            " freed there."
        )
        why = (
            f"{self.made_by(node)} gave up what it had saved in that iteration's"
            f" {self.written(first)}."
        )
        return self.say(
            Cause.SECOND_BACKWARD,
            verdict,
            why,
            mend,
            calls=[reader],
            tensors=[t for t, _, _ in carried],
            node_ids=(node.id,),
        )

    def weights(self, calls: Iterable[Call]) -> dict[Any, set[int]]:
        """The leaves that require grad, by the place in the code that read them."""
        found: dict[Any, set[int]] = {}
        for call in calls:
            read = [self.graph.tensor[i] for i in call.inputs]
            found.setdefault(_site(call), set()).update(
                t.object_id for t in read if t.is_leaf and t.requires_grad
            )
        return found

    def carried(self, first: Call) -> list[tuple[Tensor, Call, Call]]:
        """What is carried over, the call that made it and the one that reads it, where all of them
        ran in a loop."""
        graph, stop = self.graph, self.call
        if stop is None or self.run is None:
            return []
        met = self.facts.reachable(self.run.roots)
        on_the_way = {graph.node[n].call_id for n in met}
        before = self.weights(c for c in graph.calls if c.id < first.id)
        after = self.weights(c for c in graph.calls if first.id < c.id < stop.id)
        if any(after[s] and before.get(s) and after[s].isdisjoint(before[s]) for s in after):
            return []  # other layers at the same lines: a stack of blocks, and no iteration
        if not any(
            _site(graph.call[b.call_id]) == _site(stop)
            for b in graph.backwards
            if b.call_id < stop.id
        ):
            return []
        found: dict[Any, tuple[Tensor, Call, Call]] = {}
        for reader in (c for c in graph.calls if first.id < c.id < stop.id and c.id in on_the_way):
            for t in map(graph.tensor.__getitem__, reader.inputs):
                node = graph.node.get(t.gradient_edge.node_id) if t.gradient_edge else None
                made = self.maker(node)
                freed = node and node.id in met and self.leading.get(node.id)
                if (
                    freed
                    and made
                    and made.id < first.id
                    and _site(reader) in before
                    and _site(made) in after
                ):
                    found.setdefault(t.gradient_edge, (t, made, reader))
        return list(found.values())

    # --- unused input -----------------------------------------------------------------------------

    def unused_input(self) -> Explanation:
        tensor = self.input_unused()
        if tensor is None:
            index = number(self.text, "index")
            which = f"input {index}" if index is not None else "one of the inputs"
            return self.say(
                Cause.UNUSED_INPUT,
                f"{which} of autograd.grad is not in the graph of its output.",
                "no gradient path leads to it: it was cut off, or the forward used another tensor.",
                "ask for the tensor that the forward used, or allow_unused=True.",
                adds="its name, and where the path was cut",
            )
        root = self.inputs[0]
        place = f"input {self.wanted.index(tensor)}"
        name = self.name(tensor) if tensor.name else place
        verdict = f"{name} is not in the graph of {self.name(root)}."
        behind = self.facts.ancestors([root.id])
        cuts = [
            c
            for c in self.graph.cuts
            if c.output_id in behind and tensor.id in self.facts.ancestors([c.input_id])
        ]
        if cuts:
            return self.input_cut_off(verdict, name, tensor, cuts[-1])
        return self.input_of_another(verdict, name, tensor, behind)

    @cached_property
    def wanted(self) -> list[Tensor]:
        """The inputs for which autograd.grad was asked."""
        return self.inputs[len(self.run.roots) :] if self.run else []

    def input_unused(self) -> Tensor | None:
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

    def input_cut_off(self, verdict: str, name: str, tensor: Tensor, cut: Cut) -> Explanation:
        """A cut stands between the output and the input."""
        root = self.inputs[0]
        why = f"the path from {self.name(root)} back to {name} was cut there: {cut.reason.value}."
        return self.say(
            Cause.UNUSED_INPUT,
            verdict,
            why,
            REPAIRS[cut.reason],
            tensors=[tensor, root],
            calls=[self.graph.call[cut.call_id]],
            cuts=(cut,),
        )

    def input_of_another(
        self, verdict: str, name: str, tensor: Tensor, behind: set[int]
    ) -> Explanation:
        """The output was not computed from it, but perhaps from a twin of it."""
        root = self.inputs[0]
        twin, copied = self.twin(tensor, behind)
        why = f"{self.name(root)} was not computed from {name}"
        mend = f"compute {self.name(root)} from {name}, or allow_unused=True."
        if twin:
            why += f" but from {self.name(twin)}, " + (
                f"of which {name} is a copy"
                if copied
                else f"which has the same values {tensor.values}"
            )
            mend = f"ask for {self.name(twin)} if that is meant; else {mend}"
        return self.say(
            Cause.UNUSED_INPUT,
            verdict,
            f"{why}.",
            mend,
            calls=[self.call, self.facts.maker.get(tensor.id) if twin else None],
            tensors=[tensor, twin or root],
            ruled_out=("a cut in this recording",) if not self.graph.notes else (),
        )

    def twin(self, tensor: Tensor, used: set[int]) -> tuple[Tensor | None, bool]:
        """A used tensor that the input is a copy of (True), else one that has its values."""
        there = [
            t
            for t in self.graph.tensors
            if t.id in used
            and t.shape == tensor.shape
            and t.values == tensor.values
            and t.object_id != tensor.object_id
        ]
        own, makers = self.facts.ancestors([tensor.id]), self.facts.maker
        for t in there:
            between = own - self.facts.ancestors([t.id])
            if t.id in own and all(makers[i].function in _COPIES for i in between if i in makers):
                return t, True
        return next((t for t in there if t.values is not None), None), False


# The errors of which more is looked up than ``SAID`` has words for.
ERRORS: dict[Cause, Callable[[_Case], Explanation]] = {
    Cause.NO_GRAD_FN: _Case.no_grad_fn,
    Cause.MODIFIED_IN_PLACE: _Case.modified_in_place,
    Cause.SECOND_BACKWARD: _Case.second_backward,
    Cause.UNUSED_INPUT: _Case.unused_input,
    Cause.NON_LEAF_IN_OPTIMIZER: _Case.non_leaf_in_optimizer,
}


# Which inputs an error can be about, where that is not simply the first.
BLAMED: dict[Cause, Callable[[_Case], list[Tensor]]] = {
    Cause.REQUIRES_GRAD_NON_FLOAT: _Case.inputs_of_switch,
    Cause.NON_LEAF_IN_OPTIMIZER: _Case.no_inputs,
    Cause.NOT_SCALAR: _Case.roots_of_many_numbers,
    Cause.NEVER_TRACKED: _Case.untracked_inputs,
    Cause.INFERENCE_TENSOR: _Case.inference_inputs,
}


def _site(call: Call) -> tuple[Any, ...] | None:
    """Where a call stands; the same again for each iteration of a loop."""
    return (call.source[:2], call.function, call.module) if call.source else None


def _code_names(call: Call) -> tuple[list[str], set[str]]:
    """The names, attributes and items that the code of a call binds, from left to right, and those
    that it reads."""
    try:
        tree = ast.parse((call.source.code or "").strip() if call.source else "")
    except SyntaxError:  # it is cut short
        return [], set()
    found = [n for n in ast.walk(tree) if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript))]
    found.sort(key=lambda n: (n.lineno, n.col_offset))
    bound = [ast.unparse(n) for n in found if isinstance(n.ctx, ast.Store)]
    return bound, {ast.unparse(n) for n in found if not isinstance(n.ctx, ast.Store)}


def carried_name(tensor: Tensor, made: Call, reader: Call) -> str:
    """What the code calls a tensor that one call made and a later one reads; "" where it has no
    name there."""
    own, (there, read) = bare(tensor.name), _code_names(reader)
    same = made.source and reader.source and made.source[:2] == reader.source[:2]
    # of the calls of one line, some have no code
    bound = _code_names(made)[0] or (there if same else [])
    both = [n for n in bound if n in read]
    if own in both or len(both) == 1:
        return own if own in both else both[0]
    if not own and len(bound) == len(made.outputs) and tensor.id in made.outputs:
        return bound[made.outputs.index(tensor.id)]
    return own


def _has(node: Node, state: SavedState, said: Versions | None = None) -> bool:
    return any(s.state is state and (not said or s.saved_version == said.saved) for s in node.saved)


def _of_shape(shape: list[int], tensors: list[Tensor]) -> list[Tensor]:
    return [t for t in tensors if list(t.shape or ()) == shape]


def _out_of_place(call: Call | None) -> str:
    if call is None:
        return "write out of place (y = x + 1 for x += 1); step the optimizer after every backward."
    if call.function == "__setitem__":
        return "collect the parts in a list and torch.stack() them, or write into a clone()."
    if call.module:
        return "inplace=False there."
    return (
        "write out of place under a new name (y = x + 1 for x += 1), or give the later step"
        " x.clone()."
    )
