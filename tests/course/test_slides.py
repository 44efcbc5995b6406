"""The slides of a notebook: its sections, and what is drawn after what is asked."""

from __future__ import annotations

import json
import re

import pytest
from nbconvert import SlidesExporter

from course import books, slides


@pytest.mark.parametrize("name", slides.SHOWN)
def test_a_notebook_says_where_its_slides_begin(name: str) -> None:
    [book] = [book for book in books.notebooks() if book.name == name]
    told = [cell.metadata.get("slideshow", {}).get("slide_type", "") for cell in book.cells]
    assert told == slides.kinds(book.cells), "write it again: python -m course.slides"


@pytest.mark.parametrize("name", slides.SHOWN)
def test_each_section_is_a_slide_and_no_slide_has_two_pictures(name: str) -> None:
    path = books.FOLDER / f"{name}.ipynb"
    page, _ = SlidesExporter().from_filename(str(path))
    # a slide and those below it stand in a section of their own
    made = [part.partition("</section>")[0] for part in re.split(r"<section[^>]*>", page)[1:]]
    shown = [part for part in made if "jp-Cell" in part]
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    texts = ["".join(c["source"]) for c in cells if c["cell_type"] == "markdown"]
    headed = [text for text in texts if re.search(r"(?m)^#{1,3} ", text)]
    assert sum(bool(re.search(r"<h[123] id=", part)) for part in shown) == len(headed) > 8
    assert len(shown) == sum("slideshow" in cell["metadata"] for cell in cells)
    drawn = [part.count("data:image/svg+xml") for part in shown]
    assert max(drawn) == 1
    assert sum(drawn) > 5
