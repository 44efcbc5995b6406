"""Where the program makes a parameter of something that was computed: ``nn.Parameter(kernel)``.
What that is made of gets no gradient through it. Knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call, Source
from gradviz.names.position import display_name
from gradviz.names.statements import Statements, makes_parameter, source_of


class Wrapping(NamedTuple):
    """A statement that makes a parameter, and the call whose result that got.

    Attributes:
        place: where the statement stands.
        call: the last recorded call that computed the values.
    """

    place: Source
    call: Call


def wrappings(facts: Facts, statements: Statements) -> Iterator[Wrapping]:
    """Yield each statement that makes a parameter of what a recorded call computed: inside of that
    statement, or above it, under the name that it wraps."""
    for file, node in statements.nodes(ast.Call):
        if not makes_parameter(node) or not node.args:
            continue
        path, lines = display_name(file.filename), range(node.lineno, (node.end_lineno or 0) + 1)
        inside = [c for c in facts.ordinary_calls if _stands_in(c, path, lines)]
        if isinstance(node.args[0], ast.Name):
            inside = [
                call
                for call in facts.ordinary_calls
                if any(facts.graph.tensor[i].code_name == node.args[0].id for i in call.outputs)
            ]
        if inside:
            yield Wrapping(source_of(file, node), inside[-1])


def place_of_wrapping(call: Call, statements: Statements) -> Source | None:
    """Return the statement that made a parameter of the result of a call: the one in which it
    stands, else the only one of the program that wraps what has a name; None where several do."""
    every = [(f, n) for f, n in statements.nodes(ast.Call) if makes_parameter(n) and n.args]
    for file, node in every:
        lines = range(node.lineno, (node.end_lineno or 0) + 1)
        if _stands_in(call, display_name(file.filename), lines):
            return source_of(file, node)
    named = [source_of(f, n) for f, n in every if isinstance(n.args[0], ast.Name)]
    return named[0] if len(named) == 1 else None


def _stands_in(call: Call, path: str, lines: range) -> bool:
    """Say whether a call stands in some lines of a file."""
    source = call.source
    return source is not None and source.file == path and source.line in lines
