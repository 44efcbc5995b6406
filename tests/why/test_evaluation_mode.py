"""What ``eval()`` and ``train()`` do and do not do: a part in evaluation mode whose weights move, and
a network at rest whose running statistics move. Each has programs that are alike, and in which it
is not told."""

from __future__ import annotations

import pytest
from test_account import HEAD, line
from test_symptom import asked

# --- a part that is put into evaluation mode ------------------------------------------------------

PART = (
    HEAD
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
        self.head = nn.Linear(4, 2)
    def forward(self, x):
        return self.head(self.base(x).relu())
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)  # holds all
x, y = torch.randn(8, 3), torch.randint(2, (8,))
before = net.base[0].weight.detach().clone()
for _ in range(3):
    net.train()
    {switch}
    opt.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
"""
)
FREEZES = "freezes nothing"


def test_eval_of_a_part_that_moves_all_the_same_is_told() -> None:
    program = PART.format(switch="net.base.eval()")
    answer = asked(program)
    assert answer.is_observed
    assert answer.verdict.startswith("net.base.eval()")
    assert FREEZES in answer.verdict
    assert {line(program, "net.base.eval()"), line(program, "# holds all")} <= set(answer.lines)
    # torch agrees: only with what is said there it stands still
    mended = program.replace("for _ in", "net.base.requires_grad_(False)\nfor _ in")
    assert FREEZES not in str(asked(mended))
    for code, stands_still in ((program, False), (mended, True)):
        names: dict[str, object] = {}
        exec(code, names)
        weight = names["net"].base[0].weight  # type: ignore[attr-defined]
        assert bool((weight == names["before"]).all()) is stands_still


@pytest.mark.parametrize(
    "switch",
    [
        "net.base[1].eval()",
        "net.eval(); net.train()",
        "_ = net.base.eval(); net.base.train()",
        "net.base.requires_grad_(False).eval()",
    ],
    ids=["a norm alone", "the whole", "back again", "frozen as well"],
)
def test_where_eval_is_about_something_else_nothing_is_said_to_freeze(switch: str) -> None:
    assert FREEZES not in str(asked(PART.format(switch=switch)))


def test_a_validation_between_two_epochs_is_left_alone() -> None:
    program = PART.format(switch="").replace(
        "    opt.step()\n",
        "    opt.step()\n    net.base.eval()\n    with torch.no_grad(): net.base(x)\n",
    )
    assert FREEZES not in str(asked(program))


THROUGH_A_METHOD = (
    HEAD
    + """
class Tail(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)
    def features(self, x):
        return self.last(self.norm(self.first(x)).relu())
    def forward(self, x):
        return self.features(x)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.tail = Tail()
    def forward(self, x):
        return self.tail.features(x)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(8, 3), torch.randint(2, (8,))
for _ in range(3):
    {switch}
    opt.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
"""
)


def test_an_eval_after_the_last_step_was_not_to_freeze() -> None:
    """What a method of a part runs is trained; as a module it runs in the end alone."""
    at_the_end = "net.tail.eval()\nwith torch.no_grad(): net.tail(x)\n"
    answer = asked(THROUGH_A_METHOD.format(switch="pass") + at_the_end)
    assert "6 of 6 trainable" in answer.verdict
    assert FREEZES not in str(answer)
    first = "net.tail.eval()\n    with torch.no_grad(): net.tail(x)"
    assert "net.tail.{first,norm,last}.{weight,bias} all the same" in " ".join(
        str(asked(THROUGH_A_METHOD.format(switch=first))).split()
    )


BESIDE = """
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 4)
    def features(self, x):
        return self.layer(x).relu()
    def forward(self, x):
        return self.features(x)
encoder, head = Encoder(), nn.Linear(4, 2)
opt = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
x, y = torch.randn(8, 3), torch.randint(2, (8,))
{before}
for _ in range(3):
    opt.zero_grad()
    loss = F.cross_entropy(head(encoder{call}(x)), y)
    loss.backward()
    opt.step()
{after}
"""
CHECKED = "encoder.eval()\nwith torch.no_grad(): print(head(encoder(x)))"
ALONE = "ran in eval mode alone"


def test_a_network_beside_another_ran_in_eval_mode_alone_or_was_checked_in_the_end() -> None:
    told = HEAD + BESIDE.format(before="encoder.eval()", call="", after="")
    assert ALONE in str(asked(told))
    checked = HEAD + BESIDE.format(before="", call=".features", after=CHECKED)
    assert ALONE not in str(asked(checked))


# --- the statistics of a network that stands still ------------------------------------------------

TEACHER = (
    HEAD
    + """
import copy
student = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.requires_grad = False
opt = torch.optim.SGD(student.parameters(), lr=0.1)
mean = teacher[1].running_mean.clone()
for _ in range(3):
    student.train()
    {mode}
    x = torch.randn(8, 3) + 2
    with torch.no_grad():
        target = (teacher(x) > 0).float()
    loss = F.binary_cross_entropy_with_logits(student(x), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
{then}"""
)
MOVES = "does not stay the same"


@pytest.mark.parametrize("mode", ["teacher.train()", "pass"])
def test_a_teacher_whose_statistics_move_is_told(mode: str) -> None:
    program = TEACHER.format(mode=mode, then="")
    answer = asked(program)
    assert answer.is_observed
    assert answer.verdict.startswith("No step moves teacher")
    assert MOVES in answer.verdict
    if mode == "teacher.train()":
        assert line(program, mode) in answer.lines
    mended = program.replace(f"    {mode}\n", "    teacher.eval()\n")
    assert MOVES not in str(asked(mended))
    # torch agrees
    for code, stays in ((program, False), (mended, True)):
        names: dict[str, object] = {}
        exec(code, names)
        assert bool((names["teacher"][1].running_mean == names["mean"]).all()) is stays  # type: ignore[index]


AVERAGE = """    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.mul_(0.9).add_(0.1 * s)
"""


def test_a_teacher_that_follows_as_an_average_is_left_alone() -> None:
    assert MOVES not in str(asked(TEACHER.format(mode="teacher.train()", then=AVERAGE)))


def test_what_is_frozen_for_a_while_and_stepped_is_left_alone() -> None:
    program = TEACHER.format(mode="teacher.train()", then="").replace(
        "opt = ",
        "first = torch.optim.SGD(teacher.parameters(), lr=0.1)\nteacher.requires_grad_(True)\n"
        "teacher(torch.randn(8, 3)).sum().backward()\nfirst.step()\nteacher.requires_grad_(False)\nopt = ",
    )
    assert MOVES not in str(asked(program))
