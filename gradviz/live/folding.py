"""Blocks of a scenario that its controls decide: which lines go, die or move out, as an ``if`` has
one branch now, and a ``with`` may be none."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gradviz.live.scenario_text import Written, names_in
from gradviz.live.spelling import PLAIN

INDENT = 4  # columns that a body moves out when its block goes


class Choices:
    """What the controls of a scenario chose.

    Args:
        written: the scenario.
        chosen: control -> (label, value).
    """

    def __init__(self, written: Written, chosen: Mapping[str, tuple[str, Any]]) -> None:
        self.values = {name: value for name, (_, value) in chosen.items()}
        self.local = written.local

    def decider(self, test: ast.expr) -> str:
        """Return the control that decides a test, the first of several; "" where something else
        has a say: a variable, or a control that has no plain value or is set again."""
        asked = names_in(test)
        return min(asked) if asked and all(map(self._is_plain, asked)) else ""

    def _is_plain(self, name: str) -> bool:
        """Say whether a name is a control with a plain value, and nothing else sets it."""
        return (
            name in self.values and name not in self.local and isinstance(self.values[name], PLAIN)
        )

    def worth(self, test: ast.expr) -> Any:
        """Return what a test of plain values and operators comes to; nothing is called."""
        code = compile(ast.Expression(test), "<test>", "eval")
        return eval(code, {"__builtins__": {}}, dict(self.values))

    def is_nothing(self, name: str) -> bool:
        """Say whether a control chose the context that does nothing."""
        return self.values.get(name) is contextlib.nullcontext and name not in self.local


class Folding:
    """What becomes of the lines of one scenario in one setting.

    Attributes:
        gone: line -> the control by which its block, or call, is none now.
        dead: line -> the control by which its branch is not taken.
        moved: line -> columns that it moves out.
        beheaded: line -> the ``if`` of which the body, on the same line, is left.
        renamed: line of an ``elif`` that begins its chain now -> control.

    Args:
        written: the scenario.
        choices: of its controls.
    """

    def __init__(self, written: Written, choices: Choices) -> None:
        self.written, self.choices = written, choices
        self.gone: dict[int, str] = {}
        self.dead: dict[int, str] = {}
        self.moved: dict[int, int] = {}
        self.beheaded: dict[int, ast.If] = {}
        self.renamed: dict[int, str] = {}
        self._fold(written.tree.body)

    def runs(self, line: int) -> bool:
        """Say whether a line is still code that runs."""
        return line not in self.dead and line not in self.gone

    def state(self, line: int) -> tuple[str, str]:
        """Return the kind of a line, as ``Line`` has it, and the control that decides it."""
        if line in self.dead:
            return "dead", self.dead[line]
        return ("gone", self.gone[line]) if line in self.gone else ("", "")

    def _fold(self, statements: Sequence[ast.stmt]) -> None:
        """Note which lines go, die or move out, since a control decides an ``if`` or a ``with``."""
        for statement in statements:
            if statement.lineno in self.dead or _has_long_text(statement):
                continue
            if isinstance(statement, ast.If):
                fold = self._fold_if if _opens_a_line(statement) else self._fold_line
                fold(statement)
            elif isinstance(statement, ast.With):
                self._fold_with(statement)
            for block in _blocks(statement):
                self._fold(block)

    def _fold_with(self, statement: ast.With) -> None:
        """Note a ``with`` block of nothing, which is no block."""
        first = statement.items[0]
        control = _called_name(first.context_expr)
        is_plain = len(statement.items) == 1 and first.optional_vars is None
        if is_plain and self.choices.is_nothing(control) and _opens_a_line(statement):
            self.gone[statement.lineno] = control
            self._move_out(statement.body)

    def _fold_if(self, statement: ast.If) -> None:
        """Note an ``if`` whose test only asks controls: it has one branch."""
        control = self.choices.decider(statement.test)
        if not control or self._is_elif_of_a_chain(statement):
            return
        taken = bool(self.choices.worth(statement.test))
        self.gone[statement.lineno] = control
        if taken:
            self._let_die(statement.orelse, control)
            self._move_out(statement.body)
        else:
            self._let_die(statement.body, control)
        if statement.orelse:
            self._fold_else(statement, control, taken)

    def _fold_else(self, statement: ast.If, control: str, taken: bool) -> None:
        """Note what becomes of the ``elif`` or ``else`` of an ``if`` that has one branch."""
        other = statement.orelse[0]
        if _is_elif(other, statement):
            if not taken:
                self.renamed[other.lineno] = control
            return
        self.gone[self._line_of_else(statement)] = control
        if not taken:
            self._move_out(statement.orelse)

    def _is_elif_of_a_chain(self, statement: ast.If) -> bool:
        """Say whether it is an ``elif``, and the ``if`` before it stays."""
        chain = self.written.parents[statement]
        if not isinstance(chain, ast.If) or not _is_elif(statement, chain):
            return False
        return chain.lineno not in self.gone

    def _fold_line(self, statement: ast.If) -> None:
        """Note an ``if`` that stands on one line with its body: the body is left, or nothing."""
        control = self.choices.decider(statement.test)
        is_whole = not statement.orelse and statement.lineno == statement.end_lineno
        if not control or not is_whole:
            return
        if not self.written.source.line(statement.lineno).lstrip().startswith("if"):
            return  # an elif
        if self.choices.worth(statement.test):
            self.beheaded[statement.lineno] = statement
        else:
            self.gone[statement.lineno] = control

    def _line_of_else(self, statement: ast.If) -> int:
        """Return the line of its ``else:``, the last one before what stands below it."""
        line = statement.orelse[0].lineno
        while not self.written.source.line(line).lstrip().startswith("else"):
            line -= 1
        return line

    def _let_die(self, statements: Sequence[ast.stmt], control: str) -> None:
        """Note the lines of a branch that is not taken."""
        for line in _lines_of(statements):
            self.dead.setdefault(line, control)

    def _move_out(self, statements: Sequence[ast.stmt]) -> None:
        """Note the lines of a body whose block is gone."""
        for line in _lines_of(statements):
            self.moved[line] = self.moved.get(line, 0) + INDENT


def _called_name(node: ast.expr) -> str:
    """Return the name that is called, "" where it is no call of a name."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of a statement, those of its handlers included."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(statement, field, None)
        if isinstance(block, list):
            yield block
    for handler in getattr(statement, "handlers", ()):
        yield handler.body


def _is_elif(other: ast.stmt, statement: ast.If) -> bool:
    """Say whether a statement is the ``elif`` of another one."""
    is_first = bool(statement.orelse) and statement.orelse[0] is other
    return is_first and isinstance(other, ast.If) and other.col_offset == statement.col_offset


def _has_long_text(statement: ast.stmt) -> bool:
    """Say whether it holds a text of several lines, which would change if its lines moved."""
    return any(
        isinstance(node, (ast.Constant, ast.JoinedStr)) and node.lineno != node.end_lineno
        for node in ast.walk(statement)
    )


def _opens_a_line(statement: ast.If | ast.With) -> bool:
    """Say whether its block begins on a line of its own."""
    return statement.body[0].lineno > statement.lineno


def _lines_of(statements: Sequence[ast.stmt]) -> range:
    """Return the lines of some statements that follow each other."""
    if not statements:
        return range(0)
    return range(statements[0].lineno, (statements[-1].end_lineno or 0) + 1)
