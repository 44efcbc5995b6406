"""Every state of every panel of some notebooks: ``python -m witness notebook … > results.json``;
with ``--states 10 --seed 1`` the first state of each panel and so many more of it.

A notebook runs in a process of its own, as in a kernel of its own. Pictures are not laid out: what
is compared is what they are made of.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import multiprocessing
import random
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
from gradviz.live.explore import Exploration
from gradviz.picture.figure import Figure
from witness.compared import Compared


def main(names: list[str], count: int | None, seed: int) -> None:
    """Print, as JSON, what was found in each notebook, in so many states of each panel."""
    methods = multiprocessing.get_all_start_methods()
    context: Any = multiprocessing.get_context("fork" if "fork" in methods else "spawn")
    # every optimizer needs it, and it takes seconds: so here, once
    importlib.import_module("torch._dynamo")
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            target = Path(folder) / f"{name}.json"
            process = context.Process(target=write, args=(name, target, count, seed))
            process.start()
            process.join()
            results[name] = (
                json.loads(target.read_text()) if target.exists() else {"ended": process.exitcode}
            )
    print(json.dumps(results))


def write(name: str, target: Path, count: int | None, seed: int) -> None:
    """Compare one notebook, into a file."""
    target.write_text(json.dumps(notebook(name, count, seed)))


def notebook(name: str, count: int | None, seed: int) -> dict[str, Any]:
    """What was compared in one notebook, and what disagrees. ``all``: how many states there are."""
    without_layout()
    began = time.perf_counter()
    [book] = [book for book in books.notebooks() if book.name == name]
    live = list(shown(book))
    panels = [one for one in live if isinstance(one.what, Exploration)]
    players = [one for one in live if one.name == "play"]
    complaints, counted = list[str](), Counter[str]()
    states, every = dict[str, int](), dict[str, int]()
    words = {f"play {place}": answers.player(one.what) for place, one in enumerate(players)}
    for place, panel in enumerate(panels):
        panel_name = f"{place}. {panel.name}"
        states[panel_name] = 0
        words[panel.name] = answers.panel(panel.what.run())
        combinations = list(states_of(panel.what))
        every[panel_name] = len(combinations)
        tried = sampled(combinations, count, random.Random(f"{seed} {name} {panel_name}"))
        for chosen, compared in compare(panel.what, tried):
            states[panel_name] += 1
            labels = " ".join(f"{control}={label}" for control, (label, _) in chosen.items())
            said = [str(compared)] if isinstance(compared, str) else list(of(compared))
            complaints += [f"{panel.section}, {panel.name}: {labels}\n    {one}" for one in said]
            counted.update({} if isinstance(compared, str) else compared.counted)
    assert len(words) == len(panels) + len(players), "two panels of one name"
    seconds = round(time.perf_counter() - began, 1)
    return {
        "states": states,
        "all": every,
        "words": words,
        "complaints": complaints,
        "counted": counted,
        "seconds": seconds,
    }


def states_of(exploration: Any) -> Iterator[dict[str, Any]]:
    """Every combination of the controls."""
    controls = exploration._controls
    for pairs in itertools.product(*(control.choices.items() for control in controls.values())):
        yield dict(zip(controls, pairs, strict=True))


def sampled(states: list[Any], count: int | None, dice: random.Random) -> list[Any]:
    """Return the first of the states and so many more; all of them where no number is given."""
    if count is None or count + 1 >= len(states):
        return states
    return [states[0], *(states[at] for at in sorted(dice.sample(range(1, len(states)), count)))]


def compare(
    exploration: Any, states: list[dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], Compared | str]]:
    """What each state shows, compared; a text where the comparison itself failed."""
    for chosen in states:
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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--states", type=int, help="of each panel, besides its first")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    main(asked.names or [book.name for book in books.notebooks()], asked.states, asked.seed)
