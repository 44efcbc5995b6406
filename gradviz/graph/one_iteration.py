"""The part of a graph in which each loop has one iteration. Knows no torch."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from gradviz.graph.iterations import Alike, Iterations
from gradviz.graph.operations import Operations
from gradviz.graph.part import Kept, part
from gradviz.graph.records import Graph, Hooked, Note, NoteKind, Wrote


def one_iteration(graph: Graph, wanted: Collection[int] = ()) -> Graph | None:
    """Return the graph without the iterations for which another one stands: see ``Iterations``.

    Args:
        graph: of a recording.
        wanted: ids of calls that are looked at, as in ``Iterations``.

    Returns:
        The part. A note tells of each loop how many iterations there are, and how its losses went.
        None: no iterations are alike.

    Example:
        >>> one_iteration(Graph()) is None
        True
    """
    operations = Operations(graph)
    iterations = Iterations(operations, wanted)
    if not iterations.all:
        return None
    gone = {i for alike in iterations.all for i in _calls_of_others(graph, operations, alike)}
    calls = {call.id for call in graph.calls} - gone
    nodes = _nodes_of(graph, calls)
    found = part(graph, Kept(_tensors_of(graph, calls, nodes), calls, nodes))
    notes = [_note(iterations, alike) for alike in iterations.drawn]
    return found.replace(notes=[*notes, *graph.notes])


def _calls_of_others(graph: Graph, operations: Operations, alike: Alike) -> Iterable[int]:
    """Go through the calls, the backward and what only writes gradients included, from the first
    operation of an iteration that is left out up to that of the next one."""
    starts = [op.call.id for op in operations.all]
    end = max((call.id for call in graph.calls), default=0) + 1
    for k, some in enumerate(alike.iterations):
        if k != alike.chosen:
            yield from range(starts[some.start], [*starts, end][some.stop])


def _nodes_of(graph: Graph, calls: set[int]) -> set[int]:
    """Return the nodes that these calls made, and those of the leaves behind them."""
    made = {node.id for node in graph.nodes if node.call_id in calls}
    behind = {e.next_node_id for n in made for e in graph.edges_from.get(n, ())}
    return made | {n for n in behind if n is not None and graph.node[n].call_id is None}


def _tensors_of(graph: Graph, calls: set[int], nodes: set[int]) -> set[int]:
    """Return the states that these calls read, made and wrote, and the leaves of these nodes."""
    found = {i for call in graph.calls if call.id in calls for i in (*call.inputs, *call.outputs)}
    for event in graph.events:
        if isinstance(event, Wrote) and event.call_id in calls:
            found |= {event.before_id, event.after_id}
        elif isinstance(event, Hooked) and event.call_id in calls:
            found.add(event.tensor_id)
    leaves = {graph.node[n].leaf_id for n in nodes}
    return found | {i for i in leaves if i is not None}


def _note(iterations: Iterations, alike: Alike) -> Note:
    """Tell of iterations that are alike which of them is there, and how its one loss went from the
    first to that one."""
    operations = iterations.operations
    inside = alike.iterations[alike.chosen]
    is_inner = any(inside[0] in a.iterations[a.chosen] for a in iterations.drawn if a is not alike)
    fields: dict[str, int | str] = {
        "n": alike.times,
        "k": alike.chosen + 1,
        "differ": int(alike.differ),
        "inner": int(is_inner),
    }
    losses = [at for at in operations.starts if at in inside]
    first = alike.first(losses[0]) if len(losses) == 1 else None
    if first is not None:
        was, now = (_value(operations, at) for at in (first, *losses))
        if was and now:
            fields |= {"was": was, "now": now}
    return Note.of(NoteKind.ITERATIONS, **fields)


def _value(operations: Operations, at: int) -> str:
    """Return the one number that an operation made; "" where that is none, or not known."""
    made = operations.graph.tensor[operations.all[at].makes[-1]]
    return made.values or "" if made.shape == () else ""
