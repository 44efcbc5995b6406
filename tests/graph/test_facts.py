"""Facts: one index for all readers of a graph. Each look-up is compared with its plain definition,
on random programs."""

from __future__ import annotations

import gc
import warnings
import weakref
from functools import cached_property

import oracle
import programs
import pytest
import torch

import gradviz as gv
from gradviz.graph.facts import Facts, How, after_all, code_of, sharing
from gradviz.graph.records import Edge, Freed, Graph, Node, NodeKind, NodeRan, Raised, Wrote
from gradviz.picture import explaining, table
from gradviz.picture.figure import Figure
from gradviz.picture.state import state
from gradviz.picture.telling import Story
from gradviz.why.answering.answer import explain_tensor
from gradviz.why.evidence.paths import Asked, Paths
from gradviz.why.rules.gradients.gradient import Gradients

LOOK_UPS = {n for n, v in vars(Facts).items() if isinstance(v, cached_property)}


@pytest.fixture(scope="module")
def graphs() -> list[Graph]:
    """Of random programs that ran through; among them some that raise in the middle."""
    found = []
    for number in range(60):
        program = programs.build(programs.statement_seeds(number))
        with oracle.one_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(oracle.record_program(program, f"<facts {number}>")[1].graph)
    assert sum(bool(g.backwards) for g in found) > 20
    assert sum(bool(g.cuts) for g in found) > 20
    assert sum(any(isinstance(e, Wrote) for e in g.events) for g in found) > 20
    return found


def recorded() -> Graph:
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    with gv.record() as rec:
        b = a.clone()
        b.mul_(3)
        (b * b).sum().backward()
    return rec.graph


# --- one of them for all readers ------------------------------------------------------------------


def test_all_readers_of_one_display_share_one_index(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, made = recorded(), []
    begin = Facts.__init__
    monkeypatch.setattr(Facts, "__init__", lambda own, g: (made.append(g), begin(own, g))[1])
    figure = Figure(graph)
    state(figure)
    table.rows(graph, figure.whole.cards)
    explaining.summary(graph)
    Story(graph).sentence()
    Paths(graph)
    assert made == [graph]


def test_another_graph_has_other_facts() -> None:
    graph = recorded()
    facts = Facts.of(graph)
    fewer = graph.replace(calls=())
    assert facts.maker
    assert not Facts.of(fewer).maker
    assert Facts.of(graph) is facts


def test_a_graph_with_facts_equals_one_without() -> None:
    graph = recorded()
    text = graph.to_json()
    assert Facts.of(graph).writes
    assert graph.to_json() == text
    assert Graph.from_json(text) == graph


def test_facts_go_with_their_graph() -> None:
    graph = Graph.from_json(recorded().to_json())  # that nothing else holds
    facts = weakref.ref(Facts.of(graph))
    gone = weakref.ref(graph)
    gc.disable()
    try:
        del graph
        assert (facts(), gone()) == (None, None)  # and do not wait for the garbage collector
    finally:
        gc.enable()


def test_nobody_changes_what_a_look_up_returned(graphs: list[Graph]) -> None:
    """Readers share the tables, so one that sorted or filled one would change the others'
    answers."""
    asked = set()
    for graph in graphs:
        for view in ("cards", "nodes"):
            figure = Figure(graph, view=view)
            assert figure.text
            assert figure.alt
            table.rows(graph, figure.whole.cards)
            state(figure) if graph in graphs[:3] else explaining.summary(graph)
        Story(graph).sentence()
        why = Gradients(graph)
        for t in Facts.of(graph).latest_state.values():
            told = Asked(t.name or "x", t.id, bool(t.requires_grad), bool(t.is_leaf))
            assert explain_tensor(why, told).cause
        fresh = Facts(graph)
        for name in vars(Facts.of(graph)).keys() & LOOK_UPS:
            asked.add(name)
            read, anew = getattr(Facts.of(graph), name), getattr(fresh, name)
            assert read == anew, name
            assert not isinstance(read, dict) or [*read] == [*anew], name
    assert len(asked) > 40


def test_a_look_up_is_made_when_it_is_asked_for() -> None:
    facts = Facts(recorded())
    assert vars(facts).keys() == {"graph"}
    assert facts.latest_state
    assert vars(facts).keys() == {"graph", "latest_state"}


# --- what they say --------------------------------------------------------------------------------


def test_calls_and_tensors(graphs: list[Graph]) -> None:
    for g in graphs:
        facts = Facts.of(g)
        for t in g.tensors:
            same = [s for s in g.tensors if s.object_id == t.object_id]
            assert facts.states[t.object_id] == same
            assert facts.latest_state[t.object_id] == same[-1]
            made = [c for c in g.calls if t.id in c.outputs and t.id not in c.inputs]
            assert facts.maker.get(t.id) == next(iter(made), None)
            read = [c for c in g.calls if t.id in c.inputs]
            assert facts.calls_reading.get(t.id, []) == read
            ordinary = [c for c in read if not c.bookkeeping]
            assert facts.first_reader.get(t.id) == next(iter(ordinary), None)
            ids = {s.id for s in same}
            born = [c for c in g.calls if ids & ({*c.outputs} - {*c.inputs})]
            assert facts.first_maker.get(t.object_id) == next(iter(born), None)
            wrote = [e for e in g.events if isinstance(e, Wrote) and e.after_id in ids]
            assert facts.writes_by_object.get(t.object_id, []) == wrote
        backwards = {b.call_id for b in g.backwards}
        for c in g.calls:
            wrote = [e for e in g.events if isinstance(e, Wrote) and e.call_id == c.id]
            assert facts.writes_by_call.get(c.id, []) == wrote
            errors = [e for e in g.events if isinstance(e, Raised) and e.call_id == c.id]
            assert facts.error_of_call.get(c.id) == (errors[-1] if errors else None)
            assert (c in facts.ordinary_calls) == (c.id not in backwards and not c.bookkeeping)
            runs = [b for b in g.backwards if b.call_id == c.id]
            assert facts.run_of_call.get(c.id) == next(iter(runs), None)


def plainly_reachable(g: Graph, start: int) -> set[int]:
    found = {start}
    while (
        new := {
            e.next_node_id for e in g.edges if e.node_id in found and e.next_node_id is not None
        }
        - found
    ):
        found |= new
    return found


def test_nodes_and_leaves(graphs: list[Graph]) -> None:
    for g in graphs:
        facts = Facts.of(g)
        ways = {n.id: plainly_reachable(g, n.id) for n in g.nodes}
        order = facts.all_in_gradient_order
        assert sorted(order) == sorted(ways)
        for n in g.nodes:
            assert facts.reachable([n.id]) == ways[n.id]
            assert facts.above([n.id]) == {m for m in ways if n.id in ways[m]} - {n.id}
            leaves = [ways_end for ways_end in ways[n.id] if ways_end in facts.leaf_at]
            assert {t.object_id for t in facts.leaves_below(n.id)} == {
                facts.leaf_at[leaf].object_id for leaf in leaves
            }
            into = [e for e in g.edges if e.next_node_id == n.id]
            assert sorted(facts.edges_into.get(n.id, [])) == sorted(into)
            done = [e for e in g.events if isinstance(e, NodeRan) and e.node_id == n.id]
            assert [e for _, e in facts.runs_of_node.get(n.id, [])] == done
            freed = [e.run for e in g.events if isinstance(e, Freed) and n.id in e.node_ids]
            assert facts.runs_that_freed.get(n.id, []) == freed
        for e in g.edges:
            if e.next_node_id is not None:
                assert order.index(e.node_id) < order.index(e.next_node_id)
        kinds = {n.id for n in g.nodes if n.kind is NodeKind.ACCUMULATE_GRAD}
        assert {*facts.leaf_at} <= kinds


def test_gradients(graphs: list[Graph]) -> None:
    for g in graphs:
        facts = Facts.of(g)
        for one in g.gradients:
            same = [h for h in g.gradients if h[1:4] == one[1:4]]
            if one.next_index is not None:
                assert facts.sent[one.node_id, one.next_index] == same[-1].preview
                assert facts.sent_in_run[one.run, one.node_id, one.next_index] == one.preview
            else:
                assert facts.arrived[one.node_id, one.input_nr or 0] == same[-1].preview
        for object_id, done in facts.accumulate_node.items():
            stored = facts.accumulations.get(done, [])
            last = facts.latest_state[object_id]
            # once everything is over, the leaf itself was read again
            assert facts.grads_now[object_id] == last.grad or stored


def test_what_a_tensor_can_be_called_by() -> None:
    p = torch.ones(2)
    with gv.record() as rec:
        out = (p.exp() + 1) * 2
    graph = rec.graph
    facts = Facts.of(graph)
    labels = [facts.label(t.id) for t in graph.tensors]
    assert facts.label(None).how is How.OUTSIDE
    assert facts.label(-5).how is How.OUTSIDE
    ways = {label.how for label in labels}
    assert ways == {How.NAMED, How.MADE}
    assert "out" in {label.name for label in labels}
    made = [label for label in labels if label.how is How.MADE]
    assert {label.maker.function for label in made if label.maker} == {"exp", "add"}
    del out


def test_a_written_tensor_has_two_makers() -> None:
    facts = Facts.of(recorded())
    b = next(t for t in facts.latest_state.values() if t.name == "b")
    label = facts.label(b.id)
    assert label.maker is not None
    assert label.first_maker is not None
    assert (label.how, label.name) == (How.NAMED, "b")
    assert (label.maker.function, label.first_maker.function) == ("mul_", "clone")
    assert code_of(label.first_maker) == "b = a.clone()"


def test_what_was_there_before_is_known_by_its_reader() -> None:
    held = [torch.ones(2, requires_grad=True)]
    with gv.record() as rec:
        out = sum(x.exp() for x in held)
    graph = rec.graph
    unnamed = graph.replace(tensors=[t._replace(name=None) for t in graph.tensors])
    label = Facts.of(unnamed).label(next(t.id for t in graph.tensors if t.is_leaf))
    assert label.how is How.READ
    assert label.reader is not None
    assert label.reader.function == "exp"
    alone = unnamed.replace(calls=())
    assert Facts.of(alone).label(label.tensor.id if label.tensor else None).how is How.UNNAMED
    del out


def test_helpers() -> None:
    assert after_all([1, 2, 3], {1: [3], 3: [2]}) == [2, 3, 1]
    assert after_all([1, 2], {1: [2], 2: [1]}) == [2, 1]  # a circle
    graph = recorded()
    shared = sharing(graph.tensors)
    for storage, members in shared.items():
        assert {t.storage_id for t in members} == {storage}
        assert len({t.object_id for t in members}) > 1
    a = torch.ones(3)
    with gv.record() as rec:
        b = a.view(3)
    assert [sorted(t.name or "" for t in m) for m in sharing(rec.graph.tensors).values()] == [
        ["a", "b"]
    ]
    del b


def test_a_walk_may_stay_inside_a_set_of_nodes() -> None:
    kind = NodeKind.BACKWARD
    nodes = [Node(i, "", kind, None, (), None, None, False) for i in range(4)]
    facts = Facts.of(
        Graph(nodes=nodes, edges=[Edge(3, 0, 2, 0), Edge(2, 0, 1, 0), Edge(1, 0, 0, 0)])
    )
    assert facts.reachable([3]) == {0, 1, 2, 3}
    assert facts.reachable([3], inside={2, 0}) == {2, 3}  # 0 lies behind 1, which is not inside


def test_a_grad_fn_is_a_node_of_the_graph_and_no_leaf_has_one() -> None:
    with gv.record() as rec:
        a = torch.ones(2, requires_grad=True)
        b = a * 2
        c = b.detach()
    facts = Facts.of(rec.graph)
    states = [facts.latest_state[rec.find(t).object_id] for t in (a, b, c)]
    names = [node.name if (node := facts.grad_fn(t)) else None for t in states]
    assert names == [None, "MulBackward0", None]


def test_what_a_value_was_computed_from_is_found_without_a_look_at_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    a = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        first = a * 2
        others = [a * k for k in range(50)]
    assert others
    facts = Facts.of(rec.graph)
    looked = list[int]()
    plain = Facts.values_read
    monkeypatch.setattr(
        Facts, "values_read", lambda self, call: looked.append(call.id) or plain(self, call)
    )
    state = rec.find(first)
    assert state is not None
    assert len(facts.ancestors([state.id])) == 2
    assert len(looked) == 1


def test_backwards_change_none_of_the_values_of_a_leaf() -> None:
    a = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        for _ in range(3):
            (a * 2).sum().backward()
    facts = Facts.of(rec.graph)
    states = facts.states[rec.find(a).object_id]
    assert len(states) > 3
    assert {t.id for t in states} <= facts.ancestors([states[-1].id])
