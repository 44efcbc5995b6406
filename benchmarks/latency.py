"""Click to painted in JupyterLab: ``python -m benchmarks.latency``. Needs Chromium and the packages of the tests."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
from playwright.sync_api import Page, sync_playwright

from benchmarks.common import conditions, spread, table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "browser"))
from lab import FLAGS, find_chromium, jupyterlab  # noqa: E402  (the browser tests' own helpers)

REPEATS = 50
SCENARIOS = {
    "12 cards": """
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
""",
    "200 nodes": """
def scenario(copy):
    a = torch.tensor([1., 2., 3.], requires_grad=True)
    h = copy(a)
    for i in range(66):
        h = (h * 0.9 + 0.1).sin()
    loss = (h + a).sum()
    loss.backward()
""",
}
HEAD = """
import torch, gradviz as gv, anywidget, traitlets, ipywidgets, contextlib
from IPython.display import HTML, display
copies = {"clone": torch.Tensor.clone, "detach": torch.Tensor.detach}
"""
# The three ways to the same picture. Only the last one runs the scenario again at every click.
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
def redraw(change):
    with out:
        display(HTML(figures[change["new"]].html), clear=True)
    out.outputs
def show(change):
    out.clear_output(wait=True)
    with out:
        display(HTML(figures[change["new"]].html))
buttons.observe(show, "value")
with out:
    display(HTML(figures["clone"].html))
display(buttons, out)
"""
LIVE = """
live = gv.explore(scenario, copy=copies)
"""

# Clicks, and counts from the click to the second frame after the page holds the other picture.
CLICK = """async ([cell, name]) => {
    const area = document.querySelectorAll(".jp-CodeCell")[cell].querySelector(".jp-OutputArea");
    const seen = () => {
        const img = area.querySelector("img[alt]");
        if (img) return img.complete && (img.alt.includes("\\u2702") === (name === "detach"));
        const drawn = [...area.querySelectorAll(":is(.node, .gv-node) text")].map(t => t.textContent).join(" ");
        return drawn.includes("b = copy") || drawn.includes("copy(a)")
            ? drawn.includes("CloneBackward0") === (name === "clone") : false;
    };
    const button = [...area.querySelectorAll("button")].find(b => b.textContent.trim() === name);
    const frame = () => new Promise(requestAnimationFrame);
    await frame();
    const start = performance.now();
    button.click();
    while (!seen()) {
        if (performance.now() - start > 20000) throw new Error("nothing was painted");
        await frame();
    }
    await frame();
    return performance.now() - start;
}"""


@contextmanager
def opened(scenario: str) -> Iterator[Page]:
    """A notebook with the three ways, run, in JupyterLab in headless Chromium."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    book = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
    book.cells = [nbformat.v4.new_code_cell(code) for code in (HEAD + scenario, BARE, OUTPUT, LIVE)]
    with tempfile.TemporaryDirectory() as home, jupyterlab(Path(home)) as lab, sync_playwright() as playwright:
        nbformat.write(book, lab.folder / "latency.ipynb")
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 2400})
        page.goto(f"{lab.url}lab/tree/latency.ipynb?token={lab.token}&reset")
        page.wait_for_function("() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel")
        page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
        page.wait_for_function("() => document.querySelectorAll('.jp-CodeCell')[3]?.querySelector('.gv-node')")
        page.wait_for_timeout(1000)
        yield page
        browser.close()


def measure(page: Page) -> dict[int, list[float]]:
    """Milliseconds of every click, by cell; the three take turns."""
    found: dict[int, list[float]] = {1: [], 2: [], 3: []}
    for repeat in range(REPEATS + 2):
        for cell, times in found.items():
            took = page.evaluate(CLICK, [cell, ("detach", "clone")[repeat % 2]])
            times += [took] if repeat >= 2 else []  # the first two make the picture, later ones come back to it
            page.wait_for_timeout(60)
    return found


def main() -> str:
    """Measures and returns the section of the results page."""
    rows = []
    for name, scenario in SCENARIOS.items():
        with opened(scenario) as page:
            found = measure(page)
        floor = statistics.median(found[1])
        for cell, way in ((1, "bare anywidget, ready SVG"), (2, "Output + display, ready SVG"), (3, "gv.explore")):
            p95 = statistics.quantiles(found[cell], n=20)[-1]
            rows.append([name, way, spread(found[cell], digits=0), f"{p95:.0f}",
                         f"{statistics.median(found[cell]) / floor:.2f}"])  # fmt: skip
    head = ["picture", "way", "ms, median (lowest–highest)", "p95", "× bare"]
    return f"""## Live pictures

Conditions: {conditions()}; JupyterLab in headless Chromium.

Click to painted, {REPEATS} clicks, the three ways taking turns on one page. The first two only swap a picture that was
made before; `gv.explore` runs the scenario, records it, draws it and sends picture, table and sentence.

{table(head, rows)}
"""


if __name__ == "__main__":
    print(main())
