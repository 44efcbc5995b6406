"""A custom Function whose backward returned what torch refuses: which one it is, and where that is
written. Knows no torch."""

from __future__ import annotations

import math
import re
from typing import Any

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call
from gradviz.why.code.own_functions import Written, backward_of
from gradviz.why.evidence.messages import number
from gradviz.why.rules.errors.failure import Failure, call_at
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code

# torch's text about one gradient of the wrong shape
_MISSHAPEN = re.compile(
    r"gradient at index (\d+) - got (\[[\d, ]*\]) but expected shape compatible with (\[[\d, ]*\])"
)


def custom_backward(failure: Failure) -> Explanation | None:
    """Tell which call of a custom Function has the backward that returned the wrong gradients, and
    where that is written."""
    node = failure.graph.node.get(failure.event.node_id if failure.event else None)
    applied = failure.maker(node)
    if node is None or applied is None:
        return None
    name = node.name.removesuffix("Backward")
    written = backward_of(failure.statements, name)
    expected, got = number(failure.text, "expected"), number(failure.text, "returned")
    if expected is None or got is None:
        return _of_another_shape(failure, name, applied, written)
    nothing = written is not None and not written.returns
    where = [] if written is None else written.ends
    if nothing and written is not None:
        where = [written.at(written.node.body[-1])]
    return failure.answer(
        Cause.CUSTOM_BACKWARD,
        "no_return" if nothing else "count",
        calls=[*map(call_at, where), applied],
        nodes=[node],
        name=name,
        expected=expected,
        got=got,
        arguments=_first(written.arguments if written else [], expected),
    )


def _of_another_shape(
    failure: Failure, name: str, applied: Call, written: Written | None
) -> Explanation:
    """Tell of one gradient that does not have the shape of its input: where it begins."""
    nodes = [failure.graph.node[failure.event.node_id]] if failure.event else []
    told = _MISSHAPEN.search(failure.text)
    index = -1 if told is None else int(told[1])
    value = written.returned(index) if written is not None and told is not None else ""
    if written is None or told is None or not value or not written.argument(index):
        ends = [] if written is None else written.ends
        return failure.answer(
            Cause.CUSTOM_BACKWARD,
            "shape",
            calls=[*map(call_at, ends), applied],
            nodes=nodes,
            name=name,
        )
    summed = _summed_over_other(written, value, _shape_given(failure, applied), told[3])
    if summed is not None:
        return failure.answer(
            Cause.CUSTOM_BACKWARD,
            "summed_over_other",
            calls=[*map(call_at, written.begins(value) or written.ends), applied],
            nodes=nodes,
            name=name,
            value=value,
            argument=written.argument(index),
            got=told[2],
            expected=told[3],
            **summed,
        )
    is_joined = _is_joined(written, value, told[2], told[3])
    is_turned = _is_turned(value, told[2], told[3])
    return failure.answer(
        Cause.CUSTOM_BACKWARD,
        "joined" if is_joined else "transposed" if is_turned else "shape_of",
        calls=[*map(call_at, written.changes(value) or written.ends), applied],
        also_at=map(call_at, written.ends),
        nodes=nodes,
        name=name,
        value=value,
        argument=written.argument(index),
        got=told[2],
        expected=told[3],
    )


def _is_turned(value: str, got: str, expected: str) -> bool:
    """Say whether a gradient with a name has the two sizes that are expected, the other way
    round."""
    sizes, wanted = (re.findall(r"\d+", shape) for shape in (got, expected))
    return value.isidentifier() and len(sizes) == 2 and sizes[::-1] == wanted


def _shape_given(failure: Failure, applied: Call) -> tuple[int, ...]:
    """Return the shape of what a custom Function gave; () where that is not known."""
    outputs = [failure.graph.tensor[i] for i in applied.outputs]
    return (outputs[0].shape or ()) if len(outputs) == 1 else ()


def _summed_over_other(
    written: Written, value: str, shape: tuple[int, ...], expected: str
) -> dict[str, Any] | None:
    """Return the sum of the gradient over one dimension, as it is written and over the other one,
    where that gives the shape that is expected."""
    wanted = [int(n) for n in re.findall(r"\d+", expected)]
    codes = [place.code or "" for place in written.begins(value)] or [value]
    found = re.fullmatch(r"(?:\w+ = )?((\w+)\.sum\((?:dim=|axis=)?(-?[01])\))", codes[0])
    if found is None or len(shape) != 2 or found[2] not in written.gradients:
        return None
    dim = int(found[3]) % 2
    if [shape[dim]] != wanted or shape[0] == shape[1]:
        return None
    return {"summed": Code(found[1]), "anew": Code(f"{found[2]}.sum({1 - dim})")}


def _is_joined(written: Written, value: str, got: str, expected: str) -> bool:
    """Say whether a gradient has as many numbers as its input, in one row: parts of it were joined
    end to end, and no other shape of the whole puts each number in its place."""
    had, wanted = ([int(n) for n in re.findall(r"\d+", shape)] for shape in (got, expected))
    code = " ".join(place.code or "" for place in written.begins(value)) or value
    is_row = len(had) == 1 and len(wanted) == 2 and min(wanted) > 1
    return is_row and had[0] == math.prod(wanted) and "cat(" in code


def _first(names: list[str], count: int) -> list[str]:
    """Return so many names; none where there are not as many."""
    return names if len(names) == count else []
