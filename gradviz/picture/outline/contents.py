"""What a reader can go to in an outline: which cards open, what is open, what is red, and which
card contains a name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import dropwhile
from typing import Any, Protocol

from gradviz.picture.outline.leaves import weight_of
from gradviz.picture.outline.opening import Modules
from gradviz.picture.outline.scene import Card, Tone
from gradviz.picture.outline.unit import Kind, Unit, unit_of
from gradviz.picture.outline.units import Expansion

ALARMING = (Tone.LOST, Tone.ALARM)


class Contents:
    """What a reader can go to.

    Args:
        expansion: what is open.
        modules: of the same recording.
        units: what each card stands for.
        cards: as they are drawn.
        opened: whole names of the modules that the reader opened.
    """

    def __init__(
        self,
        expansion: Expansion,
        modules: Modules,
        units: Sequence[Unit],
        cards: Sequence[Card],
        opened: tuple[str, ...],
    ) -> None:
        self.expansion, self.modules = expansion, modules
        self.tree = expansion.tree
        self.units, self.cards, self.opened = units, cards, opened

    def described(self) -> dict[str, Any]:
        """Return everything as plain data: names of modules, and ids of cards as in the SVG."""
        return {
            "opened": [*self.opened],
            "crumbs": [trail(self.modules, name) for name in self._innermost() or self._roots[:1]],
            "inside": {name: [f"n{k}" for k in self.inside(name)] for name in self.opened},
            "red": [*dict.fromkeys(c.path for c in self.cards if c.path and is_red(c))],
            "alarms": [f"n{c.id}" for c in self.cards if any(r.tone in ALARMING for r in c.rows)],
            "names": self.names,
        }

    # --- opening ----------------------------------------------------------------------------------

    def _name(self, call_id: int) -> str:
        return self.tree.name(self.tree.call[call_id])

    def _innermost(self) -> list[str]:
        """List what the reader opened, without what is around something else that she opened."""
        return [
            name
            for name in self.opened
            if not any(other.startswith(f"{name}.") for other in self.opened)
        ]

    @property
    def _roots(self) -> list[str]:
        return [module.name for module in self.tree.graph.modules]

    def inside(self, name: str) -> list[int]:
        """List the cards of what ran inside a module, or its own card; that of a parameter."""
        if name not in self.modules.calls:
            return [place for leaf, place in self._leaves if leaf == name]
        calls = {*self.modules.calls[name]}
        return [
            k
            for k, unit in enumerate(self.units)
            if calls.intersection(self.tree.around(unit.parent))
            or (unit.calls and calls.issuperset(unit.calls))
        ]

    @cached_property
    def _read(self) -> set[int | None]:
        """The objects of the parameters that an operation read."""
        return {*self.expansion.operations.uses}

    @cached_property
    def _leaves(self) -> list[tuple[str, int]]:
        """The whole names of the parameters that have cards, with their places."""
        graph, found = self.tree.graph, []
        for k, unit in enumerate(self.units):
            if unit.kind is Kind.LEAF:
                weight = weight_of(unit, self.expansion.operations)
                found.append((f"{graph.modules[weight.module_id or 0].name}.{weight.name}", k))
        return found

    # --- names ------------------------------------------------------------------------------------

    @cached_property
    def names(self) -> dict[str, list[str]]:
        """For each module and parameter the card that contains it, or "", and which module must be
        opened before it has one of its own, or ""."""
        found: dict[str, list[str]] = {}
        for root in self.tree.graph.modules:
            for name in (root.name, *(f"{root.name}.{path}" for path, _ in root.children)):
                found[name] = self._place(name)
            for parameter in root.parameters:
                full = f"{root.name}.{parameter.name}"
                place = found.get(full.rpartition(".")[0], ["", ""])
                found[full] = [*place, "leaf"] if parameter.object_id in self._read else place
        return found | {name: [f"n{k}", ""] for name, k in self._leaves}

    def _place(self, name: str) -> list[str]:
        calls = self.modules.calls.get(name)
        if not calls:
            return [self._uncalled.get(name, ""), ""]
        places = [self._card_at[at] for at in self.tree.below[calls[0]] if at in self._card_at]
        if not places:
            return ["", ""]
        return [f"n{places[0]}", self._closed_around(name, self.units[places[0]])]

    @cached_property
    def _card_at(self) -> dict[int, int]:
        """The card of each operation."""
        return unit_of(self.units)

    @cached_property
    def _uncalled(self) -> dict[str, str]:
        """The cards of what was never called itself: modules that nobody used, and lists."""
        return dict(self._uncalled_cards())

    def _uncalled_cards(self) -> Iterator[tuple[str, str]]:
        for name in reversed(self.modules.calls):
            first = self._place(name)[0]
            around = name.rpartition(".")[0]
            while around and around not in self.modules.calls:
                yield around, first
                around = around.rpartition(".")[0]
        for k, unit in enumerate(self.units):
            for path in unit.unused:
                parent = unit.parent if unit.parent is not None else unit.calls[0]
                root = self.tree.graph.modules[self.tree.call[parent].module_id].name
                yield f"{root}.{path}", f"n{k}"

    def _closed_around(self, name: str, unit: Unit) -> str:
        """Return the innermost module around one that is part of a closed card; "": none."""
        alone = self._names_in[id(unit)]
        closed = [*dropwhile(lambda one: one not in alone, self.modules.around(name))]
        return next((one for one in reversed(closed) if self.modules.can_open(one)), "")

    @cached_property
    def _names_in(self) -> dict[int, set[str]]:
        """The names of the modules that each card stands for."""
        return {id(unit): {self._name(i) for i in unit.calls} for unit in self.units}


def is_red(card: Card) -> bool:
    """Say whether a card tells of a lost gradient inside it, or that something else is wrong there;
    that the gradient ends at it is about what stands above it."""
    rows = [*card.rows[:1], *card.rows[2:]] if card.ends else card.rows
    return any(row.tone in ALARMING for row in rows)


class Nested(Protocol):
    """The modules of a model."""

    def around(self, name: str) -> list[str]:
        """List the modules around one, from the outside."""


def trail(modules: Nested, name: str) -> list[list[str]]:
    """Return the way to a module as a label and a name for each step, from its root."""
    steps: list[list[str]] = []
    for one in (*modules.around(name), name):
        before = steps[-1][1] if steps else ""
        steps.append([one.removeprefix(f"{before}."), one])
    return steps
