"""The filled code of the panels, run as it stands, does what its scenario does: in some notebooks, or
in every one (``sampling.py``)."""

from __future__ import annotations

from typing import Any

import pytest
from sampling import sampled
from witness import results

from course import books

EVERY = [book.name for book in books.notebooks()]
NAMES = sampled(EVERY, 5)
CHOICES, FILLED = 800, 0.95  # there were 816 when this was written, 777 of them filled in


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What was compared in each notebook."""
    return results("witness.filled_code", *NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_filled_code_does_what_the_scenario_does(found: dict[str, Any], name: str) -> None:
    said = {panel: one["differs"] for panel, one in found[name].items() if one["differs"]}
    assert not said


def test_nearly_every_choice_is_filled_in(found: dict[str, Any]) -> None:
    panels = [one for notebook in found.values() for one in notebook.values()]
    choices = sum(one["choices"] for one in panels)
    unfilled = sum(len(one["unfilled"]) for one in panels)
    assert choices >= (CHOICES if NAMES == EVERY else len(NAMES) * 10)
    assert 1 - unfilled / choices >= FILLED
