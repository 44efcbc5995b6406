"""Iterations: one training step after the other in which the same happens. Knows no torch.

An iteration holds the operations of one pass of a loop that ran a backward. Iterations are alike
where the same happens in them: ``graph/sameness.py``. Where too many would be left that differ,
what no loss has is not compared; and where that does not help, what ran inside of modules is not,
as of a model that chooses its experts, or how often the same ran, as of episodes that are longer or
shorter: that is told.
Where a gradient goes from one into another, they are one computation, and none of these; terms of
one sum are iterations all the same: the tasks of meta-learning.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Hashable, Iterator, Sequence
from enum import IntEnum
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from gradviz.graph.facts import grouped
from gradviz.graph.operations import Operations
from gradviz.graph.sameness import Sameness, Step

SEVERAL = 3  # backwards, of those that are drawn, before iterations that differ inside are alike
TIMES = 2  # that the same happens, and that are iterations
BACKWARDS = 8  # in one iteration at most


class Differ(IntEnum):
    """In what iterations differ that are alike otherwise."""

    NOT = 0
    INSIDE = 1  # what ran inside of modules was not compared
    OFTEN = 2  # how often the same ran was not compared


class Alike(NamedTuple):
    """Iterations that are alike.

    Attributes:
        iterations: the operations of each, as ranges of their places; others may lie between them.
        steps: what is alike of these: the k-th of one iteration does what the k-th of another does;
            without what only prepares data.
        chosen: which of the iterations stands for all, from 0.
        differ: what was not compared, and differs.
    """

    iterations: tuple[range, ...]
    steps: tuple[tuple[int, ...], ...]
    chosen: int
    differ: Differ = Differ.NOT

    @property
    def times(self) -> int:
        """How many iterations there are."""
        return len(self.iterations)

    def first(self, at: int) -> int | None:
        """Return the operation of the first iteration that does what this one of the chosen does;
        None: it is none of these."""
        chosen = self.steps[self.chosen]
        return self.steps[0][chosen.index(at)] if at in chosen else None

    @property
    def others(self) -> Iterator[int]:
        """Go through the operations of the iterations that the chosen one stands for."""
        return (at for k, some in enumerate(self.iterations) if k != self.chosen for at in some)


class Iterations:
    """The iterations of a recording.

    Args:
        operations: of the recording.
        wanted: ids of calls that are looked at: the last iteration with one of them is chosen, else
            the last one.

    Example:
        >>> from gradviz.graph.records import Graph
        >>> Iterations(Operations(Graph())).all
        []
    """

    def __init__(self, operations: Operations, wanted: Collection[int] = ()) -> None:
        self.operations = operations
        self.sameness = Sameness(operations)
        self.wanted = {at for i in wanted if (at := operations.of_call.get(i)) is not None}

    @cached_property
    def all(self) -> list[Alike]:
        """Every sequence of iterations that are alike, in order; of loops in loops the outer ones
        first."""
        if len(self.operations.graph.backwards) < TIMES:
            return []
        found = self._found(self.sameness.steps)
        if self._backwards_outside(found) > SEVERAL:
            trained = self._found(self.sameness.trained)
            found = min(found, trained, key=self._backwards_outside)
        if self._backwards_outside(found) <= SEVERAL:
            return found
        coarse = [self._with_inside(alike) for alike in self._found(self.sameness.whole_calls)]
        return min(found, coarse, self._scattered(), key=self._backwards_outside)

    def _with_inside(self, alike: Alike) -> Alike:
        """Note whether iterations differ in what ran inside of modules."""
        keys = self._forward_keys
        ran = {tuple(keys[at] for at in some if at in keys) for some in alike.iterations}
        return alike._replace(differ=Differ.INSIDE) if len(ran) > 1 else alike

    def _scattered(self) -> list[Alike]:
        """Return the iterations, of one backward each, in which the same ran, however often and
        whatever others lie between them: of a loop that goes two ways, or to the end of a game."""
        steps = self.sameness.trained_loosely
        edges = _between_backwards(steps)
        places = self._places(steps, edges)
        ran = [steps[first:end] for first, end in pairwise(edges)]
        ranges = [range(first, end) for first, end in pairwise(places)]
        kinds = grouped((_what_ran(ran[k]), k) for k in self._apart(places))
        return [
            self._alike_but_for_times([ranges[k] for k in every], [ran[k] for k in every])
            for every in kinds.values()
            if len(every) >= TIMES
        ]

    def _apart(self, places: tuple[int, ...]) -> list[int]:
        """Return the iterations between these places from which no gradient goes into another."""
        joined: set[int | None] = set()
        for _, k, _, later in self._leaving(places):
            joined |= {k, later}
        return [k for k in range(len(places) - 1) if k not in joined]

    def _alike_but_for_times(self, iterations: list[range], ran: list[list[Step]]) -> Alike:
        """Return iterations of which each ran what the others did; of what ran several times, the
        last time is alike."""
        orders = {tuple(step.key for step in steps) for steps in ran}
        differ = Differ.OFTEN if len(orders) > 1 else Differ.NOT
        last = tuple(map(_last_of_each, ran))
        return Alike(tuple(iterations), last, self._chosen(iterations), differ)

    @cached_property
    def _forward_keys(self) -> dict[int, Hashable]:
        """What the steps of forwards are compared by, by the operation at which each begins."""
        return {step.at: step.key for step in self.sameness.steps if not step.has_backward}

    def _found(self, steps: list[Step]) -> list[Alike]:
        """Return the iterations that are alike in these steps."""
        found: list[Alike] = []
        while loops := list(self._loops(steps)):
            found = [*(self._alike(steps, edges) for edges in loops), *found]
            steps = self._joined(steps, loops)
        return found

    def _backwards_outside(self, found: list[Alike]) -> int:
        """Count the backwards that begin in no iteration for which another one stands."""
        left_out = {at for alike in found for at in alike.others}
        return len({*self.operations.starts} - left_out)

    @cached_property
    def left_out(self) -> frozenset[int]:
        """The operations of the iterations for which another one stands."""
        return frozenset(at for alike in self.all for at in alike.others)

    @cached_property
    def drawn(self) -> list[Alike]:
        """The iterations that are alike of which one is not left out itself."""
        return [a for a in self.all if not self.left_out.issuperset(a.iterations[a.chosen])]

    def around(self, at: int) -> range | None:
        """Return the innermost drawn iteration in which an operation ran; None: it is in none."""
        chosen = (alike.iterations[alike.chosen] for alike in reversed(self.drawn))
        return next((some for some in chosen if at in some), None)

    # --- what happens again -----------------------------------------------------------------------

    def _loops(self, steps: list[Step]) -> Iterator[list[int]]:
        """Go through the loops of these steps: between which of them the iterations lie, that
        before the first and that behind the last included."""
        marks = [k for k, step in enumerate(steps) if step.has_backward]
        after = 0  # the first step that no loop has yet
        in_vain: set[tuple[int, int, int]] = set()
        for n, mark in enumerate(marks):
            edges = self._edges(steps, marks[n:], after, in_vain) if mark >= after else []
            if edges:
                yield edges
                after = edges[-1]

    def _edges(
        self, steps: list[Step], marks: list[int], after: int, in_vain: set[tuple[int, int, int]]
    ) -> list[int]:
        """Return the edges of the iterations of which the first of these backwards is part; none
        where nothing comes again. What was looked through ``in_vain`` is not once more, as each of
        these backwards finds the same around it, and is added to that."""
        for mark in marks[1 : BACKWARDS + 1]:
            period = mark - marks[0]
            first, end = again = _again(steps, marks[0], period, after)
            if (period, *again) in in_vain:
                continue
            in_vain.add((period, *again))
            for start in range(first, min(first + period, end - TIMES * period + 1)):
                edges = [*range(start, end + 1, period)]
                if not self._are_connected(self._places(steps, edges)):
                    return edges
        return []

    def _alike(self, steps: list[Step], edges: list[int]) -> Alike:
        iterations = tuple(range(a, b) for a, b in pairwise(self._places(steps, edges)))
        ops = tuple(tuple(at for step in steps[a:b] for at in step.ops) for a, b in pairwise(edges))
        return Alike(iterations, ops, self._chosen(iterations))

    def _chosen(self, iterations: Sequence[range]) -> int:
        """Return the iteration that stands for all: the last one with what is looked at, or the
        last."""
        looked_at = [k for k, some in enumerate(iterations) if not self.wanted.isdisjoint(some)]
        return looked_at[-1] if looked_at else len(iterations) - 1

    def _joined(self, steps: list[Step], loops: list[list[int]]) -> list[Step]:
        """Return the steps with one for each loop."""
        found: list[Step] = []
        done = 0
        for edges in loops:
            first, end = edges[0], edges[-1]
            ops = tuple(at for step in steps[first:end] for at in step.ops)
            key = len(edges), tuple(step.key for step in steps[first : edges[1]])
            found += [*steps[done:first], Step(steps[first].at, ops, has_backward=True, key=key)]
            done = end
        return [*found, *steps[done:]]

    def _places(self, steps: list[Step], edges: list[int]) -> tuple[int, ...]:
        """Return the first operation from each of these steps on; what prepares its data is part of
        an iteration."""
        begin = self._begin
        return tuple(begin[steps[k].at if k < len(steps) else -1] for k in edges)

    @cached_property
    def _begin(self) -> list[int]:
        """For each operation, and for what is behind the last one, where that begins which prepares
        its data."""
        found: list[int] = []
        for at in range(len(self.operations.all) + 1):
            found.append(found[-1] if at - 1 in self.sameness.prepared else at)
        return found

    def _are_connected(self, places: tuple[int, ...]) -> bool:
        """Say whether a gradient can go into an iteration from another, or from what follows: where
        it comes to all of them alike, as from a sum of their losses, they are not."""
        sums: set[int] = set()  # iterations to whose running sum the gradient comes
        followed: dict[int, set[Hashable]] = {k: set() for k in range(len(places) - 1)}
        for at, k, user, later in self._leaving(places):
            if later is not None and not self.sameness.goes_on(at, user):
                return True
            if later is not None or self.sameness.is_running(at):
                sums.add(k)
            else:
                followed[k].add(self.sameness.place(at))
        # the running sum of the last one may be used by nobody
        is_summed = sums >= {*range(len(places) - 2)}
        alike = len({frozenset(some) for some in followed.values()}) == 1
        return not (alike and (not sums or is_summed))

    def _leaving(self, places: tuple[int, ...]) -> Iterator[tuple[int, int, int, int | None]]:
        """Go through the operations of iterations to which a gradient can come from outside: one,
        its iteration, the operation that uses it, and the iteration of that, None behind all."""
        for k, (first, end) in enumerate(pairwise(places)):
            for at in self._used_behind[end]:
                for user in self._takers[at] if at >= first else ():
                    if user >= end:
                        yield at, k, user, _iteration_of(user, places)

    @cached_property
    def _takers(self) -> list[list[int]]:
        """Of each operation those that take its value, and through which a gradient can come back
        to it, in their order."""
        users, tracked = self.operations.users, self.operations.tracked
        return [
            sorted({user for user in users[at] if self._goes_back(at, user)}) if is_tracked else []
            for at, is_tracked in enumerate(tracked)
        ]

    @cached_property
    def _used_behind(self) -> list[tuple[int, ...]]:
        """For each place the operations before it to which a gradient can come from one behind."""
        found: list[tuple[int, ...]] = [()]
        for place in range(1, len(self._takers) + 1):
            known = (*found[-1], place - 1)
            found.append(tuple(at for at in known if max(self._takers[at], default=-1) >= place))
        return found

    def _goes_back(self, maker: int, user: int) -> bool:
        """Say whether an operation took a value through which a gradient can go back."""
        operations, op = self.operations, self.operations.all[user]
        return any(
            source == maker
            and operations.is_tracked(i)
            and operations.tracked[user]
            and (op.call.id, i) not in operations.facts.cut_of
            and not self.sameness.is_parameter(i)
            for i, source in zip(op.reads, op.sources, strict=True)
        )


def _iteration_of(at: int, places: tuple[int, ...]) -> int | None:
    """Return in which of the iterations between these places an operation is; None: in none."""
    return bisect_right(places, at) - 1 if places[0] <= at < places[-1] else None


def _again(steps: list[Step], start: int, period: int, after: int) -> tuple[int, int]:
    """Return between which steps, from the one ``after`` on, the same happens every ``period``
    steps around ``start``."""
    if steps[start].key != steps[start + period].key:
        return start, start
    first = start
    while first > after and steps[first - 1].key == steps[first - 1 + period].key:
        first -= 1
    end = start
    while end + period < len(steps) and steps[end].key == steps[end + period].key:
        end += 1
    return first, end + period


def _what_ran(steps: list[Step]) -> tuple[Hashable, ...]:
    """Return the keys of steps in their order, each once."""
    return tuple(dict.fromkeys(step.key for step in steps))


def _last_of_each(steps: list[Step]) -> tuple[int, ...]:
    """Return the operations of the last step of each key, in the order of the first ones."""
    last = {step.key: step.ops for step in steps}
    return tuple(at for ops in last.values() for at in ops)


def _between_backwards(steps: list[Step]) -> list[int]:
    """Return the steps between which one backward each ran, from where the first one begins as the
    second does: what is made before a loop is no part of it."""
    ends = [k + 1 for k, step in enumerate(steps) if step.has_backward]
    again = steps[ends[0]].key if ends[0] < len(steps) else None
    start = next((k for k in range(ends[0]) if steps[k].key == again), 0)
    return [start, *ends]
