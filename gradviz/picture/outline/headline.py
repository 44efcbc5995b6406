"""What stands above an outline: how many parameters get a gradient, and why the others get none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from gradviz.graph.operations import HAS, Fate, Weight
from gradviz.graph.parameter_groups import name_of
from gradviz.graph.records import Backward, Cut, NoteKind, Raised
from gradviz.picture.outline.card_cuts import WRITTEN
from gradviz.picture.outline.cards import Cards
from gradviz.picture.outline.links import Link
from gradviz.picture.outline.loops import FLOOR_TEXT
from gradviz.picture.outline.loss_names import loss_name
from gradviz.picture.outline.scene import Headline, Part, Rail, Span
from gradviz.picture.outline.skips import Skips
from gradviz.picture.outline.units import Unit
from gradviz.picture.rows import error_text
from gradviz.words.notes import iterations_text, note_text
from gradviz.words.plain import visible
from gradviz.words.speech import say

CAUSES = 3  # that are told, by how many parameters they cost
OTHERS = 2  # skips that send a gradient, before one that does not is told from them
HARMLESS = 2  # cuts that cost nothing, and are told
NAMES = 3  # modules that a line names at most
ERRORS = 2  # the last ones
MESSAGE = 140  # characters of what was raised
NAMED = 2  # models without a gradient from a backward that are named


class PartLost(NamedTuple):
    """How many parameters lose a part of what these losses send them."""

    n: int
    losses: list[str]


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
        costly = [*self._errors(), *self._causes(lost), *self._partly()]
        backwards = [*self._backwards(), *self._iterations()]
        constant = self._constant_derivatives()
        lines = [*costly, *constant, *backwards, *self._states(), *self._harmless(), *self._notes()]
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

    def _backwards(self) -> list[tuple[Span, ...]]:
        """Tell what each of several backwards did, model by model."""
        backwards = self.operations.graph.backwards
        if len(backwards) == 1 and self._are_unlike(backwards[0].run):
            return [tuple(self._modules_in(backwards[0].run))]
        if len(backwards) < 2:
            return []
        lines: dict[Hashable, list[tuple[Backward, tuple[Span, ...]]]] = {}
        for backward in backwards:
            filled = () if backward.kind == "grad" else self._filled(backward.run)
            if not filled and self._fills_none(backward):
                filled = (Span(say("outline.fills_none")),)
            line = backward.kind, self._named(backward), tuple(span.text for span in filled)
            lines.setdefault(line, []).append((backward, filled))
        told, grads = [], []
        for same in lines.values():
            first, filled = same[0]
            if first.kind == "grad":
                grads.append((first, len(same)))
            else:
                told.append((Span(self._called(first, len(same))), *filled))
        left = len(told) - CAUSES
        more = [(Span(say("outline.more_backwards", n=left)),)] if left > 0 else []
        return [*told[:CAUSES], *more, *self._grads(grads)]

    def _grads(self, found: list[tuple[Backward, int]]) -> list[tuple[Span, ...]]:
        """Tell of what only derivatives were taken of, in one line."""
        if len(found) == 1:
            return [(Span(self._called(*found[0])),)]
        losses = list(dict.fromkeys(self._named(backward)[0] for backward, _ in found))
        return [(Span(say("outline.grads_of", losses=losses)),)] if losses else []

    def _filled(self, run: int) -> tuple[Span, ...]:
        """Tell what one of several backwards did; what is frozen has a line of its own."""
        return tuple(self._modules_in(run, told_frozen=True))

    def _fills_none(self, backward: Backward) -> bool:
        """Say whether it is known that a backward filled no ``.grad`` of the parameters."""
        if backward.kind == "grad" or not backward.watched:
            return False
        writes = self.operations.facts.writes_by_call.get(backward.call_id, ())
        written = {self.operations.graph.tensor[event.after_id].object_id for event in writes}
        return written.isdisjoint(self.operations.weight) and not any(
            self._got_in(weight, backward.run) for weight in self.weights
        )

    def _named(self, backward: Backward) -> tuple[str, str]:
        """Return the name of a loss, and where its backward was called."""
        call = self.operations.graph.call.get(backward.call_id)
        return loss_name(self.operations, backward.run), self.cards.words.where(call)

    def _called(self, backward: Backward, times: int) -> str:
        """Tell of a call of the engine, and how often it was made."""
        name, place = self._named(backward)
        if backward.kind == "grad":
            if place:
                return say("outline.grad_at", loss=name, place=place, times=times)
            return say("outline.grad_of", loss=name, times=times)
        if place:
            return say("outline.backward_at", loss=name, place=place, times=times)
        return say("outline.backward_of", loss=name, times=times)

    def _iterations(self) -> list[tuple[Span, ...]]:
        """Tell of iterations in which the same happens which of them is drawn."""
        found: list[tuple[Span, ...]] = []
        drawn = self.cards.expansion.iterations.drawn
        for k, alike in enumerate(drawn):
            inner = any(alike.iterations[0][0] in a.iterations[a.chosen] for a in drawn[:k])
            text = iterations_text(alike.times, alike.chosen + 1, alike.differ_inside, inner)
            found.append((Span(text),))
        return found[:CAUSES]

    def _modules_in(self, run: int, told_frozen: bool = False) -> list[Span]:
        """Tell what each model got in a run, and the parameters that belong to none.

        Args:
            told_frozen: whether another line names the models that are frozen.
        """
        if not self.operations.graph.modules:
            n = sum(self._got_in(weight, run) for weight in self.weights)
            return [Span(say("outline.all_of", n=n, total=len(self.weights)), "cut")]
        spans, none = list[Span](), list[Span]()
        for module in self.operations.graph.modules:
            weights = [w for w in self.weights if w.module_id == module.id]
            if not weights or (told_frozen and all(w.fate is Fate.FROZEN for w in weights)):
                continue
            if any(self._got_in(weight, run) for weight in weights):
                spans.append(Span(self._some_in(module.name, weights, run), "cut"))
            else:
                none.append(Span(self._none_in(module.id, module.name, len(weights))))
        spans += self._alone_in(run)
        if spans and len(none) > NAMED:
            none = [Span(say("outline.others_get_none", n=len(none)))]
        return [*spans, *none]

    def _alone_in(self, run: int) -> list[Span]:
        """Name the parameters that got something in a run and that belong to no model."""
        got = [w for w in self.weights if w.module_id is None and self._got_in(w, run)]
        names = list(dict.fromkeys(w.name for w in got if w.name))
        if not names or len(names) > NAMES:
            return []
        return [Span(say("outline.alone_get", names=names), "cut")]

    def _some_in(self, name: str, weights: list[Weight], run: int) -> str:
        """Count the parameters of a model that got something in a run, and tell to what it was
        added."""
        n, total = sum(self._got_in(w, run) for w in weights), len(weights)
        if all(self._only_zeros(weight, run) for weight in weights):
            return say("outline.module_gets_zeros", module=name, n=n, total=total)
        if losses := self._added_to(weights, run):
            fields = {"module": name, "n": n, "total": total, "losses": losses}
            return say("outline.module_gets_more", **fields)
        return say("outline.module_gets", module=name, n=n, total=total)

    def _added_to(self, weights: list[Weight], run: int) -> list[str]:
        """Name the other losses whose gradients were still in ``.grad`` of all of these parameters
        that got one in a run, so that it was added to them."""
        onto = self.operations.gradients_used.added_to
        runs = [onto.get((w.key, run), ()) for w in weights if self._got_in(w, run)]
        if len(set(runs)) != 1:
            return []
        names = [loss_name(self.operations, other) for other in runs[0]]
        return [] if loss_name(self.operations, run) in names else list(dict.fromkeys(names))

    def _none_in(self, module_id: int, name: str, total: int) -> str:
        """Tell that a model got nothing, and under which line it ran where no gradient is
        recorded."""
        region = self._region_around(module_id)
        place = self.causes.place_of_region(region) if region is not None else ""
        if place:
            return say("outline.module_under_no_grad", module=name, total=total, place=place)
        return say("outline.module_gets_none", module=name, total=total)

    def _are_unlike(self, run: int) -> bool:
        """Say whether some of several models got a gradient in a run, and others ran as a whole
        where none is recorded."""
        modules = {m.id for m in self.operations.graph.modules}
        got = {w.module_id for w in self.weights if self._got_in(w, run)}
        return bool(got) and any(self._region_around(i) is not None for i in modules - got)

    def _region_around(self, module_id: int) -> int | None:
        """Return the stretch where no gradient is recorded in which a model ran as a whole."""
        tree, region = self.cards.tree, self.cards.expansion.region
        calls = [c.id for c in tree.call.values() if c.module_id == module_id and not c.path]
        found = {region.get(at) for i in calls for at in tree.below.get(i, ())}
        return found.pop() if len(found) == 1 else None

    def _got_in(self, weight: Weight, run: int) -> bool:
        sents = self.operations.filled_from.get(weight.key, {}).values()
        return any(sent.run == run for some in sents for sent in some)

    def _only_zeros(self, weight: Weight, run: int) -> bool:
        """Say whether all that a parameter got in a run was zeros, or it got nothing."""
        by_op = self.operations.filled_from.get(weight.key, {})
        return all(s.norm == 0.0 for sents in by_op.values() for s in sents if s.run == run)

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

    def _partly(self) -> list[tuple[Span, ...]]:
        """Tell of cuts by which parameters lose a part of what a loss sends them, the most
        first."""
        lines: list[tuple[Span, ...]] = []
        for same, lost in self._cheap_cuts[:HARMLESS]:
            if lost is not None:
                text = say("outline.partly", n=lost.n, losses=lost.losses)
                lines.append((Span(text), Span(self._harmless_cut(same), "cut")))
                lines += self._others_send(same[0][1])
        return lines

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
            for name, place in list(told.items())[:HARMLESS]
        ]

    def _harmless(self) -> list[tuple[Span, ...]]:
        """Tell of cuts that are drawn or said though no parameter loses anything by them of a loss
        that trains it."""
        if self.cards.brief:
            n = sum(lost is None and not self._is_of_older(same) for same, lost in self._cheap_cuts)
            return [(Span(say("outline.harmless_on_cards", n=n)),)] if n else []
        lines: list[tuple[Span, ...]] = []
        for same in (same for same, lost in self._cheap_cuts[:HARMLESS] if lost is None):
            text = say("outline.cut_of_older" if self._is_of_older(same) else "outline.harmless")
            lines.append((Span(text), Span(self._harmless_cut(same), "cut")))
            lines += self._others_send(same[0][1])
        return lines

    def _is_of_older(self, same: list[tuple[Link, Cut]]) -> bool:
        """Say whether cuts are of a result that is older than the recording, of which it is not
        known what it was computed from."""
        graph = self.operations.graph
        edges = (graph.tensor[cut.input_id].gradient_edge for _, cut in same)
        return any(edge is not None and graph.node[edge.node_id].stub for edge in edges)

    @cached_property
    def _cheap_cuts(self) -> list[tuple[list[tuple[Link, Cut]], PartLost | None]]:
        """The cuts that are drawn or said though no parameter is left without by them, line by
        line, those first by which most parameters lose a part."""
        found: dict[Hashable, list[tuple[Link, Cut]]] = {}
        costly = {self.cards.expansion.told(cut) for cut in self.cards.cuts.loses}
        for link in self.cards.links.all.values():
            for cut in link.cuts:
                told = self.cards.expansion.told(cut)
                if told not in costly and (link.is_cut or cut.reason in WRITTEN):
                    found.setdefault(told, []).append((link, cut))
        both = [(same, self._part_lost(same)) for same in found.values()]
        both.sort(key=lambda pair: 0 if pair[1] is None else -pair[1].n)
        return both

    def _part_lost(self, same: list[tuple[Link, Cut]]) -> PartLost | None:
        """Tell how many parameters lose a part of what losses send them by these cuts, and which
        losses; None: none loses any."""
        facts, lost, losses = self.operations.facts, set[int](), dict[str, None]()
        for _, cut in same:
            into = 0 if cut.output_id is None else facts.goes_into(cut.output_id)
            above = {leaf.object_id for leaf in facts.leaves_reached(cut.input_id)}
            weights = [w for w in self.weights if w.object_id in above]
            for place, backward in enumerate(self.operations.graph.backwards):
                if into >> place & 1:
                    got = [w.key for w in weights if self._got_in(w, backward.run)]
                    lost.update(got)
                    losses |= {loss_name(self.operations, backward.run): None} if got else {}
        return PartLost(len(lost), list(losses)) if lost else None

    def _harmless_cut(self, same: list[tuple[Link, Cut]]) -> str:
        """Tell cuts of one line, and the cards between which they stand."""
        cut = same[0][1]
        names = {
            "first": self._names_of([link.tail for link, _ in same], [one for _, one in same]),
            "last": self._names_of([link.head for link, _ in same]),
        }
        return say(
            "outline.harmless_cut",
            reason=self.causes.reason(cut),
            place=self.causes.where(cut),
            **names,
        )

    def _names_of(self, places: list[int], cuts: Sequence[Cut] = ()) -> list[str]:
        """Name cards, each once; of modules side by side those whose results were cut."""
        near = {self.operations.made_by.get(cut.input_id, -1) for cut in cuts}
        units = (self.cards.units[place] for place in places)
        names = (name for unit in units for name in self.cards.titles.names_in(unit, near))
        return list(dict.fromkeys(names))

    def _others_send(self, cut: Cut) -> list[tuple[Span, ...]]:
        """Tell that all other skips of this kind, between modules of the same classes, send a
        gradient."""
        beside = self._skips.beside(cut)
        if beside is None or beside.sending < OTHERS:
            return []
        fields: dict[str, int | str] = {"k": beside.sending, "n": beside.sending + 1}
        if beside.module:
            fields |= {"kind": beside.kind, "name": beside.module}
            return [(Span(say("outline.branches_send", **fields)),)]
        return [(Span(say("outline.others_send", **fields)),)]

    @cached_property
    def _skips(self) -> Skips:
        links = self.cards.links.finer or self.cards.links
        return Skips(self.cards.expansion, links.units)

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
