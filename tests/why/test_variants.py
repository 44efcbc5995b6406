"""Faults as they stand in programs of other shapes, and healthy programs that look like them: what
is told of a fault is told wherever its facts are, and nowhere else."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from test_symptom import asked
from torch import nn

import gradviz as gv
from gradviz.graph.findings import Cause, Level

pytestmark = pytest.mark.dear(20)


class Variant(NamedTuple):
    """One program.

    Attributes:
        name: what it is called here.
        found: "cause/form" of the bare answer.
        program: its source; the answer points at every line that ends in ``# here``.
    """

    name: str
    found: str
    program: str


# notes that these healthy programs give no reason for
OBSERVED = {Cause.EXTRA_GRADIENT, Cause.KEPT_OFF}
VARIANTS: list[Variant] = []
UNUSED: list[tuple[str, str]] = []  # in each a loss trains a target, and no step uses that
HEALTHY: list[tuple[str, str]] = []
MARK = "# here"


def variant(name: str, found: str, program: str) -> None:
    VARIANTS.append(Variant(name, found, program))


def unused(name: str, program: str) -> None:
    UNUSED.append((name, program))


def healthy(name: str, program: str) -> None:
    HEALTHY.append((name, program))


# --- no parameters for an optimizer or a module ---------------------------------------------------

MODULE = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {line}  # here
        {more}
    def forward(self, x):
        return x
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
"""
for name, line, more in (
    ("one local layer", "layer = nn.Linear(2, 2)", ""),
    ("two at once", "first, second = nn.Linear(2, 2), nn.Linear(2, 1)", ""),
    ("annotated", "layer: nn.Module = nn.Sequential(nn.Linear(2, 2))", ""),
    ("a parameter", "scale = nn.Parameter(torch.ones(2))", ""),
    ("initialised, then lost", "layer = nn.Linear(2, 2)", "nn.init.zeros_(layer.weight)"),
):
    variant(f"local: {name}", "not_a_parameter/local", MODULE.format(line=line, more=more))
variant(
    "local: in a part, the optimizer in a function",
    "not_a_parameter/local",
    """
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        weight = nn.Parameter(torch.ones(2))  # here
class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()
def started(model):
    return torch.optim.Adam(model.parameters())
started(Whole())
""",
)
variant(
    "nothing made in the constructor is no local layer",
    "not_a_parameter/none",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        size = 3
        names = dict(a=1)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
""",
)
SPENT = """
net = nn.Linear(2, 2)
{lines}
opt = torch.optim.SGD({given}, lr=0.1)
"""
for name, lines, given in (
    (
        "counted",
        "own = net.parameters()  # here\nn = sum(p.numel() for p in own)  # here",
        "own",
    ),
    (
        "a loop",
        "own = net.parameters()  # here\nfor p in own:  # here\n    nn.init.zeros_(p)",
        "own",
    ),
    (
        "a filter and a list",
        "own = filter(lambda p: p.requires_grad, net.parameters())  # here\nlist(own)  # here",
        "own",
    ),
    (
        "another optimizer",
        "own = (p for p in net.parameters())  # here\nfirst = torch.optim.Adam(own)  # here",
        "own",
    ),
):
    variant(f"spent: {name}", "not_a_parameter/spent", SPENT.format(lines=lines, given=given))
variant(
    "spent: in a constructor",
    "not_a_parameter/spent",
    """
class Own(torch.optim.Optimizer):
    def __init__(self, those):
        self.shapes = [p.shape for p in those]  # here
        super().__init__(those, {})
net = nn.Linear(2, 2)
def begin():
    return Own(filter(None.__class__.__ne__ and (lambda p: True), net.parameters()))
begin()
""",
)
variant(
    "a filter that left none was not read before",
    "not_a_parameter/frozen",
    """
net = nn.Linear(2, 2).requires_grad_(False)
own = filter(lambda p: p.requires_grad, net.parameters())
opt = torch.optim.SGD(own, lr=0.1)
""",
)
for name, line, form in (
    ("softmax of itself", "self.w = torch.softmax(self.w, 0)", "result_assigned"),
    ("through a list", "self.w = [self.w * 2][0]", "result_assigned"),
    ("an update", "self.w = self.w - 0.1", "result_assigned"),
    ("by its name", "setattr(self, 'w', self.w.abs())", "result_assigned"),
    ("a constant", "self.w = torch.zeros(3)", "tensor_assigned"),
    ("detached", "self.w = self.w.detach()", "tensor_assigned"),
    ("registered", "self.register_parameter('v', torch.zeros(3))", "tensor_assigned"),
):
    variant(
        f"assigned: {name}",
        f"not_a_parameter/{form}",
        f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))
    def forward(self, x):
        {line}  # here
        return x * self.w
net = Net()
net(torch.ones(3)).sum().backward()
""",
    )

# --- what a reentrant checkpoint returns inside of something else ---------------------------------

CHECKPOINTED = """
from types import SimpleNamespace
from torch.utils.checkpoint import checkpoint
net = nn.Linear(3, 3)
def block(x):
    h = net(x)
    return {returned}
x = torch.randn(2, 3, requires_grad=True)
out = checkpoint(block, x, use_reentrant=True)  # here
loss = {value}.sum()
{then}
"""
for name, returned, value in (
    ("a dict", "{'h': h}", "out['h']"),
    ("a list", "[h, h * 2]", "out[1]"),
    ("an object", "SimpleNamespace(h=h)", "out.h"),
    ("a dict in a tuple", "({'h': h},)", "out[0]['h']"),
):
    for then, found in (
        ("print(loss.requires_grad)", "no_grad_fn/nothing_trains"),
        ("loss.backward()", "no_grad_fn/cut"),
    ):
        variant(
            f"checkpoint: {name}, {found}",
            found,
            CHECKPOINTED.format(returned=returned, value=value, then=then),
        )
for name, returned, value in (("alone", "h", "out"), ("a tuple", "h, h * 2", "out[0]")):
    healthy(
        f"checkpoint: {name}",
        CHECKPOINTED.format(returned=returned, value=value, then="loss.backward()"),
    )
healthy(
    "checkpoint: a label beside the result",
    CHECKPOINTED.format(returned="h, h.argmax(-1)", value="out[0]", then="loss.backward()"),
)

# --- a result that a statement throws away --------------------------------------------------------

THROWN = """
net, head = nn.Linear(3, 4), nn.Linear(4, 1)
x = torch.randn(5, 3)
h = net(x)
{line}  # here
loss = head(h).pow(2).mean()
loss.backward()
print(net.weight.grad.norm())
"""
for line in (
    "torch.relu(h)",
    "h.detach()",
    "h.clone()",
    "nn.functional.dropout(h, 0.5)",
    "h.clamp(min=0)",
    "nn.ReLU()(h)",
    "h.double()",
    "h.reshape(4, 5)",
):
    variant(f"thrown away: {line}", "result_unused/thrown_away", THROWN.format(line=line))
variant(
    "thrown away: in a forward, in a loop",
    "result_unused/thrown_away",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.act = nn.ModuleList(nn.Linear(3, 3) for _ in range(3)), nn.Tanh()
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
            self.act(x)  # here
        return x
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    loss = net(torch.randn(4, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
)
variant(
    "thrown away: of a leaf, without a module",
    "result_unused/thrown_away",
    """
w = torch.randn(4, requires_grad=True)
torch.sigmoid(w)  # here
loss = (w - 1).pow(2).sum()
loss.backward()
print(w.grad)
""",
)
for name, line in (
    ("in place", "torch.relu_(h)"),
    ("in place by an argument", "nn.functional.relu(h, inplace=True)"),
    ("a layer in place", "nn.ReLU(inplace=True)(h)"),
    ("a layer with weights, run for its statistics", "nn.BatchNorm1d(4)(h)"),
    ("a hook", "h.register_hook(lambda g: None)"),
    ("kept by a list", "kept = []; kept.append(h.detach())"),
    ("printed", "print(h.detach().mean())"),
    ("a check", "assert h.isfinite().all()"),
    ("retain_grad", "h.retain_grad()"),
    ("shape", "h.size()"),
    ("moved to where it is", "h.to('cpu')"),
):
    healthy(f"thrown away: {name}", THROWN.format(line=line))
healthy(
    "thrown away: a warm-up",
    """
net = nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.Linear(4, 1))
x = torch.randn(5, 3)
net(x)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
loss = net(x).pow(2).mean()
loss.backward()
opt.step()
""",
)

# --- a target network that gets a gradient --------------------------------------------------------

TARGET = """
import copy
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(3, 4), nn.Linear(4, 2)
    def forward(self, x):
        return self.head(torch.relu(self.body(x)))
policy, target = Net(), Net()
target.load_state_dict(policy.state_dict())
opt = torch.optim.Adam(policy.parameters())
states, later = torch.randn(6, 3), torch.randn(6, 3)
picked = torch.randint(2, (6, 1))
for _ in range(2):
    q = policy(states).gather(1, picked)
    {line}  # here
    loss = {loss}
    opt.zero_grad()
    loss.backward()
    opt.step()
{then}
"""
for name, line, loss in (
    (
        "the greatest value",
        "y = 1 + 0.9 * target(later).max(1, keepdim=True)[0]",
        "(q - y).pow(2).mean()",
    ),
    (
        "a loss of torch's",
        "y = target(later).mean(1, keepdim=True)",
        "nn.functional.mse_loss(q, y)",
    ),
    ("smooth", "y = target(later).amax(1, keepdim=True) * 0.9", "nn.SmoothL1Loss()(q, y)"),
    (
        "chosen by the other",
        "y = target(later).gather(1, policy(later).argmax(1, keepdim=True))",
        "(q - y).abs().mean()",
    ),
):
    unused(f"target: {name}", TARGET.format(line=line, loss=loss, then=""))
unused(
    "target: attributes of an agent, whose forward is called",
    """
class Agent:
    def __init__(self):
        self.online = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        self.slow = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        self.optimizer = torch.optim.SGD(self.online.parameters(), lr=0.1)
    def learn(self, now, later):
        self.optimizer.zero_grad()
        goal = 1 + self.slow.forward(later)  # here
        loss = nn.MSELoss()(self.online.forward(now), goal)
        loss.backward()
        self.optimizer.step()
agent = Agent()
agent.learn(torch.randn(4, 3), torch.randn(4, 3))
""",
)
for name, line in (
    ("under no_grad", "y = torch.no_grad()(target)(later).max(1, keepdim=True)[0]"),
    ("detached", "y = target(later).max(1, keepdim=True)[0].detach()"),
    ("of the same network, detached", "y = policy(later).max(1, keepdim=True)[0].detach()"),
    ("frozen", "y = target.requires_grad_(False)(later).max(1, keepdim=True)[0]"),
):
    healthy(f"target: {name}", TARGET.format(line=line, loss="(q - y).pow(2).mean()", then=""))
healthy(
    "target: an average that follows",
    TARGET.format(
        line="y = target(later).max(1, keepdim=True)[0].detach()",
        loss="(q - y).pow(2).mean()",
        then="with torch.no_grad():\n"
        "    for a, b in zip(target.parameters(), policy.parameters()):\n"
        "        a.lerp_(b, 0.01)",
    ),
)
TWO = """
first, second = nn.Linear(3, 2), nn.Linear(3, 2)
{optimizers}
x = torch.randn(4, 3)
loss = {loss}
loss.backward()
{steps}
"""
for name, optimizers, loss, steps in (
    (
        "two towers of one optimizer",
        "opt = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)",
        "(first(x) - second(x)).pow(2).mean()",
        "opt.step()",
    ),
    (
        "two critics, each with its own",
        "a, b = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (first, second))",
        "torch.min(first(x), second(x)).pow(2).mean()",
        "a.step(); b.step()",
    ),
    (
        "the second is stepped by hand",
        "opt = torch.optim.SGD(first.parameters(), lr=0.1)",
        "(first(x) - second(x)).pow(2).mean()",
        "opt.step()\nwith torch.no_grad():\n    for p in second.parameters(): p -= 0.1 * p.grad",
    ),
):
    healthy(f"twins: {name}", TWO.format(optimizers=optimizers, loss=loss, steps=steps))

# --- two names of one network ---------------------------------------------------------------------

ONE = """
import copy
class Agent:
    def __init__(self, net):
        self.policy_net = net
        {target}
        self.opt = torch.optim.SGD(self.policy_net.parameters(), lr=0.1)
    def update(self, now, later):
        with torch.no_grad():
            goal = 1 + 0.9 * self.{name}(later)
        loss = nn.functional.mse_loss(self.policy_net(now), goal)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
agent = Agent(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)))
for _ in range(2):
    agent.update(torch.randn(5, 3), torch.randn(5, 3))
"""
COPY = "self.{0}.load_state_dict(self.policy_net.state_dict())"
for name in ("target_net", "teacher", "old_policy"):
    variant(
        f"one network: {name}",
        "shared_snapshot/one_network",
        ONE.format(target=f"self.{name} = net  # here", name=name),
    )
    healthy(
        f"one network: {name}, a copy",
        ONE.format(target=f"self.{name} = copy.deepcopy(net)", name=name),
    )
variant(
    "one network: copied onto itself, whatever it is called",
    "shared_snapshot/one_network",
    ONE.format(target="self.second = net; " + COPY.format("second"), name="second"),
)
variant(
    "one network: two variables",
    "shared_snapshot/one_network",
    """
net = nn.Linear(3, 1)
target = net  # here
opt = torch.optim.SGD(net.parameters(), lr=0.1)
loss = (net(torch.randn(4, 3)) - target(torch.randn(4, 3)).detach()).pow(2).mean()
loss.backward()
opt.step()
""",
)
healthy(
    "one network: a name for the unwrapped one",
    ONE.format(target="self.module = net", name="module"),
)
healthy(
    "one network: a wrapper that follows it",
    """
class Average:
    def __init__(self, model):
        self.model, self.shadow = model, {n: p.detach().clone() for n, p in model.named_parameters()}
net = nn.Linear(3, 1)
ema = Average(net)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(4, 3)).pow(2).mean().backward()
opt.step()
""",
)
healthy(
    "one network: tied weights",
    """
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(6, 4), nn.Linear(4, 6, bias=False)
        self.out.weight = self.embed.weight
    def forward(self, i):
        return self.out(self.embed(i))
net = Tied()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
nn.functional.cross_entropy(net(torch.arange(6)), torch.arange(6)).backward()
opt.step()
""",
)

# --- a part of a loss that is cut from what the rest of it trains ---------------------------------

GENERATOR = """
G, D = nn.Linear(3, 4), nn.Linear(4, 1)
{optimizers}
z, real = torch.randn(6, 3), torch.randn(6, 4)
F = nn.functional
for _ in range({times}):
    fake = G(z)
    {line}
    whole = {whole}
    opt_g.zero_grad()
    whole.backward()
    opt_g.step()
    {then}
"""
BOTH = "opt_g, opt_d = (torch.optim.Adam(m.parameters()) for m in (G, D))"
ALONE = "opt_g = torch.optim.Adam(G.parameters())"
D_STEP = (
    "opt_d.zero_grad()\n    d_loss = F.softplus(D(fake.detach())).mean()"
    " + F.softplus(-D(real)).mean()\n    d_loss.backward()\n    opt_d.step()"
)
CUT = "adversarial = F.softplus(-D(fake.detach())).mean()  # here"
for name, optimizers, times, line, whole, then in (
    ("one optimizer", ALONE, 1, CUT, "adversarial + 10 * F.l1_loss(fake, real)", "pass"),
    ("both are stepped", BOTH, 2, CUT, "adversarial + 10 * F.l1_loss(fake, real)", D_STEP),
    (
        "data, and the other way round",
        ALONE,
        1,
        "score = D(fake.data)  # here",
        "F.mse_loss(fake, real) - score.mean()",
        "pass",
    ),
    (
        "under no_grad, and features",
        ALONE,
        1,
        "with torch.no_grad(): kept = fake * 2  # here",
        "F.l1_loss(fake, real) + (D(kept) - D(real)).pow(2).mean()",
        "pass",
    ),
    (
        "three parts",
        BOTH,
        1,
        CUT,
        "(F.l1_loss(fake, real) + 0.1 * fake.pow(2).mean()) * 0.5 + adversarial",
        "pass",
    ),
):
    variant(
        f"part: {name}",
        "kept_off/part",
        GENERATOR.format(optimizers=optimizers, times=times, line=line, whole=whole, then=then),
    )
variant(
    "part: no optimizer, its gradient was read",
    "kept_off/part",
    """
first, second = nn.Linear(3, 3), nn.Linear(3, 2)
x = torch.randn(4, 3)
h = first(x)
likeness = (second(h.detach()) - second(x)).pow(2).mean()  # here
loss = likeness + (h - x).abs().mean()
loss.backward()
print(first.weight.grad.norm())
""",
)
for name, optimizers, line, whole, then in (
    (
        "connected",
        BOTH,
        CUT.replace(".detach()", ""),
        "adversarial + F.l1_loss(fake, real)",
        D_STEP,
    ),
    (
        "what the part trains is stepped",
        BOTH,
        CUT,
        "adversarial + F.l1_loss(fake, real)",
        "opt_d.step(); opt_d.zero_grad()",
    ),
    (
        "one optimizer has both",
        "opt_g = torch.optim.Adam([*G.parameters(), *D.parameters()])",
        CUT,
        "adversarial + F.l1_loss(fake, real)",
        "pass",
    ),
    (
        "a stop-gradient on either side",
        "opt_g = torch.optim.Adam([*G.parameters(), *D.parameters()])",
        "a, b = fake, D(fake)",
        "(a.detach() - 1 + b).pow(2).mean() + (a - b.detach()).pow(2).mean()",
        "pass",
    ),
):
    healthy(
        f"part: {name}",
        GENERATOR.format(optimizers=optimizers, times=2, line=line, whole=whole, then=then),
    )
healthy(
    "part: an actor's, whose advantage is a number, beside its critic's",
    """
actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
actor_opt, critic_opt = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (actor, critic))
x, returns = torch.randn(6, 3), torch.randn(6, 1)
value = critic(x)
gain = -(actor(x).log_softmax(-1)[:, :1] * (returns - value).detach()).mean()
loss = gain + (returns - value).pow(2).mean()
loss.backward()
actor_opt.step()
critic_opt.step()
""",
)
healthy(
    "part: an actor's, without an optimizer",
    """
actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
x, returns = torch.randn(6, 3), torch.randn(6, 1)
value = critic(x)
gain = -(actor(x).log_softmax(-1)[:, :1] * (returns - value).detach()).mean()
loss = gain + (returns - value).pow(2).mean()
loss.backward()
print(actor.weight.grad.norm(), critic.weight.grad.norm())
""",
)

# --- a flag that was off before nn.Parameter ------------------------------------------------------

WRAPPED = """
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        w = torch.ones(3, 3)
        {off}  # here
        {made}  # here
        self.head = nn.Linear(3, 1)
        {then}
    def forward(self, x):
        return self.head(x @ self.w)
net = nn.Sequential(Layer(), nn.Tanh())
opt = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
net(torch.randn(4, 3)).pow(2).mean().backward()
opt.step()
"""
PLAIN = "self.w = nn.Parameter(w)"
for off, made in (
    ("w.requires_grad = False", PLAIN),
    ("w.requires_grad_(False)", "self.w = torch.nn.Parameter(w * 2)"),
    ("w.requires_grad = False", "self.register_parameter('w', nn.Parameter(w))"),
    ("w.requires_grad = False", "self.w = nn.Parameter(w, requires_grad=True)"),
    ("w.requires_grad_(requires_grad=False); w.requires_grad = False", PLAIN),
):
    variant(
        f"wrapped: {off}, {made}",
        "freeze_without_effect/wrapped",
        WRAPPED.format(off=off, made=made, then="pass"),
    )
variant(
    "wrapped: in place of the layer's own weight",
    "freeze_without_effect/wrapped",
    """
class Fixed(nn.Linear):
    def __init__(self, n):
        super().__init__(n, n)
        self.weight.requires_grad = False  # here
        self.weight = nn.Parameter(self.weight.sign())  # here
net = Fixed(3)
loss = net(torch.randn(4, 3)).pow(2).mean()
loss.backward()
""",
)
variant(
    "wrapped: a variable",
    "freeze_without_effect/wrapped",
    """
fixed = torch.ones(3)
fixed.requires_grad = False  # here
w = nn.Parameter(fixed)  # here
v = torch.ones(3, requires_grad=True)
loss = (w * v).sum()
loss.backward()
""",
)
for off, made, then in (
    ("pass", PLAIN, "pass"),
    ("w.requires_grad = False", "self.w = nn.Parameter(w, requires_grad=False)", "pass"),
    ("w.requires_grad = False", "self.w = nn.Parameter(w, False)", "pass"),
    ("w.requires_grad = False", PLAIN, "self.w.requires_grad = False"),
    ("w.requires_grad = False", PLAIN, "self.w.requires_grad_(True)"),
    ("w.requires_grad = False; w = torch.randn(3, 3)", PLAIN, "pass"),
    ("v = torch.ones(3); v.requires_grad = False", PLAIN, "self.register_buffer('v', v)"),
):
    healthy(f"wrapped: {off}, {made}, {then}", WRAPPED.format(off=off, made=made, then=then))

# --- a Parameter of which only a copy is left -----------------------------------------------------

for name, program in (
    (
        "a dtype",
        "w = nn.Parameter(torch.ones(3))\nw = w.double()  # here\nnet = nn.Module()\nnet.w = w",
    ),
    ("at once", "w = nn.Parameter(torch.ones(3)).half()  # here\nprint(type(w))"),
    (
        "in a constructor",
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        w = nn.Parameter(torch.ones(3))\n        w = w.to(torch.float64)  # here\n"
        "        self.w = w\nnet = Net()\nprint(list(net.parameters()))",
    ),
    (
        "in a function",
        "def made(n):\n    w = nn.Parameter(torch.randn(n))\n"
        "    w = w.to('cpu', copy=True)  # here\n    return w\nweight = made(4)",
    ),
):
    variant(f"moved: {name}", "made_non_leaf/parameter_moved", program)
for name, program in (
    ("kept by a module", "net = nn.Linear(2, 2)\nw = net.weight\nw = w.double()"),
    (
        "kept by an optimizer",
        "w = nn.Parameter(torch.ones(2))\nopt = torch.optim.SGD([w], lr=0.1)\nhalf = w.half()",
    ),
    ("moved to where it is", "w = nn.Parameter(torch.ones(2))\nw = w.to('cpu')"),
    ("under another name", "w = nn.Parameter(torch.ones(2))\nshown = w.double()"),
):
    healthy(f"moved: {name}", program)


def test_a_refused_parameter_is_told_of_the_message_alone() -> None:
    net = nn.Linear(2, 2)
    with pytest.raises(TypeError) as raised:
        net.weight = torch.zeros(2, 2)
    told = gv.explain(error=TypeError(str(raised.value)))
    assert (told.cause, told.form) == ("not_a_parameter", "tensor_assigned"), told


# --- zeros before relu ----------------------------------------------------------------------------

ZEROS = """
net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2, bias={bias}), {act})
nn.init.{init}
x = torch.randn(5, 3)
loss = (net(x) - 1).pow(2).mean()
loss.backward()
print(net[1].weight.grad)
"""


def test_a_weight_of_zeros_before_relu_is_named() -> None:
    for init in ("zeros_(net[1].weight)", "constant_(net[1].weight, 0.0)"):
        told = asked(ZEROS.format(bias=False, act="nn.ReLU()", init=init))
        assert told.cause == "zero_gradient", told
        assert "net.1.weight is all zeros (program.py line 3)" in told.why, told
        assert "below" not in told.why, told
    told = asked(ZEROS.format(bias=False, act="nn.ReLU()", init="constant_(net[1].weight, -9)"))
    assert "all zeros" not in told.why, told


@pytest.mark.parametrize(
    ("bias", "act", "init"),
    [
        (True, "nn.ReLU()", "zeros_(net[1].weight)"),
        (False, "nn.GELU()", "zeros_(net[1].weight)"),
        (False, "nn.Tanh()", "zeros_(net[1].weight)"),
    ],
)
def test_zeros_that_learn_are_not_called_stuck(bias: bool, act: str, init: str) -> None:
    told = asked(ZEROS.format(bias=bias, act=act, init=init))
    assert "stay zeros" not in str(told), told


def test_a_rate_that_is_written_is_told_where_it_comes_from() -> None:
    program = """
def adjust(optimizer, step):
    share = step / 10  # from zero
    optimizer.param_groups[0]['lr'] = {value}
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range({first}, {first} + 1):
    adjust(opt, step)
    opt.zero_grad()
    net(torch.ones(3, 2)).pow(2).mean().backward()
    opt.step()
"""
    told = asked(program.format(value="0.1 * share", first=0))
    assert (told.cause, told.form) == ("not_moved", "zero_rate_written"), told
    assert set(told.lines) >= {3, 4}, told
    assert asked(program.format(value="0.1 * share", first=1)).cause == "healthy"


def test_a_value_that_is_detached_and_taken_out_needs_both_mended() -> None:
    for end in ("item()", "tolist()", "numpy().item()"):
        told = asked(f"""
net, extra = nn.Linear(2, 2), nn.Linear(2, 1)
x = torch.randn(4, 2)
h = net(x)
loss = h.pow(2).mean()
more = extra(h).pow(2).mean()
loss = loss + more.detach().{end}
loss.backward()
print(extra.weight.grad)
""")
        assert told.cause in ("cut", "constant_summand", "rebuilt_from_value"), told
        assert "item()" in told.mend, told


# --- layers in a plain list, beside a milder fault ------------------------------------------------

LISTED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = {layers}
        self.out = nn.Linear(3, 2)
    def forward(self, x):
        for layer in self.layers:
            x = layer(x).tanh()
        return self.out(x).softmax(1)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=0.1)
for _ in range(2):
    loss = F.cross_entropy(net(torch.randn(4, 3)), torch.tensor([0, 1, 0, 1]))
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
LAYERS = "[nn.Linear(3, 3), nn.Linear(3, 3)]"
LISTED = LISTED.replace("F.cross", "nn.functional.cross")
variant("a list beside a softmax", "not_moved/in_list", LISTED.format(layers=LAYERS))
variant(
    "a ModuleList beside a softmax",
    "not_logits/softmax_of_classes",
    LISTED.format(layers=f"nn.ModuleList({LAYERS})"),
)

# --- losses that add up before a step -------------------------------------------------------------

SUMMED = """
encoder, head = nn.Linear(3, 3), nn.Linear(3, 1)
opt, opt_head = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (encoder, head))
x = torch.randn(4, 3)
for _ in range(2):
    z = encoder(x)
    score = head(z)
    opt.zero_grad()
    first_loss = (z - x).pow(2).mean() + score.mean()
    first_loss.backward(retain_graph=True)  # here
    print(encoder.weight.grad.norm())
    opt_head.zero_grad()
    {second}
    second_loss.backward()  # here
    {step}
print(encoder.weight.grad.norm())
"""
SECOND = "second_loss = score.pow(2).mean()"
STEPS = "opt.step(); opt_head.step()"
variant("summed: a step", "extra_gradient/summed", SUMMED.format(second=SECOND, step=STEPS))
variant(
    "summed: no step",
    "gradients_pile_up/read_between",
    SUMMED.replace("range(2)", "range(1)").format(second=SECOND, step="pass"),
)
healthy(
    "summed: the second is kept off",
    SUMMED.format(second="second_loss = head(z.detach()).pow(2).mean()", step=STEPS),
)

REAL_AND_FALSE = """
net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    real_loss = nn.functional.softplus(-net(torch.randn(4, 3))).mean()
    real_loss.backward()
    print([p.grad.norm() for p in net.parameters()])
    false_loss = nn.functional.softplus(net(torch.randn(4, 3))).mean()
    false_loss.backward()
    opt.step()
    print([p.grad.norm() for p in net.parameters()])
"""
healthy("summed: on real and on false data", REAL_AND_FALSE)

# --- the tests ------------------------------------------------------------------------------------


@pytest.mark.parametrize("one", VARIANTS, ids=[v.name for v in VARIANTS])
def test_a_fault_is_told_in_whatever_shape_it_comes(one: Variant) -> None:
    answer = asked(one.program)
    assert f"{answer.cause}/{answer.form}" == one.found, str(answer)
    lines = one.program.splitlines()
    marked = {n for n, line in enumerate(lines, 1) if line.endswith(MARK)}
    assert marked <= set(answer.lines), f"{marked}: {answer.lines}\n{answer}"


@pytest.mark.parametrize("program", [p for _, p in UNUSED], ids=[n for n, _ in UNUSED])
def test_gradients_of_a_target_that_no_step_uses_are_no_fault(program: str) -> None:
    answer = asked(program)
    assert answer.cause == "healthy", answer
    assert "no step uses it" in answer.verdict, answer
    lines = program.splitlines()
    marked = {n for n, line in enumerate(lines, 1) if line.endswith(MARK)}
    assert marked <= set(answer.lines), answer


def test_what_a_checkpoint_does_not_hand_on_is_not_called_marked() -> None:
    program = CHECKPOINTED.format(returned="{'h': h}", value="out['h']", then="loss.backward()")
    told = asked(program)
    assert "inside of a list, a dict or an object" in told.why, told
    assert "use_reentrant=False" in told.mend, told


def test_a_milder_fault_beside_a_list_is_told_too() -> None:
    assert "softmax is applied twice" in str(asked(LISTED.format(layers=LAYERS)))


def test_which_part_was_frozen_and_which_set_back_is_told() -> None:
    program = """
net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 1))
for p in net.parameters():
    p.requires_grad = False
{back}
opt = torch.optim.SGD([p for p in net[2].parameters()], lr=0.1)
loss = net(torch.randn(4, 3, requires_grad=True)).pow(2).mean()
loss.backward()
opt.step()
"""
    back = "for p in net[2].parameters():\n    p.requires_grad = True"
    told = str(asked(program.format(back=back)))
    assert (
        "net.{0,1}.{weight,bias}: frozen, requires_grad was switched off (program.py line 4)"
        in told
    ), told
    assert (
        "net.2.{weight,bias}: trainable, requires_grad was switched on (program.py line 6)" in told
    ), told
    assert "was not checked" in told.rpartition("switched")[2], told


@pytest.mark.parametrize("program", [p for _, p in HEALTHY], ids=[n for n, _ in HEALTHY])
def test_a_program_that_looks_like_it_is_told_no_fault(program: str) -> None:
    answer = asked(program)
    assert answer.cause.level <= Level.NOTE, str(answer)
    assert answer.cause not in OBSERVED, str(answer)
