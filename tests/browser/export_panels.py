"""Writes the panels of a notebook as pages: ``python export_panels.py folder notebook most [count seed]``.
A panel with more states than ``most`` is left out; of the others all are written, or ``count``, drawn with a seed."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import torch
from sampling import Asked, sampled

import gradviz as gv
from course import books
from course.running import shown
from gradviz.live.explore import Exploration


def main(folder: str, name: str, most: str, count: str = "", seed: str = "") -> None:
    torch.set_num_threads(1)
    [book] = [book for book in books.notebooks() if book.name == name]
    panels = [one for one in shown(book) if isinstance(one.what, Exploration)]
    fitting = [
        (place, panel)
        for place, panel in enumerate(panels)
        if all(control.choices for control in panel.what._controls.values())
        and states_of(panel.what) <= int(most)
    ]
    if count:
        Asked.seed = int(seed)
        fitting = sampled(fitting, int(count))
    for place, panel in fitting:
        path = Path(folder) / f"{place:02}_{panel.name}.html"
        gv.export(panel.what, path, limit=states_of(panel.what))


def states_of(panel: Exploration) -> int:
    return math.prod(len(control["options"]) for control in panel.controls)


if __name__ == "__main__":
    main(*sys.argv[1:])
