"""Watch one backward run, node by node. Hooks stand on the nodes only while it lasts, and never
raise.

NOTE [one hook a node]: what a node gets and what it sends, a hook behind it is told both. A hook
before it is there for what happens in between: a function of the user's may write into what it
gets, a run inside of this one may fill a ``.grad``, and where it raises there is no behind. So
where only torch's own nodes run, all of them on the CPU, there is none but at the roots and at a
leaf that has a ``.grad`` or hooks. Which node raised follows: of those that have all they wait for,
the engine takes the youngest one, and an AccumulateGrad before all others. So there is none either
at a leaf without ``.grad`` to which one node alone sends, which sends to no other leaf: it runs
right behind that node, and what arrives is what was sent.
"""

from __future__ import annotations

import math
import threading
from threading import get_ident
from typing import TYPE_CHECKING, Any, Protocol
from weakref import ref

import torch
from torch.autograd.graph import get_gradient_edge

from gradviz.graph.preview import LIMIT
from gradviz.watch import torch_private
from gradviz.watch.broken_values import (
    MOST_LOSSES,
    MOST_NODES,
    Forward,
    Reading,
    broken_derivative,
    is_finite,
    is_readable,
)
from gradviz.watch.entries import Object, State
from gradviz.watch.functions import Role
from gradviz.watch.hooks import NOTHING, Edges, Inlet, Sent, Value, ones, put_in
from gradviz.watch.identity import read
from gradviz.watch.norms import factor_between, norm, norm_there, read_there
from gradviz.watch.walk import walk

if TYPE_CHECKING:
    from gradviz.watch.cuts import Nodes
    from gradviz.watch.entries import CallRecord
    from gradviz.watch.hooks import Hooks
    from gradviz.watch.identity import Objects


class Log(Protocol):
    """What a run is written into: a ``recorder.Recorder``."""

    runs: int
    dropped: int
    lost_forwards: int
    objects: Objects
    nodes: Nodes
    hooks: Hooks

    def note(self, kind: str, *what: Any) -> None:
        """Write down one event."""
        ...

    def add(self, entry: tuple[Any, ...]) -> None:
        """Write down one event, whose kind comes first."""
        ...

    def failed(self, error: Exception) -> None:
        """Keep a failure of our own for the notes."""
        ...


# Looked up once: every node of a run asks them.
_unobserved, _raw_version = torch_private.unobserved, torch_private.raw_version
_graph_task = torch_private.backward_under_way
_row, _TENSOR = tuple.__new__, torch.Tensor
_grad_enabled = torch.is_grad_enabled
WATCH_LIMIT = 20_000  # nodes; hooks on more would be felt
# Nodes that send the numbers that arrive, in another shape.
_REARRANGES = {
    f"{kind}Backward{number}"
    for kind in "T Transpose Permute View UnsafeView ReshapeAlias Squeeze Unsqueeze".split()
    for number in range(4)
}
_INPUTS_AT = 4  # arguments that backward() takes before it may be given ``inputs``


class Run:
    """One run of the engine, as plain data."""

    __slots__ = (
        *("factors", "kind", "norms", "number", "raised_at", "ran", "returned", "roots", "watched"),
        *("ends", "readings"),
    )

    def __init__(self, number: int, kind: str) -> None:
        self.number, self.kind = number, kind
        # by what number each custom Function's node multiplied what it got, where it is one
        self.factors: dict[int, float] = {}
        # where the graph of this backward is recorded: which number the next node gets after each
        # that ran
        self.ends: list[tuple[int, int]] = []
        self.readings: list[Reading] = []  # where numbers stopped being finite
        self.roots: list[int] = []
        self.ran: list[int] = []
        # numbers; on another device tensors until stop() reads them, None if that failed
        self.norms: list[Any] = []
        self.returned: list[tuple[State, Value | None]] = []
        self.raised_at: int | None = None
        self.watched = True


def watch(
    recorder: Log, call: CallRecord, role: Role, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Watch:
    """Put hooks on every node behind the tensors that this backward starts from."""
    run = Run(recorder.runs, "grad" if role is Role.GRAD else "backward")
    recorder.runs += 1
    call.run = run
    given = args[0] if args else kwargs.get("tensors", kwargs.get("outputs"))
    every = [given] if isinstance(given, torch.Tensor) else list(given or ())
    roots = [t for t in every if isinstance(t, torch.Tensor)]
    wanted: Any = (args[1] if len(args) > 1 else kwargs.get("inputs")) if role is Role.GRAD else ()
    wanted = [wanted] if isinstance(wanted, torch.Tensor) else list(wanted or ())
    whole = role is Role.BACKWARD and len(args) <= _INPUTS_AT and kwargs.get("inputs") is None
    gradients = _given(role, len(roots), args, kwargs) if len(every) == len(roots) else None
    return Watch(recorder, call, run, roots, wanted, gradients, whole)


def _given(
    role: Role, roots: int, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[Any] | None:
    """Return the gradient that each root starts with: a tensor, or None for ones. None where that
    is not clear."""
    at = 2 if role is Role.GRAD else 1
    words = ("gradient", "grad_tensors", "grad_outputs")
    found = (
        args[at]
        if len(args) > at
        else next((kwargs[w] for w in words if kwargs.get(w) is not None), None)
    )
    if found is None or isinstance(found, torch.Tensor):
        return [found] * roots
    return list(found) if len(found) == roots else None


def _shape(tensor: torch.Tensor) -> tuple[int, ...] | None:
    return read(lambda: tuple(tensor.shape))  # type: ignore[no-any-return]


def _other_thread() -> int | None:
    """Return 1 on one of the engine's own threads, None on another one of the user's."""
    own = get_ident()
    return None if any(t.ident == own for t in threading.enumerate()) else 1


def _age(number: int) -> float:
    """Return by what the engine chooses among nodes: an AccumulateGrad comes first."""
    return math.inf if number == torch_private.NO_NUMBER else number


def _is_filled(leaf: torch.Tensor | None) -> bool:
    """Tell whether a leaf has a ``.grad``, or hooks of the user's that see it filled."""
    return leaf is None or leaf.grad is not None or torch_private.has_any_hooks(leaf)


class _Node:
    """One node while a run lasts, with its hooks: they return None, so that nothing changes, and
    never raise: that would abort the user's backward. No mode of hers sees what they do."""

    __slots__ = ("arrived", "early", "feeds", "into", "only", "out", "own", "rearranges", "watch")

    def __init__(self, watch: Watch, own: int, into: list[Inlet], out: list[Inlet | None]) -> None:
        self.watch, self.own, self.into, self.out = watch, own, into, out
        # the only slot to which gradients come, where what is sent there is known
        self.only = into[0] if len(into) == 1 and watch.sums_known else None
        self.early = False  # does a hook stand before it? See NOTE [one hook a node]
        self.rearranges = False  # does it only lay out anew what arrives, with one hook?
        # the leaf without a hook to which it sends, and along which of its edges
        self.feeds: tuple[_Leaf, int] | None = None
        # read before the node may write into it
        self.arrived: tuple[Value | None, ...] | None = None

    def before(self, grads: Any) -> None:
        """Read what arrives."""
        watch = self.watch
        if watch.thread_of_run() is None:
            return
        watch.current = self.own
        try:
            self.arrive(grads)
        except Exception as error:
            watch.recorder.failed(error)

    def arrive(self, grads: Any) -> None:
        """Keep what arrives."""
        as_sent = None if self.only is None else self.only.taken_as_sent(grads)
        if as_sent is not None:  # as nearly always
            self.arrived = (as_sent,)
            return
        with _unobserved():
            self.arrived = self.watch.arriving(self.into, grads)

    def after(self, sent: Any, arrived: Any) -> None:
        """Read what is sent."""
        watch = self.watch
        thread = watch.thread_of_run()
        if thread is None:
            return
        watch.current = None
        try:
            run, own = watch.run, self.own
            if not self.early:
                self.arrive(arrived)
            with _unobserved():
                watch.settle()
                run.ran.append(own)
                if self.rearranges and (same := self.as_arrived(sent, arrived)) is not None:
                    values = watch.leaving_as_arrived(self.out, sent, same)
                else:
                    values = watch.leaving(self.out, sent)
                watch.note_made(own, arrived, sent)
            watch.recorder.add(("ran", run, own, self.taken(), values, thread))
            if self.feeds is not None:
                leaf, edge = self.feeds
                watch.fed = leaf, values[edge : edge + 1] or (None,)
        except Exception as error:
            watch.recorder.failed(error)

    def as_arrived(self, sent: Any, arrived: Any) -> Value | None:
        """Return the value of what a node sends that only lays out anew what arrived, where that is
        large: the same numbers in the same memory have the norm that was read. None where a hook
        has exchanged it, or it is small."""
        value = None if self.arrived is None else self.arrived[0]
        if len(sent) != 1 or sent[0] is None or value is None or value[2] is None:
            return None
        (before,), (after,) = arrived, sent
        same = after.data_ptr() == before.data_ptr() and after.numel() == before.numel()
        return (tuple(after.shape), None, value[2]) if same else None

    def taken(self) -> tuple[Value | None, ...]:
        """Hand over what arrived. Raises where nothing was read."""
        arrived, self.arrived = self.arrived, None
        if arrived is None:
            raise KeyError(self.own)
        return arrived


class _Custom(_Node):
    """The same for a custom Function, of which is read by what it multiplies."""

    __slots__ = ("versions",)

    def before(self, grads: Any) -> None:
        """Read what arrives, and whether anything writes into it later."""
        self.versions = [_raw_version(g) if isinstance(g, _TENSOR) else None for g in grads]
        super().before(grads)

    def after(self, sent: Any, arrived: Any) -> None:
        """Read what is sent."""
        try:
            with _unobserved():
                versions = [_raw_version(g) if isinstance(g, _TENSOR) else None for g in arrived]
                found = self.factor(sent, arrived) if versions == self.versions else None
            if found is not None:  # before it is noted that the node ran: another thread may read
                self.watch.run.factors[self.own] = found
        except Exception as error:
            self.watch.recorder.failed(error)
        super().after(sent, arrived)

    def factor(self, sent: Any, arrived: Any) -> float | None:
        """Return by what number the one gradient that arrived was multiplied to be sent on; None
        where it is no number, or reading would wait for another device."""
        ours, theirs = ([g for g in grads if g is not None] for grads in (arrived, sent))
        if len(ours) != 1 or len(theirs) != 1 or not all(g.is_cpu for g in (*ours, *theirs)):
            return None
        return factor_between(ours[0], theirs[0])


class _Leaf(_Node):
    """The same for an AccumulateGrad."""

    __slots__ = ("leaf", "stored")

    def __init__(
        self, watch: Watch, own: int, into: list[Inlet], leaf: torch.Tensor | None
    ) -> None:
        super().__init__(watch, own, into, [])
        self.leaf = leaf
        self.stored: Value | None = None  # its .grad before the node runs

    def before(self, grads: Any) -> None:
        """Read what arrives, and what is there."""
        watch = self.watch
        if watch.thread_of_run() is None:
            return
        watch.current = self.own
        try:
            self.arrive(grads)
            with _unobserved():
                self.stored = None if self.leaf is None else watch.value(self.leaf.grad)
        except Exception as error:
            watch.recorder.failed(error)

    def after(self, sent: Any, arrived: Any) -> None:
        """Read what has become of the ``.grad``."""
        watch = self.watch
        thread = watch.thread_of_run()
        if thread is None:
            return
        watch.current = None
        try:
            if not self.early:  # there was no .grad
                self.arrive(arrived)
            with _unobserved():
                self.ran(self.taken(), thread)
        except Exception as error:
            watch.recorder.failed(error)

    def ran(self, incoming: tuple[Value | None, ...], thread: int) -> None:
        """Note that the node ran, and what it did."""
        watch = self.watch
        watch.run.ran.append(self.own)
        watch.recorder.add(("ran", watch.run, self.own, incoming, (), thread))
        if incoming[0] is not None:  # an undefined gradient is not added
            watch.accumulated(self, incoming[0])


class Watch:
    """The hooks of one run. ``stop`` takes them away whatever happened; ``finish`` reads what has
    become of things."""

    def __init__(
        self,
        recorder: Log,
        call: CallRecord,
        run: Run,
        roots: list[torch.Tensor],
        wanted: list[torch.Tensor],
        given: list[Any] | None,
        whole: bool,
    ) -> None:
        self.recorder, self.call, self.run = recorder, call, run
        self.thread = get_ident()
        self.task: int | None = None  # what the engine calls this run, once a hook of it has run
        self.handles: list[Any] = []
        self.current: int | None = None
        self.early = True  # does a hook stand before every node? See NOTE [one hook a node]
        # a leaf without a hook that runs next, and what arrives there
        self.fed: tuple[_Leaf, tuple[Value | None, ...]] | None = None
        self.sent_broken = False  # has a gradient just been read that is not finite?
        # by id(), while they live
        self.measured: dict[int, Sent] = {}
        self.wanted = [recorder.objects.see(t).state for t in wanted if isinstance(t, torch.Tensor)]
        self.sums_known = given is not None  # not where backward began at edges, too
        tracked = zip(roots, given or roots, strict=True)
        begun = [(get_gradient_edge(t), t, g) for t, g in tracked if t.requires_grad]
        starts = [edge.node for edge, _, _ in begun]
        self.graph = walk(starts, WATCH_LIMIT)
        # What a full log has dropped is recorded again.
        self.serials = recorder.nodes.record_all(self.graph, again=recorder.dropped > 0)
        self.probes = torch_private.release_probes(self.graph.nodes)
        run.roots = [self.serials[self.graph.index[node]] for node in starts]
        call.found = [*call.found, *recorder.nodes.collect()]
        recorder.note("called", call)
        run.watched = not self.graph.truncated
        if run.watched:
            self.edges = Edges(self.graph, self.serials)
            for (edge, tensor, grad), serial in zip(begun, run.roots, strict=True):
                value = ones(_shape(tensor)) if grad is None else self.value(grad)
                self.edges.begin(self.graph.index[edge.node], serial, edge.output_nr, value)
            self.hooks, self.hooks_after = recorder.hooks.standing()
            self.early = not (whole and self._is_torchs_own())
            self._read_forward()
            try:
                self._start()
            except Exception:
                self.stop()  # no hook may stay behind on the user's graph
                raise

    def _is_torchs_own(self) -> bool:
        """Tell whether no code but torch's runs between what arrives at a node and what it
        sends, and one thread has all nodes."""
        if self.recorder.hooks or not torch_private.computes_on_cpu():
            return False
        if torch.is_anomaly_enabled():  # raises behind a node, at what that one has sent
            return False
        kind = self.recorder.nodes.kind
        return not any(kind(node)[1] for node in self.graph.nodes)

    def _start(self) -> None:
        graph, edges, handles = self.graph, self.edges, self.handles
        places = zip(graph.nodes, graph.numbers, self.serials, edges.into, edges.out, strict=True)
        kind = self.recorder.nodes.kind
        bare: set[int] = set()  # the leaves without a hook
        for at, (node, number, own, into, out) in enumerate(places):
            watched: _Node
            if at in bare:
                continue
            if number == torch_private.NO_NUMBER:
                tensor = torch_private.leaf_of(node)
                watched = _Leaf(self, own, into, tensor)
                watched.early = self.early or _is_filled(tensor)
            else:
                name, is_own, _ = kind(node)
                watched = (_Custom if is_own else _Node)(self, own, into, out)
                watched.early = self.early or own in self.run.roots  # the first may raise
                watched.rearranges = name in _REARRANGES and not watched.early
                behind = None if self.early else edges.leaf_behind[at]
                if behind is not None and (leaf := self._bare_leaf(behind[0])) is not None:
                    bare.add(behind[0])
                    watched.feeds = leaf, behind[1]
            if watched.early:
                handles.append(node.register_prehook(watched.before))
            handles.append(node.register_hook(watched.after))

    def _bare_leaf(self, at: int) -> _Leaf | None:
        """Return the leaf at this place of the walk, to which one node sends that sends to no other
        leaf; None where it needs a hook, see NOTE [one hook a node]."""
        into, leaf = self.edges.into[at], torch_private.leaf_of(self.graph.nodes[at])
        if into[0].wanted != 1 or leaf is None or not leaf.requires_grad or _is_filled(leaf):
            return None
        return _Leaf(self, self.serials[at], into, leaf)

    def settle(self) -> None:
        """Note that a leaf without a hook has run, where the last node sent to one."""
        if self.fed is not None:
            (leaf, incoming), self.fed = self.fed, None
            leaf.ran(incoming, 0)

    # --- what the hooks ask -----------------------------------------------------------------------

    def thread_of_run(self) -> int | None:
        """Return 0 where a hook runs on the thread of this backward, 1 on one of the engine's own.
        None where it is of another run: of a thread of the user's, or of a backward that a hook of
        the user's runs through the same nodes while this one waits."""
        thread = 0 if get_ident() == self.thread else _other_thread()
        if thread is None:
            return None
        task = _graph_task()
        # what is begun later has a higher number
        if self.task is None or (task is not None and task < self.task):
            self.task = task
        return thread if task == self.task else None

    def arriving(self, inlets: list[Inlet], grads: Any) -> tuple[Value | None, ...]:
        """Return what arrives at a node, and what was changed on its way there."""
        found: list[Value | None] = []
        for nr, grad in enumerate(grads):
            value = None
            if isinstance(grad, _TENSOR):
                inlet = inlets[nr] if nr < len(inlets) else None
                if inlet is not None and self.sums_known:
                    value = inlet.take_as_sent(grad)
                if value is None:
                    value = self._measure(grad).value
                    if inlet is not None and value is not None:
                        self._compare(inlet, grad, value)
            found.append(value)
        return tuple(found)

    def leaving(self, outlets: list[Inlet | None], sent: Any) -> tuple[Value | None, ...]:
        """Read what a node sends, with norms."""
        values: list[Value | None] = []
        if len(outlets) != len(sent):  # a user's hook may return fewer
            outlets = [*outlets[: len(sent)], *[None] * (len(sent) - len(outlets))]
        for outlet, grad in zip(outlets, sent):  # noqa: B905  quicker; they are equally long
            if grad is not None and isinstance(grad, _TENSOR):
                one = self._measure(grad)
                values.append(one[0])
            else:
                one = NOTHING
                values.append(None)
            if outlet is not None:
                outlet.append(one)
        return tuple(values)

    def leaving_as_arrived(
        self, outlets: list[Inlet | None], sent: Any, value: Value
    ) -> tuple[Value | None, ...]:
        """Read the one gradient that a node sends, where its value is known."""
        one = self._keep(sent[0], value)
        if outlets[0] is not None:
            outlets[0].append(one)
        return (value,)

    def accumulated(self, leaf: _Leaf, incoming: Value) -> None:
        """Read what has become of the leaf's ``.grad``."""
        tensor, own, before = leaf.leaf, leaf.own, leaf.stored
        stored = None if tensor is None else self.value(tensor.grad)
        dtype = torch.float32 if tensor is None else tensor.dtype
        total = None if tensor is None else put_in(incoming, before, stored, dtype)
        hooks = self.hooks_after.get(own, ())
        self.recorder.add(("accumulated", self.run, own, incoming, before, stored, total, hooks))

    def _compare(self, inlet: Inlet, grad: torch.Tensor, value: Value) -> None:
        if not self.sums_known:
            return
        hooks = self.hooks.get(inlet.slot, [])
        found = inlet.changed(grad, value, self.run.norms, bool(hooks))
        if found is not None:
            self.recorder.note("changed", self.run, inlet.slot, found[0], value, hooks)

    def _measure(self, grad: torch.Tensor) -> Sent:
        """Read a gradient with its norm. What one node sends arrives as the same object where it is
        the only one, and nothing wrote into it: then it is not measured again."""
        last: Any = self.measured.get(id(grad))
        if last is not None and last[1]() is grad and last[2] == _raw_version(grad):
            return last  # type: ignore[no-any-return]
        try:
            size = None if grad.numel() <= LIMIT else self._norm(grad)
        except Exception:
            size = None  # what is not plain memory
        if size is None:
            return _row(Sent, (self.value(grad), ref(grad), torch_private.version(grad)))
        norms = self.run.norms
        value = tuple(grad.shape), None, len(norms)
        norms.append(size)
        if type(size) is float and not size < math.inf:
            self.sent_broken = True
        return self._keep(grad, value)

    def _keep(self, grad: torch.Tensor, value: Value) -> Sent:
        sent: Sent = _row(Sent, (value, ref(grad), _raw_version(grad)))
        self.measured[id(grad)] = sent
        return sent

    def _norm(self, grad: torch.Tensor) -> Any:
        """Return the 2-norm. Reading another device would wait for each node: there it stays a
        tensor until the end."""
        if grad.is_cpu:
            return norm(grad)
        return norm_there(grad) if self.recorder.objects.reads_gpu else None

    def note_made(self, own: int, arrived: Any, sent: Any) -> None:
        """Note which nodes this one has made, where the graph of the backward is recorded; where it
        broke what it sent, read why."""
        if _grad_enabled():
            self.run.ends.append((torch_private.next_sequence_nr(), own))
        if self.sent_broken:
            self.sent_broken = False
            self.read_broken(own, arrived, sent)

    def read_broken(self, own: int, arrived: Any, sent: Any) -> None:
        """Read what a node saved that got finite gradients and has sent others."""
        found = self.run.readings
        if len(found) >= MOST_NODES or not all(is_finite(g) for g in arrived if is_readable(g)):
            return
        node = self.graph.nodes[self.serials.index(own)]
        objects = list(self.recorder.objects.by_id.values())
        reading = read(lambda: broken_derivative(node, own, arrived, sent, objects))
        if reading is not None:
            found.append(reading)

    def _read_forward(self) -> None:
        """Read where the forward stopped being finite, where this backward begins at such a
        loss."""
        root = self.call.inputs[0] if self.call.inputs else None
        value = None if root is None or not self.run.roots else root.values
        if not isinstance(value, float) or math.isfinite(value):
            return
        if self.recorder.lost_forwards >= MOST_LOSSES:
            return
        self.recorder.lost_forwards += 1
        objects = list(self.recorder.objects.by_id.values())
        forward = Forward(self.graph, self.serials, objects)
        at = self.serials.index(self.run.roots[0])
        with torch.no_grad():
            found = read(lambda: forward.broken_at(at, by_nan=math.isnan(value)))
        if found is not None:
            self.run.readings.append(found)

    def value(self, grad: Any) -> Value | None:
        """Return a gradient without its norm; None for what is no tensor."""
        if not isinstance(grad, torch.Tensor):
            return None
        try:
            return tuple(grad.shape), self.recorder.objects.elements(grad), None
        except Exception:
            return (
                read(lambda: tuple(grad.shape)),
                read(lambda: self.recorder.objects.elements(grad)),
                None,
            )

    # --- afterwards -------------------------------------------------------------------------------

    def stop(self, *, raised: bool = False) -> None:
        """Take every hook away. ``raised``: the run has ended by an error."""
        for handle in self.handles:
            handle.remove()
        self.handles.clear()
        self._settle_last(raised)
        self.measured.clear()
        self.run.raised_at = self.current
        if raised and self.current is None and self.run.ran and not self.early:
            self.run.raised_at = self._next_to_run()
        try:
            with torch_private.unobserved():
                read_there(self.run.norms)
        except Exception as error:
            self.run.norms = [n if isinstance(n, float) else None for n in self.run.norms]
            self.recorder.failed(error)

    def _settle_last(self, raised: bool) -> None:
        """Note that a leaf has run to which the last node of all sent; not where the run has ended
        by an error between the two."""
        try:
            with torch_private.unobserved():
                leaf = None if self.fed is None else self.fed[0].leaf
                if raised and leaf is not None and leaf.grad is None:
                    self.fed = None
                self.settle()
        except Exception as error:
            self.recorder.failed(error)

    def _next_to_run(self) -> int | None:
        """Find the node that the engine takes next, see NOTE [one hook a node]; None where two may
        be that."""
        ran, graph = set(self.run.ran), self.graph
        waiting = [at for at, own in enumerate(self.serials) if own not in ran]
        later = {graph.index[child] for at in waiting for child, _ in graph.next[at] if child}
        numbers = [(_age(graph.numbers[at]), at) for at in waiting if at not in later]
        numbers.sort(reverse=True)
        if not numbers or (len(numbers) > 1 and numbers[0][0] == numbers[1][0]):
            return None
        return self.serials[numbers[0][1]]

    def finish(self, returned: Any) -> None:
        """Read new gradients and released nodes, then let go of the graph."""
        if self.run.kind == "grad":
            self._take_returned(returned)
        freed = self._released()
        if freed:
            self.recorder.note("freed", self.run, freed)
        self._read_gradients()
        self.graph = walk(())

    def _take_returned(self, returned: Any) -> None:
        """Keep what ``autograd.grad`` returned: the values, and its results as the call's."""
        run, objects = self.run, self.recorder.objects
        run.returned = [(s, self.value(g)) for s, g in zip(self.wanted, returned, strict=False)]
        for (state, value), grad in zip(run.returned, returned, strict=False):
            at = state.object.accumulate_grad if state.node is None else state.node
            if value is not None and at is not None and run.watched:  # no node ran there
                self._compare(self._inlet(at, state.output_nr), grad, value)
        tensors = [g for g in returned if isinstance(g, torch.Tensor)]
        self.call.returned = len(tensors)
        self.call.outputs = [
            (objects.known(g) or objects.make(g, self.call)).state for g in tensors
        ]

    def _inlet(self, serial: int, nr: int) -> Inlet:
        """Find a slot of a node by its serial; one that nothing was sent to where there is none."""
        places = zip(self.serials, self.edges.into, strict=True)
        inlets = next((into for own, into in places if own == serial), [])
        return inlets[nr] if nr < len(inlets) else Inlet((serial, nr))

    def _released(self) -> list[int]:
        """Return the serials of the nodes that ran and no longer hold what they had saved."""
        done = set(self.run.ran)
        nodes = zip(self.graph.nodes, self.serials, self.probes, strict=True)
        freed = [
            own
            for node, own, probe in nodes
            if own in done and torch_private.has_released(node, probe)
        ]
        self.probes.clear()  # they are safe only while the graph lives
        return freed

    def _read_gradients(self) -> None:
        """Return new states of the tensors whose ``.grad`` this run filled, and of a .grad that it
        added to in place.

        Every known leaf is looked at, not only those of the watched graph: a checkpoint or a custom
        Function may run a backward of its own inside this one, which nobody watches.
        """
        met = set(self.serials)
        objects = self.recorder.objects
        for known in list(objects.by_id.values()):
            if not self.early and not known.state.tracked:
                continue  # nothing but a tensor of the watched graph got a gradient
            tensor = known()
            if tensor is None or not tensor.requires_grad or known.deferred:
                continue
            if known.state.is_leaf or (known.state.node in met and tensor.retains_grad):
                self._refresh(known, tensor)
                grad = tensor.grad
                if grad is not None:
                    own = objects.known(grad)
                    if own is not None:
                        own.gradient_of = known
                        self._refresh(own, grad)
                    elif grad.grad_fn is not None:
                        objects.see(grad)

    def _refresh(self, known: Object, tensor: torch.Tensor) -> None:
        before, objects = known.state, self.recorder.objects
        same = not self.early and before.version == torch_private.version(tensor)
        # torch's own nodes fill the .grad of a leaf, and do nothing else to it
        after = objects.with_grad(known, tensor) if same else objects.refresh(known, tensor)
        if after is not before:
            self.recorder.add(("wrote", self.call, before, after, False))
