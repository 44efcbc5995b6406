"""Autograd's error messages: which one a text is, and what it names; and what to write instead of
a call that cuts.

torch's words differ a little from version to version, and libraries wrap them into errors of their
own: the text is searched for anywhere in a message. Knows no torch.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from gradviz.graph.facts import code_of
from gradviz.graph.findings import Cause
from gradviz.graph.flow import cuts_of_checkpoint, in_reentrant_checkpoint
from gradviz.graph.records import Call, Cut, CutReason, Graph
from gradviz.names.frames import list_copied
from gradviz.words.speech import Code, say

# characters that are read at either end of a message: a worker's traceback can be long
MOST = 50_000
CHAIN = 20  # errors behind errors that are looked at
_TEXTS = {
    Cause.NO_GRAD_FN: (
        r"element (?P<element>\d{1,6}) of (?:tensors|variables)(?: tuple)? does not require grad"
    ),
    Cause.MODIFIED_IN_PLACE: (
        r"needed for gradient computation (?:has|have) been modified by an in-?place operation"
    ),
    Cause.SECOND_BACKWARD: (
        r"backward through the graph a second time|saved \w+ after they have already been freed"
    ),
    Cause.LEAF_IN_PLACE: (
        r"(?<!view of )a leaf Variable that requires grad (?:is being|has been) used in an"
        r" in-?place"
        r"|leaf variable has been moved into the graph interior"
    ),
    Cause.VIEW_OF_LEAF_IN_PLACE: (
        r"a view of a leaf Variable that requires grad (?:is being|has been) used in an in-?place"
    ),
    Cause.NOT_SCALAR: r"grad can be implicitly created only for (?:real )?scalar outputs",
    Cause.UNUSED_INPUT: (
        r"differentiated (?:Tensors?|Variables?)(?: at index (?P<index>\d{1,6}))? "
        r"appears? to not have been used"
    ),
    Cause.NEVER_TRACKED: r"One of the differentiated (?:Tensors|Variables) does not require grad",
    Cause.INFERENCE_TENSOR: (
        r"Inference tensors (?:cannot be saved for backward|do not track version)"
        r"|in-?place update to inference tensor|on inference tensor outside InferenceMode"
    ),
    Cause.NUMPY_ON_TRACKED: r"Can't call numpy\(\) on (?:Tensor|Variable) that requires grad",
    Cause.DEEPCOPY_NON_LEAF: (
        r"created explicitly by the user \(graph leaves\) support the deepcopy protocol"
    ),
    Cause.REQUIRES_GRAD_NON_FLOAT: (
        r"only Tensors of floating point (?:and complex )?dtype can require grad"
    ),
    Cause.REQUIRES_GRAD_NON_LEAF: r"can only change requires_grad flags of leaf",
    Cause.DETACH_VIEW_IN_PLACE: r"Can't detach views? in-?place",
    Cause.VIEW_IN_PLACE: (
        r"(?:Output \d+ of \S+ is a view|view was created in \w+ mode) and "
        r"(?:is being|its base or another view of its base has been) modified"
    ),
    Cause.NON_LEAF_IN_OPTIMIZER: r"can't optimize a non-leaf",
    Cause.NOT_A_PARAMETER: (
        r"optimizer got an empty parameter list"
        r"|cannot assign '.{1,100}?' (?:as|object to) parameter '(?P<parameter>.+?)'"
    ),
    Cause.CUSTOM_BACKWARD: (
        r"returned an incorrect number of gradients "
        r"\(expected (?P<expected>\d{1,6}), got (?P<returned>\d{1,6})\)"
        r"|returned an invalid gradient at index"
    ),
    Cause.HOOK_REFUSED: (
        r"cannot register a hook on a tensor that doesn't require grad"
        r"|can't retain_grad on (?:Tensor|Variable) that has requires_grad=False"
        r"|hook .{1,200}? has changed the (?:size|type) of value"
    ),
    Cause.DTYPES_DIFFER: (
        r"(?:must|should|expected) (?:m1 and m2 to )?(?:have|be) the same dtype"
        r"|expected scalar type \w+ but found \w+"
        r"|Found dtype \w+ but expected \w+"
        r"|Input type \(.{1,60}?\) and (?:weight|bias) type \(.{1,60}?\) should be the same"
        r"|result type \w+ can't be cast to the desired output type \w+"
        r"|expected target dtype to be \w+ or \w+, but got \w+"
        r"|to have one of the following scalar types: Long, Int; but got"
        r"|input dtype \(.{1,40}?\) does not match weight dtype"
    ),
    # anomaly mode
    Cause.NAN: r"(?P<node>\w{1,100})' returned nan\b",
    Cause.GRADIENT_SHAPE: r"Mismatch in shape: grad_output\[\d{1,6}\] has a shape of",
    Cause.NOT_A_TENSOR: r"'[\w.]{1,100}' object has no attribute 'backward'",
}
_KNOWN = re.compile(
    "|".join(f"(?P<{cause}>{text})" for cause, text in _TEXTS.items()), re.IGNORECASE
)
_STALE = re.compile(
    r"\[[\w.]*\w \[([\d, ]{0,200})\]\].{0,200}?is at version (\d{1,9}); expected version (\d{1,9})"
)


_TOGETHER = re.compile(r"output of a function that returns multiple views")
_WRITTEN_BESIDE = re.compile(r"its base or another view of its base has been modified")
_IN_A_MODE = re.compile(r"view was created in \w+ mode and is being modified")


def is_one_of_several(text: str) -> bool:
    """Say whether an error is about one of several views that one call made."""
    return _TOGETHER.search(text) is not None


def is_written_beside(text: str) -> bool:
    """Say whether an error is about a view whose whole, or another part of it, was written."""
    return _WRITTEN_BESIDE.search(text) is not None


def is_made_without_gradients(text: str) -> bool:
    """Say whether an error is about a view that was made where gradients were off."""
    return _IN_A_MODE.search(text) is not None


NEAR = 10  # calls among which a distribution's sample() makes its cut


def repair(cut: Cut, graph: Graph) -> str:
    """Return what to write instead of a call that cuts. A no_grad that is not the user's own is
    none that he can leave."""
    if in_reentrant_checkpoint(cut, graph):
        return say("mend.reentrant")
    if is_wrapped_result(cut, graph):
        return say("mend.checkpoint_result")
    if cut.reason is CutReason.DATA and _sets_data(graph.call[cut.call_id]):
        return say("mend.data_set")
    if in_sample(cut, graph):
        return say("mend.sample")
    if cut.reason is CutReason.COPIED_OUT and (joined := _joined(graph.call[cut.call_id], graph)):
        return joined
    call = graph.call[cut.call_id]
    if call.source is None or call.source.off is None:
        return usual_repair(cut.reason)
    if cut.reason is CutReason.NO_GRAD:
        return say("mend.no_grad_at", line=call.source.off)
    if cut.reason is CutReason.INFERENCE_MODE:
        return mend_of_inference(cut, graph, call.source.off)
    return usual_repair(cut.reason)


def mend_of_inference(cut: Cut, graph: Graph, line: int) -> str:
    """Say what to write in the line that switched inference mode on, or where: ``enable_grad``
    around the call does not lift it."""
    if graph.call[cut.call_id].grad_mode:
        return say("mend.inference_mode_enabled", line=line)
    return say("mend.inference_mode_at", line=line)


def _joined(call: Call, graph: Graph) -> str:
    """Say how the tensors of a list are joined whose numbers a call copied; "" of another call."""
    return joined_instead(code_of(call), [graph.tensor[i].shape for i in call.inputs])


def joined_instead(code: str, shapes: Collection[tuple[int, ...] | None]) -> str:
    """Say how the tensors of a list are joined, in the place of a call that copies their numbers.

    Args:
        code: of the statement.
        shapes: of the tensors whose numbers it copies.

    Returns:
        The sentence; "" where the tensors are no single numbers of one shape, or the code copies no
        list.
    """
    copied = list_copied(code, holds_many=len(shapes) > 1)
    if copied is None or {*shapes} not in ({()}, {(1,)}):
        return ""
    return say(
        "mend.join_stacked" if {*shapes} == {()} else "mend.join_catenated",
        call=Code(copied.call),
        parts=Code(copied.parts),
    )


def usual_repair(reason: CutReason) -> str:
    """Return what to write instead of a call that cuts for this reason, whatever else is known.

    >>> usual_repair(CutReason.DATA)
    'use the tensor itself instead of .data.'
    """
    return say(f"mend.{reason.name.lower()}")


# DistributedDataParallel waits for gradients of parameters that get none
_WAITS = re.compile(r"finished reduction in")
# a scaler found none at all, and clipping found NaN
_WRONG = re.compile(r"No inf checks were recorded|gradients from .{1,40} is non-finite")
# what checks its values found NaN or inf: a distribution, multinomial(), a loss of probabilities, a
# decomposition
_BROKEN = re.compile(
    r"to satisfy the constraint .{1,200} found invalid values:.*\bnan\b"
    r"|contains either `inf`, `nan`"
    r"|all elements of input should be between 0 and 1"
    r"|contained non-finite values",
    re.DOTALL,
)
_SETS_DATA = re.compile(r"\.data\s*=[^=]")


def has_wrong_gradients(text: str) -> bool:
    """Say whether an error is about gradients that are there, and none, or not finite."""
    return waits_for_gradients(text) or _WRONG.search(text) is not None


def waits_for_gradients(text: str) -> bool:
    """Say whether DistributedDataParallel waits for gradients that do not come."""
    return _WAITS.search(text) is not None


def is_of_broken_values(text: str) -> bool:
    """Say whether an error may be about NaN or inf among the values that a call was given.

    >>> is_of_broken_values("probability tensor contains either `inf`, `nan` or element < 0")
    True
    """
    return _BROKEN.search(text) is not None


def asks_for_graph(call: Call) -> bool:
    """Say whether create_graph=True is written in the statement of a call."""
    return any(re.search(r"\bcreate_graph\s*=\s*True\b", text) for text in _texts_of(call))


def is_wrapped_result(cut: Cut, graph: Graph) -> bool:
    """Say whether a reentrant checkpoint was given what asks for gradient, and made a float tensor
    without: then the function returned it inside of something else."""
    output = graph.tensor.get(cut.output_id)
    made_float = output is not None and (output.dtype or "").startswith(("float", "bfloat"))
    return made_float and CutReason.CUSTOM_NON_DIFFERENTIABLE in cuts_of_checkpoint(cut, graph)


def _sets_data(call: Call) -> bool:
    """Say whether what a call made was written into the ``.data`` of another tensor."""
    return any(_SETS_DATA.search(text) for text in _texts_of(call))


def in_sample(cut: Cut, graph: Graph) -> bool:
    """Say whether the no_grad of a distribution's sample() cut, and none of the user's own."""
    source = graph.call[cut.call_id].source
    if cut.reason is not CutReason.NO_GRAD or source is None or source.off is not None:
        return False
    near = (graph.call.get(cut.call_id + i) for i in range(NEAR))
    here = [c for c in near if c and c.source and c.source[:2] == source[:2]]
    return any(re.search(r"\.sample\b", text) for call in here for text in _texts_of(call))


def _texts_of(call: Call) -> list[str]:
    """Return the code of a call and its whole statement: what is shown of a call is cut short."""
    frames = call.source.frames[:1] if call.source else ()
    return [code_of(call), *(frame.code for frame in frames)]


def plain(message: object) -> str:
    """Return a message on one line, without its middle where it is very long; "" where it cannot be
    read."""
    try:
        text = str(message)
    except Exception:
        return ""
    text = text if len(text) <= 2 * MOST else f"{text[:MOST]} {text[-MOST:]}"
    return " ".join(text.split())


def cause_of(message: str) -> Cause | None:
    """Return which of autograd's errors a message is, wherever in it torch's text stands.

    Args:
        message: what ``str(error)`` gives.

    Returns:
        The cause, or None where it is no known error of autograd. Of several the last one, as in a
        traceback.

    Example:
        >>> cause_of("Caught RuntimeError: grad can be implicitly created only for scalar outputs")
        'not_scalar'
        >>> cause_of("out of memory") is None
        True
    """
    causes = [cause for m in _KNOWN.finditer(plain(message)) for cause in _TEXTS if m[cause]]
    return causes[-1] if causes else None


def parameter_named(message: str) -> str | None:
    """Return the name of the parameter that torch would not assign.

    Example:
        >>> parameter_named("cannot assign 'torch.FloatTensor' as parameter 'weight' (…)")
        'weight'
    """
    found = [m["parameter"] for m in _KNOWN.finditer(plain(message)) if m["parameter"]]
    return found[-1] if found else None


def node_named(message: str) -> str:
    """Return the name of the node that anomaly mode found to make NaN.

    Example:
        >>> node_named("Function 'SqrtBackward0' returned nan values in its 0th output.")
        'SqrtBackward0'
    """
    found = [m["node"] for m in _KNOWN.finditer(plain(message)) if m["node"]]
    return found[-1] if found else ""


def number(message: str, word: str) -> int | None:
    """Return the last "element" or "index" that torch's text names.

    Example:
        >>> said = "The differentiated Tensor at index 1 appears to not have been used."
        >>> number(said, "index")
        1
    """
    found = [int(m[word]) for m in _KNOWN.finditer(message) if m[word]]
    return found[-1] if found else None


class Versions(NamedTuple):
    """What torch says of a tensor that was written: its shape, the version it is at, and the one
    that was saved."""

    shape: list[int]
    now: int
    saved: int


def versions(message: str) -> Versions | None:
    """Return what an error about an in-place write says of the tensor; None in the words of an old
    torch.

    Example:
        >>> written = "[torch.FloatTensor [3, 1]], which is output 0 of Exp, "
        >>> versions(written + "is at version 2; expected version 1")
        Versions(shape=[3, 1], now=2, saved=1)
    """
    found = _STALE.findall(message)
    if not found:
        return None
    shape, now, saved = found[-1]
    return Versions([int(n) for n in re.findall(r"\d+", shape)], int(now), int(saved))


def read_error(error: BaseException) -> tuple[str, str]:
    """Return type and message of an error, or of the one behind it that torch raised. Keeps nothing
    of it.

    Args:
        error: what was caught. ``raise … from``, errors raised while handling another, and groups
            are looked through.

    Returns:
        Type name and message of the outermost error that ``cause_of`` knows; of the error itself
        when none is.

    Example:
        >>> wrapped = ValueError("training failed")
        >>> wrapped.__cause__ = RuntimeError("can't optimize a non-leaf Tensor")
        >>> read_error(wrapped)
        ('RuntimeError', "can't optimize a non-leaf Tensor")
    """
    todo: list[object] = [error]
    seen: list[object] = []
    while todo and len(seen) < CHAIN:
        one = todo.pop(0)
        if isinstance(one, BaseException) and not any(one is s for s in seen):
            seen.append(one)
            if cause_of(message := plain(one)):
                return type(one).__name__, message
            inner = getattr(one, "exceptions", ())
            todo += inner if isinstance(inner, tuple) else ()
            todo.append(one.__cause__ or (None if one.__suppress_context__ else one.__context__))
    return type(error).__name__, plain(error)
