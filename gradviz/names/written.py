"""What stands written around a line: the plain numbers that an expression reads, and second names
for one tensor. Knows no torch, and runs nothing.

A recording knows tensors. That a factor is ``vf_coef``, which is 0, and that ``identity = x`` made
no copy, only the text of the program tells. What could be otherwise is not told: a name with two
values, or with one that is computed.
"""

from __future__ import annotations

import ast
import linecache
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from executing import Source as File

from gradviz.graph.records import Call, Source
from gradviz.names.bindings import (
    argument_of,
    binders_of,
    bindings,
    parameters_of,
    scope_around,
    scope_of,
    value_given,
)
from gradviz.names.frames import whole_code
from gradviz.names.position import (
    callee_of,
    cells,
    display_name,
    dotted,
    is_literal,
    statement_at,
)

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_CELL = "cell ["
_ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


class Number(NamedTuple):
    """A plain number that an expression reads.

    Attributes:
        code: as it stands there: ``vf_coef``, ``self.eps``, ``0.0``.
        value: the number.
        file: where it was given that value, as ``display_name`` calls it.
        line: the line there.
    """

    code: str
    value: float
    file: str
    line: int


class Operands(NamedTuple):
    """What a line computes with.

    Attributes:
        one, other: the two names, as they stand there.
        callee: what is called with them; "" where they stand on both sides of a sign.
    """

    one: str
    other: str
    callee: str


class Second(NamedTuple):
    """A second name for what another name holds, made by ``identity = x``.

    Attributes:
        name: the second name.
        of: the first.
        line: where it was given.
    """

    name: str
    of: str
    line: int


def numbers_read(source: Source) -> list[Number]:
    """Return the plain numbers that the statement of a recorded call reads, each name once."""
    found = dict[str, Number]()
    for node in _nodes_at(source):
        is_read = isinstance(getattr(node, "ctx", None), ast.Load)
        if isinstance(node, ast.Constant) or is_read:
            number = _number(node, source.file)
            if number is not None:
                found.setdefault(number.code, number)
    return list(found.values())


def factors_written(call: Call) -> list[Number]:
    """Return the plain numbers that stand beside a ``*`` in the code of a call."""
    code = whole_code(call)
    read = [] if call.source is None else numbers_read(call.source)
    return [number for number in read if _is_factor(number.code, code)]


def _is_factor(name: str, code: str) -> bool:
    """Say whether a name or number is multiplied in a piece of code.

    >>> _is_factor("w", "w * x"), _is_factor("w", "x.sum(w) * y"), _is_factor("0", "x * 0.5")
    (True, False, False)
    """
    escaped = re.escape(name)
    before, after = rf"(?<![\w.]){escaped}\s*\*", rf"\*=?\s*{escaped}(?![\w.])"
    return re.search(rf"{before}|{after}", code) is not None


def arguments_written(source: Source, function: str) -> list[Number]:
    """Return the numbers, computed ones too, that the statement of a recorded call hands to a
    function: of ``torch.clamp(p, eps, 1 - eps)`` both bounds."""
    for node in _nodes_at(source):
        if isinstance(node, ast.Call) and callee_of(node.func) == function:
            given = [*node.args, *(k.value for k in node.keywords)]
            found = ((a, _computed(a, source.file)) for a in given)
            return [
                Number(ast.unparse(a), value, source.file, node.lineno)
                for a, value in found
                if value is not None
            ]
    return []


def _computed(node: Any, file: str) -> float | None:
    """Return the number that an expression of numbers gives; None for any other."""
    if not isinstance(node, ast.BinOp):
        number = _number(node, file)
        return None if number is None else number.value
    left, right = _computed(node.left, file), _computed(node.right, file)
    compute = _ARITHMETIC.get(type(node.op))
    if left is None or right is None or compute is None:
        return None
    return compute(left, right)


def operands_written(code: str) -> Operands | None:
    """Return the two names or calls that a line of code compares, multiplies or hands to one call;
    None where it does so with none, or with several pairs.

    >>> operands_written("loss = self.criterion(pred, batch['y'])")
    Operands(one='pred', other="batch['y']", callee='criterion')
    >>> operands_written("err = ((pred - y) ** 2).mean()")
    Operands(one='pred', other='y', callee='')
    >>> operands_written("loss = criterion(model(x), y)")
    Operands(one='model(x)', other='y', callee='criterion')
    >>> operands_written("loss = criterion(model(x), y) + penalty(w, v)")
    """
    try:
        tree = ast.parse(code.strip())
    except SyntaxError:  # cut off
        return None
    nodes = [(node, pair) for node in ast.walk(tree) if (pair := _pair(node)) is not None]
    if len(nodes) != 1:
        return None
    node, pair = nodes[0]
    one, other = (ast.unparse(n) if isinstance(n, ast.Call) else dotted(n) for n in pair)
    callee = callee_of(node.func) or "" if isinstance(node, ast.Call) else ""
    return Operands(one, other, callee) if one and other else None


def _pair(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Return the two expressions that a node computes with: a difference, a product, or a call of
    two arguments."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Sub, ast.Mult)):
        return node.left, node.right
    if isinstance(node, ast.Call) and len(node.args) == 2 and not node.keywords:
        return node.args[0], node.args[1]
    return None


def tensor_written(code: str, nr: int, count: int) -> str:
    """Return the name that is written as one of the tensors of a call; "" where no name is, or
    where it cannot be told which is which.

    Args:
        code: of the call, or of a statement that is or binds it.
        nr: of the tensor among those of the call.
        count: how many tensors the call was given.

    >>> tensor_written("h = torch.cat([x, self.act], -1)", 1, 2)
    'self.act'
    >>> tensor_written("x * f(y)", 1, 2), tensor_written("f(x, y)", 0, 1)
    ('', '')
    """
    try:
        tree = ast.parse(code.strip())
    except SyntaxError:  # cut off
        return ""
    found = _operands_of(getattr(tree.body[0], "value", None)) if len(tree.body) == 1 else []
    return dotted(found[nr]) or "" if len(found) == count else ""


def _operands_of(node: Any) -> list[ast.expr]:
    """Return what a call or an operator is given that may be tensors, lists taken apart."""
    if isinstance(node, ast.BinOp):
        return [*_parts_of(node.left), *_parts_of(node.right)]
    if not isinstance(node, ast.Call):
        return []
    given = [part for argument in node.args for part in _parts_of(argument)]
    given += [part for keyword in node.keywords for part in _parts_of(keyword.value)]
    return given


def _parts_of(node: ast.expr) -> list[ast.expr]:
    """Return the expressions of which a list is written, or an expression itself; nothing of a
    number."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return [part for element in node.elts for part in _parts_of(element)]
    return [] if is_literal(node) else [node]


def seconds_before(source: Source) -> list[Second]:
    """Return the second names that the function around a recorded call gave before its line, each
    as it was given last."""
    statement = _statement(source)
    if statement is None:
        return []
    last: dict[str, Second | None] = {}
    for name, binder in bindings(scope_of(statement.parent)):
        if binder.lineno < source.line:
            last[name] = _second(name, binder)
    return [second for second in last.values() if second is not None]


def dim_written(source: Source, function: str) -> int | None:
    """Return the ``dim`` with which the statement of a recorded call calls a function; where it
    calls only a module, the one with which its file makes modules that do the same: ``Softmax`` for
    ``softmax``. None where there is none, or several."""
    found = {_dim_of(call) for call in _calls_written(source, function)}
    return found.pop() if len(found) == 1 else None


def diagonal_written(source: Source, function: str) -> int | None:
    """Return the diagonal from which on ``tril`` or ``triu`` keeps, as the statement of a recorded
    call has it; None where it is no plain number, or there are several."""
    found = {_diagonal_of(call) for call in _calls_written(source, function)}
    return found.pop() if len(found) == 1 else None


def _diagonal_of(call: ast.Call) -> int | None:
    """Return the diagonal of a call.

    >>> codes = ("torch.tril(m)", "m.triu(1)", "torch.triu(m, diagonal=1)", "m.tril(k)")
    >>> [_diagonal_of(ast.parse(code, mode="eval").body) for code in codes]
    [0, 1, 1, None]
    """
    given = [k.value for k in call.keywords if k.arg == "diagonal"]
    given += call.args[1:] if (dotted(call.func) or "").startswith("torch.") else call.args
    number = _literal(given[0]) if given else 0
    return None if number is None else int(number)


def module_written(source: Source, function: str) -> Source | None:
    """Return the one place in the file of a recorded call where a module is made that does what the
    call does, where its statement calls only that."""
    calls = _calls_written(source, function)
    if len(calls) != 1 or callee_of(calls[0].func) == function:
        return None
    return Source(source.file, calls[0].lineno, ast.unparse(calls[0]))


def _calls_written(source: Source, function: str) -> list[ast.Call]:
    """Return the calls of a function in the statement of a recorded call; where it calls only a
    module, those in its file that make modules which do the same."""
    kind = function.title().replace("_", "")
    statement = _statement(source) or _statement(_as_it_stands(source))
    for callee, tree in ((function, statement), (kind, statement and _module_of(statement))):
        nodes = () if tree is None else ast.walk(tree)
        calls = [n for n in nodes if isinstance(n, ast.Call) and callee_of(n.func) == callee]
        calls = [call for call in calls if dotted(call.func) != f"self.{callee}"]  # a module
        if calls:
            return calls
    return []


def _dim_of(call: ast.Call) -> int | None:
    """Return the dim that a call is given as a number.

    >>> texts = ("f(x, 1)", "x.f(-1)", "f(x, dim=0)", "f(x[1])", "f(x, n)", "f(x, 1, 2)")
    >>> [_dim_of(ast.parse(text, mode="eval").body) for text in texts]
    [1, -1, 0, None, None, None]
    """
    named = [k.value for k in call.keywords if k.arg == "dim"]
    values = [v for node in named or call.args if (v := _literal(node)) is not None]
    return int(values[0]) if len(values) == 1 else None


def texts_near(source: Source) -> set[str]:
    """Return the texts in quotes in the file or cell of a recorded call."""
    statement = _statement(_as_it_stands(source))
    nodes = () if statement is None else ast.walk(_module_of(statement))
    constants = (n.value for n in nodes if isinstance(n, ast.Constant))
    return {value for value in constants if isinstance(value, str)}


def names_read(source: Source) -> set[str]:
    """Return the names that the statement of a recorded call reads or writes in place."""
    names = (dotted(n) for n in _nodes_at(source) if isinstance(n, (ast.Name, ast.Attribute)))
    return {name for name in names if name}


def argument_read_again(wrote: Source, read: Source) -> str | None:
    """Return the variable that one statement hands to a call and does not give a new value, and
    that a later one of the same function reads, with nothing between that binds it anew; None where
    there is none, or several."""
    first, second = _statement(_as_it_stands(wrote)), _statement(_as_it_stands(read))
    if first is None or second is None or scope_of(first.parent) is not scope_of(second.parent):
        return None
    if second.lineno <= first.lineno:
        return None
    handed = {
        dotted(a)
        for n in ast.walk(first)
        if isinstance(n, ast.Call)
        for a in n.args
        if isinstance(a, ast.Name)
    }
    again = {n.id for n in ast.walk(second) if isinstance(n, ast.Name) and not _is_bound(n)}
    bound = {
        name
        for name, binder in bindings(scope_of(first.parent))
        if first.lineno <= binder.lineno < second.lineno
    }
    found = (handed & again) - bound - {None}
    return found.pop() if len(found) == 1 else None


def _is_bound(name: Any) -> bool:
    """Tell whether a name only gets a value where it stands."""
    return isinstance(name.ctx, ast.Store) and not isinstance(name.parent, ast.AugAssign)


def _second(name: str, binder: Any) -> Second | None:
    """Return what ``name = other`` says; None for any other statement."""
    if not isinstance(binder, ast.Assign) or len(binder.targets) != 1:
        return None
    of = dotted(binder.value) if isinstance(binder.value, (ast.Name, ast.Attribute)) else None
    is_plain = isinstance(binder.targets[0], (ast.Name, ast.Attribute))
    return Second(name, of, binder.lineno) if of and is_plain else None


# --- the text -------------------------------------------------------------------------------------


def _statement(source: Source) -> Any:
    """Return the statement of a recorded call; None where it is not known which file or cell is
    meant, or where the text is another since."""
    names = [name for name in list(linecache.cache) if display_name(name) == source.file]
    found = (statement_at(File.for_filename(name), source.line) for name in names)
    there = [statement for statement in found if statement and _is_of(statement, source)]
    return there[0] if len(there) == 1 else None


def _as_it_stands(source: Source) -> Source:
    """Return the line of a call with the text that stands there, whatever the call is called."""
    inner = source.frames[:1]
    return source._replace(line=inner[0].line, code=inner[0].code) if inner else source


def _is_of(statement: Any, source: Source) -> bool:
    """Tell whether the code of a call stands in a statement, whatever the blanks and brackets."""
    text, code = (
        re.sub(r"\W", "", text) for text in (ast.unparse(statement), as_unparsed(source.code or ""))
    )
    return bool(code) and code in text


def as_unparsed(code: str) -> str:
    """Return code with its numbers and quotes as ``ast.unparse`` writes them; as it is, where it is
    cut off.

    >>> as_unparsed("clamp(x, 1e-8)"), as_unparsed("clamp(x, 1e…")
    ('clamp(x, 1e-08)', 'clamp(x, 1e…')
    """
    try:
        return ast.unparse(ast.parse(code.strip()))
    except SyntaxError:
        return code


def _nodes_at(source: Source) -> Iterator[Any]:
    """Go through the syntax nodes of the statement of a recorded call."""
    # of what a function returns, the call has the name that its caller gives it
    statement = _statement(source) or _statement(_as_it_stands(source))
    return iter(()) if statement is None else ast.walk(statement)


# --- which number a name holds --------------------------------------------------------------------


def _number(node: Any, file: str) -> Number | None:
    """Return the one number that an expression can be."""
    value = _literal(node)
    if value is not None:
        return Number(ast.unparse(node), value, file, node.lineno)
    code = dotted(node) or ""
    if isinstance(node, ast.Name):
        return _only(code, [*_of_name(node, file)])
    if code.startswith("self.") and code.count(".") == 1:
        return _only(code, [*_of_attribute(code, node, file)])
    return None


def _only(code: str, found: list[Number | None]) -> Number | None:
    """Return the number on which all ways agree."""
    numbers = [number for number in found if number is not None]
    if not numbers or len(numbers) != len(found) or len({n.value for n in numbers}) > 1:
        return None
    return numbers[-1]._replace(code=code)


def _of_name(name: ast.Name, file: str) -> Iterator[Number | None]:
    """Yield each number that a variable may hold; None for each that is not known."""
    binders = binders_of(name)
    for binder in binders:
        yield _assigned(name.id, binder, file)
    scope = scope_of(binders[0].parent) if binders else _function_taking(name)
    if name.id in parameters_of(scope):
        yield from _given(scope, name.id, file)
    elif not binders and file.startswith(_CELL):
        yield from _of_other_cells(name.id, file)


def _function_taking(name: ast.Name) -> Any:
    """Return the innermost function around a variable that has a parameter of its name; None where
    none has."""
    scope: Any = scope_of(name)
    while not isinstance(scope, ast.Module):
        if name.id in parameters_of(scope):
            return scope
        scope = scope_around(scope)
    return None


def _of_other_cells(name: str, file: str) -> Iterator[Number | None]:
    """Yield each number that the other cells of a notebook give a variable."""
    for cell in cells():
        for bound, binder in bindings(cell.tree) if cell.tree is not None else ():
            if bound == name:
                yield _assigned(name, binder, display_name(cell.filename))


def _of_attribute(code: str, node: Any, file: str) -> Iterator[Number | None]:
    """Yield each number that an attribute of ``self`` may hold; None for each that is not known."""
    owner = scope_of(node)
    while not isinstance(owner, (ast.ClassDef, ast.Module)):
        owner = scope_of(owner.parent)
    for method in (n for n in ast.walk(owner) if isinstance(n, _FUNCTIONS)):
        for bound, binder in bindings(method):
            if bound != code:
                continue
            value = value_given(code, binder)
            if isinstance(value, ast.Name) and value.id in parameters_of(method):
                yield from _given(method, value.id, file)
            else:
                yield _assigned(code, binder, file)


def _given(function: Any, parameter: str, file: str) -> Iterator[Number | None]:
    """Yield each number that the calls in a function's file give a parameter."""
    owner = function.parent if isinstance(function.parent, ast.ClassDef) else None
    name = getattr(function, "name", None)
    called = owner.name if owner is not None and name == "__init__" else name
    if called is None:  # a lambda
        yield None
        return
    for call in (n for n in ast.walk(_module_of(function)) if isinstance(n, ast.Call)):
        if callee_of(call.func) == called:
            node = argument_of(call, function, parameter, int(owner is not None))
            value = _literal(node)
            yield None if value is None else Number(parameter, value, file, node.lineno)


def _module_of(node: Any) -> Any:
    """Return the syntax tree of the file that a node stands in."""
    while not isinstance(node, ast.Module):
        node = node.parent
    return node


def _assigned(name: str, binder: Any, file: str) -> Number | None:
    """Return the number that a statement gives a name, also by an attribute: ``eps = self.eps``."""
    given = value_given(name, binder)
    value = _literal(given)
    if value is not None:
        return Number(name, value, file, binder.lineno)
    code = dotted(given) if isinstance(given, ast.Attribute) else None
    if not name.startswith("self.") and code is not None and code.startswith("self."):
        found = _number(given, file)
        return None if found is None else found._replace(code=name)
    return None


def _literal(node: Any) -> float | None:
    """Return a number as it is written; None for anything else.

    >>> [_literal(ast.parse(text, mode="eval").body) for text in ("0.5", "-1", "True", "x", "'0'")]
    [0.5, -1.0, None, None, None]
    """
    sign = 1.0
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node, sign = node.operand, -1.0
    value = node.value if isinstance(node, ast.Constant) else None
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return sign * float(value) if is_number else None  # type: ignore[arg-type]
