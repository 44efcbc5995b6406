"""A page of the class: an exported panel, through whose chosen states Page Down walks, and whose
result is hidden until R."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gradviz.live.explore import Exploration, Run
from gradviz.notebook import cells
from gradviz.picture.page import policy_hash

from . import route
from .route import Screen, State, Stop

HERE = Path(__file__).parent
SCRIPT = (HERE / "deck.js").read_text(encoding="utf-8")
STYLE = (HERE / "deck.css").read_text(encoding="utf-8")
FIRST = "index.html"


def write(folder: Path, exported: Path, panel: Exploration, notebook: str) -> tuple[str, ...]:
    """Write the class's page of one panel, if it is on the route.

    Args:
        folder: of the class.
        exported: the panel's page in the site.
        panel: the same.
        notebook: whose it is.

    Returns:
        What came of each state: "a.grad 5".
    """
    places = [FIRST, *(route.place(n, screen) for n, _, screen in route.numbered()), FIRST]
    for number, stop, screen in route.numbered():
        if (screen.notebook, screen.scenario) != (notebook, exported.stem):
            continue
        folder.mkdir(parents=True, exist_ok=True)
        states = [{"address": address(panel, s), "ask": s.ask} for s in screen.states]
        book = {
            "states": states,
            "previous": places[number - 1],
            "next": places[number + 1],
            "wide": screen.is_wide,
        }
        page = decked(exported.read_text(encoding="utf-8"), stop, book)
        (folder / places[number]).write_text(page, encoding="utf-8")
        return tuple(answer(panel, screen, state) for state in screen.states)
    return ()


def address(panel: Exploration, state: State) -> str:
    """Return the address of a state in a panel's page.

    Raises:
        ValueError: the panel has no such control or label.
    """
    chosen = {c["name"]: c["options"][c["start"]] for c in panel.controls}
    options = {c["name"]: c["options"] for c in panel.controls}
    for name, label in state.settings.items():
        if label not in options.get(name, ()):
            raise ValueError(
                f"the route wants {name} = {label!r}, but the panel has {options}: change route.py"
            )
    chosen |= state.settings
    return "#" + "&".join(
        f"{quote(name, safe='')}={quote(label, safe='')}" for name, label in chosen.items()
    )


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
