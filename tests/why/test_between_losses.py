"""What several losses, networks and optimizers do to each other is told at its line; what only looks
like it is left alone."""

from __future__ import annotations

import pytest
from test_symptom import asked

from gradviz.graph.findings import Level

HEAD = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n"
GAN = """
G, D = nn.Linear(4, 8), nn.Linear(8, 1)
opt_g, opt_d = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
for step in range(3):
    real, fake = torch.randn(6, 8), G(torch.randn(6, 4))
    opt_d.zero_grad()
    d_loss = F.softplus(D({fake})).mean() + F.softplus(-D(real)).mean()
    d_loss.backward()
    opt_d.step()
    g_loss = F.softplus(-D(fake)).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
"""
MUTUAL = """
nets = [nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)) for _ in range(2)]
opts = [torch.optim.SGD(n.parameters(), lr=0.1) for n in nets]
x, y = torch.randn(6, 4), torch.randint(3, (6,))
outs = [n(x) for n in nets]
for i in range(2):
    peer = outs[1 - i].softmax(-1)
    near = F.kl_div(outs[i].log_softmax(-1), peer, reduction="batchmean")
    loss = F.cross_entropy(outs[i], y) + near
    opts[i].zero_grad()
    loss.backward()
    opts[i].step()
"""
PENALTY = """
class Trainer:
    def __init__(self):
        self.G, self.D = nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        self.opt = torch.optim.SGD(self.D.parameters(), 0.1)
    def penalty(self, samples):
        mixed = 0.5 * samples + 0.5
        mixed.requires_grad_(True)
        g, = torch.autograd.grad(self.D(mixed).sum(), mixed, create_graph=True)
        return (g.norm(dim=1) - 1).pow(2).mean()
    def step_d(self):
        loss = self.D(self.fake.detach()).mean() + self.penalty(self.fake)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
    def run(self, z):
        self.fake = self.G(z)
        for _ in range(2):
            self.step_d()
trainer = Trainer()
trainer.run(torch.randn(5, 3))
"""
STATE = """
class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.h = nn.GRUCell(3, 4), torch.zeros(2, 4)
    def forward(self, xs):
        for x in xs:
            self.h = self.cell(x, self.h)
        return self.h
m = Memory()
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for epoch in range(3):
    m.h.fill_(0)
    loss = m(torch.randn(4, 2, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
LEFT = """
G, D = nn.Linear(4, 8), nn.Linear(8, 1)
opt_g, opt_d = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
for step in range(3):
    real, fake = torch.randn(6, 8), G(torch.randn(6, 4))
    d_loss = F.softplus(D(fake.detach())).mean() + F.softplus(-D(real)).mean()
    d_loss.backward()
    opt_d.step()
    opt_d.zero_grad()
    g_loss = F.softplus(-D(fake)).mean()
    g_loss.backward()
    opt_g.step()
    opt_g.zero_grad()
"""
DROPPED = """
enc, dec = nn.Linear(6, 4), nn.Linear(2, 6)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()])
x = torch.randn(8, 6)
for _ in range(2):
    mu, logvar = enc(x).chunk(2, -1)
    recon = F.mse_loss(dec(mu + torch.randn_like(mu) * (0.5 * logvar).exp()), x)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).mean()
    total = recon + 0.1 * kl
    opt.zero_grad()
    recon.backward()
    opt.step()
    print(total.item())
"""
PENALIZED = """
D = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(D.parameters())
x = torch.randn(5, 3, requires_grad=True)
g = torch.autograd.grad(D(x).sum(), x)[0]
gp = (g.norm(2, dim=1) - 1).pow(2).mean()
loss = -D(x).mean() + 10 * gp
loss.backward()
opt.step()
"""
META = """
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
x, y = torch.randn(5, 3), torch.randn(5, 1)
grads = torch.autograd.grad(F.mse_loss(net(x), y), list(net.parameters()))
w, b = [p - 0.1 * g for p, g in zip(net.parameters(), grads)]
outer = F.mse_loss(F.linear(x, w, b), y)
outer.backward()
opt.step()
"""
TWICE = """
G, D = nn.Linear(3, 4), nn.Linear(4, 1)
opt_g = torch.optim.Adam(G.parameters())
opt_d = torch.optim.Adam(G.parameters())
for _ in range(2):
    fake = G(torch.randn(5, 3))
    d_loss = D(torch.randn(5, 4)).mean() - D(fake.detach()).mean()
    opt_d.zero_grad(); d_loss.backward(); opt_d.step()
    g_loss = D(fake).mean()
    opt_g.zero_grad(); g_loss.backward(); opt_g.step()
"""
TOLD = {
    "a generator's output": (GAN.format(fake="fake"), "second_backward/let_in", "d_loss = "),
    "a peer's output": (MUTUAL, "second_backward/let_in_anew", "near ="),
    "samples of a penalty": (PENALTY, "second_backward/let_in", "loss = self.D("),
    "a state that is wiped": (STATE, "second_backward/wiped_in_place", "m.h.fill_"),
    "left by a loss": (LEFT, "gradients_pile_up/left_and_cleared_elsewhere", "g_loss.backward"),
    "a part of a sum": (DROPPED, "not_in_loss/part_dropped", "total ="),
    "a penalty without a graph": (PENALIZED, "constant_summand/without_graph", "g = "),
    "inner gradients": (META, "first_order/in_loss", "grads ="),
    "the same parameters twice": (TWICE, "not_moved/twice_held", "opt_d ="),
}
ALONE = {
    "a GAN": GAN.format(fake="fake.detach()"),
    "cleared in time": LEFT.replace(
        "    d_loss.backward()", "    opt_d.zero_grad()\n    d_loss.backward()"
    ),
    "what the step between used came from a third loss": """
G, D = nn.Linear(4, 3), nn.Linear(3, 1)
opt_g, opt_d = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (G, D))
x = torch.randn(5, 4)
fake = D(G(x)).mean(); fake.backward()
opt_g.zero_grad()
size = G(x).pow(2).mean(); size.backward()
opt_g.step()
real = D(torch.randn(5, 3)).pow(2).mean(); real.backward()
opt_d.step()
""",
    "two losses, one step": """
net, a, b = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
opt = torch.optim.SGD([*net.parameters(), *a.parameters(), *b.parameters()], lr=0.1)
x = torch.randn(5, 4)
for _ in range(3):
    opt.zero_grad()
    one = a(net(x)).pow(2).mean(); one.backward()
    two = b(net(x)).pow(2).mean(); two.backward()
    opt.step()
""",
    "a part that is stepped seldom": """
enc, head = nn.Linear(4, 4), nn.Linear(4, 1)
slow, fast = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (enc, head))
for i in range(4):
    loss = head(enc(torch.randn(5, 4))).pow(2).mean()
    loss.backward()
    fast.step(); fast.zero_grad()
    if i % 2:
        slow.step(); slow.zero_grad()
""",
    "a total that is shown": """
a, b = nn.Linear(4, 1), nn.Linear(4, 1)
opt = torch.optim.SGD([*a.parameters(), *b.parameters()], lr=0.1)
x = torch.randn(5, 4)
for _ in range(2):
    one, two = a(x).pow(2).mean(), b(x).pow(2).mean()
    total = one + two
    opt.zero_grad(); one.backward(); two.backward(); opt.step()
    print(total.item())
""",
    "the whole sum": DROPPED.replace("recon.backward()", "total.backward()"),
    "a penalty with a graph": PENALIZED.replace("x)[0]", "x, create_graph=True)[0]"),
    "an attack": """
net = nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(5, 3), torch.randint(2, (5,))
moved = x.clone().requires_grad_()
g, = torch.autograd.grad(F.cross_entropy(net(moved), y), moved)
loss = F.cross_entropy(net(x + 0.1 * g.sign()), y)
loss.backward()
opt.step()
""",
    "descent by hand": """
w, x = torch.randn(3, 1, requires_grad=True), torch.randn(8, 3)
for _ in range(3):
    g, = torch.autograd.grad((x @ w).pow(2).mean(), w)
    with torch.no_grad():
        w -= 0.1 * g
loss = (x @ w).pow(2).mean()
loss.backward()
""",
    "two optimizers for all there is": """
net = nn.Linear(3, 1)
first, then = torch.optim.Adam(net.parameters()), torch.optim.SGD(net.parameters(), lr=0.1)
for opt in (first, then):
    loss = net(torch.ones(2, 3)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
}


@pytest.mark.parametrize(("program", "found", "line"), TOLD.values(), ids=TOLD.keys())
def test_it_is_told_at_its_line(program: str, found: str, line: str) -> None:
    told = asked(HEAD + program)
    assert f"{told.cause}/{told.form}" == found
    lines = (HEAD + program).splitlines()
    assert any(line in lines[n - 1] for n in told.lines)


@pytest.mark.parametrize("program", ALONE.values(), ids=ALONE.keys())
def test_what_looks_like_it_is_left_alone(program: str) -> None:
    told = asked(HEAD + program)
    assert told.cause.level <= Level.NOTE, str(told)
    assert told.cause != "first_order"


def test_what_is_computed_once_is_told_as_such() -> None:
    """No optimizer has what the loss reads, and nothing detaches it elsewhere."""
    once = """
emb, head = nn.Linear(4, 4), nn.Linear(4, 1)
opt = torch.optim.SGD(head.parameters(), lr=0.1)
h = torch.tanh(emb(torch.randn(5, 4)))
for i in range(3):
    loss = head(h).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
"""
    assert asked(HEAD + once).form == "once"


# --- plain tensors, snapshots ---------------------------------------------------------------------

MODULE = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.kept = {made}
    def forward(self, x):
        return {result}
net = Net()
opt = torch.optim.Adam(net.parameters())
loss = net(torch.randn(5, 4)).pow(2).mean()
loss.backward()
opt.step()
"""
KEPT_LIKE_WEIGHTS = {
    "a gate": ("torch.zeros(4).to('cpu')", "self.fc(x) * torch.sigmoid(self.kept)"),
    "a matrix": ("torch.randn(4, 4) * 0.1", "self.fc(x) @ self.kept"),
}
KEPT_OTHERWISE = {
    "a parameter": ("nn.Parameter(torch.zeros(4))", "self.fc(x) + self.kept"),
    "what moves the data": ("torch.ones(4)", "self.fc(x - self.kept)"),
    "positions": ("torch.arange(4.0).sin()", "self.fc(x) + self.kept"),
    "a causal mask": (
        "torch.full((4,), -torch.inf).triu()",
        "(self.fc(x) + self.kept).softmax(-1)",
    ),
}


@pytest.mark.parametrize("case", KEPT_LIKE_WEIGHTS.values(), ids=KEPT_LIKE_WEIGHTS.keys())
def test_a_plain_tensor_that_is_begun_like_weights_is_told(case: tuple[str, str]) -> None:
    told = asked(HEAD + MODULE.format(made=case[0], result=case[1]))
    assert told.cause == "never_tracked", str(told)
    assert told.cause.level is Level.NOTE
    assert told.lines == (9,)
    assert "net.kept" in told.verdict


def test_plain_tensors_are_told_as_zeros_only_where_all_of_them_are() -> None:
    program = MODULE.format(made="torch.zeros(4)", result="self.fc(x) * self.gate + self.kept")
    second = "        self.gate = torch.ones(4)\n    def forward"
    told = asked(HEAD + program.replace("    def forward", second))
    assert (told.form, told.lines) == ("plain_tensor", (9, 10))
    assert "net.{kept,gate} are plain tensors" in told.verdict


def test_a_long_way_from_a_plain_tensor_to_the_loss_is_gone() -> None:
    deep = "        h = self.kept\n        for _ in range(1200):\n            h = -h\n"
    program = MODULE.format(made="torch.zeros(4)", result="self.fc(x) + h")
    told = asked(HEAD + program.replace("        return", f"{deep}        return"))
    assert told.form == "plain_zeros"


@pytest.mark.parametrize("case", KEPT_OTHERWISE.values(), ids=KEPT_OTHERWISE.keys())
def test_a_plain_tensor_that_may_be_a_constant_is_none(case: tuple[str, str]) -> None:
    assert not asked(HEAD + MODULE.format(made=case[0], result=case[1])).form.startswith("plain")


def test_of_a_sum_all_parts_that_a_backward_was_called_on_are_named() -> None:
    program = """
net = nn.Linear(3, 1)
fit, size, off = net(torch.ones(2, 3)).pow(2).mean(), net.weight.pow(2).sum(), net.bias.abs().sum()
total = fit + size + off
fit.backward(retain_graph=True)
size.backward(retain_graph=True)
"""
    told = asked(HEAD + program)
    assert told.form == "part_dropped"
    assert told.verdict.startswith("off sends no gradient: the backwards are those of fit and size")


def test_a_step_by_hand_through_data_moves_what_it_writes() -> None:
    by_hand = "[p.data.sub_(0.1 * p.grad) for p in D.parameters()]"
    told = asked(HEAD + GAN.format(fake="fake").replace("opt_d.step()", by_hand))
    assert f"{told.cause}/{told.form}" == "second_backward/let_in"


SNAPSHOT = """
import copy
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
best = {kept}
for _ in range(3):
    loss = net(torch.ones(4, 3)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
{after}
"""


def test_a_state_dict_that_is_used_after_the_last_step_is_told_where_it_was_taken() -> None:
    told = asked(HEAD + SNAPSHOT.format(kept="net.state_dict()", after="net.load_state_dict(best)"))
    assert told.cause == "shared_snapshot"
    assert told.lines == (8,)
    assert "best['weight'] is no snapshot" in told.verdict


@pytest.mark.parametrize(
    ("kept", "after"),
    [
        ("copy.deepcopy(net.state_dict())", "net.load_state_dict(best)"),
        ("net.state_dict()", "print(loss.item())"),
        ("0", "best = net.state_dict(); nn.Linear(3, 1).load_state_dict(best)"),
    ],
)
def test_a_copy_and_a_state_that_nothing_uses_later_are_none(kept: str, after: str) -> None:
    assert asked(HEAD + SNAPSHOT.format(kept=kept, after=after)).cause == "healthy"


SHARING = {
    "compared": ("{n: p.data for n, p in net.named_parameters()}", "net.weight - best['weight']"),
    "in a list": ("[p.detach() for p in net.parameters()]", "torch.equal(net.weight, best[0])"),
    "loaded again": (
        "{n: p.data for n, p in net.named_parameters()}",
        "nn.Linear(3, 1).load_state_dict(best)",
    ),
}
APART = {
    "copies": (
        "{n: p.data.clone() for n, p in net.named_parameters()}",
        "net.weight - best['weight']",
    ),
    "looked at": ("{n: p.data for n, p in net.named_parameters()}", "best['weight'].norm()"),
    "written through": (
        "{n: p.data for n, p in net.named_parameters()}",
        "best['weight'].clamp_(-1, 1); net.weight - best['weight']",
    ),
    "of another net": (
        "{n: p.data for n, p in nn.Linear(3, 1).named_parameters()}",
        "net.weight - best['weight']",
    ),
}


@pytest.mark.parametrize("case", SHARING.values(), ids=SHARING.keys())
def test_kept_values_that_share_memory_and_are_used_as_they_were_are_told(
    case: tuple[str, str],
) -> None:
    told = asked(HEAD + SNAPSHOT.format(kept=case[0], after=case[1]))
    assert (told.cause, told.lines) == ("shared_snapshot", (8,)), str(told)


@pytest.mark.parametrize("case", APART.values(), ids=APART.keys())
def test_kept_values_that_are_copies_or_only_looked_at_are_none(case: tuple[str, str]) -> None:
    assert asked(HEAD + SNAPSHOT.format(kept=case[0], after=case[1])).cause == "healthy"


def test_what_load_state_dict_says_is_no_snapshot() -> None:
    kept = "nn.Linear(3, 1).load_state_dict(net.state_dict())"
    assert asked(HEAD + SNAPSHOT.format(kept=kept, after="print(best)")).cause == "healthy"


@pytest.mark.parametrize("divided", ["h / size", "h * (1 / size)", "h * (size * 1).reciprocal_()"])
def test_what_may_have_made_nan_unseen_is_listed(divided: str) -> None:
    told = asked(
        HEAD
        + f"""
net, x = nn.Linear(3, 5), torch.zeros(9, 3)
h = net(x) - net(x)
size = torch.sqrt((h * h).sum(-1, keepdim=True))
loss = ({divided}).sum()
loss.backward()
"""
    )
    assert told.cause == "nan"
    assert {7, 8} <= set(told.lines)
