"""Gradients that are a sum though one was wanted, and gradients that no step ever used: each is told
with its lines, the fix that is told works by torch alone, and programs that mean it are left
alone."""

from __future__ import annotations

import pytest
from test_account import HEAD, NET, line
from test_symptom import asked

# --- what no optimizer holds and nothing clears ---------------------------------------------------

ATTACK = (
    NET
    + """
delta = torch.zeros_like(x, requires_grad=True)
grads = []
for step in range(3):
    loss = F.cross_entropy(net(x + delta), y)
    opt.zero_grad()
    loss.backward()
    grads.append(delta.grad.clone())
    with torch.no_grad():
        delta.add_(0.1 * delta.grad.sign())
{then}"""
)


def test_an_attack_that_adds_its_gradients_up_is_told() -> None:
    program = ATTACK.format(then="")
    answer = asked(program)
    assert answer.is_observed
    assert "uses delta.grad as the sum of 3 backwards" in answer.verdict
    assert "delta.grad = None before that backward()" in answer.verdict
    assert line(program, "loss.backward()") in answer.lines
    mended = program.replace("    loss.backward()", "    delta.grad = None\n    loss.backward()")
    assert "as the sum of" not in str(asked(mended))
    # torch agrees: mended, what is used last is the gradient of the last loss alone
    for code, is_one in ((program, False), (mended, True)):
        names: dict[str, object] = {}
        kept = "    at = delta.detach().clone().requires_grad_()\n    grads.append("
        again = "alone, = torch.autograd.grad(F.cross_entropy(net(x + at), y), at)"
        exec(code.replace("    grads.append(", kept) + again, names)
        assert names["grads"][-1].allclose(names["alone"]) is is_one  # type: ignore[index]


@pytest.mark.parametrize(
    "then", ["    delta.grad = None\n", "    delta.grad.zero_()\n"], ids=["none", "zeros"]
)
def test_an_attack_that_clears_its_gradient_is_left_alone(then: str) -> None:
    assert "as the sum of" not in str(asked(ATTACK.format(then=then)))


def test_a_gradient_that_is_used_after_all_losses_is_left_alone() -> None:
    program = (
        NET
        + """
image = torch.randn(8, 3, requires_grad=True)
for part in range(3):
    net(image)[:, part % 2].pow(2).mean().backward()
saliency = image.grad.abs()
"""
    )
    assert "as the sum of" not in str(asked(program))


def test_a_gradient_of_what_the_optimizer_holds_is_not_told_so() -> None:
    program = (
        HEAD
        + """
code = torch.randn(4, requires_grad=True)
opt = torch.optim.SGD([code], lr=0.1)
for _ in range(3):
    opt.zero_grad()
    code.pow(2).sum().backward()
    size = code.grad.norm()
    opt.step()
"""
    )
    assert "as the sum of" not in str(asked(program))


# --- cleared before a step, each time -------------------------------------------------------------

BOTH = (
    NET
    + """
other = torch.randn(8, 3)
for _ in range(3):
    opt.zero_grad()
    F.cross_entropy(net(x), y).backward()
    opt.step()
    far = net(other).pow(2).mean()
    far.backward()
"""
)
BETWEEN = (
    NET
    + """
other = torch.randn(8, 3)
for _ in range(3):
    far = net(other).pow(2).mean()
    far.backward()
    opt.zero_grad()
    F.cross_entropy(net(x), y).backward()
    opt.step()
"""
)


def test_a_backward_behind_the_step_is_told_to_be_in_vain() -> None:
    answer = asked(BOTH)
    assert answer.verdict.startswith("far")
    assert "trains nothing" in answer.verdict
    assert "comes before that backward" in answer.verdict
    assert {line(BOTH, "far.backward()"), line(BOTH, "opt.step()")} <= set(answer.lines)
    mended = BOTH.replace("    opt.step()\n", "") + "    opt.step()\n"
    assert "trains nothing" not in str(asked(mended))


def test_a_backward_that_is_cleared_at_once_is_told_to_be_in_vain() -> None:
    answer = asked(BETWEEN)
    assert "trains nothing" in answer.verdict
    assert "clear before that backward" in answer.verdict
    assert {line(BETWEEN, "far.backward()"), line(BETWEEN, "opt.zero_grad()")} <= set(answer.lines)
    mended = BETWEEN.replace("    opt.zero_grad()\n", "")
    mended = mended.replace("    far = net", "    opt.zero_grad()\n    far = net")
    assert "trains nothing" not in str(asked(mended))


@pytest.mark.parametrize(
    "then",
    [
        "    norms = [p.grad.norm() for p in net.parameters()]\n",
        "    kept = [p.grad.clone() for p in net.parameters()]\n",
    ],
    ids=["norms", "kept"],
)
def test_gradients_that_the_program_reads_before_they_are_cleared_are_used(then: str) -> None:
    assert "trains nothing" not in str(asked(BOTH + then))


def test_the_gradients_a_generator_loss_leaves_in_a_discriminator_are_left_alone() -> None:
    program = (
        HEAD
        + """
G, D = nn.Linear(2, 3), nn.Linear(3, 1)
g_opt, d_opt = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (G, D))
for _ in range(3):
    d_opt.zero_grad()
    F.softplus(D(G(torch.randn(4, 2)).detach())).mean().backward()
    d_opt.step()
    g_opt.zero_grad()
    g_loss = F.softplus(-D(G(torch.randn(4, 2)))).mean()
    g_loss.backward()
    g_opt.step()
"""
    )
    assert "trains nothing" not in str(asked(program))


def test_what_a_hook_keeps_of_a_backward_is_used() -> None:
    hooked = BOTH.replace(
        "for _ in", "seen = []\nnet[0].weight.register_hook(seen.append)\nfor _ in"
    )
    assert "trains nothing" not in str(asked(hooked))


# --- a sum, a part of which another line had used -------------------------------------------------

SAM = (
    NET
    + """
for _ in range(3):
    opt.zero_grad()
    F.cross_entropy(net(x), y).backward()
    with torch.no_grad():
        for p in net.parameters():
            p.add_(0.05 * p.grad)
    second = F.cross_entropy(net(x), y)
    second.backward()
    opt.step()
"""
)


def test_a_sum_of_which_an_ascent_had_used_a_part_is_cleared_between_the_two() -> None:
    answer = asked(SAM)
    assert answer.cause == "gradients_pile_up"
    assert answer.mend == "opt.zero_grad() right before second.backward()."
    mended = SAM.replace("    second.backward()", "    opt.zero_grad()\n    second.backward()")
    assert asked(mended).cause != "gradients_pile_up"


def test_where_nothing_is_ever_cleared_either_place_is_told() -> None:
    never = SAM.replace("    opt.zero_grad()\n", "")
    assert "in each iteration" in asked(never).mend
