"""Each scenario of the source notes is named in the course, where it is walked through, and has a
live control."""

from __future__ import annotations

import json
import re
from pathlib import Path

import by_note
import pytest
from test_course import BOOKS, EXPLORED

from course import books

NOTE_OF = {scenario: note.number for note in by_note.NOTES for scenario in note.scenarios}
LIVE = {  # scenario -> notebook and panel where a reader can toggle it
    "S01": "04 keeps",
    "S02": "04 shared",
    "S03": "01 predict",
    "S04": "04 both_sides",
    "S05": "07 two_calls",
    "S06": "03 duplicate",
    "S07": "03 move",
    "S08": "03 inherit",
    "S09": "03 lay_out",
    "S10": "02 store",
    "S11": "02 listen",
    "S12": "02 kept_alive",
    "S13": "03 wire",
    "S14": "03 filled",
    "S15": "03 sliced",
    "S16": "04 two_paths",
    "S17": "04 alias",
    "S18": "06 grid",
    "S19": "07 two_calls",
    "S20": "07 copied",
    "S21": "06 into",
    "S22": "10 start",
    "S23": "10 follow",
    "S24": "01 ask",
    "S25": "01 switch_off",
    "S26": "08 late",
    "S27": "05 pause",
    "S28": "01 summed",
    "S29": "01 start_from",
    "S30": "02 add_up",
    "S31": "08 switch",
    "S32": "04 compare",
    "S33": "05 take_off",
    "S34": "10 toggled",
    "S35": "03 told_apart",
    "S36": "03 edited",
    "S37": "04 ask_again",
    "S38": "04 edit_alias",
    "S39": "07 spelt",
    "S40": "07 copied",
    "S41": "03 write_into",
    "S42": "09 chain",
    "S43": "04 repair",
    "S44": "02 middle",
    "S45": "04 place_the_cut",
}
NOTHING_TO_TOGGLE: dict[str, str] = {}  # scenario -> why
# what a number stands for is told in docs/notes.md
LINE = re.compile(
    r"<small>\[Scenarios?: (S\d\d(?:, S\d\d)*)\]\(\.\./docs/notes\.md\) · notes? (\d{3}(?:, \d{3})*)</small>"
)


# --- a live control -------------------------------------------------------------------------------


def panels() -> dict[str, list[str]]:
    """The live panels of the course, such as "04 keeps", and the scenarios that each belongs to."""
    found = {}
    for book in books.notebooks():
        for cell in book.code:
            for name in EXPLORED.findall(cell.source):
                found[f"{book.number} {name}"] = [tag for tag in cell.tags if tag in NOTE_OF]
    return found


@pytest.mark.parametrize("scenario", LIVE)
def test_a_scenario_has_a_live_control(scenario: str) -> None:
    assert scenario in panels().get(LIVE[scenario], [])


def test_every_scenario_has_a_live_control_or_a_reason_why_not() -> None:
    assert sorted({*LIVE, *NOTHING_TO_TOGGLE}) == books.SCENARIOS == sorted(NOTE_OF)
    assert not set(LIVE) & set(NOTHING_TO_TOGGLE)
    assert all(reason.strip() for reason in NOTHING_TO_TOGGLE.values())


# --- the two switches of autograd -----------------------------------------------------------------

# notebooks where every panel has them: in each of them stands a leaf
SWITCHED = ("01", "02", "03", "04", "07")
FLAG = re.compile(r"\w*(?:requires_grad|tracked)")
PARAMETERS = re.compile(
    r"^@gv\.explore\(.*?\)\n(?:@.*\n)*def (\w+)\((.*?)\):", re.MULTILINE | re.DOTALL
)


def unswitched(book: books.Notebook) -> list[str]:
    """Panels without a control for the flag of a leaf, or without one for the grad mode."""
    complaints = []
    for cell in book.code:
        for name, listed in PARAMETERS.findall(cell.source):
            parameters = [parameter.split("=")[0].strip() for parameter in listed.split(",")]
            if "mode" not in parameters:
                complaints.append(f"{name} has no control for the grad mode")
            if not any(FLAG.fullmatch(parameter) for parameter in parameters):
                complaints.append(f"{name} has no control for requires_grad")
    return complaints


@pytest.mark.parametrize("number", SWITCHED)
def test_every_panel_has_the_grad_mode_and_requires_grad_as_controls(number: str) -> None:
    [book] = [book for book in books.notebooks() if book.number == number]
    assert unswitched(book) == []


# --- a visible name -------------------------------------------------------------------------------


def numbered_sections(book: books.Notebook) -> dict[str, tuple[set[str], str]]:
    """Of each numbered section: the scenarios that its code cells are tagged with, and its text."""
    found: dict[str, tuple[set[str], str]] = {}
    section = ""
    for cell in book.cells:
        if cell.kind == "code":
            tags, text = found.setdefault(section, (set(), ""))
            tags |= {tag for tag in cell.tags if tag in NOTE_OF}
            continue
        for part in re.split(r"(?=^#{1,6} )", cell.source, flags=re.MULTILINE):
            if part.startswith("#"):
                section = part.splitlines()[0]
            tags, text = found.setdefault(section, (set(), ""))
            found[section] = (tags, text + part)
    return {section: told for section, told in found.items() if re.match(r"### \d+\. ", section)}


def expected_line(scenarios: set[str]) -> str:
    """What stands at the end of a section that walks through these.

    >>> expected_line({"S14", "S06"})
    '<small>[Scenarios: S06, S14](../docs/notes.md) · notes 000, 001</small>'
    """
    notes = sorted({NOTE_OF[scenario] for scenario in scenarios})
    ids = ", ".join(sorted(scenarios))
    return (
        f"<small>[Scenario{'s' if len(scenarios) > 1 else ''}: {ids}](../docs/notes.md)"
        f" · note{'s' if len(notes) > 1 else ''} {', '.join(notes)}</small>"
    )


def misnamed(book: books.Notebook) -> list[str]:
    """Sections whose last line does not name the scenarios that they walk through."""
    complaints = []
    for section, (scenarios, text) in numbered_sections(book).items():
        lines = [match[0] for match in LINE.finditer(text)]
        wanted = [expected_line(scenarios)] if scenarios else []
        if lines != wanted:
            complaints.append(f"{section} has {lines}, expected {wanted}")
        elif wanted and not text.rstrip().endswith(wanted[0]):
            complaints.append(f"{section} goes on after {wanted[0]}")
    return complaints


@BOOKS
def test_sections_name_their_scenarios_at_their_ends(book: books.Notebook) -> None:
    assert misnamed(book) == []


def test_every_scenario_is_named_where_a_reader_sees_it() -> None:
    named = {
        scenario for book in books.notebooks() for cell in book.cells for scenario in named_in(cell)
    }
    assert sorted(named) == books.SCENARIOS


def named_in(cell: books.Cell) -> list[str]:
    """The scenarios that a text cell names in its lines."""
    if cell.kind != "markdown":
        return []
    return [scenario for match in LINE.finditer(cell.source) for scenario in match[1].split(", ")]


# --- the checks can fail --------------------------------------------------------------------------

GOOD = [
    ("markdown", "### 1. Look\ntext", []),
    ("code", "@gv.explore(a=[1, 2])\ndef look(a):\n    pass", ["S06", "C046"]),
    ("code", "1", ["S14"]),
    (
        "markdown",
        "words\n\n<small>[Scenarios: S06, S14](../docs/notes.md) · notes 000, 001</small>\n\n### 2. Go on\ntext",
        [],
    ),
    ("code", "1", ["C046"]),
]


def made(folder: Path, changes: dict[int, tuple[str, str, list[str]]]) -> books.Notebook:
    listed = [changes.get(place, cell) for place, cell in enumerate(GOOD)]
    raw = [
        {"cell_type": kind, "source": source, "metadata": {"tags": tags}}
        for kind, source, tags in listed
    ]
    path = folder / "07_x.ipynb"
    path.write_text(json.dumps({"cells": raw}), encoding="utf-8")
    return books.read(path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ""),
        (
            {2: ("code", "1", ["S15"])},
            "expected ['<small>[Scenarios: S06, S15](../docs/notes.md) · notes 000, 001</small>']",
        ),
        (
            {2: ("code", "1", ["S07"])},
            "expected ['<small>[Scenarios: S06, S07](../docs/notes.md) · note 000</small>']",
        ),
        (
            {4: ("code", "1", ["S45"])},
            "### 2. Go on has [], expected ['<small>[Scenario: S45](../docs/notes.md) · note 004</small>']",
        ),
        (
            {3: ("markdown", GOOD[3][1].replace("\n\n###", "\nmore\n\n###"), [])},
            "### 1. Look goes on after",
        ),
        ({3: ("markdown", "### 2. Go on", [])}, "### 1. Look has []"),
    ],
)
def test_a_section_that_names_other_scenarios_is_noticed(
    changes: dict[int, tuple[str, str, list[str]]], said: str, tmp_path: Path
) -> None:
    found = misnamed(made(tmp_path, changes))
    assert any(said in complaint for complaint in found) if said else found == []


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ("mode, b_requires_grad=True", []),
        ("mode, x_tracked=True", []),
        ("mode", ["look has no control for requires_grad"]),
        ("a, requires_grad", ["look has no control for the grad mode"]),
    ],
)
def test_a_panel_without_a_switch_is_noticed(
    parameters: str, said: list[str], tmp_path: Path
) -> None:
    source = f"@gv.explore(a=[1, 2])\ndef look({parameters}):\n    pass"
    assert unswitched(made(tmp_path, {1: ("code", source, ["S06"])})) == said


def test_a_lost_panel_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(books, "notebooks", lambda: (made(tmp_path, {}),))
    assert panels() == {"07 look": ["S06"]}
    monkeypatch.setattr(
        books,
        "notebooks",
        lambda: (made(tmp_path, {1: ("code", "def look(a):\n    pass", ["S06"])}),),
    )
    assert panels() == {}
