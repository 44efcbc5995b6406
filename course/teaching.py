"""class/: a route of 90 minutes through the live pages, for a teacher with a projector."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .pages import Page, document


class Stop(NamedTuple):
    """One part of the route: how long, which scenario of which notebook is on the screen, and what
    to do with it."""

    minutes: int
    title: str
    notebook: str
    scenario: str
    steps: tuple[str, ...]


ROUTE = (
    Stop(
        15,
        "Tour: copy or cut?",
        "00_copy_or_cut",
        "scenario",
        (
            (
                "Hand out the blank sheet. Show the program with clone. Read one card and one thick"
                " arrow together."
            ),
            (
                "For detach, .data and copy_: everybody draws on the sheet first, then you switch"
                " the control."
            ),
            (
                "Ask the same two questions each time. Does b share the memory of a? Does the"
                " gradient flow back from b to a?"
            ),
        ),
    ),
    Stop(
        12,
        "Screen 1: who is tracked?",
        "01_who_gets_tracked",
        "predict",
        (
            "Tick x only. Hands up before each operation: does y require grad, and is it a leaf?",
            (
                "Choose no_grad and ask what is missing now. The values are there; the way back is"
                " not."
            ),
        ),
    ),
    Stop(
        12,
        "Screen 2: where is a gradient stored?",
        "02_inside_the_graph",
        "add_up",
        (
            (
                "Let everybody write down the .grad for two backward calls, with and without"
                " clearing in between."
            ),
            (
                "Run it. Which sum is made within one backward call, and which one does"
                " AccumulateGrad make across calls?"
            ),
        ),
    ),
    Stop(
        12,
        "Screen 3: place the cut",
        "04_detach",
        "place_the_cut",
        (
            (
                "Four placements of one detach(). In pairs: sort the four results before you show"
                " the first picture."
            ),
            (
                "Follow the thick arrows from the loss backwards. Say aloud where each one ends,"
                " and why."
            ),
        ),
    ),
    Stop(
        12,
        "Screen 4: freeze a layer",
        "08_training_step",
        "layers",
        (
            (
                "Freeze the second layer. Does the first one still get its gradient? Vote, then"
                " switch."
            ),
            (
                "Compare with no_grad around the first layer. The gradient passes a frozen layer;"
                " it does not pass a cut."
            ),
        ),
    ),
    Stop(
        15,
        "Clinic",
        "11_error_clinic",
        "clinic",
        (
            (
                "Groups of three take one patient each: code and picture are there, the line and"
                " the reason are wanted."
            ),
            "Each group shows its patient, says the diagnosis, and switches to the remedy.",
        ),
    ),
    Stop(
        12,
        "Closing: the table",
        "",
        "",
        (
            "Everybody fills in the table on the sheet alone, then compares with a neighbour.",
            (
                "Show the key. Which two boxes are empty, and which call would belong there?"
                " (view(1) and detach().clone().)"
            ),
        ),
    ),
)


def write(folder: Path, made: Mapping[str, Sequence[Page]]) -> None:
    """Write ``index.html`` of the class."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_text(
        document("A class of 90 minutes", body(made)), encoding="utf-8"
    )


def body(made: Mapping[str, Sequence[Page]]) -> str:
    """The route, with links to the pages that are projected."""
    parts, start = [], 0
    for stop in ROUTE:
        steps = "".join(f"<li>{html.escape(step)}</li>" for step in stop.steps)
        parts.append(
            f"<section><h2>{start}–{start + stop.minutes} min: {html.escape(stop.title)}</h2>\n"
            f"{link(stop, made)}<ol>{steps}</ol></section>"
        )
        start += stop.minutes
    return (
        f"<h1>Copy or cut? A class of {start} minutes</h1>\n<p>You need a projector and paper."
        ' Print the two handouts (A4): <a href="handout.html">blank</a>, one for everybody, and <a'
        ' href="handout_key.html">key</a>. The links below open enlarged for a projector. Page'
        " Down and Page Up step through the states, so a presenter works. In the notebooks,"
        " <code>lesson.present()</code> puts letters A to D beside the answers, and R"
        " reveals.</p>\n" + "\n".join(parts)
    )


def link(stop: Stop, made: Mapping[str, Sequence[Page]]) -> str:
    """Where the screen is, or "" for a part without one.

    Raises:
        ValueError: the notebook no longer has the scenario.
    """
    if not stop.notebook:
        return ""
    page = next((page for page in made[stop.notebook] if page.scenario == stop.scenario), None)
    if page is None:
        raise ValueError(
            f"notebook {stop.notebook} has no scenario {stop.scenario!r}: name another one in ROUTE"
        )
    return (
        f'<p><a href="../{page.place}?present">{html.escape(page.title)}</a> (notebook'
        f" {stop.notebook[:2]})</p>\n"
    )
