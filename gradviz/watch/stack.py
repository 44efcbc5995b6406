"""One recorded call, and where in the user's code it stands.

NOTE [frames are read, never kept]: a kept frame keeps its local tensors alive, and reading
``f_locals`` of a user's frame does the same on Python 3.11. So a site is (code, position) pairs
only; names are resolved from them later. The only ``f_locals`` that are read are those of torch's
own frames, which live until they return anyway, and those of a custom Function's ``forward``, which
are let go at once; ``torch_private.py`` does both.
"""

from __future__ import annotations

import copy
import os
import sysconfig
import weakref
from collections.abc import Sequence
from types import CodeType, FrameType
from typing import Any

import torch

from gradviz.graph.sites import CHECKPOINT, REPLACED
from gradviz.watch import torch_private
from gradviz.watch.entries import CallRecord, NodeRecord, Site, State
from gradviz.watch.functions import Role

# frames kept of a site: a returned result takes its name from the caller's statement
SITE_DEPTH = 3

_OWN = os.path.dirname(os.path.dirname(__file__)) + os.sep  # all of gradviz
_STANDARD = tuple(
    os.path.realpath(sysconfig.get_path(p)) + os.sep for p in ("stdlib", "platstdlib")
)
_INSTALLED = ("site-packages", "dist-packages")
_COPY = copy.deepcopy.__code__

_replaced_arguments = torch_private.hooks_replaced_arguments

_USER, _BOTTOM, _WRAPPER, _LIBRARY, _BOOKKEEPING, _MODULE, _MODULE_PART = range(7)


# What the stack tells of a call: its site; did the user's own code make it, so that its arguments
# are the written ones; is it torch's own bookkeeping (inside an optimizer, nn.init,
# get_gradient_edge, a module's constructor or state_dict); the innermost and outermost nn.Module
# call under way. Holds frames: never store it.
Look = tuple[Site, bool, bool, "FrameType | None", "FrameType | None"]


def usual_call(name: str, site: Site, states: Sequence[State | None]) -> CallRecord:
    """The record of a usual call, as the general way has it before the call runs."""
    call = CallRecord(name, Role.OPERATION, True)
    call.site, call.arity = site, len(states)
    call.args_at = tuple(at for at, state in enumerate(states) if state is not None)
    call.inputs = [state for state in states if state is not None]
    return call


def unfold(logged: tuple[Any, ...]) -> tuple[Any, ...]:
    """An entry of the log as the general way would have made it."""
    if logged[0] != "usual":
        return logged
    _, name, site, output, slot, behind, saved, *states = logged
    call = usual_call(name, site, states)
    call.outputs = [output]
    if slot is not None:
        call.nodes = [NodeRecord(slot[0], slot[2], sequence_nr=slot[3], next=behind, saved=saved)]
    return "called", call


def _is_standard(name: str) -> bool:
    """Does a file belong to Python's standard library (copy, functools, contextlib)?"""
    return name.startswith("<frozen") or (
        name.startswith(_STANDARD) and not any(d in name for d in _INSTALLED)
    )


def _is_handler(code: CodeType) -> bool:
    """Does the code pass a call on for another recording?"""
    return code.co_filename.startswith(_OWN) and code.co_name == "__torch_function__"


def _is_noted_checkpoint(code: CodeType, site: Sequence[Any]) -> bool:
    """Say whether it is torch's checkpoint, and the site has room for it."""
    return len(site) < 2 * SITE_DEPTH and torch_private.is_checkpoint(code)


class Frames:
    """Reads call sites off the stack. One per recording, since it remembers code objects."""

    def __init__(self) -> None:
        self._kinds: dict[int, tuple[int, CodeType]] = {}  # by id: hashing a code object is slow
        self._functions = torch_private.FunctionRuns()
        self._paths: weakref.WeakKeyDictionary[torch.nn.Module, dict[int, str]] = (
            weakref.WeakKeyDictionary()
        )

    def _kind(self, code: CodeType) -> tuple[int, CodeType]:
        name = code.co_filename
        if torch_private.is_bookkeeping(code):
            kind = _BOOKKEEPING
        elif name == torch_private.MODULE_FILE:
            kind = _MODULE if code is torch_private.MODULE_CALL else _MODULE_PART
        elif torch_private.is_wrapper(code) or code is _COPY or _is_handler(code):
            kind = _WRAPPER  # another recording's handler has just passed the call on
        elif name.startswith((torch_private.TORCH, _OWN)) or _is_standard(name):
            kind = _LIBRARY
        else:
            # Below the user's top level stands only what runs it (IPython, pytest): no need to look
            # further.
            kind = _BOTTOM if code.co_name == "<module>" else _USER
        self._kinds[id(code)] = found = kind, code
        return found

    def site(self, frame: FrameType | None) -> Site:
        """The innermost user frames as (code, position)."""
        return self.look(frame)[0]

    def look(self, frame: FrameType | None) -> Look:
        """One pass up the stack."""
        kinds = self._kinds
        direct, bookkeeping, closed = True, False, False
        checkpointed = False  # did torch's checkpoint call what stands below?
        inner = outer = None
        found: list[Any] = []
        below: FrameType | None = None
        while frame is not None:
            code = frame.f_code
            kind = (kinds.get(id(code)) or self._kind(code))[0]
            if kind <= _BOTTOM:
                if checkpointed:
                    found += (CHECKPOINT, 0, code, frame.f_lasti)
                    checkpointed = False
                elif not closed:
                    found += (code, frame.f_lasti)
                    closed = len(found) == 2 * SITE_DEPTH
                elif inner is None:
                    break  # a module would have shown by now
                if kind == _BOTTOM:
                    break
            elif not found:
                direct &= kind == _WRAPPER
                bookkeeping |= kind == _BOOKKEEPING
            elif kind < _MODULE:
                # torch called the user back: what it returns is not what the outer statement gets
                checkpointed |= _is_noted_checkpoint(code, found)
                closed = True
            elif kind == _MODULE and not closed and _replaced_arguments(frame, below):
                found += (REPLACED, 0)
                closed = len(found) == 2 * SITE_DEPTH
            if kind == _MODULE:
                outer = frame
                inner = inner or frame
            below, frame = frame, frame.f_back
        return tuple(found), direct, bookkeeping, inner, outer

    def custom(self, frame: FrameType | None) -> torch_private.FunctionRun | None:
        """The outermost custom Function that computes on this stack."""
        return self._functions.outermost(frame)

    def module(
        self, inner: FrameType, outer: FrameType
    ) -> tuple[tuple[Site, str, str], torch.nn.Module]:
        """The nn.Module that is running, (call site and class of the root, path below it), and the
        root itself."""
        module, root = torch_private.called_module(inner), torch_private.called_module(outer)
        path = "" if module is root else self.named(root, module) or "?"
        return (self.site(outer.f_back), type(root).__name__, path), root

    def named(self, root: torch.nn.Module, what: Any) -> str | None:
        """Path of a module or parameter below ``root``; looked up anew when the root has
        changed."""
        paths = self._paths.get(root)
        if paths is None or id(what) not in paths:
            paths = {id(m): name for name, m in root.named_modules()}
            paths.update((id(p), name) for name, p in root.named_parameters())
            self._paths[root] = paths
        return paths.get(id(what))
