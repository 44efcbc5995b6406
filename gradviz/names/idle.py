"""Functions in a file of the user that nothing of what ran mentions: their code tells nothing of
the program. Reads the text of the code, and runs none of it. Knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple

from executing import Source as File

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Scope(NamedTuple):
    """A function, or what stands outside of all.

    Attributes:
        function: its node; None: outside of all functions.
        owner: the class in which it is a method, else None.
        mentions: the names that stand in it, also as attributes and as words in quotes.
    """

    function: Any
    owner: Any
    mentions: frozenset[str]


def idle_functions(files: Iterable[File], codes: Iterable[CodeType]) -> set[int]:
    """Return the ids of the nodes of functions that did not run, as far as the text tells: none of
    the codes is theirs, and nothing that may have run mentions them.

    Args:
        files: that may mention each other's functions.
        codes: of functions that ran.

    Example:
        >>> text = "def used(): pass\\ndef idle(): used()\\nused()\\n"
        >>> file = File("example.py", text.splitlines(keepends=True))
        >>> [f.name for f in ast.walk(file.tree) if id(f) in idle_functions([file], [])]
        ['idle']
    """
    ran = {(code.co_filename, code.co_name, code.co_firstlineno) for code in codes}
    idle: list[Scope] = []
    mentioned: set[str] = set()
    for file in files:
        for scope in _scopes(file):
            if scope.function is None or (file.filename, *_start(scope.function)) in ran:
                mentioned |= scope.mentions
            else:
                idle.append(scope)
    found = len(idle) + 1
    while len(idle) < found:
        found = len(idle)
        called = [scope for scope in idle if _is_called(scope, mentioned)]
        mentioned = mentioned.union(*(scope.mentions for scope in called))
        idle = [scope for scope in idle if scope not in called]
    return {id(scope.function) for scope in idle}


def functions_around(node: Any) -> Iterator[Any]:
    """Yield the functions in which a node stands, the innermost first, and not the node itself."""
    while (node := getattr(node, "parent", None)) is not None:
        if isinstance(node, _FUNCTIONS):
            yield node


def _is_called(scope: Scope, mentioned: set[str]) -> bool:
    """Say whether a function may be called where these names stand: a base class, and Python,
    call methods that nobody names."""
    if scope.function.name in mentioned:
        return True
    if scope.owner is None or scope.owner.name not in mentioned:
        return False
    return bool(scope.owner.bases) or scope.function.name.startswith("__")


def _start(function: Any) -> tuple[str, int]:
    """Return the name of a function and its first line, as its code object has them."""
    return function.name, min([function.lineno, *(d.lineno for d in function.decorator_list)])


@lru_cache(maxsize=64)
def _scopes(file: File) -> tuple[Scope, ...]:
    """Return the functions of a file, and what stands outside of them."""
    tree = file.tree or ast.Module([], [])
    functions = [None, *(n for n in ast.walk(tree) if isinstance(n, _FUNCTIONS))]
    return tuple(_scope(function, tree) for function in functions)


def _scope(function: Any, tree: Any) -> Scope:
    owner = getattr(function, "parent", None)
    mentions = frozenset(_mentions(tree if function is None else function))
    return Scope(function, owner if isinstance(owner, ast.ClassDef) else None, mentions)


def _mentions(node: Any) -> Iterator[str]:
    """Yield the names that stand in a node, and not in the functions inside of it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Name):
            yield child.id
        elif isinstance(child, ast.Attribute):
            yield child.attr
        elif isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.value
        # what a function is decorated with, and its defaults, are reckoned outside of it
        inner = (
            (child,) if not isinstance(child, _FUNCTIONS) else (*child.decorator_list, child.args)
        )
        for part in inner:
            yield from _mentions(part)
