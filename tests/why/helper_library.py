"""A small library as users have one: what the scenario programs call into. Not a test."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


def detached_mean(rows: torch.Tensor) -> torch.Tensor:
    """The mean row, as a "safe" copy."""
    safe = rows.detach()
    return safe.mean(0)


def pool_with_numpy(rows: torch.Tensor) -> torch.Tensor:
    """The maximum of every column, found by numpy."""
    array = rows.detach().numpy()
    return torch.from_numpy(array.max(axis=0))


def to_numpy(values: torch.Tensor) -> Any:
    """What a plotting helper does first."""
    return values.numpy()


def normalise_(values: torch.Tensor) -> torch.Tensor:
    """Scale in place to norm 1."""
    values.div_(values.norm().item())
    return values


@torch.no_grad()
def features_of(body: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    """Features "for evaluation"."""
    return body(batch)


@torch.no_grad()
def update_average(teacher: nn.Module, student: nn.Module, keep: float = 0.9) -> None:
    """Exponential moving average of the student's weights."""
    for mean, live in zip(teacher.parameters(), student.parameters(), strict=True):
        mean.mul_(keep).add_(live, alpha=1 - keep)


def accuracy_loss(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The share of wrong answers: it has no derivative."""
    return (logits.argmax(1) != target).float().mean()


def sgd_by_hand(weights: dict[str, torch.Tensor], rate: float = 0.1) -> dict[str, torch.Tensor]:
    """One step of gradient descent, as new tensors."""
    return {name: w - rate * w.grad for name, w in weights.items() if w.grad is not None}


class Recurrent(nn.Module):
    """Keeps its hidden state from call to call."""

    def __init__(self, size: int = 3) -> None:
        super().__init__()
        self.cell = nn.RNNCell(size, size)
        self.hidden = torch.zeros(1, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """One step."""
        self.hidden = self.cell(x, self.hidden)
        return self.hidden


class LowRank(nn.Module):
    """A frozen linear layer with a trainable low-rank path beside it."""

    def __init__(self, width: int = 4, rank: int = 2) -> None:
        super().__init__()
        self.base = nn.Linear(width, width).requires_grad_(False)
        self.A = nn.Parameter(torch.randn(rank, width))
        self.B = nn.Parameter(torch.zeros(width, rank))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The frozen answer and its correction."""
        return self.base(x) + x @ self.A.T @ self.B.T


class Meter:
    """Adds up whatever it is given."""

    def __init__(self) -> None:
        self.sum: Any = 0.0

    def update(self, value: Any) -> None:
        """Add one value."""
        self.sum = self.sum + value
