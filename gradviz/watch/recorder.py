"""The mode that watches: it runs each torch function as if nobody looked, and notes what went in
and out.

A ``TorchFunctionMode`` sees each call of a torch function. Around the call the recorder notes the
state of every tensor that goes in and comes out; ``assemble.py`` turns that log into a Graph
afterwards. What it cannot see stands in ``docs/limits.md``. This is the path that every recorded
call takes: it is written to be quick, see ``benchmarks/``.
"""

from __future__ import annotations

import sys
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from types import CodeType, FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from gradviz.graph.records import CutReason, Note, NoteKind
from gradviz.watch import cuts, torch_private
from gradviz.watch.backward import Watch, watch
from gradviz.watch.batches import Batches
from gradviz.watch.custom_function import Custom, CustomFunctions
from gradviz.watch.entries import (
    Block,
    CallRecord,
    Looked,
    ModuleRun,
    NodeRecord,
    Object,
    Places,
    Site,
    State,
    Write,
)
from gradviz.watch.functions import (
    CALCULATES,
    LOOKS,
    SHARING,
    Role,
    describe,
    told_to_write,
    writes_itself,
)
from gradviz.watch.hooks import Hooks
from gradviz.watch.identity import Objects, named_parameters
from gradviz.watch.modules import Modules
from gradviz.watch.stack import WROTE_ALONE, Frames, Look, events_in, folded_write, usual_call
from gradviz.watch.steps import Steps

LOOK_LIMIT = 10_000  # tensors of which it is kept that the user's code looked at them
ALIAS_LIMIT = 64  # tensors over one block of memory whose state is read again after a write

_TENSOR = torch.Tensor
_NESTED = (tuple, list, dict)
# The site of a call that may become a usual one, the module's call, did the user's own code make
# it, its keywords, the state of each argument, and the arguments.
Usual = tuple[Site, "ModuleRun | None", bool, "tuple[str, ...] | Places", list[Any], Sequence[Any]]
# That of a row of a batch, which is passed by: see NOTE [a batch is one step] in batches.py.
_ROW: Usual = ((), None, False, (), [], ())
Given = tuple[tuple[Any, ...], dict[str, Any]]  # args and kwargs of a call
# Looked up once: every recorded call asks them.
_is_compiling, _functorch_active, _outer_modes = (
    torch_private.is_compiling,
    torch_private.functorch_active,
    torch_private.outer_modes,
)
_profiler_enabled = torch_private.profiler_enabled
_grad_enabled, _inference_enabled = torch.is_grad_enabled, torch.is_inference_mode_enabled
_blank = object.__new__  # quicker than calling the class
_BACKWARD = (Role.BACKWARD, Role.GRAD)
_CHANGES_OWN = (Role.FLAG, Role.DETACH_IN_PLACE, Role.DATA_SET, Role.GRAD_SET, Role.RETAIN)
_OPERATION, _IGNORED = Role.OPERATION, Role.IGNORED
_OVER = "", _IGNORED  # what any function is to a recording that has ended
_OPERATIONS = (Role.OPERATION, Role.FUSED, Role.STATISTICS)
# What is ignored and tells something all the same.
_TELLING = SHARING | LOOKS | {"_set_grad_enabled", "_record_function_enter_new"}
# What an event of a call begins with in the log; what belongs to it follows.
_FIRST = ("called", "raised", "usual", "hooked", WROTE_ALONE)
_NO_CUT = (Role.BACKWARD, Role.GRAD, Role.GRAD_SET, Role.RETAIN, Role.HOOK)


def _is_missing(value: Any) -> bool:
    """Say whether what was read of a tensor is None or False."""
    return value is None or value is False


def _leave_traceback() -> None:
    """Take the handler's frame out of the traceback of the error that passes through it: the user
    did not call it."""
    _, error, trace = sys.exc_info()
    if error is not None and trace is not None:
        error.__traceback__ = trace.tb_next


def tensors_in(value: Any, found: list[torch.Tensor], depth: int = 4) -> None:
    """Append the tensors inside nested tuples, lists and dicts."""
    if isinstance(value, _TENSOR):
        found.append(value)
    elif depth and isinstance(value, _NESTED):
        for item in value.values() if isinstance(value, dict) else value:
            tensors_in(item, found, depth - 1)


def _places_of(
    args: tuple[Any, ...], kwargs: dict[str, Any], found: list[torch.Tensor]
) -> tuple[int | str, ...]:
    """Append the tensors of a call, and return where each one stands, see ``CallRecord``."""
    places: list[int | str] = []
    for at, value in enumerate(args):
        if isinstance(value, _TENSOR):
            found.append(value)
            places.append(at)
        elif isinstance(value, _NESTED):
            tensors_in(value, found)
            places.extend([~at] * (len(found) - len(places)))
    for key, value in kwargs.items():
        if type(value) not in cuts.NO_TENSORS:  # as most keywords
            tensors_in(value, found)
            places.extend([key] * (len(found) - len(places)))
    return tuple(places)


# NOTE [whose calls are recorded]: a mode sees every call of its thread, also those of other asyncio
# tasks that run while the block waits. So each recording leaves a mark in the context that entered
# it, and takes the calls of contexts that have the mark: its own task's, and those of tasks begun
# inside its block, which start with a copy of the context. The mark holds nothing of the recording,
# since a context may live long after it. Where a recording ends in another context, its mark stays
# behind here until the next one begins.
class _Mark:
    __slots__ = ("ended",)

    def __init__(self) -> None:
        self.ended = False


_marks: ContextVar[tuple[_Mark, ...]] = ContextVar("gradviz_recordings", default=())
_marks_here = _marks.get


def _in_a_mode() -> bool:
    """Ask: does anything change what a call means, or would it see what we read?"""
    return (
        not _grad_enabled() or _inference_enabled() or _functorch_active() or bool(_outer_modes())
    )


class Recorder(TorchFunctionMode):
    """The mode. Everything that it keeps is plain data or a weak reference."""

    objects_of: type[Objects] = Objects

    def __init__(self, max_events: int, reads_gpu: bool) -> None:
        super().__init__()
        self.mark = _Mark()
        self.ended = False
        self.begun_in: int | None = None  # the backward in whose hook it was entered
        self.compiled = False  # was anything run inside torch.compile?
        self.profiled = False  # was a profiler active?
        self.elsewhere = 0  # calls of other contexts
        # what was not seen to change, and has when the recording ended
        self.last_seen: list[State] = []
        # Memory that the user's code handed to others than torch: the last call that did, how many
        # backwards were over.
        self.handed_out: dict[Block, tuple[str, int]] = {}
        # whose values were read once more when the recording ended
        self.read_last: set[Object] = set()
        # the last look of the user's code at what autograd says of a tensor, by its id and what
        # was looked at
        self.looks: dict[tuple[int, str], Looked] = {}
        self.transformed = False  # was anything run inside torch.func transforms?
        self.notes: list[Note] = []  # how it ended, where that was out of the ordinary
        self.max_events = max_events
        self.log: deque[tuple[Any, ...]] = deque()
        self.dropped = 0
        self.failures: dict[str, int] = {}
        self.nodes = cuts.Nodes()
        self.objects = self.objects_of(reads_gpu, self.nodes.meet)
        self.nodes.see, self.nodes.known, self.nodes.kin, self.nodes.by_id = (
            self.objects.see,
            self.objects.known,
            self.objects.kin,
            self.objects.by_id,
        )
        self.modules = Modules(self.objects)
        self.frames = Frames(self.modules)
        self.steps = Steps(self.objects)
        self.batches = Batches(self.objects)
        self.customs = CustomFunctions(self.frames, self.objects)
        self.runs = 0
        self.lost_forwards = 0  # backwards that began at NaN or inf, and whose forward was read
        self.finished_runs = 0
        self.hooks = Hooks(maxlen=max_events)
        self._places: dict[tuple[int | str, ...], tuple[int | str, ...]] = {}  # each kept once
        self.home: CodeType | None = None  # the code that entered the recording
        self.home_at: int | None = None  # the position of its with statement
        # objects that are variables of the user's module, at the end
        self.globals: dict[str, Any] | None = None
        self._roles: dict[Any, tuple[str, Role]] = {}

    # --- from when to when ------------------------------------------------------------------------

    def begin(self) -> None:
        """Record the calls of this thread that belong to this context, see NOTE [whose calls are
        recorded]."""
        torch_private.take_off_modes(_is_over)
        _marks.set((*(mark for mark in _marks_here() if not mark.ended), self.mark))
        self.begun_in = torch_private.backward_under_way()
        self.__enter__()  # type: ignore[no-untyped-call]

    def end(self) -> None:
        """Record nothing from here on, and leave the stack of modes wherever this mode stands on
        it."""
        running = self._is_running()
        if not running:
            self.finish()
            self._last_look()
        self.ended = self.mark.ended = True
        torch_private.take_marks_off(
            sys._getframe(1), (self.modules.owner, self.steps.owner, self.batches.owner)
        )
        _marks.set(tuple(mark for mark in _marks_here() if mark is not self.mark))
        taken_off = torch_private.take_off_modes(_is_over)
        if taken_off is None:
            self.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        elif (
            self not in taken_off
            and not running
            and self.begun_in not in (None, torch_private.backward_under_way())
        ):
            self.notes.append(Note.of(NoteKind.BEGUN_IN_BACKWARD))
        elif self not in taken_off and not running:
            self.notes.append(Note.of(NoteKind.OTHER_MODE_LEFT))

    def _last_look(self) -> None:
        """Read once more what is alive: see NOTE [writes without a version] in identity.py."""
        if torch_private.dispatch_modes():
            return  # they would see it
        objects = self.objects
        with torch_private.unobserved():
            for own in list(objects.by_id.values()):
                tensor = own()
                if tensor is None or own.internal:
                    continue
                try:
                    before = own.state
                    after = objects.look(own, tensor)
                    after = objects.read_again(own, tensor) if after is before else after
                    if after is not before:
                        self.last_seen.append(after)
                    if after.values is not None:
                        self.read_last.add(own)
                except Exception as error:
                    self.failed(error)

    def read_modules(
        self, more_optimizers: list[Any], variables: Sequence[tuple[str, Any]] = ()
    ) -> None:
        """Read the modules that ran, and which optimizers have their parameters: of those that
        stepped, and of these.

        Args:
            more_optimizers: that a variable holds.
            variables: that hold modules, each with its name.
        """
        try:
            with torch_private.unobserved():
                self.modules.take_variables(variables)
                self.modules.read(more_optimizers)
        except Exception as error:
            self.failed(error)

    def name_parameters(self, modules: list[tuple[str, Any]]) -> None:
        """Let variables that hold a module name its parameters, where no call of the module did: a
        backward met them alone.

        Args:
            modules: each with its variable.
        """
        try:
            with torch_private.unobserved():
                for name, module in modules:
                    for path, parameter in named_parameters(module):
                        known = self.objects.known(parameter)
                        if known is not None and known.hint is None and known.parameter is None:
                            known.hint = f"{name}.{path}"
        except Exception as error:
            self.failed(error)

    def end_elsewhere(self) -> None:
        """End from another thread than its own: a generator was collected there, for example.

        The mode stays on its own thread's stack, where it does nothing, until the next recording
        there takes it off.
        """
        self.ended = self.mark.ended = True
        # its own thread may be inside it: it is not asked what came of it
        self.customs.running = None
        self.notes.append(Note.of(NoteKind.ENDED_ELSEWHERE))

    def _is_running(self) -> bool:
        """Tell whether the recording ends inside a call that it records. Torch has its mode off the
        stack then."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame.f_code is _HANDLER and frame.f_locals.get("self") is self:
                return True
            frame = frame.f_back
        return False

    # --- around each call -------------------------------------------------------------------------

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Run ``func`` as if nobody watched, and note what went in and out."""
        kwargs = kwargs or {}
        if _is_compiling():
            # the compiler reads this handler too, and keeps to what it does here
            self.compiled = True
            return func(*args, **kwargs)
        try:  # as nearly always, it was met before
            name, role = _OVER if self.ended else self._roles[func]
        except Exception:
            name, role = self._described(func)
        done = False
        if role is _IGNORED or self.mark not in _marks_here():
            if name:
                self._pass_by(name, role, args, sys._getframe(1))
            try:
                result = func(*args, **kwargs)
                done = True
                return result
            finally:
                if not done:
                    _leave_traceback()
        call = watching = None
        inputs: list[torch.Tensor] = []
        usual = None
        if role is _OPERATION:
            usual = self._usual(name, args, kwargs, sys._getframe(1))
        if usual is None:
            call, watching = self._begin_call(name, role, args, kwargs, inputs, sys._getframe(1))
        try:
            result = func(*args, **kwargs)
            done = True
        finally:
            if watching is not None:
                watching.stop(raised=not done)
            if not done:
                call = self._raising(call, usual, name, role, (args, kwargs), sys._getframe(1))
                self._raised(call, name, usual, watching)
        if usual is None or not self._note_usual(name, usual, result):
            self._note_other(call, name, usual, watching, inputs, result, (args, kwargs))
        return result

    def _note_other(
        self,
        call: CallRecord | None,
        name: str,
        usual: Usual | None,
        watching: Watch | None,
        inputs: list[torch.Tensor],
        result: Any,
        given: Given,
    ) -> None:
        """Note a call that has returned and is no usual one."""
        if self.ended:  # while the call ran
            return
        if usual is not None:
            call = usual_call(name, *usual)
            tensors_in(usual[-1], inputs)
        if call is not None:
            self._after(call, watching, inputs, result, given)

    def _note_usual(self, name: str, usual: Usual, result: Any) -> bool:
        """Note a call that has turned out to be usual. Else it is read with more care. Of a row
        nothing is noted."""
        if usual is _ROW or self.ended:
            return True
        try:
            entry = cuts.entry(self.objects, self.nodes, name, *usual, result)
        except Exception:  # a sparse tensor, for example
            return False
        if entry is None:
            return False
        self.log.append(entry)  # as ``add`` has it
        if len(self.log) > self.max_events:
            self._drop()
        return True

    def _described(self, func: Callable[..., Any]) -> tuple[str, Role]:
        """Return a function's name and role; none of interest where that fails. What is ignored
        has a name only where it tells something all the same."""
        try:
            return self._roles.get(func) or self._roles.setdefault(func, _told(*describe(func)))
        # a user's own overridable function may be any object, also one without a hash
        except Exception as error:
            self.failed(error)
            return "", _IGNORED

    def _pass_by(self, name: str, role: Role, args: tuple[Any, ...], frame: FrameType) -> None:
        """Note what a call that is not recorded still tells: grad mode, and memory handed out."""
        if name in LOOKS and role is _IGNORED:
            if self.frames.is_users(frame) and self.mark in _marks_here():
                self._note_look(name, args[0], frame)
        elif name == "_set_grad_enabled":  # grad mode is the thread's, whichever context sets it
            self.customs.note_grad_mode(bool(args[0]), frame)
        elif name == "_record_function_enter_new" and type(args[0]) is str:
            self._note_step(frame, args[0])
        elif name in SHARING and args:
            try:
                self._hand_out(name, args[0], self.frames.look(frame)[1])
            except Exception as error:
                self.failed(error)
        if role is not _IGNORED:
            self.elsewhere += 1

    def _note_look(self, name: str, tensor: torch.Tensor, frame: FrameType) -> None:
        """Note what the user's own code is told of a tensor: its ``.grad``, or whether it takes
        part in gradients."""
        try:
            with torch_private.unobserved():
                # a result that keeps none warns whoever asks for it
                has_none = name == "grad" and not (tensor.is_leaf or tensor.retains_grad)
                missing = has_none or _is_missing(getattr(tensor, name))
            self.looks.pop((id(tensor), name), None)  # the newest look stands last
            self.looks[id(tensor), name] = Looked(
                weakref.ref(tensor),
                name,
                missing,
                frame.f_code,
                frame.f_lasti,
                self.objects.known(tensor),
            )
            if len(self.looks) > LOOK_LIMIT:
                del self.looks[next(iter(self.looks))]
        except Exception as error:
            self.failed(error)

    def _note_step(self, frame: FrameType, name: str) -> None:
        """Note the optimizer that steps, if this is what it tells torch's profiler."""
        try:
            optimizer = torch_private.stepping(frame, name)
            if optimizer is not None:
                self.modules.note_step(optimizer, self.frames.site(frame))
        except Exception as error:
            self.failed(error)

    def _usual(
        self,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        frame: FrameType,
    ) -> Usual | None:
        """Tell whether this operation may become a usual call: no bookkeeping of torch's, in no
        mode."""
        try:
            if name == "__getitem__" and self.batches.is_row(args, kwargs, frame):
                return _ROW
            if writes_itself(name):
                return None
            if _in_a_mode() or self.customs.running is not None or self.nodes.new:
                return None
            site, direct, bookkeeping, run = self.frames.look(frame)
            if bookkeeping:
                return None
            arguments = cuts.arguments(self.objects, self._read(name, args, frame), kwargs)
            if arguments is None or self.nodes.new:
                return None
            given, where, states = arguments
            if run is not None and not direct:
                self._name_parameters(given, states, run)
            return site, run, direct, where, states, given
        except Exception:
            return None  # an inference tensor counts no versions

    def _read(self, name: str, args: tuple[Any, ...], frame: FrameType) -> tuple[Any, ...]:
        """Return what counts as the arguments of a call, see NOTE [a batch is one step]; of a copy
        only what is copied: the notes that ``copy.deepcopy`` hands on hold all copies so far."""
        if name == "__deepcopy__":
            return args[:1]
        return self.batches.read(args, frame) if name == "stack" else args

    def _begin_call(
        self,
        name: str,
        role: Role,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        inputs: list[torch.Tensor],
        frame: FrameType,
    ) -> tuple[CallRecord | None, Watch | None]:
        """Read what goes into a call, and watch it if it is a backward."""
        call: CallRecord | None = None
        watching: Watch | None = None
        try:
            # our own reading is not for the user's subclasses, nor for other modes
            with torch_private.unobserved():
                look = self._step(frame)
                if look is not None:
                    call = self.steps.begin_write(name, role, args, kwargs, look, inputs)
                    if call is not None:
                        call.found = self.nodes.collect() if self.nodes.new else ()
                        return call, None
                    if self.steps.is_quiet(name, role, args, kwargs):
                        return None, None
                call = self._before(name, role, args, kwargs, inputs, frame, look)
                if call is not None and role in _BACKWARD:
                    watching = watch(self, call, role, args, kwargs)
        except Exception as error:
            self.failed(error)
        return call, watching

    def _raising(
        self,
        call: CallRecord | None,
        usual: Usual | None,
        name: str,
        role: Role,
        given: Given,
        frame: FrameType,
    ) -> CallRecord | None:
        """Return the record of a call that has raised: of a quiet one, and of a row, there is none
        so far."""
        try:
            with torch_private.unobserved():
                look = self._step(frame) if call is None else None
                quiet = look is not None and self.steps.is_quiet(name, role, *given)
                if not quiet and usual is not _ROW:
                    return call
                return self._before(name, role, *given, [], frame, look)
        except Exception as error:
            self.failed(error)
            return call

    def _step(self, frame: FrameType) -> Look | None:
        """Return what the stack tells of a call that an optimizer makes, where it made others
        before in the same frame."""
        return None if self.customs.running is not None else self.steps.look(frame)

    def failed(self, error: Exception) -> None:
        """Note that our own book-keeping failed: never the user's problem, but said in notes."""
        text = f"{type(error).__name__}: {str(error)[:120]}"
        self.failures[text] = self.failures.get(text, 0) + 1

    def _raised(
        self,
        call: CallRecord | None,
        name: str,
        usual: Usual | None,
        watching: Watch | None,
    ) -> None:
        """Record that a call of the user's raised. Runs while the exception passes through; leaves
        no trace of us in it."""
        kind, error, _ = sys.exc_info()
        _leave_traceback()
        call = call if usual is None or usual is _ROW else usual_call(name, *usual)
        if call is not None and error is not None and kind is not None and not self.ended:
            call.error = (kind.__name__, str(error)[:2000])
            try:
                if watching is not None:
                    with torch_private.unobserved():
                        watching.finish(())
            except Exception as failure:
                self.failed(failure)
            call.found = [*call.found, *self.nodes.collect()]
            self.note("raised", call)

    # --- before -----------------------------------------------------------------------------------

    def _before(
        self,
        name: str,
        role: Role,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        found: list[Any],
        frame: FrameType,
        look: Look | None,
    ) -> CallRecord | None:
        """Read what goes into a call. ``look``: what the stack tells, where that is known."""
        grad_mode, inference_mode = _grad_enabled(), _inference_enabled()
        marked = look is not None
        if not marked:
            if _functorch_active():
                self.transformed = True
                return None
            self.profiled = self.profiled or _profiler_enabled()
            running = self._custom(name, args, frame, grad_mode and not inference_mode)
            if running is not None:
                tensors_in((args, kwargs), found)
                running.ran_in(self.frames.look(frame)[3])
                return running.call
        if role is Role.DATA_GET and torch_private.copies_parameter(frame.f_code):
            name, role = "__deepcopy__", Role.COPIED_OUT  # as where a plain tensor is copied
        call = _blank(CallRecord)
        call.function, call.role, call.arity, call.outputs = name, role, len(args), []
        call.grad_mode, call.inference_mode = grad_mode, inference_mode
        places = _places_of(self._read(name, args, frame), kwargs, found)
        call.args_at = self._places.setdefault(places, places)
        look = look or self.frames.look(frame)
        call.site, call.run_of_module = look[0], look[3]
        if not grad_mode and self.customs.switched:
            call.switched = self.customs.switched
        if not look[1]:
            self._look(call, found, look)
            if not marked:
                self.steps.note(frame, look)
        call.inputs = self.objects.states(found, internal=call.bookkeeping)
        if self.nodes.new:
            call.found = self.nodes.collect()
        return call

    def _custom(
        self, name: str, args: tuple[Any, ...], frame: FrameType, records: bool
    ) -> Custom | None:
        """Return the custom Function inside of which a call is made. ``records``: torch records
        here, and inside of a custom Function it does not."""
        if records and self.customs.running is None:
            return None
        ended, running = self.customs.enter(frame, name, args)
        self.close(ended)
        return running

    def _look(self, call: CallRecord, found: list[torch.Tensor], look: Look) -> None:
        """Look at a call that the user's code did not make itself: the module that runs, torch's
        own bookkeeping."""
        _, _, bookkeeping, run = look
        call.direct, call.bookkeeping = False, bookkeeping
        if run is None:
            return
        for tensor in found:
            if torch_private.is_parameter(tensor):
                self._name_parameter(self.objects.see(tensor), tensor, run)

    def _name_parameters(self, args: Sequence[Any], states: list[Any], run: ModuleRun) -> None:
        """Name the parameters that torch's own code inside of a module is given."""
        for tensor, state in zip(args, states, strict=True):
            if type(tensor) is torch.nn.Parameter and state.object.parameter is None:
                self._name_parameter(state.object, tensor, run)

    def _name_parameter(self, own: Object, tensor: torch.Tensor, run: ModuleRun) -> None:
        if own.parameter is None:
            root = run.outermost.root
            name = root.path_of(tensor)
            if name is not None:
                own.parameter = name, root

    # --- after ------------------------------------------------------------------------------------

    def _after(
        self,
        call: CallRecord,
        watching: Watch | None,
        inputs: list[torch.Tensor],
        result: Any,
        given: Given,
    ) -> None:
        """Read what has come out of a call."""
        try:
            with torch_private.unobserved():
                if call.bookkeeping and self._wrote_alone(call, inputs, result):
                    return
                returned: list[torch.Tensor] = []
                tensors_in(result, returned)
                running = self.customs.running
                if running is not None and call is running.call:
                    running.saw(self.objects, inputs, returned)
                    return
                # As nearly always: nothing was written.
                may_write = call.role is not _OPERATION or torch_private.moved(inputs, call.inputs)
                writes = self._writes(call, inputs, given) if may_write else []
                if call.function in SHARING and inputs:
                    self._hand_out(call.function, inputs[0], call.direct)
                if call.bookkeeping:
                    writes = list(filter(_is_told, writes))
                    if not writes:
                        return
                if isinstance(result, (tuple, list)):
                    call.returned = len(returned)
                self._take_results(call, inputs, returned, writes)
                self._log_call(call, watching, result, returned, writes)
        except Exception as error:
            self.failed(error)

    def _log_call(
        self,
        call: CallRecord,
        watching: Watch | None,
        result: Any,
        returned: list[torch.Tensor],
        writes: list[Write],
    ) -> None:
        """Add a finished call to the log, if it did anything, and what it wrote."""
        if watching is not None:
            watching.finish(result)
            call.nodes = [*call.nodes, *self.nodes.collect()]
            self.finished_runs += 1
        elif call.role is Role.HOOK:
            self.hooks.note(call, result)
            self.note("hooked", call)
        elif writes or call.cuts or len(returned) == 1 or _returns_others(call):
            # Several inputs that came back as they were (broadcast_tensors) are no event: nothing
            # happened.
            self.add(("called", call))
        for write in writes:
            self.add(("wrote", call, *write))

    def _take_results(
        self,
        call: CallRecord,
        inputs: list[torch.Tensor],
        returned: list[torch.Tensor],
        writes: list[Write],
    ) -> None:
        """Add to a call its outputs, the nodes that it made, and where it cut the path."""
        objects = self.objects
        for tensor in returned:
            call.outputs.append((objects.known(tensor) or objects.make(tensor, call)).state)
        made = self.nodes.collect()
        if made and (objects.deferred or self.nodes.unplaced):
            made = self._settle(call, inputs, writes, made)
        if writes or not cuts.is_plain(call.inputs, call.outputs, made):
            self._prove_cuts(call, made, writes, returned)
        if made:
            call.nodes = made

    def _hand_out(self, name: str, tensor: torch.Tensor, direct: bool) -> None:
        """Note that others than torch can write the memory of this tensor from now on."""
        block = self.objects.expose(tensor)
        # What torch itself asks for (an RNN for the addresses of its weights) it writes by calls
        # that are seen.
        if block is not None and direct:
            self.handed_out[block] = name, self.finished_runs

    def _settle(
        self,
        call: CallRecord,
        inputs: list[torch.Tensor],
        writes: list[Write],
        made: list[NodeRecord],
    ) -> list[NodeRecord]:
        """Read what only the finished call could tell: deferred views, and which results its nodes
        saved."""
        written = [before.object for before, _, _ in writes]
        deferred = [s.object for s in call.inputs if s.object.deferred and s.object not in written]
        if deferred and cuts.unexplained(call.inputs, made):
            # The call used these views in a graph, so torch has built their grad_fn by now (NOTE
            # [views]).
            for at, tensor in enumerate(inputs):
                own = call.inputs[at].object
                if own in deferred:
                    call.inputs[at] = self.objects.refresh(own, tensor)
            made = made + self.nodes.collect()
        if self.nodes.unplaced:
            self.nodes.unplaced = False
            cuts.tie_results(made, call.outputs + [after for _, after, _ in writes])
        return made

    def _writes(self, call: CallRecord, inputs: list[torch.Tensor], given: Given) -> list[Write]:
        """Return (before, after, by alias) of every tensor that the call changed in place."""
        fused = call.role is Role.FUSED
        versions = list(map(torch_private.version, inputs))
        writes: list[Write] = []
        for at, (tensor, before) in enumerate(zip(inputs, call.inputs, strict=True)):
            own = before.object
            if own.state is not before and any(w[1] is own.state for w in writes):
                continue  # an alias of one already seen
            if versions[at] != before.version or (fused and call.args_at[at] == ~0):
                writes.append((before, self._refresh_written(call, own, tensor), False))
                self._write_aliases(own, writes)
            elif at == 0 and call.role in _CHANGES_OWN:
                after = self.objects.refresh(own, tensor)
                if after is not before:
                    writes.append((before, after, False))
                    if call.role is Role.DATA_SET:  # ``a.grad.data = b`` is another gradient of a
                        self._write_aliases(own, writes)
            elif versions[at] is None or call.role is Role.STATISTICS:
                after = self._unversioned(call, own, tensor, given)
                if after is not before:
                    writes.append((before, after, False))
                    self._write_aliases(own, writes)
        return writes

    def _wrote_alone(self, call: CallRecord, inputs: list[torch.Tensor], result: Any) -> bool:
        """Note what nearly every call of an optimizer or of ``zero_grad`` is: it wrote its first
        argument, whose memory nobody else has. Returns False where more care is needed."""
        if not inputs or call.args_at[0] != 0 or self.nodes.new:
            return False
        tensor, before = inputs[0], call.inputs[0]
        own = before.object
        in_place = call.role is _OPERATION and not call.grad_mode and result is tensor
        if not in_place and call.role is not Role.GRAD_SET:
            return False
        if own.internal or not self.objects.is_alone(own):
            return False
        if torch_private.moved(inputs[1:], call.inputs[1:]):
            return False
        after = self._state_after(call, own, tensor, in_place)
        if after is before:
            return True
        if not call.found and not call.switched:
            self.add(folded_write(call, after))
        else:
            call.outputs = [after] if in_place else []
            self.add(("called", call))
            self.add(("wrote", call, before, after, False))
        return True

    def _state_after(
        self, call: CallRecord, own: Object, tensor: torch.Tensor, in_place: bool
    ) -> State:
        """Return the state of a tensor that a call has written, or whose ``.grad`` it has set."""
        if not in_place:
            return self.objects.with_grad(own, tensor)
        if call.function in CALCULATES and not self.objects.exposed:
            return self.objects.with_values(own, tensor)
        return self.objects.refresh(own, tensor)

    def _refresh_written(self, call: CallRecord, own: Object, tensor: torch.Tensor) -> State:
        """Return the state of an input whose version says that it was written."""
        # An in-place method has just given a written view its grad_fn; y[0] = ... writes through
        # another.
        fresh = call.grad_mode and call.function != "__setitem__"
        return self.objects.refresh(
            own, tensor, settled=fresh or torch_private.base_of(tensor) is None
        )

    def _unversioned(
        self, call: CallRecord, own: Object, tensor: torch.Tensor, given: Given
    ) -> State:
        """Return the state of an input that no version tells of, see NOTE [writes without a
        version]: another one than before where the call was told to write it, or where other values
        stand there now."""
        before = own.state
        after = self.objects.read_again(own, tensor)
        if after is before:
            told: list[torch.Tensor] = []
            tensors_in(told_to_write(call.function, *given), told)
            if any(one is tensor for one in told):
                after = self.objects.anew(own, before.values)
        return after

    def _write_aliases(self, own: Object, writes: list[Write]) -> None:
        """Return new states of all that shares the written memory, and of the tensor whose .grad
        was written."""
        block = own.state.block
        others = [] if block is None else [m for m in block.alive() if m is not own][:ALIAS_LIMIT]
        owners = [self.objects.grad_owner.get(id(m())) for m in (own, *others)]
        others += [one for one in dict.fromkeys(filter(None, owners)) if one not in others]
        for other in others:
            tensor = other()
            if tensor is None:
                continue
            before = other.state
            unchanged = not other.deferred and torch_private.version(tensor) == before.version
            settled = unchanged or torch_private.base_of(tensor) is None
            after = self.objects.refresh(other, tensor, settled=settled)
            if (
                other.counter is not own.counter
                and before.version != after.version
                and after.version is not None
            ):
                other.counter = own.counter  # it moved along, so it is one counter
            if after is not before:
                writes.append((before, after, True))

    def _prove_cuts(
        self,
        call: CallRecord,
        made: list[NodeRecord],
        writes: list[Write],
        returned: list[torch.Tensor],
    ) -> None:
        """Call only that a cut which the walk proves; docs/decisions.md says what counts."""
        if call.role in _NO_CUT or call.bookkeeping:
            return
        judged = cuts.judged(call, writes)
        if not judged:
            return
        written = [a for _, a, alias in writes if not alias]
        edges = cuts.reached(call.outputs + [a for _, a, _ in writes] + self._bases(written), made)
        by_earlier_nodes = call.grad_mode and call.role in _OPERATIONS
        read = self._with_known_history(returned) if by_earlier_nodes else []
        severed = [
            s
            for s in {id(s): s for s in judged}.values()
            if not cuts.is_connected(s, edges)
            and not (read and cuts.leads_to(read, s, call.inputs))
        ]
        if severed:
            call.cuts = _cuts_of(call, severed, written, made)

    def _with_known_history(self, returned: list[torch.Tensor]) -> list[torch.Tensor]:
        """Return those results whose ``grad_fn`` may be read, see NOTE [views]."""
        return [
            t for t in returned if (own := self.objects.known(t)) is not None and not own.deferred
        ]

    def _bases(self, written: list[State]) -> list[State]:
        """Return the tensors that written views look into: they carry the new history where the
        view's was left unread."""
        deferred = [
            tensor for s in written if s.object.deferred and (tensor := s.object()) is not None
        ]
        bases = [base for tensor in deferred if (base := torch_private.base_of(tensor)) is not None]
        return [self.objects.see(base).state for base in bases]

    def close(self, ended: Custom | None) -> None:
        """Note a custom Function that has returned."""
        if ended is not None:
            writes = ended.close(self.objects)
            ended.call.nodes = self.nodes.collect()
            self.note("called", ended.call)
            for write in writes:
                self.note("wrote", ended.call, *write)

    # --- the log ----------------------------------------------------------------------------------

    def note(self, kind: str, *what: Any) -> None:
        """Add an entry to the log."""
        self.add((kind, *what))

    def add(self, entry: cuts.Entry) -> None:
        """Add an entry to the log. A full one drops its oldest call with all that belongs to it; a
        recording that is over takes nothing."""
        if self.ended:
            return
        self.log.append(entry)
        if len(self.log) > self.max_events:
            self._drop()

    def _drop(self) -> None:
        log = self.log
        self.nodes.forget_leaves()
        self.dropped += events_in(log.popleft())
        while log and log[0][0] not in _FIRST:
            log.popleft()
            self.dropped += 1

    def finish(self) -> None:
        """Finish what was begun: the block is over, or somebody looks at what there is so far."""
        try:
            # else ``forward`` itself looks, and goes on
            if self.frames.custom(sys._getframe(1)) is None:
                with torch_private.unobserved():
                    self.close(self.customs.leave())
        except Exception as error:
            self.failed(error)


def _cuts_of(
    call: CallRecord, severed: list[State], written: list[State], made: list[NodeRecord]
) -> list[tuple[State, State | None, CutReason]]:
    """Return the cuts that a call made: the severed inputs, each with where its value went, and
    why."""
    target = call.outputs[0] if call.outputs else written[0] if written else None
    reason = cuts.reason(call, target, any(a is target for a in written))
    if reason is CutReason.NOT_DIFFERENTIABLE and made:
        # Nobody has read whether a deferred view is tracked, and the node that the call made takes
        # it for a constant.
        severed = [s for s in severed if not s.object.deferred]
    return [(s, target, reason) for s in severed]


def _told(name: str, role: Role) -> tuple[str, Role]:
    return ("", role) if role is _IGNORED and name not in _TELLING else (name, role)


def _returns_others(call: CallRecord) -> bool:
    """Say whether any result is another state than each of the inputs."""
    return bool({id(s) for s in call.outputs} - {id(s) for s in call.inputs})


_HANDLER = Recorder.__torch_function__.__code__


def _is_over(mode: Any) -> bool:
    """Tell whether this is the mode of a recording that has ended."""
    return isinstance(mode, Recorder) and mode.ended


def _is_told(write: Write) -> bool:
    """Say whether a write of torch's own bookkeeping is told: what is its own is not, but what
    clears a gradient is."""
    own = write[0].object
    return not own.internal or own.grad_owner is not None
