"""Backwards that began with the value of the loss in place of 1. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.graph.facts import Facts
from gradviz.why.account.remark import Remark, Weight
from gradviz.words.words import Words


def started_with_itself(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of the last backward that was given the very tensor on which it was called:
    ``loss.backward(loss)``."""
    tensor = facts.graph.tensor
    for run in reversed(facts.graph.backwards):
        call = facts.graph.call[run.call_id]
        objects = [tensor[i].object_id for i in call.inputs]
        if run.kind != "backward" or len(objects) != 2 or objects[0] != objects[1]:
            continue
        fields = {"code": words.at(call), "loss": words.name(call.inputs[0])}
        yield Remark(Weight.WEIGHTY, "started_with_itself", fields, (call,), frozenset(objects))
        return
