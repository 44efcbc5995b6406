"""Widgets of a cell that is run again: the former ones leave the kernel, and nothing that is still
in use does."""

from __future__ import annotations

import gc
import tracemalloc
import types
import weakref
from collections.abc import Callable
from typing import Any

import ipywidgets
import pytest
import torch
from ipywidgets.widgets import widget as ipywidgets_widget

import gradviz as gv
from gradviz.live import explore as exploring
from gradviz.live import lifetime
from gradviz.live.explore import Exploration, explore
from gradviz.notebook.lesson import question


class Notebook:
    """Cells of a kernel: each call of ``run`` is one run of the cell with that id."""

    def __init__(self) -> None:
        self.count = 0
        self.parent: dict[str, Any] = {}

    def run(
        self,
        cell: str | None,
        work: Callable[[], Any],
        session: str = "page",
        kind: str = "execute_request",
    ) -> Any:
        self.count += 1
        header = {"msg_id": f"message {self.count}", "session": session, "msg_type": kind}
        self.parent = {"header": header, "metadata": {"cellId": cell} if cell else {}}
        return work()


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    found = Notebook()
    kernel = types.SimpleNamespace(get_parent=lambda: found.parent)
    shell = types.SimpleNamespace(kernel=kernel, execution_count=1)
    monkeypatch.setattr(lifetime, "shell", lambda: shell)
    monkeypatch.setattr(lifetime, "_shown", {})
    monkeypatch.setattr(exploring, "kernel", lambda: None)
    return found


def scenario(copy: Any, k: int) -> None:
    a = torch.ones(2, requires_grad=True)
    (a * 2 + copy(a) * k).sum().backward()


def make(**more: Any) -> Exploration:
    return explore(
        scenario, **{"copy": [torch.Tensor.clone, torch.Tensor.detach], "k": (1, 5), **more}
    )


def show(thing: Any) -> Any:
    """As the display of the last value of a cell does."""
    if isinstance(thing, Exploration):
        thing._repr_mimebundle_()
        lifetime.note_shown(thing)
    else:
        thing._repr_mimebundle_()
    return thing


def models() -> int:
    return len(ipywidgets_widget._instances)


def recorded() -> gv.Recording:
    with gv.record() as rec:
        a = torch.ones(2, requires_grad=True)
        (a * 2).sum().backward()
    return rec


KINDS: dict[str, Callable[[], Any]] = {
    "explore": make,
    "question": lambda: question(
        "?", lambda: None, truth=lambda run: 1, answers={1: None, 2: None}
    ),
    "play": lambda: gv.play(recorded()),
    "GraphWidget": lambda: gv.GraphWidget(recorded()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_fifty_runs_of_a_cell_leave_the_widgets_of_one(notebook: Notebook, kind: str) -> None:
    def once() -> None:
        show(KINDS[kind]())

    notebook.run("cell", once)
    gc.collect()
    before = models()
    for _ in range(50):
        notebook.run("cell", once)
    assert models() == before


def test_a_run_leaves_no_memory_behind(notebook: Notebook) -> None:
    runs = 40  # what stays once, as caches do, is no leak: over many runs it does not count
    tracemalloc.start()
    try:
        for _ in range(3):
            notebook.run("cell", lambda: show(make()))
        gc.collect()
        start, _ = tracemalloc.get_traced_memory()
        for _ in range(runs):
            notebook.run("cell", lambda: show(make()))
        gc.collect()
        end, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (end - start) / runs < 10_000, f"{(end - start) / runs:,.0f} bytes a run stay"


def test_what_nobody_kept_is_freed(notebook: Notebook) -> None:
    former = weakref.ref(notebook.run("cell", lambda: show(make())))
    notebook.run("cell", lambda: show(make()))
    gc.collect()
    assert former() is None


def test_a_cell_may_show_two_and_both_are_closed(notebook: Notebook) -> None:
    def both() -> list[Exploration]:
        return [show(make()), show(make())]

    first = notebook.run("cell", both)
    assert all("widget" in one.__dict__ for one in first)
    second = notebook.run("cell", both)
    assert not any("widget" in one.__dict__ for one in first)
    assert all("widget" in one.__dict__ for one in second)


def test_another_cell_another_page_and_a_callback_close_nothing(notebook: Notebook) -> None:
    former = notebook.run("cell", lambda: show(make()))
    notebook.run("other cell", lambda: show(make()))
    notebook.run("cell", lambda: show(make()), session="another page")
    notebook.run("cell", lambda: show(make()), kind="comm_msg")
    notebook.run(None, lambda: show(make()))
    assert "widget" in former.__dict__
    notebook.run("cell", lambda: show(make()))
    assert "widget" not in former.__dict__


def test_what_another_cell_shows_stays_until_that_is_run_again(notebook: Notebook) -> None:
    first = notebook.run("cell", lambda: show(make()))
    notebook.run("below", lambda: show(first))
    second = notebook.run("cell", lambda: show(make()))
    assert first.widget.comm is not None
    notebook.run("below", lambda: show(second))
    assert "widget" not in first.__dict__
    assert second.widget.comm is not None


def test_a_closed_exploration_works_and_can_be_shown_again(notebook: Notebook) -> None:
    first = notebook.run("cell", lambda: show(make()))
    notebook.run("cell", lambda: show(make()))
    assert first.set(copy="detach", k=5).values == {"copy": "detach", "k": "5"}
    assert first.tensors["a"]["grad"] == "[2, 2]"
    assert first.run(k=1).tensors["a"]["grad"] == "[3, 3]"
    assert first.reset().tensors["a"]["grad"] == "[5, 5]"
    assert first.selected is None
    before = models()
    notebook.run("another cell", lambda: show(first))
    assert models() > before
    assert [w.comm is not None for w in (first.widget, first._controls["k"].widget)] == [True, True]
    first._controls["k"].widget.value = 1
    assert first._graph_widget is not None
    assert first._graph_widget.state["settings"] == "copy=clone k=1"


def test_a_closed_player_and_a_closed_question_can_be_shown_again(notebook: Notebook) -> None:
    for kind in ("play", "GraphWidget"):
        former = notebook.run("cell", lambda kind=kind: show(KINDS[kind]()))
        notebook.run("cell", lambda kind=kind: show(KINDS[kind]()))
        assert former.comm is None
        former.selected = ""
        data, _ = former._repr_mimebundle_()
        assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == former.model_id
        assert former.layout.comm is not None
    asked = notebook.run("questions", lambda: show(KINDS["question"]()))
    notebook.run("questions", lambda: show(KINDS["question"]()))
    assert asked.answer(2) == "You said 2; it is 1."
    notebook.run("more", lambda: show(asked))
    assert asked._buttons.index == 1


def test_a_widget_of_the_readers_own_is_left_open(notebook: Notebook) -> None:
    slider = ipywidgets.IntSlider(value=2, min=1, max=5)
    former = notebook.run("cell", lambda: show(make(k=slider)))
    notebook.run("cell", lambda: show(make(k=slider)))
    assert slider.comm is not None
    assert slider.layout.comm is not None
    slider.value = 4
    assert former.values["k"] == "4"
    # what it says belongs to where the slider stands
    assert former.tensors["a"]["grad"] == "[6, 6]"


def test_what_stands_in_an_open_box_is_left_there(notebook: Notebook) -> None:
    former = notebook.run("cell", lambda: show(make()))
    box = ipywidgets.VBox([former.widget])
    notebook.run("cell", lambda: show(make()))
    assert box.children[0].comm is not None
    assert former.widget is box.children[0]


# --- which controls a state belongs to ------------------------------------------------------------


def belongs(exploration: Exploration) -> list[Any]:
    exploration._repr_mimebundle_()
    shown = exploration._graph_widget
    assert shown is not None
    widgets = [control.widget.model_id for control in exploration._controls.values()]
    *controls, panel = shown.drawn_for
    assert [one[0] for one in controls] == widgets
    assert panel == [shown.model_id, "values", exploration._places]
    return [one[1:] for one in controls]


def test_a_state_comes_with_what_its_controls_show() -> None:
    exploration = make(
        copy=[torch.Tensor.clone, torch.Tensor.detach], k=gv.controls.button("again")
    )
    assert belongs(exploration) == [["index", 0], ["description", "again"]]
    exploration.set(copy="detach", k=2)
    assert belongs(exploration) == [["index", 1], ["description", "again (2)"]]
    assert exploration._controls["k"].widget.description == "again (2)"
    day = ipywidgets.DatePicker()
    assert belongs(make(k=day, copy=[torch.Tensor.clone]))[1] == ["value", None]


def test_a_control_that_moves_during_the_run_is_not_what_the_state_belongs_to() -> None:
    def moving(k: int) -> None:
        torch.ones(1, requires_grad=True).sum().backward()
        if k == 2:
            seen.append(made._controls["k"].widget)
            made._controls["k"].widget.value = 3

    seen: list[Any] = []
    made = explore(moving, k=(1, 5))
    made.widget  # noqa: B018
    shown = made._graph_widget
    assert shown is not None
    sent: list[Any] = []
    shown.observe(lambda change: sent.append(change.new[0][2]), "drawn_for")
    made.set(k=2)
    assert sent == [2, 3]


def test_a_question_of_the_page_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    exploration = make()
    exploration.widget  # noqa: B018
    shown = exploration._graph_widget
    assert shown is not None
    sent: list[Any] = []
    monkeypatch.setattr(shown, "_send", lambda msg, buffers=None: sent.append(msg))
    ask = {"method": "custom", "content": {"ask": ["view", 1], "again": False}}
    shown._handle_msg({"content": {"data": ask}, "buffers": []})
    assert [m["content"] for m in sent] == [{"answer": ["view", 1], "busy": False}]
    exploration._turns._wanted = True  # a click that waits for the main thread
    shown._handle_msg({"content": {"data": ask}, "buffers": []})
    assert sent[-1]["content"]["busy"] is True
    exploration._turns._wanted = False
    sent.clear()
    again = {"method": "custom", "content": {"ask": ["view", 2], "again": True}}
    shown._handle_msg({"content": {"data": again}, "buffers": []})
    assert [m["method"] for m in sent] == ["update", "custom"]
    assert {"state", "drawn_for", "values"} == sent[0]["state"].keys()
    shown._handle_msg(
        {"content": {"data": {"method": "custom", "content": "something else"}}, "buffers": []}
    )
    assert len(sent) == 2


def test_what_the_page_shows_holds_where_it_asks_for_everything_again() -> None:
    """Clicks that the page has not sent yet are not undone by the values of before."""
    exploration = gv.explore(make_nothing, copy=["a", "b"], again=gv.controls.button("again"))
    exploration.widget  # noqa: B018
    shown = exploration._graph_widget
    assert shown is not None
    sent: list[str] = []
    shown.send_state = lambda key=None: sent.append(
        " ".join([key] if isinstance(key, str) else key)
    )

    def asks(values: Any) -> None:
        asked = {"ask": ["view", 1], "again": True, "values": values}
        message = {"method": "custom", "content": asked}
        shown._handle_msg({"content": {"data": message}, "buffers": []})

    asks({"copy": 1, "again": 5})
    assert exploration.values == {"copy": "b", "again": "5"}
    assert not any("values" in keys for keys in sent)
    for strange in (None, "copy", {"copy": 0}, {"copy": 0, "again": 0, "other": 1}):
        asks(strange)
        assert exploration.values == {"copy": "b", "again": "5"}
        assert "values" in sent[-1]


def make_nothing(copy: str, again: int) -> None:
    """A scenario of which only the controls matter."""
