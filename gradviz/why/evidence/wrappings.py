"""Where the program makes a parameter of something that was computed: ``nn.Parameter(kernel)``.
What that is made of gets no gradient through it. Knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call, Source, Tensor
from gradviz.names.position import display_name, last_name
from gradviz.names.statements import Statements, makes_parameter, source_of


class Wrapping(NamedTuple):
    """A statement that made a parameter, and the call whose result that got.

    Attributes:
        place: where the statement stands.
        call: the last recorded call that computed the values.
        leaf: the parameter, as it was met first.
    """

    place: Source
    call: Call
    leaf: Tensor


def wrappings(facts: Facts, statements: Statements) -> Iterator[Wrapping]:
    """Yield each statement that made a parameter of what a recorded call computed: inside of that
    statement, or above it, under the name that it wraps. A statement that did not run left none."""
    for file, node in statements.nodes(ast.Call):
        if not makes_parameter(node) or not node.args:
            continue
        computing = _computing(facts, display_name(file.filename), node)
        leaf = _leaf_made(facts, computing[-1], node) if computing else None
        if leaf is not None:
            yield Wrapping(source_of(file, node), computing[-1], leaf)


def _computing(facts: Facts, path: str, node: ast.Call) -> list[Call]:
    """Return the calls that computed what a statement wraps: those that gave their result the name
    which it wraps; of an expression those that stand in it."""
    wrapped, tensor = node.args[0], facts.graph.tensor
    if isinstance(wrapped, ast.Name):
        name = wrapped.id
        calls = facts.ordinary_calls
        return [c for c in calls if any(tensor[i].code_name == name for i in c.outputs)]
    return [call for call in facts.ordinary_calls if _stands_in(call, path, node)]


def _leaf_made(facts: Facts, call: Call, node: ast.Call) -> Tensor | None:
    """Return the leaf that was first met after a call, has the shape of its result, and the name
    that the statement gives to a parameter, where it gives one."""
    shapes = {facts.graph.tensor[i].shape for i in call.outputs}
    name = _name_given(node)
    for states in facts.states.values():
        first = states[0]
        is_new = first.is_leaf and first.requires_grad and first.id > max(call.outputs, default=0)
        is_named = not name or (first.code_name or "").rpartition(".")[2] in ("", name)
        if is_new and is_named and first.shape in shapes:
            return first
    return None


def _name_given(node: Any) -> str:
    """Return the last part of what a statement assigns a parameter to; "" where it hands it on."""
    statement = node.parent
    return last_name(statement.targets[0]) if isinstance(statement, ast.Assign) else ""


def place_of_wrapping(call: Call, statements: Statements) -> Source | None:
    """Return the statement that made a parameter of the result of a call: the one in which it
    stands, else the only one of the program that wraps what has a name; None where several do."""
    every = [(f, n) for f, n in statements.nodes(ast.Call) if makes_parameter(n) and n.args]
    for file, node in every:
        if _stands_in(call, display_name(file.filename), node):
            return source_of(file, node)
    named = [source_of(f, n) for f, n in every if isinstance(n.args[0], ast.Name)]
    return named[0] if len(named) == 1 else None


def _stands_in(call: Call, path: str, node: ast.expr) -> bool:
    """Say whether a call stands in the lines of an expression of a file."""
    source, lines = call.source, range(node.lineno, (node.end_lineno or 0) + 1)
    return source is not None and source.file == path and source.line in lines
