"""Graphs of iterations that are over, which a running sum, a list or a module keeps alive."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Set
from typing import Any

import torch

from gradviz.graph.findings import Cause
from gradviz.graph.records import (
    Call,
    Tensor,
)
from gradviz.names.frames import frames, keepers, list_of, whole_code
from gradviz.why.code.comparisons import bracketed
from gradviz.why.code.rewritten import parsed
from gradviz.why.rules.many import pattern
from gradviz.why.rules.silent.silent import Silent
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code, say

ITERATIONS = 3  # from here on a module's running value keeps more with every one


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
                value=_added(maker),
            )


def _added(maker: Call | None) -> Code:
    """Return the code of what a statement adds to a running sum, so that a method can be called on
    it; "loss" where that cannot be read."""
    statement = parsed(whole_code(maker) if maker else "")
    value = None
    if isinstance(statement, ast.AugAssign):
        value = statement.value
    elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp):
        value, target = statement.value.right, ast.unparse(statement.targets[0])
        value = value if ast.unparse(statement.value.left) == target else None
    return _callable_on(value)


def _appended(maker: Call) -> Code:
    """Return the code of what is added to a list of what a call made; "loss" where that cannot be
    read."""
    codes = [code for _, _, code in keepers(maker) if list_of(code)]
    statement = parsed(codes[0] if codes else "")
    call = getattr(statement, "value", None)
    return _callable_on(call.args[0] if isinstance(call, ast.Call) and call.args else None)


def _callable_on(value: Any) -> Code:
    """Return the code of an expression on which a method can be called."""
    if value is None:
        return Code("loss")
    return Code(bracketed(ast.unparse(value)))


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
                value=_appended(maker),
            )


def states_kept(asked: Silent) -> Explanation | None:
    """Tell of running values that modules keep, as a running mean, and to which each iteration adds
    what has a grad_fn: no backward runs through what they are made with, and nothing frees it."""
    behind = {path: (t, _unread_behind(asked, t)) for path, t in _kept_by_modules(asked)}
    found = {
        path: (t, unread)
        for path, (t, unread) in behind.items()
        if _iterations_of(asked, unread) >= ITERATIONS
    }
    if not found:
        return None
    makers = [asked.facts.maker.get(t.id) for t, _ in found.values()]
    kept = {node for _, unread in found.values() for node in unread}
    writes = {maker.source: maker for maker in makers if maker is not None}
    return asked.answer(
        Cause.GRAPH_KEPT,
        "statistic",
        calls=[*writes.values()],
        tensors=[t.id for t, _ in found.values()],
        nodes=[t.gradient_edge.node_id for t, _ in found.values() if t.gradient_edge],
        names=pattern([*found]),
        n=len(found),
        iterations=_iterations_of(asked, kept),
        kept=len(kept),
        lines=[Code(whole_code(write)) for write in writes.values()],
    )


def _unread_behind(asked: Silent, tensor: Tensor) -> set[int]:
    """Return the nodes behind a result through which no backward ran; none where one ran through
    its own."""
    edge = tensor.gradient_edge
    if edge is None or edge.node_id in asked.facts.ran:
        return set()
    return asked.facts.reachable([edge.node_id]) - asked.facts.ran


def _kept_by_modules(asked: Silent) -> Iterator[tuple[str, Tensor]]:
    """Yield the last states of results that modules hold, in buffers or attributes, and their
    names."""
    for path, part in asked.parts():
        held = {**vars(part), **dict(part.named_buffers(recurse=False))}
        for name, one in held.items():
            own = asked.object_of(one) if isinstance(one, torch.Tensor) else None
            state = asked.facts.latest_state.get(own) if own is not None else None
            if state is not None and not state.is_leaf:
                yield ".".join(filter(None, (path, name))), state


def _iterations_of(asked: Silent, nodes: Set[int]) -> int:
    """Return in how many iterations, each ended by a backward, one line made such nodes."""
    ends = sorted(asked.ended.values())
    iterations: dict[Any, set[int]] = {}
    for node in nodes:
        call = asked.graph.call.get(asked.graph.node[node].call_id)
        if call is not None:
            lines = tuple((frame.file, frame.line) for frame in frames(call))
            iterations.setdefault(lines, set()).add(bisect_left(ends, call.id))
    return max(map(len, iterations.values()), default=0)


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
