"""Facts that look odd where nothing is wrong by itself: each is told at its line, the change that
the sentence proposes takes the symptom away by torch's own numbers, and the fact is told no
more."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
import torch
from test_symptom import asked

HEAD = """
import copy
import torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
x, y = torch.randn(8, 4), torch.randint(2, (8,))
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
"""


class Odd(NamedTuple):
    """One program.

    Attributes:
        says: words of the answer.
        at: the text of a line that it names.
        program: what is asked about, after ``HEAD``.
        edit: what is replaced by what, as the sentence proposes.
        gone: an expression that is false before and true after.
    """

    says: str
    at: str
    program: str
    edit: tuple[str, str]
    gone: str


LOOP = """
for i in range(3):
    {forward}
    opt.zero_grad()
    loss.backward()
    opt.step()
"""

GAN = """
D = nn.Linear(2, 1)
opt_d = torch.optim.SGD(D.parameters(), lr=0.1)
for i in range(3):
    D.zero_grad()
    fake = net(torch.randn(8, 4))
    d_loss = D(fake.detach()).mean() - D(torch.randn(8, 2)).mean()
    d_loss.backward()
    opt_d.step()
    net.zero_grad()
    g_loss = -D(fake.detach()).mean()  # for the generator
    reached, = torch.autograd.grad(g_loss, net.weight, retain_graph=True, allow_unused=True)
    g_loss.backward()
    other = net(x).pow(2).mean()
    other.backward()
    opt.step()
"""

TARGET = """
target = nn.Linear(4, 2)
target.load_state_dict(net.state_dict())
for i in range(3):
    with torch.no_grad():
        wanted = target(x)
    loss = F.mse_loss(net(x), wanted + 1)
    opt.zero_grad()
    loss.backward()
    opt.step()
    target.load_state_dict(target.state_dict())  # every step
"""

AVERAGE = """
teacher = copy.deepcopy(net)
def follow(of, by):
    for p, q in zip(of.parameters(), by.parameters()):
        p.data.mul_(0.5).add_(q.data, alpha=0.5)
for i in range(3):
    with torch.no_grad():
        wanted = teacher(x)
    loss = F.mse_loss(net(x), wanted + 1)
    opt.zero_grad()
    loss.backward()
    opt.step()
    follow(net, teacher)
"""

TAU = """
class Agent:
    def __init__(self):
        self.tau, self.target = 0.01, nn.Linear(4, 2)
    def follow(self, tau=None):
        tau = self.tau if tau is None else tau
        for p, q in zip(self.target.parameters(), net.parameters()):
            p.data.copy_(self.tau * q.data + (1 - self.tau) * p.data)  # mixed
agent = Agent()
agent.follow(tau=1.0)
begun_alike = torch.equal(agent.target.weight, net.weight)
""" + LOOP.format(forward="loss = F.cross_entropy(net(x), y)")

HOOK = """
seen = []
def keep(module, grad_in, grad_out):
    seen.append(grad_in[0])
net.register_full_backward_hook(keep)
""" + LOOP.format(forward="loss = F.cross_entropy(net(x), y)")

STRAIGHT = """
class Double(torch.autograd.Function):
    ran = 0
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        Double.ran += 1
        return grad * 2
given = x.clone()
""" + LOOP.format(forward="loss = F.cross_entropy(net(Double.apply(given)), y)")

ROWS = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {made}
        self.out = nn.Linear(4, 2)
    def forward(self, rows):
        return self.out({runs})
net, rows = Model(), torch.randn(8, 3, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
""" + LOOP.replace("{forward}", "loss = F.cross_entropy(net(rows), y)")
# what the model makes of a sample is the same without the others
ROWS_APART = "torch.allclose(net(rows)[-1:], net(rows[-1:]), atol=1e-5)"

ODD = {
    "wasted": Odd(
        "No step used what g_loss",
        "# for the generator",
        GAN,
        ("D(fake.detach()).mean()  #", "D(fake).mean()  #"),
        "reached is not None",
    ),
    "copied_as_before": Odd(
        "onto itself: no value changes",
        "# every step",
        TARGET,
        ("(target.state_dict())  #", "(net.state_dict())  #"),
        "torch.equal(target.weight, net.weight)",
    ),
    "written_back": Odd(
        "writes the values of teacher.*",
        "p.data.mul_",
        "begun = net.weight.detach().clone()\n" + AVERAGE,
        ("follow(net, teacher)", "follow(teacher, net)"),
        "not torch.equal(teacher.weight, begun)",
    ),
    "argument_beside": Odd(
        "tau is set",
        "# mixed",
        TAU,
        ("self.tau * q.data + (1 - self.tau)", "tau * q.data + (1 - tau)"),
        "begun_alike",
    ),
    "not_called": Odd(
        "only names the method",
        "opt.step",
        "begun = net.weight.detach().clone()\nF.cross_entropy(net(x), y).backward()\nopt.step\n",
        ("opt.step\n", "opt.step()\n"),
        "not torch.equal(begun, net.weight)",
    ),
    "made_in_vain": Odd(
        "from_pretrained is a class method",
        "# known",
        "known = torch.ones(5, 4)\ntable = nn.Embedding(5, 4)\n"
        "table.from_pretrained(known)  # known\n"
        "loss = F.cross_entropy(net(table(torch.arange(5))), y[:5])\nloss.backward()\nopt.step()\n",
        ("table.from_pretrained(known)", "table = table.from_pretrained(known)"),
        "torch.equal(table.weight, known)",
    ),
    "input_without_gradient": Odd(
        "gets None for its input",
        "seen.append",
        HOOK,
        ("net(x)", "net(x.requires_grad_())"),
        "seen[0] is not None",
    ),
    "not_recorded": Odd(
        "its backward never runs",
        "Double.apply",
        STRAIGHT,
        ("given = x.clone()", "given = x.clone().requires_grad_()"),
        "Double.ran > 0",
    ),
    "scores_of_one_sign": Odd(
        "no score can be below 0",
        "F.log_softmax",
        LOOP.format(
            forward="scores = F.relu(net(x))\n    loss = F.nll_loss(F.log_softmax(scores, dim=1), y)"
        ),
        ("F.relu(net(x))", "net(x)"),
        "bool((scores < 0).any())",
    ),
    "spread_out": Odd(
        "each prediction with every target",
        "# compared",
        "net = nn.Linear(4, 1)\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "wanted = torch.randn(8)\n"
        + LOOP.format(
            forward="error = net(x) - wanted  # compared\n    loss = error.pow(2).mean()"
        ),
        ("- wanted", "- wanted.unsqueeze(1)"),
        "error.shape == (8, 1)",
    ),
    "over_the_batch": Odd(
        "add up to 1, and not the classes",
        "F.log_softmax",
        LOOP.format(
            forward="chances = F.log_softmax(net(x), dim=0)\n    loss = F.nll_loss(chances, y)"
        ),
        ("dim=0", "dim=1"),
        "torch.allclose(chances.exp().sum(1), torch.ones(8))",
    ),
    "over_the_samples": Odd(
        "and not the 2 scores of each",
        "F.log_softmax",
        "wanted = torch.rand(8, 2).softmax(1)\n"
        + LOOP.format(
            forward="chances = F.log_softmax(net(x) / 0.5, dim=0)\n"
            "    loss = -(wanted * chances).sum(0).mean()"
        ),
        ("dim=0", "dim=1"),
        "torch.allclose(chances.exp().sum(1), torch.ones(8))",
    ),
    "scale_above_one": Odd(
        "it is never below 1",
        "# spread",
        LOOP.format(
            forward="mean, log = net(x).chunk(2, dim=1)\n"
            "    spread = torch.exp(0.5 * F.relu(log).clamp(max=4))  # spread\n"
            "    loss = -torch.distributions.Normal(mean, spread).log_prob(x[:, :1]).mean()"
        ),
        ("F.relu(log)", "log"),
        "bool((spread < 1).any())",
    ),
    "batch_for_the_steps": Odd(
        "attends over the 8 along dimension 0",
        "nn.TransformerEncoderLayer",
        ROWS.format(
            made="layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)\n"
            "        self.places = nn.Parameter(torch.randn(1, 3, 4))\n"
            "        self.inner = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)",
            runs="self.inner(rows + self.places).flatten(1)[:, :4]",
        ),
        ("dropout=0.0)", "dropout=0.0, batch_first=True)"),
        ROWS_APART,
    ),
    "batch_for_the_steps_by_rows": Odd(
        "leaves one row for each along dimension 0",
        "nn.MultiheadAttention",
        ROWS.format(
            made="self.inner = nn.MultiheadAttention(4, 2)",
            runs="self.inner(rows, rows, rows)[0].mean(1)",
        ),
        ("Attention(4, 2)", "Attention(4, 2, batch_first=True)"),
        ROWS_APART,
    ),
    "batch_for_the_time": Odd(
        "runs over the 8 along dimension 0",
        "nn.GRU",
        ROWS.format(made="self.inner = nn.GRU(4, 4)", runs="self.inner(rows)[0].amax(1)"),
        ("nn.GRU(4, 4)", "nn.GRU(4, 4, batch_first=True)"),
        ROWS_APART,
    ),
    "power_of_zero": Odd(
        "the power is 1 everywhere",
        "# focal",
        "gamma = 0\n"
        + LOOP.format(
            forward="p = net(x).softmax(1)[:, 0]\n    focus = torch.pow(1 - p, gamma)  # focal\n"
            "    loss = -(focus * p.log()).mean()"
        ),
        ("gamma = 0", "gamma = 2"),
        "not torch.equal(focus, torch.ones(8))",
    ),
}


def is_gone(odd: Odd, program: str) -> bool:
    """Say whether torch alone, without gradviz, shows the symptom no more."""
    names: dict[str, Any] = {}
    exec(program, names)
    return bool(eval(odd.gone, names))


@pytest.mark.filterwarnings("ignore:Full backward hook")  # of an input that requires no grad
@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_what_is_odd_is_told_and_its_mend_takes_it_away(odd: Odd) -> None:
    program = HEAD + odd.program
    answer = asked(program)
    assert answer.cause == "healthy"
    assert odd.says in answer.verdict, str(answer)
    (line,) = [n for n, one in enumerate(program.split("\n"), 1) if odd.at in one]
    assert line in answer.lines
    mended = program.replace(*odd.edit)
    assert mended != program
    assert odd.says not in str(asked(mended))
    assert not is_gone(odd, program)
    assert is_gone(odd, mended)


# --- what is alike and meant ----------------------------------------------------------------------

MEANT = {
    "the discriminator's step on detached samples": GAN.replace(
        "D(fake.detach()).mean()  #", "D(fake).mean()  #"
    ),
    "pairs of all": LOOP.format(
        forward="h = net(x)[:, 0]; loss = (h.unsqueeze(1) - h).pow(2).mean() + h.pow(2).mean()"
    ),
    "scores over the nodes": LOOP.format(
        forward="w = net(x).softmax(0); loss = ((w * x[:, :2]).sum(0) - 1).pow(2).mean()"
    ),
    "an argument that is read": TAU.replace(
        "self.tau * q.data + (1 - self.tau)", "tau * q + (1 - tau)"
    ),
    "steps first": ROWS.format(
        made="self.inner = nn.MultiheadAttention(4, 2)\n"
        "        self.places = nn.Parameter(torch.randn(3, 1, 4))",
        runs="self.inner(*[rows.transpose(0, 1) + self.places] * 3)[0].mean(0)",
    ),
    "a speaker for each sample, steps first": ROWS.format(
        made="self.inner = nn.GRU(4, 4); self.speaker = nn.Embedding(8, 4)",
        runs="self.inner(rows.transpose(0, 1) + self.speaker(torch.arange(8)))[0][-1]",
    ),
    "a batch of one, steps first": ROWS.format(
        made="self.inner = nn.GRU(4, 4)", runs="self.inner(rows[:, :1])[0][:, 0]"
    ),
    "a decay": LOOP.format(forward="loss = (torch.exp(-F.relu(net(x))) - 0.5).pow(2).mean()"),
    "one list of scores": LOOP.format(
        forward="wanted = torch.rand(8, 1).softmax(0)\n"
        "    loss = -(wanted * F.log_softmax(net(x)[:, :1], dim=0)).sum() + net(x).pow(2).mean()"
    ),
    "where in each row": "wanted = torch.rand(8, 3, 2).softmax(1)\nrows = torch.randn(8, 3, 4)\n"
    + LOOP.format(forward="loss = -(wanted * F.log_softmax(net(rows), dim=1)).sum(1).mean()"),
    "loaded once": "net.load_state_dict(copy.deepcopy(net.state_dict()))\n"
    + LOOP.format(forward="loss = F.cross_entropy(net(x), y)"),
}


@pytest.mark.parametrize("program", MEANT.values(), ids=MEANT)
def test_what_is_meant_is_not_told_so(program: str) -> None:
    text = str(asked(HEAD + program))
    assert not [odd.says for odd in ODD.values() if odd.says in text]
    assert "has no batch_first" not in text


# --- NaN ------------------------------------------------------------------------------------------

NAN = {
    "log_of_softmax": ("torch.log(F.softmax(s, 1))", "F.log_softmax(s, 1)", "F.log_softmax(…)"),
    "log_of_rest": (
        "torch.log(1 - F.softmax(s, 1))",
        "torch.log((1 - F.softmax(s, 1)).clamp(min=1e-6))",
        ".clamp(min=1e-6) of what",
    ),
    "log_of_sigmoid": ("torch.log(1 - torch.sigmoid(s))", "F.logsigmoid(-s)", "F.logsigmoid(-x)"),
    "clamp_at_one": (
        "torch.log(1 - torch.clamp(torch.sigmoid(s), 1e-8, 1 - 1e-8))",
        "torch.log(1 - torch.clamp(torch.sigmoid(s), 1e-6, 1 - 1e-6))",
        "is exactly 1 in float32",
    ),
    "exp": ("torch.exp(s)", "torch.exp(s.clamp(max=50))", "s = s.clamp(max=…)"),
    "root": ("torch.sqrt(s * 0)", "torch.sqrt(s * 0 + 1e-6)", "+ eps inside, before it"),
}


@pytest.mark.parametrize(("bad", "good", "says"), NAN.values(), ids=NAN)
def test_what_keeps_a_forward_finite(bad: str, good: str, says: str) -> None:
    program = HEAD + f"s = net(x * 1000)\nloss = -({bad}).mean()\nloss.backward()\n"
    answer = asked(program)
    assert answer.cause in ("nan", "exploding")
    assert says in answer.mend, answer.mend
    for text, is_finite in ((program, False), (program.replace(bad, good), True)):
        names: dict[str, Any] = {}
        exec(text, names)
        assert bool(torch.isfinite(names["net"].weight.grad).all()) is is_finite


def test_zeros_of_rows_that_never_meet_are_told_with_the_layer() -> None:
    program = HEAD + ROWS.format(
        made="self.inner = nn.MultiheadAttention(4, 2); self.of_each = nn.Linear(4, 4)",
        runs="self.inner(*[torch.cat([rows[:, :1], self.of_each(rows)], 1)] * 3)[0][:, 0]",
    )
    answer = asked(program)
    assert answer.cause == "zero_gradient"
    assert "has no batch_first=True" in answer.why
    mended = program.replace("Attention(4, 2)", "Attention(4, 2, batch_first=True)")
    assert asked(mended).cause == "healthy"


def test_steps_that_overshoot_are_told() -> None:
    program = HEAD + (
        "wanted = 3 * x[:, :2] * 30\n"
        "for i in range(60):\n"
        "    loss = F.mse_loss(net(x * 30), wanted)\n"
        "    opt.zero_grad()\n    loss.backward()\n    opt.step()\n"
    )
    assert "smaller learning rate" in asked(program).mend
    names: dict[str, Any] = {}
    exec(program.replace("lr=0.1", "lr=1e-4"), names)
    assert torch.isfinite(names["loss"])


ATTENDING = """
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2)
        self.choice = nn.ModuleDict({"near": nn.Linear(4, 4), "far": nn.Linear(4, 4)})
    def forward(self, x):
        return self.choice["near"](self.attention(x, x, x)[0])
model = Layer()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
loss = model(x).pow(2).mean()
loss.backward()
"""


def test_a_module_whose_weights_a_function_took_is_not_why_another_was_not_called() -> None:
    answer = asked(HEAD + ATTENDING)
    assert answer.cause == "branch_not_taken"
    assert "model.choice.far" in answer.verdict
    assert "out_proj" not in str(answer)
