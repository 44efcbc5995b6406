"""Differences and distances between a value and itself, whatever its names: they are 0, and nothing
is learnt from them. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.graph.effects import ELEMENTWISE_LOSSES
from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.graph.training import line_of
from gradviz.names.frames import frames
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
        elif plain_name(call.function) == "sub" and _are_written_alike(facts, one, other):
            made = [c for i in (one, other) if (c := facts.maker.get(i)) is not None]
            yield Remark(Weight.WEIGHTY, "difference_of_alike", fields, (call, *made))


def _are_written_alike(facts: Facts, one: int, other: int) -> bool:
    """Say whether two results were computed by the same calls from the same tensors, and their
    statements say the same: then plain arguments are the same as well."""
    codes = [_written(facts, i) for i in (one, other)]
    ways = Ways(facts, surely=True, any_call=True)
    return "" not in codes and codes[0] == codes[1] and ways.of(one) == ways.of(other)


def _written(facts: Facts, tensor_id: int) -> str:
    """Return the expression that a statement gives a name, without the name; "" where no call is
    known that made it."""
    maker = facts.maker.get(tensor_id)
    code = frames(maker)[0].code if maker is not None and frames(maker) else ""
    name, equals, expression = code.partition(" = ")
    return expression if equals and name.isidentifier() else ""
