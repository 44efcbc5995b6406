"""Looks at gradviz in the page of a front end, as a reader would, and clicks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Error, Locator, Page, expect
from shown_cells import CUT

WAIT_MS = 40_000  # for what has begun
START_MS = 120_000  # for a kernel that imports torch on a busy machine
STILL_PICTURE = "img[src^='data:image/svg+xml']"
SHOWS = "image => image.complete && image.naturalWidth > 50"


def still(page: Page) -> bool:
    """Tell whether the picture of a recording is drawn."""
    picture = page.locator(STILL_PICTURE).first
    picture.wait_for(timeout=START_MS)
    # those of the cells that are live elsewhere too, where nothing is live
    others = page.locator(STILL_PICTURE).all()
    return all(other.evaluate(SHOWS) for other in others)


def panel(page: Page) -> bool:
    """Click on detach in the panel, and tell whether the panel says what it did."""
    root = _root(page, page.get_by_role("radio", name="detach", exact=True))
    choice = root.get_by_role("radio", name="detach", exact=True)
    choice.wait_for(timeout=START_MS)
    choice.click()
    expect(root.locator(".gv-said")).to_contain_text(CUT, timeout=WAIT_MS)
    expect(root.locator(".gv-view svg").first).to_be_visible()
    return True


def player(page: Page) -> bool:
    """Step on in the player, and tell whether its sentence changes."""
    root = _root(page, page.locator(".gv-transport"))
    said = root.locator(".gv-said")
    before = said.inner_text(timeout=WAIT_MS)
    root.get_by_role("button", name="Next step").first.click()
    expect(said).not_to_have_text(before, timeout=WAIT_MS)
    return True


def question(page: Page) -> bool:
    """Answer the question, and tell whether it replies."""
    name = "[5, 5, 5]"
    framed = page.locator("iframe[srcdoc]")
    place = framed.content_frame if framed.count() else page
    answer = place.get_by_role("radio", name=name).or_(place.get_by_role("button", name=name))
    answer.first.click(timeout=WAIT_MS)
    place.get_by_text(f"Yes, it is {name}").first.wait_for(timeout=WAIT_MS)
    return True


LOOKS: dict[str, Callable[[Page], bool]] = {
    "picture": still,
    "panel": panel,
    "player": player,
    "question": question,
}


def look(page: Page, folder: Path, name: str, asked: tuple[str, ...]) -> dict[str, str]:
    """Return what works of this: "yes", or what went wrong; and leave a screenshot of each."""
    found = {}
    page.set_default_timeout(WAIT_MS)
    for what in asked:
        try:
            found[what] = "yes" if LOOKS[what](page) else "no"
        except (Error, AssertionError) as wrong:
            found[what] = f"no: {str(wrong).splitlines()[0]}"
            page.set_default_timeout(10_000)
        page.screenshot(path=folder / f"{name}-{what}.png")
    return found


def _root(page: Page, inside: Locator) -> Locator:
    """Return the widget around this."""
    return page.locator(".gv-root, .gv-book").filter(has=inside).first
