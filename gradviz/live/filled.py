"""The code of a scenario with what its controls chose filled in, line by line: what of it runs,
what a reader sees, and where a recorded call stands in it."""

from __future__ import annotations

import ast
import re
import types
from collections.abc import Mapping
from typing import Any, NamedTuple

from gradviz.words.speech import say

_OPERATIONS: dict[type, str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.USub: "neg",
}
_CALLED = re.compile(r"[^()]+ \((\w+): [\w.]+\)")  # what a called function did


class Line(NamedTuple):
    """One line of the filled code.

    Attributes:
        number: of the line in the function's file.
        text: without the function's own indentation.
        filled: (start, end, control) of what was filled in, as columns of ``text``.
        kind: "" for code that runs; "gone" for a line whose block, or call, is none now; "dead" for
            a branch that is not taken.
        control: that decides so.
    """

    number: int
    text: str
    filled: tuple[tuple[int, int, str], ...] = ()
    kind: str = ""
    control: str = ""


class Filled(NamedTuple):
    """The code of one setting.

    Attributes:
        lines: of the function's body, in order.
        unfilled: control -> why it could not be filled in everywhere.
        places: control -> the first line that reads it; one that no line reads is not in it.
        codes: (line, code as it is written, without blanks) -> the same with the choices filled in.
    """

    lines: tuple[Line, ...]
    unfilled: Mapping[str, str]
    places: Mapping[str, int] = types.MappingProxyType({})
    codes: Mapping[tuple[int, str], str] = types.MappingProxyType({})

    @property
    def text(self) -> str:
        """The code, as it can be run: what does not run is a comment."""
        return "\n".join(_in_program(line) for line in self.lines)

    @property
    def sent(self) -> list[list[Any]]:
        """The lines as a page draws them: number, text, what is filled in, kind, control."""
        return [
            [line.number, _to_read(line), [*line.filled], line.kind, line.control]
            for line in self.lines
        ]

    @property
    def to_read(self) -> str:
        """The code for a reader: what does nothing now says so."""
        return "\n".join(map(_to_read, self.lines))

    def code_of(self, line: int, code: str, function: str) -> str:
        """Return the code of a recorded call as it reads when filled in; where that is not known,
        as it is.

        Args:
            line: on which it stands.
            code: as it was recorded: written there, or "b (copy: detach)" of what was called from
                there.
            function: that was called.
        """
        known = self.codes.get((line, bare(code)))
        if known is not None:
            return known
        called = _CALLED.fullmatch(code)
        return (self.code_within(line, called[1], function) if called else "") or code

    def code_within(self, line: int, control: str, function: str) -> str:
        """Return the code of a call that what a control chose made, within what is filled in for
        it; "" where it is not known which part that is."""
        for one in self.lines:
            parts = [(start, end) for start, end, by in one.filled if by == control]
            if one.number == line and len(parts) == 1:
                return _only_call(one.text, *parts[0], function)
        return ""

    @property
    def numbers(self) -> set[int]:
        """The lines."""
        return {line.number for line in self.lines}

    @property
    def widths(self) -> dict[int, int]:
        """Line -> its columns."""
        return {line.number: len(line.text) for line in self.lines}


def _to_read(line: Line) -> str:
    """Return a line for a reader: in the place of a block or call that is none now stands a
    comment; the test of a branch stays, as does the one that is not taken."""
    code = line.text.lstrip()
    if line.kind != "gone" or re.match(r"(if|elif|else)\b", code):
        return line.text
    gone = say("filled.no_with") if re.match(r"with\b", code) else say("filled.no_call")
    return f"{line.text[: len(line.text) - len(code)]}# {gone}"


def bare(code: str) -> str:
    """Return code without blanks."""
    return "".join(code.split())


def _only_call(line: str, start: int, end: int, function: str) -> str:
    """Return the part of a line, between two columns, that calls this function, reads an attribute
    of this name, or is the operator for it; the statement where it assigns just that. "" where
    there is none, or more than one."""
    text = line.strip()
    indent = len(line) - len(line.lstrip())
    statement = _parsed_alone(text)
    if statement is None:
        return ""
    inside = _expressions_between(statement, start - indent, end - indent)
    found = [node for node in inside if _does(node) == function]
    calls = [node for node in found if not isinstance(node, ast.Attribute)] or found
    if len(calls) != 1:
        return ""
    if isinstance(statement, ast.Assign) and statement.value is calls[0]:
        return text
    return ast.get_source_segment(text, calls[0]) or ""


def _expressions_between(statement: ast.stmt, start: int, end: int) -> list[ast.expr]:
    """List the expressions of a one-line statement that stand between two columns."""
    inside = [node for node in ast.walk(statement) if isinstance(node, ast.expr)]
    return [n for n in inside if start <= n.col_offset and (n.end_col_offset or 0) <= end]


def _parsed_alone(text: str) -> ast.stmt | None:
    """Return the statement of a line; None for the head of a block, and where the columns of the
    tree, which are bytes, are not those of the text."""
    try:
        return ast.parse(text).body[0] if text.isascii() else None
    except (SyntaxError, IndexError):
        return None


def _does(node: ast.expr) -> str:
    """Return the name of the function that an expression calls, as torch records it."""
    if isinstance(node, ast.Call):
        return _last_name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    operator = getattr(node, "op", None)
    return _OPERATIONS.get(type(operator), "")


def _last_name(node: ast.expr) -> str:
    """Return the name by which something is called: ``detach`` of ``a.detach``."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _in_program(line: Line) -> str:
    """Return a line as it can be run. What is gone is an empty statement, since it may have been
    all that a block had."""
    code = line.text.lstrip()
    if not line.kind or not code:
        return line.text
    return (
        line.text[: len(line.text) - len(code)]
        + ("pass  # " if line.kind == "gone" else "# ")
        + code
    )
