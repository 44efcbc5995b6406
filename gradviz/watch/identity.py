"""Who is who while recording: tensor objects, their states, and the memory they share. Holds no
tensor.

NOTE [views]: reading ``grad_fn`` of a view whose memory was written makes torch build that node
anew, earlier than the program would have; the engine then runs nodes in another order. So the
``grad_fn`` of such a view is left unread until a call has used the view in a graph, which built the
node anyway.

NOTE [writes without a version]: a write usually shows as a new version. Inference tensors count
none, and numpy writes past them, as do BatchNorm's running statistics. So what lies in such memory
is read again at each look, and everything that is alive is read once more when the recording ends.
Only small values are read, and only they are drawn.

An ``Object`` is a weak reference: an ``id()`` alone does not tell tensors apart, it is reused at
once. Every state is plain data, read right after the call that made it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from gradviz.graph.preview import LIMIT
from gradviz.watch import torch_private
from gradviz.watch.entries import Block, CallRecord, Object, State
from gradviz.watch.functions import Role


def _forgetting(home: weakref.ref[Objects]) -> Callable[[Any], None]:
    """Return what forgets a tensor that is gone at once, so that a long loop leaves nothing behind,
    no cycle either."""

    def died(found: Any) -> None:
        objects: Any = home()
        if objects is not None and objects.by_id.get(key := found.key) is found:
            del objects.by_id[key]
            if hasattr(found, "state"):  # an interrupt may come before it is read
                del found.state

    return died


def same_values(one: Any, two: Any) -> bool:
    """Tell whether two nested lists hold the same numbers. One nan is as good as another.

    >>> same_values([1.0, float("nan")], [1.0, float("nan")])
    True
    >>> same_values([1.0], [2.0]), same_values(None, 1.0)
    (False, False)
    """
    if one == two:
        return True
    if one is None or two is None:
        return False
    text = repr(one)
    return "nan" in text and text == repr(two)


_blank = object.__new__  # quicker than calling the class
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_DATA_GET = Role.DATA_GET


def read(read_field: Callable[[], Any]) -> Any:
    """Read a field that may raise (freed views, functorch wrappers, nested tensors): None then."""
    try:
        return read_field()
    except Exception:
        return None


def named_parameters(
    module: torch.nn.Module, *, recurse: bool = True
) -> list[tuple[str, torch.nn.Parameter]]:
    """Return the parameters of a module with their names, those of its parts included; none where
    it cannot list them, as one that is half built. A ``parameters()`` of the module's own, which
    may take other arguments or list others, is not asked."""
    return read(lambda: [*torch.nn.Module.named_parameters(module, recurse=recurse)]) or []


def parameters(module: torch.nn.Module, *, recurse: bool = True) -> list[torch.nn.Parameter]:
    """Return the same without names."""
    return [parameter for _, parameter in named_parameters(module, recurse=recurse)]


def _plain(read_sizes: Callable[[], Any]) -> tuple[int, ...] | None:
    """Return sizes as plain numbers; None for symbolic ones, which belong to a tensor."""
    sizes = read(lambda: tuple(read_sizes()))
    return sizes if sizes is not None and all(type(size) is int for size in sizes) else None


def _is_its_own(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor that torch's bookkeeping was the first to use is its own."""
    return not (tensor.requires_grad or torch_private.is_parameter(tensor))


def _is_same_state(state: State, before: State) -> bool:
    """Tell whether nothing has changed. Equal numbers become the very same: a nan equals
    nothing."""
    if state.version != before.version:
        return False
    if state is before or state == before:
        return True
    exchanged = False
    if before.values is not None and same_values(state.values, before.values):
        state.values, exchanged = before.values, True
    if state.grad is not None and before.grad is not None and same_values(state.grad, before.grad):
        state.grad, exchanged = before.grad, True
    return exchanged and state == before


class Objects:
    """The objects of one recording. ``reads_gpu``: copy values from devices other than the CPU
    too."""

    def __init__(self, reads_gpu: bool, meet: Callable[[Any], int]) -> None:
        self.died = _forgetting(weakref.ref(self))
        self.sweep_at = 1024
        self.deferred = False  # was any grad_fn ever left unread?
        # memory that others than torch can write, see NOTE [writes without a version]
        self.exposed: set[Block] = set()
        # by id, what wants to know that a recorded call has met a parameter
        self.awaited: dict[int, Callable[[torch.Tensor, Object], None]] = {}
        # by id, what only an optimizer has used: internal, and not read yet
        self.unread: dict[int, weakref.ref[torch.Tensor]] = {}
        self.foreign = False  # was any memory met that is not torch's own?
        self.by_id: dict[int, Object] = {}
        self.blocks: dict[int, Block] = {}
        # id of a .grad tensor -> the object whose .grad it is
        self.grad_owner: dict[int, Object] = {}
        self.reads_gpu = reads_gpu
        self.meet = meet  # node -> serial; records nodes not met before

    def known(self, tensor: torch.Tensor) -> Object | None:
        """Return the object of ``tensor`` if it was met before."""
        found = self.by_id.get(id(tensor))
        return found if found is not None and found() is tensor else None

    def kin(self, start: int) -> State | None:
        """Return a living state over the memory at ``start``, if all that live there count their
        versions together."""
        block = self.blocks.get(start)
        if block is None or len({m.counter for m in block.alive()}) != 1:
            return None
        return block[0].state

    def see(self, tensor: torch.Tensor) -> Object:
        """Return the object of ``tensor``, its state up to date."""
        own = self.by_id.get(id(tensor))
        if own is not None and own() is tensor:
            self.look(own, tensor)
            return own
        return self.states([tensor])[0].object

    def see_internal(self, tensor: torch.Tensor) -> Object:
        """Return the object of a tensor that torch's own bookkeeping is the first to use."""
        own = self.see(tensor)
        own.internal = _is_its_own(tensor)
        return own

    def put_off(self, tensor: torch.Tensor) -> bool:
        """Note that a tensor which nobody has met is internal, and read it only when it is met
        again. Returns False where it has to be read now, as others may hold its memory or its
        gradient."""
        key = id(tensor)
        found = self.unread.get(key)
        if found is not None and found() is tensor:
            return True
        if (
            type(tensor) is not torch.Tensor
            or tensor.requires_grad
            or key in self.grad_owner
            or torch_private.base_of(tensor) is not None
            or torch_private.version(tensor) is None
        ):
            return False
        span = torch_private.storage_range(tensor)
        block = None if span is None else self.blocks.get(span[0])
        if span is None or (block is not None and any(m() is not None for m in block)):
            return False
        self.unread[key] = weakref.ref(tensor)
        return True

    def is_alone(self, own: Object) -> bool:
        """Tell whether a write to this tensor is seen, and concerns no other one: nobody shares its
        memory, and it is nobody's gradient."""
        state, block = own.state, own.state.block
        alone = block is not None and len(block) == 1 and own.key not in self.grad_owner
        return alone and not own.deferred and state.version is not None and state.base is None

    def states(self, tensors: list[torch.Tensor], *, internal: bool = False) -> list[State]:
        """Return the states of tensors, up to date. ``internal``: of those that nobody has met
        torch's own bookkeeping is the first to use."""
        by_id, found = self.by_id, []
        for tensor in tensors:
            own = by_id.get(id(tensor))
            if own is not None and own() is tensor:
                state = self.look(own, tensor)
            else:
                # A view that nobody has written to has the grad_fn that it was made with.
                settled = (
                    torch_private.base_of(tensor) is None or torch_private.version(tensor) == 0
                )
                state = self.refresh(self._add(tensor, made=False), tensor, settled=settled)
                if internal:
                    state.object.internal = _is_its_own(tensor)
                block = state.block
                if (
                    block is not None
                    and block not in self.exposed
                    and (len(block) > 1 or torch_private.is_foreign(tensor))
                ):
                    self.exposed.add(block)
            found.append(state)
        return found

    def look(self, own: Object, tensor: torch.Tensor) -> State:
        """Return the state of a tensor that was met before, read anew where it has changed or may
        have."""
        state, version = own.state, torch_private.version(tensor)
        if version != state.version or tensor.requires_grad is not state.requires_grad:
            return self.refresh(own, tensor, settled=torch_private.base_of(tensor) is None)
        if version is None or (
            self.exposed and state.values is not None and state.block in self.exposed
        ):
            return self.read_again(own, tensor)
        return state

    def read_again(self, own: Object, tensor: torch.Tensor) -> State:
        """Return the state of a tensor of the same version, by what stands in its memory, see NOTE
        [writes without a version].

        Its ``grad_fn`` is left alone, since a write that counts no version makes no node either.
        """
        state = own.state
        values = read(lambda: self.values(tensor))
        if state.version is None and not self._lies_as(state, tensor):
            return self.refresh(own, tensor)
        if same_values(values, state.values):
            return state
        return self.anew(own, values)

    def anew(self, own: Object, values: Any) -> State:
        """Return a new state of a tensor, in which only its values are known to have changed."""
        own.state = replace(own.state, values=values)
        return own.state

    def _lies_as(self, state: State, tensor: torch.Tensor) -> bool:
        """Tell whether a tensor has the shape and the memory of its state. ``set_`` and ``resize_``
        give it others."""
        span = read(lambda: torch_private.storage_range(tensor))
        block = None if span is None else self.blocks.get(span[0])
        place = (
            _plain(lambda: tensor.shape),
            _plain(lambda: tensor.stride()),
            read(lambda: tensor.storage_offset()),
        )
        return block is state.block and place == (state.shape, state.stride, state.storage_offset)

    def expose(self, tensor: torch.Tensor) -> Block | None:
        """Note that the memory of this tensor is handed to others than torch: to numpy, for
        example."""
        known = self.known(tensor)
        block = None if known is None else known.state.block
        if block is not None:
            self.exposed.add(block)
        return block

    def _add(self, tensor: torch.Tensor, *, made: bool) -> Object:
        found = Object(tensor, self.died)
        found.key, found.made, found.counter = id(tensor), made, object()
        self.by_id[found.key] = found
        if self.awaited and (meets := self.awaited.pop(found.key, None)) is not None:
            meets(tensor, found)
        if self.unread and (unread := self.unread.pop(found.key, None)) is not None:
            found.internal = unread() is tensor
        if not made and found.key in self.grad_owner:
            found.grad_owner = self._owner(tensor)
        return found

    def _owner(self, grad: torch.Tensor) -> Object | None:
        """Return the object whose ``.grad`` a tensor is; None where its ``id()`` was another's."""
        owner = self.grad_owner[id(grad)]
        tensor = owner()
        is_grad = tensor is not None and read(lambda: tensor.grad is grad)
        return owner if is_grad else None

    def _base(self, base: torch.Tensor) -> Object | None:
        """Return the object of the tensor that another one is a view of, if it was met before."""
        unread = self.unread.get(id(base))
        return self.known(base) if unread is None or unread() is not base else self.see(base)

    def make(self, tensor: torch.Tensor, call: CallRecord) -> Object:
        """Return the object of a tensor that ``call`` returned. A view or alias of an input counts
        versions with it."""
        added = self._add(tensor, made=True)
        state = self.refresh(added, tensor)
        block = state.block
        if not call.inputs and block is not None and torch_private.is_foreign(tensor):
            self.foreign = True
            self.exposed.add(block)  # as_tensor(array)
        if state.base is not None:
            added.counter = state.base.counter
        elif block is not None and len(block) > 1:
            shared = next((before for before in call.inputs if before.block is block), None)
            if shared is None or call.role is _DATA_GET:
                # a write through one of them moves no version of the others
                self.exposed.add(block)
            else:
                added.counter = shared.object.counter
        return added

    def refresh(self, found: Object, t: torch.Tensor, *, settled: bool = True) -> State:
        """Read ``t`` anew and make that its object's latest state. Not ``settled``: leave its
        grad_fn alone."""
        if found.deferred is settled:
            found.deferred = not settled
            self.deferred = True
        before: State | None = getattr(found, "state", None)
        plain = settled and type(t) in _PLAIN
        try:
            later = self._later(before, t) if plain and before is not None else None
            if later is not None:
                found.state = later
                return later
            state = self._read_ordinary(found, t) if plain else self._read_guarded(found, t)
        except Exception:
            state = self._read_guarded(found, t)
        if before is not None and _is_same_state(state, before):
            return before
        found.state = state
        block = state.block
        if block is not None and (before is None or before.block is not block):
            block.append(found)
            if before is not None and len(block) > 1:
                self.exposed.add(block)  # it has moved there: ``set_``, ``.data =``
        return state

    def with_grad(self, own: Object, t: torch.Tensor) -> State:
        """Return the state of a tensor whose ``.grad`` was just set, and nothing else."""
        before = own.state
        if not before.is_leaf or before.base is not None or before.version is None:
            return self.refresh(own, t)
        grad = self._grad(own, t)
        if not same_values(grad, before.grad):
            own.state = before.later(before.version, before.values, grad)
        return own.state

    def with_values(self, own: Object, t: torch.Tensor) -> State:
        """Return the state of a tensor into which a call has just written numbers, and of which
        nothing else has changed."""
        before = own.state
        if not before.is_leaf or before.base is not None or before.version is None:
            return self.refresh(own, t)
        own.state = before.later(torch_private.raw_version(t), self.values(t), before.grad)
        return own.state

    def _later(self, before: State, t: torch.Tensor) -> State | None:
        """Return the state of a leaf that lies where it lay: only its version, its numbers and its
        ``.grad`` can be others, and if none is, it is the state of before. None for any other
        tensor."""
        block = before.block
        if block is None or before.base is not None or not before.is_leaf:
            return None
        if not torch_private.lies_as(t, before, block.start):
            return None
        if self.blocks.get(block.start) is not block:
            return None
        version, values = torch_private.raw_version(t), self.values(t)
        grad = self._grad(before.object, t)
        if same_values(grad, before.grad):
            grad = before.grad
        if version == before.version and same_values(values, before.values):
            values = before.values
            if grad is before.grad:
                return before
        return before.later(version, values, grad)

    def _read_ordinary(self, found: Object, t: torch.Tensor) -> State:
        state = _blank(State)
        (
            state.shape,
            state.stride,
            state.storage_offset,
            state.dtype,
            state.device,
            requires_grad,
            state.version,
            base,
            retains,
            state.output_nr,
            grad_fn,
            on_cpu,
        ) = torch_private.facts(t)
        state.object, state.requires_grad, state.retains_grad = found, requires_grad, retains
        state.is_leaf = is_leaf = grad_fn is None
        small = t.numel() <= LIMIT and (on_cpu or (self.reads_gpu and not t.is_meta))
        state.values = t.tolist() if small else None
        state.grad = self._grad(found, t) if is_leaf or retains else None
        state.block = self._block(found, t)
        state.base = None if base is None else self._base(base)
        state.node = None if grad_fn is None else self.meet(grad_fn)
        state.tracked = requires_grad and (
            not is_leaf or base is None or torch_private.takes_gradient(t)
        )
        return state

    def _read_guarded(self, found: Object, t: torch.Tensor) -> State:
        requires_grad = read(lambda: t.requires_grad)
        is_leaf = (None if requires_grad else True) if found.deferred else read(lambda: t.is_leaf)
        before: State | None = getattr(found, "state", None)
        grad_fn, base = (
            None if found.deferred else read(lambda: t.grad_fn),
            torch_private.base_of(t),
        )
        if not requires_grad or grad_fn is not None or base is None:
            tracked = bool(requires_grad)
        elif found.deferred:
            tracked = before is None or before.tracked or not before.requires_grad
        else:
            tracked = torch_private.takes_gradient(t)
        retains = read(lambda: t.retains_grad)
        return State(
            found,
            _plain(lambda: t.shape),
            _plain(lambda: t.stride()),
            read(lambda: t.storage_offset()),
            read(lambda: t.dtype),
            read(lambda: t.device),
            requires_grad,
            is_leaf,
            retains,
            torch_private.version(t),
            read(lambda: self.values(t)),
            read(lambda: self._grad(found, t)) if is_leaf or retains else None,
            read(lambda: self._block(found, t)),
            None if base is None else self._base(base),
            None if grad_fn is None else self.meet(grad_fn),
            read(lambda: t.output_nr) or 0,
            tracked,
        )

    def elements(self, t: torch.Tensor) -> Any:
        """Return the elements of a small tensor as a nested list, or None. Reading a GPU would wait
        for it: only if asked."""
        if t.numel() <= LIMIT and (t.is_cpu or (self.reads_gpu and not t.is_meta)):
            return t.tolist()
        return None

    values = elements  # what a state keeps of a tensor's numbers

    def _grad(self, found: Object, t: torch.Tensor) -> Any:
        grad = t.grad
        if grad is None:
            return None
        self.grad_owner[id(grad)] = found
        return tuple(grad.shape), read(lambda: self.elements(grad))

    def _block(self, found: Object, t: torch.Tensor) -> Block | None:
        span = torch_private.storage_range(t)
        if span is None:
            return None
        start, nbytes = span
        block = self.blocks.get(start)
        if block is not None:
            for member in block:
                if member() is not None and member.state.block is block:
                    return block
        if not found.made:
            # A tensor of unknown origin may look at memory we know through another storage (numpy).
            # One of the two is not torch's own then.
            self.foreign = self.foreign or torch_private.is_foreign(t)
            other = self._overlapping(start, nbytes, t.device) if self.foreign else None
            if other is not None:
                self.blocks[start] = other
                return other
        if len(self.blocks) > self.sweep_at:
            self.blocks = {at: b for at, b in self.blocks.items() if b.alive()}
            self.sweep_at = max(1024, 2 * len(self.blocks))
        self.blocks[start] = block = Block()
        block.start, block.nbytes, block.device = start, nbytes, t.device
        return block

    def _overlapping(self, start: int, nbytes: int, device: torch.device) -> Block | None:
        """Find a known block that shares bytes with these."""
        for other in self.blocks.values():
            inside = other.start < start + nbytes and start < other.start + other.nbytes
            if inside and other.device == device and other.alive():
                return other
        return None
