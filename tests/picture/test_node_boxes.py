"""Torch's nodes of a model: the nodes of a closed module are one box, those of an opened one are
drawn one by one."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import gradviz as gv
from gradviz.graph.facts import after_all
from gradviz.graph.records import Graph
from gradviz.picture.scene import Scene


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(4)
        self.up = nn.Linear(4, 8)
        self.down = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self, n: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(n))
        self.head = nn.Linear(4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def recorded(n: int) -> Graph:
    torch.manual_seed(0)  # else a block may get zeros alone, and is a box of its own
    model = Model(n)
    with gv.record() as rec:
        loss = model(torch.ones(2, 4)).square().mean()
        loss.backward()
    return rec.graph


def captured(n: int) -> Graph:
    torch.manual_seed(0)  # else a block may get zeros alone, and is a box of its own
    model = Model(n)
    return gv.show(model(torch.ones(2, 4)).square().mean(), model=model, view="nodes").graph


def is_without_circle(scene: Scene) -> bool:
    sources: dict[int, list[int | None]] = {}
    for arrow in scene.arrows:
        sources.setdefault(arrow.head, []).append(arrow.tail)
    place = {card: k for k, card in enumerate(after_all([c.id for c in scene.cards], sources))}
    return all(place[arrow.tail] < place[arrow.head] for arrow in scene.arrows)


def nodes_in(scene: Scene) -> list[int]:
    return sorted(i for card in scene.cards for i in card.all_node_ids)


@pytest.fixture(params=[recorded, captured], ids=["recorded", "captured"], scope="module")
def graph(request: pytest.FixtureRequest) -> Graph:
    graph: Graph = request.param(12)
    return graph


def test_every_node_stands_in_one_box(graph: Graph) -> None:
    every = nodes_in(gv.Figure(graph, view="nodes").whole)
    for asked in ({}, {"focus": "blocks.5"}, {"depth": 0}, {"depth": 2}, {"around": "head.weight"}):
        scene = gv.Figure(graph, view="nodes", **asked).scene  # type: ignore[arg-type]
        assert nodes_in(scene) == every
        assert is_without_circle(scene)


def test_the_nodes_of_closed_modules_are_one_box(graph: Graph) -> None:
    figure = gv.Figure(graph, view="nodes")
    titles = [card.title for card in figure.scene.cards]
    (box,) = (card for card in figure.scene.cards if card.title.startswith("blocks.{1..11}"))
    inside = [card for card in box.inside if card.node_ids]
    assert box.title == f"blocks.{{1..11}} ×11 Block · {len(inside)} nodes"
    assert "AccumulateGrad × 66" in {row.text for row in box.rows}
    assert any(title.startswith("head Linear · ") for title in titles)
    assert "MeanBackward0" in titles, "what belongs to no module is drawn node by node"
    assert figure.svg


def test_an_opened_module_shows_its_nodes(graph: Graph) -> None:
    scene = gv.Figure(graph, view="nodes", focus="blocks.5").scene
    alone = [card.title for card in scene.cards if not card.inside]
    assert "NativeLayerNormBackward0" in alone
    assert alone.count("AddmmBackward0") == 2
    own = [title for title in alone if title.startswith("AccumulateGrad") and "blocks.5" in title]
    assert len(own) == 6
    boxes = [card.title for card in scene.cards if card.inside]
    assert any(title.startswith("blocks.{1..4} ×4 Block") for title in boxes)


def test_a_model_without_depth_is_one_box(graph: Graph) -> None:
    scene = gv.Figure(graph, view="nodes", depth=0).scene
    assert sum("Model · " in card.title for card in scene.cards) == 1


def test_what_fits_is_drawn_node_by_node() -> None:
    graph = recorded(1)
    figure = gv.Figure(graph, view="nodes")
    assert len(figure.scene.cards) == len(figure.whole.cards)
    assert not figure.scene.notes


def test_too_much_asked_for_becomes_less() -> None:
    graph = recorded(60)
    figure = gv.Figure(graph, view="nodes", depth=9)
    assert 3 <= len(figure.scene.cards) <= 120
    assert nodes_in(figure.scene) == nodes_in(figure.whole)
