"""A scenario's own code with what its controls chose filled in: ``b = copy(a)`` becomes ``b =
a.clone()``.

Nothing is guessed. The function's syntax tree says where a parameter is read; the author's spelling
around it stays, and a source line stays a line. What has no truthful code (several statements, a
closure, a tensor) stays as it was written, and says so: ``# copy = label``. Whether the filled text
does what the scenario does is tested by running it.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import inspect
import linecache
import re
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from gradviz.names.compiled import cached_by_code
from gradviz.words.speech import say

INDENT = 4  # columns that a body moves out when its block goes
LONGEST = 40  # characters of a list that is written out
# What needs no parentheses, whatever it stands in.
_ATOMS = (
    *(ast.Name, ast.Constant, ast.Attribute, ast.Call, ast.Subscript),
    *(ast.List, ast.Tuple, ast.Dict, ast.Set, ast.JoinedStr),
)
_OPERATORS = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Await, ast.Starred)
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
_PLAIN = (bool, int, float, str, type(None))


class Piece(NamedTuple):
    """A part of the text, and the control that it is filled in for; "" for the author's own."""

    text: str
    control: str = ""


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
        known = self.codes.get((line, _bare(code)))
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


class _Unknown(Exception):
    """There is no truthful code for a value here."""


def fill_in(function: Callable[..., Any], chosen: Mapping[str, tuple[str, Any]]) -> Filled:
    """Fill in what the controls of a scenario chose.

    Args:
        function: the scenario; its source is read.
        chosen: parameter -> (label, value).

    Returns:
        The lines of its body, and which controls could not be filled in. No lines where the source
        is not known.

    Example:
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
    written = _written(getattr(function, "__code__", None))
    if written is None:
        return Filled((), {})
    return _Filling(function, written, chosen).filled()


class _Written:
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
        self.source = _Source(text)
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
def _written(code: types.CodeType | None) -> _Written | None:
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
    return _Written(tree, text, first)


class _Filling:
    """One function and one setting."""

    def __init__(
        self,
        function: Callable[..., Any],
        written: _Written,
        chosen: Mapping[str, tuple[str, Any]],
    ) -> None:
        self.written, self.chosen = written, chosen
        self.tree, self.first, self.source = written.tree, written.first, written.source
        self.parents, self.local = written.parents, written.local
        self.known: Mapping[str, Any] = getattr(function, "__globals__", {})
        self.unfilled: dict[str, str] = {}
        self.gone: dict[int, str] = {}  # line -> control
        self.dead: dict[int, str] = {}
        self.moved: dict[int, int] = {}  # line -> columns
        self.beheaded: dict[int, ast.If] = {}  # by line: what has its body beside it, and runs
        self.renamed: dict[int, str] = {}  # line of an elif that begins its chain now -> control
        self.edits: dict[ast.AST, list[Piece]] = {}

    def filled(self) -> Filled:
        """Return the filled code."""
        self.fold(self.tree.body)
        # the innermost first: its text may be a part of another's
        for name in reversed([*self.read_parameters()]):
            if name.lineno in self.dead or name.lineno in self.gone:
                continue
            try:
                self.edit(name)
            except _Unknown as why:
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
            yield (self.first + node.lineno - 1, _bare(written)), text

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
            if node.id in self.local:
                self.unfilled.setdefault(node.id, say("filled.assigned"))
            elif isinstance(node.ctx, ast.Load):
                yield node

    # --- blocks that are decided ------------------------------------------------------------------

    def fold(self, statements: Sequence[ast.stmt]) -> None:
        """Note which lines go, die or move out, since a control decides an ``if`` or a ``with``."""
        for statement in statements:
            if statement.lineno in self.dead or _has_long_text(statement):
                continue
            if isinstance(statement, ast.If):
                fold = self.fold_if if _opens_a_line(statement) else self.fold_line
                fold(statement)
            elif isinstance(statement, ast.With):
                self.fold_with(statement)
            for block in _blocks(statement):
                self.fold(block)

    def fold_with(self, statement: ast.With) -> None:
        """Note a ``with`` block of nothing, which is no block."""
        control = _called_name(statement.items[0].context_expr)
        if len(statement.items) == 1 and statement.items[0].optional_vars is None:
            is_nothing = self.chosen.get(control, ("", None))[1] is contextlib.nullcontext
            if is_nothing and control not in self.local and _opens_a_line(statement):
                self.gone[statement.lineno] = control
                self.move_out(statement.body)

    def fold_if(self, statement: ast.If) -> None:
        """Note an ``if`` whose test only asks controls: it has one branch."""
        controls = _names_in(statement.test)
        if not controls or not controls <= self.decidable:
            return
        chain = self.parents[statement]
        if (
            isinstance(chain, ast.If)
            and _is_elif(statement, chain)
            and chain.lineno not in self.gone
        ):
            return  # an elif of a chain that stays
        control = min(controls)
        taken = bool(self.worth(statement.test))
        self.gone[statement.lineno] = control
        dead, kept = (statement.orelse, statement.body) if taken else (statement.body, [])
        self.let_die(dead, control)
        self.move_out(kept)
        if not statement.orelse:
            return
        other = statement.orelse[0]
        if _is_elif(other, statement):
            if not taken:
                self.renamed[other.lineno] = control
        else:
            self.gone[self.line_of_else(statement)] = control
            if not taken:
                self.move_out(statement.orelse)

    def fold_line(self, statement: ast.If) -> None:
        """Note an ``if`` that stands on one line with its body: the body is left, or nothing."""
        controls = _names_in(statement.test)
        if not controls or not controls <= self.decidable:
            return
        if statement.orelse or statement.lineno != statement.end_lineno:
            return
        if not self.source.line(statement.lineno).lstrip().startswith("if"):
            return  # an elif
        if self.worth(statement.test):
            self.beheaded[statement.lineno] = statement
        else:
            self.gone[statement.lineno] = min(controls)

    @property
    def decidable(self) -> set[str]:
        """The controls with plain values that nothing else sets."""
        return {
            name
            for name, (_, value) in self.chosen.items()
            if isinstance(value, _PLAIN) and name not in self.local
        }

    def worth(self, test: ast.expr) -> Any:
        """Return what a test of plain values and operators comes to; nothing is called."""
        values = {name: value for name, (_, value) in self.chosen.items()}
        return eval(compile(ast.Expression(test), "<test>", "eval"), {"__builtins__": {}}, values)

    def line_of_else(self, statement: ast.If) -> int:
        """Return the line of its ``else:``, the last one before what stands below it."""
        line = statement.orelse[0].lineno
        while not self.source.line(line).lstrip().startswith("else"):
            line -= 1
        return line

    def let_die(self, statements: Sequence[ast.stmt], control: str) -> None:
        """Note the lines of a branch that is not taken."""
        for line in _lines_of(statements):
            self.dead.setdefault(line, control)

    def move_out(self, statements: Sequence[ast.stmt]) -> None:
        """Note the lines of a body whose block is gone."""
        for line in _lines_of(statements):
            self.moved[line] = self.moved.get(line, 0) + INDENT

    # --- expressions ------------------------------------------------------------------------------

    def decide(self) -> None:
        """Write out what a control decides inside an expression: ``not keep``, ``x if keep else
        y``. The innermost first, since its text may be a part of another's."""
        for node in reversed(self.written.decided):
            asked = node.test if isinstance(node, ast.IfExp) else node.operand
            controls = _names_in(asked)
            decided = controls and controls <= self.decidable and node.lineno == node.end_lineno
            if not decided or node.lineno in self.dead or node.lineno in self.gone:
                continue
            if isinstance(node, ast.IfExp):
                branch = node.body if self.worth(node.test) else node.orelse
                code = "".join(p.text for p in self.source.with_edits(branch, self.within(branch)))
            elif isinstance(node.op, ast.Not):
                code = repr(self.worth(node))
            else:
                continue
            for inner in self.within(node):
                del self.edits[inner]
            self.edits[node] = [Piece(_in_place(code, node, self.parents[node]), min(controls))]

    def within(self, node: ast.expr) -> dict[ast.AST, list[Piece]]:
        """Return the edits of a node and of its parts."""
        parts = set(ast.walk(node))
        return {part: pieces for part, pieces in self.edits.items() if part in parts}

    def edit(self, name: ast.Name) -> None:
        """Note the code that takes the place of a parameter, or of its call."""
        parent = self.parents[name]
        call = parent if isinstance(parent, ast.Call) and parent.func is name else None
        node: ast.expr = name if call is None else call
        if node.lineno != node.end_lineno:
            raise _Unknown(say("filled.over_lines"))
        value = self.chosen[name.id][1]
        code = self.constant(value) if call is None else self.call_of(value, call)
        for inner in self.within(node):
            del self.edits[inner]
        around = self.parents[node]
        if isinstance(around, ast.Expr) and code == "None":
            self.gone[node.lineno] = name.id
            return
        self.edits[node] = [Piece(_in_place(code, node, around), name.id)]

    def constant(self, value: Any) -> str:
        """Return the code of a value that is read."""
        return written_out(value) or self.public_name(value)

    def public_name(self, value: Any) -> str:
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
        raise _Unknown(say("filled.no_code", kind=type(value).__name__))

    def call_of(self, value: Any, call: ast.Call) -> str:
        """Return the code of a call of a control's value."""
        if call.keywords or any(isinstance(a, ast.Starred) for a in call.args):
            raise _Unknown(say("filled.keywords"))
        arguments = [self.argument(node) for node in call.args]
        if isinstance(value, (types.MethodDescriptorType, types.WrapperDescriptorType)):
            return _method_call(value.__name__, arguments)
        if isinstance(value, types.FunctionType) and not _is_torchs(value):
            return self.body_of(value, arguments)
        try:
            name = self.public_name(value)
        except _Unknown:
            # torch.Tensor.detach_ and others that torch wrote in Python
            own = getattr(value, "__name__", "")
            if isinstance(value, types.FunctionType) and vars(torch.Tensor).get(own) is value:
                return _method_call(own, arguments)
            raise
        return f"{name}({', '.join(text for _, text in arguments)})"

    def argument(self, node: ast.expr) -> tuple[ast.expr, str]:
        """Return an argument as it is filled in, and its text."""
        text = "".join(piece.text for piece in self.source.with_edits(node, self.within(node)))
        return _expression(text), text

    def body_of(self, function: types.FunctionType, arguments: list[tuple[ast.expr, str]]) -> str:
        """Return what a function of one expression returns, with the arguments put in."""
        signature, body, source = _one_expression(function)
        bound = _bound(signature, arguments)
        self.check_names(function, body, set(bound))
        uses = [n for n in ast.walk(body) if isinstance(n, ast.Name) and n.id in bound]
        for name, (argument, _) in bound.items():
            twice = sum(n.id == name for n in uses) > 1
            if twice and not isinstance(argument, (ast.Name, ast.Constant)):
                raise _Unknown(say("filled.twice", name=name))
        if body.lineno != body.end_lineno:
            raise _Unknown(say("filled.over_lines"))
        parents = {child: node for node in ast.walk(body) for child in ast.iter_child_nodes(node)}
        places = {use: [Piece(_in_place(bound[use.id][1], use, parents.get(use)))] for use in uses}
        return "".join(piece.text for piece in source.with_edits(body, places))

    def check_names(self, function: types.FunctionType, body: ast.expr, bound: set[str]) -> None:
        """Refuse names of a function's body that mean something else in the scenario.

        Raises:
            _Unknown: it has such a name.
        """
        for name in _names_in(body) - bound:
            if name in function.__code__.co_freevars:
                raise _Unknown(say("filled.closure", name=name))
            meant = function.__globals__.get(name, getattr(builtins, name, None))
            here = self.known.get(name, getattr(builtins, name, None))
            if name in self.local or name in self.chosen or here is not meant:
                raise _Unknown(say("filled.means_other", name=name))

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
        pieces = self.source.line_with_edits(number, edits)
        if statement := self.beheaded.get(number):
            pieces = self.source.body_with_edits(statement, edits)
        if control := self.renamed.get(number):  # the first branch of a chain is an if
            pieces[0] = Piece(pieces[0].text.replace("elif", "if", 1), pieces[0].control)
        out = indent + self.moved.get(number, 0)
        pieces = _moved(pieces, out)
        text, filled, column = "", [], 0
        for piece in pieces:
            if piece.control:
                filled.append((column, column + len(piece.text), piece.control))
            text += piece.text
            column += len(piece.text)
        state = self.dead if number in self.dead else self.gone
        control = state.get(number, "")
        kind = "" if not control else "dead" if state is self.dead else "gone"
        if not kind:
            text += self.note(number)
        return Line(self.first + number - 1, text, tuple(filled), kind, control)

    def note(self, number: int) -> str:
        """Return the comment of a line that reads what could not be filled in."""
        here = {
            node.id: self.chosen[node.id][0]
            for node in self.read_parameters()
            if node.lineno == number and node.id in self.unfilled
        }
        told = ", ".join(f"{name} = {label}" for name, label in here.items())
        return f"  # {told}" if told else ""


class _Source:
    """A text, by the positions that a syntax tree has: lines from 1, columns in bytes of UTF-8."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")

    def line(self, number: int) -> str:
        return self.lines[number - 1]

    def between(self, number: int, start: int, end: int | None) -> str:
        return self.line(number).encode()[start:end].decode()

    def with_edits(
        self, node: ast.expr | ast.stmt, edits: Mapping[Any, list[Piece]]
    ) -> list[Piece]:
        """Return the text of a node on one line, with some of its parts replaced."""
        return self._pieces(node.lineno, node.col_offset, node.end_col_offset, edits)

    def line_with_edits(self, number: int, edits: Mapping[Any, list[Piece]]) -> list[Piece]:
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


# --- values and functions as code -----------------------------------------------------------------


def written_out(value: Any) -> str:
    """Return the code of a plain value, "" of any other.

    >>> written_out(0.5), written_out([1, 2]), written_out(torch.float64), written_out(object())
    ('0.5', '[1, 2]', 'torch.float64', '')
    """
    if type(value) in _PLAIN:
        return repr(value)
    if isinstance(value, torch.dtype):
        return str(value)
    if type(value) in (list, tuple) and all(written_out(part) for part in value):
        inside = [written_out(part) for part in value]
        text = f"[{', '.join(inside)}]" if type(value) is list else repr(value)
        return text if len(text) <= LONGEST and "torch." not in text else ""
    return ""


def _method_call(name: str, arguments: list[tuple[ast.expr, str]]) -> str:
    """Return the call of a tensor's method on the first argument."""
    if not arguments:
        raise _Unknown(say("filled.no_code", kind="method"))
    node, text = arguments[0]
    owner = text if isinstance(node, _ATOMS) else f"({text})"
    return f"{owner}.{name}({', '.join(more for _, more in arguments[1:])})"


def _is_torchs(function: types.FunctionType) -> bool:
    return (function.__module__ or "").partition(".")[0] == "torch"


def _one_expression(function: types.FunctionType) -> tuple[ast.arguments, ast.expr, _Source]:
    """Return parameters, body and source of a lambda, or of a function that only returns.

    Raises:
        _Unknown: there is no source, or it does more than that.
    """
    return _expression_of(function.__code__, function.__name__)


@cached_by_code(64)
def _expression_of(code: types.CodeType, name: str) -> tuple[ast.arguments, ast.expr, _Source]:
    """Return what ``_one_expression`` does, of the function with this code and name."""
    lines = [
        "" if line.lstrip().startswith(("%", "!")) else line.rstrip("\n")
        for line in linecache.getlines(code.co_filename)
    ]
    try:
        tree = ast.parse("\n".join(lines))
    except SyntaxError:
        raise _Unknown(say("filled.no_source")) from None
    source = _Source("\n".join(lines))
    if name == "<lambda>":
        found = _lambda_of(tree, code)
        return found.args, found.body, source
    for node in ast.walk(tree):
        is_named = isinstance(node, ast.FunctionDef) and node.name == name
        if isinstance(node, ast.FunctionDef) and is_named and _begins_at(node, code.co_firstlineno):
            return node.args, _returned(node), source
    raise _Unknown(say("filled.no_source"))


def _lambda_of(tree: ast.Module, code: types.CodeType) -> ast.Lambda:
    """Return the lambda that a code was made of.

    Raises:
        _Unknown: there is none, or more than one could be.
    """
    nodes = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda)
        and node.lineno == code.co_firstlineno
        and [parameter.arg for parameter in node.args.args] == _parameters(code)
    ]
    if len(nodes) > 1:
        nodes = _lambdas_of_one_line(nodes, code)
    if len(nodes) != 1:
        raise _Unknown(say("filled.no_source"))
    return nodes[0]


def _lambdas_of_one_line(nodes: list[ast.Lambda], code: types.CodeType) -> list[ast.Lambda]:
    """Return the one of several lambdas that a code was made of; none where that is not known."""
    if not hasattr(code, "co_positions"):  # before Python 3.11
        return [n for n in nodes if _what_runs(_compiled(n)) == _what_runs(code)][:1]
    columns = _columns(code)
    around = [n for n in nodes if _begin(n.body) <= min(columns) and max(columns) <= _end(n.body)]
    return [max(around, key=_begin)] if around else []  # the innermost


def _compiled(node: ast.Lambda) -> types.CodeType:
    """Return the code of a lambda, for one that reads no variables of a function around it."""
    constants = compile(ast.Expression(node), "lambda", "eval").co_consts
    return next(c for c in constants if isinstance(c, types.CodeType))


def _what_runs(code: types.CodeType) -> tuple[Any, ...]:
    """Return all that a code does, without where it stands."""
    return code.co_code, code.co_consts, code.co_names, code.co_varnames


def _parameters(code: types.CodeType) -> list[str]:
    return list(code.co_varnames[: code.co_argcount])


def _columns(code: Any) -> list[tuple[int, int]]:
    """Return (line, column) of the beginning and end of all that a code does."""
    known = [place for place in code.co_positions() if None not in place and place[3] > 0]
    return [(p[0], p[2]) for p in known] + [(p[1], p[3]) for p in known]


def _begin(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or 0, node.end_col_offset or 0


def _begins_at(node: ast.FunctionDef, line: int) -> bool:
    """Say whether a line is the function's first, or of its decorators."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return first <= line < node.body[0].lineno


def _returned(node: ast.FunctionDef) -> ast.expr:
    """Return what a function returns that does nothing else."""
    body = [s for s in node.body if not _is_text(s)]
    if len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None:
        return body[0].value
    raise _Unknown(say("filled.statements"))


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _bound(
    signature: ast.arguments, arguments: list[tuple[ast.expr, str]]
) -> dict[str, tuple[ast.expr, str]]:
    """Return parameter -> argument.

    Raises:
        _Unknown: the parameters are not all plain, or do not match.
    """
    if signature.vararg or signature.kwarg or signature.kwonlyargs or signature.posonlyargs:
        raise _Unknown(say("filled.keywords"))
    names = [parameter.arg for parameter in signature.args]
    values = [(default, ast.unparse(default)) for default in signature.defaults]
    defaults = dict(zip(names[len(names) - len(values) :], values, strict=True))
    given = dict(zip(names, arguments, strict=False))
    if len(arguments) > len(names) or set(names) - set(given) - set(defaults):
        raise _Unknown(say("filled.keywords"))
    return defaults | given


@functools.lru_cache(maxsize=256)
def _expression(code: str) -> ast.expr:
    """Return the syntax tree of an expression. The same few are asked for at every click."""
    return ast.parse(code, mode="eval").body


def _in_place(code: str, node: ast.AST, around: ast.AST | None) -> str:
    """Return code in parentheses where it would otherwise come apart in its new place."""
    parsed = _expression(code)
    if isinstance(parsed, _ATOMS) and not _is_number_with_attribute(parsed, around):
        return code
    is_base = isinstance(around, (ast.Attribute, ast.Subscript)) and around.value is node
    is_called = isinstance(around, ast.Call) and around.func is node
    in_operator = isinstance(around, _OPERATORS) or is_base or is_called
    return f"({code})" if in_operator or isinstance(around, ast.Attribute) else code


def _is_number_with_attribute(parsed: ast.expr, around: ast.AST | None) -> bool:
    """Say whether a number stands before a dot: ``1.real`` is no code."""
    return isinstance(parsed, ast.Constant) and isinstance(around, ast.Attribute)


# --- syntax trees ---------------------------------------------------------------------------------


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


def _names_in(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


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
    if not statements:
        return range(0)
    return range(statements[0].lineno, (statements[-1].end_lineno or 0) + 1)


def _moved(pieces: list[Piece], out: int) -> list[Piece]:
    """Take indentation away from the first pieces."""
    first = pieces[0].text
    blank = len(first) - len(first.lstrip())
    return [Piece(first[min(out, blank) :], pieces[0].control), *pieces[1:]]


def _to_read(line: Line) -> str:
    """Return a line for a reader: in the place of a block or call that is none now stands a
    comment; the test of a branch stays, as does the one that is not taken."""
    code = line.text.lstrip()
    if line.kind != "gone" or re.match(r"(if|elif|else)\b", code):
        return line.text
    gone = say("filled.no_with") if re.match(r"with\b", code) else say("filled.no_call")
    return f"{line.text[: len(line.text) - len(code)]}# {gone}"


def _bare(code: str) -> str:
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
