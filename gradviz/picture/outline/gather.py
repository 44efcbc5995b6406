"""From cards and loose operations to the cards of an outline: losses take what only they use, other
statements join their neighbours, equal neighbours become one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Set
from functools import cached_property, reduce
from heapq import heappop, heappush
from itertools import groupby
from typing import NamedTuple

from gradviz.graph.facts import grouped
from gradviz.graph.operations import Fate
from gradviz.graph.records import ModuleCall
from gradviz.picture.outline.before import key_of
from gradviz.picture.outline.loops import STEPS, Loops
from gradviz.picture.outline.unit import Kind, Merged, Unit, listed, unit_of
from gradviz.picture.outline.units import BY_FUNCTION, Expansion, function_of

SIDE_BY_SIDE = 5  # equal calls that become rows of one card; more are counted


class _Statements(NamedTuple):
    """The loose operations of a recording, statement by statement, in order.

    Attributes:
        ops: of each statement, without what goes into cuts alone.
        users: of each statement, the operations that use what these make.
        at: the statement of each of these operations.
        leading_to: of each operation, the statements that it uses.
    """

    ops: list[list[int]]
    users: list[set[int]]
    at: dict[int, int]
    leading_to: dict[int, list[int]]


class Gathering:
    """The cards of one outline, before any is folded for lack of room.

    Args:
        expansion: the module calls, opened.
    """

    def __init__(self, expansion: Expansion) -> None:
        self.expansion = expansion
        self.operations = expansion.operations
        self.tree = expansion.tree
        self._joined: dict[int, Hashable] = {}  # the first calls of loops

    @cached_property
    def units(self) -> list[Unit]:
        """Every card, in call order."""
        items = list(self._criteria_apart(self.expansion.items))
        units = Loops(self.expansion, self.runs_of).found(self._with_losses(items))
        units = self._statements_folded(units)
        units = self._equal_merged(self._loops_joined(units))
        units = self._statements_beside(self._twins_merged(units))
        units = [unit for unit in units if not self._is_noise(unit)]
        return [*self._leaves(units), *self._inputs(units), *units]

    # --- losses -----------------------------------------------------------------------------------

    def _criteria_apart(self, items: list[Unit]) -> Iterator[Unit]:
        """Take the calls of criteria apart: a loss is drawn alike, whether ``nn.MSELoss()`` made it
        or ``F.mse_loss``."""
        for unit in items:
            if self._is_criterion(unit):
                yield from (Unit(Kind.STATEMENT, [at], parent=unit.parent) for at in unit.ops)
            else:
                yield unit

    def _is_criterion(self, unit: Unit) -> bool:
        """Say whether a card is one call of a module without parameters that makes one number, of
        which a loss is made."""
        if unit.kind is not Kind.CALL or len(unit.calls) != 1 or self.expansion.weights_in(unit):
            return False
        last = unit.ops[-1]
        made = self.operations.graph.tensor[self.operations.all[last].makes[-1]]
        is_used = last in self.operations.feeding or last in self.operations.starts
        return is_used and made.shape == ()

    def _with_losses(self, items: list[Unit]) -> list[Unit]:
        """Take what only a loss uses out of the statements, into one card for each loss."""
        loose = [u for u in items if u.kind is Kind.STATEMENT]
        statements = self._statements_of(loose)
        loss_of: dict[int, int] = {}
        for start in self.operations.starts:
            self._take(start, statements, loss_of)
        found: list[Unit] = []
        for unit in items:
            if unit.kind is not Kind.STATEMENT or unit.ops[0] not in loss_of:
                found.append(unit)
        for ops in grouped((loss, at) for at, loss in loss_of.items()).values():
            found.append(Unit(Kind.LOSS, sorted(ops)))
        return sorted(found, key=_last_op)

    def _statements_of(self, loose: list[Unit]) -> _Statements:
        """Look at each statement once: what uses it, and which statements lead to an operation."""
        runs = statement_runs(loose, self.expansion)
        ops = [self._not_cut_off([unit.ops[0] for unit in run]) for run in runs]
        users = [self._users(some) for some in ops]
        at = {op: i for i, some in enumerate(ops) for op in some}
        return _Statements(
            ops, users, at, grouped((u, i) for i, of in enumerate(users) for u in of)
        )

    def _take(self, start: int, statements: _Statements, loss_of: dict[int, int]) -> None:
        """Find the statements whose every user is in the loss that this operation made, backwards
        from there: of those alone that lead to what was found."""
        todo = [-statements.at[start]] if start in statements.at else []
        done = set[int]()
        while todo:
            place = -heappop(todo)
            if place in done:
                continue
            done.add(place)
            joined = self._joining(start, statements, place, loss_of)
            loss_of.update(dict.fromkeys(joined, start))
            for at in joined:
                for before in statements.leading_to.get(at, ()):
                    if before < place:
                        heappush(todo, -before)

    def _joining(
        self, start: int, statements: _Statements, place: int, loss_of: dict[int, int]
    ) -> list[int]:
        """Return what of a statement is part of a loss; with it, what only puts that aside."""
        ops = statements.ops[place]
        if start in ops:
            return self._only_for(start, [at for at in ops if at <= start])
        if not self.expansion.alone.isdisjoint(ops):
            return []
        users = statements.users[place]
        logged = {user for user in users if self._is_logged(user, {*ops})}
        is_only_there = all(loss_of.get(user) == start for user in users - logged)
        if users == logged or not is_only_there or not self._may_join_loss(ops):
            return []
        return [*ops, *logged]

    def _only_for(self, start: int, ops: list[int]) -> list[int]:
        """Leave out of the statement that made a loss what a module in it used before: the ``mean``
        of ``loss = F.mse_loss(head(body(x).mean(1)), y)``."""
        found: set[int] = set()
        for at in reversed(ops):
            if at == start or all(u in found or u > start for u in self._users([at])):
                found.add(at)
        return sorted(found)

    def _is_logged(self, at: int, made_by: set[int]) -> bool:
        """Say whether an operation only puts aside what these made: nothing but cuts follows, no
        loss has it."""
        op, users = self.operations.all[at], self.operations.users[at]
        return (
            at not in self.operations.feeding
            and op.call.module_call is None
            and {*op.sources} <= made_by
            and self.expansion.looked_through.issuperset(users)
        )

    def _users(self, ops: list[int]) -> set[int]:
        """Return the operations that use what some others make, also through what stands on an
        arrow."""
        found, todo = set[int](), [*ops]
        while todo:
            for user in self.operations.users[todo.pop()]:
                if user in self.expansion.looked_through:
                    todo.append(user)
                else:
                    found.add(user)
        return found - {*ops}

    def _not_cut_off(self, ops: list[int]) -> list[int]:
        """Leave out what goes into cuts alone: an arrow leads from there to the loss. What a
        backward began at stays, though it may be logged too."""
        gone: set[int] = set()
        for at in reversed(ops):
            users = () if at in self.operations.starts else self.operations.users[at]
            if users and all(u in gone or u in self.expansion.looked_through for u in users):
                gone.add(at)
        return [at for at in ops if at not in gone]

    def _may_join_loss(self, ops: list[int]) -> bool:
        """Say whether a statement is part of a loss: it reads no parameter, and without modules it
        makes one number."""
        if any(self.operations.reads_weights[at] for at in ops):
            return False
        if self.tree.call:
            return True
        made = self.operations.all[ops[-1]].makes
        return any(self.operations.graph.tensor[i].shape == () for i in made)

    # --- statements -------------------------------------------------------------------------------

    def _statements_folded(self, units: list[Unit]) -> list[Unit]:
        """Join statements to the cards beside them; what uses a parameter itself is a card."""
        fold = _Folding(self)
        for run in statement_runs(units, self.expansion):
            if self._is_function(run[0]):
                fold.statement(Unit(Kind.STATEMENT, [*run[0].ops], parent=run[0].parent))
            elif run[0].kind is Kind.STATEMENT and not run[0].members:
                fold.statement(Unit(Kind.STATEMENT, [u.ops[0] for u in run], parent=run[0].parent))
            else:
                fold.card(run[0])
        return fold.finish()

    def _is_function(self, unit: Unit) -> bool:
        """Say whether a card is a module that only stands for a function, as ``nn.ReLU`` for
        ``relu``: drawn alike, unless the reader asked for modules."""
        if unit.kind is not Kind.CALL or len(unit.ops) != 1 or len(unit.calls) != 1:
            return False
        asked = self.expansion.asked.is_strict or self.expansion.is_kept(unit)
        plain = not self.expansion.weights_in(unit) and not unit.unused
        return plain and not asked and not self.expansion.is_asked_for(unit.calls[0])

    # --- equal neighbours -------------------------------------------------------------------------

    def _equal_merged(self, units: list[Unit]) -> list[Unit]:
        """Make one card of equal calls that follow each other."""
        found: list[Unit] = []
        for _, run in groupby(units, key=self._signature):
            same = list(run)
            found += [self._merged(same)] if len(same) > 1 else same
        return found

    def _loops_joined(self, units: list[Unit]) -> list[Unit]:
        """Note the first call of a loop, whose state nothing tracked has made yet, as one of the
        calls after it: see ``_signature``."""
        for first, second, third in zip(units, units[1:], units[2:], strict=False):
            alike = self._signature(second) == self._signature(third)
            if alike and self._is_same_module(first, second) and self._goes_on(first, second):
                self._joined[id(first)] = self._signature(second)
        return units

    def _is_same_module(self, first: Unit, second: Unit) -> bool:
        if not (first.calls and second.calls) or first.kind is not Kind.CALL:
            return False
        one, other = self.tree.call[first.calls[0]], self.tree.call[second.calls[0]]
        return (one.module_id, one.path) == (other.module_id, other.path)

    def _goes_on(self, first: Unit, second: Unit) -> bool:
        """Say whether gradients come back from a unit into the one before it, uncut."""
        inside = {*first.ops}
        return self.runs_of(first) == self.runs_of(second) and any(
            source in inside and (op.call.id, i) not in self.operations.facts.cut_of
            for at in second.ops
            for op in (self.operations.all[at],)
            for i, source in zip(op.reads, op.sources, strict=True)
        )

    def _twins_merged(self, units: list[Unit]) -> list[Unit]:
        """Make one card, with a row each, of calls with equal sources, users and state."""
        owner = unit_of(units)
        twins: dict[Hashable, list[Unit]] = {}
        for unit in units:
            twins.setdefault(self._twin_key(unit, owner), []).append(unit)
        found: list[Unit] = []
        for same in twins.values():
            found += [self._side(same)] if 1 < len(same) <= SIDE_BY_SIDE else same
        return sorted(found, key=_last_op)

    def _statements_beside(self, units: list[Unit]) -> list[Unit]:
        """Make one card, with a row each, of statements that read parameters alone and that the
        same card uses, as the terms of a weight decay."""
        owner = unit_of(units)

        def place(unit: Unit) -> Hashable:
            inside = {*unit.ops}
            users = {owner.get(u) for u in self.operations.users_of(inside) - inside}
            plain = unit.kind is Kind.STATEMENT and not unit.members
            if not plain or len(users) != 1 or not self.operations.sources_of(inside) <= inside:
                return id(unit)
            return unit.parent, next(iter(users)), *self._weights_alike(unit)

        found: list[Unit] = []
        for _, run in groupby(units, key=place):
            same = list(run)
            found.append(reduce(lambda a, b: listed(a, b, a.parent), same))
        return found

    def _weights_alike(self, unit: Unit) -> tuple[Hashable, ...]:
        weights = self.expansion.weights_in(unit)
        return frozenset((w.fate, w.held) for w in weights), self._flow(unit)

    def _side(self, units: list[Unit]) -> Unit:
        merged = self._merged(units)
        merged.merged = Merged.SIDE
        return merged

    def _twin_key(self, unit: Unit, owner: dict[int, int]) -> Hashable:
        """Return what is equal for twins: the cards that they read and that read them, and what
        gets a gradient."""
        if unit.kind is not Kind.CALL or unit.merged is not Merged.NOT:
            return id(unit)
        call = self.tree.call[unit.calls[0]]
        me = owner[unit.ops[0]]
        sources = {
            (owner.get(s), s in self.expansion.looked_through)
            for s in self.operations.sources_of(unit.ops)
            if owner.get(s) != me
        }
        users = {owner.get(u) for u in self.operations.users_of(unit.ops)} - {me}
        fates = frozenset((w.fate, w.held) for w in self.expansion.weights_in(unit))
        path = call.path if not fates else ""
        if not sources or not users:
            return id(unit)
        before = self._card_before(call)
        alike = (unit.parent, call.kind, path, call.training, fates, before, self._flow(unit))
        return (*alike, frozenset(sources), frozenset(users))

    def _merged(self, units: list[Unit]) -> Unit:
        ops = [at for unit in units for at in unit.ops]
        calls = [i for unit in units for i in unit.calls]
        feeding = self._feeds_next(units)
        beside = not feeding and len(units) <= SIDE_BY_SIDE
        return Unit(
            Kind.CALL,
            sorted(ops),
            calls,
            units[0].parent,
            after=units[0].after,
            then=units[-1].then,
            members=units,
            merged=Merged.SIDE if beside else Merged.RANGE,
            is_loop=feeding and len(units) >= STEPS and self._are_one_module(units),
            unused=[path for unit in units for path in unit.unused],
        )

    def _are_one_module(self, units: list[Unit]) -> bool:
        calls = (self.tree.call[i] for unit in units for i in unit.calls)
        return len({(call.module_id, call.path) for call in calls}) == 1

    def _feeds_next(self, units: list[Unit]) -> bool:
        """Say whether any of these units reads what another one made."""
        ops = [{*unit.ops} for unit in units]
        sources = [self.operations.sources_of(unit.ops) for unit in units]
        return any(ops[a] & sources[b] for a in range(len(units)) for b in range(a + 1, len(units)))

    def _signature(self, unit: Unit) -> Hashable:
        """Return what is equal for calls that may become one card."""
        if id(unit) in self._joined:
            return self._joined[id(unit)]
        if unit.kind is not Kind.CALL or unit.merged is not Merged.NOT:
            return id(unit)
        call = self.tree.call[unit.calls[0]]
        start = f"{call.path}."
        weights = tuple(
            (w.name.removeprefix(start), w.shape, w.fate, w.held)
            for w in self.tree.weights_below(call.module_id, call.path)
        )
        return (
            unit.parent,
            call.kind,
            call.path.rpartition(".")[0] if weights else call.path,
            call.training,
            weights,
            self._structure(unit.calls[0]),
            self._card_before(call),
            self._flow(unit),
        )

    def _card_before(self, call: ModuleCall) -> int | None:
        """Return the card that had a module call in an earlier picture."""
        before = self.expansion.asked.before
        return before.card_of.get(key_of(call, self.expansion)) if before else None

    def _structure(self, call_id: int) -> Hashable:
        """Return the classes below a module call, without the shapes of what they made."""
        children = self.tree.children.get(call_id, ())
        return tuple((self.tree.call[i].kind, self._structure(i)) for i in children)

    def _flow(self, unit: Unit) -> Hashable:
        """Return what of a unit's inputs and gradients must be equal: tracked input, cut input,
        grad mode, and the backwards that reach it."""
        operations, inside = self.operations, {*unit.ops}
        outside = [
            (op, i)
            for at in unit.ops
            for op in (operations.all[at],)
            for i, source in zip(op.reads, op.sources, strict=True)
            if source not in inside
            and operations.graph.tensor[i].object_id not in operations.weight
        ]
        tracked = any(operations.is_tracked(i) for _, i in outside)
        cut = any((op.call.id, i) in operations.facts.cut_of for op, i in outside)
        comes_cut = any(
            s in self.expansion.looked_through and not self._is_by_function(s)
            for s in operations.sources_of(unit.ops)
        )
        trained = inside - self.expansion.data
        quiet = {self.expansion.no_grad.is_quiet(operations.all[at]) for at in trained}
        cuts_inside = Counter(
            (cut.reason, (operations.graph.call[cut.call_id].source or ())[:2])
            for at in unit.ops
            for cut in self.expansion.cuts.at.get(at, ())
        )
        return tracked, cut, comes_cut, frozenset(quiet), self.runs_of(unit), frozenset(cuts_inside)

    def _is_by_function(self, at: int) -> bool:
        """Say whether an operation cuts by what it computes, as argmax: no way of values that
        somebody closed, and between the steps of a decoder there once and not another time."""
        cuts = self.expansion.cuts.at.get(at, ())
        return bool(cuts) and all(cut.reason in BY_FUNCTION for cut in cuts)

    def runs_of(self, unit: Unit) -> frozenset[int]:
        """Return the backwards that reached a unit."""
        return frozenset(run for at in unit.ops for run in self._runs_at.get(at, ()))

    @cached_property
    def _runs_at(self) -> dict[int, set[int]]:
        """The backwards that ran nodes of an operation, by its place."""
        table: dict[int, set[int]] = {}
        for event in self.operations.facts.nodes_ran:
            at = self.operations.of_node.get(event.node_id)
            if at is not None:
                table.setdefault(at, set()).add(event.run)
        return table

    # --- inputs -----------------------------------------------------------------------------------

    def _inputs(self, units: list[Unit]) -> list[Unit]:
        """Make a card of each named leaf that goes into a module, parameters apart: where values
        come from another card, what comes in beside them (a target, a mask) has none."""
        found: dict[int, Unit] = {}
        placed = {at for unit in units for at in unit.ops} | self.expansion.looked_through
        for unit in units:
            is_made = unit.kind in (Kind.LOSS, Kind.INPUT) or self._reads_another(unit, placed)
            if is_made or self._is_aside(unit):
                continue
            for at in unit.ops:
                op = self.operations.all[at]
                for i, source in zip(op.reads, op.sources, strict=True):
                    alone = source is None or source not in placed
                    if alone and self._is_input(i):
                        object_id = self.operations.graph.tensor[i].object_id
                        found.setdefault(object_id, Unit(Kind.INPUT, [], tensor_id=i))
        return list(found.values())

    def _is_noise(self, unit: Unit) -> bool:
        """Say whether a card is nothing to look at: it can be left out, and moves no parameter."""
        return self.can_be_left_out(unit) and not self._writes_weights(unit)

    def can_be_left_out(self, unit: Unit) -> bool:
        """Say whether a card is an evaluation, or an average, that nothing else has to do with:
        nobody lost a gradient by it, and the reader did not ask for it."""
        if not unit.ops or not self._is_aside(unit):
            return False
        lost = any(
            w.fate is Fate.NONE
            and self.operations.should_get(w)
            and self.expansion.cuts.lose_in(w, {*unit.ops})
            for w in self.expansion.weights_in(unit)
        )
        asked = any(map(self.expansion.is_asked_for, unit.calls)) or self.expansion.is_kept(unit)
        pointed = self.expansion.asked.points.calls
        points = any(self.operations.all[at].call.id in pointed for at in unit.ops)
        return not (lost or asked or points or self._has_links(unit))

    def _writes_weights(self, unit: Unit) -> bool:
        """Say whether a card writes a parameter."""
        made = (i for at in unit.ops for i in self.operations.all[at].makes)
        return any(
            self.operations.graph.tensor[i].object_id in self.operations.weight for i in made
        )

    def _has_links(self, unit: Unit) -> bool:
        """Say whether a card uses what others made, data apart, or they what it made: others of
        those that are drawn."""
        inside = {*unit.ops}
        ends = self.operations.users_of(inside) | {s for at in inside for s in self._behind(at)}
        return not ends - inside <= self.expansion.data | self.expansion.iterations.left_out

    def _behind(self, at: int) -> Iterator[int]:
        """Go through the operations that made what one read, through what stands on an arrow."""
        todo = [*self.operations.all[at].sources]
        while todo:
            source = todo.pop()
            if source is None:
                continue
            if source in self.expansion.looked_through:
                todo += self.operations.all[source].sources
            else:
                yield source

    def _is_aside(self, unit: Unit) -> bool:
        """Say whether no loss has what a card computes where no gradient is recorded: an
        evaluation."""
        ops = self.operations
        quiet = self.expansion.no_grad.are_quiet(unit.ops)
        return quiet and ops.ran_backward and ops.feeding.isdisjoint(unit.ops)

    def _reads_another(self, unit: Unit, placed: Set[int]) -> bool:
        """Say whether a card uses what another one made."""
        others = placed - {*unit.ops}
        sources = self.operations.sources_of(unit.ops)
        return unit.kind is not Kind.STATEMENT and not others.isdisjoint(sources)

    def _leaves(self, units: list[Unit]) -> list[Unit]:
        """Make a card of each parameter that the reader asked for: outside of frames, where it can
        stand beside what else goes into its first user."""
        found: dict[int, Unit] = {}
        for unit in units if self.expansion.leaves else ():
            for i in (i for at in unit.ops for i in self.operations.all[at].reads):
                object_id = self.operations.graph.tensor[i].object_id
                if object_id in self.expansion.leaves:
                    found.setdefault(object_id, Unit(Kind.LEAF, [], tensor_id=i))
        return list(found.values())

    def _is_input(self, tensor_id: int) -> bool:
        state = self.operations.graph.tensor[tensor_id]
        weight = self.operations.weight.get(state.object_id)
        if weight is not None and (weight.module_id is not None or not self.tree.call):
            return False
        return state.code_name.isidentifier()


class _Folding:
    """Joins statements to cards, one statement after the other."""

    def __init__(self, gathering: Gathering) -> None:
        self.expansion = gathering.expansion
        self.operations = gathering.operations
        self.has_modules = bool(gathering.tree.call)
        self.done: list[Unit] = []
        self.waiting: list[Unit] = []

    def card(self, unit: Unit) -> None:
        """Place a card, and what waited for it. A module that only makes data waits as a statement
        does: positions, rotary angles."""
        if self._is_alone(unit):
            self._alone(unit)
            return
        if self._makes_data(unit):
            self.waiting.append(unit)
            return
        taken = [w for w in self.waiting if w.parent == unit.parent or unit.kind is Kind.LOSS]
        taken = self._with_what_they_use(unit, taken)
        taken = self._apart_what_is_cut_off(unit, taken)
        rest = [w for w in self.waiting if w not in taken]
        for statement in taken:
            unit.ops = sorted([*statement.ops, *unit.ops])
            if not self._is_data(statement):
                unit.after += self._functions(statement)
        self.waiting = rest
        self.done.append(unit)

    def _apart_what_is_cut_off(self, unit: Unit, taken: list[Unit]) -> list[Unit]:
        """Make a card of what waits and is cut off from another user than the card that would take
        it, with what that reads: the arrow that is cut begins there. Return the others."""
        inside = _ops_of([unit, *taken])
        ends = [w for w in taken if not self._is_data(w) and self._is_cut_off(w, inside)]
        if not ends:
            return taken
        behind = self._behind(_ops_of(ends))
        mine = [w for w in taken if behind & {*w.ops}]
        self.waiting = [w for w in self.waiting if w not in mine]
        parent = ends[-1].parent
        self.done.append(Unit(Kind.STATEMENT, sorted(_ops_of(mine)), parent=parent))
        return [w for w in taken if w not in mine]

    def _is_cut_off(self, statement: Unit, inside: set[int]) -> bool:
        """Say whether a loss has what something cut off a statement, by another way than these
        operations."""
        looked_through, feeding = self.expansion.looked_through, self.operations.feeding
        todo = [u for u in self.operations.users_of(statement.ops) if u in looked_through]
        for at in todo:
            users = self.operations.users[at]
            todo += [u for u in users if u in looked_through and u not in todo]
            if any(u in feeding and u not in looked_through for u in {*users} - inside):
                return True
        return False

    def _alone(self, unit: Unit) -> None:
        """Place an operation that is a card alone; what waits and is read for it is one too."""
        behind = self._behind({*unit.ops})
        cards = [w for w in self.waiting if behind & {*w.ops} and not self._is_data(w)]
        self.waiting = [w for w in self.waiting if w not in cards]
        self.done += [*cards, unit]

    def _is_alone(self, unit: Unit) -> bool:
        return not self.expansion.alone.isdisjoint(unit.ops)

    def _with_what_they_use(self, unit: Unit, taken: list[Unit]) -> list[Unit]:
        """Add what a card, or what it takes, reads: no later card may make it. A statement is taken
        whole, so what any of its operations reads is added, too."""
        while True:
            wanted = self._behind(_ops_of([unit, *taken]))
            found = [w for w in self.waiting if w in taken or wanted & {*w.ops}]
            if len(found) == len(taken):
                return found
            taken = found

    def _behind(self, places: set[int]) -> set[int]:
        """Return operations, and those that they read, as far back as what waits goes."""
        waiting = {at for w in self.waiting for at in w.ops} | self.expansion.looked_through
        found, todo = {*places}, [*places]
        while todo:
            for source in self.operations.all[todo.pop()].sources:
                if source is not None and source in waiting and source not in found:
                    found.add(source)
                    todo.append(source)
        return found

    def statement(self, unit: Unit) -> None:
        """Place a statement: a card of its own, with the card before it, or with the next one."""
        if self._is_alone(unit):
            self._alone(unit)
        elif self._is_data(unit):
            if not self._is_named(unit):
                self.waiting.append(unit)
        elif any(self.operations.reads_weights[at] for at in unit.ops) or not self.has_modules:
            self._own_card(unit)
        elif self._follows_last(unit):
            self._append(unit)
        elif (maker := self._maker_of_what_is_cut_off(unit)) is not None:
            self._append(unit, maker)
        else:
            self.waiting.append(unit)

    def finish(self) -> list[Unit]:
        """Place what nothing followed, and return the cards."""
        for statement in self.waiting:
            if self._is_data(statement):
                continue
            if self.done and not self._is_alone(self.done[-1]):
                self._append(statement)
            elif self.done:
                self.done.append(statement)
        return sorted(self.done, key=_last_op)

    def _is_named(self, unit: Unit) -> bool:
        """Say whether data is a variable outside of every module: it is drawn as an input is."""
        made = self.operations.all[unit.ops[-1]].makes
        names = (self.operations.graph.tensor[i].code_name for i in made)
        return unit.parent is None and any(map(str.isidentifier, names))

    def _own_card(self, unit: Unit) -> None:
        reads = any(self.operations.reads_weights[at] for at in unit.ops)
        last = self.done[-1] if self.done else None
        plain = last is not None and last.kind is Kind.STATEMENT and not last.members
        joins = plain and self._follows_last(unit)
        if joins and not reads and last is not None:
            last.ops = sorted([*last.ops, *unit.ops])
        else:
            self.card(unit)

    def _append(self, unit: Unit, to: Unit | None = None) -> None:
        card = to or self.done[-1]
        card.ops = sorted([*card.ops, *unit.ops])
        card.then += self._functions(unit)

    def _maker_of_what_is_cut_off(self, unit: Unit) -> Unit | None:
        """Return the card that made everything which a statement reads, where the result goes into
        cuts alone: the arrow that is cut begins there."""
        inside = {*unit.ops}
        users = self.operations.users_of(unit.ops) - inside
        sources = self.operations.sources_of(unit.ops) - inside
        if not users or not users <= self.expansion.looked_through:
            return None
        makers = [card for card in self.done if sources & {*card.ops}]
        alone = len(makers) == 1 and sources <= {*makers[0].ops}
        if not alone or makers[0].kind is Kind.LOSS or self._is_alone(makers[0]):
            return None
        return makers[0]

    def _follows_last(self, unit: Unit) -> bool:
        """Say whether all that a statement reads was made in the card before it."""
        if not self.done or self.waiting:
            return False
        last = self.done[-1]
        if last.kind is Kind.LOSS or last.parent != unit.parent or self._is_alone(last):
            return False
        inside = {*last.ops, *unit.ops}
        sources = self.operations.sources_of(unit.ops) - self.expansion.data
        return sources <= inside and self._mode(unit) == self._mode(last)

    def _mode(self, unit: Unit) -> set[bool]:
        return {self.expansion.no_grad.is_quiet(self.operations.all[at]) for at in unit.ops}

    def _makes_data(self, unit: Unit) -> bool:
        """Say whether a card is a module call without parameters that made data."""
        is_call = unit.kind is Kind.CALL and bool(unit.ops)
        return is_call and self._is_data(unit) and not self.expansion.weights_in(unit)

    def _is_data(self, unit: Unit) -> bool:
        """Say whether a statement depends on no parameter and no card: masks, positions."""
        return self.expansion.data.issuperset(unit.ops)

    def _functions(self, unit: Unit) -> list[str]:
        """Name what a statement computes: a module that stands for a function as it is called, but
        for a number in a list."""
        tree, names = self.expansion.tree, []
        for op in (self.operations.all[at] for at in unit.ops):
            call = tree.call.get(-1 if op.call.module_call is None else op.call.module_call)
            own = call.path.rpartition(".")[2] if call and tree.below[call.id] == [op.at] else ""
            names.append(own if own and not own.isdigit() else function_of(op))
        return names


def statement_runs(units: list[Unit], expansion: Expansion) -> list[list[Unit]]:
    """Group loose operations of one statement that follow each other; other units stand alone."""

    def line(unit: Unit) -> Hashable:
        if unit.kind is not Kind.STATEMENT or unit.members or unit.ops[0] in expansion.alone:
            return id(unit)
        op = expansion.operations.all[unit.ops[0]]
        return unit.parent, op.call.source[:2] if op.call.source else op.at

    return [list(run) for _, run in groupby(units, key=line)]


def _ops_of(units: list[Unit]) -> set[int]:
    return {at for unit in units for at in unit.ops}


def _last_op(unit: Unit) -> int:
    return unit.ops[-1] if unit.ops else -1
