"""What did not come where parameters were wanted: a plain tensor under the name of a parameter,
layers that a constructor kept under names of its own, an iterator that something else had read.
Reads frames and texts, runs none of their code, keeps none."""

from __future__ import annotations

import ast
import itertools
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from gradviz.graph.records import Source
from gradviz.names.compiled import file_of
from gradviz.names.statements import code_of_function, function_node, source_of
from gradviz.why.code.reading import value_of
from gradviz.why.evidence.older import leaves_behind

# what gives each of its items once
ONCE = (types.GeneratorType, filter, map, zip, itertools.chain, itertools.islice)
# torch's own functions that refuse a plain tensor, each with its name for that
_REFUSING = {"__setattr__": "value", "register_parameter": "param"}


class Assigned(NamedTuple):
    """A tensor that was to take the name of a parameter.

    Attributes:
        name: of the parameter.
        is_result: whether it was computed from what asks for gradients.
        was_there: whether a parameter of that name is there.
        is_of_itself: whether it was computed from that parameter.
    """

    name: str
    is_result: bool
    was_there: bool
    is_of_itself: bool


class Spent(NamedTuple):
    """An iterator of parameters that something had read to its end.

    Attributes:
        name: what the code calls it.
        kind: its class.
        source: the statement that read it, and before that the one that made it.
    """

    name: str
    kind: str
    source: tuple[Source, ...]


# --- a tensor under the name of a parameter -------------------------------------------------------


def assigned(error: BaseException | None) -> Assigned | None:
    """Return what a module refused to take under the name of a parameter; None of other errors."""
    trace = None if error is None else error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    code = None if trace is None else trace.tb_frame.f_code
    if trace is None or code is None or code.co_name not in _REFUSING:
        return None
    own: dict[str, Any] = dict(trace.tb_frame.f_locals)
    module, name = own.get("self"), own.get("name")
    value: Any = own.get(_REFUSING[code.co_name])
    if not issubclass(type(module), torch.nn.Module) or not issubclass(type(value), torch.Tensor):
        return None
    there = value_of(ast.Attribute(ast.Name("m"), str(name)), {"m": module})
    is_parameter = issubclass(type(there), torch.nn.Parameter)
    is_of_itself = is_parameter and any(leaf is there for leaf in leaves_behind(value))
    return Assigned(str(name), value.grad_fn is not None, is_parameter, is_of_itself)


# --- layers that a constructor kept for itself ----------------------------------------------------


def local_layers(kind: type) -> list[tuple[str, Source]]:
    """Return the modules and parameters that the constructor of a class makes and gives to names of
    its own only, each with the statement; those that nothing there reads, where there are such."""
    constructor = vars(kind).get("__init__")
    code = code_of_function(constructor)
    found = None if code is None else function_node(code)
    if found is None or not isinstance(constructor, types.FunctionType):
        return []
    file, node = found
    read = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    made = [
        (name, source_of(file, statement))
        for statement in ast.walk(node)
        if isinstance(statement, (ast.Assign, ast.AnnAssign))
        for name, value in _bindings(statement)
        if _makes_layer(value, constructor.__globals__)
    ]
    return [one for one in made if one[0] not in read] or made


def _bindings(statement: Any) -> Iterator[tuple[str, ast.expr]]:
    """Yield the variables that a statement gives a value, each with its own."""
    is_plain = isinstance(statement, ast.Assign)
    for target in statement.targets if is_plain else [statement.target]:
        value = statement.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=False))
        yield from ((t.id, v) for t, v in pairs if isinstance(t, ast.Name) and v is not None)


def _makes_layer(value: ast.expr, names: Mapping[str, Any]) -> bool:
    """Say whether an expression calls a class of modules, or nn.Parameter."""
    if not isinstance(value, ast.Call):
        return False
    made = _in_packages(value.func, names)
    return isinstance(made, type) and issubclass(made, (torch.nn.Module, torch.nn.Parameter))


def _in_packages(expression: ast.expr, names: Mapping[str, Any]) -> Any:
    """Return what a name stands for, also that of a package."""
    if isinstance(expression, ast.Attribute):
        owner = _in_packages(expression.value, names)
        is_package = isinstance(owner, types.ModuleType)
        return vars(owner).get(expression.attr) if is_package else None
    return names.get(expression.id) if isinstance(expression, ast.Name) else None


# --- an iterator that something else had read -----------------------------------------------------


def spent(frames: Sequence[Any]) -> Spent | None:
    """Return the iterator that an optimizer was handed and that a statement before had read; None
    where none was.

    Args:
        frames: the user's, the outermost first: their code, line and names.
    """
    found: tuple[str, Any] | None = None
    read, made = list[Source](), list[Source]()
    for frame in reversed(frames):
        tree = _body(frame.code)
        known = [n for n in _names_at(tree, frame.line) if _gives_once(frame.names.get(n))]
        if found is None and known:
            found = known[0], frame.names[known[0]]
        if tree is None or found is None:
            continue
        file, node = tree
        same = {n for n, value in frame.names.items() if value is found[1]}
        here = list[Source]()
        for statement in _statements_before(node, frame.line):
            if _binds(statement, same):
                made, here = [source_of(file, statement)], []
            elif _reads(statement, same):
                here.append(source_of(file, statement))
        read = [*here, *read]
    if found is None or not read:
        return None
    return Spent(found[0], type(found[1]).__name__, (*made, read[0]))


def _gives_once(value: Any) -> bool:
    """Say whether a value gives its items once, and may have none left."""
    is_running = isinstance(value, types.GeneratorType) and value.gi_frame is not None
    return isinstance(value, ONCE) and not is_running


def _body(code: types.CodeType) -> tuple[Any, ast.AST] | None:
    """Return the text of a function, or of a file or cell, with its tree."""
    if code.co_name != "<module>":
        return function_node(code)
    file = file_of(code)
    return None if file.tree is None else (file, file.tree)


def _names_at(tree: tuple[Any, ast.AST] | None, line: int) -> list[str]:
    """Return the variables that the statement at a line reads."""
    if tree is None:
        return []
    nodes: list[Any] = [*ast.walk(tree[1])]
    around = [n for n in nodes if _is_simple(n) and n.lineno <= line <= n.end_lineno]
    parts = (n for statement in around for n in ast.walk(statement))
    return [n.id for n in parts if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]


def _is_simple(node: Any) -> bool:
    return isinstance(node, ast.stmt) and not hasattr(node, "body")


def _statements_before(tree: ast.AST, line: int) -> list[Any]:
    """Return the statements of a function's own above a line, loops by their heads, in order."""
    own, todo = list[Any](), list(ast.iter_child_nodes(tree))
    while todo:
        node = todo.pop(0)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if isinstance(node, ast.stmt) and node.lineno < line:
            own.append(node)
        todo += ast.iter_child_nodes(node)
    return sorted(own, key=lambda node: node.lineno)


def _binds(statement: Any, names: set[str]) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else ()
    return any(isinstance(t, ast.Name) and t.id in names for t in targets)


def _reads(statement: Any, names: set[str]) -> bool:
    """Say whether a statement walks through one of some variables, or hands it to a call."""
    if isinstance(statement, ast.For):
        return isinstance(statement.iter, ast.Name) and statement.iter.id in names
    if not _is_simple(statement):
        return False
    walked: list[Any] = [n.iter for n in ast.walk(statement) if isinstance(n, ast.comprehension)]
    calls = [n for n in ast.walk(statement) if isinstance(n, ast.Call)]
    given = [a.value if isinstance(a, ast.Starred) else a for c in calls for a in c.args]
    return any(isinstance(n, ast.Name) and n.id in names for n in (*walked, *given))
