"""Norms per module against torch's own, and verdicts that need a measured reason."""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Callable

import pytest
import torch
from torch import nn

import gradviz as gv
from gradviz.why.answering.answer import explain_small
from gradviz.why.shown.explanation import Explanation


def trained(
    net: nn.Module, x: torch.Tensor, scale: float = 1.0, recorded: bool = True
) -> Explanation:
    rec = gv.record()
    with rec:
        (net(x).mean() * scale).backward()
    return explain_small(dict(net.named_parameters()), rec if recorded else None)


def deep(make: Callable[[], nn.Module], layers: int = 12, gain: float = 1.0) -> nn.Module:
    torch.manual_seed(0)
    net = nn.Sequential(*(one for _ in range(layers) for one in (nn.Linear(8, 8), make())))
    with torch.no_grad():
        for p in net.parameters():
            p.mul_(gain)
    return net


@pytest.mark.parametrize("recorded", [True, False])
def test_sigmoids_vanish_and_the_numbers_are_torchs(recorded: bool) -> None:
    net = deep(nn.Sigmoid)
    found = trained(net, torch.randn(16, 8), recorded=recorded)
    assert found.cause == "vanishing"
    norms = [
        float(torch.cat([p.grad.flatten() for p in net[i].parameters()]).norm()) for i in (22, 0)
    ]
    assert f"22 {norms[0]:.1e}" in found.more[0]
    assert f"0 {norms[1]:.1e}" in found.more[0]
    fold = int(found.verdict.split("shrinks ")[1].split("-fold")[0].replace(",", ""))
    assert fold == pytest.approx(norms[0] / norms[1], rel=0.06)
    assert ("SigmoidBackward0" in found.why) == recorded


def test_a_node_that_was_measured_is_told_with_its_factor() -> None:
    net = deep(nn.Sigmoid)
    # one row of 8 elements: every gradient on the way is kept
    found = trained(net, torch.randn(1, 8))
    assert found.cause == "vanishing"
    assert "measured: SigmoidBackward0 ×0.2" in found.why


@pytest.mark.parametrize(
    ("make", "gain"),
    [(nn.ReLU, 1.8), (nn.Identity, 1.5), (lambda: nn.LayerNorm(8), 1.0)],
    ids=["relu", "id", "norm"],
)
@pytest.mark.parametrize("recorded", [True, False])
def test_ordinary_depth_is_healthy(
    make: Callable[[], nn.Module], gain: float, recorded: bool
) -> None:
    assert trained(deep(make, 8, gain), torch.randn(16, 8), recorded=recorded).cause == "healthy"


@pytest.mark.parametrize("recorded", [True, False])
def test_large_weights_explode(recorded: bool) -> None:
    assert (
        trained(deep(nn.Identity, 10, 12.0), torch.randn(4, 8), recorded=recorded).cause
        == "exploding"
    )


def test_conv_biases_before_batch_norm_are_no_explosion() -> None:
    torch.manual_seed(0)
    blocks = [
        m for _ in range(4) for m in (nn.Conv2d(3, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU())
    ]
    net = nn.Sequential(*blocks, nn.Flatten(), nn.Linear(75, 1))
    for recorded in (True, False):
        assert trained(net, torch.randn(8, 3, 5, 5), recorded=recorded).cause == "healthy"
        net.zero_grad()


def test_a_large_loss_is_not_an_explosion() -> None:
    torch.manual_seed(0)
    net = deep(nn.Tanh, 3)
    assert trained(net, torch.randn(4, 8), scale=1e5).cause in ("healthy", "not_known")
    net.zero_grad()
    # large, and no reason was measured
    assert trained(net, torch.randn(4, 8), scale=1e9).cause == "not_known"


def test_a_faint_second_head_is_not_a_vanishing_gradient() -> None:
    torch.manual_seed(0)
    body, one, two, three = (nn.Linear(4, 4) for _ in range(4))
    net = nn.ModuleDict({"three": three, "two": two, "one": one, "body": body})
    with gv.record() as rec:
        h = body(torch.randn(3, 4))
        (one(h).mean() + 1e-4 * two(h).mean() + 1e-9 * three(h).mean()).backward()
    assert explain_small(dict(net.named_parameters()), rec).cause == "healthy"


def test_the_first_node_that_made_nan() -> None:
    w = torch.tensor([0.0, 1.0], requires_grad=True)
    with gv.record() as rec:
        d = (w * 0).pow(2).sum().sqrt()
        (d + w.sum()).backward()
    found = explain_small({"w": w}, rec)
    assert (found.cause, bool(w.grad.isnan().any())) == ("nan", True)
    assert "SqrtBackward0" in found.why
    assert found.lines


def test_nan_of_unknown_origin_says_so() -> None:
    w = torch.ones(2, requires_grad=True)
    (w * float("nan")).sum().backward()
    found = explain_small({"w": w})
    assert (found.cause, found.lines, found.node_ids) == ("nan", (), ())
    assert "not measured" in found.why


def test_a_loss_that_was_nan_blames_no_node() -> None:
    w = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        (w.sum() * float("nan")).log().backward()
    found = explain_small({"w": w}, rec)
    assert found.cause == "nan"


@pytest.mark.parametrize("scale", [1.0, 1e-7])
def test_half_precision(scale: float) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1)).half()
    found = trained(net, torch.randn(16, 8).half(), scale)
    assert found.cause == ("healthy" if scale == 1 else "underflow")


def test_zeros_of_a_dead_relu_are_not_underflow() -> None:
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1)).half()
    with torch.no_grad():
        net[0].bias.fill_(-100)
    assert trained(net, torch.randn(16, 8).half()).cause != "underflow"


def test_without_gradients_nothing_is_claimed() -> None:
    assert explain_small(dict(nn.Linear(2, 2).named_parameters())).cause == "not_known"
    assert explain_small({}).cause == "not_known"
    meta = nn.Linear(2, 2, device="meta")
    meta.weight.grad = torch.empty(2, 2, device="meta")
    assert explain_small(dict(meta.named_parameters())).cause == "not_known"


def test_sparse_gradients_are_read() -> None:
    emb = nn.Embedding(5, 3, sparse=True)
    emb(torch.tensor([1, 2])).sum().backward()
    assert explain_small(dict(emb.named_parameters())).cause == "healthy"


def test_nothing_is_held() -> None:
    net = nn.Linear(2, 1)
    with gv.record() as rec:
        net(torch.ones(1, 2)).sum().backward()
    found = explain_small(dict(net.named_parameters()), rec)
    seen = weakref.ref(net.weight)
    del net
    gc.collect()
    assert seen() is None
    assert str(found)


@pytest.mark.parametrize(("steps", "shrink"), [(200, 0.6), (200, 0.95), (40, 0.3)])
def test_uses_that_contribute_nothing_are_counted(steps: int, shrink: float) -> None:
    """The oracle: the same steps with a copy of the weights for each use, whose .grad is what that
    use contributes."""
    torch.manual_seed(0)
    cell, x = nn.RNNCell(2, 16), torch.full((1, 2), 0.1)
    with torch.no_grad():
        for p in cell.parameters():
            p.mul_(shrink)
    h, own, weights = torch.zeros(1, 16), torch.zeros(1, 16), []
    with gv.record() as rec:
        for _ in range(steps):
            h = cell(x, h)
        h.sum().backward()
    for _ in range(steps):
        weights.append(cell.weight_hh.detach().clone().requires_grad_())
        gates = x @ cell.weight_ih.T + cell.bias_ih + own @ weights[-1].T + cell.bias_hh
        own = torch.tanh(gates)
    own.sum().backward()
    # the first use meets a state of zeros
    gone = sum(bool((w.grad == 0).all()) for w in weights[1:]) + 1
    found = explain_small(dict(cell.named_parameters()), rec)
    assert found.cause == "vanishing"
    ((measured, total),) = re.findall(r"the last (\d+) of the (\d+) uses", found.verdict)
    zeros = steps - int(measured)
    assert int(total) == steps
    assert abs(zeros - gone) <= (gone > 1)  # float32 rounds the last one away, or not
    told = (
        "the first one contributes exactly 0"
        if zeros == 1
        else f"the first {zeros} contribute exactly 0"
    )
    assert told in found.verdict
    assert ("too small for float32" in found.why) is (zeros > 1)
    assert ("underflow" in " ".join(found.ruled_out)) is (zeros == 1)
    assert (gone > 1) is (steps == 200)


class Scaled(nn.Module):
    """Multiplies its input by a parameter of its own, in front of its layers."""

    def __init__(self, size: float) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.full((4,), size))
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        with torch.no_grad():
            for layer in self.layers:
                layer.weight.copy_(torch.eye(4) * size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x * self.scale
        for layer in self.layers:
            x = layer(x)
        return x


@pytest.mark.parametrize(("size", "word"), [(1e-4, "shrinks"), (1e4, "grows")])
def test_a_parameter_of_the_whole_model_is_told_as_such(size: float, word: str) -> None:
    found = trained(Scaled(size), torch.ones(1, 4))
    assert word in found.verdict
    assert "-fold from layers.2 to the model" in found.verdict


def test_a_gradient_without_elements_has_no_share_of_zeros() -> None:
    empty = nn.Parameter(torch.empty(0))
    empty.sum().backward()
    assert explain_small({"empty": empty}).cause == "healthy"
