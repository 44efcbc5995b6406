"""What was written into parameters from the values of others: targets, averages, and a network that
was loaded with its own values. Knows no torch."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set

from gradviz.graph.copies import Copied, copied
from gradviz.graph.effects import FILLING
from gradviz.graph.facts import Facts, How, grouped
from gradviz.graph.parameter_groups import name_of
from gradviz.graph.preview import DIGITS
from gradviz.graph.records import Cut
from gradviz.graph.training import line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.measured import numbers
from gradviz.words.speech import say, several
from gradviz.words.words import Words, reason_of

_MORE_THAN_HALF = 0.55  # half and half is a way to average


def _share_of(before: float, after: float, given: float) -> float:
    """Return at least which share of one number was mixed into another, by rounded numbers; 0 where
    it does not lie between the two."""
    if not min(before, given) <= after <= max(before, given):
        return 0.0
    error = sum(map(_rounding, (before, given)))
    return (abs(after - before) - error) / (abs(given - before) + error) if error else 0.0


def _runs(every: Sequence[Copied]) -> int:
    """Return how often a place wrote what it writes: as often as most of it, for one load writes a
    parameter that has two names twice."""
    calls = {c.call.id: c.into for c in every}
    of_numbers = Counter(Counter(calls.values()).values())
    return min(of_numbers, key=lambda n: (-of_numbers[n], n))


def _rounding(x: float) -> float:
    """Return how far a number of a preview may be from the true one."""
    return 0.5 * 10.0 ** (math.floor(math.log10(abs(x))) + 1 - DIGITS) if x else 0.0


def _known(parameters: Sequence[int | None]) -> frozenset[int]:
    """Return those of some parameters that the recording met."""
    return frozenset(i for i in parameters if i is not None)


def _called_like(
    networks: Mapping[str, Sequence[int | None]], added: Sequence[set[str]]
) -> dict[str, Sequence[int | None]]:
    """Return the networks whose names have some words."""
    return {n: own for n, own in networks.items() if any(words & _words(n) for words in added)}


def _words(name: str) -> set[str]:
    """Return the words of which a name is made: "agent.target_actor" has three."""
    return {word.lower() for word in re.findall(r"[A-Za-z][a-z]*|\d+", name)}


def _word_of(target: str, learning: Sequence[str]) -> set[str]:
    """Return the words that a target's name has more than those of the networks that learn."""
    return _words(target) - set[str]().union(*map(_words, learning))


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
            if alone and len(alone) == len(every) and not self._is_in_there(alone, all_of):
                last.pop(frozenset(c.into for c in alone), None)
                yield self._onto_itself(alone, all_of)
        yield from self._written_back(all_of)
        yield from self._forgotten(list(last.values()))
        yield from map(self._as_target, last.values())
        yield from self._as_made({c.into for c in all_of})

    def _forgotten(self, taken: Sequence[list[Copied]]) -> Iterator[Remark]:
        """Tell of a network that is called as one is that the code writes again and again, is built
        like one that learns, and stays as it is: a target that is not updated beside another
        one."""
        roots = {m.name: [p.object_id for p in m.parameters] for m in self.facts.graph.modules}
        still = self._still(roots, taken)
        for every in taken if still else ():
            learning, added = self._called(every, roots)
            for name, own in _called_like(still, added).items():
                source = self._learnt_alike(name, own, roots, learning)
                if source is not None and self._kept_off_by(_known(own)):
                    yield self._left_behind(_known(own), _known(roots[source]), every)

    def _still(
        self, roots: Mapping[str, Sequence[int | None]], taken: Sequence[list[Copied]]
    ) -> dict[str, Sequence[int | None]]:
        """Return the networks that the recording met whole, and that nothing moves or writes."""
        moved = self.trained | {c.into for every in taken for c in every}
        return {n: own for n, own in roots.items() if None not in own and moved.isdisjoint(own)}

    def _called(
        self, every: Sequence[Copied], roots: Mapping[str, Sequence[int | None]]
    ) -> tuple[list[str], list[set[str]]]:
        """Return the names of the networks that give a target its values, and the words that each
        target's name has more; none of a target that is written once only."""
        into = {c.into for c in every}
        sources = frozenset().union(*(c.sources for c in every)) - into
        learning = [n for n, own in roots.items() if sources.issuperset(own)]
        if _runs(every) < 2:
            return learning, []
        return learning, [_word_of(n, learning) for n, own in roots.items() if into.issuperset(own)]

    def _learnt_alike(
        self,
        name: str,
        own: Sequence[int | None],
        roots: Mapping[str, Sequence[int | None]],
        besides: Sequence[str],
    ) -> str | None:
        """Return the network that learns, has parameters of the same shapes as another one, and by
        whose name that one is called too."""
        shapes = self._shapes(own)
        for other, parameters in roots.items():
            learns = any(i in self.trained for i in parameters)
            is_named = _words(other) - _words(besides[0] if besides else "") <= _words(name)
            if other != name and learns and is_named and self._shapes(parameters) == shapes:
                return other
        return None

    def _shapes(self, parameters: Sequence[int | None]) -> list[object]:
        """Return the shapes of some parameters."""
        latest = self.facts.latest_state
        return [latest[i].shape if i in latest else None for i in parameters if i is not None]

    def _left_behind(self, own: Set[int], source: Set[int], every: Sequence[Copied]) -> Remark:
        """Tell of one such network."""
        fields = {
            "name": self.names(own),
            "source": self.names(source),
            "sister": self.names(frozenset(c.into for c in every)),
            "code": self.words.at(every[-1].call),
            "n": self._times(every),
        }
        return Remark(Weight.WEIGHTY, "left_behind", fields, (every[-1].call,), frozenset(own))

    def _written_back(self, all_of: Sequence[Copied]) -> Iterator[Remark]:
        """Tell of what steps move, and that is written again and again from what no step moves, and
        that is not made of it either: slow weights, and an average, are."""
        back = [c for c in all_of if c.into in self.trained and c.sources - {c.into}]
        following = {c.into for c in all_of if c.sources & self.trained}
        for every in grouped((line_of(c.call), c) for c in back).values():
            others = frozenset().union(*(c.sources - {c.into} for c in every))
            times = _runs(every)
            if times < 2 or not others.isdisjoint(self.trained | following):
                continue
            into = frozenset(c.into for c in every)
            fields = {
                "code": self.words.at(every[-1].call),
                "names": self.names(into),
                "others": self.names(others),
                "n": self.words.times(times),
            }
            yield Remark(Weight.WEIGHTY, "written_back", fields, (every[-1].call,), into)

    def _taken(self, all_of: Sequence[Copied]) -> Iterator[list[Copied]]:
        """Yield of each place what no step moves, and is written there from what steps move."""
        for every in grouped((line_of(c.call), c) for c in all_of).values():
            taken = [c for c in every if c.sources - {c.into} and c.into not in self.trained]
            if taken and all(c.sources - {c.into} <= self.trained for c in taken):
                yield taken

    def names(self, objects: Set[int]) -> str:
        """Return one name for some parameters, or as few as they have. What has no name in the
        program is left out beside what has one: the code that wrote it last is none."""
        latest = self.facts.latest_state
        wanted, every = (
            [self.words.name(latest[i].id) for i in sorted(of)]
            for of in (self._with_names(objects) or objects, self.facts.of_modules | objects)
        )
        return several(name_of(wanted, every))

    def _with_names(self, objects: Set[int]) -> frozenset[int]:
        """Return those of some parameters that have a name."""
        label, latest = self.facts.label, self.facts.latest_state
        return frozenset(i for i in objects if label(latest[i].id).how is How.NAMED)

    def _is_in_there(self, every: Sequence[Copied], all_of: Sequence[Copied]) -> bool:
        """Say whether what is loaded onto itself had been written into it in place by then: an
        average that is kept in the tensors of a state_dict(), which are the network's own. Writes
        of optimizers are none of these, nor is the first copy that a target begins with."""
        leaf = every[-1].into
        *earlier, at = sorted(c.call.id for c in every if c.into == leaf)
        if any(c.into == leaf and not c.is_whole and c.call.id < at for c in all_of):
            return True
        storage, graph = self.facts.latest_state[leaf].storage_id, self.facts.graph
        between = (e for e in self.facts.writes if earlier and earlier[-1] < e.call_id < at)
        return any(
            graph.tensor[e.after_id].storage_id == storage and not graph.call[e.call_id].bookkeeping
            for e in between
            if not e.alias
        )

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
        return Remark(Weight.IN_VAIN, key, fields, (every[-1].call,), into)

    def _as_target(self, every: Sequence[Copied]) -> Remark:
        """Tell of a network that no step moves, and that is given the values of one that learns."""
        into = frozenset(c.into for c in every)
        cut = None if self._are_reached(into) else self._kept_off_by(into)
        names = self.names(into)
        others = self.names(frozenset().union(*(c.sources - {c.into} for c in every)))
        fields = {
            "names": say("label.another", name=names) if names == others else names,
            "code": self.words.at(every[-1].call),
            "others": others,
            "n": self._times(every),
            "cutter": "" if cut is None else reason_of(cut),
            "place": "" if cut is None else self._place(cut),
        }
        most = self._times_taking_most(every)
        if most > 1:
            nearly = {
                "names": names,
                "code": fields["code"],
                "others": others,
                "n": self.words.times(most),
            }
            return Remark(Weight.WEIGHTY, "target_nearly", nearly, (every[-1].call,), into)
        key = "target" if cut is None else "target_kept_off"
        weight = Weight.ORDINARY if cut is None else Weight.NOTABLE
        return Remark(weight, key, fields, (every[-1].call,), into)

    def _times_taking_most(self, every: Sequence[Copied]) -> int:
        """Return how often a mixture of a network's own values and another one's was seen to take
        more of the latter; 0 of what is moved towards a new network each time: it learns so."""
        mixtures = [c for c in every if c.into in c.sources and len(c.sources) == 2]
        if len({c.sources for c in mixtures if c.into == every[-1].into}) != 1:
            return 0
        # of a network with several parameters one load is a call for each
        seen = Counter(c.into for c in mixtures if self._share(c) > _MORE_THAN_HALF)
        return max(seen.values(), default=0)

    def _share(self, one: Copied) -> float:
        """Return at least which share of another one's values is in what a call wrote, as far as
        previews tell; 0 where they do not."""
        event = next((e for e in self.facts.writes_by_call.get(one.call.id, ())), None)
        if event is None:
            return 0.0
        tensor, (source,) = self.facts.graph.tensor, one.sources - {one.into}
        earlier = [t for t in self.facts.states[source] if t.id < event.after_id][-1:]
        states = [tensor[event.before_id], tensor[event.after_id], *earlier]
        values = [numbers(t.values or "") or [] for t in states]
        return max(
            (_share_of(*row) for row in zip(*values, strict=False) if len(row) == 3), default=0.0
        )

    def _as_made(self, written: Set[int | None]) -> Iterator[Remark]:
        """Tell of a network whose values a loss holds without a gradient, that was built like one
        that learns, and that nothing has written since it was made.

        Args:
            written: the objects that were given the values of others.
        """
        modules = self.facts.graph.modules
        of = {m.name: [p.object_id for p in m.parameters] for m in modules}
        learning = [m for m in modules if not self.trained.isdisjoint(_known(of[m.name]))]
        for target in modules:
            own = _known(of[target.name])
            still = own and own.isdisjoint(self.trained | written) and self._was_just_made(own)
            cut = self._kept_off_by(own) if still else None
            alike = (m for m in learning if (m.kind, m.children) == (target.kind, target.children))
            shapes = self._shapes(of[target.name])
            source = next((m for m in alike if self._shapes(of[m.name]) == shapes), None)
            if cut is None or source is None:
                continue
            fields = {
                "names": self.names(own),
                "others": self.names(_known(of[source.name])),
                "cutter": reason_of(cut),
                "place": self._place(cut),
                "source": source.name,
                "target": target.name,
            }
            call = self.facts.graph.call[cut.call_id]
            yield Remark(Weight.NOTABLE, "target_as_made", fields, (call,), own)

    def _was_just_made(self, objects: Set[int]) -> bool:
        """Say whether the recording saw some parameters being filled with their first numbers, and
        no other write into them."""
        writes = [e for i in objects for e in self.facts.writes_by_object.get(i, ())]
        functions = {self.facts.graph.call[e.call_id].function for e in writes}
        return bool(functions) and functions <= FILLING

    def _place(self, cut: Cut) -> str:
        """Say where a cut is: where gradients were switched off, or at its call."""
        call = self.facts.graph.call[cut.call_id]
        return self.words.where_off(call) or self.words.where(call)

    def _times(self, every: Sequence[Copied]) -> int:
        """Return how often a place wrote, as it is to be told."""
        return self.words.times(_runs(every))

    def _are_reached(self, leaves: Set[int]) -> bool:
        """Say whether a gradient of a loss reaches one of some leaves: an actor's goes through the
        target to the actor."""
        reached = (t for loss in self.facts.losses for t in self.facts.leaves_reached(loss))
        return any(t.object_id in leaves for t in reached)

    def _kept_off_by(self, leaves: Set[int]) -> Cut | None:
        """Return the last cut on the way to a loss that keeps it off some leaves."""
        behind = self.facts.in_losses
        on_the_way = (c for c in reversed(self.facts.real_cuts) if c.output_id in behind)
        for cut in on_the_way:
            given = self.facts.graph.tensor[cut.input_id]
            off = {t.object_id for t in self.facts.leaves_reached(cut.input_id)}
            if given.object_id in leaves or (off and off <= leaves):
                return cut
        return None
