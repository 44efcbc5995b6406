"""A line that can only freeze: it sets the flags of what requires grad, ``if p.requires_grad:
p.requires_grad = trainable``, and so never lets anything learn again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from gradviz.graph.findings import Cause
from gradviz.graph.records import Source
from gradviz.names.position import display_name
from gradviz.names.statements import source_of
from gradviz.why.question.subjects import held_by
from gradviz.why.rules.silent.silent import Silent
from gradviz.why.shown.explanation import Explanation

_FLAG = "requires_grad"


def only_off(asked: Silent) -> Explanation | None:
    """Tell of what such a line froze, and an optimizer holds: it was to learn."""
    frozen = [p for p in held_by(asked.named_optimizers.values()).values() if not p.requires_grad]
    own = {asked.object_of(p) for p in frozen} - {None}
    for place, condition, lines in _guarded(asked) if own else ():
        left = [i for i in own & _frozen_at(asked, place.file, lines) if i is not None]
        if left:
            return asked.answer(
                Cause.FROZEN,
                "only_off",
                statements=[place._replace(line=lines[0], code=f"if {condition}:"), place],
                tensors=asked.states_of(left),
                names=asked.names_of(left),
                code=place.code,
                condition=condition,
            )
    return None


def _frozen_at(asked: Silent, file: str, lines: range) -> set[int]:
    """Return the objects whose flag a call in some lines left off."""
    found = set[int]()
    for event in asked.facts.writes:
        source = asked.graph.call[event.call_id].source
        state = asked.graph.tensor[event.after_id]
        is_there = source is not None and source.file == file and source.line in lines
        if is_there and state.requires_grad is False:
            found.add(state.object_id)
    return found


def _guarded(asked: Silent) -> Iterator[tuple[Source, str, range]]:
    """Yield the statements that set the flag of what has it on already, and no constant: each with
    the condition, and the lines of what it governs."""
    for file, node in asked.statements.nodes(ast.If):
        if not isinstance(node.test, ast.Attribute) or node.test.attr != _FLAG:
            continue
        condition = ast.unparse(node.test)
        for inner in node.body:
            if _sets(inner, condition):
                place = source_of(file, inner)._replace(file=display_name(file.filename))
                yield place, condition, range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _sets(node: Any, target: str) -> bool:
    """Say whether a statement sets an attribute to what is no constant."""
    return (
        isinstance(node, ast.Assign)
        and [ast.unparse(t) for t in node.targets] == [target]
        and not isinstance(node.value, ast.Constant)
    )
