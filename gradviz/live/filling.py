"""A scenario's own code with what its controls chose filled in: ``b = copy(a)`` becomes ``b =
a.clone()``.

Nothing is guessed. The function's syntax tree says where a parameter is read; the author's spelling
around it stays, and a source line stays a line. What has no truthful code (several statements, a
closure, a tensor) stays as it was written, and says so: ``# copy = label``. Whether the filled text
does what the scenario does is tested by running it.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gradviz.live.filled import Filled, Line, bare
from gradviz.live.folding import Choices, Folding
from gradviz.live.scenario_text import Piece, Written, written_scenario
from gradviz.live.spelling import Argument, Spelling, Unknown, expression, in_place
from gradviz.words.speech import say


def fill_in(function: Callable[..., Any], chosen: Mapping[str, tuple[str, Any]]) -> Filled:
    """Fill in what the controls of a scenario chose.

    Args:
        function: the scenario; its source is read.
        chosen: parameter -> (label, value).

    Returns:
        The lines of its body, and which controls could not be filled in. No lines where the source
        is not known.

    Example:
        >>> import torch
        >>> def scenario(copy, off):
        ...     a = torch.ones(1, requires_grad=True)
        ...     with off():
        ...         b = copy(a)
        ...     b.sum().backward()
        >>> modes = {"copy": ("clone", torch.Tensor.clone), "off": ("off", torch.no_grad)}
        >>> print(fill_in(scenario, modes).text)
        a = torch.ones(1, requires_grad=True)
        with torch.no_grad():
            b = a.clone()
        b.sum().backward()
    """
    function = inspect.unwrap(function)
    written = written_scenario(getattr(function, "__code__", None))
    if written is None:
        return Filled((), {})
    return _Filling(function, written, chosen).filled()


class _Filling:
    """One function and one setting."""

    def __init__(
        self,
        function: Callable[..., Any],
        written: Written,
        chosen: Mapping[str, tuple[str, Any]],
    ) -> None:
        self.written, self.chosen = written, chosen
        self.tree, self.first, self.source = written.tree, written.first, written.source
        known: Mapping[str, Any] = getattr(function, "__globals__", {})
        self.choices = Choices(written, chosen)
        self.folding = Folding(written, self.choices)
        self.spelling = Spelling(known, written.local, chosen.keys())
        self.unfilled: dict[str, str] = {}
        self.edits: dict[ast.AST, list[Piece]] = {}

    def filled(self) -> Filled:
        """Return the filled code."""
        # the innermost first: its text may be a part of another's
        for name in reversed([*self.read_parameters()]):
            if not self.folding.runs(name.lineno):
                continue
            try:
                self.edit(name)
            except Unknown as why:
                self.unfilled.setdefault(name.id, str(why))
        self.decide()
        codes = dict(self.codes())
        return Filled(tuple(self.lines()), self.unfilled, self.places(), codes)

    def codes(self) -> Iterator[tuple[tuple[int, str], str]]:
        """Yield what is written on one line, a statement or a part of one, with what it is when
        filled in."""
        holding: dict[ast.expr | ast.stmt, dict[ast.AST, list[Piece]]] = {}
        for edited, pieces in self.edits.items():
            for node in self.written.up_from(edited):
                if node.lineno != node.end_lineno:
                    break
                holding.setdefault(node, {})[edited] = pieces
        for node, edits in holding.items():
            written = self.source.between(node.lineno, node.col_offset, node.end_col_offset)
            text = "".join(piece.text for piece in self.source.with_edits(node, edits))
            yield (self.first + node.lineno - 1, bare(written)), text

    def places(self) -> dict[str, int]:
        """Return on which line each control is read first."""
        read = [
            (node.lineno, node.id)
            for node in self.written.read
            if node.id in self.chosen and isinstance(node.ctx, ast.Load)
        ]
        return {name: self.first + line - 1 for line, name in sorted(read, reverse=True)}

    def read_parameters(self) -> Iterator[ast.Name]:
        """Yield where the body reads a parameter that a control sets, and nothing else does."""
        for node in self.written.read:
            if node.id not in self.chosen:
                continue
            if node.id in self.written.local:
                self.unfilled.setdefault(node.id, say("filled.assigned"))
            elif isinstance(node.ctx, ast.Load):
                yield node

    # --- expressions ------------------------------------------------------------------------------

    def edit(self, name: ast.Name) -> None:
        """Note the code that takes the place of a parameter, or of its call."""
        parent = self.written.parents[name]
        call = parent if isinstance(parent, ast.Call) and parent.func is name else None
        node: ast.expr = name if call is None else call
        if node.lineno != node.end_lineno:
            raise Unknown(say("filled.over_lines"))
        value = self.chosen[name.id][1]
        if call is None:
            code = self.spelling.constant(value)
        else:
            code = self.spelling.call(value, self.arguments(call))
        if isinstance(self.written.parents[node], ast.Expr) and code == "None":
            self.drop_edits_within(node)
            self.folding.gone[node.lineno] = name.id
        else:
            self.replace(node, code, name.id)

    def decide(self) -> None:
        """Write out what a control decides inside an expression: ``not keep``, ``x if keep else
        y``. The innermost first, since its text may be a part of another's."""
        for node in reversed(self.written.decided):
            asked = node.test if isinstance(node, ast.IfExp) else node.operand
            control = self.choices.decider(asked)
            is_on_one_line = node.lineno == node.end_lineno
            if not control or not is_on_one_line or not self.folding.runs(node.lineno):
                continue
            if isinstance(node, ast.IfExp):
                branch = node.body if self.choices.worth(node.test) else node.orelse
                self.replace(node, self.text(branch), control)
            elif isinstance(node.op, ast.Not):
                self.replace(node, repr(self.choices.worth(node)), control)

    def arguments(self, call: ast.Call) -> list[Argument]:
        """Return the arguments of a call as they are filled in.

        Raises:
            Unknown: it has others than plain ones.
        """
        if call.keywords or any(isinstance(a, ast.Starred) for a in call.args):
            raise Unknown(say("filled.keywords"))
        texts = map(self.text, call.args)
        return [Argument(expression(text), text) for text in texts]

    def replace(self, node: ast.expr, code: str, control: str) -> None:
        """Note the code that takes the place of an expression, and of all that was filled in
        there."""
        self.drop_edits_within(node)
        self.edits[node] = [Piece(in_place(code, node, self.written.parents[node]), control)]

    def drop_edits_within(self, node: ast.expr) -> None:
        """Forget what was filled in for an expression and its parts."""
        for part in self.edits_within(node):
            del self.edits[part]

    def text(self, node: ast.expr) -> str:
        """Return an expression as it is filled in."""
        return "".join(p.text for p in self.source.with_edits(node, self.edits_within(node)))

    def edits_within(self, node: ast.expr) -> dict[ast.AST, list[Piece]]:
        """Return the edits of a node and of its parts."""
        parts = set(ast.walk(node))
        return {part: pieces for part, pieces in self.edits.items() if part in parts}

    # --- lines ------------------------------------------------------------------------------------

    def lines(self) -> Iterator[Line]:
        """Yield the lines of the body."""
        begin = self.tree.body[0].lineno
        if isinstance(self.tree.body[0], ast.Expr) and ast.get_docstring(self.tree) is not None:
            begin = (self.tree.body[0].end_lineno or begin) + 1
        by_line: dict[int, dict[ast.AST, list[Piece]]] = {}
        for node, pieces in self.edits.items():
            by_line.setdefault(getattr(node, "lineno", 0), {})[node] = pieces
        indent = min(statement.col_offset for statement in self.tree.body)
        for number in range(begin, (self.tree.end_lineno or begin) + 1):
            yield self.line(number, by_line.get(number, {}), indent)

    def line(self, number: int, edits: Mapping[ast.AST, list[Piece]], indent: int) -> Line:
        """Return one line with its edits, and what is filled in there."""
        pieces = _moved(self.pieces(number, edits), indent + self.folding.moved.get(number, 0))
        text, filled = "", list[tuple[int, int, str]]()
        for piece in pieces:
            if piece.control:
                filled.append((len(text), len(text) + len(piece.text), piece.control))
            text += piece.text
        kind, control = self.folding.state(number)
        if not kind:
            text += self.note(number)
        return Line(self.first + number - 1, text, tuple(filled), kind, control)

    def pieces(self, number: int, edits: Mapping[ast.AST, list[Piece]]) -> list[Piece]:
        """Return the parts of a line with its edits, where it stood."""
        if statement := self.folding.beheaded.get(number):
            return self.source.body_with_edits(statement, edits)
        pieces = self.source.line_with_edits(number, edits)
        if number in self.folding.renamed:  # the first branch of a chain is an if
            pieces[0] = Piece(pieces[0].text.replace("elif", "if", 1), pieces[0].control)
        return pieces

    def note(self, number: int) -> str:
        """Return the comment of a line that reads what could not be filled in."""
        here = {
            node.id: self.chosen[node.id][0]
            for node in self.read_parameters()
            if node.lineno == number and node.id in self.unfilled
        }
        told = ", ".join(f"{name} = {label}" for name, label in here.items())
        return f"  # {told}" if told else ""


def _moved(pieces: list[Piece], out: int) -> list[Piece]:
    """Take indentation away from the first pieces."""
    first = pieces[0].text
    blank = len(first) - len(first.lstrip())
    return [Piece(first[min(out, blank) :], pieces[0].control), *pieces[1:]]
