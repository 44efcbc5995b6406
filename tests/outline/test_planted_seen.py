"""A planted fault is found from the saved picture alone: its module, its line, its mechanism.

What "found" means stands at ``planted_seen.verdict``. Only texts and classes of the SVG are read.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from drawn import drawn
from model_scripts import Planted, model_names, read
from planted import OPEN
from planted_seen import check, is_costly, is_shown_as_costly
from svg_text import Picture

each_fault = pytest.mark.parametrize("planted", OPEN, ids=str)
# layer3 is frozen there, and its BatchNorms move; the gradient vanishes in its loop: pictures say so.
NOT_WELL = {"resnet_frozen", "rnn"}
HEALTHY = [name for name in model_names() if name not in NOT_WELL]


@each_fault
def test_module_line_and_mechanism_are_seen(planted: Planted, tmp_path: Path) -> None:
    seen, red = check(planted, tmp_path)
    assert seen.module
    assert seen.line or not planted.line_can_be_seen
    assert seen.mechanism
    assert seen.together
    assert bool(red) == is_costly(planted)


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_script_shows_no_fault(name: str) -> None:
    picture = Picture(drawn(read(name), f"{name}.py").svg)
    assert is_shown_as_costly(picture) == []
    assert "✗" not in picture.headline.text
    assert "!" not in picture.headline.text


def test_a_frozen_batch_norm_that_moves_is_the_only_alarm() -> None:
    picture = Picture(drawn(read("resnet_frozen"), "resnet_frozen.py").svg)
    assert "BatchNorms moved their running stats" in picture.headline.text
    assert {card.lines[0].split()[0].split(".")[0] for card in picture.of("alarm")} == {"layer3"}
