"""A recording as a book: one precomputed state a step, for the player and the exported page."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Sequence
from typing import Any

from gradviz.graph.records import GradvizError
from gradviz.live.steps import LIMIT, Step, steps
from gradviz.names.position import display_name
from gradviz.picture.explaining import Listing
from gradviz.picture.state import state
from gradviz.picture.table import Keys
from gradviz.recording import Recording
from gradviz.words import given
from gradviz.words.speech import say

# lines of a cell that is listed whole; of a longer one, and of a file, those that were recorded
LISTED = 60


def book(recording: Recording, *, title: str | None = None, start: int = 0) -> dict[str, Any]:
    """All steps of a recording as precomputed states, with one control that steps through them.

    Args:
        recording: a finished recording.
        title: a heading.
        start: as for ``play``.
    """
    return book_of(recording, steps_of(recording, start), title)


def steps_of(recording: Recording, start: int) -> list[Step]:
    """The steps of what has to be a recording."""
    if not isinstance(recording, Recording):
        raise GradvizError(
            f"play() shows a recording, not {given.said(recording)}: with gradviz.record() as rec:"
            " …; then play(rec)"
        )
    return steps(recording, start)


def book_of(recording: Recording, shown: Sequence[Step], title: str | None) -> dict[str, Any]:
    """The book of some steps of a recording."""
    listing = _listing(recording)
    code = {} if listing is None else {"text": listing.text, "first": listing.first}
    control = {
        "name": "step",
        "label": say("panel.step"),
        "kind": "steps",
        "options": [str(s.number) for s in shown],
        "start": 0,
    }
    states = [_state(step, listing) for step in shown]
    for part in ("cards", "arrows"):
        _keep_keys([state[part] for state in states])
    return {
        "title": _title(title or say("panel.recording"), shown, len(recording.events)),
        "code": code,
        "controls": [control],
        "states": states,
    }


def _title(title: str, shown: Sequence[Step], total: int) -> str:
    """Return the heading of some steps: how many events there are, and how to see the others."""
    start, last = shown[0].number, shown[-1].number
    if last - start >= total:
        return say("panel.title", title=title, n=total)
    events = {"first": f"{start + 1:,}", "last": f"{last:,}", "total": f"{total:,}"}
    n = min(LIMIT, last - start)
    if last < total:
        return say("panel.title_first_part", title=title, **events, start=last, n=n)
    return say("panel.title_last_part", title=title, **events, n=n)


def _keep_keys(states: list[dict[str, Any]]) -> None:
    """Key by key as in the last state that has the card: among more cards of one name, it was "#2"
    there."""
    keys: dict[str, str] = {}
    unique = Keys()
    for things in reversed(states):
        for i, thing in things.items():
            keys[i] = thing["key"] = keys[i] if i in keys else unique(thing["key"])


def _state(step: Step, listing: Listing | None) -> dict[str, Any]:
    """The step as a front end draws it, with the ids that its picture has."""
    lines = [s.line for s in step.sources if listing and s.file == listing.file]
    shown = state(
        step.figure, error=step.error, lines=lines, listing=listing, sentence=step.sentence
    )
    ids = step.ids or {i: i for i in (*shown["cards"], *shown["arrows"])}

    def card(one: dict[str, Any]) -> dict[str, Any]:
        return {**one, **{key: [ids[i] for i in one[key]] for key in ("lit", "memory")}}

    shown |= {
        "cards": {ids[i]: card(one) for i, one in shown["cards"].items()},
        "arrows": {ids[i]: one for i, one in shown["arrows"].items()},
        "table": [{**row, "card": ids.get(row["card"], "")} for row in shown["table"]],
        "active": list(step.active),
    }
    if "svg" in step.figure.__dict__:  # also where there is nothing to see yet
        shown |= {"svg": step.figure.svg, "problem": ""}
    return shown | ({"problem": step.problem} if step.problem else {})


def _listing(recording: Recording) -> Listing | None:
    """The code of the recorded block, where its cell or file can still be read. Of a file no more
    than that: what stands around it may be nobody's business.
    """
    home = recording._recorder.home
    path = home.co_filename if home else ""
    file, lines = display_name(path), linecache.getlines(path)
    used = sorted(
        {c.source.line for c in recording.graph.calls if c.source and c.source.file == file}
    )
    if not used or used[-1] > len(lines):
        return None
    whole = len(lines) <= LISTED and (file == "cell" or file.startswith("cell ["))
    first, last = (1, len(lines)) if whole else (used[0], min(used[-1], used[0] + 3 * LISTED))
    return Listing(file, first, textwrap.dedent("".join(lines[first - 1 : last])).rstrip())
