"""The panel: what lies in it, what a change sends to the page, and when it is displayed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from svg import cards_of
from traitlets.config import Config

from gradviz import controls
from gradviz.live import explore as exploring
from gradviz.live.explore import Exploration, explore
from gradviz.picture.state import state

VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def exploration() -> Exploration:
    @explore(
        copy=[torch.Tensor.clone, torch.Tensor.detach],
        again=controls.button("backward again"),
        k=(1, 5),
    )
    def scenario(copy: Any, again: int, k: int) -> None:
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        b = copy(a)
        for _ in range(1 + again):
            (a * 2 + b * k).sum().backward()

    return scenario


def parts(exploration: Exploration) -> tuple[Any, Any]:
    """What is ipywidgets' own, and the graph widget."""
    (grid,) = exploration.widget.children
    column, shown = grid.children
    assert tuple(box._dom_classes[0] for box in (exploration.widget, grid, column)) == (
        "gradviz-room",
        "gradviz-panel",
        "gradviz-controls",
    )
    return column.children, shown


def test_every_control_stands_at_the_first_line_that_reads_it(exploration: Exploration) -> None:
    others, shown = parts(exploration)
    assert others == ()
    first = exploration.code["first"]
    assert [(one["label"], one["kind"], one["line"] - first) for one in shown.controls] == [
        ("copy", "buttons", 2),
        ("backward again", "counter", 3),
        ("k", "slider", 4),
    ]
    assert shown.values == {"copy": 0, "again": 0, "k": 2}
    assert shown.code["columns"] == {
        first + 1: len("a = torch.tensor([1.0, 2.0], requires_grad=True)"),
        first + 2: len("b = a.detach()"),
        first + 3: len("for _ in range(1 + 0):"),
        first + 4: len("    (a * 2 + b * 3).sum().backward()"),
    }
    settings = "copy=clone again=0 k=3"
    assert {**shown.state, "text": exploration.state["text"]} == exploration.state
    code = exploration.filled.sent
    whole = state(exploration.figure, listing=exploration._last.listing)
    # its cards stand among those of earlier pictures, and its legend beside it
    placed = {part: exploration.state[part] for part in ("svg", "legend", "notes")}
    assert exploration.state == {**whole, **placed, "settings": settings, "code": code}
    assert cards_of(placed["svg"]) == cards_of(whole["svg"]) != []
    assert [sign for sign, _ in placed["legend"]] == ["forward", "gradient"]
    assert [line[1] for line in code][1] == "b = a.clone()"


def test_what_the_panel_chooses_is_what_the_widgets_show_and_back(exploration: Exploration) -> None:
    _, shown = parts(exploration)
    shown.values = {"copy": 1, "again": 2, "k": 4}
    assert exploration.values == {"copy": "detach", "again": "2", "k": "5"}
    assert exploration.widgets["again"].description == "backward again (2)"
    exploration.widgets["copy"].index = 0
    assert shown.values == {"copy": 0, "again": 2, "k": 4}
    shown.values = {"copy": 1}  # the others stay
    assert exploration.values == {"copy": "detach", "again": "2", "k": "5"}
    shown._answer(shown, {"reset": True}, [])
    assert shown.values == {"copy": 0, "again": 0, "k": 2}


def test_a_widget_of_the_readers_own_stands_above_the_code() -> None:
    import ipywidgets

    own = ipywidgets.IntSlider(3, 1, 5)

    @explore(k=own, on=True)
    def scenario(k: int, on: bool) -> None:
        a = torch.ones(k, requires_grad=on)
        (a * k).sum()

    others, shown = parts(scenario)
    assert others == (own,)
    assert [one["name"] for one in shown.controls] == ["on"]


def test_cards_and_sentences_use_the_filled_code(exploration: Exploration) -> None:
    exploration.set(copy="detach")
    looks = [card["look"].split("\n")[0] for card in exploration.state["cards"].values()]
    assert "b = a.detach()" in looks
    assert exploration.sentence.startswith(f"✂ Line {exploration.code['first'] + 2}: detach()")


def test_what_a_choice_calls_is_told_at_the_line_that_calls_it() -> None:
    def helper(t: Any) -> Any:
        return t.exp()

    @explore(change={"exp": lambda t: (t * 2).exp()})
    def scenario(change: Any) -> None:
        a = torch.ones(1, requires_grad=True)
        b = helper(a) + change(a)
        b.backward()

    told = [(c.function, c.source.code) for c in scenario.run().graph.calls if c.source]
    assert ("mul", "a * 2") in told
    assert ("exp", "(a * 2).exp()") in told
    # what another function calls by the same name is its own
    assert ("exp", "return t.exp()") in told or ("exp", "t.exp()") in told


def test_a_click_is_one_message_and_the_state_of_a_fresh_run(
    exploration: Exploration, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, shown = parts(exploration)
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(shown, "send_state", lambda key=None: sent.append(shown.get_state(key)))
    start = dict(shown.state)
    exploration.widgets["copy"].index = 1
    exploration.widgets["again"].click()
    exploration.widgets["k"].value = 4
    assert [set(message) for message in sent] == [{"state", "drawn_for", "values"}] * 3
    assert shown.figure is exploration.figure
    shown_to_page = [json.loads(message["state"]) for message in sent]
    row = next(row["cells"] for row in shown_to_page[-1]["table"] if row["cells"][0] == "a")
    assert row[2] == "[4, 4]"  # two backwards that meet a * 2 only
    exploration.reset()
    assert len(sent) == 4
    # The page shows the text only without a picture, and is told that nothing is to be marked as
    # changed.
    as_sent = json.loads(json.dumps(start))
    last = json.loads(sent[3]["state"])
    assert last["svg"]
    as_sent["svg"] = last["svg"]  # what came in between has its place in it
    assert last == {**as_sent, "text": "", "afresh": True}


def test_an_error_reaches_the_page_with_its_line() -> None:
    @explore(requires_grad=controls.requires_grad)
    def scenario(requires_grad: bool) -> None:
        a = torch.ones(2, requires_grad=requires_grad)
        a.sum().backward()

    _, shown = parts(scenario)
    assert shown.state["error"] == ""
    scenario.set(requires_grad=False)
    assert shown.state["error"].startswith(
        "RuntimeError: element 0 of tensors does not require grad"
    )
    assert shown.state["lines"] == [scenario.code["first"] + 2]
    assert shown.state["cards"]


def test_what_is_selected_comes_back_as_records(exploration: Exploration) -> None:
    assert exploration.selected is None
    _, shown = parts(exploration)
    assert exploration.selected is None
    shown.selected = next(i for i, card in shown.state["cards"].items() if card["key"] == "b")
    found = exploration.selected
    assert [t.name for t in found.tensors] == ["b"]
    assert [call.function for call in found.calls] == ["clone"]
    exploration.set(copy="detach")  # still the card of b, in another picture
    assert [call.function for call in exploration.selected.calls] == ["detach"]


def test_a_selection_that_moves_is_in_the_same_message(monkeypatch: pytest.MonkeyPatch) -> None:
    @explore(first=False)
    def scenario(first: bool) -> None:
        if first:
            z = torch.ones(1, requires_grad=True)
            y = z * 2  # noqa: F841
        a = torch.ones(2, requires_grad=True)
        b = a * 2  # noqa: F841

    _, shown = parts(scenario)
    shown.selected = next(i for i, card in shown.state["cards"].items() if card["key"] == "b")
    before, sent = shown.selected, []
    monkeypatch.setattr(shown, "send_state", lambda key=None: sent.append(shown.get_state(key)))
    scenario.set(first=True)
    assert shown.selected != before
    assert [set(message) for message in sent] == [{"state", "drawn_for", "values", "selected"}]


def test_it_displays_text_picture_and_widget(exploration: Exploration) -> None:
    bundle = exploration._repr_mimebundle_()
    assert bundle.keys() == {"text/plain", "text/html", VIEW}
    assert bundle["text/plain"] == exploration.text
    assert bundle["text/html"] == exploration.figure.html
    assert bundle[VIEW]["model_id"] == exploration.widget.model_id


CELL = """
import gradviz.live.explore
@gradviz.live.explore.explore(k=[1, 2])
def scenario(k):
    return k
"""


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """A shell of its own, which leaves neither cells nor hooks behind."""
    before = sys.displayhook, sys.excepthook
    yield InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    InteractiveShell.clear_instance()
    sys.displayhook, sys.excepthook = before


def test_in_a_notebook_a_cell_shows_it_once(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", lambda bundle, **_: shown.append(bundle))

    def run(code: str) -> int:
        shown.clear()
        assert shell.run_cell(code, store_history=True).success
        return len(shown)

    assert run(CELL) == 0  # a terminal
    monkeypatch.setattr(exploring, "kernel", lambda: object())
    assert run(CELL) == 1
    assert run(CELL + "scenario.set(k=2)") == 1
    assert run("scenario") == 1
    assert "k=2" in shown[0]["text/plain"]
    assert run("scenario.set(k=1);") == 0
