"""Every error that autograd, and what stands around it, can raise: ``raises.toml`` has the smallest program for each.

torch alone proves the table: the program raises that text, and with the fix it runs and the symptom is gone. Then a
bare ``why`` has to name the cause, the line, and words of that fix; in a function of its own it answers the same.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import re
import sys
import textwrap
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

import gradviz as gv
from gradviz.why.shown.explanation import Explanation

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

TABLE = tomllib.loads((Path(__file__).parent / "raises.toml").read_text(encoding="utf-8"))
HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
LINE = re.compile(r"\bline\s+(\d+)\b")
DETACHED = re.compile(r"([\w.]+)\.detach\(\) in (?!that line|this line|the place)(.{1,90})")
each = pytest.mark.parametrize("name", TABLE)


class Ran(NamedTuple):
    """The variables of a program, and the error that ended it."""

    names: dict[str, Any]
    error: Exception | None


def program(name: str) -> str:
    return HEAD + str(TABLE[name]["program"]).lstrip("\n")


def fixed(name: str) -> str:
    text = program(name)
    for old, new in TABLE[name]["fixed"]:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def run(text: str, file: str, around: Any = None) -> Ran:
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    names: dict[str, Any] = {"__name__": "__main__"}
    torch.manual_seed(0)
    was_on = torch.is_grad_enabled()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            with around or contextlib.nullcontext():
                exec(compile(text, file, "exec"), names)
    except Exception as error:
        return Ran(names, error)
    finally:
        torch.set_grad_enabled(was_on)
    return Ran(names, None)


def asked(text: str, file: str) -> Explanation:
    recording = gv.record()
    names, error = run(text, file, recording)
    assert error is not None
    known = {key: value for key, value in names.items() if not key.startswith("__")}
    return gv.explain(error=error, recording=recording, names=known)


def on_one_line(told: Explanation) -> str:
    return " ".join(str(told).split())


@each
def test_it_raises_and_with_the_fix_it_does_not(name: str) -> None:
    error = run(program(name), f"{name}.py").error
    assert error is not None
    assert TABLE[name]["error"] in str(error)
    names, left = run(fixed(name), f"{name}_fixed.py")
    assert left is None
    assert eval(TABLE[name]["gone"], names)


@each
def test_why_names_the_cause_the_line_and_the_fix(name: str) -> None:
    text = program(name)
    told = asked(text, "p.py")
    assert (told.cause, told.form) == (TABLE[name]["cause"], TABLE[name]["form"]), told
    meant = TABLE[name]["line"]
    lines = {n for n, line in enumerate(text.split("\n"), 1) if line.strip().startswith(meant)}
    assert lines
    assert lines & {int(n) for n in LINE.findall(str(told))}, told
    assert TABLE[name]["says"] in on_one_line(told)
    for word, code in DETACHED.findall(on_one_line(told)):
        assert word in code, told  # that line knows what is to be detached by this name


@each
def test_why_says_the_same_of_a_program_in_a_function(name: str) -> None:
    body = textwrap.indent(str(TABLE[name]["program"]).lstrip("\n"), "    ")
    told = asked(f"{HEAD}def main():\n{body}\nmain()\n", "in_function.py")
    says = TABLE[name].get("says_in_function", TABLE[name]["says"])  # where less is known there
    assert told.cause == TABLE[name]["cause"], told
    assert says in on_one_line(told), told
