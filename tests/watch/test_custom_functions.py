"""Custom Functions while recording: one call on one line, whatever runs inside, on every torch.

Up to torch 2.13 ``Function.apply`` stands on the stack, later only what it calls does (NOTE
[Function.apply] in ``torch_private.py``). Where the torch at hand has both ways, both are tried
here.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from programs import Best

import gradviz as gv
from gradviz.graph.records import CutReason, NodeKind
from gradviz.watch import torch_private

WAYS = ["parts"] if torch_private._APPLY is None else ["apply", "parts"]


@pytest.fixture(params=WAYS, autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How a running Function is found on the stack."""
    if request.param == "parts":
        monkeypatch.setattr(
            torch_private.FunctionRuns, "outermost", torch_private.FunctionRuns._by_parts
        )
    return request.param


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, times: int = 2) -> torch.Tensor:
        y = x.clone()
        return y.mul_(times)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        return g * 2, None


class Setup(torch.autograd.Function):
    """In the style without a context in ``forward``; also computes in ``setup_context``."""

    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x.exp() + 1

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0] * 1, output - 1)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        return g * ctx.saved_tensors[1]


class Plain(torch.autograd.Function):
    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x.exp() + 1

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        return g * (ctx.saved_tensors[0] - 1)


class Inherits(Plain):
    """Has the ``forward`` of another one."""


class Varied(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *tensors: torch.Tensor) -> torch.Tensor:
        return torch.stack(tensors).sum(0)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        return g, g


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that does not say what it decorates."""

    def inner(*args: Any) -> Any:
        return function(*args)

    return inner


def told(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*args: Any) -> Any:
        return function(*args)

    return inner


class Logged(torch.autograd.Function):
    @staticmethod
    @logged
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 3

    @staticmethod
    @logged
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        return g * 3


class Told(torch.autograd.Function):
    @staticmethod
    @told
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 3

    @staticmethod
    @told
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        return g * 3


class Mixed(torch.autograd.Function):
    """``forward`` is a class method."""

    @classmethod
    def forward(cls, ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 3

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        return g * 3


class Same(torch.autograd.Function):
    """Hands its inputs back; nothing runs inside."""

    @staticmethod
    def forward(ctx: Any, *tensors: torch.Tensor) -> Any:
        return tensors if len(tensors) > 1 else tensors[0]

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return grads


class SameAndMore(torch.autograd.Function):
    """Hands its inputs back, and a result."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor) -> Any:
        return x, y, x * y

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return grads[0] + grads[2], grads[1] + grads[2]


class MoreAndSame(torch.autograd.Function):
    """As ``SameAndMore``, with the result before an input."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor) -> Any:
        return x * y, x, y

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return grads[0] + grads[1], grads[0] + grads[2]


class Outer(torch.autograd.Function):
    """Applies another one inside."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return Double.apply(x) + Setup.apply(x)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        return g


def scaled(by: float) -> type[torch.autograd.Function]:
    """Classes of the same code."""

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * by

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            return g * by

    Scaled.__name__ = f"Scaled{by:g}"
    return Scaled


Two, Three = scaled(2.0), scaled(3.0)


def leaf() -> torch.Tensor:
    return torch.tensor([1.0, 2.0], requires_grad=True)


def recorded(function: Any, a: torch.Tensor) -> tuple[Any, Any]:
    """(the recorded graph, its only call)."""
    with gv.record() as rec:
        out = function.apply(a)
    del out
    assert not rec.graph.notes, rec.graph.notes
    (call,) = rec.graph.calls
    return rec.graph, call


ONE = [Double, Setup, Plain, Inherits, Logged, Told, Mixed, Outer, Two, Three]


@pytest.mark.parametrize("function", ONE, ids=lambda f: f.__name__)
def test_one_application_is_one_call_without_a_cut(function: Any) -> None:
    a = leaf()
    graph, call = recorded(function, a)
    assert call.function == f"{function.__name__}.apply"
    assert [graph.tensor[i].is_leaf for i in call.inputs] == [True]
    assert list(graph.cuts) == []
    (node,) = [n for n in graph.nodes if n.kind is NodeKind.CUSTOM_FUNCTION]
    assert node.call_id == call.id
    assert call.source.code == "out = function.apply(a)"


def test_several_inputs_stand_in_their_order() -> None:
    a, b = torch.ones(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    with gv.record() as rec:
        out = Varied.apply(a, b)
    (call,) = rec.graph.calls
    assert [rec.graph.tensor[i].values for i in call.inputs] == ["[1]", "[0]"]
    assert list(rec.graph.cuts) == []
    assert out.requires_grad


@pytest.mark.parametrize("function", [Same, SameAndMore, MoreAndSame], ids=lambda f: f.__name__)
def test_inputs_that_are_handed_back_are_results_of_the_function(
    function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # what torch does itself after ``forward`` has a frame of its own wherever ``apply`` has one
    monkeypatch.undo()
    a, b = torch.ones(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    with gv.record() as rec:
        outs = function.apply(a, b)
        outs[0].sum().backward()
    call = rec.graph.calls[0]
    assert call.function == f"{function.__name__}.apply"
    assert [rec.graph.tensor[i].values for i in call.inputs] == ["[1]", "[0]"]
    assert len(call.outputs) == len(outs)
    assert list(rec.graph.cuts) == []
    assert [c.function for c in rec.graph.calls][1:] == ["sum", "backward"]
    made_by = {outs[i].grad_fn for i in range(len(outs))}
    assert len(made_by) == 1  # torch: one node, so one call


def test_in_a_loop_a_result_and_the_input_behind_it_are_one_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    a, b = torch.ones(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    kept = []
    with gv.record() as rec:
        for _ in range(3):
            kept.append(MoreAndSame.apply(a, b))
    assert len({out.grad_fn for outs in kept for out in outs}) == 3
    calls = rec.graph.calls
    assert [c.function for c in calls] == ["MoreAndSame.apply"] * 3
    assert [len(c.outputs) for c in calls] == [3] * 3
    for call, outs in zip(calls, kept, strict=True):
        assert set(call.outputs) == {rec.find(out).id for out in outs}


@pytest.mark.parametrize("function", [Double, Told, Mixed, Two], ids=lambda f: f.__name__)
def test_in_a_loop_without_gradients_each_turn_is_a_call_and_a_cut(function: Any) -> None:
    a = leaf()
    with gv.record() as rec, torch.no_grad():
        kept = [function.apply(a) for _ in range(3)]
    assert [c.function for c in rec.graph.calls] == [f"{function.__name__}.apply"] * 3
    assert [c.reason for c in rec.graph.cuts] == [CutReason.NO_GRAD] * 3
    assert len(kept) == 3


@pytest.mark.parametrize("function", [Double, Setup, Told, Two], ids=lambda f: f.__name__)
def test_two_in_a_row_are_two_calls(function: Any) -> None:
    a = leaf()
    with gv.record() as rec:
        b = function.apply(function.apply(a))
        b.sum().backward()
    assert [c.function for c in rec.graph.calls][:2] == [f"{function.__name__}.apply"] * 2
    assert list(rec.graph.cuts) == []
    assert a.grad is not None


def reasons(program: Callable[[torch.Tensor], Any]) -> list[CutReason]:
    """Run a program that makes a sum of its own at the end, and return why what was cut."""
    x = torch.tensor([0.5, -1.25], requires_grad=True)
    with gv.record() as rec:
        kept = program(x)
        total = x.sum()
    assert total.grad_fn is not None
    del kept
    return [cut.reason for cut in rec.graph.cuts]


def test_a_result_that_nobody_keeps_is_still_one_that_gradients_come_back_through() -> None:
    """So the others are no cut: of a tracked result that died, none is left to tell it."""

    def second(x: torch.Tensor) -> Any:
        return Best.apply(x)[1]

    def deleted(x: torch.Tensor) -> Any:
        best, where = Best.apply(x)
        del best
        return where

    assert reasons(second) == reasons(deleted) == []


def test_what_forward_lets_die_was_no_result() -> None:
    """So where no result is tracked, it is a cut, however much ``forward`` computed."""

    class Steps(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            h = (x * 2).sin()  # a local, which dies when ``forward`` returns
            y = (h + 1).round()
            ctx.mark_non_differentiable(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            return None

    assert reasons(Steps.apply) == [CutReason.CUSTOM_NON_DIFFERENTIABLE]


def test_of_results_that_can_have_no_gradient_one_may_die() -> None:
    class Indices(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> Any:
            up, down = x.argsort(), x.argsort(descending=True)
            ctx.mark_non_differentiable(up, down)
            return up, down

        @staticmethod
        def backward(ctx: Any, *g: torch.Tensor) -> Any:
            return None

    assert reasons(lambda x: Indices.apply(x)[0]) == [CutReason.CUSTOM_NON_DIFFERENTIABLE]


def test_forward_that_the_user_calls_is_no_application() -> None:
    a = leaf()
    with gv.record() as rec, torch.no_grad():
        b = Double.forward(None, a)
    assert [c.function for c in rec.graph.calls] == ["clone", "mul_"]
    assert b.tolist() == [2.0, 4.0]


def test_a_function_that_looks_like_another_ones_forward_is_itself() -> None:
    """``logged`` makes functions of one code, and only some of them are a forward."""
    a = leaf()
    triple = logged(lambda x: x * 3)
    with gv.record() as rec, torch.no_grad():
        kept = [triple(a), Logged.apply(a)]
    assert [c.function for c in rec.graph.calls] == ["mul", "Logged.apply"]
    assert len(kept) == 2


def test_a_class_that_is_made_while_recording_is_known() -> None:
    a = leaf()
    with gv.record() as rec:
        with torch.no_grad():
            kept = [logged(lambda x: x * 2)(a)]

        class Late(torch.autograd.Function):
            forward = staticmethod(logged(lambda ctx, x: x * 2))
            backward = staticmethod(lambda ctx, g: g * 2)

        kept.append(Late.apply(a))
    assert [c.function for c in rec.graph.calls] == ["mul", "Late.apply"]
    assert [c.reason for c in rec.graph.cuts] == [CutReason.NO_GRAD]


def test_a_tensor_that_forward_deletes_dies_as_without_recording() -> None:
    died: list[bool] = []

    class Deletes(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            large = torch.ones(3)
            seen = weakref.ref(large)
            y = x * 2  # the recorder looks at this frame by now
            del large
            died.append(seen() is None)
            return y * 1

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            return g * 2

    a = leaf()
    bare = Deletes.apply(a)
    with gv.record() as rec:
        watched = Deletes.apply(a)
    assert died == [True, True]
    assert [c.function for c in rec.graph.calls] == ["Deletes.apply"]
    assert torch.equal(bare, watched)


def test_locals_that_forward_has_asked_for_stay_its_own() -> None:
    kept: list[dict[str, Any]] = []

    class Asks(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            count = 3
            kept.append(locals())
            return x * count

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            return g * 3

    with gv.record() as rec:
        out = Asks.apply(leaf())
    assert kept[0]["count"] == 3
    assert "ctx" in kept[0]
    assert [c.function for c in rec.graph.calls if c.function != "tensor"] == ["Asks.apply"]
    assert out.tolist() == [3.0, 6.0]


def test_the_frame_of_forward_is_read_and_not_kept() -> None:
    frame = sys._getframe()
    count = sys.getrefcount(frame)
    marker = [1]
    assert torch_private._values(frame)["marker"] is marker
    assert sys.getrefcount(frame) == count


class Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, number: float) -> torch.Tensor:
        ctx.number = number
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        if ctx.number == 0.25:
            return grad.mul_(ctx.number), None  # what arrived is another gradient after that
        return (grad.cumsum(0) if ctx.number == 7 else grad * ctx.number), None


@pytest.mark.parametrize(
    ("number", "known"), [(1.0, 1.0), (-0.5, -0.5), (0.0, 0.0), (7, None), (0.25, None)]
)
@pytest.mark.parametrize("size", [3, 100])
def test_by_what_a_custom_function_multiplies_is_read(
    number: float, known: float | None, size: int
) -> None:
    x = torch.ones(size, requires_grad=True)
    with gv.record() as rec:
        (Times.apply(x, number) * torch.arange(1.0, size + 1)).sum().backward()
    factors = [e.factor for e in rec.graph.events if type(e).__name__ == "NodeRan"]
    assert [f for f in factors if f is not None] == ([] if known is None else [known])
