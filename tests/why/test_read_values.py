"""Where numbers stop being finite in tensors too large to be read while a block runs: the call, its
values, and a mend that works; and programs with infinities that are as they should be."""

from __future__ import annotations

import textwrap

from test_symptom import asked

HEAD = """import torch
import torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
"""
FAULTS = {
    "a power of what is negative": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(3, 1)

            def forward(self, x):
                return self.layer(x)

        net, x = Net(), torch.linspace(-2, 2, 60).reshape(20, 3)
        D = 3 * net(x) ** 1.2
        loss = (D - 1).pow(2).mean()
        loss.backward()
        """,
        ("net(x) ** 1.2", "net(x).clamp(min=1e-6) ** 1.2"),
        "a negative number (-",
    ),
    "a power of what is negative, in a derivative by the inputs": (
        """
        layer = nn.Linear(2, 1)
        x = torch.linspace(-2, 2, 40).reshape(20, 2).requires_grad_()
        D = layer(x) ** 1.2
        slope, = torch.autograd.grad(D.sum(), x, create_graph=True)
        loss = slope.pow(2).mean()
        loss.backward()
        """,
        ("layer(x) ** 1.2", "layer(x).clamp(min=1e-6) ** 1.2"),
        "a negative number (-",
    ),
    "the logarithm of 0": (
        """
        layer = nn.Linear(4, 4)
        p = torch.relu(layer(torch.randn(8, 4)))
        entropy = p * torch.log(p)
        loss = -entropy.sum()
        loss.backward()
        """,
        ("torch.log(p)", "torch.log(p.clamp(min=1e-6))"),
        "log() is -inf at 0 and NaN below, and was given 0",
    ),
    "a norm of zeros, differentiated twice": (
        """
        layer = nn.Linear(3, 3, bias=False)
        x = torch.zeros(12, 3).requires_grad_()
        length = torch.norm(layer(x), dim=-1)
        force, = torch.autograd.grad(length.sum(), x, create_graph=True)
        loss = (force - 1).pow(2).mean()
        loss.backward()
        """,
        ("torch.norm(layer(x), dim=-1)", "torch.norm(layer(x) + 1e-6, dim=-1)"),
        "norm() is taken at 0",
    ),
    "a root of 0": (
        """
        layer = nn.Linear(3, 3, bias=False)
        far = torch.sqrt(layer(torch.zeros(9, 3)).pow(2).sum(1))
        loss = far.mean()
        loss.backward()
        """,
        ("sum(1))", "sum(1) + 1e-6)"),
        "sqrt() is taken at 0",
    ),
    "an angle of what is parallel": (
        """
        layer = nn.Linear(3, 3)
        v = F.normalize(layer(torch.randn(12, 3)), dim=1)
        cosine = v[:, 0] * 0 + 1
        angle = torch.acos(cosine)
        loss = angle.mean()
        loss.backward()
        """,
        ("torch.acos(cosine)", "torch.acos(cosine.clamp(-1 + 1e-6, 1 - 1e-6))"),
        "acos() is taken at 1",
    ),
}
# two weighted means in one loss, without a single weight: each is 0 / 0
MEANS = """
        layer, x = nn.Linear(3, 2), torch.randn(12, 3)
        on, off = torch.{on}(12), torch.{off}(12)
        out = layer(x).pow(2)
        loss_on = (out[:, 0] * on).sum() / on.sum()
        loss_off = torch.dot(out[:, 1], off) / torch.sum(off)
        loss = loss_on + loss_off + (loss_on / 2)
        loss.backward()
        """
SOUND = {
    "a softmax with masked scores": """
        layer = nn.Linear(6, 6)
        scores = layer(torch.randn(6, 6))
        scores = scores.masked_fill(torch.triu(torch.ones(6, 6), 1).bool(), float("-inf"))
        loss = scores.softmax(-1).pow(2).sum()
        loss.backward()
        """,
    "the logarithm of what is clamped": """
        layer = nn.Linear(4, 4)
        p = torch.relu(layer(torch.randn(8, 4)))
        loss = (p * p.clamp(min=1e-6).log()).sum()
        loss.backward()
        """,
    "a choice with values that are safe": """
        layer = nn.Linear(4, 4)
        p = torch.relu(layer(torch.randn(8, 4)))
        safe = torch.where(p > 0, p, torch.ones_like(p))
        loss = torch.where(p > 0, safe.log(), torch.zeros_like(p)).sum()
        loss.backward()
        """,
    "NaN in data that is replaced": """
        layer = nn.Linear(4, 1)
        x = torch.randn(8, 4)
        x[2, 1] = float("nan")
        loss = layer(torch.nan_to_num(x)).pow(2).mean()
        loss.backward()
        """,
    "an infinity that is divided by": """
        layer = nn.Linear(4, 16)
        far = layer(torch.randn(8, 4)).exp() + float("inf")
        loss = (1 / far + layer.weight.sum()).mean()
        loss.backward()
        """,
}


def test_the_first_call_that_is_not_finite_is_told() -> None:
    for title, (code, (old, new), said) in FAULTS.items():
        program = HEAD + textwrap.dedent(code)
        found = asked(program)
        text = " ".join(str(found).split())
        assert found.cause == "nan", (title, text)
        assert said in text, (title, text)
        line = next(i for i, one in enumerate(program.splitlines(), 1) if old in one)
        assert f"line {line}" in text, (title, text)
        mended = asked(program.replace(old, new))
        assert mended.cause != "nan", (title, str(mended))


def test_infinities_that_do_no_harm_are_not_told() -> None:
    for title, code in SOUND.items():
        found = asked(HEAD + textwrap.dedent(code))
        assert found.cause not in ("nan", "exploding"), (title, str(found))


def test_each_line_that_divides_by_0_is_told() -> None:
    program = HEAD + textwrap.dedent(MEANS.format(on="zeros", off="zeros"))
    found = asked(program)
    assert "The same in loss_off = torch.dot(out[:, 1], off) / torch.sum(off)" in " ".join(
        str(found).split()
    )
    one = program.replace("/ on.sum()", "/ (on.sum() + 1e-8)")
    assert asked(one).cause == "nan"
    assert asked(one.replace("/ torch.sum(off)", "/ (torch.sum(off) + 1e-8)")).cause != "nan"


def test_a_line_that_only_goes_on_with_nan_divides_by_no_0() -> None:
    for on, off in (("zeros", "ones"), ("ones", "zeros")):
        found = asked(HEAD + textwrap.dedent(MEANS.format(on=on, off=off)))
        assert found.cause == "nan"
        assert "The same in" not in str(found)
    assert asked(HEAD + textwrap.dedent(MEANS.format(on="ones", off="ones"))).cause != "nan"
