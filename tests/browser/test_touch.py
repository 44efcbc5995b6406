"""A phone: what a finger does, and that all of a page can be reached at 390 pixels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from lab import ARTEFACTS
from playwright.sync_api import Browser, Page, expect

import gradviz as gv

# What a reader may press, and whether it lies within the width of the page.
OUTSIDE = """() => [...document.querySelectorAll("button, input, select, summary, a")]
    .filter(e => e.checkVisibility({visibilityProperty: true}))
    .map(e => [e.getAttribute("aria-label") ?? e.textContent, e.getBoundingClientRect()])
    .filter(([, box]) => box.left < -1 || box.right > document.documentElement.clientWidth + 1).map(([name]) => name)"""


def scenario(copy: Any) -> None:
    """A wide picture."""
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (copy(a) + a.exp() + a.sin() + a.cos()).sum().backward()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("touch") / "page.html"
    gv.export(gv.explore(scenario, copy=gv.controls.copies), path)
    return path


@pytest.fixture
def phone(browser: Browser, file: Path) -> Iterator[Page]:
    with browser.new_context(
        viewport={"width": 390, "height": 700}, has_touch=True, is_mobile=True, offline=True
    ) as context:
        page = context.new_page()
        page.goto(file.as_uri())
        page.locator(".gv-node").first.wait_for()
        yield page


def swipe(page: Page, dx: int, dy: int) -> None:
    """Move a finger over the picture."""
    box = page.locator(".gv-view").bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, max(box["y"], 0) + 350
    session, moves = page.context.new_cdp_session(page), 10

    def touch(kind: str, *points: dict[str, float]) -> None:
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [*points]})

    touch("touchStart", {"x": x, "y": y})
    for move in range(1, moves + 1):
        touch("touchMove", {"x": x + dx * move / moves, "y": y + dy * move / moves})
    touch("touchEnd")


def test_a_swipe_scrolls_the_page_where_only_the_sides_are_hidden(phone: Page) -> None:
    view = phone.locator(".gv-view")
    view.scroll_into_view_if_needed()
    hidden = set((view.get_attribute("data-more") or "").split())
    assert hidden, "this picture is to be wider than the page"
    assert hidden <= {"left", "right"}
    at = phone.evaluate("() => scrollY")
    swipe(phone, 0, -200)
    phone.wait_for_function("at => scrollY > at + 100", arg=at)
    resting = "() => { const was = window.lastY; window.lastY = scrollY; return was === scrollY; }"
    phone.wait_for_function(resting, polling=200)
    at = phone.evaluate("() => scrollY")
    before = phone.locator(".gv-canvas > g").get_attribute("transform")
    swipe(phone, -120, 0)
    phone.wait_for_function(
        "before => document.querySelector('.gv-canvas > g').getAttribute('transform') !== before",
        arg=before,
    )
    assert phone.evaluate("() => scrollY") == at


def test_a_tap_shows_the_facts_of_a_card(phone: Page) -> None:
    card = phone.locator(".gv-node").first
    card.scroll_into_view_if_needed()
    card.tap()
    expect(phone.locator(".gv-facts")).to_be_visible()
    expect(phone.locator(".gv-facts")).to_contain_text("requires_grad")
    phone.wait_for_timeout(400)  # longer than what closes it after a mouse
    expect(phone.locator(".gv-facts")).to_be_visible()
    phone.screenshot(path=ARTEFACTS / "touch-facts.png")
    card.tap(position={"x": 5, "y": 15})  # lets it go
    expect(phone.locator(".gv-facts")).to_be_hidden()


def test_everything_is_in_reach_at_390_pixels(phone: Page) -> None:
    assert phone.evaluate("() => document.documentElement.scrollWidth") <= 390
    phone.locator(".gv-table summary").tap()
    phone.get_by_role("button", name="Save or copy the picture").tap()
    expect(phone.get_by_role("button", name="Save as SVG")).to_be_visible()
    assert phone.evaluate(OUTSIDE) == []
    phone.screenshot(path=ARTEFACTS / "touch-390.png", full_page=True)
