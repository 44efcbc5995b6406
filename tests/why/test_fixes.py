"""Every fix that is told is tried: a small program with the symptom, and the edit that the sentence
asks for, after which the symptom is gone.

A program asks about ``asks`` (source of the arguments of ``explain``; none: about its error).
``gone`` is an expression that is false with the symptom and true without it; for an error it is
enough that nothing raises. An edit is pairs of old and new text; each edit stands for one of the
ways that the sentence offers.
"""

from __future__ import annotations

import copy
import linecache
import random
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from test_raised import MADE_IN_A_CONSTRUCTOR
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

import gradviz as gv
from gradviz.graph.facts import Facts
from gradviz.graph.redo import obstacles_after
from gradviz.why.shown.explanation import Explanation
from gradviz.words.en import ENGLISH, MEND

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

Edit = tuple[str, ...]


class Fix(NamedTuple):
    """One program, and what is done to it.

    Attributes:
        found: "cause/form" of the answer.
        asks: what ``explain`` is asked about, as source; "" asks about the error.
        gone: an expression; "" where it is enough that nothing raises.
        program: its source.
        edits: each with the words of the told fix that it follows, then old and new texts.
        cut: the key in MEND, where the fix is that of a cut.
    """

    found: str
    asks: str
    gone: str
    program: str
    edits: tuple[Edit, ...]
    cut: str = ""


FIXES: list[Fix] = []


def fix(found: str, asks: str, gone: str, program: str, *edits: Edit, cut: str = "") -> None:
    FIXES.append(Fix(found, asks, gone, program.strip("\n") + "\n", edits, cut))


def fix_of_error(found: str, program: str, *edits: Edit, cut: str = "") -> None:
    """Of a program that raises: it is asked about its error, and mended when nothing raises."""
    fix(found, "", "", program, *edits, cut=cut)


def names() -> dict[str, Any]:
    """What every program knows."""
    torch.manual_seed(0)
    known = {"torch": torch, "nn": nn, "F": functional, "copy": copy, "np": np, "gv": gv}
    return {**known, "checkpoint": checkpoint, "__name__": "__main__"}


def executed(source: str, name: str) -> tuple[dict[str, Any], Exception | None]:
    """Run a program; return its variables and the error that ended it."""
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    known = names()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(source, name, "exec"), known)
    except (RuntimeError, ValueError, TypeError, AttributeError) as error:
        here = error.__traceback__
        return known, error.with_traceback(here and here.tb_next)  # of the program alone
    return known, None


def is_gone(one: Fix, known: dict[str, Any]) -> bool:
    """Say whether the symptom is not there, or no longer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # .grad of a result
        return not one.gone or bool(eval(one.gone, known))


def told(one: Fix) -> tuple[Explanation, bool]:
    """Return the answer about a program, and whether it has its symptom."""
    with gv.record() as recording:
        known, error = executed(one.program, "program.py")
    symptom = not is_gone(one, known) if one.gone else error is not None
    asked = eval(f"({one.asks},)", known) if one.asks else ()
    variables = {name: value for name, value in known.items() if name not in names()}
    answer = gv.explain(
        *asked, error=None if asked else error, recording=recording, names=variables
    )
    return answer, symptom


# --- what asks for no gradient --------------------------------------------------------------------

# --- what the account of the steps, and what the program did on purpose, led to -------------------

fix_of_error(
    "no_grad_fn/left_likely",  # the numbers of a list of results
    """
w, losses = torch.ones(3, requires_grad=True), []
for i in range(3):
    losses.append((w * i).sum())
loss = torch.FloatTensor(losses).mean()
loss.backward()
""",
    (
        "torch.stack(losses) in the place of torch.FloatTensor(losses)",
        "torch.FloatTensor(losses)",
        "torch.stack(losses)",
    ),
    cut="join_stacked",
)
fix_of_error(
    "not_scalar/differentiated",  # and those that would raise next
    """
net = nn.Linear(2, 1)
def residual(x, t):
    u = net(torch.cat([x, t], dim=1)).tanh()
    u_x = torch.autograd.grad(u, x, create_graph=True)[0]
    u_xx = torch.autograd.grad(u_x, x, create_graph=True)[0]
    u_t = torch.autograd.grad(u, t, create_graph=True)[0]
    return (u_t - u_xx).pow(2).mean()
points = (torch.rand(5, 1, requires_grad=True) for _ in range(2))
residual(*points).backward()
""",
    (
        "u.sum() in the place of u in u_t = torch.autograd.grad(u, t",
        "grad(u, x, create_graph=True)[0]\n    u_xx = torch.autograd.grad(u_x, x, "
        "create_graph=True)[0]\n    u_t = torch.autograd.grad(u,",
        "grad(u.sum(), x, create_graph=True)[0]\n    u_xx = torch.autograd.grad(u_x.sum(), x, "
        "create_graph=True)[0]\n    u_t = torch.autograd.grad(u.sum(),",
    ),
)
BOTH_TRAINED = """
body, head, critic = nn.Linear(3, 4), nn.Linear(4, 2), nn.Linear(4, 1)
one_opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
two_opt = torch.optim.SGD([*body.parameters(), *critic.parameters()], lr=0.1)
h = body(torch.randn(5, 3)).tanh()
one_loss, two_loss = head(h).pow(2).mean(), critic(h).pow(2).mean()
one_opt.zero_grad()
one_loss.backward()
one_opt.step()
two_opt.zero_grad()
two_loss.backward()
two_opt.step()
assert critic.weight.grad is not None
"""
fix_of_error(
    "second_backward/trained_by_both",
    BOTH_TRAINED,
    (
        "(one_loss + two_loss).backward() in the place of one_loss.backward() (program.py line 7), "
        "before any step, and without two_loss.backward() (program.py line 10). Clear the gradients "
        "above that line alone.",
        "one_opt.zero_grad()\none_loss.backward()\none_opt.step()\n"
        "two_opt.zero_grad()\ntwo_loss.backward()\n",
        "one_opt.zero_grad()\ntwo_opt.zero_grad()\n(one_loss + two_loss).backward()\n"
        "one_opt.step()\n",
    ),
    (
        "compute h anew after the step, and the second loss from that",
        "two_opt.zero_grad()\ntwo_loss",
        "two_opt.zero_grad()\nh = body(torch.randn(5, 3)).tanh()\n"
        "two_loss = critic(h).pow(2).mean()\ntwo_loss",
    ),
)
fix_of_error(
    "second_backward/trained_by_both",  # the second loss is not there yet before the step
    BOTH_TRAINED.replace(
        "one_loss, two_loss = head(h).pow(2).mean(), critic(h).pow(2).mean()",
        "one_loss = head(h).pow(2).mean()",
    ).replace("two_loss.backward()", "two_loss = critic(h).pow(2).mean()\ntwo_loss.backward()"),
    (
        "compute h anew after the step, and the second loss from that",
        "two_opt.zero_grad()\n",
        "two_opt.zero_grad()\nh = body(torch.randn(5, 3)).tanh()\n",
    ),
    (
        "(one_loss + two_loss).backward(), before any step",
        "one_loss.backward()\none_opt.step()\ntwo_opt.zero_grad()\n"
        "two_loss = critic(h).pow(2).mean()\ntwo_loss.backward()\n",
        "two_loss = critic(h).pow(2).mean()\n(one_loss + two_loss).backward()\none_opt.step()\n",
    ),
)
fix_of_error(
    "misused/state_of_others",  # what cannot be read, as it is computed in the line
    """
def saved():
    return torch.optim.Adam(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 3)).parameters()).state_dict()
net = nn.Linear(2, 2)
opt = torch.optim.Adam(net.parameters())
opt.load_state_dict(saved())
""",
    ("leave opt.load_state_dict(saved()) out", "opt.load_state_dict(saved())\n", ""),
    (
        "the parameters that it had then",
        "net = nn.Linear(2, 2)",
        "net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 3))",
    ),
)
fix_of_error(
    "misused/state_of_other_groups",
    """
old = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 4))
saved = torch.optim.Adam(old.parameters()).state_dict()
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 3))
net[0].requires_grad_(False)
opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad])
opt.load_state_dict(saved)
""",
    ("leave opt.load_state_dict(saved) out", "opt.load_state_dict(saved)\n", ""),
    (
        "make opt as it was made when it was saved",
        "[p for p in net.parameters() if p.requires_grad]",
        "net.parameters()",
    ),
)
fix_of_error(
    "modified_in_place/written",  # of a weight that the forward itself moves along
    """
class Codes(nn.Module):
    def __init__(self):
        super().__init__()
        self.code = nn.Embedding(5, 3)
    def forward(self, x):
        far = torch.cdist(x, self.code.weight)
        soft = torch.softmax(-far, dim=1) @ self.code.weight
        with torch.no_grad():
            self.code.weight.mul_(0.9)
        return (soft - x).pow(2).mean()
codes = Codes()
loss = codes(torch.randn(4, 3))
loss.backward()
""",
    (
        "a clone() of codes.code.weight in each of",
        "cdist(x, self.code.weight)\n        soft = torch.softmax(-far, dim=1) @ self.code.weight",
        "cdist(x, self.code.weight.clone())\n"
        "        soft = torch.softmax(-far, dim=1) @ self.code.weight.clone()",
    ),
)
fix(
    "rebound/updated_each",
    "w1",
    "w1.grad is not None and w2.grad is not None",
    """
w1, w2 = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
lr = 0.1
loss = (w1 * w2).pow(2).sum()
loss.backward()
w1 = w1 - lr * w1.grad
w2 = w2 - lr * w2.grad
""",
    (
        "w1 -= lr * w1.grad and w2 -= lr * w2.grad (in place",
        "w1 = w1 - lr * w1.grad\nw2 = w2 - lr * w2.grad",
        "with torch.no_grad():\n    w1 -= lr * w1.grad\n    w2 -= lr * w2.grad",
    ),
)
fix(
    "rebound/updated_in_lines",
    "adv",
    "adv.grad is not None",
    """
net, x = nn.Linear(3, 1), torch.rand(2, 3)
adv = x.clone().requires_grad_()
net(adv).sum().backward()
adv = adv + 0.1 * adv.grad.sign()
adv = torch.clamp(adv, 0, 1)
net(adv).sum().backward()
""",
    (
        "adv = torch.clamp(adv, 0, 1).detach().requires_grad_() in the place of",
        "torch.clamp(adv, 0, 1)",
        "torch.clamp(adv, 0, 1).detach().requires_grad_()",
    ),
)
fix_of_error(
    "never_tracked/asked_for",
    """
critic = nn.Linear(3, 1)
def penalty(real, fake):
    mixed = 0.5 * real + 0.5 * fake
    scores = critic(mixed)
    slopes = torch.autograd.grad(
        outputs=scores, inputs=mixed, grad_outputs=torch.ones_like(scores), create_graph=True
    )[0]
    return (slopes.norm(2, dim=1) - 1).pow(2).mean()
penalty(torch.randn(4, 3), torch.randn(4, 3)).backward()
""",
    (
        "mixed.requires_grad_() right above scores = critic(mixed)",
        "    scores =",
        "    mixed.requires_grad_()\n    scores =",
    ),
)

fix(
    "zero_gradient/zero",  # made 0 and 1 by two writes
    "w",
    "w.grad.any()",
    """
w, x = torch.ones(3, requires_grad=True), torch.randn(8, 3)
p = x @ w
p[p >= 0.5] = 1.0
p[p < 0.5] = 0.0
loss = (p - 1).pow(2).sum()
loss.backward()
""",
    (
        "p = torch.sigmoid(p - 0.5) in the place of p[p >= 0.5] = 1.0",
        "p[p >= 0.5] = 1.0\np[p < 0.5] = 0.0",
        "p = torch.sigmoid(p - 0.5)",
    ),
)

fix_of_error(
    "nan/returned",
    """
x = torch.zeros(2, requires_grad=True)
with torch.autograd.detect_anomaly(check_nan=True):
    loss = (torch.sqrt(x * x) * 0).sum()
    loss.backward()
""",
    ("sqrt(x + eps)", "torch.sqrt(x * x)", "torch.sqrt(x * x + 1e-8)"),
    ("clamp inside", "torch.sqrt(x * x)", "torch.sqrt((x * x).clamp(min=1e-8))"),
)
fix_of_error(
    "second_backward/anew_detached",
    """
body, head = nn.Linear(2, 2), nn.Linear(2, 2)
opt, head_opt = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (body, head))
x = torch.ones(1, 2)
value = head(body(x).tanh()).tanh()
first, second = value.chunk(2, dim=1)
first_loss, second_loss = first.pow(2).sum(), second.pow(2).sum()
first_loss.backward()
opt.step()
second_loss.backward()
head_opt.step()
""",
    (
        "once more for the second loss",
        "second_loss.backward()",
        "second_loss = head(body(x).tanh().detach()).tanh().chunk(2, dim=1)[1].pow(2).sum()\n"
        "second_loss.backward()",
    ),
)
fix_of_error(
    "modified_in_place/stepped_carried",
    """
net, judge = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2)), nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
fake = net(torch.ones(1, 2))
for _ in range(2):
    opt.zero_grad()
    loss = -judge(fake).mean()
    loss.backward(retain_graph=True)
    opt.step()
""",
    (
        "make fake anew after each step",
        "    opt.step()",
        "    opt.step()\n    fake = net(torch.ones(1, 2))",
    ),
)
fix(
    "not_in_loss/dropped_result",
    "net",
    "net.units[0][0].lin.weight.grad is not None",
    """
class Unit(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)
    def forward(self, x):
        return self.lin(x) + x
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.units, self.out = nn.ModuleList(nn.Sequential(Unit()) for _ in range(2)), nn.Linear(2, 1)
    def forward(self, *xs):
        xs = list(xs)
        for i, x in enumerate(xs):
            x = self.units[i](x)
        return sum(self.out(x).sum() for x in xs)
net = Net()
loss = net(torch.ones(1, 2), torch.ones(1, 2))
loss.backward()
""",
    ("xs[i] = ", "x = self.units[i](x)", "xs[i] = self.units[i](x)"),
)
fix(
    "zero_gradient/begun_with_zeros",
    "w",
    "w.grad.any()",
    """
w = torch.ones(3, requires_grad=True)
out = w * 2
out.backward(torch.zeros(3))
""",
    ("begin with ones there", "torch.zeros(3)", "torch.ones(3)"),
)
fix(
    "zero_gradient/both_zero",
    "a, b",
    "b.grad.any()",
    """
a, b = (nn.Parameter(torch.zeros(2, 2)) for _ in range(2))
loss = (torch.ones(1, 2) @ a @ b).sum()
loss.backward()
""",
    ("begin a with numbers other than zero", "loss = ", "nn.init.kaiming_uniform_(a)\nloss = "),
)
fix(
    "zero_gradient/both_zero",
    "first.weight, second.weight",
    "second.weight.grad.any()",
    """
first, second = nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)
nn.init.zeros_(first.weight)
nn.init.zeros_(second.weight)
loss = (1 + second(torch.relu(first(torch.ones(1, 2))))).pow(2).sum()
loss.backward()
""",
    (
        "begin first.weight with numbers other than zero",
        "loss = ",
        "nn.init.ones_(first.weight)\nloss = ",
    ),
)
fix(
    "not_in_loss/part_asked",
    "part",
    "dx is not None",
    """
net = nn.Linear(3, 1)
whole = torch.ones(4, 3, requires_grad=True)
u = net(whole)
part = whole[:, 0:1]
dx = torch.autograd.grad(u.sum(), part, allow_unused=True)[0]
""",
    ("ask autograd.grad for whole", "part, allow_unused=True)[0]", "whole)[0][:, 0:1]"),
    (
        "or compute u.sum() from part",
        "u = net(whole)\npart = whole[:, 0:1]\n",
        "part = whole[:, 0:1]\nu = net(torch.cat([part, whole[:, 1:]], 1))\n",
    ),
)
fix(
    "not_in_loss/result_in_no_loss",
    "penalty",
    "net.weight.grad[0, 0] != 1",
    """
net = nn.Linear(2, 1)
out = net(torch.ones(1, 2))
penalty = out.pow(2)
loss = out.sum()
loss.backward()
""",
    ("add it to the loss", "loss = out.sum()", "loss = out.sum() + penalty.sum()"),
    (
        "call backward on it too",
        "loss.backward()",
        "(loss + 0).backward(retain_graph=True)\npenalty.backward()",
    ),
)
fix(
    "non_leaf/result_unused_yet",
    "h",
    "h.grad is not None or w.grad is not None",
    """
w = torch.ones(2, requires_grad=True)
h = w * 2
""",
    ("read .grad of w", "h = w * 2", "h = w * 2\nh.sum().backward()"),
    ("h.retain_grad()", "h = w * 2", "h = w * 2\nh.retain_grad()\nh.sum().backward()"),
)
fix(
    "no_backward_yet/none_recorded",
    "w",
    "w.grad is not None",
    """
w = torch.ones(2, requires_grad=True)
loss = (w * 2).sum()
""",
    ("call backward() before", "loss = (w * 2).sum()", "loss = (w * 2).sum()\nloss.backward()"),
)
fix(
    "no_backward_yet/taken_before_step",
    "net.weight",
    "not net.weight.equal(before)",
    """
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
before = net.weight.detach().clone()
net(torch.ones(1, 2)).sum().backward()
net.weight.grad = None
opt.step()
""",
    ("leave that out", "net.weight.grad = None\n", ""),
)
fix(
    "not_moved/held_by_none_asked",
    "opt, other",
    "not other.weight.equal(before)",
    """
net, other = nn.Linear(2, 1), nn.Linear(2, 1)
before = other.weight.detach().clone()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.ones(1, 2)
(net(x) - other(x)).pow(2).sum().backward()
opt.step()
""",
    (
        "opt.add_param_group() with it",
        "x = torch",
        "opt.add_param_group({'params': other.parameters()})\nx = torch",
    ),
    (
        "an optimizer of its own",
        "opt.step()",
        "opt.step()\ntorch.optim.SGD(other.parameters(), lr=0.1).step()",
    ),
)
fix(
    "changed_by_hook/moved_all_the_same",
    "net, loss",
    "net.weight.equal(before)",
    """
net = nn.Linear(2, 2)
before = net.weight.detach().clone()
net.weight.register_hook(lambda g: torch.zeros_like(g))
opt = torch.optim.SGD(net.parameters(), lr=0.1, weight_decay=0.1)
loss = net(torch.ones(1, 2)).sum()
loss.backward()
opt.step()
""",
    ("weight_decay=0", "weight_decay=0.1", "weight_decay=0"),
    (
        "requires_grad_(False) before the forward",
        "net.weight.register_hook(lambda g: torch.zeros_like(g))",
        "net.weight.requires_grad_(False)",
    ),
    (
        "write the kept numbers back",
        "opt.step()",
        "opt.step()\nwith torch.no_grad(): net.weight.copy_(before)",
    ),
)
fix(
    "freeze_without_effect/on_another",
    "net, loss",
    "not net[0].weight.requires_grad",
    """
other, net = (nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1)) for _ in range(2))
def freeze(model):
    for p in other[0].parameters():
        p.requires_grad_(False)
freeze(net)
loss = net(torch.ones(1, 2)).sum()
loss.backward()
""",
    ("walk over that one", "in other[0]", "in model[0]"),
)
fix(
    "constant_summand/new_leaf",
    "net, loss",
    "not net.weight.grad.allclose(torch.ones(1, 2))",
    """
net = nn.Linear(2, 1)
out = net(torch.ones(1, 2))
numbers = out.detach().numpy()
size = torch.tensor(numbers, requires_grad=True).squeeze().pow(2)
loss = out.sum() + size
loss.backward()
""",
    (
        "compute size from the tensors themselves",
        "torch.tensor(numbers, requires_grad=True)",
        "out",
    ),
)

fix(
    "frozen/not_asking",
    "net.weight",
    "net.weight.grad is not None",
    """
net = nn.Linear(2, 1)
net.weight.requires_grad_(False)
net(torch.ones(1, 2)).sum().backward()
""",
    ("requires_grad_() before", "net(torch", "net.weight.requires_grad_()\nnet(torch"),
)
fix(
    "never_tracked/not_asking",
    "x",
    "x.grad is not None",
    """
x, w = torch.ones(2), torch.ones(2, requires_grad=True)
(x * w).sum().backward()
""",
    ("requires_grad_() before", "(x * w)", "x.requires_grad_()\n(x * w)"),
)
fix(
    "never_tracked/in_module",
    "net.mu",
    "net.mu.grad is not None and not net.mu.equal(start)",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.mu = nn.Linear(2, 2), torch.ones(2)
    def forward(self, x):
        return self.fc(x) * self.mu
net = Net()
start = net.mu.detach().clone()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(1, 2)).sum().backward()
opt.step()
""",
    (
        "as an nn.Parameter",
        "nn.Linear(2, 2), torch.ones(2)",
        "nn.Linear(2, 2), nn.Parameter(torch.ones(2))",
    ),
)
fix(
    "never_tracked/not_held",
    "shift",
    "not shift.equal(torch.zeros(2))",
    """
w, shift = torch.ones(2, requires_grad=True), torch.zeros(2)
opt = torch.optim.SGD([w], lr=0.1)
loss = (w * 2 + shift).sum()
loss.backward()
opt.step()
""",
    (
        "give it to the optimizer too",
        "opt = torch.optim.SGD([w]",
        "shift.requires_grad_()\nopt = torch.optim.SGD([w, shift]",
    ),
)
fix(
    "never_tracked/no_float",
    "x",
    "x.grad is not None",
    """
x, w = torch.ones(2, dtype=torch.int64), torch.ones(2, requires_grad=True)
(x * w).sum().backward()
""",
    ("use a float", "torch.ones(2, dtype=torch.int64)", "torch.ones(2, requires_grad=True)"),
)
fix(
    "never_tracked/too_late",
    "x",
    "x.grad is not None",
    """
x, w = torch.ones(2), torch.ones(2, requires_grad=True)
loss = (x * w).sum()
x.requires_grad_()
loss.backward()
""",
    ("before the forward", "loss = (x", "x.requires_grad_()\nloss = (x"),
)
fix(
    "inference_tensor/none",
    "x",
    "x.grad is not None",
    """
with torch.inference_mode():
    x = torch.ones(2)
w = torch.ones(2, requires_grad=True)
(w + x).sum().backward()
""",
    ("outside of it", "w = torch", "x = x.clone().requires_grad_()\nw = torch"),
)

# --- cuts -----------------------------------------------------------------------------------------

for asks, key in (("net, g_loss", "detach_elsewhere"), ("net, d_loss, g_loss", "detach_in_one")):
    fix(
        "cut/severed",
        asks,
        "net.weight.grad is not None",
        """
net, judge = nn.Linear(2, 2), nn.Linear(2, 1)
fake = net(torch.ones(1, 2)).detach()
d_loss = judge(fake).sum()
d_loss.backward()
g_loss = -judge(fake).sum()
g_loss.backward()
""",
        (
            "fake.detach()",
            "2)).detach()",
            "2))",
            "d_loss = judge(fake)",
            "d_loss = judge(fake.detach())",
        ),
        cut=key,
    )

for key, line, mended in (
    ("detach", "d = h.detach()", "d = h"),
    ("data", "d = h.data", "d = h"),
    ("not_differentiable", "d = (h > 3).float()", "d = torch.sigmoid(h - 3)"),
    ("integer_dtype", "d = h.long().float()", "d = h.float()"),
    ("unknown", "d = h.detach()", "d = h"),
    ("copied_out", "d = torch.tensor(h)", "d = h"),
    (
        "no_grad",
        "off = torch.no_grad()\noff.__enter__()\nd = h * 3\noff.__exit__(0, 0, 0)",
        "d = h * 3",
    ),
    ("no_grad_at", "with torch.no_grad():\n    d = h * 3", "d = h * 3"),
    (
        "inference_mode",
        "off = torch.inference_mode()\noff.__enter__()\nd = h * 3\noff.__exit__(0, 0, 0)\nd = d.clone()",
        "d = h * 3",
    ),
    (
        "inference_mode_at",
        "with torch.inference_mode():\n    d = h * 3\nd = d.clone()",
        "d = h * 3",
    ),
    (
        "inference_mode_enabled",
        "with torch.inference_mode(), torch.enable_grad():\n    d = h * 3\nd = d.clone()",
        "with torch.no_grad(), torch.enable_grad():\n    d = h * 3",
    ),
    (
        "no_grad_write",
        "d = torch.zeros(2)\nwith torch.no_grad():\n    d.copy_(h)",
        "d = torch.zeros(2)\nd.copy_(h)",
    ),
):
    if key != "unknown":
        cause = {"copied_out": "rebuilt_from_value", "no_grad_write": "no_grad_write"}
        fix(
            f"{cause.get(key, 'cut')}/severed",
            "w",
            "w.grad is not None and w.grad.abs().sum() > 0",
            f"""
w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
h = w * 2
{line}
loss = (d * v).sum()
loss.backward()
""",
            ("", line, mended),
            cut=key,
        )
fix(
    "rebuilt_from_value/left_torch_likely",
    "w",
    "w.grad is not None and w.grad.abs().sum() > 0",
    """
w = torch.ones(2, requires_grad=True)
losses = []
for x in (1.0, 2.0):
    losses.append((w * x).sum().item())
loss = torch.tensor(losses, requires_grad=True).mean()
loss.backward()
""",
    (
        "put the tensor itself into losses",
        "losses.append((w * x).sum().item())\nloss = torch.tensor(losses, requires_grad=True).mean()",
        "losses.append((w * x).sum())\nloss = torch.stack(losses).mean()",
    ),
    cut="stack",
)
fix(
    "rebuilt_from_value/left_torch",
    "w",
    "w.grad is not None and w.grad.abs().sum() > 0",
    """
w = torch.tensor(0.3, requires_grad=True)
turn = torch.Tensor([[w.cos(), -w.sin()], [w.sin(), w.cos()]])
loss = (torch.ones(3, 2) @ turn)[:, 0].sum().requires_grad_()
loss.backward()
""",
    (
        "torch.stack([…]) of the tensors themselves",
        "torch.Tensor([[w.cos(), -w.sin()], [w.sin(), w.cos()]])",
        "torch.stack([w.cos(), -w.sin(), w.sin(), w.cos()]).view(2, 2)",
    ),
    cut="stack_parts",
)
fix(
    "rebuilt_from_value/left_torch_likely",
    "w",
    "w.grad is not None and w.grad.abs().sum() > 0",
    """
w, total = torch.ones(2, requires_grad=True), 0
for x in (1.0, 2.0):
    total += (w * x).sum().item()
total = torch.tensor(total, requires_grad=True)
total.backward()
""",
    (
        "add the tensor itself to total",
        "    total += (w * x).sum().item()\ntotal = torch.tensor(total, requires_grad=True)\n",
        "    total += (w * x).sum()\n",
    ),
    cut="add_tensors",
)
fix(
    "cut/severed",
    "w",
    "w.grad is not None",
    """
w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
h = w * 2
h.detach_()
loss = (h * v).sum()
loss.backward()
""",
    ("leave detach_() out", "h.detach_()\n", ""),
    cut="detach_in_place",
)
fix(
    "cut/severed",
    "w",
    "w.grad is not None",
    """
w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
h = w * 2
d = h.detach() * 3
e = d.data
loss = (e * v).sum()
loss.backward()
""",
    (
        "That alone gives no gradient yet. After it, program.py line 4",
        "h.detach()",
        "h",
        "d.data",
        "d",
    ),
    cut="in_series",
)
fix(
    "cut/severed",
    "scores",
    "scores.grad is not None",
    """
scores, table = torch.ones(3, requires_grad=True), torch.randn(3, 2, requires_grad=True)
best = scores.argmax()
table[best].sum().backward()
""",
    ("weigh the entries", "table[best]", "(torch.softmax(scores, -1) @ table)"),
    cut="index",
)
fix(
    "cut/severed",
    "w",
    "w.grad is not None",
    """
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x * 2
        ctx.mark_non_differentiable(out)
        return out
    @staticmethod
    def backward(ctx, g):
        return g * 2
w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
(Twice.apply(w) * v).sum().backward()
""",
    ("do not mark", "        ctx.mark_non_differentiable(out)\n", ""),
    cut="custom_non_differentiable",
)
fix(
    "cut/cut_behind",
    "out['h']",
    "out['h'].requires_grad",
    """
def block(x):
    return {'h': x * 2}
w = torch.ones(2, requires_grad=True)
out = checkpoint(block, w, use_reentrant=True)
""",
    ("use_reentrant=False", "use_reentrant=True", "use_reentrant=False"),
    (
        "alone or in a tuple",
        "    return {'h': x * 2}\nw = torch.ones(2, requires_grad=True)\n"
        "out = checkpoint(block, w, use_reentrant=True)",
        "    return x * 2\nw = torch.ones(2, requires_grad=True)\n"
        "out = {'h': checkpoint(block, w, use_reentrant=True)}",
    ),
    cut="checkpoint_result",
)
fix_of_error(
    "no_grad_fn/cut",
    """
net = nn.Linear(2, 1)
for p in net.parameters():
    p.requires_grad_(False)
loss = net(torch.ones(1, 2)).sum()
loss.backward()
""",
    ("leave requires_grad on", "requires_grad_(False)", "requires_grad_(True)"),
    cut="flag_off",
)
fix_of_error(
    "no_grad_fn/cut",
    """
net = nn.Linear(2, 1)
loss = checkpoint(net, torch.ones(1, 2), use_reentrant=True).sum()
loss.backward()
""",
    ("use_reentrant=False", "use_reentrant=True", "use_reentrant=False"),
    ("let the input require grad", "torch.ones(1, 2)", "torch.ones(1, 2, requires_grad=True)"),
    cut="reentrant",
)
fix_of_error(
    "no_grad_fn/cut",
    """
mu = torch.zeros(2, requires_grad=True)
normal = torch.distributions.Normal(mu, 1.0)
x = normal.sample()
loss = x.pow(2).sum()
loss.backward()
""",
    ("rsample()", "sample()", "rsample()"),
    ("log_prob", "x.pow(2).sum()", "(x.pow(2) * normal.log_prob(x)).sum()"),
    cut="sample",
)
fix_of_error(
    "no_grad_fn/held_read",
    """
net = nn.Linear(4, 1).requires_grad_(False)
at = torch.tensor([1.6], requires_grad=True)
opt = torch.optim.SGD([at], lr=0.1)
line = torch.ones(4)
line[int(at):] = 0.5
loss = net(line).sum()
loss.backward()
""",
    (
        "torch.sigmoid(k * (position - border))",
        "line[int(at):] = 0.5",
        "line = 1 - 0.5 * torch.sigmoid(4 * (torch.arange(4) - at))",
    ),
)
fix_of_error(
    "no_grad_fn/left_possibly",
    """
w = torch.ones(2, requires_grad=True)
array = (w * 2).detach().numpy()
loss = torch.from_numpy(array).sum()
loss.backward()
""",
    ("stay in torch", "(w * 2).detach().numpy()", "w * 2", "torch.from_numpy(array)", "array"),
)
fix_of_error(
    "no_grad_fn/left_likely",
    """
w = torch.ones(2, requires_grad=True)
number = (w * 2).sum().item()
loss = torch.tensor(number)
loss.backward()
""",
    ("stay in torch", "(w * 2).sum().item()", "(w * 2).sum()", "torch.tensor(number)", "number"),
)
fix_of_error(
    "no_grad_fn/from_grad",
    """
w = torch.ones(2, requires_grad=True)
(g,) = torch.autograd.grad((w ** 3).sum(), w)
loss = g.sum()
loss.backward()
""",
    ("create_graph=True", ".sum(), w)", ".sum(), w, create_graph=True)"),
)
fix_of_error(
    "no_grad_fn/untracked_named",
    """
w, v = torch.ones(2), torch.ones(2)
loss = (w * v).sum()
loss.backward()
""",
    ("w.requires_grad_()", "loss = (w", "w.requires_grad_()\nloss = (w"),
    ("requires_grad=True", "torch.ones(2), ", "torch.ones(2, requires_grad=True), "),
)
fix_of_error(
    "no_grad_fn/untracked_one",
    """
w = torch.ones(2)
loss = (w * 2).sum()
loss.backward()
""",
    ("w.requires_grad_()", "loss = (w", "w.requires_grad_()\nloss = (w"),
    ("requires_grad=True", "torch.ones(2)", "torch.ones(2, requires_grad=True)"),
)
fix_of_error(
    "no_grad_fn/untracked",
    """
loss = (torch.ones(2) * 2).sum()
loss.backward()
""",
    ("requires_grad_()", "torch.ones(2)", "torch.ones(2).requires_grad_()"),
)

fix(
    "cut/severed",
    "maker.weight",
    "maker.weight.grad is not None",
    """
maker, layer, x = nn.Linear(2, 6), nn.Linear(2, 3), torch.ones(4, 2)
made = maker(torch.ones(2)).view(3, 2)
layer.weight.data = made
layer(x).sum().backward()
""",
    (
        "(F.linear, F.conv2d)",
        "layer.weight.data = made\nlayer(x)",
        "F.linear(x, made, layer.bias)",
    ),
    (
        "functional_call()",
        "layer.weight.data = made\nlayer(x)",
        "torch.func.functional_call(layer, {'weight': made}, x)",
    ),
    cut="data_set",
)

# --- results --------------------------------------------------------------------------------------

fix(
    "rebound/named_anew",
    "x",
    "leaf_grad is not None",
    """
x = torch.ones(2, requires_grad=True)
x = x.view(2, 1)
x.sum().backward()
leaf_grad = x.grad
""",
    ("another name", "x = x.view(2, 1)\nx.sum", "y = x.view(2, 1)\ny.sum"),
    ("retain_grad() before", "x.sum", "x.retain_grad()\nx.sum"),
)
fix(
    "rebound/updated",
    "w",
    "w.grad is not None",
    """
w = torch.ones(2, requires_grad=True)
for _ in range(1):
    w.pow(2).sum().backward()
    w = w - 0.1 * w.grad
w.pow(2).sum().backward()
""",
    (
        "with torch.no_grad()",
        "    w = w - 0.1 * w.grad",
        "    with torch.no_grad():\n        w -= 0.1 * w.grad",
    ),
    (
        "detach() the result",
        "- 0.1 * w.grad",
        "- 0.1 * w.grad\n    w = w.detach().requires_grad_()",
    ),
)
fix(
    "zero_gradient/masked",
    "emb.weight",
    "emb.weight.grad.any()",
    """
emb = nn.Embedding(4, 2)
loss = emb(torch.tensor([0, 1])).sum()
loss.backward()
emb.weight.grad[:3] = 0
""",
    ("leave what is to learn out of emb.weight.grad[:3] = 0", "grad[:3]", "grad[:1]"),
    ("once the loss reads it", "[0, 1]", "[0, 3]"),
)
fix(
    "non_leaf/part_read",
    "",
    "got is not None",
    """
w = torch.ones(3, requires_grad=True)
loss = w.pow(2).sum()
part = w[0]
loss.backward()
got = part.grad
""",
    ("read w.grad", "part.grad", "w.grad[0]"),
)
fix(
    "non_leaf/result",
    "h",
    "h.grad is not None",
    """
w = torch.ones(2, requires_grad=True)
h = w * 2
h.sum().backward()
""",
    ("h.retain_grad()", "h.sum", "h.retain_grad()\nh.sum"),
    ("read .grad of w", "h.sum().backward()", "h.sum().backward()\nh = w"),
)
fix(
    "non_leaf/result_of_unnamed",
    "x",
    "got is not None",
    """
x = torch.ones(4, requires_grad=True).exp() + torch.ones(4, requires_grad=True)
x.sum().backward()
got = x.grad
""",
    ("retain_grad()", "x.sum()", "x.retain_grad()\nx.sum()"),
    (
        "in a line of its own",
        "x = torch.ones(4, requires_grad=True).exp()",
        "leaf = torch.ones(4, requires_grad=True)\nx = leaf.exp()",
        "got = x.grad",
        "got = leaf.grad",
    ),
)
fix(
    "made_non_leaf/made_a_result",
    "w",
    "w.grad is not None",
    """
w = torch.ones(2, requires_grad=True) * 0.1
w.sum().backward()
""",
    (
        "then w.requires_grad_()",
        "torch.ones(2, requires_grad=True) * 0.1",
        "(torch.ones(2) * 0.1).requires_grad_()",
    ),
)

# --- errors: what an input is ---------------------------------------------------------------------

fix_of_error(
    "leaf_in_place/numbers",
    """
w = torch.ones(2, requires_grad=True)
w += 1
w.sum().backward()
""",
    ("with torch.no_grad(): around w += 1", "w += 1", "with torch.no_grad():\n    w += 1"),
)
fix_of_error(
    "leaf_in_place/by_module",
    """
x = torch.ones(3, requires_grad=True)
net = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(3, 1))
net(x).sum().backward()
""",
    ("inplace=False in net.0", "inplace=True", "inplace=False"),
)
fix_of_error(
    "leaf_in_place/taken",
    """
x = torch.ones(3, requires_grad=True)
y = F.relu(x, inplace=True)
y.sum().backward()
""",
    ("y = F.relu(x) in the place of", "F.relu(x, inplace=True)", "F.relu(x)"),
)
fix(
    "leaf_in_place/fast_weights",
    "",
    "net.weight.grad is not None",
    """
net, x, y = nn.Linear(2, 1), torch.ones(3, 2), torch.zeros(3, 1)
grads = torch.autograd.grad(F.mse_loss(net(x), y), net.parameters(), create_graph=True)
for p, g in zip(net.parameters(), grads):
    p -= 0.1 * g
F.mse_loss(net(2 * x), y).backward()
""",
    (
        "fast = [p - 0.1 * g for (p, g) in zip(net.parameters(), grads)] in the place of the loop",
        "for p, g in zip(net.parameters(), grads):\n    p -= 0.1 * g",
        "fast = [p - 0.1 * g for (p, g) in zip(net.parameters(), grads)]",
        "net(2 * x)",
        "torch.func.functional_call(net, dict(zip(dict(net.named_parameters()), fast)), (2 * x,))",
    ),
)
fix(
    "leaf_in_place/tracked",
    "",
    "w.grad is not None and x.grad is not None",
    """
w, x = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
for _ in range(3):
    x += w * 2
x.sum().backward()
""",
    (
        "x_new = x.clone() above the loop in program.py line 2, and x_new in the place of x",
        "for _ in range(3):\n    x += w * 2\nx.sum()",
        "x_new = x.clone()\nfor _ in range(3):\n    x_new += w * 2\nx_new.sum()",
    ),
)
fix(
    "leaf_in_place/needed",
    "",
    "s.grad is not None and s.grad[0] == 1",
    """
x, s = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
loss = (x * s).sum()
x += 5
(loss + (x * 0).sum()).backward()
""",
    (
        "x_new = x.clone() above x += 5",
        "x += 5\n(loss + (x * 0)",
        "x_new = x.clone()\nx_new += 5\n(loss + (x_new * 0)",
    ),
)
fix_of_error(
    "view_of_leaf_in_place/numbers",
    """
w = torch.ones(2, requires_grad=True)
w[0] = 5.0
w.sum().backward()
""",
    ("with torch.no_grad():", "w[0] = 5.0", "with torch.no_grad():\n    w[0] = 5.0"),
)
fix(
    "view_of_leaf_in_place/tracked",
    "",
    "net.weight.grad is not None",
    """
net, table = nn.Linear(2, 2), nn.Embedding(5, 2).requires_grad_(False)
table.register_forward_hook(lambda module, given, made: made.requires_grad_())
e = table(torch.arange(4))
e = e.reshape(2, 4)
e[:, :2] = net(torch.ones(2, 2))
e.sum().backward()
""",
    ("e = e.reshape(2, 4).clone() in the place of", "e.reshape(2, 4)", "e.reshape(2, 4).clone()"),
)
fix(
    "view_of_leaf_in_place/tracked",
    "",
    "net.fc.weight.grad is not None",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.state, self.fc = nn.Parameter(torch.zeros(4, 2)), nn.Linear(2, 2)
    def forward(self, xs):
        for t in range(3):
            self.state[t + 1] = self.fc(xs[t])
        return self.state.sum()
net = Net()
net(torch.ones(3, 2)).backward()
""",
    (
        "state_new = self.state.clone() above the loop in program.py line 6",
        "        for t in range(3):\n            self.state[t + 1] = self.fc(xs[t])\n"
        "        return self.state.sum()",
        "        state_new = self.state.clone()\n        for t in range(3):\n"
        "            state_new[t + 1] = self.fc(xs[t])\n        return state_new.sum()",
    ),
)
fix_of_error(
    "view_of_leaf_in_place/needed",
    """
x, s = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
loss = (x * s).sum()
x[0] = 5
(loss + x.sum()).backward()
""",
    (
        "x_new = x.clone() above x[0] = 5",
        "x[0] = 5\n(loss + x.sum())",
        "x_new = x.clone()\nx_new[0] = 5\n(loss + x_new.sum())",
    ),
)
fix_of_error(
    "view_of_leaf_in_place/taken",
    """
x = torch.ones(3, requires_grad=True)
v = x.view(3)
y = torch.relu_(v)
y.sum().backward()
""",
    ("y = torch.relu(v) in the place of", "torch.relu_(v)", "torch.relu(v)"),
)
fix_of_error(
    "view_of_leaf_in_place/by_module",
    """
x = torch.ones(4, requires_grad=True)
net = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(2, 1))
net(x[:2]).sum().backward()
""",
    ("inplace=False in net.0", "inplace=True", "inplace=False"),
)
fix_of_error(
    "not_scalar/raised",
    """
w = torch.ones(2, requires_grad=True)
(w * 2).backward()
""",
    (".mean(), or by .sum()", "(w * 2)", "(w * 2).mean()"),
    (".mean(), or by .sum()", "(w * 2)", "(w * 2).sum()"),
)
fix_of_error(
    "not_scalar/loss",
    """
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    loss = F.mse_loss(net(torch.ones(3, 2)), torch.zeros(3, 1), reduction="none")
    opt.zero_grad()
    loss.backward()
    opt.step()
    float(loss) + loss.item()
""",
    (
        "loss = loss.mean() above loss.backward()",
        "    loss.backward()",
        "    loss = loss.mean()\n    loss.backward()",
    ),
)
fix(
    "not_scalar/read_since",
    "",
    "priorities and priorities[0].shape == (3, 1)",
    """
net, priorities = nn.Linear(2, 1), []
loss = F.mse_loss(net(torch.ones(3, 2)), torch.zeros(3, 1), reduction="none")
loss.backward()
priorities.append(loss.detach())
""",
    (
        "loss.mean() in the place of loss in loss.backward()",
        "loss.backward",
        "loss.mean().backward",
    ),
)
fix(
    "not_scalar/differentiated",
    "",
    "du is not None and torch.allclose(du, 2 * x)",
    """
x, du = torch.ones(3, 1, requires_grad=True), None
u = x ** 2
du = torch.autograd.grad(u, x, create_graph=True)[0]
""",
    ("u.sum() in the place of u in du =", "grad(u, x", "grad(u.sum(), x"),
)
fix_of_error(
    "never_tracked/raised",
    """
xs, w = [torch.ones(2)], torch.ones(2, requires_grad=True)
loss = (xs[0] * w).sum()
torch.autograd.grad(loss, [*xs, w])
""",
    ("requires_grad_() before", "loss =", "xs[0].requires_grad_()\nloss ="),
    (
        "ask for the others only",
        "torch.autograd.grad(loss, [*xs, w])",
        "torch.autograd.grad(loss, w)",
    ),
)
fix_of_error(
    "never_tracked/asked_for",
    """
x, w = torch.ones(2), torch.ones(2, requires_grad=True)
loss = (x * w).sum()
torch.autograd.grad(loss, [x, w])
""",
    ("x.requires_grad_() right above loss", "loss =", "x.requires_grad_()\nloss ="),
    (
        "ask for the others alone",
        "torch.autograd.grad(loss, [x, w])",
        "torch.autograd.grad(loss, w)",
    ),
)
fix_of_error(
    "inference_tensor/made_under",
    """
with torch.inference_mode():
    x = torch.ones(2)
w = torch.ones(2, requires_grad=True)
(w * x).sum().backward()
""",
    ("with torch.no_grad(): in place of", "torch.inference_mode()", "torch.no_grad()"),
    ("x.clone() outside", "w = torch", "x = x.clone()\nw = torch"),
)
fix_of_error(
    "inference_tensor/raised",
    """
mode = torch.inference_mode()
mode.__enter__()
x = torch.ones(2)
mode.__exit__(None, None, None)
w = torch.ones(2, requires_grad=True)
(w * x).sum().backward()
""",
    ("torch.no_grad() instead", "torch.inference_mode()", "torch.no_grad()"),
    ("x.clone() outside", "w = torch", "x = x.clone()\nw = torch"),
)
fix_of_error(
    "numpy_on_tracked/raised",
    """
w = torch.ones(2, requires_grad=True)
h = w * 2
print(h.numpy())
""",
    ("h.detach().numpy()", "h.numpy()", "h.detach().numpy()"),
)
fix(
    "numpy_on_tracked/function_in_forward",
    "",
    "net.weight.grad is not None",
    """
class Sum(nn.Module):
    def forward(self, parts):
        return np.sum(parts, axis=0)
net, x = nn.Linear(2, 2), torch.ones(1, 2)
Sum()([net(x), net(2 * x)]).sum().backward()
""",
    (
        "torch.stack(parts).sum(dim=0) in the place of np.sum(parts, axis=0)",
        "np.sum(parts, axis=0)",
        "torch.stack(parts).sum(dim=0)",
    ),
)
fix_of_error(
    "numpy_on_tracked/function",
    """
w = torch.ones(2, requires_grad=True)
y = np.exp(w * 2)
""",
    ("torch.exp(w * 2) in the place of np.exp(w * 2)", "np.exp", "torch.exp"),
    (
        "only to look at the numbers: np.exp((w * 2).detach().numpy())",
        "w * 2)",
        "(w * 2).detach().numpy())",
    ),
)
fix_of_error(
    "numpy_on_tracked/kept_in",
    """
w, losses = torch.ones(2, requires_grad=True), []
for _ in range(3):
    loss = w.pow(2).sum()
    losses.append(loss)
np.array([np.log(value) for value in losses])
""",
    ("append(loss.item())", "append(loss)", "append(loss.item())"),
    (".detach() where", "np.log(value)", "np.log(value.detach())"),
)
fix_of_error(
    "numpy_on_tracked/kept_many",
    """
w, kept = torch.ones(2, requires_grad=True), []
for _ in range(3):
    h = w * 2
    kept.append(h)
[np.log(value) for value in kept]
""",
    ("append(h.detach())", "append(h)", "append(h.detach())"),
    (".detach() where", "np.log(value)", "np.log(value.detach())"),
)
KEEPING = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.last = nn.Linear(2, 2), None
    def forward(self, x):
        h = self.fc(x)
        self.last = h
        return h.sum()
net = Net()
net(torch.ones(1, 2))
"""
fix_of_error(
    "deepcopy_non_leaf/kept_on",
    KEEPING + "twin = copy.deepcopy(net)",
    ("self.last = h.detach()", "self.last = h", "self.last = h.detach()"),
    (
        "right above twin = copy.deepcopy(net): for m in net.modules(): if "
        "torch.is_tensor(getattr(m, 'last', None)): m.last = None",
        "twin",
        "for m in net.modules():\n    if torch.is_tensor(getattr(m, 'last', None)): m.last = None\ntwin",
    ),
)
fix_of_error(
    "deepcopy_non_leaf/kept_on",
    KEEPING + "twin = copy.deepcopy([net])",
    ("to None before the copy", "twin", "net.last = None\ntwin"),
)
fix_of_error(
    "numpy_on_tracked/kept_on",
    KEEPING + "for value in [net]:\n    np.log(vars(value)['last'])",
    ("self.last = h.detach()", "self.last = h", "self.last = h.detach()"),
    ("detach() where", "['last'])", "['last'].detach())"),
)
fix_of_error(
    "deepcopy_non_leaf/raised",
    """
w = torch.ones(2, requires_grad=True)
h = w * 2
twin = copy.deepcopy(h)
""",
    ("h.detach().clone()", "copy.deepcopy(h)", "h.detach().clone()"),
    ("h.clone()", "copy.deepcopy(h)", "h.clone()"),
)
fix_of_error(
    "requires_grad_non_float/dtype",
    """
x = torch.tensor([1, 2])
x.requires_grad_()
""",
    ("dtype=torch.float32", "[1, 2]", "[1, 2], dtype=torch.float32"),
    (".float() first", "[1, 2])", "[1, 2]).float()"),
)
TOKENS = """
table, tokens, e = nn.Embedding(9, 2), torch.tensor([1, 2]), None
tokens.requires_grad = True
e = table(tokens)
e.sum().backward()
"""
fix(
    "requires_grad_non_float/dtype",
    "",
    "e is not None and e.grad is not None",
    TOKENS,
    (
        "leave requires_grad out for it, and ask for the gradient of what it picks",
        "tokens.requires_grad = True\ne = table(tokens)",
        "e = table(tokens)\ne.retain_grad()",
    ),
)
fix_of_error(
    "requires_grad_non_float/raised",
    """
x = torch.tensor([1, 2], requires_grad=True)
""",
    ("dtype=torch.float32", "[1, 2]", "[1, 2], dtype=torch.float32"),
)
fix(
    "requires_grad_non_float/index",
    "",
    "table.grad is not None",
    """
table, index = torch.randn(4, 2), torch.tensor([0, 2])
table[index].sum()
index.requires_grad_()
table[index].sum().backward()
""",
    ("leave requires_grad out for index", "index.requires_grad_()", "table.requires_grad_()"),
)
fix_of_error(
    "requires_grad_non_leaf/raised",
    """
w = torch.ones(2, requires_grad=True)
h = w * 2
h.requires_grad = False
h.sum()
""",
    ("h.detach()", "h.requires_grad = False", "h = h.detach()"),
    ("h.retain_grad()", "h.requires_grad = False", "h.retain_grad()"),
)
fix_of_error(
    "detach_view_in_place/raised",
    """
w = torch.ones(2, requires_grad=True)
row = (w * 2)[0:1]
row.detach_()
""",
    ("row.detach()", "row.detach_()", "value = row.detach()"),
)
fix_of_error(
    "view_in_place/several",
    """
w = torch.ones(2, 2, requires_grad=True)
a, b = (w * 2).unbind(0)
a += 1
b *= 3
(a + b).sum().backward()
""",
    ("a = a + 1 in the place of", "a += 1", "a = a + 1", "b *= 3", "b = b * 3"),
)
fix(
    "view_in_place/several",
    "",
    "z[0, 0] == 4 and z[1, 0] == 9 and w.grad[0, 0] == 4",
    """
w = torch.ones(2, 3, requires_grad=True)
z = (w * 2).relu()
first, second = z.chunk(2)
first *= 2
second[0] = 9
z.sum().backward()
""",
    (
        "z = z.clone() above first, second = z.chunk(2). first = z.narrow(0, 0, 1) and second = ",
        "first, second = z.chunk(2)",
        "z = z.clone()\nfirst, second = z.chunk(2)\n"
        "first = z.narrow(0, 0, 1)\nsecond = z.narrow(0, 1, 1)",
    ),
)
fix(
    "view_in_place/several",
    "",
    "z[0, 1] == 4 and w.grad[1, 1] == 4",
    """
w = torch.ones(2, 3, requires_grad=True)
z = w * 2
a, b, c = z.unbind(1)
b.mul_(2)
z.sum().backward()
""",
    ("b = z.select(1, 1) below", "z.unbind(1)", "z.unbind(1)\nb = z.select(1, 1)"),
)
fix_of_error(
    "view_in_place/written_beside",
    """
w = torch.ones(2, 3, requires_grad=True)
z = w * 2
a, b = z.chunk(2)
z *= 2
(a.sum() + b.sum()).backward()
""",
    ("a, b = z.chunk(2) once more below z *= 2", "z *= 2", "z *= 2\na, b = z.chunk(2)"),
)
fix(
    "view_in_place/iterated",
    "",
    "masks.sum() > 0 and masks.requires_grad",
    """
w = torch.ones(2, requires_grad=True)
masks = torch.zeros(2, 3)
for i in range(1):
    pass
for one, mask in zip(w * 2, masks):
    mask[:2] = one
    mask *= 2
masks.sum().backward()
""",
    (
        "for i_, (one, mask) in enumerate(zip(w * 2, masks)):, and there masks[i_][:2] = one and ",
        "for one, mask in zip(w * 2, masks):",
        "for i_, (one, mask) in enumerate(zip(w * 2, masks)):",
        "    mask[:2] = one\n    mask *= 2",
        "    masks[i_][:2] = one\n    masks[i_] *= 2",
    ),
)
fix(
    "view_in_place/iterated_call",
    "",
    "len(boxes) == 2 and boxes[0].max() <= 0.3 and head.weight.grad is not None",
    """
head, boxes = nn.Linear(2, 4), []
for box in head(torch.ones(2, 3, 2)).sigmoid():
    box[:, 0].clamp_(max=0.3)
    box[:, 1:].clamp_(max=0.3)
    boxes.append(box)
torch.stack(boxes).sum().backward()
""",
    (
        "parts = head(torch.ones(2, 3, 2)).sigmoid().clone() above the loop, for i, box in enum",
        "for box in head(torch.ones(2, 3, 2)).sigmoid():",
        "parts = head(torch.ones(2, 3, 2)).sigmoid().clone()\n"
        "for i, box in enumerate(parts):\n    box = parts[i]",
    ),
)
fix_of_error(
    "view_in_place/view_outside",
    """
w = torch.ones(2, requires_grad=True)
base = w * 2
with torch.no_grad():
    row = base[:1]
row.mul_(w[:1])
base.sum().backward()
""",
    ("take row = base[:1] out of what", "with torch.no_grad():\n    row", "row"),
)
fix_of_error(
    "view_in_place/write_inside",
    """
w = torch.ones(2, requires_grad=True)
with torch.no_grad():
    row = w[:1]
row.mul_(3)
w.sum().backward()
""",
    (
        "with torch.no_grad(): around row.mul_(3)",
        "row.mul_(3)",
        "with torch.no_grad():\n    row.mul_(3)",
    ),
)
fix_of_error(
    "non_leaf_in_optimizer/handed",
    """
w = torch.ones(2, requires_grad=True) * 0.1
opt = torch.optim.SGD([w], lr=0.1)
""",
    (
        "w = (torch.ones(2, requires_grad=True) * 0.1).detach().requires_grad_() in",
        "torch.ones(2, requires_grad=True) * 0.1",
        "(torch.ones(2, requires_grad=True) * 0.1).detach().requires_grad_()",
    ),
)
fix(
    "non_leaf_in_optimizer/handed",
    "",
    "not p.ctx.equal(before)",
    """
class Prompt(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 2)
        self.ctx = self.table(torch.arange(3))
p = Prompt()
before = p.ctx.detach().clone()
opt = torch.optim.SGD([p.ctx], lr=0.1)
p.ctx.sum().backward()
opt.step()
""",
    (
        "self.ctx = nn.Parameter(self.table(torch.arange(3)).detach()) in",
        "self.table(torch.arange(3))",
        "nn.Parameter(self.table(torch.arange(3)).detach())",
    ),
)
fix_of_error(
    "non_leaf_in_optimizer/likely",
    """
w = [torch.ones(2, requires_grad=True) * 0.1]
opt = torch.optim.SGD(w, lr=0.1)
""",
    (
        "then ask for gradients",
        "torch.ones(2, requires_grad=True) * 0.1",
        "torch.ones(2).mul(0.1).requires_grad_()",
    ),
)

fix_of_error(
    "dtypes_differ/cast",
    """
x, net = torch.tensor(np.ones((1, 2))), nn.Linear(2, 1)
net(x).sum().backward()
""",
    ("x.to(torch.float32) before", "net(x)", "net(x.to(torch.float32))"),
    (
        "or where it is made",
        "torch.tensor(np.ones((1, 2)))",
        "torch.tensor(np.ones((1, 2))).to(torch.float32)",
    ),
)
fix_of_error(
    "dtypes_differ/cast",
    """
net, target = nn.Linear(2, 1), torch.ones(3, 1, dtype=torch.int64)
nn.BCEWithLogitsLoss()(net(torch.ones(3, 2)), target).backward()
""",
    ("target.to(torch.float32)", ", target)", ", target.to(torch.float32))"),
)
fix_of_error(
    "dtypes_differ/classes",
    """
net, target = nn.Linear(2, 3), torch.tensor([0.0, 2.0])
F.cross_entropy(net(torch.ones(2, 2)), target).backward()
""",
    ("target.long()", ", target)", ", target.long())"),
)
fix_of_error(
    "dtypes_differ/raised",
    """
x = torch.ones(2, 2, dtype=torch.float64, requires_grad=True)
y = torch.ones(2, 2, requires_grad=True)
(x @ y).sum().backward()
""",
    (".float()", "requires_grad=True)\ny", "requires_grad=True).float()\ny"),
)
FUNCTION = """
class Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor
    @staticmethod
    def backward(ctx, g):
        return RETURNED
w = torch.ones(2, requires_grad=True)
Times.apply(w, 3.0).sum().backward()
"""
fix_of_error(
    "custom_backward/count",
    FUNCTION.replace("RETURNED", "g * ctx.factor"),
    ("return 2 values there: None", "return g * ctx.factor", "return g * ctx.factor, None"),
)
fix_of_error(
    "custom_backward/shape",
    FUNCTION.replace("RETURNED", "tuple([torch.ones(3), None])"),
    ("of the input's shape", "torch.ones(3), None", "g * ctx.factor, None"),
)
fix(
    "hook_refused/cut",
    "",
    "h.grad is not None",
    """
w = torch.ones(2, requires_grad=True)
h = w.detach() * 2
h.retain_grad()
h.sum().backward()
""",
    ("leave detach() out", "w.detach()", "w"),
    ("h.requires_grad_() before that", "h.retain", "h.requires_grad_()\nh.retain"),
)
fix(
    "hook_refused/raised",
    "",
    "h.grad is not None",
    """
w = torch.ones(2)
h = w * 2
h.retain_grad()
h.sum().backward()
""",
    ("h.requires_grad_() before that", "h.retain", "h.requires_grad_()\nh.retain"),
    ("let what it is made from require grad", "torch.ones(2)", "torch.ones(2, requires_grad=True)"),
)
CHOSEN_CODES = """
codes, enc = nn.Parameter(torch.randn(4, 2)), nn.Linear(3, 2)
z = enc(torch.ones(5, 3))
z_q = torch.cdist(z, codes).min(1)[1].float()
z_q.retain_grad()
z_q.sum().backward()
"""
fix(
    "hook_refused/cut",
    "",
    "z_q.grad is not None and codes.grad is not None",
    CHOSEN_CODES,
    ("entries[index]", "codes).min(1)[1].float()", "codes).min(1)[1]\nz_q = codes[z_q]"),
    ("the scores that it was taken from", ".min(1)[1].float()", ".softmax(1) @ codes"),
    cut="index_made",
)
fix(
    "no_grad_fn/cut",
    "",
    "net.weight.grad is not None",
    """
net = nn.Linear(3, 4)
label = net(torch.ones(2, 3)).max(1)[1].float()
loss = (label - 1).pow(2).mean()
loss.backward()
""",
    (
        "the scores that it was taken from (softmax, cross_entropy)",
        "label = net(torch.ones(2, 3)).max(1)[1].float()\nloss = (label - 1).pow(2).mean()",
        "loss = F.cross_entropy(net(torch.ones(2, 3)), torch.tensor([1, 1]))",
    ),
    cut="index_made",
)
fix(
    "custom_backward/joined",
    "",
    "x.grad.equal(torch.tensor([[-1.0, 1.0]] * 3))",
    """
class Difference(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return (x[:, 1] - x[:, 0]).sum()
    @staticmethod
    def backward(ctx, grad):
        ones = grad * torch.ones(3)
        both = torch.cat([-ones, ones])
        return both
x = torch.ones(3, 2, requires_grad=True)
x.grad = torch.zeros(3, 2)
Difference.apply(x).backward()
""",
    (
        "torch.stack([…], dim=1) in the place of cat() where they are columns",
        "torch.cat([-ones, ones])",
        "torch.stack([-ones, ones], dim=1)",
    ),
)
fix_of_error(
    "hook_refused/changed",
    """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
def hook(module, grad_input, grad_output):
    return grad_input[0] * 2
net[1].register_full_backward_hook(hook)
net(torch.ones(1, 2)).sum().backward()
""",
    ("of a module's hook a tuple of these: (grad,)", "grad_input[0] * 2", "(grad_input[0] * 2,)"),
)
JOINED = """
net, losses = nn.Linear(3, 1), []
for x in torch.eye(3):
    losses.append(net(x).squeeze())
extra = nn.Linear(1, 1)(torch.ones(1)).sum()
loss = torch.tensor(losses).mean() + extra
loss.backward()
"""
fix(
    "rebuilt_from_value/severed",
    "net",
    "net.weight.grad is not None",
    JOINED,
    ("torch.stack(losses) in the place of torch.tensor(losses)", "torch.tensor(", "torch.stack("),
    cut="join_stacked",
)
fix(
    "rebuilt_from_value/severed",
    "net",
    "net.weight.grad is not None",
    JOINED.replace(".squeeze()", ""),
    ("torch.cat(losses) in the place of torch.tensor(losses)", "torch.tensor(", "torch.cat("),
    cut="join_catenated",
)
FROZEN_IN_PARTS = """
net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
for p in net[0].parameters():
    p.requires_grad = False
for p in net[1].parameters():
    p.requires_grad = False
loss = net(torch.ones(2, 3)).mean()
loss.backward()
"""
fix(
    "no_grad_fn/cut",
    "",
    "net[1].weight.grad is not None and net[0].weight.grad is None",
    FROZEN_IN_PARTS,
    (
        "in that one of these lines whose parameters are to learn, and only there",
        "net[1].parameters():\n    p.requires_grad = False",
        "net[1].parameters():\n    p.requires_grad = True",
    ),
    cut="flag_off_in_one",
)
fix(
    "made_non_leaf/parameters_moved",
    "net.factor",
    "net.factor.grad is not None and net.shift.grad is not None",
    """
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)
        self.factor = nn.Parameter(torch.ones(1)).to(torch.float64)
        self.shift = nn.Parameter(torch.zeros(1)).to(torch.float64)
    def forward(self, x):
        return self.layer(x).double() * self.factor + self.shift
net = Scale()
net(torch.ones(4, 3)).mean().backward()
""",
    (
        "nn.Parameter(…) around the moved tensor, of self.shift (line 6) too",
        "nn.Parameter(torch.ones(1)).to(torch.float64)",
        "nn.Parameter(torch.ones(1).to(torch.float64))",
        "nn.Parameter(torch.zeros(1)).to(torch.float64)",
        "nn.Parameter(torch.zeros(1).to(torch.float64))",
    ),
)
SLOPE = """
w, v, x = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1)), torch.tensor([-1.0, 2.0])
x = x * v
y = F.leaky_relu(x, negative_slope=float(w))
loss = y.sum()
loss.backward()
print(w.item())
"""
fix(
    "rebuilt_from_value/left_torch",
    "w",
    "w.grad is not None and w.grad.item() == -1",
    SLOPE,
    (
        "Write torch.where(x > 0, x, w * x) in the place of that call",
        "F.leaky_relu(x, negative_slope=float(w))",
        "torch.where(x > 0, x, w * x)",
    ),
    cut="number_argument",
)
fix(
    "rebuilt_from_value/left_torch",
    "w",
    "w.grad is not None and w.grad.item() == -1",
    SLOPE.replace(
        "y = F.leaky_relu(x, negative_slope=float(w))", "s = w.item()\ny = F.leaky_relu(x * 1, s)"
    ),
    (
        "Write h = x * 1 above it, and torch.where(h > 0, h, s * h) in the place of that call",
        "s = w.item()\ny = F.leaky_relu(x * 1, s)",
        "s, h = w, x * 1\ny = torch.where(h > 0, h, s * h)",
    ),
    cut="number_argument_after",
)
fix(
    "rebuilt_from_value/left_torch",
    "w",
    "w.grad is not None",
    SLOPE.replace(
        "F.leaky_relu(x, negative_slope=float(w))", "F.huber_loss(x, x + 3, delta=w.item())"
    ),
    (
        "write out what it computes with tensors, w as one of them",
        "F.huber_loss(x, x + 3, delta=w.item())",
        "w * (x - x - 3).abs() - 0.5 * w**2",
    ),
    cut="number_argument_unknown",
)
fix_of_error(
    "modified_in_place/written",
    """
w = torch.ones(3, requires_grad=True)
h = w.exp()
loss = (h * w).sum()
h[0] = 1
(loss + h.sum()).backward()
""",
    ("h = h.clone() above h[0] = 1", "h[0]", "h = h.clone()\nh[0]"),
)
fix_of_error(
    "modified_in_place/written",
    """
lin = nn.Linear(3, 3, bias=False)
x = torch.ones(2, 4, 3) + 1
t = x[:, 0].view(1, 2, 3)
t = t + lin(t)
x[:, 0] = t.view(2, 3)
x.sum().backward()
""",
    (
        "t = x[:, 0].view(1, 2, 3).clone() in the place of t = x[:, 0].view(1, 2, 3)",
        ".view(1, 2, 3)",
        ".view(1, 2, 3).clone()",
    ),
)
fix(
    "modified_in_place/written",
    "",
    "x[2, 0] == 3 and w.grad is not None",  # x has what was added to its row
    """
w = torch.ones(4, 3, requires_grad=True)
x = w * 2
squares = x * x
row = x[2]
row += 1
(squares.sum() + x.sum()).backward()
""",
    ("x.clone() in squares = x * x", "x * x", "x.clone() * x.clone()"),
)
fix_of_error(
    "modified_in_place/written",
    """
w, v = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
h = w + 1
one = (h * v).sum()
two = (h * v.exp()).sum()
h[0] = 1
(one + two + h.sum()).backward()
""",
    (
        "h.clone() in each of h * v (program.py line 3) and h * v.exp() (program.py line 4)",
        "h * v",
        "h.clone() * v",
    ),
)
fix_of_error(
    "hook_refused/changed",
    """
w = torch.ones(2, requires_grad=True)
h = w * 2
h.register_hook(lambda g: g.sum())
h.sum().backward()
""",
    ("of the shape and type", "g.sum())", "g.sum().expand(2))"),
    ("or None", "lambda g: g.sum()", "lambda g: None"),
)
fix_of_error(
    "no_grad_fn/cut",
    """
net = nn.Linear(2, 1)
with torch.no_grad():
    loss = net(torch.ones(1, 2)).sum()
    loss.backward()
""",
    ("out of the no_grad of line 2", "with torch.no_grad():", "if True:"),
    ("put all of that under torch.enable_grad()", "torch.no_grad()", "torch.enable_grad()"),
    ("loss.backward() (program.py line 4) does not belong there", "    loss.backward()\n", ""),
    cut="backward_out",
)
fix_of_error(
    "gradient_shape/start",
    """
w = torch.ones(2, requires_grad=True)
h = w * 2
h.backward(torch.ones(3))
""",
    ("torch.ones_like(h)", "torch.ones(3)", "torch.ones_like(h)"),
    (".sum() or .mean()", "h.backward(torch.ones(3))", "h.sum().backward()"),
)
fix_of_error(
    "gradient_shape/one_number",
    """
w = torch.ones(2, requires_grad=True)
loss = w.sum()
loss.backward(torch.ones(2))
""",
    ("call backward() without", "loss.backward(torch.ones(2))", "loss.backward()"),
)
fix_of_error(
    "gradient_shape/one_reshaped",
    """
w = torch.ones(2, requires_grad=True)
mone = torch.tensor([-1.0])
loss = w.sum()
loss.backward(mone)
assert w.grad.equal(-torch.ones(2))
""",
    ("mone.reshape(())", "backward(mone)", "backward(mone.reshape(()))"),
)

# --- errors: written, freed, not used -------------------------------------------------------------

fix_of_error(
    "modified_in_place/written",
    """
w = torch.ones(2, requires_grad=True)
h = w.exp()
h += 1
h.sum().backward()
""",
    ("h = h + 1 in the place of", "h += 1", "h = h + 1"),
)
fix_of_error(
    "modified_in_place/written",
    """
w = torch.ones(2, requires_grad=True)
h = w.exp()
h[0] = 7.0
h.sum().backward()
""",
    ("write into a clone", "w.exp()", "w.exp().clone()"),
)
fix_of_error(
    "modified_in_place/written",
    """
w, relu = torch.ones(2, requires_grad=True), nn.ReLU(inplace=True)
h = w.exp()
y = relu(h)
(h + y).sum().backward()
""",
    ("inplace=False", "inplace=True", "inplace=False"),
    cut="write_by_module",
)
fix_of_error(
    "modified_in_place/stepped",
    """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
one, two = net(torch.ones(1, 2)).sum(), net(torch.ones(1, 2)).pow(2).sum()
one.backward()
opt.step()
two.backward()
""",
    ("call two.backward() before", "opt.step()\ntwo.backward()", "two.backward()\nopt.step()"),
)
fix_of_error(
    "modified_in_place/stepped",
    """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
x = torch.ones(1, 2)
loss = net(x).pow(2).sum()
with torch.no_grad():
    for p in net.parameters():
        p *= 0.9
loss.backward()
""",
    (
        "call loss.backward() before the loop in program.py line 5",
        "    for p in net",
        "    loss.backward()\n    for p in net",
        "        p *= 0.9\nloss.backward()",
        "        p *= 0.9",
    ),
)
fix(
    "modified_in_place/stepped_again",
    "",
    "second.item() != first",
    """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
out = net(torch.ones(1, 2))
loss = out.pow(2).sum()
first = loss.item()
loss.backward(retain_graph=True)
opt.step()
opt.zero_grad()
second = loss
loss.backward()
opt.step()
""",
    (
        "and loss = out.pow(2).sum() (program.py line 4) once more above loss.backward()",
        "second = loss\nloss.backward()",
        "out = net(torch.ones(1, 2))\nloss = out.pow(2).sum()\nsecond = loss\nloss.backward()",
    ),
)
fix(
    "modified_in_place/stepped_again",
    "",
    "len(seen) == 2 and seen[0] != seen[1]",
    """
net, seen = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1)), []
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def update(loss):
    seen.append(loss.item())
    loss.backward(retain_graph=True)
    opt.step()
def train():
    loss = net(torch.ones(1, 2)).pow(2).sum()
    update(loss)
    update(loss)
train()
""",
    (
        "compute the loss anew after",
        "    update(loss)\ntrain()",
        "    loss = net(torch.ones(1, 2)).pow(2).sum()\n    update(loss)\ntrain()",
    ),
)
fix_of_error(
    "modified_in_place/stepped_dropped",
    """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
def climb():
    with torch.no_grad():
        for p in net.parameters():
            p.add_(p.grad * 0.1)
loss = net(torch.ones(1, 2)).pow(2).sum()
loss.backward(retain_graph=True)
climb()
net(torch.ones(1, 2)).pow(2).sum()
loss.backward()
""",
    (
        "loss = net(torch.ones(1, 2)).pow(2).sum() there",
        "climb()\nnet(torch",
        "climb()\nloss = net(torch",
    ),
)
fix_of_error(
    "modified_in_place/stepped_lines",
    """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def update():
    opt.step()
one = net(torch.ones(1, 2)).sum()
two = net(torch.ones(1, 2)).pow(2).sum()
one.backward()
update()
two.backward()
""",
    (
        "move two = net(torch.ones(1, 2)).pow(2).sum() below",
        "two = net(torch.ones(1, 2)).pow(2).sum()\none.backward()\nupdate()",
        "one.backward()\nupdate()\ntwo = net(torch.ones(1, 2)).pow(2).sum()",
    ),
    (
        "call two.backward() before that step",
        "update()\ntwo.backward()",
        "two.backward()\nupdate()",
    ),
)
fix(
    "modified_in_place/stepped_moved",
    "",
    "body.weight.grad is not None",
    """
body, head = nn.Linear(2, 2), nn.Linear(2, 1)
opt, head_opt = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (body, head))
made = body(torch.ones(1, 2))
head_loss = head(made.detach()).pow(2).sum()
body_loss = head(made).pow(2).sum()
head_loss.backward()
head_opt.step()
body_loss.backward()
opt.step()
""",
    (
        "move body_loss = head(made).pow(2).sum() below head_opt.step()",
        "body_loss = head(made).pow(2).sum()\nhead_loss.backward()\nhead_opt.step()",
        "head_loss.backward()\nhead_opt.step()\nbody_loss = head(made).pow(2).sum()",
    ),
)
fix_of_error(
    "second_backward/same_loss",
    """
w = torch.ones(2, requires_grad=True)
loss = w.exp().sum()
loss.backward()
loss.backward()
""",
    ("leave one of the two out", "loss.backward()\nloss.backward()", "loss.backward()"),
    ("loss anew", "loss.backward()\nloss", "loss.backward()\nloss = w.exp().sum()\nloss"),
    ("retain_graph=True", "loss.backward()\nloss", "loss.backward(retain_graph=True)\nloss"),
)
fix_of_error(
    "second_backward/same_graph",
    """
w = torch.ones(2, requires_grad=True)
h = w.exp()
loss = h.sum()
loss.backward()
h.backward(torch.ones(2))
""",
    ("loss anew", "h.backward", "h = w.exp()\nh.backward"),
    ("retain_graph=True", "loss.backward()", "loss.backward(retain_graph=True)"),
)
fix_of_error(
    "second_backward/shared",
    """
w = torch.ones(2, requires_grad=True)
h = w.exp()
one, two = h.sum(), h.pow(2).sum()
one.backward()
two.backward()
""",
    ("(one + two).backward()", "one.backward()\ntwo.backward()", "(one + two).backward()"),
    ("retain_graph=True", "one.backward()", "one.backward(retain_graph=True)"),
)
fix_of_error(
    "second_backward/carried",
    """
cell, head, h = nn.GRUCell(3, 5), nn.Linear(5, 1), None
for x in torch.ones(3, 1, 3):
    h = cell(x, h)
    head(h).sum().backward()
""",
    ("h = h.detach() after each backward", ".backward()", ".backward()\n    h = h.detach()"),
)
fix_of_error(
    "second_backward/carried_by_module",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.h = nn.GRUCell(3, 5), torch.zeros(1, 5)
    def forward(self, x):
        self.h = self.cell(x, self.h)
        return self.h.sum()
net = Net()
for x in torch.ones(3, 1, 3):
    net(x).backward()
""",
    (
        "self.h = self.h.detach() right above",
        "        self.h = self.cell",
        "        self.h = self.h.detach()\n        self.h = self.cell",
    ),
)
fix_of_error(
    "second_backward/carried_elsewhere",
    """
net, kept = nn.Linear(3, 3), {}
for i, x in enumerate(torch.ones(3, 2, 3)):
    z = net(x).tanh()
    kept.update({i: z})
    torch.stack([*kept.values()]).sum().backward()
""",
    ("keep z.detach()", "sum().backward()", "sum().backward()\n    kept[i] = z.detach()"),
)
fix_of_error(
    "second_backward/carried_in_list",
    """
net, bank = nn.Linear(3, 3), []
for x in torch.ones(3, 2, 3):
    z = net(x).tanh()
    bank.append(z)
    torch.stack(bank).sum().backward()
""",
    ("bank.clear() right after", "sum().backward()", "sum().backward()\n    bank.clear()"),
    (
        "bank[:] = [s.detach() for s in bank] there",
        "sum().backward()",
        "sum().backward()\n    bank[:] = [s.detach() for s in bank]",
    ),
)
fix_of_error(
    "second_backward/carried_in_list",
    """
class Agent:
    def __init__(self):
        self.net, self.log_probs, self.rewards = nn.Linear(3, 2), [], []
    def act(self, x):
        self.log_probs.append(self.net(x).log_softmax(0)[0])
        self.rewards.append(1.0)
    def update(self):
        loss = 0
        for log_prob, reward in zip(self.log_probs, self.rewards):
            loss = loss - log_prob * reward
        loss.backward()
agent = Agent()
for _ in range(3):
    for _ in range(4):
        agent.act(torch.randn(3))
    agent.update()
""",
    (
        "self.log_probs.clear() and self.rewards.clear() right after loss.backward()",
        "        loss.backward()",
        "        loss.backward()\n        self.log_probs.clear()\n        self.rewards.clear()",
    ),
)
fix_of_error(
    "second_backward/carried_in_list",  # the returns are of this episode alone, and end the zip
    """
policy, log_probs, rewards = nn.Linear(3, 2), [], []
def act(x):
    scores = policy(x).log_softmax(0)
    log_probs.append(scores[0])
    rewards.append(1.0)
def update():
    returns = torch.tensor(rewards)
    losses = []
    for log_prob, value in zip(log_probs, returns):
        losses.append(-log_prob * value)
    torch.stack(losses).sum().backward()
    rewards.clear()
for _ in range(3):
    for _ in range(4):
        act(torch.randn(3))
    update()
""",
    (
        "log_probs.clear() right after",
        "sum().backward()",
        "sum().backward()\n    log_probs.clear()",
    ),
)
fix_of_error(
    "second_backward/carried",  # a running sum: the first += adds to the number 0
    """
net, total = nn.Linear(3, 1), 0.0
for x in torch.ones(3, 2, 3):
    total += net(x).pow(2).mean()
    total.backward()
""",
    ("total = total.detach() after each", "backward()", "backward()\n    total = total.detach()"),
)
fix_of_error(
    "second_backward/carried",  # of an object, whose method calls the backward itself
    """
class Trainer:
    def __init__(self):
        self.net, self.loss = nn.Linear(3, 1), 0
    def step(self, x):
        self.loss += self.net(x).pow(2).mean() / 2
        self.loss.backward()
trainer = Trainer()
for x in torch.ones(3, 2, 3):
    trainer.step(x)
""",
    (
        "self.loss = self.loss.detach() after each backward",
        "self.loss.backward()",
        "self.loss.backward()\n        self.loss = self.loss.detach()",
    ),
)
fix_of_error(
    "second_backward/carried_by_module",  # the statement is longer than what is shown of a call
    """
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4)
        self.hidden = torch.zeros(1, 1, 4), torch.zeros(1, 1, 4)
    def forward(self, sentence):
        lstm_out, self.hidden = self.lstm(sentence.view(len(sentence), 1, -1) * 1.0 + 0.0, self.hidden)
        return lstm_out.sum()
net = Tagger()
for x in torch.ones(3, 2, 3):
    net(x).backward()
""",
    (
        "self.hidden = tuple(s.detach() for s in self.hidden) right above lstm_out, self.hidden",
        "        lstm_out, self",
        "        self.hidden = tuple(s.detach() for s in self.hidden)\n        lstm_out, self",
    ),
)
fix_of_error(
    "second_backward/carried_read",  # begun with None: the line that reads them had not run before
    """
class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.mean, self.var = nn.Linear(3, 3), None, None
    def forward(self, x):
        x = self.layer(x)
        mean, var = x.mean(0), x.var(0)
        self.mean = mean if self.mean is None else 0.9 * self.mean + 0.1 * mean
        self.var = var if self.var is None else 0.9 * self.var + 0.1 * var
        return ((x - self.mean) / self.var.sqrt()).pow(2).sum()
net = Norm()
for _ in range(3):
    net(torch.randn(4, 3)).backward()
""",
    (
        "self.mean.detach() in self.mean = mean if",
        "0.9 * self.mean + 0.1 * mean\n        self.var = var if self.var is None else 0.9 * self.var",
        "0.9 * self.mean.detach() + 0.1 * mean\n"
        "        self.var = var if self.var is None else 0.9 * self.var.detach()",
    ),
)
fix_of_error(
    "second_backward/carried_read",
    """
net, history = nn.Linear(3, 1), []
for x in torch.randn(3, 4, 3):
    loss = net(x).pow(2).mean()
    if history:
        loss = loss + 0.1 * (loss - history[-1]).abs()
    history.append(loss)
    loss.backward()
""",
    ("history[-1].detach() in", "history[-1])", "history[-1].detach())"),
)
fix_of_error(
    "second_backward/carried_by_module",  # two of them, begun with tensors
    """
class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.mean, self.var = nn.Linear(3, 3), torch.zeros(3), torch.ones(3)
    def forward(self, x):
        x = self.layer(x)
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
        self.var = 0.9 * self.var + 0.1 * x.var(0)
        return ((x - self.mean) / self.var.sqrt()).pow(2).sum()
net = Norm()
for _ in range(3):
    net(torch.randn(4, 3)).backward()
""",
    (
        "self.mean, self.var = self.mean.detach(), self.var.detach() right above self.mean = 0.9",
        "        self.mean = 0.9",
        "        self.mean, self.var = self.mean.detach(), self.var.detach()\n        self.mean = 0.9",
    ),
)
fix_of_error(
    "second_backward/carried_in_steps",  # in a loop inside of one call
    """
class Spiking(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.mem = nn.Linear(3, 3), torch.zeros(3)
    def step(self, x):
        self.mem = 0.9 * self.mem + self.layer(x)
        return torch.sigmoid(self.mem - 1)
    def forward(self, xs):
        return torch.stack([self.step(x) for x in xs]).sum()
net = Spiking()
for _ in range(3):
    net(torch.ones(4, 3)).backward()
""",
    (
        "for m in net.modules(): if hasattr(m, 'mem'): m.mem = m.mem.detach()",
        ".backward()\n",
        ".backward()\n    for m in net.modules():\n"
        "        if hasattr(m, 'mem'): m.mem = m.mem.detach()\n",
    ),
)
fix_of_error(
    "second_backward/shared",  # handed gradients, of shapes that do not add
    """
w = torch.ones(2, requires_grad=True)
h = w.exp()
one, two = h * torch.ones(3, 2), h.pow(2)
one.backward(torch.ones(3, 2))
two.backward(gradient=torch.ones(2))
""",
    (
        "torch.autograd.backward([one, two], [torch.ones(3, 2), torch.ones(2)])",
        "one.backward(torch.ones(3, 2))\ntwo.backward(gradient=torch.ones(2))",
        "torch.autograd.backward([one, two], [torch.ones(3, 2), torch.ones(2)])",
    ),
)
fix_of_error(
    "second_backward/let_in",  # by two doors
    """
body, head, critic = nn.Linear(2, 2), nn.Linear(2, 1), nn.Linear(2, 1)
opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
opt_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
one, two = body(torch.randn(4, 2)).tanh(), body(torch.randn(4, 2)).tanh()
d_loss = critic(one).pow(2).mean() + (critic(two) - 1).pow(2).mean()
d_loss.backward()
opt_critic.step()
opt.zero_grad()
loss = head(one).pow(2).mean() + critic(two).mean()
loss.backward()
opt.step()
""",
    (
        "one.detach() in d_loss = critic(one)",
        "d_loss = critic(one).pow(2).mean() + (critic(two)",
        "d_loss = critic(one.detach()).pow(2).mean() + (critic(two.detach())",
    ),
)
DROPPED = """
class State:
    def detach(self):
        for h in self.parts:
            h.detach()
state, cell = State(), nn.GRUCell(3, 5)
state.parts = [torch.zeros(1, 5)]
for x in torch.ones(3, 1, 3):
    state.parts = [cell(x, state.parts[0])]
    state.parts[0].sum().backward()
    state.detach()
"""
fix_of_error(
    "second_backward/dropped",
    DROPPED,
    ("h.detach_() there", "            h.detach()", "            h.detach_()"),
    (
        "assign what detach() returns",
        "        for h in self.parts:\n            h.detach()",
        "        self.parts = [h.detach() for h in self.parts]",
    ),
)
fix_of_error(
    "second_backward/dropped_view",
    DROPPED.replace("[cell(x, state.parts[0])]", "[cell(x, state.parts[0])[:, :]]"),
    (
        "assign what detach() returns",
        "        for h in self.parts:\n            h.detach()",
        "        self.parts = [h.detach() for h in self.parts]",
    ),
)
fix_of_error(
    "second_backward/once_learning_above",
    MADE_IN_A_CONSTRUCTOR,
    (
        "self.scale = self.log.exp() once more, right above return (x * self.scale).sum()",
        "        return (x",
        "        self.scale = self.log.exp()\n        return (x",
    ),
)
TARGET = """
true_w = torch.ones(2, 1, requires_grad=True)
w = torch.zeros(2, 1, requires_grad=True)
x = torch.randn(8, 2)
target = (x @ true_w).exp()
for _ in range(3):
    loss = (x @ w - target).pow(2).mean()
    loss.backward()
    STEP
"""
UPDATED = "with torch.no_grad():\n        w -= 0.1 * w.grad"
fix_of_error(
    "second_backward/once",
    TARGET.replace("STEP", UPDATED),
    (
        "make true_w without requires_grad",
        "true_w = torch.ones(2, 1, requires_grad=True)",
        "true_w = torch.ones(2, 1)",
    ),
    (
        "anew in each iteration",
        "for _ in range(3):",
        "for _ in range(3):\n    target = (x @ true_w).exp()",
    ),
)
fix_of_error(
    "second_backward/once",  # the second line saves nothing: told is what it is made of
    TARGET.replace("STEP", UPDATED).replace(".exp()\n", ".exp()\ntarget = target + 0.1\n"),
    (
        "make true_w without requires_grad",
        "true_w = torch.ones(2, 1, requires_grad=True)",
        "true_w = torch.ones(2, 1)",
    ),
    (
        "anew in each iteration, with all that is made of it",
        "for _ in range(3):",
        "for _ in range(3):\n    target = (x @ true_w).exp()\n    target = target + 0.1",
    ),
)
fix_of_error(
    "second_backward/once_unmoved",
    TARGET.replace("STEP", "pass"),
    (
        "add the losses",
        "for _ in range(3):\n    loss = (x @ w - target).pow(2).mean()\n    loss",
        "loss = sum((x @ w - target).pow(2).mean() for _ in range(3))\nif True:\n    loss",
    ),
    ("detach() what", ".exp()", ".exp().detach()"),
    (
        "anew in each iteration",
        "for _ in range(3):",
        "for _ in range(3):\n    target = (x @ true_w).exp()",
    ),
)
fix_of_error(
    "second_backward/once_result",
    """
w = torch.randn(3, 1, requires_grad=True) * 0.01
b = torch.zeros(1, requires_grad=True)
x = torch.randn(8, 3)
for _ in range(3):
    (x @ w + b).pow(2).mean().backward()
assert w.is_leaf
""",
    (
        "move and scale first",
        "torch.randn(3, 1, requires_grad=True) * 0.01",
        "torch.randn(3, 1).mul(0.01).requires_grad_()",
    ),
    ("leave requires_grad out", "3, 1, requires_grad=True", "3, 1"),
)
fix_of_error(
    "second_backward/once_alone_above",
    """
w = torch.ones(2, requires_grad=True)
h = w.exp()
for i in range(3):
    loss = (h * i).sum()
    loss.backward()
""",
    ("h = w.exp() once more, right above", "    loss = ", "    h = w.exp()\n    loss = "),
    (
        "add up the losses",
        "for i in range(3):\n    loss = (h * i).sum()\n    loss",
        "loss = sum((h * i).sum() for i in range(3))\nloss",
    ),
)
fix_of_error(
    "second_backward/once_alone",  # what is made anew there would be another layer
    """
w = torch.ones(2, requires_grad=True)
h = nn.Tanh()(w)
for i in range(3):
    loss = (h * i).sum()
    loss.backward()
""",
    ("anew in each iteration", "    loss = ", "    h = nn.Tanh()(w)\n    loss = "),
    (
        "add up the losses",
        "for i in range(3):\n    loss = (h * i).sum()\n    loss",
        "loss = sum((h * i).sum() for i in range(3))\nloss",
    ),
)
LEARNED_GRAPH = """
class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(3, 3))
    def forward(self):
        return torch.softmax(self.w.relu(), dim=1)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.learner, self.layer = Learner(), nn.Linear(3, 3)
        self.adj = self.learner()
    def forward(self, x):
        return READ
class Trainer:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
    def train(self, x):
        self.opt.zero_grad()
        loss = LOSS
        loss.backward()
        self.opt.step()
trainer = Trainer(Net())
for x in torch.randn(3, 4, 3):
    trainer.train(x)
"""
fix_of_error(
    "second_backward/once_learning_above",  # by a helper that returns it: told where it is kept
    LEARNED_GRAPH.replace("READ", "self.layer(x @ self.adj)").replace("LOSS", "self.net(x).sum()"),
    (
        "self.adj = self.learner() once more, right above return self.layer(x @ self.adj)",
        "        return self.layer",
        "        self.adj = self.learner()\n        return self.layer",
    ),
)
fix_of_error(
    "second_backward/once_learning_above",  # read outside of the class: at the begin of forward
    LEARNED_GRAPH.replace("READ", "self.layer(x)").replace(
        "LOSS", "(self.net(x) @ self.net.adj).sum()"
    ),
    (
        "self.adj = self.learner() once more, right above return self.layer(x)",
        "        return self.layer",
        "        self.adj = self.learner()\n        return self.layer",
    ),
)
fix_of_error(
    "second_backward/once_beside",
    """
policy = nn.Linear(3, 2)
opt = torch.optim.SGD(policy.parameters(), lr=0.1)
x, reward = torch.randn(5, 3), torch.randn(5)
old = policy(x).log_softmax(1)[:, 0]
for _ in range(3):
    new = policy(x).log_softmax(1)[:, 0]
    ratio = torch.exp(new - old)
    loss = -(ratio * reward).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ("old.detach() in ratio = torch.exp(new - old)", "new - old", "new - old.detach()"),
    ("anew in each iteration", "    new", "    old = policy(x).log_softmax(1)[:, 0]\n    new"),
)
GAN = """
G, D = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 2)), nn.Linear(2, 1)
opt_g, opt_d = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (G, D))
fake = G(torch.randn(4, 2))
"""
fix_of_error(
    "second_backward/not_meant",
    GAN
    + """
d_loss = D(fake).pow(2).mean()
d_loss.backward()
opt_d.step()
g_loss = (D(fake) - 1).pow(2).mean()
g_loss.backward()
opt_g.step()
""",
    ("fake.detach() in", "d_loss = D(fake)", "d_loss = D(fake.detach())"),
    (
        "(d_loss + g_loss).backward()",
        "d_loss.backward()\nopt_d.step()\n",
        "",
        "g_loss.backward()",
        "(d_loss + g_loss).backward()\nopt_d.step()",
    ),
)
fix_of_error(
    "second_backward/stepped_already",
    GAN
    + """
g_loss = (D(fake) - 1).pow(2).mean()
g_loss.backward()
opt_g.step()
d_loss = D(fake).pow(2).mean()
d_loss.backward()
opt_d.step()
""",
    ("fake.detach() in", "d_loss = D(fake)", "d_loss = D(fake.detach())"),
    ("compute fake anew", "d_loss =", "fake = G(torch.randn(4, 2))\nd_loss ="),
)
fix(
    "unused_input/constant_derivative",
    "",
    "second is not None and not second.any()",
    """
net, x, second = nn.Linear(2, 1), torch.ones(3, 2, requires_grad=True), None
first = torch.autograd.grad(net(x).sum(), x, create_graph=True)[0]
second = torch.autograd.grad(first.sum(), x)[0]
""",
    (
        "allow_unused=True in this call, and torch.zeros_like(x) for the None",
        "torch.autograd.grad(first.sum(), x)[0]",
        "torch.autograd.grad(first.sum(), x, allow_unused=True)[0]\n"
        "second = torch.zeros_like(x) if second is None else second",
    ),
)
fix_of_error(
    "unused_input/without_graph",
    """
w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
grads = torch.autograd.grad((w.pow(2) * v).sum(), w)
fast = w - 0.1 * grads[0]
loss = fast.pow(2).sum()
torch.autograd.grad(loss, v)
""",
    ("create_graph=True in grads = torch", "sum(), w)", "sum(), w, create_graph=True)"),
)
fix(
    "unused_input/part_first",
    "",
    "du is not None and du.shape == (4, 1)",
    """
net, points, du = nn.Linear(2, 1), torch.randn(4, 2, requires_grad=True), None
u = torch.tanh(net(points))
x, t = points[:, 0:1], points[:, 1:2]
du = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
""",
    (
        "u = torch.tanh(net(torch.cat([x, t], dim=1))) in the place of that",
        "u = torch.tanh(net(points))\nx, t = points[:, 0:1], points[:, 1:2]",
        "x, t = (points[:, 0:1], points[:, 1:2])\nu = torch.tanh(net(torch.cat([x, t], dim=1)))",
    ),
)
fix_of_error(
    "unused_input/part_of_used",
    """
net, points = nn.Linear(3, 1), torch.randn(4, 3, requires_grad=True)
u = torch.tanh(net(points)).sum()
du = torch.autograd.grad(u, points[:, 1])[0]
""",
    (
        "torch.autograd.grad(u, points)[0], and of that the same part",
        "points[:, 1])[0]",
        "points)[0][:, 1]",
    ),
)
fix(
    "unused_input/part_of_whole",
    "",
    "dv is not None and dv.shape == (4,)",
    """
net, points, dv = nn.Linear(3, 1), torch.randn(4, 3, requires_grad=True), None
u = torch.tanh(net(points))
x = points[:, 1]
du = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
dv = torch.autograd.grad(u.sum(), x)[0]
""",
    (
        "torch.autograd.grad(u.sum(), points, create_graph=True)[0][:, 1] in the place of",
        "torch.autograd.grad(u.sum(), x, create_graph=True)[0]",
        "torch.autograd.grad(u.sum(), points, create_graph=True)[0][:, 1]",
        "torch.autograd.grad(u.sum(), x)[0]",
        "torch.autograd.grad(u.sum(), points)[0][:, 1]",
    ),
)
fix_of_error(
    "unused_input/asked_too_late",
    """
p, net = torch.randn(4, 3), nn.Linear(3, 1)
def edges(p):
    return p[1:] - p[:-1]
vectors = edges(p)
for _ in range(2):
    p.requires_grad_()
    energy = net(vectors.tanh()).sum()
    force = torch.autograd.grad(energy, p)[0]
    with torch.no_grad():
        p += 0.1 * force
""",
    (
        "vectors = edges(p) once more below p.requires_grad_()",
        "    p.requires_grad_()",
        "    p.requires_grad_()\n    vectors = edges(p)",
    ),
)
fix_of_error(
    "unused_input/unused_among",
    """
w, v = torch.ones(2, requires_grad=True), torch.zeros(3, requires_grad=True)
loss = (w * 2).sum()
torch.autograd.grad(loss, [w, v])
""",
    ("compute loss", "(w * 2).sum()", "(w * 2).sum() + v.sum()"),
    ("do not ask for it", "[w, v]", "[w]"),
    ("allow_unused=True gives None", "[w, v]", "[w, v], allow_unused=True"),
)
fix_of_error(
    "unused_input/cut",
    """
w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
h = w * 2
loss = (h.detach() * v).sum()
torch.autograd.grad(loss, w)
""",
    ("leave detach() out", "h.detach()", "h"),
)
fix_of_error(
    "unused_input/copied",
    """
w = torch.ones(2, requires_grad=True)
loss = (w * 2).sum()
torch.autograd.grad(loss, w.clone())
""",
    ("ask for w", "w.clone()", "w"),
    (
        "compute loss from input 0",
        "loss = (w * 2).sum()\ntorch.autograd.grad(loss, w.clone())",
        "v = w.clone()\nloss = (v * 2).sum()\ntorch.autograd.grad(loss, v)",
    ),
)
fix_of_error(
    "unused_input/loop_name",
    """
model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
fast = [p.detach().clone().requires_grad_() for p in model.parameters()]
names, x = [n for n, _ in model.named_parameters()], torch.ones(2, 3)
for p, q in zip(model.parameters(), fast):
    p = q
loss = model(x).sum()
torch.autograd.grad(loss, fast)
""",
    (
        "torch.func.functional_call(model, dict(zip(names, fast)), x) in the place of model(x)",
        "loss = model(x).sum()",
        "loss = torch.func.functional_call(model, dict(zip(names, fast)), x).sum()",
    ),
)
fix_of_error(
    "unused_input/unused",
    """
w, v = torch.ones(2, requires_grad=True), torch.zeros(3, requires_grad=True)
loss = (w * 2).sum()
torch.autograd.grad(loss, v)
""",
    ("compute loss from v", "(w * 2)", "(v * 2)"),
)

fix_of_error(
    "second_backward/let_in",
    """
G, D = nn.Linear(4, 8), nn.Linear(8, 1)
opt_g, opt_d = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (G, D))
for _ in range(2):
    fake = G(torch.ones(6, 4))
    opt_d.zero_grad()
    D(fake).mean().backward()
    opt_d.step()
    opt_g.zero_grad()
    D(fake).mean().neg().backward()
    opt_g.step()
""",
    (
        "fake.detach() in D(fake)",
        "D(fake).mean().backward()\n    opt_d.step()",
        "D(fake.detach()).mean().backward()\n    opt_d.step()",
    ),
)
fix_of_error(
    "second_backward/made_in_vain",
    """
G, D = nn.Sequential(nn.Linear(4, 8), nn.Tanh()), nn.Linear(8, 1)
opt_g, opt_d = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (G, D))
for _ in range(2):
    fake = G(torch.randn(6, 4))
    opt_d.zero_grad()
    D(fake).mean().backward()
    opt_d.step()
    opt_g.zero_grad()
    again = G(torch.randn(6, 4))
    judged = D(fake)
    judged.mean().neg().backward()
    opt_g.step()
""",
    ("judged = D(again) in the place of judged = D(fake)", "judged = D(fake)", "judged = D(again)"),
)
fix_of_error(
    "second_backward/wiped_in_place",
    """
cell, state = nn.GRUCell(3, 4), torch.zeros(2, 4)
for _ in range(2):
    state.zero_()
    state = cell(torch.ones(2, 3), state)
    state.pow(2).sum().backward()
""",
    ("detach_() on it before", "    state.zero_()", "    state.detach_().zero_()"),
    ("(torch.zeros_like)", "    state.zero_()", "    state = torch.zeros_like(state)"),
)
fix_of_error(
    "unused_input/one_node",
    """
class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 6
    @staticmethod
    def backward(ctx, a, b):
        return 2 * a + 6 * b
def both(x):
    return Both.apply(x)
y, z = both(torch.ones(2, requires_grad=True))
torch.autograd.grad(z.sum(), y)
""",
    ("outside of that call", "(z.sum(), y)", "((y * 3).sum(), y)"),
)
fix_of_error(
    "unused_input/one_node_both",
    """
x = torch.ones(2, requires_grad=True)
first, second = (x * 2).unbind()
torch.autograd.grad(second, first)
""",
    ("what both were computed from", "(second, first)", "(second, x)"),
    ("compute second from first", "grad(second, first)", "grad(first * 1, first)"),
)
# --- faults that nothing shows --------------------------------------------------------------------

fix(
    "graph_kept/list",
    "net",
    "all(one.grad_fn is None for one in kept if torch.is_tensor(one))",
    """
net, kept = nn.Linear(2, 1), []
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(5):
    loss = net(torch.ones(1, 2)).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    kept.append(loss)
""",
    ("append(loss.item())", "append(loss)", "append(loss.item())"),
    ("loss.detach()", "append(loss)", "append(loss.detach())"),
)
fix(
    "graph_kept/sum",
    "net",
    "not torch.is_tensor(total) or total.grad_fn is None",
    """
net, total = nn.Linear(2, 1), 0.0
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(5):
    loss = net(torch.ones(1, 2)).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += loss
""",
    ("loss.item()", "total += loss", "total += loss.item()"),
    ("loss.detach()", "total += loss", "total += loss.detach()"),
)
fix_of_error(
    "modified_in_place/stepped_between_lines",
    """
actor, critic, x = nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1)), torch.randn(4, 3)
opt = torch.optim.SGD(critic.parameters(), lr=0.1)
h = actor(x)
values = critic(h)
returns = values.cumsum(0)
loss_critic = (values - returns.detach()).pow(2).mean()
loss_critic.backward(retain_graph=True)
opt.step()
loss_actor = -returns.mean()
loss_actor.backward()
""",
    (
        "values = critic(h) and returns = values.cumsum(0) again after opt.step()",
        "opt.step()\n",
        "opt.step()\nvalues = critic(h)\nreturns = values.cumsum(0)\n",
    ),
)
fix(
    "not_moved/step_in_no_call",
    "g",
    "not torch.equal(before, g.weight)",
    """
g, d = nn.Linear(2, 2), nn.Linear(2, 1)
opt_g = torch.optim.SGD(g.parameters(), lr=0.1)
opt_d = torch.optim.SGD(d.parameters(), lr=0.1)
def step_g():
    opt_g.step()
    opt_g.zero_grad()
def step_d():
    opt_d.step()
    opt_d.zero_grad()
before = g.weight.detach().clone()
for _ in range(4):
    loss = d(g(torch.ones(1, 2))).sum()
    loss.backward()
    step_d()
""",
    ("call step_g() after loss.backward()", "    step_d()", "    step_d(); step_g()"),
)
fix(
    "no_backward_yet/cleared_beside_steps",
    "net",
    "not torch.equal(before, net[0].weight)",
    """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
def train():
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    net[0] = nn.Linear(2, 2)
    before = net[0].weight.detach().clone()
    for _ in range(4):
        loss = net(torch.ones(1, 2)).sum()
        loss.backward()
        opt.step()
        net.zero_grad()
    return before
before = train()
""",
    (
        "make the optimizer after the last change",
        "    opt = torch.optim.SGD(net.parameters(), lr=0.1)\n    net[0] = nn.Linear(2, 2)\n",
        "    net[0] = nn.Linear(2, 2)\n    opt = torch.optim.SGD(net.parameters(), lr=0.1)\n",
    ),
    (
        "add_param_group()",
        "    net[0] = nn.Linear(2, 2)\n",
        "    net[0] = nn.Linear(2, 2)\n    opt.add_param_group({'params': list(net[0].parameters())})\n",
    ),
)
fix(
    "graph_kept/statistic",
    "net",
    "net.mean.grad_fn is None",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.mean = nn.Linear(2, 1), torch.zeros(1)
    def forward(self, x):
        out = self.linear(x)
        self.mean = 0.9 * self.mean + 0.1 * out.mean(0)
        return out
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(5):
    loss = net(torch.ones(4, 2)).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    (
        "with torch.no_grad(): around self.mean = 0.9 * self.mean",
        "        self.mean = 0.9",
        "        with torch.no_grad(): self.mean = 0.9",
    ),
)
fix_of_error(
    "second_backward/carried_between",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.hidden = nn.RNN(3, 4), None
    def forward(self, x):
        out, hidden = self.rnn(x, self.hidden)
        self.hidden = hidden
        return out[-1]
net = Net()
x = torch.randn(5, 2, 3)
first = net(x).pow(2).mean()
first.backward()
second = net(x).mean()
second.backward()
""",
    (
        "self.hidden = hidden.detach() in the place of self.hidden = hidden",
        "self.hidden = hidden\n",
        "self.hidden = hidden.detach()\n",
    ),
)
fix_of_error(
    "second_backward/carried_between_itself",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.h = nn.RNNCell(3, 4), torch.zeros(2, 4)
    def forward(self, x):
        self.h = self.cell(x, self.h)
        return 2 * self.h
net = Net()
first = net(torch.randn(2, 3)).pow(2).mean()
first.backward()
second = net(torch.randn(2, 3)).mean()
second.backward()
""",
    (
        "self.h = self.h.detach() right above self.h = self.cell(x, self.h)",
        "        self.h = self.cell(x, self.h)\n",
        "        self.h = self.h.detach()\n        self.h = self.cell(x, self.h)\n",
    ),
)
fix_of_error(
    "unused_input/made_there",
    """
x = torch.ones(3, requires_grad=True)
y = (x * 2).sum()
torch.autograd.grad(y, -x)
""",
    ("x in the place of -x", "(y, -x)", "(y, x)"),
)
fix(
    "changed_before_read/argument",
    "net, block",
    "kept[0].equal(kept[1])",
    """
net, kept = nn.Linear(2, 2), []
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.rep = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(2, 2))
    def forward(self, x):
        kept.append(x.detach().clone())
        out = self.rep(x)
        kept.append(x.detach().clone())
        return out + x
block = Block()
block(net(torch.tensor([[1.0, -1.0], [-1.0, 1.0]]))).sum().backward()
""",
    ("inplace=False", "inplace=True", "inplace=False"),
    (".clone()", "self.rep(x)", "self.rep(x.clone())"),
)
fix(
    "not_moved/in_list",
    "net, opt",
    "not net.scales[0].equal(torch.ones(2))",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.scales = [nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))]
    def forward(self, x):
        return (self.fc(x) * self.scales[0] * self.scales[1]).sum()
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(1, 2)).backward()
opt.step()
""",
    (
        "nn.ParameterList",
        "[nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))]",
        "nn.ParameterList([torch.ones(2), torch.ones(2)])",
    ),
)
fix(
    "not_moved/in_list",
    "net, opt",
    "not net.layers[0].weight.equal(before)",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head, self.layers = nn.Linear(2, 1), [nn.Linear(2, 2)]
    def forward(self, x):
        return self.head(self.layers[0](x)).sum()
net = Net()
before = net.layers[0].weight.detach().clone()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(1, 2)).backward()
opt.step()
""",
    ("nn.ModuleList", "[nn.Linear(2, 2)]", "nn.ModuleList([nn.Linear(2, 2)])"),
)
fix(
    "no_backward_yet/not_from_loss",
    "w, loss",
    "w.grad is not None",
    """
w = torch.ones(2, requires_grad=True)
loss = (w * 2).sum()
other = torch.ones(1, requires_grad=True)
other.sum().backward()
""",
    ("call backward()", "other.sum", "loss.backward()\nother.sum"),
)
fix(
    "no_backward_yet/given_back",
    "w",
    "got is not None",
    """
w = torch.ones(2, requires_grad=True)
torch.autograd.grad((w * 2).sum(), w)
got = w.grad
""",
    (
        "use what it returned",
        "torch.autograd",
        "grad, = torch.autograd",
        "got = w.grad",
        "got = grad",
    ),
    ("call backward()", "torch.autograd.grad((w * 2).sum(), w)", "(w * 2).sum().backward()"),
)
fix(
    "no_backward_yet/not_asked_for",
    "w",
    "grads[-1] is not None and w in grads[-1] or w.grad is not None",
    """
w, x = torch.ones((), requires_grad=True), torch.ones((), requires_grad=True)
grads = torch.autograd.grad(w * x, x), {x}
""",
    ("to autograd.grad, too", ", x), {x}", ", (x, w)), {x, w}"),
    ("call backward()", "torch.autograd.grad(w * x, x)", "(w * x).backward()"),
)
fix(
    "not_in_loss/only_copied",
    "w",
    "w.grad is not None or twin.grad is not None and read is twin.grad",
    """
w = torch.ones(2, requires_grad=True)
twin = copy.deepcopy(w)
loss = (twin * 2).sum()
loss.backward()
read = w.grad
""",
    ("from w", "(twin * 2)", "(w * 2)"),
    ("the copy's .grad", "read = w.grad", "read = twin.grad"),
)
fix(
    "modified_in_place/graph_of_loss",
    "loss",
    "again(loss) is None",
    """
w = torch.ones(2, requires_grad=True)
h = w.exp()
loss = h.sum()
h += 1
def again(loss):
    try:
        loss.backward(retain_graph=True)
    except RuntimeError as error:
        return error
""",
    (
        "compute loss anew",
        "def again",
        "loss = h.exp().sum()\nh2 = w.exp()\nloss = h2.sum()\ndef again",
    ),
    ("out of place", "h += 1", "h = h + 1"),
)

# --- more of gradients, of optimizers, of sizes ---------------------------------------------------

fix(
    "not_known/in_checkpoint",
    "w, loss",
    "w.grad is not None",
    """
w, x = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
loss = checkpoint(lambda x: x * w, x, use_reentrant=True).sum()
""",
    (
        "use_reentrant=False",
        "use_reentrant=True).sum()",
        "use_reentrant=False).sum()\nloss.backward()",
    ),
)
fix(
    "frozen/frozen_now",
    "w",
    "w.grad is None",
    """
w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
(w * v).sum().backward()
w.requires_grad_(False)
(w * v).sum().backward()
""",
    ("w.grad = None", "w.requires_grad_(False)", "w.requires_grad_(False)\nw.grad = None"),
)
fix(
    "frozen/frozen_since",
    "w",
    "w.grad is None",
    """
w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w, v], lr=0.1)
(w * v).sum().backward()
opt.step()
w.requires_grad_(False)
(w * v).sum().backward()
""",
    ("w.grad = None", "w.requires_grad_(False)", "w.requires_grad_(False)\nw.grad = None"),
)
fix(
    "cut/aliased",
    "h",
    "w.grad is not None",
    """
w, v = torch.ones(2, requires_grad=True), torch.ones(4, requires_grad=True)
h = w * 2
h.retain_grad()
buffer = torch.zeros(4)
buffer.data[:2] = h
(buffer * v).sum().backward()
""",
    ("write into buffer itself", "buffer.data[:2]", "buffer[:2]"),
    ("torch.cat", "buffer.data[:2] = h", "buffer = torch.cat([h, torch.zeros(2)])"),
)
fix(
    "cut/part_goes_on",
    "w",
    "w.grad is not None",
    """
w, v = torch.tensor([1.0, 3.0], requires_grad=True), torch.ones(1, requires_grad=True)
values, index = (w * 2).max(0)
(index * v).sum().backward()
""",
    ("let the loss use that too", "(index * v)", "(index * v + values)"),
)
fix(
    "not_in_loss/twin_used",
    "w",
    "w.grad is not None",
    """
w = torch.ones(2, requires_grad=True)
twin = nn.Parameter(w)
(twin * 2).sum().backward()
""",
    ("use w itself", "(twin * 2)", "(w * 2)"),
)
fix(
    "cut/made_a_leaf",
    "w",
    "w.grad is not None",
    """
w = torch.ones(2, requires_grad=True)
scale = nn.Parameter(w.exp())
scale.sum().backward()
""",
    ("without nn.Parameter()", "nn.Parameter(w.exp())", "w.exp()"),
)
fix(
    "not_in_loss/leads_elsewhere",
    "w",
    "w.grad is not None",
    """
w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
parts = []
parts.append(w.pow(2).sum())
loss = (v * 2).sum()
loss.backward()
""",
    ("add what was made", "loss = (v * 2).sum()", "loss = (v * 2).sum() + parts[0]"),
    ("its own loss", "loss.backward()", "loss.backward()\nparts[0].backward()"),
)
fix(
    "not_in_loss/in_earlier_loss",
    "w",
    "w.grad is not None",
    """
w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
w.pow(2).sum().backward()
w.grad = None
loss = (v * 2).sum()
loss.backward()
""",
    ("use it on the way there", "(v * 2)", "(v * 2 * w)"),
)
fix(
    "rebound/added_to",
    "w",
    "w.grad is not None",
    """
w = torch.ones(2, requires_grad=True)
w.pow(2).sum().backward()
w = w + 0.1 * w.grad
w.pow(2).sum().backward()
""",
    ("with torch.no_grad():", "w = w + 0.1", "with torch.no_grad():\n    w += 0.1"),
    ("requires_grad_() it", "* w.grad", "* w.grad\nw = w.detach().requires_grad_()"),
)
fix(
    "no_backward_yet/cleared",
    "w",
    "w.grad is not None",
    """
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
w.sum().backward()
opt.zero_grad()
""",
    ("call backward again", "opt.zero_grad()", "opt.zero_grad()\nw.sum().backward()"),
)
fix(
    "nan/own_backward",
    "w",
    "w.grad.isfinite().all()",
    """
class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x > 0).float()
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        low = torch.exp(-25 * x)
        return g * 25 * low / (1 + low).pow(2)
w = torch.tensor([-9.0, 0.1], requires_grad=True)
Spike.apply(w).sum().backward()
""",
    ("torch.exp((-25 * x).clamp(max=20))", "(-25 * x)", "((-25 * x).clamp(max=20))"),
)
fix(
    "nan/own_backward",
    "w",
    "w.grad.isfinite().all()",
    """
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.norm()
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * x / x.norm()
w = torch.zeros(2, requires_grad=True)
Length.apply(w).backward()
""",
    ("g * x / (x.norm() + 1e-08)", "x / x.norm()", "x / (x.norm() + 1e-08)"),
)
fix(
    "exploding/own_backward",
    "w",
    "w.grad.isfinite().all()",
    """
class Root(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sqrt()
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * 0.5 * torch.rsqrt(x)
w = torch.zeros(2, requires_grad=True)
Root.apply(w).sum().backward()
""",
    ("torch.rsqrt(x.clamp(min=1e-08))", "rsqrt(x)", "rsqrt(x.clamp(min=1e-08))"),
)
fix(
    "cut/returned_none_at",
    "w",
    "w.grad is not None",
    """
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x * 2 + y
    @staticmethod
    def backward(ctx, g):
        return None, g
w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
Twice.apply(w, v).sum().backward()
""",
    ("return its gradient", "return None, g", "return g * 2, g"),
)
fix(
    "cut/returned_none",
    "w",
    "w.grad is not None",
    """
def gradients_of(g):
    return None, g
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x * 2 + y
    @staticmethod
    def backward(ctx, g):
        return gradients_of(g)
w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
Twice.apply(w, v).sum().backward()
""",
    ("return its gradient", "return None, g", "return g * 2, g"),
)
fix(
    "cut/returned_none_rounded",
    "w",
    "w.grad is not None",
    """
class Steps(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        steps = torch.round(x / scale)
        return steps * scale
    @staticmethod
    def backward(ctx, g):
        grad_scale = None
        return g, grad_scale
w, x = torch.ones(2, requires_grad=True), torch.rand(2, requires_grad=True)
Steps.apply(x, w).sum().backward()
""",
    ("return its gradient there", "grad_scale = None", "grad_scale = g * 1.0"),
    (
        "no Function",
        "Steps.apply(x, w).sum()",
        "v = x / w\nsteps = v + (v.round() - v).detach()\n(steps * w).sum()",
    ),
)
fix(
    "zero_gradient/zeroed",
    "w",
    "not w.equal(torch.ones(2))",
    """
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
w.sum().backward()
opt.zero_grad(set_to_none=False)
opt.step()
""",
    (
        "zero_grad, backward, step",
        "w.sum().backward()\nopt.zero_grad(set_to_none=False)",
        "opt.zero_grad(set_to_none=False)\nw.sum().backward()",
    ),
)
fix(
    "zero_gradient/scaled_to_zeros",
    "net.weight",
    "not net.weight.equal(before)",
    """
net = nn.Linear(2, 1)
before = net.weight.detach().clone()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(1, 2)).sum().backward()
nn.utils.clip_grad_value_(net.parameters(), 0)
opt.step()
""",
    ("a bound, or a factor, above 0", "net.parameters(), 0)", "net.parameters(), 1.0)"),
)
fix(
    "shared_snapshot/followed",
    "before",
    "not before.equal(w)",
    """
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
before = w.detach()
w.sum().backward()
opt.step()
""",
    ("tensor.detach().clone()", "w.detach()", "w.detach().clone()"),
)
fix(
    "shared_snapshot/shares",
    "net, best",
    "not best['weight'].equal(net.weight)",
    """
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
best = net.state_dict()
net(torch.ones(1, 2)).sum().backward()
opt.step()
""",
    ("copy.deepcopy(model.state_dict())", "net.state_dict()", "copy.deepcopy(net.state_dict())"),
)
fix(
    "leftover_grad_moves/moved",
    "net, opt",
    "net.weight.equal(before)",
    """
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(1, 2)).sum().backward()
net.weight.requires_grad_(False)
before = net.weight.detach().clone()
net(torch.ones(1, 2)).sum().backward()
opt.step()
""",
    (
        ".grad = None when freezing",
        "net.weight.requires_grad_(False)",
        "net.weight.requires_grad_(False)\nnet.weight.grad = None",
    ),
    ("leave it out", "net.parameters()", "[net.bias]"),
)
fix(
    "leftover_grad_moves/would_move",
    "net, opt",
    "opt.step() or net.weight.equal(before)",
    """
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(1, 2)).sum().backward()
net.weight.requires_grad_(False)
before = net.weight.detach().clone()
""",
    (
        ".grad = None when freezing",
        "net.weight.requires_grad_(False)",
        "net.weight.requires_grad_(False)\nnet.weight.grad = None",
    ),
    ("leave it out", "net.parameters()", "[net.bias]"),
)
fix(
    "batch_norm_moves/moved_in_train_mode",
    "net",
    "net[0].running_mean.equal(torch.zeros(2))",
    """
net = nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 1))
for p in net[0].parameters():
    p.requires_grad_(False)
opt = torch.optim.SGD(net[1].parameters(), lr=0.1)
net(torch.randn(8, 2) + 3).sum().backward()
opt.step()
""",
    ("eval() on the frozen modules, after", "opt = torch", "net[0].eval()\nopt = torch"),
)
fix(
    "batch_norm_moves/moved_by_train",
    "net",
    "net[0].running_mean.equal(torch.zeros(2))",
    """
net = nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 1))
for p in net[0].parameters():
    p.requires_grad_(False)
opt = torch.optim.SGD(net[1].parameters(), lr=0.1)
net.train()
net(torch.randn(8, 2) + 3).sum().backward()
opt.step()
""",
    ("net.eval() in the place of net.train()", "net.train()", "net.eval()"),
)
fix(
    "changed_before_read/past_autograd",
    "x, loss",
    "x.grad.equal(torch.tensor([18.0, 1800.0]))",
    """
x = torch.ones(2, requires_grad=True)
y = x * 3
y.data[1] = y.data[1] * 10
loss = (y**2).sum()
loss.backward()
""",
    ("a product", "y.data[1] = y.data[1] * 10", "y = y * torch.tensor([1.0, 10.0])"),
    ("write y itself, without .data", "y.data[1] = y.data[1] * 10", "y[1] = y[1] * 10"),
)
fix(
    "eval_mode/left",
    "net, opt",
    "net.training",
    """
net = nn.Sequential(nn.Linear(2, 1), nn.Dropout(0.5))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    net(torch.ones(4, 2)).sum().backward()
    opt.step()
    net.eval()
""",
    (
        "net.train() at the start",
        "    opt.step()\n    net.eval()\n",
        "    opt.step()\n    net.eval()\n    net.train()\n",
    ),
    ("after each validation", "    net.eval()\n", "    net.eval()\n    net.train()\n"),
)
fix(
    "extra_gradient/twin_held",
    "net, target, opt, loss",
    "target.weight.grad is None",
    """
net, target = nn.Linear(2, 1), nn.Linear(2, 1)
target.load_state_dict(net.state_dict())
opt = torch.optim.SGD([*net.parameters(), *target.parameters()], lr=0.1)
value = 1 + target(torch.ones(4, 2))
loss = F.mse_loss(net(torch.ones(4, 2)), value)
opt.zero_grad()
loss.backward()
opt.step()
""",
    ("value.detach()", "2)), value)", "2)), value.detach())"),
    ("under torch.no_grad()", "value = 1 +", "with torch.no_grad():\n    value = 1 +"),
)
fix(
    "non_leaf_in_optimizer/holds_result",
    "w, opt",
    "not w.equal(before)",
    """
leaf = torch.ones(2, requires_grad=True)
w, before = leaf, torch.ones(2)
opt = torch.optim.SGD([w], lr=0.1)
w = leaf * 1
opt.param_groups[0]["params"][0] = w
w.sum().backward()
opt.step()
""",
    ("give the optimizer the leaf", "w = leaf * 1\n", ""),
)
fix(
    "not_moved/holds_none",
    "net, opt",
    "not net.weight.equal(before)",
    """
net, other = nn.Linear(2, 1), nn.Linear(2, 1)
before = net.weight.detach().clone()
opt = torch.optim.SGD(other.parameters(), lr=0.1)
net(torch.ones(1, 2)).sum().backward()
opt.step()
""",
    ("from this model's parameters", "other.parameters()", "net.parameters()"),
)
fix(
    "shared_snapshot/frozen_shares",
    "twin, net",
    "not twin.weight.equal(net.weight)",
    """
net, twin = nn.Linear(2, 1), nn.Linear(2, 1)
for p, q in zip(twin.parameters(), net.parameters()):
    p.data = q.data
    p.requires_grad_(False)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(1, 2)).sum().backward()
opt.step()
""",
    ("p.data.copy_(q.data)", "p.data = q.data", "p.data.copy_(q.data)"),
)
fix(
    "not_moved/in_list",
    "net, loss",
    "not net.layers[0].weight.equal(before)",
    """
class Listed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(2, 2), nn.Linear(2, 2)]
    def forward(self, x):
        return self.layers[1](self.layers[0](x))
net, head = Listed(), nn.Linear(2, 1)
opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
before = net.layers[0].weight.detach().clone()
loss = head(net(torch.ones(1, 2))).sum()
loss.backward()
opt.step()
""",
    (
        "net.layers as nn.ModuleList",
        "[nn.Linear(2, 2), nn.Linear(2, 2)]",
        "nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])",
    ),
)
fix(
    "not_moved/made_again",
    "net",
    "not net[1].weight.equal(before)",
    """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
before = net[1].weight.detach().clone()
loss = net(torch.ones(1, 2)).sum()
loss.backward()
opt.step()
""",
    (
        "make the optimizer below",
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nnet = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))\n",
        "net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n",
    ),
    (
        "leave that line out",
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nnet = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))\n",
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\n",
    ),
)
fix(
    "not_moved/replaced",
    "net, opt",
    "not net[1].weight.equal(before)",
    """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net[1] = nn.Linear(2, 3)
before = net[1].weight.detach().clone()
loss = net(torch.ones(1, 2)).sum()
loss.backward()
opt.step()
""",
    (
        "when the model is complete",
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nnet[1] = nn.Linear(2, 3)\n",
        "net[1] = nn.Linear(2, 3)\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n",
    ),
    (
        "add_param_group()",
        "before =",
        "opt.add_param_group({'params': list(net[1].parameters())})\nbefore =",
    ),
)
fix(
    "nan/forward_call",
    "w",
    "bool(loss.isfinite())",
    """
w = torch.tensor([-1.0, 2.0], requires_grad=True)
loss = torch.log(w).sum()
loss.backward()
""",
    ("clamp(min=1e-6)", "torch.log(w)", "torch.log(w.clamp(min=1e-6))"),
)
fix(
    "overwritten/through_data",
    "w, loss",
    "w.grad.equal(torch.ones(2).exp())",
    """
w = torch.ones(2, requires_grad=True)
h = w.exp()
loss = h.sum()
h.data.mul_(5)
loss.backward()
""",
    ("write after backward", "h.data.mul_(5)\nloss.backward()", "loss.backward()\nh.data.mul_(5)"),
)
DEEP = """
layers = [nn.Linear(8, 8) for _ in range(24)]
net = nn.Sequential(*[one for layer in layers for one in (layer, nn.Sigmoid())], nn.Linear(8, 1))
net(torch.randn(4, 8)).sum().backward()
"""
fix(
    "vanishing/modules",
    "net",
    "next(net.parameters()).grad.norm() > 1e-4 * net[-1].weight.grad.norm()",
    DEEP,
    ("normalisation", "nn.Sigmoid()", "nn.BatchNorm1d(8)"),
    (
        "residual path",
        "(layer, nn.Sigmoid())",
        "(Around(layer),)",
        "layers =",
        "class Around(nn.Module):\n    def __init__(self, inner):\n        super().__init__()\n        self.inner = inner\n    def forward(self, x):\n        return x + self.inner(x)\nlayers =",
    ),
)
fix(
    "exploding/arriving",
    "net",
    "net[0].bias.grad.norm() < 1e4 * net[-1].bias.grad.norm()",
    """
net = nn.Sequential(*[nn.Linear(8, 8) for _ in range(12)], nn.Linear(8, 1))
for p in net.parameters():
    p.data.mul_(20)
net(torch.randn(4, 8)).sum().backward()
""",
    ("smaller initial weights", "p.data.mul_(20)", "p.data.mul_(0.5)"),
)

# --- training loops -------------------------------------------------------------------------------

fix(
    "gradients_pile_up/between_steps",
    "w",
    "torch.allclose(w, torch.full((2,), 0.7))",  # three steps of 0.1
    """
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
for _ in range(3):
    loss = w.sum()
    loss.backward()
    opt.step()
""",
    (
        "opt.zero_grad() in each iteration, before loss.backward()",
        "    loss.backward()",
        "    opt.zero_grad()\n    loss.backward()",
    ),
    ("right after the step", "opt.step()", "opt.step()\n    opt.zero_grad()"),
)
fix(
    "gradients_pile_up/between_steps_of_several",
    "w",
    "torch.allclose(w, torch.full((2,), 0.7))",  # three steps of 0.1, each of two halves
    """
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
for k in range(6):
    loss = w.sum()
    (loss / 2).backward()
    if k % 2:
        opt.step()
""",
    ("opt.zero_grad() right after opt.step()", "opt.step()", "opt.step()\n        opt.zero_grad()"),
)
fix(
    "gradients_pile_up/in_a_closure",
    "w",
    "all(len(one) == 1 for one in sums)",
    """
w = torch.ones(2, requires_grad=True)
opt = torch.optim.LBFGS([w], lr=0.1, max_iter=4)
sums = []
def closure():
    loss = w.pow(4).sum()
    loss.backward()
    sums.append({*w.grad.sub(4 * w.detach() ** 3).abs().gt(1e-5).tolist()} | {False})
    return loss
for _ in range(2):
    opt.step(closure)
    opt.zero_grad()
""",
    (
        "opt.zero_grad() as the first line of closure",
        "def closure():\n",
        "def closure():\n    opt.zero_grad()\n",
    ),
)
fix(
    "gradients_pile_up/between_two_losses",
    "D",
    "D.grad.tolist() == [2, 2]",  # of its own loss alone
    """
G, D = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
opt_g, opt_d = torch.optim.SGD([G], lr=0.1), torch.optim.SGD([D], lr=0.1)
for _ in range(3):
    opt_g.zero_grad()
    loss_g = (G * D).sum()
    loss_g.backward()
    opt_g.step()
    loss_d = (2 * D).sum()
    loss_d.backward()
    opt_d.step()
""",
    (
        "opt_d.zero_grad() in each iteration, after loss_g.backward() ",
        "    loss_d.backward()",
        "    opt_d.zero_grad()\n    loss_d.backward()",
    ),
)
fix(
    "gradients_pile_up/after_another_step",
    "w",
    "w.grad.tolist() == [1, 1]",
    """
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
for _ in range(3):
    opt.zero_grad()
    w.sum().backward()
    with torch.no_grad():
        w.add_(0.05 * w.grad)
    second = w.sum()
    second.backward()
    opt.step()
""",
    (
        "opt.zero_grad() right before second.backward()",
        "    second.backward()",
        "    opt.zero_grad()\n    second.backward()",
    ),
)
fix(
    "gradients_pile_up/values_cleared",
    "w",
    "torch.allclose(w, torch.full((2,), 0.7))",
    """
w = torch.ones(2, requires_grad=True)
for _ in range(3):
    loss = w.sum()
    loss.backward()
    w.data -= 0.1 * w.grad
    w.data.zero_()
""",
    ("w.grad.zero_() there, in the place of that", "    w.data.zero_()", "    w.grad.zero_()"),
)
fix(
    "gradients_pile_up/between_updates",
    "w",
    "torch.allclose(w, torch.full((2,), 0.7))",
    """
w = torch.ones(2, requires_grad=True)
for _ in range(3):
    loss = w.sum()
    loss.backward()
    w.data -= 0.1 * w.grad
""",
    ("set .grad of w to None after each update", "w.grad\n", "w.grad\n    w.grad = None\n"),
    (".grad.zero_()", "w.grad\n", "w.grad\n    w.grad.zero_()\n"),
)
fix(
    "gradients_pile_up/read_between",
    "w",
    "norms[0].equal(norms[1])",
    """
w, norms = torch.ones(2, requires_grad=True), []
for _ in range(2):
    loss = w.sum()
    loss.backward()
    norms.append(w.grad.norm())
""",
    (".grad = None) before", "    loss.backward()", "    w.grad = None\n    loss.backward()"),
    (
        "torch.autograd.grad(loss, parameters)",
        "    loss.backward()",
        "    (g,) = torch.autograd.grad(loss, [w])",
        "w.grad.norm()",
        "g.norm()",
    ),
)
fix(
    "cleared_too_often/before_step",
    "w",
    "torch.allclose(w, torch.full((2,), 0.7))",  # two steps of 0.1 times the mean of 1 and 2
    """
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
for i in range(4):
    loss = (w * (1 + i % 2)).sum() / 2
    opt.zero_grad()
    loss.backward()
    if i % 2 == 1:
        opt.step()
""",
    (
        "right after the step only",
        "    opt.zero_grad()\n",
        "",
        "        opt.step()",
        "        opt.step()\n        opt.zero_grad()",
    ),
)
# two optimizers: each is cleared by its own call, at its own line
fix(
    "cleared_too_often/before_step",
    "w, v",
    "torch.allclose(w, torch.full((2,), 0.85)) and torch.allclose(v, torch.full((2,), 0.7))",
    """
w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
opt_w, opt_v = torch.optim.SGD([w], lr=0.1), torch.optim.SGD([v], lr=0.1)
for i in range(2):
    first = (w * (1 + i) * v.detach()).sum() / 2 + 0 * v.sum()
    opt_w.zero_grad()
    first.backward()
    if i == 1:
        opt_w.step()
    second = (v * (2 + 2 * i)).sum() / 2
    opt_v.zero_grad()
    second.backward()
    if i == 1:
        opt_v.step()
""",
    (
        "opt_w.step() and opt_v.step() in the loop, after each backward; or, if one step of all is meant, clear right after",
        "    opt_w.zero_grad()\n",
        "",
        "    opt_v.zero_grad()\n    second",
        "    second",
    ),
)
fix(
    "cleared_too_often/never_stepped",
    "w",
    "not w.equal(torch.ones(2))",
    """
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
for _ in range(3):
    opt.zero_grad()
    loss = w.sum()
    loss.backward()
    opt.step
""",
    ("with its parentheses", "opt.step", "opt.step()"),
)
fix(
    "cleared_too_often/never_stepped",
    "w",
    "not w.equal(torch.ones(2))",
    """
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
for _ in range(3):
    loss = w.sum()
    loss.backward()
    opt.zero_grad()
    opt.step()
""",
    (
        "before zero_grad()",
        "    opt.zero_grad()\n    opt.step()",
        "    opt.step()\n    opt.zero_grad()",
    ),
)
fix(
    "cleared_too_often/only_scheduled",
    "w",
    "not w.equal(torch.ones(2))",
    """
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
sched = torch.optim.lr_scheduler.StepLR(opt, 10)
for _ in range(3):
    opt.zero_grad()
    loss = w.sum()
    loss.backward()
    sched.step()
""",
    (
        "opt.step() after loss.backward(), in the place of sched.step()",
        "sched.step()",
        "opt.step()",
    ),
    ("the scheduler's step after it", "    sched.step()", "    opt.step()\n    sched.step()"),
)
fix(
    "eval_mode/stepped",
    "net",
    "not net[1].running_mean.equal(torch.zeros(3))",
    """
net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net.eval()
for _ in range(2):
    opt.zero_grad()
    net(torch.randn(8, 2)).pow(2).mean().backward()
    opt.step()
""",
    (".train() before the training loop", "for _", "net.train()\nfor _"),
)
fix(
    "eval_mode/stepped_again",
    "net",
    "not net[1].running_mean.equal(torch.zeros(3))",
    """
net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)

def predicted(x):
    net.eval()
    with torch.no_grad():
        return net(x)

for _ in range(2):
    net.train()
    x = torch.randn(8, 2)
    target = predicted(x) + 1
    opt.zero_grad()
    loss = (net(x) - target).pow(2).mean()
    loss.backward()
    opt.step()
""",
    (
        "net.train() right before net(x)",
        "    loss = (net(x)",
        "    net.train()\n    loss = (net(x)",
    ),
)
CLIPPED = "torch.nn.utils.clip_grad_norm_([w], 0.01)\n"
fix(
    "clipped_wrong/after_use",
    "w",
    "(w - torch.ones(2)).norm() < 0.031",  # three steps of at most 0.01
    f"""
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=1.0)
for _ in range(3):
    opt.zero_grad()
    (w * 3).sum().backward()
    opt.step()
    {CLIPPED}
""",
    (
        "between loss.backward() and optimizer.step()",
        f"    opt.step()\n    {CLIPPED}",
        f"    {CLIPPED}    opt.step()\n",
    ),
)
fix(
    "clipped_wrong/nothing_there",
    "w",
    "(w - torch.ones(2)).norm() < 0.011",
    f"""
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=1.0)
loss = (w * 3).sum()
{CLIPPED}loss.backward()
opt.step()
""",
    (
        "between loss.backward() and optimizer.step()",
        f"{CLIPPED}loss.backward()\n",
        f"loss.backward()\n{CLIPPED}",
    ),
)
fix(
    "clipped_wrong/each_backward",
    "w",
    "torch.allclose(w[0] / w[1], torch.tensor(10.0))",  # as large as the gradients of the parts
    """
w, parts = torch.zeros(2, requires_grad=True), torch.tensor([[10.0, 0.0], [0.0, 1.0]])
opt = torch.optim.SGD([w], lr=0.1)
for part in parts:
    (w * part).sum().backward()
    torch.nn.utils.clip_grad_norm_([w], 1.0)
opt.step()
""",
    (
        "clip once, right before",
        "    torch.nn.utils.clip_grad_norm_",
        "torch.nn.utils.clip_grad_norm_",
    ),
)
fix(
    "clipped_wrong/scaled",
    "w",
    "torch.allclose((w - torch.ones(2)).norm(), torch.tensor(0.1))",
    """
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
scaler.scale((w * 3).sum()).backward()
torch.nn.utils.clip_grad_norm_([w], 1.0)
scaler.step(opt)
scaler.update()
""",
    ("scaler.unscale_(optimizer) before", "torch.nn.utils", "scaler.unscale_(opt)\ntorch.nn.utils"),
)

# --- freezes, rates, groups, and what a module holds ----------------------------------------------

PARTLY = """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
before = copy.deepcopy(net[0].state_dict())
{freeze}
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(1, 2)).sum().backward()
opt.step()
"""
STAYED = "all(value.equal(before[name]) for name, value in net[0].state_dict().items())"
fix(
    "freeze_without_effect/on_module",
    "net",
    STAYED,
    PARTLY.format(freeze="net[0].requires_grad = False"),
    ("requires_grad_(False)", "net[0].requires_grad = False", "net[0].requires_grad_(False)"),
    (
        "for each p in",
        "net[0].requires_grad = False",
        "for p in net[0].parameters():\n    p.requires_grad = False",
    ),
)
fix(
    "freeze_without_effect/on_parameter",
    "net",
    "net[0].weight.equal(before['weight'])",
    PARTLY.format(freeze="net[0].weight.require_grad = False"),
    (".requires_grad = False", ".require_grad = False", ".requires_grad = False"),
    (".requires_grad_(False)", ".require_grad = False", ".requires_grad_(False)"),
)
fix(
    "freeze_without_effect/on_data",
    "net",
    STAYED,
    PARTLY.format(freeze="for p in net[0].parameters():\n    p.data.requires_grad = False"),
    ("p.requires_grad = False", "p.data.requires_grad", "p.requires_grad"),
)
AGAIN = "for p in net.parameters():\n    p.requires_grad = True\n"
fix(
    "freeze_without_effect/undone",
    "net",
    STAYED,
    PARTLY.format(freeze=f"for p in net[0].parameters():\n    p.requires_grad = False\n{AGAIN}"),
    ("leave that out", AGAIN, ""),
    ("freeze after it", AGAIN, f"{AGAIN}net[0].requires_grad_(False)\n"),
)
fix(
    "not_moved/only_frozen",
    "",
    "not head.weight.equal(before)",
    """
body, head = nn.Linear(2, 2), nn.Linear(2, 1)
before = head.weight.detach().clone()
for p in head.parameters():
    p.requires_grad = False
opt = torch.optim.SGD(head.parameters(), lr=0.1)
head(body(torch.ones(1, 2))).sum().backward()
opt.step()
""",
    ("do not freeze them", "p.requires_grad = False", "pass"),
)
fix(
    "not_moved/only_frozen_beside",
    "body, head, opt",
    "not head.weight.equal(before)",
    """
body, head = nn.Linear(2, 2), nn.Linear(2, 1)
before = head.weight.detach().clone()
body.requires_grad_(False)
opt = torch.optim.SGD(body.parameters(), lr=0.1)
head(body(torch.ones(1, 2))).sum().backward()
opt.step()
""",
    ("give an optimizer", "SGD(body.", "SGD(head."),
)
fix(
    "not_moved/zero_rate",
    "net",
    "not net.weight.equal(before)",
    """
net = nn.Linear(2, 1)
before = net.weight.detach().clone()
opt = torch.optim.SGD(net.parameters(), lr=0.0)
net(torch.ones(1, 2)).sum().backward()
opt.step()
""",
    ("above 0", "lr=0.0", "lr=1e-3"),
)
fix(
    "not_moved/zero_rate_written",
    "net",
    "not net.weight.equal(before)",
    """
def adjust(opt, step, warmup_steps=5):
    rate = 0.1 * (step / warmup_steps)
    for group in opt.param_groups:
        group['lr'] = rate
net = nn.Linear(2, 1)
before = net.weight.detach().clone()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
adjust(opt, 0)
net(torch.ones(1, 2)).sum().backward()
opt.step()
""",
    ("(step + 1) / warmup_steps", "(step / warmup_steps)", "((step + 1) / warmup_steps)"),
)
fix(
    "not_moved/zero_rate_uncalled",
    "net",
    "not net.weight.equal(before)",
    """
class Warm:
    def __init__(self, optimizer):
        self.optimizer = optimizer
    def step(self):
        for group in self.optimizer.param_groups:
            group['lr'] = 0.1
        self.optimizer.step()
net = nn.Linear(2, 1)
before = net.weight.detach().clone()
opt = Warm(torch.optim.Adam(net.parameters(), lr=0))
inner = opt.optimizer
net(torch.ones(1, 2)).sum().backward()
inner.step()
""",
    ("call Warm.step() in each pass", "\ninner.step()", "\nopt.step()"),
)
fix(
    "not_moved/zero_rate_scheduled",
    "net",
    "not net.weight.equal(before)",
    """
net = nn.Linear(2, 1)
before = net.weight.detach().clone()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: min(1.0, step / 10))
for _ in range(2):
    opt.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
    opt.step()
""",
    ("(current_step + 1)", "step / 10", "(step + 1) / 10"),
    ("scheduler.step() after each", "opt.step()", "opt.step()\n    scheduler.step()"),
)
fix(
    "not_moved/zero_rate_divided",
    "net",
    "not net.weight.equal(before)",
    """
net = nn.Linear(2, 1)
before = net.weight.detach().clone()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: step // 10)
for _ in range(3):
    opt.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
    opt.step()
    scheduler.step()
""",
    ("step / 10 in the place of step // 10", "step // 10", "step / 10"),
)
fix(
    "not_moved/zero_rate_ended",
    "net, opt",
    "not net.weight.equal(before)",
    """
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.0, total_iters=2)
for _ in range(3):
    before = net.weight.detach().clone()
    opt.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
    opt.step()
    scheduler.step()
""",
    ("comes to 0 later", "total_iters=2", "total_iters=20"),
    ("ends above 0", "1.0, 0.0", "1.0, 0.1"),
)
PART = """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
before = net[0].weight.detach().clone()
opt = torch.optim.SGD(net[1].parameters(), lr=0.1)
loss = net(torch.ones(1, 2)).sum()
loss.backward()
opt.step()
"""
fix(
    "left_out/left_out",
    "net, loss",
    "not net[0].weight.equal(before)",
    PART,
    ("give them to the optimizer", "net[1].parameters()", "net.parameters()"),
)
fix(
    "left_out/left_out",
    "net, loss",
    "net[0].weight.grad is None",
    PART,
    ("requires_grad_(False) saves the work", "loss =", "net[0].requires_grad_(False)\nloss ="),
)
fix(
    "left_out/left_out_cleared",
    "net, loss",
    "not net[0].weight.equal(before)",
    PART + "net.zero_grad()\n",
    ("give them to the optimizer", "net[1].parameters()", "net.parameters()"),
)
fix(
    "not_moved/group_unused",
    "net",
    "not net[1].weight.equal(before)",
    """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
before = net[1].weight.detach().clone()
group = {"params": []}
for p in net[0].parameters():
    group["params"].append(p)
groups = [group]
group = {"params": []}
for p in net[1].parameters():
    group["params"].append(p)
opt = torch.optim.SGD(groups, lr=0.1)
net(torch.ones(1, 2)).sum().backward()
opt.step()
""",
    ("put group into what", "opt =", "groups.append(group)\nopt ="),
    ("optimizer.add_param_group()", "lr=0.1)", "lr=0.1)\nopt.add_param_group(group)"),
)
fix(
    "not_moved/holds_twins",
    "net",
    "not net.weight.equal(before)",
    """
first = nn.Linear(2, 1)
opt = torch.optim.SGD(first.parameters(), lr=0.1)
net = copy.deepcopy(first)
before = net.weight.detach().clone()
net(torch.ones(1, 2)).sum().backward()
opt.step()
""",
    (
        "from the model that runs, after",
        "before =",
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nbefore =",
    ),
)
fix(
    "not_moved/made_in_forward",
    "net, opt",
    "hasattr(net, 'layer') and not net.layer.weight.equal(before)",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(2, 1)
    def forward(self, x):
        return self.head(nn.Linear(2, 2)(x))
torch.manual_seed(0)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
before = getattr(net, "layer", net.head).weight.detach().clone()
net(torch.ones(1, 2)).sum().backward()
opt.step()
""",
    (
        "make it once, in __init__ (self.layer = …), before the optimizer is made; forward only calls it",
        """self.head = nn.Linear(2, 1)
    def forward(self, x):
        return self.head(nn.Linear(2, 2)(x))""",
        """self.head, self.layer = nn.Linear(2, 1), nn.Linear(2, 2)
    def forward(self, x):
        return self.head(self.layer(x))""",
    ),
)
fix(
    "not_moved/in_no_module",
    "net, scale",
    "not scale.equal(torch.ones(2))",
    """
net, scale = nn.Linear(2, 2), nn.Parameter(torch.ones(2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
loss = (net(torch.ones(1, 2)) * scale).sum()
loss.backward()
opt.step()
""",
    ("add_param_group()", "loss =", "opt.add_param_group({'params': [scale]})\nloss ="),
)
fix(
    "not_moved/made_anew",
    "net",
    "hasattr(net, 'scale') and not net.scale.equal(torch.ones(2))",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)
    def forward(self, x):
        scale = nn.Parameter(torch.ones(2))
        return self.lin(x) * scale
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    loss = net(torch.ones(1, 2)).sum()
    loss.backward()
    opt.step()
""",
    (
        "make it once, in __init__, as self.… = nn.Parameter(…), and use self.… in forward",
        "        self.lin = nn.Linear(2, 2)\n    def forward(self, x):\n"
        "        scale = nn.Parameter(torch.ones(2))\n        return self.lin(x) * scale",
        "        self.lin = nn.Linear(2, 2)\n        self.scale = nn.Parameter(torch.ones(2))\n"
        "    def forward(self, x):\n        return self.lin(x) * self.scale",
    ),
)
fix(
    "not_moved/made_anew_in_function",
    "net",
    "hasattr(net, 'scale') and not net.scale.equal(torch.ones(2))",
    """
def scaled(x):
    scale = nn.Parameter(torch.ones(2))
    return x * scale
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)
    def forward(self, x):
        return scaled(self.lin(x))
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    loss = net(torch.ones(1, 2)).sum()
    loss.backward()
    opt.step()
""",
    (
        "make it once, in __init__ of the module, as self.… = nn.Parameter(…), and hand self.…",
        "def scaled(x):\n    scale = nn.Parameter(torch.ones(2))\n",
        "def scaled(x, scale):\n",
        "        self.lin = nn.Linear(2, 2)\n",
        "        self.lin = nn.Linear(2, 2)\n        self.scale = nn.Parameter(torch.ones(2))\n",
        "scaled(self.lin(x))",
        "scaled(self.lin(x), self.scale)",
    ),
)
HOLDING = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {line}
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
"""
for form, line, mended, says in (
    ("tensor", "self.w = torch.ones(3)", "self.w = nn.Parameter(torch.ones(3))", "in __init__"),
    (
        "result",
        "self.w = nn.Parameter(torch.ones(3)).double()",
        "self.w = nn.Parameter(torch.ones(3).double())",
        "around the whole",
    ),
    (
        "list",
        "self.layers = [nn.Linear(2, 2)]",
        "self.layers = nn.ModuleList([nn.Linear(2, 2)])",
        "nn.ModuleList(…) of layers",
    ),
    (
        "list",
        "self.weights = [nn.Parameter(torch.ones(2))]",
        "self.weights = nn.ParameterList([nn.Parameter(torch.ones(2))])",
        "nn.ParameterList(…) of parameters",
    ),
    (
        "list",
        "self.layers = {'one': nn.Linear(2, 2)}",
        "self.layers = nn.ModuleDict({'one': nn.Linear(2, 2)})",
        "ModuleDict",
    ),
    (
        "buffer",
        "self.register_buffer('w', torch.ones(3))",
        "self.w = nn.Parameter(torch.ones(3))",
        "in place of register_buffer",
    ),
):
    fix_of_error(
        f"not_a_parameter/{form}",
        HOLDING.format(line=line),
        (says, line, mended),
    )
fix_of_error(
    "not_a_parameter/init",
    HOLDING.format(line="self.layer = nn.Linear(2, 2)").replace("def __init__", "def _init_"),
    ("def __init__", "def _init_", "def __init__"),
)
fix_of_error(
    "not_a_parameter/none",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.size = 2
    def build(self):
        self.layer = nn.Linear(self.size, 1)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net.build()
""",
    ("make the layers", "self.size = 2", "self.size = 2\n        self.build()"),
)
LAYER = HOLDING.format(line="self.layer = nn.Linear(2, 2)")
TRAINED_ALONE = "opt = torch.optim.SGD((p for p in net.parameters() if p.requires_grad)"
fix_of_error(
    "not_a_parameter/frozen_at",
    LAYER.replace(
        "opt = torch.optim.SGD(net.parameters()", f"net.requires_grad_(False)\n{TRAINED_ALONE}"
    ),
    ("requires_grad_() on that", "opt =", "net.layer.requires_grad_()\nopt ="),
    ("net.requires_grad_(True) in the place of", "requires_grad_(False)", "requires_grad_(True)"),
)
# what was never switched, but made so, has no such line
fix_of_error(
    "not_a_parameter/frozen",
    HOLDING.format(line="self.w = nn.Parameter(torch.ones(2), requires_grad=False)").replace(
        "opt = torch.optim.SGD(net.parameters()", TRAINED_ALONE
    ),
    ("requires_grad_() on what is to learn", "opt =", "net.requires_grad_()\nopt ="),
)
fix_of_error(
    "not_a_parameter/read_before",
    LAYER.replace(
        "opt = torch.optim.SGD(net.parameters()",
        "kept = {'own': net.parameters()}\n"
        "count = sum(p.numel() for p in kept['own'])\n"
        "opt = torch.optim.SGD(kept['own']",
    ),
    ("parameters() anew", "SGD(kept['own']", "SGD(net.parameters()"),
)
fix_of_error(
    "not_a_parameter/unknown",
    """
w = torch.ones(2)
opt = torch.optim.SGD([t for t in [w] if t.requires_grad], lr=0.1)
""",
    ("nn.Parameter(…)", "torch.ones(2)", "nn.Parameter(torch.ones(2))"),
)
fix(
    "freeze_without_effect/wrapped",
    "net",
    "not net.w.requires_grad",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        w = torch.ones(2)
        w.requires_grad = False
        self.w = nn.Parameter(w)
    def forward(self, x):
        return x * self.w
net, v = Net(), torch.ones(2, requires_grad=True)
(net(torch.ones(2)) * v).sum().backward()
""",
    ("nn.Parameter(…, requires_grad=False)", "(w)", "(w, requires_grad=False)"),
    (
        "on the Parameter itself",
        "self.w = nn.Parameter(w)",
        "self.w = nn.Parameter(w); self.w.requires_grad = False",
    ),
)
fix(
    "made_non_leaf/parameter_moved",
    "",
    "isinstance(p, nn.Parameter) or 'p' in dict(net.named_parameters())",
    """
net = nn.Module()
p = nn.Parameter(torch.zeros(2))
p = p.to(torch.float64)
net.p = p
""",
    (
        "nn.Parameter(…) around the moved tensor",
        "(torch.zeros(2))\np = p.to(torch.float64)",
        "(torch.zeros(2).to(torch.float64))",
    ),
    (
        "keep the Parameter in a module and move that",
        "p = p.to(torch.float64)\nnet.p = p",
        "net.p = p\nnet = net.to(torch.float64)",
    ),
)
fix(
    "kept_off/part",
    "G, D, loss",
    "not alone.equal(G.weight.grad)",
    """
G, D = nn.Linear(2, 2), nn.Linear(2, 1)
opt = torch.optim.SGD(G.parameters(), lr=0.1)
fake = G(torch.ones(3, 2))
(alone,) = torch.autograd.grad(fake.pow(2).mean(), G.weight, retain_graph=True)
score = D(fake.detach()).mean()
loss = score + fake.pow(2).mean()
loss.backward()
opt.step()
""",
    ("leave detach() out", "D(fake.detach())", "D(fake)"),
)
fix(
    "result_unused/thrown_away",
    "w",
    "w.grad.equal(torch.tensor([0.0, 1.0]))",
    """
w = torch.tensor([-1.0, 1.0], requires_grad=True)
h = w * 1
torch.relu(h)
loss = h.sum()
loss.backward()
""",
    ("give the result a name", "torch.relu(h)", "h = torch.relu(h)"),
    ("the form that writes in place", "torch.relu(h)", "torch.relu_(h)"),
)
fix(
    "nan/weights_have_nan",
    "scale",
    "bool(scale.grad.isfinite().all())",
    """
scale = nn.Parameter(torch.full((3,), float("nan")))
loss = scale.pow(2).sum()
loss.backward()
""",
    ("give it numbers where it is made", 'torch.full((3,), float("nan"))', "torch.ones(3)"),
)
fix(
    "not_a_parameter/local",
    "",
    "",
    HOLDING.format(line="layer = nn.Linear(2, 2)"),
    ("self.layer = …", "layer = nn", "self.layer = nn"),
)
fix(
    "not_a_parameter/spent",
    "",
    "",
    LAYER.replace(
        "opt = torch.optim.SGD(net.parameters()",
        "parameters = filter(lambda p: p.requires_grad, net.parameters())\n"
        "count = sum(p.numel() for p in parameters)\n"
        "opt = torch.optim.SGD(parameters",
    ),
    (
        "list(…)",
        "filter(lambda p: p.requires_grad, net.parameters())",
        "list(filter(lambda p: p.requires_grad, net.parameters()))",
    ),
)
ASSIGNED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))
    def forward(self, x):
        {line}
        return (x * self.w).sum()
Net()(torch.ones(2)).backward()
"""
fix(
    "not_a_parameter/result_assigned",
    "",
    "",
    ASSIGNED.format(line="self.w = self.w.softmax(0)"),
    ("keep the result under another name", "self.w = self.w", "w = self.w"),
)
fix(
    "not_a_parameter/tensor_assigned",
    "",
    "",
    ASSIGNED.format(line="self.w = torch.zeros(2)"),
    ("nn.Parameter(…)", "torch.zeros(2)", "nn.Parameter(torch.zeros(2))"),
    (
        "copy_() under torch.no_grad()",
        "self.w = torch.zeros(2)",
        "with torch.no_grad(): self.w.copy_(torch.zeros(2))",
    ),
)
LEARNED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)
        {line}
    def forward(self, x):
        return self.layer(x * self.mu)
net = Net()
start = net.mu.detach().clone()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(1, 2)).sum().backward()
opt.step()
{then}
"""
BUFFER = 'self.register_buffer("mu", nn.init.xavier_uniform_(torch.zeros(1, 2)))'
fix(
    "buffer/no_parameter",
    "net",
    "not net.mu.equal(start)",
    LEARNED.format(line=BUFFER, then=""),
    (
        "self.mu = nn.Parameter(…) instead",
        BUFFER,
        "self.mu = nn.Parameter(nn.init.xavier_uniform_(torch.zeros(1, 2)))",
    ),
)
for form, line in (
    ("buffer_stays", 'self.register_buffer("mu", torch.ones(2))'),
    ("tensor_stays", "self.mu = torch.ones(2)"),
):
    fix(
        f"not_a_parameter/{form}",
        "",
        "not net.mu.equal(start)",
        LEARNED.format(line=line, then="print(net.mu.requires_grad)"),
        ("self.mu = nn.Parameter(…)", line, "self.mu = nn.Parameter(torch.ones(2))"),
    )

fix(
    "not_moved/twice_held",
    "",
    "not D.weight.equal(start)",
    """
G, D = nn.Linear(3, 4), nn.Linear(4, 1)
start = D.weight.detach().clone()
opt_g = torch.optim.SGD(G.parameters(), lr=0.1)
opt_d = torch.optim.SGD(G.parameters(), lr=0.1)
d_loss = D(G(torch.ones(5, 3)).detach()).mean()
d_loss.backward()
opt_d.step()
g_loss = D(G(torch.ones(5, 3))).mean()
g_loss.backward()
opt_g.step()
""",
    (
        "from the parameters of the model that it is to train",
        "opt_d = torch.optim.SGD(G.",
        "opt_d = torch.optim.SGD(D.",
    ),
)
for numbers, form in (("torch.ones(2)", "plain_tensor"), ("torch.zeros(2)", "plain_zeros")):
    fix(
        f"never_tracked/{form}",
        "",
        "not net.gain.equal(start)",
        f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)
        self.gain = {numbers}
    def forward(self, x):
        return self.fc(x) * (self.gain + 1)
net = Net()
start = net.gain.detach().clone()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
loss = net(torch.ones(4, 3)).pow(2).sum()
loss.backward()
opt.step()
""",
        ("self.gain = nn.Parameter(…)", f"= {numbers}", f"= nn.Parameter({numbers})"),
    )

# --- hooks ----------------------------------------------------------------------------------------

fix(
    "changed_by_hook/on_tensor",
    "w",
    "w.grad.equal(torch.ones(2))",
    """
w = torch.ones(2, requires_grad=True)
def shown(g):
    return g * 2
handle = w.register_hook(shown)
loss = w.sum()
loss.backward()
""",
    ("handle.remove()", "loss.backward()", "handle.remove()\nloss.backward()"),
    ("let the hook return None", "return g * 2", "return None"),
)
fix(
    "changed_by_hook/of_module",
    "net[0].weight",
    "net[0].weight.grad.equal(net[1].weight.detach().t().expand(2, 2))",
    """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
def shown(module, grad_input, grad_output):
    return (grad_input[0] / 2,)
handle = net[1].register_full_backward_hook(shown)
loss = net(torch.ones(1, 2)).sum()
loss.backward()
""",
    ("handle.remove() before the forward", "loss =", "handle.remove()\nloss ="),
    ("let the hook return None", "return (grad_input[0] / 2,)", "return None"),
)
fix(
    "read_too_early/in_module_hook",
    "net",
    "len(seen) == 1 and torch.is_tensor(seen[0]) and seen[0].any()",
    """
net, seen = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1)), []
def note(module, grad_input, grad_output):
    seen.append(module.weight.grad)
net[0].register_full_backward_hook(note)
loss = net(torch.ones(1, 2)).sum()
loss.backward()
""",
    (
        "register_post_accumulate_grad_hook",
        "module, grad_input, grad_output",
        "weight",
        "module.weight.grad",
        "weight.grad",
        "net[0].register_full_backward_hook",
        "net[0].weight.register_post_accumulate_grad_hook",
    ),
    (
        "read .grad after loss.backward()",
        "net[0].register_full_backward_hook(note)\n",
        "",
        "loss.backward()",
        "loss.backward()\nseen.append(net[0].weight.grad)",
    ),
    ("the gradients of the module's inputs and outputs", "module.weight.grad", "grad_output[0]"),
)

# --- losses ---------------------------------------------------------------------------------------

fix(
    "not_in_loss/unread_result",
    "w",
    "w.grad is not None",
    """
w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
penalty = w.pow(2).sum()
loss = (v * 2).sum()
loss.backward()
""",
    ("use penalty on the way", "(v * 2).sum()", "(v * 2 * penalty).sum()"),
    ("add it to the loss", "loss = (v * 2).sum()", "loss = (v * 2).sum() + penalty"),
    ("its own loss", "loss.backward()", "loss.backward()\npenalty.backward()"),
)
TWO_HEADS = """
trunk, head1, head2 = nn.Linear(2, 2), nn.Linear(2, 1), nn.Linear(2, 1)
h = trunk(torch.ones(1, 2))
loss1, loss2 = head1(h).sum(), head2(h).sum()
loss1.backward(retain_graph=True)
first = head1.weight.grad.clone()
loss2.backward()
"""
fix(
    "healthy/of_another",
    "head1, loss2",
    "not head1.weight.grad.equal(first)",
    TWO_HEADS,
    ("use what is computed from it in loss2", "head2(h).sum()", "(head1(h) + head2(h)).sum()"),
)
fix(
    "kept_off/kept_from",
    "trunk, critic_loss",
    "not trunk.weight.grad.equal(first)",
    """
trunk, actor, critic = nn.Linear(2, 2), nn.Linear(2, 1), nn.Linear(2, 1)
x = torch.ones(1, 2)
actor_loss = actor(trunk(x)).sum()
actor_loss.backward()
first = trunk.weight.grad.clone()
h = trunk(x).detach()
critic_loss = critic(h).sum()
critic_loss.backward()
""",
    ("only if critic_loss is to train it too", "trunk(x).detach()", "trunk(x)"),
)
fix(
    "kept_off/like_target",
    "net, target, loss",
    "target.weight.grad is not None",
    """
net, target, x = nn.Linear(2, 1), nn.Linear(2, 1), torch.ones(1, 2)
wanted = target(x).detach()
loss = (net(x) - wanted).pow(2).sum()
loss.backward()
""",
    ("only if it is to be trained", "target(x).detach()", "target(x)"),
)
fix(
    "kept_off/resting",
    "",
    "g.weight.grad is not None",
    """
g, d, z = nn.Linear(2, 2), nn.Linear(2, 1), torch.ones(1, 2)
g_opt, d_opt = (torch.optim.SGD(net.parameters(), lr=0.1) for net in (g, d))
fake = g(z).detach()
d_loss = d(fake).sum()
d_loss.backward()
d_opt.step()
""",
    ("only if d_loss is to train it too", "g(z).detach()", "g(z)"),
)
fix(
    "constant_summand/summand",
    "w, loss",
    "not w.grad.equal(2 * torch.ones(2))",  # more than the gradient of main
    """
w = torch.ones(2, requires_grad=True)
main = w.pow(2).sum()
penalty = (w * 3).sum().detach()
loss = main + penalty
loss.backward()
""",
    ("leave detach() out", "(w * 3).sum().detach()", "(w * 3).sum()"),
)
fix_of_error(
    "custom_backward/no_return",
    FUNCTION.replace("return RETURNED", "of_x = g * ctx.factor"),
    (
        "return 2 gradients at its end, in the order of forward's arguments (x, factor)",
        "of_x = g * ctx.factor",
        "of_x = g * ctx.factor\n        return of_x, None",
    ),
)
fix_of_error(
    "custom_backward/shape_of",
    FUNCTION.replace("return RETURNED", "of_x = g.new_zeros(1)\n        return of_x, None"),
    (
        "give of_x the shape [2]",
        "g.new_zeros(1)",
        "g.new_zeros(2)",
    ),
    (
        "or hand in x of shape [1]",
        "w = torch.ones(2",
        "w = torch.ones(1",
    ),
)
fix_of_error(
    "second_backward/carried_in_steps",
    """
class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.h = nn.Linear(3, 3), torch.zeros(1, 3)
    def forward(self, x):
        self.h = self.layer(x + self.h).tanh()
        return self.h
net = nn.Sequential(Cell(), Cell())
for i in range(3):
    loss = sum(net(x).sum() for x in torch.ones(4, 1, 3))
    loss.backward()
""",
    (
        "for m in net.modules(): if hasattr(m, 'h'): m.h = m.h.detach()",
        "    loss.backward()\n",
        "    loss.backward()\n    for m in net.modules():\n"
        "        if hasattr(m, 'h'): m.h = m.h.detach()\n",
    ),
)
fix(
    "constant_summand/summand",
    "w, loss",
    "not w.grad.equal(2 * torch.ones(2))",  # more than the gradient of main
    """
w = torch.ones(2, requires_grad=True)
main = w.pow(2).sum()
penalty = (w * 3).sum().detach().item()
loss = main + penalty
loss.backward()
""",
    ("without detach() and without item()", ".detach().item()", ""),
    cut="number_taken",
)
fix(
    "cut/severed",
    "rate",
    "rate.grad is not None and rate.grad != 0",
    """
rate, rent = torch.tensor(0.3, requires_grad=True), torch.tensor(1.0, requires_grad=True)
state, draws = torch.zeros(20), torch.rand(20)
ill = draws < rate
state[ill] = 2.0
loss = (state.sum() * rent).pow(2)
loss.backward()
""",
    (
        "p = torch.sigmoid((rate - draws) / t), t a small number: state = p * 2.0 + (1 - p) * state",
        "state[ill] = 2.0",
        "p = torch.sigmoid((rate - draws) / 0.1)\nstate = p * 2.0 + (1 - p) * state",
    ),
    cut="mix",
)
fix(
    "cut/severed",
    "rate",
    "rate.grad is not None and rate.grad != 0",
    """
rate, rent = torch.tensor(0.3, requires_grad=True), torch.tensor(1.0, requires_grad=True)
state, draws = torch.zeros(20), torch.rand(20)
ill = draws < rate
state[ill] = 2.0
loss = (state * (state == 2.0)).sum() * rent
loss.backward()
""",
    (
        "p itself in the place of the == in program.py line 5",
        "state[ill] = 2.0",
        "p = torch.sigmoid((rate - draws) / 0.1)\nstate = p * 2.0 + (1 - p) * state",
        "(state == 2.0)",
        "p",
    ),
    cut="mix_equal",
)
fix(
    "cut/severed",
    "limit",
    "limit.grad is not None and limit.grad != 0",
    """
values, limit = torch.tensor([3.0, 4.0, 5.0], requires_grad=True), torch.tensor(4.5, requires_grad=True)
loss = values[values > limit].sum()
loss.backward()
""",
    (
        "torch.sigmoid((values - limit) / t) * values",
        "values[values > limit]",
        "(torch.sigmoid((values - limit) / 0.5) * values)",
    ),
    cut="mask",
)
fix(
    "cleared_too_often/step_not_run",
    "w",
    "not w.equal(torch.ones(2))",
    """
w, warm = torch.ones(2, requires_grad=True), False
opt = torch.optim.SGD([w], lr=0.1)
for _ in range(3):
    opt.zero_grad()
    w.sum().backward()
    if warm:
        opt.step()
""",
    ("call opt.step() in either case", "    if warm:\n        opt.step()", "    opt.step()"),
)
fix(
    "cleared_too_often/stepped_another",
    "w",
    "not w.equal(torch.ones(2))",
    """
w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
opt_w, opt_v = torch.optim.SGD([w], lr=0.1), torch.optim.SGD([v], lr=0.1)
def train(p, optimizer):
    p.grad = None
    (p * 2).sum().backward()
    optimizer.step()
for _ in range(3):
    train(v, opt_v)
    train(w, opt_v)
""",
    ("let optimizer.step() be a step of opt_w", "train(w, opt_v)", "train(w, opt_w)"),
)
fix(
    "cleared_too_often/other_stepped",
    "w",
    "not w.equal(torch.ones(2))",
    """
w, decays = torch.ones(2, requires_grad=True), True
opt = torch.optim.SGD([w], lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(opt, 1)
for _ in range(3):
    opt.zero_grad()
    w.sum().backward()
    if decays:
        scheduler.step()
    else:
        opt.step()
""",
    (
        "call opt.step() in either case, and scheduler.step() after it",
        "    if decays:\n        scheduler.step()\n    else:\n        opt.step()",
        "    opt.step()\n    if decays:\n        scheduler.step()",
    ),
)
fix(
    "frozen/only_off",
    "net, opt",
    "net.weight.requires_grad",
    """
def learns(module, whether):
    for p in module.parameters():
        if p.requires_grad:
            p.requires_grad = whether
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
learns(net, False)
learns(net, True)
head = nn.Linear(1, 1)
opt.add_param_group({"params": [*head.parameters()]})
loss = head(net(torch.ones(1, 2))).sum()
loss.backward()
opt.step()
""",
    (
        "leave if p.requires_grad out",
        "        if p.requires_grad:\n            p.requires_grad = whether",
        "        p.requires_grad = whether",
    ),
)
fix(
    "branch_not_taken/not_read",
    "net",
    "net.scale.grad is not None",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)
        self.scale = nn.Parameter(torch.ones(3))
    def forward(self, x):
        return self.layer(x)
net = Net()
net(torch.ones(1, 2)).sum().backward()
""",
    ("use it in forward", "return self.layer(x)", "return self.layer(x) * self.scale"),
)
fix(
    "branch_not_taken/taken_out",
    "net",
    "net.scale.grad is not None",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(2.0))
        self.layer, self.factor = nn.Linear(2, 3), self.scale.item()
    def forward(self, x):
        return self.layer(x) * self.factor
net = Net()
net(torch.ones(1, 2)).sum().backward()
""",
    ("hand on the parameter itself there", "self.scale.item()", "self.scale"),
)
POLICY = """
actor, critic, x, reward = nn.Linear(3, 4), nn.Linear(3, 1), torch.randn(5, 3), torch.rand(5)
a_opt, c_opt = (torch.optim.SGD(net.parameters(), lr=0.1) for net in (actor, critic))
logits = actor(x).log_softmax(1)
{logp}
value = critic(x).squeeze(1)
advantage = reward - value
actor_loss = -(advantage * logp).mean()
critic_loss = F.mse_loss(value, reward)
actor_loss.backward(retain_graph=True)
a_opt.step()
critic_loss.backward()
"""
OF_CRITIC_ALONE = (
    "torch.autograd.grad(F.mse_loss(critic(x).squeeze(1), reward), critic.weight)[0]"
    ".allclose(critic.weight.grad)"
)
for form, logp in (
    ("factor", "logp = logits.max(1).values"),
    ("weight", "logp = logits.gather(1, logits.exp().multinomial(1)).squeeze(1)"),
):
    fix(
        f"extra_gradient/{form}",
        "actor, critic, actor_loss",
        OF_CRITIC_ALONE,
        POLICY.format(logp=logp),
        ("advantage.detach()", "(advantage * logp)", "(advantage.detach() * logp)"),
    )
fix(
    "extra_gradient/summed",
    "encoder, first_loss",
    "encoder.weight.grad.equal(first)",
    """
encoder, head = nn.Linear(2, 2), nn.Linear(2, 1)
opt = torch.optim.SGD(encoder.parameters(), lr=0.1)
z = encoder(torch.ones(1, 2))
first_loss = z.sum()
first_loss.backward(retain_graph=True)
first = encoder.weight.grad.clone()
second_loss = head(z).pow(2).sum()
second_loss.backward()
opt.step()
print(encoder.weight.grad.norm())
""",
    ("detach() what second_loss reads", "= head(z).pow", "= head(z.detach()).pow"),
)
fix(
    "extra_gradient/added",
    "g, d, g_loss",
    "d.weight.allclose(before - 0.1 * 3 * fake)",  # a step of d_loss alone
    """
g, d, z = nn.Linear(2, 2), nn.Linear(2, 1), torch.ones(1, 2)
g_opt, d_opt = (torch.optim.SGD(net.parameters(), lr=0.1) for net in (g, d))
before = d.weight.detach().clone()
fake = g(z)
d_loss = d(fake.detach()).sum() * 3
d_loss.backward()
g_loss = -d(fake).sum()
g_loss.backward()
g_opt.step()
d_opt.step()
""",
    (
        "requires_grad_(False) on it while",
        "g_loss = -d(fake).sum()",
        "d.requires_grad_(False)\ng_loss = -d(fake).sum()\nd.requires_grad_()",
    ),
    (
        "step its optimizer before g_loss is computed",
        "g_opt.step()\nd_opt.step()\n",
        "g_opt.step()\nd_opt.zero_grad()\n",
        "g_loss =",
        "d_opt.step()\ng_loss =",
    ),
)
fix(
    "extra_gradient/added_to_three",
    "g, d",
    "g.weight.allclose(before - 0.1 * g_sent)",  # a step of g_loss alone
    """
g, d, z = nn.Linear(2, 2), nn.Linear(2, 1), torch.ones(1, 2)
g_opt, d_opt = (torch.optim.SGD(net.parameters(), lr=0.1) for net in (g, d))
before = g.weight.detach().clone()
fake = g(z)
d_real = -d(torch.ones(1, 2)).sum()
d_real.backward()
d_fake = d(fake).sum()
d_fake.backward()
g_loss = (g(z) - 1).pow(2).sum()
(g_sent,) = torch.autograd.grad(g_loss, g.weight, retain_graph=True)
g_loss.backward()
g_opt.step()
d_opt.step()
""",
    ("fake.detach() where it goes in", "d_fake = d(fake)", "d_fake = d(fake.detach())"),
)
fix(
    "shared_snapshot/one_network",
    "net, opt",
    "not target.weight.equal(net.weight)",
    """
net = nn.Linear(2, 1)
target = net
opt = torch.optim.SGD(net.parameters(), lr=0.1)
loss = net(torch.ones(1, 2)).sum()
loss.backward()
opt.step()
""",
    ("target = copy.deepcopy(net)", "target = net", "target = copy.deepcopy(net)"),
    (
        "make a second network and load_state_dict()",
        "target = net",
        "target = nn.Linear(2, 1)\ntarget.load_state_dict(net.state_dict())",
    ),
)
fix(
    "shared_snapshot/one_part",
    "first, second, loss",
    "not second[0].weight.equal(first[0].weight)",
    """
features = nn.Linear(2, 2)
first = nn.Sequential(features, nn.Linear(2, 1))
second = nn.Sequential(features, nn.Linear(2, 1))
second.load_state_dict(first.state_dict())
opt = torch.optim.SGD(first.parameters(), lr=0.1)
loss = first(torch.ones(1, 2)).sum()
loss.backward()
opt.step()
""",
    ("make it anew", "second = nn.Sequential(features", "second = nn.Sequential(nn.Linear(2, 2)"),
    (
        "copy.deepcopy() it",
        "second = nn.Sequential(features",
        "second = nn.Sequential(copy.deepcopy(features)",
    ),
)
fix(
    "cut/in_a_parameter",
    "net, loss",
    "net.a.grad is not None",
    """
class Filter(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.tensor(0.5))
        self.weight = nn.Parameter(torch.tensor([[self.a, 1.0]]))
    def forward(self, x):
        return F.linear(x, self.weight)
net = Filter()
loss = net(torch.ones(1, 2)).sum()
loss.backward()
""",
    (
        "(torch.stack([…]) in the place of torch.tensor([…])) and without nn.Parameter()",
        "        self.weight = nn.Parameter(torch.tensor([[self.a, 1.0]]))\n",
        "",
        "F.linear(x, self.weight)",
        "F.linear(x, torch.stack([self.a, torch.tensor(1.0)]).view(1, 2))",
    ),
)
fix(
    "cut/in_a_leaf",
    "net",
    "net.initial.grad is not None",
    """
class Evolving(nn.Module):
    def __init__(self):
        super().__init__()
        self.initial, self.inner = nn.Parameter(torch.randn(2, 2)), nn.Linear(2, 2, bias=False)
    def forward(self, x):
        evolved = self.initial * 2
        self.inner.weight = nn.Parameter(evolved)
        return self.inner(x)
net = Evolving()
loss = net(torch.ones(1, 2)).sum()
loss.backward()
""",
    (
        "hand it to the call that needs it",
        "        self.inner.weight = nn.Parameter(evolved)\n        return self.inner(x)",
        "        return F.linear(x, evolved)",
    ),
)
fix(
    "branch_not_taken/in_a_branch",
    "net",
    "all(p.grad is not None for p in net.parameters())",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.near, self.far = nn.Linear(2, 1), nn.Linear(2, 1)
        self.use_far = False
    def forward(self, x):
        y = self.near(x)
        if self.use_far:
            y = y + self.far(x)
        return y
net = Net()
loss = net(torch.ones(1, 2)).sum()
loss.backward()
""",
    ("take that way", "        self.use_far = False", "        self.use_far = True"),
)
fix(
    "branch_not_taken/read_since",
    "net",
    "all(p.grad is not None for p in net.parameters())",
    """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
loss = net[:1](torch.ones(1, 2)).sum()
loss.backward()
with torch.no_grad():
    net(torch.ones(1, 2))
""",
    ("take the way through it", "net[:1](", "net("),
)
fix(
    "healthy/passes_on",
    "[hidden]",
    "hidden.grad is not None",
    """
net, head = nn.Linear(2, 2), nn.Linear(2, 1)
opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
hidden = net(torch.ones(1, 2))
loss = head(hidden).sum()
loss.backward()
opt.step()
""",
    ("retain_grad() before backward", "loss.backward()", "hidden.retain_grad()\nloss.backward()"),
)
fix(
    "branch_not_taken/not_called",
    "net",
    "all(p.grad is not None for p in net.parameters())",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(2, 3), nn.Linear(3, 1)
        self.norm = nn.LayerNorm(3)
    def forward(self, x):
        h = self.first(x)
        return self.last(h)
net = Net()
net(torch.randn(4, 2)).sum().backward()
""",
    ("in forward", "self.first(x)", "self.norm(self.first(x))"),
    ("leave its creation out", "        self.norm = nn.LayerNorm(3)\n", ""),
)
fix(
    "rebound/updated_unseen",
    "w",
    "w.is_leaf and w.requires_grad and w.grad is not None",
    """
w = torch.ones(2, requires_grad=True)
w.pow(2).sum().backward()
with torch.no_grad():
    w = w - 0.1 * w.grad
""",
    ("w -= lr * w.grad", "w = w - 0.1 * w.grad", "w -= 0.1 * w.grad"),
    ("w.copy_(…)", "w = w - 0.1 * w.grad", "w.copy_(w - 0.1 * w.grad)"),
)
fix_of_error(
    "no_grad_fn/from_grad_constant",
    """
x = torch.ones(2, requires_grad=True)
loss = (x * 3).sum()
(first,) = torch.autograd.grad(loss, x, create_graph=True)
(second,) = torch.autograd.grad(first.sum(), x)
assert second.eq(0).all()
""",
    (
        "where it does not require grad",
        "(second,) = torch.autograd.grad(first.sum(), x)",
        "second = torch.autograd.grad(first.sum(), x)[0] if first.requires_grad"
        " else torch.zeros_like(x)",
    ),
)

fix(
    "gradients_pile_up/left_by_another",
    "",
    "used.allclose(own)",
    """
G, D = nn.Linear(4, 8), nn.Linear(8, 1)
opt_g, opt_d = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (G, D))
fake = G(torch.ones(6, 4))
own = torch.autograd.grad((D(fake.detach()) - 1).pow(2).mean(), D.weight)[0]
g_loss = D(fake).mean()
g_loss.backward()
opt_g.step()
d_loss = (D(fake.detach()) - 1).pow(2).mean()
d_loss.backward()
used = D.weight.grad.clone()
opt_d.step()
""",
    (
        "right before the second backward",
        "d_loss.backward()",
        "opt_d.zero_grad(); d_loss.backward()",
    ),
    (
        "requires_grad_(False) on D.{weight,bias} while the first loss runs",
        "g_loss = D(fake).mean()\ng_loss.backward()",
        "D.requires_grad_(False)\ng_loss = D(fake).mean()\ng_loss.backward()\nD.requires_grad_()",
    ),
)
fix(
    "gradients_pile_up/left_and_cleared_elsewhere",
    "",
    "used.allclose(own)",
    """
G, D = nn.Linear(4, 8), nn.Linear(8, 1)
opt_g, opt_d = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (G, D))
fake = G(torch.ones(6, 4))
own = torch.autograd.grad((D(fake.detach()) - 1).pow(2).mean(), D.weight)[0]
g_loss = D(fake).mean()
g_loss.backward()
opt_g.step()
opt_g.zero_grad()
d_loss = (D(fake.detach()) - 1).pow(2).mean()
d_loss.backward()
used = D.weight.grad.clone()
opt_d.step()
""",
    (
        "right before the second backward",
        "d_loss.backward()",
        "opt_d.zero_grad(); d_loss.backward()",
    ),
    (
        "requires_grad_(False) on D.{weight,bias} while the first loss runs",
        "g_loss = D(fake).mean()\ng_loss.backward()",
        "D.requires_grad_(False)\ng_loss = D(fake).mean()\ng_loss.backward()\nD.requires_grad_()",
    ),
)
fix(
    "not_in_loss/part_dropped",
    "",
    "net.weight.grad.allclose(torch.autograd.grad(total, net.weight)[0])",
    """
net = nn.Linear(3, 1)
def losses():
    fit, size = net(torch.ones(2, 3)).pow(2).mean(), net.weight.pow(2).sum()
    total = fit + 0.1 * size
    return fit, total
loss, total = losses()
loss.backward(retain_graph=True)
""",
    ("call backward on total", "loss.backward(", "total.backward("),
    ("let it return total", "return fit, total", "return total, total"),
)
fix(
    "zero_gradient/second_slope",
    "",
    "again.any()",
    """
net = nn.Sequential(nn.Linear(1, 4), nn.ReLU(), nn.Linear(4, 1))
x = torch.linspace(-1, 1, 9).view(-1, 1).requires_grad_()
slope, = torch.autograd.grad(net(x).sum(), x, create_graph=True)
again, = torch.autograd.grad(slope.sum(), x, create_graph=True)
(again + x).pow(2).sum().backward()
""",
    ("torch.tanh", "nn.ReLU()", "nn.Tanh()"),
    ("F.silu", "nn.ReLU()", "nn.SiLU()"),
    ("F.softplus", "nn.ReLU()", "nn.Softplus()"),
)
fix(
    "not_in_loss/second_none",
    "",
    "again is not None",
    """
net = nn.Linear(1, 1)
x = torch.linspace(-1, 1, 9).view(-1, 1).requires_grad_()
slope, = torch.autograd.grad(net(x).sum(), x, create_graph=True)
again, = torch.autograd.grad(slope.sum(), x, allow_unused=True)
""",
    ("a smooth activation", "net(x).sum()", "net(x).tanh().sum()"),
)
fix(
    "constant_summand/without_graph",
    "net, loss",
    "slope.requires_grad",
    """
net, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), torch.ones(2, 3, requires_grad=True)
fit = net(x).pow(2).mean()
slope = torch.autograd.grad(net(x).sum(), x)[0].norm()
loss = fit + slope
loss.backward()
""",
    ("create_graph=True in", "(net(x).sum(), x)", "(net(x).sum(), x, create_graph=True)"),
)
fix(
    "first_order/of_custom",
    "x",
    "x.grad is not None",
    """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        twice = x * 2
        ctx.twice = twice
        return twice**2

    @staticmethod
    def backward(ctx, grad):
        return 4 * ctx.twice * grad

x = torch.tensor([1.0, 3.0], requires_grad=True)
y = Square.apply(x)
slope, = torch.autograd.grad(y, x, torch.ones(2, requires_grad=True), create_graph=True)
slope.sum().backward()
""",
    (
        "save_for_backward() the inputs and outputs that backward computes with",
        "ctx.twice = twice",
        "ctx.save_for_backward(x)",
        "4 * ctx.twice",
        "8 * ctx.saved_tensors[0]",
    ),
)
fix(
    "rebuilt_from_value/in_own_backward",
    "w",
    "w.grad is not None",
    """
class Sine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return torch.sin(x * w)

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        slope = torch.tensor(np.cos((x * w).detach().numpy()))
        return grad * slope * w.detach(), (grad * slope * x.detach()).sum()

x, w = torch.linspace(0, 1, 5, requires_grad=True), torch.tensor(2.0, requires_grad=True)
slope, = torch.autograd.grad(Sine.apply(x, w).sum(), x, create_graph=True)
(slope - x).pow(2).sum().backward()
""",
    (
        "compute it in backward with torch functions of the saved tensors",
        "torch.tensor(np.cos((x * w).detach().numpy()))",
        "torch.cos(x * w)",
        "w.detach()",
        "w",
        "x.detach()",
        "x",
    ),
)
fix(
    "cut/read_in_function",
    "gain",
    "gain.grad is not None",
    """
class Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, settings):
        ctx.gain = settings["gain"]
        return x * ctx.gain

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.gain, None

gain, x = torch.tensor(2.0, requires_grad=True), torch.ones(3, requires_grad=True)
Times.apply(x, {"gain": gain}).sum().backward()
""",
    (
        "to Times.apply() as an argument of its own",
        'settings["gain"]',
        "settings; ctx.x = x",
        "grad * ctx.gain, None",
        "grad * ctx.gain, (grad * ctx.x).sum()",
        '{"gain": gain}',
        "gain",
    ),
)
fix(
    "rebuilt_from_value/read_as_number",
    "layer.rate",
    "layer.rate.grad is not None",
    """
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.rate = nn.Parameter(torch.tensor(0.5))
        rate = float(self.rate)
        self.bound = torch.tensor([rate])

    def forward(self, x):
        return self.linear(x) * torch.full((3,), self.bound.item())

layer = Layer()
layer(torch.ones(2, 3)).sum().backward()
""",
    (
        "compute with the tensor itself",
        "torch.full((3,), self.bound.item())",
        "self.rate",
    ),
)
fix(
    "first_order/in_loss",
    "w, loss",
    "w.grad.allclose(torch.tensor([0.4, -0.2]))",
    """
w = torch.tensor([1.0, 2.0], requires_grad=True)
g, = torch.autograd.grad(w.pow(3).sum(), w)
loss = (w - 0.1 * g).sum()
loss.backward()
""",
    ("create_graph=True in", ".sum(), w)", ".sum(), w, create_graph=True)"),
)


# --- values ---------------------------------------------------------------------------------------

FITTED = """
lin, x, y = nn.Linear(3, 3), torch.eye(3), torch.arange(3)
opt = torch.optim.SGD(lin.parameters(), lr=5.0)
for _ in range(60):
    opt.zero_grad()
    loss = {loss}
    loss.backward()
    opt.step()
"""
WITHOUT_LOG = (
    "or use binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "binary_cross_entropy",
)
for form, made, loss, others in (
    ("softmax_of_classes", "torch.softmax(lin(x), 1)", "F.cross_entropy({}, y)", ()),
    (
        "sigmoid_twice",
        "lin(x).sigmoid()",
        "F.binary_cross_entropy_with_logits({}, x)",
        (WITHOUT_LOG,),
    ),
    ("other", "lin(x).sigmoid()", "F.cross_entropy({}, y)", ()),
):
    activation = "softmax" if "softmax" in made else "sigmoid"
    fix(
        f"not_logits/{form}",
        "lin, loss",
        "loss < 0.1",
        FITTED.format(loss=loss.format(made)),
        (f"leave this {activation} out", made, "lin(x)"),
        *others,
    )
fix(
    "not_logits/no_log",
    "lin, loss",
    "lin.weight.grad.abs().max() > 0.4",  # the model is as wrong as can be
    """
lin, x, y = nn.Linear(2, 2, bias=False), torch.eye(2), torch.tensor([1, 0])
lin.weight.data = 20 * torch.eye(2)
loss = F.nll_loss(torch.softmax(lin(x), 1), y)
loss.backward()
""",
    ("log_softmax in place of", "torch.softmax", "torch.log_softmax"),
    (
        "leave it out, and use cross_entropy",
        "F.nll_loss(torch.softmax(lin(x), 1), y)",
        "F.cross_entropy(lin(x), y)",
    ),
)
fix(
    "not_logits/no_log_of_two",
    "lin, loss",
    "(torch.softmax(lin(x), 1) - t).abs().max() < 0.05",
    """
lin, x, t = nn.Linear(2, 2), torch.eye(2), torch.tensor([[0.9, 0.1], [0.2, 0.8]])
opt = torch.optim.SGD(lin.parameters(), lr=1.0)
for _ in range(300):
    opt.zero_grad()
    loss = F.kl_div(torch.softmax(lin(x), 1), t, reduction="batchmean")
    loss.backward()
    opt.step()
""",
    ("log_softmax in place of", "torch.softmax", "torch.log_softmax"),
)
fix(
    "not_moved/holds_the_other",
    "q",
    "not torch.equal(q.weight, torch.ones(2, 2))",
    """
q, target, x = nn.Linear(2, 2), nn.Linear(2, 2), torch.eye(2)
nn.init.ones_(q.weight)
opt = torch.optim.SGD(target.parameters(), lr=0.1)
for _ in range(3):
    with torch.no_grad():
        wanted = target(x)
    loss = (q(x) - wanted).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ("make opt from q.parameters()", "SGD(target.parameters()", "SGD(q.parameters()"),
)
fix(
    "not_moved/only_rebound",
    "lin",
    "not torch.equal(lin.weight, torch.ones(2, 2))",
    """
lin, x = nn.Linear(2, 2), torch.eye(2)
nn.init.ones_(lin.weight)
for _ in range(3):
    lin.zero_grad()
    lin(x).pow(2).sum().backward()
    for p in lin.parameters():
        p = p - 0.1 * p.grad
""",
    (
        "p -= …, not p = p - …",
        "        p = p - 0.1 * p.grad",
        "        with torch.no_grad():\n            p -= 0.1 * p.grad",
    ),
)
fix(
    "nan/diverged_at",
    "lin",
    "loss < 1",
    """
lin, x = nn.Linear(1, 1), torch.tensor([[10.0], [20.0]])
opt = torch.optim.SGD(lin.parameters(), lr=5e-2)
for _ in range(60):
    opt.zero_grad()
    loss = (lin(x) - x).pow(2).mean()
    loss.backward()
    opt.step()
""",
    ("a smaller learning rate, such as a tenth of it", "lr=5e-2", "lr=5e-3 / 2"),
)
fix(
    "nan/lost_eps",
    "lin",
    "not lin.weight.isnan().any()",
    """
lin, x = nn.Linear(4, 1).half(), torch.randn(8, 4).half()
opt = torch.optim.Adam(lin.parameters(), lr=1e-3)
for _ in range(4):
    opt.zero_grad()
    loss = lin(x).pow(2).mean()
    loss.backward()
    opt.step()
""",
    ("such as eps=1e-4", "lr=1e-3", "lr=1e-3, eps=1e-4"),
    (
        "leave half() out",
        "nn.Linear(4, 1).half(), torch.randn(8, 4).half()",
        "nn.Linear(4, 1), torch.randn(8, 4)",
    ),
)
fix(
    "nan/diverged",
    "w",
    "loss < 1",
    """
w, x = torch.zeros(1, requires_grad=True), torch.tensor([10.0, 20.0])
for _ in range(60):
    w.grad = None
    loss = (w * x - x).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 5e-2 * w.grad
""",
    ("steps that go less far", "5e-2", "1e-3"),
)
fix(
    "changed_before_read/second_name",
    "w, loss",
    "w.grad.tolist() == [1, 2]",  # of relu(h) + h, and not of relu(h) + relu(h)
    """
w = torch.tensor([-1.0, 2.0], requires_grad=True)
h = w * 1
skip = h
out = F.relu(h, inplace=True)
loss = (out + skip).sum()
loss.backward()
""",
    ("inplace=False", "inplace=True", "inplace=False"),
    ("skip = h.clone()", "skip = h", "skip = h.clone()"),
)
fix(
    "changed_before_read/second_name",
    "w, loss",
    "w.grad.allclose(2 * w + 1)",  # of (h + 1) * h
    """
w = torch.tensor([-1.0, 2.0], requires_grad=True)
h = w * 1
skip = h
h += 1
loss = (h * skip).sum()
loss.backward()
""",
    ("y = x + 1 for x += 1", "h += 1", "h = h + 1"),
    ("skip = h.clone()", "skip = h", "skip = h.clone()"),
)
fix(
    "partly_zero/flat",
    "w",
    "not w.grad.eq(0).any()",
    """
w, x = nn.Parameter(torch.tensor([0.5, -0.1, 0.3])), torch.randn(8, 3)
opt = torch.optim.SGD([w], lr=0.01)
for _ in range(2):
    opt.zero_grad()
    loss = (x @ F.relu(w) - 1).pow(2).mean()
    loss.backward()
    opt.step()
""",
    ("softplus", "F.relu(w)", "F.softplus(w)"),
    ("exp", "F.relu(w)", "w.exp()"),
    (
        "after each step, under no_grad",
        "opt.step()",
        "opt.step()\n    with torch.no_grad():\n        w.clamp_(min=0.1)",
    ),
)
IS_FINITE = "bool(w.grad.isfinite().all())"
fix(
    "nan/node",
    "w",
    IS_FINITE,
    """
w = torch.zeros(2, requires_grad=True)
loss = w.pow(2).sum().sqrt()
loss.backward()
""",
    ("+ eps inside, before it", ".sqrt()", ".add(1e-6).sqrt()"),
    ("eps", "w.pow(2).sum()", "(w.pow(2).sum() + 1e-6)"),
)
fix(
    "nan/came_as_nan",
    "w",
    IS_FINITE,
    """
w = torch.ones(2, requires_grad=True)
x = torch.tensor([1.0, float("nan")])
loss = ((w * x) ** 2)[:1].sum()
loss.backward()
""",
    ("take the entries with NaN out of x", "w * x", "w[:1] * x[:1]"),
    ("torch.nan_to_num(x)", "w * x", "w * torch.nan_to_num(x)"),
)
fix(
    "nan/came_as_nan_unread",
    "w",
    IS_FINITE,
    """
w = torch.ones(3, requires_grad=True)
rows = torch.full((4, 3), float("nan"))
rows[:3] = 1.0
loss = ((rows @ w) ** 2)[:3].sum()
loss.backward()
""",
    ("take these entries out", "rows @ w", "rows[:3] @ w"),
    ("torch.nan_to_num", "rows @ w", "torch.nan_to_num(rows) @ w"),
)
for call in ("sqrt()", "log()"):
    fix(
        "nan/masked",
        "w",
        IS_FINITE,
        f"""
w = torch.tensor([0.0, 4.0], requires_grad=True)
loss = torch.where(w > 1, w.{call}, w).sum()
loss.backward()
""",
        ("torch.where(mask, x, 1)", f"w.{call}", f"torch.where(w > 1, w, 1).{call}"),
    )
for cause, divided, value in (("nan", "w * 2", "0.0"), ("exploding", "torch.ones(2)", "1e-25")):
    fix(
        f"{cause}/divides",
        "w",
        IS_FINITE,
        f"""
w = torch.tensor([{value}, 1.0], requires_grad=True)
loss = torch.nan_to_num({divided} / w).sum()
loss.backward()
""",
        ("x / (y + eps)", "/ w", "/ (w + 1e-6)"),
        ("clamp(min=eps)", "/ w", "/ w.clamp(min=1e-6)"),
    )

HALF = """
net = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1)).half()
x = torch.randn(16, 8).half()
out = net(x)
loss = {loss} * 1e-7
loss.backward()
"""
SCALED = 'torch.amp.GradScaler("cpu", init_scale=2.0**15).scale(loss).backward()'
fix(
    "underflow/zero",
    "net[0].weight",
    "bool(net[0].weight.grad.any())",
    HALF.format(loss="out.float().pow(2).mean()"),
    ("torch.amp.GradScaler", "loss.backward()", SCALED),
)
fix(
    "underflow/on_the_way",
    "net[0].weight",
    "bool(net[0].weight.grad.any())",
    HALF.format(loss="out.mean()"),
    ("torch.amp.GradScaler", "loss.backward()", SCALED),
    ("float32", ".half()", ".float()"),
    ("bfloat16", ".half()", ".bfloat16()"),
)

# --- the tests ------------------------------------------------------------------------------------


# --- what the code writes by itself ---------------------------------------------------------------

OWN_OPTIMIZER = """
class Decaying(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, dict(lr=0.1))
    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            {then}
net = nn.ModuleDict({{"used": nn.Linear(3, 1), "idle": nn.Linear(3, 1)}})
opt, before = Decaying(net.parameters()), net["idle"].weight.detach().clone()
for _ in range(2):
    loss = net["used"](torch.ones(2, 3)).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
fix(
    "not_in_loss/set_and_moved",
    "net, loss",
    "torch.equal(before, net['idle'].weight)",
    OWN_OPTIMIZER.format(then="p.mul_(0.9).sub_(0.1 * p.grad)"),
    ("leave it alone where its .grad is None", "p.grad = torch.zeros_like(p)", "continue"),
)
fix(
    "not_in_loss/set_by_code",
    "net, loss",
    "net['idle'].weight.grad is None",
    OWN_OPTIMIZER.format(then="pass"),
    ("leave it alone where its .grad is None", "p.grad = torch.zeros_like(p)", "continue"),
)
fix(
    "freeze_without_effect/on_part",
    "net",
    "torch.equal(before[0], net.weight[0]) and not torch.equal(before[1], net.weight[1])",
    """
net = nn.Linear(3, 2)
mask = torch.tensor([[0.0], [1.0]]).expand(2, 3)
before = net.weight.detach().clone()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net.weight.data[mask == 0].requires_grad = False
for _ in range(2):
    loss = net(torch.ones(2, 3)).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    (
        "p.register_hook(lambda grad: grad * mask)",
        "net.weight.data[mask == 0].requires_grad = False",
        "net.weight.register_hook(lambda grad: grad * mask)",
    ),
)
fix(
    "not_moved/wrapped_again",
    "net",
    "net.w.grad is not None and any(net.w is p for p in opt.param_groups[0]['params'])",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))
    def forward(self, x):
        self.w = nn.Parameter(self.w / self.w.norm())
        return x @ self.w
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    loss = net(torch.ones(2, 3)).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    (
        "give what forward computes from it a name of its own",
        "self.w = nn.Parameter(self.w / self.w.norm())\n        return x @ self.w",
        "w = self.w / self.w.norm()\n        return x @ w",
    ),
)
fix(
    "not_moved/step_not_reached",
    "net",
    "not torch.equal(net.weight, before)",
    """
net = nn.Linear(3, 1)
before = net.weight.detach().clone()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    for i in range(4):
        net(torch.ones(2, 3)).sum().backward()
        if (i + 1) % 8 == 0:
            opt.step()
            opt.zero_grad()
""",
    (
        "compare with what a loop over the data really reaches",
        "if (i + 1) % 8 == 0",
        "if (4 * epoch + i + 1) % 8 == 0",
    ),
)
fix(
    "not_moved/step_at_no_remainder",
    "net",
    "not torch.equal(net.weight, before)",
    """
net, rounds = nn.Linear(3, 1), 2
before = net.weight.detach().clone()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(0, 16, 2):
    net(torch.ones(2, 3)).sum().backward()
    if i % rounds:
        opt.step()
        opt.zero_grad()
""",
    ("if i % rounds == 0 there", "if i % rounds:", "if i % rounds == 0:"),
)
fix(
    "not_moved/step_left_out",
    "G",
    "not torch.equal(before, G.weight)",
    """
G, D = nn.Linear(2, 2), nn.Linear(2, 1)
opt_g, opt_d = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (G, D))
before = G.weight.detach().clone()
for _ in range(3):
    loss = D(G(torch.ones(2, 2))).sum()
    opt_g.zero_grad()
    opt_d.zero_grad()
    loss.backward()
    opt_d.step()
""",
    ("opt_g.step() after loss.backward()", "opt_d.step()", "opt_d.step()\n    opt_g.step()"),
)
fix_of_error(
    "non_leaf_in_optimizer/likely_part",
    """
table = torch.ones(4, 2, requires_grad=True)
part = table[1:3]
opt = torch.optim.SGD([part], lr=0.1)
""",
    (
        "detach().clone().requires_grad_()",
        "table[1:3]",
        "table[1:3].detach().clone().requires_grad_()",
    ),
    ("hand table to the optimizer", "[part]", "[table]"),
)
fix_of_error(
    "unused_input/in_memory_of_untracked",
    """
net, x = nn.Linear(2, 1), torch.ones(3, 2)
out = net(x).sum()
torch.autograd.grad(out, torch.autograd.Variable(x, requires_grad=True))
""",
    (
        "x.requires_grad_() before out is computed from it, and ask for x itself",
        "out = net(x).sum()",
        "x.requires_grad_()\nout = net(x).sum()",
        "torch.autograd.Variable(x, requires_grad=True)",
        "x",
    ),
)
fix_of_error(
    "unused_input/in_memory",
    """
net, x = nn.Linear(2, 1), torch.ones(3, 2, requires_grad=True)
out = net(x).sum()
torch.autograd.grad(out, x.detach().requires_grad_())
""",
    ("ask for x itself", "x.detach().requires_grad_()", "x"),
)
fix_of_error(
    "view_in_place/of_function",
    """
class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x
    @staticmethod
    def backward(ctx, grad):
        return grad * 2
y = Same.apply(torch.ones(2, requires_grad=True) * 3)
y *= 2
y.sum().backward()
""",
    ("y = y * 2 in the place of", "y *= 2", "y = y * 2"),
)
fix(
    "cut/straight_through",
    "table",
    "table.weight.grad is not None",
    """
table, enc = nn.Embedding(4, 2), nn.Linear(2, 2)
z_e = enc(torch.ones(3, 2))
z = table(torch.tensor([0, 1, 2]))
z_q = z_e + (z - z_e).detach()
loss = (z_q - 1).pow(2).mean() + (z_q - z_e.detach()).pow(2).mean()
loss.backward()
""",
    (
        "compute that part of loss from z itself, in the place of z_q",
        "(z_q - z_e.detach())",
        "(z - z_e.detach())",
    ),
)
fix(
    "not_in_loss/only_looked_at",
    "two",
    "two.weight.grad is not None",
    """
one, two = nn.Linear(2, 1), nn.Linear(2, 1)
a, b = one(torch.ones(3, 2)).mean(), two(torch.ones(3, 2)).mean()
loss = sum([a, b][:1])
loss.backward()
print(a.item(), b.item())
""",
    ("add b to loss before its backward", "loss.backward()", "loss = loss + b\nloss.backward()"),
    ("call backward on it too", "loss.backward()", "loss.backward()\nb.backward()"),
)
FIXED_TEACHER = """
teacher, student = nn.Linear(2, 3), nn.Linear(2, 3)
opt = torch.optim.SGD(student.parameters(), lr=0.1)
x = torch.ones(4, 2)
with torch.no_grad():
    known = teacher(x)
out = student(x)
soft = (known.softmax(-1) - known.log_softmax(-1)).pow(2).mean()
loss = soft + out.pow(2).mean()
loss.backward()
opt.step()
"""
fix(
    "constant_summand/of_the_fixed_beside",
    "student, loss",
    "soft.requires_grad",
    FIXED_TEACHER,
    ("out in the place of one known in these lines", "known.log_softmax", "out.log_softmax"),
)
fix(
    "constant_summand/of_the_fixed",
    "student, loss",
    "soft.requires_grad",
    FIXED_TEACHER.replace("nn.Linear(2, 3)\n", "nn.Linear(2, 6)\n"),
    (
        "compute soft from an output of what is trained, too",
        "known.log_softmax",
        "out[:, :3].log_softmax",
    ),
)

# --- where one mend alone raises again ------------------------------------------------------------

fix_of_error(
    "view_of_leaf_in_place/numbers",
    """
conv = nn.Conv1d(1, 6, 1)
b = conv.bias.view(2, 3)
b[:, 0] += 1.5
b[:, 1:] -= 0.5
conv.bias.sum().backward()
""",
    (
        "around b[:, 0] += 1.5 and b[:, 1:] -= 0.5 (program.py line 4)",
        "b[:, 0] += 1.5\nb[:, 1:] -= 0.5\n",
        "with torch.no_grad():\n    b[:, 0] += 1.5\n    b[:, 1:] -= 0.5\n",
    ),
)
fix_of_error(
    "leaf_in_place/numbers",
    """
w, b = torch.zeros(2, requires_grad=True), torch.zeros(1, requires_grad=True)
x, y = torch.ones(4, 2), torch.ones(4)
for step in range(2):
    loss = (x @ w + b - y).pow(2).mean()
    loss.backward()
    w -= 0.1 * w.grad
    b -= 0.1 * b.grad
    w.grad.zero_(), b.grad.zero_()
""",
    (
        "around w -= 0.1 * w.grad and b -= 0.1 * b.grad (program.py line 7)",
        "    w -= 0.1 * w.grad\n    b -= 0.1 * b.grad\n",
        "    with torch.no_grad():\n        w -= 0.1 * w.grad\n        b -= 0.1 * b.grad\n",
    ),
)
fix_of_error(
    "unused_input/cut",
    """
a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
v = torch.ones(2, requires_grad=True)
one = a.detach()
two = b.detach()
loss = (one * two * v).sum()
torch.autograd.grad(loss, (a, b))
""",
    (
        "The same in two = b.detach() (program.py line 4), for b",
        "one = a.detach()",
        "one = a",
        "two = b.detach()",
        "two = b",
    ),
)
fix_of_error(
    "unused_input/cut",
    """
a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
v = torch.ones(2, requires_grad=True)
one = a.detach()
with torch.no_grad():
    two = b * 2
loss = (one * two * v).sum()
torch.autograd.grad(loss, (a, b))
""",
    (
        "b is cut off too, in two = b * 2 (program.py line 5): take this call",
        "one = a.detach()",
        "one = a",
        "with torch.no_grad():",
        "if True:",
    ),
)
fix_of_error(
    "unused_input/unused_among",
    """
w, v = torch.ones(2, requires_grad=True), torch.zeros(2, requires_grad=True)
u = torch.zeros(2, requires_grad=True)
loss = (w * 2).sum()
torch.autograd.grad(loss, [w, u, v])
""",
    ("compute loss from u and v", "(w * 2).sum()", "(w * 2 + u + v).sum()"),
    ("do not ask for them", "[w, u, v]", "[w]"),
)
fix_of_error(
    "no_grad_fn/cut",
    """
net = nn.Linear(3, 3)
x, y = torch.randn(4, 3), torch.ones(4, 3).long()
out = net(x)
out = torch.where(out < 0.5, 0, 1)
both = torch.logical_and(out, y).sum(-1)
either = torch.logical_or(out, y).sum(-1)
loss = 1 - ((both + 1.0) / (either + 1.0)).mean()
loss.backward()
""",
    (
        "p * 0 + (1 - p) * 1 in the place of torch.where(out < 0.5, 0, 1), with p = torch.sigmoid((0.5 - out) / t)",
        "out = torch.where(out < 0.5, 0, 1)",
        "p = torch.sigmoid((0.5 - out) / 0.1)\nout = p * 0 + (1 - p) * 1",
        "torch.logical_and(out, y)",
        "(out * y)",
        "torch.logical_or(out, y)",
        "(out + y - out * y)",
    ),
    cut="chosen",
)
fix_of_error(
    "no_grad_fn/cut",
    """
net = nn.Linear(3, 3)
x, y = torch.randn(4, 3), torch.ones(4, 3).bool()
mask = net(x) > 0
hit = torch.logical_and(mask, y)
loss = 1 - hit.float().mean()
loss.backward()
""",
    (
        "mask * y in the place of torch.logical_and(mask, y)",
        "mask = net(x) > 0",
        "mask = torch.sigmoid(net(x))",
        "torch.logical_and(mask, y)",
        "mask * y",
    ),
    cut="logical",
)
fix_of_error(
    "no_grad_fn/cut",
    """
net = nn.Linear(3, 3)
x, y = torch.randn(4, 3), torch.ones(4, 3)
out = net(x)
mask = out - 1 < out * 2
loss = 1 - (mask.float() * y).mean()
loss.backward()
""",
    (
        "torch.sigmoid((out * 2 - (out - 1)) / t) in the place of out - 1 < out * 2",
        "out - 1 < out * 2",
        "torch.sigmoid((out * 2 - (out - 1)) / 0.1)",
    ),
    cut="compared",
)
fix_of_error(
    "no_grad_fn/cut",
    """
net = nn.Linear(3, 3)
x, y = torch.randn(4, 3), torch.ones(4, 3)
out = net(x)
mask = out > 0.5
hard = torch.where(mask, 1.0, -1.0)
loss = (hard - y).pow(2).mean()
loss.backward()
""",
    (
        "p * 1.0 + (1 - p) * (-1.0) in the place of torch.where(mask, 1.0, -1.0), with p = torch.sigmoid((out - 0.5) / t)",
        "torch.where(mask, 1.0, -1.0)",
        "torch.sigmoid((out - 0.5) / 0.1) * 1.0 + (1 - torch.sigmoid((out - 0.5) / 0.1)) * (-1.0)",
    ),
    cut="chosen",
)
fix_of_error(
    "no_grad_fn/cut",
    """
net = nn.Linear(3, 3)
x, y = torch.randn(4, 3), torch.ones(4, 3).bool()
mask = net(x) > 0
hit = torch.logical_and(mask, y).sum()
missed = torch.logical_and(mask, ~y).sum()
loss = missed - hit
loss.float().backward()
""",
    (
        "Beside it, program.py line 4, which cuts too: mask * y in the place of torch.logical_and(mask, y)",
        "mask = net(x) > 0",
        "mask = torch.sigmoid(net(x))",
        "torch.logical_and(mask, y)",
        "(mask * y)",
        "torch.logical_and(mask, ~y)",
        "(mask * ~y)",
    ),
    cut="beside",
)
fix_of_error(
    "no_grad_fn/cut",
    """
net, loss_fn = nn.Linear(3, 4), nn.CrossEntropyLoss()
x, y = torch.randn(5, 3), torch.tensor([0, 1, 2, 3, 0])
logits = net(x)
preds = torch.softmax(logits, dim=1).argmax(dim=1).type(torch.float32)
loss = loss_fn(preds, y.type(torch.float32))
loss.backward()
""",
    (
        "loss_fn(logits, y) in the place of loss_fn(preds, y.type(torch.float32))",
        "loss_fn(preds, y.type(torch.float32))",
        "loss_fn(logits, y)",
    ),
    cut="labels",
)
fix_of_error(
    "no_grad_fn/cut",
    """
net = nn.Linear(3, 4)
x, y = torch.randn(5, 3), torch.tensor([0, 1, 2, 3, 0])
logits = net(x)
loss = F.mse_loss(logits.argmax(dim=1).float(), y.float())
loss.backward()
""",
    (
        "F.cross_entropy(logits, y) in the place of F.mse_loss(",
        "F.mse_loss(logits.argmax(dim=1).float(), y.float())",
        "F.cross_entropy(logits, y)",
    ),
    cut="labels",
)
fix_of_error(
    "no_grad_fn/cut",
    """
net = nn.Linear(3, 4)
x, y = torch.randn(5, 3), torch.tensor([0, 1, 2, 3, 0])
logits = net(x)
correct = (logits.argmax(dim=1) == y).float()
loss = 1 - correct.mean()
loss.backward()
""",
    (
        "F.cross_entropy(logits, y) as the loss",
        "loss = 1 - correct.mean()",
        "loss = F.cross_entropy(logits, y)",
    ),
    cut="accuracy",
)
fix_of_error(
    "unused_input/cut",
    """
table = nn.Parameter(torch.randn(5, 2))
x = torch.tensor([0.0, 2.0, 4.0], requires_grad=True)
index = x.long()[:, None].expand(-1, 2)
loss = torch.gather(table, 0, index).pow(2).sum()
torch.autograd.grad(loss, x)
""",
    (
        "a density, as torch.distributions.Normal(mean, std).log_prob(x)",
        "torch.gather(table, 0, index)",
        "torch.distributions.Normal(table[:3, 0], 1.0).log_prob(x)",
    ),
    (
        "the sum of all n entries, weighed by torch.softmax(-(x[..., None] - torch.arange(n)) ** 2 / t, -1)",
        "torch.gather(table, 0, index)",
        "(torch.softmax(-(x[..., None] - torch.arange(5)) ** 2 / 0.1, -1) @ table)",
    ),
    cut="index_cast",
)
EMBEDDED_BEFORE = """
one, two, head = nn.Linear(2, 3), nn.Linear(2, 3), nn.Linear(3, 1)
opt = torch.optim.SGD([*one.parameters(), *two.parameters(), *head.parameters()], lr=0.1)
x = torch.randn(4, 2)
h = one(x).tanh()
e = two(x).tanh()
for step in range(3):
    loss = head(h * e).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
fix_of_error(
    "second_backward/once_learning_above",
    EMBEDDED_BEFORE,
    (
        "h = one(x).tanh() and e = two(x).tanh() once more, right above loss = head",
        "    loss = head",
        "    h = one(x).tanh()\n    e = two(x).tanh()\n    loss = head",
    ),
)
WEIGHTS_OF_ANOTHER = """
target, hyper = nn.Linear(3, 2), nn.Linear(5, 8)
opt = torch.optim.SGD(hyper.parameters(), lr=0.1)
for step in range(3):
    made = hyper(torch.ones(5))
    target.weight = made[:6].view(2, 3)
    target.bias = made[6:]
    loss = target(torch.ones(4, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
assert all(p.grad.any() for p in hyper.parameters())
"""
fix_of_error(
    "not_a_parameter/result_of_another",
    WEIGHTS_OF_ANOTHER,
    (
        "del target.weight and del target.bias right above target.weight = made[:6].view(2, 3)",
        "    target.weight =",
        "    del target.weight\n    target.weight =",
        "    target.bias =",
        "    del target.bias\n    target.bias =",
    ),
    (
        "keep the result under another name",
        "target.weight =",
        "weight =",
        "target.bias =",
        "bias =",
        "target(torch.ones(4, 3))",
        "(torch.ones(4, 3) @ weight.T + bias)",
    ),
)
# with a name free that is read to compute it, it would not run
fix_of_error(
    "not_a_parameter/result_assigned",
    WEIGHTS_OF_ANOTHER.replace("made[:6]", "(made[:6] + target.weight.detach().flatten())"),
    (
        "keep the result under another name",
        "target.weight =",
        "weight =",
        "target.bias =",
        "bias =",
        "target(torch.ones(4, 3))",
        "(torch.ones(4, 3) @ weight.T + bias)",
    ),
)
SAVED_OTHERWISE = """
class Mul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, scale):
        SAVE
        return x * w * scale

    @staticmethod
    def backward(ctx, grad):
        x, w, scale = ctx.saved_tensors
        return grad * w * scale, grad * x * scale, (grad * x * w).sum()


x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
Mul.apply(x, w, GIVEN).sum().backward()
"""
fix_of_error(
    "custom_backward/saved_others_named",
    SAVED_OTHERWISE.replace("SAVE", "ctx.save_for_backward(x, w)").replace("GIVEN", "x[0]"),
    (
        "ctx.save_for_backward(x, w, scale) in the place of ctx.save_for_backward(x, w)",
        "ctx.save_for_backward(x, w)",
        "ctx.save_for_backward(x, w, scale)",
    ),
)
# a number is none of the tensors that can be saved
fix_of_error(
    "custom_backward/saved_others",
    SAVED_OTHERWISE.replace("SAVE", "ctx.save_for_backward(x, w)")
    .replace("GIVEN", "2")
    .replace("(grad * x * w).sum()", "None"),
    (
        "tensors alone; other values are kept as attributes of ctx",
        "ctx.save_for_backward(x, w)",
        "ctx.save_for_backward(x, w); ctx.scale = scale",
        "x, w, scale = ctx.saved_tensors",
        "(x, w), scale = ctx.saved_tensors, ctx.scale",
    ),
)
fix_of_error(
    "custom_backward/unsaved_named",
    SAVED_OTHERWISE.replace("SAVE", "pass").replace("GIVEN", "x[0]"),
    (
        "ctx.save_for_backward(x, w, scale) in forward, right above return x * w * scale",
        "pass",
        "ctx.save_for_backward(x, w, scale)",
    ),
)
fix_of_error(
    "custom_backward/unsaved",
    SAVED_OTHERWISE.replace("SAVE", "pass")
    .replace("GIVEN", "2")
    .replace("(grad * x * w).sum()", "None"),
    (
        "with the tensors that backward takes, in its order; other values are kept as attributes",
        "pass",
        "ctx.save_for_backward(x, w); ctx.scale = scale",
        "x, w, scale = ctx.saved_tensors",
        "(x, w), scale = ctx.saved_tensors, ctx.scale",
    ),
)
# what is saved under a condition, or is unpacked of something else, is not told
SAVED_BY_A_BRANCH = SAVED_OTHERWISE.replace("SAVE", "if len(x) < 3: ctx.save_for_backward(x)")
UNPACKED_OF_ITSELF = SAVED_OTHERWISE.replace("SAVE", "ctx.save_for_backward(x, w, scale)").replace(
    "ctx.saved_tensors\n", "ctx.saved_tensors\n        x, w = grad\n"
)


@pytest.mark.parametrize("program", [SAVED_BY_A_BRANCH, UNPACKED_OF_ITSELF])
def test_of_what_backward_unpacks_nothing_is_said_that_is_not_known(program: str) -> None:
    with gv.record() as recording:
        _, error = executed(program.replace("GIVEN", "x[0]"), "program.py")
    answer = gv.explain(error=error, recording=recording)
    assert str(answer.cause) == "not_known", str(answer)


ASKING_EVERY_GRADIENT = """
def clip(model):
    for param in model.parameters():
        param.grad.clamp_(-1, 1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.idle = nn.Linear(3, 1), nn.Linear(3, 1)

    def forward(self, x):
        return self.used(x)


net = Net()
net.idle.requires_grad_(FLAG)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
loss = net(torch.ones(2, 3)).mean()
loss.backward()
known = [p.grad.norm() for p in net.parameters() if p.grad is not None]
total = sum(p.grad.norm() for p in net.parameters())
largest = max(p.grad.abs().max() for _, p in net.named_parameters() if p.requires_grad)
clip(net)
opt.step()
"""
# the lines that would fail next are told with it; one that looks for None, or ran before, is not
fix_of_error(
    "branch_not_taken/not_called",
    ASKING_EVERY_GRADIENT.replace("FLAG", "True"),
    (
        "skip it in that line, program.py line 3 and program.py line 22: if p.grad is not None, if param.grad is not None",
        "param.grad.clamp_(-1, 1)",
        "if param.grad is not None: param.grad.clamp_(-1, 1)",
        "net.parameters())\nlargest",
        "net.parameters() if p.grad is not None)\nlargest",
        "if p.requires_grad)",
        "if p.grad is not None)",
    ),
)
fix_of_error(
    "frozen/not_asking",
    ASKING_EVERY_GRADIENT.replace("FLAG", "False"),
    (
        "in that line and program.py line 3: if p.requires_grad, if param.requires_grad",
        "param.grad.clamp_(-1, 1)",
        "if param.requires_grad: param.grad.clamp_(-1, 1)",
        "net.parameters())\nlargest",
        "net.parameters() if p.requires_grad)\nlargest",
    ),
)
CHAIN_COMPUTED_BEFORE = """
enc, head = nn.Linear(3, 3), nn.Linear(3, 1)
opt = torch.optim.SGD([*enc.parameters(), *head.parameters()], lr=0.1)
x = torch.randn(4, 3)
feats = enc(x)
weights = torch.softmax(feats, dim=1)
for epoch in range(2):
    for part in (slice(0, 2), slice(2, 4)):
        loss = 0
        for k in range(3):
            loss = loss + head(weights[part]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
"""
# what is behind it is freed, too; and what an inner loop reads need not be made in each of its rounds
fix_of_error(
    "second_backward/once_learning_above",
    CHAIN_COMPUTED_BEFORE,
    (
        "feats = enc(x) and weights = torch.softmax(feats, dim=1) once more, right above for k",
        "        for k",
        "        feats = enc(x)\n        weights = torch.softmax(feats, dim=1)\n        for k",
    ),
)
# where the name that it reads is another tensor by then, it cannot stand there
fix_of_error(
    "second_backward/once_learning",
    CHAIN_COMPUTED_BEFORE.replace("feats = enc", "x = enc").replace("feats", "x"),
    (
        "compute it anew in each iteration: in the loop",
        "        for k",
        "        weights = torch.softmax(enc(data), dim=1)\n        for k",
        "x = torch.randn(4, 3)",
        "data = x = torch.randn(4, 3)",
    ),
)
KEPT_BY_A_LAYER = """
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept, self.lin = None, nn.Linear(3, 3)

    def prepared(self, weight):
        if self.kept is not None:
            return self.kept
        square = weight.exp() * weight
        self.kept = square
        return square

    def forward(self, x, weight):
        return self.lin(x) * self.prepared(weight)


layer, weight = Layer(), torch.ones(3, requires_grad=True)
for step in range(3):
    out = layer(torch.ones(2, 3), weight * 2)
    loss = out.pow(2).mean()
    loss.backward()
    with torch.no_grad():
        weight -= 0.1 * weight.grad
"""
fix_of_error(
    "second_backward/once_kept_unread",
    KEPT_BY_A_LAYER,
    ("compute it anew in each call: square = weight.exp()", "self.kept is not None", "False"),
)
MESSAGES = """
down, up = nn.Linear(3, 3), nn.Linear(3, 3)
encoder = nn.Sequential(nn.Linear(3, 3), nn.ReLU())


def spread(given):
    x = given
    for i in range(1, 4):
        x[i].add_(down(x[i - 1]).tanh())
    for i in range(2, -1, -1):
        x[i].add_(up(x[i + 1]).tanh())
    return x


spread(encoder(torch.randn(4, 3))).sum().backward()
"""
fix_of_error(
    "modified_in_place/written",
    MESSAGES,
    (
        "With that alone the next of these raises, so likewise: x = given.clone() in program.py line 6",
        "x = given",
        "x = given.clone()",
        "x[i - 1]",
        "x[i - 1].clone()",
        "x[i + 1]",
        "x[i + 1].clone()",
    ),
)
fix_of_error(
    "modified_in_place/written",
    """
w = torch.ones(3, requires_grad=True)
h = w.exp()
h += 1
g = (w * 2).sigmoid()
g *= 3
(h + g).sum().backward()
""",
    ("likewise: h = h + 1", "g *= 3", "g = g * 3", "h += 1", "h = h + 1"),
)
fix_of_error(  # what einsum saves is a view that it makes inside
    "modified_in_place/written",
    """
q, k = torch.ones(2, 3, requires_grad=True), torch.ones(2, 3, requires_grad=True)
total, memory = torch.zeros(2, 3), torch.zeros(2, 3, 3)
out = 0
for step in range(3):
    total += k
    memory += k.unsqueeze(-1) * k.unsqueeze(-2)
    above = torch.einsum("nd,ndm->nm", q, memory)
    out = out + (above / torch.einsum("nd,nd->n", q, total).unsqueeze(-1)).sum()
out.backward()
""",
    (
        "so likewise: memory = memory + ",
        "total += k",
        "total = total + k",
        "memory += k",
        "memory = memory + k",
    ),
)

DROPPED_WEIGHTS = """
class Dropped(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 1)
        self.raw = RAW

    def forward(self, x):
        self.inner._parameters["weight"] = self.raw * 0.5
        return self.inner(x)


model, x = Dropped(), torch.ones(2, 3)
model(x)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
before = model.raw.detach().clone()
for step in range(2):
    opt.zero_grad()
    model(x).pow(2).mean().backward()
    opt.step()
assert not model.raw.equal(before)
"""
fix_of_error(
    "non_leaf_in_optimizer/in_module",
    DROPPED_WEIGHTS.replace("RAW", "nn.Parameter(torch.ones(1, 3))"),
    (
        "model.raw, from which it is computed, is among these",
        "(model.parameters(), lr",
        "([p for p in model.parameters() if p.is_leaf], lr",
    ),
)
fix_of_error(
    "non_leaf_in_optimizer/in_module_beside",
    DROPPED_WEIGHTS.replace("RAW", "torch.ones(1, 3, requires_grad=True)"),
    (
        "add that, too",
        "(model.parameters(), lr",
        "([*(p for p in model.parameters() if p.is_leaf), model.raw], lr",
    ),
)
fix_of_error(
    "non_leaf_in_optimizer/returned",
    """
kept = {"scale": torch.zeros(1, requires_grad=True)}


def param(name):
    return kept[name].exp()


loss = (param("scale") - 3).pow(2).sum()
opt = torch.optim.SGD([param("scale")], lr=0.1)
loss.backward()
opt.step()
assert kept["scale"] != 0
""",
    (
        "hand over the leaf itself in the place of param('scale')",
        '[param("scale")]',
        '[kept["scale"]]',
    ),
)
fix_of_error(
    "non_leaf_in_optimizer/returned_fresh",
    """
def start(size):
    return torch.randn(size, requires_grad=True) * 0.01


opt = torch.optim.SGD([start(3)], lr=0.1)
""",
    (
        "start(3).detach().requires_grad_() in the place of start(3), under a name",
        "opt = torch.optim.SGD([start(3)], lr=0.1)",
        "w = start(3).detach().requires_grad_()\nopt = torch.optim.SGD([w], lr=0.1)",
    ),
)

fix_of_error(
    "no_grad_fn/cut",
    """
net = nn.Linear(3, 2)
x, y = torch.randn(4, 3), torch.ones(4, 2).bool()


def overlap(pred, target):
    both = (pred & target).float().sum()
    return 1 - 2 * both / (pred.float().sum() + target.float().sum())


out = net(x)
one, two = out[:, 0] > 0.5, out[:, 1] > 0.1
loss = overlap(one, y[:, 0]) + overlap(two, y[:, 1])
loss.backward()
""",
    (
        "program.py line 6 takes no floats: pred * target in the place of pred & target",
        "out[:, 0] > 0.5",
        "torch.sigmoid((out[:, 0] - 0.5) / 0.1)",
        "out[:, 1] > 0.1",
        "torch.sigmoid((out[:, 1] - 0.1) / 0.1)",
        "(pred & target)",
        "(pred * target)",
    ),
    cut="refusing",
)
fix(
    "cut/severed",
    "w",
    "w.grad is not None",
    """
w, v = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
mask = w > 0.5
both = (mask & torch.tensor([True, False, True])).float().sum()
loss = (mask.float() * v).sum() + both
loss.backward()
""",
    (
        "takes no floats: mask * torch.tensor([True, False, True]) in the place of",
        "mask = w > 0.5",
        "mask = torch.sigmoid((w - 0.5) / 0.1)",
        "mask & ",
        "mask * ",
    ),
    cut="besides",
)
TWO_STATES = """
one, two = nn.GRUCell(2, 3), nn.GRUCell(3, 3)
opt = torch.optim.SGD([*one.parameters(), *two.parameters()], lr=0.1)
h, s = torch.zeros(1, 3), torch.zeros(1, 3)
for step in range(3):
    h = one(torch.randn(1, 2), h)
    s = two(h, s)
    loss = s.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
fix_of_error(
    "second_backward/carried",
    TWO_STATES,
    (
        "h, s = h.detach(), s.detach() after each backward",
        "    opt.step()",
        "    opt.step()\n    h, s = h.detach(), s.detach()",
    ),
)
fix_of_error(
    "modified_in_place/stepped_over",
    TWO_STATES.replace("backward()", "backward(retain_graph=True)"),
    (
        "h, s = h.detach(), s.detach() after each step",
        "    opt.step()",
        "    opt.step()\n    h, s = h.detach(), s.detach()",
        "retain_graph=True",
        "",
    ),
)

fix(
    "rebound/updated_of_another",
    "param",
    "not w.equal(torch.ones(2))",
    """
w = torch.ones(2, requires_grad=True)
for _ in range(2):
    w.pow(2).sum().backward()
    for param in [w]:
        param = param - 0.1 * param.grad / 2
""",
    (
        "with torch.no_grad(): param -= 0.1 * param.grad / 2 in the place of",
        "        param = param - 0.1 * param.grad / 2",
        "        with torch.no_grad(): param -= 0.1 * param.grad / 2",
    ),
)

STATE_OF_A_MODULE = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.into, self.across = nn.Linear(3, 4), nn.Linear(4, 4)
        self.h = self.c = torch.zeros(2, 4)
    def step(self, x, h, c):
        c = c * torch.sigmoid(self.into(x))
        c = c + self.across(h).tanh()
        return c.tanh(), c
    def forward(self, x):
        self.h, self.c = self.step(x, self.h, self.c)
        return self.h.mean()
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.ones(4, 2, 3):
    loss = net(x)
    loss.backward(retain_graph=True)
    opt.step()
"""
fix_of_error(
    "modified_in_place/stepped_over_module",
    STATE_OF_A_MODULE,
    (
        "self.h, self.c = self.h.detach(), self.c.detach() right above self.h, self.c = self.step",
        "        self.h, self.c = self.step",
        "        self.h, self.c = self.h.detach(), self.c.detach()\n        self.h, self.c = self.step",
        "retain_graph=True",
        "",
    ),
)
fix_of_error(
    "modified_in_place/stepped_over_module",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head, self.h = nn.GRUCell(3, 4), nn.Linear(4, 1), None
        self.h = None
    def forward(self, x):
        self.h = self.cell(x, self.h)
        return self.head(self.h).mean()
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.ones(4, 2, 3):
    loss = net(x)
    loss.backward(retain_graph=True)
    opt.step()
""",
    (
        "if self.h is not None: self.h = self.h.detach() right above self.h = self.cell(x, self.h)",
        "        self.h = self.cell",
        "        if self.h is not None: self.h = self.h.detach()\n        self.h = self.cell",
        "retain_graph=True",
        "",
    ),
)
fix_of_error(
    "modified_in_place/stepped_over_module",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.state = nn.LSTMCell(3, 4), (torch.zeros(2, 4), torch.zeros(2, 4))
    def forward(self, x):
        self.state = self.cell(x, self.state)
        return self.state[0].mean()
class Agent:
    def __init__(self):
        self.net = Net()
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
    def learn(self, x):
        self.net(x).backward(retain_graph=True)
        self.opt.step()
agent = Agent()
for x in torch.ones(4, 2, 3):
    agent.learn(x)
""",
    (
        "self.state = tuple(s.detach() for s in self.state) right above self.state = self.cell",
        "        self.state = self.cell",
        "        self.state = tuple(s.detach() for s in self.state)\n        self.state = self.cell",
        "retain_graph=True",
        "",
    ),
)
fix_of_error(
    "leaf_in_place/numbers",
    """
class Average:
    def __init__(self, net):
        self.kept = dict(copy.deepcopy(net).named_parameters())
    def update(self, net):
        for name, p in net.named_parameters():
            self.kept[name] *= 0.9
            self.kept[name] += 0.1 * p
net = nn.Linear(2, 1)
Average(net).update(net)
""",
    (
        "around self.kept[name] *= 0.9 and self.kept[name] += 0.1 * p",
        "            self.kept[name] *= 0.9\n            self.kept[name] += 0.1 * p",
        "            with torch.no_grad():\n                self.kept[name] *= 0.9\n"
        "                self.kept[name] += 0.1 * p",
    ),
)

SMOOTHED = """
class Smooth:
    def __init__(self, net):
        self.net = net
    def __call__(self, x):
        return self.net(INPUT)
    def objective(self, x):
        h = x + noise
        return self(h).pow(2).sum()
net, given, noise = nn.Linear(2, 1), torch.ones(3, 2), torch.zeros(3, 2, requires_grad=True)
loss = Smooth(net).objective(given)
torch.autograd.grad(loss, noise)
"""
fix_of_error(
    "unused_input/handed_in_vain",
    SMOOTHED.replace("INPUT", "given"),
    ("compute what __call__ returns (program.py line 5) from x", "net(given)", "net(x)"),
)

ADAPTING = """
class Meta(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 1)
    def adapt(self, x, y):
        loss = F.mse_loss(self.fc(x), y)
        grads = torch.autograd.grad(loss, self.fc.parameters(), create_graph=True)
        for p, g in zip(self.fc.parameters(), grads):
            p -= 0.1 * g
        return self.fc
meta, x, y = Meta(), torch.ones(3, 2), torch.zeros(3, 1)
net = meta.adapt(x, y)
F.mse_loss(net(2 * x), y).backward()
assert meta.fc.weight.grad is not None
"""
fix_of_error(
    "leaf_in_place/fast_weights_elsewhere",
    ADAPTING,
    (
        "torch.func.functional_call(self.fc, dict(zip(dict(self.fc.named_parameters()), fast)), …)",
        "        for p, g in zip(self.fc.parameters(), grads):\n            p -= 0.1 * g",
        "        fast = [p - 0.1 * g for (p, g) in zip(self.fc.parameters(), grads)]",
        "return self.fc",
        "return dict(zip(dict(self.fc.named_parameters()), fast))",
        "net(2 * x)",
        "torch.func.functional_call(meta.fc, net, (2 * x,))",
    ),
)

AVERAGED = """
def update(target, source, tau):
    for t, s in zip(target.parameters(), source.parameters()):
        WRITES
net, teacher, x = nn.Linear(2, 1), nn.Linear(2, 1), torch.ones(3, 2)
before = teacher.weight.detach().clone()
(net(x) - teacher(x).detach()).pow(2).mean().backward()
update(teacher, net, 0.1)
assert not teacher.weight.equal(before)
"""
fix_of_error(
    "leaf_in_place/values_set",
    AVERAGED.replace("WRITES", "t += tau * (s - t)"),
    (
        "with torch.no_grad(): around t += tau * (s - t)",
        "t += tau",
        "with torch.no_grad(): t += tau",
    ),
)
fix_of_error(
    "leaf_in_place/numbers",
    AVERAGED.replace("WRITES", "t.mul_(1 - tau)\n        t.add_(tau * s)"),
    (
        "around t.mul_(1 - tau) and t.add_(tau * s)",
        "t.mul_(1 - tau)\n        t.add_(tau * s)",
        "with torch.no_grad(): t.mul_(1 - tau); t.add_(tau * s)",
    ),
)
fix_of_error(
    "view_of_leaf_in_place/values_set",
    """
class Codes(nn.Module):
    def __init__(self):
        super().__init__()
        self.codes = nn.Parameter(torch.zeros(3, 2))
    def reseed(self, z):
        for k in range(len(self.codes)):
            self.codes[k] = z[k]
layer, codes = nn.Linear(2, 2), Codes()
z = layer(torch.ones(3, 2))
codes.reseed(z)
(z - codes.codes).pow(2).sum().backward()
assert codes.codes[0].equal(z[0])
""",
    (
        "with torch.no_grad(): around self.codes[k] = z[k]",
        "            self.codes[k]",
        "            with torch.no_grad(): self.codes[k]",
    ),
)

ADAPTED = """
meta, x, y = nn.Linear(2, 1), torch.randn(6, 2), torch.randn(6, 1)
opt = torch.optim.SGD(meta.parameters(), lr=0.1)
before = meta.weight.detach().clone()
net = COPY
for step in range(2):
    inner = F.mse_loss(net(x[:3]), y[:3])
    grads = torch.autograd.grad(inner, net.parameters(), create_graph=True)
    for p, g in zip(net.parameters(), grads):
        p.sub_(0.1 * g)
F.mse_loss(net(x[3:]), y[3:]).backward()
opt.step()
assert not meta.weight.equal(before)
"""
IN_STEPS = (
    "    for p, g in zip(net.parameters(), grads):\n        p.sub_(0.1 * g)",
    "    fast = [p.sub(0.1 * g) for (p, g) in zip(fast, grads)]",
    "net(x[:3])",
    "torch.func.functional_call(meta, dict(zip(dict(meta.named_parameters()), fast)), (x[:3],))",
    "net(x[3:])",
    "torch.func.functional_call(meta, dict(zip(dict(meta.named_parameters()), fast)), (x[3:],))",
    "torch.autograd.grad(inner, net.parameters(), create_graph=True)",
    "torch.autograd.grad(inner, fast, create_graph=True)",
)
fix_of_error(
    "leaf_in_place/fast_weights_in_steps",
    ADAPTED.replace("COPY", "copy.deepcopy(meta)"),
    (
        "fast = list(meta.parameters()) above the loop in program.py line 5",
        "for step in",
        "fast = list(meta.parameters())\nfor step in",
        *IN_STEPS,
    ),
)
fix_of_error(
    "leaf_in_place/fast_weights_in_steps",
    ADAPTED.replace("net = COPY\n", "").replace("net", "meta"),
    (
        "torch.autograd.grad(inner, fast, create_graph=True) in the place of",
        "for step in",
        "fast = list(meta.parameters())\nfor step in",
        *(text.replace("net(", "meta(").replace("net.", "meta.") for text in IN_STEPS),
    ),
)

KEPT_BESIDE = """
class History:
    def __init__(self):
        self.losses, self.outputs = [], []

    def add(self, loss, output):
        self.losses.append(loss)
        self.outputs.append(output)


net, history = nn.Linear(2, 1), History()
for step in range(3):
    out = net(torch.ones(4, 2))
    loss = out.pow(2).mean()
    history.add(loss, out)
np.array([value.numpy() for value in history.losses])
history.outputs[-1].numpy()
"""
fix_of_error(
    "numpy_on_tracked/kept_in",
    KEPT_BESIDE,
    (
        "history.add(loss.detach(), out.detach()) in that line",
        "history.add(loss, out)",
        "history.add(loss.detach(), out.detach())",
    ),
)
fix_of_error(
    "no_grad_fn/left_possibly",
    """
net, x, y = nn.Linear(2, 3), torch.ones(4, 2), torch.ones(4)
losses = []
for row in range(4):
    word = net(x[row]).argmax()
    distance = (word.float() - y[row]).abs()
    losses.append(distance.item())
loss = torch.tensor(losses).mean()
loss.backward()
""",
    (
        "with the scores that it was taken from (softmax, cross_entropy). That alone gives no gradient yet. After it, program.py line 7: stay in torch",
        "net(x[row]).argmax()",
        "net(x[row]).softmax(0)[1]",
        "distance.item()",
        "distance",
        "torch.tensor(losses)",
        "torch.stack(losses)",
    ),
)


@pytest.mark.parametrize("one", FIXES, ids=[f"{f.found}-{f.cut or i}" for i, f in enumerate(FIXES)])
def test_a_fix_that_is_told_takes_the_symptom_away(one: Fix) -> None:
    answer, symptom = told(one)
    assert symptom, "the program has no symptom"
    assert f"{answer.cause}/{answer.form.removesuffix('_made')}" == one.found, str(answer)
    for says, *texts in one.edits:
        assert says in answer.mend, answer.mend
        source = one.program
        for old, new in zip(texts[::2], texts[1::2], strict=True):
            assert old in source
            source = source.replace(old, new)
        known, error = executed(source, "fixed.py")
        assert error is None, f"{says}: {error}"
        assert is_gone(one, known), f"{says}: the symptom is there still"


# Fixes without a program here, and why: what is told is a look at something, or the state that it
# takes cannot be made in a few lines. A fix that is new needs a program, or its reason.
NOT_TRIED = {
    "left_out/gone_inside": "the module is gone; the same containers are tried for in_list",
    "cleared_too_often/between_losses": "asked bare: tried in test_between_backwards.py",
    "not_moved/gone_twice": "asked bare: tried in test_gone.py",
    "checkpoint_differs/reentrant_in_parallel": "in a group of processes: tried in test_reentrant_in_parallel.py",
    "not_known/no_cause": "it says how to look, not what to change",
    "no_backward_yet/not_run_or_cleared": "it says how to look",
    "nan/forward": "it says where to look",
    "nan/not_traced": "it says where to look",
    "exploding/not_traced": "it says where to look",
    "not_in_loss/base_used": "a view made under no_grad and switched on by hand",
    "not_known/used_up": "without a recording: tried with one as second_backward/same_graph",
    "leaf_in_place/raised": "without a recording: tried with one as leaf_in_place/numbers",
    "view_of_leaf_in_place/raised": "without a recording: tried with one as leaf_in_place/numbers",
    "view_in_place/raised": "without a recording: tried with one as view_in_place/several",
    "custom_backward/raised": "without a recording: tried with one",
    "gradient_shape/raised": "without a recording: tried with one",
    "second_backward/unseen": "without a recording: tried with one as second_backward/shared",
    "second_backward/twice": "tried as second_backward/shared, whose sentence has it too",
    "second_backward/carried_unnamed": "tried as second_backward/carried_elsewhere",
    "unused_input/unseen": "without a recording: tried with one as unused_input/copied",
    "exploding/path": "advice about a design, tried as exploding/arriving",
    "vanishing/uses": "advice about a design",
    "fused_step/saved_before": "takes a fused optimizer",
    "healthy/fine_unseen": "asks for a recording, tried in test_why_magic",
    "not_in_loss/made_too_late": "of a bare question: tried in test_silent_classes",
    "batch_norm_moves/moved": "tried as batch_norm_moves/moved_in_train_mode",
}


def key(cause: str, form: str) -> str:
    return f"{cause}/{form}"


RAISES = tomllib.loads((Path(__file__).parent / "raises.toml").read_text(encoding="utf-8"))


def test_every_fix_has_a_program() -> None:
    """By its words: several answers may tell one fix."""
    words = {key(c, form): answer.mend for (c, form), answer in ENGLISH.answers.items()}
    in_table = {key(one["cause"], one["form"]) for one in RAISES.values()}  # test_raises tries them
    in_table &= (
        words.keys()
    )  # of a gradient that is as it should be, only the line that raised is told
    tried = {words[name] for name in (*(one.found for one in FIXES), *NOT_TRIED, *in_table)}
    without = {name: mend for name, mend in words.items() if mend and mend not in tried}
    assert not without, "a fix without a program"
    assert not {name for name in NOT_TRIED if words[name] in {words[f.found] for f in FIXES}}


def test_every_fix_of_a_cut_has_a_program() -> None:
    glue = {"at", "more", "unknown", "write_unseen"}  # no edit of their own
    assert set(MEND) - {one.cut for one in FIXES} == glue


# --- a fix of a cut is tested on the way to the loss ----------------------------------------------

STEPS = ("{} * 3", "{}.exp()", "{}.detach()", "{}.data", "{}.clone()", "{}.long().float()")
MENDED = {"{}.detach()": "{}", "{}.data": "{}", "{}.long().float()": "{} * 1"}


def way(steps: list[str]) -> str:
    """A program that takes w through these steps to a loss."""
    lines = [f"h{i + 1} = {step.format(f'h{i}')}" for i, step in enumerate(steps)]
    return "\n".join(
        [
            "w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)",
            "h0 = w * 0.5",
            *lines,
            f"loss = (h{len(steps)} * v).sum()",
            "loss.backward()",
        ]
    )


@pytest.mark.parametrize("seed", range(12))
def test_torch_agrees_on_what_stands_in_the_way(seed: int) -> None:
    """Mend the first cut, then what is said to stand behind it: a gradient comes through then, and
    not before."""
    draw = random.Random(seed)
    steps = [draw.choice(STEPS) for _ in range(5)]
    steps[draw.randrange(5)] = "{}.detach()"
    with gv.record() as recording:
        executed(way(steps), "way.py")
    first = next(i for i, step in enumerate(steps) if step in MENDED)
    (cut,) = recording.graph.cuts
    obstacles = obstacles_after(cut, Facts.of(recording.graph))
    assert obstacles is not None
    for place in [first + 3, *(o.call.source.line for o in obstacles if o.call.source)]:
        assert executed(way(steps), "way.py")[0]["w"].grad is None
        steps[place - 3] = MENDED[steps[place - 3]]
    assert executed(way(steps), "way.py")[0]["w"].grad is not None


def test_one_of_two_parallel_ways_is_enough() -> None:
    with gv.record() as recording:
        executed(
            "w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)\n"
            "h = (w * 2).detach()\n"
            "loss = (h.data * v + h * v).sum()\n"
            "loss.backward()",
            "way.py",
        )
    assert obstacles_after(recording.graph.cuts[0], Facts.of(recording.graph)) == []


def test_of_a_value_that_reaches_no_loss_nothing_is_said() -> None:
    with gv.record() as recording:
        executed(
            "w = torch.ones(2, requires_grad=True)\nd = (w * 2).detach() * 3\nw.sum().backward()",
            "way.py",
        )
    assert obstacles_after(recording.graph.cuts[0], Facts.of(recording.graph)) is None


def test_a_state_that_runs_through_several_steps_is_not_cut_between_them() -> None:
    """A detach in the forward would cut between the steps of one sequence, too."""
    program = STATE_OF_A_MODULE.replace("loss = net(x)", "loss = net(x) + net(2 * x)")
    answer, symptom = told(Fix("", "", "", program.strip("\n") + "\n", ()))
    assert symptom
    assert "right above" not in str(answer)


def test_a_name_that_was_the_leaf_s_own_keeps_both_ways() -> None:
    program = "w = torch.ones(2, requires_grad=True)\nw.sum().backward()\nw = w - 0.1 * w.grad\n"
    answer, _ = told(Fix("", "w", "w.grad is not None", program, ()))
    assert answer.form == "updated"


@pytest.mark.parametrize("reads", ["x[:1]", "given[:1] * x.sum()", "given[:1] * len(locals())"])
def test_an_argument_that_is_read_is_not_told_as_handed_in_vain(reads: str) -> None:
    """It may still bring no gradient, for another reason."""
    program = SMOOTHED.replace("INPUT", reads).replace("h = x + noise", "h = (x + noise).detach()")
    answer, symptom = told(Fix("", "", "", program.strip("\n") + "\n", ()))
    assert symptom
    assert answer.form != "handed_in_vain"


def test_an_argument_beside_the_input_is_not_told_as_handed_in_vain() -> None:
    program = SMOOTHED.replace("INPUT", "given").replace("h = x + noise", "h = x + 1")
    answer, symptom = told(Fix("", "", "", program.strip("\n") + "\n", ()))
    assert symptom
    assert answer.form != "handed_in_vain"


def test_a_written_leaf_that_is_read_below_is_not_told_as_values_set() -> None:
    program = "w, x = (nn.Parameter(torch.ones(2)) for _ in range(2))\n"
    program += "def f():\n    x.add_(w)\n    return x.sum()\nf().backward()\n"
    answer, symptom = told(Fix("", "", "", program, ()))
    assert symptom
    assert answer.form == "tracked"
