"""The page "your note, your section" holds each claim and each scenario, and leads to sections that
are there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote

import by_note
import pytest
from ledger import CLAIMS

from course import books

pytestmark = pytest.mark.every_case

BY_HAND = "run python tests/ledger.py"
PAGE = by_note.PAGE.read_text(encoding="utf-8")
LINK = re.compile(r"\]\(\.\./notebooks/(\w+\.ipynb)#([^)]+)\)")


def test_the_page_is_what_the_programs_and_the_notebooks_say() -> None:
    assert by_note.page() == PAGE, BY_HAND


@pytest.mark.parametrize("note", by_note.NOTES, ids=lambda note: note.number)
def test_the_parts_of_a_note_are_all_of_its_claims_in_its_order(note: by_note.Note) -> None:
    listed = [id for part in note.parts for id in by_note.between(part.first, part.last)]
    assert listed == [id for id in books.CLAIMS if CLAIMS[id].source == note.number]
    places = [PAGE.index(f"| {id} | ") for id in listed]
    assert places == sorted(places)


def test_every_scenario_belongs_to_one_note() -> None:
    assert [number for note in by_note.NOTES for number in note.scenarios] == books.SCENARIOS


@pytest.mark.parametrize("id", [*books.SCENARIOS, *books.CLAIMS])
def test_whatever_a_note_says_leads_to_a_section(id: str) -> None:
    assert by_note.sections_of(id) or id in books.SLIPS


def test_every_link_leads_to_a_heading() -> None:
    found = LINK.findall(PAGE)
    assert len(found) > 150
    for name, anchor in set(found):
        book = books.read(books.FOLDER / name)
        assert unquote(anchor) in {
            books.plain(text).replace(" ", "-") for _, text in book.headings
        }, f"{name}#{anchor}"


@pytest.mark.parametrize(("wrong", "right"), [sides[1:] for sides in by_note.AGAINST])
def test_of_two_sides_one_holds(wrong: tuple[str, ...], right: tuple[str, ...]) -> None:
    assert {CLAIMS[id].verdict() for id in wrong} == {"false"}
    assert {CLAIMS[id].verdict() for id in right} <= {"true", "needs nuance"}


def test_a_section_link_names_the_heading_as_a_notebook_does(tmp_path: Path) -> None:
    raw = [
        {
            "id": "a",
            "cell_type": "markdown",
            "source": "# 07 x\n### 2. Copy with `clone()`",
            "metadata": {},
        }
    ]
    path = tmp_path / "07_x.ipynb"
    path.write_text(json.dumps({"cells": raw}), encoding="utf-8")
    link = by_note.section_link(books.read(path), "2. Copy with `clone()`")
    assert link == "[07 2. Copy with `clone()`](../notebooks/07_x.ipynb#2.-Copy-with-clone%28%29)"


def test_every_scenario_has_a_control() -> None:
    assert {n: by_note.scenario_row(n, "") for n in books.SCENARIOS if not controls_of(n)} == {}
    assert controls_of("S45") == ["product", "plus", "mode", "requires_grad"]


def controls_of(scenario: str) -> list[str]:
    return [name for _, cell in books.tagged(scenario) for name in by_note.controls_in(cell)]
