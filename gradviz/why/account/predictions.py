"""Losses that compare what was remade of plain numbers with what has a history: it is the second
that learns. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.graph.effects import ELEMENTWISE_LOSSES
from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.names.frames import names_kept, names_read
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.paths import REMADE
from gradviz.words.words import Words


def remade_predictions(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of the last distance whose first input was remade of numbers that a cut let out of what
    is trained, and whose second has a history."""
    tensor = facts.graph.tensor
    for call in reversed(facts.ordinary_calls):
        flags = [tensor[i].requires_grad for i in call.inputs]
        if call.function in ELEMENTWISE_LOSSES and flags == [False, True]:
            if (gone := _let_out(facts, call)) is not None:
                first, second = map(words.name, call.inputs)
                fields = {"first": first, "second": second, "cut": words.at(gone)}
                fields["code"] = words.at(call)
                yield Remark(Weight.WEIGHTY, "prediction_remade", fields, (gone, call))
            return


def _let_out(facts: Facts, distance: Call) -> Call | None:
    """Return the last call that cut off a value which the code kept in a name of which the first
    input of a distance was remade."""
    made = facts.maker.get(distance.inputs[0], distance)
    if made is not distance and (made.function not in REMADE or made.inputs):
        return None
    for cut in reversed(facts.real_cuts):
        gone = facts.graph.call[cut.call_id]
        is_before = gone.id < distance.id and facts.leaves_reached(cut.input_id)
        if is_before and not names_read(made).isdisjoint(names_kept(gone)):
            return gone
    return None
