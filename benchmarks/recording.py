"""What ``gradviz.record()`` costs for each recorded operation: ``python -m
benchmarks.recording``."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

import gradviz as gv
from benchmarks.common import conditions, spread, table
from gradviz.watch.walk import walk

ROUNDS = 9


def small_operations() -> Tensor:
    """1,000 operations on 3 numbers: the cost of torch itself is as small as it gets."""
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = torch.tensor([0.5, 0.5, 0.5])
    for _ in range(200):
        c = a * b
        d = c + a
        e = torch.tanh(d)
        f = e.view(3, 1)
        loss = f.sum()
    return loss


def long_chain() -> Tensor:
    """1,000 operations in one chain on 64×64."""
    h = torch.ones(64, 64, requires_grad=True)
    for _ in range(500):
        h = h * 0.5
        h = torch.relu(h)
    return h.sum()


def training_step() -> Tensor:
    """Three steps of a small convolutional network, backward and optimizer included."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 30 * 30, 10),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    images, labels = torch.ones(8, 3, 32, 32), torch.zeros(8, dtype=torch.long)
    for _ in range(3):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
    return loss


def timed(run: Callable[[], Tensor], recorded: bool) -> tuple[float, float, int]:
    """(seconds of the run, seconds to make its graph with names and lines, recorded calls)."""
    context: Any = gv.record() if recorded else nullcontext()
    start = time.perf_counter()
    with context as recording:
        loss = run()
    middle = time.perf_counter()
    calls = len(recording.graph.calls) if recorded else 0
    end = time.perf_counter()
    if loss.grad_fn is not None:
        walk([loss.grad_fn])
    return middle - start, end - middle, calls


def main() -> str:
    """Measures and returns the section of the results page."""
    rows = []
    for run in (small_operations, long_chain, training_step):
        timed(run, True)  # warm up
        added, ratio, after = [], [], []
        for _ in range(ROUNDS):
            plain, _, _ = timed(run, False)
            recorded, graph, calls = timed(run, True)
            added.append((recorded - plain) / calls)
            ratio.append(recorded / plain)
            after.append(graph / calls)
        rows.append(
            [
                run.__doc__ or "",
                f"{calls:,}",
                spread(added, 1e6),
                spread(ratio, digits=2),
                spread(after, 1e6),
                f"{(statistics.median(added) + statistics.median(after)) * 1e6:.1f}",
            ]
        )
    head = [
        "program",
        "calls",
        "added, µs a call",
        "× unrecorded",
        "graph afterwards, µs a call",
        "both",
    ]
    return f"""## Recording

Conditions: {conditions()}.

Each round runs the program once without and once with `gradviz.record()`, default settings: source line and position
of every call, values of small tensors, versions, memory, nodes. *Added* is the difference for each recorded call,
paired within a round; *graph afterwards* makes `recording.graph`, names resolved. Numbers are medians with the lowest
and highest of {ROUNDS} rounds.

{table(head, rows)}
"""


if __name__ == "__main__":
    print(main())
