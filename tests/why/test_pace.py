"""Long rows of losses that hardly change, or end higher than they began, are told with the step; rows
that fall, that are short, or of which several stand beside each other, are not."""

from __future__ import annotations

import pytest
import torch
from test_symptom import asked

REGRESSION = """
import torch
torch.manual_seed(0)
inputs = torch.randn(32, 3)
targets = {targets}
net = torch.nn.Linear(3, 1)
opt = torch.optim.{optimizer}
losses = []
for epoch in range({epochs}):
    opt.zero_grad()
    loss = ((net(inputs) - targets) ** 2).mean()
    loss.backward()
    opt.step()
    losses.append(loss.item())
"""
TARGETS = "inputs.sum(dim=1, keepdim=True)"
ROTATION = """
import torch
torch.manual_seed(0)
w = torch.tensor([1.0, 1.0], requires_grad=True)
losses = []
for i in range(150):
    x = torch.randn(2)
    loss = (w * x).pow(2).sum() + 0.1
    loss.backward()
    with torch.no_grad():
        w {step} w.grad.sign(){scale}
    w.grad = None
    losses.append(loss.item())
"""
TWO = """
import torch
torch.manual_seed(0)
real = torch.randn(32, 2) + 3
G, D = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
opt_g = torch.optim.SGD(G.parameters(), lr=1e-6)
opt_d = torch.optim.SGD(D.parameters(), lr=1e-6)
bce = torch.nn.BCEWithLogitsLoss()
for i in range(120):
    fake = G(torch.randn(32, 2))
    opt_d.zero_grad()
    loss_d = bce(D(real), torch.ones(32, 1)) + bce(D(fake.detach()), torch.zeros(32, 1))
    loss_d.backward()
    opt_d.step()
    opt_g.zero_grad()
    loss_g = bce(D(fake), torch.ones(32, 1))
    loss_g.backward()
    opt_g.step()
"""


def regression(optimizer: str, epochs: int = 150, targets: str = TARGETS) -> str:
    return REGRESSION.format(optimizer=optimizer, epochs=epochs, targets=targets)


def fell(program: str) -> float:
    """Return the last of the program's losses as a part of the first."""
    names: dict[str, list[float]] = {}
    exec(program, names)
    return names["losses"][-1] / names["losses"][0]


SLOW = regression("SGD(net.parameters(), lr=1e-6)")
LARGE = regression("Adam(net.parameters(), lr=1e-3)", targets=f"1e4 * {TARGETS}")
FAST = regression("SGD(net.parameters(), lr=0.1)")
SHORT = regression("SGD(net.parameters(), lr=1e-6)", epochs=20)
SCALED = regression("Adam(net.parameters(), lr=1e-2)")
LONG_STEPS = ROTATION.format(step="-=", scale=" * 3")
SHORT_STEPS = ROTATION.format(step="-=", scale=" * 0.01")


@pytest.mark.parametrize(
    ("program", "mended", "rate"), [(SLOW, FAST, "1e-06"), (LARGE, SCALED, "0.001")]
)
def test_losses_that_hardly_change_are_told(program: str, mended: str, rate: str) -> None:
    assert fell(program) > 0.99
    found = asked(program)
    assert found.verdict.startswith("loss hardly changed in 150 backwards: ")
    assert f"(a learning rate of {rate}, program.py line 7)" in found.verdict
    assert "[observed]" in str(found)
    assert fell(mended) < 0.8
    assert "hardly changed" not in str(asked(mended))


def test_losses_that_end_higher_than_they_began_are_told() -> None:
    assert fell(LONG_STEPS) > 1.25
    found = asked(LONG_STEPS)
    assert found.verdict.startswith("loss was ")
    assert "in the first of 150 backwards" in found.verdict
    assert "w -= w.grad.sign() * 3 (program.py line 11) does not make it smaller" in found.verdict
    assert "in the first of" not in str(asked(SHORT_STEPS))


WARMUP = """
import torch
torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
warmup = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: step / 10)
first = net.weight.detach().clone()
for i in range(120):
    x = torch.randn(32, 3)
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
warmup.step()
still = torch.equal(net.weight, first)
"""


def test_steps_at_a_learning_rate_of_0_are_told_and_not_their_losses() -> None:
    names: dict[str, bool] = {}
    exec(WARMUP, names)
    assert names["still"]
    text = " ".join(str(asked(WARMUP)).split())
    assert "(program.py line 13) moved nothing in its first 120 steps, of 120" in text
    assert "hardly changed" not in text
    each_step = WARMUP.replace("    opt.step()\n", "    opt.step()\n    warmup.step()\n")
    assert "first 120 steps" not in str(asked(each_step))


@pytest.mark.parametrize("program", [FAST, SHORT, TWO])
def test_nothing_is_said_of_others(program: str) -> None:
    torch.manual_seed(0)
    text = str(asked(program))
    assert "hardly changed" not in text
    assert "in the first of" not in text
