"""What each of several backwards did, above an outline: model by model."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property

from gradviz.graph.facts import grouped
from gradviz.graph.operations import Fate, Operations, Weight
from gradviz.graph.records import Backward
from gradviz.picture.outline.cards import Cards
from gradviz.picture.outline.loss_names import loss_name
from gradviz.picture.outline.scene import Span
from gradviz.words.speech import say

MOST = 3  # backwards that are told
NAMES = 3  # parameters that belong to no model, and that a line names at most
NAMED = 2  # models without a gradient from a backward that are named


class BackwardLines:
    """Tells what backwards did.

    Args:
        cards: of the outline.
    """

    def __init__(self, cards: Cards) -> None:
        self.cards = cards
        self.operations = cards.operations
        self.weights = cards.operations.weights
        self.causes = cards.causes
        self._regions: dict[int, int | None] = {}  # by model, once it was looked for

    def lines(self) -> list[tuple[Span, ...]]:
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
        left = len(told) - MOST
        more = [(Span(say("outline.more_backwards", n=left)),)] if left > 0 else []
        return [*told[:MOST], *more, *self._grads(grads)]

    def _grads(self, found: list[tuple[Backward, int]]) -> list[tuple[Span, ...]]:
        """Tell of what only derivatives were taken of, in one line."""
        if len(found) == 1:
            return [(Span(self._called(*found[0])),)]
        losses = list(dict.fromkeys(self._named(backward)[0] for backward, _ in found))
        return [(Span(say("outline.grads_of", losses=losses)),)] if losses else []

    def _filled(self, run: int) -> tuple[Span, ...]:
        """Tell what one of several backwards did; what is frozen has a line of its own."""
        return tuple(self._modules_in(run, told_frozen=True))

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

    def _modules_in(self, run: int, told_frozen: bool = False) -> list[Span]:
        """Tell what each model got in a run, and the parameters that belong to none.

        Args:
            told_frozen: whether another line names the models that are frozen.
        """
        if not self.operations.graph.modules:
            n = sum(got_in(self.operations, weight, run) for weight in self.weights)
            return [Span(say("outline.all_of", n=n, total=len(self.weights)), "cut")]
        spans, none = list[Span](), list[Span]()
        for module in self.operations.graph.modules:
            weights = self._weights_of.get(module.id, [])
            if not weights or (told_frozen and all(w.fate is Fate.FROZEN for w in weights)):
                continue
            if any(got_in(self.operations, weight, run) for weight in weights):
                spans.append(Span(self._some_in(module.name, weights, run), "cut"))
            else:
                none.append(Span(self._none_in(module.id, module.name, len(weights))))
        spans += self._alone_in(run)
        if spans and len(none) > NAMED:
            none = [Span(say("outline.others_get_none", n=len(none)))]
        return [*spans, *none]

    def _alone_in(self, run: int) -> list[Span]:
        """Name the parameters that got something in a run and that belong to no model."""
        got = [w for w in self.weights if w.module_id is None and got_in(self.operations, w, run)]
        names = list(dict.fromkeys(w.name for w in got if w.name))
        if not names or len(names) > NAMES:
            return []
        return [Span(say("outline.alone_get", names=names), "cut")]

    def _some_in(self, name: str, weights: list[Weight], run: int) -> str:
        """Count the parameters of a model that got something in a run, and tell to what it was
        added."""
        n, total = sum(got_in(self.operations, w, run) for w in weights), len(weights)
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
        runs = [onto.get((w.key, run), ()) for w in weights if got_in(self.operations, w, run)]
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

    def _fills_none(self, backward: Backward) -> bool:
        """Say whether it is known that a backward filled no ``.grad`` of the parameters."""
        if backward.kind == "grad" or not backward.watched:
            return False
        writes = self.operations.facts.writes_by_call.get(backward.call_id, ())
        written = {self.operations.graph.tensor[event.after_id].object_id for event in writes}
        return written.isdisjoint(self.operations.weight) and not any(
            got_in(self.operations, weight, backward.run) for weight in self.weights
        )

    def _are_unlike(self, run: int) -> bool:
        """Say whether some of several models got a gradient in a run, and others ran as a whole
        where none is recorded."""
        modules = {m.id for m in self.operations.graph.modules}
        got = {w.module_id for w in self.weights if got_in(self.operations, w, run)}
        return bool(got) and any(self._region_around(i) is not None for i in modules - got)

    @cached_property
    def _weights_of(self) -> dict[int | None, list[Weight]]:
        """The parameters of each model, by its id; None: of none."""
        return grouped((weight.module_id, weight) for weight in self.weights)

    @cached_property
    def _calls_of(self) -> dict[int, list[int]]:
        """The calls of each model as a whole, by its id."""
        calls = self.cards.tree.call.values()
        return grouped((call.module_id, call.id) for call in calls if not call.path)

    def _region_around(self, module_id: int) -> int | None:
        """Return the stretch where no gradient is recorded in which a model ran as a whole."""
        if module_id not in self._regions:
            tree, region = self.cards.tree, self.cards.expansion.no_grad.region
            calls = self._calls_of.get(module_id, ())
            found = {region.get(at) for i in calls for at in tree.below.get(i, ())}
            self._regions[module_id] = found.pop() if len(found) == 1 else None
        return self._regions[module_id]

    def _only_zeros(self, weight: Weight, run: int) -> bool:
        """Say whether all that a parameter got in a run was zeros, or it got nothing."""
        by_op = self.operations.filled_from.get(weight.key, {})
        return all(s.norm == 0.0 for sents in by_op.values() for s in sents if s.run == run)


def got_in(operations: Operations, weight: Weight, run: int) -> bool:
    """Say whether something was sent into a parameter in a run."""
    return (weight.key, run) in operations.filled_in
