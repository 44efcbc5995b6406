"""What the recorded steps used: of which backwards, as they came or changed, and what they left.
Knows no torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from gradviz.graph.facts import Facts, grouped
from gradviz.graph.parameter_groups import name_of
from gradviz.graph.records import Call
from gradviz.graph.training import Did, Moment, Training, line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.handed_on import LINEAR
from gradviz.words.speech import say, several
from gradviz.words.words import Words

# calls that scale a loss, or a gradient, by a number
SCALING = {"div", "div_", "mul", "mul_", "true_divide", "_foreach_div_", "_foreach_mul_"}
CLIPS = "clip"  # in the statements that clip gradients


class Used(NamedTuple):
    """What one step used of one leaf's gradient.

    Attributes:
        leaf: its object id.
        added: the backwards that brought it.
        changed: the calls that changed the sum before the step.
        step: the step's call.
    """

    leaf: int
    added: tuple[Moment, ...]
    changed: tuple[Call, ...]
    step: Call


class Step(NamedTuple):
    """The last step of one line: its call, and what it used of each leaf."""

    call: Call
    used: list[Used]

    @property
    def leaves(self) -> frozenset[int]:
        """The leaves that it moved, by object id."""
        return frozenset(u.leaf for u in self.used)


class Left(NamedTuple):
    """A gradient that a backward brought to a leaf, and that was cleared before a step used it."""

    leaf: int
    backward: Call
    clear: Call


class Steps:
    """The steps of a recording.

    Args:
        training: what was done with gradients.
        words: what tensors and calls are called.
    """

    def __init__(self, training: Training, words: Words) -> None:
        self.training, self.words = training, words
        self.facts = Facts.of(training.graph)

    def remarks(self) -> Iterator[Remark]:
        """Yield what the steps used and what they left, in their order."""
        yield from self.clipped_elsewhere()
        for step in self.steps:
            yield from self.sums(step)
        yield from self.left_unused()
        yield from map(self.moved, self.steps)

    def names(self, leaves: Iterable[int]) -> str:
        """Return one name for some leaves, or as few as they have."""
        latest = self.facts.latest_state
        wanted, every = (
            [self.words.name(latest[i].id) for i in sorted(objects)]
            for objects in (leaves, self.training.moments)
        )
        return several(name_of(wanted, every))

    def loss(self, call: Call) -> str:
        """Return what a backward was called on, with the backward's place."""
        tensor = self.facts.graph.tensor.get(next(iter(call.inputs), None))
        former = tensor.former.name if tensor is not None and tensor.former else ""
        name = former or (tensor.code_name if tensor is not None else "")
        return self.words.at(call, name or self.words.code(call))

    def step_name(self, step: Step) -> str:
        """Return a step's code and place; of one that several callers share, the caller's."""
        shared = [s for s in self.steps if line_of(s.call) == line_of(step.call)]
        source = step.call.source
        if len(shared) > 1 and source is not None and len(source.frames) > 1:
            return self.words.frame(source.frames[1])
        return self.words.at(step.call)

    # --- what each step used ----------------------------------------------------------------------

    @cached_property
    def steps(self) -> list[Step]:
        """The last step of each place that stepped, in their order."""
        by_place = grouped((_place(u.step), u) for u in self.used)
        found = []
        for every in by_place.values():
            last = max((u.step for u in every), key=lambda call: call.id)
            latest = {u.leaf: u for u in every}
            found.append(Step(last, list(latest.values())))
        return sorted(found, key=lambda step: step.call.id)

    @cached_property
    def used(self) -> list[Used]:
        """What all steps used, leaf by leaf."""
        return [
            Used(leaf, pile.added, pile.changed, pile.step.call)
            for leaf, piles in self.training.sums_used.items()
            for pile in piles
        ]

    def moved(self, step: Step) -> Remark:
        """Tell of a step what it moved, by the gradients of which losses."""
        by_losses = grouped(((self._losses_of(u.added), len(u.added)), u.leaf) for u in step.used)
        parts = [
            say("account.by", names=self.names(leaves), losses=list(losses), n=n)
            for (losses, n), leaves in by_losses.items()
        ]
        fields = {"step": self.step_name(step), "parts": parts}
        return Remark(Weight.ORDINARY, "moved", fields, (step.call,), step.leaves)

    def _losses_of(self, added: Sequence[Moment]) -> tuple[str, ...]:
        """Name the losses of some backwards, each place once."""
        by_place = {_place(m.call): m.call for m in added}
        return tuple(map(self.loss, by_place.values()))

    # --- sums of several backwards ----------------------------------------------------------------

    def sums(self, step: Step) -> Iterator[Remark]:
        """Tell of a step that used the sum of several backwards of one place."""
        several_of = grouped(
            ((len(u.added), *_places(u.added)), u)
            for u in step.used
            if len(u.added) > 1 and len(_places(u.added)) == 1
        )
        for every in several_of.values():
            added, leaves = every[0].added, [u.leaf for u in every]
            scale = self.scaled(added, every[0].changed)
            fields = {
                "step": self.step_name(step),
                "n": len(added),
                "loss": self.loss(added[-1].call),
                "scaled": self.words.at(scale),
            }
            yield Remark(
                Weight.NOTABLE if scale else Weight.WEIGHTY,
                "sum_scaled" if scale else "sum_whole",
                fields,
                (added[-1].call, *([scale] if scale else []), step.call),
                frozenset(leaves),
            )

    def scaled(self, added: Sequence[Moment], changed: Sequence[Call]) -> Call | None:
        """Return the call that scales each loss by a number before its backward, or their sum after
        it."""
        scaling = [call for call in changed if call.function in SCALING and not self.is_clip(call)]
        if scaling:
            return scaling[-1]
        call = self.facts.maker.get(added[-1].call.inputs[0]) if added[-1].call.inputs else None
        while call is not None and call.function in LINEAR | SCALING and len(call.inputs) == 1:
            if call.function in SCALING:
                return call
            call = self.facts.maker.get(call.inputs[0])
        return None

    def is_clip(self, call: Call) -> bool:
        """Say whether a call clips gradients."""
        frames = call.source.frames if call.source else ()
        return CLIPS in (frames[0].code if frames else self.words.code(call)).lower()

    # --- clipped, and not what is stepped ---------------------------------------------------------

    def clipped_elsewhere(self) -> Iterator[Remark]:
        """Tell of gradients that were clipped before a step which moved others, as they came."""
        for step in self.steps:
            begun = max((m.call.id for u in step.used for m in u.added[-1:]), default=0)
            clips = [(call, leaf) for call, leaf in self.clips if begun < call.id < step.call.id]
            clipped = {leaf for _, leaf in clips}
            rest = step.leaves - clipped
            if clipped and rest:
                yield Remark(
                    Weight.WEIGHTY,
                    "clipped_elsewhere" if clipped.isdisjoint(step.leaves) else "clipped_in_part",
                    {
                        "clip": self.words.statement(clips[-1][0]),
                        "clipped": self.names(clipped),
                        "step": self.step_name(step),
                        "names": self.names(rest),
                    },
                    (clips[-1][0], step.call),
                    frozenset(rest | clipped),
                )

    @cached_property
    def clips(self) -> list[tuple[Call, int]]:
        """The calls that clipped gradients, each with the leaf, by object id."""
        return [
            (moment.call, leaf)
            for leaf, every in self.training.moments.items()
            for moment in every
            if moment.did is Did.CHANGED and self.is_clip(moment.call)
        ]

    # --- gradients that no step used --------------------------------------------------------------

    def left_unused(self) -> Iterator[Remark]:
        """Tell of backwards of which steps used a part, while the rest was cleared."""
        stepped = {m.run for u in self.used for m in u.added}
        rows = [left for leaf in self.training.moments for left in self._left(leaf, stepped)]
        if not rows:
            return
        alone = all(len(_places(u.added)) == 1 for u in self.used)
        by_backward = grouped((_place(left.backward), left) for left in rows)
        yield Remark(
            Weight.NOTABLE,
            "left_alone" if alone else "left",
            {"parts": list(map(self._left_by, by_backward.values()))},
            tuple(dict.fromkeys(c for left in rows for c in (left.backward, left.clear))),
            frozenset(left.leaf for left in rows),
        )

    def _left_by(self, every: Sequence[Left]) -> str:
        """Say where the gradients of one backward were cleared."""
        clears = {_place(left.clear): left.clear for left in every}
        return say(
            "account.left_by",
            loss=self.loss(every[-1].backward),
            names=self.names({left.leaf for left in every}),
            clears=list(map(self.words.where, clears.values())),
        )

    def _left(self, leaf: int, stepped: set[int | None]) -> Iterator[Left]:
        """Yield the backwards whose gradient of a leaf was cleared unused, though steps used what
        they sent to others."""
        added = list[Moment]()
        for moment in self.training.moments[leaf]:
            if moment.did is Did.ADDED:
                added = [*added, moment] if moment.onto else [moment]
            elif moment.did is Did.CLEARED:
                yield from (Left(leaf, m.call, moment.call) for m in added if m.run in stepped)
                added = []
            elif moment.did is Did.STEPPED:
                added = []


def _place(call: Call) -> tuple[object, ...]:
    """Return where a call stands: its line, and those of the user's statements that led there."""
    frames = call.source.frames if call.source else ()
    return tuple((f.file, f.line) for f in frames) or (line_of(call),)


def _places(added: Iterable[Moment]) -> set[tuple[object, ...]]:
    """Return where some backwards stand."""
    return {_place(moment.call) for moment in added}
