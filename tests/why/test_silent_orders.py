"""What is in another order, over another dimension or of another sign than it looks: returns that
begin with the last, attention weights that do not add up to 1, masks that leave nothing out, an
overlap that is made small, padding at the last place, means over other numbers, weights that are
tied no more. Each has programs that are alike, and in which it is not told."""

from __future__ import annotations

import pytest
import torch
from test_account import HEAD, line
from test_silent_facts import LOOP
from test_symptom import asked

pytestmark = pytest.mark.dear(50)

# --- returns --------------------------------------------------------------------------------------

EPISODE = (
    HEAD
    + """
net = nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(3):
    log_probs, rewards = [], []
    for x in torch.randn(5, 3):
        dist = torch.distributions.Categorical(logits=net(x))
        act = dist.sample()
        log_probs.append(dist.log_prob(act))
        rewards.append(float(act))
    R, returns = 0.0, []
    {fill}
    loss = {loss}
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
)
BACKWARDS = (
    "for r in reversed(rewards):\n        R = r + 0.9 * R\n        returns.append(R)  # fills"
)
ZIPPED = "torch.stack([-p * r for p, r in zip(log_probs, returns)]).sum()"
STACKED = "-(torch.stack(log_probs) * torch.tensor(returns)).sum()"
FROM_THE_END = "begins with the last"


@pytest.mark.parametrize("loss", [ZIPPED, STACKED])
@pytest.mark.parametrize(
    "fill",
    [
        BACKWARDS,
        BACKWARDS.replace("reversed(rewards)", "rewards[::-1]"),
        BACKWARDS.replace("for r in reversed(rewards)", "for i in range(4, -1, -1)").replace(
            "r + ", "rewards[i] + "
        ),
    ],
)
def test_returns_that_begin_with_the_last_are_told(fill: str, loss: str) -> None:
    program = EPISODE.format(fill=fill, loss=loss)
    answer = asked(program)
    assert FROM_THE_END in answer.verdict
    assert "returns.insert(0, R) there" in answer.verdict
    assert line(program, "# fills") in answer.lines


@pytest.mark.parametrize(
    ("fill", "loss"),
    [
        (BACKWARDS.replace("append(R)", "insert(0, R)"), ZIPPED),
        (BACKWARDS + "\n    returns.reverse()", ZIPPED),
        (BACKWARDS + "\n    returns = returns[::-1]", STACKED),
        (BACKWARDS, STACKED.replace("(returns)", "(returns).flip(0)")),
        (BACKWARDS, ZIPPED.replace("zip(log_probs", "zip(reversed(log_probs)")),
        # which return is whose does not count
        (BACKWARDS, "-torch.stack(log_probs).sum() * sum(returns)"),
        (BACKWARDS, "-torch.stack(log_probs).sum() * torch.tensor(returns).mean()"),
        # the loss of each step stands in the list, whatever its order
        (
            "for r, p in zip(rewards[::-1], log_probs[::-1]):\n        R = r + 0.9 * R\n"
            "        returns.append(-p * R)",
            "torch.stack(returns).sum()",
        ),
        # a way down through the features of a network begins with the last
        (
            "for r in reversed(rewards):\n        R = R + r\n        returns.append(R)",
            STACKED,
        ),
        ("for r in rewards:\n        R = r + 0.9 * R\n        returns.append(R)", ZIPPED),
    ],
)
def test_returns_in_order_or_without_one_are_not_told(fill: str, loss: str) -> None:
    assert FROM_THE_END not in str(asked(EPISODE.format(fill=fill, loss=loss)))


# --- attention ------------------------------------------------------------------------------------

ATTENTION = (
    HEAD
    + """
net = nn.Linear(4, 12)
x, mask = torch.randn(3, 5, 4), torch.tril(torch.ones(5, 5)).bool()
"""
)
HEADS = "q, k, v = net(x).chunk(3, -1)\n    s = q @ k.transpose(1, 2) / 2\n    "
ACROSS = "has weights whose sum is not 1"


@pytest.mark.parametrize(
    "weights",
    [
        "F.softmax(s, dim=1)",
        "s.softmax(0)",
        "torch.softmax(s.masked_fill(~mask, float('-inf')), dim=-2)",
        "F.dropout(F.softmax(s, dim=1), 0.1)",
        "nn.Softmax(dim=1)(s)",
    ],
)
def test_weights_over_another_dimension_than_the_last_are_told(weights: str) -> None:
    loss = f"{HEADS}a = {weights}\n    loss = (a @ v - x).pow(2).mean()"
    answer = asked(ATTENTION + LOOP.format(loss=loss))
    assert ACROSS in answer.verdict
    # torch agrees
    names: dict[str, object] = {}
    computing = f"{HEADS}a = {weights.replace('0.1', '0.0')}".replace("\n    ", "\n")
    exec(ATTENTION + computing, names)
    assert not names["a"].sum(-1).allclose(torch.ones(3, 5))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "product",
    [
        "F.softmax(s, dim=-1) @ v",
        "s.softmax(2) @ v",
        "F.softmax(s, dim=1).transpose(1, 2) @ v",  # the other way round, of the same scores
        "(lambda a: a / a.sum(-1, keepdim=True))(s.softmax(1)) @ v",  # as slots are
        "q.softmax(-1) @ (k.softmax(1).transpose(1, 2) @ v)",  # without scores of pairs
    ],
)
def test_weights_that_add_up_to_one_are_not_told(product: str) -> None:
    loss = f"{HEADS}loss = ({product} - x).pow(2).mean()"
    assert ACROSS not in str(asked(ATTENTION + LOOP.format(loss=loss)))


HIGH = "a weight like those of the others"


@pytest.mark.parametrize("value", ["1e-9", "-1e-9", "0", "0.0", "1"])
def test_a_mask_that_leaves_nothing_out_is_told(value: str) -> None:
    loss = f"{HEADS}a = F.softmax(s.masked_fill(~mask, {value}), -1)\n    "
    answer = asked(ATTENTION + LOOP.format(loss=f"{loss}loss = (a @ v - x).pow(2).mean()"))
    assert HIGH in answer.verdict


@pytest.mark.parametrize("value", ["-1e9", "float('-inf')", "torch.finfo(s.dtype).min", "-100"])
def test_a_mask_that_leaves_out_is_not_told(value: str) -> None:
    loss = f"{HEADS}a = F.softmax(s.masked_fill(~mask, {value}), -1)\n    "
    answer = asked(ATTENTION + LOOP.format(loss=f"{loss}loss = (a @ v - x).pow(2).mean()"))
    assert HIGH not in str(answer)


def test_a_filled_value_that_meets_no_softmax_is_not_told() -> None:
    loss = (
        f"{HEADS}a = F.softmax(s, -1).masked_fill(~mask, 0)\n    loss = (a @ v - x).pow(2).mean()"
    )
    assert HIGH not in str(asked(ATTENTION + LOOP.format(loss=loss)))


# --- overlap --------------------------------------------------------------------------------------

MASKS = (
    HEAD
    + """
net = nn.Linear(6, 6)
x = torch.randn(8, 6)
m = (x > 0).float()
"""
)
OVERLAP = "makes them overlap less"
DICE = "p = net(x).sigmoid(); d = (2 * (p * m).sum(1) + 1) / (p.sum(1) + m.sum(1) + 1); "


@pytest.mark.parametrize(
    "loss",
    [
        f"{DICE}loss = d.mean()",
        f"{DICE}loss = F.binary_cross_entropy(p, m) + 0.5 * d.mean()",
        "p = net(x).sigmoid(); i = (p * m).sum(); loss = i / (p.sum() + m.sum() - i)",
    ],
)
def test_an_overlap_that_is_made_small_is_told(loss: str) -> None:
    assert OVERLAP in asked(MASKS + LOOP.format(loss=loss)).verdict


@pytest.mark.parametrize(
    "loss",
    [
        f"{DICE}loss = 1 - d.mean()",
        f"{DICE}loss = (1 - d).mean()",
        f"{DICE}loss = -d.mean()",
        f"{DICE}loss = F.binary_cross_entropy(p, m) - d.log().mean()",
        "p = net(x); loss = (p * m).sum() / m.sum()",  # a mean of what is masked
        # two predictions that are to be apart
        "p, q = net(x).sigmoid().chunk(2, 1); loss = (p * q).sum() / (p.sum() + q.sum())",
    ],
)
def test_an_overlap_that_is_made_large_is_not_told(loss: str) -> None:
    assert OVERLAP not in str(asked(MASKS + LOOP.format(loss=loss)))


# --- the last place -------------------------------------------------------------------------------

PADDED = (
    HEAD
    + """
net = nn.ModuleDict(dict(
    emb=nn.Embedding(9, 4, padding_idx=0), rnn=nn.GRU(4, 4, batch_first=True), fc=nn.Linear(4, 2)
))
ids, y = torch.randint(1, 9, (4, 6)), torch.randint(2, (4,))
{pad}
"""
)
LAST = "loss = F.cross_entropy(net['fc'](net['rnn'](net['emb'](ids))[0]{at}), y)"
OF_PADDING = "If the last token is meant"


def test_the_last_place_of_padded_rows_is_told() -> None:
    program = PADDED.format(pad="ids[1:, 4:] = 0") + LOOP.format(loss=LAST.format(at="[:, -1]"))
    answer = asked(program)
    assert OF_PADDING in answer.verdict
    assert "in 3 of 4 rows of ids" in answer.verdict


@pytest.mark.parametrize(
    ("pad", "at"),
    [
        ("pass", "[:, -1]"),
        ("ids[1:, :2] = 0", "[:, -1]"),  # padded in front
        ("ids[1:, 4:] = 0", ".mean(1)"),
        ("ids[1:, 4:] = 0", "[torch.arange(4), (ids > 0).sum(1) - 1]"),
        ("ids[1:, 4:] = 0", "[:, 0]"),
    ],
)
def test_a_last_place_that_is_none_of_padding_is_not_told(pad: str, at: str) -> None:
    program = PADDED.format(pad=pad) + LOOP.format(loss=LAST.format(at=at))
    assert OF_PADDING not in str(asked(program))


# --- means over other numbers ---------------------------------------------------------------------

COUNTED = (
    HEAD
    + """
net = nn.Linear(4, 3)
criterion = nn.CrossEntropyLoss({given})
opt = torch.optim.SGD(net.parameters(), lr=0.01)
x, y = torch.randn(2, 6, 4), torch.randint(3, (2, 6))
y[0, 1:] = -100
for _ in range(2):
    {loop}
    opt.step()
    opt.zero_grad()
"""
)
PARTS = (
    "for a, b in zip(x, y):\n        loss = criterion(net(a), b){scale}\n        loss.backward()"
)
COUNTS = "a target counts the more"


@pytest.mark.parametrize("scale", [" / 2", " * 0.5"])
def test_means_over_different_numbers_that_add_up_are_told(scale: str) -> None:
    loop = PARTS.format(scale=scale)
    answer = asked(COUNTED.format(given="ignore_index=-100", loop=loop))
    assert COUNTS in answer.verdict


@pytest.mark.parametrize(
    ("given", "loop"),
    [
        ("ignore_index=-100, reduction='sum'", PARTS.format(scale=" / 7")),
        ("", PARTS.format(scale=" / 2")),
        (
            "ignore_index=-100",
            PARTS.format(scale="") + "\n        opt.step()\n        opt.zero_grad()",
        ),
        ("ignore_index=-100", "criterion(net(x.flatten(0, 1)), y.flatten()).backward()"),
    ],
)
def test_means_that_do_not_add_up_are_not_told(given: str, loop: str) -> None:
    assert COUNTS not in str(asked(COUNTED.format(given=given, loop=loop)))


# --- ties -----------------------------------------------------------------------------------------

TIED = (
    HEAD
    + """
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)
        self.out.weight = self.embed.weight  # ties

    def load(self, vectors):
        {load}

    def forward(self, ids):
        return self.out(self.embed(ids))

net = Tied()
net.load(torch.randn(5, 4))
ids = torch.randint(5, (6,))
"""
    + LOOP.format(loss="loss = F.cross_entropy(net(ids), ids.flip(0))")
)
TWO_NOW = "are two now"


@pytest.mark.parametrize(
    "load",
    [
        "self.embed.weight = nn.Parameter(vectors)  # anew",
        "self.embed = nn.Embedding.from_pretrained(vectors, freeze=False)  # anew",
        "self.out.weight = nn.Parameter(vectors)  # anew",
    ],
)
def test_weights_that_are_tied_no_more_are_told(load: str) -> None:
    program = TIED.format(load=load)
    answer = asked(program)
    assert TWO_NOW in answer.verdict
    assert {line(program, "# ties"), line(program, "# anew")} <= set(answer.lines)


@pytest.mark.parametrize(
    "load",
    [
        "self.embed.weight.data.copy_(vectors)",
        "pass",
        "self.embed.weight = nn.Parameter(vectors); self.out.weight = self.embed.weight",
    ],
)
def test_weights_that_are_still_tied_are_not_told(load: str) -> None:
    assert TWO_NOW not in str(asked(TIED.format(load=load)))


# --- a backward that is asked for another derivative ----------------------------------------------

SQUARE = (
    HEAD
    + """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 2

    @staticmethod
    def backward(ctx, above):
        x, = ctx.saved_tensors
        return {returned}  # returns

net, x = nn.Linear(3, 2), torch.randn(5, 3)
"""
)
UNREAD = "never reads above"


@pytest.mark.parametrize(
    "loss", ["Square.apply(net(x)).mean()", "Square.apply(net(x)).sum() * 3"], ids=["mean", "times"]
)
def test_a_backward_that_never_reads_its_gradient_is_told(loss: str) -> None:
    program = SQUARE.format(returned="2 * x") + LOOP.format(loss=f"loss = {loss}")
    answer = asked(program)
    assert UNREAD in answer.verdict
    assert line(program, "# returns") in answer.lines
    # what it says mends it
    mended = SQUARE.format(returned="above * 2 * x") + LOOP.format(loss=f"loss = {loss}")
    assert "never reads" not in str(asked(mended))


@pytest.mark.parametrize(
    ("returned", "loss"),
    [
        ("2 * x * above", "Square.apply(net(x)).mean()"),
        ("2 * x", "Square.apply(net(x).sum())"),  # it is the loss itself
        ("None", "Square.apply(net(x)).mean() + net(x).mean()"),
    ],
)
def test_a_backward_that_needs_no_gradient_is_not_told(returned: str, loss: str) -> None:
    program = SQUARE.format(returned=returned) + LOOP.format(loss=f"loss = {loss}")
    assert "never reads" not in str(asked(program))


BENT = (
    HEAD
    + """
net = nn.Sequential(nn.Linear(1, 8), {kind}(), nn.Linear(8, 8), {kind}(), nn.Linear(8, 1))

def d(y, of):
    return torch.autograd.grad(y, of, torch.ones_like(y), create_graph=True)[0]  # derives

def equation(net):
    x = torch.rand(20, 1, requires_grad=True)
    u = {u}
    return {left} + torch.sin(x)
"""
)
SECOND = "d(d(u, x), x)"
EQUATION = LOOP.format(
    loss="loss = equation(net).pow(2).mean() + net(torch.ones(1, 1)).pow(2).sum()"
)
STRAIGHT = "the second derivative of"


@pytest.mark.parametrize("kind", ["nn.ReLU", "nn.LeakyReLU"])
def test_a_second_derivative_of_straight_pieces_is_told(kind: str) -> None:
    program = BENT.format(kind=kind, u="net(x)", left=SECOND) + EQUATION
    answer = asked(program)
    assert STRAIGHT in answer.verdict
    assert answer.form == "second_slope"
    assert line(program, "# derives") in answer.lines
    # torch agrees
    names: dict[str, object] = {}
    exec(BENT.format(kind=kind, u="net(x)", left=SECOND), names)
    exec("x = torch.rand(20, 1, requires_grad=True)\nsecond = d(d(net(x), x), x)", names)
    assert not names["second"].any()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("kind", "u"), [("nn.Tanh", "net(x)"), ("nn.ReLU", "net(x) * x"), ("nn.ReLU", "net(x ** 2)")]
)
def test_a_second_derivative_that_is_there_is_not_told(kind: str, u: str) -> None:
    program = BENT.format(kind=kind, u=u, left=SECOND) + EQUATION
    assert STRAIGHT not in str(asked(program))


def test_one_derivative_of_straight_pieces_is_not_told() -> None:
    program = BENT.format(kind="nn.ReLU", u="net(x)", left="d(u, x)") + EQUATION
    assert STRAIGHT not in str(asked(program))


# --- hooks ----------------------------------------------------------------------------------------

HOOKED = (
    HEAD
    + """
import copy
seen = []
first = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
net = copy.deepcopy(first)
{put}.register_full_backward_hook(lambda m, i, o: seen.append(o[0]))  # puts
x = torch.randn(5, 3)
"""
)
OF_ANOTHER = "No hook of"


def test_hooks_of_a_copy_that_is_not_called_are_told() -> None:
    program = HOOKED.format(put="first[2]") + LOOP.format(loss="loss = net(x).mean()")
    answer = asked(program)
    assert "No hook of first.2 ran" in answer.verdict
    assert "net.2, of the same class" in answer.verdict
    assert line(program, "# puts") in answer.lines


@pytest.mark.parametrize(
    ("put", "loss"),
    [
        ("net[2]", "loss = net(x).mean()"),
        ("first[2]", "loss = net(x).mean() + first(x).mean()"),
        ("nn.Bilinear(2, 2, 2)", "loss = net(x).mean()"),
    ],
)
def test_hooks_that_run_or_have_no_twin_are_not_told(put: str, loss: str) -> None:
    assert OF_ANOTHER not in str(asked(HOOKED.format(put=put) + LOOP.format(loss=loss)))


# --- iterators ------------------------------------------------------------------------------------

EPOCHS = (
    HEAD
    + """
class Trainer:
    def __init__(self, rows):
        self.net = nn.Linear(3, 1)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.01)
        self.rows = rows
        self.batches = {made}

    def epoch(self):
        {loop}
            loss = self.net(x).pow(2).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            {end}

trainer = Trainer(torch.randn(4, 5, 3))
for _ in range(3):
    trainer.epoch()
"""
)
ONCE = "finds nothing in it from its second run on"


@pytest.mark.parametrize("made", ["iter(self.rows)", "zip(self.rows)", "(r for r in self.rows)"])
def test_an_iterator_that_every_epoch_goes_through_is_told(made: str) -> None:
    loop = "for x, in self.batches:" if "zip" in made else "for x in self.batches:"
    answer = asked(EPOCHS.format(made=made, loop=loop, end="pass"))
    assert ONCE in answer.verdict


def test_an_iterator_of_an_object_that_each_round_makes_is_not_told() -> None:
    program = EPOCHS.format(made="iter(self.rows)", loop="for x in self.batches:", end="pass")
    program = program.replace("    trainer.epoch()", "    Trainer(torch.randn(4, 5, 3)).epoch()")
    assert ONCE not in str(asked(program))


@pytest.mark.parametrize(
    ("made", "loop", "end"),
    [
        ("list(self.rows)", "for x in self.batches:", "pass"),
        ("iter(self.rows)", "for x in self.batches:", "break"),
        ("iter(self.rows)", "for x in self.rows:", "pass"),
        ("iter(self.rows)", "for x in iter(self.rows):", "pass"),
    ],
)
def test_what_can_be_gone_through_again_is_not_told(made: str, loop: str, end: str) -> None:
    assert ONCE not in str(asked(EPOCHS.format(made=made, loop=loop, end=end)))


# --- gradients of a shared part that are cleared between two losses -------------------------------

SHARED = (
    HEAD
    + """
body, actor, critic = nn.Linear(3, 4), nn.Linear(4, 2), nn.Linear(4, 1)
opt_a = torch.optim.SGD([{with_actor}*actor.parameters()], lr=0.01)
opt_c = torch.optim.SGD([{with_critic}*critic.parameters()], lr=0.01)
for _ in range(3):
    h = torch.tanh(body(torch.randn(5, 3)))
    value_loss, policy_loss = critic(h).pow(2).mean(), actor(h).pow(2).mean()
    opt_c.zero_grad()
    {early}
    value_loss.backward(retain_graph=True)
    {late}  # clears
    policy_loss.backward()
    opt_c.step()
    opt_a.step()
"""
)
BODY, CLEARED = "*body.parameters(), ", "moved these by the gradient of policy_loss"


def test_gradients_of_a_shared_part_that_another_optimizer_clears_are_told() -> None:
    parts = {"with_actor": BODY, "with_critic": BODY}
    program = SHARED.format(early="pass", late="opt_a.zero_grad()", **parts)
    answer = asked(program)
    assert CLEARED in answer.verdict
    assert line(program, "# clears") in answer.lines
    assert CLEARED not in str(asked(SHARED.format(early="opt_a.zero_grad()", late="pass", **parts)))


@pytest.mark.parametrize(
    ("with_actor", "with_critic"), [("", BODY), (BODY, ""), ("", "")], ids=["critic", "actor", "no"]
)
def test_a_part_that_one_optimizer_alone_holds_is_not_told(
    with_actor: str, with_critic: str
) -> None:
    parts = {"with_actor": with_actor, "with_critic": with_critic}
    assert CLEARED not in str(asked(SHARED.format(early="pass", late="opt_a.zero_grad()", **parts)))


# --- inputs that are far from 0 -------------------------------------------------------------------

PRICES = (
    HEAD
    + """
net = nn.Sequential(nn.Linear(3, 8), {function}(), nn.Linear(8, 1))
nn.init.constant_(net[0].weight, -0.15)
x = torch.rand(20, 3) * {size}
"""
)
FAR = "is flat, and gives nearly the same"
FIT = LOOP.format(loss="loss = (net(x) - 1).pow(2).mean()")


@pytest.mark.parametrize("function", ["nn.Sigmoid", "nn.Tanh"])
def test_inputs_at_which_the_first_function_is_flat_are_told(function: str) -> None:
    answer = asked(PRICES.format(function=function, size=30) + FIT)
    assert FAR in answer.verdict
    assert "x goes from" in answer.verdict
    # what it says mends it
    scaled = PRICES.format(function=function, size=30) + "x = (x - x.mean(0)) / x.std(0)\n" + FIT
    assert FAR not in str(asked(scaled))


@pytest.mark.parametrize(("function", "size"), [("nn.ReLU", 30), ("nn.Sigmoid", 1)])
def test_inputs_that_a_function_tells_apart_are_not_told(function: str, size: int) -> None:
    assert FAR not in str(asked(PRICES.format(function=function, size=size) + FIT))


def test_large_inputs_of_small_weights_are_not_told() -> None:
    small = "with torch.no_grad():\n    net[0].weight /= 30\n"
    assert FAR not in str(asked(PRICES.format(function="nn.Sigmoid", size=30) + small + FIT))


# --- what is one and looks like two ---------------------------------------------------------------

KEPT = (
    HEAD
    + """
net = nn.Linear(3, 2)
x = torch.randn(5, 3)
before = {before}  # keeps
"""
    + LOOP.format(loss="loss = net(x).pow(2).mean()")
    + "{compared}\n"
)
ITSELF = "compares before with itself"


@pytest.mark.parametrize("compared", ["torch.equal(before, net.weight)", "before - net.weight"])
@pytest.mark.parametrize("before", ["net.weight.data", "net.weight.detach()"])
def test_a_weight_that_is_compared_with_itself_is_told(before: str, compared: str) -> None:
    program = KEPT.format(before=before, compared=compared)
    answer = asked(program)
    assert ITSELF in answer.verdict
    assert line(program, "# keeps") in answer.lines
    assert "with itself" not in str(
        asked(KEPT.format(before=f"{before}.clone()", compared=compared))
    )


def test_two_names_of_one_memory_that_are_compared_are_told() -> None:
    compared = "after = net.weight.data\nprint(torch.equal(before, after))"
    answer = asked(KEPT.format(before="net.weight.data", compared=compared))
    assert ITSELF in answer.verdict
    assert "with itself" not in str(
        asked(KEPT.format(before="net.weight.data.clone()", compared=compared))
    )
    early = KEPT.replace("# keeps", "; after = net.weight.data")
    assert "with itself" not in str(
        asked(early.format(before="net.weight.data", compared="torch.equal(before, after)"))
    )


@pytest.mark.parametrize(
    ("before", "compared"),
    [
        ("net.weight", "torch.equal(before, net.weight)"),  # as of weights that are tied
        ("net.weight.data", "torch.equal(net.weight.detach(), net.weight)"),
        ("net.weight.data", "torch.equal(before, net.weight + 0)"),
    ],
)
def test_what_was_not_kept_over_a_step_is_not_told(before: str, compared: str) -> None:
    assert "with itself" not in str(asked(KEPT.format(before=before, compared=compared)))


MODELS = (
    HEAD
    + """
def make():
    return nn.Linear(3, 1)

models = {models}  # makes
opts = [torch.optim.SGD(m.parameters(), lr=0.01) for m in models]
for _ in range(3):
    for m, opt in zip(models, opts):
        loss = m(torch.randn(5, 3)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
"""
)


def test_one_model_in_a_list_times_a_number_is_told() -> None:
    program = MODELS.format(models="[make()] * 4")
    answer = asked(program)
    assert "share its weights" in answer.verdict
    assert line(program, "# makes") in answer.lines


@pytest.mark.parametrize("models", ["[make() for _ in range(4)]", "[make(), make()]"])
def test_models_that_are_made_one_by_one_are_not_told(models: str) -> None:
    assert "share its weights" not in str(asked(MODELS.format(models=models)))
