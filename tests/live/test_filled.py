"""A scenario's code with its choices filled in does what the scenario does."""

from __future__ import annotations

import contextlib
import itertools
import runpy
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import gradviz as gv
from gradviz.live.filling import fill_in


def text(function: Callable[..., Any], **values: Any) -> str:
    return fill_in(function, {name: (name, value) for name, value in values.items()}).text


def test_a_method_is_called_as_a_reader_types_it() -> None:
    def scenario(copy, asks):
        a = torch.tensor([1.0, 2.0], requires_grad=asks)
        return copy(a + 1)

    told = text(scenario, copy=torch.Tensor.clone, asks=True)
    assert told == "a = torch.tensor([1.0, 2.0], requires_grad=True)\nreturn (a + 1).clone()"


def test_a_lambda_gives_its_body_in_the_authors_spelling() -> None:
    def scenario(change, power):
        a = torch.tensor(2.0)
        return change(a) ** power

    told = text(scenario, change=lambda x: x * 1.0 + 1, power=-1)
    assert told.endswith("return (a * 1.0 + 1) ** (-1)")


def test_an_argument_keeps_its_parentheses_inside_a_body() -> None:
    def scenario(change):
        a = torch.tensor(2.0)
        return change(a + 1)

    assert text(scenario, change=lambda x: x * 3).endswith("return (a + 1) * 3")
    assert text(scenario, change=lambda x: torch.exp(x)).endswith("return torch.exp(a + 1)")


def test_a_function_as_argument_is_called_in_parentheses() -> None:
    def scenario(way):
        x = 3
        return way(lambda x: x + 1, x)

    assert text(scenario, way=lambda block, x: block(x)).endswith("return (lambda x: x + 1)(x)")


def test_two_lambdas_on_one_line_are_told_apart() -> None:
    def scenario(change):
        return change(2)

    one, other = lambda x: x + 1, lambda x: x + 2
    assert (text(scenario, change=one), text(scenario, change=other)) == (
        "return 2 + 1",
        "return 2 + 2",
    )


def test_a_block_of_nothing_moves_its_body_out() -> None:
    def scenario(mode):
        a = torch.ones(1)
        with mode():
            b = a * 2
            c = b + 1
        return c

    filled = fill_in(scenario, {"mode": ("off", contextlib.nullcontext)})
    assert [line.kind for line in filled.lines] == ["", "gone", "", "", ""]
    assert [line.text for line in filled.lines][1:4] == ["with mode():", "b = a * 2", "c = b + 1"]
    assert "with torch.no_grad():\n    b = a * 2" in text(scenario, mode=torch.no_grad)


def test_a_decided_branch_is_all_that_is_left() -> None:
    def scenario(way, keep):
        if way == "add":
            x = 1
        elif way == "multiply":
            x = 2
        else:
            x = 3
        if not keep:
            x = -x
        return x

    filled = fill_in(scenario, {"way": ("multiply", "multiply"), "keep": ("keep", True)})
    kinds = [line.kind for line in filled.lines]
    assert kinds == ["gone", "dead", "gone", "", "gone", "dead", "gone", "dead", ""]
    for way, keep in (("add", True), ("multiply", False), ("other", True), ("other", False)):
        assert run(scenario, way=way, keep=keep) == scenario(way, keep)


ON_ONE_LINE = """
def scenario(when, twice, n):
    x = 1
    if when == "early": x += n; x *= 3
    if not twice: x *= 10
    elif n > 5: x += 7
    for _ in range(2):
        if twice: x *= 2
    return x
"""


def test_of_an_if_on_one_line_the_body_is_left_or_nothing(tmp_path: Path) -> None:
    (tmp_path / "scenario.py").write_text(ON_ONE_LINE, encoding="utf-8")
    scenario = runpy.run_path(str(tmp_path / "scenario.py"))["scenario"]
    now = {"when": ("early", "early"), "twice": ("twice", True), "n": ("n", 4)}
    filled = fill_in(scenario, now).lines
    assert (filled[1].kind, filled[1].text) == ("", "x += 4; x *= 3")
    assert (filled[5].kind, filled[5].text) == ("", "    x *= 2")
    later = fill_in(scenario, {**now, "when": ("late", "late")}).lines[1]
    assert (later.kind, later.text) == ("gone", 'if when == "early": x += n; x *= 3')
    for when, twice, n in itertools.product(("early", "late"), (True, False), (4, 6)):
        assert run(scenario, when=when, twice=twice, n=n) == scenario(when, twice, n)


def test_an_elif_of_a_chain_that_stays_is_not_taken_out() -> None:
    def scenario(way):
        x = torch.tensor(1.0)
        if x > 2:
            y = 1
        elif way:
            y = 2
        else:
            y = 3
        return y

    assert "elif True:" in text(scenario, way=True)
    assert (run(scenario, way=True), run(scenario, way=False)) == (2, 3)


def test_a_loop_whose_only_statement_goes_still_runs() -> None:
    def scenario(clear):
        n = 0
        for step in range(3):
            if clear:
                n += step
        return n

    assert run(scenario, clear=False) == 0
    assert run(scenario, clear=True) == 3


def test_decided_expressions_are_written_out() -> None:
    def scenario(keep, which):
        a, b = 1, 2
        c = a if which == "a" else b + 1
        return torch.ones(1, requires_grad=not keep), c * 2

    assert "c = b + 1\n" in text(scenario, keep=True, which="b")
    assert "requires_grad=False" in text(scenario, keep=True, which="a")
    assert run(scenario, keep=True, which="b")[1] == scenario(True, "b")[1]


def test_functions_have_the_names_that_the_scenario_has_for_them() -> None:
    def scenario(f, dtype):
        return f(torch.ones(2, dtype=dtype))

    assert text(scenario, f=F.relu, dtype=torch.float64).startswith("return F.relu(torch.ones(2, ")
    assert "dtype=torch.float64" in text(scenario, f=torch.exp, dtype=torch.float64)


def several(x: Any) -> Any:
    x = x + 1
    return x * 2


hidden = 3.0


@pytest.mark.parametrize(
    "value",
    [several, lambda x: x * x + x, torch.ones(2), object(), lambda *xs: xs[0], F.softmax],
    ids=["statements", "twice", "tensor", "object", "star", "keyword"],
)
def test_what_has_no_truthful_code_stays_as_it_was_and_says_so(value: Any) -> None:
    def scenario(change):
        a = torch.ones(2)
        return change(a + 1)

    def with_keyword(change):
        a = torch.ones(2)
        return change(a + 1, dim=0)

    function = with_keyword if value is F.softmax else scenario
    filled = fill_in(function, {"change": ("this one", value)})
    assert filled.unfilled["change"]
    assert filled.lines[-1].text.endswith("  # change = this one")
    assert "change(a + 1" in filled.lines[-1].text


def test_a_closure_or_a_name_that_means_something_else_is_not_filled_in() -> None:
    factor = 2.0

    def scenario(change):
        hidden = 5.0  # noqa: F841
        return change(torch.ones(1))

    for change in (lambda x: x * factor, lambda x: x * hidden):
        filled = fill_in(scenario, {"change": ("c", change)})
        assert filled.unfilled["change"]
        assert "change(torch" in filled.text


def test_a_parameter_that_the_function_sets_is_left_alone() -> None:
    def scenario(n):
        n = n + 1
        return n

    filled = fill_in(scenario, {"n": ("1", 1)})
    assert filled.lines[0].text.startswith("n = n + 1")
    assert filled.unfilled


def test_a_line_stays_a_line_and_says_what_is_filled_in() -> None:
    def scenario(keep):
        """What it is about."""
        größe = torch.ones(2, requires_grad=keep)

        return größe.sum()

    filled = fill_in(scenario, {"keep": ("keep", True)})
    first = scenario.__code__.co_firstlineno
    assert [line.number - first for line in filled.lines] == [2, 3, 4]
    line = filled.lines[0]
    ((start, end, control),) = line.filled
    assert (line.text[start:end], control) == ("True", "keep")


def with_long_text(p):
    for x in (p,):
        if p:
            x += """a
    b"""
    return x


def test_a_text_of_several_lines_is_not_moved() -> None:
    assert fill_in(with_long_text, {"p": ("p", True)}).lines[1].text == "    if True:"


def test_without_a_source_there_are_no_lines() -> None:
    made: dict[str, Any] = {}
    exec("def scenario(p):\n    return p", made)
    assert fill_in(made["scenario"], {"p": ("p", 1)}).lines == ()


def test_an_exploration_tells_its_code_as_it_is_set() -> None:
    @gv.explore(copy={"clone": torch.Tensor.clone, "detach": torch.Tensor.detach})
    def scenario(copy):
        a = torch.ones(1, requires_grad=True)
        b = copy(a)
        b.sum().backward()

    assert "b = a.clone()" in scenario.filled.text
    assert "b = a.detach()" in scenario.set(copy="detach").filled.text


def run(function: Callable[..., Any], **values: Any) -> Any:
    """Run the filled code as the source of the function."""
    body = textwrap.indent(text(function, **values), "    ")
    names = {**function.__globals__}
    exec(f"def filled({', '.join(values)}):\n{body}", names)
    return names["filled"](**values)
