"""What torch refuses because of dtypes, shapes or hooks: which tensor or call it is about. Plain
data in and out, knows no torch."""

from __future__ import annotations

import ast
import math
import re
from typing import Any

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Tensor
from gradviz.names.position import callee_of
from gradviz.why.rules.errors.about_an_input import UNNAMED
from gradviz.why.rules.errors.failure import Failure
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code

_FLOATS = ("float", "bfloat", "complex")


def dtypes_differ(failure: Failure) -> Explanation | None:
    """Tell which input has another dtype than those that it is to be computed with."""
    odd = odd_one(failure)
    if failure.call is None or odd is None:
        return None
    maker = failure.facts.first_maker.get(odd.object_id)
    others = [t for t in failure.inputs if t.object_id != odd.object_id]
    word = failure.failed.word_for(odd.shape, odd.dtype) if failure.failed else ""
    classes = wants_whole_numbers(failure) and is_float(odd)
    return failure.answer(
        Cause.DTYPES_DIFFER,
        "classes" if classes else "cast",
        calls=[failure.call, maker],
        tensors=[odd],
        name=failure.name(odd) if odd.name or not word else Code(word),
        data=failure.in_code(odd) if odd.name else word or UNNAMED,
        dtype=odd.dtype,
        code=failure.code(failure.call),
        other=others[0].dtype if others else "",
    )


def odd_one(failure: Failure) -> Tensor | None:
    """Return the only input that has another dtype than the parameters, or than float32; where
    whole numbers are wanted, the only one that holds floats and is neither a parameter nor
    tracked."""
    given = [t for t in failure.inputs if t.dtype]
    wanted = {t.dtype for t in given if t.requires_grad} or {"float32"}
    whole = wants_whole_numbers(failure)
    if len(given) < 2 or (len(wanted) > 1 and not whole):
        return None
    plain = [t for t in given if not t.requires_grad]
    found = [t for t in plain if (is_float(t) if whole else t.dtype not in wanted)]
    return found[0] if len(found) == 1 else None


def wants_whole_numbers(failure: Failure) -> bool:
    """Say whether torch's text asks for indices or classes."""
    return "Long" in failure.text.partition("got")[0].partition("found")[0] and (
        "xpected" in failure.text
    )


def is_float(tensor: Tensor) -> bool:
    """Say whether a tensor holds floating point or complex numbers."""
    return (tensor.dtype or "").startswith(_FLOATS)


def start_misshapen(failure: Failure) -> Explanation | None:
    """Tell which gradient to start with does not have the shape of what backward was called on."""
    if failure.run is None or failure.call is None:
        return None
    roots = failure.inputs[: len(failure.run.roots)]
    given = failure.inputs[len(roots) :]
    if len(roots) != 1 or len(given) != 1 or None in (roots[0].shape, given[0].shape):
        return None
    shape = roots[0].shape or ()
    is_one, given_is_one = math.prod(shape) == 1, math.prod(given[0].shape or ()) == 1
    alike = None if is_one else _in_its_shape(failure, roots[0], given[0])
    if alike is not None:
        return failure.answer(
            Cause.GRADIENT_SHAPE,
            "same_numbers",
            calls=[failure.call, maker_of(failure, roots[0])],
            tensors=[roots[0], given[0]],
            name=failure.name(roots[0]),
            shape=list(shape),
            given=list(given[0].shape or ()),
            **alike,
        )
    return failure.answer(
        Cause.GRADIENT_SHAPE,
        ("one_reshaped" if given_is_one else "one_number") if is_one else "start",
        calls=[failure.call, maker_of(failure, roots[0])],
        tensors=[roots[0], given[0]],
        name=failure.name(roots[0]),
        it=failure.in_code(roots[0]),
        shape=list(shape),
        given=list(given[0].shape or ()),
        start=failure.name(given[0]),
        wanted=str(tuple(shape)),
    )


def _in_its_shape(failure: Failure, root: Tensor, given: Tensor) -> dict[str, Any] | None:
    """Return the gradient that backward was given, as the line writes it and in the shape of the
    output, where it has as many numbers; None where it has not, or is not found there."""
    line = failure.failed
    if line is None or math.prod(root.shape or ()) != math.prod(given.shape or ()):
        return None
    for call in line.nodes(ast.Call):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        is_method = owner is not None and hasattr(line.value(owner), "shape")
        if callee_of(call.func) != "backward" or len(call.args) != (1 if is_method else 2):
            continue
        start = call.args[-1]
        code = ast.unparse(start)
        if _one_less(start, given.shape or ()) == root.shape:
            anew = ast.unparse(start.func.value)
        else:
            anew = f"{code}.reshape_as({failure.in_code(root)})"
        return {"start": Code(code), "anew": Code(anew)}
    return None


def _one_less(expression: ast.expr, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the shape of what an expression calls unsqueeze() on; None of another expression."""
    code = ast.unparse(expression)
    found = re.search(r"\.unsqueeze\((?:dim=)?(-?\d)\)$", code)
    if found is None or not isinstance(expression, ast.Call):
        return None
    place = int(found[1]) % len(shape)
    return (*shape[:place], *shape[place + 1 :])


def maker_of(failure: Failure, tensor: Tensor) -> Call | None:
    """Return the call that made a tensor."""
    return failure.facts.maker.get(tensor.id)
