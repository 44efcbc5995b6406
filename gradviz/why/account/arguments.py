"""What the code gives to a function and that does not come there, and defaults that choose where
nobody did."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from gradviz.names.bindings import READS_ALL, default_of, parameters_of, scope_of
from gradviz.names.position import callee_of, statement_or_head
from gradviz.names.statements import freezes, source_of
from gradviz.watch.identity import parameters
from gradviz.why.account.called_functions import (
    Called,
    Calls,
    constant_default,
    left_by_all,
    test_around,
)
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.code.reading import value_of

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def arguments(case: Case) -> Iterator[Remark]:
    """Tell of arguments that have no effect, and of defaults that freeze."""
    code = Calls(case.statements)
    yield from _read_outside(case, code)
    yield from _not_handed_on(case, code)
    yield from _frozen_unless_told(case, code)
    yield from _would_freeze(case, code)


def _read_outside(case: Case, code: Calls) -> Iterator[Remark]:
    """Tell of a function that never reads the tensor which it is given first, and reads one of the
    variables around it."""
    given = {id(c.function): c for c in code.all if _takes_tensor(case, c)}
    for called in given.values():
        function, parameter = called.function, called.first
        outside = _read_in_place_of(parameter, function, case)
        if outside is None:
            continue
        file = next(file for file, node in code.functions if node is function)
        place = source_of(file, function)
        reading = source_of(file, statement_or_head(outside) or outside)
        fields = {
            "function": function.name,
            "place": case.words.line_of(place),
            "name": parameter,
            "other": outside.id,
            "statement": reading.code,
            "at": case.words.line_of(reading),
        }
        yield Remark(Weight.IN_VAIN, "read_outside", fields, statements=(reading, place))


def _read_in_place_of(
    parameter: str | None, function: ast.FunctionDef, case: Case
) -> ast.Name | None:
    """Return where a function first reads a tensor of the variables around it, where it does not
    mention a parameter of its own."""
    names = [n for n in ast.walk(function) if isinstance(n, ast.Name)]
    mentioned = {n.id for n in names}
    if parameter in mentioned or READS_ALL & mentioned:
        return None
    bound = {n.id for n in names if isinstance(n.ctx, ast.Store)}
    own = {*parameters_of(function), *bound}
    outside = (n for n in names if n.id not in own and _holds_tensor(case.known.get(n.id)))
    return next(outside, None)


def _takes_tensor(case: Case, called: Called) -> bool:
    """Say whether a call gives a variable that holds a tensor first."""
    given = None if called.first is None else called.given(called.first)
    return given is not None and _holds_tensor(value_of(given, case.known))


def _holds_tensor(value: Any) -> bool:
    return issubclass(type(value), torch.Tensor)


def _not_handed_on(case: Case, code: Calls) -> Iterator[Remark]:
    """Tell of an argument that a function is given and does not read, while it calls another one
    that has a parameter of that name, and leaves that at its default."""
    for inner in code.all:
        outer = scope_of(inner.call)
        if not isinstance(outer, ast.FunctionDef) or outer is inner.function:
            continue
        read = {n.id for n in ast.walk(outer) if isinstance(n, ast.Name)}
        own = [p for p in parameters_of(outer) if p not in read and inner.is_left(p)]
        for name in own if not READS_ALL & read else ():
            if not any(c.function is outer and not c.is_left(name) for c in code.all):
                continue
            place = source_of(inner.file, statement_or_head(inner.call) or inner.call)
            fields = {
                "name": name,
                "function": outer.name,
                "statement": place.code,
                "place": case.words.line_of(place),
                "default": ast.unparse(default_of(inner.function, name)),
                "call": ast.unparse(inner.call.func),
            }
            yield Remark(Weight.IN_VAIN, "not_handed_on", fields, statements=(place,))


def _frozen_unless_told(case: Case, code: Calls) -> Iterator[Remark]:
    """Tell of a default by which a function freezes parameters, where nothing but that chose it."""
    functions = code.functions if _has_frozen(case) else []
    for file, function, statement in ((f, n, s) for f, n in functions for s in _freezing(n)):
        test = test_around(statement, function)
        calls = [c for c in code.all if c.function is function]
        name = left_by_all(test, function, calls) if test is not None else None
        if name is None:
            continue
        places = [source_of(c.file, statement_or_head(c.call) or c.call) for c in calls]
        fields = {
            "statement": ast.unparse(statement).split("\n")[0],
            "place": case.words.line_of(source_of(file, statement)),
            "test": ast.unparse(test),
            "name": name,
            "default": str(constant_default(function, name)),
            "other": str(not constant_default(function, name)),
            "calls": [f"{ast.unparse(c.call.func)}(…)" for c in calls],
            "at": [case.words.line_of(p) for p in places],
        }
        yield Remark(Weight.WEIGHTY, "frozen_unless_told", fields, statements=(*places,))


def _has_frozen(case: Case) -> bool:
    """Say whether a known module has frozen parameters."""
    return any(not p.requires_grad for m in case.known_modules for p in parameters(m))


def _freezing(function: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements of a function that switch requires_grad off."""
    for node in filter(freezes, ast.walk(function)):
        statement = statement_or_head(node)
        if isinstance(statement, ast.stmt):
            yield statement


def _would_freeze(case: Case, code: Calls) -> Iterator[Remark]:
    """Tell of a method that would freeze parts of a module as its constructor was told, and that
    did not run: nothing of the module is frozen."""
    ran = {(c.co_name, c.co_firstlineno) for c in case.statements.codes}
    for model, kind in _of_unfrozen(case, code):
        methods = [n for n in kind.body if isinstance(n, ast.FunctionDef)]
        for method in methods:
            callers = [m for m in methods if f"self.{method.name}(" in ast.unparse(m)]
            is_begun = (method.name, method.lineno) in ran or any(map(_is_begun, callers))
            told = None if is_begun else _told_to(method, kind, code)
            if told is not None:
                yield _not_run(case, model, method, callers, told)


def _of_unfrozen(case: Case, code: Calls) -> Iterator[tuple[str, ast.ClassDef]]:
    """Yield the known modules of which nothing is frozen, each with the node of its class."""
    for module in case.known_modules:
        kind = code.classes.get(type(module).__name__)
        if kind is not None and all(p.requires_grad for p in parameters(module)):
            yield case.called.get(id(module)) or kind.name, kind


def _is_begun(method: ast.FunctionDef) -> bool:
    """Say whether a method runs whenever an object is made."""
    return method.name == "__init__"


def _not_run(
    case: Case, model: str, method: ast.FunctionDef, callers: list[ast.FunctionDef], told: _Told
) -> Remark:
    """Tell of one such method."""
    by = next((m for m in callers if m.name == "train"), method)
    places = [source_of(told.file, m) for m in (method, *callers)]
    made = source_of(told.file, told.statement)
    fields = {
        "method": f"{model}.{method.name}",
        "place": case.words.line_of(places[0]),
        "callers": [f"{m.name}()" for m in callers] or ["nothing"],
        "there": "".join(f" ({case.words.line_of(p)})" for p in places[1:2]),
        "made": made.code,
        "at": case.words.line_of(made),
        "told": told.argument,
        "call": f"{model}.{by.name}()",
    }
    return Remark(Weight.IN_VAIN, "would_freeze", fields, statements=(made, *places))


class _Told(NamedTuple):
    """What a constructor was told: ``argument`` in a ``statement`` of a file."""

    file: Any
    statement: ast.AST
    argument: str


def _told_to(method: ast.FunctionDef, kind: ast.ClassDef, code: Calls) -> _Told | None:
    """Return the statement that makes an object with an argument which its constructor keeps as an
    attribute that a freezing method reads, with the file and that argument; None where there is
    none."""
    if not any(_freezing(method)):
        return None
    read = {n.attr for n in ast.walk(method) if isinstance(n, ast.Attribute)}
    for made in code.all:
        if callee_of(made.call.func) != kind.name or made.function.name != "__init__":
            continue
        for parameter in parameters_of(made.function)[1:]:
            given = made.given(parameter)
            if parameter in read and given is not None and not made.is_left(parameter):
                statement = statement_or_head(made.call) or made.call
                return _Told(made.file, statement, f"{parameter}={ast.unparse(given)}")
    return None
