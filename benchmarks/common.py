"""What the benchmarks share: graphs of ordinary operations, paired timing, Markdown tables."""

from __future__ import annotations

import gc
import os
import platform
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterable
from importlib.metadata import version
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

MIX = (
    "one long residual network on a batch of 4×4: linear, tanh, product with a parameter, residual"
    " sum; every fourth step also unbind and stack, every tenth a view, a slice and a concatenation"
)


def mixed_graph(steps: int) -> Tensor:
    """The output of ``steps`` steps of ``MIX``; about 7 nodes a step."""
    weight, bias, scale = (torch.full(s, 0.1, requires_grad=True) for s in ((4, 4), (4,), (4,)))
    h = torch.ones(4, 4, requires_grad=True)
    for i in range(steps):
        h = h + torch.tanh(F.linear(h, weight, bias)) * scale
        if i % 4 == 0:
            h = torch.stack(h.unbind(0))
        if i % 10 == 0:
            h = torch.cat([h.view(2, 8)[:1], h.view(2, 8)[1:]]).view(4, 4)
    return h.sum()


def bare_walk(root: Any) -> int:
    """The floor: every node read once, nothing kept."""
    seen, todo = {root}, [root]
    while todo:
        for child, _ in todo.pop().next_functions:
            if child is not None and child not in seen:
                seen.add(child)
                todo.append(child)
    return len(seen)


def seconds(run: Callable[[], object]) -> float:
    """Time of one call, on a thread with room for torchviz's recursion, the collector in its usual
    state."""
    found: list[float] = []

    def timed() -> None:
        gc.collect()
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)

    sys.setrecursionlimit(10**7)
    threading.stack_size(1 << 30)
    thread = threading.Thread(target=timed)
    thread.start()
    thread.join()
    return found[0]


def spread(values: Iterable[float], scale: float = 1.0, digits: int = 1) -> str:
    """``"median (lowest–highest)"``."""
    scaled = [v * scale for v in values]
    return (
        f"{statistics.median(scaled):.{digits}f}"
        f" ({min(scaled):.{digits}f}–{max(scaled):.{digits}f})"
    )


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def conditions() -> str:
    """Where the numbers come from."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "torchviz"))
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    load = (
        f"load average {os.getloadavg()[0]:.1f} when measured"
        if hasattr(os, "getloadavg")
        else "load not known"
    )
    return f"Python {platform.python_version()}, {packages}, {machine}, {load}"
