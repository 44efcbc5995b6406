"""Which hooks stand on which gradient, and whether a gradient was changed between two nodes. Holds
no tensor.

What the engine hands to a node is the sum of what the nodes before it sent. Hooks on the tensor run
between the two; nothing can be put before them without moving them, so the sum is compared with
what arrives.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

import torch

from gradviz.watch import torch_private

if TYPE_CHECKING:
    from gradviz.watch.entries import CallRecord
    from gradviz.watch.walk import Walk

# shape; if small, elements; if not, place in Run.norms
Value = tuple[tuple[int, ...] | None, Any, int | None]
Slot = tuple[int, int]  # serial of a node, input_nr

_raw_version, _NO_NUMBER = torch_private.raw_version, torch_private.NO_NUMBER
CLOSE = 1e-5  # relative difference of two norms that were added up in another order


class Hook(NamedTuple):
    """A hook that was registered: the call, whose only input is the tensor, and where torch keeps
    it."""

    call: CallRecord
    kept_in: ref[Any]
    key: int


class Hooks(deque[Hook]):
    """The hooks of one recording, the newest ones."""

    def note(self, call: CallRecord, handle: Any) -> None:
        self.append(Hook(call, handle.hooks_dict_ref, handle.id))

    def standing(self) -> tuple[dict[Slot, list[CallRecord]], dict[int, list[CallRecord]]]:
        """Return the registrations that are in force: on gradients by slot, and after accumulating
        by serial."""
        on: dict[Slot, list[CallRecord]] = {}
        after: dict[int, list[CallRecord]] = {}
        for hook in [h for h in self if h.key in (h.kept_in() or ())]:
            state = hook.call.inputs[0]
            at = state.object.accumulate_grad if state.node is None else state.node
            if at is not None and hook.call.function == "register_hook":
                on.setdefault((at, state.output_nr), []).append(hook.call)
            elif at is not None:
                after.setdefault(at, []).append(hook.call)
        return on, after


class Sent(NamedTuple):
    """What a node sent along one edge."""

    value: Value | None
    tensor: ref[torch.Tensor] | None
    version: int | None


NOTHING = Sent(None, None, None)


class Inlet(list[Sent]):
    """What one run has sent to one slot so far, until the node there takes it."""

    __slots__ = ("slot", "wanted")

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        self.wanted = 0  # how many edges lead there

    def taken_as_sent(self, grads: Sequence[Any]) -> Value | None:
        """Return ``take_as_sent`` of the only gradient that arrives at a node; None where there are
        several, or anything else could see that it is read."""
        if len(grads) != 1 or type(grads[0]) is not torch.Tensor or torch_private.outer_modes():
            return None
        return self.take_as_sent(grads[0])

    def take_as_sent(self, grad: torch.Tensor) -> Value | None:
        """Take the value of a large gradient that arrives as the one node sent it that sends any
        there: the very tensor, unwritten since. None where more has to be asked."""
        if len(self) != 1 or self.wanted != 1:
            return None
        value, tensor, version = self[0]
        if value is None or value[2] is None or tensor is None or tensor() is not grad:
            return None
        if version != _raw_version(grad):
            return None
        self.clear()
        return value

    def changed(
        self, grad: torch.Tensor, value: Value, norms: Sequence[Any], hooked: bool
    ) -> tuple[Value | None] | None:
        """Return what the engine had for this slot, as a tuple of one, where something else
        arrives. None where it is the same, or where that is not known: large gradients are not
        kept, so they cannot be added up."""
        sent = list(self)
        self.clear()
        if not sent or len(sent) != self.wanted:
            return None  # not this run's: a backward inside of it
        if _is_as_sent(sent, grad):
            return None
        values = [s.value for s in sent if s.value is not None]
        if not values:
            return (None,)
        if _are_alike(values, value):
            terms = [v[1] for v in values]
            return (
                None if adds_up(terms, value[1], grad.dtype) else ((value[0], added(terms), None),)
            )
        before = values[0] if len(values) == 1 else (value[0], None, None)
        # the same size, and yet maybe not the same
        return (before,) if hooked or _differ_in_size(before, value, norms) else None


class Edges:
    """The slots of a graph that one run goes through.

    Attributes:
        into: for each node of the walk, the inlets of its slots.
        out: for each node of the walk, the inlet that each of its edges leads to.
        leaf_behind: for each node of the walk, the place of the only AccumulateGrad that it sends
            to, and along which edge; None where there is none, or several.
    """

    def __init__(self, graph: Walk, serials: Sequence[int]) -> None:
        self.into: list[list[Inlet]] = [[] for _ in serials]
        self.out: list[list[Inlet | None]] = []
        self.leaf_behind: list[tuple[int, int] | None] = []
        index, into, numbers = graph.index, self.into, graph.numbers
        for functions in graph.next:
            led: list[Inlet | None] = []
            leaves: list[tuple[int, int]] = []
            self.out.append(led)
            for node, nr in functions:
                if node is None:
                    led.append(None)
                    continue
                at = index[node]
                if numbers[at] == _NO_NUMBER:
                    leaves.append((at, len(led)))
                inlets = into[at]
                while len(inlets) <= nr:
                    inlets.append(Inlet((serials[at], len(inlets))))
                inlet = inlets[nr]
                inlet.wanted += 1
                led.append(inlet)
            self.leaf_behind.append(leaves[0] if len(leaves) == 1 else None)

    def begin(self, at: int, serial: int, nr: int, value: Value | None) -> None:
        """Note what the run starts with at a slot of the node at this place; None: not known, and
        then what is known is never complete there."""
        inlets = self.into[at]
        inlets += [Inlet((serial, n)) for n in range(len(inlets), nr + 1)]
        inlets[nr].wanted += 1
        if value is not None:
            inlets[nr].append(Sent(value, None, None))


def _is_as_sent(sent: Sequence[Sent], grad: torch.Tensor) -> bool:
    """Tell whether what arrives is the very tensor that one node sent, unwritten since."""
    there = [s for s in sent if s.value is not None]
    if len(there) != 1:
        return False
    _, tensor, version = there[0]
    return tensor is not None and tensor() is grad and version == torch_private.version(grad)


def _are_alike(values: Sequence[Value], value: Value) -> bool:
    """Tell whether the elements of all these are known, and of one shape: then they add up."""
    return value[1] is not None and all(v[1] is not None and v[0] == value[0] for v in values)


def _differ_in_size(before: Value, after: Value, norms: Sequence[Any]) -> bool:
    """Tell whether the norms of two gradients are known, and are not the same."""
    sizes = [None if v[2] is None else norms[v[2]] for v in (before, after)]
    return all(isinstance(size, float) for size in sizes) and not _close(*sizes)


def added(values: Sequence[Any]) -> Any:
    """Add nested lists of one shape, element by element.

    >>> added([[1.0, 2.0], [3.0, 4.0]]), added([5.0])
    ([4.0, 6.0], 5.0)
    """
    if isinstance(values[0], list):
        return [added(same) for same in zip(*values, strict=True)]
    return values[0] if len(values) == 1 else sum(values)


def put_in(
    incoming: Value, before: Value | None, stored: Value | None, dtype: torch.dtype
) -> Value | None:
    """Return what AccumulateGrad made of a ``.grad``, if that is not what is stored after the hooks
    that run then."""
    unknown = incoming if stored is None else None
    if incoming[1] is None:  # as most: it is large
        return unknown
    parts = [incoming] if before is None else [before, incoming]
    if any(v[1] is None or v[0] != incoming[0] for v in parts):
        return unknown
    terms = [v[1] for v in parts]
    if stored is not None and (stored[1] is None or adds_up(terms, stored[1], dtype)):
        return None
    return incoming[0], added(terms), None


def adds_up(terms: Sequence[Any], found: Any, dtype: torch.dtype) -> bool:
    """Tell whether ``found`` is the sum of the terms, but for what rounding in this dtype does to
    terms of their size.

    >>> adds_up([[0.1], [0.2]], [0.30000001], torch.float32)
    True
    >>> adds_up([[0.1], [0.2]], [0.31], torch.float32)
    False
    >>> adds_up([1e8, 1.5, -1e8], 0.0, torch.float32)  # what is small is lost beside what is large
    True
    """
    if len(terms) == 1 and terms[0] == found:  # as nearly always
        return True
    info = torch.finfo(dtype) if dtype.is_floating_point or dtype.is_complex else None
    loose, most = (info.eps * len(terms), info.max) if info else (0.0, math.inf)
    for b, *parts in zip(_flat(found), *map(_flat, terms), strict=True):
        a, room = sum(parts), loose * sum(map(abs, parts))
        same = (
            a == b
            or (a != a and b != b)
            or abs(a - b) <= room < math.inf
            or most < abs(a) == abs(a)
        )
        if not same:
            return False
    return True


def _flat(nested: Any) -> Iterator[Any]:
    for one in nested if isinstance(nested, list) else ():
        yield from _flat(one)
    if not isinstance(nested, list):
        yield nested


def _close(one: Any, two: Any) -> bool:
    return bool(
        one == two
        or (one != one and two != two)
        or abs(one - two) <= CLOSE * max(one, two) < math.inf
    )


def ones(shape: tuple[int, ...] | None) -> Value | None:
    """Return what backward() starts with where nothing was given: 1 for a tensor of one element.

    >>> ones((1, 1)), ones(())
    (((1, 1), [[1.0]], None), ((), 1.0, None))
    """
    if shape is None or math.prod(shape) != 1:
        return None
    value: Any = 1.0
    for _ in shape:
        value = [value]
    return shape, value, None
