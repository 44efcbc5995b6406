"""Arguments that a function is given and replaces before anything reads them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from gradviz.names.bindings import READS_ALL, parameters_of
from gradviz.names.position import callee_of, statement_or_head
from gradviz.names.statements import source_of
from gradviz.why.account.called_functions import Called, Calls
from gradviz.why.account.remark import Remark, Weight

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


class _Lost(NamedTuple):
    """A parameter whose argument nothing reads: ``statement`` gives it another value first; or, as
    a ``default``, in the place of an argument that was not given, and nothing reads that either."""

    parameter: str
    statement: ast.stmt
    default: bool


def replaced_arguments(case: Case) -> Iterator[Remark]:
    """Tell of arguments that calls of the program's own functions give, and that have no effect.

    The function gives the parameter a value of its own before it reads it, or looks whether it was
    given and reads nothing of it.
    """
    code = Calls(case.statements)
    for file, function in code.functions:
        called = [c for c in code.all if c.function is function]
        for lost in _lost(function) if called else ():
            giving = next((c for c in called if _gives(c, lost.parameter)), None)
            if giving is None:
                continue
            place = source_of(file, lost.statement)
            given = source_of(giving.file, statement_or_head(giving.call) or giving.call)
            fields = {
                "function": function.name,
                "name": lost.parameter,
                "statement": ast.unparse(lost.statement),
                "place": case.words.line_of(place),
                "given": ast.unparse(giving.given(lost.parameter)),
                "at": case.words.line_of(given),
            }
            key = "argument_only_asked" if lost.default else "argument_replaced"
            yield Remark(Weight.IN_VAIN, key, fields, statements=(place, given))


def _gives(called: Called, parameter: str) -> bool:
    """Say whether a call gives a parameter something that may be a value."""
    given = called.given(parameter)
    is_default = given is None or called.is_left(parameter)
    return not is_default and not isinstance(given, ast.Constant)


def _lost(function: ast.FunctionDef) -> Iterator[_Lost]:
    """Yield the parameters of a function whose arguments nothing reads, though it writes them."""
    names = [n for n in ast.walk(function) if isinstance(n, ast.Name)]
    if any(isinstance(n, ast.Call) and callee_of(n.func) in READS_ALL for n in ast.walk(function)):
        return
    for parameter in parameters_of(function):
        own = (n for n in names if n.id == parameter)
        found = _lost_one(function, sorted(own, key=lambda n: (n.lineno, n.col_offset)))
        if found is not None:
            yield found


def _lost_one(function: ast.FunctionDef, own: list[ast.Name]) -> _Lost | None:
    """Return the statement that takes a parameter's argument away, from where the parameter stands,
    in order; None where there is none."""
    reads = [n for n in own if isinstance(n.ctx, ast.Load)]
    writes = [n for n in own if isinstance(n.ctx, ast.Store)]
    statement: Any = statement_or_head(writes[0]) if writes else None
    if not isinstance(statement, ast.Assign):
        return None
    is_read_before = any(n.lineno <= (statement.end_lineno or 0) for n in reads)
    if _stands_in(statement, function) and not is_read_before:
        return _Lost(own[0].id, statement, default=False)
    is_unread = bool(reads) and len(writes) == 1 and _only_asks(reads, statement)
    return _Lost(own[0].id, statement, default=True) if is_unread else None


def _stands_in(statement: ast.stmt, function: ast.FunctionDef) -> bool:
    """Say whether a statement of a function runs under no condition, and in no loop."""
    return any(statement is own for own in function.body)


def _only_asks(reads: list[ast.Name], statement: Any) -> bool:
    """Say whether a parameter is read in ``if p is None`` around a statement alone."""
    around = statement.parent
    if not isinstance(around, ast.If) or len(reads) != 1:
        return False
    test: Any = around.test
    asks = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is)
    return asks and test.left is reads[0] and ast.unparse(test.comparators[0]) == "None"
