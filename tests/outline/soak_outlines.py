"""Outlines of many random trees of modules, of which PyTorch is the judge: ``make soak-outlines``
draws 1,000 and writes docs/soak_outlines.md.

    python tests/outline/soak_outlines.py --first 5000 --count 500

draws the trees of these seeds, prints what is wrong with any (``outline_oracle.report``) and how
many fit a page, and writes nothing. The tests take theirs from the seeds below 1,000.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch
from outline_oracle import report, sizes
from random_modules import make

PAGE = Path(__file__).parents[2] / "docs" / "soak_outlines.md"


def one(seed: int) -> tuple[int, list[str], Counter[str]]:
    """Return what is wrong with the outline of a seed, and what it counts for."""
    torch.set_num_threads(1)
    try:
        return seed, report(make(seed)), sizes(make(seed))
    except Exception:
        return seed, [traceback.format_exc(limit=-3)], Counter()


def page(first: int, count: int, wrong: list[str], total: Counter[str], seconds: float) -> str:
    """Return docs/soak_outlines.md."""
    version = f"Python {platform.python_version()}, torch {torch.__version__}"
    machine = f"{platform.system()} {platform.machine()}"
    verdict = "nothing wrong" if not wrong else f"{len(wrong):,} sentences about what is wrong"
    lines = [
        "# Soak of outlines",
        "",
        "<!-- Written by `make soak-outlines`. -->",
        "",
        "Random trees of modules (`tests/outline/random_modules.py`), each recorded for one step and drawn. What has to hold of",
        "every picture stands in `tests/outline/outline_oracle.py`: every operation in one card, no circle, the counts and norms of",
        "torch, every cut that costs a gradient told, the same picture twice. The tests draw trees of the seeds below 1,000; none of",
        "those is among these.",
        "",
        f"**{count:,} trees, {verdict}.** {version}, {machine}; seeds {first:,} to {first + count - 1:,};",
        f"{max(round(seconds / 60), 1)} minutes.",
        "",
        "| pictures that | number |",
        "| --- | ---: |",
        f"| fit a page of 860×1200 pixels, a margin of 6 around them apart | {total['fits']:,} |",
        f"| have arrows that cross | {total['crossed']:,} |",
        f"| have a circle of cards | {total['circles']:,} |",
        f"| list neighbours of unequal state as rows of one card | {total['rows']:,} |",
        *([""] if wrong else []),
        *(f"- {sentence}" for sentence in wrong),
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Return 1 if anything is wrong with any outline."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=1000)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    asked = parser.parse_args()
    began = time.monotonic()
    wrong: list[str] = []
    total = Counter[str]()
    with ProcessPoolExecutor(asked.processes) as pool:
        seeds = range(asked.first, asked.first + asked.count)
        for seed, sentences, counts in pool.map(one, seeds, chunksize=5):
            total += counts
            wrong += [f"seed {seed}: {sentence}" for sentence in sentences]
    text = page(asked.first, asked.count, wrong, total, time.monotonic() - began)
    if asked.write:
        PAGE.write_text(text, encoding="utf-8")
    print(text)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
