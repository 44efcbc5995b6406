"""Facts of a recording that explain what nothing raises: two shapes that torch spread out, a loss
that a loop overwrote, derivatives of several columns at once, one layer in several places, a leaf
that is no parameter, a part that was cut out beside the way. Each has programs that are alike, and
in which it is not told."""

from __future__ import annotations

import pytest
import torch
from test_account import HEAD, line
from test_symptom import asked

LOOP = """
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(3):
    {loss}
    opt.zero_grad()
    loss.backward()
    opt.step()
"""

# --- a prediction that is spread out --------------------------------------------------------------

CRITIC = (
    HEAD
    + """
net = nn.Linear(4, {outputs})
x, reward, log_prob = torch.randn(8, 4), torch.randn(8, 1), torch.randn(8, 6).tanh()
with torch.no_grad():
    entropy = log_prob.exp()  # wide
    target = reward - 0.2 * entropy{reduced}
"""
)
SPREAD = "are spread out to [8, 6]"


def critic(loss: str, *, outputs: int = 1, reduced: str = "") -> str:
    """Return a program that compares a prediction with a target."""
    return CRITIC.format(outputs=outputs, reduced=reduced) + LOOP.format(loss=loss)


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize(
    "loss",
    [
        "loss = F.mse_loss(net(x), target)",
        "loss = nn.SmoothL1Loss()(net(x), target)",
        "loss = (net(x) - target).pow(2).mean()",
        "loss = (target - net(x)).abs().mean()",
    ],
)
def test_a_prediction_that_is_spread_over_a_wider_target_is_told(loss: str) -> None:
    program = critic(loss)
    answer = asked(program)
    assert SPREAD in answer.verdict
    assert "from entropy" in answer.verdict
    assert line(program, "# wide") in answer.lines
    # what it says mends it: torch warns no more, and one number is compared with one
    mended = critic(loss, reduced=".sum(-1, keepdim=True)")
    assert "spread out" not in str(asked(mended))


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize(
    "loss",
    [
        "loss = F.mse_loss(net(x), target[:, :1])",
        "loss = F.mse_loss(net(x), torch.tensor(1.0))",  # one label for all
        "loss = F.mse_loss(net.weight.mean(0), x)",  # one row that is to fit all of them
        "loss = (net(x) - net(x).mean(0, keepdim=True).detach()).pow(2).mean()",
        "h = x @ net.weight.t(); loss = (h.unsqueeze(2) - target.unsqueeze(1)).pow(2).mean()",
        "loss = (net(x) - target).softmax(1).pow(2).mean() + (net(x) * target).mean()",
    ],
)
def test_what_is_spread_on_purpose_is_not_told(loss: str) -> None:
    assert "spread out" not in str(asked(critic(loss)))


@pytest.mark.filterwarnings("ignore:Using a target size")
def test_a_target_without_the_channels_makes_a_table() -> None:
    program = """
net = nn.Conv1d(2, 1, 1)
x, y = torch.randn(4, 2, 5), torch.randn(4, 5)
"""
    loss = "loss = F.mse_loss(net(x), y{})"
    answer = asked(HEAD + program + LOOP.format(loss=loss.format("")))
    assert "both are spread out to [4, 4, 5]" in answer.verdict
    alike = asked(HEAD + program + LOOP.format(loss=loss.format(".unsqueeze(1)")))
    assert "spread out" not in str(alike)


# --- a loss that a loop overwrites ----------------------------------------------------------------

ACTIONS = (
    HEAD
    + """
net = nn.Linear(4, 3)
x, acts = torch.randn(5, 4), torch.randint(3, (5,))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(3):
    total, losses = 0.0, []
    for row, act in zip(x, acts):
        actionloss = -F.log_softmax(net(row), 0)[act] * 0.5  # each
        {inside}
    opt.zero_grad()
    {outside}
    opt.step()
"""
)


def test_a_loss_that_a_loop_overwrites_is_told() -> None:
    program = ACTIONS.format(inside="pass", outside="actionloss.mean().backward()")
    answer = asked(program)
    assert "computed 15 times, and 3 backwards" in answer.verdict
    assert line(program, "# each") in answer.lines


@pytest.mark.parametrize(
    ("inside", "outside"),
    [
        ("total = total + actionloss", "total.backward()"),
        ("losses.append(actionloss)", "torch.stack(losses).mean().backward()"),
        ("losses.append(actionloss)", "sum(losses).backward()"),
        ("actionloss.backward()", "pass"),
        ("losses.append(actionloss.item())", "actionloss.backward()"),  # read, to choose
        ("net.weight.grad = torch.autograd.grad(actionloss, net.weight)[0]", "pass"),
    ],
)
def test_losses_that_are_read_or_gone_backward_from_are_not_told(inside: str, outside: str) -> None:
    assert "was computed" not in str(asked(ACTIONS.format(inside=inside, outside=outside)))


# --- several columns at once ----------------------------------------------------------------------

PINN = (
    HEAD
    + """
net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, {outputs}))
x = torch.rand(6, 2, requires_grad=True)
def residual():
    u = net(x)
    {first}
    {second}
    return {result}
"""
)
FIRST = "du = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]"
SECOND = "d2u = torch.autograd.grad(du, x, torch.ones_like(du), create_graph=True)[0]"
EACH = (
    "uxx = torch.autograd.grad(du[:, 0].sum(), x, create_graph=True)[0][:, 0]; "
    "uyy = torch.autograd.grad(du[:, 1].sum(), x, create_graph=True)[0][:, 1]"
)


def pinn(second: str, result: str, *, outputs: int = 1) -> str:
    """Return a program that trains a net by a residual of its derivatives."""
    program = PINN.format(outputs=outputs, first=FIRST, second=second, result=result)
    return program + LOOP.format(loss="loss = residual().pow(2).mean()")


@pytest.mark.parametrize("columns", ["d2u[:, [0]] + d2u[:, [1]]", "d2u[:, 0:1]", "d2u[:, 0]"])
def test_second_derivatives_of_several_columns_at_once_are_told(columns: str) -> None:
    program = pinn(SECOND, columns)
    answer = asked(program)
    assert "derives the 2 columns of du at once" in answer.verdict
    assert line(program, "d2u = ") in answer.lines


def test_first_derivatives_of_several_outputs_at_once_are_told() -> None:
    program = pinn("pass", "du[:, 0] + u[:, 1]", outputs=2)
    assert "derives the 2 columns of u at once" in asked(program).verdict


@pytest.mark.parametrize(
    ("second", "result"),
    [
        (EACH, "uxx + uyy"),
        ("pass", "du[:, 0:1]"),  # of one output
        (SECOND, "d2u.norm(dim=1)"),  # no column is taken for itself
    ],
)
def test_columns_that_are_derived_one_by_one_are_not_told(second: str, result: str) -> None:
    assert "at once" not in str(asked(pinn(second, result)))


# --- one layer in several places ------------------------------------------------------------------

LAYERS = (
    HEAD
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        block = nn.Linear(4, 4)
        self.blocks = {blocks}
        self.head = nn.Linear(4, 1)
    def forward(self, x):
        for block in self.blocks:
            x = torch.tanh(block(x))
        return self.head(x)
net = Net()
"""
    + LOOP.format(loss="loss = net(torch.randn(8, 4)).pow(2).mean()")
)


@pytest.mark.parametrize(
    ("blocks", "says"),
    [
        (
            "nn.ModuleList([block for _ in range(3)])",
            "net.blocks (line 11) holds one Linear 3 times",
        ),
        ("nn.Sequential(block, nn.Tanh(), block)", "holds one Linear 2 times"),
        (
            "nn.ModuleList([nn.Sequential(b) for b in [nn.Linear(4, 4)] * 2])",
            "[nn.Linear(4, 4)] * 2 (line 11) is one layer, 2 times",
        ),
    ],
)
def test_one_layer_in_several_places_is_told(blocks: str, says: str) -> None:
    program = LAYERS.format(blocks=blocks)
    assert says in asked(program).verdict.replace("program.py ", "")


@pytest.mark.parametrize(
    "blocks",
    [
        "nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])",
        "nn.Sequential(block, *[nn.Tanh()] * 2)",  # it has no weights
        "nn.ModuleList([nn.Sequential(block, nn.Linear(4, 4)) for _ in range(2)])",  # shared below
        "[block] * 3",  # a plain list, which the module holds by another rule
    ],
)
def test_layers_of_their_own_are_not_told(blocks: str) -> None:
    told = str(asked(LAYERS.format(blocks=blocks)))
    assert "times: all" not in told


# --- a leaf that is no parameter ------------------------------------------------------------------

SCALED = (
    HEAD
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)
        self.scale = {scale}
    def forward(self, x):
        {before}
        return self.layer(x) * self.scale
net = Net()
"""
)
LEAF = "torch.ones(1, requires_grad=True)"


def scaled(scale: str = LEAF, before: str = "pass", more: str = "") -> str:
    """Return a program that trains a net with a scale of its own."""
    loop = LOOP.format(loss="loss = net(torch.randn(8, 4)).pow(2).mean()")
    return SCALED.format(scale=scale, before=before) + loop + more


def test_a_leaf_of_a_module_that_nothing_moves_is_told() -> None:
    program = scaled()
    answer = asked(program)
    assert "net.scale gets a gradient that no step uses" in answer.verdict
    assert line(program, "self.scale = ") in answer.lines
    # torch agrees: it stays, and as a Parameter it moves
    for scale, moves in ((LEAF, False), (f"nn.Parameter({LEAF})", True)):
        names: dict[str, object] = {}
        exec(scaled(scale), names)
        net = names["net"]
        assert isinstance(net, torch.nn.Module)
        assert bool((net.scale != 1).any()) is moves  # type: ignore[operator, union-attr]
    assert "no step uses" not in str(asked(scaled(f"nn.Parameter({LEAF})")))


@pytest.mark.parametrize(
    "program",
    [
        scaled("torch.ones(1)"),
        scaled(before="self.scale = torch.ones(1, requires_grad=True)"),  # an input of each pass
        scaled().replace("    opt.step()", "    opt.step(); net.scale.data -= net.scale.grad"),
        scaled().replace("net.parameters()", "[*net.parameters(), net.scale]"),
        scaled(more="print(net.scale.grad)\n"),  # whose gradient is what is wanted
    ],
)
def test_a_leaf_that_is_moved_or_read_is_not_told(program: str) -> None:
    assert "no step uses" not in str(asked(program))


# --- a part that is asked for ---------------------------------------------------------------------

PARTS = (
    HEAD
    + """
net = nn.Linear(3, 1)
xyt = torch.rand(5, 3, requires_grad=True)
{before}
u = net({given})
part = xyt[:, 0:1]
dx = torch.autograd.grad(u.sum(), {of}, allow_unused=True)[0]
"""
)


def test_a_part_that_was_cut_out_beside_the_output_is_told() -> None:
    program = PARTS.format(before="", given="xyt", of="part")
    answer = asked(program)
    assert answer.cause == "not_in_loss"
    assert "The gradient of u.sum() for part is None" in answer.verdict
    assert line(program, "part = ") in answer.lines
    names: dict[str, object] = {}
    exec(program + "of_whole = torch.autograd.grad(net(xyt).sum(), xyt)[0][:, 0:1]", names)
    assert names["dx"] is None
    assert names["of_whole"] is not None


@pytest.mark.parametrize(
    ("before", "given", "of"),
    [
        ("", "xyt", "xyt"),
        ("", "xyt.detach()", "part"),  # the whole is not asked for there either
        ("other = torch.rand(2, requires_grad=True)", "xyt", "other"),
    ],
)
def test_what_is_on_the_way_or_no_part_is_not_told(before: str, given: str, of: str) -> None:
    told = str(asked(PARTS.format(before=before, given=given, of=of)))
    assert "cut out of" not in told


# --- a whole program is asked about ---------------------------------------------------------------

DROPPED = (
    HEAD
    + """
net, target = nn.Linear(4, 1), nn.Linear(4, 1)
x = torch.randn(8, 4)
"""
)


def test_a_detach_that_is_dropped_on_the_way_to_a_target_is_told() -> None:
    kept = "y = target(x); {}; loss = F.mse_loss(net(x), y)"
    program = DROPPED + LOOP.format(
        loss="y = target(x)\n    y.detach()\n    loss = F.mse_loss(net(x), y)"
    )
    assert asked(program).cause == "result_unused"
    mended = DROPPED + LOOP.format(loss=kept.format("y = y.detach()"))
    assert asked(mended).cause == "healthy"


def test_a_softmax_twice_in_a_copy_that_is_gone_is_told() -> None:
    program = """
import copy
model = nn.Sequential(nn.Linear(4, 3){softmax})
def local(net):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        loss = F.cross_entropy(net(torch.randn(8, 4)), torch.randint(3, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net.state_dict()
for _ in range(2):
    model.load_state_dict(local(copy.deepcopy(model)))
"""
    assert asked(HEAD + program.format(softmax=", nn.Softmax(1)")).cause == "not_logits"
    assert asked(HEAD + program.format(softmax="")).is_observed
