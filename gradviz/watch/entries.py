"""What is written down while recording: objects, their states, nodes and calls. No tensor is held.

``assemble.py`` makes the plain data of ``graph.records`` of them when the recording has ended.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from gradviz.graph.records import CutReason, SavedState
from gradviz.watch.functions import Role
from gradviz.watch.walk import Slot

Site = tuple[Any, ...]  # code object, position, code object of its caller, position, ...


class Block(list["Object"]):
    """One block of memory: the objects in it. ``start`` and ``nbytes`` give its byte range."""

    __slots__ = ("device", "nbytes", "start")
    start: int
    nbytes: int
    device: torch.device
    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__

    def is_alive(self) -> bool:
        """Tell whether any object that was met here lives, be it here or elsewhere."""
        return any([member() is not None for member in self])  # noqa: C419  quicker: it is short

    def alive(self) -> list[Object]:
        """Return the objects that still live here (one may have moved away through ``.data =``)."""
        self[:] = [m for m in self if m() is not None and m.state.block is self]
        return self


class Object(weakref.ref[torch.Tensor]):
    """One tensor object: a weak reference to it, and its latest state while it lives.

    Rare facts stay at the class's default: an Object is made for every result of every call.
    """

    __slots__ = ("__dict__", "counter", "key", "made", "state")
    deferred = False  # its grad_fn was not read, see NOTE [views]
    internal = False  # an optimizer's own: momentum buffers and the like
    hint: str | None = None  # a global variable that held it when the block ended
    place: str | None = None  # its place in a list or tuple that a global variable held then
    accumulate_grad: int | None = None  # serial of its AccumulateGrad
    gradient_of: Object | None = None  # the tensor whose .grad it was when a backward ended
    grad_owner: Object | None = None  # the tensor whose .grad it was when a call met it first
    parameter: tuple[str, Root] | None = None  # (own name, module that has it)
    state: State
    key: int  # the id() of the tensor
    made: bool  # by a recorded call
    # a tensor, its views and its detached aliases count their versions together; .data does not
    counter: object

    # By identity: what it refers to may be gone.
    __hash__ = object.__hash__
    __eq__ = object.__eq__
    __ne__ = object.__ne__


@dataclass(slots=True)
class State:
    """What one tensor object was at one moment. Fields as in ``graph.Tensor``; ``node`` is a node
    serial."""

    object: Object
    shape: tuple[int, ...] | None
    stride: tuple[int, ...] | None
    storage_offset: Any  # int or None
    dtype: torch.dtype | None
    device: torch.device | None
    requires_grad: bool | None
    is_leaf: bool | None
    retains_grad: bool | None
    version: int | None
    values: Any  # nested list, or None; a Summary where one was asked for
    grad: Any  # (shape, nested list or None), or None
    block: Block | None
    base: Object | None
    node: int | None
    output_nr: int
    tracked: bool  # takes part in gradients at that moment

    def later(self, version: int | None, values: Any, grad: Any) -> State:
        """Return the state of a leaf of which nothing else has changed."""
        return State(
            self.object,
            self.shape,
            self.stride,
            self.storage_offset,
            self.dtype,
            self.device,
            self.requires_grad,
            True,
            self.retains_grad,
            version,
            values,
            grad,
            self.block,
            None,
            None,
            self.output_nr,
            self.tracked,
        )


@dataclass(slots=True)
class NodeRecord:
    """One node as it was when it was met. ``next``: its slots of next_functions."""

    serial: int
    name: str
    custom: bool = False
    leaf: State | None = None  # AccumulateGrad only
    sequence_nr: int | None = None
    next: Sequence[Slot] = ()
    saved: Sequence[Saved] = ()
    stub: bool = False  # older than the recording: only its name was read


class Saved(NamedTuple):
    """A tensor that a node saved. ``state`` is the recorded state it is, where proven."""

    attribute: str
    state: State | None
    start: int | None  # its first byte: a saved result is another object than the result
    # a state with the same memory and version counter: an inner view of an input was saved
    kin: State | None
    version: int | None
    status: SavedState


class Looked(NamedTuple):
    """The user's code read an attribute of a tensor: grad, requires_grad or grad_fn. ``missing``:
    it was None, or False. ``known``: what the recording had met of it; None where it had not."""

    tensor: weakref.ref[Any]
    attribute: str
    missing: bool
    code: Any
    lasti: int
    known: Object | None = None


class Stepped(NamedTuple):
    """What one optimizer did while it was watched. ``n``: how often it stepped; ``n_still``: how
    often it did so before any of its groups had a learning rate other than 0; ``site``: code
    objects and positions of its last step, the innermost first."""

    n: int
    n_still: int
    site: Site


# --- modules --------------------------------------------------------------------------------------


class Root:
    """A module that no other one that ran has below it, when it was called first."""

    def __init__(self, module: torch.nn.Module) -> None:
        self.module = weakref.ref(module)
        self.kind = type(module).__name__
        self.site: Site = ()  # of its first call
        self.hint: str | None = None  # a global variable that held it when the block ended
        # what stands below it: by id, for as long as the object lives
        self.paths: dict[int, tuple[str, weakref.ref[Any]]] = {}
        self.tree = Tree((), (), ())
        # by name, as it was when the root was called first: for a root that dies before the end
        self.parameters: dict[str, weakref.ref[Any]] = {}
        self.met: dict[str, Object] = {}  # those of them that a recorded call met
        # those that are no nn.Parameter: functional_call() put them there
        self.lent: set[str] = set()

    def path_of(self, what: Any, *, anew: bool = False) -> str | None:
        """Return the path of a module or parameter below this root; looked up anew when it is not
        found."""
        found = self.paths.get(id(what))
        if found is not None and found[1]() is what:
            return found[0]
        module = self.module()
        if anew or module is None:
            return None
        try:
            named: list[tuple[str, Any]] = [*module.named_modules(), *module.named_parameters()]
        except Exception:  # of a class that lists them in a way of its own
            return None
        self.paths = {id(one): (name, weakref.ref(one)) for name, one in named}
        return self.path_of(what, anew=True)


class Tree(NamedTuple):
    """What stands below a root."""

    children: tuple[tuple[str, str], ...]  # path, class
    parameters: tuple[OwnParameter, ...]
    tied: tuple[tuple[str, str], ...]


class OwnParameter(NamedTuple):
    """A parameter of a root, as it was when the root was read."""

    name: str
    known: Object | None
    shape: tuple[int, ...] | None
    requires_grad: bool
    held: bool | None


class Called:
    """A module that was called, how often, and where it stands below which root: by the root of
    the call around."""

    __slots__ = ("module", "places", "times")

    def __init__(self, module: torch.nn.Module) -> None:
        self.module = weakref.ref(module)
        self.places: dict[Root | None, tuple[Root, str]] = {}
        self.times = 0


class ModuleRun:
    """One call of a module, as plain data. ``outside`` is what the stack shows outside of its
    frame, see ``stack.Frames.look``."""

    __slots__ = (
        "direct",
        "frame",
        "kind",
        "last",
        "number",
        "outside",
        "parent",
        "path",
        "root",
        "site",
        "training",
    )

    def __init__(self, root: Root, path: str, parent: ModuleRun | None) -> None:
        self.root, self.path, self.parent = root, path, parent
        self.kind = ""
        self.number = 0
        self.training = False
        self.site: Site = ()  # the user's statement that called it, or called what called it
        self.direct = False  # is the call itself written there?
        self.outside: dict[tuple[int, bool, bool], tuple[Site, bool]] = {}
        self.frame = 0  # id of its frame, to find a mark that a debugger has put away
        self.last: ModuleRun | None = None  # the call seen last that was made inside of this one

    @property
    def outermost(self) -> ModuleRun:
        """The call of a module in which this one and all around it ran."""
        run = self
        while run.parent is not None:
            run = run.parent
        return run

    @property
    def below_outermost(self) -> str:
        """The path below the root of the outermost call, "?" where it does not stand there."""
        return self.path if self.root is self.outermost.root else "?"


# --- calls ----------------------------------------------------------------------------------------


class Places(NamedTuple):
    """Where the tensors of a usual call stand that has some in a list or tuple."""

    arity: int  # positional arguments
    at: tuple[int | str, ...]  # of each tensor, see ``CallRecord``


class CallRecord:
    """One call while it is recorded; ``assemble.py`` makes the ``graph.Call`` of it.

    What most calls do not have stays at the class's default: making a record is part of the cost of
    every call.
    """

    inference_mode = False
    run_of_module: ModuleRun | None = None  # the innermost call of a module that was under way
    run_inside: ModuleRun | None = None  # the one that it made, where all of it ran in that
    direct = True  # the user's own code made the call
    custom = False  # it is what ``apply`` of a custom Function does
    bookkeeping = False
    returned: int | None = None  # length of the tuple or list that it returned
    run: Any = None  # backward.Run of a backward
    error: tuple[str, str] | None = None
    site: Site = ()
    # where gradients are off by a statement: where set_grad_enabled(False) was called
    switched: Site = ()
    arity = 0  # positional arguments
    nodes: Sequence[NodeRecord] = ()  # that the call made
    found: Sequence[NodeRecord] = ()  # met on the way in: older than the call
    cuts: Sequence[tuple[State, State | None, CutReason]] = ()

    def __init__(self, function: str, role: Role, grad_mode: bool) -> None:
        self.function, self.role, self.grad_mode = function, role, grad_mode
        self.inputs: list[State] = []
        # Where each input stood: position, ~position inside a list, or keyword.
        self.args_at: tuple[int | str, ...] = ()
        self.outputs: list[State] = []

    @property
    def owner(self) -> ModuleRun | None:
        """The call of a module that it belongs to; torch's own bookkeeping belongs to none."""
        return None if self.bookkeeping else self.run_inside or self.run_of_module


Write = tuple[State, State, bool]  # before, after, by an alias
