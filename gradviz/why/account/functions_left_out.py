"""Custom Functions of the program's that never ran, as a default left them out: a gradient reversal
that nobody switched on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradviz.names.bindings import scope_of
from gradviz.names.position import callee_of, statement_or_head
from gradviz.names.statements import Statements, source_of
from gradviz.why.account.called_functions import (
    Calls,
    constant_default,
    left_by_all,
    test_around,
)
from gradviz.why.account.remark import Remark, Weight

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def functions_left_out(case: Case) -> Iterator[Remark]:
    """Tell of a custom Function that is applied under a condition which a default decides, where no
    call chose otherwise and it never ran."""
    code = Calls(case.statements)
    ran = {call.function.partition(".")[0] for call in case.graph.calls}
    for kind in (n.name for n in code.classes.values() if _is_function(n) and n.name not in ran):
        for file, call in _applications(case.statements, kind):
            remark = _left_out(case, code, kind, file, call)
            if remark is not None:
                yield remark


def _left_out(case: Case, code: Calls, kind: str, file: Any, call: ast.Call) -> Remark | None:
    """Tell of one place where a custom Function is applied; None where no default leaves it out."""
    function = scope_of(call)
    if not isinstance(function, ast.FunctionDef):
        return None
    test = test_around(statement_or_head(call), function)
    calls = [c for c in code.all if c.function is function]
    name = None if test is None else left_by_all(test, function, calls)
    if name is None:
        return None
    places = [source_of(c.file, statement_or_head(c.call) or c.call) for c in calls]
    fields = {
        "kind": kind,
        "call": ast.unparse(call),
        "place": case.words.line_of(source_of(file, call)),
        "test": ast.unparse(test),
        "name": name,
        "default": str(constant_default(function, name)),
        "other": str(not constant_default(function, name)),
        "at": [case.words.line_of(p) for p in places],
    }
    return Remark(Weight.WEIGHTY, "applied_if_told", fields, statements=(*places,))


def _is_function(kind: ast.ClassDef) -> bool:
    """Say whether a class is a custom Function."""
    is_derived = any(callee_of(base) == "Function" for base in kind.bases)
    methods = {n.name for n in kind.body if isinstance(n, ast.FunctionDef)}
    return is_derived and {"forward", "backward"} <= methods


def _applications(statements: Statements, kind: str) -> Iterator[tuple[Any, ast.Call]]:
    """Yield the calls in code that ran which apply a custom Function, or a function that does."""
    apply = f"{kind}.apply"
    trees = (file.tree for file in statements.files if file.tree is not None)
    functions = (n for tree in trees for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))
    appliers = {apply, *(node.name for node in functions if apply in ast.unparse(node))}
    for file, call in statements.nodes(ast.Call):
        if {ast.unparse(call.func), callee_of(call.func)} & appliers:
            yield file, call
