"""The cuts by which a leaf or a loss lost something, and what lies behind a tensor."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from gradviz.graph.facts import WHOLE, Facts
from gradviz.graph.records import Cut, CutReason


class LosingCuts:
    """Which cuts of a recording cost something.

    Args:
        facts: of the recording.
    """

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.graph = facts.graph

    @cached_property
    def all(self) -> set[Cut]:
        """The cuts by which a leaf lost its only path, or a loss (without one: a result) one of
        its paths."""
        ends = self._begun_at or self._last_results()
        tracked = self.inputs_behind(ends, tracked=True)
        written = {e.after_id for e in self.facts.writes} & self.inputs_behind(ends)
        # a value that left torch may have come back
        fed = {None, *self.inputs_behind(self._begun_at)} if self._begun_at else set()
        return {
            c
            for c in self.graph.cuts
            if c.output_id in tracked
            or (c.output_id in fed | written and self._loses_a_leaf(c))
            or (c.output_id in written and c.reason is CutReason.INTEGER_DTYPE)
        }

    def _last_results(self) -> set[int]:
        """Return the states, as they are now, that no call read."""
        now = {t.id for t in self.facts.latest_state.values()}
        return now - self.facts.calls_reading.keys()

    @cached_property
    def _begun_at(self) -> set[int]:
        """The states that backwards were given."""
        calls = (c for c in self.graph.calls if c.id in self.facts.backward_calls)
        return {i for call in calls for i in call.inputs}

    @cached_property
    def _leaves_below_roots(self) -> set[int]:
        """The leaf objects that a recorded backward could reach."""
        below = map(self.facts.leaves_below, self.facts.runs_started_at)
        return {leaf.object_id for leaves in below for leaf in leaves}

    def _loses_a_leaf(self, cut: Cut) -> bool:
        """Tell whether a cut value leads to a leaf that no backward could reach."""
        reached = (leaf.object_id for leaf in self.facts.leaves_reached(cut.input_id))
        return not self._leaves_below_roots.issuperset(reached)

    def inputs_behind(self, tensor_ids: Iterable[int], tracked: bool = False) -> set[int]:
        """Find every input of the calls on the way to these tensors, whatever they did with it.

        With ``tracked`` only where a gradient might have gone: not through integers and bools, nor
        from a leaf to what was written into it.
        """
        stop = self._no_gradient if tracked else set[int]()
        found = set(tensor_ids)
        for call in reversed(self.graph.calls):
            if not found.isdisjoint(self._made_by_call[call.id] - stop):
                found.update(call.inputs)
        return found - stop

    @cached_property
    def _made_by_call(self) -> dict[int, set[int]]:
        """What each call returned or wrote. Backwards and torch's own bookkeeping return
        nothing."""
        table = {
            c.id: set() if c.bookkeeping or c.id in self.facts.backward_calls else {*c.outputs}
            for c in self.graph.calls
        }
        for e in self.facts.writes:
            if e.call_id not in self.facts.backward_calls:
                table[e.call_id].add(e.after_id)
        return table

    @cached_property
    def _no_gradient(self) -> set[int]:
        """The states that no gradient goes to: integers and bools, and what was written into a
        leaf that requires grad."""
        found = {t.id for t in self.graph.tensors if (t.dtype or "").startswith(WHOLE)}
        for e in self.facts.writes:
            before = self.graph.tensor[e.before_id]
            into_leaf = before.is_leaf and before.requires_grad
            if into_leaf and e.call_id not in self.facts.backward_calls:
                found.add(e.after_id)
        return found
