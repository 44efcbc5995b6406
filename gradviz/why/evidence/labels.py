"""A loss of predicted labels: what to compute of the scores that they were taken from. Knows no
torch."""

from __future__ import annotations

import ast
from typing import Any

from gradviz.graph.effects import CLASS_LOSSES, ELEMENTWISE_LOSSES
from gradviz.graph.facts import Facts, code_of
from gradviz.graph.records import Call, Cut, Graph, Tensor
from gradviz.graph.redo import DISCRETE
from gradviz.names.frames import whole_code
from gradviz.why.code.rewritten import called_on, parsed
from gradviz.why.evidence.handed_on import KEEPING, computed
from gradviz.words.speech import Code, say

_LOSSES = CLASS_LOSSES | ELEMENTWISE_LOSSES
_EQUAL = frozenset({"eq", "__eq__"})
_NORMALIZED = frozenset({"softmax", "log_softmax"})
_CASTS = KEEPING | {"long", "int"}


def mend_of_labels(cut: Cut, graph: Graph) -> str:
    """Return what to write instead of a loss, or an accuracy, of the labels that argmax gave; ""
    where that is not what a cut is, or where the scores do not go with the classes.

    Args:
        cut: of a recording.
        graph: the recording's.
    """
    call, facts = graph.call[cut.call_id], Facts.of(graph)
    reader = _reader_of_labels(cut.output_id, facts) if call.function == "argmax" else None
    pair = None if reader is None else _scores_and_classes(call, reader, facts)
    if reader is None or pair is None:
        return ""
    scores, classes = pair[0].code_name, _word_given(reader) or pair[1].code_name
    usual = f"F.cross_entropy({scores}, {classes})"
    if reader.function in _EQUAL:
        return say("mend.accuracy", anew=Code(usual), code=Code(code_of(reader)))
    code, anew = _rewritten(reader, scores, classes)
    return say("mend.labels", anew=Code(anew or usual), code=Code(code), scores=scores)


def _reader_of_labels(tensor_id: int | None, facts: Facts) -> Call | None:
    """Return the loss, or the comparison for equality, that takes labels, through what only casts
    or reshapes them; None where that is not known."""
    while tensor_id is not None:
        readers = [c for c in facts.calls_reading.get(tensor_id, ()) if c.outputs]
        if (end := _end_among(readers)) is not None:
            return end
        on = [c for c in readers if c.function in _CASTS and c.inputs[0] == tensor_id]
        tensor_id = on[0].outputs[0] if len(on) == 1 else None
    return None


def _end_among(readers: list[Call]) -> Call | None:
    """Return the first loss, or where there is none the first comparison for equality."""
    losses = [c for c in readers if c.function in _LOSSES]
    equal = [c for c in readers if c.function in _EQUAL]
    return next(iter([*losses, *equal]), None)


def _scores_and_classes(call: Call, reader: Call, facts: Facts) -> tuple[Tensor, Tensor] | None:
    """Return the scores that labels were taken from and the true classes, as whole numbers; None
    where one of them has no name, or they do not go together."""
    tensor, labels = facts.graph.tensor, {*call.outputs}
    others = [i for i in reader.inputs if labels.isdisjoint(facts.ancestors([i]))]
    if len(others) != 1 or not call.inputs:
        return None
    scores = tensor[computed(facts, call.inputs[0], _NORMALIZED)]
    classes = tensor[computed(facts, others[0], _CASTS)]
    shape = list(scores.shape or ())
    is_whole = (classes.dtype or "").startswith(DISCRETE) and classes.dtype != "bool"
    go_together = len(shape) > 1 and shape[:1] + shape[2:] == list(classes.shape or ())
    is_named = bool(scores.code_name and classes.code_name)
    return (scores, classes) if is_whole and go_together and is_named else None


def _word_given(reader: Call) -> str:
    """Return the variable that is a loss' last argument, cast or not; "" for anything else."""
    node = _only_call(whole_code(reader))
    code = ast.unparse(node.args[-1]) if node is not None and node.args else ""
    return called_on(code, _CASTS)


def _rewritten(reader: Call, scores: str, classes: str) -> tuple[str, str]:
    """Return the call of a loss, and how it is written of scores and classes; "" for that where the
    loss is not one of classes."""
    node = _only_call(whole_code(reader))
    if node is None:
        return code_of(reader), ""
    code = ast.unparse(node)
    if reader.function != "cross_entropy" or len(node.args) != 2:
        return code, ""
    node.args = [ast.parse(word, mode="eval").body for word in (scores, classes)]
    return code, ast.unparse(node)


def _only_call(code: str) -> Any:
    """Return the call that an expression, or what a statement binds, is; None for another."""
    value = getattr(parsed(code), "value", None)
    return value if isinstance(value, ast.Call) else None
