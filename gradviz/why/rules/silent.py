"""What is wrong without an error: overwritten saved tensors, snapshots that follow, frozen weights
that move.

Each function returns what it can prove, and nothing otherwise. Live objects are read once and let
go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import torch

from gradviz.graph.facts import NO_MEMORY, Facts
from gradviz.graph.findings import Cause, Finding, Sure, Symptom
from gradviz.graph.preview import unread
from gradviz.graph.records import (
    Call,
    Called,
    Graph,
    Node,
    NodeRan,
    SavedState,
    SavedTensor,
    Tensor,
    Wrote,
)
from gradviz.watch import torch_private
from gradviz.watch.identity import read
from gradviz.why.explanation import Explanation, worded
from gradviz.words.speech import say
from gradviz.words.words import Words

if TYPE_CHECKING:
    from gradviz.watch.recorded import Recorded

# how optimizers write weights; nn.init does not
_STEPS = ("add", "sub", "mul", "lerp", "_foreach", "_fused", "addc")
# of plain SGD: what is added may be zero
_ADDS = ("add_", "_foreach_add_", "sub_", "_foreach_sub_")
_NORMS = (
    torch.nn.BatchNorm1d,
    torch.nn.BatchNorm2d,
    torch.nn.BatchNorm3d,
    torch.nn.SyncBatchNorm,
    torch.nn.InstanceNorm1d,
    torch.nn.InstanceNorm2d,
    torch.nn.InstanceNorm3d,
)


class Silent:
    """One question: what is asked about, and the recording. Lives only while it is answered."""

    def __init__(
        self, recording: Recorded | None, tensors: Any, models: Any, held: Any, graph: Graph | None
    ) -> None:
        self.recording = recording
        self.graph = (graph or recording.graph) if recording is not None else Graph()
        self.words, self.facts = Words(self.graph), Facts.of(self.graph)
        self.tensors: Mapping[str, torch.Tensor] = tensors
        self.models: Mapping[str, torch.nn.Module] = models
        self.held: Mapping[str, tuple[torch.Tensor, str]] = held
        every = (
            (model, *named)
            for model, module in models.items()
            for named in module.named_parameters()
        )
        self.parameters = {(f"{model}.{name}" if model else name): p for model, name, p in every}

    def object_of(self, tensor: torch.Tensor) -> int | None:
        """Return the object id of a live tensor in the graph."""
        state = self.recording.find(tensor) if self.recording is not None else None
        return None if state is None else state.object_id

    @cached_property
    def wanted(self) -> set[int]:
        """Object ids of everything that is asked about."""
        live = [*self.tensors.values(), *self.parameters.values()]
        return {i for i in map(self.object_of, live) if i is not None}

    def answer(
        self,
        cause: Cause,
        form: str,
        *,
        subject: str = "",
        calls: Sequence[Call] = (),
        nodes: Sequence[int] = (),
        tensors: Sequence[int] = (),
        sure: Sure = Sure.PROVEN,
        **fields: Any,
    ) -> Explanation:
        """Tell what was found.

        Args:
            cause: what is wrong.
            form: which sentences tell it: ``(cause, form)`` is their key in ``words/en.py``.
            subject: name of the tensor that it is about, if it is about one.
            calls: where it happened.
            nodes: the nodes that it points at.
            tensors: the tensors that it points at.
            sure: how sure it is.
            fields: what the sentences name.
        """
        finding = Finding(
            cause,
            form,
            _symptom_of(cause),
            subject,
            fields=fields,
            calls=tuple(calls),
            node_ids=tuple(nodes),
            tensor_ids=tuple(tensors),
            sure=sure,
        )
        return worded(finding, self.words)

    # --- saved tensors that were overwritten ------------------------------------------------------

    def overwritten(self) -> Iterator[Explanation]:
        """Nodes that ran after what they had saved was written and no version moved. The first one
        of each write."""
        leaves = self.facts.leaf_at
        told = set[int]()
        for node in self.graph.nodes:
            for saved in (s for s in node.saved if s.state is SavedState.OVERWRITTEN):
                writes = self.wrong_writes(node, saved)
                if not writes or writes[-1].call_id in told:
                    continue
                behind = self.facts.reachable([node.id])
                concerns = {leaves[n].object_id for n in behind if n in leaves}
                if not self.wanted or concerns & self.wanted:
                    told.add(writes[-1].call_id)
                    yield self.wrong(node, saved, writes[-1])

    def wrong_writes(self, node: Node, saved: SavedTensor) -> list[Wrote]:
        """Return the writes between the making of a node and its last run to what it saved, where
        that run sent something."""
        found, before_run = list[Wrote](), list[Wrote]()
        storages = self.storages_read(node, saved)
        for event in self.graph.events:
            if isinstance(event, Called) and event.call_id == node.call_id:
                found = []
            elif isinstance(event, NodeRan) and event.node_id == node.id:
                if not all(map(_is_zero, event.arrived)):
                    before_run = list(found)
            elif isinstance(event, Wrote) and self.unnoticed(event, saved, storages):
                found.append(event)
        return before_run

    def storages_read(self, node: Node, saved: SavedTensor) -> set[int | None]:
        """Return the memory in which what a node saved lies: where it is not known, that of its
        inputs."""
        call = self.graph.call.get(node.call_id)
        if saved.tensor_id is not None:
            ids = [saved.tensor_id]
        else:
            ids = list(call.inputs) if call else []
        # then it is no bias
        matrix = saved.tensor_id is None and saved.attribute.startswith(("mat", "weight"))
        read = [self.graph.tensor[i] for i in ids if i in self.graph.tensor]
        return {t.storage_id for t in read if not matrix or len(t.shape or ()) > 1} - {None}

    def unnoticed(self, event: Wrote, saved: SavedTensor, storages: Set[int | None]) -> bool:
        """Say whether a write changed one of these memories, and torch could not see it."""
        if not self.writes_memory(event):
            return False
        before, after = self.graph.tensor[event.before_id], self.graph.tensor[event.after_id]
        changed = before.values is None or before.values != after.values
        # A write that moved the version of what was saved would have raised.
        silent = before.version == after.version or before.version != saved.saved_version
        return before.storage_id in storages and changed and silent

    def wrong(self, node: Node, saved: SavedTensor, wrote: Wrote) -> Explanation:
        """Tell of one node that used what was written over what it had saved."""
        writer = self.graph.call[wrote.call_id]
        name = self.words.name(wrote.before_id if saved.tensor_id is None else saved.tensor_id)
        points: dict[str, Any] = {
            "subject": name,
            "calls": [writer],
            "nodes": [node.id],
            "tensors": [wrote.before_id, wrote.after_id],
            "node": self.words.node(node),
        }
        if writer.function.startswith("_fused_"):
            return self.answer(Cause.FUSED_STEP, "saved_before", **points)
        if ".data" in self.words.code(writer):
            return self.answer(Cause.OVERWRITTEN, "through_data", **points)
        return self.answer(Cause.OVERWRITTEN, "through_alias", **points, writer=writer.function)

    # --- snapshots that follow --------------------------------------------------------------------

    def snapshots(self) -> Iterator[Explanation]:
        """The first of the tensors that follow live weights."""
        found = (read(partial(self.follows, name, tensor)) for name, tensor in self.tensors.items())
        yield from [e for e in found if e is not None][:1]

    def shared_with_frozen(self) -> Iterator[Explanation]:
        """The first of the frozen parameters that share their memory with one that trains."""
        training: dict[Any, str] = {}  # name, by where in which memory it lies
        frozen: list[tuple[str, Any]] = []
        each_once = {id(p): (name, p) for name, p in self.parameters.items()}
        for name, p in each_once.values():
            key = torch_private.storage_key(p)
            # A lazy layer's parameter has no shape yet.
            place = None if key is None else read(partial(_place, key, p))
            if place is not None and p.requires_grad:
                training.setdefault(place, name)
            elif place is not None:
                frozen.append((name, place))
        for name, place in frozen:
            if place in training:
                yield self.answer(
                    Cause.SHARED_SNAPSHOT, "frozen_shares", subject=name, weight=training[place]
                )
                return

    def follows(self, name: str, tensor: torch.Tensor) -> Explanation | None:
        """A tensor apart from the graph that shares its memory with live weights."""
        if tensor.requires_grad:
            return None
        object_id = self.object_of(tensor)
        if object_id is not None:
            return self.followed(name, object_id)
        weight = self.parameter_sharing(tensor)
        if weight is None or any(tensor is p for p in self.parameters.values()):
            return None
        return self.answer(Cause.SHARED_SNAPSHOT, "shares", subject=name, weight=weight)

    def parameter_sharing(self, tensor: torch.Tensor) -> str | None:
        """Return the name of the first parameter that lies in a tensor's memory."""
        key = torch_private.storage_key(tensor)
        if key is None:
            return None
        for name, p in self.parameters.items():
            if torch_private.storage_key(p) == key:
                return name
        return None

    def followed(self, name: str, object_id: int) -> Explanation | None:
        """Tell of a tensor of the recording that shares its memory with weights that were written
        since."""
        states = self.facts.states[object_id]
        maker = self.facts.maker.get(states[0].id)
        if states[-1].storage_id is None or maker is None:
            return None
        # Calls are numbered in order: only what was written after the snapshot was made counts.
        writes = self.writes_to_weights(states[-1], maker.id)
        if not writes:
            return None
        first = writes[0]
        return self.answer(
            Cause.SHARED_SNAPSHOT,
            "followed",
            subject=name,
            calls=[maker],
            tensors=[states[-1].id, first.after_id],
            weight=self.words.name(first.after_id),
            maker=maker.function,
            writer=self.words.place(self.graph.call[first.call_id]),
            writes=len(writes),
        )

    def writes_to_weights(self, snapshot: Tensor, since: int) -> list[Wrote]:
        """Return the writes after a call to other leaves that train, in a snapshot's memory."""
        writes = [e for e in self.facts.writes if e.call_id > since and self.writes_memory(e)]
        states = {t.id for t in self.facts.states[snapshot.object_id]}
        along = {e.call_id for e in writes if e.alias and e.after_id in states}
        weights = self.weights_sharing(snapshot)
        direct = [e for e in writes if not e.alias or e.call_id in along]
        return [e for e in direct if e.after_id in weights]

    def writes_memory(self, event: Wrote) -> bool:
        """Say whether the call that wrote can change numbers at all."""
        return self.graph.call[event.call_id].function not in NO_MEMORY

    def weights_sharing(self, snapshot: Tensor) -> set[int]:
        """Return the states of other leaves that train, in a snapshot's memory."""
        return {
            t.id
            for t in self.graph.tensors
            if t.storage_id == snapshot.storage_id
            and t.object_id != snapshot.object_id
            and t.is_leaf
            and t.requires_grad
        }

    # --- frozen weights that move -----------------------------------------------------------------

    def leftovers(self) -> Iterator[Explanation]:
        """Frozen weights whose old ``.grad`` an optimizer still uses."""
        names, reasons = list[str](), list[str]()
        steps, ids = list[Call](), list[int]()
        for known_name, p in self.frozen_with_gradient().values():
            steps_seen = self.stepped(p)
            reason = self.reason_moved(p, steps_seen)
            if not reason:
                continue
            state = self.recording.find(p) if self.recording is not None else None
            reasons.append(reason)
            name = known_name or (state and self.words.name(state.id))
            names.append(name or say("silent.frozen_weight"))
            steps += steps_seen
            ids += [state.id] if state else []
        if names:
            yield self.answer(
                Cause.LEFTOVER_GRAD_MOVES,
                "moved" if steps else "would_move",
                calls=steps[-1:],
                tensors=ids,
                weights=names,
                reason=reasons[0],
            )

    @cached_property
    def why_moved(self) -> dict[int, str]:
        """Why the next step moves what an optimizer holds, by identity."""
        return {id(p): why for p, why in self.held.values()}

    def reason_moved(self, tensor: torch.Tensor, steps: list[Call]) -> str:
        """Say why an optimizer's step moves a frozen weight; "" where it does not.

        Args:
            tensor: the weight.
            steps: the recorded ones that wrote it.
        """
        why = self.why_moved.get(id(tensor))
        if why is not None:
            return why
        # A step with nothing to add writes too, and moves nothing.
        adds_only = all(c.function in _ADDS for c in steps)
        if not steps or (adds_only and not _is_nonzero(tensor.grad)):
            return ""
        return say("silent.has_gradient")

    def frozen_with_gradient(self) -> dict[int, tuple[str, Any]]:
        """Return what is asked about and is frozen, and still has a ``.grad``: by identity, each
        under its first name."""
        held = [(n, p) for n, (p, _) in self.held.items()]
        every = [*held, *self.parameters.items(), *self.tensors.items()]
        named = {id(p): n for n, p in reversed(every)}
        return {
            id(p): (named[id(p)], p)
            for _, p in every
            # is_leaf of a view that requires grad can raise
            if not p.requires_grad and p.is_leaf and p.grad is not None
        }

    def stepped(self, tensor: torch.Tensor) -> list[Call]:
        """Return the optimizer steps that wrote a tensor while it was frozen."""
        object_id = self.object_of(tensor)
        if object_id is None:
            return []
        steps = list[Call]()
        for event in self.facts.writes_by_object.get(object_id, ()):
            call = self.graph.call[event.call_id]
            frozen = self.graph.tensor[event.after_id].requires_grad is False
            by_step = call.bookkeeping and call.function.startswith(_STEPS)
            if frozen and by_step and not event.alias:
                steps.append(call)
        return steps

    # --- statistics of frozen networks ------------------------------------------------------------

    def statistics(self) -> Iterator[Explanation]:
        """BatchNorm layers without a trainable weight, in train mode."""
        names, calls, in_train_mode = list[str](), list[Call](), False
        for name, layer in self.frozen_norms():
            ran = self.normalised(layer)
            if ran or layer.training:
                names.append(name)
                calls += ran
                in_train_mode = in_train_mode or layer.training
        if not names:
            return
        if not calls:
            yield self.answer(Cause.BATCH_NORM_MOVES, "will_move", layers=names)
            return
        yield self.answer(
            Cause.BATCH_NORM_MOVES,
            "moved_in_train_mode" if in_train_mode else "moved",
            calls=calls[-1:],
            layers=names,
        )

    def frozen_norms(self) -> Iterator[tuple[str, torch.nn.Module]]:
        """Yield the layers that keep statistics and train no weight, each under its name."""
        for title, model in self.models.items():
            every = list(model.parameters())
            for name, layer in model.named_modules():
                if not isinstance(layer, _NORMS) or layer.running_mean is None:
                    continue
                own = list(layer.parameters()) or every
                if own and not any(p.requires_grad for p in own):
                    yield ".".join(filter(None, (title, name))), layer

    def normalised(self, layer: torch.nn.Module) -> list[Call]:
        """Return the recorded calls of a frozen layer that updated its statistics: they count the
        batch first."""
        weight = getattr(layer, "weight", None)
        own = self.object_of(weight) if isinstance(weight, torch.Tensor) else None
        return [] if own is None else self.counted.get(own, [])

    @cached_property
    def counted(self) -> dict[int, list[Call]]:
        """The calls of layers that counted the batch, by the frozen objects that they read."""
        found: dict[int, list[Call]] = {}
        for before, call in pairwise(self.graph.calls):
            if (
                before.function == "add_"
                and before.module == call.module
                and call.function.endswith("_norm")
            ):
                states = [self.graph.tensor[i] for i in call.inputs]
                for own in {t.object_id for t in states if t.requires_grad is False}:
                    found.setdefault(own, []).append(call)
        return found

    # --- graphs that are kept ---------------------------------------------------------------------

    def sums_kept(self) -> Iterator[Explanation]:
        """Living results that hold graphs of several backwards that are over: a running loss."""
        for t, node_id in self.results_not_run():
            behind = self.facts.reachable([node_id])
            iterations = len(behind & self.ended.keys())
            if iterations > 1 and self.concerns(behind):
                maker = self.facts.maker.get(t.id)
                yield self.answer(
                    Cause.GRAPH_KEPT,
                    "sum",
                    subject=t.name or say("silent.running_sum"),
                    calls=[maker] if maker else [],
                    tensors=[t.id],
                    nodes=[node_id],
                    iterations=iterations,
                    kept=len(behind),
                )

    def results_not_run(self) -> Iterator[tuple[Tensor, int]]:
        """Yield the living results through whose node no backward ran, each with the node; none
        where at most one backward is over."""
        if len(self.ended) < 2:
            return
        for t in self.facts.latest_state.values():
            if t.is_leaf or t.gradient_edge is None or t.gradient_edge.node_id in self.facts.ran:
                continue
            if t.object_id in self.wanted or (t.name and t.object_id in self.living):
                yield t, t.gradient_edge.node_id

    def lists_kept(self) -> Iterator[Explanation]:
        """Results of one line that are alive, each with the graph of a backward that is over: a
        list of losses."""
        for source, found in self.results_of_lines().items():
            found.sort()
            roots = [t.gradient_edge.node_id for _, t in found if t.gradient_edge]
            # Losses that were all there before the first backward are a batch, and go when it is
            # done.
            one_by_one = all(
                self.ended[node] < maker.id
                for node, (maker, _) in zip(roots, found[1:], strict=False)
            )
            if not source or len(found) < 3 or not one_by_one:
                continue
            if self.concerns(self.facts.reachable(roots)):
                maker = found[0][0]
                last = found[-1][1]
                yield self.answer(
                    Cause.GRAPH_KEPT,
                    "list",
                    calls=[maker],
                    tensors=[last.id],
                    nodes=[roots[-1]],
                    results=len(found),
                    code=self.words.code(maker),
                )

    def results_of_lines(self) -> dict[Any, list[tuple[Call, Tensor]]]:
        """Return the living results on which a backward was called that is over, and their makers,
        by line."""
        found: dict[Any, list[tuple[Call, Tensor]]] = {}
        for t in self.facts.latest_state.values() if len(self.ended) > 1 else ():
            maker = self.facts.maker.get(t.id)
            if maker is None or t.gradient_edge is None or t.object_id not in self.living:
                continue
            if t.gradient_edge.node_id in self.ended:
                found.setdefault(maker.source, []).append((maker, t))
        return found

    @cached_property
    def living(self) -> set[int | None]:
        """Object ids of what is still alive."""
        if self.recording is None:
            return set()
        return {self.object_of(t) for t in self.recording.living()}

    @cached_property
    def ended(self) -> dict[int, int]:
        """The roots of backwards that freed what they ran through, each with the call."""
        over = {e.run for e in self.facts.freed}
        return {
            r: b.call_id
            for b in self.graph.backwards
            if b.run in over and b.kind == "backward"
            for r in b.roots
        }

    @cached_property
    def wanted_nodes(self) -> set[int | None]:
        """The nodes at which gradients of what is asked about arrive."""
        nodes = self.facts.accumulate_node
        return {nodes.get(i) for i in self.wanted} | {
            t.gradient_edge.node_id
            for t in self.graph.tensors
            if t.object_id in self.wanted and t.gradient_edge
        }

    def concerns(self, behind: Set[int]) -> bool:
        """Say whether nodes lead to what is asked about, or nothing in particular is."""
        return not self.wanted or not self.wanted_nodes.isdisjoint(behind)


def _symptom_of(cause: Cause) -> Symptom:
    """Return what such a fault is seen by: wrong numbers, or else all that it explains."""
    return Symptom.SOME if Symptom.SOME in cause.explains else next(iter(cause.explains))


def _is_zero(preview: str | None) -> bool:
    """Say whether a gradient was not there, or is seen to be all zeros.

    >>> _is_zero("[0, 0]"), _is_zero("[0, 1e-05]"), _is_zero("(3, 10)")
    (True, False, False)
    """
    return preview is None or (not unread(preview) and not set(preview) & set("123456789nif"))


def _is_nonzero(tensor: torch.Tensor | None) -> bool:
    """Say whether a tensor is there and holds anything but zeros."""
    return tensor is not None and bool(read(lambda: bool(tensor.any())))


def _place(key: Any, tensor: torch.Tensor) -> Any:
    """Return which part of which memory a tensor shows, and how."""
    return key, tensor.storage_offset(), tensor.shape, tensor.stride()
