"""What becomes one card of an outline.

NOTE [intervals]: module calls nest, so every card is an interval of the order of calls, and all
arrows go the same way. What is moved out of its place (a statement joins the next card, a loss
takes what only it uses, cuts are looked through) keeps that: see ``gather.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum


class Kind(Enum):
    """What a card stands for."""

    CALL = "call"  # of a module, or several equal ones
    PIECE = "piece"  # a part of an opened module call, before or after a cut
    STATEMENT = "statement"
    LOSS = "loss"
    INPUT = "input"
    LEAF = "leaf"  # a parameter that the reader asked for
    UNUSED = "unused"  # a module that was never called


class Part(Enum):
    """Which part of a module call a piece is."""

    WHOLE = "whole"
    BEFORE = "before"
    BETWEEN = "between"
    AFTER = "after"
    NO_GRAD = "no_grad"


class Merged(Enum):
    """How several units became one."""

    NOT = "not"
    RANGE = "range"  # equal calls, one after the other
    LOOP = "loop"  # equal stretches of calls and statements, one after the other
    SIDE = "side"  # equal calls that do not feed each other
    FOLD = "fold"  # neighbours folded for lack of room
    ROWS = "rows"  # neighbours of unequal state, a row each, for lack of room


@dataclass(eq=False)
class Unit:
    """What becomes one card.

    Attributes:
        kind: what it stands for.
        ops: its operations, in order.
        calls: the module calls that it stands for, in order.
        parent: the opened module call in which it stands; None: none.
        part: of a piece, which part of ``parent``.
        then: functions that follow the module calls and were folded in.
        after: functions that come before them and were folded in.
        members: what was merged, or the rows of a piece.
        merged: how.
        unused: paths of modules beside it that were never called.
        tensor_id: of an input or a parameter: its state.
        is_loop: of a range: whether it is one module, given what it returned.
    """

    kind: Kind
    ops: list[int]
    calls: list[int] = field(default_factory=list)
    parent: int | None = None
    part: Part = Part.WHOLE
    then: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    members: list[Unit] = field(default_factory=list)
    merged: Merged = Merged.NOT
    unused: list[str] = field(default_factory=list)
    tensor_id: int | None = None
    is_loop: bool = False

    @property
    def steps(self) -> list[Unit]:
        """What ran in each step, where it is a loop: of equal stretches, or of one module that is
        given what it returned."""
        return self.members if self.merged is Merged.LOOP or self.is_loop else []


def unit_of(units: Sequence[Unit]) -> dict[int, int]:
    """Return the place of the unit that each operation is in, by the operation's place."""
    return {at: k for k, unit in enumerate(units) for at in unit.ops}


def listed(upper: Unit, lower: Unit, parent: int | None) -> Unit:
    """Return one unit of two, with a row for each."""
    members = [
        member
        for unit in (upper, lower)
        for member in (unit.members if unit.merged is Merged.ROWS else [unit])
    ]
    calls = [*upper.calls, *lower.calls]
    return Unit(
        Kind.CALL if calls else Kind.STATEMENT,
        sorted([*upper.ops, *lower.ops]),
        calls,
        parent,
        members=members,
        merged=Merged.ROWS,
        unused=[*upper.unused, *lower.unused],
    )


def flattened(units: Iterable[Unit]) -> Iterator[Unit]:
    """Go through units and everything merged into them, innermost first."""
    for unit in units:
        yield from flattened(unit.members)
        yield unit
