"""Comparisons of weights with what was kept of them before, where that is the same memory: they are
always alike, whatever steps did. Knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.graph.effects import DETACHED
from gradviz.graph.facts import Facts
from gradviz.graph.records import Call, Tensor
from gradviz.graph.training import Training, line_of
from gradviz.names.statements import Statements
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import plain_name
from gradviz.words.speech import say
from gradviz.words.words import Words

# of these the answer alone is used
_TELLING = ("equal", "allclose")
_COMPARE = {"equal", "allclose", "isclose", "eq", "ne", "sub"}


def same_memory(
    facts: Facts, words: Words, training: Training, statements: Statements
) -> Iterator[Remark]:
    """Tell of the last comparison of a weight with its own memory, which was taken before a step
    and read after it.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        training: what was done with gradients.
        statements: the code that ran.
    """
    places = _stepped_places(facts, training)
    found = [*_of_calls(facts, words, places), *_of_names(facts, words, places, statements)]
    yield from found[-1:]


def _of_calls(facts: Facts, words: Words, places: dict[int, list[int]]) -> Iterator[Remark]:
    """Yield such comparisons as were recorded: one side is tracked."""
    tensor, told = facts.graph.tensor, dict[object, Remark]()
    for call in facts.ordinary_calls if places else ():
        if plain_name(call.function) not in _COMPARE or len(call.inputs) != 2:
            continue
        one, other = (tensor[i] for i in call.inputs)
        taken = _taken_before(facts, one, places, call.id) if _are_one(one, other) else None
        if taken is not None:
            fields = {
                "code": words.at(call),
                "name": words.name(one.id),
                "taken": words.at(taken),
            }
            told[line_of(call) or call.id] = Remark(
                Weight.IN_VAIN, "same_memory", fields, (taken, call)
            )
    yield from told.values()


def _of_names(
    facts: Facts, words: Words, places: dict[int, list[int]], statements: Statements
) -> Iterator[Remark]:
    """Yield such comparisons of two variables as the code has: of what nothing tracks, no
    comparison is recorded."""
    for place, node in (pair for name in _TELLING for pair in statements.calls(name)):
        names = [a.id for a in node.args[:2] if isinstance(a, ast.Name)]
        states = [_bound_to(facts, name) for name in names]
        one, other = states if len(states) == 2 else (None, None)
        if one is None or other is None or not _are_one(one, other):
            continue
        again = facts.first_maker.get(other.object_id)
        taken = None if again is None else _taken_before(facts, one, places, again.id)
        if taken is not None:
            fields = {
                "code": say("label.code_at", code=ast.unparse(node), place=words.line_of(place)),
                "name": words.name(one.id),
                "taken": words.at(taken),
            }
            yield Remark(Weight.IN_VAIN, "same_memory", fields, (taken,), statements=(place,))


def _bound_to(facts: Facts, name: str) -> Tensor | None:
    """Return the one tensor that a variable was."""
    found = [t for t in facts.latest_state.values() if t.code_name == name]
    return found[0] if len(found) == 1 else None


def _stepped_places(facts: Facts, training: Training) -> dict[int, list[int]]:
    """Return the calls that stepped, by the memory of what they moved."""
    found = dict[int, list[int]]()
    for leaf, piles in training.sums_used.items():
        storage = facts.latest_state[leaf].storage_id
        if storage is not None:
            found.setdefault(storage, []).extend(pile.step.call.id for pile in piles)
    return found


def _are_one(one: Tensor, other: Tensor) -> bool:
    """Say whether two tensors are the same numbers in one memory."""
    known = None not in (one.storage_id, one.storage_offset, one.shape)
    places = [(t.storage_id, t.storage_offset, t.shape, t.stride) for t in (one, other)]
    return known and places[0] == places[1]


def _taken_before(
    facts: Facts, one: Tensor, places: dict[int, list[int]], until: int
) -> Call | None:
    """Return the call that gave a weight's memory another name, where a step wrote it between that
    and another call."""
    taken = facts.first_maker.get(one.object_id)
    if taken is None or plain_name(taken.function) not in DETACHED:
        return None
    steps = places.get(-1 if one.storage_id is None else one.storage_id, [])
    return taken if any(taken.id < i < until for i in steps) else None
