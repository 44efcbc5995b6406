"""A real browser, a real JupyterLab, and a tab that may load from this machine only."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from lab import FLAGS, INSTALL, PATIENCE_MS, Lab, Tab, find_chromium, jupyterlab, new_tab
from playwright.sync_api import Browser, expect, sync_playwright

pytest.register_assert_rewrite("live")  # so that what differs is shown
expect.set_options(timeout=PATIENCE_MS)
collect_ignore = ["watch"]  # its sitecustomize.py is for other processes than this one


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = find_chromium()
    if path is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(INSTALL)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def lab(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Asks for the browser first: without one there is no use in starting a server."""
    with jupyterlab(tmp_path_factory.mktemp("home")) as running:
        yield running


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    with new_tab(browser) as opened:
        yield opened
