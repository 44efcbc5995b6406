"""Opens gradviz in other front ends, clicks, looks, and says what works: ``make front-ends``, or
``python tests/front_ends/try_front_ends.py marimo voila``. With ``--write`` it also notes that in
docs/front_ends.md.

Each front end is installed into an environment of its own below build/front_ends (about 2 GB in
all), and the pictures of what was seen lie beside it. Nothing of this belongs to ``make test``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "browser"))

import shown_cells
from lab import FLAGS, INSTALL, find_chromium, new_tab
from looking import LOOKS, START_MS, STILL_PICTURE, look
from playwright.sync_api import Browser, Error, Page, sync_playwright
from serving import BUILT, ROOT, NotInstalled, environment, free_port, served, surroundings, version

SEEN = BUILT / "seen"
DOCUMENT = ROOT / "docs" / "front_ends.md"
BEGIN, END = "<!-- measured: `make front-ends` -->", "<!-- end -->"
WIDGETS = ("ipywidgets==8.1.9", "anywidget==0.11.0")
SERVER = ("--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1")
NOTEBOOK, PROGRAM = "shown.ipynb", "shown.py"
STILL = ("picture",)

Command = list[str | Path]


class FrontEnd(NamedTuple):
    """One row of the table.

    Attributes:
        title: what it is called.
        package: whose version is told.
        command: programs, port, home -> what starts its server; or, without a port, what writes a
            page.
        start: opens the cells and runs them, where that takes more than opening an address.
        address: of the cells, behind the server's.
        written: the page that ``command`` writes, where it is no server.
        pins: what is installed for it; nothing: the project's own environment has it.
        looks: what is looked at, of LOOKS.
        borrow: whether it runs the cells itself, and not in a kernel.
    """

    title: str
    package: str
    command: Callable[[Path, int, Path], Command]
    start: Callable[[Page], None] = lambda page: None
    address: str = ""
    written: str = ""
    pins: tuple[str, ...] = ()
    looks: tuple[str, ...] = tuple(LOOKS)
    borrow: bool = False


# --- how each is started --------------------------------------------------------------------------


def lab_command(programs: Path, port: int, home: Path) -> Command:
    """JupyterLab, whose page tells its application."""
    app = ["-m", "jupyterlab", *SERVER, f"--ServerApp.port={port}"]
    return [programs / "python", *app, "--LabApp.expose_app_in_browser=True"]


def notebook_command(programs: Path, port: int, home: Path) -> Command:
    """Notebook 7."""
    app = ["-m", "notebook", *SERVER, f"--ServerApp.port={port}"]
    return [programs / "python", *app, "--JupyterNotebookApp.expose_app_in_browser=True"]


def classic_command(programs: Path, port: int, home: Path) -> Command:
    """The classic notebook."""
    return [programs / "python", "-m", "nbclassic", *SERVER, f"--ServerApp.port={port}"]


def voila_command(programs: Path, port: int, home: Path) -> Command:
    """voila, which runs the cells when its page is opened."""
    return [programs / "voila", NOTEBOOK, "--no-browser", f"--port={port}"]


def marimo_command(mode: str) -> Callable[[Path, int, Path], Command]:
    """marimo, to edit or to use as an application."""

    def command(programs: Path, port: int, home: Path) -> Command:
        options = ["--headless", "--no-token", "--port", str(port)]
        return [programs / "marimo", "-q", mode, PROGRAM, *options]

    return command


def convert_command(to: str) -> Callable[[Path, int, Path], Command]:
    """nbconvert, which runs the cells and writes a page."""

    def command(programs: Path, port: int, home: Path) -> Command:
        # without the widgets' state: with it their pages take scripts from elsewhere, or show nothing
        options = [
            "--execute",
            "--ExecutePreprocessor.store_widget_state=False",
            "--to",
            to,
            NOTEBOOK,
        ]
        return [programs / "python", "-m", "nbconvert", *options]

    return command


def book_command(programs: Path, port: int, home: Path) -> Command:
    """Jupyter Book, which runs the cells and writes a page."""
    return [programs / "jupyter-book", "build", NOTEBOOK]


def run_lab(page: Page) -> None:
    """Run all cells of JupyterLab."""
    page.wait_for_function("() => window.jupyterapp?.shell.currentWidget?.context?.isReady")
    idle = "() => window.jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'"
    page.wait_for_function(idle, timeout=START_MS)
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")


def run_classic(page: Page) -> None:
    """Run all cells of the classic notebook."""
    # its manager of widgets comes later than its kernel; a widget before that is lost
    ready = "() => { const k = window.Jupyter?.notebook?.kernel; return k?.is_connected() && k.widget_manager; }"
    page.wait_for_function(ready, timeout=START_MS)
    page.evaluate("() => Jupyter.notebook.execute_all_cells()")


def run_marimo(page: Page) -> None:
    """Run all cells of marimo's editor, which takes no click before it is connected, and does not
    say so."""
    button = page.get_by_test_id("run-button").last
    button.wait_for(timeout=START_MS)
    for _ in range(8):
        button.click(force=True)
        with suppress(Error):
            page.locator(STILL_PICTURE).first.wait_for(timeout=15_000)
            return


LAB = f"lab/tree/{NOTEBOOK}?token=shown&reset"
FRONT_ENDS = {
    "lab": FrontEnd("JupyterLab", "jupyterlab", lab_command, run_lab, LAB),
    "lab40": FrontEnd(
        "JupyterLab",
        "jupyterlab",
        lab_command,
        run_lab,
        LAB,
        pins=("jupyterlab==4.0.*", *WIDGETS),
    ),
    "notebook": FrontEnd(
        "Notebook", "notebook", notebook_command, run_lab, f"notebooks/{NOTEBOOK}?token=shown"
    ),
    "nbclassic": FrontEnd(
        "nbclassic",
        "nbclassic",
        classic_command,
        run_classic,
        f"notebooks/{NOTEBOOK}?token=shown",
        pins=("nbclassic==1.3.3", *WIDGETS),
    ),
    "voila": FrontEnd("voila", "voila", voila_command, pins=("voila==0.5.13", *WIDGETS)),
    "marimo": FrontEnd(
        "marimo edit",
        "marimo",
        marimo_command("edit"),
        run_marimo,
        pins=("marimo==0.25.2",),
        borrow=True,
    ),
    "marimo_run": FrontEnd(
        "marimo run", "marimo", marimo_command("run"), pins=("marimo==0.25.2",), borrow=True
    ),
    "html": FrontEnd(
        "nbconvert HTML", "nbconvert", convert_command("html"), written="shown.html", looks=STILL
    ),
    "slides": FrontEnd(
        "nbconvert slides",
        "nbconvert",
        convert_command("slides"),
        written="shown.slides.html",
        looks=STILL,
    ),
    "book": FrontEnd(
        "Jupyter Book",
        "jupyter-book",
        book_command,
        written="_build/_page/shown/html/shown.html",
        pins=("jupyter-book==1.0.4.post1",),
        looks=STILL,
    ),
}


# --- looking --------------------------------------------------------------------------------------


@contextmanager
def opened(front_end: FrontEnd, browser: Browser, home: Path, programs: Path) -> Iterator[Page]:
    """Open the cells in a front end and run them; nothing may come from elsewhere."""
    port = 0 if front_end.written else free_port()
    command = front_end.command(programs, port, home)
    with new_tab(browser, 1280, 1500) as tab:
        if front_end.written:
            surrounding = surroundings(home)
            subprocess.run(list(map(str, command)), cwd=home, env=surrounding, check=True)
            tab.page.goto(f"file://{home / front_end.written}")
            yield tab.page
        else:
            with served(command, port, home) as url:
                tab.page.goto(url + front_end.address, timeout=START_MS)
                try:
                    front_end.start(tab.page)
                except Error:
                    tab.page.screenshot(path=SEEN / "not-started.png")
                    raise
                yield tab.page
        for stranger in sorted({address.partition("?")[0] for address in tab.strangers}):
            print(f"  asked for {stranger}", flush=True)


def tried(name: str, browser: Browser) -> dict[str, str]:
    """Try one front end: its version, and what was seen."""
    front_end = FRONT_ENDS[name]
    folder = name.partition("_")[0]
    try:
        programs = environment(folder, front_end.pins, front_end.borrow)
    except NotInstalled as wrong:
        return {"installed": f"no: {wrong}"}
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        shown_cells.notebook(home / NOTEBOOK)
        shown_cells.marimo(home / PROGRAM)
        with opened(front_end, browser, home, programs) as page:
            found = look(page, SEEN, name, front_end.looks)
    return {"version": version(programs, front_end.package), **found}


def row(name: str, found: dict[str, str]) -> str:
    """Return the row of a front end: what was looked at, and what was seen."""
    cells = [f"{FRONT_ENDS[name].title} {found.get('version', '')}".strip()]
    absent = "–" if "version" in found else "not installed"
    cells += [found.get(what, absent).partition(":")[0] for what in LOOKS]
    return f"| {' | '.join(cells)} | `make front-ends ARGS={name}` |"


def main() -> None:
    """Try the front ends that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join(FRONT_ENDS))
    parser.add_argument("--write", action="store_true", help=f"write {DOCUMENT.name}")
    asked = parser.parse_args()
    if unknown := {*asked.names} - {*FRONT_ENDS}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(FRONT_ENDS)}")
    path = find_chromium()
    if path is None:
        parser.error(INSTALL)
    SEEN.mkdir(parents=True, exist_ok=True)
    kept = SEEN / "found.json"
    found = json.loads(kept.read_text()) if kept.exists() else {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        for name in asked.names or FRONT_ENDS:
            print(name, flush=True)
            found[name] = tried(name, browser)
            print(f"  {found[name]}", flush=True)
            kept.write_text(json.dumps(found, indent=1))
        browser.close()
    if asked.write:
        rows = "\n".join(row(name, found[name]) for name in FRONT_ENDS if name in found)
        before, _, rest = DOCUMENT.read_text("utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        head = f"| Front end | {' | '.join(LOOKS)} | Shown by |\n|{' --- |' * (len(LOOKS) + 2)}"
        text = f"{before}{BEGIN}\n\n{head}\n{rows}\n\n{END}{after}"
        DOCUMENT.write_text(text, encoding="utf-8")
    print(f"pictures of what was seen: {SEEN}")


if __name__ == "__main__":
    main()
