"""The code of every panel with its choices filled in, run as it stands: ``python -m
witness.filled_code notebook … > results.json``.

Each control goes through all of its choices while the others stay where they start. The filled text
is made a function of its own and recorded like the scenario; both recordings must hold the same.
"""

from __future__ import annotations

import copy
import importlib
import json
import multiprocessing
import sys
import textwrap
import traceback
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch

from course import books
from course.running import shown
from gradviz.live.explore import Exploration
from gradviz.live.filled import Filled
from gradviz.live.filling import fill_in
from witness.__main__ import without_layout


def main(names: list[str]) -> None:
    """Print, as JSON, what was compared in each notebook."""
    methods = multiprocessing.get_all_start_methods()
    context: Any = multiprocessing.get_context("fork" if "fork" in methods else "spawn")
    importlib.import_module("torch._dynamo")  # every optimizer needs it, and it takes seconds
    with context.Pool(1, maxtasksperchild=1) as pool:
        print(json.dumps(dict(zip(names, pool.map(notebook, names, chunksize=1), strict=True))))


def notebook(name: str) -> dict[str, Any]:
    """Return, of each panel, how many choices were filled in, which were not, and what differs."""
    without_layout()
    torch.set_num_threads(1)
    # memory that is not set holds NaN then, and not whatever was there
    torch.use_deterministic_algorithms(True)  # type: ignore[no-untyped-call]
    [book] = [book for book in books.notebooks() if book.name == name]
    panels = [one for one in shown(book) if isinstance(one.what, Exploration)]
    results = {}
    for place, panel in enumerate(panels):
        found: dict[str, Any] = {"choices": 0, "unfilled": [], "differs": []}
        for control, chosen in settings(panel.what):
            filled = fill_in(panel.what._function, chosen)
            found["choices"] += 1
            label = f"{control}={chosen[control][0]}"
            if control in filled.unfilled:
                found["unfilled"].append(f"{label}: {filled.unfilled[control]}")
            found["differs"] += [
                f"{label}: {said}" for said in differences(panel.what, filled, chosen)
            ]
        results[f"{place}. {panel.name}"] = found
    return results


def settings(exploration: Any) -> Iterator[tuple[str, dict[str, tuple[str, Any]]]]:
    """Yield each choice of each control, with the others at their start."""
    controls = exploration._controls
    start = {
        name: list(control.choices.items())[control.place] for name, control in controls.items()
    }
    for name, control in controls.items():
        for pair in control.choices.items():
            yield name, {**start, name: pair}


def differences(exploration: Any, filled: Filled, chosen: dict[str, Any]) -> Iterator[str]:
    """Yield what the filled code does otherwise than the scenario."""
    other = copy.copy(exploration)
    names = exploration._function.__globals__
    made: dict[str, Any] = {}
    head = f"def filled({', '.join(chosen)}):\n"
    try:
        exec(compile(head + textwrap.indent(filled.text, "    "), "<filled>", "exec"), names, made)
        other._function = made["filled"]
        was, now = (what_is(one._fresh(chosen)) for one in (exploration, other))
    except Exception:
        yield traceback.format_exc()
        return
    yield from (f"{key}: {was[key]} became {now[key]}" for key in was if was[key] != now[key])


def what_is(run: Any) -> dict[str, Any]:
    """Return what a run came to, without names and lines."""
    graph = run.graph
    return {
        "error": run.error,
        "nodes": sorted(node.name for node in graph.nodes),
        "cuts": sorted(str(cut.reason) for cut in graph.cuts),
        "tensors": Counter(
            (t.shape, t.dtype, t.requires_grad, t.is_leaf, t.version, t.values, t.grad)
            for t in graph.tensors
        ),
        "backwards": [(run.kind, len(run.ran)) for run in graph.backwards],
    }


if __name__ == "__main__":
    main(sys.argv[1:] or [book.name for book in books.notebooks()])
