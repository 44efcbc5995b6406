"""Whole programs, written as people write them: what is drawn of a rollout, of the tasks of
meta-learning, of averages of weights, of losses side by side."""

from __future__ import annotations

from functools import cache

import outline_oracle as oracle
import pytest
from drawn import Drawn, drawn
from model_scripts import PROGRAMS, Namespace, read
from svg_text import Picture

WIDTH, HEIGHT = 645, 950  # points: a page of 860×1270 CSS pixels
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.py"))


@cache
def made(name: str) -> tuple[Drawn, Namespace]:
    bare, _ = oracle.bare_run(read(name), f"{name}.py")
    return drawn(read(name), f"{name}.py"), bare


def headline(name: str) -> str:
    return Picture(made(name)[0].svg).headline.text


def titles(name: str) -> list[str]:
    return [card.rows[0].left[0].text for card in made(name)[0].fitted.outline.cards]


def rows(name: str) -> str:
    return "\n".join(line for card in Picture(made(name)[0].svg).cards for line in card.lines)


@pytest.mark.parametrize("name", NAMES)
def test_it_fits_a_page(name: str) -> None:
    fitted = made(name)[0].fitted
    assert fitted.width <= WIDTH
    assert fitted.height <= HEIGHT


@pytest.mark.parametrize("check", oracle.OF_PICTURES, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_it_holds_together(name: str, check: oracle.Check) -> None:
    assert check(made(name)[0]) == []


@pytest.mark.parametrize("name", NAMES)
def test_its_counts_are_torchs(name: str) -> None:
    assert oracle.headline_counts_are_torchs(*made(name)) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_line_is_an_arrow(name: str) -> None:
    """What only keeps cards in their order is not seen, inside of a frame either."""
    assert 'class="edge"' not in made(name)[0].svg


@pytest.mark.parametrize(
    ("name", "n"), [("agent_ppo", 16), ("dqn", 23), ("meta_learning", 4), ("moco", 4)]
)
def test_its_iterations_are_alike(name: str, n: int) -> None:
    assert f"{n} iterations of a loop, all alike: the last is drawn" in headline(name)


def test_a_rollout_is_one_card_and_the_model_has_the_name_of_its_variable() -> None:
    assert "agent 8 of 8 ✓" in headline("agent_ppo")
    assert titles("agent_ppo") == ["o", "body, actor, critic", "body", "actor, critic", "loss"]
    assert "loop, ×20" in rows("agent_ppo")


def test_a_model_that_functional_call_runs_has_the_name_of_its_variable() -> None:
    assert "net 6 of 6 ✓" in headline("meta_learning")
    assert "(total / 4).backward()" in headline("meta_learning")


def test_an_average_of_weights_is_noise_where_nothing_drawn_is_moved() -> None:
    assert not any("lerp_" in title for title in titles("diffusion_ema"))
    assert sum("add_" in title for title in titles("byol")) == 1


def test_cards_of_one_model_that_is_called_again_have_its_name_once() -> None:
    found = titles("cyclegan")
    assert {"D_A", "D_B"} <= {*found}
    assert not any(title.strip(" ,–") == "" for title in found)
    assert "G_BA, G_AB" in rows("cyclegan")


def test_zeros_from_one_call_of_several_are_no_alarm() -> None:
    """The penalty sends zeros to the last bias, and the other terms of the loss something else."""
    assert "zeros" not in rows("wgan_gp")
    assert all(p.grad.any() for p in made("wgan_gp")[1]["D"].parameters())
