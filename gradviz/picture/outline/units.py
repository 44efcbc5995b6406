"""The units of an outline: first the module calls, opened where something happens; then what stands
between them. NOTE [intervals] in ``unit.py`` says what keeps their order."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from itertools import groupby, islice
from typing import Any

from gradviz.graph.fading import Fading
from gradviz.graph.iterations import Iterations
from gradviz.graph.module_tree import ModuleTree
from gradviz.graph.operations import Operation, Operations, Weight
from gradviz.graph.records import CutReason, ModuleCall
from gradviz.graph.unlearned import Unlearned
from gradviz.graph.unseen import UNSEEN
from gradviz.picture.outline.asked import AS_IT_IS, Asked
from gradviz.picture.outline.happenings import Happenings
from gradviz.picture.outline.no_grad import QUIET, NoGrad
from gradviz.picture.outline.told_cuts import ToldCuts
from gradviz.picture.outline.unit import Kind, Part, Unit

READERS = 3  # operations that a leaf is shown with, of those that read it
REPEATS = 3  # equal calls in a row in which the same happens, and that stay closed for it
# Under no_grad a whole stretch is cut off, which is drawn as a frame; a flag is no way of values.
NOT_ON_AN_ARROW = (*QUIET, CutReason.FLAG_OFF)
# Operations on one value after what cuts it, as of `x.detach().float().mean()`; more of them are a
# computation of their own, which a card shows.
ON_AN_ARROW = 8
BY_FUNCTION = (CutReason.INTEGER_DTYPE, CutReason.NOT_DIFFERENTIABLE)  # cut by what it computes


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
        self.no_grad = NoGrad(operations, self.tree)
        self.cuts = ToldCuts(operations, self.no_grad)
        self.happenings = Happenings(operations, self.tree, self.no_grad, self.cuts)
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
            cuts = frozenset(self.cuts.told(cut) for at in own for cut in self.cuts.at.get(at, ()))
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
        return any(self.happenings.inside[i] for i in self.tree.children.get(call_id, ()))

    def _what_happens(self, call_id: int) -> Hashable:
        """Return what calls in which the same happens have in common; None: nothing happens."""
        call = self.tree.call[call_id]
        if self.asked.is_strict or not self.happenings.inside[call_id]:
            return None
        start = f"{call.path}."
        weights = self.tree.weights_below(call.module_id, call.path)
        state = tuple((w.name.removeprefix(start), w.shape, w.fate, w.held) for w in weights)
        below = self.tree.below[call_id]
        cuts = frozenset(self.cuts.told(cut) for at in below for cut in self.cuts.at.get(at, ()))
        return call.kind, call.training, state, cuts

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
        return self._is_only_root(call_id) or self.happenings.inside[call_id]

    def _is_only_root(self, call_id: int) -> bool:
        """Say whether a call is the only one of a root module, but for evaluations of it and for
        roots without parameters, as criteria are."""
        return call_id in self._only_root_calls

    @cached_property
    def _only_root_calls(self) -> frozenset[int]:
        """The calls of which that is so: all are asked for, and there may be thousands."""
        roots = self._root_calls
        if len(roots) == 1:
            return frozenset(roots)
        with_parameters = [i for i in roots if self._has_parameters(i)]
        trained = {*with_parameters} - self.no_grad.quiet_calls
        one_module = len({self.tree.call[i].module_id for i in with_parameters}) == 1
        return frozenset(i for i in with_parameters if one_module and trained <= {i})

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
        cut = self.cuts.at.keys() - self.cuts.in_loops
        return not cut.isdisjoint(self.tree.own.get(call_id, ())) and self._is_block(call_id)

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
            quiet = self.no_grad.is_quiet(self.operations.all[at])
            is_cut = at in self.cuts.at and at not in self.cuts.in_loops
            cuts_here = child is None and is_cut and not quiet
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
            if self.no_grad.are_quiet(piece.ops):
                piece.part = Part.NO_GRAD
            elif last:
                piece.part = Part.BEFORE if k == 0 else Part.AFTER if k == last else Part.BETWEEN
            else:
                piece.part = Part.AFTER if self._begins_with_cut(piece) else Part.BEFORE

    def _begins_with_cut(self, piece: Unit) -> bool:
        """Say whether the only piece of a module call comes after its cut."""
        own = self.tree.own.get(piece.parent, ())
        cuts = [at for at in own if at in self.cuts.at]
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
        calls = filter(self._is_opened, self.tree.calls_of_same(call_id))
        return min(calls, key=lambda i: (i in self.no_grad.quiet_calls, i))

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
