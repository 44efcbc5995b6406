"""Two tensors that one call cannot take together, because of their shapes: which two, and what gave
one of them its shape. Plain data in and out, knows no torch."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

from gradviz.graph.facts import code_of
from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Tensor
from gradviz.why.rules.errors.failure import LINE, Failure
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code

Shape = tuple[int, ...]
MOST = 20  # calls that are gone back through

_ELEMENTWISE = re.compile(r"size of tensor a \(\d+\) must match the size of tensor b")
_OF_LOSSES = re.compile(
    r"Expected input batch_size \(\d+\) to match target batch_size"
    r"|[uU]sing a target size|Target size \(.{1,60}\) must be the same as input size"
)
_RESHAPES = frozenset({"view", "reshape", "flatten"})
# what makes a tensor of a size that stands in the code
_MADE = frozenset({"ones", "zeros", "full", "empty", "rand", "randn", "eye"})


def shapes_apart(failure: Failure) -> Explanation | None:
    """Tell which two tensors do not fit each other, and why one has the shape that it has."""
    of_elements = _ELEMENTWISE.search(failure.text) is not None
    if not of_elements and not _OF_LOSSES.search(failure.text):
        return None
    given = [] if failure.call is None or failure.call.bookkeeping else failure.inputs
    pairs = [*combinations(given, 2)]
    apart = [(a, b) for a, b in pairs if not _fit(a.shape or (), b.shape or ())]
    for first, second in [*apart, *pairs][:1]:
        return (
            samples_folded(failure, first, second.shape or ())
            or made_for_other_batch(failure, first, second)
            or (not_alike(failure, first, second) if of_elements and apart else None)
        )
    return None


def _fit(first: Shape, second: Shape) -> bool:
    """Say whether two shapes can be computed with each other element by element."""
    pairs = zip(reversed(first), reversed(second), strict=False)
    return all(a == b or 1 in (a, b) for a, b in pairs)


# --- a batch that lost its dimension --------------------------------------------------------------


def samples_folded(failure: Failure, scores: Tensor, target: Shape) -> Explanation | None:
    """Tell which reshape made more rows, or fewer, than there are samples."""
    rows, samples = (shape[0] if shape else 0 for shape in (scores.shape, target))
    call = _fold(failure, scores, rows, samples)
    if call is None or rows == samples:
        return None
    given, made = (failure.graph.tensor[i] for i in (call.inputs[0], call.outputs[0]))
    shape, width = given.shape or (), (made.shape or (0,))[-1]
    told: dict[str, Any] = {
        "reshape": failure.code(call),
        "rows": rows,
        "samples": samples,
        "shape": list(shape),
        "width": width,
    }
    if shape[-1:] == (made.shape or ())[-1:]:
        return failure.answer(
            Cause.MISUSED, "positions_as_samples", calls=[call, failure.call], **told
        )
    return failure.answer(
        Cause.MISUSED,
        "samples_folded",
        calls=[call, failure.call],
        anew=Code(f"{failure.in_code(given)}.flatten(1)"),
        numbers=math.prod(shape[1:]),
        **told,
    )


def _fold(failure: Failure, scores: Tensor, rows: int, samples: int) -> Call | None:
    """Return the last reshape behind the scores that took the samples for the first dimension, and
    gave another number of rows."""
    behind = failure.facts.ancestors([scores.id])
    tensors = failure.graph.tensor
    for call in reversed(failure.graph.calls):
        if call.function not in _RESHAPES or not (call.inputs and call.outputs):
            continue
        given, made = tensors[call.inputs[0]].shape, tensors[call.outputs[0]].shape
        if made and given and call.outputs[0] in behind and len(given) > len(made):
            return call if (given[0], made[0]) == (samples, rows) else None
    return None


# --- a batch of another size ----------------------------------------------------------------------


def made_for_other_batch(failure: Failure, first: Tensor, second: Tensor) -> Explanation | None:
    """Tell which of the two was made in the code for so many samples, where the other, of data, has
    another number."""
    if len(_size(first)) != len(_size(second)) or _size(first)[1:] != _size(second)[1:]:
        return None
    makers = [_factory(failure, tensor) for tensor in (first, second)]
    if not _size(first) or (makers[0] is None) == (makers[1] is None):
        return None
    here, there = (first, second) if makers[0] else (second, first)
    is_last = _has_fitted(failure, here) and _size(here)[0] > _size(there)[0]
    if not is_last and not (here is second and _is_loss(failure)):
        return None
    maker = makers[0] or makers[1]
    return failure.answer(
        Cause.MISUSED,
        "made_for_other_batch" if is_last else "made_for_other_count",
        calls=[failure.call, maker],
        made=failure.name(here),
        size=_size(here)[0],
        samples=_size(there)[0],
        wanted=Code(f"{_named(failure, there)}.shape[0]"),
        code=failure.code(maker),
    )


def _has_fitted(failure: Failure, tensor: Tensor) -> bool:
    """Say whether an earlier call took a tensor."""
    return any(call.outputs for call in failure.facts.readers.get(tensor.object_id, ()))


def _is_loss(failure: Failure) -> bool:
    """Say whether a loss was given the two."""
    function = "" if failure.call is None else failure.call.function
    return function.endswith("_loss") or function.startswith("binary_cross_entropy")


def _named(failure: Failure, tensor: Tensor) -> str:
    """Return the nearest variable behind a tensor that has as many samples and that the failing
    line can name; the tensor where there is none."""
    frames = [] if failure.failed is None else failure.failed.frames
    names = frames[-1].names if frames else {}
    behind = tensor
    for _ in range(MOST):
        shape = getattr(names.get(behind.code_name), "shape", None)
        if shape is not None and tuple(shape) == behind.shape:
            return behind.code_name
        maker = failure.facts.maker.get(behind.id)
        given = [] if maker is None else [failure.graph.tensor[i] for i in maker.inputs[:1]]
        if not given or _size(given[0])[:1] != _size(tensor)[:1]:
            break
        behind = given[0]
    return failure.in_code(tensor)


def _factory(failure: Failure, tensor: Tensor) -> Call | None:
    """Return the call that made a tensor of no other one; None where another made it."""
    maker = failure.facts.first_maker.get(tensor.object_id)
    return maker if maker and maker.function in _MADE and not maker.inputs else None


# --- shapes that do not fit -----------------------------------------------------------------------


def not_alike(failure: Failure, first: Tensor, second: Tensor) -> Explanation | None:
    """Tell the two shapes, and where a dimension of size 1 makes the one fit that has fewer."""
    small, large = sorted((first, second), key=lambda tensor: len(_size(tensor)))
    word = _word(failure, small)
    fitting = _with_one_more(_size(small), _size(large))
    # a loss of targets that are spread over the scores would be another one
    if not word or not fitting or _is_loss(failure):
        return _of_two_sizes(failure, first, second)
    inside = word if word.isidentifier() else f"({word})"
    written = [Code(f"{inside}.unsqueeze({place})") for place in fitting]
    return failure.answer(
        Cause.MISUSED,
        "dimension_missing" if len(fitting) == 1 else "dimension_missing_somewhere",
        calls=[failure.call, *_makers(failure, [small, *_inputs_of(failure, small)])],
        tensors=[small, large],
        first=failure.name(small),
        shape=list(_size(small)),
        second=failure.name(large),
        other=list(_size(large)),
        anew=written[0],
        then=list(next(iter(fitting.values()))),
        fitting=written,
        code=failure.code(failure.call, LINE),
        given=Code(word),
    )


def _of_two_sizes(failure: Failure, first: Tensor, second: Tensor) -> Explanation:
    """Tell the two shapes, and the dimension that is not the same; of the last one, which layer
    gives so many numbers."""
    layers = [_layer_behind(failure, tensor) for tensor in (first, second)]
    alike = _size(first)[:-1] == _size(second)[:-1] and len(_size(first)) > 1
    if alike and (layers[0] is None) != (layers[1] is None):
        here, there = (first, second) if layers[0] is None else (second, first)
        return _of_a_layer(failure, here, there, layers[0] or layers[1])
    told: dict[str, Any] = {
        "calls": [failure.call, *_makers(failure, (first, second))],
        "tensors": [first, second],
        "first": failure.name(first),
        "shape": list(_size(first)),
        "second": failure.name(second),
        "other": list(_size(second)),
        **_apart(_size(first), _size(second)),
    }
    laid_out = _laid_out(failure, first, second)
    if laid_out is None:
        return failure.answer(Cause.MISUSED, "not_alike", **told)
    return failure.answer(Cause.MISUSED, "laid_out_otherwise", **told, **laid_out)


def _laid_out(failure: Failure, first: Tensor, second: Tensor) -> dict[str, Any] | None:
    """Return the target of a loss, and how it is laid out as the output is, where each sample has
    as many numbers; None where that does not show."""
    one, two = _size(first), _size(second)
    is_alike = one[:1] == two[:1] and math.prod(one) == math.prod(two)
    if not is_alike or not _is_loss(failure) or first.requires_grad == second.requires_grad:
        return None
    target, output = (second, first) if first.requires_grad else (first, second)
    line = failure.failed
    words = [line.word_for(t.shape, t.dtype) for t in (target, output)] if line else ["", ""]
    if not all(words):
        return None
    anew = Code(f"{words[0]}.reshape({words[1]}.shape)")
    return {"anew": anew, "given": Code(words[0]), "code": failure.code(failure.call, LINE)}


def _of_a_layer(failure: Failure, first: Tensor, second: Tensor, layer: Call | None) -> Explanation:
    """Tell which linear layer gives one of two tensors its last size."""
    return failure.answer(
        Cause.MISUSED,
        "outputs_of_other_count",
        calls=[layer, failure.call],
        tensors=[first, second],
        first=failure.name(first),
        second=failure.name(second),
        one=_size(first)[-1],
        two=_size(second)[-1],
        shape=list(_size(first)),
        other=list(_size(second)),
        layer=Code(layer.module) if layer and layer.module else failure.code(layer),
    )


def _layer_behind(failure: Failure, tensor: Tensor) -> Call | None:
    """Return the last linear layer behind a tensor that gave it its shape; None where something
    else did."""
    for _ in range(MOST):
        maker = failure.facts.maker.get(tensor.id)
        given = None if maker is None or not maker.inputs else failure.graph.tensor[maker.inputs[0]]
        if maker is None or given is None or maker.function == "linear":
            return maker if given is not None else None
        if given.shape != tensor.shape:
            return None
        tensor = given
    return None


def _size(tensor: Tensor) -> Shape:
    """Return the shape of a tensor, as far as it is known."""
    return tensor.shape or ()


def _apart(first: Shape, second: Shape) -> dict[str, Any]:
    """Return the last dimension, counted from the end, that is not the same, with both sizes."""
    pairs = zip(reversed(first), reversed(second), strict=False)
    found = [(n, a, b) for n, (a, b) in enumerate(pairs, 1) if a != b and 1 not in (a, b)]
    place, one, two = found[0]
    return {"dimension": -place, "one": one, "two": two}


def _with_one_more(small: Shape, large: Shape) -> dict[int, Shape]:
    """Return the places where one more dimension of size 1 makes a shape fit that has one fewer,
    with the shapes that this gives, each once."""
    found: dict[int, Shape] = {}
    for place in range(1, len(small) + 1) if len(large) - len(small) == 1 else ():
        shape = (*small[:place], 1, *small[place:])
        if _fit(shape, large) and shape not in found.values():
            found[place] = shape
    return found


def _word(failure: Failure, tensor: Tensor) -> str:
    """Return the expression of the failing line that a tensor is; "" where that is not known."""
    if tensor.code_name:
        return tensor.code_name
    maker = failure.facts.maker.get(tensor.id)
    code = code_of(maker) if maker is not None else ""
    return code if _is_expression(code) else ""


def _inputs_of(failure: Failure, tensor: Tensor) -> list[Tensor]:
    """Return what a tensor was computed from, where it has no name of its own."""
    maker = None if tensor.code_name else failure.facts.maker.get(tensor.id)
    return [] if maker is None else [failure.graph.tensor[i] for i in maker.inputs]


def _is_expression(code: str) -> bool:
    """Say whether code can stand within an expression."""
    try:
        ast.parse(code, mode="eval")
    except (SyntaxError, ValueError):
        return False
    return bool(code)


def _makers(failure: Failure, tensors: Iterable[Tensor]) -> Sequence[Call]:
    """Return the calls that made tensors, other than parameters."""
    found = (failure.facts.first_maker.get(tensor.object_id) for tensor in tensors)
    return [call for call in found if call is not None]
