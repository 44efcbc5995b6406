"""Writes every panel of a notebook as a page: ``python export_panels.py folder notebook most``. A
panel with more states than ``most`` is left out."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import torch

import gradviz as gv
from course import books
from course.running import shown
from gradviz.live.explore import Exploration


def main(folder: str, name: str, most: str) -> None:
    torch.set_num_threads(1)
    [book] = [book for book in books.notebooks() if book.name == name]
    panels = [one for one in shown(book) if isinstance(one.what, Exploration)]
    for place, panel in enumerate(panels):
        if not all(control.choices for control in panel.what._controls.values()):
            continue
        states = math.prod(len(control["options"]) for control in panel.what.controls)
        if states <= int(most):
            path = Path(folder) / f"{place:02}_{panel.name}.html"
            gv.export(panel.what, path, limit=states)


if __name__ == "__main__":
    main(*sys.argv[1:])
