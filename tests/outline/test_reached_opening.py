"""Opening the cards of the outline of a graph that was not recorded."""

from __future__ import annotations

from functools import cache
from typing import Any

import model_scripts
import pytest
import torch
from test_unrecorded import (
    WITH_MODEL,
    check_every_lost_is_told,
    check_order,
    loss_and_model,
    without_backward,
)
from torch import nn

import gradviz as gv
from gradviz.picture.figure import Figure
from gradviz.picture.openings import opened_states
from gradviz.picture.outline.fit import WIDTH
from gradviz.picture.state import state

WAYS = 4  # that are tried in each model
# All that they have inside is shown, or was called in a loop.
NOTHING_INSIDE = {"attention", "distillation", "flow", "forty_cards", "gan", "maml", "rnn"}
TOYS = {"training_loop"}  # whose finished graph, of one round, is drawn node by node


@cache
def shown(name: str) -> Figure:
    names = model_scripts.run(without_backward(model_scripts.read(name)), f"{name}.py")
    loss, model = loss_and_model(names)
    return gv.show(loss, model=model, view="cards")


def openable(figure: Figure) -> list[str]:
    return [c["opens"] for c in state(figure)["cards"].values() if c["opens"]]


def cards_of(figure: Figure) -> list[frozenset[str]]:
    """The paths of the modules of each card in the graph."""
    assert figure.outlined is not None
    assert figure.outlined.finishing is not None
    return [frozenset(g.keys) for g in figure.outlined.finishing.unrecorded.groups.all]


def test_what_has_nothing_inside_that_is_not_shown_does_not_open() -> None:
    assert {
        name for name in WITH_MODEL if name not in TOYS and not openable(shown(name))
    } == NOTHING_INSIDE


@pytest.mark.parametrize("name", sorted({*WITH_MODEL} - NOTHING_INSIDE - TOYS))
def test_what_opens_shows_what_is_inside_and_the_others_stay(name: str) -> None:
    figure = shown(name)
    assert figure.outlined is not None
    before = cards_of(figure)
    for path in openable(figure)[:WAYS]:
        opened = figure.opening(path)
        now = cards_of(opened)
        assert opened.outlined is not None
        assert opened.outlined.finishing is not None
        assert figure.outlined.finishing is not None
        check_order(opened.outlined.finishing.unrecorded)
        check_every_lost_is_told(opened.outlined.finishing.unrecorded, opened.outlined.outline)
        inner = path.partition(".")[2]
        assert any(key.startswith(f"{inner}.") or key == inner for card in now for key in card)
        # nothing else: what holds neither the module nor what is around it has its card still
        others = [c for c in before if not any(f"{inner}.".startswith(f"{k}.") for k in c)]
        gone = [c for c in others if c not in now and not any(inner in k for k in c)]
        assert len(gone) <= 1, (path, gone)
        assert opened.outlined.fitted.width <= max(WIDTH, figure.outlined.fitted.width)
        assert opened.outlined.fitted.crossings <= figure.outlined.fitted.crossings
        outline = state(opened)["outline"]
        assert path in outline["opened"] or len(now) > len(before)
        assert {*outline["inside"]} == {*outline["opened"]}
        cards = state(opened)["cards"]
        assert all(card in cards for card, *_ in outline["names"].values() if card)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.ln = nn.LayerNorm(8)
        self.mlp = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.mlp(self.ln(x))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Linear(4, 8)
        self.h = nn.ModuleList(Block() for _ in range(6))
        self.end = nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.start(x)
        for block in self.h:
            x = block(x)
        return self.end(x)


def blocks() -> Figure:
    model = Model()
    return gv.show(model(torch.randn(5, 4)).sum(), model=model, view="cards")


def titles(figure: Figure) -> list[str]:
    assert figure.outlined is not None
    return [card.title for card in figure.outlined.outline.cards]


def test_a_module_called_in_a_loop_does_not_open() -> None:
    figure = shown("rnn")
    assert "RNN.cell" in state(figure)["outline"]["names"]
    assert openable(figure) == []


def test_a_range_opens_its_first_and_the_others_stay_together() -> None:
    figure = blocks()
    assert [t for t in titles(figure) if "h." in t] == ["h.{0..5}"]
    opened = figure.opening(openable(figure)[0])
    assert [t for t in titles(opened) if t in ("ln", "mlp") or "h." in t] == [
        "ln",
        "mlp",
        "h.{1..5}",
    ]


def test_opening_and_closing_gives_the_same_picture_again() -> None:
    figure = blocks()
    both = figure.opening(["h.1", "h.4"])
    assert state(both.opening(["h.4"]))["svg"] == state(figure.opening("h.4"))["svg"]
    assert both.opening(()).svg == figure.svg
    outline = state(both)["outline"]
    root = figure.graph.modules[0].name
    assert outline["opened"] == [f"{root}.h.1", f"{root}.h.4"]
    assert outline["crumbs"][0] == [[root, root], ["h.1", f"{root}.h.1"]]


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_depth_stays_when_something_is_opened(depth: int) -> None:
    model = Model()
    loss = model(torch.randn(5, 4)).sum()
    figure = gv.show(loss, model=model, view="cards", depth=depth)
    opened = figure.opening("h.3.mlp")
    assert any("mlp.0" in t or t == "0" for t in titles(opened)), titles(opened)


def test_a_search_names_what_must_be_opened() -> None:
    figure = blocks()
    root = figure.graph.modules[0].name
    names: dict[str, Any] = state(figure)["outline"]["names"]
    card, closed = names[f"{root}.h.3.mlp.0.weight"]
    assert closed == f"{root}.h.3.mlp"
    opened = state(figure.opening(closed))
    card, closed = opened["outline"]["names"][f"{root}.h.3.mlp.0.weight"]
    assert closed == ""
    assert "0" in opened["cards"][card]["key"]


def test_a_page_has_what_clicks_lead_to() -> None:
    states, places = opened_states(blocks())
    assert len(states) == len(places) > 2
    for key, place in places.items():
        assert states[place]["outline"]["opened"] == [*filter(None, key.split("\n"))]


def test_a_range_names_its_members() -> None:
    figure = blocks()
    root = figure.graph.modules[0].name
    (card,) = [c for c in state(figure)["cards"].values() if "members" in c]
    assert card["members"] == [f"{root}.h.{k}" for k in range(6)]
    assert "h.{0..2}" in titles(figure.opening(card["members"][3]))
