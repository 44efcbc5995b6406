"""Where words stand: sentences for readers only in ``gradviz/words``. What else has four words and
more is sorted by what the code does with it, by rules and without a list of exceptions."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "gradviz"

# Kinds of literals that are no words for readers.
DOCUMENTATION = "documentation of attributes"
NAMES = "lists of names, which are split"
ARGUMENT = "errors about arguments"
WARNING = "warnings about the installation"
TORCH = "texts by which torch's errors are known"
MARKUP = "markup"
MEMBER = "members of enums"
OTHER = "code, fonts, selectors, metadata"
# What is left: told to readers, and not from words/.
SENTENCE = "sentences for readers"

# literals that are neither documentation, nor lists of names, nor about arguments
MOST = 36

IN_MARKUP = re.compile(r"<[!/a-z]|[a-z-]+=\W*\"|^\" ")
FOUR_IN_A_ROW = re.compile(r"(?:[A-Za-z][A-Za-z'’]*[,;:]? ){3,}[A-Za-z]|(?: [A-Za-z']+){4}")


def is_worded(text: str) -> bool:
    """Say whether a text has four words and more."""
    return " " in text and len(re.findall(r"[A-Za-z]{2,}", text)) >= 4


def called(node: ast.AST) -> str:
    """Return the name of the function that an expression calls; "" where it calls none."""
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


@cache
def argument_checks() -> frozenset[str]:
    """Return the functions that are told what is expected of an argument: those of
    ``words/given.py``, and ``check`` of ``why/survey/reaching.py``."""
    body = ast.parse((PACKAGE / "words/given.py").read_text(encoding="utf-8")).body
    return frozenset({n.name for n in body if isinstance(n, ast.FunctionDef)} | {"check"})


@cache
def description() -> str:
    """Return the project's one line, as installed metadata has it."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'^description = "(.*)"$', text, re.MULTILINE)
    assert found is not None
    return found[1]


class Literals(ast.NodeVisitor):
    """The worded literals of a module, each with its kind. Docstrings are none of them."""

    def __init__(self, tree: ast.Module) -> None:
        self.around: list[ast.AST] = []
        self.found: list[tuple[int, str, str]] = []
        # what a raise reads or calls is about the error: `expected`, `_kind(value)`; so is a table
        # of what is expected
        self.raised = {"EXPECTED"} | {
            getattr(n, "id", getattr(n, "attr", ""))
            for r in ast.walk(tree)
            if isinstance(r, ast.Raise)
            for n in ast.walk(r)
            if isinstance(n, (ast.Name, ast.Attribute))
        }
        self.visit(tree)

    def generic_visit(self, node: ast.AST) -> None:
        self.around.append(node)
        super().generic_visit(node)
        self.around.pop()

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and is_worded(node.value) and not self.is_docstring(node):
            self.found.append((node.lineno, self.kind(node.value), node.value))

    def is_docstring(self, node: ast.Constant) -> bool:
        if len(self.around) < 2 or not isinstance(self.around[-1], ast.Expr):
            return False
        owner = self.around[-2]
        scopes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        return isinstance(owner, scopes) and owner.body[0] is self.around[-1]

    def kind(self, text: str) -> str:
        rules = {
            DOCUMENTATION: isinstance(self.around[-1], ast.Expr),
            NAMES: getattr(self.around[-1], "attr", "") == "split",
            ARGUMENT: self.is_about_an_argument(),
            WARNING: any(called(n) == "warn" for n in self.around),
            TORCH: self.is_torchs(),
            MARKUP: IN_MARKUP.search(text) is not None,
            MEMBER: any(isinstance(n, ast.ClassDef) and is_enum(n) for n in self.around),
            OTHER: not FOUR_IN_A_ROW.search(text) or description() in text,
        }
        return next((kind for kind, holds in rules.items() if holds), SENTENCE)

    def is_about_an_argument(self) -> bool:
        """Say whether the literal is in a raise, in what one reads or calls, or is told to a check
        of arguments."""
        return any(
            isinstance(node, ast.Raise)
            or called(node) in argument_checks() | {"GradvizError"}
            or self.raised.intersection(names_bound(node))
            for node in self.around
        )

    def is_torchs(self) -> bool:
        """Say whether the literal is looked for in what torch says."""
        calls = [n.func for n in self.around if isinstance(n, ast.Call)]
        searched = any(ast.unparse(function).startswith("re.") for function in calls)
        tables = {"_TEXTS", "UNTRACKED", "MISUSES"}
        return searched or any(tables.intersection(names_bound(node)) for node in self.around)


def names_bound(node: ast.AST) -> set[str]:
    """Return the names that a statement binds: of an assignment, of a function."""
    if isinstance(node, ast.FunctionDef):
        return {node.name}
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    if not isinstance(node, (ast.Assign, ast.AnnAssign)):
        return set()
    return {target.id for target in targets if isinstance(target, ast.Name)}


def is_enum(node: ast.ClassDef) -> bool:
    return any(getattr(base, "id", "") == "Enum" for base in node.bases)


def sorted_literals() -> Iterator[tuple[str, int, str, str]]:
    """Yield each worded literal outside of ``words/``: file, line, kind, text."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.parent.name != "words":
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for line, kind, text in Literals(tree).found:
                yield str(path.relative_to(PACKAGE)), line, kind, text


def test_sentences_stand_in_words_alone() -> None:
    literals = list(sorted_literals())
    assert [each for each in literals if each[2] == SENTENCE] == []
    counts = Counter(kind for _, _, kind, _ in literals)
    # torch has as many texts as it has errors
    no_words = (DOCUMENTATION, NAMES, ARGUMENT, TORCH)
    assert sum(counts.values()) - sum(counts[kind] for kind in no_words) <= MOST


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("x = f'{name} gets no gradient from {loss}'", SENTENCE),
        ("def f(n):\n    return f'all {n} parameters got their gradient'", SENTENCE),
        ("say = {'cut': 'the value goes on, the gradient does not'}", SENTENCE),
        ("print('nothing was recorded here')", SENTENCE),
        ("raise GradvizError('show() needs at least one tensor')", ARGUMENT),
        ("def f(x):\n    hint = 'one of the two views'\n    raise ValueError(hint)", ARGUMENT),
        ("def f(x):\n    hint = 'one of the two views'\n    return hint", SENTENCE),
        ("given.text('title=', t, 'a text, or None for none')", ARGUMENT),
        ("x = 'relu gelu silu tanh'.split()", NAMES),
        ("x = re.search('one of the differentiated tensors', message)", TORCH),
        ("x = '<p>one of the words</p>'", MARKUP),
        ("class C(str, Enum):\n    A = 'integer or bool dtype'", MEMBER),
        ("class C:\n    A = 'integer or bool dtype'", SENTENCE),
        ("FONT = 'Menlo,DejaVu Sans Mono,monospace,serif'", OTHER),
    ],
)
def test_a_planted_literal_is_sorted(code: str, kind: str) -> None:
    assert [found for _, found, _ in Literals(ast.parse(code)).found] == [kind]


if __name__ == "__main__":
    for kind, number in Counter(each[2] for each in sorted_literals()).most_common():
        print(f"{number:4}  {kind}")
