"""What people ask of programs that raise nothing: masks that come too late, draws without a way
back, tokens that are their own targets, settings the other way round, a buffer of one state. Each
has programs that are alike, and in which it is not told."""

from __future__ import annotations

import pytest
from test_account import HEAD, line
from test_silent_facts import LOOP
from test_symptom import asked

# --- masks ----------------------------------------------------------------------------------------

TAGS = (
    HEAD
    + """
net = nn.Linear(4, 3)
x, y = torch.randn(6, 4), torch.randint(3, (6,))
mask, weight = (y > 0).float(), nn.Parameter(torch.ones(1))
"""
)
TOO_LATE = "leaves none of them out"


@pytest.mark.parametrize(
    "function", ["F.cross_entropy(net(x), y)", "F.mse_loss(net(x)[:, 0], mask)"]
)
def test_a_mask_on_one_number_is_told(function: str) -> None:
    program = TAGS + LOOP.format(
        loss=f"loss = {function}\n    loss = (loss * mask).sum() / mask.sum()  # masked"
    )
    answer = asked(program)
    assert TOO_LATE in answer.verdict
    assert line(program, "# masked") in answer.lines
    # torch agrees: the mask changes no gradient
    grads = []
    for used in (program, program.replace("mask).sum() / mask.sum()", "1)")):
        names: dict[str, object] = {}
        exec(used, names)
        grads.append(names["net"].weight.grad)  # type: ignore[attr-defined]
    assert grads[0].allclose(grads[1], atol=1e-6)


@pytest.mark.parametrize(
    "loss",
    [
        "loss = (F.cross_entropy(net(x), y, reduction='none') * mask).sum() / mask.sum()",
        "loss = F.cross_entropy(net(x), y) * 0.5",
        "loss = F.cross_entropy(net(x), y) * torch.tensor(0.5)",
        "loss = (net(x).mean() * mask - mask).pow(2).sum()",  # a mean that is no loss
    ],
)
def test_masks_and_factors_that_count_are_not_told(loss: str) -> None:
    assert TOO_LATE not in str(asked(TAGS + LOOP.format(loss=loss)))


# --- draws ----------------------------------------------------------------------------------------

CODER = (
    HEAD
    + """
net, dec = nn.Linear(4, 4), nn.Linear(2, 4)
x = torch.randn(8, 4)
def divergence(mu, std):
    return (mu.pow(2) + std.pow(2) - std.log()).mean()
"""
)
ENCODED = "mu, std = net(x)[:, :2], net(x)[:, 2:].exp(); z = {}; loss = {} + divergence(mu, std)"
NO_WAY = "only zeros come"


def test_a_draw_without_a_way_back_is_told() -> None:
    loss = ENCODED.format("torch.normal(mu, std)", "(dec(z) - x).pow(2).mean()")
    program = CODER + LOOP.format(loss=loss)
    answer = asked(program)
    assert "draws numbers from mu and std" in answer.verdict
    assert line(program, "torch.normal") in answer.lines
    # torch agrees: the reconstruction sends the encoder zeros
    names: dict[str, object] = {}
    exec(CODER + ENCODED.format("torch.normal(mu, std)", "0 * z.sum()"), names)
    exec("grad = torch.autograd.grad(dec(z).sum(), net.weight)[0]", names)
    assert not names["grad"].any()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("draw", "loss"),
    [
        ("mu + std * torch.randn_like(std)", "(dec(z) - x).pow(2).mean()"),
        ("torch.distributions.Normal(mu, std).rsample()", "(dec(z) - x).pow(2).mean()"),
        ("torch.normal(mu.detach(), std.detach())", "(dec(z) - x).pow(2).mean()"),
        # a straight-through estimate
        (
            "torch.sigmoid(mu) + (torch.bernoulli(torch.sigmoid(mu)) - torch.sigmoid(mu)).detach()",
            "(dec(z) - x).pow(2).mean()",
        ),
    ],
)
def test_draws_with_a_way_or_none_that_is_wanted_are_not_told(draw: str, loss: str) -> None:
    told = str(asked(CODER + LOOP.format(loss=ENCODED.format(draw, loss))))
    assert NO_WAY not in told


POLICY = (
    HEAD
    + """
net = nn.Linear(4, 2)
x = torch.randn(8, 4)
"""
)
CHOSEN = (
    "d = torch.distributions.Categorical(logits=net(x)); a = d.sample(); loss = -({} * a).mean()"
)


def test_the_log_probability_of_a_new_draw_is_told() -> None:
    answer = asked(POLICY + LOOP.format(loss=CHOSEN.format("d.log_prob(d.sample())")))
    assert "takes the log-probability of a draw that is made there" in answer.verdict
    assert "kept nowhere" not in str(
        asked(POLICY + LOOP.format(loss=CHOSEN.format("d.log_prob(a)")))
    )


# --- tokens that are their own targets ------------------------------------------------------------

TEXT = (
    HEAD
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.look, self.out = nn.Embedding(9, 4), nn.Linear(4, 9)
    def forward(self, ids):
        return self.out(self.look(ids))
net, ids = Net(), torch.randint(9, (5, 6))
"""
)
OWN = "to copy it is enough"


def test_tokens_that_are_their_own_targets_are_told() -> None:
    loss = "loss = F.cross_entropy(net(ids).view(-1, 9), ids.view(-1))"
    assert OWN in asked(TEXT + LOOP.format(loss=loss)).verdict


@pytest.mark.parametrize(
    "loss",
    [
        "loss = F.cross_entropy(net(ids)[:, :-1].reshape(-1, 9), ids[:, 1:].reshape(-1))",
        "loss = F.cross_entropy(net(ids[:, :-1]).reshape(-1, 9), ids[:, 1:].reshape(-1))",
        "loss = F.cross_entropy(net(ids.masked_fill(ids > 5, 0)).view(-1, 9), ids.view(-1))",
        "loss = F.cross_entropy(net(ids).view(-1, 9), ids.roll(1, 1).view(-1))",
    ],
)
def test_tokens_that_are_shifted_or_masked_are_not_told(loss: str) -> None:
    assert OWN not in str(asked(TEXT + LOOP.format(loss=loss)))


# --- settings of layers ---------------------------------------------------------------------------

NET = (
    HEAD
    + "net = nn.Sequential(nn.Linear(4, 8), {layer}, nn.Linear(8, 1))\n"
    + LOOP.format(loss="loss = net(torch.randn(16, 4)).pow(2).mean()")
)


@pytest.mark.parametrize(
    ("layer", "says"),
    [
        ("nn.Dropout(0.95)", "p is the share that becomes 0"),
        ("nn.BatchNorm1d(8, momentum=0.0)", "never change"),
        ("nn.BatchNorm1d(8, momentum=0.99)", "not of the old"),
    ],
)
def test_settings_the_other_way_round_are_told(layer: str, says: str) -> None:
    program = NET.format(layer=layer)
    answer = asked(program)
    assert says in answer.verdict
    assert line(program, layer) in answer.lines


@pytest.mark.parametrize(
    "layer",
    [
        "nn.Dropout(0.5)",
        "nn.Dropout(1.0)",
        "nn.BatchNorm1d(8)",
        "nn.BatchNorm1d(8, momentum=None)",
        "nn.BatchNorm1d(8, momentum=0.0, track_running_stats=False)",
        "nn.BatchNorm1d(8, momentum=0.0).eval()",
    ],
)
def test_usual_settings_are_not_told(layer: str) -> None:
    told = str(asked(NET.format(layer=layer)))
    assert "the share that becomes" not in told
    assert "running statistics of" not in told


# --- a softmax over the batch, a view beside another, a buffer of one state ------------------------

SCORES = HEAD + "net = nn.Linear(4, 3)\nx, y = torch.randn(8, 4), torch.rand(8, 3)\n"


def test_a_softmax_over_the_batch_that_is_returned_is_told() -> None:
    model = "def model(x):\n    return F.softmax(net(x), dim={})\n"
    loss = LOOP.format(loss="loss = F.mse_loss(model(x), y)")
    assert "compares them row by row" in asked(SCORES + model.format(0) + loss).verdict
    assert "row by row" not in str(asked(SCORES + model.format(1) + loss))
    # weights of the samples that go into no comparison are meant over the batch
    pooled = LOOP.format(loss="loss = (model(x).t() @ x).pow(2).mean()")
    assert "row by row" not in str(asked(SCORES + model.format(0) + pooled))


def test_a_view_that_mixes_is_told_beside_another_in_its_line() -> None:
    program = (
        HEAD + "net = nn.Conv1d(4, 3, 1)\nx, y = torch.randn(8, 4, 5), torch.randint(3, (8, 5))\n"
    )
    loss = "loss = F.cross_entropy({}, y.view(-1))"
    answer = asked(program + LOOP.format(loss=loss.format("net(x).view(-1, 3)")))
    assert "numbers of different places are mixed" in answer.verdict
    kept = loss.format("net(x).permute(0, 2, 1).reshape(-1, 3)")
    assert "are mixed" not in str(asked(program + LOOP.format(loss=kept)))


BUFFER = (
    HEAD
    + """
from collections import deque
net, state, buffer = nn.Linear(2, 1), torch.zeros(2), {kind}
for t in range(5):
    state {write}
    buffer.append(({kept}, float(t)))
x = torch.stack([row[0] for row in buffer])
"""
    + LOOP.format(loss="loss = net(x).pow(2).mean()")
)


@pytest.mark.parametrize("kind", ["[]", "deque(maxlen=9)"])
def test_a_buffer_of_one_state_is_told(kind: str) -> None:
    program = BUFFER.format(kind=kind, write="+= 1", kept="state")
    assert "holds one and the same tensor 5 times" in asked(program).verdict
    for write, kept in (("+= 1", "state.clone()"), ("= state + 1", "state")):
        told = str(asked(BUFFER.format(kind=kind, write=write, kept=kept)))
        assert "one and the same" not in told


def test_a_flag_that_comes_after_the_forward_is_told_where_its_gradient_is_read() -> None:
    program = """
net = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 1))
net[0].weight.requires_grad_(False)
out = net(torch.ones(2, 4))
net[0].weight.requires_grad_(True)  # late
out.sum().backward()
print(net[0].weight.grad)
"""
    answer = asked(HEAD + program)
    assert (answer.cause, answer.form) == ("frozen", "too_late")


# --- which is told first --------------------------------------------------------------------------


def test_a_line_in_vain_is_told_before_what_is_frozen_or_looks_like_another() -> None:
    program = """
net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.95), nn.Linear(8, 1))
net[0].requires_grad_(False)
opt = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.01)
for _ in range(3):
    for row in torch.randn(4, 16, 4):
        loss = net(row).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
    answer = asked(HEAD + program)
    assert "computed 12 times" in answer.verdict
    rest = str(answer)
    assert 0 < rest.index("computed 12 times") < rest.index("drops 0.95")
