"""Custom Functions while recording: the mode sees the calls inside ``forward``, the graph shall
show one call."""

from __future__ import annotations

from types import FrameType
from typing import TYPE_CHECKING, Any
from weakref import ref

import torch

from gradviz.graph.records import CutReason
from gradviz.watch import torch_private
from gradviz.watch.entries import CallRecord, Object, Site, State, Write
from gradviz.watch.functions import Role
from gradviz.watch.identity import Objects
from gradviz.watch.stack import Frames

if TYPE_CHECKING:
    from gradviz.watch.entries import ModuleRun


class Custom:
    """One ``Function.apply`` under way: what goes in from outside, and what is made inside."""

    def __init__(self, call: CallRecord, place: tuple[int, Site], context: ref[Any] | None) -> None:
        self.call = call
        # what the calls of this run have in common on the stack, and the site that called ``apply``
        self.place = place
        self.context = context  # its ``ctx``, where the stack tells it
        # what ``apply`` got; all other inputs are read from outside, as a closure does
        self.given = list(call.inputs)
        self.inside: list[Object] = []
        self.lost_result = False  # whether one that may have been tracked died behind ``apply``
        self.watched: list[ref[torch.Tensor]] = []
        self.runs: list[ModuleRun] | None = None  # of modules, in which all of it ran
        self.next_number = torch_private.next_sequence_nr()

    def is_over(self, place: tuple[int, Site] | None) -> bool:
        """Tell whether it is over: another frame, a ``ctx`` that is gone, or a result that became
        tracked: inside ``forward`` none can be."""
        if place != self.place or (self.context is not None and self.context() is None):
            return True
        # Every ``apply`` makes a node, and every node takes a number: where none was taken, this is
        # the same ``apply``, which hands its results back one after the other.
        if 0 < self.next_number == torch_private.next_sequence_nr():
            return False
        alive = [t for t in (o() for o in self.inside) if t is not None]
        # A leaf was made inside; what ``apply`` returns has a node.
        tracked = [t for t in alive if t.requires_grad and torch_private.base_of(t) is None]
        return any(not t.is_leaf for t in tracked)

    def ran_in(self, run: ModuleRun | None) -> None:
        """Note that one call inside ``forward`` ran in this call of a module: a reentrant
        checkpoint calls modules."""
        around = []
        while run is not None:
            around.append(run)
            run = run.parent
        if self.runs is not None:
            around = [one for one in around if one in self.runs]
        self.runs = around
        self.call.run_inside = around[0] if around else None

    def saw(
        self, objects: Objects, inputs: list[torch.Tensor], returned: list[torch.Tensor]
    ) -> None:
        """Note one call inside ``forward``: what it reads from outside are inputs too."""
        own = self.call.inputs
        before = torch_private.next_sequence_nr()
        for tensor in inputs:
            seen = objects.see(tensor)
            if seen not in self.inside and all(s.object is not seen for s in own):
                own.append(seen.state)
        for tensor in returned:
            made = objects.known(tensor) or objects.make(tensor, self.call)
            if made not in self.inside and all(s.object is not made for s in own):
                self.inside.append(made)
                dtype = made.state.dtype
                if dtype is None or dtype.is_floating_point or dtype.is_complex:
                    self.watched.append(ref(tensor, self._note_death))
        # To read where the gradient of a leaf goes may take a number too.
        self.next_number += torch_private.next_sequence_nr() - before

    def _note_death(self, _: Any) -> None:
        """Note that something made inside died. What dies while ``forward`` runs, or when it
        returns, was no result; it runs without grad mode, which is on again behind ``apply``."""
        self.lost_result = self.lost_result or torch.is_grad_enabled()

    def close(self, objects: Objects) -> list[Write]:
        """Fill the record of the Function, which has returned, and return what it wrote."""
        self.watched.clear()
        tracked, plain, total = self._results(objects)
        writes = self._writes(objects)
        for at, state in enumerate(self.call.inputs):
            tensor = state.object()
            # used in a graph now, see NOTE [views]
            if tracked and state.object.deferred and tensor is not None:
                self.call.inputs[at] = objects.refresh(state.object, tensor)
        self._outputs(tracked, plain, total)
        return writes

    def _results(self, objects: Objects) -> tuple[list[State], list[State], int]:
        """Return what was made inside and lives on: results that the Function's node tracks, what
        is not tracked, and how many values the node returned (0: there is no node)."""
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
            elif torch_private.is_custom(node):
                tracked.append(state)
                total = torch_private.output_count(node)
                if self.call.function == f"{torch_private.UNNAMED}.apply":
                    self.call.function = (
                        f"{torch_private.applied_name(node) or torch_private.UNNAMED}.apply"
                    )
        return tracked, plain, total

    def _writes(self, objects: Objects) -> list[Write]:
        """Return the inputs that were written inside."""
        writes = []
        for before in self.call.inputs:
            tensor = before.object()
            if tensor is None:
                continue
            if torch_private.version(tensor) != before.version:
                writes.append((before, objects.refresh(before.object, tensor), False))
            elif (
                before.version is None
                and (after := objects.read_again(before.object, tensor)) is not before
            ):
                writes.append((before, after, False))
        return writes

    def _outputs(self, tracked: list[State], plain: list[State], total: int) -> None:
        """Return which tensors came out, and which of them without gradient.

        In which order several untracked ones were returned is not known: they need not be made in
        that order, so no name is given to them.
        """
        call = self.call
        plain = self._plain_results(tracked, plain, total)
        call.outputs = _in_order(tracked, plain, total)
        call.returned = len(call.outputs) if max(total, len(call.outputs)) > 1 else None
        if len(plain) > 1:
            call.returned = 0
        if tracked or self.lost_result:
            # what reaches one result is not cut, though nobody keeps that one; what a closure reads
            # may get its gradient from ``backward``
            return
        sources = {id(s): s for s in call.inputs if s.tracked}.values()
        call.cuts = [(s, out, self._reason(s)) for out in plain for s in sources]

    def _plain_results(self, tracked: list[State], plain: list[State], total: int) -> list[State]:
        """Return those untracked tensors that are results.

        Beside a tracked result the node tells how many values were returned. More untracked
        candidates than it has room for may be tensors that ``ctx`` keeps; then none is claimed to
        be a result.
        """
        # A view of an input is returned as another object: what lives on inside is not the result.
        given = [s.block for s in self.call.inputs if s.block is not None]
        results = [s for s in plain if s.block is None or all(s.block is not b for b in given)]
        return [] if tracked and len(tracked) + len(results) > total else results

    def _reason(self, source: State) -> CutReason:
        if self.call.inference_mode:
            return CutReason.INFERENCE_MODE
        if self.call.grad_mode and any(source is s for s in self.given):
            return CutReason.CUSTOM_NON_DIFFERENTIABLE
        # ``forward`` runs without grad mode: what it was not given is read under no_grad
        return CutReason.NO_GRAD


def _in_order(tracked: list[State], plain: list[State], total: int) -> list[State]:
    """Return the results in the order in which they were returned, where all of them are known:
    the tracked ones tell their place."""
    if not tracked or len(tracked) + len(plain) != total:
        return tracked + plain
    by_position = {s.output_nr: s for s in tracked}
    rest = iter(plain)
    return [by_position[i] if i in by_position else next(rest) for i in range(total)]


class CustomFunctions:
    """Follows the stack into and out of ``Function.apply``."""

    def __init__(self, frames: Frames, objects: Objects) -> None:
        self.frames, self.objects = frames, objects
        self.running: Custom | None = None
        # As the user set it: inside ``forward`` torch has it off. inference_mode, which hides it,
        # is asked for itself.
        self.grad_mode = torch.is_grad_enabled()
        # where set_grad_enabled(False) was called last, and nobody has called it with True since
        self.switched: Site = ()

    def note_grad_mode(self, enabled: bool, frame: FrameType) -> None:
        """Note that ``no_grad`` or its kin were entered or left.

        Where grad mode is off though nobody was seen to switch it off, torch calls the user back
        from C++ (a pack hook, as a checkpoint has them): what is set there ends with it.
        """
        if torch_private.is_grad_switch(frame.f_code):
            self.switched = () if enabled else self.frames.site(frame)
        is_hidden = self.grad_mode and not torch.is_grad_enabled()
        if (
            not is_hidden
            and not torch.is_inference_mode_enabled()
            and self.frames.custom(frame) is None
        ):
            self.grad_mode = enabled

    def enter(
        self, frame: FrameType, name: str, args: tuple[Any, ...]
    ) -> tuple[Custom | None, Custom | None]:
        """Return (the Function that has ended, the Function that is running) now that a call from
        ``frame`` begins."""
        run = self.frames.custom(frame)
        if run is None and torch_private.hands_back(name, args):
            run = self._returning(frame, args)
        place = None if run is None else (run.key, self.frames.site(run.caller))
        ended = None
        if self.running is not None and self.running.is_over(place):
            ended, self.running = self.running, None
        if run is not None and place is not None and self.running is None:
            self.running = self._begin(run, place)
        return ended, self.running

    def _returning(
        self, frame: FrameType, args: tuple[Any, ...]
    ) -> torch_private.FunctionRun | None:
        """Return the run of a Function whose ``forward`` returned, and whose ``apply`` has not."""
        run = torch_private.run_without_frames(frame, args)
        began = self.running is not None and not self.running.is_over(
            (run.key, self.frames.site(frame))
        )
        # Grad mode is off, and nobody but ``apply`` can have switched it off.
        unseen = (
            self.grad_mode and not torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
        )
        return run if began or unseen else None

    def _begin(self, run: torch_private.FunctionRun, place: tuple[int, Site]) -> Custom:
        call = CallRecord(f"{run.name}.apply", Role.OPERATION, self.grad_mode)
        call.site, call.direct, call.bookkeeping, call.run_of_module = self.frames.look(run.caller)
        call.custom = True
        call.inference_mode = torch.is_inference_mode_enabled()
        call.arity = len(run.given)
        for at, value in enumerate(run.given):
            if isinstance(value, torch.Tensor):
                call.inputs.append(self.objects.see(value).state)
                call.args_at += (at,)
        return Custom(call, place, run.context)

    def leave(self) -> Custom | None:
        """End the Function that ran last, because the recording ends."""
        ended, self.running = self.running, None
        return ended
