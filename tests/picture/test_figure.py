"""Figures: what a notebook shows, what is saved, and what is left of an existing file when saving
fails."""

from __future__ import annotations

import base64
import gc
import re
import weakref
from pathlib import Path

import graphviz
import pytest
import torch

import gradviz as gv
from gradviz.graph.facts import after_all
from gradviz.graph.records import GradvizError, Graph
from gradviz.picture import render
from gradviz.picture.figure import SUFFIXES, Figure
from gradviz.picture.theme import dark_picture
from gradviz.showing import show


@pytest.fixture(scope="module")
def figure() -> Figure:
    with gv.record() as rec:
        a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        b = a.detach()
        loss = (a * b).sum()
        loss.backward()
    return Figure(rec.graph)


def test_a_notebook_gets_an_image_with_words_and_a_text_twin(figure: Figure) -> None:
    shown = figure._repr_mimebundle_()
    assert set(shown) == {"text/html", "text/plain"}
    image = shown["text/html"]
    assert image.startswith('<img alt="')
    assert "a ✂ b · detach" in image
    assert "a.grad is [1, 2, 3]" in image
    assert "max-width:100%" in image
    found = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', image)
    assert found
    assert base64.b64decode(found[1]).decode() == dark_picture(figure.svg)
    assert shown["text/plain"] == figure.text == repr(figure)


@pytest.mark.parametrize(
    ("suffix", "magic"),
    [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF"), ("dot", b"digraph"), ("json", b"{")],
)
def test_save(figure: Figure, tmp_path: Path, suffix: str, magic: bytes) -> None:
    figure.save(tmp_path / f"picture.{suffix}")
    figure.save(str(tmp_path / f"again.{suffix.upper()}"))
    assert (tmp_path / f"picture.{suffix}").read_bytes().startswith(magic)
    assert len(list(tmp_path.iterdir())) == 2


def test_json_gives_an_equal_graph_back(figure: Figure, tmp_path: Path) -> None:
    figure.save(tmp_path / "graph.json")
    again = Graph.from_json((tmp_path / "graph.json").read_text(encoding="utf-8"))
    assert again == figure.graph
    assert Figure(again).source == figure.source
    assert Figure(again).text == figure.text


def test_an_unknown_suffix_is_an_error_that_lists_the_known_ones(
    figure: Figure, tmp_path: Path
) -> None:
    with pytest.raises(
        GradvizError, match=r"cannot save 'x.gif'.* one of \.svg, \.png, \.pdf, \.dot, \.json"
    ):
        figure.save(tmp_path / "x.gif")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("nothing_drawn_yet")
def test_a_failure_leaves_the_file_that_was_there(
    figure: Figure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "x.png"
    target.write_bytes(b"precious")
    monkeypatch.setattr(render, "_pygraphviz", lambda: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(GradvizError):
        Figure(figure.graph).save(target)
    assert target.read_bytes() == b"precious"
    assert list(tmp_path.iterdir()) == [target]


def test_dot_is_a_graphviz_source(figure: Figure) -> None:
    assert isinstance(figure.dot, graphviz.Source)
    assert figure.dot.source == figure.source


def test_an_empty_recording_shows_a_sentence() -> None:
    assert "An empty graph" in Figure(Graph())._repr_mimebundle_()["text/html"]


def test_an_unknown_view_is_an_error() -> None:
    with pytest.raises(GradvizError, match="'cards' or 'nodes'"):
        Figure(Graph(), view="torchviz")  # type: ignore[arg-type]


def test_show_names_what_it_is_given_and_draws_both_edges_of_a_square() -> None:
    leaf = torch.tensor(3.0, requires_grad=True)
    square = leaf * leaf
    figure = show(square)
    assert "AccumulateGrad" in figure.text
    assert "square" in figure.text
    assert figure.source.count("->") == 4, "two gradient edges, the leaf and the root"


def test_show_asks_for_a_tensor() -> None:
    with pytest.raises(GradvizError, match=r"at least one tensor, as in show\(loss\)"):
        show()


def test_a_figure_keeps_no_tensor_alive() -> None:
    a = torch.ones(3, requires_grad=True)
    loss = (a * 2).sum()
    figure = show([loss])
    gone = weakref.ref(loss)
    gc.disable()
    try:
        del loss
        assert gone() is None
    finally:
        gc.enable()
    assert "SumBackward0" in figure.text


def test_a_graph_that_is_large_and_tangled_is_drawn_in_stretches() -> None:
    leaves = [torch.ones(1, requires_grad=True) for _ in range(8)]
    level = [a * b for a in leaves for b in leaves]
    total = torch.stack([x * y for x in level[:20] for y in level[20:40]]).sum()
    figure = show(total, names={})
    assert figure._repr_mimebundle_()["text/html"].startswith("<img")
    assert len(figure.scene.cards) <= 60
    place = {card.id: k for k, card in enumerate(figure.scene.cards)}
    sources = {
        card.id: [a.tail for a in figure.scene.arrows if a.head == card.id]
        for card in figure.scene.cards
    }
    order = after_all(place, sources)
    at = {card: k for k, card in enumerate(order)}
    assert all(at[a.tail] < at[a.head] for a in figure.scene.arrows), "a way comes back"
    assert any("Folded: " in note for note in figure.scene.notes)


def test_a_long_chain_is_folded_and_says_what_was_folded() -> None:
    x = torch.ones(1, requires_grad=True)
    for _ in range(500):
        x = x * 2 + 1
    figure = show(x, names={})
    assert len(figure.scene.cards) <= 60
    assert any("Folded: 10" in note for note in figure.scene.notes)
    assert "boxes folded" in figure.source
    assert figure.text.count("MulBackward0") > 100


@pytest.mark.usefixtures("nothing_drawn_yet")
def test_an_engine_that_fails_leaves_the_text(
    figure: Figure, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(dot: str) -> tuple[str, int]:
        raise ValueError("agread: bad input data")

    monkeypatch.setattr(render, "_layout", fail)
    again = Figure(figure.graph)
    assert again.html.startswith("<pre>")
    with pytest.raises(
        render.CannotDraw, match=r"the layout engine failed \(ValueError\); use .text"
    ):
        _ = again.svg


def test_saving_follows_a_link_and_names_a_missing_folder(figure: Figure, tmp_path: Path) -> None:
    (tmp_path / "real.svg").write_text("old", encoding="utf-8")
    (tmp_path / "link.svg").symlink_to("real.svg")
    figure.save(tmp_path / "link.svg")
    assert (tmp_path / "link.svg").is_symlink()
    assert (tmp_path / "real.svg").read_text(encoding="utf-8").startswith("<svg")
    with pytest.raises(GradvizError, match=r"there is no folder .*missing'; make it first"):
        figure.save(tmp_path / "missing" / "x.svg")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3.0, r"show\(\) was given the float 3\.0"),
        (torch.nn.Linear(1, 1), r"show\(net\(x\), model=net\)"),
    ],
)
def test_show_says_what_it_draws(given: object, message: str) -> None:
    with pytest.raises(GradvizError, match=message):
        show(given)  # type: ignore[arg-type]
    with pytest.raises(GradvizError, match=r"Figure\(\) was given .*expected a Graph"):
        Figure(given)  # type: ignore[arg-type]


def wide(numbers: list[float], copy: str = "clone") -> Figure:
    """A picture that the first arrangement does not suit: its cards stand side by side, wider than
    a page."""
    with gv.record() as rec:
        a = torch.tensor(numbers, requires_grad=True)
        w = torch.tensor([0.5, 0.5, 0.5], requires_grad=True)
        b = getattr(a, copy)()
        c = a * 2
        d = b * w
        e = c + d
        f = e.exp()
        loss = ((f - c) * w + e).sum()
        loss.backward()
    return Figure(rec.graph)


def test_a_picture_in_which_only_numbers_differ_keeps_its_arrangement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before, after, stranger = (
        wide([1.0, 2.0, 3.0]),
        wide([1.0, 2.0, 4.0]),
        wide([1.0, 2.0, 3.0], "detach"),
    )
    assert before.svg
    tried: list[str] = []
    real = render._layout
    monkeypatch.setattr(render, "_layout", lambda source: tried.append(source) or real(source))
    after.arrange_like(before)
    assert after.svg != before.svg
    assert after._drawn.how == before._drawn.how
    assert after._drawn.flaws <= before._drawn.flaws
    assert set(tried) == {after._drawn.source}, "one layout is enough"
    stranger.arrange_like(before)
    assert stranger._like is None


def test_an_arrangement_is_not_kept_where_it_does_not_suit() -> None:
    # values that are long stand above their chips, so their cards are narrower
    narrow, broad = wide([1.23456e-7, 2.34567e-7, 3.45678e-7]), wide([1.0, 2.0, 3.0])
    assert narrow.svg
    broad.arrange_like(narrow)
    assert broad._like is narrow._drawn
    assert broad._drawn.how != narrow._drawn.how
    assert not broad._drawn.flaws.too_wide


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_suffix_that_is_known_is_written(suffix: str, tmp_path: Path) -> None:
    target = tmp_path / f"picture.{suffix}"
    gv.show(torch.ones(2, requires_grad=True) * 2).save(target)
    assert target.stat().st_size > 0
