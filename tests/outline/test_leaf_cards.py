"""The card of one parameter: every number on it is torch's own."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import gradviz as gv
from gradviz.graph.records import GradvizError
from gradviz.picture.figure import Figure
from gradviz.picture.outline.scene import Card
from gradviz.picture.state import state


class Net(nn.Module):
    """``emb.weight`` is used twice, ``body`` is called twice, ``spare`` never."""

    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(9, 8)
        self.body = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
        self.mid, self.cut, self.spare = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.head = nn.Linear(8, 9, bias=False)
        self.head.weight = self.emb.weight

    def forward(self, i: torch.Tensor) -> torch.Tensor:
        x = self.body(self.emb(i)).relu() * 0.5
        x = self.mid(x) + x + self.cut(x).detach()
        x = x.sigmoid() + x.tanh() * 2 - x.exp()
        return self.head(self.body(x) + x)


def trained(*, backward: bool = True) -> tuple[nn.Module, Any]:
    torch.manual_seed(0)
    model = Net()
    model.mid.weight.requires_grad_(False)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    optimizer.zero_grad()
    with gv.record() as rec:
        loss = nn.functional.cross_entropy(model(torch.arange(5)), torch.arange(5))
        if backward:
            loss.backward()
    return model, rec


def leaf(figure: Figure) -> Card:
    assert figure.outlined is not None
    (found,) = [c for c in figure.outlined.outline.cards if c.rows[0].left[-1].text == "parameter"]
    return found


def texts(card: Card) -> list[str]:
    return [" ".join([*(s.text for s in row.left), row.right]).strip() for row in card.rows]


def test_it_has_name_shape_state_norm_and_accumulate_grad() -> None:
    model, rec = trained()
    rows = texts(leaf(rec.figure(focus="mid.bias")))
    assert rows[0] == "mid.bias parameter [8]"
    norm = float(model.mid.bias.grad.norm())  # type: ignore[union-attr]
    assert rows[1] == f"✓ gets a gradient {norm:.3g}"
    assert rows[2] == "AccumulateGrad → mid.bias.grad"
    assert len(rows) == 3  # one use: its arrow tells what it adds


def test_of_several_uses_each_is_told_with_what_it_adds() -> None:
    model, rec = trained()
    card = leaf(rec.figure(focus="emb.weight"))
    added = [row for row in card.rows if row.left[0].text.startswith("+ from")]
    assert {row.left[0].text for row in added} == {
        "+ from embedding, in emb",
        "+ from linear, in head",
    }
    # torch's own: what comes back when the other use is cut off
    i = torch.arange(5)
    own = []
    for cut in ("emb", "head"):
        model.zero_grad()
        weight = model.emb.weight
        use = {"emb": weight, "head": weight, cut: weight.detach()}
        x = model.body(nn.functional.embedding(i, use["emb"])).relu() * 0.5
        x = model.mid(x) + x + model.cut(x).detach()
        x = x.sigmoid() + x.tanh() * 2 - x.exp()
        x = nn.functional.linear(model.body(x) + x, use["head"])
        nn.functional.cross_entropy(x, i).backward()
        own.append(f"{weight.grad.norm():.3g}")  # type: ignore[union-attr]
    assert {row.right for row in added} == {*own}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("mid.weight", "frozen: requires_grad False"),
        ("cut.weight", "✗ gets no gradient"),
        ("body.0.weight", "✓ gets a gradient"),
    ],
)
def test_it_says_what_became_of_it(name: str, says: str) -> None:
    _, rec = trained()
    figure = rec.figure(focus=name)
    rows = texts(leaf(figure))
    assert rows[1].startswith(says)
    assert any("AccumulateGrad" in row for row in rows) == (name != "mid.weight")
    arrows = [a for a in figure.outlined.outline.arrows if a.tail == leaf(figure).id]
    told = any(row.startswith("also goes to") and "gets" in row for row in rows)  # in one column
    drawn = any(a.kind == "gradient" for a in arrows)
    assert (drawn or told) == says.startswith("✓")


def test_before_a_backward_it_says_whether_it_can_be_reached() -> None:
    _, rec = trained(backward=False)
    assert texts(leaf(rec.figure(focus="body.0.bias")))[1] == "can be reached"
    assert texts(leaf(rec.figure(focus="cut.bias")))[1] == "✗ cannot be reached"


def test_nobody_else_has_such_a_card() -> None:
    _, rec = trained()
    for figure in (rec.figure(), rec.figure(focus="body")):
        cards = figure.outlined.outline.cards
        assert not any("AccumulateGrad" in text for card in cards for text in texts(card))


def test_a_parameter_opens_and_closes_like_a_module() -> None:
    _, rec = trained()
    figure = rec.figure()
    root = figure.graph.modules[0].name
    assert state(figure)["outline"]["names"][f"{root}.body.0.weight"][2:] == ["leaf"]
    assert state(figure)["outline"]["names"][f"{root}.spare.weight"][2:] == []
    opened = figure.opening("body.0.weight")
    outline = state(opened)["outline"]
    card = f"n{leaf(opened).id}"
    assert outline["opened"] == [f"{root}.body", f"{root}.body.0.weight"]
    assert outline["inside"][f"{root}.body.0.weight"] == [card]
    assert outline["names"][f"{root}.body.0.weight"] == [card, ""]
    assert opened.opening(()).svg == figure.svg
    assert opened.svg


def test_a_module_that_was_never_called_has_none_to_show() -> None:
    _, rec = trained()
    figure = rec.figure(focus="spare.weight")
    assert not any(
        "AccumulateGrad" in text for c in figure.outlined.outline.cards for text in texts(c)
    )


def test_a_wrong_one_is_refused_with_those_like_it() -> None:
    _, rec = trained()
    with pytest.raises(GradvizError, match=r"body\.0\.weight"):
        rec.figure(focus="body.0.weigth")


def test_the_table_names_each_parameter_that_has_a_row() -> None:
    """A click on the row gives the parameter its card."""
    model, rec = trained()
    figure = rec.figure()
    rows = [row for row in state(figure)["table"] if "parameter" in row]
    names = {f"model.{name}" for name, _ in model.named_parameters()}
    assert rows
    assert {row["parameter"] for row in rows} <= names
    for row in rows:
        assert row["cells"][1] == "1"
        if state(figure)["outline"]["names"][row["parameter"]][2:] == ["leaf"]:
            assert leaf(figure.opening(row["parameter"])).title in row["parameter"]
