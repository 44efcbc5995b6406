"""A name of what an optimizer holds that a loop gives to a result: each iteration goes on from the
graph of the one before, and the steps move what no name has any more. Plain data in and out, knows
no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradviz.graph.records import Call, Tensor
from gradviz.names.frames import frames, names_in, place_at
from gradviz.why.code.rewritten import parsed
from gradviz.why.rules.errors.failure import Failure
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code

# methods that torch has in place, too, under the same name with an underscore
_IN_PLACE = frozenset(
    "abs add clamp clip div exp lerp mul neg relu renorm round sigmoid sub tanh".split()
)


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
            if call.grad_mode and bound == [name] and name in read and _ran_again(failure, call):
                yield _Rebinding(call, leaf, code, name)


def _held(failure: Failure) -> set[int]:
    """Return what the known optimizers have, and what steps of others moved, by object id."""
    call, tensor = failure.graph.call, failure.graph.tensor
    steps = (e for e in failure.facts.writes if call[e.call_id].bookkeeping)
    return {tensor[e.after_id].object_id for e in steps}.union(*failure.optimizers)


def _ran_again(failure: Failure, first: Call) -> bool:
    """Say whether a statement ran again on what was computed of its own first result."""
    statement, reached = frames(first)[0][:2], {*first.outputs}
    for call in failure.graph.calls:
        if call.id > first.id and not reached.isdisjoint(call.inputs):
            reached.update(call.outputs)
            if any(frame[:2] == statement for frame in frames(call)[:1]):
                return True
    return False


def written_into(code: str, name: str) -> str:
    """Return a statement that gives a name a new tensor as one that writes into the old one.

    >>> written_into("x = x.clamp(0, 1)", "x"), written_into("x = torch.clamp(x, 0)", "x")
    ('x.clamp_(0, 1)', 'x.copy_(torch.clamp(x, 0))')
    """
    value = getattr(parsed(code), "value", None)
    if not isinstance(value, ast.expr):
        return ""
    method = value.func if isinstance(value, ast.Call) else None
    is_method = isinstance(method, ast.Attribute) and ast.unparse(method.value) == name
    if isinstance(method, ast.Attribute) and is_method and method.attr in _IN_PLACE:
        arguments = ast.unparse(value).removeprefix(f"{name}.{method.attr}")
        return f"{name}.{method.attr}_{arguments}"
    return f"{name}.copy_({ast.unparse(value)})"
