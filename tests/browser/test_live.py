"""``gv.explore`` and ``gv.play`` in JupyterLab, as a reader handles them; what is right is computed
in this process."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from lab import ARTEFACTS, Lab, Tab, change_theme, new_tab, reach
from live import (
    CELLS,
    EVERYTHING,
    FIRST,
    PLAYER,
    SECOND,
    Oracle,
    Panel,
    in_code_font,
    open_lab,
    open_notebook_7,
    run_all,
    run_python,
    write_notebook,
)
from playwright.sync_api import Browser, Page, expect


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Oracle:
    return Oracle(tmp_path_factory.mktemp("oracle"))


@pytest.fixture(scope="module")
def complaints() -> list[str]:
    return []


@contextmanager
def small_tab(browser: Browser, complaints: list[str]) -> Iterator[Tab]:
    """A small window whose complaints are noted."""
    with new_tab(browser, 1280, 720) as tab:
        tab.page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        tab.page.on("pageerror", lambda error: complaints.append(str(error)))
        yield tab


@pytest.fixture(scope="module")
def live(browser: Browser, lab: Lab, complaints: list[str]) -> Iterator[Tab]:
    """A notebook with four panels that has been run, in a small window with the file browser
    open."""
    write_notebook(lab, "live.ipynb")
    with small_tab(browser, complaints) as tab:
        open_lab(tab.page, lab, "live.ipynb")
        run_all(tab.page)
        yield tab


@pytest.fixture
def page(live: Tab, oracle: Oracle) -> Page:
    """The notebook with every panel at its start and nothing selected."""
    run_python(
        live.page,
        "everything.reset(); course.reset(); player.step = 0\nfor w in (everything, course): "
        "w._graph_widget.selected = ''",
    )
    live.page.mouse.move(1, 1)
    for panel, expected in (
        (EVERYTHING, oracle.everything()),
        (FIRST, oracle.course()),
        (SECOND, oracle.course()),
    ):
        Panel(live.page, panel).shows(expected)
    return live.page


# --- controls -------------------------------------------------------------------------------------


def test_every_control_by_mouse(page: Page, oracle: Oracle) -> None:
    panel = Panel(page, EVERYTHING)
    panel.top()
    start = oracle.everything()
    panel.shows(start)
    now: dict[str, str] = {}

    def then(**labels: str) -> None:
        now.update(labels)
        panel.shows(oracle.everything(**now))
        assert panel.python("print(everything.values)") == str(oracle.labels(**now))

    control = lambda name: panel.room.locator(f"[data-name={name}]")  # noqa: E731
    panel.choose("detach")
    then(copy="detach")
    panel.choose("no_grad")
    then(mode="no_grad")
    panel.room.get_by_role("combobox").select_option("tanh")
    then(function="tanh")
    panel.room.get_by_role("checkbox").click()
    then(requires_grad="False")
    panel.room.get_by_role("checkbox").click()
    then(requires_grad="True")
    box = control("k").locator("input").bounding_box()
    assert box
    page.mouse.click(box["x"] + 0.75 * box["width"], box["y"] + box["height"] / 2)
    then(k="4")
    box = control("scale").locator("input").bounding_box()
    assert box
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.78 * box["width"], box["y"] + 2, steps=9)
    page.mouse.up()
    then(scale="2.5")
    control("again").get_by_role("button", name="backward again").click()
    then(again="1")
    control("again").get_by_role("button", name="backward again (1)").click()
    then(again="2")
    panel.reset()
    panel.shows(start)


def test_every_control_by_keyboard(page: Page, oracle: Oracle) -> None:
    panel = Panel(page, EVERYTHING)
    panel.top()
    panel.room.get_by_role("checkbox").focus()
    now: dict[str, str] = {}
    for name, key, label in (
        ("requires_grad", "Space", "False"),
        ("requires_grad", "Space", "True"),
        ("mode", "ArrowRight", "no_grad"),
        ("copy", "ArrowDown", "detach"),
        ("function", "ArrowDown", "sin"),
        ("k", "ArrowRight", "4"),
        ("scale", "ArrowLeft", "1"),
        ("again", "Enter", "1"),
    ):
        reach(page, f"[data-name={name}] :is(input, select, button)")
        page.keyboard.press(key)
        now[name] = label
        panel.shows(oracle.everything(**now))
    reach(page, ".gv-reset")
    page.keyboard.press("Space")
    panel.shows(oracle.everything())
    count = page.evaluate("window.jupyterapp.shell.currentWidget.content.widgets.length")
    assert count == 5, "keys reached the notebook"


def test_after_200_rapid_clicks_the_last_state_is_shown(page: Page, oracle: Oracle) -> None:
    choose, now, clicks = random.Random(0), oracle.labels(), list[tuple[str, str, int]]()
    for _ in range(200):
        kind = choose.choice(["copy", "mode", "function", "requires_grad", "k", "again"])
        if kind == "requires_grad":
            now[kind], action = str(now[kind] != "True"), ("input[type=checkbox]", "click")
        elif kind == "k":
            now[kind] = str(min(max(int(now[kind]) + choose.choice([-1, 1]), 1), 5))
            action = ("[data-name=k] input", str(int(now[kind]) - 1))
        elif kind == "again":
            now[kind], action = str(int(now[kind]) + 1), ("[data-name=again] button", "click")
        else:
            now[kind] = choose.choice(list(oracle.options(kind)))
            place = list(oracle.options(kind)).index(now[kind])
            action = (
                ("[data-name=function] select", str(place))
                if kind == "function"
                else (f"[data-name={kind}] label:nth-child({place + 1}) input", "click")
            )
        clicks.append((*action, choose.choice([0, 0, 5, 30])))
    panel = Panel(page, EVERYTHING)
    page.evaluate("([room, clicks]) => live.rapid([room, clicks])", [EVERYTHING, clicks])
    # the picture of the last state may be that of an earlier one too: Python has to have heard all
    panel.until_python("print(everything.values)", str(now))
    panel.shows(oracle.everything(**now))
    assert panel.chosen() == [now["mode"], now["copy"]]


def test_300_clicks_leave_nothing_behind(page: Page, oracle: Oracle) -> None:
    """What a click drew before is let go: neither the page's memory nor its elements grow."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def measured() -> dict[str, float]:
        session.send("HeapProfiler.collectGarbage")
        metrics = session.send("Performance.getMetrics")["metrics"]
        return {metric["name"]: metric["value"] for metric in metrics}

    def click(times: int) -> None:
        options = range(1, len(list(oracle.options("copy"))) + 1)
        places = [1 + k % len(options) for k in range(times - 1)] + [1]
        clicks = [
            (f"[data-name=copy] label:nth-child({place}) input", "click", 20) for place in places
        ]
        page.evaluate("([room, clicks]) => live.rapid([room, clicks])", [EVERYTHING, clicks])
        first = next(iter(oracle.options("copy")))
        Panel(page, EVERYTHING).shows(oracle.everything(copy=first))

    click(60)  # every picture was there once, and the page keeps them
    before = measured()
    click(300)
    after = measured()
    print({key: (before[key], after[key]) for key in ("JSHeapUsedSize", "Nodes")})
    assert after["JSHeapUsedSize"] - before["JSHeapUsedSize"] < 0.05 * before["JSHeapUsedSize"]
    assert after["Nodes"] - before["Nodes"] < 0.05 * before["Nodes"]


def test_clicks_while_a_cell_runs_are_answered_when_it_ends(page: Page, oracle: Oracle) -> None:
    panel = Panel(page, FIRST)
    panel.top()
    page.evaluate(
        "() => { window.slow = live.python('time.sleep(3); print(course.values[\"copy\"])'); }"
    )
    page.wait_for_function("() => !live.idle()")
    for name in ("detach", "copy_", ".data"):
        panel.choose(name)
    assert page.evaluate("!live.idle()"), "the cell ended too soon for this test"
    panel.shows(oracle.course(copy=".data"))
    assert page.evaluate("slow") in (".data", "clone")  # a kernel with or without subshells
    assert panel.python("print(course.values['copy'], torch.is_grad_enabled())") == ".data True"
    panel.shows(oracle.course(copy=".data"))


# --- selection ------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["mouse", "keyboard"])
def test_selecting_a_card_reaches_python_and_escape_takes_it_back(
    page: Page, oracle: Oracle, way: str
) -> None:
    panel = Panel(page, FIRST)
    panel.top()
    title = "d = b * 3"
    if way == "mouse":
        panel.room.locator(f"[data-gv={panel.card(title)}]").click()
    else:
        panel.room.locator(".gv-view").focus()
        page.keyboard.press("Tab")
        for _ in range(9):
            if page.evaluate("document.activeElement.querySelector('text').textContent") == title:
                break
            page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
    ask = (
        "s = course.selected; print(s and [s.card.title, [t.name for t in s.tensors], [c.function"
        " for c in s.calls]])"
    )
    panel.until_python(ask, "['d = b * 3', ['d'], ['mul']]")
    assert panel.python("print(course._graph_widget.selected)") == panel.card(title)
    assert page.evaluate("live.lit(1)") == [
        ["a", "b = a.clone()", "d = b * 3"],
        ["c + d", "c = a * 2", LOSS],
    ]
    assert panel.room.locator(".gv-here .gv-source").all_text_contents() == ["d = b * 3"]
    for _ in range(2):  # one for the card of facts, if it is open
        if panel.room.locator(".gv-selecting").count():
            page.keyboard.press("Escape")
    panel.until_python(ask, "None")
    assert page.evaluate("live.lit(1)") == [[], []]
    assert panel.room.locator(".gv-here").count() == 0


LOSS = "loss = (c + d).sum()"


def test_what_shares_memory_lights_up_and_stays_selected_in_the_next_picture(
    page: Page, oracle: Oracle
) -> None:
    panel = Panel(page, FIRST)
    panel.top()
    panel.choose("detach")
    panel.shows(oracle.course(copy="detach"))
    panel.room.locator(f"[data-gv={panel.card('b = a.detach()')}]").click()
    assert page.evaluate("live.lit(1)")[0] == ["a", "b = a.detach()"]
    assert panel.room.locator(".gv-tag-memory").count() == 2
    panel.until_python("print([c.function for c in course.selected.calls])", "['detach']")
    panel.choose("clone")
    panel.shows(oracle.course())
    panel.until_python("print([c.function for c in course.selected.calls])", "['clone']")
    assert panel.room.locator(".gv-tag-memory").count() == 0


# --- time travel ----------------------------------------------------------------------------------


def test_the_player_goes_forward_and_back_to_the_same_pictures(page: Page, oracle: Oracle) -> None:
    panel = Panel(page, PLAYER)
    panel.top()
    press = lambda name: panel.room.get_by_role("button", name=name, exact=True).click()  # noqa: E731
    at = lambda step: panel.until_python("print(player.step)", str(step))  # noqa: E731
    last = int(panel.python("print(len(player.states) - 1)"))
    said = oracle.steps()
    assert len(said) == last + 1
    forward = []
    for step in range(last + 1):
        forward.append(panel.drawing())
        assert panel.seen()["said"] == said[step]
        press("Next step")
    assert len(set(forward)) > last / 2
    at(last)
    assert panel.seen()["cards"] == oracle.played()["cards"]
    assert panel.seen()["table"] == oracle.played()["table"]
    for step in reversed(range(last + 1)):
        assert panel.drawing() == forward[step], f"step {step}"
        press("Step back")
    at(0)

    panel.room.get_by_role("slider", name="step").focus()
    for key, step in (
        ("End", last),
        ("ArrowLeft", last - 1),
        ("ArrowLeft", last - 2),
        ("ArrowRight", last - 1),
        ("Home", 0),
    ):
        page.keyboard.press(key)
        at(step)
        assert panel.drawing() == forward[step]
    box = panel.room.get_by_role("slider", name="step").bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    at(last // 2)
    assert panel.drawing() == forward[last // 2]
    press("Last step")
    for _ in range(2):
        press("Step back")
    press("Play")
    panel.room.get_by_role("button", name="Pause", exact=True).wait_for()
    # it stops at the end by itself
    panel.room.get_by_role("button", name="Play", exact=True).wait_for()
    at(last)
    assert panel.drawing() == forward[last]
    panel.python("player.step = 3")
    panel.until("(seen, wanted) => seen.said === wanted.said", {"said": said[3]})
    assert panel.drawing() == forward[3]


# --- together -------------------------------------------------------------------------------------


def test_panels_of_one_page_do_not_collide(page: Page, oracle: Oracle) -> None:
    doubled = page.evaluate("""() => {
        const ids = [...document.querySelectorAll(".jp-OutputArea [id]")].map(e => e.id);
        return ids.filter((id, i) => ids.indexOf(id) !== i);
    }""")
    assert doubled == []
    first, second, other = (Panel(page, i) for i in (FIRST, SECOND, EVERYTHING))
    first.top()
    before = other.seen(), Panel(page, PLAYER).drawing()
    first.room.locator(f"[data-gv={first.card('a')}]").click()
    first.choose("detach")
    for view in (first, second):  # two views of one exploration are one
        view.shows(oracle.course(copy="detach"))
        assert view.chosen() == ["none", "detach"]
        view.until_python("print(course.selected.card.title)", "a")
        assert view.room.locator(".gv-node.gv-lit text").first.text_content() == "a"
    assert (other.seen(), Panel(page, PLAYER).drawing()) == before
    for panel in (other, Panel(page, PLAYER)):
        assert panel.room.locator(".gv-lit, .gv-selecting").count() == 0
    assert first.python("print(everything.selected, player.selection)") == "None None"
    second.reset()
    for view in (first, second):
        view.shows(oracle.course())


def test_two_views_of_one_scenario_have_a_picture_each_for_its_room(
    page: Page, oracle: Oracle
) -> None:
    wide, narrow = Panel(page, FIRST), Panel(page, SECOND)
    before = wide.drawing()
    assert narrow.drawing() == before
    narrow.room.evaluate("room => { room.style.width = '400px'; }")
    assert narrow.comes(lambda: narrow.drawing() != before)
    wide.choose("detach")
    for panel in (wide, narrow):
        panel.shows(oracle.course(copy="detach"))
        hidden = panel.room.locator(".gv-view").get_attribute("data-more") or ""
        assert not {"left", "right"} & set(hidden.split())
    assert narrow.drawing() != wide.drawing()
    narrow.room.evaluate("room => { room.style.width = ''; }")
    wide.reset()
    for panel in (wide, narrow):
        panel.shows(oracle.course())
    assert narrow.comes(lambda: narrow.drawing() == wide.drawing())


TREE = """
- group "Code":
  - checkbox "requires_grad" [checked]
  - radiogroup "mode":
    - radio "none" [checked]
    - radio "no_grad"
    - radio "inference_mode"
    - radio "enable_grad"
  - radiogroup "copy":
    - radio "clone"
    - radio "detach" [checked]
  - combobox "function"
  - slider "k"
  - slider "scale"
  - button "backward again"
  - button /Reset/
- paragraph:
  - text: "✂ Line 5:"
  - code: detach()
  - text: cuts
  - code: b
  - text: from
  - code: a
  - text: ": no gradient goes back to"
  - code: a
  - text: this way.
  - code: a.grad
  - text: "is [3, 3, 3]: it came back through"
  - code: torch.relu(a)
  - text: .
- paragraph:
  - text: "Changed:"
  - code: a.grad
  - text: ": [4.5, 4.5, 4.5] → [3, 3, 3] ·"
  - code: b
  - text: and
  - code: b * 1.5
  - text: are no longer tracked
- group /Picture of a computation and its gradients/:
  - img:
    - button /^a, \\[1, 2, 3\\], leaf.*, changed$/
    - button /^b = a\\.detach\\(\\), \\[1, 2, 3\\].*not tracked.*, changed$/
- group: /Tensors \\(7\\)/
"""
PLAYER_TREE = """
- group "Controls":
  - group "step":
    - button "First step"
    - button "Step back"
    - button "Play"
    - button "Next step"
    - button "Last step"
  - slider "step": "1"
  - status: /step 1 of \\d+/
- group "Code"
- paragraph:
  - text: "Line 2:"
  - code: a = torch.tensor([1., 2., 3.], requires_grad=True)
  - text: made
  - code: a
  - text: ", a leaf that requires grad."
- group /Picture of a computation and its gradients/:
  - img:
    - button /^a, \\[1, 2, 3\\], leaf.*, new$/
- group: /Tensors/
"""


def test_the_accessibility_tree_says_what_a_reader_sees(page: Page, oracle: Oracle) -> None:
    panel, player = Panel(page, EVERYTHING), Panel(page, PLAYER)
    panel.top()
    panel.choose("detach")
    panel.shows(oracle.everything(copy="detach"))
    expect(panel.room).to_match_aria_snapshot(TREE)
    assert panel.room.locator(".gv-sentence").get_attribute("aria-live") == "polite"
    titles = panel.room.locator("[title]").evaluate_all("all => all.map(e => e.title)")
    assert not {"null", "None", "undefined"} & set(titles)
    player.room.get_by_role("button", name="Next step").click()
    expect(player.room).to_match_aria_snapshot(PLAYER_TREE)


def test_names_and_code_of_a_sentence_stand_in_code_font(page: Page, oracle: Oracle) -> None:
    panel, player = Panel(page, FIRST), Panel(page, PLAYER)
    panel.choose("detach")
    panel.shows(oracle.course(copy="detach"))
    said = ["detach()", "b", "a", "a", "a.grad", "c = a * 2"]
    assert in_code_font(panel.room) == [*said, "a.grad", "b", "d"]
    player.room.get_by_role("button", name="Next step").click()
    expect(player.room.locator(".gv-said")).to_contain_text("Line 2")
    assert in_code_font(player.room)[:2] == [
        "a = torch.tensor([1., 2., 3.], requires_grad=True)",
        "a",
    ]


# --- looks ----------------------------------------------------------------------------------------

STATES: dict[str, dict[str, str]] = {
    "start": {},
    "detach": {"copy": "detach"},
    "again": {"copy": "detach + requires_grad_"},
    "error": {"requires_grad": "False"},
    "no_grad": {"mode": "no_grad"},
    "copy_": {"copy": "copy_"},
}


def inside(inner: dict[str, float], outer: dict[str, float]) -> bool:
    low = all(inner[side] >= outer[side] - 1 for side in ("left", "top"))
    return low and all(inner[side] <= outer[side] + 1 for side in ("right", "bottom"))


def fits(page: Page, index: int) -> Any:
    """Code, sentence, picture and table stand one below the other, and nothing is cut off."""
    found = page.evaluate("i => live.boxes(i)", index)
    order = ["code", "sentence", "view", "table"]
    for name in (*order, "toolbar"):
        # an empty table is not there
        assert inside(found[name], found["room"]) or found[name]["right"] == 0, name
    for above, below in itertools.pairwise(order):
        assert found[above]["bottom"] <= found[below]["top"] or not found[below]["right"], below
    for line in found["line"]:
        assert inside(line, found["code"])
    assert not found["cut"]
    assert found["folded"]
    return found


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_a_panel_fits_a_small_window_in_light_and_dark(
    page: Page, oracle: Oracle, theme: str
) -> None:
    change_theme(page, theme)

    def shoot(name: str) -> None:
        page.screenshot(path=ARTEFACTS / f"live-{theme.split()[-1].lower()}-{name}.png")

    panel, player = Panel(page, FIRST), Panel(page, PLAYER)
    panel.top()
    for name, labels in STATES.items():
        panel.python(f"course.reset().set(**{labels})")
        panel.shows(oracle.course(**labels))
        found = fits(page, FIRST)
        assert found["hidden"] == "", f"{name}: part of the picture is out of sight"
        shoot(name)
    panel.python("course.reset()")
    panel.shows(oracle.course())
    panel.room.locator(f"[data-gv={panel.card('d = b * 3')}]").hover()
    panel.room.locator(".gv-facts").wait_for()
    shoot("hover")
    page.mouse.down()
    page.mouse.up()
    page.mouse.move(1, 1)
    panel.room.locator(".gv-here").wait_for()
    fits(page, FIRST)
    shoot("selected")
    Panel(page, EVERYTHING).top()
    fits(page, EVERYTHING)
    shoot("everything")
    player.top()
    for step in (0, 10, len(oracle.steps()) - 1):
        player.python(f"player.step = {step}")
        player.until("(seen, wanted) => seen.said === wanted.said", {"said": oracle.steps()[step]})
        found = fits(page, PLAYER)
        assert found["hidden"] == "", f"step {step}: part of the picture is out of sight"
        shoot(f"player-{step}")


# --- coming back ----------------------------------------------------------------------------------

STOP = "async () => { await window.jupyterapp.shell.currentWidget.sessionContext.shutdown(); }"
RESTART = (
    "async () => { await"
    " window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart(); }"
)


def test_a_page_that_is_opened_again_and_a_new_kernel(
    browser: Browser, lab: Lab, oracle: Oracle
) -> None:
    write_notebook(lab, "again.ipynb", CELLS[:3])
    complaints: list[str] = []
    with small_tab(browser, complaints) as tab:
        page, panel = tab.page, Panel(tab.page, FIRST)
        press = panel.choose
        open_lab(page, lab, "again.ipynb")
        run_all(page, 2)
        press("detach")
        panel.shows(oracle.course(copy="detach"))
        page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
        cell = json.loads((lab.folder / "again.ipynb").read_text(encoding="utf-8"))["cells"][2]
        # for pages without a kernel
        assert "<img alt=" in "".join(cell["outputs"][0]["data"]["text/html"])

    with small_tab(browser, complaints) as tab:  # closed, and opened again: the kernel has gone on
        page, panel = tab.page, Panel(tab.page, FIRST)
        press = panel.choose
        open_lab(page, lab, "again.ipynb")
        page.locator(".jp-OutputArea img[alt]").first.wait_for()  # what is saved is a still picture
        run_all(page, 2)
        panel.shows(oracle.course())
        press("copy_")
        panel.shows(oracle.course(copy="copy_"))
        assert not complaints
        # the kernel has said all that it had to: that what is shown is what was chosen, too
        page.wait_for_timeout(500)
        expect(panel.room.locator("[inert]")).to_have_count(0)

        page.evaluate(RESTART)
        page.wait_for_function("() => live.idle()")
        panel.top()
        panel.room.locator(".gv-node").first.click()  # what needs no kernel still works
        panel.room.locator(".gv-selecting").wait_for()
        press("detach")
        expect(panel.room.locator(".gv-notice")).to_contain_text(
            "The kernel is gone: run this cell again."
        )
        press("copy_")
        panel.shows(oracle.course(copy="copy_"))  # what was true is still there, and all of it
        expect(panel.room.locator(".gv-notice")).to_be_hidden()
        page.screenshot(path=ARTEFACTS / "live-no-kernel.png")
        run_all(page, 2)
        panel.shows(oracle.course())
        press("detach")
        panel.shows(oracle.course(copy="detach"))
        page.evaluate(STOP)
        press("copy_")
        expect(panel.room.locator(".gv-notice")).to_contain_text(
            "The kernel is gone: run this cell again."
        )
        assert not tab.strangers


def test_notebook_7_is_live_too(browser: Browser, lab: Lab, oracle: Oracle) -> None:
    write_notebook(lab, "seven.ipynb", CELLS[:3])
    complaints: list[str] = []
    with small_tab(browser, complaints) as tab:
        page, panel = tab.page, Panel(tab.page, FIRST)
        open_notebook_7(page, lab, "seven.ipynb")
        complaints.clear()  # of Notebook 7 itself, while it starts
        run_all(page, 2)
        panel.shows(oracle.course())
        panel.choose("detach")
        panel.shows(oracle.course(copy="detach"))
        panel.room.locator(".gv-node").first.focus()
        page.keyboard.press("Enter")
        panel.room.locator(".gv-selecting").wait_for()
        page.screenshot(path=ARTEFACTS / "live-notebook-7.png")
        assert not tab.strangers
    assert not complaints


def test_nothing_left_the_machine_and_nothing_complained(
    live: Tab, lab: Lab, complaints: list[str]
) -> None:
    assert not live.strangers
    assert not lab.contacts.exists(), lab.contacts.read_text()
    assert not complaints
