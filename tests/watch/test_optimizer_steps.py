"""What an optimizer does is noted the quick way, and comes to the same as the general way."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from test_usual_calls import numbered
from torch import nn

import gradviz as gv
from gradviz.graph.records import NoteKind
from gradviz.watch import torch_private
from gradviz.watch.norms import norm
from gradviz.watch.recorder import Recorder
from gradviz.watch.steps import Steps

OPTIMIZERS: dict[str, Callable[[list[Any]], torch.optim.Optimizer]] = {
    "SGD": lambda p: torch.optim.SGD(p, 0.1),
    "SGD, momentum": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01),
    "SGD, foreach": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, foreach=True),
    "Adam": lambda p: torch.optim.Adam(p),
    "Adam, all of it": lambda p: torch.optim.Adam(p, amsgrad=True, weight_decay=0.1, maximize=True),
    "Adam, tensor": lambda p: torch.optim.Adam(p, lr=torch.tensor(0.01)),
    "AdamW, foreach": lambda p: torch.optim.AdamW(p, foreach=True),
    "AdamW, groups": lambda p: torch.optim.AdamW([{"params": p[:1]}, {"params": p[1:], "lr": 0.1}]),
    "Adam, fused": lambda p: torch.optim.Adam(p, fused=True),
    "RMSprop": lambda p: torch.optim.RMSprop(p, momentum=0.5, centered=True),
    "Rprop": lambda p: torch.optim.Rprop(p),
    "LBFGS": lambda p: torch.optim.LBFGS(p, max_iter=3),
}


def trained(make: Callable[[list[Any]], torch.optim.Optimizer], width: int) -> gv.Recording:
    """Three steps of a small net; what the optimizer holds is read and written in between."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, width), nn.Tanh(), nn.Linear(width, 1))
    x = torch.randn(5, 3)
    with gv.record() as rec:
        optimizer = make(list(net.parameters()))

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            loss = net(x).pow(2).mean()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.1)
            return loss

        for step in range(3):
            optimizer.step(closure)
            if step == 1:
                held = [v for v in optimizer.state[net[0].weight].values() if torch.is_tensor(v)]
                for value in held:
                    value.view(-1).mul_(0.5)
                    value + 1
                gradient = net[0].weight.grad
                gradient.view(-1).mul_(0.5)
                gradient * 2
    return rec


@pytest.mark.parametrize("width", [2, 20])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_quick_way_and_the_general_way_give_the_same_graph(name, width, monkeypatch):
    quiet: list[bool] = []
    is_quiet = Steps.is_quiet

    def counted(*given: Any) -> bool:
        quiet.append(is_quiet(*given))
        return quiet[-1]

    with monkeypatch.context() as patch:
        patch.setattr(Steps, "is_quiet", counted)
        quick = trained(OPTIMIZERS[name], width)
    with monkeypatch.context() as patch:
        patch.setattr(Steps, "look", lambda *_: None)
        patch.setattr(Recorder, "_wrote_alone", lambda *_: False)
        general = trained(OPTIMIZERS[name], width)
    assert not quick.notes
    assert numbered(quick.graph).to_json() == numbered(general.graph).to_json()
    assert sum(quiet) > 5 or name in ("SGD", "SGD, foreach", "Adam, fused")


def test_a_quiet_call_that_raises_is_recorded():
    weight = nn.Parameter(torch.ones(3, 3))
    other = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.Adam([other, weight])
    other.grad, weight.grad = torch.ones(2), torch.ones(3, 3)
    optimizer.step()
    optimizer.state[weight]["exp_avg_sq"] = torch.ones(4)
    with gv.record() as rec, pytest.raises(RuntimeError, match="size"):
        optimizer.step()
    raised = [e for e in rec.graph.events if type(e).__name__ == "Raised"]
    assert [rec.graph.calls[e.call_id].function for e in raised] == ["addcmul_"]
    assert rec.graph.calls[raised[0].call_id].bookkeeping


def marks() -> Iterator[torch_private.Mark]:
    frame = sys._getframe(1)
    while frame is not None:
        if type(frame.f_trace) is torch_private.Mark:
            yield frame.f_trace
        frame = frame.f_back


def test_no_mark_stays_on_a_step_that_outlives_the_recording():
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.LBFGS([weight], max_iter=4, tolerance_grad=0, tolerance_change=0)
    rec = gv.record()
    found: list[tuple[int, int]] = []

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = (weight - torch.arange(3.0)).pow(4).sum()
        loss.backward()
        if len(found) == 1:
            before = len(list(marks()))
            rec.__exit__(None, None, None)
            found.append((before, len(list(marks()))))
        else:
            found.append((-1, len(list(marks()))))
        return loss

    rec.__enter__()
    optimizer.step(closure)
    assert found[1] == (1, 0)
    assert all(left == 0 for _, left in found[2:])


def test_a_custom_function_inside_of_a_step_stays_one_call():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.mul(2)

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return grad * 2

    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.LBFGS([weight], max_iter=3)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = Double.apply(weight).sum()
        loss.backward()
        return loss

    with gv.record() as rec:
        optimizer.step(closure)
    calls = [c.function for c in rec.graph.calls]
    assert "Double.apply" in calls
    assert "mul" not in [c.function for c in rec.graph.calls if not c.bookkeeping]


# --- norms ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-45, 1e-30, 1e-16, 1e-3, 1e18, 1e30])
@pytest.mark.parametrize("count", [9, 64, 65, 129, 5000])
def test_a_norm_is_right_where_float32_holds_no_squares(size, count):
    grad = torch.linspace(-1, 1, count) * size
    assert norm(grad) == pytest.approx(grad.double().norm().item(), rel=1e-6, abs=0)


def test_a_sparse_gradient_has_no_norm():
    for places, shape in (([[1, 1]], (20,)), ([[1, 1], [2, 2]], (20, 20))):
        twice = torch.sparse_coo_tensor(places, [3.0, 4.0], shape, check_invariants=True)
        assert norm(twice) is None


def test_a_norm_of_few_is_inf_or_nan_if_and_only_if_it_holds_such():
    few = torch.zeros(20)
    assert norm(few) == 0
    few[3] = math.inf
    assert norm(few) == math.inf
    few[4] = math.nan
    assert math.isnan(norm(few) or 0)


def backward_of_large_ones() -> None:
    """A backward in which no gradient has few elements."""
    w = torch.ones(5, 5, requires_grad=True)
    h = torch.tanh(torch.ones(4, 5) @ w)
    (h * 2 + h).backward(torch.ones(4, 5))


@pytest.mark.parametrize("values", [False, True])
def test_on_another_device_nothing_waits_for_a_node(values, monkeypatch):
    """Nothing says that it lies on the CPU here, so everything is read as from another device."""
    asked: list[str] = []

    def counting(name: str) -> Callable[..., Any]:
        plain = getattr(torch.Tensor, name)

        def counted(self: torch.Tensor, *given: Any) -> Any:
            asked.append(name)
            return plain(self, *given)

        return counted

    for name in ("item", "tolist", "numpy", "__bool__", "__float__", "__int__", "cpu"):
        monkeypatch.setattr(torch.Tensor, name, counting(name))
    monkeypatch.setattr(torch.Tensor, "is_cpu", property(lambda _: False))
    with gv.record(values=values) as rec:
        backward_of_large_ones()
    monkeypatch.undo()
    assert asked == (["tolist"] if values else [])
    ran = [e for e in rec.graph.events if type(e).__name__ == "NodeRan"]
    assert len(ran) == 5
    assert all(any(e.arrived_norms) is values for e in ran)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("values", [False, True])
def test_on_cuda_nothing_waits_for_a_node(values):
    with torch.device("cuda"):
        backward_of_large_ones()  # warm up
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("default" if values else "error")
        try:
            with gv.record(values=values) as rec:
                backward_of_large_ones()
        finally:
            torch.cuda.set_sync_debug_mode("default")
    ran = [e for e in rec.graph.events if type(e).__name__ == "NodeRan"]
    assert len(ran) == 5
    assert all(any(e.arrived_norms) is values for e in ran)


@pytest.mark.parametrize("kept", [1, 20, 21, 22, 23, 24, 25, 90])
def test_a_full_log_counts_what_it_drops(kept: int) -> None:
    """A write of an optimizer is one entry of the log and two events: both count."""

    def loop(**limit: int) -> gv.Recording:
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        with gv.record(**limit) as rec:
            for _ in range(3):
                optimizer.zero_grad()
                net(torch.ones(2, 3)).sum().backward()
                optimizer.step()
        return rec

    everything, rest = loop().graph, loop(max_events=kept).graph
    assert len(rest.events) <= kept
    (note,) = [note for note in rest.notes if note.kind is NoteKind.DROPPED]
    dropped = dict(note.fields)["dropped"]
    assert len(everything.events) - kept <= dropped <= len(everything.events) - len(rest.events)
