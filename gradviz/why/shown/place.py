"""Where an answer about a model is in its outline. Knows no torch."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gradviz.graph.findings import Finding
from gradviz.graph.module_tree import ModuleTree
from gradviz.graph.operations import Operations
from gradviz.graph.records import Call, Graph
from gradviz.picture.figure import Figure, pointing
from gradviz.picture.outline.asked import Points
from gradviz.picture.outline.drawn import is_wanted
from gradviz.words.speech import say

OPENED = 3  # modules; of more only the first is opened, and all are marked


def outlined(graph: Graph, finding: Finding, title: str, where: str) -> Figure | None:
    """Return the outline of a recorded model with the module opened in which the cause stands, and
    with the cause marked.

    Args:
        graph: the whole.
        finding: what is explained.
        title: of the figure.
        where: the place in words, as the explanation has it.

    Returns:
        The figure; None where the graph is not drawn as the outline of a model, or where the
        finding has no place in it.
    """
    if not graph.modules or not graph.calls or not is_wanted(graph):
        return None
    operations = Operations(graph)
    calls = _calls_of(finding, operations)
    if not calls and not finding.subject:
        return None
    names = _modules_around(calls, ModuleTree(operations))
    opened = names if len(names) <= OPENED else names[:1]
    # "model.h[3].weight" as it is written, "model.h.3.weight" as modules are called
    parameter = "" if calls else re.sub(r"\[(\d+)\]", r".\1", finding.subject)
    points = Points(frozenset(calls), parameter, say("explanation.where"), where)
    figure = pointing(Figure(graph, title=title, focus=opened), points)
    return figure if figure.outlined is not None and figure.outlined.pointed else None


def _calls_of(finding: Finding, operations: Operations) -> list[int]:
    """List the ids of the calls that a finding points at, as far as they are operations or read
    what one made; where there are none, of the operations that read the tensor it is about."""
    graph = operations.graph
    nodes = (graph.node[i] for i in finding.node_ids if i in graph.node)
    objects = {graph.tensor[i].object_id for i in finding.tensor_ids if i in graph.tensor}
    told = [call.id for call in (*finding.calls, *finding.also_at)]
    reading = operations.all if objects else ()
    ways = (
        [*told, *(cut.call_id for cut in finding.cuts)],
        [node.call_id for node in nodes if node.call_id is not None],
        [op.call.id for op in reading if _reads(graph, op.call, objects)],
    )
    drawn = ([i for i in dict.fromkeys(way) if _is_drawn(i, operations)] for way in ways)
    return next(filter(None, drawn), [])


def _reads(graph: Graph, call: Call, objects: set[int]) -> bool:
    return any(graph.tensor[i].object_id in objects for i in call.inputs if i in graph.tensor)


def _is_drawn(call_id: int, operations: Operations) -> bool:
    """Say whether a call is an operation, or reads what one made."""
    if call_id in operations.of_call:
        return True
    call = operations.graph.call.get(call_id)
    return call is not None and any(operations.source_of(i) is not None for i in call.inputs)


def _modules_around(calls: Iterable[int], tree: ModuleTree) -> list[str]:
    """List the innermost modules around calls in which more than one operation ran, but not the
    only model itself, which is open anyway."""
    found: dict[str, None] = {}
    for call_id in calls:
        around = tree.around(tree.graph.call[call_id].module_call)
        inner = next((i for i in around if len(tree.below.get(i, ())) > 1), None)
        if inner is not None and tree.children.get(None) != [inner]:
            found[tree.name(tree.call[inner])] = None
    return list(found)
