"""Gradients that a statement of the program sets: those of another module, what autograd.grad gave,
what was made of several backwards. What a step used then, and what it did not."""

from __future__ import annotations

from typing import Any

import pytest
from test_symptom import ran

import gradviz as gv


def asked(program: str, *subjects: str) -> Any:
    """Return the answer about some names of a program, or the bare one."""
    recording, error, names = ran(program)
    return gv.explain(
        *(eval(s, names) for s in subjects), recording=recording, error=error, names=names
    )


SHARED = """
import torch
from torch import nn
torch.manual_seed(0)
shared_model, model = nn.Linear(3, 1), nn.Linear(3, 1)
optimizer = torch.optim.Adam(shared_model.parameters(), lr=0.01)
for step in range(6):
    model.load_state_dict(shared_model.state_dict())
    loss = (model(torch.randn(4, 3)) ** 2).mean()
    {clear}
    loss.backward()
    for p, s in zip(model.parameters(), shared_model.parameters()):
        {hand_over}
    optimizer.step()
    {after}
"""
ONCE = "if s.grad is None: s._grad = p.grad"
IN_PLACE = "optimizer.zero_grad(set_to_none=False)"


@pytest.mark.parametrize("hand_over", [ONCE, ONCE.replace("_grad", "grad")])
def test_two_modules_that_have_the_same_gradients_are_told_so(hand_over: str) -> None:
    answer = asked(SHARED.format(clear=IN_PLACE, hand_over=hand_over, after=""))
    assert answer.cause == "healthy"
    told = "\n".join(answer.told_beside)
    assert "moved shared_model.* by the gradients of model.*: since" in told
    assert "both have the same tensors as .grad" in told


@pytest.mark.parametrize(
    "hand_over",
    ["s.grad = p.grad.clone()", "s.grad = p.grad * 0.5", ONCE],
    ids=["copied", "scaled", "replaced_since"],
)
def test_gradients_that_are_the_same_no_more_are_not_told_so(hand_over: str) -> None:
    answer = asked(SHARED.format(clear="model.zero_grad()", hand_over=hand_over, after=""))
    assert answer.cause == "healthy"
    told = "\n".join(answer.told_beside)
    assert "moved shared_model.* by what s." in told
    assert "the same tensors" not in told


def test_an_optimizer_to_which_nothing_is_handed_is_still_told() -> None:
    answer = asked(SHARED.format(clear="model.zero_grad()", hand_over="pass", after=""))
    assert answer.cause == "not_moved"


WEIGHTS = """
import torch
from torch import nn
torch.manual_seed(0)
model, weights = nn.Linear(3, 2), nn.Parameter(torch.ones(2))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
opt_w = torch.optim.SGD([weights], lr=0.01)
for step in range(8):
    parts = (model(torch.randn(4, 3)) ** 2).mean(0)
    loss = (weights * parts).sum()
    opt.zero_grad()
    loss.backward(retain_graph=True)
    balance = (weights * parts).std()
    {set}
    opt_w.step()
    opt.step()
"""
OF_BALANCE = "weights.grad = torch.autograd.grad(balance, weights)[0]"


@pytest.mark.parametrize("names", [(), ("weights",)])
def test_what_a_statement_set_is_told_in_the_place_of_the_loss(names: tuple[str, ...]) -> None:
    answer = asked(WEIGHTS.format(set=OF_BALANCE), *names)
    assert answer.cause == "healthy"
    told = "\n".join(answer.told_beside)
    assert f"moved weights by what {OF_BALANCE}" in told
    assert "moved weights by the gradient of loss" not in told


@pytest.mark.parametrize(
    "change", ["pass", "weights.grad = weights.grad * 1.0", "weights.grad *= 0.5"]
)
def test_what_is_made_of_the_sum_that_is_there_still_piles_up(change: str) -> None:
    assert asked(WEIGHTS.format(set=change), "weights").cause == "gradients_pile_up"


OTHERS = """
    opt_w.step()
    with torch.no_grad():
        weights.mul_(2 / weights.sum())
    norm = weights.norm().detach()
"""
AT_END = "assert weights.sum().item() > 0\n"


@pytest.mark.parametrize("names", [("weights",), ("weights", "model.weight")])
def test_a_gradient_that_is_replaced_before_each_step_is_no_extra_one(
    names: tuple[str, ...],
) -> None:
    program = WEIGHTS.format(set=OF_BALANCE).replace("\n    opt_w.step()\n", OTHERS)
    assert asked(program + AT_END, *names).cause != "extra_gradient"


def test_leaves_that_no_module_has_are_said_not_to_be_counted() -> None:
    verdict = asked(WEIGHTS.format(set=OF_BALANCE)).verdict
    assert verdict.startswith("2 of 2 trainable parameters have a gradient")
    assert verdict.endswith("; not counted: weights, which no module has.")
    assert "not counted" not in asked(WEIGHTS.format(set=OF_BALANCE), "model").verdict


SURGERY = """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(6):
    out, grads = net(torch.randn(8, 4)), []
    for i in range(2):
        opt.zero_grad()
        out[:, i].pow(2).mean().backward(retain_graph=True)
        grads.append([p.grad.clone() for p in net.parameters()])
    for p, a, b in zip(net.parameters(), *grads):
        p.grad = (a + b) / 2
    opt.step()
"""


def test_what_was_made_of_several_backwards_is_not_told_as_the_last_one() -> None:
    told = "\n".join(asked(SURGERY).told_beside)
    assert "moved net.weight and net.bias by what p.grad = (a + b) / 2" in told.replace(
        "net.*", "net.weight and net.bias"
    )
    assert "by the gradient of" not in told


MASKED = """
import torch
from torch import nn
torch.manual_seed(0)
model, mask = nn.Linear(3, 2), torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(6):
    loss = (model(torch.randn(4, 3)) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    {change}
    opt.step()
"""


@pytest.mark.parametrize(
    "change",
    [
        "model.weight.grad = model.weight.grad * mask",
        "model.weight.grad *= mask",
        "model.weight.grad.data.mul_(mask)",
    ],
)
def test_a_gradient_that_the_program_changed_is_told_so(change: str) -> None:
    told = "\n".join(asked(MASKED.format(change=change)).told_beside)
    assert f"changed by {change}" in told
    assert told.count("changed by") == 1  # that of the bias came as it was


@pytest.mark.parametrize(
    "change", ["pass", "nn.utils.clip_grad_norm_(model.parameters(), 1.0)", "mask * 2"]
)
def test_a_gradient_that_came_as_it_was_or_clipped_is_not(change: str) -> None:
    told = "\n".join(asked(MASKED.format(change=change)).told_beside)
    assert "by the gradient of loss" in told
    assert "changed by" not in told


ZERO_SUM = """
import torch
from torch import nn
torch.manual_seed(0)
critic, maker = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1)), nn.Linear(2, 2)
opt_c = torch.optim.SGD(critic.parameters(), lr=0.01)
opt_m = torch.optim.SGD(maker.parameters(), lr=0.01)

def penalty(x):
    x = x.detach().requires_grad_()
    grad, = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return (grad.norm(dim=1) - 1).pow(2).mean()

for step in range(4):
    x = torch.randn(200, 2)
    with torch.no_grad():
        made = maker(torch.randn(200, 2))
    critic_loss = {critic_loss}
    opt_c.zero_grad()
    critic_loss.backward()
    opt_c.step()
    for p in critic.parameters(): p.requires_grad_(False)
    loss = -critic(maker(torch.randn(200, 2))).mean()
    opt_m.zero_grad()
    loss.backward()
    opt_m.step()
    for p in critic.parameters(): p.requires_grad_(True)
"""


@pytest.mark.parametrize(
    ("critic_loss", "said"),
    [
        ("critic(made).mean() - critic(x).mean() + penalty(x)", "that of critic.2.bias is exactly"),
        ("critic(made).mean() - critic(x).pow(2).mean()", "none is None, all zeros or NaN"),
    ],
)
def test_a_gradient_of_another_loss_that_is_0_is_not_said_to_be_none(
    critic_loss: str, said: str
) -> None:
    answer = asked(ZERO_SUM.format(critic_loss=critic_loss), "critic", "maker", "loss")
    assert said in answer.verdict
