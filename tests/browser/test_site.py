"""The site, built as ``make site`` does and opened from disk with the network cut: one notebook
and the handouts, or with ``--everything`` the whole (``sampling.py``)."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from axe import violations
from lab import ARTEFACTS, ROOT
from playwright.sync_api import Browser, Page, expect
from sampling import Asked

from course import books, handouts, reader, route, teaching
from course import site as course_site
from course.pages import Page as Shown

pytestmark = pytest.mark.dear(9)

ASKING = "00_copy_or_cut"  # has questions, and a screen of the class
NAMES = [book.name for book in books.notebooks()]
BUILT = NAMES if Asked.everything else [ASKING]
SCREENS = {n: screen for n, _, screen in route.numbered() if screen.notebook in BUILT}
WATCH = """window.broken = [];
    addEventListener("securitypolicyviolation", e => broken.push(`${e.violatedDirective} ${e.blockedURI}`));"""

# CSS pixels of the smallest text in the picture
LETTERS = """() => Math.min(...[...document.querySelectorAll(".gv-canvas text")].map(
    text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a))"""
# what pops up, as the sign of a cut does, is small on its way
ARRIVE = "() => document.getAnimations().forEach(one => one.finish())"
# where it says that one shall guess
GUESS = "() => getComputedStyle(document.querySelector('.gv-picture'), '::after').gridRowStart"
# what a state that fails has in another colour
COLOURS = """() => JSON.stringify([...document.querySelectorAll(".gv-sentence, .gv-line, .gv-number")].map(e => {
    const {backgroundColor, borderLeftColor, color, fontWeight} = getComputedStyle(e);
    return e.matches(".gv-number") ? [color, fontWeight] : [backgroundColor, borderLeftColor];
}))"""
# whether all of what changed is seen
CHANGES = """() => {
    const line = document.querySelector(".gv-changes");
    return line.scrollHeight <= line.clientHeight + 1;
}"""
# what of the page lies below the screen, or on something else that stands there
BELOW = """() => {
    const parts = ["#deck", ".gv-code", ".gv-sentence", ".gv-view", ".gv-strip", ".gv-printed"]
        .map(name => [name, document.querySelector(name)]).filter(([, e]) => e?.checkVisibility())
        .map(([name, e]) => [name, e.getBoundingClientRect()]);
    const lies = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
    return parts.filter(([name, a]) => a.bottom > innerHeight || a.right > innerWidth || a.height < 10
        || parts.some(([other, b]) => name !== other && lies(a, b))).map(([name]) => name);
}"""


@pytest.fixture(scope="module")
def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    if Asked.everything:
        told = re.search(r"(?m)^(\d+) pages, (\d+\.\d) MB: open ", written(str(folder)))
        assert told
        using = " ".join((ROOT / "docs" / "using.md").read_text(encoding="utf-8").split())
        assert (
            f"({told[1]} pages with live pictures and questions, {float(told[2]):.0f} MB;" in using
        )
        return folder
    written("--only", ASKING, str(folder))
    handouts.write(folder / "class")
    return folder


def written(*arguments: str) -> str:
    """Write the site, or a part of it, and return what is printed."""
    command = [sys.executable, "-m", "course.site", *arguments]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return built.stdout


@pytest.fixture
def whole_site(site: Path) -> Path:
    if not Asked.everything:
        pytest.skip("all pages take minutes: --everything, make soak-tests")
    return site


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.new_context(offline=True) as context:
        opened = context.new_page()
        opened.add_init_script(WATCH)
        opened.on("pageerror", lambda error: pytest.fail(str(error)))
        yield opened


def links(page: Page) -> list[str]:
    found: list[str] = page.evaluate("() => [...document.links].map(a => a.href)")
    return found


def pages_in(site: Path) -> set[Path]:
    """Return the live pages of the notebooks."""
    return {p for p in site.rglob("*.html") if p.parent not in (site, site / "class")}


def read_in(site: Path) -> list[Path]:
    """Return the pages of whole notebooks."""
    return sorted(site.glob("[0-9]*.html"))


def test_the_index_leads_to_every_page_of_every_notebook(whole_site: Path, page: Page) -> None:
    page.goto(f"file://{whole_site}/index.html")
    page.screenshot(path=ARTEFACTS / "site-index.png", full_page=True)
    places = {Path(link.removeprefix("file://")) for link in links(page)}
    index = whole_site / "class" / "index.html"
    assert places == {*pages_in(whole_site), *read_in(whole_site), index}
    broken = page.evaluate("() => [...document.images].filter(i => i.complete && !i.naturalWidth)")
    assert broken == []
    notebooks = {p.stem for p in (ROOT / "notebooks").glob("[0-9]*.ipynb")}
    assert {p.parent.name for p in pages_in(whole_site)} == notebooks


def test_every_page_opens_from_disk_and_steps_on_and_leads_to_its_notebook_and_its_neighbours(
    site: Path, page: Page
) -> None:
    assert {path.parent.name for path in pages_in(site)} == {*BUILT}
    for path in sorted(pages_in(site)):
        page.goto(f"file://{path}")
        expect(page.locator("h1")).to_have_text(re.compile(rf"^{path.parent.name[:2]} "))
        leads_on(site, path, links(page))
        if path.name.startswith("question"):
            expect(page.locator(".gv-view")).to_be_hidden()
            page.keyboard.press("r")
            expect(page.locator(".gv-view, .gv-problem").first).to_be_visible()
            continue
        expect(page.locator(".gv-view, .gv-problem").first).to_be_visible()
        before = page.evaluate("() => location.hash")
        page.keyboard.press("PageDown")
        page.wait_for_function("before => location.hash !== before", arg=before)
        assert page.evaluate("() => broken") == [], path


def leads_on(site: Path, path: Path, links: list[str]) -> None:
    found = [Path(link.removeprefix("file://").partition("#")[0]) for link in links]
    book = path.parent.with_suffix(".html")
    assert found[:2] == [site / "index.html", book]
    inside = {place for place in found[2:] if place.parent == path.parent}
    assert inside <= pages_in(site) - {path}
    assert "#next" not in path.read_text("utf-8")


def test_a_live_page_is_quickly_fetched(site: Path) -> None:
    sizes = {path: path.stat().st_size for path in pages_in(site)}
    assert {path: size for path, size in sizes.items() if size > 600_000} == {}


def test_a_whole_notebook_can_be_read_and_clicked(site: Path, page: Page) -> None:
    assert {path.stem for path in read_in(site)} == {*BUILT} or Asked.everything
    for path in read_in(site):
        [book] = [book for book in books.notebooks() if book.name == path.stem]
        assert path.stat().st_size <= 300_000
        page.goto(f"file://{path}")
        frames = page.locator("iframe").evaluate_all("all => all.map(frame => frame.src)")
        shown = {Path(frame.removeprefix("file://").partition("?")[0]) for frame in frames}
        assert shown == {p for p in pages_in(site) if p.parent.name == path.stem}
        assert len(frames) == len(shown)
        for cell in book.cells:
            text = page.locator(f"[id='{cell.id}']") if cell.kind == "code" else None
            assert text is None or not cell.source.strip() or text.count() == 1
        assert page.evaluate("() => broken") == []
    page.screenshot(path=ARTEFACTS / "site-notebook.png")


def test_a_frame_is_as_high_as_its_page_and_a_question_in_it_can_be_answered(
    site: Path, page: Page
) -> None:
    found = [path for path in read_in(site) if "/question.html?embed" in path.read_text("utf-8")]
    assert found
    for path in found:
        page.goto(f"file://{path}")
        frame = page.locator("iframe[src*='/question.html']")
        frame.scroll_into_view_if_needed()
        inside = frame.content_frame
        inside.get_by_role("radio").first.wait_for()
        assert inside.locator("#gv-head").is_hidden()
        page.wait_for_function(
            "first => document.querySelector(`iframe[src*='/question.html']`).offsetHeight !== first",
            arg=reader.LIVE_HEIGHT,
        )
        low = frame.evaluate("frame => frame.offsetHeight")
        assert low < reader.LIVE_HEIGHT, "before an answer there is no picture"
        inside.get_by_role("radio").first.check()
        expect(inside.locator(".gv-view")).to_be_visible()
        page.wait_for_function(
            "low => document.querySelector(`iframe[src*='/question.html']`).offsetHeight > low",
            arg=low,
        )


@pytest.mark.parametrize("name", ["handout", "handout_key", "homework", "homework_solutions"])
def test_a_handout_is_one_sheet_of_a4_printed_on_both_sides(
    site: Path, page: Page, name: str
) -> None:
    page.goto(f"file://{site}/class/{name}.html")
    page.screenshot(path=ARTEFACTS / f"{name}.png", full_page=True)
    printed = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 2
    boxes = {
        tuple(map(float, box.split())) for box in re.findall(rb"/MediaBox\s*\[([^\]]*)\]", printed)
    }
    assert all(abs(box[2] - 595) < 2 and abs(box[3] - 842) < 2 for box in boxes)  # points
    wide = page.evaluate(
        "() => [...document.querySelectorAll('pre, img')].filter(e => e.scrollWidth > e.clientWidth"
        " + 1)"
    )
    assert wide == [], "code runs into the picture"


def test_a_screen_that_is_opened_from_its_folder_shows_what_it_asks(site: Path, page: Page) -> None:
    number, screen = next(iter(SCREENS.items()))
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"file://{site}/class/{route.place(number, screen)}")
    page.wait_for_url("**?present*")
    asked = page.locator("#deck-ask")
    expect(asked).to_have_text(screen.states[0].ask)
    code, box = page.locator(".gv-code").bounding_box(), asked.bounding_box()
    assert code is not None
    assert box is not None
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= code["y"]


@pytest.mark.parametrize("number", SCREENS, ids=lambda number: SCREENS[number].scenario)
def test_a_screen_of_the_class_walks_its_states_and_hides_what_comes_of_them(
    site: Path, page: Page, number: int
) -> None:
    """On one screen of a projector, whatever is shown."""
    screen = SCREENS[number]
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"file://{site}/class/{route.place(number, screen)}?present")
    picture, said = page.locator(".gv-canvas"), page.locator(".gv-said")
    hidden = set[str]()
    for at, state in enumerate(screen.states, 1):
        expect(page.locator("#deck-at")).to_have_text(f"{at} of {len(screen.states)}")
        expect(page.locator("#deck-ask")).to_have_text(state.ask)
        for name, label in state.settings.items():
            choices = page.get_by_role("radiogroup", name=name)
            if choices.count():  # else a checkbox, whose two labels are its states
                expect(choices.get_by_role("radio", name=label, exact=True)).to_be_checked()
        expect(picture).to_be_hidden()
        expect(said).to_be_hidden()
        assert page.evaluate(GUESS) == "picture", "it lies over what is asked"
        hidden.add(page.evaluate(COLOURS))
        page.keyboard.press("r")
        expect(picture).to_be_visible()
        expect(said).not_to_be_empty()
        page.evaluate(ARRIVE)
        page.screenshot(path=ARTEFACTS / f"class-{number}-{at}.png")
        size = "() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
        assert page.evaluate(size) == [1280, 720]
        assert not page.locator(".gv-view").get_attribute("data-more"), "out of sight"
        assert page.evaluate(LETTERS) >= 12 - 0.01
        assert page.evaluate(BELOW) == []
        assert page.evaluate(CHANGES), "what changed is cut off"
        if at < len(screen.states):
            page.keyboard.press("PageDown")
    assert len(hidden) == 1, "colours tell which state fails, before anybody has guessed"
    assert violations(page) == {}
    page.keyboard.press("PageUp")
    expect(page.locator("#deck-at")).to_have_text(
        f"{len(screen.states) - 1} of {len(screen.states)}"
    )
    assert page.evaluate("() => broken") == []


@pytest.fixture
def without_scripts(site: Path, tmp_path: Path) -> list[Path]:
    """Index, notebooks, route and handouts; a live page has tests of its own (test_access.py)."""
    made: dict[str, list[Shown]] = {book.name: [] for book in books.notebooks()}
    for _, _, screen in route.numbered():
        answers = ("yes",) * len(screen.states)
        made[screen.notebook].append(Shown("t", "x.html", screen.scenario, "", answers))
    teaching.write(tmp_path, made)
    handouts.write(tmp_path)
    (tmp_path / "start.html").write_text(course_site.index(site, made), encoding="utf-8")
    found = [*read_in(site), *tmp_path.glob("*.html")]
    assert len(found) >= 5
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_pages_without_scripts(
    without_scripts: list[Path], browser: Browser, scheme: Literal["light", "dark"]
) -> None:
    with browser.new_context(offline=True, color_scheme=scheme) as context:
        page = context.new_page()
        for path in without_scripts:
            page.goto(path.as_uri())
            assert violations(page) == {}, path


def test_pages_without_scripts_are_no_wider_than_a_phone(
    without_scripts: list[Path], page: Page
) -> None:
    """Long tables and lines of code are what would make a page scroll to the side."""
    page.set_viewport_size({"width": 390, "height": 844})
    for path in without_scripts:
        page.goto(path.as_uri())
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 390, path


def test_the_route_leads_to_enlarged_pages(whole_site: Path, page: Page) -> None:
    page.goto(f"file://{whole_site}/class/index.html")
    page.screenshot(path=ARTEFACTS / "class-route.png", full_page=True)
    screens = [link for link in links(page) if "?present" in link]
    assert len(screens) >= 5
    for link in screens:
        page.goto(link)
        page.locator("#deck-at").wait_for()  # the picture is hidden until R
        assert page.evaluate("() => document.documentElement.classList.contains('gv-present')")
        assert page.evaluate("() => broken") == []
