"""What compares two values by their difference. Knows no torch."""

from __future__ import annotations

from gradviz.graph.effects import ELEMENTWISE_LOSSES
from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.why.evidence.handed_on import plain_name

_OF_DIFFERENCES = {"pow", "square", "abs", "norm", "__pow__"}


def is_distance(facts: Facts, call: Call) -> bool:
    """Say whether a call compares two values by their difference: a loss does, and a difference of
    which nothing but a power, or its size, is taken.

    Args:
        facts: of a recording.
        call: the loss, or the difference.
    """
    if call.function in ELEMENTWISE_LOSSES:
        return True
    readers = [c for i in call.outputs for c in facts.calls_reading.get(i, ())]
    after = {plain_name(c.function) for c in readers}
    return call.function == "sub" and bool(after) and after <= _OF_DIFFERENCES
