"""Every private or version-dependent attribute of torch that gradviz reads, feature-detected.

Nothing else in the package touches ``torch._C`` or a leading underscore of torch's. Written for torch >= 2.4. Every
function here answers None (or "unknown") where torch does not tell, and none of them changes anything.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import CodeType
from typing import Any

import torch
from torch.autograd.graph import Node

from gradviz.graph import SavedState

NO_NUMBER = -1
_UINT64_MAX = 2**64 - 1
_C: Any = torch._C
_is_copy_on_write = getattr(_C, "_is_cow_tensor", None)


raw_number = operator.methodcaller("_sequence_nr")  # RAW_NO_NUMBER for an AccumulateGrad
RAW_NO_NUMBER = _UINT64_MAX


def sequence_number(node: Node) -> int:
    """The node's sequence number as a plain int for comparisons: ``NO_NUMBER`` for an AccumulateGrad."""
    number: int = node._sequence_nr()
    return NO_NUMBER if number == _UINT64_MAX else number


def sequence_nr(node: Node) -> int | None:
    """The node's sequence number. Per thread, rising; None for an AccumulateGrad, which has none."""
    number = sequence_number(node)
    return None if number == NO_NUMBER else number


def is_accumulate_grad(node: Node) -> bool:
    """Is this the node that fills a leaf's ``.grad``?"""
    return type(node).__name__ == "AccumulateGrad"


def leaf_of(node: Node) -> torch.Tensor | None:
    """The leaf whose ``.grad`` an AccumulateGrad fills; None for other nodes."""
    try:
        leaf = node.variable if is_accumulate_grad(node) else None  # type: ignore[attr-defined]
    except Exception:
        return None
    return leaf if isinstance(leaf, torch.Tensor) else None


def has_hooks(tensor: torch.Tensor) -> bool:
    """Did the user put hooks on the gradient of this tensor?"""
    return bool(getattr(tensor, "_backward_hooks", None))


def is_custom(node: Any) -> bool:
    """Does the node belong to a ``torch.autograd.Function``, in Python or in C++?"""
    return isinstance(node, torch.autograd.function.BackwardCFunction) or "::CppNode<" in node.name()


def node_name(node: Node) -> str:
    """``"MulBackward0"``: the node's class, without namespace."""
    name = type(node).__name__
    return name if name != "CppFunction" else node.name().removeprefix("torch::autograd::")


# ---- saved tensors -------------------------------------------------------------------------------------------------

_RAW = "_raw_saved_"
_AVAILABLE = SavedState.AVAILABLE
_raw_names: dict[type, tuple[tuple[str, str], ...]] = {}
_EXPECTED = re.compile(r"is at version \d+; expected version (\d+)")


def raw_names(kind: type) -> tuple[tuple[str, str], ...]:
    """(attribute to read, its short name) of the saved tensors of a node class, e.g. ("_raw_saved_self", "self")."""
    names = _raw_names.get(kind)
    if names is None:
        names = tuple((a, a.removeprefix(_RAW)) for a in dir(kind) if a.startswith(_RAW))
        if "_FunctionBase" in {base.__name__ for base in kind.__mro__}:
            names = tuple((a, "saved_" + short) for a, short in names)
        else:  # classes of custom Functions are made by the user and may be many: only torch's own are remembered
            _raw_names[kind] = names
    return names


def saved_tensors(node: Node) -> list[tuple[str, Any, SavedState, int | None]]:
    """What a node has saved, read without running an unpack hook, a checkpoint's forward or user code.

    Returns:
        (short name, the saved object or None, state, saved version where torch tells it) for each saved tensor. A
        slot that the forward left empty is not listed. The object is a tensor, or whatever a pack hook made of it;
        the state is then UNKNOWN, since only unpacking would tell.
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


def _saved_state(raw: Any, node: Node, attribute: str | None, held: bool) -> tuple[Any, SavedState, int | None] | None:
    """(object, state, saved version) of one raw saved tensor; None when the forward saved nothing there."""
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
            return None if raw.unpack() is None else (None, SavedState.UNKNOWN, None)
        except RuntimeError:
            return None, SavedState.FREED, None
    current = version(data)
    if attribute is None:
        return data, SavedState.UNKNOWN, None
    try:  # written at some time, perhaps before it was saved: let torch compare (no hook is there to run)
        getattr(node, attribute.replace("_raw", "", 1))
    except Exception as error:
        expected = _EXPECTED.search(str(error))
        return (data, SavedState.STALE, int(expected[1])) if expected else (data, SavedState.UNKNOWN, None)
    return data, SavedState.AVAILABLE, current


# ---- tensors -------------------------------------------------------------------------------------------------------


def version(tensor: torch.Tensor) -> int | None:
    """How often the tensor's memory was written in place. None where it is not tracked (inference tensors)."""
    try:
        return int(tensor._version)
    except Exception:
        return None


def moved(tensors: Sequence[Any], states: Sequence[Any]) -> bool:
    """Has the version of any tensor changed from that of its state, or has one none? Quick for the usual answer, no."""
    try:
        for tensor, state in zip(tensors, states):  # noqa: B905  quicker; they are equally long
            if state is not None and tensor._version != state.version:
                return True
    except RuntimeError:  # an inference tensor: it may have been written
        return True
    return False


def facts(t: torch.Tensor) -> tuple[Any, ...]:
    """What a recording keeps of an ordinary tensor, in one go. Raises for one that is not."""
    return (t.shape, t.stride(), t.storage_offset(), t.dtype, t.device, t.requires_grad, t._version,
            t._base, t.retains_grad, t.output_nr, t.grad_fn, t.is_cpu)  # fmt: skip


def base_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """The tensor that this one is a view of, as autograd knows it."""
    try:
        return tensor._base
    except Exception:
        return None


def storage_key(tensor: torch.Tensor) -> int | None:
    """A number that two living tensors share if and only if they share a storage object."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except Exception:
        return None


def storage_range(tensor: torch.Tensor) -> tuple[int, int] | None:
    """(first byte, number of bytes) of the tensor's storage; None where there is no real memory (meta, fake, empty).

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


def is_functorch_wrapper(tensor: torch.Tensor) -> bool:
    """Is this a tensor as seen inside ``torch.func`` transforms?"""
    try:
        return bool(_C._functorch.is_functorch_wrapped_tensor(tensor))
    except Exception:
        return False


def has_plain_data(tensor: torch.Tensor) -> bool:
    """Can the elements be read without running code of a subclass or of an active dispatch mode?"""
    try:
        if type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
            return False
        if is_functorch_wrapper(tensor) or tensor.layout is not torch.strided or tensor.is_nested:
            return False
        lazy = tensor.is_conj() or tensor.is_neg()
        return not (lazy and _C._len_torch_dispatch_stack())
    except Exception:
        return False


def unobserved() -> AbstractContextManager[None]:
    """While it is entered, reading an attribute of a tensor runs no ``__torch_function__`` and no function mode."""
    return _C.DisableTorchFunction()  # type: ignore[no-any-return]


# ---- recording -----------------------------------------------------------------------------------------------------


def next_sequence_nr() -> int:
    """The number that this thread's next node will get; 0 (every node counts as new) where torch does not tell."""
    try:
        return int(_C._autograd._get_sequence_nr())
    except AttributeError:
        return 0


# Asked around every recorded call, so these are C functions without a Python one around them.
is_compiling = torch.compiler.is_compiling
functorch_active: Callable[[], bool] = getattr(_C, "_are_functorch_transforms_active", bool)
outer_modes: Callable[[], int] = getattr(_C, "_len_torch_function_stack", int)  # modes that would see what we call now
dispatch_modes: Callable[[], int] = getattr(_C, "_len_torch_dispatch_stack", int)
raw_version = operator.attrgetter("_version")  # raises where torch does, unlike version()


def module_call_code() -> CodeType:
    """The code that runs whenever an nn.Module is called."""
    return torch.nn.Module._call_impl.__code__


def takes_gradient(leaf: torch.Tensor) -> bool:
    """Would a gradient reach this leaf? A view of a tracked tensor made under no_grad says so, and takes none."""
    try:
        torch.autograd.graph.get_gradient_edge(leaf)
    except Exception:
        return False
    return True


def output_count(node: Any) -> int:
    """How many values the forward of this node returned, those without gradient included; 0 where not known."""
    try:
        return len(node._input_metadata)
    except Exception:
        return 0


# ---- optimizers ----------------------------------------------------------------------------------------------------


def step_obstacle(optimizer: Any) -> str | None:
    """Why a step of this optimizer cannot be tried on a copy without running code of the user's; None if it can be."""
    kind, home = type(optimizer), sys.modules[torch.optim.Optimizer.__module__]  # torch.optim hides the submodule
    name, replaced = kind.__name__, vars(optimizer).get("step")
    methods = [m for m in (getattr(kind, "step", None), getattr(kind, "_init_group", None), replaced) if m is not None]
    hooks = ("_global_optimizer_pre_hooks", "_global_optimizer_post_hooks")
    own = ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")
    if any(not str(getattr(m, "__module__", "")).startswith("torch.optim.") for m in methods):
        return f"step() of this {name} is not torch's own, and it is not run to find out"
    if replaced is not None and not getattr(replaced, "_wrapped_by_lr_sched", hasattr(replaced, "_with_counter")):
        return f"step() of this {name} was replaced, and it is not run to find out"
    if any(getattr(home, h, None) for h in hooks) or any(getattr(optimizer, h, None) for h in own):
        return "step() has hooks, and they are not run to find out"
    if isinstance(optimizer, torch.optim.LBFGS):
        return "LBFGS runs a closure, which computes new gradients"
    if optimizer.defaults.get("differentiable") or any(g.get("differentiable") for g in optimizer.param_groups):
        return "differentiable=True: its step is part of a graph, and is not tried"
    if _C._len_torch_dispatch_stack():
        return "a TorchDispatchMode is active, and would see the trial"
    return None


profiler_enabled: Callable[[], bool] = getattr(torch.autograd, "_profiler_enabled", bool)  # on this thread


# ---- memory that others than torch may write -----------------------------------------------------------------------


def is_foreign(tensor: torch.Tensor) -> bool:
    """Is the memory of this tensor not torch's own, so that others may write it without a version? numpy's, say."""
    try:
        return not tensor.untyped_storage().resizable()
    except Exception:
        return False


# ---- the function modes of this thread -----------------------------------------------------------------------------

_mode_at: Callable[[int], Any] | None = getattr(_C, "_get_function_stack_at", None)
_pop_mode: Callable[[], Any] | None = getattr(_C, "_pop_torch_function_stack", None)
_push_mode: Callable[[Any], None] | None = getattr(_C, "_push_on_torch_function_stack", None)


def take_off_modes(unwanted: Callable[[Any], bool]) -> list[Any] | None:
    """Take function modes off this thread's stack wherever they stand; the others stay as they are.

    ``TorchFunctionMode.__exit__`` takes off whatever stands on top. While torch runs a mode's handler, that mode and
    those above it are not on the stack.

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
