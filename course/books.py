"""The notebooks as data: cells, tags, headings, and what they say first."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from . import ROOT

FOLDER = ROOT / "notebooks"
SCENARIOS = [f"S{number:02}" for number in range(1, 46)]
CLAIMS = [f"C{number:03}" for number in range(1, 151)]
SLIPS = "C005 C048 C060 C070 C084 C091 C122 C126 C141".split()
"""Claims that only misspell or misprint something: the ledger proves them, no notebook has to."""
HEADING = re.compile(r"^(#{1,6}) (.+)$")


@dataclass
class Cell:
    """One cell.

    Attributes:
        id: its stable name.
        kind: "code" or "markdown".
        source: all of it.
        tags: of its metadata.
        section: the last heading above it, without its signs.
        metadata: all of it.
        outputs: as they were saved, texts in one piece or in lines.
    """

    id: str
    kind: str
    source: str
    tags: list[str] = field(default_factory=list)
    section: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    outputs: list[dict[str, Any]] = field(default_factory=list)

    @property
    def headings(self) -> list[tuple[int, str]]:
        """The headings of a markdown cell: (level, text), without what stands in code fences."""
        if self.kind != "markdown":
            return []
        text = re.sub(r"^```.*?^```", "", self.source, flags=re.MULTILINE | re.DOTALL)
        found = filter(None, map(HEADING.match, text.splitlines()))
        return [(len(match[1]), match[2].strip()) for match in found]


@dataclass
class Notebook:
    """One notebook."""

    path: Path
    cells: list[Cell]

    @property
    def number(self) -> str:
        """ "04" """
        return self.path.name[:2]

    @property
    def name(self) -> str:
        """Its file's name without the suffix: 04_detach."""
        return self.path.stem

    @property
    def title(self) -> str:
        """Its heading: "04 Cut the gradient with detach()"."""
        return plain(self.headings[0][1])

    @property
    def opening(self) -> str:
        """Its text above the first section."""
        texts = []
        for cell in self.cells:
            if any(level > 1 for level, _ in cell.headings):
                break
            if cell.kind == "markdown":
                texts.append(cell.source)
        return "\n\n".join(texts)

    def told(self, word: str) -> str:
        """What the opening says after **word.** or **word:**, up to the end of the paragraph, or
        ""."""
        found = re.search(rf"\*\*{word}[.:]\*\*\s+(.+?)(?:\n\n|\Z)", self.opening, re.DOTALL)
        return " ".join(found[1].split()) if found else ""

    @property
    def code(self) -> list[Cell]:
        """Its code cells."""
        return [cell for cell in self.cells if cell.kind == "code" and cell.source.strip()]

    @property
    def headings(self) -> list[tuple[int, str]]:
        """All of its headings."""
        return [heading for cell in self.cells for heading in cell.headings]


def plain(markdown: str) -> str:
    """Return a text without the signs of Markdown.

    >>> plain("**Need:** [Notebook 00](00.ipynb) and `x`")
    'Need: Notebook 00 and x'
    """
    return re.sub(r"[`*]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown)).strip()


def read(path: Path) -> Notebook:
    """Read one notebook from its file."""
    cells, section = [], ""
    for raw in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        cell = Cell(
            raw.get("id", ""), raw["cell_type"], "".join(raw["source"]), metadata=raw["metadata"]
        )
        cell.outputs = raw.get("outputs", [])
        cell.tags = list(raw["metadata"].get("tags", []))
        section = cell.headings[-1][1] if cell.headings else section
        cell.section = section
        cells.append(cell)
    return Notebook(path, cells)


@cache
def notebooks() -> tuple[Notebook, ...]:
    """Read all of the course, in order."""
    return tuple(read(path) for path in sorted(FOLDER.glob("[0-9][0-9]_*.ipynb")))


def tagged(id: str) -> Iterator[tuple[Notebook, Cell]]:
    """Return the code cells that carry this tag."""
    return ((book, cell) for book in notebooks() for cell in book.code if id in cell.tags)
