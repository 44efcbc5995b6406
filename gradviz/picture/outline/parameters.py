"""The parameters of a model by groups: the reason first, then the modules. What is wrong stands
first, and is opened."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from gradviz.graph.facts import grouped
from gradviz.graph.finished import Finished
from gradviz.graph.operations import HAS, Fate, Operations, Weight
from gradviz.graph.parameter_groups import Group, grouped_by_name, parts_within
from gradviz.graph.records import Graph
from gradviz.graph.sent import root_of_squares
from gradviz.picture.outline.causes import Causes
from gradviz.picture.outline.norms import figure
from gradviz.picture.outline.units import Expansion
from gradviz.words.speech import say
from gradviz.words.words import Words

LINES = 57  # of the table, without those that stand around them


class State(Enum):
    """What a group tells of its parameters, in the order in which it is told."""

    LOST = "lost"  # no gradient, though they should get one
    NAN = "nan"
    ZERO = "zero"
    VANISHED = "vanished"
    UNHELD = "unheld"  # a gradient, and no optimizer has them
    GETS = "gets"
    REACHED = "reached"  # before a backward
    OFF = "off"  # no gradient, and nothing says that they should get one
    FROZEN = "frozen"


WRONG = (State.LOST, State.NAN, State.ZERO, State.VANISHED, State.UNHELD)
OF_FATE = {
    Fate.SOME: State.GETS,
    Fate.ZERO: State.ZERO,
    Fate.VANISHED: State.VANISHED,
    Fate.NAN: State.NAN,
    Fate.FROZEN: State.FROZEN,
    Fate.REACHED: State.REACHED,
}


class Line(NamedTuple):
    """One line: of a reason, of a group, or of a part of an opened group."""

    level: int  # 0 of a reason
    name: str
    weights: tuple[Weight, ...]
    number: str = ""
    elements: str = ""
    norm: str = ""
    state: str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        """What stands in its columns."""
        return self.name, self.number, self.elements, self.norm, self.state


COLUMNS = ("parameters", "number", "elements", "norm", "state")


class Parameters:
    """The parameters of one graph, by groups.

    Args:
        operations: of a recording, or of a graph that was not recorded.
    """

    def __init__(self, operations: Operations) -> None:
        self.operations = operations
        self.graph: Graph = operations.graph
        self.is_recorded = bool(self.graph.calls)

    @cached_property
    def weights(self) -> list[Weight]:
        """Every parameter, in module order."""
        return self.operations.weights if self.is_recorded else Finished(self.graph).weights

    @cached_property
    def names(self) -> list[str]:
        """What they are called, with the name of their model where there are several."""
        modules = {m.id: m.name for m in self.graph.modules} if len(self.graph.modules) > 1 else {}
        starts = (modules.get(-1 if w.module_id is None else w.module_id) for w in self.weights)
        return [
            f"{start}.{w.name}" if start else w.name or say("entry.this_tensor")
            for start, w in zip(starts, self.weights, strict=True)
        ]

    @cached_property
    def _causes(self) -> Causes:
        return Causes(Expansion(self.operations), Words(self.graph))

    # --- what is known of each --------------------------------------------------------------------

    def state(self, weight: Weight) -> State:
        """Return what a group tells of a parameter."""
        state = OF_FATE.get(weight.fate)
        if state is State.GETS and weight.held is False:
            return State.UNHELD
        if state is not None:
            return state
        if not self.is_recorded:
            return State.LOST
        return State.LOST if self.operations.should_get(weight) else State.OFF

    def reason(self, weight: Weight) -> Hashable:
        """Return what parameters of one state have in common that have it for one reason."""
        if not self.is_recorded:
            return None
        state = self.state(weight)
        if state is State.LOST:
            return self._causes.kind(weight)
        if state in (State.ZERO, State.VANISHED):
            return self._causes.fading_line(weight)
        return None

    @cached_property
    def groups(self) -> list[Group]:
        """The groups; the key of each is its state and its reason."""
        return grouped_by_name(self.names, self._known)

    @cached_property
    def _known(self) -> list[tuple[State, Hashable]]:
        return [(self.state(w), self.reason(w)) for w in self.weights]

    # --- lines ------------------------------------------------------------------------------------

    def lines(self, most: int = LINES) -> list[Line]:
        """Return the lines of the table: what is wrong first, and opened where there is room."""
        sections = self.sections
        room = most - len(sections) - len(self.groups)
        found: list[Line] = []
        for groups in sections:
            found.append(self._head(groups))
            for group in groups:
                found.append(self._line(1, group))
                parts = parts_within(group, self.names) if self._state_of(group) in WRONG else []
                if len(parts) <= room:
                    room -= len(parts)
                    found += [self._line(2, part) for part in parts]
        return found

    @cached_property
    def sections(self) -> list[list[Group]]:
        """The groups of each state and reason, in the order in which they are told."""
        sections = grouped((self._known[group.members[0]], group) for group in self.groups)
        return sorted(sections.values(), key=self._rank)

    def _state_of(self, group: Group) -> State:
        return self._known[group.members[0]][0]

    def _rank(self, groups: list[Group]) -> tuple[int, int]:
        """Order sections: by state, and what costs most parameters first."""
        state = self._state_of(groups[0])
        return list(State).index(state), -sum(len(group.members) for group in groups)

    def _head(self, groups: Sequence[Group]) -> Line:
        """Return the line of a reason."""
        state = self._state_of(groups[0])
        weights = [self.weights[i] for group in groups for i in group.members]
        why = self._why(state, weights)
        name = say(f"params.{self._key(state)}", n=len(weights))
        return Line(0, say("params.why", what=name, why=why) if why else name, tuple(weights))

    def _key(self, state: State) -> str:
        """Return by which key a state is told."""
        if state is State.LOST and not self.operations.ran_backward:
            return "unreached"
        if state is State.OFF and self.operations.are_held():
            return "in_no_optimizer"
        return state.value

    def _why(self, state: State, weights: list[Weight]) -> str:
        """Return the reason of a state, in words."""
        if not self.is_recorded:
            return ""
        if state is State.LOST:
            spans = self._causes.why(weights)
        elif state in (State.ZERO, State.VANISHED):
            known = self._causes.fading_line(weights[0]) is not None
            spans = self._causes.faded_at(weights) if known else ()
        elif state is State.FROZEN:
            return self._causes.line_of(weights)
        else:
            return ""
        return " ".join(span.text for span in spans)

    def _line(self, level: int, group: Group) -> Line:
        weights = tuple(self.weights[i] for i in group.members)
        state = self._state_of(group)
        return Line(
            level,
            group.name,
            weights,
            f"{len(weights):,}",
            self._elements(weights),
            self.norm(weights),
            say(f"param_state.{self._key(state)}"),
        )

    def _elements(self, weights: Sequence[Weight]) -> str:
        shapes = [w.shape for w in weights]
        if any(shape is None for shape in shapes):
            return say("table.unknown")
        return f"{sum(math.prod(shape) for shape in shapes if shape is not None):,}"

    def norm(self, weights: Sequence[Weight]) -> str:
        """Return the norm of the last gradients of some parameters together, "" where there is
        none, or where it was not measured."""
        if not self.is_recorded or not all(w.fate in HAS for w in weights):
            return ""
        norms = [self.operations.gradients.last_norm(w.key) for w in weights]
        if any(math.isnan(norm) for norm in norms):
            return "NaN" if any(w.fate is Fate.NAN for w in weights) else ""
        return figure(root_of_squares(norms))
