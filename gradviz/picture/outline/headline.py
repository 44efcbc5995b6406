"""What stands above an outline: how many parameters get a gradient, and why the others get none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from itertools import groupby

from gradviz.graph.operations import HAS, Fate, Weight
from gradviz.graph.parameter_groups import name_of
from gradviz.graph.records import NoteKind, Raised
from gradviz.picture.outline.backward_lines import BackwardLines
from gradviz.picture.outline.cards import Cards
from gradviz.picture.outline.cheap_cuts import CheapCuts
from gradviz.picture.outline.loops import FLOOR_TEXT
from gradviz.picture.outline.scene import Headline, Part, Rail, Span
from gradviz.picture.outline.unit import Unit
from gradviz.picture.rows import error_text
from gradviz.words.notes import iterations_text, note_text
from gradviz.words.plain import visible
from gradviz.words.speech import say

CAUSES = 3  # that are told, by how many parameters they cost
CONSTANT = 2  # derivatives that a loss holds as a constant, and that are told
NAMES = 3  # modules that a line names at most
ERRORS = 2  # the last ones
MESSAGE = 140  # characters of what was raised


class Heading:
    """Writes the headline of an outline.

    Args:
        cards: of the outline.
    """

    def __init__(self, cards: Cards) -> None:
        self.cards = cards
        self.operations = cards.operations
        self.weights = cards.operations.weights
        self.causes = cards.causes
        self.places = cards.causes.places
        self.fading = cards.expansion.fading

    def headline(self) -> Headline:
        """Return title, causes and strip."""
        if not self.weights:
            return Headline(say("outline.no_parameters"), (*self._errors(), *self._notes()))
        lost = [w for w in self.weights if self.sort(w) is Rail.NONE]
        cheap_cuts = CheapCuts(self.cards)
        lines = [
            *self._errors(),
            *self._causes(lost),
            *cheap_cuts.partly(),
            *self._constant_derivatives(),
            *BackwardLines(self.cards).lines(),
            *self._iterations(),
            *self._states(),
            *cheap_cuts.harmless(),
            *self._notes(),
        ]
        strip = self._strip() if self._is_uneven() else ()
        return Headline(self._title(), tuple(lines), strip)

    def _notes(self) -> list[tuple[Span, ...]]:
        """Tell what the recording lacks; of what was compiled, the cards do."""
        notes = self.operations.graph.notes
        return [(Span(note_text(n)),) for n in notes if n.kind is not NoteKind.COMPILED]

    def sort(self, weight: Weight) -> Rail:
        """Return what became of a parameter, as the rail that stands for it."""
        if weight.fate in HAS:
            return Rail.COMES
        if weight.fate is Fate.FROZEN:
            return Rail.PASSES
        if weight.fate is Fate.REACHED:
            return Rail.CAN
        return Rail.NONE if self.operations.should_get(weight) else Rail.NO

    def _is_uneven(self) -> bool:
        return len({self.sort(w) for w in self.weights}) > 1

    def _title(self) -> str:
        counts = Counter(self.sort(w) for w in self.weights)
        total = len(self.weights)
        bad = self._bad_parts()
        if counts[Rail.CAN] == total:
            return say("outline.all_can", total=total)
        errors = self.operations.facts.error_of_call
        has_raised = any(backward.call_id in errors for backward in self.operations.graph.backwards)
        if counts[Rail.COMES] == total and not bad and not has_raised:
            return say("outline.all_get", total=total)
        dead = any(w.fate in (Fate.ZERO, Fate.NAN, Fate.VANISHED) for w in self.weights)
        gets, *others = self._parts(counts, is_good=not dead and not has_raised)
        return say("outline.parameters", total=total, parts=[gets, *bad, *others])

    def _part_gets(self, n: int, is_good: bool) -> str:
        """Count the parameters that get a gradient: with a tick only where there is one, and
        nothing is wrong with any."""
        if not n:
            return say("outline.part_gets_none")
        return say("outline.part_gets" if is_good else "outline.part_gets_some", n=n)

    def _parts(self, counts: Counter[Rail], is_good: bool) -> list[str]:
        """Count the parameters by what became of their gradient."""
        if self.operations.ran_backward:
            parts = [self._part_gets(counts[Rail.COMES], is_good)]
        else:
            parts = [say("outline.part_can", n=counts[Rail.CAN])]
        if counts[Rail.NONE]:
            parts.append(say("outline.part_lost", n=counts[Rail.NONE]))
        if counts[Rail.PASSES]:
            parts.append(say("outline.part_frozen", n=counts[Rail.PASSES]))
        if counts[Rail.NO] and self.operations.are_held():
            parts.append(say("outline.part_unheld", n=counts[Rail.NO]))
        elif counts[Rail.NO]:
            parts.append(say("outline.part_without", n=counts[Rail.NO]))
        return parts

    def _bad_parts(self) -> list[str]:
        """Count the parameters that get zeros alone, NaN or next to nothing, and those that get a
        gradient which no optimizer will use."""
        fates = Counter(w.fate for w in self.weights)
        unheld = sum(self.sort(w) is Rail.COMES and w.held is False for w in self.weights)
        counts = {
            "zero": fates[Fate.ZERO],
            "nan": fates[Fate.NAN],
            "vanished": fates[Fate.VANISHED],
            "unheld": unheld,
        }
        return [say(f"alarm_part.{key}", n=n) for key, n in counts.items() if n]

    # --- errors -----------------------------------------------------------------------------------

    def _errors(self) -> list[tuple[Span, ...]]:
        """Tell which calls raised what."""
        told = {self._error(event): None for event in self.operations.facts.errors}
        return [*told][-ERRORS:]

    def _error(self, event: Raised) -> tuple[Span, ...]:
        """Tell what a call raised; of a backward also in which operation it was then."""
        call = self.operations.graph.call.get(event.call_id)
        message, _, more = error_text(event).partition(". ")
        text = visible(f"{message} …" if more else message, MESSAGE)
        spans = (Span(say("outline.raised", call=self.cards.words.at(call)), "strong"), Span(text))
        return *spans, *self._raised_in(event)

    def _raised_in(self, event: Raised) -> tuple[Span, ...]:
        """Name the node that ran when a backward raised, and what was computed there."""
        if event.node_id is None:
            return ()
        at = self.operations.of_node.get(event.node_id)
        node = self.operations.graph.node[event.node_id].name
        if at is None:
            return (Span(say("outline.raised_while", node=node)),)
        code = self.cards.words.at(self.operations.all[at].call)
        return (Span(say("outline.raised_while_of", node=node, code=code)),)

    # --- causes -----------------------------------------------------------------------------------

    def _iterations(self) -> list[tuple[Span, ...]]:
        """Tell of iterations in which the same happens which of them is drawn."""
        found: list[tuple[Span, ...]] = []
        drawn = self.cards.expansion.iterations.drawn
        for k, alike in enumerate(drawn):
            inner = any(alike.iterations[0][0] in a.iterations[a.chosen] for a in drawn[:k])
            text = iterations_text(alike.times, alike.chosen + 1, alike.differ, inner)
            found.append((Span(text),))
        return found[:CAUSES]

    def _causes(self, lost: list[Weight]) -> list[tuple[Span, ...]]:
        """Tell the causes by the parameters that they cost, most first."""
        groups: dict[Hashable, list[Weight]] = {}
        for weight in lost:
            groups.setdefault(self.causes.key(weight), []).append(weight)
        ranked = sorted(groups.values(), key=lambda weights: -len(weights))
        alone = len(ranked) == 1
        lines = []
        for weights in ranked[:CAUSES]:
            n = len(weights)
            start = say("outline.one_cause") if alone else say("outline.n_params", n=n)
            lines.append((Span(start), *self.causes.told(weights)))
            if other := self.causes.other_cut(weights) or self.causes.next_cut(weights):
                lines.append(other)
        if len(ranked) > CAUSES:
            lines.append((Span(say("outline.more_causes", n=len(ranked) - CAUSES)),))
        return lines

    # --- flags, optimizers, and gradients that fade -----------------------------------------------

    def _states(self) -> list[tuple[Span, ...]]:
        """Name the modules that are frozen, in no optimizer, or that get nothing to learn from."""
        frozen = [w for w in self.weights if w.fate is Fate.FROZEN]
        unheld = [w for w in self.weights if self.sort(w) is Rail.COMES and w.held is False]
        lines = []
        for weights, key in ((frozen, "frozen"), (unheld, "unheld")):
            names = self.places.of_weights(weights)
            few = len(names) <= NAMES and len(weights) < len(self.weights)
            if not few and key == "unheld":
                names = name_of(names)
            if names and (few or key == "unheld"):
                listed = say("outline.names", names=names)
                spans = [Span(say(f"state_of.{key}")), Span(listed, "name")]
                line = self.causes.line_of(weights)
                spans += [Span(line)] if line else []
                lines.append((*spans, *(self._steps() if key == "unheld" else ())))
        return [
            *lines,
            *self._by_hand(),
            *self._unlearned(),
            *self._tied(),
            *self._broken(),
            *self._faded(),
            *self._loops(),
            *self._moved(),
        ]

    def _by_hand(self) -> list[tuple[Span, ...]]:
        """Name the parameters of which statements set ``.grad``, statement by statement."""
        by_place: dict[str, list[Weight]] = {}
        for weight in self.weights:
            call = self.operations.set_by_hand.get(weight.key)
            if call is not None:
                by_place.setdefault(self.cards.words.at(call), []).append(weight)
        start = Span(say("outline.set_by_hand"))
        return [
            (start, *self._called_or_counted(some), Span(place))
            for place, some in list(by_place.items())[:CAUSES]
        ]

    def _called_or_counted(self, weights: list[Weight]) -> tuple[Span]:
        """Name parameters by their modules, or count them where some stand in none that ran."""
        if any(weight.module_id is None for weight in weights):
            return (Span(say("outline.so_many", n=len(weights))),)
        names = name_of(self.places.of_weights(weights))
        return (Span(say("outline.names", names=names), "name"),)

    def _unlearned(self) -> list[tuple[Span, ...]]:
        """Name what is used like a parameter, and is none."""
        names = list(dict.fromkeys(self.cards.expansion.unlearned.by_operation.values()))
        if not names:
            return []
        listed = Span(say("outline.names", names=names), "name")
        return [(Span(say("outline.no_parameters_used", n=len(names))), listed)]

    def _steps(self) -> list[Span]:
        """Tell which steps of optimizers ran, and where: what these leave out is meant."""
        found: dict[str, str] = {}
        for call in self.operations.graph.calls:
            code = call.source.code if call.bookkeeping and call.source else None
            if code and code.endswith(".step()"):
                found.setdefault(code, self.cards.words.where(call))
        steps = [say("outline.step_at", code=code, place=place) for code, place in found.items()]
        return [Span(say("outline.left_out", steps=steps))] if steps else []

    def _tied(self) -> list[tuple[Span, ...]]:
        """Tell of modules that were never called, and whose parameters all get a gradient as those
        of another module."""
        found = self.cards.tree.tied_unused[:NAMES]
        return [
            (
                Span(self.places.full(module_id, path), "name"),
                Span(say("outline.tied_unused", names=others)),
            )
            for module_id, path, others in found
        ]

    def _faded(self) -> list[tuple[Span, ...]]:
        """Tell where gradients become zero or vanish."""
        lines = []
        for fate, key in ((Fate.ZERO, "zero"), (Fate.VANISHED, "vanished")):
            groups: dict[Hashable, list[Weight]] = {}
            for weight in self.weights:
                if weight.fate is fate and not self.fading.is_no_alarm(weight):
                    groups.setdefault(self.causes.fading_line(weight), []).append(weight)
            ranked = sorted(groups.values(), key=lambda weights: -len(weights))
            for weights in ranked[:CAUSES]:
                start = Span(say(f"fades.{key}", n=len(weights)), "strong")
                lines.append((start, *self.causes.faded_at(weights), *self._whose(weights)))
        if cancelled := [weight for weight in self.weights if self.fading.cancels(weight)]:
            names = name_of(self.places.of_weights(cancelled))
            spans = Span(say("outline.names", names=names), "name"), Span(say("outline.cancels"))
            lines.append((Span(say("fades.zero", n=len(cancelled))), *spans))
        if n := sum(map(self.fading.is_at_start, self.weights)):
            text = say("outline.normal_at_start")
            lines.append((Span(say("fades.zero", n=n)), Span(text)))
        return lines

    def _whose(self, weights: list[Weight]) -> list[Span]:
        """Name the modules of parameters whose gradient faded at a known operation."""
        names = self.places.of_weights(weights)
        known = self.causes.fading_line(weights[0]) is not None and len(names) <= NAMES
        return [Span(say("outline.whose", names=names))] if known else []

    def _broken(self) -> list[tuple[Span, ...]]:
        """Tell where nan or inf appears first in a backward."""
        event = self.fading.broken_at
        if event is None:
            return []
        at = self.operations.of_node.get(event.node_id)
        node = Span(self.operations.graph.node[event.node_id].name, "name")
        start = Span(say("outline.broken"), "strong")
        if at is None:
            return [(start, node)]
        op = self.operations.all[at]
        place = self.cards.words.where(op.call)
        inside = self.places.inside(op.call.module_call)
        return [(start, node, *self.causes.at(place, inside, self.places.around(at)))]

    def _loops(self) -> list[tuple[Span, ...]]:
        """Tell of loops in which the gradient vanishes, and at which step."""
        lines = []
        for unit in self.cards.units:
            profile = self.cards.states.profile(unit)
            if profile is None or profile.dies_at is None or profile.broken_from is not None:
                continue
            fields = {"k": profile.dies_at, "last": len(profile.norms), "floor": FLOOR_TEXT}
            where = self._line_of_loop(unit)
            text = say("outline.loop_vanishes_at", **fields)
            if where:
                text = say("outline.loop_line", place=where, **fields)
            spans = [Span(say("outline.loop_vanishes"), "strong"), Span(text)]
            if unit.calls or not where:
                spans.insert(1, Span(self.cards.titles.name_of(unit), "name"))
            lines.append(tuple(spans))
        return lines[:CAUSES]

    def _line_of_loop(self, unit: Unit) -> str:
        """Return the line that the steps of a loop have in common."""
        if unit.calls:
            call = self.cards.tree.call[unit.calls[0]]
            op = self.operations.all[unit.ops[0]].call
            return self.cards.words.where(op._replace(source=call.source))
        return self.cards.words.where(self.operations.all[unit.steps[0].ops[-1]].call)

    def _moved(self) -> list[tuple[Span, ...]]:
        """Tell of frozen BatchNorms whose running statistics moved."""
        moved = self.fading.moved
        if not moved:
            return []
        weights = [
            self.operations.weight[i] for at in moved for i in self.operations.reads_weights[at]
        ]
        names = self.places.of_weights(weights)
        frozen = [w for w in self.weights if w.fate is Fate.FROZEN]
        around = self.places.of_weights(frozen)
        if len(names) > NAMES and len(around) <= NAMES:
            names = around
        start = Span(say("outline.names", names=names), "name")
        told = Span(say("outline.batch_norms_moved", n=len(moved)), "strong")
        return [(start, told, Span(say("outline.eval_keeps_them")))]

    def _constant_derivatives(self) -> list[tuple[Span, ...]]:
        """Tell of derivatives that a loss holds as a constant, as no graph was made of them."""
        told: dict[str, str] = {}
        for call_id in self.operations.derived:
            op = self.operations.all[self.operations.of_call[call_id]]
            drawn = op.at not in self.cards.expansion.iterations.left_out
            if drawn and not self.operations.tracked[op.at]:
                name, place = (
                    self.cards.titles.name_of_derivative(op),
                    self.cards.words.where(op.call),
                )
                told.setdefault(name, place)
        return [
            (
                Span(say("outline.constant_in_loss", name=name)),
                Span(say("outline.without_create_graph", place=place), "cut"),
            )
            for name, place in list(told.items())[:CONSTANT]
        ]

    # --- the strip --------------------------------------------------------------------------------

    def _strip(self) -> tuple[Part, ...]:
        """Return all parameters in module order, each lost part with its cut at its end."""
        found: list[Part] = []
        for (rail, key), run in groupby(self.weights, key=self._strip_key):
            n = len(list(run))
            if found and found[-1].rail is rail and key is None:
                found[-1] = Part(rail, found[-1].n + n)
            else:
                found.append(Part(rail, n))
            if key is not None:
                found.append(Part(None))
        return tuple(found)

    def _strip_key(self, weight: Weight) -> tuple[Rail, Hashable]:
        rail = self.sort(weight)
        lost_to_cut = rail is Rail.NONE and self.causes.cut_of(weight) is not None
        return rail, self.causes.key(weight) if lost_to_cut else None
