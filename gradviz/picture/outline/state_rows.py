"""What became of the parameters of one card, as rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradviz.graph.operations import HAS, Weight
from gradviz.graph.parameter_groups import name_of
from gradviz.picture.outline.links import Links
from gradviz.picture.outline.loop_rows import chart_rows
from gradviz.picture.outline.loops import parts_of
from gradviz.picture.outline.member_rows import MemberRows
from gradviz.picture.outline.norms import figure, shares
from gradviz.picture.outline.run_rows import RunRows
from gradviz.picture.outline.scene import Rail, Row, Span, Tone
from gradviz.picture.outline.states import State, States
from gradviz.picture.outline.unit import Kind, Merged, Unit
from gradviz.words.speech import say

BARS = 12  # calls that get an upright bar each
SHORT = {  # what has shorter wordings, longest first
    "gets": ("gets_short", "gets_shortest"),
    "lost_all": ("lost_all_short",),
    "lost_named": ("lost_named_short", "lost_named_shortest", "lost"),
    "zero": ("zero_short",),
}
NAMES = 3  # parameters, or modules of them, that a card names of those that get none


class StateRows:
    """Tells what became of the parameters of the cards of an outline.

    Args:
        links: between the cards.
        states: of their parameters.
    """

    def __init__(self, links: Links, states: States) -> None:
        self.links, self.states = links, states
        self.operations = links.operations
        self.expansion = links.expansion
        self.members = MemberRows(states)
        self.runs = RunRows(states)

    def rows(self, place: int) -> list[Row]:
        """Tell what became of the parameters of a card."""
        unit = self.links.units[place]
        is_piece = unit.kind is Kind.PIECE and len(unit.members) > 1
        if unit.merged is Merged.ROWS:
            return self._unused_rows(unit)
        if unit.steps:
            return [*chart_rows(self.states.profile(unit)), *self._loop_rows(unit, place)]
        if is_piece or unit.merged is Merged.SIDE:
            rows = self.members.rows(unit.members, within=unit.merged is Merged.SIDE)
            return [*rows, *self._unused_rows(unit)]
        return [*self._state_rows(unit, place), *self._unused_rows(unit)]

    def _loop_rows(self, unit: Unit, place: int) -> list[Row]:
        """Tell the state of each module of a loop, or of all its parameters."""
        parts = parts_of(unit, self.expansion) if unit.merged is Merged.LOOP else []
        if len(parts) > 1:
            return self.members.rows(parts)
        return self._state_rows(unit, place)

    def _state_rows(self, unit: Unit, place: int) -> list[Row]:
        """Tell the state of all parameters of a card together."""
        state = self.states.of(unit)
        if not state.all:
            return []
        if unit.kind is Kind.STATEMENT or not unit.calls:
            return self._named_rows(state, place)
        return self._counted_rows(unit, state, place)

    def _counted_rows(self, unit: Unit, state: State, place: int) -> list[Row]:
        total = len(state.all) - len(state.frozen)
        found: list[Row] = []
        if state.lost:
            found.append(self._lost_row(unit, state, total))
        if state.nan:
            found.append(self._count("nan", Tone.ALARM, Rail.COMES, state.nan, total))
        if state.zero:
            found.append(self._zero_row(state.zero, total))
        if state.vanished:
            right = "" if state.norm is None or state.here else figure(state.norm)
            found.append(
                self._count("vanished", Tone.ALARM, Rail.COMES, state.vanished, total, right=right)
            )
        if state.elsewhere:
            found += self._elsewhere_rows(unit, state, total)
        if state.by_hand:
            found.append(self._count("by_hand", Tone.GETS, Rail.COMES, state.by_hand, total))
        if state.here:
            found += self._gets_rows(unit, state, total)
        if state.reached:
            found.append(self._count("reached", Tone.GETS, Rail.CAN, state.reached, total))
        if state.off:
            found.append(self._off_row(state.off))
        if state.frozen and not state.here:
            found.append(self._frozen_row(state.frozen, place))
        return [*found, *self._moved_rows(unit)]

    def _lost_row(self, unit: Unit, state: State, total: int) -> Row:
        """Tell of parameters that get no gradient though they should: those of a part of a module
        by name, where they have few names."""
        right, names = self._each(unit, state), list[str]()
        if len(state.lost) < total:
            names = self._names_of_lost(unit, state)
        key = "lost_named" if 0 < len(names) <= NAMES else "lost"
        lost = state.lost
        return self._count(key, Tone.LOST, Rail.NONE, lost, total, right=right, names=names)

    def _names_of_lost(self, unit: Unit, state: State) -> list[str]:
        """Name the parameters of a card that get no gradient, below its modules, as few as can be;
        none where equal modules differ in what they lost."""
        are_alike = unit.merged in (Merged.NOT, Merged.RANGE)
        paths = [self.expansion.tree.call[i].path for i in unit.calls] if are_alike else []
        starts = sorted((f"{path}." for path in paths if path), key=len, reverse=True)

        def below(weight: Weight) -> str:
            start = next((s for s in starts if weight.name.startswith(s)), "")
            return weight.name.removeprefix(start)

        lost = dict.fromkeys(map(below, state.lost))
        ids = {*map(id, state.lost)}
        others = {below(weight) for weight in state.all if id(weight) not in ids}
        every = dict.fromkeys(map(below, state.all))
        return [] if others & lost.keys() else name_of([*lost], [*every])

    def _zero_row(self, zero: list[Weight], total: int) -> Row:
        """Tell of parameters that get only zeros; it is no alarm where that is how they start."""
        if all(map(self.expansion.fading.cancels, zero)):
            text = say("outline.zero_cancels", n=len(zero), total=total)
            short = say("outline.zero_cancels_short", n=len(zero), total=total)
            return Row(Tone.OFF, (Span(text, shorter=(short,)),), "", Rail.COMES)
        if not all(map(self.expansion.fading.is_at_start, zero)):
            return self._count("zero", Tone.ALARM, Rail.COMES, zero, total)
        text = say("outline.zero_at_start", n=len(zero), total=total)
        short = say("outline.zero_at_start_short", n=len(zero), total=total)
        return Row(Tone.OFF, (Span(text, shorter=(short,)),), "", Rail.COMES)

    def _moved_rows(self, unit: Unit) -> list[Row]:
        """Tell of BatchNorms that are frozen and moved their running statistics."""
        n = len({*unit.ops}.intersection(self.expansion.fading.moved))
        if not n:
            return []
        span = Span(say("outline.moved"), shorter=(say("outline.moved_short"),))
        return [Row(Tone.ALARM, (span,), say("outline.batch_norms", n=n))]

    def _count(
        self,
        key: str,
        tone: Tone,
        rail: Rail,
        some: list[Weight],
        total: int,
        *,
        right: str = "",
        bars: tuple[float, ...] = (),
        names: Sequence[str] = (),
    ) -> Row:
        if key == "lost" and len(some) == total:
            key = "lost_all"
        counts = {"n": len(some), "total": total}
        said = {
            one: say(f"param_count.{one}", **counts, **({"names": names} if "named" in one else {}))
            for one in (key, *SHORT.get(key, ()))
        }
        long, *short = said.values()
        return Row(tone, (Span(long, shorter=tuple(short)),), right, rail, bars=bars)

    def _each(self, unit: Unit, state: State) -> str:
        """Return the count that each of several equal calls has, where all get none."""
        n = len(unit.members)
        if unit.merged is not Merged.RANGE or len(state.lost) != len(state.all) or n < 2:
            return ""
        if len(state.all) % n:
            return ""
        return say("outline.none_each", total=len(state.all) // n)

    def _elsewhere_rows(self, unit: Unit, state: State, total: int) -> list[Row]:
        """Tell of parameters that get or lose a gradient through another card alone."""
        n = len(state.elsewhere)
        rows = [Row(Tone.LOST, (Span(say("outline.not_through_here")),), "", Rail.NONE)]
        is_lost = all(weight.fate not in HAS for weight in state.elsewhere)
        if is_lost or self.states.is_of_shared_module(unit):
            return [
                Row(Tone.OFF, (Span(say("outline.none_from_call", n=n, total=total)),), "", Rail.NO)
            ]
        others = self.states.others_giving(state.elsewhere, unit)
        if others:
            text = say("outline.from_others", n=n, total=total, others=others)
        else:
            text = say("outline.from_another_call", n=n, total=total)
        return [*rows, Row(Tone.GETS, (Span(text),), "", Rail.COMES)]

    def _gets_rows(self, unit: Unit, state: State, total: int) -> list[Row]:
        runs = sorted({sent.run for sent in self.states.sents_of(unit)})
        frozen = len(state.frozen)
        if len(self.operations.graph.backwards) > 1 and runs:
            return self.runs.rows(unit, state, total, runs)
        right, bars = self._norms(unit, state)
        row = self._count("gets", Tone.GETS, Rail.COMES, state.here, total, right=right, bars=bars)
        own = self._own(unit)
        tied = [w for w in state.here if id(w) not in own]
        if tied and len(tied) == total:
            names = [w.name for w in tied]
            text = say("outline.gets_tied", n=len(tied), total=total, names=names)
            row = row._replace(left=(Span(text),))
        if frozen:
            text = say("outline.gets_and_frozen", n=len(state.here), total=total, frozen=frozen)
            short = say(
                "outline.gets_and_frozen_short", n=len(state.here), total=total, frozen=frozen
            )
            row = row._replace(left=(Span(text, shorter=(short,)),))
        return [row, *self._unheld_rows(state, total)]

    def _unheld_rows(self, state: State, total: int) -> list[Row]:
        """Tell of parameters that get a gradient which no optimizer will use."""
        n = sum(weight.held is False for weight in state.here)
        if not n:
            return []
        text = say("outline.unheld", n=n, total=total)
        short = say("outline.unheld_short", n=n, total=total)
        return [Row(Tone.OFF, (Span(text, shorter=(short,)),), "", Rail.COMES)]

    def _own(self, unit: Unit) -> set[int]:
        """Return the parameters that stand below the modules of the card, by their identity."""
        calls = (self.expansion.tree.call[i] for i in unit.calls)
        below = self.expansion.tree.weights_below
        return {id(weight) for c in calls for weight in below(c.module_id, c.path)}

    def _norms(self, unit: Unit, state: State) -> tuple[str, tuple[float, ...]]:
        """Return the norm at a row's right edge, or those of several calls with their bars."""
        if unit.merged in (Merged.NOT,) or len(unit.members) < 2 or self._is_one_module(unit):
            return "" if state.norm is None else figure(state.norm), ()
        norms = [self.states.of(member).norm or 0.0 for member in unit.members]
        if not any(norms):
            return "", ()
        ends = say("outline.first_to_last", first=figure(norms[0]), last=figure(norms[-1]))
        if len(norms) > BARS:
            low, high = figure(min(norms)), figure(max(norms))
            return say("outline.between", low=low, high=high), ()
        return ends, shares(norms)

    def _is_one_module(self, unit: Unit) -> bool:
        calls = [self.expansion.tree.call[i] for i in unit.calls]
        return len({(c.module_id, c.path) for c in calls}) == 1

    def _off_row(self, off: list[Weight]) -> Row:
        known = any(w.held is not None for w in off)
        text = say("outline.no_optimizer" if known else "outline.no_gradient", n=len(off))
        shorter = (say("outline.no_optimizer_short", n=len(off)),) if known else ()
        return Row(Tone.OFF, (Span(text, shorter=shorter),))

    def _frozen_row(self, frozen: list[Weight], place: int) -> Row:
        passes = self.links.gets(place)
        above = any(self.links.carries(link) for link in self.links.into[place])
        right = say("outline.lets_through") if passes and above else ""
        rail = Rail.PASSES if passes else Rail.NO
        span = Span(
            say("outline.frozen", n=len(frozen)),
            shorter=(say("outline.frozen_short", n=len(frozen)),),
        )
        return Row(Tone.FROZEN, (span,), right, rail)

    def _named_rows(self, state: State, place: int) -> list[Row]:
        """Tell of parameters that a statement reads itself, by name."""
        found = []
        if state.lost:
            text = say("outline.named_lost", names=_names(state.lost))
            counts = (say("outline.lost_so_many", n=len(state.lost)),)
            found.append(Row(Tone.LOST, (Span(text, shorter=counts),), "", Rail.NONE))
        if state.off:
            known = any(w.held is not None for w in state.off)
            names = _names(state.off)
            text = say("outline.named_unheld" if known else "outline.named_off", names=names)
            counted = self._off_row(state.off).left[0]
            spans = (Span(text, shorter=(counted.text, *counted.shorter)),)
            found.append(Row(Tone.OFF, spans))
        if state.zero:
            text = say("outline.named_zero", names=_names(state.zero))
            found.append(Row(Tone.ALARM, (Span(text),), "", Rail.COMES))
        if state.vanished:
            text = say("outline.named_vanished", names=[w.name for w in state.vanished])
            found.append(Row(Tone.ALARM, (Span(text),), "", Rail.COMES))
        if state.nan:
            text = say("outline.named_nan", names=_names(state.nan))
            found.append(Row(Tone.ALARM, (Span(text),), "", Rail.COMES))
        if state.by_hand:
            text = say("outline.named_by_hand", names=_names(state.by_hand))
            found.append(Row(Tone.GETS, (Span(text),), "", Rail.COMES))
        found += self._named_gets(state, self.links.units[place])
        if state.frozen and not found:
            found.append(self._frozen_row(state.frozen, place))
        return found

    def _named_gets(self, state: State, unit: Unit) -> list[Row]:
        """Tell by name of the parameters that get a gradient, here or through another card."""
        found = []
        if state.here:
            names = _names(state.here)
            fields = {"n": len(names), "total": len(names)}
            text = say("outline.named_gets", **fields, names=names)
            counted = say("param_count.gets", **fields), say("param_count.gets_short", **fields)
            shorter = say("outline.named_gets_short", **fields, names=names), *counted
            norm = "" if state.norm is None else figure(state.norm)
            found.append(Row(Tone.GETS, (Span(text, shorter=shorter),), norm, Rail.COMES))
        if state.reached:
            text = say("outline.named_reached", names=_names(state.reached))
            found.append(Row(Tone.GETS, (Span(text),), "", Rail.CAN))
        if state.elsewhere:
            found.append(Row(Tone.OFF, (self._elsewhere(state.elsewhere, unit),)))
        return found

    def _elsewhere(self, weights: list[Weight], unit: Unit) -> Span:
        """Tell of parameters that get no gradient from a statement, and one through another card:
        under no_grad whether it moves them."""
        ops = [self.operations.all[at] for at in unit.ops]
        if not all(map(self.expansion.no_grad.is_quiet, ops)):
            shorter = say("outline.elsewhere"), say("outline.elsewhere_short")
            return Span(say("outline.named_elsewhere", names=_names(weights)), shorter=shorter)
        made = {self.operations.graph.tensor[i].object_id for op in ops for i in op.makes}
        moved = [weight for weight in weights if weight.object_id in made]
        if moved:
            counted = (say("outline.moves_so_many", n=len(moved)),)
            return Span(say("outline.moves_named", names=_names(moved)), shorter=counted)
        named = say("outline.reads_named_short", names=_names(weights))
        shorter = named, say("outline.reads_so_many", n=len(weights))
        return Span(say("outline.reads_named", names=_names(weights)), shorter=shorter)

    def _unused_rows(self, unit: Unit) -> list[Row]:
        found = []
        for path in unit.unused:
            root = self._root_of(unit)
            n = len(self.expansion.tree.unused_below(root, path))
            text = say("outline.never_called", path=self._short(path), n=n)
            found.append(Row(Tone.LOST, (Span(text),), "", Rail.NONE))
        return found

    def _root_of(self, unit: Unit) -> int:
        call_id = unit.calls[0] if unit.calls else unit.parent
        return 0 if call_id is None else self.expansion.tree.call[call_id].module_id

    def _short(self, path: str) -> str:
        return ".".join(path.split(".")[-2:])


def _names(weights: Iterable[Weight]) -> list[str]:
    """Return the names of some parameters."""
    return [weight.name for weight in weights]
