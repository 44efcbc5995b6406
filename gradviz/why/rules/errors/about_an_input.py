"""What is wrong with one input of the call that raised, where no rule knows more; and what is said
of an error that is none of autograd's. Plain data in and out, knows no torch."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable
from typing import Any

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, CutReason, Tensor
from gradviz.names.frames import whole_code
from gradviz.why.code.numpy_calls import array_taken_of
from gradviz.why.code.reading import LOOKS
from gradviz.why.code.rewritten import out_of_place
from gradviz.why.evidence.fixes import fix_of, is_label
from gradviz.why.rules.errors.failure import Failure, call_at
from gradviz.why.shown.explanation import Explanation, at_a_word
from gradviz.words.plain import visible
from gradviz.words.speech import Code, say
from gradviz.words.words import reason_of

UNNAMED = "(…)"  # stands for the code of a tensor that has no name
ERROR = 160  # characters of an error that is not known
# torch's text about what a hook returned: it says nothing of a tensor
_CHANGED = "has changed"
# words of torch's texts that are about gradients
_OF_AUTOGRAD = re.compile(r"grad|backward|differentia|in-?place|leaf|derivative|hook", re.I)


def unknown(failure: Failure) -> Explanation:
    """Tell of an error that is not known here; its traceback says where it was raised."""
    if failure.kind == "KeyboardInterrupt":
        return failure.answer(Cause.NOT_KNOWN, "stopped", checked=(), more=(), error=failure.kind)
    return failure.answer(
        Cause.NOT_KNOWN,
        "elsewhere" if is_elsewhere(failure) else "raised",
        checked=("known_error",),
        more=(),
        error=at_a_word(visible(f"{failure.kind}: {failure.text}", 1000), ERROR),
    )


def is_elsewhere(failure: Failure) -> bool:
    """Say whether an error has nothing to do with gradients: no backward raised it, and neither its
    text nor its line speaks of one."""
    if failure.run is not None or failure.failed is None or _OF_AUTOGRAD.search(failure.text):
        return False
    nodes = (node for part in failure.failed.parts[:1] for node in ast.walk(part))
    asked = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return asked.isdisjoint({*LOOKS, "backward", "data"})


def anew(failure: Failure) -> str:
    """Say what to write in the place of a write in place."""
    call = failure.call
    if call is not None and call.module:
        return say("raised.anew_by_module")
    code = out_of_place(whole_code(call)) if call is not None else ""
    if not code:
        return say("raised.anew_unknown")
    return say("raised.anew", anew=Code(code), code=failure.code(call))


def not_a_float(failure: Failure) -> Explanation | None:
    """Tell which tensor was to require grad, and holds whole numbers."""
    tensor = blamed(failure, Cause.REQUIRES_GRAD_NON_FLOAT)
    if tensor is None:
        return None
    maker = failure.facts.maker.get(tensor.id)
    is_made = maker is not None and maker is not failure.call and tensor.name
    form = "dtype_made" if is_made else "dtype"
    if is_label(tensor, failure.facts):
        form = "index"
    return failure.answer(
        Cause.REQUIRES_GRAD_NON_FLOAT,
        form,
        calls=[failure.call],
        tensors=[tensor],
        maker=failure.written(maker),
        **fields(failure, tensor, None),
    )


def made_without_history(failure: Failure) -> Explanation | None:
    """Tell of a hook at a tensor that was made where gradients were off."""
    tensor = blamed(failure, Cause.HOOK_REFUSED)
    maker = failure.facts.maker.get(tensor.id) if tensor else None
    off = switch_of(failure, maker)
    if off is None:
        return None
    return failure.answer(
        Cause.HOOK_REFUSED,
        "switched_off",
        calls=[off, maker, failure.call],
        tensors=[tensor],
        off=failure.words.where(off),
        maker=failure.written(maker),
        **fields(failure, tensor, None),
    )


def made_after_a_cut(failure: Failure) -> Explanation | None:
    """Tell of a hook at a tensor to which no gradient comes, as what it was computed from was cut
    off."""
    tensor = blamed(failure, Cause.HOOK_REFUSED)
    maker = failure.facts.maker.get(tensor.id) if tensor else None
    cuts = [c for c in failure.nearest_cuts_behind(tensor) if c.reason is not CutReason.FLAG_OFF]
    if tensor is None or maker is None or not cuts:
        return None
    calls = [failure.graph.call[cut.call_id] for cut in cuts]
    mends = [fix_of(cuts[-1], failure.graph, [tensor.id])]
    if cuts[-1].reason in (CutReason.DETACH, CutReason.DATA):
        mends.append(say("raised.leaf_of_its_own", it=failure.in_code(tensor)))
    return failure.answer(
        Cause.HOOK_REFUSED,
        "cut",
        calls=[*calls, failure.call],
        tensors=[tensor],
        cuts=cuts,
        maker=failure.written(maker),
        cutter=reason_of(cuts[-1]),
        place=failure.words.where(calls[-1]),
        mends=mends,
        **fields(failure, tensor, None),
    )


def about_an_input(failure: Failure) -> Explanation | None:
    """Tell what is wrong with an input of the call, where no more is known."""
    if failure.cause is None:
        return None
    tensor = blamed(failure, failure.cause)
    base = failure.graph.tensor.get(tensor.base_id if tensor else None)
    maker = failure.facts.maker.get(tensor.id) if tensor else None
    is_made = maker is not None and maker is not failure.call and tensor and tensor.name
    if failure.cause is Cause.HOOK_REFUSED and _CHANGED in failure.text:
        return failure.answer(Cause.HOOK_REFUSED, "changed", calls=[failure.call])
    form = "complex" if _is_complex(failure) else "raised_made" if is_made else "raised"
    at_the_maker = form == "complex" or failure.cause is Cause.INFERENCE_TENSOR
    return failure.answer(
        failure.cause,
        form,
        calls=[*([switch_of(failure, maker), maker] if at_the_maker else []), failure.call],
        tensors=[tensor, base],
        maker=failure.written(maker),
        anew=anew(failure),
        **fields(failure, tensor, base),
    )


def _is_complex(failure: Failure) -> bool:
    """Say whether backward was to start from a complex number."""
    return failure.cause is Cause.NOT_SCALAR and "real scalar" in failure.text


def switch_of(failure: Failure, maker: Call | None) -> Call | None:
    """Return the line that switched gradients off around the call that made a tensor."""
    source = None if maker is None else maker.source
    if source is None or source.off is None:
        return None
    here = source._replace(line=source.off, code=None, off=None, frames=())
    found = None if failure.statements is None else failure.statements.at(here)
    return call_at(here if found is None else found[0])


def fields(failure: Failure, tensor: Tensor | None, base: Tensor | None) -> dict[str, Any]:
    """Return what the sentences about an input can name."""
    name = failure.name(tensor)
    whole = base or (tensor if tensor and tensor.is_leaf else None)
    shape = tensor.shape if tensor else None
    return {
        "name": name,
        "it": failure.in_code(tensor) if tensor and tensor.name else _word_in(failure),
        "code": failure.code(failure.call) or say("raised.call"),
        "base": failure.name(whole) if whole else say("raised.a_tensor"),
        "view": say("raised.view_of", base=failure.name(base)) if base else say("raised.view"),
        "part": say("raised.part_of", name=name, base=failure.name(base)) if base else name,
        "numbers": say("raised.shape", shape=list(shape))
        if shape is not None
        else say("raised.many_numbers"),
        "dtype": (tensor.dtype or "") if tensor else "",
    }


def _word_in(failure: Failure) -> str:
    """Return what stands for a tensor without a name in the failing line, where that makes an array
    of it; else a word for any."""
    parts = failure.failed.parts if failure.failed is not None else []
    word = array_taken_of(parts[-1]) if parts and failure.cause is Cause.NUMPY_ON_TRACKED else ""
    return Code(word) if word else UNNAMED


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
    if _is_complex(failure):
        return [t for t in roots if (t.dtype or "").startswith("complex")][:1]
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
