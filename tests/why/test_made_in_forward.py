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
