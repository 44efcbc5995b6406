"""Answers that few programs get, each with what makes it true."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch import nn

import gradviz as gv


class Silent(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> None:
        return None


def test_a_custom_function_that_may_have_returned_none_is_named() -> None:
    x = torch.ones(2, requires_grad=True)
    told = gv.explain(x, Silent.apply(x).sum(), names={"x": x})
    assert (told.cause, told.form) == ("not_known", "custom_above")
    assert "SilentBackward returned None" in told.why
    y = torch.ones(2, requires_grad=True)
    assert "custom" not in gv.explain(y, (y * 2).sum(), names={"y": y}).form


def test_a_metric_from_which_no_backward_can_start_is_told_apart() -> None:
    w = torch.ones(2, requires_grad=True)
    (w * 2).sum().backward()
    metric = w.detach().sum()
    told = gv.explain(w, metric, names={"w": w, "metric": metric})
    assert (told.cause, told.form) == ("no_grad_fn", "cannot_start")
    with pytest.raises(RuntimeError):
        metric.backward()
    w.grad = None
    assert gv.explain(w, metric, names={"w": w, "metric": metric}).form == "nothing_trains"


@pytest.mark.parametrize("lr", [1e-9, 1.0])
def test_a_step_that_rounding_swallows_is_told(lr: float) -> None:
    w = nn.Parameter(torch.full((2,), 1e4))
    optimizer = torch.optim.SGD([w], lr=lr)
    with gv.record() as rec:
        loss = w.sum()
        loss.backward()
    told = rec.explain(optimizer, loss)
    before = w.detach().clone()
    optimizer.step()
    assert (told.form == "stays") == bool(w.equal(before))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_anomaly_mode_is_advised_where_it_raises(value: float) -> None:
    w = torch.ones(2, requires_grad=True)
    w.grad = torch.tensor([value, 1.0])
    told = gv.explain(w, names={"w": w})
    assert told.form == "not_traced"

    class Breaks(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, *grads: torch.Tensor) -> torch.Tensor:
            return grads[0] * value

    raised = False
    loss = Breaks.apply(torch.ones(2, requires_grad=True)).sum()
    with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(True):
        warnings.simplefilter("ignore")  # it tells the forward of the node as a warning
        try:
            loss.backward()
        except RuntimeError:
            raised = True
    assert raised == (value != value)
    assert ("set_detect_anomaly" in told.mend) == raised


def test_a_frozen_parameter_of_whole_numbers_is_not_told_to_ask_for_a_gradient() -> None:
    p = nn.Parameter(torch.tensor([1, 2]), requires_grad=False)
    told = gv.explain(p, names={"p": p})
    assert (told.cause, told.form) == ("frozen", "no_float")
    with pytest.raises(RuntimeError):
        p.requires_grad_()
