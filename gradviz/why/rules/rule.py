"""A rule: one possible answer, what it explains and where it may be. Knows no torch.

NOTE [one table]: which of several answers is given is decided by the order of the rows of ``TABLE``
in ``why/answering/table.py``. A rule that is not reached, or that proves nothing, leaves the word
to the next. What stands between the rows is in ``why/answering/answer.py``, which walks them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, ParamSpec

from gradviz.graph.findings import Symptom
from gradviz.why.shown.explanation import Explanation

Subject = ParamSpec("Subject")
# what a rule proves; most prove one thing at most
Proof = Explanation | Iterator[Explanation] | None


class Scope(Enum):
    """What a rule is asked about."""

    ERROR = "error"  # one error
    TENSOR = "tensor"  # one tensor that is to have a gradient
    CASE = "case"  # everything that was asked about


class Stage(Enum):
    """When a rule is tried; of each stage its place in the table, and what its rules are asked
    about."""

    ERROR = 1, Scope.ERROR  # why a call raised
    GRADIENT = 2, Scope.TENSOR  # why the .grad of one tensor is what it is
    WHOLE = 3, Scope.CASE  # which of these answers is the answer
    AGAIN = 4, Scope.CASE  # a second look at the answer so far: it may be displaced
    SILENT = 5, Scope.CASE  # what goes wrong although nothing raises; a second look asks for it
    SIZE = 6, Scope.CASE  # how large gradients are; a second look asks for it

    @property
    def scope(self) -> Scope:
        """What the rules of this stage are asked about."""
        return self.value[1]


def always(*_: Any, **__: Any) -> bool:
    """Let a rule be tried on every subject."""
    return True


@dataclass(frozen=True)
class Rule(Generic[Subject]):
    """One row of the table.

    Attributes:
        stage: when it is tried, and so what it is asked about.
        explains: the symptoms for which it is tried; where the symptom is not known yet, those of
            what it can find.
        find: gives what is proven; None, or nothing, where nothing is.
        when: whether it is tried on this subject at all.
    """

    stage: Stage
    explains: frozenset[Symptom]
    find: Callable[Subject, Proof]
    when: Callable[Subject, bool] = always
