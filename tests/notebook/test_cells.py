"""What keeps a lesson's cells short: tables, goals, errors on one line, drawings."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

from gradviz import controls, lesson
from gradviz.graph.records import GradvizError
from gradviz.live.explore import Exploration, explore


@pytest.fixture
def copied() -> Exploration:
    @explore(copy=controls.copies, mode=controls.grad_mode)
    def copied(copy: Any, mode: Any, requires_grad: bool = True) -> None:
        a = torch.tensor(1.0, requires_grad=requires_grad)
        with mode():
            b = copy(a)
        print("copied")
        (a * 2 + b * 3).backward()

    return copied


def test_a_table_has_a_line_for_every_combination(
    copied: Exploration, capsys: pytest.CaptureFixture[str]
) -> None:
    lesson.table(copied, "a.grad", "b", copy=["clone", "detach"], mode=["none", "no_grad"])
    assert capsys.readouterr().out.splitlines() == [
        "copy    mode     a.grad  b",
        "clone   none     5       1",
        "clone   no_grad  2       1",
        "detach  none     2       1",
        "detach  no_grad  2       1",
        "",
    ]


def test_a_table_says_what_failed_and_what_was_printed(
    copied: Exploration, capsys: pytest.CaptureFixture[str]
) -> None:
    lesson.table(copied, "error", "printed", requires_grad=[True, False])
    _, fine, failed, _ = capsys.readouterr().out.splitlines()
    assert "no error" in fine
    assert "RuntimeError: element 0 of tensors does not require grad" in failed
    assert "copied" in failed


def test_a_tensor_that_only_some_runs_have_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    @explore(doubled=True)
    def sometimes(doubled: bool) -> None:
        a = torch.tensor(1.0, requires_grad=True)
        if doubled:
            b = a * 2
            b.backward()

    lesson.table(sometimes, "b", doubled=[True, False])
    assert capsys.readouterr().out.splitlines() == ["doubled  b", "True     2", "False    -", ""]


def test_a_table_leaves_the_panel_as_it_was(copied: Exploration) -> None:
    copied.set(copy="detach")
    before = copied.values
    lesson.table(copied, "a.grad", copy="clone")
    assert copied.values == before
    assert copied.tensors["a"]["grad"] == "2"


@pytest.mark.parametrize(
    ("asked", "states", "said"),
    [
        (["a.gradient"], {}, "no run has a.gradient"),
        (["a.grad"], {"copy": "paper"}, "paper"),
        (["a.grad"], {"kopie": "clone"}, "kopie"),
    ],
)
def test_a_table_that_cannot_be_made_says_why(
    copied: Exploration, asked: list[str], states: dict[str, Any], said: str
) -> None:
    with pytest.raises(GradvizError, match=said):
        lesson.table(copied, *asked, **states)


def test_a_table_wants_a_panel() -> None:
    with pytest.raises(GradvizError, match=r"expected what @gv\.explore made"):
        lesson.table(lambda: None, "a")  # type: ignore[arg-type]


def test_goals_say_what_is_missing_until_they_are_met(capsys: pytest.CaptureFixture[str]) -> None:
    lesson.goals(
        {"w": (1.4, 3.0), "w.grad": (torch.tensor(1.0), torch.tensor(0.0)), "frozen": (True, True)}
    )
    *_, last = capsys.readouterr().out.splitlines()
    assert last == (
        "Not solved yet: w (1.4 instead of 3.0) and w.grad (tensor(1.) instead of tensor(0.))."
    )
    lesson.goals({"w": (3.0, 3.0)})
    assert capsys.readouterr().out.splitlines() == ["w  3.0   goal: 3.0", "Solved."]


def test_goals_want_a_dictionary() -> None:
    with pytest.raises(GradvizError, match="what there is, what there should be"):
        lesson.goals([1])  # type: ignore[arg-type]


def test_an_error_stands_on_one_line_and_the_cell_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with lesson.brief():
        print("before")
        raise ValueError("it failed\n  here. Hint: none")
    assert capsys.readouterr().out == "before\nValueError: it failed here\n"


def test_a_warning_stands_on_one_line_whatever_the_filters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with lesson.brief():
            warnings.warn("look out. More", stacklevel=1)
    assert capsys.readouterr().out == "UserWarning: look out\n"


def test_an_interrupt_is_not_caught() -> None:
    with pytest.raises(KeyboardInterrupt), lesson.brief():
        raise KeyboardInterrupt


def test_a_long_error_is_shortened(capsys: pytest.CaptureFixture[str]) -> None:
    with lesson.brief():
        raise ValueError("x" * 1000)
    [line] = capsys.readouterr().out.splitlines()
    assert line.endswith("…")
    assert len(line) < 250


@pytest.mark.filterwarnings("ignore:distutils Version classes")
def test_torchviz_draws_the_same_on_every_run() -> None:
    pytest.importorskip("torchviz")

    def drawn() -> str:
        a = torch.tensor(1.0, requires_grad=True)
        return str(lesson.torchviz(a * 2, a=a)._repr_html_())

    assert drawn() == drawn()
    assert "torchviz draws: MulBackward0, a" in drawn()


def test_a_plot_has_a_panel_a_band_and_a_line_for_each() -> None:
    runs = {"SGD": {"None": [1.0, 1.2], "zeros": [1.0, 1.0]}, "<Adam>": {"None": [1.0, 1.1]}}
    plot = lesson.step_plot(runs, shaded=[1])
    assert repr(plot) == "SGD, None: 1.0, 1.2; SGD, zeros: 1.0, 1.0; <Adam>, None: 1.0, 1.1"
    assert "&lt;Adam&gt;" in plot.html
