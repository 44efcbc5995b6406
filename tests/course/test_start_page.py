"""The page where a learner starts says what the notebooks say, and leads to all of them."""

from __future__ import annotations

import json
import re

import pytest

from course import start_page
from course.books import FOLDER, Notebook, notebooks

WRITE = "write it again: python -m course.start_page"


def texts() -> str:
    cells = json.loads(start_page.PAGE.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells)


def test_it_is_what_the_notebooks_give_now() -> None:
    assert start_page.PAGE.read_text(encoding="utf-8") == start_page.page(), WRITE


@pytest.mark.parametrize("notebook", notebooks(), ids=lambda n: n.name)
def test_every_notebook_has_its_place_with_time_needs_and_a_picture(notebook: Notebook) -> None:
    number = notebook.name[:2]
    assert f"]({notebook.path.name})" in texts()
    assert all(notebook.told(word) for word in ("Time", "You will do", "You need")), (
        "the first cell leaves one out"
    )
    drawn = (start_page.PICTURES / f"{number}.svg").read_bytes()
    assert drawn == start_page.picture(notebook), WRITE
    assert f'src="pictures/{number}.svg"' in texts()


def test_every_link_and_picture_leads_somewhere() -> None:
    places = re.findall(r'\]\(([^)]+)\)|src="([^"]+)"', texts())
    assert len(places) > len(notebooks())
    for place in map("".join, places):
        file = place.partition("#")[0]
        assert (FOLDER / file).exists(), f"the start page leads to {place}, which is not there"


def test_no_picture_is_left_over() -> None:
    assert {p.stem for p in start_page.PICTURES.iterdir()} == {n.name[:2] for n in notebooks()}


def test_the_core_path_is_there() -> None:
    assert set(start_page.CORE) <= {n.name[:2] for n in notebooks()}
