"""A loss of data alone: what the model made stands beside it, and nothing reads that. Plain data in
and out, knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call
from gradviz.names.frames import frames, place_at
from gradviz.names.position import dotted
from gradviz.why.code.rewritten import parsed
from gradviz.why.evidence.handed_on import plain_name
from gradviz.why.rules.errors.failure import Failure
from gradviz.why.rules.errors.unread_results import unread_like
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code

_DIFFERENCES = {"sub", "__sub__", "cosine_similarity", "binary_cross_entropy_with_logits"}


class Compared(NamedTuple):
    """A statement that compares two things.

    Attributes:
        place: where it stands.
        names: both, as they are written.
        part: the comparison.
        anew: it with the prediction in the place of the first.
    """

    place: Call
    names: list[str]
    part: str
    anew: str


def without_prediction(failure: Failure) -> Explanation | None:
    """Tell of a loss that compares two tensors without a gradient, one and the same or two, while
    what the model made, of the same shape, is read by nothing."""
    for call in _comparisons(failure):
        first, second = (failure.graph.tensor[i] for i in call.inputs[:2])
        made = unread_like(failure, first, reversed(failure.calls_before(call)))
        found = None if made is None else _compared(call, made.code_name)
        if made is None or found is None:
            continue
        is_one = first.object_id == second.object_id or len(set(found.names)) == 1
        return failure.answer(
            Cause.NO_GRAD_FN,
            "compared_with_itself" if is_one else "without_prediction",
            calls=[found.place, failure.binding(made)],
            tensors=[failure.root, made],
            start=failure.start,
            names=[Code(name) for name in dict.fromkeys(found.names)],
            first=Code(found.names[0]),
            made=Code(made.code_name),
            part=Code(found.part),
            anew=Code(found.anew),
        )
    return None


def _comparisons(failure: Failure) -> Iterator[Call]:
    """Yield the calls behind the root that compare two tensors of which none is tracked."""
    makers = {c.id: c for i in failure.behind_root if (c := failure.facts.maker.get(i)) is not None}
    for _, call in sorted(makers.items(), reverse=True):
        function = plain_name(call.function)
        if function in _DIFFERENCES or function.endswith(("_loss", "cross_entropy")):
            given = [failure.graph.tensor[i] for i in call.inputs]
            if len(given) >= 2 and not any(t.requires_grad for t in given):
                yield call


def _compared(call: Call, output: str) -> Compared | None:
    """Return the innermost statement by which a call compares two variables, written with what the
    model made in the place of the first; None where that is not written so."""
    for depth, frame in enumerate(frames(call)):
        statement = parsed(frame.code)
        nodes = [] if statement is None else ast.walk(statement)
        found = [pair for node in nodes if (pair := _pair_in(node)) is not None]
        if len(found) == 1:
            node, one, other = found[0]
            names, part = [ast.unparse(one), ast.unparse(other)], ast.unparse(node)
            if depth and names[0] != names[1]:
                return None  # what a helper was given stands for other things there
            if names[0] in ("self", output):
                return None
            anew = part.replace(names[0], output, 1)
            return Compared(place_at(call, depth), names, part, anew)
    return None


def _pair_in(node: ast.AST) -> tuple[ast.expr, ast.expr, ast.expr] | None:
    """Return a comparison of two variables, and these; None where a node is none."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        pair = node.left, node.right
    elif isinstance(node, ast.Call) and len(node.args) == 2:
        pair = node.args[0], node.args[1]
    else:
        return None
    return None if None in map(dotted, pair) else (node, *pair)
