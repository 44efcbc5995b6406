"""Custom Functions while recording: the mode sees the calls inside ``forward``, the graph shall show one call."""

from __future__ import annotations

from types import FrameType

import torch

from gradviz import _torch_compat as compat
from gradviz.calls import CallRecord, Frames, Site
from gradviz.functions import Role
from gradviz.graph import CutReason
from gradviz.objects import Object, Objects, State

Write = tuple[State, State, bool]  # before, after, by an alias


class Custom:
    """One ``Function.apply`` under way: what goes in from outside, and what is made inside."""

    def __init__(self, call: CallRecord, place: tuple[int, Site]) -> None:
        self.call = call
        self.place = place  # id of the frame of ``apply``, and the site that called it
        self.inside: list[Object] = []

    def is_over(self, place: tuple[int, Site] | None) -> bool:
        """Another frame, or a result that became tracked: inside ``forward`` grad mode is off, so none can be."""
        return place != self.place or any(t.requires_grad for t in (o() for o in self.inside) if t is not None)

    def saw(self, objects: Objects, inputs: list[torch.Tensor], returned: list[torch.Tensor]) -> None:
        """One call inside ``forward``: what it reads from outside are the Function's inputs."""
        own = self.call.inputs
        for tensor in inputs:
            seen = objects.see(tensor)
            if seen not in self.inside and all(s.object is not seen for s in own):
                own.append(seen.state)
        for tensor in returned:
            made = objects.known(tensor) or objects.make(tensor, self.call)
            if made not in self.inside and all(s.object is not made for s in own):
                self.inside.append(made)

    def close(self, objects: Objects) -> list[Write]:
        """The Function has returned: fill its record. Returns what it wrote."""
        tracked: list[State] = []
        plain: list[State] = []
        total = 0
        for own in self.inside:
            tensor = own()
            if tensor is None:
                continue
            state = objects.refresh(own, tensor)
            node = None if state.node is None else tensor.grad_fn
            if node is None:
                plain.append(state)
            elif compat.is_custom(node):
                tracked.append(state)
                total = compat.output_count(node)
        writes = []
        for before in self.call.inputs:
            tensor = before.object()
            if tensor is not None and compat.version(tensor) != before.version:
                writes.append((before, objects.refresh(before.object, tensor), False))
        self._outputs(tracked, plain, total)
        return writes

    def _outputs(self, tracked: list[State], plain: list[State], total: int) -> None:
        """Which tensors came out, and which of them without gradient.

        Beside a tracked result the node tells how many values were returned. More untracked candidates than it has
        room for may be tensors that ``ctx`` keeps; then none is claimed to be a result.
        """
        call = self.call
        if tracked and len(tracked) + len(plain) > total:
            plain = []
        if tracked and len(tracked) + len(plain) == total:
            by_position = {s.output_nr: s for s in tracked}
            rest = iter(plain)
            call.outputs = [by_position[i] if i in by_position else next(rest) for i in range(total)]
        else:
            call.outputs = tracked + plain
        call.returned = len(call.outputs) if max(total, len(call.outputs)) > 1 else None
        if tracked:
            return  # what reaches one result is not cut
        if call.inference_mode or not call.grad_mode:
            why = CutReason.INFERENCE_MODE if call.inference_mode else CutReason.NO_GRAD
        else:
            why = CutReason.CUSTOM_NON_DIFFERENTIABLE
        call.cuts = [(s, out, why) for out in plain for s in call.inputs if s.tracked]


class CustomFunctions:
    """Follows the stack into and out of ``Function.apply``."""

    def __init__(self, frames: Frames) -> None:
        self.frames = frames
        self.running: Custom | None = None
        # As the user set it: inside ``forward`` torch has it off. inference_mode, which hides it, is asked for itself.
        self.grad_mode = torch.is_grad_enabled()

    def note_grad_mode(self, enabled: bool, frame: FrameType) -> None:
        """``no_grad`` and its kin were entered or left."""
        if not torch.is_inference_mode_enabled() and self.frames.custom(frame) is None:
            self.grad_mode = enabled

    def enter(self, frame: FrameType) -> tuple[Custom | None, Custom | None]:
        """(the Function that has ended, the Function that is running) now that a call from ``frame`` begins."""
        found = self.frames.custom(frame)
        place = None if found is None else (id(found[0]), self.frames.site(found[0].f_back))
        ended = None
        if self.running is not None and self.running.is_over(place):
            ended, self.running = self.running, None
        if found is not None and place is not None and self.running is None:
            apply, name = found
            call = CallRecord(name, Role.OPERATION, self.grad_mode)
            look = self.frames.look(apply.f_back)
            call.site, call.direct, call.bookkeeping = look.site, look.direct, look.bookkeeping
            call.custom = True
            call.inference_mode = torch.is_inference_mode_enabled()
            if look.inner is not None and look.outer is not None:
                call.module, _ = self.frames.module(look.inner, look.outer)
            self.running = Custom(call, place)
        return ended, self.running

    def leave(self) -> Custom | None:
        """The recording ends: so does the Function that ran last."""
        ended, self.running = self.running, None
        return ended
