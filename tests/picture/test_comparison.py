"""Two recordings of one model in one picture: the same cards, and what differs, counted by torch."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from torch import nn

import gradviz as gv
from gradviz.graph.records import GradvizError
from gradviz.picture.figure import WIDTH
from gradviz.recording import Recording


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(4)
        self.up = nn.Linear(4, 8)
        self.down = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self, cut_before: int | None) -> None:
        super().__init__()
        self.cut_before = cut_before
        self.blocks = nn.ModuleList(Block() for _ in range(5))
        self.head = nn.Linear(4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for k, block in enumerate(self.blocks):
            x = block(x.detach() if k == self.cut_before else x)
        return self.head(x)


def step(cut_before: int | None) -> tuple[Recording, nn.Module]:
    torch.manual_seed(0)  # one network of 80 had a block in which relu lets nothing through
    model = Model(cut_before)
    with gv.record() as rec:
        loss = model(torch.ones(2, 4)).square().mean()
        loss.backward()
    return rec, model


def number_of_gradients(model: nn.Module) -> int:
    return sum(p.grad is not None for p in model.parameters())


@pytest.mark.parametrize("cut", [1, 3])
def test_what_differs_is_what_torch_says(cut: int) -> None:
    (before, one), (after, other) = step(cut), step(None)
    n = number_of_gradients(other) - number_of_gradients(one)
    assert n == 6 * cut
    comparison = gv.compare(before, after)
    assert comparison.lines[0] == f"{n} parameters more get a gradient"
    assert re.match(r"only before: ✂ detach · .*line \d+", comparison.lines[2])
    assert gv.compare(after, before).lines[0] == f"{n} parameters fewer get a gradient"
    assert "≠ after: 6 of 6 get a gradient" in comparison.text or cut > 1
    assert comparison.text.count("≠ ") >= 2


def test_both_have_the_same_cards() -> None:
    before, after = step(2)[0], step(None)[0]
    comparison = gv.compare(before, after)
    titles = [
        [c.name for c in figure.scene.cards] for figure in (comparison.before, comparison.after)
    ]
    assert titles[0] == titles[1]
    assert titles[1] != [card.name for card in after.figure().scene.cards]


def test_nothing_differs() -> None:
    comparison = gv.compare(step(None)[0], step(None)[0])
    assert comparison.lines == ("the same parameters get a gradient",)
    assert "≠" not in comparison.text


def test_narrow_pictures_stand_side_by_side_on_one_page(tmp_path: Path) -> None:
    comparison = gv.compare(step(None)[0], step(None)[0], names=("one", "the other"))
    width = int(re.search(r'<svg[^>]* width="(\d+)"', comparison.svg)[1])  # type: ignore[index]
    tops = re.findall(r'<svg x="\d+" y="(\d+)"', comparison.svg)
    assert width <= WIDTH
    assert len(tops) == 2
    assert len({*tops}) == 1
    assert "the other</text>" in comparison.svg
    assert comparison.html.startswith('<img alt="the same parameters get a gradient')
    for name in ("c.svg", "c.html"):
        comparison.save(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
    ids = re.findall(r' id="([^"]+)"', comparison.svg)
    assert len(ids) == len({*ids})


def test_wide_pictures_stand_one_above_the_other() -> None:
    class Twins(nn.Module):
        def __init__(self, cut: bool) -> None:
            super().__init__()
            self.cut = cut
            self.trunk = Block()
            self.one, self.other = Block(), nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = self.trunk(x)
            return self.one(h).sum() + self.other(h.detach() if self.cut else h).sum()

    def recorded(cut: bool) -> Recording:
        with gv.record() as rec:
            Twins(cut)(torch.ones(2, 4)).backward()
        return rec

    tops = re.findall(r'<svg x="\d+" y="(\d+)"', gv.compare(recorded(True), recorded(False)).svg)
    assert len({*tops}) == 2


def test_what_was_not_recorded_and_toys_are_compared_too() -> None:
    def shown(cut: int | None) -> gv.Figure:
        model = Model(cut)
        return gv.show(model(torch.ones(2, 4)).mean(), model=model)

    assert gv.compare(shown(2), shown(None)).lines[0] == "12 parameters more can be reached"
    a = torch.ones(2, requires_grad=True)
    recs = []
    for cut in (True, False):
        with gv.record() as rec:
            b = a * 2
            (b.detach() if cut else b).sum()
        recs.append(rec)
    comparison = gv.compare(*recs)
    assert comparison.lines[0] == "1 parameter more can be reached"
    assert comparison.svg


def test_what_cannot_be_compared_is_refused() -> None:
    rec = step(None)[0]
    other = nn.Sequential(*(nn.Linear(2, 2) for _ in range(13)))
    with gv.record() as stranger:
        other(torch.ones(1, 2)).sum().backward()
    with pytest.raises(GradvizError, match="recordings of different models"):
        gv.compare(rec, stranger)
    with pytest.raises(GradvizError, match=r"after= was given the int 3; expected a Recording"):
        gv.compare(rec, 3)
    with pytest.raises(GradvizError, match=r"names= was given the str 'x'; expected two texts"):
        gv.compare(rec, rec, names="x")  # type: ignore[arg-type]
    with pytest.raises(GradvizError, match=r"it is one of \.svg, \.html"):
        gv.compare(rec, rec).save("x.png")
