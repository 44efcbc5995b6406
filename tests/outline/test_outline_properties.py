"""Outlines of random trees of modules and of all small models: they hold together, and what they
say is what torch says. What each property is stands in ``outline_oracle``."""

from __future__ import annotations

import random

import outline_oracle as oracle
import pytest
import torch
from drawn import Drawn, drawn
from model_scripts import Namespace, model_names, read
from random_modules import RandomModules, make
from sampling import sampled

MODELS = model_names()
SEEDS = sorted(random.Random(12).sample(range(1000), 24))
TRIED = sampled(SEEDS, 8)
ALL = [*sampled(MODELS, 12), *TRIED]


class Made:
    """One script, drawn, and the same script run without gradviz."""

    def __init__(self, which: str | int) -> None:
        self.tree: RandomModules | None = make(which) if isinstance(which, int) else None
        source = self.tree.source if self.tree else read(str(which))
        filename = self.tree.filename if self.tree else f"{which}.py"
        self.drawn: Drawn = drawn(source, filename)
        self.bare: Namespace
        self.kept: dict[tuple[str, int], torch.Tensor]
        self.bare, self.kept = oracle.bare_run(source, filename)


@pytest.fixture(params=ALL, ids=str, scope="module")
def made(request: pytest.FixtureRequest) -> Made:
    return Made(request.param)


@pytest.mark.parametrize("check", oracle.OF_PICTURES, ids=lambda check: check.__name__)
def test_it_holds_together(made: Made, check: oracle.Check) -> None:
    assert check(made.drawn) == []


@pytest.mark.parametrize("check", oracle.OF_COUNTS, ids=lambda check: check.__name__)
def test_its_counts_are_torchs(made: Made, check: oracle.CountCheck) -> None:
    assert check(made.drawn, made.bare) == []


def test_its_norms_are_torchs(made: Made) -> None:
    on_arrows, _ = oracle.norms_on_arrows(made.drawn, made.kept)
    of_parameters, _ = oracle.norms_of_parameters(made.drawn, made.bare)
    assert on_arrows + of_parameters == []


@pytest.mark.parametrize("made", TRIED, ids=str, indirect=True)
def test_every_cut_that_costs_a_gradient_is_told(made: Made) -> None:
    assert made.tree is not None
    assert oracle.costly_cuts_are_told(made.drawn, made.tree, made.bare) == []


def test_enough_numbers_are_compared() -> None:
    """The checks of norms leave out what is shared; not so much that they say nothing."""
    arrows = numbers = 0
    for which in SEEDS[:8]:
        made = Made(which)
        arrows += oracle.norms_on_arrows(made.drawn, made.kept)[1]
        numbers += oracle.norms_of_parameters(made.drawn, made.bare)[1]
    assert arrows >= 16
    assert numbers >= 16


def test_the_checks_find_what_is_wrong() -> None:
    """A picture of another script is wrong in every way that can be told from torch."""
    one, other = Made("vae"), Made("unet")
    assert oracle.headline_counts_are_torchs(one.drawn, other.bare)
    assert oracle.cards_counts_add_up(one.drawn, other.bare)
    assert oracle.counts_in_rows_add_up(one.drawn, other.bare)
    again = Made("unet")
    for tensor in again.kept.values():
        if tensor.grad is not None:
            tensor.grad *= 1.01
    assert oracle.norms_on_arrows(again.drawn, again.kept)[0]
    for parameter in again.bare["model"].parameters():
        parameter.grad *= 1.01
    assert oracle.norms_of_parameters(again.drawn, again.bare)[0]
