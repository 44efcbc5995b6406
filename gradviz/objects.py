"""Who is who while recording: tensor objects, their states, and the memory they share. Holds no tensor.

NOTE [views]: reading ``grad_fn`` of a view whose memory was written makes torch build that node anew, earlier than the
program would have; the engine then runs nodes in another order. So the ``grad_fn`` of such a view is left unread until
a call has used the view in a graph, which built the node anyway.

An object is told apart by a weak reference beside its ``id()``, because ids of dead temporaries are reused at once.
Every state is plain data, read right after the call that made it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from gradviz import _torch_compat as compat
from gradviz.functions import Role
from gradviz.preview import LIMIT

if TYPE_CHECKING:
    from gradviz.calls import CallRecord

if TYPE_CHECKING:
    from gradviz.calls import CallRecord


class Block:
    """One block of memory, alive while a recorded object lives in it. ``start`` and ``nbytes`` give its byte range."""

    __slots__ = ("device", "members", "nbytes", "start")

    def __init__(self, start: int, nbytes: int, device: torch.device) -> None:
        self.start, self.nbytes, self.device = start, nbytes, device
        self.members: list[Object] = []  # the living only


class _Ref(weakref.ref[torch.Tensor]):
    """A weak reference that knows the ``id()`` its tensor had."""

    __slots__ = ("key",)
    key: int


class Object:
    """One tensor object and, while it lives, its latest state. Rare facts stay at the class's default."""

    deferred = False  # its grad_fn was not read, see NOTE [views]
    internal = False  # an optimizer's own: momentum buffers and the like
    accumulate_grad: int | None = None  # serial of its AccumulateGrad
    parameter: tuple[str, Any] | None = None  # (own name, module that it belongs to, as in CallRecord.module)
    state: State

    def __init__(self, ref: weakref.ref[torch.Tensor], made: bool) -> None:
        self.ref: Any = ref
        self.made = made  # by a recorded call
        # A tensor, its views and its detached aliases count their versions together; ``.data`` counts for itself.
        self.counter = object()


class State(NamedTuple):
    """What one tensor object was at one moment. Fields as in ``graph.Tensor``; ``node`` is a node serial."""

    object: Object
    shape: tuple[int, ...] | None
    stride: tuple[int, ...] | None
    storage_offset: int | None
    dtype: torch.dtype | None
    device: torch.device | None
    requires_grad: bool | None
    is_leaf: bool | None
    retains_grad: bool | None
    version: int | None
    values: Any  # nested list, or None
    grad: Any  # (shape, nested list or None), or None
    block: Block | None
    base: Object | None
    node: int | None
    output_nr: int
    tracked: bool  # takes part in gradients at that moment


_new_state = tuple.__new__
_PLAIN = (torch.Tensor, torch.nn.Parameter)


def read(read_field: Callable[[], Any]) -> Any:
    """A field that may raise (freed views, functorch wrappers, nested tensors): None then."""
    try:
        return read_field()
    except Exception:
        return None


def _plain(read_sizes: Callable[[], Any]) -> tuple[int, ...] | None:
    """Sizes as plain numbers; None for symbolic ones, which belong to a tensor."""
    sizes = read(lambda: tuple(read_sizes()))
    return sizes if sizes is not None and all(type(size) is int for size in sizes) else None


class Objects:
    """The objects of one recording. ``reads_gpu``: copy values from devices other than the CPU too."""

    def __init__(self, reads_gpu: bool, meet: Callable[[Any], int]) -> None:
        self.by_id: dict[int, Object] = {}
        self.blocks: dict[int, Block] = {}
        self.grad_owner: dict[int, Object] = {}  # id of a .grad tensor -> the object whose .grad it is
        self.reads_gpu = reads_gpu
        self.meet = meet  # node -> serial; records nodes not met before

    def known(self, tensor: torch.Tensor) -> Object | None:
        """The object of ``tensor`` if it was met before."""
        found = self.by_id.get(id(tensor))
        return found if found is not None and found.ref() is tensor else None

    def kin(self, start: int) -> State | None:
        """A living state over the memory at ``start``, if all that live there count their versions together."""
        block = self.blocks.get(start)
        if block is None or len({m.counter for m in block.members}) != 1:
            return None
        return block.members[0].state

    def see(self, tensor: torch.Tensor) -> Object:
        """The object of ``tensor``, its state up to date."""
        found = self.by_id.get(id(tensor))
        if found is not None and found.ref() is tensor:
            state = found.state
            if tensor.requires_grad is not state.requires_grad or compat.version(tensor) != state.version:
                self.refresh(found, tensor, settled=compat.base_of(tensor) is None)
            return found
        return self.add(tensor, made=False)

    def add(self, tensor: torch.Tensor, *, made: bool) -> Object:
        """A new object. ``made``: by a recorded call, otherwise it was only met."""
        key = id(tensor)
        ref = _Ref(tensor, self._died)
        ref.key = key
        self.by_id[key] = found = Object(ref, made)
        self.refresh(found, tensor, settled=made or compat.base_of(tensor) is None)
        return found

    def make(self, tensor: torch.Tensor, call: CallRecord) -> Object:
        """The object of a tensor that ``call`` returned. A view or alias of an input counts versions with it."""
        added = self.add(tensor, made=True)
        state = added.state
        if state.base is not None:
            added.counter = state.base.counter
        elif state.block is not None and len(state.block.members) > 1 and call.role is not Role.DATA_GET:
            for before in call.inputs:
                if before.block is state.block:
                    added.counter = before.object.counter
                    break
        return added

    def _died(self, ref: Any) -> None:
        """A tensor is gone: forget it at once, so that a long loop leaves nothing behind, no cycle either."""
        found = self.by_id.get(ref.key)
        if found is None or found.ref is not ref:
            return
        del self.by_id[ref.key]
        state = found.state
        del found.state
        if state.block is not None:
            self._leave(state.block, found)

    def _leave(self, block: Block, found: Object) -> None:
        if found in block.members:
            block.members.remove(found)
        if not block.members and self.blocks.get(block.start) is block:
            del self.blocks[block.start]

    def settle(self) -> None:
        """The recording is over: deaths matter no more."""
        for found in self.by_id.values():
            tensor = found.ref()
            if tensor is not None:
                found.ref = weakref.ref(tensor)

    def refresh(self, found: Object, t: torch.Tensor, *, settled: bool = True) -> State:
        """Read ``t`` anew and make that its object's latest state. Not ``settled``: leave its grad_fn alone."""
        if found.deferred is settled:
            found.deferred = not settled
        try:
            plain = settled and type(t) in _PLAIN
            state = self._read_ordinary(found, t) if plain else self._read_guarded(found, t)
        except Exception:
            state = self._read_guarded(found, t)
        before: State | None = getattr(found, "state", None)
        if state == before:
            return before
        found.state = state
        if before is None or before.block is not state.block:
            if before is not None and before.block is not None:
                self._leave(before.block, found)
            if state.block is not None:
                state.block.members.append(found)
        return state

    def _read_ordinary(self, found: Object, t: torch.Tensor) -> State:
        requires_grad, is_leaf = t.requires_grad, t.is_leaf
        grad_fn = t.grad_fn if requires_grad and not is_leaf else None
        retains = not is_leaf and t.retains_grad
        base = compat.base_of(t)
        small = t.numel() <= LIMIT and (t.is_cpu or (self.reads_gpu and not t.is_meta))
        return _new_state(
            State,
            (
                found, t.shape, t.stride(), t.storage_offset(), t.dtype, t.device, requires_grad, is_leaf, retains,
                compat.version(t), t.tolist() if small else None,
                self._grad(found, t) if (is_leaf and requires_grad) or retains else None,
                self._block(found, t), None if base is None else self.known(base),
                None if grad_fn is None else self.meet(grad_fn), 0 if grad_fn is None else t.output_nr,
                requires_grad and (not is_leaf or base is None or compat.takes_gradient(t)),
            ),
        )  # fmt: skip

    def _read_guarded(self, found: Object, t: torch.Tensor) -> State:
        requires_grad = read(lambda: t.requires_grad)
        is_leaf = (None if requires_grad else True) if found.deferred else read(lambda: t.is_leaf)
        before: State | None = getattr(found, "state", None)
        grad_fn, base = None if found.deferred else read(lambda: t.grad_fn), compat.base_of(t)
        if not requires_grad or grad_fn is not None or base is None:
            tracked = bool(requires_grad)
        elif found.deferred:
            tracked = before is None or before.tracked or not before.requires_grad
        else:
            tracked = compat.takes_gradient(t)
        retains = read(lambda: t.retains_grad)
        return State(
            found, _plain(lambda: t.shape), _plain(lambda: t.stride()), read(lambda: t.storage_offset()),
            read(lambda: t.dtype), read(lambda: t.device), requires_grad, is_leaf, retains, compat.version(t),
            read(lambda: self.values(t)),
            read(lambda: self._grad(found, t)) if is_leaf or retains else None,
            read(lambda: self._block(found, t)), None if base is None else self.known(base),
            None if grad_fn is None else self.meet(grad_fn), read(lambda: t.output_nr) or 0,
            tracked,
        )  # fmt: skip

    def values(self, t: torch.Tensor) -> Any:
        """The elements of a small tensor as a nested list, or None. Reading a GPU would wait for it: only if asked."""
        if t.numel() <= LIMIT and (t.is_cpu or (self.reads_gpu and not t.is_meta)):
            return t.tolist()
        return None

    def _grad(self, found: Object, t: torch.Tensor) -> Any:
        grad = t.grad
        if grad is None:
            return None
        self.grad_owner[id(grad)] = found
        return tuple(grad.shape), read(lambda: self.values(grad))

    def _block(self, found: Object, t: torch.Tensor) -> Block | None:
        span = compat.storage_range(t)
        if span is None:
            return None
        start, nbytes = span
        block = self.blocks.get(start)
        if block is not None and block.members:
            return block
        if not found.made:
            # A tensor of unknown origin may look at memory we know through another storage (numpy).
            for other in self.blocks.values():
                inside = other.start < start + nbytes and start < other.start + other.nbytes
                if inside and other.device == t.device and other.members:
                    self.blocks[start] = other
                    return other
        self.blocks[start] = block = Block(start, nbytes, t.device)
        return block
