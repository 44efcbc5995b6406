"""Gradients that are weighed together: a backward that is handed values in place of ones, and
several columns that are derived at once. Knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call, Tensor
from gradviz.graph.training import line_of
from gradviz.names.frames import frames, whole_code
from gradviz.names.position import callee_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.words.speech import Code
from gradviz.words.words import Words


def handed_gradient(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of each backward that is handed values from which its root was made: nobody means these
    as the gradient that comes from above.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    tensor = facts.graph.tensor
    for run in facts.graph.backwards:
        call = facts.graph.call[run.call_id]
        if run.kind != "backward" or len(call.inputs) < 2:
            continue
        root, given = call.inputs[:2]
        objects = frozenset(leaf.object_id for leaf in facts.leaves_reached(root))
        is_input = "inputs=" in whole_code(call)  # for which the gradient is asked
        if tensor[given].object_id not in objects or is_input:
            continue
        fields = {
            "call": words.at(call),
            "given": words.name(given),
            "root": words.name(root),
        }
        yield Remark(Weight.WEIGHTY, "handed_gradient", fields, (call,), objects)


def derived_at_once(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of the columns of a gradient that are derived at once, by what they are gradients for,
    where the code goes on with one column of the result.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    tensor, first = facts.graph.tensor, dict[int, set[int]]()
    told = dict[object, Remark]()
    for run in (b for b in facts.graph.backwards if b.kind == "grad"):
        call = facts.graph.call[run.call_id]
        objects = {tensor[i].object_id for i, _ in run.returned}
        given = call.inputs[0]
        is_again = bool(objects & first.get(given, set()))
        is_told_apart = _columns(tensor[given]) > 1 and _takes_a_column(facts, (given,))
        if (is_again or is_told_apart) and _takes_a_column(facts, call.outputs):
            fields = {
                "call": words.at(call),
                "given": _argument(call, 0) or words.name(given),
                "n": _columns(tensor[given]),
                "by": _argument(call, 1) or words.name(run.returned[0][0]),
            }
            told[line_of(call) or call.id] = Remark(
                Weight.WEIGHTY, "derived_at_once", fields, (call,)
            )
        first |= {i: objects for i in call.outputs if _columns(tensor[i]) > 1}
    yield from told.values()


def _argument(call: Call, place: int) -> str:
    """Return the variable that a call of autograd.grad is given at a place, as it is written; ""
    where it is none."""
    code = frames(call)[0].code if frames(call) else ""
    try:
        nodes = [*ast.walk(ast.parse(code))]
    except SyntaxError:  # a part of a statement
        return ""
    calls = (n for n in nodes if isinstance(n, ast.Call) and callee_of(n.func) == "grad")
    given = next((n.args[place : place + 1] for n in calls), [])
    return Code(given[0].id) if given and isinstance(given[0], ast.Name) else ""


def _columns(tensor: Tensor) -> int:
    """Return how many columns a tensor of two dimensions has; 0 of any other."""
    shape = tensor.shape or ()
    return shape[1] if len(shape) == 2 else 0


def _takes_a_column(facts: Facts, results: tuple[int, ...]) -> bool:
    """Say whether a call takes some of the columns of a result: ``g[:, 0]``, ``g[:, [0]]``."""
    tensor = facts.graph.tensor
    readers = (c for i in results for c in facts.calls_reading.get(i, ()))
    taken = (c for c in readers if c.function in ("__getitem__", "select", "split", "chunk"))
    return any(_is_a_column(tensor[i], tensor[c.inputs[0]]) for c in taken for i in c.outputs)


def _is_a_column(part: Tensor, whole: Tensor) -> bool:
    """Say whether a part has all rows of a table, and fewer columns."""
    rows, shape = (whole.shape or ())[:1], part.shape or ()
    return shape == rows or (shape[:1] == rows and 0 < _columns(part) < _columns(whole))
