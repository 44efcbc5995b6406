"""A walk through the notebooks up to 09, as a newcomer takes it in JupyterLab: the first cell by two
presses of Shift+Enter, then every control, every answer and every step of a player, by clicks; or of one
notebook, and of each panel some clicks, drawn with a seed (``sampling.py``)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab import ARTEFACTS, ROOT, Lab, Tab, change_theme, new_tab
from live import open_lab, run_python
from playwright.sync_api import Browser, Locator, Page, expect
from sampling import Asked, sampled

NOTEBOOKS = sorted((ROOT / "notebooks").glob("0[0-9]_*.ipynb"))
COMES_INTO_SIGHT = 2500  # ms; a new panel scrolls its notebook for two seconds at most
CLICKS = 3  # of each panel, where not every one is made
RUN_REST = """async () => {
    const {commands, shell} = window.jupyterapp;
    await commands.execute("notebook:expand-all-headings");
    await commands.execute("notebook:run-all-cells");
    await commands.execute("notebook:show-all-cell-outputs");
    const waits = c => c.cell_type === "code" && c.source.length && c.execution_count === null;
    const cells = () => shell.currentWidget.content.model.toJSON().cells;
    while (cells().some(waits)) await new Promise(done => setTimeout(done, 100));
}"""
FIRST_PANEL = "() => live.rooms()[0]?.querySelector('.gv-said')?.textContent"
# Whether all of what the panel asks is in the window, or the notebook's part of it.
IN_SIGHT = """task => {
    const [one, pane] = [task, task.closest(".jp-WindowedPanel-outer")].map(e => e.getBoundingClientRect());
    return task.textContent !== "" && one.top >= pane.top && one.bottom <= pane.bottom;
}"""
# What a reader sees of a panel.
SEEN = """room => {
    const texts = what => [...room.querySelectorAll(what)].filter(e => e.checkVisibility())
        .map(e => e.textContent.trim()).filter(Boolean);
    const code = room.querySelector(".gv-code");
    return {code: texts(".gv-line"), said: texts(".gv-said").join(), error: texts(".gv-error").join(),
        changes: texts(".gv-changes").join(),
        scrolls: code.scrollWidth > code.clientWidth + 1 || code.scrollHeight > code.clientHeight + 1};
}"""
Seen = dict[str, Any]


class Room:
    """One panel, question or player of the open notebook."""

    def __init__(self, page: Page, element: Locator) -> None:
        self.page, self.element = page, element

    def clicks(self) -> Iterator[tuple[str, Locator, str]]:
        """What can be done with it: in words, the element, and a key for it or "" for a click."""
        if self.element.locator(".gradviz-question").count():
            answers = self.element.locator(".gradviz-question .widget-toggle-buttons button")
            yield from ((f"answer {i}", answers.nth(i), "") for i in range(answers.count()))
            yield "just show me", self.element.get_by_text("Just show me"), ""
            return
        if self.element.locator(".gv-transport").count():
            steps = self.element.locator(".gv-steps input[type=range]")
            for step in range(2, int(steps.get_attribute("max") or 0) + 1):
                yield f"step {step}", self.element.locator(".gv-transport button").nth(3), ""
            return
        for control in self.element.locator(".gv-control").all():
            name = control.get_attribute("data-name")
            for i, choice in enumerate([*control.locator("label:has([type=radio])").all()] * 2):
                yield f"{name}, choice {i}", choice, ""
            for box in [*control.locator("[type=checkbox], button").all()] * 2:
                yield f"{name}, a click", box, ""
            for field in control.locator("select, [type=range]").all():
                yield from ((f"{name}, {key}", field, key) for key in ("Home", "ArrowDown", "End"))
        yield "reset", self.element.locator(".gv-reset"), ""

    def act(self, target: Locator, key: str) -> Seen:
        """Click, or press a key, and return what is seen when it does not change any more."""
        if key:
            target.press(key)
        else:
            target.click()
        run_python(self.page, "pass")  # the kernel has answered
        return self.settled()

    def settled(self) -> Seen:
        expect(self.element.locator(".gv-old")).to_have_count(0)  # a busy machine may be waited for
        before, seen, same = {}, {}, 0
        while same < 3:
            before, seen = seen, self.element.evaluate(SEEN)
            same = same + 1 if seen == before else 0
            self.page.wait_for_timeout(20)
        return seen


@pytest.fixture
def walker(browser: Browser) -> Iterator[Tab]:
    with new_tab(browser, 1280, 720) as opened:
        if not Asked.everything:  # to draw every move of a card is most of the work
            opened.page.emulate_media(reduced_motion="reduce")
        yield opened


def look(page: Page, name: str) -> None:
    """Take a picture of the window, light and dark, to look at; it takes seconds, so not always."""
    if not Asked.everything:
        return
    ARTEFACTS.mkdir(exist_ok=True)
    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        change_theme(page, theme)
        page.screenshot(path=ARTEFACTS / f"walk-{name}-{theme.split()[-1].lower()}.png")


def complaints_about(room: Room, what: str, before: Seen, after: Seen) -> Iterator[str]:
    """What a newcomer would stumble over after a click."""
    if not after["said"]:
        yield f"{what}: nothing is said"
    if after["scrolls"]:
        yield f"{what}: the code has a scrollbar"
    asked = room.element.locator(".gradviz-question").count()
    is_told = after["changes"] or after["error"] or what.endswith("reset") or asked
    if after["code"] != before["code"] and not is_told:
        yield f"{what}: the code is another one, and nothing is said of what changed"


@pytest.mark.parametrize("path", sampled(NOTEBOOKS, 1), ids=lambda p: p.stem)
def test_every_click_of_a_notebook_is_answered(lab: Lab, walker: Tab, path: Path) -> None:
    page, stumbles = walker.page, list[str]()
    page.on("console", lambda m: stumbles.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: stumbles.append(str(error)))
    open_lab(page, lab, path.name)
    look(page, f"{path.stem}-opened")
    page.locator(".jp-Notebook .jp-Cell").first.click()
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Shift+Enter")
    page.wait_for_function(FIRST_PANEL)
    task = page.locator(".gv-task").first
    page.wait_for_timeout(COMES_INTO_SIGHT)
    assert task.evaluate(IN_SIGHT), "the question is out of sight"
    look(page, f"{path.stem}-first")
    page.evaluate(RUN_REST)

    rooms = page.locator(".jp-OutputArea :is(.gradviz-room, .gv-room)")
    code = [c["source"] for c in json.loads(path.read_text())["cells"] if c["cell_type"] == "code"]
    shown = ("@gv.explore", "gv.play(", "lesson.question(")
    expect(rooms).to_have_count(sum("".join(s).count(what) for s in code for what in shown))
    for place in range(rooms.count()):
        room = Room(page, rooms.nth(place))
        room.element.scroll_into_view_if_needed()
        before = room.settled()
        for what, target, key in sampled([*room.clicks()], CLICKS):
            after = room.act(target, key)
            stumbles += complaints_about(room, f"{place}, {what}", before, after)
            before = after
    assert not stumbles
    assert not walker.strangers
