"""What stands above an outline: how many parameters get a gradient, and why the others get none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from itertools import groupby

from gradviz.graph.operations import HAS, Fate, Weight
from gradviz.graph.records import CutReason
from gradviz.picture.outline.cards import Cards
from gradviz.picture.outline.scene import Headline, Part, Rail, Span
from gradviz.picture.outline.states import id_of
from gradviz.words.speech import say
from gradviz.words.words import reason_of

CAUSES = 3  # that are told, by how many parameters they cost
QUIET = (CutReason.NO_GRAD, CutReason.INFERENCE_MODE)
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
        self.causes = cards.causes
        self.places = cards.causes.places
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
        return Rail.NONE if self.operations.should_get(weight) else Rail.NO

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
            groups.setdefault(self.causes.key(weight), []).append(weight)
        ranked = sorted(groups.values(), key=lambda weights: -len(weights))
        alone = len(ranked) == 1
        lines = []
        for weights in ranked[:CAUSES]:
            n = len(weights)
            start = say("outline.one_cause") if alone else say("outline.n_params", n=n)
            lines.append((Span(start), *self.causes.told(weights)))
            if other := self.causes.other_cut(weights):
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
            if names and len(names) <= NAMES and len(weights) < len(self.weights):
                spans = [Span(say(f"state_of.{key}")), Span(_commas(names), "name")]
                line = self.causes.line_of(weights)
                lines.append((*spans, *([Span(line)] if line else [])))
        return [*lines, *self._faded(), *self._moved()]

    def _faded(self) -> list[tuple[Span, ...]]:
        """Tell where gradients become zero or vanish."""
        lines = []
        for fate, key in ((Fate.ZERO, "zero"), (Fate.VANISHED, "vanished")):
            groups: dict[int | None, list[Weight]] = {}
            for weight in self.weights:
                if weight.fate is fate:
                    groups.setdefault(self.fading.faded_at(weight), []).append(weight)
            ranked = sorted(groups.items(), key=lambda pair: -len(pair[1]))
            for at, weights in ranked[:CAUSES]:
                start = Span(say(f"fades.{key}", n=len(weights)), "strong")
                lines.append((start, *self.causes.faded_at(at, weights)))
        return lines

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
        lost_to_cut = rail is Rail.NONE and self.causes.cut_of(weight) is not None
        return rail, self.causes.key(weight) if lost_to_cut else None


def _commas(names: list[str]) -> str:
    return ", ".join(names)
