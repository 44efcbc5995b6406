"""What a "no fault" would rest on and nobody has read: then it is not known. Knows no torch.

That no fault was found says something only where one would have been seen. It would not have been
where the state of a saved tensor cannot be read, where a backward was too large to be watched,
where a part of the graph is older than the recording, and where the recording itself is not whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

from gradviz.graph.facts import Facts
from gradviz.graph.findings import Cause
from gradviz.graph.records import Graph, Node, NodeKind, SavedState
from gradviz.why.explanation import Explanation
from gradviz.why.paths import Paths
from gradviz.words.speech import several
from gradviz.words.words import Words

START = "Not known whether all is well"
SO_FAR = "Healthy as far as was looked at"


def doubts(paths: Paths, tensor_ids: Iterable[int] = ()) -> list[str]:
    """What was not looked at on the ways from the losses to some tensors.

    Args:
        paths: of the graph of a recording, and of the losses.
        tensor_ids: the tensors whose gradient is asked for; none: everything that the losses lead
            to.

    Returns:
        One clause for each thing that was not looked at.
    """
    graph, facts = paths.graph, paths.facts
    words, nodes = paths.words, _on_the_way(paths, tensor_ids)
    found = []
    unsure = [u.node for u in facts.unsure_saved if u.used and u.node.id in nodes]
    if unsure:
        what = _named(words, unsure)
        found.append(
            f"whether what {what} saved was written before backward used it: its state cannot be"
            " read"
        )
    maybe_ran = nodes & set[int]().union(*facts.maybe_ran.values())
    silent = [n for n in graph.nodes if n.id in maybe_ran and _has(n, SavedState.OVERWRITTEN)]
    if silent:
        found.append(
            f"whether backward used what {_named(words, silent)} saved before or after it was"
            " overwritten"
        )
    changed = facts.changed_unseen
    moved = [n for n in graph.nodes if n.id in nodes and not changed.isdisjoint(_memory(graph, n))]
    if moved:
        what = _named(words, moved)
        found.append(
            f"whether what {what} saved was written before backward used it: it changed, and no"
            " call wrote it"
        )
    older = [n for n in graph.nodes if n.id in nodes and n.call_id is None and n.saved]
    if older:
        found.append(
            f"what was written before this recording: no call of it made {_named(words, older)}"
        )
    stubs = [
        n
        for n in graph.nodes
        if n.id in nodes and n.stub and n.kind is not NodeKind.ACCUMULATE_GRAD
    ]
    if stubs:
        found.append(f"what is behind {_named(words, stubs)}, which is older than this recording")
    return [*found, *graph.notes]


def doubted(healthy: Explanation, unread: Sequence[str]) -> Explanation:
    """An answer that found no fault, where that is not enough to say that there is none."""
    said = healthy.verdict.removeprefix("Healthy")
    why = f"{healthy.why} " if healthy.why else ""
    why += f"Not looked at: {'; '.join(unread)}."
    return healthy._replace(cause=Cause.NOT_KNOWN, verdict=f"{START}{said}", why=why)


def written_outside(
    paths: Paths,
    tensor_ids: Iterable[int],
    handed_out: Mapping[int, tuple[str, int]],
    read_last: Set[int],
) -> str:
    """What may have been written without torch before backward used it; "" for nothing.

    Args:
        paths: of the graph of a recording, and of the losses.
        tensor_ids: the tensors whose gradient is asked for; none: everything that the losses lead
            to.
        handed_out: by block of memory, the last call that handed it to others than torch, and how
            many backwards were over by then.
        read_last: the objects whose values were read at the end: a change there was seen.
    """
    graph = paths.graph
    if not handed_out:
        return ""
    last_run: dict[int, int] = {}
    for backward in graph.backwards:
        ran = paths.facts.may_have_run(backward)
        last_run.update(dict.fromkeys(ran, backward.run))
    on_the_way = _on_the_way(paths, tensor_ids)
    found, ways = [], []
    for node in (n for n in graph.nodes if n.id in on_the_way):
        for saved in node.saved:
            tensor = graph.tensor.get(saved.tensor_id)
            if tensor is None or tensor.storage_id is None or tensor.object_id in read_last:
                continue
            if tensor.storage_id not in handed_out:
                continue
            name, over = handed_out[tensor.storage_id]
            if last_run.get(node.id, over) >= over:
                found.append(node)
                ways.append(name)
    if not found:
        return ""
    how = several(list(dict.fromkeys(f"{name}()" for name in ways)))
    return (
        f"whether what {_named(paths.words, found)} saved was written by way of {how} before"
        " backward used it"
    )


def so_far(healthy: Explanation, unread: str) -> Explanation:
    """An answer that found no fault, with what it did not look at."""
    said = healthy.verdict.removeprefix("Healthy")
    why = f"{healthy.why} " if healthy.why else ""
    return healthy._replace(verdict=f"{SO_FAR}{said}", why=f"{why}Not looked at: {unread}.")


def unspent(graph: Graph, roots: Iterable[int]) -> str:
    """Why it is not known whether a backward could still run from these nodes; "" where nothing
    speaks against it."""
    facts = Facts.of(graph)
    met = facts.reachable(roots)
    ran = {n for b in graph.backwards for n in (*b.ran, *facts.may_have_run(b))}
    unsure = {u.node.id for u in facts.unsure_saved}
    unsure |= {n.id for n in graph.nodes if n.id in ran and _has(n, SavedState.UNKNOWN)}
    doubtful = met & unsure
    found = [n for n in graph.nodes if n.id in doubtful]
    if not found:
        return ""
    return (
        f"whether what {_named(Words(graph), found)} saved can still be used is not known: its"
        " state cannot be read"
    )


def _on_the_way(paths: Paths, tensor_ids: Iterable[int]) -> set[int]:
    """The nodes that a gradient on its way from a loss to one of these tensors passes."""
    graph, facts = paths.graph, paths.facts
    met = facts.reachable(paths.roots | facts.runs_started_at.keys())
    objects = {graph.tensor[i].object_id for i in tensor_ids if i in graph.tensor}
    ends = {facts.accumulate_node[o] for o in objects if o in facts.accumulate_node}
    states = (t for o in objects for t in facts.states[o])
    ends |= {t.gradient_edge.node_id for t in states if t.gradient_edge}
    if not ends:
        return met
    return (ends | facts.above(ends)) & met


def _has(node: Node, state: SavedState) -> bool:
    return any(saved.state is state for saved in node.saved)


def _memory(graph: Graph, node: Node) -> set[int | None]:
    """The blocks of memory in which what a node saved lies, as far as that is known."""
    return {graph.tensor[s.tensor_id].storage_id for s in node.saved if s.tensor_id in graph.tensor}


def _named(words: Words, nodes: Iterable[Node]) -> str:
    """The nodes, each with the code that made it where that is known."""
    told = []
    for node in nodes:
        code = words.code(words.graph.call.get(node.call_id))
        told.append(f"{node.name} of {code}" if code else node.name)
    return several(list(dict.fromkeys(told)))
