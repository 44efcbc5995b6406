"""What each torch function is to a recording: an operation, a way out of torch, a factory, or of no
interest.

A table, looked up once a call. Only what changes the answer to "is this a cut?" is listed;
everything else is an ordinary operation, whose connection is proven by walking its result (see
``cuts.py``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import Enum, auto
from functools import cache
from types import FunctionType
from typing import Any

import torch

from gradviz.graph.effects import FACTORIES, SHAPE_OF_OTHER
from gradviz.watch import torch_private


class Role(Enum):
    """How a recording treats a torch function."""

    OPERATION = auto()
    FUSED = auto()  # a fused optimizer step: it writes and counts no version
    STATISTICS = auto()  # batch_norm: it writes running statistics and counts no version
    IGNORED = auto()  # reads metadata, prints: never a cut and not worth an event
    FACTORY = auto()  # reads only the shape of its first tensor (zeros_like, new_empty)
    # reads only the shape or dtype of every tensor but the first (expand_as)
    SHAPE_OF_OTHER = auto()
    DETACH = auto()
    DETACH_IN_PLACE = auto()
    DATA_GET = auto()
    DATA_SET = auto()
    GRAD_SET = auto()
    FLAG = auto()
    RETAIN = auto()  # retain_grad
    HOOK = auto()  # register_hook: seen, and what it does later is seen by what arrives
    # the value leaves as a number, list or array, or is copied into a fresh tensor
    COPIED_OUT = auto()
    COMPARED_OUT = auto()  # the answer is a Python bool: equal, allclose, in
    BACKWARD = auto()
    GRAD = auto()


_IGNORED = """
    __repr__ __format__ __len__ __hash__ __dir__ __reduce_ex__ _reduce_ex_internal __setstate__
    __cuda_array_interface__ __dlpack_device__ size dim ndimension stride numel nelement
    element_size itemsize nbytes storage_offset storage untyped_storage _typed_storage storage_type
    data_ptr is_contiguous is_floating_point is_complex is_signed is_inference is_conj is_neg
    is_set_to is_shared is_pinned is_coalesced is_distributed is_same_size get_device has_names
    rename_ share_memory_ result_type can_cast dense_dim sparse_dim _dimI _dimV dim_order _is_view
    _is_zerotensor _nnz q_scale q_zero_point qscheme _set_grad_enabled _record_function_enter_new
    _record_function_exit manual_seed typename is_tensor is_storage
""".split()

_COPIED_OUT = """
    item tolist numpy __array__ __array_wrap__ __bool__ __float__ __int__ __index__ __complex__
    is_nonzero tensor new_tensor scalar_tensor asarray as_tensor __deepcopy__ __dlpack__ full
""".split()

# What they hand out lies in the tensor's own memory, and may be written without torch.
SHARING = frozenset(
    "numpy __array__ __dlpack__ untyped_storage storage _typed_storage data_ptr".split()
)

# Methods that write numbers into their tensor, and leave its shape, memory and flags as they are.
CALCULATES = frozenset(
    """add_ sub_ mul_ div_ addcmul_ addcdiv_ lerp_ neg_ sqrt_ zero_ fill_ copy_ clamp_""".split()
)

# Attributes that tell whoever reads them what autograd does with the tensor.
LOOKS = frozenset({"grad", "requires_grad", "grad_fn"})

_STATISTICS = """batch_norm instance_norm native_batch_norm _native_batch_norm_legit
    batch_norm_update_stats cudnn_batch_norm miopen_batch_norm""".split()

_COMPARED_OUT = "equal allclose __contains__".split()

# Functions whose very job is a change of dtype: an integer result is the caller's doing, not the
# function's nature.
CASTS = frozenset(
    """to type type_as long int short char byte bool _to_copy copy_ __setitem__ index_put_
    index_put index_copy_ masked_fill_ fill_ masked_scatter_ scatter_""".split()
)

_IN_PLACE_OPERATORS = frozenset(
    """__setitem__ __iadd__ __isub__ __imul__ __idiv__ __itruediv__ __ifloordiv__ __imod__
    __ipow__ __iand__ __ior__ __ixor__ __ilshift__ __irshift__ __imatmul__""".split()
)


@cache
def writes_itself(name: str) -> bool:
    """Tell whether it is a method that writes into its tensor, by its name.

    >>> writes_itself("add_"), writes_itself("__iadd__"), writes_itself("__getitem__")
    (True, True, False)
    """
    return name in _IN_PLACE_OPERATORS if name.endswith("__") else name.endswith("_")


# attributes that make a tensor
_ATTRIBUTE_VIEWS = frozenset({"T", "mT", "H", "mH", "real", "imag"})

_BY_NAME: dict[str, Role] = {
    **dict.fromkeys(_IGNORED, Role.IGNORED),
    **dict.fromkeys(FACTORIES, Role.FACTORY),
    **dict.fromkeys(_STATISTICS, Role.STATISTICS),
    **dict.fromkeys(SHAPE_OF_OTHER, Role.SHAPE_OF_OTHER),
    **dict.fromkeys(_COPIED_OUT, Role.COPIED_OUT),
    **dict.fromkeys(_COMPARED_OUT, Role.COMPARED_OUT),
    "detach": Role.DETACH,
    "detach_": Role.DETACH_IN_PLACE,
    "detach_copy": Role.DETACH,
    "requires_grad_": Role.FLAG,
    "retain_grad": Role.RETAIN,
    "register_hook": Role.HOOK,
    "register_post_accumulate_grad_hook": Role.HOOK,
}


def describe(func: Callable[..., Any]) -> tuple[str, Role]:
    """Return the name that a learner would write for ``func``, and its role.

    >>> describe(torch.Tensor.data.__get__), describe(torch.Tensor.mul)[0]
    (('data', <Role.DATA_GET: 9>), 'mul')
    """
    name = getattr(func, "__name__", None) or type(func).__name__
    if name in ("__get__", "__set__", "__delete__"):
        attribute = torch_private.attribute_of(func)
        return attribute, _attribute_role(attribute, name)
    if func in (torch.Tensor.backward, torch.autograd.backward):
        return "backward", Role.BACKWARD
    if func is torch.autograd.grad:
        return "autograd.grad", Role.GRAD
    name = name.split(".")[0]
    return name, _BY_NAME.get(name, Role.FUSED if name.startswith("_fused_") else Role.OPERATION)


# Functions of torch.nn.functional that write into their input if told so, with the place of
# ``inplace`` among theirs.
_MAY_WRITE = {
    name: list(signature).index("inplace")
    for name, function in vars(torch.nn.functional).items()
    if isinstance(function, FunctionType)
    and "inplace" in (signature := inspect.signature(function).parameters)
}


def told_to_write(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Return the arguments that a call is told to write in place, by its name and ``out=``:
    tensors, and lists of them.

    For tensors that count no versions. What a function writes without being told (running
    statistics) is not there.

    >>> told_to_write("add_", (1, 2), {}), told_to_write("add", (1, 2), {"out": 3})
    ([1], [3])
    >>> told_to_write("add", (1, 2), {})
    []
    """
    found = [] if kwargs.get("out") is None else [kwargs["out"]]
    in_place = name.endswith("_") and not name.endswith("__")
    at = _MAY_WRITE.get(name)
    told = kwargs.get("inplace", at is not None and len(args) > at and args[at])
    attribute_set = name in ("real", "imag") and len(args) > 1
    if args and (in_place or attribute_set or told is True or name in _IN_PLACE_OPERATORS):
        found.append(args[0])
    elif told is True and "input" in kwargs:
        found.append(kwargs["input"])
    return found


def _attribute_role(attribute: str, access: str) -> Role:
    if access == "__get__":
        if attribute == "data":
            return Role.DATA_GET
        return Role.OPERATION if attribute in _ATTRIBUTE_VIEWS else Role.IGNORED
    written = {"data": Role.DATA_SET, "requires_grad": Role.FLAG, "grad": Role.GRAD_SET}
    if access == "__delete__":
        return written.get(attribute, Role.IGNORED)
    return written.get(attribute, Role.OPERATION if attribute in ("real", "imag") else Role.IGNORED)
