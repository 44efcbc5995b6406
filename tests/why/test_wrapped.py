"""``nn.Parameter(…)`` of what was computed, and parameters that a forward makes anew: told at the
line that wraps; what borrows values, or is sought, is left alone."""

from __future__ import annotations

import pytest
from test_symptom import asked

# what torch warns of is not what is tested
pytestmark = pytest.mark.filterwarnings("ignore")

FILTER = """
class Filter(nn.Module):
    def __init__(self):
        super().__init__()
        {made}
    def forward(self, x):
        {anew}
        return nn.functional.conv1d(x, {kernel})
model = Filter()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(4, 1, 10), torch.randn(4, 1, 8)
for step in range(4):
    opt.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    opt.step()
"""
NUMBERS = "self.a = nn.Parameter(torch.tensor(0.5)); self.b = nn.Parameter(torch.tensor(0.2))"
STACKED = "torch.stack([self.a, self.b, self.a]).view(1, 1, 3)"
COPIED = "torch.tensor([[[self.a, self.b, self.a]]])"


def program(made: str, kernel: str, anew: str = "pass") -> str:
    made, anew = (part.replace("; ", "\n        ") for part in (made, anew))
    return FILTER.format(made=made, kernel=kernel, anew=anew)


@pytest.mark.parametrize("value", [STACKED, COPIED])
@pytest.mark.parametrize("in_init", [True, False])
def test_what_a_parameter_was_made_of_is_told_at_the_line_that_wraps(
    value: str, in_init: bool
) -> None:
    wraps = f"self.kernel = nn.Parameter({value})"
    text = program(f"{NUMBERS}; {wraps}", "self.kernel")
    if not in_init:
        text = program(NUMBERS, "kernel", wraps.replace("self.kernel", "kernel"))
    answer = asked(text + "print(model.a.grad)\n")
    assert (answer.cause, answer.is_observed) == ("cut", False)
    assert answer.form in ("in_a_parameter", "made_a_leaf")
    line = next(i for i, row in enumerate(text.splitlines(), 1) if f"nn.Parameter({value})" in row)
    assert line in answer.lines


def test_a_statement_that_did_not_run_is_not_told() -> None:
    """As of a switch that is off."""
    wraps = (
        f"kernel = {STACKED}; kernel = nn.Parameter(kernel) if self.wraps else torch.ones(1, 1, 3)"
    )
    answer = asked(program(f"{NUMBERS}; self.wraps = False", "kernel", wraps))
    assert "nn.Parameter(kernel)" not in str(answer)


def test_numbers_that_are_gone_are_named_beside_the_parameter() -> None:
    made = f"{NUMBERS.replace('self.', '')}; kernel = {COPIED.replace('self.', '')}"
    text = program(f"{made}; self.kernel = nn.Parameter(kernel)", "self.kernel")
    answer = asked(text)
    told = " ".join(str(answer).split())
    assert "no gradient comes to what kernel = torch.tensor([[[a, b, a]]]) reads" in told


@pytest.mark.parametrize(
    ("made", "kernel", "anew"),
    [
        (NUMBERS, STACKED, "pass"),
        ("self.kernel = nn.Parameter(torch.tensor([[[0.5, 0.2, 0.5]]]))", "self.kernel", "pass"),
        ("self.kernel = nn.Parameter(nn.Conv1d(1, 1, 3).weight)", "self.kernel", "pass"),
        ("self.kernel = nn.Parameter(torch.randn(1, 1, 3) / 3)", "self.kernel", "pass"),
        ("first = nn.Conv1d(1, 1, 3); self.k = nn.Parameter(first.weight * 0.1)", "self.k", "pass"),
    ],
)
def test_values_that_are_only_borrowed_are_left_alone(made: str, kernel: str, anew: str) -> None:
    answer = asked(program(made, kernel, anew))
    assert (answer.cause, "values alone" in str(answer)) == ("healthy", False)


GATED = """
{helper}
class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.w = nn.Linear(4, 4), {first}
    def forward(self, x):
        {makes}
        return self.fc(x) * {gate}
model = nn.Sequential(Gate())
{before}
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(8, 4), torch.randn(8, 4)
for step in range(4):
    opt.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    opt.step()
"""
HELPER = """
def scaled(x):
    scale = nn.Parameter(torch.ones(4))
    return x * scale
"""


def gated(makes: str, gate: str, *, helper: str = "", first: str = "None", before: str = "") -> str:
    return GATED.format(makes=makes, gate=gate, helper=helper, first=first, before=before)


ANEW = {
    "an attribute": (gated("self.w = nn.Parameter(torch.ones(4))", "self.w"), "made_anew"),
    "written first": (
        gated("w = nn.Parameter(torch.ones(4)); nn.init.normal_(w)", "w"),
        "made_anew",
    ),
    "in a function": (gated("x = scaled(x)", "1", helper=HELPER), "made_anew_in_function"),
}


@pytest.mark.parametrize(("text", "form"), ANEW.values(), ids=ANEW.keys())
def test_a_parameter_that_each_forward_makes_is_told_at_its_line(text: str, form: str) -> None:
    answer = asked(text)
    assert (answer.cause, answer.form) == ("not_moved", form)
    line = next(i for i, row in enumerate(text.splitlines(), 1) if "nn.Parameter(" in row)
    assert answer.lines == (line,)


LAYERS = """
class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.reset()
    def reset(self):
        self.w = nn.Parameter(torch.ones(4))
    def forward(self, x):
        return x * self.w
def run():
    model = nn.Sequential(Gate(), Gate(), nn.Linear(4, 4))
    loss = model(torch.randn(8, 4)).square().mean()
    loss.backward()
    return model, loss
"""


@pytest.mark.parametrize("last", ["model, loss = run()", "_, loss = run()"])
def test_layers_that_a_method_gives_their_weights_are_left_alone(last: str) -> None:
    step = "\nnet = nn.Linear(2, 1)\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
    step += "net(torch.ones(1, 2)).sum().backward()\nopt.step()\n"
    assert "made_anew" not in asked(LAYERS + last + step).form


LAZY = "if self.w is None: self.w = nn.Parameter(torch.ones(4))"
SOUGHT = (
    "w = nn.Parameter(torch.ones(4)); torch.autograd.grad((self.fc(x) * w).sum(), w)",
    "w.detach()",
)


@pytest.mark.parametrize(
    "text",
    [
        gated("pass", "self.w", first="nn.Parameter(torch.ones(4))"),
        gated(LAZY, "self.w", before="model(torch.randn(8, 4))"),
        gated(*SOUGHT),
        gated("w = nn.Parameter(torch.ones(4), requires_grad=False)", "w"),
    ],
    ids=["made once", "by the first forward", "sought", "asking for nothing"],
)
def test_what_is_made_once_or_sought_is_left_alone(text: str) -> None:
    assert asked(text).cause == "healthy"
