"""What is not so is not said: each with a program in which it would be, or in which it is."""

from __future__ import annotations

import linecache
import textwrap
from typing import Any

import pytest
import torch

import gradviz as gv
from gradviz.graph.records import NodeRan
from gradviz.why.evidence.zero_flow import brought_zeros

pytestmark = pytest.mark.dear(60)

HEAD = """
import copy, torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
"""


def asked(program: str, *subjects: str, max_events: int = 100_000) -> Any:
    """Return the answer about some expressions of a program; the bare one where there are none."""
    code = HEAD + textwrap.dedent(program)
    name = f"untrue_{abs(hash(code))}.py"
    linecache.cache[name] = len(code), None, code.splitlines(True), name
    names: dict[str, Any] = {}
    with gv.record(max_events=max_events) as recording:
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
    assert within.is_observed  # body and head learn all the same


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
    told = one_line(asked(begun)).partition("SGD:")[0]
    assert "moved nothing in its first step, of 1" in told
    assert told.count("moved") == 1
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


# --- which loss, of several ------------------------------------------------------------------------

TWO_LOSSES = """
gen, disc = nn.Linear(3, 3), nn.Linear(3, 1)
opt_g, opt_d = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (gen, disc))
for _ in range(3):
    image = gen(torch.randn(8, 3))
    disc.requires_grad_(False)
    gen_loss = F.softplus(-disc(image)).mean()
    disc.requires_grad_(True)
    gen_loss.backward()
    opt_g.step()
    opt_g.zero_grad()
    disc_loss = F.softplus(disc(image.detach())).mean()
    disc_loss.backward()
    opt_d.step()
    opt_d.zero_grad()
"""


@pytest.mark.parametrize("subjects", [(), ("gen",), ("gen", "disc")])
def test_of_two_losses_the_one_that_a_cut_keeps_off_is_named(subjects: tuple[str, ...]) -> None:
    answer = one_line(asked(TWO_LOSSES, *subjects))
    assert "from gen_loss" in answer
    assert "detach keeps disc_loss off" in answer


TARGET = """
actor, critic = nn.Linear(3, 2), nn.Linear(5, 1)
target = copy.deepcopy(critic)
opt_a, opt_c = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (actor, critic))
for _ in range(3):
    s, a = torch.randn(8, 3), torch.randn(8, 2)
    with torch.no_grad():
        y = target(torch.cat([s, actor(s)], 1))
    critic_loss = (critic(torch.cat([s, a], 1)) - y).pow(2).mean()
    opt_c.zero_grad()
    critic_loss.backward()
    opt_c.step()
    actor_loss = -{through}(torch.cat([s, actor(s)], 1)).mean()
    opt_a.zero_grad()
    actor_loss.backward()
    opt_a.step()
    for p, t in zip(critic.parameters(), target.parameters()):
        t.data.lerp_(p.data, 0.1)
"""


@pytest.mark.parametrize(("through", "kept_off"), [("critic", True), ("target", False)])
def test_no_gradient_is_kept_off_a_target_that_a_loss_sends_one(
    through: str, kept_off: bool
) -> None:
    answer = one_line(asked(TARGET.format(through=through), "actor"))
    assert "No step moves target" in answer
    assert ("keeps gradients off" in answer) == kept_off


def test_a_cut_is_told_of_the_loss_that_it_stands_before() -> None:
    answer = one_line(asked(TARGET.format(through="critic"), "target"))
    assert "no_grad cuts it from critic_loss." in answer


# --- frozen for a while ----------------------------------------------------------------------------


@pytest.mark.parametrize(("step", "moved"), [("two.backward()", "a"), ("two = 0", "a and b")])
def test_what_was_frozen_during_a_backward_is_not_moved_by_it(step: str, moved: str) -> None:
    program = """
    encoder, net = nn.Linear(3, 3), nn.Linear(3, 1)
    opt = torch.optim.SGD([*encoder.parameters(), *net.parameters()], lr=0.1)
    for _ in range(3):
        h = encoder(torch.randn(8, 3))
        one, two = net(h).pow(2).mean(), net(h * 2).mean()
        opt.zero_grad()
        one.backward(retain_graph=True)
        for p in encoder.parameters():
            p.requires_grad = {flag}
        two.backward()
        for p in encoder.parameters():
            p.requires_grad = True
        opt.step()
    """
    frozen = one_line(asked(program.format(flag=False)))
    assert "encoder.* by the gradient of one" in frozen
    trained = one_line(asked(program.format(flag=True)))
    assert "by the sum of 2 gradients of one" in trained
    assert "encoder.* by the gradient of one" not in trained


IN_TURNS = """
encoder, disc = nn.Linear(3, 3), nn.Linear(3, 1)
opt_e, opt_d = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (encoder, disc))
x = torch.randn(8, 3)
for _ in range(3):
    encoder.requires_grad_(False)
    disc_loss = disc(encoder(x)).pow(2).mean()
    opt_d.zero_grad()
    disc_loss.backward()
    opt_d.step()
    encoder.requires_grad_(True)
    {then}
"""
ENCODE = "loss = disc(encoder(x)).mean(); opt_e.zero_grad(); loss.backward(); opt_e.step()"


def test_what_is_frozen_in_turns_is_trained_by_the_other_loss() -> None:
    answer = asked(IN_TURNS.format(then=ENCODE), "encoder", "disc_loss")
    assert answer.cause == "healthy"
    assert "frozen while disc_loss was computed" in one_line(answer)
    alone = asked(IN_TURNS.format(then="pass"), "encoder", "disc_loss")
    assert alone.cause == "frozen"


# --- a backward that masks -------------------------------------------------------------------------

MASKED = """
class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward((x >= -9) & (x <= 9))
        return x.clamp(-9, 9).round()

    @staticmethod
    def backward(ctx, grad):
        (inside,) = ctx.saved_tensors
        return {returns}

net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(8, 3)
    for layer in net:
        x = layer(Clip.apply(x))
    loss = x.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(("returns", "hands_on"), [("grad * inside", False), ("grad", True)])
def test_a_backward_that_masks_hands_nothing_on_as_it_comes(returns: str, hands_on: bool) -> None:
    answer = one_line(asked(MASKED.format(returns=returns)))
    assert ("hands the gradient on as it comes" in answer) == hands_on
    assert "was not recorded" not in answer  # the first layer alone, whose input needs no gradient


# --- what is used and made anew --------------------------------------------------------------------


@pytest.mark.parametrize(("after", "is_none"), [("pass", False), ("print(params['weight'])", True)])
def test_what_is_computed_with_before_the_weights_are_written_is_no_snapshot(
    after: str, is_none: bool
) -> None:
    program = """
    net = nn.Linear(3, 1)
    def loss_of(params, x):
        return torch.func.functional_call(net, params, (x,)).pow(2).mean()
    for _ in range(3):
        params = {{name: p.detach() for name, p in net.named_parameters()}}
        grads = torch.func.grad(loss_of)(params, torch.randn(8, 3))
        with torch.no_grad():
            for name, p in net.named_parameters():
                p -= 0.1 * grads[name]
        {after}
    """
    answer = asked(program.format(after=after), "params['weight']")
    assert (answer.cause == "shared_snapshot") == is_none


# --- a setting that is changed and set back --------------------------------------------------------

MOMENTUM = """
net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4{made}), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    {before}
    opt.zero_grad()
    net(torch.randn(8, 3)).pow(2).mean().backward()
    {after}
    opt.step()
"""


def test_statistics_that_stand_still_for_one_pass_are_not_said_to_stand_still() -> None:
    in_turn = MOMENTUM.format(made="", before="net[1].momentum = 0.1", after="net[1].momentum = 0")
    assert "never change" not in one_line(asked(in_turn))
    always = MOMENTUM.format(made=", momentum=0", before="pass", after="pass")
    assert "never change" in one_line(asked(always))


GIVEN = "net.weight.data = torch.ones(1, 3)"


@pytest.mark.parametrize(("before", "after"), [(GIVEN, "pass"), ("pass", GIVEN)])
def test_values_that_were_given_back_before_a_step_are_not_odd(before: str, after: str) -> None:
    program = f"""
    net = nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        net(torch.randn(8, 3)).pow(2).mean().backward()
        {before}
        opt.step()
        {after}
    """
    assert (".data was set anew" in one_line(asked(program))) == (after == GIVEN)


# --- data that a policy collected ------------------------------------------------------------------


@pytest.mark.parametrize(("switch", "is_cut"), [("no_grad", False), ("enable_grad", True)])
def test_what_a_policy_did_without_gradients_are_no_uses_that_are_cut(
    switch: str, is_cut: bool
) -> None:
    program = f"""
    policy = nn.Linear(2, 2)
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    def act(s):
        return policy(s)
    for _ in range(2):
        s, seen = torch.randn(1, 2), []
        for _ in range(3):
            with torch.{switch}():
                s = s + act(s).detach()
            seen.append(s)
        loss = act(torch.cat(seen)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
    assert ("uses get a gradient" in one_line(asked(program))) == is_cut


# --- gradients that the code computes itself -------------------------------------------------------

REPTILE = """
meta = nn.Linear(3, 1)
opt = torch.optim.{optimizer}(meta.parameters(), lr=0.1)
for _ in range(2):
    for p in meta.parameters():
        p.grad = torch.zeros_like(p)
    learner = copy.deepcopy(meta)
    inner = torch.optim.SGD(learner.parameters(), lr=0.1)
    for _ in range(2):
        loss = learner(torch.randn(8, 3)).pow(2).mean()
        inner.zero_grad()
        loss.backward()
        inner.step()
    for p, q in zip(meta.parameters(), learner.parameters()):
        {give}
    opt.step()
    {end}
"""


@pytest.mark.parametrize("end", ["pass", "opt.zero_grad()"])
@pytest.mark.parametrize("give", ["p.grad.add_(p.data - q.data)", "p.grad = p.data - q.data"])
def test_a_gradient_that_the_code_computes_is_one(give: str, end: str) -> None:
    program = REPTILE.format(optimizer="Adam", give=give, end=end)
    for subjects in ((), ("meta",), ("meta", "loss")):
        assert asked(program, *subjects).cause == "healthy"


def test_zeros_that_the_code_gave_and_a_decay_moved_are_told() -> None:
    program = REPTILE.format(optimizer="SGD", give="pass", end="pass")
    program = program.replace("lr=0.1)\nfor", "lr=0.1, weight_decay=0.1)\nfor", 1)
    assert "no backward brought it a gradient" in one_line(asked(program, "meta", "loss"))


# --- what a library makes in each forward ----------------------------------------------------------


def test_a_pruned_weight_was_not_given_another_name() -> None:
    program = """
    import torch.nn.utils.prune as prune
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    def fit():
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            net(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
    fit()
    prune.l1_unstructured(net[0], "weight", amount=0.3)
    fit()
    with torch.no_grad():
        net(torch.randn(8, 3))
    """
    answer = asked(program, "net[0].weight")
    assert answer.cause != "rebound"
    assert answer.is_observed


# --- a constant of a loss, and parameters that have two names --------------------------------------


def test_a_constant_of_a_loss_is_no_loss() -> None:
    program = """
    net, log_scale = nn.Linear(3, 1), torch.zeros(())
    scale = log_scale.exp()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        loss = (net(torch.randn(8, 3)) * scale).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
    assert asked(program, "scale").is_observed


def test_a_parameter_with_two_names_is_reached_once() -> None:
    program = """
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, x):
            return self.head(self.embed(x))

    net, other = Tied(), nn.Linear(5, 1)
    opt = torch.optim.SGD([*net.parameters(), *other.parameters()], lr=0.1)
    for _ in range(2):
        loss = other(net(torch.arange(5))).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
    assert "net: 1 of 1 parameter reached" in one_line(asked(program, "net", "other", "loss"))


# --- methods of an optimizer of the program's own --------------------------------------------------


def test_a_first_step_stands_in_an_optimizer() -> None:
    program = """
    class SAM(torch.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, dict(lr=0.1))

        @torch.no_grad()
        def {name}(self):
            for p in self.param_groups[0]["params"]:
                p.add_(0.01 * p.grad)

        def step(self):
            pass

    net = nn.Linear(3, 1)
    opt = SAM(net.parameters())
    for _ in range(2):
        opt.zero_grad()
        net(torch.randn(8, 3)).pow(2).mean().backward()
        opt.{name}()
    """
    assert "and no optimizer" not in one_line(asked(program.format(name="first_step")))
    by_hand = """
    net = nn.Linear(3, 1)
    for _ in range(2):
        net.zero_grad()
        net(torch.randn(8, 3)).pow(2).mean().backward()
        with torch.no_grad():
            for p in net.parameters():
                p.add_(0.01 * p.grad)
    """
    assert "and no optimizer" in one_line(asked(by_hand))


# --- what is undone, written back, drawn, overwritten or not called --------------------------------

SWAPPED_BACK = """
net = nn.Linear(3, 1)
ema = copy.deepcopy(net)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    opt.zero_grad()
    net(torch.randn(8, 3)).pow(2).mean().backward()
    opt.step()
    with torch.no_grad():
        for e, p in zip(ema.parameters(), net.parameters()):
            {average}
    saved = copy.deepcopy(net.state_dict())
    net.load_state_dict(ema.state_dict())
    {back}
"""
BY_LERP = "e.lerp_(p, 0.5)"


@pytest.mark.parametrize("back", ["net.load_state_dict(saved)", "pass"])
def test_weights_that_follow_a_step_do_not_undo_it(back: str) -> None:
    answer = one_line(asked(SWAPPED_BACK.format(average=BY_LERP, back=back)))
    assert "learnt is gone" not in answer
    assert "If it was to be the other way round" not in answer
    alone = one_line(asked(SWAPPED_BACK.format(average="pass", back="pass")))
    assert "learnt is gone" in alone


@pytest.mark.parametrize(
    ("loss", "is_told"),
    [
        ("(drawn * p.log() + (1 - drawn) * (1 - p).log()).mean()", False),
        ("F.binary_cross_entropy(p, drawn)", False),
        ("(drawn * other(x)).pow(2).mean() + net(x).pow(2).mean()", True),
    ],
)
def test_a_draw_whose_log_probability_is_written_out_learns(loss: str, is_told: bool) -> None:
    program = f"""
    net, other = nn.Linear(3, 1), nn.Linear(3, 1)
    opt = torch.optim.SGD([*net.parameters(), *other.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 3)
        p = torch.sigmoid(net(x))
        drawn = torch.bernoulli(p)
        loss = {loss}
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
    assert ("only zeros come" in one_line(asked(program))) == is_told


@pytest.mark.parametrize(("first_read", "is_told"), [(1, False), (9, True)])
def test_a_loss_that_is_read_in_some_passes_is_read(first_read: int, is_told: bool) -> None:
    program = f"""
    net = nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(3):
        x = torch.randn(8, 3)
        loss = net(x).abs().mean()
        if epoch >= {first_read}:
            print(loss.item())
        loss = net(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
    assert ("before anything reads it" in one_line(asked(program))) == is_told


@pytest.mark.parametrize(("decorator", "is_told"), [("@property", False), ("", True)])
def test_a_property_is_not_called(decorator: str, is_told: bool) -> None:
    program = f"""
    class Meter:
        {decorator}
        def step(self):
            self.steps = getattr(self, "steps", 0) + 1

    meter, net = Meter(), nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        net(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        meter.step
    """
    assert ("only names the method" in one_line(asked(program))) == is_told


def test_zeros_are_what_is_known_to_be_zeros() -> None:
    def ran(*arrived: str | None) -> NodeRan:
        return NodeRan(0, 0, arrived, (), 0)

    assert brought_zeros(ran("[0, 0]"))
    assert not brought_zeros(ran())
    assert not brought_zeros(ran("(9,)"))  # not read
    assert not brought_zeros(ran("[0, 0]", "[0, 1]"))


# --- what was so then, and is not so now -----------------------------------------------------------

PRETRAINED = """
encoder, probe = nn.Linear(3, 4), nn.Linear(4, 2)
opt = torch.optim.SGD(encoder.parameters(), lr=0.1)
for _ in range(3):
    loss = encoder(torch.randn(8, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
{freeze}
probe_opt = torch.optim.SGD(probe.parameters(), lr=0.1)
for _ in range(3):
    probe_loss = probe(encoder(torch.randn(8, 3)).detach()).pow(2).mean()
    probe_opt.zero_grad()
    probe_loss.backward()
    probe_opt.step()
"""


def test_what_a_loss_reached_before_a_freeze_is_not_said_to_be_out_of_its_reach() -> None:
    frozen = PRETRAINED.format(freeze="encoder.requires_grad_(False); opt = None")
    assert "loss: encoder: 0 of 2" not in one_line(asked(frozen))
    answer = one_line(asked(frozen, "encoder"))
    assert "it was not when loss was computed" in answer


@pytest.mark.parametrize("steps", ["opt.step()", "pass"])
def test_a_loss_that_went_backward_with_its_graph_kept_is_no_fault(steps: str) -> None:
    program = f"""
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        loss = net(torch.randn(8, 3)).pow(2).mean()
        opt.zero_grad()
        loss.backward(retain_graph=True)
        {steps}
    """
    answer = asked(program, "loss")
    assert answer.cause == "healthy"
    assert ("another backward() would raise" in one_line(answer)) == (steps == "opt.step()")


@pytest.mark.parametrize(
    ("perturbed", "is_told"),
    [("x + 0.1 * grad.sign()", False), ("x + 0.1 * grad.detach()", False), ("x + grad", True)],
)
def test_a_gradient_that_the_code_lets_go_of_is_no_odd_constant(
    perturbed: str, is_told: bool
) -> None:
    program = f"""
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        x = torch.randn(8, 3, requires_grad=True)
        (grad,) = torch.autograd.grad(net(x).pow(2).mean(), x)
        loss = net({perturbed}).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
    assert ("a constant in" in one_line(asked(program))) == is_told


def test_constants_are_those_of_the_losses_that_hold_them() -> None:
    program = """
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        x = torch.randn(8, 3, requires_grad=True)
        first_loss = net(x).pow(2).mean()
        opt.zero_grad()
        first_loss.backward()
        opt.step()
        (grad,) = torch.autograd.grad(net(x).sum(), x)
        penalty = (net(x) * grad).pow(2).mean()
        opt.zero_grad()
        penalty.backward()
        opt.step()
    """
    answer = one_line(asked(program))
    assert "a constant in penalty" in answer
    assert "first_loss: grad" not in answer


def test_a_leaf_without_a_name_is_not_called_by_its_step() -> None:
    program = """
    class Rates:
        def __init__(self):
            self.rates = {name: nn.Parameter(torch.tensor(1.0)) for name in ("a", "b")}

    net, kept = nn.Linear(3, 1), Rates()
    opt = torch.optim.SGD([*net.parameters(), *kept.rates.values()], lr=0.1)
    for _ in range(2):
        loss = (net(torch.randn(8, 3)) * kept.rates["a"] + kept.rates["b"]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
    answer = one_line(asked(program))
    assert "moved" in answer
    assert "moved opt.step()" not in answer
    assert "and opt.step()" not in answer


NORMALISED = """
net = nn.Sequential(nn.Linear(3, 4), {layer}, nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr={rate})
for _ in range(2):
    opt.zero_grad()
    net(torch.randn(16, 3)).pow(2).mean().backward()
    opt.step()
opt.zero_grad()
net(torch.randn(16, 3)).pow(2).mean().backward()
"""


@pytest.mark.parametrize(("rate", "is_told"), [("0.05", False), ("1e-12", True)])
def test_a_bias_before_a_normalisation_may_stay(rate: str, is_told: bool) -> None:
    program = NORMALISED.format(layer="nn.BatchNorm1d(4)", rate=rate)
    assert (asked(program, "opt").cause == "not_moved") == is_told


def test_a_result_in_an_optimizer_is_asked_about_without_a_warning() -> None:
    """Torch warns where .grad of a result is read."""
    w = torch.ones(2, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1)
    with gv.record() as rec:
        made = w * 2
        opt.param_groups[0]["params"] = [made]
        loss = made.sum()
        loss.backward()
    assert str(rec.explain(opt, loss))


# --- what is meant, beside what is told on its condition -------------------------------------------

LOADED_BY_A_FUNCTION = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(3, 4), nn.Linear(4, 2)
    def forward(self, x):
        return self.head(torch.relu(self.body(x)))
def load(model, state):
    model.load_state_dict(state, strict=False)
net, state = Net(), Net().state_dict()
load(net, state)
model = net.head
net(torch.randn(8, 3)).pow(2).mean().backward()
"""
LOADED_THEN_CHANGED = """
net, state = nn.Linear(3, 4), nn.Linear(3, 4).state_dict()
net.load_state_dict(state, strict=False)
{change}
net(torch.randn(8, 3)).pow(2).mean().backward()
"""


@pytest.mark.parametrize(
    "change",
    [
        'state = {"module." + k: v for k, v in state.items()}',
        'state["old"] = torch.ones(1)\nfor k in net.state_dict(): state.pop(k)',
        "net = nn.Sequential(net)",
    ],
)
def test_what_was_loaded_is_not_judged_by_what_became_of_it(change: str) -> None:
    program = LOADED_THEN_CHANGED.format(change=change)
    assert "loads nothing" not in one_line(asked(program))


def test_names_of_a_function_are_not_those_of_the_file() -> None:
    assert "loads nothing" not in one_line(asked(LOADED_BY_A_FUNCTION))


MADE_ALIKE = """
class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.by = nn.Linear(4, 2), 1.0
    def forward(self, x):
        y = self.lin(x) / self.by
        return y
net, parts = Scaled(), torch.randn(5, 16, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def both(i=0):
    one = net(parts[i])
    {between}
    other = net(parts[i])
    return ((one - other).exp() * parts[0, :, :2]).mean() + one.sum()
for _ in range(3):
    loss = both()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize("between", ["i = 1", "i += 1", "net.by = 2.0", "net.eval()"])
def test_what_is_written_alike_may_be_another(between: str) -> None:
    assert "computed alike" in one_line(asked(MADE_ALIKE.format(between="pass")))
    assert "computed alike" not in one_line(asked(MADE_ALIKE.format(between=between)))


CLASSES = """
net = nn.Linear(3, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    x, y = torch.randn(32, 3), torch.randint(0, 4, (32,))
    loss = F.cross_entropy(net(x), y, ignore_index=0) {besides}
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def test_what_one_loss_leaves_out_and_another_counts_is_learnt() -> None:
    assert "leaves out the targets" in one_line(asked(CLASSES.format(besides="")))
    besides = "+ F.cross_entropy(net(x), y)"
    assert "leaves out the targets" not in one_line(asked(CLASSES.format(besides=besides)))


EXPONENTIAL = """
net, x = nn.Linear(4, 4), torch.randn(16, 4)
opt = torch.optim.Adam(net.parameters(), lr=0.05)
for _ in range(40):
    loss = -torch.exp({of})
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def test_an_exponential_of_minus_a_square_has_an_end() -> None:
    assert "has no end" in one_line(asked(EXPONENTIAL.format(of="net(x).mean()")))
    for of in ("-(net(x) - x).pow(2).mean()", "net(x).clamp(max=1).mean()", "net(x).tanh().mean()"):
        assert "has no end" not in one_line(asked(EXPONENTIAL.format(of=of)))


ORDERS = """
a, b, net = torch.randn(20, 4), torch.randn(20, 4), nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(3):
    {seed}
    one = net(a[torch.randperm(20)])
    {seed}
    other = b[torch.randperm(20)]
    loss = {loss}
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("seed", "loss"),
    [
        ("torch.manual_seed(epoch)", "F.mse_loss(one, other)"),
        ("pass", "F.mse_loss(one.mean(0), other.mean(0))"),
        ("pass", "F.mse_loss(one.sort(0).values, other.sort(0).values)"),
    ],
)
def test_orders_that_are_one_or_do_not_matter_are_not_apart(seed: str, loss: str) -> None:
    apart = ORDERS.format(seed="pass", loss="F.mse_loss(one, other)")
    assert "two different orders" in one_line(asked(apart))
    assert "two different orders" not in one_line(asked(ORDERS.format(seed=seed, loss=loss)))


JUDGED = """
maker, judge, other = nn.Linear(2, 3), nn.Linear(3, 1), {other}
opt = torch.optim.Adam([*maker.parameters(), *other.parameters()])
opt_of_judge = torch.optim.Adam(judge.parameters())
for _ in range(3):
    z, real = torch.randn(8, 2), torch.randn(8, 3)
    made = maker(z)
    judged = F.softplus(-judge(real)).mean() + F.softplus(judge(made.detach())).mean()
    opt_of_judge.zero_grad()
    judged.backward()
    opt_of_judge.step()
    loss = {loss}
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    "loss",
    [
        "copy.deepcopy(judge).requires_grad_(False)(made).mean()",
        "F.mse_loss(other(made), z)",  # an encoder, and what is learnt of its features
    ],
)
def test_what_asks_a_copy_or_learns_by_another_is_not_unscored(loss: str) -> None:
    alone = JUDGED.format(other="nn.Identity()", loss="made.pow(2).mean()")
    assert "does not go through judge" in one_line(asked(alone))
    program = JUDGED.format(other="nn.Linear(3, 2)", loss=loss)
    assert "does not go through judge" not in one_line(asked(program))


IN_BOTH_MODES = """
net, x = nn.Sequential(nn.Linear(4, 2), nn.BatchNorm1d(2)), torch.randn(16, 4)
opt = torch.optim.Adam(net.parameters())
for _ in range({n}):
    net.train()
    one = net(x)
    net.eval()
    other = net(x)
    {after}
    loss = (one - other).pow(2).mean() + one.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize("n", [1, 3])
def test_a_model_that_is_switched_back_is_not_left_in_evaluation(n: int) -> None:
    in_turns = IN_BOTH_MODES.format(n=n, after="pass")  # each pass begins in train mode
    assert asked(in_turns).cause != "eval_mode"
    assert asked(in_turns.replace("pass", "net.train()")).cause != "eval_mode"


# --- what an evaluation, a pruning and a backward in a backward leave -------------------------------


@pytest.mark.parametrize(
    ("value", "is_told"), [("torch.clamp(scale.data, 0, 5)", False), ("0.5 * scale.data", True)]
)
def test_values_that_stay_the_same_are_not_said_to_be_new(value: str, is_told: bool) -> None:
    program = f"""
    scale = nn.Parameter(torch.tensor(1.0))
    opt = torch.optim.SGD([scale], lr=1e-3)
    for _ in range(2):
        opt.zero_grad()
        (scale * torch.randn(4)).pow(2).mean().backward()
        opt.step()
        scale.data = {value}
    """
    assert ("set anew" in one_line(asked(program))) == is_told


DRAWN = """
net = nn.Linear(3, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    logp = net(torch.randn(8, 3)).log_softmax(1)
    {read}
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("read", "is_told"),
    [
        (
            "it = torch.multinomial(logp.detach().exp(), 1); loss = -logp.gather(1, it).mean()",
            False,
        ),
        ("loss = -(logp.detach().exp() * logp).sum(1).mean()", True),
    ],
)
def test_what_is_only_drawn_from_is_not_told_as_read(read: str, is_told: bool) -> None:
    assert ("In a loss as a value" in one_line(asked(DRAWN.format(read=read)))) == is_told


@pytest.mark.parametrize(
    ("clear", "said"),
    [
        ("opt.zero_grad()", "had a gradient; it was cleared after the step"),
        ("pass", "have a gradient; none is None"),
        ("a.grad = None", "have a gradient, or had one that was cleared after the step"),
    ],
)
def test_leaves_whose_gradient_was_cleared_had_one(clear: str, said: str) -> None:
    program = f"""
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    opt = torch.optim.SGD([a, b], lr=0.1)
    loss = (a * b).pow(2).sum()
    loss.backward()
    opt.step()
    {clear}
    """
    assert said in one_line(asked(program))


@pytest.mark.parametrize(("start", "is_told"), [("0", False), ("1", True)])
def test_a_decay_leaves_the_zeros_of_a_pruning(start: str, is_told: bool) -> None:
    program = f"""
    net = nn.Linear(3, 1)
    net.weight.data[0, 0] = {start}
    mask = torch.tensor([[0.0, 1.0, 1.0]])
    opt = torch.optim.SGD(net.parameters(), lr=0.1, weight_decay=0.1)
    for _ in range(2):
        opt.zero_grad()
        net(torch.randn(8, 3)).pow(2).mean().backward()
        net.weight.grad.mul_(mask)
        opt.step()
    """
    assert ("moves every entry" in one_line(asked(program))) == is_told


def test_a_backward_inside_a_backward_fills_gradients_of_the_loss() -> None:
    program = """
    class Again(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, net):
            ctx.save_for_backward(x)
            ctx.net = net
            return net(x)

        @staticmethod
        def backward(ctx, sent):
            x = ctx.saved_tensors[0].detach().requires_grad_()
            with torch.enable_grad():
                ctx.net(x).backward(sent)
            return x.grad, None

    first, net = nn.Linear(3, 3), nn.Linear(3, 1)
    opt = torch.optim.SGD([*first.parameters(), *net.parameters()], lr=0.1)
    loss = Again.apply(first(torch.randn(8, 3)), net).pow(2).mean()
    loss.backward()
    """
    answer = one_line(asked(program, "net", "loss"))
    assert "2 of 2 trainable parameters have a gradient" in answer
    assert "is not from loss" not in answer


def test_the_copies_of_a_moving_average_are_all_counted() -> None:
    program = """
    net, follower = nn.Linear(3, 1), nn.Linear(3, 1).requires_grad_(False)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(5):
        x = torch.randn(8, 3)
        with torch.no_grad():
            for slow, fast in zip(follower.parameters(), net.parameters()):
                slow.data = slow.data * 0.9 + fast.data * 0.1
        loss = (net(x) - follower(x)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
    assert "5 times slow.data" in one_line(asked(program))


def test_what_an_evaluation_adapts_is_no_constant_of_the_training() -> None:
    program = """
    w = torch.ones(3, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1)

    def adapted(train):
        fast = w
        for _ in range(2):
            slope, = torch.autograd.grad(fast.pow(3).sum(), fast, create_graph=train)
            fast = fast - 0.1 * slope
        return fast

    loss = adapted(True).pow(2).sum()
    loss.backward()
    opt.step()
    after = adapted({train})
    """
    assert "without create_graph" not in one_line(asked(program.format(train=False), "w"))
    first_order = program.replace("adapted(True)", "adapted(False)").format(train=False)
    assert "without create_graph" in one_line(asked(first_order, "w"))


def test_a_plain_tensor_beside_a_training_is_a_fault_only_if_it_is_to_be_trained() -> None:
    program = """
    net = nn.Linear(3, 1)
    weight = torch.ones(3)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    loss = (net(torch.randn(8, 3)) + (weight * net.weight ** 2).sum()).pow(2).mean()
    loss.backward()
    opt.step()
    {look}
    """
    answer = one_line(asked(program.format(look=""), "weight"))
    assert "[observed]" in answer
    assert "only if that is to be trained" in answer
    answer = one_line(asked(program.format(look="print(weight.grad)"), "weight"))
    assert "[never tracked]" in answer


def test_a_mend_that_another_one_tells_as_its_next_step_is_told_once() -> None:
    program = """
    def attacked(net, x):
        delta = torch.zeros_like(x).requires_grad_()
        for _ in range(2):
            slope, = torch.autograd.grad(net(x + delta).sum(), delta)
            with torch.no_grad():
                delta = (delta + 0.1 * slope.sign()).clamp(-1, 1)
            delta.requires_grad_()
        return delta.detach()

    net = nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        x = torch.randn(8, 3)
        delta = attacked(net, x)
        loss = net(x + delta).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
    assert one_line(asked(program, "delta")).count("leave detach() out where") == 1


@pytest.mark.parametrize(("divided", "is_told"), [("", True), (" / boxes", False)])
def test_a_sum_that_is_divided_by_what_it_counts_is_no_sum(divided: str, is_told: bool) -> None:
    program = """
    net = nn.Linear(3, 6)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x, boxes = torch.randn(4, 3), 4.0
    for _ in range(3):
        out = net(x)
        l1 = (out - 1).abs().sum(){divided}
        loss = F.mse_loss(out, torch.zeros(4, 6)) + l1
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
    answer = one_line(asked(program.format(divided=divided)))
    assert ("weighs the more the larger a batch is" in answer) is is_told


@pytest.mark.parametrize(
    ("more", "is_told"),
    [
        (" + decoder(x[:, :2]).pow(2).mean()", True),
        (" + F.mse_loss(decoder(z), x)", False),
        (" + (1 - z.std(0)).relu().sum() + decoder(x[:, :2]).pow(2).mean()", False),
    ],
)
def test_a_target_that_another_part_of_the_loss_holds_learns_in_order(
    more: str, is_told: bool
) -> None:
    program = """
    encoder, step, decoder = nn.Linear(3, 2), nn.Linear(2, 2), nn.Linear(2, 3)
    opt = torch.optim.SGD([*encoder.parameters(), *step.parameters(), *decoder.parameters()], lr=0.1)
    for _ in range(3):
        x, later = torch.randn(8, 3), torch.randn(8, 3)
        z, goal = encoder(x), encoder(later)
        loss = F.mse_loss(step(z), goal){more}
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
    assert ("goal.detach()" in one_line(asked(program.format(more=more)))) is is_told


@pytest.mark.parametrize(("made", "is_told"), [("", True), ("fast = copy.deepcopy(net)", False)])
def test_what_is_moved_towards_new_networks_follows_none(made: str, is_told: bool) -> None:
    program = """
    net = nn.Linear(3, 1)
    fast = copy.deepcopy(net)
    for _ in range(4):
        {made}
        opt = torch.optim.SGD(fast.parameters(), lr=0.1)
        loss = F.mse_loss(fast(torch.randn(8, 3)), torch.ones(8, 1))
        loss.backward()
        opt.step()
        opt.zero_grad()
        with torch.no_grad():
            for p, q in zip(net.parameters(), fast.parameters()):
                p.copy_(0.2 * p + 0.8 * q)
    """
    assert ("it follows at once" in one_line(asked(program.format(made=made)))) is is_told


@pytest.mark.parametrize(
    ("first", "is_told"),
    [
        ("for x in stream: train(x)", True),
        ("for x in islice(stream, 2): train(x)", False),
        ("for x in stream:\n        train(x)\n        break", False),
    ],
)
def test_a_generator_that_is_left_before_its_end_is_not_used_up(first: str, is_told: bool) -> None:
    program = """
    from itertools import islice
    net = nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)

    def train(x):
        opt.zero_grad()
        net(x).pow(2).mean().backward()
        opt.step()

    stream = (torch.randn(4, 3) for _ in range(6))
    {first}
    for x in stream:
        train(x)
    """
    answer = one_line(asked(program.format(first=first)))
    assert ("finds nothing in it" in answer) is is_told


@pytest.mark.parametrize(("looked", "is_told"), [("x", False), ("net", True)])
def test_a_look_at_the_first_batch_ends_no_loop_too_early(looked: str, is_told: bool) -> None:
    program = """
    net = nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    data = [torch.randn(4, 3) for _ in range(3)]

    def first(batches):
        for x in batches:
            seen = {looked}
            return seen

    first(data)
    for x in data:
        opt.zero_grad()
        net(x).pow(2).mean().backward()
        opt.step()
    """
    code = {"x": "(x - x.mean()) / x.std()", "net": "net(x)"}[looked]
    answer = one_line(asked(program.format(looked=code)))
    assert ("in its first round" in answer) is is_told


# --- zeros of which a part is known -----------------------------------------------------------------

DENSITY = """
net, colour = nn.Linear(3, 1), nn.Linear(3, 3)
trunk = nn.Linear(3, 3)
{begin}
opt = torch.optim.SGD([*net.parameters(), *colour.parameters(), *trunk.parameters()], lr=0.1)
for _ in range(2):
    h = trunk(torch.randn(8, 3)).tanh()
    weight = 1 - torch.exp(-F.relu(net(h)))
    loss = (weight * colour(h) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("begin", "is_told"),
    [("nn.init.constant_(net.bias, -9.0)", True), ("nn.init.constant_(net.bias, 9.0)", False)],
)
def test_what_is_multiplied_by_a_dead_relu_is_told_by_it(begin: str, is_told: bool) -> None:
    answer = one_line(asked(DENSITY.format(begin=begin), "trunk"))
    assert ("all that arrived met the flat part, at 0 or below" in answer) == is_told
    assert ("was made of that" in answer) == is_told


# --- sums, steps and switches of others -------------------------------------------------------------


@pytest.mark.parametrize(
    ("criterion", "is_told"),
    [("nn.MSELoss()", True), ('nn.MSELoss(reduction="sum")', False)],
)
def test_a_criterion_that_sums_is_no_mean(criterion: str, is_told: bool) -> None:
    program = f"""
    net, variance, criterion = nn.Linear(4, 4), nn.Linear(4, 3), {criterion}
    opt = torch.optim.SGD([*net.parameters(), *variance.parameters()], lr=1e-4)
    for _ in range(3):
        x = torch.randn(16, 4)
        logvar = variance(x)
        loss = criterion(net(x), x) - 0.5 * torch.sum(1 + logvar - logvar.exp())
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
    assert ("is a mean of" in one_line(asked(program))) == is_told


def test_two_steps_of_one_optimizer_pile_up_at_both() -> None:
    program = """
    net = nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(8, 3)
        first = net(x).pow(2).mean()
        first.backward()
        opt.step()
        second = (net(x) - 1).abs().mean()
        second.backward()
        opt.step()
    """
    answer = one_line(asked(program))
    assert "pile up" in answer
    assert "sends gradients there, too" not in answer


@pytest.mark.parametrize(("name", "is_told"), [("critic", False), ("net", True)])
def test_a_train_of_another_network_tells_nothing(name: str, is_told: bool) -> None:
    program = f"""
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    critic = nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = torch.optim.SGD([*net.parameters(), *critic.parameters()], lr=0.01)
    for _ in range(3):
        {name}.train()
        net.eval()
        loss = critic(net(torch.randn(8, 3))).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
    answer = one_line(asked(program))
    assert "net is trained in eval mode" in answer
    assert ("No forward that was trained came between" in answer) == is_told


def test_a_number_that_chooses_a_scale_is_none() -> None:
    program = """
    one, two = nn.Linear(16, 16), nn.Linear(16, 16)
    opt = torch.optim.SGD([*one.parameters(), *two.parameters()], lr=0.5)
    x, scales = torch.eye(16), [1.0, 14.0]
    for _ in range(3):
        a, b = F.normalize(one(x), dim=-1), F.normalize(two(x), dim=-1)
        loss = F.cross_entropy(a @ b.t() * scales[1], torch.arange(16))
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
    assert "no score is beyond" not in one_line(asked(program))


# --- what is counted, and what the oldest events would have added ---------------------------------

SLOW_COPY = """
net, target = nn.Linear(3, 1), nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(40):
    x = torch.randn(8, 3)
    with torch.no_grad():
        wanted = target(x)
    loss = (net(x) - wanted).pow(2).mean() + net(x).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for own, p in zip(target.parameters(), net.parameters()):
            own.lerp_(p, 0.05)
"""


def test_how_often_something_was_seen_is_the_least_where_the_oldest_events_were_dropped() -> None:
    assert "40 times own.lerp_" in one_line(asked(SLOW_COPY))
    told = one_line(asked(SLOW_COPY, max_events=600))
    assert "at least" in told
    assert "times own.lerp_" in told
    assert "40 times" not in told


def test_which_forward_was_the_first_in_eval_mode_is_not_counted_from_a_part() -> None:
    program = """
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(30):
        if step == 20:
            net.eval()
        loss = net(torch.randn(8, 3)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
    assert "in eval mode from its forward 21 on:" in one_line(asked(program))
    assert "in eval mode: " in one_line(asked(program, max_events=600))


def test_a_call_that_two_cuts_share_ran_once() -> None:
    program = """
    encoder, head = nn.Linear(3, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(3):
        with torch.no_grad():
            h = encoder(torch.randn(8, 3))
        loss = head(h).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
    assert "2 times" not in one_line(asked(program, "encoder"))


def test_a_teacher_that_no_grad_keeps_off_is_told_to_be_left_out_of_the_count() -> None:
    program = """
    class Distiller(nn.Module):
        def __init__(self, teacher, student):
            super().__init__()
            self.teacher, self.student = teacher, student
        def forward(self, x):
            with torch.no_grad():
                wanted = self.teacher(x)
            return F.mse_loss(self.student(x), wanted)
    both = Distiller(nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2)), nn.Linear(3, 2))
    opt = torch.optim.SGD(both.student.parameters(), lr=0.1)
    for _ in range(3):
        loss = both(torch.randn(8, 3))
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
    told = one_line(asked(program))
    assert "2 of 2 trainable parameters" in told
    assert "not counted: 4 kept off by no_grad" in told


def test_what_another_loss_filled_and_was_cleared_since_is_not_counted_as_having_a_gradient() -> (
    None
):
    program = """
    class Both(nn.Module):
        def __init__(self, encoder):
            super().__init__()
            self.encoder, self.decoder = encoder, nn.Linear(4, 2)
        def forward(self, x):
            return self.decoder(self.encoder(x).detach())
    encoder = nn.Linear(3, 4)
    opt = torch.optim.SGD(encoder.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        encoder(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
    opt.zero_grad()
    model = Both(encoder)
    opt = torch.optim.SGD(model.decoder.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.randn(8, 3)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
    told = one_line(asked(program))
    assert "4 of 4" not in told
    assert "2 of 4 trainable parameters have a gradient" in told


def test_a_step_that_passes_over_what_is_shared_does_not_move_all_of_a_network() -> None:
    program = """
    class Net(nn.Module):
        def __init__(self, trunk):
            super().__init__()
            self.trunk, self.a, self.b = trunk, nn.Linear(4, 4), nn.Linear(4, 1)
        def forward(self, x, off=False):
            h = self.trunk(x)
            return self.b(self.a(h.detach() if off else h))
    trunk = nn.Linear(3, 4)
    critic, actor = Net(trunk), Net(trunk)
    to_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
    to_actor = torch.optim.SGD(actor.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 3)
        to_critic.zero_grad()
        critic(x).pow(2).mean().backward()
        to_critic.step()
        to_actor.zero_grad()
        actor(x, off=True).pow(2).mean().backward()
        to_actor.step()
    """
    told = one_line(asked(program))
    assert "moved critic.*" in told
    assert "moved actor.*" not in told
    assert "actor.{a,b}.*" in told


def test_a_hook_that_asks_for_gradients_itself_is_told_with_what_it_returned() -> None:
    program = """
    cell = nn.Linear(4, 4)
    start = torch.randn(8, 4, requires_grad=True)
    z = torch.tanh(cell(start))
    def solve(grad):
        handle.remove()
        y = torch.zeros_like(grad)
        for _ in range(20):
            y = torch.autograd.grad(z, start, y, retain_graph=True)[0] + grad
        return y
    handle = z.register_hook(solve)
    loss = nn.Linear(4, 1)(z).pow(2).mean()
    loss.backward()
    """
    told = one_line(asked(program))
    assert "A hook on z" in told
    assert "→ hook → 8×4 values of norm 0." in told
    assert "values of norm 0. [" not in told


def test_the_last_layer_of_packed_states_is_not_the_last_of_the_batch() -> None:
    program = """
    from torch.nn.utils.rnn import pack_padded_sequence
    lstm, head = nn.LSTM(3, 4, 2, batch_first=True), nn.Linear(4, 1)
    opt = torch.optim.SGD([*lstm.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        packed = pack_padded_sequence(
            torch.randn(5, 6, 3), torch.tensor([2, 6, 4, 3, 5]), batch_first=True,
            enforce_sorted=False,
        )
        _, (hidden, cell) = lstm(packed)
        loss = head(hidden[-1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
    assert "not the last step" not in one_line(asked(program))


def test_the_last_row_of_what_a_recurrent_layer_gave_is_told_as_before() -> None:
    program = """
    lstm, head = nn.LSTM(3, 4, batch_first=True), nn.Linear(4, 1)
    opt = torch.optim.SGD([*lstm.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        out, _ = lstm(torch.randn(5, 6, 3))
        loss = head(out[-1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
    assert "not the last step" in one_line(asked(program))


THEN_PROBED = """
net, probe = nn.Sequential(nn.Linear(3, 4), nn.ReLU()), nn.Linear(4, 1)
class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.head = net, nn.Linear(4, 2)
        self.scale = nn.Parameter(torch.ones(1), requires_grad=False)
    def forward(self, x):
        return self.scale * self.head(self.net(x))
both = Both()
opt = torch.optim.SGD([p for p in both.parameters() if p.requires_grad], lr=0.1)
for step in range(4):
    {frozen_while}
    loss = both(torch.randn(8, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
net.requires_grad_(False)
to_probe = torch.optim.SGD(probe.parameters(), lr=0.1)
for _ in range(3):
    of_probe = probe(net(torch.randn(8, 3))).pow(2).mean()
    to_probe.zero_grad()
    of_probe.backward()
    to_probe.step()
"""


def test_an_optimizer_whose_steps_were_over_passed_over_nothing() -> None:
    over = THEN_PROBED.replace("{frozen_while}", "pass")
    assert "pass over what is frozen" not in one_line(asked(over))
    while_it_steps = THEN_PROBED.replace(
        "{frozen_while}", "if step == 2: net.requires_grad_(False)"
    )
    assert "pass over what is frozen" in one_line(asked(while_it_steps))


def test_what_was_frozen_after_its_training_needs_no_mend() -> None:
    told = one_line(asked(THEN_PROBED.replace("{frozen_while}", "pass"), "net[0].weight"))
    assert "[observed]" in told
    assert "a step has used it" in told


# --- the nearest healthy twins of what is observed ------------------------------------------------


def test_pictures_on_the_way_of_a_diffusion_are_no_sums_in_the_wrong_order() -> None:
    program = """
    net = nn.Linear(3, 2)
    opt = torch.optim.Adam(net.parameters())
    for _ in range(3):
        x = torch.randn(8, 2)
        noise = torch.randn_like(x)
        loss = F.mse_loss(net(torch.cat([x + noise, torch.ones(8, 1)], 1)), noise)
        opt.zero_grad()
        loss.backward()
        opt.step()
    x, frames = torch.randn(4, 2), []
    with torch.no_grad():
        for i in reversed(range(5)):
            x = x - 0.1 * net(torch.cat([x, torch.full((4, 1), float(i))], 1))
            frames.append(x)
    frames = torch.stack(frames)
    """
    assert "begins with the last" not in one_line(asked(program))


FROM_AN_ITERATOR = """
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def batches():
    while True:
        yield torch.randn(4, 3)
class Loader:
    def __iter__(self):
        return batches()
batch_iter = iter(Loader())
for epoch in range(3):
    for step, batch in {of}:
        {leave}
        loss = net(batch).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("of", "leave"),
    [
        ("zip(range(5), batch_iter)", "pass"),
        ("enumerate(batch_iter)", "if step == 4: break"),
    ],
)
def test_what_gives_batches_without_an_end_is_not_used_up(of: str, leave: str) -> None:
    assert "used up" not in one_line(asked(FROM_AN_ITERATOR.format(of=of, leave=leave)))


COUNTED = """
net, criterion = nn.Linear(4, 5), nn.CrossEntropyLoss(ignore_index=-100)
opt = torch.optim.Adam(net.parameters())
for _ in range(3):
    opt.zero_grad()
    for _ in range(2):
        x, y = torch.randn(8, 4), torch.randint(0, 5, (8,))
        {leave}
        loss = criterion(net(x), y) / 2
        loss.backward()
    opt.step()
"""


def test_means_of_as_many_targets_each_count_alike() -> None:
    assert "a target counts the more" not in one_line(asked(COUNTED.format(leave="pass")))
    gone = COUNTED.replace("-100", "-1").replace("    opt.step()", "        del y\n    opt.step()")
    of_an_index = gone.format(leave="x = x[:, [-1]].expand(8, 4)")
    assert "a target counts the more" not in one_line(asked(of_an_index))
    told = one_line(asked(COUNTED.format(leave="y[:torch.randint(1, 8, ())] = -100")))
    assert "a target counts the more" in told


def test_two_that_are_the_targets_of_each_other_learn_from_each_other() -> None:
    program = """
    one, other = nn.Linear(5, 3), nn.Linear(5, 3)
    opt = torch.optim.Adam([*one.parameters(), *other.parameters()])
    for _ in range(3):
        x, y = torch.randn(8, 5), torch.randint(0, 3, (8,))
        a, b = one(x), other(x)
        to_b = F.kl_div(F.log_softmax(a, 1), F.softmax(b, 1), reduction="batchmean")
        to_a = F.kl_div(F.log_softmax(b, 1), F.softmax(a, 1), reduction="batchmean")
        loss = F.cross_entropy(a, y) + F.cross_entropy(b, y) + PARTS
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
    both, one = (program.replace("PARTS", parts) for parts in ("to_a + to_b", "to_b"))
    assert "towards the prediction" not in one_line(asked(both))
    assert "towards the prediction" in one_line(asked(one))


# --- the cut that alone is one --------------------------------------------------------------------

SAMPLED = """
coarse, fine = nn.Linear(1, 8), nn.Linear(8, 3)
opt = torch.optim.Adam([*coarse.parameters(), *fine.parameters()], lr=5e-3)
for _ in range(4):
    w = coarse(torch.rand(16, 1)).sigmoid()
    cdf = w.cumsum(-1)
    inds = torch.searchsorted(cdf.contiguous(), torch.rand(16, 8)).clamp(max=7)
    z = {z}
    img_loss = (fine(z) - 1).pow(2).mean()
    loss = img_loss + (w - 0.3).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize("subjects", [("coarse", "img_loss"), ("z",)])
def test_a_cut_that_another_one_stands_behind_is_not_told(subjects: tuple[str, ...]) -> None:
    beside = asked(SAMPLED.format(z="(cdf.gather(1, inds) + w).detach()"), *subjects)
    assert [cut.reason.name for cut in beside.cuts] == ["DETACH"]
    program = SAMPLED.format(z="cdf.gather(1, inds) + w")  # with detach left out it comes
    program = program.replace("backward()", "backward(retain_graph=True)").replace("opt.step()", "")
    names: dict[str, Any] = {}
    exec(HEAD + program, names)
    weight = names["coarse"].weight
    assert torch.autograd.grad(names["z"].sum(), weight, allow_unused=True)[0] is not None


@pytest.mark.parametrize("z", ["inds.float()", "inds.float().detach()"])
def test_a_cut_without_which_nothing_comes_is_told(z: str) -> None:
    told = asked(SAMPLED.format(z=z), "coarse", "img_loss")
    assert "NOT_DIFFERENTIABLE" in {cut.reason.name for cut in told.cuts}


# --- what a recording that is cut short does not know ---------------------------------------------

CLIENTS = """
class Client:
    def __init__(self):
        self.x = torch.randn(32, 4).abs()
        self.y = (self.x[:, 0] > 0.7).long()

    def update(self, server):
        model = copy.deepcopy(server)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for index in torch.randperm(32).split(8):
            F.cross_entropy(model(self.x[index]), self.y[index]).backward()
            opt.step()
            opt.zero_grad()
        return model.state_dict()

clients, server, found = [Client() for _ in range(3)], nn.Linear(4, 2), []
for _ in range(12):
    states = [c.update(server) for c in clients]
    server.load_state_dict({k: torch.stack([s[k] for s in states]).mean(0) for k in states[0]})
    with torch.no_grad():
        found.append(server(torch.randn(9, 4)).argmax(1).float().mean().item())
"""


@pytest.mark.parametrize("max_events", [700, 1500, 100_000])
def test_what_was_made_in_the_part_that_was_dropped_is_no_value_that_left_torch(
    max_events: int,
) -> None:
    told = asked(CLIENTS, "server", max_events=max_events)
    assert told.cause != "rebuilt_from_value"


UNUSED = """
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(40):
    side_loss = net(torch.randn(3, 2)).abs().mean()
    loss = net(torch.randn(3, 2)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def test_a_result_is_said_to_go_into_no_loss_only_where_all_is_known() -> None:
    assert "goes into no loss" in one_line(asked(UNUSED))
    assert "goes into no loss" not in one_line(asked(UNUSED, max_events=200))


# --- sentences about healthy programs -------------------------------------------------------------

SCALED = """
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    scale = torch.tensor({scale})
    extra = net(torch.randn(3, 2)).mean()
    weighed = {product}
    loss = net(torch.randn(3, 2)).pow(2).mean() + weighed
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def test_the_factor_that_is_0_is_named_and_not_the_other() -> None:
    told = one_line(asked(SCALED.format(scale="0.0", product="extra * scale.item()")))
    assert "as scale.item() is 0 there" in told
    told = one_line(asked(SCALED.format(scale="0.0", product="scale.item() * extra")))
    assert "as scale.item() is 0 there" in told
    assert "is 0 there" not in one_line(asked(SCALED.format(scale="0.0", product="extra * 0")))


OPTIMIZER_OF_ONES_OWN = """
class Ascent({base}):
    def __init__(self, params):
        self.params = list(params)
        {init}

    @torch.no_grad()
    def first_step(self):
        for p in self.params:
            p.add_(p.grad * 0.05)

net = nn.Linear(2, 1)
ascent = Ascent(net.parameters())
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    x = torch.randn(5, 2)
    net(x).pow(2).mean().backward()
    ascent.first_step()
    opt.zero_grad()
    net(x).pow(2).mean().backward()
    opt.step()
    opt.zero_grad()
"""


def test_an_optimizer_is_no_hand() -> None:
    own = {"base": "torch.optim.Optimizer", "init": "super().__init__(self.params, {})"}
    told = one_line(asked(OPTIMIZER_OF_ONES_OWN.format(**own)))
    assert "p.add_(p.grad * 0.05)" in told
    assert "and no optimizer" not in told
    by_hand = {"base": "object", "init": "pass"}
    assert "and no optimizer" in one_line(asked(OPTIMIZER_OF_ONES_OWN.format(**by_hand)))


FOLDS = """
for fold in range(3):
    net = nn.Linear(2, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range({steps}):
        opt.zero_grad()
        net(torch.randn(5, 2)).pow(2).mean().backward()
        opt.step()
"""


def test_of_models_that_were_stepped_differently_often_both_numbers_are_told() -> None:
    assert "moved each 4 to 8 times" in one_line(asked(FOLDS.format(steps="4 + 2 * fold")))
    assert "moved each 4 times" in one_line(asked(FOLDS.format(steps="4")))


CUBE = """
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, grad):
        return grad * 3 * ctx.saved_tensors[0] ** 2

{check}
net = nn.Linear(2, 1)
x = Cube.apply(torch.randn(4, 2, requires_grad=True))
loss = (Cube.apply(net(x)) - 1).pow(2).mean()
loss.backward()
"""
CHECK = (
    "torch.autograd.gradcheck(Cube.apply, torch.ones(2, dtype=torch.double, requires_grad=True))"
)


def test_a_backward_that_the_program_compares_is_not_said_to_be_unchecked() -> None:
    assert "was not checked. torch.autograd.gradcheck" not in one_line(
        asked(CUBE.format(check=CHECK))
    )
    told = one_line(asked(CUBE.format(check="")))
    assert told.count("was not checked. torch.autograd.gradcheck") == 1


CARRIED = """
cell, out = nn.GRUCell(2, 4), nn.Linear(4, 1)
opt = torch.optim.SGD([*cell.parameters(), *out.parameters()], lr=0.1)
h = torch.zeros(3, 4)
for step in range(5):
    h = cell(torch.randn(3, 2), {h})
    loss = out(h).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def test_a_detach_that_keeps_a_freed_graph_off_is_not_to_be_left_out_alone() -> None:
    told = one_line(asked(CARRIED.format(h="h.detach()")))
    assert "one backward on the sum of all losses that go through it" in told
    with pytest.raises(RuntimeError, match="second time"):
        exec(HEAD + CARRIED.format(h="h"), {})
    of_one_pass = SAMPLED.format(z="(cdf.gather(1, inds) + w).detach()")
    assert "If that is wanted: leave detach out there." in one_line(asked(of_one_pass))


ONE_AFTER_ANOTHER = """
class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(*(nn.Linear(4, 4) for _ in range(4)))
        self.critic = nn.Sequential(*(nn.Linear(4, 4) for _ in range(4)))

torch.manual_seed(0)
both, x = Both(), torch.randn(16, 4)
for parameter in both.parameters():
    parameter.data.mul_(0.3)
actor_loss, critic_loss = 1e-4 * both.actor(x).pow(2).mean(), {critic}
{backward}
"""


def test_a_gradient_does_not_shrink_from_one_loss_to_another() -> None:
    critic = "(both.critic(x) - 5).pow(2).mean()"
    apart = "actor_loss.backward()\ncritic_loss.backward()"
    assert "shrinks" not in one_line(asked(ONE_AFTER_ANOTHER.format(critic=critic, backward=apart)))
    in_a_row = "(both.critic(both.actor(x)) - 5).pow(2).mean()"
    alone = "critic_loss.backward()"
    assert "shrinks" in one_line(asked(ONE_AFTER_ANOTHER.format(critic=in_a_row, backward=alone)))


# --- targets that follow, layers at the end of a module, and what an assert says ------------------

IN_PART_FOLLOWING = """
def block():
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))
class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.online = block()
        self.target = copy.deepcopy(self.online)
    def forward(self, x):
        with torch.no_grad():
            goal = self.target(x)
        return (self.online(x + 0.1) - goal).pow(2).mean() + self.online(x).mean()
pair = Pair()
opt = torch.optim.SGD(pair.parameters(), lr=0.1)
for _ in range(3):
    loss = pair(torch.randn(8, 3))
    opt.zero_grad()
    loss.backward()
    opt.step()
    for (name, p), q in zip(pair.online.named_parameters(), pair.target.parameters()):
        if "weight" in name:
            q.data = 0.9 * q.data + 0.1 * p.data
{end}
"""


def test_parameters_that_follow_are_counted_beside_those_that_do_not() -> None:
    text = one_line(asked(IN_PART_FOLLOWING.format(end="")))
    assert text.startswith("pair.target.{0,1,3}.bias:")
    assert "9 trainable parameters: 6 reached, 3 not; not counted: 3 kept off by no_grad" in text
    none_follows = IN_PART_FOLLOWING.format(end="").replace('if "weight" in name', "if False")
    assert "12 trainable parameters: 6 reached, 6 not." in one_line(asked(none_follows))
    assert one_line(asked(none_follows)).startswith("pair.target.{0,1,3}.{weight,bias}:")


@pytest.mark.parametrize(
    ("end", "is_observed"),
    [
        ("assert all(p.grad is None for p in pair.target.parameters())", True),
        ("print([p.grad is None for p in pair.target.parameters()])", False),
    ],
)
def test_a_grad_that_an_assert_finds_none_is_to_be_none(end: str, is_observed: bool) -> None:
    assert asked(IN_PART_FOLLOWING.format(end=end)).is_observed is is_observed


WITH_A_PART = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4){last})
        self.head = nn.Linear(4, 2)
    def forward(self, x):
        return self.head(self.body(x))
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
F.cross_entropy(net(torch.randn(8, 3)), torch.randint(2, (8,))).backward()
opt.step()
"""


def test_the_last_layer_of_a_part_is_linear_with_the_next_and_not_the_part() -> None:
    assert "Nothing stands between net.body.2 (" in one_line(asked(WITH_A_PART.format(last="")))
    assert "Nothing stands" not in one_line(asked(WITH_A_PART.format(last=", nn.Tanh()")))


BY_AVERAGES = """
def block():
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
net, teacher = block(), block().requires_grad_(False)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    teacher.train()
    x = torch.randn(8, 3)
    loss = (net(x) - teacher(x)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for p, q in zip(net.parameters(), teacher.parameters()):
            {write}
"""


def test_what_the_code_averages_is_not_to_stay() -> None:
    write = "q.mul_(0.9).add_(p, alpha=0.1)"
    assert "are to stay" not in one_line(asked(BY_AVERAGES.format(write=write), "teacher"))
    assert "are to stay" in one_line(asked(BY_AVERAGES.format(write="pass"), "teacher"))


ONE_ENCODER = """
encoder, critic, actor = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(4, 1)
opt = torch.optim.SGD([*encoder.parameters(), *critic.parameters()], lr=0.1)
of_actor = torch.optim.SGD(actor.parameters(), lr=0.1)
seen = []
for _ in range(3):
    x = torch.randn(8, 3)
    critic_loss = critic(encoder(x)).pow(2).mean()
    opt.zero_grad()
    critic_loss.backward()
    opt.step()
    opt.zero_grad()
    actor_loss = actor(encoder(x).detach()).pow(2).mean()
    of_actor.zero_grad()
    actor_loss.backward()
    {read}
    of_actor.step()
"""


def test_what_another_loss_trains_is_a_fault_only_where_it_is_shown() -> None:
    kept = asked(ONE_ENCODER.format(read="seen += [p.grad for p in encoder.parameters()]"))
    assert (kept.cause, kept.is_observed) == ("kept_off", True)
    shown = asked(ONE_ENCODER.format(read="print(encoder.weight.grad)"))
    assert (shown.cause, shown.is_observed) == ("kept_off", False)


# --- what each step moved, and each loss fills ----------------------------------------------------

THAWED = """
body, head = nn.Linear(20, 32), nn.Linear(32, 3)
model = nn.Sequential(body, nn.ReLU(), head)
x, y = torch.randn(64, 20), torch.randint(0, 3, (64,))

def fit(rates):
    groups = [{{"params": m.parameters(), "lr": rate}} for m, rate in zip([body, head], rates)]
    opt = torch.optim.Adam(groups)
    for _ in range(2):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        opt.zero_grad()

fit([0.0, 1e-2])
fit([{rate}, 1e-2])
"""


@pytest.mark.parametrize(
    ("rate", "moved"), [("1e-3", "moved model.{0,2}.*"), ("0.0", "moved model.2.*")]
)
def test_what_an_earlier_optimizer_held_at_a_rate_of_zero_a_later_one_moves(
    rate: str, moved: str
) -> None:
    first, second = one_line(asked(THAWED.format(rate=rate))).split("fit([")[1:3]
    assert "moved model.2.*" in first
    assert moved in second


def test_all_of_a_part_is_not_moved_where_some_of_it_has_another_name() -> None:
    answer = asked(
        """
        class Low(nn.Module):
            def __init__(self, linear):
                super().__init__()
                self.linear, self.a = linear, nn.Parameter(torch.randn(4, 4) / 9)
                for p in linear.parameters():
                    p.requires_grad = False
            def forward(self, x):
                return self.linear(x) + x @ self.a
        class Wrap(nn.Module):
            def __init__(self, module):
                super().__init__()
                self.module = module
            def forward(self, x):
                return self.module(x)
        base = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Tanh())
        opt = torch.optim.SGD(base.parameters(), lr=0.1)
        x = torch.randn(8, 4)
        base(x).pow(2).mean().backward()
        opt.step()
        base.requires_grad_(False)
        base[0] = Low(base[0])
        wrapped = Wrap(base)
        opt = torch.optim.SGD([p for p in wrapped.parameters() if p.requires_grad], lr=0.1)
        opt.zero_grad()
        loss = wrapped(x).pow(2).mean()
        loss.backward()
        opt.step()
        """
    )
    moved = one_line(answer).rsplit("moved ", 1)[1]
    assert moved.startswith(("wrapped.module.0.a by", "base.0.a by"))


def test_a_loss_that_adds_to_a_large_gradient_fills_it_too() -> None:
    answer = asked(
        """
        net, critic = nn.Linear(4, 30), nn.Linear(30, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        critic_opt = torch.optim.SGD(critic.parameters(), lr=0.1)
        for _ in range(3):
            made = net(torch.randn(8, 4))
            critic_opt.zero_grad()
            critic_loss = critic(made.detach()).mean() - critic(torch.randn(8, 30)).mean()
            critic_loss.backward()
            critic_opt.step()
            opt.zero_grad()
            net_loss = -critic(made).mean()
            net_loss.backward()
            opt.step()
            loss = net(torch.randn(8, 4)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "critic",
        "loss",
    )
    told = one_line(answer)
    assert "critic_loss (line 14) and net_loss (line 18)" in told


def test_an_optimizer_that_is_done_passes_over_nothing_where_another_moves_a_part() -> None:
    program = """
        net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
        first = torch.optim.SGD(net.parameters(), lr=0.1)
        x = torch.randn(8, 4)
        net(x).pow(2).mean().backward()
        first.step()
        first.zero_grad()
        net.requires_grad_(False)
        net[2].requires_grad_(True)
        net.more = nn.Parameter(torch.zeros(4))
        second = torch.optim.SGD([net.more, *net[2].parameters()], lr=0.1)
        loss = (net(x) + net.more).pow(2).mean()
        loss.backward()
        second.step()
    """
    assert "pass over what is frozen" not in one_line(asked(program))


@pytest.mark.parametrize(
    ("shared", "held", "is_moved"),
    [
        ("nn.Parameter(first.weight.detach())", "first.parameters()", False),
        ("nn.Parameter(first.weight.T.detach())", "first.parameters()", False),
        ("nn.Parameter(first.weight.detach())", "[first.weight, second.weight]", True),
        ("nn.Parameter(first.weight.detach().clone())", "[first.weight, second.weight]", True),
    ],
)
def test_a_step_does_not_move_by_its_gradient_what_only_shares_its_memory(
    shared: str, held: str, is_moved: bool
) -> None:
    answer = asked(
        f"""
        first, second = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
        second.weight = {shared}
        opt = torch.optim.SGD({held}, lr=0.1)
        second_loss = second(torch.randn(8, 4)).pow(2).mean()
        second_loss.backward()
        grad = second.weight.grad.clone()
        for _ in range(3):
            first.zero_grad()
            loss = first(torch.randn(8, 4)).pow(2).mean()
            loss.backward()
            opt.step()
            second.zero_grad()
        """,
        "first",
        "second",
        "loss",
    )
    told = one_line(answer)
    assert ("second.weight by the gradient of second_loss" in told) is is_moved


def test_a_step_of_one_memory_for_several_parameters_moves_them_by_their_gradients() -> None:
    answer = asked(
        """
        net = nn.Linear(4, 4)
        flat = torch.cat([p.detach().flatten() for p in net.parameters()]).requires_grad_()
        flat.grad = torch.zeros(20)
        net.weight.data, net.bias.data = flat.data[:16].view(4, 4), flat.data[16:]
        net.weight.grad, net.bias.grad = flat.grad[:16].view(4, 4), flat.grad[16:]
        opt = torch.optim.SGD([flat], lr=0.1)
        for _ in range(3):
            flat.grad.zero_()
            loss = net(torch.randn(8, 4)).pow(2).mean()
            loss.backward()
            opt.step()
        """
    )
    assert "moved net.bias by the gradient of loss" in one_line(answer)


def test_a_part_that_another_loss_trains_is_not_counted_as_reached() -> None:
    answer = asked(
        """
        encoder, words, first, second = (nn.Linear(4, 4) for _ in range(4))
        net = nn.ModuleList([encoder, words, first, second])
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            memory = encoder(torch.randn(8, 4))
            scores = first(memory)
            _, chosen = torch.topk(scores, 1)
            read = words(F.one_hot(chosen.squeeze(-1), 4).float())
            first_loss = scores.pow(2).mean()
            second_loss = second(memory.detach() + read).pow(2).mean()
            opt.zero_grad()
            first_loss.backward()
            second_loss.backward()
            opt.step()
        """,
        "net",
        "second_loss",
    )
    assert answer.form == "part_goes_on"
    assert "8 trainable parameters: 4 reached, 4 not." in str(answer)


@pytest.mark.parametrize(
    ("clearing", "form", "told"),
    [
        ("net.zero_grad()", "left_out_cleared", "cleared unused ("),
        ("opt.zero_grad()", "left_out", "add up unused"),
        ("net[2].zero_grad()", "left_out", "add up unused"),
    ],
)
def test_gradients_that_are_cleared_do_not_add_up(clearing: str, form: str, told: str) -> None:
    answer = asked(
        f"""
        net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
        opt = torch.optim.SGD(net[2].parameters(), lr=0.1)
        for _ in range(3):
            loss = net(torch.randn(8, 4)).pow(2).mean()
            loss.backward()
            opt.step()
            {clearing}
        """
    )
    assert (answer.cause, answer.form) == ("left_out", form)
    assert told in one_line(answer)


@pytest.mark.parametrize(
    ("picked", "verdict"),
    [("-2", "layers.2"), ("-1", "")],
)
def test_a_layer_whose_result_nothing_reads_is_not_cut_off_by_no_grad(
    picked: str, verdict: str
) -> None:
    answer = asked(
        f"""
        class Tower(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

            @torch.no_grad()
            def forward(self, x):
                states = [x]
                for layer in self.layers:
                    states.append(layer(states[-1]))
                return states[{picked}]

        tower, head = Tower(), nn.Linear(4, 4)
        opt = torch.optim.SGD([*tower.parameters(), *head.parameters()], lr=0.1)
        mask = nn.Transformer.generate_square_subsequent_mask(len(head.weight))
        for _ in range(3):
            hidden = head(tower(torch.randn(4, 4)))
            mask = nn.Transformer.generate_square_subsequent_mask(hidden.size(1))
            loss = (hidden + mask).softmax(-1).pow(2).mean()
            loss.backward()
            opt.step()
            opt.zero_grad()
        """,
        "tower",
        "head",
        "loss",
    )
    told = one_line(answer)
    assert "left torch" not in told
    assert "cuts it from loss" in told
    assert ("all made from it ends at no_grad" in told) is bool(verdict)
    assert told.startswith("tower.layers.{0,1}." if verdict else "tower.layers.{0..2}.")


@pytest.mark.parametrize(
    ("loss", "is_derived"),
    [
        ("slope.pow(2).mean()", True),
        ("slope.pow(2).mean() + u.pow(2).mean()", False),
        ("slope.detach().pow(2).mean() + net(x).pow(2).mean()", False),
        ("net(x).pow(2).mean()", False),
    ],
)
def test_a_result_whose_derivative_is_in_the_loss_is_told_as_that(
    loss: str, is_derived: bool
) -> None:
    answer = asked(
        f"""
        net = nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x = torch.randn(8, 1, requires_grad=True)
        for _ in range(3):
            u = net(x)
            slope, = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)
            loss = {loss}
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "u",
    )
    assert (answer.form == "derivative_in_loss") is is_derived
    assert ("is made of derivatives of u" in one_line(answer)) is is_derived


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
def test_what_no_gradient_came_to_is_counted_among_all() -> None:
    answer = asked(
        """
        from torch.utils.checkpoint import checkpoint

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 4)

            def forward(self, x):
                return self.head(checkpoint(self.body, x, use_reentrant=True))

        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            loss = net(torch.randn(8, 4)).pow(2).mean()
            loss.backward()
            opt.step()
        print([n for n, p in net.named_parameters() if p.grad is not None])
        """
    )
    assert "4 trainable parameters: 2 reached, 2 not." in str(answer)


@pytest.mark.parametrize(
    ("handing", "max_events", "is_moved"),
    [
        ("shared.weight.grad, shared.bias.grad = net.weight.grad, net.bias.grad", 600, True),
        ("shared.weight.grad, shared.bias.grad = net.weight.grad, net.bias.grad", 100_000, True),
        ("", 100_000, False),
    ],
)
def test_gradients_that_were_handed_over_before_the_recording_kept_them_are_there(
    handing: str, max_events: int, is_moved: bool
) -> None:
    answer = asked(
        f"""
        net, shared = nn.Linear(4, 4), nn.Linear(4, 4)
        opt = torch.optim.Adam(shared.parameters(), lr=0.1)
        net(torch.randn(8, 4)).pow(2).mean().backward()
        {handing}
        for _ in range(40):
            net.load_state_dict(shared.state_dict())
            net.zero_grad(set_to_none=False)
            loss = net(torch.randn(8, 4)).pow(2).mean()
            loss.backward()
            opt.step()
        """,
        "net.weight",
        max_events=max_events,
    )
    assert (answer.cause == "not_moved") is not is_moved


@pytest.mark.parametrize(
    ("again", "cause"),
    [("net.requires_grad_(True)", "healthy"), ("if step: continue", "frozen")],
)
def test_what_is_trained_in_turn_is_not_said_to_be_frozen(again: str, cause: str) -> None:
    """A phase switches its own network on, and off after its step; what stays off is frozen."""
    answer = asked(
        f"""
        net = nn.Linear(4, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        net.requires_grad_(False)
        net.requires_grad_(True)
        for step in range(3):
            {again}
            loss = net(torch.randn(8, 4)).pow(2).mean()
            loss.backward()
            opt.step()
            opt.zero_grad()
            net.requires_grad_(False)
        if not step:
            later = net(torch.randn(8, 4)).pow(2).mean()
        """,
        "net.weight",
    )
    assert answer.cause == cause
    if cause == "healthy":
        assert "switched on and off in turn" in one_line(answer)


def test_what_was_frozen_since_has_no_gradient_that_goes_unused() -> None:
    """The gradients of a first pass are kept; then the layer is frozen beside an adapter."""
    answer = asked(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.base, self.adapter = nn.Linear(4, 4), nn.Linear(4, 4)
            def forward(self, x):
                return self.base(x) + self.adapter(x)
        def main():
            net = Net()
            net(torch.randn(8, 4)).pow(2).mean().backward()
            kept = [p.grad.clone() for p in net.parameters()]
            net.zero_grad()
            net.base.requires_grad_(False)
            opt = torch.optim.SGD(net.adapter.parameters(), lr=0.1)
            for _ in range(3):
                loss = net(torch.randn(8, 4)).pow(2).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
        main()
        """
    )
    assert answer.cause == "healthy"


def test_a_row_of_linear_layers_is_counted_once_however_often_it_runs() -> None:
    answer = asked(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Parameter(torch.randn(4, 4)), nn.Parameter(torch.randn(4, 4))
                self.out = nn.Linear(4, 1)
            def forward(self, x):
                return self.out(torch.tanh(F.linear(F.linear(x, self.a), self.b)))
        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(4):
            loss = net(torch.randn(8, 4)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """
    )
    assert "Nothing stands between F.linear(x, self.a)" in one_line(answer)
    assert "linear layers one behind the other" not in one_line(answer)
