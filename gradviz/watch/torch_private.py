"""Everything that gradviz reads of torch and that torch does not document, or not in every version,
feature-detected.

Nothing else in the package touches ``torch._C``, a leading underscore of torch's, the code and
frames behind torch's functions, or a public name that only some versions have;
``tests/test_architecture.py`` holds that. Every function here answers None (or "unknown") where
torch does not tell, and none of them changes anything.
"""

from __future__ import annotations

import dis
import functools
import inspect
import operator
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from enum import Enum, auto
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_VARARGS
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple
from weakref import ref

import torch
from torch.autograd.graph import Node
from torch.overrides import handle_torch_function

from gradviz import _installed
from gradviz.graph.records import SavedState

# gradviz itself has asked what is installed, without importing torch. This is what was imported.
_installed.require_own_package()
_installed.require_torch(str(torch.__version__))

NO_NUMBER = -1
_UINT64_MAX = 2**64 - 1
_C: Any = torch._C
_CPU = torch.device("cpu")
_is_copy_on_write = getattr(_C, "_is_cow_tensor", None)


raw_number = operator.methodcaller("_sequence_nr")  # RAW_NO_NUMBER for an AccumulateGrad
RAW_NO_NUMBER = _UINT64_MAX


def sequence_number(node: Node) -> int:
    """Return the node's sequence number as a plain int for comparisons: ``NO_NUMBER`` for an
    AccumulateGrad."""
    number: int = node._sequence_nr()
    return NO_NUMBER if number == _UINT64_MAX else number


def sequence_nr(node: Node) -> int | None:
    """Return the node's sequence number. Per thread, rising; None for an AccumulateGrad, which has
    none."""
    number = sequence_number(node)
    return None if number == NO_NUMBER else number


def is_accumulate_grad(node: Node) -> bool:
    """Tell whether this is the node that fills a leaf's ``.grad``."""
    return type(node).__name__ == "AccumulateGrad"


def leaf_of(node: Node) -> torch.Tensor | None:
    """Return the leaf whose ``.grad`` an AccumulateGrad fills; None for other nodes."""
    try:
        leaf = node.variable if is_accumulate_grad(node) else None  # type: ignore[attr-defined]
    except Exception:
        return None
    return leaf if isinstance(leaf, torch.Tensor) else None


def has_hooks(tensor: torch.Tensor) -> bool:
    """Tell whether the user put hooks on the gradient of this tensor."""
    return bool(getattr(tensor, "_backward_hooks", None))


def has_any_hooks(leaf: torch.Tensor) -> bool:
    """Tell whether the user put hooks on a leaf, that run before or after its ``.grad`` is
    filled."""
    return has_hooks(leaf) or bool(getattr(leaf, "_post_accumulate_grad_hooks", None))


def _may_use_others() -> bool:
    """Tell whether this machine has devices beside CPU and CUDA for torch."""
    accelerator: Any = getattr(torch, "accelerator", None)
    if accelerator is None:
        return torch.backends.mps.is_available()
    return accelerator.is_available() and not torch.cuda.is_available()


_MAY_USE_OTHERS = _may_use_others()


def computes_on_cpu() -> bool:
    """Tell whether all tensors of this process are on the CPU."""
    return not (_MAY_USE_OTHERS or torch.cuda.is_initialized())  # type: ignore[no-untyped-call]


def backward_hooks(module: torch.nn.Module) -> list[Any]:
    """Return the functions that a module's backward calls, of ``register_full_backward_hook`` and
    its older form."""
    return list(getattr(module, "_backward_hooks", {}).values())


def module_hooks(module: torch.nn.Module) -> list[Any]:
    """Return the functions that a call of a module runs before or after its forward, and those
    that its backward calls."""
    kinds = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
    return [hook for kind in kinds for hook in getattr(module, kind, {}).values()]


def is_custom(node: Any) -> bool:
    """Tell whether the node belongs to a ``torch.autograd.Function``, in Python or in C++."""
    return (
        isinstance(node, torch.autograd.function.BackwardCFunction) or "::CppNode<" in node.name()
    )


def node_name(node: Node) -> str:
    """Return e.g. ``"MulBackward0"``: the node's class, without namespace."""
    name = type(node).__name__
    return name if name != "CppFunction" else node.name().removeprefix("torch::autograd::")


# ---- saved tensors -------------------------------------------------------------------------------

_RAW = "_raw_saved_"
_AVAILABLE = SavedState.AVAILABLE
_raw_names: dict[type, tuple[tuple[str, str], ...]] = {}
_EXPECTED = re.compile(r"is at version \d+; expected version (\d+)")


def raw_names(kind: type) -> tuple[tuple[str, str], ...]:
    """Return (attribute to read, its short name) of the saved tensors of a node class, e.g.
    ("_raw_saved_self", "self")."""
    names = _raw_names.get(kind)
    if names is None:
        names = tuple((a, a.removeprefix(_RAW)) for a in dir(kind) if a.startswith(_RAW))
        if "_FunctionBase" in {base.__name__ for base in kind.__mro__}:
            names = tuple((a, "saved_" + short) for a, short in names)
        # classes of custom Functions are made by the user and may be many: only torch's own are
        # remembered
        else:
            _raw_names[kind] = names
    return names


def saved_number(node: Any, name: str) -> float | None:
    """Return a plain number that a node saved, such as the exponent of a power; None where it saved
    none by this name."""
    found = getattr(node, f"_saved_{name}", None)
    return found if isinstance(found, (int, float)) else None


def saved_tensors(node: Node) -> list[tuple[str, Any, SavedState, int | None]]:
    """Return what a node has saved, read without running an unpack hook, a checkpoint's forward or
    user code.

    Returns:
        (short name, the saved object or None, state, saved version where torch tells it) for each
        saved tensor. A slot that the forward left empty is not listed. The object is a tensor, or
        whatever a pack hook made of it; the state is then UNKNOWN, since only unpacking would tell.
    """
    found: list[tuple[str, Any, SavedState, int | None]] = []
    held = False  # does the node still hold anything? All it saved is released together
    for attribute, short in raw_names(type(node)):
        try:
            raw = getattr(node, attribute)
        except Exception:  # lists of saved tensors raise once they are released
            found.append((short, None, SavedState.FREED, None))
            continue
        if isinstance(raw, (tuple, list)):
            for i, one in enumerate(raw):
                if one is not None and (state := _saved_state(one, node, None, held)) is not None:
                    found.append((f"{short}[{i}]", *state))
        elif (state := _saved_state(raw, node, attribute, held)) is not None:
            found.append((short, *state))
            held = held or state[0] is not None
    return found


def _saved_state(
    raw: Any, node: Node, attribute: str | None, held: bool
) -> tuple[Any, SavedState, int | None] | None:
    """Return (object, state, saved version) of one raw saved tensor; None when the forward saved
    nothing there."""
    try:
        data, hook = raw.data, raw.unpack_hook
        if hook is None and data is not None and data._version == 0:  # by far the most frequent
            return data, _AVAILABLE, 0
    except Exception:  # an older torch, or an inconsistent graph
        return None, SavedState.UNKNOWN, None
    if hook is not None:
        return data, SavedState.UNKNOWN, None
    if data is None:
        if held:
            return None
        try:  # without data and hook this only tells "empty" from "released"
            return (
                None
                if _unpacked(raw, node, attribute) is None
                else (None, SavedState.UNKNOWN, None)
            )
        except RuntimeError:
            return None, SavedState.FREED, None
    current = version(data)
    if attribute is None:
        return data, SavedState.UNKNOWN, None
    # written at some time, perhaps before it was saved: let torch compare (no hook is there to run)
    try:
        getattr(node, attribute.replace("_raw", "", 1))
    except Exception as error:
        expected = _EXPECTED.search(str(error))
        return (
            (data, SavedState.STALE, int(expected[1]))
            if expected
            else (data, SavedState.UNKNOWN, None)
        )
    return data, SavedState.AVAILABLE, current


def release_probe(node: Node) -> Any:
    """Return what will tell whether a node has released what it saved: all of it is released
    together.

    Returns:
        A raw saved tensor, whose ``data`` is None once it is released; it is safe only while the
        node lives. False for a node that saves nothing. None where more has to be asked.
    """
    kind = type(node)
    names = _raw_names[kind] if kind in _raw_names else raw_names(kind)
    try:
        for attribute, _ in names:
            raw: Any = getattr(node, attribute)
            if raw.data is not None and raw.unpack_hook is None:  # as nearly always
                return raw
            found = _saved_state(raw, node, attribute, False)
            if found is not None:
                data, state, _ = found
                return None if data is None or state is SavedState.UNKNOWN else raw
    except Exception:  # a list of saved tensors, or an older torch
        return None
    return None if names else False


def release_probes(nodes: Sequence[Node]) -> list[Any]:
    """Return ``release_probe`` of each node."""
    return [release_probe(node) for node in nodes]


def has_released(node: Node, probe: Any) -> bool:
    """Ask: has a node released what it saved? ``probe`` is what ``release_probe`` gave before."""
    if probe is None:
        return any(state is SavedState.FREED for _, _, state, _ in saved_tensors(node))
    return probe is not False and probe.data is None


def plainly_saved(
    node: Node, attributes: Sequence[tuple[str, str]]
) -> list[tuple[str, torch.Tensor]]:
    """Return what a node has just saved, each with its short name; slots that the forward left
    empty are not listed. Raises for anything but plain tensors: a list, what a pack hook made, an
    older torch."""
    found: list[tuple[str, torch.Tensor]] = []
    empty: Any = None
    for attribute, short in attributes:
        raw = getattr(node, attribute)
        data = raw.data
        if raw.unpack_hook is not None:
            raise LookupError
        if data is not None:
            found.append((short, data))
        else:
            empty = raw, attribute
    # All that a node saved is released together, so an empty slot beside another one was left so.
    if empty is not None and not found and _unpacked(empty[0], node, empty[1]) is not None:
        raise LookupError
    return found


def _unpacked(raw: Any, node: Node, attribute: str | None) -> Any:
    """Return what a raw saved tensor without data and hook unpacks to. Raises RuntimeError where it
    was released."""
    if hasattr(raw, "unpack"):  # from torch 2.12 on
        return raw.unpack()
    # A list of saved tensors that was released has raised before.
    return None if attribute is None else getattr(node, attribute.replace("_raw", "", 1))


# ---- tensors -------------------------------------------------------------------------------------


def version(tensor: torch.Tensor) -> int | None:
    """Return how often the tensor's memory was written in place. None where it is not tracked
    (inference tensors)."""
    try:
        return int(tensor._version)
    except Exception:
        return None


def moved(tensors: Sequence[Any], states: Sequence[Any]) -> bool:
    """Tell whether the version of any tensor changed from that of its state, or one has none. Quick
    for the usual answer, no."""
    try:
        for tensor, state in zip(tensors, states):  # noqa: B905  quicker; they are equally long
            if state is not None and tensor._version != state.version:
                return True
    except RuntimeError:  # an inference tensor: it may have been written
        return True
    return False


def facts(t: torch.Tensor) -> tuple[Any, ...]:
    """Return what a recording keeps of an ordinary tensor, in one go. Raises for another."""
    on_cpu = t.is_cpu
    return (
        t.shape,
        t.stride(),
        t.storage_offset(),
        t.dtype,
        _CPU if on_cpu else t.device,  # the one object serves all
        t.requires_grad,
        t._version,
        t._base,
        t.retains_grad,
        t.output_nr,
        t.grad_fn,
        on_cpu,
    )


def lies_as(t: torch.Tensor, state: Any, start: int) -> bool:
    """Tell whether an ordinary leaf has the shape, the flags and the memory of an earlier state,
    whose storage began at ``start``. Raises for another tensor."""
    return bool(
        t.requires_grad is state.requires_grad
        and t._base is None
        and t.grad_fn is None
        and t.retains_grad is state.retains_grad
        and t.shape == state.shape
        and t.stride() == state.stride
        and t.dtype is state.dtype
        and t.device == state.device
        and t.storage_offset() == state.storage_offset
        # asking a copy-on-write storage for its address would copy it
        and not (_is_copy_on_write is not None and _is_copy_on_write(t))
        and t.data_ptr() == start + state.storage_offset * t.element_size()
    )


def is_parameter(tensor: torch.Tensor) -> bool:
    """Tell whether it is an ``nn.Parameter``. ``isinstance`` alone is slow; it tells only of
    subclasses more than the class does."""
    kind = type(tensor)
    return kind is torch.nn.Parameter or (
        kind is not torch.Tensor and isinstance(tensor, torch.nn.Parameter)
    )


def dtype_called(name: str) -> torch.dtype | None:
    """Return the dtype of that name, such as "float32"; None where this torch has none."""
    found = getattr(torch, name, None)
    return found if isinstance(found, torch.dtype) else None


def base_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """Return the tensor that this one is a view of, as autograd knows it."""
    try:
        return tensor._base
    except Exception:
        return None


def storage_key(tensor: torch.Tensor) -> int | None:
    """Return a number that two living tensors share if and only if they share a storage object."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except Exception:
        return None


def storage_range(tensor: torch.Tensor) -> tuple[int, int] | None:
    """Return (first byte, number of bytes) of the tensor's storage; None where there is no real
    memory (meta, fake, empty).

    Asking a copy-on-write storage for its address would copy it, so that is not asked.
    """
    try:
        if _is_copy_on_write is not None and _is_copy_on_write(tensor):
            return None
        storage = tensor.untyped_storage()
        start, size = storage.data_ptr(), storage.nbytes()
    except Exception:
        return None
    return (start, size) if start and size else None


def lies_in_memory(tensor: torch.Tensor) -> bool:
    """Tell whether all elements of a strided tensor lie in its storage: one that was made smaller
    (``resize_(0)``, as sharding does) has none, and reading past it would end the process."""
    span = storage_range(tensor)
    if span is None:
        return False
    last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    return (tensor.storage_offset() + last + 1) * tensor.element_size() <= span[1]


def is_functorch_wrapper(tensor: torch.Tensor) -> bool:
    """Tell whether this is a tensor as seen inside ``torch.func`` transforms."""
    try:
        return bool(_C._functorch.is_functorch_wrapped_tensor(tensor))
    except Exception:
        return False


def has_plain_data(tensor: torch.Tensor) -> bool:
    """Tell whether the elements can be read without running code of a subclass or of an active
    dispatch mode."""
    try:
        if type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
            return False
        if is_functorch_wrapper(tensor) or tensor.layout is not torch.strided or tensor.is_nested:
            return False
        lazy = tensor.is_conj() or tensor.is_neg()
        return not (lazy and _C._len_torch_dispatch_stack())
    except Exception:
        return False


# While it is entered, reading an attribute of a tensor runs no ``__torch_function__`` and no
# function mode. Entered around every recorded call, so there is no Python function around it.
unobserved: Callable[[], AbstractContextManager[None]] = _C.DisableTorchFunction


# ---- recording -----------------------------------------------------------------------------------


def next_sequence_nr() -> int:
    """Return the number that this thread's next node will get; 0 (every node counts as new) where
    torch does not tell."""
    try:
        return int(_C._autograd._get_sequence_nr())
    except AttributeError:
        return 0


# Asked around every recorded call, so these are C functions without a Python one around them.
is_compiling = torch.compiler.is_compiling
functorch_active: Callable[[], bool] = getattr(_C, "_are_functorch_transforms_active", bool)
# modes that would see what we call now
outer_modes: Callable[[], int] = getattr(_C, "_len_torch_function_stack", int)
dispatch_modes: Callable[[], int] = getattr(_C, "_len_torch_dispatch_stack", int)
raw_version = operator.attrgetter("_version")  # raises where torch does, unlike version()


def backward_under_way() -> int | None:
    """Return a number of the backward that runs on this thread: this is a hook of it, for example.
    None: there is none."""
    try:
        number = int(_C._current_graph_task_id())
    except AttributeError:
        return None
    return None if number == -1 else number


def takes_gradient(leaf: torch.Tensor) -> bool:
    """Tell whether a gradient would reach this leaf. A view of a tracked tensor made under no_grad
    says so, and takes none."""
    try:
        torch.autograd.graph.get_gradient_edge(leaf)
    except Exception:
        return False
    return True


def output_count(node: Any) -> int:
    """Return how many values the forward of this node returned, those without gradient included; 0
    where not known."""
    try:
        return len(node._input_metadata)
    except Exception:
        return 0


# ---- torch's own code on the stack ---------------------------------------------------------------

TORCH = os.path.dirname(torch.__file__) + os.sep
_OPTIMIZERS = os.path.join(TORCH, "optim") + os.sep
_LAYERS = os.path.join(TORCH, "nn", "modules") + os.sep
_INIT = torch.nn.init.__file__
_PARAMETERS = torch.nn.parameter.__file__
_CHECKPOINTS = os.path.join(TORCH, "utils", "checkpoint.py")
_DECORATORS = os.path.join(TORCH, "utils", "_contextlib.py")
_GRAPH = torch.autograd.graph.__file__
# What a module does with its parameters outside forward.
_KEEPING = frozenset(
    """__init__ reset_parameters _reset_parameters _fill_padding_idx_with_zero _apply state_dict
    _save_to_state_dict load_state_dict _load_from_state_dict""".split()
)
# To find a leaf's AccumulateGrad they make a view of it, which nobody asked for.
_ASKING = frozenset(("get_gradient_edge", "_get_grad_fn_or_grad_acc"))
# What runs before and after a checkpointed function, never while it runs.
# Up to torch 2.11 it makes a leaf without elements.
_CHECKPOINTING = frozenset(
    ("_checkpoint_without_reentrant_generator", "_checkpoint_without_reentrant_generator_impl")
)
# Python wrappers of torch functions: the user's call is the recorded call, argument by argument.
_WRAPPERS = tuple(
    os.path.join(TORCH, *path.split("/"))
    for path in (
        "_tensor.py",
        "overrides.py",
        "functional.py",
        "nn/functional.py",
        "autograd/__init__.py",
    )
)
MODULE_CALL: CodeType = torch.nn.Module._call_impl.__code__  # runs whenever an nn.Module is called
MODULE_FILE = MODULE_CALL.co_filename
_GRAD_SWITCH = torch.autograd.grad_mode.set_grad_enabled.__init__.__code__
_DETOUR: CodeType = handle_torch_function.__code__


def _code_in(found: Any, *path: str) -> CodeType | None:
    """Return the code of a function of torch's by where it stands; None where there is none."""
    for name in path:
        found = getattr(found, name, None)
    return getattr(found, "__code__", None)


_LOADING: Any = getattr(torch.utils.data, "_utils", None)
_COLLATING: Any = getattr(_LOADING, "collate", None)
# Runs when torch's loader has the rows of a batch taken and put together; and what stacks tensors.
FETCHES_BATCH = _code_in(_LOADING, "fetch", "_MapDatasetFetcher", "fetch")
STACKS_BATCH = _code_in(_LOADING, "collate", "collate_tensor_fn")
_ROWS: CodeType = torch.utils.data.TensorDataset.__getitem__.__code__


def takes_rows(code: CodeType) -> bool:
    """Tell whether it is what takes the rows of a ``TensorDataset``."""
    return code is _ROWS or any(code is part for part in _ROWS.co_consts)


def is_batched_by_torch(fetching: FrameType) -> bool:
    """Tell whether torch's own functions make a batch of the rows that a frame of
    ``FETCHES_BATCH`` has taken."""
    try:
        own = fetching.f_locals["self"].collate_fn is _COLLATING.default_collate
        stacks = _COLLATING.default_collate_fn_map[torch.Tensor].__code__ is STACKS_BATCH
        return own and stacks
    except Exception:
        return False


def scale_of(scaler: Any) -> torch.Tensor | None:
    """Return the number by which a GradScaler multiplies losses; None where it has none yet."""
    scale = getattr(scaler, "_scale", None)
    return scale if isinstance(scale, torch.Tensor) else None


def is_bookkeeping(code: CodeType) -> bool:
    """Tell whether it is what torch does with tensors for itself: an optimizer, nn.init, a
    constructor, a checkpoint's start."""
    file, name = code.co_filename, code.co_name
    keeping = name in _KEEPING and file.startswith(_LAYERS)
    asking = name in _ASKING and file == _GRAPH
    starting = name in _CHECKPOINTING and file == _CHECKPOINTS
    return keeping or asking or starting or file == _INIT or file.startswith(_OPTIMIZERS)


def is_checkpoint(code: CodeType) -> bool:
    """Tell whether it is ``torch.utils.checkpoint.checkpoint``, which calls the function that it
    was given."""
    return code.co_filename == _CHECKPOINTS and code.co_name == "checkpoint"


def copies_parameter(code: CodeType) -> bool:
    """Tell whether it is what ``copy.deepcopy`` runs for an nn.Parameter. It reads ``.data``, which
    nobody wrote."""
    return code.co_name == "__deepcopy__" and code.co_filename == _PARAMETERS


def is_wrapper(code: CodeType) -> bool:
    """Tell whether it is a Python function of torch's that hands a call on as it came."""
    return code.co_filename in _WRAPPERS


def switches_for_a_call(code: CodeType) -> bool:
    """Tell whether it is what ``@torch.no_grad()`` and its like put around a function."""
    return code.co_name == "decorate_context" and code.co_filename == _DECORATORS


def is_grad_switch(code: CodeType) -> bool:
    """Tell whether it is what ``torch.set_grad_enabled(…)`` runs when it is made: as a statement
    it is never left."""
    return code is _GRAD_SWITCH


def is_detour(code: CodeType) -> bool:
    """Tell whether it is torch's way from a Python function of its own to the mode that watches."""
    return code is _DETOUR


def attribute_of(accessor: Any) -> str:
    """Name of the attribute that a ``Tensor.grad.__get__`` or its like reads or writes."""
    return getattr(getattr(accessor, "__self__", None), "__name__", "?")


def called_module(frame: FrameType) -> torch.nn.Module:
    """Return the module that a frame of ``MODULE_CALL`` runs. Its locals live until it returns
    anyway."""
    module: torch.nn.Module = frame.f_locals["self"]
    return module


def methods_of(kind: type[torch.nn.Module]) -> Iterator[CodeType]:
    """Go through the code of the methods that a class of modules and those above it define, torch's
    own base apart; of a decorated one that of the function inside."""
    for one in kind.__mro__:
        if one is torch.nn.Module:
            return
        for method in vars(one).values():
            code = getattr(inspect.unwrap(method), "__code__", None) if callable(method) else None
            if isinstance(code, CodeType):
                yield code


_ENTERING = ("BEFORE_WITH", "SETUP_WITH", "LOAD_SPECIAL")
_SUSPENDED = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR


def enters_block(frame: FrameType) -> bool:
    """Ask: does a ``with`` statement of this frame enter its block just now, and is it the frame of
    a plain function or of a module? That of a generator may stand on other stacks later."""
    code, at = frame.f_code, frame.f_lasti
    if code.co_flags & _SUSPENDED:
        return False
    while at > 0 and dis.opname[code.co_code[at]] in ("CACHE", "EXTENDED_ARG"):
        at -= 2
    return dis.opname[code.co_code[at]] in _ENTERING


class Mark:
    """Stands on a frame while a module's call runs, see ``modules.py``. False and deaf, so that a
    debugger takes the frame for one that nobody traces."""

    __slots__ = ("more", "owner", "run")

    def __init__(self, owner: object, run: Any) -> None:
        self.owner, self.run = owner, run
        self.more: dict[int, tuple[object, Any]] | None = None  # of other recordings

    def __call__(self, *event: Any) -> None:
        """Take part in no tracing."""

    def __bool__(self) -> bool:
        return False

    def of(self, owner: object) -> Any:
        """Return what a recording has noted here."""
        if self.owner is owner:
            return self.run
        return None if self.more is None else self.more.get(id(owner), (None, None))[1]

    def add(self, owner: object, run: Any) -> None:
        """Note something for one more recording."""
        self.more = self.more or {}
        self.more[id(owner)] = owner, run

    def drop(self, owner: object) -> None:
        """Forget what a recording has noted here."""
        if self.owner is owner:
            self.owner = self.run = None
        elif self.more is not None:
            self.more.pop(id(owner), None)


_HIDDEN_MARK = "gradviz.mark"  # no name that code could have for a variable


def hidden_mark(frame: FrameType) -> Mark | None:
    """Find the mark that stands among the local variables of a frame of torch's."""
    return frame.f_locals.get(_HIDDEN_MARK)


def put_mark(frame: FrameType, owner: object, run: Any) -> bool:
    """Mark a frame of torch's. Returns whether the mark stands where Python looks for tracing."""
    mark: Any = frame.f_trace
    if type(mark) is Mark:
        mark.add(owner, run)
        return True
    if mark is None and sys.gettrace() is None:
        frame.f_trace = Mark(owner, run)
        return True
    hidden = hidden_mark(frame)
    if hidden is None:
        frame.f_locals[_HIDDEN_MARK] = Mark(owner, run)
    else:
        hidden.add(owner, run)
    return False


def may_be_marked(frame: FrameType) -> bool:
    """Tell whether a frame is one of torch's optimizers, and nobody traces. That of a generator may
    stand on other stacks later."""
    code, mark = frame.f_code, frame.f_trace
    if sys.gettrace() is not None or not (mark is None or type(mark) is Mark):
        return False
    return code.co_filename.startswith(_OPTIMIZERS) and not code.co_flags & _SUSPENDED


def take_marks_off(frame: FrameType | None, owners: Sequence[object]) -> None:
    """Take a recording's marks off a stack."""
    while frame is not None:
        mark: Any = frame.f_trace
        if type(mark) is Mark:
            for owner in owners:
                mark.drop(owner)
            if mark.owner is None and not mark.more:
                frame.f_trace = None
        frame = frame.f_back


_HOOK_RESULTS = ("args_result", "args_kwargs_result")  # what a forward pre-hook returned
_CALLS_IN_PARTS = any(
    isinstance(part, CodeType) and part.co_name == "inner" for part in MODULE_CALL.co_consts
)
# Do a module's hooks run in the very frame of MODULE_CALL, so that the stack does not show them?
HOOKS_LEAVE_NO_FRAME = not _CALLS_IN_PARTS


def hooks_replaced_arguments(call: FrameType, below: FrameType | None) -> bool:
    """Tell whether a forward pre-hook gave ``forward`` other arguments than the module was called
    with.

    Args:
        call: a frame of ``MODULE_CALL``.
        below: the frame that it runs. Where there are hooks, that is a part of it, in most
            versions.

    Returns:
        Whether it did. True also where that cannot be told.
    """
    with_hooks = call
    if _CALLS_IN_PARTS:
        if (
            below is None
            or below.f_code.co_filename != MODULE_FILE
            or below.f_code.co_name != "inner"
        ):
            return False
        with_hooks = below
    now = with_hooks.f_locals
    if not any(name in now for name in _HOOK_RESULTS):
        return False
    above = call.f_back
    given = {} if above is None or above.f_code.co_filename != MODULE_FILE else above.f_locals
    if not all(name in values for values in (given, now) for name in ("args", "kwargs")):
        return True
    before = [*given["args"], *given["kwargs"].values()]
    after = [*now["args"], *now["kwargs"].values()]
    same = len(before) == len(after) and all(
        one is other for one, other in zip(before, after, strict=True)
    )
    return not same or list(given["kwargs"]) != list(now["kwargs"])


# ---- custom Functions on the stack ---------------------------------------------------------------
#
# NOTE [Function.apply]: up to torch 2.13 ``Function.apply`` is Python, and its frame stands on the
# stack while a custom Function computes. From 2.14 it is compiled, and only the frames of what it
# calls are there: ``forward``, ``setup_context`` and ``jvp``, or what decorates them. They are
# known by their code. A frame of that code may also be a call of ``forward`` that the user made
# himself; where a context is given, it tells. An input that ``forward`` hands back as it is becomes
# a view of itself, which torch makes when no frame but the caller's is left.

_APPLY: CodeType | None = getattr(
    getattr(torch.autograd.Function.apply, "__func__", None), "__code__", None
)
_CONTEXT: type = _C._FunctionBase
_PARTS = ("forward", "setup_context", "jvp")
UNNAMED = "Function"  # stands for the name of a class that the stack does not tell
_MOST_LAYERS = 20  # decorators that are looked through
_ABSENT = object()


class FunctionRun(NamedTuple):
    """A custom Function that is computing. Holds a frame and tensors: never store it."""

    key: int  # equal for all calls of one run
    name: str  # of its class
    given: tuple[Any, ...]  # what it was applied to
    caller: FrameType | None  # the frame that called ``apply``
    # its ``ctx``, where the stack tells it: dead once the run left nothing behind
    context: ref[Any] | None


class FunctionRuns:
    """Finds custom Functions on the stack. One per recording, since it remembers code objects."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[bool, CodeType]] = {}  # by id: hashing a code object is slow
        self._classes = -1

    def outermost(self, frame: FrameType | None) -> FunctionRun | None:
        """Return the outermost custom Function that computes on this stack."""
        return _by_apply(frame) if _APPLY is not None else self._by_parts(frame)

    def _by_parts(self, frame: FrameType | None) -> FunctionRun | None:
        classes = len(torch.autograd.Function.__subclasses__())
        if classes != self._classes:  # new ones may be made of code that was seen before
            self._known.clear()
            self._classes = classes
        known = self._known
        candidates = []
        while frame is not None:
            code = frame.f_code
            if (known.get(id(code)) or self._look_up(code))[0]:
                candidates.append(frame)
            frame = frame.f_back
        found = (_run_of_part(candidate) for candidate in reversed(candidates))
        return next((run for run in found if run is not None), None)

    def _look_up(self, code: CodeType) -> tuple[bool, CodeType]:
        is_part = any(
            layer.__code__ is code for kind in _function_classes() for _, layer in _parts(kind)
        )
        self._known[id(code)] = found = is_part, code
        return found


def hands_back(function: str, args: tuple[Any, ...]) -> bool:
    """Tell whether this call may be how ``apply`` returns an input that ``forward`` handed back,
    see NOTE [Function.apply]."""
    return function == "view_as" and len(args) == 2 and args[0] is args[1]


def run_without_frames(frame: FrameType, args: tuple[Any, ...]) -> FunctionRun:
    """Return a run of which nothing but such a call was seen."""
    return FunctionRun(id(frame), UNNAMED, args[:1], frame, None)


def applied_name(node: Any) -> str | None:
    """Name of the class of custom Functions that made a node; None for other nodes."""
    kind = getattr(type(node), "_forward_cls", None)
    return kind.__name__ if isinstance(kind, type) else None


def _by_apply(frame: FrameType | None) -> FunctionRun | None:
    apply = called = inner = None
    while frame is not None:
        if frame.f_code is _APPLY:
            apply, called = frame, inner
        inner, frame = frame, frame.f_back
    if apply is None:
        return None
    context = None if called is None else _context(_positional(called.f_code, _values(called)))
    local = apply.f_locals  # torch's own frame: they live until it returns anyway
    weak = None if context is None else ref(context)
    return FunctionRun(id(apply), local["cls"].__name__, tuple(local["args"]), apply.f_back, weak)


def _context(given: tuple[Any, ...]) -> Any:
    """Return the ``ctx`` among the first arguments of a part; a class method has its class before
    it."""
    return next((value for value in given[:2] if isinstance(value, _CONTEXT)), None)


def _run_of_part(frame: FrameType) -> FunctionRun | None:
    """Return the run of which this frame, whose code is a part of some Function, is the outermost
    one. None for a call of ``forward`` that torch did not make."""
    values = _values(frame)
    given = _positional(frame.f_code, values)
    context = _context(given)
    fits = _parts_of_code(frame.f_code, values, context)
    if not fits:
        return None
    names = {k.__name__ for k, _ in fits}
    if given and any(given[0] is k for k, _ in fits):
        given = given[1:]  # a class method
    given = _applied_to(fits[0][1], given, context)
    caller = frame.f_back
    if caller is not None and caller.f_code is _APPLY:  # only where this way is taken for a test
        caller = caller.f_back
    name = names.pop() if len(names) == 1 else UNNAMED  # several classes share this forward
    return FunctionRun(id(caller), name, given, caller, None if context is None else ref(context))


def _parts_of_code(code: CodeType, values: dict[str, Any], context: Any) -> list[tuple[Any, str]]:
    """Return the Functions of which a frame of this code runs a part, each with the part's name."""
    # Only a Function that has setup_context of its own computes without a context.
    kinds = (
        [k for k in _function_classes() if _has_setup(k)]
        if context is None
        else [type(context)._forward_cls]
    )
    return [(k, part) for k in kinds for part, layer in _parts(k) if _runs(code, values, layer)]


def _applied_to(part: str, given: tuple[Any, ...], context: Any) -> tuple[Any, ...]:
    """Return what ``apply`` got, by the arguments of one part of the Function, without a class."""
    if context is not None:
        given = given[1:]
    if part == "setup_context":
        return tuple(given[0]) if given and isinstance(given[0], tuple) else ()
    if part == "jvp":
        return ()
    if context is not None:
        return given[: len(context.needs_input_grad)]  # without defaults
    return given


def _function_classes() -> Iterator[Any]:
    """Return every class of custom Functions that is alive."""
    waiting: list[Any] = [torch.autograd.Function]
    while waiting:
        found = type.__subclasses__(waiting.pop())
        waiting += found
        yield from found


def _member(kind: Any, name: str) -> Any:
    """Return what a class has under a name, without running code of the user's."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)


def _has_setup(kind: Any) -> bool:
    return _member(kind, "setup_context") is not _member(torch.autograd.Function, "setup_context")


def _parts(kind: Any) -> Iterator[tuple[str, FunctionType]]:
    """Return (name of the part, Python function) of what ``apply`` calls, decorators and what they
    decorate included."""
    for part in _PARTS:
        function = _member(kind, part)
        for _ in range(_MOST_LAYERS):
            if isinstance(function, (staticmethod, classmethod)):
                function = function.__func__
            elif isinstance(function, functools.partial):
                function = function.func
            elif isinstance(function, FunctionType):
                yield part, function
                function = vars(function).get("__wrapped__")
            else:
                break


def _runs(code: CodeType, values: dict[str, Any], function: FunctionType) -> bool:
    """Tell whether it is this very function that runs, not another one made of the same code (by a
    decorator, say)."""
    if code is not function.__code__:
        return False
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        try:
            content = cell.cell_contents
        except ValueError:
            content = _ABSENT  # not filled yet
        if values.get(name, _ABSENT) is not content:
            return False
    return True


def _values(frame: FrameType) -> dict[str, Any]:
    """Return the local variables of a function's frame; none of them lives longer for it."""
    own = frame.f_locals
    values = dict(own)
    # Before Python 3.13 the frame keeps this dict, and what is in it, until it returns. If nobody
    # but the frame, this function and the call below has it (``locals()`` would be the same one),
    # it is emptied.
    if sys.version_info < (3, 13) and sys.getrefcount(own) == 3:
        own.clear()
    return values


def _positional(code: CodeType, values: dict[str, Any]) -> tuple[Any, ...]:
    """Return the arguments that a function was called with by position, as far as its variables
    still have them."""
    named = tuple(values.get(name) for name in code.co_varnames[: code.co_argcount])
    if not code.co_flags & CO_VARARGS:
        return named
    rest = values.get(code.co_varnames[code.co_argcount + code.co_kwonlyargcount])
    return named + rest if isinstance(rest, tuple) else named


# ---- optimizers ----------------------------------------------------------------------------------


class Obstacle(Enum):
    """Why a step of an optimizer cannot be tried on a copy without running code of the user's."""

    OWN_STEP = auto()  # the class has a step of its own
    REPLACED_STEP = auto()  # this one was given another step
    HOOKS = auto()  # of this optimizer, or of all
    CLOSURE = auto()  # the step computes new gradients
    DIFFERENTIABLE = auto()  # the step is part of a graph
    DISPATCH_MODE = auto()  # a mode is active that would see the trial


def step_obstacle(optimizer: Any) -> Obstacle | None:
    """Return why a step of this optimizer cannot be tried on a copy; None if it can be."""
    kind, replaced = type(optimizer), vars(optimizer).get("step")
    methods = [getattr(kind, "step", None), getattr(kind, "_init_group", None), replaced]
    if any(m is not None and not _is_of_torch(m) for m in methods):
        return Obstacle.OWN_STEP
    if replaced is not None and not getattr(
        replaced, "_wrapped_by_lr_sched", hasattr(replaced, "_with_counter")
    ):
        return Obstacle.REPLACED_STEP
    if _has_step_hooks(optimizer):
        return Obstacle.HOOKS
    if isinstance(optimizer, torch.optim.LBFGS):
        return Obstacle.CLOSURE
    options = [optimizer.defaults, *optimizer.param_groups]
    if any(o.get("differentiable") for o in options):
        return Obstacle.DIFFERENTIABLE
    return Obstacle.DISPATCH_MODE if _C._len_torch_dispatch_stack() else None


def _is_of_torch(method: Any) -> bool:
    """Say whether a method is one of torch's own optimizers'."""
    return str(getattr(method, "__module__", "")).startswith("torch.optim.")


def _has_step_hooks(optimizer: Any) -> bool:
    """Say whether a step of this optimizer runs hooks, its own or those of every optimizer."""
    # torch.optim hides the submodule
    home = sys.modules[torch.optim.Optimizer.__module__]
    of_all = ("_global_optimizer_pre_hooks", "_global_optimizer_post_hooks")
    own = ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")
    return any(getattr(home, h, None) for h in of_all) or any(
        getattr(optimizer, h, None) for h in own
    )


def stepping(frame: FrameType, name: str) -> Any:
    """Return the optimizer that begins a step with this call of a torch function; None for other
    calls.

    Args:
        frame: that called the function.
        name: of what torch's profiler is told there.
    """
    outer = frame.f_back if name.startswith("Optimizer.step#") else None
    while outer is not None and outer.f_code.co_filename.startswith(TORCH):
        if outer.f_code.co_filename.startswith(_OPTIMIZERS):
            found = outer.f_locals.get("self")  # torch's own frame
            return found if isinstance(found, torch.optim.Optimizer) else None
        outer = outer.f_back
    return None


# on this thread
profiler_enabled: Callable[[], bool] = getattr(torch.autograd, "_profiler_enabled", bool)


# ---- memory that others than torch may write -----------------------------------------------------


def is_foreign(tensor: torch.Tensor) -> bool:
    """Tell whether the memory of this tensor is not torch's own, so that others may write it
    without a version. numpy's, say."""
    try:
        return not tensor.untyped_storage().resizable()
    except Exception:
        return False


# ---- the function modes of this thread -----------------------------------------------------------

_mode_at: Callable[[int], Any] | None = getattr(_C, "_get_function_stack_at", None)
_pop_mode: Callable[[], Any] | None = getattr(_C, "_pop_torch_function_stack", None)
_push_mode: Callable[[Any], None] | None = getattr(_C, "_push_on_torch_function_stack", None)


def take_off_modes(unwanted: Callable[[Any], bool]) -> list[Any] | None:
    """Take function modes off this thread's stack wherever they stand; the others stay as they are.

    ``TorchFunctionMode.__exit__`` takes off whatever stands on top. While torch runs a mode's
    handler, that mode and those above it are not on the stack.

    Args:
        unwanted: says of each mode whether it goes.

    Returns:
        The modes that went, or None where torch does not let the stack be read.
    """
    if _mode_at is None or _pop_mode is None or _push_mode is None or outer_modes is int:
        return None
    modes = [_mode_at(place) for place in range(outer_modes())]
    places = [place for place, mode in enumerate(modes) if unwanted(mode)]
    if not places:
        return []
    above = modes[places[0] :]
    for _ in above:
        _pop_mode()
    for mode in above:
        if not unwanted(mode):
            _push_mode(mode)
    return [modes[place] for place in places]
