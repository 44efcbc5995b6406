"""What was written into parameters from the values of others: targets, averages, and a network that
was loaded with its own values. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from gradviz.graph.copies import Copied, copied
from gradviz.graph.facts import Facts, grouped
from gradviz.graph.parameter_groups import name_of
from gradviz.graph.records import Cut
from gradviz.graph.training import line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.words.speech import say, several
from gradviz.words.words import Words, reason_of


class Copies:
    """What a recording wrote into parameters from others.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        trained: the object ids of what steps moved.
    """

    def __init__(self, facts: Facts, words: Words, trained: Set[int]) -> None:
        self.facts, self.words, self.trained = facts, words, trained

    def remarks(self) -> Iterator[Remark]:
        """Yield what is to be told of them, place by place."""
        all_of = copied(self.facts)
        last = {frozenset(x.into for x in every): every for every in self._taken(all_of)}
        for every in grouped((line_of(c.call), c) for c in all_of).values():
            alone = [c for c in every if c.is_whole and c.sources == {c.into}]
            if alone and len(alone) == len(every):
                last.pop(frozenset(c.into for c in alone), None)
                yield self._onto_itself(alone, all_of)
        yield from self._written_back(all_of)
        yield from map(self._as_target, last.values())

    def _written_back(self, all_of: Sequence[Copied]) -> Iterator[Remark]:
        """Tell of what steps move, and that is written again and again from what no step moves."""
        back = [c for c in all_of if c.into in self.trained and c.sources - {c.into}]
        for every in grouped((line_of(c.call), c) for c in back).values():
            others = frozenset().union(*(c.sources - {c.into} for c in every))
            times = len({c.call.id for c in every if c.into == every[-1].into})
            if times < 2 or not others.isdisjoint(self.trained):
                continue
            into = frozenset(c.into for c in every)
            fields = {
                "code": self.words.at(every[-1].call),
                "names": self.names(into),
                "others": self.names(others),
                "n": times,
            }
            yield Remark(Weight.WEIGHTY, "written_back", fields, (every[-1].call,), into)

    def _taken(self, all_of: Sequence[Copied]) -> Iterator[list[Copied]]:
        """Yield of each place what no step moves, and is written there from what steps move."""
        for every in grouped((line_of(c.call), c) for c in all_of).values():
            taken = [c for c in every if c.sources - {c.into} and c.into not in self.trained]
            if taken and all(c.sources - {c.into} <= self.trained for c in taken):
                yield taken

    def names(self, objects: Set[int]) -> str:
        """Return one name for some parameters, or as few as they have."""
        latest = self.facts.latest_state
        wanted, every = (
            [self.words.name(latest[i].id) for i in sorted(of)]
            for of in (objects, self.facts.of_modules | objects)
        )
        return several(name_of(wanted, every))

    def _onto_itself(self, every: Sequence[Copied], all_of: Sequence[Copied]) -> Remark:
        """Tell of a network that was loaded with its own values."""
        into = frozenset(c.into for c in every)
        others = [c for c in all_of if c.into in into and c.sources - {c.into}]
        fields = {
            "code": self.words.at(every[-1].call),
            "names": self.names(into),
            "others": self.names(frozenset().union(*(c.sources - {c.into} for c in others))),
            "place": self.words.where(others[-1].call) if others else "",
        }
        key = "copied_as_before" if others else "copied_onto_itself"
        return Remark(Weight.WEIGHTY, key, fields, (every[-1].call,), into)

    def _as_target(self, every: Sequence[Copied]) -> Remark:
        """Tell of a network that no step moves, and that is given the values of one that learns."""
        into = frozenset(c.into for c in every)
        cut = self._kept_off_by(into)
        names = self.names(into)
        others = self.names(frozenset().union(*(c.sources - {c.into} for c in every)))
        fields = {
            "names": say("label.another", name=names) if names == others else names,
            "code": self.words.at(every[-1].call),
            "others": others,
            "n": len({c.call.id for c in every if c.into == every[-1].into}),
            "cutter": "" if cut is None else reason_of(cut),
            "place": "" if cut is None else self._place(cut),
        }
        key = "target" if cut is None else "target_kept_off"
        weight = Weight.ORDINARY if cut is None else Weight.NOTABLE
        return Remark(weight, key, fields, (every[-1].call,), into)

    def _place(self, cut: Cut) -> str:
        """Say where a cut is: where gradients were switched off, or at its call."""
        call = self.facts.graph.call[cut.call_id]
        return self.words.where_off(call) or self.words.where(call)

    def _kept_off_by(self, leaves: Set[int]) -> Cut | None:
        """Return the last cut on the way to a loss that keeps it off some leaves."""
        behind = self.facts.ancestors(self.facts.losses)
        on_the_way = (c for c in reversed(self.facts.real_cuts) if c.output_id in behind)
        for cut in on_the_way:
            given = self.facts.graph.tensor[cut.input_id]
            off = {t.object_id for t in self.facts.leaves_reached(cut.input_id)}
            if given.object_id in leaves or (off and off <= leaves):
                return cut
        return None
