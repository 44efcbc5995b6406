"""What a magic of IPython compiles by itself stands in the cell, in its line and with its names."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

import gradviz as gv

SETUP = "import torch\nimport gradviz as gv\nw = torch.tensor([1.0, 2.0], requires_grad=True)"
Line = tuple[str, int | None, str | None]


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    made = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    made.run_cell(SETUP)
    yield made
    InteractiveShell.clear_instance()


def lines(shell: InteractiveShell, cell: str) -> list[Line]:
    """Record a cell, and return where its calls stand: function, line, code."""
    recording = gv.record().look_into(shell.user_ns)
    with capture_output(), recording:
        shell.run_cell(cell).raise_error()
    calls = recording.graph.calls
    assert {call.source.file for call in calls if call.source} <= {
        f"cell [{shell.execution_count}]"
    }
    return [
        (call.function, call.source and call.source.line, call.source and call.source.code)
        for call in calls
    ]


def test_a_line_that_is_timed_stands_in_its_cell(shell: InteractiveShell) -> None:
    cell = "a = w * 2\n%time b = a.detach()\nfor _ in range(1):\n    %time loss = (b * w).sum()\n%time loss.backward()"
    assert lines(shell, cell) == [
        ("mul", 1, "a = w * 2"),
        ("detach", 2, "b = a.detach()"),
        ("mul", 4, "b * w"),
        ("sum", 4, "loss = (b * w).sum()"),
        ("backward", 5, "loss.backward()"),
    ]


@pytest.mark.parametrize("magic", ["%prun -q", "%timeit -n 1 -r1", "x = %time"])
def test_options_and_targets_are_no_code(shell: InteractiveShell, magic: str) -> None:
    assert lines(shell, f"loss = w.sum()\n\n{magic} loss.exp()") == [
        ("sum", 1, "loss = w.sum()"),
        ("exp", 3, "loss.exp()"),
    ]


@pytest.mark.parametrize("magics", ["%%time\n", "%%time\n# a comment\n", "%%time\n\n\n"])
def test_a_cell_that_is_timed_keeps_its_lines(shell: InteractiveShell, magics: str) -> None:
    cell = f"{magics}def double(t):\n    return t * 2\na = double(w)\n(a * w).sum().backward()"
    first = magics.count("\n") + 1
    assert lines(shell, cell) == [
        ("mul", first + 1, "a = t * 2"),
        ("mul", first + 3, "a * w"),
        ("sum", first + 3, "(a * w).sum()"),
        ("backward", first + 3, "(a * w).sum().backward()"),
    ]


@pytest.mark.parametrize("top", ["%%gradviz\n%%time\n", "%%time\n%%gradviz\n"])
def test_a_recorded_cell_may_be_timed_too(shell: InteractiveShell, top: str) -> None:
    shell.run_cell("%load_ext gradviz")
    with capture_output() as captured:
        shell.run_cell(f"{top}a = w * 2\nb = a.detach()\nc = b * w")
    (picture,) = captured.outputs
    assert "cut: line 4: a ✂ b" in picture.data["text/plain"]
    shell.run_cell("%unload_ext gradviz")


def test_text_that_is_run_by_hand_is_no_line_of_the_cell(shell: InteractiveShell) -> None:
    recording = gv.record().look_into(shell.user_ns)
    with capture_output(), recording:
        shell.run_cell("text = 'a = w * 2'\nexec(text)")
    (call,) = recording.graph.calls
    assert call.source is not None
    assert (call.source.file, call.source.code) == ("<string>", None)


def test_a_function_of_another_magic_is_not_told_by_the_lines_of_this_one(
    shell: InteractiveShell,
) -> None:
    with capture_output():
        shell.run_cell("%%time\n\n\ndef double(t):\n    return t * 2\n")
    recording = gv.record().look_into(shell.user_ns)
    with capture_output(), recording:
        shell.run_cell("%time a = double(w)")
    (call,) = recording.graph.calls
    assert call.source is not None
    assert (call.source.file, call.source.line) == ("<timed exec>", 2)
    assert "w * 2" not in (call.source.code or "")
