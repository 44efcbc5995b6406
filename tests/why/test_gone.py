"""What a function made and trained is gone when it has returned, as after ``main()``: the answer is
that of a script all the same."""

from __future__ import annotations

import textwrap

import pytest
import torch
from test_same_everywhere import FAULTS, places, script
from test_symptom import asked

import gradviz as gv

HEAD = "import copy\nimport torch\nfrom torch import nn\nfrom torch.nn import functional as F\n"
# gradients that come and are wanted by nobody, or a mode, a flag, a statistic of what is gone
NEEDS_LIVING = {
    "eval mode",
    "a flag of a module",
    "statistics of a frozen norm",
    "softmax twice",
    "clipped too late",
}
NETS = """
def net():
    return nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
x, y = torch.ones(4, 2), torch.ones(4, 1)
"""


def in_main(program: str) -> str:
    """Return a program, all of it in a function that is called once."""
    imports = [line for line in program.splitlines() if line.startswith(("import", "from"))]
    rest = "\n".join(line for line in program.splitlines() if line not in imports)
    body = textwrap.indent(rest, "    ")
    return "\n".join([*imports, f"def main():\n{body}\nmain()\n"])


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault not in NEEDS_LIVING])
def test_a_fault_is_told_when_all_is_gone(fault: str) -> None:
    plain = script(*FAULTS[fault])
    program = in_main(plain)
    expected, told = asked(plain), asked(program)
    assert told.cause == expected.cause, f"{expected}\n{told}"
    wanted, found = {*places(expected, plain)}, {*places(told, program)}
    assert wanted & found or not wanted | found, f"{expected}\n{told}"


STEP = "loss = F.mse_loss({out}, y)\n{opt}.zero_grad()\nloss.backward()\n{opt}.step()\n"
OF_MODEL = STEP.format(out="model(x)", opt="opt")
LEFT = f"""{NETS}
model = net()
opt = torch.optim.SGD(model[0].parameters(), lr=0.1)
{OF_MODEL}"""
COPIED = f"""{NETS}
model = net()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
model = copy.deepcopy(model)
{OF_MODEL}"""
TWICE = f"""{NETS}
policy, value = net(), net()
opt = torch.optim.SGD(policy.parameters(), lr=0.1)
value_opt = torch.optim.SGD(policy.parameters(), lr=0.1)
{STEP.format(out="policy(x)", opt="opt")}{STEP.format(out="value(x)", opt="value_opt")}"""
LISTED = f"""{NETS}
class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.heads = nn.Linear(2, 2), [net(), net()]
    def forward(self, x):
        return sum(head(self.body(x)) for head in self.heads)
model = Heads()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
{OF_MODEL}"""


@pytest.mark.parametrize(
    ("program", "form", "old", "new"),
    [
        (LEFT, "gone_some", "model[0].parameters()", "model.parameters()"),
        (
            COPIED,
            "gone_others",
            "model = copy.deepcopy(model)\n",
            "model = copy.deepcopy(model)\nopt = torch.optim.SGD(model.parameters(), lr=0.1)\n",
        ),
        (
            TWICE,
            "gone_twice",
            "value_opt = torch.optim.SGD(policy",
            "value_opt = torch.optim.SGD(value",
        ),
        (LISTED, "gone_inside", "[net(), net()]", "nn.ModuleList([net(), net()])"),
    ],
)
def test_what_no_step_moved_is_told_and_mended(program: str, form: str, old: str, new: str) -> None:
    told = asked(HEAD + in_main(program))
    assert told.form == form, str(told)
    assert old in program
    mended = asked(HEAD + in_main(program.replace(old, new)))
    assert mended.cause == "healthy", str(mended)


MEANT = {
    "a frozen backbone": f"""{NETS}
body, model = net(), nn.Linear(1, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
with torch.no_grad():
    h = body(x)
{STEP.format(out="model(h)", opt="opt")}""",
    "a target": f"""{NETS}
model, target = net(), net()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
y = target(x).detach()
{OF_MODEL}""",
    "a step of a discriminator": f"""{NETS}
model, generator = nn.Linear(1, 1), net()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
{STEP.format(out="model(generator(x).detach())", opt="opt")}""",
    "an attack": f"""{NETS}
model = net()
delta = torch.zeros(4, 2, requires_grad=True)
opt = torch.optim.SGD([delta], lr=0.1)
{STEP.format(out="model(x + delta)", opt="opt")}""",
    "two folds": f"""{NETS}
for fold in range(2):
    model = net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
{textwrap.indent(OF_MODEL, " " * 8)}""",
}


@pytest.mark.parametrize("program", MEANT.values(), ids=MEANT.keys())
def test_what_is_meant_is_no_fault_when_it_is_gone(program: str) -> None:
    told = asked(HEAD + in_main(program))
    assert told.cause == "healthy", str(told)


def test_what_optimizers_held_is_known_when_they_are_gone() -> None:
    def train() -> None:
        net = torch.nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        net(torch.ones(1, 2)).sum().backward()
        opt.step()

    with gv.record() as rec:
        train()
    (held,) = rec.held_at_steps()
    assert {t.name for t in rec.graph.tensors if t.object_id in held} == {"net.weight", "net.bias"}


def test_the_first_backward_that_broke_is_blamed_when_all_is_gone() -> None:
    told = asked(
        HEAD
        + in_main(f"""{NETS}
model = net()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    h = model(x)
    loss = (h - h.detach()).pow(2).sum().sqrt()
    opt.zero_grad()
    loss.backward()
    opt.step()
""")
    )
    assert told.cause == "nan"
    assert "sqrt()" in told.where, str(told)
