"""What stands above an outline: how many parameters get a gradient, and why the others get none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from functools import cached_property
from itertools import groupby

from gradviz.graph.operations import Fate, Weight
from gradviz.graph.records import Call, Cut, ModuleCall
from gradviz.picture.outline.cards import Cards
from gradviz.picture.outline.loops import FLOOR_TEXT
from gradviz.picture.outline.places import Places
from gradviz.picture.outline.scene import Headline, Part, Rail, Span
from gradviz.picture.outline.skips import Skips
from gradviz.picture.outline.states import HAS, id_of
from gradviz.picture.outline.units import QUIET, Unit, function_of
from gradviz.words.speech import say
from gradviz.words.words import reason_of

CAUSES = 3  # that are told, by how many parameters they cost
OTHERS = 2  # skips that send a gradient, before one that does not is told from them
HARMLESS = 2  # cuts that cost nothing, and are told
NAMES = 3  # modules that a line names at most


class Heading:
    """Writes the headline of an outline.

    Args:
        cards: of the outline.
    """

    def __init__(self, cards: Cards) -> None:
        self.cards = cards
        self.operations = cards.operations
        self.weights = cards.operations.weights
        self.places = Places(cards.tree)
        self.fading = cards.expansion.fading

    def headline(self) -> Headline:
        """Return title, causes and strip."""
        if not self.weights:
            return Headline(say("outline.no_parameters"))
        lost = [w for w in self.weights if self.sort(w) is Rail.NONE]
        lines = [*self._backwards(), *self._causes(lost), *self._states(), *self._harmless()]
        strip = self._strip() if self._is_uneven() else ()
        return Headline(self._title(), tuple(lines), strip)

    def sort(self, weight: Weight) -> Rail:
        """Return what became of a parameter, as the rail that stands for it."""
        if weight.fate in HAS:
            return Rail.COMES
        if weight.fate is Fate.FROZEN:
            return Rail.PASSES
        if weight.fate is Fate.REACHED:
            return Rail.CAN
        return Rail.NONE if self.cards.states.should_get(weight) else Rail.NO

    def _is_uneven(self) -> bool:
        return len({self.sort(w) for w in self.weights}) > 1

    def _title(self) -> str:
        counts = Counter(self.sort(w) for w in self.weights)
        total = len(self.weights)
        bad = self._bad_parts()
        if counts[Rail.CAN] == total:
            return say("outline.all_can", total=total)
        if counts[Rail.COMES] == total and not bad:
            return say("outline.all_get", total=total)
        gets, *others = self._parts(counts)
        return say("outline.parameters", total=total, parts=[gets, *bad, *others])

    def _parts(self, counts: Counter[Rail]) -> list[str]:
        """Count the parameters by what became of their gradient."""
        if self.operations.ran_backward:
            parts = [say("outline.part_gets", n=counts[Rail.COMES])]
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

    # --- causes -----------------------------------------------------------------------------------

    def _backwards(self) -> list[tuple[Span, ...]]:
        """Tell what each of several backwards did, model by model."""
        backwards = self.operations.graph.backwards
        if len(backwards) < 2:
            return []
        lines = []
        for backward in backwards[:CAUSES]:
            name = self.cards.states.loss_name(backward.run)
            call = self.operations.graph.call.get(backward.call_id)
            place = self.cards.words.where(call)
            if place:
                start = Span(say("outline.backward_at", loss=name, place=place))
            else:
                start = Span(say("outline.backward_of", loss=name))
            lines.append((start, *self._modules_in(backward.run)))
        return lines

    def _modules_in(self, run: int) -> list[Span]:
        spans = []
        for module in self.operations.graph.modules:
            weights = [w for w in self.weights if w.module_id == module.id]
            n = sum(self._got_in(weight, run) for weight in weights)
            total = len(weights)
            if not total:
                continue
            if n and all(self._only_zeros(weight, run) for weight in weights):
                fields = {"module": module.name, "n": n, "total": total}
                spans.append(Span(say("outline.module_gets_zeros", **fields), "cut"))
            elif n:
                spans.append(
                    Span(say("outline.module_gets", module=module.name, n=n, total=total), "cut")
                )
            else:
                spans.append(Span(say("outline.module_gets_none", module=module.name, total=total)))
        return spans

    def _got_in(self, weight: Weight, run: int) -> bool:
        sents = self.operations.filled_from.get(id_of(weight), {}).values()
        return any(sent.run == run for some in sents for sent in some)

    def _only_zeros(self, weight: Weight, run: int) -> bool:
        """Say whether all that a parameter got in a run was zeros, or it got nothing."""
        by_op = self.operations.filled_from.get(id_of(weight), {})
        return all(s.norm == 0.0 for sents in by_op.values() for s in sents if s.run == run)

    def _causes(self, lost: list[Weight]) -> list[tuple[Span, ...]]:
        """Tell the causes by the parameters that they cost, most first."""
        groups: dict[Hashable, list[Weight]] = {}
        for weight in lost:
            groups.setdefault(self.cause_key(weight), []).append(weight)
        ranked = sorted(groups.values(), key=lambda weights: -len(weights))
        alone = len(ranked) == 1
        lines = []
        for weights in ranked[:CAUSES]:
            n = len(weights)
            start = say("outline.one_cause") if alone else say("outline.n_params", n=n)
            lines.append((Span(start), *self.cause(weights)))
            if other := self._other_cut(weights) or self._next_cut(weights):
                lines.append(other)
        if len(ranked) > CAUSES:
            lines.append((Span(say("outline.more_causes", n=len(ranked) - CAUSES)),))
        return lines

    def _cut_of(self, weight: Weight) -> Cut | None:
        return self.operations.cause_of.get(id_of(weight))

    def cause_key(self, weight: Weight) -> Hashable:
        """Return what parameters have in common that lost their gradient by one cause: the line of
        a cut, or where no gradient is recorded."""
        cut = self._cut_of(weight)
        if cut is None:
            unused = self._unused_above(weight)
            end = unused or self.places.dead_end(weight) or weight.name.rpartition(".")[0]
            return bool(unused), end
        return self._mark(cut)

    def _mark(self, cut: Cut) -> Hashable:
        """Return what cuts that are one cause have in common."""
        if cut.reason in QUIET:
            return self.cards.expansion.region.get(self.operations.of_call.get(cut.call_id, -1))
        return self.cards.expansion.told(cut)

    def cause(self, weights: list[Weight]) -> tuple[Span, ...]:
        """Tell why these parameters get no gradient: the one cause that they have in common."""
        weight = weights[0]
        cuts = [cut for w in weights if (cut := self._cut_of(w)) is not None]
        if cuts:
            return self._cut(cuts)
        path = self.places.dead_end(weight) or weight.name.rpartition(".")[0]
        unused = self._unused_above(weight)
        if unused:
            return Span(unused, "name"), Span(say("outline.was_never_called"), "strong")
        if weight.object_id is None or not self.operations.uses.get(weight.object_id):
            return Span(weight.name, "name"), Span(say("outline.was_never_used"), "strong")
        return Span(path or weight.name, "name"), Span(say("outline.loss_uses_nothing"), "strong")

    def _unused_above(self, weight: Weight) -> str:
        """Return the path of the module around a parameter that was never called, or ""."""
        for call_id in self.cards.tree.children.get(None, ()):
            for call in self._below(call_id):
                for path, weights in self.cards.tree.never_called(call):
                    if any(w is weight for w in weights):
                        return path
        return ""

    def _below(self, call_id: int) -> Iterable[ModuleCall]:
        call = self.cards.tree.call[call_id]
        yield call
        for child in self.cards.tree.children.get(call_id, ()):
            yield from self._below(child)

    def _other_cut(self, weights: list[Weight]) -> tuple[Span, ...]:
        """Tell of another cut that all of these parameters meet first on another way."""
        met = [self.operations.causes_of.get(id_of(w), ()) for w in weights]
        others = {self._mark(cut): cut for cut in reversed(met[0])}
        for cuts in met:
            here = {self._mark(cut) for cut in cuts} - {self._mark(cuts[0])} if cuts else set()
            others = {mark: cut for mark, cut in others.items() if mark in here}
        if not others:
            return ()
        cut = list(others.values())[-1]
        return Span(say("outline.on_another_way")), *self._cut([cut])

    def _next_cut(self, weights: list[Weight]) -> tuple[Span, ...]:
        """Tell that mending what parameters lost their gradient by would give them none, as all
        ways from there to a loss are cut again."""
        cuts = list(dict.fromkeys(cut for w in weights if (cut := self._cut_of(w)) is not None))
        if not cuts:
            return ()
        mark = self._mark(cuts[0])
        behind = self.operations.cuts_behind(cuts, lambda cut: self._mark(cut) == mark)
        if not behind:
            return ()
        return Span(say("outline.cut_again")), *self._cut(behind[:1])

    def _cut(self, cuts: list[Cut]) -> tuple[Span, ...]:
        cut = cuts[0]
        calls = [self.operations.graph.call[c.call_id] for c in cuts]
        first = Span(say("outline.cut", reason=reason_of(cut)), "strong")
        place = self.cards.where(cut)
        if cut.reason in QUIET:
            return first, Span(place)
        inside = list(dict.fromkeys(self._inside(call.module_call) for call in calls))
        if not place:
            return (first,)
        if len(inside) > 1:
            return first, Span(say("outline.line_inside_many", place=place, n=len(inside)))
        ways = {self.places.between(c) for c in cuts}
        way = ways.pop() if len(ways) == 1 else ""
        return first, *self._at(place, inside[0], way)

    def _at(self, place: str, inside: str, way: str) -> tuple[Span, ...]:
        """Tell a line with the module that it stands in, and the modules beside it."""
        if inside and way:
            start, name = Span(say("outline.line_inside", place=place)), Span(inside, "name")
            return start, name, Span(say("outline.way", way=way))
        if inside:
            return Span(say("outline.line_inside", place=place)), Span(inside, "name")
        return (Span(say("outline.line_way", place=place, way=way) if way else place),)

    def _inside(self, call_id: int | None) -> str:
        """Return the path of the module that a cut stands in; "" outside, or in the root."""
        return self.places.inside(call_id)

    # --- flags, optimizers, and gradients that fade -----------------------------------------------

    def _states(self) -> list[tuple[Span, ...]]:
        """Name the modules that are frozen, in no optimizer, or that get nothing to learn from."""
        frozen = [w for w in self.weights if w.fate is Fate.FROZEN]
        unheld = [w for w in self.weights if self.sort(w) is Rail.COMES and w.held is False]
        lines = []
        for weights, key in ((frozen, "frozen"), (unheld, "unheld")):
            names = self.places.of_weights(weights)
            few = len(names) <= NAMES and len(weights) < len(self.weights)
            if names and (few or key == "unheld"):
                listed = say("outline.names", names=names)
                spans = [Span(say(f"state_of.{key}")), Span(listed, "name")]
                line = self._line_of(weights)
                spans += [Span(line)] if line else []
                lines.append((*spans, *(self._steps() if key == "unheld" else ())))
        return [
            *lines,
            *self._tied(),
            *self._broken(),
            *self._faded(),
            *self._loops(),
            *self._moved(),
        ]

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

    def _line_of(self, weights: list[Weight]) -> str:
        """Return the line of the recording in which all of these parameters were frozen, or were
        given their first values."""
        found = set()
        for weight in weights:
            call = self._first_change.get(id_of(weight))
            found.add((self.cards.words.where(call), weight.fate) if call else None)
        one = found.pop() if len(found) == 1 else None
        if not one or not one[0]:
            return ""
        frozen = one[1] is Fate.FROZEN
        return say("outline.frozen_in" if frozen else "outline.made_in", place=one[0])

    @cached_property
    def _first_change(self) -> dict[int, Call]:
        """The call that froze a parameter, or that wrote to it before any other one read it, by the
        id of its object."""
        facts, tensor = self.operations.facts, self.operations.graph.tensor
        found = {
            tensor[cut.input_id].object_id: self.operations.graph.call[cut.call_id]
            for cut in facts.frozen_leaves
        }
        for call in self.operations.graph.calls:
            for write in facts.writes_by_call.get(call.id, ()):
                object_id = tensor[write.after_id].object_id
                uses = self.operations.uses.get(object_id)
                if uses and self.operations.all[uses[0]].call.id > call.id:
                    found.setdefault(object_id, call)
        return found

    def _faded(self) -> list[tuple[Span, ...]]:
        """Tell where gradients become zero or vanish."""
        lines = []
        for fate, key in ((Fate.ZERO, "zero"), (Fate.VANISHED, "vanished")):
            groups: dict[Hashable, list[Weight]] = {}
            for weight in self.weights:
                if weight.fate is fate and not self.fading.is_at_start(weight):
                    groups.setdefault(self._fading_line(weight), []).append(weight)
            ranked = sorted(groups.values(), key=lambda weights: -len(weights))
            for weights in ranked[:CAUSES]:
                start = Span(say(f"fades.{key}", n=len(weights)), "strong")
                lines.append((start, *self._faded_at(weights), *self._whose(weights)))
        if n := sum(map(self.fading.is_at_start, self.weights)):
            text = say("outline.normal_at_start")
            lines.append((Span(say("fades.zero", n=n)), Span(text)))
        return lines

    def _whose(self, weights: list[Weight]) -> list[Span]:
        """Name the modules of parameters whose gradient faded at a known operation."""
        names = self.places.of_weights(weights)
        known = self._fading_line(weights[0]) is not None and len(names) <= NAMES
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
        return [(start, node, *self._at(place, inside, self.places.around(at)))]

    def _loops(self) -> list[tuple[Span, ...]]:
        """Tell of loops in which the gradient vanishes, and at which step."""
        lines = []
        for place, unit in enumerate(self.cards.units):
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
                spans.insert(1, Span(self.cards.name_of(place), "name"))
            lines.append(tuple(spans))
        return lines[:CAUSES]

    def _line_of_loop(self, unit: Unit) -> str:
        """Return the line that the steps of a loop have in common."""
        if unit.calls:
            call = self.cards.tree.call[unit.calls[0]]
            op = self.operations.all[unit.ops[0]].call
            return self.cards.words.where(op._replace(source=call.source))
        return self.cards.words.where(self.operations.all[unit.steps[0].ops[-1]].call)

    def _fading_line(self, weight: Weight) -> Hashable:
        """Return what parameters have in common whose gradient fades in one line: what was called
        there, and where."""
        at = self.fading.faded_at(weight)
        if at is None:
            return None
        op = self.operations.all[at]
        return (op.call.function, op.call.source[:2]) if op.call.source else at

    def _faded_at(self, weights: list[Weight]) -> tuple[Span, ...]:
        places = dict.fromkeys(self.fading.faded_at(weight) for weight in weights)
        ops = [self.operations.all[at] for at in places if at is not None]
        if not ops:
            names = self.places.of_weights(weights)
            return (Span(say("outline.names", names=names), "name"),)
        code, place = function_of(ops[0]), self.cards.words.where(ops[0].call)
        inside = list(dict.fromkeys(self.places.inside(op.call.module_call) for op in ops))
        if len(inside) > 1:
            many = say("outline.line_inside_many", place=place, n=len(inside))
            return Span(code, "name"), Span(many)
        way = self.places.around(ops[0].at) if len(ops) == 1 else ""
        return Span(code, "name"), *self._at(place, inside[0], way)

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
        return [(start, Span(say("outline.batch_norms_moved", n=len(moved)), "strong"))]

    def _harmless(self) -> list[tuple[Span, ...]]:
        """Tell of cuts that are drawn or said though no parameter is left without by them."""
        found: dict[str, Cut] = {}
        links = self.cards.links
        costly = {self.cards.expansion.told(cut) for cut in self.cards.loses}
        for link in links.all.values():
            for cut in link.cuts:
                if self.cards.expansion.told(cut) in costly or not link.is_cut:
                    continue
                first, last = self.cards.name_of(link.tail), self.cards.name_of(link.head)
                text = say(
                    "outline.harmless_cut",
                    reason=reason_of(cut),
                    place=self.cards.where(cut),
                    first=first,
                    last=last,
                )
                found.setdefault(text, cut)
        lines: list[tuple[Span, ...]] = []
        for text, cut in list(found.items())[:HARMLESS]:
            lines.append((Span(say("outline.harmless")), Span(text, "cut")))
            lines += self._others_send(cut)
        return lines

    def _others_send(self, cut: Cut) -> list[tuple[Span, ...]]:
        """Tell that all other skips of this kind, between modules of the same classes, send a
        gradient."""
        beside = self._skips.beside(cut)
        if beside is None or beside[0] < OTHERS:
            return []
        return [(Span(say("outline.others_send", k=beside[0], n=beside[1])),)]

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
        lost_to_cut = rail is Rail.NONE and self._cut_of(weight) is not None
        return rail, self.cause_key(weight) if lost_to_cut else None
