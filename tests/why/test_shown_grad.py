"""A ``.grad`` that a program shows, and that is None or zero, is what is asked: it leads before a
fault that nobody asked about, and only there."""

from __future__ import annotations

import pytest
from test_symptom import asked

# what torch warns of is not what is tested
pytestmark = pytest.mark.filterwarnings("ignore")

TRAINED = """
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3), nn.Sigmoid())
x, y = torch.randn(32, 4), torch.randint(0, 3, (32,))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def train():
    for epoch in range(4):
        pred = net(x)
        loss = nn.functional.cross_entropy(pred, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        {look}
train()
"""
BESIDE_A_SNAPSHOT = """
net, gate = nn.Linear(3, 1), torch.tensor(0.7, requires_grad=True)
opt = torch.optim.SGD([*net.parameters(), gate], lr=0.1)
best = net.state_dict()
for epoch in range(4):
    loss = (net(torch.randn(8, 3)) {gated}).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
net.load_state_dict(best)
print(gate.grad)
"""
OF_A_RESULT = [
    "print(pred.grad)",
    "print(f'{pred.grad}')",
    "none = pred.grad is None",
    "if pred.grad is None: print('no gradient')",
    "grad = pred.grad",
]
OF_NOTHING = [
    "if pred.grad is not None: pred.grad.zero_()",
    "if pred.grad is None: pass",
    "norm = 0 if pred.grad is None else pred.grad.norm()",
    "assert pred.grad is None",
    "print(net[0].weight.grad.norm())",
    "pass",
]


@pytest.mark.parametrize("look", OF_A_RESULT)
@pytest.mark.parametrize("is_alive", [True, False])
def test_a_results_grad_leads_before_a_fault_that_nobody_asked_about(
    look: str, is_alive: bool
) -> None:
    look = look + "; globals()['kept'] = pred" if is_alive else look
    answer = asked(TRAINED.format(look=look))
    assert (answer.cause, "Also observed: cross_entropy" in str(answer)) == ("non_leaf", True)
    assert ".retain_grad()" in answer.mend


@pytest.mark.parametrize("look", OF_NOTHING)
def test_what_passes_it_by_asks_nothing(look: str) -> None:
    assert asked(TRAINED.format(look=look)).cause == "not_logits"


@pytest.mark.parametrize(
    ("gated", "cause"), [("* torch.round(gate)", "zero_gradient"), ("", "not_in_loss")]
)
def test_zeros_and_none_of_a_leaf_lead_before_a_snapshot(gated: str, cause: str) -> None:
    assert asked(BESIDE_A_SNAPSHOT.format(gated=gated)).cause == cause


def test_a_gradient_that_is_there_does_not() -> None:
    assert asked(BESIDE_A_SNAPSHOT.format(gated="* gate")).cause == "shared_snapshot"


SET_BY_HAND = """
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def moved(w, x):
    fast = w * 1.0
    {given}
    return x @ (LOOK).t()
for step in range(3):
    loss = moved(net.weight, torch.randn(8, 3)).square().mean() + net.bias.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize("look", ["fast - 0.1 * fast.grad", "fast - fast.grad.clone()"])
def test_a_results_grad_that_the_program_sets_and_reckons_with_is_there(look: str) -> None:
    program = SET_BY_HAND.format(given="fast.grad = torch.ones_like(fast)")
    told = asked(program.replace("LOOK", look))
    assert told.cause not in ("non_leaf", "rebound", "made_non_leaf"), told
    # twins: it is None where it is only looked at, and what raises for that is told so
    program = SET_BY_HAND.format(given="print(f'{fast.grad}')")
    assert asked(program.replace("LOOK", "fast")).cause == "non_leaf"
