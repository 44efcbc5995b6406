"""Questions that several readers ask a graph. ``Graph`` in, plain values out; knows no torch."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gradviz.graph.records import (
    Accumulated,
    Backward,
    Call,
    Called,
    Changed,
    Edge,
    Graph,
    Node,
    NodeKind,
    NodeRan,
    SavedState,
    SavedTensor,
    Tensor,
    Wrote,
)

# Functions that read only the shape or dtype of their first tensor, and of every tensor but the
# first.
FACTORIES = frozenset(
    """empty_like zeros_like ones_like rand_like randn_like randint_like full_like new_empty
    new_zeros new_ones new_full new_empty_strided new""".split()
)
SHAPE_OF_OTHER = frozenset(
    "expand_as view_as reshape_as type_as to resize_as_ resize_as_sparse_ sum_to_size".split()
)


def read_by(call: Call) -> tuple[int, ...]:
    """The inputs whose values a call reads, and not only their shape."""
    return (
        ()
        if call.function in FACTORIES
        else call.inputs[:1]
        if call.function in SHAPE_OF_OTHER
        else call.inputs
    )


# Functions that write flags or gradients of a tensor, not its memory.
NO_MEMORY = frozenset(
    "backward autograd.grad grad requires_grad requires_grad_ retain_grad detach_".split()
)


class Unsure(NamedTuple):
    """A saved tensor whose state is not known, and whose memory may have been written after it was
    saved.

    ``used``: that write may have come before the node ran, so that what it sent may be wrong.
    """

    node: Node
    saved: SavedTensor
    used: bool


def unsure_saved(graph: Graph) -> list[Unsure]:
    """The saved tensors of which nothing good may be said. Without a recording, all whose state is
    not known."""
    unknown = [(n, s) for n in graph.nodes for s in n.saved if s.state is SavedState.UNKNOWN]
    if not unknown or not graph.calls:
        return [Unsure(n, s, False) for n, s in unknown]
    made: dict[int, int] = {}
    ran: dict[int, int] = {}
    writes: list[tuple[int, Wrote]] = []
    unwatched = {b.call_id: reachable(graph, b.roots) for b in graph.backwards if not b.watched}
    for at, event in enumerate(graph.events):
        if isinstance(event, Called):
            made[event.call_id] = at
            ran.update(dict.fromkeys(unwatched.get(event.call_id, ()), at))
        elif isinstance(event, NodeRan):
            ran[event.node_id] = at
        elif isinstance(event, Wrote) and _wrote_memory(graph, event):
            writes.append((at, event))
    found = []
    for node, saved in unknown:
        storages = _may_hold(graph, node, saved)
        born = -1 if node.call_id is None else made.get(node.call_id, -1)
        later = []
        for at, event in writes:
            here = storages is None or graph.tensor[event.after_id].storage_id in storages
            if here and at > born and event.call_id != node.call_id:
                later.append(at)
        if later:
            found.append(Unsure(node, saved, any(at < ran.get(node.id, -1) for at in later)))
    return found


def _wrote_memory(graph: Graph, event: Wrote) -> bool:
    before, after = graph.tensor[event.before_id], graph.tensor[event.after_id]
    if before.version != after.version or before.values != after.values:
        return True
    return before.values is None and graph.call[event.call_id].function not in NO_MEMORY


def changed_unseen(graph: Graph) -> set[int]:
    """The blocks of memory where other values stood later, and no recorded call wrote them: by
    numpy, for example."""
    written = {event.after_id for event in graph.events if isinstance(event, Wrote)}
    before: dict[int, Tensor] = {}
    found: set[int] = set()
    for tensor in graph.tensors:
        former = before.get(tensor.object_id)
        before[tensor.object_id] = tensor
        if former is None or tensor.id in written or None in (former.values, tensor.values):
            continue
        # Where a version was counted, torch itself raises when the saved tensor is used.
        stayed = former.storage_id == tensor.storage_id and former.version == tensor.version
        if stayed and former.values != tensor.values and tensor.storage_id is not None:
            found.add(tensor.storage_id)
    return found


def _may_hold(graph: Graph, node: Node, saved: SavedTensor) -> set[int | None] | None:
    """The blocks of memory in which a saved tensor of unknown state may lie; None: any."""
    call = graph.call.get(node.call_id)
    # a custom Function saves what it likes
    if call is None or saved.attribute.startswith("saved_"):
        return None
    tensors = call.outputs if saved.attribute.startswith("result") else call.inputs
    return {graph.tensor[i].storage_id for i in tensors}


def refused(graph: Graph, run: Backward, message: str) -> list[int]:
    """The tensors at which a backward raised before it ran a node.

    Of the inputs of its call those come first that it was called on. The weights to start with, and
    the tensors that ``autograd.grad`` was asked about, come after them. torch's message counts the
    former.

    Args:
        graph: of the recording.
        run: the backward.
        message: what it raised.

    Returns:
        Tensor ids: one where it is known which tensor raised, else all that the backward was called
        on.
    """
    inputs = graph.call[run.call_id].inputs
    if counted := re.search(
        r"element (\d{1,6}) of (?:tensors|variables)|\boutput\[(\d{1,6})\]", message
    ):
        at = int(counted[1] or counted[2])
        untracked = counted[1] is not None
        found = inputs[at : at + 1]
        return [i for i in found if not untracked or graph.tensor[i].requires_grad is False]
    roots = list(dict.fromkeys(inputs[: max(1, len(run.roots))]))
    if "scalar outputs" in message:  # torch asks for a single number
        return [
            i
            for i in roots
            if graph.tensor[i].shape is None or math.prod(graph.tensor[i].shape or ()) != 1
        ]
    return roots


def latest_states(graph: Graph) -> dict[int, Tensor]:
    """The last recorded state of every tensor object, by ``object_id``."""
    return {t.object_id: t for t in graph.tensors}


def reachable(graph: Graph, node_ids: Iterable[int]) -> set[int]:
    """Every node that a gradient starting at ``node_ids`` can meet, those included."""
    seen: set[int] = set()
    todo = list(node_ids)
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo += [
                e.next_node_id for e in graph.edges_from.get(node, ()) if e.next_node_id is not None
            ]
    return seen


def gradient_order(graph: Graph, node_ids: Iterable[int]) -> list[int]:
    """``node_ids`` in an order in which a gradient can meet them: a node before the nodes it sends
    to."""
    wanted = sorted(set(node_ids))
    if len(wanted) < 2:
        return wanted
    inside = set(wanted)
    nexts = {
        n: [e.next_node_id for e in graph.edges_from.get(n, ()) if e.next_node_id in inside]
        for n in wanted
    }
    return after_all(wanted, nexts)[::-1]


def after_all(ids: Iterable[int], before: Mapping[int, Sequence[int | None]]) -> list[int]:
    """``ids`` in an order in which each stands after everything in its list in ``before``, circles
    apart."""
    done, order = set[int](), list[int]()
    for start in ids:
        todo = [(start, False)]
        while todo:
            one, finished = todo.pop()
            if finished:
                order.append(one)
            elif one not in done:
                done.add(one)
                todo.append((one, True))
                todo += [(b, False) for b in reversed(before.get(one, ())) if b is not None]
    return order


def sent_gradients(graph: Graph) -> dict[tuple[int, int], str]:
    """What the last run that used an edge sent along it, by ``(node_id, next_index)``."""
    return {
        (g.node_id, g.next_index): g.preview for g in graph.gradients if g.next_index is not None
    }


def changes(graph: Graph) -> dict[tuple[int, int, int], Changed]:
    """Gradients that did not arrive as they were sent, by ``(run, node_id, input_nr)``."""
    return {(e.run, e.node_id, e.input_nr): e for e in graph.events if isinstance(e, Changed)}


def sent_labels(graph: Graph) -> dict[tuple[int, int], str]:
    """``sent_gradients``, each with what became of it before it arrived. A sum of several is not
    told there."""
    sent, changed = sent_gradients(graph), changes(graph)
    if not changed:
        return sent
    into = {(e.node_id, e.next_index): (e.next_node_id, e.input_nr) for e in graph.edges}
    last: dict[tuple[int, int], int] = {}
    parts: dict[tuple[int, int | None, int], list[tuple[int, int]]] = {}
    for g in graph.gradients:
        if g.next_index is not None and (slot := into.get((g.node_id, g.next_index))) is not None:
            parts.setdefault((g.run, *slot), []).append((g.node_id, g.next_index))
            last[g.node_id, g.next_index] = g.run
    for at, change in changed.items():
        if len(edges := parts.get(at, [])) == 1 and last[edges[0]] == change.run:
            sent[edges[0]] = way(change.before, change.after, change.hooks)
    return sent


def way(before: str | None, after: str | None, hooks: Sequence[int]) -> str:
    """
    >>> way("1", "10", [3]), way("1", "10", [3, 5]), way(None, "10", [])
    ('1 → hook → 10', '1 → 2 hooks → 10', 'nothing → unknown change → 10')
    """
    by = "unknown change" if not hooks else "hook" if len(hooks) == 1 else f"{len(hooks)} hooks"
    return f"{before or 'nothing'} → {by} → {after}"


def arrived_gradients(graph: Graph) -> dict[tuple[int, int], str]:
    """What the last run handed to a node, by ``(node_id, input_nr)``."""
    return {(g.node_id, g.input_nr): g.preview for g in graph.gradients if g.input_nr is not None}


def edges_into(graph: Graph) -> dict[int, list[Edge]]:
    """Edges by the node that they reach, in program order of the nodes that they leave."""
    table: dict[int, list[Edge]] = {}
    for e in graph.edges:
        if e.next_node_id is not None:
            table.setdefault(e.next_node_id, []).append(e)
    for edges in table.values():
        edges.sort(key=lambda e: (_program_order(graph, e.node_id), e.next_index))
    return table


def _program_order(graph: Graph, node_id: int) -> tuple[int, int]:
    # Ids, not sequence numbers: those count per thread and differ from process to process.
    node = graph.node.get(node_id)
    call = node.call_id if node else None
    return (-1 if call is None else call, -node_id if call is None else node_id)


def accumulations(graph: Graph) -> dict[int, list[Accumulated]]:
    """What each AccumulateGrad did, run by run, by node id."""
    table: dict[int, list[Accumulated]] = {}
    for event in graph.events:
        if isinstance(event, Accumulated):
            table.setdefault(event.node_id, []).append(event)
    return table


def sent_by_run(graph: Graph) -> dict[tuple[int, int, int], str]:
    """What each run sent along each edge, by ``(run, node_id, next_index)``."""
    return {
        (g.run, g.node_id, g.next_index): g.preview
        for g in graph.gradients
        if g.next_index is not None
    }


def accumulate_nodes(graph: Graph) -> dict[int, int]:
    """The AccumulateGrad node of every leaf object that has one, by ``object_id``."""
    table = {
        graph.tensor[n.leaf_id].object_id: n.id
        for n in graph.nodes
        if n.kind is NodeKind.ACCUMULATE_GRAD and n.leaf_id in graph.tensor
    }
    for t in graph.tensors:
        edge = t.gradient_edge
        if (
            edge
            and edge.node_id in graph.node
            and graph.node[edge.node_id].kind is NodeKind.ACCUMULATE_GRAD
        ):
            table.setdefault(t.object_id, edge.node_id)
    return table


def grads_now(graph: Graph) -> dict[int, str | None]:
    """``.grad`` by object id, in the middle of a backward too: a leaf's state is read again only
    when that ends."""
    leaf = {node: object_id for object_id, node in accumulate_nodes(graph).items()}
    stored: dict[int, str | None] = {}
    for e in graph.events:
        if isinstance(e, Accumulated) and e.node_id in leaf:
            stored[leaf[e.node_id]] = e.stored
        elif isinstance(e, Wrote):
            stored.pop(graph.tensor[e.after_id].object_id, None)
    return {i: t.grad for i, t in latest_states(graph).items()} | stored


def had_grad(graph: Graph) -> set[int]:
    """The objects that were a leaf that requires grad at some time, or had a ``.grad``: what they
    have now, if it is not a gradient, is None, though they are not tracked any more."""
    return {
        t.object_id for t in graph.tensors if t.grad is not None or (t.requires_grad and t.is_leaf)
    }


def cut_views(graph: Graph) -> set[int]:
    """The objects that are views of a tracked tensor, made where nothing is recorded: torch gives
    them its flag, and yet no AccumulateGrad, so no gradient comes to them. Setting the flag again
    makes them ordinary leaves."""
    found, set_again = set[int](), set[int]()
    for call in graph.calls:
        # Of the part of a graph that is drawn, the calls may name tensors that are not in it.
        given = {graph.tensor[i].object_id for i in call.inputs if i in graph.tensor}
        if call.function in ("requires_grad_", "requires_grad"):
            set_again |= given
        elif call.inference_mode or not call.grad_mode:
            made = [graph.tensor[i] for i in call.outputs if i in graph.tensor]
            views = [t for t in made if t.requires_grad and t.is_leaf and t.base_id is not None]
            found |= {t.object_id for t in views if t.object_id not in given}
    return found - set_again - {t.object_id for t in graph.tensors if t.gradient_edge}


def met(
    graph: Graph, at_node: Mapping[int | None, int], along: Mapping[tuple[int, int], int]
) -> dict[int | None, int]:
    """What a gradient that starts at a node meets on its way to the leaves, for every node at once.

    Args:
        graph: whose nodes and edges are walked.
        at_node: a set of things, as the bits of a whole number, by node id.
        along: the same for edges, by ``(node_id, next_index)``.

    Returns:
        By node id the union of the bits of all nodes and edges that a gradient can meet from there.

    Example:
        >>> from gradviz.graph.records import Node
        >>> nodes = [Node(i, "", NodeKind.BACKWARD, None, (), None, None, False) for i in range(3)]
        >>> met(Graph(nodes=nodes, edges=[Edge(2, 0, 1, 0)]), {0: 0b001, 1: 0b010, 2: 0b100}, {})
        {0: 1, 1: 2, 2: 6}
    """
    found: dict[int | None, int] = {}
    for node_id in reversed(gradient_order(graph, [n.id for n in graph.nodes])):
        bits = at_node.get(node_id, 0)
        for e in graph.edges_from.get(node_id, ()):
            bits |= along.get((node_id, e.next_index), 0) | found.get(e.next_node_id, 0)
        found[node_id] = bits
    return found


def sharing(tensors: Iterable[Tensor]) -> Mapping[int | None, list[Tensor]]:
    """Tensors by the storage that several of them share."""
    table: dict[int | None, list[Tensor]] = {}
    for t in tensors:
        if t.storage_id is not None:
            table.setdefault(t.storage_id, []).append(t)
    return {
        storage: members
        for storage, members in table.items()
        if len({t.object_id for t in members}) > 1
    }
