"""Who does not see the picture, has no mouse, or needs other colours: what axe-core finds on our pages, what a
screen reader says, the ring around what has the focus, and colours that the system chooses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from axe import violations
from lab import ARTEFACTS, Lab, change_theme, reach
from playwright.sync_api import Browser, Page, expect
from test_waiting import COURSE, QUESTION, started

import gradviz as gv
from gradviz.notebook.lesson import Wrong
from gradviz.picture.page import styles

pytestmark = pytest.mark.dear(9)

WIDE = {"width": 1000, "height": 900}
SCHEMES = ["light", "dark"]


def scenario(copy: Any, again: Any) -> None:
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = copy(a)
    loss = (a * 2 + b).sum()
    loss.backward()
    for _ in range(again):
        loss.backward()


def course() -> Any:
    copies = {"clone": torch.clone, "detach": torch.detach}
    return gv.explore(scenario, copy=copies, again=gv.controls.button("backward again"))


def model() -> gv.Recording:
    torch.manual_seed(0)
    net = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(2, 2)) for _ in range(14)))
    with gv.record() as rec:
        net[7](net[:7](torch.ones(1, 2)).detach()).sum().backward()
    return rec


def question() -> Any:
    believed = Wrong("values bring gradients back", "no gradient comes back along it.")
    answers = {"[2, 2]": believed, "[3, 3]": None}
    truth: Callable[[Any], Any] = lambda run: run.tensors["a"]["grad"]  # noqa: E731
    return gv.lesson.question(
        "What is `a.grad`?", course(), {"copy": "clone"}, truth=truth, answers=answers
    )


def answer() -> Any:
    w = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        loss = w.detach().sum()
    return rec.explain(w, loss)


MADE = {
    "panel": course,
    "player": lambda: course().recording,
    "model": lambda: model().figure(),
    "question": question,
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    for name, make in MADE.items():
        gv.export(make(), folder / f"{name}.html", links={"Course": "index.html"})
    answer().save(folder / "answer.html")
    return folder


@pytest.fixture
def open_page(browser: Browser, pages: Path) -> Iterator[Callable[..., Page]]:
    contexts = []

    def opened(name: str, **how: Any) -> Page:
        context = browser.new_context(**{"viewport": WIDE, "offline": True, **how})
        contexts.append(context)
        page = context.new_page()
        page.goto((pages / f"{name}.html").as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()


def use(page: Page, name: str) -> None:
    """Open what can be opened, so that it is looked at as well."""
    if name == "question":
        page.get_by_role("radio").first.check()
    if name == "panel":
        page.get_by_role("radio", name="detach").check()
        page.get_by_role("button", name="backward again").click()  # raises
    page.locator(".gv-table summary").click()
    page.get_by_role("button", name="Save or copy the picture").click()
    page.locator(".gv-node").first.click()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", MADE)
def test_axe_finds_nothing_on_exported_pages(
    open_page: Callable[..., Page], name: str, scheme: str
) -> None:
    page = open_page(name, color_scheme=scheme)
    page.locator(".gv-root").wait_for()
    assert violations(page) == {}
    use(page, name)
    assert violations(page) == {}


@pytest.mark.parametrize(("motion", "fades"), [("reduce", False), ("no-preference", True)])
def test_what_changed_glows_without_fading_where_nothing_shall_move(
    open_page: Callable[..., Page], motion: str, fades: bool
) -> None:
    page = open_page("panel", reduced_motion=motion)
    page.get_by_role("radio", name="detach").check()
    for part in (".gv-fresh .gv-filled", ".gv-canvas .gv-node.gv-changed > path"):
        run = page.locator(part).first.evaluate(
            "e => [getComputedStyle(e).animationName, getComputedStyle(e).animationTimingFunction]"
        )
        assert run[0] != "none"
        assert (run[1] == "ease-out") == fades, part


def test_axe_finds_nothing_on_a_saved_answer(open_page: Callable[..., Page]) -> None:
    assert violations(open_page("answer")) == {}


def test_axe_would_find_something(open_page: Callable[..., Page]) -> None:
    page = open_page("answer")
    page.evaluate("() => document.querySelector('img').removeAttribute('alt')")
    assert violations(page).keys() == {"image-alt"}


RINGS = """() => {
    const shown = e => e.checkVisibility({visibilityProperty: true}) && !e.closest("[inert]");
    const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(v => { v /= 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
    const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\\)$/.test(c) && c !== "transparent") return c; } return "rgb(255, 255, 255)"; };
    const e = document.activeElement;
    if (!e || e === document.body) return null;
    const drawn = e.matches(".gv-node, .gv-handle");
    const ringed = e.matches("input") && getComputedStyle(e).opacity === "0" ? e.nextElementSibling : e;
    const style = getComputedStyle(ringed);
    const ring = drawn ? getComputedStyle(document.querySelector(".gv-mark-focus, .gv-handle:focus-visible .gv-handle-reach")).stroke : style.outlineColor;
    const [high, low] = [light(ring), light(ground(ringed.parentElement))].sort((a, b) => b - a);
    return {what: e.className.baseVal ?? (e.className || e.localName), width: drawn ? 2 : parseFloat(style.outlineWidth), style: drawn ? "solid" : style.outlineStyle,
            contrast: (high + .05) / (low + .05), shown: shown(ringed)};
}"""


def rings(page: Page, count: int) -> dict[str, dict[str, Any]]:
    """Press Tab so often, and return the ring around each thing that had the focus."""
    found = {}
    for _ in range(count):
        page.keyboard.press("Tab")
        ring = page.evaluate(RINGS)
        if ring:
            found[ring["what"]] = ring
    return found


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_has_the_focus_has_a_ring(open_page: Callable[..., Page], scheme: str) -> None:
    for name, least in (("panel", 10), ("player", 10), ("question", 4)):
        page = open_page(name, color_scheme=scheme)
        page.locator(".gv-root").wait_for()
        if name == "question":
            page.get_by_role("radio").first.check()
        found = rings(page, 26)
        assert len(found) >= least, found
        for ring in found.values():
            assert (ring["style"], ring["width"] >= 2, ring["contrast"] >= 3, ring["shown"]) == (
                "solid",
                True,
                True,
                True,
            ), ring


def styles_of(page: Page, selectors: dict[str, str]) -> list[str]:
    """Return a style of the first element of each selector: {selector: style}."""
    read = "all => all.map(([s, n]) => getComputedStyle(document.querySelector(s))[n])"
    found: list[str] = page.evaluate(read, [*selectors.items()])
    return found


@pytest.mark.parametrize("scheme", SCHEMES)
def test_colours_that_the_system_chooses(open_page: Callable[..., Page], scheme: str) -> None:
    page = open_page("panel", forced_colors="active", color_scheme=scheme)
    page.get_by_role("radio", name="detach").check()
    page.locator(".gv-node").first.click()
    page.screenshot(path=ARTEFACTS / f"forced-colors-panel-{scheme}.png")
    look = """() => {
        const of = (selector, name) => getComputedStyle(document.querySelector(selector))[name];
        return {chosen: of(".gv-buttons input:checked + span", "backgroundColor"), other: of(".gv-buttons input:not(:checked) + span", "backgroundColor"),
                line: of(".gv-line.gv-here", "borderLeftColor"), plain: of(".gv-line:not(.gv-here)", "borderLeftColor"),
                card: [...document.querySelector(".gv-node").querySelectorAll("path, polygon")].map(e => getComputedStyle(e).stroke).find(s => s !== "none"), ground: of(".gv-view", "backgroundColor")};
    }"""
    seen = page.evaluate(look)
    assert seen["chosen"] != seen["other"]
    assert seen["line"] != seen["plain"]
    assert seen["card"] not in (seen["ground"], None)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_colours_of_the_system_in_a_player_and_a_question(
    open_page: Callable[..., Page], scheme: str
) -> None:
    """The line that is executed, what is pressed and what was answered can be told without colours
    of ours, and every button has a rim."""
    player = open_page("player", forced_colors="active", color_scheme=scheme)
    for _ in range(3):
        player.get_by_role("button", name="Next step").first.click()
    present, dark = (player.get_by_role("button", name=n, exact=True) for n in ("Present", "Dark"))
    expect(dark).to_have_attribute("aria-pressed", str(scheme == "dark").lower())
    player.screenshot(path=ARTEFACTS / f"forced-colors-player-{scheme}.png")
    now, plain = styles_of(
        player,
        {".gv-line.gv-now": "borderLeftColor", ".gv-line:not(.gv-now)": "borderLeftColor"},
    )
    assert now != plain
    grounds = "e => getComputedStyle(e).backgroundColor"
    assert (present.evaluate(grounds) != dark.evaluate(grounds)) is (scheme == "dark")
    present.click()
    expect(present).to_have_attribute("aria-pressed", "true")
    assert (present.evaluate(grounds) != dark.evaluate(grounds)) is (scheme == "light")
    rims = """() => [...document.querySelectorAll(".gv-root button")].filter(e => e.checkVisibility())
        .map(e => [e.ariaLabel ?? e.textContent, getComputedStyle(e).borderTopStyle, getComputedStyle(e).textDecorationLine])
        .filter(([, rim, line]) => rim === "none" && line === "none")"""
    assert player.evaluate(rims) == []
    asked = open_page("question", forced_colors="active", color_scheme=scheme)
    asked.get_by_role("radio", name="[2, 2]").check()
    expect(asked.locator(".gv-said")).to_contain_text("You said [2, 2]")
    asked.screenshot(path=ARTEFACTS / f"forced-colors-question-{scheme}.png")
    said, other = styles_of(
        asked,
        {
            ".gv-answers input:checked + span": "backgroundColor",
            ".gv-answers input:not(:checked) + span": "backgroundColor",
        },
    )
    assert said != other
    assert asked.locator(".gv-answers .gv-mark").all_inner_texts() == ["✗", "✓"]
    assert asked.evaluate(rims) == []


@pytest.mark.parametrize(
    ("kind", "ground"),
    [("vscode-light", "#ffffff"), ("vscode-dark", "#1f1f1f"), ("vscode-high-contrast", "#000000")],
)
def test_a_question_can_be_read_in_the_themes_of_vs_code(
    browser: Browser, kind: str, ground: str
) -> None:
    """Its stylesheets over what ipywidgets makes of it, on a page that says its theme as VS Code does."""
    from gradviz.live.widget import STYLES

    buttons = "".join(
        f'<button class="jupyter-widgets jupyter-button widget-toggle-button {mark}">[{n}]</button>'
        for n, mark in enumerate(("mod-active", "", ""))
    )
    ink = "#1f1f1f" if kind == "vscode-light" else "#cccccc"
    with browser.new_context(color_scheme="light") as context:
        page = context.new_page()
        page.set_content(
            f'<!doctype html><html lang="en"><title>t</title><style>{styles(*STYLES)} body {{ background: {ground}; color: {ink}; }}</style>'
            f'<body data-vscode-theme-kind="{kind}"><main><h1>t</h1><div class="gradviz-room"><div class="gradviz-panel gradviz-question gradviz-truth-1">'
            f'<div class="gradviz-controls"><div class="widget-toggle-buttons"><span class="widget-label">What is <code>a.grad</code>? <span class="gradviz-with">copy=clone</span></span>'
            f'<div>{buttons}</div></div><button class="jupyter-button">Just show me</button></div>'
            '<div class="gv-root"><div class="gv-area gv-sentence"><p class="gv-said">It is [3, 3].</p></div></div></div></div></main></body></html>'
        )
        page.screenshot(path=ARTEFACTS / f"question-{kind}.png")
        assert violations(page) == {}
        marks = page.evaluate(
            """() => [...document.querySelectorAll(".widget-toggle-buttons button")].map(e => getComputedStyle(e, "::after").color)"""
        )
        dark = kind != "vscode-light"
        assert marks[1] == ("rgb(82, 211, 162)" if dark else "rgb(10, 107, 77)")
        assert marks[0] == ("rgb(255, 157, 148)" if dark else "rgb(163, 38, 29)")


def said(page: Page, selector: str = ".gv-root") -> str:
    """What a screen reader is told, with the parts that are of no interest here left out."""
    return page.locator(selector).first.aria_snapshot()


def test_what_a_screen_reader_says(open_page: Callable[..., Page]) -> None:
    """Each choice with its group, each card with all that stands on it, and what changed by itself."""
    page = open_page("panel")
    before = said(page)
    for line in (
        '- radiogroup "copy":',
        '- radio "clone" [checked]',
        '- radio "detach"',
        '- button "backward again"',
        'button "a, [1, 2], leaf',
    ):
        assert line in before, before
    live = page.locator(".gv-sentence")
    assert (live.get_attribute("aria-live"), live.get_attribute("aria-atomic")) == (
        "polite",
        "true",
    )
    page.get_by_role("radio", name="detach").check()
    expect(live).to_contain_text("Changed: a.grad: [3, 3] → [2, 2]")
    changed = r'button "a, \[1, 2\], .*\.grad: None → \[2, 2\], changed"'
    assert re.search(changed, said(page)), said(page)
    page.locator(".gv-table summary").click()
    expect(page.get_by_role("cell").first).to_be_visible()
    table = said(page, ".gv-table")
    assert '- columnheader "name"' in table
    assert '- cell "[2, 2] (changed)"' in table, table
    card = page.locator(".gv-node").first
    reach(page, ".gv-view .gv-node")
    page.keyboard.press("Enter")
    expect(card).to_have_attribute("aria-pressed", "true")
    facts = page.locator(f"#{card.get_attribute('aria-describedby')}")
    expect(facts).to_contain_text("requires_grad")


def test_what_a_screen_reader_says_of_a_player_and_a_question(
    open_page: Callable[..., Page],
) -> None:
    player = said(open_page("player"))
    for line in ('- group "Controls"', '- button "Next step"', '- button "Play"', "- slider"):
        assert line in player, player
    page = open_page("question")
    asked = said(page)
    assert '- radiogroup "What is a.grad?' in asked, asked
    assert "CloneBackward" not in asked, "nothing tells before the answer"
    page.get_by_role("radio").first.check()
    assert "You said [2, 2]; it is [3, 3]" in said(page)


def test_axe_finds_nothing_in_a_notebook(browser: Browser, lab: Lab) -> None:
    """In what is ours: panels, a question before and after its answer, a player; with a ring around
    buttons of ipywidgets."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        page = context.new_page()
        panels = started(page, lab, "access.ipynb")
        asked, course = panels[QUESTION].room, panels[COURSE].room
        assert violations(page, ".jp-OutputArea") == {}
        asked.get_by_role("button", name="[5, 5, 5]").click()
        expect(asked.locator(".gv-said")).to_contain_text("5, 5, 5")
        course.get_by_role("radio", name="detach", exact=True).check()
        expect(course.locator(".gv-said")).to_contain_text("cuts b")
        for theme in ("JupyterLab Light", "JupyterLab Dark"):
            change_theme(page, theme)
            assert violations(page, ".jp-OutputArea") == {}
            asked.get_by_role("button", name="[2, 2, 2]", exact=True).focus()
            reach(page, ".gradviz-question .gradviz-controls > .jupyter-button")
            ring = page.evaluate(RINGS)
            assert (ring["style"], ring["width"]) == ("solid", 2)
            assert ring["contrast"] >= 3
            page.screenshot(path=ARTEFACTS / f"access-{theme.split()[-1].lower()}.png")
