"""A name of what an optimizer holds that a loop gives to a result: each iteration goes on from the
graph of the one before, and the steps move what no name has any more. Plain data in and out, knows
no torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradviz.graph.records import Call, Tensor
from gradviz.graph.training import STEPS
from gradviz.names.frames import frames, names_in, place_at
from gradviz.why.code.rewritten import written_into
from gradviz.why.rules.errors.failure import Failure
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code


class _Rebinding(NamedTuple):
    """A statement that gives the name of a leaf to what it computes from it.

    Attributes:
        call: the first that ran in it.
        leaf: what had the name.
        code: the statement.
        name: that name.
    """

    call: Call
    leaf: Tensor
    code: str
    name: str


def rebound_leaf(failure: Failure) -> Explanation | None:
    """Tell of a line of the loop that gives the name of an optimizer's leaf to a result."""
    found = next(_rebindings(failure), None)
    if failure.cause is None or found is None:
        return None
    return failure.answer(
        failure.cause,
        "rebound_leaf",
        calls=[place_at(found.call, 0)],
        also_at=[failure.call],
        tensors=[found.leaf],
        name=Code(found.name),
        code=Code(found.code),
        update=Code(written_into(found.code, found.name)),
    )


def _rebindings(failure: Failure) -> Iterator[_Rebinding]:
    """Yield the statements that gave a held leaf's name to a result, and ran again with that."""
    held, facts = _held(failure), failure.facts
    for leaf in failure.graph.tensors:
        name = leaf.code_name
        if not name or leaf.object_id not in held or not leaf.is_leaf:
            continue
        for call in facts.calls_reading.get(leaf.id, ()):
            code = frames(call)[0].code if frames(call) else ""
            bound, read = names_in(code)
            if call.grad_mode and bound == (name,) and name in read and _ran_again(failure, call):
                yield _Rebinding(call, leaf, code, name)


def _held(failure: Failure) -> set[int]:
    """Return what the known optimizers have, and what steps of others moved, by object id."""
    call, tensor = failure.graph.call, failure.graph.tensor
    steps = (e for e in failure.facts.writes if _is_step(call[e.call_id]))
    return {tensor[e.after_id].object_id for e in steps}.union(*failure.optimizers)


def _is_step(call: Call) -> bool:
    """Say whether a call is one by which an optimizer writes weights; ``nn.init`` has others."""
    return call.bookkeeping and call.function.startswith(STEPS)


def _ran_again(failure: Failure, first: Call) -> bool:
    """Say whether a statement ran again on what was computed of its own first result."""
    statement, reached = frames(first)[0][:2], {*first.outputs}
    for call in failure.graph.calls:
        if call.id > first.id and not reached.isdisjoint(call.inputs):
            reached.update(call.outputs)
            if any(frame[:2] == statement for frame in frames(call)[:1]):
                return True
    return False
