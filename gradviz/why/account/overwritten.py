"""Losses that a line computed again and again under one name, before anything read them: only the
last of each row is left. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from itertools import pairwise

from gradviz.graph.facts import Facts, grouped
from gradviz.graph.records import Tensor
from gradviz.graph.training import line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import LINEAR
from gradviz.why.evidence.summands import SUMS, single
from gradviz.words.words import Words


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
            "n": len(used) + len(lost),
            "used": len(used),
        }
        objects = frozenset(t.object_id for t in (*used, *lost))
        yield Remark(Weight.IN_VAIN, "overwritten_losses", fields, (maker,), objects)


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
