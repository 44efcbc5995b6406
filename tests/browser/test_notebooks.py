"""Every notebook in JupyterLab, as a newcomer meets it: opened, run, looked at in light and in
dark."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lab import ARTEFACTS, ROOT, WATCH, Lab, Tab, change_theme
from playwright.sync_api import Page
from sampling import Asked, sampled

NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
PICTURE = "data:image/svg+xml;base64,"

OPEN = """() => {
    const panel = window.jupyterapp?.shell.currentWidget;
    return panel?.content?.widgets && panel.sessionContext?.session?.kernel?.status === "idle";
}"""

SETTINGS = re.compile(r"\w+=.+\n\n")  # what a panel's words begin with: "copy=clone mode=none"
NEWS = "@jupyterlab/apputils-extension:announcements"  # asks whether it may fetch them

# Answers and fine print start folded away.
UNFOLD = """async () => {
    for (const command of ["notebook:expand-all-headings", "notebook:show-all-cell-outputs"])
        await window.jupyterapp.commands.execute(command);
}"""

RUN_ALL = """async () => {
    const {commands, shell} = window.jupyterapp;
    await commands.execute("notebook:clear-all-cell-outputs");
    await commands.execute("notebook:run-all-cells");
    const cells = () => shell.currentWidget.content.model.toJSON().cells;
    // The command ends at the first cell that raises on purpose (raises-exception); the cells after it run on.
    const waits = c => c.cell_type === "code" && c.source.length && c.execution_count === null;
    for (let i = 0; i < 600 && cells().some(waits); i++) await new Promise(done => setTimeout(done, 100));
    return cells();
}"""

# In the notebook's kernel, after all of its cells: every question can be answered, and no key is
# written down.
QUESTIONS = """
import dis as _dis
from gradviz import lesson as _lesson
_problems = []
for _asked in list(_lesson._shown):
    try:
        _asked.check()
        _reads = {i.argval for i in _dis.get_instructions(_asked._truth) if i.opname == "LOAD_GLOBAL"}
        _used = [(n, v) for n, v in _asked._truth.__globals__.items() if n in _reads]
        _problems += [f"{_asked.text!r}: its truth needs {n}, which other cells may change"
                      for n, value in _used if not callable(value) and n != "torch"]
        _problems += [f"{_asked.text!r}: the answer without a Wrong is the right one"] * (not all(_asked._replies))
    except Exception as _error:
        _problems.append(f"{_asked.text!r}: {_error}")
"""
IN_KERNEL = """async (code) => {
    const {kernel} = window.jupyterapp.shell.currentWidget.sessionContext.session;
    const reply = await kernel.requestExecute({code, silent: true, store_history: false,
        user_expressions: {problems: "_problems", asked: "len(_lesson._shown)"}}).done;
    return Object.values(reply.content.user_expressions ?? {}).map(e => e.data["text/plain"]);
}"""

# One entry for every picture: what a reader hears, and whether it is all there and all inside its
# output area.
PICTURES = """() => [...document.querySelectorAll(".jp-OutputArea-output img")]
    .filter(img => img.src.startsWith("data:image/svg+xml"))
    .map(img => {
        const [inner, outer] = [img, img.closest(".jp-OutputArea-output")].map(e => e.getBoundingClientRect());
        const inside = inner.left > outer.left - 1 && inner.right < outer.right + 1 && inner.bottom < outer.bottom + 1;
        return {alt: img.alt, loaded: img.complete && img.naturalWidth > 0, height: inner.height, inside,
                shown: img.offsetParent !== null};
    })"""


def committed_pictures(path: Path, unfolded: bool = False) -> int:
    """How many pictures of gradviz the notebook shows as it was committed: those of answers, which
    are folded until a learner has guessed, only where all is unfolded."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    folded = [c["metadata"].get("jupyter", {}).get("outputs_hidden", False) for c in cells]
    html = [
        "".join(o.get("data", {}).get("text/html", ""))
        for c, is_folded in zip(cells, folded, strict=True)
        for o in c.get("outputs", [])
        if unfolded or not is_folded
    ]
    return sum(h.count(PICTURE) for h in html)


def live_cells(path: Path) -> int:
    """How many cells of the notebook show a live picture in the place of the committed one, once
    they are run: those that show a player, or a panel, whose words begin with its settings."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    plays = ["".join(c["source"]).startswith("gv.play(") for c in cells]
    words = [
        "".join("".join(o.get("data", {}).get("text/plain", "")) for o in c.get("outputs", []))
        for c in cells
    ]
    return sum(p or bool(SETTINGS.match(w)) for p, w in zip(plays, words, strict=True))


# Each live picture, and whether all of its panel is inside its output area.
# A question's picture comes with its answer; tests/browser/test_questions.py looks at it.
LIVE = """() => [...document.querySelectorAll(".jp-OutputArea-output .gv-view:not(.gradviz-question *)")].map(view => {
    const panel = view.closest(".gradviz-room, .gv-room") ?? view.closest(".gv-root");
    const [inner, outer] = [panel, view.closest(".jp-OutputArea-output")].map(e => e.getBoundingClientRect());
    return {label: view.getAttribute("aria-label"), inside: inner.left > outer.left - 1 && inner.right < outer.right + 1
        && inner.bottom < outer.bottom + 1 && view.getBoundingClientRect().right < outer.right + 1};
})"""


def live_looks(page: Page, expected: int) -> None:
    page.wait_for_function(f"() => ({LIVE})().length >= {expected}")
    found: list[dict[str, Any]] = page.evaluate(LIVE)
    assert len(found) == expected
    for picture in found:
        assert picture["label"]
        assert picture["inside"], f"a live picture is cut off: {picture}"


def looks(page: Page, expected: int) -> list[dict[str, Any]]:
    """The pictures on the page, once all of them are there."""
    page.wait_for_function(f"() => ({PICTURES})().filter(p => p.loaded).length >= {expected}")
    found: list[dict[str, Any]] = page.evaluate(PICTURES)
    assert len(found) == expected
    for picture in found:
        assert picture["alt"].strip(), "a picture says nothing to a screen reader"
        assert picture["loaded"]
        if picture["shown"]:
            assert picture["inside"], (
                f"a picture is cut off at the edge of its output area: {picture}"
            )
            assert picture["height"] > 20
    return found


def screenshot(page: Page, name: str) -> None:
    """The whole notebook, screen by screen from the top, as images below tests/artefacts/: to look
    at, and it takes seconds, so not always."""
    if not Asked.everything:
        return
    page.set_viewport_size({"width": 1440, "height": 1500})
    scroller = page.locator(".jp-WindowedPanel-outer").first
    height = scroller.evaluate("e => e.scrollHeight")
    for number, top in enumerate(range(0, height, 1300), 1):
        scroller.evaluate("(e, top) => { e.scrollTop = top; }", top)
        page.screenshot(path=ARTEFACTS / f"{name}-{number:02}.png")
    page.set_viewport_size({"width": 1440, "height": 900})


@pytest.mark.parametrize("path", sampled(NOTEBOOKS, 1), ids=lambda p: p.stem)
def test_notebook_runs_and_shows_its_pictures(lab: Lab, tab: Tab, path: Path) -> None:
    page, live = tab.page, live_cells(path)
    expected = committed_pictures(path, unfolded=True)
    page.goto(f"{lab.url}lab/tree/{path.name}?token={lab.token}&reset")
    page.wait_for_function(OPEN)
    page.evaluate(UNFOLD)
    # as committed: nothing was run here, so Jupyter does not trust the outputs yet
    looks(page, expected)

    cells = page.evaluate(RUN_ALL)
    code = [c for c in cells if c["cell_type"] == "code" and "".join(c["source"]).strip()]
    wanted = {c["id"]: c for c in json.loads(path.read_text(encoding="utf-8"))["cells"]}
    for number, cell in enumerate(code, 1):
        errors = [o["ename"] for o in cell["outputs"] if o["output_type"] == "error"]
        committed = [
            o["ename"] for o in wanted[cell["id"]]["outputs"] if o["output_type"] == "error"
        ]
        assert errors == committed, f"code cell {number}: {cell['source']}"
        assert cell["execution_count"] == number

    problems, asked = page.evaluate(IN_KERNEL, QUESTIONS)
    assert problems == "[]"
    assert int(asked) == sum("lesson.question(" in "".join(c["source"]) for c in code)

    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        change_theme(page, theme)
        pictures = looks(page, expected - live)
        live_looks(page, live)
        assert all(p["shown"] for p in pictures)
        for alt in {p["alt"] for p in pictures}:
            assert page.get_by_role("img", name=alt, exact=True).count() == [
                p["alt"] for p in pictures
            ].count(alt)
        screenshot(page, f"{path.stem}-{theme.split()[-1].lower()}")

    assert NEWS in page.evaluate("() => window.jupyterapp.info.disabled.matches")
    assert page.get_by_text("Jupyter news").count() == 0
    assert not tab.strangers, "the page asked another machine"
    assert not lab.contacts.exists(), lab.contacts.read_text()


@pytest.mark.parametrize("path", NOTEBOOKS[:1], ids=lambda p: p.stem)
def test_notebook_7_shows_the_committed_pictures(lab: Lab, tab: Tab, path: Path) -> None:
    tab.page.goto(f"{lab.url}notebooks/{path.name}?token={lab.token}")
    tab.page.locator(".jp-Notebook .jp-Cell").first.wait_for()
    looks(tab.page, committed_pictures(path))
    assert not tab.strangers


def test_a_request_to_elsewhere_would_be_noticed(tab: Tab) -> None:
    tab.page.set_content("<img src='http://gradviz.invalid/x.png'>")
    tab.page.wait_for_function("() => document.images[0].complete")
    assert tab.strangers == ["http://gradviz.invalid/x.png"]


def test_a_contact_of_a_kernel_with_elsewhere_would_be_noticed(tmp_path: Path) -> None:
    contacts = tmp_path / "contacts.txt"
    code = "import socket\ntry: socket.getaddrinfo('gradviz.invalid', 80)\nexcept OSError: pass"
    environment = {**os.environ, "PYTHONPATH": str(WATCH), "GRADVIZ_CONTACTS": str(contacts)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert contacts.read_text() == "socket.getaddrinfo gradviz.invalid\n"
