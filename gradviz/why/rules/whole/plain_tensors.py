"""Plain tensors of modules that a forward computes with: no optimizer gets them, and they stay what
they were made."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Set
from typing import TYPE_CHECKING, Any, NamedTuple

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Tensor
from gradviz.names.position import callee_of
from gradviz.names.statements import statement_making
from gradviz.why.question.failing import Spot, parts_of_module
from gradviz.why.question.subjects import state_of
from gradviz.why.rules.many import pattern
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

# how weights are begun; what is computed from data, or written as numbers, may be a constant
_BEGUN = {"zeros", "ones", "rand", "randn", "empty", "full", "normal", "Tensor", "FloatTensor"}
_BEGUN |= {"zeros_like", "ones_like", "rand_like", "randn_like"}


class Plain(NamedTuple):
    """A plain tensor of a module.

    Attributes:
        spot: where it stands, and where the constructor makes it.
        holds: what its numbers are: zero, some, nan.
        state_id: its last state in the graph.
        begun: whether it was made as weights are.
    """

    spot: Spot
    holds: str
    state_id: int
    begun: bool


def begun_like_weights(case: Case, found: Explanation) -> Explanation | None:
    """Tell of plain tensors that a constructor began as weights are, and that the loss was computed
    with: they may be meant as constants."""
    plain = [p for p in plain_tensors(case) if p.begun and p.holds != "nan"]
    if not plain:
        return None
    places = dict.fromkeys(source for p in plain for source in p.spot.source)
    told = case.answer(
        Cause.NEVER_TRACKED,
        "plain_zeros" if all(p.holds == "zero" for p in plain) else "plain_tensor",
        statements=list(places),
        tensor_ids=[p.state_id for p in plain],
        names=pattern([p.spot.name for p in plain]),
        n=len(plain),
        one=plain[0].spot.attribute,
    )
    return told._replace(more=(*told.more, found.verdict, *found.more), odd=found.odd)


def with_plain(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with the plain tensors that a loss was computed with."""
    names = [p.spot.name for p in plain_tensors(case)]
    if not names:
        return None
    return case.beside(found, say("losses.plain", names=pattern(names), n=len(names)))


def plain_tensors(case: Case) -> Iterator[Plain]:
    """Yield the plain tensors of the user's modules that a loss was computed with, where that was
    recorded: numbers that ask for no gradient, and that nothing writes."""
    facts = case.facts
    behind = facts.in_losses if case.recording else frozenset[int]()
    for module in {id(m): m for m in case.modules}.values() if behind else ():
        word = case.called.get(id(module)) or type(module).__name__
        for spot, value in parts_of_module(word, module):
            state = _state_of_constant(case, spot, value)
            if state and _goes_into(case, facts.readers.get(state.object_id, ()), behind):
                yield Plain(spot, state_of(value), state.id, _is_begun(spot))


def _state_of_constant(case: Case, spot: Spot, value: Any) -> Tensor | None:
    """Return the state of a plain tensor of numbers that asks for no gradient and that no call
    wrote."""
    if spot.form != "tensor" or not value.is_floating_point() or value.requires_grad:
        return None
    state = case.recording.find(value) if case.recording else None
    written = state is not None and case.facts.writes_by_object.get(state.object_id)
    return None if written else state


def _goes_into(case: Case, readers: Iterable[Call], behind: Set[int]) -> bool:
    """Say whether calls compute with it what a loss depends on; also where something was computed
    from it alone before."""
    facts, tensor = case.facts, case.graph.tensor
    todo, seen = list(readers), set[int]()
    while todo:
        call = todo.pop()
        if call.id in seen or not call.grad_mode or behind.isdisjoint(call.outputs):
            continue
        seen.add(call.id)
        if any(tensor[i].requires_grad for i in call.outputs):
            return True
        if len(call.inputs) == 1:
            todo += [c for i in call.outputs for c in facts.calls_reading.get(i, ())]
    return False


def _is_begun(spot: Spot) -> bool:
    """Say whether the constructor makes it as weights are begun."""
    made = None if spot.kind is None else statement_making(spot.kind, spot.attribute)
    value = getattr(made[1], "value", None) if made else None
    calls = (node for node in ast.walk(value) if isinstance(node, ast.Call)) if value else ()
    return any(callee_of(call.func) in _BEGUN for call in calls)
