"""Functions that did not run, as far as the text tells."""

from __future__ import annotations

import ast
import linecache
from types import CodeType

import pytest
import torch
from executing import Source

from gradviz.names.idle import idle_nodes
from gradviz.names.statements import Statements

TEXT = """
import torch

def main():
    helper(1)

def helper(n, of=default()):
    return n

def default():
    pass

def forgotten():
    also_forgotten()

def also_forgotten():
    forgotten()

@decorated()
def by_name_in_quotes():
    def inner():
        pass
    inner()

def decorated():
    pass

class Net(Base):
    def forward(self):
        self.part()
    def part(self):
        pass
    def called_by_the_base(self):
        pass

class Alone:
    def __len__(self):
        return 0
    def unused(self):
        pass

class Never(Base):
    def forward(self):
        pass

table = {"run": "by_name_in_quotes"}
net, alone = Net(), Alone()
{last}
"""


def idle(last: str, ran: str = "") -> set[str]:
    text = TEXT.replace("{last}", last)
    file = Source("example.py", text.splitlines(keepends=True))
    codes = [c for c in compile(text, "example.py", "exec").co_consts if hasattr(c, "co_name")]
    found = idle_nodes([file], [c for c in codes if c.co_name == ran])
    assert file.tree is not None
    functions = [n for n in ast.walk(file.tree) if isinstance(n, ast.FunctionDef)]
    return {f.name for f in functions if id(f.body[0]) in found}


FORGOTTEN = {"forgotten", "also_forgotten", "unused"}


@pytest.mark.parametrize(
    ("last", "ran", "more"),
    [
        ("main()", "", {"forward"}),
        ("pass", "", {"forward", "main", "helper"}),
        ("pass", "main", {"forward"}),
        ("pass", "helper", {"forward", "main"}),
        ("getattr(torch, 'main')()", "", {"forward"}),
    ],
)
def test_what_nothing_that_ran_mentions_is_idle(last: str, ran: str, more: set[str]) -> None:
    """Of both methods ``forward`` that of the class that is made is not idle."""
    assert idle(last, ran) == FORGOTTEN | more


def test_a_function_that_ran_is_not_idle_whatever_mentions_it() -> None:
    assert idle("main()", "forgotten") == {"unused", "forward"}


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ("from example import train as t\nt()", "def train(): pass"),
        ("", "@app.command()\ndef train(): pass"),
        ("", "def make():\n    def ran(): pass\n    return ran"),
        ("use(Part())", "@part\nclass Part:\n    def train(self): pass"),
    ],
    ids=["under another name", "handed to an app", "around one that ran", "of a decorated class"],
)
def test_what_is_called_from_elsewhere_is_not_idle(other: str, text: str) -> None:
    one, file = (
        Source(name, t.splitlines(keepends=True)) for name, t in (("a", other), ("b", text))
    )
    ran = next((n for n in ast.walk(file.tree) if getattr(n, "name", "") == "ran"), None)
    codes = [] if ran is None else [code_named("ran", compile(text, "b", "exec"))]
    assert idle_nodes([one, file], codes) == set()


def code_named(name: str, code: CodeType) -> CodeType:
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    return code if code.co_name == name else code_named(name, inner[0])


@pytest.mark.parametrize(
    "call", ["freeze(1)", "get_ipython().run_cell_magic('time', '', 'freeze(1)')"]
)
def test_another_cell_calls_what_a_cell_defines(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["def freeze(n):\n    a(n)\ndef unused():\n    b()\ndef train():\n    c()", call]
    for number, text in enumerate(texts, 1):
        name = f"<ipython-input-{number}-0123456789ab>"
        lines = text.splitlines(keepends=True)
        monkeypatch.setitem(linecache.cache, name, (len(text), None, lines, name))
    defined = compile(texts[0], "<ipython-input-1-0123456789ab>", "exec")
    ran = next(c for c in defined.co_consts if getattr(c, "co_name", "") == "train")
    calls = [ast.unparse(node) for _, node in Statements([ran]).nodes(ast.Call)]
    assert sorted(calls) == ["a(n)", "c()"]


def test_code_of_installed_libraries_tells_nothing_of_the_program() -> None:
    """A recording meets it too: what a library writes is no fault of the program's."""

    def own() -> None:
        """Stand in this file."""

    codes = [torch.nn.Linear.forward.__code__, own.__code__]
    found = {file.filename for file, _ in Statements(codes).nodes(ast.FunctionDef)}
    assert found == {own.__code__.co_filename}
