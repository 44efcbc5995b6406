"""A silent fault is told with the same cause at the same line, whether it stands in a script, in the
methods of a class or in a loop of 200 steps."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest
from sampling import sampled
from test_symptom import asked

from gradviz.why.shown.explanation import Explanation

HEAD = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n"
STEPS = 200
TRAIN = "@opt.zero_grad()\nloss.backward()\n@opt.step()\n"
MADE = """
@net = nn.Sequential(nn.Linear(4, 3), nn.{layer}, nn.Linear(3, 2))
@opt = torch.optim.SGD(@net.parameters(), lr=0.01)
@x, @y = torch.randn(6, 4), torch.tensor([0, 1, 0, 1, 0, 1])
"""
PLAIN = MADE.format(layer="Tanh()")
TWO = """
@body, @head = nn.Linear(4, 3), nn.Linear(3, 2)
@opt = torch.optim.SGD([*@body.parameters(), *@head.parameters()], lr=0.01)
@x, @y = torch.randn(6, 4), torch.tensor([0, 1, 0, 1, 0, 1])
"""
LOSS = "loss = F.cross_entropy(@net(@x), @y)\n"
# what is made once, and a step; @ stands before what outlives a step
FAULTS = {
    "detach": (TWO, "h = @body(@x).detach()\nloss = F.cross_entropy(@head(h), @y)\n" + TRAIN),
    "no_grad": (
        TWO,
        "with torch.no_grad():\n    h = @body(@x)\nloss = F.cross_entropy(@head(h), @y)\n" + TRAIN,
    ),
    "softmax twice": (
        PLAIN,
        "p = @net(@x).softmax(1)\nloss = F.cross_entropy(p, @y)\n" + TRAIN,
    ),
    "a number in the loss": (
        PLAIN,
        "size = @net[0].weight.pow(2).sum().item()\n"
        "fit = F.cross_entropy(@net(@x), @y)\nloss = fit + size\n" + TRAIN,
    ),
    "a part is dropped": (
        PLAIN,
        "loss = F.cross_entropy(@net(@x), @y)\nsize = @net[0].weight.pow(2).sum()\n"
        "total = loss + size\n" + TRAIN,
    ),
    "eval mode": (MADE.format(layer="Dropout(0.5)") + "@net.eval()\n", LOSS + TRAIN),
    "a flag of a module": (PLAIN + "@net[0].requires_grad = False\n", LOSS + TRAIN),
    "statistics of a frozen norm": (
        MADE.format(layer="BatchNorm1d(3)") + "@net[1].requires_grad_(False)\n",
        LOSS + TRAIN,
    ),
    "a head that the optimizer lacks": (
        PLAIN + "@opt = torch.optim.SGD(@net[0].parameters(), lr=0.01)\n",
        LOSS + TRAIN,
    ),
    "clipped too late": (
        PLAIN,
        LOSS + TRAIN + "nn.utils.clip_grad_norm_(@net.parameters(), 1e-3)\n",
    ),
    "softmax over one": (
        PLAIN,
        "p = @net(@x)[:, :1].softmax(1)\nloss = (p - 2).pow(2).mean()\n" + TRAIN,
    ),
}


def script(made: str, step: str) -> str:
    return HEAD + (made + step).replace("@", "")


def loop(made: str, step: str) -> str:
    body = textwrap.indent(step, "    ")
    return HEAD + (made + f"for _ in range({STEPS}):\n" + body).replace("@", "")


def methods(made: str, step: str) -> str:
    made, step = (textwrap.indent(text.replace("@", "self."), " " * 8) for text in (made, step))
    begin = "class Trainer:\n    def __init__(self):\n"
    return f"{HEAD}{begin}{made}    def once(self):\n{step}trainer = Trainer()\ntrainer.once()\n"


def places(answer: Explanation, program: str) -> list[str]:
    """Return what stands in the lines that an answer points at."""
    lines = program.splitlines()
    return sorted({lines[n - 1].strip().replace("self.", "") for n in answer.lines})


CASES = [(fault, methods) for fault in FAULTS]
CASES += [(fault, loop) for fault in sampled([*FAULTS], 2)]


@pytest.mark.parametrize(("fault", "shaped"), CASES)
def test_the_cause_and_its_lines_are_those_of_the_script(
    fault: str, shaped: Callable[[str, str], str]
) -> None:
    plain, other = script(*FAULTS[fault]), shaped(*FAULTS[fault])
    expected, told = asked(plain), asked(other)
    assert expected.cause.level.name in ("SUSPECT", "FAULT", "NOTE"), str(expected)
    assert (told.cause, told.form) == (expected.cause, expected.form), f"{expected}\n{told}"
    assert places(told, other) == places(expected, plain), f"{expected}\n{told}"
