"""Records one step of a program, draws it, and says what the picture is like."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import model_scripts
import torch
from model_scripts import Namespace

import gradviz as gv
from gradviz.graph.operations import Fate, Operations
from gradviz.graph.records import Graph
from gradviz.picture import render

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "gallery"
PAGE = ROOT / "docs" / "gallery.md"
WIDEST, HIGHEST = 860, 1200  # CSS pixels
TRIES = 3
HEAD = (
    "| Picture | recorded calls | cards | CSS pixels | drawn in ms |\n"
    "| --- | ---: | ---: | ---: | ---: |"
)
STATES = {
    Fate.SOME: "some",
    Fate.NAN: "nan",
    Fate.NONE: "none",
    Fate.ZERO: "zero",
    Fate.VANISHED: "vanishing",
    Fate.FROZEN: "frozen",
}


class Shown(NamedTuple):
    """One picture: its file, what it is of, and the script.

    Attributes:
        is_tall: whether it may be higher than a page.
        is_recorded: whether the step is recorded, or only its loss looked at afterwards.
    """

    name: str
    title: str
    source: str
    is_tall: bool = False
    is_recorded: bool = True


class Drawn(NamedTuple):
    """A picture that was drawn."""

    shown: Shown
    graph: Graph
    figure: gv.Figure
    names: Namespace
    milliseconds: float

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in CSS pixels."""
        return render.size(self.figure.svg)

    def row(self) -> str:
        """Return its row of the table."""
        width, height = self.size
        link = f"[{self.shown.title}](gallery/{self.shown.name}.svg)"
        cards, calls = len(self.figure.scene.cards), len(self.graph.calls)
        return f"| {link} | {calls} | {cards} | {width}×{height} | {self.milliseconds:.0f} |"


def draw(shown: Shown) -> Drawn:
    """Record one step and write its picture.

    Args:
        shown: the script.

    Returns:
        What was drawn. It was drawn three times, and the shortest processor time counts.
    """
    names: Namespace = {}
    graph = _graph_of(shown, names)
    found = []
    for _ in range(TRIES):
        start = _processor_time()
        figure = gv.Figure(graph)
        svg = figure.svg
        found.append((_processor_time() - start) * 1000)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{shown.name}.svg").write_text(svg, encoding="utf-8")
    return Drawn(shown, graph, figure, names, min(found))


def _graph_of(shown: Shown, names: Namespace) -> Graph:
    """Run a script, and return the graph of its step; ``names``: what it makes."""
    filename = f"{shown.name}.py"
    if not shown.is_recorded:
        model_scripts.run(shown.source, filename, names=names)
        loss = names["loss"]
        return gv.show(loss, names={"loss": loss}, model=names["model"]).graph
    recording = gv.record().look_into(names)
    model_scripts.run(shown.source, filename, lambda: recording, names)
    return recording.graph


def check(drawn: Drawn) -> None:
    """Compare a picture with what torch says and with the size of a page.

    Args:
        drawn: the picture.

    Raises:
        AssertionError: a parameter is told to have got something else than its ``.grad`` says, or
            the picture is larger than a page.
    """
    width, height = drawn.size
    assert width <= WIDEST, (drawn.shown.name, width)
    assert height <= HIGHEST or drawn.shown.is_tall, (drawn.shown.name, height)
    if not drawn.shown.is_recorded:
        return  # it tells what can be reached: tests/outline/test_unrecorded.py
    of_root = {module.id: module.name for module in drawn.graph.modules}
    told = {}
    for weight in Operations(drawn.graph).weights:
        root = of_root.get(weight.module_id, "")
        told |= dict.fromkeys((weight.name, f"{root}.{weight.name}"), STATES[weight.fate])
    true = model_scripts.states(drawn.names)
    wrong = {
        name: (told.get(name), state) for name, state in true.items() if told.get(name) != state
    }
    assert not wrong, (drawn.shown.name, wrong)


def write_table(heading: str, rows: Iterable[str]) -> None:
    """Put a table below a heading of ``docs/gallery.md``, in the place of the one that is there.

    Args:
        heading: the heading, without its ``##``.
        rows: of the table.
    """
    page = PAGE.read_text(encoding="utf-8")
    start = page.index("| Picture |", page.index(f"## {heading}\n"))
    end = re.compile(r"\n(?!\|)|\Z").search(page, start)
    assert end is not None
    table = "\n".join([HEAD, *rows])
    PAGE.write_text(page[:start] + table + page[end.start() :], encoding="utf-8")


def draw_all(heading: str, pictures: Iterable[Shown]) -> None:
    """Draw everything, compare each picture with what torch says, and write the table.

    Args:
        heading: of ``docs/gallery.md``.
        pictures: what to draw.
    """
    torch.set_num_threads(1)
    rows = []
    for shown in pictures:
        drawn = draw(shown)
        check(drawn)
        rows.append(drawn.row())
        print(rows[-1], flush=True)
    write_table(heading, rows)


def _processor_time() -> float:
    """Return the seconds of this process, and of those it started, Graphviz among them."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system
