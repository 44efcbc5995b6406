"""Saving and copying the picture that is shown, in a real browser."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from lab import ARTEFACTS
from playwright.sync_api import Browser, Page, expect

import gradviz as gv
from gradviz.picture import render

CLIPBOARD = """async () => {
    const [item] = await navigator.clipboard.read();
    const blob = await item.getType(item.types.includes("image/png") ? "image/png" : "text/plain");
    return [item.types, blob.type === "image/png" ? blob.size : await blob.text()];
}"""


def scenario(copy: Any) -> None:
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    (copy(a) * 2 + a).sum().backward()


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    explored = gv.explore(scenario, copy=[torch.Tensor.clone, torch.Tensor.detach])
    gv.export(explored, tmp_path / "page.html")
    context = browser.new_context(viewport={"width": 1000, "height": 800})
    context.set_offline(True)
    opened = context.new_page()
    opened.goto((tmp_path / "page.html").as_uri())
    opened.get_by_role("radio", name="detach", exact=True).check()
    yield opened
    context.close()


def choose(page: Page, text: str) -> None:
    page.get_by_role("button", name="Save or copy the picture").click()
    page.get_by_role("button", name=text).click()


def test_the_picture_is_saved_as_it_is_shown(page: Page) -> None:
    explored = gv.explore(scenario, copy=[torch.Tensor.clone, torch.Tensor.detach])
    picture = explored.book()["states"][1]["svg"]
    assert "detach" in picture
    page.get_by_role("button", name="Save or copy the picture").click()
    page.screenshot(path=ARTEFACTS / "save-menu.png")
    page.keyboard.press("Escape")
    expect(page.locator(".gv-save-menu")).to_be_hidden()
    for suffix in ("svg", "png"):
        with page.expect_download() as waiting:
            choose(page, f"Save as {suffix.upper()}")
        assert waiting.value.suggested_filename == f"gradviz-copy-detach.{suffix}"
        data = Path(waiting.value.path()).read_bytes()
        expect(page.get_by_role("status").filter(has_text="Saved")).to_be_visible()
        if suffix == "svg":
            drawn = data.decode()
            assert drawn == picture
        else:
            (ARTEFACTS / "saved.png").write_bytes(data)
            assert data[:8] == b"\x89PNG\r\n\x1a\n"
            width, height = render.size(drawn)  # in CSS pixels
            assert [*struct.unpack(">II", io.BytesIO(data[16:24]).read())] == pytest.approx(
                [2 * width, 2 * height], abs=3
            )


def test_the_picture_is_copied(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    types, size = copied(page, "Copy as PNG")
    assert types == ["image/png"]
    assert size > 2000
    types, text = copied(page, "Copy the SVG's text")
    assert types == ["text/plain"]
    assert "<svg" in text


def copied(page: Page, text: str) -> Any:
    """Return what is on the clipboard once the page says so: while it is written, none can read."""
    choose(page, text)
    expect(page.locator(".gv-saved")).to_have_text("Copied")
    return page.evaluate(CLIPBOARD)
