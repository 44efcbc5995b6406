"""Where nothing is wrong by itself, the recorded steps and losses are told: each line is true of
torch's own numbers, and what does not stand in the program is not told."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from test_symptom import asked

pytestmark = pytest.mark.dear(30)

HEAD = """
import torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
"""
NET = (
    HEAD
    + """
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(8, 3), torch.randint(2, (8,))
"""
)


def line(program: str, text: str) -> int:
    """Return the number of the one line that holds a text."""
    (found,) = [n for n, one in enumerate(program.split("\n"), 1) if text in one]
    return found


# --- sums -----------------------------------------------------------------------------------------

SUM = (
    NET
    + """
for i in range(4):
    loss = F.cross_entropy(net(x[2 * i : 2 * i + 2]), y[2 * i : 2 * i + 2]){scale}
    loss.backward()
{then}
opt.step()
"""
)


def test_a_step_that_used_the_sum_of_several_whole_losses_is_told() -> None:
    program = SUM.format(scale="", then="")
    answer = asked(program)
    assert answer.cause == "healthy"
    assert answer.is_observed
    assert "used the sum of 4 backwards of loss" in answer.verdict
    assert "divide the loss by 4" in answer.verdict
    assert {line(program, "loss.backward()"), line(program, "opt.step()")} <= set(answer.lines)
    # torch agrees: that step went four times as far as one of the whole batch
    names: dict[str, object] = {}
    whole = NET + "F.cross_entropy(net(x), y).backward()\ngrad = net[0].weight.grad"
    exec(whole, names)
    parts: dict[str, object] = {}
    exec(program + "grad = net[0].weight.grad", parts)
    assert parts["grad"].allclose(4 * names["grad"], atol=1e-6)  # type: ignore[attr-defined, operator]


@pytest.mark.parametrize(
    ("scale", "then"),
    [(" / 4", ""), ("", "for p in net.parameters(): p.grad.div_(4)")],
    ids=["each loss", "the sum"],
)
def test_a_sum_that_is_scaled_is_told_without_advice(scale: str, then: str) -> None:
    answer = asked(SUM.format(scale=scale, then=then))
    assert "used the sum of 4 backwards" in answer.verdict
    assert "scaled by" in answer.verdict
    assert "divide the loss by" not in str(answer)


# --- gradients that nothing used ------------------------------------------------------------------

GAN = (
    HEAD
    + """
G, D = nn.Linear(2, 3), nn.Linear(3, 1)
g_opt, d_opt = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (G, D))
for _ in range(2):
    D.zero_grad()
    d_loss = F.softplus(D(G(torch.randn(4, 2)).detach())).mean()
    d_loss.backward()
    d_opt.step()
    G.zero_grad()
    g_loss = F.softplus(-D(G(torch.randn(4, 2)))).mean()
    g_loss.backward()
    g_opt.step()
"""
)


def test_gradients_that_were_cleared_unused_are_told() -> None:
    answer = asked(GAN)
    assert answer.cause == "healthy"
    assert "g_loss" in answer.verdict
    assert "sent a gradient to D.* too" in answer.verdict
    assert "each step used the gradients of its own loss alone" in answer.verdict
    assert "d_opt.step()" in str(answer)
    assert {line(GAN, "g_loss.backward()"), line(GAN, "D.zero_grad()")} <= set(answer.lines)


def test_where_every_gradient_is_used_nothing_is_said_to_be_cleared() -> None:
    kept_off = GAN.replace("    g_loss =", "    D.requires_grad_(False)\n    g_loss =")
    kept_off = kept_off.replace(
        "    D.zero_grad()", "    D.requires_grad_(True)\n    D.zero_grad()"
    )
    assert "sent a gradient to" not in str(asked(kept_off))


# --- clipping -------------------------------------------------------------------------------------

CLIPPED = (
    HEAD
    + """
policy, value = nn.Linear(3, 2), nn.Linear(3, 1)
opt, value_opt = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (policy, value))
x = torch.randn(5, 3)
for _ in range(2):
    value_opt.zero_grad()
    value_loss = value(x).pow(2).mean()
    value_loss.backward()
    value_opt.step()
    opt.zero_grad()
    loss = policy(x).pow(2).mean()
    loss.backward()
    nn.utils.clip_grad_norm_({what}.parameters(), 0.01)
    opt.step()
"""
)


def test_clipping_of_what_is_not_stepped_is_told() -> None:
    program = CLIPPED.format(what="value")
    answer = asked(program)
    assert answer.cause == "healthy"
    assert "clipped value.* only" in answer.verdict
    assert "moved policy.*" in answer.verdict
    assert line(program, "clip_grad_norm_") in answer.lines


def test_clipping_of_what_is_stepped_is_not_told() -> None:
    assert "clipped" not in str(asked(CLIPPED.format(what="policy")))


# --- values in no loss ----------------------------------------------------------------------------

PENALTY = (
    NET
    + """
out = net(x)
penalty = (out.pow(2).sum(1) - 1).pow(2)
loss = F.cross_entropy(out, y){more}
print(penalty.mean().item())
opt.zero_grad()
loss.backward()
opt.step()
"""
)


def test_what_is_called_a_penalty_and_is_in_no_loss_is_told() -> None:
    program = PENALTY.format(more="")
    answer = asked(program)
    assert answer.cause == "healthy"
    assert answer.verdict.startswith("penalty ")
    assert "goes into no loss" in answer.verdict
    assert "add it to loss" in answer.verdict
    assert line(program, "penalty =") in answer.lines


@pytest.mark.parametrize(
    "program",
    [
        PENALTY.format(more=" + penalty.mean()"),
        PENALTY.format(more=" + penalty.detach().mean()"),  # a number in the loss: told as that
        PENALTY.format(more="").replace("penalty", "distance"),  # several numbers, called no loss
        PENALTY.format(more="").replace("penalty = ", "with torch.no_grad(): penalty = "),
    ],
    ids=["added", "added as a number", "called no loss", "without a history"],
)
def test_what_is_in_a_loss_or_has_no_history_is_not_told(program: str) -> None:
    assert "goes into no loss" not in str(asked(program))


# --- a backward of the program's own --------------------------------------------------------------

OWN = (
    HEAD
    + """
class Quantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return {forward}
    @staticmethod
    def backward(ctx, grad):
        return {backward}
net = nn.Linear(3, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
loss = Quantize.apply(net(torch.randn(5, 3))).pow(2).mean()
loss.backward()
opt.step()
"""
)


def test_a_backward_that_hands_the_gradient_on_past_a_clamp_is_told() -> None:
    program = OWN.format(forward="x.clamp(-1, 1)", backward="grad")
    answer = asked(program)
    assert answer.cause == "healthy"
    assert answer.verdict.startswith("Quantize's backward")
    assert "clamp" in answer.verdict
    assert line(program, "return grad") in answer.lines


@pytest.mark.parametrize(
    ("forward", "backward"),
    [("x.clamp(-1, 1)", "grad * 0.5"), ("x.clamp(-1, 1)", "-grad"), ("x * 1", "grad")],
    ids=["scaled", "turned", "a forward that flattens nothing"],
)
def test_a_backward_that_changes_the_gradient_is_not_called_unchanged(
    forward: str, backward: str
) -> None:
    program = OWN.format(forward=forward, backward=backward)
    answer = asked(program)
    assert "hands the gradient on" not in str(answer)
    assert "gradcheck(Quantize.apply, …)" in str(answer)
    assert answer.cause == "healthy"


def test_a_backward_that_did_not_run_is_not_told() -> None:
    program = OWN.format(forward="x * 2", backward="grad * 2").replace("Quantize.apply(", "(")
    assert "gradcheck" not in str(asked(program))


# --- arithmetic -----------------------------------------------------------------------------------

SCALED = (
    HEAD
    + """
w, x = nn.Parameter(torch.randn(4, 3)), torch.randn(5, 3)
opt = torch.optim.SGD([w], lr=0.1)
e = w.abs().mean().detach()
loss = (x @ (torch.round(w{first}){second}).T).pow(2).mean()
loss = loss + (x @ w.T).pow(2).mean()
loss.backward()
opt.step()
"""
)


def test_two_factors_that_cancel_are_told() -> None:
    answer = asked(SCALED.format(first=" / e", second=" * e"))
    assert "the two cancel" in str(answer)


@pytest.mark.parametrize(("first", "second"), [(" / e", ""), (" * e", " * e"), ("", " * e / e")])
def test_factors_that_do_not_cancel_are_not_told(first: str, second: str) -> None:
    cancels = second == " * e / e"
    told = "the two cancel" in str(asked(SCALED.format(first=first, second=second)))
    assert not told or cancels


def test_a_second_log_softmax_is_told_to_be_the_same() -> None:
    program = (
        NET
        + """
logits = F.log_softmax(net(x), dim=1)
loss = F.cross_entropy(logits, y)
loss.backward()
opt.step()
"""
    )
    answer = asked(program)
    assert "is the same again" in str(answer)
    assert "is the same again" not in str(
        asked(program.replace("F.log_softmax(net(x), dim=1)", "net(x)"))
    )


# --- shapes that were made to fit -----------------------------------------------------------------

COLUMN = (
    HEAD
    + """
x = torch.linspace(-1, 1, 20).unsqueeze(1)
y = 3 * x{row}
model = nn.Linear(1, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(50):
    pred = model(x)
    loss = {loss}
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
)


@pytest.mark.parametrize("loss", ["((pred - y) ** 2).mean()", "(y - pred).abs().mean()"])
def test_a_column_that_meets_a_row_is_told(loss: str) -> None:
    program = COLUMN.format(row=".squeeze()", loss=loss)
    answer = asked(program)
    told = " ".join([answer.verdict, answer.why, *answer.more])
    assert "one of shape [20, 1], one of shape [20]" in told
    assert line(program, "loss =") in answer.lines
    # torch agrees: as it is the model learns nothing, and with what is said there it learns
    for mend, learns in (("", False), ("; pred = pred.squeeze(-1)", True)):
        names: dict[str, object] = {}
        exec(program.replace("pred = model(x)", f"pred = model(x){mend}"), names)
        weight = names["model"].weight.item()  # type: ignore[attr-defined]
        assert (weight > 1.5) is learns


@pytest.mark.parametrize(
    ("row", "loss"),
    [
        ("", "((pred - y) ** 2).mean()"),
        (".squeeze()", "((pred.squeeze(-1) - y) ** 2).mean()"),
        (".squeeze()", "((pred.squeeze(-1)[:, None] - y) ** 2).min(1).values.mean()"),
        ("", "((pred - y.mean()) ** 2).mean()"),
    ],
    ids=["alike", "squeezed", "each with each on purpose", "a number"],
)
def test_shapes_that_fit_are_not_told(row: str, loss: str) -> None:
    assert "of shape [20, 1]" not in asked(COLUMN.format(row=row, loss=loss)).verdict


def test_a_fix_uses_the_names_of_the_line_it_stands_in() -> None:
    program = (
        HEAD
        + """
def score(est, target):
    return ((est - target) ** 2).mean()
net, x, labels = nn.Linear(3, 1), torch.randn(20, 3), list(torch.randn(20))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    prediction = net(x)
    loss = score(prediction, torch.stack(labels))
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
    )
    told = str(asked(program))
    assert "target.unsqueeze(1)" in told
    assert "compares est with target" in told
    mended = program.replace("(est, target):", "(est, target):\n    target = target.unsqueeze(1)")
    assert "of shape [20, 1]" not in str(asked(mended))


# --- rates and sizes ------------------------------------------------------------------------------


def test_an_optimizer_written_by_hand_has_no_defaults_and_is_no_obstacle() -> None:
    own = (
        "class Own(torch.optim.Optimizer):\n"
        "    def __init__(self, other):\n"
        "        self.other, self.param_groups, self.state = other, other.param_groups, {}\n"
        "    def step(self, closure=None):\n"
        "        self.other.step()\n"
        "opt = Own(opt)\n"
    )
    answer = asked(NET + own + "loss = F.cross_entropy(net(x), y)\nloss.backward()\nopt.step()\n")
    assert answer.cause == "healthy"


@pytest.mark.parametrize(("gamma", "told"), [(0.1, True), (0.0, True), (0.9, False)])
def test_a_rate_that_a_schedule_let_fall_is_told(gamma: float, told: bool) -> None:
    program = (
        NET
        + f"""
sched = torch.optim.lr_scheduler.StepLR(opt, step_size=1, gamma={gamma})
for _ in range(6):
    opt.zero_grad()
    F.cross_entropy(net(x), y).backward()
    opt.step()
    sched.step()
"""
    )
    answer = asked(program)
    assert ("and began at 0.1: StepLR was stepped 6 times" in answer.verdict) is told
    assert (line(program, "sched.step()") in answer.lines) is told
    moved = any("opt.step()" in more and " moved " in more for more in answer.more)
    assert moved is (gamma > 0)  # at a rate of 0 nobody knows


@pytest.mark.parametrize(("between", "told"), [("Sigmoid", True), ("ReLU", False)])
def test_a_gradient_that_shrinks_from_layer_to_layer_is_told(between: str, told: bool) -> None:
    program = (
        HEAD
        + f"""
parts = [part for _ in range(6) for part in (nn.Linear(8, 8), nn.{between}())]
net = nn.Sequential(*parts, nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(16, 8)).pow(2).mean().backward()
opt.step()
"""
    )
    names: dict[str, object] = {}
    exec(program, names)
    net = names["net"]
    norms = [net[i].weight.grad.norm().item() for i in (12, 0)]  # type: ignore[index]
    assert (norms[0] > 1e3 * norms[1]) is told
    assert ("-fold from net.12 to net.0" in asked(program).verdict) is told


# --- an argument that is not read -----------------------------------------------------------------

READ_OUTSIDE = (
    HEAD
    + """
data, y = torch.randn(8, 3), torch.randint(2, (8,))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)
    def forward(self, x):
        {first}
        return self.fc({read})
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for batch in (data, data + 1):
    loss = F.cross_entropy(net({given}), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
)


def test_a_variable_outside_that_is_read_in_place_of_the_argument_is_told() -> None:
    program = READ_OUTSIDE.format(first="", read="data", given="batch")
    answer = asked(program)
    assert answer.is_observed
    assert "forward() (" in answer.verdict
    assert "never reads x, which it is given: it reads data" in answer.verdict
    assert line(program, "return self.fc") in answer.lines


@pytest.mark.parametrize(
    ("first", "read", "given"),
    [
        ("", "x", "batch"),
        ("", "x + data", "batch"),
        ("x = data", "x", "batch"),  # it is written first
        ("data = torch.ones(8, 3)", "data", "batch"),  # its own variable
        ("", "torch.ones(8, 3)", "batch"),  # it reads no tensor of the program's
        ("", "data", "None"),  # it is given no tensor
        ("data", "locals()['x']", "batch"),
    ],
)
def test_an_argument_that_is_read_or_is_no_tensor_is_not_told(
    first: str, read: str, given: str
) -> None:
    answer = asked(READ_OUTSIDE.format(first=first, read=read, given=given))
    assert "never reads" not in str(answer)


# --- steps that hardly move anything --------------------------------------------------------------

SMALL_STEPS = (
    NET
    + """
opt = torch.optim.{optimizer}
for i in range(3):
    loss = {loss}
    opt.zero_grad()
    loss.backward()
    opt.step()
    {then}
"""
)
WHOLE, DIVIDED = "F.cross_entropy(net(x), y)", "F.cross_entropy(net(x), y) / 1e6"


def test_gradients_too_small_for_their_rate_are_told() -> None:
    program = SMALL_STEPS.format(optimizer="SGD(net.parameters(), lr=0.1)", loss=DIVIDED, then="")
    answer = asked(program)
    assert answer.is_observed
    assert "opt.step()" in answer.verdict
    assert "of its size at most: hardly anything is learnt" in answer.verdict
    # torch agrees
    before: dict[str, torch.Tensor] = {}
    exec(NET, before)
    after: dict[str, torch.Tensor] = {}
    exec(program, after)
    moved = [(a - b).norm() / b.norm() for a, b in zip(*map(weights, (after, before)), strict=True)]
    assert max(moved) < 1e-5


def weights(names: dict[str, Any]) -> list[torch.Tensor]:
    return [p.detach() for p in names["net"].parameters()]


@pytest.mark.parametrize(
    ("optimizer", "loss", "then"),
    [
        ("SGD(net.parameters(), lr=0.1)", WHOLE, ""),
        ("SGD(net.parameters(), lr=1e5)", DIVIDED, ""),
        ("Adam(net.parameters(), lr=0.1)", DIVIDED, ""),  # divides gradients by their size
        # it has learnt by then
        ("SGD(net.parameters(), lr=0.1)", WHOLE + " * (1 if i == 0 else 1e-9)", ""),
        ("SGD(net.parameters(), lr=0.1)", WHOLE, "opt.param_groups[0]['lr'] = 1e-9"),
    ],
)
def test_steps_that_move_something_are_not_told(optimizer: str, loss: str, then: str) -> None:
    answer = asked(SMALL_STEPS.format(optimizer=optimizer, loss=loss, then=then))
    assert "hardly anything is learnt" not in str(answer)


# --- a context that nothing enters, a target that nothing updates ---------------------------------


@pytest.mark.parametrize("context", ["torch.no_grad()", "torch.inference_mode()"])
def test_a_grad_mode_that_nothing_enters_is_told(context: str) -> None:
    program = NET + f"F.cross_entropy(net(x), y).backward()\nopt.step()\n{context}\nout = net(x)\n"
    assert f"{context} (" in (told := str(asked(program)).replace("\n", " "))
    assert "changes nothing by itself" in told


def test_a_grad_mode_that_is_entered_or_called_for_good_is_not_told() -> None:
    program = NET + "F.cross_entropy(net(x), y).backward()\nopt.step()\n"
    program += "with torch.no_grad():\n    out = net(x)\ntorch.set_grad_enabled(True)\n"
    assert "changes nothing by itself" not in str(asked(program))


TARGET = (
    HEAD
    + """
def build():
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, {n}))
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
target = {target}
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(3):
    {update}
    x = torch.randn(8, 3)
    with torch.no_grad():
        y = 1 + 0.9 * target(x).max(1, keepdim=True)[0]
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
)
AS_MADE = "nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))"


def test_a_target_that_nothing_writes_is_told() -> None:
    answer = asked(TARGET.format(target=AS_MADE, n=1, update="pass"))
    told = str(answer).replace("\n", " ")
    assert "it is as it was made" in told
    assert "target.load_state_dict(net.state_dict()) before the training" in told


@pytest.mark.parametrize(
    ("target", "n", "update"),
    [
        (AS_MADE, 1, "target.load_state_dict(net.state_dict())"),
        (
            AS_MADE,
            1,
            "[t.data.lerp_(p.data, 0.1) for t, p in zip(target.parameters(), net.parameters())]",
        ),
        ("__import__('copy').deepcopy(net)", 1, "pass"),
        ("build()", 2, "pass"),  # built otherwise
    ],
)
def test_a_target_that_follows_or_is_another_network_is_not_told(
    target: str, n: int, update: str
) -> None:
    assert "as it was made" not in str(asked(TARGET.format(target=target, n=n, update=update)))


@pytest.mark.filterwarnings("ignore:Using a target size")
def test_a_column_and_a_row_that_both_have_a_history_are_told_in_a_loss() -> None:
    """Torch warns of it."""
    program = (
        NET
        + """
q = net(x).gather(1, y.unsqueeze(1))
loss = F.mse_loss(q, net(x + 1).max(1)[0])
loss.backward()
opt.step()
"""
    )
    told = str(asked(program)).replace("\n", " ")
    assert "that gives [8, 8]" in told
    difference = program.replace(
        "F.mse_loss(q, net(x + 1).max(1)[0])", "(q - net(x + 1).max(1)[0]).sum()"
    )
    assert "that gives [8, 8]" not in str(asked(difference)).replace("\n", " ")


# --- a model for every row of steps ---------------------------------------------------------------

EACH = (
    HEAD
    + """
x, y = torch.randn(8, 3), torch.randint(2, (8,))
{before}
for epoch in range(4):
    {within}
    for i in range({steps}):
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
"""
)
MADE = "net = nn.Linear(3, 2); opt = torch.optim.SGD(net.parameters(), lr=0.1)"


def test_a_model_that_a_loop_makes_anew_is_told_as_what_may_be_meant() -> None:
    answer = asked(EACH.format(before="", within=MADE, steps=3))
    assert answer.is_observed
    assert "anew 4 times" in answer.verdict
    assert "moved each 3 times" in answer.verdict
    assert "For folds or seeds that is meant" in answer.verdict


def test_a_model_that_is_made_once_is_not_told() -> None:
    assert "anew" not in str(asked(EACH.format(before=MADE, within="pass", steps=3)))


# --- a gradient that is reversed by nothing, or not at all ----------------------------------------

REVERSED = (
    HEAD
    + """
class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale = scale
        return x.view_as(x)
    @staticmethod
    def backward(ctx, grad):
        return -ctx.scale * grad, None

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features, self.head = nn.Linear(3, 4), nn.Linear(4, 2)
    def forward(self, x, scale, reverse=False):
        h = made = self.features(x)
        if reverse:
            h = Reverse.apply(h, scale)
        return self.head(h), made

net, x, y = Net(), torch.randn(8, 3), torch.randint(2, (8,))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(4):
    out, h = net({given})
    loss = F.cross_entropy(out, y) + 0.1 * h.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
)


def test_a_function_that_multiplies_by_zero_in_each_backward_is_told() -> None:
    answer = asked(program := REVERSED.format(given="x, i // 9, True"))
    assert answer.is_observed
    assert "Reverse's backward" in answer.verdict
    assert "multiplied by 0 what arrived, in all 4 runs" in answer.verdict
    assert line(program, "Reverse.apply(h") in answer.lines


def test_a_function_that_a_default_leaves_out_is_told() -> None:
    answer = asked(program := REVERSED.format(given="x, 1.0"))
    assert answer.is_observed
    assert "Reverse never ran: Reverse.apply(h, scale)" in answer.verdict
    assert "reverse=True there" in answer.verdict
    assert line(program, "out, h = net(") in answer.lines


@pytest.mark.parametrize(
    "given",
    [
        "x, i / 4, True",  # it ramps up
        "x, 1.0, i > 2",  # a call chose
        "x, 1.0, False",  # so did this one
        "x, 1.0, reverse=False",
    ],
)
def test_a_function_that_runs_or_is_left_out_by_choice_is_not_told(given: str) -> None:
    told = str(asked(REVERSED.format(given=given)))
    assert "multiplied by 0" not in told
    assert "never ran" not in told
