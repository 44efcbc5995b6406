"""What a change of the code could break without any other test noticing: found by changing the code
on purpose.

Each test fails under the mutation that its comment names. PyTorch says what is right wherever it
can.
"""

from __future__ import annotations

import copy
import math
import threading
import warnings
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import nn

import gradviz as gv
from gradviz.graph.records import Graph, NodeRan, SavedState, Wrote
from gradviz.picture.cards import scene
from gradviz.watch.capture import capture, shared_storages
from gradviz.why.answering.answer import explain_small, silent_faults
from gradviz.why.survey.moving import will_it_move

# --- cuts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda a, y: a.expand_as(y),
        lambda a, y: a.expand_as(other=y),
        lambda a, y: a.view_as(y),
        lambda a, y: a.reshape_as(y),
        lambda a, y: a.type_as(y),
        lambda a, y: a.to(y),
    ],
    ids="expand_as expand_as(other=) view_as reshape_as type_as to".split(),
)
def test_a_tensor_that_lends_its_shape_or_type_is_not_cut(call: Callable) -> None:
    """cuts.judged: SHAPE_OF_OTHER reads its first tensor alone."""
    a = torch.tensor([[1.0, 2.0]], requires_grad=True)
    y = torch.ones(1, 2, dtype=torch.float64, requires_grad=True).exp()
    with gv.record() as rec:
        b = call(a, y)
    to_a, to_y = torch.autograd.grad(b.sum(), [a, y], allow_unused=True)
    assert to_a is not None
    assert to_y is None  # and yet no value was cut off: none was read
    assert rec.cuts == ()
    with torch.no_grad(), gv.record() as rec:
        c = call(a, y)
    assert c.grad_fn is None
    assert [rec.graph.tensor[cut.input_id].name for cut in rec.cuts] == ["a"]


def note(ran: list[str], name: str, _: object) -> None:
    ran.append(name)


def test_no_view_is_read_before_the_program_uses_it() -> None:
    """recorder._settle: a call that only takes the shape of a written view leaves its grad_fn
    unread.

    Torch makes that node anew when it is read; made earlier, it would run at another place in the
    backward.
    """

    def program() -> list[str]:
        w, a = torch.ones(4, requires_grad=True), torch.ones(2, requires_grad=True)
        base = w * 1
        view = base[:2]
        base.mul_(2)
        wide = a.expand_as(view)
        late = base.exp()
        loss = late.sum() + (view * 3).sum() + wide.sum()
        ran: list[str] = []
        seen, todo = set(), [loss.grad_fn]
        while todo:
            node = todo.pop()
            if node is not None and node not in seen:
                seen.add(node)
                node.register_prehook(partial(note, ran, node.name()))
                todo += [following for following, _ in node.next_functions]
        loss.backward()
        return ran

    plain = program()
    with gv.record():
        recorded = program()
    assert recorded == plain


def test_a_written_view_is_read_when_a_call_has_used_it() -> None:
    """recorder._settle: from then on its edge is known, and what hangs on it is no cut."""
    w = torch.ones(4, requires_grad=True)
    with gv.record() as rec:
        base = w * 1
        view = base[:2]
        base.mul_(2)
        used = view * 3
    (found,) = torch.autograd.grad(used.sum(), view, retain_graph=True)
    assert found is not None
    graph = rec.graph
    assert graph.cuts == ()
    edge = [t for t in graph.tensors if t.name == "view"][-1].gradient_edge
    assert graph.node[edge.node_id].name == view.grad_fn.name() == "AsStridedBackward0"
    assert edge.node_id in {
        e.next_node_id for e in graph.edges_from[rec.find(used).gradient_edge.node_id]
    }


def test_a_view_that_its_call_writes_went_in_as_it_was_before() -> None:
    """recorder._settle: the state that a call has written is none of its inputs, so nothing is cut
    there."""
    w = torch.ones(4, requires_grad=True)
    with gv.record() as rec:
        base = w * 1
        first, last = base[:2], base[2:]
        base.mul_(2)
        first.add_(last)
    (reached,) = torch.autograd.grad(first.sum(), w)
    assert reached.all()
    assert rec.cuts == ()
    graph = rec.graph
    call = graph.calls[-1]
    assert call.function == "add_"
    went_in = [graph.tensor[i] for i in call.inputs]
    assert [t.name for t in went_in] == ["first", "last"]
    assert [t.values for t in went_in] == ["[2, 2]", "[2, 2]"]
    (came_out,) = call.outputs
    assert graph.tensor[came_out].values == "[4, 4]"
    assert first.tolist() == [4, 4]
    assert {t.version for t in went_in} == {graph.tensor[came_out].version - 1}


# --- saved tensors and versions -------------------------------------------------------------------


def saved_states(rec: gv.Recording, name: str) -> set[SavedState]:
    return {s.state for node in rec.graph.nodes if node.name == name for s in node.saved}


def test_two_that_count_their_versions_together_make_a_saved_tensor_stale() -> None:
    """recorder._write_aliases: that an older tensor and its alias share a counter shows at the
    first write.

    Then a view that a call made of the tensor inside, and saved, is known to count with them.
    """
    h = (torch.tensor([1.0, 2.0], requires_grad=True) * 1)[0:2]
    alias = h.detach()
    with gv.record() as rec:
        h.sum(), alias.sum()
        alias.mul_(1.0)
        weight = torch.ones(3, 2, requires_grad=True)
        result = torch.nn.functional.linear(h, weight)
        alias.mul_(3.0)
    states = {
        s.attribute: s.state
        for node in rec.graph.nodes
        if node.name == "MmBackward0"
        for s in node.saved
    }
    assert states == {"self": SavedState.STALE, "mat2": SavedState.AVAILABLE}
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


def test_an_alias_with_a_counter_of_its_own_overwrites() -> None:
    """recorder._write_aliases: what does not move along counts for itself, and torch notices
    nothing."""
    h = torch.tensor([1.0, 2.0], requires_grad=True)
    alias = h.data
    with gv.record() as rec:
        h.sum(), alias.sum()
        loss = (h * h).sum()
        alias.mul_(3.0)
    assert saved_states(rec, "MulBackward0") == {SavedState.OVERWRITTEN}
    loss.backward()
    assert torch.equal(h.grad, torch.tensor([6.0, 12.0]))  # not the [2, 4] of the forward


def test_a_call_that_saves_what_it_wrote_has_overwritten_nothing() -> None:
    """assemble._saved: a write counts where torch could not see it, as ``exp_`` saves its own
    result."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with gv.record() as rec:
        h = w * 1
        h.exp_()
    assert saved_states(rec, "ExpBackward0") == {SavedState.AVAILABLE}
    with gv.record() as rec:
        h = w * 1
        h.exp_()
        h.sum().backward()
    assert torch.equal(w.grad, w.exp())
    assert saved_states(rec, "ExpBackward0") == {SavedState.FREED}
    assert silent_faults(rec) == []


def writes_of(rec: gv.Recording, function: str) -> list[tuple[str, str]]:
    """(values before, values after) of what a call wrote."""
    graph = rec.graph
    (call,) = (c for c in graph.calls if c.function == function)
    return [
        (graph.tensor[e.before_id].values, graph.tensor[e.after_id].values)
        for e in graph.events
        if isinstance(e, Wrote) and e.call_id == call.id
    ]


def test_a_write_that_counts_no_version_is_an_event() -> None:
    """recorder._writes: a tensor of inference_mode has no version, and batch_norm moves none."""
    with gv.record() as rec, torch.inference_mode():
        x = torch.ones(3)
        before = x.tolist()
        x.mul_(2)
    assert (before, x.tolist()) == ([1, 1, 1], [2, 2, 2])
    assert writes_of(rec, "mul_") == [("[1, 1, 1]", "[2, 2, 2]")]

    norm = nn.BatchNorm1d(2)
    version = norm.running_mean._version
    with gv.record() as rec:
        norm(torch.tensor([[0.0, 10.0], [0.0, 30.0]]))
    assert norm.running_mean._version == version
    assert norm.running_mean.tolist() == [0, 2]
    mean, variance = writes_of(rec, "batch_norm")
    assert mean == ("[0, 0]", "[0, 2]")
    assert variance[0] == "[1, 1]"


# --- graphs as values -----------------------------------------------------------------------------


def test_graphs_of_one_size_are_equal_only_where_their_rows_are() -> None:
    """graph.Rows.__eq__: rows are compared, not counted."""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    total, mean = a.exp().sum(), a.exp().mean()
    one, other = capture(total, names={"a": a}), capture(mean, names={"a": a})
    assert len(one.nodes) == len(other.nodes)
    assert total.grad_fn.name() != mean.grad_fn.name()
    assert one.nodes != other.nodes
    assert one != other
    assert one == capture(total, names={"a": a})
    read_again = Graph.from_json(one.to_json())
    assert (one.nodes == read_again.nodes, read_again.nodes == one.nodes) == (True, True)
    assert (other.nodes == read_again.nodes, read_again.nodes == other.nodes) == (False, False)
    assert one.nodes != len(one.nodes)


def test_a_graph_shows_what_it_has() -> None:
    """graph.Graph.__repr__: fields that are empty are left out."""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    graph = capture(a.exp().sum(), names={"a": a})
    said = repr(graph)
    assert said.startswith("Graph(")
    assert f"{len(graph.nodes)} nodes, {len(graph.edges)} edges" in said
    assert len(graph.calls) == 0
    assert "calls" not in said
    assert repr(Graph()) == "Graph(empty)"


def test_neighbours_in_memory_share_none() -> None:
    """capture.shared_storages: blocks that touch are two, blocks that overlap by a byte are one."""
    memory = bytearray(48)
    first = torch.frombuffer(memory, dtype=torch.float32, count=4, offset=0)
    second = torch.frombuffer(memory, dtype=torch.float32, count=4, offset=16)
    both = torch.frombuffer(memory, dtype=torch.float32, count=8, offset=16)
    ends = [t.untyped_storage().data_ptr() for t in (first, second)]
    assert ends[0] + first.untyped_storage().nbytes() == ends[1]
    first.fill_(7)
    assert not second.any()
    second.fill_(3)
    assert both[0] == 3
    assert shared_storages([first, second])[0] == [0, 1]
    assert shared_storages([first, second, both])[0] == [0, 1, 1]


# --- frames ---------------------------------------------------------------------------------------


def frames_of(rec: gv.Recording) -> dict[str, set[str]]:
    drawn = scene(rec.graph)
    return {box.kind: {drawn.cards[i].name for i in box.members} for box in drawn.boxes}


def notes_of(rec: gv.Recording) -> dict[str, list[str]]:
    return {
        card.name: [r.text for r in card.rows if "made under" in r.text]
        for card in scene(rec.graph).cards
    }


def test_a_region_that_would_cut_through_a_memory_frame_is_said_in_words() -> None:
    """frames.boxes: frames are nested or apart."""
    with gv.record() as rec:
        a = torch.ones(2, requires_grad=True)
        with torch.no_grad():
            x = a.detach()
            y = x * 2
    assert x.data_ptr() == a.data_ptr() != y.data_ptr()
    assert frames_of(rec) == {"memory": {"a", "x"}}
    said = notes_of(rec)
    assert said["x"] == said["y"] == ["made under no_grad"]
    assert said["a"] == []


def test_one_memory_frame_that_is_crossed_is_enough() -> None:
    """frames.boxes: every frame near the region must be nested, not just one of them."""
    with gv.record() as rec:
        a = torch.ones(2, requires_grad=True)
        with torch.no_grad():
            x = a.detach()
            y = a * 2
            z = y[1:]
    assert x.data_ptr() == a.data_ptr()
    assert z.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
    drawn = scene(rec.graph)
    members = [(box.kind, [drawn.cards[i].name for i in box.members]) for box in drawn.boxes]
    assert members == [("memory", ["a", "x"]), ("memory", ["y", "z"])]
    assert {name for name, said in notes_of(rec).items() if said} == {"x", "y", "z"}


def test_a_region_may_hold_a_memory_frame_or_stand_in_one() -> None:
    """frames.boxes: nested either way."""
    with gv.record() as rec:
        a = torch.ones(2, requires_grad=True)
        with torch.no_grad():
            y = a * 2
            z = y[1:]
            u = z + 1
    assert u is not None
    assert frames_of(rec) == {"memory": {"y", "z"}, "region": {"y", "z", "u"}}
    with gv.record() as rec:
        a = torch.ones(2, requires_grad=True)
        with torch.no_grad():
            x = a.detach()
    assert x is not None
    assert frames_of(rec) == {"memory": {"a", "x"}, "region": {"x"}}
    assert not any(notes_of(rec).values())


# --- threads --------------------------------------------------------------------------------------


def test_a_backward_of_another_thread_over_the_same_nodes_is_not_taken_for_ours() -> None:
    """backward._mine: the hooks of a watched run see every thread's gradients."""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    others: list[torch.Tensor] = []

    def run_another(gradient: torch.Tensor) -> None:
        thread = threading.Thread(
            target=lambda: others.extend(torch.autograd.grad(h.sum() * 50, [a], retain_graph=True))
        )
        thread.start()
        thread.join()

    with gv.record() as rec:
        h = a * 2
        z = h * 3
        z.register_hook(run_another)
        z.sum().backward()
    assert torch.equal(others[0], torch.full((2,), 100.0))
    assert torch.equal(a.grad, torch.full((2,), 6.0))
    (run,) = rec.graph.backwards
    assert len(run.ran) == len(set(run.ran)) == 4
    events = [e for e in rec.graph.events if isinstance(e, NodeRan)]
    assert [e.node_id for e in events] == list(run.ran)
    assert {e.thread for e in events} == {0}
    arrived = {
        rec.graph.node[e.node_id].name: e.arrived
        for e in events
        if rec.graph.node[e.node_id].leaf_id is not None
    }
    assert arrived == {"AccumulateGrad": ("[6, 6]",)}


# --- answers --------------------------------------------------------------------------------------


def test_a_write_before_the_snapshot_was_taken_did_not_make_it_follow() -> None:
    """silent.followed: only what was written afterwards counts."""
    w = nn.Parameter(torch.ones(2))
    with gv.record() as rec:
        with torch.no_grad():
            w.mul_(2)
        old = w.detach()
    before = old.clone()
    assert torch.equal(old, before)
    assert [fault.cause for fault in silent_faults(rec, tensors={"old": old})] == []
    with gv.record() as rec:
        old = w.detach()
        with torch.no_grad():
            w.mul_(2)
    assert not torch.equal(old, before)
    assert [fault.cause for fault in silent_faults(rec, tensors={"old": old})] == [
        "shared_snapshot"
    ]


LOSSES = {
    "fine": lambda w: w * 2,
    "sqrt": torch.sqrt,  # its derivative at 0 is inf
    "pow": lambda w: w.pow(0.5),
    "lost": lambda w: w * math.nan,
}


@pytest.mark.parametrize(
    ("kinds", "says"),
    [
        (("sqrt", "pow"), "PowBackward0 got"),
        (("pow", "sqrt"), "SqrtBackward0 got"),
        (("sqrt", "fine"), "in backward 1 of 2: SqrtBackward0 got"),
        (("fine", "sqrt", "fine"), "in backward 2 of 3: SqrtBackward0 got"),
        (("sqrt", "lost"), "in backward 1 of 2: SqrtBackward0 got"),
        (("sqrt", "pow", "lost"), "in backward 1 of 3: SqrtBackward0 got"),
        (("pow", "sqrt", "fine"), "in backward 1 of 3: PowBackward0 got"),
    ],
    ids=" ".join,
)
def test_the_backward_that_broke_the_gradient_is_the_one_that_is_told(
    kinds: tuple[str, ...], says: str
) -> None:
    """small.broken: the last one where it broke, else the first that did."""
    w = nn.Parameter(torch.zeros(2))
    with gv.record() as rec:
        for kind in kinds:
            LOSSES[kind](w).sum().backward()
    assert not torch.isfinite(w.grad).any()
    found = explain_small({"w": w}, rec)
    *which, made = says.split(": ")  # before it stands what its input was
    assert found.why.startswith(": ".join(which)), found.why
    assert f": {made}" in found.why, found.why


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_parameter_listed_twice_is_stepped_twice(times: int) -> None:
    """moving.trial: the second step takes back what the first one did."""
    p = nn.Parameter(torch.tensor([1.0, -3.0]))
    p.grad = torch.zeros(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # p - 1 * (0 + 2 * p) = -p
        optimizer = torch.optim.SGD([p] * times, lr=1.0, weight_decay=2.0)
    (row,) = will_it_move(optimizer, {"p": p}).rows
    before = p.detach().clone()
    optimizer.step()
    assert torch.equal(p, before) == (times == 2)
    assert row.verdict == ("stays" if times == 2 else "moves")


UNSEEN_WRITES = {
    "x.data": (lambda x: x.data.mul_(3), "a write through .data"),
    "its memory in numpy": (
        lambda x: torch.from_numpy(x.detach().numpy()).mul_(3),
        "mul_() through an alias",
    ),
}


@pytest.mark.parametrize(("write", "way"), UNSEEN_WRITES.values(), ids=UNSEEN_WRITES)
def test_it_says_by_what_way_a_write_went_unseen(
    write: Callable[[torch.Tensor], object], way: str
) -> None:
    """silent.wrong."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    version = x._version
    with gv.record() as rec:
        loss = (x**2).sum()
        write(x)
        loss.backward()
    assert x._version == version
    assert torch.equal(x.grad, torch.tensor([6.0, 12.0]))  # not the [2, 4] of the forward
    (fault,) = silent_faults(rec, tensors={"x": x})
    assert fault.cause == "overwritten"
    assert f"; {way} moves no version" in fault.why


def test_a_backward_that_ran_nothing_takes_no_measurement_away() -> None:
    """measured.Measured: the last backward that ran is the one that filled the gradients."""
    torch.manual_seed(0)
    layers = [one for _ in range(12) for one in (nn.Linear(8, 8), nn.Sigmoid())]
    net = nn.Sequential(*layers)
    with gv.record() as rec:
        net(torch.randn(1, 8)).mean().backward()
        before = [p.grad.clone() for p in net.parameters()]
        with pytest.raises(RuntimeError, match="does not require grad"):
            torch.ones(2).sum().backward()
    assert all(map(torch.equal, before, (p.grad for p in net.parameters())))
    assert [bool(b.ran) for b in rec.graph.backwards] == [True, False]
    found = explain_small(dict(net.named_parameters()), rec)
    assert found.cause == "vanishing"
    assert "measured: SigmoidBackward0 ×0.2" in found.why


def test_what_was_also_read_was_not_only_copied() -> None:
    """gradient.unused: every reader has to be a copy."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with gv.record() as rec:
        copied = copy.deepcopy(w)
        loss = copied.exp().sum()
        loss.backward()
    assert w.grad is None
    assert "it was only copied" in rec.explain(w).verdict
    with gv.record() as rec:
        copied = copy.deepcopy(w)
        also = w * 3
        loss = copied.exp().sum()
        loss.backward()
    assert w.grad is None
    assert torch.autograd.grad(also.sum(), w)[0].tolist() == [3, 3]
    assert "it was only copied" not in rec.explain(w).verdict


def test_what_a_copy_was_noted_beside_is_no_part_of_it() -> None:
    """recorder._read: copy.deepcopy hands its notes on, which hold all that was copied so far."""
    pair = {"w": torch.ones(2, requires_grad=True), "mean": torch.zeros(2)}
    with gv.record() as rec:
        copied = copy.deepcopy(pair)
        loss = (copied["mean"] + 1).sum() * torch.ones(1, requires_grad=True).sum()
        loss.backward()
    calls = [call for call in rec.graph.calls if call.function == "__deepcopy__"]
    assert [len(call.inputs) for call in calls] == [1, 1]
    assert rec.explain(pair["w"], loss).cause == "not_in_loss"


def test_a_number_in_the_middle_of_a_line_is_followed() -> None:
    """paths.reader_of: the number has no name there, but its code stands within the code of its
    reader."""
    a, b = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    with gv.record() as rec:
        loss = (b * a.sum().item()).sum()
        loss.backward()
    assert a.grad is None
    assert b.grad.tolist() == [a.sum().item()] * 2
    found = rec.explain(a)
    assert found.cause == "rebuilt_from_value"
    assert "b * a.sum().item() came from a.sum().item()" in found.why


def test_modules_without_a_name_are_told_apart() -> None:
    """entry._apart: each gets another name, none takes the place of another."""
    nets = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    loss = nets[1](torch.ones(2)).sum()
    loss.backward()
    assert [net.weight.grad is None for net in nets] == [True, False, True]
    said = str(gv.explain(*iter(nets), loss))
    assert "Linear: 0 of 2 parameters reached · Linear 2: 2 of 2 · Linear 3: 0 of 2" in said
