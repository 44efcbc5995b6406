"""A recording as a book: one precomputed state a step, for the player and the exported page."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Sequence
from typing import Any

from gradviz.graph.records import GradvizError
from gradviz.live.reading import Reading
from gradviz.live.steps import LIMIT, Step, in_width, steps
from gradviz.names.position import display_name
from gradviz.picture.explaining import Listing
from gradviz.picture.state import state
from gradviz.picture.table import Keys
from gradviz.picture.together import NARROW, is_narrower, is_too_wide
from gradviz.recording import Recording
from gradviz.words import given
from gradviz.words.progress import Progress
from gradviz.words.speech import say

# lines of a cell that is listed whole; of a longer one, and of a file, those that were recorded
LISTED = 60


def book(recording: Recording, *, title: str | None = None, start: int = 0) -> dict[str, Any]:
    """Return all steps of a recording as precomputed states, with one control that steps through
    them.

    Args:
        recording: a finished recording.
        title: a heading; by default it says that this is a recording.
        start: after how many events to begin, as for ``play``.

    Returns:
        Plain data for the player and the exported page: "title", "code", "controls", "states".

    Raises:
        GradvizError: it is not a recording, or it has no step ``start``.

    Example:
        >>> import torch, gradviz
        >>> with gradviz.record() as rec:
        ...     b = torch.ones(2, requires_grad=True).clone()
        >>> pages = book(rec)
        >>> [control["name"] for control in pages["controls"]]
        ['step']
        >>> len(pages["states"]) == len(rec.events) + 1
        True
    """
    shown = steps_of(recording, start)
    return with_narrow(book_of(recording, shown, title), shown, NARROW)


def steps_of(recording: Recording, start: int) -> list[Step]:
    """Return the steps of a recording from ``start`` on; refuse what is not a recording."""
    if not isinstance(recording, Recording):
        raise GradvizError(
            f"play() shows a recording, not {given.said(recording)}: with gradviz.record() as rec:"
            " …; then play(rec)"
        )
    return steps(recording, start)


def book_of(recording: Recording, shown: Sequence[Step], title: str | None) -> dict[str, Any]:
    """Return the book of some steps of a recording, as ``book`` does."""
    listing = _listing(recording)
    code = {} if listing is None else {"text": listing.text, "first": listing.first}
    control = {
        "name": "step",
        "label": say("panel.step"),
        "kind": "steps",
        "options": [str(s.number) for s in shown],
        "start": first_step(shown),
    }
    states, total = [], len(shown)
    with Progress(lambda done: say("progress.steps_drawn", done=done, total=total)) as progress:
        for step in shown:
            states.append(_state(step, listing))
            progress.step()
    for part in ("cards", "arrows"):
        _keep_keys([state[part] for state in states])
    return {
        "title": _title(title or say("panel.recording"), shown, len(recording.events)),
        "code": code,
        "controls": [control],
        "states": states,
    }


def with_narrow(book: dict[str, Any], steps: Sequence[Step], width: int) -> dict[str, Any]:
    """Return a book with a picture for a narrower place beside that of each of its steps, where
    that is another one.

    Args:
        book: as ``book_of`` made it of these steps.
        steps: what it shows.
        width: CSS pixels of the narrower pictures at most, if they can.
    """
    states = [{k: v for k, v in state.items() if k != "narrow"} for state in book["states"]]
    narrow = in_width(steps, width) if is_too_wide(states[-1]["svg"], width) else []
    if narrow and is_narrower(narrow[-1], states[-1]["svg"]):
        states = [{**one, "narrow": svg} for one, svg in zip(states, narrow, strict=True)]
    return {**book, "states": states}


def first_step(steps: Sequence[Step]) -> int:
    """Return the place of the step at which a player begins: the first one that shows something."""
    return min(1, len(steps) - 1)


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
    """Give each card or arrow the key that it has in the last state with it: among more cards of
    one name, it was "#2" there."""
    keys: dict[str, str] = {}
    unique = Keys()
    for things in reversed(states):
        for i, thing in things.items():
            keys[i] = thing["key"] = keys[i] if i in keys else unique(thing["key"])


def _state(step: Step, listing: Listing | None) -> dict[str, Any]:
    """Return the step as a front end draws it, with the ids that its picture has."""
    lines = [s.line for s in step.sources if listing and s.file == listing.file]
    shown = state(
        step.figure, error=step.error, lines=lines, listing=listing, sentence=step.sentence
    )
    ids = step.ids or {i: i for i in (*shown["cards"], *shown["arrows"])}

    def renumbered(card: dict[str, Any]) -> dict[str, Any]:
        return {**card, **{key: [ids[i] for i in card[key]] for key in ("lit", "memory")}}

    shown |= {
        "cards": {ids[i]: renumbered(card) for i, card in shown["cards"].items()},
        "arrows": {ids[i]: arrow for i, arrow in shown["arrows"].items()},
        "table": [{**row, "card": ids.get(row["card"], "")} for row in shown["table"]],
        "active": list(step.active),
    }
    if "svg" in step.figure.__dict__:  # also where there is nothing to see yet
        shown |= {"svg": step.figure.svg, "problem": ""}
    return shown | ({"problem": step.problem} if step.problem else {})


def _listing(recording: Recording) -> Listing | None:
    """Return the code of the recorded block, or None where its cell or file cannot be read any
    more: of a scenario its body with the choices filled in, of a file no more than was recorded,
    since what stands around it may be nobody's business.
    """
    reading: Reading | None = recording.reading
    if reading is not None:
        return reading.listing
    home = recording._recorder.home
    path = home.co_filename if home else ""
    file = display_name(path)
    lines = linecache.getlines(path)
    recorded_lines = sorted(
        {c.source.line for c in recording.graph.calls if c.source and c.source.file == file}
    )
    if not recorded_lines or recorded_lines[-1] > len(lines):
        return None
    if len(lines) <= LISTED and (file == "cell" or file.startswith("cell [")):
        first, last = 1, len(lines)
    else:
        first = recorded_lines[0]
        last = min(recorded_lines[-1], first + 3 * LISTED)
    return Listing(file, first, textwrap.dedent("".join(lines[first - 1 : last])).rstrip())
