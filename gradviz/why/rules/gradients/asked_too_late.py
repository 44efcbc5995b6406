"""Inputs of autograd.grad that were made after its output: nothing was computed from them, and the
gradient is None. Plain data in and out, knows no torch."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from gradviz.graph.facts import Facts
from gradviz.graph.findings import Cause
from gradviz.graph.records import Backward, Call
from gradviz.names.frames import frames
from gradviz.names.position import callee_of
from gradviz.why.code.rewritten import parsed
from gradviz.why.evidence.handed_on import KEEPING, plain_name
from gradviz.why.evidence.paths import Asked, Paths
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code

_MAKING = KEEPING | {"neg", "__neg__", "view", "mul", "__iter__"}


class Written(NamedTuple):
    """The first gradient of one input, as it is asked for.

    Attributes:
        root: the output.
        part: the input.
        whole: the variable of which that is a part, another view, or the negative.
        code: all of it.
        anew: the same part of the gradient of the whole.
    """

    root: str
    part: str
    whole: str
    code: str
    anew: str


def asked_too_late(paths: Paths) -> Explanation | None:
    """Tell of an input that is made in the call of ``autograd.grad`` itself, as ``param[i]`` is,
    where each such call in that line gave None: the output is older than it."""
    facts, graph = paths.facts, paths.graph
    runs = [b for b in graph.backwards if b.kind == "grad" and b.raised_at is None]
    for run in runs:
        maker = _made_late(facts, run)
        found = None if maker is None else _written(graph.call[run.call_id])
        if maker is None or found is None:
            continue
        line = _line(graph.call[run.call_id])
        alike = [b for b in runs if _line(graph.call[b.call_id]) == line]
        if all(gradient is None for b in alike for _, gradient in b.returned):
            return _told(paths, run, maker, found)
    return None


def _told(paths: Paths, run: Backward, maker: Call, found: Written) -> Explanation:
    """Tell of one such call."""
    call = paths.graph.call[run.call_id]
    return paths.answer(
        Asked(found.part, call.inputs[1], requires_grad=True, is_leaf=False),
        Cause.NOT_IN_LOSS,
        "made_too_late",
        calls=list(dict.fromkeys([call, maker])),
        checked=(),
        root=Code(found.root),
        part=Code(found.part),
        whole=Code(found.whole),
        code=Code(found.code),
        anew=Code(found.anew),
    )


def _line(call: Call) -> object:
    """Return where a call stands."""
    return call.source[:2] if call.source is not None else call.id


def _made_late(facts: Facts, run: Backward) -> Call | None:
    """Return the call that made the only input of a run, after its output and in the same line."""
    call = facts.graph.call[run.call_id]
    if len(call.inputs) != 2 or len(run.returned) != 1:
        return None
    root, maker = facts.maker.get(call.inputs[0]), facts.maker.get(call.inputs[1])
    if maker is None or plain_name(maker.function) not in _MAKING or len(maker.inputs) != 1:
        return None
    is_later = root is None or root.id < maker.id
    is_older = call.inputs[0] < call.inputs[1]
    return maker if is_later and is_older and _line(maker) == _line(call) else None


def _written(call: Call) -> Written | None:
    """Return the input as it is written in a call of ``autograd.grad``, what it is made of, the
    call, and that with the gradient of the whole; None where it is no part of a variable."""
    statement = next((parsed(frame.code) for frame in frames(call)), None)
    nodes = [] if statement is None else ast.walk(statement)
    firsts = [n for n in nodes if isinstance(n, ast.Subscript) and ast.unparse(n.slice) == "0"]
    calls = [(n, n.value) for n in firsts if isinstance(n.value, ast.Call)]
    calls = [(n, c) for n, c in calls if callee_of(c.func) == "grad" and len(c.args) > 1]
    whole = _whole(calls[0][1].args[1]) if len(calls) == 1 else None
    if whole is None:
        return None
    first, asked = calls[0]
    written, part, name = (ast.unparse(n) for n in (first, asked.args[1], whole))
    of_whole = written.replace(part, name, 1)
    return Written(ast.unparse(asked.args[0]), part, name, written, part.replace(name, of_whole, 1))


def _whole(node: Any) -> Any:
    """Return the variable of which an expression is a part, another view, or the negative; None of
    anything else."""
    if isinstance(node, ast.Subscript):
        whole = node.value
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        whole = node.operand
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        whole = node.func.value
    else:
        return None
    return whole if isinstance(whole, (ast.Name, ast.Attribute)) else None
