"""One line of the account of a recording. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum, auto
from typing import Any, NamedTuple

from gradviz.graph.records import Call, Source
from gradviz.words.speech import say


class Weight(IntEnum):
    """How much a line says, the most first: the more it would surprise who wrote the program.

    NOTE [what is told first]: nobody writes a line that does nothing, so such a line says more than
    a value that is another than it looks; that says more than what many correct programs do, too.
    Of equally weighty lines the first is about what was asked, else the order is that of the table
    in ``account.py``.
    """

    IN_VAIN = auto()  # a line does nothing of what it was written for
    WEIGHTY = auto()  # a loss, a gradient or a step is another than the code looks like
    NOTABLE = auto()  # out of the ordinary, and mostly meant
    ORDINARY = auto()  # what any training does


class Remark(NamedTuple):
    """One observation.

    Attributes:
        weight: how much it says.
        key: of its sentence in ``words/``.
        fields: what the sentence names.
        calls: where it happened.
        objects: the tensors that it is about, by object id.
        statements: lines where no recorded call stands.
    """

    weight: Weight
    key: str
    fields: Mapping[str, Any]
    calls: tuple[Call, ...] = ()
    objects: frozenset[int] = frozenset()
    statements: tuple[Source, ...] = ()

    @property
    def sentence(self) -> str:
        """The line in words."""
        return say(f"account.{self.key}", **self.fields)


def in_order(remarks: Iterable[Remark], wanted: frozenset[int]) -> list[Remark]:
    """Return remarks, the weightiest first; of equally weighty ones first what is about something
    that was asked about. One sentence is said once."""
    once = {remark.sentence: remark for remark in reversed([*remarks])}
    found = reversed([*once.values()])
    return sorted(found, key=lambda r: (r.weight, bool(wanted) and r.objects.isdisjoint(wanted)))
