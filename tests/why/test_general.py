"""What holds for many programs: parameters that no call read, parts of a loss that became numbers,
switches that only freeze or keep off, custom backwards, and what looks like these and is meant."""

from __future__ import annotations

import linecache
import textwrap
from typing import Any

import pytest
import torch

import gradviz as gv
from gradviz.why.shown.explanation import Explanation

HEAD = """
import torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
"""


def asked(program: str, *subjects: str) -> Explanation:
    """Run a program under a recording; explain bare, or what the expressions stand for."""
    source = HEAD + textwrap.dedent(program)
    linecache.cache["general.py"] = len(source), None, source.splitlines(True), "general.py"
    names: dict[str, Any] = {"__name__": "__main__"}
    error = None
    with gv.record() as recording:
        try:
            exec(compile(source, "general.py", "exec"), names)
        except Exception as raised:
            error = raised
    known = {k: v for k, v in names.items() if not k.startswith("__")}
    given = [eval(text, names) for text in subjects]
    return gv.explain(*given, error=error, recording=recording, names=known)


def line(program: str, text: str) -> int:
    """Return the number of the one line of a program that holds a text."""
    (found,) = [n for n, one in enumerate((HEAD + program).split("\n"), 1) if text in one]
    return found


# --- never read -----------------------------------------------------------------------------------

UNREAD = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)
        self.scale = nn.Parameter(torch.ones(3))
    def forward(self, x):
        return self.layer(x){used}
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    loss = net(torch.ones(1, 2)).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
{then}
"""


@pytest.mark.parametrize("then", ["", "print([p.grad is None for p in net.parameters()])"])
@pytest.mark.parametrize("subjects", [(), ("net.scale",)])
def test_a_parameter_that_no_call_read_is_told_where_it_is_made(
    then: str, subjects: tuple[str, ...]
) -> None:
    program = UNREAD.format(used="", then=then)
    told = asked(program, *subjects)
    assert (told.cause, told.form) == ("branch_not_taken", "not_read"), told
    assert line(program, "self.scale =") in told.lines


def test_a_parameter_that_is_read_is_not() -> None:
    assert asked(UNREAD.format(used=" * self.scale", then="")).cause == "healthy"


def test_what_another_program_made_is_not_called_unread() -> None:
    with gv.record() as recording:
        torch.ones(2, requires_grad=True).sum().backward()
    stranger = torch.ones(2, requires_grad=True)
    told = gv.explain(stranger, recording=recording, names={"stranger": stranger})
    assert told.cause == "not_known"


# --- numbers in a loss ----------------------------------------------------------------------------

NUMBER = """
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
kept = []
for _ in range(2):
    out = net(torch.ones(2, 3))
    main = (out - 1).abs().mean()
    part = out.pow(2).mean(){taken}
    kept.append(main.detach().item())
    loss = main + part{beside}
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize("taken", [".detach().item()", ".item()", ".detach()", ".data.item()"])
def test_a_part_that_became_a_number_is_told(taken: str) -> None:
    program = NUMBER.format(taken=taken, beside="")
    told = asked(program)
    assert told.cause == "constant_summand", told
    assert line(program, "part = ") in told.lines


@pytest.mark.parametrize("wrap", ["in a function", "in a class"])
def test_a_part_that_became_a_number_elsewhere_is_told(wrap: str) -> None:
    inner = textwrap.indent("part = out.pow(2).mean().detach().item()\nreturn main + part", " " * 4)
    of_class = textwrap.indent(f"def loss(self, main, out):\n{inner}", " " * 4)
    made = f"def total(main, out):\n{inner}\n"
    if wrap == "in a class":
        made = f"class Trainer:\n{of_class}\ntotal = Trainer().loss\n"
    program = made + textwrap.dedent(
        """
        net = nn.Linear(3, 1)
        for _ in range(2):
            out = net(torch.ones(2, 3))
            loss = total((out - 1).abs().mean(), out)
            loss.backward()
        """
    )
    told = asked(program)
    assert told.cause == "constant_summand", told
    assert line(program, "part = ") in told.lines


def test_a_number_that_is_only_kept_is_not() -> None:
    assert asked(NUMBER.format(taken="", beside="")).cause == "healthy"


def test_a_number_that_is_divided_by_is_not() -> None:
    program = NUMBER.format(taken="", beside=" / main.detach().item()")
    assert asked(program).cause == "healthy"


HITS = """
net = nn.Linear(3, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(8, 3), torch.randint(4, (8,))
scores = net(x)
share = {share}
total = F.cross_entropy(scores, y) + share
total.backward()
opt.step()
"""


def test_hits_among_the_losses_are_no_fault() -> None:
    told = asked(HITS.format(share="(scores.argmax(-1) == y).float().mean()"))
    assert told.cause == "healthy"
    assert "counts predictions that are right" in told.verdict


def test_another_part_without_a_derivative_is_one() -> None:
    told = asked(HITS.format(share="(scores > 0.5).float().mean()"))
    assert told.cause == "constant_summand"


# --- custom Functions -----------------------------------------------------------------------------

OWN = """
class Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return {forward}
    @staticmethod
    def backward(ctx, g):
        {backward}
w = torch.ones(2, requires_grad=True)
{use}
"""
USE = "out = Times.apply(w, 3.0).sum()\nout.backward()"
IN_A_LOOP = """
opt = torch.optim.SGD([w], lr=0.1)
def step():
    loss = Times.apply(w, 3.0).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
for _ in range(2):
    step()
"""


@pytest.mark.parametrize("use", [USE, IN_A_LOOP])
def test_a_backward_that_does_not_read_what_was_kept_for_it_is_told(use: str) -> None:
    program = OWN.format(forward="x * factor", backward="return g, None", use=use)
    told = asked(program)
    assert "ctx.factor, which forward keeps for it, is never read" in str(told).replace(
        "\n", " "
    ), told
    assert line(program, "return g, None") in told.lines


@pytest.mark.parametrize(
    ("forward", "backward"),
    [("x * factor", "return g * ctx.factor, None"), ("x.view_as(x)", "return g, None")],
)
def test_a_backward_that_fits_its_forward_is_not(forward: str, backward: str) -> None:
    told = asked(OWN.format(forward=forward, backward=backward, use=USE))
    assert "hands the gradient on" not in str(told)


def test_a_backward_without_return_is_told_by_its_last_line() -> None:
    program = OWN.format(forward="x * factor", backward="of_x = g * ctx.factor", use=USE)
    told = asked(program)
    assert (told.cause, told.form) == ("custom_backward", "no_return")
    assert line(program, "of_x = ") in told.lines


def test_a_gradient_of_another_shape_is_told_by_its_name_and_line() -> None:
    made = "of_x = g.new_zeros(3)\n        return of_x, None"
    program = OWN.format(forward="x * factor", backward=made, use=USE)
    told = asked(program)
    assert (told.cause, told.form) == ("custom_backward", "shape_of")
    assert {line(program, "of_x = "), line(program, "return of_x")} <= {*told.lines}


# --- switches -------------------------------------------------------------------------------------

CHOSEN = """
class Pair(nn.Module):
    def __init__(self, fixed):
        super().__init__()
        self.one, self.two, self.fixed = nn.Linear(3, 2), nn.Linear(3, 2), fixed
    def forward(self, x):
        if self.fixed:
            with torch.no_grad():
                two = self.two(x)
        {otherwise}
        return self.one(x) * two
net = Pair(True)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
loss = net(torch.ones(1, 3)).sum()
loss.backward()
opt.step()
"""
ELSE = "else:\n            two = self.two(x)"


def test_what_a_switch_of_the_program_keeps_off_is_no_fault() -> None:
    told = asked(CHOSEN.format(otherwise=ELSE))
    assert told.cause == "healthy"
    assert "as the program chooses it: if self.fixed" in told.verdict


def test_asked_about_it_is_told_all_the_same() -> None:
    assert asked(CHOSEN.format(otherwise=ELSE), "net.two.weight").cause == "cut"


def test_what_is_kept_off_without_a_choice_is_told() -> None:
    assert asked(CHOSEN.format(otherwise="")).cause == "cut"


IN_TURN = """
net, judge = nn.Linear(3, 2), nn.Linear(2, 1)
opt, opt_j = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (net, judge))
for _ in range(2):
    opt.zero_grad()
    opt_j.zero_grad()
    out = net(torch.ones(4, 3))
    judge.requires_grad_(True)
    judge(out.detach()).mean().backward()
    opt_j.step()
    judge.requires_grad_(False)
    loss = judge(out).pow(2).mean()
    loss.backward()
    opt.step()
{then}
"""


def test_what_is_frozen_by_turns_is_no_leftover() -> None:
    assert asked(IN_TURN.format(then="")).cause == "healthy"


def test_what_a_step_moves_while_it_is_frozen_is_one() -> None:
    assert asked(IN_TURN.format(then="opt_j.step()")).cause == "leftover_grad_moves"


ONLY_OFF = """
def learns(module, whether):
    for p in module.parameters():
        {condition}p.requires_grad = whether
net, head = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)), nn.Linear(3, 1)
learns(net, False)
head(net(torch.randn(4, 2))).sum().backward()
learns(net, True)
opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
loss = head(net(torch.randn(4, 2))).sum()
opt.zero_grad()
loss.backward()
opt.step()
"""


def test_a_line_that_can_only_freeze_is_told() -> None:
    program = ONLY_OFF.format(condition="if p.requires_grad: ")
    told = asked(program)
    assert (told.cause, told.form) == ("frozen", "only_off")
    assert line(program, "if p.requires_grad") in told.lines


def test_a_line_that_lets_learn_again_is_not() -> None:
    assert asked(ONLY_OFF.format(condition="")).form != "only_off"


# --- targets --------------------------------------------------------------------------------------

TARGETS = """
import copy
actor, critic = nn.Linear(3, 2), nn.Linear(5, 1)
{second}, target_critic = copy.deepcopy(actor), copy.deepcopy(critic)
opt_a, opt_c = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (actor, critic))
def update(target, net):
    for t, p in zip(target.parameters(), net.parameters()):
        t.data.copy_(0.1 * p.data + 0.9 * t.data)
for _ in range(3):
    x = torch.randn(4, 3)
    with torch.no_grad():
        y = target_critic(torch.cat([x, {second}(x)], 1))
    loss = F.mse_loss(critic(torch.cat([x, actor(x).detach()], 1)), y)
    opt_c.zero_grad()
    loss.backward()
    opt_c.step()
    opt_a.zero_grad()
    (-critic(torch.cat([x, actor(x)], 1)).mean()).backward()
    opt_a.step()
    update(target_critic, critic)
    {then}
"""


def test_a_target_that_is_not_updated_beside_another_is_told() -> None:
    program = TARGETS.format(second="target_actor", then="pass")
    told = asked(program)
    assert told.verdict.startswith("Nothing writes target_actor"), told
    assert line(program, "t.data.copy_") in told.lines


@pytest.mark.parametrize(
    ("second", "then"),
    [("target_actor", "update(target_actor, actor)"), ("reference", "pass")],
)
def test_a_target_that_is_updated_and_a_reference_are_not(second: str, then: str) -> None:
    assert "Nothing writes" not in str(asked(TARGETS.format(second=second, then=then)))
