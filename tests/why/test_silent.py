"""What goes wrong without an error is found, and what goes right is left alone. PyTorch says which
is which."""

from __future__ import annotations

import copy
import gc
import weakref

import pytest
import torch
from torch import nn

import gradviz as gv
from gradviz.why.answering.answer import silent_faults
from gradviz.why.survey.moving import will_it_move


def causes(recording: gv.Recording | None = None, **asked: dict) -> list[str]:
    return [fault.cause for fault in silent_faults(recording, **asked)]


def held(net: nn.Module, opt: torch.optim.Optimizer) -> dict[str, tuple[torch.Tensor, str]]:
    rows = {row.name: row for row in will_it_move(opt, net).rows}
    return {
        n: (p, rows[n].reason * (rows[n].verdict == "moves")) for n, p in net.named_parameters()
    }


def net_and_optimizer(**options: float) -> tuple[nn.Module, torch.optim.Optimizer]:
    net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
    return net, torch.optim.SGD(net.parameters(), lr=0.1, **options)


@pytest.mark.parametrize(
    ("write", "is_wrong"),
    [
        ("x.data += 1", True),
        ("x.data = x.data + 1", True),
        ("x.data[0] = 7", True),
        ("x.data += 0", False),
        ("", False),
    ],
)
def test_a_write_is_told_when_it_changed_the_gradient(write: str, is_wrong: bool) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with gv.record() as rec:
        loss = (x**2).sum()
        exec(write)
        loss.backward()
    assert is_wrong == (not torch.equal(x.grad, torch.tensor([2.0, 4.0])))
    assert causes(rec, tensors={"x": x}) == ["overwritten"] * is_wrong


def test_a_write_after_backward_is_no_fault_though_the_graph_is_retained() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with gv.record() as rec:
        loss = (x**2).sum()
        loss.backward(retain_graph=True)
        x.data += 1
    assert causes(rec, tensors={"x": x}) == []


def test_an_overwritten_tensor_behind_another_leaf_does_not_concern_this_one() -> None:
    x, y = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    with gv.record() as rec:
        loss = (x**2).sum() + (y**2).sum()
        x.data += 1
        loss.backward()
    assert causes(rec, tensors={"x": x}) == ["overwritten"]
    assert causes(rec, tensors={"y": y}) == []


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW])
@pytest.mark.parametrize("between", [True, False])
def test_a_fused_step(kind: type[torch.optim.Optimizer], between: bool) -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = kind(net.parameters(), lr=0.5, fused=True)  # type: ignore[call-arg]
    x = torch.randn(4, 3)
    with gv.record() as rec:
        out = net(x)
        out.mean().backward(retain_graph=True)
        opt.step()
        out = out if between else net(x)
        (out**2).mean().backward()
    faults = silent_faults(rec, models={"net": net})
    assert [f.cause for f in faults] == ["fused_step"] * between
    assert all("net.2.weight" in f.verdict and "opt.step()" in f.where for f in faults)


@pytest.mark.parametrize(
    ("take", "follows"),
    [
        (lambda p: p.detach(), True),
        (lambda p: p.data, True),
        (lambda p: p.detach()[:], True),
        (lambda p: p.detach().clone(), False),
        (lambda p: copy.deepcopy(p.detach()), False),
    ],
)
@pytest.mark.parametrize("recorded", [True, False])
def test_snapshots(take, follows: bool, recorded: bool) -> None:
    net, opt = net_and_optimizer()
    rec = gv.record()
    with rec:
        old = take(net[0].weight)
        net(torch.ones(2, 3)).mean().backward()
        opt.step()
    assert follows == torch.equal(old, net[0].weight)
    found = causes(rec if recorded else None, tensors={"old": old}, models={"net": net})
    assert found == ["shared_snapshot"] * follows


def test_a_detached_value_that_nobody_wrote_is_no_fault() -> None:
    w = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        d = w.detach()
        (w * d).sum().backward()
    assert causes(rec, tensors={"d": d, "w": w}) == []


def test_an_alias_through_which_the_weight_is_written_is_no_snapshot() -> None:
    w = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        d = w.data
        d.mul_(2)
    assert causes(rec, tensors={"d": d, "w": w}) == []


@pytest.mark.parametrize("options", [{}, {"momentum": 0.9}, {"weight_decay": 0.1}])
@pytest.mark.parametrize("clear", ["keep", "zeros", "none"])
@pytest.mark.parametrize("recorded", [True, False])
def test_leftovers_move_what_is_frozen(
    options: dict[str, float], clear: str, recorded: bool
) -> None:
    net, opt = net_and_optimizer(**options)
    net(torch.ones(2, 3)).mean().backward()
    opt.step()
    net[0].requires_grad_(False)
    if clear != "keep":
        opt.zero_grad(set_to_none=clear == "none")
    told = causes(models={"net": net}, held=held(net, opt))
    before = net[0].weight.clone()
    with gv.record() as rec:
        opt.step()
    moved = not torch.equal(before, net[0].weight)
    assert moved == (clear == "keep" or (clear == "zeros" and bool(options)))
    if recorded:
        told = causes(rec, models={"net": net}, held=held(net, opt))
    assert told == ["leftover_grad_moves"] * moved


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize("recorded", [True, False])
def test_statistics_of_batch_norm(training: bool, frozen: bool, recorded: bool) -> None:
    net = (
        nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).requires_grad_(not frozen).train(training)
    )
    before = net[1].running_mean.clone()
    with gv.record() as rec:
        net(torch.randn(5, 3))
    assert training == (not torch.equal(before, net[1].running_mean))
    assert causes(rec if recorded else None, models={"net": net}) == ["batch_norm_moves"] * (
        training and frozen
    )


def test_statistics_that_moved_are_told_after_eval_too() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).requires_grad_(False)
    with gv.record() as rec:
        net(torch.randn(5, 3))
    net.eval()
    assert causes(rec, models={"net": net}) == ["batch_norm_moves"]


@pytest.mark.parametrize("keep", [lambda t: t, lambda t: t.detach()])
def test_a_running_loss(keep) -> None:
    net, _ = net_and_optimizer()
    total: torch.Tensor | float = 0.0
    with gv.record() as rec:
        for _ in range(3):
            loss = net(torch.ones(2, 3)).pow(2).mean()
            loss.backward()
            total = total + keep(loss)
    assert isinstance(total, torch.Tensor)
    assert causes(rec, tensors={"total": total}) == ["graph_kept"] * (total.grad_fn is not None)
    # Also where only the loss is asked about, whose graphs it keeps.
    assert causes(rec, tensors={"loss": loss}) == ["graph_kept"] * (total.grad_fn is not None)


def test_a_sum_of_two_losses_of_one_iteration_is_no_running_loss() -> None:
    net, _ = net_and_optimizer()
    with gv.record() as rec:
        for _ in range(3):
            real = net(torch.ones(2, 3)).pow(2).mean()
            real.backward()
            fake = net(torch.zeros(2, 3)).pow(2).mean()
            fake.backward()
            total = real + fake
    assert causes(rec, tensors={"total": total}) == []


def test_a_sum_that_goes_backward_itself_is_no_running_loss() -> None:
    net, _ = net_and_optimizer()
    with gv.record() as rec:
        total = torch.zeros(())
        for _ in range(3):
            total = total + net(torch.ones(2, 3)).pow(2).mean()
        total.backward()
    assert causes(rec, tensors={"total": total}) == []


def test_nothing_is_held_and_nothing_changed() -> None:
    net, opt = net_and_optimizer(momentum=0.9)
    net(torch.ones(2, 3)).mean().backward()
    net[0].requires_grad_(False)
    state, version = torch.get_rng_state(), net[0].weight._version
    faults = silent_faults(tensors={"w": net[0].weight}, models={"net": net}, held=held(net, opt))
    assert [f.cause for f in faults] == ["leftover_grad_moves"]
    assert torch.equal(state, torch.get_rng_state())
    assert net[0].weight._version == version
    seen = weakref.ref(net[0].weight)
    del net, opt
    gc.collect()
    assert seen() is None


def test_what_cannot_be_read_is_passed_over() -> None:
    meta = nn.Linear(3, 3, device="meta")
    sparse = torch.eye(2).to_sparse()
    assert (
        causes(tensors={"s": sparse, "m": meta.weight.detach()}, models={"other": nn.Linear(2, 2)})
        == []
    )
