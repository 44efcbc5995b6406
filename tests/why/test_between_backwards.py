"""Gradients that are cleared between the backwards of two losses, which loss counts, and what was
looked at."""

from __future__ import annotations

from test_symptom import asked

HEAD = """
import torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
body, first, second = nn.Linear(2, 3), nn.Linear(3, 1), nn.Linear(3, 1)
opt = torch.optim.SGD([*body.parameters(), *first.parameters(), *second.parameters()], lr=0.1)
x, y = torch.ones(4, 2), torch.ones(4, 1)
"""
TWO_LOSSES = (
    HEAD
    + """
for _ in range(2):
    h = torch.tanh(body(x))
    one, other = F.mse_loss(first(h), y), F.l1_loss(second(h), y)
    opt.zero_grad()
    one.backward(retain_graph=True)
    opt.zero_grad()
    other.backward()
    opt.step()
"""
)


def test_what_was_cleared_between_two_backwards_is_told() -> None:
    told = asked(TWO_LOSSES)
    assert (told.cause, told.form) == ("cleared_too_often", "between_losses"), str(told)
    assert told.lines[0] == TWO_LOSSES.splitlines().index("    opt.zero_grad()", 14) + 1
    assert "one.backward(retain_graph=True)" in told.mend
    second = "    opt.zero_grad()\n    other"
    assert second in TWO_LOSSES
    assert asked(TWO_LOSSES.replace(second, "    other")).cause == "healthy"


def test_a_step_for_each_loss_is_no_fault() -> None:
    stepped = TWO_LOSSES.replace("retain_graph=True)\n", "retain_graph=True)\n    opt.step()\n")
    program = stepped.replace(
        "    other.backward()", "    F.l1_loss(second(torch.tanh(body(x))), y).backward()"
    )
    assert asked(program).cause != "cleared_too_often"


def test_the_loss_of_an_inner_loop_is_not_the_loss() -> None:
    """It was differentiated by autograd.grad; the gradients are another's."""
    told = asked(
        HEAD
        + """
for _ in range(2):
    total = 0
    theta = torch.zeros(4, 1)
    for _ in range(2):
        point = theta.detach().requires_grad_()
        loss = (point - y).pow(2).mean()
        (slope,) = torch.autograd.grad(loss, point)
        theta = theta - first(torch.tanh(body(torch.cat([slope, point.detach()], 1))))
        total = total + (theta - y).pow(2).mean()
    opt.zero_grad()
    total.backward()
    opt.step()
"""
    )
    assert told.cause != "kept_off", str(told)


def test_a_sample_does_not_lead_where_the_log_probability_is_cut() -> None:
    program = (
        HEAD
        + """
chosen = []
for _ in range(3):
    policy = torch.distributions.Categorical(logits=torch.cat([first(body(x)), second(body(x))], 1))
    action = policy.sample()
    chosen.append(policy.log_prob(action)[0])
values = torch.tensor(chosen)
loss = -(values * 2).mean() + body.weight.pow(2).sum()
opt.zero_grad()
loss.backward()
opt.step()
"""
    )
    told = asked(program)
    line = program.splitlines().index("values = torch.tensor(chosen)") + 1
    assert told.lines[0] == line, str(told)
    assert "sample" not in told.where


def test_a_grad_that_was_read_leads_before_a_parameter_that_nobody_read() -> None:
    told = asked(
        """
import torch
from torch import nn
parts = nn.ParameterDict({"a": torch.ones(2), "unused": torch.ones(2)})
opt = torch.optim.SGD(parts.parameters(), lr=0.1)
h = parts["a"] * 2
h.sum().backward()
print(parts["a"].sum().item(), h.grad)
opt.step()
"""
    )
    assert (told.cause, "h.grad" in told.verdict) == ("non_leaf", True), str(told)


def test_gradients_that_pile_up_explain_weights_that_became_nan() -> None:
    program = (
        HEAD
        + """
net = nn.Sequential(nn.Linear(2, 8), nn.Linear(8, 8), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=5.0)
for _ in range(40):
    loss = net(x).pow(2).mean()
    loss.backward()
    opt.step()
"""
    )
    told = asked(program)
    assert told.cause in ("gradients_pile_up", "nan"), str(told)
