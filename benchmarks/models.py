"""From a program to the picture of its model, beside torchviz, torchview and torchlens, and what one
does with such a picture: ``python -m benchmarks.models``.

The peers stand in ``requirements-benchmarks.txt``; a row of one that is not installed says so.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import linecache
import os
import re
import shutil
import stat
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import pygraphviz
import torch

import gradviz as gv
from benchmarks.common import conditions, spread, table
from gradviz.picture import render

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "outline"))
import model_scripts

# script: the variable that goes into the model
MODELS = {"gpt2": "ids", "unet": "x", "resnet_frozen": "x"}
TITLES = {
    "gpt2": "GPT-2, 12 blocks",
    "unet": "U-Net, 4 levels",
    "resnet_frozen": "ResNet-18, narrow",
}
ROUNDS = 7
CARDS = 72  # that are opened
STEPS = 200  # of the player
# Stands for the executable where none is installed: torchlens asks for one.
DOT = """#!{python}
import sys, pygraphviz
target, source = sys.argv[sys.argv.index("-o") + 1], sys.argv[-1]
open(target, "wb").write(pygraphviz.AGraph(source).draw(format="svg", prog="dot"))
"""


class Picture(NamedTuple):
    """What a way came to: boxes, and the size in CSS pixels."""

    boxes: int
    size: tuple[int, int]


class Program(NamedTuple):
    """A model, its input and a step of it, run up to the loss and its backward."""

    model: torch.nn.Module
    given: torch.Tensor
    step: Callable[[], torch.Tensor]


def program(name: str) -> Program:
    """Set up one of the scripts of ``tests/outline/models``; each call of its step is a fresh one.

    Args:
        name: of the script.
    """
    source = model_scripts.read(name)
    setup, cell = model_scripts.setup_and_cell(source)
    names: dict[str, Any] = {}
    codes = []
    for part, text in (("setup", setup), ("cell", cell)):
        filename = f"{name}_{part}.py"  # where code is looked up, which names tensors
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        codes.append(compile(text, filename, "exec"))
    exec(codes[0], names)

    def step() -> torch.Tensor:
        exec(codes[1], names)
        loss: torch.Tensor = names["loss"]
        return loss

    return Program(names["model"], names[MODELS[name]], step)


# --- ways to a picture ----------------------------------------------------------------------------


def recorded(of: Program) -> Picture:
    """gradviz, the step recorded."""
    with gv.record() as rec:
        of.step()
    return _ours(rec.figure())


def shown(of: Program) -> Picture:
    """gradviz, `gv.show(loss, model=model)` after the step."""
    return _ours(gv.show(of.step(), model=of.model))


def with_torchviz(of: Program) -> Picture:
    """torchviz, `make_dot(loss, params=…)` after the step."""
    import torchviz

    return _laid_out(torchviz.make_dot(of.step(), params=dict(of.model.named_parameters())).source)


def with_torchview(of: Program) -> Picture:
    """torchview, `draw_graph(model, x, depth=3)`."""
    import torchview

    graph = torchview.draw_graph(of.model, input_data=of.given, depth=3)
    return _laid_out(graph.visual_graph.source)


def with_torchlens(of: Program) -> Picture:
    """torchlens, `trace(model, x).draw(collapse="auto")`."""
    import torchlens

    with tempfile.TemporaryDirectory() as folder, _a_dot(Path(folder)):
        path = Path(folder) / "picture"
        torchlens.trace(of.model, of.given).draw(
            collapse="auto", vis_save_only=True, vis_fileformat="svg", vis_outpath=str(path)
        )
        return _measured(path.with_suffix(".svg").read_text(encoding="utf-8"))


WAYS: dict[str, tuple[str, Callable[[Program], Picture]]] = {
    (way.__doc__ or "").rstrip("."): (package, way)
    for package, way in {
        "torch": recorded,
        "torch ": shown,
        "torchviz": with_torchviz,
        "torchview": with_torchview,
        "torchlens": with_torchlens,
    }.items()
}


def is_installed(package: str) -> bool:
    """Say whether a package is there.

    Args:
        package: its name.
    """
    try:
        version(package.strip())
        importlib.import_module(package.strip())
    except (PackageNotFoundError, ImportError):
        return False
    return True


def _ours(figure: gv.Figure) -> Picture:
    svg = figure.svg
    return Picture(len(figure.scene.cards), render.size(svg))


def _laid_out(source: str) -> Picture:
    """Lay out the DOT text of a peer by the Graphviz that gradviz uses too."""
    picture = pygraphviz.AGraph(string=source)
    return _measured(picture.draw(format="svg", prog="dot").decode())


def _measured(svg: str) -> Picture:
    found = re.search(r'<svg width="([\d.]+)pt" height="([\d.]+)pt"', svg)
    if found is None:
        raise ValueError("no SVG of Graphviz")
    width, height = (round(float(number) * 4 / 3) for number in found.groups())
    return Picture(len(re.findall(r'class="node[" ]', svg)), (width, height))


@contextmanager
def _a_dot(folder: Path) -> Iterator[None]:
    """Put an executable on the path, where there is none, that lays out as ``_laid_out`` does."""
    before = os.environ["PATH"]
    if shutil.which("dot") is None:
        stand_in = folder / "dot"
        stand_in.write_text(DOT.format(python=sys.executable), encoding="utf-8")
        stand_in.chmod(stand_in.stat().st_mode | stat.S_IXUSR)
        os.environ["PATH"] = f"{folder}{os.pathsep}{before}"
    try:
        yield
    finally:
        os.environ["PATH"] = before


# --- measuring ------------------------------------------------------------------------------------


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Run something; return the seconds it took, and what it gave.

    Args:
        run: what to measure.
    """
    start = time.perf_counter()
    found = run()
    return time.perf_counter() - start, found


def pictures(models: list[str], rounds: int) -> list[list[str]]:
    """Measure each way for each model, all of them once in each round.

    Args:
        models: names of scripts.
        rounds: how often; the first round, in which packages are loaded, is left out.

    Returns:
        Rows of the table.
    """
    rows = []
    for name in models:
        of = program(name)
        ways = {title: way for title, (package, way) in WAYS.items() if is_installed(package)}
        times: dict[str, list[float]] = {title: [] for title in ways}
        seen: dict[str, Picture] = {}
        for turn in range(rounds + 1):
            for title, way in ways.items():
                with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
                    warnings.simplefilter("ignore")
                    spent, seen[title] = timed(partial(way, of))
                times[title] += [spent] if turn else []
        first = next(iter(ways))
        for title in WAYS:
            if title not in ways:
                rows.append([TITLES[name], title, "not installed", "", "", ""])
                continue
            ratio = [a / b for a, b in zip(times[title], times[first], strict=True)]
            width, height = seen[title].size
            rows.append(
                [
                    TITLES[name],
                    title,
                    spread(times[title], 1000, digits=0),
                    spread(ratio, digits=2),
                    str(seen[title].boxes),
                    f"{width:,}×{height:,}",
                ]
            )
    return rows


def costs(models: list[str], rounds: int) -> list[list[str]]:
    """Measure a step, recorded over plain.

    Args:
        models: names of scripts.
        rounds: how often.

    Returns:
        Rows of the table.
    """
    rows = []
    for name in models:
        of = program(name)
        times: dict[bool, list[float]] = {False: [], True: []}
        for turn in range(rounds + 1):
            for watched, found in times.items():
                with gv.record() if watched else nullcontext():
                    spent, _ = timed(of.step)
                found += [spent] if turn else []
        ratio = [a / b for a, b in zip(times[True], times[False], strict=True)]
        rows.append(
            [
                TITLES[name],
                spread(times[False], 1000),
                spread(times[True], 1000),
                spread(ratio, digits=2),
            ]
        )
    return rows


def openings(figure: gv.Figure, cards: int) -> list[float]:
    """Measure how long it takes to open a card, as a click does: a new layout of everything, up to
    the SVG.

    Args:
        figure: of a recorded GPT-2, drawn.
        cards: how many are opened: blocks, and the attention in each.

    Returns:
        Seconds.
    """
    blocks = [f"transformer.h.{k}" for k in range(12)]
    paths = [path for block in blocks for path in (block, f"{block}.attn")]
    return [timed(partial(_opened, figure, path))[0] for path in (paths * cards)[:cards]]


def _opened(figure: gv.Figure, path: str) -> str:
    return figure.opening(path).svg


def travel(steps: int) -> gv.Recording:
    """Record a program of about this many events.

    Args:
        steps: how many.
    """
    with gv.record() as rec:
        a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        h = a
        for _ in range(steps // 4):
            h = (h * 0.9).sin()
        h.sum().backward()
    return rec


def rest(rounds: int, cards: int, steps: int) -> list[list[str]]:
    """Measure what one does with a recording: open a card, ask, travel, export.

    Args:
        rounds: how often each is done.
        cards: how many cards are opened.
        steps: events of what is travelled through.

    Returns:
        Rows of the table.
    """
    of = program("gpt2")
    with gv.record() as rec:
        of.step()
    figure = rec.figure()
    _ = figure.svg, _opened(figure, "transformer.h.0")
    opened = openings(figure, cards)
    asked = [timed(_asked_anew(of))[0] for _ in range(rounds)]
    again = [timed(rec.explain)[0] for _ in range(rounds)]
    walk = travel(steps)
    played = [timed(lambda: gv.play(walk)) for _ in range(rounds)]
    count = len(played[-1][1].states)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        figure = [timed(lambda: gv.export(rec.figure(), path))[0] for _ in range(rounds)]
        size = path.stat().st_size / 1e6
        player = [timed(lambda: gv.export(walk, path))[0] for _ in range(rounds)]
        larger = path.stat().st_size / 1e6
    p95 = statistics.quantiles(opened, n=20)[-1] * 1000
    rows = [
        (f"a card of GPT-2 is opened, {len(opened)} times (p95 {p95:.0f} ms)", opened),
        ("`rec.explain()` of a step of GPT-2, the first time", asked),
        ("… and again", again),
        (f"a player of {count} steps is built", [spent for spent, _ in played]),
        (f"the picture of GPT-2 is written as a page ({size:.1f} MB)", figure),
        (f"the {count} steps are written as a page ({larger:.1f} MB)", player),
    ]
    return [[what, spread(found, 1000, digits=0)] for what, found in rows]


def _asked_anew(of: Program) -> Callable[[], object]:
    with gv.record() as rec:
        of.step()
    return rec.explain


def main(rounds: int = ROUNDS, cards: int = CARDS, steps: int = STEPS) -> str:
    """Measure and return the section of the results page.

    Args:
        rounds: how often each is done.
        cards: how many cards are opened.
        steps: events of what is travelled through.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        models = list(MODELS)
        ways = ["model", "way", "ms", "× gradviz, recorded", "boxes", "CSS pixels"]
        first = table(ways, pictures(models, rounds))
        second = table(["model", "plain, ms", "recorded, ms", "×"], costs(models, rounds))
        third = table(["", "ms"], rest(rounds, cards, steps))
    finally:
        torch.set_num_threads(threads)
    peers = ", ".join(f"{p} {version(p)}" for p in ("torchview", "torchlens") if is_installed(p))
    return f"""## Pictures of models

Conditions: {conditions()}{", " if peers else ""}{peers}; one thread.

From the program to an SVG, what the way itself needs included: gradviz and torchviz run a step with its backward and the
optimizer, torchview and torchlens run the model's forward. Every picture is laid out by the same Graphviz. Models: the
small scripts in `tests/outline/models`. Medians with the lowest and highest of {rounds} rounds, in each of which every way
has its turn; a ratio is taken within a round. Boxes are what Graphviz calls nodes.

{first}

A step with backward and optimizer, recorded over plain:

{second}

What one does with a recording:

{third}
"""


if __name__ == "__main__":
    print(main())
