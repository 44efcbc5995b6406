"""Exported pages in a real browser, the network cut: mouse, keyboard, addresses, presenter keys,
paper, no scripts."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import torch
from lab import ARTEFACTS, PATIENCE_MS, reach
from playwright.sync_api import Browser, Page, expect
from recordings import course

import gradviz as gv
from gradviz.live import export as pages
from gradviz.picture.figure import Figure
from gradviz.picture.state import state

pytestmark = pytest.mark.dear(8)

COPIES = {"clone": torch.clone, "detach": torch.detach, "data": lambda t: t.data}
KINDS = {
    "buttons": [*COPIES],
    "dropdown": ["none", "no_grad"],
    "checkbox": ["False", "True"],
    "slider": ["1", "2", "3"],
    "counter": ["0", "1", "2"],
}
NAMES = dict(zip(KINDS, ("copy", "mode", "requires_grad", "k", "backward"), strict=True))
START = {"copy": "clone", "mode": "none", "requires_grad": "True", "k": "1", "backward": "0"}
HOSTILE = "</script><img src=x onerror=alert(1)>\"'{{data}}<!--\u2028\ud800"
WATCH = """window.broken = [];
    addEventListener("securitypolicyviolation", e => broken.push(`${e.violatedDirective} ${e.blockedURI}`));"""
LISTING = {"text": "b = copy(a)\nc = a * 2\nd = b * 3\nloss = (c + d).sum()\n", "first": 1}

Open = Callable[..., Page]


def sentence(labels: dict[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in labels.items())


@pytest.fixture(scope="module")
def scenario() -> dict[str, Any]:
    """A book with every kind of control; each state says what it is."""
    drawn = {name: state(course(copy).figure()) for name, copy in COPIES.items()}
    states = []
    for values in itertools.product(*KINDS.values()):
        labels = dict(zip(NAMES.values(), values, strict=True))
        states.append({**drawn[values[0]], "sentence": sentence(labels)})
    controls = []
    for kind, options in KINDS.items():
        name = NAMES[kind]
        start = options.index(START[name])
        controls.append(
            {"name": name, "label": name, "kind": kind, "options": options, "start": start}
        )
    return {"title": "Copy or cut?", "code": LISTING, "controls": controls, "states": states}


@pytest.fixture(scope="module")
def player() -> dict[str, Any]:
    rec = course()
    states = [
        {**state(Figure(rec.at(i))), "sentence": f"this is step {i}"}
        for i in range(len(rec.events) + 1)
    ]
    control = {
        "name": "step",
        "label": "step",
        "kind": "steps",
        "options": [*map(str, range(len(states)))],
        "start": 0,
    }
    return {"title": "Step by step", "code": LISTING, "controls": [control], "states": states}


@pytest.fixture
def visit(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens a book's page; afterwards: it asked for nothing, broke no policy and complained of
    nothing."""
    problems: list[str] = []
    contexts = []

    def opened(
        book: dict[str, Any], tail: str = "", *, scripts: bool = True, **options: Any
    ) -> Page:
        file = tmp_path / "book.html"
        file.write_bytes(pages.page(book))
        context = browser.new_context(
            viewport={"width": 1280, "height": 720},
            offline=True,
            java_script_enabled=scripts,
            **options,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.add_init_script(WATCH)
        page.on(
            "request",
            lambda r: (
                None if r.url.startswith((file.as_uri(), "data:")) else problems.append(r.url)
            ),
        )
        page.on("console", lambda m: problems.append(m.text))
        page.on("pageerror", lambda e: problems.append(str(e)))
        page.on("dialog", lambda d: (problems.append(d.message), d.dismiss()))
        page.goto(file.as_uri() + tail)
        if scripts:
            page.locator(".gv-book").wait_for()
        return page

    yield opened
    for context in contexts:
        for page in context.pages:
            problems += page.evaluate("() => window.broken ?? []")
        context.close()
    assert not problems


def says(page: Page, **changes: str) -> None:
    expect(page.locator(".gv-said")).to_have_text(sentence({**START, **changes}))


def at_step(page: Page, step: int) -> None:
    expect(page.locator(".gv-said")).to_have_text(f"this is step {step}")


def picture(page: Page) -> str:
    """The picture as drawn, without the marks of what changed and without what is focused."""
    drawn: str = page.evaluate("""() => {
        const copy = document.querySelector(".gv-picture svg.gv-canvas").cloneNode(true);
        copy.querySelectorAll(".gv-marks").forEach(marks => marks.replaceChildren());
        return copy.textContent + [...copy.querySelectorAll("[d]")].map(e => e.getAttribute("d")).join(" ");
    }""")
    return drawn


def test_every_control_by_mouse(visit: Open, scenario: dict[str, Any]) -> None:
    page = visit(scenario)
    says(page)
    before = picture(page)
    page.get_by_role("radio", name="detach").click()
    says(page, copy="detach")
    assert picture(page) != before
    page.get_by_label("mode").select_option("no_grad")
    says(page, copy="detach", mode="no_grad")
    page.get_by_label("requires_grad").first.click()
    says(page, copy="detach", mode="no_grad", requires_grad="False")
    slider = page.get_by_role("slider", name="k")
    box = slider.bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] - 4, box["y"] + box["height"] / 2)
    says(page, copy="detach", mode="no_grad", requires_grad="False", k="3")
    for count in "122":  # the last one is too many: the book holds no third backward
        page.locator(".gv-control-counter button").click(force=True)
        says(page, copy="detach", mode="no_grad", requires_grad="False", k="3", backward=count)
    page.get_by_role("button", name="Reset", exact=True).click()
    says(page)
    assert picture(page) == before


def test_every_control_by_keyboard(visit: Open, scenario: dict[str, Any]) -> None:
    page = visit(scenario)
    reach(page, ".gv-buttons input")
    page.keyboard.press("ArrowRight")
    says(page, copy="detach")
    reach(page, "select")
    page.keyboard.press("ArrowDown")
    says(page, copy="detach", mode="no_grad")
    reach(page, "input[type=checkbox]")
    page.keyboard.press("Space")
    says(page, copy="detach", mode="no_grad", requires_grad="False")
    reach(page, ".gv-slider input")
    page.keyboard.press("End")
    says(page, copy="detach", mode="no_grad", requires_grad="False", k="3")
    reach(page, ".gv-control-counter button")
    page.keyboard.press("Enter")
    says(page, copy="detach", mode="no_grad", requires_grad="False", k="3", backward="1")
    reach(page, ".gv-reset")
    page.keyboard.press("Enter")
    says(page)


def test_each_state_has_an_address(visit: Open, scenario: dict[str, Any]) -> None:
    page = visit(scenario, "#copy=detach&mode=no_grad")
    says(page, copy="detach", mode="no_grad")
    page.locator(".gv-control-counter button").click()
    page.wait_for_url("**#copy=detach&mode=no_grad&requires_grad=True&k=1&backward=1")
    address = page.url.partition("#")[2]
    says(visit(scenario, "#" + address), copy="detach", mode="no_grad", backward="1")
    page.evaluate("location.hash = 'copy=data'")
    says(page, copy="data", mode="no_grad", backward="1")
    page.evaluate("location.hash = 'copy=nothing&__proto__=1&k=%&=&mode=none&constructor'")
    says(page, copy="data", mode="none", backward="1")


def test_strange_names_have_addresses_too(visit: Open, scenario: dict[str, Any]) -> None:
    options = ["a=b&c#d", "ü %41 +", HOSTILE]
    control = {**scenario["controls"][0], "name": "co py&", "options": options}
    book = {**scenario, "controls": [control], "states": scenario["states"][: len(options)]}
    page = visit(book)
    for place, option in [*enumerate(options)][::-1]:
        page.get_by_role("radio").nth(place).check()
        page.wait_for_function(
            "start => location.hash.startsWith(start)",
            arg=f"#co%20py%26={quote(option[:6], safe='')}",
        )
        page.reload()
        expect(page.get_by_role("radio").nth(place)).to_be_checked()


def test_presenter_keys_step_through_the_states(
    visit: Open, scenario: dict[str, Any], player: dict[str, Any]
) -> None:
    page = visit(scenario)
    page.keyboard.press("PageDown")
    says(page, backward="1")
    page.keyboard.press("PageDown")
    page.keyboard.press("PageDown")
    says(page, k="2")
    page.keyboard.press("PageUp")
    says(page, backward="2")
    page.get_by_role("slider", name="k").focus()
    page.keyboard.press("PageDown")  # a slider has a use for this key: towards its least
    says(page, backward="2")
    page = visit(player)
    page.get_by_role("slider", name="step").focus()
    page.keyboard.press("PageDown")
    at_step(page, 1)
    page = visit(player, f"#step={len(player['states']) - 1}")
    page.keyboard.press("PageDown")  # a story has an end
    at_step(page, len(player["states"]) - 1)


def test_controls_stand_beside_the_larger_code_of_a_projector(
    visit: Open, scenario: dict[str, Any]
) -> None:
    line = "a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)"
    code = {"text": f"{line}\nb = a * 2", "first": 1, "columns": {"1": len(line)}}
    controls = [{**control, "line": 1} for control in scenario["controls"][:1]]
    states = scenario["states"][: len(controls[0]["options"])]
    book = {**scenario, "code": code, "controls": controls, "states": states}
    for query in ("", "?present"):
        page = visit(book, query)
        expect(page.locator(".gv-beside .gv-slot")).to_be_visible()
        before = _ends_of_code(page)
        assert before < _begin_of_controls(page)
    page = visit(book)
    page.get_by_role("button", name="Present", exact=True).click()
    assert _ends_of_code(page) == before
    assert before < _begin_of_controls(page)


def _ends_of_code(page: Page) -> float:
    """Return where the longest line of code ends that has a control beside it."""
    ends: float = page.locator(".gv-beside .gv-line:has(.gv-slot) .gv-source").evaluate_all(
        "all => Math.max(...all.map(e => e.getBoundingClientRect().right))"
    )
    return ends


def _begin_of_controls(page: Page) -> float:
    begin: float = page.locator(".gv-beside .gv-slot").evaluate_all(
        "all => Math.min(...all.map(e => e.getBoundingClientRect().left))"
    )
    return begin


def test_presenter_keys_lead_around_all_states(visit: Open, scenario: dict[str, Any]) -> None:
    page, count = visit(scenario), len(scenario["states"])
    said = [page.locator(".gv-said").inner_text()]
    for _ in range(count):
        page.keyboard.press("PageDown")
        said.append(page.locator(".gv-said").inner_text())
    assert said[0] == said[-1]
    assert len(set(said)) == count
    page.keyboard.press("PageUp")
    assert page.locator(".gv-said").inner_text() == said[-2]


def test_a_player_goes_there_and_back(visit: Open, player: dict[str, Any]) -> None:
    page, last = visit(player, "#step=3"), len(player["states"]) - 1
    at_step(page, 3)
    before = picture(page)
    press = lambda name: page.get_by_role("button", name=name, exact=True).click()  # noqa: E731
    for name, step in (("Next step", 4), ("Step back", 3), ("Last step", last), ("First step", 0)):
        press(name)
        at_step(page, step)
    page.get_by_role("slider", name="step").focus()
    for key, step in (
        ("End", last),
        ("ArrowRight", last),
        ("ArrowLeft", last - 1),
        ("Home", 0),
        ("ArrowLeft", 0),
    ):
        page.keyboard.press(key)
        at_step(page, step)
    for _ in range(last):
        page.keyboard.press("ArrowRight")
    at_step(page, last)
    for _ in range(last - 3):
        page.keyboard.press("ArrowLeft")
    at_step(page, 3)
    assert picture(page) == before
    expect(page.locator("output")).to_have_text(f"step 3 of {last}")


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_a_player_plays(visit: Open, player: dict[str, Any], motion: str) -> None:
    last = len(player["states"]) - 1
    page = visit(player, f"#step={last}", reduced_motion=motion)
    page.clock.install(time=0)
    # else it goes on by itself as well, and a busy machine counts one step more
    page.clock.pause_at(1000)
    at_step(page, last)
    page.get_by_role("slider", name="step").focus()
    page.keyboard.press("Space")  # at the end: from the start
    at_step(page, 0)
    page.clock.run_for(3000)
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    at_step(page, 3 if motion == "no-preference" else 2)
    page.get_by_role("button", name="Play", exact=True).click()
    page.clock.run_for(2000 * last)
    at_step(page, last)
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()


def test_it_reads_without_scripts(visit: Open, scenario: dict[str, Any]) -> None:
    page = visit(scenario, scripts=False, color_scheme="dark")
    shown = next(s for s in scenario["states"] if s["sentence"] == sentence(START))
    image = page.get_by_role("img", name=shown["alt"], exact=True)
    expect(image).to_be_visible()
    box = image.bounding_box()
    assert box
    assert box["width"] > 200
    text = page.locator("main").inner_text()
    assert "b = copy(a)" in text
    assert shown["text"].split("\n")[0] in text
    assert "108 states" in text
    page.screenshot(path=ARTEFACTS / "page-no-scripts-dark.png")


def test_a_hundred_rapid_changes_end_in_the_right_state(
    visit: Open, scenario: dict[str, Any]
) -> None:
    page, choose = visit(scenario), random.Random(0)
    now = dict(START)
    for _ in range(100):
        kind = choose.choice(["buttons", "checkbox", "dropdown", "slider"])
        place = choose.randrange(len(KINDS[kind]))
        now[NAMES[kind]] = KINDS[kind][place]
        page.evaluate(
            """([kind, place]) => {
                const row = document.querySelector(`.gv-control-${kind}`);
                const input = row.querySelectorAll("input, select")[kind === "buttons" ? place : 0];
                if (kind === "buttons") input.click();
                else if (kind === "checkbox" && input.checked !== Boolean(place)) input.click();
                else if (kind === "dropdown") { input.selectedIndex = place; input.dispatchEvent(new Event("change")); }
                else if (kind === "slider") { input.value = place; input.dispatchEvent(new Event("input")); }
            }""",
            [kind, place],
        )
    says(page, **now)
    page.wait_for_url("**#" + sentence(now).replace(" ", "&"))
    assert picture(page) == picture(visit(scenario, f"#copy={now['copy']}"))


def test_the_controls_have_names_and_roles(
    visit: Open, scenario: dict[str, Any], player: dict[str, Any]
) -> None:
    expect(visit(scenario).get_by_role("group", name="Controls")).to_match_aria_snapshot("""
      - group "Controls":
        - text: copy
        - radiogroup "copy":
          - radio "clone" [checked]
          - radio "detach"
          - radio "data"
        - text: mode
        - combobox "mode":
          - option "none" [selected]
          - option "no_grad"
        - checkbox "requires_grad" [checked]
        - slider "k": "0"
        - status: "1"
        - button "backward"
    """)
    expect(visit(player).get_by_role("group", name="Controls")).to_match_aria_snapshot(r"""
      - group "Controls":
        - group "step":
          - button "First step"
          - button "Step back"
          - button "Play"
          - button "Next step"
          - button "Last step"
        - slider "step": "0"
        - status: /step 0 of \d+/
    """)


def test_user_text_does_nothing(visit: Open, scenario: dict[str, Any]) -> None:
    control = {**scenario["controls"][0], "label": HOSTILE, "options": [HOSTILE, "x"]}
    hostile = {
        **scenario["states"][0],
        **dict.fromkeys(("alt", "text", "sentence", "error", "printed"), HOSTILE),
    }
    svg = (
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9' width='9'"
        " height='9'><script>alert(1)</script><image href='http://gradviz.invalid/'/><g"
        " class='graph'><a href='http://gradviz.invalid/'/></g></svg>"
    )
    torn = {**hostile, "svg": svg, "problem": HOSTILE}
    book = {
        "title": HOSTILE,
        "code": {"text": HOSTILE, "first": 1},
        "controls": [control],
        "states": [hostile, torn],
    }
    for scripts in (True, False):
        page = visit(book, scripts=scripts)
        assert page.locator("img[src='x']").count() == 0
        assert "</script><img src=x onerror=alert(1)>" in page.locator("h1").inner_text()
    page = visit(book, "?print=1-2")
    page.keyboard.press("PageDown")
    page.pdf()


def pdf_pages(data: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", data))


@pytest.mark.parametrize(
    ("tail", "count"),
    [
        ("", 1),
        ("?print=1-3,7", 4),
        ("?print=5", 1),
        ("?print=0,3-2,999,x", 1),
        ("?print=100-999", 9),
    ],
)
def test_paper_shows_the_chosen_states(
    visit: Open, scenario: dict[str, Any], tail: str, count: int
) -> None:
    page = visit(scenario, tail, color_scheme="dark")
    assert pdf_pages(page.pdf(prefer_css_page_size=True)) == count
    says(page)


def test_states_to_print_are_chosen_on_the_page(visit: Open, player: dict[str, Any]) -> None:
    page = visit(player)
    page.evaluate("window.print = () => { window.printed = true; }")
    page.get_by_text("Print…").click()
    page.get_by_label(re.compile("all .* states")).check()
    page.get_by_role("button", name="Print", exact=True).click()
    assert page.evaluate("window.printed")
    assert pdf_pages(page.pdf(prefer_css_page_size=True)) == len(player["states"])
    page.get_by_label("Numbers of states").fill("0, 2")
    assert pdf_pages(page.pdf(prefer_css_page_size=True)) == 2
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    names = page.locator(".gv-sheet-name").all_text_contents()
    assert names == ["step 0", "step 2"]
    colours = page.evaluate("""() => [...document.querySelectorAll(".gv-sheet *")]
        .flatMap(e => { const s = getComputedStyle(e); return [s.color, s.fill, s.stroke]; })
        .map(c => c.match(/\\d+/g)).filter(c => c && !(c[0] === c[1] && c[1] === c[2])).length""")
    assert colours == 0


def test_a_phone_is_shown_a_narrow_picture(visit: Open) -> None:
    @gv.explore(copy=[torch.clone, torch.detach])
    def scenario(copy: Any) -> None:
        a = torch.tensor(1.0, requires_grad=True)
        c = a * 2
        d = copy(a) * 3
        (c + d).backward()

    book = scenario.book()
    page = visit(book)
    cards = page.locator(".gv-node")
    page.get_by_role("radio", name="detach", exact=True).check()
    changed = page.locator(".gv-changes").text_content()
    cards.first.click()
    selected = page.locator('[aria-pressed="true"]').get_attribute("data-gv")
    labels = cards.evaluate_all("all => all.map(e => e.textContent)")
    for width, picture in ((390, "narrow"), (1280, "svg")):
        page.set_viewport_size({"width": width, "height": 720})
        with page.expect_download() as waiting:
            page.get_by_role("button", name="Save or copy the picture").click()
            page.get_by_role("button", name="Save as SVG").click()
        saved = Path(waiting.value.path()).read_text(encoding="utf-8")
        assert saved == book["states"][1][picture]
        assert page.locator('[aria-pressed="true"]').get_attribute("data-gv") == selected
        assert page.locator(".gv-changes").text_content() == changed
        assert sorted(cards.evaluate_all("all => all.map(e => e.textContent)")) == sorted(labels)


@pytest.mark.parametrize("width", [366, 390, 565])
def test_questions_and_players_are_read_whole_without_a_sideways_move(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    def scenario() -> None:
        a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        b = a.clone()
        c = a * 2
        d = b * 3
        loss = (c + d).sum()
        loss.backward()

    wrong = gv.lesson.Wrong("a belief", "look.")
    asked = gv.lesson.question(
        "What is `a.grad`?",
        scenario,
        truth=lambda run: run.tensors["a"]["grad"],
        answers={"[5, 5, 5]": wrong, "[2, 2, 2]": wrong},
    )
    with gv.record() as rec:
        scenario()
    page = browser.new_page(viewport={"width": width, "height": 720})
    for what, button in ((asked, "Just show me"), (rec, "Last step")):
        gv.export(what, tmp_path / "page.html")
        page.goto((tmp_path / "page.html").as_uri())
        page.get_by_role("button", name=button).click()
        expect(page.locator(".gv-node").first).to_be_visible()
        hidden = page.locator(".gv-view").get_attribute("data-more") or ""
        assert not {"left", "right"} & set(hidden.split())
        sizes = page.locator(".gv-canvas text").evaluate_all(
            "all => all.map(e => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a)"
        )
        assert min(sizes) >= 11.99
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_looked_at(
    visit: Open, scenario: dict[str, Any], player: dict[str, Any], scheme: str
) -> None:
    for name, book in (("scenario", scenario), ("player", player)):
        for query in ("", "?present"):
            page = visit(book, f"{query}#copy=detach&step=9", color_scheme=scheme)
            expect(page.locator(".gv-picture svg.gv-canvas")).to_be_visible()
            page.screenshot(path=ARTEFACTS / f"page-{name}{query.replace('?', '-')}-{scheme}.png")
    ground = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(ground)
    page.get_by_role("button", name="Dark", exact=True).click()
    assert page.evaluate(ground) != before
