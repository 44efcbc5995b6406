"""Values that were written into parameters, and not by an optimizer's step: ``load_state_dict()``,
a moving average, ``copy_()``. Knows no torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call, Tensor
from gradviz.graph.training import STEPS

# how far back it is looked for what a value was made from
_CALLS_BACK = 16
# what gives the values of a tensor on, or mixes them with those of others
_MIXING = frozenset(
    """add add_ clone contiguous cpu cuda data detach div div_ double float half lerp lerp_ mul mul_
    neg __rsub__ sub sub_ to type""".split()
)
# what writes no values of others
_NO_VALUES = ("requires_grad", "requires_grad_", "grad", "zero_", "retain_grad", "detach_")


class Copied(NamedTuple):
    """Values that one call wrote into one parameter.

    Attributes:
        into: its object id.
        call: what wrote them.
        sources: the object ids of the parameters that they were made from; its own may be one.
        is_whole: whether the call copied a value as it was.
    """

    into: int
    call: Call
    sources: frozenset[int]
    is_whole: bool


def copied(facts: Facts) -> list[Copied]:
    """Return what was written into parameters from parameters, in order."""
    return list(_copied(facts))


def _copied(facts: Facts) -> Iterator[Copied]:
    """Yield what was written into parameters from parameters."""
    graph, memory = facts.graph, _Memory(facts)
    for event in facts.writes:
        call = graph.call[event.call_id]
        is_step = call.bookkeeping and call.function.startswith(STEPS)
        if event.alias or is_step or call.function in _NO_VALUES:
            continue
        leaf = memory.leaf_at(event.after_id)
        if leaf is None or call.id in facts.backward_calls:
            continue
        given = [i for i in call.inputs if i != event.before_id]
        # ``w.data = value`` takes the memory of the value: that is no leaf's yet
        taken = graph.tensor[event.after_id].storage_id if call.function == "data" else None
        leaf_at = partial(memory.leaf_at, but=taken)
        sources = _sources(facts, given, leaf_at)
        if sources:
            is_whole = call.function == "copy_" and list(map(leaf_at, given)) == [*sources]
            yield Copied(leaf, call, sources, is_whole)


class _Memory:
    """Whose memory a state is in: of the parameters and other leaves that require grad."""

    def __init__(self, facts: Facts) -> None:
        self.tensor = facts.graph.tensor
        self.leaf_in = _leaves_in_memory(facts)
        self.leaves = set(self.leaf_in.values())

    def leaf_at(self, tensor_id: int, but: int | None = None) -> int | None:
        """Return the object id of the leaf that a state is in the memory of, if that is not a given
        one; None where there is none."""
        tensor = self.tensor[tensor_id]
        if tensor.object_id in self.leaves:  # ``w.data = …`` gives it other memory each time
            return tensor.object_id
        if tensor.storage_id is None or tensor.storage_id == but:
            return None
        return self.leaf_in.get(tensor.storage_id)


def _leaves_in_memory(facts: Facts) -> dict[int, int]:
    """Return the parameters and other leaves that require grad, by storage id: object ids."""
    found = dict[int, int]()
    for tensor in facts.latest_state.values():
        if tensor.storage_id is not None and _is_trained(facts, tensor):
            found.setdefault(tensor.storage_id, tensor.object_id)
    return found


def _is_trained(facts: Facts, tensor: Tensor) -> bool:
    """Say whether a tensor is a parameter, or a leaf that requires grad."""
    asks = tensor.is_leaf is True and tensor.requires_grad is True
    return asks or tensor.object_id in facts.of_modules


def _sources(
    facts: Facts, given: list[int], leaf_at: Callable[[int], int | None]
) -> frozenset[int]:
    """Return the leaves whose values were mixed to some states, as far as that is near; none where
    anything else was computed on the way."""
    todo, seen, found = list(given), set[int](), set[int]()
    while todo and len(seen) < _CALLS_BACK:
        tensor_id = todo.pop()
        if tensor_id in seen:
            continue
        seen.add(tensor_id)
        leaf = leaf_at(tensor_id)
        if leaf is not None:
            found.add(leaf)
            continue
        maker = facts.maker.get(tensor_id)
        if maker is not None and maker.inputs and maker.function not in _MIXING:
            return frozenset()  # computed with them, and not their values
        todo += maker.inputs if maker is not None else ()
    return frozenset(found)
