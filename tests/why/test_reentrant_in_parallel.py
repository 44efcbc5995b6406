"""Of a reentrant checkpoint inside of DistributedDataParallel: where a parameter is made ready twice, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from in_parallel import group_of_one, ran_in_parallel

import gradviz as gv

BLOCK = """
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 2)
    def forward(self, x):
        h = checkpoint(self.a, self.b.weight.new_ones(3, 4) * x, use_reentrant={reentrant})
        return self.b(h)

x = torch.randn(3, 4, requires_grad=True)
"""
PLAIN = """
model = DistributedDataParallel(Block(){options})
model(x).pow(2).sum().backward()
"""
HELD = """
class Trainer:
    def __init__(self, model):
        self.net = DistributedDataParallel(model{options})
    def step(self, x):
        loss = self.net(x).pow(2).sum()
        loss.backward()
Trainer(Block()).step(x)
"""
IN_A_FUNCTION = """
def train(net, batches):
    for batch in batches:
        loss = net(batch).abs().mean()
        loss.backward()
train(DistributedDataParallel(Block(){options}), [x, x])
"""
OF_ANOTHER_CAUSE = """
model = DistributedDataParallel(Block(){options})
model(x).pow(2).sum()
raise RuntimeError("Expected to mark a variable ready only once.")
"""
LAYOUTS = (PLAIN, HELD, IN_A_FUNCTION)
LOOKING = ", find_unused_parameters=True"


@pytest.fixture(autouse=True)
def group() -> Iterator[None]:
    """A group of this one process."""
    with group_of_one():
        yield


def ran(layout: str, reentrant: str, options: str) -> tuple[Any, Any, Any]:
    """Return the recording of a program, what it raised, and its variables."""
    return ran_in_parallel(BLOCK.format(reentrant=reentrant) + layout.format(options=options))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_checkpoint_is_told(layout: str) -> None:
    recording, error, names = ran(layout, "True", LOOKING)
    assert "ready only once" in str(error)
    told = gv.explain(error=error, recording=recording, names=names)
    assert (told.cause, told.form) == ("checkpoint_differs", "reentrant_in_parallel")
    assert "checkpoint(self.a" in str(told)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("reentrant", "options"), [("False", LOOKING), ("True", "")])
def test_either_mend_takes_the_error_away(layout: str, reentrant: str, options: str) -> None:
    assert ran(layout, reentrant, options)[1] is None


@pytest.mark.parametrize(("reentrant", "options"), [("False", LOOKING), ("True", "")])
def test_an_error_of_the_same_text_is_left_alone(reentrant: str, options: str) -> None:
    recording, error, names = ran(OF_ANOTHER_CAUSE, reentrant, options)
    told = gv.explain(error=error, recording=recording, names=names)
    assert "ready only once" in str(error)
    assert told.cause == "not_known"
