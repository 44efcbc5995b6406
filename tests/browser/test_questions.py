"""A question in JupyterLab: answered by mouse and by keyboard, changed, revealed, and shown to a
class."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from lab import PATIENCE_MS, ROOT, Lab, Tab, new_tab
from live import COURSE, COURSE_CONTROLS, HEAD, in_code_font, open_lab, run_python, write_notebook
from playwright.sync_api import Browser, Locator, Page, expect

pytestmark = pytest.mark.dear(6)
ARTEFACTS = ROOT / "tests" / "artefacts"
ASK = """
asked = gv.lesson.question("What will `a.grad` hold?", course, {"copy": "clone"},
    truth=lambda run: run.tensors["a"]["grad"], answers={
        "[2, 2, 2]": gv.lesson.Wrong("M-clone-leaf", "the other 3s came back through `b`, along the thick arrow.", "b"),
        "[5, 5, 5]": gv.lesson.Wrong("values bring gradients back", "nothing comes back along the dashed arrow.", "b"),
        "None": gv.lesson.Wrong("a copy takes the gradient away", "c = a * 2 still leads back to a.", "c")})
asked
"""
CELLS = (HEAD, f"@gv.explore({COURSE_CONTROLS}){COURSE}", ASK, "print('the last cell')")
WRONG = (
    "You said [2, 2, 2]; it is [5, 5, 5]: the other 3s came back through b, along the thick arrow."
)
RIGHT = "Yes, it is [5, 5, 5]."
IS = "It is [5, 5, 5]."
AGAIN = """async () => {
    const {commands, shell} = window.jupyterapp;
    shell.currentWidget.content.activeCellIndex = 2;
    await commands.execute("notebook:run-cell");
}"""
COUNT = "window.jupyterapp.shell.currentWidget.content.widgets.map(w => w.model.type).join()"
# Where everything of the question stands, what of its text is cut off, and whether it is inside the
# window's notebook.
BOXES = """room => {
    const inside = room.closest(".jp-WindowedPanel-outer").getBoundingClientRect();
    const all = [...room.querySelectorAll("button, label, .gv-said, .gv-line, .gv-view, summary")]
        .filter(e => e.checkVisibility() && e.getBoundingClientRect().width);
    const box = e => e.getBoundingClientRect();
    return {
        names: all.map(e => e.className.baseVal ?? e.className),
        out: all.filter(e => box(e).left < inside.left - 1 || box(e).right > inside.right + 1).map(e => e.textContent),
        cut: all.filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth).map(e => e.textContent),
        more: room.querySelector(".gv-view").dataset.more ?? "",
        code: [".gv-code"].map(s => room.querySelector(s)).map(e => e.scrollHeight > e.clientHeight + 1)[0],
    };
}"""


@pytest.fixture(scope="module")
def complaints() -> list[str]:
    return []


@pytest.fixture(scope="module")
def asked(browser: Browser, lab: Lab, complaints: list[str]) -> Iterator[Tab]:
    """A notebook with an exploration and a question about it, run from top to bottom, in a small
    window."""
    write_notebook(lab, "asked.ipynb", CELLS)
    with new_tab(browser, 1280, 720) as tab:
        tab.page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        tab.page.on("pageerror", lambda error: complaints.append(str(error)))
        open_lab(tab.page, lab, "asked.ipynb")
        tab.page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
        # nobody answered, and it ran to its end
        tab.page.get_by_text("the last cell", exact=True).wait_for()
        tab.page.locator(".gradviz-question .gv-line").first.wait_for()
        tab.page.set_default_timeout(PATIENCE_MS)
        yield tab


@pytest.fixture
def page(asked: Tab) -> Page:
    """The notebook with a fresh question."""
    page = asked.page
    run_python(page, "gv.lesson.present(False)")
    page.evaluate(AGAIN)
    expect(panel(page)).to_have_class(re.compile("gradviz-open"))
    room(page).locator(".gv-line").first.wait_for()
    room(page).evaluate("e => e.scrollIntoView()")
    return page


def room(page: Page) -> Locator:
    return page.locator(".gradviz-room:has(.gradviz-question)")


def panel(page: Page) -> Locator:
    return page.locator(".gradviz-question")


def button(page: Page, name: str) -> Locator:
    """An answer, or what stands beside them; cards are buttons too, but none of HTML."""
    return room(page).locator("button").filter(has_text=name)


def says(page: Page, text: str) -> None:
    """Waits for the reply, its picture and the mark of what is right."""
    expect(room(page).locator(".gv-said")).to_contain_text(text)
    expect(room(page).locator(".gv-view")).to_be_visible()
    expect(panel(page)).to_have_class(re.compile("gradviz-truth-1"))


def reach(page: Page, name: str) -> None:
    """Presses Tab until the button of this name has the focus."""
    for _ in range(30):
        if name in str(page.evaluate("document.activeElement.textContent")):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {name}")


def fits(page: Page) -> dict[str, Any]:
    """Question, answers, reply, code and picture are as wide as there is room, and no text is cut."""
    page.wait_for_timeout(150)
    room(page).evaluate("e => e.scrollIntoView()")
    found: dict[str, Any] = room(page).evaluate(BOXES)
    assert (found["out"], found["cut"], found["more"]) == ([], [], "")
    return found


def test_before_an_answer_nothing_is_run_and_nothing_tells(page: Page) -> None:
    assert run_python(page, "print(asked.reply, asked._run)") == "None None"
    assert room(page).locator(".gv-node").count() == 0
    assert room(page).locator(".gv-said").text_content() == ""
    assert room(page).locator(".gv-line").count() == 7
    question = "What will a.grad hold?"
    group = room(page).get_by_role("group", name=question)
    assert group.get_by_role("button").all_text_contents() == ["[2, 2, 2]", "[5, 5, 5]", "None"]
    assert group.locator("[aria-pressed=true]").count() == 0


def test_by_mouse_wrong_then_right(page: Page) -> None:
    button(page, "[2, 2, 2]").click()
    says(page, WRONG)
    expect(button(page, "[2, 2, 2]")).to_have_attribute("aria-pressed", "true")
    # said, not only coloured
    expect(room(page).get_by_role("button", name="[2, 2, 2] ✗")).to_be_visible()
    expect(room(page).get_by_role("button", name="[5, 5, 5] ✓")).to_be_visible()
    expect(room(page).locator(".gv-node.gv-lit text").first).to_have_text("a")
    assert in_code_font(room(page)) == ["b"]
    expect(room(page).locator(".gv-here .gv-source")).to_have_text("b = a.clone()")
    # nothing was there before that it could differ from
    assert room(page).locator(".gv-tag-changed").count() == 0
    button(page, "[5, 5, 5]").click()
    says(page, RIGHT)
    expect(room(page).locator(".gv-changes")).to_have_text("")  # it is the same run
    assert room(page).locator(".gv-lit, .gv-here").count() == 0
    assert run_python(page, "print(asked.reply.place, course.values['copy'])") == "1 clone"


def test_by_keyboard(page: Page) -> None:
    before = page.evaluate(COUNT)
    page.locator(".gradviz-question .jupyter-button").first.focus()
    reach(page, "None")
    page.keyboard.press("Space")
    says(page, "You said None; it is [5, 5, 5]: c = a * 2 still leads back to a.")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    says(page, RIGHT)
    focus = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    # it stays, and is seen
    assert (page.evaluate("document.activeElement.value"), focus) == ("1", "solid")
    for key in ("d", "d", "b", "r"):
        page.keyboard.press(key)
    says(page, RIGHT)  # letters do nothing outside of a class
    assert page.evaluate(COUNT) == before, "keys reached the notebook"


def test_just_show_me(page: Page) -> None:
    button(page, "Just show me").click()
    says(page, IS)
    expect(room(page).locator("[aria-pressed=true]")).to_have_count(0)
    button(page, "[2, 2, 2]").click()
    says(page, WRONG)
    button(page, "Just show me").click()
    says(page, IS)
    expect(room(page).locator("[aria-pressed=true]")).to_have_count(0)


def test_the_reply_stands_in_a_live_region_that_was_there_before(page: Page) -> None:
    region = room(page).locator("[aria-live=polite][aria-atomic=true]").first
    region.evaluate("e => { window.region = e; }")
    button(page, "[2, 2, 2]").click()
    says(page, WRONG)
    assert region.evaluate("e => e === window.region && e.textContent").startswith(WRONG)


def test_before_a_class(page: Page) -> None:
    before = page.evaluate(COUNT)
    size = "e => parseFloat(getComputedStyle(e).fontSize)"
    small = button(page, "None").evaluate(size)
    run_python(page, "gv.lesson.present()")
    expect(room(page).get_by_role("button", name="A [2, 2, 2]")).to_be_visible()
    expect(room(page).get_by_role("button", name="C None")).to_be_visible()
    assert button(page, "None").evaluate(size) > 1.3 * small
    fits(page)
    room(page).locator(".widget-label").click()  # anywhere in it
    page.keyboard.press("a")
    says(page, WRONG)
    fits(page)
    page.keyboard.press("d")  # there is no fourth answer
    page.keyboard.press("R")
    says(page, IS)
    button(page, "None").focus()
    page.keyboard.press("b")
    says(page, RIGHT)
    button(page, "Reveal (R)").click()
    says(page, IS)
    run_python(page, "gv.lesson.present(False)")
    expect(room(page).get_by_role("button", name="None", exact=True)).to_be_visible()
    expect(button(page, "Just show me")).to_be_visible()
    assert page.evaluate(COUNT) == before, "keys reached the notebook"


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_nothing_sticks_out_or_is_cut(page: Page, theme: str) -> None:
    ARTEFACTS.mkdir(exist_ok=True)
    page.evaluate(
        "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme
    )
    page.wait_for_function(
        "light => document.body.dataset.jpThemeLight === light", arg=str("Light" in theme).lower()
    )
    page.locator("#jupyterlab-splash").wait_for(state="detached")

    def shoot(name: str) -> None:
        fits(page)
        page.screenshot(path=ARTEFACTS / f"lesson-{theme.split()[-1].lower()}-{name}.png")

    shoot("asked")
    button(page, "[2, 2, 2]").click()
    says(page, WRONG)
    shoot("wrong")
    button(page, "[5, 5, 5]").click()
    says(page, RIGHT)
    shoot("right")
    run_python(page, "gv.lesson.present()")
    room(page).get_by_role("button", name="A [2, 2, 2]").click()
    says(page, WRONG)
    shoot("class")
    run_python(page, "gv.lesson.present(False)")


def test_nothing_left_the_machine_and_nothing_complained(
    asked: Tab, lab: Lab, complaints: list[str]
) -> None:
    assert not asked.strangers
    assert not lab.contacts.exists(), lab.contacts.read_text()
    assert not complaints
