"""A backward in which only torch's own nodes run is watched behind each node alone, and comes to the
same as with a hook before each."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from sampling import sampled
from test_usual_calls import BLOCK, PROGRAMS, filled_memory, in_programs, numbered
from torch import Tensor, nn

import gradviz as gv
from gradviz.graph.records import NodeRan
from gradviz.watch import backward
from gradviz.watch.backward import Watch, _Node

__all__ = ["filled_memory"]  # a fixture


def compared(run: Callable[[], gv.Recording], monkeypatch: pytest.MonkeyPatch) -> int:
    """Record with and without hooks before the nodes, and compare. Return how many backwards had
    none."""
    light: list[bool] = []
    is_torchs_own = Watch._is_torchs_own

    def counted(self: Watch) -> bool:
        light.append(is_torchs_own(self))
        return light[-1]

    recordings = []
    for way in (counted, lambda _: False):
        with monkeypatch.context() as patch:
            patch.setattr(Watch, "_is_torchs_own", way)
            recordings.append(run())
    quick, general = recordings
    assert numbered(quick.graph).to_json() == numbered(general.graph).to_json()
    return sum(light)


@pytest.mark.parametrize("first", sampled(range(0, PROGRAMS, BLOCK), 2))
@pytest.mark.usefixtures("filled_memory")
def test_random_programs(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = in_programs(first, lambda run: compared(run, monkeypatch))
    assert found > 5  # else this compares nothing


def fresh() -> Tensor:
    a = torch.ones(3, requires_grad=True)
    (a.exp() * a).sum().backward()
    return a


def added_up() -> Tensor:
    """The second run finds a ``.grad``."""
    a, w = torch.ones(3, requires_grad=True), torch.randn(12, 12, requires_grad=True)
    for _ in range(2):
        ((a * 2).sum() + (w @ w).sum()).backward()
    return a


def through_views() -> Tensor:
    a = torch.ones(4, requires_grad=True)
    b = a * 1
    b[1:].mul_(3)
    (b.sum() + b.unbind()[2]).backward()
    return a


def shared() -> Tensor:
    """One tensor is used twice, so its node gets a sum."""
    w = torch.randn(12, 12, requires_grad=True)
    h = w.tanh()
    (h * h + h).mean().backward(retain_graph=True)
    (h * 2).sum().backward()
    return w


def twice() -> Tensor:
    """A second derivative."""
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    (dx,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    dx.pow(2).sum().backward()
    return x


def some_of_it() -> Tensor:
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    torch.autograd.backward((a * b).sum(), inputs=[a])
    return b


@pytest.mark.parametrize("program", [fresh, added_up, through_views, shared, twice, some_of_it])
def test_the_same_is_seen(program: Callable[[], Tensor], monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> gv.Recording:
        torch.manual_seed(0)
        with gv.record() as rec:
            program()
        return rec

    assert compared(run, monkeypatch) == (program is not some_of_it) * (
        1 + (program in (added_up, shared))
    )


@pytest.mark.parametrize("broken", range(6))
def test_the_node_that_raised_is_found(broken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a graph with branches one saved tensor is written, each in turn: torch raises where it
    comes to it."""

    def run() -> gv.Recording:
        torch.manual_seed(0)
        a = torch.rand(3, requires_grad=True)
        with gv.record() as rec, contextlib.suppress(RuntimeError):
            left = [a.exp()]
            right = [(a * 2).sigmoid()]
            for _ in range(2):
                left.append(left[-1].tanh())
                right.append(right[-1].exp())
            loss = sum(left[1:]).sum() + (right[-1] * left[0]).sum() + right[1].sum()
            with torch.no_grad():
                (left + right)[broken].mul_(2)
            loss.backward()
        return rec

    assert compared(run, monkeypatch) == 1
    (backward,) = run().graph.backwards
    assert backward.raised_at is not None


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_what_anomaly_mode_refuses_is_not_laid_to_the_node_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run() -> gv.Recording:
        a = torch.ones(3, requires_grad=True)
        with gv.record() as rec, torch.autograd.detect_anomaly(), contextlib.suppress(RuntimeError):
            (a * 0 - 1).sqrt().sum().backward()
        return rec

    assert compared(run, monkeypatch) == 0
    (backward,) = run().graph.backwards
    assert backward.raised_at is None


def test_what_may_run_in_between_has_a_hook_before(monkeypatch: pytest.MonkeyPatch) -> None:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            return grad.mul_(2)

    def of_a_function() -> gv.Recording:
        with gv.record() as rec:
            a = torch.ones(12, requires_grad=True)
            (Twice.apply(a) * torch.arange(12)).sum().backward()
        return rec

    def of_a_hook() -> gv.Recording:
        with gv.record() as rec:
            a = torch.ones(12, requires_grad=True)
            b = a * 2
            b.register_hook(lambda grad: grad * 3)
            b.sum().backward()
        return rec

    assert compared(of_a_function, monkeypatch) == 0
    assert compared(of_a_hook, monkeypatch) == 0


def test_a_leaf_with_a_hook_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def double(parameter: Tensor) -> None:
        assert parameter.grad is not None
        parameter.grad.mul_(2)

    net = nn.Linear(3, 3)
    net.weight.register_post_accumulate_grad_hook(double)

    def run() -> gv.Recording:
        net.zero_grad()
        with gv.record() as rec:
            net(torch.ones(2, 3)).sum().backward()
        return rec

    assert compared(run, monkeypatch) == 1


def layers() -> Tensor:
    """A node that sends to two leaves, leaves to which one node alone sends, a weight used twice."""
    net = nn.Sequential(nn.Linear(6, 6), nn.LayerNorm(6), nn.Tanh(), nn.Linear(6, 6, bias=False))
    x = torch.randn(4, 6, requires_grad=True)
    net(net(x)).pow(2).mean().backward()
    return net(x)


def once_through() -> Tensor:
    """Each leaf has one node that sends there, as in most models; in the second run all are filled."""
    words, net = nn.Embedding(9, 12), nn.Sequential(nn.Linear(12, 12), nn.ReLU(), nn.Linear(12, 1))
    for _ in range(2):
        net(words(torch.tensor([[1, 2], [3, 3]])).mean(1)).sum().backward()
    return net[0].weight


def a_leaf_alone() -> Tensor:
    """A backward that starts at a leaf."""
    a = torch.ones(1, requires_grad=True)
    torch.autograd.backward([a, (a * 2).sum()])
    return a


def not_asked_any_more() -> Tensor:
    """A leaf that took part, and does not require a gradient when it would come."""
    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    loss = (a.exp() + b * 2).sum()
    a.requires_grad = False
    loss.backward()
    return b


def nothing_sent() -> Tensor:
    """What arrives at one of the leaves is no gradient: none was defined."""
    a, b = torch.ones(2, 3, requires_grad=True), torch.ones(3, requires_grad=True)
    value, _ = torch.cat([a, b[None]]).max(0)
    (value.sum() + torch.zeros(3).prod()).backward()
    return a


BARE = (layers, once_through, a_leaf_alone, not_asked_any_more, nothing_sent)


@pytest.mark.parametrize("program", BARE)
@pytest.mark.usefixtures("filled_memory")
def test_a_leaf_without_a_hook_is_seen(
    program: Callable[[], Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the same order, with the same numbers, as where each leaf has hooks."""

    def run() -> gv.Recording:
        torch.manual_seed(0)
        with gv.record() as rec:
            program()
        return rec

    assert compared(run, monkeypatch) == 1 + (program is once_through)


@pytest.mark.parametrize("at", ["first", "last"])
def test_a_leaf_is_filled_though_a_later_node_raises(
    at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run() -> gv.Recording:
        torch.manual_seed(0)
        with gv.record() as rec, contextlib.suppress(RuntimeError):
            a, b = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
            left, right = a.exp(), b.exp()
            with torch.no_grad():
                (left if at == "first" else right).mul_(2)
            (left.sum() + right.sum()).backward()
        filled.append((a.grad is not None, b.grad is not None))
        return rec

    filled: list[tuple[bool, bool]] = []
    assert compared(run, monkeypatch) == 1
    assert set(filled) == {(False, at == "first")}
    (backward,) = run().graph.backwards
    assert backward.raised_at is not None


@pytest.mark.parametrize("raises", [False, True])
def test_a_leaf_whose_node_has_a_hook_of_the_users(
    raises: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can ask for such a hook: it takes the gradient away, or raises before there is one."""
    a, b = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
    node = torch.autograd.graph.get_gradient_edge(a).node

    def taken(*_: object) -> None:
        a.grad = None

    def refused(*_: object) -> None:
        raise RuntimeError("not this one")

    if raises:
        node.register_prehook(refused)
    else:
        node.register_hook(taken)

    def run() -> gv.Recording:
        a.grad = b.grad = None
        with gv.record() as rec, contextlib.suppress(RuntimeError):
            (a.exp() + (b * 2).sin()).sum().backward()
        return rec

    (quick,) = run().graph.backwards
    monkeypatch.setattr(Watch, "_is_torchs_own", lambda _: False)
    (general,) = run().graph.backwards
    assert len(quick.ran) == len(general.ran)
    assert (quick.raised_at is not None) == raises


def rearranged() -> Tensor:
    w, x = torch.randn(12, 10, requires_grad=True), torch.randn(4, 10)
    h = nn.functional.linear(x, w).view(2, 2, 12).permute(2, 0, 1)
    h = h.reshape(3, 4, 4).transpose(0, 2).unsqueeze(0).squeeze(0).flatten()
    (h.expand(2, -1).sum(0).tanh() * torch.randn(48)).sum().backward()
    return w


def exchanged_behind() -> Tensor:
    """A hook of the user's behind a node that only rearranges sends other numbers."""
    w = torch.randn(10, 10, requires_grad=True)
    h = (w * 2).t()
    assert h.grad_fn is not None
    h.grad_fn.register_hook(lambda sent, _: (sent[0] * 3,))
    (h @ torch.randn(10, 10)).sum().backward()
    return w


def written_behind() -> Tensor:
    """A hook of the user's writes into what a node that only rearranges sends."""

    def write(sent: tuple[Tensor, ...], _: object) -> None:
        sent[0].mul_(3)

    w = torch.randn(10, 10, requires_grad=True)
    h = (w * 2).t()
    assert h.grad_fn is not None
    h.grad_fn.register_hook(write)
    (h @ torch.randn(10, 10)).sum().backward()
    return w


@pytest.mark.parametrize("program", [rearranged, exchanged_behind, written_behind])
def test_what_is_only_rearranged_keeps_its_norm(
    program: Callable[[], Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The norm that was read before is the one that would be read again."""

    def norms() -> list[float]:
        torch.manual_seed(0)
        with gv.record() as rec:
            program()
        ran = [event for event in rec.graph.events if isinstance(event, NodeRan)]
        found = [norm for one in ran for norm in (*one.arrived_norms, *one.sent_norms)]
        return [-1.0 if norm is None else float(norm) for norm in found]

    reading: list[int] = []
    as_arrived = _Node.as_arrived

    def counted(self: _Node, *given: Any) -> Any:
        found = as_arrived(self, *given)
        reading.append(found is not None)
        return found

    monkeypatch.setattr(_Node, "as_arrived", counted)
    quick = norms()
    assert any(reading) == (program is not exchanged_behind)
    monkeypatch.setattr(backward, "_REARRANGES", frozenset())
    again = norms()
    assert len([norm for norm in quick if norm > 0]) > 3
    assert quick == pytest.approx(again, rel=1e-3)
