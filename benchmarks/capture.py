"""Capture and DOT source of a finished graph, against torchviz and a bare walk: ``python -m
benchmarks.capture``."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import torchviz
from torch import Tensor

from benchmarks.common import MIX, bare_walk, conditions, mixed_graph, seconds, spread, table
from gradviz.watch.capture import capture
from gradviz.watch.walk import walk

SIZES = {2_000: 7, 20_000: 5, 200_000: 3}  # nodes: rounds
# seconds; what would take longer (judged by the size before, growing in proportion) is left out
DOT_LIMIT = 20.0


def draw(loss: Tensor) -> str:
    """Our DOT source of the whole graph, node by node, as the nodes view builds it before anything
    is folded."""
    from gradviz.picture import dot, nodes

    return dot.dot(nodes.scene(capture(loss)))


RUNS: dict[str, Callable[[Tensor], object]] = {
    "bare walk": lambda loss: bare_walk(loss.grad_fn),
    "capture": capture,
    "torchviz": lambda loss: torchviz.make_dot(loss).source,
    "capture + DOT": draw,
}


def fresh(name: str, steps: int) -> float:
    """One run on a graph that nobody has looked at. It is walked afterwards, so that freeing it is
    safe."""
    loss = mixed_graph(steps)
    taken = seconds(lambda: RUNS[name](loss))
    walk([loss.grad_fn])
    return taken


def main() -> str:
    """Measures and returns the section of the results page."""
    per_step = bare_walk(mixed_graph(1_000).grad_fn) / 1_000
    rows, slow = [], 0.0
    for size, rounds in SIZES.items():
        names = [n for n in RUNS if n != "capture + DOT" or slow * 10 < DOT_LIMIT]
        steps = round(size / per_step)
        times: dict[str, list[float]] = {n: [] for n in names}
        for _ in range(rounds):  # paired: each round runs everything once, in turn
            for name in names:
                times[name].append(fresh(name, steps))
        slow = statistics.median(times["capture + DOT"]) if "capture + DOT" in times else DOT_LIMIT
        for name in names:
            against_walk = [a / b for a, b in zip(times[name], times["bare walk"], strict=True)]
            against_viz = [b / a for a, b in zip(times[name], times["torchviz"], strict=True)]
            rows.append(
                [
                    f"{size:,}",
                    name,
                    spread(times[name], 1_000),
                    f"{statistics.median(times[name]) / size * 1e6:.2f}",
                    spread(against_walk),
                    spread(against_viz, digits=2),
                ]
            )
    head = ["nodes", "", "ms", "µs a node", "× the bare walk", "times torchviz's rate"]
    return f"""## Capture and DOT

Conditions: {conditions()}.

The graph: {MIX}.

Every run looks at a fresh graph; each round runs everything once, and
ratios are taken within a round. Numbers are medians with the lowest and highest of all rounds. `torchviz` is
`make_dot(loss).source`; `capture` reads every field of the data model, saved tensors included; `capture + DOT` adds
the DOT source of the whole graph, node by node. It is left out where it would take more than {DOT_LIMIT:.0f} s: the
package itself folds or lists such graphs instead of drawing them.

{table(head, rows)}
"""


if __name__ == "__main__":
    print(main())
