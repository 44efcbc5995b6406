"""Differences and distances between a value and itself, whatever its names: they are 0, and nothing
is learnt from them. Knows no torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from gradviz.graph.effects import ELEMENTWISE_LOSSES
from gradviz.graph.facts import Facts
from gradviz.graph.records import Call, Frame
from gradviz.graph.training import line_of
from gradviz.names.frames import frames
from gradviz.names.statements import Statements
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.code.still import may_differ_between
from gradviz.why.evidence.alike import Ways
from gradviz.why.evidence.handed_on import plain_name
from gradviz.words.words import Words

# what compares its first two inputs
_COMPARE = ELEMENTWISE_LOSSES | {"triplet_margin_loss", "pairwise_distance", "cosine_similarity"}
Differ = Callable[[int, int], bool]


def compared_alike(
    facts: Facts, words: Words, statements: Statements, are_known_to_differ: Differ
) -> Iterator[Remark]:
    """Tell of each line on the way to a loss that takes a tracked value from itself, or compares
    two results of the same network and the same input.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        statements: the code that ran.
        are_known_to_differ: says of two states whether they are known to hold other numbers.
    """
    ways = Ways(facts, surely=True)
    for call in _last_of_each_line(facts):
        one, other = call.inputs[:2]
        if (moved_along := _moved_along(facts, call)) is not None:
            yield moved_along.remark(facts, words)
            continue
        key = _alike(facts, ways, call)
        if key is None or are_known_to_differ(one, other):
            continue
        if key == "difference_of_alike" and not _is_surely_alike(facts, statements, one, other):
            continue
        fields = {
            "call": words.at(call),
            "one": words.name(one),
            "other": words.name(other),
        }
        if key == "taken_from_itself":
            yield Remark(Weight.IN_VAIN, key, fields, (call,))
        else:
            made = [c for i in (one, other) if (c := facts.maker.get(i)) is not None]
            yield Remark(Weight.WEIGHTY, key, fields, (call, *made))


class MovedAlong(NamedTuple):
    """A difference of a value and of the same value with a constant added, as of what went into a
    straight-through estimate and of what came out.

    Attributes:
        call: that takes the difference.
        base: the value.
        total: its sum with constants.
    """

    call: Call
    base: int
    total: int

    def remark(self, facts: Facts, words: Words) -> Remark:
        """Return what there is to tell of it."""
        made = facts.maker[self.total]
        names = {"base": words.name(self.base), "sum": words.name(self.total)}
        fields = {"call": words.at(self.call), "place": words.where(made), **names}
        return Remark(Weight.WEIGHTY, "straight_through_difference", fields, (self.call, made))


def _moved_along(facts: Facts, call: Call) -> MovedAlong | None:
    """Return the difference that a call takes of a value and its sum with constants; None where it
    takes none."""
    if plain_name(call.function) != "sub" and call.function not in ELEMENTWISE_LOSSES:
        return None
    one, other = call.inputs[:2]
    if one == other:
        return None
    if _without_constants(facts, other) == one:
        return MovedAlong(call, one, other)
    return MovedAlong(call, other, one) if _without_constants(facts, one) == other else None


def _without_constants(facts: Facts, state: int) -> int:
    """Return the value to which only tensors without a gradient were added, or which they were
    taken from."""
    tensor, maker = facts.graph.tensor, facts.maker.get(state)
    while maker is not None and plain_name(maker.function) in ("add", "sub"):
        tracked = [i for i in maker.inputs if tensor[i].requires_grad]
        is_taken = plain_name(maker.function) == "sub" and tracked != list(maker.inputs[:1])
        if len(tracked) != 1 or is_taken or tensor[tracked[0]].shape != tensor[state].shape:
            break
        state, maker = tracked[0], facts.maker.get(tracked[0])
    return state


def _last_of_each_line(facts: Facts) -> Iterable[Call]:
    """Return the last call of each line and function on the way to a loss that takes two tracked
    tensors first."""
    behind, tensor = facts.in_losses, facts.graph.tensor
    return {
        (line_of(call) or call.id, call.function): call
        for call in facts.ordinary_calls
        if len(call.inputs) >= 2
        and not behind.isdisjoint(call.outputs)
        and all(tensor[i].requires_grad for i in call.inputs[:2])
    }.values()


def _alike(facts: Facts, ways: Ways, call: Call) -> str | None:
    """Return the key of what is told of a call whose first two inputs are one, or computed alike;
    None where they are not known to be."""
    one, other = call.inputs[:2]
    if plain_name(call.function) == "sub":
        if one == other:
            return "taken_from_itself"
        return "difference_of_alike" if _are_written_alike(facts, one, other) else None
    is_compared = call.function in _COMPARE and ways.of(one) == ways.of(other)
    return "compared_alike" if is_compared else None


def _are_written_alike(facts: Facts, one: int, other: int) -> bool:
    """Say whether two results were computed by the same calls from the same tensors, and their
    statements say the same: then plain arguments are the same as well."""
    codes = [_written(facts, i) for i in (one, other)]
    ways = Ways(facts, surely=True, any_call=True)
    return "" not in codes and codes[0] == codes[1] and ways.of(one) == ways.of(other)


def _is_surely_alike(facts: Facts, statements: Statements, one: int, other: int) -> bool:
    """Say whether nothing is written between two statements that say the same that may change what
    they compute: a number that an index names, a mode, an attribute that a forward reads."""
    ran = [frames(facts.maker[i])[::-1] for i in (one, other)]
    pairs = zip(*ran, strict=False)
    apart = next((pair for pair in pairs if _line(pair[0]) != _line(pair[1])), None)
    return apart is not None and not may_differ_between(statements, *apart)


def _line(frame: Frame) -> tuple[str, int]:
    """Return where a statement stands."""
    return frame.file, frame.line


def _written(facts: Facts, tensor_id: int) -> str:
    """Return the expression that a statement gives a name, without the name; "" where no call is
    known that made it."""
    maker = facts.maker.get(tensor_id)
    code = frames(maker)[0].code if maker is not None and frames(maker) else ""
    name, equals, expression = code.partition(" = ")
    return expression if equals and name.isidentifier() else ""
