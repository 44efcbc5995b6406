"""The five source notes, each in its own order: what it says, whether that holds, and where it is
walked through.

``python tests/ledger.py`` writes docs/notes.md from this. What a note says, the verdicts and the
sections come from the programs in tests/claims/ and from the tags of the notebooks; only the names
of the notes' parts stand here.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from claims import CLAIMS, Claim

from course import books

PAGE = Path(__file__).parents[1] / "docs" / "notes.md"
MAGIC = re.compile(r"(?m)^%.*$")  # lines of a cell that are IPython's
INTRODUCTION = """# Your note, your section

<!-- Written by tests/ledger.py. Change tests/by_note.py or the programs in tests/claims/, not this page. -->

The course grew out of five study notes about `detach()`, `clone()` and `.grad`. Here they stand one after the other,
each in its own order: what it says (in our words), whether that holds, and the section that walks you through it. The
verdicts are those of [the ledger](claims.md): a program tries each claim, and nobody types what comes out.

A scenario (S01 to S45) is a small program of a note. Its number stands at the end of the sections that run it, and
below each note with links to them, and with the controls of the panels there."""


class Part(NamedTuple):
    """A part of a note: its heading, and its claims from the first to the last one."""

    heading: str
    first: str
    last: str


class Note(NamedTuple):
    """One note.

    Attributes:
        number: as the claims name their source.
        about: what it is about, in a sentence.
        parts: in its order.
        scenarios: number -> what that program shows.
        lost: what the note points at and does not hold, and where the course has it; "" if nothing.
    """

    number: str
    about: str
    parts: tuple[Part, ...]
    scenarios: dict[str, str]
    lost: str = ""


NOTES = (
    Note(
        "000",
        "What `x.detach()` and `x.clone()` keep and drop, and what AccumulateGrad is for.",
        (
            Part("What detach() keeps", "C001", "C011"),
            Part("What detach() drops", "C012", "C020"),
            Part("What clone() copies", "C021", "C026"),
            Part("What clone() does not copy", "C027", "C030"),
            Part("AccumulateGrad", "C031", "C044"),
        ),
        {
            "S01": "what `detach()` keeps, and the flag that it drops",
            "S02": "a write through the detached tensor",
            "S03": "a product of the detached tensor is not recorded",
            "S04": "`.grad` of a tensor and of its detached twin",
            "S05": "`detach().clone()`, the independent copy",
            "S06": "flag, leaf and `grad_fn` of a clone",
            "S07": "a clone that goes to another device",
            "S08": "a clone does not take `.grad` along",
            "S09": "clones of sparse and of strided tensors",
            "S10": "where AccumulateGrad stands",
            "S11": "several paths into one leaf: who adds?",
            "S12": "AccumulateGrad is made when it is asked for",
        },
    ),
    Note(
        "001",
        "`clone()` beside `copy_()`, `detach()` beside `.data`, and how values get into a"
        " parameter.",
        (
            Part("clone()", "C045", "C053"),
            Part("copy_()", "C054", "C062"),
            Part("detach()", "C063", "C068"),
            Part(".data", "C069", "C073"),
            Part("New tensors from old ones", "C074", "C075"),
            Part("Changing values, and MoCo", "C076", "C082"),
        ),
        {
            "S13": "`clone()` as a function that returns its input",
            "S14": "`copy_()` into a fresh buffer",
            "S15": "what `copy_()` changes in its target",
            "S16": "`detach()`: the second backward finds no way",
            "S17": "`detach().requires_grad_()`: a second leaf over the same memory",
            "S18": "a saved value is overwritten through `.data` and through `detach()`",
            "S19": "both orders of `clone()` and `detach()`",
            "S20": "five ways to copy",
            "S21": "a write into a parameter",
            "S22": "one network's weights are copied into another",
            "S23": "a teacher that follows by a moving average",
        },
        "Its three figures are lost; they are drawn anew, live, in S13, S16 and S17. Two links lead"
        " nowhere: why `detach()` is the safer one is shown by S18, the five ways to copy by S20.",
    ),
    Note(
        "002",
        "How a tensor asks for a gradient, how gradients are computed and cleared, and `detach()`"
        " in short.",
        (
            Part("Asking for gradients", "C083", "C091"),
            Part("Computing and clearing them", "C092", "C101"),
            Part("clone() and detach()", "C102", "C109"),
        ),
        {
            "S24": "three ways to ask for gradients, and which dtypes may",
            "S25": "switching the flag off where it was never on",
            "S26": "freezing a part of a model",
            "S27": "`no_grad` around inputs that require grad",
            "S28": "`X * X`: the values and the gradient",
            "S29": "`backward()` on a tensor with several elements",
            "S30": "gradients add up; zeros and None",
            "S31": "does `requires_grad_(False)` empty `.grad`?",
            "S32": "`clone()` and `detach()`: object, memory, flag",
            "S33": "`detach_()`",
            "S34": "a `detach()` that is switched on and off during training",
        },
        "It links to a page about `detach_()` (S33) and to a notebook about switching `detach()` on"
        " and off (S34). Neither came with the note, so both are rebuilt.",
    ),
    Note(
        "003",
        "`clone()`, `detach()`, both together, `new_tensor()` and `copy_()`, each with a program of"
        " a few lines.",
        (
            Part("clone()", "C110", "C115"),
            Part("detach()", "C116", "C121"),
            Part("clone and detach", "C122", "C124"),
            Part("new_tensor()", "C125", "C129"),
            Part("copy_()", "C130", "C133"),
        ),
        {
            "S35": "two losses, one through a clone, and a new name for the source",
            "S36": "a clone is edited in place",
            "S37": "a detached scalar is made trainable",
            "S38": "a detached scalar is edited in place",
            "S39": "`torch.clone.detach` as one name",
            "S40": "`new_tensor`, `torch.tensor`, `as_tensor`, `clone`, `detach` side by side",
            "S41": "`copy_()` from a tensor that requires grad",
        },
    ),
    Note(
        "004",
        "What `detach()` is for, with a walk-through that calls it on `x` and one that does not.",
        (
            Part("What detach() returns", "C134", "C138"),
            Part("Training only the second network", "C139", "C140"),
            Part("The walk-through with detach()", "C141", "C149"),
            Part("The walk-through without it", "C150", "C150"),
        ),
        {
            "S42": "network B is trained on what A gives, without touching A",
            "S43": "the walk-through as it is written, and repaired",
            "S44": "the same without `detach()`",
            "S45": "`detach()` on one branch only",
        },
    ),
)
AGAINST = (
    ("A clone is a leaf; a clone is none.", ("C029",), ("C050", "C104")),
    ("The gradient of a clone stays with it; it goes to the source.", ("C029",), ("C046", "C113")),
    ("A leaf's `grad_fn` is AccumulateGrad; it is None.", ("C037",), ("C039",)),
    (
        "A detached tensor never has a gradient; it has one once it requires grad.",
        ("C135", "C136"),
        ("C067", "C118"),
    ),
    (
        "A copy by `clone()` and `detach()` follows its source; it does not.",
        ("C107",),
        ("C074", "C123"),
    ),
    ("`copy_()` refuses a target without the flag; it fills it.", ("C133",), ("C130",)),
    ("`requires_grad_(False)` leaves None; zeros and None are two things.", ("C099",), ("C101",)),
    ("`x.detach()` changes `x`; it leaves `x` alone.", ("C142",), ("C010",)),
)
"""What one place of the notes says against another: in words, the claims that do not hold, those that do."""


def section_link(book: books.Notebook, section: str) -> str:
    """A link to a section, as JupyterLab and GitHub name it: blanks become hyphens."""
    anchor = quote(books.plain(section).replace(" ", "-"), safe="-._~")
    shown = section if section.startswith(book.number) else f"{book.number} {section}"
    return f"[{shown}](../notebooks/{book.path.name}#{anchor})"


def sections_of(tag: str) -> list[str]:
    """Links to all sections whose cells carry this tag, each once, in the course's order."""
    return list(dict.fromkeys(section_link(book, cell.section) for book, cell in books.tagged(tag)))


def claim_row(claim: Claim) -> str:
    """One claim as a line of a table."""
    verdict = claim.verdict()
    remark = f" {claim.remark}" if claim.remark else ""
    where = "<br>".join(sections_of(claim.id)) or "[the ledger](claims.md) only"
    return f"| {claim.id} | {claim.words} | **{verdict}.**{remark} | {where} |"


def controls_in(cell: books.Cell) -> list[str]:
    """The controls of the panel in a cell, as its function names them; none where it has no panel."""
    if "@gv.explore" not in cell.source:
        return []
    statements = ast.parse(MAGIC.sub("", cell.source)).body
    panels = [one for one in statements if isinstance(one, ast.FunctionDef) and one.decorator_list]
    return [argument.arg for one in panels for argument in one.args.args]


def scenario_row(number: str, shows: str) -> str:
    """One scenario as a line of a table."""
    sections: dict[str, list[str]] = {}
    for book, cell in books.tagged(number):
        sections.setdefault(section_link(book, cell.section), []).extend(controls_in(cell))
    lines = [
        link + "".join(f" `{name}`" for name in dict.fromkeys(names))
        for link, names in sections.items()
    ]
    return f"| {number} | {shows} | {'<br>'.join(lines)} |"


def between(first: str, last: str) -> list[str]:
    """The numbers of all claims from the first to the last one."""
    return books.CLAIMS[books.CLAIMS.index(first) : books.CLAIMS.index(last) + 1]


def note_text(note: Note) -> str:
    """What the page says of one note."""
    texts = [f"## Note {note.number}", note.about]
    if note.lost:
        texts.append(note.lost)
    for part in note.parts:
        rows = [claim_row(CLAIMS[id]) for id in between(part.first, part.last)]
        head = [
            "| claim | the note says | does it hold? | walked through in |",
            "| --- | --- | --- | --- |",
        ]
        texts += [f"### {note.number}: {part.heading}", "\n".join([*head, *rows])]
    rows = [scenario_row(number, shows) for number, shows in note.scenarios.items()]
    head = [
        "| scenario | it shows | run in, and what can be switched there |",
        "| --- | --- | --- |",
    ]
    texts += [f"### {note.number}: its programs", "\n".join([*head, *rows])]
    return "\n\n".join(texts)


def against_text() -> str:
    """Where the notes contradict each other, and who is right."""
    head = ["| the two sides | does not hold | holds |", "| --- | --- | --- |"]
    rows = [
        f"| {words} | {', '.join(wrong)} | {', '.join(right)} |" for words, wrong, right in AGAINST
    ]
    intro = (
        f"In {len(AGAINST)} places one note, or one line of a note, says the opposite of another."
    )
    return "\n\n".join(
        ["## Where the notes contradict each other", intro, "\n".join([*head, *rows])]
    )


def page() -> str:
    """The whole page, from programs that run now."""
    return "\n\n".join([INTRODUCTION, *map(note_text, NOTES), against_text()]) + "\n"
