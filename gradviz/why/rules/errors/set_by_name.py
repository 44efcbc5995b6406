"""A result that ``setattr`` put on a module, and deepcopy refused. Plain data in and out, knows no
torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Source
from gradviz.names.frames import frames, names_in
from gradviz.names.position import callee_of, display_name, statement_or_head
from gradviz.names.statements import function_around, source_of
from gradviz.why.rules.errors.about_an_input import blamed
from gradviz.why.rules.errors.failure import Failure, call_at
from gradviz.why.rules.errors.kept_results import is_given, module_copied
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code, say


def set_by_name(failure: Failure) -> Explanation | None:
    """Tell of the ``setattr`` that put a result where a deep copy of the module finds it."""
    tensor = blamed(failure, failure.cause) if failure.cause else None
    maker = None if tensor is None else failure.facts.first_maker.get(tensor.object_id)
    if tensor is None or maker is None or tensor.is_leaf or is_given(failure, tensor, maker):
        return None
    copied = module_copied(failure)
    for place in _setting(failure, maker) if copied else ():
        return failure.answer(
            Cause.DEEPCOPY_NON_LEAF,
            "set_by_name",
            calls=[call_at(place), failure.call],
            tensors=[tensor],
            code=Code(place.code or ""),
            mend=say("raised.none_above_all", module=Code(copied), copy=_code_of_copy(failure)),
        )
    return None


def _code_of_copy(failure: Failure) -> str:
    """Return the statement that copies."""
    place = None if failure.failed is None else failure.failed.place
    return Code(place.code or "") if place is not None else ""


def _setting(failure: Failure, maker: Call) -> Iterator[Source]:
    """Yield the statements that give what a call made to an attribute by ``setattr``."""
    nodes = () if failure.statements is None else failure.statements.nodes(ast.Call)
    calls = [(f, n) for f, n in nodes if callee_of(n.func) == "setattr" and len(n.args) == 3]
    for frame in frames(maker):
        bound = names_in(frame.code)[0]
        for file, node in calls:
            is_there = display_name(file.filename) == frame.file
            given = ast.unparse(node.args[2]) in bound and _holds(function_around(node), frame.line)
            if is_there and (given or _holds(statement_or_head(node), frame.line)):
                yield source_of(file, statement_or_head(node))


def _holds(node: Any, line: int) -> bool:
    """Say whether a line is one of a node's."""
    return node is not None and int(node.lineno) <= line <= int(node.end_lineno)
