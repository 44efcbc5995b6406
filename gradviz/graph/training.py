"""What a training loop did with each gradient: which backward added to it, which step used it,
which call cleared or changed it. Knows no torch."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, auto
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from gradviz.graph.facts import Facts, grouped
from gradviz.graph.records import Accumulated, Call, Event, Tensor, Wrote

# how optimizers write weights; nn.init does not
STEPS = ("add", "sub", "mul", "lerp", "_foreach", "_fused", "addc")
# what changes flags only
SETS_FLAG = ("requires_grad", "requires_grad_")
_FLAGS = (*SETS_FLAG, "detach_", "retain_grad")
CLEARS = ("zero_", "_foreach_zero_")
_ZERO_WRITTEN = re.compile(r"\*= ?0(\.0*)?$|\b(fill_|mul_)\(0(\.0*)?\)$")
LEFT = 3  # backwards that are remembered to have left a gradient
# how far back it is looked for the gradient in what a parameter is written with by hand
_CALLS_BACK = 16


class Did(Enum):
    """What became of a gradient."""

    ADDED = auto()  # a backward added to it, or made it
    STEPPED = auto()  # its tensor was written with it
    CLEARED = auto()  # it was set to None or to zeros
    CHANGED = auto()  # a call wrote it: clipping, scaling


class Moment(NamedTuple):
    """One thing that was done with a gradient.

    Attributes:
        did: what.
        call: which call did it; the last one of a step.
        run: which backward, where one added to it.
        onto: whether that added to what was there.
        anew: whether a call that changed it gave it another tensor, not made of what was there.
    """

    did: Did
    call: Call
    run: int | None = None
    onto: bool = False
    anew: bool = False


class Training:
    """What was done with the gradients of a recording, in order.

    Args:
        facts: of the recording.
        owners: tensors that are the ``.grad`` of another one: object ids of both.
    """

    def __init__(self, facts: Facts, owners: Mapping[int, int]) -> None:
        self.facts, self.graph, self.owners = facts, facts.graph, owners

    @cached_property
    def moments(self) -> dict[int, list[Moment]]:
        """What was done with the gradient of each leaf, in order, by object id."""
        found = grouped(pair for event in self.graph.events for pair in self._told(event))
        return {leaf: list(_once_each(every)) for leaf, every in found.items()}

    def _told(self, event: Event) -> Iterator[tuple[int, Moment]]:
        """Yield what an event did, with the leaf."""
        if isinstance(event, Accumulated) and event.node_id in self.facts.leaf_at:
            call, leaf = self.facts.call_of_run.get(event.run), self.facts.leaf_at[event.node_id]
            if call is not None and not self._is_frozen_at(leaf.object_id, call):
                onto = event.before is not None
                yield leaf.object_id, Moment(Did.ADDED, call, event.run, onto)
        elif isinstance(event, Wrote) and event.call_id not in self.facts.backward_calls:
            yield from self._written(event, self.graph.call[event.call_id])

    def _is_frozen_at(self, leaf: int, backward: Call) -> bool:
        """Say whether a call had frozen a leaf when a backward began: then it adds nothing, though
        a gradient arrives."""
        row = self._switched.get(leaf, ())
        at = bisect_right(row, backward.id, key=lambda switched: switched[0])
        return at > 0 and not row[at - 1][1]

    @cached_property
    def _switched(self) -> dict[int, list[tuple[int, bool]]]:
        """The calls that set the flag of a leaf, by id, in order, each with what to, by object
        id."""
        calls = self.graph.call
        setting = (
            (e.call_id, self.graph.tensor[e.after_id])
            for e in self.facts.writes
            if calls[e.call_id].function in SETS_FLAG and not e.alias
        )
        flags = ((t.object_id, (i, t.requires_grad is not False)) for i, t in setting)
        return grouped(flags)

    def _written(self, event: Wrote, call: Call) -> Iterator[tuple[int, Moment]]:
        """Yield what a write did, with the leaf."""
        before, after = self.facts.around(event)
        if call.function in _FLAGS:
            return
        leaf = self.owners.get(after.object_id, self._owner_in_memory.get(after.storage_id))
        if leaf is not None and leaf != after.object_id:
            did = Did.CLEARED if _writes_zeros(call) else Did.CHANGED
            if did is Did.CLEARED or not call.bookkeeping:
                yield leaf, Moment(did, call)
        elif call.function == "grad" and not event.alias:
            yield after.object_id, self._set(after, call)
        elif before.grad is not None and self._is_step(call, after):
            if not (event.alias and self._is_step_of_another(call, after)):
                yield after.object_id, Moment(Did.STEPPED, call)
        elif (own := self._leaf_behind_data(event)) is not None and self._is_step(call, own):
            yield own.object_id, Moment(Did.STEPPED, call)

    def _set(self, after: Tensor, call: Call) -> Moment:
        """Return what a statement such as ``w.grad = g`` did."""
        if after.grad is None:
            return Moment(Did.CLEARED, call)
        return Moment(Did.CHANGED, call, anew=not self._is_of_own(after.object_id, call))

    def _is_of_own(self, leaf: int, call: Call) -> bool:
        """Say whether a call sets as the gradient of a leaf what was made of the one that is
        there."""
        given = call.inputs[-1]
        maker = self.facts.maker.get(given)
        if maker is None:
            return self.owners.get(self.graph.tensor[given].object_id) == leaf
        if not _is_computed(maker):
            return False
        readers = list(self._readers_of_gradient(leaf, maker, _is_computed))
        return bool(readers) and not any(self._came_between(leaf, r, call) for r in readers)

    @cached_property
    def _owner_in_memory(self) -> dict[int | None, int]:
        """The leaf in whose gradient's memory a tensor lies, by storage id: what ``.data`` gives is
        another tensor."""
        owned = (t for t in self.graph.tensors if t.object_id in self.owners)
        return {t.storage_id: self.owners[t.object_id] for t in owned if t.storage_id is not None}

    def _leaf_behind_data(self, event: Wrote) -> Tensor | None:
        """Return the leaf whose memory was written through what ``.data`` gave, of which the leaf
        itself has no new state; None for other writes."""
        after = self.graph.tensor[event.after_id]
        if event.alias or after.is_leaf is not True or after.requires_grad:
            return None
        leaf = self._leaf_in_memory.get(after.storage_id)
        return leaf if leaf is not None and leaf.object_id != after.object_id else None

    @cached_property
    def _leaf_in_memory(self) -> dict[int | None, Tensor]:
        """The leaves to which gradients come, by storage id."""
        leaves = (self.facts.latest_state[i] for i in self.facts.accumulate_node)
        return {t.storage_id: t for t in leaves if t.storage_id is not None}

    def _is_step(self, call: Call, after: Tensor) -> bool:
        """Say whether a call moves a leaf by its gradient: an optimizer's, or one that was handed
        what was made of the gradient."""
        if call.bookkeeping:
            return call.function.startswith(STEPS)
        # a leaf whose gradient was written has a new state too
        direct = (e for e in self.facts.writes_by_call[call.id] if not e.alias)
        if after.storage_id not in {self.graph.tensor[e.after_id].storage_id for e in direct}:
            return False
        leaf = after.object_id
        reader = next(self._readers_of_gradient(leaf, call), None)
        return reader is not None and not self._came_between(leaf, reader, call)

    def _is_step_of_another(self, call: Call, leaf: Tensor) -> bool:
        """Say whether a call wrote the memory of a leaf as that of another leaf, whose gradient is
        not the one's: it moves both by that."""
        direct = (e for e in self.facts.writes_by_call[call.id] if not e.alias)
        written = (self.graph.tensor[e.after_id] for e in direct)
        others = {t.object_id for t in written if t.storage_id == leaf.storage_id and t.grad}
        own = self._memory_of_gradients.get(leaf.object_id, set())
        return any(own.isdisjoint(self._memory_of_gradients.get(i, ())) for i in others)

    @cached_property
    def _memory_of_gradients(self) -> dict[int, set[int | None]]:
        """The memory in which the gradients of each leaf lay, by storage id, by the leaf's object
        id."""
        owned = (t for t in self.graph.tensors if t.object_id in self.owners)
        pairs = grouped((self.owners[t.object_id], t.storage_id) for t in owned)
        return {leaf: {*ids} for leaf, ids in pairs.items()}

    def _readers_of_gradient(
        self, leaf: int, call: Call, is_way: Callable[[Call], bool] = bool
    ) -> Iterator[Call]:
        """Yield the calls that read the gradient of a leaf, of those by which the inputs of a call
        were made, and the call itself.

        Args:
            leaf: by object id.
            call: the call.
            is_way: whether what a call made is looked behind.
        """
        todo, seen = deque((i, call) for i in call.inputs), set[int]()
        while todo and len(seen) < _CALLS_BACK:
            # the nearest first: a norm of all gradients has many
            tensor_id, reader = todo.popleft()
            if tensor_id in seen:
                continue
            seen.add(tensor_id)
            if self.owners.get(self.graph.tensor[tensor_id].object_id) == leaf:
                yield reader
                continue
            maker = self.facts.maker.get(tensor_id)
            todo += ((i, maker) for i in maker.inputs) if maker and is_way(maker) else ()

    def _came_between(self, leaf: int, reader: Call, write: Call) -> bool:
        """Say whether a backward brought a leaf another gradient after a call had read it, and
        before a write with what that made: the write takes back, or repeats, an earlier one."""
        node = self.facts.accumulate_node.get(leaf)
        every = self.facts.accumulations.get(node, ()) if node is not None else ()
        calls = (self.facts.call_of_run.get(event.run) for event in every)
        return any(reader.id < c.id < write.id for c in calls if c is not None)

    @cached_property
    def reads(self) -> dict[int, list[Call]]:
        """The calls that read the gradient of each leaf, those apart that torch makes for itself,
        and all of a line in which it was changed: by object id."""
        changed = {
            (leaf, line_of(moment.call))
            for leaf, every in self.moments.items()
            for moment in every
            if moment.did is Did.CHANGED
        }
        tensor = self.graph.tensor
        pairs = (
            (self.owners[tensor[i].object_id], call)
            for call in self.facts.ordinary_calls
            for i in dict.fromkeys(call.inputs)
            if tensor[i].object_id in self.owners
        )
        return grouped(pair for pair in pairs if (pair[0], line_of(pair[1])) not in changed)

    @cached_property
    def has_scaler(self) -> bool:
        """Whether a GradScaler may have left steps out."""
        return any(c.function == "_amp_update_scale_" for c in self.graph.calls)

    # --- what each step used ----------------------------------------------------------------------

    @cached_property
    def sums_used(self) -> dict[int, list[Pile]]:
        """What each step used of a leaf's gradient for the first time, in order, by object id."""
        found = dict[int, list[Pile]]()
        for leaf, every in self.moments.items():
            added, changed = list[Moment](), list[Call]()
            for moment in every:
                if moment.did is Did.ADDED:
                    added, changed = (added, changed) if moment.onto else ([], [])
                    added.append(moment)
                elif moment.did is Did.CHANGED:
                    changed.append(moment.call)
                else:
                    if moment.did is Did.STEPPED and added:
                        pile = Pile(tuple(added), moment, tuple(changed))
                        found.setdefault(leaf, []).append(pile)
                    added, changed = [], []
        return found

    @cached_property
    def given_used(self) -> dict[int, list[Given]]:
        """What each step used of a leaf's gradient where a statement had set that and no backward
        added to it since, in order, by object id."""
        found = dict[int, list[Given]]()
        for leaf, every in self.moments.items():
            given: Call | None = None
            for moment in every:
                if moment.did is Did.CHANGED:
                    given = moment.call if moment.anew else given
                    continue
                if moment.did is Did.STEPPED and given is not None:
                    found.setdefault(leaf, []).append(Given(given, moment.call))
                given = None
        return found

    @cached_property
    def step_using(self) -> dict[int | None, Call]:
        """The first step that used what a backward had sent to any leaf, by run."""
        found = dict[int | None, Call]()
        for pile in (pile for every in self.sums_used.values() for pile in every):
            for moment in pile.added:
                first = found.setdefault(moment.run, pile.step.call)
                found[moment.run] = min(first, pile.step.call, key=lambda call: call.id)
        return found

    # --- gradients that pile up -------------------------------------------------------------------

    def piled_up(self, leaf: int) -> Pile | None:
        """Return what the last step of a leaf used that an earlier step had used already; None
        where nothing is used twice."""
        added, used, found = list[Moment](), 0, None
        before: Call | None = None
        for moment in self.moments.get(leaf, ()):
            if moment.did is Did.ADDED:
                added, used = (added, used) if moment.onto else ([], 0)
                added = [*added, moment]
            elif moment.did is Did.STEPPED:
                if 0 < used < len(added):
                    found = Pile(tuple(added), moment, before=before)
                used, before = len(added), moment.call
            # what a step has used and is changed then may be meant to stay: a decay
            elif moment.did is Did.CLEARED or moment.anew or used == len(added):
                added, used = [], 0
        return found

    # --- gradients that are changed at the wrong time ---------------------------------------------

    def changed_too_late(self, leaf: int) -> Call | None:
        """Return the call that changed a gradient which a step had used, where none is changed
        between a backward and its step, and what was changed is not added to."""
        stepped, changed, found = False, None, None
        for moment in self.moments.get(leaf, ()):
            if moment.did is Did.CHANGED:
                if not stepped:
                    return None
                changed = found = moment.call
            elif moment.did is Did.ADDED:
                if changed is not None and moment.onto:
                    return None
                stepped, changed = False, None
            elif moment.did is Did.STEPPED:
                stepped = True
            else:
                changed = None
        return found

    def changed_in_between(self, leaf: int) -> tuple[Call, int] | None:
        """Return the call that changed a sum of gradients to which a backward added more before the
        step, and of how many backwards that step used the sum."""
        added, changed, between, found = 0, None, None, None
        for moment in self.moments.get(leaf, ()):
            if moment.did is Did.ADDED:
                added, between = (added + 1, changed) if moment.onto else (1, None)
            elif moment.did is Did.CHANGED:
                changed = moment.call
            else:
                if moment.did is Did.STEPPED and between is not None:
                    found = between, added
                added, changed, between = 0, None, None
        return found

    # --- gradients that nothing used --------------------------------------------------------------

    @cached_property
    def unused(self) -> dict[int, Call]:
        """The backwards whose gradients were cleared before a step or another call used any of
        them, each with the call that cleared them, by run."""
        cleared = dict[int, Call]()
        used = set[int]()
        for leaf, every in self.moments.items():
            reads = [call.id for call in self.reads.get(leaf, ())]
            open_runs = dict[int, int]()  # the calls of the runs whose sum it is, by run
            for moment in every:
                if moment.did is Did.ADDED and moment.run is not None:
                    open_runs[moment.run] = moment.call.id
                elif moment.did is Did.CLEARED:
                    for run, begun in open_runs.items():
                        if any(begun < i < moment.call.id for i in reads):
                            used.add(run)
                        cleared.setdefault(run, moment.call)
                    open_runs = {}
                elif moment.did is Did.STEPPED:
                    used.update(open_runs)
                    open_runs = {}
            used.update(open_runs)
        return {run: call for run, call in cleared.items() if run not in used}

    @cached_property
    def added_to(self) -> dict[tuple[int, int], tuple[int, ...]]:
        """The last backwards before a backward whose gradients were in ``.grad`` when it added its
        own, by the id of the parameter's object and its run. None is told where a call wrote zeros
        to some memory in between: that may have been the gradient's."""
        found: dict[tuple[int, int], tuple[int, ...]] = {}
        for object_id, moments in self.moments.items():
            left: tuple[int, ...] = ()
            since = 0
            for moment in moments:
                if moment.did is Did.CLEARED:
                    left = ()
                elif moment.did is Did.ADDED and moment.run is not None:
                    if not moment.onto or self._wrote_zeros(since, moment.call.id):
                        left = ()
                    if left:
                        found[object_id, moment.run] = left
                    left, since = (*left[1 - LEFT :], moment.run), moment.call.id
        return found

    def _wrote_zeros(self, since: int, until: int) -> bool:
        """Say whether a call between two others wrote zeros to memory."""
        at = bisect_right(self._zeroing, since)
        return at < len(self._zeroing) and self._zeroing[at] < until

    @cached_property
    def _zeroing(self) -> list[int]:
        """The ids of the calls that wrote zeros, in order."""
        return [call.id for call in self.graph.calls if call.function in CLEARS]


class Pile(NamedTuple):
    """A sum of gradients that a step used.

    Attributes:
        added: the backwards that its gradient is the sum of.
        step: that step.
        changed: the calls that changed the sum before it.
        before: the step that had used a part of it, where that is what is told.
    """

    added: tuple[Moment, ...]
    step: Moment
    changed: tuple[Call, ...] = ()
    before: Call | None = None


class Given(NamedTuple):
    """What a statement set as a gradient, and a step used.

    Attributes:
        call: what set it: its inputs are the leaf and the tensor that was set.
        step: that step's call.
    """

    call: Call
    step: Call


def _once_each(every: Sequence[Moment]) -> Iterator[Moment]:
    """Yield the last of each row of moments that are one: the calls of one step, of one line."""
    for _, same in groupby(every, lambda m: (m.did, line_of(m.call), m.run)):
        *_, last = same
        yield last


def _is_computed(call: Call) -> bool:
    """Say whether a call computed with its inputs: neither an optimizer's nor autograd.grad."""
    return not call.bookkeeping and call.function != "grad"


def _writes_zeros(call: Call) -> bool:
    """Say whether a call writes zeros, also as ``w.grad *= 0``."""
    code = call.source.code if call.source else None
    return call.function in CLEARS or bool(code and _ZERO_WRITTEN.search(code))


def line_of(call: Call) -> tuple[str, int] | None:
    """Return in which line of the user's code a call stands; None where that is not known."""
    return call.source[:2] if call.source else None


def line_made(facts: Facts, tensor_id: int) -> tuple[str, int] | None:
    """Return the line of the user's code that made a state; None where that is not known."""
    maker = facts.maker.get(tensor_id)
    return None if maker is None else line_of(maker)
