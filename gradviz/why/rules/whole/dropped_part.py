"""A sum of losses that no backward was called on, while one was called on a part of it: the other
parts train nothing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from gradviz.graph.findings import Cause
from gradviz.graph.flow import Flow
from gradviz.names.frames import names_read
from gradviz.why.evidence.summands import Summands
from gradviz.why.shown.explanation import Explanation

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


class Dropped(NamedTuple):
    """A sum that goes into no backward.

    Attributes:
        total: its state.
        roots: the states that backwards were called on, each with its part of the sum.
        parts: the states of the other parts.
    """

    total: int
    roots: dict[int, int]
    parts: list[int]


def dropped_part(case: Case, found: Explanation) -> Explanation | None:
    """Tell of the parts of a named sum of losses that no backward had, though one was called on
    another part of that sum."""
    dropped = next(_dropped(case), None)
    if dropped is None:
        return None
    facts, words = case.facts, case.words
    makers = [facts.maker.get(i) for i in (dropped.total, *dropped.parts)]
    name = partial(_name_in_sum, case, dropped.total)
    return case.answer(
        Cause.NOT_IN_LOSS,
        "part_dropped",
        calls=[call for call in makers if call is not None],
        tensor_ids=[dropped.total, *dropped.roots, *dropped.parts],
        total=case.graph.tensor[dropped.total].code_name,
        roots=[name(part) or words.name(root) for root, part in dropped.roots.items()],
        parts=[name(part) or words.name(part) for part in dropped.parts],
    )


def _name_in_sum(case: Case, total: int, part: int) -> str:
    """Return what the statement of a sum calls a part, or what was made of that part; "" where no
    name stands there."""
    facts, tensor = case.facts, case.graph.tensor
    maker = facts.maker.get(total)
    read = names_read(maker) if maker is not None else set()
    named = [i for i in facts.ancestors([total]) if i >= part and tensor[i].code_name in read]
    first = next((i for i in sorted(named) if part in facts.ancestors([i])), None)
    return "" if first is None else tensor[first].code_name


def _dropped(case: Case) -> Iterator[Dropped]:
    """Yield such sums, the newest first."""
    facts = case.facts
    starts = case.started
    met = facts.behind_losses
    totals = _totals(case, starts, met)
    root_of = {part: i for i in starts for part in _parts(case, i)} if totals else {}
    for total in totals:
        parts = sorted(_parts(case, total))
        roots = {root_of[part]: part for part in parts if part in root_of}
        lost = [p for p in parts if p not in root_of and not _is_met(case, p, met)]
        if roots and lost and all(map(facts.leaves_reached, lost)):
            yield Dropped(total, roots, lost)


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
