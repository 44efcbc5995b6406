"""The gradients that went along the edges of a graph, and how large they were."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from gradviz.graph.facts import Facts, grouped


class Sent(NamedTuple):
    """Gradient that went along one edge of the graph in one run, from the operation that used a
    value to the operation (None: the leaf) that made it."""

    run: int
    node_id: int
    next_index: int
    next_node_id: int
    input_nr: int
    norm: float  # nan where it is not known
    is_broken: bool = False  # whether it holds nan or inf


class SentGradients:
    """The gradients that the backwards of a recording sent.

    Args:
        facts: of the recording.
    """

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.graph = facts.graph

    @cached_property
    def sent(self) -> list[Sent]:
        """Every gradient that went along an edge, run by run."""
        edges = {(e.node_id, e.next_index): e for e in self.graph.edges}
        found = []
        for event in self.facts.nodes_ran:
            for k, (preview, norm) in enumerate(_paired(event.sent, event.sent_norms)):
                edge = edges.get((event.node_id, k))
                if preview is None or edge is None or edge.next_node_id is None:
                    continue
                ends = event.run, event.node_id, k, edge.next_node_id, edge.input_nr
                found.append(Sent(*ends, number_of(norm, preview), _is_broken(norm, preview)))
        return found

    @cached_property
    def arrived(self) -> dict[tuple[int, int, int], float]:
        """The norm of what arrived at a node, by ``(run, node_id, input_nr)``."""
        return {
            (event.run, event.node_id, at): number_of(norm, preview)
            for event in self.facts.nodes_ran
            for at, (preview, norm) in enumerate(_paired(event.arrived, event.arrived_norms))
            if preview is not None
        }

    @cached_property
    def broken(self) -> set[tuple[int, int, int]]:
        """Where gradients that hold nan or inf arrived, as ``(run, node_id, input_nr)``."""
        return {
            (event.run, event.node_id, at)
            for event in self.facts.nodes_ran
            for at, (preview, norm) in enumerate(_paired(event.arrived, event.arrived_norms))
            if preview is not None and _is_broken(norm, preview)
        }

    def norm_of(self, sents: Iterable[Sent]) -> float:
        """Return the norm of gradients sent in one run by some operations. Where all that arrived
        at a tensor is among them, it is the tensor's own; else that of the parts."""
        norms: list[float] = []
        by_tensor: dict[tuple[int, int, int], list[Sent]] = {}
        for sent in sents:
            by_tensor.setdefault((sent.run, sent.next_node_id, sent.input_nr), []).append(sent)
        for slot, parts in by_tensor.items():
            arrived = self.arrived.get(slot, math.nan)
            whole = len(parts) == len(self._to_slot[slot]) and not math.isnan(arrived)
            norms.append(arrived if whole else root_of_squares(p.norm for p in parts))
        return root_of_squares(norms)

    def last_norm(self, object_id: int) -> float:
        """Return the norm of the last gradient that arrived at a parameter; nan: not measured."""
        arrivals = self.arrivals_at.get(self.facts.accumulate_node.get(object_id, -1))
        return self.arrived[arrivals[-1]] if arrivals else math.nan

    @cached_property
    def _to_slot(self) -> dict[tuple[int, int, int], list[Sent]]:
        """What was sent to each output of a node, by ``(run, node_id, input_nr)``."""
        return grouped(((s.run, s.next_node_id, s.input_nr), s) for s in self.sent)

    @cached_property
    def arrivals_at(self) -> dict[int, list[tuple[int, int, int]]]:
        """Where gradients arrived at each node, in order, as keys of ``arrived``."""
        return grouped((key[1], key) for key in self.arrived)


def root_of_squares(norms: Iterable[float]) -> float:
    """Return the norm of several tensors together.

    >>> root_of_squares([3.0, 4.0])
    5.0
    """
    return math.sqrt(sum(norm * norm for norm in norms))


def _paired(
    previews: Sequence[str | None], norms: Sequence[str | None]
) -> list[tuple[str | None, str | None]]:
    """Return each gradient with its norm; None where none was measured."""
    return list(zip(previews, norms or [None] * len(previews), strict=True))


def _is_broken(norm: str | None, preview: str | None) -> bool:
    """Say whether a gradient holds nan or inf, by its norm or the numbers that are shown."""
    text = norm or preview or ""
    return "nan" in text or "inf" in text


def number_of(norm: str | None, preview: str | None) -> float:
    """Read a norm: measured, or of the numbers that are shown."""
    try:
        if norm is not None:
            return float(norm)
        numbers = (preview or "").replace("[", "").replace("]", "").split(",")
        return root_of_squares(float(part) for part in numbers)
    except ValueError:
        return math.nan
