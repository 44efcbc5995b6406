"""Lines that do another thing than they look like, each told with its line, beside programs that
are alike and in which it is not told: mended by what the answer says, or meant so."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from test_account import HEAD, line
from test_symptom import asked


class Odd(NamedTuple):
    """A program in which something is told.

    Attributes:
        name: of the case.
        says: words of the answer.
        at: words of the one line that it names.
        program: the program.
        others: edits, as old and new text, after which it is not told.
    """

    name: str
    says: str
    at: str
    program: str
    others: tuple[tuple[str, str], ...]


STEP = """
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
DATA = "x, y = torch.randn(16, 4), torch.randint(3, (16,))\n"
SGD = "opt = torch.optim.SGD(net.parameters(), lr=0.01)\n"
ODD = [
    Odd(
        "a sign beside the equals sign",
        "loss += …",
        "loss =+ ",
        "net = nn.Linear(4, 3)\n"
        + DATA
        + SGD
        + "for _ in range(2):\n    out = net(x)\n    loss = 0\n    for part in (out, out * 2):\n"
        + "        loss =+ F.cross_entropy(part, y)"
        + STEP,
        (("loss =+ F", "loss += F"), ("loss =+ F", "loss = +F")),
    ),
    Odd(
        "a seed in the loop",
        "draws the same numbers every time",
        "torch.manual_seed(7)",
        "net = nn.Linear(4, 3)\n"
        + DATA
        + SGD
        + "for i in range(3):\n    torch.manual_seed(7)\n"
        + "    loss = F.cross_entropy(net(x + torch.randn_like(x)), y)"
        + STEP,
        (
            ("manual_seed(7)", "manual_seed(7 + i)"),
            (
                "for i in range(3):\n    torch.manual_seed(7)",
                "torch.manual_seed(7)\nfor i in range(3):",
            ),
            ("x + torch.randn_like(x)", "x"),
        ),
    ),
    Odd(
        "a cell without its state",
        "begins at a state of zeros",
        "h = self.cell(x)",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.fc = nn.GRUCell(4, 5), nn.Linear(5, 3)
    def forward(self, xs):
        h = torch.zeros(xs.size(1), 5)
        for x in xs:
            h = self.cell(x)
        return self.fc(h)
net = Net()
xs, y = torch.randn(3, 8, 4), torch.randint(3, (8,))
"""
        + SGD
        + "for _ in range(2):\n    loss = F.cross_entropy(net(xs), y)"
        + STEP,
        (
            ("self.cell(x)", "self.cell(x, h)"),
            ("        for x in xs:\n            h = self.cell(x)", "        h = self.cell(xs[0])"),
        ),
    ),
    Odd(
        "a step over scaled gradients",
        "nothing divides them by that scale",
        "scaler.scale(loss).backward()",
        "net = nn.Linear(4, 3)\n"
        + DATA
        + SGD
        + """scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
for _ in range(2):
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    scaler.scale(loss).backward()
    opt.step()
""",
        (
            ("    opt.step()", "    scaler.step(opt)\n    scaler.update()"),
            ("    opt.step()", "    scaler.unscale_(opt)\n    opt.step()"),
            ("scaler.scale(loss).backward()", "loss.backward()"),
        ),
    ),
    Odd(
        "a norm of one number",
        "normalises each number by itself",
        "self.norm(self.fc(x))",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.norm = nn.Linear(4, 1), nn.LayerNorm(1)
    def forward(self, x):
        return self.norm(self.fc(x)).squeeze(-1)
net = Net()
x, y = torch.randn(16, 4), torch.randn(16)
"""
        + SGD
        + "for _ in range(2):\n    loss = (net(x) - y).pow(2).mean()"
        + STEP,
        (
            ("self.norm(self.fc(x))", "self.fc(x)"),
            (
                "nn.Linear(4, 1), nn.LayerNorm(1)",
                "nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 1)), nn.Identity()",
            ),
        ),
    ),
    Odd(
        "a distance between equals",
        "which are computed alike",
        "loss = F.triplet_margin_loss",
        "net = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))\n"
        + SGD
        + """a, p, n = torch.randn(3, 8, 4)
for _ in range(2):
    one, other, far = net(a), net(a), net(n)
    loss = F.triplet_margin_loss(one, other, far)
"""
        + STEP,
        (
            ("net(a), net(a)", "net(a), net(p)"),
            ("net(a), net(a), net(n)", "(net(a)[i : i + 2] for i in (0, 2, 4))"),
            ("nn.ReLU()", "nn.Dropout(0.5)"),
        ),
    ),
    Odd(
        "a ratio of a value to itself",
        "from itself",
        "ratio = (logp - old).exp()",
        """
net = nn.Linear(4, 3)
x, reward = torch.randn(16, 4), torch.randn(16)
"""
        + SGD
        + """for _ in range(2):
    dist = torch.distributions.Categorical(logits=net(x))
    action = dist.sample()
    logp = dist.log_prob(action)
    old = logp
    ratio = (logp - old).exp()
    loss = -(ratio * reward).mean()
"""
        + STEP,
        (("old = logp", "old = logp.detach()"), ("(logp - old).exp()", "logp")),
    ),
    Odd(
        "weights that are copied, not tied",
        "are two parameters",
        "nn.Parameter(self.embed.weight.clone())",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(7, 4), nn.Linear(4, 7, bias=False)
        self.out.weight = nn.Parameter(self.embed.weight.clone())
    def forward(self, t):
        return self.out(self.embed(t))
net, t = Net(), torch.randint(7, (9,))
"""
        + SGD
        + "for _ in range(2):\n    loss = F.cross_entropy(net(t[:-1]), t[1:])"
        + STEP,
        (
            ("nn.Parameter(self.embed.weight.clone())", "self.embed.weight"),
            ("nn.Parameter(self.embed.weight.clone())", "nn.Parameter(torch.randn(7, 4))"),
        ),
    ),
    Odd(
        "learned weights of losses",
        "does nothing but multiply losses",
        "loss = (net.w * losses).sum()",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.w = nn.Linear(4, 3), nn.Parameter(torch.ones(2))
net = Net()
"""
        + DATA
        + SGD
        + """for _ in range(2):
    out = net.fc(x)
    losses = torch.stack([F.cross_entropy(out, y), F.mse_loss(out[:, 0], x[:, 0])])
    loss = (net.w * losses).sum()
"""
        + STEP,
        (
            ("(net.w * losses).sum()", "(torch.exp(-net.w) * losses + net.w).sum()"),
            ("(net.w * losses).sum()", "(net.w.softmax(0) * losses).sum()"),
            ("lr=0.01", "lr=0.01, maximize=True"),
        ),
    ),
    Odd(
        "a list of losses in the loop",
        "went into a loss: nothing reads the others",
        "losses.append(F.mse_loss",
        "net = nn.Linear(4, 4)\nxs = torch.randn(6, 5, 4)\n"
        + SGD
        + """for _ in range(2):
    for t in range(5):
        losses = []
        losses.append(F.mse_loss(net(xs[t]), xs[t + 1]))
    loss = torch.stack(losses).mean()
"""
        + STEP,
        (
            (
                "    for t in range(5):\n        losses = []",
                "    losses = []\n    for t in range(5):",
            ),
            ("range(5)", "range(1)"),
        ),
    ),
    Odd(
        "a hook that is given the parameter",
        "is given the parameter, and not its gradient",
        "grad[:2] = 0",
        """
net = nn.Linear(4, 3)
def keep(grad):
    grad[:2] = 0
net.weight.register_post_accumulate_grad_hook(keep)
"""
        + DATA
        + SGD
        + "for _ in range(2):\n    loss = F.cross_entropy(net(x), y)"
        + STEP,
        (
            ("grad[:2] = 0", "grad.grad[:2] = 0"),
            (
                "def keep(grad):\n    grad[:2] = 0",
                "def keep(weight):\n    weight.data.clamp_(-1, 1)",
            ),
        ),
    ),
    Odd(
        "groups that two optimizers share",
        "was made with a learning rate of 0.5, and steps with 0.01",
        "second = torch",
        """
net = nn.Linear(4, 3)
groups = [{"params": net.parameters()}]
opt = torch.optim.SGD(groups, lr=0.01)
second = torch.optim.SGD(groups, lr=0.5)
"""
        + DATA
        + "for _ in range(2):\n    loss = F.cross_entropy(net(x), y)"
        + STEP
        + "    second.step()\n",
        (
            ("second = torch.optim.SGD(groups", "second = torch.optim.SGD(net.parameters()"),
            ("lr=0.5", "lr=0.01"),
        ),
    ),
    Odd(
        "a bound below 0",
        "which is below 0: it turned them around",
        "nn.utils.clip_grad_norm_",
        "net = nn.Linear(4, 3)\n"
        + DATA
        + SGD
        + """for _ in range(2):
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), -0.5)
    opt.step()
""",
        (("-0.5", "0.5"),),
    ),
    Odd(
        "a gradient that is read when it is cleared",
        "To see a gradient: read between that backward() and that clearing.",
        "seen.append(net.weight.grad)",
        "net = nn.Linear(4, 3)\nseen = []\n"
        + DATA
        + SGD
        + """for _ in range(3):
    seen.append(net.weight.grad)
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
    opt.zero_grad()
""",
        (
            ("    seen.append(net.weight.grad)\n", ""),
            ("    seen.append(net.weight.grad)", "    if net.weight.grad is not None: print(1)"),
        ),
    ),
    Odd(
        "a backward that forgets the mean",
        "divides by nothing",
        "given = g * 2 * (p - y)",
        """
class Squares(torch.autograd.Function):
    @staticmethod
    def forward(ctx, p, y):
        ctx.save_for_backward(p, y)
        return ((p - y) ** 2).mean()
    @staticmethod
    def backward(ctx, g):
        p, y = ctx.saved_tensors
        given = g * 2 * (p - y)
        return given, None
net, x, y = nn.Linear(4, 1), torch.randn(16, 4), torch.randn(16, 1)
"""
        + SGD
        + "for _ in range(2):\n    loss = Squares.apply(net(x), y)"
        + STEP,
        (("2 * (p - y)", "2 * (p - y) / p.numel()"), (".mean()", ".sum()")),
    ),
]


def told(program: str) -> str:
    """Return all that is answered to a program, without its line breaks."""
    return " ".join(str(asked(program)).split())


@pytest.mark.parametrize("odd", ODD, ids=[odd.name for odd in ODD])
def test_what_a_line_does_is_told(odd: Odd) -> None:
    answer = asked(HEAD + odd.program)
    assert odd.says in " ".join(str(answer).split())
    assert line(HEAD + odd.program, odd.at) in answer.lines


@pytest.mark.parametrize(
    ("odd", "edit"),
    [(odd, edit) for odd in ODD for edit in odd.others],
    ids=[f"{odd.name} {n}" for odd in ODD for n, _ in enumerate(odd.others)],
)
def test_where_it_does_not_nothing_is_told(odd: Odd, edit: tuple[str, str]) -> None:
    assert edit[0] in odd.program
    assert odd.says not in told(HEAD + odd.program.replace(*edit))


# --- what leads -----------------------------------------------------------------------------------


def test_layers_that_are_added_late_lead_before_one_that_nothing_used_yet() -> None:
    program = (
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks, self.out = nn.ModuleList(), nn.Linear(4, 3)
    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return self.out(x)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.01)  # made
x, y = torch.randn(16, 4), torch.randint(3, (16,))
for _ in range(3):
    for _ in range(2):
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.blocks.append(nn.Linear(4, 4))
"""
    )
    answer = asked(program)
    assert answer.cause == "left_out"
    assert answer.is_observed
    assert "net.blocks.{0,1}" in answer.verdict
    assert line(program, "# made") in answer.lines
    mended = program.replace("    net.blocks.append(nn.Linear(4, 4))", "    block = nn.Linear(4, 4)\n"
        "    net.blocks.append(block)\n    opt.add_param_group({'params': block.parameters()})")  # fmt: skip
    assert asked(mended).cause != "left_out"


def test_a_derivative_without_a_graph_leads_before_a_detach_and_before_zeros() -> None:
    program = (
        HEAD
        + """
net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
x, x0 = torch.linspace(0, 1, 9).unsqueeze(1).requires_grad_(), torch.zeros(1, 1)
for _ in range(3):
    u = net(x)
    du = torch.autograd.grad(u, x, torch.ones_like(u), retain_graph=True)[0]
    inner = (du + u.detach()).pow(2).mean()
    loss = inner + (net(x0) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
    )
    answer = asked(program)
    assert (answer.cause, answer.form) == ("constant_summand", "without_graph")
    assert line(program, "du = ") in answer.lines
    assert asked(program.replace("retain_graph", "create_graph")).form != "without_graph"


@pytest.mark.parametrize("exponent", ["** (1 / p)", "** (1.0 / p)"])
def test_the_root_of_a_negative_mean_is_named(exponent: str) -> None:
    program = (
        HEAD
        + f"""
def pooled(x, p=3.0):
    return (x ** 3).mean(1, keepdim=True) {exponent}
net, out = nn.Linear(4, 40), nn.Linear(1, 3)
loss = F.cross_entropy(out(pooled(net(torch.randn(16, 4)))), torch.randint(3, (16,)))
loss.backward()
"""
    )
    answer = asked(program)
    assert answer.cause == "nan"
    assert line(program, "return (x ** 3)") in answer.lines
    assert "clamp(min=1e-6)" in answer.mend


def test_of_several_calls_the_one_whose_derivative_broke_first_is_named() -> None:
    program = (
        HEAD
        + """
net, mask = nn.Linear(4, 12), torch.ones(12, 12)
mask[3] = 0
z = net(torch.randn(12, 4))
e = torch.exp(z - z.detach().max())
logs = z - torch.log(e.sum(1, keepdim=True))
mean = (mask * logs).sum(1) / mask.sum(1)
loss = -mean.mean()
loss.backward()
"""
    )
    answer = asked(program)
    assert answer.cause == "nan"
    assert line(program, "mean = ") in answer.lines
    assert line(program, "e = torch.exp") not in answer.lines
    assert "what it divides by" in answer.mend


def test_a_clamp_behind_exp_is_told_to_stand_before_it() -> None:
    program = (
        HEAD
        + """
net = nn.Linear(4, 2)
nn.init.constant_(net.bias, 3.0)
x = torch.randn(8, 4) * 0.1
std = torch.exp(net(x))
std = torch.clamp(std, -5, 2)
loss = (std * torch.randn(8, 2)).mean()
loss.backward()
"""
    )
    answer = asked(program)
    assert answer.cause == "zero_gradient"
    assert "clamp that, and take exp() of it after" in answer.mend
    before = program.replace("torch.exp(net(x))", "net(x)").replace("(std * ", "(std.exp() * ")
    assert "take exp() of it after" not in asked(before).mend
