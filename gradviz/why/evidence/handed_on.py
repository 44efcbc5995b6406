"""What only hands numbers on, or scales them: what stands before it. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterable, Set

from gradviz.graph.facts import Facts

# the same numbers, in another shape or dtype, or some of them
KEEPING = frozenset(
    """__getitem__ chunk clone contiguous double dropout expand flatten float half movedim permute
    reshape select split squeeze t to transpose type unbind unflatten unsqueeze view
    view_as""".split()
)

# what makes a constant of a value, and is written in order to
_LETTING_GO = {"sign", "sgn", "detach", "detach_", "data"}

# several single numbers side by side
TOGETHER = frozenset({"stack", "cat"})
# what gives a sum on, scaled or in another shape
LINEAR = TOGETHER | frozenset(
    """div div_ double float mean mul mul_ neg reshape squeeze sum to true_divide unsqueeze
    view""".split()
)


ONES = frozenset({"ones", "ones_like"})


def plain_name(function: str) -> str:
    """Return the name of a function without what marks it as one in place.

    >>> plain_name("relu_"), plain_name("__getitem__"), plain_name("softmax")
    ('relu', '__getitem__', 'softmax')
    """
    return function if function.endswith("__") else function.removesuffix("_")


def computed(facts: Facts, tensor_id: int, through: Set[str] = KEEPING) -> int:
    """Return the state whose numbers a tensor holds, before the calls that only hand them on.

    Args:
        facts: of a recording.
        tensor_id: the tensor.
        through: names of the functions that are passed.
    """
    call = facts.maker.get(tensor_id)
    while call is not None and plain_name(call.function) in through and call.inputs:
        tensor_id = call.inputs[0]
        call = facts.maker.get(tensor_id)
    return tensor_id


def named_before(facts: Facts, tensor_id: int) -> int:
    """Return the last state with a name on the way to a tensor, where only numbers scale it; the
    tensor itself where there is none."""
    state = tensor_id
    while not facts.graph.tensor[state].name:
        maker = facts.maker.get(state)
        if maker is None or maker.function not in LINEAR:
            return tensor_id
        tracked = [i for i in maker.inputs if facts.graph.tensor[i].requires_grad]
        only = tracked or list(maker.inputs)
        if len(only) != 1:
            return tensor_id
        state = only[0]
    return state


def goes_on_as_it_is(facts: Facts, tensor_id: int, losses: Iterable[int]) -> bool:
    """Say whether a value comes to a loss on a way on which nothing lets go of it: what the code
    takes the sign of, detaches or writes through ``.data`` is to be a constant, as an attack's."""
    ends, todo, seen = {*losses}, [tensor_id], {tensor_id}
    while todo:
        one = todo.pop()
        if one in ends:
            return True
        for call in facts.calls_reading.get(one, ()):
            if call.grad_mode and call.function not in _LETTING_GO:
                wrote = (e.after_id for e in facts.writes_by_call.get(call.id, ()))
                fresh = {*call.outputs, *wrote} - seen
                seen |= fresh
                todo += fresh
    return False
