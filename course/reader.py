"""A notebook as a page to read without a kernel: what is live in it stands in its place as an
exported page in a frame, which is loaded when it is scrolled to."""

from __future__ import annotations

import base64
import html
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gradviz.picture.page import policy_hash

from .books import Cell, Notebook
from .pages import Page, document

LIVE_HEIGHT = 620  # CSS pixels of a frame, until its page says how high it is
# Pages tell how high they are, and keep telling while a reader clicks in them. Which frame it is, is
# the only thing that is believed of a message.
SCRIPT = """
addEventListener("message", ({ source, data }) => {
  const height = Number(data?.gradviz?.height);
  for (const frame of document.querySelectorAll("iframe")) {
    if (frame.contentWindow === source && height > 0) frame.style.height = `${Math.ceil(height)}px`;
  }
});
"""
# A page loads its own script, and pages and pictures that lie beside it: 'self' on a server, file:
# from disk.
POLICY = (
    f"default-src 'none'; script-src {policy_hash(SCRIPT)}; style-src 'unsafe-inline'; img-src data:"
    " 'self' file:; frame-src 'self' file:; base-uri 'none'; form-action 'none'"
)
STYLE = """
main { overflow-wrap: break-word; }
nav { display: flex; flex-wrap: wrap; gap: 4px 18px; font-size: 14px; }
iframe { display: block; width: 100%; margin: 12px 0; border: 0; color-scheme: light dark; }
.code, .printed { overflow-x: auto; margin: 8px 0; padding: 8px 12px; border-radius: 6px;
  font-size: 13px; line-height: 1.5; }
.code { border: 1px solid light-dark(#d0d5da, #3a424b); background: light-dark(#fafbfc, #191d22); }
.code pre, .printed { margin: 0 0 8px; white-space: pre; }
.code pre { margin: 0; }
.printed { border-left: 3px solid light-dark(#d0d5da, #3a424b); border-radius: 0; }
.shown { overflow-x: auto; margin: 8px 0; }
.shown img { box-sizing: border-box; padding: 8px; border-radius: 6px; background: #fff; color-scheme: light; }
.shown table { border-collapse: collapse; font-size: 14px; }
.shown :is(th, td) { padding: 2px 10px; text-align: left; vertical-align: top; }
main :not(pre) > code { padding: 0 3px; border-radius: 3px; background: light-dark(#eef0f2, #262c33); }
main table { border-collapse: collapse; }
main > table :is(th, td) { padding: 3px 10px; border: 1px solid light-dark(#d0d5da, #3a424b); }
blockquote { margin: 0; padding-left: 12px; border-left: 3px solid light-dark(#d0d5da, #3a424b); }
.anchor-link { visibility: hidden; margin-left: .3em; text-decoration: none; }
:is(h1, h2, h3, h4):hover > .anchor-link, .anchor-link:focus { visibility: visible; }
.note { color: light-dark(#57606a, #a9b1ba); font-size: 14px; }
summary { cursor: pointer; color: light-dark(#57606a, #a9b1ba); }
:focus-visible { outline: 2px solid light-dark(#0b5fc4, #78b4ff); outline-offset: 1px; }
@media (max-width: 600px) {
  body { padding: 10px; }
  .highlight pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  main > table { font-size: 13px; }
  main > table :is(th, td) { padding: 3px 5px; overflow-wrap: anywhere; }
}
"""
NOTE = '<p class="note">On this page nothing has to be run: click in the pictures and answers.</p>'
DATA_PICTURE = re.compile(r'src="data:image/(svg\+xml|png);base64,([A-Za-z0-9+/=\s]+)"')
HREF = re.compile(r'href="([^"]*)"')
SUFFIXES = {"svg+xml": "svg", "png": "png"}


def write(
    notebook: Notebook, folder: Path, pages: Sequence[Page], neighbours: Mapping[str, str]
) -> Path:
    """Write a notebook's page into ``folder``, beside the folder that holds its live pages.

    Args:
        notebook: as it was saved, with its outputs.
        folder: of the site.
        pages: what is live in it.
        neighbours: text -> address, what stands above and below it.

    Returns:
        The file.
    """
    live: dict[str, list[Page]] = {}
    for page in pages:
        live.setdefault(page.cell, []).append(page)
    parts = [_cell(cell, live.get(cell.id, []), folder, notebook.name) for cell in notebook.cells]
    above, below = _nav(neighbours, "Course"), _nav(neighbours, "Course, at the end")
    body = f"{above}\n<main>\n{NOTE}\n{''.join(parts)}</main>\n{below}\n<script>{SCRIPT}</script>"
    target = folder / f"{notebook.name}.html"
    target.write_text(document(notebook.title, body, STYLE + _colours(), POLICY), encoding="utf-8")
    return target


def _nav(neighbours: Mapping[str, str], label: str) -> str:
    """Return the line of links, and what it is called."""
    links = (
        f'<a href="{html.escape(address)}">{html.escape(text)}</a>'
        for text, address in neighbours.items()
    )
    return f'<nav aria-label="{label}">{" ".join(links)}</nav>'


def _cell(cell: Cell, live: Sequence[Page], folder: Path, name: str) -> str:
    """Return one cell as HTML."""
    if cell.kind == "markdown":
        return _text(cell.source)
    if not cell.source.strip():
        return ""
    code = _code(cell.source)
    if cell.metadata.get("jupyter", {}).get("source_hidden"):
        code = f"<details><summary>Code</summary>{code}</details>"
    if live:
        shown = "".join(_frame(page) for page in live)
    else:
        outputs = (
            _output(output, folder / name, f"{cell.id}-{number}")
            for number, output in enumerate(cell.outputs)
        )
        shown = "".join(outputs)
    if shown and cell.metadata.get("jupyter", {}).get("outputs_hidden"):
        shown = f"<details><summary>Output, after your guess</summary>{shown}</details>"
    return f'<div id="{html.escape(cell.id)}">{code}{shown}</div>\n'


def _frame(page: Page) -> str:
    """Return the frame of a live page."""
    return (
        f'<iframe loading="lazy" src="{html.escape(page.place)}?embed" style="height:'
        f' {LIVE_HEIGHT}px" title="{html.escape(page.title)}"></iframe>'
    )


def _text(markdown: str) -> str:
    """Return Markdown as HTML, with links that lead to the pages of notebooks."""
    from nbconvert.filters import markdown2html

    made: str = markdown2html(markdown)
    return HREF.sub(_href, made) + "\n"


def _href(found: re.Match[str]) -> str:
    """Return a link into the site, or into the repository where it is known."""
    address = found[1]
    if "://" in address or address.startswith("#"):
        return found[0]
    book = re.fullmatch(r"([\w-]+)\.ipynb(#.*)?", address)
    if book:
        return f'href="{book[1]}.html{book[2] or ""}"'
    home = repository()
    return f'href="{home}/blob/main/{address.removeprefix("../")}"' if home else ""


def repository() -> str:
    """Return the address of the repository that builds the site, where its workflow says it."""
    server, name = (os.environ.get(f"GITHUB_{part}", "") for part in ("SERVER_URL", "REPOSITORY"))
    return f"{server}/{name}" if server and name else ""


def _code(source: str) -> str:
    """Return code as HTML, in colours."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name

    made: str = highlight(source, get_lexer_by_name("ipython3"), HtmlFormatter(cssclass="code"))
    return made.replace('<div class="code">', '<div class="code" tabindex="0">', 1)  # it may scroll


def _colours() -> str:
    """Return the colours of code, light and dark."""
    from pygments.formatters import HtmlFormatter

    light, dark = (
        HtmlFormatter(style=style, nobackground=True).get_style_defs(".code")
        for style in ("default", "github-dark")
    )
    return f"{light}\n@media (prefers-color-scheme: dark) {{ {dark} }}\n"


def _output(output: Mapping[str, Any], folder: Path, name: str) -> str:
    """Return one saved output as HTML; its pictures become files, which are loaded when they are
    scrolled to."""
    from nbconvert.filters import strip_ansi

    if output["output_type"] == "stream":
        return _printed(strip_ansi("".join(output["text"])))
    if output["output_type"] == "error":
        return _printed(strip_ansi("\n".join(output["traceback"])))
    data = output["data"]
    if "text/html" in data:
        shown = _with_files("".join(data["text/html"]), folder, name)
    elif "image/png" in data:
        png = "".join(data["image/png"])
        picture = f'<img alt="" src="data:image/png;base64,{png}">'
        shown = _with_files(picture, folder, name)
    else:
        return _printed("".join(data.get("text/plain", "")))
    return f'<div class="shown" tabindex="0">{shown}</div>'


def _with_files(shown: str, folder: Path, name: str) -> str:
    """Return HTML whose pictures are files of this folder."""
    count = 0

    def write_picture(found: re.Match[str]) -> str:
        nonlocal count
        file = f"{name}{count or ''}.{SUFFIXES[found[1]]}"
        count += 1
        folder.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(base64.b64decode(found[2]))
        return f'loading="lazy" src="{folder.name}/{file}"'

    return DATA_PICTURE.sub(write_picture, shown)


def _printed(text: str) -> str:
    """Return what was printed."""
    return f'<pre class="printed" tabindex="0">{html.escape(text)}</pre>'
