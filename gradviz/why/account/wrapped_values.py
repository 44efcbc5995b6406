"""Parameters that begin with what was computed of a few numbers that were to learn: each of their
entries learns by itself. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING

from gradviz.graph.records import Tensor
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.wrappings import Wrapping, wrappings
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def wrapped_values(case: Case) -> Iterator[Remark]:
    """Tell of parameters that were made of what was computed of leaves with fewer numbers, where
    these leaves are gone and got no gradient."""
    for wrapping in wrappings(case.facts, case.statements):
        leaves = _leaves(case, wrapping)
        size = prod(wrapping.leaf.shape or ())
        if not leaves or sum(prod(t.shape or ()) for t in leaves) >= size:
            continue
        fields = {
            "code": case.words.source(wrapping.place),
            "names": _names(case, wrapping, leaves),
            "n": size,
        }
        objects = frozenset(t.object_id for t in leaves)
        places = (wrapping.place,)
        yield Remark(Weight.WEIGHTY, "wrapped_values", fields, (wrapping.call,), objects, places)


def _names(case: Case, wrapping: Wrapping, leaves: list[Tensor]) -> list[str]:
    """Return what the leaves are called; where one has no name, what it was read by."""
    if all(t.code_name for t in leaves):
        return list(dict.fromkeys(case.words.name(t.id) for t in leaves))
    return [say("account.read_by", code=case.words.code(wrapping.call))]


def _leaves(case: Case, wrapping: Wrapping) -> list[Tensor]:
    """Return the leaves behind what was wrapped that asked for a gradient, got none, and are gone;
    none of what torch's constructors filled, as a layer that gives its first numbers."""
    facts, tensor = case.facts, case.graph.tensor
    is_elsewhere = facts.leaves_sent_to | facts.of_modules | facts.writes_by_object.keys()
    known = case.live_state.living | is_elsewhere
    behind = [tensor[i] for i in sorted(facts.ancestors(wrapping.call.inputs))]
    leaves = {t.object_id: t for t in behind if t.is_leaf and t.requires_grad}
    return [t for own, t in leaves.items() if own not in known]
