"""The Python side of the live picture: what is sent, what comes back, what it says without
anywidget."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest
import torch

import gradviz as gv
from gradviz.graph.records import GradvizError
from gradviz.live.widget import GraphWidget


def recorded(copy: str = "detach") -> gv.Recording:
    with gv.record() as rec:
        a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        b = a.clone() if copy == "clone" else a.detach()
        ((a * 2) + b).sum().backward()
    return rec


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    monkeypatch.setattr(GraphWidget, "_send", lambda self, msg, buffers=None: messages.append(msg))
    return messages


def key_of(widget: GraphWidget) -> str:
    return str(widget.shown["cards"][widget.selected]["key"])


@pytest.mark.parametrize(
    "shown", [recorded(), recorded().graph, recorded().figure()], ids=["rec", "graph", "figure"]
)
def test_it_shows_recordings_graphs_and_figures(shown: Any) -> None:
    widget = GraphWidget(shown)
    assert widget.figure is not None
    assert widget.state["svg"] == widget.figure.svg
    assert {"a", "b"} <= {c["key"] for c in widget.state["cards"].values()}


def test_it_says_what_it_cannot_show() -> None:
    with pytest.raises(
        GradvizError,
        match="a live picture shows a Figure, a Recording or a Graph, not an object of type Tensor",
    ):
        GraphWidget(torch.ones(2))


def test_selection_gives_the_records_behind_a_card() -> None:
    rec = recorded()
    widget = GraphWidget(rec)
    assert widget.selection is None
    widget.selected = next(i for i, c in widget.state["cards"].items() if c["key"] == "b")
    chosen = widget.selection
    assert chosen is not None
    assert [t.name for t in chosen.tensors] == ["b"]
    assert [c.function for c in chosen.calls] == ["detach"]
    assert chosen.nodes == ()
    assert all(t in rec.graph.tensors for t in chosen.tensors)


@pytest.mark.parametrize("wrong", ["n99", "e0", "a", "__proto__"])
def test_an_unknown_selection_becomes_none(wrong: str) -> None:
    widget = GraphWidget(recorded(), selected=wrong)
    assert widget.selected == ""
    widget.selected = "n0"
    widget.selected = wrong
    assert (widget.selected, widget.selection) == ("", None)


def test_another_figure_is_one_message_and_keeps_the_card_by_its_key(
    sent: list[dict[str, Any]],
) -> None:
    widget = GraphWidget(recorded("clone"))
    last = list(widget.state["cards"])[-1]
    widget.selected = last
    key = key_of(widget)
    cards = widget.state["cards"]
    renamed = {**widget.state, "cards": {**cards, "n0": cards[last], last: {"key": "x"}}}
    sent.clear()
    widget.show(recorded(), error="RuntimeError: no")
    assert [sorted(m["state"]) for m in sent] == [["state"]]
    assert widget.state["error"] == "RuntimeError: no"
    assert key_of(widget) == key
    widget.state = renamed
    assert (widget.selected, key_of(widget)) == ("n0", key)
    widget.state = {**renamed, "cards": {}}
    assert widget.selected == ""


def test_a_book_keeps_its_selection_from_step_to_step() -> None:
    one, two = (
        {"svg": "", "text": "", "cards": cards}
        for cards in ({"n0": {"key": "a"}, "n1": {"key": "b"}}, {"n0": {"key": "b"}})
    )
    widget = GraphWidget(book={"states": [one, two]}, selected="n1")
    widget.step = 1
    assert (widget.selected, key_of(widget)) == ("n0", "b")
    widget.set_state({"step": 0, "selected": "n1"})  # as a browser sends it
    assert (widget.step, widget.selected) == (0, "n1")
    widget.step = 7
    assert widget.shown["cards"] == two["cards"]


def test_every_mime_type_says_the_same() -> None:
    widget = GraphWidget(recorded())
    data, _ = widget._repr_mimebundle_()
    assert data["text/plain"] == widget.state["text"]
    assert data["text/html"].startswith('<img alt="Picture of a computation')
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == widget.model_id
    assert GraphWidget()._repr_mimebundle_()[0]["text/plain"] == "An empty picture."


def test_the_script_is_one_module_that_asks_the_network_for_nothing() -> None:
    script, style = str(GraphWidget._esm), str(GraphWidget._css)
    assert script.count("export {") == script.count(" as default,") == 1
    code = "\n".join(line.split("//")[0] for line in script.splitlines())
    for forbidden in (
        r"^import\b",
        r"\bfetch\(",
        r"\beval\(",
        r"HTML\b(?! )",
        r"document\.write",
        r"\bFunction\(",
    ):
        assert not re.search(forbidden, code, re.MULTILINE), forbidden
    assert "http" not in script.replace("http://www.w3.org/2000/svg", "")
    assert "url(" not in style
    assert "@import" not in style


def test_without_anywidget_it_says_what_to_install_and_pictures_still_work() -> None:
    code = (
        "import sys; sys.modules['anywidget'] = None\n"
        "import torch, gradviz as gv\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "assert gv.show((x * 2).sum()).svg\n"
        "try:\n    import gradviz.live.widget\n"
        "except gv.GradvizError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install anywidget" in done.stdout, done.stderr


# --- opening modules of an outline ----------------------------------------------------------------


def model_recorded() -> gv.Recording:
    model = torch.nn.Sequential(
        *(torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU()) for _ in range(9))
    )
    with gv.record() as rec:
        model(torch.ones(2, 3)).sum().backward()
    return rec


def test_what_is_opened_is_the_picture_of_opening_it(sent: list[dict[str, Any]]) -> None:
    rec = model_recorded()
    widget = GraphWidget(rec)
    sent.clear()
    widget.opened = ["model.4"]
    figure = rec.figure().opening("4")
    assert widget.state["svg"] == figure.svg
    assert widget.figure is not None
    assert widget.figure.text == figure.text
    assert widget.state["outline"]["opened"] == widget.opened == ["model.4"]
    assert [message["state"].keys() for message in sent] == [{"opened"}, {"state"}]
    widget.opened = []
    assert widget.state["svg"] == rec.figure().svg
    assert widget.state["sentence"] == GraphWidget(rec).state["sentence"]


def test_opening_says_the_whole_way_and_keeps_what_is_said_around_the_picture() -> None:
    rec = model_recorded()
    widget = GraphWidget()
    widget.show(rec, printed="hello", lines=[3], sentence="It ran.")
    widget.opened = ["4"]
    assert widget.opened == ["model.4"]
    said = [widget.state[name] for name in ("printed", "lines", "sentence", "error")]
    assert said == ["hello", [3], "It ran.", ""]
    assert "It ran." in widget._repr_mimebundle_()[0]["text/plain"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["zzz"], "opened was given 'zzz'; expected paths of modules of this picture (model.0"),
        ([3], "opened was given the int 3; expected paths of modules, as ["),
        (None, "opened was given None; expected paths of modules, as ["),
    ],
)
def test_a_wrong_opening_is_refused_and_nothing_changes(wrong: Any, said: str) -> None:
    widget = GraphWidget(model_recorded(), opened=["4"])
    before = widget.state
    with pytest.raises(GradvizError, match=re.escape(said)):
        widget.opened = wrong
    assert widget.opened == ["model.4"]
    assert widget.state is before
    with pytest.raises(GradvizError, match=re.escape(said)):
        widget.set_state({"opened": wrong})  # as the page sets it
    assert widget.opened == ["model.4"]


def test_a_picture_that_is_no_outline_opens_nothing() -> None:
    widget = GraphWidget(recorded())
    with pytest.raises(GradvizError, match="nothing can be opened in this picture"):
        widget.opened = ["a"]
    assert GraphWidget().opened == []


def test_another_recording_keeps_open_what_it_has_too() -> None:
    widget = GraphWidget(model_recorded(), opened=["4", "7"])
    widget.show(model_recorded())
    assert widget.opened == widget.state["outline"]["opened"] == ["model.4", "model.7"]
    widget.show(recorded())
    assert (widget.opened, widget.state["outline"]) == ([], None)


def test_what_focus_opened_can_be_closed() -> None:
    rec = model_recorded()
    widget = GraphWidget(gv.Figure(rec.graph, focus="4"))
    assert widget.opened == ["model.4"]
    widget.opened = []
    assert widget.state["svg"] == rec.figure().svg
