"""The cuts of a recording as an outline tells them: where they stand, which are told as one, and
what they cost."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Set
from functools import cached_property

from gradviz.graph.first_cuts import FirstCuts
from gradviz.graph.operations import Operations, Weight
from gradviz.graph.records import Cut, CutReason, Source
from gradviz.picture.outline.no_grad import QUIET, NoGrad

LOOPED = 3  # times that one line cuts in one call of a module, which is a loop


class ToldCuts:
    """The cuts of a recording.

    Args:
        operations: of the recording.
        no_grad: where it recorded no gradient.
    """

    def __init__(self, operations: Operations, no_grad: NoGrad) -> None:
        self.operations, self.no_grad = operations, no_grad
        self.facts = operations.facts

    @cached_property
    def at(self) -> dict[int, list[Cut]]:
        """The cuts of each operation through which a value fed a loss, by its place."""
        table: dict[int, list[Cut]] = {}
        for cut in self.facts.real_cuts:
            at = self.operations.of_call.get(cut.call_id)
            if at is not None and at in self.operations.feeding:
                table.setdefault(at, []).append(cut)
        for at, cut in self.first.written_aside.items():
            if at in self.operations.feeding:
                table.setdefault(at, []).append(cut)
        return table

    @cached_property
    def first(self) -> FirstCuts:
        """Why parameters get no gradient."""
        return FirstCuts(self.operations)

    @cached_property
    def costly(self) -> set[Cut]:
        """The cuts that cost a parameter its gradient."""
        return {cut for cuts in self.first.causes_of.values() for cut in cuts}

    @cached_property
    def in_loops(self) -> frozenset[int]:
        """The operations that cut what a loop inside of a module call carries on, step by step,
        where no parameter is left without a gradient by it: one row of its card tells it."""
        found: dict[tuple[int | None, Hashable], list[int]] = {}
        for at, cuts in self.at.items():
            if not self.costly.intersection(cuts):
                inside = self.operations.all[at].call.module_call
                marks = tuple(self.told(cut) for cut in cuts)
                found.setdefault((inside, marks), []).append(at)
        loops = (places for (inside, _), places in found.items() if inside is not None)
        return frozenset(at for places in loops if len(places) >= LOOPED for at in places)

    def lose_in(self, weight: Weight, ops: Set[int]) -> bool:
        """Say whether a parameter that lost its gradient lost it where these operations read it:
        not where they only read it where no gradient is recorded, as an average of the weights, or
        a rollout, and something else was the first cause."""
        object_id = weight.key
        uses = self.operations.uses.get(object_id, ())
        here = [self.operations.all[at] for at in uses if at in ops]
        cuts = self.first.causes_of.get(object_id, ())
        if not here or not all(map(self.no_grad.is_quiet, here)):
            return True
        if len(here) == len(uses):
            return bool(cuts) or any(op.at in self.operations.feeding for op in here)
        if cuts and cuts[0].reason not in QUIET:
            return False
        return self._stand_at(cuts, ops, {op.call.source for op in here})

    def _stand_at(self, cuts: Iterable[Cut], ops: Set[int], lines: Set[Source | None]) -> bool:
        """Say whether one of some cuts is among operations, or in a line of theirs: of a loop the
        cuts of some rounds are told."""
        cutting = (self.operations.of_call.get(cut.call_id) for cut in cuts)
        return any(
            at in ops or self.operations.all[at].call.source in lines
            for at in cutting
            if at is not None
        )

    def told(self, cut: Cut) -> tuple[CutReason, Hashable]:
        """Return what cuts that are told as one have in common: reason and line, and how it is
        written there, as one line may cut several values. Where no gradient is recorded it is the
        line that switches it off, if that is known."""
        call = self.operations.graph.call[cut.call_id]
        if switch := self.no_grad.switch_of(cut):
            return cut.reason, switch[:2]
        if call.source is None:
            return cut.reason, call.id
        return cut.reason, (*call.source[:2], self.written(cut))

    def written(self, cut: Cut) -> str:
        """Return how a cut is written, without the variable of its result."""
        source = self.operations.graph.call[cut.call_id].source
        code = (source.code if source else None) or ""
        return code.partition(" = ")[2] or code

    @cached_property
    def crowded(self) -> set[Hashable]:
        """The reasons and lines of the cuts that are written in one line with others."""
        codes: dict[Hashable, set[str]] = {}
        for cuts in self.at.values():
            for cut in cuts:
                source = self.operations.graph.call[cut.call_id].source
                if source is not None and cut.reason not in QUIET:
                    codes.setdefault((cut.reason, source[:2]), set()).add(self.written(cut))
        return {line for line, written in codes.items() if len(written) > 1}
