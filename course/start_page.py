"""``notebooks/index.ipynb``, where a learner starts: ``python -m course.start_page``.

Titles, times and prerequisites are the notebooks' own, the pictures are from their outputs. Only
the order and the words around it are written here.
"""

from __future__ import annotations

import base64
import re

import nbformat

from .books import FOLDER, Notebook, notebooks

CORE = ("00", "01", "02", "03", "04", "08")
PAGE = FOLDER / "index.ipynb"
PICTURES = FOLDER / "pictures"
KEPT = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
HEAD = """\
# The course: what autograd does, and what it forgets

Open a notebook, run its cells from the top (Shift+Enter), and click. Every live picture follows its controls, and
every question can be answered with a click, answered again, or skipped. Answers are not scored.

**The core path** is {core}: under two hours, in this order. The others are for when you need them.
In each notebook the core comes first; the fine print stands last and starts folded.

Words are explained where they first appear, and once more in the [glossary](../docs/glossary.md). If you come from one
of the five study notes, [your note, your section](../docs/notes.md) leads you through it in its own order.
"""
PICTURE = re.compile(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)")


def picture(notebook: Notebook) -> bytes:
    """The first picture of a live scenario, else the first picture."""
    # else they keep their order
    for cell in sorted(notebook.code, key=lambda cell: "gv.explore" not in cell.source):
        for output in cell.outputs:
            if found := PICTURE.search("".join(output.get("data", {}).get("text/html", ""))):
                return base64.b64decode(found[1])
    raise ValueError(
        f"{notebook.name} has no picture in its outputs: run it, with its outputs saved"
    )


def page() -> str:
    """The start page: a notebook of text cells, since JupyterLab shows those rendered."""
    found = notebooks()
    core = ", ".join(f"[{n.name[:2]}]({n.path.name})" for n in found if n.name[:2] in CORE)
    texts = [HEAD.format(core=core)]
    for n in found:
        path = "**Core path.** " if n.name[:2] in CORE else ""
        texts.append(
            f"## [{n.title}]({n.path.name})\n\n{path}{n.told('You will do')}\n\n"
            f"Time: {n.told('Time')} You need: {n.told('You need')}\n\n"
            f'<img alt="A picture from notebook {n.name[:2]}" src="pictures/{n.name[:2]}.svg"'
            ' width="420">'
        )
    cells = [
        nbformat.v4.new_markdown_cell(text, id=f"index{number}")
        for number, text in enumerate(texts)
    ]
    return nbformat.writes(nbformat.v4.new_notebook(cells=cells, metadata=KEPT)) + "\n"


def main() -> None:
    """Write the page and its pictures."""
    PICTURES.mkdir(exist_ok=True)
    for n in notebooks():
        (PICTURES / f"{n.name[:2]}.svg").write_bytes(picture(n))
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
