"""What a change of the code could break without any other test noticing: found by changing the code
on purpose.

Each test fails under the mutation that its comment names. PyTorch says what is right wherever it
can.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import nn

import gradviz as gv
from gradviz.graph.records import Graph, NodeRan, SavedState
from gradviz.picture.cards import scene
from gradviz.watch.capture import capture, shared_storages
from gradviz.why.moving import will_it_move
from gradviz.why.silent import silent_faults
from gradviz.why.small import explain_small

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
    assert found.why.startswith(says), found.why


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
