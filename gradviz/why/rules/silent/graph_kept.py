"""Graphs of iterations that are over, which a running sum or a list keeps alive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set
from typing import Any

from gradviz.graph.findings import Cause
from gradviz.graph.records import (
    Call,
    Tensor,
)
from gradviz.names.frames import frames
from gradviz.why.rules.silent.silent import Silent
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say


def sums_kept(asked: Silent) -> Iterator[Explanation]:
    """Tell of living results that hold graphs of several backwards that are over: a running
    loss."""
    for t, node_id in results_not_run(asked):
        behind = asked.facts.reachable([node_id])
        iterations = one_after_another(asked, behind & asked.ended.keys())
        if iterations > 1 and asked.concerns(behind):
            maker = asked.facts.maker.get(t.id)
            yield asked.answer(
                Cause.GRAPH_KEPT,
                "sum",
                subject=t.name or say("silent.running_sum"),
                calls=[maker] if maker else [],
                tensors=[t.id],
                nodes=[node_id],
                iterations=iterations,
                kept=len(behind),
            )


def one_after_another(asked: Silent, roots: Set[int]) -> int:
    """Return of how many iterations backwards are that are over: the same lines made what they
    began at, one after the one before had ended. Losses that were all there before the first
    backward are of one, and so are those of several lines."""
    calls = {root: asked.graph.call.get(asked.graph.node[root].call_id) for root in roots}
    made = [(call.id, root, call) for root, call in calls.items() if call is not None]
    iterations, last = Counter[Any](), dict[Any, int]()
    for call_id, root, call in sorted(made):
        lines = tuple((frame.file, frame.line) for frame in frames(call))
        if call_id > last.get(lines, -1):
            iterations[lines] += 1
            last[lines] = asked.ended[root]
    return max(iterations.values(), default=0)


def results_not_run(asked: Silent) -> Iterator[tuple[Tensor, int]]:
    """Yield the living results through whose node no backward ran, each with the node; none
    where at most one backward is over."""
    if len(asked.ended) < 2:
        return
    for t in asked.facts.latest_state.values():
        if t.is_leaf or t.gradient_edge is None or t.gradient_edge.node_id in asked.facts.ran:
            continue
        if t.object_id in asked.wanted or (t.name and t.object_id in asked.living):
            yield t, t.gradient_edge.node_id


def lists_kept(asked: Silent) -> Iterator[Explanation]:
    """Tell of results of one line that are alive, each with the graph of a backward that is
    over: a list of losses."""
    for source, found in results_of_lines(asked).items():
        found.sort()
        roots = [t.gradient_edge.node_id for _, t in found if t.gradient_edge]
        # Losses that were all there before the first backward are a batch, and go when it is
        # done.
        one_by_one = all(
            asked.ended[node] < maker.id for node, (maker, _) in zip(roots, found[1:], strict=False)
        )
        if not source or len(found) < 3 or not one_by_one:
            continue
        if asked.concerns(asked.facts.reachable(roots)):
            maker = found[0][0]
            last = found[-1][1]
            yield asked.answer(
                Cause.GRAPH_KEPT,
                "list",
                calls=[maker],
                tensors=[last.id],
                nodes=[roots[-1]],
                results=len(found),
                code=asked.words.code(maker),
            )


def results_of_lines(asked: Silent) -> dict[Any, list[tuple[Call, Tensor]]]:
    """Return the living results on which a backward was called that is over, and their makers,
    by line."""
    found: dict[Any, list[tuple[Call, Tensor]]] = {}
    for t in asked.facts.latest_state.values() if len(asked.ended) > 1 else ():
        maker = asked.facts.maker.get(t.id)
        if maker is None or t.gradient_edge is None or t.object_id not in asked.living:
            continue
        if t.gradient_edge.node_id in asked.ended:
            found.setdefault(maker.source, []).append((maker, t))
    return found
