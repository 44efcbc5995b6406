"""What is equal where the same happens: the same lines ran the same functions on the same
parameters, with the same cuts, and gradients came to the same operations. Sizes of batches, values,
and gradients of zeros may differ. Knows no torch.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from gradviz.graph.effects import DETACHED
from gradviz.graph.operations import Operation, Operations
from gradviz.graph.records import Call, ModuleCall

SUM = "add"
SUMS = (SUM, "add_")  # ``0 + x`` is the first step of a running sum, and ``total += x`` a later one


class Step(NamedTuple):
    """One operation, one backward, a module call, or a loop, of the order in which they ran.

    Attributes:
        at: the place of the first operation from here on.
        ops: the operations; of a module call the last one.
        has_backward: whether a backward ran.
        key: what is equal where the same happens.
    """

    at: int
    ops: tuple[int, ...]
    has_backward: bool
    key: Hashable


class Sameness:
    """Compares what happened in one recording.

    Args:
        operations: of the recording.
    """

    def __init__(self, operations: Operations) -> None:
        self.operations = operations
        self._numbers: dict[Hashable, int] = {}  # keys are compared often, and numbers are short

    @cached_property
    def steps(self) -> list[Step]:
        """The operations and the backwards, in the order in which they ran."""
        return [*self._steps(exact=True)]

    @cached_property
    def trained(self) -> list[Step]:
        """The same, without what no loss has and what is done to data outside of modules: an agent
        acts in some iterations, an evaluation is made in others, and an episode begins anew."""
        return self._of_training(self.steps)

    @cached_property
    def trained_loosely(self) -> list[Step]:
        """The same, where it is not compared how many operations before a value was made: of what
        runs again and again until a game is over."""
        return self._of_training(self._steps(exact=False))

    @cached_property
    def whole_calls(self) -> list[Step]:
        """The same, with one step for each call of an outermost module: what ran inside of it is
        not compared, but for its cuts."""
        steps = [*self._steps(exact=False)]
        return [self._whole(list(run)) for _, run in groupby(steps, key=self._outermost)]

    def _outermost(self, step: Step) -> Hashable:
        call = None if step.has_backward else self._module_around(step)
        return id(step) if call is None else call

    def _module_around(self, step: Step) -> ModuleCall | None:
        op = self.operations.all[step.at]
        return self.operations.facts.outermost_module_call(op.call)

    def _whole(self, steps: list[Step]) -> Step:
        """Return one step of those of a module call; another one stays as it is."""
        first, last = steps[0], steps[-1]
        call = None if first.has_backward else self._module_around(first)
        if call is None:
            return first
        key = self._number(self._whole_key(call, [step.at for step in steps]))
        return Step(first.at, last.ops, has_backward=False, key=key)

    def _whole_key(self, call: ModuleCall, places: list[int]) -> Hashable:
        """Return what is equal for module calls in which the same happens, as seen from outside."""
        ops = [self.operations.all[at] for at in places]
        came, broken = (any(some) for some in zip(*map(self._gradient, places), strict=True))
        cuts = (self.operations.facts.cut_of.get((op.call.id, i)) for op in ops for i in op.reads)
        lines = {(c.reason, self._line(self.operations.graph.call[c.call_id])) for c in cuts if c}
        quiet = frozenset(op.call.grad_mode for op in ops)
        return (
            self._line(call),
            call.kind,
            call.path,
            call.training,
            quiet,
            frozenset(lines),
            came,
            broken,
        )

    def _steps(self, *, exact: bool) -> Iterator[Step]:
        waiting = sorted(self.operations.graph.backwards, key=lambda b: -b.call_id)
        begun = 0  # the first operation since the last backward
        for op in self.operations.all:
            if op.at in self.prepared:
                continue
            while waiting and waiting[-1].call_id < op.call.id:
                yield self._backward(op.at, waiting.pop().call_id)
                begun = op.at
            key = self._number(self._key(op, begun, exact=exact))
            yield Step(op.at, (op.at,), has_backward=False, key=key)
        end = len(self.operations.all)
        yield from (self._backward(end, b.call_id) for b in reversed(waiting))

    def _of_training(self, steps: Iterable[Step]) -> list[Step]:
        """Return the steps of what trains: backwards, and what is neither put aside nor of data
        alone."""
        ops = self.operations.all
        return [s for s in steps if s.has_backward or not self._is_beside(ops[s.at])]

    def _is_beside(self, op: Operation) -> bool:
        return self._is_aside(op) or self._is_of_data(op)

    def _is_of_data(self, op: Operation) -> bool:
        """Say whether an operation outside of modules makes data of data."""
        is_data = not (self.operations.tracked[op.at] or any(map(self._trains, op.reads)))
        return is_data and op.call.module_call is None and not self._carries(op)

    def _is_aside(self, op: Operation) -> bool:
        """Say whether no loss has what a module computed where no gradient is recorded, or what was
        made of that."""
        quiet = not op.call.grad_mode and op.at not in self.operations.feeding
        by_hand = op.call.module_call is None and self.operations.reads_weights[op.at]
        return quiet and not by_hand

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    @cached_property
    def prepared(self) -> set[int]:
        """The operations that only prepare data, outside of modules: batches differ in them. So do
        those of a clipping, which are known to write gradients alone where they changed some."""
        found: set[int] = set()
        for op in self.operations.all:
            if self._is_of_data(op) and all(s is None or s in found for s in op.sources):
                found.add(op.at)
        return found

    def _carries(self, op: Operation) -> bool:
        """Say whether an operation detaches what one iteration hands on to the next, as a state
        that is carried through a sequence: what the first one begins with is data."""
        return op.call.function in DETACHED and self._line(op.call) in self._cutting

    @cached_property
    def _cutting(self) -> set[Hashable]:
        """The lines in which something tracked is detached."""
        calls = (self.operations.graph.call[cut.call_id] for cut in self.operations.graph.cuts)
        return {self._line(call) for call in calls if call.function in DETACHED} - {None}

    def is_parameter(self, tensor_id: int) -> bool:
        """Say whether a state is one of a parameter."""
        return self.operations.graph.tensor[tensor_id].object_id in self.operations.weight

    def _trains(self, tensor_id: int) -> bool:
        return self.operations.is_tracked(tensor_id) or self.is_parameter(tensor_id)

    def _backward(self, at: int, call_id: int) -> Step:
        call = self.operations.graph.call.get(call_id)
        is_whole = call_id not in self.operations.facts.error_of_call
        line = call and self._line(call)
        key = self._number(("backward", line, call and call.function, is_whole))
        return Step(at, (), has_backward=True, key=key)

    def _line(self, call: Call | ModuleCall) -> Hashable:
        return call.source and call.source[:2]

    def _key(self, op: Operation, begun: int, *, exact: bool) -> Hashable:
        """Return what is equal for operations of which one does again what the other did; exact:
        whether it counts how many operations before its values were made."""
        call = op.call
        source = call.source
        reads = [
            (i, source)
            for i, source in zip(op.reads, op.sources, strict=True)
            if source is None or not self.goes_on(source, op.at)
        ]
        values = (self._value(op, i, source if exact else None, begun) for i, source in reads)
        return (
            SUM if call.function in SUMS else call.function,
            source and (*source[:2], source.off),
            self._module(call.module_call),
            call.grad_mode,
            call.inference_mode,
            tuple(dict.fromkeys(values)),  # of a batch of samples, however many: one
            tuple(self.operations.is_tracked(i) for i in op.makes),
            self._gradient(op.at),
        )

    def goes_on(self, at: int, user: int) -> bool:
        """Say whether an operation adds to the sum that the same line made before, with gradients:
        a counter is none."""
        one, other = self.operations.all[at].call, self.operations.all[user].call
        tracked = self.operations.tracked[at] and self.operations.tracked[user]
        both = tracked and one.function in SUMS and other.function in SUMS
        return both and one.source is not None and self._line(one) == self._line(other)

    def is_running(self, at: int) -> bool:
        """Say whether an operation is a step of a sum to which one line adds again and again."""
        op = self.operations.all[at]
        beside = [*op.sources, *self.operations.users[at]]
        return any(k is not None and self.goes_on(k, at) for k in beside)

    def place(self, at: int) -> Hashable:
        """Return what operations have in common that one line makes in the same way."""
        call = self.operations.all[at].call
        return call.function, self._line(call)

    def _module(self, call_id: int | None) -> Hashable:
        """Return what kind of module ran, and the modules around it, with their modes. Which it
        was its parameters tell: ``model[:2]`` is another module each time."""
        facts = self.operations.facts
        around = (facts.module_call[i] for i in facts.module_calls_around(call_id))
        return tuple((c.kind, c.path, c.training) for c in around)

    def _value(self, op: Operation, tensor_id: int, source: int | None, begun: int) -> Hashable:
        """Return where a value came from: which parameter, or how many operations before."""
        cut = self.operations.facts.cut_of.get((op.call.id, tensor_id))
        state = self.operations.graph.tensor[tensor_id]
        origin: Hashable = "earlier"
        if state.object_id in self.operations.weight:
            origin = "parameter", state.object_id
        elif source is not None and source >= begun and not self._is_given(op, source):
            origin = op.at - source
        elif self._carries(op):
            return origin, None, None  # tracked from the second iteration on
        return origin, bool(state.requires_grad), cut and cut.reason

    def _is_given(self, op: Operation, source: int) -> bool:
        """Say whether a value is data to an operation, however long before it was made: it was
        prepared, or made without a gradient outside of modules or by what records none, as what a
        rollout collects for the steps after it."""
        made_by = self.operations.all[source].call
        loose = made_by.module_call is None and not self.operations.tracked[source]
        return source in self.prepared or loose or (op.call.grad_mode and not made_by.grad_mode)

    def _gradient(self, at: int) -> Hashable:
        """Return whether gradients came to an operation, and whether any was nan or inf."""
        sent = self.operations.sent_to.get(at, ())
        return bool(sent), any(one.is_broken for one in sent)
