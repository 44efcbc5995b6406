"""A real browser, a real JupyterLab, and a tab that may load from this machine only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from lab import FLAGS, INSTALL, LOCAL, Lab, Tab, find_chromium, jupyterlab
from playwright.sync_api import Browser, Route, sync_playwright

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
    strangers: list[str] = []

    def stay_here(route: Route) -> None:
        if urlsplit(route.request.url).hostname in LOCAL:
            route.continue_()
        else:
            strangers.append(route.request.url)
            route.abort()

    def note_socket(socket: Any) -> None:
        if urlsplit(socket.url).hostname not in LOCAL:
            strangers.append(socket.url)

    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.route(lambda url: not url.startswith(("data:", "blob:")), stay_here)
    page = context.new_page()
    page.on("websocket", note_socket)
    page.set_default_timeout(90_000)
    yield Tab(page, strangers)
    context.close()
