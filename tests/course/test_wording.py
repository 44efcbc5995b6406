"""The course speaks plainly: standard words, no sentence that made readers stumble."""

from __future__ import annotations

import re
from pathlib import Path

import claims
import pytest

from course import ROOT, books

pytestmark = pytest.mark.every_case

BOOKS = pytest.mark.parametrize("book", books.notebooks(), ids=lambda b: b.path.stem)
# what readers stumbled over, and what took its place
STUMBLED = {
    "because it is a itself": "because b is a itself",
    "`just a` is none": "`just a` applies no operation",
    "how does each of the two paths get its": "What does each path do to `a` first?",
    "Nothing is counted": "Answers are not scored.",
    "where the way back starts": "the node where backward starts",
    "Ask `print`": "Printing shows:",
    "Which ends need no weights": "Which outputs need no `gradient=`?",
    "it receives for `leaf`": "it accumulates into `leaf.grad`",
    "look at the way that its gradient takes": "follow its gradient",
    "Only numbers are copied under": "only values are copied",
    "left to chance": "uninitialised",
    "does not ask for it": "ignores it",
    "does not care": "survives both writes",
    "that a step lies between": "that a step ran in between",
    "that is stuck first": "fails first",
    "come to its end": "run to the end",
    "how far back a cause may be": "how far back gradients go",
    "gone through twice": "allow a second backward",
    "not mind": "still works",
    "is to be seen": "is shown",
    "multiplied out of": "a product of",
    "nothing required of it": "`requires_grad` is False",
    "out of the game": "excluded from backward",
    "apart by blanks": "separated by spaces",
    "is called the same one": "one tensor keeps one name",
    "no way back": "no gradient comes back",
    "the way back": "backward",
    "hangs on": "is part of",
    # of the pictures as they were drawn once
    "shaded frame": "`no_grad` stands on the card",
    "at the bottom its `grad_fn`": "its `grad_fn`, the name on yellow",
}
MEND = re.compile(r"\bmend(s|ed|ing)?\b", re.IGNORECASE)
LEAF = "(00_copy_or_cut.ipynb#Three-words)"
STANDARD = [
    "computation graph",
    "derivative",
    "accumulate",
    "chain rule",
    "vector-Jacobian product",
]


def stumbles(text: str) -> list[str]:
    """Return the phrases of a text that readers stumbled over."""
    flat = " ".join(text.split())
    return [phrase for phrase in STUMBLED if phrase in flat]


@BOOKS
def test_a_notebook_has_no_sentence_that_made_readers_stumble(book: books.Notebook) -> None:
    assert {cell.id: found for cell in book.cells if (found := stumbles(cell.source))} == {}


@pytest.mark.parametrize(
    "page", ["docs/why.md", "docs/glossary.md", "docs/claims.md", "CHANGELOG.md"]
)
def test_a_page_has_no_sentence_that_made_readers_stumble(page: str) -> None:
    assert stumbles((ROOT / page).read_text(encoding="utf-8")) == []


def test_the_claims_have_no_sentence_that_made_readers_stumble() -> None:
    said = {id: stumbles(f"{one.words} {one.remark}") for id, one in claims.CLAIMS.items()}
    assert {id: found for id, found in said.items() if found} == {}


@BOOKS
def test_a_learner_fixes_programs(book: books.Notebook) -> None:
    assert [cell.id for cell in book.cells if MEND.search(cell.source)] == []


# --- standard words -------------------------------------------------------------------------------


@pytest.mark.parametrize("term", STANDARD)
def test_a_standard_word_stands_in_bold_in_the_notebook_of_the_glossary(term: str) -> None:
    """So a reader meets it once, marked as a word to know, where the glossary says."""
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| {re.escape(term)} \|.*\.\./notebooks/(\S+?\.ipynb)", page, re.MULTILINE)
    assert row, f"the glossary lacks {term}"
    [book] = [book for book in books.notebooks() if book.path.name == row[1]]
    bold = re.compile(rf"\*\*`?{re.escape(term)}", re.IGNORECASE)
    assert any(bold.search(cell.source) for cell in book.cells if cell.kind == "markdown")


def prose(book: books.Notebook) -> str:
    """Return the text of a notebook without what is set as code."""
    text = "\n".join(cell.source for cell in book.cells if cell.kind == "markdown")
    return re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)


def test_leaf_is_defined_once() -> None:
    places = [book.number for book in books.notebooks() if "**leaf**:" in prose(book)]
    assert places == ["00"]
    [first, *_] = books.notebooks()
    assert (2, "Three words") in [(level - 1, text) for level, text in first.headings]


@pytest.mark.parametrize("book", books.notebooks()[1:], ids=lambda b: b.path.stem)
def test_the_other_notebooks_link_to_what_a_leaf_is(book: books.Notebook) -> None:
    said = re.search(r"\bleaf\b", prose(book))
    assert not said or LEAF in prose(book)


# --- the checks can fail --------------------------------------------------------------------------


def test_a_stumble_is_noticed_across_lines(tmp_path: Path) -> None:
    assert stumbles("it shows\nthe way\nback") == ["the way back"]
    assert stumbles("backward starts there") == []
    assert MEND.search("Mend it.")
    assert not MEND.search("PyTorch recommends it")
