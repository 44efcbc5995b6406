"""In which module calls something happens that their card could not show: those are opened."""

from __future__ import annotations

from functools import cached_property

from gradviz.graph.module_tree import ModuleTree
from gradviz.graph.operations import LOST, Fate, Operations
from gradviz.picture.outline.no_grad import NoGrad
from gradviz.picture.outline.told_cuts import ToldCuts

NOT_LOST = (Fate.SOME, Fate.ZERO, Fate.VANISHED, Fate.NAN, Fate.REACHED)
FADED = (Fate.ZERO, Fate.VANISHED, Fate.NAN)


class Happenings:
    """What happens in the module calls of a recording.

    Args:
        operations: of the recording.
        tree: of its module calls.
        no_grad: where it recorded no gradient.
        cuts: of it.
    """

    def __init__(
        self, operations: Operations, tree: ModuleTree, no_grad: NoGrad, cuts: ToldCuts
    ) -> None:
        self.operations, self.tree = operations, tree
        self.no_grad, self.cuts = no_grad, cuts

    @cached_property
    def inside(self) -> dict[int, bool]:
        """Whether something happens inside a module call that its card could not show."""
        table = dict.fromkeys(self.tree.below, False)
        for call_id, ops in self.tree.below.items():
            if self._is_cut_inside(ops) or self._is_uneven(call_id):
                table.update(dict.fromkeys(self.tree.around(call_id), True))
        return table

    def _is_cut_inside(self, ops: list[int]) -> bool:
        all_ops = self.operations.all
        quiet = [self.no_grad.is_quiet(all_ops[at]) for at in ops]
        if all(quiet):
            return False
        inside = {*ops}
        cut = (at for at in ops if at in self.cuts.at and at not in self.cuts.in_loops)
        return any(not self._leaves(at, inside) for at in cut)

    def _leaves(self, at: int, inside: set[int]) -> bool:
        """Say whether what an operation cut off is used outside of a module call alone, as what a
        hook keeps of its output, and costs no parameter its gradient: the arrow from the call to
        its user shows that."""
        users = self.operations.users[at]
        costs = any(cut in self.cuts.costly for cut in self.cuts.at[at])
        return bool(users) and inside.isdisjoint(users) and not costs

    def _is_uneven(self, call_id: int) -> bool:
        """Say whether some modules below a call get gradients and others beside them none. Of an
        evaluation beside it another call tells that."""
        if self._evaluates(call_id):
            return False
        children = self.tree.children.get(call_id, ())
        fates = [self._fates_below(child) for child in children]
        unused = bool(self.tree.never_called(self.tree.call[call_id]))
        only_lost = any(fate & {*LOST} and not fate & {*NOT_LOST} for fate in fates)
        only_got = any(fate & {*NOT_LOST} and not fate & {*LOST} for fate in fates)
        only_bad = any(fate and fate <= {*FADED} for fate in fates)
        some_good = any(Fate.SOME in fate for fate in fates)
        return (only_got and (only_lost or unused)) or (only_bad and some_good)

    def _evaluates(self, call_id: int) -> bool:
        """Say whether no gradient is recorded in a call, and in another one of its module is."""
        quiet, others = self.no_grad.quiet_calls, self.tree.calls_of_same(call_id)
        return call_id in quiet and any(i not in quiet for i in others)

    def _fates_below(self, call_id: int) -> set[Fate]:
        call = self.tree.call[call_id]
        return {w.fate for w in self.tree.weights_below(call.module_id, call.path)}
