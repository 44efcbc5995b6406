"""What ``make gallery`` draws: its programs without running those whose libraries no test installs,
and the pictures as they are committed."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from model_scripts import setup_and_cell

from gallery import drawing, real, small

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "gallery.md").read_text("utf-8")
PINNED = re.findall(r"^([\w-]+)==", (ROOT / "requirements-models.txt").read_text("utf-8"), re.M)


class Row(NamedTuple):
    """A line of the tables of ``docs/gallery.md``."""

    title: str
    name: str
    width: int
    height: int


def rows() -> list[Row]:
    found = re.findall(r"^\| \[(.+)\]\(gallery/(.+)\.svg\) \|.*\| (\d+)×(\d+) \|", PAGE, re.M)
    return [Row(title, name, int(width), int(height)) for title, name, width, height in found]


def test_every_picture_of_the_gallery_is_listed_and_there() -> None:
    listed = {row.name: row.title for row in rows()}
    shown = {one.name: one.title for one in (*real.shown(), *small.shown())}
    assert listed == shown
    assert {path.stem for path in drawing.FOLDER.glob("*.svg")} == set(shown)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.name)
def test_every_committed_picture_has_the_size_that_is_said_and_fits_a_page(row: Row) -> None:
    svg = (drawing.FOLDER / f"{row.name}.svg").read_text("utf-8")
    assert drawing.render.size(svg) == (row.width, row.height)
    assert row.width <= drawing.WIDEST
    assert row.height <= drawing.HIGHEST or row.name in small.TALL


@pytest.mark.parametrize("shown", real.shown(), ids=lambda shown: shown.name)
def test_programs_parse_and_what_they_import_is_pinned(shown: drawing.Shown) -> None:
    setup, cell = setup_and_cell(shown.source)
    tree = ast.parse(setup)
    assert ast.parse(cell).body
    assert "torch.manual_seed(0)" in setup
    assert "from_pretrained" not in shown.source  # nothing is loaded from anywhere
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    }
    assert imported - {"torch", "logging", "warnings"} <= set(PINNED)


def test_a_picture_that_tells_something_else_than_torch_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "FOLDER", tmp_path)
    shown = next(one for one in small.shown() if one.name == "gan")
    drawn = drawing.draw(shown)
    drawing.check(drawn)
    next(drawn.names["G"].parameters()).grad = None
    with pytest.raises(AssertionError, match=r"G\.0\.weight"):
        drawing.check(drawn)


def test_a_table_is_put_in_the_place_of_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        f"# A\n\n## One\n\n{drawing.HEAD}\n| old |\n\n## Two\n\n{drawing.HEAD}\n| kept |\n"
    )
    monkeypatch.setattr(drawing, "PAGE", page)
    drawing.write_table("One", ["| new |", "| newer |"])
    assert page.read_text() == (
        f"# A\n\n## One\n\n{drawing.HEAD}\n| new |\n| newer |\n\n## Two\n\n{drawing.HEAD}\n| kept |\n"
    )
