"""Gradients that are weighed together: a backward that is handed values in place of ones, and
several columns that are derived at once. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.graph.facts import Facts
from gradviz.graph.records import Tensor
from gradviz.why.account.remark import Remark, Weight
from gradviz.words.words import Words


def handed_gradient(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of each backward that is handed values from which its root was made: nobody means these
    as the gradient that comes from above.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    tensor = facts.graph.tensor
    for run in facts.graph.backwards:
        call = facts.graph.call[run.call_id]
        if run.kind != "backward" or len(call.inputs) < 2:
            continue
        root, given = call.inputs[:2]
        objects = frozenset(leaf.object_id for leaf in facts.leaves_reached(root))
        if tensor[given].object_id not in objects:
            continue
        fields = {
            "call": words.at(call),
            "given": words.name(given),
            "root": words.name(root),
        }
        yield Remark(Weight.WEIGHTY, "handed_gradient", fields, (call,), objects)


def derived_at_once(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of the columns of a gradient that are derived at once, by what they are gradients for,
    where the code goes on with one column of the result.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    tensor, first = facts.graph.tensor, dict[int, set[int]]()
    for run in (b for b in facts.graph.backwards if b.kind == "grad"):
        call = facts.graph.call[run.call_id]
        objects = {tensor[i].object_id for i, _ in run.returned}
        given = call.inputs[0]
        is_again = bool(objects & first.get(given, set()))
        if is_again and _takes_a_column(facts, call.outputs):
            fields = {
                "call": words.at(call),
                "given": words.name(given),
                "n": _columns(tensor[given]),
                "by": words.name(run.returned[0][0]),
            }
            yield Remark(Weight.WEIGHTY, "derived_at_once", fields, (call,))
        first |= {i: objects for i in call.outputs if _columns(tensor[i]) > 1}


def _columns(tensor: Tensor) -> int:
    """Return how many columns a tensor of two dimensions has; 0 of any other."""
    shape = tensor.shape or ()
    return shape[1] if len(shape) == 2 else 0


def _takes_a_column(facts: Facts, results: tuple[int, ...]) -> bool:
    """Say whether a call takes one column of a result."""
    tensor = facts.graph.tensor
    readers = (c for i in results for c in facts.calls_reading.get(i, ()))
    taken = (c for c in readers if c.function in ("__getitem__", "select"))
    return any(len(tensor[i].shape or ()) == 1 for c in taken for i in c.outputs)
