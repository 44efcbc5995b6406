"""What a reader sees of every panel of the notebooks, in all of its states: nothing is too small,
nothing is cut off, and what she looks at stays where it is; or of some notebooks and panels, drawn with
a seed (``sampling.py``)."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lab import ROOT
from playwright.sync_api import Browser
from sampling import Asked, sampled

from course import books

CHOSEN = sampled([book.name for book in books.notebooks()], 1)
# states of a panel that are gone through, and those at another width than WIDTH
MOST, MOST_THERE = (512, 512) if Asked.everything else (40, 6)
# of a notebook, where not everything is gone through: to draw their states takes longest
PANELS = 3
WIDTH, OTHERS = 830, (366, 565, 720, 1100)
LEAST = 12  # CSS pixels of any text
SAMPLE = random.Random(0)
# One state after the other, as PageDown shows them, and what is wrong in each.
LOOK = """async ([width, limit]) => {
    document.body.style.maxWidth = "none";
    const app = document.getElementById("gv-app");
    app.style.width = `${width}px`;
    const frame = () => new Promise(requestAnimationFrame);
    const settle = async () => {
        for (let i = 0; i < 4; i += 1) await frame();
        for (const one of document.getAnimations()) one.finish(); // what pops up is small on its way
    };
    const root = app.querySelector(".gv-root");
    const isSeen = e => e.checkVisibility({visibilityProperty: true}) && e.getBoundingClientRect().width > 1
        && !e.closest("details:not([open]) > :not(summary)") && e.tagName !== "OPTION";
    const smallTexts = () => {
        const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
        const found = [];
        while (walker.nextNode()) {
            const element = walker.currentNode.parentElement;
            if (!walker.currentNode.data.trim() || !isSeen(element)) continue;
            const matrix = element.closest(".gv-canvas") ? element.getScreenCTM() : {a: 1, b: 0};
            const size = parseFloat(getComputedStyle(element).fontSize) * Math.hypot(matrix.a, matrix.b);
            if (size < LEAST - 0.01) found.push([walker.currentNode.data, size]);
        }
        return found;
    };
    const edge = () => app.getBoundingClientRect();
    const wide = () => [...root.querySelectorAll(".gv-area, .gv-line, .gv-slot, .gv-control, button, summary")]
        .filter(e => isSeen(e) && !e.closest(".gv-scroll") && e.getBoundingClientRect().right > edge().right + 1)
        .map(e => e.className);
    const code = root.querySelector(".gv-code");
    const scrolls = e => /auto|scroll/.test(getComputedStyle(e).overflow)
        && (e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1);
    const covers = () => {
        const boxes = [...root.querySelectorAll(".gv-source, .gv-slot")].filter(isSeen)
            .map(e => [e.closest(".gv-line"), e.getBoundingClientRect()]);
        return boxes.filter(([line, one]) => boxes.some(([other, two]) => line !== other
            && one.bottom > two.top + 4 && two.bottom > one.top + 4 && one.right > two.left + 1 && two.right > one.left + 1)).length;
    };
    const top = name => {
        const element = root.querySelector(name);
        return element && isSeen(element) ? Math.round(element.getBoundingClientRect().top - edge().top) : null;
    };
    await settle();
    const states = [];
    for (let i = 0; i < limit; i += 1) {
        states.push({
            small: smallTexts(), wide: wide(), scrolls: [code, ...code.querySelectorAll("*")].filter(scrolls).length,
            covers: covers(), sentence: top(".gv-sentence"), picture: top(".gv-view"),
            height: Math.round(root.querySelector(".gv-sentence").getBoundingClientRect().height),
        });
        document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "PageDown", bubbles: true}));
        await settle();
    }
    return states;
}""".replace("LEAST", str(LEAST))
COUNT = """() => [...document.querySelectorAll(".gv-control")].reduce((product, row) => product * (
    row.querySelectorAll("[type=radio], option").length || (row.querySelector("[type=checkbox]") ? 2
    : row.querySelector("[type=range]") ? Number(row.querySelector("[type=range]").max) + 1 : 4)), 1)"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The panels of the notebooks, or some of them: a folder of pages for each."""
    folder = tmp_path_factory.mktemp("panels")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    count = 0 if Asked.everything else PANELS
    asked = [str(folder), *map(str, (MOST, count, Asked.seed)), *CHOSEN]
    ran = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("export_panels.py")), *asked],
        capture_output=True,
        text=True,
        env=environment,
        cwd=ROOT,
    )
    assert ran.returncode == 0, ran.stderr
    return folder


def seen(browser: Browser, file: Path, width: int, most: int = MOST) -> list[dict[str, Any]]:
    """What is to be seen of the states of a page at a width."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    try:
        page.goto(file.as_uri())
        page.locator(".gv-said").wait_for(state="attached")
        states: list[dict[str, Any]] = page.evaluate(LOOK, [width, min(most, page.evaluate(COUNT))])
    finally:
        page.close()
    return states


def is_well(states: list[dict[str, Any]], where: str) -> None:
    for number, state in enumerate(states):
        assert not state["small"], f"{where}, state {number}"
        assert not state["wide"], f"{where}, state {number}"
        assert not state["scrolls"], f"{where}, state {number}: the code scrolls"
        assert not state["covers"], f"{where}, state {number}: code lies on code"
    for what in ("sentence", "picture", "height"):
        places = {state[what] for state in states if state[what] is not None}
        assert len(places) <= 1, f"{where}: {what} moves between {places}"


@pytest.mark.parametrize("name", CHOSEN)
def test_nothing_is_too_small_cut_off_or_moved(browser: Browser, exported: Path, name: str) -> None:
    files = sorted((exported / name).glob("*.html"))
    assert files
    for file in files:
        is_well(seen(browser, file, WIDTH), f"{name} {file.stem} at {WIDTH}")
    for width in OTHERS:
        for file in files if Asked.everything else SAMPLE.sample(files, min(2, len(files))):
            is_well(seen(browser, file, width, MOST_THERE), f"{name} {file.stem} at {width}")
