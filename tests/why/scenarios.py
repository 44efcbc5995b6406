"""Small programs as people write them, each with what is really wrong in it. PyTorch is asked
whether that is so.

A program is what stands in one notebook cell; what stands before a line ``# ---`` ran in an earlier
cell, unrecorded. ``# <-`` marks the line that is to blame. ``rank`` is the place in the list of
where people get stuck; rank 0 are causes that the list has no place for, and in HEALTHY nothing is
wrong at all.
"""

from __future__ import annotations

import copy
import linecache
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import helper_library
import numpy
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

MARK = "# <-"


class Scenario(NamedTuple):
    """One program.

    Attributes:
        name: what happens in it; also the name of its file in tracebacks.
        rank: 1 to 22, or 0.
        causes: the true cause; several where they are equally right.
        ask: the arguments of ``explain``, as source; "" asks about the error that the program
        raises.
        check: an expression that is true after the program ran alone.
        source: the program.
        raises: what the error's message contains.
    """

    name: str
    rank: int
    causes: frozenset[str]
    ask: str
    check: str
    source: str
    raises: str = ""

    @property
    def blame(self) -> tuple[int, ...]:
        """The numbers of the marked lines."""
        return tuple(i for i, line in enumerate(self.source.splitlines(), 1) if MARK in line)


SCENARIOS: list[Scenario] = []
TRAINED_TWICE = """
# ---
for _ in range(2):
    loss = net(torch.randn(8, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def _add(
    name: str, rank: int, causes: str, ask: str, check: str, source: str, raises: str = ""
) -> None:
    SCENARIOS.append(
        Scenario(
            name, rank, frozenset(causes.split()), ask, check, source.strip("\n") + "\n", raises
        )
    )


class Outcome(NamedTuple):
    """What a program left behind."""

    names: dict[str, Any]
    error: Exception | None


def run(scenario: Scenario, recording: Any = None) -> Outcome:
    """Run a program, its second cell inside ``recording`` where one is given, as ``%%gradviz`` does
    it.

    Args:
        scenario: which.
        recording: an unused ``gv.record()``, or None to run the program alone.

    Returns:
        Its variables and what it raised.
    """
    torch.manual_seed(0)
    names: dict[str, Any] = {
        "__name__": "__main__",
        "torch": torch,
        "nn": nn,
        "F": functional,
        "np": numpy,
        "copy": copy,
        "checkpoint": checkpoint,
        "helpers": helper_library,
    }
    before, divider, cell = scenario.source.partition("# ---\n")
    if not divider:
        before, cell = "", scenario.source
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _execute(before, f"<setup of {scenario.name}>", names)
        if divider:
            # line numbers stay those of the whole source
            cell = "\n" * (before.count("\n") + 1) + cell
        if recording is None:
            return Outcome(names, _execute(cell, f"<program {scenario.name}>", names, catch=True))
        recording.look_into(names)
        recording.__enter__()
        error = _execute(cell, f"<program {scenario.name}>", names, catch=True)
        recording.__exit__(
            type(error) if error else None, error, error.__traceback__ if error else None
        )
        return Outcome(names, error)


def _execute(
    source: str, file: str, names: dict[str, Any], catch: bool = False
) -> Exception | None:
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    try:
        exec(compile(source, file, "exec"), names)
    except Exception as error:
        if not catch:
            raise
        return error
    return None


def subjects(scenario: Scenario, names: dict[str, Any]) -> tuple[Any, ...]:
    """What is asked about."""
    return tuple(eval(f"({scenario.ask},)", names)) if scenario.ask else ()


def holds(scenario: Scenario, outcome: Outcome) -> bool:
    """Whether the program did what its name says."""
    if bool(scenario.raises) != (outcome.error is not None) or scenario.raises not in str(
        outcome.error
    ):
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the one about .grad of a non-leaf
        return bool(eval(scenario.check or "True", {**outcome.names, **CHECKS}))


# What the checks need.


def _is_zero(grad: torch.Tensor | None) -> bool:
    return grad is not None and not bool(grad.any())


def _same_storage(one: torch.Tensor, two: torch.Tensor) -> bool:
    return one.untyped_storage().data_ptr() == two.untyped_storage().data_ptr()


def _depth(result: torch.Tensor) -> int:
    """The number of nodes behind a result."""
    seen, todo = set[Any](), [result.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo += [child for child, _ in node.next_functions]
    return len(seen)


CHECKS: dict[str, Callable[..., Any]] = {
    "is_zero": _is_zero,
    "same_storage": _same_storage,
    "depth": _depth,
    "no_grads": lambda module: all(p.grad is None for p in module.parameters()),
    "all_grads": lambda module: all(
        p.grad is not None and bool(p.grad.any()) for p in module.parameters()
    ),
    "finite": lambda module: all(bool(p.grad.isfinite().all()) for p in module.parameters()),
    "norm": lambda p: float(p.grad.norm()),
}

# --- 1: modified by an in-place operation ---------------------------------------------------------

_add(
    "exp_then_plus_equals",
    1,
    "modified_in_place",
    "",
    "",
    """
x = torch.tensor([0.5, 1.0], requires_grad=True)
y = x.exp()
y += 1  # <-
y.sum().backward()
""",
    "modified by an inplace operation",
)

_add(
    "step_between_two_backwards",
    1,
    "modified_in_place",
    "",
    "",
    """
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(5, 3)
# ---
out = net(x)
first, second = out.mean(), (out ** 2).mean()
opt.zero_grad()
first.backward(retain_graph=True)
opt.step()  # <-
second.backward()
""",
    "modified by an inplace operation",
)

_add(
    "residual_added_in_place_in_a_module",
    1,
    "modified_in_place",
    "",
    "",
    """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        h = torch.sigmoid(self.lin(x))
        h += x  # <-
        return h

net = nn.Sequential(Block(), Block())
x = torch.randn(2, 4)
# ---
loss = net(x).pow(2).mean()
loss.backward()
""",
    "modified by an inplace operation",
)

_add(
    "loop_fills_a_buffer",
    1,
    "modified_in_place",
    "",
    "",
    """
w = torch.tensor(0.7, requires_grad=True)
# ---
state = torch.zeros(4)
state[0] = 1.0
for t in range(1, 4):
    state[t] = torch.tanh(w * state[t - 1])  # <-
loss = state.sum()
loss.backward()
""",
    "modified by an inplace operation",
)

_add(
    "helper_normalises_in_place",
    1,
    "modified_in_place",
    "",
    "",
    """
w = torch.randn(3, requires_grad=True)
# ---
h = w ** 2
k = h.sqrt()
k = helpers.normalise_(k)  # the helper writes what sqrt saved
loss = k.sum()
loss.backward()
""",
    "modified by an inplace operation",
)

# --- 2: element 0 of tensors does not require grad ------------------------------------------------

_add(
    "accuracy_as_loss",
    2,
    "no_grad_fn",
    "",
    "",
    """
net = nn.Linear(4, 3)
x, y = torch.randn(6, 4), torch.randint(0, 3, (6,))
# ---
loss = helpers.accuracy_loss(net(x), y)
loss.backward()
""",
    "does not require grad",
)

_add(
    "threshold_inside_a_function",
    2,
    "no_grad_fn",
    "",
    "",
    """
def hit_rate(scores):
    hits = scores > 0  # <-
    return hits.float().mean()

w = torch.randn(4, requires_grad=True)
# ---
loss = 1 - hit_rate(w * 2)
loss.backward()
""",
    "does not require grad",
)

_add(
    "everything_is_frozen",
    2,
    "no_grad_fn frozen",
    "",
    "",
    """
net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
for p in net.parameters():
    p.requires_grad = False
x = torch.randn(2, 4)
# ---
loss = net(x).mean()
loss.backward()
""",
    "does not require grad",
)

_add(
    "reentrant_checkpoint_after_frozen_embedding",
    2,
    "no_grad_fn",
    "",
    "",
    """
emb = nn.Embedding(10, 4).requires_grad_(False)
layer = helpers.LowRank(4)
ids = torch.randint(0, 10, (2, 3))
# ---
h = emb(ids)
h = checkpoint(layer, h, use_reentrant=True)  # <-
loss = h.pow(2).mean()
loss.backward()
""",
    "does not require grad",
)

_add(
    "loss_made_anew_from_item",
    2,
    "no_grad_fn",
    "",
    "",
    """
net = nn.Linear(3, 1)
x = torch.randn(5, 3)
# ---
losses = []
for row in x:
    losses.append(net(row).pow(2).item())  # <-
loss = torch.tensor(losses).mean()
loss.backward()
""",
    "does not require grad",
)

_add(
    "features_under_a_no_grad_decorator",
    2,
    "no_grad_fn",
    "",
    "",
    """
body = nn.Linear(4, 4)
x = torch.randn(2, 4)
# ---
f = helpers.features_of(body, x)
loss = (f * 3).sum()
loss.backward()
""",
    "does not require grad",
)

# --- 3: a second backward -------------------------------------------------------------------------

_add(
    "backward_twice",
    3,
    "second_backward",
    "",
    "",
    """
w = torch.randn(3, requires_grad=True)
loss = (w ** 2).sum()
loss.backward()  # <-
loss.backward()
""",
    "second time",
)

_add(
    "hidden_state_carried_over",
    3,
    "second_backward",
    "",
    "",
    """
rnn = helpers.Recurrent()
opt = torch.optim.SGD(rnn.parameters(), lr=0.1)
data = torch.randn(3, 1, 3)
# ---
for x in data:
    loss = rnn(x).sum()
    loss.backward()  # <-
""",
    "second time",
)

_add(
    "two_losses_share_an_encoder",
    3,
    "second_backward",
    "",
    "",
    """
enc, a, b = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
x = torch.randn(2, 4)

def step(loss):
    loss.backward()

# ---
h = torch.tanh(enc(x))
step(a(h).mean())
step(b(h).mean())
""",
    "second time",
)

# --- 4: a leaf, or a view of one, written in place ------------------------------------------------

_add(
    "leaf_minus_equals",
    4,
    "leaf_in_place",
    "",
    "",
    """
w = torch.randn(3, requires_grad=True)
(w ** 2).sum().backward()
w -= 0.1 * w.grad  # <-
""",
    "a leaf Variable that requires grad",
)

_add(
    "embedding_filled_by_hand",
    4,
    "leaf_in_place",
    "",
    "",
    """
class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(5, 3)
        self.reset()

    def reset(self):
        self.emb.weight.fill_(0.1)  # <-

# ---
net = Words()
""",
    "a leaf Variable that requires grad",
)

_add(
    "bias_of_a_detection_head",
    4,
    "view_of_leaf_in_place",
    "",
    "",
    """
heads = nn.ModuleList([nn.Conv2d(2, 6, 1), nn.Conv2d(2, 6, 1)])
# ---
for head in heads:
    b = head.bias.view(3, -1)
    b[:, 0] += 1.5  # <-
""",
    "a view of a leaf Variable that requires grad",
)

_add(
    "one_row_of_a_leaf_assigned",
    4,
    "view_of_leaf_in_place leaf_in_place",
    "",
    "",
    """
w = torch.randn(3, 2, requires_grad=True)
w[0] = 0.0  # <-
""",
    "a leaf Variable that requires grad",
)

# --- 5: torch.tensor(t), new_tensor ---------------------------------------------------------------

_add(
    "student_logits_through_new_tensor",
    5,
    "rebuilt_from_value",
    "student.weight",
    "student.weight.grad is None",
    """
student, head = nn.Linear(4, 3), nn.Linear(3, 3)
x = torch.randn(2, 4)
# ---
logits = student(x)
again = logits.new_tensor(logits)  # <-
loss = head(again).pow(2).mean()
loss.backward()
""",
)

_add(
    "losses_collected_in_torch_tensor",
    5,
    "rebuilt_from_value",
    "net, loss",
    "no_grads(net)",
    """
net = nn.Linear(2, 1)
x = torch.randn(4, 2)
# ---
parts = [net(row).pow(2).sum() for row in x]
loss = torch.tensor(parts, requires_grad=True).mean()  # <-
loss.backward()
""",
)

# --- 6: numpy -------------------------------------------------------------------------------------

_add(
    "numpy_of_a_loss",
    6,
    "numpy_on_tracked",
    "",
    "",
    """
net = nn.Linear(2, 1)
history = []
for _ in range(2):
    loss = net(torch.ones(1, 2)).sum()
    history.append(loss.numpy())  # <-
""",
    "Can't call numpy()",
)

_add(
    "numpy_inside_a_plot_helper",
    6,
    "numpy_on_tracked",
    "",
    "",
    """
net = nn.Linear(2, 2)
h = net(torch.ones(1, 2))
points = helpers.to_numpy(h)  # the helper calls numpy()
""",
    "Can't call numpy()",
)

_add(
    "pooled_by_numpy_inside_forward",
    6,
    "cut rebuilt_from_value",
    "enc.weight",
    "enc.weight.grad is None",
    """
enc, clf = nn.Linear(3, 4), nn.Linear(4, 2)
x = torch.randn(5, 3)
# ---
h = enc(x)
p = helpers.pool_with_numpy(h)
loss = clf(p).sum()
loss.backward()
""",
)

# --- 7: detach, clone, .data ----------------------------------------------------------------------

_add(
    "detach_in_a_helper",
    7,
    "cut",
    "w",
    "w.grad is None",
    """
w = torch.randn(4, 3, requires_grad=True)
v = torch.randn(3, requires_grad=True)
# ---
m = helpers.detached_mean(w)
loss = (m * v).sum()
loss.backward()
""",
)

_add(
    "data_in_a_module",
    7,
    "cut",
    "net.first.weight",
    "net.first.weight.grad is None",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 1)

    def forward(self, x):
        h = torch.relu(self.first(x))
        return self.second(h.data)  # <-

net = Net()
x = torch.randn(4, 3)
# ---
loss = net(x).mean()
loss.backward()
""",
)

_add(
    "data_written_after_it_was_saved",
    7,
    "overwritten",
    "x",
    "not torch.equal(x.grad, torch.tensor([2.0, 4.0]))",
    """
x = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (x ** 2).sum()
x.data += 5  # <-
loss.backward()
""",
)

_add(
    "weights_clamped_through_data_before_backward",
    7,
    "overwritten",
    "net, loss",
    "not torch.allclose(net[0].weight.grad, right[0], atol=1e-4)",
    """
net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
x = torch.randn(4, 3)
right = torch.autograd.grad(net(x).mean(), list(net.parameters()))
# ---
loss = net(x).mean()
for p in net.parameters():
    p.data.mul_(0.1)  # <-
loss.backward()
""",
)

# --- 8: non-leaf ----------------------------------------------------------------------------------

_add(
    "grad_of_an_intermediate",
    8,
    "non_leaf",
    "h",
    "h.grad is None and not h.is_leaf",
    """
w = torch.randn(3, requires_grad=True)
h = w * 2
loss = h.sum()
loss.backward()
""",
)

_add(
    "activation_kept_on_a_module",
    8,
    "non_leaf",
    "net.features",
    "net.features.grad is None",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(3, 4), nn.Linear(4, 1)

    def forward(self, x):
        self.features = torch.relu(self.body(x))
        return self.head(self.features)

net = Net()
x = torch.randn(2, 3)
# ---
net(x).sum().backward()
""",
)

# --- 9: moving or scaling makes a non-leaf --------------------------------------------------------

_add(
    "scaled_at_birth",
    9,
    "made_non_leaf",
    "w",
    "w.grad is None and not w.is_leaf",
    """
w = torch.randn(3, requires_grad=True) * 0.01  # <-
loss = (w ** 2).sum()
loss.backward()
""",
)

_add(
    "moved_in_a_helper",
    9,
    "made_non_leaf",
    "params[0]",
    "params[0].grad is None",
    """
def make(n):
    return torch.ones(n, requires_grad=True).to(torch.float64)  # <-

# ---
params = [make(2), make(3)]
loss = sum(p.sum() for p in params)
loss.backward()
""",
)

_add(
    "optimizer_of_a_scaled_parameter",
    9,
    "non_leaf_in_optimizer",
    "",
    "",
    """
w = torch.randn(3, requires_grad=True) / 3  # <-
opt = torch.optim.SGD([w], lr=0.1)
""",
    "can't optimize a non-leaf Tensor",
)

# --- 10: frozen weights that move -----------------------------------------------------------------

_add(
    "frozen_after_training_adam",
    10,
    "leftover_grad_moves",
    "net[0].weight",
    "not torch.equal(net[0].weight, before)",
    """
net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.1)
x = torch.randn(4, 3)
net(x).mean().backward()
opt.step()
for p in net[0].parameters():
    p.requires_grad = False
before = net[0].weight.clone()
# ---
for _ in range(2):
    opt.zero_grad(set_to_none=False)
    loss = net(x).mean()
    loss.backward()
    opt.step()  # <-
""",
)

_add(
    "frozen_in_a_function_weight_decay",
    10,
    "leftover_grad_moves",
    "net, opt",
    "not torch.equal(net.body.weight, before)",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(3, 3), nn.Linear(3, 1)

    def forward(self, x):
        return self.head(self.body(x))

def freeze(module):
    module.requires_grad_(False)

net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1, weight_decay=0.1)
x = torch.randn(4, 3)
net(x).mean().backward()
freeze(net.body)
before = net.body.weight.clone()
# ---
opt.zero_grad(set_to_none=False)
net(x).mean().backward()
opt.step()  # <-
""",
)

_add(
    "momentum_moves_a_frozen_embedding",
    10,
    "leftover_grad_moves",
    "emb.weight, opt",
    "not torch.equal(emb.weight, before)",
    """
emb, head = nn.Embedding(5, 3), nn.Linear(3, 1)
opt = torch.optim.SGD([*emb.parameters(), *head.parameters()], lr=0.1, momentum=0.9)
ids = torch.tensor([0, 2, 3])
head(emb(ids)).sum().backward()
opt.step()
emb.weight.requires_grad_(False)
before = emb.weight.clone()
# ---
opt.zero_grad(set_to_none=False)
head(emb(ids)).sum().backward()
opt.step()  # <-
""",
)

# --- 11: BatchNorm statistics of a frozen network -------------------------------------------------

_add(
    "frozen_backbone_in_train_mode",
    11,
    "batch_norm_moves",
    "backbone",
    "not torch.equal(backbone[1].running_mean, before)",
    """
backbone = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU()).requires_grad_(False)
head = nn.Linear(4, 1)
before = backbone[1].running_mean.clone()
x = torch.randn(8, 3)
# ---
loss = head(backbone(x)).mean()
loss.backward()
""",
)

_add(
    "train_call_wakes_frozen_batch_norm",
    11,
    "batch_norm_moves",
    "net",
    "not torch.equal(net.body[1].running_var, before)",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))
        self.head = nn.Linear(2, 1)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))

net = Net()
net.body.requires_grad_(False).eval()
before = net.body[1].running_var.clone()
images = torch.randn(4, 1, 6, 6)
# ---
for epoch in range(2):
    net.train()  # wakes the body too
    net(images).mean().backward()
""",
)

# --- 12: reinforcement learning -------------------------------------------------------------------

_add(
    "critic_behind_a_detached_advantage",
    12,
    "cut",
    "critic.weight",
    "critic.weight.grad is None",
    """
actor, critic = nn.Linear(4, 2), nn.Linear(4, 1)
state, action, reward = torch.randn(5, 4), torch.tensor([0, 1, 1, 0, 1]), torch.randn(5)
# ---
value = critic(state).squeeze(1)
advantage = (reward - value).detach()  # <-
logp = F.log_softmax(actor(state), 1)[torch.arange(5), action]
loss = -(logp * advantage).mean()
loss.backward()
""",
)

_add(
    "sample_instead_of_rsample",
    12,
    "cut",
    "actor, loss",
    "no_grads(actor)",
    """
class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Linear(3, 1)

    def act(self, state):
        policy = torch.distributions.Normal(self.mean(state), 0.5)
        return policy.sample()  # <-

actor, critic = Actor(), nn.Linear(4, 1)
state = torch.randn(6, 3)
# ---
action = actor.act(state)
loss = -critic(torch.cat([state, action], 1)).mean()
loss.backward()
""",
)

# --- 13: where to detach in a GAN -----------------------------------------------------------------

_add(
    "generator_step_with_detached_fake",
    13,
    "cut",
    "G.weight",
    "G.weight.grad is None",
    """
G, D = nn.Linear(2, 3), nn.Linear(3, 1)
z = torch.randn(4, 2)
# ---
fake = G(z)
score = D(fake.detach())  # <-
loss = F.softplus(-score).mean()
loss.backward()
""",
)

_add(
    "discriminator_steps_before_generator_backward",
    13,
    "modified_in_place",
    "",
    "",
    """
G = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 3))
D = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
opt_d = torch.optim.Adam(D.parameters(), lr=0.1)
opt_g = torch.optim.Adam(G.parameters(), lr=0.1)
z, real = torch.randn(4, 2), torch.randn(4, 3)
# ---
fake = G(z)
score = D(fake)
loss_d = F.softplus(score).mean() + F.softplus(-D(real)).mean()
loss_g = F.softplus(-score).mean()
loss_d.backward(retain_graph=True)
opt_d.step()  # <-
loss_g.backward()
""",
    "modified by an inplace operation",
)

_add(
    "score_detached_instead_of_fake",
    13,
    "no_grad_fn",
    "",
    "",
    """
G, D = nn.Linear(2, 3), nn.Linear(3, 1)
z = torch.randn(4, 2)
# ---
def d_loss(fake):
    score = D(fake).detach()  # <-
    return F.softplus(score).mean()

loss = d_loss(G(z))
loss.backward()
""",
    "does not require grad",
)

# --- 14: zero_grad --------------------------------------------------------------------------------

_add(
    "zero_grad_between_backward_and_step",
    14,
    "zero_gradient",
    "net.weight",
    "is_zero(net.weight.grad)",
    """
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(4, 3)
# ---
for _ in range(2):
    loss = net(x).mean()
    loss.backward()
    opt.zero_grad(set_to_none=False)  # <-
    opt.step()
""",
)

_add(
    "grad_zeroed_by_hand_in_a_function",
    14,
    "zero_gradient",
    "w",
    "is_zero(w.grad)",
    """
def clear(params):
    for p in params:
        p.grad.zero_()  # <-

w = torch.randn(3, requires_grad=True)
# ---
loss = (w * 3).sum()
loss.backward()
clear([w])
""",
)

_add(
    "cleared_to_none_before_step",
    14,
    "no_backward_yet cleared",
    "net.weight",
    "net.weight.grad is None",
    """
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(4, 3)
# ---
loss = net(x).mean()
loss.backward()
opt.zero_grad()  # <-
opt.step()
""",
)

# --- 15: no_grad, eval, inference_mode ------------------------------------------------------------

_add(
    "inference_features_used_in_training",
    15,
    "inference_tensor",
    "",
    "",
    """
body, head = nn.Linear(3, 3), nn.Linear(3, 1)
x = torch.randn(2, 3)
with torch.inference_mode():
    f = body(x)  # <-
loss = head(f).mean()
loss.backward()
""",
    "Inference tensors cannot be saved for backward",
)

_add(
    "enable_grad_inside_inference_mode",
    15,
    "no_grad_fn",
    "",
    "",
    """
w = torch.randn(3, requires_grad=True)
# ---
with torch.inference_mode():
    with torch.enable_grad():
        loss = (w * 2).sum()  # <-
loss.backward()
""",
    "does not require grad",
)

_add(
    "encoder_called_under_no_grad",
    15,
    "cut",
    "net, loss",
    "no_grads(net.enc) and all_grads(net.head)",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.head = nn.Linear(3, 4), nn.Linear(4, 1)

    def forward(self, x):
        with torch.no_grad():
            h = self.enc(x)  # <-
        return self.head(h)

net = Net()
x = torch.randn(2, 3)
# ---
loss = net(x).mean()
loss.backward()
""",
)

# --- 16: a running loss that keeps its graph ------------------------------------------------------

_add(
    "total_plus_equals_loss",
    16,
    "graph_kept",
    "total",
    "depth(total) > 20",
    """
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
data = torch.randn(6, 4, 2)
# ---
total = 0
for x in data:
    opt.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward()
    opt.step()
    total += loss  # <-
""",
)

_add(
    "meter_of_a_library_keeps_graphs",
    16,
    "graph_kept",
    "meter.sum",
    "depth(meter.sum) > 20",
    """
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
data = torch.randn(5, 4, 2)
meter = helpers.Meter()
# ---
for x in data:
    loss = net(x).mean()
    loss.backward()
    meter.update(loss)
    net.zero_grad()
""",
)

# --- 17: deepcopy of a non-leaf -------------------------------------------------------------------

_add(
    "deepcopy_of_a_model_with_cached_activation",
    17,
    "deepcopy_non_leaf",
    "",
    "",
    """
net = helpers.Recurrent()
# ---
y = net(torch.ones(1, 3))
teacher = copy.deepcopy(net)  # <-
""",
    "deepcopy protocol",
)

_add(
    "deepcopy_of_a_computed_weight",
    17,
    "deepcopy_non_leaf",
    "",
    "",
    """
def snapshot(tensors):
    return [copy.deepcopy(t) for t in tensors]  # <-

w = torch.randn(3, requires_grad=True)
# ---
scaled = w * 2
saved = snapshot([scaled])
""",
    "deepcopy protocol",
)

# --- 18: not used in the graph --------------------------------------------------------------------

_add(
    "grad_for_a_copied_input",
    18,
    "unused_input",
    "",
    "",
    """
net = nn.Linear(3, 1)
x = torch.randn(2, 3)
# ---
probe = x.clone().requires_grad_()
y = net(x).sum()
(g,) = torch.autograd.grad(y, [probe])  # <-
""",
    "not have been used in the graph",
)

_add(
    "meta_step_for_an_unused_head",
    18,
    "unused_input",
    "",
    "",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.left, self.right = nn.Linear(3, 3), nn.Linear(3, 1), nn.Linear(3, 1)

    def forward(self, x):
        return self.left(self.body(x))

net = Net()
# ---
loss = net(torch.ones(2, 3)).mean()
grads = torch.autograd.grad(loss, tuple(net.parameters()))  # <-
""",
    "not have been used in the graph",
)

# --- 19: detach_ of a view ------------------------------------------------------------------------

_add(
    "detach_in_place_of_a_row",
    19,
    "detach_view_in_place",
    "",
    "",
    """
w = torch.randn(3, 2, requires_grad=True)
# ---
h = w * 2
row = h[0]
row.detach_()  # <-
""",
    "Can't detach views in-place",
)

_add(
    "chunks_of_a_hidden_state_detached_in_place",
    19,
    "detach_view_in_place",
    "",
    "",
    """
cell = nn.LSTMCell(2, 4)
h, c = cell(torch.ones(1, 2))
# ---
for part in h.split(2, dim=1):
    part.detach_()  # <-
""",
    "detach",
)

# --- 20: flags of non-leaves ----------------------------------------------------------------------

_add(
    "flag_of_a_result_switched_off",
    20,
    "requires_grad_non_leaf",
    "",
    "",
    """
w = torch.randn(3, requires_grad=True)
y = w * 2
y.requires_grad = False  # <-
""",
    "you can only change requires_grad flags of leaf variables",
)

_add(
    "features_frozen_in_a_loop",
    20,
    "requires_grad_non_leaf",
    "",
    "",
    """
stages = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])

def pyramid(x):
    levels = []
    for stage in stages:
        x = torch.relu(stage(x))
        levels.append(x)
    return levels

# ---
for level in pyramid(torch.ones(1, 3)):
    level.requires_grad_(False)  # <-
""",
    "you can only change requires_grad flags of leaf variables",
)

_add(
    "integer_ids_that_want_a_gradient",
    20,
    "requires_grad_non_float",
    "",
    "",
    """
ids = torch.tensor([1, 2, 3])
# ---
ids.requires_grad_()  # <-
""",
    "can require gradients",
)

# --- 21: a snapshot that follows the model --------------------------------------------------------

_add(
    "best_state_dict_follows_the_model",
    21,
    "shared_snapshot",
    "best, net",
    "torch.equal(best['weight'], net.weight)",
    """
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.5)
x = torch.randn(4, 3)
# ---
best = net.state_dict()  # what state_dict() does inside is not recorded
for _ in range(2):
    opt.zero_grad()
    net(x).mean().backward()
    opt.step()
""",
)

_add(
    "detached_list_of_old_weights",
    21,
    "shared_snapshot",
    "old[0]",
    "torch.equal(old[0], net.weight)",
    """
def remember(module):
    return [p.detach() for p in module.parameters()]  # <-

net = nn.Linear(3, 1)
opt = torch.optim.Adam(net.parameters(), lr=0.5)
x = torch.randn(4, 3)
# ---
old = remember(net)
net(x).mean().backward()
opt.step()
""",
)

_add(
    "data_of_a_weight_kept_for_comparison",
    21,
    "shared_snapshot",
    "start, w",
    "torch.equal(start, w)",
    """
w = torch.randn(3, requires_grad=True)
# ---
start = w.data  # <-
for _ in range(2):
    loss = (w ** 2).sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
moved = (w - start).abs().sum()
""",
)

# --- 22: rebinding --------------------------------------------------------------------------------

_add(
    "w_equals_w_minus_step",
    22,
    "rebound",
    "w",
    "w.grad is None and not w.is_leaf",
    """
w = torch.randn(3, requires_grad=True)
x = torch.ones(3)
# ---
loss = (w * x).sum()
loss.backward()
w = w - 0.1 * w.grad  # <-
loss = (w * x).sum()
loss.backward()
""",
)

_add(
    "helper_returns_new_weights",
    22,
    "rebound",
    "weights['b']",
    "weights['b'].grad is None",
    """
weights = {"a": torch.ones(2, requires_grad=True), "b": torch.zeros(2, requires_grad=True)}
x = torch.randn(4, 2)
# ---
for _ in range(2):
    loss = ((x * weights["a"] + weights["b"]) ** 2).mean()
    loss.backward()
    if weights["a"].grad is None:
        break
    weights = helpers.sgd_by_hand(weights)
""",
)

# --- 0: not in the list ---------------------------------------------------------------------------

_add(
    "input_never_asked_for_gradient",
    0,
    "never_tracked",
    "x",
    "x.grad is None and not x.requires_grad",
    """
net = nn.Linear(2, 1)
x = torch.randn(3, 2)
# ---
loss = net(x).sum()
loss.backward()
""",
)

_add(
    "one_layer_is_frozen",
    0,
    "frozen",
    "net[0].weight",
    "net[0].weight.grad is None",
    """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
net[0].requires_grad_(False)
# ---
loss = net(torch.ones(1, 2)).sum()
loss.backward()
""",
)

_add(
    "second_head_not_in_the_loss",
    0,
    "not_in_loss",
    "net.aux.weight",
    "net.aux.weight.grad is None",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.main, self.aux = nn.Linear(3, 3), nn.Linear(3, 1), nn.Linear(3, 1)

    def forward(self, x):
        h = self.body(x)
        return self.main(h), self.aux(h)

net = Net()
# ---
main, aux = net(torch.ones(2, 3))
loss = main.mean()
loss.backward()
""",
)

_add(
    "branch_that_this_batch_does_not_take",
    0,
    "branch_not_taken not_in_loss",
    "net.far.weight",
    "net.far.weight.grad is None",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.near, self.far = nn.Linear(3, 1), nn.Linear(3, 1)

    def forward(self, x):
        if x.abs().mean() < 10:
            return self.near(x)
        return self.far(x)

net = Net()
# ---
loss = net(torch.ones(2, 3)).sum()
loss.backward()
""",
)

_add(
    "backward_was_never_called",
    0,
    "no_backward_yet",
    "net.weight",
    "net.weight.grad is None",
    """
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
# ---
loss = net(torch.ones(2, 3)).mean()
opt.step()
""",
)

_add(
    "memory_written_under_no_grad",
    0,
    "no_grad_write cut",
    "enc.weight",
    "enc.weight.grad is None",
    """
enc, clf = nn.Linear(3, 2), nn.Linear(2, 1)
bank = torch.zeros(4, 2)
x = torch.randn(4, 3)
# ---
h = enc(x)
with torch.no_grad():
    bank.copy_(h)  # <-
loss = clf(bank).mean()
loss.backward()
""",
)

_add(
    "rounded_in_the_middle",
    0,
    "zero_gradient",
    "w",
    "is_zero(w.grad)",
    """
w = torch.tensor([0.3, 1.7], requires_grad=True)
# ---
q = torch.round(w * 4) / 4  # <-
loss = (q ** 2).sum()
loss.backward()
""",
)

_add(
    "dead_relu",
    0,
    "zero_gradient",
    "net[0].weight",
    "is_zero(net[0].weight.grad)",
    """
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
with torch.no_grad():
    net[0].bias.fill_(-100.0)
x = torch.randn(5, 3)
# ---
loss = net(x).sum()  # <-
loss.backward()
""",
)

_add(
    "loss_per_row",
    0,
    "not_scalar",
    "",
    "",
    """
net = nn.Linear(3, 1)
x, y = torch.randn(4, 3), torch.randn(4, 1)
# ---
criterion = nn.MSELoss(reduction="none")
loss = criterion(net(x), y)
loss.backward()  # <-
""",
    "grad can be implicitly created only for scalar outputs",
)

_add(
    "vector_backward_in_a_loop",
    0,
    "not_scalar",
    "",
    "",
    """
w = torch.randn(2, requires_grad=True)
for row in torch.ones(3, 2):
    (w * row).backward()  # <-
""",
    "grad can be implicitly created only for scalar outputs",
)

_add(
    "fused_step_before_backward",
    0,
    "fused_step",
    "net, opt",
    "not torch.allclose(net[0].weight.grad, right[0])",
    """
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.5, fused=True)
x = torch.randn(4, 3)
out = net(x)
right = torch.autograd.grad((out ** 2).mean(), list(net.parameters()), retain_graph=True)
del out
# ---
out = net(x)
first, second = out.mean(), (out ** 2).mean()
first.backward(retain_graph=True)
opt.step()  # <-
opt.zero_grad()
second.backward()
""",
)

_add(
    "fused_adam_in_a_gan",
    0,
    "fused_step",
    "G, loss_g",
    "not torch.allclose(G.weight.grad, right)",
    """
G, D = nn.Linear(2, 3), nn.Linear(3, 1)
opt_d = torch.optim.Adam(D.parameters(), lr=0.5, fused=True)
z = torch.randn(4, 2)
(right,) = torch.autograd.grad(F.softplus(-D(G(z))).mean(), [G.weight])
# ---
score = D(G(z))
loss_d, loss_g = F.softplus(score).mean(), F.softplus(-score).mean()
loss_d.backward(retain_graph=True)
opt_d.step()  # <-
G.zero_grad()
loss_g.backward()
""",
)

# --- small, large and broken gradients ------------------------------------------------------------

_add(
    "twelve_sigmoid_blocks",
    0,
    "vanishing",
    "net, loss",
    "norm(net[0].weight) < 1e-6 * norm(net[-2].weight)",
    """
net = nn.Sequential(*(layer for _ in range(12) for layer in (nn.Linear(8, 8), nn.Sigmoid())))
x = torch.randn(16, 8)
# ---
loss = net(x).pow(2).mean()
loss.backward()
""",
)

_add(
    "saturated_tanh_in_a_loop",
    0,
    "vanishing",
    "net, loss",
    "norm(net.inner[0].weight) < 1e-6 * norm(net.head.weight)",
    """
class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.ModuleList(nn.Linear(8, 8) for _ in range(8))
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        for layer in self.inner:
            x = torch.tanh(3 * layer(x).sign() + 0.1 * layer(x))
        return self.head(x)

net = Deep()
x = torch.randn(16, 8)
# ---
loss = net(x).mean()
loss.backward()
""",
)

_add(
    "ten_large_linear_layers",
    0,
    "exploding",
    "net, loss",
    "norm(net[0].weight) > 1e4",
    """
net = nn.Sequential(*(nn.Linear(8, 8) for _ in range(10)))
with torch.no_grad():
    for layer in net:
        layer.weight.mul_(12)
x = torch.randn(4, 8)
# ---
loss = net(x).mean()
loss.backward()
""",
)

_add(
    "recurrent_weight_above_one",
    0,
    "exploding",
    "cell, loss",
    "norm(cell.weight) > 1e4",
    """
cell = nn.Linear(4, 4, bias=False)
with torch.no_grad():
    cell.weight.copy_(3 * torch.eye(4))
x = torch.ones(1, 4)
# ---
h = x
for _ in range(15):
    h = cell(h)
loss = h.sum()
loss.backward()
""",
)

_add(
    "square_root_of_zero",
    0,
    "nan",
    "w",
    "bool(w.grad.isnan().any())",
    """
w = torch.tensor([0.0, 1.0], requires_grad=True)
# ---
d = (w * 0).pow(2).sum().sqrt()  # <-
loss = d * 0 + w.sum()
loss.backward()
""",
)

_add(
    "log_of_zero_behind_where",
    0,
    "nan",
    "net, loss",
    "bool(net.weight.grad.isnan().any())",
    """
def safe_log(p):
    return torch.where(p > 0, p.log(), torch.zeros_like(p))

net = nn.Linear(2, 3)
mask = torch.tensor([1.0, 0.0, 1.0])
# ---
p = net(torch.ones(4, 2)).sigmoid() * mask
loss = safe_log(p).sum()
loss.backward()
""",
)

_add(
    "half_precision_underflow",
    0,
    "underflow",
    "net, loss",
    "is_zero(net[0].weight.grad)",
    """
net = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1)).half()
x = torch.randn(16, 8).half()
# ---
out = net(x)
loss = out.mean() * 1e-7
loss.backward()
""",
)

# --- HEALTHY: nothing is wrong --------------------------------------------------------------------

NOTHING_WRONG = "healthy"

_add(
    "lora_a_is_zero_at_step_one",
    0,
    "healthy",
    "layer.A",
    "is_zero(layer.A.grad) and bool(layer.B.grad.any())",
    """
layer = helpers.LowRank(4)
x = torch.randn(6, 4)
# ---
loss = layer(x).pow(2).mean()
loss.backward()
""",
)

_add(
    "lora_model_with_frozen_base",
    0,
    "healthy frozen",
    "layer, loss",
    "layer.base.weight.grad is None",
    """
layer = helpers.LowRank(4)
with torch.no_grad():
    layer.B.add_(0.1)
x = torch.randn(6, 4)
# ---
loss = layer(x).pow(2).mean()
loss.backward()
""",
)

_add(
    "momentum_teacher",
    0,
    "healthy",
    "student, loss",
    "all_grads(student)",
    """
student = nn.Linear(3, 3)
teacher = copy.deepcopy(student).requires_grad_(False)
opt = torch.optim.SGD(student.parameters(), lr=0.1)
x = torch.randn(4, 3)
# ---
with torch.no_grad():
    target = teacher(x + 0.1)
loss = (student(x) - target).pow(2).mean()
loss.backward()
opt.step()
helpers.update_average(teacher, student)
""",
)

_add(
    "detached_for_logging",
    0,
    "healthy",
    "net, loss",
    "all_grads(net)",
    """
net = nn.Linear(3, 1)
log = []
# ---
for _ in range(2):
    net.zero_grad()
    loss = net(torch.ones(2, 3)).pow(2).mean()
    log.append(loss.detach())
    loss.backward()
""",
)

_add(
    "item_for_printing",
    0,
    "healthy",
    "net.weight",
    "all_grads(net)",
    """
net = nn.Linear(3, 1)
seen = ""
# ---
loss = net(torch.ones(2, 3)).pow(2).mean()
seen += f"loss {loss.item():.3f}"
loss.backward()
""",
)

_add(
    "head_on_a_frozen_backbone",
    0,
    "healthy frozen",
    "net, loss",
    "no_grads(net[0]) and all_grads(net[2])",
    """
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
net[0].requires_grad_(False)
# ---
loss = net(torch.ones(2, 3)).mean()
loss.backward()
""",
)

_add(
    "batch_norm_in_eval_mode",
    0,
    "healthy frozen",
    "backbone",
    "torch.equal(backbone[1].running_mean, before)",
    """
backbone = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU()).requires_grad_(False).eval()
head = nn.Linear(4, 1)
before = backbone[1].running_mean.clone()
# ---
loss = head(backbone(torch.randn(8, 3))).mean()
loss.backward()
""",
)

_add(
    "batch_norm_that_trains",
    0,
    "healthy",
    "net, loss",
    "finite(net)",
    """
net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))
# ---
loss = net(torch.randn(8, 3)).pow(2).mean()
loss.backward()
""",
)

_add(
    "gradients_accumulated_on_purpose",
    0,
    "healthy",
    "net, loss",
    "all_grads(net)",
    """
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
# ---
opt.zero_grad()
for part in torch.randn(4, 2, 3):
    loss = net(part).pow(2).mean() / 4
    loss.backward()
opt.step()
""",
)

_add(
    "clipped_gradients",
    0,
    "healthy",
    "net, loss",
    "all_grads(net)",
    """
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
# ---
opt.zero_grad()
loss = (net(torch.randn(4, 3)) * 50).pow(2).mean()
loss.backward()
torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
opt.step()
""",
)

_add(
    "evaluation_between_steps",
    0,
    "healthy",
    "net, loss",
    "all_grads(net)",
    """
net = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.1), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(4, 3)

def evaluate():
    net.eval()
    with torch.no_grad():
        score = net(x).mean().item()
    net.train()
    return score

# ---
for _ in range(2):
    opt.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward()
    opt.step()
    score = evaluate()
""",
)

_add(
    "straight_through_estimator",
    0,
    "healthy",
    "w",
    "bool(w.grad.any())",
    """
w = torch.tensor([0.3, 1.7], requires_grad=True)
# ---
q = w + (w.round() - w).detach()
loss = (q * torch.tensor([1.0, 2.0])).sum()
loss.backward()
""",
)

_add(
    "target_network",
    0,
    "healthy",
    "q, loss",
    "all_grads(q)",
    """
q = nn.Linear(3, 2)
target_q = copy.deepcopy(q)
state, action, reward = torch.randn(5, 3), torch.tensor([0, 1, 1, 0, 1]), torch.randn(5)
# ---
with torch.no_grad():
    goal = reward + 0.9 * target_q(state).max(1).values
chosen = q(state).gather(1, action[:, None]).squeeze(1)
loss = F.smooth_l1_loss(chosen, goal)
loss.backward()
""",
)

_add(
    "graph_retained_for_a_second_loss",
    0,
    "healthy",
    "net, second",
    "all_grads(net)",
    """
net = nn.Linear(3, 2)
x = torch.randn(4, 3)
# ---
out = torch.tanh(net(x))
first, second = out.mean(), out.pow(2).mean()
first.backward(retain_graph=True)
second.backward()
""",
)

_add(
    "checkpoint_used_right",
    0,
    "healthy",
    "net, loss",
    "all_grads(net)",
    """
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
x = torch.randn(4, 3)
# ---
h = checkpoint(net[:2], x, use_reentrant=False)
loss = net[2](h).pow(2).mean()
loss.backward()
""",
)

_add(
    "relu_in_place_after_linear",
    0,
    "healthy",
    "net, loss",
    "finite(net)",
    """
net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(inplace=True), nn.Linear(8, 1))
x = torch.randn(6, 3)
# ---
loss = net(x).pow(2).mean()
loss.backward()
""",
)

_add(
    "tied_weights",
    0,
    "healthy",
    "net, loss",
    "all_grads(net)",
    """
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.out = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
        self.out.weight = self.emb.weight

    def forward(self, ids):
        return self.out(self.emb(ids))

net = Tied()
ids = torch.tensor([0, 1, 3])
# ---
loss = F.cross_entropy(net(ids), torch.tensor([1, 3, 4]))
loss.backward()
""",
)

_add(
    "snapshot_that_is_a_copy",
    0,
    "healthy",
    "best, net",
    "not torch.equal(best['weight'], net.weight)",
    """
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.5)
# ---
best = copy.deepcopy(net.state_dict())
net(torch.ones(2, 3)).mean().backward()
opt.step()
""",
)

_add(
    "running_loss_with_item",
    0,
    "healthy",
    "net, loss",
    "isinstance(total, float) and all_grads(net)",
    """
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
total = 0.0
# ---
for x in torch.randn(4, 3, 2):
    opt.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward()
    opt.step()
    total += loss.item()
""",
)

_add(
    "truncated_backpropagation",
    0,
    "healthy",
    "cell, loss",
    "all_grads(cell)",
    """
cell = nn.RNNCell(3, 3)
h = torch.zeros(1, 3)
data = torch.randn(4, 1, 3)
# ---
for x in data:
    cell.zero_grad()
    h = cell(x, h.detach())
    loss = h.pow(2).sum()
    loss.backward()
""",
)

_add(
    "discriminator_step_with_detached_fake",
    0,
    "healthy",
    "D, loss_d",
    "all_grads(D) and no_grads(G)",
    """
G, D = nn.Linear(2, 3), nn.Linear(3, 1)
z, real = torch.randn(4, 2), torch.randn(4, 3)
# ---
fake = G(z).detach()
loss_d = F.softplus(D(fake)).mean() + F.softplus(-D(real)).mean()
loss_d.backward()
""",
)

_add(
    "gradient_penalty",
    0,
    "healthy",
    "D, loss",
    "finite(D) and bool(D[0].weight.grad.any())",
    """
D = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
x = torch.randn(4, 3)
# ---
point = x.clone().requires_grad_()
score = D(point)
(slope,) = torch.autograd.grad(score.sum(), point, create_graph=True)
loss = score.mean() + (slope.norm(dim=1) - 1).pow(2).mean()
loss.backward()
""",
)

_add(
    "custom_function_done_right",
    0,
    "healthy",
    "w",
    "torch.equal(w.grad, torch.tensor([2.0, 4.0]))",
    """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g

w = torch.tensor([1.0, 2.0], requires_grad=True)
# ---
loss = Square.apply(w).sum()
loss.backward()
""",
)

_add(
    "siamese_stop_gradient",
    0,
    "healthy",
    "net, loss",
    "all_grads(net)",
    """
net, predict = nn.Linear(3, 3), nn.Linear(3, 3)
x = torch.randn(4, 3)
# ---
one, two = net(x), net(x + 0.1)
loss = -F.cosine_similarity(predict(one), two.detach()).mean()
loss.backward()
""",
)

_add(
    "saliency_of_an_input",
    0,
    "healthy",
    "image",
    "bool(image.grad.any())",
    """
net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2)).requires_grad_(False).eval()
image = torch.randn(1, 4, requires_grad=True)
# ---
score = net(image)[0, 1]
score.backward()
""",
)

_add(
    "deep_residual_network",
    0,
    "healthy",
    "net, loss",
    "finite(net)",
    """
class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x):
        return x + 0.1 * torch.relu(self.lin(x))

net = nn.Sequential(*(Residual() for _ in range(12)))
# ---
loss = net(torch.randn(16, 8)).pow(2).mean()
loss.backward()
""",
)

_add(
    "small_gradients_of_a_good_model",
    0,
    "healthy",
    "net, loss",
    "0 < norm(net[0].weight) < 1e-3",
    """
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
# ---
loss = (net(torch.randn(16, 4)) * 1e-3).mean()
loss.backward()
""",
)

_add(
    "half_of_a_relu_is_off",
    0,
    "healthy",
    "net[0].weight",
    "0 < (net[0].weight.grad == 0).float().mean() < 1",
    """
net = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 1))
# ---
loss = net(torch.ones(4, 1)).mean()
loss.backward()
""",
)

_add(
    "data_written_after_backward",
    0,
    "healthy",
    "w",
    "torch.equal(w.grad, torch.tensor([2.0, 4.0]))",
    """
w = torch.tensor([1.0, 2.0], requires_grad=True)
# ---
loss = (w ** 2).sum()
loss.backward()
w.data -= 0.1 * w.grad
""",
)

_add(
    "fused_step_in_its_place",
    0,
    "healthy",
    "net, loss",
    "all_grads(net)",
    """
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1, fused=True)
# ---
for _ in range(2):
    opt.zero_grad()
    loss = net(torch.ones(2, 3)).pow(2).mean()
    loss.backward()
    opt.step()
""",
)

_add(
    "frozen_weight_with_cleared_gradient",
    0,
    "healthy frozen",
    "net[0].weight, opt",
    "torch.equal(net[0].weight, before)",
    """
net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.1)
x = torch.randn(4, 3)
net(x).mean().backward()
opt.step()
net[0].requires_grad_(False)
before = net[0].weight.clone()
# ---
opt.zero_grad()
loss = net(x).mean()
loss.backward()
opt.step()
""",
)

_add(
    "detach_of_a_mask_only",
    0,
    "healthy",
    "net, loss",
    "all_grads(net)",
    """
net = nn.Linear(3, 3)
x = torch.randn(5, 3)
# ---
out = net(x)
weight = torch.softmax(out, 1).detach()
keep = out > -10
loss = (out * weight * keep).sum()
loss.backward()
""",
)

_add(
    "eval_mode_still_records",
    0,
    "healthy",
    "net, loss",
    "all_grads(net)",
    """
net = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1)).eval()
# ---
loss = net(torch.randn(2, 3)).pow(2).mean()
loss.backward()
""",
)

_add(
    "sum_of_a_few_losses",
    0,
    "healthy",
    "net, total",
    "all_grads(net)",
    """
net = nn.Linear(3, 1)
# ---
total = 0
for x in torch.randn(3, 2, 3):
    total = total + net(x).pow(2).mean()
total.backward()
""",
)

# --- further disguises, written after the explainers ----------------------------------------------

_add(
    "attention_weights_masked_in_place",
    1,
    "modified_in_place",
    "",
    "",
    """
class Attend(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        a = torch.softmax(self.q(x) @ self.k(x).T, dim=-1)
        a[a < 0.2] = 0  # <-
        return a @ x

net = Attend()
x = torch.randn(3, 4)
# ---
out = net(x)
out.sum().backward()
""",
    "modified by an inplace operation",
)

_add(
    "some_outputs_through_numpy_and_back",
    6,
    "cut rebuilt_from_value",
    "enc, loss",
    "no_grads(enc)",
    """
enc, dec = nn.Linear(3, 2), nn.Linear(2, 1)
x = torch.randn(4, 3)
# ---
codes = []
for row in x:
    code = enc(row)
    codes.append(code.tolist())  # <-
codes = torch.tensor(codes)
loss = dec(codes).pow(2).mean()
loss.backward()
""",
)

_add(
    "quantised_by_long",
    7,
    "cut",
    "w",
    "w.grad is None",
    """
w = torch.tensor([0.5, 1.5], requires_grad=True)
scale = torch.tensor(2.0, requires_grad=True)
# ---
steps = (w * 10).long()  # <-
loss = (steps.float() * scale).sum()
loss.backward()
""",
)

_add(
    "hard_choice_by_argmax",
    7,
    "cut",
    "gate, loss",
    "no_grads(gate)",
    """
class Router(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(3, 2)
        self.experts = nn.ModuleList([nn.Linear(3, 1), nn.Linear(3, 1)])

    def forward(self, x):
        best = self.gate(x).argmax(1)  # <-
        return torch.stack([self.experts[int(b)](row) for b, row in zip(best, x)])

net = Router()
gate = net.gate
x = torch.randn(6, 3)
# ---
loss = net(x).pow(2).mean()
loss.backward()
""",
)

_add(
    "teacher_student_swapped",
    15,
    "cut",
    "student.weight",
    "student.weight.grad is None",
    """
student, teacher = nn.Linear(3, 3), nn.Linear(3, 3)
x = torch.randn(4, 3)

def target_of(module, batch):
    with torch.no_grad():
        return module(batch)  # <-

# ---
loss = (target_of(student, x) - teacher(x)).pow(2).mean()
loss.backward()
""",
)

_add(
    "requires_grad_after_the_forward",
    0,
    "never_tracked",
    "x",
    "x.grad is None and x.requires_grad",
    """
w = torch.tensor([2.0], requires_grad=True)
x = torch.tensor([1.0])
# ---
loss = (w * x).sum()
x.requires_grad_()
loss.backward()
""",
)

_add(
    "parameter_wrapped_again_in_forward",
    5,
    "cut rebuilt_from_value not_in_loss",
    "net.raw",
    "net.raw.grad is None",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.raw = nn.Parameter(torch.randn(3))

    def forward(self, x):
        w = nn.Parameter(self.raw)  # makes a new leaf
        return (x * w).sum()

net = Net()
# ---
loss = net(torch.ones(3))
loss.backward()
""",
)

_add(
    "loss_of_an_earlier_forward",
    3,
    "second_backward",
    "",
    "",
    """
net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
x = torch.randn(4, 3)
# ---
regulariser = sum(p.pow(2).sum() for p in net.parameters())
for _ in range(2):
    loss = net(x).mean() + regulariser
    loss.backward()  # <-
""",
    "second time",
)

_add(
    "optimizer_of_another_copy",
    14,
    "not_moved",
    "net, loss",
    "all_grads(net)",
    """
net = nn.Linear(3, 1)
opt = torch.optim.SGD(copy.deepcopy(net).parameters(), lr=0.1)
# ---
loss = net(torch.ones(2, 3)).mean()
loss.backward()
opt.step()
""",
)

_add(
    "zero_initialised_output_layer",
    0,
    "healthy zero_gradient",
    "net[0].weight",
    "is_zero(net[0].weight.grad)",
    """
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
nn.init.zeros_(net[2].weight)
# ---
loss = (net(torch.randn(5, 3)) - 1).pow(2).mean()
loss.backward()
""",
)

_add(
    "clamped_outside_of_its_range",
    0,
    "zero_gradient",
    "w",
    "is_zero(w.grad)",
    """
w = torch.tensor([3.0, -4.0], requires_grad=True)
# ---
p = w.clamp(-1, 1)  # <-
loss = (p - 0.5).pow(2).sum()
loss.backward()
""",
)

_add(
    "lbfgs_closure",
    0,
    "healthy",
    "w",
    "bool(w.grad.isfinite().all())",
    """
w = torch.tensor([3.0, -4.0], requires_grad=True)
opt = torch.optim.LBFGS([w], max_iter=3)

def closure():
    opt.zero_grad()
    loss = (w - 1).pow(2).sum()
    loss.backward()
    return loss

# ---
opt.step(closure)
""",
)

_add(
    "amp_style_scaling",
    0,
    "healthy",
    "net, loss",
    "all_grads(net)",
    """
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(4, 3)
# ---
with torch.autocast("cpu", dtype=torch.bfloat16):
    loss = net(x).float().pow(2).mean()
(loss * 1024).backward()
for p in net.parameters():
    p.grad.div_(1024)
opt.step()
""",
)

_add(
    "shared_memory_used_on_purpose",
    0,
    "healthy cut never_tracked",
    "view",
    "same_storage(view, w)",
    """
w = torch.ones(2, requires_grad=True)
# ---
view = w.detach()
print_me = view.tolist()
loss = (w * 2).sum()
loss.backward()
""",
)

_add(
    "retained_gradient_of_a_feature_map",
    0,
    "healthy",
    "h",
    "bool(h.grad.any())",
    """
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh())
head = nn.Linear(4, 1)
# ---
h = net(torch.randn(2, 3))
h.retain_grad()
head(h).sum().backward()
""",
)

_add(
    "dropout_with_everything_dropped",
    0,
    "zero_gradient",
    "net[0].weight",
    "is_zero(net[0].weight.grad)",
    """
net = nn.Sequential(nn.Linear(3, 4), nn.Dropout(1.0), nn.Linear(4, 1))
# ---
loss = net(torch.randn(5, 3)).pow(2).mean()
loss.backward()
""",
)

_add(
    "snapshot_of_a_dictionary_of_data",
    21,
    "shared_snapshot",
    "kept, net",
    "torch.equal(kept['weight'], net.weight)",
    """
net = nn.Linear(3, 1)
opt = torch.optim.AdamW(net.parameters(), lr=0.5)
# ---
kept = {name: p.data for name, p in net.named_parameters()}  # <-
net(torch.ones(2, 3)).mean().backward()
opt.step()
""",
)

_add(
    "division_by_a_standard_deviation_of_zero",
    0,
    "nan",
    "w",
    "bool(w.grad.isnan().any())",
    """
def standardise(x):
    return (x - x.mean()) / x.std()

w = torch.tensor([1.0, 1.0, 1.0], requires_grad=True)
# ---
loss = standardise(w).pow(2).sum()
loss.backward()
""",
)

# --- held out: written before reading the answers and the programs above --------------------------

_add(
    "practice_gan_step_between",
    1,
    "modified_in_place",
    "G, D",
    "True",
    """
# ---
G = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 5))
D = nn.Sequential(nn.Linear(5, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
opt_g, opt_d = torch.optim.Adam(G.parameters(), 1e-3), torch.optim.Adam(D.parameters(), 1e-3)
bce = nn.BCEWithLogitsLoss()
for step in range(2):
    real = torch.randn(6, 5)
    fake = G(torch.randn(6, 4))
    d_fake = D(fake)
    d_loss = bce(D(real), torch.ones(6, 1)) + bce(d_fake, torch.zeros(6, 1))
    opt_d.zero_grad()
    d_loss.backward(retain_graph=True)
    opt_d.step()  # <-
    g_loss = bce(d_fake, torch.ones(6, 1))
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
""",
    raises="inplace",
)

_add(
    "practice_gan_fake_no_grad",
    0,
    "cut",
    "G, g_loss",
    "all(q.grad is None for q in G.parameters()) and D[0].weight.grad is not None",
    """
# ---
G = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 5))
D = nn.Sequential(nn.Linear(5, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
opt_g, opt_d = torch.optim.Adam(G.parameters(), 1e-3), torch.optim.Adam(D.parameters(), 1e-3)

def sample(n):
    z = torch.randn(n, 4)
    with torch.no_grad():
        return G(z)  # <-

for step in range(2):
    real, fake = torch.randn(6, 5), sample(6)
    d_loss = F.softplus(-D(real)).mean() + F.softplus(D(fake)).mean()
    opt_d.zero_grad(); d_loss.backward(); opt_d.step()
    g_loss = F.softplus(-D(sample(6))).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
""",
)

_add(
    "practice_reinforce_items",
    2,
    "no_grad_fn",
    "policy",
    "True",
    """
# ---
policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.Adam(policy.parameters(), 1e-2)
log_probs, rewards = [], []
state = torch.zeros(3)
for t in range(5):
    dist = torch.distributions.Categorical(logits=policy(state))
    a = dist.sample()
    log_probs.append(dist.log_prob(a).item())  # <-
    rewards.append(float(a))
    state = state + 0.1
returns = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
loss = -(torch.tensor(log_probs) * returns).sum()
opt.zero_grad()
loss.backward()
opt.step()
""",
    raises="does not require grad",
)

_add(
    "practice_critic_values_numpy",
    0,
    "cut rebuilt_from_value",
    "critic, loss",
    "critic.v.weight.grad is None and actor.pi.weight.grad is not None",
    """
# ---
class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.pi = nn.Linear(3, 16), nn.Linear(16, 2)
    def forward(self, s):
        return self.pi(torch.tanh(self.body(s)))
class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.v = nn.Linear(3, 16), nn.Linear(16, 1)
    def forward(self, s):
        return self.v(torch.tanh(self.body(s))).squeeze(-1)
actor, critic = Actor(), Critic()
opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], 1e-2)
lps, vals, rs = [], [], []
s = torch.zeros(3)
for t in range(4):
    d = torch.distributions.Categorical(logits=actor(s))
    a = d.sample()
    lps.append(d.log_prob(a)); vals.append(critic(s).item()); rs.append(1.0)  # <-
    s = s + 0.1
ret = torch.tensor(rs).flip(0).cumsum(0).flip(0)
vals = torch.tensor(vals)
adv = ret - vals
loss = -(torch.stack(lps) * adv).mean() + 0.5 * F.mse_loss(vals, ret)
opt.zero_grad(); loss.backward(); opt.step()
""",
)

_add(
    "practice_lora_both_zero",
    0,
    "zero_gradient",
    "net, loss",
    "net.A.grad.abs().max()==0 and net.B.grad.abs().max()==0",
    """
# ---
class LoRALinear(nn.Module):
    def __init__(self, base, r=2):
        super().__init__()
        self.base = base
        for q in base.parameters():
            q.requires_grad = False
        self.A = nn.Parameter(torch.zeros(r, base.in_features))
        self.B = nn.Parameter(torch.zeros(base.out_features, r))
    def forward(self, x):
        return self.base(x) + x @ self.A.T @ self.B.T
net = LoRALinear(nn.Linear(6, 3))
opt = torch.optim.AdamW([q for q in net.parameters() if q.requires_grad], lr=1e-2)
x, y = torch.randn(8, 6), torch.randn(8, 3)
for step in range(3):
    opt.zero_grad()
    loss = F.mse_loss(net(x), y)
    loss.backward()
    opt.step()
""",
)

_add(
    "practice_teacher_bn_moves",
    11,
    "batch_norm_moves",
    "teacher",
    "not torch.equal(teacher[1].running_mean, torch.zeros(8))",
    """
# ---
teacher = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
for q in teacher.parameters():
    q.requires_grad_(False)
student = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 3))
opt = torch.optim.SGD(student.parameters(), 0.1)
for _ in range(3):
    x = torch.randn(8, 6)
    loss = F.mse_loss(student(x), teacher(x))  # <-
    opt.zero_grad(); loss.backward(); opt.step()
""",
)

_add(
    "practice_rnn_state_carried",
    3,
    "second_backward",
    "model, loss",
    "True",
    """
# ---
class Char(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.rnn, self.out = nn.Embedding(10, 6), nn.GRU(6, 8, batch_first=True), nn.Linear(8, 10)
    def forward(self, ids, h):
        y, h = self.rnn(self.emb(ids), h)
        return self.out(y), h
model = Char()
opt = torch.optim.Adam(model.parameters(), 1e-3)
data = torch.randint(0, 10, (2, 25))
h = torch.zeros(1, 2, 8)
for i in range(0, 20, 5):
    logits, h = model(data[:, i:i+5], h)
    loss = F.cross_entropy(logits.flatten(0, 1), data[:, i+1:i+6].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    raises="second time",
)

_add(
    "practice_lstmcell_retain_graph_step",
    1,
    "modified_in_place",
    "cell, loss",
    "True",
    """
# ---
cell, head = nn.LSTMCell(3, 5), nn.Linear(5, 1)
opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], 0.1)
state = (torch.zeros(2, 5), torch.zeros(2, 5))
for t in range(4):
    x, y = torch.randn(2, 3), torch.randn(2, 1)
    state = cell(x, state)
    loss = (head(state[0]) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()  # <-
""",
    raises="inplace",
)

_add(
    "practice_reentrant_checkpoint_frozen_emb",
    2,
    "no_grad_fn",
    "model",
    "True",
    """
# ---
from torch.utils.checkpoint import checkpoint
class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.o = nn.Linear(d, d), nn.Linear(d, d)
    def forward(self, x):
        return x + self.o(torch.tanh(self.q(x)))
class LM(nn.Module):
    def __init__(self, d=6):
        super().__init__()
        self.emb = nn.Embedding(20, d)
        self.blocks = nn.ModuleList(Block(d) for _ in range(3))
        self.head = nn.Linear(d, 20)
    def forward(self, ids):
        x = self.emb(ids)
        for b in self.blocks:
            x = checkpoint(b, x, use_reentrant=True)  # <-
        return self.head(x)
model = LM()
model.emb.weight.requires_grad = False
model.head.requires_grad_(False)
ids = torch.randint(0, 20, (2, 7))
loss = F.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
loss.backward()
""",
    raises="does not require grad",
)

_add(
    "practice_custom_function_none_grad",
    0,
    "cut",
    "lin, loss",
    "lin.weight.grad is None and lin.bias.grad is not None",
    """
# ---
class FastLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b):
        ctx.save_for_backward(x, w)
        return x @ w.T + b
    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g @ w, None, g.sum(0)
class Lin(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(3, 4)), nn.Parameter(torch.zeros(3))
    def forward(self, x):
        return FastLinear.apply(x, self.weight, self.bias)
lin = Lin()
opt = torch.optim.SGD(lin.parameters(), 0.1)
for _ in range(2):
    loss = lin(torch.randn(5, 4)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
)

_add(
    "practice_grad_penalty_no_create_graph",
    2,
    "no_grad_fn",
    "D",
    "True",
    """
# ---
D = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))
def gradient_penalty(critic, real, fake):
    eps = torch.rand(real.size(0), 1)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    out = critic(mix)
    (g,) = torch.autograd.grad(out.sum(), mix)  # <-
    return ((g.norm(2, dim=1) - 1) ** 2).mean()
opt = torch.optim.Adam(D.parameters())
gp = 10 * gradient_penalty(D, torch.randn(6, 5), torch.randn(6, 5))
gp.backward()
opt.step()
""",
    raises="does not require grad",
)

_add(
    "practice_adam_leftover_frozen",
    10,
    "leftover_grad_moves",
    "net, opt",
    "not torch.equal(before, net[0].weight)",
    """
# ---
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.Adam(net.parameters(), 1e-2)
x, y = torch.randn(16, 4), torch.randint(0, 2, (16,))
for epoch in range(4):
    if epoch == 2:
        for q in net[0].parameters():
            q.requires_grad = False
        before = net[0].weight.detach().clone()
    opt.zero_grad(set_to_none=False)
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    opt.step()  # <-
""",
)

_add(
    "practice_masked_softmax_hidden_nan",
    0,
    "nan",
    "attn, loss",
    "attn.v.weight.grad.isnan().any() and loss.isfinite()",
    """
import math
# ---
class Attn(nn.Module):
    def __init__(self, d=6):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
    def forward(self, x, pad):
        s = torch.einsum("bid,bjd->bij", self.q(x), self.k(x)) / math.sqrt(x.size(-1))
        s = s.masked_fill(pad[:, None, :], float("-inf"))
        w = torch.softmax(s, -1)
        return torch.einsum("bij,bjd->bid", w, self.v(x))
attn = Attn()
x = torch.randn(2, 4, 6)
lens = torch.tensor([3, 0])
pad = torch.arange(4)[None] >= lens[:, None]
out = attn(x, pad)
loss = out.masked_fill(pad[..., None], 0.0).pow(2).sum() / (~pad).sum()
loss.backward()
""",
)

_add(
    "practice_loss_retensored",
    0,
    "rebuilt_from_value",
    "net, loss",
    "all(q.grad is None for q in net.parameters()) and True",
    """
# ---
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters())
def rmse(pred, target):
    return np.sqrt(np.mean((pred.detach().numpy() - target.numpy()) ** 2))
for _ in range(3):
    x, y = torch.randn(8, 4), torch.randn(8, 1)
    opt.zero_grad()
    loss = torch.tensor(rmse(net(x), y), requires_grad=True)
    loss.backward()
    opt.step()
""",
)

_add(
    "practice_running_graph",
    16,
    "graph_kept",
    "epoch_loss",
    "epoch_loss.grad_fn is not None",
    """
# ---
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters())
epoch_loss = 0.0
for _ in range(6):
    x = torch.randn(8, 4)
    loss = net(x).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    epoch_loss += loss  # <-
""",
)

_add(
    "practice_wgan_clip_before_backward",
    0,
    "overwritten",
    "D, d_loss",
    "True",
    """
# ---
D = nn.Sequential(nn.Linear(5, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
opt = torch.optim.RMSprop(D.parameters(), 1e-4)
real, fake = torch.randn(6, 5), torch.randn(6, 5)
d_loss = D(fake).mean() - D(real).mean()
for q in D.parameters():
    q.data.clamp_(-0.01, 0.01)  # <-
opt.zero_grad()
d_loss.backward()
opt.step()
""",
)

_add(
    "practice_gate_mul_inplace",
    1,
    "modified_in_place",
    "net",
    "True",
    """
# ---
class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp, self.gate, self.out = nn.Linear(4, 6), nn.Linear(4, 6), nn.Linear(6, 1)
    def forward(self, x, keep):
        g = torch.sigmoid(self.gate(x))
        h = torch.tanh(self.inp(x)) * g
        g *= keep  # <-
        return self.out(h + g)
net = Gated()
loss = net(torch.randn(5, 4), (torch.rand(5, 6) > 0.5).float()).mean()
loss.backward()
""",
    raises="inplace",
)

_add(
    "practice_sequential_relu_inplace_after_sigmoid",
    1,
    "modified_in_place",
    "net",
    "True",
    """
# ---
net = nn.Sequential(
    nn.Linear(4, 6), nn.Sigmoid(),
    nn.Hardtanh(0.2, 0.8, inplace=True),
    nn.Linear(6, 1))
x = torch.randn(5, 4)
loss = net(x).mean()  # <-
loss.backward()
""",
    raises="inplace",
)

_add(
    "practice_manual_rebind",
    22,
    "rebound",
    "w",
    "w.grad is None",
    """
# ---
w = torch.randn(3, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
x, y = torch.randn(10, 3), torch.randn(10, 1)
for step in range(3):
    loss = ((x @ w + b - y) ** 2).mean()
    loss.backward()
    w = w - 0.1 * w.grad  # <-
    b = b - 0.1 * b.grad
""",
    raises="NoneType",
)

_add(
    "practice_moe_unused_expert",
    0,
    "branch_not_taken healthy not_in_loss",
    "moe, loss",
    "moe.experts[2].weight.grad is None and moe.experts[0].weight.grad is not None",
    """
# ---
class MoE(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(4, 3)
        self.experts = nn.ModuleList(nn.Linear(4, 2) for _ in range(3))
        with torch.no_grad():
            self.router.weight.zero_(); self.router.bias.copy_(torch.tensor([1.0, 0.9, -5.0]))
            self.router.weight[1] = 3.0
    def forward(self, x):
        p = self.router(x).softmax(-1)
        top, idx = p.max(-1)
        out = torch.zeros(x.size(0), 2)
        for i, e in enumerate(self.experts):
            m = idx == i
            if m.any():
                out[m] = e(x[m]) * top[m, None]
        return out
moe = MoE()
opt = torch.optim.SGD(moe.parameters(), 0.1)
loss = moe(torch.randn(8, 4)).pow(2).mean()
opt.zero_grad(); loss.backward(); opt.step()
""",
)

_add(
    "practice_one_logit_ce",
    0,
    "zero_gradient",
    "net, loss",
    "net[0].weight.grad.abs().max()==0",
    """
# ---
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters())
for _ in range(3):
    x, y = torch.randn(8, 4), torch.zeros(8, dtype=torch.long)
    loss = F.cross_entropy(net(x), y)  # <-
    opt.zero_grad(); loss.backward(); opt.step()
""",
)

_add(
    "practice_hard_select_argmax",
    0,
    "cut",
    "selector, loss",
    "all(q.grad is None for q in selector.parameters()) and reader.weight.grad is not None",
    """
# ---
selector, reader = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)), nn.Linear(3, 2)
opt = torch.optim.Adam([*selector.parameters(), *reader.parameters()])
for _ in range(2):
    x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
    pick = F.one_hot(selector(x).argmax(-1), 3).float()  # <-
    loss = F.cross_entropy(reader(pick), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
)

_add(
    "practice_teacher_alias_data",
    21,
    "shared_snapshot",
    "teacher, student",
    "teacher[0].weight.data_ptr()==student[0].weight.data_ptr()",
    """
# ---
student = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
teacher = copy.deepcopy(student).requires_grad_(False)
for tp, sp in zip(teacher.parameters(), student.parameters()):
    tp.data = sp.data
opt = torch.optim.SGD(student.parameters(), 0.1)
for _ in range(3):
    x = torch.randn(8, 4)
    loss = F.mse_loss(student(x + 0.1 * torch.randn_like(x)), teacher(x))
    opt.zero_grad(); loss.backward(); opt.step()
""",
)

_add(
    "practice_cached_activation_deepcopy",
    17,
    "deepcopy_non_leaf",
    "net",
    "True",
    """
# ---
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 1)
    def forward(self, x):
        self.features = torch.relu(self.a(x))
        return self.b(self.features)
net = Net()
opt = torch.optim.SGD(net.parameters(), 0.1)
loss = net(torch.randn(6, 4)).pow(2).mean()
loss.backward(); opt.step()
best = copy.deepcopy(net)
""",
    raises="deepcopy",
)

_add(
    "practice_encoder_numpy_pool",
    0,
    "cut rebuilt_from_value",
    "enc, loss",
    "enc.weight.grad is None and clf.weight.grad is not None",
    """
# ---
enc, clf = nn.Linear(4, 8), nn.Linear(8, 2)
opt = torch.optim.Adam([*enc.parameters(), *clf.parameters()])
def pool(h):
    return torch.from_numpy(np.stack([v.detach().numpy().max(0) for v in h]))
for _ in range(2):
    h = [torch.relu(enc(torch.randn(int(n), 4))) for n in torch.randint(2, 5, (6,))]
    loss = F.cross_entropy(clf(pool(h)), torch.randint(0, 2, (6,)))
    opt.zero_grad(); loss.backward(); opt.step()
""",
)

_add(
    "practice_ppo_all_clipped",
    0,
    "zero_gradient",
    "policy, loss",
    "policy[0].weight.grad.abs().max()==0",
    """
# ---
policy = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
s, a = torch.randn(10, 3), torch.randint(0, 2, (10,))
adv = torch.ones(10)
old = policy(s).log_softmax(-1).gather(1, a[:, None]).squeeze(1).detach() - 1.0
lp = policy(s).log_softmax(-1).gather(1, a[:, None]).squeeze(1)
ratio = (lp - old).exp()
loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()  # <-
loss.backward()
""",
)

_add(
    "practice_lora_first_step",
    0,
    "healthy",
    "net, loss",
    "net.A.grad.abs().max()==0 and net.B.grad.abs().max()>0",
    """
# ---
class LoRALinear(nn.Module):
    def __init__(self, base, r=2):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.A = nn.Parameter(torch.randn(r, base.in_features) * 0.1)
        self.B = nn.Parameter(torch.zeros(base.out_features, r))
    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.A), self.B) * 4
net = nn.Sequential(LoRALinear(nn.Linear(6, 3)), nn.Tanh(), nn.Linear(3, 1).requires_grad_(False))[0]
loss = F.mse_loss(net(torch.randn(8, 6)), torch.randn(8, 3))
loss.backward()
""",
)

_add(
    "practice_actor_critic_ok",
    0,
    "healthy",
    "actor, critic, loss",
    "all(q.grad is not None for q in [*actor.parameters(), *critic.parameters()])",
    """
# ---
actor = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], 1e-2)
for ep in range(2):
    s, lps, vs, rs = torch.zeros(3), [], [], []
    for t in range(4):
        d = torch.distributions.Categorical(logits=actor(s))
        a = d.sample()
        lps.append(d.log_prob(a)); vs.append(critic(s).squeeze()); rs.append(float(a.item()))
        s = s + 0.1
    R = torch.tensor(np.cumsum(rs[::-1])[::-1].copy(), dtype=torch.float32)
    v = torch.stack(vs)
    adv = R - v.detach()
    loss = -(torch.stack(lps) * adv).mean() + F.mse_loss(v, R)
    opt.zero_grad(); loss.backward()
    nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters()], 0.5)
    opt.step()
""",
)

GAN_OF_TWO_MODULES = """
# ---
G = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 5))
D = nn.Sequential(nn.Linear(5, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
opt_g, opt_d = torch.optim.Adam(G.parameters(), 1e-3), torch.optim.Adam(D.parameters(), 1e-3)
bce = nn.BCEWithLogitsLoss()
for step in range(2):
    real, fake = torch.randn(6, 5), G(torch.randn(6, 4))
    opt_d.zero_grad()
    d_loss = bce(D(real), torch.ones(6, 1)) + bce(D(fake.detach()), torch.zeros(6, 1))
    d_loss.backward(); opt_d.step()
    opt_g.zero_grad()
    g_loss = bce(D(fake), torch.ones(6, 1))
    g_loss.backward(); opt_g.step()
"""

_add(
    "practice_gan_ok_d_question",
    0,
    "healthy",
    "D, d_loss",
    "D[0].weight.grad is not None",
    GAN_OF_TWO_MODULES,
)

_add(
    "practice_gan_ok_g_question",
    0,
    "healthy",
    "G, g_loss",
    "G[0].weight.grad is not None",
    GAN_OF_TWO_MODULES,
)

_add(
    "practice_dqn_ok",
    0,
    "healthy",
    "q, loss",
    "q[0].weight.grad is not None",
    """
# ---
q = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
q_target = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
q_target.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), 1e-3)
for it in range(3):
    s, s2, a = torch.randn(16, 3), torch.randn(16, 3), torch.randint(0, 2, (16, 1))
    r, done = torch.randn(16), torch.zeros(16)
    with torch.no_grad():
        y = r + 0.99 * (1 - done) * q_target(s2).max(1).values
    loss = F.smooth_l1_loss(q(s).gather(1, a).squeeze(1), y)
    opt.zero_grad(); loss.backward()
    nn.utils.clip_grad_value_(q.parameters(), 1.0)
    opt.step()
    if it % 2 == 0:
        q_target.load_state_dict(q.state_dict())
""",
)

_add(
    "practice_tbptt_ok",
    0,
    "healthy",
    "model, loss",
    "model.rnn.weight_hh_l0.grad is not None",
    """
# ---
class Char(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.rnn, self.out = nn.Embedding(10, 6), nn.LSTM(6, 8, batch_first=True), nn.Linear(8, 10)
    def forward(self, ids, state=None):
        y, state = self.rnn(self.emb(ids), state)
        return self.out(y), state
model = Char()
opt = torch.optim.Adam(model.parameters(), 1e-3)
data = torch.randint(0, 10, (2, 25))
state = None
for i in range(0, 20, 5):
    if state is not None:
        state = tuple(v.detach() for v in state)
    logits, state = model(data[:, i:i+5], state)
    loss = F.cross_entropy(logits.transpose(1, 2), data[:, i+1:i+6])
    opt.zero_grad(); loss.backward(); opt.step()
""",
)

_add(
    "practice_checkpoint_ok",
    0,
    "frozen healthy",
    "model, loss",
    "all(q.grad is not None for q in model.blocks.parameters())",
    """
# ---
from torch.utils.checkpoint import checkpoint
class LM(nn.Module):
    def __init__(self, d=6):
        super().__init__()
        self.emb = nn.Embedding(20, d)
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(d), nn.Linear(d, d), nn.GELU()) for _ in range(3))
        self.head = nn.Linear(d, 20)
        self.emb.weight.requires_grad_(False)
    def forward(self, ids):
        x = self.emb(ids)
        for b in self.blocks:
            x = x + checkpoint(b, x, use_reentrant=False)
        return self.head(x)
model = LM()
opt = torch.optim.AdamW((q for q in model.parameters() if q.requires_grad), 1e-3)
for _ in range(2):
    ids = torch.randint(0, 20, (2, 7))
    loss = F.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
    opt.zero_grad(); loss.backward(); opt.step()
""",
)

_add(
    "practice_maml_ok",
    0,
    "healthy",
    "model, meta_loss",
    "all(q.grad is not None for q in model.parameters())",
    """
# ---
from torch.func import functional_call
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
meta_opt = torch.optim.Adam(model.parameters(), 1e-3)
for it in range(2):
    meta_loss = 0.0
    for task in range(2):
        k = torch.rand(1) + 0.5
        xs, xq = torch.randn(5, 1), torch.randn(5, 1)
        fast = dict(model.named_parameters())
        for _ in range(2):
            l = F.mse_loss(functional_call(model, fast, (xs,)), k * xs)
            gs = torch.autograd.grad(l, list(fast.values()), create_graph=True)
            fast = {n: w - 0.01 * g for (n, w), g in zip(fast.items(), gs)}
        meta_loss = meta_loss + F.mse_loss(functional_call(model, fast, (xq,)), k * xq)
    meta_opt.zero_grad()
    meta_loss.backward()
    meta_opt.step()
""",
)

_add(
    "practice_wgan_gp_ok",
    0,
    "healthy",
    "D, d_loss",
    "all(q.grad is not None for q in list(D.parameters())[:-1])",
    """
# ---
D = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))
G = nn.Linear(3, 5)
opt_d = torch.optim.Adam(D.parameters(), 1e-4, betas=(0.0, 0.9))
for _ in range(2):
    real, fake = torch.randn(6, 5), G(torch.randn(6, 3)).detach()
    eps = torch.rand(6, 1)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    out = D(mix)
    (g,) = torch.autograd.grad(out, mix, torch.ones_like(out), create_graph=True)
    gp = ((g.norm(2, dim=1) - 1) ** 2).mean()
    d_loss = D(fake).mean() - D(real).mean() + 10 * gp
    opt_d.zero_grad(); d_loss.backward(); opt_d.step()
""",
)

_add(
    "practice_ste_ok",
    0,
    "healthy",
    "net, loss",
    "net.enc.weight.grad.abs().max()>0",
    """
# ---
class RoundSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()
    @staticmethod
    def backward(ctx, g):
        return g
class QAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(6, 3), nn.Linear(3, 6)
    def forward(self, x):
        return self.dec(RoundSTE.apply(torch.sigmoid(self.enc(x)) * 15) / 15)
net = QAE()
opt = torch.optim.Adam(net.parameters(), 1e-2)
for _ in range(3):
    x = torch.randn(8, 6)
    loss = F.mse_loss(net(x), x)
    opt.zero_grad(); loss.backward(); opt.step()
""",
)

_add(
    "practice_embedding_bag_ok",
    0,
    "healthy",
    "net, loss",
    "net.emb.weight.grad[0].abs().max()==0 and net.emb.weight.grad[1].abs().max()>0",
    """
# ---
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.lin = nn.Embedding(50, 6, padding_idx=0), nn.Linear(6, 3)
    def forward(self, ids):
        m = (ids != 0).float().unsqueeze(-1)
        e = self.emb(ids) * m
        return self.lin(e.sum(1) / m.sum(1).clamp(min=1))
net = Tagger()
opt = torch.optim.Adam(net.parameters())
ids = torch.tensor([[1, 2, 0, 0], [3, 4, 5, 0]])
loss = F.cross_entropy(net(ids), torch.tensor([0, 2]))
opt.zero_grad(); loss.backward(); opt.step()
""",
)

_add(
    "practice_causal_attention_ok",
    0,
    "healthy",
    "attn, loss",
    "attn.qkv.weight.grad.isfinite().all()",
    """
# ---
class SelfAttn(nn.Module):
    def __init__(self, d=8, h=2):
        super().__init__()
        self.h, self.qkv, self.o, self.ln = h, nn.Linear(d, 3 * d), nn.Linear(d, d), nn.LayerNorm(d)
    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.ln(x)).view(b, t, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        s = torch.einsum("bhid,bhjd->bhij", q, k) * (d // self.h) ** -0.5
        s = s.masked_fill(torch.ones(t, t, dtype=torch.bool).triu(1), float("-inf"))
        y = torch.einsum("bhij,bhjd->bhid", s.softmax(-1), v)
        x = x + self.o(y.transpose(1, 2).reshape(b, t, d))
        return x
attn = SelfAttn()
opt = torch.optim.AdamW(attn.parameters())
for _ in range(2):
    x = torch.randn(2, 5, 8)
    loss = attn(x * 1.0).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
)

_add(
    "practice_data_between_steps_ok",
    0,
    "healthy",
    "D, d_loss",
    "D[0].weight.abs().max()<=0.0101",
    """
# ---
D = nn.Sequential(nn.Linear(5, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
D[0].weight.data.normal_(0, 0.02); D[0].bias.data.zero_()
opt = torch.optim.RMSprop(D.parameters(), 1e-4)
for _ in range(3):
    d_loss = D(torch.randn(6, 5)).mean() - D(torch.randn(6, 5) + 1).mean()
    opt.zero_grad(); d_loss.backward(); opt.step()
    for q in D.parameters():
        q.data.clamp_(-0.01, 0.01)
""",
)

_add(
    "practice_inplace_harmless_ok",
    0,
    "healthy",
    "net, loss",
    "all(q.grad is not None for q in net.parameters())",
    """
# ---
class Res(nn.Module):
    def __init__(self, d=6):
        super().__init__()
        self.a, self.b, self.act = nn.Linear(d, d), nn.Linear(d, d), nn.ReLU(inplace=True)
    def forward(self, x):
        y = self.b(self.act(self.a(x)))
        y += x
        return F.relu_(y)
net = nn.Sequential(Res(), Res(), nn.Linear(6, 1))
opt = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(2):
    loss = net(torch.randn(8, 6)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
)

_add(
    "practice_finetune_head_ok",
    0,
    "frozen healthy",
    "net, loss",
    "net.head.weight.grad is not None and net.body[0].weight.grad is None",
    """
# ---
class FT(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU()), nn.Linear(8, 2)
    def train(self, mode=True):
        super().train(mode)
        self.body.eval()
        return self
    def forward(self, x):
        return self.head(self.body(x))
net = FT()
net.body.requires_grad_(False)
net.train()
opt = torch.optim.Adam(net.head.parameters(), 1e-2)
for _ in range(2):
    loss = F.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
    opt.zero_grad(); loss.backward(); opt.step()
""",
)

_add(
    "practice_two_losses_retain_ok",
    0,
    "healthy",
    "enc, loss_b",
    "enc[0].weight.grad is not None",
    """
# ---
enc, head_a, head_b = nn.Sequential(nn.Linear(4, 8), nn.Tanh()), nn.Linear(8, 1), nn.Linear(8, 3)
opt = torch.optim.SGD([*enc.parameters(), *head_a.parameters(), *head_b.parameters()], 0.1)
for _ in range(2):
    z = enc(torch.randn(6, 4))
    loss_a = head_a(z).pow(2).mean()
    loss_b = F.cross_entropy(head_b(z), torch.randint(0, 3, (6,)))
    opt.zero_grad()
    loss_a.backward(retain_graph=True)
    loss_b.backward()
    opt.step()
""",
)

_add(
    "practice_vae_ok",
    0,
    "healthy",
    "vae, loss",
    "all(q.grad is not None for q in vae.parameters())",
    """
# ---
class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.mu, self.lv, self.dec = nn.Linear(6, 8), nn.Linear(8, 2), nn.Linear(8, 2), nn.Linear(2, 6)
    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, lv = self.mu(h), self.lv(h)
        z = mu + torch.randn_like(mu) * (0.5 * lv).exp()
        return torch.sigmoid(self.dec(z)), mu, lv
vae = VAE()
opt = torch.optim.Adam(vae.parameters(), 1e-3)
for _ in range(2):
    x = torch.rand(8, 6)
    out, mu, lv = vae(x)
    loss = F.binary_cross_entropy(out, x) - 0.5 * (1 + lv - mu.pow(2) - lv.exp()).sum(1).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
)

_add(
    "practice_vqvae_ok",
    0,
    "healthy",
    "vq, loss",
    "vq.enc.weight.grad.abs().max()>0 and vq.codes.weight.grad.abs().max()>0",
    """
# ---
class VQ(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.codes, self.dec = nn.Linear(6, 4), nn.Embedding(8, 4), nn.Linear(4, 6)
    def forward(self, x):
        z = self.enc(x)
        idx = torch.cdist(z, self.codes.weight).argmin(1)
        e = self.codes(idx)
        commit = F.mse_loss(z, e.detach()) * 0.25 + F.mse_loss(e, z.detach())
        e = z + (e - z).detach()
        return self.dec(e), commit
vq = VQ()
opt = torch.optim.Adam(vq.parameters(), 1e-3)
for _ in range(2):
    x = torch.randn(8, 6)
    rec_x, commit = vq(x)
    loss = F.mse_loss(rec_x, x) + commit
    opt.zero_grad(); loss.backward(); opt.step()
""",
)

_add(
    "practice_simsiam_ok",
    0,
    "healthy",
    "net, loss",
    "all(q.grad is not None for q in net.parameters())",
    """
# ---
class SimSiam(nn.Module):
    def __init__(self):
        super().__init__()
        self.f, self.h = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4)), nn.Linear(4, 4)
    def forward(self, a, b):
        za, zb = self.f(a), self.f(b)
        pa, pb = self.h(za), self.h(zb)
        return -(F.cosine_similarity(pa, zb.detach()).mean() + F.cosine_similarity(pb, za.detach()).mean()) / 2
net = SimSiam()
opt = torch.optim.SGD(net.parameters(), 0.05)
for _ in range(2):
    x = torch.randn(8, 4)
    loss = net(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
    opt.zero_grad(); loss.backward(); opt.step()
""",
)

_add(
    "practice_tied_weights_ok",
    0,
    "healthy",
    "lm, loss",
    "lm.emb.weight is lm.out.weight and lm.emb.weight.grad is not None",
    """
# ---
class TiedLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.rnn, self.out = nn.Embedding(12, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 12, bias=False)
        self.out.weight = self.emb.weight
    def forward(self, ids):
        return self.out(self.rnn(self.emb(ids))[0])
lm = TiedLM()
opt = torch.optim.Adam(lm.parameters())
ids = torch.randint(0, 12, (2, 6))
loss = F.cross_entropy(lm(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
opt.zero_grad(); loss.backward(); opt.step()
""",
)

_add(
    "practice_lbfgs_ok",
    0,
    "healthy",
    "net, loss",
    "net[0].weight.grad is not None",
    """
# ---
net = nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 1))
opt = torch.optim.LBFGS(net.parameters(), max_iter=5)
x, y = torch.randn(20, 2), torch.randn(20, 1)
def closure():
    opt.zero_grad()
    l = F.mse_loss(net(x), y)
    l.backward()
    return l
for _ in range(2):
    loss = opt.step(closure)
""",
)

_add(
    "practice_spectral_norm_ok",
    0,
    "healthy",
    "D, loss",
    "D[0].parametrizations.weight.original.grad is not None",
    """
# ---
from torch.nn.utils.parametrizations import spectral_norm, weight_norm
D = nn.Sequential(spectral_norm(nn.Linear(5, 8)), nn.LeakyReLU(0.2), weight_norm(nn.Linear(8, 1)))
opt = torch.optim.Adam(D.parameters())
for _ in range(2):
    loss = F.softplus(D(torch.randn(6, 5))).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
)

_add(
    "practice_eval_after_train_ok",
    0,
    "healthy",
    "net, loss",
    "val_loss.grad_fn is None and net[0].weight.grad is not None",
    """
# ---
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.Adam(net.parameters())
def evaluate(m, x, y):
    m.eval()
    with torch.no_grad():
        out = m(x)
        return F.cross_entropy(out, y), (out.argmax(1) == y).float().mean()
for epoch in range(2):
    net.train()
    x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
    val_loss, acc = evaluate(net, x, y)
""",
)

_add(
    "practice_contrastive_queue_ok",
    0,
    "healthy",
    "enc, loss",
    "enc.weight.grad is not None",
    """
# ---
enc = nn.Linear(4, 6)
enc_k = copy.deepcopy(enc)
queue = F.normalize(torch.randn(6, 16), dim=0)
opt = torch.optim.SGD(enc.parameters(), 0.1)
ptr = 0
for _ in range(3):
    x = torch.randn(4, 4)
    qv = F.normalize(enc(x), dim=1)
    with torch.no_grad():
        for pk, pq in zip(enc_k.parameters(), enc.parameters()):
            pk.data = pk.data * 0.99 + pq.data * 0.01
        kv = F.normalize(enc_k(x), dim=1)
    lpos = torch.einsum("nc,nc->n", qv, kv)[:, None]
    lneg = torch.einsum("nc,ck->nk", qv, queue.clone().detach())
    loss = F.cross_entropy(torch.cat([lpos, lneg], 1) / 0.07, torch.zeros(4, dtype=torch.long))
    opt.zero_grad(); loss.backward(); opt.step()
    queue[:, ptr:ptr+4] = kv.T
    ptr = (ptr + 4) % 16
""",
)

# --- names, copies and lists ----------------------------------------------------------------------

_add(
    "input_and_activation_share_a_name",
    22,
    "rebound non_leaf",
    "x",
    "x.grad is None",
    """
layer = nn.Linear(3, 3)
x = torch.randn(2, 3, requires_grad=True)
# ---
x = F.relu(layer(x))  # <-
loss = x.pow(2).sum()
loss.backward()
""",
)

_add(
    "state_of_a_hand_written_rnn",
    22,
    "rebound",
    "h",
    "h.grad is None",
    """
W = torch.randn(3, 3, requires_grad=True)
# ---
h = torch.zeros(1, 3, requires_grad=True)
for _ in range(3):
    h = torch.tanh(h @ W)  # <-
loss = h.sum()
loss.backward()
""",
)

_add(
    "pgd_steps_keep_the_name",
    22,
    "rebound",
    "adv",
    "adv.grad is None",
    """
net = nn.Linear(3, 1)
# ---
adv = torch.rand(4, 3, requires_grad=True)
for _ in range(2):
    (g,) = torch.autograd.grad(net(adv).sum(), adv)
    adv = adv + 0.1 * g.sign()
    adv = adv.clamp(0, 1)  # <-
loss = net(adv).sum()
loss.backward()
""",
)

_add(
    "buffer_written_through_data",
    7,
    "cut no_grad_write",
    "enc.weight",
    "enc.weight.grad is None",
    """
enc, clf = nn.Linear(3, 2), nn.Linear(4, 1)
x = torch.randn(4, 3)
# ---
h = enc(x)
buf = torch.zeros(4, 4)
buf.data[:, :2] = h  # <-
loss = clf(buf).sum()
loss.backward()
""",
)

_add(
    "buffer_written_through_detach",
    7,
    "cut no_grad_write",
    "net, loss",
    "no_grads(net.enc)",
    """
net = nn.ModuleDict({"enc": nn.Linear(3, 2), "clf": nn.Linear(2, 1)})
x = torch.randn(4, 3)
# ---
h = net["enc"](x)
buf = torch.zeros(4, 2)
buf.detach()[:2] = h[:2]  # <-
loss = net["clf"](buf).sum()
loss.backward()
""",
)

_add(
    "temperature_moved_at_birth",
    9,
    "made_non_leaf",
    "temp",
    "temp.grad is None",
    """
# ---
temp = torch.tensor(0.5, requires_grad=True).to(torch.float64)  # <-
loss = (torch.randn(4, dtype=torch.float64) / temp).logsumexp(0)
loss.backward()
""",
)

_add(
    "scale_on_the_way_to_the_loss",
    8,
    "non_leaf",
    "scale",
    "scale.grad is None",
    """
net, x = nn.Linear(3, 3), torch.randn(2, 3)
# ---
log_t = torch.zeros((), requires_grad=True)
scale = log_t.exp()  # <-
loss = (net(x) * scale).pow(2).mean()
loss.backward()
""",
)

_add(
    "one_of_two_losses_is_asked_about",
    0,
    "healthy",
    "first",
    "all_grads(net)",
    """
net, x = nn.Linear(3, 2), torch.randn(4, 3)
# ---
out = net(x)
first, second = out.pow(2).mean(), out.abs().mean()
loss = first + 0.1 * second
loss.backward()
""",
)

_add(
    "deep_copy_in_the_loss",
    18,
    "not_in_loss",
    "net, loss",
    "no_grads(net)",
    """
net, x = nn.Linear(3, 1), torch.randn(2, 3)
# ---
twin = copy.deepcopy(net)  # <-
loss = twin(x).sum()
loss.backward()
""",
)

_add(
    "deep_copy_of_a_tensor_in_the_loss",
    18,
    "not_in_loss",
    "w",
    "w.grad is None",
    """
# ---
w = torch.randn(3, requires_grad=True)
v = copy.deepcopy(w)  # <-
loss = v.sum()
loss.backward()
""",
)

_add(
    "adapters_in_a_plain_list",
    0,
    "not_moved",
    "net, loss",
    "net.adapters[0].weight.grad is not None and len(list(net.parameters())) == 4",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(4, 4).requires_grad_(False)
        self.head = nn.Linear(4, 1)
        self.adapters = [nn.Linear(4, 4) for _ in range(2)]

    def forward(self, x):
        x = self.base(x)
        for a in self.adapters:
            x = x + a(x)
        return self.head(x)

net = Net()
opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], 1e-2)
# ---
for _ in range(2):
    loss = net(torch.randn(3, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
)

_add(
    "learned_temperature_that_no_optimizer_holds",
    0,
    "not_moved",
    "net, opt, loss",
    "log_t.grad is not None and float(log_t) == 0",
    """
net = nn.Linear(4, 3)
log_t = nn.Parameter(torch.zeros(()))
opt = torch.optim.SGD(net.parameters(), 0.1)
# ---
for _ in range(2):
    loss = F.cross_entropy(net(torch.randn(5, 4)) * log_t.exp(), torch.randint(0, 3, (5,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
)

_add(
    "weight_stepped_by_hand_beside_an_optimizer",
    0,
    "healthy",
    "net, loss",
    "float(scale) != 1",
    """
net, scale = nn.Linear(4, 1), nn.Parameter(torch.ones(()))
opt = torch.optim.SGD(net.parameters(), 0.1)
# ---
for _ in range(2):
    loss = (net(torch.randn(5, 4)) * scale).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        scale -= 0.1 * scale.grad
    scale.grad = None
""",
)

_add(
    "running_loss_beside_the_model",
    16,
    "graph_kept",
    "net, loss",
    "depth(total) > 10",
    """
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
# ---
total = 0
for _ in range(5):
    loss = net(torch.randn(3, 2)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += loss  # <-
""",
)

_add(
    "action_drawn_by_sample",
    12,
    "cut",
    "mu",
    "mu.grad is None",
    """
critic = nn.Linear(2, 1)
# ---
mu = torch.zeros(3, 2, requires_grad=True)
action = torch.distributions.Normal(mu, torch.ones(3, 2)).sample()  # <-
loss = critic(action).mean()
loss.backward()
""",
)

_add(
    "encoder_with_a_no_grad_decorator",
    15,
    "cut",
    "net, loss",
    "no_grads(net.enc) and all_grads(net.head)",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.head = nn.Linear(3, 4), nn.Linear(4, 1)

    @torch.no_grad()
    def encode(self, x):
        return torch.relu(self.enc(x))  # <-

    def forward(self, x):
        return self.head(self.encode(x))

net = Net()
# ---
loss = net(torch.randn(2, 3)).mean()
loss.backward()
""",
)

_add(
    "frozen_target_network",
    0,
    "frozen healthy",
    "target, loss",
    "no_grads(target) and all_grads(q)",
    """
q = nn.Linear(3, 2)
target = copy.deepcopy(q).requires_grad_(False)
opt = torch.optim.Adam(q.parameters())
# ---
loss = F.mse_loss(q(torch.randn(4, 3)), target(torch.randn(4, 3)))
opt.zero_grad()
loss.backward()
opt.step()
""",
)

# --- first found by programs that were held out ---------------------------------------------------

_add(
    "only_the_indices_of_topk_are_used",
    2,
    "cut",
    "router, loss",
    "no_grads(router)",
    """
router, experts = nn.Linear(6, 3), nn.ModuleList(nn.Linear(6, 2) for _ in range(3))
x, y = torch.randn(16, 6), torch.randint(0, 2, (16,))
# ---
p = router(x).softmax(-1)
top, idx = p.topk(1)  # <-
out = torch.stack([e(x) for e in experts], 1)[torch.arange(16), idx[:, 0]]
loss = F.cross_entropy(out, y)
loss.backward()
""",
)

_add(
    "loss_over_an_empty_selection",
    0,
    "nan",
    "net, loss",
    "bool(loss.isnan()) and finite(net)",
    """
net, x, y = nn.Linear(4, 2), torch.randn(8, 4), torch.zeros(8, dtype=torch.long)
# ---
logits = net(x)
loss = F.cross_entropy(logits, y) + F.cross_entropy(logits[y == 1], y[y == 1])
loss.backward()
""",
)

_add(
    "loss_that_was_told_to_require_grad",
    2,
    "cut",
    "net, loss",
    "no_grads(net) and loss.is_leaf",
    """
net, x, y = nn.Linear(4, 3), torch.randn(8, 4), torch.randint(0, 3, (8,))
# ---
loss = (net(x).argmax(1) != y).float().mean()  # <-
loss.requires_grad_(True)
loss.backward()
""",
)

_add(
    "value_picked_out_and_asked_about",
    8,
    "non_leaf",
    "value",
    "value.grad is None and value.dim() == 0",
    """
critic = nn.Linear(4, 1)
# ---
value = critic(torch.ones(4)).squeeze()  # <-
loss = (1.5 - value).pow(2)
loss.backward()
""",
)

_add(
    "input_cast_after_it_asked_for_gradients",
    9,
    "made_non_leaf",
    "x",
    "x.grad is None",
    """
net = nn.Linear(6, 3).double()
# ---
x = torch.randn(2, 6).requires_grad_().double()  # <-
loss = net(x).pow(2).mean()
loss.backward()
""",
)

_add(
    "prototypes_moved_through_data",
    0,
    "healthy",
    "net, loss",
    "proto.grad is not None",
    """
net, proto = nn.Linear(4, 12), nn.Parameter(torch.randn(3, 12))
opt = torch.optim.SGD(net.parameters(), 0.1)
# ---
for _ in range(2):
    z = net(torch.randn(8, 4))
    loss = (z @ proto.T).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    proto.data.mul_(0.9).add_(0.1 * z.detach()[:3])
""",
)

_add(
    "centers_of_a_loss_module_in_no_optimizer",
    0,
    "healthy not_moved",
    "net, loss",
    "True",
    """
class Center(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Parameter(torch.randn(3, 3))

    def forward(self, z, y):
        return (z - self.c[y]).pow(2).mean()

net, criterion = nn.Linear(4, 3), Center()
opt = torch.optim.SGD(net.parameters(), 0.1)
# ---
for _ in range(2):
    loss = criterion(net(torch.randn(8, 4)), torch.randint(0, 3, (8,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
)

_add(
    "constructor_inside_the_recording",
    0,
    "not_moved",
    "net, loss",
    "net.scales[0].grad is not None",
    """
# ---
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.lora = {"q": nn.Linear(4, 4, bias=False)}
        self.scales = [nn.Parameter(torch.ones(1))]

    def forward(self, x):
        return self.scales[0] * self.layer(x) + self.lora["q"](x)

net = Net()
opt = torch.optim.AdamW(net.parameters(), 1e-3)
for _ in range(2):
    loss = net(torch.randn(8, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
)

# --- a part of a model that no optimizer holds ----------------------------------------------------

_add(
    "optimizer_of_the_layers_of_one_name",
    0,
    "left_out",
    "net, loss",
    "torch.equal(net.classifier.weight, before)",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1, self.layer2, self.classifier = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.classifier(torch.relu(self.layer2(torch.relu(self.layer1(x)))))

net = Net()
opt = torch.optim.Adam([p for n, p in net.named_parameters() if "layer" in n])
before = net.classifier.weight.detach().clone()
"""
    + TRAINED_TWICE,
)

_add(
    "weight_decay_groups_without_the_biases",
    0,
    "not_moved",
    "net, loss",
    "torch.equal(net[0].bias, before)",
    """
net = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 1))
decay, no_decay = [], []
for p in net.parameters():
    (decay if p.dim() > 1 else no_decay).append(p)
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}])
before = net[0].bias.detach().clone()
"""
    + TRAINED_TWICE,
)

_add(
    "layer_added_after_the_optimizer",
    0,
    "left_out",
    "net, loss",
    "torch.equal(net[2].weight, before)",
    """
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net.append(nn.Linear(8, 1))
before = net[2].weight.detach().clone()
"""
    + TRAINED_TWICE,
)

_add(
    "head_alone_is_trained_and_all_gradients_are_cleared",
    0,
    "left_out",
    "net, loss",
    "no_grads(net)",
    """
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(net[2].parameters(), lr=0.1)
# ---
for _ in range(2):
    loss = net(torch.randn(8, 4)).pow(2).mean()
    loss.backward()
    opt.step()
    net.zero_grad()
""",
)

_add(
    "gan_of_one_module_with_a_dict_of_optimizers",
    0,
    "healthy",
    "gan, loss",
    "all_grads(gan)",
    """
gan = nn.ModuleDict({"g": nn.Linear(2, 4), "d": nn.Linear(4, 1)})
opts = {k: torch.optim.Adam(m.parameters()) for k, m in gan.items()}
opt = opts["g"]
# ---
for _ in range(2):
    loss = F.softplus(-gan["d"](gan["g"](torch.randn(8, 2)))).mean()
    gan.zero_grad()
    loss.backward()
    opt.step()
""",
)

_add(
    "second_optimizer_is_an_attribute_of_a_trainer",
    0,
    "healthy",
    "net, loss",
    "all_grads(net)",
    """
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(net[2].parameters(), lr=0.1)

class Trainer:
    def __init__(self, body):
        self._slow = torch.optim.SGD(body.parameters(), lr=0.01)

    def step(self):
        self._slow.step()
        self._slow.zero_grad()

trainer = Trainer(net[0])
# ---
loss = net(torch.randn(8, 4)).pow(2).mean()
loss.backward()
opt.step()
""",
)

_add(
    "teacher_inside_the_model_follows_by_momentum",
    0,
    "healthy",
    "net, loss",
    "no_grads(net.teacher)",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.student, self.teacher = nn.Linear(4, 3), nn.Linear(4, 3).requires_grad_(False)

    def forward(self, x):
        return F.mse_loss(self.student(x), self.teacher(x + 0.1))

net = Net()
opt = torch.optim.SGD(net.student.parameters(), lr=0.1)
# ---
for _ in range(2):
    loss = net(torch.randn(8, 4))
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for t, s in zip(net.teacher.parameters(), net.student.parameters()):
            t.lerp_(s, 0.01)
""",
)

_add(
    "temperature_of_the_model_is_stepped_by_hand",
    0,
    "healthy",
    "net, loss",
    "net.t.item() != 1",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.t = nn.Linear(4, 1), nn.Parameter(torch.ones(()))

    def forward(self, x):
        return self.body(x) / self.t

net = Net()
opt = torch.optim.SGD(net.body.parameters(), lr=0.1)
# ---
for _ in range(2):
    loss = net(torch.randn(8, 4)).pow(2).mean()
    net.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        net.t -= 0.1 * net.t.grad
""",
)

_add(
    "frozen_body_and_an_optimizer_of_the_head",
    0,
    "healthy",
    "net, loss",
    "net[0].weight.grad is None",
    """
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
net[0].requires_grad_(False)
opt = torch.optim.Adam(net[2].parameters())
"""
    + TRAINED_TWICE,
)

# --- losses that are kept -------------------------------------------------------------------------

_add(
    "losses_appended_with_their_graphs",
    16,
    "graph_kept",
    "net, loss",
    "all(l.grad_fn is not None for l in history)",
    """
net, history = nn.Linear(4, 1), []
opt = torch.optim.SGD(net.parameters(), lr=0.01)
# ---
for _ in range(4):
    loss = F.mse_loss(net(torch.randn(8, 4)), torch.zeros(8, 1))  # <-
    opt.zero_grad()
    loss.backward()
    opt.step()
    history.append(loss)
""",
)

_add(
    "losses_kept_by_a_logger",
    16,
    "graph_kept",
    "net",
    "len(log.rows) == 4",
    """
class Log:
    def __init__(self):
        self.rows = []

    def add(self, **row):
        self.rows.append(row)

log, net = Log(), nn.Linear(4, 1)

def step(x):
    loss = net(x).pow(2).mean()  # <-
    net.zero_grad()
    loss.backward()
    return loss
# ---
for i in range(4):
    log.add(step=i, loss=step(torch.randn(8, 4)))
""",
)

_add(
    "losses_appended_as_numbers",
    0,
    "healthy",
    "net, loss",
    "len(history) == 4",
    """
net, history = nn.Linear(4, 1), []
# ---
for i in range(4):
    loss = net(torch.randn(8, 4)).pow(2).mean()
    net.zero_grad()
    loss.backward()
    history.append(loss.detach() if i % 2 else loss.item())
""",
)

_add(
    "losses_of_a_batch_of_tasks",
    0,
    "healthy",
    "net",
    "len(losses) == 4",
    """
net = nn.Linear(4, 1)
# ---
losses = [net(torch.randn(8, 4)).pow(2).mean() for _ in range(4)]
for loss in losses:
    loss.backward()
""",
)

_add(
    "losses_of_three_heads",
    0,
    "healthy",
    "nets",
    "first is not second",
    """
nets = nn.ModuleList(nn.Linear(4, 1) for _ in range(3))
x = torch.randn(8, 4)
# ---
first = nets[0](x).pow(2).mean()
first.backward()
second = nets[1](x).pow(2).mean()
second.backward()
third = nets[2](x).pow(2).mean()
third.backward()
""",
)

# --- held out: what was wrong was written down before they ran ------------------------------------

_add(
    "from_pretrained_embedding",
    0,
    "frozen",
    "emb",
    "emb.weight.grad is None",
    """
emb = nn.Embedding.from_pretrained(torch.randn(10, 4))
head = nn.Linear(4, 2)
opt = torch.optim.Adam([*emb.parameters(), *head.parameters()])
# ---
loss = F.cross_entropy(head(emb(torch.tensor([1, 2, 3]))), torch.tensor([0, 1, 0]))
loss.backward()
opt.step()
""",
)

_add(
    "keypoints_by_argmax",
    0,
    "cut no_grad_fn",
    "net, loss",
    "not loss.requires_grad",
    """
net = nn.Conv2d(1, 1, 3, padding=1)
# ---
heat = net(torch.randn(2, 1, 8, 8)).flatten(1)
xy = torch.stack([heat.argmax(1) % 8, heat.argmax(1) // 8], 1).float()
loss = F.mse_loss(xy, torch.ones(2, 2)) + 0 * heat.sum().detach()
""",
)

_add(
    "uncertainty_weighting_ok",
    0,
    "healthy",
    "net, loss",
    "all_grads(net)",
    """
class Multi(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk, self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 3)
        self.log_var = nn.Parameter(torch.zeros(2))
    def forward(self, x, ya, yb):
        h = torch.relu(self.trunk(x))
        parts = torch.stack([F.mse_loss(self.a(h), ya), F.cross_entropy(self.b(h), yb)])
        return (parts * torch.exp(-self.log_var) + self.log_var).sum()
net = Multi()
opt = torch.optim.AdamW(net.parameters(), 1e-3)
# ---
for _ in range(3):
    loss = net(torch.randn(8, 4), torch.randn(8, 1), torch.randint(0, 3, (8,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
)

_add(
    "warmup_lr_zero",
    0,
    "not_moved",
    "net, opt",
    "opt.param_groups[0]['lr'] == 0",
    """
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: s / 10)
# ---
loss = net(torch.randn(8, 4)).pow(2).mean()
loss.backward()
""",
)

_add(
    "reinforce_list_ok",
    0,
    "healthy",
    "policy, loss",
    "all_grads(policy)",
    """
policy = nn.Linear(4, 2)
opt = torch.optim.Adam(policy.parameters())
# ---
for episode in range(3):
    logp, rewards = [], []
    for t in range(4):
        dist = torch.distributions.Categorical(logits=policy(torch.randn(4)))
        a = dist.sample()
        logp.append(dist.log_prob(a))
        rewards.append(float(a) + t)
    loss = -(torch.stack(logp) * torch.tensor(rewards)).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
)

_add(
    "total_in_object_attribute",
    16,
    "graph_kept",
    "net, loss",
    "depth(state.total) > 20",
    """
class State: total = 0.0
net, state = nn.Linear(4, 1), State()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
# ---
for _ in range(5):
    loss = net(torch.randn(8, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    state.total = state.total + loss  # <-
""",
)

_add(
    "unfrozen_after_filtered_optimizer",
    0,
    "left_out",
    "net, loss",
    "net[0].weight.grad is not None",
    """
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
net[0].requires_grad_(False)
opt = torch.optim.Adam(filter(lambda p: p.requires_grad, net.parameters()), 1e-2)
net[0].requires_grad_(True)
# ---
for _ in range(3):
    loss = net(torch.randn(8, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
)

_add(
    "phase_two_body_frozen_ok",
    0,
    "healthy",
    "net, loss",
    "net.body.weight.grad is None",
    """
net = nn.ModuleDict({"body": nn.Linear(4, 8), "head": nn.Linear(8, 1)})
warm = torch.optim.SGD(net.parameters(), lr=0.1)
net["head"](net["body"](torch.randn(8, 4))).pow(2).mean().backward()
warm.step(); warm.zero_grad()
net["body"].requires_grad_(False)
opt = torch.optim.SGD(net["head"].parameters(), lr=0.1)
# ---
loss = net["head"](net["body"](torch.randn(8, 4)).relu()).pow(2).mean()
opt.zero_grad()
loss.backward()
opt.step()
""",
)

_add(
    "fgsm_training_ok",
    0,
    "healthy",
    "net, loss",
    "all_grads(net)",
    """
net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
# ---
x, y = torch.randn(8, 4, requires_grad=True), torch.randint(0, 3, (8,))
g, = torch.autograd.grad(F.cross_entropy(net(x), y), x)
adv = (x + 0.1 * g.sign()).detach()
loss = F.cross_entropy(net(adv), y)
opt.zero_grad()
loss.backward()
opt.step()
""",
)

_add(
    "numpy_noise_in_forward",
    0,
    "rebuilt_from_value",
    "net.enc, loss",
    "no_grads(net.enc)",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(4, 4), nn.Linear(4, 4)
    def forward(self, x):
        z = self.enc(x)
        z = torch.from_numpy(z.detach().numpy() + np.float32(0.1))  # <-
        return self.dec(z)
net = Net()
opt = torch.optim.Adam(net.parameters())
# ---
loss = net(torch.randn(2, 4)).pow(2).mean()
loss.backward()
opt.step()
""",
)

HEALTHY = [s for s in SCENARIOS if NOTHING_WRONG in s.causes]
