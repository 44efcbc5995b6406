"""Autograd's error messages: which one a text is, and what to say about it where little has to be
looked up.

torch's words differ a little from version to version, and libraries wrap them into errors of their
own: the text is searched for anywhere in a message. Knows no torch.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gradviz.graph.findings import Cause
from gradviz.graph.records import Cut, CutReason, Graph

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
}
_KNOWN = re.compile(
    "|".join(f"(?P<{cause}>{text})" for cause, text in _TEXTS.items()), re.IGNORECASE
)
_STALE = re.compile(
    r"\[[\w.]*\w \[([\d, ]{0,200})\]\].{0,200}?is at version (\d{1,9}); expected version (\d{1,9})"
)


class Told(NamedTuple):
    """Sentences about a cause. ``{name}`` is the tensor, ``{it}`` its short name, ``{code}`` the
    call that raised."""

    verdict: str
    why: str
    mend: str


SAID = {
    Cause.LEAF_IN_PLACE: Told(
        "{code} writes {name} in place, and {name} is a leaf that requires grad.",
        "autograd forbids this while it records: a leaf has no grad_fn that could hold the change.",
        "with torch.no_grad(): around the write (or torch.nn.init); or make a new tensor instead.",
    ),
    Cause.VIEW_OF_LEAF_IN_PLACE: Told(
        "{code} writes in place through a view of {base}, a leaf that requires grad.",
        "the write would change the leaf itself, and autograd forbids that while it records.",
        "with torch.no_grad(): around the write; or write into a clone().",
    ),
    Cause.NOT_SCALAR: Told(
        "backward needs one number to start from, and {name} has {shape}.",
        "for a single number the gradient to start with is 1; for more it is not defined.",
        "reduce first: .sum() or .mean(); or pass the gradient to start with, of the same shape.",
    ),
    Cause.NEVER_TRACKED: Told(
        "autograd.grad was asked for the gradient of {name}, which does not require grad.",
        "no gradient is computed for what does not require grad.",
        "{it}.requires_grad_() before the forward, and not on a copy made afterwards.",
    ),
    Cause.INFERENCE_TENSOR: Told(
        "{name} was made in inference_mode; {code} needs an ordinary tensor.",
        "inference tensors have no version counter, so autograd can neither save nor change them.",
        "torch.no_grad() instead of inference_mode where it is made; or {it}.clone() outside of"
        " inference_mode.",
    ),
    Cause.NUMPY_ON_TRACKED: Told(
        "{name} requires grad, and numpy would leave autograd without a word.",
        "an array has no grad_fn: nothing that is computed from it sends a gradient back.",
        "to print or plot, {it}.detach().numpy(); where the result goes into the loss, stay in"
        " torch.",
    ),
    Cause.DEEPCOPY_NON_LEAF: Told(
        "{name} is a result with a graph behind it, and only leaves can be deep-copied.",
        "a deep copy would have to copy the graph too.",
        "{it}.detach().clone(); on a module, keep no tracked result as an attribute, or delete it"
        " first.",
    ),
    Cause.REQUIRES_GRAD_NON_FLOAT: Told(
        "only floating point and complex tensors can require grad{dtype}.",
        "a derivative needs values that can change by a little; whole numbers and bools cannot.",
        "dtype=torch.float32, or .float() first.",
    ),
    Cause.REQUIRES_GRAD_NON_LEAF: Told(
        "{name} is a result, and only a leaf's requires_grad can be switched.",
        "a result requires grad because of what it was computed from.",
        "{it}.detach() for a value without gradient; {it}.retain_grad() to keep its .grad.",
    ),
    Cause.DETACH_VIEW_IN_PLACE: Told(
        "{name} is a view{of}, and a view cannot be detached in place.",
        "detach_() would cut the view off while it shares its memory with a tensor that stays in"
        " the graph.",
        "take {it}.detach() under a new name instead.",
    ),
    Cause.VIEW_IN_PLACE: Told(
        "{code} writes in place through a view that autograd cannot follow: {name}{of}.",
        "a view made under no_grad, or one of several that one call returned, has no history that"
        " could be rewritten.",
        "compute a new tensor instead; or make the view on the same side of no_grad as the write.",
    ),
    Cause.NON_LEAF_IN_OPTIMIZER: Told(
        "an optimizer was given a result instead of a leaf.",
        "a result (of .to(), * 0.01, .double()) gets no .grad, so no step could move it.",
        "move and scale first, then ask for gradients: torch.randn(3).mul(0.01).requires_grad_().",
    ),
}

# What to write instead of a call that cuts.
REPAIRS = {
    CutReason.DETACH: (
        "leave detach() out where the gradient is wanted; clone() copies and stays connected."
    ),
    CutReason.DETACH_IN_PLACE: "leave detach_() out where the gradient is wanted.",
    CutReason.DATA: "use the tensor itself instead of .data.",
    CutReason.NO_GRAD: (
        "make this call outside of no_grad (or after set_grad_enabled(True)), if it is to learn."
    ),
    CutReason.INFERENCE_MODE: "make this call outside of inference_mode, if it is to learn.",
    CutReason.NOT_DIFFERENTIABLE: (
        "use a function with a derivative (softmax for argmax, sigmoid for a comparison)."
    ),
    CutReason.INTEGER_DTYPE: "stay in a floating-point dtype on the way to the loss.",
    CutReason.COPIED_OUT: (
        "stay in torch: no item(), numpy() or torch.tensor(t) on the way to the loss."
    ),
    CutReason.NO_GRAD_WRITE: (
        "write outside of no_grad, or build the tensor with torch.stack, cat or where."
    ),
    CutReason.FLAG_OFF: "leave requires_grad on until the forward has run.",
    CutReason.UNKNOWN: "use the tensor from before this call.",
    CutReason.CUSTOM_NON_DIFFERENTIABLE: (
        "do not mark that output of the Function non-differentiable."
    ),
}

REENTRANT = "CheckpointFunction"  # reentrant checkpoint: torch's, and those made after it
UNTRACKED = "no tensor input asks for gradient, so reentrant checkpoint ran without recording."
NON_REENTRANT = (
    "use_reentrant=False, or let the input require grad (model.enable_input_require_grads())."
)


def repair(cut: Cut, graph: Graph) -> str:
    """What to write instead of a call that cuts. A no_grad that is not the user's own is none that
    he can leave."""
    call = graph.call[cut.call_id]
    near = [graph.call.get(call.id + i) for i in range(10)]  # what a distribution's sample() calls
    here = [
        c.source.code or ""
        for c in near
        if c and c.source and call.source and c.source[:2] == call.source[:2]
    ]
    if cut.reason is CutReason.NO_GRAD and call.function.startswith(REENTRANT) and call.grad_mode:
        return NON_REENTRANT
    if cut.reason is CutReason.NO_GRAD and any(re.search(r"\.sample\b", code) for code in here):
        return (
            "rsample() where the distribution has it; else the sample's log_prob in the loss"
            " (sample() has no_grad)."
        )
    return REPAIRS[cut.reason]


def plain(message: object) -> str:
    """A message on one line, without its middle where it is very long; "" where it cannot be
    read."""
    try:
        text = str(message)
    except Exception:
        return ""
    text = text if len(text) <= 2 * MOST else f"{text[:MOST]} {text[-MOST:]}"
    return " ".join(text.split())


def cause_of(message: str) -> Cause | None:
    """Which of autograd's errors a message is, wherever in it torch's text stands.

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


def number(message: str, word: str) -> int | None:
    """The last "element" or "index" that torch's text names.

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
    """What an error about an in-place write says of the tensor; None in the words of an old torch.

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
    """Type and message of an error, or of the one behind it that torch raised. Keeps nothing of it.

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
