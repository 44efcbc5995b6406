"""``save`` of everything that shows a picture, ``show(rec)`` and ``Figure.open``."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import torch

import gradviz as gv
from gradviz.graph.findings import Cause
from gradviz.why.shown.explanation import Explanation


@pytest.fixture
def recording() -> gv.Recording:
    a = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        b = a.detach()
        (a * 2 + b).sum().backward()
    return rec


@pytest.fixture
def exploration() -> Any:
    @gv.explore(copy=[torch.Tensor.clone, torch.Tensor.detach])
    def scenario(copy: Any) -> None:
        a = torch.ones(2, requires_grad=True)
        (copy(a) + a * 2).sum().backward()

    return scenario


def saved(thing: Any, path: Path, **how: Any) -> str:
    thing.save(path, **how)
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_all_save_the_picture_that_they_show(
    recording: gv.Recording, exploration: Any, tmp_path: Path, theme: Any
) -> None:
    expected = saved(recording.figure(), tmp_path / "figure.svg", theme=theme)
    for thing in (recording, gv.GraphWidget(recording), gv.show(recording)):
        assert saved(thing, tmp_path / "it.svg", theme=theme) == expected
    exploration.set(copy="detach")
    now = saved(exploration, tmp_path / "now.svg", theme=theme)
    assert now == saved(exploration.figure, tmp_path / "figure.svg", theme=theme)
    assert "detach" in now


def test_a_page_of_an_exploration_has_all_its_states(exploration: Any, tmp_path: Path) -> None:
    page = saved(exploration, tmp_path / "page.html")
    gv.export(exploration, tmp_path / "exported.html")
    assert page == (tmp_path / "exported.html").read_text(encoding="utf-8")


def test_a_player_saves_its_step(recording: gv.Recording, tmp_path: Path) -> None:
    player = gv.play(recording)
    pictures = []
    for step in (1, len(player.states) - 1):
        player.step = step
        pictures.append(saved(player, tmp_path / "step.svg"))
        assert pictures[-1] == player.figure.svg
    assert pictures[0] != pictures[1]


def test_an_answer_saves_words_and_picture(recording: gv.Recording, tmp_path: Path) -> None:
    w = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        loss = w.detach().sum()
    answer = rec.explain(w, loss)
    assert saved(answer, tmp_path / "why.txt") == f"{answer}\n"
    page = saved(answer, tmp_path / "why.html")
    assert "<main>" in page
    assert answer.verdict.partition(":")[0] in page
    assert "data:image/svg+xml;base64," in page
    assert saved(answer, tmp_path / "why.svg") == answer.figure.svg


def test_what_cannot_be_saved_is_refused_in_words(
    recording: gv.Recording, exploration: Any, tmp_path: Path
) -> None:
    bare = Explanation(Cause.FROZEN, "w is frozen.")
    refused = [
        (bare, tmp_path / "why.svg", {}, "this answer has no picture"),
        (bare, tmp_path / "why.doc", {}, "one of .txt, .html, .svg"),
        (gv.GraphWidget(), tmp_path / "x.svg", {}, "shows no figure to save"),
        (recording, tmp_path / "x.gif", {}, "the suffix says the format"),
        (exploration, 3, {}, "was given the int 3"),
        (exploration, tmp_path / "x.html", {"theme": "red"}, "'light' or 'dark'"),
    ]
    for thing, path, how, words in refused:
        with pytest.raises(gv.GradvizError, match=words):
            thing.save(path, **how)
    assert list(tmp_path.iterdir()) == []


def test_show_takes_a_recording(recording: gv.Recording) -> None:
    a = torch.ones(1)
    assert gv.show(recording).text == recording.figure().text
    nodes, asked = gv.show(recording, view="nodes"), recording.figure("nodes")
    assert nodes.text == asked.text
    for more in ({"names": {"a": a}}, {"model": torch.nn.Linear(1, 1)}):
        with pytest.raises(gv.GradvizError, match="nothing beside a recording"):
            gv.show(recording, **more)
    with pytest.raises(gv.GradvizError, match="expected tensors"):
        gv.show(recording, a)


def test_open_shows_the_page_in_a_browser(
    recording: gv.Recording, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    asked: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: asked.append(url) or True)
    page = recording.figure().open()
    assert [Path(unquote(urlsplit(url).path)) for url in asked] == [page]
    assert b"gv-data" in page.read_bytes()
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    with pytest.raises(gv.GradvizError, match=r"the page is '.*\.html': open it"):
        recording.figure().open()


def test_the_dot_of_everything_has_everything() -> None:
    """Also of a model that is drawn as an outline otherwise."""
    net = torch.nn.Sequential(*(torch.nn.Linear(2, 2) for _ in range(30)))
    with gv.record() as rec:
        net(torch.ones(1, 2)).sum().backward()
    whole = gv.Figure(rec.graph, fold=False)
    assert len(whole.whole.cards) > 60 > len(rec.figure().scene.cards)
    assert len(whole.scene.cards) == len(whole.whole.cards)
    assert all(f"n{card.id} [" in whole.dot.source for card in whole.whole.cards)
