"""Click to painted, in JupyterLab and in an exported page, and what the import costs: ``python -m
benchmarks.latency``.

Needs Chromium and the packages of the tests.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import torch
from playwright.sync_api import Page, sync_playwright

import gradviz as gv
from benchmarks.common import conditions, spread, table
from gradviz.live.filling import fill_in

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "browser"))
from lab import FLAGS, find_chromium, jupyterlab

REPEATS = 30
TURN = 5  # clicks of one way before the next has its turn; odd, so that a turn ends at "clone"
COPIES = {"clone": torch.Tensor.clone, "detach": torch.Tensor.detach}
PAUSES = {"a hand": 300, "at speed": 60}  # milliseconds between two clicks
HELD = 80  # milliseconds from a press of the mouse to its release
SCENARIOS = {
    "12 cards": (
        """
def scenario(copy):
    a = torch.tensor([1., 2., 3.], requires_grad=True)
    w = torch.tensor([.5, .5, .5], requires_grad=True)
    b = copy(a)
    c = a * 2
    d = b * w
    e = c + d
    f = e.exp()
    g = f - c
    h = g * w
    k = h.tanh()
    m = k + e
    loss = m.sum()
    loss.backward()
"""
    ),
    "200 nodes": (
        """
def scenario(copy):
    a = torch.tensor([1., 2., 3.], requires_grad=True)
    h = copy(a)
    for i in range(66):
        h = (h * 0.9 + 0.1).sin()
    loss = (h + a).sum()
    loss.backward()
"""
    ),
}
HEAD = """
import itertools, torch, gradviz as gv, anywidget, traitlets, ipywidgets
from IPython.display import HTML, display
copies = {"clone": torch.Tensor.clone, "detach": torch.Tensor.detach}
"""
# Ways to the same picture. The first two swap what was made before; the others run the scenario
# again at every click.
BARE = """
class Bare(anywidget.AnyWidget):
    _esm = '''export default { render({ model, el }) {
        const draw = () => { el.innerHTML = model.get("svg"); };
        model.on("change:svg", draw); draw(); } }'''
    svg = traitlets.Unicode().tag(sync=True)

figures = {}
for name, copy in copies.items():
    with gv.record() as rec:
        scenario(copy)
    figures[name] = rec.figure()
buttons, bare = ipywidgets.ToggleButtons(options=list(copies)), Bare(svg=figures["clone"].svg)
def swap(change):
    bare.svg = figures[change["new"]].svg
buttons.observe(swap, "value")
display(buttons, bare)
"""
OUTPUT = """
buttons, out = ipywidgets.ToggleButtons(options=list(copies)), ipywidgets.Output()
def show(change):
    out.clear_output(wait=True)
    with out:
        display(HTML(figures[change["new"]].html))
buttons.observe(show, "value")
with out:
    display(HTML(figures["clone"].html))
display(buttons, out)
"""
OUTPUT_AGAIN = """
buttons_again, out_again = ipywidgets.ToggleButtons(options=list(copies)), ipywidgets.Output()
def record_and_show(change):
    out_again.clear_output(wait=True)
    with gv.record() as rec:
        scenario(copies[change["new"]])
    with out_again:
        display(HTML(rec.figure().html))
buttons_again.observe(record_and_show, "value")
record_and_show({"new": "clone"})
display(buttons_again, out_again)
"""
LIVE = """
live = gv.explore(scenario, copy=copies)
"""
NEW = """
count = itertools.count(1)
{}
new = gv.explore(changing, copy=copies)
"""

WAYS = {  # by cell
    1: "bare anywidget, ready SVG",
    2: "Output + display, ready SVG",
    3: "Output + display, run again",
    4: "gv.explore, run again",
    5: "gv.explore, run again, every picture new",
}

# What the area of an output shows, without its numbers, which differ from run to run.
SHOWN = """
    const shown = (area) => {
        const img = area.querySelector("img[alt]");
        if (img && !img.complete) return "";
        const texts = [...area.querySelectorAll("svg text")].map((t) => t.textContent);
        return (img ? img.alt : texts.join(" ")).replace(/[-+.e]*[0-9][-+.e0-9]*/g, "#");
    };
    const area = document.querySelectorAll(".jp-CodeCell")[cell].querySelector(".jp-OutputArea");
    const buttons = [...area.querySelectorAll("button, .gv-buttons label")];
    const button = buttons.find((b) => b.textContent.trim() === name);
"""

# Clicks, and notes what is shown when all is at rest.
LEARN = f"""async ([cell, name]) => {{{SHOWN}
    button.click();
    await new Promise((done) => setTimeout(done, 1500));
    window.learned ??= {{}};
    return window.learned[[cell, name]] = shown(area);
}}"""

# Brings the buttons into sight.
SCROLL = f"""async ([cell, name]) => {{{SHOWN}
    button.scrollIntoView({{block: "center"}});
    await new Promise((done) => setTimeout(done, 300));
}}"""

# Waits for a click, and counts from it to the end of the frame that shows the other picture.
AWAIT_CLICK = f"""([cell, name]) => {{{SHOWN}
    const frame = () => new Promise(requestAnimationFrame);
    window.painted = (async () => {{
        const start = await new Promise((clicked) =>
            addEventListener("click", (event) => clicked(event.timeStamp), {{capture: true, once: true}}));
        await new Promise((done, failed) => {{
            setTimeout(failed, 20000, new Error("nothing was painted"));
            const look = () => shown(area) === window.learned[[cell, name]] && done();
            new MutationObserver(look).observe(area, {{subtree: true, childList: true, attributes: true}});
            area.addEventListener("load", look, true);
        }});
        await frame();
        await new Promise((done) => setTimeout(done)); // after the frame
        return performance.now() - start;
    }})();
    const box = button.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
}}"""


def click(page: Page, cell: int, name: str) -> float:
    """Milliseconds from a click of the mouse to the other picture."""
    at = page.evaluate(AWAIT_CLICK, [cell, name])
    page.mouse.move(*at)
    page.mouse.down()
    page.wait_for_timeout(HELD)
    page.mouse.up()
    painted: float = page.evaluate("() => window.painted")
    return painted


@contextmanager
def opened(scenario: str) -> Iterator[Page]:
    """A notebook with all ways, run, in JupyterLab in headless Chromium."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    book = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
    changing = scenario.replace("def scenario", "def changing")
    new = NEW.format(changing.replace("[1., 2., 3.]", "[1., 2., 1 / next(count)]"))
    cells = (HEAD + scenario, BARE, OUTPUT, OUTPUT_AGAIN, LIVE, new)
    book.cells = [nbformat.v4.new_code_cell(code) for code in cells]
    with (
        tempfile.TemporaryDirectory() as home,
        jupyterlab(Path(home)) as lab,
        sync_playwright() as playwright,
    ):
        nbformat.write(book, lab.folder / "latency.ipynb")
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 4200})
        page.goto(f"{lab.url}lab/tree/latency.ipynb?token={lab.token}&reset")
        page.wait_for_function(
            "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel"
        )
        page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
        page.wait_for_function(
            "() => document.querySelectorAll('.jp-CodeCell')[5]?.querySelector('.gv-node')"
        )
        page.wait_for_timeout(1000)
        yield page
        browser.close()


def measure(page: Page, pause: int) -> dict[int, list[float]]:
    """Milliseconds of every click, by cell; the ways take turns."""
    found: dict[int, list[float]] = {cell: [] for cell in WAYS}
    for cell in WAYS:
        # the first two clicks make the pictures, later ones come back to them
        pictures = {page.evaluate(LEARN, [cell, name]) for name in ("detach", "clone")}
        if len(pictures) < 2:
            raise RuntimeError(
                f"both pictures of {WAYS[cell]} look alike; give a scenario that changes"
            )
    for _ in range(REPEATS // TURN):
        for cell, times in found.items():
            page.evaluate(SCROLL, [cell, "detach"])
            # JupyterLab makes the cell of a first press the active one, which is not what is asked
            for turn in range(TURN + 1):
                took = click(page, cell, ("detach", "clone")[turn % 2])
                if turn:
                    times.append(took)
                page.wait_for_timeout(pause)
    return found


# The same in an exported page; the handler alone, and to the end of the frame.
TOGGLE = """async (times) => {
    const boxes = [...document.querySelectorAll(".gv-buttons input[type=radio]")];
    const frame = () => new Promise(requestAnimationFrame);
    const found = [];
    for (let i = 0; i < times; i++) {
        await frame();
        const start = performance.now();
        boxes[(i + 1) % 2].click();
        const handled = performance.now() - start;
        document.body.offsetHeight; // layout, without waiting for the screen's next refresh
        found.push([handled, performance.now() - start]);
    }
    return found;
}"""


def scenario_of(code: str, folder: str) -> Any:
    """Return a scenario of a file, so that its code can be read."""
    source, names = Path(folder) / "scenario.py", {"torch": torch}
    source.write_text(code)
    exec(compile(code, str(source), "exec"), names)
    return names["scenario"]


def exported(code: str) -> list[list[float]]:
    """Milliseconds of a toggle in an exported page: the handler, and with layout."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        live = gv.explore(scenario_of(code, folder), copy=COPIES)
        gv.export(live, Path(folder) / "page.html")
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"file://{folder}/page.html")
        page.wait_for_selector(".gv-node")
        found: list[list[float]] = page.evaluate(TOGGLE, REPEATS + 2)[2:]
        browser.close()
    return found


def filling(code: str) -> list[float]:
    """Milliseconds of filling in what the controls of a scenario chose, once for each state."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        scenario = scenario_of(code, folder)
        for repeat in range(REPEATS):
            name = ("detach", "clone")[repeat % 2]
            start = time.perf_counter()
            fill_in(scenario, {"copy": (name, COPIES[name])})
            found.append(time.perf_counter() - start)
    return found


IMPORT = """
import time, torch
start = time.perf_counter()
import gradviz
bare = time.perf_counter()
gradviz.record, gradviz.show
print(bare - start, time.perf_counter() - start)
"""


def imports() -> tuple[list[float], list[float]]:
    """Seconds that ``import gradviz`` adds to ``import torch``: alone, and with what ``record`` and
    ``show`` need."""
    runs = [
        subprocess.run(
            [sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(7)
    ]
    return [float(run[0]) for run in runs], [float(run[1]) for run in runs]


def main() -> str:
    """Measures and returns the section of the results page."""
    rows = []
    for name, scenario in SCENARIOS.items():
        with opened(scenario) as page:
            for pace, pause in PAUSES.items():
                found = measure(page, pause)
                floor = statistics.median(found[1])
                for cell, way in WAYS.items():
                    p95 = statistics.quantiles(found[cell], n=20)[-1]
                    times = statistics.median(found[cell]) / floor
                    rows.append(
                        [
                            name,
                            pace,
                            way,
                            spread(found[cell], digits=0),
                            f"{p95:.0f}",
                            f"{times:.2f}",
                        ]
                    )
    head = ["picture", "clicks", "way", "ms, median (lowest–highest)", "p95", "× bare"]
    pages = []
    for name, scenario in SCENARIOS.items():
        handled, whole = zip(*exported(scenario), strict=True)
        filled = filling(scenario)
        pages.append([name, spread(handled), spread(whole), spread(filled, 1000, digits=2)])
    bare, used = imports()
    hand, speed = PAUSES.values()
    return f"""## Live pictures

Conditions: {conditions()}; JupyterLab in headless Chromium.

Click to painted, {REPEATS} clicks, the ways taking turns of {TURN} on one page, with {hand} ms between two clicks
("a hand") or {speed} ms ("at speed"), each a press of the mouse held for {HELD} ms, counted from its release. The first two ways
only swap a picture that was made before. "Run again": the scenario is run, recorded and drawn at every click;
`gv.explore` also sends table and sentence, and takes the drawing over from an earlier click when its run came to the
same. In the last way it never does, since a number differs every time.

{table(head, rows)}

A toggle in an exported page, {REPEATS} of them:

{table(["picture", "handler, ms", "with layout, ms", "live: code filled in, ms"], pages)}

`import gradviz` after `import torch`: {spread(bare, 1000)} ms; with what `record` and `show` load on first use:
{spread(used, 1000)} ms.
"""


if __name__ == "__main__":
    print(main())
