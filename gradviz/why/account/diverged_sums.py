"""Training that diverged with steps over sums of whole losses: each is as many times as long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.graph.findings import Cause
from gradviz.why.account.steps import Steps
from gradviz.why.shown.explanation import Explanation, lines_of
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def has_diverged(case: Case, found: Explanation) -> bool:
    """Say whether the answer so far is that steps went too far."""
    return found.cause is Cause.NAN and found.form in ("diverged", "diverged_at")


def with_sums(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with the sum of several backwards that each step used as it came: to
    divide the losses makes the steps as much shorter."""
    steps = Steps(case.training, case.words)
    sums = [remark for step in steps.steps for remark in steps.sums(step)]
    whole = [remark for remark in sums if remark.key == "sum_whole"]
    if not whole:
        return None
    fields = whole[-1].fields
    return found._replace(
        why=say("account.sum_diverged", **fields, why=found.why),
        mend=say("account.sum_divide", n=fields["n"], mend=found.mend),
        lines=tuple(dict.fromkeys([*found.lines, *lines_of(whole[-1].calls)])),
    )
