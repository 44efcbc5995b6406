"""What stands above an outline: how many parameters get a gradient, and why the others get none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from functools import cached_property
from itertools import groupby

from gradviz.graph.operations import Fate, Weight
from gradviz.graph.records import Cut, CutReason, ModuleCall
from gradviz.picture.outline.cards import Cards
from gradviz.picture.outline.scene import Headline, Part, Rail, Span
from gradviz.picture.outline.states import HAS, id_of
from gradviz.words.speech import say
from gradviz.words.words import reason_of

CAUSES = 3  # that are told, by how many parameters they cost
QUIET = (CutReason.NO_GRAD, CutReason.INFERENCE_MODE)
HARMLESS = 2  # cuts that cost nothing, and are told


class Heading:
    """Writes the headline of an outline.

    Args:
        cards: of the outline.
    """

    def __init__(self, cards: Cards) -> None:
        self.cards = cards
        self.operations = cards.operations
        self.weights = cards.operations.weights

    def headline(self) -> Headline:
        """Return title, causes and strip."""
        if not self.weights:
            return Headline(say("outline.no_parameters"))
        lost = [w for w in self.weights if self.sort(w) is Rail.NONE]
        lines = [*self._backwards(), *self._causes(lost), *self._harmless()]
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
        return say("outline.parameters", total=total, parts=[*self._parts(counts), *bad])

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
        """Count the parameters that get zeros alone, or NaN."""
        fates = Counter(w.fate for w in self.weights)
        zero, nan = fates[Fate.ZERO], fates[Fate.NAN]
        parts = [say("outline.part_zero", n=zero)] if zero else []
        return [*parts, say("outline.part_nan", n=nan)] if nan else parts

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
            if n:
                spans.append(
                    Span(say("outline.module_gets", module=module.name, n=n, total=total), "cut")
                )
            else:
                spans.append(Span(say("outline.module_gets_none", module=module.name, total=total)))
        return spans

    def _got_in(self, weight: Weight, run: int) -> bool:
        sents = self.operations.filled_from.get(id_of(weight), {}).values()
        return any(sent.run == run for some in sents for sent in some)

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
            used = bool(self.operations.uses.get(id_of(weight)))
            return unused or used, weight.name.rpartition(".")[0] if not unused else ""
        if cut.reason in QUIET:
            return self._region.get(self.operations.of_call.get(cut.call_id, -1))
        return self.cards.expansion.told(cut)

    @cached_property
    def _region(self) -> dict[int, int]:
        """The first operation of each stretch where no gradient is recorded, by operation."""
        found: dict[int, int] = {}
        first = None
        for op in self.operations.all:
            if self.cards.expansion.is_quiet(op):
                first = op.at if first is None else first
                found[op.at] = first
            else:
                first = None
        return found

    def cause(self, weights: list[Weight]) -> tuple[Span, ...]:
        """Tell why these parameters get no gradient: the one cause that they have in common."""
        weight = weights[0]
        cuts = [cut for w in weights if (cut := self._cut_of(w)) is not None]
        if cuts:
            return self._cut(cuts)
        path = weight.name.rpartition(".")[0]
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

    def _cut(self, cuts: list[Cut]) -> tuple[Span, ...]:
        cut = cuts[0]
        calls = [self.operations.graph.call[c.call_id] for c in cuts]
        first = Span(say("outline.cut", reason=reason_of(cut)), "strong")
        if cut.reason in QUIET:
            at = self._region[self.operations.of_call[cut.call_id]]
            return first, Span(self.cards.place_of_region(at))
        place = self.cards.where(cut)
        inside = list(dict.fromkeys(self._inside(call.module_call) for call in calls))
        if not place:
            return (first,)
        if len(inside) > 1:
            return first, Span(say("outline.line_inside_many", place=place, n=len(inside)))
        if not inside[0]:
            return first, Span(place)
        return first, Span(say("outline.line_inside", place=place)), Span(inside[0], "name")

    def _inside(self, call_id: int | None) -> str:
        """Return the path of the module that a cut stands in; "" outside, or in the root."""
        return "" if call_id is None else self.cards.tree.call[call_id].path

    def _harmless(self) -> list[tuple[Span, ...]]:
        """Tell of cuts that are drawn or said though no parameter is left without by them."""
        found: dict[str, tuple[Span, ...]] = {}
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
                found.setdefault(text, (Span(text, "cut"),))
        return [
            (Span(say("outline.harmless")), *spans) for spans in list(found.values())[:HARMLESS]
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
        lost_to_cut = rail is Rail.NONE and self._cut_of(weight) is not None
        return rail, self.cause_key(weight) if lost_to_cut else None
