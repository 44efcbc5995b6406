"""Of the error with which DistributedDataParallel waits for gradients: which parameters it waits for, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from in_parallel import group_of_one, ran_in_parallel

import gradviz as gv

PROGRAM = """
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(8, 16)
        self.mu = nn.Linear(16, 4)
        self.logvar = nn.Linear(16, 4)

    def forward(self, x):
        h = torch.relu(self.enc(x))
        return self.mu(h), {of_logvar}

model = DistributedDataParallel(Net(){options})
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    x = torch.randn(4, 8)
    mu, logvar = model(x)
    loss = {loss}
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
OF_MU = "((mu - x[:, :4]) ** 2).mean()"
OF_BOTH = f"{OF_MU} + logvar.exp().mean()"


@pytest.fixture(autouse=True)
def group() -> Iterator[None]:
    """A group of this one process."""
    with group_of_one():
        yield


def ran(
    loss: str, of_logvar: str = "self.logvar(h)", options: str = ""
) -> tuple[Any, Any, dict[str, Any]]:
    """Return the recording of a program, what it raised, and its variables."""
    return ran_in_parallel(PROGRAM.format(loss=loss, of_logvar=of_logvar, options=options))


@pytest.mark.parametrize(
    ("of_logvar", "cause", "line"),
    [
        ("self.logvar(h)", "not_in_loss", "self.logvar(h)"),
        ("None", "branch_not_taken", "self.logvar ="),
    ],
)
def test_what_is_waited_for_is_told_with_its_place(of_logvar: str, cause: str, line: str) -> None:
    recording, error, names = ran(OF_MU, of_logvar)
    assert "finished reduction" in str(error)
    told = gv.explain(error=error, recording=recording, names=names)
    assert told.cause == cause
    assert not told.is_observed
    assert line in str(told)
    assert "logvar.{weight,bias}" in str(told)
    assert "find_unused_parameters=True" in told.mend


@pytest.mark.parametrize(
    ("loss", "options"), [(OF_MU, ", find_unused_parameters=True"), (OF_BOTH, "")]
)
def test_either_mend_takes_the_error_away(loss: str, options: str) -> None:
    assert ran(loss, options=options)[1] is None
