"""Values and functions as code, in the words that a scenario has for them: ``torch.no_grad``,
``a.clone()``, ``0.5``. What has no truthful code there is refused."""

from __future__ import annotations

import ast
import builtins
import functools
import types
from collections.abc import Mapping, Set
from typing import Any, NamedTuple

import torch

from gradviz.live.scenario_text import Piece, SourceText, names_in
from gradviz.names.compiled import cached_by_code
from gradviz.names.statements import function_node
from gradviz.words.speech import say

LONGEST = 40  # characters of a list that is written out
PLAIN = (bool, int, float, str, type(None))
# What needs no parentheses, whatever it stands in.
_ATOMS = (
    *(ast.Name, ast.Constant, ast.Attribute, ast.Call, ast.Subscript),
    *(ast.List, ast.Tuple, ast.Dict, ast.Set, ast.JoinedStr),
)
_OPERATORS = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Await, ast.Starred)


class Unknown(Exception):
    """There is no truthful code for a value here."""


class Argument(NamedTuple):
    """What a call is given: the expression, and its text."""

    node: ast.expr
    text: str


class OneExpression(NamedTuple):
    """A function that only returns an expression."""

    parameters: ast.arguments
    body: ast.expr
    source: SourceText


class Spelling:
    """The names that a scenario has for functions and modules.

    Args:
        known: its global variables.
        local: the names that it sets itself.
        controls: its parameters that controls set.
    """

    def __init__(self, known: Mapping[str, Any], local: Set[str], controls: Set[str]) -> None:
        self.known, self.local, self.controls = known, local, controls

    def constant(self, value: Any) -> str:
        """Return the code of a value that is read."""
        return written_out(value) or self._public_name(value)

    def _public_name(self, value: Any) -> str:
        """Return by which of the scenario's own names a function, class or dtype can be read."""
        own = getattr(value, "__name__", "")
        for name, known in self.known.items():
            if known is value and not name.startswith("_") and name not in self.local:
                return name
        for name, known in self.known.items():
            is_module = isinstance(known, types.ModuleType) and name not in self.local
            if is_module and own and getattr(known, own, None) is value:
                return f"{name}.{own}"
        for inner in ("nn", "nn.functional", "optim"):  # torch.optim.SGD
            home: Any = functools.reduce(getattr, inner.split("."), torch)
            if self.known.get("torch") is torch and own and getattr(home, own, None) is value:
                return f"torch.{inner}.{own}"
        raise Unknown(say("filled.no_code", kind=type(value).__name__))

    def call(self, value: Any, arguments: list[Argument]) -> str:
        """Return the code of a call of a value."""
        if isinstance(value, (types.MethodDescriptorType, types.WrapperDescriptorType)):
            return _method_call(value.__name__, arguments)
        if isinstance(value, types.FunctionType) and not _is_torchs(value):
            return self._body_of(value, arguments)
        try:
            name = self._public_name(value)
        except Unknown:
            # torch.Tensor.detach_ and others that torch wrote in Python
            own = getattr(value, "__name__", "")
            if isinstance(value, types.FunctionType) and vars(torch.Tensor).get(own) is value:
                return _method_call(own, arguments)
            raise
        return f"{name}({', '.join(text for _, text in arguments)})"

    def _body_of(self, function: types.FunctionType, arguments: list[Argument]) -> str:
        """Return what a function of one expression returns, with the arguments put in."""
        signature, body, source = _one_expression(function.__code__, function.__name__)
        bound = _bound(signature, arguments)
        self._check_names(function, body, set(bound))
        uses = [n for n in ast.walk(body) if isinstance(n, ast.Name) and n.id in bound]
        for name, (argument, _) in bound.items():
            twice = sum(n.id == name for n in uses) > 1
            if twice and not isinstance(argument, (ast.Name, ast.Constant)):
                raise Unknown(say("filled.twice", name=name))
        if body.lineno != body.end_lineno:
            raise Unknown(say("filled.over_lines"))
        parents = {child: node for node in ast.walk(body) for child in ast.iter_child_nodes(node)}
        places = {use: [Piece(in_place(bound[use.id][1], use, parents.get(use)))] for use in uses}
        return "".join(piece.text for piece in source.with_edits(body, places))

    def _check_names(self, function: types.FunctionType, body: ast.expr, bound: set[str]) -> None:
        """Refuse names of a function's body that mean something else in the scenario.

        Raises:
            Unknown: it has such a name.
        """
        for name in names_in(body) - bound:
            if name in function.__code__.co_freevars:
                raise Unknown(say("filled.closure", name=name))
            meant = function.__globals__.get(name, getattr(builtins, name, None))
            here = self.known.get(name, getattr(builtins, name, None))
            if name in self.local or name in self.controls or here is not meant:
                raise Unknown(say("filled.means_other", name=name))


def written_out(value: Any) -> str:
    """Return the code of a plain value, "" of any other.

    >>> written_out(0.5), written_out([1, 2]), written_out(torch.float64), written_out(object())
    ('0.5', '[1, 2]', 'torch.float64', '')
    """
    if type(value) in PLAIN:
        return repr(value)
    if isinstance(value, torch.dtype):
        return str(value)
    if type(value) in (list, tuple) and all(written_out(part) for part in value):
        inside = [written_out(part) for part in value]
        text = f"[{', '.join(inside)}]" if type(value) is list else repr(value)
        return text if len(text) <= LONGEST and "torch." not in text else ""
    return ""


def _method_call(name: str, arguments: list[Argument]) -> str:
    """Return the call of a tensor's method on the first argument."""
    if not arguments:
        raise Unknown(say("filled.no_code", kind="method"))
    node, text = arguments[0]
    owner = text if isinstance(node, _ATOMS) else f"({text})"
    return f"{owner}.{name}({', '.join(more for _, more in arguments[1:])})"


def _is_torchs(function: types.FunctionType) -> bool:
    """Say whether a function is torch's own."""
    return (function.__module__ or "").partition(".")[0] == "torch"


@cached_by_code(64)
def _one_expression(code: types.CodeType, name: str) -> OneExpression:
    """Return what a lambda returns, or the function of this code and name that does nothing else.
    The same few are asked for at every click.

    Raises:
        Unknown: there is no source, or it does more than that.
    """
    found = function_node(code)
    if found is None or code.co_name != name or isinstance(found[1], ast.AsyncFunctionDef):
        raise Unknown(say("filled.no_source"))
    file, node = found
    body = node.body if isinstance(node, ast.Lambda) else _returned(node)
    return OneExpression(node.args, body, SourceText("\n".join(file.lines)))


def _returned(node: ast.FunctionDef) -> ast.expr:
    """Return what a function returns that does nothing else."""
    body = [s for s in node.body if not _is_text(s)]
    if len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None:
        return body[0].value
    raise Unknown(say("filled.statements"))


def _is_text(statement: ast.stmt) -> bool:
    """Say whether a statement is a constant alone, as a docstring is."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _bound(signature: ast.arguments, arguments: list[Argument]) -> dict[str, Argument]:
    """Return parameter -> argument.

    Raises:
        Unknown: the parameters are not all plain, or do not match.
    """
    if signature.vararg or signature.kwarg or signature.kwonlyargs or signature.posonlyargs:
        raise Unknown(say("filled.keywords"))
    names = [parameter.arg for parameter in signature.args]
    values = [Argument(default, ast.unparse(default)) for default in signature.defaults]
    defaults = dict(zip(names[len(names) - len(values) :], values, strict=True))
    given = dict(zip(names, arguments, strict=False))
    if len(arguments) > len(names) or set(names) - set(given) - set(defaults):
        raise Unknown(say("filled.keywords"))
    return defaults | given


@functools.lru_cache(maxsize=256)
def expression(code: str) -> ast.expr:
    """Return the syntax tree of an expression. The same few are asked for at every click."""
    return ast.parse(code, mode="eval").body


def in_place(code: str, node: ast.AST, around: ast.AST | None) -> str:
    """Return code in parentheses where it would otherwise come apart in its new place."""
    parsed = expression(code)
    if isinstance(parsed, _ATOMS) and not _is_number_with_attribute(parsed, around):
        return code
    is_base = isinstance(around, (ast.Attribute, ast.Subscript)) and around.value is node
    is_called = isinstance(around, ast.Call) and around.func is node
    in_operator = isinstance(around, _OPERATORS) or is_base or is_called
    return f"({code})" if in_operator or isinstance(around, ast.Attribute) else code


def _is_number_with_attribute(parsed: ast.expr, around: ast.AST | None) -> bool:
    """Say whether a number stands before a dot: ``1.real`` is no code."""
    return isinstance(parsed, ast.Constant) and isinstance(around, ast.Attribute)
