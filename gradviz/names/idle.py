"""Functions in a file of the user that nothing of what ran mentions: their code tells nothing of
the program. Reads the text of the code, and runs none of it. Knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Set
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple

from executing import Source as File

from gradviz.names.compiled import first_line
from gradviz.names.position import last_name

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_MAGICS = ("run_cell_magic", "run_line_magic")  # what IPython makes of ``%%time``, code and all
# What a function is decorated with that is called by its name all the same; any other decorator
# may hand it to somebody who calls it, as ``@app.command()`` does.
_STILL_NAMED = frozenset(
    """abstractmethod autocast cache cached_property classmethod compile contextmanager custom_bwd
    custom_fwd enable_grad inference_mode lru_cache no_grad overload override property setter
    staticmethod wraps""".split()
)


class Scope(NamedTuple):
    """A function, or what stands outside of all.

    Attributes:
        function: its node; None: outside of all functions.
        owner: the class in which it is a method, else None.
        mentions: the names that stand in it, also as attributes and as words in quotes.
        inside: the ids of the nodes that a function consists of; none of what stands outside.
    """

    function: Any
    owner: Any
    mentions: frozenset[str]
    inside: frozenset[int]


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
        known = _ran_in(file, ran)
        for scope in _scopes(file):
            is_known = scope.function is None or scope.function in known
            (running if is_known else waiting).append(scope)
    idle: set[int] = set()
    return idle.union(*(scope.inside for scope in _left_waiting(running, waiting)))


def _ran_in(file: File, ran: Set[tuple[str, str, int]]) -> set[Any]:
    """Return the functions of a file that ran, and those in which they are defined: these ran
    before. ``ran``: file, name and first line of each that ran."""
    functions = (scope.function for scope in _scopes(file) if scope.function is not None)
    own = [f for f in functions if (file.filename, f.name, first_line(f)) in ran]
    return {outer for function in own for outer in _with_those_around(function)}


def _with_those_around(function: Any) -> Iterator[Any]:
    """Yield a function and those in which it is defined, the innermost first."""
    node = function
    while node is not None:
        if isinstance(node, _FUNCTIONS):
            yield node
        node = getattr(node, "parent", None)


def _left_waiting(running: list[Scope], waiting: list[Scope]) -> list[Scope]:
    """Return the scopes that none of the running ones mentions, nor what these may call."""
    mentioned: set[str] = set()
    while running:
        mentioned = mentioned.union(*(scope.mentions for scope in running))
        running = [scope for scope in waiting if _is_called(scope, mentioned)]
        waiting = [scope for scope in waiting if not _is_called(scope, mentioned)]
    return waiting


def _is_called(scope: Scope, mentioned: set[str]) -> bool:
    """Say whether a function may be called where these names stand: a base class, a decorator, and
    Python, call what nobody names."""
    if scope.function.name in mentioned or is_handed_on(scope.function):
        return True
    owner = scope.owner
    if owner is None or (owner.name not in mentioned and not is_handed_on(owner)):
        return False
    is_made_by_others = owner.bases or owner.keywords or owner.decorator_list
    return bool(is_made_by_others) or scope.function.name.startswith("__")


def names_mentioned(files: Iterable[File]) -> set[str]:
    """Return the names that stand anywhere in some files, apart from what they define."""
    return {name for file in files for scope in _scopes(file) for name in scope.mentions}


def is_handed_on(definition: Any) -> bool:
    """Say whether a decorator may hand a function or a class to somebody who calls it."""
    return any(last_name(mark) not in _STILL_NAMED for mark in definition.decorator_list)


@lru_cache(maxsize=64)
def _scopes(file: File) -> tuple[Scope, ...]:
    """Return the functions of a file, and what stands outside of them."""
    tree = file.tree or ast.Module([], [])
    functions = [None, *(n for n in ast.walk(tree) if isinstance(n, _FUNCTIONS))]
    return tuple(_scope(function, tree) for function in functions)


def _scope(function: Any, tree: Any) -> Scope:
    """Return a function of a file, or, of None, what stands outside of all."""
    owner = getattr(function, "parent", None)
    mentions = frozenset(_mentions(tree if function is None else function))
    nodes = () if function is None else ast.walk(function)
    inside = frozenset(id(node) for node in nodes if node is not function)
    return Scope(function, owner if isinstance(owner, ast.ClassDef) else None, mentions, inside)


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
        elif isinstance(node, ast.alias) and node.asname:
            yield node.name.rpartition(".")[2]
        if isinstance(node, _FUNCTIONS):
            todo += [*node.decorator_list, node.args]
        elif isinstance(node, ast.Call) and last_name(node) in _MAGICS:
            todo += _code_in(node)
        else:
            todo += ast.iter_child_nodes(node)


def _code_in(magic: ast.Call) -> list[ast.stmt]:
    """Return the statements of the code that a magic is given; none where it is given no code."""
    try:
        code: str = ast.literal_eval(magic.args[-1])
        return ast.parse(code).body
    except (SyntaxError, ValueError, TypeError, IndexError):
        return []
