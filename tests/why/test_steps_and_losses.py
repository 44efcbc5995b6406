"""What steps did, and what losses were, loop after loop: an optimizer that never stepped, an update
that only binds a name, losses that grow or are no number. Each with programs in which it is not so.
"""

from __future__ import annotations

import math

import pytest
from test_account import line
from test_symptom import asked, ran

import gradviz as gv

HEAD = """
import torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
"""

# --- an optimizer that never stepped --------------------------------------------------------------

TWO = (
    HEAD
    + """
enc, dec, x = nn.Linear(4, 2), nn.Linear(2, 4), torch.randn(8, 4)
enc_opt, dec_opt = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (enc, dec))
for i in range(4):
    enc_opt.zero_grad()
    dec_opt.zero_grad()
    F.mse_loss(dec(enc(x)), x).backward()
    {then}
"""
)


def test_an_optimizer_that_clears_and_never_steps_is_told() -> None:
    answer = asked(TWO.format(then="dec_opt.step()"))
    assert (answer.cause, answer.form) == ("not_moved", "step_left_out")
    assert "enc_opt" in answer.verdict
    assert "enc.{weight,bias}" in answer.verdict


@pytest.mark.parametrize(
    "then",
    [
        "dec_opt.step(); enc_opt.step()",
        "dec_opt.step()\n    if i == 3: enc_opt.step()",
    ],
    ids=["both", "seldom"],
)
def test_optimizers_that_step_are_left_alone(then: str) -> None:
    assert asked(TWO.format(then=then)).form != "step_left_out"


def test_a_critic_that_sends_gradients_to_the_generator_is_left_alone() -> None:
    program = (
        HEAD
        + """
g, d, x = nn.Linear(2, 4), nn.Linear(4, 1), torch.randn(8, 4)
g_opt, d_opt = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (g, d))
for i in range(4):
    fake = g(torch.randn(8, 2))
    g_opt.zero_grad()
    d_opt.zero_grad()
    (d(fake).mean() - d(x).mean()).backward()
    d_opt.step()
    g_opt.zero_grad()
    (-d(g(torch.randn(8, 2))).mean()).backward()
    g_opt.step()
"""
    )
    assert asked(program).form != "step_left_out"


# --- an update that only binds a name -------------------------------------------------------------

BY_HAND = (
    HEAD
    + """
net, x, y = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)), torch.randn(8, 2), torch.randn(8, 1)
for _ in range(3):
    net.zero_grad()
    F.mse_loss(net(x), y).backward()
    {update}
"""
)


@pytest.mark.parametrize(
    "update",
    [
        "for p in net.parameters(): p = p - 0.1 * p.grad",
        "for p in net.parameters():\n        step = p.grad * 0.1\n        p = p - step",
        "new = [p - 0.1 * p.grad for p in net.parameters()]",
    ],
    ids=["in one", "in two", "a list"],
)
def test_an_update_that_moves_nothing_is_told(update: str) -> None:
    answer = asked(BY_HAND.format(update=update))
    assert (answer.cause, answer.form) == ("not_moved", "only_rebound")
    assert "net.{0,2}.{weight,bias}" in answer.verdict
    names: dict[str, object] = {}
    before = "before = [p.clone() for p in net.parameters()]"
    exec(BY_HAND.format(update=f"{before}\n    {update}"), names)
    moved = zip(names["before"], names["net"].parameters(), strict=True)  # type: ignore
    assert all(old.equal(new) for old, new in moved)


@pytest.mark.parametrize(
    "update",
    [
        "with torch.no_grad():\n        for p in net.parameters(): p -= 0.1 * p.grad",
        "for p in net.parameters(): p.data = p.data - 0.1 * p.grad",
        "for p in net.parameters(): p.data.sub_(0.1 * p.grad)",
        "print(*(p.grad.norm() / p.norm() for p in net.parameters()))",
    ],
    ids=["in place", "data set", "data in place", "a log"],
)
def test_an_update_that_moves_is_left_alone(update: str) -> None:
    assert asked(BY_HAND.format(update=update)).form != "only_rebound"


# --- losses ---------------------------------------------------------------------------------------

LOOP = (
    HEAD
    + """
lin, x = nn.Linear(1, 1), torch.tensor([[10.0], [20.0]])
opt = torch.optim.SGD(lin.parameters(), lr={lr})
values = []
for i in range({n}):
    opt.zero_grad()
    loss = (lin(x) - x).pow(2).mean(){more}
    loss.backward()
    opt.step()
    values.append(loss.item())
"""
)


def values_of(program: str) -> list[float]:
    names: dict[str, list[float]] = {}
    exec(program, names)
    return names["values"]


def test_a_loss_that_grows_until_it_is_no_number_is_told() -> None:
    program = LOOP.format(lr=0.05, n=60, more="")
    assert not math.isfinite(values_of(program)[-1])
    answer = asked(program)
    assert (answer.cause, answer.form) == ("nan", "diverged_at")
    assert "learning rate of 0.05" in answer.why


PARTS = (
    HEAD
    + """
lin, x = nn.Linear(1, 1), torch.tensor([[10.0], [20.0]])
opt = torch.optim.SGD(lin.parameters(), lr={lr})
values = []
for i in range(400):
    loss = (lin(x + i % 2) - x).pow(2).mean(){scale}
    loss.backward()
    if i % 8 == 7:
        opt.step()
        opt.zero_grad()
    values.append(loss.item())
"""
)


def test_steps_over_sums_that_go_too_far_are_told_with_the_number_of_the_sum() -> None:
    program = PARTS.format(lr=0.003, scale="")
    assert not math.isfinite(values_of(program)[-1])
    answer = asked(program)
    assert (answer.cause, answer.form) == ("nan", "diverged_at")
    assert "the sum of 8 backwards of loss" in answer.why
    assert answer.mend.startswith("divide the loss by 8 before backward()")
    assert line(program, "loss.backward()") in answer.lines
    # what it says mends it, alone
    assert math.isfinite(values_of(PARTS.format(lr=0.003, scale=" / 8"))[-1])


def test_steps_over_scaled_sums_that_go_too_far_are_told_by_their_rate() -> None:
    answer = asked(PARTS.format(lr=0.05, scale=" / 8"))
    assert (answer.cause, answer.form) == ("nan", "diverged_at")
    assert "divide the loss" not in answer.mend


def test_a_loss_that_grows_and_is_a_number_yet_is_told_beside() -> None:
    program = LOOP.format(lr=0.008, n=5, more="")
    values = values_of(program)
    assert values[-1] > 100 * values[0]
    answer = asked(program)
    assert answer.is_observed
    assert "loss grew from backward to backward" in answer.verdict
    assert "a smaller learning rate (0.008 now)" in answer.verdict


def test_a_loss_that_is_no_number_in_between_is_told_beside() -> None:
    program = LOOP.format(lr=0.0001, n=5, more=" * (0 if i == 2 else 1) / (0 if i == 2 else 1)")
    program = program.replace("    opt.step()", "    if loss.isfinite(): opt.step()")
    assert [at for at, v in enumerate(values_of(program)) if math.isnan(v)] == [2]
    answer = asked(program)
    assert "loss was nan in backward 3 of 5" in answer.verdict


@pytest.mark.parametrize("more", ["", " * (1 + i)"])
def test_a_loss_that_does_not_grow_far_is_not_told(more: str) -> None:
    assert "grew" not in asked(LOOP.format(lr=0.0005, n=5, more=more)).verdict


def test_a_loss_that_grows_without_a_step_between_is_not_told() -> None:
    program = LOOP.format(lr=1e-6, n=4, more=" * 10 ** i / 1000")
    values = values_of(program)
    assert values[-1] > 100 * values[0]
    assert "grew" in asked(program).verdict
    seldom = program.replace("    opt.step()", "    if i % 2: opt.step()")
    assert "grew" not in asked(seldom).verdict


# --- which network, how far -----------------------------------------------------------------------

TARGET = (
    HEAD
    + """
q, target, x = nn.Linear(2, 2), nn.Linear(2, 2), torch.randn(4, 2)
opt = torch.optim.SGD({held}, lr=0.1)
for _ in range(3):
    with torch.no_grad():
        wanted = target(x)
    opt.zero_grad()
    (q(x) - wanted).pow(2).sum().backward()
    opt.step()
"""
)


@pytest.mark.parametrize(
    ("held", "told"),
    [
        ("target.parameters()", True),
        ("q.parameters()", False),
        ("[*target.parameters(), *q.parameters()]", False),
    ],
)
def test_an_optimizer_of_the_other_network_is_told(held: str, told: bool) -> None:
    answer = asked(TARGET.format(held=held))
    assert (answer.form == "holds_the_other") is told
    if told:
        assert answer.mend.startswith("make opt from q.parameters()")


def test_an_optimizer_of_what_another_is_mixed_from_is_left_alone() -> None:
    program = TARGET.format(held="target.parameters()").replace(
        "    opt.zero_grad()",
        "    for p, t in zip(q.parameters(), target.parameters()): p.data = 0.5 * t\n"
        "    opt.zero_grad()",
    )
    assert asked(program).cause == "cut"


SET = (
    HEAD
    + """
lin, x = nn.Linear(2, 1), torch.randn(4, 2)
opt = torch.optim.{optimizer}
for _ in range(2):
    opt.zero_grad()
    lin(x).pow(2).sum().backward()
    opt.step()
"""
)


@pytest.mark.parametrize(
    ("optimizer", "told"),
    [
        ("SGD(lin.parameters(), lr=1e-9)", "The learning rate of opt is 1e-09"),
        ("AdamW(lin.parameters(), lr=1e-3, weight_decay=500.0)", "takes 50% of every weight away"),
    ],
)
def test_a_setting_by_which_nothing_is_learnt_is_told(optimizer: str, told: str) -> None:
    assert told in asked(SET.format(optimizer=optimizer)).verdict


@pytest.mark.parametrize(
    "optimizer",
    [
        "SGD(lin.parameters(), lr=1e-5)",
        "AdamW(lin.parameters(), lr=1e-3, weight_decay=0.1)",
        # the gradient is divided by its own size: this step moves a weight by the rate at most
        "Adam(lin.parameters(), lr=1e-3, weight_decay=500.0)",
    ],
)
def test_usual_settings_are_not_told(optimizer: str) -> None:
    verdict = asked(SET.format(optimizer=optimizer)).verdict
    assert "learning rate" not in verdict
    assert "weight away" not in verdict


@pytest.mark.parametrize(("freeze", "told"), [("", True), (", freeze=True", False)])
def test_a_pretrained_embedding_that_is_frozen_by_default_is_told_where(
    freeze: str, told: bool
) -> None:
    program = (
        HEAD
        + f"""
emb = nn.Embedding.from_pretrained(torch.randn(5, 3){freeze})
lin = nn.Linear(3, 1)
lin(emb(torch.tensor([1, 2]))).sum().backward()
print(emb.weight.grad)
"""
    )
    answer = asked(program)
    assert answer.cause == "frozen"
    assert ("freeze=False" in answer.mend) is told
    assert (line(program, "from_pretrained") in answer.lines) is told


def test_a_snapshot_that_stands_beside_another_name_is_told() -> None:
    program = (
        HEAD
        + """
lin, x = nn.Linear(2, 1), torch.randn(4, 2)
opt = torch.optim.SGD(lin.parameters(), lr=0.1)
for _ in range(3):
    loss = lin(x).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    best_loss, best = loss.item(), lin.state_dict()
opt.step()
lin.load_state_dict(best)
"""
    )
    answer = asked(program)
    assert answer.cause == "shared_snapshot"
    assert line(program, "best_loss, best") in answer.lines


# --- what another loss trains, and what is moved by hand ------------------------------------------


def test_of_two_cuts_the_one_is_told_behind_which_nothing_is_trained() -> None:
    program = (
        HEAD
        + """
policy, value, x = nn.Linear(3, 2), nn.Linear(3, 1), torch.randn(4, 3)
opt = torch.optim.SGD([*policy.parameters(), *value.parameters()], lr=0.1)
logs = F.log_softmax(policy(x), -1)[:, 0]
advantage = torch.ones(4) - value(x).squeeze(-1).detach()
policy_loss = -(logs.detach() * advantage).mean()
value_loss = (value(x) - 1).pow(2).mean()
(policy_loss + value_loss).backward()
opt.step()
"""
    )
    recording, _, names = ran(program)
    answer = gv.explain(names["policy_loss"], recording=recording, names=names)
    assert answer.cause == "no_grad_fn"
    assert line(program, "logs.detach()") in answer.lines
    assert line(program, "advantage =") not in answer.lines


def test_accumulation_over_the_steps_of_an_attack_is_no_pile() -> None:
    program = (
        HEAD
        + """
net, x, y = nn.Linear(3, 2), torch.randn(4, 3), torch.randint(2, (4,))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
push = torch.zeros_like(x).requires_grad_()
loss = F.cross_entropy(net(x + push), y) / 2
for _ in range(1):
    loss.backward()
    push.data = push.detach() + 0.1 * push.grad.sign()
    push.grad[:] = 0
    loss = F.cross_entropy(net(x + push), y) / 2
loss.backward()
opt.step()
"""
    )
    assert asked(program).cause == "healthy"
