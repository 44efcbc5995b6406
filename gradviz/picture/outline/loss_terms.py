"""What a loss is the sum of: the operations of its card that make one number each."""

from __future__ import annotations

from collections.abc import Set
from functools import cached_property

from gradviz.graph.operations import Operation, Operations
from gradviz.picture.outline.unit import Unit


class LossTerms:
    """The terms of the losses of a recording.

    Args:
        operations: of the recording.
    """

    def __init__(self, operations: Operations) -> None:
        self.operations = operations

    def start(self, unit: Unit) -> Operation:
        """Return the operation of a loss that its backward began at. Others may follow it in the
        same card, which copy the loss for a log."""
        starts = [at for at in unit.ops if at in self.operations.starts]
        return self.operations.all[starts[-1] if starts else unit.ops[-1]]

    def terms(self, unit: Unit) -> list[int]:
        """List the operations of a loss that make the numbers it is the sum of."""
        final = self._last_statement(unit)
        found = [at for at in unit.ops if self._is_term(at, final)]
        learns = any(self.operations.tracked[at] for at in found)
        return found if len(found) > 1 and learns else []

    def _last_statement(self, unit: Unit) -> set[int]:
        """Return the operations in the line of a loss that its backward began at."""
        last = self.start(unit).call.source
        sources = ((at, self.operations.all[at].call.source) for at in unit.ops)
        return {at for at, source in sources if last and source and source[:2] == last[:2]}

    def _is_term(self, at: int, final: Set[int]) -> bool:
        """Say whether an operation makes a number that only the last statement of a loss uses: a
        variable, or, in that statement, a number of what is none."""
        op, users = self.operations.all[at], self.operations.users[at]
        alone = bool(users) and final >= {*users}
        if not (alone and self._is_number(op.makes[-1])):
            return False
        if at in final:
            return self.operations.tracked[at] and not any(map(self._is_number, op.reads))
        return self.operations.graph.tensor[op.makes[-1]].code_name.isidentifier()

    def _is_number(self, tensor_id: int) -> bool:
        return self.operations.graph.tensor[tensor_id].shape == ()

    def behind(self, at: int, unit: Unit) -> set[int]:
        """Return the operations of a loss whose gradient comes from one of its terms alone, and the
        term."""
        mine, found = {*unit.ops}, {at}
        for one in sorted(mine, reverse=True):
            users = [u for u in self.operations.users[one] if u in mine and self._ran(u)]
            if users and all(u in found for u in users):
                found.add(one)
        return found

    def _ran(self, at: int) -> bool:
        """Say whether a backward went through an operation; all did where none was seen."""
        return not self._ran_ops or at in self._ran_ops

    @cached_property
    def _ran_ops(self) -> set[int]:
        """The operations that a backward went through."""
        of_node = self.operations.of_node
        return {of_node[n] for n in self.operations.facts.ran if n in of_node}
