"""Why a learning rate is 0, and which line made it so. Reads the user's code, runs none of it."""

from __future__ import annotations

import ast
import gc
import inspect
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from gradviz.graph.records import Source
from gradviz.names.statements import (
    Statements,
    code_of_function,
    function_around,
    function_node,
    source_of,
    writes_key,
)
from gradviz.why.question.subjects import of_kind

_NUMBERS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARES: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {"float": float, "int": int, "max": max, "min": min}


class Zero(NamedTuple):
    """Why a learning rate is 0.

    Attributes:
        statements: the lines that made it so, as far as they are known.
        scheduler: class of the schedule that did, "" where none did.
        fresh: whether that schedule still stands at its begin.
        written: whether the code writes it itself.
        uncalled: the method that writes it, where that did not run: "NoamOpt.step".
        divides: the division of whole numbers that gave this 0: "n // 5".
    """

    statements: tuple[Source, ...]
    scheduler: str
    fresh: bool
    written: bool = False
    uncalled: str = ""
    divides: str = ""


def groups_at_zero(optimizer: Any) -> list[Mapping[str, Any]]:
    """Return the groups of an optimizer whose learning rate is 0."""
    return [group for group in optimizer.param_groups if _is_zero(group.get("lr"))]


def _is_zero(rate: Any) -> bool:
    if isinstance(rate, torch.Tensor):
        return rate.numel() == 1 and float(rate) == 0.0
    return isinstance(rate, (int, float)) and rate == 0


def why_zero(optimizer: Any, name: str, statements: Statements) -> Zero:
    """Tell why the learning rate of an optimizer is 0.

    Args:
        optimizer: it has a group whose rate is 0.
        name: what its variable is called.
        statements: the user's code.
    """
    group = groups_at_zero(optimizer)[0]
    schedulers = _schedules_at_zero(optimizer, group)
    if not schedulers or _is_zero(group.get("initial_lr", 0)):
        return _written_zero(name, statements)
    scheduler = schedulers[-1]
    step = getattr(scheduler, "last_epoch", 0)
    zero = _factor_at_zero(scheduler, step)
    factor, divides = (None, "") if zero is None else (zero.place, zero.divides)
    made = [s for s in statements.passes(name) if type(scheduler).__name__ in (s.code or "")]
    places = tuple([factor] if factor else made[:1])
    return Zero(places, type(scheduler).__name__, fresh=step == 0, divides=divides)


def _written_zero(name: str, statements: Statements) -> Zero:
    """Tell where the user's code gives an optimizer a learning rate of 0: the line that writes it,
    whatever the optimizer was made with; else the one that makes the optimizer."""
    places = list(dict.fromkeys(statements.writes_key("lr")))
    uncalled = _uncalled_writers(statements)
    if places and len(uncalled) == len(places):
        return Zero(tuple(places[:1]), "", fresh=False, written=True, uncalled=uncalled[0])
    if places:
        origins = (*_origins(statements), *places) if len(places) == 1 else ()
        return Zero(origins, "", fresh=False, written=True)
    bound = statements.binds(name)
    places = [place for place, node in bound if _says_zero(node.value)]
    places = places or [place for place, _ in bound]
    return Zero(tuple(places) if len(places) == 1 else (), "", fresh=False)


def _uncalled_writers(statements: Statements) -> list[str]:
    """Return the methods that write a learning rate, step an optimizer and did not run, one for
    each statement; of one that steps nothing it is not known."""
    ran = {(code.co_name, code.co_firstlineno) for code in statements.codes}
    found = []
    for _, node in statements.nodes((ast.Assign, ast.AugAssign)):
        around: Any = function_around(node) if writes_key(node, "lr") else None
        if around is None or not any(map(_is_step, ast.walk(around))):
            continue
        if (around.name, around.lineno) not in ran:
            owner = getattr(around.parent, "name", "")
            found.append(f"{owner}.{around.name}" if owner else around.name)
    return found


def _is_step(node: ast.AST) -> bool:
    """Say whether a node calls a method ``step``."""
    function = node.func if isinstance(node, ast.Call) else None
    return isinstance(function, ast.Attribute) and function.attr == "step"


def _origins(statements: Statements) -> Iterator[Source]:
    """Yield where the names get their values, from which a learning rate is written in the same
    function."""
    for file, node in statements.nodes((ast.Assign, ast.AugAssign)):
        around = function_around(node) if writes_key(node, "lr") else None
        if around is None:
            continue
        names = {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
        inner = [n for n in ast.walk(around) if isinstance(n, ast.Assign)]
        given = [(n, t) for n in inner for t in n.targets if isinstance(t, ast.Name)]
        yield from (source_of(file, n) for n, t in given if t.id in names)


def _schedules_at_zero(optimizer: Any, group: Mapping[str, Any]) -> list[Any]:
    """Return the schedules of an optimizer that gave a group the learning rate 0 last."""
    place = next(i for i, one in enumerate(optimizer.param_groups) if one is group)
    return [s for s in schedules_of(optimizer) if _is_zero(last_rate(s, place))]


def schedules_of(optimizer: Any) -> list[Any]:
    """Return the living schedules of an optimizer."""
    every = of_kind(gc.get_objects(), torch.optim.lr_scheduler.LRScheduler)
    return [s for s in every if getattr(s, "optimizer", None) is optimizer]


def last_rate(scheduler: Any, place: int) -> Any:
    """Return the learning rate that a schedule gave a group last; None where that is not known."""
    rates = vars(scheduler).get("_last_lr", ())
    return rates[place] if place < len(rates) else None


def came_to_zero_last(scheduler: Any) -> bool:
    """Say whether the newest step of a LambdaLR is the first that its function gives 0 for, as it
    does at the end of a training."""
    step = getattr(scheduler, "last_epoch", 0)
    before, now = (_factor_at_zero(scheduler, n) for n in (step - 1, step))
    return now is not None and before is None


def _says_zero(node: ast.AST) -> bool:
    """Say whether a call passes a learning rate of 0."""
    keywords = node.keywords if isinstance(node, ast.Call) else ()
    return any(k.arg == "lr" and _is_constant_zero(k.value) for k in keywords)


def _is_constant_zero(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and _is_zero(node.value)


class Factor(NamedTuple):
    """The statement of a function that gives 0, and the division of whole numbers that is 0."""

    place: Source
    divides: str


def _factor_at_zero(scheduler: Any, step: int) -> Factor | None:
    """Return where a LambdaLR's function gives 0 for a step, where that can be read off without
    running it."""
    factors = (factor_at_zero(f, step) for f in getattr(scheduler, "lr_lambdas", ()))
    return next((found for found in factors if found is not None), None)


def factor_at_zero(function: Any, step: int) -> Factor | None:
    """Return where a function of a number gives 0 for it, where that can be read off without
    running it."""
    code = code_of_function(function)
    found = None if code is None else function_node(code)
    if found is None:
        return None
    file, node = found
    numbers = _numbers(function, step)
    try:
        line = _zero_return(node, numbers)
        divides = "" if line is None else _whole_division(line, numbers)
    except (_Unread, ArithmeticError):
        return None
    return None if line is None else Factor(source_of(file, line), divides)


def _whole_division(statement: ast.AST, numbers: Mapping[str, Any]) -> str:
    """Return the division of whole numbers that makes what a statement returns 0, alone or as what
    a bound lets through: ``max(0.0, n // most)``; "" where it is something else."""
    value: Any = statement.value if isinstance(statement, ast.Return) else statement
    is_bound = isinstance(value, ast.Call) and ast.unparse(value.func) in ("max", "min")
    parts: list[Any] = value.args if is_bound else [value]
    for part in parts:
        is_division = isinstance(part, ast.BinOp) and isinstance(part.op, ast.FloorDiv)
        if not is_division or _value(part, numbers) != 0:
            continue
        if not is_bound or _value(part.left, numbers) != 0:  # of 0 the bound may be the end meant
            return ast.unparse(part)
    return ""


class _Unread(Exception):
    """What a function does cannot be read off."""


def _numbers(function: Any, step: int) -> dict[str, Any]:
    """Return the numbers that a function's names stand for when it is called with a step."""
    outside = inspect.getclosurevars(function)
    parameters = inspect.signature(function).parameters
    given = {name: p.default for name, p in parameters.items()}
    first = dict.fromkeys([*given][:1], step)
    every = {**outside.globals, **outside.nonlocals, **given, **first}
    return {n: v for n, v in every.items() if type(v) in (int, float, bool)}


def _zero_return(node: Any, numbers: dict[str, Any]) -> Any:
    """Return the statement, or the body of a lambda, that gives 0; None where another number is
    given."""
    if isinstance(node, ast.Lambda):
        return node.body if _value(node.body, numbers) == 0 else None
    return _run(node.body, numbers)


def _run(body: Sequence[ast.stmt], numbers: dict[str, Any]) -> Any:
    """Follow statements to the one that returns 0."""
    for statement in body:
        if isinstance(statement, ast.Return) and statement.value is not None:
            return statement if _value(statement.value, numbers) == 0 else None
        if isinstance(statement, ast.If):
            way = statement.body if _value(statement.test, numbers) else statement.orelse
            if any(isinstance(inner, ast.Return) for inner in way):
                return _run(way, numbers)
            if way:
                raise _Unread
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            numbers[statement.targets[0].id] = _value(statement.value, numbers)
        elif not isinstance(statement, ast.Expr):
            raise _Unread
    return None


def _value(node: ast.expr, numbers: Mapping[str, Any]) -> Any:
    """Work out an expression of numbers.

    >>> _value(ast.parse("float(n) / max(1, most)", mode="eval").body, {"n": 0, "most": 5})
    0.0
    """
    if isinstance(node, ast.Constant):
        return _number(node.value)
    if isinstance(node, ast.Name):
        return _number(numbers.get(node.id))
    function: Callable[..., Any] | None
    if isinstance(node, ast.BinOp):
        function, parts = _NUMBERS.get(type(node.op)), [node.left, node.right]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        function, parts = operator.neg, [node.operand]
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        function, parts = _COMPARES.get(type(node.ops[0])), [node.left, *node.comparators]
    elif isinstance(node, ast.Call) and not node.keywords:
        function, parts = _called(ast.unparse(node.func)), node.args
    elif isinstance(node, ast.IfExp):
        return _value(node.body if _value(node.test, numbers) else node.orelse, numbers)
    else:
        raise _Unread
    if function is None:
        raise _Unread
    return function(*(_value(part, numbers) for part in parts))


def _number(value: Any) -> Any:
    """Return what is a number."""
    if type(value) not in (int, float, bool):
        raise _Unread
    return value


def _called(written: str) -> Callable[..., Any] | None:
    """Return a function of numbers that Python itself has."""
    if written in _FUNCTIONS:
        return _FUNCTIONS[written]
    of_math = getattr(math, written.removeprefix("math."), None)
    return of_math if written.startswith("math.") and callable(of_math) else None
