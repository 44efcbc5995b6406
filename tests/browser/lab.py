"""What starting a JupyterLab and a browser takes; the fixtures in conftest.py use it."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, Route
from processes import running

ROOT = Path(__file__).parents[2]
ARTEFACTS = ROOT / "tests" / "artefacts"  # screenshots to look at
WATCH = Path(__file__).parent / "watch"  # holds the sitecustomize.py that notes contacts
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
INSTALL = (
    "no Chromium found: install one (apt-get install chromium), or name its path in"
    " GRADVIZ_CHROMIUM"
)
# What Chromium leaves out. Each window has pages of its own for what drops down from an address bar that nobody
# sees, which is half of the work of opening a page. What stands before is Playwright's: only the last such list holds.
LEFT_OUT = (
    "AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,HttpsUpgrades,"
    "HttpsFirstBalancedModeAutoEnable,LensOverlay,MediaRouter,PaintHolding,ThirdPartyStoragePartitioning,"
    "AvoidCorsURLLoaderRestartOnRedirect,TcpPortRandomizationWin,OptimizationHints,NetworkTimeServiceQuerying,"
    "AimEnabled,PreconnectToSearch,WebUIOmniboxPopup,WebUIOmniboxAimPopup"
)
FLAGS = [
    *"--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking".split(),
    *"--disable-component-update --disable-sync".split(),
    f"--disable-features={LEFT_OUT}",
]
SETTINGS = {
    # else cells out of sight have no picture to look at
    "notebook-extension/tracker": {"windowingMode": "none"},
    "docmanager-extension/plugin": {"autosave": False},
}
# How long a busy machine may take for anything. What is there goes on at once, so a long wait
# slows nothing down and makes no test weaker.
PATIENCE_MS = 180_000
HOOK = "gradviz.notebook.saving.keep_pictures"
LOCAL = {"127.0.0.1", "localhost", "::1"}


class Lab(NamedTuple):
    """A running JupyterLab."""

    url: str
    token: str
    folder: Path
    # addresses that the server or a kernel asked for and that are not of this machine
    contacts: Path


class Tab(NamedTuple):
    """One page of the browser and what it tried to load from elsewhere."""

    page: Page
    strangers: list[str]


def find_chromium() -> str | None:
    """The browser to use; GRADVIZ_CHROMIUM wins."""
    return os.environ.get("GRADVIZ_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def jupyterlab(home: Path) -> Iterator[Lab]:
    """A JupyterLab on a free port, on a copy of notebooks/, whose settings and history live in
    ``home``."""
    folder = Path(shutil.copytree(ROOT / "notebooks", home / "notebooks"))
    for name, values in SETTINGS.items():
        file = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    token, contacts = secrets.token_hex(16), home / "contacts.txt"
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "IPYTHON"))},
        "HOME": str(home),
        "JUPYTER_TOKEN": token,
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "PYTHONPATH": os.pathsep.join((str(WATCH), str(ROOT))),
        "GRADVIZ_CONTACTS": str(contacts),
    }
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        "--ServerApp.ip=127.0.0.1",
        "--ServerApp.port=0",
        f"--ServerApp.root_dir={folder}",
        "--ServerApp.terminals_enabled=False",
        "--LabApp.expose_app_in_browser=True",
        "--JupyterNotebookApp.expose_app_in_browser=True",
        "--LabApp.extension_manager=readonly",
        f"--ContentsManager.pre_save_hook={HOOK}",  # as `make lab` does
    ]
    with running(command, home / "server.log", folder, environment) as server:
        yield Lab(_address(server, home, token), token, folder, contacts)


@contextmanager
def new_tab(browser: Browser, width: int = 1440, height: int = 900) -> Iterator[Tab]:
    """A tab that may load from this machine only."""
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

    context = browser.new_context(viewport={"width": width, "height": height})
    context.route(lambda url: not url.startswith(("data:", "blob:", "file:")), stay_here)
    page = context.new_page()
    page.on("websocket", note_socket)
    page.set_default_timeout(PATIENCE_MS)
    yield Tab(page, strangers)
    context.close()


def change_theme(page: Page, theme: str) -> None:
    page.evaluate(
        "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme
    )
    page.wait_for_function(
        "light => document.body.dataset.jpThemeLight === light", arg=str("Light" in theme).lower()
    )
    page.locator("#jupyterlab-splash").wait_for(state="detached")


def reach(page: Page, selector: str) -> None:
    """Presses Tab until this has the focus."""
    for _ in range(60):
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {selector}")


def _address(server: subprocess.Popen[bytes], home: Path, token: str) -> str:
    """Wait until the server answers; its URL, with a slash at the end."""
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while time.monotonic() < deadline and server.poll() is None:
        for file in (home / "runtime").glob("jpserver-*.json"):
            url: str = json.loads(file.read_text() or "{}").get("url", "")
            try:
                urllib.request.urlopen(f"{url}api/status?token={token}", timeout=5).close()
            except (OSError, ValueError):
                continue
            return url
        time.sleep(0.1)
    raise RuntimeError("JupyterLab did not start:\n" + (home / "server.log").read_text())
