"""Skips: values that pass by other modules on their way. Of those between modules of the same
classes, which send a gradient."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from gradviz.graph.records import Cut
from gradviz.picture.outline.unit import Unit
from gradviz.picture.outline.units import Expansion

Pair = tuple[int, int]  # module calls: that made a value, and that used it


class Beside(NamedTuple):
    """How many like a cut skip send a gradient. Where all are branches from one module: its name,
    and the class of those that use its value."""

    sending: int
    module: str = ""
    kind: str = ""


class Skips:
    """The skips between the module calls of an outline.

    Args:
        expansion: of the recording.
        units: the cards.
    """

    def __init__(self, expansion: Expansion, units: list[Unit]) -> None:
        self.expansion = expansion
        self.operations = expansion.operations
        self.tree = expansion.tree
        self.units = units

    def beside(self, cut: Cut) -> Beside | None:
        """Return how many skips, or branches, of the kind of a cut one send a gradient; None where
        not all others do, or where the cut is none of them.

        Args:
            cut: of a value that a module made and another one uses.
        """
        mine = self._pairs_of(cut)
        if len(mine) != 1:
            return None
        (pair,) = mine
        alike = {other for other in self._values if self._kind(other) == self._kind(pair)} - mine
        tail, head = (self.tree.call[i] for i in pair)
        branches = {other for other in alike if self._is_branch_beside(other, pair)}
        if len(branches) > 1 and branches <= self._sending:
            return Beside(len(branches), tail.path or tail.kind, head.kind)
        others = {other for other in alike if self._is_skip(other)}
        if not self._is_skip(pair) or not others or not others <= self._sending:
            return None
        return Beside(len(others))

    def _is_branch_beside(self, other: Pair, pair: Pair) -> bool:
        """Say whether another module beside the user of a value, in one module, uses it, too."""
        calls = self.tree.call
        around = {calls[other[1]].parent_id, calls[pair[1]].parent_id}
        return other[0] == pair[0] and len(around) == 1 and None not in around

    def _kind(self, pair: Pair) -> tuple[str, str]:
        tail, head = (self.tree.call[i].kind for i in pair)
        return tail, head

    def _is_skip(self, pair: Pair) -> bool:
        """Say whether both calls stand in one module, and another one ran in between."""
        around = {self.tree.call[i].parent_id for i in pair}
        tail, head = (self._order[i] for i in pair)
        return head - tail > 1 and len(around) == 1 and None not in around

    @cached_property
    def _order(self) -> dict[int, int]:
        """The place of each module call among those of the cards."""
        calls = sorted((i for unit in self.units for i in unit.calls), key=self._first)
        return {call_id: k for k, call_id in enumerate(calls)}

    def _first(self, call_id: int) -> int:
        return self.tree.below[call_id][0]

    @cached_property
    def _call_of(self) -> dict[int, int]:
        """The module call of each operation of the cards; what was folded into a card belongs to
        the nearest one."""
        found: dict[int, int] = {}
        for unit in self.units:
            ends = [(self.tree.below[i][-1], i) for i in unit.calls]
            for at in unit.ops:
                after = [call_id for last, call_id in sorted(ends) if last >= at]
                if ends:
                    found[at] = after[0] if after else max(ends)[1]
        return found

    @cached_property
    def _values(self) -> set[Pair]:
        """The module calls between which values went uncut."""
        return set(
            self._joined(
                (source, op.at)
                for op in self.operations.all
                for source in op.sources
                if source is not None
            )
        )

    @cached_property
    def _sending(self) -> set[Pair]:
        """The module calls between which a gradient came back."""
        of_node = self.operations.of_node
        pairs = (
            (of_node.get(s.next_node_id), of_node.get(s.node_id))
            for s in self.operations.gradients.sent
        )
        return set(self._joined((a, b) for a, b in pairs if a is not None and b is not None))

    def _pairs_of(self, cut: Cut) -> set[Pair]:
        """Return the module calls between which a cut stands."""
        source = self.operations.source_of(cut.input_id)
        todo = [at] if (at := self.operations.of_call.get(cut.call_id)) is not None else []
        users: list[int] = []
        while todo:
            one = todo.pop()
            if one in self.expansion.looked_through:
                todo += self.operations.users[one]
            else:
                users.append(one)
        return set(self._joined((source, user) for user in users if source is not None))

    def _joined(self, pairs: Iterable[tuple[int, int]]) -> Iterable[Pair]:
        """Go from operations to their module calls."""
        for source, user in pairs:
            tail, head = self._call_of.get(source), self._call_of.get(user)
            if tail is not None and head is not None and tail != head:
                yield tail, head
