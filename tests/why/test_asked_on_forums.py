"""Silent faults as people ask about them on forums: each is observed at its line, under the
condition that makes it a fault, and the change that the sentence proposes takes it away. Beside
each stand programs that are alike, and in which nothing is to be told."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from test_symptom import asked

HEAD = """
import io, torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
"""
TRAINED = """
opt = torch.optim.SGD([p for m in {models} for p in m.parameters()], lr=0.01)
for _ in range(3):
    {loss}
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


class Fault(NamedTuple):
    """One fault.

    Attributes:
        says: words of its sentence.
        at: the text of the line that it names.
        program: in which it is, after ``HEAD``.
        fix: what the sentence proposes to replace, by what.
        alike: what is replaced by what in programs in which nothing is wrong.
    """

    says: str
    at: str
    program: str
    fix: tuple[str, str]
    alike: tuple[tuple[str, str], ...] = ()


def trained(loss: str, models: str = "(net,)") -> str:
    """Return a loop that trains models by a loss."""
    return TRAINED.format(loss=loss, models=models)


AGAIN = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 3)
        self.mid = nn.Linear(4, 4)
        self.act = nn.ReLU()
    def forward(self, x):
        h = self.act(self.first(x))
        h = self.act(self.mid(h))  # once
        h = self.act(self.mid(h))  # again
        return self.last(h)
net = Net()
"""
GAN = """
G, D = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt_g = torch.optim.SGD(G.parameters(), lr=0.01)
opt_d = torch.optim.SGD(D.parameters(), lr=0.01)
for _ in range(3):
    fake = G(torch.randn(16, 2))
    d_loss = D(fake.detach()).mean() - D(x).mean()
    opt_d.zero_grad(); d_loss.backward(); opt_d.step()
    score = fake  # unscored
    g_loss = -score.mean()
    opt_g.zero_grad(); g_loss.backward(); opt_g.step()
"""
SHUFFLED = """
net = nn.Linear(4, 3)
""" + TRAINED.format(
    models="(net,)",
    loss="one, other = torch.randperm(16), torch.randperm(16)\n"
    "    a, b = x[one], y[other]\n"
    "    loss = F.cross_entropy(net(a), b)",
)
RATIO = """
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
""" + trained(
    "new = net(x).log_softmax(1).gather(1, y[:, None])\n"
    "    old = net(x).log_softmax(1).gather(1, y[:, None])\n"
    "    loss = -((new - old).exp() * x[:, :1].mean()).mean()"
)
VALIDATED = (
    "net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))"
    + trained("loss = F.cross_entropy(net(x), y)")
    + """
pass
with torch.no_grad():
    right = (net(x[:4]).argmax(1) == y[:4]).sum().item()  # measured
"""
)
OVER_BATCH = "net = nn.Linear(4, 3)" + trained(
    "log_p = F.log_softmax(net(x), dim=0)\n"
    "    loss = -(F.one_hot(y, 3).float() * log_p).sum(1).mean()"
)
LOADED = """
old = nn.ModuleDict({"module": nn.Linear(4, 3)})
state = old.state_dict()
net = nn.Linear(4, 3)
net.load_state_dict(state, strict=False)  # lenient
""" + trained("loss = F.cross_entropy(net(x), y)")
SCALED = (
    """
class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = torch.zeros(4)  # plain
        self.lin = nn.Linear(4, 3)
    def fit(self, x):
        self.mean = x.mean(0)
    def forward(self, x):
        return self.lin(x - self.mean)
net, again = Scaled(), Scaled()
net.fit(x)
"""
    + trained("loss = F.cross_entropy(net(x), y)")
    + """
again.load_state_dict(net.state_dict())
with torch.no_grad():
    other = again(x).argmax(1)
"""
)
IGNORED = """
net = nn.Linear(4, 3)
criterion = nn.CrossEntropyLoss(ignore_index=0)
""" + trained("loss = criterion(net(x), y)")
COPIED = """
data = torch.randint(0, 5, (40,))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(5, 8), nn.Linear(8, 5)
        self.rnn = nn.GRU(8, 8, batch_first=True)
    def forward(self, tokens):
        return self.head(self.rnn(self.embed(tokens))[0])
net = Net()
def batch():
    starts = [0, 7, 12]
    inputs = torch.stack([data[s:s + 9] for s in starts])
    targets = torch.stack([data[s:s + 9] for s in starts])  # targets
    return inputs, targets
""" + trained(
    "inputs, targets = batch()\n"
    "    loss = F.cross_entropy(net(inputs).reshape(-1, 5), targets.reshape(-1))"
)
FALLING = """
net, out = nn.Linear(4, 4), nn.Linear(2, 4)
opt = torch.optim.Adam([*net.parameters(), *out.parameters()], lr=0.1)
for _ in range(60):
    mu, logvar = net(x).chunk(2, 1)
    z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
    kl = 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())  # sign
    loss = F.mse_loss(out(z), x) + kl
    opt.zero_grad()
    loss.backward()
    opt.step()
"""

FAULTS = {
    "layer again": Fault(
        "is called 2 times in one forward",
        "# again",
        AGAIN + trained("loss = F.cross_entropy(net(x), y)"),
        ("self.mid(h))  # again", "nn.functional.linear(h, torch.eye(4)))"),
        (
            ("h = self.act(self.mid(h))  # again", "h = self.act(h)"),  # no weights
            ("self.mid = nn.Linear(4, 4)", "self.mid = nn.LayerNorm(4, elementwise_affine=False)"),
            ("self.mid = nn.Linear(4, 4)", "self.mid = nn.BatchNorm1d(4, affine=False)"),
            ("h = self.act(self.mid(h))  # again", "h = h + self.act(self.mid(x))"),  # two inputs
            (
                "h = self.act(self.mid(h))  # once\n        h = self.act(self.mid(h))  # again",
                "for _ in range(2): h = self.act(self.mid(h))",
            ),
        ),
    ),
    "unscored": Fault(
        "which does not go through D",
        "g_loss = ",
        GAN,
        ("score = fake", "score = D(fake)"),
        (
            ("- D(x).mean()", ""),  # a probe: it judges nothing else
            ("fake.detach()", "torch.rand(16, 4)"),
            # frozen meanwhile: a gradient goes through it all the same
            ("score = fake", "D.requires_grad_(False); score = D(fake); D.requires_grad_(True)"),
        ),
    ),
    "shuffled apart": Fault(
        "meets the target of its row by chance only",
        "a, b = x[one]",
        SHUFFLED,
        ("y[other]", "y[one]"),
        (
            ("F.cross_entropy(net(a), b)", "F.cross_entropy(net(x), y) + net(a).mean()"),
            ("net(a), b)", "0.7 * net(x) + 0.3 * net(a), y)"),
        ),
    ),
    "difference of alike": Fault(
        "computed alike by the same weights from the same input: 0 each time",
        "loss = -((new - old)",
        RATIO,
        ("old = net(x)", "old = net(x).detach()"),
        (
            ("old = net(x)", "old = net(x + 1)"),
            ("nn.Tanh()", "nn.Dropout(0.5)"),
            ("(new - old)", "(new[1:] - new[:-1])"),  # each with the one before
        ),
    ),
    "validated with batch statistics": Fault(
        "took mean and variance of that batch",
        "# measured",
        VALIDATED,
        ("\npass\n", "\nnet.eval()\n"),
        (
            ("right = (net(x[:4]).argmax(1) == y[:4]).sum().item()", "net(x[:4])"),  # renewed
            ("nn.BatchNorm1d(4)", "nn.BatchNorm1d(4, track_running_stats=False)"),
        ),
    ),
    "over the batch": Fault(
        "takes log_softmax over dimension 0",
        "log_p = ",
        OVER_BATCH,
        ("dim=0", "dim=1"),
        (("F.one_hot(y, 3).float() * log_p", "x[:, :3] * log_p"),),  # weights over the nodes
    ),
    "nothing loaded": Fault(
        "loads nothing: none of the 2 names",
        "# lenient",
        LOADED,
        ("(state, strict", "({k.removeprefix('module.'): v for k, v in state.items()}, strict"),
        (
            ('nn.ModuleDict({"module": nn.Linear(4, 3)})', "nn.Linear(4, 3, bias=False)"),
            ("net.load_state_dict(", "missing = net.load_state_dict("),
        ),
    ),
    "not saved": Fault(
        "which state_dict() leaves out",
        "# plain",
        SCALED,
        ("self.mean = torch.zeros(4)", "self.register_buffer('mean', torch.zeros(4))"),
        (
            ("net.fit(x)", "net.fit(x); again.fit(x)"),
            ("again.load_state_dict(net.state_dict())", ""),
        ),
    ),
    "class left out": Fault(
        "leaves out the targets that are 0",
        "criterion = ",
        IGNORED,
        ("ignore_index=0", ""),
        (
            ("ignore_index=0", "ignore_index=255"),
            ("net = nn.Linear(4, 3)", "net = nn.Linear(4, 3); y[y == 0] = 1"),
        ),
    ),
    "equal targets": Fault(
        "holds the numbers of inputs",
        "# targets",
        COPIED,
        ("data[s:s + 9] for s in starts])  # targets", "data[s + 1:s + 10] for s in starts])"),
        (("return inputs, targets", "return inputs.roll(1, 0), targets"),),
    ),
    "minus an exponential": Fault(
        "stands in loss with a minus, and has no end",
        "# sign",
        FALLING,
        ("kl = 0.5", "kl = -0.5"),
        (
            (  # a density: its logarithm may grow as well, as the deviation gets small
                "kl = 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())",
                "kl = 30 * torch.sum(logvar + mu.pow(2) + (-logvar).exp()) - 9000",
            ),
        ),
    ),
}
ALIKE = {
    f"{name} {at}": (fault, alike)
    for name, fault in FAULTS.items()
    for at, alike in enumerate(fault.alike)
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_is_told_at_its_line_until_it_is_mended(fault: Fault) -> None:
    program = HEAD + fault.program
    answer = asked(program)
    text = " ".join(str(answer).split())
    line = next(n for n, text in enumerate(program.split("\n"), 1) if fault.at in text)
    assert fault.says in text
    assert line in answer.lines
    assert "If " in text or "dim=1 there" in text
    assert fault.fix[0] in program
    mended = " ".join(str(asked(program.replace(*fault.fix))).split())
    assert fault.says not in mended


@pytest.mark.parametrize(("fault", "alike"), ALIKE.values(), ids=ALIKE)
def test_what_is_alike_and_meant_is_not_told(fault: Fault, alike: tuple[str, str]) -> None:
    assert alike[0] in fault.program
    text = " ".join(str(asked(HEAD + fault.program.replace(*alike))).split())
    assert fault.says not in text


def test_of_two_layers_the_one_that_is_called_twice_is_told_beside_the_one_that_never_is() -> None:
    program = HEAD + AGAIN.replace("self.act = ", "self.mid2, self.act = nn.Linear(4, 4), ")
    program += trained("loss = F.cross_entropy(net(x), y)")
    answer = asked(program)
    text = " ".join(str(answer).split())
    assert answer.cause == "branch_not_taken"
    assert "self.mid is called 2 times in one forward" in text
    assert next(n for n, t in enumerate(program.split("\n"), 1) if "# again" in t) in answer.lines
    mended = asked(program.replace("self.mid(h))  # again", "self.mid2(h))"))
    assert "2 times in one forward" not in str(mended)
