"""Opening the cards of an outline in a real browser: in an exported page, and in JupyterLab."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lab import ARTEFACTS, PATIENCE_MS, Lab, new_tab
from live import open_lab, run_python, write_notebook
from playwright.sync_api import Browser, Locator, Page, expect

import gradviz as gv
from gradviz.live import export as pages

pytestmark = pytest.mark.dear(5)

MODEL = """
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self, cut):
        super().__init__()
        self.ln = nn.LayerNorm(8)
        self.mlp = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
        self.cut = cut
    def forward(self, x):
        y = self.mlp(self.ln(x))
        return x.detach() + y.detach() if self.cut else x + y
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = nn.Linear(4, 8)
        self.h = nn.ModuleList([Block(i == 3) for i in range(8)])
        self.end = nn.Linear(8, 3)
    def forward(self, x):
        x = self.start(x)
        for block in self.h:
            x = block(x)
        return self.end(x)
torch.manual_seed(0)
model = Model()
x = torch.randn(5, 4)
"""
NEAR = 4.0  # CSS pixels: the rim of a card that is pointed at is thicker
Visit = Callable[..., Page]


@pytest.fixture(scope="module")
def book() -> dict[str, Any]:
    scope: dict[str, Any] = {}
    exec(MODEL, scope)
    model, x = scope["model"], scope["x"]
    with gv.record() as rec:
        model(x).sum().backward()
    return {**rec.figure().book(), "title": "Blocks"}


@pytest.fixture
def visit(browser: Browser, tmp_path: Path) -> Iterator[Visit]:
    """Opens a page of a book without any network; afterwards: it asked for nothing and complained
    of nothing."""
    problems: list[str] = []
    contexts = []

    def opened(book: dict[str, Any], tail: str = "", width: int = 860, **options: Any) -> Page:
        file = tmp_path / "book.html"
        file.write_bytes(pages.page(book))
        viewport = {"width": width, "height": 900}
        contexts.append(browser.new_context(viewport=viewport, offline=True, **options))
        page: Page = contexts[-1].new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", lambda m: problems.append(m.text))
        page.on("pageerror", lambda e: problems.append(str(e)))
        page.goto(file.as_uri() + tail)
        page.locator(".gv-book").wait_for()
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not problems


def card(page: Page, title: str) -> Locator:
    """The card whose title begins with this."""
    return (
        page.locator(".gv-node")
        .filter(has=page.locator(f"text >> text=/^{re.escape(title)}/"))
        .first
    )


def crumbs(page: Page) -> list[str]:
    return page.locator(".gv-crumb").all_inner_texts()


def place(locator: Locator) -> tuple[float, float]:
    locator.scroll_into_view_if_needed()  # else the click does, and moves the page
    box = locator.bounding_box()
    assert box
    return box["x"], box["y"]


def scale(page: Page) -> str:
    transform = page.locator(".gv-canvas > g").first.get_attribute("transform") or ""
    return transform.split("scale")[1]


def stays(before: tuple[float, float], after: tuple[float, float]) -> None:
    assert before == (pytest.approx(after[0], abs=NEAR), pytest.approx(after[1], abs=NEAR))


def in_sight(page: Page, locator: Locator) -> None:
    frame, box = page.locator(".gv-view").bounding_box(), locator.bounding_box()
    assert frame
    assert box
    assert box["y"] >= frame["y"] - NEAR
    assert box["y"] + box["height"] <= frame["y"] + frame["height"] + NEAR


def test_a_double_click_opens_a_card_where_it_is(visit: Visit, book: dict[str, Any]) -> None:
    page = visit(book)
    expect(page.locator(".gv-node[aria-expanded=false]")).not_to_have_count(0)
    closed = card(page, "h.{5..7}")
    before, zoom = place(closed), scale(page)
    closed.dblclick()
    assert crumbs(page) == ["model", "h.5"]
    stays(before, place(card(page, "h.5.ln")))
    assert scale(page) == zoom
    expect(card(page, "h.{6,7}")).to_have_attribute("aria-expanded", "false")
    expect(page).to_have_url(re.compile("#open=model.h.5$"))  # when the reader rests
    sign = page.locator(".gv-handle-close")
    expect(sign).to_have_attribute("aria-expanded", "true")
    sign.click()
    assert crumbs(page) == ["model"]
    stays(before, place(card(page, "h.{5..7}")))


def test_a_click_selects_and_the_next_one_opens(visit: Visit, book: dict[str, Any]) -> None:
    page = visit(book)
    closed = card(page, "h.{0..2}")
    closed.click()
    expect(closed).to_have_attribute("aria-pressed", "true")
    assert crumbs(page) == ["model"]
    page.wait_for_timeout(600)  # no double click
    closed.click()
    assert crumbs(page) == ["model", "h.0"]


def test_enter_opens_and_escape_closes(visit: Visit, book: dict[str, Any]) -> None:
    page = visit(book)
    card(page, "h.{5..7}").focus()
    before = place(card(page, "h.{5..7}"))
    page.keyboard.press("Enter")
    assert crumbs(page) == ["model", "h.5"]
    focused = page.evaluate("() => document.activeElement.querySelector('text').textContent")
    assert focused.startswith("h.5.ln")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert crumbs(page) == ["model", "h.5", "mlp"]
    page.keyboard.press("Escape")
    assert crumbs(page) == ["model", "h.5"]
    page.keyboard.press("Escape")
    assert crumbs(page) == ["model"]
    stays(before, place(card(page, "h.{5..7}")))


def test_crumbs_close_back_to_where_they_stand(visit: Visit, book: dict[str, Any]) -> None:
    page = visit(book, "#open=model.h.5.mlp")
    assert crumbs(page) == ["model", "h.5", "mlp"]
    page.get_by_role("button", name="h.5", exact=True).click()
    assert crumbs(page) == ["model", "h.5"]
    page.get_by_role("button", name="model", exact=True).press("Enter")
    assert crumbs(page) == ["model"]


def test_next_goes_round_the_red_cards(visit: Visit, book: dict[str, Any]) -> None:
    page = visit(book)
    alarms = book["states"][0]["outline"]["alarms"]
    assert len(alarms) > 2
    seen = []
    for _ in range(len(alarms) + 1):
        page.get_by_role("button", name="Next ✗").click()
        selected = page.locator(".gv-node[aria-pressed=true]")
        in_sight(page, selected)
        seen.append(selected.get_attribute("data-gv"))
    assert seen == [*alarms, alarms[0]]


def test_everything_red_opens_at_once(visit: Visit, book: dict[str, Any]) -> None:
    page = visit(book)
    page.get_by_role("button", name="Open all red").click()
    assert crumbs(page) == ["model", "h.0", "model", "h.3"]


def test_a_search_opens_on_the_way(visit: Visit, book: dict[str, Any]) -> None:
    page = visit(book)
    search = page.get_by_label("Find a module or parameter")
    search.fill("h.6.mlp.2.weight")
    search.press("Enter")
    expect(page.locator(".gv-outline-said")).to_have_text("model.h.6.mlp.2.weight is in this card.")
    assert crumbs(page) == ["model", "h.6", "mlp"]
    selected = page.locator(".gv-node[aria-pressed=true]")
    assert (selected.locator("text").first.text_content() or "").startswith("2")
    in_sight(page, selected)
    search.fill("nowhere")
    search.press("Enter")
    said = "No module or parameter has “nowhere” in its name."
    expect(page.locator(".gv-outline-said")).to_have_text(said)


def test_the_row_of_a_parameter_leads_to_it(visit: Visit, book: dict[str, Any]) -> None:
    page = visit(book)
    page.locator(".gv-table summary").click()
    rows = page.locator(".gv-table tbody tr[data-name]:not([data-name=''])")
    first = rows.first.get_attribute("data-name")
    card, *_ = book["states"][0]["outline"]["names"][first]
    assert card
    rows.first.locator("button").click()
    expect(page.locator(".gv-node[aria-pressed=true]")).to_have_count(1)


def test_a_page_says_what_it_was_saved_without(visit: Visit, book: dict[str, Any]) -> None:
    small = {
        **book,
        "openings": {key: k for key, k in book["openings"].items() if "h.5" not in key},
    }
    page = visit(small)
    before = card(page, "h.{5..7}").bounding_box()
    page.locator(".gv-handle-away").last.click()
    expect(page.locator(".gv-outline-said")).to_have_text(
        "This page was saved without model.h.5 opened. In Python,"
        ' Figure(graph, focus="model.h.5") opens it.'
    )
    assert crumbs(page) == ["model"]
    assert before


@pytest.mark.parametrize("width", [860, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_bar_fits_and_the_picture_does_not_move(
    visit: Visit, book: dict[str, Any], width: int, scheme: str
) -> None:
    page = visit(book, width=width, color_scheme=scheme)
    frame = page.locator(".gv-view")
    before = place(frame)
    page.get_by_role("button", name="Next ✗").click()
    search = page.get_by_label("Find a module or parameter")
    search.fill("h.3.mlp.0")
    search.press("Enter")
    assert crumbs(page)[-1] == "mlp"
    if width == 860:  # on a telephone the sentence may take a second line
        stays(before, place(frame))
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    for tool in page.locator(".gv-outline-bar :is(button, input)").all():
        box = tool.bounding_box()
        assert box is None or (box["x"] >= 0 and box["x"] + box["width"] <= width)
    ARTEFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTEFACTS / f"opening-{scheme}-{width}.png")


# --- with a kernel --------------------------------------------------------------------------------

CELLS = (
    f"{MODEL}\nimport gradviz as gv",
    "with gv.record() as rec:\n    model(x).sum().backward()\nwidget = gv.GraphWidget(rec)\nwidget",
)
READ = "import json; print(json.dumps(widget.opened))"


def test_a_notebook_opens_what_is_clicked(browser: Browser, lab: Lab) -> None:
    write_notebook(lab, "opening.ipynb", CELLS)
    with new_tab(browser, 1280, 900) as tab:
        page = tab.page
        open_lab(page, lab, "opening.ipynb")
        page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
        page.locator(".jp-OutputArea .gv-crumb").first.wait_for()
        run_python(page, "del rec, model")  # the picture needs neither
        closed = card(page, "h.{0..2}")
        closed.scroll_into_view_if_needed()
        before, zoom = place(closed), scale(page)
        closed.dblclick()
        expect(page.locator(".gv-crumb")).to_have_text(["model", "h.0"])
        assert json.loads(run_python(page, READ)) == ["model.h.0"]
        stays(before, place(card(page, "h.0.ln")))
        assert scale(page) == zoom
        card(page, "h.{5..7}").focus()
        page.keyboard.press("Enter")
        expect(page.locator(".gv-crumb")).to_have_text(["model", "h.0", "model", "h.5"])
        page.keyboard.press("Escape")
        expect(page.locator(".gv-crumb")).to_have_text(["model", "h.0"])
        search = page.get_by_label("Find a module or parameter")
        search.fill("h.1.mlp.0.bias")
        search.press("Enter")
        way = ["model", "h.0", "model", "h.1", "mlp", "0", "bias"]
        expect(page.locator(".gv-crumb")).to_have_text(way)
        opened = json.loads(run_python(page, READ))
        assert opened[:3] == ["model.h.0", "model.h.1", "model.h.1.mlp"]
        assert opened[-1] == "model.h.1.mlp.0.bias"
        run_python(page, "widget.opened = []")
        expect(page.locator(".gv-crumb")).to_have_text(["model"])
        assert "expected paths of modules" in run_python(page, "widget.opened = ['h.77']")
        expect(page.locator(".gv-crumb")).to_have_text(["model"])
        assert not tab.strangers
