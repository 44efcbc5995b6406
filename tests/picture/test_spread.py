"""How the numbers of large tensors are spread, as it is drawn and told."""

from __future__ import annotations

import re

import pytest
import torch

import gradviz as gv
from gradviz.graph.records import Summary
from gradviz.picture import state, theme
from gradviz.picture.figure import Figure
from gradviz.words import spread


@pytest.fixture(scope="module")
def figure() -> Figure:
    w = torch.arange(12.0, requires_grad=True)
    with gv.record(summaries=True) as rec:
        h = (w - 6).relu()
        odd = (w - 6).log()
        even = w > 5
        same = w.detach() * 0
        h.sum().backward()
    assert len([odd, even, same]) == 3  # alive until here: so they keep their names
    return rec.figure()


def bars(svg: str) -> list[str]:
    return re.findall(rf'<polygon fill="{theme.BAR}"', svg)


def test_a_card_has_a_bar_for_each_step_that_has_numbers() -> None:
    w = torch.arange(24.0, requires_grad=True)
    assert len(bars(gv.show(w.sum()).svg)) == 12
    w = torch.tensor([0.0] * 11 + [1.0], requires_grad=True)
    assert len(bars(gv.show(w.sum()).svg)) == 2
    w = torch.arange(8.0, requires_grad=True)
    assert bars(gv.show(w.sum()).svg) == []


def test_the_text_twin_tells_the_same(figure: Figure) -> None:
    text = figure.text
    assert "\n    ████████████ 5.5 ± 3.61 · 0 … 11 · 1 zero\n" in text
    assert "\n    █▁▂▁▂▁▁▂▁▂▁▂ 1.25 ± 1.82 · 0 … 5 · 7 zeros\n" in text
    assert "\n    6 NaN · 1 inf\n" in text
    assert "\n    █▁▁▁▁▁▁▁▁▁▁█ 6 True · 6 False\n" in text
    assert "\n    all are 0\n" in text


def test_what_is_not_finite_has_the_colour_of_a_warning(figure: Figure) -> None:
    assert theme.ROWS["not_finite"].fill == theme.ROWS["stale"].fill
    kinds = [row.kind for card in figure.scene.cards for row in card.rows]
    assert kinds.count("not_finite") == 1
    assert "6 NaN · 1 inf" in figure.svg


def test_the_panel_tells_it_in_its_table_facts_and_to_screen_readers(figure: Figure) -> None:
    shown = state.state(figure)
    table = {row["key"]: row["cells"][1] for row in shown["table"]}
    assert table["w"] == "shape [12] · ████████████ 5.5 ± 3.61 · 0 … 11 · 1 zero"
    assert table["odd"].startswith("shape [12] · 6 NaN · 1 inf · ")
    card = next(card for card in shown["cards"].values() if card["key"] == "w")
    assert ["numbers", "████████████ 5.5 ± 3.61 · 0 … 11 · 1 zero"] in card["facts"]
    assert [words for _, words in card["spoken"]] == [
        "mean 5.5, standard deviation 3.61, 1 zero",
        "from 0 to 11",
    ]
    standing = " ".join(re.findall(r">([^<>]+)</text>", shown["svg"]))
    for signs, _ in card["spoken"]:
        assert signs in standing


def test_a_chip_stands_beside_the_shape_all_the_same() -> None:
    w = torch.arange(12.0, requires_grad=True)
    svg = gv.show(w.sum()).svg
    places = dict(re.findall(r'y="(-?[\d.]+)"[^>]*>([^<>]+)</text>', svg))
    rows = {text: float(y) for y, text in places.items()}
    assert "5.5 ± 3.61 · 1 zero" in rows
    shape = float(re.search(r'y="(-?[\d.]+)"[^>]*>shape \[12\]<', svg)[1])  # type: ignore[index]
    leaf = float(re.search(r'y="(-?[\d.]+)"[^>]*>leaf<', svg)[1])  # type: ignore[index]
    assert abs(shape - leaf) < 3
    assert rows["5.5 ± 3.61 · 1 zero"] > shape + 10


@pytest.mark.parametrize(
    ("summary", "told"),
    [
        (Summary(9, 1.0, 0.0, 1.0, 1.0, 0, 2, 0), "2 NaN · the others are 1"),
        (Summary(9, None, None, None, None, 0, 9, 0), "all are NaN"),
        (Summary(9, None, None, None, None, 0, 5, 4), "5 NaN · 4 inf"),
        (Summary(9, None, None, None, None, 0, 0, 9), "9 inf"),
        (Summary(9, None, None, None, None, 0, 0, 0), ""),
        (Summary(9, None, None, -1.7e308, 1.7e308, 0, 0, 0), "-1.7e+308 … 1.7e+308"),
        (Summary(9, 2.0, None, 1.0, 3.0, 0, 0, 0), "2 ± unknown · 1 … 3"),
        (Summary(9999, 0.0, 1.0, -2, 2, 1234, 0, 0), "0 ± 1 · -2 … 2 · 1,234 zeros"),
    ],
)
def test_every_case_is_told(summary: Summary, told: str) -> None:
    assert spread.whole(summary) == told
