"""Names and source text of a recording's calls and tensors, put together once it is over."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from gradviz.graph.records import Former, Frame, Source
from gradviz.graph.sites import CHECKPOINT, REPLACED
from gradviz.names import callers, resolve
from gradviz.names.direct import is_written_call
from gradviz.names.frames import frame_of
from gradviz.names.held import Variables
from gradviz.names.located import Located, pairs_of
from gradviz.names.position import dotted
from gradviz.names.switches import Switch, stated_switch, switch_around

if TYPE_CHECKING:
    from gradviz.watch.entries import CallRecord, ModuleRun, Object, Root, Site, State
    from gradviz.watch.recorder import Recorder


def _not_last(calls: list[CallRecord]) -> set[int]:
    """Return, by id, the calls that torch or a module made before the last one at a site: ``y =
    net(x)`` names what the last returned."""
    earlier_calls: set[int] = set()
    for call, following in pairwise(calls):
        if call.direct or following.direct or call.site != following.site:
            continue
        # One of torch's own layers in a loop makes one call each time.
        run, other = call.run_of_module, following.run_of_module
        once = run is not None and not run.below_outermost and _same_module(run, other)
        if not (once and call.function == following.function):
            earlier_calls.add(id(call))
    return earlier_calls


def _same_module(run: ModuleRun, other: ModuleRun | None) -> bool:
    """Say whether two calls of modules run alike ones, called at the same place."""
    return (
        other is not None
        and run.outermost.root.kind == other.outermost.root.kind
        and run.below_outermost == other.below_outermost
        and run.outermost.site == other.outermost.site
    )


def _sites_of_modules(calls: list[CallRecord]) -> set[Site]:
    """Collect the sites at which modules were called that calls ran in, or whose parameters they
    read."""
    sites: set[Site] = set()
    met: set[ModuleRun] = set()
    for call in calls:
        run = call.run_inside or call.run_of_module
        while run is not None and run not in met:
            met.add(run)
            sites |= {run.site, run.root.site}
            run = run.parent
        for state in call.inputs:
            parameter = state.object.parameter
            if parameter is not None:
                sites.add(parameter[1].site)
    return sites


def _is_called(name: str, code: str) -> bool:
    """Tell whether a name stands in source text as a variable, and not as an attribute."""
    return re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", code) is not None


class Names:
    """Names and source text of every call of a log, and the name of every tensor state."""

    def __init__(self, calls: list[CallRecord], recorder: Recorder) -> None:
        calls = list({id(c): c for c in calls}.values())
        sites = [pairs_of(c.site) for c in calls]
        modules = _sites_of_modules(calls)
        self._located = Located(recorder.home)
        self._variables = Variables(recorder, self._located)
        self._switches: dict[tuple[Any, ...], Switch | None] = {}
        self._frame_at: dict[tuple[int, int], Frame] = {}
        resolved = resolve.resolve([*sites, *map(pairs_of, modules)], self._located.places)
        self.of_call = {id(c): n for c, n in zip(calls, resolved, strict=False)}
        self._of_module = dict(zip(modules, resolved[len(calls) :], strict=True))
        self._first: dict[Object, str] = {}
        self._outer: set[Object] = set()  # named where the recording began, not inside a helper
        self._inner: set[int] = set()  # by id: states whose own name is one inside of a helper
        self._state_names: dict[int, str] = {}
        self._unbound = _not_last(calls)
        self._inside = recorder.modules.inside()
        for call in calls:
            self._inputs(call)
            if id(call) not in self._unbound:
                self._outputs(call)

    def _inputs(self, call: CallRecord) -> None:
        """Note the names that the call's arguments are written with. The user's outermost code
        knows best, a helper's parameter stands for what its caller passed."""
        named = self.of_call[id(call)]
        given: dict[int | str, str | None] = {}
        if named is not None and call.direct:
            tensors = [i in call.args_at for i in range(call.arity)]
            given.update(enumerate(named.inputs(tensors)))
            given.update(named.keywords)
        for state, argument in zip(call.inputs, call.args_at, strict=False):
            tensor = state.object
            name, site = given.get(argument), call.site
            self._variables.prove(site, name, tensor)
            if tensor in self._outer:
                continue
            if tensor.parameter is not None:
                name = f"{self.root(tensor.parameter[1])}.{tensor.parameter[0]}"
            elif name is not None and not tensor.made:
                name, site = self._as_the_caller_says(name, site)
                self._variables.prove(site, name, tensor)
            if name and (tensor not in self._first or self._located.is_users(site)):
                self._first[tensor] = name
                if self._located.is_users(site):
                    self._outer.add(tensor)

    def _as_the_caller_says(self, name: str, site: Site) -> tuple[str, Site]:
        """Return a helper's parameter under the name that its caller passed, as far out as the site
        tells, and the site of that name."""
        here, slot = site, self._slot_named(name, site)
        while slot is not None:
            argument, here = self._passed(slot, here)
            if isinstance(argument, callers.Slot):  # a wrapper hands on what it got
                slot = None if self._located.is_outer(here) else argument
                continue
            outer_name = None if argument is None else dotted(argument)
            if outer_name is None:
                break
            name, site = outer_name, here
            slot = self._slot_named(name, here)
        return name, site

    def _slot_named(self, name: str, site: Site) -> callers.Slot | None:
        """Return the parameter that a name is in the helper in which a site stands; None where the
        site is the user's own, or the name may be another object there."""
        if len(site) <= 2 or self._located.is_outer(site):
            return None
        node = self._located.node(site)
        if node is None or callers.is_rebound(name, node):
            return None
        return callers.slot_of(site[0], name)

    def _passed(self, slot: callers.Slot, site: Site) -> tuple[Any, Site]:
        """Return what the caller of a helper gave for a parameter, as ``callers.passed`` does, and
        the site of that call; None where it is not known."""
        code, caller = site[0], site[2:]
        if not caller or caller[0] is REPLACED:
            return None, caller
        give = callers.passed
        if caller[0] is CHECKPOINT:
            give, caller = callers.passed_to_checkpoint, caller[2:]
        return give(code, slot, self._located.place(*caller[:2]), caller[0]), caller

    def _outputs(self, call: CallRecord) -> None:
        """Note the names that the results are bound to. What a library makes of a result before it
        returns is not known."""
        named = self.of_call[id(call)]
        if named is None or call.bookkeeping or not (call.direct or call.run_of_module):
            return
        # handed back as it is: it keeps the name it has, if it has one
        given = {id(s) for s in call.inputs}
        site, always = call.site[2 * named.depth :], not named.depth
        for state, name in zip(call.outputs, named.outputs(call.returned), strict=False):
            self._variables.prove(site, name, state.object, binds=True, always=always)
            if not name or (id(state) in given and state.object in self._first):
                continue
            self._state_names.setdefault(id(state), name)
            self._first.setdefault(state.object, name)
            if self._located.is_users(site):
                self._outer.add(state.object)
            else:
                self._inner.add(id(state))

    def at_the_end(
        self, name: str | None, tensor: Object, *, whole: bool
    ) -> tuple[str | None, Former | None]:
        """Return a name as ``Variables.at_the_end`` does."""
        return self._variables.at_the_end(name, tensor, whole=whole)

    def module(self, call: CallRecord) -> str | None:
        """Return the module that a call runs in, as ``"net.fc"``: the variable of the root module
        where it is known, else its class, and the path below it. None for what the user's own code
        calls."""
        run = call.run_of_module
        if run is None or (call.direct and not call.custom):
            return None
        owner, path = self._called(run.outermost.site, run.outermost.root), run.below_outermost
        is_below = path and path != "?"  # of a loss that a forward makes, the module around it
        return f"{owner}.{path}" if is_below else owner

    def root(self, root: Root) -> str:
        """Return the variable of a module that ran, as it was called first, else its class."""
        around = self._inside.get(root)
        if around is not None and around[0].hint is not None:
            return f"{around[0].hint}.{around[1]}"
        return self._called(root.site, root)

    def _called(self, site: Site, root: Root) -> str:
        """Return what a site calls a root module: the global variable that holds it, else the one
        there, else its class."""
        return root.hint or getattr(self._of_module.get(site), "callee", None) or root.kind

    def module_call(self, run: ModuleRun) -> tuple[Source | None, str | None]:
        """Tell which statement called a module, and how the call is written there."""
        named = self._of_module[run.site]
        if named is None:
            return None, None
        place = self._located.place(*run.site[:2])
        is_written = run.direct and is_written_call(place)
        code = place.text(place.node) if is_written else None
        source_code = named.code if is_written else None
        off, decorated = self._switch(run.site) or (None, None)
        return Source(named.file, named.line, source_code, off, decorated=decorated), code

    def source(self, call: CallRecord) -> Source | None:
        """Tell where the call stands, and what made its result."""
        named = self.of_call[id(call)]
        if named is None:
            return None
        callee_name = (named.callee or "").split(".")[-1]
        # net.requires_grad_() says it already
        if self._is_inside(call) and callee_name != call.function:
            code: str | None = self._code_inside(call, named)
        else:
            code = self._code_with_result_name(call, named)
        off, decorated = self._switch_of(call) or (None, None)
        return Source(named.file, named.line, code, off, self._frames(call.site), decorated)

    def _switch_of(self, call: CallRecord) -> Switch | None:
        """Return what switched gradients off around a call, or around the calls of modules in which
        it ran, where that stands in the same file; None where they are on."""
        if call.bookkeeping or (call.grad_mode and not call.inference_mode):
            return None
        found = self._switch(call.site, in_inference=call.inference_mode)
        found = found or self._stated_switch(call)
        run = call.run_of_module
        while found is None and run is not None:
            if run.site and run.site[0].co_filename == call.site[0].co_filename:
                found = self._switch(run.site, in_inference=call.inference_mode)
            run = run.parent
        return found

    def _frames(self, site: Site) -> tuple[Frame, ...]:
        """Return the statements of a site, the innermost first."""
        users = [pair for pair in pairs_of(site) if pair[0] not in (CHECKPOINT, REPLACED)]
        return tuple(map(self._frame, users))

    def _frame(self, pair: tuple[Any, int]) -> Frame:
        """Return the statement of one frame, read once for all the calls that it made."""
        key = id(pair[0]), pair[1]
        found = self._frame_at.get(key)
        if found is None:
            found = self._frame_at[key] = frame_of(self._located.place(*pair))
        return found

    def _switch(self, site: Site, *, in_inference: bool = False) -> Switch | None:
        """Return what switches gradients off around a call, where they are."""
        key = (in_inference, *((id(code), at) for code, at in pairs_of(site)))
        if key not in self._switches:
            around = self._located.around(site)
            self._switches[key] = switch_around(around, in_inference=in_inference)
        return self._switches[key]

    def _stated_switch(self, call: CallRecord) -> Switch | None:
        """Return the statement that switched gradients off before a call, where that stands in the
        same file."""
        files = {site[0].co_filename for site in (call.switched, call.site) if site}
        if not call.switched or len(files) > 1:
            return None
        return stated_switch(self._located.around(call.switched))

    def _is_inside(self, call: CallRecord) -> bool:
        """Tell whether a call was made inside of what is written at its site. Of the calls that a
        module makes at one site, only the last made what is written there."""
        if call.direct or call.bookkeeping:
            return False
        return id(call) in self._unbound or call.run_of_module is None

    def _code_inside(self, call: CallRecord, named: resolve.Named) -> str:
        """Say which function ran, in which module, and under which name its result is read further
        on."""
        module_name = self.module(call) or named.callee
        code = f"{module_name}: {call.function}" if module_name else call.function
        result_name = self._first.get(call.outputs[0].object) if len(call.outputs) == 1 else None
        return f"{result_name} ({code})" if result_name else code

    def _code_with_result_name(self, call: CallRecord, named: resolve.Named) -> str | None:
        """Return what is written at the site, behind the name of the result where it lacks it."""
        code = named.code
        result_name = self._state_names.get(id(call.outputs[0])) if len(call.outputs) == 1 else None
        if code is None or result_name is None or call.function.endswith("_"):
            return code
        if named.targets != (result_name,) or _is_called(result_name, code):
            return code
        # `return x * 2` of a helper: its caller's name belongs to the card too.
        return f"{result_name} = {code}"

    def of_state(self, state: State, current: dict[Object, str]) -> str | None:
        """Return a state's own name, else the name that the object had before; a .grad that nobody
        read is named by its tensor."""
        name = self._state_names.get(id(state))
        if name is not None and id(state) in self._inner:
            name = self._users_own(state.object) or name
        if name is not None:
            current[state.object] = name
        owner = state.object.gradient_of
        if (name := self._latest(state.object, current)) is None and owner is not None:
            name = self._latest(owner, current)
            return name and f"{name}.grad"
        return name

    def _latest(self, tensor: Object, current: dict[Object, str]) -> str | None:
        """Return the name that a tensor has by now."""
        return current.get(tensor) or self._users_own(tensor) or self._first.get(tensor)

    def _users_own(self, tensor: Object) -> str | None:
        """Return the user's own name of what a helper calls otherwise: her code's, else that of a
        variable that holds it."""
        return self._first[tensor] if tensor in self._outer else tensor.hint
