"""The states that the panels of the notebooks can show, compared with runs of their scenarios
without a recorder: a sample of each panel of some notebooks, or every one (``sampling.py``).

``witness`` runs the notebooks, each in a process of its own, and puts every panel through the
combinations of its controls. Nothing is listed here: panels are found by running the notebooks.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import sampling
from kept import Kept
from witness import results

from course import books

BOOKS = sampling.sampled(books.notebooks(), 8)
NAMES = [book.name for book in BOOKS]
# of all notebooks; there were 80 and 4,534 when this was written: fewer would mean that some were not found
PANELS, STATES = 76, 4400
SAMPLE = 4  # states of each panel, besides its first
# of all states
COUNTED = {
    "values": 11000,
    "facts": 70000,
    "names": 8900,
    "gradients on arrows": 3200,
    "arrows": 10000,
    "cuts": 1000,
    "gradients of leaves": 3900,
    "pairs of tensors": 18000,
    "members of a region": 1000,
    "errors": 1300,
    "claims of sentences": 5000,
    "rows of the table": 11000,
    "parameters of outlines": 600,
}
EVERYWHERE = {"values", "facts", "names", "arrows", "claims of sentences", "rows of the table"}


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What was compared in every notebook."""
    every = sampling.Asked.everything
    sample = () if every else (f"--states={SAMPLE}", f"--seed={sampling.Asked.seed}")
    return results("witness", *NAMES, *sample)


@pytest.mark.parametrize("name", NAMES)
def test_every_state_is_what_torch_says(found: dict[str, Any], name: str) -> None:
    result = found[name]
    assert "states" in result, f"the process of this notebook ended with {result}"
    assert all(result["states"].values())
    said = result["complaints"]
    assert not said, f"{len(said)} complaints, the first ones:\n" + "\n".join(said[:20])


@pytest.mark.parametrize("name", NAMES)
def test_the_first_state_of_every_panel_is_told_as_it_was(
    found: dict[str, Any], name: str, kept: Kept
) -> None:
    result = found[name]
    assert "words" in result, f"the process of this notebook ended with {result}"
    for panel, words in result["words"].items():
        kept.check("panels_and_players", f"{name}: {panel}", words)


def test_as_many_panels_states_and_numbers_were_compared_as_there_are(
    found: dict[str, Any],
) -> None:
    states = [count for result in found.values() for count in result["states"].values()]
    every = [count for result in found.values() for count in result["all"].values()]
    counted = sum((Counter(result["counted"]) for result in found.values()), Counter[str]())
    explorations = sum(cell.source.count("@gv.explore(") for book in BOOKS for cell in book.code)
    assert len(states) == explorations
    if sampling.Asked.everything:
        assert len(states) >= PANELS
        assert sum(every) >= STATES
    wanted = every if sampling.Asked.everything else [min(n, SAMPLE + 1) for n in every]
    assert states == wanted
    # of a sample its share, and that of what all notebooks have; the rest may come to nothing in some
    whole = sampling.Asked.everything
    share = 1 if whole else 0.5 * sum(states) / STATES
    least = {what: count * share for what, count in COUNTED.items() if whole or what in EVERYWHERE}
    few = {what: counted[what] for what in least if counted[what] < least[what]}
    assert few == {}
