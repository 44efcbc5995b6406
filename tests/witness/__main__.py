"""Every state of every panel of some notebooks: ``python -m witness notebook … > results.json``.

A notebook runs in a process of its own, as in a kernel of its own. Pictures are not laid out: what
is compared is what they are made of.
"""

from __future__ import annotations

import importlib
import itertools
import json
import multiprocessing
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import answers

from course import books
from course.running import shown
from gradviz.picture.figure import Figure
from witness.compared import Compared


def main(names: list[str]) -> None:
    """Print, as JSON, what was found in each notebook."""
    methods = multiprocessing.get_all_start_methods()
    context: Any = multiprocessing.get_context("fork" if "fork" in methods else "spawn")
    # every optimizer needs it, and it takes seconds: so here, once
    importlib.import_module("torch._dynamo")
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            target = Path(folder) / f"{name}.json"
            process = context.Process(target=write, args=(name, target))
            process.start()
            process.join()
            results[name] = (
                json.loads(target.read_text()) if target.exists() else {"ended": process.exitcode}
            )
    print(json.dumps(results))


def write(name: str, target: Path) -> None:
    """Compare one notebook, into a file."""
    target.write_text(json.dumps(notebook(name)))


def notebook(name: str) -> dict[str, Any]:
    """What was compared in one notebook, and what disagrees."""
    without_layout()
    began = time.perf_counter()
    [book] = [book for book in books.notebooks() if book.name == name]
    live = list(shown(book))
    panels = [one for one in live if one.name != "play"]
    players = [one for one in live if one.name == "play"]
    complaints, counted, states = list[str](), Counter[str](), dict[str, int]()
    words = {f"play {place}": answers.player(one.what) for place, one in enumerate(players)}
    for place, panel in enumerate(panels):
        panel_name = f"{place}. {panel.name}"
        states[panel_name] = 0
        words[panel.name] = answers.panel(panel.what.run())
        for chosen, compared in compare(panel.what):
            states[panel_name] += 1
            labels = " ".join(f"{control}={label}" for control, (label, _) in chosen.items())
            said = [str(compared)] if isinstance(compared, str) else list(of(compared))
            complaints += [f"{panel.section}, {panel.name}: {labels}\n    {one}" for one in said]
            counted.update({} if isinstance(compared, str) else compared.counted)
    assert len(words) == len(live), "two panels of one name"
    seconds = round(time.perf_counter() - began, 1)
    return {
        "states": states,
        "words": words,
        "complaints": complaints,
        "counted": counted,
        "seconds": seconds,
    }


def compare(exploration: Any) -> Iterator[tuple[dict[str, Any], Compared | str]]:
    """Every combination of the controls; a text where the comparison itself failed."""
    controls = exploration._controls
    for pairs in itertools.product(*(control.choices.items() for control in controls.values())):
        chosen = dict(zip(controls, pairs, strict=True))
        try:
            yield chosen, Compared(exploration, chosen)
        except Exception:
            yield chosen, traceback.format_exc()


def of(compared: Compared) -> Iterator[str]:
    """The complaints; an error in looking for them is one."""
    try:
        yield from compared.complaints()
    except Exception:
        yield traceback.format_exc()


def without_layout() -> None:
    """Figures without Graphviz: most of the time would go there, and what stands in them is decided
    before."""
    Figure.svg = property(lambda figure: "<svg></svg>")  # type: ignore[assignment, method-assign]
    Figure.html = property(lambda figure: "")  # type: ignore[assignment, method-assign]


if __name__ == "__main__":
    main(sys.argv[1:] or [book.name for book in books.notebooks()])
