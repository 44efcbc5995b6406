"""The parts of one card, each in a row: what became of its parameters."""

from __future__ import annotations

from collections import Counter

from gradviz.graph.operations import Weight
from gradviz.picture.outline.norms import figure
from gradviz.picture.outline.scene import Rail, Row, Span, Tone
from gradviz.picture.outline.states import CODE, State, States
from gradviz.picture.outline.unit import Unit
from gradviz.words.plain import visible
from gradviz.words.speech import enumerated, say

NAMED = 3  # lost parameters of a statement whose names are told


class MemberRows:
    """Writes a row for each part of a card.

    Args:
        states: of the parameters of the cards.
    """

    def __init__(self, states: States) -> None:
        self.states = states
        self.operations = states.operations
        self.expansion = states.expansion

    def rows(self, members: list[Unit], *, within: bool = False) -> list[Row]:
        """Tell of each module of a card in a row of its own. ``within``: the title has the name of
        the list or dict around them."""
        states = [self.states.of(member) for member in members]
        most = max((state.norm or 0.0 for state in states), default=0.0)
        plain = [self._name(member) for member in members]
        names = Counter(plain)
        around = {name.rpartition(".")[0] for name in plain}
        outer = f"{around.pop()}." if len(around) == 1 and within else ""
        found = []
        for member, state, name in zip(members, states, plain, strict=True):
            call = self.expansion.tree.call[member.calls[0]]
            if names[name] > 1:
                name = self._name(member, beside=True)
            elif len(outer) > 1:  # the title has it
                name = name.removeprefix(outer)
            left = (Span(name, "name"), Span(call.kind, "grey"))
            found.append(self.row(member, left, state, most))
        return found

    def row(self, member: Unit, left: tuple[Span, ...], state: State, most: float) -> Row:
        """Tell the state of one part of a card in a row; its bar is of the largest norm."""
        total = len(state.all) - len(state.frozen)
        if not state.all:
            return Row(Tone.NOTHING, left)
        if not total:
            return Row(Tone.FROZEN, left, rail=Rail.PASSES, middle=say("outline.all_frozen"))
        if state.lost:
            middle = self._lost_short(member, state, total)
            return Row(Tone.LOST, left, "", Rail.NONE, middle)
        for key in ("nan", "zero", "vanished"):
            weights: list[Weight] = getattr(state, key)
            if weights and not all(map(self.expansion.fading.is_no_alarm, weights)):
                bad = say(f"alarm_count.{key}", n=len(weights), total=total)
                return Row(Tone.ALARM, left, "", Rail.COMES, bad)
        if state.elsewhere and not state.here:
            return Row(Tone.OFF, left, "", Rail.NO, self._elsewhere_short(state.elsewhere, member))
        if state.off:
            return Row(Tone.OFF, left, "", Rail.NO, say("outline.count_off", total=total))
        if state.reached:
            middle = say("outline.count_gets", n=len(state.reached), total=total)
            return Row(Tone.GETS, left, "", Rail.CAN, middle)
        middle = say("outline.count_gets", n=len(state.here) + len(state.by_hand), total=total)
        norm = "" if state.norm is None else figure(state.norm)
        bar = None if state.norm is None or not most else state.norm / most
        return Row(Tone.GETS, left, norm, Rail.COMES, middle, bar)

    def _name(self, member: Unit, beside: bool = False) -> str:
        """Return the name of a module below that of its card: "h.5", or "attn"; the call as written
        where another call of it stands beside it."""
        call = self.expansion.tree.call[member.calls[0]]
        if beside and call.code:
            return visible(call.code, CODE)
        outer = None if member.parent is None else self.expansion.tree.call[member.parent]
        if call.path and outer is not None and outer.module_id == call.module_id:
            start = f"{outer.path}." if outer.path else ""
            if call.path.startswith(start):
                return call.path.removeprefix(start)
        return call.path.rpartition(".")[2] or self.operations.graph.modules[call.module_id].name

    def _lost_short(self, member: Unit, state: State, total: int) -> str:
        """Tell how many of so many parameters got nothing; of statements which ones, if they are
        few."""
        if member.calls or len(state.lost) > NAMED:
            return say("outline.count_lost", n=len(state.here), total=total)
        names = enumerated([visible(weight.name, CODE) for weight in state.lost])
        return say("outline.lost_ones", names=names)

    def _elsewhere_short(self, weights: list[Weight], member: Unit) -> str:
        """Tell where parameters get their gradient that get none through a module."""
        if self.states.is_of_shared_module(member):
            return say("outline.count_other_call", n=len(weights))
        others = self.states.others_giving(weights, member)
        return say("outline.count_elsewhere", names=others) if others else ""
