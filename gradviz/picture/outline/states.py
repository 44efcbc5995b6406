"""What became of the parameters of one card, as rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import reduce
from operator import or_
from typing import NamedTuple

from gradviz.graph.operations import HAS, VANISHING, Fate, Weight
from gradviz.graph.parameter_groups import name_of
from gradviz.graph.sent import Sent, root_of_squares
from gradviz.picture.outline.links import Links
from gradviz.picture.outline.loops import FLOOR, FLOOR_TEXT, Profile, parts_of, profile_of
from gradviz.picture.outline.scene import Rail, Row, Span, Tone
from gradviz.picture.outline.units import Kind, Merged, Unit
from gradviz.words.plain import as_operand, visible
from gradviz.words.speech import enumerated, say

CODE = 24  # characters of a call as written
NAMED = 3  # lost parameters of a statement whose names are told
BARS = 12  # calls that get an upright bar each
ALARMS = {Fate.ZERO: "zero", Fate.VANISHED: "vanished", Fate.NAN: "nan"}
SHORT = {  # what has shorter wordings, longest first
    "gets": ("gets_short", "gets_shortest"),
    "lost_all": ("lost_all_short",),
    "lost_named": ("lost_named_short", "lost_named_shortest", "lost"),
    "zero": ("zero_short",),
}
NAMES = 3  # parameters, or modules of them, that a card names of those that get none


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
        links: between the cards.
    """

    def __init__(self, links: Links) -> None:
        self.links = links
        self.operations = links.operations
        self.expansion = links.expansion

    # --- one card ---------------------------------------------------------------------------------

    def of(self, unit: Unit) -> State:
        """Sort the parameters of a card."""
        known = self.expansion.known_states
        key = id(unit), len(unit.ops), len(unit.calls)
        if key not in known:
            known[key] = unit, self._sorted(unit)
        state: State = known[key][1]
        return state

    def _sorted(self, unit: Unit) -> State:
        weights = self.expansion.weights_in(unit)
        inside = {*unit.ops}
        norms: list[float] = []
        sorted_: dict[str, list[Weight]] = {name: [] for name in State._fields[1:-1]}
        for weight in weights:
            mine = self._sent_from(weight, inside)
            norm = self._norm_of(mine)
            sort = self._sort(weight, norm, mine or [])
            if sort == "lost" and not self.expansion.loses_in(weight, inside):
                sort = "elsewhere"
            sorted_[sort].append(weight)
            if norm is not None and math.isfinite(norm):
                norms.append(norm)
        return State(weights, **sorted_, norm=root_of_squares(norms) if norms else None)

    def _sort(self, weight: Weight, norm: float | None, mine: list[Sent]) -> str:
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
        sent = [*self.operations.filled_from.get(id_of(weight), {}).values()]
        last = max((one.run for some in sent for one in some), default=-1)
        if not mine or mine[-1].run == last or math.isnan(norm):
            return weight.fate
        if any(one.is_broken for one in mine):
            return Fate.NAN
        if norm == 0.0:
            whole = [one for some in sent for one in some if one.run == mine[-1].run]
            return Fate.ZERO if self.operations.gradients.norm_of(whole) == 0 else Fate.SOME
        return Fate.VANISHED if norm < VANISHING else Fate.SOME

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

    # --- rows -------------------------------------------------------------------------------------

    def rows(self, place: int) -> list[Row]:
        """Tell what became of the parameters of a card."""
        unit = self.links.units[place]
        is_piece = unit.kind is Kind.PIECE and len(unit.members) > 1
        if unit.merged is Merged.ROWS:
            return self._unused_rows(unit)
        if unit.steps:
            return [*self.chart_rows(unit), *self._loop_rows(unit, place)]
        if is_piece or unit.merged is Merged.SIDE:
            rows = self.member_rows(unit.members, within=unit.merged is Merged.SIDE)
            return [*rows, *self._unused_rows(unit)]
        return [*self.state_rows(unit, place), *self._unused_rows(unit)]

    def _loop_rows(self, unit: Unit, place: int) -> list[Row]:
        """Tell the state of each module of a loop, or of all its parameters."""
        parts = parts_of(unit, self.expansion) if unit.merged is Merged.LOOP else []
        if len(parts) > 1:
            return self.member_rows(parts)
        return self.state_rows(unit, place)

    def chart_rows(self, unit: Unit) -> list[Row]:
        """Draw how large the gradient is at each step of a loop, and say where it dies."""
        profile = self.profile(unit)
        if profile is None:
            return []
        last = len(profile.norms)
        caption = Span(say("outline.chart"), shorter=(say("outline.chart_short"),))
        scale = say("outline.chart_scale", low=FLOOR_TEXT, high=figure(profile.top))
        return [
            Row(Tone.PLAIN, (caption,), scale if profile.top > FLOOR else ""),
            Row(
                Tone.PLAIN,
                (Span(say("outline.step", k=1)),),
                say("outline.step", k=last),
                chart=profile.bars,
            ),
            self._profile_row(profile),
        ]

    def profile(self, unit: Unit) -> Profile | None:
        """Return the gradient at each step of a loop; None where it is none."""
        known = self.expansion.known_profiles
        if id(unit) not in known:
            known[id(unit)] = unit, profile_of(unit, self.operations)
        profile: Profile | None = known[id(unit)][1]
        return profile

    def _profile_row(self, profile: Profile) -> Row:
        last = len(profile.norms)
        numbers = enumerate(profile.norms, 1)
        reached = [(k, norm) for k, norm in numbers if norm is not None and not math.isnan(norm)]
        if not reached:
            return Row(Tone.PLAIN, (Span(say("outline.loop_unknown")),), "", Rail.COMES)
        if profile.broken_from is not None:
            text = say("outline.loop_broken", k=profile.broken_from, last=last)
            return Row(Tone.ALARM, (Span(text),), "", Rail.COMES)
        end, norm = reached[-1]
        if profile.dies_at is not None:
            fields = {"norm": figure(norm), "end": end, "k": profile.dies_at}
            floor = FLOOR_TEXT
            text = say("outline.loop_dies", **fields, floor=floor)
            short = say("outline.loop_dies_short", k=profile.dies_at, floor=floor)
            zero = profile.zero_before
            right = say("outline.loop_zero", k=zero) if zero else ""
            return Row(Tone.ALARM, (Span(text, shorter=(short,)),), right, Rail.COMES)
        start, first = reached[0]
        ends = {"first": figure(first), "start": start, "norm": figure(norm), "end": end}
        text = say("outline.loop_ends", **ends)
        if start > 1:
            text = say("outline.loop_ends_from", **ends)
        return Row(Tone.SAID, (Span(text),), "", Rail.COMES)

    def state_rows(self, unit: Unit, place: int) -> list[Row]:
        """Tell the state of all parameters of a card together."""
        state = self.of(unit)
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
        if is_lost or self._shared_call(unit):
            return [
                Row(Tone.OFF, (Span(say("outline.none_from_call", n=n, total=total)),), "", Rail.NO)
            ]
        others = self._others(state.elsewhere, unit)
        if others:
            text = say("outline.from_others", n=n, total=total, others=others)
        else:
            text = say("outline.from_another_call", n=n, total=total)
        return [*rows, Row(Tone.GETS, (Span(text),), "", Rail.COMES)]

    def _shared_call(self, unit: Unit) -> bool:
        """Say whether a card is one of several calls of a module."""
        if not unit.calls:
            return False
        calls = self.expansion.tree.call
        mine = calls[unit.calls[0]]
        return any(
            c.module_id == mine.module_id and c.path == mine.path and c.id not in unit.calls
            for c in calls.values()
        )

    def _others(self, weights: Iterable[Weight], unit: Unit) -> list[str]:
        """Name the modules whose calls gave these parameters their gradient."""
        names: dict[str, None] = {}
        for weight in weights:
            for at in self.operations.filled_from.get(id_of(weight), {}):
                if at is None or at in unit.ops:
                    continue
                call_id = self.operations.all[at].call.module_call
                if call_id is not None:
                    call = self.expansion.tree.call[call_id]
                    end = call.path.rpartition(".")[2] or visible(call.code or "", CODE)
                    names[end] = None
        return [name for name in names if name]

    def _gets_rows(self, unit: Unit, state: State, total: int) -> list[Row]:
        runs = sorted({sent.run for sent in self.sents_of(unit)})
        frozen = len(state.frozen)
        if len(self.operations.graph.backwards) > 1 and runs:
            return self._rows_by_run(unit, state, total, runs)
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

    def _rows_by_run(self, unit: Unit, state: State, total: int, runs: list[int]) -> list[Row]:
        """Tell each backward apart."""
        inside = {*unit.ops}
        found = []
        for run in runs:
            norms = []
            for weight in state.all:
                by_op = self.operations.filled_from.get(id_of(weight), {})
                mine = [s for at, ss in by_op.items() if at in inside for s in ss if s.run == run]
                if mine:
                    norms.append(self.operations.gradients.norm_of(mine))
            if not norms:  # what only derivatives were taken of fills nothing
                continue
            fields = {"n": len(norms), "total": total, "loss": self.loss_name(run)}
            shorter = (
                say("outline.gets_from_short", **fields),
                say("outline.gets_from_shortest", **fields),
            )
            span = Span(say("outline.gets_from", **fields), shorter=shorter)
            found.append(Row(Tone.GETS, (span,), _of_measured(norms), Rail.COMES))
        return [*found, *self._rows_of_none(unit, total, runs)]

    def _rows_of_none(self, unit: Unit, total: int, runs: list[int]) -> Iterator[Row]:
        """Tell of the backwards of losses that have values of a card, and that sent it nothing."""
        fed = self._fed(unit)
        lines = {self._line_of(run) for run in runs} - {None}
        for place, backward in enumerate(self.operations.graph.backwards):
            is_told = backward.run in runs or self._line_of(backward.run) in lines
            if fed >> place & 1 and not is_told and backward.kind != "grad":
                loss = self.loss_name(backward.run)
                shorter = (say("outline.none_from_short", total=total, loss=loss),)
                span = Span(say("outline.none_from", total=total, loss=loss), shorter=shorter)
                yield Row(Tone.OFF, (span,), "", Rail.COMES)

    def loss_name(self, run: int) -> str:
        """Return the name of the tensor on which a backward was called."""
        call = self.operations.facts.call_of_run.get(run)
        inputs = call.inputs if call else ()
        tensor = self.operations.graph.tensor.get(inputs[0]) if inputs else None
        name = tensor.code_name if tensor else ""
        maker = self.operations.facts.maker.get(tensor.id) if tensor else None
        code = maker.source.code if maker and maker.source else None
        if not name and code and "=" not in code:
            name = _short_operand(code)
        return name or say("outline.nth_backward", n=run + 1)

    def _line_of(self, run: int) -> tuple[str, int] | None:
        """Return the file and line of a backward, which all iterations of a loop share."""
        call = self.operations.facts.call_of_run.get(run)
        return call.source[:2] if call and call.source else None

    def _fed(self, unit: Unit) -> int:
        """Return into which losses values of a card went, as the bits of their backwards."""
        goes_into = self.operations.facts.goes_into
        made = (i for at in unit.ops for i in self.operations.all[at].makes)
        return reduce(or_, map(goes_into, made), 0)

    def _norms(self, unit: Unit, state: State) -> tuple[str, tuple[float, ...]]:
        """Return the norm at a row's right edge, or those of several calls with their bars."""
        if unit.merged in (Merged.NOT,) or len(unit.members) < 2 or self._is_one_module(unit):
            return "" if state.norm is None else figure(state.norm), ()
        norms = [self.of(member).norm or 0.0 for member in unit.members]
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
        if not all(map(self.expansion.is_quiet, ops)):
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

    def member_rows(self, members: list[Unit], *, within: bool = False) -> list[Row]:
        """Tell of each module of a card in a row of its own. ``within``: the title has the name of
        the list or dict around them."""
        states = [self.of(member) for member in members]
        most = max((state.norm or 0.0 for state in states), default=0.0)
        plain = [self._member_name(member) for member in members]
        names = Counter(plain)
        around = {name.rpartition(".")[0] for name in plain}
        outer = f"{around.pop()}." if len(around) == 1 and within else ""
        found = []
        for member, state, name in zip(members, states, plain, strict=True):
            call = self.expansion.tree.call[member.calls[0]]
            if names[name] > 1:
                name = self._member_name(member, beside=True)
            elif len(outer) > 1:  # the title has it
                name = name.removeprefix(outer)
            left = (Span(name, "name"), Span(call.kind, "grey"))
            found.append(self.member_row(member, left, state, most))
        return found

    def member_row(self, member: Unit, left: tuple[Span, ...], state: State, most: float) -> Row:
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

    def _member_name(self, member: Unit, beside: bool = False) -> str:
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
        if self._shared_call(member):
            return say("outline.count_other_call", n=len(weights))
        others = self._others(weights, member)
        return say("outline.count_elsewhere", names=others) if others else ""

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


def _out_of_sight(by_op: Mapping[int | None, list[Sent]], uses: Set[int]) -> list[Sent]:
    """Return what operations sent that were not recorded as users, as those of a checkpoint."""
    return [sent for at, sents in by_op.items() if at not in uses for sent in sents]


def _names(weights: Iterable[Weight]) -> list[str]:
    return [weight.name for weight in weights]


def id_of(weight: Weight) -> int:
    """Return the id of a parameter's object; -1, which no object has, where no call met it."""
    return -1 if weight.object_id is None else weight.object_id


def _of_measured(norms: list[float]) -> str:
    """Write the norm of several gradients together, of those that were measured: a sparse one is
    not.

    >>> _of_measured([3.0, math.nan, 4.0]), _of_measured([math.nan])
    ('5', '')
    """
    measured = [norm for norm in norms if not math.isnan(norm)]
    return figure(root_of_squares(measured)) if measured else ""


def _short_operand(code: str) -> str:
    """Write an expression, or how a long one begins, so that ``.backward()`` may follow it.

    >>> _short_operand("real + fake")
    '(real + fake)'
    >>> _short_operand("bce(judge(real), ones) + bce(judge(fake), ones)")
    '(bce(judge(real), ones) …)'
    """
    whole = as_operand(visible(code))
    return f"({visible(code, CODE)})" if whole != visible(code) else visible(code, CODE)


def figure(norm: float) -> str:
    """Write a norm with three digits, a very small one with two.

    >>> figure(0.81612), figure(1.3e-6), figure(2794.0), figure(0.0)
    ('0.816', '1.3e-06', '2794', '0')
    """
    if 1000 <= norm < 100_000:
        return f"{norm:.0f}"
    return f"{norm:.1e}" if 0 < norm < 0.001 else f"{norm:.3g}"


def shares(norms: list[float]) -> tuple[float, ...]:
    """Return each norm as a share of the largest.

    >>> shares([1.0, 2.0])
    (0.5, 1.0)
    """
    most = max(norms)
    return tuple(norm / most for norm in norms)
