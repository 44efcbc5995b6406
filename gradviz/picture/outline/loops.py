"""Loops: the same calls and statements several times in a row, which become one card; and how large
the gradient is at each of their steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from gradviz.graph.operations import Fate, Operation, Operations
from gradviz.picture.outline.unit import Kind, Merged, Unit
from gradviz.picture.outline.units import Expansion

STEPS = 3  # equal ones in a row that are a loop
LONGEST = 100  # calls and operations of one step
BARS = 100  # of a chart: more steps share one
FLOOR = 1e-8  # of a chart's scale: what is smaller does not move a float32 weight near 1
FLOOR_TEXT = "1e-8"
GOT = (Fate.SOME, Fate.ZERO, Fate.VANISHED, Fate.NAN)


class Loops:
    """Finds loops that no module is: a statement with its weight, several modules in turn.

    Args:
        expansion: of the recording.
        runs_of: which backwards reached a unit.
    """

    def __init__(self, expansion: Expansion, runs_of: Callable[[Unit], frozenset[int]]) -> None:
        self.expansion = expansion
        self.operations = expansion.operations
        self.tree = expansion.tree
        self.runs_of = runs_of

    def found(self, units: list[Unit]) -> list[Unit]:
        """Return the units with one unit for each loop."""
        number: dict[Hashable, int] = {}
        keys = [number.setdefault(self._key(unit), len(number)) for unit in units]
        least = self._least_periods(units)
        found: list[Unit] = []
        k = 0
        while k < len(units):
            period, times = self._period(units, keys, k, least[k])
            if period:
                found.append(self._loop(units[k : k + period * times], period))
                k += period * times
            else:
                found.append(units[k])
                k += 1
        return found

    def _least_periods(self, units: list[Unit]) -> list[int]:
        """Return, for each unit, how many units the step of a loop must have that begins with it:
        one that reads a parameter, or a module, is among them."""
        least = [0] * len(units)
        after = LONGEST
        for k in reversed(range(len(units))):
            is_enough = units[k].kind is Kind.CALL or self._reads_weights(units[k])
            least[k] = after = 1 if is_enough else after + 1
        return least

    def _reads_weights(self, unit: Unit) -> bool:
        """Say whether a unit is a statement that reads parameters."""
        is_statement = unit.kind is Kind.STATEMENT
        return is_statement and bool(self.operations.reads_weights[unit.ops[0]])

    def _period(
        self, units: list[Unit], keys: Sequence[int], start: int, least: int
    ) -> tuple[int, int]:
        """Return how many units the step of a loop has that begins here, ``least`` or more, and how
        often it comes; 0, 0: none begins here. The step has a statement that reads parameters, or
        several modules: one module alone is a range of calls."""
        modules, reads = set[Hashable](), False
        for period in range(1, min(LONGEST, (len(keys) - start) // STEPS) + 1):
            last = units[start + period - 1]
            reads = reads or self._reads_weights(last)
            if last.kind is Kind.CALL:
                modules.add(self._module(last))
            if period < least or not (reads or len(modules) > 1):
                continue
            step = keys[start : start + period]
            times = 1
            while keys[start + times * period : start + (times + 1) * period] == step:
                times += 1
            if times >= STEPS and self._is_worth_it(units[start : start + period * times], period):
                return period, times
        return 0, 0

    def _is_worth_it(self, units: list[Unit], period: int) -> bool:
        """Say whether each step of a loop uses what the step before it made, or no gradient is
        recorded in any."""
        if all(map(self._is_quiet, units)):  # a rollout, whose environment is no torch
            return True
        first = {at for unit in units[period : 2 * period] for at in unit.ops}
        second = (at for unit in units[2 * period : 3 * period] for at in unit.ops)
        return any(first.intersection(self.operations.all[at].sources) for at in second)

    def _module(self, unit: Unit) -> Hashable:
        call = self.tree.call[unit.calls[0]]
        return call.module_id, call.path

    def _loop(self, units: list[Unit], period: int) -> Unit:
        steps = [self._step(units[k : k + period], Kind.CALL) for k in range(0, len(units), period)]
        calls = [i for step in steps for i in step.calls]
        ops = sorted(at for step in steps for at in step.ops)
        kind = Kind.CALL if calls else Kind.STATEMENT
        return Unit(kind, ops, calls, units[0].parent, members=steps, merged=Merged.LOOP)

    def _step(self, units: list[Unit], kind: Kind) -> Unit:
        ops = sorted(at for unit in units for at in unit.ops)
        calls = [i for unit in units for i in unit.calls]
        return Unit(kind if calls else Kind.STATEMENT, ops, calls, units[0].parent)

    def _key(self, unit: Unit) -> Hashable:
        """Return what the parts of two steps have in common."""
        if unit.kind is Kind.STATEMENT:
            op = self.operations.all[unit.ops[0]]
            source = op.call.source
            if source is None:
                return id(unit)
            return unit.parent, source[:2], op.call.function, *self._of_operation(op)
        if unit.kind is not Kind.CALL or any(map(self.expansion.is_asked_for, unit.calls)):
            return id(unit)
        call = self.tree.call[unit.calls[0]]
        own = (call.module_id, call.path, call.training, call.source and call.source[:2])
        return unit.parent, *own, self._is_quiet(unit), self.runs_of(unit)

    def _of_operation(self, op: Operation) -> tuple[Hashable, ...]:
        if self.expansion.no_grad.is_quiet(op):  # an average of all parameters, whatever they are
            return (True,)
        tensor = self.operations.graph.tensor
        weights = [self.operations.weight[i] for i in self.operations.reads_weights[op.at]]
        fates = tuple((w.fate if w.fate not in GOT else None, w.held) for w in weights)
        return tuple(tensor[i].shape for i in op.makes), tuple(w.shape for w in weights), fates

    def _is_quiet(self, unit: Unit) -> bool:
        return self.expansion.no_grad.are_quiet(unit.ops)


def parts_of(unit: Unit, expansion: Expansion) -> list[Unit]:
    """Return one unit for each module of a loop, with all its calls."""
    tree = expansion.tree
    found: dict[Hashable, Unit] = {}
    for call_id in unit.calls:
        call = tree.call[call_id]
        key = call.module_id, call.path
        part = found.setdefault(key, Unit(Kind.CALL, [], [], unit.parent))
        part.calls.append(call_id)
        part.ops += tree.below[call_id]
    return list(found.values())


class Profile(NamedTuple):
    """The norm of the gradient that came to each step of a loop, the first step first; None: none
    came, nan: it was not measured, inf: it holds nan or inf."""

    norms: tuple[float | None, ...]

    @property
    def top(self) -> float:
        """The largest norm; 0 where none was measured."""
        return max((norm for norm in self.norms if norm and math.isfinite(norm)), default=0.0)

    @property
    def bars(self) -> tuple[float, ...]:
        """How high each bar of the chart is, of 1, on a scale of logarithms from ``FLOOR`` up."""
        share = -(-len(self.norms) // BARS)
        groups = [self.norms[k : k + share] for k in range(0, len(self.norms), share)]
        return tuple(self._height(max(_size(norm) for norm in group)) for group in groups)

    def _height(self, norm: float) -> float:
        if norm <= FLOOR or self.top <= FLOOR:
            return 0.0
        return min(math.log(norm / FLOOR) / math.log(self.top / FLOOR), 1.0)

    @property
    def dies_at(self) -> int | None:
        """The first step, from 1, whose gradient is not below ``FLOOR``, where all before it are
        and gradients came to them; None: it does not vanish."""
        sizes = [_size(norm) for norm in self.norms]
        alive = next((k for k, size in enumerate(sizes) if size >= FLOOR), None)
        if not alive or any(norm is None or math.isnan(norm) for norm in self.norms[:alive]):
            return None
        return alive + 1

    @property
    def zero_before(self) -> int | None:
        """The first step, from 1, whose gradient is not exactly zero, where that of all before it
        is."""
        alive = next((k for k, norm in enumerate(self.norms) if norm != 0), None)
        return alive + 1 if alive else None

    @property
    def broken_from(self) -> int | None:
        """The last step, from 1, to which inf or nan came: the first that the backward met."""
        bad = [k for k, norm in enumerate(self.norms) if norm == math.inf]
        return bad[-1] + 1 if bad else None


def _size(norm: float | None) -> float:
    return norm if norm is not None and math.isfinite(norm) else 0.0


def profile_of(unit: Unit, operations: Operations) -> Profile | None:
    """Return the gradient at each step of a loop; None where it is none, or nothing was measured.

    Args:
        unit: any card.
        operations: of the recording.
    """
    if not unit.steps:
        return None
    norms = tuple(operations.norm_at(step.ops) for step in unit.steps)
    return Profile(norms) if any(norm is not None for norm in norms) else None
