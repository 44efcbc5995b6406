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


def idle_nodes(files: Iterable[File], codes: Iterable[CodeType]) -> set[int]:
    """Return the ids of the syntax nodes inside of functions that did not run, as far as the text
    tells: none of the codes is theirs, and nothing that may have run mentions them.

    Args:
        files: that may mention each other's functions.
        codes: of functions that ran.

    Example:
        >>> text = "def used(): pass\\ndef idle(): used()\\nused()\\n"
        >>> file = File("example.py", text.splitlines(keepends=True))
        >>> calls = [n for n in ast.walk(file.tree) if isinstance(n, ast.Call)]
        >>> idle = idle_nodes([file], [])
        >>> [(call.lineno, id(call) in idle) for call in calls]
        [(3, False), (2, True)]
    """
    ran = {(code.co_filename, code.co_name, code.co_firstlineno) for code in codes}
    running: list[Scope] = []
    waiting: list[Scope] = []
    for file in files:
        for scope in _scopes(file):
            is_known = scope.function is None or (file.filename, *_start(scope.function)) in ran
            (running if is_known else waiting).append(scope)
    idle = (scope.function for scope in _left_waiting(running, waiting))
    inside = (child for function in idle for child in ast.iter_child_nodes(function))
    return {id(node) for child in inside for node in ast.walk(child)}


def _left_waiting(running: list[Scope], waiting: list[Scope]) -> list[Scope]:
    """Return the scopes that none of the running ones mentions, nor what these may call."""
    mentioned: set[str] = set()
    while running:
        mentioned = mentioned.union(*(scope.mentions for scope in running))
        running = [scope for scope in waiting if _is_called(scope, mentioned)]
        waiting = [scope for scope in waiting if not _is_called(scope, mentioned)]
    return waiting


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


def _mentions(scope: Any) -> Iterator[str]:
    """Yield the names that stand in a scope, and not in the functions inside of it; what these are
    decorated with, and their defaults, are reckoned outside of them."""
    todo = list(ast.iter_child_nodes(scope))
    while todo:  # no recursion: a long sum is as deep as it is long
        node = todo.pop()
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        if isinstance(node, _FUNCTIONS):
            todo += [*node.decorator_list, node.args]
        else:
            todo += ast.iter_child_nodes(node)
