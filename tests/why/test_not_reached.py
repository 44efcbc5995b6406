"""What was meant to happen and never did is told: a step under a condition that was never met, a
loop that gives its own variable another object, a write that autograd did not see, a where() behind
an overflow. What only looks like it is left alone."""

from __future__ import annotations

import pytest
from test_account import HEAD, NET, line
from test_symptom import asked, ran

import gradviz as gv

pytestmark = pytest.mark.dear(25)

# --- a step under a condition that is never met ---------------------------------------------------

WAITING = (
    NET
    + """
def train(n):
    for i in range(n):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        if {condition}:
            opt.step()
            {beside}
train({n})
"""
)


@pytest.mark.parametrize("condition", ["(i + 1) % 8 == 0", "i == 99", "not (i + 1) % 8"])
@pytest.mark.parametrize("beside", ["opt.zero_grad()", "net.zero_grad()"])
def test_a_step_whose_condition_was_never_met_is_told(condition: str, beside: str) -> None:
    program = WAITING.format(condition=condition, beside=beside, n=4)
    answer = asked(program)
    assert (answer.cause, answer.form) == ("not_moved", "step_not_reached")
    assert line(program, "opt.step()") in answer.lines
    assert "though 4 backwards brought gradients" in answer.verdict
    assert condition in str(answer)


def test_a_scheduler_beside_the_step_changes_nothing() -> None:
    program = WAITING.format(condition="(i + 1) % 8 == 0", beside="sched.step()", n=4)
    head = "sched = torch.optim.lr_scheduler.StepLR(opt, 1)\ndef train"
    assert asked(program.replace("def train", head)).form == "step_not_reached"


@pytest.mark.parametrize(
    ("condition", "n"), [("(i + 1) % 2 == 0", 4), ("i == 3", 4), ("i == 9", 1), ("True", 3)]
)
def test_a_step_that_ran_or_a_single_backward_is_left_alone(condition: str, n: int) -> None:
    answer = asked(WAITING.format(condition=condition, beside="opt.zero_grad()", n=n))
    assert answer.form != "step_not_reached"


# --- a loop that gives its own variable another object --------------------------------------------

COPIES = (
    NET
    + """
twin = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
fast = [p.detach().clone().requires_grad_() for p in net.parameters()]
def put():
    for p, q in zip({into}, {source}):
        {statement}
put()
loss = F.cross_entropy(net(x), y)
{after}
"""
)


@pytest.mark.parametrize("statement", ["p = q", "p = q.clone()"])
def test_a_loop_that_only_rebinds_its_variable_is_observed(statement: str) -> None:
    program = COPIES.format(
        into="net.parameters()",
        source="twin.parameters()",
        statement=statement,
        after="loss.backward()\nopt.step()",
    )
    answer = asked(program)
    assert "only gives the variable p of the loop another object" in str(answer)
    assert line(program, f"        {statement}") in answer.lines


@pytest.mark.parametrize(
    "statement",
    [
        "p.data = q.data",
        "p = q\n        print(p.shape)",
        "p = q; print(p.shape)",
        "while p.dim() < 3:\n            p = p.unsqueeze(0)",
        "p.data.copy_(q)",
        "r = q",
    ],
)
def test_loops_that_write_or_read_are_not(statement: str) -> None:
    program = COPIES.format(
        into="net.parameters()",
        source="twin.parameters()",
        statement=statement,
        after="loss.backward()\nopt.step()",
    )
    assert "of the loop another object" not in str(asked(program))


def test_an_input_that_a_loop_was_to_put_into_the_model_is_told() -> None:
    program = COPIES.format(
        into="net.parameters()",
        source="fast",
        statement="p = q",
        after="torch.autograd.grad(loss, fast)",
    )
    recording, error, names = ran(program)
    answer = gv.explain(recording=recording, error=error, names=names)
    assert (answer.cause, answer.form) == ("unused_input", "loop_name")
    assert line(program, "        p = q") in answer.lines


def test_the_call_that_it_names_mends_it() -> None:
    program = COPIES.format(
        into="net.parameters()",
        source="fast",
        statement="p = q",
        after="torch.autograd.grad(loss, fast)",
    ).replace("put()\nloss", "names = [n for n, _ in net.named_parameters()]\nloss")
    call = "torch.func.functional_call(net, dict(zip(names, fast)), x)"
    assert ran(program)[1] is not None
    assert ran(program.replace("net(x), y)\n", f"{call}, y)\n"))[1] is None


# --- written past autograd, where nothing showed it -----------------------------------------------

PAST = (
    NET
    + """
def scaled(h):
    h = h + 1
    {write}
    return h
loss = scaled(net(x)).pow(2).mean()
loss.backward()
opt.step()
"""
)


@pytest.mark.parametrize(
    "write",
    [
        "h.data *= 0.1",
        "h[0].data *= 0.1",
        "h.data.clamp_(max=0.5)",
        "h.data[:, 0] = 0",
        "h.detach().mul_(2)",
    ],
)
def test_a_large_result_that_was_written_past_autograd_is_told(write: str) -> None:
    program = PAST.format(write=write)
    answer = asked(program)
    assert (answer.cause, answer.form) == ("changed_before_read", "past_autograd")
    assert line(program, write) in answer.lines


@pytest.mark.parametrize(
    "write", ["h *= 0.1", "h.data.clone().mul_(2)", "h = h.detach() * 2 + h", "h.data.mean()"]
)
def test_a_result_that_was_not_is_left_alone(write: str) -> None:
    assert asked(PAST.format(write=write)).cause != "changed_before_read"


def test_a_mask_before_a_softmax_sends_zeros_by_itself() -> None:
    program = PAST.format(write="h.data.masked_fill_(h > 1, -1e9)")
    program = program.replace("scaled(net(x))", "torch.softmax(scaled(net(x)), 1)")
    assert asked(program).cause != "changed_before_read"


# --- a choice behind what is not finite -----------------------------------------------------------


@pytest.mark.parametrize("chain", ["exp.log1p()", "(exp * 1).log1p()", "exp"])
def test_the_choice_that_sends_a_zero_is_found_behind_other_calls(chain: str) -> None:
    program = f"""
import torch
x = torch.tensor([0.0, 1.0, 100.0], requires_grad=True)
exp = x.exp()
y = x.where(torch.isinf(exp), {chain})
y.sum().backward()
"""
    answer = asked(program)
    assert answer.cause == "nan"
    assert "where() leaves out" in answer.mend


def test_an_overflow_that_nothing_masks_has_the_other_mend() -> None:
    program = """
import torch
x = torch.tensor([0.0, 1.0, 100.0], requires_grad=True)
y = (x.exp() * torch.tensor([1.0, 1.0, 0.0])).log1p()
y.sum().backward()
"""
    assert "where() leaves out" not in asked(program).mend


# --- shapes, and a softmax behind a logarithm -----------------------------------------------------

ROWS = (
    HEAD
    + """
x, head, target = torch.randn(8, 3), nn.Linear(3, 1), torch.randn({shape})
loss = {loss}
loss.backward()
"""
)


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("loss", ["F.mse_loss(head(x), target)", "F.l1_loss(head(x), target)"])
def test_a_batch_that_is_compared_with_one_row_is_observed(loss: str) -> None:
    program = ROWS.format(shape="1, 1", loss=loss)
    assert "rows with the same target" in str(asked(program))


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize(
    ("shape", "loss"),
    [
        ("8, 1", "F.mse_loss(head(x), target)"),
        ("1", "F.mse_loss(head(x), target)"),
        ("1, 1", "(head(x) - target).pow(2).mean()"),
        ("1, 1", "F.mse_loss(head(x[:1]), target)"),
    ],
)
def test_other_targets_are_not(shape: str, loss: str) -> None:
    assert "with the same target" not in str(asked(ROWS.format(shape=shape, loss=loss)))


@pytest.mark.parametrize("kept", ["p + 1e-8", "p.clamp(min=1e-8)", "p"])
@pytest.mark.parametrize(("dim", "is_told"), [(0, True), (1, False)])
def test_a_softmax_over_the_batch_is_seen_behind_the_logarithm(
    kept: str, dim: int, is_told: bool
) -> None:
    program = (
        NET
        + f"""
p = F.softmax(net(x), dim={dim})
loss = F.nll_loss(torch.log({kept}), y)
loss.backward()
opt.step()
"""
    )
    assert ("takes softmax over dimension 0" in str(asked(program))) == is_told


# --- a fake that was not detached -----------------------------------------------------------------

GAN = (
    HEAD
    + """
g, d = nn.Linear(3, 4), nn.Linear(4, 1)
g_opt, d_opt = (torch.optim.SGD(net.parameters(), lr=0.1) for net in (g, d))
z, real = torch.randn(8, 3), torch.randn(8, 4)
fake = g(z)
d_real = F.softplus(-d(real)).mean()
d_real.backward()
d_fake = F.softplus(d({fake})).mean()
d_fake.backward()
{clear}
g_loss = (g(z) - real).pow(2).mean()
g_loss.backward()
g_opt.step()
d_opt.step()
"""
)


def test_a_fake_that_was_not_detached_is_told_with_both_sums() -> None:
    answer = asked(GAN.format(fake="fake", clear=""))
    assert (answer.cause, answer.form) == ("extra_gradient", "added_to_three")
    assert "fake.detach()" in answer.mend


@pytest.mark.parametrize(("fake", "clear"), [("fake.detach()", ""), ("fake", "g_opt.zero_grad()")])
def test_one_that_was_or_whose_gradients_were_cleared_is_not(fake: str, clear: str) -> None:
    assert asked(GAN.format(fake=fake, clear=clear)).form != "added_to_three"


# --- a number that was taken out of a parameter ---------------------------------------------------

TAKEN = (
    HEAD
    + """
class Scaled(nn.Module):
    def __init__(self, scale=1.0):
        super().__init__()
        self.scale = scale
    def forward(self, x):
        return x * self.scale
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.tensor(2.0))  # made
        self.fc = nn.Linear(3, 2)
        {handed}
    def forward(self, x):
        return self.last(self.fc(x))
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    F.cross_entropy(net(torch.randn(8, 3)), torch.randint(2, (8,))).backward()
    opt.step()
"""
)


@pytest.mark.parametrize(
    ("taken", "mended"),
    [
        ("self.last = Scaled(self.gain.item())", "self.last = Scaled(self.gain)"),
        (
            "self.last = Scaled(scale=float(self.gain.detach()))",
            "self.last = Scaled(scale=self.gain)",
        ),
    ],
)
def test_a_number_that_is_handed_on_in_place_of_a_parameter_is_told(
    taken: str, mended: str
) -> None:
    program = TAKEN.format(handed=taken)
    answer = asked(program)
    assert (answer.cause, answer.form) == ("branch_not_taken", "taken_out")
    assert answer.lines == (line(program, taken),)
    assert asked(TAKEN.format(handed=mended)).cause == "healthy"


@pytest.mark.parametrize(
    "shown", ["print(self.gain.item())", "name = f'{self.gain.item()}'"], ids=["print", "text"]
)
def test_a_number_that_is_only_shown_is_not_blamed(shown: str) -> None:
    answer = asked(TAKEN.format(handed=f"self.last = Scaled(2.0); {shown}"))
    assert (answer.cause, answer.form) == ("branch_not_taken", "not_read")
    assert line(TAKEN.format(handed=""), "# made") in answer.lines
