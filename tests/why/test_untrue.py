"""What is not so is not said: each with a program in which it would be, or in which it is."""

from __future__ import annotations

import linecache
import textwrap
from typing import Any

import pytest

import gradviz as gv

HEAD = """
import copy, torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
"""


def asked(program: str, *subjects: str) -> Any:
    """Return the answer about some expressions of a program; the bare one where there are none."""
    code = HEAD + textwrap.dedent(program)
    name = f"untrue_{abs(hash(code))}.py"
    linecache.cache[name] = len(code), None, code.splitlines(True), name
    names: dict[str, Any] = {}
    with gv.record() as recording:
        exec(compile(code, name, "exec"), names)
    known = {n: v for n, v in names.items() if n[:2] != "__"}
    given = [eval(subject, names) for subject in subjects]
    return gv.explain(*given, recording=recording, names=known)


def one_line(answer: Any) -> str:
    """Return an answer without its line breaks."""
    return " ".join(str(answer).split())


# --- a network that is loaded with its own values --------------------------------------------------

AVERAGED = """
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
follower = copy.deepcopy(net).requires_grad_(False)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(8, 3)
    loss = (net(x) - follower(x)).pow(2).mean() + net(x).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    state = follower.state_dict()
    for key, value in net.state_dict().items():
        {write}
    follower.load_state_dict(state)
"""
IN_PLACE = "state[key].mul_(0.9).add_(value, alpha=0.1)"


def test_an_average_that_was_written_in_place_is_there_when_it_is_loaded() -> None:
    answer = one_line(asked(AVERAGED.format(write=IN_PLACE)))
    assert "onto itself" not in answer
    assert "No step moves follower" in answer
    nothing = one_line(asked(AVERAGED.format(write="value = 0.9 * state[key] + 0.1 * value")))
    assert "onto itself: no value changes" in nothing


# --- features that are computed once ---------------------------------------------------------------

ONCE = """
encoder, head = nn.Linear(6, 4), nn.Linear(4, 1)
opt = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
x, y = torch.randn(16, 6), torch.randn(16, 1)
{before}
for _ in range(3):
    {inside}
    loss = F.mse_loss(head(h), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(encoder.weight.grad)
"""


@pytest.mark.parametrize("cut", ["encoder(x).detach()", "torch.no_grad()(encoder.forward)(x)"])
def test_what_is_computed_once_is_told_as_observed_and_with_what_would_train_it(cut: str) -> None:
    once = asked(ONCE.format(before=f"h = {cut}", inside="pass"))
    assert once.cause == "cut"
    assert once.is_observed
    assert "anew before each backward" in once.mend
    each = asked(ONCE.format(before="", inside=f"h = {cut}"))
    assert each.cause == "cut"
    assert not each.is_observed
    assert "anew" not in each.mend


# --- results that are asked about ------------------------------------------------------------------

TERMS = """
policy, value = nn.Linear(3, 2), nn.Linear(3, 1)
opt = torch.optim.SGD([*policy.parameters(), *value.parameters()], lr=0.1)
for _ in range(2):
    x = torch.randn(8, 3)
    hidden = value(x)
    pg_loss = -policy(x).log_softmax(-1)[:, 0].mean()
    v_loss = (hidden - 1).pow(2).mean()
    loss = pg_loss{and_value}
    opt.zero_grad()
    loss.backward()
    opt.step()
{after}
"""


def test_a_term_is_in_the_loss_though_the_other_term_does_not_use_it() -> None:
    summed = TERMS.format(and_value=" + v_loss", after="")
    answer = asked(summed, "pg_loss", "v_loss")
    assert answer.cause == "healthy"
    assert "in no loss" not in str(answer)
    dropped = TERMS.format(and_value="", after="")
    assert asked(dropped, "pg_loss", "hidden").cause == "not_in_loss"


def test_a_result_whose_grad_nobody_read_is_told_as_what_it_is() -> None:
    answer = asked(TERMS.format(and_value=" + v_loss", after=""), "hidden", "loss")
    assert answer.cause == "healthy"
    assert answer.verdict.startswith("hidden is a result")
    read = TERMS.format(
        and_value=" + v_loss",
        after="import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('ignore')\n    print(hidden.grad)",
    )
    assert asked(read, "hidden", "loss").cause == "non_leaf"
    lesson = "x = torch.ones(3, requires_grad=True)\ny = x * 2\nloss = y.sum()\nloss.backward()\n"
    assert asked(lesson, "y", "loss").cause == "non_leaf"


EVALUATED = """
net = nn.Linear(3, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    loss = net(torch.randn(8, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    sample = net(torch.randn(1, 3))
"""


def test_what_an_evaluation_computed_is_no_fault() -> None:
    answer = asked(EVALUATED, "sample")
    assert answer.is_observed
    assert "trainable parameters" not in str(answer)


# --- two names of one network ----------------------------------------------------------------------

FOLLOWED = """
net, target = nn.Linear(3, 1), nn.Linear(3, 1)
{given}
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    x = torch.randn(8, 3)
    loss = (net(x) - target(x).detach() - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
{after}
"""
LOOP = """
with torch.no_grad():
    for one, follower in ((net, target),):
        for p, q in zip(one.parameters(), follower.parameters()):
            q.mul_(0.9).add_(0.1 * p)
"""


@pytest.mark.parametrize("after", [LOOP, "model = target\nprint(model(x).mean().item())"])
def test_a_second_name_for_a_network_that_nothing_trains_is_no_fault(after: str) -> None:
    assert asked(FOLLOWED.format(given="", after=after)).cause == "healthy"
    assert asked(FOLLOWED.format(given="target = net", after="")).cause == "shared_snapshot"


# --- running statistics, and a buffer --------------------------------------------------------------

TAUGHT = """
teacher = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
student = nn.Linear(3, 4)
first = torch.optim.SGD(teacher.parameters(), lr=0.1)
second = torch.optim.SGD(student.parameters(), lr=0.1)
for _ in range(2):
    first.zero_grad()
    (teacher(torch.randn(8, 3)) - 1).pow(2).mean().backward()
    first.step()
teacher{mode}.requires_grad_(False)
for _ in range(2):
    x = torch.randn(8, 3)
    loss = (student(teacher(x)[:, :3]) - 1).pow(2).mean()
    second.zero_grad()
    loss.backward()
    second.step()
"""


def test_statistics_that_moved_while_the_weights_were_trained_are_no_fault() -> None:
    assert "running statistics" not in one_line(asked(TAUGHT.format(mode=".eval()")))
    assert "running statistics" not in one_line(asked(TAUGHT.format(mode=".eval()"), "teacher"))
    assert asked(TAUGHT.format(mode="")).cause == "batch_norm_moves"


def test_frozen_parameters_are_asked_about_beside_what_others_hold() -> None:
    answer = asked(TAUGHT.format(mode=".eval()"), "teacher")
    assert answer.cause == "leftover_grad_moves"  # first.step() would move them
    assert answer.is_observed


CODES = """
class Codes(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("embed", torch.randn(4, 3))
    def forward(self, x):
        nearest = torch.cdist(x, self.embed).argmin(1)
        with torch.no_grad():
            self.embed.copy_(0.9 * self.embed + 0.1 * x[nearest[:4]])
        return (x - self.embed[nearest]).pow(2).mean()
codes, net = Codes(), nn.Linear(3, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    loss = codes(net(torch.randn(8, 3)))
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def test_a_buffer_of_a_module_without_parameters_is_told_as_one() -> None:
    assert asked(CODES, "codes.embed").cause == "buffer"


# --- what was moved, and what has a gradient -------------------------------------------------------

PARTS = """
net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 1))
{freeze}
opt = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
loss = net(torch.randn(8, 3)).pow(2).mean()
loss.backward()
opt.step()
"""


def test_a_name_for_all_of_a_module_is_not_that_of_what_moved_alone() -> None:
    whole = one_line(asked(PARTS.format(freeze="")))
    assert "moved net.*" in whole or "moved net.{0..2}.*" in whole
    biases = "for layer in net: layer.weight.requires_grad_(False)"
    assert "moved net.{0..2}.bias" in one_line(asked(PARTS.format(freeze=biases)))


TURNS = """
one, two, body = nn.Linear(3, 1), nn.Linear(3, 1), nn.Linear(3, 3)
opt = torch.optim.SGD([*one.parameters(), *two.parameters(), *body.parameters()], lr=0.1)
def train(critic, h):
    loss = critic(h).pow(2).mean()
    loss.backward()
    return loss
for _ in range(2):
    opt.zero_grad()
    loss_one = train(one, body(torch.randn(8, 3)))
    loss_two = train(two, body(torch.randn(8, 3)))
    opt.step()
"""


def test_what_one_line_trains_for_several_networks_has_its_gradient() -> None:
    assert "6 of 6 trainable parameters have a gradient" in one_line(asked(TURNS))


# --- ways that the training does not take, summands of weight 0, logs ------------------------------

EXITS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(3, 3) for _ in range(3))
    def forward(self, x, depth):
        for block in self.blocks[:depth]:
            x = block(x)
        return x
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    loss = net(torch.randn(8, 3), 2).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
{after}
"""


def test_what_only_an_evaluation_used_is_not_said_to_be_read_by_no_call() -> None:
    evaluated = asked(EXITS.format(after="with torch.no_grad():\n    net(torch.randn(8, 3), 3)"))
    assert evaluated.cause == "branch_not_taken"
    assert evaluated.is_observed
    assert "only later calls did" in evaluated.verdict
    assert "no call there read" not in str(evaluated)
    forgotten = asked(EXITS.format(after=""))
    assert forgotten.cause == "branch_not_taken"
    assert "later calls" not in str(forgotten)


WEIGHED = """
body, head, extra = nn.Linear(3, 3), nn.Linear(3, 1), nn.Linear(3, 1)
opt = torch.optim.SGD([*body.parameters(), *head.parameters(), *extra.parameters()], lr=0.1)
weights = {{"extra": 0.0}}
for _ in range(2):
    h = body(torch.randn(8, 3))
    loss = head(h).pow(2).mean() + {term}
    opt.zero_grad()
    loss.backward()
    opt.step()
{after}
"""


@pytest.mark.parametrize("factor", ['weights["extra"]', "0.0"])
def test_a_summand_that_is_weighed_with_zero_is_observed(factor: str) -> None:
    answer = asked(WEIGHED.format(term=f"{factor} * extra(h).pow(2).mean()", after=""))
    assert answer.cause == "zero_gradient"
    assert answer.is_observed
    read = WEIGHED.format(
        term=f"{factor} * extra(h).pow(2).mean()", after="print(extra.weight.grad)"
    )
    assert not asked(read).is_observed
    within = asked(WEIGHED.format(term=f"extra({factor} * h.sign()).abs().mean()", after=""))
    assert within.cause != "zero_gradient" or not within.is_observed


INNER = """
rate = torch.zeros(3, requires_grad=True)
outer = torch.optim.SGD([rate], lr=0.1)
for _ in range(2):
    w = torch.ones(3, requires_grad=True)
    for _ in range(2):
        loss = (w * torch.randn(3)).pow(2).mean() + (rate.exp() * w.pow(2)).mean()
        slope, = torch.autograd.grad(loss, w, create_graph=True)
        w = w - 0.1 * slope
    last = (w - 1).pow(2).mean()
    outer.zero_grad()
    last.backward()
    outer.step()
{after}
"""


def test_the_weights_of_an_inner_loop_are_results() -> None:
    assert asked(INNER.format(after=""), "w", "last").is_observed
    quiet = (
        "import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('ignore')\n"
    )
    read = asked(INNER.format(after=f"{quiet}    print(w.grad)"), "w", "last")
    assert read.cause == "rebound"
    assert not read.is_observed


LOGGED = """
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
total = torch.zeros(())
for _ in range(3):
    loss = net(torch.randn(8, 3)).pow(2).mean()
    opt.zero_grad()
    {backward}
    opt.step()
    total = total + loss.detach()
"""


def test_a_running_sum_of_detached_losses_is_a_log() -> None:
    answer = asked(LOGGED.format(backward="loss.backward()"), "net", "total")
    assert answer.is_observed
    assert "Nothing can train" not in str(answer)
    assert answer.mend.startswith("only if a backward is to start")
    assert not asked(LOGGED.format(backward="pass"), "net", "total").is_observed


VALUES = """
net, base = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2)), nn.Linear(3, 3)
opt = torch.optim.SGD([*net.parameters(){held}], lr=0.1)
memory = torch.zeros(3, 8, 2)
for step in range(3):
    x, y = torch.randn(8, 3), torch.randint(0, 2, (8,))
    with torch.inference_mode():
        seen = base(x)
    kept = base(x).detach()
    noise = torch.randn(8, 3, requires_grad=True) * 0.1
    out = net(seen.clone() + kept + noise)
    loss = F.cross_entropy(out, y)
    probs = out.softmax(-1)
    right = (probs.argmax(-1) == y).float().mean()
    opt.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    with torch.no_grad():
        memory[step] = out
"""
NAMES = ["memory", "seen", "kept", "noise", "probs", "right", "norm"]


@pytest.mark.parametrize("name", NAMES)
def test_values_beside_a_training_that_reads_no_gradient_of_them_are_observed(name: str) -> None:
    answer = asked(VALUES.format(held=""), name)
    assert answer.is_observed or answer.cause == "healthy"
    assert "Nothing can train" not in str(answer)


@pytest.mark.parametrize("name", ["seen", "kept"])
def test_what_lets_go_of_a_weight_that_an_optimizer_holds_is_told(name: str) -> None:
    answer = asked(VALUES.format(held=", *base.parameters()"), name)
    assert answer.cause == "cut"
    assert not answer.is_observed


ENDED = """
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
plan = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: {rate})
for _ in range({rounds}):
    loss = net(torch.randn(8, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    plan.step()
"""


def test_a_step_at_a_rate_of_zero_moved_nothing_and_a_rate_that_is_zero_afterwards_did() -> None:
    begun = ENDED.format(rate="step / 3", rounds=1)
    assert "moved" not in one_line(asked(begun)).partition("SGD:")[0]
    assert "opt.step() (" in one_line(asked(ENDED.format(rate="step / 3", rounds=2)))
    over = ENDED.format(rate="1 - step / 3", rounds=3)
    assert "moved net" in one_line(asked(over))
    assert asked(over, "opt").is_observed
    assert not asked(ENDED.format(rate="1 - min(step / 3, 1)", rounds=5), "opt").is_observed


CANCELLED = """
critic = nn.Linear(3, 1)
opt = torch.optim.{optimizer}(critic.parameters(), lr=0.1)
begun = critic.bias.detach().clone()
for _ in range(2):
    loss = critic(torch.randn(8, 3)).mean() - critic(torch.randn(8, 3) + 1).{how}
    opt.zero_grad()
    loss.backward()
    opt.step()
assert torch.equal(begun, critic.bias) is {stays}
"""


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_what_got_zeros_is_not_said_to_be_moved(optimizer: str) -> None:
    cancelled = CANCELLED.format(optimizer=optimizer, how="mean()", stays=True)
    assert "moved critic.weight by" in one_line(asked(cancelled))
    whole = CANCELLED.format(optimizer=optimizer, how="pow(2).mean()", stays=False)
    assert "moved critic.weight and critic.bias by" in one_line(asked(whole))


def test_results_are_not_counted_as_parameters() -> None:
    answer = one_line(asked(VALUES.format(held=""), "[out, loss]", "[out, noise]"))
    assert "trainable parameters" not in answer


CLIMBED = """
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    x = torch.randn(8, 3)
    loss = net(x).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        there = [0.05 * p.grad / p.grad.norm() for p in net.parameters()]
        for p, e in zip(net.parameters(), there):
            p.add_(e)
    opt.zero_grad()
    worst = net(x).pow(2).mean()
    worst.backward()
    with torch.no_grad():
        for p, e in zip(net.parameters(), there):
            p.sub_(e)
    opt.step()
    opt.zero_grad()
"""


def test_what_takes_an_earlier_step_back_does_not_use_the_gradient_that_came_since() -> None:
    answer = one_line(asked(CLIMBED))
    assert "p.sub_(e)" not in answer
    assert "opt.step() (" in answer
    assert "by the gradient of worst" in answer


CHOSEN = """
net = nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    x, y = torch.randn(8, 3), torch.randint(0, 2, (8,))
    each = F.cross_entropy(net(x), y, reduction="none")
    with torch.no_grad():
        weight = each / each.sum()
    best = net(x).argmax(-1)
    loss = (weight * each).sum() + F.cross_entropy(net(x), best)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize("name", ["weight", "best"])
def test_a_constant_of_a_loss_that_trains_all_of_it_is_observed(name: str) -> None:
    answer = asked(CHOSEN, name)
    assert answer.is_observed or answer.cause in ("healthy", "never_tracked")


# --- what a program says itself --------------------------------------------------------------------

TEACHER = """
teacher, student = nn.Linear(3, 2), nn.Linear(3, 2)
opt = torch.optim.SGD(student.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(8, 3)
    with torch.no_grad():
        wanted = teacher(x)
    loss = F.mse_loss(student(x), wanted)
    opt.zero_grad()
    loss.backward()
    opt.step()
{end}
"""


@pytest.mark.parametrize(
    ("end", "is_asked_about"),
    [
        ("assert all(p.grad is None for p in teacher.parameters())", False),
        ("assert teacher.weight.grad is None and loss > 0, 'no gradient'", False),
        ("print(teacher.weight.grad)", True),
        ("print([p.grad is None for p in teacher.parameters()])", True),
    ],
)
def test_what_an_assert_holds_to_be_so_is_no_symptom(end: str, is_asked_about: bool) -> None:
    assert (".grad is None" in one_line(asked(TEACHER.format(end=end)))) == (is_asked_about)


# --- a freeze for one backward ---------------------------------------------------------------------

FROZEN_FOR_ONE = """
encoder, net = nn.Linear(3, 3), nn.Linear(3, 1)
opt = torch.optim.SGD([*encoder.parameters(), *net.parameters()], lr=0.1)
for _ in range(3):
    h = encoder(torch.randn(8, 3))
    one, two = net(h).pow(2).mean(), net(h * 2).mean()
    opt.zero_grad()
    one.backward(retain_graph=True)
    for p in encoder.parameters():
        p.requires_grad = False
    {between}
    for p in encoder.parameters():
        p.requires_grad = True
    opt.step()
"""


@pytest.mark.parametrize(("between", "in_vain"), [("two.backward()", False), ("two = 0", True)])
def test_what_was_frozen_while_a_backward_ran_was_frozen(between: str, in_vain: bool) -> None:
    answer = one_line(asked(FROZEN_FOR_ONE.format(between=between)))
    assert ("set to train again before any use" in answer) == in_vain


# --- an average that a network in the optimizer follows by -----------------------------------------

FOLLOWS = """
net = nn.Linear(3, 3)
both = nn.ModuleDict({{"net": net, "follower": copy.deepcopy(net)}})
opt = torch.optim.SGD(both.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(8, 3)
    with torch.no_grad():
        wanted = both["follower"](x)
    loss = F.mse_loss(both["net"](x + 0.1), wanted)
    opt.zero_grad()
    loss.backward()
    opt.step()
    for now, mean in zip(both["net"].parameters(), both["follower"].parameters()):
        {write}
"""


@pytest.mark.parametrize(
    "write",
    [
        "mean.data = 0.9 * mean.data + 0.1 * now.data",
        "mean.data = mean.data * 0.9 + now.detach() * 0.1",
        "mean.data.mul_(0.9).add_(now.data, alpha=0.1)",
    ],
)
def test_what_follows_as_an_average_lost_no_gradient(write: str) -> None:
    answer = asked(FOLLOWS.format(write=write))
    assert answer.cause.value == "healthy", answer


def test_what_nothing_writes_and_no_grad_keeps_off_is_still_told() -> None:
    assert asked(FOLLOWS.format(write="pass")).cause.value != "healthy"


# --- zeros that were cleared -----------------------------------------------------------------------

ADAPTED = """
base = nn.Linear(16, 16).requires_grad_(False)
down, up, head = nn.Linear(16, 12, bias=False), nn.Linear(12, 16, bias=False), nn.Linear(16, 1)
nn.init.zeros_(up.weight)
{init}
opt = torch.optim.Adam([*down.parameters(), *up.parameters(), *head.parameters()], lr=0.01)
for _ in range(3):
    x = torch.randn(8, 16)
    loss = head(base(x) + up(down(x))).pow(2).mean()
    loss.backward()
    opt.step()
    opt.zero_grad(set_to_none={to_none})
"""


@pytest.mark.parametrize("to_none", [True, False])
def test_zeros_that_were_cleared_moved_nothing(to_none: bool) -> None:
    both = one_line(asked(ADAPTED.format(init="nn.init.zeros_(down.weight)", to_none=to_none)))
    assert "moved head" in both or "stays exactly 0" in both
    assert "moved down" not in both
    assert "moved head.*, down" not in both
    one = one_line(asked(ADAPTED.format(init="", to_none=to_none)))
    assert "stays exactly 0" not in one


def test_what_stays_zero_is_told_though_zeros_were_written_over_it() -> None:
    answer = asked(ADAPTED.format(init="nn.init.zeros_(down.weight)", to_none=False), "down.weight")
    assert answer.cause.value == "zero_gradient"


# --- the line that was computed once ---------------------------------------------------------------


@pytest.mark.parametrize("how", ["train()", "loss = train()"])
def test_what_was_computed_once_stands_beside_the_loop_and_not_around_it(how: str) -> None:
    code = f"""
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        def train():
            x = torch.randn(8, 3)
            weights = net(x).exp()
            for _ in range(2):
                loss = (net(x).pow(2) * weights).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
            return loss
        try:
            {how}
        except RuntimeError as raised:
            error = raised
    """
    program = HEAD + textwrap.dedent(code)
    name = f"once_{abs(hash(program))}.py"
    linecache.cache[name] = len(program), None, program.splitlines(True), name
    names: dict[str, Any] = {}
    with gv.record() as recording:
        exec(compile(program, name, "exec"), names)
    answer = one_line(gv.explain(names["net"], error=names["error"], recording=recording))
    assert "weights = net(x).exp() was computed once" in answer
