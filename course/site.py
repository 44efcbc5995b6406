"""Every live scenario of the course as a page that opens from disk: ``python -m course.site
[folder]``.

One page for each `gv.explore` and `gv.play` of the notebooks, an index, and class/ for a teacher.
No page asks anybody for anything. A notebook runs in a process of its own, as it would in a kernel
of its own.
"""

from __future__ import annotations

import html
import json
import subprocess
import sys
import time
from pathlib import Path

import gradviz

from . import ROOT, handouts, teaching
from .books import Notebook, notebooks, plain
from .pages import Page, document
from .running import shown

SITE = ROOT / "build" / "site"
LIMIT = 512  # states of one page


def pages_of(notebook: Notebook, folder: Path) -> list[Page]:
    """Run a notebook here and write its pages into ``folder``."""
    written: list[Page] = []
    (folder / notebook.name).mkdir(parents=True, exist_ok=True)
    for live in shown(notebook):
        taken = [page.place for page in written]
        names = (
            f"{notebook.name}/{live.name}{number or ''}.html" for number in range(len(taken) + 1)
        )
        place = next(name for name in names if name not in taken)
        kind = "" if live.name != "play" else ", step by step"
        title = f"{notebook.title}: {live.section}{kind}"
        gradviz.export(live.what, folder / place, title=title, limit=LIMIT)
        written.append(Page(f"{live.section}{kind}", place, live.name))
    return written


def build(folder: Path) -> dict[str, list[Page]]:
    """Write the site; the pages of every notebook."""
    made: dict[str, list[Page]] = {}
    found = notebooks()
    for number, notebook in enumerate(found, 1):
        begun = time.monotonic()
        command = [sys.executable, "-m", "course.site", "--only", notebook.name, str(folder)]
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if ran.returncode:
            raise SystemExit(f"{notebook.name} cannot be exported:\n{ran.stderr}")
        made[notebook.name] = [Page(*page) for page in json.loads(ran.stdout.splitlines()[-1])]
        took = time.monotonic() - begun
        # at once, also into a pipe: the whole takes minutes
        print(
            f"{number} of {len(found)}: {notebook.name}, {len(made[notebook.name])} pages,"
            f" {took:.0f} s",
            flush=True,
        )
    teaching.write(folder / "class", made)
    handouts.write(folder / "class")
    (folder / "index.html").write_text(index(folder, made), encoding="utf-8")
    return made


def index(folder: Path, made: dict[str, list[Page]]) -> str:
    """The page that leads to all others."""
    parts = []
    for notebook in notebooks():
        links = "".join(
            f'<li><a href="{page.place}">{html.escape(page.title)}</a></li>'
            for page in made[notebook.name]
        )
        needed = plain(notebook.told("You need"))
        parts.append(
            f"<section><h2>{html.escape(notebook.title)}</h2>\n<p>Time:"
            f" {html.escape(plain(notebook.told('Time')))} You need:"
            f" {html.escape(needed)}</p>\n<ul>{links}</ul></section>"
        )
    count = sum(map(len, made.values()))
    body = (
        "<h1>See what autograd does, and what it forgets</h1>\n<p>The live pictures of the course,"
        f" as {count} pages ({megabytes(folder)} in all). They need no Python and no network. The"
        " notebooks around them hold the questions and the explanations.</p>\n<p><a"
        ' href="class/index.html">For a class: a route of 90 minutes and two handouts.</a> In'
        " every page, Page Down and Page Up step through its states; <code>?present</code> at the"
        " end of the address enlarges it.</p>\n" + "\n".join(parts)
    )
    return document("gradviz: the course", body)


def megabytes(folder: Path) -> str:
    """The size of all files below ``folder``."""
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return f"{size / 1e6:.1f} MB"


def main(arguments: list[str]) -> None:
    """Write the site, or the pages of one notebook."""
    if arguments[:1] == ["--only"]:
        only = next(notebook for notebook in notebooks() if notebook.name == arguments[1])
        print(json.dumps(pages_of(only, Path(arguments[2]))))
        return
    folder = Path(arguments[0]) if arguments else SITE
    folder.mkdir(parents=True, exist_ok=True)
    made = build(folder)
    print(
        f"{sum(map(len, made.values()))} pages, {megabytes(folder)}: open {folder / 'index.html'}"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
