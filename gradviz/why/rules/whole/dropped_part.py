"""A sum of losses that no backward was called on, while one was called on a part of it: the other
parts train nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from gradviz.graph.facts import Facts
from gradviz.graph.findings import Cause
from gradviz.graph.flow import Flow
from gradviz.names.frames import names_read
from gradviz.why.explanation import Explanation
from gradviz.why.summands import Summands
from gradviz.words.words import Words

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


class Dropped(NamedTuple):
    """A sum that goes into no backward.

    Attributes:
        total: its state.
        root: the state of what a backward was called on: a part of it.
        had: the state of that part.
        parts: the states of its other parts.
    """

    total: int
    root: int
    had: int
    parts: list[int]


def dropped_part(case: Case, found: Explanation) -> Explanation | None:
    """Tell of the parts of a named sum of losses that no backward had, though one was called on
    another part of that sum."""
    dropped = next(_dropped(case), None)
    if dropped is None:
        return None
    facts, words = Facts.of(case.graph), Words(case.graph)
    makers = [facts.maker.get(i) for i in (dropped.total, *dropped.parts)]
    return case.answer(
        Cause.NOT_IN_LOSS,
        "part_dropped",
        calls=[call for call in makers if call is not None],
        tensor_ids=[dropped.total, dropped.root, *dropped.parts],
        total=case.graph.tensor[dropped.total].code_name,
        root=_name_in_sum(case, dropped.total, dropped.had) or words.name(dropped.root),
        parts=[_name_in_sum(case, dropped.total, i) or words.name(i) for i in dropped.parts],
    )


def _name_in_sum(case: Case, total: int, part: int) -> str:
    """Return what the statement of a sum calls a part, or what was made of that part; "" where no
    name stands there."""
    facts, tensor = Facts.of(case.graph), case.graph.tensor
    maker = facts.maker.get(total)
    read = names_read(maker) if maker is not None else set()
    on_the_way = (i for i in facts.ancestors([total]) if part in facts.ancestors([i]))
    return next((n for i in sorted(on_the_way) if (n := tensor[i].code_name) in read), "")


def _dropped(case: Case) -> Iterator[Dropped]:
    """Yield such sums, the newest first."""
    facts = Facts.of(case.graph)
    starts = case.started
    met = facts.reachable({r for b in case.graph.backwards for r in b.roots})
    roots = {p: i for i in starts for p in _parts(case, i)}
    for total in _totals(case, starts, met):
        parts = _parts(case, total)
        trained = [p for p in parts if p in roots]
        lost = [p for p in parts if p not in roots and not _is_met(case, p, met)]
        if trained and lost and all(map(facts.leaves_reached, lost)):
            yield Dropped(total, roots[trained[0]], trained[0], lost)


def _totals(case: Case, starts: list[int], met: set[int]) -> list[int]:
    """Return the named results that no backward was called on and none went through, the newest
    first."""
    tensor = case.graph.tensor
    objects = {tensor[i].object_id for i in starts}
    named = [i for i in case.ends if tensor[i].code_name and tensor[i].object_id not in objects]
    return sorted((i for i in named if not _is_met(case, i, met)), reverse=True)


def _parts(case: Case, tensor_id: int) -> list[int]:
    """Return the tracked parts of a sum."""
    return list(dict.fromkeys(Summands(Flow(case.graph, [tensor_id])).tracked))


def _is_met(case: Case, tensor_id: int, nodes: set[int]) -> bool:
    """Say whether a gradient of some backward passes the node that made a result."""
    edge = case.graph.tensor[tensor_id].gradient_edge
    return edge is not None and edge.node_id in nodes
