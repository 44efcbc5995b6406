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
    "the logarithm of sums that underflow, before a mean over a mask": (
        """
        layer = nn.Linear(4, 12)
        scores = 300 * layer(torch.randn(12, 4))
        mask = (torch.rand(12, 12) > 0.5).float()
        mask[:, 0] = 1
        gathered = torch.exp(scores - scores.max(1, keepdim=True)[0].detach())
        mean = (mask * torch.log(gathered)).sum(1) / mask.sum(1)
        loss = -mean.mean()
        loss.backward()
        """,
        ("torch.log(gathered)", "torch.log(gathered + 1e-6)"),
        "log() is -inf at 0 and NaN below, and was given 0",
    ),
    "a target that is the logarithm of a negative number": (
        """
        def encode(boxes, priors):
            sizes = boxes[:, 2:] - boxes[:, :2]
            target = torch.log(sizes / priors)
            return target

        layer = nn.Linear(5, 2)
        boxes = torch.rand(16, 4)
        target = encode(boxes, torch.full((16, 2), 0.5))
        loss = F.smooth_l1_loss(layer(torch.randn(16, 5)), target)
        loss.backward()
        """,
        ("torch.log(sizes / priors)", "torch.log(sizes.abs().clamp(min=1e-6) / priors)"),
        "Not read, and not finite at some values: target = torch.log(sizes / priors)",
    ),
    "the logarithm of weights that are negative, of which nothing is kept": (
        """
        def gathered(scores, seen):
            weights = torch.full((12, 12), (seen - 11) / (seen * 11))
            logs = weights.log()
            return torch.logsumexp((scores + logs.view(12, 12, 1)).sum(2), dim=1)

        layer = nn.Linear(4, 3)
        x = torch.randn(12, 4)
        spread = torch.exp(layer(x))
        scores = (spread.view(1, 12, 3) - torch.randn(12, 1, 3)) ** 2
        loss = gathered(scores, 3.0).mean() + spread.mean()
        loss.backward()
        """,
        ("weights.log()", "weights.abs().log()"),
        "not finite at some values: logs = weights.log()",
    ),
    "the standard deviation of a batch of one": (
        """
        import warnings
        warnings.simplefilter("ignore")
        layer = nn.Linear(4, 1)
        returns = torch.randn(1)
        scaled = (returns - returns.mean()) / (returns.std() + 1e-8)
        loss = (scaled * layer(torch.randn(20, 4)).flatten()).mean()
        loss.backward()
        """,
        ("returns.std()", "returns.std(unbiased=False)"),
        "std of one number is NaN",
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


# what must not be blamed, though it stands on the way and has no result of some values
INNOCENT = {
    "raw data that hold NaN, before a logarithm": (
        """
        layer = nn.Linear(5, 2)
        raw = torch.rand(16, 2) + 1
        raw[3, 1] = float("nan")
        target = torch.log(raw)
        loss = F.mse_loss(layer(torch.randn(16, 5)), target)
        loss.backward()
        """,
        "not finite at some values: target = torch.log(raw)",
    ),
    "an exponential that was read and is finite": (
        """
        layer = nn.Linear(5, 20)
        spread = torch.exp(layer(torch.randn(16, 5)))
        weights = -torch.rand(16, 20)
        loss = torch.logsumexp(spread + weights.log(), 1).mean()
        loss.backward()
        """,
        "not finite at some values: spread",
    ),
    "a division by counts above 0": (
        """
        layer = nn.Linear(5, 20)
        mask = (torch.rand(16, 20) > 0.3).float()
        attention = torch.full((16, 20), float("-inf")).softmax(1)
        mean = (layer(torch.randn(16, 5)) * attention).sum(1) / mask.sum(1)
        loss = mean.mean()
        loss.backward()
        """,
        "keep what it divides by away from 0",
    ),
}


def test_what_is_known_to_be_finite_is_not_blamed() -> None:
    for title, (code, blamed) in INNOCENT.items():
        found = asked(HEAD + textwrap.dedent(code))
        text = " ".join(str(found).split())
        assert found.cause == "nan", (title, text)
        assert blamed not in text, (title, text)
