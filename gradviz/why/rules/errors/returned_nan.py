"""Anomaly mode stopped a backward at a node that made NaN. Knows no torch."""

from __future__ import annotations

from gradviz.graph.findings import Cause
from gradviz.graph.records import Node
from gradviz.why.evidence.measured import all_finite, numbers
from gradviz.why.evidence.messages import node_named
from gradviz.why.rules.errors.failure import Failure
from gradviz.why.rules.silent.silent import lines_once
from gradviz.why.shown.explanation import Explanation


def returned_nan(failure: Failure) -> Explanation | None:
    """Tell which call's backward made NaN."""
    name = node_named(failure.text)
    nodes = _nodes(failure, name)
    makers = [call for node in nodes if (call := failure.maker(node)) is not None]
    if not makers:
        return None
    before = _broken_before(failure, nodes)
    maker = None if before is None else failure.maker(before)
    if before is not None and maker is not None:
        return failure.answer(
            Cause.NAN,
            "returned_after",
            calls=[maker],
            also_at=[*lines_once(makers), failure.call],
            nodes=[before, *nodes],
            node=name,
            first=before.name,
            code=failure.code(maker),
        )
    return failure.answer(
        Cause.NAN,
        "returned",
        calls=lines_once(makers),
        also_at=[failure.call],
        nodes=nodes,
        node=name,
        code=[failure.code(call) for call in lines_once(makers)],
    )


def _broken_before(failure: Failure, nodes: list[Node]) -> Node | None:
    """Return the node that got finite gradients and sent others, where it is another than these:
    anomaly mode looks for NaN alone, and infinity comes before."""
    last = max((event.run for event in failure.facts.nodes_ran), default=None)
    for event in failure.facts.nodes_ran:
        if event.run == last and _is_broken(*event.sent, *event.sent_norms):
            node = failure.graph.node[event.node_id]
            came = _is_broken(*event.arrived, *event.arrived_norms)
            return None if came or node in nodes else node
    return None


def _is_broken(*shown: str | None) -> bool:
    """Say whether NaN or infinity is among numbers, as they are shown."""
    return not all(all_finite(numbers(text) or []) for text in shown if text is not None)


def not_recorded(failure: Failure) -> Explanation:
    """Tell that a node made NaN which no recording knows."""
    return failure.answer(
        Cause.NAN,
        "returned_unseen",
        calls=[failure.call],
        node=node_named(failure.text),
        record=failure.paths.record,
    )


def _nodes(failure: Failure, name: str) -> list[Node]:
    """Return the node of this name that ran last; where none was seen to run, all of this name on
    the way from what the backward was called on."""
    node = failure.graph.node
    ran = [node[e.node_id] for e in failure.facts.nodes_ran if node[e.node_id].name == name]
    if ran:
        return ran[-1:]
    run = failure.run
    met = failure.facts.reachable(run.roots if run else [n.id for n in failure.graph.nodes])
    return [n for n in failure.graph.nodes if n.id in met and n.name == name]
