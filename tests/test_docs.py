"""The texts lead where they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


@pytest.mark.parametrize("path", TEXTS, ids=lambda p: p.name)
def test_links_to_files_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", path.read_text("utf-8"))
    missing = [link for link in links if "://" not in link and not (path.parent / link).exists()]
    assert not missing


def test_readme_shows_a_moving_picture_first_then_how_to_try_and_to_install_it() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    sentence, picture, *_ = [line for line in text.splitlines()[1:] if line]
    assert len(sentence.split()) < 20
    assert re.fullmatch(r"!\[.+\]\(docs/pictures/toggle\.svg\)", picture)
    headings = re.findall(r"(?m)^## (.+)$", text)
    assert headings[:3] == ["Try it in your browser", "Install", "Ten lines"]
    assert len(text.split()) <= 900


def test_links_to_a_heading_have_one() -> None:
    for path in TEXTS:
        for file, heading in re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", path.read_text("utf-8")):
            if file.endswith(".ipynb"):  # JupyterLab names headings in another way
                continue
            text = (path.parent / file if file else path).read_text("utf-8")
            headings = re.findall(r"(?m)^#+ (.+)$", text)
            names = {re.sub(r"[^\w\- ]", "", h).lower().replace(" ", "-") for h in headings}
            assert heading in names, f"{path.name}: {file}#{heading}"


def test_what_was_checked_in_place_of_what_could_not_be_tried_exists() -> None:
    text = (ROOT / "docs/not_tried.md").read_text("utf-8")
    files = re.findall(r"`((?:tests|deploy)/[\w./]+)`", text)
    tests = re.findall(r"`(test_\w+)`", text)
    assert len(files) >= 8
    assert len(tests) >= 10
    assert [file for file in files if not (ROOT / file).exists()] == []
    defined = "".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name in tests if f"def {name}(" not in defined] == []


def test_the_front_ends_that_are_said_to_work_are_shown_by_tests_that_exist() -> None:
    (table,) = re.findall(
        r"## Front ends\n.*?(\| ---.*?)\n\n", (ROOT / "docs/using.md").read_text("utf-8"), re.DOTALL
    )
    named = re.findall(r"`(?:tests/\w+/)?(test_\w+)(\.py)?`", table)
    browser = list((ROOT / "tests").rglob("test_*.py"))
    tests = "".join(path.read_text("utf-8") for path in browser)
    assert len(named) >= 6
    for name, is_file in named:
        assert name in {p.stem for p in browser} if is_file else f"def {name}(" in tests, name
