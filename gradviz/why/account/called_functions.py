"""The calls of the program's own functions, as far as its text tells, and what their arguments and
defaults choose."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from gradviz.names.bindings import argument_of, default_of, parameters_of, value_given
from gradviz.names.position import callee_of
from gradviz.names.statements import Statements

METHODS = (["self"], ["cls"])


class Called(NamedTuple):
    """A call of a function of the program's.

    Attributes:
        file: where the call stands.
        call: its node.
        function: the node of the function.
        before: how many parameters stand before the call's arguments: ``self``.
    """

    file: Any
    call: ast.Call
    function: ast.FunctionDef
    before: int

    @property
    def first(self) -> str | None:
        """The parameter that the first argument of the call is."""
        return next(iter(parameters_of(self.function)[self.before :]), None)

    def given(self, parameter: str) -> Any:
        """Return the expression that a parameter is in this call."""
        return argument_of(self.call, self.function, parameter, self.before)

    def is_left(self, parameter: str) -> bool:
        """Say whether this call leaves a parameter at its default."""
        default = default_of(self.function, parameter)
        return default is not None and self.given(parameter) is default


class Calls:
    """The calls of the program's own functions, as far as the text tells."""

    def __init__(self, statements: Statements) -> None:
        self.statements = statements
        self.functions = [*statements.nodes(ast.FunctionDef)]
        self.classes = {n.name: n for _, n in statements.nodes(ast.ClassDef)}
        self.all = [
            Called(file, call, *known)
            for file, call in statements.nodes(ast.Call)
            for known in self._of(call)
        ]

    def _of(self, call: ast.Call) -> Iterator[tuple[ast.FunctionDef, int]]:
        """Yield the functions that a call may be of, each with how many parameters stand before
        the call's arguments: one of that name, the constructor of a class, or the forward of what
        the called name is given."""
        name = callee_of(call.func) or ""
        if name.startswith("__") or name == "forward":
            return
        if name in self.classes:
            yield from ((init, 1) for init in self.method(name, "__init__"))
            return
        for _, function in self.functions:
            if function.name == name:
                yield function, int(parameters_of(function)[:1] in METHODS)
        for kind in self._classes_of(name):
            yield from ((forward, 1) for forward in self.method(kind, "forward"))

    def _classes_of(self, name: str) -> set[str]:
        """Return the classes of which a variable or an attribute is given new objects."""
        given = [value_given(name, node) for _, node in self.statements.binds(name)]
        given += [node.value for _, node in self.statements.sets(name)]
        return {callee_of(value.func) or "" for value in given if isinstance(value, ast.Call)}

    def method(self, kind: str, name: str) -> list[ast.FunctionDef]:
        """Return a method of a class of the program's, or of the class from which that is made."""
        seen = set[str]()
        todo = [kind]
        while todo:
            node = self.classes.get(one := todo.pop(0))
            if node is None or one in seen:  # a base may have its own name, in another package
                continue
            seen.add(one)
            own = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == name]
            if own:
                return own
            todo += [callee_of(base) or "" for base in node.bases]
        return []


def left_by_all(test: ast.expr, function: ast.FunctionDef, calls: list[Called]) -> str | None:
    """Return the one parameter of a function on which a condition depends, where its default says
    yes or no and every call leaves it so."""
    names = {n.id for n in ast.walk(test) if isinstance(n, ast.Name)}
    chosen = [p for p in names if isinstance(constant_default(function, p), bool)]
    is_left = len(chosen) == 1 and bool(calls) and all(c.is_left(chosen[0]) for c in calls)
    return chosen[0] if is_left else None


def test_around(statement: Any, function: ast.AST) -> Any:
    """Return the condition of the innermost if in a function that is met where a statement runs."""
    inner, node = statement, statement.parent
    while node is not function:
        if isinstance(node, ast.If) and inner in node.body:
            return node.test
        inner, node = node, node.parent
    return None


def constant_default(function: Any, parameter: str) -> Any:
    """Return the default of a parameter, where that is a constant; else None."""
    default = default_of(function, parameter)
    return default.value if isinstance(default, ast.Constant) else None
