"""Opening the cards of an outline by hand: what opens, what stays, what a reader can go to. What
ran where is read from the recorded calls alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import model_scripts
import pytest
import torch
from torch import nn

import gradviz as gv
from gradviz.graph.records import GradvizError, Graph
from gradviz.picture.figure import Figure
from gradviz.picture.openings import LETTERS, STATES, opened_states
from gradviz.picture.outline.fit import WIDTH, Fitting
from gradviz.picture.state import state

pytestmark = pytest.mark.dear(16)

# every kind of model that is drawn from a recording, and has modules with modules inside
MODELS = ("gpt2", "gan", "moe", "unet", "vae", "distillation", "resnet_frozen", "encoder_decoder")
OPENED = 6  # ways that are tried in each of them


@cache
def recorded(name: str) -> Graph:
    recording = gv.record()
    text = model_scripts.read(name)
    model_scripts.run(text, f"{name}.py", lambda: recording)
    return recording.graph


class Block(nn.Module):
    def __init__(self, cut: bool) -> None:
        super().__init__()
        self.ln = nn.LayerNorm(8)
        self.mlp = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
        self.cut = cut

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.mlp(self.ln(x))
        return x.detach() + y.detach() if self.cut else x + y


class Model(nn.Module):
    def __init__(self, cut: int | None) -> None:
        super().__init__()
        self.start = nn.Linear(4, 8)
        self.h = nn.ModuleList([Block(i == cut) for i in range(6)])
        self.end = nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.start(x)
        for block in self.h:
            x = block(x)
        return self.end(x)


def blocks(cut: int | None = None) -> Graph:
    return trained(cut)[0]


def trained(cut: int | None) -> tuple[Graph, set[str]]:
    """A recorded step, and the names of the parameters without a gradient."""
    torch.manual_seed(0)
    model = Model(cut)
    x = torch.randn(5, 4)
    with gv.record() as rec:
        model(x).sum().backward()
    return rec.graph, {name for name, p in model.named_parameters() if p.grad is None}


def calls_below(graph: Graph, name: str) -> set[int]:
    """The recorded calls that ran inside a module, read from the records."""
    parent = {call.id: call.parent_id for call in graph.module_calls}
    roots = {module.id: module.name for module in graph.modules}
    named = {
        c.id for c in graph.module_calls if f"{roots[c.module_id]}.{c.path}".rstrip(".") == name
    }

    def around(call_id: int | None) -> Iterator[int]:
        while call_id is not None:
            yield call_id
            call_id = parent[call_id]

    return {c.id for c in graph.calls if named.intersection(around(c.module_call))}


def cards_of(figure: Figure) -> dict[str, frozenset[int]]:
    assert figure.outlined is not None
    return {f"n{card.id}": frozenset(card.calls) for card in figure.outlined.outline.cards}


def openable(shown: dict[str, Any]) -> list[str]:
    return [*dict.fromkeys(c["opens"] for c in shown["cards"].values() if c["opens"])]


@pytest.mark.parametrize("name", MODELS)
def test_every_card_that_says_it_opens_does(name: str) -> None:
    graph = recorded(name)
    figure = Figure(graph)
    before = cards_of(figure)
    shown = state(figure)
    assert openable(shown), "nothing would be tried"
    for path in openable(shown)[:OPENED]:
        opened = figure.opening(path)
        now = state(opened)
        assert path in now["outline"]["opened"]
        inside = now["outline"]["inside"][path]
        closed = [i for i, card in shown["cards"].items() if card["opens"] == path]
        assert not any(before[i] in cards_of(opened).values() for i in closed), path
        assert len(now["cards"]) > len(shown["cards"]) or len(inside) > 1, path
        # its cards are of what ran inside it, operation by operation
        ran = calls_below(graph, path)
        for card in inside:
            assert cards_of(opened)[card] & ran, (path, card)


@pytest.mark.parametrize("name", MODELS)
def test_an_opened_picture_is_no_wider_than_a_page_and_crosses_no_more(name: str) -> None:
    figure = Figure(recorded(name))
    assert figure.outlined is not None
    before = figure.outlined.fitted
    for path in openable(state(figure))[:OPENED]:
        outlined = figure.opening(path).outlined
        assert outlined is not None
        assert outlined.fitted.width <= max(WIDTH, before.width), path
        assert outlined.fitted.crossings <= before.crossings, path


@pytest.mark.parametrize("cut", [None, 3])
def test_other_cards_stay(cut: int | None) -> None:
    figure = Figure(blocks(cut))
    before, shown = cards_of(figure), state(figure)
    for path in openable(shown):
        opened = cards_of(figure.opening(path)).values()
        closed = [i for i, card in shown["cards"].items() if card["opens"] == path]
        others = {i: calls for i, calls in before.items() if i not in closed}
        # the statement after a block ran outside it, so it joins the next card when that opens
        gone = [i for i, calls in others.items() if not any(calls <= o for o in opened)]
        assert len(gone) <= 1, (path, gone)
        assert len({*others.values()} & {*opened}) >= len(others) - 1


@pytest.mark.parametrize("paths", [["h.2"], ["h.2.mlp"], ["h.1", "h.4.mlp.0.weight"]])
def test_focus_opens_as_a_click_does(paths: list[str]) -> None:
    graph = blocks()
    focused, opened = Figure(graph, focus=paths), Figure(graph).opening(paths)
    assert focused.svg == opened.svg
    assert focused.svg != Figure(graph).svg
    both = [*paths, "h.5"]  # what was open stays open when something else is opened too
    assert focused.opening(both).svg == opened.opening(both).svg


def test_a_module_of_one_operation_keeps_its_card() -> None:
    figure = Figure(blocks())
    assert cards_of(figure.opening("start")) == cards_of(figure)


def test_what_was_cut_in_two_opens_module_by_module() -> None:
    figure = Figure(blocks(3))
    shown = state(figure)
    assert "model.h.3" in openable(shown)
    opened = figure.opening("h.3")
    titles = [card.title for card in opened.outlined.outline.cards]  # type: ignore[union-attr]
    assert sum("ln" in title for title in titles) == 1
    assert sum(title.endswith("mlp") for title in titles) == 1


class Written(nn.Module):
    """A block without modules inside."""

    def __init__(self, cut: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8, 8))
        self.cut = cut

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x @ self.weight
        return (y.detach() if self.cut else y).relu() @ self.weight


def test_what_was_cut_in_two_and_has_no_modules_inside_opens_by_its_name_alone() -> None:
    model = nn.Sequential(*(Written(i == 3) for i in range(6)))
    with gv.record() as rec:
        model(torch.randn(5, 8)).sum().backward()
    figure = rec.figure()
    assert figure.outlined is not None
    assert figure.outlined.fitting is not None
    kinds = [unit.kind.value for unit in figure.outlined.fitting.plan.units]
    assert kinds.count("piece") == 2
    assert openable(state(figure)) == []
    opened = figure.opening("3").outlined
    assert opened is not None
    assert any("@" in card.title for card in opened.outline.cards)  # by its name: its operations


def test_a_range_opens_its_first_and_the_others_stay_together() -> None:
    shown = state(Figure(blocks()).opening("h.0"))
    titles = [card["key"] for card in shown["cards"].values()]
    assert any("{1..5}" in title for title in titles), titles


def test_opening_two_and_closing_one_gives_the_picture_of_the_other() -> None:
    figure = Figure(blocks())
    both = figure.opening(["h.1", "h.4"])
    assert state(both.opening(["h.4"]))["svg"] == state(figure.opening("h.4"))["svg"]
    assert both.opening(()).svg == figure.svg


def test_what_was_folded_gets_its_own_cards() -> None:
    """Neighbours that share a card for lack of room are told apart when a reader asks for one."""
    figure = Figure(recorded("unet"))
    shown = state(figure)
    assert figure.outlined is not None
    assert figure.outlined.fitting is not None
    folded = [
        (f"n{k}", unit)
        for k, unit in enumerate(figure.outlined.fitting.plan.units)
        if unit.merged.value == "fold"
    ]
    assert folded, "nothing was folded"
    for card, unit in folded:
        path = shown["cards"][card]["opens"]
        now = cards_of(figure.opening(path))
        assert frozenset(cards_of(figure)[card]) not in now.values()
        assert len(now) >= len(shown["cards"]) + len(unit.members) - 1


def test_a_module_called_in_a_loop_does_not_open() -> None:
    figure = Figure(recorded("rnn"))
    assert openable(state(figure)) == []
    assert state(figure.opening("model.cell"))["svg"] == figure.svg


# --- what a reader can go to ----------------------------------------------------------------------


def test_crumbs_lead_to_what_is_open() -> None:
    figure = Figure(blocks())
    root = figure.graph.modules[0].name
    outline = state(figure.opening(["h.1.mlp", "h.4"]))["outline"]
    assert outline["opened"] == [f"{root}.h.1", f"{root}.h.1.mlp", f"{root}.h.4"]
    assert outline["crumbs"] == [
        [[root, root], ["h.1", f"{root}.h.1"], ["mlp", f"{root}.h.1.mlp"]],
        [[root, root], ["h.4", f"{root}.h.4"]],
    ]
    assert state(figure)["outline"]["crumbs"] == [[[root, root]]]


def test_what_is_red_is_what_lost_its_gradient() -> None:
    graph, lost = trained(3)
    shown = state(Figure(graph))
    outline = shown["outline"]
    of_lost = {outline["names"][f"model.{name}"][0] for name in lost}
    ends = {i for i, card in shown["cards"].items() if "the gradient ends here" in card["look"]}
    assert of_lost
    # where the gradient ends, behind the cut: that costs nothing by itself
    assert {*outline["alarms"]} == of_lost
    assert len(ends - of_lost) == 1
    assert outline["red"] == ["model.h.0", "model.h.3"]
    unharmed, lost = trained(None)
    outline = state(Figure(unharmed))["outline"]
    assert (lost, outline["red"], outline["alarms"]) == (set(), [], [])


@pytest.mark.parametrize("name", MODELS)
def test_each_name_leads_to_a_card_that_contains_it(name: str) -> None:
    graph = recorded(name)
    figure = Figure(graph)
    for opened in [(), *[(path,) for path in openable(state(figure))[:2]]]:
        now = figure.opening(opened)
        shown, cards = state(now), cards_of(now)
        names = shown["outline"]["names"]
        for module in graph.modules:
            for path, _ in module.children:
                full = f"{module.name}.{path}"
                card, closed, *_ = names[full]
                ran = calls_below(graph, full)
                if not ran:
                    continue
                assert cards[card] & ran, full
                if closed:
                    assert full.startswith(f"{closed}."), full
                    assert closed not in shown["outline"]["opened"], full
            for parameter in module.parameters:
                assert f"{module.name}.{parameter.name}" in names


@pytest.mark.parametrize("name", ["gpt2", "vae", "unet"])
def test_what_a_name_has_to_open_gives_it_a_card_of_its_own(name: str) -> None:
    graph = recorded(name)
    figure = Figure(graph)
    names = state(figure)["outline"]["names"]
    inner = [(full, closed) for full, (_, closed, *_leaf) in names.items() if closed]
    assert inner
    for full, closed in inner[:: max(len(inner) // 4, 1)]:
        after = state(figure.opening(closed))["outline"]["names"][full]
        assert after[1] == "", full


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("h.77", "opening() was given 'h.77'; expected the path of a module of this graph ("),
        (7, "opening() was given the int 7; expected a module's path, as in 'transformer.h.5'"),
    ],
)
def test_a_wrong_module_is_refused(wrong: Any, said: str) -> None:
    with pytest.raises(GradvizError, match=said.replace("(", r"\(").replace(")", r"\)")):
        assert Figure(blocks()).opening(wrong).outlined


# --- pages ----------------------------------------------------------------------------------------


def test_a_page_has_the_states_that_clicks_lead_to() -> None:
    figure = Figure(blocks(3))
    states, places = opened_states(figure)
    assert len(states) == len(places) <= STATES
    assert states[0]["svg"] == figure.svg
    for key, place in places.items():
        assert states[place]["outline"]["opened"] == [*filter(None, key.split("\n"))]
    ways = [key.split("\n")[-1] for key in places]
    for shown in states:
        assert {*openable(shown)} <= {*ways}
    assert "\n".join(states[0]["outline"]["red"]) in places


def test_a_page_of_a_large_model_stays_small() -> None:
    states, _ = opened_states(Figure(recorded("gpt_96")))
    assert 2 < len(states) <= STATES
    assert sum(len(repr(shown)) for shown in states) < 1.3 * LETTERS


def test_a_range_names_its_members_and_each_of_them_opens() -> None:
    figure = Figure(blocks())
    (card,) = [c for c in state(figure)["cards"].values() if "members" in c]
    assert card["opens"] == card["members"][0]
    assert card["members"] == [f"model.h.{k}" for k in range(6)]
    for name in card["members"][2:4]:
        opened = state(figure.opening(name))
        assert opened["outline"]["opened"] == [name]
        others = [m for c in opened["cards"].values() for m in c.get("members", ())]
        assert name not in others
        assert {*others} < {*card["members"]}
    # a card of one module, or of unequal ones, offers nothing
    assert all("members" not in c for c in state(Figure(recorded("unet")))["cards"].values())


@pytest.mark.parametrize("path", ["transformer.h.1", "transformer.h.0", "transformer"])
def test_plans_wider_than_a_page_are_not_laid_out(monkeypatch, path):
    """They are left out before any layout, and the picture is the one that all plans lead to."""
    laid_out, too_wide = Fitting.laid_out, Fitting.is_wider_than_a_page
    tried: list[bool] = []

    def noting(self: Fitting, plan: Any, **how: Any) -> Any:
        fitted = laid_out(self, plan, **how)
        tried.append(too_wide(self, plan))
        assert not tried[-1] or fitted.width > WIDTH
        return fitted

    figure = Figure(recorded("gpt2"))
    _ = figure.svg
    monkeypatch.setattr(Fitting, "laid_out", noting)
    quick = figure.opening([path]).svg
    assert tried
    assert not any(tried)
    tried.clear()
    monkeypatch.setattr(Fitting, "is_wider_than_a_page", lambda *_: False)
    assert figure.opening([path]).svg == quick
    assert any(tried)
