"""The course without a kernel, as pages that open from disk: ``python -m course.site [folder]``.

A page for each notebook, one for each `gv.explore`, `gv.play` and question in it, an index, and
class/ for a teacher. No page asks anybody for anything. A notebook runs in a process of its own, as
it would in a kernel of its own.
"""

from __future__ import annotations

import html
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import gradviz
from gradviz.live.explore import Exploration

from . import ROOT, deck, handouts, reader, route, teaching
from .books import Notebook, notebooks, plain
from .pages import Page, document
from .running import shown

SITE = ROOT / "build" / "site"
LIMIT = 512  # states of one page
NEXT = "#next"  # in a page whose next one is not known yet
THUMBNAIL = "thumbnail.svg"
PREVIEW = "preview.png"  # beside links to the site: the first notebook's cut
SNIPPET = '<iframe src="…/copy_or_cut.html?embed" width="100%" height="700"></iframe>'
STYLE = """
.thumbnail { float: right; max-width: 120px; max-height: 90px; margin-left: 12px; padding: 2px;
  background: #fff; }
section { overflow: hidden; }
"""


def pages_of(notebook: Notebook, folder: Path) -> list[Page]:
    """Run a notebook here and write its pages into ``folder``."""
    written: list[Page] = []
    (folder / notebook.name).mkdir(parents=True, exist_ok=True)
    for live in shown(notebook):
        place = _free_place(f"{notebook.name}/{live.name}", [page.place for page in written])
        title = f"{notebook.title}: {live.title}"
        links = _links(notebook, live.cell.id, written)
        gradviz.export(live.what, folder / place, title=title, limit=LIMIT, links=links)
        if written:
            _lead_on(folder / written[-1].place, Path(place).name)
        elif isinstance(live.what, Exploration):
            picture = folder / notebook.name / THUMBNAIL
            picture.write_text(live.what.figure.svg, encoding="utf-8")
            if notebook.number == "00":
                live.what.run(copy="detach").figure.save(folder / PREVIEW)
        answers: tuple[str, ...] = ()
        if isinstance(live.what, Exploration):
            answers = deck.write(folder / "class", live.what, notebook.name)
        written.append(Page(live.title, place, live.name, live.cell.id, answers))
    if written:
        _lead_on(folder / written[-1].place, f"../{_beside(notebook, 1)}")
    reader.write(notebook, folder, written, _neighbours(notebook))
    return written


def _free_place(name: str, taken: Sequence[str]) -> str:
    """Return the first address of this name, or of it with a number, that is not taken."""
    names = (f"{name}{number or ''}.html" for number in range(len(taken) + 1))
    return next(name for name in names if name not in taken)


def _links(notebook: Notebook, cell: str, before: Sequence[Page]) -> dict[str, str]:
    """Return what stands above a live page: text -> address."""
    previous = {"← Previous": Path(before[-1].place).name} if before else {}
    return {
        "Course": "../index.html",
        notebook.title: f"../{notebook.name}.html#{cell}",
        **previous,
        "Next →": NEXT,
        "Run it yourself": "../index.html#run",
    }


def _lead_on(page: Path, address: str) -> None:
    """Let a page that was written before its next one was known lead there."""
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace(f'href="{NEXT}"', f'href="{address}"', 1), encoding="utf-8")


def _beside(notebook: Notebook, by: int) -> str:
    """Return the address of the notebook so many places later; the index, where there is none."""
    names = [one.name for one in notebooks()]
    place = names.index(notebook.name) + by
    return f"{names[place]}.html" if 0 <= place < len(names) else "index.html"


def _neighbours(notebook: Notebook) -> dict[str, str]:
    """Return what stands above and below a notebook's page: text -> address."""
    return {
        "Course": "index.html",
        "← Previous": _beside(notebook, -1),
        "Next →": _beside(notebook, 1),
        "Run it yourself": "index.html#run",
    }


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
    """Return the page that leads to all others."""
    parts = [_section(notebook, folder, made[notebook.name]) for notebook in notebooks()]
    count = sum(map(len, made.values()))
    body = (
        "<main>\n<h1>See what autograd does, and what it forgets</h1>\n<p>The course, to read and to"
        f" click: {len(parts)} notebooks with {count} live pictures and questions"
        f" ({megabytes(folder)} in all). They need no Python and no network.</p>\n<p><a"
        f' href="class/index.html">For a class: a route of {route.MINUTES} or {route.SHORT} minutes, a sheet'
        " to fill in and homework.</a> On the"
        " page of a live picture, Page Down and Page Up step through its states;"
        " <code>?present</code> at the end of its address enlarges it, and"
        " <code>?embed</code> is for a frame in a page of your own:"
        f" <code>{html.escape(SNIPPET)}</code></p>\n"
        + "\n".join(parts)
        + f'<section id="run"><h2>Run it yourself</h2>\n<p>{_how_to_run()}</p></section>\n</main>'
    )
    return document("gradviz: the course", body, STYLE, reader.POLICY, published(PREVIEW))


def published(name: str) -> str:
    """Return the address that a file of the site has on GitHub's pages, where the workflow that
    builds it says whose they are; else its name. Other sites ask for a whole address.

    >>> published("preview.png")
    'preview.png'
    """
    owner, _, repository = os.environ.get("GITHUB_REPOSITORY", "").partition("/")
    return f"https://{owner.lower()}.github.io/{repository}/{name}" if repository else name


def _section(notebook: Notebook, folder: Path, pages: Sequence[Page]) -> str:
    """Return what the index says of a notebook."""
    links = "".join(
        f'<li><a href="{page.place}">{html.escape(page.title)}</a></li>' for page in pages
    )
    thumbnail = f"{notebook.name}/{THUMBNAIL}"
    picture = (
        f'<img class="thumbnail" alt="" loading="lazy" src="{thumbnail}">'
        if (folder / thumbnail).exists()
        else ""
    )
    needed = html.escape(plain(notebook.told("You need")))
    return (
        f'<section>{picture}<h2><a href="{notebook.name}.html">{html.escape(notebook.title)}</a></h2>'
        f"\n<p>Time: {html.escape(plain(notebook.told('Time')))} You need: {needed}</p>\n"
        f"<details><summary>{len(pages)} live pictures and questions</summary><ul>{links}</ul>"
        "</details></section>"
    )


def _how_to_run() -> str:
    """Return how one gets the notebooks, with a link where it is known where they are."""
    home = reader.repository()
    text = "In a checkout of gradviz, <code>make lab</code> opens these notebooks in JupyterLab."
    return f'{text} <a href="{html.escape(home)}#readme">Get gradviz.</a>' if home else text


def megabytes(folder: Path) -> str:
    """Return the size of all files below ``folder``."""
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
