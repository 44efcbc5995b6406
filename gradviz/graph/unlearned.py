"""What a module uses as it would use a parameter, and what is none: a buffer, or a plain tensor.

No gradient comes to it and no optimizer has it, which nothing tells where it was meant to be
learnt. Of a tensor that is an attribute of a module (``self.scale``), float, older than the
recording and not written in it, two uses are those of a parameter: the second factor of a product
of matrices or of a convolution, and one number for each feature or channel that is added to or
multiplied with what takes part in gradients. Tables that are added for each place (positions,
masks) are none.
"""

from __future__ import annotations

from functools import cached_property

from gradviz.graph.operations import Operation, Operations
from gradviz.graph.records import Call, Tensor

_PRODUCTS = frozenset(
    """matmul mm bmm mv linear addmm baddbmm bilinear __matmul__ conv1d conv2d conv3d
    conv_transpose1d conv_transpose2d conv_transpose3d""".split()
)
_EACH = frozenset("add mul __add__ __mul__ add_ mul_ __iadd__ __imul__ addcmul".split())
_USES = _PRODUCTS | _EACH
# What gives a part or another shape of it.
_PARTS = frozenset(
    "__getitem__ view reshape unsqueeze squeeze expand expand_as t to select".split()
)
_FLOATS = ("float", "bfloat", "complex")
_SELF = "self."


class Unlearned:
    """What the modules of a recording use like parameters, and what is none.

    Args:
        operations: of the recording.
    """

    def __init__(self, operations: Operations) -> None:
        self.operations = operations
        self.facts = operations.facts

    @cached_property
    def by_operation(self) -> dict[int, str]:
        """What each operation uses so, by its place: the path of the module and the attribute."""
        found = {}
        for op in self.operations.all:
            name = self._used_by(op)
            if name:
                found[op.at] = name
        return found

    def _used_by(self, op: Operation) -> str:
        call, tensor = op.call, self.operations.graph.tensor
        is_own = call.module_call is not None and not call.module  # no call of a layer of torch's
        if not is_own or call.function not in _USES:
            return ""
        tracked = [i for i in call.inputs if self.operations.is_tracked(i)]
        begin = 1 if call.function in _PRODUCTS else 0
        for i in call.inputs[begin:] if tracked else ():
            held = None if i in tracked else self._attribute(i)
            if held is not None and _is_like_a_weight(call.function, tensor[i], tensor[tracked[0]]):
                return self._name(call, held)
        return ""

    def _name(self, call: Call, held: Tensor) -> str:
        path = self.facts.module_call[call.module_call or 0].path
        attribute = (held.name or "").removeprefix(_SELF)
        return f"{path}.{attribute}" if path else attribute

    def _attribute(self, tensor_id: int) -> Tensor | None:
        """Find the attribute of a module that a value is, or is a part of; None where it was
        computed, is written, or is a parameter."""
        tensor = self.operations.graph.tensor[tensor_id]
        maker = self.facts.maker.get(tensor_id)
        while maker is not None and maker.function in _PARTS and maker.inputs:
            tensor = self.operations.graph.tensor[maker.inputs[0]]
            maker = self.facts.maker.get(tensor.id)
        name = tensor.name or ""
        if maker is not None or not name.startswith(_SELF) or tensor.requires_grad:
            return None
        states = self.facts.states.get(tensor.object_id, ())
        if tensor.object_id in self.operations.weight or len({s.version for s in states}) > 1:
            return None
        return tensor if (tensor.dtype or "").startswith(_FLOATS) else None


def _is_like_a_weight(function: str, tensor: Tensor, other: Tensor) -> bool:
    """Say whether a tensor has the shape of a weight beside another one."""
    if tensor.shape is None or other.shape is None:
        return False
    if function in _PRODUCTS:
        return len(tensor.shape) > 1
    sizes = [(at, n) for at, n in enumerate(reversed(tensor.shape)) if n != 1]
    if len(sizes) != 1 or len(other.shape) < 2 or len(tensor.shape) > len(other.shape):
        return False
    at, n = sizes[0]
    is_feature, is_channel = at == 0, at == len(other.shape) - 2
    return (is_feature or is_channel) and other.shape[-1 - at] == n
