"""What says nothing is not drawn where a module ran; the table has it all the same."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import gradviz as gv
from gradviz.picture.figure import Figure
from gradviz.picture.state import state

sys.path.append(str(Path(__file__).parents[1] / "outline"))
from model_scripts import model_names, read, run


def step_of_an_lstm() -> gv.Recording:
    rnn = nn.LSTM(2, 2)
    opt = torch.optim.SGD(rnn.parameters(), lr=0.1)
    x = torch.ones(3, 1, 2)
    with gv.record() as rec:
        mask = torch.ones(2, 2) * 2
        out, (h, c) = rnn(x)
        loss = out.sum()
        loss.backward()
        opt.step()
    assert mask is not None
    assert h.shape == c.shape
    return rec


def test_a_step_of_a_module_is_drawn_without_noise() -> None:
    rec = step_of_an_lstm()
    figure = Figure(rec.graph)
    titles = [card.title for card in figure.scene.cards]
    assert not [title for title in titles if title.split(" ")[0] in ("mask", "h", "c")]
    assert {arrow.mark for arrow in figure.scene.arrows} == {""}
    assert [card.id for card in figure.scene.cards] == list(range(len(titles)))
    assert "output" not in figure.text
    assert "step()" not in figure.text
    assert figure.svg
    keys = [row["key"] for row in state(figure)["table"]]
    assert keys == [row["key"] for row in state(Figure(rec.graph, fold=False))["table"]]
    assert {"mask", "out"} <= {*keys}
    assert len(keys) == len(figure.scene.cards) + 3


def test_everything_is_there_on_request() -> None:
    text = Figure(step_of_an_lstm().graph, fold=False).text
    assert text.count("then opt.step()") == 4
    assert "(output 2)" in text
    assert "mask" in text


def test_outputs_that_are_read_or_cut_stay() -> None:
    rnn = nn.LSTM(2, 2)
    with gv.record() as rec:
        out, (h, c) = rnn(torch.ones(3, 1, 2))
        kept = c.detach()
        (out.sum() + h.sum()).backward()
    assert kept is not None
    titles = [card.title for card in Figure(rec.graph).scene.cards]
    assert "h" in titles
    assert "c" in titles


def test_what_tells_of_an_error_stays() -> None:
    net = nn.Linear(2, 1)
    with gv.record() as rec:
        loss = torch.tensor(net(torch.ones(1, 2)).item())
        with pytest.raises(RuntimeError):
            loss.backward()
    assert "backward() raises here: no grad_fn" in Figure(rec.graph).text


def test_without_a_module_everything_is_drawn() -> None:
    w, b = (torch.ones(2, requires_grad=True) for _ in range(2))
    opt = torch.optim.SGD([w, b], lr=0.1)
    with gv.record() as rec:
        other = torch.zeros(2)
        (w * 2 + b).sum().backward()
        opt.step()
    assert other is not None
    text = Figure(rec.graph).text
    assert text.count("then opt.step()") == 2
    assert "other" in text


@pytest.mark.parametrize("name", [name for name in model_names() if name != "gpt_96"])
def test_pictures_of_models_have_no_noise(name: str) -> None:
    names: dict[str, Any] = {}
    recording = gv.record().look_into(names)
    run(read(name), f"{name}.py", lambda: recording, names)
    figure = Figure(recording.graph)
    scene = figure.scene
    touched = {end for arrow in scene.arrows for end in (arrow.tail, arrow.head)}
    assert all(card.id in touched for card in scene.cards if card.kind == "untracked")
    assert not {"tag", "leaf"} & {card.kind for card in scene.cards}
    assert {arrow.mark for arrow in scene.arrows} <= {""}
    assert "step()" not in figure.text
    assert "output 2" not in figure.text
