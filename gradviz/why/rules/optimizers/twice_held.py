"""Two optimizers that have the same parameters, while others that a loss trains are in none."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

from gradviz.graph.findings import Cause
from gradviz.graph.records import Source
from gradviz.why.question.subjects import held_by
from gradviz.why.rules.many import pattern
from gradviz.why.shown.explanation import Explanation

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def twice_held(case: Case, found: Explanation) -> Explanation | None:
    """Tell of an optimizer that has nothing but what another one has, where a loss sends gradients
    to what no optimizer holds and nothing writes."""
    for first, second in combinations(case.known_optimizers, 2):
        held = held_by([first]).keys()
        if not held or held != held_by([second]).keys() or not case.never_written:
            continue
        name = case.words.name
        new = case.never_written
        return case.answer(
            Cause.NOT_MOVED,
            "twice_held",
            tensor_ids=[state.id for state in new.values()],
            statements=_made(case, second),
            names=pattern([case.called.get(i) or name(state.id) for i, state in new.items()]),
            n=len(new),
            first=case.optimizer_name(first),
            second=case.optimizer_name(second),
        )
    return None


def _made(case: Case, optimizer: Any) -> list[Source]:
    """Return the last statement that gives an optimizer its name."""
    name = case.called.get(id(optimizer), "").rpartition(".")[2]
    found = [*case.statements.binds(name), *case.statements.sets(name)] if name else []
    return [place for place, _ in found[-1:]]
