"""Where no gradient is recorded in a program, and which lines switch that off."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from gradviz.graph.module_tree import ModuleTree
from gradviz.graph.operations import Operation, Operations
from gradviz.graph.records import Cut, CutReason, Source

QUIET = (CutReason.NO_GRAD, CutReason.INFERENCE_MODE)


class NoGrad:
    """The operations and module calls of a recording that ran where no gradient is recorded.

    Args:
        operations: of the recording.
        tree: of its module calls.
    """

    def __init__(self, operations: Operations, tree: ModuleTree) -> None:
        self.operations, self.tree = operations, tree

    def is_quiet(self, op: Operation) -> bool:
        """Say whether an operation was called where no gradient is recorded."""
        return not op.call.grad_mode or op.call.inference_mode

    def are_quiet(self, places: Iterable[int]) -> bool:
        """Say whether all of these operations were called where no gradient is recorded."""
        return all(self.is_quiet(self.operations.all[at]) for at in places)

    @cached_property
    def region(self) -> dict[int, int]:
        """The first operation of each stretch where no gradient is recorded, by operation. What
        two lines switch off are two stretches."""
        found: dict[int, int] = {}
        first, off = None, None
        for op in self.operations.all:
            if not self.is_quiet(op):
                first, off = None, None
                continue
            here = self.switch(op)
            if first is None or (here and off and here != off):
                first, off = op.at, here
            off = off or here
            found[op.at] = first
        return found

    def switch_of(self, cut: Cut) -> Source | None:
        """Return the line that switched gradients off where a cut stands; None: none is known."""
        at = self.operations.of_call.get(cut.call_id)
        if cut.reason not in QUIET or at is None:
            return None
        return self.switch(self.operations.all[at])

    def switch(self, op: Operation) -> Source | None:
        """Return where gradients were switched off for an operation, None where that is not known:
        the line of a ``with`` or decorator around it, or around a module call that ran there as a
        whole, the outermost one."""
        outermost_first = reversed(list(self.tree.around(op.call.module_call)))
        quiet = (self.tree.call[i].source for i in outermost_first if i in self.quiet_calls)
        for source in (*quiet, op.call.source):
            if source is not None and source.off is not None:
                return source._replace(line=source.off, code=None, frames=())
        return None

    @cached_property
    def quiet_calls(self) -> set[int]:
        """The module calls that ran as a whole where no gradient is recorded."""
        return {i for i, below in self.tree.below.items() if self.are_quiet(below)}
