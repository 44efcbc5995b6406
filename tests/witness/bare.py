"""A scenario run without gradviz's recorder: the tensors that its calls met, their states, and
their gradients.

Three bare runs of one state see three things, so that none disturbs the others: ``plain`` has
nothing in it at all, ``Calls`` only passes calls on and reads tensors, ``Gradients`` puts hooks on
the nodes behind each backward.
"""

from __future__ import annotations

import contextlib
import io
import sys
import warnings
import weakref
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode

FEW = 8  # elements that are shown as numbers
READS_NO_VALUE = frozenset(
    """__repr__ __format__ __len__ __hash__ __reduce_ex__ size dim numel stride storage_offset data_ptr untyped_storage
    is_floating_point is_complex is_inference is_contiguous register_hook register_post_accumulate_grad_hook
    retain_grad backward grad requires_grad_""".split()
) | {"an attribute"}
INNER = (
    "/torch/nn/init.py",
    "/torch/autograd/function.py",
    "/torch/autograd/graph.py",
    "/torch/optim/optimizer.py",
)
TENSOR_ATTRIBUTES = frozenset("data T mT H mH real imag".split())
KEEPING = frozenset(("state_dict", "load_state_dict"))
SHAPE_ONLY = frozenset(
    "empty_like zeros_like ones_like full_like rand_like randn_like new_empty new_zeros".split()
)


# --- numbers --------------------------------------------------------------------------------------


def number(x: Any) -> str:
    """One element as a picture shows it: four significant digits."""
    if isinstance(x, complex):
        return f"{number(x.real)}{'-' if x.imag < 0 else '+'}{number(abs(x.imag))}j"
    if isinstance(x, (bool, int)):
        return str(x)
    return "0" if x == 0 else f"{x:.4g}"


def listed(nested: Any) -> str:
    """``tolist()`` in one line."""
    return (
        "[" + ", ".join(map(listed, nested)) + "]" if isinstance(nested, list) else number(nested)
    )


def shown(t: torch.Tensor | None) -> str | None:
    """The values of a small tensor, the shape of a large one, None for no tensor."""
    if t is None:
        return None
    return listed(t.tolist()) if t.numel() <= FEW else "×".join(map(str, t.shape)) + " values"


def tried(read: Callable[[], Any], otherwise: Any = None) -> Any:
    """What torch may refuse to tell: of a view that was written, of an inference tensor, inside
    ``func.grad``."""
    try:
        return read()
    except Exception:
        return otherwise


# --- one moment of one tensor ---------------------------------------------------------------------


class Moment(NamedTuple):
    """What a tensor says of itself. None: torch refuses to tell, or there is none."""

    values: str | None
    shape: tuple[int, ...] | None
    dtype: str | None
    version: int | None
    requires_grad: bool | None
    is_leaf: bool | None
    retains_grad: bool | None
    grad: str | None
    storage: int | None  # address of its memory

    @classmethod
    def of(cls, t: torch.Tensor) -> Moment:
        leaf, retains = tried(lambda: t.is_leaf), tried(lambda: t.retains_grad)
        return cls(
            tried(lambda: listed(t.tolist()) if t.numel() <= FEW else None),
            tried(lambda: tuple(t.shape)),
            tried(lambda: str(t.dtype).removeprefix("torch.")),
            tried(lambda: t._version),
            tried(lambda: t.requires_grad),
            leaf,
            retains,
            tried(lambda: shown(t.grad)) if leaf or retains else None,
            tried(lambda: t.untyped_storage().data_ptr() or None),
        )


# --- the calls of a run ---------------------------------------------------------------------------


class Call(NamedTuple):
    """One call of a torch function: which tensors went in and out, by their numbers."""

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    grad_mode: bool
    inference_mode: bool
    line: int | None  # in the file of the scenario
    inner: bool  # inside an optimizer, ``nn.init``, a custom Function: not the reader's own
    result: str  # what it returned, where that is a number


def flat(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in arguments and results."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from flat(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from flat(one)


class Numbers(TorchFunctionMode):
    """Passes every call on as it is, and numbers the tensors in the order in which calls meet
    them."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        # the call that raised last, and what it was given
        self.raised: tuple[str, tuple[int, ...]] | None = None

    def number(self, t: torch.Tensor) -> int:
        raise NotImplementedError

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = function_name(func)
        if name == "_set_grad_enabled":  # also called around a run, to begin it
            return func(*args, **kwargs)
        inputs = tuple(self.number(t) for t in flat((args, kwargs)))
        self.before(inputs)
        try:
            result = func(*args, **kwargs)
        except Exception:
            self.raised = name, inputs
            self.calls.append(f"{name} raised")  # what it wrote before stays written
            self.failed()
            raise
        outputs = tuple(self.number(t) for t in flat(result))
        self.calls.append(name)
        self.after(name, inputs, outputs, result, sys._getframe(1))
        return result

    def before(self, inputs: tuple[int, ...]) -> None:
        """Before a call."""

    def failed(self) -> None:
        """After a call that raised."""

    def after(self, name: str, inputs: Any, outputs: Any, result: Any, frame: FrameType) -> None:
        """After a call that did not raise."""


def function_name(func: Any) -> str:
    """``mul``; ``data.__get__`` for an attribute."""
    name = getattr(func, "__name__", None) or type(func).__name__
    if name in ("__get__", "__set__", "__delete__"):
        return f"{getattr(func.__self__, '__name__', '?')}.{name}"
    return str(name)


class Kept(Numbers):
    """Numbers tensors and keeps them all."""

    def __init__(self) -> None:
        super().__init__()
        self.tensors: list[torch.Tensor] = []
        self.numbers: dict[int, int] = {}

    def number(self, t: torch.Tensor) -> int:
        found = self.numbers.get(id(t))
        if found is None:
            found = self.numbers[id(t)] = len(self.tensors)
            self.tensors.append(t)
        return found


class Deaths(Numbers):
    """Numbers tensors and keeps none, to see after which call each of them is gone."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: dict[int, int] = {}
        self.references: list[Any] = []
        self.died: dict[int, int] = {}  # number -> calls that had returned by then

    def number(self, t: torch.Tensor) -> int:
        key = id(t)
        if key not in self.numbers:
            own = self.numbers[key] = len(self.references)

            def gone(_: Any) -> None:
                self.died[own] = len(self.calls)
                if self.numbers.get(key) == own:
                    del self.numbers[key]

            self.references.append(weakref.ref(t, gone))
        return self.numbers[key]


class Calls(Kept):
    """Reads every tensor after every call: how its states followed each other."""

    def __init__(self, code: CodeType) -> None:
        super().__init__()
        self.code = code
        self.made: list[Call] = []
        # by number: (calls that had returned, what it was then)
        self.history: list[list[tuple[int, Moment]]] = []

    def before(self, inputs: tuple[int, ...]) -> None:
        self.read(inputs)

    def read(self, numbers: Any) -> None:
        """Note what has changed."""
        for k in numbers:
            while len(self.history) <= k:
                self.history.append([])
            now, known = Moment.of(self.tensors[k]), self.history[k]
            if not known or known[-1][1] != now:
                known.append((len(self.calls), now))

    def failed(self) -> None:
        self.read(range(len(self.tensors)))
        self.made.append(Call("", (), (), True, False, None, True, ""))

    def after(self, name: str, inputs: Any, outputs: Any, result: Any, frame: FrameType) -> None:
        self.read(range(len(self.tensors)))
        if name.endswith(".__get__"):
            name = name.partition(".")[0]
            name = name if name in TENSOR_ATTRIBUTES else "an attribute"
        line, inner, at = None, False, frame
        while at is not None:
            inner = inner or at.f_code.co_filename.endswith(INNER) or at.f_code.co_name in KEEPING
            if line is None and at.f_code.co_filename == self.code.co_filename:
                line = at.f_lineno
            at = at.f_back
        plain = (
            listed(result)
            if isinstance(result, (int, float, bool, list)) and not list(flat(result))
            else ""
        )
        self.made.append(
            Call(
                name,
                inputs,
                outputs,
                torch.is_grad_enabled(),
                torch.is_inference_mode_enabled(),
                line,
                inner,
                plain,
            )
        )

    def at(self, k: int, calls: int) -> Moment:
        """What a tensor was when so many calls had returned."""
        return [moment for when, moment in self.history[k] if when <= calls][-1]


# --- gradients ------------------------------------------------------------------------------------

# ("leaf", number of the leaf) for an AccumulateGrad, which torch makes anew at will; else the
# node's id
Key = Any
Edge = tuple[Key, int]


class Engine(NamedTuple):
    """What one run of the engine did. Keys of ``arrived`` and ``sent`` are (node, slot)."""

    kind: str
    arrived: dict[Edge, str]
    sent: dict[Edge, str]
    before: dict[int, str | None]  # .grad by number of the leaf
    after: dict[int, str | None]
    returned: list[str | None]
    roots: list[Edge]


class Gradients(Kept):
    """Watches every backward by hooks of its own, and reads the gradient edges of every tensor
    after every call."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes: dict[Key, Any] = {}
        # by number: (calls that had returned, where it enters)
        self.edges: list[list[tuple[int, Edge | None]]] = []
        self.runs: list[Engine] = []
        # by number: calls before which it was read and required grad
        self.tracked: list[list[int]] = []

    def key(self, node: Any) -> Key:
        key = ("leaf", self.number(node.variable)) if hasattr(node, "variable") else id(node)
        self.nodes.setdefault(key, node)
        return key

    def edge(self, t: torch.Tensor) -> Edge | None:
        if not t.requires_grad:
            return None
        if t.grad_fn is None:
            return None if t._is_view() and not takes_gradient(t) else (("leaf", self.number(t)), 0)
        return self.key(t.grad_fn), t.output_nr

    def read(self) -> None:
        for k, t in enumerate(self.tensors):
            while len(self.edges) <= k:
                self.edges.append([])
            known, now = self.edges[k], tried(lambda t=t: self.edge(t))
            if not known or known[-1][1] != now:
                known.append((len(self.calls), now))

    def before(self, inputs: tuple[int, ...]) -> None:
        self.read()

    def failed(self) -> None:
        self.read()

    def after(self, name: str, inputs: Any, outputs: Any, result: Any, frame: FrameType) -> None:
        self.read()

    def edge_at(self, k: int, calls: int) -> Edge | None:
        """Where a gradient of this tensor entered the graph when so many calls had returned."""
        found = [edge for when, edge in self.edges[k] if when <= calls]
        return found[-1] if found else None

    # --- backward ---------------------------------------------------------------------------------

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Every run of the engine goes through one function of torch."""
        original = torch.autograd._engine_run_backward  # type: ignore[attr-defined]

        def watched(t_outputs: Any, *args: Any, **kwargs: Any) -> Any:
            return self.watch(original, t_outputs, *args, **kwargs)

        torch.autograd._engine_run_backward = watched  # type: ignore[attr-defined]
        try:
            yield
        finally:
            torch.autograd._engine_run_backward = original  # type: ignore[attr-defined]

    def watch(self, original: Any, t_outputs: Any, *args: Any, **kwargs: Any) -> Any:
        roots = [self.edge(t) if isinstance(t, torch.Tensor) else None for t in t_outputs]
        accumulate = kwargs.get("accumulate_grad", False)
        run = Engine(
            "backward" if accumulate else "grad", {}, {}, {}, {}, [], [r for r in roots if r]
        )
        handles = []
        behind = self.behind([r[0] for r in run.roots])
        for key in behind:
            handles.append(
                self.nodes[key].register_prehook(
                    lambda grads, key=key: note(run.arrived, key, grads)
                )
            )
            handles.append(
                self.nodes[key].register_hook(lambda sent, _, key=key: note(run.sent, key, sent))
            )
        leaves = [key[1] for key in behind if isinstance(key, tuple)]
        run.before.update({k: shown(self.tensors[k].grad) for k in leaves})
        self.runs.append(run)
        try:
            result = original(t_outputs, *args, **kwargs)
        finally:
            for handle in handles:
                handle.remove()
            run.after.update({k: shown(self.tensors[k].grad) for k in leaves})
        run.returned.extend(shown(g) for g in result or ())
        return result

    def behind(self, keys: list[Key]) -> list[Key]:
        """These nodes and all that a gradient can meet from there."""
        seen, todo = dict[Key, None](), list(keys)
        while todo:
            key = todo.pop()
            if key not in seen:
                seen[key] = None
                todo += [edge[0] for _, edge in self.next(key)]
        return list(seen)

    def next(self, key: Key) -> list[tuple[int, Edge]]:
        """(slot, where it leads) of one node."""
        # a leaf that no node leads to
        functions = self.nodes[key].next_functions if key in self.nodes else ()
        return [(i, (self.key(n), nr)) for i, (n, nr) in enumerate(functions) if n is not None]

    def leads(self, start: Edge | None, end: Edge | None) -> bool:
        """Whether a gradient at one edge gets to another."""
        if start is None or end is None:
            return False
        return start == end or any(
            edge == end for key in self.behind([start[0]]) for _, edge in self.next(key)
        )


def takes_gradient(t: torch.Tensor) -> bool:
    """Whether a leaf that is a view gets gradients: what was made under no_grad from a tracked
    tensor does not."""
    return not (t._base is not None and t._base.requires_grad)


def note(into: dict[Edge, str], key: Key, grads: Any) -> None:
    for slot, grad in enumerate(grads):
        if grad is not None:
            into[key, slot] = str(shown(grad))


# --- runs -----------------------------------------------------------------------------------------


class Plain(NamedTuple):
    """What a run with nothing of ours in it left."""

    error: str
    line: int | None
    printed: str
    # name -> its values and its .grad when the function ended
    locals: dict[str, tuple[str | None, str | None]]


def plain(function: Callable[..., Any], arguments: dict[str, Any]) -> Plain:
    """Run a scenario, look at its variables when it returns or raises, and at nothing before."""
    code = function.__code__
    found: dict[str, tuple[str | None, str | None]] = {}

    def returned(frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and frame.f_code is code:
            sys.setprofile(None)
            for name, value in frame.f_locals.items():
                if isinstance(value, torch.Tensor):
                    moment = Moment.of(value)
                    found[name] = moment.values, moment.grad

    with output() as printed:
        sys.setprofile(returned)
        try:
            error, line = attempt(function, arguments)
        finally:
            sys.setprofile(None)
    return Plain(error, line, printed.getvalue().rstrip(), found)


def attempt(function: Callable[..., Any], arguments: dict[str, Any]) -> tuple[str, int | None]:
    """What a scenario raises, and in which of its lines."""
    try:
        function(**arguments)
    except Exception as error:
        line, trace = None, error.__traceback__
        while trace is not None:
            line = trace.tb_lineno if trace.tb_frame.f_code is function.__code__ else line
            trace = trace.tb_next
        said = str(error)
        return f"{type(error).__name__}: {said}" if said else type(error).__name__, line
    return "", None


@contextlib.contextmanager
def output() -> Iterator[io.StringIO]:
    """What is printed, and warnings as their text."""
    printed = io.StringIO()

    def warned(message: Warning | str, category: type[Warning], *_: Any) -> None:
        print(f"{category.__name__}: {message}", file=printed)

    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = warned  # type: ignore[assignment]
        yield printed


class Variables:
    """Which tensors a scenario's variables, and those of functions in its notebook, held, line by
    line."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.code = function.__code__
        self.held: dict[str, list[torch.Tensor]] = {}
        self.at_end: dict[str, Any] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        name = frame.f_code.co_filename
        if event == "call":
            return self if name == self.code.co_filename or "ipython-input" in name else None
        if event in ("line", "return"):
            values = dict(frame.f_locals)
            with torch._C.DisableTorchFunction():  # our own reading is no call of the reader's
                for name, value in values.items():
                    self.hold(name, value)
            if event == "return" and frame.f_code is self.code:
                self.at_end = values
        return self

    def hold(self, name: str, value: Any) -> None:
        """A variable's tensor, and what can be called by its attributes."""
        if isinstance(value, torch.Tensor):
            held = self.held.setdefault(name, [])
            if not any(one is value for one in held):
                held.append(value)
                self.held.setdefault(f"{name}.data", []).append(value)
            grad = value.grad if tried(lambda: value.is_leaf or value.retains_grad) else None
            if grad is not None:
                self.hold(f"{name}.grad", grad)
        # before its __init__ it has no parameters to ask for
        elif isinstance(value, torch.nn.Module) and "_parameters" in vars(value):
            for path, parameter in value.named_parameters():
                self.hold(f"{name}.{path}", parameter)


@contextlib.contextmanager
def traced(trace: Callable[..., Any]) -> Iterator[None]:
    """With a trace function for Python's lines."""
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
