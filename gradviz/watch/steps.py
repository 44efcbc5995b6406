"""The quick way of what torch's optimizers do.

NOTE [calls of one frame]: an optimizer makes a dozen calls for each parameter, all of them in one
frame of torch's own. What the stack tells of the first of these calls holds for the others: where
the user's code stands, that no module and no custom Function runs around it. So the first call
marks the frame, as ``modules.py`` marks those of modules. Most of these calls write only what is
the optimizer's own, and of them nothing is noted but whose the tensors are. Nearly all others
write one tensor of the user's, or set its ``.grad``: of them as much is noted as of other calls, in
fewer steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from gradviz.watch import torch_private
from gradviz.watch.cuts import NO_TENSORS
from gradviz.watch.entries import CallRecord
from gradviz.watch.functions import SHARING, Role, writes_itself

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import CodeType, FrameType

    from gradviz.watch.identity import Objects
    from gradviz.watch.stack import Look

_TENSOR, _PARAMETER = torch.Tensor, torch.nn.Parameter
_blank = object.__new__  # quicker than calling the class
_QUIET = (Role.OPERATION, Role.COPIED_OUT)


class Steps:
    """The frames of torch's optimizers in which a recording has met a call."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self.owner = object()  # by which the marks of this recording are known
        # Code of what a marked frame calls to read one number, by id: hashing a code object is slow
        self._helpers: dict[int, CodeType] = {}
        self._places: dict[tuple[int, ...], tuple[int, ...]] = {}  # each kept once

    def look(self, frame: FrameType | None) -> Look | None:
        """Return what the stack tells of a call in this frame, if it or the one that it helps is
        marked."""
        if frame is not None and id(frame.f_code) in self._helpers:
            frame = frame.f_back
        mark: Any = None if frame is None else frame.f_trace
        return mark.of(self.owner) if type(mark) is torch_private.Mark else None

    def note(self, frame: FrameType, look: Look) -> None:
        """Mark the frame of an optimizer; nothing is done for any other one."""
        _, _, bookkeeping, run = look
        if not bookkeeping or run is not None or not torch_private.may_be_marked(frame):
            return
        if self.look(frame.f_back) is not None:
            self._helpers[id(frame.f_code)] = frame.f_code
        else:
            torch_private.put_mark(frame, self.owner, look)

    def begin_write(
        self,
        name: str,
        role: Role,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        look: Look,
        inputs: list[torch.Tensor],
    ) -> CallRecord | None:
        """Make the record of a call in a marked frame that writes its first argument, whose memory
        nobody else has, or sets its ``.grad``, as the general way has it before the call runs. None
        for any other call, and where tensors may stand in another way.

        ``look``: what the stack tells. ``inputs``: the tensors are added to it.
        """
        grad_mode = torch.is_grad_enabled()
        in_place = role is Role.OPERATION and not grad_mode and writes_itself(name)
        if not in_place and role is not Role.GRAD_SET:
            return None
        own = self.objects.known(args[0]) if args else None
        if own is None or own.internal or not self.objects.is_alone(own):
            return None
        places = _places_of_tensors(args, kwargs)
        if not places:
            return None
        inputs += [args[place] for place in places]
        call = _blank(CallRecord)
        call.function, call.role, call.arity, call.outputs = name, role, len(args), []
        call.grad_mode, call.inference_mode = grad_mode, torch.is_inference_mode_enabled()
        call.args_at = self._places.setdefault(places, places)
        call.site, _, call.bookkeeping, call.run_of_module = look
        call.direct = False
        call.inputs = self.objects.states(inputs, internal=True)
        return call

    def is_quiet(
        self, name: str, role: Role, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> bool:
        """Tell whether a call in a marked frame writes nothing but what is the optimizer's own.
        What nobody has met before is known as that from here on."""
        if role not in _QUIET or name in SHARING or "out" in kwargs or torch.is_grad_enabled():
            return False
        written = writes_itself(name)
        for place, value in enumerate((*args, *kwargs.values())):
            several = value if type(value) in (tuple, list) else (value,)
            if not self._are_quiet(several, written and place == 0):
                return False
        return True

    def _are_quiet(self, values: Iterable[Any], written: bool) -> bool:
        objects = self.objects
        for value in values:
            kind = type(value)
            if kind is _TENSOR or kind is _PARAMETER:
                own = objects.known(value)
                if own is None and objects.put_off(value):
                    continue
                own = own or objects.see_internal(value)
                if written and not (own.internal and objects.is_alone(own)):
                    return False
            elif isinstance(value, (_TENSOR, tuple, list, dict)):
                return False
        return True


def _places_of_tensors(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int, ...]:
    """Return where tensors stand among the arguments of a call; nothing where any may stand in
    another way, in a list or as a keyword."""
    places: list[int] = []
    for place, value in enumerate(args):
        kind = type(value)
        if kind is _TENSOR or kind is _PARAMETER:
            places.append(place)
        elif kind not in NO_TENSORS:
            return ()
    for value in kwargs.values():
        if type(value) not in NO_TENSORS:
            return ()
    return tuple(places)
