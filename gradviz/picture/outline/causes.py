"""Why parameters get no gradient, or none to learn from, in words."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property, reduce
from operator import or_

from gradviz.graph.flow import in_reentrant_checkpoint
from gradviz.graph.operations import Fate, Weight
from gradviz.graph.parameter_groups import name_of
from gradviz.graph.records import Call, Cut, ModuleCall
from gradviz.picture.outline.no_grad import QUIET
from gradviz.picture.outline.places import Places
from gradviz.picture.outline.scene import Span
from gradviz.picture.outline.units import BY_FUNCTION, Expansion, function_of
from gradviz.words.plain import visible
from gradviz.words.speech import say
from gradviz.words.words import NAME, Words, reason_of

CODE_OF_CUT = 24
_NUMBER = re.compile(r"\d+")
NAMED = 3  # modules, or ranges of them, that a line names at most
NEVER_CALLED, NEVER_USED, RAISED = 1, 2, 3  # whatever cost a gradient, and is no cut


class Causes:
    """The causes in one recording.

    Args:
        expansion: of it.
        words: of the same graph.
    """

    def __init__(self, expansion: Expansion, words: Words) -> None:
        self.expansion = expansion
        self.operations = expansion.operations
        self.tree = expansion.tree
        self.places = Places(expansion.tree)
        self.words = words

    def cut_of(self, weight: Weight) -> Cut | None:
        """Return the first cut on the way of a parameter that lost its gradient by one."""
        return self.expansion.cuts.first.cause_of.get(weight.key)

    def key(self, weight: Weight) -> Hashable:
        """Return what parameters have in common that lost their gradient by one cause: the line of
        a cut, or where no gradient is recorded."""
        cut = self.cut_of(weight)
        if cut is None and self._is_raised_before(weight):
            return RAISED
        if cut is None:
            unused = self._unused.get(id(weight), "")
            end = unused or self.places.dead_end(weight) or weight.name.rpartition(".")[0]
            is_read = bool(self.operations.uses.get(weight.key))
            alike = end if end.isdigit() else _NUMBER.sub("#", end)  # a number alone is no name
            return bool(unused), is_read, alike
        return self.mark(cut)

    def kind(self, weight: Weight) -> Hashable:
        """Return the same, wherever the parameters stand that were never called or used."""
        cut = self.cut_of(weight)
        if cut is not None:
            return self.mark(cut)
        if id(weight) in self._unused:
            return NEVER_CALLED
        if not self.operations.uses.get(weight.key):
            return NEVER_USED
        return self.places.dead_end(weight)

    def why(self, weights: list[Weight]) -> tuple[Span, ...]:
        """Tell why parameters of one kind get no gradient. Does not name them."""
        cuts = [cut for w in weights if (cut := self.cut_of(w)) is not None]
        if cuts:
            return self.cut(cuts)
        kind = self.kind(weights[0])
        if kind == NEVER_CALLED:
            return (Span(say("outline.was_never_called"), "strong"),)
        if kind == NEVER_USED:
            return (Span(say("outline.was_never_used"), "strong"),)
        name = (Span(str(kind), "name"),) if kind else ()
        return *name, Span(self._unreached(weights[0]), "strong")

    def mark(self, cut: Cut) -> Hashable:
        """Return what cuts that are one cause have in common."""
        if cut.reason in QUIET and not self.expansion.no_grad.switch_of(cut):
            return self.expansion.no_grad.region.get(self.operations.of_call.get(cut.call_id, -1))
        return self.expansion.cuts.told(cut)

    def told(self, weights: list[Weight]) -> tuple[Span, ...]:
        """Tell why these parameters get no gradient: the one cause that they have in common."""
        cuts = [cut for w in weights if (cut := self.cut_of(w)) is not None]
        if cuts:
            return *self.cut(cuts), *self._behind_a_switch(weights, cuts)
        names, why = self._without_a_cut(weights)
        return Span(say("outline.names", names=names), "name"), Span(why, "strong")

    def _behind_a_switch(self, weights: list[Weight], cuts: list[Cut]) -> tuple[Span, ...]:
        """Name the modules that a line outside of them switches gradients off for."""
        calls = {self.operations.graph.call[c.call_id] for c in cuts if c.reason in QUIET}
        names = self.places.of_weights(weights)
        is_outside = bool(calls) and not any(self._inside(self._written_in(c)) for c in calls)
        if not is_outside or not 0 < len(names) <= NAMED:
            return ()
        return (Span(say("outline.whose", names=names)),)

    def _without_a_cut(self, weights: list[Weight]) -> tuple[list[str], str]:
        """Name what these parameters, or the modules that end with their values, are called, and
        tell why a loss has nothing of them."""
        unused = list(dict.fromkeys(self._unused.get(id(w), "") for w in weights))
        if unused[0]:
            return name_of(unused), say("outline.was_never_called")
        if not self.operations.uses.get(weights[0].key):
            module_id = weights[0].module_id
            every = [w.name for w in self.operations.weights if w.module_id == module_id]
            return name_of([w.name for w in weights], every), say("outline.was_never_used")
        ends = dict.fromkeys(self.places.dead_end(w) or w.name.rpartition(".")[0] for w in weights)
        names = name_of([end for end in ends if end]) or [weights[0].name]
        return names, self._unreached(weights[0])

    def _unreached(self, weight: Weight) -> str:
        """Tell why no gradient came to what was made from a parameter, though nothing cuts it off:
        backward raised on the way, or no loss uses it."""
        is_raised = self._is_raised_before(weight)
        return say("outline.backward_raised" if is_raised else "outline.loss_uses_nothing")

    def _is_raised_before(self, weight: Weight) -> bool:
        """Say whether a parameter is behind a loss whose backward raised."""
        facts, uses = self.operations.facts, self.operations.uses.get(weight.key, ())
        if not facts.errors:
            return False
        into = (facts.goes_into(i) for at in uses for i in self.operations.all[at].makes)
        losses = reduce(or_, into, 0)
        return any(
            backward.call_id in facts.error_of_call and losses >> place & 1
            for place, backward in enumerate(self.operations.graph.backwards)
        )

    @cached_property
    def _unused(self) -> dict[int, str]:
        """The paths of the modules that were never called, by the id() of their parameters."""
        calls = [call for i in self.tree.children.get(None, ()) for call in self._below(i)]
        found: dict[int, str] = {}
        for call in calls:
            for path, weights in self.tree.never_called(call):
                for weight in weights:
                    found.setdefault(id(weight), path)
        return found

    def _below(self, call_id: int) -> Iterable[ModuleCall]:
        call = self.tree.call[call_id]
        yield call
        for child in self.tree.children.get(call_id, ()):
            yield from self._below(child)

    def other_cut(self, weights: list[Weight]) -> tuple[Span, ...]:
        """Tell of another cut that all of these parameters meet first on another way."""
        met = [self.expansion.cuts.first.causes_of.get(w.key, ()) for w in weights]
        others = {self.mark(cut): cut for cut in reversed(met[0])}
        for cuts in met:
            here = {self.mark(cut) for cut in cuts} - {self.mark(cuts[0])} if cuts else set()
            others = {mark: cut for mark, cut in others.items() if mark in here}
        if not others:
            return ()
        cut = list(others.values())[-1]
        return Span(say("outline.on_another_way")), *self.cut([cut])

    def cut(self, cuts: Sequence[Cut]) -> tuple[Span, ...]:
        """Tell cuts that are one cause, and where they stand."""
        cut = cuts[0]
        calls = [self.operations.graph.call[c.call_id] for c in cuts]
        first = Span(self._mechanism(cut), "strong")
        place = self.where(cut)
        if not place:
            return (first,)
        inside = list(dict.fromkeys(self._inside(self._written_in(call)) for call in calls))
        if cut.reason in QUIET and inside == [""]:
            return first, Span(place)
        if len(inside) > 1:
            return first, *self._inside_many(place, inside)
        ways = set() if cut.reason in QUIET else {self.places.between(c) for c in cuts}
        way = ways.pop() if len(ways) == 1 else ""
        return first, *self.at(place, inside[0], way)

    def reason(self, cut: Cut) -> str:
        """Return the word for why a gradient path ends: of a checkpoint that ran without recording,
        the checkpoint, as no code of the user's says no_grad."""
        if in_reentrant_checkpoint(cut, self.operations.graph):
            return say("outline.reentrant")
        return reason_of(cut)

    def _mechanism(self, cut: Cut) -> str:
        """Tell why a gradient path ends; of a function that has no derivative, which one it is."""
        reason, at = self.reason(cut), self.operations.of_call.get(cut.call_id)
        if in_reentrant_checkpoint(cut, self.operations.graph):
            return say("outline.cut_by_checkpoint", reason=reason)
        if cut.reason in QUIET and at is not None:
            return say("outline.cut", reason=self.switched_off_by(at))
        if cut.reason not in BY_FUNCTION or at is None:
            return say("outline.cut", reason=reason)
        function = function_of(self.operations.all[at])
        return say("outline.cut_by", function=visible(function), reason=reason)

    def _written_in(self, call: Call) -> int | None:
        """Return the module call in whose code a cut stands: where no gradient is recorded, the
        one around all that ran so."""
        around = [*self.tree.around(call.module_call)]
        quiet = self.expansion.no_grad.quiet_calls
        return next((i for i in around if i not in quiet), None)

    def _inside_many(self, place: str, inside: Sequence[str]) -> tuple[Span, ...]:
        """Tell a line with the modules that it ran in: named where they have few names, else
        counted."""
        names = name_of([name for name in inside if name])
        if len(names) > NAMED or "" in inside:
            return (Span(say("outline.line_inside_many", place=place, n=len(inside))),)
        listed = say("outline.names", names=names)
        return Span(say("outline.line_inside", place=place)), Span(listed, "name")

    def next_cut(self, weights: list[Weight]) -> tuple[Span, ...]:
        """Tell that mending what parameters lost their gradient by would give them none, as all
        ways from there to a loss are cut again."""
        cuts = list(dict.fromkeys(cut for w in weights if (cut := self.cut_of(w)) is not None))
        if not cuts:
            return ()
        mark = self.mark(cuts[0])
        behind = self.expansion.cuts.first.behind(cuts, lambda cut: self.mark(cut) == mark)
        if not behind:
            return ()
        return Span(say("outline.cut_again")), *self.cut(behind[:1])

    def at(self, place: str, inside: str, way: str) -> tuple[Span, ...]:
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

    def line_of(self, weights: list[Weight]) -> str:
        """Return the line of the recording in which all of these parameters were frozen, or were
        given their first values."""
        found = set()
        for weight in weights:
            call = self._first_change.get(weight.key)
            found.add((self.words.where(call), weight.fate) if call else None)
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

    def fading_line(self, weight: Weight) -> Hashable:
        """Return what parameters have in common whose gradient fades in one line: what was called
        there, and where."""
        at = self.expansion.fading.faded_at(weight)
        if at is None:
            return None
        op = self.operations.all[at]
        return (op.call.function, op.call.source[:2]) if op.call.source else at

    def faded_at(self, weights: list[Weight]) -> tuple[Span, ...]:
        """Tell the operations at which the gradients of these parameters fade, or name them."""
        places = dict.fromkeys(self.expansion.fading.faded_at(weight) for weight in weights)
        ops = [self.operations.all[at] for at in places if at is not None]
        if not ops:
            names = self.places.of_weights(weights)
            return (Span(say("outline.names", names=names), "name"),)
        code, place = function_of(ops[0]), self.words.where(ops[0].call)
        inside = list(dict.fromkeys(self.places.inside(op.call.module_call) for op in ops))
        if len(inside) > 1:
            return Span(code, "name"), *self._inside_many(place, inside)
        way = self.places.around(ops[0].at) if len(ops) == 1 else ""
        return Span(code, "name"), *self.at(place, inside[0], way)

    def where(self, cut: Cut) -> str:
        """Return where a cut stands: "line 7", with its file where that is not the notebook's; of a
        stretch where no gradient is recorded, the line where it begins."""
        at = self.operations.of_call.get(cut.call_id, -1)
        if cut.reason in QUIET and at in self.expansion.no_grad.region:
            return self.place_of_region(self.expansion.no_grad.region[at])
        call: Call | None = self.operations.graph.call.get(cut.call_id)
        place = self.words.where(call)
        if call and call.source and (cut.reason, call.source[:2]) in self.expansion.cuts.crowded:
            code = visible(self.expansion.cuts.written(cut), CODE_OF_CUT)
            return say("outline.place_of_code", place=place, code=code)
        return place

    def switched_off_by(self, at: int) -> str:
        """Return what switches gradients off for an operation: "no_grad", or the decorator with the
        function that it stands on."""
        op = self.operations.all[at]
        mode = say("cut.inference_mode") if op.call.inference_mode else say("cut.no_grad")
        switch = self.expansion.no_grad.switch(op)
        if switch is None or switch.decorated is None:
            return mode
        return say("outline.decorator", mode=mode, function=visible(switch.decorated, NAME))

    def place_of_region(self, at: int) -> str:
        """Return where the code stands that ran where no gradient is recorded, the operation given
        among it: the line that switches it off, or the outermost call of a module that ran there as
        a whole."""
        call = self.operations.all[at].call
        inside = (k for k, first in self.expansion.no_grad.region.items() if first == at)
        switches = (self.expansion.no_grad.switch(self.operations.all[k]) for k in inside)
        if switch := next(filter(None, switches), None):
            return self.words.where(call._replace(source=switch))
        source = call.source
        for call_id in self.tree.around(call.module_call):
            ops = (self.operations.all[k] for k in self.tree.below[call_id])
            if not all(self.expansion.no_grad.is_quiet(op) for op in ops):
                break
            source = self.tree.call[call_id].source or source
        return self.words.where(call._replace(source=source))
