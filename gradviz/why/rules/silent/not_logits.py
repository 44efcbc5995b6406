"""A loss that applies softmax or sigmoid itself, or expects logarithms, gets probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Tensor
from gradviz.why.evidence.handed_on import computed, plain_name
from gradviz.why.rules.silent.silent import Silent
from gradviz.why.shown.explanation import Explanation

_PROBABILITIES = ("softmax", "sigmoid")
# what makes their logarithms
_OF_LOGARITHMS = {"log_softmax": "softmax", "logsigmoid": "sigmoid"}
# the losses that take raw scores, and what they apply to them first
_OF_SCORES = {
    "cross_entropy": "softmax",
    "binary_cross_entropy_with_logits": "sigmoid",
    "multilabel_soft_margin_loss": "sigmoid",
}
_OF_LOGS = ("nll_loss", "kl_div")


def not_logits(silent: Silent) -> Iterator[Explanation]:
    """Tell of losses that apply softmax or sigmoid themselves, or expect logarithms, and get
    probabilities: the last such call."""
    for call in reversed(silent.graph.calls):
        expected = _OF_SCORES.get(call.function)
        if expected is None and call.function not in _OF_LOGS:
            continue
        maker = _maker(silent, call.inputs[0]) if call.inputs else None
        if maker is None or not _kind(silent, maker):
            continue
        if not _is_trained_by(silent, call):
            continue
        yield _told_not_logits(silent, call, maker, expected)
        return


def _told_not_logits(silent: Silent, loss: Call, maker: Call, expected: str | None) -> Explanation:
    """Tell of one loss that gets probabilities."""
    made = _kind(silent, maker)
    classes = _classes(silent.graph.tensor[loss.inputs[0]])
    return silent.answer(
        Cause.NOT_LOGITS,
        ("no_log_of_two" if loss.function == "kl_div" else "no_log")
        if expected is None
        else "other"
        if made != expected
        else "sigmoid_twice"
        if made == "sigmoid"
        else "softmax_of_classes"
        if classes
        else "softmax_twice",
        subject=silent.words.code(loss),
        calls=[maker, loss],
        tensors=[loss.inputs[0]],
        function=loss.function,
        made=made,
        applied=expected or "",
        classes=classes,
        least=f"{math.log1p((classes - 1) / math.e):.3f}" if classes else "",
    )


def _classes(scores: Tensor) -> int:
    """Return between how many classes a cross entropy chooses; 0 where it is not known."""
    if not scores.shape:
        return 0
    classes = scores.shape[1 if len(scores.shape) > 1 else 0]
    return classes if classes > 1 else 0


def _maker(silent: Silent, tensor_id: int) -> Call | None:
    """Return the call that computed the numbers of a tensor."""
    return silent.facts.maker.get(computed(silent.facts, tensor_id))


def _kind(silent: Silent, call: Call) -> str:
    """Return the function whose probabilities a call makes, ``exp(log_softmax(x))`` included; "" of
    another call."""
    function = plain_name(call.function)
    if function in _PROBABILITIES:
        return function
    inner = _maker(silent, call.inputs[0]) if function == "exp" and call.inputs else None
    return _OF_LOGARITHMS.get(inner.function, "") if inner is not None else ""


def _is_trained_by(silent: Silent, loss: Call) -> bool:
    """Say whether the gradient of a loss trains what is asked about: a backward ran through it,
    or none ran at all."""
    edges = [silent.graph.tensor[i].gradient_edge for i in loss.outputs]
    nodes = {edge.node_id for edge in edges if edge is not None}
    if not nodes or (silent.facts.ran and not nodes & silent.facts.ran):
        return False
    # a bare question asks about the whole program: also of a copy that is gone
    return silent.bare or silent.concerns(silent.facts.reachable(nodes))
