"""The usual call, noted in one straight line: known tensors in, one new tensor out, one new node that leads to them all.

Nearly every call of a program is such a call, and then nothing has to be proven: each tracked input stands directly
behind the new node. Everything is read before anything is changed, so that whatever turns out to be unusual is left to
the general way of ``recorder.py`` as if nothing had been tried. Both ways give the same graph.

An entry of the log made here is one flat tuple, which the garbage collector goes through quicker than through records;
``unfold`` makes the record of it when a graph is wanted.
"""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING, Any

import torch

from gradviz import _torch_compat as compat
from gradviz.calls import CallRecord, Site
from gradviz.connect import NodeRecord, Nodes, Saved, constant
from gradviz.functions import Role
from gradviz.graph import SavedState
from gradviz.objects import Block, Object, Objects, State
from gradviz.preview import LIMIT
from gradviz.walk import _BLOCK, SLOT, _guard, new_serial

if TYPE_CHECKING:
    from collections.abc import Iterable

Given = list["State | None"]  # for each positional argument: its state, or None for what is no tensor
Entry = tuple[Any, ...]  # "quick", function, site, result, slot of the new node, its edges, what it saved, *Given

_TENSOR, _PARAMETER = torch.Tensor, torch.nn.Parameter
_PLAIN = frozenset({int, float, bool, complex, str, NoneType, torch.Size, torch.dtype, torch.device})
_AVAILABLE = SavedState.AVAILABLE
_blank, _row = object.__new__, tuple.__new__
_raw_version, _raw_number, _NO_NUMBER = compat.raw_version, compat.raw_number, compat.RAW_NO_NUMBER


def given(objects: Objects, args: Iterable[Any], kwargs: dict[str, Any]) -> Given | None:
    """The states of the arguments, if they are numbers and known tensors that nobody has changed since; else None."""
    by_id, deferred = objects.by_id, objects.deferred
    states: Given = []
    for value in args:
        kind = type(value)
        if kind is _TENSOR or kind is _PARAMETER:
            own = by_id.get(id(value))
            if own is None or own() is not value or (deferred and own.deferred):
                return None
            state = own.state
            if _raw_version(value) != state.version or value.requires_grad is not state.requires_grad:
                return None
            states.append(state)
        elif kind in _PLAIN:
            states.append(None)
        else:
            return None
    for value in kwargs.values():
        if type(value) not in _PLAIN:
            return None
    return states


def entry(
    objects: Objects, nodes: Nodes, name: str, site: Site, states: Given, args: tuple[Any, ...], t: Any
) -> Entry | None:
    """The log's entry for a usual call that has just returned ``t``; None, and nothing changed, for any other call."""
    key, by_id = id(t), objects.by_id
    if type(t) is not _TENSOR or ((own := by_id.get(key)) is not None and own() is t) or compat.moved(args, states):
        return None  # no new tensor, or an input was written
    state = _blank(State)
    (state.shape, state.stride, state.storage_offset, state.dtype, state.device, state.requires_grad, state.version,
     base, state.retains_grad, state.output_nr, grad_fn, on_cpu) = compat.facts(t)  # fmt: skip
    start, nbytes = compat.storage_range(t) or (0, 0)
    if state.retains_grad or state.requires_grad is (grad_fn is None):
        return None  # a leaf
    if not on_cpu or not start or len(objects.blocks) > objects.sweep_at:
        return None
    shared = objects.blocks.get(start)
    if base is not None:
        state.base = viewed = by_id.get(id(base))
        if viewed is None or viewed() is not base or shared is None or viewed.state.block is not shared:
            return None
    else:
        state.base = None
        for member in shared or ():
            if member() is not None:
                return None  # an alias
    state.values = t.tolist() if t.numel() <= LIMIT else None
    state.grad = None
    slot: Any = None
    behind, reached, saved, guarded = [], [], [], False
    if grad_fn is not None:
        metadata, functions, number = grad_fn.metadata, grad_fn.next_functions, _raw_number(grad_fn)
        kind = nodes.kinds.get(type(grad_fn))
        if SLOT in metadata or kind is None or kind[1] or not nodes.start <= number < _NO_NUMBER:
            return None
        lowest = number - number % _BLOCK
        for child, input_nr in functions:
            below = (None, input_nr, "", 0) if child is None else child.metadata.get(SLOT)
            if child is not None:
                if input_nr or below is None or (below[0] not in nodes.met and below[3] >= nodes.start):
                    return None
                reached.append(below[0])
                guarded = guarded or not (lowest <= below[3] < number or below[3] == _NO_NUMBER)
            behind.append(below)
        for attribute, short in kind[2]:
            raw = getattr(grad_fn, attribute)
            data = raw.data  # raises for a list of saved tensors
            if raw.unpack_hook is not None:
                return None
            if data is None:
                if raw.unpack() is not None:
                    return None
            elif (own := by_id.get(id(data))) is not None and own() is data:
                saved.append(_row(Saved, (short, own.state, None, None, own.state.version, _AVAILABLE)))
            elif constant(short, data):
                saved.append(_row(Saved, (short, None, None, None, _raw_version(data), _AVAILABLE)))
            elif compat.storage_range(data) == (start, nbytes):
                saved.append(_row(Saved, (short, state, None, None, state.version, _AVAILABLE)))
            else:
                return None
        slot = (new_serial(), 0, kind[0], number)
    for before in states:
        if before is not None and before.tracked:
            node = before.node if before.node is not None else before.object.accumulate_grad
            if node is None or node not in reached or before.output_nr:
                return None
    # It is a usual call: from here on nothing can fail.
    state.is_leaf, state.tracked, state.node = slot is None, slot is not None, None
    if slot is not None:
        metadata[SLOT] = slot
        nodes.met.add(slot[0])
        state.node = slot[0]
        if guarded:
            _guard(grad_fn, functions)
    state.object = by_id[key] = found = Object(t, objects.died)
    found.key, found.made, found.state = key, True, state
    if base is None:
        found.counter, state.block = object(), (block := Block((found,)))
        objects.blocks[start] = block
        block.start, block.nbytes, block.device = start, nbytes, state.device
    else:
        found.counter, state.block = viewed.counter, shared
        shared.append(found)
    return ("quick", name, site, state, slot, tuple(behind), tuple(saved), *states)


def record(name: str, site: Site, states: Iterable[State | None]) -> CallRecord:
    """The record of a usual call, as the general way wants it before the call has run."""
    call = CallRecord(name, Role.OPERATION, True)
    states = list(states)
    call.site, call.arity = site, len(states)
    call.args_at = tuple(at for at, state in enumerate(states) if state is not None)
    call.inputs = [state for state in states if state is not None]
    return call


def unfold(logged: Entry) -> Entry:
    """An entry of the log as the general way would have made it."""
    if logged[0] != "quick":
        return logged
    _, name, site, state, slot, behind, saved, *states = logged
    call = record(name, site, states)
    call.outputs = [state]
    if slot is not None:
        call.nodes = [NodeRecord(slot[0], slot[2], sequence_nr=slot[3], next=behind, saved=saved)]
    return "called", call
