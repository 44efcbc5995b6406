"""Why parameters get no gradient: the cuts that their values met first, on any way to a loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

from gradviz.graph.facts import grouped
from gradviz.graph.operations import LOST, Operation, Operations, Weight
from gradviz.graph.records import Cut, CutReason
from gradviz.graph.training import Did

CUTS = 6  # first cuts on the ways of one parameter that are told at most
UNRECORDED = (CutReason.NO_GRAD, CutReason.INFERENCE_MODE)


class FirstCuts:
    """The first cuts on the ways of the parameters of a recording.

    Args:
        operations: of the recording.
    """

    def __init__(self, operations: Operations) -> None:
        self.operations = operations
        self.facts = operations.facts
        self.graph = operations.graph

    @cached_property
    def causes_of(self) -> dict[int, tuple[Cut, ...]]:
        """The first cuts on the ways of a parameter that gets no gradient, by the id of its object.

        Where some of them fed a loss, the others are left out; so are those before a loss that was
        there to train other models. A parameter that no operation read, or whose values no loss
        used, has none.
        """
        found = {}
        for object_id, weight in self.operations.weight.items():
            if weight.fate not in LOST or self.operations.is_only_averaged(weight):
                continue  # of an average of the weights no module was called
            uses = self.operations.uses.get(object_id, ())
            met = [cut for at in uses for cut in self._from(at, object_id)]
            met += self._leaf_copied_out.get(object_id, ())
            if cuts := self._gravest(self._without_meant(met, weight)):
                # A rollout is no first cause where values were used with gradients recorded, too.
                found[object_id] = tuple(sorted(cuts, key=lambda cut: cut.reason in UNRECORDED))
        return found

    @cached_property
    def cause_of(self) -> dict[int, Cut]:
        """The first of those, by the id of the parameter's object."""
        return {object_id: cuts[0] for object_id, cuts in self.causes_of.items()}

    def _without_meant(self, cuts: list[Cut], weight: Weight) -> list[Cut]:
        """Leave out the cuts before losses that trained other models alone: an optimizer stepped
        with what their backwards sent, and nothing of the parameter's model was among it, as where
        a discriminator learns from what a generator made. All stay where no other is left."""
        others = [cut for cut in cuts if not self._trained_others(cut, weight)]
        return others or cuts

    def _trained_others(self, cut: Cut, weight: Weight) -> bool:
        """Say whether what is behind a cut went into losses alone that trained other models."""
        if cut.output_id is None or weight.module_id is None:
            return False
        into = self.facts.goes_into(cut.output_id)
        runs = [b.run for k, b in enumerate(self.graph.backwards) if into >> k & 1]
        trained = [self._trained_by.get(run, set()) for run in runs]
        return bool(runs) and all(some and weight.module_id not in some for some in trained)

    @cached_property
    def _trained_by(self) -> dict[int, set[int]]:
        """The root modules in which a step moved parameters by what a backward sent, by its run."""
        found: dict[int, set[int]] = {}
        for object_id, moments in self.operations.gradients_used.moments.items():
            weight, run = self.operations.weight.get(object_id), None
            if weight is None or weight.module_id is None:
                continue
            for moment in moments:
                if moment.did is Did.ADDED:
                    run = moment.run
                elif moment.did is Did.STEPPED and run is not None:
                    found.setdefault(run, set()).add(weight.module_id)
        return found

    def _from(self, at: int, object_id: int) -> tuple[Cut, ...]:
        """Find the first cuts on the ways of a parameter that this operation reads."""
        op = self.operations.all[at]
        states = [i for i in op.reads if self.graph.tensor[i].object_id == object_id]
        here = [self.facts.cut_of.get((op.call.id, i)) for i in states]
        cuts = tuple(cut for cut in here if cut and cut.reason is not CutReason.FLAG_OFF)
        return cuts or self._cuts_ahead[at]

    @cached_property
    def _cuts_ahead(self) -> list[tuple[Cut, ...]]:
        """For each operation, the first cuts that its results meet, on any way."""
        ops, feeding = self.operations.all, self.operations.feeding
        ahead: list[tuple[Cut, ...]] = [()] * len(ops)
        for op in reversed(ops):
            met = list(self._copied_out.get(op.at, ()))
            if op.at in self.left_behind:
                met.append(self.left_behind[op.at])
            for user in self.operations.users[op.at]:
                if op.at not in self.left_behind or user not in feeding:
                    met += self._cuts_between(op, ops[user]) or ahead[user]
            ahead[op.at] = self._gravest(met)
        return ahead

    @cached_property
    def _copied_out(self) -> dict[int, list[Cut]]:
        """The cuts by which values left torch, by the operation that made them."""
        source_of, cuts = self.operations.source_of, self.operations.copied_out
        pairs = ((source_of(cut.input_id), cut) for cut in cuts)
        return grouped((at, cut) for at, cut in pairs if at is not None)

    @cached_property
    def _leaf_copied_out(self) -> dict[int, list[Cut]]:
        """The cuts by which the values of leaves left torch, by the id of the leaf's object."""
        tensor, source_of = self.graph.tensor, self.operations.source_of
        of_leaves = (c for c in self.operations.copied_out if source_of(c.input_id) is None)
        return grouped((tensor[cut.input_id].object_id, cut) for cut in of_leaves)

    @cached_property
    def left_behind(self) -> dict[int, Cut]:
        """Where a loss used only such results of an operation as carry no gradient, though another
        one does: the indices of ``topk``, without its values. By the operation's place, as the cut
        that it is for what it read."""
        found = {**self.written_aside}
        for op in self.operations.all:
            left = self._results_without_gradient(op)
            feeding = (u for u in self._users_of(op) if u.at in self.operations.feeding)
            source_of = self.operations.source_of
            used = {i for user in feeding for i in user.reads if source_of(i) == op.at}
            if left and used and used <= left:
                source = next(i for i in op.reads if self.operations.is_tracked(i))
                found[op.at] = Cut(op.call.id, source, min(used), CutReason.INTEGER_DTYPE)
        return found

    @cached_property
    def written_aside(self) -> dict[int, Cut]:
        """Where tracked values went into a tensor through ``.data`` or a detached name of it, and
        were read under its own, by the operation's place: as the cut that it is."""
        found = {}
        for op in self.operations.all:
            aside = self.operations.aside_of(op.call)
            if aside is None:
                continue
            reads = (i for user in self._users_of(op) for i in user.reads)
            used = {i for i in reads if self._is_constant_in(aside.storage_id, i)}
            if used:
                source = next(i for i in op.reads if self.operations.is_tracked(i))
                found[op.at] = Cut(op.call.id, source, min(used), aside.reason)
        return found

    def _is_constant_in(self, storage: int | None, tensor_id: int) -> bool:
        """Say whether a state lies in some memory and no gradient can go back from it."""
        state = self.graph.tensor[tensor_id]
        return state.storage_id == storage and not self.operations.is_tracked(tensor_id)

    def _users_of(self, op: Operation) -> Iterator[Operation]:
        """Go through the operations that read what one made."""
        return (self.operations.all[user] for user in self.operations.users[op.at])

    def _results_without_gradient(self, op: Operation) -> set[int]:
        """List the results of an operation that carry no gradient, where others of it do; none,
        where it wrote, or made a loss."""
        if op.call.id in self.facts.writes_by_call or op.at in self.operations.starts:
            return set()
        results = {i for i in op.call.outputs if i in op.makes}
        left = {i for i in results if not self.operations.is_tracked(i)}
        return left if left < results and any(map(self.operations.is_tracked, op.reads)) else set()

    def _gravest(self, met: Iterable[Cut]) -> tuple[Cut, ...]:
        """Return the cuts that fed a loss, or else all, in order; a few of many."""
        cuts = sorted(set(met), key=self._gravity)
        feeding = [cut for cut in cuts if not self._gravity(cut)[0]]
        return tuple((feeding or cuts)[:CUTS])

    def behind(self, cuts: Sequence[Cut], same: Callable[[Cut], bool]) -> list[Cut]:
        """List the next cuts on the ways from some cuts to a loss, where every way meets one.

        Args:
            cuts: where the ways begin.
            same: whether a cut is mended with these.

        Returns:
            The cuts, in order. None where some way leads to a loss, or where something else may end
            it: a stretch where no gradient is recorded.
        """
        ops, of_call = self.operations.all, self.operations.of_call
        found: dict[Cut, None] = {}
        todo = [of_call[cut.call_id] for cut in cuts if cut.call_id in of_call]
        seen = {*todo}
        while todo:
            at = todo.pop()
            if at in self.operations.starts:
                return []
            for user in self._users_of(ops[at]):
                if user.at not in self.operations.feeding or user.at in seen:
                    continue
                between = self._cuts_between(ops[at], user)
                if ahead := [cut for cut in between if not same(cut)]:
                    found.update(dict.fromkeys(ahead))
                elif not between and not user.call.grad_mode:
                    return []
                else:
                    seen.add(user.at)
                    todo.append(user.at)
        return sorted(found, key=self._gravity)

    def _cuts_between(self, maker: Operation, user: Operation) -> list[Cut]:
        """List the cuts by which an operation separated what another one made."""
        return [
            cut
            for i, source in zip(user.reads, user.sources, strict=True)
            if source == maker.at
            and (cut := self.facts.cut_of.get((user.call.id, i))) is not None
            and cut.reason is not CutReason.FLAG_OFF
        ]

    def _gravity(self, cut: Cut) -> tuple[bool, int]:
        """Order cuts: what fed a loss comes first, then what was called first."""
        at = self.operations.of_call.get(cut.call_id)
        return at not in self.operations.feeding, cut.call_id
