"""Linear layers one behind the other, with nothing between them. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.graph.training import line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.handed_on import computed
from gradviz.words.words import Words


def linear_in_a_row(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of a linear layer that is given what another one made, and alone takes it, where the
    values between are at least as many as go in or come out: fewer are meant, as in LoRA."""
    behind = facts.ancestors(facts.losses) if facts.losses else set[int]()
    found = dict[object, tuple[Call, Call]]()
    for call in facts.ordinary_calls:
        before = _linear_before(facts, call)
        if before is not None and not behind.isdisjoint(call.outputs):
            found[line_of(call), call.module] = (before, call)
    for before, call in found.values():
        fields = {"one": words.at(before), "other": words.at(call)}
        yield Remark(Weight.NOTABLE, "linear_in_a_row", fields, (before, call))


def _linear_before(facts: Facts, call: Call) -> Call | None:
    """Return the linear layer before another one, whose result that alone reads."""
    if call.function != "linear" or not call.inputs:
        return None
    given = computed(facts, call.inputs[0], frozenset({"flatten", "view", "reshape"}))
    before = facts.maker.get(given)
    if before is None or before.function != "linear" or not before.inputs:
        return None
    tensor = facts.graph.tensor
    shapes = [tensor[i].shape or () for i in (before.inputs[0], given, *call.outputs[:1])]
    alone = len(facts.calls_reading.get(given, ())) == 1
    if not alone or not all(shapes):
        return None
    wide = shapes[1][-1] >= min(shapes[0][-1], shapes[2][-1])
    return before if wide else None
