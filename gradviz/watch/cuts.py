"""Which nodes a call made, and which of its inputs its result is still connected to. The proof
behind every cut.

Nodes are known by a serial kept in their own metadata, never by ``id()`` and never by holding them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import NoneType
from typing import Any

import torch

from gradviz.graph.preview import LIMIT
from gradviz.graph.records import CutReason, SavedState
from gradviz.watch import torch_private
from gradviz.watch.entries import Block, CallRecord, NodeRecord, Object, Saved, State, Write
from gradviz.watch.functions import CASTS, Role
from gradviz.watch.identity import Objects
from gradviz.watch.walk import _BLOCK, SLOT, Slot, _guard, guard_new, new_serial, serial

STEP_LIMIT = 10_000  # nodes followed behind one call


_blank, _row = object.__new__, tuple.__new__  # quicker than calling the class
_raw_number, _NO_NUMBER = torch_private.raw_number, torch_private.RAW_NO_NUMBER
_NEVER_RESULTS = frozenset(
    {"self", "other", "exponent", "input", "weight", "mat1", "mat2", "mask", "condition"}
)


def constant(attribute: str, data: torch.Tensor) -> bool:
    """Did a node save a constant, such as the 2 of ``a * 2``? Asked of a tensor that is none of the
    known ones."""
    return (
        attribute in _NEVER_RESULTS
        and not data.requires_grad
        and torch_private.base_of(data) is None
    )


class Nodes:
    """The nodes of one recording, met one call at a time."""

    def __init__(self) -> None:
        self.start = torch_private.next_sequence_nr()
        self.met: set[int] = set()  # recorded
        self.stubs: set[int] = set()
        self.leaves: set[int] = set()  # AccumulateGrad nodes by which leaves are known
        self.unplaced = False  # was a tensor saved that may be a result of the call?
        self.kinds: dict[type, tuple[str, bool, Sequence[tuple[str, str]]]] = {}  # see `kind`
        self.new: list[NodeRecord] = []  # met since the recorder last collected them
        self.see: Callable[[torch.Tensor], Object]  # Objects.see, set by the recorder
        self.known: Callable[[torch.Tensor], Object | None]
        self.kin: Callable[[int], State | None]

    def forget_leaves(self) -> None:
        """Note every leaf again when it is met: its record may be among those that a full log
        drops."""
        self.met -= self.leaves
        self.leaves.clear()

    def collect(self) -> list[NodeRecord]:
        """Hand over the nodes met since the last time."""
        new, self.new = self.new, []
        return new

    def meet(self, node: Any) -> int:
        """The serial of ``node``; the node and what is younger than the recording behind it are
        recorded."""
        slot = node.metadata.get(SLOT)
        if slot is not None and slot[0] in self.met:
            return slot[0]  # type: ignore[no-any-return]
        number = _raw_number(node)
        if number < self.start:
            own = serial(node)
            if own not in self.stubs:
                self.stubs.add(own)
                self.new.append(
                    NodeRecord(
                        own, torch_private.node_name(node), torch_private.is_custom(node), stub=True
                    )
                )
            return own
        todo: list[Any] = []
        first = self._record(node, number, todo)
        steps = 0
        while todo and steps < STEP_LIMIT:
            steps += 1
            self.record(todo.pop(), todo)
        return first

    def record(self, node: Any, todo: list[Any], *, again: bool = False) -> int:
        """Record one node, whatever its age; young nodes behind it are added to ``todo``. Returns
        its serial."""
        own = serial(node)
        return own if own in self.met and not again else self._record(node, _raw_number(node), todo)

    def _record(self, node: Any, number: int, todo: list[Any]) -> int:
        functions = node.next_functions
        own = guard_new(node, functions)
        behind = tuple(
            (None, nr, "", 0) if child is None else self._behind(child, nr, todo)
            for child, nr in functions
        )
        name, custom, saves = self.kind(node)
        self.met.add(own)
        known_number, saved = (
            None if number == _NO_NUMBER else number,
            self._saved(node) if saves else (),
        )
        self.new.append(NodeRecord(own, name, custom, None, known_number, behind, saved))
        return own

    def _behind(self, child: Any, input_nr: int, todo: list[Any]) -> Slot:
        below, _, name, number = child.metadata.get(SLOT) or (
            serial(child),
            0,
            self.kind(child)[0],
            _raw_number(child),
        )
        if below not in self.met:
            if name == "AccumulateGrad":
                below = self.accumulate_grad(child)
            elif number >= self.start:
                todo.append(child)
        return below, input_nr, name, number

    def kind(self, node: Any) -> tuple[str, bool, Sequence[tuple[str, str]]]:
        """(name, custom Function?, what it may save): the same for every node of a class, so looked
        up once."""
        cls = type(node)
        found = self.kinds.get(cls)
        if found is None:
            found = (
                torch_private.node_name(node),
                torch_private.is_custom(node),
                torch_private.raw_names(cls),
            )
            if cls.__name__ != "CppFunction":  # one class for many kinds of nodes
                self.kinds[cls] = found
        return found

    def accumulate_grad(self, node: Any) -> int:
        """AccumulateGrad is made anew when nothing holds it, so it is known by its leaf."""
        tensor = torch_private.leaf_of(node)
        leaf = None if tensor is None else self.see(tensor)
        if leaf is None:  # nothing but this node tells of it
            own = serial(node)
        else:
            own = leaf.accumulate_grad = (
                serial(node) if leaf.accumulate_grad is None else leaf.accumulate_grad
            )
            self.leaves.add(own)
        if own not in self.met:
            self.met.add(own)
            self.new.append(
                NodeRecord(own, "AccumulateGrad", leaf=None if leaf is None else leaf.state)
            )
        return own

    def _saved(self, node: Any) -> tuple[Saved, ...]:
        found = []
        for attribute, data, status, version in torch_private.saved_tensors(node):
            owner = self.known(data)
            # a result that was saved as it is has none yet
            if owner is not None and hasattr(owner, "state"):
                state = owner.state
                found.append(_row(Saved, (attribute, state, None, None, state.version, status)))
            elif isinstance(data, torch.Tensor):
                found.append(self._saved_other(attribute, data, status, version))
            else:
                found.append(_row(Saved, (attribute, None, None, None, version, status)))
        return tuple(found)

    def _saved_other(
        self, attribute: str, data: torch.Tensor, status: SavedState, version: int | None
    ) -> Saved:
        """A saved tensor that is no object we know: a result, a view that the call made of an
        input, a constant."""
        base, kin = torch_private.base_of(data), None
        if constant(attribute, data):
            return _row(Saved, (attribute, None, None, None, version, status))
        span = torch_private.storage_range(data)
        start = None if span is None else span[0]
        if base is not None and (known := self.known(base)) is not None:
            kin = known.state
        elif start is not None and data.requires_grad:
            kin = self.kin(start)
        self.unplaced = self.unplaced or attribute not in _NEVER_RESULTS
        return Saved(attribute, None, start, kin, version, status)


def tie_results(nodes: list[NodeRecord], outputs: list[State]) -> None:
    """The nodes' saved results tied to the outputs: same memory, made by this very node."""
    by_node: dict[int | None, list[State]] = {}
    for state in outputs:
        by_node.setdefault(state.node, []).append(state)

    def tie(node: NodeRecord, saved: Saved) -> Saved:
        if saved.start is not None:
            for state in by_node.get(node.serial, ()):
                if state.block is not None and state.block.start == saved.start:
                    return saved._replace(state=state, version=state.version)
        return saved

    for node in nodes:
        node.saved = [tie(node, s) for s in node.saved]


# --- the usual call -------------------------------------------------------------------------------
#  Known tensors in, one new tensor out, one new node that leads straight to all of them: nearly
# every call is like that, and then nothing has to be proven. So it is noted in one straight line.
# Everything is read before anything is changed: whatever turns out to be unusual is left to the
# general way, as if nothing had been tried. Both give the same graph.

# Logged as one flat tuple, which costs the garbage collector less than records do; ``calls.unfold``
# makes these of it: "usual", function, site, result, slot of its node, edges, saved tensors, then
# the state or None of each argument.
Entry = tuple[Any, ...]

_TENSOR, _PARAMETER = torch.Tensor, torch.nn.Parameter
_NO_TENSORS = frozenset(
    {int, float, bool, complex, str, NoneType, torch.Size, torch.dtype, torch.device}
)
_AVAILABLE, _raw_version = SavedState.AVAILABLE, torch_private.raw_version


def given(objects: Objects, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
    """For each positional argument its state, None for a number. None if any is a list, or a new or
    changed tensor."""
    by_id: dict[int, Any] = objects.by_id
    exposed, states = objects.exposed, []
    wary = objects.deferred or exposed
    for value in args:
        kind = type(value)
        if kind is _TENSOR or kind is _PARAMETER:
            own = by_id.get(id(value))
            if own is None or own() is not value or (wary and _needs_a_look(own, exposed)):
                return None
            state = own.state
            if (
                _raw_version(value) != state.version
                or value.requires_grad is not state.requires_grad
            ):
                return None
            states.append(state)
        elif kind in _NO_TENSORS:
            states.append(None)
        else:
            return None
    return states if not kwargs or _hold_no_tensors(kwargs.values()) else None


def _needs_a_look(own: Object, exposed: set[Block]) -> bool:
    """Tell whether a tensor may have changed though its version and flag are the same."""
    state = own.state
    return own.deferred or (state.values is not None and state.block in exposed)


def _hold_no_tensors(values: Iterable[Any]) -> bool:
    return all(type(value) in _NO_TENSORS for value in values)


def entry(
    objects: Objects,
    nodes: Nodes,
    name: str,
    site: Any,
    run: Any,
    states: Sequence[State | None],
    args: Any,
    t: Any,
) -> Entry | None:
    """The log's entry for a usual call that has just returned ``t``; None, and nothing changed, for
    any other call."""
    key, by_id, met = id(t), objects.by_id, nodes.met
    if (
        type(t) is not _TENSOR
        or ((own := by_id.get(key)) is not None and own() is t)
        or torch_private.moved(args, states)
    ):
        return None  # no new tensor, or an input was written
    state = _blank(State)
    (
        state.shape,
        state.stride,
        state.storage_offset,
        state.dtype,
        state.device,
        state.requires_grad,
        state.version,
        base,
        state.retains_grad,
        state.output_nr,
        grad_fn,
        on_cpu,
    ) = torch_private.facts(t)
    start, nbytes = torch_private.storage_range(t) or (0, 0)
    tracked, full = grad_fn is not None, len(objects.blocks) > objects.sweep_at
    if state.retains_grad or state.requires_grad is not tracked or not on_cpu or not start or full:
        return None
    block: Any = objects.blocks.get(start)
    viewed: Any = None if base is None else by_id.get(id(base))
    if base is None:
        for member in block or ():
            if member() is not None:
                return None  # memory that is known, and yet no view
    elif viewed is None or viewed() is not base or block is None or viewed.state.block is not block:
        return None
    state.values = t.tolist() if t.numel() <= LIMIT else None
    slot: Any = None
    behind, reached, saved, guarded = [], [], [], False
    if tracked:
        metadata, functions, number = grad_fn.metadata, grad_fn.next_functions, _raw_number(grad_fn)
        kind = nodes.kinds.get(type(grad_fn)) or nodes.kind(grad_fn)
        if SLOT in metadata or kind[1] or not nodes.start <= number < _NO_NUMBER:
            return None
        lowest = number - number % _BLOCK
        for child, input_nr in functions:
            if child is None:
                behind.append((None, input_nr, "", 0))
                continue
            below = child.metadata.get(SLOT)
            if input_nr or below is None or (below[0] not in met and below[3] >= nodes.start):
                return None
            guarded = guarded or not (lowest <= below[3] < number or below[3] == _NO_NUMBER)
            reached.append(below[0])
            behind.append(below)
        for attribute, short in kind[2]:
            data = torch_private.plainly_saved(
                grad_fn, attribute
            )  # raises where more care is needed
            if data is not None:
                own, version = by_id.get(id(data)), _raw_version(data)
                if own is not None and own() is data and own.state.version == version:
                    known: Any = own.state
                elif own is None and constant(short, data):
                    known = None
                elif torch_private.storage_range(data) == (start, nbytes) and base is None:
                    known = state  # the result, as another object
                else:
                    return None
                saved.append(_row(Saved, (short, known, None, None, version, _AVAILABLE)))
    for before in states:
        if before is not None and before.tracked:
            node = before.object.accumulate_grad if before.node is None else before.node
            if node not in reached or before.output_nr:
                return None
    # It is a usual call. Nothing below can fail.
    if tracked:
        metadata[SLOT] = slot = (new_serial(), 0, kind[0], number)
        met.add(slot[0])
        if guarded:
            _guard(grad_fn, functions)
    state.is_leaf, state.tracked, state.node = not tracked, tracked, slot and slot[0]
    state.grad, state.base = None, viewed
    state.object = by_id[key] = found = Object(t, objects.died)
    found.key, found.made, found.state = key, True, state
    if base is None:
        objects.blocks[start] = block = Block()
        block.start, block.nbytes, block.device = start, nbytes, state.device
    found.counter, state.block = object() if base is None else viewed.counter, block
    block.append(found)
    return ("usual", name, site, run, state, slot, tuple(behind), tuple(saved), *states)


Key = tuple[Any, int]  # a gradient edge: (node serial, output_nr), or (leaf object, 0)


def _edges_of(state: State) -> list[Key]:
    """The gradient edge of a state. A tracked leaf is known by itself too: no graph may use it
    yet."""
    if state.node is not None:
        return [(state.node, state.output_nr)]
    if not state.tracked:
        return []
    own = state.object
    return [(own, 0)] if own.accumulate_grad is None else [(own, 0), (own.accumulate_grad, 0)]


def is_connected(state: State, edges: set[Key]) -> bool:
    """Do these edges lead to the state?"""
    return any(e in edges for e in _edges_of(state))


def is_plain(inputs: list[State], outputs: list[State], made: list[NodeRecord]) -> bool:
    """Quickly: one result, and its node leads straight to every tracked input?"""
    if not made or len(outputs) != 1 or made[-1].serial != outputs[0].node:
        return False
    behind = {(to, nr) for to, nr, _, _ in made[-1].next if to is not None}
    own = [
        (s.object.accumulate_grad if s.node is None else s.node, s.output_nr)
        for s in inputs
        if s.tracked
    ]
    return behind.issuperset(own)


def reached(outputs: Iterable[State], nodes: Iterable[NodeRecord]) -> set[Key]:
    """Every gradient edge that the outputs of one call lead to, within the nodes that this call
    made."""
    by_serial = {n.serial: n for n in nodes}
    found: set[Key] = set()
    todo = [e for state in outputs for e in _edges_of(state)]
    while todo:
        edge = todo.pop()
        if edge in found:
            continue
        found.add(edge)
        node = by_serial.get(edge[0])
        if node is not None:
            todo.extend((s, nr) for s, nr, _, _ in node.next if s is not None)
    return found


def leads_to(results: list[torch.Tensor], state: State, inputs: list[State]) -> bool:
    """Does a path that avoids every other input lead from the results to ``state``?

    A call may reach an input through nodes of an earlier one: autocast keeps its half-precision
    copy of a weight.
    """
    wanted = {serial for serial, _ in _edges_of(state)}
    stops = {
        serial for other in inputs if other is not state for serial, _ in _edges_of(other)
    } - wanted
    todo = [t.grad_fn for t in results if t.grad_fn is not None]
    seen: set[int] = set()
    while todo and len(seen) < 1000:
        node: Any = todo.pop()
        own = serial(node)
        if own in seen or own in stops:
            continue
        seen.add(own)
        for child, _ in node.next_functions:
            if child is not None:
                if serial(child) in wanted or _fills(child, state):
                    return True
                todo.append(child)
    return False


def _fills(node: Any, state: State) -> bool:
    """Tell whether a node is the AccumulateGrad of the state's tensor."""
    return torch_private.is_accumulate_grad(node) and torch_private.leaf_of(node) is state.object()


def unexplained(inputs: list[State], made: list[NodeRecord]) -> bool:
    """Do the new nodes lead somewhere that no input is known to stand for? Then a view's grad_fn
    was built anew."""
    explained: set[Key] = {e for state in inputs for e in _edges_of(state)}
    own = {n.serial for n in made if n.name != "AccumulateGrad"}
    slots = {(s, nr) for n in made for s, nr, _, _ in n.next if s is not None}
    return len(own) > 1 or any(slot not in explained and slot[0] not in own for slot in slots)


def judged(call: CallRecord, writes: list[Write]) -> list[State]:
    """The tracked inputs whose values the call reads: no destination of a write, no tensor asked
    for its shape."""
    role, written = call.role, {before.object for before, _, alias in writes if not alias}
    found = []
    for at, state in enumerate(call.inputs):
        place = call.args_at[at]
        if not state.tracked:
            continue
        if role in (Role.FLAG, Role.DETACH_IN_PLACE):
            reads = any(before is state and not after.tracked for before, after, _ in writes)
        elif role in (Role.FACTORY, Role.DATA_SET):
            reads = at > 0 and state.object not in written
        elif role is Role.SHAPE_OF_OTHER:
            reads = place == 0 and state.object not in written
        else:
            reads = state.object not in written and not (
                call.function == "new_tensor" and place == 0
            )
        if reads:
            found.append(state)
    return found


_BY_ROLE = {
    Role.DETACH: CutReason.DETACH,
    Role.DETACH_IN_PLACE: CutReason.DETACH_IN_PLACE,
    Role.DATA_GET: CutReason.DATA,
    Role.DATA_SET: CutReason.DATA,
    Role.COPIED_OUT: CutReason.COPIED_OUT,
    Role.FLAG: CutReason.FLAG_OFF,
}


def reason(call: CallRecord, output: State | None, wrote: bool) -> CutReason:
    """The word for a cut that is already proven."""
    by_role = _BY_ROLE.get(call.role)
    if by_role is not None:
        return by_role
    if call.inference_mode:
        return CutReason.INFERENCE_MODE
    if not call.grad_mode:
        return CutReason.NO_GRAD_WRITE if wrote else CutReason.NO_GRAD
    if call.role is Role.COMPARED_OUT:
        return CutReason.NOT_DIFFERENTIABLE
    if output is None or output.dtype is None:
        return CutReason.UNKNOWN
    if not (output.dtype.is_floating_point or output.dtype.is_complex) and call.function in CASTS:
        return CutReason.INTEGER_DTYPE
    return CutReason.NOT_DIFFERENTIABLE
