"""Walking: order, limits, what is left in the graph, and that memory comes back."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest
import torch

from gradviz.watch import walk as walking
from gradviz.watch.walk import guard_new, serial, walk


@pytest.fixture
def x():
    return torch.ones(3, requires_grad=True)


def chain(x, length):
    for _ in range(length):
        x = x * 1.0
    return x


def guarded(nodes):
    return [i for i, node in enumerate(nodes) if walking._GUARD in node.metadata]


def test_breadth_first_slots_in_order_each_node_once(x):
    found = walk([((x * x).sin() + (x * 2).cos()).grad_fn])
    assert [n.name().split(":")[-1] for n in found.nodes] == [
        "AddBackward0",
        "SinBackward0",
        "CosBackward0",
        "MulBackward0",
        "MulBackward0",
        "AccumulateGrad",
    ]
    assert [
        [(None if c is None else found.index[c], nr) for c, nr in slots] for slots in found.next
    ] == [
        [(1, 0), (2, 0)],
        [(3, 0)],
        [(4, 0)],
        [(5, 0), (5, 0)],
        [(5, 0), (None, 0)],
        [],
    ]
    assert not found.truncated


def test_several_roots_and_duplicates(x):
    a, b = x * 2, x * 3
    found = walk([a.grad_fn, b.grad_fn, a.grad_fn])
    assert len(found.nodes) == 3
    assert found.nodes[:2] == [a.grad_fn, b.grad_fn]


def test_limit_reads_the_nearest(x):
    found = walk([chain(x, 10).grad_fn], limit=4)
    assert len(found.nodes) == len(found.next) == 4
    assert found.truncated
    assert not walk([chain(x, 3).grad_fn], limit=4).truncated


def test_no_path_without_a_guard_is_longer_than_a_block(x):
    # numbers go on from the tests before, so every position of the end within a block is tried
    for length in range(600, 600 + walking.BLOCK):
        found = walk([chain(x, length).grad_fn])
        at = guarded(found.nodes)
        starts = [0, *(i + 1 for i in at)]  # the edges out of a guarded node are guarded
        paths = [b - a for a, b in zip(starts, [*(i + 1 for i in at), length], strict=True)]
        assert max(paths) <= walking.BLOCK
        assert len(at) <= length // walking.BLOCK + 1
        assert len(found.nodes) == length + 1  # and the AccumulateGrad, which has no number


def test_a_second_walk_adds_nothing(x):
    top = chain(x, 2_000)
    at = guarded(walk([top.grad_fn]).nodes)
    assert guarded(walk([top.grad_fn]).nodes) == at


def test_numbers_out_of_order_are_guarded(x):
    """A graph whose parts were made on two threads has two independent runs of numbers."""
    made = []
    thread = threading.Thread(target=lambda: made.append(chain(x, 3)))
    thread.start()
    thread.join()
    below = made[0]
    below.grad_fn._set_sequence_nr(10**6)
    top = below * 2
    walk([top.grad_fn])
    assert walking._GUARD in top.grad_fn.metadata


def test_a_guard_holds_only_what_its_node_holds(x):
    found = walk([chain(x, 1_000).grad_fn])
    for i in guarded(found.nodes):
        children = [child for child, _ in found.next[i] if child is not None]
        assert found.nodes[i].metadata[walking._GUARD].children == children


def test_memory_comes_back_without_the_collector(x):
    """Saved tensors are freed with their graph, whichever end is dropped first, through guards
    too."""

    class Save(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.box = Box()
            boxes.append(weakref.ref(ctx.box))
            return a * 1.0

        @staticmethod
        def backward(ctx, g):
            return g

    class Box:
        pass

    boxes = []
    gc.collect()
    gc.disable()
    try:
        h = x
        for _ in range(20):
            h = Save.apply(chain(h, 200))
        half = h
        for _ in range(20):
            h = Save.apply(chain(h, 200))
        walk([h.grad_fn])
        assert sum(box() is not None for box in boxes) == 40
        del h
        assert [box() is not None for box in boxes] == [True] * 20 + [False] * 20
        del half
        assert not any(box() is not None for box in boxes)
    finally:
        gc.enable()
    assert not walking._pending


def test_nothing_the_user_sees_changes(x):
    y = (chain(x, 600) ** 2).sum()
    before = torch.autograd.grad(y, x, retain_graph=True)[0]
    walk([y.grad_fn])
    guard_new(y.grad_fn)
    assert torch.equal(torch.autograd.grad(y, x)[0], before)
    assert x.grad is None
    assert x._version == 0


def test_serial_is_never_reused(x):
    seen = {serial((x * 2).grad_fn) for _ in range(100)}
    assert len(seen) == 100


def test_guard_new_knows_what_it_has_met(x):
    h, serials = x, []
    for _ in range(1_000):
        h = h * 1.0
        serials.append(guard_new(h.grad_fn, h.grad_fn.next_functions))
    assert serials == sorted(serials)
    nodes = walk([h.grad_fn]).nodes
    assert [guard_new(n) for n in nodes[:-1]] == serials[::-1]
    assert len(guarded(nodes)) in (1_000 // walking.BLOCK, 1_000 // walking.BLOCK + 1)
