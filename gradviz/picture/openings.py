"""The states of a page on which a reader opens the cards of an outline: no kernel makes them
there, so they are made before.

NOTE [how many]: one way is open at a time, and the states are those that clicks lead to, the
nearest first and red cards before others, until there are ``STATES`` of them or ``LETTERS`` of
JSON. Deflated that is about a tenth: under half a megabyte. What lies beyond says so on the page.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from typing import Any

from gradviz.picture.explaining import Listing
from gradviz.picture.render import CannotDraw
from gradviz.picture.state import Drawn, state
from gradviz.words.progress import Progress
from gradviz.words.speech import say

STATES = 40
LETTERS = 4_000_000
FEW = 20  # red cards that are opened together


def opened_states(figure: Drawn) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Return the states of a page, the figure's own first, and which of them a module opens.

    Args:
        figure: what the page shows at first.

    Returns:
        The states, and the place of each by the names of the modules that are open in it, one a
        line; "" is the place of the one in which nothing is.

    Example:
        >>> from gradviz.graph.records import Graph
        >>> from gradviz.picture.figure import Figure
        >>> shown, places = opened_states(Figure(Graph()))
        >>> len(shown), places
        (1, {})
    """
    first = state(figure)
    if first["outline"] is None:
        return [first], {}
    states, places = [{**first, "afresh": True}], {key_of(first): 0}
    letters = len(json.dumps(first))
    closed = first
    if first["outline"]["opened"]:
        closed = opened_state(figure.opening(()), first)
        places[""] = len(states)
        states.append(closed)
    todo = deque(_asked(closed))
    seen = {*map(tuple, todo)}
    with Progress(lambda done: say("progress.openings", done=done)) as progress:
        while todo and len(states) < STATES and letters < LETTERS:
            try:
                shown = opened_state(figure.opening(todo.popleft()), first)
            except CannotDraw:
                continue
            progress.step()
            if key_of(shown) not in places:
                places[key_of(shown)] = len(states)
                states.append(shown)
                letters += len(json.dumps(shown))
            for paths in _asked(shown):
                if len(paths) == 1 and tuple(paths) not in seen:
                    seen.add(tuple(paths))
                    todo.append(paths)
    return states, places


def opened_state(
    figure: Drawn, like: Mapping[str, Any], listing: Listing | None = None
) -> dict[str, Any]:
    """Return the state of a figure in which a reader opened something; what is said around the
    picture stays.

    Args:
        figure: as ``Figure.opening`` made it.
        like: the state that she saw before.
        listing: the code that stands beside it.
    """
    shown = state(
        figure,
        error=like["error"],
        printed=like["printed"],
        lines=like["lines"],
        listing=listing,
        sentence=like["sentence"],
        words=False,
    )
    return {**shown, "afresh": True}


def key_of(shown: dict[str, Any]) -> str:
    """Return the names of the modules that are open in a state, one a line."""
    return "\n".join(shown["outline"]["opened"])


def _asked(shown: dict[str, Any]) -> list[list[str]]:
    """List what a reader may open in a state: everything red, then card by card, red ones first."""
    red = shown["outline"]["red"]
    every = dict.fromkeys([*red, *(card["opens"] for card in shown["cards"].values())])
    together = [red] if 1 < len(red) <= FEW and not shown["outline"]["opened"] else []
    return [*together, *([path] for path in every if path)]
