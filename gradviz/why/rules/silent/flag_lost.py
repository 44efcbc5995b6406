"""A flag that was switched off on a tensor before nn.Parameter wrapped it: the Parameter asks for
gradients. Reads the text of constructors and of what ran, runs none of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeGuard

import torch

from gradviz.graph.findings import Cause
from gradviz.graph.records import Source
from gradviz.names.statements import code_of_function, function_node, source_of
from gradviz.why.code.reading import is_of_torch
from gradviz.why.rules.many import pattern
from gradviz.why.rules.silent.freeze_without_effect import FLAG
from gradviz.why.rules.silent.silent import Silent
from gradviz.why.shown.explanation import Explanation

_WRAPPERS = ("Parameter", "nn.Parameter", "torch.nn.Parameter")


class Wrapped(NamedTuple):
    """A tensor whose flag is off in the text, and that a Parameter is made of.

    Attributes:
        name: of the attribute or variable that is given the Parameter.
        of_self: whether it is an attribute of self.
        off: where the flag is switched off.
        made: where the Parameter is made.
    """

    name: str
    of_self: bool
    off: Source
    made: Source


def flag_lost(asked: Silent) -> Explanation | None:
    """Tell of parameters that train, made of tensors whose flag was switched off before."""
    found = [*_of_modules(asked), *_of_variables(asked)]
    if not found:
        return None
    wrapped = found[0][1]
    names = [name for name, one in found if one == wrapped]
    return asked.answer(
        Cause.FREEZE_WITHOUT_EFFECT,
        "wrapped",
        statements=[wrapped.off, wrapped.made],
        names=pattern(names),
        n=len(names),
        off=wrapped.off.code,
        made=wrapped.made.code,
    )


def _of_modules(asked: Silent) -> Iterator[tuple[str, Wrapped]]:
    """Yield the parameters that the constructor of their module makes so."""
    given = {id(t) for t in asked.tensors.values()}
    made: dict[type, list[Wrapped]] = {}
    for title, module in asked.modules.items():
        for path, part in module.named_modules():
            if type(part) not in made:
                made[type(part)] = list(_of_class(type(part)))
            for one in made[type(part)]:
                parameter = part._parameters.get(one.name) if one.of_self else None
                if parameter is None or not parameter.requires_grad:
                    continue
                if asked.models or not given or id(parameter) in given:
                    yield ".".join(filter(None, (title, path, one.name))), one


def _of_class(kind: type) -> Iterator[Wrapped]:
    """Yield the parameters that the constructor of a class makes so; torch's own make none, and
    reading their files takes long."""
    if is_of_torch(kind):
        return
    code = code_of_function(vars(kind).get("__init__"))
    found = None if code is None else function_node(code)
    yield from () if found is None else _wrapped(*found)


def _of_variables(asked: Silent) -> Iterator[tuple[str, Wrapped]]:
    """Yield the parameters that have a variable and are made so by the code that ran."""
    for file in asked.statements.files:
        for one in _wrapped(file, file.tree):
            value = asked.tensors.get(one.name)
            is_parameter = issubclass(type(value), torch.nn.Parameter)
            if not one.of_self and is_parameter and value is not None and value.requires_grad:
                yield one.name, one


def _wrapped(file: Any, scope: Any) -> Iterator[Wrapped]:
    """Yield the Parameters that one scope makes of what it switched off before; none whose own
    flag it switches later."""
    off = dict[str, ast.stmt]()
    statements = list(_statements(scope))
    for at, statement in enumerate(statements):
        made = _parameter_made(statement)
        if made is not None:
            target, call = made
            source = next((o for o in map(ast.unparse, _values(call)) if o in off), "")
            later = {_switched(s)[0] for s in statements[at + 1 :]}
            if source and target not in later:
                name = target.removeprefix("self.")
                places = (source_of(file, off[source]), source_of(file, statement))
                yield Wrapped(name, name != target, *places)
        expression, value = _switched(statement)
        if expression and value is False:
            off[expression] = statement
        elif expression:
            off.pop(expression, None)
        elif isinstance(statement, ast.Assign):
            for target_node in statement.targets:
                off.pop(ast.unparse(target_node), None)


def _statements(scope: Any) -> Iterator[ast.stmt]:
    """Yield the simple statements of a scope in order, without those of functions inside it."""
    for statement in getattr(scope, "body", ()):
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if not hasattr(statement, "body"):
            yield statement
        else:
            yield from _statements(statement)


def _switched(statement: ast.stmt) -> tuple[str, bool | None]:
    """Return the tensor whose flag a statement sets, as it is written there, and to what."""
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Attribute):
        target = statement.targets[0]
        given = statement.value
        if target.attr != FLAG or not isinstance(given, ast.Constant):
            return "", None
        return ast.unparse(target.value), bool(given.value)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return "", None
    if call.func.attr != f"{FLAG}_":
        return "", None
    first = call.args[0] if call.args else None
    is_bare = first is None and not call.keywords
    value = bool(first.value) if isinstance(first, ast.Constant) else is_bare or None
    return ast.unparse(call.func.value), value


def _parameter_made(statement: ast.stmt) -> tuple[str, ast.Call] | None:
    """Return what a statement gives a Parameter to, and the call that makes it with the flag on."""
    target, value = _given_to(statement)
    return (target, value) if asks_for_gradients(value) else None


def asks_for_gradients(node: Any) -> TypeGuard[ast.Call]:
    """Say whether a node is a call that makes a Parameter of something with the flag on."""
    if not isinstance(node, ast.Call) or ast.unparse(node.func) not in _WRAPPERS:
        return False
    flags = [k.value for k in node.keywords if k.arg == FLAG] + node.args[1:2]
    keeps = [f for f in flags if not (isinstance(f, ast.Constant) and f.value is True)]
    return bool(node.args) and not keeps


def _given_to(statement: ast.stmt) -> tuple[str, ast.expr | None]:
    """Return what a statement gives a value to, by assignment or as a module's parameter, and that
    value; None where it does neither."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return ast.unparse(statement.targets[0]), statement.value
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or ast.unparse(call.func) != "self.register_parameter":
        return "", None
    if len(call.args) != 2 or not isinstance(call.args[0], ast.Constant):
        return "", None
    return f"self.{call.args[0].value!s}", call.args[1]


def _values(call: ast.Call) -> Iterator[ast.AST]:
    """Yield the names and attributes in what a Parameter is made of."""
    kinds = (ast.Name, ast.Attribute)
    yield from (n for n in ast.walk(call.args[0]) if isinstance(n, kinds))
