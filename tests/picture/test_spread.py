"""How the numbers of large tensors are spread, as it is drawn and told."""

from __future__ import annotations

import re

import pytest
import torch

import gradviz as gv
from gradviz.graph.records import Summary
from gradviz.picture import state, theme
from gradviz.picture.figure import Figure
from gradviz.picture.outline.scene import Tone
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
    return re.findall(rf'<polygon fill="{theme.BAR}" stroke="(?:none|transparent)"', svg)


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


def recorded_model(summaries: bool, x: torch.Tensor) -> gv.Recording:
    torch.manual_seed(0)
    block = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 8))
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), block, torch.nn.Linear(8, 3))
    with gv.record(summaries=summaries) as rec:
        net(x).pow(2).mean().backward()
    return rec


def test_in_an_outline_a_card_tells_of_what_leaves_it() -> None:
    x = torch.linspace(-1, 1, 24).reshape(6, 4)
    rec = recorded_model(True, x)
    drawn = rec.figure()
    assert drawn.outlined is not None
    blocks = [card for card in drawn.outlined.outline.cards if card.path.endswith("2")]
    row = next(row for card in blocks for row in card.rows if row.bins)
    call = rec.graph.call[blocks[0].calls[-1]]
    summary = rec.graph.tensor[call.outputs[0]].summary
    assert summary is not None
    assert (row.left[0].text, row.bins) == (spread.numbers(summary), summary.bins)
    assert sum(row.bins) == 6 * 8
    assert f"\n    {spread.told(summary)}\n" in drawn.text
    told = [row for card in drawn.outlined.outline.cards for row in card.rows if row.bins]
    steps = [n for row in told for n in row.bins if n]
    assert len(bars(drawn.svg)) == len(steps)
    assert "blue bars" in drawn.svg


def test_in_an_outline_nan_is_counted_in_a_row_of_alarm() -> None:
    x = torch.linspace(-1, 1, 24).reshape(6, 4)
    x[0, 0] = torch.nan
    drawn = recorded_model(True, x).figure()
    assert drawn.outlined is not None
    rows = [row for card in drawn.outlined.outline.cards for row in card.rows]
    alarms = [row.left[0].text for row in rows if row.tone is Tone.ALARM]
    assert {"8 NaN", "3 NaN"} <= {*alarms}  # a row of six is lost: of 8 numbers, and of 3


def test_an_outline_whose_numbers_were_not_read_tells_none() -> None:
    x = torch.linspace(-1, 1, 24).reshape(6, 4)
    drawn = recorded_model(False, x).figure()
    assert bars(drawn.svg) == []
    assert "blue bars" not in drawn.svg


def test_a_panel_tells_it_where_it_was_asked_to() -> None:
    def scenario(scale: int) -> None:
        w = torch.arange(12.0, requires_grad=True)
        (w * scale).sum().backward()

    asked = gv.explore(summaries=True, scale=[1, 3])(scenario)
    assert "0 … 11" in asked.tensors["w"]["value"]
    assert "\n    ████████████ 16.5 ± 10.8 · 0 … 33 · 1 zero\n" in asked.set(scale=3).text
    assert bars(asked.figure.svg)
    plain = gv.explore(scale=[1, 3])(scenario)
    assert plain.tensors["w"]["value"] == "shape [12]"


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
