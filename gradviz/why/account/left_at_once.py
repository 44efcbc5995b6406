"""Loops that end in their first round: a return that stands in the body, one level too deep."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradviz.graph.records import Call
from gradviz.names.statements import source_of
from gradviz.why.account.remark import Remark, Weight

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

# with these in its body a loop may go on, or be meant to give one value after the other
_GOES_ON = (ast.Continue, ast.Yield, ast.YieldFrom)


def left_at_once(case: Case) -> Iterator[Remark]:
    """Tell of loops that compute something with gradients, and whose body ends with a return under
    no condition.

    A ``break`` there is left alone: so one looks at a single batch.
    """
    for file, loop in case.statements.nodes(ast.For):
        leaving = _last(loop)
        if not isinstance(leaving, ast.Return) or _gives_one(loop.iter):
            continue
        head, place = source_of(file, loop), source_of(file, leaving)
        lines = range(loop.body[0].lineno, (loop.end_lineno or loop.lineno) + 1)
        sources = [c.source for c in case.graph.calls if c.source is not None and _learns(case, c)]
        if not any(s.file == head.file and s.line in lines for s in sources):
            continue
        fields = {
            "leaving": ast.unparse(leaving),
            "place": case.words.line_of(place),
            "loop": f"for {ast.unparse(loop.target)} in {ast.unparse(loop.iter)}",
            "at": case.words.line_of(head),
            "all": ast.unparse(loop.iter),
        }
        yield Remark(Weight.IN_VAIN, "left_at_once", fields, statements=(place, head))


def _learns(case: Case, call: Call) -> bool:
    """Say whether a call gave something with a history: what only looks at a batch has none."""
    return any(case.graph.tensor[i].requires_grad for i in call.outputs)


def _last(loop: ast.For) -> Any:
    """Return the statement that ends every round of a loop; None where a round may go on."""
    if any(isinstance(node, _GOES_ON) for node in ast.walk(loop)):
        return None
    last: Any = loop.body[-1]
    while isinstance(last, ast.With):
        last = last.body[-1]
    return last


def _gives_one(expression: ast.expr) -> bool:
    """Say whether a loop goes through one thing alone, as it is written: ``[x]``, ``range(1)``."""
    if isinstance(expression, (ast.List, ast.Tuple)):
        return len(expression.elts) == 1
    return ast.unparse(expression) == "range(1)"
