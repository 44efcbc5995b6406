"""A gradient that a loss sends to what another is to train."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gradviz.graph.findings import Cause
from gradviz.why.rules.whole.extras import Extra
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def extra_gradient(case: Case, found: Explanation) -> Explanation | None:
    """Tell of a gradient that a loss sends to what another is to train."""
    extra = next(filter(partial(is_wanted, case), case.extras.found()), None)
    if extra is None:
        return None
    if extra.form == "added":
        form = "added_to_three" if extra.third and extra.factor else "added"
    else:
        form = "factor" if extra.other else "weight"
    return case.answer(
        Cause.EXTRA_GRADIENT,
        form,
        calls=extra.calls,
        tensor_ids=[extra.loss, *(t.id for t in extra.leaves)],
        loss=case.words.name(extra.loss),
        names=case.extras.names(extra.leaves),
        others=extra.others,
        other=extra.other,
        factor=extra.factor,
        code=extra.code,
        behind=extra.behind,
        third=extra.third,
    )


def with_added(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with a gradient that was added to another loss's where no
    optimizer is known that tells whether that is meant."""
    added = case.extras.added() if not case.held_objects else iter(())
    extra = next(filter(partial(is_wanted, case), added), None)
    if extra is None:
        return None
    words = case.words
    line = say(
        "losses.added",
        names=case.extras.names(extra.leaves),
        loss=words.name(extra.loss),
        other=extra.other,
        place=words.where(extra.calls[0]),
    )
    return case.beside(found, line)


def is_wanted(case: Case, extra: Extra) -> bool:
    """Say whether a gradient goes to what was asked about, and a step may use it: not where a
    statement of the program sets another one in its place."""
    wanted = {case.graph.tensor[i].object_id for i in case.target_ids}
    leaves = {t.object_id for t in extra.leaves}
    return not leaves <= case.training.given_used.keys() and not (
        wanted and wanted.isdisjoint(leaves)
    )
