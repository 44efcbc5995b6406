"""Where an answer about a model is in its outline: what is opened, and what is marked."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
from torch import nn

import gradviz as gv
from gradviz.picture import render
from gradviz.picture.openings import opened_states
from gradviz.picture.state import state

WIDE = 8


class Attention(nn.Module):
    def __init__(self, cut: bool) -> None:
        super().__init__()
        self.q, self.k = nn.Linear(WIDE, WIDE), nn.Linear(WIDE, WIDE)
        self.cut = cut

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        k = self.k(x)
        if self.cut:
            k = k.detach()
        return (self.q(x) * k).relu()


class Layer(nn.Module):
    def __init__(self, cut: bool) -> None:
        super().__init__()
        self.ln = nn.LayerNorm(WIDE)
        self.attn = Attention(cut)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.attn(self.ln(x))


class Net(nn.Module):
    def __init__(self, cuts: tuple[int, ...] = ()) -> None:
        super().__init__()
        self.start = nn.Linear(4, WIDE)
        self.h = nn.ModuleList(Layer(i in cuts) for i in range(6))
        self.end, self.spare = nn.Linear(WIDE, 3), nn.Linear(WIDE, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.start(x)
        for layer in self.h:
            x = layer(x)
        return self.end(x)


def step(model: nn.Module) -> Any:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.zero_grad()
    with gv.record() as rec:
        model(torch.randn(5, 4)).pow(2).sum().backward()
    return rec


def marked(figure: Any) -> set[str]:
    """Return the titles of the marked cards, and both ends of the marked arrows."""
    outline = figure.outlined.outline
    ends = ((outline.cards[a.tail], outline.cards[a.head]) for a in outline.arrows if a.here)
    return {c.title for c in outline.cards if c.here} | {
        f"{tail.title} → {head.title}" for tail, head in ends
    }


def test_the_module_of_the_cause_is_open_and_its_arrow_is_marked() -> None:
    model = Net((3,))
    rec = step(model)
    told = rec.explain(model.h[3].attn.k.weight)
    figure = told.figure
    assert told.tag == "cut: detach"
    assert figure is not None
    titles = [card.title for card in figure.outlined.outline.cards]
    assert {"k", "q"} <= {*titles}
    assert [m.split(" → ")[0] for m in marked(figure)] == ["k"]
    assert figure.text.count("the explanation points here") == 1
    assert "the explanation points here" not in rec.figure().text


def test_what_another_layer_does_is_not_marked() -> None:
    """Two layers cut; each answer marks its own."""
    model = Net((1, 4))
    rec = step(model)
    paths = {call.id: call.path for call in rec.graph.module_calls}
    for at in (1, 4):
        told = rec.explain(model.h[at].attn.k.weight)
        assert told.figure is not None
        points = told.figure._asked.points.calls
        assert [paths[told.graph.call[i].module_call] for i in points] == [f"h.{at}.attn"]
        assert any(
            f"h.{at}.attn.k" in name or name.startswith("k ") for name in marked(told.figure)
        )


def test_what_stands_in_a_card_marks_it() -> None:
    model = Net()
    with gv.record() as rec:
        loss = model(torch.randn(5, 4)).pow(2).sum()
        loss.backward()
        with pytest.raises(RuntimeError) as error:
            loss.backward()
    told = rec.explain(error=error.value)
    assert marked(told.figure) == {"loss"}


def test_a_module_that_was_never_called_is_marked() -> None:
    model = Net()
    told = step(model).explain(model)
    assert told.cause == "branch_not_taken"
    assert told.figure is not None
    outline = told.figure.outlined.outline
    (card,) = [card for card in outline.cards if card.here]
    assert any("never called" in span.text for row in card.rows for span in row.left)


def test_a_toy_is_drawn_operation_by_operation() -> None:
    w = torch.ones(3, requires_grad=True)
    with gv.record() as rec:
        loss = (w * 2).detach().sum() + (torch.ones(3, requires_grad=True) * 3).sum()
        loss.backward()
    told = rec.explain(w)
    assert told.cause == "cut"
    assert told.figure is not None
    assert told.figure.outlined is None
    assert "(w * 2).detach()" in told.figure.text


def test_a_long_program_without_modules_stays_as_it_was() -> None:
    w = torch.ones(3, requires_grad=True)
    with gv.record() as rec:
        h = w
        for _ in range(20):
            h = h * 1.1 + w
        loss = h.detach().sum() + (w * 0).sum()
        loss.backward()
    figure = rec.explain(w).figure
    assert figure is not None
    assert figure.outlined is None


def test_a_cell_links_the_row_and_the_picture() -> None:
    model = Net((3,))
    told = step(model).explain(model.h[3].attn.k.weight)
    shown = told._repr_mimebundle_()["text/html"]
    assert shown.count('class="gv-where"') == 1
    assert shown.count('class="gv-here"') == 1
    assert "<style>" not in told.html  # the words alone have nothing to light up
    # the mark stands over the words of the arrow
    svg = told.figure.svg
    ids = told.figure.outlined.pointed["ids"]
    (box,) = render.boxes(svg, ids)
    texts = ElementTree.fromstring(svg).iter(f"{render.SVG}text")
    x, y = next(
        (float(t.get("x", 0)), float(t.get("y", 0)))
        for t in texts
        if "points here" in (t.text or "")
    )
    (wide, high), (dx, dy) = sides_of(svg)
    assert box.left < (x + dx) / wide < box.left + box.width
    assert box.top < (y + dy) / high < box.top + box.height


def sides_of(svg: str) -> tuple[tuple[float, float], tuple[float, float]]:
    sides = re.search(r'viewBox="\S+ \S+ (\S+) (\S+)"', svg)
    moved = re.search(r"translate\((\S+) (\S+)\)", svg)
    assert sides
    assert moved
    return (float(sides[1]), float(sides[2])), (float(moved[1]), float(moved[2]))


def test_a_page_knows_the_place_in_each_of_its_states() -> None:
    model = Net((3,))
    told = step(model).explain(model.h[3].attn.k.weight)
    states, _ = opened_states(told.figure)
    assert len(states) > 1
    for shown in states:
        assert shown["points"]["title"] == "Where"
        assert shown["points"]["text"] == told.where
        known = {*shown["cards"], *shown["arrows"]}
        assert {*shown["points"]["ids"]} <= known
        assert shown["points"]["ids"]
    assert "points" not in state(step(Net()).figure())


def test_what_is_odd_where_nothing_is_wrong_is_marked_in_the_outline() -> None:
    """Beside gradients that are there: each of four losses goes back at its full size."""
    model = nn.Sequential(*(nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(8)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with gv.record() as rec:
        for _ in range(4):
            loss = model(torch.randn(5, 4)).pow(2).mean()
            loss.backward()
        optimizer.step()
    told = gv.explain(recording=rec, names={"model": model, "optimizer": optimizer})
    assert (told.cause, told.tag) == ("healthy", "observed")
    assert "each at its full size" in told.verdict
    assert marked(told.figure) == {"loss"}
