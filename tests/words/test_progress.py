"""What takes longer than a second says how far it is: by a clock of the test's own, so nothing here
waits."""

from __future__ import annotations

import io
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import gradviz as gv
from gradviz.live import book
from gradviz.picture import render
from gradviz.words import progress
from gradviz.words.progress import Progress


class Screen(io.StringIO):
    """A terminal: what stands in its last line now, and every line that stood there."""

    def isatty(self) -> bool:
        return True

    @property
    def now(self) -> str:
        line = ""
        for part in self.getvalue().split("\r"):
            line = part + line[len(part) :]
        return line.rstrip()

    @property
    def lines(self) -> list[str]:
        return [part for part in self.getvalue().split("\r") if part.strip()]


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Standard error is a terminal, and everything takes too long."""
    monkeypatch.setattr(progress, "AFTER", -1)
    monkeypatch.setattr(progress, "EVERY", -1)
    monkeypatch.delenv("GRADVIZ_PROGRESS")
    made = Screen()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=made, modules={}))
    return made


def counted(screen: Screen, *seconds: float) -> Progress:
    """A progress whose clock shows these seconds, one at its begin and one at each step."""
    times = iter(seconds)
    return Progress(
        lambda done: f"{done} of 9",
        clock=times.__next__,
        find=lambda: progress._Terminal(screen),
    )


def test_what_is_over_within_a_second_says_nothing() -> None:
    screen = Screen()
    with counted(screen, 0.0, 0.4, 0.99) as it:
        it.step()
        it.step()
    assert screen.getvalue() == ""


def test_after_a_second_the_line_stands_and_is_gone_in_the_end() -> None:
    screen = Screen()
    with counted(screen, 0.0, 0.5, 1.0, 1.1, 1.3) as it:
        it.step()
        it.step()
        assert screen.now == "2 of 9"
        it.step()  # too soon after the last
        assert screen.now == "2 of 9"
        it.step(6)
        assert screen.now == "9 of 9"
    assert screen.lines == ["2 of 9", "9 of 9"]
    assert screen.now == ""
    assert "\n" not in screen.getvalue()


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupt_or_an_error_takes_it_away_and_goes_on(error: type[BaseException]) -> None:
    screen = Screen()
    with pytest.raises(error), counted(screen, 0.0, 2.0) as it:  # noqa: PT012
        it.step()
        assert screen.now == "1 of 9"
        raise error
    assert screen.now == ""


def test_of_several_within_each_other_the_outermost_speaks() -> None:
    screen = Screen()
    with counted(screen, 0.0, 2.0, 3.0) as outer, counted(screen) as inner:
        inner.step()
        assert screen.now == "0 of 9"
        outer.step()
        assert screen.now == "1 of 9"
    with counted(screen, 0.0, 2.0) as alone:  # nothing is left of the others
        alone.step()
        assert screen.now == "1 of 9"


def test_a_broken_stream_is_no_reason_to_fail() -> None:
    screen = Screen()
    screen.close()
    with counted(screen, 0.0, 2.0) as it:
        it.step()


def test_only_a_person_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert os.environ["GRADVIZ_PROGRESS"] == "off"  # tests and their notebooks are quiet
    monkeypatch.setattr("sys.stderr", Screen())
    assert progress.place() is None
    monkeypatch.delenv("GRADVIZ_PROGRESS")
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert progress.place() is None
    monkeypatch.setattr("sys.stderr", None)
    assert progress.place() is None
    monkeypatch.setattr("sys.stderr", Screen())
    assert isinstance(progress.place(), progress._Terminal)


def test_a_notebook_keeps_an_empty_output() -> None:
    told: list[dict[str, str]] = []

    class Handle:
        def update(self, said: dict[str, str], *, raw: bool) -> None:
            assert raw
            told.append(said)

    def display(said: dict[str, str], *, raw: bool, display_id: bool) -> Handle:
        assert raw
        assert display_id
        told.append(said)
        return Handle()

    clock = iter((0.0, 2.0, 3.0)).__next__
    place = progress._Notebook(display)
    with Progress(lambda done: f"{done} of 9", clock=clock, find=lambda: place) as it:
        it.step()
        it.step()
    assert told == [{"text/plain": text} for text in ("1 of 9", "2 of 9", "")]


# --- where it is said -----------------------------------------------------------------------------


def recording() -> gv.Recording:
    a = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        (a * 2).sum()
    return rec


def scenario() -> Any:
    return gv.explore(lambda factor=(1, 3): torch.ones(2, requires_grad=True) * factor)


def test_an_export_says_how_many_steps_it_has(screen: Screen, tmp_path: Path) -> None:
    gv.export(recording(), tmp_path / "steps.html")
    said = [f"gradviz: {n} of 3 steps {word} …" for word in ("read", "drawn") for n in (1, 2, 3)]
    assert screen.lines == said
    assert screen.now == ""


def test_an_export_says_how_many_states_it_has(screen: Screen, tmp_path: Path) -> None:
    gv.export(scenario(), tmp_path / "states.html")
    assert [line for line in screen.lines if "states" in line] == [
        f"gradviz: {n} of 3 states run …" for n in (1, 2, 3)
    ]
    assert screen.lines[-1] == "gradviz: 3 of 3 pictures …"
    assert screen.now == ""


def test_a_capture_says_what_it_reads(screen: Screen) -> None:
    gv.show((torch.ones(2, requires_grad=True) * 2).sum())
    assert set(screen.lines) == {"gradviz: reading a graph of 3 nodes …"}
    assert screen.now == ""


def test_an_interrupted_export_leaves_the_file_as_it_was(
    screen: Screen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, state, drawn = tmp_path / "steps.html", book._state, iter(range(9))
    target.write_text("before")

    def interrupted(*given: Any) -> dict[str, Any]:
        if next(drawn) == 2:
            raise KeyboardInterrupt
        return state(*given)

    monkeypatch.setattr(book, "_state", interrupted)
    with pytest.raises(KeyboardInterrupt):
        gv.export(recording(), target)
    assert screen.lines[-1] == "gradviz: 2 of 3 steps drawn …"
    assert screen.now == ""
    assert [path.name for path in tmp_path.iterdir()] == ["steps.html"]
    assert target.read_text() == "before"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[bytes]]]:
    """The child processes that a layout starts: each would sleep for a minute."""
    found: list[subprocess.Popen[bytes]] = []
    popen: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen

    def start(*given: Any, **options: Any) -> subprocess.Popen[bytes]:
        found.append(popen(*given, **options))
        return found[-1]

    monkeypatch.setattr(render.subprocess, "Popen", start)
    monkeypatch.setattr(render, "_CHILD", "import time; time.sleep(60)  # {bytes} {seconds}")
    monkeypatch.setattr(render, "LOOK", 0.01)
    yield found
    for process in found:
        process.kill()


LARGE = "digraph {" + "a -> b;" * (render.IN_PROCESS + 1) + "}"


def test_a_large_layout_says_that_it_is_one_and_an_interrupt_ends_it(
    screen: Screen, started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    def interrupted(self: Progress) -> None:
        look(self)
        said.append(screen.now)
        raise KeyboardInterrupt

    look = Progress.look
    monkeypatch.setattr(Progress, "look", interrupted)
    with pytest.raises(KeyboardInterrupt):
        render.laid_out(LARGE)
    assert said == ["gradviz: laying out a large picture …"]
    assert screen.now == ""
    assert started[0].returncode is not None


def test_a_layout_that_takes_too_long_is_ended(
    started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render, "SECONDS", 0)
    with pytest.raises(render.CannotDraw, match="took longer than 0"):
        render.laid_out(LARGE)
    assert started[0].returncode is not None
