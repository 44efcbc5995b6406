"""Writes class/index.html: what a teacher reads before and during a class, the whole or a short
one."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import route
from .pages import Page, document
from .route import ROUTE, Screen, Stop

STYLE = """
.goal { font-weight: 600; }
.short { float: right; font-weight: 400; font-size: 14px; opacity: .8; }
table { border-collapse: collapse; font-size: 14px; }
td { padding: 2px 12px 2px 0; vertical-align: top; }
@media (max-width: 600px) { section td { overflow-wrap: anywhere; } }
@media print { section { break-inside: avoid; } body { font-size: 10pt; } a { color: inherit; } }
"""
INTRODUCTION = """
<h1>Copy or cut? A class of {minutes} minutes, or of {short}</h1>
<p>You need a projector and paper. Print the sheet (A4, both sides): <a href="handout.html">blank</a>, one for
everybody, and the <a href="handout_key.html">key</a>; for afterwards the <a href="homework.html">homework</a> and its
<a href="homework_solutions.html">solutions</a>.</p>
<p>Each screen fits 1280 × 720. <b>Page Down</b> and <b>Page Up</b> walk through what is listed here, across all
screens, so a presenter works. What comes of a state is hidden until <b>R</b> (or the presenter's button for a dark
screen); R hides it again. Everything can be clicked, too. In the notebooks, <code>lesson.present()</code> puts letters
A to D beside the answers of a question, and R reveals.</p>
<p><b>In {short} minutes:</b> {kept}. What is left out is homework, or the next class.</p>
"""


def write(folder: Path, made: Mapping[str, Sequence[Page]]) -> None:
    """Write ``index.html`` of the class."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_text(
        document(f"A class of {route.MINUTES} minutes", f"<main>\n{body(made)}\n</main>", STYLE),
        encoding="utf-8",
    )


def body(made: Mapping[str, Sequence[Page]]) -> str:
    """Return the route: goals, screens with what is asked and what comes of it, and likely errors."""
    kept = "; ".join(
        f"{html.escape(stop.title)} ({stop.short} min{stop.part and f', {stop.part}'})"
        for stop in ROUTE
        if stop.short
    )
    parts = [INTRODUCTION.format(minutes=route.MINUTES, short=route.SHORT, kept=kept)]
    start = start_short = 0
    for stop in ROUTE:
        parts.append(section(stop, start, start_short, made))
        start, start_short = start + stop.minutes, start_short + stop.short
    return "\n".join(parts)


def section(stop: Stop, start: int, start_short: int, made: Mapping[str, Sequence[Page]]) -> str:
    """Return what is said of a stop."""
    steps = "".join(f"<li>{html.escape(step)}</li>" for step in stop.steps)
    short = f"{start_short}–{start_short + stop.short}" if stop.short else "left out"
    errors = "".join(
        f"<tr><td>{html.escape(said)}</td><td>{html.escape(reply)}</td></tr>"
        for said, reply in stop.errors
    )
    screens = "".join(
        projected(number, screen, made) for number, of, screen in route.numbered() if of is stop
    )
    return (
        f"<section><h2>{start}–{start + stop.minutes} min: {html.escape(stop.title)}"
        f'<span class="short">in {route.SHORT}: {short}</span></h2>\n'
        f'<p class="goal">{html.escape(stop.goal)}</p><ol>{steps}</ol>{screens}'
        + (f"<p>Likely to be said, and what to say:</p><table>{errors}</table>" if errors else "")
        + "</section>"
    )


def projected(number: int, screen: Screen, made: Mapping[str, Sequence[Page]]) -> str:
    """Return a link to a screen, and what is asked on it with what comes of it.

    Raises:
        ValueError: the notebook no longer has the panel.
    """
    pages = made[screen.notebook]
    page = next((page for page in pages if page.scenario == screen.scenario), None)
    if page is None:
        raise ValueError(
            f"notebook {screen.notebook} has no scenario {screen.scenario!r}: name another one in"
            " ROUTE"
        )
    rows = "".join(
        f"<tr><td>{html.escape(state.ask)}</td><td><b>{html.escape(answer)}</b></td></tr>"
        for state, answer in zip(screen.states, page.answers, strict=True)
    )
    return (
        f'<p><a href="{route.place(number, screen)}?present">{html.escape(page.title)}</a> (notebook'
        f" {screen.notebook[:2]})</p>\n<table>{rows}</table>\n"
    )
