"""Which cells of a notebook begin a slide, for ``jupyter nbconvert --to slides`` and RISE:
``python -m course.slides`` writes it into the notebooks of ``SHOWN``.

A section is a slide, with what is asked there. What a cell draws stands on the slide below it, so
that there is time to guess; so does what comes after several outputs, or a long text after one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from .books import FOLDER, Cell, read

SHOWN = ("00_copy_or_cut",)  # notebooks that have slides
SECTION = 3  # level of the least heading that begins a slide
DRAWN = ("text/html", "image/png", "image/svg+xml")
OUTPUTS = 2  # on one slide
LETTERS = 300  # of a text that stands under an output
FOLDED = re.compile(r"<details>.*?</details>", re.DOTALL)


def kinds(cells: Sequence[Cell]) -> list[str]:
    """Return what each cell begins: "slide", "subslide", or "" where it stands on the one before."""
    found, outputs = [], 0
    for cell in cells:
        draws = any(mime in output.get("data", {}) for output in cell.outputs for mime in DRAWN)
        if any(level <= SECTION for level, _ in cell.headings):
            kind = "slide"
        elif draws or outputs >= OUTPUTS or (outputs and _is_long(cell)):
            kind = "subslide"
        else:
            kind = ""
        outputs = len(cell.outputs) + (0 if kind else outputs)
        found.append(kind)
    return found


def _is_long(cell: Cell) -> bool:
    """Say whether a text, without what is folded in it, has no room under an output."""
    return cell.kind == "markdown" and len(FOLDED.sub("", cell.source)) > LETTERS


def main() -> None:
    """Write the slides' metadata into their notebooks."""
    for name in SHOWN:
        path = FOLDER / f"{name}.ipynb"
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for raw, kind in zip(notebook["cells"], kinds(read(path).cells), strict=True):
            raw["metadata"].pop("slideshow", None)
            if kind:
                raw["metadata"]["slideshow"] = {"slide_type": kind}
        text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True)
        path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
