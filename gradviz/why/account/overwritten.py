"""Losses that a line computed again and again under one name, before anything read them: only the
last of each row is left. Knows no torch."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise

from gradviz.graph.effects import ELEMENTWISE_LOSSES
from gradviz.graph.facts import Facts, grouped
from gradviz.graph.records import Call, Tensor
from gradviz.graph.training import line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import LINEAR
from gradviz.why.evidence.summands import SUMS, single
from gradviz.words.words import Words

_LOSSES = ELEMENTWISE_LOSSES | {
    "cross_entropy",
    "nll_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
}


def overwritten_in_a_loop(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of each line whose numbers are summands of losses, where its name was given to the next
    one before anything read the one before, with no backward in between.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    parts = _summands(facts)
    for states in _rows(facts).values():
        used = [t for t in states if t.id in parts]
        lost = [t for t, after in pairwise(states) if _is_lost(facts, t, after)]
        if not used or not lost or len(lost) < len(used):
            continue
        maker = facts.maker[used[-1].id]
        fields = {
            "name": _name(used[-1]),
            "place": words.where(maker),
            "n": words.times(len(used) + len(lost)),
            "used": words.times(len(used)),
        }
        objects = frozenset(t.object_id for t in (*used, *lost))
        yield Remark(Weight.IN_VAIN, "overwritten_losses", fields, (maker,), objects)


def kept_nowhere(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of each line whose losses have no name, and of which only some of each iteration go into
    the loss: a list that is made anew in the loop keeps the last alone.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    by_line = grouped(
        (line_of(call), call) for call in facts.ordinary_calls if _is_loss(facts, call)
    )
    for calls in by_line.values():
        used = [c for c in calls if c.outputs[0] in facts.in_losses]
        lost = [c for c in calls if _is_read_nowhere(facts, c.outputs[0])]
        if not used or len(lost) < len(used) or len(lost) + len(used) < len(calls):
            continue
        if not _in_the_same_iterations(facts, used, lost):
            continue
        fields = {
            "code": words.at(used[-1]),
            "n": words.times(len(calls)),
            "used": words.times(len(used)),
        }
        yield Remark(Weight.IN_VAIN, "kept_nowhere", fields, (used[-1],))


def _is_loss(facts: Facts, call: Call) -> bool:
    """Say whether a call gives one tracked number without a name."""
    tensor = facts.graph.tensor[call.outputs[0]] if len(call.outputs) == 1 else None
    if tensor is None or call.function not in _LOSSES or call.source is None:
        return False
    return bool(tensor.requires_grad) and single(tensor) and not _name(tensor)


def _is_read_nowhere(facts: Facts, tensor_id: int) -> bool:
    """Say whether nothing read a number, and no backward ran through it."""
    tensor = facts.graph.tensor[tensor_id]
    edge = tensor.gradient_edge
    is_met = edge is None or edge.node_id in facts.behind_losses
    return not is_met and not facts.readers.get(tensor.object_id)


def _in_the_same_iterations(facts: Facts, used: Sequence[Call], lost: Sequence[Call]) -> bool:
    """Say whether some are lost before each backward that others go into, and none elsewhere: a
    validation computes losses by themselves."""
    backwards = sorted(facts.backward_calls)
    kept, thrown = (Counter(bisect_right(backwards, c.id) for c in row) for row in (used, lost))
    return kept.keys() == thrown.keys()


def _rows(facts: Facts) -> dict[object, list[Tensor]]:
    """Return the tracked numbers with a name, by the line that made them and that name."""
    named = (t for t in facts.graph.tensors if _name(t) and t.id in facts.maker)
    numbers = (t for t in named if t.requires_grad and single(t))
    return grouped(((line_of(facts.maker[t.id]), _name(t)), t) for t in numbers)


def _name(tensor: Tensor) -> str:
    """Return the name that a tensor has, or had until another one got it; "" where it never had
    one."""
    return tensor.former.name if tensor.former is not None else tensor.code_name


def _is_lost(facts: Facts, one: Tensor, after: Tensor) -> bool:
    """Say whether nothing read a number, no backward ran through it, and none ran before its line
    made the next one."""
    begun, ended = facts.maker[one.id].id, facts.maker[after.id].id
    if any(begun < call_id < ended for call_id in facts.backward_calls):
        return False
    edge = one.gradient_edge
    is_met = edge is None or edge.node_id in facts.behind_losses
    return not is_met and not facts.readers.get(one.object_id)


def _summands(facts: Facts) -> Set[int]:
    """Return the numbers of which the roots of backwards are sums or multiples, and the roots."""
    todo: Sequence[int] = [*facts.losses]
    found = set[int]()
    while todo:
        found.update(todo)
        makers = [facts.maker[i] for i in todo if i in facts.maker]
        summing = [m for m in makers if m.function in SUMS | LINEAR]
        tensor = facts.graph.tensor
        todo = [i for m in summing for i in m.inputs if i not in found and single(tensor[i])]
    return found
