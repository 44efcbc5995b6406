"""What did not come where parameters were wanted: a plain tensor under the name of a parameter,
layers that a constructor kept under names of its own, an iterator that something else had read.
Reads frames and texts, runs none of their code, keeps none."""

from __future__ import annotations

import ast
import itertools
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from gradviz.graph.records import Source
from gradviz.names.compiled import file_of
from gradviz.names.position import statement_or_head
from gradviz.names.statements import (
    code_of_function,
    function_node,
    source_of,
    statement_making,
)
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
        owner: what the program calls the module that has the parameter; "" where that is not known.
        kind: its class.
        made: where it is made.
        taking: the classes beside it that have a buffer of that name, and take a tensor there.
    """

    name: str
    is_result: bool
    was_there: bool
    is_of_itself: bool
    owner: str = ""
    kind: str = ""
    made: tuple[Source, ...] = ()
    taking: tuple[str, ...] = ()


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


def assigned(error: BaseException | None, frames: Sequence[Any] = ()) -> Assigned | None:
    """Return what a module refused to take under the name of a parameter; None of other errors.

    Args:
        error: what was raised.
        frames: the user's, the outermost first, whose names know the module.
    """
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
    found = Assigned(str(name), value.grad_fn is not None, is_parameter, is_of_itself)
    return found._replace(kind=type(module).__name__, **_of_owner(module, str(name), frames))


def _of_owner(module: Any, name: str, frames: Sequence[Any]) -> dict[str, Any]:
    """Return what is known of a module by the model that has it, as the outermost frame calls that
    which knows it: its name, where it is made, and what takes a tensor of the same name."""
    for frame in frames:
        for word, root in frame.names.items():
            is_module = issubclass(type(root), torch.nn.Module) and not word.startswith("_")
            parts = dict(torch.nn.Module.named_modules(root)) if is_module else {}
            path = next((path for path, part in parts.items() if part is module), "")
            if path:
                above, _, attribute = path.rpartition(".")
                return {
                    "owner": f"{word}.{path}",
                    "made": _made_by(type(parts[above]), attribute),
                    "taking": _with_buffer(parts.values(), name),
                }
    return {}


def _made_by(kind: type, attribute: str) -> tuple[Source, ...]:
    """Return the statement of a constructor that makes an attribute, where that is known."""
    found = statement_making(kind, attribute)
    return () if found is None else (source_of(*found),)


def _with_buffer(modules: Iterable[Any], name: str) -> tuple[str, ...]:
    """Return the classes of the modules that have a buffer of some name."""
    own = (m for m in modules if name in dict(torch.nn.Module.named_buffers(m, recurse=False)))
    return tuple(dict.fromkeys(type(m).__name__ for m in own))


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


# packages of torch's layers that have no parameters
_WITHOUT = ("loss", "dropout", "pooling", "flatten", "padding", "upsampling", "distance", "fold")
_LEARNED = ("MultiheadAttention", "PReLU")  # of the activations those that have


def layers_of_methods(kind: type) -> list[tuple[str, Source]]:
    """Return the layers that methods of a class make and keep in no attribute, each as its call and
    the statement: they are others in each call."""
    found = list[tuple[str, Source]]()
    for method in vars(kind).values():
        code = code_of_function(method)
        tree = None if code is None or method.__name__ == "__init__" else function_node(code)
        if tree is None or not isinstance(method, types.FunctionType):
            continue
        file, node = tree
        for call in (n for n in ast.walk(node) if isinstance(n, ast.Call)):
            statement = statement_or_head(call)
            names = method.__globals__
            is_kept = not _is_used_there(call, statement) or not _makes_layer(call, names)
            if not is_kept and _learns(_in_packages(call.func, names)):
                found.append((_code_elsewhere(call, names), source_of(file, statement)))
    return found


def _code_elsewhere(call: ast.Call, names: Mapping[str, Any]) -> str:
    """Return the code of a call for another function: without arguments that only its own has."""
    given = [node for argument in (*call.args, *call.keywords) for node in ast.walk(argument)]
    read = {node.id for node in given if isinstance(node, ast.Name)} - {"self"}
    return ast.unparse(call) if read <= {*names} else f"{ast.unparse(call.func)}(…)"


def _is_used_there(call: ast.Call, statement: Any) -> bool:
    """Say whether a layer is called where it is made, or stays in a variable."""
    parent = getattr(call, "parent", None)
    if isinstance(parent, ast.Call) and parent.func is call:
        return True
    return any(value is call for _, value in _bindings(statement)) if _assigns(statement) else False


def _assigns(statement: Any) -> bool:
    return isinstance(statement, (ast.Assign, ast.AnnAssign))


def _learns(made: Any) -> bool:
    """Say whether a class of torch's layers, or of the user's, has parameters, as far as its
    package tells."""
    package = str(made.__module__).rpartition(".")[2]
    return package not in _WITHOUT and (package != "activation" or made.__name__ in _LEARNED)


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
