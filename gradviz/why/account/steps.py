"""What the recorded steps used: of which backwards, as they came or changed, and what they left.
Knows no torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import NamedTuple

from gradviz.graph.facts import Facts, grouped
from gradviz.graph.parameter_groups import name_of
from gradviz.graph.preview import number
from gradviz.graph.records import Backward, Call, Cut, Source
from gradviz.graph.training import Did, Given, Moment, Training, line_of
from gradviz.names.written import arguments_written
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import LINEAR
from gradviz.why.evidence.measured import numbers
from gradviz.why.evidence.summands import single
from gradviz.why.evidence.zero_flow import brought_zeros
from gradviz.words.speech import say, several
from gradviz.words.words import Words, reason_of

# calls that scale a loss, or a gradient, by a number
SCALING = {"div", "div_", "mul", "mul_", "true_divide", "_foreach_div_", "_foreach_mul_"}
_LITTLE = 1e-3  # the share that clipping leaves, from which on down it is told
_LOW = 1e-2  # a written bound, from which on down it is told
# with what Adam and others like it step: by the gradient divided by its own size
_DIVIDING = ("addcdiv", "_foreach_addcdiv", "_fused_adam", "_fused_adagrad")
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
        stepping: file and first line of the functions that are called ``step``.
        still: leaves that the last step left where they were, by object id.
        once_still: leaves that a step left so, and maybe not the last one.
    """

    def __init__(
        self,
        training: Training,
        words: Words,
        stepping: Set[tuple[str, int]] = frozenset(),
        still: Set[int] = frozenset(),
        once_still: Set[int] = frozenset(),
    ) -> None:
        self.training, self.words, self.stepping, self.still = training, words, stepping, still
        self.once_still = once_still
        self.facts = Facts.of(training.graph)

    def remarks(self) -> Iterator[Remark]:
        """Yield what the steps used and what they left, in their order."""
        yield from self.wasted()
        yield from self.clipped_elsewhere()
        yield from self.clipped_to_little()
        yield from self.clipped_around()
        for step in self.steps:
            yield from self.sums(step)
        yield from self.left_unused()
        for step in self.steps:
            moved = [u for u in step.used if self._may_have_moved(u) and not self._is_given(u)]
            if moved:
                yield self.moved(Step(step.call, moved))
        yield from self.moved_as_given()

    def names(self, leaves: Iterable[int]) -> str:
        """Return one name for some leaves, or as few as they have."""
        latest, leaves = self.facts.latest_state, {*leaves}
        wanted, every = (
            [self.words.name(latest[i].id) for i in sorted(objects)]
            for objects in (leaves, self.facts.of_modules | self.training.moments.keys())
        )
        # what a network shares with another one, or names otherwise, is not moved with the rest
        others = self.facts.of_modules - leaves
        shared = [name for i in others for name in self.words.facts.names_in_modules[i]]
        shared += [end for i in others for end in ends_of(self.words.name(latest[i].id))]
        return several(name_of(wanted, [*every, *shared]))

    def loss(self, call: Call) -> str:
        """Return what a backward was called on, with the backward's place."""
        return self.words.at(call, self.name_of_loss(call))

    def name_of_loss(self, call: Call) -> str:
        """Return what a backward was called on."""
        tensor = self.facts.graph.tensor.get(next(iter(call.inputs), None))
        former = tensor.former.name if tensor is not None and tensor.former else ""
        name = former or (tensor.code_name if tensor is not None else "")
        return name or self.words.code(call)

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
        by_losses = grouped(
            ((self._losses_of(u.added), len(u.added), self._changes_of(u)), u.leaf)
            for u in step.used
        )
        parts = [
            say(
                "account.by_changed",
                names=self.names(leaves),
                losses=list(losses),
                n=n,
                by=list(by),
            )
            if by
            else say("account.by", names=self.names(leaves), losses=list(losses), n=n)
            for (losses, n, by), leaves in by_losses.items()
        ]
        fields = {"step": self.step_name(step), "parts": parts}
        is_usual = step.leaves.isdisjoint(self.facts.of_modules)  # of plain tensors
        if is_usual or step.call.bookkeeping or self._is_of_an_optimizer(step.call):
            return Remark(Weight.ORDINARY, "moved", fields, (step.call,), step.leaves)
        return Remark(Weight.NOTABLE, "moved_by_hand", fields, (step.call,), step.leaves)

    def _changes_of(self, used: Used) -> tuple[str, ...]:
        """Return what the program itself did with a gradient before a step: clipping and dividing
        by a scale or a number of backwards apart."""
        is_sum = len(used.added) > 1
        by_place = {_place(call): call for call in used.changed}
        return tuple(
            self.words.at(call)
            for call in by_place.values()
            if not self.is_clip(call)
            and "unscale" not in call.function
            and not (is_sum and call.function in SCALING)
        )

    def moved_as_given(self) -> Iterator[Remark]:
        """Tell of each step what it moved by gradients that a statement of the program had set:
        of the last step of each place."""
        by_step = grouped((_place(g.step), (leaf, g)) for leaf, g in self.given)
        for every in by_step.values():
            last = {leaf: given for leaf, given in every if leaf not in self.still}
            by_place = grouped((_place(given.call), leaf) for leaf, given in last.items())
            parts = [self._by_given(last, leaves) for leaves in by_place.values()]
            if parts:
                call = every[-1][1].step
                fields = {"step": self.words.at(call), "parts": parts}
                yield Remark(Weight.ORDINARY, "moved", fields, (call,), frozenset(last))

    def _by_given(self, last: Mapping[int, Given], leaves: Sequence[int]) -> str:
        """Say which statement set the gradients by which some leaves were moved, and whose
        gradients these are where they have the same tensors."""
        names, call = self.names(leaves), last[leaves[-1]].call
        tensor, owners = self.facts.graph.tensor, self.training.owners
        shared = {leaf: owners.get(tensor[last[leaf].call.inputs[-1]].object_id) for leaf in leaves}
        others = {*shared.values()}
        are_shared = all(self._is_shared(last[leaf], other) for leaf, other in shared.items())
        if not are_shared or others & {*leaves}:
            return say("account.by_given", names=names, given=self.words.at(call))
        others_named = self.names(other for other in others if other is not None)
        return say("account.by_shared", names=names, others=others_named, given=self.words.at(call))

    def _is_shared(self, given: Given, owner: int | None) -> bool:
        """Say whether what was set as a gradient was that of another leaf, and stayed it."""
        moments = self.training.moments.get(owner, ()) if owner is not None else ()
        between = (m.call for m in moments if given.call.id < m.call.id < given.step.id)
        return bool(moments) and not any(call.function == "grad" for call in between)

    @cached_property
    def given(self) -> list[tuple[int, Given]]:
        """What steps used that a statement had set as a gradient, each with the leaf."""
        every = self.training.given_used.items()
        return [(leaf, given) for leaf, used in every for given in used]

    def _is_given(self, used: Used) -> bool:
        """Say whether what a step used of a leaf was set by a statement, and is no sum of
        backwards."""
        return any(used.leaf == leaf and used.step.id == g.step.id for leaf, g in self.given)

    def _may_have_moved(self, used: Used) -> bool:
        """Say whether nothing speaks against it that a step moved a leaf: a learning rate of 0, a
        gradient of zeros alone, or values that stayed what they were."""
        if used.leaf in self.still or self._came_as_zeros(used):
            return False
        last = self.training.sums_used[used.leaf][-1].step.call
        if used.leaf in self.once_still and _place(last) != _place(used.step):
            return False
        tensor = self.facts.graph.tensor
        writes = self.facts.writes_by_object.get(used.leaf, ())
        values = {tensor[i].values for e in writes for i in (e.before_id, e.after_id)}
        return len(values) != 1 or None in values

    def _came_as_zeros(self, used: Used) -> bool:
        """Say whether all that the backwards of a step brought to a leaf were zeros."""
        runs = {moment.run for moment in used.added}
        node = self.facts.accumulate_node.get(used.leaf)
        every = () if node is None else self.facts.runs_of_node.get(node, ())
        here = [ran for _, ran in every if ran.run in runs]
        return bool(here) and all(map(brought_zeros, here))

    def _is_of_an_optimizer(self, call: Call) -> bool:
        """Say whether a write stands in an optimizer of the user's own: in a function ``step``, or
        in a method of a class that has one, as ``first_step``."""
        frames = call.source.frames if call.source else ()
        return any((f.file, f.scope) in self.stepping for f in frames[:1])

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
            if len(u.added) > 1 and len(_places(u.added)) == 1 and not self._is_given(u)
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
        given = self._tracked(added[-1].call)
        while given is not None and (call := self.facts.maker.get(given)) is not None:
            if call.function not in LINEAR | SCALING:
                return None
            if call.function in SCALING and len(call.inputs) == 1:
                return call
            given = self._tracked(call)
        return None

    def _tracked(self, call: Call) -> int | None:
        """Return what a call was given, where that is one tensor with a history, beside single
        numbers without one: the scale of a GradScaler."""
        tensors = [self.facts.graph.tensor[i] for i in call.inputs]
        tracked = [t.id for t in tensors if t.requires_grad]
        are_numbers = all(t.requires_grad or single(t) for t in tensors)
        return tracked[0] if len(tracked) == 1 and are_numbers else None

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
            # of a state that only the first chunk of an epoch uses, an earlier step's
            rest = {u.leaf for u in step.used if not any(map(self.is_clip, u.changed))}
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

    def clipped_to_little(self) -> Iterator[Remark]:
        """Tell of gradients that were clipped to next to nothing before a step, by a bound that is
        low: a common one leaves as little of gradients that are too large."""
        for step in self.steps:
            if step.call.function.startswith(_DIVIDING):
                continue
            begun = max((m.call.id for u in step.used for m in u.added[-1:]), default=0)
            clips = [(call, leaf) for call, leaf in self.clips if begun < call.id < step.call.id]
            factors = [x for call, _ in clips if (x := self._factor(call)) is not None]
            if not factors or max(factors) > _LITTLE or not _is_low(clips[-1][0]):
                continue
            clipped = frozenset(leaf for _, leaf in clips)
            fields = {
                "clip": self.words.statement(clips[-1][0]),
                "factor": number(max(factors)),
                "names": self.names(clipped),
                "step": self.step_name(step),
            }
            yield Remark(
                Weight.WEIGHTY, "clipped_to_little", fields, (clips[-1][0], step.call), clipped
            )

    def clipped_around(self) -> Iterator[Remark]:
        """Tell of gradients that were clipped with a bound below 0: these are turned around."""
        for step in self.steps:
            begun = max((m.call.id for u in step.used for m in u.added[-1:]), default=0)
            clips = [(call, leaf) for call, leaf in self.clips if begun < call.id < step.call.id]
            turned = [(call, leaf) for call, leaf in clips if (self._scale(call) or 0) < 0]
            if not turned:
                continue
            call, objects = turned[-1][0], frozenset(leaf for _, leaf in turned)
            fields = {
                "clip": self.words.statement(call),
                "factor": number(self._scale(call) or 0),
                "names": self.names(objects),
                "step": self.step_name(step),
            }
            yield Remark(Weight.WEIGHTY, "clipped_around", fields, (call, step.call), objects)

    def _factor(self, call: Call) -> float | None:
        """Return by how much a call scaled gradients, where it did so by one number."""
        scale = self._scale(call)
        return None if scale is None else abs(scale)

    def _scale(self, call: Call) -> float | None:
        """Return the one number by which a call multiplied gradients, where it did so."""
        if call.function not in SCALING or len(call.inputs) < 2:
            return None
        found = numbers(self.facts.graph.tensor[call.inputs[-1]].values or "")
        return found[0] if found is not None and len(found) == 1 else None

    @cached_property
    def clips(self) -> list[tuple[Call, int]]:
        """The calls that clipped gradients, each with the leaf, by object id."""
        return [
            (moment.call, leaf)
            for leaf, every in self.training.moments.items()
            for moment in every
            if moment.did is Did.CHANGED and self.is_clip(moment.call)
        ]

    # --- a backward of which no step used anything ------------------------------------------------

    def wasted(self) -> Iterator[Remark]:
        """Tell of the backwards of a line of which no step ever used anything, and from which a cut
        keeps what the next step moved."""
        runs = [b for b in self.facts.graph.backwards if b.kind == "backward"]
        by_place = grouped((_place(self.facts.graph.call[b.call_id]), b) for b in runs)
        used = self.training.step_using.keys()
        for every in by_place.values():
            told = None
            if used and used.isdisjoint(b.run for b in every):
                told = next(filter(None, map(self._wasted, reversed(every))), None)
            if told is not None:
                yield told

    def _wasted(self, run: Backward) -> Remark | None:
        """Tell of one such backward, where gradients came to leaves that other steps moved."""
        begun, filled = self.facts.graph.call[run.call_id], self._filled(run)
        later = [u for u in self.used if u.step.id > begun.id]
        if not later or not begun.inputs or not self._are_left(filled, begun):
            return None
        step = min((u.step for u in later), key=lambda call: call.id)
        moved = {u.leaf for u in later if _place(u.step) == _place(step)}
        cut = self._cut_from(begun.inputs[0], moved - filled)
        return None if cut is None else self._kept_from_step(begun, filled, step, moved, cut)

    def _are_left(self, filled: set[int], begun: Call) -> bool:
        """Say whether steps move all of some leaves, and nothing reads their gradients after a
        backward."""
        moved = {u.leaf for u in self.used}
        reads = (call.id for leaf in filled for call in self.training.reads.get(leaf, ()))
        return bool(filled) and filled <= moved and not any(i > begun.id for i in reads)

    def _kept_from_step(
        self, begun: Call, filled: set[int], step: Call, moved: set[int], cut: Cut
    ) -> Remark:
        """Tell of a backward that a cut keeps from what the next step moves."""
        source = self.facts.graph.call[cut.call_id]
        lost = moved & {t.object_id for t in self.facts.leaves_reached(cut.input_id)}
        fields = {
            "loss": self.loss(begun),
            "names": self.names(filled),
            "lost": self.names(lost),
            "step": self.words.at(step),
            "cutter": reason_of(cut),
            "place": self.words.at(source),
            "value": self.words.name(cut.input_id),
        }
        key = "wasted_old" if self._is_older(cut, lost, begun) else "wasted"
        objects = frozenset(filled | lost)
        return Remark(Weight.IN_VAIN, key, fields, (source, begun, step), objects)

    def _filled(self, run: Backward) -> set[int]:
        """Return the leaves to which a backward brought a gradient, by object id."""
        return {
            leaf
            for leaf, every in self.training.moments.items()
            if any(m.did is Did.ADDED and m.run == run.run for m in every)
        }

    def _cut_from(self, loss: int, leaves: set[int]) -> Cut | None:
        """Return the last cut on the way to a loss that keeps it from some leaves, somebody wrote
        and that alone does so."""
        reached = {t.object_id for t in self.facts.leaves_reached(loss)}
        behind = self.facts.ancestors([loss])
        for cut in reversed(self.facts.real_cuts):
            off = {t.object_id for t in self.facts.leaves_reached(cut.input_id)}
            if cut.output_id in behind and off & (leaves - reached):
                return cut
        return None

    def _is_older(self, cut: Cut, lost: set[int], begun: Call) -> bool:
        """Say whether a step wrote, since the value was made that a cut let go, what it was made
        from, or whether several backwards share that value: then each needs a forward of its
        own."""
        maker = self.facts.maker.get(cut.input_id)
        since = -1 if maker is None else maker.id
        steps = (u.step.id for u in self.used if u.leaf in lost)
        others = (
            b.call_id
            for b in self.facts.graph.backwards
            if _place(self.facts.graph.call[b.call_id]) == _place(begun)
        )
        shared = sum(since < i <= begun.id for i in others) > 1
        return shared or any(since < i < begun.id for i in steps)

    # --- gradients that no step used --------------------------------------------------------------

    def left_unused(self) -> Iterator[Remark]:
        """Tell of backwards of which steps used a part, while the rest was cleared."""
        stepped = {m.run for u in self.used for m in u.added}
        rows = [left for leaf in self.training.moments for left in self._left(leaf, stepped)]
        if not rows:
            return
        yield from self.cleared_between(rows)
        alone = all(len(_places(m for u in s.used for m in u.added)) == 1 for s in self.steps)
        by_backward = grouped((_place(left.backward), left) for left in rows)
        yield Remark(
            Weight.NOTABLE,
            "left_alone" if alone else "left",
            {"parts": list(map(self._left_by, by_backward.values()))},
            tuple(dict.fromkeys(c for left in rows for c in (left.backward, left.clear))),
            frozenset(left.leaf for left in rows),
        )

    def cleared_between(self, rows: Sequence[Left]) -> Iterator[Remark]:
        """Tell of gradients that were cleared, of leaves that a step moved by those of another
        loss, while it moved others by those of the loss from which they came."""
        by_clear = grouped(((_place(row.backward), _place(row.clear)), row) for row in rows)
        for every in by_clear.values():
            row, leaves = every[-1], {left.leaf for left in every}
            step = next((s for s in self.steps if _mixes(s, row, leaves)), None)
            if step is None:
                continue
            moved = [u for u in step.used if u.leaf in leaves]
            fields = {
                "clear": self.words.at(row.clear),
                "loss": self.loss(row.backward),
                "name": self.name_of_loss(row.backward),
                "names": self.names(u.leaf for u in moved),
                "step": self.step_name(step),
                "other": self.loss(moved[-1].added[-1].call),
            }
            calls = (row.clear, row.backward, step.call)
            yield Remark(Weight.WEIGHTY, "cleared_between", fields, calls, frozenset(leaves))

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


def ends_of(name: str) -> list[str]:
    """Return what a name is without its first parts, and without more of them.

    >>> ends_of("model.base.weight")
    ['base.weight', 'weight']
    """
    parts = name.split(".")
    return [".".join(parts[i:]) for i in range(1, len(parts))]


def _place(call: Call) -> tuple[object, ...]:
    """Return where a call stands: its line, and those of the user's statements that led there."""
    frames = call.source.frames if call.source else ()
    return tuple((f.file, f.line) for f in frames) or (line_of(call),)


def _places(added: Iterable[Moment]) -> set[tuple[object, ...]]:
    """Return where some backwards stand."""
    return {_place(moment.call) for moment in added}


def _mixes(step: Step, left: Left, leaves: set[int]) -> bool:
    """Say whether a step moved some leaves without the gradient of a backward, and others with
    it."""
    place = _place(left.backward)
    of_these = [u for u in step.used if u.leaf in leaves]
    without = bool(of_these) and not any(place in _places(u.added) for u in of_these)
    others = [u for u in step.used if u.leaf not in leaves]
    return without and any(place in _places(u.added) for u in others)


def _is_low(clip: Call) -> bool:
    """Say whether the bound that is written where gradients are clipped is low."""
    functions = ("clip_grad_norm_", "clip_grad_value_")
    frames = clip.source.frames[:1] if clip.source is not None else ()
    places = [Source(frame.file, frame.line, frame.code) for frame in frames]
    written = [n for place in places for f in functions for n in arguments_written(place, f)]
    return bool(written) and min(number.value for number in written) <= _LOW
