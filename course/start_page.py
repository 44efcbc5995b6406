"""``notebooks/index.ipynb``, where a learner starts: ``python -m course.start_page``.

One screen: the core path as six cards with a picture each, and the other notebooks as a list. A
reader finds the sentence that sounds like them. Times and the sentences of the core are the
notebooks' own (00 opens with its cell instead), the pictures (``thumbnails.py``) are drawn from recordings.
"""

from __future__ import annotations

import base64
import html
import re
from typing import NamedTuple

import nbformat

from . import thumbnails
from .books import FOLDER, Notebook, notebooks

PAGE = FOLDER / "index.ipynb"
PICTURES = FOLDER / "pictures"
SHOWN_BY_A_NOTEBOOK = ("15",)  # whose first cell has its first picture as a file
KEPT = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


class Entry(NamedTuple):
    """What the page calls a notebook, and the sentence of the reader who needs it ("": the one with
    which the notebook opens)."""

    title: str
    says: str = ""


CORE = {
    "00": Entry("Copy or cut?", "Is `b` a copy of `a`, or a second way back to it?"),
    "01": Entry("Who gets tracked?"),
    "02": Entry("Look inside the graph"),
    "03": Entry("Copy with clone()"),
    "04": Entry("Cut with detach()"),
    "08": Entry("Train one step"),
}
WHEN_NEEDED = {
    "05": Entry("Choose a mode", "no_grad or eval()?"),
    "06": Entry("Write in place", "“a leaf Variable … in-place”"),
    "07": Entry("Copies and snapshots", "my saved weights changed"),
    "09": Entry("Two networks", "D’s loss trains G, too"),
    "10": Entry("Momentum teachers", "weights without a gradient"),
    "11": Entry("Error clinic", "backward() raises: now what?"),
    "12": Entry("Graph lifetime", "memory grows at each step"),
    "13": Entry("Hooks", "clip a gradient on its way"),
    "14": Entry("Gradients of gradients", "I need a second derivative"),
    "15": Entry("Your own model", "it runs, and does not learn"),
}
BESIDES = {
    "../docs/glossary.md": Entry("Words", "what a leaf is, and a node"),
    "../docs/notes.md": Entry("Your note, your section", "for five study notes"),
}
# JupyterLab, Notebook and VS Code keep these; GitHub drops them, and a plain table is left.
CARD = (
    "border:1px solid #8b939c;border-radius:8px;padding:5px 6px;text-align:left;"
    "vertical-align:top;background:none"
)
LINE = "border:none;background:none;padding:2px 8px 2px 0;text-align:left;vertical-align:top"
QUIET = "font-weight:normal;opacity:.75"
NUMBER = f"{QUIET};font-family:monospace"
HEAD = (
    '<h1 style="margin:0;font-size:25px">What autograd does, and what it forgets</h1>\n'
    '<p style="margin:3px 0 0">Start with 00, or with the sentence that sounds like you. Run a'
    " notebook from the top (Shift+Enter), and click.</p>"
)
QUOTE = re.compile(r'^\*"(.+)"\*$', re.MULTILINE)
MINUTES = re.compile(r"\d+")
PICTURE = re.compile(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)")


def minutes(notebook: Notebook) -> str:
    """Return how long its core takes, as its opening says it."""
    found = MINUTES.search(notebook.told("Time"))
    if found is None:
        raise ValueError(f"{notebook.name} does not say its time: **Time:** about 20 minutes …")
    return f"{found[0]} min"


def said_by(notebook: Notebook, entry: Entry) -> str:
    """Return what a reader says who needs this notebook of the core."""
    if entry.says:
        return entry.says
    found = QUOTE.search(notebook.opening)
    if found is None:
        raise ValueError(f'{notebook.name} does not open with a sentence: *"…"* in its first cell')
    return found[1]


def coded(text: str) -> str:
    """Write a sentence as HTML, its code in code font.

    >>> coded("Is `b` < 1?")
    'Is <code>b</code> &lt; 1?'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))


def card(notebook: Notebook, entry: Entry) -> str:
    """Return a cell of the table of the core; its title and picture lead to the notebook."""
    number, place = notebook.number, notebook.path.name
    return (
        f'<td style="{CARD}"><span style="float:right;{QUIET}">{minutes(notebook)}</span>'
        f'<span style="{NUMBER}">{number}</span> <a href="{place}"><b style="font-size:14px">'
        f"{entry.title}</b></a><br>“{coded(said_by(notebook, entry))}”<br>"
        f'<a href="{place}"><img alt="{html.escape(thumbnails.ALT[number])}"'
        f' src="pictures/{number}.svg"></a></td>'
    )


def line(number: str, place: str, entry: Entry) -> str:
    """Return a cell of the list of what one needs now and then."""
    return (
        f'<td style="{LINE}"><span style="{NUMBER}">{number}</span> <a href="{place}">'
        f'<b>{entry.title}</b></a><br><span style="{QUIET}">{coded(entry.says)}</span></td>'
    )


def table(cells: list[str], columns: int, spacing: int) -> str:
    """Return a table, as one block of HTML: no line of it is empty."""
    rows = (cells[i : i + columns] for i in range(0, len(cells), columns))
    lines = (['<tr style="background:none">', *row, "</tr>"] for row in rows)
    body = "\n".join(line for row in lines for line in row)
    style = (
        f"width:100%;margin:0;table-layout:fixed;border-collapse:separate;border-spacing:{spacing}px;"
        "font-size:13px"
    )
    return f'<table style="{style}">\n{body}\n</table>\n'


def page() -> str:
    """Return the start page: a notebook of one text cell, since JupyterLab shows it rendered."""
    found = {n.number: n for n in notebooks()}
    core = table([card(found[number], entry) for number, entry in CORE.items()], 3, 6)
    others = [line(n, found[n].path.name, entry) for n, entry in WHEN_NEEDED.items()]
    others += [line("→", place, entry) for place, entry in BESIDES.items()]
    text = f"{HEAD}\n\n{core}\n{table(others, 4, 0)}"
    cells = [nbformat.v4.new_markdown_cell(text, id="index0")]
    return nbformat.writes(nbformat.v4.new_notebook(cells=cells, metadata=KEPT)) + "\n"


def first_picture(notebook: Notebook) -> bytes:
    """Return the first picture of a live scenario, else the first picture."""
    # else they keep their order
    for cell in sorted(notebook.code, key=lambda cell: "gv.explore" not in cell.source):
        for output in cell.outputs:
            if found := PICTURE.search("".join(output.get("data", {}).get("text/html", ""))):
                return base64.b64decode(found[1])
    raise ValueError(
        f"{notebook.name} has no picture in its outputs: run it, with its outputs saved"
    )


def pictures() -> dict[str, bytes]:
    """Return every picture of the page, and those that a notebook shows as a file."""
    own = {n.number: first_picture(n) for n in notebooks() if n.number in SHOWN_BY_A_NOTEBOOK}
    return {**{number: thumbnails.svg(number).encode() for number in CORE}, **own}


def main() -> None:
    """Write the page and its pictures."""
    PICTURES.mkdir(exist_ok=True)
    drawn = pictures()
    for file in PICTURES.iterdir():
        if file.stem not in drawn:
            file.unlink()
    for number, picture in drawn.items():
        (PICTURES / f"{number}.svg").write_bytes(picture)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
