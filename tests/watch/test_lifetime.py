"""What is recorded outlives the user's tensors and keeps none of them alive. No test here calls the
collector first."""

from __future__ import annotations

import gc
import sys
import weakref
from contextlib import nullcontext
from typing import Any

import programs
import pytest
import torch
from torch import nn

import gradviz as gv
from gradviz.graph.records import NoteKind

pytestmark = pytest.mark.dear(6)


@pytest.fixture(autouse=True)
def _no_collector():
    """Memory must come back by reference counts alone."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Watched:
    """Weak references to every tensor handed to it."""

    def __init__(self):
        self.references = {}

    def __call__(self, tensor, name):
        self.references[name] = weakref.ref(tensor)
        return tensor

    def alive(self):
        return sorted(
            name for name, reference in self.references.items() if reference() is not None
        )


def held(rec):
    """Everything that a reader may hold of a recording."""
    return rec, rec.graph, rec.cuts, rec.events, rec.at(2)


def test_deleted_inside_and_after_the_block():
    watch = Watched()
    with gv.record() as rec:
        a = watch(torch.ones(3, requires_grad=True), "a")
        b = watch(a * 2, "b")
        c = watch(b.detach(), "c")
        v = watch(b[0:2], "v")
        del c
        assert watch.alive() == ["a", "b", "v"]
        del b
        assert "b" in watch.alive(), "its view holds its base"
        del v
        assert watch.alive() == ["a"]
    kept = held(rec)
    del a
    assert watch.alive() == []
    assert len(kept[1].calls) >= 4


def test_after_a_backward():
    watch = Watched()
    with gv.record() as rec:
        a = watch(torch.ones(3, requires_grad=True), "a")
        h = watch(a.exp(), "h")
        loss = watch((h * h).sum(), "loss")
        loss.backward()
        grad = watch(a.grad, "grad")
    kept = held(rec)
    del a, h, loss, grad
    assert watch.alive() == []
    assert len(kept[1].backwards) == 1


def test_a_graph_that_was_never_freed():
    watch = Watched()
    with gv.record() as rec:
        a = watch(torch.ones(3, requires_grad=True), "a")
        h = watch(a.exp(), "h")
        loss = watch((h * h).sum(), "loss")
    kept = held(rec)
    del a, h, loss
    assert watch.alive() == []
    assert kept[1].nodes


def test_rebinding_names_in_a_loop():
    watch = Watched()
    with gv.record() as rec:
        a = torch.ones(3, requires_grad=True)
        for i in range(5):
            h = watch(a.detach() * i, i)
            assert watch.alive() == [i]
    kept = held(rec)
    del h
    assert watch.alive() == []
    assert kept[1].calls


def test_a_chain_of_hidden_states():
    watch = Watched()
    w = torch.ones(3, requires_grad=True)
    h = torch.zeros(3)
    with gv.record() as rec:
        for i in range(4):
            h = watch(torch.tanh(h + w), i)
            h.sum().backward()
            h = watch(h.detach(), f"detached {i}")
        del h
    kept = held(rec)
    assert watch.alive() == []
    assert len(kept[0].graph.backwards) == 4


def test_inside_functions_and_closures():
    watch = Watched()

    def outer():
        a = watch(torch.ones(3, requires_grad=True), "a")

        def inner():
            b = watch(a * 2, "b")
            return watch(b + a, "c")

        return inner().sum()

    with gv.record() as rec:
        total = outer()
        del total
        assert watch.alive() == []
    assert rec.graph.calls


def test_an_exception_in_the_block():
    watch = Watched()

    def fail():
        with gv.record() as rec:
            held.append(rec)
            a = watch(torch.ones(3, requires_grad=True), "a")
            b = watch(a * 2, "b")
            return b @ torch.ones(4)

    held = []
    with pytest.raises(RuntimeError, match="size"):
        fail()
    (rec,) = held
    sys.last_exc = None
    assert watch.alive() == []
    assert any(type(e).__name__ == "Raised" for e in rec.events)


def test_an_exception_of_a_backward():
    watch = Watched()

    def fail(recordings):
        with gv.record() as rec:
            recordings.append(rec)
            a = watch(torch.ones(3, requires_grad=True), "a")
            b = watch(a.exp(), "b")
            b.add_(1)
            b.sum().backward()

    recordings = []
    with pytest.raises(RuntimeError, match="inplace"):
        fail(recordings)
    assert watch.alive() == []
    assert recordings[0].graph.nodes


def test_a_model_with_its_optimizer():
    watch = Watched()
    with gv.record() as rec:
        model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.BatchNorm1d(3))
        for name, p in model.named_parameters():
            watch(p, name)
        del p
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        x = watch(torch.ones(2, 3), "x")
        y = watch(model(x), "y")
        y.sum().backward()
        optimizer.step()
        del y
        assert "y" not in watch.alive()
    kept = held(rec)
    reference = weakref.ref(model)
    del model, optimizer, x
    assert kept[1].tensors
    # torch keeps optimizer and parameters in cycles of its own: they need the collector
    if watch.alive():
        gc.collect()
    assert (watch.alive(), reference()) == ([], None)


def test_an_optimizer_step_keeps_no_more_than_without_a_recording():
    def parameters_alive(recorder):
        watch = Watched()
        with recorder() as rec:
            p = watch(torch.ones(3, requires_grad=True), "p")
            optimizer = torch.optim.Adam([p], lr=0.1)
            (p * 2).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        del p, optimizer
        return watch.alive(), rec

    assert parameters_alive(gv.record)[0] == parameters_alive(nullcontext)[0]


def test_custom_functions_checkpoint_and_hooks():
    # The first checkpoint of a process imports more of torch, in frames that stay for the collector.
    first = torch.ones(3, requires_grad=True)
    torch.utils.checkpoint.checkpoint(programs.wave, first, use_reentrant=False)
    watch = Watched()
    with gv.record() as rec:
        a = watch(torch.ones(3, requires_grad=True), "a")
        s = watch(programs.Square.apply(a), "s")
        c = watch(torch.utils.checkpoint.checkpoint(programs.wave, s, use_reentrant=False), "c")
        c.register_hook(lambda g: g * 2)
        c.retain_grad()
        c.sum().backward()
    kept = held(rec)
    del a, s, c
    assert watch.alive() == []
    assert kept[1].nodes


def test_numpy_and_data_aliases():
    watch = Watched()
    with gv.record() as rec:
        a = watch(torch.ones(3, requires_grad=True), "a")
        d = watch(a.data, "d")
        n = d.numpy()
        t = watch(torch.from_numpy(n), "t")
        t.mul_(2)
    kept = held(rec)
    del a, d, n, t
    assert watch.alive() == []
    assert kept[1].calls


def test_tensors_older_than_the_recording():
    watch = Watched()
    a = watch(torch.ones(3, requires_grad=True), "a")
    h = watch(a * 2, "h")
    with gv.record() as rec:
        loss = watch((h * 3).sum(), "loss")
        loss.backward()
    kept = held(rec)
    del a, h, loss
    assert watch.alive() == []
    assert kept[1].nodes


def test_find_keeps_nothing():
    with gv.record() as rec:
        a = torch.ones(3, requires_grad=True)
        b = a * 2
    assert rec.find(b).shape == (3,)
    reference = weakref.ref(b)
    del b
    assert reference() is None
    assert rec.find(torch.ones(3)) is None, (
        "a new tensor, maybe at the same address, was never recorded"
    )
    assert rec.find(a).requires_grad is True


def test_storage_memory_comes_back():
    with gv.record() as rec:
        a = torch.ones(1000, requires_grad=True)
        storage = weakref.ref(a.untyped_storage())
        b = (a * 2).exp()
        b.sum().backward()
    kept = held(rec)
    del a, b
    assert storage() is None
    assert kept[1].storages


def test_a_figure_keeps_nothing():
    watch = Watched()
    with gv.record() as rec:
        a = watch(torch.ones(3, requires_grad=True), "a")
        h = watch(a.exp(), "h")
        loss = watch((h * h.detach()).sum(), "loss")
        loss.backward()
    figure = rec.figure()
    bundle, shown = figure._repr_mimebundle_(), gv.show(loss)
    drawn = shown._repr_mimebundle_()
    del a, h, loss
    assert watch.alive() == []
    assert "text/plain" in str(bundle)
    assert "text/plain" in str(drawn)
    del rec, figure, shown  # held until here


def test_a_figure_drawn_inside_the_block_keeps_nothing():
    watch = Watched()
    with gv.record() as rec:
        a = watch(torch.ones(3, requires_grad=True), "a")
        h = watch(a.exp(), "h")
        inside = rec.graph
        h = watch(h * 2, "h2")
        figure = gv.show(h)
        del h
        assert watch.alive() == ["a"]
    del a
    assert watch.alive() == []
    assert len(inside.calls) < len(rec.graph.calls)
    assert figure


# bounded recordings -------------------------------------------------------------------------------


def test_the_oldest_events_are_dropped_and_that_is_said():
    with gv.record(max_events=20) as rec:
        a = torch.ones(3, requires_grad=True)
        h = a
        for _ in range(100):
            h = h * 1.5
        last = h.detach()
    graph = rec.graph
    assert len(rec.events) <= 20
    (note,) = graph.notes
    assert note.kind is NoteKind.DROPPED
    assert "at most 20 " in rec.notes[0]
    (cut,) = graph.cuts
    assert graph.tensor[cut.output_id].object_id == rec.find(last).object_id, (
        "the newest events are kept"
    )
    assert len(graph.calls) <= 20


def test_nothing_is_said_where_nothing_was_dropped():
    with gv.record(max_events=20) as rec:
        torch.ones(3, requires_grad=True) * 2
    assert rec.notes == ()


def test_a_bounded_recording_still_knows_its_backward():
    with gv.record(max_events=50) as rec:
        a = torch.ones(3, requires_grad=True)
        for _ in range(50):
            a.grad = None
            (a * 2).sum().backward()
    graph = rec.graph
    assert graph.backwards
    assert next(graph.node[i].name for i in graph.backwards[-1].ran) == "SumBackward0"
    assert rec.find(a).grad in (None, "[2, 2, 2]")
    assert graph == type(graph).from_json(graph.to_json())


def resident_bytes():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_does_not_grow_over_a_long_loop():
    def work(n, h, a):
        for _ in range(n):
            h = (h * 0.5 + a).detach()
        return h

    a, h = torch.ones(3, requires_grad=True), torch.zeros(3)
    with gv.record(max_events=200) as rec:
        h = work(1500, h, a)
        objects = len(gc.get_objects())
        grown = []
        for _ in range(3):
            before = resident_bytes()
            h = work(3000, h, a)
            grown.append(resident_bytes() - before)
        more = len(gc.get_objects()) - objects
    assert more < 2000, "objects that Python tracks"
    # What is kept for each step grows in every round; what else the process does may fall into one of them.
    assert min(grown) < 4 * 2**20, grown
    assert len(rec.events) <= 200


def test_a_growing_graph_recorded_with_a_bound_lets_go_of_its_records():
    with gv.record(max_events=200) as rec:
        a = torch.ones(3, requires_grad=True)
        h = a
        for _ in range(2000):
            h = h * 1.0
        objects = len(gc.get_objects())
        for _ in range(4000):
            h = h * 1.0
        assert len(gc.get_objects()) - objects < 4 * 4000, (
            "torch keeps a wrapper a node; records are few"
        )
    assert len(rec.graph.calls) <= 200


def test_a_recording_that_begins_in_a_hook_says_that_it_was_switched_off_there() -> None:
    a = torch.ones(2, requires_grad=True)
    box: list[Any] = []
    b = a * 2
    b.register_hook(lambda g: box.append(gv.record().__enter__()))
    b.sum().backward()
    after = a * 3
    box[0].__exit__(None, None, None)
    assert after.requires_grad
    (note,) = box[0].notes
    assert "began inside a backward" in note


def test_a_recording_that_a_hook_begins_and_ends_is_whole() -> None:
    a = torch.ones(2, requires_grad=True)
    box: list[Any] = []

    def hook(g: torch.Tensor) -> None:
        with gv.record() as rec:
            box.append(g * 2)
        box.append(rec)

    b = a * 2
    b.register_hook(hook)
    b.sum().backward()
    assert not box[1].graph.notes
    assert [call.function for call in box[1].graph.calls] == ["mul"]
