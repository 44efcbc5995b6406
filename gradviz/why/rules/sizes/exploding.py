"""A gradient that grows from module to module, or along one path of nodes."""

from __future__ import annotations

import math

from gradviz.graph.findings import Cause
from gradviz.graph.preview import number
from gradviz.why.evidence.measured import Block
from gradviz.why.rules.sizes.size_profile import profile
from gradviz.why.rules.sizes.sizes import CHAIN, FOLD, Sizes, fold_text, title_of
from gradviz.why.shown.explanation import Explanation

# So many times smaller than its module's gradient is that of a bias whose terms cancel.
CANCELS = 1e4


def growing(sizes: Sizes) -> Explanation | None:
    """Tell of flows that grow from module to module by more than ``FOLD`` in all."""
    arriving = [(b, x) for b in sizes.blocks if (x := sizes.flow(b)) and math.isfinite(x)]
    all_arrive = bool(arriving) and len(arriving) == len(sizes.blocks)
    at_biases = ((b, _at_bias(sizes, b)) for b in sizes.blocks)
    measured = arriving if all_arrive else [(b, x) for b, x in at_biases if x]
    blocks, flows = [b for b, _ in measured], [1 / x for _, x in measured]
    if not sizes.goes_on(blocks, flows):
        return None
    return sizes.answer(
        Cause.EXPLODING,
        "arriving" if all_arrive else "at_biases",
        nodes=sizes.between(blocks, flows),
        flows=profile(map(title_of, blocks), [x for _, x in measured], FOLD),
        **sizes.trend(blocks, flows, grows=True),
    )


def _at_bias(sizes: Sizes, block: Block) -> float | None:
    """Return how large the gradient of a module's bias is; None where it says nothing of what
    arrives: what the terms of a loss send there may cancel, as in a difference of two outputs."""
    if not block.bias or (sizes.run is not None and block.bias * CANCELS <= block.norm):
        return None
    return block.bias


def chain(sizes: Sizes) -> Explanation | None:
    """Tell of growth along one path of nodes, where the recording has the numbers: one cell
    used many times."""
    path = steepest_path(sizes)
    if len(path) < CHAIN:
        return None
    start = sizes.sizes.get(path[-1][0], 0.0)
    end = sizes.sizes.get(path[0][0], 0.0) * path[0][1]
    fold = end / start if start else 0.0
    scale = max(f for _, f in path)
    # What arrived has to have grown as well, and without the largest factor: that may be a
    # scale that was chosen.
    if fold < FOLD * scale or sum(math.log(f) for _, f in path) < math.log(FOLD * scale):
        return None
    names = [sizes.graph.node[n].name for n, _ in path]
    name = max(set(names), key=names.count)
    return sizes.answer(
        Cause.EXPLODING,
        "path",
        nodes=[path[0][0]],
        fold=fold_text(fold),
        nodes_on_path=len(path),
        node=name,
        times=names.count(name),
        factor=number(fold ** (1 / len(path))),
    )


def steepest_path(sizes: Sizes) -> list[tuple[int, float]]:
    """Return the nodes of the path along which a gradient grows most, from the input to the
    loss, each with what it multiplies by."""
    factors = sizes.factors()
    best: dict[int, tuple[float, int | None]] = {}  # the growth so far, and from which node
    for step in sizes.ran:
        here = step.event.node_id
        total = best.setdefault(here, (0.0, None))[0]
        for e in sizes.graph.edges_from.get(here, ()):
            if e.next_node_id is None or sizes.to_leaf(e.next_node_id):
                continue  # what a parameter gets is multiplied by activations
            now = total + math.log(factors.get((here, e.next_index), 1.0))
            if now > best.get(e.next_node_id, (-math.inf,))[0]:
                best[e.next_node_id] = now, here
    at: int | None = max(best, key=lambda n: best[n][0], default=None)
    path = []
    while at is not None and (before := best[at][1]) is not None:
        if (grown := math.exp(min(best[at][0] - best[before][0], 700.0))) > 1.1:
            path.append((before, grown))
        at = before
    return path
