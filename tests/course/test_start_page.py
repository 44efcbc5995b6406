"""The page where a learner starts says what the notebooks say, and leads to all of them."""

from __future__ import annotations

import json
import re

import pytest

from course import ROOT, start_page, thumbnails
from course.books import FOLDER, Notebook, notebooks
from gradviz.picture import render

WRITE = "write it again: python -m course.start_page"
ROOM = 275  # CSS pixels: what is wider is shown with letters below 12


def texts() -> str:
    cells = json.loads(start_page.PAGE.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells)


def test_it_is_what_the_notebooks_give_now() -> None:
    assert start_page.PAGE.read_text(encoding="utf-8") == start_page.page(), WRITE


@pytest.mark.parametrize("notebook", notebooks(), ids=lambda n: n.name)
def test_every_notebook_has_its_place(notebook: Notebook) -> None:
    assert f'href="{notebook.path.name}"' in texts()
    assert all(notebook.told(word) for word in ("Time", "You will do", "You need")), (
        "the first cell leaves one out"
    )
    assert (notebook.number in start_page.CORE) != (notebook.number in start_page.WHEN_NEEDED)


def test_pictures_are_what_a_run_gives_now_and_none_is_left_over() -> None:
    assert {p.stem: p.read_bytes() for p in start_page.PICTURES.iterdir()} == start_page.pictures()


@pytest.mark.parametrize("number", start_page.CORE)
def test_a_picture_of_the_core_is_small_enough_to_be_read(number: str) -> None:
    width, _ = render.size(thumbnails.svg(number))
    assert width <= ROOM


def test_a_picture_shows_what_became_of_the_gradient() -> None:
    drawn = {number: thumbnails.svg(number) for number in start_page.CORE}
    assert {n for n, picture in drawn.items() if "✂" in picture} == {"00", "04"}
    grads = {
        n: found[1].replace("&#45;", "-")
        for n, picture in drawn.items()
        if (found := re.search(r"\.grad: ([^<]+)<", picture))
    }
    assert grads == {"00": "2", "02": "2 → 4", "03": "3", "04": "2", "08": "0"}


def test_the_manual_calls_the_notebooks_so_too() -> None:
    manual = (ROOT / "docs" / "using.md").read_text(encoding="utf-8")
    found = re.findall(r"\| (\d\d) \| \[([^]]+)\]\(\.\./notebooks/(\d\d)_", manual)
    entries = {**start_page.CORE, **start_page.WHEN_NEEDED}
    assert {n: title for n, title, _ in found} == {n: e.title for n, e in entries.items()}
    assert all(number == linked for number, _, linked in found)


def test_every_link_and_picture_leads_somewhere() -> None:
    places = re.findall(r'(?:href|src)="([^"]+)"', texts())
    assert len(places) > len(notebooks())
    for place in places:
        file = place.partition("#")[0]
        assert (FOLDER / file).exists(), f"the start page leads to {place}, which is not there"


def test_a_notebook_without_its_sentence_or_time_is_an_error() -> None:
    [book] = [n for n in notebooks() if n.number == "01"]
    assert start_page.said_by(book, start_page.CORE["01"]).startswith("Why does my result")
    bare = Notebook(book.path, [])
    with pytest.raises(ValueError, match="does not open with a sentence"):
        start_page.said_by(bare, start_page.CORE["01"])
    with pytest.raises(ValueError, match="does not say its time"):
        start_page.minutes(bare)
