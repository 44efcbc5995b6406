"""``record()``: watch what runs, change nothing, keep only plain data.

A ``TorchFunctionMode`` sees each call of a torch function. Around the call the recorder notes the state of every
tensor that goes in and comes out; ``assemble.py`` turns that log into a Graph afterwards. Limits are listed in
``docs/limits.md``: another thread's work, ``from_numpy``, ``nn.Parameter(x)`` and C++ extensions are not seen.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from types import FrameType, TracebackType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from gradviz import _torch_compat as compat
from gradviz import connect
from gradviz.assemble import Assembled, assemble
from gradviz.backward import Watch, watch
from gradviz.calls import CallRecord, Custom, Frames
from gradviz.functions import Role, describe
from gradviz.graph import Cut, CutReason, Event, GradvizError, Graph, Tensor
from gradviz.objects import Object, Objects, State
from gradviz.views.figure import Figure

ALIAS_LIMIT = 64  # tensors over one block of memory whose state is read again after a write

_TENSOR = torch.Tensor
_BACKWARD = (Role.BACKWARD, Role.GRAD)
_IN_PLACE_ROLES = (Role.FLAG, Role.DETACH_IN_PLACE, Role.DATA_SET, Role.GRAD_SET)
_NOTHING = nullcontext()
_NO_CUT = (Role.BACKWARD, Role.GRAD, Role.GRAD_SET)


def tensors_in(value: Any, found: list[torch.Tensor], depth: int = 4) -> None:
    """Append the tensors inside nested tuples, lists and dicts."""
    if isinstance(value, _TENSOR):
        found.append(value)
    elif depth and isinstance(value, (tuple, list)):
        for item in value:
            tensors_in(item, found, depth - 1)
    elif depth and isinstance(value, dict):
        for item in value.values():
            tensors_in(item, found, depth - 1)


class Recorder(TorchFunctionMode):
    """The mode. Everything that it keeps is plain data or a weak reference."""

    def __init__(self, max_events: int, reads_gpu: bool) -> None:
        super().__init__()
        self.max_events = max_events
        self.log: deque[tuple[Any, ...]] = deque()
        self.dropped = 0
        self.failures: dict[str, int] = {}
        self.nodes = connect.Nodes()
        self.objects = Objects(reads_gpu, self.nodes.meet)
        self.nodes.see, self.nodes.known, self.nodes.kin = self.objects.see, self.objects.known, self.objects.kin
        self.frames = Frames()
        self.custom: Custom | None = None
        self.runs = 0
        self.grad_mode = torch.is_grad_enabled()  # as the user set it: inside a custom Function torch turns it off
        self._roles: dict[Any, tuple[str, Role]] = {}

    # --- around each call ------------------------------------------------------------------------------------------

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run ``func`` as if nobody watched, and note what went in and out."""
        kwargs = kwargs or {}
        if compat.is_compiling():
            return func(*args, **kwargs)
        name, role = self._roles.get(func) or self._describe(func)
        if role is Role.IGNORED:
            if name == "_set_grad_enabled" and self.frames.custom(sys._getframe(1)) is None:
                self.grad_mode = bool(args[0])
            return func(*args, **kwargs)
        call = watching = None
        inputs: list[torch.Tensor] = []
        # Our own reading is not for the user's subclasses, nor for modes outside this one.
        alone = compat.unobserved if types or compat.has_outer_mode() else None
        try:
            with alone() if alone else _NOTHING:
                call = self._before(name, role, args, kwargs, inputs, sys._getframe(1))
                if call is not None and role in _BACKWARD:
                    watching = watch(self, call, role, args, kwargs)
        except Exception as error:
            self._failed(error)
        done = False
        try:
            result = func(*args, **kwargs)
            done = True
        finally:
            if watching is not None:
                watching.stop()
            if not done:
                self._raised(call, watching)
        if call is not None:
            try:
                with alone() if alone else _NOTHING:
                    self._after(call, watching, inputs, args, result)
            except Exception as error:
                self._failed(error)
        return result

    def _describe(self, func: Callable[..., Any]) -> tuple[str, Role]:
        found = self._roles[func] = describe(func)
        return found

    def _failed(self, error: Exception) -> None:
        """Our own book-keeping failed: never the user's problem, but said in the notes."""
        text = f"{type(error).__name__}: {str(error)[:120]}"
        self.failures[text] = self.failures.get(text, 0) + 1

    def _raised(self, call: CallRecord | None, watching: Watch | None) -> None:
        """A call of the user's raised. Runs while the exception passes through; leaves no trace of us in it."""
        kind, error, trace = sys.exc_info()
        if error is not None and trace is not None:
            # Our frame is the first of the traceback: the user's cell did not call it.
            error.__traceback__ = trace.tb_next
        if call is not None and error is not None and kind is not None:
            call.error = (kind.__name__, str(error)[:2000])
            try:
                if watching is not None:
                    with compat.unobserved():
                        watching.finish(())
            except Exception as failure:
                self._failed(failure)
            call.found = call.found + self.nodes.collect()
            self._log("raised", call)

    # --- before ----------------------------------------------------------------------------------------------------

    def _before(
        self,
        name: str,
        role: Role,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        found: list[torch.Tensor],
        frame: FrameType,
    ) -> CallRecord | None:
        if compat.functorch_active():
            self.failures.setdefault("inside torch.func transforms nothing is recorded", 0)
            return None
        grad_mode = torch.is_grad_enabled()
        if not grad_mode or self.custom is not None:
            custom = self._inside_custom(frame)
            if custom is not None:
                tensors_in((args, kwargs), found)
                return custom
        self.grad_mode = grad_mode
        call = CallRecord(name, role, grad_mode)
        call.arity = len(args)
        for at, value in enumerate(args):
            if isinstance(value, _TENSOR):
                found.append(value)
                call.args_at.append(at)
            elif isinstance(value, (tuple, list, dict)):
                tensors_in(value, found)
                call.args_at.extend([~at] * (len(found) - len(call.args_at)))
        for key, value in kwargs.items():
            tensors_in(value, found)
            call.args_at.extend([key] * (len(found) - len(call.args_at)))
        look = self.frames.look(frame)
        call.site = look.site
        if not look.direct:
            call.direct, call.bookkeeping = False, look.bookkeeping
        if not grad_mode:
            call.inference_mode = torch.is_inference_mode_enabled()
        module = None
        if look.inner is not None and look.outer is not None:
            call.module, module = self.frames.module(look.inner, look.outer)
        see = self.objects.see
        for tensor in found:
            seen = self.objects.known(tensor) if look.bookkeeping else None
            if look.bookkeeping and seen is None:
                seen = see(tensor)
                seen.internal = not (tensor.requires_grad or isinstance(tensor, torch.nn.Parameter))
            seen = see(tensor)
            call.inputs.append(seen.state)
            if module is not None and seen.parameter is None and seen.state.is_leaf:
                self._name_parameter(seen, tensor, module, call)
        call.found = self.nodes.collect()
        return call

    def _name_parameter(self, seen: Object, tensor: torch.Tensor, module: torch.nn.Module, call: CallRecord) -> None:
        for own, parameter in module.named_parameters(recurse=False):
            if parameter is tensor:
                seen.parameter = (own, call.module)

    def _inside_custom(self, frame: Any) -> CallRecord | None:
        """The record of the custom Function that is running, if one is. Closes the one before it."""
        found = self.frames.custom(frame)
        here = None if found is None else (id(found[0]), self.frames.site(found[0].f_back))
        if self.custom is not None and self.custom.is_over(here):
            self.close_custom()
        if found is None or here is None:
            return None
        if self.custom is None:
            apply, name = found
            call = CallRecord(name, Role.OPERATION, self.grad_mode)
            look = self.frames.look(apply.f_back)
            call.site, call.direct, call.bookkeeping = look.site, False, look.bookkeeping
            call.inference_mode = torch.is_inference_mode_enabled()
            self.custom = Custom(call, here)
        return self.custom.call

    # --- after -----------------------------------------------------------------------------------------------------

    def _after(
        self, call: CallRecord, watching: Watch | None, inputs: list[torch.Tensor], args: tuple[Any, ...], result: Any
    ) -> None:
        custom = self.custom
        if custom is not None and call is custom.call:
            self._after_inside(custom, inputs, result)
            return
        writes = self._writes(call, inputs)
        if call.bookkeeping:
            writes = [w for w in writes if not w[0].object.internal]
            if not writes:
                return
        returned: list[torch.Tensor] = []
        tensors_in(result, returned)
        if isinstance(result, (tuple, list)):
            call.returned = len(returned)
        for tensor in returned:
            call.outputs.append(self._output(call, tensor))
        self._read_deferred(call, inputs)
        made = self.nodes.collect()
        if any(s.start is not None for n in made for s in n.saved):
            made = connect.with_results(made, call.outputs + [after for _, after, _ in writes])
        if call.role not in _NO_CUT and not call.bookkeeping:
            self._prove_cuts(call, made, writes)
        call.nodes = made
        if watching is not None:
            watching.finish(result)
            call.nodes = call.nodes + self.nodes.collect()
        elif call.outputs or writes or call.cuts:
            self._log("called", call)
        for write in writes:
            self._log("wrote", call, *write)

    def _read_deferred(self, call: CallRecord, inputs: list[torch.Tensor]) -> None:
        """Views that this call used in a graph: torch has built their grad_fn by now (NOTE [views] in objects.py)."""
        if len(self.nodes.new) < 2:
            return  # the call's own node at most: no view stands behind it
        fresh: dict[Object, State] = {}
        for at, tensor in enumerate(inputs):
            own = call.inputs[at].object
            if own.deferred:
                fresh[own] = self.objects.refresh(own, tensor)
            call.inputs[at] = fresh.get(own, call.inputs[at])

    def _output(self, call: CallRecord, tensor: torch.Tensor) -> State:
        known = self.objects.known(tensor)
        if known is not None:
            return known.state
        added = self.objects.add(tensor, made=True)
        state = added.state
        if state.base is not None:
            added.counter = state.base.counter
        elif state.block is not None and call.role is not Role.DATA_GET:
            for before in call.inputs:
                if before.block is state.block:
                    added.counter = before.object.counter
                    break
        return state

    def _writes(self, call: CallRecord, inputs: list[torch.Tensor]) -> list[tuple[State, State, bool]]:
        """(before, after, by alias) of every tensor that the call changed in place."""
        writes: list[tuple[State, State, bool]] = []
        fused = call.function.startswith("_fused_")
        for at, (tensor, before) in enumerate(zip(inputs, call.inputs, strict=True)):
            own = before.object
            if own.state is not before and any(w[1] is own.state for w in writes):
                continue  # an alias of one already seen
            version = compat.version(tensor)
            if version != before.version or (fused and call.args_at[at] == ~0):
                # An in-place method has just given a written view its grad_fn; y[0] = ... writes through another.
                fresh = call.grad_mode and call.function != "__setitem__"
                after = self.objects.refresh(own, tensor, settled=fresh or compat.base_of(tensor) is None)
                writes.append((before, after, False))
                self._write_aliases(own, before.version, writes)
            elif at == 0 and call.role in _IN_PLACE_ROLES:
                after = self.objects.refresh(own, tensor)
                if after != before:
                    writes.append((before, after, False))
        return writes

    def _write_aliases(self, own: Object, old_version: int | None, writes: list[tuple[State, State, bool]]) -> None:
        block = own.state.block
        owner = self.objects.grad_owner.get(id(own.ref()))
        others = [] if block is None else [m for m in block.members if m is not own][:ALIAS_LIMIT]
        if owner is not None and owner not in others:
            others.append(owner)
        for other in others:
            tensor = other.ref()
            if tensor is None:
                continue
            before = other.state
            unchanged = not other.deferred and compat.version(tensor) == before.version
            settled = unchanged or compat.base_of(tensor) is None
            after = self.objects.refresh(other, tensor, settled=settled)
            if other.counter is not own.counter and before.version != after.version and after.version is not None:
                other.counter = own.counter  # it moved along, so it is one counter
            if after != before:
                writes.append((before, after, True))

    def _prove_cuts(self, call: CallRecord, made: list[Any], writes: list[tuple[State, State, bool]]) -> None:
        """NOTE [what is a cut]: see docs/decisions.md. Only what the walk proves is called one."""
        tracked = [(at, s) for at, s in enumerate(call.inputs) if s.tracked]
        if not tracked or (not writes and connect.is_plain(call.inputs, call.outputs, made)):
            return
        role, written = call.role, {before.object for before, _, alias in writes if not alias}
        judged = []
        for at, state in tracked:
            place = call.args_at[at]
            if (role is Role.FACTORY and at == 0) or (role is Role.SHAPE_OF_OTHER and place != 0):
                continue
            if call.function == "new_tensor" and place == 0:
                continue
            if role in (Role.FLAG, Role.DETACH_IN_PLACE):
                if any(before is state and not after.tracked for before, after, _ in writes):
                    judged.append(state)
            elif state.object not in written:
                judged.append(state)
        if not judged:
            return
        after = [a for _, a, alias in writes if not alias]
        edges = connect.reached(call.outputs + [a for _, a, _ in writes] + self._bases(after), made)
        target = call.outputs[0] if call.outputs else after[0] if after else None
        mode = (call.grad_mode, call.inference_mode)
        wrote = target is not None and any(a is target for a in after)
        cuts = call.cuts = []
        cut_before: set[int] = set()
        for state in judged:
            if id(state) in cut_before or connect.is_connected(state, edges):
                continue
            cut_before.add(id(state))
            why = connect.reason(role, call.function, state, target, wrote, mode)
            cuts.append((state, target, why))

    def _bases(self, written: list[State]) -> list[State]:
        """The tensors that written views look into: they carry the new history where the view's was left unread."""
        deferred = [tensor for s in written if s.object.deferred and (tensor := s.object.ref()) is not None]
        bases = [base for tensor in deferred if (base := compat.base_of(tensor)) is not None]
        return [self.objects.see(base).state for base in bases]

    # --- custom Functions ------------------------------------------------------------------------------------------

    def _after_inside(self, custom: Custom, inputs: list[torch.Tensor], result: Any) -> None:
        """One call inside ``forward``: what it reads from outside are the Function's inputs."""
        call, inside = custom.call, custom.inside
        for tensor in inputs:
            seen = self.objects.see(tensor)
            if seen not in inside and all(s.object is not seen for s in call.inputs):
                call.inputs.append(seen.state)
        returned: list[torch.Tensor] = []
        tensors_in(result, returned)
        for tensor in returned:
            if self.objects.known(tensor) is None:
                self._output(call, tensor)
            own = self.objects.see(tensor)
            if own not in inside and all(s.object is not own for s in call.inputs):
                inside.append(own)

    def close_custom(self) -> None:
        """The custom Function has returned: what came out of it?"""
        custom, self.custom = self.custom, None
        if custom is None:
            return
        call = custom.call
        tracked: list[State] = []
        plain: list[State] = []
        total = 0
        for own in custom.inside:
            tensor = own.ref()
            if tensor is None:
                continue
            state = self.objects.refresh(own, tensor)
            node = None if state.node is None else tensor.grad_fn
            if node is None:
                plain.append(state)
            elif compat.is_custom(node):
                tracked.append(state)
                total = compat.output_count(node)
        writes = []
        for before in call.inputs:
            tensor = before.object.ref()
            if tensor is not None and compat.version(tensor) != before.version:
                writes.append((before, self.objects.refresh(before.object, tensor), False))
        call.nodes = self.nodes.collect()
        self._custom_outputs(call, tracked, plain, total)
        self._log("called", call)
        for write in writes:
            self._log("wrote", call, *write)

    def _custom_outputs(self, call: CallRecord, tracked: list[State], plain: list[State], total: int) -> None:
        """Which tensors came out, and which of them without gradient.

        Beside a tracked result the node tells how many values were returned. More untracked candidates than it has
        room for may be tensors that ``ctx`` keeps; then none is claimed to be a result.
        """
        if tracked and len(tracked) + len(plain) > total:
            plain = []
        if tracked and len(tracked) + len(plain) == total:
            by_position = {s.output_nr: s for s in tracked}
            rest = iter(plain)
            call.outputs = [by_position[i] if i in by_position else next(rest) for i in range(total)]
        else:
            call.outputs = tracked + plain
        call.returned = len(call.outputs) if max(total, len(call.outputs)) > 1 else None
        sources = [s for s in call.inputs if s.tracked]
        if call.inference_mode or not call.grad_mode:
            why = CutReason.INFERENCE_MODE if call.inference_mode else CutReason.NO_GRAD
        else:
            why = CutReason.CUSTOM_NON_DIFFERENTIABLE
        if not tracked:
            call.cuts = [(s, out, why) for out in plain for s in sources]

    # --- the log ---------------------------------------------------------------------------------------------------

    def _log(self, kind: str, *what: Any) -> None:
        log = self.log
        log.append((kind, *what))
        if len(log) > self.max_events:
            # Whole calls go: what belongs to a dropped call says nothing alone.
            log.popleft()
            self.dropped += 1
            while log and log[0][0] not in ("called", "raised"):
                log.popleft()
                self.dropped += 1


class Recording:
    """What one ``record()`` saw. Displays as the picture; holds plain data only.

    Attributes:
        graph: everything recorded, as a Graph.
        events: what happened, in order; ``at(k)`` is the Graph after k of them.
        cuts: where values went on and gradients do not, each with its reason.
    """

    def __init__(self, max_events: int, values: bool) -> None:
        self._recorder = Recorder(max_events, values)
        self._assembled: dict[int, Assembled] = {}
        self._thread: int | None = None

    def __enter__(self) -> Recording:
        """Start recording this thread's torch calls."""
        if self._thread is not None:
            raise GradvizError("this recording was used already; expected a new one: with gv.record() as rec")
        self._thread = threading.get_ident()
        self._recorder.__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop recording. Nothing of the user's is kept."""
        self._recorder.__exit__(kind, error, trace)  # type: ignore[no-untyped-call]
        self._finish()
        self._recorder.objects.settle()

    def _finish(self) -> None:
        try:
            self._recorder.close_custom()
        except Exception as error:
            self._recorder._failed(error)

    def _now(self) -> Assembled:
        self._finish()
        length = len(self._recorder.log)
        if length not in self._assembled:
            self._assembled = {length: assemble(self._recorder)}
        return self._assembled[length]

    @property
    def graph(self) -> Graph:
        """The Graph after everything recorded so far."""
        return self._now().graph

    @property
    def events(self) -> tuple[Event, ...]:
        """What happened, in order."""
        return self.graph.events  # type: ignore[return-value]

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """The cuts, in order."""
        return self.graph.cuts  # type: ignore[return-value]

    def at(self, step: int) -> Graph:
        """The Graph after ``step`` events.

        Args:
            step: from 0 (nothing yet) to ``len(rec.events)``.

        Raises:
            GradvizError: there is no such step.
        """
        total = len(self._recorder.log)
        if not 0 <= step <= total:
            raise GradvizError(f"there is no step {step}: this recording has steps 0 to {total}")
        return self._now().at(step)

    def find(self, tensor: torch.Tensor) -> Tensor | None:
        """The last recorded state of a tensor that is still alive, or None if it was not seen."""
        known = self._recorder.objects.known(tensor)
        return None if known is None else self._now().tensor_of(known)

    def figure(self, view: str = "cards") -> Figure:
        """The picture: ``"cards"`` or the raw ``"nodes"``."""
        return Figure(self.graph, view=view)  # type: ignore[arg-type]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return self.figure()._repr_mimebundle_(include, exclude)

    def __repr__(self) -> str:
        return f"Recording({len(self._recorder.log)} events)"


def record(*, max_events: int = 10_000, values: bool = False) -> Recording:
    """Record what autograd does in a block, and what it leaves no trace of.

    Args:
        max_events: how many events are kept; the oldest are dropped and the notes say how many.
        values: copy small values (at most 8 elements) from devices other than the CPU too; that waits for the device.

    Returns:
        A context manager that becomes the Recording.

    Example:
        >>> import torch
        >>> a = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> with record() as rec:
        ...     b = a.detach()
        >>> [(cut.reason.value, rec.graph.tensor[cut.input_id].name) for cut in rec.cuts]
        [('detach', 'a')]
    """
    if not isinstance(max_events, int) or max_events < 1:
        raise GradvizError(f"max_events is {max_events!r}; expected a whole number of at least 1, e.g. 10_000")
    return Recording(max_events, values)
