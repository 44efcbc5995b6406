"""The log of a recording -> Graph. Gives out ids in order of first mention, names, and what became
of saved tensors.

``at(k)`` replays the first k entries, so a step's ids are the first ids of the whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from gradviz.graph import preview
from gradviz.graph.broken_at import BrokenAt
from gradviz.graph.collector import without_collector
from gradviz.graph.facts import Facts
from gradviz.graph.records import (
    Accumulated,
    Backward,
    Call,
    Called,
    Changed,
    Cut,
    Edge,
    Event,
    Former,
    Freed,
    Gradient,
    GradientEdge,
    Graph,
    Hooked,
    Module,
    ModuleCall,
    Node,
    NodeKind,
    NodeRan,
    Note,
    NoteKind,
    Parameter,
    Raised,
    SavedState,
    SavedTensor,
    Source,
    Storage,
    Summary,
    Tensor,
    Wrote,
)
from gradviz.graph.training import Training
from gradviz.watch.functions import Role
from gradviz.watch.stack import unfold

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Iterable, Iterator

    from gradviz.watch.backward import Run
    from gradviz.watch.entries import (
        Block,
        CallRecord,
        ModuleRun,
        NodeRecord,
        Object,
        Root,
        Saved,
        Site,
        State,
    )
    from gradviz.watch.hooks import Slot, Value
    from gradviz.watch.recorder import Recorder

# Roles whose "write" changes flags or gradients, not the memory that a node may have saved. Of what
# batch_norm writes, its running statistics, a backward that has run in training mode uses nothing.
_NO_MEMORY = (
    Role.FLAG,
    Role.RETAIN,
    Role.DETACH_IN_PLACE,
    Role.GRAD_SET,
    Role.BACKWARD,
    Role.GRAD,
    Role.STATISTICS,
)


_COMPILED = "CompiledFunctionBackward"


class Naming(Protocol):
    """What everything is called: ``gradviz.names.assign.Names``, which stands above this room."""

    def of_state(self, state: State, current: dict[Object, str]) -> str | None:
        """Return the name of a tensor state, given the names that objects have by now."""
        ...

    def at_the_end(
        self, name: str | None, own: Object, *, whole: bool
    ) -> tuple[str | None, Former | None]:
        """Return what an object with this name is called once everything has run, and what it was
        called, where its variable was given to another one."""
        ...

    def module(self, call: CallRecord) -> str | None:
        """Return the path of the module in which torch's own code made a call, beginning with its
        variable or class."""
        ...

    def root(self, root: Root) -> str:
        """Return the variable of a module that ran, or its class."""
        ...

    def module_call(self, run: ModuleRun) -> tuple[Source | None, str | None]:
        """Return which statement called a module, and the call as written there."""
        ...

    def source(self, call: CallRecord) -> Source | None:
        """Return where a call stands, and what made its result."""
        ...


class Assembled:
    """The names of a whole log, and its Graph at any step. Holds plain data only."""

    def __init__(
        self, recorder: Recorder, name: Callable[[list[CallRecord], Recorder], Naming]
    ) -> None:
        with without_collector():
            self._assemble(recorder, name)

    def _assemble(
        self, recorder: Recorder, name: Callable[[list[CallRecord], Recorder], Naming]
    ) -> None:
        # In a full log a backward may have dropped its own beginning: the rest of it says nothing
        # alone.
        unfolded = [part for entry in _copied(recorder.log) for part in unfold(entry)]
        log = unfolded[-recorder.max_events :]
        calls = [e[1] for e in log if e[0] in ("called", "raised", "hooked")]
        whole = {id(c) for c in calls} | {id(c.run) for c in calls}
        self.log = [e for e in log if id(e[1]) in whole]
        self.last_seen = list(recorder.last_seen)
        self.notes = _notes(recorder, self.log, recorder.dropped + len(unfolded) - len(log))
        self.names = name(calls, recorder)
        self._inside = recorder.modules.inside()
        self.held = list(recorder.modules.held)
        self.free = list(recorder.modules.free)
        self.last = {
            id(e[1]): i
            for i, e in enumerate(self.log)
            if e[0] in ("ran", "changed", "accumulated", "freed")
        }
        self._ids = Replay(self)
        self.graph = self._ids.run(len(self.log))

    def at(self, step: int) -> Graph:
        """Return the Graph after ``step`` events."""
        return self.graph if step == len(self.log) else Replay(self).run(step)

    def tensor_of(self, known: Object) -> Tensor | None:
        """Return the last state of an object in the whole graph."""
        found = self._ids.objects.get(known)
        return None if found is None else self._latest.get(found)

    @cached_property
    def training(self) -> Training:
        """What was done with the gradients, in order."""
        return Training(Facts.of(self.graph), self.owners_of_gradients)

    @cached_property
    def sites(self) -> dict[int, Site]:
        """The code objects and positions of the user's frames of each call, the innermost first,
        by call id."""
        return {i: record.site for i, record in enumerate(self._ids.calls)}

    @cached_property
    def broken_at(self) -> tuple[BrokenAt, ...]:
        """Where numbers stopped being finite, in the order in which it was read."""
        return tuple(self._ids.broken_at())

    @cached_property
    def owners_of_gradients(self) -> dict[int, int]:
        """Object ids of what was a ``.grad``, each with that of the tensor whose it was."""
        ids = self._ids.objects
        owners = ((found, own.grad_owner or own.gradient_of) for own, found in ids.items())
        return {found: ids[owner] for found, owner in owners if owner is not None and owner in ids}

    @cached_property
    def _latest(self) -> dict[int, Tensor]:
        return Facts.of(self.graph).latest_state

    def place(self, run: ModuleRun) -> tuple[Root, str]:
        """Return the root that a call of a module belongs to, and the path below it: a root that
        stands below another one is none in the end."""
        root, path = self._inside.get(run.root, (run.root, ""))
        return root, f"{path}.{run.path}" if path and run.path else path or run.path

    def storage_of(self, block: Block) -> int | None:
        """Return the id of a block of memory in the whole graph."""
        return self._ids.blocks.get(block)


def _copied(log: deque[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return what a log holds at one moment, though another thread may be adding to it."""
    while True:
        try:
            return list(log)
        except RuntimeError:  # it was mutated during iteration
            continue


def _nodes(log: list[tuple[Any, ...]]) -> Iterator[NodeRecord]:
    """Return the nodes met in a log."""
    for kind, *what in log:
        if kind in ("called", "raised", "hooked"):
            yield from what[0].found
            yield from what[0].nodes


def _notes(recorder: Recorder, log: list[tuple[Any, ...]], dropped: int) -> tuple[Note, ...]:
    """Return what the recording lacks, and what was out of the ordinary. ``dropped``: events."""
    notes = []
    if dropped:
        kept = recorder.max_events
        notes.append(Note.of(NoteKind.DROPPED, dropped=dropped, kept=kept))
    for error, times in recorder.failures.copy().items():
        notes.append(Note.of(NoteKind.FAILED, times=times, error=error))
    if recorder.transformed:
        notes.append(Note.of(NoteKind.TRANSFORMED))
    if recorder.elsewhere:
        notes.append(Note.of(NoteKind.ELSEWHERE, calls=recorder.elsewhere))
    if recorder.compiled or any(node.name == _COMPILED for node in _nodes(log)):
        notes.append(Note.of(NoteKind.COMPILED))
    if recorder.profiled:
        notes.append(Note.of(NoteKind.PROFILED))
    return (*notes, *recorder.notes, *_not_watched(log))


def _not_watched(log: list[tuple[Any, ...]]) -> Iterator[Note]:
    """Return a note for each backward of which no gradient is known."""
    runs = [what[0].run for kind, *what in log if kind == "called"]
    for run in runs:
        if run is not None and not run.watched:
            yield Note.of(NoteKind.NOT_WATCHED, backward=run.number + 1)


def _norms(run: Run, values: Any) -> tuple[str | None, ...]:
    """Return the norms that were measured, as short as the values of small tensors."""
    places = [None if v is None else v[2] for v in values]
    sizes = [None if at is None else run.norms[at] for at in places]
    # a tensor is not read yet
    found = [f"{size:.8g}" if isinstance(size, float) else None for size in sizes]
    return tuple(found) if any(found) else ()


def _with_norm(run: Run, value: Value) -> str:
    """Return a value; of a large one how large it is, because its shape alone never changes."""
    size = None if value[2] is None else run.norms[value[2]]
    return preview.of(*value[:2], f"{size:.4g}" if isinstance(size, float) else None)


class Replay:
    """Goes through the log once, up to a step, and collects the rows of a Graph."""

    def __init__(self, assembled: Assembled) -> None:
        self.whole = assembled
        self.tensor_ids: dict[int, int] = {}
        self.states: list[State] = []
        self.tensor_names: list[str | None] = []
        self.current: dict[Object, str] = {}
        self.objects: dict[Object, int] = {}
        self.first_state: dict[Object, int] = {}
        self.blocks: dict[Block, int] = {}
        self.call_ids: dict[int, int] = {}
        self.calls: list[CallRecord] = []
        self.node_ids: dict[int, int] = {}
        self.node_names: list[str] = []
        self.roots: dict[Root, int] = {}
        self.module_runs: dict[ModuleRun, int] = {}
        self.records: dict[int, tuple[NodeRecord, int | None, int]] = {}
        self.runs: dict[int, tuple[Run, list[int], int]] = {}
        self.events: list[Event] = []
        self.gradients: list[Gradient] = []
        self.cuts: list[Cut] = []
        self.freed: dict[int, int] = {}
        self.versions: dict[object, int | None] = {}
        self.swapped: dict[Object, int] = {}
        self.block_writes: dict[Block, list[tuple[int, object]]] = {}

    # --- ids --------------------------------------------------------------------------------------

    def tensor(self, state: State) -> int:
        found = self.tensor_ids.get(id(state))
        if found is None:
            found = self.tensor_ids[id(state)] = len(self.states)
            self.states.append(state)
            self.tensor_names.append(self.whole.names.of_state(state, self.current))
            self.objects.setdefault(state.object, len(self.objects))
            self.first_state.setdefault(state.object, found)
            if state.block is not None:
                self.blocks.setdefault(state.block, len(self.blocks))
        self.versions[state.object.counter] = state.version
        return found

    def node(self, serial: int, name: str) -> int:
        found = self.node_ids.get(serial)
        if found is None:
            found = self.node_ids[serial] = len(self.node_names)
            self.node_names.append(name)
        return found

    def call(self, record: CallRecord) -> int:
        found = self.call_ids.get(id(record))
        if found is None:
            found = self.call_ids[id(record)] = len(self.calls)
            self.calls.append(record)
            if record.owner is not None:
                self.module_call(record.owner)
            for state in record.inputs:
                self.tensor(state)
        return found

    def module_call(self, run: ModuleRun) -> None:
        """Number a call of a module behind those around it."""
        inside: list[ModuleRun] = []
        around: ModuleRun | None = run
        while around is not None and around not in self.module_runs:
            inside.append(around)
            around = around.parent
        for one in reversed(inside):
            self.module_runs[one] = len(self.module_runs)
            self.roots.setdefault(self.whole.place(one)[0], len(self.roots))

    # --- the log, entry by entry ------------------------------------------------------------------

    def run(self, step: int) -> Graph:
        for index, (kind, *what) in enumerate(self.whole.log[:step]):
            getattr(self, "_" + kind)(index, *what)
        for state in self.whole.last_seen if step == len(self.whole.log) else ():
            if state.object in self.objects:
                self.tensor(state)
        return self._graph(step)

    def _meet(self, index: int, record: NodeRecord, call_id: int | None) -> None:
        self.node(record.serial, record.name)
        known = self.records.get(record.serial)
        if known is None or known[0].stub:
            self.records[record.serial] = (record, call_id, index)
        for serial, _, name, _ in record.next:
            if serial is not None:
                self.node(serial, name)
        for saved in record.saved:
            if saved.state is not None:
                self.tensor(saved.state)
        if record.leaf is not None:
            self.tensor(record.leaf)

    def _called(self, index: int, record: CallRecord) -> None:
        call_id = self.call(record)
        for node in record.found:
            self._meet(index, node, None)
        for state in record.outputs:
            self.tensor(state)
        for node in record.nodes:
            self._meet(index, node, None if node.name == "AccumulateGrad" else call_id)
        for before, after, reason in record.cuts:
            target = None if after is None else self.tensor(after)
            self.cuts.append(Cut(call_id, self.tensor(before), target, reason))
        if record.run is not None:
            self.runs[id(record.run)] = (record.run, [], call_id)
        self.events.append(Called(call_id))

    def _raised(self, index: int, record: CallRecord) -> None:
        call_id = self.call(record)
        for node in record.found:
            self._meet(index, node, None)
        at = None if record.run is None else record.run.raised_at
        kind, message = record.error or ("", "")
        self.events.append(
            Raised(call_id, None if at is None else self.node_ids.get(at), kind, message)
        )

    def _wrote(
        self, index: int, record: CallRecord, before: State, after: State, alias: bool
    ) -> None:
        self.events.append(Wrote(self.call(record), self.tensor(before), self.tensor(after), alias))
        if record.role is Role.DATA_SET:
            self.swapped[after.object] = index
        elif record.role not in _NO_MEMORY and not alias and after.block is not None:
            # a fused step moves no version
            counter = None if record.role is Role.FUSED else after.object.counter
            self.block_writes.setdefault(after.block, []).append((index, counter))

    def _ran(self, index: int, run: Run, serial: int, arrived: Any, sent: Any, thread: int) -> None:
        node_id = self.node(serial, "Node")
        self.runs[id(run)][1].append(node_id)
        shown = [
            [None if v is None else preview.of(*v[:2]) for v in values]
            for values in (arrived, sent)
        ]
        for nr, text in enumerate(shown[0]):
            if text is not None:
                self.gradients.append(Gradient(run.number, node_id, nr, None, text, thread))
        for nr, text in enumerate(shown[1]):
            if text is not None:
                self.gradients.append(Gradient(run.number, node_id, None, nr, text, thread))
        self.events.append(
            NodeRan(
                run.number,
                node_id,
                tuple(shown[0]),
                tuple(shown[1]),
                thread,
                _norms(run, arrived),
                _norms(run, sent),
                run.factors.get(serial),
            )
        )

    def _hooked(self, index: int, record: CallRecord) -> None:
        call_id = self.call(record)
        for node in (*record.found, *record.nodes):
            self._meet(index, node, None)
        self.events.append(Hooked(call_id, self.tensor(record.inputs[0])))

    def _changed(
        self, index: int, run: Run, at: Slot, before: Value | None, after: Value, hooks: Any
    ) -> None:
        shown = [None if v is None else _with_norm(run, v) for v in (before, after)]
        self.events.append(
            Changed(
                run.number,
                self.node(at[0], "Node"),
                at[1],
                shown[0],
                str(shown[1]),
                self._those(hooks),
            )
        )

    def _those(self, calls: list[CallRecord]) -> tuple[int, ...]:
        # the others were dropped
        return tuple(self.call_ids[id(c)] for c in calls if id(c) in self.call_ids)

    def _accumulated(
        self,
        index: int,
        run: Run,
        serial: int,
        incoming: Any,
        before: Any,
        stored: Any,
        added: Any,
        hooks: Any,
    ) -> None:
        arrived, *shown = [
            None if v is None else preview.of(*v[:2]) for v in (incoming, before, stored, added)
        ]
        node_id = self.node(serial, "AccumulateGrad")
        self.events.append(
            Accumulated(
                run.number,
                node_id,
                arrived or "undefined",
                shown[0],
                shown[1],
                shown[2],
                self._those(hooks),
            )
        )

    def _freed(self, index: int, run: Run, serials: list[int]) -> None:
        self.freed.update(dict.fromkeys(serials, index))
        self.events.append(Freed(run.number, tuple(self.node(s, "Node") for s in serials)))

    def broken_at(self) -> Iterator[BrokenAt]:
        """Yield what was read where numbers stopped being finite, with ids."""
        for run, *_ in self.runs.values():
            for reading in run.readings:
                states = [None if s is None else self.tensor_ids.get(id(s)) for s in reading.states]
                pairs = zip(reading.found.given, states, strict=True)
                given = tuple(one._replace(tensor_id=tensor_id) for one, tensor_id in pairs)
                node_id = self.node_ids.get(reading.node)
                if node_id is not None:
                    by = self._made_by(reading.node)
                    found = reading.found._replace(run=run.number, node_id=node_id)
                    suspects = [self.node_ids.get(serial) for serial in reading.suspects]
                    known = tuple(one for one in suspects if one is not None)
                    yield found._replace(given=given, by_node_id=by, suspects=known)

    def _made_by(self, serial: int) -> int | None:
        """Return the node whose backward made a node; None of one of a forward."""
        record, call_id, _ = self.records.get(serial, (None, None, 0))
        runs = (run for run, _, made_in in self.runs.values() if made_in == call_id and run.ends)
        run = next(runs, None)
        if record is None or record.sequence_nr is None or run is None:
            return None
        number = record.sequence_nr
        return next((self.node_ids.get(own) for end, own in run.ends if number < end), None)

    # --- the rows ---------------------------------------------------------------------------------

    def _graph(self, step: int) -> Graph:
        nodes, edges = self._nodes_and_edges()
        backwards = [self._backward(*entry, step) for entry in self.runs.values()]
        return Graph(
            roots=self._roots(),
            nodes=nodes,
            edges=edges,
            calls=[self._call(i, record) for i, record in enumerate(self.calls)],
            modules=[self._module(i, root) for root, i in self.roots.items()],
            module_calls=[self._module_call(i, run) for run, i in self.module_runs.items()],
            tensors=[self._tensor(i, state, step) for i, state in enumerate(self.states)],
            storages=[Storage(i, b.nbytes, str(b.device)) for b, i in self.blocks.items()],
            cuts=self.cuts,
            gradients=self.gradients,
            events=self.events,
            backwards=backwards,
            notes=self.whole.notes,
            held=self._known(self.whole.held),
            free=self._known(self.whole.free),
        )

    def _known(self, objects: Iterable[Object]) -> list[int]:
        """Return the ids of those objects that have one."""
        return sorted({self.objects[one] for one in objects if one in self.objects})

    def _roots(self) -> list[int]:
        """Return what a backward started from; without one, tracked results that nothing used."""
        runs = [r for r in self.calls if r.run is not None]
        if runs:
            return list(dict.fromkeys(self.tensor_ids[id(s)] for r in runs for s in r.inputs[:1]))
        used = {id(s) for r in self.calls if r.role is not Role.HOOK for s in r.inputs}
        return [
            i
            for r in self.calls
            for s in r.outputs
            if id(s) not in used and s.node is not None
            for i in (self.tensor_ids[id(s)],)
        ]

    def _nodes_and_edges(self) -> tuple[list[Node], list[Edge]]:
        latest = {s.object: i for i, s in enumerate(self.states)}
        nodes, edges = [], []
        for serial, node_id in self.node_ids.items():
            if serial not in self.records:
                name = self.node_names[node_id]
                kind = NodeKind.ACCUMULATE_GRAD if name == "AccumulateGrad" else NodeKind.BACKWARD
                nodes.append(Node(node_id, name, kind, None, (), None, None, True))
                continue
            record, call_id, born = self.records[serial]
            accumulates = record.name == "AccumulateGrad"
            kind = NodeKind.CUSTOM_FUNCTION if record.custom else NodeKind.BACKWARD
            saved = tuple(self._saved(s, born, serial) for s in record.saved)
            nodes.append(
                Node(
                    node_id,
                    record.name,
                    NodeKind.ACCUMULATE_GRAD if accumulates else kind,
                    record.sequence_nr,
                    saved,
                    None if record.leaf is None else latest[record.leaf.object],
                    call_id,
                    record.stub,
                )
            )
            for index, (to, input_nr, _, _) in enumerate(record.next):
                edges.append(
                    Edge(node_id, index, None if to is None else self.node_ids[to], input_nr)
                )
        return nodes, edges

    def _saved(self, saved: Saved, born: int, serial: int) -> SavedTensor:
        """Return a saved tensor with what has become of it by this step."""
        tensor_id = None if saved.state is None else self.tensor_ids[id(saved.state)]
        status = self._status(saved, born, serial)
        return SavedTensor(saved.attribute, tensor_id, saved.version, status)

    def _status(self, saved: Saved, born: int, serial: int) -> SavedState:
        """Return what has become of a tensor that a node met at step ``born`` has saved."""
        status, state = saved.status, saved.state or saved.kin
        freed = self.freed.get(serial)
        if status is SavedState.UNKNOWN and self._may_be_written(saved, born, serial):
            # A hook packed it, and then torch compares no versions: what its backward got, nobody
            # can tell.
            return status
        if state is not None and status in (SavedState.AVAILABLE, SavedState.UNKNOWN):
            if freed is None and self._has_moved_on(state.object, saved.version):
                status = SavedState.STALE
            elif self._is_overwritten(state, born, len(self.whole.log) if freed is None else freed):
                # also after it was freed: the backward used the wrong numbers
                status = SavedState.OVERWRITTEN
            else:
                status = SavedState.AVAILABLE
        if freed is not None and status is not SavedState.OVERWRITTEN:
            status = SavedState.FREED
        return status

    def _has_moved_on(self, own: Object, saved_version: int | None) -> bool:
        """Tell whether an object has another version by now than the saved one."""
        now = self.versions.get(own.counter)
        return saved_version is not None and now is not None and now != saved_version

    def _is_overwritten(self, state: State, born: int, used_until: int) -> bool:
        """Tell whether saved memory was written between two steps without a version that tells."""
        own = state.object
        if born < self.swapped.get(own, -1) < used_until:
            return True
        writes = self.block_writes.get(state.block, ()) if state.block is not None else ()
        return any(born < i < used_until and c is not own.counter for i, c in writes)

    def _may_be_written(self, saved: Saved, born: int, serial: int) -> bool:
        """Tell whether memory that a saved tensor may lie in was written between its making and its
        release."""
        state = saved.state or saved.kin
        block = state.block if state is not None else None
        places = (
            [self.block_writes.get(block, ())] if block is not None else self.block_writes.values()
        )
        until = self.freed.get(serial, len(self.whole.log))
        swapped = [at for own, at in self.swapped.items() if state is None or own is state.object]
        return any(
            born < i < until for i in [*swapped, *(i for writes in places for i, _ in writes)]
        )

    def _call(self, call_id: int, record: CallRecord) -> Call:
        names, owner = self.whole.names, record.owner
        return Call(
            call_id,
            record.function,
            tuple(
                self.tensor_ids[id(s)]
                for s in record.inputs
                if record.role is not Role.HOOK or record.error
            ),
            tuple(self.tensor_ids[id(s)] for s in record.outputs if id(s) in self.tensor_ids),
            record.grad_mode,
            record.inference_mode,
            names.module(record),
            names.source(record),
            record.bookkeeping,
            None if owner is None else self.module_runs[owner],
        )

    def _module(self, module_id: int, root: Root) -> Module:
        children, own, tied = root.tree
        parameters = tuple(
            Parameter(
                p.name,
                None if p.known is None else self.objects.get(p.known),
                p.shape,
                p.requires_grad,
                p.held,
            )
            for p in own
        )
        name = self.whole.names.root(root)
        return Module(module_id, name, root.kind, children, parameters, tied)

    def _module_call(self, call_id: int, run: ModuleRun) -> ModuleCall:
        root, path = self.whole.place(run)
        source, code = self.whole.names.module_call(run)
        return ModuleCall(
            call_id,
            self.roots[root],
            path,
            run.kind,
            None if run.parent is None else self.module_runs[run.parent],
            run.number,
            run.training,
            source,
            code,
        )

    def _tensor(self, tensor_id: int, s: State, step: int) -> Tensor:
        edge = None
        if s.node is not None:
            edge = (
                GradientEdge(self.node_ids[s.node], s.output_nr)
                if s.node in self.node_ids
                else None
            )
        elif s.requires_grad and s.object.accumulate_grad in self.node_ids:
            edge = GradientEdge(self.node_ids[s.object.accumulate_grad], 0)
        base = None
        if s.base is not None:
            base = self.first_state.get(s.base)
        name, former = self.whole.names.at_the_end(
            self.tensor_names[tensor_id], s.object, whole=step == len(self.whole.log)
        )
        summary = s.values if type(s.values) is Summary else None
        return Tensor(
            tensor_id,
            name,
            self.objects[s.object],
            None if s.shape is None else tuple(s.shape),
            None if s.stride is None else tuple(s.stride),
            s.storage_offset,
            None if s.dtype is None else str(s.dtype).removeprefix("torch."),
            None if s.device is None else str(s.device),
            s.requires_grad,
            s.is_leaf,
            s.retains_grad,
            None if s.grad is None else preview.of(*s.grad),
            None if s.values is None or summary else preview.values(s.values),
            s.version,
            None if s.block is None else self.blocks[s.block],
            base,
            edge,
            former,
            summary,
        )

    def _backward(self, run: Run, ran: list[int], call_id: int, step: int) -> Backward:
        over = self.whole.last.get(id(run), -1) < step
        returned = []
        for state, value in run.returned if over else ():
            returned.append((self.tensor(state), None if value is None else preview.of(*value[:2])))
        at = None if run.raised_at is None or not over else self.node_ids.get(run.raised_at)
        roots = tuple(self.node_ids[s] for s in run.roots if s in self.node_ids)
        return Backward(
            run.number, call_id, run.kind, roots, tuple(ran), tuple(returned), at, run.watched
        )
