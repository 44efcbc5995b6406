"""Answers that had the cause and not the line that mends it: the ``train()`` that undid an ``eval()``,
the method that put a new parameter in the place of an old one, the value that nothing bounds, and
the side of a loss that an optimizer trains. Each has programs that are alike, and in which it is
not told."""

from __future__ import annotations

import pytest
import torch
from test_symptom import asked, ran

import gradviz as gv

HEAD = """import torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
x, y = torch.randn(8, 4), torch.randn(8, 1)
"""


def line(program: str, mark: str) -> int:
    """Return the number of the line in which a mark stands."""
    return next(n for n, text in enumerate(program.split("\n"), 1) if mark in text)


# --- the train() that undoes an eval() ------------------------------------------------------------

VALIDATED = (
    HEAD
    + """
net = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5), nn.Linear(3, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def validate(model):
    with torch.no_grad():
        for _ in range(2):
            {inside}
            error = (model(x + 1) - y).abs().mean().item()
for _ in range(2):
    net.train()
    loss = (net(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    {before}
    validate(net)
"""
)


def test_the_train_that_undoes_an_eval_is_told_at_its_line() -> None:
    program = VALIDATED.format(inside="model.train()  # undone", before="net.eval()")
    answer = asked(program)
    assert "model.train() (program.py line 12) undoes net.eval()" in answer.verdict
    assert line(program, "# undone") in answer.lines
    mended = VALIDATED.format(inside="pass", before="net.eval()")
    assert "train mode" not in str(asked(mended))


@pytest.mark.parametrize(
    ("inside", "before"),
    [
        ("model.train(); model.eval()", "net.eval()"),
        ("model.train(False)", "net.train()"),
        ("pass", "pass"),  # nothing was to be undone
    ],
)
def test_a_mode_that_nothing_undid_is_not_told_so(inside: str, before: str) -> None:
    assert "undoes" not in str(asked(VALIDATED.format(inside=inside, before=before)))


def test_a_train_in_another_branch_undoes_nothing() -> None:
    program = VALIDATED.format(
        inside="model.train() if len(x) > 100 else None", before="net.eval()"
    )
    assert "undoes" not in str(asked(program))


# --- a parameter that a method put in the place of another ----------------------------------------

REPLACED = (
    HEAD
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 1)
        self.scale = nn.Parameter(torch.ones(1))  # first
    def calibrate(self, x):
        {calibrate}  # anew
    def forward(self, x):
        return self.lin(x) * self.scale
net = Net()
{early}
net.calibrate(x)
{late}
for _ in range(2):
    loss = (net(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
)
MAKES = "opt = torch.optim.SGD(net.parameters(), lr=0.1)"


@pytest.mark.parametrize(
    "calibrate",
    [
        "self.scale = nn.Parameter(x.abs().max().reshape(1).detach().clone())",
        "self.scale = nn.Parameter(x.std().reshape(1))",
    ],
)
def test_the_method_that_replaced_a_parameter_is_told(calibrate: str) -> None:
    program = REPLACED.format(calibrate=calibrate, early=MAKES, late="")
    answer = asked(program)
    assert (answer.cause, answer.form) == ("not_moved", "replaced")
    assert line(program, "# anew") in answer.lines
    assert line(program, "# first") not in answer.lines


@pytest.mark.parametrize(
    ("calibrate", "early", "late"),
    [
        ("self.scale = nn.Parameter(x.std().reshape(1))", "", MAKES),
        ("self.scale.data.copy_(x.std().reshape(1))", MAKES, ""),
    ],
)
def test_a_parameter_that_an_optimizer_has_is_not_told(
    calibrate: str, early: str, late: str
) -> None:
    answer = asked(REPLACED.format(calibrate=calibrate, early=early, late=late))
    assert answer.cause != "not_moved"


# --- an exponential of a value that nothing bounds ------------------------------------------------

ENCODED = (
    HEAD
    + """
net = nn.Linear(4, 6)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
mu, logvar = net(x * {scale}).chunk(2, 1)
logvar = logvar * 1.0 + 1.0  # unbounded
{bound}
std = torch.exp(0.5 * logvar)  # once
kl = (mu.pow(2) + logvar.exp() - logvar).mean()  # again
loss = kl + (mu + std - 1).pow(2).mean()
loss.backward()
"""
)


def test_the_value_without_a_bound_and_each_of_its_exponentials_are_told() -> None:
    program = ENCODED.format(scale=1e4, bound="")
    answer = asked(program)
    assert answer.cause in ("nan", "exploding")
    assert "nothing bounds logvar" in answer.mend
    assert "logvar = logvar.clamp(max=…)" in answer.mend
    marks = ("# unbounded", "# once", "# again")
    assert {line(program, mark) for mark in marks} <= {*answer.lines}
    names: dict[str, object] = {}
    exec(ENCODED.format(scale=1e4, bound="logvar = logvar.clamp(max=10)"), names)
    loss = names["loss"]
    assert isinstance(loss, torch.Tensor)
    assert torch.isfinite(loss)


def test_of_finite_exponentials_nothing_is_told() -> None:
    assert "nothing bounds" not in str(asked(ENCODED.format(scale=1, bound="")))


# --- the side of a loss that an optimizer trains --------------------------------------------------

DISTILLED = (
    HEAD
    + """
student, teacher = nn.Linear(4, 3), nn.Linear(4, 3)
opt = torch.optim.SGD(student.parameters(), lr=0.1)
def step():
    a, b = student(x), teacher(x)
    soft = F.mse_loss({a}, b.detach())  # soft
    near = F.l1_loss({a}, b.detach())  # near
    hard = a.pow(2).mean()
    total = soft + near + hard
    opt.zero_grad()
    total.backward()
    opt.step()
    return soft, near
soft, near = step()
"""
)


def test_the_side_that_is_trained_is_told_of_every_part_of_a_loss() -> None:
    program = DISTILLED.format(a="a.detach()")
    answer = asked(program)
    assert answer.cause == "constant_summand"
    assert {line(program, "# soft"), line(program, "# near")} <= {*answer.lines}
    assert "a.detach()" in answer.why
    assert "b.detach()" not in str(answer)


def test_a_part_of_a_loss_that_trains_is_fine_whatever_its_target_is() -> None:
    answer = asked(DISTILLED.format(a="a"))
    assert answer.cause == "healthy"


def test_a_named_part_is_told_of_the_trained_side() -> None:
    program = DISTILLED.format(a="a.detach()")
    recording, error, names = ran(program)
    answer = gv.explain(names["near"], recording=recording, error=error, names=names)
    assert "a.detach()" in str(answer)
    assert "b.detach()" not in str(answer)
