"""What a module uses like a parameter and what is none, and what only looks so."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import gradviz as gv
from gradviz.graph.operations import Operations
from gradviz.graph.unlearned import Unlearned


class Uses(nn.Module):
    """A layer, and one tensor that it uses: as ``kind`` says."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.layer = nn.Linear(6, 6)
        self.plain = torch.ones(6)
        self.frozen = nn.Parameter(torch.ones(6), requires_grad=False)
        self.learnt = nn.Parameter(torch.ones(6))
        self.scalar = torch.tensor(2.0)
        for name, size in {
            "scale": (6,),
            "matrix": (6, 6),
            "rows": (4, 6),
            "places": (5, 6),
        }.items():
            self.register_buffer(name, torch.ones(size))
        self.register_buffer("channel", torch.ones(1, 5, 1))
        self.register_buffer("mask", torch.ones(6, dtype=torch.bool))

    def forward(self, x: Tensor) -> Tensor:
        """Compute with the tensor that ``kind`` names."""
        h = self.layer(x)
        if self.kind == "written":
            with torch.no_grad():
                self.scale.mul_(0.9)
        ways = {
            "plain": lambda: h * self.plain,
            "scale": lambda: h + self.scale,
            "written": lambda: h * self.scale,
            "matrix": lambda: h @ self.matrix,
            "transposed": lambda: nn.functional.linear(h, self.matrix.t()),
            "part": lambda: h + self.rows[1],
            "channel": lambda: h * self.channel,
            "frozen": lambda: h * self.frozen,
            "learnt": lambda: h * self.learnt,
            "scalar": lambda: h * self.scalar,
            "places": lambda: h + self.places,
            "first factor": lambda: self.matrix[:5, :5] @ h,
            "mask": lambda: h * self.mask,
            "computed": lambda: h * self.scale.exp(),
            "data alone": lambda: self.layer(x * self.scale),
        }
        found: Tensor = ways[self.kind]()
        return found


def used(kind: str) -> set[str]:
    net = nn.Sequential(Uses(kind))
    with gv.record() as rec:
        net(torch.randn(2, 5, 6)).sum().backward()
    return {*Unlearned(Operations(rec.graph)).by_operation.values()}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("plain", "0.plain"),
        ("scale", "0.scale"),
        ("matrix", "0.matrix"),
        ("transposed", "0.matrix"),
        ("part", "0.rows"),
        ("channel", "0.channel"),
    ],
)
def test_what_is_used_like_a_parameter(kind: str, name: str) -> None:
    assert used(kind) == {name}


@pytest.mark.parametrize(
    "kind",
    """written frozen learnt scalar places first_factor mask computed data_alone""".split(),
)
def test_what_is_not(kind: str) -> None:
    assert used(kind.replace("_", " ")) == set()
