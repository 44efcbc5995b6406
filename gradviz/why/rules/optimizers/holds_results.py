"""An optimizer that holds a result in the place of a leaf."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.graph.findings import Cause
from gradviz.why.rules.many import pattern
from gradviz.why.rules.optimizers.optimizers import at_the_same
from gradviz.why.shown.explanation import Explanation

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def holds_results(case: Case, found: Explanation) -> Explanation | None:
    """Tell of a result in the place of a leaf."""
    results = [n for n, p in case.held.items() if not p.is_leaf and case.moves[n].group is not None]
    if not results:
        return None
    cause = Cause.NON_LEAF_IN_OPTIMIZER
    names = pattern(results)
    told = case.answer(
        cause, "holds_result", optimizers=case.optimizer_names, names=names, n=len(results)
    )
    return at_the_same(found, told)
