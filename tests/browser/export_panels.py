"""Writes the panels of notebooks as pages: ``python export_panels.py folder most count seed notebook …``.
A notebook is run in a process of its own, and its pages go into a folder of its name. A panel with more states than
``most`` is left out; of the others all are written, or ``count``, drawn with a seed, where that is not 0."""

from __future__ import annotations

import importlib
import math
import multiprocessing
import sys
from functools import partial
from pathlib import Path
from typing import Any

import torch
from sampling import Asked, sampled

import gradviz as gv
from course import books
from course.running import shown
from gradviz.live.explore import Exploration


def main(folder: str, most: str, count: str, seed: str, *names: str) -> None:
    methods = multiprocessing.get_all_start_methods()
    context: Any = multiprocessing.get_context("fork" if "fork" in methods else "spawn")
    importlib.import_module("torch._dynamo")  # every optimizer needs it, and it takes seconds
    write_one = partial(write, Path(folder), int(most), int(count), int(seed))
    with context.Pool(1, maxtasksperchild=1) as pool:
        pool.map(write_one, names, chunksize=1)


def write(folder: Path, most: int, count: int, seed: int, name: str) -> None:
    """Write the panels of one notebook."""
    torch.set_num_threads(1)
    [book] = [book for book in books.notebooks() if book.name == name]
    panels = [one for one in shown(book) if isinstance(one.what, Exploration)]
    fitting = [
        (place, panel)
        for place, panel in enumerate(panels)
        if all(control.choices for control in panel.what._controls.values())
        and states_of(panel.what) <= most
    ]
    if count:
        Asked.seed = seed
        fitting = sampled(fitting, count)
    (folder / name).mkdir()
    for place, panel in fitting:
        path = folder / name / f"{place:02}_{panel.name}.html"
        gv.export(panel.what, path, limit=states_of(panel.what))


def states_of(panel: Exploration) -> int:
    return math.prod(len(control["options"]) for control in panel.controls)


if __name__ == "__main__":
    main(*sys.argv[1:])
