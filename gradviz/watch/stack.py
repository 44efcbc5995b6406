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
from collections.abc import Sequence
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from gradviz.graph.records import SavedState
from gradviz.graph.sites import CHECKPOINT, INSTALLED, REPLACED
from gradviz.watch import torch_private
from gradviz.watch.entries import CallRecord, ModuleRun, NodeRecord, Places, Saved, Site, State
from gradviz.watch.functions import Role
from gradviz.watch.line_magics import placed

if TYPE_CHECKING:
    from gradviz.watch.modules import Modules

# frames kept of a site: a returned result takes its name from the caller's statement
SITE_DEPTH = 3

_OWN = os.path.dirname(os.path.dirname(__file__)) + os.sep  # all of gradviz
_STANDARD = tuple(
    os.path.realpath(sysconfig.get_path(p)) + os.sep for p in ("stdlib", "platstdlib")
)
_SHELL = os.sep + "IPython" + os.sep
_COPY = copy.deepcopy.__code__

_replaced_arguments = torch_private.hooks_replaced_arguments
_MODULE_CALL = torch_private.MODULE_CALL

_USER, _BOTTOM, _WRAPPER, _LIBRARY, _BOOKKEEPING, _MODULE, _MODULE_PART, _DECORATOR = range(8)


# What the stack tells of a call: its site; did the user's own code make it, so that its arguments
# are the written ones; is it torch's own bookkeeping (inside an optimizer, nn.init,
# get_gradient_edge, a module's constructor or state_dict); the innermost nn.Module call under way.
Look = tuple[Site, bool, bool, "ModuleRun | None"]
# A frame of a module's call that was not met before: the site of the statement that called it, and
# whether the call itself is written there.
_Entry = list[Any]
# How much of a site is known where a module's call is passed, whether no more is wanted, and
# whether a checkpoint called what stands below.
_Passing = tuple[int, bool, bool]
# A module's call that was passed: its run or its entry, this, and was it bookkeeping so far.
_Passed = tuple[Any, _Passing, bool]
WROTE_ALONE = "wrote alone"  # kind of a log's entry, see ``folded_write``
_MOST_FRAMES = 30  # of a stack that is remembered
_MOST_STACKS = 20_000  # that are remembered


def usual_call(
    name: str,
    site: Site,
    run: ModuleRun | None,
    direct: bool,
    keywords: tuple[str, ...] | Places,
    states: Sequence[State | None],
    _: Sequence[Any] = (),
) -> CallRecord:
    """Make the record of a usual call, as the general way has it before the call runs. The
    arguments themselves are not kept."""
    call = CallRecord(name, Role.OPERATION, True)
    call.site, call.run_of_module, call.direct = site, run, direct
    places: tuple[int | str, ...]
    if isinstance(keywords, Places):
        call.arity, places = keywords
    else:
        call.arity = len(states) - len(keywords)
        places = (*range(call.arity), *keywords)
    pairs = zip(places, states, strict=True)
    call.args_at = tuple(at for at, state in pairs if state is not None)
    call.inputs = [state for state in states if state is not None]
    return call


def unfold(logged: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Return an entry of the log as the general way would have made it: the call, and what it
    wrote."""
    if logged[0] == WROTE_ALONE:
        return _unfold_write(*logged[1:])
    if logged[0] != "usual":
        return [logged]
    _, name, site, run, direct, keywords, output, nodes, *states = logged
    call = usual_call(name, site, run, direct, keywords, states)
    call.outputs = [output]
    call.nodes = [_unfolded(node) for node in nodes]
    return [("called", call)]


def events_in(logged: tuple[Any, ...]) -> int:
    """Return how many entries ``unfold`` makes of one."""
    return 2 if logged[0] == WROTE_ALONE else 1


def folded_write(call: CallRecord, after: State) -> tuple[Any, ...]:
    """Return the log's one entry for a call of torch's own bookkeeping that wrote its first
    argument alone, or set its ``.grad``: the record itself costs the garbage collector more.

    Args:
        call: met no nodes, and made none.
        after: the state of its first argument.
    """
    return (
        *(WROTE_ALONE, call.function, call.role, call.grad_mode, call.inference_mode, call.arity),
        *(call.args_at, call.site, call.run_of_module, call.direct, after, *call.inputs),
    )


def _unfold_write(
    function: str,
    role: Role,
    grad_mode: bool,
    inference_mode: bool,
    arity: int,
    args_at: tuple[int | str, ...],
    site: Site,
    run: ModuleRun | None,
    direct: bool,
    after: State,
    *inputs: State,
) -> list[tuple[Any, ...]]:
    call = CallRecord(function, role, grad_mode)
    call.inference_mode, call.arity, call.args_at = inference_mode, arity, args_at
    call.site, call.run_of_module, call.direct, call.bookkeeping = site, run, direct, True
    call.inputs = list(inputs)
    call.outputs = [] if role is Role.GRAD_SET else [after]
    return [("called", call), ("wrote", call, inputs[0], after, False)]


def _unfolded(node: Any) -> NodeRecord:
    if isinstance(node, NodeRecord):
        return node
    serial, name, number, behind, kept = node
    saved = [one if type(one) is Saved else _known_saved(*one) for one in kept]
    return NodeRecord(serial, name, sequence_nr=number, next=behind, saved=tuple(saved))


def _known_saved(attribute: str, state: State) -> Saved:
    """Return the saved tensor that is one of the call's inputs."""
    return Saved(attribute, state, None, None, state.version, SavedState.AVAILABLE)


def _is_standard(name: str) -> bool:
    """Tell whether a file belongs to Python's standard library (copy, functools, contextlib)."""
    return name.startswith("<frozen") or (
        name.startswith(_STANDARD) and not any(d in name for d in INSTALLED)
    )


def _is_handler(code: CodeType) -> bool:
    """Tell whether the code passes a call on for another recording."""
    return code.co_filename.startswith(_OWN) and code.co_name == "__torch_function__"


def is_library(code: CodeType) -> bool:
    """Say whether it is code of torch, of Python's own library or shell, or of gradviz."""
    name = code.co_filename
    return name.startswith((torch_private.TORCH, _OWN)) or _is_standard(name) or _SHELL in name


def _is_noted_checkpoint(code: CodeType, site: Sequence[Any]) -> bool:
    """Say whether it is torch's checkpoint, and the site has room for it."""
    return len(site) < 2 * SITE_DEPTH and torch_private.is_checkpoint(code)


# NOTE [stacks are remembered]: a loop makes its calls again and again from the same places, and
# what the stack tells of a call rests on nothing but the code and the position of each frame, down
# to one behind which all is known: the frame that began the recording, the top level of the user's
# code, or the innermost call of a module that was met before. So the frames that were seen are kept
# as a tree, by code and position alone, and at its ends what the walk has told. A stack on which
# hooks of a module ran is not kept: what they did is asked anew.


class _New(NamedTuple):
    """A call of a module that was not met before, as a remembered stack has it."""

    site: Site | None  # None: that of the call of a module around it
    direct: bool
    state: _Passing | None  # under which it notes what is outside of it


class _Inside(NamedTuple):
    """What a remembered stack tells of the calls inside a call of a module that was met before."""

    site: Site
    direct: bool
    bookkeeping: bool
    state: _Passing
    new: tuple[_New, ...]  # the outermost first


class _Stack(dict[tuple[int, int], "_Stack"]):
    """The stacks with one frame more, by that frame's code and position."""

    __slots__ = ("begun", "inside", "look", "to_home")

    def __init__(self) -> None:
        self.look: Look | None = None  # where nothing outside matters
        self.begun: _Inside | None = None  # the same where only modules ran that were not met
        self.to_home = False  # is that so as this frame began the recording?
        self.inside: _Inside | None = None  # where this frame runs a module


class Frames:
    """Reads call sites off the stack. One per recording, since it remembers code objects."""

    def __init__(self, modules: Modules) -> None:
        # by id: hashing a code object is slow. Kind, code, and the code as a site has it
        self._kinds: dict[int, tuple[int, CodeType, CodeType]] = {}
        self._functions = torch_private.FunctionRuns()
        self._modules = modules
        self._home = 0  # id of a frame outside of which no module runs
        self._stacks = _Stack()  # see NOTE [stacks are remembered]
        self._room = _MOST_STACKS

    def stay_inside(self, frame: FrameType | None) -> None:
        """Note the frame whose ``with`` statement begins the recording: it lives until that ends,
        so what is outside of it stays as it is. No module runs there, or the frame is none to stop
        at."""
        if frame is None or not torch_private.enters_block(frame):
            return
        outer: FrameType | None = frame
        while outer is not None and outer.f_code is not torch_private.MODULE_CALL:
            outer = outer.f_back
        self._home = id(frame) if outer is None else 0

    def _kind(self, frame: FrameType) -> tuple[int, CodeType, CodeType]:
        """Return of which kind the code of a frame is, the code, and what stands for it in a
        site."""
        code = frame.f_code
        name = code.co_filename
        if torch_private.is_bookkeeping(code):
            kind = _BOOKKEEPING
        elif name == torch_private.MODULE_FILE:
            kind = _MODULE if code is torch_private.MODULE_CALL else _MODULE_PART
        elif torch_private.is_wrapper(code) or code is _COPY or _is_handler(code):
            kind = _WRAPPER  # another recording's handler has just passed the call on
        elif torch_private.switches_for_a_call(code):
            kind = _DECORATOR  # the statement outside of it gets what the user's function returns
        elif name.startswith((torch_private.TORCH, _OWN)) or _is_standard(name):
            kind = _LIBRARY
        else:
            # Below the user's top level stands only what runs it (IPython, pytest): no need to look
            # further.
            kind = _BOTTOM if code.co_name == "<module>" else _USER
        self._kinds[id(code)] = found = kind, code, placed(code, frame)
        return found

    def is_users(self, frame: FrameType) -> bool:
        """Say whether a frame runs code of the user's, not of torch, of Python or of gradviz."""
        return (self._kinds.get(id(frame.f_code)) or self._kind(frame))[0] <= _BOTTOM

    def site(self, frame: FrameType | None) -> Site:
        """Return the innermost user frames as (code, position)."""
        return self.look(frame)[0]

    def look(self, frame: FrameType | None) -> Look:
        """Return what the stack tells of a call that this frame makes."""
        return self._remembered(frame) or self._walk(frame)

    def _remembered(self, frame: FrameType | None) -> Look | None:
        """Return what it told when the frames stood the same; None where they did not."""
        stack: _Stack | None = self._stacks
        home = self._home
        new: list[FrameType] = []  # of modules' calls that were not met before
        while frame is not None:
            code = frame.f_code
            stack = stack.get((id(code), frame.f_lasti))  # type: ignore[union-attr]
            if stack is None:
                return None
            if code is _MODULE_CALL:
                run = self._modules.under_way(frame)
                if run is not None:
                    return None if stack.inside is None else self._inside(stack.inside, run, new)
                new.append(frame)
            elif not stack.to_home or id(frame) == home:
                if stack.look is not None and not new:
                    return stack.look
                if stack.begun is not None:
                    return self._begun(stack.begun, new)
            frame = frame.f_back
        return None

    def _begun(self, begun: _Inside, frames: list[FrameType]) -> Look:
        """Return the same for the first call inside of modules of which none was met before."""
        known: ModuleRun | None = None
        for place, frame in zip(begun.new, reversed(frames), strict=True):
            known = self._modules.begin(frame, known, place.site or (), place.direct)
            if place.state is not None:
                at = place.state[0]
                known.outside[place.state] = begun.site[at:], begun.bookkeeping and not at
        return begun.site, begun.direct, begun.bookkeeping, known

    def _inside(self, inside: _Inside, run: ModuleRun, frames: list[FrameType]) -> Look | None:
        """Return the same for a call inside of a module's call that was met before. ``frames``:
        those of modules' calls between the two, the innermost first."""
        rest = run.outside.get(inside.state)
        if rest is None:
            return None
        site = inside.site + rest[0]
        bookkeeping = inside.bookkeeping or rest[1]
        known = run
        for place, frame in zip(inside.new, reversed(frames), strict=True):
            known = self._modules.begin(frame, known, place.site or run.site, place.direct)
            if place.state is not None:
                at = place.state[0]
                known.outside[place.state] = site[at:], bookkeeping and not at
        return site, inside.direct, bookkeeping, known

    def _stack_at(self, innermost: FrameType | None, outermost: FrameType) -> _Stack | None:
        """Return where the stack is remembered that reaches from one frame to another; None where
        it is too long, or too many are."""
        stack, frame = self._stacks, innermost
        for _ in range(_MOST_FRAMES):
            if frame is None or not self._room:
                break
            place = id(frame.f_code), frame.f_lasti
            found = stack.get(place)
            if found is None:
                found = stack[place] = _Stack()
                self._room -= 1
            if frame is outermost:
                return found
            stack, frame = found, frame.f_back
        return None

    def _remember_look(
        self,
        innermost: FrameType | None,
        look: Look,
        new: list[_Entry],
        passed: list[_Passed],
    ) -> None:
        """Remember the stack from which this was seen, in which no module ran that was met
        before."""
        frame = innermost
        while frame is not None:
            code = frame.f_code
            at_home = id(frame) == self._home
            if at_home or (self._kinds.get(id(code)) or self._kind(frame))[0] == _BOTTOM:
                stack = self._stack_at(innermost, frame)
                if stack is not None:
                    stack.to_home = at_home
                    if new:
                        site, direct, bookkeeping, _ = look
                        state = (0, False, False)  # nobody asks it
                        places = _places_of_new(new, passed, ())
                        stack.begun = _Inside(site, direct, bookkeeping, state, places)
                    else:
                        stack.look = look
                return
            frame = frame.f_back

    def _remember_inside(
        self,
        innermost: FrameType | None,
        outermost: FrameType,
        direct: bool,
        inside: tuple[Site, bool, _Passing],
        new: list[_Entry],
        passed: list[_Passed],
    ) -> None:
        """Remember the stack from which this was seen inside of a module's call that was met
        before."""
        stack = self._stack_at(innermost, outermost)
        run = self._modules.under_way(outermost)
        if stack is None or run is None:
            return
        site, bookkeeping, state = inside
        places = _places_of_new(new, passed, run.site)
        stack.inside = _Inside(site, direct, bookkeeping, state, places)

    def _walk(self, innermost: FrameType | None) -> Look:
        """Go up the stack once, to the innermost call of a module that was passed before in the
        same way: what is outside of it stays as it is while it runs."""
        frame, kinds, under_way = innermost, self._kinds, self._modules.under_way
        direct, bookkeeping, closed = True, False, False
        checkpointed = False  # did torch's checkpoint call what stands below?
        known: ModuleRun | None = None  # the innermost call of a module that was met before
        new: list[_Entry] = []  # those inside of it
        waiting: list[_Entry] = []  # those of them whose statement was not met yet
        passed: list[_Passed] = []
        hooked = False  # did hooks of a module run on the way?
        inside: tuple[Site, bool, _Passing] | None = None  # what is told inside of ``known``
        found: list[Any] = []
        below: FrameType | None = None
        below_kind = at_home = 0
        while frame is not None:
            kind, _, code = kinds.get(id(frame.f_code)) or self._kind(frame)
            if kind <= _BOTTOM:
                if waiting:
                    _place(waiting, (code, frame.f_lasti))
                if checkpointed:
                    found += (CHECKPOINT, 0, code, frame.f_lasti)
                    checkpointed = False
                elif not closed:
                    found += (code, frame.f_lasti)
                    closed = len(found) == 2 * SITE_DEPTH
                elif known is None and not new:  # the rest of the site is known
                    known = None if at_home else self._further_out(frame, new)
                    break
                at_home = at_home or id(frame) == self._home
                if kind == _BOTTOM:
                    break
            elif kind == _MODULE:
                run, state = under_way(frame), (len(found), closed, checkpointed)
                hooked |= below_kind == _MODULE_PART
                if run is None:
                    new.append(entry := [frame, (), True])
                    waiting.append(entry)
                    if below_kind != _MODULE_PART:
                        passed.append((entry, state, bookkeeping))
                else:
                    known = known or run
                    rest = None if below_kind == _MODULE_PART else run.outside.get(state)
                    if waiting:
                        _place(waiting, run.site, direct=False)
                    if rest is not None:
                        if known is run and not hooked:
                            inside = tuple(found), bookkeeping, state
                        direct &= bool(found)
                        found += rest[0]
                        bookkeeping |= rest[1]
                        break
                    if below_kind != _MODULE_PART:
                        passed.append((run, state, bookkeeping))
                if not found:
                    direct = False
                elif not closed:
                    hooked |= torch_private.HOOKS_LEAVE_NO_FRAME
                    if _replaced_arguments(frame, below):
                        found += (REPLACED, 0)
                        closed = len(found) == 2 * SITE_DEPTH
            elif not found:
                direct &= kind == _WRAPPER
                bookkeeping |= kind == _BOOKKEEPING
                if waiting and kind != _MODULE_PART:
                    _mark_indirect(waiting)
            elif kind < _MODULE:
                # torch called the user back: what it returns is not what the outer statement gets
                checkpointed |= _is_noted_checkpoint(code, found)
                closed = True
                if waiting:
                    _mark_indirect(waiting)
            below, below_kind, frame = frame, kind, frame.f_back
        site = tuple(found)
        outer, known = known, self._note(new, known)
        for one, state, before in passed:
            run = one[0] if type(one) is list else one
            if not before or state[0]:
                run.outside[state] = site[state[0] :], bookkeeping and not state[0]
        if inside is not None and frame is not None:
            self._remember_inside(innermost, frame, direct, inside, new, passed)
        elif outer is None and not hooked:
            self._remember_look(innermost, (site, direct, bookkeeping, None), new, passed)
        return site, direct, bookkeeping, known

    def _further_out(self, frame: FrameType | None, new: list[_Entry]) -> ModuleRun | None:
        """Find the innermost call of a module that was met before, from where the site is known."""
        kinds, waiting = self._kinds, list(new)
        while frame is not None and id(frame) != self._home:
            kind, _, code = kinds.get(id(frame.f_code)) or self._kind(frame)
            if kind <= _BOTTOM:
                _place(waiting, (code, frame.f_lasti))
            elif kind == _MODULE:
                run = self._modules.under_way(frame)
                if run is not None:
                    _place(waiting, run.site, direct=False)
                    return run
                new.append(entry := [frame, (), True])
                waiting.append(entry)
            elif kind != _MODULE_PART:
                _mark_indirect(waiting)
            frame = None if kind == _BOTTOM else frame.f_back
        return None

    def _note(self, new: list[_Entry], known: ModuleRun | None) -> ModuleRun | None:
        """Note calls of modules that were not met before; returns the innermost one that is under
        way."""
        for entry in reversed(new):
            frame, site, direct = entry
            entry[0] = known = self._modules.begin(frame, known, site, direct)
        return known

    def custom(self, frame: FrameType | None) -> torch_private.FunctionRun | None:
        """Return the outermost custom Function that computes on this stack."""
        return self._functions.outermost(frame)


def _places_of_new(new: list[_Entry], passed: list[_Passed], around: Site) -> tuple[_New, ...]:
    """Return what is remembered of calls of modules that were not met before, the outermost
    first. ``around``: the site of the call of a module around them."""
    found = []
    for entry in reversed(new):
        own = [at for one, at, before in passed if one is entry and (not before or at[0])]
        site = None if entry[1] is around else entry[1]
        found.append(_New(site, entry[2], own[0] if own else None))
    return tuple(found)


def _place(waiting: list[_Entry], site: Site, *, direct: bool = True) -> None:
    """Tell calls of modules which statement of the user's called them."""
    for entry in waiting:
        entry[1] = site
        entry[2] &= direct
    waiting.clear()


def _mark_indirect(waiting: list[_Entry]) -> None:
    """Tell calls of modules that something else than the user's code called them."""
    for entry in waiting:
        entry[2] = False
