"""Which of several lambdas, or comprehensions, of one line a code was compiled from, and what runs
in it: on Python 3.10, which keeps no columns. Knows no torch.

The line is compiled once more with each of them on a line of its own. The one whose instructions,
names and constants are those of the code is meant; where two that read differently have the same
ones, none is.
"""

from __future__ import annotations
import __future__

import ast
import functools
import types
from collections.abc import Iterator
from types import CodeType
from typing import Any, NamedTuple

from executing import Source
from executing.executing import NodeFinder

_KINDS: dict[str, type[ast.expr]] = {
    "<lambda>": ast.Lambda,
    "<listcomp>": ast.ListComp,
    "<setcomp>": ast.SetComp,
    "<dictcomp>": ast.DictComp,
    "<genexpr>": ast.GeneratorExp,
}
_FUTURE = functools.reduce(
    int.__or__,
    (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names),
)


class Part(NamedTuple):
    """A lambda or comprehension of a line, and what it compiles to on a line of its own."""

    node: Any
    code: CodeType


class Apart(NamedTuple):
    """A file in which the parts of one line begin on lines of their own, below its end."""

    copy: Source
    nodes: dict[int, Any]  # id of a node of the copy -> that of the file
    parts: list[Part]


def part_of_line(code: CodeType, file: Source) -> Any:
    """Return the lambda or comprehension that a code was compiled from, of those that begin on its
    first line; None where that is not known, or where Python keeps columns, which tell better."""
    found = _found(code, file)
    return found and found[1].node


def node_in_part(code: CodeType, lasti: int, line: int, file: Source) -> Any:
    """Return the node at which a code is, where it is one of several lambdas or comprehensions of a
    line; None where that is not known."""
    found = _found(code, file)
    if found is None:
        return None
    apart, part = found
    frame: Any = types.SimpleNamespace(f_code=part.code, f_lasti=lasti, f_lineno=line)
    statements = apart.copy.statements_at_line(line)
    tree: Any = apart.copy.tree
    try:
        node = NodeFinder(frame, statements, tree, lasti, apart.copy).result
    except Exception:  # executing's own way to say that it finds none
        return None
    return apart.nodes.get(id(node))


def _found(code: CodeType, file: Source) -> tuple[Apart, Part] | None:
    """Return the part that a code was compiled from, with its file."""
    if hasattr(code, "co_positions") or file.tree is None or code.co_name not in _KINDS:
        return None
    flags = code.co_flags & _FUTURE
    apart = _apart(file, code.co_name, code.co_firstlineno, flags)
    parts = [part for part in apart.parts if _is_same(part.code, code)] if apart else []
    texts = {ast.dump(part.node) for part in parts}
    return (apart, parts[0]) if apart and len(texts) == 1 else None


@functools.lru_cache(maxsize=64)
def _apart(file: Source, name: str, line: int, flags: int) -> Apart | None:
    """Return a file with the lambdas, or comprehensions of a kind, that begin on one line on lines
    of their own; None where there is no choice, or where it cannot be compiled."""
    nodes: list[Any] = list(ast.walk(file.tree or ast.Module([], [])))
    places = [
        place
        for place, node in enumerate(nodes)
        if isinstance(node, _KINDS[name]) and node.lineno == line
    ]
    if len(places) < 2:
        return None
    copy: Any = Source(file.filename, [f"{text}\n" for text in file.lines])
    copied: list[Any] = list(ast.walk(copy.tree))
    own_lines = dict(enumerate(places, len(file.lines) + 1))
    for own_line, place in own_lines.items():
        copied[place].lineno = copied[place].end_lineno = own_line
    try:
        module = compile(copy.tree, file.filename, "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return None
    codes = {code.co_firstlineno: code for code in _codes(module) if code.co_name == name}
    # Python leaves out what can never run
    parts = [Part(nodes[own_lines[at]], code) for at, code in codes.items() if at in own_lines]
    return Apart(copy, dict(zip(map(id, copied), nodes, strict=True)), parts)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code and all that are in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


_TOLD_BY = (
    "co_code",
    "co_names",
    "co_varnames",
    "co_freevars",
    "co_cellvars",
    "co_flags",
    "co_argcount",
    "co_posonlyargcount",
    "co_kwonlyargcount",
)


def _is_same(code: CodeType, other: CodeType) -> bool:
    """Tell whether two codes do the same with the same names and constants, wherever they stand."""
    if any(getattr(code, name) != getattr(other, name) for name in _TOLD_BY):
        return False
    constants = list(zip(code.co_consts, other.co_consts, strict=False))
    return len(code.co_consts) == len(other.co_consts) and all(
        _is_same(one, two)
        if isinstance(one, CodeType) and isinstance(two, CodeType)
        else repr((type(one), one)) == repr((type(two), two))  # 1 is neither 1.0 nor True
        for one, two in constants
    )
