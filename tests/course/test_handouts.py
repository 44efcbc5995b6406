"""What a class gets: the route fits its time, and the handouts say what PyTorch does."""

from __future__ import annotations

import html
import re

import pytest
import torch

from course import handouts, teaching
from course.handouts import Drawn

COPIES = {
    "clone()": torch.Tensor.clone,
    "detach()": torch.Tensor.detach,
    ".data": lambda a: a.data,
    "copy_()": lambda a: torch.tensor(0.0).copy_(a),
}


@pytest.fixture(scope="module")
def programs() -> list[Drawn]:
    return [handouts.drawn(name) for name in handouts.WAYS]


def test_the_answers_are_pytorchs(programs: list[Drawn]) -> None:
    assert [p.name for p in programs] == list(COPIES)
    for program in programs:
        a = torch.tensor(1.0, requires_grad=True)
        b = COPIES[program.name](a)
        (a * 2 + b * 3).backward()
        assert a.grad is not None
        assert program.grad == f"{a.grad.item():g}"
        before = a.detach().clone()
        with torch.no_grad():
            b.add_(1)
        assert program.memory == ("own" if torch.equal(a, before) else "shared")
        assert program.gradient == ("linked" if b.requires_grad else "cut")


def test_the_blank_sheet_gives_no_answer_away(programs: list[Drawn]) -> None:
    blank, key = (text_of(handouts.sheet(programs, key=k)) for k in (False, True))
    for program in programs:
        assert f"a.grad = {program.grad}" not in blank
        assert f"a.grad = {program.grad}" in key
        drawn = program.blank.svg
        assert not re.search(
            r"Backward|AccumulateGrad|\.grad|✂|memory|not tracked|requires_grad", drawn
        )
        assert program.blank.alt.startswith("The way of the values")
        assert handouts.WAYS[program.name].splitlines()[-1] in drawn
    assert "clone(), copy_()" in key
    assert "clone(), copy_()" not in blank


def text_of(sheet: str) -> str:
    """Without the pictures' data and their alternative texts."""
    return html.unescape(re.sub(r"<img [^>]*>", "", sheet))


def test_the_route_takes_ninety_minutes() -> None:
    assert [stop.minutes for stop in teaching.ROUTE] == [15, 12, 12, 12, 12, 15, 12]
    assert all(len(stop.steps) >= 2 for stop in teaching.ROUTE)


def test_a_screen_that_is_gone_is_an_error() -> None:
    stop = teaching.ROUTE[0]
    with pytest.raises(ValueError, match=f"{stop.notebook} has no scenario {stop.scenario!r}"):
        teaching.link(stop, {stop.notebook: []})
