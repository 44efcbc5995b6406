"""What a custom Function keeps off: a tensor that forward reads and apply() was not given, and a
derivative whose numbers backward computes outside of torch. What only looks like it is left
alone."""

from __future__ import annotations

import pytest
from test_account import line
from test_symptom import asked

pytestmark = pytest.mark.dear(20)

# --- read inside of forward -----------------------------------------------------------------------

BY_ATTRIBUTE = """
import torch
from torch import nn
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(3))
    def forward(self, x):
        return Times.apply(x, self)
class Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, owner):
        ctx.save_for_backward(x)
        ctx.owner = owner
        return x * owner.gain
    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.owner.gain, None
net, scale = nn.Linear(4, 3), Scale()
optimizer = torch.optim.SGD([*net.parameters(), *scale.parameters()], lr=0.1)
x, y = torch.randn(8, 4), torch.randn(8, 3)
for _ in range(3):
    optimizer.zero_grad()
    loss = ((scale(net(x)) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
print(scale.gain.grad)
"""
BY_CLOSURE = """
import torch
def quadratic(a, b):
    class Quadratic(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return a * x ** 2 + b * x
        @staticmethod
        def backward(ctx, grad):
            x, = ctx.saved_tensors
            return grad * (2 * a * x + b)
    return Quadratic.apply
a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(1.0, requires_grad=True)
x = torch.randn(5, requires_grad=True)
curve = quadratic(a, b)
loss = curve(x).sum()
loss.backward()
print(x.grad, a.grad, b.grad)
"""
IN_A_LIST = """
import torch
from torch import nn
class Chain(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weights):
        ctx.weights = weights
        for weight in weights:
            x = x @ weight
        return x
    @staticmethod
    def backward(ctx, grad):
        for weight in reversed(ctx.weights):
            grad = grad @ weight.t()
        return grad, None
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.weights = nn.ParameterList([nn.Parameter(torch.randn(3, 3)) for _ in range(2)])
    def forward(self, x):
        return Chain.apply(self.inner(x), list(self.weights))
net = Net()
loss = net(torch.randn(4, 3)).pow(2).mean()
loss.backward()
print([w.grad for w in net.weights])
"""
READING = {
    "attribute": (BY_ATTRIBUTE, "return Times.apply(x, self)"),
    "closure": (BY_CLOSURE, "loss = curve(x).sum()"),
    "list": (IN_A_LIST, "return Chain.apply(self.inner(x), list(self.weights))"),
}


@pytest.mark.parametrize("kind", READING)
def test_what_a_custom_function_reads_and_was_not_given_is_told(kind: str) -> None:
    program, place = READING[kind]
    answer = asked(program)
    assert (answer.cause, answer.form) == ("cut", "read_in_function")
    assert answer.lines[0] == line(program, place)
    assert "as an argument of its own" in str(answer)


GIVEN = (
    BY_ATTRIBUTE.replace("Times.apply(x, self)", "Times.apply(x, self.gain)")
    .replace("forward(ctx, x, owner)", "forward(ctx, x, gain)")
    .replace("ctx.owner = owner\n", "ctx.gain = gain\n")
    .replace("x * owner.gain", "x * gain")
    .replace(
        "return grad * ctx.owner.gain, None",
        "return grad * ctx.gain, (grad * ctx.saved_tensors[0]).sum(0)",
    )
)
BY_BACKWARD = BY_ATTRIBUTE.replace(
    "return grad * ctx.owner.gain, None",
    """x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            (x * ctx.owner.gain).backward(grad)
        return x.grad, None""",
)


@pytest.mark.parametrize("program", [GIVEN, BY_BACKWARD], ids=["given", "filled in backward"])
def test_what_gets_its_gradient_is_left_alone(program: str) -> None:
    assert asked(program).cause == "healthy"


# --- a backward that leaves torch -----------------------------------------------------------------

OUTSIDE = """
import numpy as np
import torch
class Sine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return torch.from_numpy(np.sin(x.detach().numpy() * w.detach().numpy()))
    @staticmethod
    def backward(ctx, grad):
        {backward}
class Wave(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.tensor([1.5]))
        self.head = torch.nn.Linear(1, 1)
    def forward(self, x):
        return {forward}
wave = Wave()
optimizer = torch.optim.Adam(wave.parameters(), lr=0.1)
x = torch.linspace(0, 1, 8).view(-1, 1).requires_grad_()
for _ in range(4):
    optimizer.zero_grad()
    u = wave(x)
    du, = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)
    loss = ((du - x) ** 2).mean()
    loss.backward()
    optimizer.step()
print(wave.w.grad)
"""
NUMPY = """x, w = (t.detach().numpy() for t in ctx.saved_tensors)
        slope = torch.from_numpy(np.cos(x * w))
        return grad * slope * float(w[0]), (grad * slope).sum().view(1)"""
ITEM = """x, w = ctx.saved_tensors
        factor = w.item()
        slope = torch.tensor(np.cos(x.detach().numpy() * factor))
        return grad * slope * factor, (grad * slope).sum().view(1)"""
DETACHED = """x, w = (t.detach() for t in ctx.saved_tensors)
        slope = torch.cos(x * w)
        return grad * slope * w, (grad * slope * x).sum().view(1)"""
IN_TORCH = """x, w = ctx.saved_tensors
        slope = torch.cos(x * w)
        return grad * slope * w, (grad * slope * x).sum().view(1)"""


@pytest.mark.parametrize(
    ("backward", "forward", "place"),
    [
        (NUMPY, "Sine.apply(x, self.w)", "x, w = (t.detach().numpy()"),
        (ITEM, "Sine.apply(x, self.w)", "factor = w.item()"),
        (DETACHED, "Sine.apply(x, self.w)", "x, w = (t.detach() for"),
        (NUMPY, "self.head(Sine.apply(x, self.w))", "x, w = (t.detach().numpy()"),
    ],
    ids=["numpy", "item", "detached", "below a layer"],
)
def test_a_derivative_computed_outside_of_torch_is_told(
    backward: str, forward: str, place: str
) -> None:
    program = OUTSIDE.format(backward=backward, forward=forward)
    answer = asked(program)
    assert (answer.cause, answer.form) == ("rebuilt_from_value", "in_own_backward")
    assert answer.lines[0] == line(program, place)


def test_a_backward_in_torch_is_left_alone() -> None:
    answer = asked(OUTSIDE.format(backward=IN_TORCH, forward="Sine.apply(x, self.w)"))
    assert answer.form != "in_own_backward"


def test_a_first_derivative_alone_may_leave_torch() -> None:
    program = OUTSIDE.format(backward=NUMPY, forward="self.head(Sine.apply(x, self.w))")
    program = program.replace("((du - x) ** 2).mean()", "((u - x) ** 2).mean()")
    assert asked(program).form != "in_own_backward"
