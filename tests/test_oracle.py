"""PyTorch itself judges what a recording says, on 2,000 random programs.

Four ways to know which leaves a loss reaches must agree: the model that each program carries, our graph, the nodes
that the engine really ran (watched by hooks of this file in a twin that is not recorded), and ``autograd.grad``.
Cuts must be those of the model; topology, gradients and accumulation those of the twin.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass, field

import programs
import pytest
import torch

import gradviz as gv
from gradviz import preview, rows
from gradviz.graph import Accumulated, Graph, NodeKind, NodeRan, SavedState

PROGRAMS, BLOCK = 2000, 50


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


def run_plain(program: programs.Program) -> Twin:
    """Runs the program statement by statement, with hooks on every node behind each loss."""
    values = dict(programs.NAMES)
    expected = {b.line: b for b in program.backwards}
    runs = []
    leaves: dict[object, str] = {}
    for line, code in program.split("<twin>"):
        now = expected.get(line)
        if now is None:
            exec(code, values)
            leaves.update({values[n]: n for n in program.leaves if n in values and values[n] not in leaves})
            continue
        roots = [values[r] for r in now.roots]
        run = Run(line, [torch.autograd.graph.get_gradient_edge(r) for r in roots])
        if now is program.backwards[-1] and not program.reentrant:
            run.connected = connected(roots, {t: n for t, n in leaves.items() if n in program.on})
        run.before = {n: short(t.grad) for t, n in leaves.items()}
        handles = [
            node.register_prehook(lambda g, node=node, run=run: run.ran.append((node, tuple(map(short, g)))))
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


def run_recorded(program: programs.Program, name: str) -> tuple[dict[str, object], object]:
    values = dict(programs.NAMES)
    statements = program.split(name)
    for line, code in statements:
        if line < program.start:
            exec(code, values)
    body = [s for s in ast.parse(program.text).body if s.lineno >= program.start]
    code = compile(ast.Module(body, []), name, "exec")
    with gv.record() as rec:
        exec(code, values)
    return values, rec


class Disagreement(Exception):
    """Two of the ways do not agree."""


def same(what: str, one: object, other: object) -> None:
    if one != other:
        raise Disagreement(f"{what}: {one} != {other}")


def compare(program: programs.Program, name: str = "<program>") -> None:
    """Raises Disagreement where a recording of the program and PyTorch, or the model, differ."""
    torch.manual_seed(0)
    twin = run_plain(program)
    values, rec = run_recorded(program, name)
    graph = rec.graph
    object_names = {
        rec.find(t).object_id: n
        for n in program.leaves
        if isinstance(t := values.get(n), torch.Tensor) and rec.find(t) is not None
    }
    same("number of backwards", len(graph.backwards), len(program.backwards))
    for expected, run, ours in zip(program.backwards, twin.runs, graph.backwards, strict=True):
        where = f"line {expected.line}: "
        same(where + "watched", ours.watched, True)
        same(where + "kind", ours.kind, expected.kind)
        same(where + "line of the call", graph.call[ours.call_id].source.line, expected.line)
        compare_nodes(where, graph, run, ours)
        if expected.kind == "backward":
            bound = {n for n in expected.reach if n in object_names.values()}
            theirs = run.leaves(twin.leaf_names)
            same(where + "leaves: model, engine", expected.reach, theirs)
            found = leaves_behind(graph, ours.roots)
            same(where + "leaves: graph, engine", {object_names.get(i) for i in found} - {None}, bound)
            same(where + "number of leaves", len(found), len(theirs))
            compare_accumulation(where, graph, twin, run, ours, object_names, expected.off)
        if run.connected is not None:
            same(where + "leaves: model, autograd.grad", expected.reach - expected.off, run.connected)
            reached = {object_names.get(i) for i in leaves_behind(graph, ours.roots)} - expected.off - {None}
            same(
                where + "leaves: graph, autograd.grad",
                reached,
                {n for n in run.connected if n in object_names.values()},
            )
    if program.backwards[-1].frees:
        check_freed(graph, graph.backwards[-1].ran)
    compare_cuts(program, graph)
    compare_tensors(twin, values, rec)
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
    """Same graph behind the roots, and the same nodes ran in the same order with the same gradients."""
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
        edges = [(e.next_index, e.next_node_id is None, e.input_nr) for e in graph.edges_from.get(mine, ())]
        slots = theirs.next_functions
        same(where + f"{node.name} edges", edges, [(i, n is None, nr) for i, (n, nr) in enumerate(slots)])
        todo += [
            (n, e.next_node_id)
            for (n, _), e in zip(slots, graph.edges_from.get(mine, ()), strict=True)
            if n is not None
        ]
    same(where + "as many nodes", len(set(pairs.values())), len(pairs))
    same(where + "nodes that ran", [last(graph.node[i].name) for i in ours.ran], [last(n.name()) for n, _ in run.ran])
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
        same(where + f"{name}.grad incoming, before, stored", mine, (arrived[name], run.before[name], run.after[name]))
    accumulated = [e.node_id for e in graph.events if isinstance(e, Accumulated) and e.run == ours.run]
    named = {names.get(graph.tensor[graph.node[i].leaf_id].object_id) for i in accumulated} - {None}
    same(where + "leaves that accumulate", named - off, (run.leaves(twin.leaf_names) & set(names.values())) - off)
    same(where + "each once", len(accumulated), len(set(accumulated)))


def check_freed(graph: Graph, ran: tuple[int, ...]) -> None:
    for i in ran:
        node = graph.node[i]
        if node.kind is NodeKind.BACKWARD:
            for saved in node.saved:
                same(f"{node.name} {saved.attribute} after backward", saved.state, SavedState.FREED)


def variable(graph: Graph, tensor_id: int | None) -> str | None:
    """The variable that holds a tensor; "a.data" names a value that none holds."""
    name = None if tensor_id is None else rows.bare(graph.tensor[tensor_id].name)
    return name if name and name.isidentifier() else None


def compare_cuts(program: programs.Program, graph: Graph) -> None:
    expected = [c for c in program.cuts if c.line >= program.start]
    older = set() if program.start == 1 else {"a", "b", "w", "k", "buf"}
    matched = set()
    for cut in graph.cuts:
        line = graph.call[cut.call_id].source.line
        source, target = variable(graph, cut.input_id), variable(graph, cut.output_id)
        fits = {
            c
            for c in expected
            if c.line == line
            and cut.reason in c.reasons
            and target in c.outputs
            and (source in c.inputs or (source is None and c.inputs & older))
        }
        if not fits:
            raise Disagreement(f"line {line}: not a cut of the model: {cut.reason.value!r}, {source} -> {target}")
        matched |= fits
    if missed := {c for c in expected if not c.optional} - matched:
        raise Disagreement(
            f"cuts missed: {sorted((c.line, sorted(r.name for r in c.reasons), set(c.inputs)) for c in missed)}"
        )
    keys = [(c.call_id, c.input_id, c.output_id) for c in graph.cuts]
    same("each cut once", len(keys), len(set(keys)))


def compare_tensors(twin: Twin, values: dict[str, object], rec) -> None:
    """The latest state of every live tensor is what the tensor says itself; memory is shared where torch shares it."""
    for theirs, name in twin.leaf_names.items():
        mine = values.get(name)
        if theirs is twin.values.get(name) and theirs.grad is not None:
            same(f"{name}.grad", repr(mine.grad.tolist()), repr(theirs.grad.tolist()))
    blocks: list[tuple[str, range, int | None]] = []
    for name, tensor in values.items():
        state = rec.find(tensor) if isinstance(tensor, torch.Tensor) else None
        if state is None or dead(tensor):
            continue
        facts = {
            "shape": tuple(tensor.shape),
            "stride": tensor.stride(),
            "storage_offset": tensor.storage_offset(),
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "requires_grad": tensor.requires_grad,
            "is_leaf": tensor.is_leaf,
            "retains_grad": tensor.retains_grad,
            "version": None if tensor.is_inference() else tensor._version,
            "values": short(tensor),
        }
        for field_name, fact in facts.items():
            mine = getattr(state, field_name)
            unread = field_name == "is_leaf" and mine is None and tensor._is_view()  # asking would make its grad_fn
            if fact != "…" and not unread:
                same(f"{name}: {field_name}", mine, fact)
        start, size = tensor.untyped_storage().data_ptr(), tensor.untyped_storage().nbytes()
        for other, block, storage_id in blocks:
            shared = max(block.start, start) < min(block.stop, start + size)
            same(f"{other} and {name} share memory", storage_id == state.storage_id, shared)
        blocks.append((name, range(start, start + size), state.storage_id))


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
        return tensor.requires_grad is tensor.is_leaf is None
    except RuntimeError:
        return True


def problem(seeds: list[int]) -> str | None:
    """The first disagreement on this program, or the error that stopped it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compare(programs.build(seeds))
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return None


@pytest.mark.parametrize("first", range(0, PROGRAMS, BLOCK), ids=lambda n: f"programs-{n}-{n + BLOCK - 1}")
def test_the_four_ways_agree(first):
    for seed in range(first, first + BLOCK):
        seeds = programs.statement_seeds(seed)
        if problem(seeds) is not None:
            small = programs.shrink(seeds, lambda fewer: problem(fewer) is not None)
            pytest.fail(f"program {seed}, shrunk:\n{programs.build(small).text}\n{problem(small)}", pytrace=False)
