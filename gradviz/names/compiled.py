"""Which text a code object was compiled from, and whether a file still has that text. Knows no
torch.

Python compiles a file as it stands. marimo keeps each cell as the body of a function, and compiles
the body without its indentation: lines are those of the file, columns are not.
"""

from __future__ import annotations

import ast
import dis
import functools
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar, cast

from executing import Source

F = TypeVar("F", bound=Callable[..., Any])


def cached_by_code(size: int) -> Callable[[F], F]:
    """Keep the last results of a function of a code object, by that object itself.

    Before Python 3.11 codes are equal that differ in their lines alone, and IPython compiles each
    statement of a cell by itself: two cells, or two lines of one, may have equal codes.

    Args:
        size: how many results are kept.
    """

    def decorate(function: F) -> F:
        # the code is a part of the key, so no other one gets its id as long as the result is kept
        kept = functools.lru_cache(size)(lambda identity, *given: function(*given))

        @functools.wraps(function)
        def wrapper(code: CodeType | None, *others: Any) -> Any:
            return kept(id(code), code, *others)

        return cast(F, wrapper)

    return decorate


def file_of(code: CodeType) -> Source:
    """Return the text that a code was compiled from, as ``executing`` has read it.

    Of a cell of marimo that is its file with all cells dedented, which has the same lines. What is
    nested more deeply than Python can follow, as a sum of 600 terms is, has no tree.
    """
    try:
        return reader_of(code).for_filename(code.co_filename)
    except RecursionError:
        return _without_tree(code.co_filename)


@functools.lru_cache(maxsize=64)
def _without_tree(filename: str) -> Source:
    """Return a file of which nothing is known but its name."""
    file = Source(filename, [])
    file.tree = None
    return file


@cached_by_code(1024)
def reader_of(code: CodeType) -> type[Source]:
    """Return what reads the file of a code so that its positions are true."""
    file = Source.for_filename(code.co_filename)
    cells = Cells.for_filename(code.co_filename)
    last = max((line for _, _, line in code.co_lines() if line), default=0)
    is_in_cell = any(begin <= last <= end for begin, end, _ in _cells(file))
    return Cells if is_in_cell and _fitting(code, cells) >= _fitting(code, file) else Source


class Cells(Source):
    """A file of marimo's with its cells dedented; any other file as it stands."""

    @classmethod
    def for_filename(
        cls, filename: str | Path, module_globals: Any = None, use_cache: bool = True
    ) -> Source:
        """Read a file as ``executing`` does, and dedent its cells."""
        return _dedented(Source.for_filename(filename, module_globals))


@functools.lru_cache(maxsize=64)
def _dedented(file: Source) -> Source:
    """Return a file with its cells dedented. What is no cell's code is left out, but for what
    stands at the top level; its lines stay empty, so that the others keep their numbers."""
    lines = list(file.lines)
    for begin, end, block in _cells(file):
        first, column = first_line(block.body[0]), block.body[0].col_offset
        code_end = block.body[-1].lineno - 1 if isinstance(block.body[-1], ast.Return) else end
        for number in range(begin, end + 1):
            is_code = first <= number <= code_end
            lines[number - 1] = _without_indent(lines[number - 1], column) if is_code else ""
    if lines == list(file.lines):
        return file
    return Source(file.filename, [f"{line}\n" for line in lines])


def _without_indent(line: str, column: int) -> str:
    """Return a line without its indentation; the text of a long string keeps what it has."""
    return line[column:] if not line[:column].strip() else line


@functools.lru_cache(maxsize=64)
def _cells(file: Source) -> tuple[tuple[int, int, Any], ...]:
    """Return first line, last line and syntax node of each cell that marimo dedents: functions of
    ``@app.cell``, and ``with app.setup:``."""
    if file.tree is None or not any("marimo" in line for line in file.lines):
        return ()
    cells = (node for node in file.tree.body if _is_cell(node))
    return tuple((first_line(node), node.end_lineno or node.lineno, node) for node in cells)


def _is_cell(node: ast.stmt) -> bool:
    """Say whether a statement of a file is a cell of marimo's that is kept with indentation."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return any(_is_mark(mark, "cell") for mark in node.decorator_list)
    if isinstance(node, ast.With):
        return any(_is_mark(item.context_expr, "setup") for item in node.items)
    return False


def _is_mark(mark: ast.expr, word: str) -> bool:
    """Say whether a decorator or context is ``app.word`` or ``app.word(…)``."""
    called = mark.func if isinstance(mark, ast.Call) else mark
    return isinstance(called, ast.Attribute) and called.attr == word


def first_line(statement: Any) -> int:
    """Return the line in which a statement begins, with its decorators."""
    decorators = getattr(statement, "decorator_list", ())
    return int(min([statement.lineno, *(decorator.lineno for decorator in decorators)]))


@cached_by_code(256)
def is_edited(code: CodeType, source: Source) -> bool:
    """Tell whether the text is no longer what the code was compiled from: names differ at the
    code's own positions."""
    # A mangled name ends with what was written; names that pytest and Python make up have none.
    return any(
        text.isidentifier() and not name.endswith(text) and not name.startswith(("@", ".", "__"))
        for name, text in _names_and_texts(code, source)
    )


def _fitting(code: CodeType, source: Source) -> int:
    """Return how many names of a code stand where it says that they do; before Python 3.11, which
    keeps no columns, 0."""
    return sum(name == text for name, text in _names_and_texts(code, source))


def _names_and_texts(code: CodeType, source: Source) -> Iterator[tuple[str, str]]:
    """Yield each name that a code reads or stores, with the text at its position."""
    before: Any = None
    for instruction in dis.get_instructions(code):
        before, previous = instruction, before
        span: Any = getattr(instruction, "positions", None)  # Python 3.11 and newer
        name = instruction.argval
        is_on_one_line = span and span.lineno is not None and span.lineno == span.end_lineno
        if not is_on_one_line or not isinstance(name, str):
            continue
        if not instruction.opname.startswith(
            ("LOAD_FAST", "LOAD_NAME", "LOAD_GLOBAL", "STORE_FAST", "STORE_NAME")
        ):
            continue
        if previous and previous.opname == "LOAD_CONST" and previous.argval is None:
            # the end of an except clause sets its name to None, at the position of something else
            continue
        line = source.lines[span.lineno - 1] if span.lineno <= len(source.lines) else ""
        text = line.encode()[span.col_offset : span.end_col_offset].decode(errors="replace")
        yield name, unicodedata.normalize("NFKC", text)  # as Python itself reads a name
