"""The program's own custom Functions, as they are written. Reads code, runs none of it. Knows no
torch."""

from __future__ import annotations

import ast
from collections.abc import Set
from typing import Any, NamedTuple

from executing import Source as File

from gradviz.graph.records import Source
from gradviz.names.position import callee_of, statement_or_head
from gradviz.names.statements import Statements, source_of

# what takes numbers out of torch, and what takes a tensor out of its history, too
NUMBERS_OUT = frozenset(("numpy", "item", "tolist"))
LETTING_GO = NUMBERS_OUT | {"detach", "data"}
# what a forward makes steps with: their derivative is 0
_STEPS = ("round", "floor", "ceil", "sign")


class Written(NamedTuple):
    """The backward of a custom Function, as it is written.

    Attributes:
        file: that it stands in.
        node: its syntax node.
        arguments: those of forward, without ctx.
        forward: the forward of the same class; None where it has none of its own.
    """

    file: File
    node: Any
    arguments: list[str]
    forward: Any = None

    @property
    def returns(self) -> list[Any]:
        """What it returns: the statements, in order."""
        return [node for node in ast.walk(self.node) if isinstance(node, ast.Return)]

    @property
    def gradients(self) -> list[str]:
        """The names of what it is given: its arguments, without ctx."""
        return [argument.arg for argument in self.node.args.args[1:]]

    def at(self, node: Any) -> Source:
        """Return where a statement of it stands."""
        return source_of(self.file, node)

    def returned(self, index: int) -> str:
        """Return the code of one of the values that it returns; "" where that cannot be read."""
        value = self.returns[-1].value if len(self.returns) == 1 else None
        alone = [value] if value is not None and len(self.arguments) == 1 else []
        values = value.elts if isinstance(value, ast.Tuple) else alone
        return ast.unparse(values[index]) if index < len(values) else ""

    def argument(self, index: int) -> str:
        """Return the name of one of the arguments; "" where it has none."""
        return self.arguments[index] if index < len(self.arguments) else ""

    @property
    def ends(self) -> list[Source]:
        """Where it returns last, in a list; none where it never does."""
        return [self.at(node) for node in self.returns[-1:]]

    def begins(self, name: str) -> list[Source]:
        """Return the first statement that gives a variable its value."""
        return self.changes(name)[-1:]

    def changes(self, name: str) -> list[Source]:
        """Return the last statement that gives a variable its value, then the first one."""
        found = (
            node
            for node in ast.walk(self.node)
            if isinstance(node, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
        )
        nodes = sorted(found, key=lambda n: n.lineno)
        return [self.at(node) for node in dict.fromkeys([*nodes[-1:], *nodes[:1]])]

    def reading(self, attributes: Set[str]) -> list[Source]:
        """Return the statements that read an attribute of one of these names, in order."""
        every = (node for node in ast.walk(self.node) if isinstance(node, ast.Attribute))
        found = {statement_or_head(node) for node in every if node.attr in attributes} - {None}
        return [self.at(node) for node in sorted(found, key=lambda n: n.lineno)]

    @property
    def nones(self) -> list[Source]:
        """The returns among whose values a None stands for one of several arguments."""
        return [self.at(node) for node in self.returns if self._holds_none(node.value)]

    def _holds_none(self, value: Any) -> bool:
        """Say whether a value that is returned is None, or holds one: also as a variable that is
        given nothing else."""
        values = value.elts if isinstance(value, ast.Tuple) else [value]
        return any(_is_none(one) or self._is_only_none(one) for one in values)

    def _is_only_none(self, value: Any) -> bool:
        """Say whether a variable stands there that is given nothing but None."""
        name = value.id if isinstance(value, ast.Name) else ""
        bound = [target for node in ast.walk(self.node) for target in _bound(node, name)]
        return bool(bound) and all(map(_is_none, bound))


def backward_of(statements: Statements | None, name: str) -> Written | None:
    """Return the backward of the one class of a name; None where there is none, or several."""
    nodes = [] if statements is None else statements.nodes(ast.ClassDef)
    classes = [(file, node) for file, node in nodes if node.name == name]
    methods = {n.name: n for _, c in classes for n in c.body if isinstance(n, ast.FunctionDef)}
    if len(classes) != 1 or "backward" not in methods:
        return None
    forward = methods.get("forward")
    arguments = [] if forward is None else [a.arg for a in forward.args.args]
    has_context = forward is not None and "setup_context" not in methods
    return Written(classes[0][0], methods["backward"], arguments[int(has_context) :], forward)


def rounding_of(written: Written) -> tuple[str, str, str] | None:
    """Return what a forward rounds, with which method, and the variable that it gives that; None
    where it rounds nothing in a statement of its own, or several things."""
    nodes = [] if written.forward is None else [*ast.walk(written.forward)]
    assigned = [n for n in nodes if isinstance(n, ast.Assign) and len(n.targets) == 1]
    found = [(n, n.value) for n in assigned if isinstance(n.value, ast.Call)]
    rounded = [(n, call) for n, call in found if callee_of(call.func) in _STEPS]
    if len(rounded) != 1:
        return None
    (target, call), *_ = [(node.targets[0], call) for node, call in rounded]
    is_function = ast.unparse(call.func).startswith("torch.")
    base = call.args[0] if is_function and call.args else getattr(call.func, "value", None)
    if base is None or not isinstance(target, ast.Name):
        return None
    return ast.unparse(base), str(callee_of(call.func)), target.id


def _is_none(node: Any) -> bool:
    """Say whether None is written there; a bare return gives it, too."""
    return node is None or (isinstance(node, ast.Constant) and node.value is None)


def _bound(node: ast.AST, name: str) -> list[ast.AST]:
    """Return what a statement gives a variable."""
    if not isinstance(node, ast.Assign):
        return []
    return [node.value for t in node.targets if isinstance(t, ast.Name) and t.id == name]
