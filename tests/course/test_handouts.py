"""What a class gets: the route fits its time, and the handouts say what PyTorch does."""

from __future__ import annotations

import html
import linecache
import re
from pathlib import Path
from typing import Any

import pytest
import torch

import gradviz
from course import ROOT, deck, handouts, route, teaching
from course.books import Notebook, notebooks
from course.handouts import Drawn
from course.route import ROUTE, Screen, State
from gradviz.picture import render

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
        lines = "".join(re.findall(r">([^<]+)</text>", drawn))  # a long one is broken
        assert handouts.WAYS[program.name] in lines
    assert "clone(), copy_()" in key
    assert "clone(), copy_()" not in blank
    boxes = handouts.boxes_of_the_table(programs)
    assert all(boxes.values()), "a box of the key is empty"
    assert boxes["shared", "linked"] == ["view(1)"]
    assert "detach().clone()" in boxes["own", "cut"]
    assert all(html.escape(", ".join(calls)) in key for calls in boxes.values())


def test_paper_and_screen_have_the_same_lines(programs: list[Drawn]) -> None:
    """The panel of notebook 00 with its choices filled in, without what no sheet asks about."""
    [cell] = [c for c in notebook("00_copy_or_cut").code if "def scenario(" in c.source]
    panel = made_by(cell.source)["scenario"]
    [screen] = teaching.ROUTE[0].screens
    shown = []
    for state in screen.states:
        panel.set(**{name: state.settings.get(name, "none") for name in ("copy", "mode")})
        lines = [line.text for line in panel.filled.lines if line.kind != "gone"]
        shown.append("".join(f"{line}\n" for line in lines))
    assert [program.code for program in programs] == shown[:4]


def notebook(name: str) -> Notebook:
    [found] = [book for book in notebooks() if book.name == name]
    return found


def made_by(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {"torch": torch, "gv": gradviz}
    file = "a cell of the route"
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    exec(compile(code, file, "exec"), names)
    return names


def test_homework_has_another_line_where_its_solution_is_bold() -> None:
    asked, solved = (handouts.homework(solved=s) for s in (False, True))
    assert asked.count("<section") == solved.count("<section") == len(handouts.HOMEWORK)
    assert "<pre><b>" not in asked
    assert "\n<b>" not in asked
    tasks = solved.split("<section")[1:]
    assert all("\n<b>" in task for task in tasks), "a solution changes no line"
    assert "Solution" not in asked


def test_the_route_takes_ninety_minutes_with_a_buffer_or_forty_five() -> None:
    assert sum(stop.minutes for stop in ROUTE) == 90
    assert sum(stop.short for stop in ROUTE) == 45
    assert ROUTE[-1].title == "Buffer"
    assert ROUTE[-1].minutes >= 5
    assert all(stop.steps and stop.goal for stop in ROUTE)
    assert all(stop.errors for stop in ROUTE if stop.screens)


def test_a_state_of_the_route_is_one_of_its_panel() -> None:
    [cell] = [c for c in notebook("00_copy_or_cut").code if "def scenario(" in c.source]
    panel, [screen] = made_by(cell.source)["scenario"], ROUTE[0].screens
    found = [deck.address(panel, state) for state in screen.states]
    assert found[1] == "#copy=detach&mode=none&requires_grad=True"
    assert len({*found}) == len(found)
    answers = [deck.answer(panel, screen, state) for state in screen.states]
    assert answers == [
        "a.grad 5, memory own",
        "a.grad 2, memory shared",
        "a.grad 2, memory shared",
        "a.grad 5, memory own",
        "a.grad 2, memory own",
    ]
    with pytest.raises(ValueError, match="the route wants copy = 'xerox'"):
        deck.address(panel, State({"copy": "xerox"}, "?"))
    with pytest.raises(ValueError, match=r"the route asks for 'q\.grad'"):
        deck.told(panel.run(), "q.grad")


def test_a_panel_that_is_not_on_the_route_gets_no_page(tmp_path: Path) -> None:
    panel = made_by(TWO_WAYS)["two_ways"]
    assert deck.write(tmp_path / "class", panel, "00_copy_or_cut") == ()
    assert not (tmp_path / "class").exists()


TWO_WAYS = """@gv.explore(factor=[1, 2], twice=False)
def two_ways(factor, twice):
    a = torch.tensor(1., requires_grad=True)
    b = a * factor
    if twice:
        c = b.detach()
        d = c * b
    b.backward()
"""
WALKED = Screen(
    "any", "two_ways", ("a.grad",), (State({"factor": "1"}, "?"), State({"factor": "2"}, "?"))
)


def test_pictures_of_a_screen_are_laid_out_for_its_states_alone() -> None:
    """A third card, which only states that nobody walks to have, takes no room."""
    panel = made_by(TWO_WAYS)["two_ways"]
    one, two = deck.fitting(panel, WALKED)
    book = deck.drawn_for_the_screen(panel, WALKED)
    shown = [state["svg"] for state in book["states"]]
    assert [shown[0], shown[2]] == [one, two]
    whole = panel.book()["states"][0]["svg"]
    assert render.size(one)[0] < render.size(whole)[0]
    rims = [
        re.findall(r'class="node">\s*<title>[^<]*</title>\s*<path[^>]*? d="([^"]*)"', svg)
        for svg in (one, two)
    ]
    assert len(rims[0]) == 2
    assert rims[0] == rims[1], "a card is not where it was"


def test_a_picture_that_does_not_fit_the_screen_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    panel = made_by(TWO_WAYS)["two_ways"]
    monkeypatch.setitem(deck.ROOMS, False, (300, 100))
    with pytest.raises(ValueError, match="'two_ways' is too large for the screen of a class"):
        deck.fitting(panel, WALKED)


def test_a_screen_that_is_gone_is_an_error() -> None:
    [screen] = ROUTE[0].screens
    with pytest.raises(ValueError, match=f"{screen.notebook} has no scenario {screen.scenario!r}"):
        teaching.projected(1, screen, {screen.notebook: []})


def text_of(sheet: str) -> str:
    """Without the pictures' data and their alternative texts."""
    return html.unescape(re.sub(r"<img [^>]*>", "", sheet))


def test_what_is_said_of_the_class_elsewhere_are_its_minutes() -> None:
    said = f"{route.MINUTES} or {route.SHORT} minutes"
    for name in ("README.md", "docs/using.md"):
        text = " ".join((ROOT / name).read_text(encoding="utf-8").split())
        assert re.findall(r"\d+ or \d+ minutes", text) == [said], name


def test_a_page_without_the_places_of_a_class_is_refused() -> None:
    stop = ROUTE[0]
    with pytest.raises(ValueError, match="has no 'script-src ' any more"):
        deck.decked("<html><head></head><body></body></html>", stop, {})
