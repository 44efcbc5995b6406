"""A scenario as its author wrote it, and its text with parts replaced. Runs nothing."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gradviz.names.compiled import cached_by_code


class Piece(NamedTuple):
    """A part of the text, and the control that it is filled in for; "" for the author's own."""

    text: str
    control: str = ""


class SourceText:
    """A text, by the positions that a syntax tree has: lines from 1, columns in bytes of UTF-8."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")

    def line(self, number: int) -> str:
        """Return a line."""
        return self.lines[number - 1]

    def between(self, number: int, start: int, end: int | None) -> str:
        """Return what stands on a line between two columns; None: up to its end."""
        return self.line(number).encode()[start:end].decode()

    def with_edits(
        self, node: ast.expr | ast.stmt, edits: Mapping[Any, list[Piece]]
    ) -> list[Piece]:
        """Return the text of a node on one line, with some of its parts replaced."""
        return self._pieces(node.lineno, node.col_offset, node.end_col_offset, edits)

    def line_with_edits(self, number: int, edits: Mapping[Any, list[Piece]]) -> list[Piece]:
        """Return a line with some of its parts replaced."""
        return self._pieces(number, 0, None, edits)

    def body_with_edits(self, statement: ast.If, edits: Mapping[Any, list[Piece]]) -> list[Piece]:
        """Return the body of an ``if`` of one line, at the place of the ``if``."""
        indentation = self.between(statement.lineno, 0, statement.col_offset)
        start = statement.body[0].col_offset
        edits = {node: pieces for node, pieces in edits.items() if node.col_offset >= start}
        return [Piece(indentation), *self._pieces(statement.lineno, start, None, edits)]

    def _pieces(
        self, number: int, start: int, end: int | None, edits: Mapping[Any, list[Piece]]
    ) -> list[Piece]:
        pieces = []
        for node in sorted(edits, key=lambda node: int(node.col_offset)):
            pieces.append(Piece(self.between(number, start, node.col_offset)))
            pieces += edits[node]
            start = node.end_col_offset
        return [*pieces, Piece(self.between(number, start, end))]


class Written:
    """A function as its author wrote it: what no setting changes.

    Attributes:
        tree: of the function.
        source: its text, without indentation.
        first: the number of its first line in its file.
        parents: part of the tree -> what it is a part of.
        local: the names that it sets besides its parameters.
        read: where its body names something, in the order of the tree.
        decided: the expressions of it that a control may decide, in that order.
    """

    def __init__(self, tree: ast.FunctionDef | ast.AsyncFunctionDef, text: str, first: int) -> None:
        self.tree, self.first = tree, first
        self.source = SourceText(text)
        self.parents = {
            child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)
        }
        self.local = _assigned_in(tree)
        self.read = [
            node
            for statement in tree.body
            for node in ast.walk(statement)
            if isinstance(node, ast.Name)
        ]
        self.decided = [n for n in ast.walk(tree) if isinstance(n, (ast.IfExp, ast.UnaryOp))]

    def up_from(self, part: ast.AST) -> Iterator[ast.expr | ast.stmt]:
        """Yield a part and the expressions and statements that it is a part of."""
        node: ast.AST | None = part
        while node is not None:
            if isinstance(node, (ast.expr, ast.stmt)):
                yield node
            node = self.parents.get(node)


@cached_by_code(64)
def written_scenario(code: types.CodeType | None) -> Written | None:
    """Return a function as it is written; None where its source is not known. The same code is
    asked for at every click."""
    try:
        lines, first = inspect.getsourcelines(code)  # type: ignore[arg-type]
        text = textwrap.dedent("".join(lines))
        tree = ast.parse(text).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return None
    if not isinstance(tree, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    return Written(tree, text, first)


def _assigned_in(tree: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Return the names that a function sets besides its parameters."""
    stored = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }
    inner = {
        parameter.arg
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.Lambda)) and node is not tree
        for parameter in node.args.args
    }
    return stored | inner


def names_in(node: ast.AST) -> set[str]:
    """Return the variables that stand in a part of a syntax tree."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
