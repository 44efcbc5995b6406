"""What is told to be computed in the place of a call that takes plain numbers only: torch computes
the same with both, and the gradient comes with one of them alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional

from gradviz.why.code.number_arguments import NUMERIC, number_argument

# calls in which w.item() is the number, one for each formula
CALLS = {
    ("leaky_relu", "negative_slope"): "F.leaky_relu(x, w.item())",
    ("elu", "alpha"): "F.elu(x, alpha=w.item())",
    ("softplus", "beta"): "F.softplus(x, w.item())",
    ("hardtanh", "min_val"): "F.hardtanh(x, -w.item(), 2.0)",
    ("hardtanh", "max_val"): "F.hardtanh(x, max_val=w.item())",
    ("linspace", "start"): "torch.linspace(w.item(), 7, steps=5)",
    ("linspace", "end"): "torch.linspace(-1, w.item(), 5)",
    ("full", "fill_value"): "torch.full((2, 3), w.item())",
    ("full_like", "fill_value"): "torch.full_like(x, fill_value=float(w.detach()))",
    ("add", "alpha"): "torch.add(x, 2 * x, alpha=w.item())",
    ("sub", "alpha"): "torch.sub(x, 2 * x, alpha=float(w.detach()))",
}
FORMULAS = [(f, a) for f, one in NUMERIC.items() for a, instead in one.instead.items() if instead]


@pytest.mark.parametrize(("function", "argument"), FORMULAS)
def test_the_formula_computes_the_same_and_has_a_gradient(function: str, argument: str) -> None:
    known: dict[str, Any] = {"torch": torch, "F": functional}
    known |= {"w": torch.tensor(0.7, requires_grad=True), "x": torch.tensor([-3.0, -0.2, 0.5, 4.0])}
    code = CALLS[function, argument].replace("-w.item()", "w.item()")
    found = number_argument(f"y = {code}")
    assert found is not None
    assert found[:2] == (code.partition("(")[0], argument)
    expected, got = eval(code, known), eval(found.instead, known)
    torch.testing.assert_close(got, expected)
    assert expected.requires_grad is False
    (gradient,) = torch.autograd.grad(got.sum(), known["w"])
    assert gradient.abs() > 0


@pytest.mark.parametrize(
    "code",
    [
        "y = F.leaky_relu(x, 0.2)",
        "y = F.leaky_relu(x.detach(), 0.2)",
        "y = torch.clamp(x, max=w.item())",
        "y = self.leaky_relu(x, w.item())",
        "y = my.full((2, 3), w.item())",
        "y = torch.add(x.item(), w)",
        "y = F.dropout(x, p=w.item())",
        "y = torch.full((w.item(), 3), 0.0)",
        "y = F.leaky_relu(",
    ],
)
def test_of_other_calls_nothing_is_said(code: str) -> None:
    assert number_argument(code) is None
