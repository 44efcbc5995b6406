"""PyTorch itself judges what recordings say of random programs.

Four ways to know which leaves a loss reaches must agree: the model that each program carries, our
graph, the nodes that the engine really ran (watched by hooks of this file in a twin that is not
recorded), and ``autograd.grad``. Cuts and names must be those of the model; topology, gradients and
accumulation those of the twin; what is said of each tensor what the tensor says itself. A program
opens its recordings itself: one, several that overlap, or one in each of several asyncio tasks.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import NamedTuple

import programs
import pytest
import torch
from program_model import ExpectedCut, ExpectedRecording, Value

import gradviz as gv
from gradviz.graph import preview
from gradviz.graph.records import (
    Accumulated,
    Graph,
    NodeKind,
    NodeRan,
    NoteKind,
    SavedState,
    Tensor,
    Wrote,
)
from gradviz.recording import Recording
from gradviz.watch.torch_private import unobserved

FILE = "<program>"
TESTS = 0  # the stream of programs in the tests; every other one is for soaking
BLOCK = 50
BLOCKS = 6  # in each half of the tests, of 30
# of what the programs checkpoint, and of a comprehension: right for what lives only there
PARAMETERS = {"x", "y", "t"}


@dataclass
class Run:
    """What hooks saw of one backward of the twin. Values of more than eight elements are "…"."""

    line: int
    roots: list[object]
    ran: list[tuple[object, tuple[str | None, ...]]] = field(default_factory=list)
    sent: list[tuple[str | None, ...]] = field(default_factory=list)
    before: dict[str, str | None] = field(default_factory=dict)
    after: dict[str, str | None] = field(default_factory=dict)
    connected: set[str] | None = None  # by autograd.grad(allow_unused=True), for the last run

    def leaves(self, names: dict[object, str]) -> set[str]:
        return {names[node.variable] for node, _ in self.ran if hasattr(node, "variable")}


@dataclass
class Twin:
    """A program that ran without a recording."""

    values: dict[str, object]
    runs: list[Run]
    leaf_names: dict[object, str]


def short(t: torch.Tensor | None) -> str | None:
    if t is None:
        return None
    return preview.values(t.tolist()) if t.numel() <= 8 else "…"


def last(name: str) -> str:
    """Without the C++ namespace, which some names carry."""
    return name.rpartition("::")[2]


def nodes_behind(roots: list[torch.Tensor]) -> list[object]:
    seen: dict[object, None] = {}
    todo = [torch.autograd.graph.get_gradient_edge(r).node for r in roots]
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen[node] = None
            todo += [following for following, _ in node.next_functions]
    return list(seen)


class NotRecording:
    """What the twin's program has for a recording."""

    def __enter__(self) -> NotRecording:
        return self

    def __exit__(self, *error: object) -> None:
        pass


def run_plain(program: programs.Program) -> Twin:
    """Runs the program statement by statement, with hooks on every node behind each loss."""
    values = {**programs.NAMES, "gv": SimpleNamespace(record=NotRecording)}
    expected = {b.line: b for b in program.backwards}
    runs = []
    leaves: dict[object, str] = {}
    for line, code in program.split("<twin>"):
        now = expected.get(line)
        if now is None:
            exec(code, values)
            leaves.update(
                {values[n]: n for n in program.leaves if n in values and values[n] not in leaves}
            )
            continue
        roots = [values[r] for r in now.roots]
        run = Run(line, [torch.autograd.graph.get_gradient_edge(r) for r in roots])
        if now is program.backwards[-1] and not program.reentrant:
            run.connected = connected(roots, {t: n for t, n in leaves.items() if n in program.on})
        run.before = {n: short(t.grad) for t, n in leaves.items()}
        handles = [
            node.register_prehook(
                lambda g, node=node, run=run: run.ran.append((node, tuple(map(short, g))))
            )
            for node in nodes_behind(roots)
        ]
        handles += [
            node.register_hook(lambda sent, _, run=run: run.sent.append(tuple(map(short, sent))))
            for node in nodes_behind(roots)
        ]
        exec(code, values)
        for handle in handles:
            handle.remove()
        run.after = {n: short(t.grad) for t, n in leaves.items()}
        runs.append(run)
    return Twin(values, runs, leaves)


def connected(roots: list[torch.Tensor], leaves: dict[object, str]) -> set[str]:
    ones = [torch.ones_like(r) for r in roots]
    found = torch.autograd.grad(roots, list(leaves), ones, allow_unused=True, retain_graph=True)
    return {n for n, g in zip(leaves.values(), found, strict=True) if g is not None}


class Seen(NamedTuple):
    """What a tensor said of itself, and its object in the recording, when the recording had just
    ended."""

    tensor: torch.Tensor
    object_id: int
    said: dict[str, object]  # field -> what the recording says
    true: dict[str, object]  # field -> what the tensor says


class Observed(Recording):
    """A recording that looks at the module's tensors as soon as it has ended."""

    seen: dict[str, Seen] | None = None

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        frame = sys._getframe(1)
        # reading the variables of a function would keep its tensors alive
        if frame.f_code.co_name == "<module>":
            self.look(frame.f_globals)

    def look(self, values: dict[str, object]) -> None:
        """Compares in the same moment: other recordings may go on."""
        with unobserved():
            self.seen = {}
            for name, tensor in values.items():
                state = self.find(tensor) if isinstance(tensor, torch.Tensor) else None
                if state is not None and not dead(tensor):
                    true = facts_of(tensor)
                    said = {field_name: getattr(state, field_name) for field_name in true}
                    self.seen[name] = Seen(tensor, state.object_id, said, true)


def run_recorded(file: programs.File) -> list[dict[str, object]]:
    """Runs the whole file; the variables of the module, or of each task."""
    linecache.cache[FILE] = (len(file.text), None, file.text.splitlines(True), FILE)
    values = {
        **programs.NAMES,
        "gv": SimpleNamespace(record=lambda: Observed(10_000, False, False)),
    }
    exec(compile(file.text, FILE, "exec"), values)
    return values["results"] if file.plan.order else [values]


def record_program(program: programs.Program, name: str) -> tuple[dict[str, object], Recording]:
    """Records a program that opens no recording itself, from its line ``start`` on."""
    values = dict(programs.NAMES)
    for line, code in program.split(name):
        if line < program.start:
            exec(code, values)
    body = [s for s in ast.parse(program.text).body if s.lineno >= program.start]
    code = compile(ast.Module(body, []), name, "exec")
    with gv.record() as rec:
        exec(code, values)
    return values, rec


def facts_of(tensor: torch.Tensor) -> dict[str, object]:
    """What a tensor says of itself, by the names of ``graph.Tensor``."""
    facts = {
        "shape": tuple(tensor.shape),
        "stride": tensor.stride(),
        "storage_offset": tensor.storage_offset(),
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "requires_grad": tensor.requires_grad,
        "retains_grad": tensor.retains_grad,
        "version": None if tensor.is_inference() else tensor._version,
        "values": short(tensor),
    }
    if not tensor._is_view():  # of a view, asking would make its grad_fn
        facts["is_leaf"] = tensor.is_leaf
    return facts


class Disagreement(Exception):
    """Two of the ways do not agree."""


def same(what: str, one: object, other: object) -> None:
    if one != other:
        raise Disagreement(f"{what}: {one} != {other}")


def compare(file: programs.File) -> None:
    """Raises Disagreement where a recording of a program and PyTorch, or the model, differ."""
    torch.default_generator.manual_seed(0)
    twins = {id(program): run_plain(program) for program in file.programs}
    for program, values in zip(file.programs, run_recorded(file), strict=True):
        twin = twins[id(program)]
        for expected in program.recordings:
            rec = values[expected.name]
            if rec.seen is None:
                rec.look(values)
                if expected.last < program.backwards[-1].line:  # the task has gone on since
                    rec.seen = {
                        n: seen._replace(true={})
                        for n, seen in rec.seen.items()
                        if n in program.leaves
                    }
            try:
                compare_recording(program, expected, twin, rec)
            except Disagreement as error:
                raise Disagreement(f"{expected.name}: {error}") from None
        compare_gradients(twin, values)


def compare_recording(
    program: programs.Program, expected: ExpectedRecording, twin: Twin, rec: Observed
) -> None:
    graph = rec.graph
    failures = [note for note in graph.notes if note.kind is NoteKind.FAILED]
    same("failures of our own", failures, [])
    object_names = {rec.seen[n].object_id: n for n in program.leaves if n in rec.seen}
    watched = [
        (b, run)
        for b, run in zip(program.backwards, twin.runs, strict=True)
        if expected.holds(b.line)
    ]
    same("number of backwards", len(graph.backwards), len(watched))
    for (backward, run), ours in zip(watched, graph.backwards, strict=True):
        where = f"line {backward.line}: "
        same(where + "watched", ours.watched, True)
        same(where + "kind", ours.kind, backward.kind)
        same(where + "line of the call", graph.call[ours.call_id].source.line, backward.line)
        compare_nodes(where, graph, run, ours)
        if backward.kind == "backward":
            bound = {n for n in backward.reach if n in object_names.values()}
            theirs = run.leaves(twin.leaf_names)
            same(where + "leaves: model, engine", backward.reach, theirs)
            found = leaves_behind(graph, ours.roots)
            same(
                where + "leaves: graph, engine",
                {object_names.get(i) for i in found} - {None},
                bound,
            )
            same(where + "number of leaves", len(found), len(theirs))
            compare_accumulation(where, graph, twin, run, ours, object_names, backward.off)
        if run.connected is not None:
            same(
                where + "leaves: model, autograd.grad", backward.reach - backward.off, run.connected
            )
            reached = (
                {object_names.get(i) for i in leaves_behind(graph, ours.roots)}
                - backward.off
                - {None}
            )
            same(
                where + "leaves: graph, autograd.grad",
                reached,
                {n for n in run.connected if n in object_names.values()},
            )
    if watched and watched[-1][0] is program.backwards[-1] and program.backwards[-1].frees:
        check_freed(graph, graph.backwards[-1].ran, packed="checkpoint(" in program.text)
    compare_cuts(program, expected, graph)
    compare_tensors(rec)
    compare_names(program, expected, rec)
    if len(program.lines) % 8 == 0:
        compare_steps(rec)


def leaves_behind(graph: Graph, roots: tuple[int, ...]) -> set[int]:
    """Object ids of the leaves that the edges lead to."""
    seen, todo, found = set(), list(roots), set()
    while todo:
        i = todo.pop()
        if i is None or i in seen:
            continue
        seen.add(i)
        node = graph.node[i]
        if node.kind is NodeKind.ACCUMULATE_GRAD:
            found.add(graph.tensor[node.leaf_id].object_id)
        todo += [e.next_node_id for e in graph.edges_from.get(i, ())]
    return found


def compare_nodes(where: str, graph: Graph, run: Run, ours) -> None:
    """Same graph behind the roots, and the same nodes ran in the same order with the same
    gradients."""
    pairs = {}
    todo = list(zip([edge.node for edge in run.roots], ours.roots, strict=True))
    while todo:
        theirs, mine = todo.pop()
        if theirs in pairs:
            same(where + f"{theirs.name()} is one node", pairs[theirs], mine)
            continue
        pairs[theirs] = mine
        node = graph.node[mine]
        same(where + "name", last(node.name), last(theirs.name()))
        same(where + f"{node.name} stub", node.stub, False)
        edges = [
            (e.next_index, e.next_node_id is None, e.input_nr)
            for e in graph.edges_from.get(mine, ())
        ]
        slots = theirs.next_functions
        same(
            where + f"{node.name} edges",
            edges,
            [(i, n is None, nr) for i, (n, nr) in enumerate(slots)],
        )
        todo += [
            (n, e.next_node_id)
            for (n, _), e in zip(slots, graph.edges_from.get(mine, ()), strict=True)
            if n is not None
        ]
    same(where + "as many nodes", len(set(pairs.values())), len(pairs))
    same(
        where + "nodes that ran",
        [last(graph.node[i].name) for i in ours.ran],
        [last(n.name()) for n, _ in run.ran],
    )
    same(where + "the same nodes ran", list(ours.ran), [pairs[n] for n, _ in run.ran])
    events = [e for e in graph.events if isinstance(e, NodeRan) and e.run == ours.run]
    same(where + "one event a node", [e.node_id for e in events], list(ours.ran))
    for event, (node, arrived), sent in zip(events, run.ran, run.sent, strict=True):
        for mine, theirs in zip(event.arrived + event.sent, arrived + sent, strict=True):
            if theirs != "…":
                same(where + f"gradient at {node.name()}", mine, theirs)


def compare_accumulation(
    where: str, graph: Graph, twin: Twin, run: Run, ours, names: dict[int, str], off: frozenset[str]
) -> None:
    """What reached each leaf, and what its .grad was before and after."""
    arrived = {twin.leaf_names[n.variable]: g[0] for n, g in run.ran if hasattr(n, "variable")}
    for event in graph.events:
        if not isinstance(event, Accumulated) or event.run != ours.run:
            continue
        name = names.get(graph.tensor[graph.node[event.node_id].leaf_id].object_id)
        if name in off:  # it arrived, and AccumulateGrad stored nothing
            same(where + f"{name}.grad, flag off", event.stored, event.before)
        if name is None or name in off or run.after[name] == "…":
            continue
        mine = (event.incoming, event.before, event.stored)
        same(
            where + f"{name}.grad incoming, before, stored",
            mine,
            (arrived[name], run.before[name], run.after[name]),
        )
    accumulated = [
        e.node_id for e in graph.events if isinstance(e, Accumulated) and e.run == ours.run
    ]
    named = {names.get(graph.tensor[graph.node[i].leaf_id].object_id) for i in accumulated} - {None}
    same(
        where + "leaves that accumulate",
        named - off,
        (run.leaves(twin.leaf_names) & set(names.values())) - off,
    )
    same(where + "each once", len(accumulated), len(set(accumulated)))


def check_freed(graph: Graph, ran: tuple[int, ...], packed: bool) -> None:
    """A backward that frees leaves nothing saved.

    What a saved-tensor hook packed (``checkpoint`` does) may have been written before: torch
    compares no versions, so that nobody can tell what the backward got. Without any write it was
    freed like the rest.
    """
    untold = packed and any(isinstance(event, Wrote) for event in graph.events)
    for i in ran:
        node = graph.node[i]
        if node.kind is NodeKind.BACKWARD:
            for saved in node.saved:
                if not (untold and saved.state is SavedState.UNKNOWN):
                    same(
                        f"{node.name} {saved.attribute} after backward",
                        saved.state,
                        SavedState.FREED,
                    )


def variable(graph: Graph, tensor_id: int | None) -> str | None:
    """The variable that holds a tensor; "a.data" names a value that none holds."""
    if tensor_id is None:
        return None
    tensor = graph.tensor[tensor_id]
    name = tensor.former.name if tensor.former else tensor.name
    return name if name and name.isidentifier() else None


def compare_cuts(program: programs.Program, recording: ExpectedRecording, graph: Graph) -> None:
    expected = [c for c in program.cuts if recording.holds(c.line)]
    matched = set()
    for cut in graph.cuts:
        line = graph.call[cut.call_id].source.line
        source, target = variable(graph, cut.input_id), variable(graph, cut.output_id)
        fits = {
            c
            for c in expected
            if c.line == line
            and cut.reason in c.reasons
            and target in with_later_names(program, c.outputs, line)
            and (source in c.inputs or (source is None and may_be_unnamed(program, recording, c)))
        }
        if not fits:
            raise Disagreement(
                f"line {line}: not a cut of the model: {cut.reason.value!r}, {source} -> {target}"
            )
        matched |= fits
    if missed := {c for c in expected if not c.optional} - matched:
        raise Disagreement(
            "cuts missed:"
            f" {sorted((c.line, sorted(r.name for r in c.reasons), set(c.inputs)) for c in missed)}"
        )
    keys = [(c.call_id, c.input_id, c.output_id) for c in graph.cuts]
    same("each cut once", len(keys), len(set(keys)))


def may_be_unnamed(
    program: programs.Program, recording: ExpectedRecording, cut: ExpectedCut
) -> bool:
    """Can no name be known of what was cut?

    A variable is not read where it is a task's, nor where it is deleted; then only calls can tell
    its name. They do not where the tensor is older than the recording, or comes out of torch's own
    code.
    """
    for name in filter(None, cut.inputs):
        value = program.at(name, cut.line)
        is_read = program.offset == 0 and f"del {name}\n" not in program.text
        if value is not None and not is_read and (value.nameless or value.made < recording.first):
            return True
    return False


def with_later_names(
    program: programs.Program, names: Iterable[str | None], line: int
) -> set[str | None]:
    """A result may be called by a name that it got later."""
    found = set(names)
    for name in names:
        value = name and program.at(name, line)
        found |= value.ever if value else set()
    return found


def compare_tensors(rec: Observed) -> None:
    """The latest state of every live tensor is what the tensor said itself; memory is shared where
    torch shares it."""
    for name, seen in rec.seen.items():
        for field_name, fact in seen.true.items():
            if fact != "…":
                same(f"{name}: {field_name}", seen.said[field_name], fact)
    blocks: list[tuple[str, range, int | None]] = []
    for name, seen in rec.seen.items():
        start, size = (
            seen.tensor.untyped_storage().data_ptr(),
            seen.tensor.untyped_storage().nbytes(),
        )
        storage_id = rec.memory_of(seen.tensor)
        for other, block, other_id in blocks:
            shared = max(block.start, start) < min(block.stop, start + size)
            same(f"{other} and {name} share memory", other_id == storage_id, shared)
        blocks.append((name, range(start, start + size), storage_id))


def compare_gradients(twin: Twin, values: dict[str, object]) -> None:
    """Nobody's gradient is another one because it was recorded."""
    for theirs, name in twin.leaf_names.items():
        mine = values.get(name)
        if theirs is twin.values.get(name) and theirs.grad is not None:
            same(f"{name}.grad", repr(mine.grad.tolist()), repr(theirs.grad.tolist()))


def compare_names(program: programs.Program, recording: ExpectedRecording, rec: Observed) -> None:
    """Every tensor has a name that stood for it, and one that stands for it still unless a line is
    told."""
    graph, last = rec.graph, {}
    for tensor in graph.tensors:
        last[tensor.object_id] = tensor
    alive = {name: seen.object_id for name, seen in rec.seen.items()}
    made: dict[int, int | None] = {}  # by object: the line that made it, None for a helper's
    met: set[int] = set()
    for call in graph.calls:
        met |= {graph.tensor[i].object_id for i in call.inputs}
        for object_id in (graph.tensor[i].object_id for i in call.outputs):
            if object_id not in met:
                made.setdefault(object_id, call.source.line if call.source.file == FILE else None)
    is_task = program.offset > 0
    for object_id, tensor in last.items():
        name, line = told_name(tensor)
        is_inner = name in PARAMETERS and (is_task or object_id not in alive.values())
        if name is None or is_inner:
            continue
        value = program.at(name, line or recording.last)
        what = f"name {tensor.name!r} of what line {made.get(object_id)} made"
        if line is None and name in alive:
            same(what + ": the object", alive[name], object_id)
        elif value is None:
            raise Disagreement(f"{what}: no value is called so")
        elif made.get(object_id) is not None:
            same(what + ": made by line", made[object_id], value.made)
    for name, object_id in alive.items():
        found, line = told_name(last[object_id])
        former = last[object_id].former
        if is_task and (found in PARAMETERS or (former is not None and former.line is None)):
            # only a helper has read it while it was recorded, and a function's variables are not
            # read
            continue
        value = program.at(name, recording.last)
        holders = {other for other, i in alive.items() if i == object_id} | (
            value.names if value else set()
        )
        is_unknown = is_task and (
            object_id not in made or value.nameless or is_result_of_custom(program, value)
        )
        if is_unknown and last[object_id].name is None:
            continue
        if found not in holders or line is not None:
            raise Disagreement(f"{name} is called {last[object_id].name!r}")


def is_result_of_custom(program: programs.Program, value: Value) -> bool:
    """Did a custom Function return it? Which of its results it is cannot be known once another one
    is deleted."""
    return ".apply(" in program.text.splitlines()[value.made - program.offset - 1]


def told_name(tensor: Tensor) -> tuple[str | None, int | None]:
    """A variable's name, and the line where the tensor was it if it is not any more; None for what
    is no variable."""
    known = re.fullmatch(r"[a-z]\w*", tensor.code_name)
    return (tensor.code_name, tensor.former and tensor.former.line) if known else (None, None)


def compare_steps(rec) -> None:
    """``rec.at`` grows from nothing to the whole graph."""
    graph, events = rec.graph, len(rec.events)
    same("at the end", rec.at(events), graph)
    same("at the beginning", (len(rec.at(0).calls), len(rec.at(0).events)), (0, 0))
    half = rec.at(events // 2)
    same("half way", half.events, graph.events[: events // 2])
    same("cuts half way", set(half.cuts) <= set(graph.cuts), True)
    same("JSON", Graph.from_json(graph.to_json()) == graph, True)


def dead(tensor: torch.Tensor) -> bool:
    """A view that torch refuses to look at since its base was written."""
    try:
        tensor.requires_grad  # noqa: B018  (is_leaf would make the grad_fn of a written view anew)
    except RuntimeError:
        return True
    return False


@contextmanager
def one_thread() -> Iterator[None]:
    """Small tensors: handing work to other threads costs more than the work."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def problem(plan: programs.Plan) -> str | None:
    """The first disagreement on this plan's file, or the error that stopped it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compare(programs.write_file(plan))
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return None


def report(plan: programs.Plan) -> str | None:
    """None where all ways agree; else the smallest program found that shows how they do not, ready
    to run."""
    if problem(plan) is None:
        return None
    small = programs.shrink_plan(plan, lambda fewer: problem(fewer) is not None)
    return f"{programs.write_file(small).script}\n# {problem(small)}\n"


def check(first: int) -> None:
    """A block of the tests' own programs, beginning with this one."""
    with one_thread():
        for number in range(first, first + BLOCK):
            if (found := report(programs.plan(TESTS, number))) is not None:
                pytest.fail(f"program {number}, shrunk:\n{found}", pytrace=False)
