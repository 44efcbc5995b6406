"""Which node made the zeros: what was measured is told, what was not is never taken for "not
zero"."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

import gradviz as gv
from gradviz.graph.records import NodeRan
from gradviz.why.answering.answer import explain_tensor
from gradviz.why.evidence.paths import Asked
from gradviz.why.rules.gradients.gradient import Gradients
from gradviz.why.shown.explanation import Explanation


def both(
    model: nn.Module, compute: Callable[[], torch.Tensor], step: bool = False
) -> tuple[Explanation, Explanation]:
    """The answers with a recording and without, after one backward."""
    with gv.record() as rec:
        loss = compute()
        loss.backward()
        if step:
            torch.optim.SGD(model.parameters(), lr=0.1).step()
    return rec.explain(model, loss), gv.explain(model, loss)


def net(*last: nn.Module) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), *(last or (nn.Linear(8, 1),)))


def one_class(model: nn.Module) -> torch.Tensor:
    return (torch.softmax(model(torch.randn(16, 4)), dim=1) - torch.rand(16, 1)).pow(2).mean()


def one_logit(model: nn.Module) -> torch.Tensor:
    return functional.cross_entropy(model(torch.randn(16, 4)), torch.zeros(16, dtype=torch.long))


def half(model: nn.Module) -> torch.Tensor:
    return model.half()(torch.randn(16, 4).half()).float().pow(2).mean() * 1e-7


@pytest.mark.parametrize(
    ("loss_of", "node", "cause"),
    [
        (one_class, "SoftmaxBackward0", "zero_gradient"),
        (one_logit, "LogSoftmaxBackward0", "zero_gradient"),
        (half, "ToCopyBackward0", "underflow"),
    ],
)
def test_zeros_that_arrive_are_not_made_there(
    loss_of: Callable[[nn.Module], torch.Tensor], node: str, cause: str
) -> None:
    model = net()
    arrived: list[bool] = []

    def compute() -> torch.Tensor:
        handle = model[2].register_forward_hook(
            lambda *a: a[2].register_hook(lambda g: arrived.append(bool(g.any()))) and None
        )
        loss = loss_of(model)
        handle.remove()
        return loss

    told, without = both(model, compute)
    assert arrived == [False]
    assert told.cause == cause, told
    assert f"{node} sends only zeros" in told.verdict
    assert "model.{0,2}.{weight,bias}" in told.verdict
    assert "Addmm" not in str(told)
    assert without.cause == "not_known", without


def test_what_was_not_measured_is_not_taken_for_something() -> None:
    model = net()
    with gv.record() as rec:
        loss = one_class(model)
        loss.backward()
    events = [
        e._replace(arrived_norms=(), sent_norms=()) if isinstance(e, NodeRan) else e
        for e in rec.graph.events
    ]
    weight = rec.find(model[2].bias)
    assert weight is not None
    asked = Asked("b", weight.id, True, True, grad="zero", parameter=True)
    told = explain_tensor(Gradients(rec.graph.replace(events=events)), asked)
    assert told.cause == "not_known", told
    assert "was not zero" not in str(told)


def test_a_hook_on_a_weight_made_the_zeros_and_its_bias_refutes_the_relu() -> None:
    model = net()
    model[0].weight.register_hook(lambda g: g * 0)
    told, without = both(model, lambda: model(torch.randn(5, 4)).pow(2).mean())
    for one in (told, without):
        assert "Relu" not in str(one), one
    assert told.cause == "changed_by_hook", told
    assert "a hook on model.0.weight" in told.verdict
    assert "the hook on" in without.why
    assert "not proven" in without.why


def test_a_backward_hook_of_a_module_made_the_zeros() -> None:
    model = net(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))

    def stop(_: nn.Module, sent: Any, arrived: Any) -> Any:
        return tuple(None if g is None else torch.zeros_like(g) for g in sent)

    model[2].register_full_backward_hook(stop)
    told, without = both(model, lambda: model(torch.randn(5, 4)).pow(2).mean())
    assert "model.0.{weight,bias}" in told.verdict, told
    assert "backward hook of that module" in told.why.lower()
    assert "module model.2" in told.where
    assert "Relu" not in str(told)
    assert "a hook of a module" in without.why


def test_a_hook_on_a_result_is_not_the_node_before_it() -> None:
    model = net()

    def compute() -> torch.Tensor:
        h = model[0](torch.randn(5, 4))
        h.register_hook(lambda g: g * 0)
        return model[2](model[1](h)).pow(2).mean()

    told, _ = both(model, compute)
    assert "only zeros came of what ReluBackward0 sent" in told.verdict, told
    assert "likely, not proven, a hook" in told.why


def test_weights_that_are_all_zeros_rather_than_the_relu() -> None:
    model = net(nn.Linear(8, 3))
    for p in model.parameters():
        nn.init.zeros_(p)
    told, without = both(
        model,
        lambda: functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(3, (8,))),
        step=True,
    )
    assert "Relu" not in str(told), told
    assert "its factor model.2.weight are both all zeros" in told.verdict
    assert "model.0.{weight,bias}" in told.verdict
    assert "model.2.weight" in str(without)


def test_the_spread_of_equal_values_rather_than_the_relu() -> None:
    model = nn.Linear(3, 4)
    nn.init.zeros_(model.weight)
    nn.init.zeros_(model.bias)
    told, without = both(model, lambda: torch.relu(1 - model(torch.randn(5, 3)).std(dim=0)).mean())
    assert "StdBackward0 sends only zeros" in told.verdict, told
    assert "Relu" not in str(told)
    assert "Possible, not proven" in without.why


def test_a_wrapped_result_is_a_cut_and_a_watched_one_is_not() -> None:
    class Masked(nn.Module):
        def __init__(self, wrap: bool) -> None:
            super().__init__()
            self.lin, self.wrap = nn.Linear(6, 5), wrap
            self.mask = torch.rand(5, 6).round()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            w: torch.Tensor = self.lin.weight * self.mask
            if self.wrap:
                w = nn.Parameter(w)
            return functional.linear(x, w if self.wrap else torch.ones(5, 6), self.lin.bias)

    for wrap, cause in ((True, "cut"), (False, "not_in_loss")):
        model = nn.Sequential(Masked(wrap), nn.ReLU(), nn.Linear(5, 1))
        told, _ = both(model, lambda model=model: model(torch.randn(4, 6)).mean())  # type: ignore[misc]
        assert told.cause == cause, told
        assert ("without nn.Parameter()" in told.mend) is wrap
        assert "cut" not in told.ruled_out or not wrap


@pytest.mark.filterwarnings("ignore")
def test_a_rebound_weight_is_found_unasked() -> None:
    w = torch.randn(3, 1, requires_grad=True)
    with contextlib.suppress(TypeError), gv.record() as rec:
        for _ in range(2):
            loss = (torch.randn(10, 3) @ w).pow(2).mean()
            loss.backward()
            w = w - 0.1 * w.grad
    for told in (rec.explain(), rec.explain(w)):
        assert told.cause == "rebound", told
        assert "with torch.no_grad(): w -= lr * w.grad" in told.mend
    # A result that takes a leaf's name on its way forward is as it should be.
    x = torch.randn(3, requires_grad=True)
    with gv.record() as fine:
        x = x * 2
        x.sum().backward()
    assert fine.explain().cause in ("healthy", "not_known")


def test_numbers_that_stand_in_the_code_did_not_come_back() -> None:
    enc, head = nn.Linear(4, 3), nn.Linear(3, 2)
    with gv.record() as rec:
        x = torch.from_numpy(enc(torch.randn(4, 4)).detach().numpy() * 2)
        loss = functional.cross_entropy(head(x), torch.tensor([0, 1, 1, 0]))
        loss.backward()
    told = rec.explain(enc, loss)
    assert told.cause == "rebuilt_from_value", told
    assert "[0, 1, 1, 0]" not in str(told)


def test_a_way_that_no_element_took_is_empty() -> None:
    expert, head = nn.Linear(4, 4), nn.Linear(4, 1)
    with gv.record() as rec:
        h = head.bias + torch.randn(6, 4, requires_grad=True)
        out = h.index_add(
            0, torch.zeros(0, dtype=torch.long), expert(h[torch.zeros(6, dtype=torch.bool)])
        )
        loss = head(out).pow(2).mean()
        loss.backward()
    told = rec.explain(expert, loss)
    assert "Addmm" not in told.verdict, told
    assert "is empty: no element of the batch took this way" in told.why


BEGUN = "backward began with a gradient of zeros"


@pytest.mark.parametrize("times", [1, 3])
def test_a_backward_that_begins_with_zeros(times: int) -> None:
    """Also in several backwards, whose gradients are larger than what is read."""
    model = nn.Sequential(nn.Linear(40, 80), nn.ReLU(), nn.Linear(80, 40))
    with gv.record() as rec:
        for _ in range(times):
            result = model(torch.randn(16, 40))
            result.backward(torch.zeros_like(result))
    told = rec.explain(model)
    assert told.cause == "zero_gradient"
    assert BEGUN in told.verdict
    assert "result.backward(torch.zeros_like(result))" in told.where


def test_zeros_for_one_of_two_losses_are_not_why() -> None:
    w = torch.ones(3, requires_grad=True)
    with gv.record() as rec:
        torch.autograd.backward([w.sum(), w.relu().sum()], [torch.zeros(()), torch.ones(())])
    assert BEGUN not in str(rec.explain(w))


def test_zeros_in_one_backward_of_two_are_not_why() -> None:
    w = -torch.ones(3)
    w.requires_grad_()
    with gv.record() as rec:
        w.relu().sum().backward()
        w.sum().backward(torch.zeros(()))
    told = rec.explain(w)
    assert told.cause == "zero_gradient"
    assert BEGUN not in str(told)


def test_larger_zeros_do_not_cancel() -> None:
    """What is shown by its shape alone was measured by its norm."""
    w = nn.Parameter(-torch.ones(32, 16))
    with gv.record() as rec:
        for _ in range(3):
            (w.relu() ** 2).sum().backward()
    assert "cancel" not in str(rec.explain(w))
