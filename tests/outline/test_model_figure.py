"""What a Figure does with a model: when it is an outline, what its arguments do, what its words
say."""

from __future__ import annotations

import re
from pathlib import Path

import model_scripts
import pytest
import torch
from torch import nn

import gradviz as gv
from gradviz.graph.records import GradvizError, Graph
from gradviz.picture.figure import Figure
from gradviz.picture.state import state


@pytest.fixture(scope="module")
def gpt() -> Graph:
    recording = gv.record()
    model_scripts.run(model_scripts.read("gpt2"), "gpt2.py", lambda: recording)
    return recording.graph


def recorded(operations: int) -> Graph:
    with gv.record() as rec:
        a = torch.ones(2, requires_grad=True)
        b = a
        for _ in range(operations - 1):
            b = b * 2
        b.sum().backward()
    return rec.graph


def test_a_dozen_operations_are_cards_and_more_are_an_outline() -> None:
    assert gv.Figure(recorded(12)).outlined is None
    assert gv.Figure(recorded(13)).outlined is not None


def test_a_toy_with_modules_keeps_its_cards() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    with gv.record() as rec:
        net(torch.ones(1, 2)).sum().backward()
    figure = rec.figure()
    assert figure.outlined is None
    assert "AccumulateGrad" in figure.text


def test_nodes_are_never_an_outline(gpt: Graph) -> None:
    assert gv.Figure(gpt, view="nodes").outlined is None


def test_focus_opens_a_module(gpt: Graph) -> None:
    closed, opened = gv.Figure(gpt).text, gv.Figure(gpt, focus="transformer.h.5").text
    assert "ln_1" not in closed
    assert "h.5, Block, opened" in opened
    assert "ln_1" in opened
    assert opened == gv.Figure(gpt, focus=["model.transformer.h.5"]).text


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("h.77", "focus= was given 'h.77'; expected the path of a module"),
        (3, "focus= was given the int 3; expected a module's path"),
        ([3], "expected a module's path"),
    ],
)
def test_what_is_no_module_is_refused(gpt: Graph, given: object, words: str) -> None:
    with pytest.raises(GradvizError, match=re.escape(words)):
        gv.Figure(gpt, focus=given)  # type: ignore[arg-type]


def test_fold_is_true_or_false(gpt: Graph) -> None:
    with pytest.raises(GradvizError, match=r"fold= was given the int 1; expected True or False"):
        gv.Figure(gpt, fold=1)  # type: ignore[arg-type]


def test_everything_is_there_on_request(gpt: Graph) -> None:
    whole = gv.Figure(gpt, fold=False)
    assert whole.outlined is None
    assert len(whole.scene.cards) > len(gv.Figure(gpt).scene.cards) * 10
    assert len(whole.text.splitlines()) > len(whole.whole.cards)
    assert "not listed" not in whole.text
    assert all(card.title in whole.text for card in whole.whole.cards)
    assert whole.dot.source.count("->") > 200


def test_the_text_begins_with_the_reason_and_is_short(gpt: Graph) -> None:
    lines = gv.Figure(gpt, title="a step").text.splitlines()
    assert lines[0] == "a step"
    assert lines[1] == "148 parameters: all 148 get a gradient ✓"
    assert len(lines) <= 60


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf", "dot", "json", "html"])
def test_an_outline_is_saved_in_each_format(gpt: Graph, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"model.{suffix}"
    gv.Figure(gpt).save(path)
    assert path.stat().st_size > 1000


def test_cards_and_arrows_have_the_ids_of_the_drawing(gpt: Graph) -> None:
    figure = gv.Figure(gpt)
    shown = state(figure)
    drawn = set(re.findall(r'id="g[0-9a-f]+-([ne]\d+)"', figure.svg))
    assert drawn == shown["cards"].keys() | shown["arrows"].keys()


def test_the_same_graph_gives_the_same_picture(gpt: Graph) -> None:
    assert gv.Figure(gpt).svg == gv.Figure(Graph.from_json(gpt.to_json())).svg


def test_a_model_that_was_not_recorded_is_an_outline() -> None:
    made = model_scripts.run(model_scripts.read("gpt2"), "gpt2.py")
    figure = gv.show(made["loss"], model=made["model"])
    assert figure.text.startswith("148 parameters: all 148 can be reached")
    assert gv.show(made["loss"], model=made["model"], view="nodes").outlined is None
    assert gv.show(made["loss"]).outlined is None


@pytest.mark.parametrize(("layers", "is_outline"), [(1, False), (2, False), (3, True)])
def test_a_model_of_a_few_layers_is_an_outline_as_soon_as_its_cards_are_more_than_a_dozen(
    layers: int, is_outline: bool
) -> None:
    model = nn.Sequential(*(nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(layers)))
    criterion, x, y = nn.MSELoss(), torch.ones(2, 4), torch.zeros(2, 4)
    with gv.record() as rec:
        loss = criterion(model(x), y)
        loss.backward()
    figure = Figure(rec.graph)
    assert (figure.outlined is not None) == is_outline
    if not is_outline:
        assert sum("AccumulateGrad" in line for line in figure.text.splitlines()) >= 2 * layers
