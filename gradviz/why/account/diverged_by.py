"""Training that diverged with gradients that are many times too large: sums of whole losses, or
what a backward of the program's own forgot to divide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.graph.findings import Cause
from gradviz.why.account.own_backward import own_backwards
from gradviz.why.account.scaled_steps import scaled_steps
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


def with_own_backward(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with a backward of the program's own that does not divide as its
    forward does."""
    every = own_backwards(case.facts, case.words, case.statements)
    undivided = [remark for remark in every if remark.key == "mean_undivided"]
    if not undivided:
        return None
    remark = undivided[-1]
    return found._replace(
        why=remark.sentence,
        mend=say("account.divide_there", place=remark.fields["place"], mend=found.mend),
        lines=tuple(dict.fromkeys([*found.lines, *lines_of((), remark.statements)])),
    )


def with_scale(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with a scaler's scale that each step used as it was."""
    steps = Steps(case.training, case.words)
    remark = next(scaled_steps(case, steps), None)
    if remark is None:
        return None
    return found._replace(
        why=remark.sentence,
        mend=say("account.step_by_scaler", scaler=remark.fields["scaler"]),
        lines=tuple(dict.fromkeys([*found.lines, *lines_of(remark.calls, remark.statements)])),
    )
