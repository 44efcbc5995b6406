"""How long ``%gradviz why`` and the picture of its cell take after a recording: ``python -m
benchmarks.why``."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

import gradviz as gv
from benchmarks.common import conditions, table
from benchmarks.recording import GPT

REPEATS = 3  # the fastest counts
STEPS = (50, 200)  # of a training loop


class Program(NamedTuple):
    """A program that can run once, and what is asked about afterwards."""

    run: Callable[[], Tensor]
    asked: tuple[Any, ...]


def gpt_step(width: int = 48) -> Program:
    """A step of a GPT-2 of twelve blocks with AdamW: 148 parameters."""
    torch.manual_seed(0)
    model = GPT(width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    words = torch.randint(0, 50257, (2, 16))

    def run() -> Tensor:
        optimizer.zero_grad()
        loss: Tensor = model(words)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        return loss

    return Program(run, (model, optimizer))


def classifier_loop(steps: int) -> Program:
    """A training loop of two linear layers, a softmax too much, and AdamW."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2), nn.Softmax(dim=1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    x, y = torch.randn(32, 4), torch.arange(32) % 2

    def run() -> Tensor:
        for _ in range(steps):
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        return loss

    return Program(run, (model, optimizer))


def recurrent(steps: int = 200) -> Program:
    """One recurrent cell in 200 steps, and its backward."""
    torch.manual_seed(0)
    cell, xs = nn.RNNCell(4, 16), torch.randn(steps, 8, 4)

    def run() -> Tensor:
        cell.zero_grad()
        h = torch.zeros(8, 16)
        for x in xs:
            h = cell(x, h)
        loss = h.pow(2).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    return Program(run, (cell,))


PROGRAMS: dict[str, Callable[[], Program]] = {
    "GPT-2 of 12 blocks, width 48: one step with AdamW": gpt_step,
    **{
        f"{steps:,} steps of a small classifier with AdamW": partial(classifier_loop, steps)
        for steps in STEPS
    },
    "a recurrent cell in 200 steps, and its backward": recurrent,
}


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return how long a call takes, and what it returns."""
    gc.collect()
    start = time.perf_counter()
    found = run()
    return time.perf_counter() - start, found


def measured(make: Callable[[], Program], repeats: int = REPEATS) -> list[str]:
    """Return the cells of one row: the recording, its graph, the answer, its words and the picture
    of the recording."""
    runs = [once(make()) for _ in range(repeats)]
    best = [min(times) for times in zip(*(run.seconds for run in runs), strict=True)]
    return [f"{runs[0].calls:,}", *(f"{size:.2f}" for size in best), runs[0].cause]


class Once(NamedTuple):
    """What one run took, part by part, and what was answered."""

    seconds: list[float]
    calls: int
    cause: str


def once(program: Program) -> Once:
    """Record a program once, ask about it, and draw it."""
    with gv.record() as recording:
        recorded, loss = seconds(program.run)
    graph, drawn = seconds(lambda: recording.graph)
    answer, told = seconds(lambda: recording.explain(*program.asked, loss))
    words, _ = seconds(lambda: told.html)
    picture, _ = seconds(lambda: recording.figure().html)
    return Once([recorded, graph, answer, words, picture], len(drawn.calls), str(told.cause))


def rows(repeats: int = REPEATS) -> list[list[str]]:
    """Return a row for each program."""
    return [[name, *measured(make, repeats)] for name, make in PROGRAMS.items()]


def main() -> str:
    """Measures and returns the section of the results page."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        found = rows()
    finally:
        torch.set_num_threads(threads)
    head = ["program", "calls", "recording", "graph", "why", "words", "picture", "answer"]
    return f"""## Why

Conditions: {conditions()}, one thread.

Seconds: the recorded run itself; its graph, names resolved; `explain` of the model, the optimizer and the loss; its
words as HTML; and the picture of the whole recording, as a marked cell shows it. The fastest of {REPEATS}.

{table(head, found)}
"""


if __name__ == "__main__":
    print(main())
