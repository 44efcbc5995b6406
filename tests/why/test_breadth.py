"""What the questions of ``real_learn6`` taught, in other forms than they had: in a class, in a
function, in a loop. And what looks alike and is meant: of that nothing is told."""

from __future__ import annotations

import pytest
from test_account import HEAD, line
from test_symptom import asked

# --- a loss of which only the number is read --------------------------------------------------------

TWO_HEADS = (
    HEAD
    + """
body, one, two = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(4, 1)
opt = torch.optim.SGD([*body.parameters(), *one.parameters(), *two.parameters()], lr=0.1)
for _ in range(2):
    h = body(torch.randn(8, 3))
    a, b = one(h).pow(2).mean(), two(h).pow(2).mean()
    loss = {loss}
    opt.zero_grad()
    loss.backward()
    opt.step()
    print({read})
"""
)


@pytest.mark.parametrize("read", ["a.item(), b.item()", "a.tolist(), b.tolist()", "f'{b:.3f}'"])
def test_a_number_that_is_printed_cuts_nothing(read: str) -> None:
    program = TWO_HEADS.format(loss="sum([a, b][:1])", read=read)
    answer = asked(program)
    assert answer.cause == "not_in_loss"
    assert answer.form in ("only_looked_at", "unread_result")  # a format is no call
    assert "no item()" not in answer.mend
    assert line(program, "a, b =") in answer.lines


def test_a_number_that_goes_into_the_loss_is_the_cut() -> None:
    program = TWO_HEADS.format(loss="a + b.item()", read="a.item(), b.item()")
    assert asked(program).form != "only_looked_at"


# --- what a teacher alone says ----------------------------------------------------------------------

TEACHER = (
    HEAD
    + """
class Distill(nn.Module):
    def __init__(self, teacher, student):
        super().__init__()
        self.teacher, self.student = teacher.requires_grad_({flag}), student
        self.opt = torch.optim.SGD(self.student.parameters(), lr=0.1)
    def forward(self, x, y):
        with torch.no_grad():
            target = self.teacher(x)
        out = self.student(x)
        soft = F.mse_loss({of}.softmax(-1), target.softmax(-1))
        return soft + F.cross_entropy(out, y)
d = Distill(nn.Linear(3, 4), nn.Linear(3, 4))
for _ in range(2):
    d.opt.zero_grad()
    d(torch.randn(8, 3), torch.randint(4, (8,))).backward()
    d.opt.step()
"""
)


def test_a_loss_of_the_teacher_alone_is_not_mended_at_the_teacher() -> None:
    answer = asked(TEACHER.format(of="target", flag="True"))
    assert (answer.cause, answer.form) == ("constant_summand", "of_the_fixed_beside")
    assert "out in the place of one target" in answer.mend
    assert "enable_grad" not in answer.mend


@pytest.mark.parametrize("flag", ["True", "False"])
def test_a_teacher_whom_the_students_optimizer_leaves_out_is_no_fault(flag: str) -> None:
    """The optimizer is an attribute: only the recording knows it."""
    answer = asked(TEACHER.format(of="out", flag=flag))
    assert answer.cause == "healthy"


# --- straight-through outputs -----------------------------------------------------------------------

CODEBOOK = (
    HEAD
    + """
enc, table = nn.Linear(3, 2), nn.Embedding(5, 2)
x = enc(torch.randn(8, 3))
rows = table(torch.cdist(x, table.weight).argmin(1))
through = {through}
loss = (through - 1).pow(2).mean() + ({of} - x.detach()).pow(2).mean()
loss.backward()
"""
)
THROUGH = ["x + (rows - x).detach()", "(rows - x).detach() + x", "x + (rows - x).data"]


@pytest.mark.parametrize("through", THROUGH)
def test_a_codebook_is_trained_before_the_straight_through_output(through: str) -> None:
    answer = asked(CODEBOOK.format(through=through, of="through"))
    assert (answer.cause, answer.form) == ("cut", "straight_through")
    assert "from rows itself, in the place of through" in answer.mend
    mended = asked(CODEBOOK.format(through=through, of="rows"))
    assert mended.cause == "healthy"


# --- backward twice ---------------------------------------------------------------------------------


def test_two_callers_of_one_helper_went_backward_from_one_loss() -> None:
    program = (
        HEAD
        + """
w = torch.ones(3, requires_grad=True)
def back(loss):
    loss.backward()
def inside(loss):
    back(loss)  # the first
    return loss
loss = inside(w.exp().sum())
back(loss)  # the second
"""
    )
    answer = asked(program)
    assert (answer.cause, answer.form) == ("second_backward", "same_loss")
    assert {line(program, "# the first"), line(program, "# the second")} <= set(answer.lines)


# --- the account ------------------------------------------------------------------------------------

LOOP = """
for _ in range(2):
    {loss}
    opt.zero_grad()
    loss.backward({start})
    opt.step()
"""
NET = (
    HEAD
    + """
net = nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
"""
)
PLAIN = "loss = net(torch.randn(4, 3)).pow(2).mean()"


def test_a_backward_that_began_with_its_own_loss_is_told() -> None:
    answer = asked(NET + LOOP.format(loss=PLAIN, start="loss"))
    assert "began with loss itself" in answer.verdict
    for start in ("", "torch.tensor(1.0)", "torch.tensor(0.5)"):
        assert "itself" not in str(asked(NET + LOOP.format(loss=PLAIN, start=start)))


PADDED = (
    HEAD
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 3, padding_idx=0)
        {then}
    def forward(self, i):
        return self.table(i)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
"""
    + LOOP.format(loss="loss = net(torch.tensor([0, 1, 2])).pow(2).mean()", start="")
)


def test_a_row_for_padding_that_holds_numbers_is_told() -> None:
    program = PADDED.format(then="nn.init.normal_(self.table.weight)")
    answer = asked(program)
    assert "net.table.weight[0] gets no gradient where it is looked up" in answer.verdict
    assert line(program, "padding_idx=0") in answer.lines
    assert "padding_idx" not in str(asked(PADDED.format(then="")))


FROZEN = (
    HEAD
    + """
class D(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)
    def forward(self, x):
        return self.layer(x)
one, two = D(), D()
for p in {frozen}.parameters():
    p.requires_grad = False
opt = torch.optim.SGD([p for p in two.parameters() if p.requires_grad], lr=0.1)
for _ in range(2):
    x = torch.randn(4, 3)
    loss = (two(x) - {other}).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
)


def test_a_frozen_network_that_nothing_uses_beside_its_trained_twin_is_told() -> None:
    answer = asked(FROZEN.format(frozen="one", other="1"))
    assert "one is frozen" in answer.verdict
    assert "two, of the same class, was trained" in answer.verdict


def test_a_frozen_twin_that_is_used_is_a_teacher() -> None:
    assert "of the same class" not in str(asked(FROZEN.format(frozen="one", other="one(x)")))


GAN = (
    HEAD
    + """
G, D = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
g_opt, d_opt = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (G, D))
for _ in range(2):
    fake = G(torch.randn(4, 2))
    d_loss = F.softplus(D(fake.detach())).mean()
    d_opt.zero_grad()
    d_loss.backward()
    d_opt.step()
    match = D[:2]({given}).pow(2).mean()
    g_loss = F.softplus(-D(fake)).mean() + 10 * match
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
"""
)


def test_a_part_of_a_loss_that_its_step_does_not_feel_is_told() -> None:
    program = GAN.format(given="fake.detach()")
    answer = asked(program)
    assert "a part of g_loss, sends nothing to what g_opt.step()" in answer.verdict
    assert line(program, "match =") in answer.lines
    assert "sends nothing" not in str(asked(GAN.format(given="fake")))


TWICE_NAMED = NET + LOOP.format(
    loss="loss = net(torch.randn(4, 3)).abs().mean()\n    {again}", start=""
)


def test_a_loss_that_is_overwritten_unread_is_told() -> None:
    answer = asked(TWICE_NAMED.format(again="loss = net(torch.randn(4, 3)).pow(2).mean()"))
    assert "loss is given another value" in answer.verdict
    for again in ("loss = loss + net.weight.pow(2).sum()", "loss += net.weight.pow(2).sum()"):
        assert "another value" not in str(asked(TWICE_NAMED.format(again=again)))


RNN = (
    HEAD
    + """
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.out, self.state = nn.GRU(3, 4), nn.Linear(4, 1), None
    def forward(self, x):
        h, self.state = self.rnn({given})
        return self.out(h)
net = Tagger()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
"""
    + LOOP.format(loss="loss = net(torch.randn(5, 1, 3)).pow(2).mean()", start="")
)


def test_a_state_that_is_kept_and_not_read_is_told() -> None:
    answer = asked(RNN.format(given="x"))
    assert "self.rnn is called without a state" in answer.verdict
    carried = "x, None if self.state is None else self.state.detach()"
    assert "without a state" not in str(asked(RNN.format(given=carried)))


NORMED = (
    HEAD
    + """
net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def freeze():
    for m in net.modules():
        if isinstance(m, nn.BatchNorm1d):
            m.eval()
{order}
"""
    + LOOP.format(loss="loss = net(torch.randn(8, 3)).pow(2).mean()", start="")
)


def test_normalisations_that_train_puts_back_are_told() -> None:
    answer = asked(NORMED.format(order="freeze()\nnet.train()"))
    assert "net.1 ran in training mode: net.train()" in answer.verdict
    assert "ran in training mode" not in str(asked(NORMED.format(order="net.train()\nfreeze()")))


def test_one_layer_in_train_mode_says_that_the_modes_are_chosen() -> None:
    program = NORMED.format(order="net.eval()\nnet[1].train()")
    assert asked(program).cause == "healthy"
    assert asked(NORMED.format(order="net.eval()")).cause == "eval_mode"


MASKED_GRADIENT = (
    HEAD
    + """
table = nn.Embedding(5, 3)
opt = torch.optim.AdamW(table.parameters(), lr=0.1, weight_decay={decay})
for _ in range(2):
    opt.zero_grad()
    loss = table(torch.tensor([1, 4])).pow(2).mean()
    loss.backward()
    {change}
    opt.step()
"""
)
CHANGES = [
    "table.weight.grad[:4] = 0",
    "table.weight.grad.mul_(torch.tensor([[0.0], [0.0], [0.0], [0.0], [1.0]]))",
    "table.weight.grad.data[:4] = 0.0",
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_decay_beside_a_gradient_that_is_changed_in_part_is_told(change: str) -> None:
    answer = asked(MASKED_GRADIENT.format(decay=0.01, change=change))
    assert "weight_decay 0.01 moves every entry" in answer.verdict
    assert "moves every entry" not in str(asked(MASKED_GRADIENT.format(decay=0, change=change)))


@pytest.mark.parametrize("change", ["table.weight.grad.mul_(0.5)", "pass"])
def test_a_decay_beside_a_gradient_that_is_scaled_as_a_whole_is_not(change: str) -> None:
    answer = asked(MASKED_GRADIENT.format(decay=0.01, change=change))
    assert "moves every entry" not in str(answer)


# --- masks ------------------------------------------------------------------------------------------

ATTENTION = (
    HEAD
    + """
q, k, v, head = (nn.Linear(4, 4) for _ in range(4))
x = torch.randn(2, 6, 4)
fill = {fill}
mask = torch.zeros(6, 6).bool()
mask[{rows}] = True
scores = q(x) @ k(x).transpose(1, 2)
{masked}
out = head(scores.softmax(-1) @ v(x))
loss = F.cross_entropy(out[:, :4].reshape(-1, 4), torch.randint(4, (8,)))
loss.backward()
"""
)
MASKED = [
    "scores = scores.masked_fill(mask, fill)",
    "scores.masked_fill_(mask, fill)",
    "scores = scores.masked_fill(mask, float('-inf'))",
]


@pytest.mark.parametrize("masked", MASKED)
def test_a_row_that_is_masked_throughout_is_blamed_on_its_mask(masked: str) -> None:
    program = ATTENTION.format(fill="-float('inf')", rows="4:", masked=masked)
    answer = asked(program)
    assert answer.cause == "nan"
    assert line(program, masked) in answer.lines
    assert "-1e9 in the place of the infinity" in answer.mend


def test_plus_infinity_is_blamed_too() -> None:
    program = ATTENTION.format(fill="-float('-inf')", rows=":, 5", masked=MASKED[0])
    answer = asked(program)
    assert answer.cause == "nan"
    assert line(program, MASKED[0]) in answer.lines


def test_a_mask_that_leaves_something_of_each_row_is_fine() -> None:
    program = ATTENTION.format(fill="-float('inf')", rows=":, 5", masked=MASKED[0])
    assert asked(program).cause == "healthy"


# --- parameters made anew, networks frozen in turns -------------------------------------------------

ANEW = NET + LOOP.format(loss="loss = scaled(net(torch.randn(4, 3)))", start="")


def test_a_parameter_that_a_function_makes_within_an_expression_is_told() -> None:
    made = "def scaled(y):\n    return (nn.Parameter(torch.ones(1)).exp() * y).mean()\n"
    program = ANEW.replace("net = nn", f"{made}net = nn", 1)
    answer = asked(program)
    assert (answer.cause, answer.form) == ("not_moved", "made_anew")
    assert line(program, "nn.Parameter") in answer.lines
    assert "scaled" in answer.verdict


TURNS = (
    HEAD
    + """
G, D = nn.Linear(2, 3), nn.Linear(3, 1)
g_opt, d_opt = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (G, D))
for _ in range(2):
    fake = G(torch.randn(4, 2))
    {on}
    d_opt.zero_grad()
    F.softplus(D(fake.detach())).mean().backward()
    d_opt.step()
    D.requires_grad_(False)
    g_opt.zero_grad()
    F.softplus(-D(fake)).mean().backward()
    g_opt.step()
"""
)


def test_what_is_frozen_in_turns_will_not_be_moved_by_its_old_gradient() -> None:
    assert asked(TURNS.format(on="D.requires_grad_(True)")).cause == "healthy"


def test_the_first_backward_of_an_iteration_is_the_one_to_clear_before() -> None:
    program = NET + (
        "for _ in range(3):\n"
        "    real = net(torch.randn(4, 3)).pow(2).mean()\n"
        "    real.backward()\n"
        "    fake = net(torch.randn(4, 3)).abs().mean()\n"
        "    fake.backward()\n"
        "    opt.step()\n"
    )
    assert "before real.backward()" in asked(program).mend
