"""From a code position to its place in the source: syntax node, text, name of the file or cell.
Knows no torch.

The ``executing`` library finds the node, exactly on Python 3.11 and newer. It gets no frame, so
none is kept alive.
"""

from __future__ import annotations

import ast
import builtins
import dis
import functools
import itertools
import linecache
import os
import re
import sys
import types
from collections.abc import Iterator
from types import CodeType
from typing import Any, NamedTuple

from executing import Source

from gradviz.graph.sites import MAGIC
from gradviz.names.compiled import cached_by_code, is_edited, reader_of
from gradviz.names.same_line import node_in_part

WIDTH = 60  # characters of source text shown
BUILTINS = {name for name in dir(builtins) if callable(getattr(builtins, name))}

# where imports cannot be seen: they stand in another cell or doctest line
_USUAL_MODULES = {"torch", "F", "nn", "np"}


class Place(NamedTuple):
    """A code position and the syntax node that runs there."""

    code: CodeType
    opname: str
    line: int
    node: Any  # an ast node with a ``parent``; None where it is not known for certain
    source: Source

    @property
    def is_store(self) -> bool:
        """Say whether a setter runs: ``y[0] = 5``, ``x.data = y``."""
        return self.opname.startswith("STORE_") and isinstance(
            self.node, (ast.Subscript, ast.Attribute)
        )

    @property
    def is_test(self) -> bool:
        """Say whether the node's value is made a bool: ``if t:``, ``not t``, ``a or b``."""
        return "JUMP" in self.opname or self.opname in ("TO_BOOL", "UNARY_NOT")

    @property
    def start(self) -> int:
        """The line where the node starts."""
        return int((_f_string(self.node) or self.node).lineno) if self.node else self.line

    def text(self, node: Any, most: int = WIDTH) -> str:
        """Return the source of ``node`` on one line, at most this many characters."""
        return text_of(node, self.source, most)


def text_of(node: Any, source: Source, most: int = WIDTH) -> str:
    """Return the source of a node on one line, at most this many characters."""
    if node.lineno == node.end_lineno and not _f_string(node):
        line = source.lines[node.lineno - 1].encode()
        text = line[node.col_offset : node.end_col_offset].decode()
    else:
        text = _unparsed(node)  # without the comments in between
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


@functools.lru_cache(maxsize=1024)  # many calls run under one statement
def _unparsed(node: Any) -> str:
    return ast.unparse(node)


@cached_by_code(1024)  # a live picture asks for the same ones at every click
def _instruction(code: CodeType, lasti: int) -> tuple[int, str, int]:
    """Return where the instruction itself stands, its name and its line."""
    while dis.opname[code.co_code[lasti]] in ("CACHE", "EXTENDED_ARG"):
        lasti += -2 if dis.opname[code.co_code[lasti]] == "CACHE" else 2
    if dis.opname[code.co_code[lasti]] == "PRECALL":
        # Python 3.11 runs a built-in function in there (setattr, float, abs) once it has run seven
        # times.
        while dis.opname[code.co_code[lasti]] != "CALL":
            lasti += 2
    lines = (line for start, end, line in code.co_lines() if start <= lasti < end and line)
    return lasti, dis.opname[code.co_code[lasti]], next(lines, code.co_firstlineno)


def locate(code: CodeType, lasti: int) -> Place:
    """Return the place of one (code object, ``f_lasti``) pair."""
    lasti, opname, line = _instruction(code, lasti)
    # executing reads these four attributes of a frame and nothing else.
    frame: Any = types.SimpleNamespace(f_code=code, f_lasti=lasti, f_lineno=line, f_globals={})
    try:
        execution = reader_of(code).executing(frame)
    except RecursionError:  # its own walk does not survive an expression some hundred levels deep
        return Place(code, opname, line, None, Source(code.co_filename, []))
    node: Any = execution.node or _by_opname(opname, execution.statements or set())
    if node is None and len(execution.statements or ()) > 1:
        node = _by_position(code, lasti, opname, execution.source)
    if node is None:
        node = node_in_part(code, lasti, line, execution.source)
    can_call = isinstance(node, (ast.expr, ast.AugAssign, ast.For, ast.With))
    is_loop = isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp))
    is_decorator = execution.decorator is not None
    if not can_call or is_loop or is_decorator or is_edited(code, execution.source):
        node = None
    return Place(code, opname, line, node, execution.source)


_NODES_OF: dict[str, Any] = {
    "BINARY_OP": (ast.BinOp, ast.AugAssign),
    "BINARY_SUBSCR": ast.Subscript,
    "CALL": ast.Call,
    "CALL_FUNCTION_EX": ast.Call,
    "CALL_KW": ast.Call,
    "COMPARE_OP": ast.Compare,
    "LOAD_ATTR": ast.Attribute,
    "STORE_ATTR": ast.Attribute,
    "STORE_SUBSCR": ast.Subscript,
    "UNARY_NEGATIVE": ast.UnaryOp,
}


def _by_position(code: CodeType, lasti: int, opname: str, source: Source) -> Any:
    """Return the node on a line of several statements: IPython compiles them one by one, and
    executing finds none."""
    kinds = _NODES_OF.get(opname)
    if kinds is None or source.tree is None or not hasattr(code, "co_positions"):
        return None
    span = next(itertools.islice(code.co_positions(), lasti // 2, None))
    candidates = _parts(source.tree, kinds)
    return _only_one(
        [n for n in candidates if span == (n.lineno, n.end_lineno, n.col_offset, n.end_col_offset)]
    )


def _by_opname(opname: str, statements: set[Any]) -> Any:
    """Return the node where executing has none, for the statements in which the opcode leaves no
    choice."""
    statement = _innermost(statements)
    if isinstance(statement, ast.AugAssign) and opname.startswith("INPLACE_"):  # Python 3.10
        return statement
    is_test = "JUMP" in opname or opname == "TO_BOOL"
    if isinstance(statement, (ast.If, ast.While, ast.Assert)) and is_test:
        return statement.test
    is_await = opname in ("SEND", "YIELD_FROM")
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Return)) and is_await:
        return _only_one(_parts(statement, ast.Await))
    return _iterated_or_entered(opname, statement)


def _innermost(statements: set[Any]) -> Any:
    """Return the statement that holds none of the others; None where there are several such."""
    parents = [statement.parent for statement in statements]
    return _only_one([s for s in statements if not any(parent is s for parent in parents)])


def _iterated_or_entered(opname: str, statement: Any) -> Any:
    """Return what starts a loop or a block, or is unpacked, where no comprehension does it too."""
    if not isinstance(statement, (ast.For, ast.With, ast.Assign)):
        return None
    if _parts(statement, ast.comprehension):
        return None
    if isinstance(statement, ast.Assign):
        return _unpacked_target(statement) if opname.startswith("UNPACK_") else None
    return statement if opname in ("GET_ITER", "SETUP_WITH") else None  # Python 3.10


def _unpacked_target(statement: ast.Assign) -> Any:
    """Return the one tuple or list of names that an assignment unpacks a value into."""
    sequences = _parts(statement, (ast.Tuple, ast.List))
    return _only_one([node for node in sequences if isinstance(node.ctx, ast.Store)])


def _parts(statement: ast.AST, kinds: Any) -> list[Any]:
    """Return the nodes of some kinds in a statement, itself included."""
    return [node for node in ast.walk(statement) if isinstance(node, kinds)]


def _only_one(nodes: list[Any]) -> Any:
    """Return the node of a list of one; else None, as there is none or a choice."""
    return nodes[0] if len(nodes) == 1 else None


def _f_string(node: Any) -> Any:
    """Return the f-string around the node, where Python (before 3.12) does not know positions
    inside it."""
    while (
        sys.version_info < (3, 12)
        and isinstance(node, ast.expr)
        and not isinstance(node, ast.JoinedStr)
    ):
        node = node.parent  # type: ignore[attr-defined, unused-ignore]
    return node if isinstance(node, ast.JoinedStr) else None


def dotted(node: ast.AST) -> str | None:
    """Return a name as it is written, with its attributes and literal indices; None for what is not
    a name. ``_`` is nobody's name.

    >>> [dotted(ast.parse(text, mode="eval").body) for text in ("net.fc.weight", "hs[0]", "f(x)")]
    ['net.fc.weight', 'hs[0]', None]
    """
    if isinstance(node, ast.Name):
        return node.id if node.id != "_" else None
    if isinstance(node, ast.Attribute):
        value = dotted(node.value)
        return value and f"{value}.{node.attr}"
    if isinstance(node, ast.Subscript) and is_literal(node.slice):
        value = dotted(node.value)
        return value and f"{value}[{ast.unparse(node.slice)}]"
    return None


def part_written(owner: str, path: str) -> str:
    """Return how code names a part of a module, by the path that torch gives it.

    >>> part_written("self", "head.0.fc"), part_written("net", "")
    ('self.head[0].fc', 'net')
    """
    steps = path.split(".") if path else []
    return owner + "".join(f"[{step}]" if step.isdecimal() else f".{step}" for step in steps)


def is_literal(node: ast.AST) -> bool:
    """Tell whether a node is a constant, or one with a sign.

    >>> [is_literal(ast.parse(text, mode="eval").body) for text in ("2", "-2", "n")]
    [True, True, False]
    """
    return isinstance(node, ast.Constant) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)
    )


def statement_of(node: Any) -> Any:
    """Return the statement around an expression."""
    while not isinstance(node, ast.stmt):
        node = node.parent
    return node


def holds_others(node: Any) -> bool:
    """Tell whether a node is a statement with others in it: a loop, a ``with``, a function."""
    return isinstance(node, ast.stmt) and (hasattr(node, "body") or hasattr(node, "cases"))


def statement_or_head(node: Any) -> Any:
    """Return the statement around a node, of a statement that holds others the whole expression in
    its head; None where the node is such a statement itself."""
    statement = statement_of(node)
    if not holds_others(statement):
        return statement
    while isinstance(node.parent, (ast.expr, ast.keyword, ast.comprehension)):
        node = node.parent
    return None if node is statement else node


def statement_at(source: Source, line: int) -> Any:
    """Return the innermost statement over a line of a file; None where there is none, or where
    several stand on it."""
    return _innermost(source.statements_at_line(line))


def callee_of(function: ast.AST) -> str | None:
    """Return the last word of what is called; None where that is an expression.

    >>> [callee_of(ast.parse(text, mode="eval").body) for text in ("F.relu", "layers[0]", "f()")]
    ['relu', 'layers', None]
    """
    if isinstance(function, ast.Subscript):
        return callee_of(function.value)
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)


def last_name(node: Any) -> str:
    """Return the last name of a call, or of what is not called: of a context or decorator.

    >>> [last_name(ast.parse(text, mode="eval").body) for text in ("c", "a.b.c", "a.c(1)", "f[0]")]
    ['c', 'c', 'c', '']
    """
    called = node.func if isinstance(node, ast.Call) else node
    return str(getattr(called, "attr", None) or getattr(called, "id", ""))


@functools.lru_cache(maxsize=64)
def _imported(source: Source) -> frozenset[str]:
    """Return the names that a file imports, and those of its classes."""
    names: set[str] = set()
    for node in ast.walk(source.tree or ast.Module([], [])):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ClassDef):
            names.add(node.name)
    return frozenset(names)


def is_module(receiver: Any, source: Source) -> bool:
    """Tell whether ``receiver.f(x)`` calls a function of a module or class, so that the receiver is
    not an argument.

    The same for the function itself, where it was imported by its name.
    """
    while isinstance(receiver, ast.Attribute):
        receiver = receiver.value
    if not isinstance(receiver, ast.Name):
        return False
    variables = getattr(shell(), "user_ns", {})
    if receiver.id in variables and is_cell(source.filename):
        return isinstance(variables[receiver.id], (types.ModuleType, types.FunctionType, type))
    return receiver.id in _imported(source) or receiver.id in _USUAL_MODULES


def shell() -> Any:
    """Return the running IPython shell; None without one. IPython is not imported for it."""
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()


def display_name(filename: str) -> str:
    """Return the file's base name or ``cell [3]``: the same in every process.

    Example:
        >>> display_name("/home/me/train.py"), display_name("<ipython-input-3-0123456789ab>")
        ('train.py', 'cell [3]')
    """
    filename = filename.partition(MAGIC)[0]
    name_of: Any = getattr(getattr(shell(), "compile", None), "format_code_name", None)
    label = (name_of(filename) if name_of else None) or ("", "")
    number = re.search(r"(\d+)", label[1]) or re.match(r"<ipython-input-(\d+)-", filename)
    if number:
        return f"cell [{number[1]}]"
    return "cell" if re.search(r"[/\\]ipykernel_\d+[/\\]", filename) else os.path.basename(filename)


def cells() -> Iterator[Source]:
    """Yield each cell of a notebook that was run, as it was compiled."""
    for filename in list(linecache.cache):
        if is_cell(filename):
            yield Source.for_filename(filename)


def is_cell(filename: str) -> bool:
    """Tell whether code of this file name is that of a cell.

    Example:
        >>> is_cell("<ipython-input-3-0123456789ab>"), is_cell("/home/me/cell.py")
        (True, False)
    """
    name = display_name(filename)
    return name == "cell" or name.startswith("cell [")
