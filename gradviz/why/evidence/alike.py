"""Results that are computed alike: by the same calls, of the same tensors. Knows no torch."""

from __future__ import annotations

import re

from gradviz.graph.facts import Facts

_RANDOM = re.compile("drop|rand|normal(?!i)|uniform|bernoulli|multinomial|exponential|poisson")
# what computes with tensors alone: of others a plain argument may differ, as an index does
_OF_TENSORS = frozenset(
    """linear conv1d conv2d conv3d relu tanh sigmoid gelu silu elu leaky_relu normalize flatten
    layer_norm batch_norm embedding softplus""".split()
)
_DEPTH = 200  # calls that are gone through


class Ways:
    """How tensors were computed, each way by a number: two that are alike have the same.

    Args:
        facts: of the recording.
        surely: whether a result with a name is one like any other, and a way begins at all calls
            that may have taken other plain arguments; else a way begins at results with a name.
        any_call: whether a way goes on before calls that may have taken other plain arguments: who
            asks knows that these are the same.
    """

    def __init__(self, facts: Facts, surely: bool = False, any_call: bool = False) -> None:
        self.facts, self.surely, self.any_call = facts, surely, any_call
        self._number = dict[object, int]()
        self._of = dict[int, int]()

    def of(self, tensor_id: int, depth: int = _DEPTH) -> int:
        """Return the number of the way in which a tensor was computed. What is drawn at random is
        computed as nothing else."""
        if tensor_id not in self._of:
            made = self.facts.maker.get(tensor_id)
            key: object = tensor_id
            if made is not None and depth and not self._begins(tensor_id, made.function):
                key = made.function, made.module, *(self.of(i, depth - 1) for i in made.inputs)
            self._of[tensor_id] = self._number.setdefault(key, len(self._number))
        return self._of[tensor_id]

    def _begins(self, tensor_id: int, function: str) -> bool:
        """Say whether a way is not followed beyond a tensor."""
        tensor = self.facts.graph.tensor[tensor_id]
        is_followed = self.any_call and not tensor.requires_grad  # what indices are made of
        is_leaf = tensor.is_leaf is not False and not is_followed
        if is_leaf or _RANDOM.search(function) is not None:
            return True
        if not self.surely:
            return bool(tensor.code_name)
        return function not in _OF_TENSORS and not self.any_call
