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
from gradviz.watch.entries import (
    Block,
    CallRecord,
    NodeRecord,
    Object,
    Places,
    Saved,
    State,
    Write,
)
from gradviz.watch.functions import CASTS, Role
from gradviz.watch.identity import Objects
from gradviz.watch.walk import BLOCK, SLOT, Slot, Walk, guard, guard_new, new_serial, serial

STEP_LIMIT = 10_000  # nodes followed behind one call


_blank, _row = object.__new__, tuple.__new__  # quicker than calling the class
_raw_number, _NO_NUMBER = torch_private.raw_number, torch_private.RAW_NO_NUMBER
_NEVER_RESULTS = frozenset(
    {"self", "other", "exponent", "input", "weight", "mat1", "mat2", "mask", "condition"}
)
_AVAILABLE, _raw_version = SavedState.AVAILABLE, torch_private.raw_version
_FEW_NODES = 16  # of one usual call


def constant(attribute: str, data: torch.Tensor) -> bool:
    """Tell whether a node saved a constant, such as the 2 of ``a * 2``. Asked of a tensor that is
    none of the known ones."""
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
        self.by_id: dict[int, Object]

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
        """Return the serial of ``node``; the node and what is younger than the recording behind it
        are recorded."""
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

    def record_all(self, graph: Walk, *, again: bool) -> list[int]:
        """Record every node of a walk, whatever its age. Returns their serials."""
        serials, met = [], self.met
        for node, number in zip(graph.nodes, graph.numbers, strict=True):
            metadata: Any = node.metadata
            slot = metadata.get(SLOT)
            if number == torch_private.NO_NUMBER:
                serials.append(self.accumulate_grad(node))
            elif slot is not None and slot[0] in met and not again:
                serials.append(slot[0])
            else:
                serials.append(self.record(node, [], again=again))
        return serials

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
        """Return (name, custom Function?, what it may save): the same for every node of a class, so
        looked up once."""
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
        """Return an AccumulateGrad, which is made anew when nothing holds it, so it is known by its
        leaf."""
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
        """Return a saved tensor that is no object we know: a result, a view that the call made of
        an input, a constant."""
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

    # --- the nodes of a usual call, see below ---

    def take_few(
        self, top: Any, result: State, start: int, made: list[Any], reached: set[ShortKey]
    ) -> bool:
        """Read the nodes of a call that has few of them, all plain ones: the same nodes in the same
        order as ``meet`` has them. ``keep_few`` records them.

        Args:
            top: the node of the result.
            result: the state of the result.
            start: where its memory begins.
            made: the nodes are added to it.
            reached: the gradient edges that they lead to are added to it, each as a ``ShortKey``.

        Returns:
            False where more care is needed.
        """
        met, first, kinds = self.met, self.start, self.kinds
        pending: dict[int, Slot] = {}  # of nodes that are still to be read, by id
        held: list[Any] = []  # up to torch 2.12 the id() of a node that nobody holds is used again
        todo, taken = [top], 0
        while todo:
            node = todo.pop()
            metadata, number = node.metadata, _raw_number(node)
            if SLOT in metadata:
                if id(node) in pending:
                    continue  # two edges led there
                return False
            name, custom, attributes = kinds.get(type(node)) or self.kind(node)
            if custom or not first <= number < _NO_NUMBER:
                return False
            functions = node.next_functions
            behind: list[Slot] = []
            guarded, lowest = False, number - number % BLOCK
            for child, input_nr in functions:
                if child is None:
                    behind.append((None, input_nr, "", 0))
                    continue
                slot = child.metadata.get(SLOT) or pending.get(id(child))
                if slot is None:
                    slot = self._new_slot(child)
                    if slot[3] != _NO_NUMBER:
                        if slot[3] < first or len(pending) > _FEW_NODES:
                            return False
                        pending[id(child)] = slot
                        held.append(child)
                        todo.append(child)
                own, _, _, below = slot
                if own not in met:
                    if below == _NO_NUMBER:
                        own = self.accumulate_grad(child)
                        slot = own, 0, slot[2], below
                    elif below >= first and id(child) not in pending:
                        return False
                if below >= number or below < lowest:
                    guarded = guarded or below != _NO_NUMBER
                if input_nr:
                    reached.add((own, input_nr))
                    behind.append((own, input_nr, slot[2], below))
                else:
                    reached.add(own)
                    behind.append(slot)
            saved: tuple[Any, ...] | None = ()
            if attributes:
                own_result = result if node is top else None
                saved = self._plainly_saved(node, attributes, own_result, start)
                if saved is None:
                    return False
            metadata[SLOT] = slot = pending.get(id(node)) or (new_serial(), 0, name, number)
            if guarded:
                guard(node, functions)
            if len(self.new) > taken:  # leaves were met on the way
                made += self.new[taken:]
                taken = len(self.new)
            made.append((slot[0], name, number, tuple(behind), saved))
        return True

    def _new_slot(self, child: Any) -> Slot:
        number = _raw_number(child)
        if number == _NO_NUMBER:
            child.metadata[SLOT] = slot = new_serial(), 0, "AccumulateGrad", number
            return slot
        return new_serial(), 0, self.kind(child)[0], number

    def keep_few(self, made: list[Any]) -> None:
        """Record what ``take_few`` has read."""
        self.new.clear()
        for node in made:
            if type(node) is tuple:
                self.met.add(node[0])

    def _plainly_saved(
        self, node: Any, attributes: Any, result: State | None, start: int
    ) -> tuple[Any, ...] | None:
        """Read what a node has just saved, see ``Kept``; None, or an error, where more care is
        needed."""
        saved: list[Any] = []
        by_id = self.by_id
        for short, data in torch_private.plainly_saved(node, attributes):
            owner = by_id.get(id(data))
            if owner is not None and owner() is data:
                state = owner.state
                if state.version != _raw_version(data):
                    return None
                saved.append((short, state))
                continue
            found = self._saved_unknown(short, data, result, start)
            if found is None:
                return None
            saved.append(found)
        return tuple(saved)

    def _saved_unknown(
        self, short: str, data: torch.Tensor, result: State | None, start: int
    ) -> Saved | None:
        """Read the same of one tensor that is no object we know, as ``_saved_other`` has it; of
        those that lie in the memory of the result, only the result itself."""
        version, base = _raw_version(data), torch_private.base_of(data)
        if base is None and short in _NEVER_RESULTS and not data.requires_grad:
            return _row(Saved, (short, None, None, None, version, _AVAILABLE))
        span = torch_private.storage_range(data)
        at = None if span is None else span[0]
        if result is not None and at == start:
            if short in _NEVER_RESULTS:
                return None
            return _row(Saved, (short, result, None, None, version, _AVAILABLE))
        kin = None
        if base is not None and (known := self.known(base)) is not None:
            kin = known.state
        elif at is not None and data.requires_grad:
            kin = self.kin(at)
        return _row(Saved, (short, None, at, kin, version, _AVAILABLE))


def tie_results(nodes: list[NodeRecord], outputs: list[State]) -> None:
    """Return the nodes' saved results tied to the outputs: same memory, made by this very node."""
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
# Tensors in, one new tensor out, a few new nodes that lead to all of them: nearly every call is
# like that, and then nothing has to be proven. So it is noted in one straight line. Everything is
# read before anything is changed, but for leaves and guards, which the general way would have noted
# too: whatever turns out to be unusual is left to it. Both give the same graph.

# Logged as one tuple, which costs the garbage collector less than records do; ``stack.unfold``
# makes these of it: "usual", function, site, module's call, did the user's own code make it,
# keywords of the last arguments, result, its nodes, then the state or None of each argument; where
# tensors stand in a list, ``Places`` in place of the keywords, and the state of each tensor.
Entry = tuple[Any, ...]

_TENSOR, _PARAMETER = torch.Tensor, torch.nn.Parameter
NO_TENSORS = frozenset(
    {int, float, bool, complex, str, NoneType, torch.Size, torch.dtype, torch.device}
    | {slice, type(...), torch.layout, torch.memory_format}
)


def given(objects: Objects, values: Sequence[Any]) -> list[Any] | None:
    """Return for each argument its state, up to date, None for a number. None if any may hold
    tensors in another way, or is a view whose ``grad_fn`` is left unread."""
    by_id: dict[int, Any] = objects.by_id
    exposed = objects.exposed
    states: list[Any] = []
    wary = objects.deferred or exposed
    for value in values:
        kind = type(value)
        if kind is _TENSOR or kind is _PARAMETER:
            own = by_id.get(id(value))
            if own is None or own() is not value or (wary and _needs_a_look(own, exposed)):
                state = objects.states([value])[0]
                if state.object.deferred:
                    return None
            else:
                state = own.state
                if (
                    _raw_version(value) != state.version
                    or value.requires_grad is not state.requires_grad
                ):
                    return None
            states.append(state)
        elif kind in NO_TENSORS or _holds_no_tensors(kind, value):
            states.append(None)
        else:
            return None
    return states


def arguments(
    objects: Objects, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Sequence[Any], tuple[str, ...] | Places, list[Any]] | None:
    """Return the arguments of a call, where they stand, and the state of each, as ``given`` has it.
    None where they are none of a usual call."""
    values, where = ((*args, *kwargs.values()), tuple(kwargs)) if kwargs else (args, ())
    states = given(objects, values)
    if states is not None:
        return values, where, states
    tensors = unpacked(args, kwargs)
    if tensors is None:
        return None
    states = given(objects, tensors[0])
    return None if states is None else (*tensors, states)


def unpacked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Places] | None:
    """Return the tensors of a call that has some in a list or tuple, and where they stand. None
    where none stands in one, or where any may stand deeper."""
    tensors: list[Any] = []
    places: list[int | str] = []
    several = False
    every: list[tuple[int | str, Any]] = [*enumerate(args), *kwargs.items()]
    for at, value in every:
        kind = type(value)
        if kind is _TENSOR or kind is _PARAMETER:
            tensors.append(value)
            places.append(at)
        elif kind is list or kind is tuple:
            inside = [one for one in value if type(one) not in NO_TENSORS]
            if not all(type(one) is _TENSOR or type(one) is _PARAMETER for one in inside):
                return None
            tensors += inside
            places += [~at if isinstance(at, int) else at] * len(inside)
            several = several or bool(inside)
        elif kind not in NO_TENSORS:
            return None
    return (tensors, Places(len(args), tuple(places))) if several else None


def _needs_a_look(own: Object, exposed: set[Block]) -> bool:
    """Tell whether a tensor may have changed though its version and flag are the same."""
    state = own.state
    return own.deferred or (state.values is not None and state.block in exposed)


def _holds_no_tensors(kind: type, value: Any) -> bool:
    return (kind is tuple or kind is list) and all(type(one) in NO_TENSORS for one in value)


def _shared_counter(states: Sequence[State | None], block: Block) -> Any:
    """Tell how those arguments count their versions that lie in this memory; None if none does."""
    shared = (s.object.counter for s in states if s is not None and s.block is block)
    return next(shared, None)


def entry(
    objects: Objects,
    nodes: Nodes,
    name: str,
    site: Any,
    run: Any,
    direct: bool,
    keywords: tuple[str, ...] | Places,
    states: Sequence[State | None],
    args: Any,
    t: Any,
) -> Entry | None:
    """Return the log's entry for a usual call that has just returned ``t``. None for any other
    call, and then nothing has changed but that leaves were met and nodes are safe to free."""
    key, by_id = id(t), objects.by_id
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
    if viewed is None or viewed() is not base:
        viewed, counter = None, None  # of nothing, or of what a call made inside of it
        if block is not None and block.is_alive():
            counter = None if base is None else _shared_counter(states, block)
            if counter is None:
                return None  # memory that is known, and yet no view
    elif block is None or viewed.state.block is not block:
        return None
    if not any(states) and torch_private.is_foreign(t):
        return None
    state.values = t.tolist() if t.numel() <= LIMIT else None
    made: list[Any] = []
    reached: set[ShortKey] = set()
    if tracked and not nodes.take_few(grad_fn, state, start, made, reached):
        return None
    for before in states:
        if before is not None and before.tracked:
            node = before.object.accumulate_grad if before.node is None else before.node
            if ((node, before.output_nr) if before.output_nr else node) not in reached:
                return None
    # It is a usual call. Nothing below can fail.
    if tracked:
        nodes.keep_few(made)
    state.is_leaf, state.tracked = not tracked, tracked
    state.node = grad_fn.metadata[SLOT][0] if tracked else None
    state.grad, state.base = None, viewed
    state.object = by_id[key] = found = Object(t, objects.died)
    found.key, found.made, found.state = key, True, state
    if viewed is not None:
        counter = viewed.counter
    elif counter is None:
        objects.blocks[start] = block = Block()
        block.start, block.nbytes, block.device = start, nbytes, state.device
        counter = object()
    found.counter, state.block = counter, block
    block.append(found)
    return ("usual", name, site, run, direct, keywords, state, tuple(made), *states)


Key = tuple[Any, int]  # a gradient edge: (node serial, output_nr), or (leaf object, 0)
# The same in fewer words, for usual calls: (node serial, output_nr), or the serial alone for 0.
ShortKey = Any


def _edges_of(state: State) -> list[Key]:
    """Return the gradient edge of a state. A tracked leaf is known by itself too: no graph may use
    it yet."""
    if state.node is not None:
        return [(state.node, state.output_nr)]
    if not state.tracked:
        return []
    own = state.object
    return [(own, 0)] if own.accumulate_grad is None else [(own, 0), (own.accumulate_grad, 0)]


def is_connected(state: State, edges: set[Key]) -> bool:
    """Tell whether these edges lead to the state."""
    return any(e in edges for e in _edges_of(state))


def is_plain(inputs: list[State], outputs: list[State], made: list[NodeRecord]) -> bool:
    """Tell quickly whether there is one result whose node leads straight to every tracked input."""
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
    """Return every gradient edge that the outputs of one call lead to, within the nodes that this
    call made."""
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
    """Tell whether a path that avoids every other input leads from the results to ``state``.

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
    """Tell whether the new nodes lead somewhere that no input is known to stand for. Then a view's
    grad_fn was built anew."""
    explained: set[Key] = {e for state in inputs for e in _edges_of(state)}
    own = {n.serial for n in made if n.name != "AccumulateGrad"}
    slots = {(s, nr) for n in made for s, nr, _, _ in n.next if s is not None}
    return len(own) > 1 or any(slot not in explained and slot[0] not in own for slot in slots)


def judged(call: CallRecord, writes: list[Write]) -> list[State]:
    """Return the tracked inputs whose values the call reads: no destination of a write, no tensor
    asked for its shape."""
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
    """Return the word for a cut that is already proven."""
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
