"""Abbreviations become the controls that ipywidgets would make, and their states have names."""

from __future__ import annotations

from enum import Enum
from typing import Any

import ipywidgets
import numpy as np
import pytest
import torch

from gradviz import controls
from gradviz.graph.records import GradvizError
from gradviz.live.controls import control


class Colour(Enum):
    RED = 1
    BLUE = 2


@pytest.mark.parametrize(
    ("abbreviation", "kind", "widget", "labels", "start"),
    [
        (True, "checkbox", ipywidgets.Checkbox, ["False", "True"], ("True", True)),
        ((1, 5), "slider", ipywidgets.IntSlider, ["1", "2", "3", "4", "5"], ("3", 3)),
        (range(1, 6, 2), "slider", ipywidgets.IntSlider, ["1", "3", "5"], ("3", 3)),
        (
            (0.0, 0.4, 0.1),
            "slider",
            ipywidgets.FloatSlider,
            ["0", "0.1", "0.2", "0.3", "0.4"],
            ("0.2", 0.2),
        ),
        (["a", "b"], "buttons", ipywidgets.ToggleButtons, ["a", "b"], ("a", "a")),
        (
            [0.1, None, int],
            "buttons",
            ipywidgets.ToggleButtons,
            ["0.1", "None", "int"],
            ("0.1", 0.1),
        ),
        ({"one": 1, 2: "two"}, "buttons", ipywidgets.ToggleButtons, ["one", "2"], ("one", 1)),
        ([("x", 1), ("y", 2)], "buttons", ipywidgets.ToggleButtons, ["x", "y"], ("x", 1)),
        (list("abcdef"), "dropdown", ipywidgets.Dropdown, list("abcdef"), ("a", "a")),
        (
            ["a" * 31, "b" * 30],
            "dropdown",
            ipywidgets.Dropdown,
            ["a" * 31, "b" * 30],
            ("a" * 31, "a" * 31),
        ),
        ("words", "other", ipywidgets.Text, [], ("words", "words")),
        (
            ipywidgets.Dropdown(options=[("x", 1), ("y", 2)], value=2),
            "dropdown",
            ipywidgets.Dropdown,
            ["x", "y"],
            ("y", 2),
        ),
        (
            ipywidgets.IntSlider(7, 5, 9, 2),
            "slider",
            ipywidgets.IntSlider,
            ["5", "7", "9"],
            ("7", 7),
        ),
        (
            ipywidgets.ToggleButton(False),
            "checkbox",
            ipywidgets.ToggleButton,
            ["False", "True"],
            ("False", False),
        ),
        (ipywidgets.BoundedIntText(3), "other", ipywidgets.BoundedIntText, [], ("3", 3)),
        (controls.button("again"), "counter", ipywidgets.Button, ["0", "1", "2", "3"], ("0", 0)),
    ],
)
def test_abbreviations(
    abbreviation: Any, kind: str, widget: type, labels: list[str], start: tuple[str, Any]
) -> None:
    made = control("k", abbreviation)
    assert (made.kind, list(made.choices)) == (kind, labels)
    assert isinstance(made.widget, widget)
    assert made.read() == start
    if labels:
        assert labels[made.place] == start[0]
    for label, value in made.choices.items():  # each is to be reached by label and by value
        for given in (label, value):
            made.put(made.find(given))
            assert made.read() == (label, value)


def test_a_numbers_default_is_a_slider_as_in_ipywidgets() -> None:
    made = control("k", 10)
    assert (made.widget.min, made.widget.max, made.read()) == (-10, 30, ("10", 10))


def test_tensors_can_be_choices() -> None:
    tensors = [torch.ones(2), torch.zeros(2)]
    made = control("x", {"ones": tensors[0], "zeros": tensors[1]})
    made.put(made.find(tensors[1]))
    assert made.read()[1] is tensors[1]
    arrays = control("x", {"ones": np.ones(2), "zeros": np.zeros(2)})
    with pytest.raises(GradvizError, match="not one of the control's states: ones, zeros"):
        arrays.find(np.ones(2))


def test_a_default_is_the_start() -> None:
    made = control("copy", [torch.Tensor.clone, torch.Tensor.detach], torch.Tensor.detach)
    assert (made.read()[0], made.start, made.place) == ("detach", 1, 1)
    assert control("k", (1, 5), 2).start == 2
    with pytest.raises(GradvizError, match="k=9 is not one of the control's states: 1, 2, 3, 4, 5"):
        control("k", (1, 5), 9)


@pytest.mark.parametrize(
    ("abbreviation", "message"),
    [
        (None, "no control can be made of k=None; expected a bool, a number, a text"),
        ((5, 1), r"no control can be made of k=\(5, 1\); expected"),
        (("a", "b", "c"), "no control can be made of k=.*a list or dict of choices"),
        (range(5, 1), r"k has nothing to choose from; expected at least one choice"),
        ([], "k has nothing to choose from; expected at least one choice"),
        (
            [lambda: 1, lambda: 2],
            r"k has two choices called '<lambda>'; give a dict: k={'a name': value, …}",
        ),
    ],
)
def test_what_makes_no_control_is_refused(abbreviation: Any, message: str) -> None:
    with pytest.raises(GradvizError, match=message):
        control("k", abbreviation)


def test_long_lists_of_states_are_shortened_in_errors() -> None:
    with pytest.raises(
        GradvizError, match=r"k=200 is not one of the control's states: 0, 1, 2, …, 99$"
    ):
        control("k", range(100)).find(200)


def test_a_button_counts_its_clicks_and_shows_them() -> None:
    made = control("again", controls.button("backward again"))
    assert made.label == "backward again"
    for _ in range(5):  # more than an exported page has
        made.widget.click()
    assert made.read() == ("5", 5)
    assert made.widget.description == "backward again (5)"
    made.put(made.start)
    assert (made.read(), made.widget.description) == (("0", 0), "backward again")


def test_ready_made_controls_can_be_used_more_than_once() -> None:
    first, second = (control("mode", controls.grad_mode) for _ in range(2))
    first.put(first.find("no_grad"))
    assert second.read()[0] == "none"
    assert first.kind == "buttons"


def test_the_modes_do_what_their_names_say() -> None:
    def inside(mode: Any) -> tuple[bool, bool]:
        with mode():
            return torch.is_grad_enabled(), torch.is_inference_mode_enabled()

    found = {label: inside(mode) for label, mode in controls.grad_mode.items()}
    assert found == {
        "none": (True, False),
        "no_grad": (False, False),
        "inference_mode": (False, True),
        "enable_grad": (True, False),
    }


def test_the_copies_share_memory_and_gradients_as_their_names_say() -> None:
    found = {}
    for label, copy in controls.copies.items():
        a = torch.ones(2, requires_grad=True)
        b = copy(a)
        assert b.tolist() == a.tolist()
        found[label] = (b.data_ptr() == a.data_ptr(), b.requires_grad, b.is_leaf)
    assert found == {
        "clone": (False, True, False),
        "detach": (True, False, True),
        "detach + requires_grad_": (True, True, True),
        ".data": (True, False, True),
        "copy_": (False, True, False),
    }


@pytest.mark.parametrize("abbreviation", [(0, 10**9), range(10**9), (0.0, 1e6, 1e-3)])
def test_a_long_slider_works_and_lists_nothing(abbreviation: Any) -> None:
    made = control("k", abbreviation)
    assert (made.kind, made.choices) == ("slider", {})
    made.put(made.find(7))
    assert made.read()[1] == 7


def test_a_learning_rate_can_be_moved_and_starts_where_it_is() -> None:
    for made in (control("lr", 0.01), control("lr", 0.01, 0.01), control("lr", (0.001, 0.1), 0.01)):
        assert made.read() == ("0.01", 0.01)
        assert list(made.choices)[made.place] == "0.01"
        assert len(made.choices) > 30
        assert list(made.choices.values()) == sorted(made.choices.values())


@pytest.mark.parametrize("abbreviation", [float("inf"), float("nan"), torch.tensor(2.0)], ids=str)
def test_what_makes_no_slider_is_told(abbreviation: Any) -> None:
    with pytest.raises(GradvizError, match="no control can be made of k="):
        control("k", abbreviation)


def test_a_choice_that_is_the_same_object_goes_before_one_that_is_equal() -> None:
    made = control("k", [0, False])
    made.put(made.find(False))
    assert made.read() == ("False", False)


@pytest.mark.parametrize(
    "abbreviation", [(0.001, 0.1), (1e-5, 1e-3), (0.1, 0.25), (0.0, 1.0), 0.37, 0.05, 3.0, 1e-4]
)
def test_a_slider_starts_on_one_of_its_steps(abbreviation: Any) -> None:
    made = control("lr", abbreviation)
    steps = (made.widget.value - made.widget.min) / made.widget.step
    assert steps == pytest.approx(round(steps), abs=1e-6)
    if not isinstance(abbreviation, tuple):
        assert made.widget.value == abbreviation
