"""What became of the gradient of the parameters of one card."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Set
from typing import NamedTuple

from gradviz.graph.operations import HAS, VANISHING, Fate, Weight
from gradviz.graph.sent import Sent, root_of_squares
from gradviz.picture.outline.loops import Profile, profile_of
from gradviz.picture.outline.unit import Unit
from gradviz.picture.outline.units import Expansion
from gradviz.words.plain import visible

CODE = 24  # characters of a call as written
ALARMS = {Fate.ZERO: "zero", Fate.VANISHED: "vanished", Fate.NAN: "nan"}


class State(NamedTuple):
    """The parameters of one card, by what became of their gradient."""

    all: list[Weight]
    here: list[Weight]  # got one from this card
    elsewhere: list[Weight]  # got or lost one, and not here
    by_hand: list[Weight]  # .grad was set by a statement, and no backward came there
    zero: list[Weight]  # got zeros alone
    vanished: list[Weight]  # got next to nothing
    nan: list[Weight]
    lost: list[Weight]
    off: list[Weight]  # got none, and nothing says that they should
    frozen: list[Weight]
    reached: list[Weight]  # before a backward
    norm: float | None  # of what this card sent into them


class States:
    """What became of the parameters of the cards of an outline.

    Args:
        expansion: the units that the cards are made of.
    """

    def __init__(self, expansion: Expansion) -> None:
        self.expansion = expansion
        self.operations = expansion.operations
        self._last_runs: dict[int, int] = {}

    def of(self, unit: Unit) -> State:
        """Sort the parameters of a card."""
        known = self.expansion.known_states
        key = id(unit), len(unit.ops), len(unit.calls)
        if key not in known:
            known[key] = unit, self._sorted(unit)
        state: State = known[key][1]
        return state

    def _sorted(self, unit: Unit) -> State:
        """Sort them anew."""
        weights = self.expansion.weights_in(unit)
        inside = {*unit.ops}
        norms: list[float] = []
        sorted_: dict[str, list[Weight]] = {name: [] for name in State._fields[1:-1]}
        for weight in weights:
            mine = self._sent_from(weight, inside)
            norm = self._norm_of(mine)
            sort = self._sort(weight, norm, mine or [])
            if sort == "lost" and not self.expansion.cuts.lose_in(weight, inside):
                sort = "elsewhere"
            sorted_[sort].append(weight)
            if norm is not None and math.isfinite(norm):
                norms.append(norm)
        return State(weights, **sorted_, norm=root_of_squares(norms) if norms else None)

    def _sort(self, weight: Weight, norm: float | None, mine: list[Sent]) -> str:
        """Return the field of ``State`` that a parameter belongs to."""
        fate = weight.fate
        if fate is Fate.FROZEN:
            return "frozen"
        if fate is Fate.REACHED:
            return "reached"
        if fate in HAS and weight.object_id in self.operations.set_by_hand:
            return "by_hand"
        if fate in HAS:
            if norm is None:
                return "elsewhere"
            return ALARMS.get(self._fate_here(weight, norm, mine), "here")
        return "lost" if self.operations.should_get(weight) else "off"

    def _fate_here(self, weight: Weight, norm: float, mine: list[Sent]) -> Fate:
        """Return what became of a parameter's gradient: of one that a card sent in a run before the
        last, what it was then."""
        if not mine or mine[-1].run == self._last_run(weight) or math.isnan(norm):
            return weight.fate
        if any(one.is_broken for one in mine):
            return Fate.NAN
        if norm == 0.0:
            sent = self.operations.filled_from.get(weight.key, {}).values()
            whole = [one for some in sent for one in some if one.run == mine[-1].run]
            return Fate.ZERO if self.operations.gradients.norm_of(whole) == 0 else Fate.SOME
        return Fate.VANISHED if norm < VANISHING else Fate.SOME

    def _last_run(self, weight: Weight) -> int:
        """Return the last run that sent a parameter something; -1 where none is known."""
        known = self._last_runs
        if weight.key not in known:
            sent = self.operations.filled_from.get(weight.key, {}).values()
            known[weight.key] = max((one.run for some in sent for one in some), default=-1)
        return known[weight.key]

    def _sent_from(self, weight: Weight, inside: set[int]) -> list[Sent] | None:
        """List what these operations sent into a parameter in the last run; [] where that was not
        watched; None: nothing came from here."""
        if weight.object_id is None or weight.fate not in HAS:
            return None
        by_op = self.operations.filled_from.get(weight.object_id)
        uses = {*self.operations.uses.get(weight.object_id, ())}
        if by_op is None:  # this backward was not watched
            return [] if not uses or inside & uses else None
        mine = [sent for at, sents in by_op.items() if at in inside for sent in sents]
        if not mine and (not uses or inside & uses):
            mine = _out_of_sight(by_op, uses)
        return [sent for sent in mine if sent.run == mine[-1].run] or None

    def _norm_of(self, mine: list[Sent] | None) -> float | None:
        """Return the norm of what came to a parameter; nan: not measured; None: nothing came."""
        if mine is None:
            return None
        return self.operations.gradients.norm_of(mine) if mine else math.nan

    def sents_of(self, unit: Unit) -> list[Sent]:
        """List what the operations of a card sent into parameters."""
        table = self.operations.filled_by
        return [sent for at in unit.ops for sent in table.get(at, ())]

    def profile(self, unit: Unit) -> Profile | None:
        """Return the gradient at each step of a loop; None where it is none."""
        known = self.expansion.known_profiles
        if id(unit) not in known:
            known[id(unit)] = unit, profile_of(unit, self.operations)
        profile: Profile | None = known[id(unit)][1]
        return profile

    def is_of_shared_module(self, unit: Unit) -> bool:
        """Say whether a card is one of several calls of a module."""
        if not unit.calls:
            return False
        calls = self.expansion.tree.call
        mine = calls[unit.calls[0]]
        return any(
            c.module_id == mine.module_id and c.path == mine.path and c.id not in unit.calls
            for c in calls.values()
        )

    def others_giving(self, weights: Iterable[Weight], unit: Unit) -> list[str]:
        """Name the modules whose calls gave these parameters their gradient."""
        names: dict[str, None] = {}
        for weight in weights:
            for at in self.operations.filled_from.get(weight.key, {}):
                if at is None or at in unit.ops:
                    continue
                call_id = self.operations.all[at].call.module_call
                if call_id is not None:
                    call = self.expansion.tree.call[call_id]
                    end = call.path.rpartition(".")[2] or visible(call.code or "", CODE)
                    names[end] = None
        return [name for name in names if name]


def _out_of_sight(by_op: Mapping[int | None, list[Sent]], uses: Set[int]) -> list[Sent]:
    """Return what operations sent that were not recorded as users, as those of a checkpoint."""
    return [sent for at, sents in by_op.items() if at not in uses for sent in sents]
