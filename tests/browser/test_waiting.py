"""What a panel says while its kernel is busy, and when it is gone: never an old sentence below a
new choice."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lab import ARTEFACTS, Lab, change_theme
from live import (
    CELLS,
    FAKE,
    HEAD,
    PLAY,
    Oracle,
    Panel,
    open_lab,
    open_notebook_7,
    run_all,
    run_python,
    write_notebook,
)
from playwright.sync_api import Browser, Page, expect
from sampling import Asked
from test_live import small_tab

pytestmark = pytest.mark.dear(2)  # each with a kernel of its own

COURSE_CELL = CELLS[2]
ASK = """asked = gv.lesson.question("What will `a.grad` hold?", course, {"copy": "clone"},
    truth=lambda run: run.tensors["a"]["grad"], answers={"[2, 2, 2]": None, "[5, 5, 5]": None, "None": None})
asked
"""
SLOW = """@gv.explore(copy=[torch.Tensor.clone, torch.Tensor.detach], again=gv.controls.button("again"))
def slow(copy, again):
    a = torch.ones(2, requires_grad=True)
    b = copy(a)
    if again:
        time.sleep(3)
    (a * 2 + b).sum().backward()
"""
PLAYED = f"{PLAY[1:]}player = gv.play(rec)\nplayer"
STILL = "gv.GraphWidget(rec)"
WIDGET = "import ipywidgets; ipywidgets.IntSlider()"  # none of gradviz
CELLS_HERE = (HEAD, COURSE_CELL, ASK, SLOW, PLAYED, STILL)
COURSE, QUESTION, SLOWLY, PLAYER = range(4)
GONE = "The kernel is gone: run this cell again."
WAITING = "Waiting for the kernel."
RESTART = (
    "async () => { await"
    " window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart(); }"
)
STOP = "async () => { await window.jupyterapp.shell.currentWidget.sessionContext.shutdown(); }"
CRASH = "import os, threading; threading.Timer(0.2, os._exit, [1]).start()"
# What of a panel a reader can take for true: what is in sight, not dimmed, and not kept from screen
# readers.
BELIEVED = """room => {
    const root = room.querySelector(".gv-root");
    const shown = name => {
        const part = room.querySelector(name);
        if (!part || !part.checkVisibility({visibilityProperty: true})) return "";
        const dim = Number(getComputedStyle(part.closest(".gv-area")).opacity) < 0.5;
        return dim && part.closest("[inert]") ? "old" : dim ? "dimmed" : part.textContent;
    };
    return {said: shown(".gv-said"), notice: shown(".gv-notice"), picture: shown(".gv-view").slice(0, 3),
            table: shown(".gv-table summary").slice(0, 3), busy: root.getAttribute("aria-busy")};
}"""


# of a question, and of a panel
PRESSED = ".gradviz-controls button, .gv-control label, .gv-control button, .gv-reset"


def believed(panel: Panel) -> dict[str, Any]:
    found: dict[str, Any] = panel.room.evaluate(BELIEVED)
    return found


def is_old(panel: Panel, notice: str) -> None:
    """Waits for the notice; then nothing of the old state may be taken for true."""
    expect(panel.room.locator(".gv-notice")).to_contain_text(notice)
    found = believed(panel)
    assert found.pop("notice").startswith(notice)
    assert found["busy"] == "true"
    assert found["said"] == ""
    assert found["picture"] in ("old", "")  # none before the first answer to a question
    assert found["table"] in ("old", "")
    live = panel.room.locator(".gv-notice").locator("xpath=ancestor::*[@aria-live='polite']")
    assert live.count() == 1


def is_true(panel: Panel) -> None:
    expect(panel.room.locator(".gv-notice")).to_be_hidden()
    found = believed(panel)
    assert found["notice"] == ""
    assert found["said"]
    assert found["picture"] not in ("old", "dimmed", "")
    assert found["busy"] != "true"
    assert panel.room.locator("[inert]").count() == 0


def press(panel: Panel, name: str) -> None:
    # ipywidgets puts a sign of a broken link before the words of a button without a kernel.
    words = re.compile(rf"^\s*{re.escape(name)}\s*$")
    panel.room.locator(PRESSED, has_text=words).click()


def shoot(page: Page, panel: Panel, name: str) -> None:
    """Takes a picture of the panel in light and dark; it takes seconds, so not always."""
    if not Asked.everything:
        return
    for theme in ("Light", "Dark"):
        change_theme(page, f"JupyterLab {theme}")
        panel.top()
        page.wait_for_timeout(200)
        page.screenshot(path=ARTEFACTS / f"waiting-{name}-{theme.lower()}.png")
    change_theme(page, "JupyterLab Light")


def started(page: Page, lab: Lab, name: str) -> list[Panel]:
    write_notebook(lab, name, CELLS_HERE)
    open_lab(page, lab, name)
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    panels = [Panel(page, index) for index in range(4)]
    for panel in (panels[COURSE], panels[SLOWLY]):
        panel.room.locator(".gv-node").first.wait_for()
    panels[PLAYER].room.get_by_role("button", name="Next step", exact=True).wait_for()
    panels[QUESTION].room.locator(".gv-line").first.wait_for()
    page.wait_for_function("() => live.idle()")
    return panels


def keep_busy(page: Page, sign: Path) -> Callable[[], None]:
    """Run a cell until the returned function is called, however long a busy machine takes for what
    is looked at meanwhile. Its status tells nothing: comms have a thread of their own in it."""
    code = f"import os\nwhile not os.path.exists({str(sign)!r}): time.sleep(0.05)"
    page.evaluate(
        """code => {
        window.runs = true;
        window.busy = live.python(code).then(() => { runs = false; });
    }""",
        code,
    )
    page.wait_for_function("() => !live.idle()")

    def end() -> None:
        assert page.evaluate("runs")
        sign.touch()
        page.evaluate("busy")

    return end


def test_while_a_cell_runs_the_old_picture_is_dimmed_and_says_so(
    browser: Browser, lab: Lab, tmp_path_factory: pytest.TempPathFactory
) -> None:
    oracle = Oracle(tmp_path_factory.mktemp("oracle"))
    complaints: list[str] = []
    with small_tab(browser, complaints) as tab:
        page = tab.page
        course, question, slow, _ = started(page, lab, "busy.ipynb")
        course.top()
        words = """() => { window.notices = []; new MutationObserver(() => {
            const said = [...document.querySelectorAll(".gv-notice:not([hidden])")].map(e => e.textContent);
            if (said.length) notices.push(...said);
        }).observe(document.body, {subtree: true, attributes: true, childList: true, characterData: true}); }"""
        end = keep_busy(page, lab.folder / "busy")
        press(course, "detach")
        is_old(course, WAITING)
        press(question, "[2, 2, 2]")
        is_old(question, WAITING)
        shoot(page, course, "busy")
        end()
        course.shows(oracle.course(copy="detach"))
        is_true(course)
        expect(question.room.locator(".gv-said")).to_contain_text(
            "You said [2, 2, 2]; it is [5, 5, 5]"
        )
        is_true(question)

        page.wait_for_timeout(1000)
        page.evaluate(words)  # an answer that comes at once: nothing flickers
        press(course, "clone")
        course.shows(oracle.course())
        slow.top()
        page.evaluate("() => { window.before = notices.length; }")
        press(slow, "again")  # a scenario that is slow itself
        is_old(slow, WAITING)
        expect(slow.room.get_by_role("button", name="again (1)")).to_be_visible()
        expect(slow.room.locator(".gv-notice")).to_be_hidden()
        is_true(slow)
        assert not complaints


def crash(page: Page) -> None:
    run_python(page, CRASH)
    # "it will restart automatically"
    page.get_by_role("dialog").get_by_role("button", name="Ok").click()
    page.get_by_role("dialog").wait_for(state="detached")


ENDS: dict[str, Callable[[Page], object]] = {
    "restarted": lambda page: page.evaluate(RESTART),
    "shut-down": lambda page: page.evaluate(STOP),
    "crashed": crash,
}


@pytest.mark.parametrize("how", ENDS)
def test_when_the_kernel_is_gone_a_click_says_so(
    browser: Browser, lab: Lab, tmp_path_factory: pytest.TempPathFactory, how: str
) -> None:
    oracle = Oracle(tmp_path_factory.mktemp("oracle"))
    complaints: list[str] = []
    with small_tab(browser, complaints) as tab:
        page = tab.page
        panels = started(page, lab, f"{how}.ipynb")
        course, question, slow, player = panels
        press(course, "copy_")
        course.shows(oracle.course(copy="copy_"))
        page.wait_for_function("() => live.idle()")  # the click is answered after its picture
        ENDS[how](page)
        page.wait_for_timeout(1500)
        if how == "restarted":
            page.wait_for_function("() => live.idle()")
        course.top()
        is_true(course)  # what was true still is: its controls are those of its picture
        press(course, "detach")
        is_old(course, GONE)
        shoot(page, course, how)
        press(course, "copy_")  # back to what the picture belongs to
        is_true(course)
        press(course, "Reset")
        is_old(course, GONE)
        question.top()
        press(question, "[2, 2, 2]")
        is_old(question, GONE)
        if how == "restarted":
            shoot(page, question, "question")
        press(slow, "again")
        is_old(slow, GONE)
        player.top()
        before = player.drawing()
        # all its pictures are in the page
        player.room.get_by_role("button", name="Next step", exact=True).click()
        assert player.drawing() != before
        assert player.room.locator(".gv-notice:visible").count() == 0
        assert not tab.strangers


def test_a_kernel_that_ends_while_it_is_awaited_is_gone(browser: Browser, lab: Lab) -> None:
    with small_tab(browser, []) as tab:
        page = tab.page
        course, *_ = started(page, lab, "awaited.ipynb")
        page.evaluate("() => { window.busy = live.python('time.sleep(60)'); }")
        page.wait_for_function("() => !live.idle()")
        press(course, "detach")
        is_old(course, WAITING)
        page.evaluate(RESTART)
        is_old(course, GONE)


ELSEWHERE = """async token => {
    const ask = (path, method) => fetch(`/api/kernels${path}?token=${token}`, {method});
    const all = await (await ask("", "GET")).json();
    const newest = all.sort((a, b) => a.last_activity.localeCompare(b.last_activity)).at(-1);
    await ask(`/${newest.id}/restart`, "POST");
}"""


def test_a_kernel_that_somebody_else_restarted_is_gone_in_notebook_7_too(
    browser: Browser, lab: Lab
) -> None:
    """Nothing tells the page: it finds out because nobody answers."""
    write_notebook(lab, "elsewhere.ipynb", (HEAD, COURSE_CELL))
    with small_tab(browser, []) as tab:
        page = tab.page
        open_notebook_7(page, lab, "elsewhere.ipynb")
        run_all(page, 1)
        course = Panel(page, 0)
        course.room.locator(".gv-node").first.wait_for()
        is_true(course)
        page.wait_for_timeout(1000)
        page.evaluate(ELSEWHERE, lab.token)
        press(course, "detach")
        is_old(course, GONE)
        page.screenshot(path=ARTEFACTS / "waiting-notebook-7.png")


COUNT = "from ipywidgets.widgets import widget; print(len(widget._instances))"
COMMS = "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel._comms.size"


def test_a_cell_that_is_run_again_leaves_nothing_in_kernel_and_page(
    browser: Browser, lab: Lab
) -> None:
    cells = (HEAD, COURSE_CELL, ASK, PLAYED)
    write_notebook(lab, "rerun.ipynb", cells)
    complaints: list[str] = []
    with small_tab(browser, complaints) as tab:
        page = tab.page
        open_lab(page, lab, "rerun.ipynb")
        counts = []
        for _ in range(4):
            page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
            page.wait_for_function("() => live.rooms().length === 3 && live.idle()")
            page.locator(".gradviz-question .gv-line").first.wait_for()
            page.get_by_role("button", name="Next step").wait_for()
            page.wait_for_timeout(500)
            counts.append((run_python(page, COUNT), page.evaluate(COMMS)))
        assert len(set(counts[1:])) == 1, counts
        assert counts[0] == counts[1]
        course = Panel(page, 0)
        course.top()
        press(course, "detach")
        expect(course.room.locator(".gv-said")).to_contain_text("detach() cuts b from a")
        is_true(course)
        assert not complaints


# --- no flicker: what is shown, by the page's own clock -------------------------------------------

CLICKS = """async ([index, names]) => {
    const room = live.rooms()[index];
    const log = fake.watch(room);
    const until = async test => {
        const end = performance.now() + 180000;
        while (!test() && performance.now() < end) await new Promise(done => setTimeout(done, 5));
        if (!test()) throw new Error("no state came");
    };
    const clicks = [];
    for (const name of names) {
        const button = [...room.querySelectorAll(".gv-control label")].find(b => b.textContent.trim() === name);
        const [at, noted] = [performance.now(), log.length];
        button.click();
        await until(() => log.slice(noted).some(([what]) => what === "drawn"));
        await until(() => room.querySelector(".gv-notice").hidden);
        await new Promise(done => setTimeout(done, 60));
        const mine = log.slice(noted);
        clicks.push({name, took: mine.find(([what]) => what === "drawn")[1] - at,
            noticed: mine.filter(([what]) => what === "notice").map(([, shown]) => shown - at)});
    }
    return clicks;
}"""
PATIENCE = 300  # ms


def test_an_ordinary_click_shows_no_notice(browser: Browser, lab: Lab) -> None:
    """Of 24 clicks only those may show it whose state took longer than the limit, and not before
    the limit."""
    write_notebook(lab, "flicker.ipynb", (HEAD, COURSE_CELL))
    complaints: list[str] = []
    with small_tab(browser, complaints) as tab:
        page = tab.page
        open_lab(page, lab, "flicker.ipynb")
        run_all(page, 1)
        page.evaluate(FAKE)
        page.wait_for_timeout(1000)
        names = ["detach", "copy_", "clone", ".data", "detach", "clone"] * 4
        clicks = page.evaluate(CLICKS, [0, names])
        assert len(clicks) == len(names)
        for click in clicks:
            assert len(click["noticed"]) <= 1, click
            if click["noticed"]:
                assert click["took"] >= PATIENCE, click
                assert click["noticed"][0] >= PATIENCE - 1, click
        is_true(Panel(page, 0))
        assert not complaints


# --- views and pages ------------------------------------------------------------------------------


def test_two_views_of_one_exploration_are_old_and_true_together(
    browser: Browser, lab: Lab, tmp_path_factory: pytest.TempPathFactory
) -> None:
    oracle = Oracle(tmp_path_factory.mktemp("oracle"))
    write_notebook(lab, "views.ipynb", (HEAD, COURSE_CELL, "course"))
    complaints: list[str] = []
    with small_tab(browser, complaints) as tab:
        page = tab.page
        open_lab(page, lab, "views.ipynb")
        run_all(page, 2)
        one, two = Panel(page, 0), Panel(page, 1)
        end = keep_busy(page, lab.folder / "views")
        press(one, "detach")
        is_old(one, WAITING)
        is_old(two, WAITING)  # its controls moved, too
        end()
        for panel in (one, two):
            panel.shows(oracle.course(copy="detach"))
            is_true(panel)
        press(two, "Reset")
        for panel in (one, two):
            panel.shows(oracle.course())
            is_true(panel)
        page.evaluate(RESTART)
        page.wait_for_function("() => live.idle()")
        press(two, "copy_")
        is_old(one, GONE)
        is_old(two, GONE)


def run_cells(page: Page) -> None:
    """Run them, and wait for the last one's picture."""
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.locator(".jp-OutputArea .gv-root").nth(3).locator(".gv-node").first.wait_for()
    page.wait_for_function("() => live.idle()")


def has_still_pictures(page: Page) -> None:
    """Three pictures with their captions, a question to be run, and nothing of a widget."""
    expect(page.locator(".jp-OutputArea img")).to_have_count(3)
    shown = page.locator(".jp-OutputArea img").evaluate_all(
        "all => all.map(e => e.complete && e.naturalWidth > 100 && e.checkVisibility())"
    )
    assert shown == [True, True, True]
    expect(page.get_by_text("Run the cell (Shift+Enter) to make it live.")).to_have_count(3)
    expect(page.get_by_text("What will a.grad hold?")).to_be_visible()
    expect(page.get_by_text("Error displaying widget")).to_have_count(1)  # ipywidgets' own
    assert page.locator(".gv-control, .gv-said, .gv-notice").count() == 0


def test_a_notebook_that_is_opened_again_has_its_pictures_and_says_nothing_untrue(
    browser: Browser, lab: Lab
) -> None:
    """After a restart, after the kernel was shut down, and in Notebook 7: the picture of each live
    output stands there, and no old sentence and no button that would do nothing."""
    write_notebook(lab, "reloaded.ipynb", (HEAD, COURSE_CELL, ASK, PLAYED, WIDGET, STILL))
    complaints: list[str] = []
    with small_tab(browser, complaints) as tab:
        page, course = tab.page, Panel(tab.page, 0)
        open_lab(page, lab, "reloaded.ipynb")
        run_cells(page)
        press(course, "detach")
        expect(course.room.locator(".gv-said")).to_contain_text("detach() cuts b from a")
        page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
        press(course, "copy_")  # what was saved is left live in the page
        expect(course.room.locator(".gv-said")).not_to_contain_text("detach() cuts b from a")
        page.evaluate(RESTART)
        page.wait_for_function("() => live.idle()")
        open_lab(page, lab, "reloaded.ipynb")
        has_still_pictures(page)
        page.screenshot(path=ARTEFACTS / "waiting-reloaded.png")
        page.evaluate(STOP)
        page.goto(f"{lab.url}notebooks/reloaded.ipynb?token={lab.token}")
        page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        has_still_pictures(page)
        page.screenshot(path=ARTEFACTS / "waiting-reopened-notebook7.png")
        open_lab(page, lab, "reloaded.ipynb")
        has_still_pictures(page)
        run_cells(page)
        press(course, "detach")
        expect(course.room.locator(".gv-said")).to_contain_text("detach() cuts b from a")
        is_true(course)


REFUSES = """import ipywidgets, traitlets
class Even(ipywidgets.IntText):
    @traitlets.validate("value")
    def _even(self, proposal):
        if proposal["value"] % 2:
            raise traitlets.TraitError("even numbers only")
        return proposal["value"]

@gv.explore(k=Even(value=2))
def even(k):
    a = torch.ones(2, requires_grad=True)
    (a * k).sum().backward()
"""


def test_a_value_that_a_control_refuses_is_taken_back_and_nothing_waits_for_ever(
    browser: Browser, lab: Lab
) -> None:
    write_notebook(lab, "refused.ipynb", (HEAD, REFUSES))
    with small_tab(browser, []) as tab:
        page, even = tab.page, Panel(tab.page, 0)
        open_lab(page, lab, "refused.ipynb")
        run_all(page, 1)
        number = even.room.locator(".gradviz-controls input[type=number]")
        for wrong, right in (("3", "4"), ("5", "6")):
            before = number.input_value()
            number.fill(wrong)
            number.press("Enter")
            expect(number).to_have_value(before)
            is_true(even)
            number.fill(right)
            number.press("Enter")
            expect(even.room.locator(".gv-said")).to_contain_text(f"[{right}, {right}]")
            is_true(even)
