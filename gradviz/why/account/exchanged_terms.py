"""The two terms of a vector quantizer, of which each detaches one side, where the weight that is
meant for one of them stands before the other. Knows no torch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gradviz.graph.effects import ELEMENTWISE_LOSSES, PRODUCTS
from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import KEEPING, computed, plain_name
from gradviz.why.evidence.measured import factor_of
from gradviz.words.words import Words

_LETS_GO = {"detach", "data"}
_SQUARES = {"pow", "__pow__", "square", "mul", "abs"}
_LOOKS_UP = {"embedding", "index_select", "matmul", "__matmul__", "mm"}
_OF_A_CODEBOOK = re.compile(r"(code|book|embed|dict)\w*(weight|cost|coef|beta|scale|lambda)", re.I)


class Term(NamedTuple):
    """A distance of which one side was let go of.

    Attributes:
        call: that compared the two.
        end: the state by which the loss holds it.
        moves: the state that its gradient comes to.
        towards: the state whose value it is pulled to.
        scales: the calls that scaled it on the way to the loss.
    """

    call: Call
    end: int
    moves: int
    towards: int
    scales: tuple[Call, ...] = ()


def exchanged_terms(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of the last loss with two terms of opposite sides, of which that which moves what was
    looked up is scaled down, and the other is not.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    weighed = _weighed(facts)
    sides = {(term.moves, term.towards): term for term in weighed}
    for book in weighed:
        other = sides.get((book.towards, book.moves))
        if other is not None and _is_looked_up(facts, book.moves):
            yield from _told(facts, words, book, other)


def _weighed(facts: Facts) -> list[Term]:
    """Return the terms of the last loss that is a sum of several, with what scaled each."""
    terms = [*_terms(facts)]
    for loss in reversed(facts.losses) if len(terms) > 1 else ():
        ways = _ways(facts, loss)
        weighed = [t._replace(scales=ways[t.end]) for t in terms if t.end in ways]
        if len(weighed) > 1:
            return weighed
    return []


def _terms(facts: Facts) -> Iterator[Term]:
    """Yield the distances in losses of a tracked value and one that was let go of."""
    for call in facts.ordinary_calls:
        if len(call.inputs) != 2 or facts.in_losses.isdisjoint(call.outputs):
            continue
        sides = [computed(facts, i) for i in call.inputs]
        made = [facts.maker.get(side) for side in sides]
        lets_go = [m is not None and plain_name(m.function) in _LETS_GO for m in made]
        if sum(lets_go) == 1:
            (moves,) = (s for s, free in zip(sides, lets_go, strict=True) if not free)
            (cut,) = (m for m, free in zip(made, lets_go, strict=True) if free and m is not None)
            for end in _distances(facts, call):
                yield Term(call, end, moves, computed(facts, cut.inputs[0]))


def _distances(facts: Facts, call: Call) -> Iterator[int]:
    """Yield what a call gives as the distance of its inputs, or of which the next one does."""
    if call.function in ELEMENTWISE_LOSSES:
        yield from call.outputs
    elif call.function == "sub":
        for reader in facts.calls_reading.get(call.outputs[0], ()):
            if plain_name(reader.function) in _SQUARES and {*reader.inputs} == {*call.outputs}:
                yield from reader.outputs


def _ways(facts: Facts, loss: int) -> dict[int, tuple[Call, ...]]:
    """Return what a loss is a sum of, each with the calls that scaled it on the way there."""
    ways, todo = dict[int, tuple[Call, ...]](), [(loss, tuple[Call, ...]())]
    while todo:
        state, scales = todo.pop()
        ways[state] = scales
        call = facts.maker.get(state)
        function = "" if call is None else plain_name(call.function)
        if call is None or not call.inputs:
            continue
        if function == "add":
            todo += [(i, scales) for i in call.inputs]
        elif function in KEEPING | {"mean", "sum"}:
            todo.append((call.inputs[0], scales))
        elif function in PRODUCTS | {"div"} and len(call.inputs) == 1:
            todo.append((call.inputs[0], (*scales, call)))
    return ways


def _is_looked_up(facts: Facts, state: int) -> bool:
    """Say whether a state was taken out of a leaf that learns, or is one."""
    call, tensor = facts.maker.get(state), facts.graph.tensor
    if call is not None and plain_name(call.function) not in _LOOKS_UP:
        return tensor[state].is_leaf is True and tensor[state].requires_grad is True
    tracked = [i for i in (call.inputs if call else (state,)) if tensor[i].requires_grad]
    return len(tracked) == 1 and tensor[computed(facts, tracked[0])].is_leaf is True


def _told(facts: Facts, words: Words, book: Term, other: Term) -> Iterator[Remark]:
    """Tell of two terms of which the first alone is scaled, by a number between 0 and 1."""
    own = [call for call in book.scales if call not in other.scales]
    factor = factor_of(facts, own[0]) if len(own) == 1 else None
    if factor is None or not 0 < factor < 0.95 or not {*other.scales} < {*book.scales}:
        return
    code = words.code(own[0])
    if _OF_A_CODEBOOK.search(code):
        return
    moved, towards = (
        facts.graph.tensor[i].code_name or words.name(i) for i in (book.moves, book.towards)
    )
    fields = {
        "book": moved,
        "scaled": words.at(own[0]),
        "factor": f"{factor:.3g}",
        "whole": words.at(other.call),
        "other": towards,
    }
    yield Remark(Weight.WEIGHTY, "exchanged_terms", fields, (own[0], book.call, other.call))
