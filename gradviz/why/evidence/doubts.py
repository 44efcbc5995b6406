"""What a "no fault" would rest on and nobody has read: then it is not known. Knows no torch.

That no fault was found says something only where one would have been seen. It would not have been
where the state of a saved tensor cannot be read, where a backward was too large to be watched,
where a part of the graph is older than the recording, and where the recording itself is not whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set

from gradviz.graph.facts import Facts
from gradviz.graph.findings import Cause, Sure
from gradviz.graph.records import Graph, Node, NodeKind, SavedState
from gradviz.graph.saved_tensors import SavedTensors
from gradviz.why.evidence.paths import Paths
from gradviz.why.shown.explanation import Explanation, fields_of
from gradviz.words.notes import note_text
from gradviz.words.speech import fill, language, say
from gradviz.words.words import Words

# --- what was not looked at -----------------------------------------------------------------------


def doubts(paths: Paths, tensor_ids: Iterable[int] = ()) -> list[str]:
    """Return what was not looked at on the ways from the losses to some tensors.

    Args:
        paths: of the graph of a recording, and of the losses.
        tensor_ids: the tensors whose gradient is asked for; none: everything that the losses lead
            to.

    Returns:
        One clause for each thing that was not looked at.
    """
    on_the_way = _on_the_way(paths, tensor_ids)
    clauses = (clause(paths, on_the_way) for clause in CLAUSES)
    return [*filter(None, clauses), *map(note_text, paths.graph.notes)]


def state_unread(paths: Paths, on_the_way: Set[int]) -> str:
    """Name the nodes whose saved tensors were used, and have a state that cannot be read."""
    unsure = [
        u.node for u in SavedTensors(paths.facts).unsure if u.used and u.node.id in on_the_way
    ]
    return say("doubt.state_unread", nodes=_named(paths.words, unsure)) if unsure else ""


def used_or_not(paths: Paths, on_the_way: Set[int]) -> str:
    """Name the nodes that may have run, and whose saved tensors were overwritten unnoticed."""
    maybe_ran = on_the_way & set[int]().union(*paths.facts.maybe_ran.values())
    silent = [
        node
        for node in paths.graph.nodes
        if node.id in maybe_ran and _has(node, SavedState.OVERWRITTEN)
    ]
    return say("doubt.used_or_not", nodes=_named(paths.words, silent)) if silent else ""


def changed_unseen(paths: Paths, on_the_way: Set[int]) -> str:
    """Name the nodes in whose saved memory something changed that no call wrote."""
    graph = paths.graph
    changed = paths.facts.changed_unseen
    moved = [
        node
        for node in graph.nodes
        if node.id in on_the_way and not changed.isdisjoint(_memory(graph, node))
    ]
    return say("doubt.changed_unseen", nodes=_named(paths.words, moved)) if moved else ""


def older(paths: Paths, on_the_way: Set[int]) -> str:
    """Name the nodes that saved something before the recording began."""
    made_before = [
        node
        for node in paths.graph.nodes
        if node.id in on_the_way and node.call_id is None and node.saved
    ]
    return say("doubt.older", nodes=_named(paths.words, made_before)) if made_before else ""


def behind_older(paths: Paths, on_the_way: Set[int]) -> str:
    """Name the nodes that are older than the recording, and behind which nothing was read."""
    stubs = [
        node
        for node in paths.graph.nodes
        if node.id in on_the_way and node.stub and node.kind is not NodeKind.ACCUMULATE_GRAD
    ]
    return say("doubt.behind_older", nodes=_named(paths.words, stubs)) if stubs else ""


# What a recording may not have looked at, in the order in which it is told.
CLAUSES: tuple[Callable[[Paths, Set[int]], str], ...] = (
    state_unread,
    used_or_not,
    changed_unseen,
    older,
    behind_older,
)


def written_outside(
    paths: Paths,
    tensor_ids: Iterable[int],
    handed_out: Mapping[int, tuple[str, int]],
    read_last: Set[int],
) -> str:
    """Return what may have been written without torch before backward used it; "" for nothing.

    Args:
        paths: of the graph of a recording, and of the losses.
        tensor_ids: the tensors whose gradient is asked for; none: everything that the losses lead
            to.
        handed_out: by block of memory, the last call that handed it to others than torch, and how
            many backwards were over by then.
        read_last: the objects whose values were read at the end: a change there was seen.
    """
    if not handed_out:
        return ""
    last_run = _last_runs(paths)
    on_the_way = _on_the_way(paths, tensor_ids)
    nodes, ways = list[Node](), list[str]()
    for node in (node for node in paths.graph.nodes if node.id in on_the_way):
        for block in _blocks_unread(paths.graph, node, read_last):
            if block not in handed_out:
                continue
            way, over = handed_out[block]
            if last_run.get(node.id, over) >= over:
                nodes.append(node)
                ways.append(f"{way}()")
    if not nodes:
        return ""
    return say(
        "doubt.written_outside",
        nodes=_named(paths.words, nodes),
        ways=list(dict.fromkeys(ways)),
    )


def _last_runs(paths: Paths) -> dict[int, int]:
    """Return, by node, the last backward in which it may have run."""
    last_run: dict[int, int] = {}
    for backward in paths.graph.backwards:
        last_run.update(dict.fromkeys(paths.facts.may_have_run(backward), backward.run))
    return last_run


def _blocks_unread(graph: Graph, node: Node, read_last: Set[int]) -> list[int]:
    """Return the blocks of memory of what a node saved, where they were not read at the end."""
    saved = (graph.tensor.get(s.tensor_id) for s in node.saved)
    return [
        t.storage_id
        for t in saved
        if t is not None and t.storage_id is not None and t.object_id not in read_last
    ]


def unspent(graph: Graph, roots: Iterable[int]) -> str:
    """Say why it is not known whether a backward could still run from these nodes; "" where
    nothing speaks against it."""
    facts = Facts.of(graph)
    ran = {n for b in graph.backwards for n in (*b.ran, *facts.may_have_run(b))}
    unsure = {u.node.id for u in SavedTensors(facts).unsure}
    unsure |= {n.id for n in graph.nodes if n.id in ran and _has(n, SavedState.UNKNOWN)}
    doubtful = facts.reachable(roots) & unsure
    nodes = [n for n in graph.nodes if n.id in doubtful]
    return say("doubt.unspent", nodes=_named(Words(graph), nodes)) if nodes else ""


# --- answers that found no fault ------------------------------------------------------------------


def doubted(healthy: Explanation, unread: Sequence[str]) -> Explanation:
    """Return an answer that found no fault, where that is not enough to say that there is none."""
    told = _with_unread(healthy, "; ".join(unread), Sure.POSSIBLE)
    return told._replace(cause=Cause.NOT_KNOWN)


def so_far(healthy: Explanation, unread: str) -> Explanation:
    """Return an answer that found no fault, with what it did not look at."""
    return _with_unread(healthy, unread, Sure.LIKELY)


def _with_unread(healthy: Explanation, unread: str, sure: Sure) -> Explanation:
    """Return an answer that found no fault, less sure, and with the reason for it."""
    if healthy.why:
        why = say("doubt.why_and_unread", why=healthy.why, unread=unread)
    else:
        why = say("doubt.unread", unread=unread)
    return _as_sure_as(healthy, sure)._replace(why=why)


def _as_sure_as(healthy: Explanation, sure: Sure) -> Explanation:
    """Return an answer that found no fault, with the words for how sure it is."""
    finding = healthy.finding._replace(sure=sure)
    sentence = language().answers[finding.cause, finding.form].verdict
    verdict = fill(sentence, fields_of(finding))
    return healthy._replace(verdict=verdict, finding=finding)


# --- nodes ----------------------------------------------------------------------------------------


def _on_the_way(paths: Paths, tensor_ids: Iterable[int]) -> set[int]:
    """Return the nodes that a gradient on its way from a loss to one of these tensors passes."""
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
    """Say whether something that a node saved is in this state."""
    return any(saved.state is state for saved in node.saved)


def _memory(graph: Graph, node: Node) -> set[int | None]:
    """Return the blocks of memory in which what a node saved lies, as far as that is known."""
    return {graph.tensor[s.tensor_id].storage_id for s in node.saved if s.tensor_id in graph.tensor}


def _named(words: Words, nodes: Iterable[Node]) -> list[str]:
    """Return what nodes are called, each name once."""
    return list(dict.fromkeys(words.node(node) for node in nodes))
