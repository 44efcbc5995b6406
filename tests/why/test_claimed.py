"""An answer claims no more than was looked at: each program makes a clause of a sentence false."""

from __future__ import annotations

import linecache
from typing import Any

import torch

import gradviz as gv
from gradviz.why.shown.explanation import Explanation

IMPORTS = "import torch\nfrom torch import nn\n"


def told(program: str, *named: str) -> Explanation:
    """Return the answer about a program that ran under a recording, bare or of some names."""
    source = IMPORTS + program
    linecache.cache["claim.py"] = len(source), None, source.splitlines(True), "claim.py"
    names: dict[str, Any] = {}
    torch.manual_seed(0)
    with gv.record() as recording:
        exec(compile(source, "claim.py", "exec"), names)
    known = {key: value for key, value in names.items() if not key.startswith("__")}
    return gv.explain(*(names[n] for n in named), recording=recording, names=known)


GROWING = """
w, x = torch.zeros(1, requires_grad=True), torch.tensor([10.0, 20.0])
opt = torch.optim.SGD([w], lr={rate})
for _ in range(200):
    {clear}
    loss = (w * x - x).pow(2).mean()
    loss.backward()
    opt.step()
"""


def test_the_rate_is_blamed_only_where_gradients_were_cleared() -> None:
    assert told(GROWING.format(rate=5e-2, clear="opt.zero_grad()")).form == "diverged_at"
    assert told(GROWING.format(rate=5e-2, clear="pass")).cause == "gradients_pile_up"


def test_a_hook_that_found_nothing_to_clip_changed_nothing() -> None:
    program = """
w = torch.tensor([1.0, 2.0], requires_grad=True)
w.register_hook(lambda g: g.clamp(-{bound}, {bound}))
opt = torch.optim.SGD([w], lr=0.1)
for _ in range(2):
    opt.zero_grad()
    loss = (w * 3).sum()
    loss.backward()
    opt.step()
"""
    assert told(program.format(bound=1)).cause == "changed_by_hook"
    assert told(program.format(bound=10)).cause == "healthy"


def test_a_clip_of_an_earlier_step_is_one_too() -> None:
    program = """
w, start = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
opt = torch.optim.SGD([w, start], lr=0.1)
state = start * 1
for _ in range(3):
    state = state * w
    loss = state.pow(2).sum()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_({clipped}, 0.1)
    opt.step()
    state = state.detach()
"""
    sentence = "only; opt.step()"
    assert sentence not in str(told(program.format(clipped="[w, start]")))
    assert sentence in " ".join(str(told(program.format(clipped="[w]"))).split())


def test_a_loss_that_is_only_shown_lacks_no_graph() -> None:
    program = """
net = nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
out = net(torch.randn(4, 3))
out.backward(torch.ones(4, 2))
opt.step()
loss = out.sum().detach()
"""
    assert told(program).cause == "healthy"


def test_a_derivative_of_a_derivative_drops_a_summand() -> None:
    program = """
net = nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1))
x = torch.randn(5, 1, requires_grad=True)
first = torch.autograd.grad(net(x).sum(), x, create_graph=True)[0]
second = torch.autograd.grad(first.sum(), x, create_graph=True)[0]
loss = second.pow(2).mean()
loss.backward()
"""
    answer = told(program)
    assert answer.cause == "healthy"
    assert "net.2.bias.grad is None" in str(answer)
