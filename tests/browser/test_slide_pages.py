"""Slides of a notebook as one file, without network: every slide comes, nothing is asked for, and what is
higher than the screen can be scrolled."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe import violations
from lab import ARTEFACTS
from playwright.sync_api import Browser

from course import slide_pages
from course.slides import SHOWN

# Of the slide that stands there: its number, whether its foot can be reached, and how many of its pictures are drawn.
SHOWN_NOW = """() => {
    const slide = Reveal.getCurrentSlide(), pictures = [...slide.querySelectorAll("img")];
    const foot = slide.scrollHeight * Reveal.getScale() <= innerHeight;
    return [Reveal.getSlidePastCount(), foot || getComputedStyle(slide).overflowY === "auto",
            pictures.length, pictures.filter(i => i.complete && i.naturalWidth > 50).length];
}"""


@pytest.mark.parametrize("name", SHOWN)
def test_slides_open_without_network(browser: Browser, tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.html"
    path.write_text(slide_pages.page(name), encoding="utf-8")
    with browser.new_context(offline=True, viewport={"width": 1280, "height": 720}) as context:
        page = context.new_page()
        asked, wrong = list[str](), list[str]()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(path.as_uri())
        page.wait_for_function("() => window.Reveal?.isReady()")
        page.evaluate("() => Reveal.configure({transition: 'none', backgroundTransition: 'none'})")
        count = page.evaluate("() => Reveal.getTotalSlides()")
        seen = []
        for number in range(count):
            seen.append(page.evaluate(SHOWN_NOW))
            if number in (0, 1, 2, count - 1):
                assert violations(page) == {}, number
                page.screenshot(path=ARTEFACTS / f"slides-{name}-{number}.png")
            page.keyboard.press("Space")
        assert [number for number, *_ in seen] == [*range(count)]
        assert all(is_reached for _, is_reached, *_ in seen)
        assert sum(pictures for *_, pictures, _ in seen) == sum(drawn for *_, drawn in seen) > 5
        assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]
        assert wrong == []
