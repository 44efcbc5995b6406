"""Layers that a forward makes anew are told; what only looks like it is left alone."""

from __future__ import annotations

import pytest
from test_symptom import asked

HEAD = "import torch\nfrom torch import nn\nx = torch.ones(3, 4)\n"
STEP = """
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
loss = net(x).pow(2).mean()
loss.backward()
opt.step()
"""
FRESH = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 1)
    def forward(self, x):
        hidden = nn.Linear(4, 4)(x).relu()
        return self.head(hidden)
"""
ALONE = {
    "made once": FRESH.replace(
        "self.head =", "self.hidden = nn.Linear(4, 4)\n        self.head ="
    ).replace("nn.Linear(4, 4)(x)", "self.hidden(x)"),
    "made by the first forward and kept": FRESH.replace(
        "        hidden = nn.Linear(4, 4)(x)",
        "        if not hasattr(self, 'hidden'):\n"
        "            self.hidden = nn.Linear(4, 4)\n        hidden = self.hidden(x)",
    ),
    "without parameters": FRESH.replace("nn.Linear(4, 4)(x)", "nn.Dropout(0.5)(x)"),
    "for its values alone": FRESH.replace("(x).relu()", "(x).relu().detach()"),
}


def test_layers_made_anew_are_told_with_their_line() -> None:
    told = asked(HEAD + FRESH + STEP)
    assert (told.cause, told.form) == ("not_moved", "made_in_forward")
    lines = (HEAD + FRESH).splitlines()
    assert told.lines == (next(i for i, line in enumerate(lines, 1) if "hidden =" in line),)
    assert "Each forward of net makes nn.Linear(4, 4)(x) anew" in told.verdict


@pytest.mark.parametrize("program", ALONE.values(), ids=ALONE.keys())
def test_what_is_kept_or_gets_no_gradient_is_left_alone(program: str) -> None:
    assert asked(HEAD + program + STEP).form != "made_in_forward"


def test_a_model_that_a_function_made_for_itself_is_left_alone() -> None:
    local = """
def run():
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
    loss = net(x).pow(2).mean()
    loss.backward()
    return loss
loss = run()
"""
    assert asked(HEAD + local).form != "made_in_forward"


def test_layers_in_a_plain_list_have_an_answer_of_their_own() -> None:
    listed = FRESH.replace(
        "self.head =", "self.layers = [nn.Linear(4, 4)]\n        self.head ="
    ).replace("nn.Linear(4, 4)(x)", "self.layers[0](x)")
    assert asked(HEAD + listed + STEP).form == "in_list"


WRAPPED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 1, bias=False)
        self.mask = torch.tensor([1.0, 0.0, 1.0, 1.0])
    def forward(self, x):
        self._masked()
        return self.head(x)
    def _masked(self):
        with torch.no_grad():
            self.head.weight = nn.Parameter(self.head.weight * self.mask)
"""
IN_PLACE = WRAPPED.replace(
    "self.head.weight = nn.Parameter(self.head.weight * self.mask)",
    "self.head.weight.mul_(self.mask)",
)
WRAPPED_ONCE = (
    WRAPPED.replace("        self._masked()\n", "")
    .replace("        self.mask = ", "        self.ready = False\n        self.mask = ")
    .replace(
        "return self.head(x)",
        "if not self.ready:\n            self._masked()\n        return self.head(x)",
    )
    .replace("    def _masked(self):", "    def _masked(self):\n        self.ready = True")
)


def test_a_parameter_made_by_what_forward_calls_is_told_as_made_in_each_forward() -> None:
    told = asked(HEAD + WRAPPED + STEP)
    assert (told.cause, told.form) == ("not_moved", "wrapped_again")
    lines = (HEAD + WRAPPED).splitlines()
    assert told.lines == (next(i for i, one in enumerate(lines, 1) if "nn.Parameter(" in one),)
    assert asked(HEAD + IN_PLACE + STEP).cause != "not_moved"


@pytest.mark.parametrize("program", [IN_PLACE, WRAPPED_ONCE], ids=["in place", "once"])
def test_what_is_written_or_made_once_is_not_told_as_made_in_each_forward(program: str) -> None:
    assert asked(HEAD + program + STEP).form != "wrapped_again"
