"""Which calls of modules are under way while recording, and which modules they belong to.

NOTE [calls of modules are known by a mark]: a call of a module is known by torch's own frame of
``MODULE_CALL``, which lives exactly as long as the call. Ids of frames are reused at once, and to
keep a frame would keep its tensors. So the first recorded call inside puts a ``Mark`` into
``f_trace`` of that frame: Python reads it only while somebody traces, asks nothing of it then, and
lets go of it with the frame. Where somebody does trace, or has put something else there, the mark
stands among the frame's local variables instead. A call in which no torch function is recorded is
not seen, and hooks would change torch's own way through a module, so there are none.

What is noted of a module holds it only weakly. The modules themselves are read when the recording
has ended.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch

from gradviz.watch import torch_private
from gradviz.watch.entries import Called, ModuleRun, OwnParameter, Root, Site, Stepped, Tree
from gradviz.watch.identity import read

if TYPE_CHECKING:
    from types import FrameType

    from gradviz.watch.entries import Object
    from gradviz.watch.identity import Objects

MOST_STEPPED = 100  # optimizers of which it is known what they held


class Modules:
    """The modules of one recording."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self.owner = object()  # by which the marks of this recording are known
        self.marked_elsewhere = False  # does any mark stand among local variables?
        self.roots: list[Root] = []
        self.optimizers: dict[int, weakref.ref[Any]] = {}  # that have stepped
        # of each of them, at its last step, the parameters that were met: it may be gone later
        self.stepped: dict[weakref.ref[Any], list[Object]] = {}
        # those of them that it held at a learning rate of 0 then
        self.at_rate_zero: dict[weakref.ref[Any], list[Object]] = {}
        self.counts: dict[weakref.ref[Any], Stepped] = {}  # what each of them did
        self.held: list[Object] = []  # of the parameters of optimizers, those that were met
        self.free: list[Object] = []  # nn.Parameters that were met, and stand in no root
        self.last: ModuleRun | None = None  # the outermost call seen last
        self._called: dict[int, Called] = {}

    # --- the calls --------------------------------------------------------------------------------

    def under_way(self, frame: FrameType) -> ModuleRun | None:
        """Find the call of a module that this frame of ``MODULE_CALL`` runs, if it was met
        before."""
        mark = frame.f_trace
        if type(mark) is not torch_private.Mark:
            if mark is None and not self.marked_elsewhere:
                return None
            mark = torch_private.hidden_mark(frame)
        return None if mark is None else mark.of(self.owner)

    def begin(
        self, frame: FrameType, parent: ModuleRun | None, site: Site, direct: bool
    ) -> ModuleRun:
        """Note a call of a module that was not met before."""
        run = self._put_away(frame, parent, site)
        if run is None:
            module = torch_private.called_module(frame)
            called = self._called_before(module)
            run = ModuleRun(*self._place(module, called, parent, site), parent)
            run.kind, run.training = type(module).__name__, vars(module).get("training") is True
            run.number, called.times = called.times, called.times + 1
            run.site, run.direct, run.frame = site, direct, id(frame)
        if not torch_private.put_mark(frame, self.owner, run):
            self.marked_elsewhere, run.frame = True, 0
        if parent is None:
            self.last = run
        else:
            parent.last = run
        return run

    def _put_away(self, frame: FrameType, parent: ModuleRun | None, site: Site) -> ModuleRun | None:
        """Find the call of this frame, where a debugger has put its mark away since: it begins to
        trace all frames on the stack."""
        if frame.f_trace is None:
            return None
        last = self.last if parent is None else parent.last
        same = last is not None and last.frame == id(frame) and last.site == site
        return last if same else None

    def _called_before(self, module: torch.nn.Module) -> Called:
        found = self._called.get(id(module))
        if found is None or found.module() is not module:
            self._called[id(module)] = found = Called(module)
        return found

    def _place(
        self, module: torch.nn.Module, called: Called, parent: ModuleRun | None, site: Site
    ) -> tuple[Root, str]:
        """Find the root that has this module below it, of those that are under way, and the path;
        else it is a root itself."""
        around = None if parent is None else parent.root
        found = called.places.get(around)
        if found is None:
            found = called.places[around] = self._look_up(module, parent) or (
                self._root(module, site),
                "",
            )
        return found

    def _look_up(self, module: torch.nn.Module, run: ModuleRun | None) -> tuple[Root, str] | None:
        while run is not None:
            path = run.root.path_of(module)
            if path is not None:
                return run.root, path
            run = run.parent
        return None

    def _root(self, module: torch.nn.Module, site: Site) -> Root:
        found = next((root for root in self.roots if root.module() is module), None)
        if found is None:
            found = Root(module)
            found.site = site
            self.roots.append(found)
            self._read_first(found, module)
        return found

    def _read_first(self, root: Root, module: torch.nn.Module) -> None:
        try:
            root.tree = self._tree(module, None)
            for name, parameter in module.named_parameters():
                self._await(root, name, parameter)
                if not torch_private.is_parameter(parameter):
                    root.lent.add(name)
        except Exception:  # of a class that lists its parameters in a way of its own
            return

    def _await(self, root: Root, name: str, parameter: torch.Tensor) -> None:
        """Note which object a parameter of a new root is, now or when a recorded call meets it."""
        root.parameters[name] = weakref.ref(parameter)
        known = self.objects.known(parameter)
        if known is not None:
            root.met[name] = known
            return

        def meets(tensor: torch.Tensor, own: Object) -> None:
            ref = root.parameters[name]
            if ref() is tensor:
                root.met[name] = own

        self.objects.awaited[id(parameter)] = meets

    # --- the modules ------------------------------------------------------------------------------

    def note_step(self, optimizer: Any, site: Site) -> None:
        """Note that an optimizer steps, where, and what it holds then."""
        known = self.optimizers.get(id(optimizer))
        if known is None or known() is not optimizer:
            known = self.optimizers[id(optimizer)] = weakref.ref(optimizer)
        self.stepped.pop(known, None)  # the newest stands last
        self.stepped[known] = self._met_in([optimizer])
        at_zero = _groups_at_zero(optimizer)
        self.at_rate_zero[known] = self._met(at_zero)
        before = self.counts.get(known, Stepped(0, 0, site))
        is_still = before.n == before.n_still and len(at_zero) == len(optimizer.param_groups)
        self.counts[known] = Stepped(before.n + 1, before.n_still + is_still, site)
        if len(self.stepped) > MOST_STEPPED:  # a loop may make one in each iteration
            oldest = next(iter(self.stepped))
            del self.stepped[oldest], self.at_rate_zero[oldest], self.counts[oldest]

    def take_variables(self, variables: Iterable[tuple[str, torch.nn.Module]]) -> None:
        """Let global variables name the roots that they hold. What stands around a root and called
        it in a method of its own, as ``agent.act(x)`` calls ``self.actor``, or is a list that holds
        it, is a root in its place.

        Args:
            variables: each with its name.
        """
        for name, module in variables:
            root = next((root for root in self.roots if root.module() is module), None)
            if root is None and (self._called_by(module) or self._holds_roots(module)):
                root = self._root(module, ())
            if root is not None and root.hint is None:
                root.hint = name

    def _holds_roots(self, module: torch.nn.Module) -> bool:
        """Say whether a module is a list or dict of modules, and roots stand below it."""
        if type(module) not in (torch.nn.ModuleList, torch.nn.ModuleDict):
            return False
        below = {id(one) for one in module.modules()}
        return any(id(root.module()) in below for root in self.roots)

    def _called_by(self, module: torch.nn.Module) -> bool:
        """Say whether a method of a module's class called a root that stands below it."""
        own = {id(code) for code in torch_private.methods_of(type(module))}
        called = [r for r in self.roots if any(id(code) in own for code in r.site[::2])]
        below = {id(one) for one in module.modules()} if called else set()
        return any(id(root.module()) in below for root in called)

    def read(self, more_optimizers: Iterable[Any] = ()) -> None:
        """Read what stands below the roots, as it is now, and which optimizers have it."""
        alive = [one for ref in self.optimizers.values() if (one := ref()) is not None]
        optimizers = [*alive, *more_optimizers]
        held = _parameters_of(optimizers)
        self.held = self._met_in(optimizers)
        for root in list(self.roots):
            module = root.module()
            if module is not None:
                try:
                    root.tree = self._tree(module, held)
                except Exception:
                    continue
            else:
                read_now = (self._of_dead(root, p, held) for p in root.tree.parameters)
                own = tuple(p for p in read_now if not _is_lent(root, p))
                root.tree = root.tree._replace(parameters=own)

        self.free = self._outside()

    def _outside(self) -> list[Object]:
        """List the living nn.Parameters that a recorded call met, and that stand in no root."""
        inside = {p.known for root in self.roots for p in root.tree.parameters}
        return [
            own
            for own in list(self.objects.by_id.values())
            if own not in inside
            and (tensor := own()) is not None
            and torch_private.is_parameter(tensor)
        ]

    def _met_in(self, optimizers: list[Any]) -> list[Object]:
        """List the parameters of optimizers that a recorded call met."""
        return self._met([group for one in optimizers for group in one.param_groups])

    def _met(self, groups: list[Any]) -> list[Object]:
        """List the parameters of groups that a recorded call met."""
        known = (self.objects.known(p) for group in groups for p in group["params"])
        return [one for one in known if one is not None]

    def inside(self) -> dict[Root, tuple[Root, str]]:
        """Find the roots that stand below another one: it, and the path from there."""
        found: dict[Root, tuple[Root, str]] = {}
        for root in self.roots:
            module = root.module()
            places = () if module is None else [(o, o.path_of(module)) for o in self.roots]
            around = [(o, path) for o, path in places if path and o is not root]
            if around:
                # the one that none of the others stands above
                found[root] = max(around, key=lambda place: place[1].count("."))
        return found

    def _tree(self, module: torch.nn.Module, held: set[int] | None) -> Tree:
        children = [(path, type(one).__name__) for path, one in module.named_modules() if path]
        first: dict[int, str] = {}
        parameters, tied = [], []
        for name, parameter in module.named_parameters(remove_duplicate=False):
            if not parameter.is_leaf:
                continue  # functional_call() has put it into the place of one
            if id(parameter) in first:
                tied.append((name, first[id(parameter)]))
                continue
            first[id(parameter)] = name
            parameters.append(self._parameter(name, parameter, held))
        return Tree(tuple(children), tuple(parameters), tuple(tied))

    def _of_dead(self, root: Root, before: OwnParameter, held: set[int] | None) -> OwnParameter:
        """Read a parameter of a root that is gone: as it is now if it lives on, else as it was."""
        ref = root.parameters.get(before.name)
        parameter = None if ref is None else ref()
        if parameter is None:
            return before._replace(known=root.met.get(before.name))
        return self._parameter(before.name, parameter, held)

    def _parameter(self, name: str, parameter: Any, held: set[int] | None) -> OwnParameter:
        shape = read(lambda: tuple(parameter.shape))
        if shape is not None and any(type(size) is not int for size in shape):
            shape = None
        return OwnParameter(
            name,
            self.objects.known(parameter),
            shape,
            bool(read(lambda: parameter.requires_grad)),
            None if held is None else id(parameter) in held,
        )


def _is_lent(root: Root, parameter: OwnParameter) -> bool:
    """Say whether what stood in the place of a parameter of a root was computed for one call: the
    weights of an inner loop."""
    computed = parameter.known is not None and parameter.known.made
    return parameter.name in root.lent and computed and not parameter.held


def _groups_at_zero(optimizer: Any) -> list[Any]:
    """Return the groups of an optimizer whose learning rate is the number 0."""
    rates = [(group.get("lr"), group) for group in optimizer.param_groups]
    return [group for rate, group in rates if isinstance(rate, (int, float)) and rate == 0]


def _parameters_of(optimizers: list[Any]) -> set[int] | None:
    """Return the ids of what these optimizers hold; None where there is no optimizer."""
    if not optimizers:
        return None
    groups = [group for one in optimizers for group in one.param_groups]
    return {id(parameter) for group in groups for parameter in group["params"]}
