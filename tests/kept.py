"""Keeps what was answered in tests/golden/answers, one file a table of programs, and tells what differs.

A difference is one of three kinds, the gravest first: what was found (the cause, the lines, the cuts, the mend), what
it is said of, and nothing but the wording.
"""

from __future__ import annotations

import difflib
import json
import math
import platform
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent / "golden" / "answers"
FOUND, SUBJECT, WORDING = KINDS = ("found", "subject", "wording")
WORDS = {"words", "text", "alt", "hover", "table", "cards", "labels", "boxes", "error", "settings"}
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]*\d)")
AGAIN = "if that is wanted, rewrite with: pytest --overwrite-golden"
Table = dict[str, Any]  # program -> its answers, or the words of its picture


class Difference(NamedTuple):
    """Between a stored answer and the one that is given now."""

    kind: str
    program: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind} differs: {self.program}\n{self.text}"


def here() -> str:
    """What the words depend on besides gradviz: numbers are rounded, and errors worded, by torch."""
    import torch

    torchs = ".".join(torch.__version__.split("+")[0].split(".")[:2])
    python = ".".join(map(str, sys.version_info[:2]))
    return f"torch {torchs}, Python {python}, {sys.platform} {platform.machine()}"


def read(table: str, folder: Path = FOLDER) -> tuple[str, Table]:
    """What a table was written with, and its programs."""
    path = folder / f"{table}.json"
    if not path.exists():
        return here(), {}
    stored = json.loads(path.read_text(encoding="utf-8"))
    return stored["written with"], stored["programs"]


def write(table: str, programs: Mapping[str, Any], folder: Path = FOLDER) -> None:
    """Store a table: sorted, and a line for each thing that is said."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {
        "written with": here(),
        "programs": {name: programs[name] for name in sorted(programs)},
    }
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    (folder / f"{table}.json").write_text(text, encoding="utf-8")


def differences(program: str, old: Any, new: Any) -> Iterator[Difference]:
    """What differs in the answers of one program.

    >>> old = [{"cause": "cut", "subjects": ["a"], "words": ["one"]}]
    >>> [d.kind for d in differences("p", old, [{"cause": "cut", "subjects": ["b"], "words": ["two"]}])]
    ['subject', 'wording']
    >>> [d.kind for d in differences("p", old, [{"cause": "healthy", "subjects": ["a"], "words": ["one"]}])]
    ['found']
    >>> [d.kind for d in differences("p", old, old * 2)], list(differences("p", old, old))
    (['found'], [])
    """
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (one, other) in enumerate(zip(old, new, strict=True), 1):
            yield from differences(
                f"{program}, answer {place}" if len(old) > 1 else program, one, other
            )
    elif isinstance(old, dict) and isinstance(new, dict):
        for kind in KINDS:
            one, other = (
                {key: value for key, value in d.items() if kind_of(key) == kind} for d in (old, new)
            )
            if one != other and not (kind == WORDING and are_alike(one, other)):
                yield Difference(kind, program, _told(one, other))
    elif old != new:
        yield Difference(FOUND, program, _told(old, new))


def are_alike(one: Any, other: Any) -> bool:
    """Say whether two wordings differ in nothing but the rounding of another kind of processor:
    numbers with a point or an exponent that are within 1 %, of huge and tiny ones 1 % of the
    exponent, or that are both below a millionth.

    >>> are_alike(["by about 0.3667, of 3"], ["by about 0.3669, of 3"]), are_alike("[0, 1]", "[-1e-09, 1]")
    (True, True)
    >>> are_alike("by 1e+45", "by 6e+44"), are_alike("by 0.36", "by 0.37"), are_alike("3 of 4", "3 of 5")
    (True, False, False)
    """
    texts = [json.dumps(d, ensure_ascii=False, sort_keys=True) for d in (one, other)]
    numbers = [NUMBER.findall(text) for text in texts]
    if NUMBER.sub("#", texts[0]) != NUMBER.sub("#", texts[1]):
        return False
    return all(a == b or _round_alike(a, b) for a, b in zip(*numbers, strict=True))


def _round_alike(one: str, other: str) -> bool:
    if {".", "e"}.isdisjoint(one + other):
        return False  # whole numbers are counted
    a, b = abs(float(one)), abs(float(other))
    if max(a, b) < 1e-6:
        return True
    if min(a, b) == 0 or (float(one) < 0) != (float(other) < 0):
        return False
    room = 0.01 * max(math.log(10), abs(math.log(a)))
    return abs(math.log(a / b)) <= (0.01 if 1e-6 < a < 1e6 else room)


def kind_of(key: str) -> str:
    """Which kind of difference a field makes."""
    return WORDING if key in WORDS else SUBJECT if key == "subjects" else FOUND


def compared(old: Table, new: Table) -> list[Difference]:
    """What differs between two tables, the gravest first."""
    found = [
        d for name in sorted({*old, *new}) for d in differences(name, old.get(name), new.get(name))
    ]
    return sorted(found, key=lambda d: KINDS.index(d.kind))


def _told(old: Any, new: Any) -> str:
    one, other = (json.dumps(d, indent=1, ensure_ascii=False).splitlines() for d in (old, new))
    lines = [
        line
        for line in difflib.unified_diff(one, other, n=0, lineterm="")
        if not line.startswith(("---", "+++"))
    ]
    return "\n".join(f"  {line}" for line in lines if not line.startswith("@@"))


class Kept:
    """What is stored, and what was given in this run of the tests.

    Args:
        folder: where to write what is given, instead of comparing it; None to compare.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.given: dict[str, Table] = {}
        self.stored: dict[str, tuple[str, Table]] = {}

    def check(self, table: str, program: str, answers: Any) -> None:
        """Compare what one program was answered, or note it where answers are to be written.

        Raises:
            AssertionError: it is not what is stored.
        """
        if self.folder is not None:
            self.given.setdefault(table, {})[program] = answers
            return
        if table not in self.stored:
            self.stored[table] = read(table)
        written_with, programs = self.stored[table]
        if written_with == here():
            found = compared({program: programs.get(program)}, {program: answers})
            assert not found, "\n".join([*map(str, found), AGAIN])

    def write(self, is_gone: Callable[[str, str], bool]) -> None:
        """Store what was given. Of a program that was not run now, what is stored stays.

        Args:
            is_gone: whether the program of a table is there no more.
        """
        assert self.folder is not None
        for table, programs in self.given.items():
            others = {
                name: value
                for name, value in read(table, self.folder)[1].items()
                if not is_gone(table, name)
            }
            write(table, {**others, **programs}, self.folder)
