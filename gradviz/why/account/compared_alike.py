"""Differences and distances between a value and itself, whatever its names: they are 0, and nothing
is learnt from them. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.graph.effects import ELEMENTWISE_LOSSES
from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.graph.training import line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.alike import Ways
from gradviz.why.evidence.handed_on import plain_name
from gradviz.words.words import Words

# what compares its first two inputs
_COMPARE = ELEMENTWISE_LOSSES | {"triplet_margin_loss", "pairwise_distance", "cosine_similarity"}


def compared_alike(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of each line on the way to a loss that takes a tracked value from itself, or compares
    two results of the same network and the same input.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    behind = facts.in_losses
    last = dict[object, Call]()
    for call in facts.ordinary_calls:
        if len(call.inputs) >= 2 and not behind.isdisjoint(call.outputs):
            last[line_of(call) or call.id, call.function] = call
    ways = Ways(facts, surely=True)
    for call in last.values():
        one, other = call.inputs[:2]
        if not all(facts.graph.tensor[i].requires_grad for i in (one, other)):
            continue
        fields = {
            "call": words.at(call),
            "one": words.name(one),
            "other": words.name(other),
        }
        if plain_name(call.function) == "sub" and one == other:
            yield Remark(Weight.IN_VAIN, "taken_from_itself", fields, (call,))
        elif call.function in _COMPARE and ways.of(one) == ways.of(other):
            made = [c for i in (one, other) if (c := facts.maker.get(i)) is not None]
            yield Remark(Weight.WEIGHTY, "compared_alike", fields, (call, *made))
