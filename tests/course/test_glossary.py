"""The glossary is in order, and the notebooks that it names explain its terms."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from course import books

pytestmark = pytest.mark.every_case

PAGE = Path(__file__).parents[2] / "docs" / "glossary.md"
ROW = re.compile(
    r"^\| (?P<term>[^|]+) \| (?P<words>[^|]+) \| (?P<chinese>[^|]+) \| (?P<place>[^|]+) \|$",
    re.MULTILINE,
)
LINK = re.compile(r"\[(\d\d)\]\(\.\./notebooks/(\1_\w+\.ipynb)\)")
ROWS = [match.groupdict() for match in ROW.finditer(PAGE.read_text(encoding="utf-8"))][2:]


def plain(term: str) -> str:
    """How a term is sorted and searched: ``.grad`` is "grad", ``backward()`` is "backward"."""
    return re.sub(r"[^a-z0-9_]+", " ", term.lower()).strip()


def test_terms_are_in_alphabetical_order_and_stand_there_once() -> None:
    terms = [(plain(row["term"]).replace("_", " ").strip(), row["term"]) for row in ROWS]
    assert len(terms) >= 40
    assert terms == sorted(set(terms))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: plain(row["term"]))
def test_a_term_has_a_plain_sentence_and_a_chinese_counterpart(row: dict[str, str]) -> None:
    assert row["words"][0].isupper()
    assert len(re.findall(r"[.](?:\s|$)", row["words"])) == 1, "one sentence"
    assert re.search("[\u4e00-\u9fff]", row["chinese"])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: plain(row["term"]))
def test_the_notebook_of_a_term_is_there_and_uses_it(row: dict[str, str]) -> None:
    link = LINK.fullmatch(row["place"])
    assert link, f"{row['place']} is no link to a notebook"
    (book,) = [b for b in books.notebooks() if b.path.name == link[2]] or [None]
    assert book, f"there is no notebook {link[2]}"
    text = plain("\n".join(cell.source for cell in book.cells))
    words = [plain(row["term"]), *(plain(code) for code in re.findall(r"`([^`]+)`", row["words"]))]
    assert any(word in text for word in words), f"{book.path.name} says none of {words}"
