"""Optimizers that share their dicts of parameter groups: the second one takes the settings that the
first one wrote there for its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any

from gradviz.graph.preview import number
from gradviz.why.account.remark import Remark, Weight

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def shared_groups(case: Case) -> Iterator[Remark]:
    """Tell of each pair of optimizers of which one was made with a learning rate that its groups
    have not, as they are the other one's too."""
    for first, second in combinations(case.known_optimizers, 2):
        for one, other in ((first, second), (second, first)):
            wanted, rate = _rates(one, other)
            if wanted is None or case.statements.writes_key("lr"):
                continue
            places = tuple(p for o in (one, other) for p in case.where_made(o))
            fields = {
                "optimizer": case.optimizer_name(one),
                "other": case.optimizer_name(other),
                "wanted": number(wanted),
                "rate": number(rate),
                "places": [case.words.source(place) for place in places],
            }
            yield Remark(Weight.IN_VAIN, "rate_of_another", fields, statements=places)


def _rates(one: Any, other: Any) -> tuple[float | None, float]:
    """Return the learning rate with which an optimizer was made and that of its groups, where these
    are another one's too and have its rate; None in place of the first where they are not."""
    shared = {id(group) for group in other.param_groups}
    groups = one.param_groups
    rates = {group.get("lr") for group in groups}
    wanted = getattr(one, "defaults", {}).get("lr")
    theirs = getattr(other, "defaults", {}).get("lr")
    plain = all(isinstance(x, (int, float)) for x in (wanted, theirs, *rates))
    is_shared = all(id(g) in shared and "initial_lr" not in g for g in groups)
    is_other = plain and is_shared and rates == {theirs} and theirs != wanted
    return (wanted, float(theirs)) if is_other and theirs is not None else (None, 0.0)
