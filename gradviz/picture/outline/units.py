"""Units: what becomes one card of an outline. First the module calls, opened where something
happens; then what stands between them.

NOTE [intervals]: module calls nest, so every card is an interval of the order of calls, and all
arrows go the same way. What is moved out of its place (a statement joins the next card, a loss
takes what only it uses, cuts are looked through) keeps that: see ``gather.py``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import groupby, islice
from typing import Any

from gradviz.graph.fading import Fading
from gradviz.graph.first_cuts import FirstCuts
from gradviz.graph.iterations import Iterations
from gradviz.graph.module_tree import ModuleTree
from gradviz.graph.operations import LOST, Fate, Operation, Operations, Weight
from gradviz.graph.records import Cut, CutReason, ModuleCall, Source
from gradviz.graph.unlearned import Unlearned
from gradviz.graph.unseen import UNSEEN
from gradviz.picture.outline.asked import AS_IT_IS, Asked

READERS = 3  # operations that a leaf is shown with, of those that read it
REPEATS = 3  # equal calls in a row in which the same happens, and that stay closed for it
QUIET = (CutReason.NO_GRAD, CutReason.INFERENCE_MODE)
# Under no_grad a whole stretch is cut off, which is drawn as a frame; a flag is no way of values.
NOT_ON_AN_ARROW = (*QUIET, CutReason.FLAG_OFF)
# Operations on one value after what cuts it, as of `x.detach().float().mean()`; more of them are a
# computation of their own, which a card shows.
ON_AN_ARROW = 8
BY_FUNCTION = (CutReason.INTEGER_DTYPE, CutReason.NOT_DIFFERENTIABLE)  # cut by what it computes
NOT_LOST = (Fate.SOME, Fate.ZERO, Fate.VANISHED, Fate.NAN, Fate.REACHED)
FADED = (Fate.ZERO, Fate.VANISHED, Fate.NAN)


class Kind(Enum):
    """What a card stands for."""

    CALL = "call"  # of a module, or several equal ones
    PIECE = "piece"  # a part of an opened module call, before or after a cut
    STATEMENT = "statement"
    LOSS = "loss"
    INPUT = "input"
    LEAF = "leaf"  # a parameter that the reader asked for
    UNUSED = "unused"  # a module that was never called


class Part(Enum):
    """Which part of a module call a piece is."""

    WHOLE = "whole"
    BEFORE = "before"
    BETWEEN = "between"
    AFTER = "after"
    NO_GRAD = "no_grad"


class Merged(Enum):
    """How several units became one."""

    NOT = "not"
    RANGE = "range"  # equal calls, one after the other
    LOOP = "loop"  # equal stretches of calls and statements, one after the other
    SIDE = "side"  # equal calls that do not feed each other
    FOLD = "fold"  # neighbours folded for lack of room
    ROWS = "rows"  # neighbours of unequal state, a row each, for lack of room


@dataclass(eq=False)
class Unit:
    """What becomes one card.

    Attributes:
        kind: what it stands for.
        ops: its operations, in order.
        calls: the module calls that it stands for, in order.
        parent: the opened module call in which it stands; None: none.
        part: of a piece, which part of ``parent``.
        then: functions that follow the module calls and were folded in.
        after: functions that come before them and were folded in.
        members: what was merged, or the rows of a piece.
        merged: how.
        unused: paths of modules beside it that were never called.
        tensor_id: of an input or a parameter: its state.
        is_loop: of a range: whether it is one module, given what it returned.
    """

    kind: Kind
    ops: list[int]
    calls: list[int] = field(default_factory=list)
    parent: int | None = None
    part: Part = Part.WHOLE
    then: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    members: list[Unit] = field(default_factory=list)
    merged: Merged = Merged.NOT
    unused: list[str] = field(default_factory=list)
    tensor_id: int | None = None
    is_loop: bool = False

    @property
    def steps(self) -> list[Unit]:
        """What ran in each step, where it is a loop: of equal stretches, or of one module that is
        given what it returned."""
        return self.members if self.merged is Merged.LOOP or self.is_loop else []


def unit_of(units: Sequence[Unit]) -> dict[int, int]:
    """Return the place of the unit that each operation is in, by the operation's place."""
    return {at: k for k, unit in enumerate(units) for at in unit.ops}


class Expansion:
    """The units of a recording, in call order.

    Args:
        operations: of the recording.
        asked: what the reader asked for.
    """

    def __init__(self, operations: Operations, asked: Asked = AS_IT_IS) -> None:
        self.operations = operations
        self.facts = operations.facts
        self.iterations = Iterations(operations, self._looked_at(asked))
        self.tree = ModuleTree(operations, self.iterations.left_out)
        self.asked = asked
        self._known_weights: dict[Hashable, tuple[Unit, list[Weight]]] = {}
        # What ``States`` found out about units, which many tries have in common.
        self.known_states: dict[Hashable, tuple[Unit, Any]] = {}
        self.frames: dict[int, list[Unit]] = {}  # opened calls with several cards of their own
        self.is_open: set[int] = set()
        self.known_profiles: dict[int, tuple[Unit, Any]] = {}
        self.is_list: set[int] = set()  # closed calls of lists of equal modules

    def _looked_at(self, asked: Asked) -> set[int]:
        """Return the calls that are looked at: of iterations that are alike, theirs is drawn."""
        states = self.facts.states.get(asked.around, ()) if asked.around is not None else ()
        makers = (self.facts.maker.get(state.id) for state in states)
        return {*asked.points.calls, *(call.id for call in makers if call is not None)}

    def calls_beside(self, call: ModuleCall) -> list[int]:
        """List the calls of a module: all, or those in an iteration that stands for others."""
        tree = self.tree
        every = tree.all_calls_of[call.module_id, call.path]
        among = self.iterations.around(tree.below[call.id][0])
        if among is None:
            return every
        return [i for i in every if i in tree.below and tree.below[i][0] in among]

    # --- what happens where -----------------------------------------------------------------------

    @cached_property
    def cuts_at(self) -> dict[int, list[Cut]]:
        """The cuts of each operation through which a value fed a loss, by its place."""
        table: dict[int, list[Cut]] = {}
        for cut in self.facts.real_cuts:
            at = self.operations.of_call.get(cut.call_id)
            if at is not None and at in self.operations.feeding:
                table.setdefault(at, []).append(cut)
        for at, cut in self.first_cuts.written_aside.items():
            if at in self.operations.feeding:
                table.setdefault(at, []).append(cut)
        return table

    @cached_property
    def first_cuts(self) -> FirstCuts:
        """Why parameters get no gradient."""
        return FirstCuts(self.operations)

    @cached_property
    def fading(self) -> Fading:
        """Where gradients became zero, and what moved though it is frozen."""
        return Fading(self.operations)

    @cached_property
    def unlearned(self) -> Unlearned:
        """What is used like a parameter, and is none."""
        return Unlearned(self.operations)

    @cached_property
    def looked_through(self) -> set[int]:
        """The operations that stand on an arrow, not in a card: a detach, an argmax, a cast to
        integers, and the few with one untracked input after it. Where many follow, a loop, only
        what cuts is on the arrow."""
        cutting, followers = set[int](), dict[int, list[int]]()
        first_of: dict[int, int] = {}
        for op in self.operations.all:
            if self.operations.tracked[op.at] or len(op.reads) != 1 or op.at in self.centre:
                continue
            cut = self.facts.cut_of.get((op.call.id, op.reads[0]))
            if cut is not None and cut.reason not in NOT_ON_AN_ARROW:
                cutting.add(op.at)
                first_of[op.at] = op.at
            elif op.sources and op.sources[0] in first_of:
                first = first_of[op.at] = first_of[op.sources[0]]
                followers.setdefault(first, []).append(op.at)
        few = (ops for ops in followers.values() if len(ops) <= ON_AN_ARROW)
        return cutting.union(*few)

    @cached_property
    def data(self) -> set[int]:
        """The operations that make a tensor of nothing, leaves included, and those that no
        parameter and no gradient has to do with: masks, positions."""
        found: set[int] = set()
        for op in self.operations.all:
            alone = all(source is None or source in found for source in op.sources)
            trains = self.operations.tracked[op.at] or any(map(self._may_train, op.reads))
            makes_data = not op.reads or (alone and not trains)
            if makes_data and not is_unseen(op) and op.at not in self.centre:
                found.add(op.at)
        return found

    def _may_train(self, tensor_id: int) -> bool:
        state = self.operations.graph.tensor[tensor_id]
        return bool(state.requires_grad) or state.object_id in self.operations.weight

    def is_quiet(self, op: Operation) -> bool:
        """Say whether an operation was called where no gradient is recorded."""
        return not op.call.grad_mode or op.call.inference_mode

    def are_quiet(self, places: Iterable[int]) -> bool:
        """Say whether all of these operations were called where no gradient is recorded."""
        return all(self.is_quiet(self.operations.all[at]) for at in places)

    @cached_property
    def region(self) -> dict[int, int]:
        """The first operation of each stretch where no gradient is recorded, by operation. What
        two lines switch off are two stretches."""
        found: dict[int, int] = {}
        first, off = None, None
        for op in self.operations.all:
            if not self.is_quiet(op):
                first, off = None, None
                continue
            here = self.switch(op)
            if first is None or (here and off and here != off):
                first, off = op.at, here
            off = off or here
            found[op.at] = first
        return found

    def switch_of(self, cut: Cut) -> Source | None:
        """Return the line that switched gradients off where a cut stands; None: none is known."""
        at = self.operations.of_call.get(cut.call_id)
        if cut.reason not in QUIET or at is None:
            return None
        return self.switch(self.operations.all[at])

    def switch(self, op: Operation) -> Source | None:
        """Return where gradients were switched off for an operation, None where that is not known:
        the line of a ``with`` or decorator around it, or around a module call that ran there as a
        whole, the outermost one."""
        outermost_first = reversed(list(self.tree.around(op.call.module_call)))
        quiet = (self.tree.call[i].source for i in outermost_first if i in self.quiet_calls)
        for source in (*quiet, op.call.source):
            if source is not None and source.off is not None:
                return source._replace(line=source.off, code=None, frames=())
        return None

    @cached_property
    def quiet_calls(self) -> set[int]:
        """The module calls that ran as a whole where no gradient is recorded."""
        return {i for i, below in self.tree.below.items() if self.are_quiet(below)}

    @cached_property
    def interesting(self) -> dict[int, bool]:
        """Whether something happens inside a module call that its card could not show."""
        table = dict.fromkeys(self.tree.below, False)
        for call_id, ops in self.tree.below.items():
            if self._is_cut_inside(ops) or self._is_uneven(call_id):
                table.update(dict.fromkeys(self.tree.around(call_id), True))
        return table

    def _is_cut_inside(self, ops: list[int]) -> bool:
        all_ops = self.operations.all
        quiet = [self.is_quiet(all_ops[at]) for at in ops]
        if all(quiet):
            return False
        inside = {*ops}
        return any(at in self.cuts_at and not self._leaves(at, inside) for at in ops)

    def _leaves(self, at: int, inside: set[int]) -> bool:
        """Say whether what an operation cut off is used outside of a module call alone, as what a
        hook keeps of its output, and costs no parameter its gradient: the arrow from the call to
        its user shows that."""
        users = self.operations.users[at]
        costs = any(cut in self._costly for cut in self.cuts_at[at])
        return bool(users) and inside.isdisjoint(users) and not costs

    @cached_property
    def _costly(self) -> set[Cut]:
        """The cuts that cost a parameter its gradient."""
        return {cut for cuts in self.first_cuts.causes_of.values() for cut in cuts}

    def _is_uneven(self, call_id: int) -> bool:
        """Say whether some modules below a call get gradients and others beside them none. Of an
        evaluation beside it another call tells that."""
        if self._evaluates(call_id):
            return False
        children = self.tree.children.get(call_id, ())
        fates = [self._fates_below(child) for child in children]
        unused = bool(self.tree.never_called(self.tree.call[call_id]))
        only_lost = any(fate & {*LOST} and not fate & {*NOT_LOST} for fate in fates)
        only_got = any(fate & {*NOT_LOST} and not fate & {*LOST} for fate in fates)
        only_bad = any(fate and fate <= {*FADED} for fate in fates)
        some_good = any(Fate.SOME in fate for fate in fates)
        return (only_got and (only_lost or unused)) or (only_bad and some_good)

    def _evaluates(self, call_id: int) -> bool:
        """Say whether no gradient is recorded in a call, and in another one of its module is."""
        others = self._calls_of_same(call_id)
        return call_id in self.quiet_calls and any(i not in self.quiet_calls for i in others)

    def _fates_below(self, call_id: int) -> set[Fate]:
        call = self.tree.call[call_id]
        return {w.fate for w in self.tree.weights_below(call.module_id, call.path)}

    def loses_in(self, weight: Weight, ops: Set[int]) -> bool:
        """Say whether a parameter that lost its gradient lost it where these operations read it:
        not where they only read it where no gradient is recorded, as an average of the weights, or
        a rollout, and something else was the first cause."""
        object_id = weight.key
        uses = self.operations.uses.get(object_id, ())
        here = [self.operations.all[at] for at in uses if at in ops]
        cuts = self.first_cuts.causes_of.get(object_id, ())
        if not here or not all(map(self.is_quiet, here)):
            return True
        if len(here) == len(uses):
            return bool(cuts) or any(op.at in self.operations.feeding for op in here)
        if cuts and cuts[0].reason not in QUIET:
            return False
        return self._stand_at(cuts, ops, {op.call.source for op in here})

    def _stand_at(self, cuts: Iterable[Cut], ops: Set[int], lines: Set[Source | None]) -> bool:
        """Say whether one of some cuts is among operations, or in a line of theirs: of a loop the
        cuts of some rounds are told."""
        cutting = (self.operations.of_call.get(cut.call_id) for cut in cuts)
        return any(
            at in ops or self.operations.all[at].call.source in lines
            for at in cutting
            if at is not None
        )

    # --- what was asked for -----------------------------------------------------------------------

    @cached_property
    def centre(self) -> tuple[int, ...]:
        """The operations that a picture is around: what made or wrote the tensor last, or, of a
        leaf, the first that read it."""
        if self.asked.around is None:
            return ()
        states = self.facts.states.get(self.asked.around, ())
        made = [at for t in states if (at := self.operations.made_by.get(t.id)) is not None]
        if made and self.asked.around not in self.operations.weight:
            return (made[-1],)
        ids = {t.id for t in states}
        readers = (op.at for op in self.operations.all if not ids.isdisjoint(op.reads))
        return tuple(islice(readers, READERS))

    @cached_property
    def alone(self) -> frozenset[int]:
        """The operations that are a card each: those that no recorded call is, and those that the
        picture is around, and, of those that stand in opened modules beside them, what they read
        and what reads them."""
        found = {*self.centre} | {op.at for op in self.operations.all if is_unseen(op)}
        for at in self.centre:
            beside = {*self.operations.all[at].sources, *self.operations.users[at]}
            found |= {k for k in beside if k is not None and self._is_loose(k)}
        return frozenset(found)

    def _is_loose(self, at: int) -> bool:
        """Say whether an operation stands in opened modules alone, and is no data."""
        around = self.tree.around(self.operations.all[at].call.module_call)
        unseen = at in self.data or at in self.looked_through
        return not unseen and all(map(self._is_opened, around))

    @cached_property
    def opened_calls(self) -> set[int]:
        """The calls of the modules that the reader opened, and those around the operations that
        the picture is around."""
        found = {c.id for c in self.tree.call.values() if self._is_named(c)}
        for at in self.centre:
            found.update(self.tree.around(self.operations.all[at].call.module_call))
        return found

    def _is_named(self, call: ModuleCall) -> bool:
        """Say whether the reader opened the module of a call."""
        asked = self.asked
        deep = asked.depth is not None and self.level(call.id) < asked.depth
        named = not asked.opened.isdisjoint((self.tree.name(call), call.path or None))
        return (deep and bool(self.tree.children.get(call.id))) or named

    def level(self, call_id: int) -> int:
        """Return how many module calls lie around one."""
        return sum(1 for _ in self.tree.around(call_id)) - 1

    def is_kept(self, unit: Unit) -> bool:
        """Say whether a card is what the reader asked for, and must not be folded."""
        if not self.alone.isdisjoint(unit.ops):
            return True
        return any(call_id in self._kept_calls for call_id in self.tree.around(unit.parent))

    @cached_property
    def _kept_calls(self) -> set[int]:
        """The opened calls whose cards are not folded: of those around the operations that the
        picture is around the innermost."""
        inner = {self.operations.all[at].call.module_call for at in self.centre}
        named = {i for i in self.opened_calls if self._is_named(self.tree.call[i])}
        return named | {i for i in inner if i is not None}

    @cached_property
    def leaves(self) -> frozenset[int]:
        """The objects of the parameters that the reader asked for."""
        roots = [module.name for module in self.operations.graph.modules]
        return frozenset(
            w.object_id
            for w in (self.operations.weights if self.asked.leaves else ())
            if w.object_id is not None
            and w.module_id is not None
            and f"{roots[w.module_id]}.{w.name}" in self.asked.leaves
        )

    # --- opening ----------------------------------------------------------------------------------

    @cached_property
    def items(self) -> list[Unit]:
        """Cards and loose operations, in call order; a loose operation is a statement of one."""
        return self._level(None, is_outer=True)

    def _level(self, parent: int | None, *, is_outer: bool) -> list[Unit]:
        """List what stands directly in an opened module call."""
        found: list[Unit] = []
        repeated = self._repeated(parent)
        for at, call_id in self._parts(parent):
            if call_id is None:
                if at not in self.looked_through:
                    found.append(Unit(Kind.STATEMENT, [at], parent=parent))
            elif call_id in repeated:
                found.append(Unit(Kind.CALL, self.tree.below[call_id], [call_id], parent))
            elif self._is_opened(call_id):
                found += self._open(call_id, is_outer=is_outer)
            else:
                found += self._closed(call_id, parent)
        return found

    def _closed(self, call_id: int, parent: int | None) -> list[Unit]:
        """List what stands for a closed module call: itself, or, where it is nothing but a list of
        equal modules and called once, these."""
        children = self.tree.children.get(call_id, ())
        kinds = {self.tree.call[i].kind for i in children}
        call = self.tree.call[call_id]
        once = len(self.tree.calls_of[call.module_id, call.path]) == 1
        only = not self.tree.own.get(call_id) and len(children) > 1 and len(kinds) == 1
        if (
            once
            and only
            and not self.asked.is_strict
            and all(self.tree.children.get(i) for i in children)
        ):
            self.is_list.add(call_id)
            return [Unit(Kind.CALL, self.tree.below[i], [i], parent) for i in children]
        return [Unit(Kind.CALL, self.tree.below[call_id], [call_id], parent)]

    def _repeated(self, parent: int | None) -> set[int]:
        """Return the calls that stay closed though something happens in each: several in a row in
        which the same happens."""
        found: set[int] = set()
        for key, run in groupby(self.tree.children.get(parent, ()), key=self._what_happens):
            same = list(run)
            if key is not None and len(same) >= REPEATS:
                found.update(i for i in same if not self.is_asked_for(i))
        alike = (i for i in self.tree.children.get(parent, ()) if i in self._cut_alike)
        return found | {i for i in alike if not self.is_asked_for(i)}

    @cached_property
    def _cut_alike(self) -> set[int]:
        """The calls of several modules of one class in which the same lines cut, whatever that
        costs them: one cause, which each of their cards tells, with what it costs there."""
        if self.asked.is_strict:
            return set()
        found: dict[Hashable, list[ModuleCall]] = {}
        for call_id, own in self.tree.own.items():
            cuts = frozenset(self.told(cut) for at in own for cut in self.cuts_at.get(at, ()))
            if cuts and call_id is not None and not self._is_cut_below(call_id):
                found.setdefault((self.tree.call[call_id].kind, cuts), []).append(
                    self.tree.call[call_id]
                )
        return {
            call.id
            for calls in found.values()
            if len({(call.module_id, call.path) for call in calls}) >= REPEATS
            for call in calls
        }

    def _is_cut_below(self, call_id: int) -> bool:
        """Say whether something happens in a module call below one."""
        return any(self.interesting[i] for i in self.tree.children.get(call_id, ()))

    def _what_happens(self, call_id: int) -> Hashable:
        """Return what calls in which the same happens have in common; None: nothing happens."""
        call = self.tree.call[call_id]
        if self.asked.is_strict or not self.interesting[call_id]:
            return None
        start = f"{call.path}."
        weights = self.tree.weights_below(call.module_id, call.path)
        state = tuple((w.name.removeprefix(start), w.shape, w.fate, w.held) for w in weights)
        cuts = {
            self.told(cut) for at in self.tree.below[call_id] for cut in self.cuts_at.get(at, ())
        }
        return call.kind, call.training, state, frozenset(cuts)

    def is_asked_for(self, call_id: int) -> bool:
        """Say whether the reader opened a module, or one below it."""
        call = self.tree.call[call_id]
        names = self.tree.name(call), call.path
        return any(
            asked == name or asked.startswith(f"{name}.")
            for asked in self.asked.opened
            for name in names
            if name
        )

    def told(self, cut: Cut) -> tuple[CutReason, Hashable]:
        """Return what cuts that are told as one have in common: reason and line, and how it is
        written there, as one line may cut several values. Where no gradient is recorded it is the
        line that switches it off, if that is known."""
        call = self.operations.graph.call[cut.call_id]
        if switch := self.switch_of(cut):
            return cut.reason, switch[:2]
        if call.source is None:
            return cut.reason, call.id
        return cut.reason, (*call.source[:2], self.written(cut))

    def written(self, cut: Cut) -> str:
        """Return how a cut is written, without the variable of its result."""
        source = self.operations.graph.call[cut.call_id].source
        code = (source.code if source else None) or ""
        return code.partition(" = ")[2] or code

    @cached_property
    def crowded(self) -> set[Hashable]:
        """The reasons and lines of the cuts that are written in one line with others."""
        codes: dict[Hashable, set[str]] = {}
        for cuts in self.cuts_at.values():
            for cut in cuts:
                source = self.operations.graph.call[cut.call_id].source
                if source is not None and cut.reason not in QUIET:
                    codes.setdefault((cut.reason, source[:2]), set()).add(self.written(cut))
        return {line for line, written in codes.items() if len(written) > 1}

    def _parts(self, parent: int | None) -> list[tuple[int, int | None]]:
        """List the own operations of a call and the calls directly below it, each with the place of
        its first operation."""
        own = [(at, None) for at in self.tree.own.get(parent, ())]
        calls = [(self.tree.below[i][0], i) for i in self.tree.children.get(parent, ())]
        return sorted([*own, *calls], key=lambda part: part[0])

    def _is_opened(self, call_id: int) -> bool:
        if call_id in self.opened_calls or self.is_asked_for(call_id):
            return True
        if self.asked.is_strict:
            return False
        return self._is_only_root(call_id) or self.interesting[call_id]

    def _is_only_root(self, call_id: int) -> bool:
        """Say whether a call is the only one of a root module, but for evaluations of it and for
        roots without parameters, as criteria are."""
        if call_id not in self._root_calls:
            return False
        if len(self._root_calls) > 1 and not self._has_parameters(call_id):
            return False
        root = self.tree.call[call_id].module_id
        others = (i for i in self._root_calls if i != call_id and self._has_parameters(i))
        return all(i in self.quiet_calls and self.tree.call[i].module_id == root for i in others)

    def _has_parameters(self, call_id: int) -> bool:
        call = self.tree.call[call_id]
        return bool(self.tree.weights_below(call.module_id, call.path))

    @cached_property
    def _root_calls(self) -> list[int]:
        return self.tree.children.get(None, [])

    def _open(self, call_id: int, *, is_outer: bool) -> list[Unit]:
        """List what an opened module call consists of: pieces, where cuts split it, or cards."""
        self.is_open.add(call_id)
        alone = is_outer and self._is_only_root(call_id)
        inner = any(self._is_opened(child) for child in self.tree.children.get(call_id, ()))
        if not (alone or inner) and self._is_in_parts(call_id):
            return self._pieces(call_id)
        forced = call_id in self.opened_calls
        known = {*self.frames}
        units = self._level(call_id, is_outer=False)
        self._add_unused(call_id, units)
        inside = any(len(self.frames[i]) > 1 for i in self.frames.keys() - known)
        if not alone and (not inner or (forced and not inside)):
            self.frames[call_id] = units
        return units

    def _is_in_parts(self, call_id: int) -> bool:
        """Say whether cuts split a block in two; not one that the reader opened."""
        if call_id in self.opened_calls or self.is_asked_for(call_id):
            return False
        is_cut = any(at in self.cuts_at for at in self.tree.own.get(call_id, ()))
        return is_cut and self._is_block(call_id)

    def _is_block(self, call_id: int) -> bool:
        """Say whether a module stands among others of its class, as a block of a model does: cut in
        two it stays in the line of those. What is alone of its kind is opened module by module."""
        call = self.tree.call[call_id]
        beside = (self.tree.call[i] for i in self.tree.children.get(call.parent_id, ()))
        return any(other.kind == call.kind and other.path != call.path for other in beside)

    def _pieces(self, call_id: int) -> list[Unit]:
        """Split a module call at its cuts: one card before, one after."""
        segments: list[list[tuple[int, int | None]]] = [[]]
        quiet_before: bool | None = None
        for at, child in self._parts(call_id):
            quiet = self.is_quiet(self.operations.all[at])
            cuts_here = child is None and at in self.cuts_at and not quiet
            if cuts_here or (quiet_before is not None and quiet != quiet_before):
                segments.append([])
            if at not in self.looked_through or child is not None:
                segments[-1].append((at, child))
            quiet_before = quiet
        pieces = [self._piece(call_id, segment) for segment in segments if segment]
        self._number_parts(pieces)
        return pieces

    def _piece(self, call_id: int, segment: list[tuple[int, int | None]]) -> Unit:
        ops: list[int] = []
        rows: list[Unit] = []
        for at, child in segment:
            if child is None:
                ops.append(at)
            else:
                ops += self.tree.below[child]
                rows.append(Unit(Kind.CALL, self.tree.below[child], [child], call_id))
        return Unit(Kind.PIECE, ops, [i for row in rows for i in row.calls], call_id, members=rows)

    def _number_parts(self, pieces: list[Unit]) -> None:
        last = len(pieces) - 1
        for k, piece in enumerate(pieces):
            if self.are_quiet(piece.ops):
                piece.part = Part.NO_GRAD
            elif last:
                piece.part = Part.BEFORE if k == 0 else Part.AFTER if k == last else Part.BETWEEN
            else:
                piece.part = Part.AFTER if self._begins_with_cut(piece) else Part.BEFORE

    def _begins_with_cut(self, piece: Unit) -> bool:
        """Say whether the only piece of a module call comes after its cut."""
        own = self.tree.own.get(piece.parent, ())
        cuts = [at for at in own if at in self.cuts_at]
        return bool(cuts) and cuts[0] <= piece.ops[0]

    def _add_unused(self, call_id: int, units: list[Unit]) -> None:
        """Add the modules that were never called to the card of their siblings, or as a card: once,
        however often the module around them is called."""
        if call_id != self._first_of_module(call_id):
            return
        for path, _ in self.tree.never_called(self.tree.call[call_id]):
            beside = path.rpartition(".")[0]
            siblings = [
                unit
                for unit in units
                if unit.calls
                and self.tree.call[unit.calls[0]].path.rpartition(".")[0] == beside
                and beside != self.tree.call[call_id].path
            ]
            alone = [unit for unit in units if unit.kind is Kind.UNUSED]
            if siblings or alone:
                (siblings or alone)[0].unused.append(path)
            else:
                units.append(Unit(Kind.UNUSED, [], parent=call_id, unused=[path]))

    def _first_of_module(self, call_id: int) -> int:
        """Return the first opened call of a module, of those that are no evaluation where there are
        such."""
        calls = filter(self._is_opened, self._calls_of_same(call_id))
        return min(calls, key=lambda i: (i in self.quiet_calls, i))

    def _calls_of_same(self, call_id: int) -> list[int]:
        call = self.tree.call[call_id]
        return self.tree.calls_of.get((call.module_id, call.path), [])

    # --- parameters -------------------------------------------------------------------------------

    def weights_in(self, unit: Unit) -> list[Weight]:
        """List the parameters of a unit: those below its modules, and those that its operations
        read, also behind what cuts them, in module order."""
        key = id(unit), len(unit.ops), len(unit.calls)
        if key not in self._known_weights:
            self._known_weights[key] = unit, self._weights_in(unit)
        return self._known_weights[key][1]

    def _weights_in(self, unit: Unit) -> list[Weight]:
        found: dict[int, Weight] = {}
        for call_id in unit.calls:
            call = self.tree.call[call_id]
            for weight in self.tree.weights_below(call.module_id, call.path):
                found[id(weight)] = weight
        for at in unit.ops:
            for place in self.with_arrows(at):
                for object_id in self.operations.reads_weights[place]:
                    weight = self.operations.weight[object_id]
                    found[id(weight)] = weight
        order = self._weight_order
        return sorted(found.values(), key=lambda w: order[id(w)])

    def with_arrows(self, at: int) -> list[int]:
        """Return an operation that a loss has, and those that stand on the arrows into it: what it
        reads of a parameter after a detach is read there."""
        found = [at]
        if at in self.operations.feeding:
            for place in found:
                sources = self.operations.all[place].sources
                found += [s for s in sources if s in self.looked_through and s not in found]
        return found

    @cached_property
    def _weight_order(self) -> dict[int, int]:
        return {id(w): k for k, w in enumerate(self.operations.weights)}


def listed(upper: Unit, lower: Unit, parent: int | None) -> Unit:
    """Return one unit of two, with a row for each."""
    members = [
        member
        for unit in (upper, lower)
        for member in (unit.members if unit.merged is Merged.ROWS else [unit])
    ]
    calls = [*upper.calls, *lower.calls]
    return Unit(
        Kind.CALL if calls else Kind.STATEMENT,
        sorted([*upper.ops, *lower.ops]),
        calls,
        parent,
        members=members,
        merged=Merged.ROWS,
        unused=[*upper.unused, *lower.unused],
    )


def flattened(units: Iterable[Unit]) -> Iterator[Unit]:
    """Go through units and everything merged into them, innermost first."""
    for unit in units:
        yield from flattened(unit.members)
        yield unit


SIGNS = {"getitem": "[…]", "setitem": "[…] =", "eq": "==", "ne": "!=", "lt": "<", "gt": ">"}


def is_unseen(op: Operation) -> bool:
    """Say whether no recorded call is an operation, but nodes that are known."""
    return op.call.function == UNSEEN


def function_of(op: Operation) -> str:
    """Return the name of an operation's function, or the sign that stands for it: "add", "==".

    >>> from gradviz.graph.records import Call
    >>> call = Call(0, "__eq__", (), (), True, False, None, None, False)
    >>> function_of(Operation(0, call, (), (), ()))
    '=='
    """
    name = op.call.function.strip("_").removeprefix("autograd.")
    return SIGNS.get(name, name)
