"""A rule: one possible answer, what it explains and where it may be. Knows no torch.

NOTE [one table]: which of several answers is given is decided by the order of a table's rows and
by nothing else. A rule that was not reached, or that proves nothing, leaves the word to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar

from gradviz.graph.findings import Symptom
from gradviz.why.explanation import Explanation

Subject = ParamSpec("Subject")
Case = TypeVar("Case")


def always(*_: Any, **__: Any) -> bool:
    """Let a rule be tried on every subject."""
    return True


@dataclass(frozen=True)
class Rule(Generic[Subject]):
    """One row of a table.

    Attributes:
        find: gives the explanation where it is proven, and None where it is not.
        explains: the symptoms for which the rule is tried.
        when: whether the rule is tried on this subject at all.
    """

    find: Callable[Subject, Explanation | None]
    explains: frozenset[Symptom] = frozenset(Symptom)
    when: Callable[Subject, bool] = always


def first_proven(
    rules: Sequence[Rule[Subject]],
    symptom: Symptom,
    *subject: Subject.args,
    **options: Subject.kwargs,
) -> Explanation | None:
    """Return what the first rule proves that explains the symptom, or None where none does."""
    for rule in rules:
        if symptom in rule.explains and rule.when(*subject, **options):
            found = rule.find(*subject, **options)
            if found is not None:
                return found
    return None


def looked_at_again(
    rules: Sequence[Rule[[Case, Explanation]]], case: Case, found: Explanation
) -> Explanation:
    """Return the answer after each rule has had its look at it, and may have displaced it."""
    for rule in rules:
        if rule.when(case, found):
            found = rule.find(case, found) or found
    return found
