"""A planted fault is found from the saved picture alone: its module, its line, its mechanism.

What "found" means stands at ``planted_seen.verdict``. Only texts and classes of the SVG are read.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from drawn import drawn
from model_scripts import Planted, model_names, read
from planted import OPEN, TWINS
from planted_blind2 import BLIND2
from planted_blind4 import BLIND4
from planted_seen import check, is_costly, is_shown_as_costly
from svg_text import Picture

# Of what the second blind set left unseen, one picture names its modules by the code alone that
# called them, ``student[:6]``: a slice is a module of its own.
BY_CODE = "copied_out-distillation"
SEEN = [*OPEN, *TWINS, *(fault for fault in BLIND2 if str(fault) != BY_CODE), *BLIND4]
each_fault = pytest.mark.parametrize("planted", SEEN, ids=str)
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


def test_a_slice_of_a_model_is_named_by_its_code(tmp_path: Path) -> None:
    (planted,) = (fault for fault in BLIND2 if str(fault) == BY_CODE)
    seen, _ = check(planted, tmp_path)
    assert (seen.line, seen.mechanism) == (True, True)
    lines = Picture((tmp_path / f"{planted}.svg").read_text("utf-8")).headline.lines
    assert any("detach" in line and line.endswith("after student[:6]") for line in lines)


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_script_shows_no_fault(name: str) -> None:
    picture = Picture(drawn(read(name), f"{name}.py").svg)
    assert is_shown_as_costly(picture) == []
    assert "✗" not in picture.headline.text
    assert "!" not in picture.headline.text


def test_a_frozen_batch_norm_that_moves_is_the_only_alarm() -> None:
    picture = Picture(drawn(read("resnet_frozen"), "resnet_frozen.py").svg)
    assert "frozen, yet train mode moved their running stats" in picture.headline.text
    assert {card.lines[0].split()[0].split(".")[0] for card in picture.of("alarm")} == {"layer3"}
