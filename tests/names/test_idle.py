"""Functions that did not run, as far as the text tells."""

from __future__ import annotations

import ast

import pytest
from executing import Source

from gradviz.names.idle import idle_nodes

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
