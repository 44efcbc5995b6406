"""Beside gradients that are there, what is odd in the recording is the first line; where nothing is,
the answer says what was found and that nobody judged it."""

from __future__ import annotations

import pytest
from test_symptom import asked

from gradviz.why.shown.explanation import Explanation

HEAD = """import torch, copy
from torch import nn
torch.manual_seed(0)
x, y = torch.randn(8, 4), torch.randn(8, 1)
net = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5), nn.Linear(3, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
"""
STEP = """
opt.zero_grad()
loss = (net(x) - y).pow(2).mean()
loss.backward()
opt.step()
"""
FOUND = "4 of 4 trainable parameters have a gradient; none is None, all zeros or NaN."


def told(program: str) -> Explanation:
    """Return the answer to a program of which nothing is named."""
    answer: Explanation = asked(HEAD + program)
    return answer


def test_gradients_that_are_there_are_not_judged() -> None:
    answer = told(STEP)
    assert (answer.cause, answer.tag, answer.verdict) == ("healthy", "not judged", FOUND)
    assert answer.why == "Whether these are the gradients that you want was not checked."


@pytest.mark.parametrize(
    ("program", "first"),
    [
        ("net[0].requires_grad_(False)" + STEP, "net.0.{weight,bias}: frozen"),
        (
            "opt.zero_grad()\nloss = (net(x) - y).pow(2).mean()\nopt.step()\nloss.backward()\n",
            "opt.step() (program.py line 9) stands before the only backward (program.py line 10)",
        ),
        (STEP + "net[2].bias.data = torch.ones(1)\n", "net.2.bias: .data was set anew"),
        (
            STEP.replace("- y", "- y + net[0](x).detach().sum()"),
            "In a loss as a value: net[0](x) (detach, program.py line 9).",
        ),
    ],
    ids=["frozen", "step_first", "replaced", "value"],
)
def test_what_is_odd_is_said_before_what_was_found(program: str, first: str) -> None:
    answer = told(program)
    assert answer.cause == "healthy"
    assert answer.verdict.startswith(first)
    assert "trainable parameters have a gradient" in answer.more[0]


@pytest.mark.parametrize(
    "program",
    [
        "net[2].bias.data = torch.ones(1)" + STEP,  # begun so
        STEP + STEP.replace("opt.step()\n", ""),  # a step used the first
        STEP.replace("loss.backward()\nopt.step()", "loss.backward(); opt.step()"),
        STEP + "twin = copy.deepcopy(net)\ntwin[2].bias.data = torch.ones(1)\n",
        "teacher = copy.deepcopy(net)" + STEP.replace("- y", "- teacher(x).detach()"),
        "net[0] = nn.utils.spectral_norm(net[0])\nopt = torch.optim.SGD(net.parameters(), lr=0.1)"
        + STEP,  # its no_grad is torch's own
    ],
    ids=["begun", "second_backward", "one_line", "of_a_copy", "teacher", "spectral_norm"],
)
def test_what_everybody_does_is_not_odd(program: str) -> None:
    assert told(program).verdict == FOUND


CACHE = """
opt.zero_grad()
cache, losses = None, []
for row, want in zip(x, y):
    h = net[0](row)
    seen = h if cache is None else h + cache
    cache = seen.detach()
    losses.append(nn.functional.mse_loss(net[2](seen), want))
torch.stack(losses).sum().backward()
opt.step()
"""


def test_parts_of_a_loss_that_have_one_name_are_told_once() -> None:
    verdict = told(CACHE).verdict
    assert verdict.startswith("In a loss as a value: h (detach")
    assert verdict.count("mse_loss(net[2](seen), want)") == 1


# --- eval mode after the first epoch --------------------------------------------------------------

EPOCHS = """
for epoch in range(3):
    {begin}
    opt.zero_grad()
    loss = (net(x) - y).pow(2).mean()
    loss.backward()
    opt.step()
    net.eval()
    with torch.no_grad():
        net(x)
"""


def test_a_model_that_stays_in_eval_mode_after_its_validation_is_told() -> None:
    answer = told(EPOCHS.format(begin="pass"))
    assert (answer.cause, answer.form, answer.lines) == ("eval_mode", "left", (14,))
    assert "from its forward 3 on: net.1 does not" in answer.verdict
    assert told(EPOCHS.format(begin="net.train()")).verdict == FOUND
    plain = EPOCHS.format(begin="pass").replace("net(x)", "net[0](x)[:, :1]")
    assert told(plain).cause != "eval_mode"  # no layer of it works otherwise


@pytest.mark.parametrize(
    ("modes", "nth"),
    [
        ("TFTF", 4),
        ("TvFF", 3),  # v: a validation, which nothing is trained with
        ("TFFT", None),
        ("TFTv", None),
        ("FTTv", None),
    ],
)
def test_it_is_counted_from_the_forward_after_which_nothing_switched_it_back(
    modes: str, nth: int | None
) -> None:
    forward = "net.train({})\nloss = (net(x) - y).pow(2).mean()\n"
    training = "opt.zero_grad()\nloss.backward()\nopt.step()\n"
    answer = told("".join(forward.format(mode == "T") + training * (mode != "v") for mode in modes))
    assert (answer.form == "left") is (nth is not None)
    assert not nth or f"from its forward {nth} on" in answer.verdict


# --- dropout in an evaluation ---------------------------------------------------------------------

MEASURED = """
with torch.no_grad():
    error = (net(torch.randn(8, 4)) - 1).abs().mean().item()
"""
AGREED = """
with torch.no_grad():
    wanted = net(x)
loss = (net(x) - wanted).pow(2).mean()
loss.backward()
opt.step()
"""
SPREAD = """
with torch.no_grad():
    spread = torch.stack([net(x) for _ in range(4)]).std(0)
"""


def test_dropout_in_an_evaluation_is_told() -> None:
    answer = told(STEP + MEASURED)
    assert answer.cause == "healthy"
    assert answer.verdict.startswith("net ran in train mode where no gradient is recorded")
    assert "(program.py line 14)" in answer.verdict
    assert "net.1 dropped values there" in answer.verdict


@pytest.mark.parametrize(
    "program",
    [
        STEP + "net.eval()" + MEASURED,
        STEP + AGREED,
        STEP + SPREAD,
        "net[1].p = 0.0" + STEP + MEASURED,
    ],
    ids=["eval", "in the loss", "how far results differ", "of nothing"],
)
def test_dropout_that_is_off_or_meant_is_not(program: str) -> None:
    assert "train mode" not in str(told(program))


# --- a frozen BatchNorm that no optimizer and no question names -----------------------------------

FROZEN_NORM = """del net, opt
body = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4{affine})).requires_grad_({trains})
head = nn.Linear(4, 1)
{opt}
loss = {loss}
loss.backward()
"""
HEAD_ALONE = "opt = torch.optim.SGD(head.parameters(), lr=0.1)"


@pytest.mark.parametrize("opt", ["pass", HEAD_ALONE])
@pytest.mark.parametrize("affine", ["", ", affine=False"])
def test_statistics_of_a_frozen_body_are_told_with_an_optimizer_and_without(
    opt: str, affine: str
) -> None:
    loss = "head(body(x)).pow(2).mean()"
    answer = told(FROZEN_NORM.format(affine=affine, trains=False, opt=opt, loss=loss))
    assert answer.cause == "batch_norm_moves", str(answer)
    assert "body.1" in answer.verdict
    assert answer.lines[0] == 11


@pytest.mark.parametrize("opt", ["pass", HEAD_ALONE])
@pytest.mark.parametrize(
    ("trains", "loss"),
    [
        (True, "head(body(x)).pow(2).mean()"),
        (False, "head(body.eval()(x)).pow(2).mean()"),
    ],
    ids=["trains", "eval"],
)
def test_statistics_that_may_move_or_stay_are_not(opt: str, trains: bool, loss: str) -> None:
    program = FROZEN_NORM.format(affine="", trains=trains, opt=opt, loss=loss)
    assert told(program).cause != "batch_norm_moves"


def test_statistics_of_a_teacher_in_train_mode_are_not() -> None:
    loss = "(head(x) - body(x).mean(1, keepdim=True)).pow(2).mean()"
    program = FROZEN_NORM.format(affine="", trains=False, opt=HEAD_ALONE, loss=loss)
    assert told(program).cause == "healthy"


# --- second derivatives ---------------------------------------------------------------------------

SECOND = """del net, opt
bend = nn.Sequential(nn.Linear(4, 6), {act}, nn.Linear(6, 1))
x.requires_grad_()
first, = torch.autograd.grad(bend(x).sum(), x, create_graph=True)
{second}
"""
AGAIN = "again, = torch.autograd.grad(first.sum(), x, create_graph=True)\n"
LEARNT = "loss = ({value} - 1).pow(2).mean()\nloss.backward()"


@pytest.mark.parametrize("act", ["nn.ReLU()", "nn.LeakyReLU()", "nn.ReLU6()"])
@pytest.mark.parametrize(
    "second",
    [
        AGAIN + LEARNT.format(value="again"),
        AGAIN + LEARNT.format(value="again + bend(x)"),
        "first.sum().backward()\nprint(x.grad)",
    ],
    ids=["alone", "beside the data", "backward"],
)
def test_a_second_derivative_of_straight_pieces_is_told(act: str, second: str) -> None:
    answer = told(SECOND.format(act=act, second=second))
    assert answer.form == "second_slope", str(answer)
    assert answer.lines == (11, 10)  # and the call of the activation


@pytest.mark.parametrize(
    ("act", "second"),
    [
        ("nn.Tanh()", AGAIN + LEARNT.format(value="again + bend(x)")),
        ("nn.Tanh()", "first.sum().backward()\nprint(x.grad)"),
        ("nn.ReLU()", LEARNT.format(value="first.norm(dim=1) + bend(x)")),  # a gradient penalty
    ],
    ids=["smooth", "smooth backward", "first alone"],
)
def test_a_second_derivative_that_is_there_or_not_asked_for_is_not(act: str, second: str) -> None:
    assert not told(SECOND.format(act=act, second=second)).form.startswith("second_")


def test_a_second_derivative_that_is_none_is_told() -> None:
    second = "again, = torch.autograd.grad(first.sum(), x, allow_unused=True)"
    program = SECOND.format(act="nn.Identity()", second=second)
    answer = told(program)
    assert (answer.cause, answer.form, answer.lines) == ("not_in_loss", "second_none", (11,))
    first = program.replace("first.sum(), x", "bend(x).sum(), x")
    assert told(first).form != "second_none"


# --- a target that learns -------------------------------------------------------------------------

TARGET = """
class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.{name} = nn.Linear(4, 2), nn.Linear(4, 2)
agent = Agent()
opt = torch.optim.Adam(agent.parameters(){alone})
q = agent.q(x).max(1).values
value = {value}
loss = (q - value).pow(2).mean()
opt.zero_grad()
loss.backward()
opt.step()
"""


LEARNS = TARGET.format(name="target", alone="", value="1 + agent.target(x).max(1).values")
FOLLOWS = {
    "loaded": "agent.target.load_state_dict(agent.q.state_dict())\n",
    "averaged": """
for kept, new in zip(agent.target.parameters(), agent.q.parameters()):
    kept.data.mul_(0.9).add_(0.1 * new.data)
""",
}


@pytest.mark.parametrize("write", FOLLOWS.values(), ids=FOLLOWS.keys())
def test_a_target_in_the_optimizer_of_the_learner_is_told(write: str) -> None:
    answer = told(LEARNS + write)
    assert (answer.cause, answer.form) == ("extra_gradient", "twin_held")
    assert answer.lines[0] == 15
    assert answer.verdict.startswith("agent.target learns with agent.q")


def test_what_is_a_target_by_its_name_only_is_told_beside_what_was_found() -> None:
    answer = told(LEARNS)
    assert answer.cause == "healthy"
    assert answer.verdict.startswith("agent.target is in the optimizer of agent.q")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("other", "1 + agent.other(x).max(1).values"),  # nothing calls it a target
        ("target", "1 + agent.target(x).max(1).values.detach()"),
    ],
)
def test_two_networks_that_both_learn_are_left_alone(name: str, value: str) -> None:
    answer = told(TARGET.format(name=name, alone="", value=value))
    assert answer.form != "twin_held"
    assert "in the optimizer of" not in answer.verdict


# --- written past autograd ------------------------------------------------------------------------

PAST = """
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
h = w * 3
{write}
loss = (h ** 2).sum()
loss.backward()
"""


@pytest.mark.parametrize("write", ["h.data[1] = 7.0", "h.detach().mul_(2)", "h.data.clamp_(max=4)"])
def test_a_result_that_was_written_past_autograd_is_told(write: str) -> None:
    answer = told("del net, opt" + PAST.format(write=write))
    assert (answer.form, answer.lines) == ("past_autograd", (10, 11))
    assert answer.verdict.startswith("h was written through")


@pytest.mark.parametrize(
    "write", ["w.data[1] = 7.0", "h.data.clamp_(max=99)", "h.detach().clone().mul_(2)"]
)
def test_writes_that_leave_a_result_as_it_was_are_not(write: str) -> None:
    assert told("del net, opt" + PAST.format(write=write)).cause != "changed_before_read"


def test_what_was_written_past_autograd_after_its_loss_is_not() -> None:
    program = PAST.format(write="pass") + "h.data[1] = 7.0\n"
    assert told("del net, opt" + program).cause != "changed_before_read"
