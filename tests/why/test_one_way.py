"""Where a raised error is *not* told in the newer forms: programs that look like theirs. What the fixes themselves do
is tried in ``test_fixes.py``."""

from __future__ import annotations

import ast
import linecache
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import gradviz as gv
from gradviz.why.code.numpy_calls import numpy_call
from gradviz.why.code.reading import value_of

ALIKE = {
    "another network's loss is dropped": (
        """
net, other = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1)), nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
loss = net(torch.ones(1, 2)).pow(2).sum()
loss.backward(retain_graph=True)
opt.step()
other(torch.ones(1, 2)).pow(2).sum()
loss.backward()
""",
        "modified_in_place/stepped_again",
    ),
    "what a step returns is no loss": (
        """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
out = net(torch.ones(1, 2))
out.sum().backward(retain_graph=True)
opt.step()
out.backward()
""",
        "modified_in_place/stepped",
    ),
    "the positions required grad all along": (
        """
p, net = torch.randn(4, 3, requires_grad=True), nn.Linear(3, 1)
p.requires_grad_()
energy = net(torch.randn(4, 3)).sum()
torch.autograd.grad(energy, p)
""",
        "unused_input/unused",
    ),
    "a gradient with a graph, and a leaf that has no part in it": (
        """
w, v = torch.ones(2, requires_grad=True), torch.zeros(3, requires_grad=True)
grads = torch.autograd.grad(w.pow(3).sum(), w, create_graph=True)
torch.autograd.grad(grads[0].sum(), v)
""",
        "unused_input/unused",
    ),
    "a gradient without a graph beside it": (
        """
w, v = torch.ones(2, requires_grad=True), torch.zeros(3, requires_grad=True)
grads = torch.autograd.grad(w.pow(3).sum(), w)
torch.autograd.grad((w * grads[0]).sum(), v)
""",
        "unused_input/unused",
    ),
    "numpy() itself is called inside of numpy's function": (
        """
w = torch.ones(2, requires_grad=True)
y = np.argmax((w * 2).numpy())
""",
        "numpy_on_tracked/raised",
    ),
    "tensors of a list, and no model": (
        """
ws, x = [torch.ones(2, requires_grad=True)], torch.ones(2)
grads = torch.autograd.grad((ws[0] * x).pow(2).sum(), ws, create_graph=True)
for w, g in zip(ws, grads):
    w -= 0.1 * g
""",
        "leaf_in_place/tracked",
    ),
    "a layer that is called, and whose values alone go on": (
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.vision, self.head = nn.Linear(2, 2), nn.Linear(2, 1)
    def forward(self, x):
        h = torch.zeros(3, 2)
        h.data[:] = self.vision(x).data
        return self.head(h)
net = Net()
net.head.requires_grad_(False)
net(torch.ones(3, 2)).sum().backward()
""",
        "no_grad_fn/cut",
    ),
    "a helper that makes a target and is called in each iteration, too": (
        """
net = nn.Linear(2, 2)
def gram(x):
    y = x @ net.weight
    return y.tanh().exp()
target = gram(torch.ones(3, 2))
image = torch.zeros(3, 2, requires_grad=True)
opt = torch.optim.SGD([image], lr=0.1)
for _ in range(2):
    loss = (gram(image) - target).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
        "second_backward/once",
    ),
    "a view that nobody reads as a part": (
        """
w = torch.ones(3, requires_grad=True)
x = w * 2
row = x[1:]
squares = row * row
row += 1
(squares.sum() + row.sum()).backward()
""",
        "modified_in_place/written",
    ),
    "a list that holds the result": (
        """
ws = [torch.ones(2, requires_grad=True) * 0.1]
opt = torch.optim.SGD(ws, lr=0.1)
""",
        "non_leaf_in_optimizer/likely",
    ),
}


def told(program: str) -> Any:
    program = program.lstrip("\n")
    linecache.cache["alike.py"] = len(program), None, program.splitlines(True), "alike.py"
    names: dict[str, Any] = {"torch": torch, "nn": nn, "F": functional, "np": np}
    kinds = (torch.Tensor, nn.Module, torch.optim.Optimizer, list)
    torch.manual_seed(0)
    raised: Exception | None = None
    with gv.record() as recording:
        try:
            exec(compile(program, "alike.py", "exec"), names)
        except (RuntimeError, ValueError) as error:
            raised = error
    assert raised is not None
    known = {name: value for name, value in names.items() if isinstance(value, kinds)}
    return gv.explain(error=raised, recording=recording, names=known)


@pytest.mark.parametrize("alike", ALIKE)
def test_what_looks_like_it_is_told_as_it_is(alike: str) -> None:
    program, found = ALIKE[alike]
    answer = told(program)
    assert f"{answer.cause}/{answer.form.removesuffix('_made')}" == found, answer


def test_beside_an_error_none_is_passed_over() -> None:
    w = torch.ones(2, requires_grad=True)
    with gv.record() as recording, pytest.raises(RuntimeError) as caught:
        (w * 2).backward()
    assert gv.explain(None, w, error=caught.value, recording=recording).cause == "not_scalar"
    assert gv.explain(None, error=caught.value, recording=recording).cause == "not_scalar"
    with pytest.raises(gv.GradvizError, match="given None"):
        gv.explain(None, recording=recording)


@pytest.mark.parametrize(
    "code",
    [
        *("np.std(t)", "np.var(t)", "np.std([t, 2 * t], axis=0)", "np.max(t)", "np.sum(t)"),
        *("np.mean([t, t])", "np.log1p(t)", "np.min([t, t * 2], axis=0)", "np.clip(t, 0.2, 0.4)"),
    ],
)
def test_a_function_of_numpys_is_replaced_by_one_that_computes_the_same(code: str) -> None:
    known = {"np": np, "torch": torch, "t": torch.rand(3, 4)}
    call = ast.parse(code, mode="eval").body
    told = numpy_call(call, lambda node: value_of(node, known))
    assert told is not None
    plain = eval(told.detached, known)
    assert np.allclose(eval(told.in_torch, known), plain, atol=1e-5)


@pytest.mark.parametrize("code", ["np.sort(t)", "np.median(t)", "np.cumsum(t)", "np.array(t)"])
def test_a_function_that_torch_has_with_another_result_is_no_replacement(code: str) -> None:
    known = {"np": np, "t": torch.rand(4)}
    call = ast.parse(code, mode="eval").body
    assert numpy_call(call, lambda node: value_of(node, known)) is None
