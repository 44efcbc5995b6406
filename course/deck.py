"""A page of the class: an exported panel, through whose chosen states Page Down walks, and whose
result is hidden until R."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gradviz.live.explore import Exploration
from gradviz.live.run import Run
from gradviz.notebook import cells
from gradviz.picture import render
from gradviz.picture.page import page, policy_hash
from gradviz.picture.together import LEGIBLE, Together

from . import route
from .route import Screen, State, Stop

HERE = Path(__file__).parent
SCRIPT = (HERE / "deck.js").read_text(encoding="utf-8")
STYLE = (HERE / "deck.css").read_text(encoding="utf-8")
FIRST = "index.html"
ROOMS = {False: (746, 704), True: (1246, 360)}
"""CSS pixels of the picture, beside the code and below it: as in deck.css on 1280 by 720."""
MARGINS = 8  # CSS pixels of these at both sides of a picture
WIDTHS = (1, 0.75, 0.55)  # parts of that width, in which a picture is laid out to compare


def write(folder: Path, panel: Exploration, notebook: str) -> tuple[str, ...]:
    """Write the class's page of one panel, if it is on the route.

    Args:
        folder: of the class.
        panel: a panel.
        notebook: whose it is.

    Returns:
        What came of each state: "a.grad 5".
    """
    name = panel.__name__  # type: ignore[attr-defined]
    places = [FIRST, *(route.place(n, screen) for n, _, screen in route.numbered()), FIRST]
    for number, stop, screen in route.numbered():
        if (screen.notebook, screen.scenario) != (notebook, name):
            continue
        folder.mkdir(parents=True, exist_ok=True)
        states = [{"address": address(panel, s), "ask": s.ask} for s in screen.states]
        book = {
            "states": states,
            "previous": places[number - 1],
            "next": places[number + 1],
            "wide": screen.is_wide,
        }
        shown = page(drawn_for_the_screen(panel, screen)).decode()
        (folder / places[number]).write_text(decked(shown, stop, book), encoding="utf-8")
        return tuple(answer(panel, screen, state) for state in screen.states)
    return ()


def address(panel: Exploration, state: State) -> str:
    """Return the address of a state in a panel's page.

    Raises:
        ValueError: the panel has no such control or label.
    """
    return "#" + "&".join(
        f"{quote(name, safe='')}={quote(label, safe='')}"
        for name, label in _chosen(panel, state).items()
    )


def _chosen(panel: Exploration, state: State) -> dict[str, str]:
    """Return the label of every control in a state, or raise as ``address`` does."""
    chosen = {c["name"]: c["options"][c["start"]] for c in panel.controls}
    options = {c["name"]: c["options"] for c in panel.controls}
    for name, label in state.settings.items():
        if label not in options.get(name, ()):
            raise ValueError(
                f"the route wants {name} = {label!r}, but the panel has {options}: change route.py"
            )
    return {**chosen, **state.settings}


def drawn_for_the_screen(panel: Exploration, screen: Screen) -> dict[str, Any]:
    """Return the book of a panel in which the pictures of the route fit the screen. What is asked is
    the route's question, and not the panel's."""
    book, pictures = panel.book(), fitting(panel, screen)
    book["code"] = {name: value for name, value in book["code"].items() if name != "task"}
    for state, svg in zip(screen.states, pictures, strict=True):
        place = 0
        for control, label in zip(book["controls"], _chosen(panel, state).values(), strict=True):
            place = place * len(control["options"]) + control["options"].index(label)
        book["states"][place]["svg"] = svg
    return book


def fitting(panel: Exploration, screen: Screen) -> list[str]:
    """Draw the states of the route so that each is seen whole: if it can be, all cards stand in the
    same places in all of them, as a panel has it, else each picture is laid out alone.

    Raises:
        ValueError: one of them is too large even so.
    """
    room = ROOMS[screen.is_wide]
    runs = [panel.run(**state.settings) for state in screen.states]
    for groups in ([runs], [[run] for run in runs]):
        pictures = [svg for group in groups for svg in _largest(group, room)]
        if min(_scale(svg, room) for svg in pictures) >= LEGIBLE:
            return pictures
    raise ValueError(
        f"a picture of {screen.scenario!r} is too large for the screen of a class:"
        f" {[render.size(svg) for svg in pictures]} CSS pixels, of which {LEGIBLE:.0%} have to fit"
        f" {room}; choose other states"
    )


def _largest(runs: Sequence[Run], room: tuple[int, int]) -> list[str]:
    """Draw runs over each other: of several arrangements in the one that is seen the largest."""
    together = Together(most=None)
    for run in runs:
        together.add(run.settings, run.figure.scene)
    drawn = []
    for part in WIDTHS:
        together.fit([int(room[0] * part)])
        drawn.append([together.svg(run.figure.scene) for run in runs])
    return max(drawn, key=lambda svgs: min(_scale(svg, room) for svg in svgs))


def _scale(svg: str, room: tuple[int, int]) -> float:
    """Return how large a picture is in a room that shows all of it, 1 for its own size."""
    return min((r - MARGINS) / size for r, size in zip(room, render.size(svg), strict=True))


def answer(panel: Exploration, screen: Screen, state: State) -> str:
    """Return what came of a state: "a.grad 5, memory of a and b: shared"."""
    run = panel.run(**state.settings)
    found = ((name, told(run, name)) for name in screen.tells)
    return ", ".join(f"{name} {value}" if value else name for name, value in found)


def told(run: Run, name: str) -> str:
    """Return what a run says of this; of "memory" whether a and b share it.

    Raises:
        ValueError: it has no such tensor or column.
    """
    if name == "error":
        return run.error or "none"
    if name == "memory":
        blocks = {tensor.name: tensor.storage_id for tensor in run.graph.tensors}
        return "shared" if blocks["a"] == blocks["b"] else "own"
    found = cells.answer(run, name)
    if found is None:
        raise ValueError(f"the route asks for {name!r}, and the run has {sorted(run.tensors)}")
    return found or "None"


def decked(page: str, stop: Stop, book: dict[str, Any]) -> str:
    """Put the walk into an exported page, whose policy then allows for it."""
    head = f"<style>{STYLE}</style>\n</head>"
    bar = (
        f'<header id="deck"><h1>{html.escape(stop.title)}</h1> <span id="deck-at"></span>'
        '<span id="deck-keys">R: result · Page Down: next · <a href="index.html">Class</a></span>'
        f'<p id="deck-ask"></p></header>\n<script>{SCRIPT}</script>'
    )
    data = json.dumps(book).replace("<", "\\u003c")
    carried = f'<script id="deck-data" type="application/json">{data}</script>'
    for place, new in (
        ("script-src ", f"script-src {policy_hash(SCRIPT)} "),
        ("style-src ", f"style-src {policy_hash(STYLE)} "),
        ("</head>", head),
        ("<body>", f"<body>\n{carried}\n{bar}"),
    ):
        page = _with(page, place, new)
    return page


def _with(page: str, place: str, new: str) -> str:
    """Return a page with something else in a place that it has.

    Raises:
        ValueError: it has no such place.
    """
    if place not in page:
        raise ValueError(
            f"an exported page has no {place!r} any more, where a class's page puts its own: change"
            " deck.py"
        )
    return page.replace(place, new, 1)
