"""How many ways lead through a function: few enough to be read at once.

Ternaries, boolean operators and the conditions of comprehensions count too, as branches do: on one
line they are no easier to follow. Few functions may be above the limit, each for a reason that
stands here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIMIT = 15

# Above the limit and to stay there: the reason, which has to be one that a reader would accept.
NAMED = {
    "gradviz/watch/cuts.py entry": (
        "the quick way of nearly every recorded call, in one straight line: in four steps of their"
        " own it made each call 3.4 % slower, paired and alternating"
    ),
    "gradviz/watch/cuts.py Nodes.take_few": (
        "a part of the same straight line: each node is read, guarded and noted in one round of the"
        " loop, and a call for each of its edges would cost more than what is read of it"
    ),
    "gradviz/watch/stack.py Frames._walk": (
        "the one pass up a stack that is not remembered: what a frame tells depends on what was"
        " passed before it, eight facts that steps of their own would hand to and fro"
    ),
}

BRANCHES = (
    ast.If,
    ast.IfExp,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ExceptHandler,
    ast.Assert,
    ast.comprehension,
)


def complexity(function: ast.AST) -> int:
    """The number of ways through a function, functions inside of it included."""
    ways = 1
    for node in ast.walk(function):
        ways += isinstance(node, BRANCHES)
        ways += len(node.ifs) if isinstance(node, ast.comprehension) else 0
        ways += len(node.values) - 1 if isinstance(node, ast.BoolOp) else 0
    return ways


def functions(tree: ast.AST, owner: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Every function below a node, called by the classes and functions around it."""
    for node in ast.iter_child_nodes(tree):
        name = owner
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{owner}.{node.name}" if owner else node.name
            if not isinstance(node, ast.ClassDef):
                yield name, node
        yield from functions(node, name)


def above_the_limit() -> set[str]:
    """The functions of the package that have more ways than the limit."""
    found = set()
    for path in sorted((ROOT / "gradviz").rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        for name, function in functions(ast.parse(path.read_text(encoding="utf-8"))):
            if complexity(function) > LIMIT:
                found.add(f"{place} {name}")
    return found


def test_no_function_becomes_hard_to_read() -> None:
    more = above_the_limit() - NAMED.keys()
    assert not more, f"above {LIMIT} ways; split them: {sorted(more)}"


def test_few_functions_stay_above_the_limit() -> None:
    assert NAMED.keys() <= above_the_limit()
    assert len(NAMED) <= 5
    assert all(len(reason.split()) > 5 for reason in NAMED.values())


def test_every_kind_of_branch_counts() -> None:
    text = (
        "def f(a):\n    if a and b or c:\n        return [x for x in a if x if x > 1]\n    return 1"
    )
    assert complexity(ast.parse(text).body[0]) == 1 + 1 + 2 + 1 + 2
    assert complexity(ast.parse("def f(): return 1 if a else 2").body[0]) == 2
    assert complexity(ast.parse("def f():\n    def g():\n        if a: pass").body[0]) == 2


def test_functions_are_called_by_what_is_around_them() -> None:
    text = "class A:\n    def f(self):\n        def g(): pass\ndef h(): pass"
    assert [name for name, _ in functions(ast.parse(text))] == ["A.f", "A.f.g", "h"]
