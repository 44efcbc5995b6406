"""What is wrong with one input of the call that raised, where no rule knows more; and what is said
of an error that is none of autograd's. Plain data in and out, knows no torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gradviz.graph.findings import Cause
from gradviz.graph.records import (
    Tensor,
)
from gradviz.why.explanation import Explanation, at_a_word
from gradviz.why.fixes import is_label
from gradviz.why.rules.errors.failure import Failure
from gradviz.words.plain import visible
from gradviz.words.speech import say

UNNAMED = "(…)"  # stands for the code of a tensor that has no name
ERROR = 160  # characters of an error that is not known


def unknown(failure: Failure) -> Explanation:
    """Tell of an error that is not known here; its traceback says where it was raised."""
    return failure.answer(
        Cause.NOT_KNOWN,
        "raised",
        checked=("known_error",),
        more=(),
        error=at_a_word(visible(f"{failure.kind}: {failure.text}", 1000), ERROR),
    )


def of_function(failure: Failure) -> Explanation | None:
    """Tell of a write in place into what a custom Function returned as it was given."""
    tensor = blamed(failure, Cause.VIEW_IN_PLACE)
    maker = failure.facts.maker.get(tensor.id) if tensor else None
    if tensor is None or maker is None or not maker.function.endswith(".apply"):
        return None
    same = [t for t in map(failure.graph.tensor.get, maker.inputs) if t and _is_view_of(tensor, t)]
    if not same:
        return None
    return failure.answer(
        Cause.VIEW_IN_PLACE,
        "of_function",
        calls=[maker, failure.call],
        tensors=[tensor, same[0]],
        code=failure.code(failure.call) or say("raised.call"),
        function=maker.function.removesuffix(".apply"),
        input=failure.name(same[0]),
    )


def _is_view_of(tensor: Tensor, other: Tensor) -> bool:
    """Say whether a tensor has the memory and the shape of another one."""
    alike = (tensor.storage_id, tensor.shape) == (other.storage_id, other.shape)
    return alike and tensor.storage_id is not None


def about_an_input(failure: Failure) -> Explanation | None:
    """Tell what is wrong with an input of the call, where no more is known."""
    if failure.cause is None:
        return None
    tensor = blamed(failure, failure.cause)
    base = failure.graph.tensor.get(tensor.base_id if tensor else None)
    maker = failure.facts.maker.get(tensor.id) if tensor else None
    made = maker and maker is not failure.call and tensor and tensor.name
    typed = failure.cause is Cause.REQUIRES_GRAD_NON_FLOAT and tensor
    chooses = typed and tensor and is_label(tensor, failure.facts)
    inference = failure.cause is Cause.INFERENCE_TENSOR
    return failure.answer(
        failure.cause,
        ("index" if chooses else "dtype_made" if made else "dtype")
        if typed
        else ("raised_made" if made else "raised"),
        calls=[maker if inference else None, failure.call],
        tensors=[tensor, base],
        maker=failure.written(maker),
        **fields(failure, tensor, base),
    )


def fields(failure: Failure, tensor: Tensor | None, base: Tensor | None) -> dict[str, Any]:
    """Return what the sentences about an input can name."""
    name = failure.name(tensor)
    whole = base or (tensor if tensor and tensor.is_leaf else None)
    shape = tensor.shape if tensor else None
    return {
        "name": name,
        "it": name if tensor and tensor.name else UNNAMED,
        "code": failure.code(failure.call) or say("raised.call"),
        "base": failure.name(whole) if whole else say("raised.a_tensor"),
        "view": say("raised.view_of", base=failure.name(base)) if base else say("raised.view"),
        "part": say("raised.part_of", name=name, base=failure.name(base)) if base else name,
        "numbers": say("raised.shape", shape=list(shape))
        if shape is not None
        else say("raised.many_numbers"),
        "dtype": (tensor.dtype or "") if tensor else "",
    }


def blamed(failure: Failure, cause: Cause) -> Tensor | None:
    """Return the input that the error is about, where only one can be."""
    inputs = BLAMED[cause](failure) if cause in BLAMED else failure.inputs[:1]
    return inputs[0] if len(inputs) == 1 else None


def inputs_of_switch(failure: Failure) -> list[Tensor]:
    """Return what was to require grad: a factory's inputs are not what it was to make."""
    switched = failure.call is not None and failure.call.function.startswith("requires_grad")
    return [t for t in failure.inputs[:1] if switched and t.dtype]


def no_inputs(failure: Failure) -> list[Tensor]:
    """Return none: no recorded call raises it."""
    return []


def roots_of_many_numbers(failure: Failure) -> list[Tensor]:
    """Return the first root that holds more than one number, or none."""
    roots = failure.inputs[: len(failure.run.roots)] if failure.run else []
    return [t for t in roots if t.shape is not None and math.prod(t.shape) != 1][:1]


def untracked_inputs(failure: Failure) -> list[Tensor]:
    """Return the inputs that do not require grad."""
    return [t for t in failure.inputs if t.requires_grad is False]


def inference_inputs(failure: Failure) -> list[Tensor]:
    """Return the inputs without a version counter that were made in inference_mode."""
    made = {o for c in failure.graph.calls if c.inference_mode for o in c.outputs}
    alone = len(failure.inputs) == 1
    return [t for t in failure.inputs if t.version is None and (t.id in made or alone)]


# Which inputs an error can be about, where that is not simply the first.
BLAMED: dict[Cause, Callable[[Failure], list[Tensor]]] = {
    Cause.REQUIRES_GRAD_NON_FLOAT: inputs_of_switch,
    Cause.NON_LEAF_IN_OPTIMIZER: no_inputs,
    Cause.NOT_SCALAR: roots_of_many_numbers,
    Cause.NEVER_TRACKED: untracked_inputs,
    Cause.INFERENCE_TENSOR: inference_inputs,
    Cause.HOOK_REFUSED: untracked_inputs,
    Cause.DTYPES_DIFFER: no_inputs,
    Cause.CUSTOM_BACKWARD: no_inputs,
    Cause.GRADIENT_SHAPE: no_inputs,
}
